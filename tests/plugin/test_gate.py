"""--mapsat-fail-under, --mapsat-allow-undecided, and the exit status."""

import json

import pytest
import tiny_suite
from workers import EVERYWHERE, THOROUGHLY

from pytest_mapsat.cli import main

GOOD = "--mapsat-agent=good:agent"  # AR 0.5 in every case: the soft requirement is missed


@pytest.mark.parametrize(
    ("expression", "ret", "gate"),
    [
        ("ar=0.5", 0, "PASSED"),
        ("ar=0.51", 1, "FAILED"),
        ("ar=0.5,ses=0.3", 1, "FAILED"),
        ("navigation.ar=0.5,search.ecr=1", 0, "PASSED"),
        ("navigation.ar=0.9", 1, "FAILED"),
    ],
)
def test_a_threshold_decides_the_exit_status(project: pytest.Pytester, expression: str, ret: int, gate: str) -> None:
    result = project.runpytest(GOOD, f"--mapsat-fail-under={expression}")
    assert result.ret == ret
    result.stdout.fnmatch_lines([f"gate*{gate}*"])
    result.assert_outcomes(passed=3)


@pytest.mark.parametrize("expression", ["arr=0.5", "ar=high", "ar=1.5", "ar", "cei=0.1", ".ar=0.5"])
def test_a_threshold_that_cannot_be_read_is_a_usage_error(project: pytest.Pytester, expression: str) -> None:
    result = project.runpytest(GOOD, f"--mapsat-fail-under={expression}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@THOROUGHLY
def test_a_domain_that_no_case_has_is_told_before_an_agent_is_called(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makepyfile(marked="import pathlib\nagent = lambda message: pathlib.Path('called').touch()\n")
    for option in ("fail-under=navigaton.ar=0.5", "fail-under=ar=0.5,navigaton.ar=0.5@95"):
        result = project.runpytest("--mapsat-agent=marked:agent", f"--mapsat-{option}", *workers)
        said = "*--mapsat-fail-under: no case * is of the domain 'navigaton', expected one of *, did you mean 'navigation'[?]*"
        result.stderr.fnmatch_lines([said])
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert not (project.path / "called").exists()


@pytest.mark.parametrize(("domain", "ret"), [("navigaton", pytest.ExitCode.USAGE_ERROR), ("booking", 1)])
def test_a_domain_of_the_ini_file_may_be_that_of_another_suite(project: pytest.Pytester, domain: str, ret: int) -> None:
    project.makeini(f"[pytest]\nmapsat_fail_under = {domain}.ar=0.1\n")
    result = project.runpytest(GOOD)
    assert result.ret == ret
    if domain == "booking":
        result.stdout.fnmatch_lines(["gate*INCONCLUSIVE*booking.ar is undecided: no case*"])


@pytest.mark.parametrize("part", [("-k", "nav-one"), ("-m", "navigation"), ("benchmark_cases/nav",)])
def test_a_whole_suite_threshold_on_a_part_is_undecided(project: pytest.Pytester, part: tuple[str, ...]) -> None:
    result = project.runpytest(GOOD, *part, "--mapsat-fail-under=ar=0.1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate*INCONCLUSIVE*"])


def test_a_whole_suite_threshold_from_the_ini_is_only_a_note_on_a_part(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nmapsat_fail_under =\n    ar=0.1\n")
    result = project.runpytest(GOOD, "-k", "nav-one")
    assert result.ret == 0


def test_a_domain_threshold_is_decided_when_the_domain_ran_whole(project: pytest.Pytester) -> None:
    result = project.runpytest(GOOD, "-m", "navigation", "--mapsat-fail-under=navigation.ar=0.5")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gate*PASSED*"])


@THOROUGHLY
def test_stopping_early_makes_the_gate_invalid(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    options = ("--mapsat-agent=bad:agent", "-x", "--mapsat-fail-under=ecr=0.001", *workers)
    project.runpytest(*options).stdout.fnmatch_lines(["gate*INVALID*"])


@THOROUGHLY
def test_a_broken_case_file_makes_the_gate_invalid(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    (project.path / "benchmark_cases" / "nav" / "z.yaml").write_text("id: [unclosed\n")
    result = project.runpytest(GOOD, "--continue-on-collection-errors", *workers)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*z.yaml:*", "gate*INVALID*"])
    assert "Traceback" not in result.stdout.str()


@EVERYWHERE
def test_a_broken_recording_fails_its_item_without_a_traceback_and_makes_the_gate_invalid(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    with (project.path / "benchmark_cases" / "recordings" / "all.jsonl").open("a") as recordings:
        recordings.write('{"case":"nav-one","tool":"search_poi","arguments":{},"result":NaN}\n')
    result = project.runpytest(GOOD, *workers)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*all.jsonl:4: NaN is not a JSON value*", "lost*nav-one*", "gate*INVALID*"])
    assert "pytest_mapsat/" not in result.stdout.str()


def _without_check(project: pytest.Pytester) -> None:
    unchecked = tiny_suite.case("blind")
    del unchecked["truth"]["requirements"][1]["check"]
    path = project.path / "benchmark_cases" / "nav" / "c.yaml"
    path.write_text(json.dumps([unchecked]))
    with (project.path / "benchmark_cases" / "recordings" / "all.jsonl").open("a") as recordings:
        recordings.write(json.dumps(tiny_suite.recording("blind")) + "\n")


def test_a_case_that_no_check_can_judge_is_skipped_and_undecided_and_not_lost(project: pytest.Pytester) -> None:
    _without_check(project)
    result = project.runpytest(GOOD, "-rs")
    result.assert_outcomes(passed=3, skipped=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["gate*INCONCLUSIVE*1 of 4 cases has no verdict*", "*blind; requirement z1*", "SKIPPED*c.yaml*undecided*z1*"]
    )


def test_undecided_cases_can_be_allowed(project: pytest.Pytester) -> None:
    _without_check(project)
    assert project.runpytest(GOOD, "--mapsat-allow-undecided=1").ret == 0
    rules = (GOOD, "--mapsat-fail-under=ts=1,seconds<=30")
    result = project.runpytest(*rules)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate*INCONCLUSIVE, exit status 1: 1 of 4 cases has no verdict, allowed: 0*"])
    result = project.runpytest(*rules, "--mapsat-allow-undecided=1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gate*PASSED*"])


def test_without_a_threshold_there_is_no_gate_to_pass(project: pytest.Pytester) -> None:
    result = project.runpytest(GOOD)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gate       none: no threshold set*"])


def test_a_red_run_of_passed_items_does_not_end_with_a_green_line(project: pytest.Pytester) -> None:
    result = project.runpytest(GOOD, "--mapsat-fail-under=satisfied=0.9")
    assert result.ret == 1
    assert result.stdout.lines[-1] == "mapsat: All 3 passed; the gate fails; this is no green run"
    assert "no green run" not in project.runpytest(GOOD).stdout.str()
    assert "no green run" not in project.runpytest("--mapsat-agent=bad:agent").stdout.str()


def test_the_gate_never_raises_the_status_of_a_run_that_collected_nothing(project: pytest.Pytester) -> None:
    result = project.runpytest(GOOD, "-k", "no_such_case", "--mapsat-fail-under=ar=0.1")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize(
    "option", ["trials=0", "max-turns=x", "timeout=-1", "timeout=nan", "concurrency=1.5", "allow-undecided=1.5"]
)
def test_a_number_that_cannot_be_used_is_a_usage_error(project: pytest.Pytester, option: str) -> None:
    result = project.runpytest(GOOD, f"--mapsat-{option}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--mapsat-{option.partition('=')[0]}: found*expected*"])


@THOROUGHLY
def test_a_case_that_fails_its_item_makes_the_gate_failed_and_one_that_fails_none_does_not(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    bad = ("--mapsat-agent=bad:agent", "--mapsat-save=run.json", *workers)
    for rules in ((), ("--mapsat-fail-under=ecr=0.1",), ("--mapsat-trials=1/2",)):
        failed = project.runpytest(*bad, *rules)
        assert failed.ret == 1
        failed.stdout.fnmatch_lines(["gate       FAILED: *3 of 3 cases failed: find-one, nav-one, nav-two*"])
    mark = "import pytest\ndef pytest_itemcollected(item): item.add_marker(pytest.mark.xfail(reason='one day'))\n"
    project.makeconftest(mark)
    expected = project.runpytest(*bad)
    expected.assert_outcomes(xfailed=3)
    assert expected.ret == 0
    saved = json.loads((project.path / "run.json").read_text(encoding="utf-8"))
    assert (saved["accounting"]["excused"], saved["gate"]["outcome"]) == (["find-one", "nav-one", "nav-two"], "passed")
    assert main(["regrade", "run.json"]) == main(["report", "run.json", "markdown:run.md"]) == 0
    assert "mapsat: 0 of 3 cases passed" in (project.path / "run.md").read_text(encoding="utf-8")
    (project.path / "conftest.py").unlink()
    project.makepyfile(
        test_mine="def test_mine(mapsat_case, mapsat_run): assert mapsat_run().scorecard.outcome == 'failed'\n"
    )
    mine = project.runpytest(*bad, "test_mine.py", "-o", "mapsat_cases=benchmark_cases")
    mine.assert_outcomes(passed=3)
    assert mine.ret == 0
    both = project.runpytest(*bad, "test_mine.py", "benchmark_cases", "-k", "nav-one")
    both.assert_outcomes(passed=1, failed=1, deselected=4)
    both.stdout.fnmatch_lines(["gate       FAILED: 1 of 1 case failed: nav-one*"])
