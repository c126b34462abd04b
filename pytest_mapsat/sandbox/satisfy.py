"""Whether a value satisfies a match; the same for expected calls, checks and attributes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
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
    canonical_json,
    values_at,
    values_of,
)

from .canonical import SAME_POINT_M, distance_m, moment, normalise, number, open_at, point, text_similarity

_NO_HOPS: Mapping[str, Sequence[Step]] = MappingProxyType({})


def satisfies(
    match: Match,
    value: Json,
    *,
    arguments: Mapping[str, Json] | None = None,
    results: Sequence[Step] = (),
    hops: Mapping[str, Sequence[Step]] = _NO_HOPS,
) -> bool | None:
    """Return whether a value satisfies a match, or None where it cannot be said.

    Args:
        match: what is wanted.
        value: the value, None where there is none.
        arguments: all arguments of the call the value stands in (for ``WithinM.lat_from``).
        results: the earlier steps of the dialogue (for ``Bound``).
        hops: those of them that fulfil an expected tool, by its id (for ``Bound.call``).

    Returns:
        None for a ``Bound`` to a result of a tool that does not exist, opening hours that are absent or cannot be read, a latitude
        that stands in arguments which were not given, and a value that is nested beyond measure. A ``Bound`` to a call that was not made, or that
        returned nothing there, does not hold.
    """
    try:
        if isinstance(match, Bound):
            return _bound(match, results, hops, lambda source: _is_close(source, value, match.tolerance))
        if isinstance(match, (Contains, Similar, WithinM)) and match.of is not None:
            test = partial(_holds_source, match, value, arguments)
            return _bound(match.of, results, hops, test)
        if isinstance(match, WithinM):
            return _within(match, value, arguments)
        if isinstance(match, Has):
            elements = value if isinstance(value, (list, tuple)) else [value]
            return _some(
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
    hops: Mapping[str, Sequence[Step]] = _NO_HOPS,
) -> bool | None:
    """Return whether an object satisfies matches under its names, or at dotted paths (``items.*.dish``): at each, one value at least.

    ``data`` is a row, or the arguments of a call, ``results`` and ``hops`` as for ``satisfies``. None where no match surely fails, and for one it cannot be said.
    """
    each = [
        _some(satisfies(match, value, arguments=data, results=results, hops=hops) for value in values_of(data, path))
        for path, match in matches.items()
    ]
    return False if False in each else None if None in each else True


def _some(held: Iterable[bool | None]) -> bool | None:
    """Return whether one holds; None where none surely does, and for one it cannot be said."""
    answers = set(held)
    return True if True in answers else None if None in answers else False


def same_value(wanted: Json, value: Json) -> bool:
    """Return whether two values say the same in their canonical forms: numbers, points, dates and times, texts without case, blanks and punctuation.

    Lists and objects say the same where their members do, in order.
    """
    here, there = point(wanted), point(value)
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


def _contains(match: Contains, value: Json) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_loose(match.text) == _loose(element) for element in value)
    text = _text_of(value)
    return text is not None and normalise(match.text) in normalise(text)


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


def _within(match: WithinM, value: Json, arguments: Mapping[str, Json] | None) -> bool | None:
    if match.lat_from is not None:
        if arguments is None:
            return None
        value = [value, arguments.get(match.lat_from)]
    place = point(value)
    if place is None or match.lon is None or match.lat is None:
        return False
    return distance_m(*place, match.lon, match.lat) <= match.metres


def _bound(
    bound: Bound,
    results: Sequence[Step],
    hops: Mapping[str, Sequence[Step]],
    test: Callable[[Json], bool | None],
) -> bool | None:
    """Return whether a test holds for one of the values that earlier results had at a path."""
    if bound.call is None:
        steps = [step for step in results if step.kind == "call" and step.tool == bound.tool]
    else:
        steps = [*hops.get(bound.call, ())]
    sources = values_found(bound.path, steps)
    held = _some(map(test, sources))
    if held is not False:
        return held
    unknown = any(step.status == "unknown" for step in steps)
    return None if unknown or not (sources or bound.call) else False


def values_found(path: str, steps: Iterable[Step]) -> list[Json]:
    """Return the values that stand at a dotted path in the results of the steps that were answered."""
    return [value for step in steps if step.status == "ok" for value in values_at(step.result, path)]


def _holds_source(
    match: Contains | Similar | WithinM, value: Json, arguments: Mapping[str, Json] | None, source: Json
) -> bool | None:
    """Return whether a value satisfies a match with what a result had in place of the match's own text or point."""
    if isinstance(match, WithinM):
        place = point(source)
        if place is None:
            return False
        return _within(match.model_copy(update={"lon": place[0], "lat": place[1], "of": None}), value, arguments)
    text = _text_of(source)
    return bool(text and normalise(text)) and _OPERATIONS[type(match)](match.model_copy(update={"text": text}), value)


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
    Contains: _contains,
    Similar: _similar,
    Between: _between,
    OpenAt: lambda match, value: open_at(value, match.time) if isinstance(value, str) else None,
    SameItems: _same_items,
    Present: lambda _, value: _is_present(value),
    Absent: lambda _, value: not _is_present(value),
}
