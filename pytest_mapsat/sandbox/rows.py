"""Answers that are rows of a table: those that a value means, filtered, sorted, cut to a page, with the fields that are asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from pytest_mapsat.model import (
    LEAST_M_PER_DEGREE,
    POINT_COLUMNS,
    WAY_NAME,
    Around,
    Between,
    ColumnHolds,
    Context,
    Equal,
    EqualTo,
    Json,
    JsonObject,
    Match,
    MetresFrom,
    NextTimes,
    OfRoute,
    OnDay,
    OpenAt,
    OpenNow,
    ParameterMatch,
    Point,
    RankedAnswer,
    Reference,
    Refers,
    RoundAnswer,
    RoutesAnswer,
    RowPatch,
    RowsAnswer,
    Searched,
    Tool,
    UnfitError,
    Words,
    day_of,
    did_you_mean,
    distance_m,
    moment,
    normalise,
    number,
    open_at,
    point_of,
    shown,
)

from .large import FileRows
from .search import RowHit, SearchIndex, Wordbook, texts
from .spec import Canoniser, SpecCall, ToolSpec, UnanswerableError
from .state import Table, TablePart, View, fresh

#: The nearest points are looked for so far away first.
_NEAR_M = 2000.0
_NO_WORDS = Table("", ())
#: Characters of a text that is looked up; no sensible one is longer, and time grows with it.
_LONGEST = 300
_DAY = 24 * 60
#: Beyond this, metres as the crow flies, nothing is known: no row lies there, and no trip is so long.
BEYOND_M = 100_000.0
#: What the start and the whole round are called in a leg.
AT_START, WHOLE = "start", "whole round"
_LISTED = 5
#: Whether a row, by its place in a part of a table, is left.
Keep = Callable[[TablePart, int], bool]


class PointIndex:
    """An index of points in degrees, sorted by latitude; None for an item without a point."""

    def __init__(self, points: Sequence[Point | None]) -> None:
        self.points = points
        self._by_latitude = sorted((spot[1], at) for at, spot in enumerate(points) if spot is not None)

    def holds(self, at: int, centre: Point, metres: float) -> bool:
        """Return whether the point at a position lies in a circle."""
        spot = self.points[at]
        if spot is None or abs(spot[1] - centre[1]) * LEAST_M_PER_DEGREE > metres:
            return False
        return distance_m(*centre, *spot) <= metres

    def within(self, centre: Point, metres: float) -> Iterator[tuple[float, int]]:
        """Yield the points in a circle: the distance from its centre in metres, and the position among the points."""
        high = metres / LEAST_M_PER_DEGREE
        first = bisect_left(self._by_latitude, (centre[1] - high, 0))
        for latitude, at in islice(self._by_latitude, first, None):
            if latitude > centre[1] + high:
                return
            spot = self.points[at]
            if spot is not None and (apart := distance_m(*centre, *spot)) <= metres:
                yield apart, at

    def nearest(self, centre: Point, metres: float, most: int = 1) -> list[tuple[float, int]]:
        """Return up to ``most`` points within some metres as (metres, position), nearest first; on a tie, the first of the points."""
        reach = min(metres, _NEAR_M)
        while True:
            nearest = sorted(self.within(centre, reach))[:most]
            if len(nearest) == most or reach >= metres:
                return nearest
            reach = min(metres, 4 * reach)


def point_index(table: Table, lon: str, lat: str) -> PointIndex:
    """Return the index of the points in two columns of a table, made once for all cases."""
    return table.index(("points", lon, lat), lambda rows: PointIndex([_point(row, lon, lat) for row in rows]))


def _point(row: JsonObject, lon: str, lat: str) -> Point | None:
    """Return the point in two columns of a row; None if there is none."""
    east, north = number(row.get(lon)), number(row.get(lat))
    return None if east is None or north is None else (east, north)


class RowPlace(NamedTuple):
    """A row identified by a value, with its id and point; or a point without a row."""

    id: str
    point: Point | None
    row: JsonObject


class CaseTables:
    """The data that all computed answers of a case share: its tables with overlays, its time of day, and the lookup of a value as a row."""

    def __init__(self, tables: Mapping[str, Table], overlays: tuple[RowPatch, ...], context: Context) -> None:
        self.context = context
        #: The case's own time of day, minutes after midnight; None for a case that stands at no time.
        self.minute = None if context.now is None else 60 * int(context.now[11:13]) + int(context.now[14:16])
        self._tables = tables
        self._overlays = overlays
        self._views: dict[str, View] = {}

    def view(self, name: str) -> View:
        """Return a table with the overlays of the case; created on first use."""
        if name not in self._views:
            laid_on = [overlay for overlay in self._overlays if overlay.table == name]
            self._views[name] = View(self._tables[name], laid_on)
        return self._views[name]

    def wordbook(self, name: str | None) -> Wordbook:
        """Return the declared words in a table, cached for all cases; an empty wordbook if no table is named."""
        return (self._tables[name] if name else _NO_WORDS).index("wordbook", Wordbook)

    def places(self, value: Json, reference: Reference) -> list[RowPlace]:
        """Return the rows that a value identifies: by id, by point or user location, or by name; keep a point without a nearby row."""
        view = self.view(reference.table)
        if isinstance(value, str) and (row := _by_id(view, reference.id, value.strip())):
            return [_place(row, reference)]
        spot = self._here(value, reference) or point_of(value)
        if spot is not None:
            return _by_point(view, reference, spot)
        if not isinstance(value, str) or not reference.name:
            return []
        hits = self.find(view, reference, value, self._near_user(reference))
        best = min((hit.rank for _, hit in hits), default=0)
        return [_place(part.table.rows[hit.row], reference) for part, hit in hits if hit.rank == best]

    def _here(self, value: Json, reference: Reference) -> Point | None:
        """Return the point of the user if a value names the user's location; otherwise None."""
        location = self.context.location
        if location is None or not isinstance(value, str):
            return None
        names = {normalise(word) for word in (location.name, *reference.here) if word}
        return (location.lon, location.lat) if normalise(value) in names else None

    def _near_user(self, reference: Reference) -> Keep | None:
        """Return a test of whether a row lies near the user; None if distance does not matter or the location is unknown."""
        location, metres = self.context.location, reference.near_m
        if location is None or metres is None or reference.lon is None or reference.lat is None:
            return None
        lon, lat = reference.lon, reference.lat
        return lambda part, at: point_index(part.table, lon, lat).holds(at, (location.lon, location.lat), metres)

    def find(
        self, view: View, columns: Searched, text: str, keep: Keep | None = None
    ) -> list[tuple[TablePart, RowHit]]:
        """Return the rows of a view that a text describes, best first. ``keep``: whether the rest of the call allows a row."""
        if len(text) > _LONGEST:
            raise UnanswerableError(f"a text of {len(text)} characters is too long to be looked up; at most {_LONGEST}")
        book = self.wordbook(columns.words)
        key = columns.name, columns.sort, columns.also, columns.words, columns.lon, columns.lat

        def hits(asked: str) -> Iterator[tuple[TablePart, RowHit]]:
            """Yield the hits for a text in all parts of the view."""
            for part in view.parts:
                index = part.table.index(key, lambda rows: SearchIndex(rows, columns, book))

                def is_left(at: int, part: TablePart = part) -> bool:
                    """Return whether the case has a row of this part and the rest of the call allows the row."""
                    return at not in part.gone and (keep is None or keep(part, at))

                yield from ((part, hit) for hit in index.find(asked, part.gone, is_left))

        meant = list(hits(text))
        if not meant and (respelt := book.respelt(text)):
            meant = list(hits(respelt))
        least = min((hit.step for _, hit in meant), default=0)
        meant = [(part, hit) for part, hit in meant if hit.step == least]
        return sorted(meant, key=lambda placed: (placed[1].rank, placed[0].order[placed[1].row]))

    def unknown(self, value: Json, reference: Reference) -> UnanswerableError:
        """Return the error that a value identifies no row, with similar ids as a hint."""
        ids = [str(row[reference.id]) for row in self.view(reference.table).rows() if reference.id in row]
        hint = did_you_mean(value, ids) if isinstance(value, str) else ""
        return UnanswerableError(f"nothing is known as {shown(value)}{f' ({hint})' if hint else ''}")


