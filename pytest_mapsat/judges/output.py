"""The checks on what a machine can read of a reply: its structured output, and its text against a pattern. They are decided exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_mapsat.model import (
    Absent,
    Json,
    JsonObject,
    Matches,
    Output,
    Quote,
    WhichReply,
    did_you_mean,
    mismatches,
    shown,
    values_at,
)
from pytest_mapsat.sandbox import satisfies

from .context import Context
from .describe import match_in_words
from .finding import SHOWN_AT_MOST, Finding, cited


def output(check: Output, context: Context) -> Finding:
    """The structured output has, at ``path``, values that match; without ``equals``, it fits the case's schema."""
    if check.equals is None:
        return _fits_schema(check, context)
    wanted = f"{check.path or 'a structured output'} {match_in_words(check.equals)} in {_reply_in_words(check.turn)}"
    given = _given(check.turn, context)
    if not given:
        return Finding(False, _without(check.turn, context), wanted)
    values = [value for data in given for value in values_at(data, check.path)]
    if not values and not isinstance(check.equals, Absent):
        return Finding(False, _nothing_there(check.path, given), wanted)
    held = [satisfies(check.equals, value, results=context.trajectory.calls) for value in values or [None]]
    some = check.quantifier == "any"
    if (True in held) if some else all(held):
        return Finding(True, f"{check.path or 'the structured output'} is {_listed(values)}", wanted)
    if None in held and not (False in held and not some):
        return Finding(None, f"it cannot be told whether {_listed(values)} is {match_in_words(check.equals)}", wanted)
    wrong = [value for value, holds in zip(values, held, strict=True) if holds is False]
    return Finding(False, f"{check.path or 'the structured output'} is {_listed(wrong)}", wanted)


def _fits_schema(check: Output, context: Context) -> Finding:
    """The structured output is there and fits the schema that the case shows."""
    schema = context.visible.output_schema if context.visible else {}
    wanted = f"an output that fits visible.output_schema in {_reply_in_words(check.turn)}"
    if not schema:
        return Finding(None, "the case shows no output_schema", wanted, broken=True)
    given = _given(check.turn, context)
    if not given:
        return Finding(False, _without(check.turn, context), wanted)
    wrong = [problem for data in given for problem in mismatches(schema, data)]
    if wrong:
        more = f" and {len(wrong) - SHOWN_AT_MOST} more" if len(wrong) > SHOWN_AT_MOST else ""
        return Finding(False, "; ".join(wrong[:SHOWN_AT_MOST]) + more, wanted)
    return Finding(True, "the structured output fits the schema", wanted)


def matches(check: Matches, context: Context) -> Finding:
    """The pattern is found in the text of a reply."""
    wanted = f"a text that matches {check.pattern}, in {_reply_in_words(check.turn)}"
    for index, turn in context.turns(check.turn):
        if found := check.compiled.search(turn.text):
            start, end = found.span()
            quote = Quote(turn=index, start=start, end=end, text=turn.text[start:end])
            return Finding(True, cited([quote]), wanted, (quote,))
    return Finding(False, f"no text of {_reply_in_words(check.turn)} matches", wanted)


def _given(which: WhichReply, context: Context) -> list[JsonObject]:
    return [turn.output for _, turn in context.turns(which) if turn.output is not None]


def _without(which: WhichReply, context: Context) -> str:
    """Return in words that a reply has no structured output, and which one has."""
    others = [number for number, turn in enumerate(context.trajectory.replies, 1) if turn.output is not None]
    if not others:
        return "no reply has a structured output"
    return f"{_reply_in_words(which)} has no structured output, but reply {others[-1]} has"


def _nothing_there(path: str, given: Sequence[JsonObject]) -> str:
    """Return in words that there is nothing at a path: how far it leads, and what is there."""
    parts = path.split(".")
    reached = max(
        (count for count in range(len(parts)) if any(values_at(data, ".".join(parts[:count])) for data in given)),
        default=0,
    )
    here = [value for data in given for value in values_at(data, ".".join(parts[:reached]))]
    names = list(dict.fromkeys(name for value in here if isinstance(value, Mapping) for name in value))
    there = did_you_mean(parts[reached], names) or (
        f"there are: {', '.join(names)}" if names else f"found {_listed(here)}"
    )
    return f"the structured output has no {path} ({there})"


def _reply_in_words(which: WhichReply) -> str:
    return {"any": "any reply", "first": "the first reply", "last": "the last reply"}.get(str(which), f"reply {which}")


def _listed(values: Sequence[Json]) -> str:
    more = f" and {len(values) - SHOWN_AT_MOST} more" if len(values) > SHOWN_AT_MOST else ""
    return ", ".join(map(shown, values[:SHOWN_AT_MOST])) + more if values else "nothing"
