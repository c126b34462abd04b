"""A case that tells nothing of the agent is an error with its reason, not a skip that nobody reads; an undecided one stays a skip."""

import json
from xml.etree import ElementTree as ET

import pytest
import tiny_suite

AGENTS = """
import pathlib
from pytest_mapsat import Unavailable

def down(message, tools):
    raise Unavailable("HTTP 500 of the kitchen")

def recovers(message, tools):
    place = pathlib.Path("asked")
    asked = place.read_text() if place.exists() else ""
    place.write_text(asked + "x")
    if len(asked) % 2 == 0:
        raise Unavailable("HTTP 500 of the kitchen")
    return "I suggest Blue Bay." if tools.search_poi(query="charger") else ""

def improves(message, tools):
    place = pathlib.Path("asked")
    asked = place.read_text() if place.exists() else ""
    place.write_text(asked + "x")
    tools.search_poi(query="charger")
    return "I suggest Old Mill." if len(asked) % 2 == 0 else "I suggest Blue Bay."
"""
OWN = """
import pytest
def test_fails(mapsat_case, mapsat_run): assert mapsat_run().scorecard.ar > 2
def test_passes(mapsat_case, mapsat_run): mapsat_run()
def test_skips(mapsat_case, mapsat_run):
    mapsat_run()
    pytest.skip("not today")
def test_gives_up(mapsat_case, mapsat_run):
    mapsat_run()
    pytest.xfail("not today")
@pytest.fixture
def played(mapsat_run): return mapsat_run()
def test_of_a_fixture(mapsat_case, played): assert played.scorecard.ar > 2
@pytest.mark.xfail
def test_expected(mapsat_case, mapsat_run): assert mapsat_run().scorecard.ar > 2
"""
REASON = (
    "lost to the infrastructure: a service of the agent's own cannot be reached: Unavailable: HTTP 500 of the kitchen"
)


@pytest.fixture
def kitchen(project: pytest.Pytester) -> pytest.Pytester:
    project.makepyfile(kitchen=AGENTS)
    return project


def junit(project: pytest.Pytester) -> tuple[dict[str, str], list[tuple[str, list[str]]]]:
    """Return the counts of the JUnit file, and for each test case its name and what is in it besides properties."""
    (suite,) = ET.parse(project.path / "j.xml").getroot()
    cases = [
        (case.attrib["name"], [part.tag for part in case if part.tag != "properties"])
        for case in suite.iter("testcase")
    ]
    return suite.attrib, sorted(cases)


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_lost_cases_are_errors_of_setup(kitchen: pytest.Pytester, workers: tuple[str, ...]) -> None:
    result = kitchen.runpytest_subprocess("--mapsat-agent=kitchen:down", "--junitxml=j.xml", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(
        ["*= ERRORS =*", "*ERROR at setup of case*", f"{REASON}*", "ERROR *nav*::case*Failed: lost*"]
    )
    counts, cases = junit(kitchen)
    assert (counts["tests"], counts["errors"], counts["failures"], counts["skipped"]) == ("3", "3", "0", "0")
    assert [inside for _, inside in cases] == [["error"]] * 3
    assert (kitchen.path / "j.xml").read_text().count(f"Failed: {REASON}") == 3


@pytest.mark.parametrize(
    ("agent", "workers"),
    [("recovers", ()), ("recovers", ("-n", "2")), ("improves", ())],
)
def test_with_reruns_junit_has_each_test_once_and_no_failed_attempt_as_a_pass(
    kitchen: pytest.Pytester, agent: str, workers: tuple[str, ...]
) -> None:
    pytest.importorskip("pytest_rerunfailures")
    options = (f"--mapsat-agent=kitchen:{agent}", "--junitxml=j.xml", "-k", "nav-one", "-p", "no:cacheprovider")
    result = kitchen.runpytest_subprocess(*options, "--reruns=1", *workers)
    assert (result.ret, result.parseoutcomes()["rerun"], result.parseoutcomes()["passed"]) == (0, 1, 1)
    counts, cases = junit(kitchen)
    assert (counts["tests"], counts["errors"], counts["failures"]) == ("1", "0", "0")
    assert cases == [("case[nav-one]", [])]
    properties = [part.attrib["name"] for part in ET.parse(kitchen.path / "j.xml").getroot().iter("property")]
    assert len(properties) == len({*properties})
    (kitchen.path / "asked").unlink()
    result = kitchen.runpytest_subprocess("--mapsat-agent=kitchen:down", *options[1:], "--reruns=1", *workers)
    assert (result.ret, result.parseoutcomes()["rerun"], result.parseoutcomes()["errors"]) == (1, 1, 1)
    assert junit(kitchen)[1] == [("case[nav-one]", ["error"])]


def test_a_test_of_the_users_whose_episode_is_lost_is_an_error_whatever_it_asserts(kitchen: pytest.Pytester) -> None:
    kitchen.makepyfile(test_own=OWN)
    result = kitchen.runpytest("--mapsat-agent=kitchen:down", "test_own.py", "-k", "nav-one")
    result.assert_outcomes(errors=4, skipped=1, xfailed=1, deselected=12)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.stdout.str().count(REASON) >= 4


def test_an_expected_failure_does_not_cover_a_lost_case_and_a_pass_rule_counts_it_as_unknown(
    kitchen: pytest.Pytester,
) -> None:
    kitchen.makeconftest(
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items: item.add_marker(pytest.mark.xfail)\n"
    )
    kitchen.runpytest("--mapsat-agent=kitchen:down", "-k", "nav-one").assert_outcomes(errors=1, deselected=2)
    (kitchen.path / "conftest.py").unlink()
    result = kitchen.runpytest("--mapsat-agent=kitchen:down", "-k", "nav-one", "--mapsat-trials=1/2")
    result.assert_outcomes(errors=2, deselected=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_undecided_case_stays_a_skip_with_its_reason(kitchen: pytest.Pytester) -> None:
    unchecked = tiny_suite.case("nav-one")
    del unchecked["truth"]["requirements"][1]["check"]
    (kitchen.path / "benchmark_cases" / "nav" / "a.yaml").write_text(json.dumps([unchecked]))
    result = kitchen.runpytest("--mapsat-agent=good:agent", "-rs", "-k", "nav-one", "--junitxml=j.xml")
    result.assert_outcomes(skipped=1, deselected=1)
    result.stdout.fnmatch_lines(["SKIPPED*a.yaml*undecided*z1*"])
    assert junit(kitchen)[1] == [("case[nav-one]", ["skipped"])]


@pytest.mark.parametrize(
    ("options", "ret"),
    [
        (("--setup-plan",), 1),
        (("--setup-only",), 1),
        (("--co",), 0),
        (("--fixtures",), 0),
        (("--fixtures-per-test",), 0),
    ],
)
def test_bounds_where_nothing_is_run_are_not_passed_over_in_silence(
    project: pytest.Pytester, options: tuple[str, ...], ret: int
) -> None:
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-fail-under=ar=0.1", *options)
    result.stdout.fnmatch_lines(["gate       not decided: pytest was told to run no case"])
    assert result.ret == ret
    assert "gate " not in project.runpytest("--mapsat-agent=good:agent", *options).stdout.str()
