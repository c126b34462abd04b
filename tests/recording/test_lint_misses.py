"""mapsat lint SUITE --misses RUN: what the suite could add, tried before it is offered."""

import json
import re
import textwrap
from pathlib import Path

import pytest
import tiny_suite
from saved_runs import card, run_text

from pytest_mapsat.cli import main
from pytest_mapsat.model import Step, Trajectory, Turn
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.suite import open_suite

NEAR = "match:\n  query: {type: text, near: 0.8, generic: [the]}\n"


@pytest.fixture
def suite(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    root = tiny_suite.write_suite(tmp_path / "suite")
    tool = root / "tools" / "search_poi.yaml"
    tool.write_text(tool.read_text().replace("match:\n  query: {type: text}\n", NEAR))
    return root


def saved(suite: Path, *queries: str, case: str = "nav-one", tool: str = "search_poi") -> None:
    opened = open_suite(suite)
    sandbox = RecordedSandbox(opened.tools, opened.recordings(case))
    answers = [(query, sandbox.call(tool, {"query": query})) for query in queries]
    steps = tuple(
        Step(
            kind="call",
            tool=tool,
            arguments={"query": query},
            result=one.result,
            status=one.status,
            provenance=one.provenance,
        )
        for query, one in answers
    )
    turns = (Turn(role="user", text="hello"), Turn(role="agent", text="x", steps=steps))
    (suite.parent / "run.json").write_text(run_text(card(Trajectory(case=case, turns=turns))))


def test_a_synonym_that_is_offered_makes_the_recording_answer(suite, capsys):
    saved(suite, "charger", "plug", "Plug ")
    assert main(["lint", "suite", "--misses", "run.json"]) == 0
    out = capsys.readouterr().out
    assert 'case nav-one: search_poi(query="plug"), 2 times' in out
    assert 'query: asked "plug", the nearest recording has "charger"' in out
    assert "in suite/tools/search_poi.yaml:1 below match.query.synonyms:" in out
    assert '"charger": ["plug"]' in out
    assert out.endswith("2 calls missed, 1 different\n")
    tool = suite / "tools" / "search_poi.yaml"
    tool.write_text(tool.read_text().replace("generic: [the]", 'generic: [the], synonyms: {"charger": ["plug"]}'))
    opened = open_suite(suite)
    assert (
        RecordedSandbox(opened.tools, opened.recordings("nav-one")).call("search_poi", {"query": "plug"}).status == "ok"
    )


def test_the_recording_that_is_offered_is_read_only_once_it_is_filled_in(suite, capsys):
    saved(suite, "plug")
    main(["lint", "suite", "--misses", "run.json"])
    [line] = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip().startswith('{"case"')]
    more = suite / "recordings" / "more.jsonl"
    more.write_text(line + "\n")
    assert main(["lint", "suite"]) == 1
    assert "more.jsonl:1: is not valid JSON" in capsys.readouterr().out
    more.write_text(line.replace("<the answer of your service>", '{"pois": []}') + "\n")
    assert main(["lint", "suite"]) == 0


def test_machines_get_the_same_and_a_run_without_misses_offers_nothing(suite, capsys):
    saved(suite, "plug")
    assert main(["lint", "suite", "--misses", "run.json", "--json"]) == 0
    [offer] = json.loads(capsys.readouterr().out)["misses"]
    assert offer["synonym"] == {
        "parameter": "query",
        "synonyms": {"charger": ["plug"]},
        "file": "suite/tools/search_poi.yaml:1",
    }
    saved(suite, "charger")
    assert main(["lint", "suite", "--misses", "run.json"]) == 0
    assert capsys.readouterr().out.endswith("\n0 calls missed, 0 different\n")


def test_no_synonym_is_offered_that_would_not_help(suite, capsys):
    tool = suite / "tools" / "search_poi.yaml"
    tool.write_text(tool.read_text().replace(NEAR, ""))
    saved(suite, "plug")
    main(["lint", "suite", "--misses", "run.json", "--json"])
    assert json.loads(capsys.readouterr().out)["misses"][0]["synonym"] is None


def test_the_document_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    root = tiny_suite.write_suite(tmp_path / "benchmark_cases", {"a.yaml": [tiny_suite.case("pharmacy")]})
    tool = (root / "tools" / "search_poi.yaml").read_text().replace("match:\n  query: {type: text}\n", NEAR)
    (root / "tools" / "search_poi.yaml").unlink()
    (root / "tools" / "find.yaml").write_text(tool.replace("search_poi", "find"))
    case = root / "a.yaml"
    case.write_text(case.read_text().replace("search_poi", "find"))
    recording = {"case": "pharmacy", "tool": "find", "arguments": {"query": "pharmacy"}, "result": {"pois": []}}
    (root / "recordings" / "all.jsonl").write_text(json.dumps(recording) + "\n")
    saved(root, *["drugstore"] * 3, case="pharmacy", tool="find")
    main(["lint", "benchmark_cases", "--misses", "run.json"])
    doc = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "record-tools.md").read_text(encoding="utf-8")
    shown = re.search(r"(?m)^    case pharmacy: .*\n(?:^    .*\n)+", doc)
    assert shown is not None
    assert textwrap.dedent(shown[0]) in capsys.readouterr().out


def test_a_run_that_cannot_be_read_is_an_error(suite, capsys):
    assert main(["lint", "suite", "--misses", "nowhere.json"]) == 2
    assert "nowhere.json: there is no such file" in capsys.readouterr().err
