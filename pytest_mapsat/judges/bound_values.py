"""The values that tools returned, each with the things it belongs to and the way of travelling it was asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

from pytest_mapsat.model import Bound, Json, Mode, Step, Tool
from pytest_mapsat.sandbox import distance_m, point_of, values_at
from pytest_mapsat.text import Document, Vocabulary, fold_phrase, lexicon_of, read

from .things import Entity

#: A point that a call asks for is a thing's own within so many metres.
_SAME_PLACE_M = 150.0
_MODES = frozenset(get_args(Mode))
_NUMERIC = re.compile(r"[-+]?[0-9]{1,15}(?:\.[0-9]{1,9})?")
_CLOCK = re.compile(r"(?<![0-9:])([01]?[0-9]|2[0-4]):([0-5][0-9])(?![0-9])")
DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Value:
    """One value that a tool returned.

    Attributes:
        number: it, in the unit that it is compared in.
        own: the things in whose records it stands.
        about: the things that the call asked about, and the ends of a leg: a way belongs to both its ends.
        mode: the way of travelling that the call asked for; empty where it names none.
        turn: index of the turn it came with.
        several: whether it belongs to a place, which several people may pay at.
    """

    number: float
    own: frozenset[str]
    about: frozenset[str]
    mode: str
    turn: int
    several: bool = False


def values_of(
    bounds: Sequence[Bound],
    answered: Sequence[tuple[int, Step]],
    tools: Mapping[str, Tool],
    entities: Sequence[Entity],
    numbers: Callable[[Json], Iterable[float]],
) -> tuple[Value, ...]:
    """Return the values that stand where ``bounds`` point to, in the order of the calls.

    Args:
        bounds: tools, each with a path into its results.
        answered: the calls that the world answered, each with the index of its turn.
        tools: the suite's tools by name.
        entities: what has a name in the results.
        numbers: reads the numbers of one value.
    """
    found: dict[Value, None] = {}
    places = {entity.key for entity in entities if entity.sort == "place"}
    for turn, step in answered:
        for bound in bounds:
            if bound.tool == step.tool:
                about = frozenset(_asked_about(step, tools.get(step.tool), entities))
                mode = _mode(step, tools.get(step.tool))
                for value, own, ends in _owned(step.result, bound.path, tools.get(step.tool)):
                    for number in numbers(value):
                        found[Value(number, own, about | ends, mode, turn, several=bool(own & places))] = None
    return tuple(found)


def _owned(result: Json, path: str, tool: Tool | None) -> Iterator[tuple[Json, frozenset[str], frozenset[str]]]:
    """Yield the values at a path with the named things whose records it leads through, and the ends of the legs it leads through."""
    nothing: frozenset[str] = frozenset()
    places: list[tuple[tuple[str, ...], Json, frozenset[str], frozenset[str]]] = [
        ((), result, _named(result, (), tool, leg=False), nothing)
    ]
    for key in path.split(".") if path else ():
        places = [
            (
                (*at, key),
                member,
                own | _named(member, (*at, key), tool, leg=False),
                ends | _named(member, (*at, key), tool, leg=True),
            )
            for at, value, own, ends in places
            for member in values_at(value, key)
        ]
    yield from ((value, own, ends) for _, value, own, ends in places)


def _named(value: Json, at: tuple[str, ...], tool: Tool | None, *, leg: bool) -> frozenset[str]:
    if not isinstance(value, dict) or tool is None:
        return frozenset()
    place = ".".join(part for part in at if part != "*")
    declared = [
        where for where in tool.entities if where.items.replace(".*", "") == place and (where.sort == "leg") is leg
    ]
    names = [value.get(where.name) for where in declared]
    return frozenset(fold_phrase(name) for name in names if isinstance(name, str))


def _asked_about(step: Step, tool: Tool | None, entities: Sequence[Entity]) -> Iterator[str]:
    """Yield the things that the arguments of a call mean by id or by place."""
    for name, match in (tool.match if tool else {}).items():
        argument = step.arguments.get(name)
        if match.type == "id":
            yield from (one.key for one in entities if one.id and one.id == argument)
        elif match.type == "point":
            point = point_of(argument)
            yield from (one.key for one in entities if point and _lies_at(one, point))


def _lies_at(entity: Entity, point: tuple[float, float]) -> bool:
    own = point_of(entity.record)
    return own is not None and distance_m(*own, *point) <= _SAME_PLACE_M


def _mode(step: Step, tool: Tool | None) -> str:
    """Return the way of travelling that a call asks for, by the tool's own synonyms."""
    for name, match in (tool.match if tool else {}).items():
        word = step.arguments.get(name)
        if match.type == "enum" and isinstance(word, str):
            heads = {fold_phrase(form): head for head, forms in match.synonyms.items() for form in (head, *forms)}
            head = heads.get(fold_phrase(word), fold_phrase(word))
            if head in _MODES:
                return head
    return ""


def plain_numbers(value: Json) -> Iterator[float]:
    """Yield a number, or the number that a text is."""
    if isinstance(value, list):
        for item in value:
            yield from plain_numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value):
            yield float(value)
    elif isinstance(value, str) and _NUMERIC.fullmatch(value.strip().replace(",", "")):
        yield float(value.strip().replace(",", ""))


def written(value: Json, unit: str, money: Vocabulary | None = None) -> Iterator[float]:
    """Yield the figures of a unit that a text, or a list of texts, writes out ("9.8 km")."""
    if isinstance(value, list):
        for item in value:
            yield from written(item, unit, money)
    elif isinstance(value, str):
        yield from (figure.value for figure in _read(value, money).quantities if figure.unit == unit)


@lru_cache(maxsize=1024)
def _read(text: str, money: Vocabulary | None) -> Document:
    language = "en" if text.isascii() else "zh"
    return read(text, language=language, lexicon=lexicon_of(()), vocabulary=money)


def clock_times(value: Json) -> Iterator[float]:
    """Yield the clock times of a text as minutes after midnight; ``24h`` is open from midnight to midnight."""
    if isinstance(value, str):
        for match in _CLOCK.finditer(value):
            yield float((int(match[1]) * 60 + int(match[2])) % DAY)
        if value.strip().casefold() == "24h":
            yield 0.0
