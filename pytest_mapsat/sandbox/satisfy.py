"""Whether a value satisfies a match; the same for expected calls, checks and attributes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_mapsat.model import (
    Absent,
    Between,
    Bound,
    Contains,
    Equal,
    ExpectedTool,
    Json,
    Match,
    OneOf,
    OpenAt,
    Present,
    SameItems,
    Similar,
    Step,
    Tool,
    WithinM,
    all_true,
    any_true,
    canonical_json,
    values_at,
    values_of,
)
from pytest_mapsat.model.match import MAX_VALUES

from .canonical import SAME_POINT_M, distance_m, moment, normalise, number, open_at, point_of, text_similarity

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
        if isinstance(match, (Bound, Contains)) and (bound := match.bound) is not None:
            called = (step for step in results if step.kind == "call" and step.tool == bound.tool)
            found = FoundValues(called) if bound.call is None else hops.get(bound.call) or FoundValues()
            return _bound(match, bound, value, found)
        if isinstance(match, WithinM):
            return _near(match, value, arguments)
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


def _near(match: WithinM, value: Json, arguments: Mapping[str, Json] | None) -> bool | None:
    """Return whether a value, with the latitude from another argument where one is named, is a point near enough."""
    if match.lat_from is not None:
        if arguments is None:
            return None
        value = [value, arguments.get(match.lat_from)]
    place = point_of(value)
    return place is not None and distance_m(*place, match.lon, match.lat) <= match.metres


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


def _bound(match: Bound | Contains, bound: Bound, value: Json, found: FoundValues) -> bool | None:
    """Return whether a match holds for one of the values that earlier results had at a path."""
    sources = found.at(bound.path)
    if isinstance(match, Contains):
        held = _has_text(found.texts(bound.path), value)
    else:
        held = any(_is_close(source, value, match.tolerance) for source in sources)
    if held:
        return True
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


# -- the calls that fulfil an expected tool, and the rows that they returned -------------------------------------------


class ReturnedRow(NamedTuple):
    """A thing that a tool lists in a result: its id as text, empty where there is none, and its part of the result."""

    id: str
    record: Mapping[str, Json]


def hop_calls(
    tools: Sequence[ExpectedTool], calls: Sequence[Step], specs: Mapping[str, Tool] | None = None
) -> list[dict[int, int]]:
    """Return which calls fulfil each expected tool.

    A call does so when it gives every required argument, keeps every match that can be checked, and comes after calls that fulfil the entries of ``after``.

    Args:
        tools: the expected tools of a case.
        calls: all calls of the dialogue, in their order.
        specs: the tools themselves, by name; given, an entry is bound to the evidence alone of those that it refers to, where they say theirs.

    Returns:
        For each expected tool the positions of its calls in ``calls``, each with the number of matches that are unclear.
    """
    fulfilled: list[dict[int, int]] = [{} for _ in tools]
    hops: dict[str, FoundValues] = {}
    for position, call in enumerate(calls):
        met = []
        for tool, own in zip(tools, fulfilled, strict=True) if call.status != "over_limit" else ():
            if tool.name == call.tool and all(key in hops for key in tool.after):
                unknown = _unknown_rules(tool, call, calls[:position], hops)
                if unknown is not None:
                    own[position] = unknown
                    met.append(tool)
        for tool in met:
            spec = (specs or {}).get(tool.name) if tool.evidence_rows else None
            hops.setdefault(tool.key, FoundValues()).add(call if spec is None else _evidence_alone(tool, spec, call))
    return fulfilled


def _evidence_alone(expected: ExpectedTool, tool: Tool, call: Step) -> Step:
    """Return a call with the rows of its result alone that may be evidence of an expected tool."""
    result = deepcopy(call.result)
    for declared in tool.entities:
        for listed in values_at(result, declared.items):
            if isinstance(listed, list):
                listed[:] = [
                    row for row in listed if any(fits(part.where, row) is not False for part in expected.evidence_rows)
                ]
    return call.model_copy(update={"result": result})


def _unknown_rules(
    expected: ExpectedTool, call: Step, earlier: Sequence[Step], hops: Mapping[str, FoundValues]
) -> int | None:
    """Return how many matches cannot be said to hold in a call, or None where it is not valid."""
    arguments: Mapping[str, Json] = call.arguments
    if "arguments" in call.unknown:
        return None if expected.required or expected.match else 0
    # Not given: null, "", [] or {}; 0 and false are values.
    if any(value is None or value in ("", [], {}, ()) for value in map(arguments.get, expected.required)):
        return None
    unknown = 0
    for name, match in expected.match.items():
        held = {
            satisfies(match, value, arguments=arguments, results=earlier, hops=hops)
            for value in values_of(arguments, name)
        }
        if held == {False}:
            return None
        unknown += True not in held
    return unknown


def returned_rows(tool: Tool, result: Json) -> list[ReturnedRow]:
    """Return what a result lists, where the tool declares that in ``entities``, in the order of the result."""
    return [
        ReturnedRow(id_text(item.get(declared.id)) or "" if declared.id else "", item)
        for declared in tool.entities
        if declared.sort != "leg"
        for item in named_items(values_at(result, declared.items), declared.id or declared.name)
    ]


def holds_evidence(expected: ExpectedTool, tool: Tool, result: Json, *, first: int | None = None) -> bool | None:
    """Return whether a result holds a row for each ``where`` of an expected tool's evidence; None where that is unclear.

    Args:
        expected: the expected tool.
        tool: the tool itself, which declares where its rows stand.
        result: what a call of it returned.
        first: how many rows from the top count; None: all.
    """
    rows = [row.record for row in returned_rows(tool, result)[:first]]
    held = [{fits(evidence.where, row) for row in rows} for evidence in expected.evidence_rows]
    if any(True not in fits_of and None not in fits_of for fits_of in held):
        return False
    return None if any(True not in fits_of for fits_of in held) else True


def id_text(value: Json) -> str | None:
    """Return an id as text: a text without blanks around it, a whole number by its digits; None for what is no id."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    try:
        return str(value).strip() or None
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return None


def named_items(values: Iterable[Json], name: str) -> Iterator[dict[str, Json]]:
    """Yield the objects that have a name, from a list, an object of them, or one by itself."""
    for value in values:
        inner = value if isinstance(value, list) else [value]
        if isinstance(value, dict) and name not in value:
            inner = list(value.values())
        yield from (item for item in inner if isinstance(item, dict) and name in item)
