"""How a tool's answer is computed from the tables of its suite: the ``answer`` block of a tool, data only."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from .base import FieldUnit, FigureRole, JsonObject, Noun, did_you_mean, shown

Column = Annotated[str, Field(min_length=1, max_length=80)]
Columns = tuple[Column, ...]
Parameter = Annotated[str, Field(min_length=1, max_length=80)]


class Searched(Noun):
    """The columns of a table by which a text means its rows.

    ``name``: columns with names (a list of texts is many names); ``sort``: columns that say what sort of thing a row is ("the airport");
    ``also``: columns whose words count as qualifiers; ``words``: the table of words that mean the same and of words that may be absent;
    ``lon``, ``lat``: columns with the point in degrees, for "near the station".
    """

    name: Columns = ()
    sort: Columns = ()
    also: Columns = ()
    words: str | None = None
    lon: Column | None = None
    lat: Column | None = None


class Reference(Searched):
    """How a value says which row of a table is meant: by id, by name, by a point that lies near.

    ``table``: the table; ``id``: the column with the id; ``near_m``: how far from the user a thing may lie that is meant by name, metres; none: anywhere;
    ``within_m``: how far a given point may lie from a row's, metres; ``here``: words for where the user is.
    """

    table: str
    id: Column = "id"
    near_m: float | None = Field(default=None, ge=0)
    within_m: float = Field(default=150, ge=0)
    here: tuple[str, ...] = ()


class EqualTo(Noun):
    """The column has the parameter's value, in the form that the parameter's ``match`` gives both; a list in the column: one of them.

    ``context``: what of the case's context stands for a value that the call does not give.
    """

    op: Literal["equal"]
    column: Column
    context: Literal["city"] | None = None


class Words(Searched):
    """The row is what a search text asks for: its name, or a sort of things, with or without qualifiers."""

    op: Literal["words"]
    name: Columns


class Around(Noun):
    """The row's point lies in the circle around the parameter's.

    ``lon``, ``lat``: columns, degrees; ``within``: the parameter with the radius, or metres. Centres with no row within ``beyond_m`` are an error.
    ``ends``: how a centre that is no point names a place.
    """

    op: Literal["around"]
    lon: Column = "lon"
    lat: Column = "lat"
    within: Parameter | float
    beyond_m: float = Field(default=100_000, gt=0)
    ends: Reference | None = None


class Refers(Noun):
    """The parameter says which row of some table is meant, and the column holds its id, or a list with it.

    ``unknown``: whether a value that means no row is an ``error``, or has ``nothing`` to return.
    """

    op: Literal["refers"]
    to: Reference
    column: Column
    unknown: Literal["error", "nothing"] = "error"


class ColumnHolds(Noun):
    """What the column holds fits the parameter.

    ``least``, ``most``: its figure is at least, or at most, the parameter's; ``open_at``: its opening hours hold the parameter's time of day; ``user``: it is the
    case's own user, whom the parameter must name: no other user's rows are shown.
    """

    op: Literal["least", "most", "open_at", "user"]
    column: Column


class OnDay(Noun):
    """The column's date is the parameter's: a date in any usual form, or a word that counts days from the case's own.

    ``words``: word -> days from the case's own ("tomorrow": 1).
    """

    op: Literal["day"]
    column: Column
    words: dict[str, int] = Field(default_factory=dict)


RowFilter = Annotated[EqualTo | Words | Around | Refers | ColumnHolds | OnDay, Field(discriminator="op")]


class MetresFrom(Noun):
    """Metres between the row's point and the parameter's, as the crow flies."""

    op: Literal["metres_from"]
    parameter: Parameter
    lon: Column = "lon"
    lat: Column = "lat"


class OpenNow(Noun):
    """Whether the row is open at the case's own time; absent where its hours cannot be read."""

    op: Literal["open_now"]
    column: Column


