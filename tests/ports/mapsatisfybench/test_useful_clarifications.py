"""How useful questions are by the clarification policy C(x), MapSatisfyBench 3.1."""

import pytest

from pytest_mapsat.metrics import MetricInput
from pytest_mapsat.model import Case, Trajectory, Turn, Verdict
from pytest_mapsat.ports.mapsatisfybench.clarify import CLARIFY

TRUTH = {
    "requirements": [{"id": "e1", "kind": "asked", "text": "A charger is named"}],
    "user": [
        {"asked": ["connector", "plug"], "say": "It has a CCS plug."},
        {"asked": ["budget", "cost"], "say": "At most 40 yuan."},
    ],
}


def measured(*turns, most=2):
    policy = {} if most is None else {"clarification": {"max_turns": most}}
    case = Case.model_validate({"id": "c", "visible": {"query": "Where can I charge?"}, "truth": TRUTH | policy})
    said = [Turn(role="user", text=case.visible.query)]
    for place, text in enumerate(turns):
        said.append(Turn(role="user" if place % 2 else "agent", text=text))
    trajectory = Trajectory(case="c", turns=tuple(said), ending="done")
    verdict = Verdict(case="c", labels=(), judge="checks")
    measures = CLARIFY.measure(MetricInput(case, trajectory, verdict, {}))
    return [measures[f"clarify_{name}"] for name in ("useful", "done")]


PLUG, COST = ("Which plug?", "It has a CCS plug."), ("What may it cost?", "At most 40 yuan.")


@pytest.mark.parametrize(
    ("turns", "most", "useful", "done"),
    [
        ((*PLUG, *COST, "Go to Elm Charger."), 2, 1, 1),
        ((*PLUG, "Elm Charger."), 2, 1, 0.5),
        ((*PLUG, *COST, "Elm Charger."), 1, 0.5, 1),  # the policy expects one useful question
        (
            (*PLUG, *PLUG, "Elm Charger."),
            2,
            (0.5, 1),
            (0.5, 1),
        ),  # said before; the second answer may still mean the other thing
        (("Which plug?", "The combined one.", "Elm Charger."), 1, (0, 1), (0, 1)),  # in other words
        ((*PLUG, *COST, "Anything else?", "No.", "Elm Charger."), 3, 2 / 3, 2 / 3),  # nothing is left to say
    ],
)
def test_a_question_is_useful_where_its_answer_reveals_something(turns, most, useful, done):
    spans = [measure.span for measure in measured(*turns, most=most)]
    assert spans == [span if isinstance(span, tuple) else (span, span) for span in (useful, done)]


def test_without_a_policy_no_question_is_useful_and_without_a_question_nothing_is_measured():
    useful, done = measured(*PLUG, "Elm Charger.", most=None)
    assert (useful.value, done.outcome_class) == (0, "not_applicable")
    useful, done = measured("Elm Charger.")
    assert (useful.outcome_class, done.value) == ("not_applicable", 0)
