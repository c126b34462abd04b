"""A made-up city from a seed: the tables that the tools of the starter suite answer from, what people do there, following their habits, and the builder of ``mapsat build city``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pytest_mapsat.making.worlds import TOWNS, BuildRequest, Draws
from pytest_mapsat.model import Json, JsonObject, UsageError

from .places import DAYS, YEAR, Centre, City, MadeUpWorld, document, meets, tool_files, world_of
from .suite import briefs_of as briefs_of
from .suite import build_suite, lines_of, put

#: Those of the days that a chain looks back which count as late.
LATE_DAYS = 45
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


class PlannedHabit(NamedTuple):
    """A user's usual choice in one sort of situation, with how often it is made.

    Attributes:
        dimension: what the situation is called, in the language of the town: ``cafes``.
        choice: what is chosen there: ``dogs welcome``.
        sort: the name of the sort of places that are looked for.
        where: what the chosen place has, as a match of checks: ``{"dogs": true}``.
        of: how many situations there were, half of them in the last 45 days; the same for all habits of one sort.
        early: in how many of the earlier half it was chosen.
        late: in how many of the later half.
    """

    dimension: str
    choice: str
    sort: str
    where: Mapping[str, Json]
    of: int
    early: int
    late: int


def chain_of(
    draws: Draws,
    uid: str,
    habits: Sequence[PlannedHabit],
    world: MadeUpWorld,
    until: datetime,
    *,
    home: Centre,
    chance: int,
) -> list[JsonObject]:
    """Return a user's actions in the 90 days before a moment, as events of a behaviour log in order of time.

    Args:
        draws: what the chain is drawn from.
        uid: the user.
        habits: what the user usually does.
        world: where.
        until: the moment, with its zone; all events lie on earlier days.
        home: about which centre the user lives, and makes most searches.
        chance: in how many of a hundred situations the user takes any of the places shown.
    """
    town = world.town_of(home.town)
    events: list[JsonObject] = []
    sorts = list(dict.fromkeys(habit.sort for habit in habits))
    slots = {
        late: draws.sample([(day, hour, half) for day in days for hour in _HOURS for half in (0, 30)], 540)
        for late, days in ((False, range(LATE_DAYS + 1, DAYS + 1)), (True, range(1, LATE_DAYS + 1)))
    }
    session = _Sessions(draws, uid, world, home, until)
    for sort in sorts:
        for late, followed in _occasions(draws, [habit for habit in habits if habit.sort == sort]):
            kept = () if draws.chance(chance) else followed
            events += session.of(slots[late].pop(), sort, kept)
    others = [sort for sort in town.sorts if sort not in sorts]
    for _ in range(sum(habit.of for habit in habits) // 8):
        sort = draws.choice(others)
        events += session.of(slots[draws.chance(50)].pop(), sort, ())
    return sorted(events, key=lambda event: event["at"])


def activity_row(
    uid: str, events: Sequence[Mapping[str, Any]], habits: Iterable[PlannedHabit], world: MadeUpWorld, until: datetime
) -> JsonObject:
    """Return a user's row of ``activities``: most visited places, and the counts for each habit, early and late.

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
        queries = {town.sorts[habit.sort].kind for town in world.towns}
        of = [session for session in sessions.values() if session[0].get("query") in queries]
        followed = [session for session in of if _follows(session, habit, world)]
        late = sum(_is_late(session[0], until) for session in followed)
        counts = {"times": len(followed), "of": len(of), "early": len(followed) - late, "late": late}
        counted.append({"dimension": habit.dimension, "choice": habit.choice, **counts})
    return {"uid": uid, "days": DAYS, "visits": _visits(sessions.values(), world, until), "habits": counted}