class NextTimes(Noun):
    """The next times of day of a timetable from the case's own time on.

    ``column``: the timetable, hour ("09") -> minutes ("12"); ``within_min``: how far to look ahead; ``at_most``: how many are given.
    """

    op: Literal["next_times"]
    column: Column
    within_min: int = Field(default=60, gt=0, le=1440)
    at_most: int = Field(default=3, gt=0, le=100)


class OfRoute(Noun):
    """A figure of the quickest route between two parameters, as another tool of kind ``routes`` gives it.

    ``routes``: the tool; ``mode``: the way of travelling; ``give``: the figure's name there; ``plus``, ``per_km``: columns with what is added, and with what
    is added for each kilometre in place of the figure itself.
    """

    op: Literal["route"]
    routes: str
    origin: Parameter
    destination: Parameter
    mode: str
    give: Column
    plus: Column | None = None
    per_km: Column | None = None


ComputedField = Annotated[MetresFrom | OpenNow | NextTimes | OfRoute, Field(discriminator="op")]


class Page(Noun):
    """Which part of a long list is given. ``number``: the parameter with the page, from 1; ``size``: that with the length of a page."""

    number: Parameter | None = None
    size: Parameter | None = None


class TableAnswer(Noun):
    """Rows of a table, however they are chosen.

    Attributes:
        table: the table.
        where: parameter -> how it filters; one that the call does not give filters nothing.
        limit: the most rows that are given, or that a page has where the call does not say.
        page: parameters that ask for a part.
        items: where the rows stand in the result.
        count: where the number of rows given stands.
        show: the columns and computed fields that are given, all columns where none are named. A row without one has none.
        echo: key of the result -> parameter whose value (of a reference: the id) stands there.
    """

    table: str
    where: dict[Parameter, RowFilter] = Field(default_factory=dict)
    limit: int = Field(default=20, ge=1, le=1000)
    page: Page = Page()
    items: str | None = None
    count: str | None = None
    show: Columns = ()
    echo: dict[str, Parameter] = Field(default_factory=dict)


class RowsAnswer(TableAnswer):
    """Rows that fit all filters. Without ``items`` the result is the one row, and none is an error.

    Attributes:
        compute: fields that no column holds, by name.
        sort: columns or computed fields, ``-`` before one: the greatest first; rows without it last. Where none decides: the rows that fit a search text
            best, then the order of the table.
    """

    kind: Literal["rows"]
    compute: dict[Column, ComputedField] = Field(default_factory=dict)
    sort: tuple[str, ...] = ()


class Threshold(Noun):
    """What a figure is at least, or at most; one of the two, or both."""

    least: float | None = None
    most: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Threshold:
        if self.least is None and self.most is None:
            raise ValueError("needs least, most or both")
        return self


#: role of a figure -> the unit that it is in; all others are sums of money.
_UNITS: dict[str, FieldUnit] = {
    "rating": "star", "count": "count", "capacity": "people", "age": "year", "temperature": "celsius", "frequency": "min",
    "travel_time": "min", "wait": "min", "slack": "min", "stay": "min", "travel_distance": "m", "headroom": "m",
}  # fmt: skip
_CLOCK = r"^([01]?\d|2[0-3]):[0-5]\d$"
#: What one phrase may stand for.
_Says = Annotated[Threshold | StrictBool | StrictInt | StrictFloat | StrictStr, Field(union_mode="left_to_right")]


