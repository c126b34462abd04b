"""Labelled answers as a run: each one a trial of its case, judged and scored as an agent's reply would be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_mapsat.formats import Placed
from pytest_mapsat.judges import Judge, make_judge
from pytest_mapsat.model import (
    Accounting,
    Case,
    LabelledAnswer,
    Run,
    RunOptions,
    RunRequest,
    RunTiming,
    Scorecard,
    Step,
    Trajectory,
    Turn,
)
from pytest_mapsat.proof import play_oracle
from pytest_mapsat.sandbox import World, make_world
from pytest_mapsat.suite import CaseEntry, Suite

from .assemble import Outcome, assemble
from .case import grade
from .request import asserted_kinds

#: What a good answer keeps without exception: ``Truth.required``.
_ASSERTED = asserted_kinds(("explicit", "hard", "facts"))
_SOURCE = "answers"


def run_answers(suite: Suite, answers: Iterable[Placed[LabelledAnswer]]) -> Run:
    """Return labelled answers as a run, judged by the checks alone: decisions of people would hide what the checks make of them.

    The answers to a case are its trials, in the order given.

    Args:
        suite: the suite.
        answers: answers to its cases.

    Raises:
        SuiteError: a case, or one of its records, cannot be read.
    """
    by_case: dict[str, list[LabelledAnswer]] = {}
    for placed in answers:
        by_case.setdefault(placed.noun.case, []).append(placed.noun)
    judge = make_judge(
        "checks", suite.tools, root=Path(), vocabulary=suite.vocabulary, suite=suite, calibration=suite.calibration
    )
    entries = {entry.id: entry for path in suite.files() for entry in suite.entries(path)}
    cards = [card for case, given in by_case.items() for card in _cards(suite, entries[case], given, judge)]
    options = RunOptions(trials=max(map(len, by_case.values()), default=1), asserted=_ASSERTED)
    request = RunRequest(agent=_SOURCE, user="scripted", judge=judge.spec, options=options)
    return assemble(cards, [suite], request, Outcome(Accounting(collected=len(cards))), RunTiming())


def _cards(suite: Suite, entry: CaseEntry, answers: Sequence[LabelledAnswer], judge: Judge) -> Iterable[Scorecard]:
    case = suite.load(entry)
    world = make_world(case, suite)
    oracle = play_oracle(case, suite) if any(answer.text is not None for answer in answers) else None
    for trial, answer in enumerate(answers, 1):
        trajectory = _dialogue(case, answer, oracle, world).model_copy(update={"trial": trial, "source": _SOURCE})
        nodeid = answer_named(case.id, answer.id)
        yield grade(
            case, trajectory, judge, asserted=frozenset(_ASSERTED), tools=suite.tools, nodeid=nodeid, line=entry.line
        )


def answer_named(case: str, answer: str) -> str:
    """Return the node id under which an answer stands in its run."""
    return f"answers::{case}[{answer}]"


def _dialogue(case: Case, answer: LabelledAnswer, oracle: Trajectory | None, world: World) -> Trajectory:
    """Return the dialogue that ends in the answer: the oracle's with another last reply, or the answer's own."""
    if answer.text is None or oracle is None:
        return Trajectory(case=case.id, turns=tuple(_played(turn, world) for turn in answer.turns))
    turns = [turn.model_copy(update={"timing": None}) for turn in oracle.turns]
    last = max((index for index, turn in enumerate(turns) if turn.role == "agent"), default=None)
    if last is not None:  # without any reply the oracle has broken, which the trajectory says
        turns[last] = turns[last].model_copy(update={"text": answer.text})
    return oracle.model_copy(update={"turns": tuple(turns)})


def _played(turn: Turn, world: World) -> Turn:
    return turn.model_copy(update={"steps": tuple(_answered(step, world) for step in turn.steps)})


def _answered(step: Step, world: World) -> Step:
    """Return a call with its result: its own where it gives one, else what the sandbox answers."""
    if step.kind != "call" or {"result", "status"} & step.model_fields_set:
        return step
    answer = world.call(step.tool, step.arguments)
    names = ("result", "status", "provenance", "changed", "writes")
    return step.model_copy(update={name: getattr(answer, name) for name in names})


def answers_by_trial(answers: Iterable[Placed[LabelledAnswer]]) -> Mapping[tuple[str, int], LabelledAnswer]:
    """Return the answers by case and trial, as their run numbers them."""
    found: dict[tuple[str, int], LabelledAnswer] = {}
    counts: dict[str, int] = {}
    for placed in answers:
        case = placed.noun.case
        counts[case] = counts.get(case, 0) + 1
        found[case, counts[case]] = placed.noun
    return found
