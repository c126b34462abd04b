"""A made-up city from a seed, in memory: its sorts of places and the traits that a need can ask of them, the tables that the tools of the starter suite answer from, and what it was made to hold.

What places are called and hold is data in ``sorts.yaml``, what lies between them in ``surroundings.yaml``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from pytest_mapsat.formats import package_data
from pytest_mapsat.making.worlds import TOWNS, Draws, Town, coined_name, town
from pytest_mapsat.model import Json, JsonObject, Match, canonical_json, fits_row

#: How late in the evening a place that is open late closes, and one that is not, in half hours after midnight; the same of opening in the morning.
_CLOSES = {True: (45, 48), False: (36, 41)}
_OPENS = {True: (12, 14), False: (18, 21)}
_NOON = "12:00"


@dataclass(frozen=True)
class Trait:
    """A property of a place of one sort that a user may need, worded in one language.

    Attributes:
        name: its key in ``sorts.yaml``, such as ``step_free``.
        column: the column of ``places`` that shows it, which ``place_details`` gives.
        label: what it is called in the language, such as ``step-free entrance``.
        where: the match that holds of places that have it, as checks write it: ``{"step_free": true}``.
        values: what the column of a place is or holds, or from where to where its figure lies: with the trait, and without.
        tenths: whether the figures are tenths.
    """

    name: str
    column: str
    label: str
    where: Mapping[str, Json]
    values: tuple[Any, Any]
    tenths: bool = False

    def holds(self, row: Mapping[str, Json]) -> bool:
        """Return whether a place has the trait."""
        return meets(row, self.where)

    def lay(self, row: JsonObject, draws: Draws, *, has: bool) -> None:
        """Set the columns of a place so that it has, or lacks, the trait."""
        value = self.values[0 if has else 1]
        if self.column == "hours":
            hours = row["hours"]
            if self.where["hours"]["time"] > _NOON:  # as _traits makes it
                hours[1] = draws.between(*_CLOSES[has])
            else:
                hours[0] = draws.between(*_OPENS[has])
        elif isinstance(value, str):
            row.setdefault(self.column, []).extend([value] if has else [])
        elif isinstance(value, bool):
            row[self.column] = value
        else:
            figure = draws.between(*value)
            row[self.column] = figure / 10 if self.tenths else figure


@dataclass(frozen=True)
class Sort:
    """A sort of places (such as cafes) in one language, with its names, hours, prices and possible traits.

    Attributes:
        name: its key in ``sorts.yaml``, such as ``cafe``.
        kind: the ``kind`` of its places: ``cafe``, 咖啡馆.
        dimension: what habits call it: ``cafes``, 咖啡馆.
        trades: the words that names of such places end in.
        sorts: further sorts that its places belong to.
        hours: when its places open and close, half hours after midnight, each from the first to the last; None: always open.
        price: the least, the most that counts as cheap, and the most, in yuan; None: its places have no price.
        indoor: whether its places lie indoors; None: some do.
        needs: the traits that one of its places can have; of those in one tuple each place in a centre is made for one.
    """

    name: str
    kind: str
    dimension: str
    trades: tuple[str, ...]
    sorts: tuple[str, ...]
    hours: tuple[int, ...] | None
    price: tuple[int, int, int] | None
    indoor: bool | None
    needs: tuple[tuple[Trait, ...], ...]

    @property
    def traits(self) -> dict[str, Trait]:
        """The traits by name."""
        return {trait.name: trait for either in self.needs for trait in either}

    def new_name(self, language: str, draws: Draws, taken: set[str]) -> str:
        """Draw a place name that is not in ``taken``, add the name to ``taken`` and return it."""
        name = ""
        while not name or name in taken:
            name = joined(language, coined_name(language, draws), draws.choice(self.trades))
        taken.add(name)
        return name


def joined(language: str, stem: str, trade: str) -> str:
    """Return a place name from a stem and a trade word: with a space in English, without a space in Chinese."""
    return f"{stem} {trade}" if language == "en" else f"{stem}{trade}"


def meets(row: Mapping[str, Json], where: Mapping[str, Json]) -> bool:
    """Return whether a row fulfils matches, written as in checks; every row fulfils an empty set of matches."""
    return not where or fits_row(_matches(canonical_json(dict(where))), row) is True


@cache
def _matches(where: str) -> Mapping[str, Match]:
    """Return the matches in a JSON text as validated objects; cached."""
    return TypeAdapter(dict[str, Match]).validate_json(where)


def document() -> Any:
    """Return the content of ``sorts.yaml``."""
    return package_data(__package__, "sorts.yaml")


@cache
def sorts(language: str) -> Mapping[str, Sort]:
    """Return the sorts of places in a language (``en``, ``zh``), by name."""
    return {name: _sort(name, entry, language) for name, entry in document()["sorts"].items()}


def _sort(name: str, entry: Mapping[str, Any], language: str) -> Sort:
    """Return the sort of places that an entry of ``sorts.yaml`` describes, in one language."""
    kind, dimension, *trades = entry[language]
    hours, price = entry.get("hours"), entry.get("price")
    needs = tuple(tuple(_traits(entry, either.split("/"), language)) for either in entry["traits"])
    return Sort(
        name,
        kind,
        dimension,
        tuple(trades),
        tuple(entry.get("sorts", ())),
        tuple(2 * hour for hour in hours) if hours else None,
        tuple(price) if price else None,
        entry.get("indoor"),
        needs,
    )


@cache
def trait_of(sort: str, name: str, language: str) -> Trait:
    """Return a trait of ``sorts.yaml`` in one language, with the prices of a sort of places. Raises KeyError."""
    return next(_traits(document()["sorts"].get(sort, {}), [name], language))


def _traits(sort: Mapping[str, Any], names: list[str], language: str) -> Iterator[Trait]:
    """Yield the named traits of a sort of places, built from ``sorts.yaml`` in one language."""
    for name in names:
        entry = document()["traits"][name]
        column, label = entry["column"], entry[language]
        if "open" in entry:
            yield Trait(name, column, label, {column: {"op": "open_at", "time": entry["open"]}}, (True, False))
        elif "list" in entry:
            yield Trait(name, column, label, {column: {"op": "contains", "text": label}}, (label, label))
        elif column == "price_yuan":
            least, cheap, most = sort["price"]
            values = (least, cheap), (cheap + cheap // 4 + 1, most)
            yield Trait(name, column, label, {column: {"op": "between", "max": cheap}}, values)
        elif "good" in entry:
            bound = {"max": entry["most"]} if "most" in entry else {"min": entry["least"]}
            values = tuple(entry["good"]), tuple(entry["bad"])
            yield Trait(name, column, label, {column: {"op": "between", **bound}}, values, entry.get("tenths", False))
        else:
            value = entry.get("value", True)
            yield Trait(name, column, label, {column: value}, (value, not value))


# -- what lies between places ------------------------------------------------------------------------------------------

#: The year of the weather, and how many days an activity row looks back.
YEAR, DAYS = 2026, 90
#: Centimetres of 0.00001 degrees of longitude and of latitude, near 31 degrees north.
CM = (95, 111)
#: A way is so many tenths as long as the crow flies, so many minutes slower than the quickest, and so many metres a minute quick.
_DRIVES = {"toll": (13, 0), "main": (14, 4), "slow": (17, 9)}
_DRIVE_M, _DRIVE_PLUS = 650, 6
_WALKS = {"steps": 12, "level": 15, "long": 19}
_WALK_M = 75
#: The farthest walk that has ways of its own, and the nearest, in metres.
_WALKED = (250, 4000)
#: Of sorts whose places have ways of their own from their centre.
STEEP = ("viewpoint", "museum", "library", "clinic")


def metres_between(here: tuple[float, float], there: tuple[float, float]) -> int:
    """Return the whole metres between two points (longitude, latitude) in a city, exact to 1 % and equal on every machine."""
    sides = zip(here, there, CM, strict=True)
    across, along = (round((left - right) * 100_000) * centimetres for left, right, centimetres in sides)
    return isqrt(across * across + along * along) // 100


def stop_of(place: str) -> str:
    """Return the id of the transit stop at a place with a given id."""
    return f"s-{place}"


def _apart(start: JsonObject, end: JsonObject) -> tuple[int, JsonObject]:
    """Return the metres between two places, and the coordinates of both as the ``from`` and ``to`` of a way."""
    apart = metres_between((start["lon"], start["lat"]), (end["lon"], end["lat"]))
    return apart, {"from": f"{start['lon']},{start['lat']}", "to": f"{end['lon']},{end['lat']}"}


def _timetable(ranges: Mapping[str, Any], draws: Draws) -> JsonObject:
    """Draw a line's timetable from ranges of minutes: the last departure, and all departures by hour."""
    last, every, first = (draws.between(*ranges[key]) for key in ("last", "every", "first"))
    return timetable(range(last, first, -every))


