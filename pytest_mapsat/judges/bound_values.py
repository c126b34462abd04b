"""The values that tools returned, each with the things it belongs to and the way of travelling it was asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, get_args

from pytest_mapsat.model import (
    Bound,
    Json,
    Mode,
    Step,
    Tool,
    values_at,
)
from pytest_mapsat.sandbox import distance_m, point_of
from pytest_mapsat.text import Document, Vocabulary, fold_phrase, lexicon_of, read

from .things import Entity

#: A point that a call asks for is a thing's own within so many metres.
_SAME_PLACE_M = 150.0
_MODES = frozenset(get_args(Mode))
_NUMERIC = re.compile(r"[-+]?[0-9]{1,15}(?:\.[0-9]{1,9})?")
_CLOCK = re.compile(r"(?<![0-9:])([01]?[0-9]|2[0-4]):([0-5][0-9])(?![0-9])")
DAY = 24 * 60
#: By how much numbers may differ that are the same.
ROUNDING = 1e-6
_NOTHING: frozenset[str] = frozenset()


class Value(NamedTuple):
    """One value that a tool returned.

    Attributes:
        number: it, in the unit that it is compared in.
        own: the things in whose records it stands.
        about: the things that the call asked about, and the ends of a leg or a line: a way belongs to both its ends.
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


class Returned:
    """What the answered calls of a dialogue returned. What each call asked about is found once, for all checks that point to its tool.

    Args:
        answered: the calls that the sandbox answered, each with the index of its turn.
        tools: the suite's tools by name.
        entities: what has a name in the results.
    """

    def __init__(
        self, answered: Sequence[tuple[int, Step]], tools: Mapping[str, Tool], entities: Sequence[Entity]
    ) -> None:
        self._answered = answered
        self._tools = tools
        self._entities = entities
        self._asked: dict[int, tuple[frozenset[str], str]] = {}

    def values(self, bounds: Sequence[Bound], numbers: Callable[[Json], Iterable[float]]) -> tuple[Value, ...]:
        """Return the values that stand where ``bounds`` point to, in the order of the calls.

        Args:
            bounds: tools, each with a path into its results.
            numbers: reads the numbers of one value.
        """
        found: dict[Value, None] = {}
        for index, (turn, step) in enumerate(self._answered):
            for bound in bounds:
                if bound.tool == step.tool:
                    about, mode = self._asked_for(index, step)
                    for value, own, ends in _owned(step.result, bound.path, self._tools.get(step.tool)):
                        several = not own.isdisjoint(self._places)
                        for number in numbers(value):
                            found[Value(number, own, about | ends, mode, turn, several)] = None
        return tuple(found)

    @cached_property
    def _places(self) -> frozenset[str]:
        return frozenset(entity.key for entity in self._entities if entity.sort == "place")

    @cached_property
    def _points(self) -> tuple[tuple[str, tuple[float, float]], ...]:
        """Where the things lie that say it."""
        lying = ((entity.key, point_of(entity.record)) for entity in self._entities)
        return tuple((key, point) for key, point in lying if point is not None)

    def _asked_for(self, index: int, step: Step) -> tuple[frozenset[str], str]:
        """Return the things that a call asked about, and the way of travelling."""
        if index not in self._asked:
            tool = self._tools.get(step.tool)
            self._asked[index] = frozenset(self._asked_about(step, tool)), _mode(step, tool)
        return self._asked[index]

    def _asked_about(self, step: Step, tool: Tool | None) -> Iterator[str]:
        """Yield the things that the arguments of a call mean by id or by place."""
        for name, match in (tool.match if tool else {}).items():
            argument = step.arguments.get(name)
            if match.type == "id":
                yield from (one.key for one in self._entities if one.id and one.id == argument)
            elif match.type == "point" and (point := point_of(argument)):
                yield from (key for key, own in self._points if distance_m(*own, *point) <= _SAME_PLACE_M)


def _owned(result: Json, path: str, tool: Tool | None) -> Iterator[tuple[Json, frozenset[str], frozenset[str]]]:
    """Yield the values at a path with the named things whose records it leads through, and the ends of the legs and lines it leads through."""
    at = ""
    names, ends_in = _naming(tool, at)
    places: list[tuple[Json, frozenset[str], frozenset[str]]] = [(result, _named(result, names), _NOTHING)]
    for key in path.split(".") if path else ():
        if key != "*":
            at = f"{at}.{key}" if at else key
        names, ends_in = _naming(tool, at)
        places = [
            (member, own | _named(member, names), ends | _named(member, ends_in))
            for value, own, ends in places
            for member in values_at(value, key)
        ]
    yield from places


def _naming(tool: Tool | None, at: str) -> tuple[list[str], list[str]]:
    """Return the fields that name the things, and the ends of legs and lines, that a tool declares at a place in its results."""
    declared = [where for where in tool.entities if where.items.replace(".*", "") == at] if tool else []
    things = [where.name for where in declared if where.sort != "leg"]
    ends = [path for where in declared for path, meaning in where.fields.items() if meaning.kind == "end"]
    return things, [*ends, *(where.name for where in declared if where.sort == "leg")]


def _named(value: Json, fields: Sequence[str]) -> frozenset[str]:
    if not fields or not isinstance(value, dict):
        return _NOTHING
    names = map(value.get, fields)
    return frozenset(fold_phrase(name) for name in names if isinstance(name, str))


def _mode(step: Step, tool: Tool | None) -> str:
    """Return the way of travelling that a call asks for, by the tool's own synonyms."""
    for name, match in (tool.match if tool else {}).items():
        word = step.arguments.get(name)
        if match.type == "enum" and isinstance(word, str):
            said = fold_phrase(word)
            heads = (head for head, forms in match.synonyms.items() if said in map(fold_phrase, (head, *forms)))
            head = next(heads, said)
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