def _by_id(view: View, column: str, value: str) -> JsonObject | None:
    """Return the row with an id, the first of several; None if there is none."""
    for part in view.parts:
        for at in part.table.having(column, _as_text).get(value, ())[:1]:
            if at not in part.gone:
                return part.table.rows[at]
    return None


def _as_text(value: Json) -> tuple[str]:
    """Return a value as text in a tuple, for use as a look-up key of rows."""
    return (str(value),)


def _by_point(view: View, reference: Reference, spot: Point) -> list[RowPlace]:
    """Return the row nearest to a point within reach, otherwise only the point; empty if the rows have no points."""
    if reference.lon is None or reference.lat is None:
        return []
    near = [
        (apart, part.order[at], part.table.rows[at])
        for part in view.parts
        for apart, at in point_index(part.table, reference.lon, reference.lat).within(spot, reference.within_m)
        if at not in part.gone
    ]
    nearest = min(near, key=lambda placed: placed[:2], default=None)
    return [RowPlace("", spot, {}) if nearest is None else _place(nearest[2], reference)._replace(point=spot)]


def _place(row: JsonObject, reference: Reference) -> RowPlace:
    """Return a row as a place, with its id and its point (None if there is none)."""
    at = _point(row, reference.lon, reference.lat) if reference.lon and reference.lat else None
    return RowPlace(str(row.get(reference.id, "")), at, row)


