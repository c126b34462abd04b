"""A label that is not known, all the way through: item, summary, run file, gate."""

import json
from typing import Any

import pytest
import tiny_suite
from workers import THOROUGHLY

LOST = "def agent(message, tools):\n    return 'Blue Bay ' + str(tools.search_poi(query='pharmacy')['status'])\n"


def judged(project: pytest.Pytester, *factors: str) -> str:
    """Save a run of the good agent with these labels of nav-one undecided; return the judge that gives them."""
    project.runpytest("--mapsat-agent=good:agent", "--mapsat-save=judged.json")
    path = project.path / "judged.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    for case in run["cases"]:
        for label in case["labels"]:
            if case["id"] == "nav-one" and label["factor"] in factors:
                label.update(outcome="unevaluated", value=None, blame=None, why="undecided: 'it' may be either")
    path.write_text(json.dumps(run), encoding="utf-8")
    return "--mapsat-judge=recorded:judged.json"


def saved(project: pytest.Pytester, name: str = "run.json") -> dict[str, Any]:
    return json.loads((project.path / name).read_text(encoding="utf-8"))


def test_an_undecided_asserted_label_leaves_the_item_open_and_the_gate_says_so(project: pytest.Pytester) -> None:
    judge = judged(project, "z1")
    result = project.runpytest("--mapsat-agent=good:agent", judge, "--mapsat-save=run.json", "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "2 of 3 decided; AR 0.33 to 0.50, SES *",
            "gate     INCONCLUSIVE: 1 case undecided (undecided 1: nav-one), 0 allowed",
            "*mapsat review RUN*",
            "SKIPPED*hard z1 is undecided: 'it' may be either",
        ]
    )
    run = saved(project)
    case = next(case for case in run["cases"] if case["id"] == "nav-one")
    assert (case["outcome"], case["blame"], case["unknown"]) == ("unevaluated", None, ["z1"])
    assert (case["metrics"]["ar"], case["classes"]["ar"], case["bounds"]["ar"]) == (None, "unevaluated", [0.0, 0.5])
    ar = run["summary"]["ar"]
    assert (ar["mean"], ar["bounds"], ar["n"], ar["undecided"]) == (None, [pytest.approx(1 / 3), 0.5], 2, 1)
    assert run["groups"]["domain"]["search"]["ar"]["bounds"] == [0.5, 0.5]


@THOROUGHLY
@pytest.mark.parametrize(
    ("minimum", "ret", "gate"), [("0.5", 0, "PASSED"), ("0.6", 1, "INCONCLUSIVE"), ("0.7", 1, "FAILED")]
)
def test_an_undecided_label_that_is_not_asserted_is_settled_by_the_bounds(
    project: pytest.Pytester, minimum: str, ret: int, gate: str, workers: tuple[str, ...]
) -> None:
    judge = judged(project, "z2")  # AR 0.5 to 1 in one case of three, 0.5 in the others
    result = project.runpytest("--mapsat-agent=good:agent", judge, f"--mapsat-fail-under=ar={minimum}", *workers)
    result.assert_outcomes(passed=3)
    assert result.ret == ret
    result.stdout.fnmatch_lines([f"gate     {gate}: ar 0.5000-0.6667 *"])


def test_a_regraded_run_keeps_what_is_open(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_mapsat.cli import main

    judge = judged(project, "z1")
    project.runpytest("--mapsat-agent=good:agent", judge, "--mapsat-save=run.json")
    status = main(["regrade", "run.json", "--judge=recorded:judged.json", "--save", "again.json"])
    assert (status, saved(project, "again.json")["summary"]) == (1, saved(project)["summary"])
    assert "2 of 3 decided; AR 0.33 to 0.50" in capsys.readouterr().out


def test_an_agent_sheds_no_bad_case_by_asking_what_is_not_recorded(project: pytest.Pytester) -> None:
    project.makepyfile(lost=LOST)
    found = tiny_suite.case("nav-one")
    found["truth"]["implicit"][0]["check"] = {"kind": "called", "tool": "search_poi", "answered": True}
    (project.path / "benchmark_cases" / "nav" / "a.yaml").write_text(json.dumps([found]))
    options = ("--mapsat-agent=lost:agent", "--mapsat-save=run.json", "--mapsat-fail-under=navigation.ar=0.1")
    result = project.runpytest(*options, "--mapsat-allow-undecided=1")
    assert result.ret == 1
    case = next(case for case in saved(project)["cases"] if case["id"] == "nav-one")
    assert (case["outcome"], case["blame"], case["bounds"]["ar"]) == ("unevaluated", "sandbox", [0.0, 0.5])
    result.stdout.fnmatch_lines(
        [
            "warning  2 of 2 calls missed (100%)*",
            "gate     INCONCLUSIVE: navigation.ar 0.0000-0.5000 is undecided at 0.1*",
            "*calls without a record leave labels open*",
        ]
    )


def test_a_case_that_asks_for_nothing_earns_nothing(project: pytest.Pytester) -> None:
    empty = tiny_suite.case("empty")
    empty["truth"] |= {"explicit": [], "implicit": []}
    (project.path / "benchmark_cases" / "nav" / "c.yaml").write_text(json.dumps([empty]))
    (project.path / "benchmark_cases" / "records" / "c.jsonl").write_text(json.dumps(tiny_suite.record("empty")))
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json")
    assert result.ret == 1
    result.assert_outcomes(passed=3, skipped=1)
    result.stdout.fnmatch_lines(["gate     INVALID: 1 case lost (judge 1: empty), 0 allowed"])
    run = saved(project)
    case = next(case for case in run["cases"] if case["id"] == "empty")
    assert (case["metrics"]["ar"], case["bounds"], case["blame"]) == (None, {}, "judge")
    assert (run["summary"]["ar"]["mean"], run["summary"]["ar"]["left_out"]) == (0.5, {"unevaluated": 1})


def test_a_failed_assertion_on_a_run_says_why(project: pytest.Pytester) -> None:
    project.makepyfile(test_own="def test_nav(mapsat_run): assert mapsat_run().scorecard.ar >= 0.8")
    result = project.runpytest("test_own.py", "--mapsat-agent=bad:agent", "-k", "nav-one")
    result.stdout.fnmatch_lines(["*where 0.0 = <Scorecard nav-one trial 1: failed, AR 0.00; z1 failed (*>.ar*"])
