"""Lint of tasks for users with preferences: distractors, a target that stands alone, and nothing that gives them away (VitaBench 2.0, A.2.2)."""

import json
from pathlib import Path

import pytest
import tiny_suite

from pytest_mapsat.commands.shared import load_added
from pytest_mapsat.proof import lint_recordings
from pytest_mapsat.proof.oracles import candidate_remarks, play_oracle
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
    found = [*lint(suite), *lint_recordings(suite)]
    return {finding.rule: str(finding) for finding in found if finding.severity != "note"}


TARGET = place("Blue Bay")
RULES = {"no-distractor", "several-targets", "label-visible", "preference-told"}


def test_a_task_with_a_distractor_and_one_right_place_is_sound(tmp_path):
    pois = [place("Old Mill", quiet=False), TARGET, place("Red Barn", is_open=False)]
    assert RULES.isdisjoint(findings(tmp_path, pois))


def test_where_no_place_breaks_the_preference_alone_a_stranger_is_right_too(tmp_path):
    told = findings(tmp_path, [place("Old Mill", is_open=False, quiet=False), TARGET])
    assert "of 1 other rows that the oracle's calls return, none does what is asked and breaks" in told["no-distractor"]
    assert "a.yaml:" in told["no-distractor"]


def test_a_second_right_place_is_told_by_name(tmp_path):
    told = findings(tmp_path, [place("Old Mill", quiet=False), TARGET, place("Red Barn")])
    assert "'Red Barn' would be as right as what the oracle chooses" in told["several-targets"]
    assert "no-distractor" not in told


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


def test_a_case_without_preferences_may_have_many_right_places(tmp_path):
    assert RULES.isdisjoint(findings(tmp_path, [TARGET, place("Red Barn")], preferences=()))


def test_the_errands_have_distractors_and_one_right_offer_each_in_their_world():
    folder = Path(__file__).resolve().parents[2] / "examples" / "errands" / "suite"
    suite = open_suite(folder)
    suite.sandboxes = load_added([], [folder]).sandboxes
    assert [str(finding) for finding in lint_recordings(suite) if finding.rule in RULES] == []
    entry = suite.entries(folder / "cases" / "mia.yaml")[0]
    case = suite.load(entry)
    # Where the requirement on the end asks for any order, every offer is as right as another.
    loose = case.truth.requirements[1].model_copy(update={"check": case.truth.requirements[0].check})
    truth = case.truth.model_copy(update={"requirements": (case.truth.requirements[0], loose)})
    case = case.model_copy(update={"truth": truth})
    remarks = {remark.rule: remark.message for remark in candidate_remarks(case, suite, play_oracle(case, suite))}
    assert remarks.keys() == {"no-distractor", "several-targets"}
    assert "and 2 more would be as right as what the oracle chooses" in remarks["several-targets"]
