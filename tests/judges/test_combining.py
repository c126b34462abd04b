"""Checks of checks, by three-valued logic."""

import itertools

import pytest
from judging import judge_reply

PARTS = {
    True: {"kind": "says", "any": ["yes"]},
    False: {"kind": "says", "any": ["maybe"], "about": ["perhaps"]},
    None: {"kind": "nobody"},
}
VALUES = (True, False, None)


def judged(kind, values, **fields):
    return judge_reply("yes", kind, checks=[PARTS[value] for value in values], **fields)


def kleene(values, needed):
    """The known result if every way to fill in the unknown agrees on it."""
    fillings = itertools.product(*([value] if value is not None else [True, False] for value in values))
    results = {sum(filling) >= needed for filling in fillings}
    return results.pop() if len(results) == 1 else None


@pytest.mark.parametrize("values", [*itertools.product(VALUES, repeat=2), *itertools.product(VALUES, repeat=3)])
def test_combinators_are_unknown_exactly_where_the_unknown_decides(values):
    assert judged("all", values).passed is kleene(values, len(values))
    assert judged("any", values).passed is kleene(values, 1)
    assert judged("at_least", values, n=2).passed is kleene(values, 2)


@pytest.mark.parametrize(("value", "expected"), [(True, False), (False, True), (None, None)])
def test_not_turns_what_is_known(value, expected):
    assert judge_reply("yes", "not", check=PARTS[value]).passed is expected


def test_the_deciding_reason_and_quotation_are_kept():
    finding = judged("any", (None, False, True))
    assert finding.why == "turn 1 says 'yes' (chars 0-3)"
    assert [quote.text for quote in finding.quotes] == ["yes"]
    failed = judged("all", (True, False, None))
    assert (failed.why, failed.wanted) == ("no reply says 'maybe'", "a reply says 'maybe'")


def test_a_whole_claims_nothing_only_where_all_that_decided_is():
    nothing_claimed = {"kind": "number", "unit": "km", "max": 1, "if_absent": "nothing_claimed"}
    assert judge_reply("yes", "all", checks=[nothing_claimed, nothing_claimed]).nothing_claimed
    assert not judge_reply("yes", "all", checks=[nothing_claimed, PARTS[True]]).nothing_claimed
