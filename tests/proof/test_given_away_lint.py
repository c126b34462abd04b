"""Lint of tasks for users with preferences: nothing that the agent sees gives away what is right (VitaBench 2.0, A.2.2)."""

import json

import pytest
import tiny_suite

from pytest_mapsat.suite import lint, open_suite

CALL = {"tool": "search_poi", "arguments": {"query": "charger"}}
PREFERRED = {"kind": "recommends", "only": True, "where": {"quiet": {"op": "equal", "value": True}}}
ASKED = {"kind": "recommends", "only": True, "where": {"open": {"op": "equal", "value": True}}}


def place(name, *, is_open=True, quiet=True, **more):
    return {"name": name, "open": is_open, "quiet": quiet, **more}


def findings(folder, pois, *, query="Take me to a charger.", preferences=("quiet places",), details=None):
    """Return what lint says of a task whose search returns these places, and whose user likes quiet ones."""
    case = tiny_suite.case("one")
    case["visible"]["query"] = query
    case["visible"]["context"]["details"] = details or {}
    case["truth"] |= {
        "preferences": list(preferences),
        "requirements": [
            {"id": "e1", "kind": "asked", "text": "it is open", "check": ASKED},
            {"id": "z1", "kind": "hard", "text": "it is quiet", "weight": 1, "check": PREFERRED},
        ],
        "oracle": [{"calls": [CALL], "say": "I suggest Blue Bay."}],
    }
    root = tiny_suite.write_suite(folder / "suite", {"a.yaml": [case]})
    recording = tiny_suite.recording("one") | {"result": {"pois": pois}}
    (root / "recordings" / "all.jsonl").write_text(json.dumps(recording) + "\n")
    suite = open_suite(root)
    found = lint(suite, dialogues=True)
    return {finding.rule: str(finding) for finding in found if finding.severity != "note"}


TARGET = place("Blue Bay")
RULES = {"label-visible", "preference-told"}


def test_a_task_that_gives_nothing_away_is_sound(tmp_path):
    pois = [place("Old Mill", quiet=False), TARGET, place("Red Barn", is_open=False)]
    assert RULES.isdisjoint(findings(tmp_path, pois))


@pytest.mark.parametrize(
    "label",
    [{"product_type": "target"}, {"shop_label": "Distraction"}, {"notes": [{"distraction_reason": "it is loud"}]}],
)
def test_a_label_of_the_source_that_a_tool_shows_is_an_error(tmp_path, label):
    told = findings(tmp_path, [place("Old Mill", quiet=False, **label), TARGET])
    assert "search_poi returns" in told["label-visible"]
    assert "[error: label-visible]" in told["label-visible"]


@pytest.mark.parametrize(
    ("told", "where"),
    [
        (True, {"query": "A charger in QUIET places, please."}),
        (True, {"details": {"likes": "quiet places"}}),
        (False, {}),
    ],
)
def test_a_preference_that_the_agent_sees_is_told(tmp_path, told, where):
    found = findings(tmp_path, [place("Old Mill", quiet=False), TARGET], **where)
    assert ("preference-told" in found) is told
