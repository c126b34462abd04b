"""What a scorecard says of itself where an assertion on one of its numbers failed."""

import pytest
from runs_made import UNDECIDED, card

from pytest_mapsat.model import Label

BROKEN = Label(requirement="z1", kind="hard", outcome="failed", value=0, why="it names Old Mill,\n which is closed")


def test_it_is_short_and_names_what_failed_and_why():
    found = card("nav-1", 0.3, trial=2, outcome="failed", blame="agent", labels=(BROKEN,))
    assert repr(found) == ("<Scorecard nav-1 trial 2: failed, AR 0.30; z1 failed (it names Old Mill, which is closed)>")
    assert str(found) == repr(found)


def test_an_undecided_one_shows_its_bounds_and_its_reason():
    found = card("nav-1", 0.3, most=0.8, outcome="unevaluated", reason="hard z1 is undecided: which mill?")
    assert repr(found) == "<Scorecard nav-1 trial 1: undecided, AR 0.30 to 0.80; hard z1 is undecided: which mill?>"


def test_one_that_passed_says_no_more():
    assert repr(card("nav-1")) == "<Scorecard nav-1 trial 1: passed, AR 1.00>"
    assert repr(card("nav-1", None, outcome="error", reason="x")) == "<Scorecard nav-1 trial 1: error, no AR; x>"


def test_it_is_never_long_and_never_steers_a_terminal():
    rude = BROKEN.model_copy(update={"why": "\x1b[2J" + "x" * 5_000})
    text = repr(card("nav-1", 0.3, outcome="failed", labels=(rude, UNDECIDED)))
    assert len(text) <= 240
    assert "\x1b" not in text


def test_a_failed_assertion_shows_which_episode_and_why(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        from pytest_mapsat.model import Label, Scorecard, Trajectory
        def run():
            label = Label(requirement="z1", kind="hard", outcome="failed", value=0, why="it names Old Mill")
            return Scorecard(id="nav-1", outcome="failed", metrics={"ar": 0.3}, labels=(label,), trajectory=Trajectory(case="nav-1", turns=()))
        def test_nav():
            assert run().ar >= 0.8
        """
    )
    result = pytester.runpytest("-p", "no:xdist")
    result.stdout.fnmatch_lines(
        ["*where 0.3 = <Scorecard nav-1 trial 1: failed, AR 0.30; z1 failed (it names Old Mill)>.ar*"]
    )
