"""PIPA: every equation by hand, with repeated tools and empty sides, and the averages of its Table 2."""

from pathlib import Path

import pytest
from metric_builders import call, label, make_case, make_trajectory, make_verdict

from pytest_mapsat.metrics import MSB, Measure, MetricSet, mean_of, score
from pytest_mapsat.model import (
    Aggregate,
    Fault,
    Label,
    Metric,
    Requirement,
    Run,
    Step,
    Trajectory,
    Turn,
    UsageError,
    step_name,
    thing_name,
)
from pytest_mapsat.ports.pipa import PIPA, table

THOUGHT = Step(kind="thought", text="They want a bus.")


def state(reply, step, value, **fields):
    return besides("state", step_name(reply, step), value, **fields)


def thing(reply, number, value, **fields):
    return besides("observation", thing_name(reply, number), value, **fields)


def besides(kind, name, value, **fields):
    outcome = "unevaluated" if value is None else "passed" if value else "failed"
    return Label(requirement=name, kind=kind, outcome=outcome, value=value, **fields)


def dialogue(*steps_of_replies, **fields):
    turns = [Turn(role="user", text="where to?")]
    for steps in steps_of_replies:
        turns += [Turn(role="agent", text="There.", steps=tuple(steps)), Turn(role="user", text="ok")]
    return Trajectory(**{"case": "c1", "turns": tuple(turns), **fields})


def pipa(trajectory, *labels, policies=0, success=None, explicit=1, **fields):
    case = make_case(explicit=explicit)
    kept = tuple(Requirement(kind="policy", id=f"p{n}", text="a rule") for n in range(1, policies + 1))
    case = case.model_copy(
        update={"truth": case.truth.model_copy(update={"requirements": (*case.truth.requirements, *kept)})}
    )
    verdict = make_verdict([label("e1", fields.pop("done", 1)), *labels])
    metric_sets = fields.pop("metric_sets", (MSB, PIPA))
    return score(case, trajectory, verdict, asserted=frozenset(), metric_sets=metric_sets, success=success)


def of(card, name):
    return card.bounds_of(f"pipa_{name}") or card.classes[f"pipa_{name}"]


def test_state_consistency_is_over_all_steps_and_not_by_reply():
    trajectory = dialogue([THOUGHT, call("bus"), call("bus")], [], [call("bus")])
    card = pipa(trajectory, state(1, 1, 1), state(1, 2, 1), state(1, 3, 0), state(3, 1, 1))
    assert of(card, "s") == (0.75, 0.75)
    assert (of(card, "turns"), of(card, "steps")) == ((3, 3), (pytest.approx(4 / 3),) * 2)
    assert card.warnings == ()


def test_an_undecided_step_leaves_bounds_and_one_without_a_label_no_value():
    trajectory = dialogue([THOUGHT, call("bus")])
    assert of(pipa(trajectory, state(1, 1, None), state(1, 2, 1)), "s") == (0.5, 1)
    assert of(pipa(trajectory, state(1, 2, 1)), "s") == "unevaluated"
    assert of(pipa(dialogue([])), "s") == "not_applicable"


def test_tool_efficiency_counts_errors_and_refusals_twice_and_misses_as_calls():
    calls = [call("bus"), call("bus", "miss"), call("bus", "error"), call("book", "refused")]
    assert of(pipa(dialogue(calls)), "a") == pytest.approx((2 / 6, 2 / 6))
    assert of(pipa(dialogue([call("bus", "miss")])), "a") == (1, 1)
    assert of(pipa(dialogue([call("bus", "error")])), "a") == (0, 0)
    assert of(pipa(dialogue([THOUGHT])), "a") == "not_applicable"


def test_observation_alignment_is_a_mean_of_replies_that_name_something():
    card = pipa(dialogue([], [], []), thing(1, 1, 1), thing(1, 2, 0), thing(1, 3, 0), thing(3, 1, 1))
    assert of(card, "o") == pytest.approx((2 / 3, 2 / 3))  # and not 2 of 4
    card = pipa(dialogue([], [], []), thing(1, 1, 1), thing(1, 2, None), thing(3, 1, 1))
    assert of(card, "o") == (0.75, 1)
    assert of(pipa(dialogue([])), "o") == "not_applicable"