def place_of(ground: CaseTables, value: Json, reference: Reference, name: str) -> tuple[RowPlace, Point]:
    """Return the only place that a value identifies, and its point. Raises UnanswerableError if there are none or several."""
    places = [(place, place.point) for place in ground.places(value, reference) if place.point is not None]
    if not places:
        raise ground.unknown(value, reference)
    if len(places) > 1:
        ids = ", ".join(place.id for place, _ in places[:_LISTED])
        raise UnanswerableError(f"{name} is {shown(value)}, which is the name of several: {ids}; give an id or a point")
    return places[0]


Item = TypeVar("Item")
Answer = TypeVar("Answer", RowsAnswer, RankedAnswer)


class TableCall(Generic[Answer]):
    """One call of a tool that answers with rows of a table: its arguments, its filters and the requested page."""

    def __init__(self, ground: CaseTables, answer: Answer, spec: ToolSpec, call: SpecCall) -> None:
        self._ground = ground
        self._answer: Answer = answer
        self._spec = spec
        self._call = call
        self._echoed: dict[str, Json] = {}

    def _given(self, name: str) -> Json:
        """Return the call's value for a parameter, or the default."""
        return self._spec.given(self._call, name)

    def _filters(self) -> Iterator[tuple[str, Any, Json]]:
        """Yield the filters that apply in the call: parameter, rule, and the value from the call or from the case's context."""
        for name, rule in self._answer.where.items():
            given = self._given(name)
            if given is None and isinstance(rule, EqualTo) and rule.context:
                given = getattr(self._ground.context, rule.context) or None
            if given is not None:
                yield name, rule, given

    def _result(self, rows: list[JsonObject]) -> JsonObject:
        """Return a result that lists rows with the echoed parameters; or only the first row, if the tool declares no list."""
        answer = self._answer
        echo = {key: self._echoed.get(name, self._given(name)) for key, name in answer.echo.items()}
        if answer.items is None:
            return echo | rows[0]
        return {**echo, **({answer.count: len(rows)} if answer.count else {}), answer.items: rows}

    def _match_of(self, name: str, rule: OnDay | ColumnHolds, given: Json) -> Match:
        """Return the match that a parameter's value requires of its column. Raises UnanswerableError for an unusable value."""
        if isinstance(rule, OnDay):
            day = day_of(given, self._ground.context.now, rule.words)
            if day is None:
                raise UnanswerableError(f"{name} is {shown(given)}, expected a day: YYYY-MM-DD")
            return Equal(op="equal", value=day)
        if rule.op == "open_at":
            return OpenAt(op="open_at", time=self._clock(name, given))
        bound = self._figure(name, given)
        return Between(op="between", **{"min" if rule.op == "least" else "max": bound})

    def _clock(self, name: str, given: Json) -> str:
        """Return the time of day in a parameter as HH:MM. Raises UnanswerableError if there is none."""
        at_time = moment(given if isinstance(given, str) else number(given))
        clock = at_time.partition("T")[2][:5].replace("24:", "00:") if at_time else ""
        if not clock:
            raise UnanswerableError(f"{name} is {shown(given)}, expected a time of day: HH:MM")
        return clock

    def _figure(self, name: str, given: Json) -> float:
        """Return the number in a parameter. Raises UnanswerableError if there is none."""
        bound = number(given)
        if bound is None:
            raise UnanswerableError(f"{name} is {shown(given)}, expected a number")
        return bound

    def _wanted(self, match: ParameterMatch, given: Json, held_values: Iterable[Any]) -> frozenset[Any]:
        """Return the canonical forms that a column value must equal. ``held_values``: the column's values, to recognise places."""
        wanted = canonical_values(given, match)
        if match.type == "place":
            # Known places of these names, else those whose name is part of what is said ("Larkhaven harbour").
            places = set(held_values)
            if not wanted & places:
                known = (place for place in places if any(place in name_asked for name_asked in wanted))
                wanted = frozenset(known) or wanted
        return wanted

    def _page(self, rows: Sequence[Item]) -> Sequence[Item]:
        """Return the rows of the requested page."""
        page, limit = self._answer.page, self._answer.limit
        size, place = min(self._whole(page.size, limit), limit), self._whole(page.number, 1)
        return rows[(place - 1) * size : place * size]

    def _whole(self, name: str | None, otherwise: int) -> int:
        """Return the positive whole number in a parameter, or ``otherwise`` if there is none. Raises UnanswerableError."""
        given = self._given(name) if name else None
        if given is None:
            return otherwise
        amount = number(given)
        if amount is None or amount < 1 or not amount.is_integer():
            raise UnanswerableError(f"{name} is {shown(given)}, expected a whole number from 1")
        return int(amount)


