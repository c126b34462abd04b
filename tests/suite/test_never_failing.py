"""Checks that hold whatever an agent does: lint tells them, and says why."""

import json

import pytest
from suite_maker import MANIFEST, case_yaml, make_suite

from pytest_mapsat.cli import main
from pytest_mapsat.suite import lint, open_suite

TOOLS = """\
- {name: find, description: Finds., parameters: {type: object, properties: {query: {type: string}, near: {type: string}}}}
- {name: book, description: Books., effect: write, parameters: {type: object, properties: {}}}
"""
STATE = {"state/orders.jsonl": '{"id": "o1", "status": "open"}\n', "state/users.jsonl": '{"id": "u1"}\n'}
SCHEMA = {
    "type": "object",
    "properties": {
        "total": {"type": "number"},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number"}}}},
    },
}


def told(tmp_path, check, schema=SCHEMA):
    """What lint tells of a check that can never fail."""
    visible = {"query": "eat", "output_schema": schema} if schema else {"query": "eat"}
    requirement = {"id": "e1", "kind": "asked", "text": "it holds", "check": check}
    case = {"id": "a", "domains": ["search"], "visible": visible, "truth": {"requirements": [requirement]}}
    suite = open_suite(make_suite(tmp_path, {"a.yaml": json.dumps([case]), "tools.yaml": TOOLS, **STATE}))
    found = [one for one in lint(suite) if one.rule == "never-fails"]
    assert all((one.severity, "it can never fail: " in one.problem.message) == ("warning", True) for one in found)
    return [one.problem.message.partition("it can never fail: ")[2] for one in found]


FIND = {"kind": "calls", "tool": "find"}
OUTPUT = {"kind": "output", "path": "total", "equals": 3}
ORDERS, USERS = {"table": "orders"}, {"table": "users"}
FAR = 20_015_115


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ({**FIND, "at_least": 0}, "at_least: 0 asks for no call, and without at_most any number is allowed"),
        ({**FIND, "at_least": 0, "with": {"query": "x"}, "answered": True}, "at_least: 0 asks for no call"),
        ({"kind": "any", "checks": [{**FIND, "at_least": 0}, OUTPUT]}, "at_least: 0 asks for no call"),
        ({"kind": "asked"}, "any number of questions is allowed"),
        ({"kind": "asked", "at_least": 0, "about": ["date"]}, "any number of questions is allowed"),
        *[
            ({"kind": "matches", "pattern": pattern}, "is found in every text")
            for pattern in (".*", "", "^", "$", "(?s).*", "a*", "x?", "(?:)", "|no", "\\B|.", "[^a]*", "(a|)")
            if pattern
        ],
        ({"kind": "unchanged", "except": [{"table": "orders", "columns": []}]}, "columns: [] exempts whole rows"),
        ({"kind": "unchanged", "except": [ORDERS, USERS]}, "every row of every table may change"),
        ({"kind": "unchanged", "except": [ORDERS, {**USERS, "where": {}}]}, "every row of every table may change"),
        (
            {"kind": "clock_time", "after": "00:00", "before": "23:59", "if_absent": "nothing_claimed"},
            "every time of day lies between them",
        ),
        ({"kind": "clock_time", "after": "00:00", "if_absent": "nothing_claimed"}, "every time of day"),
        ({"kind": "clock_time", "before": "23:59", "if_absent": "nothing_claimed"}, "every time of day"),
        ({"kind": "number", "unit": "m", "min": -1e300, "if_absent": "nothing_claimed"}, "every number lies"),
        ({**OUTPUT, "equals": {"op": "between", "min": -1e300, "max": 1e300}}, "every number lies between them"),
        ({**OUTPUT, "equals": {"op": "between", "max": 1e101}}, "every number lies between them"),
        ({**FIND, "with": {"near": {"op": "within_m", "lon": 1, "lat": 1, "metres": FAR}}}, "every place on Earth"),
        ({"kind": "located", "lon": 1, "lat": 1, "metres": FAR}, "every place on Earth is as near as that"),
        ({**FIND, "with": {"query": {"op": "similar", "text": "x", "at_least": 0}}}, "every text is as similar"),
        ({"kind": "not", "check": {**OUTPUT, "path": "lines.*.price.amount"}}, "no output is asked for"),
    ],
)
def test_what_can_never_fail_is_told(tmp_path, check, why):
    messages = told(tmp_path, check)
    assert len(messages) == 1
    assert why in messages[0]


