"""A tool as data: its description for agents, how its recorded calls may be matched, and how an answer is computed from the tables of its suite.

All that is special about maps lives in specs like this one; the sandbox knows canonical types only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from .base import (
    SCALARS,
    FieldUnit,
    FigureRole,
    Identifier,
    Json,
    JsonObject,
    Level,
    Noun,
    Text,
    TimeRole,
    did_you_mean,
    shown,
)
from .match import Between

Column = Annotated[str, Field(min_length=1, max_length=80)]
Columns = tuple[Column, ...]
Parameter = Annotated[str, Field(min_length=1, max_length=80)]
#: The columns with the point of a row, where a rule names none.
POINT_COLUMNS = ("lon", "lat")
#: The column with the name of a way, which is a key of a route, too.
WAY_NAME = "via"


class Searched(Noun):
    """The columns of a table to compare with a search text.

    Attributes:
        name: columns with names; a list of texts is several names. Example: ``["name", "also_known_as"]``
        sort: columns with the kind of thing that a row is ("the airport"). Example: ``["category"]``
        also: columns whose words count as qualifiers. Example: ``["tags"]``
        words: table of synonyms, and of words that may be left out; left out, there are none. Example: ``words``
        lon: column with the longitude in degrees, for searches such as "near the station". Example: ``lon``
        lat: column with the latitude in degrees. Example: ``lat``
    """

    name: Columns = ()
    sort: Columns = ()
    also: Columns = ()
    words: str | None = None
    lon: Column | None = None
    lat: Column | None = None


class Reference(Searched):
    """How a value refers to a row of a table: by id, by name, or by a point close to it.

    Attributes:
        table: name of the table. Example: ``places``
        id: column with the id; ``id`` by default. Example: ``id``
        near_m: greatest distance in metres between the user and a thing that is referred to by name; left out, no limit. Example: ``5000``
        within_m: greatest distance in metres between a given point and the row's; 150 by default. Example: ``150``
        here: words for the user's own position. Example: ``["here", "my location"]``
    """

    table: str
    id: Column = "id"
    near_m: float | None = Field(default=None, ge=0)
    within_m: float = Field(default=150, ge=0)
    here: tuple[str, ...] = ()


class EqualTo(Noun):
    """The column equals the parameter, both in the form of the parameter's ``match``; in a column of lists, one element must equal it.

    Attributes:
        op: name of the filter.
        column: name of the column. Example: ``city``
        context: part of the case's context that is used where the call gives no value.
    """

    op: Literal["equal"]
    column: Column
    context: Literal["city"] | None = None


class Words(Searched):
    """The row matches a search text by its name or its kind, with or without qualifiers.

    Attributes:
        op: name of the filter.
        name: columns with names; a list of texts is several names. Example: ``["name"]``
    """

    op: Literal["words"]
    name: Columns


class Around(Noun):
    """The row's point (columns ``lon`` and ``lat``, degrees) lies in a circle around the parameter's point. A centre without rows within 100 km is an error.

    Attributes:
        op: name of the filter.
        within: parameter with the radius in metres, or the radius itself. Example: ``radius``
        ends: how a centre that is no point names a place; left out, it must be a point.
    """

    op: Literal["around"]
    within: Parameter | float
    ends: Reference | None = None


class Refers(Noun):
    """The parameter refers to a row of some table, and the column holds the row's id, or a list that contains it.

    Attributes:
        op: name of the filter.
        to: how the parameter refers to a row.
        column: column with the id. Example: ``shop_id``
        unknown: error: a value that refers to no row is an error. nothing: it returns no rows.
    """

    op: Literal["refers"]
    to: Reference
    column: Column
    unknown: Literal["error", "nothing"] = "error"


class ColumnHolds(Noun):
    """The column is compared with the parameter.

    Attributes:
        op: least, most: the figure in the column is at least, or at most, the parameter. open_at: opening hours include the parameter's time. user: the parameter must be the case's own user, whose rows are returned.
        column: name of the column. Example: ``rating``
    """

    op: Literal["least", "most", "open_at", "user"]
    column: Column


class OnDay(Noun):
    """The column's date equals the parameter's date: in any usual form, or a word such as "tomorrow".

    Attributes:
        op: name of the filter.
        column: name of the column. Example: ``date``
        words: days from the case's own date, by word. Example: ``{"today": 0, "tomorrow": 1}``
    """

    op: Literal["day"]
    column: Column
    words: dict[str, int] = Field(default_factory=dict)


RowFilter = Annotated[EqualTo | Words | Around | Refers | ColumnHolds | OnDay, Field(discriminator="op")]


class MetresFrom(Noun):
    """The metres between the row's point (columns ``lon`` and ``lat``) and the parameter's point, as the crow flies.

    Attributes:
        op: name of the computation.
        parameter: parameter with the point. Example: ``location``
    """

    op: Literal["metres_from"]
    parameter: Parameter


class OpenNow(Noun):
    """Whether the row is open at the case's time; omitted if its hours cannot be read.

    Attributes:
        op: name of the computation.
        column: column with the opening hours. Example: ``hours``
    """

    op: Literal["open_now"]
    column: Column


class NextTimes(Noun):
    """The next times of day in a timetable, starting at the case's time.

    Attributes:
        op: name of the computation.
        column: column with the timetable: hour ("09") -> minutes ("12"). Example: ``timetable``
        within_min: how far to look ahead, in minutes; 60 by default. Example: ``60``
        at_most: greatest number of times; 3 by default. Example: ``3``
    """

    op: Literal["next_times"]
    column: Column
    within_min: int = Field(default=60, gt=0, le=1440)
    at_most: int = Field(default=3, gt=0, le=100)


class OfRoute(Noun):
    """A figure of the fastest route between two parameters, computed by another tool of kind ``routes``.

    Attributes:
        op: name of the computation.
        routes: name of that tool. Example: ``plan_route``
        origin: parameter with the start. Example: ``origin``
        destination: parameter with the end. Example: ``destination``
        mode: way of travelling. Example: ``driving``
        give: name of the figure there. Example: ``duration_min``
        plus: column with an amount to add; left out, nothing is added. Example: ``base_fare``
        per_km: column with an amount for each kilometre, in place of the figure itself. Example: ``fare_per_km``
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


