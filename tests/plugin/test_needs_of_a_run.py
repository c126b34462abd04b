"""A suite of days on which nothing fits, nothing is to be done, or the user has a need that only an answer reveals; and how runs count these needs."""

import copy
import json
from pathlib import Path

import pytest

from pytest_mapsat.metrics.needs import NEEDS, ways_of
from pytest_mapsat.model import Turn
from pytest_mapsat.suite import lint, open_suite

MANIFEST = """\
name: rooms
version: "1"
license: MIT
schema_version: 1
language: en
domains: {rooms: Find a room.}
metrics: [msb, needs]
"""
TOOLS = """\
- name: find_rooms
  description: Find rooms.
  parameters: {type: object, properties: {}}
  entities: [{items: rooms, name: name, id: id, fields: {stairs: text, price: price}}]
  answer: {kind: rows, table: rooms, items: rooms, show: [id, name, stairs, price]}
"""
ROOMS = [("r1", "Birch House", "no", 80), ("r2", "Cedar Lodge", "yes", 40), ("r3", "Maple Court", "yes", 95)]
NAMES = ["step-free", "cheap"]
SCHEMA = {
    "type": "object",
    "properties": {
        "offers": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}},
        "given_up": {"type": "array", "items": {"enum": NAMES}},
        "noted": {"type": "boolean"},
    },
}
FOUND = {"tool": "find_rooms", "arguments": {}}
OFFERS = {"kind": "output", "path": "offers", "id": "id", "tool": "find_rooms"}


def need(name, where, source="profile"):
    return {"id": name, "kind": "hard", "text": name, "source": source, "check": {**OFFERS, "where": where}}


STEP_FREE = need("step-free", {"stairs": "no"})
CHEAP = need("cheap", {"price": {"op": "between", "max": 50}}, "unstated")


def case(name, requirements, **truth):
    visible = {"query": "A room for tonight, please.", "output_schema": SCHEMA}
    return {"id": name, "domains": ["rooms"], "visible": visible, "truth": {"requirements": requirements, **truth}}


def cases():
    nothing = case(
        "nothing",
        [STEP_FREE, CHEAP],
        none={"relax": NAMES, "output": "given_up"},
        oracle=[{"calls": [FOUND], "say": "Nothing fits; Cedar Lodge has stairs."}],
        output={"offers": [{"id": "r2"}], "given_up": ["step-free"]},
    )
    asked = case(
        "asked",
        [CHEAP],
        user={"answers": [{"asked": ["how much"], "say": "At most fifty.", "reveals": ["cheap"]}]},
        oracle=[{"calls": [FOUND], "say": "How much may it cost?"}, {"say": "Cedar Lodge."}],
        output={"offers": [{"id": "r2"}]},
    )
    noted = {"kind": "output", "path": "noted", "equals": True}
    quiet = case(
        "quiet",
        [{"id": "noted", "kind": "asked", "text": "It is noted", "check": noted}],
        quiet=True,
        oracle=[{"say": "Noted, thank you."}],
        output={"noted": True},
    )
    quiet["visible"]["query"] = "Just so you know, I am home now."
    return [nothing, asked, quiet]