class _Sessions:
    """Generates a user's sessions as log events: a search, views of places, then an order or a navigation."""

    def __init__(self, draws: Draws, uid: str, world: MadeUpWorld, home: Centre, until: datetime) -> None:
        self._draws, self._uid, self._world, self._home = draws, uid, world, home
        self._midnight = until.replace(hour=0, minute=0, second=0, microsecond=0)
        self._town = world.town_of(home.town)
        self._count = 0

    def of(self, slot: tuple[int, int, int], sort: str, followed: Sequence[PlannedHabit]) -> list[JsonObject]:
        """Return the events of one session: a search with filters and views, then an order from the chosen place or a navigation to it."""
        day, hour, minute = slot
        at = self._midnight - timedelta(days=day) + timedelta(hours=hour, minutes=minute + self._draws.below(4))
        self._count += 1
        about = self._draws.choice(self._town.centres) if self._draws.chance(_ROAMS) else self._home
        shown, chosen, (lon, lat) = self._choice(sort, followed, self._spot(about.lon, about.lat))
        events = []
        for step in (*self._looks(sort, followed, shown, chosen), self._act(chosen)):
            event = {"at": at.isoformat(), "user": self._uid, **step, "lon": lon, "lat": lat, "city": self._town.name}
            events.append({**event, "session": f"{self._uid}-{self._count}"})
            at += timedelta(seconds=self._draws.between(20, 150))
        return events

    def _choice(
        self, sort: str, followed: Sequence[PlannedHabit], spot: tuple[float, float]
    ) -> tuple[list[JsonObject], JsonObject, tuple[float, float]]:
        """Return the displayed places, the chosen place and the search's point, which is moved near a matching place if none is displayed."""
        rows = self._world.near(*spot, sort)
        fitting = [row for row in rows if all(meets(row, habit.where) for habit in followed)]
        shown = rows[:_SHOWN]
        if near := [row for row in shown if row in fitting]:
            return shown, self._draws.choice(near), spot
        chosen = fitting[0]
        spot = self._spot(chosen["lon"], chosen["lat"], 100)
        return self._world.near(*spot, sort)[:_SHOWN], chosen, spot

    def _looks(
        self, sort: str, followed: Sequence[PlannedHabit], shown: Sequence[JsonObject], chosen: JsonObject
    ) -> list[JsonObject]:
        """Return the steps before the choice: the search, some filters, views of places, and sometimes a view of another sort."""
        draws = self._draws
        kind = self._town.sorts[sort].kind
        steps: list[JsonObject] = [{"type": "search", "query": kind, "shown": [row["id"] for row in shown]}]
        filters = [where for where in (_filter(other.where) for other in followed) if where and draws.chance(_FILTERS)]
        steps += [{"type": "filter", "where": where} for where in filters]
        seen = draws.sample([row for row in shown if row is not chosen], draws.below(3))
        steps += [{"type": "view", "place": row["id"]} for row in (*seen, chosen)]
        if draws.chance(_JUMPS):
            other_sort = draws.choice([other for other in self._town.sorts if other != sort])
            jump = draws.choice(self._world.group(self._home, other_sort).ids)
            steps.insert(1, {"type": "view", "place": jump})
        return steps

    def _act(self, chosen: JsonObject) -> JsonObject:
        """Return the final step of a session: an order of the chosen place, or a navigation to it."""
        if self._draws.chance(_ORDERS):
            return {"type": "order", "place": chosen["id"]}
        return {"type": "navigate", "place": chosen["id"], "mode": self._draws.choice(_MODES)}

    def _spot(self, lon: float, lat: float, off: int = 600) -> tuple[float, float]:
        """Return a random point near another, at most ``off`` steps of 0.00001 degrees away in each direction."""
        return tuple(  # type: ignore[return-value]  # a pair of a pair
            (round(part * 100_000) + self._draws.between(-off, off)) / 100_000 for part in (lon, lat)
        )


