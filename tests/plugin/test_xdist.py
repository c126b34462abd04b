"""-n: one correct summary, whatever happens to the workers."""

import re

import pytest

AGENT = "--mapsat-agent=good:agent"


def _summary(text: str) -> list[str]:
    lines = text.partition(" mapsat ")[2].splitlines()
    return [line for line in lines if re.match(r"satisfied|navigation|search|gate|why", line)]


def test_the_summary_is_the_same_with_and_without_workers(project: pytest.Pytester) -> None:
    alone = _summary(project.runpytest_subprocess(AGENT).stdout.str())
    spread = _summary(project.runpytest_subprocess(AGENT, "-n", "3").stdout.str())
    assert alone == spread
    assert len(alone) == 4


def test_selection_works_with_workers(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess(AGENT, "-n", "2", "-m", "navigation", "--mapsat-fail-under=ar=0.1")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["gate*INCONCLUSIVE*"])


def test_a_crashed_worker_leaves_the_gate_undecided(project: pytest.Pytester) -> None:
    project.makepyfile(
        deadly="""
        import os
        def agent(message, tools, context):
            os._exit(1)
        """
    )
    options = ("--mapsat-agent=deadly:agent", "-n", "1", "--max-worker-restart=0", "--mapsat-fail-under=ar=0.1")
    result = project.runpytest_subprocess(*options)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["gate*IN*"])
    assert "gate       PASSED" not in result.stdout.str()


def test_an_unknown_agent_is_told_once_before_any_worker_starts(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("--mapsat-agent=nowhere:agent", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.stderr.str().count("nowhere") <= 2
