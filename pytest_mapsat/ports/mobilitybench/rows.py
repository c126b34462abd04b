"""A row of MobilityBench's published table, its cells read, and what the words in it mean: ways of travelling, lines, times, weather, traffic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import NamedTuple

from pytest_mapsat.formats import package_data, parse_literal
from pytest_mapsat.model import Json, JsonObject, did_you_mean, digest, shown, tool_name
from pytest_mapsat.ports import Record, objects, packaged_tools
from pytest_mapsat.reading import lexicon_of, read
from pytest_mapsat.suite import ImportLog

#: A spreadsheet's cell holds so many characters; what had more ends here.
CELL_CHARS = 32_767
#: What words of a slot (a place, a road, a day) have at most.
SLOT_CHARS = 200
_ID_DIGITS = 12

_DATA = package_data(__package__, "words.yaml")
#: State or figure -> the words for it.
States = Mapping[str, Sequence[str]]
_TEXTS: Sequence[str] = _DATA["texts"]
_LITERALS: Sequence[str] = _DATA["literals"]
COLUMNS = (*_TEXTS, *_LITERALS)
_SLOTS = ("query_start_poi", "query_transit_poi", "query_end_poi", "city", "road", "query_poi", "near_poi_info", "time")

#: The task families of the paper's Table 1 and their scenarios, as the rows spell them.
FAMILIES: Mapping[str, Sequence[str]] = _DATA["families"]
SCENARIOS = tuple(scenario for scenarios in FAMILIES.values() for scenario in scenarios)

ROUTES = ("driving_route", "walking_route", "bicycling_route", "bus_route")
#: tool -> the column with what it returned.
_ANSWERS: Mapping[str, str] = _DATA["answers"]
#: The columns with the words of a place, and with the place.
_PLACES: Mapping[str, str] = _DATA["places"]
_PLACE_KEYS = ("location", "name", "address")


class OddRowError(ValueError):
    """Raised if a part of a row is malformed, so that the row cannot become a case."""


@dataclass(frozen=True)
class GoldCall:
    """A call that a row expects, with its result by the row's columns.

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
class MobilityRow:
    """One row of the published table, with its cells read.

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
        """Return the row's id, a hash of all its cells that does not depend on its position in the table."""
        return f"mob-{digest({name: self.texts[name] for name in sorted(COLUMNS)}, _ID_DIGITS)}"

    @property
    def scenario(self) -> str:
        """Return the task scenario, as in Table 1 of the paper."""
        return self.texts["task_scenario"].strip()

    @property
    def family(self) -> str:
        """Return the task family of the scenario, as in Table 1 of the paper; the row's own column is ignored."""
        return next(name for name, scenarios in FAMILIES.items() if self.scenario in scenarios)

    def text(self, column: str) -> str:
        """Return the text of a column without blanks around it."""
        return self.texts[column].strip()

    def mapping(self, column: str) -> JsonObject:
        """Return the object in a column; an empty object if the column holds none."""
        value = self.values.get(column)
        return value if isinstance(value, dict) else {}

    def items(self, column: str) -> list[Json]:
        """Return the list in a column; a single value as a list of one, and an empty list where there is no value."""
        value = self.values.get(column)
        return value if isinstance(value, list) else [] if value in (None, "") else [value]

    @property
    def route(self) -> GoldCall | None:
        """Return the expected call that requests a route; None if there is no such call."""
        return next((call for call in self.calls if call.tool in ROUTES), None)

    @property
    def way(self) -> JsonObject:
        """Return the result of the route's call, without its envelope; empty if there is none."""
        result = self.route.result if self.route else None
        route = result.get("route", result) if isinstance(result, dict) else None
        return route if isinstance(route, dict) else {}

    @property
    def ways(self) -> list[JsonObject]:
        """Return the alternative routes in the result of the route's call."""
        return objects(self.way.get("paths") or self.way.get("transits"))

    def places(self, column: str) -> list[tuple[str, JsonObject]]:
        """Return pairs of words and place for all places of a column."""
        names, results = slots(self, column), self.items(_PLACES[column])
        if column == "query_poi":
            results = [unwrapped(value) for value in results]
        return [(name, place) for name, place in zip(names, results, strict=False) if isinstance(place, dict)]


