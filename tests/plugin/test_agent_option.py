"""--mapsat-agent: what runs, and what a spec that cannot be resolved says."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

import pytest_mapsat
from pytest_mapsat.runs.request import project_files


def test_the_cases_of_the_default_suite_become_items_that_pass(project: pytest.Pytester) -> None:
    result = project.runpytest("--mapsat-agent=good:agent", "-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["benchmark_cases/nav/a.yaml::case?nav-one? PASSED*", "gate       none: *"])


def test_an_agent_that_breaks_a_hard_requirement_fails_its_items(project: pytest.Pytester) -> None:
    result = project.runpytest("--mapsat-agent=bad:agent")
    result.assert_outcomes(failed=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("nowhere:agent", "*nowhere*"),
        ("good:agnt", "*agnt*did you mean 'agent'*"),
        ("good:zzz", "*'good' has no attribute 'zzz'; it has agent*"),
        ("good", "*module:attr*"),
        ("good:__name__", "*callable*"),
        ("baseline:silnt", "*did you mean*silent*"),
        ("recorded:missing.json", "*missing.json*"),
    ],
)
def test_a_spec_that_cannot_be_resolved_is_a_usage_error(project: pytest.Pytester, spec: str, told: str) -> None:
    result = project.runpytest(f"--mapsat-agent={spec}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])
    assert "Traceback" not in result.stderr.str()


def test_a_module_that_fails_to_import_is_told_with_its_place(project: pytest.Pytester) -> None:
    project.makepyfile(broken="x = 1\nraise RuntimeError('boom')\n")
    result = project.runpytest("--mapsat-agent=broken:agent")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*broken.py:2*boom*"])


def test_the_fixture_of_a_conftest_is_the_agent(project: pytest.Pytester) -> None:
    project.makeconftest(
        "import pytest, good\n@pytest.fixture(scope='session')\ndef mapsat_agent(): return good.agent\n"
    )
    project.runpytest("--mapsat-agent=fixture").assert_outcomes(passed=3)


def test_the_fixture_spec_without_an_override_says_so(project: pytest.Pytester) -> None:
    result = project.runpytest("--mapsat-agent=fixture")
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(["*no conftest.py overrides the fixture mapsat_agent*"])


def test_a_coroutine_function_is_an_agent(project: pytest.Pytester) -> None:
    project.makepyfile(
        later="""
        import asyncio
        async def agent(message, tools):
            await asyncio.sleep(0)
            return "I suggest " + tools.search_poi(query="charger")["pois"][1]["name"]
        """
    )
    project.runpytest("--mapsat-agent=later:agent").assert_outcomes(passed=3)


def test_the_silent_baseline_fails_every_case_and_scores_nothing(project: pytest.Pytester) -> None:
    result = project.runpytest("-v", "--mapsat-agent=baseline:silent")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["all*0/3*0.00*"])


def test_the_directory_pytest_was_started_in_is_searched(project: pytest.Pytester) -> None:
    below = project.mkdir("below")
    (below / "near.py").write_text("from pathlib import Path\ndef agent(message, tools): return 'Blue Bay'\n")
    import os

    os.chdir(below)
    result = project.runpytest("--mapsat-agent=near:agent", "--rootdir", str(project.path))
    result.assert_outcomes(passed=3)


def test_the_source_of_an_agent_is_what_its_project_has_loaded_but_for_tests_and_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "shop"
    places = {
        "agents": root / "agents.py",
        "agents.prompts": root / "agents" / "prompts.py",
        "agents.test_prompts": root / "agents" / "test_prompts.py",
        "fast": root / "fast.so",
        "installed": root / ".venv" / "lib" / "site-packages" / "installed.py",
        "neighbour": tmp_path / "shop-2" / "neighbour.py",
        "above": tmp_path / "above.py",
    }
    for name, place in places.items():
        module = ModuleType(name)
        module.__file__ = str(place)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "built_in", ModuleType("built_in"))
    assert project_files(root) == [places["agents"], places["agents.prompts"]]
    own = Path(pytest_mapsat.__file__).parent
    assert not [path for path in project_files(own.parent) if path.is_relative_to(own)]
    assert set(project_files(root)) <= set(project_files(Path(root.anchor)))
