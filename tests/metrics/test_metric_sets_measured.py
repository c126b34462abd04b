"""What is taken from a metric set, which may be a stranger's."""

import pytest
from metric_builders import make_case, make_trajectory, make_verdict

from pytest_mapsat.metrics import MSB, Measure, MetricSet, gather_metric_sets, score
from pytest_mapsat.model import Fault, Metric, UsageError

METRICS = [Metric(name="late"), Metric(name="words", unit="words", earned=False, gated=False)]


def card_by(measure, **fields):
    """Score an episode by the first metric set, then by one that measures so."""
    case, verdict = make_case(explicit=1, attributes={"town": "Lindenau"}), make_verdict({"e1": 1})
    metric_sets = (MSB, MetricSet("lateness", METRICS, measure))
    trajectory = make_trajectory(**fields)
    return score(case, trajectory, verdict, asserted=frozenset(), metric_sets=metric_sets)


def raising(error):
    def measure(metric_input):
        raise error

    return measure


def test_values_bounds_and_classes_are_taken_as_they_are():
    card = card_by(lambda metric_input: {"late": Measure(None, "unevaluated", "who knows", (0.25, 0.5)), "words": 7})
    assert (card.metrics["ar"], card.metrics["late"], card.metrics["words"]) == (1, None, 7)
    assert (card.classes["late"], card.bounds, card.faults) == ("unevaluated", {"late": (0.25, 0.5)}, {})
    card = card_by(lambda metric_input: {"late": None, "words": Measure(None, "not_applicable")})
    assert (card.classes["late"], card.classes["words"], card.warnings) == ("unevaluated", "not_applicable", ())


def test_what_rests_on_calls_has_no_value_where_some_may_not_be_known():
    case, verdict = make_case(explicit=1, attributes={"town": "Lindenau"}), make_verdict({"e1": 1})
    metric_sets = (MSB, MetricSet("lateness", METRICS, lambda _: {"late": 1, "words": 7}, of_calls=["late"]))
    told, reported = (make_trajectory(calls_reported=reported) for reported in (False, True))
    card = score(case, told, verdict, asserted=frozenset(), metric_sets=metric_sets)
    assert (card.metrics["late"], card.metrics["words"]) == (1, 7)
    card = score(case, reported, verdict, asserted=frozenset(), metric_sets=metric_sets)
    assert (card.metrics["late"], card.classes["late"], card.metrics["words"]) == (None, "unevaluated", 7)


@pytest.mark.parametrize(
    ("measure", "why"),
    [
        (raising(KeyError("words")), "broke: KeyError: 'words'"),
        (raising(SystemExit(0)), "broke: SystemExit: 0"),
        (lambda metric_input: 7, "broke: TypeError: 'int' object is not iterable"),
        (lambda metric_input: {"late": 2, "words": 1}, "late is 2: a metric that may be gated lies between 0 and 1"),
        (lambda metric_input: {"late": True, "words": 1}, "late is True, expected a number"),
        (lambda metric_input: {"late": float("nan"), "words": 1}, "late is nan, expected a number"),
        (lambda metric_input: {"late": Measure(None), "words": 1}, "late has no value and the class None"),
        (
            lambda metric_input: {"late": Measure(None, "unevaluated", "", (1, 0)), "words": 1},
            "late has the bounds 1 and 0",
        ),
        (lambda metric_input: {"late": Measure(None, "unevaluated", "", 3), "words": 1}, "late has the bounds 3"),
        (lambda metric_input: {"words": 1}, "it gives no late"),
        (lambda metric_input: {"late": 1, "words": 1, "ar": 0}, "it gives 'ar', which it does not declare"),
    ],
)
def test_what_no_metric_can_be_is_laid_to_the_infrastructure(measure, why):
    card = card_by(measure)
    assert (card.outcome, card.metrics["ar"], card.metrics["late"]) == ("passed", 1, None)
    assert (card.classes["late"], card.faults["late"].blame) == ("error", "infrastructure")
    assert why in card.faults["late"].message
    assert card.warnings == (card.faults["late"].message,)


