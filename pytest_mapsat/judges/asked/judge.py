"""The judges ``llm:MODEL`` and ``llm-all:MODEL``: checks first, and a model for what they leave open; or a model for every label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from pytest_mapsat.judges.besides import besides
from pytest_mapsat.judges.checks import ChecksJudge
from pytest_mapsat.judges.context import Context
from pytest_mapsat.judges.finding import SHOWN_AT_MOST, cite
from pytest_mapsat.judges.labels import UNDECIDED, kinds, too_long, unjudgeable
from pytest_mapsat.llm import OF_THE_REPLY, Answer, Door, ModelError, Request
from pytest_mapsat.model import (
    Case,
    Factor,
    Label,
    LabelKind,
    Quote,
    Trajectory,
    Usage,
    Verdict,
    total_usage,
    trajectory_digest,
)

from .asking import BESIDE_PROMPTS, CANNOT_SAY, NOT_STATED, PROMPTS, Asked, again, request_of
from .material import Found, material_of
from .opinions import Opinion, read_reply
from .votes import NO_VOTE, majority, value_of

__all__ = ["BESIDE_PROMPTS", "BY", "PROMPTS", "ModelJudge"]

BY = "model"
#: Requests of one dialogue that are under way at once.
_AT_ONCE = 6
_LONGEST_WHY = 900


@dataclass(frozen=True)
class Vote:
    """One evaluation of one dimension.

    Attributes:
        opinions: what of it checks, by factor.
        problems: what does not, by factor.
        fault: why there is no reply; empty where there is one.
        usage: what it spent.
    """

    opinions: Mapping[str, Opinion] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    usage: tuple[Usage, ...] = ()

    def of(self, factor: Factor) -> str:
        """Return what it says of a factor."""
        if factor.id in self.opinions:
            return self.opinions[factor.id].verdict
        return NO_VOTE if self.fault else CANNOT_SAY


class ClosedDoor:
    """Stands where nobody opened a way to models: every call says so."""

    def ask(self, request: Request, *, timeout: float | None = None, cancelled: Event | None = None) -> Answer:  # noqa: ARG002
        """Raise ModelError."""
        raise ModelError("unavailable", "no way to models is open here", purpose=request.purpose)


@dataclass(frozen=True)
class ModelJudge:
    """Labels by a model.

    Attributes:
        checks: who judges first.
        door: the way to the model.
        model: its name, as litellm knows it.
        parameters: its sampling parameters.
        spec: how the user named this judge.
        votes: how many evaluations of a dialogue are asked.
        every: whether the model is asked for every label, and not only for those that the checks leave open.
        linked: None, as the verdicts are its own.
    """

    checks: ChecksJudge
    door: Door
    model: str
    parameters: Mapping[str, Any]
    spec: str
    votes: int = 3
    every: bool = False
    linked: bool | None = field(default=None, init=False)

    def judge(self, case: Case, trajectory: Trajectory) -> Verdict:
        """Return one label for each factor of the case, with who gave it and the votes.

        An episode that somebody else than the agent broke is not judged; one without words of the agent is left to the checks.
        """
        broken = unjudgeable(case, trajectory, self.spec, BY)
        broken = broken or too_long(case, trajectory, self.spec, BY, self.checks.longest)
        if broken is not None:
            return broken
        verdict = self.checks.judge(case, trajectory)
        labels = {label.factor: label for label in verdict.labels}
        context = self.checks.context(case, trajectory)
        all_kinds = [*kinds(case), *((one, label.kind) for one, label in besides(case, context, self.checks.besides))]
        asked = [(factor, kind) for factor, kind in all_kinds if context.replies and self._asks(labels[factor.id])]
        votes = self._votes(case, trajectory, asked, context)
        for factor, kind in asked:
            labels[factor.id] = _label(factor, kind, votes[kind], labels[factor.id])
        spent = [usage for some in votes.values() for vote in some for usage in vote.usage]
        return verdict.model_copy(
            update={
                "judge": self.spec,
                "trajectory": trajectory_digest(trajectory),
                "labels": tuple(labels.values()),
                "usage": total_usage(spent) if spent else None,
            }
        )

    def _asks(self, label: Label) -> bool:
        """Return whether the model is asked: for what nobody is to blame for, and no check decides."""
        return self.every or (label.outcome == "unevaluated" and label.blame is None)

    def _votes(
        self, case: Case, trajectory: Trajectory, asked: Sequence[tuple[Factor, LabelKind]], context: Context
    ) -> dict[LabelKind, list[Vote]]:
        """Return the votes on each dimension that is asked, one request a vote, several under way at once."""
        tasks: list[tuple[Asked, int]] = []
        for dimension in dict.fromkeys(kind for _, kind in asked):
            factors = [factor for factor, kind in asked if kind == dimension]
            material = material_of(case, trajectory, factors, context)
            tasks += [
                (Asked.of(case.id, dimension, factors, material, language=case.language, vote=vote), vote)
                for vote in range(1, self.votes + 1)
            ]
        found: dict[LabelKind, list[Vote]] = {}
        for (one, _), vote in zip(tasks, self._together(tasks, context, trajectory.trial), strict=True):
            found.setdefault(one.kind, []).append(vote)
        return found

    def _together(self, tasks: Sequence[tuple[Asked, int]], context: Context, trial: int) -> list[Vote]:
        """Return the vote of each task, several under way at once."""

        def one(task: tuple[Asked, int]) -> Vote:
            return self._vote(task[0], context, trial, task[1])

        if not tasks:
            return []
        _ = context.replies, context.evidence  # read once, before several threads want them
        with ThreadPoolExecutor(max_workers=min(_AT_ONCE, len(tasks))) as pool:
            asked = [pool.submit(copy_context().run, one, task) for task in tasks]
            return [vote.result() for vote in asked]

    def _vote(self, asked: Asked, context: Context, trial: int, vote: int) -> Vote:
        """Ask, hold the reply against the dialogue, and ask once more for what does not check."""
        request = request_of(asked, self.model, self.parameters, trial=trial, vote=vote)
        usage: list[Usage] = []
        opinions: dict[str, Opinion] = {}
        problems = {factor.id: "there was no reply that could be read" for factor in asked.factors}
        said = ""
        try:
            answer = self.door.ask(request)
            usage.append(answer.usage)
            opinions, problems = _read(answer, asked, context)
            said = answer.text
        except ModelError as error:
            if error.kind not in OF_THE_REPLY or error.kind == "too_long":
                return Vote(fault=str(error), usage=tuple(usage))
        if not problems:
            return Vote(opinions, usage=tuple(usage))
        numbered = [
            f"{number}: {problems[factor.id]}"
            for number, factor in enumerate(asked.factors, 1)
            if factor.id in problems
        ]
        try:
            answer = self.door.ask(again(request, said, numbered, asked.language))
            usage.append(answer.usage)
            second, left = _read(answer, asked, context)
        except ModelError as error:
            return Vote(opinions, problems, str(error), tuple(usage))
        opinions |= {name: opinion for name, opinion in second.items() if name in problems}
        return Vote(
            opinions, {name: left.get(name, "") for name in problems if name not in opinions}, usage=tuple(usage)
        )


def _label(factor: Factor, kind: LabelKind, votes: Sequence[Vote], before: Label) -> Label:
    """Return the label that the votes give a factor; where they give none it stays open, with the reason."""
    listed = tuple(vote.of(factor) for vote in votes)
    said = majority(listed, factor)
    value = value_of(said)
    base = before.model_copy(update={"by": BY, "votes": listed})
    if value is None:
        return base.model_copy(update=_open(factor, votes, listed, before))
    alike = [vote.opinions[factor.id] for vote in votes if vote.of(factor) == said]
    return Label(
        factor=factor.id,
        kind=kind,
        outcome="passed" if value > 0 else "failed",
        value=value,
        why=_why(alike[0]),
        wanted=before.wanted or factor.text,
        quotes=_quotes(alike[0].quotes),
        vacuous=said == NOT_STATED,
        by=BY,
        votes=listed,
    )


def _read(answer: Answer, asked: Asked, context: Context) -> tuple[dict[str, Opinion], dict[str, str]]:
    return read_reply(answer.data or {}, asked, context)


def _open(factor: Factor, votes: Sequence[Vote], listed: Sequence[str], before: Label) -> dict[str, object]:
    """Return what an open label says: who is to blame where replies are missing, else that it is undecided and why."""
    faults = [vote.fault for vote in votes if vote.fault and factor.id not in vote.opinions]
    checks = f"; the checks: {before.why.removeprefix(UNDECIDED)}" if before.value is None and before.why else ""
    if faults:
        why = f"the model judge gave no reply: {faults[0]}{checks}"
        return {
            "outcome": "unevaluated",
            "value": None,
            "why": why[:_LONGEST_WHY],
            "blame": "judge",
            "quotes": _spans(before),
        }
    unsure = [
        vote.opinions[factor.id] for vote in votes if vote.of(factor) == CANNOT_SAY and factor.id in vote.opinions
    ]
    bad = [vote.problems[factor.id] for vote in votes if vote.problems.get(factor.id)]
    if len(set(listed)) > 1:
        why = f"the votes of the model judge differ: {', '.join(listed)}"
    elif unsure:
        why = f"the model judge cannot say: {unsure[0].reason}"
    else:
        why = f"what the model judge says does not check: {bad[0] if bad else 'nothing'}"
    return {
        "outcome": "unevaluated",
        "value": None,
        "why": f"{UNDECIDED}{why}{checks}"[:_LONGEST_WHY],
        "blame": None,
        "quotes": _spans(before),
        "vacuous": False,
    }


def _spans(before: Label) -> tuple[Quote, ...]:
    return before.quotes if before.value is None else ()


def _why(opinion: Opinion) -> str:
    """Return the reason of a label: what the model says, and the words that it rests on."""
    quotes = _quotes(opinion.quotes)
    shown = [cite(quote) for quote in quotes]
    shown += [
        f"{found.part.name} has {' '.join(found.text.split())!r}" for found in opinion.quotes if found.quote is None
    ]
    return f"{'; '.join(shown[:SHOWN_AT_MOST])}: {opinion.reason or 'no reason given'}"[:_LONGEST_WHY]


def _quotes(found: Iterable[Found]) -> tuple[Quote, ...]:
    return tuple(quote for one in found if (quote := one.quote) is not None)[:SHOWN_AT_MOST]
