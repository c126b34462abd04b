"""Specs that are still to come say so."""

import pytest


@pytest.mark.parametrize("spec", [("judge", "mine:judge"), ("user", "mymod:user"), ("agent", "baseline:surface")])
def test_a_spec_to_come_says_so(project: pytest.Pytester, spec: tuple[str, str]) -> None:
    options = {"agent": "good:agent"} | dict([spec])
    result = project.runpytest(*(f"--mapsat-{name}={value}" for name, value in options.items()))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*not in this version*"])
