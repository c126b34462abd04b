"""What people may decide in a saved run: its open labels, the decisions on them, and the replies that become labelled answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pytest_mapsat.judges import Decisions, Said, unjudgeable
from pytest_mapsat.model import (
    Case,
    Decision,
    Factor,
    JsonObject,
    Label,
    LabelledAnswer,
    Mark,
    Scorecard,
    Step,
    Turn,
    digest,
    wording_digest,
)

State = Literal["suspect", "undecided", "failed"]
_STATES: tuple[State, ...] = ("suspect", "undecided", "failed")


@dataclass(frozen=True)
class Question:
    """One label of a dialogue, put to a person.

    Attributes:
        case: the case.
        card: the dialogue's scorecard.
        factor: what is asked of the answer.
        label: what the judge says.
    """

    case: Case
    card: Scorecard
    factor: Factor
    label: Label

    @property
    def state(self) -> State:
        """Whether the judge suspects that it failed, left it open, or says that it failed."""
        if self.label.outcome == "failed":
            return "failed"
        return "suspect" if self.label.suspect else "undecided"

    @property
    def tools(self) -> frozenset[str]:
        """The tools that the factor's check names."""
        return frozenset(_tools(self.factor.model_dump(mode="json", by_alias=True)))

    @cached_property
    def calls(self) -> tuple[Step, ...]:
        """The calls that matter: of the tools that the check names; all calls where it names none, or none of them was called."""
        calls = self.card.trajectory.calls
        return tuple(call for call in calls if call.tool in self.tools) or calls

    def decided(self, outcome: Mark, *, by: str, why: str) -> Decision:
        """Return a person's decision on it."""
        return decision_on(self.factor, Said.of(self.card.trajectory), outcome, by=by, why=why)

    def to_json(self) -> JsonObject:
        """Return the question as JSON data."""
        more = {"agent": self.card.agent, "attempt": self.card.attempt}
        apart = more if self.card.agent or self.card.attempt > 1 else {}
        return {
            "case": self.case.id,
            "trial": self.card.trial,
            **apart,
            "factor": self.factor.id,
            "kind": self.label.kind,
            "state": self.state,
            "required": self.factor.text,
            "why": self.label.why,
            "quotes": [quote.model_dump(mode="json") for quote in self.label.quotes],
        }


def decision_on(factor: Factor, said: Said, outcome: Mark, *, by: str, why: str) -> Decision:
    """Return a decision on a factor of a dialogue, tied to its words, replies and evidence."""
    return Decision(
        case=said.case,
        factor=factor.id,
        outcome=outcome,
        by=by,
        why=why,
        wording=wording_digest(factor),
        reply=said.reply,
        evidence=said.evidence,
    )


def can_be_reviewed(case: Case, card: Scorecard) -> bool:
    """Return whether there is a reply to judge: somebody else did not break the episode, and the agent said something."""
    if unjudgeable(case, card.trajectory, "", "") is not None:
        return False
    return any(turn.text.strip() for turn in card.trajectory.replies)


def questions(cards: Sequence[Scorecard], cases: Mapping[str, Case], decisions: Decisions) -> list[Question]:
    """Return the labels that are suspect, those that are undecided, then those that failed, without those that people have decided.

    Trials in which the same was said and answered ask once.

    Args:
        cards: the scorecards of a run.
        cases: their cases by id.
        decisions: what people decided before.
    """
    found: dict[tuple[Said, str], Question] = {}
    for card in cards:
        case, said = cases[card.id], Said.of(card.trajectory)
        if not can_be_reviewed(case, card):
            continue
        labels = {label.factor: label for label in card.labels}
        for factor in case.truth.factors:
            label = labels.get(factor.id)
            if label is None or label.outcome not in {"unevaluated", "failed"}:
                continue
            if decisions.on(factor, said) is None:
                found.setdefault((said, factor.id), Question(case, card, factor, label))
    return sorted(found.values(), key=lambda question: _STATES.index(question.state))


def _tools(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("tool"), str):
            yield value["tool"]
        for part in value.values():
            yield from _tools(part)
    elif isinstance(value, list):
        for part in value:
            yield from _tools(part)


def open_factors(case: Case, card: Scorecard, decisions: Decisions) -> tuple[str, ...]:
    """Return the required factors of a dialogue that neither a person nor the judge has decided."""
    marks = _marks(case, card, decisions)
    return tuple(factor.id for factor in case.truth.required if factor.id not in marks)


def answer_of(case: Case, card: Scorecard, decisions: Decisions) -> LabelledAnswer:
    """Return a dialogue as a labelled answer: every call with its result, people's decisions as labels, the judge's for what nobody reviewed.

    Args:
        case: the case.
        card: the dialogue's scorecard.
        decisions: what people decided; with the judge's labels, on every required factor.
    """
    trajectory, said = card.trajectory, Said.of(card.trajectory)
    marks = _marks(case, card, decisions)
    own = [factor.id for factor in case.truth.factors if factor.id in marks and decisions.on(factor, said) is None]
    turns = tuple(map(_plain, trajectory.turns))
    if turns[0].role != "user":  # a run file may hold a dialogue without its query
        turns = (Turn(role="user", text=case.visible.query), *turns)
    note = f"not reviewed, the judge's own: {', '.join(own)}" if own else ""
    return LabelledAnswer(
        case=case.id,
        id=f"reviewed-{digest([said.reply, said.evidence], 12)}",
        by="person",
        turns=turns,
        labels=marks,
        **({"note": note} if note else {}),
    )


def _marks(case: Case, card: Scorecard, decisions: Decisions) -> dict[str, Mark]:
    """Return people's decisions by factor, and for required factors that have none the judge's labels."""
    said = Said.of(card.trajectory)
    labels = {label.factor: label.outcome for label in card.labels}
    required = {factor.id for factor in case.truth.required}
    marks: dict[str, Mark] = {}
    for factor in case.truth.factors:
        decision = decisions.on(factor, said)
        outcome = labels.get(factor.id)
        if decision is not None:
            marks[factor.id] = decision.outcome
        elif factor.id in required and (outcome == "passed" or outcome == "failed"):  # noqa: PLR1714  mypy narrows only this
            marks[factor.id] = outcome
    return marks


def _plain(turn: Turn) -> Turn:
    """Return what was said and done in a turn, without its cost and time."""
    steps = tuple(
        Step(kind="call", tool=step.tool, arguments=step.arguments, result=step.result, status=step.status)
        for step in turn.steps
        if step.kind == "call"
    )
    output = {} if turn.output is None else {"output": turn.output}
    return Turn(role=turn.role, text=turn.text, **({"steps": steps} if steps else {}), **output)