def _slot(text: str) -> list[str]:
    """Return the words in a cell, one text or several in a literal list, as a list; empty for a blank cell."""
    text = text.strip()
    if text.startswith("["):
        try:
            words = parse_literal(text)
        except ValueError:
            return [text]
        return [str(word).strip() for word in words] if isinstance(words, list) else [text]
    return [text] if text else []


def slots(row: MobilityRow, column: str) -> list[str]:
    """Return the words in a column of a row as a list."""
    return _slot(row.texts[column])


def at(value: Json, *keys: str) -> Json:
    """Return the value at a path of keys; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: Json, *keys: str) -> str:
    """Return the value at a path of keys as text; empty if there is none."""
    return str(at(value, *keys) or "")


def read_row(record: Record, log: ImportLog) -> MobilityRow:
    """Return the row of a record with its cells parsed. Raises OddRowError if a part of it is malformed."""
    place, cells = record
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
    row = MobilityRow(place, cells, values, cut)
    calls = tuple(_calls(row, log))
    if not calls:
        raise OddRowError("tool_list: found no call of a known tool, expected a list of {'name', 'arguments'}")
    return MobilityRow(place, cells, values, cut, calls)


def _is_cut(text: str) -> bool:
    """Return whether a text has the maximum length of a spreadsheet cell, so that its end was cut off."""
    return len(text) == CELL_CHARS or len(text.encode("utf-16-le")) // 2 == CELL_CHARS


def _literal(column: str, text: str) -> Json:
    """Return the value of a cell with a Python literal. Raises OddRowError if the literal is invalid."""
    try:
        return parse_literal(text)
    except ValueError as error:
        raise OddRowError(f"{column}: {error}; expected a Python literal") from error


def _calls(row: MobilityRow, log: ImportLog) -> Iterator[GoldCall]:
    """Yield the expected calls with their results; calls of unknown tools are noted and omitted."""
    for number, item in enumerate(row.items("tool_list"), 1):
        name, arguments = at(item, "name"), at(item, "arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise OddRowError(f"tool_list: found {shown(item)} as call {number}, expected {{'name', 'arguments'}}")
        own = tool_name(packaged_tools(__package__), name)
        if own not in packaged_tools(__package__):
            message = f"tool_list: the benchmark has no tool {shown(name)}; the call is left out"
            log.note("unknown_tool", row.place, message, leaves="expected calls")
        else:
            yield _answered(row, GoldCall(own, arguments), log)


def _answered(row: MobilityRow, call: GoldCall, log: ImportLog) -> GoldCall:
    """Return a call with its result from the row's columns, or with the readable part of a truncated result."""
    column = _ANSWERS.get(call.tool)
    if column is None:
        return GoldCall(call.tool, call.arguments, _place_of(row, call))
    if column in row.cut:
        return GoldCall(call.tool, call.arguments, cut=row.texts[column])
    result = unwrapped(row.values.get(column))
    if result is None and column in row.values:
        log.note("failed", row.place, f"{column}: the service failed; the call of {call.tool} has no recording")
    return GoldCall(call.tool, call.arguments, result)


def _place_of(row: MobilityRow, call: GoldCall) -> Json:
    """Return the place that a search for its keywords found; None if the row has no such place."""
    words = str(call.arguments.get("keywords", "")).strip()
    pairs = [pair for column in _PLACES for pair in row.places(column)]
    if row.scenario == "POI Query":
        pairs += [(words, place) for item in row.items("poi_result") if isinstance(place := unwrapped(item), dict)]
    for name, place in pairs:
        if name == words and place.get("location"):
            return {key: place[key] for key in _PLACE_KEYS if key in place}
    return None


#: tool -> where its result holds what there is to tell.
_TOLD_AT: Mapping[str, str] = _DATA["told_at"]


