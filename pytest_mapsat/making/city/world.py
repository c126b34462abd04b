"""A made-up city from a seed, in memory: the tables that the tools of the starter suite answer from, and what it was made to hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

from pytest_mapsat.making.towns import TOWNS, Draws, Town, town
from pytest_mapsat.model import JsonObject

from .sorts import STEEP, Sort, Surroundings, Trait, document, joined, metres_between, sorts

#: The tools and words of a city have their home in the starter suite; a wheel has them as data of this package.
_CHECKOUT = Path(__file__).parents[3] / "benchmark_cases"


def _home(folder: str) -> Traversable:
    packed = files(__package__) / "starter" / folder
    return packed if packed.is_dir() else _CHECKOUT / folder


def tool_files() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the twelve tools that read, by name: those of errands change things, and a city has none."""
    folder = _home("tools")
    for name in sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml")):
        if name != "errands.yaml":
            yield name, (folder / name).read_bytes()


def word_rows() -> dict[str, list[JsonObject]]:
    """Return the tables of words by which the tools read search texts."""
    tables = {
        name: [json.loads(line) for line in (_home("state") / f"{name}.jsonl").read_bytes().splitlines()]
        for name in ("words", "road_words")
    }
    tables["words"] += document()["words"]
    return tables


# -- the places of a town: in groups about each centre, every plan of needs has its right place and others that just miss it

#: Places stand on a lattice, no two in one cell: so many cells a district has from west to east and from south to north, each so wide, in 0.00001 degrees.
_ACROSS, _ALONG, _CELL = 60, 20, 60
#: Where in its cell a place stands, at most so far from the middle.
_OFF = 12
#: So many places are in a group; they can tell apart half as many traits.
_PLACES = 16
#: The columns of a place in their order, as the starter suite has them.
_COLUMNS = (
    *("id", "name", "alias", "kind", "sorts", "city", "address", "lon", "lat", "hours", "rating", "price_yuan"),
    *("phone", "indoor", "step_free", "dogs", "open_air", "parking", "themes", "features", "suits", "allergens"),
    *("services", "connectors", "payment", "notice", "largest_table", "wait_days", "queue_min", "headroom_m"),
    *("fee_yuan_per_h", "free_spaces", "free_stalls", "power_kw"),
)
_ALWAYS = "24h"
_DEALS = ((100, 0), (60, 1), (25, 2))


class Group(NamedTuple):
    """The places of one sort about a centre: of any three traits, each combination of having and lacking them is that of exactly two places.

    So any plan of two or three needs, of any of them either way, has its right place here and others that each miss one need alone, and having one
    trait says nothing about having another.

    Attributes:
        sort: the name of the sort.
        traits: what a need can ask for here: the traits by name.
        ids: the ids of the sixteen places.
    """

    sort: str
    traits: Mapping[str, Trait]
    ids: tuple[str, ...]


