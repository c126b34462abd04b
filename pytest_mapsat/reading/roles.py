"""Which thing a figure or a time of day belongs to, and what it is one of: price or total, way or wait, arrival or closing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, cast, get_args

from pytest_mapsat.model import FigureRole, TimeRole

from .clock import Spoken
from .document import Cell, Stance, is_han
from .figures import ReadFigure
from .pack import Cue, words_in
from .page import Clause, Scan
from .sides import Name

_FAR = 40
_LABEL = 60
_BACK = 600
#: What leaves open whether a thing is proposed.
_OPEN = ("described", "unclear")


class Subjects:
    """Finds the things to which figures of a reply belong, and the words around figures.

    Args:
        scan: the reply.
        names: the names in it with their stances, ascending.
    """

    def __init__(self, scan: Scan, names: Sequence[Name]) -> None:
        self.scan = scan
        self.names = names
        self.starts = [name.hit.start for name in names]
        self.by_block: dict[int, list[Name]] = {}
        for name in names:
            self.by_block.setdefault(name.block, []).append(name)
        firm = {name.key for name in names if name.stance == "affirmed" and name.key}
        self.only = (firm.pop(),) if len(firm) == 1 else ()
        self._headers: dict[str, list[Cue]] = {}
        self._named_rows = sorted(block for block in self.by_block if scan.blocks[block].kind == "row")

    def subject(self, start: int, end: int, place: int, *, travel: bool) -> tuple[str, ...]:
        """Return the keys of the things to which a figure may belong: one if it is certain, empty if no thing is named."""
        clause = self.scan.clauses[place]
        names = self.names_between(self.scan.sentences[clause.sentence].start, start)
        if names and clause.has("respectively"):
            return tuple(dict.fromkeys(key for name in names for key in name.hit.keys))
        return self._nearest(start, end, place, travel=travel)

    def _nearest(self, start: int, end: int, place: int, *, travel: bool) -> tuple[str, ...]:
        """Return the keys of the nearest named thing: in the row, the clause, the sentence, the earlier text, or a heading."""
        clause = self.scan.clauses[place]
        sentence = self.scan.sentences[clause.sentence]
        if self.scan.blocks[sentence.block].kind == "row":
            return self._of_row(sentence.block, start)
        before = self.names_between(clause.start, start)
        after = self.names_between(end, clause.end)
        if after and self._leads_to(end, after[0], travel=travel):
            return after[0].hit.keys
        spoken_of = [name for name in before if name.sign != "landmark" and not self._than(name)]
        if spoken_of:
            return spoken_of[-1].hit.keys
        later = [name for name in after if name.sign != "landmark"] if not before else []
        adjacent = bool(later) and not any(map(str.isalnum, self.scan.text[end : later[0].hit.start]))
        if adjacent or (later and not self.names_between(sentence.start, clause.start)):
            return later[0].hit.keys
        return self._earlier(clause, sentence.block, sentence.start) if not before or travel else ()

    def _than(self, name: Name) -> bool:
        """Return whether "than" decided the stance of a name."""
        return name.why is not None and any("than" in cue.tags for cue in self.scan.cues_between(*name.why))

    def _leads_to(self, end: int, name: Name, *, travel: bool) -> bool:
        """Return whether a figure belongs to the following name: "12 min to X", "40 yuan for X"."""
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

    def names_between(self, start: int, end: int) -> list[Name]:
        """Return the names that begin between two places."""
        return list(self.names[bisect_left(self.starts, start) : bisect_left(self.starts, end)])

    def _of_row(self, block: int, start: int) -> tuple[str, ...]:
        """Return the keys of the thing to which a figure in a table row belongs; empty if unknown."""
        names = self.by_block.get(block, [])
        cell = self.scan.cell_at(start)
        if cell is not None and (own := self._inside(cell, names)):
            return own[-1].hit.keys if own[-1].hit.start < start else own[0].hit.keys
        usable = [name for name in names if name.sign != "landmark"]
        if usable:
            return usable[0].hit.keys
        of_column = self._of_column(block, cell.column) if cell else ()
        return of_column or (() if self._table_names(block) else self.over(block))

    def _of_column(self, block: int, column: int) -> tuple[str, ...]:
        """Return the keys of the only thing in the column head of a table cell; empty if there is no single thing."""
        head = block - self.scan.blocks[block].level
        for cell in self.scan.blocks[head].cells if head in self.by_block and column else ():
            if cell.column == column:
                keys = [name.hit.keys for name in self._inside(cell, self.by_block[head])]
                return keys[0] if len(set(keys)) == 1 else ()
        return ()

    def _inside(self, cell: Cell, names: Sequence[Name]) -> list[Name]:
        """Return the names within a table cell."""
        low, high = self.scan.folded.at(cell.span.start), self.scan.folded.at(cell.span.end)
        return [name for name in names if low <= name.hit.start < high]

    def _table_names(self, block: int) -> bool:
        """Return whether another row of the same table names a thing, so that a row without a name has no subject."""
        at = bisect_left(self._named_rows, block - self.scan.blocks[block].level)
        return at < len(self._named_rows) and self._named_rows[at] < block + _FAR

    def _earlier(self, clause: Clause, block: int, start: int) -> tuple[str, ...]:
        """Return the keys of the topic of the sentence, the item, the earlier text or the heading."""
        low = max(self.scan.bounds[block][0], start - _BACK)
        for first, last in ((start, clause.start), (low, start)):
            names = [
                name for name in self.names_between(first, last) if name.sign != "landmark" and not self._than(name)
            ]
            if names and first == start:
                return () if self._another(names[-1].hit.end, clause) else names[-1].hit.keys
            if names:
                goes_on = clause.cues and clause.cues[0].has("it") and names[-1].sentence == clause.sentence - 1
                return (
                    names[-1].hit.keys
                    if goes_on and self._one([name for name in names if name.sentence == names[-1].sentence])
                    else self._last_sentence(names)
                )
        return self.over(block)

    def _another(self, start: int, clause: Clause) -> bool:
        """Return whether an unnamed other thing follows the last name: "there's another one from six"."""
        return any(cue.has("introduces") for cue in self.scan.cues_between(start, clause.end))

    def _one(self, mentions: Iterable[Name]) -> bool:
        """Return whether all names refer to the same thing."""
        return len({name.hit.keys for name in mentions}) == 1

    def _last_sentence(self, names: Sequence[Name]) -> tuple[str, ...]:
        """Return the keys of the affirmed things in the last sentence with names, otherwise the only recommended or the open things."""
        last = [name for name in names if name.sentence == names[-1].sentence]
        keys = dict.fromkeys(key for name in last if name.stance == "affirmed" for key in name.hit.keys)
        open_ = dict.fromkeys(key for name in last if name.stance in _OPEN for key in name.hit.keys)
        return tuple(keys) or self.only or tuple(open_)

    def over(self, block: int) -> tuple[str, ...]:
        """Return the keys of the thing in the parent item or heading of a block, or of the only recommended thing; may be empty."""
        level = self.scan.blocks[block].level
        place = block - 1
        if self.scan.blocks[block].kind == "item":
            while place > max(self.scan.blocks[block].heading, block - _FAR) and self.scan.blocks[place].kind == "item":
                if self.scan.blocks[place].level < level and place in self.by_block:
                    return self.by_block[place][0].hit.keys
                place -= 1
        heading = self.scan.blocks[block].heading
        while heading >= 0:
            names = [name for name in self.by_block.get(heading, ()) if name.sign != "landmark"]
            if names:
                return names[-1].hit.keys if self._one(names) else ()
            heading = self.scan.blocks[heading].heading
        return self.only

    def around(self, place: int, start: int) -> list[Cue]:
        """Return the words that may give a figure its role: in its clause, in a preceding label, or in its row."""
        clause = self.scan.clauses[place]
        cues = list(clause.cues)
        sentence = self.scan.sentences[clause.sentence]
        block = self.scan.blocks[sentence.block]
        if block.kind == "row":
            names = self.by_block.get(sentence.block)
            return cues if names else self.scan.cues_between(sentence.start, sentence.end)
        before = place
        while (
            before > sentence.first
            and self.scan.clauses[before].opens in (":", "(", "-")
            and clause.start - self.scan.clauses[before - 1].start < _LABEL
        ):
            before -= 1
            cues = [*self.scan.clauses[before].cues, *cues]
        return [cue for cue in cues if not cue.start <= start < cue.end]

    def _block_at(self, position: int) -> int:
        """Return the index of the block at a folded position."""
        return self.scan.sentences[self.scan.clauses[self.scan.clause_at(position)].sentence].block

    def head_cues(self, position: int) -> list[Cue]:
        """Return the words in the column head and at the start of the row of a table cell; empty outside tables."""
        number = self._block_at(position)
        block = self.scan.blocks[number]
        cell = self.scan.cell_at(position)
        if cell is None:
            return []
        if cell.header not in self._headers:
            self._headers[cell.header] = list(self.scan.pack.find(cell.header))
        first = block.cells[0]
        label: list[Cue] = []
        if cell.column and not self._inside(first, self.by_block.get(number, ())):
            label = self.scan.cues_between(*map(self.scan.folded.at, first.span))
        return [*self._headers[cell.header], *label]

    def stance(self, start: int, place: int) -> Stance:
        """Return the stance of a figure's statement: affirmed, denied, asked or unclear."""
        clause = self.scan.clauses[place]
        sentence = self.scan.sentences[clause.sentence]
        if sentence.asks:
            cues = self.scan.cues_between(sentence.start, sentence.end)
            # The mark at the end may ask its last clause only: "20 yuan at least, would you like something else?"
            leads = "," in self.scan.text[start : sentence.end]
            return "unclear" if leads or any(cue.has("suggest") for cue in cues) else "asked"
        for cue in reversed([cue for cue in clause.cues if cue.end <= start]):
            if self.scan.text[cue.end : start].strip():
                break
            if cue.has("not", "instead"):
                return "denied"
            if not cue.has("about", "under", "over"):
                break
            start = cue.start
        return "unclear" if "if" in clause.links else "affirmed"