def says_nothing(row: MobilityRow) -> bool:
    """Return whether the last expected call, the one that answers the query, has an empty result."""
    call = row.calls[-1]
    if call.cut or (call.tool in ROUTES and (row.ways or isinstance(call.result, str))):
        return False
    content = at(call.result, _TOLD_AT[call.tool]) if call.tool in _TOLD_AT else call.result
    return call.tool in ROUTES or not _telling_leaves(content)


def _telling_leaves(value: Json) -> list[Json]:
    """Return the texts and figures in a value, without empty values, zeros and ``unknown``."""
    if isinstance(value, dict | list):
        return [
            leaf
            for member in (value.values() if isinstance(value, dict) else value)
            for leaf in _telling_leaves(member)
        ]
    return [] if value is None or str(value).strip() in ("", "0", "0.00%", "unknown") else [value]


def unwrapped(value: Json) -> Json:
    """Return a tool's result, without the envelope of status, data and error that some columns add."""
    if isinstance(value, dict) and "data" in value and value.keys() <= {"status", "data", "error"}:
        return value["data"]
    return value


def point_of(value: Json) -> tuple[float, float] | None:
    """Return longitude and latitude of a text ``lon,lat``, or of a place with such a text; None for anything else."""
    if isinstance(value, dict):
        value = value.get("location")
    parts: Sequence[str] = value.split(",") if isinstance(value, str) else ()
    try:
        lon, lat = (float(part) for part in parts)
    except ValueError:
        return None
    return (lon, lat) if -180 <= lon <= 180 and -90 <= lat <= 90 else None  # noqa: PLR2004  degrees


# -- what words mean

#: way of travelling -> its word.
MODE_WORDS: Mapping[str, str] = _DATA["modes"]
#: tool of a route -> way of travelling.
MODES = dict(zip(ROUTES, MODE_WORDS, strict=True))
_WAYS = {
    "transit": re.compile(r"地铁(?![站口])|公交(?!站|车站)|轻轨(?!站)|坐巴士"),
    "driving": re.compile(r"驾车|开车|自驾|驾驶"),
    "walking": re.compile(r"步行(?!街)|走路|走着去|走过去|徒步"),
    "cycling": re.compile(r"骑行|骑车|骑单车|自行车(?!店|行)|骑电动车"),
}
#: Words for the user's own place.
OWN_PLACE = re.compile(
    r"(?:我|现在|当前|目前)?(?:的|所在的?|这里的?)?(?:位置|地方|地点|这里|这儿)|我这(?:里|儿|边)?|这里|这儿|我家?"
)
#: The states of the sky and the words for them, longest first where one begins another.
WEATHER: States = _DATA["weather"]
#: The states of traffic and the words for them.
TRAFFIC: States = _DATA["traffic"]
#: Words without which nothing says that the traffic flows.
NEGATORS = ("不", "没", "无", "未")
#: What may be asked of a route -> the words for it.
PROPERTIES: States = _DATA["properties"]
_NEGATION = r"(?:不要|不想|不愿|不能|不用|不许|不|别|避开|避免|绕开|除了|除开|排除)(?:再|要|想)*(?:乘坐|搭乘|坐|乘|搭|走|经过|换乘|换|转)?"
_CUES = re.compile(rf"(?P<no>{_NEGATION})|(?P<yes>乘坐|搭乘|换乘|坐|乘|搭|走|换|转|经过|选择|要)")
_CLAUSE = re.compile(r"[，,。；;！!？?]|但是?|而是")
_CONSTRAINT = re.compile(r"^\s*(?P<word>不要|不坐|不乘坐|不|避开|要|坐|乘坐|只坐|只要|必须)?\s*(?P<line>.+?)\s*$")
_MADE_BY = re.compile(r"输出\s*[:：]")
_ARRIVE = re.compile(r"到|抵达|赶到|之?前")
_LONGEST_QUERY = 2000
_NUMBERED = re.compile(r"(?:[A-Z]{0,2}\d{1,4})(?:号线|路|线)")
_AFTER_NUMBER = re.compile(r"\d号线(.+线)$")
_SHORTEST_LINE = 2
_CITY_ENDINGS = ("特别行政区", "自治州", "地区", "市", "省", "县", "区", "盟")
_FEW = 3


