"""Which cases are collected: paths given, --mapsat-cases, and the default suite."""

import pytest
import tiny_suite
from saved_runs import saved

AGENT = "--mapsat-agent=good:agent"


def test_of_a_suite_that_cannot_be_opened_one_file_tells_and_those_that_are_named(project):
    tool = next((project.path / "benchmark_cases").rglob("search_poi.yaml"))
    tool.write_text(tool.read_text().replace("description:", "descripton:", 1))
    result = project.runpytest("--mapsat-agent=good:agent")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*did you mean 'description'?*", "*INVALID*"])
    files = ["benchmark_cases/nav/a.yaml", "benchmark_cases/search/b.jsonl"]
    project.runpytest("--mapsat-agent=good:agent", *files).assert_outcomes(errors=2)


def test_a_mistyped_key_is_one_sentence_with_its_place_and_the_summary_adds_only_the_file(
    project: pytest.Pytester,
) -> None:
    path = project.path / "benchmark_cases" / "nav" / "a.yaml"
    path.write_text(path.read_text().replace('"any"', '"anny"', 1))
    lines = project.runpytest(AGENT).stdout.lines
    start, end = (next(n for n, line in enumerate(lines) if f"= {word}" in line) for word in ("ERRORS", "short test"))
    assert next(line for line in lines[start + 2 : end] if "= mapsat =" not in line).endswith(
        "check.anny: is not a known field (did you mean 'any'?)"
    )
    assert [line[:20] for line in lines[start + 4 : end]] == ["mapsat     INVALID  ", "gate       INVALID: "]


def test_a_path_given_is_all_that_is_collected(project: pytest.Pytester) -> None:
    project.runpytest("benchmark_cases/nav/a.yaml", AGENT).assert_outcomes(passed=2)


def test_one_case_can_be_named(project: pytest.Pytester) -> None:
    project.runpytest("benchmark_cases/nav/a.yaml::case[nav-two]", AGENT).assert_outcomes(passed=1)


def test_a_path_given_to_python_tests_leaves_the_suite_out(project: pytest.Pytester) -> None:
    project.makepyfile(test_own="def test_one(): pass")
    result = project.runpytest("test_own.py", AGENT)
    result.assert_outcomes(passed=1)
    assert "gate" not in result.stdout.str()


def test_without_a_path_the_suite_comes_besides_pytests_own_defaults(project: pytest.Pytester) -> None:
    (project.mkdir("checks") / "test_own.py").write_text("def test_one(): pass\n")
    project.makeini("[pytest]\ntestpaths = checks\n")
    project.runpytest(AGENT).assert_outcomes(passed=4)


def test_mapsat_cases_replaces_the_default_and_is_repeatable(project: pytest.Pytester) -> None:
    tiny_suite.write_suite(project.path / "other", {"c.yaml": [tiny_suite.case("other-one")]})
    (project.mkdir("checks") / "test_own.py").write_text("def test_one(): pass\n")
    project.makeini("[pytest]\ntestpaths = checks\n")
    options = ("--mapsat-cases=other", "--mapsat-cases=benchmark_cases/search")
    project.runpytest(AGENT, *options).assert_outcomes(passed=3)


def test_mapsat_cases_is_added_to_a_path_given(project: pytest.Pytester) -> None:
    project.makepyfile(test_own="def test_one(): pass")
    project.runpytest("test_own.py", AGENT, "--mapsat-cases=benchmark_cases").assert_outcomes(passed=4)


def test_a_file_reached_twice_is_collected_once(project: pytest.Pytester) -> None:
    paths = ("benchmark_cases", "benchmark_cases/nav/a.yaml")
    project.runpytest(*paths, AGENT, "--mapsat-cases=benchmark_cases/nav").assert_outcomes(passed=3)


def test_the_ini_names_the_suite(project: pytest.Pytester) -> None:
    (project.path / "benchmark_cases").rename(project.path / "agents_suite")
    (project.mkdir("checks") / "test_own.py").write_text("def test_one(): pass\n")
    project.makeini("[pytest]\ntestpaths = checks\nmapsat_cases = agents_suite\n")
    project.runpytest(AGENT).assert_outcomes(passed=4)


@pytest.mark.parametrize("path", ["nowhere", "empty"])
def test_a_path_without_a_suite_is_a_usage_error(project: pytest.Pytester, path: str) -> None:
    project.mkdir("empty")
    result = project.runpytest(AGENT, f"--mapsat-cases={path}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{path}*"])


def test_a_suite_without_cases_is_a_usage_error(project: pytest.Pytester) -> None:
    tiny_suite.write_suite(project.path / "hollow", {})
    result = project.runpytest(AGENT, "--mapsat-cases=hollow")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*hollow*no cases*"])


def test_a_suite_outside_the_root_runs_and_its_run_file_names_no_machine_path(
    project: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = {"nav/a.yaml": [tiny_suite.case("far-one")]}
    suite = tiny_suite.write_suite(tmp_path_factory.mktemp("far") / "far_suite", files)
    options = (f"--mapsat-cases={suite}", "--mapsat-save=run.json", "benchmark_cases/nav")
    project.runpytest(AGENT, *options).assert_outcomes(passed=3)
    text = (project.path / "run.json").read_text()
    assert "far_suite/nav/a.yaml::case[far-one]" in text
    assert str(suite.parent) not in text


def test_two_suites_with_a_case_of_the_same_id_are_refused_with_both_places(project: pytest.Pytester) -> None:
    tiny_suite.write_suite(project.path / "other", {"c.yaml": [tiny_suite.case("nav-one")]})
    result = project.runpytest(AGENT, "benchmark_cases", "other")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*c.yaml:*nav-one*taken*a.yaml:*"])


def test_a_suite_outside_of_the_root_of_pytest_is_run_and_no_case_counts_as_lost(project: pytest.Pytester) -> None:
    (project.path / "elsewhere").mkdir()
    result = project.runpytest(
        "benchmark_cases/nav/a.yaml",
        "--rootdir=elsewhere",
        "--mapsat-agent=good:agent",
        "--mapsat-save=run.json",
        "-rA",
    )
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    assert "INVALID" not in result.stdout.str()
    accounting = saved(project)["accounting"]
    assert (accounting["collected"], accounting["lost"]) == (2, [])
