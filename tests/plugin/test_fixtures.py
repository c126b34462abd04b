"""A user's own tests: mapsat_case, mapsat_run, mapsat_sandbox, mapsat_agent."""

import pytest
from saved_runs import saved

AGENT = "--mapsat-agent=good:agent"


def test_a_test_that_asks_for_a_case_gets_every_case_of_the_suite(project: pytest.Pytester) -> None:
    project.makepyfile(test_own="def test_nav(mapsat_case, mapsat_run): assert mapsat_run().scorecard.ar >= 0.5")
    result = project.runpytest("test_own.py", AGENT, "-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["test_own.py::test_nav?find-one? PASSED*"])


def test_such_tests_are_chosen_by_domain_too(project: pytest.Pytester) -> None:
    project.makepyfile(test_own="def test_nav(mapsat_case): assert mapsat_case.id.startswith('nav')")
    project.runpytest("test_own.py", AGENT, "-m", "navigation").assert_outcomes(passed=2, deselected=1)


def test_a_case_runs_once_however_often_it_is_asked_for(project: pytest.Pytester) -> None:
    project.makepyfile(
        counting="""
        calls = []
        def agent(message, tools):
            calls.append(message)
            return "Blue Bay"
        """,
        test_own="""
        import counting
        def test_twice(mapsat_run):
            before = len(counting.calls)
            assert mapsat_run() is mapsat_run()
            assert len(counting.calls) == before + 1
        def test_again(mapsat_case, mapsat_run):
            before = len(counting.calls)
            mapsat_run()
            assert len(counting.calls) == before
        """,
    )
    project.runpytest("test_own.py", "--mapsat-agent=counting:agent").assert_outcomes(passed=6)


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_run_never_asserts_and_stands_in_run_file_and_gate(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makepyfile(test_own="def test_nav(mapsat_run): assert mapsat_run().scorecard.outcome == 'failed'")
    options = (
        "test_own.py",
        "--mapsat-agent=bad:agent",
        "--mapsat-save=run.json",
        "--mapsat-fail-under=ar=0.5",
        *workers,
    )
    result = project.runpytest(*options)
    result.assert_outcomes(passed=3)
    assert result.ret == 1
    run = saved(project)
    assert [card["id"] for card in run["cases"]] == ["find-one", "nav-one", "nav-two"]
    assert run["gate"]["outcome"] == "failed"


def test_a_run_beside_the_built_in_item_is_the_same_episode(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_own="def test_nav(mapsat_run): assert mapsat_run() is mapsat_run()",
        counted="calls = []\ndef agent(message, tools):\n    calls.append(message)\n    return 'Blue Bay'\n",
        conftest="""
        def pytest_sessionfinish():
            import counted
            assert len(counted.calls) == 3
        """,
    )
    options = (
        "test_own.py",
        "--mapsat-cases=benchmark_cases",
        "--mapsat-agent=counted:agent",
        "--mapsat-save=run.json",
    )
    project.runpytest(*options).assert_outcomes(passed=6)
    assert len(saved(project)["cases"]) == 3


def test_the_sandbox_answers_as_the_agent_would_be_answered(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_own="""
        def test_sandbox(mapsat_sandbox):
            answer = mapsat_sandbox.call("search_poi", {"query": "charger"})
            assert answer.status == "ok"
            assert answer.provenance.kind == "exact"
        """
    )
    project.runpytest("test_own.py", AGENT).assert_outcomes(passed=3)


def test_the_agent_fixture_returns_the_specs_object(project: pytest.Pytester) -> None:
    project.makepyfile(test_own="import good\ndef test_agent(mapsat_agent): assert mapsat_agent is good.agent")
    project.runpytest("test_own.py", AGENT).assert_outcomes(passed=1)


def test_a_coroutine_agent_runs_inside_a_test_that_has_a_loop_of_its_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        later="""
        import asyncio
        async def agent(message, tools):
            await asyncio.sleep(0)
            return "Blue Bay"
        """,
        test_own="""
        import asyncio
        def test_inside(mapsat_run):
            async def inside():
                return mapsat_run()
            assert asyncio.run(inside()).scorecard.ar == 0.5
        """,
    )
    project.runpytest("test_own.py", "--mapsat-agent=later:agent").assert_outcomes(passed=3)


def test_the_scorecard_says_what_happened(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_own="""
        def test_card(mapsat_run):
            card = mapsat_run().scorecard
            assert (card.ar, card.turns, card.sandbox["exact"]) == (0.5, 1, 1)
            assert [label.requirement for label in card.labels] == ["e1", "z1", "z2", "f1"]
        """
    )
    project.runpytest("test_own.py", AGENT).assert_outcomes(passed=3)


def test_hooks_of_a_conftest_are_called(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import good
        def pytest_mapsat_make_agent(config, spec):
            return good.agent if spec == "mine" else None
        def pytest_mapsat_case_loaded(case):
            print("loaded", case.id)
        def pytest_mapsat_report(config, run):
            print("reported", len(run.cases), run.gate.outcome)
        """
    )
    result = project.runpytest("--mapsat-agent=mine", "-s")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*loaded nav-one*", "*reported 3 passed*"])