class TransitLines(NamedTuple):
    """The lines that a route must avoid, and those that it must take."""

    avoid: tuple[str, ...] = ()
    take: tuple[str, ...] = ()


def asked_lines(row: MobilityRow) -> TransitLines:
    """Return the lines to avoid and to take that the row's own column states."""
    text = _MADE_BY.split(row.texts["llm_ner_ans"])[-1]
    avoid: list[str] = []
    take: list[str] = []
    for part in re.split(r"[,，、;；\n]", text):
        match = _CONSTRAINT.match(part)
        if match is not None and match["word"]:
            (avoid if match["word"].startswith(("不", "避")) else take).append(match["line"])
    return TransitLines(tuple(avoid), tuple(take))


def meant_lines(row: MobilityRow) -> TransitLines:
    """Return the lines to avoid and to take in the column, corrected if the user's own words differ."""
    stated = asked_lines(row)
    avoid = [line for line in stated.avoid if is_refused(row.text("query"), line) is not False]
    turned = [line for line in stated.avoid if line not in avoid]
    refused = [line for line in stated.take if is_refused(row.text("query"), line)]
    take = [line for line in stated.take if line not in refused]
    return TransitLines((*avoid, *refused), (*take, *turned))


def is_refused(query: str, line: str) -> bool | None:
    """Return whether a query refuses a line, by the last cue before its name in the clause; None if the line is not named."""
    start = query.find(line)
    if start < 0:
        return None
    clauses = [match.end() for match in _CLAUSE.finditer(query, 0, start)]
    cues = list(_CUES.finditer(query[clauses[-1] if clauses else 0 : start]))
    return bool(cues) and cues[-1].lastgroup == "no"


_SORTS_OF_LINES = ("公交", "地铁", "轨道交通", "轻轨")
_METRO = re.compile(r"地铁|轨道交通|轻轨|\d号线")


def is_line(name: str, wanted: str) -> bool:
    """Return whether a full name (``地铁10号线外环(车道沟--车道沟)``) belongs to a line (``10号线``) or to a sort of lines (``地铁``)."""
    bare = re.split(r"[(（]", name)[0]
    if wanted in _SORTS_OF_LINES:
        return _METRO.search(bare) is not None if wanted in _SORTS_OF_LINES[1:] else _METRO.search(bare) is None
    start = bare.find(wanted)
    while start >= 0:
        before = bare[start - 1 : start]
        if not (before.isdigit() or (before.isascii() and before.isalpha())):
            return True
        start = bare.find(wanted, start + 1)
    return False


def transits(row: MobilityRow) -> list[tuple[JsonObject, list[list[str]]]]:
    """Return the transit routes of a row with their rides; any of the lines listed for a ride may serve it."""
    return [(way, _rides(way)) for way in objects(row.way.get("transits"))]


def _rides(way: JsonObject) -> list[list[str]]:
    """Return the rides of a transit route, each as the names of the lines that serve it."""
    lines = [objects(at(segment, "bus", "buslines")) for segment in objects(way.get("segments"))]
    rides = [[str(line["name"]) for line in served if line.get("name")] for served in lines]
    return [names for names in rides if names]


def obeys(ride_names: Sequence[Sequence[str]], lines: TransitLines) -> bool:
    """Return whether a transit route takes every preferred line, and has an acceptable line for each ride."""
    free = all(kept_names(names, lines) for names in ride_names)
    taken = all(any(is_line(name, line) for names in ride_names for name in names) for line in lines.take)
    return bool(ride_names) and free and taken


def kept_names(names: Sequence[str], lines: TransitLines) -> list[str]:
    """Return the lines of a ride that are not refused."""
    return [name for name in names if not any(is_line(name, line) for line in lines.avoid)]


def ways_asked(row: MobilityRow) -> set[str]:
    """Return the modes of travel that a query names, ignoring the names of places."""
    query = row.text("query")
    for column in ("query_start_poi", "query_transit_poi", "query_end_poi"):
        for name in slots(row, column):
            query = query.replace(name, " ")
    return {mode for mode, words in _WAYS.items() if words.search(query)}


