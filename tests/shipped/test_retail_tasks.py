"""The end state on real tasks: reference calls, the same calls otherwise, and a check of the whole database beside ours."""

import json
from collections import Counter

import pytest
import retail_sandbox
from tests_data import data_dir

from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.model import Case, Trajectory, Turn, canonical_json
from pytest_mapsat.sandbox import end_state, make_sandbox, play_reference, tables_of
from pytest_mapsat.suite import open_suite


@pytest.fixture(scope="module")
def retail(tmp_path_factory):
    data = data_dir() / "tau2"
    suite = open_suite(
        retail_sandbox.write_retail(tmp_path_factory.mktemp("retail") / "suite", data / "retail_db.jsonl.gz")
    )
    suite.sandboxes = [lambda case, suite: retail_sandbox.Retail]
    lines = (data / "retail_tasks.jsonl").read_text(encoding="utf-8").splitlines()
    return suite, [case_of(json.loads(line)) for line in lines]


def case_of(task):
    calls = [{"tool": one["name"], "arguments": one["arguments"]} for one in task["evaluation_criteria"]["actions"]]
    check = {"id": "end", "kind": "asked", "text": "The end is that of the reference", "check": {"kind": "same_end"}}
    truth = {"requirements": [check], "end": calls}
    return Case.model_validate({"id": f"task-{task['id']}", "visible": {"query": "Help me."}, "truth": truth})


TEXTS = {}


def as_text(row):
    """Return a row as text; most rows are one object at every end, and their text is made once."""
    if id(row) not in TEXTS:
        TEXTS[id(row)] = row, canonical_json(row)
    return TEXTS[id(row)][1]


def played(case, suite, calls):
    """The dialogue of an agent that makes these calls, and the whole database at its end, as text."""
    sandbox = make_sandbox(case, suite)
    steps = tuple(sandbox.call(tool, arguments).step(tool, arguments) for tool, arguments in calls)
    turns = Turn(role="user", text="Help me."), Turn(role="agent", text="Done.", steps=steps)
    trajectory = Trajectory(case=case.id, turns=turns)
    state = end_state(tables_of(case, suite), (), steps)
    tables = {name: dict(state.table(name, key=key)) for name, key in retail_sandbox.KEYS.items()}
    return trajectory, {name: {key: as_text(row) for key, row in rows.items()} for name, rows in tables.items()}


def verdict(case, suite, trajectory):
    (label,) = ChecksJudge(suite.tools, suite=suite).judge(case, trajectory).labels
    return label


def reference(case):
    return [(call.tool, call.arguments) for call in case.truth.end]


def writes(calls):
    return [at for at, (tool, _) in enumerate(calls) if tool in retail_sandbox.WRITES]


def altered(case, suite, others):
    """Yield how, and the calls, for each way to get one write of the reference wrong."""
    calls = reference(case)
    own = {canonical_json(call) for call in calls}
    for at in writes(calls):
        yield "dropped", calls[:at] + calls[at + 1 :]
        yield "doubled", [*calls[: at + 1], *calls[at:]]
        for call in other_arguments(*calls[at], suite):
            yield "altered", [*calls[:at], call, *calls[at + 1 :]]
    for call in others:
        if canonical_json(call) not in own:
            yield "added", [*calls, call]


def other_arguments(tool, arguments, suite):
    if "reason" in arguments:
        reasons = {"no longer needed": "ordered by mistake", "ordered by mistake": "no longer needed"}
        yield tool, {**arguments, "reason": reasons[arguments["reason"]]}
    if "zip" in arguments:
        yield tool, {**arguments, "zip": "00000"}
    if len(arguments.get("item_ids", ())) > 1:
        fewer = {name: arguments[name][:-1] for name in retail_sandbox.LISTS if name in arguments}
        yield tool, {**arguments, **fewer}
    if arguments.get("new_item_ids"):
        new = arguments["new_item_ids"][0]
        product = next(row for row in suite.tables["products"].rows if new in row["variants"])
        for item, variant in product["variants"].items():
            if variant["available"] and item != new:
                yield tool, {**arguments, "new_item_ids": [item, *arguments["new_item_ids"][1:]]}
                break


def test_the_reference_calls_reach_the_reference_end_in_every_task(retail):
    suite, cases = retail
    for case in cases:
        trajectory, _ = played(case, suite, reference(case))
        label = verdict(case, suite, trajectory)
        refused = [call for call in trajectory.calls if call.status != "ok" and call.tool in retail_sandbox.WRITES]
        assert (label.outcome, refused) == ("passed", []), f"{case.id}: {label.why}"
    assert len(cases) == 57


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long_proof)])
def test_every_altered_list_of_calls_is_caught_and_none_that_ends_alike(retail, step):
    """The whole databases, compared as text, say what is right."""
    suite, cases = retail
    every = [call for case in cases for at, call in enumerate(reference(case)) if at in writes(reference(case))]
    seen = Counter()
    for number, case in [*enumerate(cases)][::step]:
        _, wanted = played(case, suite, reference(case))
        end = play_reference(case, suite)
        others = [every[(7 * number + 11 * other) % len(every)] for other in range(3)]
        for how, calls in altered(case, suite, others):
            trajectory, ended = played(case, suite, calls)
            label = verdict(case, suite, trajectory.model_copy(update={"reference": end}))
            assert (label.outcome == "passed") is (ended == wanted), f"{case.id} {how}: {label.why}"
            seen[how if ended != wanted else "alike"] += 1
    caught = sum(seen.values()) - seen["alike"]
    assert caught >= 300 // step, seen
    assert all(seen[how] for how in ("dropped", "added", "altered", "alike")), seen


def test_independent_writes_in_another_order_raise_no_alarm(retail):
    suite, cases = retail
    tried = 0
    for case in cases:
        calls = reference(case)
        if len(writes(calls)) < 2:
            continue
        trajectory, ended = played(case, suite, calls[::-1])
        _, wanted = played(case, suite, calls)
        if ended == wanted:
            assert verdict(case, suite, trajectory).outcome == "passed", case.id
            tried += 1
    assert tried >= 10
