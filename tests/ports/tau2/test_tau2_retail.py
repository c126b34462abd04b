"""The shop of tau2-bench on its real tasks: reference calls, the same calls otherwise, and the whole database compared as text beside ours."""

import json
from collections import Counter

import pytest
import tau2_layout
from tau2_play import Played, reference
from tests_data import data_dir

from pytest_mapsat.model import canonical_json
from pytest_mapsat.ports.tau2.importer import import_tau2

#: Retail tasks of the given half that a silent agent passes: nothing has to be changed, and no judge is asked.
SILENT = 4
LISTS = ("item_ids", "new_item_ids")


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    root = tmp_path_factory.mktemp("retail")
    report = import_tau2(tau2_layout.write_retail(root / "published", data_dir()), root / "suite")
    return report, Played(root / "suite")


@pytest.fixture(scope="module")
def shop(imported):
    return imported[1]


def altered(shop, case, others):
    """Yield how, and the calls, for each way to get one write of the reference wrong."""
    calls = reference(case)
    own = {canonical_json(call) for call in calls}
    for at in shop.writes(calls):
        yield "dropped", calls[:at] + calls[at + 1 :]
        yield "doubled", [*calls[: at + 1], *calls[at:]]
        for call in other_arguments(shop, *calls[at]):
            yield "altered", [*calls[:at], call, *calls[at + 1 :]]
    for call in others:
        if canonical_json(call) not in own:
            yield "added", [*calls, call]


def other_arguments(shop, tool, arguments):
    if "reason" in arguments:
        reasons = {"no longer needed": "ordered by mistake", "ordered by mistake": "no longer needed"}
        yield tool, {**arguments, "reason": reasons[arguments["reason"]]}
    if "zip" in arguments:
        yield tool, {**arguments, "zip": "00000"}
    if len(arguments.get("item_ids", ())) > 1:
        yield tool, {**arguments, **{name: arguments[name][:-1] for name in LISTS if name in arguments}}
    if arguments.get("new_item_ids"):
        new = arguments["new_item_ids"][0]
        product = next(row for row in shop.suite.tables["products"].rows if new in row["variants"])
        for item, variant in product["variants"].items():
            if variant["available"] and item != new:
                yield tool, {**arguments, "new_item_ids": [item, *arguments["new_item_ids"][1:]]}
                break


def test_the_reference_reaches_its_end_in_every_task_and_earns_all_that_needs_no_judge(imported):
    report, shop = imported
    assert report.cases == len(shop.cases) == 57
    for case in shop.cases.values():
        trajectory = shop.episode(case, reference(case))
        assert [call for call in trajectory.calls if call.status != "ok"] == [], case.id
        card = shop.card(case, trajectory)
        assert card.metrics["tau_db"] == 1.0, case.id
        if case.attributes["judged"] == "no":
            assert card.metrics["tau_reward"] == 1.0, case.id
        else:
            assert (card.metrics["tau_reward"], card.bounds["tau_reward"]) == (None, (0.0, 1.0)), case.id
            assert card.classes["tau_nl"] == "unevaluated"


def test_reference_actions_that_the_benchmark_refuses_in_silence_are_reported(imported):
    report, _ = imported
    notes = [note for note in report.notes if note.kind.startswith("refused")]
    assert {note.kind for note in notes} == {"refused_reads"}
    assert (len(notes), len({note.place for note in notes})) == (13, 11)
    assert "2_1 get_product_details is refused: " in notes[0].message


def test_tasks_that_a_silent_agent_passes_are_marked(imported):
    report, shop = imported
    marked = 0
    for case in shop.cases.values():
        card = shop.card(case, shop.episode(case, [], say="Have a nice day."))
        silent = card.metrics["tau_reward"] == 1.0
        assert case.attributes["silent"] == ("passes" if silent else "fails"), case.id
        marked += silent
    assert marked == SILENT
    assert f"passes {SILENT} of 57 tasks" in report.notes[-1].message


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long_proof)])
def test_every_altered_list_of_calls_is_caught_and_none_that_ends_alike(shop, step):
    """The whole databases, compared as text, say what is right."""
    cases = list(shop.cases.values())
    every = [call for case in cases for at, call in enumerate(reference(case)) if at in shop.writes(reference(case))]
    seen = Counter()
    for number, case in [*enumerate(cases)][::step]:
        wanted = shop.database(case, shop.episode(case, reference(case)))
        others = [every[(7 * number + 11 * other) % len(every)] for other in range(3)]
        for how, calls in altered(shop, case, others):
            trajectory = shop.episode(case, calls)
            ended, label = shop.database(case, trajectory), shop.labels(case, trajectory)["db"]
            assert (label.outcome == "passed") is (ended == wanted), f"{case.id} {how}: {label.why}"
            seen[how if ended != wanted else "alike"] += 1
    caught = sum(seen.values()) - seen["alike"]
    assert caught >= 300 // step, seen
    assert all(seen[how] for how in ("dropped", "added", "altered", "alike")), seen


def test_independent_writes_in_another_order_raise_no_alarm(shop):
    tried = 0
    for case in shop.cases.values():
        calls = reference(case)
        if len(shop.writes(calls)) < 2:
            continue
        trajectory = shop.episode(case, calls[::-1])
        if shop.database(case, trajectory) == shop.database(case, shop.episode(case, calls)):
            assert shop.labels(case, trajectory)["db"].outcome == "passed", case.id
            tried += 1
    assert tried >= 10


def malformed(arguments):
    """Yield how, and the arguments, for each way in which an agent may get their form wrong."""
    for name, value in arguments.items():
        if isinstance(value, list):
            yield f"{name} as text", {**arguments, name: json.dumps(value)}
            yield f"{name} joined", {**arguments, name: ",".join(value)}
            yield f"{name} as numbers", {**arguments, name: list(map(int, value))}
        elif name == "reason":
            yield "reason in upper case", {**arguments, name: value.upper()}
            yield "reason without blanks", {**arguments, name: value.replace(" ", "_")}
        elif name == "zip":
            yield "zip as number", {**arguments, name: int(value)}
        elif name.endswith("_id"):
            yield f"{name} in other case", {**arguments, name: value.swapcase()}
            yield f"{name} with a blank", {**arguments, name: f"{value} "}


def test_a_malformed_call_is_refused_as_the_benchmark_refuses_it(shop):
    seen = Counter()
    for case in shop.cases.values():
        calls = reference(case)
        for at in shop.writes(calls):
            tool, arguments = calls[at]
            for how, other in malformed(arguments) if seen[tool] < 20 else ():
                if other == arguments:
                    continue
                step = shop.episode(case, [*calls[:at], (tool, other)]).calls[-1]
                assert step.status in ("error", "refused"), f"{case.id} {tool} {how}"
                seen[tool] += 1
    assert len(seen) == 7
    assert min(seen.values()) >= 3, seen


@pytest.mark.parametrize("ending", ["max_turns", "timeout"])
def test_any_ending_but_a_stop_is_worth_nothing(shop, ending):
    case = next(case for case in shop.cases.values() if case.attributes["judged"] == "no")
    card = shop.card(case, shop.episode(case, reference(case), ending=ending))
    assert card.metrics["tau_reward"] == 0.0
    assert card.outcome == "failed"
