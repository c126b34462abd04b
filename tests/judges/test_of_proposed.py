"""``of: proposed``: the figure is that of what the reply proposes, and what is not sure stays open."""

import pytest
from judging import call, judge_reply
from pydantic import TypeAdapter

from pytest_mapsat.model import Check, Tool

CHECK = TypeAdapter(Check)
RIDES = Tool.model_validate(
    {
        "name": "estimate",
        "description": "Estimates rides.",
        "parameters": {"type": "object"},
        "entities": [{"items": "options", "name": "kind", "sort": "ride"}],
        "fields": {
            "options.*.kind": "name",
            "options.*.price": "price",
            "options.*.leaves": {"kind": "clock", "role": "departure"},
        },
    }
)
OPTIONS = {
    "options": [
        {"kind": "Compact", "price": 46, "leaves": "09:12"},
        {"kind": "Cargo Van", "price": 90, "leaves": "09:40"},
    ]
}


def judged(reply, kind="number", **fields):
    defaults = {"number": {"unit": "yuan", "role": "price"}, "clock_time": {"role": "departure", "tolerance_min": 0}}
    path = "options.*.price" if kind == "number" else "options.*.leaves"
    asked = {"of": "proposed", "equals": {"op": "bound", "tool": "estimate", "path": path}, "quantifier": "any"}
    steps = [call("estimate", OPTIONS)]
    return judge_reply(reply, kind, steps=steps, tools={"estimate": RIDES}, **defaults[kind] | asked | fields)


def test_the_price_of_what_is_proposed_passes():
    finding = judged("Take the Compact, which costs 46 yuan.")
    assert finding.passed is True
    assert "46 yuan" in finding.why


def test_another_thing_s_price_does_not():
    assert judged("Take the Compact. The Cargo Van costs 90 yuan, which is too much.").passed is not True
    assert judged("Take the Compact, which costs 90 yuan.").passed is not True


def test_no_price_at_all_fails():
    finding = judged("Take the Compact.")
    assert finding.passed is False
    assert finding.wanted.endswith("of 'compact'")


def test_it_is_open_where_it_is_open_what_is_proposed():
    finding = judged("The Compact costs 46 yuan and the Cargo Van costs 90 yuan. Shall I ask for more?", max=80)
    assert finding.passed is not False


def test_silence_fails():
    assert judged("...").passed is False


def test_all_figures_of_what_is_proposed_must_fit():
    assert judged("Take the Compact, which costs 46 yuan.", quantifier="all").passed is True
    assert judged("Take the Compact, which costs 52 yuan.", quantifier="all").passed is not True
    said_of_the_other = "Take the Compact, which costs 46 yuan. The Cargo Van is not for you, it costs 99 yuan."
    assert judged(said_of_the_other, quantifier="all").passed is not False


@pytest.mark.parametrize(
    ("said", "passed"), [("leaves at 09:12", True), ("is nice", False), ("leaves at 09:40", False)]
)
def test_times_are_held_against_what_is_proposed_too(said, passed):
    assert judged(f"Take the Compact. It {said}.", "clock_time").passed is passed


def test_without_values_of_a_tool_anything_that_is_proposed_counts():
    assert judged("Take the Compact, which costs 46 yuan.", equals=None, max=50).passed is True
    assert judged("Take the Compact, which costs 60 yuan.", equals=None, max=50).passed is False


def test_a_thing_of_that_name_is_written_as_a_list():
    finding = judged("Take the Compact, which costs 46 yuan.", of=["proposed"], equals=None, max=50)
    assert finding.passed is not True
    assert "of 'proposed'" in finding.wanted


def test_a_list_of_checks_is_all_of_them():
    checks = [{"kind": "says", "any": ["Compact"]}, {"kind": "says", "any": ["boat"]}]
    assert CHECK.validate_python(checks) == CHECK.validate_python({"kind": "all", "checks": checks})