def test_a_denied_output_that_nobody_is_asked_for_is_told_where_the_case_has_no_schema(tmp_path):
    denied = {"kind": "not", "check": OUTPUT}
    assert told(tmp_path, denied, schema=None) == ["no output is asked for 'total': name it in visible.output_schema"]
    assert told(tmp_path / "asked", denied) == []
    assert told(tmp_path / "positive", OUTPUT, schema=None) == []


@pytest.mark.parametrize(
    "check",
    [
        FIND,
        {**FIND, "at_least": 0, "at_most": 3},
        {**FIND, "at_most": 0},
        {**FIND, "at_least": 1},
        {**FIND, "at_least": 0, "agreed": True},
        {"kind": "calls", "steps": ["find"]},
        {"kind": "asked", "at_least": 1},
        {"kind": "asked", "at_most": 0},
        *[{"kind": "matches", "pattern": pattern} for pattern in ("a", ".", "^$", ".+", "\\b", "\\w*x", "(?i)no|yes")],
        {"kind": "unchanged"},
        {"kind": "unchanged", "except": [ORDERS]},
        {"kind": "unchanged", "except": [ORDERS, {**USERS, "where": {"id": "u1"}}]},
        {"kind": "unchanged", "except": [ORDERS, {**USERS, "columns": ["name"]}]},
        {"kind": "clock_time", "after": "00:00", "before": "23:59"},
        {"kind": "clock_time", "after": "00:01", "if_absent": "nothing_claimed"},
        {"kind": "clock_time", "before": "23:58", "if_absent": "nothing_claimed"},
        {"kind": "number", "unit": "m", "min": -1e300},
        {"kind": "number", "unit": "m", "min": 0, "if_absent": "nothing_claimed"},
        {**OUTPUT, "equals": {"op": "between", "min": 0}},
        {**OUTPUT, "equals": {"op": "between", "max": 1e99}},
        {**FIND, "with": {"near": {"op": "within_m", "lon": 1, "lat": 1, "metres": FAR - 2}}},
        {**FIND, "with": {"query": {"op": "similar", "text": "x", "at_least": 0.01}}},
        {"kind": "not", "check": {**OUTPUT, "path": "lines.*.price"}},
        {"kind": "not", "check": {"kind": "output"}},
    ],
)
def test_what_can_fail_is_not_told(tmp_path, check):
    assert told(tmp_path, check) == []


def test_lint_and_run_refuse_a_share_of_cases_as_the_metric_of_one(tmp_path, capsys):
    root = make_suite(tmp_path, {"suite.yaml": MANIFEST + "success: pass_rate\n", "a.yaml": case_yaml("a")})
    assert main(["lint", str(root)]) == 1
    assert "success: pass_rate counts the items that pass" in capsys.readouterr().out.replace("Value error, ", "")


@pytest.mark.parametrize(
    ("checks", "noted"),
    [
        ([{**FIND, "at_most": 0}], True),
        ([{**FIND, "at_most": 0}, {"kind": "says", "none": ["rude"]}], True),
        ([{**FIND, "at_most": 0}, {"kind": "says", "any": ["kind"]}], False),
        ([{**FIND, "at_most": 0}, None], False),
    ],
)
def test_a_case_whose_checks_silence_passes_is_a_note(tmp_path, capsys, checks, noted):
    requirements = [
        {"id": f"e{number}", "kind": "asked", "text": "it holds", **({"check": check} if check else {})}
        for number, check in enumerate(checks)
    ]
    case = {"id": "a", "domains": ["search"], "visible": {"query": "eat"}, "truth": {"requirements": requirements}}
    root = make_suite(tmp_path, {"a.yaml": json.dumps([case]), "tools.yaml": TOOLS})
    main(["lint", str(root), "--json"])
    found = [one for one in json.loads(capsys.readouterr().out) if one["rule"] == "silence-passes"]
    assert [one["severity"] for one in found] == ["note"] * noted