ROLES_OF_UNIT: Mapping[str, frozenset[str]] = {
    unit: frozenset(roles) for unit, roles in words_in("roles.yaml")["roles"].items()
}
#: What a figure may be besides where a word right beside it says so: how far two are apart.
_APART: dict[str, frozenset[str]] = {"m": frozenset({"slack"})}
_MONEY = ROLES_OF_UNIT["yuan"]
_BARE_MONEY = frozenset({"per_head", "total", "former_price", "budget"})
_ROLES = frozenset(get_args(FigureRole))
_TRAVEL = {"min": "travel_time", "m": "travel_distance"}
_DEFAULT: Mapping[str, str] = words_in("roles.yaml")["default"]
#: Ways of travelling whose words name a vehicle: a time beside one may be that until it comes.
_VEHICLES = ("taxi", "transit")
_TALL = 10
_NEAR = 3
_LOOK_BACK = 12
_DAY = 24 * 60


class FigureRoleKnown(NamedTuple):
    """The known parts of a figure: its unit, role and way of travelling, and whether words state the role."""

    unit: str
    role: FigureRole | None
    mode: str = ""
    cued: bool = True


class Roles:
    """Finds the roles of figures.

    Args:
        scan: the reply.
        subjects: its things, and what stands around a figure.
    """

    def __init__(self, scan: Scan, subjects: Subjects) -> None:
        self.scan = scan
        self.subjects = subjects

    def of_figure(self, figure: ReadFigure) -> FigureRoleKnown:
        """Return the unit, role and way of travelling of a figure."""
        place = self.scan.clause_at(figure.start)
        clause = self.scan.clauses[place]
        cues = self.subjects.around(place, figure.start)
        allowed = ROLES_OF_UNIT.get(figure.unit, frozenset())
        role = self._right_beside(figure) or self._role(figure, cues, clause, allowed)
        mode = self._mode(figure, place)
        cued = role is not None or figure.unit not in _TRAVEL
        if not cued:
            role = self._travel(figure, place, mode, cues)
        unit = figure.unit
        if unit == "count" and (role in _BARE_MONEY or role == "price") and self._is_sum(figure, role):
            unit = "yuan"
        elif unit == "count" and role in _MONEY:
            role = None
        cued = cued and role is not None
        if role is None:
            role = "count" if unit.startswith("count:") else _DEFAULT.get(unit)
            role = "total" if role == "price" and self._for_several(figure, clause) else role
        low = role == "travel_distance" and figure.value < _TALL
        if role not in _ROLES or low or (figure.unit == "min" and figure.value == _DAY):
            role = None
        return FigureRoleKnown(unit, cast("FigureRole | None", role), mode if role in _TRAVEL.values() else "", cued)

    def said_of(self, start: int, end: int) -> frozenset[str]:
        """Return the roles that the nearest word, or a table head, gives a number of any unit; empty if there are none."""
        place = self.scan.clause_at(start)
        clause = self.scan.clauses[place]
        words: list[tuple[int, frozenset[str]]] = []
        for cue in self.subjects.around(place, start):
            before, behind = cue.end <= start, cue.start >= end
            gap = self.scan.text[cue.end : start] if before else self.scan.text[end : cue.start]
            adjacent = cue.tags.get("role_ahead" if before else "role_behind", ()) if not gap.strip() else ()
            if (before or behind) and (roles := _roles_of(cue).union(adjacent)):
                words.append((self._distance(cue, start, end, clause), roles))
        if not words:
            return frozenset().union(*map(_roles_of, self.subjects.head_cues(start)))
        nearest, roles = min(words, key=itemgetter(0))
        return roles if nearest < _FAR else frozenset()

    def _right_beside(self, figure: ReadFigure) -> str | None:
        """Return the role from a word directly before or after a figure ("three minutes quicker", 少等一分钟); otherwise None."""
        allowed = ROLES_OF_UNIT.get(figure.unit, frozenset()) | _APART.get(figure.unit, frozenset())
        following = self.scan.cues_between(figure.end, figure.end + _FAR)
        if following and not self.scan.text[figure.end : following[0].start].strip(" *-"):
            role = following[0].role(allowed, "role_behind")
            if role:
                return role
        end = figure.start
        for cue in reversed(self.scan.cues_between(max(figure.start - _FAR, 0), figure.start)):
            if self.scan.text[cue.end : end].strip(" *"):
                return None
            if not cue.has("about", "under", "over", "one", "unit_name"):
                return cue.role(allowed, "role_ahead") or None
            end = cue.start
        return None

    def _is_sum(self, figure: ReadFigure, role: str) -> bool:
        """Return whether a number without a unit is money: it counts nothing, and follows a word for its price."""
        following = self.scan.cues_between(figure.end, figure.end + _FAR)
        if following and following[0].start == figure.end and following[0].has("classifier"):
            return False
        before = self.scan.cues_between(max(figure.start - _FAR, 0), figure.start)
        return role != "price" or (
            bool(before)
            and not self.scan.text[before[-1].end : figure.start].strip()
            and bool(before[-1].role(("price",)))
            and not self.scan.text[before[-1].start].isascii()
            and not self.scan.text[figure.end : figure.end + 1].isalpha()
        )

    def _role(self, figure: ReadFigure, cues: Sequence[Cue], clause: Clause, allowed: frozenset[str]) -> str | None:
        """Return the role that the nearest suitable word or a table head gives a figure; None if there is none or it is too far away."""
        candidates: list[tuple[int, str]] = []
        for cue in cues:
            if cue.start < figure.end and cue.end > figure.start:
                continue
            role = cue.role(allowed)
            if role:
                candidates.append((self._distance(cue, figure.start, figure.end, clause), role))
            elif figure.unit in _TRAVEL and self._moves(cue, figure) and cue.tags.get("mode") not in _VEHICLES:
                candidates.append((self._distance(cue, figure.start, figure.end, clause), _TRAVEL[figure.unit]))
        if not candidates:
            return self._from_head(figure, allowed)
        candidates.sort(key=lambda pair: (pair[0], pair[1] == "price"))
        nearest, role = candidates[0]
        if role in ("price", "fee") and figure.unit == "yuan" and self._for_several(figure, clause):
            return "total"
        if figure.unit == "count" and nearest > _NEAR:
            return None
        return role

    def _moves(self, cue: Cue, figure: ReadFigure) -> bool:
        """Return whether a word states a way of travelling; some words do so only right before a figure (走十分钟, not 走大路)."""
        if "mode" in cue.tags:
            return True
        return (
            "mode_before_figure" in cue.tags
            and cue.end <= figure.start
            and all(other.has("about", "under", "over") for other in self.scan.cues_between(cue.end, figure.start))
            and figure.start - cue.end < _NEAR * 2
        )

    def _distance(self, cue: Cue, start: int, end: int, clause: Clause) -> int:
        """Return the distance of a word from a figure, increased by figures and marks between them."""
        gap = self.scan.text[cue.end : start] if cue.end <= start else self.scan.text[end : cue.start]
        far = len(gap.strip(" *"))
        if any(char.isdigit() for char in gap):
            far += _FAR
        if any(mark in gap for mark in ",、") or not clause.start <= cue.start < clause.end:
            far += _NEAR
        return far

    def _from_head(self, figure: ReadFigure, allowed: frozenset[str]) -> str | None:
        """Return the role from the head of the figure's column or row in a table; None if there is none."""
        roles: list[str] = []
        for cue in self.subjects.head_cues(figure.start):
            role = cue.role(allowed)
            if role and (role != "price" or not roles):
                roles.insert(0 if role != "price" else len(roles), role)
            if "mode" in cue.tags and figure.unit in _TRAVEL:
                return _TRAVEL[figure.unit]
        return roles[0] if roles else None

    def _for_several(self, figure: ReadFigure, clause: Clause) -> bool:
        """Return whether a price is for several people together: "for six", "三个人就要"."""
        for cue in clause.cues:
            if (
                "unit" in cue.tags
                and cue.tags["unit"][0] == "people"
                and cue.end <= figure.start
                and not any("per_head" in other.tags.get("role", ()) for other in clause.cues)
            ):
                return True
        return False

    def _mode(self, figure: ReadFigure, place: int) -> str:
        """Return the nearest way of travelling in the clause, otherwise the last one before it in the sentence; may be empty."""
        cues = self.scan.clauses[place].cues
        near = [cue for cue in cues if self._moves(cue, figure) and not self._lacking(cue)]
        if near:
            tags = min(near, key=lambda cue: min(abs(cue.start - figure.end), abs(figure.start - cue.end))).tags
            return str(tags.get("mode") or tags["mode_before_figure"])
        sentence = self.scan.sentences[self.scan.clauses[place].sentence]
        for before in range(place - 1, max(sentence.first, place - 4) - 1, -1):
            for cue in reversed(self.scan.clauses[before].cues):
                if "mode" in cue.tags:
                    return str(cue.tags["mode"])
        return ""

    def _lacking(self, cue: Cue) -> bool:
        """Return whether the user lacks this way of travelling: "a long way without the car"."""
        before = self.scan.cues_between(max(cue.start - _LOOK_BACK, 0), cue.start)
        return any(
            earlier.has("lack") and not self.scan.text[earlier.end : cue.start].strip(" theayour") for earlier in before
        )

    def _travel(self, figure: ReadFigure, place: int, mode: str, cues: Sequence[Cue]) -> str | None:
        """Return the travel role of a duration or length that no word explains; None if it may have another meaning."""
        if any(not ROLES_OF_UNIT[figure.unit].isdisjoint(cue.tags.get("role", ())) for cue in cues):
            return None
        if figure.unit == "m":
            sentence = self.scan.sentences[self.scan.clauses[place].sentence]
            high = any(
                cue.role(("headroom", "size")) or cue.has("too")
                for cue in self.scan.cues_between(sentence.start, sentence.end)
            )
            return None if figure.value < _TALL and high else "travel_distance" if figure.value >= _TALL else None
        toward = any(
            (cue.has("toward", "from") or cue.tags.get("time_role") == "arrival") and cue.start >= figure.end
            for cue in cues
        )
        return "travel_time" if mode or toward else None


