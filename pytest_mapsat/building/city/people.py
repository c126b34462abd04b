"""What people do in a made-up city: chains of searches, views, journeys and orders that follow their habits, and the rows that tell about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pytest_mapsat.building.towns import Draws
from pytest_mapsat.model import Json, JsonObject

from .sorts import meets
from .world import Centre, World

#: How many days an activity row and a chain look back, and those of them that count as late.
DAYS, LATE_DAYS = 90, 45
#: A search shows so many places; where none of them will do, the search is made so much nearer to one that does.
_SHOWN = 10
#: Sessions begin in the hours in which nearly everything is open, two an hour, no two of a user at once.
_HOURS = range(12, 18)
#: How often, in percent: a filter is set for what is looked for, a session is broken by something else, a journey is an order instead.
_FILTERS, _JUMPS, _ORDERS = 40, 12, 30
#: How often, in percent, a search is made about another centre of the town.
_ROAMS = 40
#: A visit is told of from so many on; at most so many places are.
_USUAL, _MOST_VISITS = 2, 3
_MODES = ("walking", "cycling", "driving", "transit")


@dataclass(frozen=True)
class Habit:
    """What somebody usually does in one sort of situation.

    Attributes:
        dimension: what the situation is called, in the language of the town: ``cafes``.
        choice: what is chosen or done there: ``dogs welcome``; where ``where`` and ``mode`` are empty, it is said.
        times: in how many of the situations it was.
        of: how many situations there were; the same for all habits of one sort, or of one dimension that has no sort.
        early: how many of ``times`` lie more than 45 days back; None: that is left to chance.
        late: how many of them lie in the last 45 days.
        sort: the name of the sort of places that are looked for; empty: none is.
        where: what the chosen place has, as a match of checks: ``{"dogs": true}``, or ``{"id": ...}`` for a usual place.
        mode: how the user goes there.
    """

    dimension: str
    choice: str
    times: int
    of: int
    early: int | None = None
    late: int | None = None
    sort: str = ""
    where: Mapping[str, Json] = field(default_factory=dict)
    mode: str = ""

    def __post_init__(self) -> None:
        """Refuse counts that do not add up."""
        early, late = self.halves or (self.times, 0)
        if early + late != self.times or min(early, late) < 0 or self.times > self.of:
            raise ValueError(
                f"habit {self.choice!r}: found {self.times} times of {self.of}, {early} early and {late} late"
            )

    @property
    def halves(self) -> tuple[int, int] | None:
        """How often early and how often late; None where that is left to chance."""
        if self.early is None and self.late is None:
            return None
        early = self.times - (self.late or 0) if self.early is None else self.early
        return early, self.times - early if self.late is None else self.late

    @property
    def situation(self) -> str:
        """What its situations are told apart by."""
        return self.sort or self.dimension

    def clashes(self, other: Habit) -> bool:
        """Return whether both cannot be followed at once."""
        modes = {self.mode, other.mode} - {""}
        pairs = [(self.where[name], other.where[name]) for name in self.where.keys() & other.where]
        return len(modes) > 1 or any(
            one != another and not isinstance(one, Mapping) and not isinstance(another, Mapping)
            for one, another in pairs
        )


def chain_of(
    draws: Draws,
    uid: str,
    habits: Sequence[Habit],
    world: World,
    until: datetime,
    *,
    home: Centre,
    chance: int | None = None,
) -> list[JsonObject]:
    """Return what a user did in the 90 days before a moment, as events of a behaviour log, in the order of time.

    Args:
        draws: what the chain is drawn from.
        uid: the user.
        habits: what the user usually does.
        world: where.
        until: the moment, with its zone; all events lie on earlier days.
        home: about which centre the user lives, and makes most searches.
        chance: in how many of a hundred situations the user takes any of the places shown. None: the counts of all habits come out exactly, early and late ones too.

    Raises:
        ValueError: habits of one situation have different ``of``, a habit counts more than it can, or nowhere in the town is a place that a
            situation needs.
    """
    town = world.town_of(home.town)
    events: list[JsonObject] = []
    situations = list(dict.fromkeys(habit.situation for habit in habits))
    slots = {
        late: draws.sample([(day, hour, half) for day in days for hour in _HOURS for half in (0, 30)], 540)
        for late, days in ((False, range(LATE_DAYS + 1, DAYS + 1)), (True, range(1, LATE_DAYS + 1)))
    }
    session = _Sessions(draws, uid, world, home, until)
    for situation in situations:
        own = [habit for habit in habits if habit.situation == situation]
        for late, followed in _occasions(draws, own):
            avoided = () if chance is not None else [habit for habit in own if habit not in followed]
            kept = () if chance is not None and draws.chance(chance) else followed
            events += session.of(slots[late].pop(), own[0], kept, avoided)
    others = [sort for sort in town.sorts if sort not in situations]
    for _ in range(sum(habit.of for habit in habits) // 8):
        sort = draws.choice(others)
        any_habit = Habit(town.sorts[sort].dimension, "", 0, 0, sort=sort)
        events += session.of(slots[draws.chance(50)].pop(), any_habit, (), ())
    return sorted(events, key=lambda event: event["at"])


def activity_row(
    uid: str, events: Sequence[Mapping[str, Any]], habits: Iterable[Habit], world: World, until: datetime
) -> JsonObject:
    """Return the row of ``activities`` that a chain comes to: usual places, and for each habit how often it was followed, of how many times, early and late.

    Args:
        uid: the user.
        events: the user's events, in the order of time.
        habits: what is counted; their own counts have no part in it.
        world: where.
        until: the moment that early and late count back from.
    """
    sessions: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        sessions.setdefault(event["session"], []).append(event)
    counted = []
    for habit in habits:
        of = [session for session in sessions.values() if session[0].get("query") in _queries(habit, world)]
        followed = [session for session in of if _follows(session, habit, world)]
        late = sum(_is_late(session[0], until) for session in followed)
        counts = {"times": len(followed), "of": len(of), "early": len(followed) - late, "late": late}
        counted.append({"dimension": habit.dimension, "choice": habit.choice, **counts})
    return {"uid": uid, "days": DAYS, "visits": _visits(sessions.values(), world, until), "habits": counted}


def user_row(uid: str, home: str, mode: str, facts: Mapping[str, Json] | None = None) -> JsonObject:
    """Return the row of ``users`` of a user: the profile.

    Args:
        uid: the user.
        home: where the user lives, such as a street.
        mode: the usual way to travel: ``walking``, ``cycling``, ``driving``, ``transit`` or ``ride``.
        facts: what else the profile says, under the names that the starter suite has: ``household``, ``likes``, ``needs`` (texts), ``diet`` (``allergies``),
            ``spending`` (``meal_max_yuan``, ...), ``vehicle`` (``kind``, ``connector``).
    """
    return {"uid": uid, "home": {"name": home}, "travel": {"usual_mode": mode}, **(facts or {})}


class _Sessions:
    """Makes the sessions of one user."""

    def __init__(self, draws: Draws, uid: str, world: World, home: Centre, until: datetime) -> None:
        self._draws, self._uid, self._world, self._home = draws, uid, world, home
        self._midnight = until.replace(hour=0, minute=0, second=0, microsecond=0)
        self._town = world.town_of(home.town)
        self._count = 0

    def of(
        self, slot: tuple[int, int, int], habit: Habit, followed: Sequence[Habit], avoided: Sequence[Habit]
    ) -> list[JsonObject]:
        """Return the events of one situation: what is searched, seen, said and done."""
        day, hour, minute = slot
        at = self._midnight - timedelta(days=day) + timedelta(hours=hour, minutes=minute + self._draws.below(4))
        self._count += 1
        steps: list[JsonObject] = []
        about = self._draws.choice(self._town.centres) if self._draws.chance(_ROAMS) else self._home
        spot = self._spot(about.lon, about.lat)
        spoken = [other for other in followed if not other.where and not other.mode]
        if habit.sort:
            shown, chosen, spot = self._choice(habit, followed, avoided, spot)
            steps += self._looks(habit, followed, shown, chosen)
            steps += [{"type": "say", "text": other.choice} for other in spoken]
            steps.append(self._act(chosen, followed, avoided))
        else:
            steps.append({"type": "search", "query": habit.dimension})
            steps += [{"type": "say", "text": other.choice} for other in spoken]
        events = []
        for step in steps:
            lon, lat = spot
            told = {"at": at.isoformat(), "user": self._uid, **step, "lon": lon, "lat": lat, "city": self._town.name}
            events.append({**told, "session": f"{self._uid}-{self._count}"})
            at += timedelta(seconds=self._draws.between(20, 150))
        return events

    def _choice(
        self, habit: Habit, followed: Sequence[Habit], avoided: Sequence[Habit], spot: tuple[float, float]
    ) -> tuple[list[JsonObject], JsonObject, tuple[float, float]]:
        """Return the places shown, the one chosen, and where the search is made: about home, or else nearer to a place that will do."""

        def fits(row: JsonObject) -> bool:
            return all(meets(row, other.where) for other in followed) and not any(
                other.where and meets(row, other.where) for other in avoided
            )

        rows = self._world.near(*spot, habit.sort)
        shown = rows[:_SHOWN]
        fitting = [row for row in shown if fits(row)]
        if fitting:
            return shown, self._draws.choice(fitting), spot
        fitting = [row for row in rows if fits(row)]
        if not fitting:
            wanted = [dict(other.where) for other in followed]
            raise ValueError(
                f"{self._uid}: {self._town.name} has no place of the sort {habit.sort} with {wanted} and "
                f"without {[dict(other.where) for other in avoided]}"
            )
        chosen = fitting[0]
        spot = self._spot(chosen["lon"], chosen["lat"], 100)
        shown = self._world.near(*spot, habit.sort)[:_SHOWN]
        return shown, chosen, spot

    def _looks(
        self, habit: Habit, followed: Sequence[Habit], shown: Sequence[JsonObject], chosen: JsonObject
    ) -> list[JsonObject]:
        draws = self._draws
        kind = self._town.sorts[habit.sort].kind
        steps: list[JsonObject] = [{"type": "search", "query": kind, "shown": [row["id"] for row in shown]}]
        filters = [told for told in (_filter(other.where) for other in followed) if told and draws.chance(_FILTERS)]
        steps += [{"type": "filter", "where": told} for told in filters]
        seen = draws.sample([row for row in shown if row is not chosen], draws.below(3))
        steps += [{"type": "view", "place": row["id"]} for row in (*seen, chosen)]
        if draws.chance(_JUMPS):
            other_sort = draws.choice([sort for sort in self._town.sorts if sort != habit.sort])
            jump = draws.choice(self._world.group(self._home, other_sort).ids)
            steps.insert(1, {"type": "view", "place": jump})
        return steps

    def _act(self, chosen: JsonObject, followed: Sequence[Habit], avoided: Sequence[Habit]) -> JsonObject:
        modes = [habit.mode for habit in followed if habit.mode]
        if not modes and not any(habit.mode for habit in avoided) and self._draws.chance(_ORDERS):
            return {"type": "order", "place": chosen["id"]}
        not_taken = [mode for mode in _MODES if mode not in {habit.mode for habit in avoided}]
        return {"type": "navigate", "place": chosen["id"], "mode": modes[0] if modes else self._draws.choice(not_taken)}

    def _spot(self, lon: float, lat: float, off: int = 600) -> tuple[float, float]:
        """Return a point near another, at most so many 0.00001 degrees away each way."""
        return tuple(  # type: ignore[return-value]  # a pair of a pair
            (round(part * 100_000) + self._draws.between(-off, off)) / 100_000 for part in (lon, lat)
        )


def _occasions(draws: Draws, habits: Sequence[Habit]) -> list[tuple[bool, list[Habit]]]:
    """Return for each occasion of one situation whether it is late, and which habits it follows; each as often as it says.

    Those that clash never meet; what is left undone is spread, as few places lack several things at once.
    """
    counts = {habit.of for habit in habits}
    if len(counts) != 1:
        raise ValueError(f"habits of {habits[0].situation}: `of` differs: {sorted(counts)}")
    of = counts.pop()
    halves = [habit.halves for habit in habits if habit.halves]
    fewest, most = max((late for _, late in halves), default=0), of - max((early for early, _ in halves), default=0)
    if fewest > most:
        raise ValueError(f"habits of {habits[0].situation}: early and late ones are more than {of}")
    lates = min(max(of // 2, fewest), most)
    occasions = [(at >= of - lates, list[Habit]()) for at in range(of)]
    for habit in sorted(habits, key=lambda habit: habit.times, reverse=True):
        parts = zip((False, True), habit.halves, strict=True) if habit.halves else [(None, habit.times)]
        for late, times in parts:
            free = [
                followed
                for is_late, followed in occasions
                if late in (None, is_late) and not any(habit.clashes(other) for other in followed)
            ]
            if len(free) < times:
                raise ValueError(f"habit {habit.choice!r}: {times} times of {len(free)} cannot be")
            # The least followed first, and those at random, so that few occasions follow nothing.
            shuffled = draws.sample(free, len(free))
            for followed in sorted(shuffled, key=len)[:times]:
                followed.append(habit)
    return occasions


def _filter(where: Mapping[str, Json]) -> JsonObject:
    """Return the filter that matches stand for; empty where a search form would have none: for ids, times and least figures."""
    told = {}
    for column, match in where.items():
        value = match.get("text", match.get("max")) if isinstance(match, Mapping) else match
        if value is not None and column != "id":
            told[column] = value
    return told


def _queries(habit: Habit, world: World) -> set[str]:
    return {town.sorts[habit.sort].kind for town in world.towns} if habit.sort else {habit.dimension}


def _follows(session: Sequence[Mapping[str, Any]], habit: Habit, world: World) -> bool:
    last = session[-1]
    if habit.mode and last.get("mode") != habit.mode:
        return False
    if habit.where:
        return "place" in last and meets(world.place(last["place"]), habit.where)
    return bool(habit.mode) or any(event.get("text") == habit.choice for event in session)


def _is_late(event: Mapping[str, Any], until: datetime) -> bool:
    return (until.date() - datetime.fromisoformat(event["at"]).date()).days <= LATE_DAYS


def _visits(sessions: Iterable[Sequence[Mapping[str, Any]]], world: World, until: datetime) -> list[JsonObject]:
    """Return the places that the user went to more than once, the most visited first."""
    visits = [session[-1] for session in sessions if "place" in session[-1]]
    times = Counter(event["place"] for event in visits)
    usual = sorted((-count, place) for place, count in times.items() if count >= _USUAL)[:_MOST_VISITS]
    rows = []
    for count, place in usual:
        own = [event for event in visits if event["place"] == place]
        late = sum(_is_late(event, until) for event in own)
        last = max(event["at"] for event in own)[:10]
        told = {"times": -count, "early": -count - late, "late": late, "last": last}
        rows.append({"place_id": place, "name": world.place(place)["name"], **told})
    return rows
