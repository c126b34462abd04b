"""Items that can never fail, suites that lost a case, checks that look for nothing: none of them passes in silence."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_suite

from pytest_mapsat.cli import main

GOOD = "--mapsat-agent=good:agent"


def softened(name: str) -> dict[str, Any]:
    """A case whose only requirement is a soft one."""
    found = tiny_suite.case(name)
    soft = next(requirement for requirement in found["truth"]["requirements"] if requirement["kind"] == "soft")
    found["truth"] = {**found["truth"], "requirements": [soft]}
    return found


@pytest.fixture
def soft(project: pytest.Pytester) -> pytest.Pytester:
    (project.path / "benchmark_cases" / "nav" / "soft.yaml").write_text(json.dumps([softened("soft-one")]))
    (project.path / "benchmark_cases" / "recordings" / "soft.jsonl").write_text(
        json.dumps(tiny_suite.recording("soft-one"))
    )
    return project


def test_an_item_that_asserts_nothing_is_skipped_and_not_counted_as_passed(soft: pytest.Pytester) -> None:
    result = soft.runpytest(GOOD, "--mapsat-save=run.json", "-rs", "--mapsat-fail-under=pass_rate=1")
    result.assert_outcomes(passed=3, skipped=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "mapsat     PASSED   3 passed · 1 not applicable*",
            "gate*PASSED: pass_rate 1.0000 >= 1 (3 of 4 cases*",
            "SKIPPED*not applicable: nothing is asserted: the*",
        ]
    )
    card = next(card for card in json.loads((soft.path / "run.json").read_text())["cases"] if card["id"] == "soft-one")
    assert (card["outcome"], card["blame"]) == ("not_applicable", None)
    assert card["metrics"]["ar"] is not None


def test_asserting_none_passes_as_asked_and_asserting_what_no_case_has_passes_nothing(soft: pytest.Pytester) -> None:
    soft.runpytest(GOOD, "--mapsat-fail-on=none").assert_outcomes(passed=4)
    soft.runpytest(GOOD, "--mapsat-fail-on=soft", "-k", "soft-one").assert_outcomes(failed=1, deselected=3)
    result = soft.runpytest(GOOD, "--mapsat-fail-on=policies")
    result.assert_outcomes(skipped=4)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["error      no case could fail: none that ran has a requirement of policies; fail_on: in *"]
    )
    one_of_four = soft.runpytest(GOOD)
    one_of_four.assert_outcomes(passed=3, skipped=1)
    assert one_of_four.ret == 0
    one_of_four.stdout.no_fnmatch_line("*no case could fail*")


def test_lint_warns_of_an_item_that_cannot_fail(
    soft: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(soft.path)
    main(["lint", "benchmark_cases"])
    printed = capsys.readouterr().out
    assert "soft.yaml:1: case soft-one: no item can fail: it has no requirement of asked, facts, hard" in printed
    assert printed.count("not-asserted") == 1


def test_a_case_file_that_was_put_aside_makes_the_run_invalid_where_the_suite_counts_its_cases(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(manifest.read_text() + "\ncases: 3\n")
    assert project.runpytest(GOOD).ret == 0
    cases = project.path / "benchmark_cases" / "search" / "b.jsonl"
    cases.rename(cases.with_name("b.jsonl.bak"))
    result = project.runpytest(GOOD)
    assert result.ret == 1
    shown = " ".join(result.stdout.str().split())
    assert "INVALID" in shown
    assert "cases: the manifest says 3, found 2" in shown
    monkeypatch.chdir(project.path)
    assert main(["lint", "benchmark_cases"]) == 1
    printed = capsys.readouterr().out
    assert "cases: the manifest says 3, found 2" in printed
    assert "b.jsonl.bak: looks like cases but is not read" in printed


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ({"kind": "says", "none": [" "]}, "none*text with a letter or a digit"),
        ({"kind": "says", "none": ["..."]}, "none*text with a letter or a digit"),
        ({"kind": "says", "any": ["\u3000"]}, "any*text with a letter or a digit"),
    ],
)
def test_a_phrase_in_which_there_is_nothing_to_find_is_refused(project: pytest.Pytester, check: Any, told: str) -> None:
    found = tiny_suite.case("nav-one")
    found["truth"]["requirements"][1]["check"] = check
    (project.path / "benchmark_cases" / "nav" / "a.yaml").write_text(json.dumps([found]))
    result = project.runpytest(GOOD)
    assert result.ret != 0
    result.stdout.fnmatch_lines([f"*a.yaml:1:*{told}*"])


def test_merge_and_report_end_with_1_where_a_case_failed(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for shard in (1, 2):
        project.runpytest("--mapsat-agent=bad:agent", f"--mapsat-shard={shard}/2", f"--mapsat-save={shard}.json")
        project.runpytest(GOOD, f"--mapsat-shard={shard}/2", f"--mapsat-save=good{shard}.json")
    monkeypatch.chdir(project.path)
    capsys.readouterr()
    assert main(["merge", "1.json", "2.json", "--out", "run.json"]) == 1
    assert "gate       FAILED: 3 of 3 cases failed: find-one, nav-one, nav-two" in capsys.readouterr().out
    assert main(["report", "run.json", "json:report.json"]) == 1
    assert Path("report.json").exists()
    assert main(["merge", "good1.json", "good2.json", "--out", "good.json"]) == 0
    assert main(["report", "good.json", "json:good-report.json"]) == 0
