"""The subjects of the cases of a made-up city: the kinds of plans, and the needs that hide behind their queries; all of it is data in ``plans.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Any, NamedTuple

from pytest_mapsat.making.worlds import Draws, coined_name, package_data
from pytest_mapsat.model import JsonObject

from .places import CM, YEAR, Centre, City, MadeUpWorld, Sort, Trait, clock, metres_between, sorts, timetable

#: The number of cases that the shares of the kinds add up to.
_WHOLE = 500
_HOUR = 60


class PlanKind(NamedTuple):
    """A kind of plan: the wishes of its users, when they ask, and their needs.

    Attributes:
        name: its key in ``plans.yaml``.
        family: how its options are made: ``place``, ``outing``, ``way``, ``line`` or ``ride``.
        share: how many of 500 cases are of it.
        domains: those of its cases.
        hours: the first and the last hour of the day at which its users ask.
        needs: each need with its reason; the first is the one that the first thing found breaks, the last is soft.
        tell: the figure that its users like to be told.
        mode: how they get there, where they ask for the way.
        sort, second: the sorts of the places that they look for.
    """

    name: str
    family: str
    share: int
    domains: tuple[str, ...]
    hours: tuple[int, int]
    needs: tuple[tuple[str, str], ...]
    tell: str
    mode: str = ""
    sort: str = ""
    second: str = ""


@dataclass(frozen=True)
class PlannedNeed:
    """One need of one user: the match that the right option fits, and the reason for it.

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
    def source(self) -> str:
        """Where an agent can learn of it: ``profile``, ``context`` or ``environment``."""
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
        """Return the dimension and the choice of the habit that shows the need; None if no habit does."""
        pair = self.reason.get("habit", {}).get(self.language)
        return (self.filled(pair[0]), self.filled(pair[1])) if pair else None

    def remark(self, draws: Draws) -> str:
        """Return an earlier remark of the user that shows the need; empty where there is none."""
        remarks = self.reason.get("history", {}).get(self.language)
        return self.filled(draws.choice(remarks)) if remarks else ""

    @property
    def _figures(self) -> Mapping[str, float | str]:
        """The values of the placeholders ``limit``, ``time`` and ``early`` (an hour before the time)."""
        early = clock(minutes_of(self.limit) - _HOUR) if isinstance(self.limit, str) and self.limit else ""
        return {"limit": self.limit, "time": self.limit, "early": early}


def filled(value: Any, figures: Mapping[str, float | str]) -> Any:
    """Return data with each ``{name}`` in its texts replaced by the figure; a text of the placeholder alone becomes the figure."""
    if isinstance(value, dict):
        return {key: filled(part, figures) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, figures) for part in value]
    for name, figure in figures.items() if isinstance(value, str) else ():
        if value == f"{{{name}}}":
            return figure
        value = value.replace(f"{{{name}}}", f"{figure}")
    return value


def need_of(kind: PlanKind, at: int, language: str, draws: Draws, limit: float | str | None = None) -> PlannedNeed:
    """Return one need of a case, with the user's own figure drawn or given.

    Args:
        kind: the kind of its plan.
        at: which of the kind's needs.
        language: ``en`` or ``zh``.
        draws: what the user's own figure is drawn from.
        limit: this figure, where the plan gives it.
    """
    name, why = kind.needs[at]
    entry, reason = plan_data()["needs"][name], plan_data()["reasons"][why]
    trait_name = entry.get("trait", "")
    trait_name = trait_name[language] if isinstance(trait_name, dict) else trait_name
    trait = sorts(language)[kind.sort].traits.get(trait_name) if trait_name else None
    if trait_name and trait is None:
        trait = next(sort.traits[trait_name] for sort in sorts(language).values() if trait_name in sort.traits)
    column = trait.column if trait else entry["column"]
    if limit is None and "limits" in entry:
        limit = draws.choice(entry["limits"])
    where = _where(entry, trait, column, language, limit)
    if limit is None and trait and column == "price_yuan":
        limit = where[column]["max"]
    return PlannedNeed(name, column, where, "" if limit is None else limit, trait, entry, reason, language)


def _where(
    entry: Mapping[str, Any], trait: Trait | None, column: str, language: str, limit: float | str | None
) -> JsonObject:
    """Return the match, as checks write it, that an option meeting the need fits."""
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
    for key in ("domains", "hours"):
        entry[key] = tuple(entry[key])
    return PlanKind(name, needs=tuple((need, why) for need, why in entry.pop("needs")), **entry)


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


