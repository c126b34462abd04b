"""Which rows have gold that cannot be what the user wanted. Each rule is general; a row is doubtful where one of them finds something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pytest_mapsat.model import shown
from pytest_mapsat.sandbox import distance_m

from .rows import Row, point_of
from .words import (
    MODES,
    OWN_PLACE,
    WEATHER,
    asked_lines,
    is_refused,
    meant_lines,
    obeys,
    rides,
    states_in,
    transits,
    way_given,
    ways_asked,
)

#: A district or county as words name it; what ends like one and is a part of a town has other characters before the ending.
_REGION = re.compile(
    r"(?:^|[省市州盟])([\u4e00-\u9fff]{1,3}[^东南西北中一二三四五六七八九十新老小社园景校街片市城厂务地发业活住库郊山矿辖属能特税高商假胜]区|[\u4e00-\u9fff]{2,4}?县)"
)
_ROAD_ENDINGS = re.compile(r"(?:快速路|高架路|高架|高速公路|高速|大道|大街|公路|路段|路|街)$")
_REFUSED_HIGHWAY = re.compile(r"(?:不|别|少|免|避|绕|勿|没有?)[^，,。]{0,4}高速")
_TEMPERATURE = re.compile(r"-?\d+(?:\.\d+)?\s*[℃度]")
_LATER = ("明天", "明日", "后天", "大后天", "明早", "明晚", "下周", "周末")
_CITY_ENDINGS = ("特别行政区", "自治州", "地区", "市", "省", "区", "县")
_FAR_M = 300_000


def doubts_of(row: Row) -> list[str]:
    """Return what is doubtful in the gold of a row, one sentence each."""
    return [doubt for rule in _RULES for doubt in rule(row)]


def _road(row: Row) -> Iterator[str]:
    info = row.mapping("ans").get("trafficinfo")
    description = str(info.get("description") or "") if isinstance(info, dict) else ""
    told = re.split(r"[:：]", description)[0].strip()
    asked = row.text("road")
    if asked and told and _ROAD_ENDINGS.sub("", told) not in asked and _ROAD_ENDINGS.sub("", asked) not in told:
        yield f"the traffic of {shown(asked)} is asked for, that of {shown(told)} is told"


def _way(row: Row) -> Iterator[str]:
    gold = MODES.get(row.route.tool) if row.route else None
    asked = ways_asked(row)
    if gold and asked and gold not in asked:
        yield f"{' or '.join(sorted(asked))} is asked for, {gold} is expected"
    elif gold and not asked and (given := way_given(row)) and given != gold:
        yield f"the context says {given}, {gold} is expected"


def _lines(row: Row) -> Iterator[str]:
    said, meant, query = asked_lines(row), meant_lines(row), row.text("query")
    for line in (*said.avoid, *said.take):
        refused = is_refused(query, line)
        if refused is not None and refused != (line in said.avoid):
            yield f"the user {'refuses' if refused else 'wants'} {shown(line)}, gold {'takes' if refused else 'avoids'} it"
    marked = row.text("matched_transit_index")
    ways = transits(row)
    if marked and ways and re.fullmatch(r"\d{1,3}(?:\.0)?", marked):
        index = int(float(marked))
        if index >= len(ways) or not obeys(rides(ways[index]), meant):
            yield f"the way that is marked, number {index}, breaks the constraint"


def _strategy(row: Row) -> Iterator[str]:
    query = row.text("query")
    for wish in map(str, row.items("strategy_list")):
        away = _REFUSED_HIGHWAY.search(query) is not None
        if (wish == "高速优先" and away) or (wish == "不走高速" and "高速" in query and not away):
            yield f"the strategy {shown(wish)} is not what the query asks for"


def _own_place(row: Row) -> Iterator[str]:
    for name, _ in row.places("query_start_poi"):
        if OWN_PLACE.fullmatch(name):
            yield f"the user's own place, {shown(name)}, is looked up as a place"


def _region(row: Row) -> Iterator[str]:
    """A place in another district than the words name."""
    for name, place in _searched(row):
        where = f"{place.get('name', '')}{place.get('address', '')}"
        for region in _REGION.findall(name):
            if region not in where and region[:-1] not in where:
                yield f"{shown(name)} was found as {shown(str(place.get('name')))}, which is not in {region}"


def _distant(row: Row) -> Iterator[str]:
    """A place of a common name far off, where nothing in the query leads there."""
    here = point_of(row.mapping("context").get("user_current_location"))
    for name, place in _searched(row):
        there, parts = point_of(place), str(place.get("address") or "").split()
        regions = [part[:2] for part in parts[:2]] + [
            start for start in [str(place.get("name"))[:2]] if start != name[:2]
        ]
        is_region = len(set(parts[1:])) == 1 < len(parts[1:])  # the service repeats the region where there is no street
        led = is_region or any(region in row.text("query") for region in regions)
        if here and there and not led and distance_m(*here, *there) > _FAR_M and not OWN_PLACE.fullmatch(name):
            apart = round(distance_m(*here, *there) / 1000)
            yield f"{shown(name)} was found as {shown(str(place.get('name')))}, {apart} km away, and nothing in the query leads there"


def _weather(row: Row) -> Iterator[str]:
    text = row.text("weather_description")
    if row.scenario != "Weather Query":
        return
    if not states_in(text, WEATHER) or not _TEMPERATURE.search(text):
        yield "the weather has no condition or no temperature"
    day = row.text("time") or next((word for word in _LATER if word in row.text("query")), "")
    if day.startswith(_LATER) and "当前天气" in text:
        yield f"the weather of {shown(day)} is asked for, that of now is told"
    cities = {str(call.arguments.get("city") or "") for call in row.calls}
    for city in sorted(filter(None, cities)):
        bare = next((city.removesuffix(end) for end in _CITY_ENDINGS if city.endswith(end) and city != end), city)
        if text and bare not in text:
            yield f"the weather of {shown(city)} is asked for, that of another place is told"


def _searched(row: Row) -> Iterator[tuple[str, dict[str, object]]]:
    for call in row.calls:
        if call.tool == "query_poi" and isinstance(call.result, dict):
            yield str(call.arguments.get("keywords") or ""), dict(call.result)


_RULES: tuple[Callable[[Row], Iterator[str]], ...] = (
    _road,
    _way,
    _lines,
    _strategy,
    _own_place,
    _region,
    _distant,
    _weather,
)