class RowsCall(TableCall[RowsAnswer]):
    """One call of a tool that answers with rows.

    ``quickest`` gives the quickest route of a tool between two ends in a mode. ``note`` says what of the call the result leaves out, once there is one.
    """

    def __init__(
        self,
        ground: CaseTables,
        answer: RowsAnswer,
        spec: ToolSpec,
        call: SpecCall,
        quickest: Callable[[str, Json, Json, str], JsonObject],
    ) -> None:
        super().__init__(ground, answer, spec, call)
        self._quickest = quickest
        self._view = ground.view(answer.table)
        self._with_id: list[int] | None = None
        self._referred: tuple[str, set[str]] | None = None
        self.note = ""

    def result(self) -> Json:
        """Return the result of the call. Raises UnanswerableError."""
        answer = self._answer
        rows_found = self._sorted(self._found())
        if answer.items is not None or rows_found:
            rows = rows_found[:1] if answer.items is None else self._page(rows_found)
            return self._result([self._shown(part, at) for part, at in rows])
        asked = ", ".join(
            f"{name} {shown(self._given(name))}" for name in answer.where if self._given(name) is not None
        )
        raise UnanswerableError(f"nothing is known for {asked or 'this call'}")

    def _found(self) -> list[tuple[TablePart, int]]:
        """Return the rows that pass all filters of the call, best text matches first; set ``note`` if words are ignored."""
        keeps: list[Keep] = []
        wording: tuple[Words, str] | None = None
        for name, rule, given in self._filters():
            if isinstance(rule, Words):
                wording = rule, str(given)
            else:
                keeps.append(self._keep(name, rule, given))

        def keep(part: TablePart, at: int) -> bool:
            """Return whether a row passes all filters except the text."""
            return all(test(part, at) for test in keeps)

        if wording is not None:
            hits = self._ground.find(self._view, *wording, keep)
            lacking = dict.fromkeys(word for _, hit in hits for word in hit.lacking)
            self.note = f"nothing that is served has: {', '.join(lacking)}" if lacking else ""
            return [(part, hit.row) for part, hit in hits]
        rows = [
            (part.order[at], part, at)
            for part in self._view.parts
            for at in self._places(part)
            if at not in part.gone and keep(part, at)
        ]
        return [(part, at) for _, part, at in sorted(rows, key=lambda row: row[0])]

    def _places(self, part: TablePart) -> Iterable[int]:
        """Return the positions of the rows that a call may concern, narrowed to its ids if an index exists."""
        if isinstance(part.table.rows, FileRows):
            return range(len(part.table.rows)) if self._with_id is None else self._with_id
        if self._referred is None:
            return range(len(part.table.rows))
        column, ids = self._referred
        placed = part.table.having(column, texts)
        return sorted({at for id_ in ids for at in placed.get(id_, ())})

    def _keep(self, name: str, rule: Any, given: Json) -> Keep:
        """Return a test of whether a row passes the filter of one parameter. Raises UnanswerableError."""
        if isinstance(rule, Around):
            return self._around(name, rule)
        if isinstance(rule, Refers):
            return self._refers(name, rule, given)
        if isinstance(rule, EqualTo):
            return self._equal(name, rule, given)
        if rule.op == "user":  # to the letter: no other user's rows are shown
            if str(given) != self._ground.context.uid:
                raise UnanswerableError(f"{name} is {shown(given)}: there is no such user")
            return lambda part, at: str(part.table.rows[at].get(rule.column)) == str(given)
        match = self._match_of(name, rule, given)
        return lambda part, at: match.fits(part.table.rows[at].get(rule.column)) is True

    def _equal(self, name: str, rule: EqualTo, given: Json) -> Keep:
        """Return a test of whether a row's column has the value of a parameter, in any spelling."""
        match = self._spec.rule(name)
        rows = self._view.parts[0].table.rows
        if isinstance(rows, FileRows) and match.type == "id" and rule.column == rows.keys.id:
            ids = canonical_values(given, match)
            self._with_id = [at for id_ in ids for at in rows.with_id(str(id_))]
            return lambda part, at: not ids.isdisjoint(canonical_values(part.table.rows[at].get(rule.column), match))
        key = ("equal", rule.column, repr(match))

        def values(part: TablePart) -> Sequence[frozenset[Any]]:
            """Return the canonical values of the column for each row of a part, made once for all cases."""
            return part.table.index(key, lambda rows: [canonical_values(row.get(rule.column), match) for row in rows])

        wanted = self._wanted(
            match, given, (value for part in self._view.parts for forms in values(part) for value in forms)
        )
        return lambda part, at: not wanted.isdisjoint(values(part)[at])

    def _around(self, name: str, rule: Around) -> Keep:
        """Return a test of whether a row lies in the circle around a parameter's point. Raises UnanswerableError."""
        if self._spec.value(self._call, name) is None and rule.ends is not None:
            centre = place_of(self._ground, self._given(name), rule.ends, name)[1]
        else:
            centre = self._point(name)
        radius = self._given(rule.within) if isinstance(rule.within, str) else rule.within
        metres = number(radius)
        if metres is None or metres < 0:
            raise UnanswerableError(f"{rule.within} is {shown(radius)}, expected metres")
        indexes = {id(part.table): point_index(part.table, *POINT_COLUMNS) for part in self._view.parts}
        if not any(True for index in indexes.values() for _ in index.within(centre, BEYOND_M)):
            where = f"{centre[0]:g},{centre[1]:g}"
            raise UnanswerableError(f"{where} lies outside of the known area: longitude first, in degrees")
        return lambda part, at: indexes[id(part.table)].holds(at, centre, metres)

    def _point(self, name: str) -> Point:
        """Return the point in a parameter. Raises UnanswerableError if there is none."""
        value = self._spec.value(self._call, name)
        if not isinstance(value, tuple):
            raise UnanswerableError(f"{name} is {shown(value)}, expected a point")
        return value[0], value[1]

    def _refers(self, name: str, rule: Refers, given: Json) -> Keep:
        """Return a test of whether a row's column has the id of a place in a parameter. Raises UnanswerableError."""
        ids = {place.id for place in self._ground.places(given, rule.to) if place.id}
        if rule.unknown == "error" and not ids:
            raise self._ground.unknown(given, rule.to)
        if len(ids) > 1 and self._answer.items is None:
            listed = ", ".join(sorted(ids)[:_LISTED])
            raise UnanswerableError(f"{name} is {shown(given)}, which is the name of several: {listed}; give an id")
        if len(ids) == 1:
            self._echoed[name] = next(iter(ids))
        self._referred = rule.column, ids
        return lambda part, at: not ids.isdisjoint(texts(part.table.rows[at].get(rule.column)))

    def _sorted(self, rows: list[tuple[TablePart, int]]) -> list[tuple[TablePart, int]]:
        """Return the rows in the order that the tool declares; rows without a value come last."""
        for field in reversed(self._answer.sort):
            values = {place: self._value(*place, field.removeprefix("-")) for place in rows}
            valued = [place for place in rows if values[place] is not None]
            valued.sort(key=values.__getitem__, reverse=field.startswith("-"))
            rows = valued + [place for place in rows if values[place] is None]
        return rows

    def _shown(self, part: TablePart, at: int) -> JsonObject:
        """Return a row with the tool's declared columns and computed fields."""
        row = part.table.rows[at]
        names = self._answer.show or (*row, *(name for name in self._answer.compute if name not in row))
        values = {name: self._value(part, at, name) for name in names}
        return {name: fresh(value) for name, value in values.items() if value is not None or name in row}

    def _value(self, part: TablePart, at: int, name: str) -> Any:
        """Return the value of a column or of a computed field in a row; None if there is none."""
        row = part.table.rows[at]
        rule = self._answer.compute.get(name)
        if rule is None:
            return row.get(name)
        if isinstance(rule, MetresFrom):
            spot = _point(row, *POINT_COLUMNS)
            return None if spot is None else round(distance_m(*self._point(rule.parameter), *spot))
        if isinstance(rule, OfRoute):
            return self._of_route(row, rule)
        minute = self._ground.minute
        if minute is None or rule.column not in row:
            return None
        if isinstance(rule, OpenNow):
            return open_at(str(row[rule.column]), f"{minute // 60:02}:{minute % 60:02}")
        return _next_times(row[rule.column], rule, minute)

    def _of_route(self, row: JsonObject, rule: OfRoute) -> Json:
        """Return a figure of the quickest route between two parameters, priced by a row's own columns if declared."""
        route = self._quickest(rule.routes, self._given(rule.origin), self._given(rule.destination), rule.mode)
        figure = number(route[rule.give]) or 0
        if rule.per_km is not None:
            figure = (number(row.get(rule.per_km)) or 0) * figure / 1000
        figure += number(row.get(rule.plus)) or 0 if rule.plus else 0
        figure = figure if rule.per_km is None else round(figure)
        return int(figure) if float(figure).is_integer() else figure


