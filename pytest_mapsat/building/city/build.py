"""``mapsat build city``: a made-up city as the tools and tables of a suite, and the log of what people did there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from pytest_mapsat.building.builders import BuildRequest
from pytest_mapsat.building.towns import TOWNS, Draws
from pytest_mapsat.formats import replacing
from pytest_mapsat.model import JsonObject, UsageError

from .people import Habit, activity_row, chain_of, user_row
from .plans_suite import build_suite
from .sorts import document
from .starter import tool_files
from .surroundings import YEAR
from .world import City, World, world_of

#: The moment up to which people did things; and how many live in a town, unless the request says otherwise, and at most.
UNTIL = datetime.fromisoformat(f"{YEAR}-06-30T00:00:00+08:00")
_TOWNS, _PEOPLE, _MOST = 2, 10, 500
#: In how many situations a habit shows, and in how many of a hundred the user takes anything.
_OF, _CHANCE = 30, 10
_MODES = ("walking", "cycling", "driving", "transit")
#: What is none of a catalogue: a log shows what people can choose by.
_UNLISTED = ("phone", "address", "tour", "alias")


class Person(NamedTuple):
    """Somebody who lives in a made-up city.

    Attributes:
        uid: the id of the user.
        habits: the habits that the events follow.
        events: what the user did, as events of a behaviour log, in the order of time.
        profile: the row of ``users``.
        activity: the row of ``activities``.
    """

    uid: str
    habits: tuple[Habit, ...]
    events: tuple[JsonObject, ...]
    profile: JsonObject
    activity: JsonObject


def people_of(world: World, each: int) -> Iterator[Person]:
    """Yield so many people of each town: in nine of ten situations they follow their habits, in the tenth they take anything; one habit of each has given way to another.

    Args:
        world: where they live; its tables stay as they are.
        each: how many live in a town; the first so many are the same however many there are.
    """
    for town in world.towns:
        for number in range(each):
            yield _person(world, town, number)


def build_city(request: BuildRequest, folder: Path) -> dict[str, int]:
    """Write the tables of a city, the tools that answer from them, and in ``data/logs`` what people did: ``events``, ``places`` and ``users``; or a suite of cases.

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
    towns = _TOWNS if request.cities is None else request.cities
    each = _PEOPLE if request.each is None else request.each
    for option, value, most in (("--cities", towns, TOWNS), ("--each", each, _MOST)):
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
            raise UsageError(f"{folder / name} is there already; take it away to have it built anew")
    _put(folder, {name: _lines(rows) for name, rows in files.items()})
    if not (folder / "tools").exists() and not (folder / "tools.yaml").exists():
        _put(folder, {f"tools/{name}": data for name, data in tool_files()})
    return {**{name: len(rows) for name, rows in world.tables.items()}, "events": len(events)}


def _person(world: World, town: City, number: int) -> Person:
    draws = Draws(world.seed, "person", town.name, number)
    uid = f"u-{Draws(world.seed, 'uid', town.name, number).below(1 << 32):08x}"
    home = draws.choice(town.centres)
    habits: list[Habit] = []
    facts: dict[str, Any] = {}
    for at, sort in enumerate(draws.sample(list(town.sorts), 3)):
        traits = draws.sample(list(world.group(home, sort).traits.values()), 2 if at < 2 else 1)  # noqa: PLR2004  the first two of three
        for trait in traits:
            # Of the first sort one habit has given way to the other; of the second both hold at once.
            early, late = (_OF // 2, _OF // 2) if at else (_OF // 2, 0) if trait is traits[0] else (0, _OF // 2)
            habit = Habit(town.sorts[sort].dimension, trait.label, early + late, _OF, early, late, sort, trait.where)
            habits.append(habit)
            for name, value in document()["profiles"].get(trait.name, {}).get(town.language, {}).items():
                facts[name] = [*facts.get(name, []), *value] if isinstance(value, list) else value
    events = chain_of(draws, uid, habits, world, UNTIL, home=home, chance=_CHANCE)
    activity = activity_row(uid, events, habits, world, UNTIL)
    profile = user_row(uid, draws.choice(town.streets), draws.choice(_MODES), facts)
    return Person(uid, tuple(habits), tuple(events), profile, activity)


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def _put(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, all or none."""
    written: list[Path] = []
    try:
        for name, data in files.items():
            written.append(folder / name)
            with replacing(folder / name) as file:
                file.write(data)
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)  # with a half of the files the next attempt would be refused
        if isinstance(error, OSError):
            raise UsageError(f"{folder}: the files cannot be written: {error.strerror or error}") from error
        raise
