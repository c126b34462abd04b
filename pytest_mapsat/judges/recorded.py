"""The judge that takes its labels from a file: a saved run, or verdicts in a form that an installed package reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pytest_mapsat.formats import layout_of, limits, printable, read_run, require_file
from pytest_mapsat.model import (
    BESIDES,
    Case,
    Label,
    Problem,
    Requirement,
    Scorecard,
    SuiteError,
    Trajectory,
    UsageError,
    Verdict,
    trajectory_digest,
)
from pytest_mapsat.registry import load_installed
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, installed

from .context import Context
from .extra_labels import besides
from .labels import all_unevaluated, is_level, label_of, unevaluated, unjudgeable

if TYPE_CHECKING:
    from .blocks import Decided
    from .judge import ChecksJudge

BY = "recorded"
#: The entry point group in which installed packages name their readers of recorded verdicts: each entry is a form and a ``VerdictReader``.
GROUP = "pytest_mapsat.verdicts"
#: The trial under which a verdict stands that does not know of trials.
_ANY_TRIAL = 0


class RecordedVerdict(Protocol):
    """What a file of others says of a case."""

    @property
    def trajectory(self) -> str:
        """The digest of the dialogue that was judged; empty where the file does not say."""

    def labelled(self, case: Case, base: Verdict) -> Verdict:
        """Return ``base``, which has the case, the trial, the judge and warnings, with the labels of the case's requirements."""


#: Reads a file, named so in messages, and returns its verdicts by case id. Raises SuiteError where it cannot read it.
VerdictReader = Callable[[Path, str], Mapping[str, RecordedVerdict]]
Entry = RecordedVerdict | Scorecard


@dataclass(frozen=True)
class RecordedJudge:
    """Labels from a file.

    A verdict that carries the digest of its trajectory counts for that trajectory only. One without joins by
    case id, and says so.

    Attributes:
        spec: how the user named this judge.
        entries: what the file holds, by case id and trial.
        linked: whether every verdict of the file is tied to its trajectory.
        checks: who labels what the file says nothing of and families of metrics ask for besides.
    """

    spec: str
    entries: dict[tuple[str, int], Entry]
    linked: bool | None
    checks: ChecksJudge | None = None

    @classmethod
    def open(cls, path: Path, spec: str, name: str, checks: ChecksJudge | None = None) -> RecordedJudge:
        """Read the file and check all of it.

        Args:
            path: the file.
            spec: how the user named this judge.
            name: the path as the user typed it.
            checks: who labels what families of metrics ask for besides the requirements.

        Raises:
            UsageError: there is no such file.
            SuiteError: the file holds no usable verdicts, or two of one case; with the lines.
        """
        require_file(path, name)
        entries = _entries(path, printable(name))
        return cls(spec, entries, all(_digest(entry) for entry in entries.values()), checks)

    def context(self, case: Case, trajectory: Trajectory) -> Context:
        """Return the dialogue as the checks read it."""
        return Context.of(case, trajectory, {}) if self.checks is None else self.checks.context(case, trajectory)

    def judge(self, case: Case, trajectory: Trajectory, decided: Decided | None = None) -> Verdict:
        """Return the file's labels for the case's requirements; what neither the file nor a body in Python says is unevaluated."""
        verdict = self._recorded(case, trajectory)
        if decided is None or unjudgeable(case, trajectory, self.spec, BY) is not None:
            return verdict
        context = self.context(case, trajectory).decided_by(decided)
        by_id = {label.requirement: label for label in verdict.labels}
        by_id |= {each.id: label_of(each, context) for each in case.truth.by_kind if each.id in context.found}
        return verdict.model_copy(update={"labels": tuple(by_id.values())})

    def _recorded(self, case: Case, trajectory: Trajectory) -> Verdict:
        broken = unjudgeable(case, trajectory, self.spec, BY)
        if broken is not None:
            return broken
        base = Verdict(case=case.id, trial=trajectory.trial, judge=self.spec)
        entry = self.entries.get((case.id, trajectory.trial)) or self.entries.get((case.id, _ANY_TRIAL))
        if entry is None:
            return _refused(case, base, f"the file has no verdict on case {case.id}, trial {trajectory.trial}")
        digest = _digest(entry)
        if digest and digest != trajectory_digest(trajectory):
            return _refused(
                case, base, "the recorded verdict is about another dialogue of this case (the digests differ)"
            )
        joined = (
            () if digest else ("the recorded verdict is joined by case id: it does not say which dialogue was judged",)
        )
        base = base.model_copy(update={"trajectory": digest, "warnings": joined})
        if isinstance(entry, Scorecard):
            return self._with_besides(_saved_verdict(case, entry, base), case, trajectory, entry.labels)
        return self._with_besides(entry.labelled(case, base), case, trajectory, ())

    def _with_besides(self, verdict: Verdict, case: Case, trajectory: Trajectory, saved: Sequence[Label]) -> Verdict:
        """Return the verdict with what is asked for besides: as the file has it, else by rules."""
        if self.checks is None or not self.checks.besides:
            return verdict
        kinds = self.checks.besides
        by_id = {label.requirement: label for _, label in besides(case, self.checks.context(case, trajectory), kinds)}
        by_id |= {label.requirement: label for label in saved if label.kind in kinds}
        return verdict.model_copy(update={"labels": (*verdict.labels, *by_id.values())})


def _refused(case: Case, base: Verdict, why: str) -> Verdict:
    return base.model_copy(update={"labels": all_unevaluated(case, why, "judge", BY)})


def _digest(entry: Entry) -> str:
    return trajectory_digest(entry.trajectory) if isinstance(entry, Scorecard) else entry.trajectory


def _entries(path: Path, name: str) -> dict[tuple[str, int], Entry]:
    if layout_of(path, name) == "run":
        return {(card.id, card.trial): card for card in read_run(path, name).cases}
    problems: list[Problem] = []
    for point in installed(GROUP):
        try:
            read: VerdictReader = load_installed(point)
            return {(case, _ANY_TRIAL): verdict for case, verdict in call_user_code(read, path, name).items()}
        except UserCodeError as broken:
            if not isinstance(broken.error, SuiteError):
                raise UsageError(f"{GROUP}: {point.value} broke: {describe_error(broken.error)}") from broken.error
            problems += broken.error.problems
    raise SuiteError(*problems[: limits.PROBLEMS] or [Problem(name, 0, "no installed package reads such verdicts")])


def _saved_verdict(case: Case, saved: Scorecard, base: Verdict) -> Verdict:
    """Return ``base`` with the labels that the run gives the case's requirements."""
    by_id = {label.requirement: label for label in saved.labels}
    labels = tuple(_label(requirement, by_id.pop(requirement.id, None)) for requirement in case.truth.by_kind)
    stray = sorted(name for name, label in by_id.items() if label.kind not in BESIDES)
    left = (f"the saved run labels {', '.join(stray)}, which the case does not have",) if stray else ()
    warnings = (*base.warnings, *left)
    return base.model_copy(update={"labels": labels, "explicit_count": saved.explicit_count, "warnings": warnings})


def _label(requirement: Requirement, label: Label | None) -> Label:
    if label is None:
        return unevaluated(requirement, "the saved run does not judge this requirement", by=BY)
    if label.kind != requirement.kind:
        why = f"the saved run judges it as {label.kind}, the case has it as {requirement.kind}"
        return unevaluated(requirement, why, by=BY)
    if label.value is not None and not is_level(requirement, label.value):
        why = f"the saved run gives {label.value:g}, which is no level of this requirement"
        return unevaluated(requirement, why, by=BY)
    return label