def _roles_of(cue: Cue) -> frozenset[str]:
    """Return the roles that a word gives the surrounding figures and times; empty for "at"."""
    if cue.has("at"):
        return frozenset()
    of_time = [cue.tags["time_role"]] if "time_role" in cue.tags else []
    return frozenset((*cue.tags.get("role", ()), *of_time, *(_TRAVEL.values() if "mode" in cue.tags else ())))


_TIME_ROLES = frozenset(get_args(TimeRole))
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
        """Return the role of a time of day, from the nearest word, its range or the table head; None if unknown."""
        pair = self.times[spoken.mate] if spoken.mate >= 0 else None
        return cast("TimeRole | None", self._of_range(spoken, pair) if pair else self._of_one(spoken))

    def _of_one(self, spoken: Spoken) -> str | None:
        """Return the role of a single time; None if unknown."""
        role = self._nearest_time_role(spoken.start, spoken.end) or self._from_before(spoken)
        if role is not None or spoken.approx != "at_most":
            return role
        before = self.scan.cues_between(max(spoken.start - _LOOK_BACK, 0), spoken.start)
        return "stop" if before and before[-1].has("until") else None

    def _of_range(self, spoken: Spoken, pair: Spoken) -> str | None:
        """Return the role of one end of a range: opening or closing, arrival or stop; None if neither fits."""
        start, end = min(spoken.start, pair.start), max(spoken.end, pair.end)
        role = self._nearest_time_role(start, end)
        long = abs(spoken.hour - pair.hour) * 60 > _VISIT
        if long or role in ("opening", "closing"):
            return "opening" if spoken.first else "closing"
        if role in (None, "arrival", "stop", "departure"):
            return "arrival" if spoken.first else "stop"
        return None

    def _from_before(self, spoken: Spoken) -> str | None:
        """Return the role that the previous clause gives a time alone in its own clause ("12 minutes to X, so about ten past three"); otherwise None."""
        place = self.scan.clause_at(spoken.start)
        clause = self.scan.clauses[place]
        if place <= self.scan.sentences[clause.sentence].first or self.subjects.names_between(clause.start, clause.end):
            return None
        roles = [cue.tags["time_role"] for cue in self.scan.clauses[place - 1].cues if "time_role" in cue.tags]
        return roles[-1] if roles and roles[-1] in ("arrival", "departure") else None

    def _nearest_time_role(self, start: int, end: int) -> str | None:
        """Return the role that the nearest word or the table row gives a time; None if unknown."""
        place = self.scan.clause_at(start)
        clause = self.scan.clauses[place]
        candidates: list[tuple[int, bool, str]] = []
        for cue in self.subjects.around(place, start):
            role = cue.tags.get("time_role")
            if not role or (cue.start < end and cue.end > start):
                continue
            gap = self.scan.text[cue.end : start] if cue.end <= start else self.scan.text[end : cue.start]
            if "range" in cue.tags and cue.end <= start and not gap:
                role = "stop"
            far = (
                len(gap.strip())
                + (_NEAR if cue.start < clause.start else 0)
                + (_FAR if any(char.isdigit() for char in gap) else 0)
            )
            # 出发17:11能到: of two words right beside a time, a Chinese arrival behind it is its own.
            other = not (cue.start == end and role == "arrival" and is_han(self.scan.text[cue.start]))
            candidates.append((far, other, str(role)))
        if not candidates:
            return self._time_role_of_row(start, clause)
        candidates.sort(key=lambda candidate: candidate[:2])
        nearest, _, role = candidates[0]
        if role == "deadline" and not nearest and self._arrives_by(end, clause):
            return "arrival"
        if "last_service" in {other for far, _, other in candidates if far < _FAR}:
            role = "last_service"
        return role if role in _TIME_ROLES else None

    def _arrives_by(self, end: int, clause: Clause) -> bool:
        """Return whether the words after a time make it the latest arrival: 16:40前能回到家."""
        cues = self.scan.cues_between(end, clause.end)
        bounded = bool(cues) and cues[0].start == end and cues[0].has("clock_under")
        following = [cue.tags["time_role"] for cue in cues[1:] if "time_role" in cue.tags]
        return bounded and following[:1] == ["arrival"]

    def _time_role_of_row(self, start: int, clause: Clause) -> str | None:
        """Return the role of a time from its column head, otherwise from the words of its row or item; None if unknown."""
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
