"""mapsat lint --mutants: what is printed for people and machines, and what the shipped suite's checks are worth."""

import json
from pathlib import Path

import pytest
from calibrated import trust

from pytest_mapsat.cli import main
from pytest_mapsat.proof import prove, table
from pytest_mapsat.reports import cell_width
from pytest_mapsat.suite import open_suite
from shipped_agents.errands_sandbox import sandbox_of

SHIPPED = Path(__file__).resolve().parents[2] / "benchmark_cases"
TOOL = {
    "name": "find",
    "description": "Finds places.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
    "entities": [{"items": "places", "name": "name"}],
}
PLACES = {"places": [{"name": "Old Mill", "price_yuan": 40}, {"name": "Red Door", "price_yuan": 90}]}
STRONG = {"kind": "recommends", "only": True, "any_of": ["Old Mill"]}
#: Holds whatever else is recommended.
WEAK = {"kind": "recommends", "any_of": ["Old Mill"], "tool": "any"}


def write_suite(root: Path, check: dict, say: str = "Go to Old Mill, 40 yuan.", **truth) -> Path:
    manifest = {"name": "demo", "version": "1", "license": "MIT", "schema_version": 1, "coordinates": "wgs84"}
    price = {"op": "bound", "tool": "find", "path": "places.*.price_yuan"}
    case = {
        "id": "a",
        "visible": {"query": "Where?", "context": {"now": "2026-05-07T12:30:00+08:00"}},
        "truth": {
            "requirements": [{"id": "place", "kind": "asked", "text": "a place", "check": check}, {"id": "price", "kind": "fact", "text": "f", "check": {"kind": "number", "unit": "yuan", "equals": price, "quantifier": "any"}}],

            "oracle": [{"calls": [{"tool": "find", "arguments": {"query": "x"}}], "say": say}],
            **truth,
        },
    }  # fmt: skip
    (root / "tools").mkdir()
    (root / "recordings").mkdir()
    (root / "suite.yaml").write_text(json.dumps(manifest))
    (root / "a.yaml").write_text(json.dumps(case))
    (root / "tools" / "find.yaml").write_text(json.dumps(TOOL))
    recording = {"case": "a", "tool": "find", "arguments": {"query": "x"}, "result": PLACES}
    (root / "recordings" / "a.jsonl").write_text(json.dumps(recording) + "\n")
    trust(root)
    return root


def lint_json(capsys, root, *options):
    status = main(["lint", str(root), "--mutants", "--json", *options])
    return status, json.loads(capsys.readouterr().out)


def test_json_counts_and_lists_what_survived(tmp_path, capsys):
    status, found = lint_json(capsys, write_suite(tmp_path, STRONG))
    assert status == 0
    assert set(found) == {"findings", "mutants"}
    mutants = found["mutants"]
    assert set(mutants) == {"wrong", "killed", "harmless", "false_alarms", "undecided", "survived"}
    assert mutants["wrong"] == mutants["killed"] + mutants["undecided"]["wrong"]
    assert mutants["killed"] > 5
    assert (mutants["false_alarms"], mutants["survived"]) == (0, [])
    assert mutants["harmless"] > 10


def test_a_survivor_says_kind_case_requirement_change_and_reason(tmp_path, capsys):
    say = "Go to Old Mill, 40 yuan. The garden is 40 yuan too."
    _, found = lint_json(capsys, write_suite(tmp_path, STRONG, say))
    mutants = found["mutants"]
    open_ = mutants["undecided"]["wrong"]
    assert mutants["wrong"] - mutants["killed"] - open_ == len(mutants["survived"]) > 0
    first = next(one for one in mutants["survived"] if one["kind"] == "value_off")
    assert (first["kind"], first["case"], first["requirements"]) == ("value_off", "a", ["price"])
    assert first["changed"] == "40 yuan became 32 yuan"
    assert "says '40 yuan'" in first["why"]["price"]


def test_what_no_check_speaks_of_is_told_and_not_counted(tmp_path, capsys):
    root = write_suite(tmp_path, WEAK)
    main(["lint", str(root), "--mutants"])
    out = capsys.readouterr().out
    listed = out[out.index("not counted: in case a no check is surely broken by") :]
    assert "second_choice: Red Door was proposed as well" in listed


def test_a_false_alarm_is_listed_with_its_reason(tmp_path, capsys):
    check = {"kind": "all", "checks": [STRONG, {"kind": "not", "check": {"kind": "matches", "pattern": "happy"}}]}
    main(["lint", str(write_suite(tmp_path, check)), "--mutants"])
    out = capsys.readouterr().out
    assert "false alarm: politeness: case a: place" in out
    assert "changed: polite words around" in out


def test_an_oracle_that_fails_its_own_case_is_a_false_alarm(tmp_path, capsys):
    _, found = lint_json(capsys, write_suite(tmp_path, {"kind": "says", "any": ["bus"], "about": ["bus"]}))
    assert found["mutants"]["false_alarms"] >= 1


def test_a_case_without_an_oracle_is_named(tmp_path, capsys):
    main(["lint", str(write_suite(tmp_path, STRONG, oracle=[])), "--mutants"])
    assert "not tried: case a: it has no oracle dialogue" in capsys.readouterr().out


def test_cases_that_cannot_be_loaded_are_findings_and_the_rest_is_tried(tmp_path, capsys):
    root = write_suite(tmp_path, STRONG)
    (root / "b.yaml").write_text("id: b\n")
    status, found = lint_json(capsys, root)
    assert status == 1
    assert found["mutants"]["wrong"] > 0


def test_a_suite_that_cannot_be_opened_has_no_mutants(tmp_path, capsys):
    root = write_suite(tmp_path, STRONG)
    (root / "suite.yaml").write_text("name: x")
    status, found = lint_json(capsys, root)
    assert status == 1
    assert found["mutants"]["wrong"] == found["mutants"]["harmless"] == 0


def test_without_the_option_json_is_the_list_of_findings(tmp_path, capsys):
    assert main(["lint", str(write_suite(tmp_path, STRONG)), "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)


@pytest.mark.long_proof
def test_what_the_checks_of_the_shipped_suite_are_worth(monkeypatch):
    """One test, since making all mutants takes half a minute."""
    suite = open_suite(SHIPPED)
    suite.sandboxes = [lambda case, _suite: sandbox_of(case)]
    proof = prove([suite.load(entry) for entry in suite.readable()], suite)
    assert len(proof.wrong) >= 300
    assert len(proof.survived) <= 0.05 * len(proof.wrong), [trial.to_json() for trial in proof.survived]
    assert len(proof.harmless) >= 300
    assert not [trial for trial in proof.false_alarms if trial.kind == "oracle"]
    assert len(proof.false_alarms) <= 0.02 * len(proof.harmless), proof.false_alarms
    assert proof.untried == {}
    probed = {(trial.case, requirement) for trial in proof.wrong for requirement in trial.violates}
    requirements = {(case, requirement) for case, listed in proof.requirements.items() for requirement in listed}
    assert len(probed) >= 0.74 * len(requirements)
    for columns in (60, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = list(table(proof))
        assert [line for line in lines if cell_width(line) > columns] == []
        assert any(line.startswith("search-pharmacy-late") for line in lines)
        assert lines[-1].startswith("undecided: ")