def _occasions(draws: Draws, habits: Sequence[PlannedHabit]) -> list[tuple[bool, list[PlannedHabit]]]:
    """Return the occasions of one sort of situation: whether each is late, and the habits it follows, in the planned numbers.

    What is left undone is spread, as few places lack several things at once.
    """
    of = habits[0].of
    occasions = [(at >= of // 2, list[PlannedHabit]()) for at in range(of)]
    for habit in sorted(habits, key=lambda habit: habit.early + habit.late, reverse=True):
        for late, times in ((False, habit.early), (True, habit.late)):
            # The least followed first, and those at random, so that few occasions follow nothing.
            free = [followed for is_late, followed in occasions if late == is_late]
            for followed in sorted(draws.sample(free, len(free)), key=len)[:times]:
                followed.append(habit)
    return occasions


def _filter(where: Mapping[str, Json]) -> JsonObject:
    """Return the search filters for the matches of a habit; empty if only ids, times or minimum figures are matched."""
    filters = {}
    for column, match in where.items():
        value = match.get("text", match.get("max")) if isinstance(match, Mapping) else match
        if value is not None and column != "id":
            filters[column] = value
    return filters


def _follows(session: Sequence[Mapping[str, Any]], habit: PlannedHabit, world: MadeUpWorld) -> bool:
    """Return whether a session ended at a place that matches the habit."""
    return "place" in session[-1] and meets(world.place(session[-1]["place"]), habit.where)


def _is_late(event: Mapping[str, Any], until: datetime) -> bool:
    """Return whether an event lies within the last ``LATE_DAYS`` days before a moment."""
    return (until.date() - datetime.fromisoformat(event["at"]).date()).days <= LATE_DAYS


def _visits(sessions: Iterable[Sequence[Mapping[str, Any]]], world: MadeUpWorld, until: datetime) -> list[JsonObject]:
    """Return rows for the three places that the user visited most often, at least twice each."""
    visits = [session[-1] for session in sessions if "place" in session[-1]]
    times = Counter(event["place"] for event in visits)
    usual = sorted((-count, place) for place, count in times.items() if count >= _USUAL)[:_MOST_VISITS]
    rows = []
    for count, place in usual:
        own = [event for event in visits if event["place"] == place]
        late = sum(_is_late(event, until) for event in own)
        last = max(event["at"] for event in own)[:10]
        counts = {"times": -count, "early": -count - late, "late": late, "last": last}
        rows.append({"place_id": place, "name": world.place(place)["name"], **counts})
    return rows


# -- the city itself ---------------------------------------------------------------------------------------------------

#: The moment up to which people did things; and how many live in a town, unless the request says otherwise, and at most.
UNTIL = datetime.fromisoformat(f"{YEAR}-06-30T00:00:00+08:00")
_BUILD_TOWNS, _PEOPLE, _BUILD_MOST = 2, 10, 500
#: In how many situations a habit shows, and in how many of a hundred the user takes anything.
_OF, _CHANCE = 30, 10
#: What is none of a catalogue: a log shows what people can choose by.
_UNLISTED = ("phone", "address", "tour", "alias")


class Person(NamedTuple):
    """An inhabitant of a made-up city, with habits, events and tables.

    Attributes:
        uid: the id of the user.
        habits: the habits that the events follow.
        events: what the user did, as events of a behaviour log, in the order of time.
        profile: the row of ``users``.
        activity: the row of ``activities``.
    """

    uid: str
    habits: tuple[PlannedHabit, ...]
    events: tuple[JsonObject, ...]
    profile: JsonObject
    activity: JsonObject


def people_of(world: MadeUpWorld, each: int) -> Iterator[Person]:
    """Yield people of each town who follow their habits in nine of ten situations; one habit of each person changes halfway.

    Args:
        world: where they live; its tables stay as they are.
        each: how many live in a town; the first so many are the same however many there are.
    """
    for town in world.towns:
        for number in range(each):
            yield _person(world, town, number)


def build_city(request: BuildRequest, folder: Path) -> dict[str, int]:
    """Write a made-up city with tables, tools and behaviour logs into a folder, or a suite of cases if cases are requested.

    Args:
        request: what is asked for; 2 towns of 10 people unless it says otherwise (``each`` is the number of people).
        folder: the folder of a suite. Tools that it has stay.

    Returns:
        The number of rows by table, and of events.

    Raises:
        UsageError: there are no so many towns or people, or a table is there already or cannot be written.
    """
    if request.cases is not None:
        request.only("cases", "queries", "cities", what="a city with cases")
        return build_suite(request, folder)
    request.only("cities", "each", "cases", what="a city without --cases")
    towns = _BUILD_TOWNS if request.cities is None else request.cities
    each = _PEOPLE if request.each is None else request.each
    for option, value, most in (("--cities", towns, TOWNS), ("--each", each, _BUILD_MOST)):
        if not 1 <= value <= most:
            raise UsageError(f"{option}: found {value}, expected 1 to {most:,}")
    world = world_of(request.seed, towns=towns, language=request.language)
    people = list(people_of(world, each))
    world.tables["users"] += [person.profile for person in people]
    world.tables["activities"] += [person.activity for person in people]
    events = sorted((event for person in people for event in person.events), key=lambda event: event["at"])
    listed = [{name: value for name, value in row.items() if name not in _UNLISTED} for row in world.tables["places"]]
    files = {f"state/{name}.jsonl": rows for name, rows in world.tables.items()}
    logs = {"events": events, "places": listed, "users": world.tables["users"]}
    files |= {f"data/logs/{name}.jsonl": rows for name, rows in logs.items()}
    for name in files:
        if (folder / name).exists():
            raise UsageError(f"{folder / name} already exists; remove it to build it again")
    put(folder, {name: lines_of(rows) for name, rows in files.items()})
    if not (folder / "tools").exists() and not (folder / "tools.yaml").exists():
        put(folder, {f"tools/{name}": data for name, data in tool_files()})
    return {**{name: len(rows) for name, rows in world.tables.items()}, "events": len(events)}


def _person(world: MadeUpWorld, town: City, number: int) -> Person:
    """Draw a person of a town: the home, the habits for three sorts of places, and the resulting events, profile and activity."""
    draws = Draws(world.seed, "person", town.name, number)
    uid = f"u-{Draws(world.seed, 'uid', town.name, number).below(1 << 32):08x}"
    home = draws.choice(town.centres)
    habits: list[PlannedHabit] = []
    facts: dict[str, Any] = {}
    for at, sort in enumerate(draws.sample(list(town.sorts), 3)):
        traits = draws.sample(list(world.group(home, sort).traits.values()), 2 if at < 2 else 1)  # noqa: PLR2004  the first two of three
        for trait in traits:
            # Of the first sort one habit has given way to the other; of the second both hold at once.
            early, late = (_OF // 2, _OF // 2) if at else (_OF // 2, 0) if trait is traits[0] else (0, _OF // 2)
            habit = PlannedHabit(town.sorts[sort].dimension, trait.label, sort, trait.where, _OF, early, late)
            habits.append(habit)
            for name, value in document()["profiles"].get(trait.name, {}).get(town.language, {}).items():
                facts[name] = [*facts.get(name, []), *value] if isinstance(value, list) else value
    events = chain_of(draws, uid, habits, world, UNTIL, home=home, chance=_CHANCE)
    activity = activity_row(uid, events, habits, world, UNTIL)
    profile = {"uid": uid, "home": {"name": draws.choice(town.streets)}, "travel": {"usual_mode": draws.choice(_MODES)}}
    profile |= facts
    return Person(uid, tuple(habits), tuple(events), profile, activity)