class ListPage(Noun):
    """Parameters that select a part of a long list.

    Attributes:
        number: parameter with the page, counted from 1; left out, there are no pages. Example: ``page``
        size: parameter with the number of rows on a page. Example: ``page_size``
    """

    number: Parameter | None = None
    size: Parameter | None = None


class TableAnswer(Noun):
    """Rows of a table, selected in any way.

    Attributes:
        table: name of the table. Example: ``places``
        where: filter for each parameter; a parameter that the call leaves out filters nothing. Example: ``{"city": {"op": "equal", "column": "city"}}``
        limit: greatest number of rows, or of rows on a page where the call does not say; 20 by default. Example: ``20``
        page: parameters that select a part of the list; left out, there are none.
        items: key of the list of rows in the result. Example: ``places``
        count: key of the number of rows in the result; left out, it has none. Example: ``count``
        show: columns and computed fields in the result; left out, all columns. Example: ``["id", "name", "rating"]``
        echo: parameter for each key of the result that repeats an argument (of a reference: the id). Example: ``{"city": "city"}``
    """

    table: str
    where: dict[Parameter, RowFilter] = Field(default_factory=dict)
    limit: int = Field(default=20, ge=1, le=1000)
    page: ListPage = ListPage()
    items: str | None = None
    count: str | None = None
    show: Columns = ()
    echo: dict[str, Parameter] = Field(default_factory=dict)


class RowsAnswer(TableAnswer):
    """Rows that pass all filters. Without ``items`` the result is one row, and a missing row is an error.

    Attributes:
        kind: way in which the answer is computed: rows.
        compute: fields that no column holds, by name. Example: ``{"distance_m": {"op": "metres_from", "parameter": "location"}}``
        sort: columns or computed fields to sort by; ``-`` sorts the greatest first. Ties: best match of the search text, then the table's order. Example: ``["-rating"]``
    """

    kind: Literal["rows"]
    compute: dict[Column, ComputedField] = Field(default_factory=dict)
    sort: tuple[str, ...] = ()


_CLOCK = r"^([01]?\d|2[0-3]):[0-5]\d$"
_BOUNDS = BeforeValidator(
    lambda value: {"op": "between", **value} if isinstance(value, dict) else value,
    json_schema_input_type=dict[str, float],
)
#: What one phrase may stand for.
_Says = Annotated[
    Annotated[Between, _BOUNDS] | StrictBool | StrictInt | StrictFloat | StrictStr, Field(union_mode="left_to_right")
]