def way_given(row: MobilityRow) -> str:
    """Return the mode of travel in the row's context; empty if there is none."""
    tool = str(row.mapping("context").get("travel_tool") or "")
    return next((mode for mode, words in _WAYS.items() if words.search(tool)), "")


def arrive_by(row: MobilityRow) -> int | None:
    """Return the time to arrive by, in minutes after midnight; None unless the query gives exactly one time, for arriving."""
    query = row.text("query")[:_LONGEST_QUERY]
    times = read(query, language="zh", lexicon=lexicon_of(())).times
    if len(times) != 1 or len(times[0].minutes) != 1:
        return None
    around = query[max(times[0].span.start - 2, 0) : times[0].span.end + 4]
    return times[0].minutes[0] if _ARRIVE.search(around) else None


def properties_asked(query: str) -> list[str]:
    """Return the figures of a route that a query requests: distance, time, tolls, lights or taxi."""
    asked = [name for name, words in PROPERTIES.items() if any(word in query for word in words)]
    by_taxi = any(word in query for word in ("打车", "出租车", "打的", "网约车"))
    return ["taxi" if name == "tolls" and by_taxi else name for name in asked]


def states_in(text: str, states: States) -> list[str]:
    """Return the states that a text mentions, by their names or their words."""
    return [state for state, words in states.items() if any(word in text for word in (state, *words))]


def other_words(states: States, without: Iterable[str]) -> list[str]:
    """Return the words for all states that are not in ``without``, without repetitions."""
    others = states.keys() - set(without)
    return list(dict.fromkeys(word for state, words in states.items() if state in others for word in words))


def without_brackets(name: str) -> str:
    """Return a name without brackets and the text in them."""
    return re.sub(r"[(（][^()（）]*[)）]", "", name)


def names_of_line(name: str) -> list[str]:
    """Return the names that people may use for the line with a full name (``地铁1号线八通线(环球度假区--古城)``)."""
    bare = re.split(r"[(（]", name)[0]
    parts = bare.split("/")
    names = [bare, *parts]
    for part in parts:
        names += [*_NUMBERED.findall(part), re.sub(r"^(?:地铁|轨道交通|轻轨)", "", part)]
        names += [line for line in _AFTER_NUMBER.findall(part) if len(line) > _SHORTEST_LINE]
    return [line for line in dict.fromkeys(names) if len(line) > 1]


def bare_city(name: str) -> str:
    """Return a city's name without its ending, such as ``市`` or ``自治州``."""
    return next((name.removesuffix(end) for end in _CITY_ENDINGS if name.endswith(end) and name != end), name)


def spellings_of_city(name: str) -> list[str]:
    """Return a city's name as given, without its ending, and with the ending ``市``."""
    bare = bare_city(name)
    return list(dict.fromkeys([name, bare, f"{bare}市"]))


def spellings_of_set(values: Sequence[Json], synonyms: Mapping[str, Sequence[str]]) -> list[Json]:
    """Return the lists that mean the same set: several members in any order, or a single member alone and with its synonyms."""
    words = [[str(value), *synonyms.get(str(value), ())] for value in values]
    if len(words) == 1:
        return [*([word] for word in words[0]), *words[0]]
    heads = [str(value) for value in values]
    return [list(order) for order in permutations(heads)] if len(heads) <= _FEW else [heads]


def spellings_of_points(values: Sequence[Json]) -> list[Json]:
    """Return the spellings of a list of points, with and without final zeros, as lists and as joined texts."""
    spelled = [_spellings_of_point(str(value)) for value in values]
    lists = dict.fromkeys(zip(*spelled, strict=True))
    return [*map(list, lists), *map(";".join, lists)]


def _spellings_of_point(text: str) -> tuple[str, str, str]:
    """Return a point as written, with six decimals, and with the shortest decimals; any other text three times."""
    point = point_of(text)
    return (text, f"{point[0]:.6f},{point[1]:.6f}", f"{point[0]!r},{point[1]!r}") if point else (text, text, text)
