"""The hook pytest_mapsat_check: a conftest adds a check, and what happens where nobody does."""

import json
from collections import UserDict

import pytest
import tiny_suite

from pytest_mapsat.judges import gather_checks
from pytest_mapsat.model import UsageError
from pytest_mapsat.strangers import listening

CONFTEST = """\
from pytest_mapsat.judges import Finding

def _short(check, context):
    words = sum(len(turn.text.split()) for turn in context.trajectory.replies)
    return Finding(words <= check.arguments["most"], f"{words} words", f"at most {check.arguments['most']} words")

def pytest_mapsat_check(config):
    return {"short": _short}
"""


def add_case(project: pytest.Pytester, name: str = "short", most: int = 50) -> None:
    case = tiny_suite.case("brief")
    check = {"kind": "custom", "name": name, "arguments": {"most": most}}
    case["truth"]["implicit"].append(
        {"id": "z3", "text": "it is short", "severity": "hard", "weight": 1, "check": check}
    )
    (project.path / "benchmark_cases" / "nav" / "brief.yaml").write_text(json.dumps(case))
    (project.path / "benchmark_cases" / "records" / "brief.jsonl").write_text(json.dumps(tiny_suite.record("brief")))


def run(project: pytest.Pytester) -> pytest.RunResult:
    return project.runpytest("--mapsat-agent=good:agent", "benchmark_cases/nav/brief.yaml", "--mapsat-save=run.json")


def label(project: pytest.Pytester) -> dict:
    (card,) = json.loads((project.path / "run.json").read_text())["cases"]
    return next(label for label in card["labels"] if label["factor"] == "z3")


@pytest.mark.parametrize(("most", "outcome"), [(50, "passed"), (1, "failed")])
def test_a_conftest_adds_a_check(project: pytest.Pytester, most: int, outcome: str) -> None:
    project.makeconftest(CONFTEST)
    add_case(project, most=most)
    run(project).assert_outcomes(**{outcome: 1})
    assert label(project)["outcome"] == outcome
    assert "words" in label(project)["why"]


def test_a_check_that_nobody_adds_is_not_judged(project: pytest.Pytester) -> None:
    project.makeconftest(CONFTEST)
    add_case(project, "shrot")
    run(project)
    assert label(project)["outcome"] == "unevaluated"
    assert label(project)["blame"] == "judge"
    assert label(project)["why"] == "no package or conftest adds a check 'shrot'; did you mean 'short'?"


def test_a_check_that_breaks_is_not_judged(project: pytest.Pytester) -> None:
    project.makeconftest(CONFTEST.replace('["most"]', '["least"]', 1))
    add_case(project)
    run(project)
    assert label(project)["why"] == "the check short broke: KeyError: 'least'"


@pytest.mark.parametrize(
    "body",
    [
        "raise KeyboardInterrupt",
        "import sys; sys.exit(0)",
        "pytest.skip('no')",
        "pytest.xfail('no')",
        "pytest.exit('no', 0)",
        "raise GeneratorExit",
    ],
)
def test_what_a_check_raises_is_a_label_that_nobody_could_judge(project: pytest.Pytester, body: str) -> None:
    project.makeconftest(
        "import pytest\n\ndef _short(check, context):\n"
        f"    {body}\n\ndef pytest_mapsat_check(config):\n    return {{'short': _short}}\n"
    )
    add_case(project)
    result = run(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (label(project)["outcome"], label(project)["blame"]) == ("unevaluated", "judge")
    assert label(project)["why"].startswith("the check short broke: ")
    result.stdout.fnmatch_lines(["gate*INVALID*"])


def test_a_check_that_forks_leaves_one_pytest(project: pytest.Pytester) -> None:
    project.makeconftest(CONFTEST.replace("    words =", "    import os; os.fork()\n    words =", 1))
    add_case(project)
    result = project.runpytest_subprocess("--mapsat-agent=good:agent", "benchmark_cases/nav/brief.yaml", timeout=60)
    result.assert_outcomes(skipped=1)  # nobody can judge by a check of which a copy came back
    assert result.ret == 1
    assert result.stdout.str().count("gate ") == 1


def test_a_check_that_returns_no_finding_is_not_judged(project: pytest.Pytester) -> None:
    project.makeconftest("def pytest_mapsat_check(config):\n    return {'short': lambda check, context: 7}")
    add_case(project)
    run(project)
    assert label(project)["why"] == "the check short returned 7, not a Finding"


def test_a_table_that_is_none_is_a_usage_error(project: pytest.Pytester) -> None:
    project.makeconftest("def pytest_mapsat_check(config):\n    return [1]")
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pytest_mapsat_check: found [[]1], expected a mapping of names and functions*"])


def test_a_table_that_raises_is_a_usage_error() -> None:
    class Table(UserDict):
        def __getitem__(self, name):
            raise KeyboardInterrupt

    with listening(), pytest.raises(UsageError, match="pytest_mapsat_check: a table cannot be read: KeyboardInterrupt"):
        gather_checks([Table(short=len)])


def test_two_checks_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two packages add a check 'short'"):
        gather_checks([{"short": len}, {"short": max}])


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(UsageError, match="'short' is 1, expected a function"):
        gather_checks([{"short": 1}])
