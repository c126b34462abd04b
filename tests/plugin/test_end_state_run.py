"""Checks on the state that an episode ends in, from the case file to the failure text."""

import json

import pytest
import shop

from pytest_mapsat.cli import main

STATE = {"kind": "state", "table": "orders", "where": {"id": "o1"}, "has": {"status": "cancelled"}, "count": 1}
UNCHANGED = {"kind": "unchanged", "except": [{"table": "orders", "where": {"id": "o1"}, "columns": ["status", "why"]}]}
SAME = {"kind": "same_end"}
CANCEL = [{"tool": "cancel_order", "arguments": {"number": "o1", "reason": "no longer wanted"}}]

AGENTS = """\
def good(message, tools):
    tools.cancel_order(number="o1", reason="no longer wanted")
    return "Order o1 is cancelled."

def both(message, tools):
    tools.cancel_order(number="o3", reason="no longer wanted")
    return good(message, tools)

def silent(message, tools):
    return "Order o1 is cancelled."
"""


def ended(*checks, name="cancel", **truth):
    case = shop.case(name)
    requirements = [
        {"id": check["kind"], "kind": "asked", "text": f"{check['kind']} holds", "scope": "outcome", "check": check}
        for check in checks
    ]
    return {**case, "truth": {"requirements": requirements, **truth}}


@pytest.fixture
def store(pytester: pytest.Pytester, monkeypatch):
    """The shop with a third order, which is open too."""
    monkeypatch.setattr(shop, "ORDERS", [*shop.ORDERS, {"id": "o3", "status": "open", "total": 5, "items": []}])
    pytester.makeconftest(shop.CONFTEST)
    pytester.makepyfile(mine=AGENTS)

    def write(*cases):
        shop.write_shop(pytester.path / "benchmark_cases", *cases)
        return pytester

    return write


def run(store, agent, *options):
    return store.runpytest(f"--mapsat-agent=mine:{agent}", "--mapsat-save=run.json", "--mapsat-fail-on=all", *options)


def labels(store, name="run.json"):
    (card,) = json.loads((store.path / name).read_text())["cases"]
    return {label["requirement"]: label for label in card["labels"]}


def test_an_agent_that_cancels_a_second_order_fails_and_the_order_is_named(store):
    project = store(ended(STATE, UNCHANGED))
    result = run(project, "both")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1 row changed that should not have: orders o3*"])
    assert {name: label["outcome"] for name, label in labels(project).items()} == {
        "state": "passed",
        "unchanged": "failed",
    }
    assert ["orders o3 status: 'open'", "orders o3 status: 'cancelled'"] in labels(project)["unchanged"]["compared"]
    run(project, "good").assert_outcomes(passed=1)


def test_an_agent_that_only_says_so_fails(store):
    result = run(store(ended(STATE, UNCHANGED)), "silent")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*orders o1: status is 'open'*"])


def test_the_end_is_held_against_that_of_reference_calls_and_judged_again_without_the_sandbox(
    store, monkeypatch, capsys
):
    project = store(ended(SAME, end=CANCEL))
    run(project, "good").assert_outcomes(passed=1)
    result = run(project, "both")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the end differs from the reference in orders o3 status*"])
    before = labels(project)
    project.makeconftest("")  # the sandbox is gone
    monkeypatch.chdir(project.path)
    main(["regrade", "run.json", "--save", "again.json"])
    assert labels(project, "again.json") == before
    capsys.readouterr()


def test_the_oracle_may_be_the_reference(store):
    oracle = [{"calls": CANCEL, "say": "Order o1 is cancelled."}]
    project = store(ended(SAME, end="oracle", oracle=oracle))
    run(project, "good").assert_outcomes(passed=1)
    run(project, "silent").assert_outcomes(failed=1)


def test_an_end_that_nothing_had_to_change_for_is_marked_and_counted(store):
    project = store(ended({"kind": "same_end"}, end=[{"tool": "find_order", "arguments": {"number": "o1"}}]))
    result = run(project, "silent", "-v")
    result.assert_outcomes(passed=1)
    assert labels(project)["same_end"]["idle"] is True
    result.stdout.fnmatch_lines(["dialogue   *; 1 requirement passed*", "*nothing had to change"])


@pytest.mark.parametrize(
    ("check", "truth", "why"),
    [
        (SAME, {"end": [{"tool": "cancel_order", "arguments": {"number": "o2", "reason": "too late"}}]}, "*call 1 of the reference, cancel_order, ends as refused: only an open order*"),
        ({**STATE, "has": {"statuss": "cancelled"}}, {}, "*no row of orders has a column 'statuss' (did you mean 'status'?)*"),
        ({**STATE, "where": {"id": "o9"}, "count": 0, "has": {}}, {}, "*no row of orders ever had the id 'o9'*"),
    ],
)  # fmt: skip
def test_what_the_case_gets_wrong_is_no_pass_and_not_the_agents_failure(store, check, truth, why):
    project = store(ended(check, **truth))
    result = run(project, "good")
    assert result.ret == 1
    (label,) = labels(project).values()
    assert (label["outcome"], label["blame"]) == ("unevaluated", "judge")
    assert __import__("fnmatch").fnmatch(label["why"], why.replace("[", "[[]"))
    result.stdout.fnmatch_lines([f"benchmark_cases/cases.jsonl:1: lost to the judge: {why}", "", "run it again: *"])


@pytest.mark.parametrize(
    ("check", "truth", "problem"),
    [
        ({**STATE, "table": "order"}, {}, "*cases.jsonl:1: *table: the suite has no table 'order' in state/ (did you mean 'orders'?)*"),
        (SAME, {}, "*cases.jsonl:1: *same_end has nothing to compare with: the case has no truth.end*"),
        (SAME, {"end": "oracle"}, "*cases.jsonl:1: truth.end: found 'oracle', but the case has no oracle dialogue*"),
        (SAME, {"end": [{"tool": "cancel_ordr"}]}, "*the suite has no tool 'cancel_ordr' (did you mean 'cancel_order'?)*"),
        ({**STATE, "count": -1}, {}, "*cases.jsonl:1: *count: found -1*"),
    ],
)  # fmt: skip
def test_a_check_that_cannot_be_judged_is_an_error_of_its_file(store, check, truth, problem):
    result = run(store(ended(check, **truth)), "good")
    result.stdout.fnmatch_lines([problem.replace("[", "[[]")])
    assert result.ret == 1


def test_lint_tells_of_a_column_that_no_row_has(store, monkeypatch, capsys):
    check = {**STATE, "has": {"statsu": "cancelled"}}
    project = store(ended(check, oracle=[{"calls": CANCEL, "say": "Order o1 is cancelled."}]))
    monkeypatch.chdir(project.path)
    assert main(["lint", "benchmark_cases", "-p", "conftest.py"]) == 1
    printed = capsys.readouterr().out
    assert (
        "the check of state cannot be judged: no row of orders has a column 'statsu' (did you mean 'status'?)"
        in printed
    )
