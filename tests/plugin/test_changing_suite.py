"""A suite that changes under the run: the cases that need what changed are errors, the others go on, the run is told whole."""

import pytest
from saved_runs import saved
from workers import EVERYWHERE, THOROUGHLY

#: What happens to a file once all cases are collected, in the first test that runs.
CHANGES = {
    "it is gone": "path.unlink()",
    "from [0-9]+ to 7 bytes": "path.write_bytes(path.read_bytes()[:7])",
    "it was written again": "os.utime(path, ns=(1, 1))",
}
CONFTEST = """\
import os
from pathlib import Path

import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    path, done = Path({path!r}), Path("done")
    try:
        done.mkdir()
    except FileExistsError:
        while not (done / "it").exists():
            pass
        return
    {change}
    (done / "it").touch()
"""


def _run(
    project: pytest.Pytester, workers: tuple[str, ...], name: str, change: str
) -> tuple[pytest.RunResult, dict[str, str]]:
    """Return the result, and what was said of the cases that have no scorecard."""
    project.makeconftest(CONFTEST.format(path=f"benchmark_cases/{name}", change=CHANGES[change]))
    options = ("--mapsat-agent=good:agent", "--mapsat-save=run.json", "--tb=line")
    result = project.runpytest_subprocess(*options, *workers)
    run = saved(project)
    return result, {case["id"]: case["outcome"] for case in run["cases"]}


@THOROUGHLY
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_of_cases_that_changes_is_an_error_of_its_cases_alone(
    project: pytest.Pytester, workers: tuple[str, ...], change: str
) -> None:
    result, scored = _run(project, workers, "search/b.jsonl", change)
    result.stdout.re_match_lines([rf"benchmark_cases/search/b\.jsonl: changed while the run used it \({change}\)"])
    assert scored == {"nav-one": "passed", "nav-two": "passed"}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "INTERNALERROR" not in result.stdout.str()


@EVERYWHERE
@pytest.mark.parametrize("name", ["recordings/all.jsonl", "suite.yaml"])
@pytest.mark.parametrize("change", CHANGES)
def test_recordings_or_a_manifest_that_change_are_an_error_of_every_case_that_needs_them(
    project: pytest.Pytester, workers: tuple[str, ...], name: str, change: str
) -> None:
    result, scored = _run(project, workers, name, change)
    text = result.stdout.str()
    assert text.count(f"benchmark_cases/{name}: changed while the run used it") >= 3
    assert scored == {}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "INTERNALERROR" not in text
