"""Takes the result of a tool apart: which values stand together, and what their tool declares them to be."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from pytest_mapsat.model import ITEM, SCALARS, Json, Meaning, MeaningTree, Tool, meanings_below, name_of
from pytest_mapsat.sandbox import point_of
from pytest_mapsat.text import MONEY, YUAN, Vocabulary, fold_phrase, lexicon_of, read

#: canonical unit of the reading <- what a tool writes in, and the factor between them.
_UNITS: dict[str, tuple[str, float]] = {
    "km": ("m", 1000),
    "s": ("min", 1 / 60),
    "h": ("min", 60),
    "d": ("min", 1440),
    "money": (MONEY, 1),
}
_NUMBER = re.compile(r"[¥￥$€]?\s*(-?\d{1,15}(?:\.\d{1,6})?)(?:\s*[-~至]\s*(\d{1,15}(?:\.\d{1,6})?))?")
#: A greater number measures nothing.
_LARGEST = 1e15
_CLOCK = re.compile(r"(?<!\d)(\d{2})(\d{2})$|(\d{1,2}):(\d{2})")


#: What names a thing, or says of which sort it is.
Naming = Literal["name", "end", "kind", "alias", "id", "address", "mode"]
_NAMING = frozenset(get_args(Naming))
_PLACING = frozenset({"lon", "lat", "point"})

#: The element around a list, the path of the list, and all elements.
_Place = tuple["Element", str, list["Element"]]


@dataclass
class Element:
    """A member of a list in a result, or the result itself: what stands in it belongs together."""

    record: Json
    parent: Element | None
    leaves: list[tuple[Meaning, Json, str]] = field(default_factory=list)

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """The texts of its values by their kind, once it is complete, all names under "" as well; what stands for nothing is left out."""
        texts: dict[str, list[str]] = {}
        for meaning, value, _ in self.leaves:
            if meaning.kind in _NAMING and isinstance(value, (str, int)):
                text = meaning.words.get(str(value), str(value))
                if fold_phrase(text):
                    texts.setdefault(meaning.kind, []).append(text)
                    if meaning.kind in ("name", "end"):
                        texts.setdefault("", []).append(text)
        return texts

    def texts(self, kind: Naming) -> list[str]:
        """Return the texts of its values of a kind; what stands for nothing is left out."""
        return self._texts.get(kind, [])

    @property
    def subject(self) -> tuple[str, ...]:
        """Keys of the names in it, else of those in the nearest one around it."""
        names = self._texts.get("", ())
        return tuple(map(fold_phrase, names)) if names or self.parent is None else self.parent.subject

    @property
    def mode(self) -> str:
        """The way of travelling that it, or the nearest one around it, speaks of; empty where none does."""
        modes = self.texts("mode")
        return modes[0] if modes else self.parent.mode if self.parent else ""

    @property
    def place(self) -> tuple[float, float] | None:
        """Where its thing lies: longitude and latitude, degrees."""
        parts = {meaning.kind: value for meaning, value, _ in self.leaves if meaning.kind in _PLACING}
        if not parts:
            return None
        return point_of(parts.get("point", [parts.get("lon"), parts.get("lat")]))


def elements_of(result: Json, tool: Tool) -> list[Element]:
    """Return the result and the members of its lists, each with the values that the tool declares, from the outside in."""
    elements = [Element(result, None)]
    _spread(result, [tool.meanings], elements[0], "", elements)
    return elements


def _spread(value: Json, nodes: Sequence[MeaningTree], element: Element, path: str, elements: list[Element]) -> None:
    """Put the declared values of a result into the elements they stand in."""
    meanings = [node[""] for node in nodes if "" in node]
    if type(value) in SCALARS:
        element.leaves += [(meaning, value, path) for meaning in meanings]
        return
    for node in nodes:
        if ITEM in node:
            _spread_items(value, node[ITEM], element, path, elements)
    if isinstance(value, Mapping | list | tuple) and any(meaning.kind == "text" for meaning in meanings):
        element.leaves += [(meaning, text, path) for meaning in meanings for text in _texts(value)]
    elif isinstance(value, Mapping):
        for key, member in value.items():
            below = meanings_below(nodes, key)
            where = f"{path}.{key}" if path else key
            if below and type(member) in SCALARS:  # most are
                element.leaves += [(node[""], member, where) for node in below if "" in node]
            elif below:
                _spread(member, below, element, where, elements)
    elif isinstance(value, list | tuple):
        _spread_list(value, nodes, meanings, (element, path, elements))
    else:
        element.leaves += [(meaning, value, path) for meaning in meanings]


def _spread_list(values: Sequence[Json], nodes: Sequence[MeaningTree], meanings: Sequence[Meaning], at: _Place) -> None:
    element, path, elements = at
    below = [node["*"] for node in nodes if "*" in node]
    for index, member in enumerate(values if below or meanings else ()):
        where = f"{path}.{index}".lstrip(".")
        inner = Element(member, element)
        inner.leaves += [(meaning, member, where) for meaning in meanings]
        elements.append(inner)
        if below:
            _spread(member, below, inner, where, elements)


def _texts(value: Json) -> Iterator[str]:
    """Yield all texts in a value, in order."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, Mapping | list | tuple):
            waiting.extend(reversed(list(found.values() if isinstance(found, Mapping) else found)))


def _spread_items(value: Json, tree: MeaningTree, element: Element, path: str, elements: list[Element]) -> None:
    """Spread the items of entities: the members of a list or of an object, or one object with a name."""
    if isinstance(value, Mapping) and name_of(tree) in value:
        members = [(path, value)]
    elif isinstance(value, Mapping | list | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        members = [(f"{path}.{key}".lstrip("."), member) for key, member in pairs if isinstance(member, Mapping)]
    else:
        members = []
    for where, member in members:
        inner = Element(member, element)
        elements.append(inner)
        _spread(member, [tree], inner, where, elements)


# -- values ------------------------------------------------------------------------------------------------------------


def measured(
    meaning: Meaning, value: str | float, money: Vocabulary | None = None
) -> tuple[float, float, str, str] | None:
    """Return least, greatest, canonical unit and quotable text of a figure; None where there is none."""
    unit, factor = _UNITS.get(meaning.unit or "", (meaning.unit or "", 1.0))
    unit = f"count:{meaning.noun}" if unit == "count" and meaning.noun else unit
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value.strip())
        if found is None or meaning.unit is None:
            document = read(value, language="", lexicon=lexicon_of(()), vocabulary=money)
            said = [one for one in document.quantities if one.unit == unit]
            return (said[0].low, said[0].high, unit, value.strip()) if said else None
        low, high = float(found[1]), float(found[2] or found[1])
    else:
        low = high = float(value) if abs(value) < _LARGEST else math.nan
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    scaled = [end * meaning.scale * factor for end in (low, high)]
    shown = "-".join(f"{end * meaning.scale:g}" for end in dict.fromkeys((low, high)))
    named = meaning.noun or meaning.unit or ""
    if unit == MONEY and money is not None and money.currency != YUAN:
        named = money.currency
    return min(scaled), max(scaled), unit, f"{shown} {named}"


def clock(text: str) -> int | None:
    """Return a time of day in minutes after midnight."""
    found = _CLOCK.search(text)
    if found is None:
        return None
    hour, minute = int(found[1] or found[3]), int(found[2] or found[4])
    return hour * 60 + minute if hour <= 30 and minute < 60 else None  # noqa: PLR2004  a clock, past midnight