@dataclass
class Scene:
    """One case while it is made: who asks, where and when, the needs and the options.

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
        needs: what the user needs, the weightiest first.
        options: what can be chosen, the first thing found first: each with the name of the need that it fails, empty for the right one.
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
    options: list[tuple[JsonObject, str]] = field(default_factory=list)
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
    """

    def __init__(self, world: MadeUpWorld) -> None:
        self._world = world
        self._free: dict[tuple[str, str], list[tuple[int, int]]] = {}
        self._names = {row["name"] for row in world.tables["places"]}
        self._towns: dict[str, int] = {}

    def scene(self, kind: PlanKind, number: int, language: str) -> Scene:
        """Return the scene of one case, and add its options to the world's tables.

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
        wet = any(reason == "rain" for _, reason in kind.needs)
        day = self._day(town, draws, wet=wet)
        name = f"{kind.name.replace('_', '-')}-{number + 1:02}"
        scene = Scene(kind, name, language, draws, self._world, town, centre.district, day, minute, here, spot)
        getattr(self, kind.family)(scene)  # one of the methods below
        return scene

    def _spot(self, kind: PlanKind, town: City) -> tuple[Centre, tuple[float, float]]:
        """Return a user's position that no other case with this sort of place has in the town, after the district's centre."""
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

    def _day(self, town: City, draws: Draws, *, wet: bool) -> date:
        """Return a random day of the year; with ``wet``, one on which it rains in the town all day."""
        if not wet:
            return date(YEAR, 1, 1) + timedelta(days=draws.below(365))
        rows = (row for row in self._world.tables["weather"] if row["city"] == town.name)
        days = [row["date"] for row in rows if all(part["rain"] for part in row["hours"])]
        return date.fromisoformat(draws.choice(days))

    # Places

    def place(self, scene: Scene) -> None:
        """Set the needs of a scene that looks for one place, and add its options to the world."""
        scene.needs = [self._need(scene, at) for at in range(len(scene.kind.needs))]
        scene.options = list(self._places(scene, scene.kind.sort))

    def outing(self, scene: Scene) -> None:
        """Set the needs of a scene that looks for places of two sorts, and add the options and two second places."""
        self.place(scene)
        sort, metres = scene.town.sorts[scene.kind.second], scene.draws.between(*_NEAREST)
        for _ in range(2):
            row = self._place(scene, sort, metres)
            self._lay(scene, row, sort, "")
            scene.second.append(row)
            self._world.tables["places"].append(row)
            metres += scene.draws.between(*_FARTHER)

    def _need(self, scene: Scene, at: int) -> PlannedNeed:
        """Return one need of a scene; for ``open_then`` its time is when the user asks, arrives or leaves."""
        name, reason = scene.kind.needs[at]
        limit = None
        if name == "open_then":
            draws = scene.draws
            later = {"clock": 0, "arrival": draws.between(17, 20) * _QUARTER, "stays": draws.between(12, 16) * _QUARTER}
            limit = clock(-(-(scene.minute + later[reason]) // 5) * 5)
        return need_of(scene.kind, at, scene.language, scene.draws, limit)

    def _places(self, scene: Scene, sort: str) -> Iterator[tuple[JsonObject, str]]:
        """Yield the options, nearest first, each with the need it fails; the right one is third or later, those after it rate higher."""
        names = [need.name for need in scene.needs]
        failed = [names[0], *scene.draws.sample(names[1:], 2), scene.draws.choice(names)]
        failed.insert(scene.draws.between(2, len(failed)), "")
        metres, stars = scene.draws.between(*_NEAREST), _STARS["nearer"]
        for fails in failed:
            row = self._place(scene, scene.town.sorts[sort], metres)
            self._lay(scene, row, scene.town.sorts[sort], fails)
            row["rating"] = scene.draws.between(*(stars if fails else _STARS["right"])) / 10
            stars = stars if fails else _STARS["behind"]
            self._world.tables["places"].append(row)
            if scene.kind.tell == "deal":
                title, valid = ("晚间洗剪", "每天") if scene.language == "zh" else ("Evening cut", "daily")
                price = row["price_yuan"] * scene.draws.between(70, 85) // 100
                deal = {"title": title, "price_yuan": price, "was_yuan": row["price_yuan"], "valid": valid}
                self._world.tables["deals"].append({"place_id": row["id"], **deal})
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
            "price_yuan": draws.between(sort.price[0], sort.price[1]) if sort.price else None,
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

    def _lay(self, scene: Scene, row: JsonObject, sort: Sort, fails: str) -> None:
        """Set the traits of a place so that it meets every need of the scene except ``fails``; other traits are random."""
        wanted = {need.trait.name for need in scene.needs if need.trait}
        columns = {need.column for need in scene.needs}
        for either in sort.needs:
            trait = scene.draws.choice(either)
            lists = isinstance(trait.values[0], str)
            if trait.column != "hours" and trait.name not in wanted and (lists or trait.column not in columns):
                trait.lay(row, scene.draws, has=scene.draws.chance(50))
        for need in scene.needs:
            if need.column == "hours":
                row["hours"] = _hours(row["hours"], need, scene, has=need.name != fails)
            else:
                _meet(row, need, scene.draws, has=need.name != fails)

    # Ways, lines and rides

    def way(self, scene: Scene) -> None:
        """Add four ways to a landmark: the quickest fails the weightiest need, the slowest, which is the shortest, is too late."""
        draws, walking = scene.draws, scene.kind.mode == "walking"
        scene.goal = self._goal(scene, far=not walking)
        apart = metres_between(scene.here, (scene.goal["lon"], scene.goal["lat"]))
        quickest = apart * 13 // 10 // (75 if walking else 560) + 3
        slower = max(quickest // 10, 2)
        minutes = [quickest, quickest + slower, quickest + 2 * slower]
        limit = minutes[-1] + draws.between(1, slower)
        minutes.append(limit + max(quickest // 4, 5))
        scene.needs = [
            need_of(scene.kind, at, scene.language, draws, limit if name == "in_time" else None)
            for at, (name, _) in enumerate(scene.kind.needs)
        ]
        others = [need.name for need in scene.needs[1:] if need.name != "in_time"]
        roads = draws.sample(scene.town.streets, 4)
        lengths = [apart * (14 + at) // 10 + draws.below(40) for at in range(3)] + [apart * 12 // 10]
        rest = {"walking": {"steps": 0}, "driving": {"toll_yuan": 0}}[scene.kind.mode]
        goal = f"{scene.goal['lon']},{scene.goal['lat']}"
        ends = {"from": ",".join(map(str, scene.here)), "to": goal, "mode": scene.kind.mode}
        fails_of = [scene.needs[0].name, others[0], "", "in_time"]
        for fails, road, length, takes in zip(fails_of, roads, lengths, minutes, strict=True):
            row: JsonObject = {**ends, "via": road, "distance_m": length, "duration_min": takes, **rest}
            _measure(row, scene, fails)
            scene.options.append((row, fails))
            self._world.tables["ways"].append(row)
            scene.patches.append(self._state(scene, road, closed=fails == "clear"))

    def _state(self, scene: Scene, road: str, *, closed: bool) -> JsonObject:
        """Return the patch of ``roads`` that closes a road or makes it clear."""
        until = clock(scene.minute + scene.draws.between(8, 20) * _QUARTER)
        zh = scene.language == "zh"
        status, event = ("封闭", "施工封路") if zh else ("closed", "closed for repairs")
        state = {"status": status, "event": event, "until": until}
        if not closed:
            state = {"status": "畅通" if zh else "clear", "event": "", "until": ""}
        return {"table": "roads", "where": {"city": scene.town.name, "road": road}, "set": state}

    def line(self, scene: Scene) -> None:
        """Add a stop for the user and four lines from it to a landmark; only the last one meets every need."""
        draws, zh = scene.draws, scene.language == "zh"
        scene.goal = self._goal(scene, far=True)
        stem = coined_name(scene.language, draws)
        scene.spot = f"{stem}站" if zh else f"{stem} Stop"
        stop, (lon, lat) = f"s-{scene.id}", scene.here
        row = {"id": stop, "name": scene.spot, "lon": lon, "lat": lat, "city": scene.town.name}
        self._world.tables["stops"].append(row)
        limit = draws.between(26, 38)
        limits: dict[str, int | str] = {"short_ride": limit, "still_runs": clock(scene.minute)}
        scene.needs = [
            need_of(scene.kind, at, scene.language, draws, limits.get(name))
            for at, (name, _) in enumerate(scene.kind.needs)
        ]
        names = [need.name for need in scene.needs]
        numbers = draws.sample(range(20, 99), 4)
        rides = (draws.between(12, 16), draws.between(17, 19), draws.between(20, 22), draws.between(23, 25))
        for at, fails in enumerate([names[0], names[1], names[2], ""]):
            gone = fails == "still_runs"
            row = {
                "id": f"{scene.id}-{at}",
                "city": scene.town.name,
                "from": [stop],
                "to": [f"s-{scene.goal['id']}"],
                "line": f"{numbers[at]}路" if zh else f"Bus {numbers[at]}",
                "kind": "公交" if zh else "bus",
                "alight": scene.goal["name"],
                **_timetable(scene, gone=gone),
                "ride_min": limit + draws.between(4, 12) if fails == "short_ride" else rides[at],
                "fare_yuan": 3,
                "step_free": True,
                "walk_to_stop_min": 1,
            }
            _measure(row, scene, fails)
            if fails == "level_boarding":
                row["step_free"] = False
            scene.options.append((row, fails))
            self._world.tables["lines"].append(row)

    def ride(self, scene: Scene) -> None:
        """Add five rides to a landmark in place of the town's own; the user's fare limit is set later, from the computed fares."""
        draws, zh = scene.draws, scene.language == "zh"
        scene.goal = self._goal(scene, far=True)
        scene.needs = [need_of(scene.kind, at, scene.language, draws) for at in range(2)]
        names = [need.name for need in scene.needs]
        calls = ["Compact", "Comfort", "Estate", "Minibus", "Saloon"]
        if zh:
            calls = ["快车", "舒适车", "专车", "商务车", "豪华车"]
        fares = [row["id"] for row in self._world.tables["fares"] if abs(row["lon"] - scene.here[0]) < 0.3]  # noqa: PLR2004  less than the towns lie apart
        scene.patches.append({"table": "fares", "where": {"id": fares}, "hide": True})
        added = []
        for at, fails in enumerate([names[0], names[1], "fare", "", names[0]]):
            row = {
                "id": f"{scene.id}-{at}",
                "lon": scene.here[0],
                "lat": scene.here[1],
                "kind": calls[at],
                "seats": 4,
                "bags": 3,
                "wheelchair": False,
                "child_seat": False,
                "wait_min": draws.between(2, 9),
                "start_yuan": draws.between(6, 9) + (14 if fails == "fare" else at),
                "yuan_per_km": (90 if fails == "fare" else draws.between(28, 31) + 3 * at) / 10,
            }
            _measure(row, scene, fails)
            row |= {need.column: need.name != fails for need in scene.needs if "good" not in need.told}
            added.append(row)
            scene.options.append((row, fails))
        scene.patches.append({"table": "fares", "add": added})

    def _goal(self, scene: Scene, *, far: bool) -> JsonObject:
        """Return a landmark of the town: one of the two nearest, or with ``far`` one beyond them."""
        rows = [self._world.place(place) for place in scene.town.landmarks.values()]
        rows.sort(key=lambda row: (metres_between(scene.here, (row["lon"], row["lat"])), row["id"]))
        return scene.draws.choice(rows[2:]) if far else scene.draws.choice(rows[:2])


def _moved(point: tuple[float, float], metres: int, wind: tuple[int, int]) -> tuple[float, float]:
    """Return a point moved by some metres in a direction, in degrees with five digits."""
    east, north = (metres * part // centimetres for part, centimetres in zip(wind, CM, strict=True))
    return (round(point[0] * 100_000) + east) / 100_000, (round(point[1] * 100_000) + north) / 100_000


def _hours(hours: str, need: PlannedNeed, scene: Scene, *, has: bool) -> str:
    """Return opening hours that include the time of a need, or with ``has`` false end shortly before it."""
    time = minutes_of(str(need.limit))
    opens = hours[:5] if "-" in hours else "08:00"
    if has:
        closes = min(time + scene.draws.between(*_STAYS), _LATEST)
        return f"{opens}-{clock(-(-closes // _QUARTER) * _QUARTER)}"
    closes = (time - scene.draws.between(*_CLOSED)) // 5 * 5
    return f"{opens}-{clock(closes)}"


def _meet(row: JsonObject, need: PlannedNeed, draws: Draws, *, has: bool) -> None:
    """Set the trait of a need on a place so that it meets the need, or fails it."""
    trait = need.trait
    if trait and isinstance(trait.values[0], str):
        others = [text for text in row.get(trait.column, []) if text != trait.label]
        instead = need.told.get("else", {}).get(need.language, [])
        row[trait.column] = [trait.label, *others] if has else others or list(instead)
    elif trait:
        trait.lay(row, draws, has=has)


def _measure(row: JsonObject, scene: Scene, fails: str) -> None:
    """Set the figures of an option that the needs are about: bad for the need ``fails``, good for the others."""
    for need in (need for need in scene.needs if "good" in need.told):
        low, high = need.told["bad" if need.name == fails else "good"]
        if need.column == "max_height_m":
            row[need.column] = scene.draws.between(round(low * 10), round(high * 10)) / 10
        else:
            row[need.column] = scene.draws.between(low, high)


def _timetable(scene: Scene, *, gone: bool) -> JsonObject:
    """Return the timetable of a line that departs soon, or with ``gone`` departed for the last time some minutes ago."""
    every = scene.draws.between(12, 18)
    ahead = -scene.draws.between(6, 20) if gone else scene.draws.between(8, 14) + 4 * every
    return timetable(range(scene.minute + ahead, 360, -every))
