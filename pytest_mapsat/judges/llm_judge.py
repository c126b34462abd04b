"""The judges ``llm:MODEL`` and ``llm-lean:MODEL``: what a machine decides without reading stands; a model is asked about the rest, or about those of the rest that are in doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_mapsat.llm import OF_THE_REPLY, ModelClient, ModelError, Request
from pytest_mapsat.model import (
    Calls,
    Case,
    Check,
    Label,
    Requirement,
    Trajectory,
    Usage,
    Verdict,
    Window,
    total_usage,
)

from .blocks import Blocks, Decided
from .context import Context
from .extra_labels import besides
from .findings import SHOWN_AT_MOST, Finding, cite
from .labels import UNDECIDED, too_long, unevaluated, unjudgeable
from .llm_material import Material, material_of
from .llm_request import (
    CANNOT_SAY,
    FAILED,
    LEVELS,
    NOT_STATED,
    PASSED,
    SCHEMA,
    WINDOWED,
    Asked,
    Opinion,
    dimension_of,
    has_levels,
    read_reply,
)

if TYPE_CHECKING:
    from .judge import ChecksJudge

#: The vote of an evaluation without a reply that can be used.
NO_VOTE = "no_vote"
#: How many requests about one dialogue run at once.
_AT_ONCE = 6
_LONGEST_WHY = 900


@dataclass(frozen=True)
class Vote:
    """One evaluation of one dimension.

    Attributes:
        opinions: those that could be used, by requirement.
        problems: why the others could not be used, by requirement.
        fault: why there is no reply; empty where there is one.
        usage: what its requests spent.
    """

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
        window: the windows in which requirements of scope trajectory are followed, policies apart; None: the whole is shown.
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
    window: Window | None = None
    linked: bool | None = field(default=None, init=False)

    def context(self, case: Case, trajectory: Trajectory) -> Context:
        """Return the dialogue as the checks read it, with the way to the model."""
        context = self.checks.context(case, trajectory)
        return replace(context, ask=partial(self._said_of, case, context))

    def judge(self, case: Case, trajectory: Trajectory, decided: Decided | None = None) -> Verdict:
        """Return one label for each requirement of the case, with who gave it and the votes.

        An episode that something other than the agent broke is not judged; one without words of the agent is left to the checks.
        """
        broken = unjudgeable(case, trajectory, self.spec, "model")
        broken = broken or too_long(case, trajectory, self.spec, "model", self.checks.longest)
        if broken is not None:
            return broken
        context = self.checks.context(case, trajectory).decided_by(decided)
        extra = besides(case, context, self.checks.besides)
        verdict = self.checks.verdict(case, context, extra)
        labels = {label.requirement: label for label in verdict.labels}
        requirements = [each for each in case.truth.by_kind if each.id not in context.found]
        requirements += (beside for beside, _ in extra)
        asked = self._asked(requirements, labels) if context.replies else {}
        votes = self._votes(case, trajectory, asked, context)
        for dimension, listed in asked.items():
            labels |= {
                requirement.id: _label(requirement, votes[dimension], labels[requirement.id]) for requirement in listed
            }
        spent = [usage for of_dimension in votes.values() for vote in of_dimension for usage in vote.usage]
        spent += [] if decided is None else decided.usage
        return verdict.model_copy(
            update={
                "judge": self.spec,
                "labels": tuple(labels.values()),
                "usage": total_usage(spent) if spent else None,
            }
        )

    def _said_of(self, case: Case, context: Context, text: str, blocks: Blocks | None) -> Finding:
        """Return what the votes say of a sentence that a body in Python asks about."""
        asked = Requirement(id="judged", kind="hard", text=text)
        (votes,) = self._votes(case, context.trajectory, {dimension_of(asked): [asked]}, context).values()
        if blocks is not None:
            blocks.usage += [usage for vote in votes for usage in vote.usage]
        label = _label(asked, votes, unevaluated(asked, "", None))
        passed = None if label.value is None else bool(label.value)
        return Finding(passed, label.why.removeprefix(UNDECIDED), broken=label.blame is not None)

    def _asked(self, requirements: Sequence[Requirement], labels: Mapping[str, Label]) -> dict[str, list[Requirement]]:
        """Return the requirements that the model is asked about, by dimension: none that a machine decides without reading, none with a blame."""
        doubted = {
            self._dimension(requirement)
            for requirement in requirements
            if requirement.kind == "fact" or labels[requirement.id].outcome != PASSED
        }
        asked: dict[str, list[Requirement]] = {}
        for requirement in requirements:
            label, dimension = labels[requirement.id], self._dimension(requirement)
            settled = label.blame is not None or (requirement.machine_sure and label.value is not None)
            if not settled and (dimension in doubted or not self.lean):
                open_so_far = (
                    label.why.removeprefix(UNDECIDED) if any(map(_wants_agreement, requirement.leaves)) else ""
                )
                text = f"{requirement.text} ({open_so_far})" if open_so_far else requirement.text
                asked.setdefault(dimension, []).append(requirement.model_copy(update={"text": text}))
        return asked

    def _dimension(self, requirement: Requirement) -> str:
        followed = self.window is not None and requirement.scope == "trajectory" and requirement.kind != "policy"
        return WINDOWED if followed else dimension_of(requirement)

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
                    request = Asked.of(case.id, dimension, requirements, material, language=case.language, vote=vote)
                    task = partial(self._vote, request, context, trajectory.trial, vote)
                    if dimension == WINDOWED:
                        task = partial(self._followed, case, trajectory, requirements, context, vote)
                    waiting.setdefault(dimension, []).append(pool.submit(copy_context().run, task))
            return {dimension: [vote.result() for vote in votes] for dimension, votes in waiting.items()}

    def _followed(
        self, case: Case, trajectory: Trajectory, requirements: Sequence[Requirement], context: Context, vote: int
    ) -> Vote:
        """Follow requirements through the windows of a dialogue: the last opinion on each counts; a window without a usable opinion leaves it open until the next."""
        opinions: dict[str, Opinion] = {}
        problems: dict[str, str] = {}
        fault = ""
        usage: list[Usage] = []
        for seen in windows_of(trajectory, self.window) if self.window else ():
            material = seen.of(material_of(case, seen.trajectory, requirements, context, about=self.about))
            standing = {name: opinion.verdict for name, opinion in opinions.items()}
            asked = Asked.of(
                case.id,
                WINDOWED,
                requirements,
                material,
                language=case.language,
                vote=vote,
                window=seen.place,
                standing=standing,
            )
            of_window = self._vote(asked, context, trajectory.trial, vote)
            usage += of_window.usage
            changed = {name: opinion for name, opinion in of_window.opinions.items() if opinion.verdict != CANNOT_SAY}
            unread = {requirement.id for requirement in requirements} - of_window.opinions.keys()
            opinions = {name: opinion for name, opinion in {**opinions, **changed}.items() if name not in unread}
            problems = {name: why for name, why in problems.items() if name not in changed}
            problems |= {name: of_window.problems.get(name, "") for name in unread}
            fault = of_window.fault or fault
        silent = Opinion(CANNOT_SAY, "no window decides it")
        opinions = {
            requirement.id: opinions.get(requirement.id, silent)
            for requirement in requirements
            if requirement.id not in problems
        }
        return Vote(opinions, problems, fault if problems else "", tuple(usage))

    def _vote(self, asked: Asked, context: Context, trial: int, vote: int) -> Vote:
        """Ask, check the reply against the dialogue, and ask once more where it does not check."""
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


def _wants_agreement(check: Check) -> bool:
    """Return whether a check is decided by what a question and the rows say: a model that decides it is told what is open."""
    return isinstance(check, Calls) and check.agreed


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
    shown = [*map(cite, quotes), *(f"{place.part.name} has {' '.join(place.text.split())!r}" for place in others)]
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


# -- a dialogue in overlapping windows: requirements are followed from one to the next ------------------------------


@dataclass(frozen=True)
class Seen:
    """One window of a dialogue.

    Attributes:
        trajectory: the dialogue, with turns outside of the window emptied; every turn keeps its place.
        turns: the turns whose text is in the window, and always the first, which has the user's request.
        number: which window it is, from 1.
        count: how many there are.
    """

    trajectory: Trajectory
    turns: frozenset[int]
    number: int
    count: int

    @property
    def place(self) -> str:
        """Which window it is, in words."""
        return f"{self.number} of {self.count}"

    def of(self, material: Material) -> Material:
        """Return the parts of a material that stand in the window."""
        return replace(
            material, parts=tuple(part for part in material.parts if part.turn < 0 or part.turn in self.turns)
        )


def windows_of(trajectory: Trajectory, window: Window) -> list[Seen]:
    """Return a dialogue in windows. What the user says, what the agent says, and each call with its result are messages.

    Args:
        trajectory: the dialogue.
        window: how many messages a window has, and how many of them it shares with the one before.
    """
    messages: list[tuple[int, int | None]] = []
    for place, turn in enumerate(trajectory.turns):
        messages += [(place, at) for at, step in enumerate(turn.steps) if step.kind == "call"]
        messages += [(place, None)] if turn.text.strip() else []
    step = window.messages - window.overlap
    starts = range(0, max(len(messages) - window.overlap, 1), step)
    return [
        _seen(trajectory, messages[start : start + window.messages], number, len(starts))
        for number, start in enumerate(starts, 1)
    ]


def _seen(trajectory: Trajectory, messages: Sequence[tuple[int, int | None]], number: int, count: int) -> Seen:
    texts = frozenset(place for place, at in messages if at is None) | {0}
    calls = {(place, at) for place, at in messages if at is not None}
    turns = [
        turn.model_copy(
            update={
                "text": turn.text if place in texts else "",
                "steps": tuple(step for at, step in enumerate(turn.steps) if (place, at) in calls),
            }
        )
        for place, turn in enumerate(trajectory.turns)
    ]
    return Seen(trajectory.model_copy(update={"turns": tuple(turns)}), texts, number, count)
