"""Installed and unused, the plugin is silent and free."""

import sys
from importlib.metadata import version

import pytest
import tiny_suite

HEAVY = ("numpy", "pydantic", "rich", "yaml", "diskcache", "litellm", "rapidfuzz", "openpyxl")


def test_without_an_agent_no_case_is_collected_and_nothing_is_printed(pytester: pytest.Pytester) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile("def test_one(): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    assert "mapsat" not in result.stdout.str().replace(f"mapsat-{version('pytest-mapsat')}", "")


@pytest.mark.cold
def test_without_an_agent_nothing_heavy_is_imported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys
        def test_modules():
            loaded = [name for name in {HEAVY!r} if name in sys.modules]
            ours = [name for name in sys.modules if name.startswith("pytest_mapsat.")]
            assert loaded == []
            assert sorted(ours) == [
                "pytest_mapsat.hookspecs",
                "pytest_mapsat.options",
                "pytest_mapsat.plugin",
            ]
        """
    )
    # Other plugins of this environment import what they like; only ours is measured.
    result = pytester.run(
        sys.executable, "-m", "pytest", "-p", "pytest_mapsat.plugin", env_free(pytester), "-p", "no:cacheprovider"
    )
    result.assert_outcomes(passed=1)


#: What a plain run of cases has no use for: rooms of other commands, what an option asks for, libraries of these.
NOT_PLAIN = (
    *("asyncio", "diskcache", "litellm", "multiprocessing", "numpy", "openpyxl", "rapidfuzz", "sqlite3"),
    *("building", "commands", "drafts", "making", "proof", "recording", "starter", "store"),
    *("agents.isolated", "agents.process", "environments.http", "environments.sql", "llm.client", "reports.html"),
    *("runs.elsewhere", "runs.memories", "runs.people_labels", "runs.regrade"),
)


@pytest.mark.cold
def test_a_plain_run_imports_nothing_that_it_has_no_use_for(pytester: pytest.Pytester) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(the_agent="def agent(message, tools): return 'I do not know.'")
    pytester.makeconftest(
        f"""
        import sys
        def pytest_unconfigure():
            names = {NOT_PLAIN!r}
            print("LOADED", [name for name in names if name in sys.modules or f"pytest_mapsat.{{name}}" in sys.modules])
        """
    )
    result = pytester.run(
        *(sys.executable, "-m", "pytest", "-p", "pytest_mapsat.plugin", env_free(pytester)),
        *("-p", "no:cacheprovider", "--mapsat-agent=the_agent:agent"),
    )
    result.stdout.fnmatch_lines(["mapsat *FAILED*3 failed*", "LOADED []"])


def env_free(pytester: pytest.Pytester) -> str:
    """Turn off plugin autoloading for the next subprocess; return a harmless argument."""
    pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return "-q"


def test_off_on_the_command_line_beats_the_ini(pytester: pytest.Pytester) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makeini("[pytest]\nmapsat_agent = my_agent:agent\n")
    result = pytester.runpytest_subprocess("--mapsat-agent=off")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize(
    "options", [(), ("-q",), (".",), ("benchmark_cases",), ("benchmark_cases/nav/a.yaml",), ("--co",)]
)
def test_nothing_collected_beside_a_suite_says_how_to_run_it(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    result = pytester.runpytest(*options)
    assert result.ret in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR)
    told = [line for line in result.outlines if "--mapsat-agent" in line]
    assert told == ["mapsat: 'benchmark_cases' is a suite: --mapsat-agent=module:attr runs its cases"]


@pytest.mark.parametrize(
    "options",
    [
        ("-k", "one"),
        ("test_it.py", "--deselect=test_it.py"),
        ("empty",),
        ("nowhere.yaml",),
        ("--mapsat-agent=off", "benchmark_cases"),
    ],
)
def test_nothing_collected_for_another_reason_is_no_word_of_ours(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.mkdir("empty")
    pytester.makepyfile(test_it="def test_two(): pass")
    result = pytester.runpytest(*options)
    assert result.ret in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR)
    assert "mapsat:" not in result.stdout.str()


def test_a_suite_of_the_ini_file_is_named_where_nothing_is_collected(pytester: pytest.Pytester) -> None:
    tiny_suite.write_suite(pytester.path / "mine")
    pytester.makeini("[pytest]\nmapsat_cases = mine\n")
    pytester.runpytest().stdout.fnmatch_lines(["mapsat: 'mine' is a suite: *"])
    (pytester.path / "mine" / "suite.yaml").unlink()
    assert "mapsat:" not in pytester.runpytest().stdout.str()


def test_a_users_test_without_an_agent_is_skipped_with_our_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nav(mapsat_case, mapsat_run): assert mapsat_run().scorecard.ar >= 0.8")
    result = pytester.runpytest_subprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no agent: give one with --mapsat-agent=module:attr*"])


def test_the_mapsat_marker_is_known_and_the_domains_are_not(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--markers")
    assert "@pytest.mark.mapsat(" in result.stdout.str()
    assert "@pytest.mark.navigation" not in result.stdout.str()


@pytest.mark.cold
def test_the_ini_alone_makes_an_agent_active_and_a_run_without_a_model_imports_no_library_of_models(
    pytester: pytest.Pytester,
) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(my_agent=tiny_suite.GOOD)
    pytester.makeini("[pytest]\nmapsat_agent = my_agent:agent\n")
    pytester.makeconftest(
        """
        import sys
        def pytest_sessionfinish():
            print("loaded:", [name for name in ("litellm", "diskcache", "openai") if name in sys.modules])
        """
    )
    result = pytester.runpytest_subprocess("-s")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*loaded: []*"])