def timetable(minutes: Sequence[int]) -> JsonObject:
    """Return a timetable from departures in minutes after midnight, with the last departure first: the last, and all by hour."""
    times: dict[str, list[str]] = {}
    for time in map(clock, sorted(minutes)):
        times.setdefault(time[:2], []).append(time[3:])
    return {"last": clock(minutes[0]), "times": times}


def clock(minutes: int) -> str:
    """Return minutes after midnight as a time of day, ``HH:MM``."""
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"


# -- what is taken from the starter suite ------------------------------------------------------------------------------

#: The tools and words of a city have their home in the starter suite; a wheel has them as data of this package.
_CHECKOUT = Path(__file__).parents[3] / "benchmark_cases"


def _home(folder: str) -> Traversable:
    """Return a folder of the starter suite: packaged data in a wheel, else ``benchmark_cases`` of the checkout."""
    packed = files(__package__) / "starter" / folder
    return packed if packed.is_dir() else _CHECKOUT / folder


def tool_files() -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of the starter suite's tool files, except ``errands.yaml``, whose tools write."""
    folder = _home("tools")
    for name in sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml")):
        if name != "errands.yaml":
            yield name, (folder / name).read_bytes()


def word_rows() -> dict[str, list[JsonObject]]:
    """Return the rows of the tables ``words`` and ``road_words``, with which the tools read search texts."""
    folder = _home("state")
    lines = {name: (folder / f"{name}.jsonl").read_bytes().splitlines() for name in ("words", "road_words")}
    tables = {name: [json.loads(line) for line in rows] for name, rows in lines.items()}
    own = document()["words"]
    sorts = {word: row["sort"] for row in own for word in row["words"]}
    # A word that a city has for a sort of its own is no name, nor a word, of another sort.
    starter = [row for row in tables["words"] if sorts.get(row.get("sort", ""), row.get("sort")) == row.get("sort")]
    for row in starter:
        if sort := row.get("sort"):
            row["words"] = [word for word in row["words"] if sorts.get(word, sort) == sort]
    tables["words"] = starter + own
    return tables


