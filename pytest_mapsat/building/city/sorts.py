"""The sorts of places of a made-up city and the traits that a need can ask of them; what they are called and hold is data in ``sorts.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter

from pytest_mapsat.building.towns import Draws
from pytest_mapsat.formats import parse_yaml
from pytest_mapsat.model import Json, JsonObject, Match, canonical_json
from pytest_mapsat.sandbox import fits

#: How late in the evening a place that is open late closes, and one that is not, in half hours after midnight; the same of opening in the morning.
_CLOSES = {True: (45, 48), False: (36, 41)}
_OPENS = {True: (12, 14), False: (18, 21)}
_NOON = "12:00"


@dataclass(frozen=True)
class Trait:
    """Something that a need can ask of a place of one sort, in one language.

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
        """Make a place have the trait, or lack it."""
        value = self.values[0 if has else 1]
        if self.column == "hours":
            hours = row["hours"]
            if self.where["hours"]["time"] > _NOON:  # as _traits makes it
                hours[1] = draws.between(*_CLOSES[has])
            else:
                hours[0] = draws.between(*_OPENS[has])
        elif isinstance(value, str):
            if has:
                row.setdefault(self.column, []).append(value)
            else:
                row.setdefault(self.column, [])
        elif isinstance(value, bool):
            row[self.column] = value
        else:
            figure = draws.between(*value)
            row[self.column] = figure / 10 if self.tenths else figure


@dataclass(frozen=True)
class Sort:
    """A sort of places, in one language.

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


def meets(row: Mapping[str, Json], where: Mapping[str, Json]) -> bool:
    """Return whether a row fits matches, written as in checks; no matches, any row does."""
    return not where or fits(_matches(canonical_json(dict(where))), row) is True


@cache
def _matches(where: str) -> Mapping[str, Match]:
    return TypeAdapter(dict[str, Match]).validate_json(where)


@cache
def document() -> Any:
    """Return what ``sorts.yaml`` says."""
    (document,) = parse_yaml((files(__package__) / "sorts.yaml").read_bytes(), "sorts.yaml")
    return document.data


@cache
def sorts(language: str) -> Mapping[str, Sort]:
    """Return the sorts of places of a language (``en``, ``zh``), by name."""
    return {name: _sort(name, told, language) for name, told in document()["sorts"].items()}


def _sort(name: str, told: Mapping[str, Any], language: str) -> Sort:
    kind, dimension, *trades = told[language]
    hours, price = told.get("hours"), told.get("price")
    needs = tuple(tuple(_traits(told, either.split("/"), language)) for either in told["traits"])
    return Sort(
        name,
        kind,
        dimension,
        tuple(trades),
        tuple(told.get("sorts", ())),
        tuple(2 * hour for hour in hours) if hours else None,
        tuple(price) if price else None,
        told.get("indoor"),
        needs,
    )


def _traits(sort: Mapping[str, Any], names: list[str], language: str) -> Iterator[Trait]:
    for name in names:
        told = document()["traits"][name]
        column, label = told["column"], told[language]
        if "open" in told:
            yield Trait(name, column, label, {column: {"op": "open_at", "time": told["open"]}}, (True, False))
        elif "list" in told:
            yield Trait(name, column, label, {column: {"op": "contains", "text": label}}, (label, label))
        elif column == "price_yuan":
            least, cheap, most = sort["price"]
            values = (least, cheap), (cheap + cheap // 4 + 1, most)
            yield Trait(name, column, label, {column: {"op": "between", "max": cheap}}, values)
        elif "good" in told:
            bound = {"max": told["most"]} if "most" in told else {"min": told["least"]}
            values = tuple(told["good"]), tuple(told["bad"])
            yield Trait(name, column, label, {column: {"op": "between", **bound}}, values, told.get("tenths", False))
        else:
            value = told.get("value", True)
            yield Trait(name, column, label, {column: value}, (value, not value))