def test_policy_alignment_is_the_share_of_policies_that_were_kept():
    trajectory = dialogue([])
    kept = [label("p1", 1), label("p2", 0), label("p3", 1), label("p4", 1)]
    assert of(pipa(trajectory, *kept, policies=4), "p") == (0.75, 0.75)
    assert of(pipa(trajectory, label("p1", None), label("p2", 1), policies=2), "p") == (0.5, 1)
    assert of(pipa(trajectory), "p") == "not_applicable"


def test_task_completion_is_what_the_suite_calls_its_success():
    trajectory = dialogue([])
    assert of(pipa(trajectory, success="ecr"), "r") == (1, 1)
    assert of(pipa(trajectory, success="ecr", done=0), "r") == (0, 0)
    assert of(pipa(trajectory, success="ecr", done=None), "r") == (0, 1)
    assert of(pipa(trajectory), "r") == "not_applicable"
    half = MetricSet("half", [Metric(name="half")], lambda metric_input: {"half": 0.5})
    # Measured first, though it is declared last.
    card = pipa(trajectory, success="half", metric_sets=(PIPA, half))
    assert (of(card, "r"), list(card.metrics)[-1]) == ((0, 0), "half")


def test_the_average_leaves_out_policies_only_where_the_case_has_none():
    trajectory = dialogue([call("bus")])
    told = (state(1, 1, 1), thing(1, 1, 0))
    assert of(pipa(trajectory, *told, success="ecr"), "avg") == (0.75, 0.75)
    assert of(pipa(trajectory, *told, label("p1", 0), policies=1, success="ecr"), "avg") == pytest.approx((0.6, 0.6))
    open_ = pipa(trajectory, state(1, 1, None), thing(1, 1, None), success="ecr")
    assert of(open_, "avg") == (0.5, 1)
    assert of(pipa(trajectory, *told), "avg") == "not_applicable"
    assert of(pipa(trajectory, thing(1, 1, 1), success="ecr"), "avg") == "unevaluated"


def test_a_broken_agent_has_earned_nothing_and_its_steps_are_still_counted():
    fault = {"ending": "agent_error", "fault": Fault(blame="agent", message="it raised")}
    card = pipa(dialogue([call("bus")], **fault), success="ecr")
    assert [of(card, name) for name in ("s", "a", "o", "p", "r", "avg")] == [(0, 0)] * 6
    assert of(card, "steps") == (1, 1)
    user = pipa(dialogue([], ending="user_error"), success="ecr")
    assert {user.classes[metric.name] for metric in PIPA.metrics} == {"error"}


def test_labels_of_steps_change_nothing_for_a_suite_without_the_metric_set():
    trajectory = make_trajectory(call("bus"))
    plain = pipa(trajectory, metric_sets=(MSB,))
    told = pipa(trajectory, state(1, 1, 0), thing(1, 1, 0), metric_sets=(MSB,))
    assert (told.metrics, told.outcome, told.warnings) == (plain.metrics, plain.outcome, plain.warnings)


#: Table 2, by agent: S, A, O, P, R and AVG (in hundredths) on TravelPlanner, tau-bench airline and tau-bench retail.
TABLE = {
    "gpt-4o": "98 79 01 48 01 44 58 96 73 83 42 70 53 93 79 89 54 74",
    "gpt-4o-mini": "94 95 00 50 00 48 49 92 71 84 26 64 48 89 72 89 46 69",
    "gpt-3.5-turbo": "95 93 00 50 00 48 56 79 65 73 08 56 44 69 57 78 21 54",
    "gemini-1.5-flash": "99 71 00 31 00 40 55 84 66 87 32 65 60 85 72 86 15 64",
    "sonnet-3.5": "99 99 01 56 01 51 80 97 84 87 46 79 73 94 85 91 62 81",
    "mistral-large": "87 77 00 36 00 40 31 96 50 76 26 56 23 91 44 80 34 54",
    "mixtral-8x7B": "94 77 00 27 00 40 25 85 17 64 28 44 27 50 27 65 05 35",
    "llama-3.3-70B": "95 96 00 39 00 46 38 90 70 81 30 62 32 88 79 87 36 64",
    "qwen2.5-72B": "98 97 00 39 00 47 35 90 58 79 20 56 27 75 53 84 38 55",
}
BENCHMARKS = ("TravelPlanner", "airline", "retail")


