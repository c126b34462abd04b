"""Small cases, dialogues and verdicts for the tests of this folder."""

from pytest_mapsat.model import (
    MSB_METRICS,
    Case,
    Clarification,
    Context,
    ExpectedTool,
    Label,
    Requirement,
    Scorecard,
    Step,
    Trajectory,
    Truth,
    Turn,
    Usage,
    Verdict,
    Visible,
)

#: The metrics of MapSatisfyBench, and those that a broken agent has earned a 0 in.
METRICS = tuple(metric.name for metric in MSB_METRICS)
EARNED = METRICS[:7]


def make_case(*, explicit=0, soft=(), hard=(), facts=0, tools=(), max_turns=2, reference=None, **fields):
    """``soft`` and ``hard``: weights; requirements are e1.., s1.., h1.., f1.."""
    implicit = [
        Requirement(id=f"{letter}{place}", kind=kind, text="a need", weight=weight)
        for letter, kind, weights in (("h", "hard", hard), ("s", "soft", soft))
        for place, weight in enumerate(weights, 1)
    ]
    policy = None if max_turns is None else Clarification(max_turns=max_turns, reference_turns=reference)
    truth = Truth(
        requirements=(
            *(Requirement(kind="asked", id=f"e{n}", text="a wish") for n in range(1, explicit + 1)),
            *implicit,
            *(Requirement(kind="fact", id=f"f{n}", text="a fact") for n in range(1, facts + 1)),
        ),
        tools=tuple(ExpectedTool(name=one) if isinstance(one, str) else one for one in tools),
        clarification=policy,
    )
    visible = Visible(query="where to?", context=Context(now="2026-01-01T08:00:00"))
    return Case(**{"id": "c1", "visible": visible, "truth": truth, **fields})


def call(tool, /, status="ok", provenance=None, **arguments):
    return Step(kind="call", tool=tool, arguments=arguments, status=status, provenance=provenance)


def make_trajectory(*calls, replies=("There you go.",), usage=None, **fields):
    """All calls stand in the first reply; the user speaks between replies."""
    turns = [Turn(role="user", text="where to?")]
    for place, text in enumerate(replies):
        turns.append(Turn(role="agent", text=text, steps=tuple(calls) if place == 0 else (), usage=usage or Usage()))
        turns.append(Turn(role="user", text="ok"))
    return Trajectory(**{"case": "c1", "turns": tuple(turns), **fields})


KINDS = {"e": "asked", "s": "soft", "h": "hard", "f": "fact", "p": "policy"}


def label(requirement, value, outcome=None, **fields):
    """A label of the requirement's kind; None is unevaluated."""
    if outcome is None:
        outcome = "unevaluated" if value is None else "passed" if value == 1 else "failed"
    return Label(requirement=requirement, kind=KINDS[requirement[0]], outcome=outcome, value=value, **fields)


def make_verdict(labels=(), /, **fields):
    """``labels``: a dict of values by requirement id, or labels."""
    if isinstance(labels, dict):
        labels = [label(requirement, value) for requirement, value in labels.items()]
    return Verdict(**{"case": "c1", "judge": "test", "labels": tuple(labels), **fields})


def make_card(case="a", metrics=None, outcome="passed", **fields):
    """A scorecard with the metrics given; ``metrics`` may hold a class in place of a value."""
    values = {name: value for name, value in (metrics or {}).items() if not isinstance(value, str)}
    classes = {name: value for name, value in (metrics or {}).items() if isinstance(value, str)}
    return Scorecard(
        **{
            "id": case,
            "outcome": outcome,
            "metrics": {**values, **dict.fromkeys(classes)},
            "classes": classes,
            "trajectory": Trajectory(case=case, turns=()),
            **fields,
        }
    )
