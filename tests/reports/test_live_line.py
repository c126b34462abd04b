"""What the line says that tells how a run goes."""

import pytest
from runs_made import card

from pytest_mapsat.model import EpisodeTiming, Usage
from pytest_mapsat.reports import Tally, UnderWay, cell_width, live_line

CARDS = (
    card("a", 1.0, spent=Usage(cost=0.25), timing=EpisodeTiming(seconds=5)),
    card("b", 0.5, outcome="failed", judge_spent=Usage(cost=0.17), timing=EpisodeTiming(seconds=5)),
    card("c", 0.0, most=0.9, outcome="unevaluated", timing=EpisodeTiming(seconds=5)),
    card("d", None, outcome="error", blame="sandbox", timing=EpisodeTiming(seconds=5)),
)


def line(*cards, under_way=(), width=200, seconds=2.0, of=20):
    tally = Tally()
    for one in cards:
        tally.add(one)
    return live_line(tally, done=len(tally), of=of, under_way=under_way, seconds=seconds, width=width)


def test_it_says_what_is_known_and_keeps_what_is_not_decided_between_its_bounds():
    assert line(*CARDS, under_way=[UnderWay("e", 3)] * 2) == (
        "mapsat 4/20, ██░░░░░░░░, 2 under way, 1 failed, 1 undecided, 1 error, satisfied 0.50-0.80, 2.0/s, 0:08 left, $0.42, "
        "last failed: b"
    )


def test_at_the_start_it_says_nothing_that_is_not_known():
    assert line() == "mapsat 0/20"
    assert line(of=0) == "mapsat 0"
    assert line(CARDS[3]) == "mapsat 1/20, 1 error"


def test_of_an_episode_that_ran_again_the_last_attempt_counts():
    again = CARDS[1].model_copy(update={"outcome": "passed", "attempt": 2, "metrics": {"ar": 1.0}})
    assert line(CARDS[1], again) == "mapsat 1/20, satisfied 1.000, $0.34"


def test_a_slow_case_is_named_while_it_runs_by_what_others_take():
    assert line(under_way=[UnderWay("x", 9)]) == "mapsat 0/20, 1 under way"
    assert line(under_way=[UnderWay("x", 75)]) == "mapsat 0/20, 1 under way, slow: x 1:15"
    assert "slow" not in line(*CARDS, under_way=[UnderWay("x", 14)])  # the others took 5 s
    assert "slow: x 0:15" in line(*CARDS, under_way=[UnderWay("x", 15)])


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_what_has_no_room_is_left_out_what_matters_least_first(width):
    told = line(*CARDS, under_way=[UnderWay("ferry", 4_000)], width=width, seconds=2_000)
    assert cell_width(told) < width
    assert told.startswith("mapsat 4/20")
    assert ("1 failed" in told) == (width > 20)
    assert ("slow: ferry 1:06:40" in told) == (width == 80)
