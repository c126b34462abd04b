"""What a figure or a time of day is one of, and which thing it belongs to: by the nearest words and by the place in sentence, list and table."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from .clock import Spoken
from .document import Role, Stance, TimeRole
from .figures import Figure
from .named import Name
from .pack import Cue
from .scan import Clause, Scan

_OF_UNIT: dict[str, frozenset[str]] = {
    "min": frozenset({"travel_time", "wait", "slack", "stay", "frequency"}),
    "m": frozenset({"travel_distance", "headroom", "size"}),
    "yuan": frozenset({"price", "total", "per_head", "fee", "former_price", "saving", "budget"}),
    "star": frozenset({"rating"}),
    "people": frozenset({"capacity"}),
    "year": frozenset({"age"}),
    "celsius": frozenset({"temperature"}),
    "count": frozenset({"capacity", "rating", "price", "total", "per_head", "former_price", "budget", "age"}),
}
_MONEY = _OF_UNIT["yuan"]
_BARE_MONEY = frozenset({"per_head", "total", "former_price", "budget"})
_ROLES = frozenset(get_args(Role))
_TIME_ROLES = frozenset(get_args(TimeRole))
_TRAVEL = {"min": "travel_time", "m": "travel_distance"}
_DEFAULT = {"yuan": "price", "star": "rating", "people": "count", "year": "age", "celsius": "temperature"}
_TALL = 10
_NEAR = 3
_FAR = 40
_LABEL = 60
_PAIR = 2
_BACK = 600
_LONG = 180
_VISIT = 5 * 60
_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a figure or a time: its role, its thing, the way of travelling, the stance of its statement."""

    role: str | None
    subject: tuple[str, ...]
    mode: str = ""
    stance: Stance = "affirmed"
    unit: str = ""