def test_a_metric_set_that_changes_what_it_is_given_changes_nothing():
    def measure(metric_input):
        metric_input.case.attributes["town"] = "Aachen"
        metric_input.verdict.__dict__["labels"] = ()
        metric_input.trajectory.__dict__["turns"] = ()
        return {"late": 1, "words": 0}

    card = card_by(measure)
    assert (card.attributes, len(card.labels), len(card.trajectory.turns)) == ({"town": "Lindenau"}, 1, 3)


def test_of_an_episode_that_broke_a_metric_set_is_asked_only_for_what_is_not_earned():
    crash = {"ending": "agent_error", "fault": Fault(blame="agent", message="it raised")}
    card = card_by(lambda metric_input: {"words": 3}, **crash)
    assert (card.metrics["late"], card.metrics["words"], card.metrics["ar"]) == (0, 3, 0)
    assert card_by(raising(ValueError("no")), **crash).metrics["late"] == 0
    other = {"ending": "user_error", "fault": Fault(blame="user", message="it raised")}
    card = card_by(raising(AssertionError("never asked")), **other)
    assert (card.metrics["late"], card.classes["late"], card.faults) == (None, "error", {})


def test_metric_sets_that_cannot_be_told_apart_are_refused():
    one = MetricSet("one", [Metric(name="late")], lambda metric_input: {"late": Measure(1.0)})
    assert gather_metric_sets([[one], None, [one]])["one"] is one
    for others, message in (
        ([MetricSet("one", [Metric(name="later")], len)], "two packages add a metric set 'one'"),
        ([MetricSet("two", [Metric(name="late")], len)], "two: the name 'late' is a metric of one already"),
        ([MetricSet("two", [Metric(name="ar")], len)], "two: the name 'ar' is a metric of msb already"),
        ([MetricSet("two", [Metric(name="pass_rate")], len)], "two: the name 'pass_rate' is not free"),
        ([MetricSet("two", [Metric(name="x"), Metric(name="x")], len)], "two gives one name to two metrics"),
        ([7], "found 7, expected a MetricSet"),
        (7, "found 7, expected metric sets: TypeError: 'int' object is not iterable"),
    ):
        with pytest.raises(UsageError, match=message):
            gather_metric_sets([[one], others])
    with pytest.raises(UsageError, match="the metric set three has no metrics"):
        MetricSet("three", [], len)
    with pytest.raises(UsageError, match="reads labels of the kind 'stat'; did you mean 'state'"):
        MetricSet("four", [Metric(name="four")], len, labels={"stat"})


def test_a_metric_of_success_reaches_the_metric_sets_after_its_own_whatever_their_order():
    found = []

    def measure(metric_input):
        found.append((metric_input.success, metric_input.labels.keys(), metric_input.selection.measure.value))
        return {"late": 0.0, "words": 1}

    case, verdict = make_case(explicit=1), make_verdict({"e1": 1})
    metric_sets = (MetricSet("lateness", METRICS, measure), MSB)
    card = score(case, make_trajectory(), verdict, asserted=frozenset(), metric_sets=metric_sets, success="ar")
    assert [(success.value, list(labels)) for success, labels, _ in found] == [(1.0, ["e1"])]
    assert list(card.metrics)[:3] == ["late", "words", "ecr"]


def test_a_measure_of_a_kind_of_its_own_is_taken_for_its_parts():
    class Own(Measure):
        pass

    card = card_by(lambda metric_input: {"late": Own(1, why="so"), "words": Own(2.5)})
    assert (card.metrics["late"], card.metrics["words"], card.classes.get("late")) == (1.0, 2.5, None)


def test_a_scorecard_takes_what_is_known_and_refuses_what_it_does_not_have():
    arguments = (make_case(explicit=1), make_trajectory(), make_verdict({"e1": 1}))
    card = score(*arguments, asserted=frozenset(), nodeid="cases::x", line=7)
    assert (card.nodeid, card.line) == ("cases::x", 7)
    with pytest.raises(ValueError, match="lines"):
        score(*arguments, asserted=frozenset(), lines=7)
