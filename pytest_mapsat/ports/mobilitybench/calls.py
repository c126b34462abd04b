"""The calls that a row expects: as expected tools of its case, and as recordings of what they returned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations

from pytest_mapsat.model import Json, JsonObject, Recording, Tool

from .rows import ROUTES, GoldCall, Row, point_of

#: The thousandth of a degree that the published sandbox takes for the same point, metres.
_NEAR_M = 111
_CITY_ENDINGS = ("特别行政区", "自治州", "地区", "市", "省", "县", "区", "盟")
_FEW = 3


def expected_tools(row: Row, tools: Mapping[str, Tool]) -> list[JsonObject]:
    """Return the expected calls; one that uses a point comes after the searches for places."""
    found: list[JsonObject] = []
    searches = [f"c{number}" for number, call in enumerate(row.calls, 1) if call.tool == "query_poi"]
    for number, call in enumerate(row.calls, 1):
        entry: JsonObject = {"name": call.tool, "id": f"c{number}"}
        if searches and call.tool in (*ROUTES, "search_around_poi"):
            entry["after"] = searches
        required = tools[call.tool].parameters.get("required", ())
        entry["required"] = [name for name in required if name in call.arguments]
        entry["match"] = _matches(call, tools[call.tool])
        found.append(entry)
    return found


def _matches(call: GoldCall, tool: Tool) -> JsonObject:
    found: JsonObject = {}
    for name, value in call.arguments.items():
        if name == "latitude" or value in (None, "", [], {}):
            continue  # the longitude's match has the latitude; what says nothing may be left out
        found[name] = _match(name, value, call, tool)
    return found


def _match(name: str, value: Json, call: GoldCall, tool: Tool) -> JsonObject:
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


def spellings_of_city(name: str) -> list[str]:
    """Return a city's name with and without the ending that says what sort of place it is."""
    bare = next((name.removesuffix(end) for end in _CITY_ENDINGS if name.endswith(end) and name != end), name)
    return list(dict.fromkeys([name, bare, f"{bare}市"]))


def spellings_of_set(values: Sequence[Json], synonyms: Mapping[str, Sequence[str]]) -> list[Json]:
    """Return the lists that mean a set, in any order and with declared synonyms, and a single member alone."""
    words = [[str(value), *synonyms.get(str(value), ())] for value in values]
    if len(words) == 1:
        return [*([word] for word in words[0]), *words[0]]
    heads = [str(value) for value in values]
    return [list(order) for order in permutations(heads)] if len(heads) <= _FEW else [heads]


def spellings_of_points(values: Sequence[Json]) -> list[Json]:
    """Return the lists of points as the tools' results and the rows spell them: with and without the last zeros."""
    exact = [str(value) for value in values]
    points = [point_of(value) for value in exact]
    six = [f"{point[0]:.6f},{point[1]:.6f}" if point else text for point, text in zip(points, exact, strict=True)]
    short = [f"{point[0]!r},{point[1]!r}" if point else text for point, text in zip(points, exact, strict=True)]
    lists = [exact, six, short]
    unique = [one for number, one in enumerate(lists) if one not in lists[:number]]
    return [*unique, *(";".join(one) for one in unique)]


def recordings_of(row: Row) -> list[Recording]:
    """Return the recordings of a row: what its columns say the expected calls returned, a part where the rest was cut off."""
    recordings = []
    for call in row.calls:
        if call.cut:
            recordings.append(
                Recording(case=row.id, tool=call.tool, arguments=call.arguments, result=call.cut, cut=True)
            )
        elif call.result is not None:
            synonyms = _synonyms(call)
            recordings.append(
                Recording(case=row.id, tool=call.tool, arguments=call.arguments, result=call.result, synonyms=synonyms)
            )
    return recordings


def _synonyms(call: GoldCall) -> dict[str, tuple[Json, ...]]:
    """Return further values that ask for the same: a place or road by the name that was found, or in its own region."""
    if not isinstance(call.result, dict):
        return {}
    city = str(call.arguments.get("city") or "")
    if call.tool == "traffic_status":
        info = call.result.get("trafficinfo")
        told = re.split(r"[:：]", str(info.get("description") or ""))[0].strip() if isinstance(info, dict) else ""
        return _others("name", call, [told, *_without_city(str(call.arguments.get("name") or ""), city)])
    if call.tool != "query_poi":
        return {}
    words, name = str(call.arguments.get("keywords") or ""), str(call.result.get("name") or "")
    regions = str(call.result.get("address") or "").split()[:2]
    names = [name, _bare(name), _bare(words), *_without_city(words, city)]
    names += [
        f"{region}{one}" for region in (*regions, city) for one in (name, words) if region and region[:2] not in one
    ]
    return {**_others("keywords", call, names), **(_others("city", call, regions) if city else {})}


def _others(parameter: str, call: GoldCall, values: Sequence[str]) -> dict[str, tuple[Json, ...]]:
    given = call.arguments.get(parameter)
    found = tuple(one for one in dict.fromkeys(values) if one and one != given)
    return {parameter: found} if found else {}


def _without_city(words: str, city: str) -> list[str]:
    return [
        words.removeprefix(one) for one in spellings_of_city(city) if city and words.startswith(one) and words != one
    ]


def _bare(name: str) -> str:
    return re.sub(r"[(（][^()（）]*[)）]", "", name)
