"""A row of MobilityBench's published table, its cells read: Python literals, and those that a spreadsheet cut off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources

from pytest_mapsat.formats import TableRow, parse_literal
from pytest_mapsat.model import Json, JsonObject, Tool, did_you_mean, digest, shown, tool_name
from pytest_mapsat.suite import ImportLog, tools_of

#: A spreadsheet's cell holds so many characters; what had more ends here.
CELL_CHARS = 32_767
#: What words of a slot (a place, a road, a day) have at most.
SLOT_CHARS = 200
_ID_DIGITS = 12

_TEXTS = (
    "query", "task_scenario", "intent_family", "query_start_poi", "query_transit_poi", "query_end_poi", "city", "user_loc", "road",
    "formatted_address", "llm_ner_ans", "matched_transit_index", "query_poi", "near_poi_info", "centre_loc", "time", "weather_description", "ans_loc",
    "duration",
)  # fmt: skip
_LITERALS = (
    "context", "strategy_list", "std_start", "std_transit", "std_end", "tool_list", "route_ans", "ans", "key_info", "location_ans",
    "bus_lines_list", "poi_result", "near_poi_ans", "weather",
)  # fmt: skip
COLUMNS = (*_TEXTS, *_LITERALS)
_SLOTS = ("query_start_poi", "query_transit_poi", "query_end_poi", "city", "road", "query_poi", "near_poi_info", "time")

#: The task families of the paper's Table 1 and their scenarios, as the rows spell them.
FAMILIES = {
    "basic_information_retrieval": [
        "POI Query",
        "Geolocation Query",
        "Nearby Query",
        "Weather Query",
        "Traffic Info Query",
    ],
    "route_dependent_information_retrieval": ["Route Property Query", "Arrival/Departure Time Query"],
    "basic_route_planning": ["Point-to-Point Planning", "Multi-stop Planning"],
    "preference_constrained_route_planning": ["Option-Constrained Route Planning", "Route-Constrained Planning"],
}
SCENARIOS = tuple(scenario for scenarios in FAMILIES.values() for scenario in scenarios)

ROUTES = ("driving_route", "walking_route", "bicycling_route", "bus_route")
#: tool -> the column with what it returned.
_ANSWERS = {
    "search_around_poi": "near_poi_ans",
    "reverse_geocoding": "location_ans",
    "weather_query": "weather",
    "traffic_status": "ans",
    **dict.fromkeys(ROUTES, "route_ans"),
}
#: The columns with the words of a place, and with the place.
_PLACES = (
    ("query_start_poi", "std_start"),
    ("query_transit_poi", "std_transit"),
    ("query_end_poi", "std_end"),
    ("query_poi", "poi_result"),
)
_PLACE_KEYS = ("location", "name", "address")


@cache
def mobility_tools() -> Mapping[str, Tool]:
    """Return the benchmark's tools by name."""
    return tools_of((resources.files(__package__) / "tools.yaml").read_text(encoding="utf-8"))


class OddRowError(ValueError):
    """A part of a row is not what it should be; the row cannot become a case."""


@dataclass(frozen=True)
class GoldCall:
    """A call that a row expects, with what the row's columns say it returned.

    Attributes:
        tool: the tool's own name.
        arguments: as the row has them.
        result: what the tool returned; None where no column has it.
        cut: the part of it that the row has, where the spreadsheet cut the rest off.
    """

    tool: str
    arguments: JsonObject
    result: Json = None
    cut: str = ""


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        place: file and line.
        texts: the texts of all columns, as they stand.
        values: the data of the columns with literals; those that are empty or cut are missing.
        cut: the columns whose text a spreadsheet cut off.
        calls: the expected calls, in their order.
    """

    place: str
    texts: Mapping[str, str]
    values: Mapping[str, Json]
    cut: frozenset[str]
    calls: tuple[GoldCall, ...] = field(default=())

    @cached_property
    def id(self) -> str:
        """A hash of all its cells: it stays what it is wherever the row stands."""
        return f"mob-{digest({name: self.texts[name] for name in sorted(COLUMNS)}, _ID_DIGITS)}"

    @property
    def scenario(self) -> str:
        """The task scenario as in Table 1."""
        return self.texts["task_scenario"].strip()

    @property
    def family(self) -> str:
        """The task family as in Table 1, whatever the row says."""
        return next(name for name, scenarios in FAMILIES.items() if self.scenario in scenarios)

    def text(self, column: str) -> str:
        """Return the text of a column without blanks around it."""
        return self.texts[column].strip()

    def mapping(self, column: str) -> JsonObject:
        """Return the object of a column; an empty one where there is none."""
        value = self.values.get(column)
        return value if isinstance(value, dict) else {}

    def items(self, column: str) -> list[Json]:
        """Return the list of a column; a single value is one of one."""
        value = self.values.get(column)
        return value if isinstance(value, list) else [] if value in (None, "") else [value]

    @property
    def route(self) -> GoldCall | None:
        """The call for the route, where one is expected."""
        return next((call for call in self.calls if call.tool in ROUTES), None)

    @property
    def way(self) -> JsonObject:
        """What the tool returned for the route, the envelope taken off."""
        result = self.route.result if self.route else None
        route = result.get("route", result) if isinstance(result, dict) else None
        return route if isinstance(route, dict) else {}

    @property
    def ways(self) -> list[JsonObject]:
        """The alternatives of the route that the tool returned."""
        return objects(self.way.get("paths") or self.way.get("transits"))

    def places(self, column: str) -> list[tuple[str, JsonObject]]:
        """Return the words and the place of a slot, a pair each."""
        named, results = slots(self, column), self.items(dict(_PLACES)[column])
        if column == "query_poi":
            results = [unwrapped(value) for value in results]
        return [(name, place) for name, place in zip(named, results, strict=False) if isinstance(place, dict)]


def _slot(text: str) -> list[str]:
    """Return the words of a slot: one text, or several as a literal."""
    text = text.strip()
    if text.startswith("["):
        try:
            words = parse_literal(text)
        except ValueError:
            return [text]
        return [str(word).strip() for word in words] if isinstance(words, list) else [text]
    return [text] if text else []


def slots(row: Row, column: str) -> list[str]:
    """Return the words of a slot of a row, each a text."""
    return _slot(row.texts[column])


def at(value: Json, *keys: str) -> Json:
    """Return what stands at keys, one below the other; None where nothing does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: Json, *keys: str) -> str:
    """Return the text that stands at keys; an empty one where nothing does."""
    return str(at(value, *keys) or "")