class RankedField(Noun):
    """What a searched column holds. What it holds alone may be written as a word: ``tags: words``.

    Attributes:
        holds: ``name``; ``word``: one text, number or truth value; ``words``: a list of these; ``figure``; ``hours``: opening hours; ``text``: running text, which
            counts for the text score and fulfils no condition.
        role: what a figure is a figure of, by which a query means it ("rated 4.5").
        unit: what it is written in, by role unless given.
        says: phrase -> the condition that it stands for: ``{least: 4.5}`` of a figure, a time of day of hours, a value of words.
    """

    holds: Literal["name", "word", "words", "figure", "hours", "text"]
    role: FigureRole | None = None
    unit: FieldUnit | None = None
    says: dict[Annotated[str, Field(min_length=1, max_length=80)], _Says] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _word(cls, data: Any) -> Any:
        data = {"holds": data} if isinstance(data, str) else data
        if isinstance(data, dict) and data.get("holds") == "figure" and isinstance(data.get("role"), str):
            return {"unit": _UNITS.get(data["role"], "yuan"), **data}
        return data

    @model_validator(mode="after")
    def _fitting(self) -> RankedField:
        if (self.holds == "figure") != (self.unit is not None):
            raise ValueError("a figure needs a role or a unit, and nothing else has one: {holds: figure, role: rating}")
        for phrase, meant in self.says.items():
            if self.holds == "figure":
                fits, expected = isinstance(meant, Threshold), "{least: 4.5} or {most: 40}"
            elif self.holds == "hours":
                fits, expected = isinstance(meant, str) and re.match(_CLOCK, meant) is not None, '"23:30"'
            else:
                fits = self.holds in ("word", "words") and not isinstance(meant, Threshold)
                expected = "a value of the column" if self.holds in ("word", "words") else "no phrases here"
            if not fits:
                raise ValueError(f"says: {phrase!r} stands for {shown(meant)}, expected {expected}")
        return self


#: The filters that a ranked search has, and what the column of each holds.
_FILTERS = {"equal": ("name", "word", "words"), "least": ("figure",), "most": ("figure",), "open_at": ("hours",)}


class RankedAnswer(TableAnswer):
    """The rows of one part of a large table that fit a free text best.

    First comes how many of the text's conditions a row fulfils, then a text score, then the id. Conditions are words of the part's own fields, declared
    synonyms, figures and times of day.

    Attributes:
        id: the column with the id, a text that no two rows share.
        part: the column that separates the parts, cities for instance; a part is read when a call first searches it. A call searches the part that its
            parameter of this name gives, else one that the text names, else the city of the case's context.
        fields: column -> what it holds; no other is searched.
        text: the parameter with the free text.
        words: the table of words that mean the same (see ``Words``).
        where: parameter -> how it filters, strictly: ``equal``, ``least``, ``most``, ``open_at``.
    """

    kind: Literal["ranked"]
    id: Column = "id"
    part: Column
    fields: dict[Column, RankedField] = Field(min_length=1)
    text: Parameter
    words: str | None = None
    items: str = "items"

    @model_validator(mode="after")
    def _filters(self) -> RankedAnswer:
        for parameter, rule in self.where.items():
            kinds = _FILTERS.get(rule.op)
            if kinds is None or not isinstance(rule, EqualTo | ColumnHolds):
                raise ValueError(
                    f"where: {parameter}: a ranked search has no filter {rule.op!r}; it has {', '.join(_FILTERS)}"
                )
            field = self.fields.get(rule.column)
            if field is None:
                hint = did_you_mean(rule.column, self.fields) or f"there is {', '.join(self.fields)}"
                raise ValueError(f"where: {parameter}: the column {rule.column!r} is none of fields ({hint})")
            if field.holds not in kinds:
                raise ValueError(
                    f"where: {parameter}: {rule.op} needs a column that holds {' or '.join(kinds)}, and {rule.column} holds {field.holds}"
                )
        return self


class Local(Noun):
    """What a way by local streets is taken for: by the distance as the crow flies.

    metres = ``detour`` x distance, rounded to ``round_m``; minutes = ``plus_min`` + metres / ``m_per_min``, rounded up. ``more``: further fields.
    ``reach_m``: how far local streets lead, metres as the crow flies; none: everywhere.
    """

    detour: float = Field(ge=1)
    m_per_min: float = Field(gt=0)
    plus_min: float = Field(default=0, ge=0)
    round_m: int = Field(default=10, ge=1)
    reach_m: float | None = Field(default=None, ge=0)
    more: JsonObject = Field(default_factory=dict)