class Maker:
    """Makes the places of one town.

    Args:
        seed: the seed of the world.
        number: which of its towns.
        town: the town.
    """

    def __init__(self, seed: int, number: int, town: Town) -> None:
        self._seed, self._number, self._town = seed, number, town
        self._names: set[str] = set()
        self._cells = [Draws(seed, "cells", number, at) for at in range(len(town.districts))]
        self._free = [list(range(_ACROSS * _ALONG)) for _ in town.districts]
        self.places: dict[str, JsonObject] = {}

    def rows(self) -> list[JsonObject]:
        """Return the places in an order that says nothing about them, each with a telephone number: no country has such an area code."""
        rows = sorted(self.places.values(), key=lambda row: Draws(self._seed, "order", row["id"]).below(1 << 40))
        for at, row in enumerate(rows):
            row["phone"] = f"000-555-{at:04}"
        return rows

    def centre(self, at: int) -> JsonObject:
        """Make the landmark in the middle of a district, by its place among the districts."""
        name = self._town.districts[at].areas[1].landmarks[0]
        middle = _ALONG // 2 * _ACROSS + _ACROSS // 2
        return self._place(
            at,
            Draws(self._seed, "centre", self._number, at),
            key=f"c{at}",
            name=name,
            kind=document()["centre"][self._town.language],
            cell=middle,
        )

    def landmarks(self) -> dict[str, tuple[int, str]]:
        """Make the places that stand once in a town, and return for each sort where it stands among the districts, and its id."""
        ids: dict[str, tuple[int, str]] = {}
        for sort, told in document()["landmarks"].items():
            draws = Draws(self._seed, "landmark", self._number, sort)
            kind, *names = told[self._town.language]
            at = draws.below(len(self._town.districts))
            name, alias = (joined(self._town.language, self._town.name.removesuffix("市"), trade) for trade in names)
            row = self._place(at, draws, key=sort, name=name, kind=kind)
            row |= {"alias": [alias], "tour": len(ids) + 1}
            ids[sort] = (at, row["id"])
        return ids

    def group(self, at: int, sort: Sort) -> Group:
        """Make the places of a sort in a district: an orthogonal array of strength three, the affine functions of three bits."""
        traits = [either[(at + self._number // 2) % len(either)] for either in sort.needs]
        draws = Draws(self._seed, "group", self._number, at, sort.name)
        columns = draws.sample(range(_PLACES // 2), len(traits))
        ids = []
        for number, function in enumerate(draws.sample(range(_PLACES), _PLACES)):
            own = Draws(self._seed, "place", self._number, at, sort.name, number)
            row = self._place(
                at,
                own,
                key=f"{at}{sort.name}{number}",
                name=sort.new_name(self._town.language, own, self._names),
                kind=sort.kind,
            )
            self._furnish(row, sort, own)
            for trait, column in zip(traits, columns, strict=True):
                trait.lay(row, own, has=(function // 2 & column).bit_count() % 2 == function % 2)
            row["hours"] = _hours(row["hours"])
            self._remark(row, sort, own)
            self.places[row["id"]] = {name: row[name] for name in _COLUMNS if name in row}
            ids.append(row["id"])
        return Group(sort.name, {trait.name: trait for trait in traits}, tuple(ids))

    def deals(self) -> Iterator[JsonObject]:
        """Yield deals: six of ten places that have a price have one at least."""
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
        """Give a place what no need of its group asks for."""
        if sort.sorts:
            row["sorts"] = list(sort.sorts)
        if sort.hours:
            row["hours"] = [draws.between(*sort.hours[:2]), draws.between(*sort.hours[2:])]
        if sort.price:
            row["price_yuan"] = draws.between(sort.price[0], sort.price[2])
        row["indoor"] = draws.chance(50) if sort.indoor is None else sort.indoor
        row |= {"step_free": draws.chance(60), "dogs": draws.chance(30), "parking": draws.chance(40)}

    def _remark(self, row: JsonObject, sort: Sort, draws: Draws) -> None:
        """Tell of a place what follows from its traits, and now and then something that matters to no need."""
        data, language = document(), self._town.language
        if sort.indoor is None:
            row["open_air"] = not row["indoor"]
        if free := sort.traits.get("nut_free"):
            nuts, *others = data["allergens"][language]
            row["allergens"] = draws.sample(others, draws.between(1, 2)) + ([] if free.holds(row) else [nuts])
        if draws.chance(4):
            row["notice"] = draws.choice(data["notices"][language])

    def _place(self, at: int, draws: Draws, *, key: str, name: str, kind: str, cell: int | None = None) -> JsonObject:
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


def _hours(hours: Any) -> str:
    """Return opening hours as a sign has them, from half hours after midnight."""
    if isinstance(hours, str):
        return hours
    opens, closes = (f"{half // 2:02}:{half % 2 * 30:02}" for half in hours)
    return f"{opens}-{closes}"


# -- the world that they make up


class Centre(NamedTuple):
    """The middle of a district, which has a place of its own.

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
    """A town of a world: its name, its language, its centres, and the places to which ways and lines lead from all of them, by sort."""

    name: str
    language: str
    centres: tuple[Centre, ...]
    landmarks: Mapping[str, str]
    streets: tuple[str, ...]

    @property
    def sorts(self) -> Mapping[str, Sort]:
        """The sorts of its places, by name."""
        return sorts(self.language)


@dataclass(frozen=True)
class World:
    """A made-up world.

    What it guarantees: about every centre, at most 2 km away, there is a group of sixteen places of every sort (``Group`` says what they have); the
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
    groups: Mapping[tuple[str, str], Group]
    _places: dict[str, JsonObject] = field(default_factory=dict, repr=False)

    def place(self, id: str) -> JsonObject:  # noqa: A002  the column is called so
        """Return the row of a place. Raises KeyError."""
        if len(self._places) != len(self.tables["places"]):
            self._places.update((row["id"], row) for row in self.tables["places"])
        return self._places[id]

    def group(self, centre: Centre, sort: str) -> Group:
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


def world_of(seed: int, *, towns: int = 2, language: str = "mixed") -> World:
    """Return a made-up world, the same for a seed on every machine and Python.

    Args:
        seed: the seed.
        towns: how many towns, from 1 to ``TOWNS``.
        language: ``en``, ``zh`` or ``mixed``: the towns take turns, Chinese first.

    Raises:
        ValueError: there are not so many towns.
    """
    if not 1 <= towns <= TOWNS:
        raise ValueError(f"towns: found {towns}, expected 1 to {TOWNS}")
    languages = ("zh", "en") if language == "mixed" else (language,)
    tables: dict[str, list[JsonObject]] = {
        name: []
        for name in ("places", "deals", "ways", "roads", "stops", "lines", "fares", "weather", "users", "activities")
    }
    tables |= word_rows()
    groups: dict[tuple[str, str], Group] = {}
    cities = []
    for number in range(towns):
        spoken = languages[number % len(languages)]
        city, made = _settle(seed, number, spoken, tables)
        cities.append(city)
        groups |= made
    return World(seed, tuple(cities), tables, groups)


def _settle(
    seed: int, number: int, language: str, tables: dict[str, list[JsonObject]]
) -> tuple[City, Mapping[tuple[str, str], Group]]:
    """Fill the tables with all of one town."""
    made = town(seed, number, language)
    maker = Maker(seed, number, made)
    groups: dict[tuple[str, str], Group] = {}
    centres = []
    for at, district in enumerate(made.districts):
        row = maker.centre(at)
        centres.append(Centre(made.name, row["name"], district.name, row["id"], row["lon"], row["lat"]))
        groups |= {(row["id"], sort.name): maker.group(at, sort) for sort in sorts(language).values()}
    landmarks = maker.landmarks()
    tables["places"] += maker.rows()
    tables["deals"] += maker.deals()
    steep = {
        at: [maker.places[place] for sort in STEEP for place in groups[centre.id, sort].ids]
        for at, centre in enumerate(centres)
    }
    rows = [maker.places[centre.id] for centre in centres]
    standing = [(at, maker.places[place]) for at, place in landmarks.values()]
    for name, made_rows in (
        Surroundings((seed, number), made, centres=rows, landmarks=standing, steep=steep).tables().items()
    ):
        tables[name] += made_rows
    streets = tuple(street for district in made.districts for area in district.areas for street in area.streets)
    return City(
        made.name, language, tuple(centres), {sort: place for sort, (_, place) in landmarks.items()}, streets
    ), groups
