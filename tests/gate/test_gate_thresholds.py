"""What --mapsat-fail-under may say, and what it says back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.gate import Threshold, gated, parse_thresholds
from pytest_mapsat.model import MSB_METRICS, UsageError

GATED = gated(MSB_METRICS)


def test_a_list_of_thresholds_keeps_its_order():
    found = parse_thresholds(["ar=0.65, ses = .28", "navigation.ar=0.6"])
    assert found == (Threshold("ar", 0.65), Threshold("ses", 0.28), Threshold("ar", 0.6, "navigation"))
    assert [one.name for one in found] == ["ar", "ses", "navigation.ar"]


def test_nothing_given_is_no_threshold():
    assert parse_thresholds([]) == ()


def test_a_threshold_remembers_where_it_was_given():
    found = parse_thresholds([("ar=1", "ini"), ("ses=1", "command line"), "ts=1"])
    assert [one.origin for one in found] == ["ini", "command line", "command line"]


def test_a_domain_may_hold_dots():
    assert parse_thresholds(["my.domain.ar=1"])[0] == Threshold("ar", 1.0, "my.domain")


def test_the_pass_rate_can_be_gated_and_cei_cannot():
    assert "cei" not in GATED
    assert parse_thresholds(["pass_rate=1"])[0].metric == "pass_rate"
    with pytest.raises(UsageError, match="cei is given for reference only"):
        parse_thresholds(["navigation.cei=0.5"])


def test_the_same_threshold_twice_stands_once():
    assert len(parse_thresholds(["ar=0.5", "ar=0.50"])) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("iirs=0.5", "no metric 'iirs'; did you mean 'iisr'?"),
        ("AR=0.5", "did you mean 'ar'?"),
        ("zzzz=0.5", "known are ecr, iisr, ar"),
        ("ar", "found 'ar', expected METRIC=NUMBER"),
        ("ar=", "ar is '', expected a number from 0 to 1"),
        ("ar=high", "ar is 'high', expected a number"),
        ("ar=65", "ar is '65', expected a number from 0 to 1"),
        ("ar=-0.1", "ar is '-0.1'"),
        ("ar=nan", "ar is 'nan'"),
        ("ar=inf", "ar is 'inf'"),
        ("ar>=0.5", "no metric 'ar>'; did you mean 'ar'?"),
        (".ar=0.5", "'.ar' names no domain"),
        ("=0.5", "no metric ''"),
        ("ar=0.5,,ses=0.1", "found nothing between the commas"),
        ("", "found nothing between the commas"),
        ("ar=0.5,ar=0.6", "ar is given twice, as 0.5 and 0.6"),
    ],
)
def test_a_mistake_is_answered_kindly(text, message):
    with pytest.raises(UsageError) as error:
        parse_thresholds([text])
    assert str(error.value).startswith("--mapsat-fail-under: ")
    assert message in str(error.value)


def test_contradictions_are_found_across_options():
    with pytest.raises(UsageError, match="given twice"):
        parse_thresholds(["ar=0.5", "ar=0.6"])


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused(text):
    try:
        found = parse_thresholds([text])
    except UsageError:
        return
    assert all(0 <= one.minimum <= 1 and one.metric in GATED for one in found)
