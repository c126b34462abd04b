"""Import of MobilityBench's published table of episodes (CSV, 33 columns of text and Python literals).

What the columns mean was found by looking at the published rows; README.md here describes it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import IO

from pytest_mapsat.formats import content_digest, package_data, printable, replacing
from pytest_mapsat.model import Case, Json, JsonObject, Recording, Tool
from pytest_mapsat.ports import (
    files_of,
    imported_manifest,
    packaged_tools,
    source_error,
    table_records,
    write_suite,
)
from pytest_mapsat.suite import ImportLog, ImportReport, new_folder, write_cases

from .requirements import answer, doubts_of, required
from .rows import (
    COLUMNS,
    ROUTES,
    GoldCall,
    MobilityRow,
    OddRowError,
    meant_lines,
    point_of,
    read_row,
    slots,
    spellings_of_city,
    spellings_of_points,
    spellings_of_set,
    text_at,
    without_brackets,
)

FORMAT = "mobilitybench"
_DATA = package_data(__package__, "words.yaml")
_TABLES = ("data/datasets/*.csv", "datasets/*.csv", "data/*.csv", "*.csv")
_HINT = "give the published table itself, such as data/datasets/sample_10.csv"


def import_mobilitybench(src: Path, dest: Path) -> ImportReport:
    """Create a suite at ``dest`` from the published table at ``src``.

    Args:
        src: the CSV file, or the folder (the repository's) that holds it.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        What came over, what did not, and what is odd.

    Raises:
        SuiteError: when the table cannot be read, lacks a column, or has no row that becomes a case.
        UsageError: when ``dest`` cannot be used.
    """
    tables = files_of(src, *([pattern] for pattern in _TABLES), lacks="holds no table (*.csv)", hint=_HINT)
    if len(tables) > 1:
        raise source_error(src, f"holds {len(tables)} tables (*.csv)", _HINT)
    with new_folder(dest) as folder:
        return _build(tables[0], folder)


def _build(table: Path, folder: Path) -> ImportReport:
    """Write the suite of a table, holding one row at a time, and return the report of the import."""
    log = ImportLog()
    kept: set[str] = set()
    by_tool: Counter[str] = Counter()
    with replacing(folder / "recordings" / "recorded.jsonl") as recordings:
        write_cases(folder / "cases.jsonl", _cases(table, log, kept, recordings, by_tool))
    if not kept:
        raise log.nothing(table, "holds no row")
    log.note("assumption", "time", "times stand without an offset in the source; +08:00 is added, China's one zone")
    snapshot, recorded, tools = content_digest(table)[:12], by_tool.total(), packaged_tools(__package__)
    about = _DATA["description"].format(snapshot=snapshot, cases=len(kept), recordings=recorded)
    manifest = imported_manifest(FORMAT, snapshot, **_DATA["manifest"], description=about)
    write_suite(folder, manifest, tools.values())
    return log.report(folder, FORMAT, cases=len(kept), tools=len(tools), by_tool=by_tool)


def _rows(table: Path, log: ImportLog) -> Iterator[tuple[int, MobilityRow]]:
    """Yield each readable row with its number in the table; unreadable rows are noted and omitted."""
    numbers = count(1)

    def left_out(place: str, why: str) -> None:
        """Note that a row is omitted, and the reason."""
        log.note("unparsable", place, f"{why}; the row is left out", leaves="rows")

    def torn(place: str, why: str) -> None:
        """Note and count an unreadable row."""
        next(numbers)
        left_out(place, why)

    hint = "the published table has the columns query, context, task_scenario, tool_list, ..."
    for record in table_records(table, torn, COLUMNS, hint):
        number, place = next(numbers), record.place
        for name in sorted(record.data.keys() - set(COLUMNS) - {""}) if number == 1 else ():
            log.note("column", place, f"the column {printable(name)} is not carried over", leaves=f"column {name}")
        try:
            yield number, read_row(record, log)
        except OddRowError as error:
            left_out(place, str(error))


def _cases(table: Path, log: ImportLog, kept: set[str], recordings: IO[bytes], by_tool: Counter[str]) -> Iterator[Case]:
    """Yield the cases of a table; keep their ids in ``kept``, write their recordings, and count these by tool."""
    for number, row in _rows(table, log):
        if row.id in kept:
            message = f"the same row as that of {row.id}; the first one is kept"
            log.note("duplicate_case", row.place, message, leaves="rows")
            continue
        case = convert_case(row, number, log)
        if case is None:
            log.leave("rows")
            continue
        kept.add(case.id)
        _remark(row, log)
        for recording in recordings_of(row):
            by_tool[recording.tool] += 1
            line = json.dumps(recording.to_json(), ensure_ascii=False, allow_nan=False)
            recordings.write(line.encode() + b"\n")
        yield case


def _remark(row: MobilityRow, log: ImportLog) -> None:
    """Note the expected calls that will get no answer because their result is cut off or missing."""
    place = f"{row.place} ({row.id})"
    for call in row.calls:
        if call.cut:
            message = f"the result of {call.tool} is cut at {len(call.cut)} characters"
            log.note("cut", place, f"{message}; it is kept, marked, and never served")
        elif call.result is None:
            message = f"no column has what {call.tool} returned; the expected call will miss"
            log.note("no_recording", place, message)


# -- a row as a case

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d{1,9})?")
#: The output that every case asks for: the same in all, so that it tells nothing of the gold.
OUTPUT_SCHEMA: JsonObject = _DATA["output_schema"]


def convert_case(row: MobilityRow, number: int, log: ImportLog) -> Case | None:
    """Convert a row with its number in the source to a case; if this is impossible, note the reason and return None."""
    doubts = doubts_of(row)
    for doubt in doubts:
        log.note("doubtful", f"{row.place} ({row.id})", doubt)
    calls = [{"tool": call.tool, "arguments": call.arguments} for call in row.calls]
    data: JsonObject = {
        "id": row.id,
        "domains": [row.family],
        "language": "zh",
        "attributes": _attributes(row, number, doubtful=bool(doubts)),
        "visible": {"query": row.text("query"), "context": _context(row, log), "output_schema": OUTPUT_SCHEMA},
        "truth": {
            "intent": row.scenario,
            "requirements": [*required(row), _DATA["no_question"]],
            "clarification": {"max_turns": 0},
            "tools": _expected_tools(row),
            "output": {"intent": row.scenario, "constraints": _constraints(row)},
            "oracle": [{"calls": calls, "say": answer(row)}],
        },
    }
    return log.case(data, row.place)


def _city(row: MobilityRow) -> str:
    """Return the city in the row's context; empty if there is none."""
    city = row.mapping("context").get("city")
    return city.strip() if isinstance(city, str) else ""


def _attributes(row: MobilityRow, number: int, *, doubtful: bool) -> dict[str, str]:
    """Return the attributes of a case: scenario, city, row number, and whether its gold is doubtful or a result cut."""
    attributes = {"scenario": row.scenario, "city": row.text("city") or _city(row), "row": str(number)}
    cut = any(call.cut for call in row.calls)
    attributes |= {"gold": "doubtful" if doubtful else "", "results": "cut" if cut else ""}
    return {name: value for name, value in attributes.items() if value}


def _context(row: MobilityRow, log: ImportLog) -> JsonObject:
    """Return the context that an agent sees, without empty fields: location, city, time with China's offset, and details."""
    given = row.mapping("context")
    point = point_of(given.get("user_current_location"))
    if point is None:
        log.note("location", row.place, "context: no user_current_location of longitude and latitude")
    details = {name: given[name] for name in ("start_datetime", "travel_tool") if given.get(name)}
    moment = _MOMENT.fullmatch(str(details.get("start_datetime", "")).strip())
    for name in sorted(given.keys() - {"user_current_location", "city", "start_datetime", "travel_tool"}):
        log.note("not_carried", row.place, f"context.{name} has no place in a case", leaves=f"context.{name}")
    context = {
        "location": {"lon": point[0], "lat": point[1]} if point else None,
        "city": _city(row),
        "now": f"{moment[1]}T{moment[2]}+08:00" if moment else None,
        "details": details,
    }
    return {name: value for name, value in context.items() if value}


def _constraints(row: MobilityRow) -> JsonObject:
    """Return the gold constraints of the query by name, without empty values."""
    lines = meant_lines(row)
    slot = {
        "origin": row.text("query_start_poi"),
        "destination": row.text("query_end_poi"),
        "waypoints": slots(row, "query_transit_poi"),
        "strategy": [str(wish) for wish in row.items("strategy_list")],
        "place": row.text("near_poi_info"),
        "near": row.text("query_poi"),
        "road": row.text("road"),
        "time": row.text("time"),
        "avoid_lines": list(lines.avoid),
        "take_lines": list(lines.take),
    }
    first = row.calls[0].arguments
    if row.scenario == "POI Query":
        slot["place"] = str(first.get("keywords") or "")
    if row.scenario == "Weather Query":
        slot["city"] = str(first.get("city") or "")
    return {name: value for name, value in slot.items() if value}


# -- the calls that a row expects, and what they returned

#: The thousandth of a degree that the published sandbox takes for the same point, metres.
_NEAR_M = 111


def _expected_tools(row: MobilityRow) -> list[JsonObject]:
    """Return the expected calls; calls that use a point come after the searches for places."""
    expected: list[JsonObject] = []
    searches = [f"c{number}" for number, call in enumerate(row.calls, 1) if call.tool == "query_poi"]
    for number, call in enumerate(row.calls, 1):
        tool = packaged_tools(__package__)[call.tool]
        # The longitude's match has the latitude; what says nothing may be left out.
        asked = {name for name, value in call.arguments.items() if value not in (None, "", [], {})} - {"latitude"}
        entry: JsonObject = {
            "name": call.tool,
            "id": f"c{number}",
            "required": [name for name in tool.parameters.get("required", ()) if name in call.arguments],
            "match": {name: _match(name, value, call, tool) for name, value in call.arguments.items() if name in asked},
        }
        if searches and call.tool in (*ROUTES, "search_around_poi"):
            entry["after"] = searches
        expected.append(entry)
    return expected


def _match(name: str, value: Json, call: GoldCall, tool: Tool) -> JsonObject:
    """Return the rule that compares an argument with the expected value: by distance, by its spellings, or by equality."""
    rule = tool.match[name].type if name in tool.match else "json"
    if rule == "point" and (point := point_of(value)) is not None:
        return {"op": "within_m", "lon": point[0], "lat": point[1], "metres": _NEAR_M}
    if rule == "lon" and (point := point_of(f"{value},{call.arguments.get('latitude')}")) is not None:
        return {"op": "within_m", "lon": point[0], "lat": point[1], "metres": _NEAR_M, "lat_from": "latitude"}
    if rule == "place" and isinstance(value, str):
        return {"op": "one_of", "values": spellings_of_city(value)}
    if rule == "set" and isinstance(value, list):
        return {"op": "one_of", "values": spellings_of_set(value, tool.match[name].synonyms)}
    if rule == "points" and isinstance(value, list):
        return {"op": "one_of", "values": spellings_of_points(value)}
    return {"op": "equal", "value": value}


def recordings_of(row: MobilityRow) -> Iterator[Recording]:
    """Yield the recordings of a row: the results for the expected calls, marked if they are cut off."""
    for call in row.calls:
        if call.cut:
            yield Recording(case=row.id, tool=call.tool, arguments=call.arguments, result=call.cut, cut=True)
        elif call.result is not None:
            names = _synonyms(call)
            yield Recording(case=row.id, tool=call.tool, arguments=call.arguments, result=call.result, synonyms=names)


def _synonyms(call: GoldCall) -> dict[str, tuple[Json, ...]]:
    """Return more argument values with the same result, by parameter: other names of the place, road or city."""
    if not isinstance(call.result, dict):
        return {}
    city = text_at(call.arguments, "city")
    if call.tool == "traffic_status":
        road = re.split(r"[:：]", text_at(call.result, "trafficinfo", "description"))[0].strip()
        return _others("name", call, [road, *_without_city(text_at(call.arguments, "name"), city)])
    if call.tool != "query_poi":
        return {}
    words, name = text_at(call.arguments, "keywords"), text_at(call.result, "name")
    regions = text_at(call.result, "address").split()[:2]
    names = [name, without_brackets(name), without_brackets(words), *_without_city(words, city)]
    around = [region for region in (*regions, city) if region]
    names += [f"{region}{place}" for region in around for place in (name, words) if region[:2] not in place]
    return {**_others("keywords", call, names), **(_others("city", call, regions) if city else {})}


def _others(parameter: str, call: GoldCall, values: Sequence[str]) -> dict[str, tuple[Json, ...]]:
    """Return the values that differ from a call's own, under the parameter's name; an empty object if there are none."""
    given = call.arguments.get(parameter)
    others = tuple(value for value in dict.fromkeys(values) if value and value != given)
    return {parameter: others} if others else {}


def _without_city(words: str, city: str) -> list[str]:
    """Return the words without a leading city name, for each spelling of the city; an empty list if there is none."""
    spellings = spellings_of_city(city) if city else []
    return [words.removeprefix(name) for name in spellings if words.startswith(name) and words != name]
