"""Whether a value satisfies a match; the same for expected calls, checks and attributes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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


def satisfies(
    match: Match, value: Json, *, arguments: Mapping[str, Json] | None = None, results: Sequence[Step] = ()
) -> bool | None:
    """Return whether a value satisfies a match, or None where it cannot be said.

    Args:
        match: what is wanted.
        value: the value, None where there is none.
        arguments: all arguments of the call the value stands in (for ``WithinM.lat_from``).
        results: the earlier steps of the dialogue (for ``Bound``).

    Returns:
        None for a ``Bound`` to a result that does not exist, opening hours that are absent or cannot be read, a latitude
        that stands in arguments which were not given, and a value that is nested beyond measure.
    """
    try:
        if isinstance(match, WithinM):
            return _within(match, value, arguments)
        if isinstance(match, Bound):
            return _bound(match, value, results)
        if isinstance(match, Has):
            return _has(match, value, results)
        return _OPERATIONS[type(match)](match, value)
    except RecursionError:
        return None


def fits(matches: Mapping[str, Match], record: Mapping[str, Json], *, results: Sequence[Step] = ()) -> bool | None:
    """Return whether a record satisfies matches under its names, or at dotted paths: at each, one value at least.

    Args:
        matches: what is wanted, by name or dotted path (``items.*.dish``).
        record: the arguments of a call, a row, or another object.
        results: the earlier steps of the dialogue (for ``Bound``).

    Returns:
        None where no match surely fails, and for one it cannot be said.
    """
    each = [
        _some(satisfies(match, value, arguments=record, results=results) for value in values_of(record, path))
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
    one, other = point(wanted), point(value)
    if one is not None and other is not None:
        return distance_m(*one, *other) <= SAME_POINT_M
    return bool(_spelt(wanted) == _spelt(value))


def _spelt(value: Json) -> Any:
    """Return one form for all spellings of a value; kinds are kept apart."""
    if isinstance(value, Mapping):
        return {str(key): _spelt(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelt(element) for element in value]
    if not isinstance(value, str) or number(value) is not None:
        return _loose(value)
    at = moment(value)
    return ("text", normalise(value)) if at is None else ("moment", at)


def _loose(value: Json) -> Any:
    """Return a form in which values that are written differently are equal; kinds are kept apart (true is not 1)."""
    if isinstance(value, Mapping):
        return {str(key): _loose(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_loose(element) for element in value]
    figure = number(value)
    if figure is not None:
        return ("number", figure)
    if isinstance(value, str):
        text = "".join(unicodedata.normalize("NFKC", value).casefold().split())
        return ("boolean", text == "true") if text in ("true", "false") else ("text", text)
    return ("boolean", value) if isinstance(value, bool) else value


def _equal(match: Equal, value: Json) -> bool:
    return bool(_loose(match.value) == _loose(value))


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
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return str(value)


def _between(match: Between, value: Json) -> bool:
    found = number(value)
    if found is None:
        return False
    return (match.min is None or found >= match.min) and (match.max is None or found <= match.max)


def _within(match: WithinM, value: Json, arguments: Mapping[str, Json] | None) -> bool | None:
    if match.lat_from is not None:
        if arguments is None:
            return None
        value = [value, arguments.get(match.lat_from)]
    found = point(value)
    return found is not None and distance_m(*found, match.lon, match.lat) <= match.metres


def _open_at(match: OpenAt, value: Json) -> bool | None:
    return open_at(value, match.time) if isinstance(value, str) else None


def _bound(match: Bound, value: Json, results: Sequence[Step]) -> bool | None:
    answered = [step for step in results if step.kind == "call" and step.tool == match.tool and step.status == "ok"]
    found = [member for step in answered for member in values_at(step.result, match.path)]
    if not found:
        return None
    return any(_close(member, value, match.tolerance) for member in found)


def _has(match: Has, value: Json, results: Sequence[Step]) -> bool | None:
    elements = value if isinstance(value, (list, tuple)) else [value]
    return _some(fits(match.where, one, results=results) for one in elements if isinstance(one, Mapping))


def _same_items(match: SameItems, value: Json) -> bool:
    if not isinstance(value, (list, tuple)) or len(value) != len(match.values):
        return False
    wanted, made = (Counter(canonical_json(_loose(element)) for element in side) for side in (match.values, value))
    return wanted == made


def _close(wanted: Json, value: Json, tolerance: float) -> bool:
    one, other = number(wanted), number(value)
    if one is None or other is None:
        return bool(_loose(wanted) == _loose(value))
    return abs(one - other) <= tolerance * abs(one) + 1e-9


def _present(_match: Present, value: Json) -> bool:
    return value is not None and value not in ("", [], {}, ())


def _absent(_match: Absent, value: Json) -> bool:
    return not _present(Present(op="present"), value)


_OPERATIONS: dict[type, Callable[[Any, Json], bool | None]] = {
    Equal: _equal,
    OneOf: _one_of,
    Contains: _contains,
    Similar: _similar,
    Between: _between,
    OpenAt: _open_at,
    SameItems: _same_items,
    Present: _present,
    Absent: _absent,
}
