"""A judged episode becomes a scorecard: its outcome, its blame, its classes, its counts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_builders import EARNED, METRICS, call, label, make_case, make_trajectory, make_verdict

from pytest_mapsat.metrics import score, summarise
from pytest_mapsat.model import (
    Count,
    ExpectedTool,
    Fault,
    Provenance,
    Requirement,
    Scorecard,
    Usage,
    UsageError,
)

FULL = make_case(explicit=2, hard=(1,), soft=(1, 0.5), facts=2, tools=("a",), domains=("search",), difficulty="L2")
GOOD = {"e1": 1, "e2": 1, "h1": 1, "s1": 1, "s2": 1, "f1": 1, "f2": 1}
ALL = frozenset({"hard", "facts", "asked", "soft"})
DEFAULT = frozenset({"hard", "facts"})


def mark(case=FULL, trajectory=None, labels=GOOD, asserted=DEFAULT, **verdict):
    trajectory = trajectory or make_trajectory(call("a"))
    return score(case, trajectory, make_verdict(labels, **verdict), asserted=asserted, nodeid="x::y")


def test_a_perfect_answer_passes_with_full_marks():
    card = mark()
    assert (card.outcome, card.blame, card.reason) == ("passed", None, "")
    assert {name: card.metrics[name] for name in METRICS[:5]} == dict.fromkeys(METRICS[:5], 1.0)
    assert card.ses == pytest.approx(2 / 3)
    assert card.classes == {"cei": "not_applicable"}


@pytest.mark.parametrize(
    ("broken", "asserted", "outcome"),
    [
        ({"h1": 0}, DEFAULT, "failed"),
        ({"h1": 0}, {"facts"}, "passed"),
        ({"f2": 0}, DEFAULT, "failed"),
        ({"f2": 0}, {"hard"}, "passed"),
        ({"e1": 0}, DEFAULT, "passed"),
        ({"e1": 0}, {"asked"}, "failed"),
        ({"s1": 0.75}, {"soft"}, "failed"),
        ({"s1": 0.75}, DEFAULT, "passed"),
        ({"h1": 0, "f1": 0, "e1": 0, "s1": 0}, (), "passed"),
        ({"h1": None}, DEFAULT, "unevaluated"),
        ({"h1": None, "f1": 0}, DEFAULT, "failed"),
        ({"s1": None}, DEFAULT, "passed"),
    ],
)
def test_the_asserted_labels_alone_decide_the_item(broken, asserted, outcome):
    card = mark(labels=GOOD | broken, asserted=frozenset(asserted))
    assert (card.outcome, card.blame) == (outcome, {"failed": "agent", "unevaluated": "judge"}.get(outcome))


def test_the_reason_is_one_line_that_names_the_first_failing_label_and_counts_the_others():
    labels = [*(label(name, value) for name, value in GOOD.items() if name[0] != "f"), label("f2", 0)]
    labels.append(label("f1", 0, why="the answer says 5 km,\n  the tool 2 km"))
    assert mark(labels=labels).reason == "facts f1 failed: the answer says 5 km, the tool 2 km (and 1 more)"


def test_a_long_reason_is_cut():
    labels = [label("h1", 0, why="x" * 5_000)]
    assert len(mark(labels=labels, asserted=frozenset({"hard"})).reason) <= 320


def test_a_missing_asserted_label_is_never_passed():
    card = mark(labels={"f1": 1, "f2": 1})
    assert (card.outcome, card.blame) == ("unevaluated", "judge")


def test_an_unknown_label_is_laid_to_whom_the_judge_names():
    labels = [label("h1", None, blame="infrastructure"), label("f1", 1), label("f2", 1)]
    assert mark(labels=labels).blame == "infrastructure"


def test_an_error_label_makes_the_item_an_error():
    labels = [label("h1", None, "error"), label("f1", None), label("f2", 1)]
    assert (mark(labels=labels).outcome, mark(labels=labels).blame) == ("error", "judge")


def test_a_failure_is_not_the_agents_where_every_failing_label_names_another():
    labels = [label("h1", 1), label("f1", 0, blame="sandbox"), label("f2", 1)]
    assert mark(labels=labels).blame == "sandbox"
    assert mark(labels=[labels[0], labels[1], label("f2", 0)]).blame == "agent"


@pytest.mark.parametrize(("met", "outcome"), [(2, "passed"), (1, "failed"), (0, "failed")])
def test_a_count_of_explicit_requirements_decides_where_labels_do_not(met, outcome):
    card = mark(labels={}, asserted=frozenset({"asked"}), explicit_count=Count(met=met, total=2))
    assert card.outcome == outcome
    assert card.metrics["ecr"] == met / 2
    assert outcome == "passed" or f"{met} of 2 explicit requirements are met" in card.reason


def test_a_count_that_does_not_fit_leaves_the_item_unevaluated():
    card = mark(labels={}, asserted=frozenset({"asked"}), explicit_count=Count(met=3, total=3))
    assert (card.outcome, card.metrics["ecr"]) == ("unevaluated", None)


def test_only_known_assertions_are_taken():
    with pytest.raises(UsageError, match="cannot assert nice; known are hard, facts, policies, asked, soft, success"):
        mark(asserted=frozenset({"nice"}))


crashed = make_trajectory(fault=Fault(blame="agent", message="ValueError: no"), ending="agent_error")
BROKEN_BY_AGENT = {
    "crash": crashed,
    "timeout": make_trajectory(ending="timeout"),
    "blank": make_trajectory(call("a"), replies=("", " \n\t", "\u200b\ufeff")),
    "no reply": make_trajectory(replies=()),
}


@pytest.mark.parametrize("trajectory", BROKEN_BY_AGENT.values(), ids=BROKEN_BY_AGENT)
@pytest.mark.parametrize("case", [FULL, make_case(max_turns=None)], ids=["full", "empty truth"])
@pytest.mark.parametrize("asserted", [DEFAULT, frozenset()], ids=["default", "none"])
def test_an_agent_that_breaks_or_says_nothing_scores_zero_and_fails(trajectory, case, asserted):
    card = mark(case, trajectory, asserted=asserted)
    assert {name: card.metrics[name] for name in EARNED} == dict.fromkeys(EARNED, 0)
    assert (card.outcome, card.blame) == ("failed", "agent")
    assert card.reason
    assert card.metrics["cei"] is None


def test_one_visible_reply_is_an_answer():
    assert mark(trajectory=make_trajectory(call("a"), replies=("", "Take line 2."))).outcome == "passed"


@pytest.mark.parametrize(
    ("blame", "outcome"),
    [("user", "error"), ("infrastructure", "error"), ("sandbox", "error"), ("judge", "unevaluated")],
)
def test_the_fault_of_another_leaves_all_means_and_keeps_its_blame(blame, outcome):
    card = mark(trajectory=make_trajectory(replies=(), fault=Fault(blame=blame, message="it broke")))
    assert set(card.metrics.values()) == {None}
    assert card.classes == dict.fromkeys(METRICS, outcome)
    assert (card.outcome, card.blame, card.reason) == (outcome, blame, "it broke")


def test_an_ending_without_a_fault_still_names_who_broke():
    assert mark(trajectory=make_trajectory(ending="user_error")).blame == "user"
    assert mark(trajectory=make_trajectory(ending="infrastructure_error")).blame == "infrastructure"
    assert mark(trajectory=make_trajectory(call("a"), ending="max_turns")).outcome == "passed"


def test_a_sandbox_miss_never_removes_a_case():
    missed = call("a", status="miss", provenance=Provenance(kind="miss"))
    card = mark(trajectory=make_trajectory(missed))
    assert (card.outcome, card.metrics["ts"], card.sandbox["miss"]) == ("passed", 1, 1)


def test_calls_and_answers_are_counted():
    calls = [call("b", provenance=Provenance(kind="near")), call("a", provenance=Provenance(kind="exact"))]
    calls += [call("a", provenance=Provenance(kind="exact")), call("a", status="miss"), call("zz", status="error")]
    card = mark(trajectory=make_trajectory(*calls, replies=("Which one?", "哪个？", "Fine.")))
    assert {kind: count for kind, count in card.sandbox.items() if count} == {"near": 1, "exact": 2, "miss": 1}
    assert (card.calls.total, card.calls.failed) == (5, 1)
    assert list(card.calls.by_tool.items()) == [("a", 3), ("b", 1), ("zz", 1)]
    assert (card.turns, card.clarifications) == (3, 2)


def test_spent_is_summed_and_unknown_where_a_reply_does_not_say():
    whole = make_trajectory(replies=("x", "y"), usage=Usage(input_tokens=10, output_tokens=5, cost=0.1))
    card = mark(trajectory=whole)
    assert (card.spent.input_tokens, card.spent.output_tokens, card.spent.cost) == (20, 10, 0.2)
    assert card.metrics["cei"] == pytest.approx(card.ses / 30 * 1_000_000)
    turns = (*whole.turns, make_trajectory().turns[1])
    assert mark(trajectory=whole.model_copy(update={"turns": turns})).spent.input_tokens is None


def test_what_was_left_open_is_counted():
    case = make_case(facts=2, tools=(ExpectedTool(name="a", prose=(("x", "be nice"),)),))
    labels = [label("f1", 1, nothing_claimed=True), label("f2", 1)]
    card = mark(case, labels=labels)
    assert (card.nothing_claimed, card.unchecked_rules) == (1, 1)


def test_grouping_knows_difficulty_and_requirement_sources():
    implicit = [requirement.model_copy(update={"source": "profile"}) for requirement in FULL.truth.implicit]
    implicit[0] = implicit[0].model_copy(update={"source": "context"})
    truth = FULL.truth.model_copy(update={"requirements": (*FULL.truth.asked, *implicit, *FULL.truth.facts)})
    card = mark(FULL.model_copy(update={"truth": truth, "attributes": {"locality": "local"}}))
    assert card.attributes == {"locality": "local", "difficulty": "L2", "requirement_source": "context, profile"}
    assert card.domains == ("search",)


def test_warnings_of_the_verdict_stay_and_labels_of_no_requirement_are_named():
    card = mark(labels=[label("e9", 1)], warnings=("joined by id",))
    assert card.warnings == ("joined by id", "the verdict labels requirements that the case does not have: e9")


def test_a_scorecard_survives_the_run_file():
    card = mark(labels=GOOD | {"s1": None})
    assert Scorecard.model_validate(json.loads(json.dumps(card.to_json()))) == card


@given(st.dictionaries(st.sampled_from(sorted(GOOD)), st.sampled_from([None, 0, 0.25, 0.5, 0.75, 1])))
def test_every_metric_has_a_value_between_zero_and_one_or_a_class(values):
    card = mark(labels=[label(name, value, "passed" if value == 1 else None) for name, value in values.items()])
    for name in METRICS:
        value = card.metrics[name]
        assert (value is None) == (name in card.classes)
        assert value is None or 0 <= value <= 1
    if card.outcome == "passed":
        assert all(values.get(name) == 1 for name in ("h1", "f1", "f2"))


def test_claims_that_are_not_what_the_case_asks_for_are_a_warning_of_their_reply():
    asks = {"type": "object", "properties": {"intent": {"type": "string"}}, "required": ["intent"]}
    case = make_case(explicit=1, visible={"query": "?", "output_schema": asks})
    trajectory = make_trajectory(replies=("a", "b"))
    first, second = (
        turn.model_copy(update={"output": output})
        for turn, output in zip(trajectory.replies, ({"intent": 7}, {"intent": "route"}), strict=True)
    )
    turns = tuple({"a": first, "b": second}.get(turn.text, turn) for turn in trajectory.turns)
    card = score(case, trajectory.model_copy(update={"turns": turns}), make_verdict({"e1": 1}), asserted=ALL)
    assert card.warnings == ("reply 1 does not give what the case asks for: output.intent: found 7, expected a string",)
    assert card.outcome == "passed"


POLICY = FULL.model_copy(
    update={
        "truth": FULL.truth.model_copy(
            update={
                "requirements": (
                    *FULL.truth.requirements,
                    Requirement(kind="policy", id="p1", text="asks before it books"),
                )
            }
        )
    }
)


@pytest.mark.parametrize(
    ("value", "asserted", "outcome"),
    [
        (0, {"policies"}, "failed"),
        (0, {"hard"}, "passed"),
        (1, {"policies"}, "passed"),
        (None, {"policies"}, "unevaluated"),
    ],
)
def test_a_policy_fails_an_item_where_it_is_asserted_and_is_in_no_metric(value, asserted, outcome):
    labels = [*(label(requirement, known) for requirement, known in GOOD.items()), label("p1", value)]
    card = score(POLICY, make_trajectory(call("a")), make_verdict(labels), asserted=frozenset(asserted))
    assert (card.outcome, card.metrics["ar"], card.metrics["ifs"], card.warnings) == (outcome, 1, 1, ())


@pytest.mark.parametrize(
    ("labels", "outcome", "reason", "unknown"),
    [
        (GOOD, "passed", "", ()),
        (GOOD | {"s1": 0.5}, "failed", "success ar failed: it is 0.8, done is 1", ()),
        (GOOD | {"s1": None}, "unevaluated", "success ar is 1 of 3 labels are not known; s1: undecided", ("ar",)),
        (GOOD | {"s1": None, "e1": 0}, "failed", "success ar failed: it is 0.5, done is 1", ()),
    ],
)
def test_a_metric_may_say_what_counts_as_done(labels, outcome, reason, unknown):
    undecided = {"outcome": "unevaluated", "why": "undecided"}
    made = [label(requirement, value, **(undecided if value is None else {})) for requirement, value in labels.items()]
    verdict = make_verdict(made)
    card = score(FULL, make_trajectory(call("a")), verdict, asserted=frozenset({"success"}), success="ar")
    assert (card.outcome, card.unknown) == (outcome, unknown)
    assert card.reason.startswith(reason)
    rate = summarise([card])["pass_rate"]
    assert (rate.n, rate.undecided) == ((0, 1) if unknown else (1, 0))