class RoutesAnswer(Noun):
    """Routes between two points by a network of ways.

    A way is a row with the columns ``from`` and ``to`` (points, "lon,lat"), ``mode`` (one or a list), ``both`` (false: one way only), ``closed`` ([from, to], times of
    day) and those named below. A trip goes by the network where one way joins its two ends, both within ``snap_m`` of it; else by local streets as far as they
    reach; a longer one by the network, with local streets to and from it.

    Attributes:
        origin, destination, mode: the parameters.
        ends: how an end that is no point names a place.
        ways: the table of ways.
        name: the column with the name of a way; each further route avoids a name of those before it.
        metres, minutes: the columns with length and time, and the keys of the result.
        sums: columns that add up on a route ("toll_yuan"); least: those of which the smallest counts ("max_height_m").
        avoid: parameter -> column: where the parameter is true, ways with anything in it are left out.
        heed: whether ways that are closed at the case's own time are left out.
        alternatives: the most routes; none takes more than three times as long as the quickest.
        snap_m: how far an end may lie from a point of the network, metres.
        beyond_m: the longest trip, metres as the crow flies; a longer one is an error.
        local: mode -> what a local way is taken for. These are the modes.
        items: where the routes stand in the result; echo: as for rows.
    """

    kind: Literal["routes"]
    origin: Parameter = "origin"
    destination: Parameter = "destination"
    mode: Parameter = "mode"
    ends: Reference | None = None
    ways: str
    name: Column = "via"
    metres: Column = "distance_m"
    minutes: Column = "duration_min"
    sums: Columns = ()
    least: Columns = ()
    avoid: dict[Parameter, Column] = Field(default_factory=dict)
    heed: bool = True
    alternatives: int = Field(default=3, ge=1, le=10)
    snap_m: float = Field(default=150, ge=0)
    beyond_m: float = Field(default=100_000, gt=0)
    local: dict[str, Local] = Field(min_length=1)
    items: str = "routes"
    echo: dict[str, Parameter] = Field(default_factory=dict)


class RoundAnswer(Noun):
    """The shortest round from a start through some places and back.

    A round has the same length both ways: among equals the one comes first whose places do, by the column ``ties`` and then by id.

    Attributes:
        start, stops: the parameters.
        places: how a stop says which place it is.
        routes: the tool of kind ``routes`` that knows each leg; mode: the way of travelling.
        order: where the places stand in their order; show: key there -> column.
        legs: where the legs stand, the whole round last; its keys are those below.
        at_start, whole: what the start and the whole round are called in a leg.
        most: the most stops.
        ties: the column with a number that a place is taken by where rounds are equal; places without one come last.
    """

    kind: Literal["round"]
    start: Parameter
    stops: Parameter
    places: Reference
    routes: str
    mode: str
    order: str = "order"
    show: dict[str, Column]
    legs: str = "legs"
    metres: str = "m"
    minutes: str = "min"
    at_start: str = "start"
    whole: str = "whole round"
    most: int = Field(default=6, ge=2, le=8)
    ties: Column | None = None


ToolAnswer = Annotated[RowsAnswer | RankedAnswer | RoutesAnswer | RoundAnswer, Field(discriminator="kind")]


class RowPatch(Noun):
    """How some rows of one table differ from those that all cases start from: they are changed, hidden, or added.

    Attributes:
        table: the table that is changed.
        where: column -> value, or a list of values of which one: the rows that are changed or hidden.
        set: column -> new value.
        hide: whether the rows are taken out.
        add: rows that are added.
    """

    table: str
    where: JsonObject = Field(default_factory=dict)
    set: JsonObject = Field(default_factory=dict)
    hide: bool = False
    add: tuple[JsonObject, ...] = ()

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        given = [way for way in ("set", "hide", "add") if getattr(self, way)]
        if len(given) != 1:
            raise ValueError(f"found {' and '.join(given) or 'none'}, expected one of set, hide, add")
        if bool(self.where) != (bool(self.set) or self.hide):
            raise ValueError("set and hide need where, which says what rows; add has none")
        return self
