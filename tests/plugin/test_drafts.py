"""Drafts: cases whose proposals no person has accepted. No run takes one, and no run is silent about one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_suite
from saved_runs import saved
from workers import EVERYWHERE, THOROUGHLY

from pytest_mapsat.cli import main

GOOD = "--mapsat-agent=good:agent"
SAVE = "--mapsat-save=run.json"
REVIEW = "left out: mapsat review benchmark_cases"


def draft(name: str, **changes: Any) -> dict[str, Any]:
    """Return a case whose hard requirement is a proposal."""
    case = tiny_suite.case(name, **changes)
    case["truth"]["requirements"][1]["draft"] = True
    return case


@pytest.fixture
def drafts(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with three cases and a draft of each form: in YAML, in a JSONL line with the canonical header, and by an answer of the user."""
    by_answer = tiny_suite.case("d-3")
    by_answer["truth"]["user"] = [{"asked": ["stairs"], "say": "No stairs, please.", "draft": True}]
    files = {
        "a.yaml": [tiny_suite.case("c-1"), draft("d-1")],
        "b.jsonl": [draft("d-2"), tiny_suite.case("c-2"), tiny_suite.case("c-3", "search")],
        "new/c.yaml": [by_answer],
    }
    tiny_suite.write_suite(pytester.path / "benchmark_cases", files)
    pytester.makepyfile(good=tiny_suite.GOOD)
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\n")
    return pytester


