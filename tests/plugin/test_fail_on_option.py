"""--mapsat-fail-on: what fails an item."""

import json

import pytest
import tiny_suite
from saved_runs import saved

from pytest_mapsat.cli import main
from pytest_mapsat.options import RENAMED


@pytest.mark.parametrize(
    ("agent", "asserted", "failed"),
    [
        ("good", "hard,facts", 0),
        ("good", "soft", 3),
        ("good", "all", 3),
        ("good", "asked", 0),
        ("bad", "hard", 3),
        ("bad", "facts,asked", 0),
        ("bad", "none", 0),
    ],
)
def test_only_the_asserted_kinds_fail_an_item(project: pytest.Pytester, agent: str, asserted: str, failed: int) -> None:
    result = project.runpytest(f"--mapsat-agent={agent}:agent", f"--mapsat-fail-on={asserted}")
    result.assert_outcomes(failed=failed, passed=3 - failed)


def test_a_violation_that_is_not_asserted_is_listed_in_the_summary(project: pytest.Pytester) -> None:
    result = project.runpytest("--mapsat-agent=bad:agent", "--mapsat-fail-on=none")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["mapsat     PASSED   3 passed*", "satisfied  0.00*", "*unspoken 0.00*"])


@pytest.mark.parametrize("text", ["hrd", "hard,some", "none,hard", ""])
def test_an_unknown_kind_is_a_usage_error(project: pytest.Pytester, text: str) -> None:
    result = project.runpytest("--mapsat-agent=good:agent", f"--mapsat-fail-on={text or ','}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--mapsat-fail-on: found *expected hard, facts, policies, asked, soft, success*"])


def test_what_is_asked_for_and_broken_is_told_as_asserted(project: pytest.Pytester) -> None:
    case = tiny_suite.case("silent")
    case["truth"]["requirements"][0]["check"] = {"kind": "matches", "pattern": "never said"}
    folder = project.path / "benchmark_cases"
    (folder / "nav" / "silent.yaml").write_text(json.dumps(case))
    (folder / "recordings" / "silent.jsonl").write_text(json.dumps(tiny_suite.recording("silent")))
    result = project.runpytest("--mapsat-agent=good:agent", "benchmark_cases/nav/silent.yaml", "--mapsat-fail-on=asked")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*asked broken: e1*"])
    result.stdout.no_fnmatch_line("*without failing the item: e1*")


def test_policies_and_success_are_judged_told_and_asserted(project: pytest.Pytester) -> None:
    case = tiny_suite.case("careful")
    asks = {"kind": "calls", "tool": "search_poi", "at_least": 2}
    policy = {"id": "p1", "kind": "policy", "text": "it asks the weather first", "check": asks}
    case["truth"]["requirements"].append(policy)
    case["truth"]["tools"][0]["evidence"] = ["p1"]
    folder = project.path / "benchmark_cases"
    (folder / "nav" / "careful.yaml").write_text(json.dumps(case))
    (folder / "recordings" / "careful.jsonl").write_text(json.dumps(tiny_suite.recording("careful")))
    place, agent = "benchmark_cases/nav/careful.yaml", "--mapsat-agent=good:agent"
    result = project.runpytest(agent, place)
    result.assert_outcomes(passed=1)  # not asserted by default
    result = project.runpytest(agent, place, "--mapsat-fail-on=policies", "--mapsat-save=run.json")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*policy broken: p1*", "*rule    it asks the weather first*", "*rests on search_poi, which answered*"]
    )
    (card,) = saved(project)["cases"]
    assert next(label["kind"] for label in card["labels"] if label["requirement"] == "p1") == "policy"
    result = project.runpytest(agent, place, "--mapsat-fail-on=success")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--mapsat-fail-on: no suite of this run says what counts as done*success: METRIC*"])
    manifest = folder / "suite.yaml"
    manifest.write_text(tiny_suite.MANIFEST + "success: arr\n")
    result = project.runpytest(agent, place)
    result.stdout.fnmatch_lines(
        ["*suite.yaml:9: success: no metric set of the suite has the metric 'arr' (did you mean 'ar'?)*"]
    )
    manifest.write_text(tiny_suite.MANIFEST + "success: ar\n")
    result = project.runpytest(agent, place, "--mapsat-fail-on=success")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["success ar failed: it is 0.5, done is 1"])


@pytest.mark.parametrize("name", ["--mapsat-assert", "--mapsat-profile", "--mapsat-on-miss"])
def test_an_old_name_of_an_option_is_refused_with_the_new_one(pytester, name):
    result = pytester.runpytest(f"{name}=all")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {name} is now {RENAMED[name]}"])


def test_an_old_name_of_a_key_or_a_command_is_refused_with_the_new_one(pytester, capsys):
    pytester.makeini("[pytest]\nmapsat_assert = all\nmapsat_agent = baseline:silent\n")
    pytester.runpytest().stderr.fnmatch_lines(["*mapsat_assert is now mapsat_fail_on"])
    assert main(["new", "suite"]) == 2
    assert "mapsat new is now mapsat draft" in capsys.readouterr().err
