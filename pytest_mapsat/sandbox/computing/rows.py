"""Answers that are rows of a table: filtered, sorted, cut to a page, with the fields that are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_mapsat.model import (
    Around,
    EqualTo,
    Json,
    JsonObject,
    Least,
    MetresFrom,
    Most,
    NextTimes,
    OfRoute,
    OnDay,
    OpenNow,
    OpenThen,
    OwnUser,
    ParameterMatch,
    Refers,
    RowsAnswer,
    Words,
    shown,
)
from pytest_mapsat.sandbox.canonical import Canoniser, Point, UnfitError, number
from pytest_mapsat.sandbox.cutting import fresh
from pytest_mapsat.sandbox.geo import distance_m
from pytest_mapsat.sandbox.spec import Call, Spec, UnanswerableError
from pytest_mapsat.sandbox.tables import Part
from pytest_mapsat.sandbox.times import moment, open_at

from .days import day_of
from .ground import Ground, Keep, place_of, point_index
from .search import Columns, texts

_DAY = 24 * 60
_LISTED = 5


class RouteFigures(Protocol):
    """What rows ask of routes: a figure and the metres of the quickest one."""

    def __call__(self, tool: str, origin: Json, destination: Json, mode: str) -> JsonObject | None:
        """Return the quickest route, or None where there is none."""
        ...


class RowsCall:
    """One call of a tool that answers with rows.

    Args:
        ground: the tables of the case.
        answer: how the tool is answered.
        spec: the tool's parameters.
        call: what was asked.
        routes: gives the figures of routes.

    Attributes:
        note: what of the call the result leaves out, once there is one.
    """

    def __init__(self, ground: Ground, answer: RowsAnswer, spec: Spec, call: Call, routes: RouteFigures) -> None:
        self._ground = ground
        self._answer = answer
        self._spec = spec
        self._call = call
        self._routes = routes
        self._view = ground.view(answer.table)
        self._echoed: dict[str, Json] = {}
        self.note = ""

    def result(self) -> Json:
        """Return the result. Raises UnanswerableError."""
        answer = self._answer
        found = self._sorted(self._found())
        if answer.items is None:
            return self._single(found)
        rows = [self._shown(part, at) for part, at in self._page(found)]
        result: JsonObject = {key: self._echo(name) for key, name in answer.echo.items()}
        if answer.count:
            result[answer.count] = len(rows)
        return {**result, answer.items: rows}

    def _single(self, found: Sequence[tuple[Part, int]]) -> Json:
        if found:
            return {key: self._echo(name) for key, name in self._answer.echo.items()} | self._shown(*found[0])
        if self._answer.otherwise is not None:
            return {key: self._echo(name) for key, name in self._answer.echo.items()} | fresh(self._answer.otherwise)
        asked = ", ".join(
            f"{name} {shown(self._given(name))}" for name in self._answer.where if self._given(name) is not None
        )
        raise UnanswerableError(f"nothing is known for {asked or 'this call'}")

    def _given(self, name: str) -> Json:
        return self._spec.given(self._call, name)

    def _echo(self, name: str) -> Json:
        return self._echoed.get(name, self._given(name))

    def _found(self) -> list[tuple[Part, int]]:
        """Return the rows that the call is about, those that fit its text best first."""
        keeps: list[Keep] = []
        wording: tuple[Words, str] | None = None
        for name, rule in self._answer.where.items():
            given = self._given(name)
            if given is None and isinstance(rule, EqualTo) and rule.context:
                given = getattr(self._ground.context, rule.context) or None
            if given is None:
                continue
            if isinstance(rule, Words):
                wording = rule, str(given)
            else:
                keeps.append(self._keep(name, rule, given))

        def keep(part: Part, at: int) -> bool:
            return all(one(part, at) for one in keeps)

        if wording is not None:
            rule, text = wording
            columns = Columns(rule.name, rule.sort, rule.also, rule.lon, rule.lat)
            hits = self._ground.find(self._view, columns, rule.words, text, keep)
            lacking = dict.fromkeys(word for _, hit in hits for word in hit.lacking)
            self.note = f"nothing that is served has: {', '.join(lacking)}" if lacking else ""
            return [(part, hit.row) for part, hit in hits]
        rows = [
            (part.order[at], part, at)
            for part in self._view.parts
            for at in range(len(part.table.rows))
            if at not in part.gone and keep(part, at)
        ]
        return [(part, at) for _, part, at in sorted(rows, key=lambda row: row[0])]

    def _keep(self, name: str, rule: Any, given: Json) -> Keep:
        """Return what one parameter leaves of the table."""
        if isinstance(rule, Around):
            return self._around(name, rule)
        if isinstance(rule, Refers):
            return self._refers(name, rule, given)
        if isinstance(rule, OnDay):
            return self._on_day(name, rule, given)
        if isinstance(rule, OwnUser):
            return self._own_user(name, rule, given)
        if isinstance(rule, (OpenThen, Least, Most)):
            return _open_then(name, rule, given) if isinstance(rule, OpenThen) else _bounded(name, rule, given)
        return self._equal(name, rule, given)

    def _on_day(self, name: str, rule: OnDay, given: Json) -> Keep:
        day = day_of(given, self._ground.now, rule.words)
        if day is None:
            raise UnanswerableError(f"{name} is {shown(given)}, expected a day: YYYY-MM-DD")
        return lambda part, at: part.table.rows[at].get(rule.column) == day

    def _own_user(self, name: str, rule: OwnUser, given: Json) -> Keep:
        if str(given) != self._ground.context.uid:
            raise UnanswerableError(f"{name} is {shown(given)}: there is no such user")
        return lambda part, at: str(part.table.rows[at].get(rule.column)) == str(given)

    def _equal(self, name: str, rule: EqualTo, given: Json) -> Keep:
        match = self._spec.rule(name)
        key = ("equal", rule.column, repr(match))

        def values(part: Part) -> Sequence[frozenset[Any]]:
            return part.table.index(key, lambda rows: [_canonical(row.get(rule.column), match) for row in rows])

        wanted = _canonical(given, match)
        if match.type == "place":
            wanted = _places_meant(
                wanted, {value for part in self._view.parts for held in values(part) for value in held}
            )
        return lambda part, at: not wanted.isdisjoint(values(part)[at])

    def _around(self, name: str, rule: Around) -> Keep:
        centre = self._centre(name, rule)
        radius = self._given(rule.within) if isinstance(rule.within, str) else rule.within
        metres = number(radius)
        if metres is None or metres < 0:
            raise UnanswerableError(f"{rule.within} is {shown(radius)}, expected metres")
        indexes = {id(part.table): point_index(part.table, rule.lon, rule.lat) for part in self._view.parts}
        if not any(True for index in indexes.values() for _ in index.within(centre, rule.beyond_m)):
            where = f"{centre[0]:g},{centre[1]:g}"
            raise UnanswerableError(f"{where} lies outside of what is known here: longitude first, in degrees")

        return lambda part, at: indexes[id(part.table)].holds(at, centre, metres)

    def _centre(self, name: str, rule: Around) -> Point:
        if self._spec.value(self._call, name) is None and rule.ends is not None:
            return place_of(self._ground, self._given(name), rule.ends, name)[1]
        return self._point(name)

    def _point(self, name: str) -> Point:
        found = self._spec.value(self._call, name)
        if not isinstance(found, tuple):
            raise UnanswerableError(f"{name} is {shown(found)}, expected a point")
        return found[0], found[1]

    def _refers(self, name: str, rule: Refers, given: Json) -> Keep:
        places = self._ground.places(given, rule.to)
        if rule.unknown == "error" and not any(place.id for place in places):
            raise self._ground.unknown(given, rule.to)
        ids = {place.id for place in places if place.id}
        if len(ids) > 1 and self._answer.items is None:
            listed = ", ".join(sorted(ids)[:_LISTED])
            raise UnanswerableError(f"{name} is {shown(given)}, which is the name of several: {listed}; give an id")
        if len(ids) == 1:
            self._echoed[name] = next(iter(ids))

        def keep(part: Part, at: int) -> bool:
            held = part.table.rows[at].get(rule.column)
            return held in ids if isinstance(held, str) else not ids.isdisjoint(texts(held))

        return keep

    def _sorted(self, found: list[tuple[Part, int]]) -> list[tuple[Part, int]]:
        for field in reversed(self._answer.sort):
            name = field.removeprefix("-")
            values = {one: self._value(*one, name) for one in found}
            known = [one for one in found if values[one] is not None]
            known.sort(key=lambda one: values[one], reverse=field.startswith("-"))
            found = known + [one for one in found if values[one] is None]
        return found

    def _page(self, found: list[tuple[Part, int]]) -> list[tuple[Part, int]]:
        page = self._answer.page
        size, place = self._whole(page.size, self._answer.limit), self._whole(page.number, 1)
        size = min(size, self._answer.limit)
        return found[(place - 1) * size : place * size]

    def _whole(self, name: str | None, otherwise: int) -> int:
        given = self._given(name) if name else None
        if given is None:
            return otherwise
        found = number(given)
        if found is None or found < 1 or not found.is_integer():
            raise UnanswerableError(f"{name} is {shown(given)}, expected a whole number from 1")
        return int(found)

    def _shown(self, part: Part, at: int) -> JsonObject:
        row = part.table.rows[at]
        names = self._answer.show or (*row, *(name for name in self._answer.compute if name not in row))
        values = {name: self._value(part, at, name) for name in names}
        return {name: fresh(value) for name, value in values.items() if value is not None or name in row}

    def _value(self, part: Part, at: int, name: str) -> Any:
        """Return a column's value, or a computed one; None where the row has none."""
        row = part.table.rows[at]
        rule = self._answer.compute.get(name)
        if rule is None:
            return row.get(name)
        if isinstance(rule, MetresFrom):
            lon, lat = number(row.get(rule.lon)), number(row.get(rule.lat))
            return None if lon is None or lat is None else round(distance_m(*self._point(rule.parameter), lon, lat))
        if isinstance(rule, OfRoute):
            return self._of_route(row, rule)
        minute = self._ground.minute
        if minute is None or rule.column not in row:
            return None
        if isinstance(rule, OpenNow):
            return open_at(str(row[rule.column]), f"{minute // 60:02}:{minute % 60:02}")
        return _next_times(row[rule.column], rule, minute)

    def _of_route(self, row: JsonObject, rule: OfRoute) -> Json:
        route = self._routes(rule.routes, self._given(rule.origin), self._given(rule.destination), rule.mode)
        if route is None:
            return None
        plus = number(row.get(rule.plus)) or 0 if rule.plus else 0
        if rule.per_km is None:
            return _tidy((number(route[rule.give]) or 0) + plus)
        return _tidy(round((number(row.get(rule.per_km)) or 0) * (number(route[rule.give]) or 0) / 1000 + plus))


