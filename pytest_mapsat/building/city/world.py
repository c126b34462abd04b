"""A made-up city from a seed, in memory: the tables that the tools of the starter suite answer from, and what it was made to hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_mapsat.building.towns import TOWNS, town
from pytest_mapsat.model import JsonObject

from .places import Group, Maker
from .sorts import STEEP, Sort, Surroundings, metres_between, sorts
from .starter import word_rows


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
