"""Made-up worlds: draws from a seed that are the same on every machine and in every version of Python, towns made of them in the open sea, and the builders that installed packages add."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from pytest_mapsat.formats import package_data
from pytest_mapsat.model import UsageError
from pytest_mapsat.registry import installed_function
from pytest_mapsat.user_code import installed

_T = TypeVar("_T")
#: The most towns of a world.
TOWNS = 30
#: The south-west corner of the first town, and how far the towns, their districts and areas lie apart, all in millionths of a degree: far out in the Pacific.
_CORNER = (31_000_000, 160_000_000)
_TOWNS_APART, _DISTRICTS_APART, _AREAS_APART = 500_000, 40_000, 12_000
_DISTRICTS, _AREAS, _LANDMARKS, _STREETS = 6, 3, 2, 4


class Draws:
    """A random sequence determined only by its key.

    Only ``Random.random`` is used, whose numbers Python keeps the same for a whole number as its seed; the seed is a SHA-256 of the key, so neither hash
    seed nor locale has a part in it. Things with keys of their own have draws of their own: a change of one moves no other.

    Args:
        key: texts and whole numbers, such as the seed of the world, the kind of thing and its number.
    """

    def __init__(self, *key: str | int) -> None:
        digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
        self._random = Random(int.from_bytes(digest, "big")).random  # noqa: S311  a world, no secret

    def below(self, end: int) -> int:
        """Return a random whole number from 0 to ``end`` - 1."""
        return int(self._random() * end)

    def between(self, first: int, last: int) -> int:
        """Return a random whole number from ``first`` to ``last``, both included."""
        return first + self.below(last - first + 1)

    def chance(self, percent: int) -> bool:
        """Return True with a probability in percent."""
        return self.below(100) < percent

    def choice(self, values: Sequence[_T]) -> _T:
        """Return one of the values at random."""
        return values[self.below(len(values))]

    def sample(self, values: Sequence[_T], count: int) -> list[_T]:
        """Return ``count`` random values without repetition, in the order drawn; all values if there are fewer."""
        rest = list(values)
        return [rest.pop(self.below(len(rest))) for _ in range(min(count, len(rest)))]


class Area(NamedTuple):
    """A business area.

    Attributes:
        name: what it is called.
        landmarks: the landmarks in it.
        streets: its streets.
        corner: latitude and longitude of its south-west corner, millionths of a degree.
    """

    name: str
    landmarks: tuple[str, ...]
    streets: tuple[str, ...]
    corner: tuple[int, int]

    def point(self, draws: Draws) -> tuple[float, float]:
        """Return latitude and longitude of a random point in the area, WGS 84 degrees with six digits."""
        latitude, longitude = (edge + draws.below(_AREAS_APART) for edge in self.corner)
        return latitude / 1e6, longitude / 1e6


class District(NamedTuple):
    """A district: its name and its business areas."""

    name: str
    areas: tuple[Area, ...]


class Town(NamedTuple):
    """A town: its name, language and districts. Each place in the town has a different name."""

    name: str
    language: str
    districts: tuple[District, ...]

    def address(self, area: Area, draws: Draws) -> str:
        """Return a random address in an area, in the format of the town's language."""
        street, number = draws.choice(area.streets), draws.between(1, 180)
        form: str = _words(self.language)["address"]
        return form.format(number=number, street=street, area=area.name)


