"""A tool as data: its description for agents, how its recorded calls may be matched, and how an answer is computed from the tables of its suite.

All that is special about maps lives in specs like this one; the sandbox knows canonical types only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

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

    It stands in the columns ``lon`` and ``lat``, degrees; ``within``: the parameter with the radius, or metres. Centres with no row within 100 km are an error.
    ``ends``: how a centre that is no point names a place.
    """

    op: Literal["around"]
    within: Parameter | float
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
    """Metres between the row's point (its columns ``lon`` and ``lat``) and the parameter's, as the crow flies."""

    op: Literal["metres_from"]
    parameter: Parameter


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


class ListPage(Noun):
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
    page: ListPage = ListPage()
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


_CLOCK = r"^([01]?\d|2[0-3]):[0-5]\d$"
#: What one phrase may stand for.
_Says = Annotated[
    Annotated[Between, BeforeValidator(lambda value: {"op": "between", **value} if isinstance(value, dict) else value)]
    | StrictBool
    | StrictInt
    | StrictFloat
    | StrictStr,
    Field(union_mode="left_to_right"),
]


class RankedField(Noun):
    """What a searched column holds. What it holds alone may be written as a word: ``tags: words``.

    Attributes:
        holds: ``name``; ``word``: one text, number or truth value; ``words``: a list of these; ``figure``; ``hours``: opening hours; ``text``: running text, which
            counts for the text score and fulfils no condition.
        role: what a figure is a figure of, by which a query means it ("rated 4.5").
        unit: what it is written in, by role unless given.
        says: phrase -> the condition that it stands for: ``{min: 4.5}`` of a figure, a match of kind between, a time of day of hours, a value of words.
    """

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
        """Raise ValueError if a filter is not one of a ranked search, or does not fit what its column holds."""
        for parameter, rule in self.where.items():
            kinds = _FILTERS.get(rule.op)
            if kinds is None or not isinstance(rule, EqualTo | ColumnHolds):
                raise ValueError(
                    f"where: {parameter}: a ranked search has no filter {rule.op!r}; it has {', '.join(_FILTERS)}"
                )
            field = self.fields.get(rule.column)
            if field is None:
                hint = did_you_mean(rule.column, self.fields, "there is")
                raise ValueError(f"where: {parameter}: the column {rule.column!r} is none of fields ({hint})")
            if field.holds not in kinds:
                raise ValueError(
                    f"where: {parameter}: {rule.op} needs a column that holds {' or '.join(kinds)}, and {rule.column} holds {field.holds}"
                )
        return self


class Local(Noun):
    """What a way by local streets is taken for: by the distance as the crow flies.

    metres = ``detour`` x distance, rounded to ten metres; minutes = ``plus_min`` + metres / ``m_per_min``, rounded up. ``more``: further fields.
    ``reach_m``: how far local streets lead, metres as the crow flies; none: everywhere.
    """

    detour: float = Field(ge=1)
    m_per_min: float = Field(gt=0)
    plus_min: float = Field(default=0, ge=0)
    reach_m: float | None = Field(default=None, ge=0)
    more: JsonObject = Field(default_factory=dict)


class RoutesAnswer(Noun):
    """Routes between two points by a network of ways; the parameters are ``origin``, ``destination`` and ``mode``.

    A way is a row with the columns ``from`` and ``to`` (points, "lon,lat"), ``mode`` (one or a list), ``both`` (false: one way only), ``closed`` ([from, to], times of
    day), ``via`` (its name, if it has one) and those named below. A trip goes by the network where one way joins its two ends, both within 150 m of it; else by local streets as far as they
    reach; a longer one by the network, with local streets to and from it.

    Attributes:
        ends: how an end that is no point names a place.
        ways: the table of ways.
        metres, minutes: the columns with length and time, and the keys of the result.
        sums: columns that add up on a route ("toll_yuan"); least: those of which the smallest counts ("max_height_m").
        avoid: parameter -> column: where the parameter is true, ways with anything in it are left out.
        heed: whether ways that are closed at the case's own time are left out.
        alternatives: the most routes; each further one avoids a name of a way of those before it, and none takes more than three times as long as the quickest.
        local: mode -> what a local way is taken for. These are the modes.
        echo: as for rows.
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
    """The shortest round from a start through some places and back.

    A round has the same length both ways: among equals the one comes first whose places do, by the column ``ties`` and then by id.

    Attributes:
        start, stops: the parameters.
        places: how a stop says which place it is.
        routes: the tool of kind ``routes`` that knows each leg; mode: the way of travelling.
        show: key of a place in ``order``, where they stand in their order -> column.
        legs: where the legs stand, the whole round last, each with ``from``, ``to``, ``m`` and ``min``.
        ties: the column with a number that a place is taken by where rounds are equal; places without one come last.
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
        """Raise ValueError unless exactly one of set, hide and add is given, with ``where`` only for set and hide."""
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
    """How one parameter of a call may be matched with a recorded one.

    Attributes:
        type: the canonical type.
        role: ``essential`` must match within its tolerance; ``preference`` may differ and makes the answer near, by name;
            ``ignored`` is not compared.
        default: the value that a call without the parameter stands for.
        pair: for ``lon``: the name of the latitude parameter it makes a point with.
        within_m: for lon, point, points: how far a recorded point may lie, metres. 0: equal to about a metre only.
        near: for text: the least similarity, 0 to 1, of a near answer; none: text must be equal. A token that was asked
            for is never dropped, and text is near only where every location-like essential parameter is within its tolerance.
        synonyms: word -> the words that mean the same.
        suffixes: for place and text: endings that do not count.
        prefixes: likewise beginnings.
        generic: words that say only what sort of thing is meant ("shop"), which may be absent on either side.
        named: for point: a value that is no point may name a place, where the tool's ``answer`` says how.
        covers: the recorded list was made for a greater value of this parameter and may be cut to a smaller one.
        open: a call and a recording of which only one gives it are near: it steers a search and limits nothing.
        subset: for ``set``: a recording made for more members may be cut to those asked for, by the result's own labels.
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
    """Where in a result the distance-sorted list stands that a smaller radius cuts.

    ``items``: dotted path of the list; ``distance``: key in an item, metres; ``lon``/``lat``: dotted keys of an item's own point, or ``point`` the one
    of both. A list without distances is cut by the points alone, and may lack what lies nearer than its last item.
    ``count``: dotted path of a number that must follow the length; ``centre``: the ``lon`` or ``point`` parameter the circle is drawn around.
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
        """Raise ValueError if nothing says how far away an item is."""
        if self.distance is None and self.point is None and (self.lon is None or self.lat is None):
            raise ValueError("covers needs distance, lon and lat, or point: what says how far an item lies")
        return self


