"""The suite of a made-up city: its cases with their queries, in files that are read lazily, and briefs by which other people write queries."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from pytest_mapsat.building.builders import BuildRequest
from pytest_mapsat.building.towns import TOWNS, Draws, package_data
from pytest_mapsat.formats import add_files, limits, parse_json_line, read_lines
from pytest_mapsat.model import Json, JsonObject, UsageError, hint_at, shown

from .people import Habit, activity_row, chain_of
from .plans import Kind, Scene, Scenes, kinds, plan_data, schedule
from .plans_cases import Writer, manifest_of
from .sorts import YEAR, document
from .world import City, World, tool_files, world_of

#: How many towns a suite has, and the most cases: the spots for users are not more.
_TOWNS, _MOST = 4, 1000
#: How many places of a group of a world stand in the suite.
_KEPT = 3
_DAYS = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "zh": ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
}


def build_suite(request: BuildRequest, folder: Path) -> dict[str, int]:
    """Write a suite of a made-up city: manifest, tools, tables, requirements and cases.

    Args:
        request: what is asked for; ``cases`` says how many cases.
        folder: an empty folder.

    Returns:
        The number of rows by table, and of cases.

    Raises:
        UsageError: so many cases cannot be made, or a line of ``request.queries`` is of no case, empty, or one that stands twice.
        SuiteError: the file of queries cannot be read, or a line is no JSON.
    """
    import yaml  # noqa: PLC0415  heavy

    count = request.cases or 0
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; cases need a folder of their own")
    queries = _written_queries(request.queries)
    world, scenes = scenes_of(request)
    names = {scene.id for scene in scenes}
    for name, entry in queries.items():
        if name not in names:
            raise UsageError(f"{entry.place}: case {shown(name)} is none of the suite{hint_at(name, sorted(names))}")
    manifest = manifest_of(request.seed, count)
    writer = Writer(world.tables, manifest)
    wordings = _Wordings(request.seed, [entry.text for entry in queries.values()])
    by_file: dict[str, list[JsonObject]] = {}
    for number, scene in enumerate(scenes):
        written = queries.get(scene.id)
        query = wordings.query(scene) if written is None else written.text
        case = writer.case(scene, number, query, written=written is not None)
        by_file.setdefault(f"{_folder(scene.kind)}/{scene.language}.jsonl", []).append(case)
    content = {f"tools/{name}": data for name, data in tool_files()}
    content |= {f"state/{name}.jsonl": _lines(rows) for name, rows in world.tables.items()}
    content |= {name: _lines(cases) for name, cases in by_file.items()}
    content["requirements/facts.yaml"] = (files(__package__) / "facts.yaml").read_bytes()
    content["suite.yaml"] = yaml.safe_dump(manifest.to_json(), allow_unicode=True, sort_keys=False, width=120).encode()
    _put(folder, content)
    return {name: len(rows) for name, rows in world.tables.items()} | {"cases": count}


def briefs_of(request: BuildRequest, take: int) -> Iterator[JsonObject]:
    """Yield briefs for people who write queries without having seen a case: who asks, where and when, for what, and in what mood; nothing of what is hidden.

    Args:
        request: that of the suite.
        take: for how many of its cases, spread over all kinds and languages.
    """
    _, scenes = scenes_of(request)
    left = take
    languages = list(dict.fromkeys(scene.language for scene in scenes))
    for at, language in enumerate(languages):
        spoken = [scene for scene in scenes if scene.language == language]
        wanted = min(left // (len(languages) - at), len(spoken))
        left -= wanted
        for number, scene in enumerate(spoken):
            if (number + 1) * wanted // len(spoken) > number * wanted // len(spoken):
                yield {"case": scene.id, "language": language, "situation": _situation(scene)}


def scenes_of(request: BuildRequest) -> tuple[World, list[Scene]]:
    """Return the world of a suite, and the scenes of its cases, whose options stand in the tables.

    Args:
        request: that of the suite.

    Raises:
        UsageError: so many cases cannot be made.
    """
    count = request.cases or 0
    if not 1 <= count <= _MOST:
        raise UsageError(f"--cases: found {count}, expected 1 to {_MOST}")
    world = world_of(request.seed, towns=request.cities or _TOWNS, language=request.language)
    languages = tuple(dict.fromkeys(town.language for town in world.towns))
    _thin_out(world)
    maker = Scenes(world)
    return world, [maker.scene(*part) for part in schedule(count, languages)]


def _folder(kind: Kind) -> str:
    """Return the domain of a kind that the fewest cases have."""
    cases = Counter(domain for other in kinds().values() for domain in other.domains for _ in range(other.share))
    return min(kind.domains, key=cases.__getitem__)


def _thin_out(world: World) -> None:
    """Keep of a world what its cases can meet: of each group of places that their plans look for the first few, and no ways; those of the cases are added."""
    wanted = {sort for kind in kinds().values() for sort in (kind.sort, kind.second) if sort}
    kept = {place for (_, sort), group in world.groups.items() if sort in wanted for place in group.ids[:_KEPT]}
    grouped = {place for group in world.groups.values() for place in group.ids}
    for table, column in (("places", "id"), ("deals", "place_id")):
        rows = world.tables[table]
        rows[:] = [row for row in rows if row[column] in kept or row[column] not in grouped]
    world.tables["ways"].clear()


def _situation(scene: Scene) -> str:
    """Return what a writer of queries is told of a scene, in its language."""
    told = _named(wordings(scene.language)[scene.kind.name]["situation"], scene)
    mood = Draws(scene.world.seed, "mood", scene.id).choice(plan_data()["moods"][scene.language])
    day, time = _DAYS[scene.language][scene.day.weekday()], scene.now[11:16]
    if scene.language == "zh":
        return f"{day}{time}，{scene.town.name}，你在{scene.spot}。{told}。语气：{mood}。"
    return f"It is {day}, {time}. You are in {scene.town.name}, at {scene.spot}. {told}. Mood: {mood}."


def _named(text: str, scene: Scene) -> str:
    goal = scene.goal["name"] if scene.goal else ""
    return text.replace("{here}", scene.spot).replace("{goal}", goal)


class _Wordings:
    """Gives each case that has no query of its own one of the wordings of its kind; none is given twice.

    Args:
        seed: the seed of the suite.
        taken: queries that stand already.
    """

    def __init__(self, seed: int, taken: Iterable[str]) -> None:
        self._seed, self._taken = seed, set(taken)
        self._turns: dict[tuple[str, str], int] = {}

    def query(self, scene: Scene) -> str:
        """Return the query of a case. Raises UsageError where all have been given."""
        key = (scene.kind.name, scene.language)
        told = wordings(scene.language)
        texts = Draws(self._seed, "wordings", *key).sample(told[scene.kind.name]["queries"], 100)
        turn = self._turns[key] = self._turns.get(key, -1) + 1
        texts = texts[turn % len(texts) :] + texts[: turn % len(texts)]
        for opener in ("", *told["openers"]):
            for text in texts:
                query: str = opener + _named(text, scene)
                if query not in self._taken:
                    self._taken.add(query)
                    return query
        raise UsageError(f"--cases: there are no more wordings for cases of {scene.kind.name}")


def wordings(language: str) -> Any:
    """Return the wordings of a language, by kind of plan."""
    return package_data(__package__, f"wordings_{language}.yaml")


class _Query(NamedTuple):
    """A query that somebody wrote, and where it stands."""

    text: str
    place: str


def _written_queries(path: Path | None) -> dict[str, _Query]:
    """Return the queries of a file of JSON lines with ``case`` and ``query``, by case. Raises UsageError, SuiteError."""
    queries: dict[str, _Query] = {}
    texts: set[str] = set()
    for line in read_lines(path, limits.CASE_BYTES) if path else ():
        place = f"{path}:{line.number}"
        entry = parse_json_line(line.data, str(path), line.number)
        case, query = (entry.get("case"), entry.get("query")) if isinstance(entry, dict) else (None, None)
        if not isinstance(query, str) or not query.strip() or not isinstance(case, str):
            raise UsageError(f'{place}: found {shown(entry)}, expected {{"case": "...", "query": "..."}}')
        if case in queries:
            raise UsageError(f"{place}: case {shown(case)} stands twice")
        if query.strip() in texts:
            raise UsageError(f"{place}: the query of case {shown(case)} stands twice")
        texts.add(query.strip())
        queries[case] = _Query(query.strip(), place)
    return queries


def _lines(rows: Iterable[Mapping[str, Json]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


# -- the city itself ---------------------------------------------------------------------------------------------------

#: The moment up to which people did things; and how many live in a town, unless the request says otherwise, and at most.
UNTIL = datetime.fromisoformat(f"{YEAR}-06-30T00:00:00+08:00")
_BUILD_TOWNS, _PEOPLE, _BUILD_MOST = 2, 10, 500
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
            habit = Habit(town.sorts[sort].dimension, trait.label, sort, trait.where, _OF, early, late)
            habits.append(habit)
            for name, value in document()["profiles"].get(trait.name, {}).get(town.language, {}).items():
                facts[name] = [*facts.get(name, []), *value] if isinstance(value, list) else value
    events = chain_of(draws, uid, habits, world, UNTIL, home=home, chance=_CHANCE)
    activity = activity_row(uid, events, habits, world, UNTIL)
    profile = {"uid": uid, "home": {"name": draws.choice(town.streets)}, "travel": {"usual_mode": draws.choice(_MODES)}}
    profile |= facts
    return Person(uid, tuple(habits), tuple(events), profile, activity)


def _put(folder: Path, files: Mapping[str, bytes]) -> None:
    try:
        add_files(folder, files)
    except OSError as error:
        raise UsageError(f"{folder}: the files cannot be written: {error.strerror or error}") from error