def canonical_values(value: Json, match: ParameterMatch) -> frozenset[Any]:
    """Return the canonical forms of a column's value (of each member of a list) for comparison; empty if there are none."""
    forms = set()
    for member in value if isinstance(value, list) else (value,):
        try:
            form = Canoniser(match)(member)
        except UnfitError:
            continue
        forms |= set(form) if match.type == "set" and form else {form}
    return frozenset(forms - {None})


def _next_times(timetable: Mapping[str, Sequence[str]], rule: NextTimes, now: int) -> list[str]:
    """Return the next times of day in a timetable, soonest first; times after midnight follow those before it."""
    minutes = sorted(
        (60 * int(hour) + int(minute) - now) % _DAY for hour, listed in timetable.items() for minute in listed
    )
    ahead = [minute + now for minute in minutes if minute <= rule.within_min][: rule.at_most]
    return [f"{minute // 60 % 24:02}:{minute % 60:02}" for minute in ahead]


def shape_of(tool: Tool, rows: Mapping[str, Iterable[JsonObject]]) -> Json:
    """Return a made-up result with every possible field of a tool's answer; None if the tool computes none.

    It is for those who check declarations and paths without a call. ``rows`` are those of each table, with those that overlays bring.
    """
    answer = tool.answer
    if isinstance(answer, RowsAnswer | RankedAnswer):
        row = _every(rows.get(answer.table, ()))
        if isinstance(answer, RowsAnswer):
            row |= {name: ["09:00"] if isinstance(field, NextTimes) else 0 for name, field in answer.compute.items()}
        columns = row if isinstance(answer, RowsAnswer) else (answer.id, answer.part, *answer.fields)
        shown_row = {name: row[name] for name in answer.show or columns if name in row}
        echo: JsonObject = dict.fromkeys(answer.echo, "")
        if answer.items is None:
            return echo | shown_row
        return {**echo, **({answer.count: 1} if answer.count else {}), answer.items: [shown_row]}
    if isinstance(answer, RoutesAnswer):
        way = _every(rows.get(answer.ways, ()))
        columns = (WAY_NAME, answer.metres, answer.minutes, *answer.sums, *answer.least)
        more = {key: value for local in answer.local.values() for key, value in local.more.items()}
        route = {**{column: way[column] for column in columns if column in way}, **more}
        return {**dict.fromkeys(answer.echo, ""), "routes": [route]}
    if isinstance(answer, RoundAnswer):
        stop = _every(rows.get(answer.places.table, ()))
        leg = {"from": AT_START, "to": WHOLE, "m": 0, "min": 0}
        return {"order": [{key: stop.get(column) for key, column in answer.show.items()}], answer.legs: [leg]}
    return None


def _every(rows: Iterable[JsonObject]) -> JsonObject:
    """Return a made-up row with every column of some rows, each with a non-empty value if there is one."""
    merged: Json = {}
    for row in rows:
        merged = _merged(merged, row)
    return dict(merged)


def _merged(left: Json, right: Json) -> Json:
    """Return a value with everything from two values of a column: objects are merged, lists of objects become one object."""
    if isinstance(left, dict) and isinstance(right, dict):
        return {**left, **{key: _merged(left.get(key), value) for key, value in right.items()}}
    if isinstance(right, list) and right and isinstance(right[0], dict):
        first = left[0] if isinstance(left, list) and left else {}
        for member in right:
            first = _merged(first, member)
        return [first]
    return right if left in (None, [], {}, "") else left
