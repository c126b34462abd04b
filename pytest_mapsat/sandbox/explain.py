"""What a report says of an answer or a miss: which record is nearest, and in what it differs."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mapsat.model import Difference

from .compare import Finding, findings
from .cutting import fresh
from .entries import Candidate, Entry
from .spec import Call, Spec
from .text import text_similarity

_NOTES = {
    "wider": "recorded for more than was asked, and cut to it",
    "more": "recorded for more than was asked, and cut to it",
    "worded": "the same request in other words",
}


def difference(finding: Finding, asked: Call, recorded: Call, *, answered: bool = True) -> Difference:
    """Return a finding in the form of the trajectory, with both values as they were written."""
    parameter = finding.parameter
    score = _score(finding, asked, recorded)
    return Difference(
        parameter=parameter.name,
        asked=fresh(parameter.written(asked.arguments)),
        recorded=fresh(parameter.written(recorded.arguments)),
        score=None if score is None else round(score, 4),
        distance_m=None if finding.distance is None else round(finding.distance, 1),
        note=_NOTES.get(finding.kind, "") if answered else "",
    )


def nearest_of(spec: Spec, call: Call, entries: Sequence[Entry]) -> Candidate:
    """Return the record with the fewest obstacles; among equals the most alike in words, then on the ground."""
    candidates = [Candidate(entry, tuple(findings(spec, call, entry.call))) for entry in entries]
    fewest = min(map(_obstacles, candidates))
    tied = [candidate for candidate in candidates if _obstacles(candidate) == fewest]
    return min(tied, key=lambda candidate: (*_remoteness(candidate, call), candidate.entry.key))


def _obstacles(candidate: Candidate) -> tuple[int, int]:
    return sum(finding.kind == "blocked" for finding in candidate.found), len(candidate.found)


def _remoteness(candidate: Candidate, call: Call) -> tuple[float, float]:
    recorded = candidate.entry.call
    unlike = sum(1 - (_score(finding, call, recorded) or 0) for finding in candidate.found)
    return round(unlike, 6), round(sum(finding.distance or 0 for finding in candidate.found), 1)


def _score(finding: Finding, asked: Call, recorded: Call) -> float | None:
    """Return how alike the texts of a parameter are, or None where it has no text on one side."""
    parameter = finding.parameter
    if finding.score is not None or parameter.lexicon is None:
        return finding.score
    wanted, found = parameter.written(asked.arguments), parameter.written(recorded.arguments)
    return text_similarity(str(wanted), str(found)) if wanted and found else None