def objects(value: Json) -> list[JsonObject]:
    """Return the objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read_row(source: TableRow, place: str, log: ImportLog) -> Row:
    """Return the row with its cells read.

    Raises:
        OddRowError: names the column, what was found and what was expected.
    """
    cells = source.cells
    cut = frozenset(name for name in _LITERALS if _is_cut(cells[name]))
    values = {name: _literal(name, cells[name]) for name in _LITERALS if cells[name].strip() and name not in cut}
    scenario = cells["task_scenario"].strip()
    if scenario not in SCENARIOS:
        hint = did_you_mean(scenario, SCENARIOS) or f"one of {', '.join(SCENARIOS)}"
        raise OddRowError(f"task_scenario: found {shown(scenario)}, expected a scenario of the paper ({hint})")
    if not cells["query"].strip():
        raise OddRowError("query: found nothing, expected the user's words")
    for name in _SLOTS:
        if any(len(word) > SLOT_CHARS for word in _slot(cells[name])):
            raise OddRowError(f"{name}: found {len(cells[name])} characters, expected at most {SLOT_CHARS}")
    row = Row(place, cells, values, cut)
    calls = tuple(_calls(row, log))
    if not calls:
        raise OddRowError("tool_list: found no call of a known tool, expected a list of {'name', 'arguments'}")
    return Row(place, cells, values, cut, calls)


def _is_cut(text: str) -> bool:
    return len(text) == CELL_CHARS or len(text.encode("utf-16-le")) // 2 == CELL_CHARS


def _literal(column: str, text: str) -> Json:
    try:
        return parse_literal(text)
    except ValueError as error:
        raise OddRowError(f"{column}: {error}; expected a Python literal") from error


def _calls(row: Row, log: ImportLog) -> Iterator[GoldCall]:
    for number, item in enumerate(row.items("tool_list"), 1):
        name, arguments = at(item, "name"), at(item, "arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise OddRowError(f"tool_list: found {shown(item)} as call {number}, expected {{'name', 'arguments'}}")
        own = tool_name(mobility_tools(), name)
        if own not in mobility_tools():
            message = f"tool_list: the benchmark has no tool {shown(name)}; the call is left out"
            log.note("unknown_tool", row.place, message, leaves="expected calls")
        else:
            yield _answered(row, GoldCall(own, arguments), log)


def _answered(row: Row, call: GoldCall, log: ImportLog) -> GoldCall:
    """Return the call with what the columns say it returned."""
    column = _ANSWERS.get(call.tool)
    if column is None:
        return GoldCall(call.tool, call.arguments, _place_of(row, call))
    if column in row.cut:
        return GoldCall(call.tool, call.arguments, cut=row.texts[column])
    result = unwrapped(row.values.get(column))
    if result is None and column in row.values:
        log.note("failed", row.place, f"{column}: the service failed; the call of {call.tool} has no recording")
    return GoldCall(call.tool, call.arguments, result)


def _place_of(row: Row, call: GoldCall) -> Json:
    """Return what a search for a place returned: the place of the slot with its words."""
    words = str(call.arguments.get("keywords", "")).strip()
    pairs = [pair for column, _ in _PLACES for pair in row.places(column)]
    if row.scenario == "POI Query":
        pairs += [(words, place) for item in row.items("poi_result") if isinstance(place := unwrapped(item), dict)]
    for named, place in pairs:
        if named == words and place.get("location"):
            return {key: place[key] for key in _PLACE_KEYS if key in place}
    return None


def unwrapped(value: Json) -> Json:
    """Return what a tool returned without the envelope of status, data and error that some columns have around it."""
    if isinstance(value, dict) and "data" in value and value.keys() <= {"status", "data", "error"}:
        return value["data"]
    return value


def point_of(value: Json) -> tuple[float, float] | None:
    """Return longitude and latitude of a text ``lon,lat``, or of a place that has one; None for anything else."""
    if isinstance(value, dict):
        value = value.get("location")
    parts: Sequence[str] = value.split(",") if isinstance(value, str) else ()
    try:
        lon, lat = (float(part) for part in parts)
    except ValueError:
        return None
    return (lon, lat) if -180 <= lon <= 180 and -90 <= lat <= 90 else None  # noqa: PLR2004  degrees
