"""Whether a value satisfies a match; the same for expected calls, checks and attributes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pytest_mapsat.model import (
    Absent,
    Between,
    Bound,
    Contains,
    Equal,
    Has,
    Json,
    Match,
    OneOf,
    OpenAt,
    Present,
    SameItems,
    Similar,
    Step,
    WithinM,
    all_true,
    any_true,
    canonical_json,
    values_at,
    values_of,
)
from pytest_mapsat.model.match import MAX_VALUES

from .canonical import SAME_POINT_M, Point, distance_m, moment, normalise, number, open_at, point_of, text_similarity

_NO_HOPS: Mapping[str, FoundValues] = MappingProxyType({})


def satisfies(
    match: Match,
    value: Json,
    *,
    arguments: Mapping[str, Json] | None = None,
    results: Sequence[Step] = (),
    hops: Mapping[str, FoundValues] = _NO_HOPS,
) -> bool | None:
    """Return whether a value satisfies a match, or None where it cannot be said.

    Args:
        match: what is wanted.
        value: the value, None where there is none.
        arguments: all arguments of the call the value stands in (for ``WithinM.lat_from``).
        results: the earlier steps of the dialogue (for ``Bound``).
        hops: what those of them returned that fulfil an expected tool, by its id (for ``Bound.call``).

    Returns:
        None for a ``Bound`` to a result of a tool that does not exist, opening hours that are absent or cannot be read, a latitude
        that stands in arguments which were not given, and a value that is nested beyond measure. A ``Bound`` to a call that was not made, or that
        returned nothing there, does not hold.
    """
    try:
        if isinstance(match, (Bound, Contains, Similar, WithinM)) and (bound := match.bound) is not None:
            called = (step for step in results if step.kind == "call" and step.tool in (bound.tool, ""))
            found = FoundValues(called) if bound.call is None else hops.get(bound.call) or FoundValues()
            return _bound(match, bound, value, arguments, found)
        if isinstance(match, WithinM):
            here = (match.lon or 0.0, match.lat or 0.0)
            return _near(here, match.metres, value, match.lat_from, arguments)
        if isinstance(match, Has):
            elements = value if isinstance(value, (list, tuple)) else [value]
            return any_true(
                fits(match.where, element, results=results, hops=hops)
                for element in elements
                if isinstance(element, Mapping)
            )
        return _OPERATIONS[type(match)](match, value)
    except RecursionError:
        return None


def fits(
    matches: Mapping[str, Match],
    data: Mapping[str, Json],
    *,
    results: Sequence[Step] = (),
    hops: Mapping[str, FoundValues] = _NO_HOPS,
) -> bool | None:
    """Return whether an object satisfies matches under its names, or at dotted paths (``items.*.dish``): at each, one value at least.

    ``data`` is a row, or the arguments of a call, ``results`` and ``hops`` as for ``satisfies``. None where no match surely fails, and for one it cannot be said.
    """
    each = [
        any_true(satisfies(match, value, arguments=data, results=results, hops=hops) for value in values_of(data, path))
        for path, match in matches.items()
    ]
    return all_true(each)


def same_value(wanted: Json, value: Json) -> bool:
    """Return whether two values say the same in their canonical forms: numbers, points, dates and times, texts without case, blanks and punctuation.

    Lists and objects say the same where their members do, in order.
    """
    here, there = point_of(wanted), point_of(value)
    if here is not None and there is not None:
        return distance_m(*here, *there) <= SAME_POINT_M
    return bool(_loose(wanted, _read) == _loose(value, _read))


def _read(text: str) -> Any:
    """Return one form for all spellings of a text."""
    at = moment(text)
    return ("text", normalise(text)) if at is None else ("moment", at)


def _typed(text: str) -> Any:
    """Return one form for a text in any case and spacing."""
    text = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    return ("boolean", text == "true") if text in ("true", "false") else ("text", text)


def _loose(value: Json, read: Callable[[str], Any] = _typed) -> Any:
    """Return a form in which values that are written differently are equal; kinds are kept apart (true is not 1)."""
    if isinstance(value, Mapping):
        return {str(key): _loose(member, read) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_loose(element, read) for element in value]
    figure = number(value)
    if figure is not None:
        return ("number", figure)
    if isinstance(value, str):
        return read(value)
    return ("boolean", value) if isinstance(value, bool) else value


def _one_of(match: OneOf, value: Json) -> bool:
    form = _loose(value)
    return any(_loose(wanted) == form for wanted in match.values)


def _has_text(texts: Mapping[str, str], value: Json) -> bool:
    """Return whether a value has one of some texts in it, which stand here by their normal forms; a list has it as an element."""
    if isinstance(value, (list, tuple)):
        elements = [_loose(element) for element in value]
        return any(_loose(text) in elements for text in texts.values())
    text = _text_of(value)
    form = None if text is None else normalise(text)
    return form is not None and any(other in form for other in texts)


def _similar(match: Similar, value: Json) -> bool:
    text = _text_of(value)
    return text is not None and text_similarity(match.text, text) >= match.at_least


def _text_of(value: Json) -> str | None:
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None


def _between(match: Between, value: Json) -> bool:
    amount = number(value)
    if amount is None:
        return False
    return (match.min is None or amount >= match.min) and (match.max is None or amount <= match.max)


def _near(
    here: Point, metres: float, value: Json, lat_from: str | None, arguments: Mapping[str, Json] | None
) -> bool | None:
    """Return whether a value, with the latitude from another argument where one is named, is a point near enough."""
    if lat_from is not None:
        if arguments is None:
            return None
        value = [value, arguments.get(lat_from)]
    place = point_of(value)
    return place is not None and distance_m(*place, *here) <= metres


class FoundValues:
    """What calls returned, so that a value that many of them returned is read once.

    Args:
        steps: the calls.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps = list(steps)
        self._read: dict[str, int] = {}
        self._values: dict[str, dict[str, Json]] = {}
        self._texts: dict[str, dict[str, str]] = {}

    def add(self, step: Step) -> None:
        """Add a call."""
        self._steps.append(step)

    @property
    def untold(self) -> bool:
        """Whether a record does not tell what one of the calls returned."""
        return any(step.status == "unknown" for step in self._steps)

    def at(self, path: str) -> Collection[Json]:
        """Return the values at a dotted path in the results of those that were answered, each once and 10,000 at most."""
        values, texts = self._values.setdefault(path, {}), self._texts.setdefault(path, {})
        for step in self._steps[self._read.get(path, 0) :] if len(values) < MAX_VALUES else ():
            for value in values_at(step.result, path) if step.status == "ok" else ():
                key = value if isinstance(value, str) else canonical_json([value])
                if key not in values:
                    values[key] = value
                    text = _text_of(value)
                    if text is not None and (form := normalise(text)):
                        texts[form] = text
        self._read[path] = len(self._steps)
        return values.values()

    def texts(self, path: str) -> Mapping[str, str]:
        """Return those of them that are text or numbers, by the form in which texts are compared."""
        self.at(path)
        return self._texts[path]


