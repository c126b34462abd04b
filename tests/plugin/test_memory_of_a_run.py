"""What a run keeps of each episode to its end: little, and nothing that only the collector of cycles would free."""

import tracemalloc
from typing import Any

import pytest
import tiny_suite

from pytest_mapsat.formats import read_run
from pytest_mapsat.model import Noun, Scorecard
from pytest_mapsat.runs.episodes import Ended, Ledger

GOOD = "--mapsat-agent=good:agent"


@pytest.fixture
def card(project: pytest.Pytester) -> Scorecard:
    """The scorecard of a case, as a run has it."""
    project.runpytest(GOOD, "--mapsat-save=run.json", "-k", "nav-one")
    return read_run(project.path / "run.json").cases[0]


def test_a_scorecard_is_kept_as_it_was_without_its_dialogue_in_little_room(card: Scorecard) -> None:
    kept, cards = Ledger(), [Scorecard.model_validate(card.model_dump() | {"id": f"case-{n}"}) for n in range(200)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept.add((Ended(one) for one in cards), "")
    del cards
    ordered = [one.card for one in kept.in_order()]
    each = (tracemalloc.get_traced_memory()[0] - before) / len(ordered)
    tracemalloc.stop()
    assert len(ordered) == 200
    assert sorted(ordered, key=lambda one: one.key) == ordered
    assert ordered[0].trajectory.turns == ()
    expected = card.model_copy(update={"id": "case-0"}).model_dump(exclude={"trajectory": {"turns"}})
    assert ordered[0].model_dump(exclude={"trajectory": {"turns"}}) == expected
    assert each < 4_000, "what is made anew for a scorecard that is kept"
    assert _sets(ordered) < 20, "one set of names for each kind of noun, whatever the number of scorecards"


def _sets(cards: list[Scorecard]) -> int:
    """Return how many sets of the names of given fields there are in some nouns."""
    found: set[int] = set()
    waiting: list[Any] = list(cards)
    while waiting:
        one = waiting.pop()
        if isinstance(one, Noun):
            found.add(id(one.model_fields_set))
            waiting += vars(one).values()
        elif isinstance(one, tuple):
            waiting += one
    return len(found)


CIRCLES = """
import gc

items = 0

def pytest_runtest_logfinish():
    # Counts what only the collector finds after the first cases, in which much is made once.
    global items
    items += 1
    if items == 6:
        gc.collect()
        gc.disable()
    if items == 12:
        print(f"objects in circles: {gc.collect()}")
"""


def test_episodes_leave_no_circles_behind(pytester: pytest.Pytester) -> None:
    cases = [tiny_suite.case(f"c-{number}") for number in range(12)]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"a.jsonl": cases})
    pytester.makepyfile(good=tiny_suite.GOOD, circles=CIRCLES)
    # A process of its own: threads and garbage of other tests are not counted.
    result = pytester.runpytest_subprocess(GOOD, "-s", "-p", "no:cacheprovider", "-p", "circles")
    (found,) = (line.rpartition(" ")[2] for line in result.outlines if "objects in circles" in line)
    assert int(found) < 6 * 5, "objects of six cases"
