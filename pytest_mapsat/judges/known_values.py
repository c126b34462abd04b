"""What figures are held against: the values that tools returned, with the things they belong to; and what else could explain a figure that does not fit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple, get_args

from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import Bound, Json, Mode, Step, Tool, values_at
from pytest_mapsat.reading import MONEY, ClockTime, Document, Quantity, Vocabulary, fold_phrase, lexicon_of, read
from pytest_mapsat.sandbox import distance_m, point_of

from .evidence import Evidence, KnownFigure, Moment
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
        self._standing: dict[tuple[int, str], list[tuple[Json, frozenset[str], frozenset[str]]]] = {}

    def values(self, bounds: Sequence[Bound], numbers: Callable[[Json], Iterable[float]]) -> tuple[Value, ...]:
        """Return the values that stand where ``bounds`` point to, in the order of the calls.

        Args:
            bounds: tools, each with a path into its results.
            numbers: reads the numbers of one value.
        """
        values: dict[Value, None] = {}
        for index, (turn, step) in enumerate(self._answered):
            for bound in bounds:
                if bound.tool == step.tool:
                    about, mode = self._asked_for(index, step)
                    for value, own, ends in self._at(index, step, bound.path):
                        several = not own.isdisjoint(self._places)
                        for number in numbers(value):
                            values[Value(number, own, about | ends, mode, turn, several)] = None
        return tuple(values)

    def _at(self, index: int, step: Step, path: str) -> list[tuple[Json, frozenset[str], frozenset[str]]]:
        """Return what stands at a path of a result, found once for all checks that point there."""
        if (index, path) not in self._standing:
            self._standing[index, path] = list(_owned(step.result, path, self._tools.get(step.tool)))
        return self._standing[index, path]

    @cached
    def _places(self) -> frozenset[str]:
        return frozenset(entity.key for entity in self._entities if entity.sort == "place")

    @cached
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
                yield from (entity.key for entity in self._entities if entity.id and entity.id == argument)
            elif match.type == "point" and (point := point_of(argument)):
                yield from (key for key, own in self._points if distance_m(*own, *point) <= _SAME_PLACE_M)
            elif match.named and isinstance(argument, str):
                key = fold_phrase(argument)
                yield from (entity.key for entity in self._entities if argument == entity.id or key == entity.key)


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
            folded = fold_phrase(word)
            heads = (head for head, forms in match.synonyms.items() if folded in map(fold_phrase, (head, *forms)))
            head = next(heads, folded)
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


#: Where a value is from: from the user or the context; from its own thing in another role, or in the same; from another thing in another role, or in the same; in the same from one that no reply names; from arithmetic; from nowhere.
Explanation = Literal["user", "own", "same", "other", "swapped", "unnamed", "derived", ""]
#: Roles of times are less sure than those of figures: what may be one that was looked for explains as well as another.
_LOOSELY: dict[Explanation, Explanation] = {"same": "own", "swapped": "other"}
_DAY = 24 * 60
_MOST_PEOPLE = 12
#: So many values of a unit are combined with each other at most.
_MOST_VALUES = 40
#: Minutes that a time of day may be off: as it is said exactly, and about.
_EXACTLY, _ABOUT = 1, 5
_OF_WAYS = ("travel_time", "wait")
#: A figure of no sure role that lies further off than so many times from all that it could be compared with is another one.
_FAR = 5
#: What is said to be about a value lies within this share of it.
_ROUGHLY = 0.08


class Explained:
    """Tells for the figures of one reply whether anything that was known by then has their value.

    Args:
        document: the reply.
        evidence: what the dialogue knew.
    """

    def __init__(self, document: Document, evidence: Evidence, left_out: frozenset[str]) -> None:
        self.document = document
        self.evidence = evidence.by(document.turn)
        self._left_out = left_out

    def of(self, figure: Quantity | ClockTime, roles: Collection[str]) -> Explanation:
        """Return what explains a figure or a time of day, whatever it is said of.

        Args:
            figure: the figure.
            roles: the roles that were looked for: another thing's figure of such a role explains nothing, it may be said wrongly.
        """
        return self._figure(figure, roles) if isinstance(figure, Quantity) else self._time(figure, roles)

    def _figure(self, figure: Quantity, roles: Collection[str]) -> Explanation:
        alike = [piece for piece in self.evidence.figures if _alike(figure.unit, piece.unit)]
        # A limit that the user sets ("at most 40") tells of no figure below it.
        meeting = [
            piece
            for piece in alike
            if (
                agrees(figure, piece.value, piece.high)
                if piece.source.origin == "tool"
                else agrees(figure, piece.value) or agrees(figure, piece.high)
            )
        ]
        if meeting and (why := self._owned(figure, meeting, roles)) != "unnamed":
            return why
        return "derived" if any(agrees(figure, value) for value in self._derived(figure.unit)) else ""

    def _time(self, time: ClockTime, roles: Collection[str]) -> Explanation:
        slack = _EXACTLY if time.approx == "exact" else _ABOUT
        meeting = [
            moment for moment in self.evidence.times if any(apart(at, moment.minutes) < slack for at in time.minutes)
        ]
        if meeting:
            why = self._owned(time, meeting, roles)
            return _LOOSELY.get(why, why)
        return "derived" if any(apart(at, end) <= slack for at in time.minutes for end in self._ends) else ""

    def _owned(
        self, figure: Quantity | ClockTime, meeting: Sequence[KnownFigure] | Sequence[Moment], roles: Collection[str]
    ) -> Explanation:
        if any(piece.source.origin != "tool" for piece in meeting):
            return "user"
        of_other_roles = [piece for piece in meeting if piece.role not in roles]
        if any({*figure.subject} & {*piece.subject} for piece in of_other_roles):
            return "own"
        if of_other_roles:
            return "other"
        if any({*figure.subject} & {*piece.subject} for piece in meeting):
            return "same"
        return "swapped" if any(self._left_out.isdisjoint(piece.subject) for piece in meeting) else "unnamed"

    def _derived(self, unit: str) -> tuple[float, ...]:
        if unit not in self._arithmetic:
            self._arithmetic[unit] = tuple(self._combined(unit))
        return self._arithmetic[unit]

    @cached
    def _arithmetic(self) -> dict[str, tuple[float, ...]]:
        return {}

    def _combined(self, unit: str) -> set[float]:
        """Return sums and differences of two values, multiples and shares for several people."""
        pieces = {
            (piece.value, piece.role, piece.subject) for piece in self.evidence.figures if _alike(unit, piece.unit)
        }
        pairs = list(combinations(sorted(pieces, key=str)[:_MOST_VALUES], 2))
        # Only figures of one role or thing are added: not a price and the user's budget.
        results = {left[0] + right[0] for left, right in pairs if left[1] == right[1] or {*left[2]} & {*right[2]}}
        if unit != "m":
            results |= {abs(left[0] - right[0]) for left, right in pairs if left[1] == right[1]}
        if unit == "yuan":
            sums = {value for value, _, _ in pieces} | results
            results |= {total * count for total in sums for count in self._counts}
            results |= {total / count for total in sums for count in self._counts}
        return results

    @cached
    def _counts(self) -> set[int]:
        """How many people or things the reply, the user or a tool speaks of."""
        figures: list[Quantity | KnownFigure] = [*self.document.quantities, *self.evidence.figures]
        counted = {figure.value for figure in figures if figure.unit == "people" or figure.unit.startswith("count")}
        return {2} | {int(value) for value in counted if 1 < value <= _MOST_PEOPLE and value == int(value)}

    @cached
    def _ends(self) -> set[float]:
        """Times at which a way that is known ends, if one sets out at a time that is known."""
        ways = [piece for piece in self.evidence.figures if piece.unit == "min" and piece.role in _OF_WAYS][
            :_MOST_VALUES
        ]
        taken = {piece.value for piece in ways}
        taken |= {piece.value + other.value for piece, other in combinations(ways, 2) if piece.subject == other.subject}
        starts = {piece.minutes for piece in self.evidence.times if piece.role in ("now", "departure")}
        return {start + way for start in starts for way in taken}


def agrees(figure: Quantity, low: float, high: float | None = None) -> bool:
    """Return whether a figure as it is said, with honest rounding, can mean a value or a range.

    Args:
        figure: the figure.
        low: the value, or the least of a range.
        high: the greatest of the range.
    """
    high = low if high is None else high
    give = figure.step / 2 + 1e-6
    if figure.approx == "about":
        give += _ROUGHLY * abs(figure.value)
        return low <= figure.value + give and high >= figure.value - give
    if figure.approx == "at_most":
        return low <= figure.high + give
    if figure.approx == "at_least":
        return high >= figure.low - give
    return low <= figure.high + give and high >= figure.low - give


def _alike(unit: str, other: str) -> bool:
    return unit == other or (unit.startswith("count") and other.startswith("count"))


def apart(first: float, other: float) -> float:
    """Return how many minutes two times of day are apart, past midnight, too."""
    return min((first - other) % _DAY, (other - first) % _DAY)


def is_far(figure: Quantity, values: Sequence[Value]) -> bool:
    """Return whether a figure is of another order of size than all values."""
    sizes = [value.number for value in values if value.number > 0]
    return bool(sizes) and not min(sizes) / _FAR <= figure.value <= max(sizes) * _FAR


def is_reckoned(figure: Quantity | ClockTime, why: str, *, sure: bool) -> bool:
    """Return whether a sum of money is reckoned from others, or is what so many hours come to."""
    if not isinstance(figure, Quantity) or figure.unit != MONEY:
        return False
    return (figure.approx == "about" and figure.role == "fee") or (why == "derived" and not sure)


def relevant(figure: Quantity | ClockTime, values: Sequence[Value]) -> list[Value]:
    """Return the values that a figure is compared with: those of its own thing, where it has any."""
    return [value for value in values if set(figure.subject) & (value.own | value.about)] or list(values)
