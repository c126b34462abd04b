"""Failures are grouped by the kind of check that failed, in words that are fixed for each kind."""

import pytest
from runs_made import card, run_of

from pytest_mapsat.model import KINDS, Fault, Label, Trajectory
from pytest_mapsat.reports import failure_groups
from pytest_mapsat.reports.failures import CHECK_WORDS, OTHER_WORDS

#: Kinds that combine checks: a failure of one is a failure of a part.
COMBINING = {"all", "any", "at_least", "not"}


def failed(requirement="r", check="", kind="hard", value=0.0, **fields):
    return Label(requirement=requirement, kind=kind, outcome="failed", value=value, check=check, **fields)


def failed_card(name, *labels, **fields):
    return card(name, 0.0, outcome="failed", blame="agent", reason="hard r failed", labels=labels, **fields)


def told(*cards):
    return [(group.kind, group.cases) for group in failure_groups(run_of(*cards))]


def test_every_kind_of_check_has_words_of_its_own():
    assert set(CHECK_WORDS) == KINDS - COMBINING, "a kind of check has no words in reports/failures.py"
    words = [*CHECK_WORDS.values(), *OTHER_WORDS.values()]
    assert len(set(words)) == len(words)
    assert max(map(len, words)) <= 48


def test_the_kind_with_the_most_cases_comes_first_and_a_case_counts_once_in_it():
    cards = (
        failed_card("a", failed("r", "travels"), failed("s", "travels"), failed("t", "same_end")),
        failed_card("b", failed("r", "same_end")),
        failed_card("c", failed("r", "output")),
        card("d", 1.0, labels=(failed("r", "calls"),)),
    )
    assert told(*cards) == [("same_end", ("a", "b")), ("output", ("c",)), ("travels", ("a",))]
    travels = failure_groups(run_of(*cards))[2]
    assert (travels.words, travels.requirements) == ("another way of travelling", {"r": ("a",), "s": ("a",)})


def test_requirements_that_fail_no_item_are_no_reason():
    assert told(failed_card("a", failed("r", "travels"), failed("s", "output", kind="soft"))) == [("travels", ("a",))]


def test_a_trial_that_passes_when_it_is_run_again_is_no_failure():
    label = failed("r", "travels")
    rescued = (failed_card("a", label), card("a", 1.0, attempt=2))
    assert told(*rescued, failed_card("b", label)) == [("travels", ("b",))]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"check": "grounded", "reading": "claims"}, "grounded"),
        ({"reading": "choice"}, "recommends"),
        ({"reading": "figure"}, "number"),
        ({"by": "model"}, "model"),
        ({"by": "decision"}, "decision"),
        ({"by": "recorded"}, "recorded"),
        ({"check": "of another version"}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_a_label_that_names_no_check_is_grouped_by_what_is_known_of_it(fields, kind):
    assert told(failed_card("a", failed(**fields))) == [(kind, ("a",))]


def test_an_agent_that_breaks_fails_by_that_and_by_no_check():
    broke = Trajectory(case="a", turns=(), ending="agent_error", fault=Fault(blame="agent", message="KeyError"))
    late = Trajectory(case="b", turns=(), ending="timeout", fault=Fault(blame="agent", message="60 s"))
    silent = card("c", 0.0, outcome="failed", blame="agent", reason="the agent gave no answer (no reply)")
    label = failed("r", "travels")
    cards = (failed_card("a", label, trajectory=broke), failed_card("b", label, trajectory=late), silent)
    assert told(*cards) == [("agent_error", ("a",)), ("silent", ("c",)), ("timeout", ("b",))]
