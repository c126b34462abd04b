"""The subjects of the cases of a made-up city: the kinds of plans, and the needs that hide behind their queries; all of it is data in ``plans.yaml``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache
from typing import Any, NamedTuple

from pytest_mapsat.formats import package_data
from pytest_mapsat.making.worlds import Draws, coined_name
from pytest_mapsat.model import JsonObject

from .places import CM, YEAR, Centre, City, MadeUpWorld, Sort, Trait, clock, metres_between, timetable, trait_of

#: The number of cases that the shares of the kinds add up to.
_WHOLE = 500
_HOUR = 60


class PlanKind(NamedTuple):
    """A kind of plan: the wishes of its users, the times at which they ask, and their needs.

    Attributes:
        name: its key in ``plans.yaml``.
        family: how its options are made: ``place``, ``outing``, ``way``, ``line`` or ``ride``.
        share: how many of 500 cases are of it.
        domains: those of its cases.
        hours: the first and the last hour of the day at which its users ask.
        needs: the needs that its queries can hide, each with its possible reasons.
        tells: figures that some of its users like to be told.
        asks: figures that some of its queries ask for.
        sure: the traits that every place has where no need is about them.
        mode: how they get there, where they ask for the way.
        sort, second: the sorts of the places that they look for.
    """

    name: str
    family: str
    share: int
    domains: tuple[str, ...]
    hours: tuple[int, int]
    needs: Mapping[str, Sequence[str]]
    tells: tuple[str, ...]
    asks: tuple[str, ...] = ()
    sure: tuple[str, ...] = ()
    mode: str = ""
    sort: str = ""
    second: str = ""


@dataclass(frozen=True)
class PlannedNeed:
    """One need of one user: the match that the right option fulfils, and the reason for the need.

    Attributes:
        name: its key in ``plans.yaml``.
        column: the column of an option that shows whether it is met.
        where: the match that holds of options that meet it, as checks write it.
        limit: the user's own figure, or time of day; empty where there is none.
        trait: the trait of the places that it asks for; None where it is about something else.
        told: what ``plans.yaml`` says of it, and of its reason.
        language: ``en`` or ``zh``.
    """

    name: str
    column: str
    where: JsonObject
    limit: int | float | str
    trait: Trait | None
    told: Mapping[str, Any]
    reason: Mapping[str, Any]
    language: str

    @property
    def hard(self) -> bool:
        """Whether the need must be met: it is more than a habit or wish."""
        return _is_hard(self.reason)

    @property
    def source(self) -> str:
        """The place where an agent can learn of the need: ``profile``, ``context`` or ``environment``."""
        return str(self.reason["source"])

    @property
    def holds(self) -> str:
        """The need in words, as a statement about the right option."""
        return self.filled(self.told[self.language])

    def filled(self, text: str) -> str:
        """Return a text with its placeholders replaced by the user's own figure or time."""
        return str(filled(text, self._figures))

    def of_user(self) -> JsonObject:
        """Return the entries that the need adds to the profile of the user."""
        entry = self.reason.get("user", {}).get(self.language, {})
        return {key: filled(value, self._figures) for key, value in entry.items()}

    def habit(self) -> tuple[str, str] | None:
        """Return the dimension and choice of the habit that shows the need; None if no habit shows it."""
        pair = self.reason.get("habit", {}).get(self.language)
        return (self.filled(pair[0]), self.filled(pair[1])) if pair else None

    def remark(self, draws: Draws) -> str:
        """Return an earlier remark of the user that shows the need; empty if there is none."""
        remarks = self.reason.get("history", {}).get(self.language)
        return self.filled(draws.choice(remarks)) if remarks else ""

    @property
    def _figures(self) -> Mapping[str, float | str]:
        """The values of the placeholders ``limit``, ``time`` and ``early`` (an hour before the time)."""
        early = clock(minutes_of(self.limit) - _HOUR) if isinstance(self.limit, str) and self.limit else ""
        return {"limit": self.limit, "time": self.limit, "early": early}


