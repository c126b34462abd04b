"""The judge that takes its labels from a file: a saved run, verdicts one a line, or the published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ValidationError

from pytest_mapsat.model import Case, Problem, SuiteError, Trajectory, Verdict, shown, trajectory_digest

from .labels import all_unevaluated, unjudgeable
from .published import BY, PublishedVerdict, published_verdict
from .saved import SavedCase, saved_verdict
from .verdict_files import Row, VerdictFile, read_verdict_file

_MOST_PROBLEMS = 20
#: The trial under which a verdict stands that does not know of trials.
_ANY_TRIAL = 0

Entry = PublishedVerdict | SavedCase


@dataclass(frozen=True)
class RecordedJudge:
    """Labels from a file.

    A verdict that carries the digest of its trajectory counts for that trajectory only. One without joins by
    case id, and says so.

    Attributes:
        spec: how the user named this judge.
        entries: what the file holds, by case id and trial.
        linked: whether every verdict of the file is tied to its trajectory.
    """

    spec: str
    entries: dict[tuple[str, int], Entry]
    linked: bool | None

    @classmethod
    def open(cls, path: Path, spec: str, name: str) -> RecordedJudge:
        """Read the file and check all of it.

        Args:
            path: the file.
            spec: how the user named this judge.
            name: the path as the user typed it.

        Raises:
            UsageError: there is no such file.
            SuiteError: the file holds no usable verdicts, or two of one case; with the lines.
        """
        entries = _entries(read_verdict_file(path, name))
        return cls(spec, entries, all(_digest(entry) for entry in entries.values()))

    def judge(self, case: Case, trajectory: Trajectory) -> Verdict:
        """Return the file's labels for the case's factors; what the file does not say is unevaluated."""
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
        if isinstance(entry, SavedCase):
            return saved_verdict(case, entry, base)
        return published_verdict(case, entry, base)


def _refused(case: Case, base: Verdict, why: str) -> Verdict:
    return base.model_copy(update={"labels": all_unevaluated(case, why, "judge", BY)})


def _digest(entry: Entry) -> str:
    return trajectory_digest(entry.trajectory) if isinstance(entry, SavedCase) else entry.trajectory


def _entries(file: VerdictFile) -> dict[tuple[str, int], Entry]:
    """Check every row; gather what is wrong before it is told."""
    problems: list[Problem] = []
    entries: dict[tuple[str, int], Entry] = {}
    lines: dict[tuple[str, int], Row] = {}
    for number, row in enumerate(file.rows):
        try:
            entry = _parsed(file, row)
        except ValidationError as error:
            problems.append(_invalid(file, row, number, error))
            continue
        key = _key(entry)
        if key in lines:
            problems.append(_twice(file, row, lines[key], key))
        lines.setdefault(key, row)
        entries.setdefault(key, entry)
    if not file.rows:
        problems.append(Problem(file.shown, 0, "the file holds no verdict"))
    if problems:
        raise SuiteError(*_first(problems))
    return entries


def _parsed(file: VerdictFile, row: Row) -> Entry:
    kind: type[BaseModel] = SavedCase if file.run else PublishedVerdict
    entry = kind.model_validate(row.data)
    assert isinstance(entry, SavedCase | PublishedVerdict)  # noqa: S101  narrows the type
    return entry


def _key(entry: Entry) -> tuple[str, int]:
    return (entry.id, entry.trial) if isinstance(entry, SavedCase) else (entry.case_id, _ANY_TRIAL)


def _invalid(file: VerdictFile, row: Row, number: int, error: ValidationError) -> Problem:
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    where = f"cases.{number}.{place}" if file.run else place
    return Problem(file.shown, row.line, f"{where}: {first['msg']}, found {shown(first['input'])}")


def _twice(file: VerdictFile, row: Row, earlier: Row, key: tuple[str, int]) -> Problem:
    trial = f", trial {key[1]}" if key[1] != _ANY_TRIAL else ""
    before = f"lines {earlier.line} and {row.line}" if row.line else "the file"
    return Problem(file.shown, row.line, f"{before} hold two verdicts on case {key[0]}{trial}", "keep one of them")


def _first(problems: Sequence[Problem]) -> list[Problem]:
    kept = list(problems[:_MOST_PROBLEMS])
    if len(problems) > len(kept):
        kept[-1] = replace(kept[-1], hint=f"and {len(problems) - len(kept)} more problems")
    return kept
