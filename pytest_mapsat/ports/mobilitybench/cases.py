"""One row of MobilityBench's table becomes a case."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pytest_mapsat.model import Case, JsonObject, Tool
from pytest_mapsat.suite import ImportLog

from .calls import expected_tools
from .doubts import doubts_of
from .factors import Made
from .oracle import answer
from .places import geolocation, nearby, poi, traffic, weather
from .routes import asked_property, departure, lines, multi_stop, options, planned
from .rows import SCENARIOS, SLOT_CHARS, Row, point_of, slots
from .words import meant_lines

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d{1,9})?")
_TEXT: JsonObject = {"type": "string", "maxLength": SLOT_CHARS}
_TEXTS: JsonObject = {"type": "array", "maxItems": 20, "items": _TEXT}
_WORDS = ("place", "near", "city", "time", "road", "origin", "destination")
_LISTS = ("waypoints", "strategy", "avoid_lines", "take_lines")
#: The output that every case asks for: the same in all, so that it tells nothing of the gold.
OUTPUT_SCHEMA: JsonObject = {
    "type": "object",
    "required": ["intent", "constraints"],
    "properties": {
        "intent": {"type": "string", "enum": list(SCENARIOS)},
        "constraints": {
            "type": "object",
            "additionalProperties": False,
            "properties": {**dict.fromkeys(_WORDS, _TEXT), **dict.fromkeys(_LISTS, _TEXTS)},
        },
        "plan": {
            "type": "array",
            "maxItems": 50,
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {"tool": _TEXT, "arguments": {"type": "object"}},
            },
        },
    },
}
_NO_QUESTION = {
    "id": "asks_nothing",
    "text": "不向用户反问（论文3.1.1：不允许澄清）",
    "check": {"kind": "asked", "at_most": 0},
}


_SCENARIOS: dict[str, Callable[[Row], Made]] = {
    "POI Query": poi,
    "Geolocation Query": geolocation,
    "Nearby Query": nearby,
    "Weather Query": weather,
    "Traffic Info Query": traffic,
    "Route Property Query": asked_property,
    "Arrival/Departure Time Query": departure,
    "Point-to-Point Planning": planned,
    "Multi-stop Planning": multi_stop,
    "Option-Constrained Route Planning": options,
    "Route-Constrained Planning": lines,
}


def convert_case(row: Row, number: int, tools: Mapping[str, Tool], log: ImportLog) -> Case | None:
    """Return the case of a row, or None after noting why it cannot be one.

    Args:
        row: the row, read.
        number: which row of the source it is, from 1.
        tools: the benchmark's tools.
        log: hears of what is odd.
    """
    doubts = doubts_of(row)
    for doubt in doubts:
        log.note("doubtful", f"{row.place} ({row.id})", doubt)
    context = _context(row, log)
    explicit, facts = _SCENARIOS[row.scenario](row)
    data: JsonObject = {
        "id": row.id,
        "domains": [row.family],
        "language": "zh",
        "attributes": _attributes(row, number, doubtful=bool(doubts)),
        "visible": {"query": row.text("query"), "context": context, "output_schema": OUTPUT_SCHEMA},
        "truth": {
            "intent": row.scenario,
            "explicit": explicit,
            "facts": facts,
            "policies": [_NO_QUESTION],
            "clarification": {"max_turns": 0},
            "tools": expected_tools(row, tools),
            "output": {"intent": row.scenario, "constraints": constraints(row)},
            "oracle": [
                {
                    "calls": [{"tool": call.tool, "arguments": call.arguments} for call in row.calls],
                    "say": answer(row),
                }
            ],
        },
    }
    return log.case(data, row.place)


def _attributes(row: Row, number: int, *, doubtful: bool) -> dict[str, str]:
    given = row.mapping("context").get("city")
    city = row.text("city") or (given.strip() if isinstance(given, str) else "")
    found = {"scenario": row.scenario, "city": city, "row": str(number)}
    found["gold"] = "doubtful" if doubtful else ""
    found["results"] = "cut" if any(call.cut for call in row.calls) else ""
    return {name: value for name, value in found.items() if value}


def _context(row: Row, log: ImportLog) -> JsonObject:
    """Return what an agent is shown; the moment, where there is a whole one, to the second and with China's offset."""
    given = row.mapping("context")
    found: JsonObject = {}
    point = point_of(given.get("user_current_location"))
    if point is not None:
        found["location"] = {"lon": point[0], "lat": point[1]}
    else:
        log.note("location", row.place, "context: no user_current_location of longitude and latitude")
    if isinstance(given.get("city"), str) and given["city"].strip():
        found["city"] = given["city"].strip()
    details = {name: given[name] for name in ("start_datetime", "travel_tool") if given.get(name)}
    moment = _MOMENT.fullmatch(str(details.get("start_datetime", "")).strip())
    if moment is not None:
        found["now"] = f"{moment[1]}T{moment[2]}+08:00"
    if details:
        found["details"] = details
    for name in sorted(given.keys() - {"user_current_location", "city", "start_datetime", "travel_tool"}):
        log.note("not_carried", row.place, f"context.{name} has no place in a case")
        log.leave(f"context.{name}")
    return found


def constraints(row: Row) -> JsonObject:
    """Return the constraints of the query, as the columns have them: only those that there are."""
    lines = meant_lines(row)
    slot = {
        "origin": row.text("query_start_poi"),
        "destination": row.text("query_end_poi"),
        "waypoints": slots(row, "query_transit_poi"),
        "strategy": [str(one) for one in row.items("strategy_list")],
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