def town(seed: int, number: int, language: str) -> Town:
    """Return one of the made-up towns of a world, with its districts, areas and streets.

    Args:
        seed: the seed of the world.
        number: which of its towns, from 0 to ``TOWNS`` - 1; no two have the same name.
        language: ``en`` or ``zh``.
    """
    draws, words = Draws(seed, "town", number, language), _words(language)
    first, middle, _ = words["coined"]
    drawn = [Draws(seed, "towns", language).sample(parts, TOWNS) for parts in (first, middle, words["town"])]
    name = "".join(parts[number % len(parts)] for parts in drawn)
    south, west = _CORNER[0], _CORNER[1] + number * _TOWNS_APART
    names = _place_names(draws, language)
    districts = []
    for place in range(_DISTRICTS):
        edge = (south + place // 3 * _DISTRICTS_APART, west + place % 3 * _DISTRICTS_APART)
        names_of_areas = [next(names["area"]) for _ in range(_AREAS)]
        district, areas = next(names["district"]), []
        for at, area in enumerate(names_of_areas):
            landmarks = tuple(next(names["landmark"]) for _ in range(_LANDMARKS))
            streets = tuple(next(names["street"]) for _ in range(_STREETS))
            areas.append(Area(area, landmarks, streets, (edge[0], edge[1] + at * _AREAS_APART)))
        districts.append(District(district, tuple(areas)))
    return Town(name, language, tuple(districts))


def coined_name(language: str, draws: Draws) -> str:
    """Return an invented name for a firm."""
    return "".join(draws.choice(parts) for parts in _words(language)["coined"])


def _place_names(draws: Draws, language: str) -> dict[str, Iterator[str]]:
    """Return an iterator of unrepeated names for each sort of place in a town."""
    words = _words(language)
    first, _, last = words["coined"]
    stems = [start + end for start in first for end in last]
    stems = draws.sample(stems, _DISTRICTS * (1 + _AREAS * (1 + _STREETS)))
    landmarks = [start + end for start in words["landmark"][0] for end in words["landmark"][1]]
    coined = iter(stems)

    def names(sort: str) -> Iterator[str]:
        """Yield unused coined stems, each with a random ending for the sort."""
        for stem in coined:
            yield stem + draws.choice(words[sort])

    drawn = iter(draws.sample(landmarks, _DISTRICTS * _AREAS * _LANDMARKS))
    return {"landmark": drawn, **{sort: names(sort) for sort in ("district", "area", "street")}}


def _words(language: str) -> dict[str, Any]:
    """Return the parts of ``words.yaml`` for a language."""
    words: dict[str, Any] = package_data("pytest_mapsat.making", "words.yaml")[language]
    return words


# -- builders ----------------------------------------------------------------------------------------------------------

#: The entry point group in which installed packages name their builders: each entry is a kind of world and a function.
GROUP = "pytest_mapsat.builders"


@dataclass(frozen=True)
class BuildRequest:
    """The options for building a world; None leaves the choice to the builder.

    Attributes:
        seed: the same seed gives the same bytes.
        cities: how many towns.
        each: how many rows of the main table each town has.
        language: ``en``, ``zh`` or ``mixed``: the towns take turns, Chinese first.
        cases: how many cases are made beside the world.
        queries: a file of queries for them, by case, in place of the builder's own wordings.
    """

    seed: int = 0
    cities: int | None = None
    each: int | None = None
    language: str = "mixed"
    cases: int | None = None
    queries: Path | None = None

    def only(self, *names: str, what: str) -> None:
        """Return the parts of ``words.yaml`` in a language.

        Raises:
            UsageError: something else is asked for.
        """
        others = {"cities", "each", "cases", "queries"} - {*names}
        if given := [f"--{name}" for name in sorted(others) if getattr(self, name) is not None]:
            own = ", ".join(f"--{name}" for name in names)
            raise UsageError(f"{', '.join(given)}: not for {what}, which has {own}")


Builder = Callable[[BuildRequest, Path], dict[str, int]]


def builders() -> Iterator[str]:
    """The options for building a world; the builder chooses an option that is None."""
    yield from dict.fromkeys(point.name for point in installed(GROUP))


def builder_of(kind: str) -> Builder:
    """Return the builder of a kind of world: a function of request and folder that returns row counts by table.

    Raises:
        UsageError: no package adds it, two packages do, or it cannot be loaded.
    """
    return installed_function(GROUP, kind, "invented world")
