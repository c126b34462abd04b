"""A label that is not known, all the way through: item, summary, run file, gate."""

import json
import shlex
import shutil

import pytest
import tiny_suite
from saved_runs import saved
from workers import THOROUGHLY

from pytest_mapsat.cli import main

LOST = "def agent(message, tools):\n    return 'Blue Bay ' + str(tools.search_poi(query='pharmacy')['status'])\n"


def judged(project: pytest.Pytester, *requirements: str) -> str:
    """Save a run of the good agent with these labels of nav-one undecided; return the judge that gives them."""
    project.runpytest("--mapsat-agent=good:agent", "--mapsat-save=judged.json")
    path = project.path / "judged.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    for case in run["cases"]:
        for label in case["labels"]:
            if case["id"] == "nav-one" and label["requirement"] in requirements:
                label.update(outcome="unevaluated", value=None, blame=None, why="undecided: 'it' may be either")
    path.write_text(json.dumps(run), encoding="utf-8")
    return "--mapsat-judge=recorded:judged.json"


def test_an_undecided_asserted_label_leaves_the_item_open_and_the_gate_says_so(project: pytest.Pytester) -> None:
    judge = judged(project, "z1")
    result = project.runpytest("-v", "--mapsat-agent=good:agent", judge, "--mapsat-save=run.json", "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "a range: labels of 1 of 3 cases are undecided (mapsat review run.json)",
            "gate       INCONCLUSIVE, exit status 1: 1 of 3 cases has no verdict, allowed: 0",
            "*(undecided 1: nav-one; requirement z1: 'it' may be either)*",
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
    result.stdout.fnmatch_lines([f"gate       {gate}*: ar 0.5000-0.6667 *"])


def test_a_regraded_run_keeps_what_is_open(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_mapsat.cli import main

    judge = judged(project, "z1")
    project.runpytest("--mapsat-agent=good:agent", judge, "--mapsat-save=run.json")
    status = main(["regrade", "run.json", "--judge=recorded:judged.json", "--save", "again.json"])
    assert (status, saved(project, "again.json")["summary"]) == (1, saved(project)["summary"])
    assert "satisfied  0.33–0.50 (undecided labels)" in capsys.readouterr().out


def test_an_agent_sheds_no_bad_case_by_asking_what_is_not_recorded(project: pytest.Pytester) -> None:
    project.makepyfile(lost=LOST)
    found = tiny_suite.case("nav-one")
    found["truth"]["requirements"][1]["check"] = {"kind": "calls", "tool": "search_poi", "answered": True}
    (project.path / "benchmark_cases" / "nav" / "a.yaml").write_text(json.dumps([found]))
    options = ("--mapsat-agent=lost:agent", "--mapsat-save=run.json", "--mapsat-fail-under=navigation.ar=0.1")
    result = project.runpytest(*options, "--mapsat-allow-undecided=1")
    assert result.ret == 1
    case = next(case for case in saved(project)["cases"] if case["id"] == "nav-one")
    assert (case["outcome"], case["blame"], case["bounds"]["ar"]) == ("unevaluated", "sandbox", [0.0, 0.5])
    result.stdout.fnmatch_lines(
        [
            "warning    2 of 2 calls missed (100%)*",
            "gate       INCONCLUSIVE, exit status 1: navigation.ar 0.0000-0.5000 may be below*",
            "*calls without a recording leave labels open*",
        ]
    )


def test_a_case_that_asks_for_nothing_earns_nothing(project: pytest.Pytester) -> None:
    empty = tiny_suite.case("empty")
    empty["truth"]["requirements"] = empty["truth"]["requirements"][3:]
    (project.path / "benchmark_cases" / "nav" / "c.yaml").write_text(json.dumps([empty]))
    (project.path / "benchmark_cases" / "recordings" / "c.jsonl").write_text(json.dumps(tiny_suite.recording("empty")))
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json")
    assert result.ret == 1
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["gate       INVALID: 1 case lost (judge 1: empty)"])
    run = saved(project)
    case = next(case for case in run["cases"] if case["id"] == "empty")
    assert (case["metrics"]["ar"], case["bounds"], case["blame"]) == (None, {}, "judge")
    assert (run["summary"]["ar"]["mean"], run["summary"]["ar"]["left_out"]) == (0.5, {"unevaluated": 1})


def test_a_failed_assertion_on_a_run_says_why(project: pytest.Pytester) -> None:
    project.makepyfile(test_own="def test_nav(mapsat_run): assert mapsat_run().scorecard.ar >= 0.8")
    result = project.runpytest("test_own.py", "--mapsat-agent=bad:agent", "-k", "nav-one")
    result.stdout.fnmatch_lines(["*where 0.0 = <Scorecard nav-one trial 1: failed, AR 0.00; z1 failed (*>.ar*"])


def test_an_all_right_agent_with_a_fifth_of_undecided_prose_passes_by_the_recipe_of_init_with_an_allowance_only(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_mapsat.cli import main

    monkeypatch.chdir(pytester.path)
    assert main(["init", "."]) == 0
    recipe = (pytester.path / ".github" / "workflows" / "benchmark.yml").read_text()
    command = shlex.split(" ".join(recipe.partition("run: >-")[2].partition("- uses")[0].split()))
    assert command[0] == "pytest"
    assert "--mapsat-allow-undecided=0" in command
    comment = " ".join(line.strip(" #") for line in recipe.splitlines() if line.strip().startswith("#"))
    for way in ("--mapsat-judge=llm:MODEL", "mapsat review run.json", "--mapsat-allow-undecided=20%"):
        assert way in comment

    cases = [tiny_suite.case(f"c{n}") for n in range(10)]
    for n, case in enumerate(cases):
        del case["truth"]["requirements"][2]
        if n < 2:  # prose that no check decides
            case["truth"]["requirements"][1] = {"id": "z1", "text": "it sounds kind", "kind": "hard", "weight": 1.0}
    shutil.rmtree(pytester.path / "benchmark_cases")
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"all.jsonl": cases})
    (pytester.path / "conftest.py").unlink()
    (pytester.path / "my_agent.py").write_text(tiny_suite.GOOD.replace("def agent", "def Agent"))

    def recipe_with(allowance: str) -> pytest.RunResult:
        return pytester.runpytest("-v", *(one.replace("undecided=0", f"undecided={allowance}") for one in command[1:]))

    red = recipe_with("0")
    assert red.ret == 1
    told = " ".join(red.stdout.str().split())
    for line in (
        "pass_rate 0.7829-1.0000 may be below 0.9 (8 of 10 cases decided",
        "2 of 10 cases have no verdict, allowed: 0 (undecided 2: c0, c1; c0, requirement z1: the requirement has no machine check)",
        "to decide it, let a model judge (mapsat regrade RUN --judge=llm:MODEL), label by hand (mapsat review RUN), or",
        "or allow undecided cases (--mapsat-allow-undecided=N or N%)",
    ):
        assert line in told
    green = recipe_with("20%")
    assert green.ret == 0
    told = " ".join(green.stdout.str().split())
    assert "pass_rate 1.0000 >= 0.9 without 2 undecided cases, which --mapsat-allow-undecided lets pass" in told
    assert recipe_with("19%").ret == 1


def test_a_suspect_failure_is_counted_in_the_summary_told_with_its_rate_and_reviewed_first(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.path / "benchmark_cases" / "calibration.json").unlink()  # failures of plain words stand no more
    path = project.path / "benchmark_cases" / "search" / "b.jsonl"
    case = json.loads(path.read_text())
    case["truth"]["requirements"][0]["check"] = {"kind": "matches", "pattern": "Blue Bay"}
    path.write_text(json.dumps(case) + "\n")
    result = project.runpytest("-v", "--mapsat-agent=bad:agent", "--mapsat-save=run.json", "-rs")
    told = " ".join(result.stdout.str().split())
    assert "look failed; mapsat review run.json shows them first" in told
    assert "hard z1 is undecided: no reply says 'Blue Bay'; it looks failed, but only 6 failures of this kind" in told
    monkeypatch.chdir(project.path)
    capsys.readouterr()
    assert main(["review", "run.json", "--list", "--json"]) == 0
    states = [question["state"] for question in json.loads(capsys.readouterr().out)]
    assert states[0] == "undecided"
    assert states == sorted(states, key=("undecided", "failed").index)
    assert "failed" in states  # an exact check is sure
