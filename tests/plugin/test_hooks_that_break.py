"""A plugin that raises in one of our hooks is named; the user's own Ctrl-C still stops the run."""

import os
import signal
import subprocess
import sys
import time

import pytest
from workers import THOROUGHLY

RAISES = [
    "raise KeyboardInterrupt",
    "sys.exit(0)",
    "pytest.skip('no')",
    "pytest.xfail('no')",
    "raise ValueError('boom')",
]
HOOKS = {
    "make_agent": "config, spec",
    "metrics": "config",
    "case_loaded": "case",
    "report": "config, run",
}


def conftest(hook: str, body: str) -> str:
    return f"import os, signal, sys, time\nimport pytest\n\ndef pytest_mapsat_{hook}({HOOKS[hook]}):\n    {body}\n"


@pytest.mark.parametrize("body", RAISES)
@pytest.mark.parametrize("hook", ["make_agent", "metrics"])
def test_at_the_start_it_is_a_usage_error(project: pytest.Pytester, hook: str, body: str) -> None:
    project.makeconftest(conftest(hook, body))
    result = project.runpytest("--mapsat-agent=good:agent")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: pytest_mapsat_{hook} of conftest.py: *"])


@THOROUGHLY
@pytest.mark.parametrize("body", RAISES)
def test_for_one_case_it_is_an_error_of_that_item(
    project: pytest.Pytester, body: str, workers: tuple[str, ...]
) -> None:
    project.makeconftest(conftest("case_loaded", f"if case.id == 'nav-one': {body}"))
    result = project.runpytest_subprocess("--mapsat-agent=good:agent", *workers)
    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*pytest_mapsat_case_loaded of conftest.py: *"])


@pytest.mark.parametrize("body", RAISES)
def test_at_the_end_it_is_told_and_the_others_get_their_turn(project: pytest.Pytester, body: str) -> None:
    project.makeconftest(conftest("report", body))
    project.makepyfile(other="def pytest_mapsat_report(run):\n    open('told', 'w').close()\n")
    result = project.runpytest_subprocess("-p", "other", "--mapsat-agent=good:agent", "--mapsat-save=run.json")
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["error      pytest_mapsat_report of conftest.py: *"])
    assert (project.path / "run.json").exists()
    assert (project.path / "told").exists()


SLEEPS = "open('asleep', 'w').close(); time.sleep(60)"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT can be sent to another process there")
@pytest.mark.parametrize("where", ["hook", "hook that looks away", "agent"])
def test_a_real_interrupt_stops_the_run(project: pytest.Pytester, where: str) -> None:
    if where == "agent":
        project.makepyfile(good=f"import time\ndef agent(message, tools):\n    {SLEEPS}\n")
    else:
        looks_away = f"try:\n        {SLEEPS}\n    except BaseException: raise ValueError('mine') from None"
        project.makeconftest(conftest("case_loaded", looks_away if "away" in where else SLEEPS))
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--mapsat-agent=good:agent"],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(project.path)},
    )
    while not (project.path / "asleep").exists() and run.poll() is None:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=30)
    assert run.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "KeyboardInterrupt" in output
