"""The checks on tool calls: ``called`` and ``not_called``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_mapsat.model import Called, Match, NotCalled, Step
from pytest_mapsat.sandbox import satisfies

from .context import Context
from .describe import matches_in_words, times_in_words
from .finding import Finding

_ANY = ("ok", "miss", "error")


def called(check: Called, context: Context) -> Finding:
    """The tool was called with arguments that match, often enough and not too often."""
    low, high = _count(check.tool, check.arguments, context, statuses=("ok",) if check.answered else _ANY)
    most = check.at_most if check.at_most is not None else high
    passed: bool | None = None
    if low >= check.at_least and high <= most:
        passed = True
    elif high < check.at_least or low > most:
        passed = False
    wanted = f"{_subject(check.tool, check.arguments)}{' with an answer' if check.answered else ''}, {times_in_words(check.at_least, check.at_most)}"
    missed = _missed(check, context) if passed is False and check.answered and high < check.at_least else ()
    return Finding(passed, _counted(check.tool, low, high, context), wanted, missed=missed)


def _missed(check: Called, context: Context) -> tuple[str, ...]:
    """Return the tool where calls with the wanted arguments were made often enough, and missed."""
    made, _ = _count(check.tool, check.arguments, context, statuses=("ok", "miss"))
    return (check.tool,) if made >= check.at_least else ()


def not_called(check: NotCalled, context: Context) -> Finding:
    """The tool was never called with arguments that match."""
    low, high = _count(check.tool, check.arguments, context, statuses=_ANY)
    passed = False if low else None if high else True
    return Finding(passed, _counted(check.tool, low, high, context), f"no {_subject(check.tool, check.arguments)}")


def _count(tool: str, matches: Mapping[str, Match], context: Context, *, statuses: Sequence[str]) -> tuple[int, int]:
    """Return how many calls surely match, and how many may."""
    calls = context.trajectory.calls
    kept = [
        _matches(call, matches, calls[:index])
        for index, call in enumerate(calls)
        if call.tool == tool and call.status in statuses
    ]
    return kept.count(True), len(kept) - kept.count(False)


def _matches(call: Step, matches: Mapping[str, Match], earlier: Sequence[Step]) -> bool | None:
    held = [
        satisfies(match, call.arguments.get(name), arguments=call.arguments, results=earlier)
        for name, match in matches.items()
    ]
    if False in held:
        return False
    return None if None in held else True


def _subject(tool: str, matches: Mapping[str, Match]) -> str:
    return f"call of {tool}" + (f" with {matches_in_words(matches)}" if matches else "")


def _counted(tool: str, low: int, high: int, context: Context) -> str:
    total = sum(call.tool == tool for call in context.trajectory.calls)
    unsure = f", and {high - low} cannot be told" if high > low else ""
    return f"{tool} was called {total} times, {low} of them as wanted{unsure}" if total else f"{tool} was never called"