class RankedField(Noun):
    """Content of a searched column. A bare word is short for ``holds``: ``tags: words``.

    Attributes:
        holds: type of the content: name; word: one text, number or truth value; words: a list of these; figure; hours: opening hours; text: running text, which affects the score and fulfils no condition.
        role: what a figure states; a query refers to it by this ("rated 4.5").
        unit: unit of a figure; left out, that of the role.
        says: condition for each phrase: ``{min: 4.5}`` for a figure, a time for hours, a value for words. Example: ``{"late": "23:30"}``
    """

    word: ClassVar[str] = "holds"
    holds: Literal["name", "word", "words", "figure", "hours", "text"]
    role: FigureRole | None = None
    unit: FieldUnit | None = None
    says: dict[Annotated[str, Field(min_length=1, max_length=80)], _Says] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _word(cls, data: Any) -> Any:
        """Expand a bare word to ``holds`` and fill in the unit that a role implies."""
        data = {"holds": data} if isinstance(data, str) else data
        if isinstance(data, dict) and data.get("holds") == "figure" and isinstance(data.get("role"), str):
            return {"unit": _UNITS.get(data["role"], "yuan"), **data}
        return data

    @model_validator(mode="after")
    def _fitting(self) -> RankedField:
        """Raise ValueError if a field has a unit but holds no figure (or none but does), or a phrase has a wrong condition."""
        if (self.holds == "figure") != (self.unit is not None):
            raise ValueError("a figure needs a role or a unit, and nothing else has one: {holds: figure, role: rating}")
        for phrase, meant in self.says.items():
            if self.holds == "figure":
                fits, expected = isinstance(meant, Between), "{min: 4.5} or {max: 40}"
            elif self.holds == "hours":
                fits, expected = isinstance(meant, str) and re.match(_CLOCK, meant) is not None, '"23:30"'
            else:
                fits = self.holds in ("word", "words") and not isinstance(meant, Between)
                expected = "a value of the column" if self.holds in ("word", "words") else "no phrases here"
            if not fits:
                raise ValueError(f"says: {phrase!r} means {shown(meant)}, expected {expected}")
        return self


#: The filters that a ranked search has, and what the column of each holds.
_FILTERS = {"equal": ("name", "word", "words"), "least": ("figure",), "most": ("figure",), "open_at": ("hours",)}


