"""The evidence: every value and name in the tool results, the visible context and the user's own words.

Nothing else enters it: not the truth of a case, not what the agent itself said or asked for.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pytest_mapsat.model import Json, Step, Trajectory, Visible
from pytest_mapsat.sandbox import distance_m

from .claims import ClaimType
from .forms import Mode, is_name_like, is_part, mode_of, squeeze, without_brackets
from .values import Value, quick_fold, values_of_number, values_of_text
from .vocabulary import SOFT

#: Keys under which the name of an object stands, the best first.
_NAME_KEYS = (
    "name",
    "poi_name",
    "poiName",
    "title",
    "display_name",
    "station",
    "stop",
    "line",
    "hotel",
    "shop",
    "product",
)
_PLACE_KEYS = (
    "pname", "province", "cityname", "city", "adname", "district", "street", "road", "address", "addr", "kind", "alias", "branch",
)  # fmt: skip
_POINTS = (("lon", "lat"), ("lng", "lat"), ("x", "y"), ("longitude", "latitude"))
_TARGET = re.compile(r"^(?:end|dest|to(?![a-z])|target|arriv|place|poi|stop)|_to$")
_ORIGIN = re.compile(r"^(?:start|origin|from(?![a-z])|depart)|_from$")
_LEG = (("from", "to"), ("origin", "destination"), ("start", "end"), ("start_point", "end_point"))
_POINT = re.compile(r"(-?[0-9]{1,3}\.[0-9]{1,10})[,;， ]{1,3}(-?[0-9]{1,3}\.[0-9]{1,10})")
_QUOTED = re.compile(r"[「『《\"“]([^「」『』《》\"“”]{2,60})[」』》\"”]")
_SAME_PLACE_M = 150.0
_MOST_NODES = 200_000
_LONGEST_FIELD = 160


@dataclass(frozen=True)
class Thing:
    """Something with a name that evidence belongs to.

    Attributes:
        names: its names, squeezed: in full, and without what stands in brackets.
        full: its names with where it lies, squeezed; short forms of it are looked up here.
        address: its address, folded.
        point: longitude and latitude, or None.
        turn: index of the turn it came with.
        asked: it is the end of a route that was asked for, not an object of a result.
    """

    names: tuple[str, ...]
    full: str
    address: str
    point: tuple[float, float] | None
    turn: int
    asked: bool = False


@dataclass
class Pool:
    """All evidence of one dialogue.

    Attributes:
        things: what has a name.
        values: the values by their type.
        points: all coordinates, with their turn and their thing.
        home: where the user is.
        asked: the numbers of the ways that were asked for, with the points they were asked by.
    """

    things: list[Thing] = field(default_factory=list)
    values: dict[ClaimType, list[Value]] = field(default_factory=dict)
    points: list[tuple[float, float, int, int | None]] = field(default_factory=list)
    home: tuple[float, float] | None = None
    asked: list[tuple[int, list[tuple[float, float]]]] = field(default_factory=list)
    _texts: list[tuple[int, str]] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    @cached_property
    def _corpus(self) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
        texts = sorted(self._texts, key=lambda pair: pair[0])
        ends: list[int] = []
        size = 0
        for _, text in texts:
            size += len(text) + 1
            ends.append(size)
        return "|".join([text for _, text in texts] + [""]), tuple(ends), tuple(turn for turn, _ in texts)

    def says(self, squeezed: str, turn: int) -> bool:
        """Return whether anything known in ``turn`` holds the squeezed text."""
        corpus, ends, turns = self._corpus
        known = bisect_right(turns, turn)
        return known > 0 and corpus.find(squeezed, 0, ends[known - 1]) >= 0

    def knows(self, name: str, turn: int) -> bool:
        """Return whether a squeezed name, or what it is a short form of, is known in ``turn``."""
        core = SOFT.sub("", name)
        if self.says(name, turn) or (core != name and is_name_like(core) and self.says(core, turn)):
            return True
        return any(known <= turn and name[:2] in text and is_part(name, text) for known, text in self._stretches)

    @cached_property
    def _stretches(self) -> tuple[tuple[int, str], ...]:
        """Short texts, each with its turn, in which a short form of a name may be recognised."""
        found = {(thing.turn, thing.full) for thing in self.things}
        found |= {(turn, text) for turn, text in self._texts if len(text) <= _LONGEST_FIELD}
        return tuple(sorted(found))

    def add_value(self, value: Value) -> None:
        """Take one value."""
        self.values.setdefault(value.type, []).append(value)

    def add_text(self, text: str, turn: int, key: str = "", thing: int | None = None, mode: Mode | None = None) -> None:
        """Take one string: its words, and the values in it."""
        squeezed = squeeze(text)
        if squeezed and squeezed not in self._seen:
            self._seen.add(squeezed)
            self._texts.append((turn, squeezed))
        match = _POINT.fullmatch(text.strip())
        if match:
            self.points.append((float(match[1]), float(match[2]), turn, thing))
            return
        for value in values_of_text(key, text, turn, thing, mode):
            self.add_value(value)

    def add_thing(self, thing: Thing) -> int:
        """Take one thing and return its number."""
        self.things.append(thing)
        return len(self.things) - 1


def gather(trajectory: Trajectory, visible: Visible | None) -> Pool:
    """Return the evidence of a dialogue.

    Args:
        trajectory: the dialogue: answered calls and the user's turns are read.
        visible: what the agent was shown of the case, or None where it is not known.
    """
    pool = Pool()
    if visible is not None:
        _context(pool, visible)
    for index, turn in enumerate(trajectory.turns):
        if turn.role == "user":
            _said(pool, turn.text, index)
        for step in turn.steps:
            if step.kind == "call" and step.status == "ok":
                _result(pool, step, index)
    _name_asked(pool)
    return pool


def _context(pool: Pool, visible: Visible) -> None:
    context = visible.context
    pool.add_text(context.now, 0, "now")
    pool.add_text(context.city, 0)
    if context.location is not None:
        pool.home = (context.location.lon, context.location.lat)
        pool.points.append((*pool.home, 0, None))
        pool.add_text(context.location.name, 0)
        pool.add_thing(_thing((context.location.name,), "", pool.home, 0))
    _said(pool, visible.query, 0)
    for line in context.history:
        _said(pool, line, 0)


def _said(pool: Pool, text: str, turn: int) -> None:
    """Take what a user said or did; a line of behaviour that quotes one thing is about that thing."""
    quoted = _QUOTED.findall(text)
    thing = pool.add_thing(_thing((quoted[0],), "", None, turn)) if len(quoted) == 1 else None
    pool.add_text(text, turn, "", thing)


def _thing(
    names: Sequence[str],
    where: str,
    point: tuple[float, float] | None,
    turn: int,
    *,
    asked: bool = False,
    address: str = "",
) -> Thing:
    forms = [form for name in names for form in (squeeze(name), squeeze(without_brackets(name)))]
    kept = tuple(dict.fromkeys(form for form in forms if is_name_like(form)))
    return Thing(kept, squeeze(where + " " + " ".join(names)), quick_fold(address), point, turn, asked)


def _result(pool: Pool, step: Step, turn: int) -> None:
    """Walk one result. What stands under no name belongs to the end of the route that was asked for."""
    mode = _asked_mode(step.arguments)
    stack: list[tuple[Json, str, int | None, Mode | None]] = [(step.result, "", _asked_thing(pool, step, turn), mode)]
    for _ in range(_MOST_NODES):
        if not stack:
            return
        value, key, thing, mode = stack.pop()
        if isinstance(value, dict):
            thing, mode = _of_object(pool, value, thing, mode, turn)
            stack += [(value[name], name, thing, mode) for name in reversed(value)]
        elif isinstance(value, list):
            stack += [(item, key, thing, mode) for item in reversed(value)]
        elif isinstance(value, str):
            pool.add_text(value, turn, key, thing, mode)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            for found in values_of_number(key, float(value), turn, thing, mode):
                pool.add_value(found)


def _of_object(
    pool: Pool, value: Mapping[str, Json], thing: int | None, mode: Mode | None, turn: int
) -> tuple[int | None, Mode | None]:
    """Return the thing and the mode that the values of an object belong to."""
    for key in ("mode", "travel_mode", "type"):
        said = value.get(key)
        mode = (mode_of(said) if isinstance(said, str) else None) or mode
    point = _point_of(value)
    names = [text for text in (value.get(key) for key in _NAME_KEYS) if isinstance(text, str) and squeeze(text)]
    if names:
        where = " ".join(
            text[:_LONGEST_FIELD] for text in (value.get(key) for key in _PLACE_KEYS) if isinstance(text, str)
        )
        address = next((text for text in (value.get("address"), value.get("addr")) if isinstance(text, str)), "")
        thing = pool.add_thing(_thing(names[:1], where, point, turn, address=address))
    elif ends := _ends_of(value):
        thing = pool.add_thing(_thing(ends, "", None, turn, asked=True))
    if point is not None:
        pool.points.append((*point, turn, thing))
    return thing, mode


def _ends_of(value: Mapping[str, Json]) -> list[str]:
    """Return the names of the ends of a leg of a way."""
    for one, other in _LEG:
        ends = [
            text for text in (value.get(one), value.get(other)) if isinstance(text, str) and is_name_like(squeeze(text))
        ]
        if ends and not any(_POINT.fullmatch(text) or ":" in text for text in ends):
            return ends
    return []


def _point_of(value: Mapping[str, Json]) -> tuple[float, float] | None:
    for lon, lat in _POINTS:
        x, y = _number(value.get(lon)), _number(value.get(lat))
        if x is not None and y is not None:
            return x, y
    location = value.get("location")
    match = _POINT.fullmatch(location) if isinstance(location, str) else None
    return (float(match[1]), float(match[2])) if match else None


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _asked_mode(arguments: Mapping[str, Json]) -> Mode | None:
    mode = arguments.get("mode")
    if isinstance(mode, list) and len(mode) == 1:
        mode = mode[0]
    return mode_of(mode) if isinstance(mode, str) else None


def _asked_thing(pool: Pool, step: Step, turn: int) -> int | None:
    """Return the way that a call asks for: it is about both its ends, by name or by point, but not about where the user is."""
    names: list[str] = []
    points: list[tuple[float, float]] = []
    for pattern in (_TARGET, _ORIGIN):
        given = {key: value for key, value in step.arguments.items() if pattern.search(key.casefold())}
        texts = [value for value in given.values() if isinstance(value, str) and not _POINT.fullmatch(value.strip())]
        names += [text for text in texts if _number(text) is None and is_name_like(squeeze(text))]
        points += [point for point in _target_points(given) if pool.home is None or not _same_place(point, pool.home)]
    if not names and not points:
        return None
    number = pool.add_thing(_thing(names, "", None, turn, asked=True))
    pool.asked.append((number, points))
    return number


def _name_asked(pool: Pool) -> None:
    """Give the ways that were asked for by points the names of the known things at those points."""
    placed = [(thing.point, thing.names) for thing in pool.things if thing.point is not None and not thing.asked]
    for number, points in pool.asked:
        names = [name for place, known in placed for point in points if _same_place(place, point) for name in known]
        way = pool.things[number]
        pool.things[number] = replace(way, names=tuple(dict.fromkeys((*way.names, *names))))


def _target_points(targets: Mapping[str, Json]) -> Iterator[tuple[float, float]]:
    for value in targets.values():
        match = _POINT.fullmatch(value.strip()) if isinstance(value, str) else None
        if match:
            yield float(match[1]), float(match[2])
    numbers = [number for value in targets.values() if (number := _number(value)) is not None]
    if len(numbers) == 2:  # noqa: PLR2004  a longitude and a latitude
        yield numbers[0], numbers[1]


def _same_place(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return abs(one[0] - other[0]) < 1 and abs(one[1] - other[1]) < 1 and distance_m(*one, *other) <= _SAME_PLACE_M