def _bound(
    match: Bound | Contains | Similar | WithinM,
    bound: Bound,
    value: Json,
    arguments: Mapping[str, Json] | None,
    found: FoundValues,
) -> bool | None:
    """Return whether a match holds for one of the values that earlier results had at a path."""
    sources = found.at(bound.path)
    if isinstance(match, Bound):
        held: bool | None = any(_is_close(source, value, match.tolerance) for source in sources)
    elif isinstance(match, WithinM):
        held = any_true(
            _near(here, match.metres, value, match.lat_from, arguments) for here in map(point_of, sources) if here
        )
    elif isinstance(match, Contains):
        held = _has_text(found.texts(bound.path), value)
    else:
        text = _text_of(value)
        texts = found.texts(bound.path).values()
        held = text is not None and any(text_similarity(other, text) >= match.at_least for other in texts)
    if held is not False:
        return held
    return None if found.untold or not (sources or bound.call) else False


def _is_close(wanted: Json, value: Json, tolerance: float) -> bool:
    amount, given = number(wanted), number(value)
    if amount is None or given is None:
        return bool(_loose(wanted) == _loose(value))
    return abs(amount - given) <= tolerance * abs(amount) + 1e-9


def _same_items(match: SameItems, value: Json) -> bool:
    if not isinstance(value, (list, tuple)) or len(value) != len(match.values):
        return False
    wanted, made = (Counter(canonical_json(_loose(element)) for element in side) for side in (match.values, value))
    return wanted == made


def _is_present(value: Json) -> bool:
    return value is not None and value not in ("", [], {}, ())


_OPERATIONS: dict[type, Callable[[Any, Json], bool | None]] = {
    Equal: lambda match, value: bool(_loose(match.value) == _loose(value)),
    OneOf: _one_of,
    Contains: lambda match, value: _has_text({normalise(match.text): match.text}, value),
    Similar: _similar,
    Between: _between,
    OpenAt: lambda match, value: open_at(value, match.time) if isinstance(value, str) else None,
    SameItems: _same_items,
    Present: lambda _, value: _is_present(value),
    Absent: lambda _, value: not _is_present(value),
}