class RankedAnswer(TableAnswer):
    """The rows of one part of a large table that best match a free text: by the number of fulfilled conditions, then by a text score, then by id.

    Conditions are words of the part's own fields, declared synonyms, figures and times of day.

    Attributes:
        kind: way in which the answer is computed: ranked.
        id: column with a unique id, a text; ``id`` by default. Example: ``id``
        part: column that divides the table, such as the city. A call searches the part that it names, else one that the text names, else the city of the case. Example: ``city``
        fields: content of each searched column; no other column is searched. Example: ``{"name": "name", "tags": "words"}``
        text: parameter with the free text. Example: ``query``
        words: table of synonyms; left out, there are none. Example: ``words``
        items: key of the list of rows in the result. Example: ``items``
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
        """Raise ValueError if a filter is not allowed in a ranked search, or does not match the content of its column."""
        for parameter, rule in self.where.items():
            kinds = _FILTERS.get(rule.op)
            if kinds is None or not isinstance(rule, EqualTo | ColumnHolds):
                raise ValueError(
                    f"where: {parameter}: a ranked search has no filter {rule.op!r}; it has {', '.join(_FILTERS)}"
                )
            field = self.fields.get(rule.column)
            if field is None:
                hint = did_you_mean(rule.column, self.fields, "there is")
                raise ValueError(f"where: {parameter}: the column {rule.column!r} is not one of fields ({hint})")
            if field.holds not in kinds:
                raise ValueError(
                    f"where: {parameter}: {rule.op} needs a column that holds {' or '.join(kinds)}, and {rule.column} holds {field.holds}"
                )
        return self


class Local(Noun):
    """An estimate of a way by local streets, based on the distance as the crow flies.

    Attributes:
        detour: factor of the distance, at least 1; metres are rounded to ten. Example: ``1.3``
        m_per_min: speed in metres per minute. Example: ``80``
        plus_min: minutes to add; 0 by default. Example: ``5``
        reach_m: longest local way in metres, as the crow flies; left out, no limit. Example: ``3000``
        more: further fields of the result. Example: ``{"toll_yuan": 0}``
    """

    detour: float = Field(ge=1)
    m_per_min: float = Field(gt=0)
    plus_min: float = Field(default=0, ge=0)
    reach_m: float | None = Field(default=None, ge=0)
    more: JsonObject = Field(default_factory=dict)


class RoutesAnswer(Noun):
    """Routes between two points in a network of ways; the parameters are ``origin``, ``destination`` and ``mode``.

    A way is a row with the columns ``from`` and ``to`` (points, "lon,lat"), ``mode`` (one or a list), ``both`` (false: one way only), ``closed`` ([from, to], times of
    day), ``via`` (its name, if it has one) and those named below. A trip uses the network if one way joins its two ends, both within 150 m of it; else local streets as far as they
    reach; a longer one uses the network, with local streets to and from it.

    Attributes:
        kind: way in which the answer is computed: routes.
        ends: how an end that is no point names a place; left out, it must be a point.
        ways: table of the ways. Example: ``roads``
        metres: column with the length, and key in the result. Example: ``distance_m``
        minutes: column with the time, and key in the result. Example: ``duration_min``
        sums: columns that add up along a route. Example: ``["toll_yuan"]``
        least: columns of which the smallest value along a route counts. Example: ``["max_height_m"]``
        avoid: column for each parameter: if the parameter is true, ways with a value in the column are left out. Example: ``{"avoid_tolls": "toll_yuan"}``
        heed: false: ways that are closed at the case's time are used all the same; true by default.
        alternatives: greatest number of routes; 3 by default. Each further one avoids a named way of the others and takes at most three times as long as the fastest. Example: ``3``
        local: estimate by local streets for each way of travelling; these are the modes. Example: ``{"walking": {"detour": 1.3, "m_per_min": 80}}``
        echo: parameter for each key of the result that repeats an argument. Example: ``{"origin": "origin"}``
    """

    kind: Literal["routes"]
    ends: Reference | None = None
    ways: str
    metres: Column = "distance_m"
    minutes: Column = "duration_min"
    sums: Columns = ()
    least: Columns = ()
    avoid: dict[Parameter, Column] = Field(default_factory=dict)
    heed: bool = True
    alternatives: int = Field(default=3, ge=1, le=10)
    local: dict[str, Local] = Field(min_length=1)
    echo: dict[str, Parameter] = Field(default_factory=dict)


class RoundAnswer(Noun):
    """The shortest round trip from a start through some places. Of equal trips, the one with the lower ``ties``, then the lower ids, comes first.

    Attributes:
        kind: way in which the answer is computed: round.
        start: parameter with the start. Example: ``origin``
        stops: parameter with the places to visit. Example: ``stops``
        places: how a stop refers to a place.
        routes: tool of kind ``routes`` that computes each leg. Example: ``plan_route``
        mode: way of travelling. Example: ``walking``
        show: column for each key of a place in ``order``, the list of stops in the result. Example: ``{"id": "id", "name": "name"}``
        legs: key of the legs in the result, the whole round last, each with from, to, m and min. Example: ``legs``
        ties: column with a number that orders equal rounds; places without one come last. Example: ``rank``
    """

    kind: Literal["round"]
    start: Parameter
    stops: Parameter
    places: Reference
    routes: str
    mode: str
    show: dict[str, Column]
    legs: str = "legs"
    ties: Column | None = None


ToolAnswer = Annotated[RowsAnswer | RankedAnswer | RoutesAnswer | RoundAnswer, Field(discriminator="kind")]


class RowPatch(Noun):
    """A change to rows of a table in one case: rows are changed, hidden or added.

    Attributes:
        table: name of the table. Example: ``orders``
        where: value, or list of values, for each column that selects the rows to change or hide. Example: ``{"id": "A1"}``
        set: new value for each column. Example: ``{"status": "sent"}``
        hide: true: the rows are removed.
        add: rows to add. Example: ``[{"id": "A9", "dish": "ramen", "status": "open"}]``
    """

    table: str
    where: JsonObject = Field(default_factory=dict)
    set: JsonObject = Field(default_factory=dict)
    hide: bool = False
    add: tuple[JsonObject, ...] = ()

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        """Raise ValueError unless exactly one of set, hide and add is given, and ``where`` only with set and hide."""
        given = [way for way in ("set", "hide", "add") if getattr(self, way)]
        if len(given) != 1:
            raise ValueError(f"found {' and '.join(given) or 'none'}, expected one of set, hide, add")
        if bool(self.where) != (bool(self.set) or self.hide):
            raise ValueError("set and hide need where, which says what rows; add has none")
        return self


#: Key in ``Tool.meanings`` that stands for an item of entities.
ITEM = "[]"

#: text: compared after normalisation. place: text with declared suffixes cut (a city with or without "市").
#: number, boolean: numeric or boolean text counts. enum: one word, with synonyms. set: an unordered list of words, or text joined
#: by commas. ids: identity, case kept. lon, lat: one coordinate each, joined by ``pair``. point: "lon,lat" or an object.
#: points: an ordered list of points. time: ISO 8601 or epoch milliseconds. json: any value, keys sorted.
ParameterType = Literal[
    "text", "place", "number", "boolean", "enum", "set", "id", "lon", "lat", "point", "points", "time", "json"
]


class ParameterMatch(Noun):
    """The comparison of one parameter of a call with the same parameter of a recorded call.

    Attributes:
        type: type of the values, which decides how they are compared.
        role: essential: must match within its tolerance. preference: may differ, and the answer is then marked near. ignored: is not compared.
        default: value that a call without the parameter means; left out, none. Example: ``10``
        pair: for type lon: parameter with the latitude. Example: ``lat``
        within_m: for lon, point, points: greatest distance in metres to a recorded point; 0: about one metre. Example: ``100``
        near: for text: least similarity of a near answer, 0 to 1; left out, texts must be equal. Example: ``0.8``
        synonyms: words with the same meaning, by word. Example: ``{"restaurant": ["eatery"]}``
        suffixes: for place and text: endings that do not count. Example: ``[" city"]``
        prefixes: for place and text: beginnings that do not count. Example: ``["the "]``
        generic: words that only state the kind of thing and may be missing on either side. Example: ``["shop"]``
        named: for point: true: a value that is no point may name a place, as the tool's answer describes.
        open: true: a call and a recording are near if only one of them gives the parameter.
        covers: allows a recorded list for a greater value to be cut for a smaller one; left out, it is not.
        subset: for set: allows a recording for more members to be cut to those that are asked for; left out, it is not.
    """

    type: ParameterType = "text"
    role: Literal["essential", "preference", "ignored"] = "essential"
    default: Json = None
    pair: str | None = None
    within_m: float = Field(default=0, ge=0)
    near: Level | None = None
    synonyms: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    suffixes: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    generic: tuple[str, ...] = ()
    named: bool = False
    open: bool = False
    covers: CutByDistance | None = None
    subset: CutByLabel | None = None


class CutByDistance(Noun):
    """How a list sorted by distance is cut for a smaller radius. A list without distances is cut by its points, and may then lack near things beyond its end.

    Attributes:
        items: dotted path of the list. Example: ``places``
        distance: key of the distance in an item, in metres; left out, points decide. Example: ``distance_m``
        lon: dotted key of an item's longitude. Example: ``location.lon``
        lat: dotted key of an item's latitude. Example: ``location.lat``
        point: dotted key of an item's point, in place of lon and lat. Example: ``location``
        count: dotted path of the number of items, which is updated; left out, there is none. Example: ``count``
        centre: parameter with the centre of the circle, of type lon or point. Example: ``location``
    """

    items: str
    distance: str | None = None
    lon: str | None = None
    lat: str | None = None
    point: str | None = None
    count: str | None = None
    centre: str

    @model_validator(mode="after")
    def _placed(self) -> CutByDistance:
        """Raise ValueError if no field gives the distance of an item."""
        if self.distance is None and self.point is None and (self.lon is None or self.lat is None):
            raise ValueError("covers needs distance, lon and lat, or point: what says how far an item lies")
        return self


class CutByLabel(Noun):
    """How a list is cut if its elements begin with a label for each member of a set.

    Attributes:
        items: dotted path of the list; empty: the result itself. Example: ``forecast``
        labels: label that the elements of each member begin with. Example: ``{"today": "Today:"}``
    """

    items: str = ""
    labels: dict[str, str]


#: What a value of a result is. name, alias (several joined by ``|``), id, kind (a word for the sort of thing), address: of the thing of
#: their object. end: the name of another thing that it belongs to as well (an end of a way). distance ... frequency: figures. clock: a time of day. hours: opening hours in words. lon, lat, point ("lon,lat"): a
#: place on the map. phone, line, platform: identifiers. mode: the way of travelling of all figures beside and below. text: running
#: words. labelled: text whose parts begin with a label. flag: true or false. ignored: nothing that an answer may rest on, with all below.
FieldKind = Literal[
    "name", "end", "alias", "id", "kind", "address", "phone", "line", "platform", "lon", "lat", "point",
    "distance", "duration", "price", "rating", "count", "capacity", "percent", "temperature", "age", "headroom", "frequency", "number",
    "clock", "hours", "mode", "text", "labelled", "flag", "ignored",
]  # fmt: skip
FieldRole = FigureRole | TimeRole
#: kind -> the unit it is written in and what it is a figure of, unless the declaration says otherwise.
_FIGURES: dict[str, tuple[FieldUnit, FieldRole | None]] = {
    "distance": ("m", "travel_distance"),
    "duration": ("min", "travel_time"),
    "price": ("yuan", "price"),
    "rating": ("star", "rating"),
    "count": ("count", "count"),
    "capacity": ("people", "capacity"),
    "percent": ("percent", None),
    "temperature": ("celsius", "temperature"),
    "age": ("year", "age"),
    "headroom": ("m", "headroom"),
    "frequency": ("min", "frequency"),
    "number": ("count", None),
}
#: role of a figure -> the unit that it is in; all others are sums of money.
_UNITS: dict[str | None, FieldUnit] = {role: unit for unit, role in _FIGURES.values()}
_UNITS |= {"wait": "min", "slack": "min", "stay": "min"}


class Meaning(Noun):
    """The meaning of the values at one path of a result. A bare word is short for ``kind``: ``rating: rating``.

    Attributes:
        kind: type of the values: names, ids and figures are evidence for what a reply says; text is running words; ignored is no evidence at all.
        unit: unit of the figures; left out, that of the kind.
        scale: factor for the figures (0.01 for cents); 1 by default. Example: ``0.01``
        role: what the figures state about their thing; left out, that of the kind.
        mode: way of travelling that the figures are for: walking, driving, cycling, transit, or straight (as the crow flies). Example: ``walking``
        noun: what is counted. Example: ``reviews``
        words: meaning of single values; a value with an empty meaning says nothing. Example: ``{"驾车": "driving"}``
        labels: for kind labelled: meaning of the text behind each label. Example: ``{"Price:": "price"}``
        ends: texts that end the part behind a label. Example: ``[";"]``
    """

    word: ClassVar[str] = "kind"
    kind: FieldKind
    unit: FieldUnit | None = None
    scale: float = Field(default=1, gt=0)
    role: FieldRole | None = None
    mode: str = ""
    noun: str = ""
    words: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, Meaning] = Field(default_factory=dict)
    ends: tuple[Text, ...] = (";", "；", "\n")

    @model_validator(mode="before")
    @classmethod
    def _word(cls, data: Any) -> Any:
        """Expand a bare word to ``kind`` and fill in the unit and the role that the kind implies."""
        data = {"kind": data} if isinstance(data, str) else data
        if isinstance(data, dict) and data.get("kind") in _FIGURES:
            unit, role = _FIGURES[data["kind"]]
            return {"unit": unit, "role": role, **data}
        return data

    @model_validator(mode="after")
    def _fitting(self) -> Meaning:
        """Raise ValueError if labels come without the kind labelled (or the reverse), or a unit with a kind that has none."""
        if (self.kind == "labelled") != bool(self.labels):
            raise ValueError("labels belong to the kind labelled, which needs them")
        if self.unit and self.kind not in _FIGURES:
            raise ValueError(f"a field of kind {self.kind} has no unit")
        return self

    @property
    def measures(self) -> bool:
        """Return whether the values are figures."""
        return self.kind in _FIGURES


Fields = dict[str, Meaning]
#: Keys of paths, each with the tree below it; under "" the meaning of what lies here.
MeaningTree = dict[str, Any]


class Entities(Noun):
    """The place of named things in a result, so that a judge can recognise a reply's recommendations.

    Attributes:
        items: dotted path of a list or object; ``*`` is every element. Example: ``places``
        name: key of the name in an item; ``name`` by default. Example: ``name``
        id: key of the id in an item; left out, items have none. Example: ``id``
        fields: meaning of the values at each dotted path in an item. Example: ``{"rating": "rating", "price": "price"}``
        sort: kind of the things. Checks without ``tool`` are about places only. leg: stretches between things that are listed elsewhere.
    """

    items: str
    name: str = "name"
    id: str | None = None
    fields: Fields = Field(default_factory=dict)
    sort: Literal["place", "ride", "line", "road", "deal", "person", "product", "service", "leg"] = "place"


class Tool(Noun):
    """One tool of a suite: its description for agents, and the meaning of its results.

    A result is evidence only as far as ``entities`` and ``fields`` declare its values. Values beside each other in a list belong to the names there, else to those around them.

    Attributes:
        name: name of the tool. Example: ``list_orders``
        aliases: other names that a call may use. Example: ``["get_orders"]``
        strict: true: arguments of another type than the parameter's are refused; left out, ``"2"`` passes for 2. The suite's ``arguments: strict`` applies to all tools.
        by: who may call it: agent, user (the simulated one), both, or world (only the preparation of a case).
        description: description for the agent. Example: ``List the orders of a customer.``
        effect: write if a call changes the state; read otherwise.
        profile: true: the tool returns what is known of the user.
        parameters: JSON Schema of the arguments, of type object, as the agent sees it. Example: ``{"type": "object", "properties": {"user": {"type": "string"}}, "required": ["user"]}``
        match: how each parameter is compared with that of a recorded call; left out, as text. Example: ``{"query": {"near": 0.8}}``
        entities: where its results list things with names. Example: ``[{"items": "orders", "name": "dish", "id": "id"}]``
        fields: meaning of the values at each dotted path of a result; ``*`` is every member. Example: ``{"price": "price", "status": "text"}``
        about: parameters that name, by id, point or name, the things a result is about. Example: ``["order_id"]``
        mode: parameter with the way of travelling; left out, it has none. Example: ``mode``
        answer: how an answer is computed from the suite's tables; left out, it is recorded, or Python code gives it.
        secrets: parameters, and dotted paths of a result, whose values no recording keeps. Example: ``["password"]``
        asks: words of a request for a go-ahead; the user agrees to a call only if the request has one of them. Example: ``["cancel"]``
        undo: none: what a call does cannot be undone, so that the check ``consent`` wants the user's yes before it; left out, it can.
    """

    name: Identifier
    aliases: tuple[Identifier, ...] = ()
    strict: bool = False
    by: Literal["agent", "user", "both", "world"] = "agent"
    description: Text
    effect: Literal["read", "write"] = "read"
    profile: bool = False
    parameters: JsonObject
    match: dict[str, ParameterMatch] = Field(default_factory=dict)
    entities: tuple[Entities, ...] = ()
    fields: Fields = Field(default_factory=dict)
    about: tuple[str, ...] = ()
    mode: str | None = None
    answer: ToolAnswer | None = None
    secrets: tuple[Text, ...] = ()
    asks: tuple[Text, ...] = ()
    undo: Literal["none"] | None = None

    @model_validator(mode="after")
    def _known_parameters(self) -> Tool:
        """Raise ValueError if parameters is not a valid object schema, or match, about or mode names an unknown parameter."""
        properties = self.parameters.get("properties", {})
        if self.parameters.get("type") != "object" or not isinstance(properties, dict):
            raise ValueError("parameters is a JSON Schema of type object with properties")
        if wrong := next((name for name, part in properties.items() if not isinstance(part, (dict, bool))), None):
            raise ValueError(f"the parameter {wrong!r} has {shown(properties[wrong])}, expected a JSON Schema")
        required = self.parameters.get("required", [])
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise ValueError(f"required is a list of names of parameters, not {shown(required)}")
        for name, match in self.match.items():
            for wanted in (name, match.pair, match.covers.centre if match.covers else None):
                if wanted is not None and wanted not in properties:
                    raise ValueError(f"match names the parameter {wanted!r}, which parameters does not have")
        for wanted in (*self.about, *((self.mode,) if self.mode else ())):
            if wanted not in properties:
                raise ValueError(f"about or mode names the parameter {wanted!r}, which parameters does not have")
        return self

    @property
    def for_agent(self) -> bool:
        """Return whether the agent may call the tool."""
        return self.by in ("agent", "both")

    @property
    def for_user(self) -> bool:
        """Return whether the simulated user may call the tool."""
        return self.by in ("user", "both")

    @cached_property
    def meanings(self) -> MeaningTree:
        """Return the declared meanings as a tree by the keys of their paths; :data:`ITEM` means the items of entities."""
        tree: MeaningTree = {}
        for path, meaning in self.fields.items():
            _plant(tree, path.split("."), meaning)
        for entity in (entity for entity in self.entities if entity.sort != "leg"):
            own_fields = {entity.name: Meaning(kind="name"), **({entity.id: Meaning(kind="id")} if entity.id else {})}
            for path, meaning in {**own_fields, **entity.fields}.items():
                _plant(tree, [*entity.items.split("."), ITEM, *path.split(".")], meaning)
        return tree

    def undeclared(self, result: Json) -> Iterator[str]:
        """Yield the paths of the values in a result that have no declared meaning, with ``*`` for members of lists."""
        waiting: list[tuple[Json, list[MeaningTree], tuple[str, ...]]] = [(result, [self.meanings], ())]
        while waiting:
            value, nodes, path = waiting.pop()
            kinds = {node[""].kind for node in nodes if "" in node}
            if type(value) in SCALARS or not isinstance(value, (dict, list, Mapping)):
                if value is not None and not kinds:
                    yield ".".join(path)
            elif not kinds & {"ignored", "text"} and (isinstance(value, Mapping) or not kinds):
                waiting += [(member, below, (*path, str(key))) for key, member, below in _members(value, nodes)]


def _members(
    value: Mapping[str, Json] | list[Json], nodes: list[MeaningTree]
) -> list[tuple[str, Json, list[MeaningTree]]]:
    """Return the key, the value and the declarations for each member of an object or list."""
    items = [node[ITEM] for node in nodes if ITEM in node]
    if isinstance(value, list):
        below = [*items, *(node["*"] for node in nodes if "*" in node)]
        return [("*", member, below) for member in value]
    single = [tree for tree in items if name_of(tree) in value]
    inner = [tree for tree in items if name_of(tree) not in value]
    return [(key, member, meanings_below([*nodes, *single], key) + inner) for key, member in value.items()]


def name_of(item: MeaningTree) -> str:
    """Return the key of the name in the declaration of an item of entities; empty if there is none."""
    return next((key for key, node in item.items() if key and "" in node and node[""].kind == "name"), "")


def meanings_below(nodes: Sequence[MeaningTree], key: str) -> list[MeaningTree]:
    """Return the declarations for a member of an object: those of its key, otherwise those of ``*``."""
    return [node[key if key in node else "*"] for node in nodes if key in node or "*" in node]


def _plant(tree: MeaningTree, keys: list[str], meaning: Meaning) -> None:
    """Add a meaning to a tree at the place of a path."""
    for key in filter(None, keys):
        tree = tree.setdefault(key, {})
    tree[""] = meaning


def tool_name(tools: Mapping[str, Tool], name: str) -> str:
    """Return the tool's own name for a name or an alias; the given name if no tool has it."""
    if name in tools:
        return name
    return next((own for own, tool in tools.items() if name in tool.aliases), name)


class Recording(Noun):
    """A recorded call of one case with the service's result.

    ``writes`` is the digest of the writes before it, empty in a sandbox that is only read. ``synonyms``: further values of an argument that
    ask for the same (an id under which the source knew the user). ``live``: a tool of
    the user's own gave it, asked by ``mapsat record`` or in a run. ``cut``: the source holds a part of the result only; it is kept and never served.
    """

    case: Identifier
    tool: Identifier
    arguments: JsonObject
    result: Json
    writes: str = ""
    synonyms: dict[str, tuple[Json, ...]] = Field(default_factory=dict)
    live: bool = False
    cut: bool = False
