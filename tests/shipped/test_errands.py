"""The domain errands: its truth is state and calls, its cases are short, and an agent that does too much, or too little, fails."""

import json
from collections import Counter
from statistics import median

import pytest
from shipped_runs import ALL, ERRANDS, ROOT, SUITE, run

from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.model import EndState, SameEnd, Trajectory, Unchanged, leaves
from pytest_mapsat.proof import prove

every_case = pytest.mark.parametrize("case", ERRANDS.values(), ids=ERRANDS)


def outcome(agent, case):
    return run(source_of(agent, "test") if callable(agent) else resolve_source(agent, root=ROOT), case).outcome


def calls(case):
    """The oracle's calls, turn by turn."""
    return [[(call.tool, call.arguments) for call in turn.calls] for turn in case.truth.oracle]


def test_half_of_them_are_chinese_and_all_are_short():
    assert Counter(case.language for case in ERRANDS.values()) == {"en": 12, "zh": 12}
    lengths = [
        len(path.read_text(encoding="utf-8").splitlines()) for path in SUITE.files() if path.parent.name == "errands"
    ]
    assert len(lengths) == 24
    assert median(lengths) <= 40


@every_case
def test_each_says_what_must_change_and_that_nothing_else_does(case):
    kinds = {type(leaf) for check in case.truth.checks for leaf in leaves(check)}
    assert kinds & {SameEnd, Unchanged}
    assert len(kinds & {EndState, SameEnd}) == 1 or case.truth.required


@every_case
def test_the_oracle_passes(case):
    assert outcome("baseline:oracle", case) == "passed"


@every_case
def test_the_considerate_agent_passes(case):
    assert outcome("shipped_agents.considerate:agent", case) == "passed"


@every_case
@pytest.mark.parametrize("agent", ["baseline:silent", "baseline:constant", "shipped_agents.naive:agent"])
def test_who_does_nothing_or_the_first_best_thing_passes_none(case, agent):
    assert outcome(agent, case) == "failed"


@every_case
def test_who_also_writes_something_else_fails(case):
    """After the oracle's own calls another order goes elsewhere."""
    planned = calls(case)
    says = [turn.say for turn in case.truth.oracle]

    def agent(message, tools, session):
        turn = session.state["turn"] = session.state.get("turn", -1) + 1
        for tool, arguments in planned[turn] if turn < len(planned) else ():
            tools.call(tool, arguments)
        if turn == len(planned) - 1:
            other = "A4" if case.id != "errands-too-late-to-cancel" else "A1"
            tools.call("change_address", {"order_id": other, "address": "1 Elsewhere"})
        return says[min(turn, len(says) - 1)]

    assert outcome(agent, case) == "failed"


@pytest.mark.parametrize("name", [name for name, case in ERRANDS.items() if len(case.truth.oracle) > 1])
def test_who_acts_before_the_customer_agrees_fails(name):
    case = ERRANDS[name]

    def agent(message, tools, session):
        if not session.state.setdefault("done", []):
            for turn in [
                *calls(case),
                *([("book_slot", {"uid": "guest-q207", "slot_id": "K2", "people": 8})],) * (name == "errands-bao-jian"),
            ]:
                for tool, arguments in turn:
                    tools.call(tool, arguments)
            session.state["done"].append(True)
            return case.truth.oracle[0].say
        return case.truth.oracle[-1].say

    assert outcome(agent, case) == "failed"


def test_mutants_of_their_writes_are_all_killed():
    proof = prove(ERRANDS.values(), SUITE)
    wrong = [trial for trial in proof.wrong if trial.kind.endswith("_write")]
    assert len(wrong) >= 40
    assert [(trial.case, trial.changed) for trial in wrong if not trial.passed] == []
    assert not proof.untried


def test_all_cases_of_the_suite_fail_a_silent_agent():
    assert {outcome("baseline:silent", case) for case in ALL.values()} == {"failed"}


@pytest.mark.parametrize("agent", ["naive", "considerate"])
@every_case
def test_a_saved_dialogue_is_judged_again_to_the_same_labels(case, agent):
    card = run(resolve_source(f"shipped_agents.{agent}:agent", root=ROOT), case)
    saved = json.dumps(json.loads(card.trajectory.model_dump_json(by_alias=True)), sort_keys=True)
    judge = ChecksJudge(SUITE.tools, SUITE.vocabulary, suite=SUITE)
    assert judge.judge(case, Trajectory.model_validate_json(saved)).labels == card.labels
