"""-m, -k, -x, --lf, --co, node ids: what a pytest user expects."""

import pytest
import tiny_suite

AGENT = "--mapsat-agent=good:agent"


@pytest.mark.parametrize(
    ("expression", "passed"),
    [
        ("navigation", 2),
        ("search", 1),
        ("not navigation", 1),
        ("mapsat", 3),
        ('mapsat(difficulty="L2")', 1),
        ('mapsat(domain="navigation") and not mapsat(difficulty="L2")', 1),
        ('mapsat(case="find-one")', 1),
        ('mapsat(language="en")', 3),
    ],
)
def test_marker_expressions_choose_cases(project: pytest.Pytester, expression: str, passed: int) -> None:
    project.makeini("[pytest]\naddopts = --strict-markers\npython_functions = check_*\n")
    result = project.runpytest(AGENT, "-m", expression)
    result.assert_outcomes(passed=passed, deselected=3 - passed)


def test_a_case_of_several_domains_is_chosen_by_each(pytester: pytest.Pytester) -> None:
    both = tiny_suite.case("both", domains=["navigation", "search"], attributes={"gold": "doubtful", "case": "other"})
    cases = [both, tiny_suite.case("one")]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"a.jsonl": cases})
    pytester.makepyfile(good=tiny_suite.GOOD)
    for expression in (
        'search and mapsat(domain="search", difficulty="L1")',
        'mapsat(case="both", domain="navigation")',
        'mapsat(gold="doubtful")',
    ):
        pytester.runpytest(AGENT, "-m", expression).assert_outcomes(passed=1, deselected=1)
    pytester.runpytest(AGENT, "-k", "search").assert_outcomes(passed=1, deselected=1)


def test_keywords_choose_by_case_id_and_domain(project: pytest.Pytester) -> None:
    project.runpytest(AGENT, "-k", "nav-two or find").assert_outcomes(passed=2, deselected=1)


def test_x_stops_at_the_first_failure(project: pytest.Pytester) -> None:
    project.runpytest("--mapsat-agent=bad:agent", "-x").assert_outcomes(failed=1)


def test_lf_runs_only_what_failed(project: pytest.Pytester) -> None:
    project.makepyfile(
        moody="""
        import pathlib
        def agent(message, tools, context):
            fixed = pathlib.Path("fixed").exists()
            names = [poi["name"] for poi in tools.search_poi(query="charger")["pois"]]
            return names[1] if fixed or context["city"] != "Lindenau" else names[0]
        """
    )
    project.runpytest("--mapsat-agent=moody:agent", "-k", "nav-two").assert_outcomes(failed=1, deselected=2)
    (project.path / "fixed").touch()
    result = project.runpytest("--mapsat-agent=moody:agent", "--lf", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*case?nav-two? PASSED*"])


def test_co_lists_node_ids_and_runs_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(loud="def agent(message, tools): raise SystemExit(3)")
    result = project.runpytest("--mapsat-agent=loud:agent", "--co", "-q")
    result.stdout.fnmatch_lines(
        [
            "benchmark_cases/nav/a.yaml::case[[]nav-one[]]",
            "benchmark_cases/nav/a.yaml::case[[]nav-two[]]",
            "benchmark_cases/search/b.jsonl::case[[]find-one[]]",
        ]
    )
    assert result.ret == 0
    assert "gate" not in result.stdout.str()


def test_more_trials_stand_behind_the_id(project: pytest.Pytester) -> None:
    result = project.runpytest(AGENT, "--mapsat-trials=2", "-v", "-k", "find")
    result.assert_outcomes(passed=2, deselected=4)
    result.stdout.fnmatch_lines(["*case?find-one-t1? PASSED*", "*case?find-one-t2? PASSED*"])


def test_the_domains_are_listed_as_markers_while_an_agent_is_active(project: pytest.Pytester) -> None:
    result = project.runpytest(AGENT, "--markers")
    for domain in ("search", "navigation", "itinerary", "realtime", "ride_hailing", "local_services"):
        assert f"@pytest.mark.{domain}:" in result.stdout.str()


def test_fixtures_of_module_scope_of_other_plugins_work(project: pytest.Pytester) -> None:
    project.makeconftest(
        "import pytest\n@pytest.fixture(scope='module', autouse=True)\ndef wide(): yield\n"
        "@pytest.fixture(autouse=True)\ndef narrow(wide): yield\n"
    )
    project.runpytest(AGENT).assert_outcomes(passed=3)
