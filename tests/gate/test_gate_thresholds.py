"""What --mapsat-fail-under may say, and what it says back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.gate import Ceiling, Drop, Threshold, parse_drops, parse_thresholds
from pytest_mapsat.gate.rules import gated
from pytest_mapsat.model import MSB_METRICS, Metric, UsageError

GATED = gated(MSB_METRICS)


def test_a_list_of_thresholds_keeps_its_order():
    found = parse_thresholds(["ar=0.65, ses = .28", "navigation.ar=0.6"])
    assert found == (
        Threshold("ar", minimum=0.65),
        Threshold("ses", minimum=0.28),
        Threshold("ar", "navigation", minimum=0.6),
    )
    assert [one.name for one in found] == ["ar", "ses", "navigation.ar"]


def test_nothing_given_is_no_threshold():
    assert parse_thresholds([]) == ()


def test_a_threshold_remembers_where_it_was_given():
    found = parse_thresholds([("ar=1", "ini"), ("ses=1", "command line"), "ts=1"])
    assert [one.origin for one in found] == ["ini", "command line", "command line"]


def test_a_domain_may_hold_dots():
    assert parse_thresholds(["my.domain.ar=1"])[0] == Threshold("ar", "my.domain", minimum=1.0)


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
        ("zzzz=0.5", "known are satisfied, efficiency, requests, unspoken, tools and "),
        ("ar", "found 'ar', expected METRIC=NUMBER"),
        ("ar=", "ar is '', expected a number from 0 to 1"),
        ("ar=high", "ar is 'high', expected a number"),
        ("ar=65", "ar is '65', expected a number from 0 to 1"),
        ("ar=-0.1", "ar is '-0.1'"),
        ("ar=nan", "ar is 'nan'"),
        ("ar=inf", "ar is 'inf'"),
        ("ar=0", "a floor of 0 always holds"),
        ("ar=1e-400", "a floor of 0 always holds"),
        ("ar=1e-300", "a floor of 0 always holds"),
        ("navigation.ar=1e-9@95", "a floor of 0 always holds"),
        ("cost=0.5", "cost has a ceiling, not a floor: cost<=NUMBER"),
        ("cots<=0.5", "no ceiling can be set for 'cots'; did you mean 'cost'?"),
        ("ar<=0.5", "no ceiling can be set for 'ar'; known are cost, tokens, calls, turns, seconds"),
        ("cost<=nan", "cost is 'nan', expected a number like 0.5"),
        ("cost<=-1", "cost is '-1'"),
        ("cost<=0x", "cost is '0x'"),
        ("case.cost<=2x", "a multiple is of means"),
        ("cost<=1,cost<=2", "cost is given twice"),
        ("ar>=0.5", "no metric 'ar>'; did you mean 'ar'?"),
        (".ar=0.5", "'.ar' names no domain"),
        ("=0.5", "no metric ''"),
        ("ar=0.5,,ses=0.1", "found nothing between the commas"),
        ("", "found nothing between the commas"),
        ("satisfed=0.5", "no metric 'satisfed'; did you mean 'satisfied'?"),
        ("ar=0.5,satisfied=0.6", "ar is given twice, as 0.5 and 0.6"),
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
    assert all(isinstance(one, Ceiling) or (0 < one.minimum <= 1 and one.metric in GATED) for one in found)


def test_a_drop_is_about_these_cases_unless_it_says_sampled():
    found = parse_drops(["ar:0.02,navigation.ar:0.05@sampled", "flips:2", "undecided:0.1"])
    assert [str(one) for one in found] == ["ar:0.02", "navigation.ar:0.05@sampled", "flips:2", "undecided:0.1"]
    assert found[1] == Drop("ar", "navigation", most=0.05, sampled=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ar:1", "nothing falls by more than 1"),
        ("ar:0.02@95", "ar is '0.02@95', expected ar:0.02@sampled"),
        ("flips:0.5", "flips is '0.5', expected a number of cases"),
        ("flips:-1", "flips is '-1'"),
        ("flips:1@sampled", "expected flips:1"),
        ("ar:nan", "ar is 'nan'"),
        ("filps:1", "did you mean 'flips'?"),
        ("ar:0.02,ar:0.02@sampled", "ar is given twice, as 0.02 and 0.02@sampled"),
    ],
)
def test_a_mistake_in_a_drop_is_answered_kindly(text, message):
    with pytest.raises(UsageError) as error:
        parse_drops([text])
    assert str(error.value).startswith("--mapsat-max-drop: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("plain", "papers"),
    [
        ("satisfied=0.65", "ar=0.65"),
        ("navigation.efficiency=0.3@95", "navigation.ses=0.3@95"),
        ("passed=0.9", "pass_rate=0.9"),
        ("requests=1,unspoken=0.5,facts=0.5,tools=0.5", "ecr=1,iisr=0.5,ifs=0.5,ts=0.5"),
    ],
)
def test_a_threshold_takes_the_everyday_name_of_a_metric(plain, papers):
    assert parse_thresholds([plain]) == parse_thresholds([papers])


def test_a_drop_takes_the_everyday_name_of_a_metric():
    plain, papers = "navigation.satisfied:0.02,passed:0.1@sampled", "navigation.ar:0.02,pass_rate:0.1@sampled"
    assert parse_drops([plain]) == parse_drops([papers])


def test_a_metric_of_others_keeps_its_name_though_one_of_ours_is_called_so_in_everyday_words():
    theirs = Metric(name="tools", title="theirs")
    (threshold,) = parse_thresholds(["tools=0.5"], (*MSB_METRICS, theirs))
    assert threshold.metric == "tools"