def _tidy(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _canonical(value: Json, match: ParameterMatch) -> frozenset[Any]:
    """Return the values of a column in the form in which a parameter is compared; none where they are not of its type."""
    found = set()
    for one in value if isinstance(value, list) else (value,):
        try:
            form = Canoniser(match)(one)
        except UnfitError:
            continue
        found |= set(form) if match.type == "set" and form else {form}
    return frozenset(found - {None})


def _places_meant(wanted: frozenset[str], known: set[str]) -> frozenset[str]:
    """Return the known places that are meant: of these names, else those whose name is part of what is said ("Larkhaven harbour")."""
    if wanted & known:
        return wanted
    return frozenset(place for place in known if any(place in one for one in wanted)) or wanted


def _open_then(name: str, rule: OpenThen, given: Json) -> Keep:
    at_time = moment(given if isinstance(given, str) else number(given))
    clock = at_time.partition("T")[2][:5] if at_time and "T" in at_time else ""
    if not clock:
        raise UnanswerableError(f"{name} is {shown(given)}, expected a time of day: HH:MM")
    return lambda part, at: open_at(str(part.table.rows[at].get(rule.column, "")), clock) is True


def _bounded(name: str, rule: Least | Most, given: Json) -> Keep:
    bound = number(given)
    if bound is None:
        raise UnanswerableError(f"{name} is {shown(given)}, expected a number")

    def keep(part: Part, at: int) -> bool:
        value = number(part.table.rows[at].get(rule.column))
        return value is not None and (value >= bound if isinstance(rule, Least) else value <= bound)

    return keep


def _next_times(timetable: Mapping[str, Sequence[str]], rule: NextTimes, now: int) -> list[str]:
    """Return the next times of day; those of the small hours come after midnight."""
    minutes = sorted(
        (60 * int(hour) + int(minute) - now) % _DAY for hour, listed in timetable.items() for minute in listed
    )
    ahead = [minute + now for minute in minutes if minute <= rule.within_min][: rule.at_most]
    return [f"{minute // 60 % 24:02}:{minute % 60:02}" for minute in ahead]