def filled(value: Any, figures: Mapping[str, float | str]) -> Any:
    """Return data with each ``{name}`` in a text replaced by a figure; a text that is only a placeholder becomes the figure itself."""
    if isinstance(value, dict):
        return {key: filled(part, figures) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, figures) for part in value]
    for name, figure in figures.items() if isinstance(value, str) else ():
        if value == f"{{{name}}}":
            return figure
        value = value.replace(f"{{{name}}}", f"{figure}")
    return value


def _is_hard(reason: Mapping[str, Any]) -> bool:
    """Return whether a reason makes a need hard; a habit without another explanation in the profile makes a soft need."""
    return not reason.get("soft") and (reason["source"] != "profile" or "user" in reason)


def _goes_together(needs: Sequence[tuple[str, str]]) -> bool:
    """Return whether one need is hard and can be failed by the first thing found, whether they are known from the profile and from elsewhere, and whether no reason rules another out."""
    whys = {why for _, why in needs}
    reasons = [(name, plan_data()["reasons"][why]) for name, why in needs]
    hard = any(_is_hard(reason) and name not in _LAST for name, reason in reasons)
    apart = all(whys.isdisjoint(reason.get("not_with", ())) for _, reason in reasons)
    return hard and apart and len({reason["source"] == "profile" for _, reason in reasons}) > 1


def names_one(text: str, needs: Iterable[str], language: str) -> bool:
    """Return whether a text contains a word that no query may that hides one of the needs; ``needs``: their keys in ``plans.yaml``."""
    words = [word for need in needs for word in plan_data()["needs"][need]["words"][language]]
    return any(word in text if language == "zh" else re.search(rf"\b{re.escape(word)}", text) for word in words)


def need_of(scene: Scene, need: tuple[str, str], limit: float | str | None = None) -> PlannedNeed:
    """Return one need of a case, with the user's own figure, random or given.

    Args:
        scene: its scene.
        need: the need and the reason for it, keys in ``plans.yaml``.
        limit: the user's own figure, where the plan gives it.
    """
    (name, why), language = need, scene.language
    entry, reason = plan_data()["needs"][name], plan_data()["reasons"][why]
    trait_name = entry.get("trait", "")
    trait_name = trait_name[language] if isinstance(trait_name, dict) else trait_name
    trait = trait_of(scene.kind.sort, trait_name, language) if trait_name else None
    column = trait.column if trait else entry["column"]
    if limit is None and "limits" in entry:
        limit = scene.draws.choice(entry["limits"])
    where = _where(entry, trait, column, language, limit)
    if limit is None and trait and column == "price_yuan":
        limit = where[column]["max"]
    return PlannedNeed(name, column, where, "" if limit is None else limit, trait, entry, reason, language)


def _where(
    entry: Mapping[str, Any], trait: Trait | None, column: str, language: str, limit: float | str | None
) -> JsonObject:
    """Return the match, in the notation of checks, for an option that meets the need."""
    if column == "hours":
        return {column: {"op": "open_at", "time": limit}}
    if "present" in entry:
        return {column: {"op": "present"}}
    if "yes" in entry:
        value = entry["yes"]
        return {column: value[language] if isinstance(value, dict) else value}
    match: Any = trait.where[column] if trait else {}
    if trait and (limit is None or not isinstance(match, dict) or match["op"] != "between"):
        return dict(trait.where)
    least = "at_least" in entry or "min" in match
    return {column: {"op": "between", "min" if least else "max": limit}}


def minutes_of(time: str) -> int:
    """Return a time of day such as ``18:05`` as minutes after midnight."""
    return int(time[:2]) * _HOUR + int(time[3:5])


def plan_data() -> Any:
    """Return the content of ``plans.yaml``."""
    return package_data(__package__, "plans.yaml")


@cache
def kinds() -> Mapping[str, PlanKind]:
    """Return the kinds of plans by name."""
    return {name: _kind(name, dict(entry)) for name, entry in plan_data()["kinds"].items()}


def _kind(name: str, entry: dict[str, Any]) -> PlanKind:
    """Return the kind of plan that an entry of ``plans.yaml`` describes."""
    for key in ("domains", "hours", "tells", "asks", "sure"):
        entry[key] = tuple(entry.get(key, ()))
    return PlanKind(name, **entry)


