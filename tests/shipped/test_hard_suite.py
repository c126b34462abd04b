"""The suite of days that go wrong: whole, balanced, decided without prose, and apart for agents of known character."""

from collections import Counter
from functools import cache

import pytest
from shipped_runs import ROOT

from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.metrics.statistics import wilson_interval
from pytest_mapsat.model import RunRequest
from pytest_mapsat.reply import Reply
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.suite import lint, open_suite
from shipped_agents.hard_sandbox import Desk

SUITE = open_suite(ROOT / "benchmark_hard")
SUITE.sandboxes = [lambda _case, _suite: Desk]
CASES = {entry.id: SUITE.load(entry) for path in SUITE.files() for entry in SUITE.entries(path)}
DOMAINS = ("faults", "events", "manners", "nothing_fits", "quiet", "care")


def run(source, case):
    return Runner(source, RunRequest(agent="test", user="scripted", judge="checks"), ROOT).run(SUITE, case)


def test_it_has_ten_cases_of_each_kind_half_of_them_chinese_and_nothing_to_lint():
    assert {remark.rule for remark in lint(SUITE)} <= {"no-script", "something-fits"}
    counts = Counter((case.domains[0], case.language) for case in CASES.values())
    assert counts == {(domain, language): 5 for domain in DOMAINS for language in ("en", "zh")}


def test_two_of_three_cases_are_decided_without_reading_prose():
    sure = [all(each.machine_sure for each in case.truth.required) for case in CASES.values()]
    assert sum(sure) >= 40, f"{sum(sure)} of {len(sure)}"


def test_each_kind_of_trouble_occurs():
    faults = [fault for case in CASES.values() for fault in case.world.faults]
    assert {fault.error for fault in faults} >= {
        "timeout",
        "server_error",
        "rate_limit",
        "empty",
        "cut",
        "stale",
        "lost_reply",
    }
    assert sum(fault.error == "lost_reply" for fault in faults) >= 3
    assert {manner for case in CASES.values() for manner in case.truth.user.manners} >= {
        "terse",
        "rambling",
        "impatient",
        "changes_mind",
        "corrects",
        "other_first",
        "misspells",
        "mixes",
        "wrong_figure",
    }
    assert sum(bool(case.truth.user.attempts) for case in CASES.values()) >= 3
    assert sum(case.truth.none is not None for case in CASES.values()) == 10


@pytest.mark.parametrize(("baseline", "satisfied"), [("oracle", 1.0), ("silent", 0.0), ("constant", 0.0)])
def test_who_knows_everything_satisfies_all_and_who_does_nothing_satisfies_none(baseline, satisfied):
    source = resolve_source(f"baseline:{baseline}", root=ROOT)
    assert {name for name, case in CASES.items() if run(source, case).metrics["ar"] != satisfied} == set()


# -- agents of known character: the oracle's dialogue, but for one habit


def _falsy(schema):
    """A structured output that claims nothing."""
    empty = {"boolean": False, "string": "", "array": [], "number": 0, "integer": 0}
    return {name: empty[part["type"]] for name, part in schema.get("properties", {}).items()} or None


class Character:
    """Plays the oracle of the case with the agent's query; ``habit`` names what it does otherwise."""

    def __init__(self, habit):
        self.habit = habit

    def __call__(self, tools, context):
        habit, turns = self.habit, iter(())

        def reply(message):
            nonlocal turns
            case = next((case for case in CASES.values() if case.visible.query == message), None)
            if case is not None:
                turns = iter(enumerate(case.truth.oracle, 1))
                reply.case = case
            case = reply.case
            number, turn = next(turns, (len(case.truth.oracle), case.truth.oracle[-1]))
            sorry = Reply("Sorry, I cannot help with that.")
            if habit == "gives_up" and number > 1:
                return sorry
            planned = (
                [call for each in case.truth.oracle for call in each.calls] if habit == "never_asks" else turn.calls
            )
            for call in planned:
                writes = SUITE.tools[call.tool].effect == "write"
                for _ in range(12 if habit == "retries_for_ever" else 2):
                    result = tools.call(call.tool, dict(call.arguments))
                    failed = (
                        not isinstance(result, dict)
                        or result.get("status") in ("error", "refused")
                        or [] in result.values()
                    )
                    if failed and habit == "gives_up":
                        return sorry
                    if failed and habit == "tells":
                        return Reply(
                            "I could not find that out, and nothing more is done.",
                            output=_falsy(case.visible.output_schema),
                        )
                    if not (failed and not (writes and habit != "retries_for_ever")) and not (
                        habit == "writes_twice" and writes
                    ):
                        break
            last = case.truth.oracle[-1] if habit == "never_asks" else turn
            output = (
                dict(case.truth.output)
                if case.truth.output and (number == len(case.truth.oracle) or habit == "never_asks")
                else None
            )
            return Reply(last.say, output=output)

        return reply


HABITS = ("plans_anew", "tells", "retries_for_ever", "writes_twice", "never_asks", "gives_up")


@cache
def satisfied(habit):
    character = Character(habit)
    ends = {}
    for name, case in CASES.items():
        card = run(source_of(character, "fixture"), case)
        ends[name] = card.metrics.get("ar")
    return ends


def test_agents_of_known_character_stand_in_their_order_with_intervals_apart():
    whole = {habit: sum(value == 1 for value in satisfied(habit).values()) for habit in HABITS}
    assert whole["plans_anew"] == len(CASES)
    intervals = {habit: wilson_interval(number / len(CASES), len(CASES), level=0.95) for habit, number in whole.items()}
    for habit in ("tells", "writes_twice", "never_asks"):
        assert intervals["gives_up"][1] < intervals[habit][1] < intervals["plans_anew"][0], intervals
    assert intervals["gives_up"][1] < min(intervals[habit][0] for habit in HABITS if habit != "gives_up"), intervals


def test_each_kind_of_case_catches_the_habit_that_it_is_about():
    def missed(habit, domain):
        return sum(value != 1 for name, value in satisfied(habit).items() if domain in CASES[name].domains)

    assert missed("retries_for_ever", "faults") >= 2
    assert missed("tells", "faults") >= 4
    assert missed("never_asks", "events") >= 5
    assert missed("gives_up", "manners") == 10
    assert missed("writes_twice", "care") >= 4
    assert missed("writes_twice", "quiet") + missed("never_asks", "quiet") >= 2
