"""Specs that name no agent, judge or user end the run before any case is played."""

import pytest


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (("judge", "mine:judge"), "*mine:judge is not a judge; use checks, *"),
        (("user", "mymod:user"), "*unknown user 'mymod:user'; expected scripted, *"),
        (("agent", "baseline:surfaces"), "*unknown baseline 'surfaces'; there are *"),
    ],
)
def test_a_spec_that_names_nothing_says_what_there_is(
    project: pytest.Pytester, spec: tuple[str, str], words: str
) -> None:
    options = {"agent": "good:agent"} | dict([spec])
    result = project.runpytest(*(f"--mapsat-{name}={value}" for name, value in options.items()))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])