def schedule(count: int, languages: Sequence[str]) -> Iterator[tuple[PlanKind, int, str]]:
    """Yield kind, number within the kind and language for each case: kinds by their shares, languages in turn.

    Args:
        count: how many cases.
        languages: the languages of the towns.
    """
    whole = [(kind, kind.share * count // _WHOLE, kind.share * count % _WHOLE) for kind in kinds().values()]
    left = count - sum(number for _, number, _ in whole)
    more = {kind.name for kind, _, rest in sorted(whole, key=lambda part: (-part[2], part[0].name))[:left]}
    turn = 0
    for kind, number, _ in whole:
        for at in range(number + (kind.name in more)):
            yield kind, at, languages[turn % len(languages)]
            turn += 1


# -- the scenes of cases -----------------------------------------------------------------------------------------------
#
# Where and when somebody asks, the option that meets every need, and others near it: each fails one need alone and looks better at first sight.

#: Directions: hundredths of the way to the east and to the north.
_WINDS = ((100, 0), (92, 38), (71, 71), (38, 92), (0, 100), (-38, 92), (-71, 71), (-92, 38), (-100, 0), (-92, -38))
#: Where the users of one sort of places stand: columns and rows of spots north of a district's own places, in metres, and how far the first lies from its south-west corner.
_SPOTS, _SPOT_M, _FIRST_M = (4, 2), (830, 850), (300, 2150)
#: How far the options lie from the user, in metres: the first, and each further one.
_NEAREST, _FARTHER = (90, 140), (60, 110)
#: Tenths of stars of places: those nearer than the right one, the right one, and those behind it.
_STARS = {"nearer": (40, 49), "right": (41, 46), "behind": (47, 49)}
#: Minutes for which places stay open that are open when it matters, and that have been closed for when they are not.
_STAYS, _CLOSED = (45, 110), (5, 45)
_LATEST, _QUARTER = 23 * 60 + 45, 15
#: The latest hour at which somebody arrives, in minutes after midnight.
_ARRIVES = 22 * 60 + 30
#: Tenths of the most that counts as cheap, below which no place is; degrees from which a day is hot.
_LEAST, _HOT = 6, 29
#: Skies that a day of a sort never has.
_NOT = {"hot": ("cloudy", "多云"), "wet": ("light snow", "小雪")}
#: The soonest and the latest that the next bus leaves, in minutes from when the user asks.
_LEAVES = (10, 14)
#: So many combinations are drawn, of which the least used is taken; the most needs of a case; of a hundred cases with fewer, those whose user likes a figure.
_DRAWN, _MOST_NEEDS, _TOLD = 12, 4, 16
#: So many of a kind's needs, the first in the data, are its own: a case has one of them.
_OWN = 4
#: Needs that the first thing found never fails: it is the quickest, and costs little.
_LAST = ("in_time", "fare")


@dataclass
class Scene:
    """A case in the making: who asks, where and when, the needs and the options.

    Attributes:
        kind: the kind of its plan.
        id: the id of the case.
        language: ``en`` or ``zh``.
        draws: what is drawn for it.
        world: the world, whose tables it adds rows to.
        town: the town that it plays in.
        district: the part of it.
        day: the day on which it plays.
        minute: the minute of the day at which the user asks.
        here: where the user is: longitude, latitude.
        spot: what this place is called.
        needs: what the user needs, the hard ones first.
        options: what can be chosen, the first thing found first: each with the names of the needs that it fails, none for the right one.
        asks: what the query asks for beside the option itself.
        tell: the figure that the user likes to be told; empty where there is none.
        second: the places of the second sort, where a plan has two.
        goal: the place to get to, where the query names one; else empty.
        patches: how the tables of the case differ from those of all cases.
    """

    kind: PlanKind
    id: str
    language: str
    draws: Draws
    world: MadeUpWorld
    town: City
    district: str
    day: date
    minute: int
    here: tuple[float, float]
    spot: str
    needs: list[PlannedNeed] = field(default_factory=list)
    options: list[tuple[JsonObject, tuple[str, ...]]] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)
    tell: str = ""
    second: list[JsonObject] = field(default_factory=list)
    goal: JsonObject = field(default_factory=dict)
    patches: list[JsonObject] = field(default_factory=list)

    @property
    def right(self) -> JsonObject:
        """The option that meets every need."""
        return next(row for row, failed in self.options if not failed)

    @property
    def now(self) -> str:
        """The time at which the user asks, as ISO 8601."""
        return f"{self.day.isoformat()}T{clock(self.minute)}:00+08:00"


class Scenes:
    """Generates the scenes of a suite's cases in one world.

    Args:
        world: the world; rows are added to its tables.
        queries: what somebody wrote, by the id of the case: it hides needs that its query does not name, if such are drawn.
    """

    def __init__(self, world: MadeUpWorld, queries: Mapping[str, str]) -> None:
        self._world, self._queries = world, queries
        self._free: dict[tuple[str, str], list[tuple[int, int]]] = {}
        self._names = {row["name"] for row in world.tables["places"]}
        self._towns: dict[str, int] = {}
        self._uses: Counter[frozenset[str]] = Counter()

    def scene(self, kind: PlanKind, number: int, language: str) -> Scene:
        """Return the scene of one case, and add the scene's options to the world's tables.

        Args:
            kind: the kind of its plan.
            number: which case of this kind it is.
            language: its language.
        """
        draws = Draws(self._world.seed, "case", kind.name, number)
        towns = [town for town in self._world.towns if town.language == language]
        town = towns[self._towns.setdefault(language, 0) % len(towns)]
        self._towns[language] += 1
        centre, corner = self._spot(kind, town)
        minute = draws.between(kind.hours[0] * 12, kind.hours[1] * 12 + 11) * 5
        here = _moved((corner[0], corner[1]), draws.between(0, 60), draws.choice(_WINDS))
        spot = draws.choice(town.streets)
        own = self._world.seed, kind.name, number
        asks = self._asks(kind, Draws("asks", *own))
        name = f"{kind.name.replace('_', '-')}-{number + 1:02}"
        query = self._queries.get(name, "").casefold()
        needs, tell = self._composed(kind, asks, Draws("needs", *own), query, language)
        days = [plan_data()["reasons"][why].get("day", "") for _, why in needs]
        day = self._day(town, Draws("day", *own), max(days))
        scene = Scene(kind, name, language, draws, self._world, town, centre.district, day, minute, here, spot)
        scene.asks, scene.tell = asks, tell
        getattr(self, kind.family)(scene, needs)  # one of the methods below
        return scene

    def _asks(self, kind: PlanKind, draws: Draws) -> list[str]:
        """Return the questions in a case's query besides the option itself."""
        if kind.family == "outing":
            return ["walks", "order"] if draws.chance(50) else ["walks"]
        if kind.family == "place" and kind.mode:
            return ["to"]
        return [draws.choice(kind.asks)] if kind.asks and draws.chance(50) else []

    def _composed(
        self, kind: PlanKind, asks: Sequence[str], draws: Draws, query: str, language: str
    ) -> tuple[list[tuple[str, str]], str]:
        """Return the needs of a case with their reasons, and the figure that its user likes to hear: the least used of some drawn sets that the query does not name."""
        drawn = [self._combination(kind, asks, draws) for _ in range(_DRAWN)]
        names = [frozenset((*(name for name, _ in needs), tell)) for needs, tell in drawn]
        hidden = [at for at, (needs, _) in enumerate(drawn) if not names_one(query, dict(needs), language)]
        at = min(hidden or range(_DRAWN), key=lambda at: self._uses[names[at]])
        self._uses[names[at]] += 1
        return drawn[at]

    def _combination(self, kind: PlanKind, asks: Sequence[str], draws: Draws) -> tuple[list[tuple[str, str]], str]:
        """Draw two to four compatible needs of a kind: one is hard, one is specific to the kind, and the profile and another place are sources."""
        reasons, tells = plan_data()["reasons"], plan_data()["tells"]
        asked = {name for ask in asks if ask in tells for name in tells[ask].get("of", ())}
        free, own = [name for name in kind.needs if name not in asked], tuple(kind.needs)[:_OWN]
        needs: list[tuple[str, str]] = []
        while not _goes_together(needs):
            first = draws.choice([name for name in free if name in own])
            pairs = [(name, draws.choice(kind.needs[name])) for name in (first, *draws.sample(free, len(free)))]
            groups = {reasons[why].get("group", why): (name, why) for name, why in reversed(pairs)}
            unlike = [pair for pair in dict.fromkeys(pairs) if pair in groups.values() and pair[0] != first]
            needs = [pairs[0], *unlike][: draws.choice((2, 3, 3) if kind.family == "way" else (2, 2, 3, 3, 4))]
        needs.sort(key=lambda need: reasons[need[1]]["source"] != "profile")
        needs.sort(key=lambda need: (not _is_hard(reasons[need[1]]), need[0] in _LAST))
        about = {name for name, _ in needs}
        liked = [name for name in kind.tells if name not in asks and not about & {*tells[name].get("of", ())}]
        return needs, draws.choice(liked) if liked and len(needs) < _MOST_NEEDS and draws.chance(_TOLD) else ""

    def _failing(self, scene: Scene) -> list[tuple[str, ...]]:
        """Return the needs that each option fails, in order: the first option one or two, the right option none, all others one."""
        draws, needs = scene.draws, scene.needs
        first, *others = (need.name for need in needs)
        both = [name for name in others if name not in _LAST] if len(others) > 1 and scene.kind.family != "way" else []
        rest = [*others, first] if both else others if len(others) > 1 else [*others, draws.choice([first, *others])]
        known = {need.name for need in needs if need.source == "profile"}
        rest = sorted(draws.sample(rest, len(rest)), key=known.__contains__)
        failing: list[tuple[str, ...]] = [(first, *both[:1]), *((name,) for name in rest)]
        failing.insert(draws.between(2, len(failing)), ())
        return sorted(failing, key=lambda fails: fails == ("in_time",)) if scene.kind.family == "way" else failing

    def _spot(self, kind: PlanKind, town: City) -> tuple[Centre, tuple[float, float]]:
        """Return a position for the user that no other case with this sort of place has in the town, after the district's centre."""
        key = (town.name, kind.sort or kind.family)
        if not self._free.get(key):
            spots = [(at, spot) for at in range(len(town.centres)) for spot in range(_SPOTS[0] * _SPOTS[1])]
            self._free[key] = Draws(self._world.seed, "spots", *key).sample(spots, len(spots))
        at, spot = self._free[key].pop()
        centre = town.centres[at]
        across, along = spot % _SPOTS[0] * _SPOT_M[0] + _FIRST_M[0], spot // _SPOTS[0] * _SPOT_M[1] + _FIRST_M[1]
        # The centre stands in the middle of its district's places, about 1.7 km east and 0.7 km north of the corner.
        west = _moved((centre.lon, centre.lat), 1700, (-100, 0))
        return centre, _moved(_moved(west, across, (100, 0)), along - 700, (0, 100))

    def _day(self, town: City, draws: Draws, sort: str) -> date:
        """Return a random day of the year: ``wet``: it rains in the town all day; ``hot``: it is hot, dry and never cloudy; else any."""
        if not sort:
            return date(YEAR, 1, 1) + timedelta(days=draws.below(365))
        rows = (row for row in self._world.tables["weather"] if row["city"] == town.name)
        least = _HOT if sort == "hot" else -99
        rows = (row for row in rows if all(part["rain"] == (sort == "wet") for part in row["hours"]))
        rows = (row for row in rows if not any(part["sky"] in _NOT[sort] for part in row["hours"]))
        return date.fromisoformat(draws.choice([row["date"] for row in rows if row["high_c"] >= least]))

    # Places

    def place(self, scene: Scene, needs: Sequence[tuple[str, str]]) -> None:
        """Set the needs of a scene about one place, and add its options to the world."""
        scene.needs = [self._need(scene, *need) for need in needs]
        scene.options = list(self._places(scene, scene.kind.sort))

    def outing(self, scene: Scene, needs: Sequence[tuple[str, str]]) -> None:
        """Set the needs of a scene about places of two sorts, and add the options and two second places."""
        self.place(scene, needs)
        sort, metres = scene.town.sorts[scene.kind.second], scene.draws.between(*_NEAREST)
        for _ in range(2):
            row = self._place(scene, sort, metres)
            self._lay(scene, row, sort, ())
            scene.second.append(row)
            self._world.tables["places"].append(row)
            metres += scene.draws.between(*_FARTHER)

    def _need(self, scene: Scene, name: str, why: str) -> PlannedNeed:
        """Return one need of a scene; the time in ``open_then`` is when the user asks, arrives or leaves."""
        limit = None
        if name == "open_then":
            draws = scene.draws
            later = {"clock": 0, "arrival": draws.between(17, 20) * _QUARTER, "stays": draws.between(12, 16) * _QUARTER}
            limit = clock(-(-min(scene.minute + later[why], max(scene.minute, _ARRIVES)) // 5) * 5)
        return need_of(scene, (name, why), limit)

    def _places(self, scene: Scene, sort: str) -> Iterator[tuple[JsonObject, tuple[str, ...]]]:
        """Yield the options, nearest first, with the needs that each fails; the right option is third or later, and all later options rate higher."""
        metres, stars = scene.draws.between(*_NEAREST), _STARS["nearer"]
        for fails in self._failing(scene):
            row = self._place(scene, scene.town.sorts[sort], metres)
            self._lay(scene, row, scene.town.sorts[sort], fails)
            row["rating"] = scene.draws.between(*(stars if fails else _STARS["right"])) / 10
            stars = stars if fails else _STARS["behind"]
            self._world.tables["places"].append(row)
            yield row, fails
            metres += scene.draws.between(*_FARTHER)

    def _place(self, scene: Scene, sort: Sort, metres: int) -> JsonObject:
        """Return a new place row of a sort, some metres from the user and open when the user asks."""
        draws, number = scene.draws, len(self._world.tables["places"])
        lon, lat = _moved(scene.here, metres, draws.choice(_WINDS))
        street, house = draws.choice(scene.town.streets), draws.between(1, 180)
        address = f"{scene.district}{street}{house}号"
        row: JsonObject = {
            "id": f"q{Draws(self._world.seed, 'of case', scene.id, number).below(1 << 44):011x}",
            "name": sort.new_name(scene.language, draws, self._names),
            "kind": sort.kind,
            "sorts": list(sort.sorts),
            "city": scene.town.name,
            "address": address if scene.language == "zh" else f"{house} {street}, {scene.district}",
            "lon": lon,
            "lat": lat,
            "hours": "24h",
            "rating": draws.between(*_STARS["nearer"]) / 10,
            "price_yuan": draws.between(sort.price[1] * _LEAST // 10, sort.price[1]) if sort.price else None,
            "phone": f"000-556-{number % 10_000:04}",
            "indoor": draws.chance(50) if sort.indoor is None else sort.indoor,
            "step_free": True,
            "dogs": draws.chance(30),
            "parking": draws.chance(40),
        }
        if sort.hours:
            opens = min(draws.between(*sort.hours[:2]) * 30, scene.minute // 60 * 60)
            closes = max(scene.minute // 30 * 30 + 180, draws.between(*sort.hours[2:]) * 30)
            row["hours"] = f"{clock(opens)}-{clock(min(closes, _LATEST))}"
        return {name: value for name, value in row.items() if value is not None and value != []}

    def _lay(self, scene: Scene, row: JsonObject, sort: Sort, fails: tuple[str, ...]) -> None:
        """Set the traits of a place so that it meets every need of the scene except the needs in ``fails``; other traits are random."""
        wanted = {need.trait.name for need in scene.needs if need.trait}
        columns = {need.column for need in scene.needs}
        for either in sort.needs:
            trait = scene.draws.choice(either)
            lists = isinstance(trait.values[0], str)
            if trait.column != "hours" and trait.name not in wanted and (lists or trait.column not in columns):
                trait.lay(row, scene.draws, has=trait.name in scene.kind.sure or scene.draws.chance(50))
        for need in scene.needs:
            if need.column == "hours":
                row["hours"] = _hours(row["hours"], need, scene, has=need.name not in fails)
            else:
                _meet(row, need, scene.draws, has=need.name not in fails)

    # Ways, lines and rides

    def way(self, scene: Scene, needs: Sequence[tuple[str, str]]) -> None:
        """Add four ways to a landmark: the quickest fails the most important need, the slowest may be too late."""
        draws, walking = scene.draws, scene.kind.mode == "walking"
        scene.goal = self._goal(scene, far=not walking)
        apart = metres_between(scene.here, (scene.goal["lon"], scene.goal["lat"]))
        quickest = apart * 13 // 10 // (75 if walking else 560) + 3
        slower = max(quickest // 10, 2)
        in_time = quickest + 3 * slower + draws.below(slower)
        limits = {"in_time": in_time, "short_way": apart * 16 // 1000 * 100 + 100}
        scene.needs = [need_of(scene, need, limits.get(need[0])) for need in needs]
        failing = self._failing(scene)
        roads = draws.sample(scene.town.streets, len(failing))
        rest = {"walking": {"steps": 0}, "driving": {"toll_yuan": 0}}[scene.kind.mode]
        goal = f"{scene.goal['lon']},{scene.goal['lat']}"
        ends = {"from": ",".join(map(str, scene.here)), "to": goal, "mode": scene.kind.mode}
        for at, (fails, road) in enumerate(zip(failing, roads, strict=True)):
            takes = in_time + max(quickest // 4, 5) if "in_time" in fails else quickest + at * slower
            length = apart * (20 if "short_way" in fails else 12 + at % 3) // 10 + draws.below(40)
            row: JsonObject = {**ends, "via": road, "distance_m": length, "duration_min": takes, **rest}
            _measure(row, scene, fails)
            scene.options.append((row, fails))
            self._world.tables["ways"].append(row)
            scene.patches.append(self._state(scene, road, closed="clear" in fails))

    def _state(self, scene: Scene, road: str, *, closed: bool) -> JsonObject:
        """Return the patch of ``roads`` that closes a road or makes it clear."""
        until = clock(scene.minute + scene.draws.between(8, 20) * _QUARTER)
        zh = scene.language == "zh"
        status, event = ("封闭", "施工封路") if zh else ("closed", "closed for repairs")
        state = {"status": status, "event": event, "until": until}
        if not closed:
            state = {"status": "畅通" if zh else "clear", "event": "", "until": ""}
        return {"table": "roads", "where": {"city": scene.town.name, "road": road}, "set": state}

    def line(self, scene: Scene, needs: Sequence[tuple[str, str]]) -> None:
        """Add a stop for the user and lines from it to a landmark, of which the right one is third or later."""
        draws, zh = scene.draws, scene.language == "zh"
        scene.goal = self._goal(scene, far=True)
        stem = coined_name(scene.language, Draws("stop", self._world.seed, scene.id))
        scene.spot = f"{stem}站" if zh else f"{stem} Stop"
        stop, (lon, lat) = f"s-{scene.id}", scene.here
        row = {"id": stop, "name": scene.spot, "lon": lon, "lat": lat, "city": scene.town.name}
        self._world.tables["stops"].append(row)
        limit = draws.between(26, 38)
        limits = {"short_ride": clock(scene.minute + _LEAVES[1] + limit), "still_runs": clock(scene.minute)}
        scene.needs = [need_of(scene, need, limits.get(need[0])) for need in needs]
        # As all buses leave within the same few minutes, those whose ride is short enough, and no others, are there in time.
        most: JsonObject = {"ride_min": {"op": "between", "max": limit}}
        scene.needs = [replace(need, where=most) if need.name == "short_ride" else need for need in scene.needs]
        failing = self._failing(scene)
        numbers = draws.sample(range(20, 99), len(failing))
        for at, fails in enumerate(failing):
            row = {
                "id": f"{scene.id}-{at}",
                "city": scene.town.name,
                "from": [stop],
                "to": [f"s-{scene.goal['id']}"],
                "line": f"{numbers[at]}路" if zh else f"Bus {numbers[at]}",
                "kind": "公交" if zh else "bus",
                "alight": scene.goal["name"],
                **_timetable(scene, gone="still_runs" in fails),
                "ride_min": limit + draws.between(10, 16) if "short_ride" in fails else 12 + 2 * at + draws.below(2),
                "fare_yuan": 3,
                "step_free": True,
                "walk_to_stop_min": draws.between(1, 3),
            }
            _measure(row, scene, fails)
            scene.options.append((row, fails))
            self._world.tables["lines"].append(row)

    def ride(self, scene: Scene, needs: Sequence[tuple[str, str]]) -> None:
        """Add rides to a landmark in place of the town's own; the user's fare limit is set later, from the computed fares."""
        draws = scene.draws
        scene.goal = self._goal(scene, far=True)
        scene.needs = [need_of(scene, need, 0 if need[0] == "fare" else None) for need in needs]
        names = plan_data()["vehicles"][scene.language]
        fares = [row["id"] for row in self._world.tables["fares"] if abs(row["lon"] - scene.here[0]) < 0.3]  # noqa: PLR2004  less than the towns lie apart
        scene.patches.append({"table": "fares", "where": {"id": fares}, "hide": True})
        added = []
        for at, fails in enumerate(self._failing(scene)):
            row: JsonObject = {
                "id": f"{scene.id}-{at}",
                "lon": scene.here[0],
                "lat": scene.here[1],
                **plan_data()["vehicle"],
                "wait_min": draws.between(2, 9),
                "start_yuan": draws.between(6, 9) + 14 * ("fare" in fails),
                "yuan_per_km": 9 if "fare" in fails else draws.between(28, 36) / 10,
            }
            _measure(row, scene, fails)
            size = "large" if row["seats"] >= 6 else "long" if row["bags"] >= 5 else "small"  # noqa: PLR2004  as plans.yaml says
            row["kind"] = names[size][at]
            added.append(row)
            scene.options.append((row, fails))
        scene.patches.append({"table": "fares", "add": added})

    def _goal(self, scene: Scene, *, far: bool) -> JsonObject:
        """Return a landmark of the town: one of the two nearest or, with ``far``, a more distant one."""
        rows = [self._world.place(place) for place in scene.town.landmarks.values()]
        rows.sort(key=lambda row: (metres_between(scene.here, (row["lon"], row["lat"])), row["id"]))
        return Draws("goal", self._world.seed, scene.id).choice(rows[2:] if far else rows[:2])


def _moved(point: tuple[float, float], metres: int, wind: tuple[int, int]) -> tuple[float, float]:
    """Return a point moved by some metres in a direction, in degrees with five digits."""
    east, north = (metres * part // centimetres for part, centimetres in zip(wind, CM, strict=True))
    return (round(point[0] * 100_000) + east) / 100_000, (round(point[1] * 100_000) + north) / 100_000


def _hours(hours: str, need: PlannedNeed, scene: Scene, *, has: bool) -> str:
    """Return opening hours that include the time of a need or, with ``has`` false, end shortly before it."""
    time = minutes_of(str(need.limit))
    opens = hours[:5] if "-" in hours else "08:00"
    if has:
        closes = min(time + scene.draws.between(*_STAYS), _LATEST)
        return f"{opens}-{clock(-(-closes // _QUARTER) * _QUARTER)}"
    closes = (time - scene.draws.between(*_CLOSED)) // 5 * 5
    return f"{opens}-{clock(closes)}"


def _meet(row: JsonObject, need: PlannedNeed, draws: Draws, *, has: bool) -> None:
    """Set the trait of a need on a place so that the place meets, or fails, the need."""
    trait = need.trait
    if trait and isinstance(trait.values[0], str):
        others = [text for text in row.get(trait.column, []) if text != trait.label]
        instead = need.told.get("else", {}).get(need.language, [])
        row[trait.column] = [trait.label, *others] if has else others or list(instead)
    elif trait and trait.column == "price_yuan" and has:
        row[trait.column] = draws.between(trait.values[0][1] * _LEAST // 10, trait.values[0][1])
    elif trait:
        trait.lay(row, draws, has=has)


def _measure(row: JsonObject, scene: Scene, fails: tuple[str, ...]) -> None:
    """Set an option's figures and flags for the needs: bad values for the needs ``fails``, good values for all others."""
    for need in scene.needs:
        has = need.name not in fails
        if isinstance(need.told.get("yes"), bool):
            row[need.column] = need.told["yes"] == has
        elif "good" in need.told:
            figure = scene.draws.between(*need.told["good" if has else "bad"])
            row[need.column] = figure / 10 if "tenths" in need.told else figure


def _timetable(scene: Scene, *, gone: bool) -> JsonObject:
    """Return the timetable of a line that departs soon, or with ``gone`` departed for the last time some minutes ago."""
    every = scene.draws.between(15, 19)
    ahead = -scene.draws.between(6, 20) if gone else scene.draws.between(*_LEAVES) + 4 * every
    return timetable(range(scene.minute + ahead, 360, -every))