class CutByLabel(Noun):
    """Where in a result the list stands whose elements begin with a label for each member of a set.

    ``items``: dotted path ("" for the result itself); ``labels``: member -> the text its elements begin with.
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
    """What the values at one path of a result mean. A kind alone may be written as a word: ``rating: rating``.

    ``unit``: the one they are written in; ``scale``: what they are multiplied with first (0.01 for cents). ``role``: what they are
    said of their thing, by kind unless given. ``mode``: the way of travelling they hold for ("walking", "driving", "cycling", "transit";
    "straight" as the crow flies). ``noun``: what is counted. ``words``: what single values stand for ("驾车" for driving); a value that stands for
    nothing ("") says nothing. ``labels``: for labelled text, label -> what stands behind it, up to one of ``ends``.
    """

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
    """Where in a result things with a name stand, so that a judge can find what an answer recommends.

    ``items``: dotted path of a list or object (``*`` for every element); ``name``, ``id``: keys of an item. ``sort``: what is listed there; a check
    without a ``tool`` recommends places only. ``leg``: the items are stretches between things that are listed elsewhere, and name no thing themselves. ``fields``: dotted
    path in an item -> what its values mean.
    """

    items: str
    name: str = "name"
    id: str | None = None
    fields: Fields = Field(default_factory=dict)
    sort: Literal["place", "ride", "line", "road", "deal", "person", "product", "service", "leg"] = "place"


class Tool(Noun):
    """One tool of a suite.

    ``parameters`` is the JSON Schema shown to the agent; ``match`` says, by parameter, how calls are matched. ``answers_about`` names the parameter
    that must be the case's own user (a profile tool), so that no user's data is served for another.

    A result is evidence as far as it is declared: ``entities`` and ``fields`` (dotted path in the result, ``*`` for every member -> what its
    values mean); ``about`` names the parameters that say, by id, point or name, which things it is said of; ``mode`` the one with the
    way of travelling; ``answer`` how it is computed from the suite's tables. What lies together in a member of a list belongs to the names in it, else to those around it.

    ``secrets``: parameters, and dotted paths of a result, whose values no recording keeps. Such a parameter is not compared.
    ``aliases``: other names that a call may give; it is kept under the tool's own. ``strict``: arguments are taken as ``parameters`` says, and not fitted
    to it (``"2"`` for 2); the suite's ``arguments: strict`` says so for all of its tools.
    ``asks``: the words with which its go-ahead is asked for (cancel, 取消): a user agrees to a call only where one of them stands in the question.
    ``by``: who may call it: the agent, the simulated user, both, or neither (``world``): then it only prepares a case. An agent learns nothing of a tool that is not its own.
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

    @model_validator(mode="after")
    def _known_parameters(self) -> Tool:
        """Raise ValueError if parameters is no valid object schema, or match, about or mode names an unknown parameter."""
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
        """Return the declared meanings as a tree by the keys of their paths; :data:`ITEM` leads to the items of entities."""
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
    """Return the key that holds the name in the declaration of an item of entities; empty if there is none."""
    return next((key for key, node in item.items() if key and "" in node and node[""].kind == "name"), "")


def meanings_below(nodes: Sequence[MeaningTree], key: str) -> list[MeaningTree]:
    """Return the declarations for a member of an object: those of its key, else those of ``*``."""
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
    """A recorded call of one case with the result that the service gave.

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
