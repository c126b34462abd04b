"""The judges ``llm:MODEL`` and ``llm-lean:MODEL``: what a machine decides without reading stands; a model is asked for the rest, or for what is in doubt of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pytest_mapsat.judges.checks import ChecksJudge
from pytest_mapsat.judges.context import Context
from pytest_mapsat.judges.extra_labels import besides
from pytest_mapsat.judges.finding import SHOWN_AT_MOST, cite
from pytest_mapsat.judges.labels import UNDECIDED, too_long, unjudgeable
from pytest_mapsat.llm import OF_THE_REPLY, ModelClient, ModelError, Request
from pytest_mapsat.model import (
    Case,
    Label,
    Requirement,
    Trajectory,
    Usage,
    Verdict,
    total_usage,
    trajectory_digest,
)

from .asking import (
    CANNOT_SAY,
    FAILED,
    LEVELS,
    NOT_STATED,
    PASSED,
    SCHEMA,
    Asked,
    Opinion,
    dimension_of,
    has_levels,
    read_reply,
)
from .material import material_of

#: The vote of an evaluation that brought no reply that checks.
NO_VOTE = "no_vote"
#: Requests of one dialogue that are under way at once.
_AT_ONCE = 6
_LONGEST_WHY = 900


@dataclass(frozen=True)
class Vote:
    """One evaluation of one dimension: what of it checks, and what does not, by requirement; why there is no reply, where there is none; what it spent."""

    opinions: Mapping[str, Opinion]
    problems: Mapping[str, str]
    fault: str
    usage: tuple[Usage, ...]

    def of(self, requirement: Requirement) -> str:
        """Return what it says of a requirement."""
        if requirement.id in self.opinions:
            return self.opinions[requirement.id].verdict
        return NO_VOTE if self.fault else CANNOT_SAY


@dataclass(frozen=True)
class ModelJudge:
    """Labels by a model.

    Attributes:
        checks: who judges first.
        client: the way to the model; None: it is closed, and what would be asked stays open.
        model: its name, as litellm knows it.
        parameters: its sampling parameters.
        spec: how the user named this judge.
        votes: how many evaluations of a dialogue are asked.
        lean: whether the model is asked only for facts, and for dimensions in which the checks do not pass every label.
        about: what the suite says of itself to judges.
        linked: None, as the verdicts are its own.
    """

    checks: ChecksJudge
    client: ModelClient | None
    model: str
    parameters: Mapping[str, Any]
    spec: str
    votes: int = 3
    lean: bool = False
    about: str = ""
    linked: bool | None = field(default=None, init=False)

    def judge(self, case: Case, trajectory: Trajectory) -> Verdict:
        """Return one label for each requirement of the case, with who gave it and the votes.

        An episode that somebody else than the agent broke is not judged; one without words of the agent is left to the checks.
        """
        broken = unjudgeable(case, trajectory, self.spec, "model")
        broken = broken or too_long(case, trajectory, self.spec, "model", self.checks.longest)
        if broken is not None:
            return broken
        verdict = self.checks.judge(case, trajectory)
        labels = {label.requirement: label for label in verdict.labels}
        context = self.checks.context(case, trajectory)
        requirements = [
            *case.truth.by_kind,
            *(one for one, _ in besides(case, context, self.checks.besides)),
        ]
        asked = self._asked(requirements, labels) if context.replies else {}
        votes = self._votes(case, trajectory, asked, context)
        for dimension, listed in asked.items():
            labels |= {
                requirement.id: _label(requirement, votes[dimension], labels[requirement.id]) for requirement in listed
            }
        spent = [usage for some in votes.values() for vote in some for usage in vote.usage]
        return verdict.model_copy(
            update={
                "judge": self.spec,
                "trajectory": trajectory_digest(trajectory),
                "labels": tuple(labels.values()),
                "usage": total_usage(spent) if spent else None,
            }
        )

    def _asked(self, requirements: Sequence[Requirement], labels: Mapping[str, Label]) -> dict[str, list[Requirement]]:
        """Return what the model is asked for, by dimension: never for what a machine decides without reading, nor where somebody is to blame already."""
        doubted = {
            dimension_of(requirement)
            for requirement in requirements
            if requirement.kind == "fact" or labels[requirement.id].outcome != PASSED
        }
        asked: dict[str, list[Requirement]] = {}
        for requirement in requirements:
            label, dimension = labels[requirement.id], dimension_of(requirement)
            settled = label.blame is not None or (requirement.machine_sure and label.value is not None)
            if not settled and (dimension in doubted or not self.lean):
                asked.setdefault(dimension, []).append(requirement)
        return asked

    def _votes(
        self, case: Case, trajectory: Trajectory, asked: Mapping[str, Sequence[Requirement]], context: Context
    ) -> dict[str, list[Vote]]:
        """Return the votes on each dimension that is asked, one request a vote, several under way at once."""
        if not asked:
            return {}
        _ = context.replies, context.evidence  # read once, before several threads want them
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            waiting: dict[str, list[Future[Vote]]] = {}
            for dimension, requirements in asked.items():
                material = material_of(case, trajectory, requirements, context, about=self.about)
                for vote in range(1, self.votes + 1):
                    one = Asked.of(case.id, dimension, requirements, material, language=case.language, vote=vote)
                    task = partial(self._vote, one, context, trajectory.trial, vote)
                    waiting.setdefault(dimension, []).append(pool.submit(copy_context().run, task))
            return {dimension: [vote.result() for vote in votes] for dimension, votes in waiting.items()}

    def _vote(self, asked: Asked, context: Context, trial: int, vote: int) -> Vote:
        """Ask, hold the reply against the dialogue, and ask once more for what does not check."""
        if self.client is None:
            return Vote({}, {}, "no way to models is open here", ())
        first = request = Request(
            model=self.model,
            messages=asked.messages(),
            schema_=SCHEMA,
            parameters=dict(self.parameters),
            trial=trial,
            vote=vote,
            purpose="judge",
        )
        opinions: dict[str, Opinion] = {}
        problems = {requirement.id: "there was no reply that could be read" for requirement in asked.requirements}
        usage: list[Usage] = []
        while True:
            text = ""
            try:
                answer = self.client.ask(request)
            except ModelError as error:
                if request is not first or error.kind not in OF_THE_REPLY or error.kind == "too_long":
                    return Vote(opinions, problems, str(error), tuple(usage))
            else:
                usage.append(answer.usage)
                text = answer.text
                read, left = read_reply(answer.data or {}, asked, context)
                opinions |= {name: opinion for name, opinion in read.items() if name in problems}
                problems = {name: left.get(name, "") for name in problems if name not in opinions}
            if not problems or request is not first:
                return Vote(opinions, problems, "", tuple(usage))
            request = asked.again(first, text, problems)


def majority(votes: Sequence[str], requirement: Requirement) -> str:
    """Return what most votes say: passed, failed, not_stated, a level, or ``cannot_say`` where there is no majority.

    A label that holds or not needs more than half of all votes; a tie is no majority. A fact that is not stated holds. Of levels the one with
    the most votes counts, of those with equally many the lower one (spec, Judging).

    Args:
        votes: one for each evaluation, those that brought nothing included.
        requirement: what they are about.
    """
    if has_levels(requirement):
        counts = Counter(vote if vote in LEVELS else CANNOT_SAY for vote in votes)
        leading = [vote for vote, count in counts.items() if count == max(counts.values())]
        return CANNOT_SAY if CANNOT_SAY in leading else min(leading, key=lambda vote: LEVELS[vote])
    holds = [vote for vote in votes if vote in (PASSED, NOT_STATED)]
    if 2 * len(holds) > len(votes):
        return NOT_STATED if 2 * holds.count(NOT_STATED) > len(holds) else PASSED
    return FAILED if 2 * votes.count(FAILED) > len(votes) else CANNOT_SAY


def _label(requirement: Requirement, votes: Sequence[Vote], before: Label) -> Label:
    """Return the label that the votes give a requirement; where they give none it is open, with the reason."""
    listed = tuple(vote.of(requirement) for vote in votes)
    verdict = majority(listed, requirement)
    label = Label(
        requirement=requirement.id,
        kind=requirement.kind,
        outcome="unevaluated",
        wanted=before.wanted,
        by="model",
        votes=listed,
    )
    if verdict == CANNOT_SAY:
        why, blame = _why_open(requirement, votes, listed)
        checks = f"; the checks: {before.why.removeprefix(UNDECIDED)}" if before.value is None and before.why else ""
        opened = {"why": f"{why}{checks}"[:_LONGEST_WHY], "blame": "judge" if blame else None}
        return label.model_copy(update=opened | ({"quotes": before.quotes} if before.value is None else {}))
    opinion = next(vote.opinions[requirement.id] for vote in votes if vote.of(requirement) == verdict)
    value = 1.0 if verdict in (PASSED, NOT_STATED) else 0.0 if verdict == FAILED else LEVELS[verdict]
    quotes = tuple(quote for place in opinion.quotes if (quote := place.quote) is not None)[:SHOWN_AT_MOST]
    others = [place for place in opinion.quotes if place.quote is None]
    shown = [*map(cite, quotes), *(f"{one.part.name} has {' '.join(one.text.split())!r}" for one in others)]
    why = f"{'; '.join(shown[:SHOWN_AT_MOST])}: {opinion.reason or 'no reason given'}"
    return label.model_copy(
        update={
            "outcome": "passed" if value > 0 else "failed",
            "value": value,
            "why": why[:_LONGEST_WHY],
            "wanted": before.wanted or requirement.text,
            "quotes": quotes,
            "nothing_claimed": verdict == NOT_STATED,
        }
    )


def _why_open(requirement: Requirement, votes: Sequence[Vote], listed: Sequence[str]) -> tuple[str, bool]:
    """Return why votes give no label, and whether the judge is to blame: where replies are missing."""
    opinions = [vote.opinions[requirement.id] for vote in votes if requirement.id in vote.opinions]
    faults = [vote.fault for vote in votes if vote.fault and requirement.id not in vote.opinions]
    if faults:
        return f"the model judge gave no reply: {faults[0]}", True
    if len(set(listed)) > 1:
        return f"{UNDECIDED}the votes of the model judge differ: {', '.join(listed)}", False
    if opinions:
        return f"{UNDECIDED}the model judge cannot say: {opinions[0].reason}", False
    bad = next((vote.problems[requirement.id] for vote in votes if vote.problems.get(requirement.id)), "nothing")
    return f"{UNDECIDED}what the model judge says does not check: {bad}", False