class Roles:
    """Finds roles and subjects in one reply."""

    def __init__(self, scan: Scan, names: Sequence[Name]) -> None:
        self.scan = scan
        self.names = names
        self.starts = [name.hit.start for name in names]
        self.by_block: dict[int, list[Name]] = {}
        for name in names:
            self.by_block.setdefault(name.block, []).append(name)
        firm = {name.key for name in names if name.stance == "affirmed" and name.key}
        self.only = (firm.pop(),) if len(firm) == 1 else ()
        self.clocks: list[int] = []
        self._headers: dict[str, list[Cue]] = {}

    # Figures

    def of_figure(self, figure: Figure) -> Told:
        """Return what a figure is one of and what it belongs to."""
        place = self.scan.clause_at(figure.start)
        clause = self.scan.clauses[place]
        cues = self._around(place, figure.start)
        allowed = _OF_UNIT.get(figure.unit, frozenset())
        role = self._role(figure, cues, clause, allowed)
        mode = self._mode(figure, place)
        if role is None and figure.unit in _TRAVEL:
            role = self._travel(figure, place, mode, cues)
        unit = figure.unit
        if unit == "count" and role in _BARE_MONEY:
            unit = "yuan"
        elif unit == "count" and role in _MONEY:
            role = None
        if role is None:
            role = "count" if unit.startswith("count:") else _DEFAULT.get(unit)
            role = "total" if role == "price" and self._for_several(figure, clause) else role
        if role == "size" or role not in _ROLES or (figure.unit == "min" and figure.value == _DAY):
            role = None
        travel = role in ("travel_time", "travel_distance")
        subject = () if role in ("budget", "total") else self.subject(figure.start, figure.end, place, travel=travel)
        return Told(role, subject, mode if travel else "", self._stance(figure.start, place), unit)

    def _around(self, place: int, start: int) -> list[Cue]:
        """Return the words that may say what a figure is: of its clause, of the label before it, of the head of its column and row."""
        clause = self.scan.clauses[place]
        cues = list(clause.cues)
        sentence = self.scan.sentences[clause.sentence]
        block = self.scan.blocks[sentence.block]
        if block.kind == "row":
            named = self.by_block.get(sentence.block)
            return cues if named else self.scan.cues_between(sentence.start, sentence.end)
        before = place
        while (
            before > sentence.first
            and self.scan.clauses[before].opens in (":", "(", "-")
            and clause.start - self.scan.clauses[before - 1].start < _LABEL
        ):
            before -= 1
            cues = [*self.scan.clauses[before].cues, *cues]
        return [cue for cue in cues if not cue.start <= start < cue.end]

    def _role(self, figure: Figure, cues: Sequence[Cue], clause: Clause, allowed: frozenset[str]) -> str | None:
        """Return the role that the nearest fitting word gives; nothing where two are about as near."""
        found: list[tuple[int, str]] = []
        for cue in cues:
            role = cue.tags.get("role")
            if role in allowed and (cue.end <= figure.start or cue.start >= figure.end):
                found.append((self._distance(cue, figure, clause), role))
            elif (
                self._moves(cue, figure)
                and figure.unit in _TRAVEL
                and (cue.end <= figure.start or cue.start >= figure.end)
            ):
                found.append((self._distance(cue, figure, clause), _TRAVEL[figure.unit]))
        if not found:
            return self._from_head(figure, allowed)
        found.sort(key=lambda pair: (pair[0], pair[1] == "price"))
        nearest, role = found[0]
        if role in ("price", "fee") and figure.unit == "yuan" and self._for_several(figure, clause):
            return "total"
        rivals = {other for distance, other in found if distance <= nearest + 1 and other != role}
        if rivals and nearest > _NEAR and not {role, *rivals} <= {"travel_time", "travel_distance"}:
            return None
        if figure.unit == "count" and nearest > _NEAR:
            return None
        return role

    def _moves(self, cue: Cue, figure: Figure) -> bool:
        """Return whether a word says how one travels; some do so only right before a figure (走十分钟, but 走大路)."""
        if "mode" in cue.tags:
            return True
        return (
            "mode_before_figure" in cue.tags
            and cue.end <= figure.start
            and all(other.has("about", "under", "over") for other in self.scan.cues_between(cue.end, figure.start))
            and figure.start - cue.end < _NEAR * 2
        )

    def _distance(self, cue: Cue, figure: Figure, clause: Clause) -> int:
        """Return how far a word stands from a figure; other figures and marks between them make it farther."""
        gap = (
            self.scan.text[cue.end : figure.start]
            if cue.end <= figure.start
            else self.scan.text[figure.end : cue.start]
        )
        far = len(gap.strip(" *"))
        if any(char.isdigit() for char in gap):
            far += _FAR
        if any(mark in gap for mark in ",、") or not clause.start <= cue.start < clause.end:
            far += _NEAR
        return far

    def _from_head(self, figure: Figure, allowed: frozenset[str]) -> str | None:
        """Return the role that the head of the column, or of the row, gives a figure in a table."""
        found: list[str] = []
        for cue in self._head_cues(figure.start):
            role = cue.tags.get("role")
            if role in allowed and (role != "price" or not found):
                found.insert(0, str(role)) if role != "price" else found.append(str(role))
            if "mode" in cue.tags and figure.unit in _TRAVEL:
                return _TRAVEL[figure.unit]
        return found[0] if found else None

    def _for_several(self, figure: Figure, clause: Clause) -> bool:
        """Return whether a price is that of several people: "for six", "三个人就要"."""
        before = self.scan.text[clause.start : figure.start]
        after = self.scan.text[figure.end : clause.end]
        for cue in clause.cues:
            if (
                "unit" in cue.tags
                and cue.tags["unit"][0] == "people"
                and cue.end <= figure.start
                and not before.strip().startswith("每")
            ):
                return True
            if (
                "for_people" in cue.tags
                and cue.start >= figure.end
                and any(word in after for word in self.scan.pack.several)
            ):
                return True
        return False

    def _head_cues(self, position: int) -> list[Cue]:
        """Return the words over the column and at the head of the row of a table cell."""
        sentence = self.scan.sentences[self.scan.clauses[self.scan.clause_at(position)].sentence]
        block = self.scan.blocks[sentence.block]
        if block.kind != "row":
            return []
        origin = self.scan.folded.origin(position)
        cell = next((cell for cell in block.cells[:_FAR] if cell.span.start <= origin < cell.span.end), None)
        if cell is None:
            return []
        if cell.header not in self._headers:
            self._headers[cell.header] = list(self.scan.pack.find(cell.header))
        first = block.cells[0].span
        low, high = self.scan.folded.at(first.start), self.scan.folded.at(first.end)
        named = any(low <= name.hit.start < high for name in self.by_block.get(sentence.block, ()))
        label = [] if named or cell.column == 0 else self.scan.cues_between(low, high)
        return [*self._headers[cell.header], *label]

    def _mode(self, figure: Figure, place: int) -> str:
        """Return the way of travelling that stands nearest in the clause, or else last before it in the sentence."""
        near = [cue for cue in self.scan.clauses[place].cues if self._moves(cue, figure)]
        if near:
            tags = min(near, key=lambda cue: min(abs(cue.start - figure.end), abs(figure.start - cue.end))).tags
            return str(tags.get("mode") or tags["mode_before_figure"])
        head = next((cue for cue in self._head_cues(figure.start) if "mode" in cue.tags), None)
        if head:
            return str(head.tags["mode"])
        sentence = self.scan.sentences[self.scan.clauses[place].sentence]
        for before in range(place - 1, max(sentence.first, place - 4) - 1, -1):
            for cue in reversed(self.scan.clauses[before].cues):
                if "mode" in cue.tags:
                    return str(cue.tags["mode"])
        return ""

    def _travel(self, figure: Figure, place: int, mode: str, cues: Sequence[Cue]) -> str | None:
        """Return whether a length of time or way without a word of its own is that of a way."""
        if any(cue.tags.get("role") in _OF_UNIT[figure.unit] for cue in cues):
            return None
        if figure.unit == "m":
            sentence = self.scan.sentences[self.scan.clauses[place].sentence]
            high = any(
                cue.tags.get("role") in ("headroom", "size") or cue.has("too")
                for cue in self.scan.cues_between(sentence.start, sentence.end)
            )
            return None if figure.value < _TALL and high else "travel_distance" if figure.value >= _TALL else None
        toward = any(
            (cue.has("toward", "from") or cue.tags.get("time_role") == "arrival") and cue.start >= figure.end
            for cue in cues
        )
        return "travel_time" if mode or toward or self._alone(figure, place) else None

    def _alone(self, figure: Figure, place: int) -> bool:
        """Return whether a length of time is all that its clause says, in a sentence that speaks of no other: "Mill Rise, no toll, 21 min"."""
        clause = self.scan.clauses[place]
        rest = self.scan.text[clause.start : figure.start] + self.scan.text[figure.end : clause.end]
        if figure.value >= _LONG:
            return False
        for cue in clause.cues:
            if cue.has("about", "under", "over", "about_after"):
                rest = rest.replace(self.scan.text[cue.start : cue.end], "", 1)
        sentence = self.scan.sentences[clause.sentence]
        others = any(
            cue.tags.get("role") in ("wait", "slack", "stay", "frequency")
            for cue in self.scan.cues_between(sentence.start, sentence.end)
        )
        return (
            not others
            and not any(map(str.isalpha, rest))
            and bool(self._names(sentence.start, sentence.end) or self._over(sentence.block))
        )

    def _stance(self, start: int, place: int) -> Stance:
        clause = self.scan.clauses[place]
        if self.scan.sentences[clause.sentence].asks:
            return "asked"
        before = [cue for cue in clause.cues if cue.end <= start and not self.scan.text[cue.end : start].strip()]
        if before and before[-1].has("not", "instead"):
            return "denied"
        return "unclear" if "if" in clause.links else "affirmed"

    # Subjects

    def subject(self, start: int, end: int, place: int, *, travel: bool) -> tuple[str, ...]:
        """Return the things that a figure may be said of: one where it is sure, none where nothing is named."""
        clause = self.scan.clauses[place]
        sentence = self.scan.sentences[clause.sentence]
        if self.scan.blocks[sentence.block].kind == "row":
            return self._of_row(sentence.block, start)
        before = self._names(clause.start, start)
        after = self._names(end, clause.end)
        if after and self._leads_to(end, after[0], travel=travel):
            return after[0].hit.keys
        if travel and self._homeward(clause, before[-1].hit.end if before else clause.start, end):
            return ()
        usable = [
            name
            for name in before
            if name.sign not in ("landmark", "compare") or (name.sign == "compare" and not self._than(name))
        ]
        if usable:
            return usable[-1].hit.keys
        if not before:
            usable = [name for name in after if name.sign != "landmark"]
            beside = bool(usable) and not any(map(str.isalnum, self.scan.text[end : usable[0].hit.start]))
            if usable and (beside or not self._names(sentence.start, clause.start)):
                return usable[0].hit.keys
        return self._earlier(clause, sentence.block, sentence.start, place) if not before or travel else ()

    def _homeward(self, clause: Clause, start: int, end: int) -> bool:
        """Return whether the way is one back, to no thing with a name."""
        return any("homeward" in cue.tags for cue in clause.cues if cue.start >= start or cue.start >= end)

    def _than(self, name: Name) -> bool:
        return name.why is not None and any("than" in cue.tags for cue in self.scan.cues_between(*name.why))

    def _leads_to(self, end: int, name: Name, *, travel: bool) -> bool:
        """Return whether a figure is that of the name behind it: "12 min to X", "40 yuan for X"."""
        gap = self.scan.text[end : name.hit.start]
        if len(gap) > _FAR or any(char.isdigit() for char in gap):
            return False
        cues = self.scan.cues_between(end, name.hit.start)
        if name.sign == "landmark" or any(cue.has("and", "from", "than") for cue in cues):
            return False
        return any(
            cue.has("toward") or (travel and (cue.has("choose") or cue.tags.get("time_role") == "arrival"))
            for cue in cues
        )

    def _names(self, start: int, end: int) -> list[Name]:
        return list(self.names[bisect_left(self.starts, start) : bisect_left(self.starts, end)])

    def _of_row(self, block: int, start: int) -> tuple[str, ...]:
        row = self.scan.blocks[block]
        named = self.by_block.get(block, [])
        origin = self.scan.folded.origin(start)
        for cell in row.cells[:_FAR]:
            if cell.span.start <= origin < cell.span.end:
                low, high = self.scan.folded.at(cell.span.start), self.scan.folded.at(cell.span.end)
                own = [name for name in named if low <= name.hit.start < high]
                if own:
                    return own[-1].hit.keys if own[-1].hit.start < start else own[0].hit.keys
        usable = [name for name in named if name.sign != "landmark"]
        if usable:
            return usable[0].hit.keys
        return () if len(row.cells) > _PAIR else self._over(block)

    def _earlier(self, clause: Clause, block: int, start: int, place: int) -> tuple[str, ...]:
        """Return the thing that the sentence, the item, the text before or the heading speaks of."""
        low = max(self.scan.bounds[block][0], start - _BACK)
        for first, last in ((start, clause.start), (low, start)):
            named = [name for name in self._names(first, last) if name.sign != "landmark" and not self._than(name)]
            if named and first == start:
                return named[-1].hit.keys
            if named:
                goes_on = clause.cues and clause.cues[0].has("it") and named[-1].sentence == clause.sentence - 1
                return (
                    named[-1].hit.keys
                    if goes_on and self._one([name for name in named if name.sentence == named[-1].sentence])
                    else self._last_sentence(named)
                )
        return self._over(block)

    def _one(self, named: Iterable[Name]) -> bool:
        return len({name.hit.keys for name in named}) == 1

    def _last_sentence(self, named: Sequence[Name]) -> tuple[str, ...]:
        """Return what the last sentence with names speaks of; all of them where it names several."""
        last = [name for name in named if name.sentence == named[-1].sentence]
        keys = dict.fromkeys(key for name in last if name.stance == "affirmed" for key in name.hit.keys)
        return tuple(keys) or self.only

    def _over(self, block: int) -> tuple[str, ...]:
        """Return the thing of the item that a nested one belongs to, or of the heading; or the only one that is proposed."""
        level = self.scan.blocks[block].level
        place = block - 1
        if self.scan.blocks[block].kind == "item":
            while place > self.scan.blocks[block].heading and self.scan.blocks[place].kind == "item":
                if self.scan.blocks[place].level < level and place in self.by_block:
                    return self.by_block[place][0].hit.keys
                place -= 1
                if block - place > _FAR:
                    break
            if place >= 0 and self.scan.blocks[place].kind == "paragraph" and place in self.by_block:
                return self._last_sentence(self.by_block[place])
        heading = self.scan.blocks[block].heading
        while heading >= 0:
            named = [name for name in self.by_block.get(heading, ()) if name.sign != "landmark"]
            if named:
                return named[-1].hit.keys if self._one(named) else ()
            heading = self.scan.blocks[heading].heading
        return self.only

    # Times of day

    def of_times(self, times: Sequence[Spoken]) -> list[Told]:
        """Return what each time of day is and what it belongs to."""
        self.clocks = [spoken.start for spoken in times]
        return [self._of_time(times, place) for place in range(len(times))]

    def _of_time(self, times: Sequence[Spoken], index: int) -> Told:
        spoken = times[index]
        place = self.scan.clause_at(spoken.start)
        role = self.time_role(spoken, times)
        subject = self.subject(spoken.start, spoken.end, place, travel=role in ("arrival", None))
        if role in ("now", "deadline"):
            subject = ()
        return Told(role, subject, stance=self._stance(spoken.start, place))

    def time_role(self, spoken: Spoken, times: Sequence[Spoken]) -> str | None:
        """Return the role of a time of day: from the nearest word, of a range from both ends, in a table from the head of the column."""
        pair = times[spoken.mate] if spoken.mate >= 0 else None
        if pair is None:
            role = self._nearest_time_role(spoken.start, spoken.end) or self._from_before(spoken)
            if role is None and spoken.approx == "at_most":
                return (
                    "stop"
                    if self.scan.text[max(spoken.start - _LABEL, 0) : spoken.start].rstrip().endswith(("until", "till"))
                    else "deadline"
                )
            return role
        start, end = min(spoken.start, pair.start), max(spoken.end, pair.end)
        role = self._nearest_time_role(start, end)
        if role in ("opening", "closing"):
            return "opening" if spoken.first else "closing"
        if (max(spoken.hour, pair.hour) - min(spoken.hour, pair.hour)) * 60 > _VISIT:
            return "opening" if spoken.first else "closing"
        if role in (None, "arrival", "stop", "departure") and self._planned(start):
            return "arrival" if spoken.first else "stop"
        return None

    def _from_before(self, spoken: Spoken) -> str | None:
        """Return the role that the clause before gives a time that stands alone in its own: "12 minutes to X, so about ten past three"."""
        place = self.scan.clause_at(spoken.start)
        clause = self.scan.clauses[place]
        if place <= self.scan.sentences[clause.sentence].first or self._names(clause.start, clause.end):
            return None
        roles = [cue.tags["time_role"] for cue in self.scan.clauses[place - 1].cues if "time_role" in cue.tags]
        return roles[-1] if roles and roles[-1] in ("arrival", "departure") else None

    def _planned(self, start: int) -> bool:
        """Return whether a range of times is that of a visit: something is named in the same row, item or clause."""
        clause = self.scan.clauses[self.scan.clause_at(start)]
        sentence = self.scan.sentences[clause.sentence]
        if self.scan.blocks[sentence.block].kind in ("row", "item", "heading"):
            return sentence.block in self.by_block
        return bool(self._names(sentence.start, sentence.end))

    def _nearest_time_role(self, start: int, end: int) -> str | None:
        place = self.scan.clause_at(start)
        clause = self.scan.clauses[place]
        found: list[tuple[int, str]] = []
        for cue in [*self._around(place, start)]:
            role = cue.tags.get("time_role")
            if not role or (cue.start < end and cue.end > start):
                continue
            gap = self.scan.text[cue.end : start] if cue.end <= start else self.scan.text[end : cue.start]
            if cue.start >= end and self._before_a_time(cue):
                continue
            if "range" in cue.tags and cue.end <= start and not gap:
                role = "closing" if self._speaks_of_hours(clause.sentence) else "stop"
            far = (
                len(gap.strip())
                + (_NEAR if cue.start < clause.start else 0)
                + (_FAR if any(char.isdigit() for char in gap) else 0)
            )
            found.append((far, str(role)))
        if not found:
            return self._time_role_of_row(start, clause) or self._beside(start, end, clause)
        found.sort(key=lambda pair: pair[0])
        role = found[0][1]
        if "last_service" in {other for far, other in found if far < _FAR}:
            role = "last_service"
        return role if role in _TIME_ROLES else None

    def _before_a_time(self, cue: Cue) -> bool:
        """Return whether another time follows right behind a word, which then belongs to that one: "by four and stay until five"."""
        place = bisect_left(self.clocks, cue.end)
        return place < len(self.clocks) and self.clocks[place] - cue.end <= 1 and self.scan.text[cue.start].isascii()

    def _beside(self, start: int, end: int, clause: Clause) -> str | None:
        """Return "arrival" where a name stands right beside a time and nothing else is said: "16:25 Amber Hall"."""
        for name in self._names(clause.start, clause.end):
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
        for cue in self._head_cues(start):
            role = cue.tags.get("time_role")
            if role in _TIME_ROLES:
                return str(role)
        sentence = self.scan.sentences[clause.sentence]
        if self.scan.blocks[sentence.block].kind not in ("row", "item"):
            return None
        following = bisect_right(self.scan.starts, start)
        for other in self.scan.clauses[following : min(following + 1, sentence.last)]:
            cue = other.first("time_role", "toward")
            if cue and cue.tags.get("time_role") in _TIME_ROLES:
                return str(cue.tags["time_role"])
            if self._names(other.start, other.end):
                return "arrival"
        return "arrival" if self._names(clause.start, clause.end) else None
