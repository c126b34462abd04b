"""--mapsat-report: reports of the run that has just ended, and the properties of its JUnit file."""

import xml.etree.ElementTree as ET

import pytest
from saved_runs import saved

REPORTS = ("--mapsat-report=html:out/a.html", "--mapsat-report=json:a.json", "--mapsat-report=markdown:a.md")


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_reports_are_written_without_a_run_file_and_a_cache(project: pytest.Pytester, workers, monkeypatch) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "step.md"))
    cache = ("-p", "no:cacheprovider")
    run = project.runpytest_subprocess if workers else project.runpytest
    options = (*REPORTS, "--mapsat-report=github:", "--junitxml=a.xml", *cache, *workers)
    result = run("--mapsat-agent=bad:agent", *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["saved      out/a.html · *", "::error file=benchmark_cases/search/b.jsonl,line=1,title=find-one failed::*"]
    )
    assert "I suggest" in (project.path / "out" / "a.html").read_text(encoding="utf-8")
    cases = saved(project, "a.json")["cases"]
    assert [(case["id"], case["missed"][0]["requirement"]) for case in cases] == [
        (id_, "z1") for id_ in ("find-one", "nav-one", "nav-two")
    ]
    assert (project.path / "a.md").read_text(encoding="utf-8") == (project.path / "step.md").read_text(encoding="utf-8")
    tests = ET.parse(project.path / "a.xml").iter("testcase")  # pytest's own file
    told = {test.get("name"): {one.get("name"): one.get("value") for one in test.iter("property")} for test in tests}
    one = told["case[nav-one]"]
    assert (one["mapsat.ar"], one["mapsat.ecr"], one["mapsat.outcome"], one["mapsat.domains"]) == (
        "0.0",
        "1.0",
        "failed",
        "navigation",
    )
    assert one["mapsat.missed"].split(", ")[0] == "z1"


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("htm:a", "*--mapsat-report: found 'htm:a'*did you mean 'html'?"),
        ("html:benchmark_cases", "*is a folder*"),
        ("html:benchmark_cases/nav/a.yaml", "*--mapsat-report=html:*the suite in benchmark_cases would read it*"),
        ("json:run.json", "*the run file of --mapsat-save goes there"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(
    project: pytest.Pytester, option, told
) -> None:
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json", f"--mapsat-report={option}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])


def test_a_report_that_breaks_turns_the_run_red_and_leaves_the_others(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pathlib

        def pytest_runtest_teardown():
            pathlib.Path("taken").touch()
        """
    )
    options = ("--mapsat-report=html:taken/a.html", "--mapsat-report=json:a.json")
    result = project.runpytest("--mapsat-agent=good:agent", *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["error      --mapsat-report: html:*a.html: *", "saved      *a.json"])