def write_suite(folder: Path, written) -> Path:
    (folder / "state").mkdir(parents=True)
    (folder / "suite.yaml").write_text(MANIFEST)
    (folder / "tools.yaml").write_text(TOOLS)
    rows = (json.dumps(dict(zip(("id", "name", "stairs", "price"), row, strict=True))) for row in ROOMS)
    (folder / "state" / "rooms.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "cases.yaml").write_text(json.dumps(written))
    return folder


AGENTS = """\
from pytest_mapsat import Reply

def right(message, tools, session):
    if "home" in message:
        return Reply("Noted, thank you.", output={"noted": True})
    tools.find_rooms()
    return Reply("Cedar Lodge.", output={"offers": [{"id": "r2"}], "given_up": ["step-free"]})

def asks(message, tools, session):
    if "fifty" not in message and "home" not in message:
        return "How much may it cost?"
    return right(message, tools, session)

def wrong(message, tools, session):
    tools.find_rooms()
    return Reply("Maple Court. Shall I book it?", output={"offers": [{"id": "r3"}], "given_up": ["step-free", "cheap"]})
"""


@pytest.mark.parametrize(
    ("agent", "passed", "needs"),
    [
        ("baseline:oracle", 3, "unasked 0.500; asked 0.500; told 0.000; missed 0.000"),
        ("bots:right", 3, "unasked 1.000; asked 0.000; told 0.000; missed 0.000"),
        ("bots:asks", 2, "unasked 0.000; asked 0.500; told 0.000; missed 0.500"),
        ("bots:wrong", 0, "unasked 0.000; asked 0.000; told 0.000; missed 1.000"),
        ("baseline:silent", 0, "unasked 0.000; asked 0.000; told 0.000; missed 1.000"),
        ("baseline:constant", 0, "unasked 0.000; asked 0.000; told 0.000; missed 1.000"),
    ],
)
def test_agents_stand_in_their_order_and_a_run_counts_how_needs_were_met(pytester, agent, passed, needs):
    write_suite(pytester.path / "benchmark_cases", cases())
    (pytester.path / "bots.py").write_text(AGENTS)
    pytester.syspathinsert()
    result = pytester.runpytest(f"--mapsat-agent={agent}", "--mapsat-save=run.json", "-v")
    result.assert_outcomes(passed=passed, failed=3 - passed)
    result.stdout.fnmatch_lines([f"needs*{needs}", "needs prof*missed*", "needs unst*missed*"])
    assert '"needs_unasked_profile"' in (pytester.path / "run.json").read_text()


def test_lint_reports_needs_that_a_row_meets_after_all_and_needs_that_no_case_has(tmp_path):
    def told(name, change):
        written = copy.deepcopy(cases())
        change(written[0], written[1]["truth"]["user"]["answers"][0])
        findings = lint(open_suite(write_suite(tmp_path / name, written)), dialogues=True)
        return [(each.severity, each.problem.message) for each in findings if each.rule != "no-script"]

    def fits(case, _):
        case["world"] = {"rows": [{"table": "rooms", "where": {"id": "r1"}, "set": {"price": 45}}]}

    assert told("as-written", lambda *_: None) == []
    [(severity, message)] = [each for each in told("fits", fits) if "a row of" in each[1]]
    assert (severity, "a row of rooms meets all of step-free, cheap" in message) == ("error", True)
    untold = told("untold", lambda case, _: case["truth"]["requirements"][0].pop("check"))
    assert ("note", True) in [(each, "no table shows whether" in message) for each, message in untold]
    none = {"relax": ["step-fre", "cheap"], "output": "givenup"}
    wrong = [each[1] for each in told("wrong", lambda case, _: case["truth"].update(none=none))]
    assert any("'step-fre' is no such need" in each for each in wrong), wrong
    wrong = [each[1] for each in told("answer", lambda _, answer: answer.update(reveals=["chep"]))]
    assert any("'chep' is no such need" in each for each in wrong), wrong


QUERY, REPLY = Turn(role="user", text="A room."), Turn(role="agent", text="Well.")


def said(reveals):
    return Turn(role="user", text="At most fifty.", reveals=reveals)


@pytest.mark.parametrize(
    ("turns", "value", "ways"),
    [
        ((QUERY, REPLY), 1, {"unasked"}),
        ((QUERY, REPLY), 0, {"missed"}),
        ((QUERY, REPLY), 0.5, {"missed"}),
        ((QUERY, REPLY), None, {"unasked", "missed"}),
        ((QUERY, REPLY, said({"cheap": "asked"}), REPLY), 1, {"asked"}),
        ((QUERY, REPLY, said({"cheap": "told"}), REPLY, said({"cheap": "asked"}), REPLY), 1, {"told"}),
        ((QUERY, REPLY, said({"quiet": "asked"}), REPLY), 1, {"unasked"}),
        ((QUERY, REPLY, said({"cheap": "asked"})), 1, {"unasked"}),  # no reply follows
        ((QUERY, REPLY, said(None), REPLY), 1, {"unasked", "asked", "told"}),  # it is unknown what this reveals
        ((QUERY, REPLY, said(None), REPLY, said({"cheap": "asked"}), REPLY), 1, {"asked", "told"}),
    ],
)
def test_a_need_is_met_unasked_only_if_no_words_revealed_it(turns, value, ways):
    assert ways_of("cheap", value, turns) == ways
    assert [metric.name for metric in NEEDS.metrics if metric.gated] == ["needs_unasked"]
