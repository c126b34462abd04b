"""Options that are still to come are not listed, and say so when they are given."""

import pytest

PLANNED = ("executor=dask:x", "concurrency=3")


@pytest.mark.parametrize("option", PLANNED)
def test_an_option_to_come_is_a_clear_usage_error(project: pytest.Pytester, option: str) -> None:
    result = project.runpytest("--mapsat-agent=good:agent", f"--mapsat-{option}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*is not in this version of pytest-mapsat yet*"])


def test_help_lists_only_what_works(project: pytest.Pytester) -> None:
    text = project.runpytest("--help").stdout.str()
    assert "--mapsat-agent" in text
    for option in PLANNED:
        assert f"--mapsat-{option.partition('=')[0]}" not in text


@pytest.mark.parametrize("spec", [("judge", "mine:judge"), ("user", "mymod:user"), ("agent", "http://localhost/v1")])
def test_a_spec_to_come_says_so(project: pytest.Pytester, spec: tuple[str, str]) -> None:
    options = {"agent": "good:agent"} | dict([spec])
    result = project.runpytest(*(f"--mapsat-{name}={value}" for name, value in options.items()))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*not in this version*"])
