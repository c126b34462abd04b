"""Takes the result of a tool apart: which values stand together, and what their tool declares them to be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_mapsat.model import ITEM, Json, Meaning, MeaningTree, Tool
from pytest_mapsat.sandbox import point
from pytest_mapsat.text import Lexicon, fold_phrase, read

#: canonical unit of the reading <- what a tool writes in, and the factor between them.
_UNITS: dict[str, tuple[str, float]] = {"km": ("m", 1000), "s": ("min", 1 / 60), "h": ("min", 60), "d": ("min", 1440)}
_NUMBER = re.compile(r"[¥￥$€]?\s*(-?\d{1,15}(?:\.\d{1,6})?)(?:\s*[-~至]\s*(\d{1,15}(?:\.\d{1,6})?))?\s*[^\d\s.:]{0,6}")
_CLOCK = re.compile(r"(?<!\d)(\d{2})(\d{2})$|(\d{1,2}):(\d{2})")


@dataclass
class Element:
    """A member of a list in a result, or the result itself: what stands in it belongs together."""

    record: Json
    parent: Element | None
    leaves: list[tuple[Meaning, Json, str]] = field(default_factory=list)

    def texts(self, *kinds: str) -> list[str]:
        """Return the texts of its values of these kinds; what stands for nothing is left out."""
        found = (m.words.get(str(v), str(v)) for m, v, _ in self.leaves if m.kind in kinds and isinstance(v, str | int))
        return [text for text in found if fold_phrase(text)]

    @property
    def subject(self) -> tuple[str, ...]:
        """Keys of the names in it, else of those in the nearest one around it."""
        names = self.texts("name")
        return tuple(map(fold_phrase, names)) if names or self.parent is None else self.parent.subject

    @property
    def mode(self) -> str:
        """The way of travelling that it, or the nearest one around it, speaks of; empty where none does."""
        modes = self.texts("mode")
        return modes[0] if modes else self.parent.mode if self.parent else ""

    @property
    def place(self) -> tuple[float, float] | None:
        """Where its thing lies: longitude and latitude, degrees."""
        parts = {meaning.kind: value for meaning, value, _ in self.leaves if meaning.kind in ("lon", "lat", "point")}
        return point(parts.get("point", [parts.get("lon"), parts.get("lat")]))


def elements_of(result: Json, tool: Tool) -> list[Element]:
    """Return the result and the members of its lists, each with the values that the tool declares, from the outside in."""
    elements = [Element(result, None)]
    _spread(result, [tool.meanings], elements[0], "", elements)
    return elements


def undeclared(result: Json, tool: Tool) -> list[str]:
    """Return the paths of values that the tool does not declare, ``*`` for members of lists, sorted."""
    found: set[str] = set()
    waiting: list[tuple[Json, list[MeaningTree], str]] = [(result, [tool.meanings], "")]
    while waiting:
        value, nodes, path = waiting.pop()
        if any("" in node and (node[""].kind == "ignored" or not isinstance(value, Mapping)) for node in nodes):
            continue
        below = [(f"{path}.{key}".lstrip("."), member, inner) for key, member, inner in _members(value, nodes)]
        waiting += [(member, inner, where) for where, member, inner in below]
        if not isinstance(value, Mapping | list | tuple) and value is not None:
            found.add(path)
    return sorted(found)


def _members(value: Json, nodes: Sequence[MeaningTree]) -> list[tuple[str, Json, list[MeaningTree]]]:
    """Return key, value and declarations of the members of an object or a list."""
    items = [node[ITEM] for node in nodes if ITEM in node]
    if isinstance(value, Mapping):
        single = [tree for tree in items if _name_of(tree) in value]
        inner = [tree for tree in items if tree not in single]
        nodes = [*nodes, *single]
        return [
            (key, member, [node[word] for node in nodes for word in (key, "*") if word in node] + inner)
            for key, member in value.items()
        ]
    if isinstance(value, list | tuple):
        inner = [*items, *(node["*"] for node in nodes if "*" in node)]
        return [("*", member, inner) for member in value]
    return []


def _name_of(tree: MeaningTree) -> str:
    """Return the key of the name in the declaration of an item."""
    return next((key for key, node in tree.items() if key and "" in node and node[""].kind == "name"), "")


def _spread(value: Json, nodes: Sequence[MeaningTree], element: Element, path: str, elements: list[Element]) -> None:
    """Put the declared values of a result into the elements they stand in."""
    meanings = [node[""] for node in nodes if "" in node]
    if any(meaning.kind == "ignored" for meaning in meanings):
        return
    for node in nodes:
        if ITEM in node:
            _spread_items(value, node[ITEM], element, path, elements)
    if isinstance(value, Mapping):
        for key, member in value.items():
            below = [node[word] for node in nodes for word in (key, "*") if word in node]
            if below:
                _spread(member, below, element, f"{path}.{key}".lstrip("."), elements)
    elif isinstance(value, list | tuple):
        below = [node["*"] for node in nodes if "*" in node]
        for index, member in enumerate(value if below or meanings else ()):
            inner = Element(member, element)
            inner.leaves += [(meaning, member, f"{path}.{index}".lstrip(".")) for meaning in meanings]
            elements.append(inner)
            if below:
                _spread(member, below, inner, f"{path}.{index}".lstrip("."), elements)
    else:
        element.leaves += [(meaning, value, path) for meaning in meanings]


def _spread_items(value: Json, tree: MeaningTree, element: Element, path: str, elements: list[Element]) -> None:
    """Spread the items of entities: the members of a list or of an object, or one object with a name."""
    if isinstance(value, Mapping) and _name_of(tree) in value:
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


def measured(meaning: Meaning, value: str | float) -> tuple[float, float, str, str] | None:
    """Return least, greatest, canonical unit and quotable text of a figure; None where there is none."""
    unit, factor = _UNITS.get(meaning.unit or "", (meaning.unit or "", 1.0))
    unit = f"count:{meaning.noun}" if unit == "count" and meaning.noun else unit
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value.strip())
        if found is None or meaning.unit is None:
            said = [one for one in read(value, language="", lexicon=Lexicon()).quantities if one.unit == unit]
            return (said[0].low, said[0].high, unit, value.strip()) if said else None
        low, high = float(found[1]), float(found[2] or found[1])
    else:
        low = high = float(value)
    scaled = [end * meaning.scale * factor for end in (low, high)]
    shown = "-".join(f"{end * meaning.scale:g}" for end in dict.fromkeys((low, high)))
    return min(scaled), max(scaled), unit, f"{shown} {meaning.noun or meaning.unit}"


def clock(text: str) -> int | None:
    """Return a time of day in minutes after midnight."""
    found = _CLOCK.search(text)
    if found is None:
        return None
    hour, minute = int(found[1] or found[3]), int(found[2] or found[4])
    return hour * 60 + minute if hour <= 30 and minute < 60 else None  # noqa: PLR2004  a clock, past midnight
