"""Calls that an agent makes when no reply is under way: they are kept and shown, and no check stays green that they would turn."""

import json

import pytest
import shop
from saved_runs import saved

from pytest_mapsat.cli import main

CANCEL = '.cancel_order(number="o1", reason="too late")'
AGENTS = """\
kept = []

def quiet(message, tools):
    kept.append(tools)
    return "Nothing is cancelled."

def looks(message, tools):
    kept.append(tools)
    tools.find_order(number="o1")
    return "It is open."
"""
AFTER_ITEM = """
import mine, pytest

@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish(nodeid):
    for tools in mine.kept:
        with pytest.raises(RuntimeError):
            tools{call}
    mine.kept.clear()
"""
UNCHANGED = {"kind": "unchanged"}
NEVER = {"kind": "calls", "tool": "cancel_order", "at_most": 0}


def a_case(*checks):
    requirements = [
        {"id": f"r{number}", "kind": "asked", "text": "it holds", "check": check} for number, check in enumerate(checks)
    ]
    return {**shop.case("stays"), "truth": {"requirements": requirements}}


@pytest.fixture
def project(pytester: pytest.Pytester):
    pytester.makepyfile(mine=AGENTS)

    def write(call, *checks):
        pytester.makeconftest(shop.CONFTEST + AFTER_ITEM.replace("{call}", call))
        shop.write_shop(pytester.path / "benchmark_cases", a_case(*checks))
        return pytester

    return write


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_write_after_the_item_was_judged_leaves_no_green_run_and_regrade_fails_it(
    project, monkeypatch, capsys, workers
):
    pytester = project(CANCEL, UNCHANGED, NEVER)
    result = pytester.runpytest("--mapsat-agent=mine:quiet", "--mapsat-save=run.json", *workers)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate*INVALID: 1 case lost (agent 1: stays)*"])
    (card,) = saved(pytester)["cases"]
    assert (card["outcome"], card["blame"]) == ("unevaluated", "agent")
    assert card["reason"] == "cancel_order was called once the episode had been judged: mapsat regrade counts it"
    (step,) = card["trajectory"]["after_end"]
    assert (step["tool"], step["arguments"]) == ("cancel_order", {"number": "o1", "reason": "too late"})
    monkeypatch.chdir(pytester.path)
    assert main(["show", "run.json", "stays"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert 'late call cancel_order(number="o1", reason="too late") [unknown]' in shown
    assert main(["regrade", "run.json", "--save", "again.json"]) == 1
    (card,) = json.loads((pytester.path / "again.json").read_text())["cases"]
    assert [(label["outcome"], label["why"].partition(";")[0]) for label in card["labels"]] == [
        ("failed", "cancel_order was called when no reply was under way"),
        ("failed", "cancel_order was called once"),
    ]


def test_a_write_that_comes_too_late_leaves_no_green_run_where_nothing_is_saved(project):
    result = project(CANCEL, UNCHANGED).runpytest("--mapsat-agent=mine:quiet")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate*INVALID: 1 case lost (agent 1: stays)*"])
    result.stdout.no_fnmatch_line("error*")


def test_a_look_after_the_end_is_kept_and_turns_nothing_that_it_does_not_touch(project):
    pytester = project('.find_order(number="o1")', UNCHANGED, NEVER)
    result = pytester.runpytest("--mapsat-agent=mine:looks", "--mapsat-save=run.json")
    assert result.ret == 0
    (card,) = saved(pytester)["cases"]
    assert [step["tool"] for step in card["trajectory"]["after_end"]] == ["find_order"]
    assert card["outcome"] == "passed"
