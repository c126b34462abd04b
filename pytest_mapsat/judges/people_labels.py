"""Labels of people come before any judge: they count for the very words, reply and evidence that they were given for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pytest_mapsat.formats import Placed, read_nouns
from pytest_mapsat.model import (
    Case,
    Label,
    Mark,
    PeopleLabels,
    Requirement,
    Trajectory,
    Verdict,
    evidence_digest,
    fits,
    mark_value,
    reply_digest,
    wording_digest,
)

from .judge import Judge
from .labels import unjudgeable

BY = "decision"
_SHOWN_AT_MOST = 5


class DialogueKey(NamedTuple):
    """What labels of people are tied to in a dialogue: digests of the replies, and of the calls with their results."""

    case: str
    reply: str
    evidence: str

    @classmethod
    def of(cls, trajectory: Trajectory) -> DialogueKey:
        """Return it for a dialogue."""
        return cls(trajectory.case, reply_digest(trajectory), evidence_digest(trajectory))


class PersonMark(NamedTuple):
    """The label of one requirement, as a person gave it."""

    outcome: Mark
    by: str
    why: str


@dataclass(frozen=True)
class LabelsOfPeople:
    """Labels that are tied to what was said in a run, by case and requirement, in the order in which they were given."""

    by_case: Mapping[str, Mapping[str, Sequence[Placed[PeopleLabels]]]] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Iterable[Placed[PeopleLabels]]) -> LabelsOfPeople:
        """Return labels, ready to be looked up; those of dialogues that stand in full are there to hold judges against, and decide nothing."""
        by_case: dict[str, dict[str, list[Placed[PeopleLabels]]]] = {}
        for placed in lines:
            for requirement in placed.noun.labels if placed.noun.reply is not None else ():
                by_case.setdefault(placed.noun.case, {}).setdefault(requirement, []).append(placed)
        return cls(by_case)

    @classmethod
    def read(cls, paths: Iterable[Path]) -> LabelsOfPeople:
        """Return the labels of some files. Raises UsageError, SuiteError."""
        return cls.of(placed for path in paths for placed in read_nouns(path, PeopleLabels))

    def on(self, requirement: Requirement, said: DialogueKey) -> PersonMark | None:
        """Return the last label of a requirement that fits a dialogue, or None."""
        about = self.by_case.get(said.case, {}).get(requirement.id, ())
        noun = next((placed.noun for placed in reversed(about) if not changed(placed.noun, requirement, said)), None)
        if noun is None:
            return None
        return PersonMark(noun.labels[requirement.id], noun.by or "person", noun.why.get(requirement.id, ""))


def changed(noun: PeopleLabels, requirement: Requirement, said: DialogueKey) -> str:
    """Return what keeps the label of a requirement from counting for a dialogue; empty where it counts."""
    if not fits(noun.labels[requirement.id], requirement):
        return "the requirement has no such level"
    if noun.wording.get(requirement.id, "") not in ("", wording_digest(requirement)):
        return "the requirement's words have changed"
    if noun.reply != said.reply:
        return "the reply is another"
    return "" if noun.evidence == said.evidence else "the calls or their results are others"


@dataclass(frozen=True)
class PeopleFirst:
    """People first, then a judge.

    Attributes:
        decisions: the labels of people.
        fallback: who labels what no person has labelled.
    """

    decisions: LabelsOfPeople
    fallback: Judge

    @property
    def spec(self) -> str:
        """How the user named the judge."""
        return self.fallback.spec

    @property
    def linked(self) -> bool | None:
        """Whether the judge's verdicts are known to be about these trajectories; None: it judges them itself."""
        return self.fallback.linked

    def judge(self, case: Case, trajectory: Trajectory) -> Verdict:
        """Return a label for each requirement: a decision that fits, else the judge's. LabelsOfPeople that fit no more are named in a warning."""
        verdict = self.fallback.judge(case, trajectory)
        if case.id not in self.decisions.by_case or unjudgeable(case, trajectory, self.spec, BY) is not None:
            return verdict
        said = DialogueKey.of(trajectory)
        found = {label.requirement: label for label in verdict.labels}
        for requirement in case.truth.requirements:
            decision = self.decisions.on(requirement, said)
            if decision is not None:
                found[requirement.id] = _label(requirement, decision)
        labels = tuple(found.values())
        warnings = (*verdict.warnings, *self._unused(case, said, found))
        return verdict.model_copy(update={"labels": labels, "warnings": warnings, **_count(verdict, labels)})

    def _unused(self, case: Case, said: DialogueKey, labels: Mapping[str, Label]) -> Iterator[str]:
        """Give one warning for each reason why labels of people do not count; another one of a requirement that has one is no loss."""
        requirements = {requirement.id: requirement for requirement in case.truth.requirements}
        reasons: dict[str, list[str]] = {}
        for name, decisions in self.decisions.by_case[case.id].items():
            if name in labels and labels[name].by == BY:
                continue
            for placed in decisions:
                known = name in requirements
                why = changed(placed.noun, requirements[name], said) if known else "the case has no such requirement"
                # Without its folder: equal runs may keep their files in different places.
                reasons.setdefault(why, []).append(f"{name} ({Path(placed.path).name}:{placed.lines.line})")
        for why, named in reasons.items():
            more = f" and {len(named) - _SHOWN_AT_MOST} more" if len(named) > _SHOWN_AT_MOST else ""
            listed = f"{', '.join(named[:_SHOWN_AT_MOST])}{more}"
            yield f"labels of people that do not count, as {why}: {listed}"


def people_first(judge: Judge, decisions: LabelsOfPeople) -> Judge:
    """Return the judge behind labels of people; the judge itself where there are none."""
    return PeopleFirst(decisions, judge) if decisions.by_case else judge


def _label(requirement: Requirement, decision: PersonMark) -> Label:
    value = mark_value(decision.outcome)
    return Label(
        requirement=requirement.id,
        kind=requirement.kind,
        outcome="passed" if value > 0 else "failed",
        value=value,
        why=f"labelled by {decision.by}" + (f": {decision.why}" if decision.why else ""),
        wanted=requirement.text,
        by=BY,
    )


def _count(verdict: Verdict, labels: Sequence[Label]) -> dict[str, None]:
    """Return the change that drops a count of what is asked once each of them has a value of its own."""
    known = all(label.value is not None for label in labels if label.kind == "asked")
    return {"explicit_count": None} if verdict.explicit_count is not None and known else {}