def test_the_averages_of_table_2_are_plain_means_of_its_five_figures_but_for_one():
    odd = {}
    for agent, figures in TABLE.items():
        values = [int(figure) / 100 for figure in figures.split()]
        for place, benchmark in enumerate(BENCHMARKS):
            *parts, told = values[6 * place : 6 * place + 6]
            mean = mean_of([Measure(part) for part in parts]).value
            if abs(mean - told) > 0.01 + 1e-9:
                odd[agent, benchmark] = (round(mean or 0, 3), told)
    assert odd == {("gpt-4o", "TravelPlanner"): (0.454, 0.44)}


def test_the_page_on_metrics_names_each_metric():
    text = (Path(__file__).resolve().parents[3] / "docs" / "internals" / "port-metrics.md").read_text(encoding="utf-8")
    assert [metric.name for metric in PIPA.metrics if f"`{metric.name}`" not in text] == []


def run_of(**bounds):
    aggregates = {name: Aggregate(mean=None, bounds=span, n=2) for name, span in bounds.items()}
    return Run.model_construct(summary=aggregates, cases=())


def test_table_2_has_the_mean_of_the_run_s_means_beside_the_mean_over_dialogues():
    known = {"pipa_s": (0.5, 0.5), "pipa_a": (1.0, 1.0), "pipa_o": (0.2, 0.6), "pipa_p": None, "pipa_r": (0.3, 0.3)}
    rows = table([("a.json", run_of(**known, pipa_avg=(0.4, 0.7)))])["table_2.csv"].splitlines()
    assert rows[0].startswith("run,pipa_s,pipa_a,pipa_o,pipa_p,pipa_r,average,pipa_avg,pipa_s_sd,")
    assert rows[1] == "a.json,0.50,1.00,0.20 to 0.60,,0.30,0.50 to 0.60,0.40 to 0.70,,,,,"


def test_deviations_are_those_of_trials_in_table_2_and_of_dialogues_in_table_3():
    def dialogue_of(trial, steps, **metrics):
        card = pipa(dialogue([call("bus")] * steps), success="ecr")
        return card.model_copy(
            update={"trial": trial, "metrics": card.metrics | metrics, "classes": {"pipa_p": "not_applicable"}}
        )

    cards = [
        dialogue_of(trial, steps, pipa_s=s, pipa_o=None)
        for trial, steps, s in ((1, 1, 0.2), (1, 3, 0.4), (2, 2, 0.5), (2, 2, 0.6))
    ]
    run = run_of(pipa_s=(0.425, 0.425), pipa_avg=(0.5, 0.5)).model_copy(update={"cases": tuple(cards)})
    tables = table([("a.json", run)])
    deviations = tables["table_2.csv"].splitlines()[1].split(",")[-5:]
    # The means of the trials are .3 and .55: (.25 / 2) * sqrt(2); all calls are right; O is not decided, P does not apply.
    assert deviations == ["0.176777", "0.000000", "", "", "0.000000"]
    # 1, 3, 2 and 2 steps: sqrt(2 / 3)
    assert tables["table_3.csv"].splitlines()[1] == "a.json,1.000000,0.000000,2.000000,0.816497"


def test_a_run_without_the_metrics_of_pipa_has_no_table_2():
    with pytest.raises(UsageError, match=r"a\.json: the run has no metrics of pipa"):
        table([("a.json", run_of(ar=(1, 1)))])