# -- the places of a town: in groups about each centre, every plan of needs has its right place and others that just miss it

#: Places stand on a lattice, no two in one cell: so many cells a district has from west to east and from south to north, each so wide, in 0.00001 degrees.
_ACROSS, _ALONG, _CELL = 60, 20, 60
#: Where in its cell a place stands, at most so far from the middle.
_OFF = 12
#: So many places are in a group; they can tell apart half as many traits.
_PLACES = 16
_ALWAYS = "24h"
_DEALS = ((100, 0), (60, 1), (25, 2))


class PlaceGroup(NamedTuple):
    """The places of one sort about a centre: for any three traits, exactly two places share each combination of present and missing traits.

    So any plan of two or three needs, of any of them either way, has its right place here and others that each miss one need alone, and having one
    trait says nothing about having another.

    Attributes:
        traits: what a need can ask for here: the traits by name.
        ids: the ids of the sixteen places.
    """

    traits: Mapping[str, Trait]
    ids: tuple[str, ...]


class Maker:
    """Generates one town: places in groups around the centres of its districts, and the ways and lines between them.

    Args:
        seed: the seed of the world.
        number: which of its towns.
        town: the town.

    Attributes:
        places: the places by id.
        groups: the groups of places, by the id of their centre and the name of their sort.
        centres: the landmarks in the middle of the districts.
        landmarks: the places that stand once in the town, by sort, each with the number of its district.
    """

    def __init__(self, seed: int, number: int, town: Town) -> None:
        self._seed, self._number, self._town = seed, number, town
        self._names: set[str] = set()
        self._cells = [Draws(seed, "cells", number, at) for at in range(len(town.districts))]
        self._free = [list(range(_ACROSS * _ALONG)) for _ in town.districts]
        self._lying = package_data(__package__, "surroundings.yaml")
        self._words = self._lying[town.language]
        self._road_names: dict[tuple[str, str], str] = {}
        self.places: dict[str, JsonObject] = {}
        self.groups: dict[tuple[str, str], PlaceGroup] = {}
        self.centres: list[JsonObject] = []
        for at in range(len(town.districts)):
            self.centres.append(self._centre(at))
            for sort in sorts(town.language).values():
                self.groups[self.centres[at]["id"], sort.name] = self._group(at, sort)
        self.landmarks = dict(self._landmarks())
        areas = (area for district in town.districts for area in district.areas)
        self.streets = tuple(street for area in areas for street in area.streets)

    def tables(self) -> dict[str, list[JsonObject]]:
        """Return the rows of the town by table."""
        names = ("places", "deals", "ways", "roads", "stops", "lines", "fares", "weather")
        return {name: list(getattr(self, f"_{name}")()) for name in names}  # the methods below

    def _places(self) -> list[JsonObject]:
        """Return the places in random order, each with a fictitious telephone number."""
        rows = sorted(self.places.values(), key=lambda row: Draws(self._seed, "order", row["id"]).below(1 << 40))
        for at, row in enumerate(rows):
            row["phone"] = f"000-555-{at:04}"
        return rows

    def _centre(self, at: int) -> JsonObject:
        """Add the landmark in the middle of the district with index ``at``, and return the landmark's row."""
        name = self._town.districts[at].areas[1].landmarks[0]
        middle = _ALONG // 2 * _ACROSS + _ACROSS // 2
        draws, kind = Draws(self._seed, "centre", self._number, at), document()["centre"][self._town.language]
        return self._place(at, draws, key=f"c{at}", name=name, kind=kind, cell=middle)

    def _landmarks(self) -> Iterator[tuple[str, tuple[int, JsonObject]]]:
        """Add the landmarks that exist once per town; yield the sort of each with its district index and row."""
        town = self._town
        for tour, (sort, names_by_language) in enumerate(document()["landmarks"].items(), start=1):
            draws = Draws(self._seed, "landmark", self._number, sort)
            kind, *names = names_by_language[town.language]
            at = draws.below(len(town.districts))
            name, alias = (joined(town.language, town.name.removesuffix("市"), trade) for trade in names)
            row = self._place(at, draws, key=sort, name=name, kind=kind)
            row |= {"alias": [alias], "tour": tour}
            yield sort, (at, row)

    def _group(self, at: int, sort: Sort) -> PlaceGroup:
        """Add the places of a sort in a district, with traits from an orthogonal array of strength three, and return the group."""
        traits = [either[(at + self._number // 2) % len(either)] for either in sort.needs]
        draws = Draws(self._seed, "group", self._number, at, sort.name)
        columns = draws.sample(range(_PLACES // 2), len(traits))
        ids = []
        for number, function in enumerate(draws.sample(range(_PLACES), _PLACES)):
            own = Draws(self._seed, "place", self._number, at, sort.name, number)
            name = sort.new_name(self._town.language, own, self._names)
            row = self._place(at, own, key=f"{at}{sort.name}{number}", name=name, kind=sort.kind)
            self._furnish(row, sort, own)
            for trait, column in zip(traits, columns, strict=True):
                trait.lay(row, own, has=(function // 2 & column).bit_count() % 2 == function % 2)
            row["hours"] = _hours(row["hours"])
            self._remark(row, sort, own)
            self.places[row["id"]] = {name: row[name] for name in document()["columns"] if name in row}
            ids.append(row["id"])
        return PlaceGroup({trait.name: trait for trait in traits}, tuple(ids))

    def _deals(self) -> Iterator[JsonObject]:
        """Yield deal rows: six of ten places with a price get at least one deal."""
        words = document()["deals"][self._town.language]
        titles: dict[str, int] = words["titles"]
        for place, row in self.places.items():
            draws = Draws(self._seed, "deals", place)
            share = draws.below(100)
            count = max(deals for most, deals in _DEALS if share < most) if row.get("price_yuan") else 0
            for title, people in draws.sample(tuple(titles.items()), count):
                was = row["price_yuan"] * people
                price = was * draws.between(60, 90) // 100
                valid = draws.choice(words["valid"])
                yield {"place_id": place, "title": title, "price_yuan": price, "was_yuan": was, "valid": valid}

    def _furnish(self, row: JsonObject, sort: Sort, draws: Draws) -> None:
        """Fill the columns of a place that do not depend on its traits: opening hours, price, indoor, dogs and so on."""
        if sort.sorts:
            row["sorts"] = list(sort.sorts)
        if sort.hours:
            row["hours"] = [draws.between(*sort.hours[:2]), draws.between(*sort.hours[2:])]
        if sort.price:
            row["price_yuan"] = draws.between(sort.price[0], sort.price[2])
        row["indoor"] = draws.chance(50) if sort.indoor is None else sort.indoor
        row |= {"step_free": draws.chance(60), "dogs": draws.chance(30), "parking": draws.chance(40)}

    def _remark(self, row: JsonObject, sort: Sort, draws: Draws) -> None:
        """Fill the columns that depend on a place's traits (open air, allergens), and sometimes an irrelevant notice."""
        data, language = document(), self._town.language
        if sort.indoor is None:
            row["open_air"] = not row["indoor"]
        if free := sort.traits.get("nut_free"):
            nuts, *others = data["allergens"][language]
            row["allergens"] = draws.sample(others, draws.between(1, 2)) + ([] if free.holds(row) else [nuts])
        if draws.chance(4):
            row["notice"] = draws.choice(data["notices"][language])

    def _place(self, at: int, draws: Draws, *, key: str, name: str, kind: str, cell: int | None = None) -> JsonObject:
        """Add a place in a cell of a district (a free cell by default), and return its row with the basic columns."""
        free = self._free[at]
        if cell is None:
            cell = free.pop(self._cells[at].below(len(free)))
        else:
            free.remove(cell)
        district = self._town.districts[at]
        south, west = (edge // 10 for edge in district.areas[0].corner)
        column, row = cell % _ACROSS, cell // _ACROSS
        lon = west + column * _CELL + _CELL // 2 + draws.between(-_OFF, _OFF)
        lat = south + row * _CELL + _CELL // 2 + draws.between(-_OFF, _OFF)
        area = district.areas[column * len(district.areas) // _ACROSS]
        place: JsonObject = {
            "id": f"p{Draws(self._seed, 'id', self._number, key).below(1 << 44):011x}",
            "name": name,
            "kind": kind,
            "city": self._town.name,
            "address": self._town.address(area, draws),
            "lon": lon / 100_000,
            "lat": lat / 100_000,
            "hours": _ALWAYS,
            "rating": draws.between(37, 49) / 10,
            "phone": "",
            "step_free": True,
        }
        self.places[place["id"]] = place
        return place

    # -- what lies between the places

    def _road(self, sort: str, key: str) -> str:
        """Return the name of a road; the same key always has the same name."""
        if (sort, key) not in self._road_names:
            draws = Draws(self._seed, self._number, "road", sort, key)
            taken = {*self.streets, *self._road_names.values()}
            name = ""
            while not name or name in taken:
                name = f"{coined_name(self._town.language, draws)}{draws.choice(self._words['roads'][sort])}"
            self._road_names[sort, key] = name
        return self._road_names[sort, key]

    def _ways(self) -> Iterator[JsonObject]:
        """Yield rows of ways: drives and walks from every centre to the landmarks, and walks to the centre's places of the sorts in STEEP."""
        for at, centre in enumerate(self.centres):
            for district, place in self.landmarks.values():
                draws = Draws(self._seed, self._number, "ways", at, place["id"])
                keys = {"toll": place["id"], "main": f"{at}", "slow": f"{district}"}
                yield from self._drives(centre, place, keys, draws)
                yield from self._walks(centre, place, at, draws)
            for key in (key for sort in STEEP for key in self.groups[centre["id"], sort].ids):
                yield from self._walks(centre, self.places[key], at, Draws(self._seed, self._number, "walks", key))

    def _drives(
        self, centre: JsonObject, place: JsonObject, keys: Mapping[str, str], draws: Draws
    ) -> Iterator[JsonObject]:
        """Yield three drives to a place: a quick toll road, a main road with a height limit, and a slow road."""
        apart, ends = _apart(centre, place)
        minutes = _DRIVE_PLUS + apart * 13 // 10 // _DRIVE_M
        low = Draws(self._seed, self._number, "low", keys["main"]).chance(60)
        for sort, (tenths, slower) in _DRIVES.items():
            row = {**ends, "mode": "driving", "via": self._road(sort, keys[sort])}
            row |= {"distance_m": apart * tenths // 10 + 30, "duration_min": minutes + slower + draws.below(3)}
            row["toll_yuan"] = draws.between(6, 20) if sort == "toll" else 0
            if sort == "main":
                row["max_height_m"] = (22 if low else 42) / 10
            yield row

    def _walks(self, centre: JsonObject, place: JsonObject, at: int, draws: Draws) -> Iterator[JsonObject]:
        """Yield three walks to a place: a short one with steps, a level one and a longer one; nothing if the place is too near or too far."""
        apart, ends = _apart(centre, place)
        if not _WALKED[0] <= apart <= _WALKED[1]:
            return
        for sort, tenths in _WALKS.items():
            metres = apart * tenths // 10 + 20
            row = {**ends, "mode": "walking", "via": self._road(sort, f"{at}"), "distance_m": metres}
            steps = draws.between(40, 220) if sort == "steps" else 0
            yield row | {"duration_min": metres // _WALK_M + 1, "steps": steps}

    def _roads(self) -> Iterator[JsonObject]:
        """Yield the traffic state of each road: one in five roads on ways is closed, one in seven slow; streets are clear."""
        words = self._words
        for road in (*self._road_names.values(), *self.streets):
            draws = Draws(self._seed, self._number, "state", road)
            share = draws.below(100) if road not in self.streets else 100
            state = "closed" if share < 20 else "slow" if share < 34 else "clear"  # noqa: PLR2004  of a hundred
            event = "" if state == "clear" else draws.choice(words[state])
            until = "" if state == "clear" else f"{draws.between(19, 23)}:{draws.below(4) * 15:02}"
            status = words["status"][state]
            yield {"city": self._town.name, "road": road, "status": status, "event": event, "until": until}

    def _stopping(self) -> list[JsonObject]:
        """Return the places with a transit stop: the centres and the landmarks."""
        return [*self.centres, *(place for _, place in self.landmarks.values())]

    def _stops(self) -> Iterator[JsonObject]:
        """Yield the row of the transit stop at each centre and landmark."""
        for place in self._stopping():
            stop = {"id": stop_of(place["id"]), "name": place["name"], "alias": [place["id"]]}
            yield {**stop, "lon": place["lon"], "lat": place["lat"], "city": self._town.name}

    def _lines(self) -> Iterator[JsonObject]:
        """Yield a metro, a bus and a night line from every centre to every other stop, and from every landmark to every centre."""
        stopping = self._stopping()
        metros = {place["id"]: at for at, place in enumerate(stopping, start=1)}
        pairs = [(centre, stop) for centre in self.centres for stop in stopping if centre is not stop]
        pairs += [(landmark, centre) for centre in self.centres for _, landmark in self.landmarks.values()]
        for at, (start, end) in enumerate(pairs):
            draws = Draws(self._seed, self._number, "lines", start["id"], end["id"])
            lifted = draws.chance(50)
            for sort, ranges in self._lying["lines"].items():
                number = metros[end["id"]] if sort == "metro" else 10 + at
                name = self._words["lines"][sort].format(number=number)
                free = {"metro": lifted, "bus": not lifted or draws.chance(30), "night": draws.chance(70)}[sort]
                row = {
                    "id": f"l{self._number}-{sort}-{at}",
                    "city": self._town.name,
                    "from": [stop_of(start["id"])],
                    "to": [stop_of(end["id"])],
                    "line": name,
                    "kind": self._words["kinds"][sort],
                    "alight": end["name"],
                    **_timetable(ranges, draws),
                    "ride_min": ranges["plus"] + _apart(start, end)[0] // ranges["speed"],
                    "fare_yuan": draws.between(*ranges["fare"]),
                    "step_free": free,
                    "walk_to_stop_min": draws.between(1, 9),
                    "walk_m": draws.between(2, 18) * 10,
                }
                if sort == "metro" and not free:
                    row["notice"] = self._words["lift"].format(stop=end["name"])
                yield row

    def _fares(self) -> Iterator[JsonObject]:
        """Yield the fare row of each kind of ride in the town, with waits and prices of this town."""
        middles = sorted((place["lon"], place["lat"]) for place in self.centres)
        lon, lat = (round(sum(part) / len(middles), 3) for part in zip(*middles, strict=True))
        for at, (name, ride) in enumerate(self._lying["rides"].items(), start=1):
            draws = Draws(self._seed, self._number, "ride", name)
            yield {
                "id": f"f{self._number}-{at}",
                "lon": lon,
                "lat": lat,
                "kind": self._words["rides"][name],
                "seats": ride["seats"],
                "bags": ride["bags"],
                "wheelchair": ride.get("wheelchair", False),
                "wait_min": draws.between(*ride["wait"]),
                "child_seat": ride.get("child_seat", False),
                "per_person": ride.get("per_person", False),
                "start_yuan": ride["start"] + draws.below(3),
                "yuan_per_km": (ride["tenths"] + draws.below(5)) / 10,
                "longer_min": ride.get("longer", 0),
            }

    def _weather(self) -> Iterator[JsonObject]:
        """Yield the weather of every day of the year in three parts of the day."""
        words = self._words["weather"]
        day = date(YEAR, 1, 1)
        while day.year == YEAR:
            draws = Draws(self._seed, self._number, "weather", day.isoformat())
            high = 28 - abs(day.timetuple().tm_yday - 205) * 24 // 160 + draws.between(-3, 3)
            low = high - draws.between(5, 9)
            dry, wet = draws.choice(words["dry"]), draws.choice(words["snow" if high <= 2 else "wet"])  # noqa: PLR2004  degrees
            rain = [draws.chance(26) for _ in range(3)]
            spans = [(f"{6 * at:02}:00", f"{6 * at + 6:02}:00") for at in (1, 2, 3)]
            wet_spans = [span for span, falls in zip(spans, rain, strict=True) if falls]
            if len(wet_spans) in (0, 3) or rain == [True, False, True]:
                rain = [bool(wet_spans)] * 3
                summary = words["whole"].format(sky=wet if wet_spans else dry)
            else:
                summary = words["part"].format(dry=dry, wet=wet, start=wet_spans[0][0], end=wet_spans[-1][1])
            hours = [
                {"from": start, "to": end, "sky": wet if falls else dry, "rain": falls}
                for (start, end), falls in zip(spans, rain, strict=True)
            ]
            row = {"city": self._town.name, "date": day.isoformat(), "summary": summary}
            yield {**row, "high_c": high, "low_c": low, "hours": hours}
            day += timedelta(days=1)

    def city(self) -> City:
        """Return the town as a ``City``: its names, centres, landmarks and streets."""
        centres = tuple(
            Centre(self._town.name, row["name"], district.name, row["id"], row["lon"], row["lat"])
            for district, row in zip(self._town.districts, self.centres, strict=True)
        )
        landmarks = {sort: place["id"] for sort, (_, place) in self.landmarks.items()}
        return City(self._town.name, self._town.language, centres, landmarks, self.streets)


def _hours(hours: Any) -> str:
    """Return opening hours as text, ``HH:MM-HH:MM``, from half hours after midnight; return a text unchanged."""
    if isinstance(hours, str):
        return hours
    opens, closes = (f"{half // 2:02}:{half % 2 * 30:02}" for half in hours)
    return f"{opens}-{closes}"


# -- the world that they make up


class Centre(NamedTuple):
    """The middle of a district, which is also a place.

    Attributes:
        town: the name of its town.
        name: the name of its landmark, by which a place is found.
        district: the name of the district.
        id: the id of the landmark among ``places``.
        lon, lat: WGS 84 degrees, with five digits.
    """

    town: str
    name: str
    district: str
    id: str
    lon: float
    lat: float


@dataclass(frozen=True)
class City:
    """A town of a world: name, language, centres, streets, and the ids of its landmarks by sort, with ways and lines to them."""

    name: str
    language: str
    centres: tuple[Centre, ...]
    landmarks: Mapping[str, str]
    streets: tuple[str, ...]

    @property
    def sorts(self) -> Mapping[str, Sort]:
        """The sorts of places in the town, by name."""
        return sorts(self.language)


@dataclass(frozen=True)
class MadeUpWorld:
    """A made-up world: its towns, its tables, and its places in groups.

    What it guarantees: about every centre, at most 2 km away, there is a group of sixteen places of every sort (``PlaceGroup`` says what they have); the
    rows may be added to, those that stand are not to be changed.

    Attributes:
        seed: the seed that it was made from.
        towns: the towns.
        tables: rows by table, under the columns that the tools read.
        groups: the groups of places, by the id of their centre and the name of their sort.
    """

    seed: int
    towns: tuple[City, ...]
    tables: dict[str, list[JsonObject]]
    groups: Mapping[tuple[str, str], PlaceGroup]
    _places: dict[str, JsonObject] = field(default_factory=dict, repr=False)

    def place(self, id: str) -> JsonObject:  # noqa: A002  the column is called so
        """Return the row of a place. Raises KeyError."""
        if len(self._places) != len(self.tables["places"]):
            self._places.update((row["id"], row) for row in self.tables["places"])
        return self._places[id]

    def group(self, centre: Centre, sort: str) -> PlaceGroup:
        """Return the places of one sort about a centre. Raises KeyError."""
        return self.groups[centre.id, sort]

    def town_of(self, name: str) -> City:
        """Return a town by its name. Raises StopIteration."""
        return next(town for town in self.towns if town.name == name)

    def near(self, lon: float, lat: float, sort: str) -> list[JsonObject]:
        """Return the places of a sort in the town of a point, the nearest first."""
        town = min(self.towns, key=lambda town: abs(town.centres[0].lon - lon))
        groups = [self.groups[centre.id, sort] for centre in town.centres]
        rows = [self.place(place) for group in groups for place in group.ids]
        away = {row["id"]: metres_between((lon, lat), (row["lon"], row["lat"])) for row in rows}
        return sorted(rows, key=lambda row: (away[row["id"]], row["id"]))


def world_of(seed: int, *, towns: int = 2, language: str = "mixed") -> MadeUpWorld:
    """Return a made-up world; a seed gives the same world on every machine and Python version.

    Args:
        seed: the seed.
        towns: how many towns, from 1 to ``TOWNS``.
        language: ``en``, ``zh`` or ``mixed``: the towns take turns, Chinese first.

    Raises:
        ValueError: there are fewer towns.
    """
    if not 1 <= towns <= TOWNS:
        raise ValueError(f"towns: found {towns}, expected 1 to {TOWNS}")
    languages = ("zh", "en") if language == "mixed" else (language,)
    names = ("places", "deals", "ways", "roads", "stops", "lines", "fares", "weather", "users", "activities")
    tables: dict[str, list[JsonObject]] = {name: [] for name in names} | word_rows()
    groups: dict[tuple[str, str], PlaceGroup] = {}
    cities = []
    for number in range(towns):
        maker = Maker(seed, number, town(seed, number, languages[number % len(languages)]))
        for name, rows in maker.tables().items():
            tables[name] += rows
        groups |= maker.groups
        cities.append(maker.city())
    return MadeUpWorld(seed, tuple(cities), tables, groups)
