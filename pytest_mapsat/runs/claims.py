"""The claims of saved dialogues, each with its verdict and the evidence that was held against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_mapsat.agents.recorded import open_recorded
from pytest_mapsat.judges import Context, Judged
from pytest_mapsat.model import JsonObject, Trajectory, UsageError, did_you_mean
from pytest_mapsat.suite import Suite

from .regrade import places_in


@dataclass(frozen=True)
class ClaimOfRun:
    """A claim, and the dialogue it stands in."""

    trajectory: Trajectory
    judged: Judged

    def to_json(self) -> JsonObject:
        """Return it as plain data: turn and span index ``Trajectory.turns`` and their text."""
        claim = self.judged.claim
        return {
            "case": self.trajectory.case,
            "trial": self.trajectory.trial,
            "turn": claim.document.turn,
            "start": claim.span.start,
            "end": claim.span.end,
            "text": claim.text,
            "type": claim.type,
            "subject": list(claim.subject),
            "verdict": self.judged.verdict,
            "evidence": list(self.judged.evidence),
        }

    def __str__(self) -> str:
        claim, judged = self.judged.claim, self.judged
        name = self.trajectory.case + (f", trial {self.trajectory.trial}" if self.trajectory.trial > 1 else "")
        of = f" of {' or '.join(claim.subject)}" if claim.subject and claim.type != "name" else ""
        against = f": {', '.join(judged.evidence)}" if judged.evidence else ""
        place = f"{name}, turn {claim.document.turn}, chars {claim.span.start}-{claim.span.end}"
        return f"{judged.verdict:<12} {place}: {claim.text!r} ({claim.sort}{of}): {judged.why}{against}"


def claims_of_run(run: Path, suites: Sequence[Suite], case: str | None = None) -> Iterator[ClaimOfRun]:
    """Yield the claims of a file of dialogues, in its order.

    Args:
        run: a run file, or recorded dialogues in a layout that ``recorded:`` reads.
        suites: where the cases stand.
        case: the one case that is wanted; None for all.

    Raises:
        UsageError: the file, or the suite, does not have the case.
        SuiteError: the file cannot be read.
    """
    source = open_recorded(str(run), root=Path.cwd())
    places = places_in(suites)
    wanted = [key for key in source.recordings if case in (None, key[0])]
    if not wanted:
        known = sorted({name for name, _ in source.recordings})
        raise UsageError(f"{run} has no dialogue of the case {case!r}" + _hint(case or "", known))
    for name, trial in wanted:
        if name not in places:
            raise UsageError(f"the suite has no case {name!r}, which {run} has" + _hint(name, places))
        suite, entry = places[name]
        found = suite.load(entry)
        trajectory = source.trajectory(found, trial)
        for judged in Context.of(found, trajectory, suite.tools, vocabulary=suite.vocabulary).claims:
            yield ClaimOfRun(trajectory, judged)


def _hint(name: str, known: Iterable[str]) -> str:
    hint = did_you_mean(name, known)
    return f" ({hint})" if hint else ""
