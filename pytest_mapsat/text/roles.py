"""What a figure is one of: price or total, way or wait; by the nearest words that fit its unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast, get_args

from pytest_mapsat.model import FigureRole

from .figures import Figure
from .pack import Cue
from .scan import Clause, Scan
from .subjects import Subjects

_OF_UNIT: dict[str, frozenset[str]] = {
    "min": frozenset({"travel_time", "wait", "slack", "stay", "frequency"}),
    "m": frozenset({"travel_distance", "headroom", "size"}),
    "yuan": frozenset({"price", "total", "per_head", "fee", "former_price", "saving", "budget"}),
    "foreign": frozenset({"price", "total", "per_head", "fee", "former_price", "saving", "budget"}),
    "star": frozenset({"rating"}),
    "people": frozenset({"capacity"}),
    "year": frozenset({"age"}),
    "celsius": frozenset({"temperature"}),
    "count": frozenset({"capacity", "rating", "price", "total", "per_head", "former_price", "budget", "age"}),
}
#: What a figure may be besides where a word right beside it says so: how far two are apart.
_APART: dict[str, frozenset[str]] = {"m": frozenset({"slack"})}
_MONEY = _OF_UNIT["yuan"]
_BARE_MONEY = frozenset({"per_head", "total", "former_price", "budget"})
_ROLES = frozenset(get_args(FigureRole))
_TRAVEL = {"min": "travel_time", "m": "travel_distance"}
_DEFAULT = {
    "yuan": "price",
    "foreign": "price",
    "star": "rating",
    "people": "count",
    "year": "age",
    "celsius": "temperature",
}
#: Ways of travelling whose words name a vehicle: a time beside one may be that until it comes.
_VEHICLES = ("taxi", "transit")
_WAITS = frozenset({"wait", "slack", "stay", "frequency"})
_TALL = 10
_NEAR = 3
_LOOK_BACK = 12
_FAR = 40
_LONG = 180
_DAY = 24 * 60


class Told(NamedTuple):
    """What is known of a figure: its unit, its role, the way of travelling."""

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

    def of_all(self, figures: Sequence[Figure]) -> list[Told]:
        """Return what each figure is one of."""
        return [self.of_figure(figure) for figure in figures]

    def of_figure(self, figure: Figure) -> Told:
        """Return what a figure is one of."""
        place = self.scan.clause_at(figure.start)
        clause = self.scan.clauses[place]
        cues = self.subjects.around(place, figure.start)
        allowed = _OF_UNIT.get(figure.unit, frozenset())
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
        return Told(unit, cast("FigureRole | None", role), mode if role in _TRAVEL.values() else "", cued)

    def _right_beside(self, figure: Figure) -> str | None:
        """Return the role that a word right before or behind a figure gives it: "three minutes quicker", 少等一分钟."""
        allowed = _OF_UNIT.get(figure.unit, frozenset()) | _APART.get(figure.unit, frozenset())
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

    def _is_sum(self, figure: Figure, role: str) -> bool:
        """Return whether a number without a unit is one of money: nothing that it counts follows, and before it stands its price."""
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

    def _role(self, figure: Figure, cues: Sequence[Cue], clause: Clause, allowed: frozenset[str]) -> str | None:
        """Return the role that the nearest fitting word gives; nothing where two are about as near."""
        found: list[tuple[int, str]] = []
        for cue in cues:
            if cue.start < figure.end and cue.end > figure.start:
                continue
            role = cue.role(allowed)
            if role:
                found.append((self._distance(cue, figure, clause), role))
            elif figure.unit in _TRAVEL and self._moves(cue, figure) and cue.tags.get("mode") not in _VEHICLES:
                found.append((self._distance(cue, figure, clause), _TRAVEL[figure.unit]))
        if not found:
            return self._from_head(figure, allowed)
        found.sort(key=lambda pair: (pair[0], pair[1] == "price"))
        nearest, role = found[0]
        if role in ("price", "fee") and figure.unit == "yuan" and self._for_several(figure, clause):
            return "total"
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
        for cue in self.subjects.head_cues(figure.start):
            role = cue.role(allowed)
            if role and (role != "price" or not found):
                found.insert(0 if role != "price" else len(found), role)
            if "mode" in cue.tags and figure.unit in _TRAVEL:
                return _TRAVEL[figure.unit]
        return found[0] if found else None

    def _for_several(self, figure: Figure, clause: Clause) -> bool:
        """Return whether a price is that of several people: "for six", "三个人就要"."""
        for cue in clause.cues:
            if (
                "unit" in cue.tags
                and cue.tags["unit"][0] == "people"
                and cue.end <= figure.start
                and not any("per_head" in other.tags.get("role", ()) for other in clause.cues)
            ):
                return True
        return False

    def _mode(self, figure: Figure, place: int) -> str:
        """Return the way of travelling that stands nearest in the clause, or else last before it in the sentence."""
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
        """Return whether a way of travelling is one that the user has not: "a long way without the car"."""
        before = self.scan.cues_between(max(cue.start - _LOOK_BACK, 0), cue.start)
        return any(one.has("lack") and not self.scan.text[one.end : cue.start].strip(" theayour") for one in before)

    def _travel(self, figure: Figure, place: int, mode: str, cues: Sequence[Cue]) -> str | None:
        """Return whether a length of time or way without a word of its own is that of a way."""
        if any(not _OF_UNIT[figure.unit].isdisjoint(cue.tags.get("role", ())) for cue in cues):
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