@pytest.fixture
def only_drafts(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project in which every case is a draft."""
    files = {"a.yaml": [draft("d-1")], "b.jsonl": [draft("d-2")]}
    tiny_suite.write_suite(pytester.path / "benchmark_cases", files)
    pytester.makepyfile(good=tiny_suite.GOOD)
    return pytester


def ids(run: Any) -> list[str]:
    return [card["id"] for card in run["cases"]]


@EVERYWHERE
def test_a_run_leaves_drafts_out_and_tells_it_once(drafts, workers):
    result = drafts.runpytest(GOOD, SAVE, "--mapsat-fail-under=ar=0.4", *workers)
    assert result.ret == 0
    told = [line for line in result.outlines if "left out" in line]
    assert told == [f"drafts     3 drafts {REVIEW}"]
    run = saved(drafts)
    assert ids(run) == ["c-1", "c-2", "c-3"]
    assert run["accounting"] == {
        "collected": 3,
        "deselected": 0,
        "lost": [],
        "drafts": ["d-1", "d-2", "d-3"],
        "excused": [],
    }
    assert run["gate"]["outcome"] == "passed"
    assert run["manifest"]["suites"][0]["cases"] == 3


def test_only_the_drafts_among_the_collected_files_are_told(drafts):
    result = drafts.runpytest(GOOD, SAVE, "benchmark_cases/a.yaml")
    result.stdout.fnmatch_lines([f"drafts     1 draft {REVIEW}"])
    assert saved(drafts)["accounting"]["drafts"] == ["d-1"]


@THOROUGHLY
def test_a_run_of_nothing_but_drafts_is_a_usage_error(only_drafts, workers):
    result = only_drafts.runpytest(GOOD, *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines([f"usage error: every case that was collected is a draft: 2 drafts {REVIEW}"])


def test_a_draft_that_is_named_is_a_usage_error_that_says_what_it_is(drafts):
    result = drafts.runpytest(GOOD, "benchmark_cases/a.yaml::case[d-1]")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert REVIEW in result.stdout.str() + result.stderr.str()


def test_a_test_of_the_users_own_is_given_no_draft(drafts):
    drafts.makepyfile(
        test_own="def test_own(mapsat_case, mapsat_run):\n    assert mapsat_run().scorecard.outcome == 'passed'\n"
    )
    result = drafts.runpytest(GOOD, "--mapsat-cases=benchmark_cases", "test_own.py", "-k", "test_own")
    result.assert_outcomes(passed=3, deselected=3)
    result.stdout.fnmatch_lines([f"drafts     3 drafts {REVIEW}"])


def test_a_sample_is_drawn_among_cases_that_are_no_drafts(drafts):
    result = drafts.runpytest(GOOD, SAVE, "--mapsat-sample=3")
    assert result.ret == 0
    assert ids(saved(drafts)) == ["c-1", "c-2", "c-3"]
    result = drafts.runpytest(GOOD, "--mapsat-sample=4")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*has 3 cases besides 3 drafts (mapsat review benchmark_cases)*"])


def test_shards_merge_without_drafts_and_keep_account_of_them(drafts, capsys):
    for number in (1, 2):
        drafts.runpytest(GOOD, f"--mapsat-save={number}.json", f"--mapsat-shard={number}/2")
    assert main(["merge", "1.json", "2.json", "--out=all.json"]) == 0
    run = saved(drafts, "all.json")
    assert (ids(run), run["accounting"]["drafts"]) == (["c-1", "c-2", "c-3"], ["d-1", "d-2", "d-3"])


def test_a_run_is_not_regraded_by_a_case_that_is_a_draft_now(drafts, capsys):
    drafts.runpytest(GOOD, SAVE, "benchmark_cases/a.yaml")
    (drafts.path / "benchmark_cases" / "a.yaml").unlink()
    (drafts.path / "benchmark_cases" / "a.jsonl").write_text(json.dumps(draft("c-1")) + "\n")
    assert main(["regrade", "run.json"]) == 2
    assert "'c-1' of the run is a draft now: mapsat review benchmark_cases" in capsys.readouterr().err


def test_a_draft_in_disguise_is_an_error_of_its_line(drafts):
    line = json.dumps(draft("d-2")).replace('"draft"', '"dr\\u0061ft"')
    (drafts.path / "benchmark_cases" / "b.jsonl").write_text(line + "\n")
    result = drafts.runpytest(GOOD, "benchmark_cases/b.jsonl")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*b.jsonl:1: it was listed as no draft, and is another*"])


def test_a_draft_stands_in_no_sequence(drafts):
    case = draft("d-4", group={"name": "g", "order": 1})
    (drafts.path / "benchmark_cases" / "g.jsonl").write_text(json.dumps(case) + "\n")
    assert main(["lint", "benchmark_cases"]) == 1


@pytest.fixture
def findings(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def call(path: Path, *options: str) -> Any:
        main(["lint", str(path), "--json", *options])
        return json.loads(capsys.readouterr().out)

    return call


def test_lint_notes_each_proposal_where_it_stands(drafts, findings):
    notes = [one for one in findings(drafts.path / "benchmark_cases") if one["rule"] == "draft"]
    assert [(Path(note["path"]).name, note["severity"]) for note in notes] == [
        ("a.yaml", "note"),
        ("b.jsonl", "note"),
        ("c.yaml", "note"),
    ]
    lines = (drafts.path / "benchmark_cases" / "a.yaml").read_text().splitlines()
    assert "z1" in "".join(lines[notes[0]["line"] - 1 : notes[0]["line"] + 2])
    assert "proposes z1 (hard): 'it is open now'" in notes[0]["message"]
    assert "proposes that the user answers 'No stairs, please.' when asked for 'stairs'" in notes[2]["message"]
    assert "mapsat review" in notes[0]["hint"]


def test_labelled_answers_to_drafts_are_judged_like_others(drafts, findings):
    folder = drafts.path / "benchmark_cases" / "labels"
    folder.mkdir()
    turns = [{"role": "user", "text": "Take me to a charger."}, {"role": "agent", "text": "I suggest Old Mill."}]
    answer = {"case": "d-1", "id": "logged", "turns": turns, "labels": {"e1": "passed", "z1": "failed", "f1": "passed"}}
    (folder / "logged.jsonl").write_text(json.dumps(answer) + "\n")
    told = findings(drafts.path / "benchmark_cases", "--answers")
    assert told["answers"]["each"] == [{"case": "d-1", "answer": "logged", "is": "wrong", "judged": "red"}]
    assert main(["lint", str(drafts.path / "benchmark_cases"), "--answers", "--save=answers.json"]) == 2
