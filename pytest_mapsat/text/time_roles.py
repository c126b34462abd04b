"""What a time of day is one of: departure or arrival, opening or closing; by the nearest word, its range, its place in a plan."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import cast, get_args

from pytest_mapsat.model import TimeRole

from .clock import Spoken
from .fold import is_han
from .scan import Clause, Scan
from .subjects import Subjects

_TIME_ROLES = frozenset(get_args(TimeRole))
_NEAR = 3
_FAR = 40
_LOOK_BACK = 12
_VISIT = 5 * 60


class TimeRoles:
    """Finds the roles of times of day.

    Args:
        scan: the reply.
        subjects: its things, and what stands around a time.
        times: its times of day, ascending.
    """

    def __init__(self, scan: Scan, subjects: Subjects, times: Sequence[Spoken]) -> None:
        self.scan = scan
        self.subjects = subjects
        self.times = times
        self.clocks = [spoken.start for spoken in times]

    def of(self, spoken: Spoken) -> TimeRole | None:
        """Return the role of a time of day: from the nearest word, of a range from both ends, in a table from the head of the column."""
        pair = self.times[spoken.mate] if spoken.mate >= 0 else None
        return cast("TimeRole | None", self._of_range(spoken, pair) if pair else self._of_one(spoken))

    def _of_one(self, spoken: Spoken) -> str | None:
        role = self._nearest_time_role(spoken.start, spoken.end) or self._from_before(spoken)
        if role is not None or spoken.approx != "at_most":
            return role
        before = self.scan.cues_between(max(spoken.start - _LOOK_BACK, 0), spoken.start)
        return "stop" if before and before[-1].has("until") else None

    def _of_range(self, spoken: Spoken, pair: Spoken) -> str | None:
        start, end = min(spoken.start, pair.start), max(spoken.end, pair.end)
        role = self._nearest_time_role(start, end)
        long = abs(spoken.hour - pair.hour) * 60 > _VISIT
        if long or role in ("opening", "closing"):
            return "opening" if spoken.first else "closing"
        if role in (None, "arrival", "stop", "departure"):
            return "arrival" if spoken.first else "stop"
        return None

    def _from_before(self, spoken: Spoken) -> str | None:
        """Return the role that the clause before gives a time that stands alone in its own: "12 minutes to X, so about ten past three"."""
        place = self.scan.clause_at(spoken.start)
        clause = self.scan.clauses[place]
        if place <= self.scan.sentences[clause.sentence].first or self.subjects.names_between(clause.start, clause.end):
            return None
        roles = [cue.tags["time_role"] for cue in self.scan.clauses[place - 1].cues if "time_role" in cue.tags]
        return roles[-1] if roles and roles[-1] in ("arrival", "departure") else None

    def _nearest_time_role(self, start: int, end: int) -> str | None:
        place = self.scan.clause_at(start)
        clause = self.scan.clauses[place]
        found: list[tuple[int, bool, str]] = []
        for cue in self.subjects.around(place, start):
            role = cue.tags.get("time_role")
            if not role or (cue.start < end and cue.end > start):
                continue
            gap = self.scan.text[cue.end : start] if cue.end <= start else self.scan.text[end : cue.start]
            if "range" in cue.tags and cue.end <= start and not gap:
                role = "closing" if self._speaks_of_hours(clause.sentence) else "stop"
            far = (
                len(gap.strip())
                + (_NEAR if cue.start < clause.start else 0)
                + (_FAR if any(char.isdigit() for char in gap) else 0)
            )
            # 出发17:11能到: of two words right beside a time, a Chinese arrival behind it is its own.
            other = not (cue.start == end and role == "arrival" and is_han(self.scan.text[cue.start]))
            found.append((far, other, str(role)))
        if not found:
            return self._time_role_of_row(start, clause) or self._beside(start, end, clause)
        found.sort(key=lambda one: one[:2])
        nearest, _, role = found[0]
        if role == "deadline" and not nearest and self._arrives_by(end, clause):
            return "arrival"
        if "last_service" in {other for far, _, other in found if far < _FAR}:
            role = "last_service"
        return role if role in _TIME_ROLES else None

    def _arrives_by(self, end: int, clause: Clause) -> bool:
        """Return whether a word that bounds a time bounds an arrival: 16:40前能回到家."""
        cues = self.scan.cues_between(end, clause.end)
        bounded = bool(cues) and cues[0].start == end and cues[0].has("clock_under")
        following = [cue.tags["time_role"] for cue in cues[1:] if "time_role" in cue.tags]
        return bounded and following[:1] == ["arrival"]

    def _beside(self, start: int, end: int, clause: Clause) -> str | None:
        """Return "arrival" where a name stands right beside a time and nothing else is said: "16:25 Amber Hall"."""
        for name in self.subjects.names_between(clause.start, clause.end):
            between = (
                self.scan.text[end : name.hit.start] if name.hit.start >= end else self.scan.text[name.hit.end : start]
            )
            if not any(map(str.isalnum, between)) and name.sign != "landmark":
                return "arrival"
        return None

    def _speaks_of_hours(self, number: int) -> bool:
        """Return whether a sentence says when something is open."""
        sentence = self.scan.sentences[number]
        return any(
            cue.tags.get("time_role") in ("opening", "closing")
            for cue in self.scan.cues_between(sentence.start, sentence.end)
        )

    def _time_role_of_row(self, start: int, clause: Clause) -> str | None:
        """Return the role of a time without a word in its cell: from the head of the column, or from what the row says next."""
        for head in self.subjects.head_cues(start):
            if head.tags.get("time_role") in _TIME_ROLES:
                return str(head.tags["time_role"])
        sentence = self.scan.sentences[clause.sentence]
        if self.scan.blocks[sentence.block].kind not in ("row", "item"):
            return None
        following = bisect_right(self.scan.starts, start)
        for other in self.scan.clauses[following : min(following + 1, sentence.last)]:
            if bisect_left(self.clocks, other.start) < bisect_left(self.clocks, other.end):
                break  # it speaks of a time of its own
            cue = other.first("time_role", "toward")
            if cue is not None and cue.tags.get("time_role") in _TIME_ROLES:
                return str(cue.tags["time_role"])
            if self.subjects.names_between(other.start, other.end):
                return "arrival"
        return "arrival" if self.subjects.names_between(clause.start, clause.end) else None
