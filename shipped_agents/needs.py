"""What is known of a person: from their words in this dialogue, from what the app knows already, and from their profile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .language import CHARGERS, Request, clock_times, count_before, has_any, total_yuan
from .town import Json, Town

_MODES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("walking", ("on foot", "walking", "步行", "走路")),
    ("cycling", ("bike", "bicycle", "cycling", "骑车", "自行车")),
    ("driving", ("drive", "driving", "van", "by car", "in the car", "the car", "开车", "自驾")),
    ("transit", ("by bus", "by tram", "坐公交", "坐地铁")),
)
_WHEELCHAIR = ("wheelchair", "轮椅")
#: Who says one of these cannot take stairs.
_NO_STEPS = (*_WHEELCHAIR, "stroller", "pushchair", "stairs", "婴儿车", "楼梯")
_DOG = ("dog", "狗")
_CHILD = ("child", "daughter", "son", "baby", "toddler", "孩子", "女儿", "儿子", "宝宝")
_HURRY = ("fast", "quick", "hurry", "赶", "快充", "越快", "尽快")
_TALL = re.compile(r"(\d+(?:\.\d+)?) ?(m|metres?|meters?|cm|米|厘米) ?(?:tall|high|高)|高(\d+(?:\.\d+)?)(米|厘米)")
_AGE = re.compile(r"(\d+) ?(?:years|岁)")
_MONTHS = re.compile(r"\d+ ?(?:months|个月)")
#: Up to this age a child rides in a child seat.
_SEAT_AGE = 6
#: A habit is one that is chosen in at least this share of the cases.
_HABIT = 0.5


@dataclass(frozen=True)
class Needs:
    """What a good answer has to respect.

    Attributes:
        words: everything the user has said, lower case, with what the app knew before.
        likes: what the user likes, in their own words and from the profile.
        mode: how the user travels: walking, cycling, driving or transit.
        wishes: what a place has to offer, in their own words and from the profile.
        deadline: minute of the day by which all must be done, or None.
        until: the latest time that is mentioned, minute of the day, or None.
        hour: minute of the day for which something is wanted, or None.
        step_free: no stairs.
        wheelchair, dog: who or what comes along.
        height_m: height of the vehicle, metres, or None.
        connector: plug of the user's electric car, or empty.
        allergies: what the user must not eat.
        meal_max, ride_max: what the user spends at most, yuan, or None.
        total_max: what there is for everybody together, yuan, or None.
        people, bags: how many travel, and with how much luggage; None where unknown.
        child_seat: a small child comes along.
        hurry: speed matters.
        avoid_tolls: the user takes toll-free roads.
        asks_for_parking: the user wants to know, or usually wants to know, where to park.
    """

    words: str
    likes: str
    wishes: str
    mode: str
    deadline: int | None
    until: int | None
    hour: int | None
    step_free: bool
    wheelchair: bool
    dog: bool
    height_m: float | None
    connector: str
    allergies: tuple[str, ...]
    meal_max: float | None
    ride_max: float | None
    total_max: float | None
    people: int | None
    bags: int | None
    child_seat: bool
    hurry: bool
    avoid_tolls: bool
    asks_for_parking: bool


def needs_of(request: Request, said: Sequence[str], context: Mapping[str, Any], town: Town) -> Needs:
    """Return what is known of the user: of what they ``said`` in this dialogue, the context, and their profile."""
    profile = town.ask("get_user_profile", uid=context["uid"])
    habits = town.ask("get_recent_activity", uid=context["uid"]).get("habits", [])
    words = " \n ".join([*context["history"], *said]).lower()
    spending = profile.get("spending", {})
    wishes = " ".join([words, *profile.get("needs", [])]).lower()
    people = count_before(words, "of us", "people", "persons", "个人", "位")
    total = total_yuan(words)
    return Needs(
        words=words,
        likes=" ".join([words, *profile.get("likes", [])]),
        wishes=wishes,
        mode=_mode(request, words, profile),
        deadline=_deadline(words, town, tomorrow=request.tomorrow),
        until=max(clock_times(words, town.minute), default=None),
        hour=next(iter(clock_times(" ".join(said).lower(), town.minute)), None),
        step_free=has_any(wishes, _NO_STEPS),
        wheelchair=has_any(wishes, _WHEELCHAIR),
        dog=has_any(" ".join([words, *profile.get("household", [])]).lower(), _DOG),
        height_m=_height(words),
        connector=profile.get("vehicle", {}).get("connector", ""),
        allergies=tuple(profile.get("diet", {}).get("allergies", ())),
        meal_max=total / people if total and people else spending.get("meal_max_yuan"),
        ride_max=spending.get("ride_max_yuan"),
        total_max=total,
        people=people,
        bags=_bags(words),
        child_seat=has_any(words, _CHILD) and _has_small_child(profile),
        hurry=has_any(words, _HURRY),
        avoid_tolls=_usually(habits, ("toll-free", "不走收费")),
        asks_for_parking=has_any(words, ("park", "停车")) or _usually(habits, ("car park", "停车场")),
    )


def _mode(request: Request, words: str, profile: Json) -> str:
    """Return how the user travels: what they say today counts more than what they usually do."""
    if request.subject in CHARGERS:
        return "driving"
    usual = str(profile.get("travel", {}).get("usual_mode", "walking"))
    said = next((mode for mode, signs in _MODES if has_any(words, signs)), usual)
    return "driving" if said == "ride" else said


def _deadline(words: str, town: Town, *, tomorrow: bool) -> int | None:
    """Return the time in a sentence that sets a limit."""
    after = 0 if tomorrow else town.minute
    for sentence in re.split(r"[.。!！?？;；\n]", words):
        if re.search(r"\b(?:back|by|before|latest|at)\b|前|最晚|之前", sentence):
            times = clock_times(sentence, after)
            if times:
                return times[-1]
    return None


def _height(words: str) -> float | None:
    found = _TALL.search(words)
    if not found:
        return None
    value, unit = float(found[1] or found[3]), found[2] or found[4]
    return value / 100 if unit in ("cm", "厘米") else value


def _bags(words: str) -> int | None:
    if has_any(words, ("no luggage", "no bags", "没有行李", "没行李")):
        return 0
    return count_before(words, "suitcase", "bag", "trunk", "箱子", "行李", "件行李")


def _has_small_child(profile: Json) -> bool:
    household = " ".join(profile.get("household", []))
    return bool(_MONTHS.search(household)) or any(int(age) <= _SEAT_AGE for age in _AGE.findall(household))


def _usually(habits: Sequence[Json], signs: Sequence[str]) -> bool:
    return any(has_any(habit["choice"].lower(), signs) and habit["times"] / habit["of"] >= _HABIT for habit in habits)
