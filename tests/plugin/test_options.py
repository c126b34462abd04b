"""The table of options: what is registered, what a run file holds of it, and what is said of options and keys of old."""

import pytest

from pytest_mapsat.model import RunOptions
from pytest_mapsat.options import OPTIONS, fields_of

GOOD = "--mapsat-agent=good:agent"


def test_every_option_of_a_run_file_is_one_of_the_table() -> None:
    fields = {name for option in OPTIONS.values() for name in fields_of(option)}
    dumped = set(RunOptions().model_dump(by_alias=True))
    assert dumped <= fields
    assert {name for name, option in OPTIONS.items() if option.ini} == {
        *(
            "agent",
            "agent-memory",
            "cases",
            "fail-on",
            "fail-under",
            "judge",
            "user",
            "metrics",
            "isolate",
            "http",
            "allow-hosts",
        ),
    }


def test_what_has_no_kind_of_reading_is_read_as_it_is_typed() -> None:
    read = {name: option.read(option.default) for name, option in OPTIONS.items()}
    defaults = RunOptions()
    assert (read["max-turns"], read["timeout"]) == (defaults.max_turns, defaults.timeout_seconds)
    assert read["give-profile"] is defaults.profile is False
    assert (read["inconclusive"], read["cache"], read["save"], read["max-cost"]) == ("pass", "auto", None, None)
    assert OPTIONS["max-cost"].read("0.5") == 0.5
    with pytest.raises(ValueError, match="found '1001', expected a whole number from 1 to 1,000"):
        OPTIONS["concurrency"].read("1001")


def test_a_key_of_an_ini_file_that_is_none_is_refused_with_the_place_for_it(project: pytest.Pytester) -> None:
    for key, way in (
        ("mapsat_timeout", "--mapsat-timeout on the command line or in addopts, or episode.timeout in suite.yaml"),
        ("mapsat_save", "--mapsat-save on the command line or in addopts"),
    ):
        for options in (("-o", f"{key}=1"), ()):
            project.makeini(f"[pytest]\n{key} = 1\n" if not options else "[pytest]\n")
            result = project.runpytest(GOOD, *options)
            assert result.ret == pytest.ExitCode.USAGE_ERROR
            assert key in result.stderr.str()
            assert way in result.stderr.str()
    project.runpytest("-o", "mapsat_save=1", "--co").assert_outcomes()  # no agent: nobody's business


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nmapsat_agnt = good:agent\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\nmapsat_agnt = "good:agent"\n'),
    ],
)
def test_a_mistyped_key_of_an_ini_file_is_one_line_with_the_key_that_is_meant(
    project: pytest.Pytester, name: str, text: str
) -> None:
    (project.path / name).write_text(text)
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = f"ERROR: {name}:2: there is no key mapsat_agnt (did you mean mapsat_agent?)"
    assert result.stderr.str().strip() == told
    assert "mapsat_user" in project.runpytest("-o", "mapsat_usr=silent", "-c", "/dev/null").stderr.str()


def test_a_key_of_somebody_elses_plugin_is_no_mistyped_one(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nmapsat_agents = 3\n")
    project.makeconftest("def pytest_addoption(parser):\n    parser.addini('mapsat_agents', 'how many')\n")
    project.runpytest(GOOD).assert_outcomes(passed=3)


def test_a_path_behind_isolate_is_told_from_its_value(project: pytest.Pytester) -> None:
    result = project.runpytest(GOOD, "--mapsat-isolate", "benchmark_cases")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*found 'benchmark_cases', expected on, off*before a path write --mapsat-isolate=on"])


def test_rates_of_a_model_change_nothing_of_a_run_and_are_numbers(project: pytest.Pytester) -> None:
    result = project.runpytest("--mapsat-agent=react:openai/m?rpm=some")
    result.stderr.fnmatch_lines(["*--mapsat-agent: found 'some', expected a whole number from 1"])
