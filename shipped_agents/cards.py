"""Answers as data, where a case wants one: a place, a ride, a line, a road or two stops, chosen by what is known of the person.

Every candidate is looked up with all its fields. Those that are shut, or break a rule of ``rules.py``, are dropped, and the first of the rest is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from .language import has_any
from .rules import QUESTIONS, RULES, Rule, fitting, opens_at
from .town import Json, Town, point

_WEEKDAYS = (("monday", "周一", "星期一"), ("tuesday", "周二"), ("wednesday", "周三"), ("thursday", "周四"), ("friday", "周五"), ("saturday", "周六"), ("sunday", "周日"))  # fmt: skip
_TOMORROW = ("tomorrow", "明天", "明早", "明晚")
_HOLIDAYS = frozenset({(1, 1), (5, 1), (10, 1)})
_SHUT = re.compile(r"closed|fully booked|停|休|约满|不营业|闭馆|不可用")
#: Who sets out now is there after so many minutes.
_ON_THE_WAY = 20
_MODES = (
    ("walking", ("on foot", "walk", "步行", "走路", "走过去")),
    ("cycling", ("bike", "cycle", "骑")),
    ("driving", ("drive", "car", "van", "lorry", "camper", "开车", "自驾")),
)


def question(message: str) -> str:
    """Return what has to be asked before a choice can be made, or an empty string."""
    return next((asked for signs, asked in QUESTIONS if has_any(message.lower(), signs)), "")


def answer(schema: Mapping[str, Any], said: Sequence[str], town: Town, context: Mapping[str, Any]) -> str:
    """Return the choice that suits the person, as JSON.

    Args:
        schema: the schema of the data.
        said: what was said in this dialogue, by both.
        town: the tools, and where the person is.
        context: what the app knows.
    """
    profile = town.ask("get_user_profile", uid=context["uid"])
    words = " \n ".join([*context["history"], *said, json.dumps(profile, ensure_ascii=False)]).lower()
    fields: Mapping[str, Any] = schema["properties"]
    kind = next(name for name in ("place_id", "ride", "line", "road", "stops") if name in fields)
    subject = _subject(str(fields[kind].get("description", "")))
    choose = {"place_id": _place, "ride": _ride, "line": _line, "road": _road, "stops": _stops}[kind]
    data = choose(subject, words, " ".join(said).lower(), town)
    told = {name: value for name, value in data.items() if name in fields and value is not None}
    return json.dumps(told, ensure_ascii=False)


def _subject(description: str) -> str:
    """Return the sort of place or the destination that the schema names."""
    found = re.search(r"id of the (.+?)(?:,|$)|to (.+?)(?:,|$)|去(.+?)的|^(.+?)的id", description)
    return next((part for part in found.groups() if part), "") if found else ""


def _suiting(rows: Sequence[Json], words: str, more: Sequence[Rule] = ()) -> list[Json]:
    """Return the rows that break no rule of those that the words call for; a rule that no row keeps is not applied."""
    left = list(rows)
    for keeps in more:
        left = [row for row in left if keeps(row)] or left
    return fitting(left, words, RULES)


def _day(said: str, town: Town) -> date:
    """Return the day that is spoken of."""
    if has_any(said, _TOMORROW):
        return town.day(tomorrow=True)
    named = next((at for at, names in enumerate(_WEEKDAYS) if has_any(said, names)), town.now.weekday())
    return town.day(tomorrow=False) + timedelta(days=(named - town.now.weekday()) % 7)


def _is_on(row: Json, day: date, town: Town) -> bool:
    """Return whether a notice does not say that it is shut on a day."""
    notice = str(row.get("notice", "")).lower()
    today = (day == town.now.date()) and re.search(r"today|今日|今天|now|前", notice)
    holiday = (day.month, day.day) in _HOLIDAYS and re.search(rf"holiday|节假日|{day.day} (?:and|january)", notice)
    weekday = any(name in notice for name in _WEEKDAYS[day.weekday()])
    return not (_SHUT.search(notice) and (today or holiday or weekday))


def _open_rules(said: str, town: Town) -> list[Rule]:
    day = _day(said, town)
    rules: list[Rule] = [lambda row: _is_on(row, day, town)]
    if day == town.now.date():
        minute = town.minute + _ON_THE_WAY
        rules.append(opens_at(f"{minute // 60 % 24:02d}:{minute % 60:02d}"))
    return rules


def _place(subject: str, words: str, said: str, town: Town) -> Json:
    found = town.details(town.near(subject, town.here))
    for place in found:
        place["deals"] = town.ask("search_deals", place_id=place["id"]).get("deals", [])
    best = next(iter(_suiting(found, words, _open_rules(said, town))), {})
    return {"place_id": best.get("id"), "hours": best.get("hours")}


def _ride(subject: str, words: str, said: str, town: Town) -> Json:  # noqa: ARG001  all choices take the same
    hit = next(iter(town.ask("search_poi", query=subject, city=town.city).get("places", ())), None)
    options = town.ask("get_ride_estimate", origin=town.here, destination=point(hit)).get("options", []) if hit else []
    cheapest = sorted(_suiting(options, words), key=lambda row: float(row["price_yuan"]))
    best = next(iter(cheapest), {})
    return {"ride": best.get("kind"), "price_yuan": best.get("price_yuan")}


def _line(subject: str, words: str, said: str, town: Town) -> Json:  # noqa: ARG001
    lines = town.ask("get_transit_lines", city=town.city, origin=town.here_name, destination=subject).get("lines", [])
    departures = [{**line, "leaves": leaves} for line in lines for leaves in line["next"]]
    suiting = sorted(_suiting(departures, words), key=lambda row: str(row["leaves"]))
    best = next(iter(suiting), {})
    return {name: best.get(name) for name in ("line", "leaves", "fare_yuan")}


def _road(subject: str, words: str, said: str, town: Town) -> Json:  # noqa: ARG001
    hit = next(iter(town.ask("search_poi", query=subject, city=town.city).get("places", ())), None)
    mode = next((mode for mode, signs in _MODES if has_any(words, signs)), "driving")
    routes = town.routes(point(hit), mode) if hit else []
    roads = [{**route, **town.ask("get_traffic", road=route["via"])} for route in routes if "via" in route]
    open_ = [road for road in roads if road.get("status") != "closed"]
    best = next(iter(_suiting(open_, words)), {})
    return {"road": best.get("via"), "duration_min": best.get("duration_min")}


def _stops(subject: str, words: str, said: str, town: Town) -> Json:
    day = _day(said, town)
    found = town.details(town.near(subject or "sights", town.here))
    suiting = _suiting(found, words, [lambda row: _is_on(row, day, town)])[:2]
    in_order = sorted(suiting, key=_last_entry)
    return {"stops": [{"place_id": row["id"], "price_yuan": row.get("price_yuan")} for row in in_order]}


def _last_entry(place: Json) -> str:
    """Return the time after which a place lets nobody in, ``HH:MM``."""
    found = re.search(r"last entry at (\d\d:\d\d)", str(place.get("notice", "")))
    return found[1] if found else "24:00"
