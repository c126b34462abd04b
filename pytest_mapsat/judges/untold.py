"""Parts of calls that a record made elsewhere lacks: a check that needs one is undecided, whatever the rest shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_mapsat.model import (
    Check,
    ClockTime,
    EndState,
    Grounded,
    Located,
    Number,
    Recommends,
    SameEnd,
    Unchanged,
)

from .findings import Finding, first_few

if TYPE_CHECKING:
    from .context import Context


def left_open(check: Check, finding: Finding, context: Context) -> Finding:
    """Return the finding of a plain check, undecided where it rests on a part that the record lacks.

    Args:
        check: what must hold.
        finding: the finding on all that was recorded.
        context: the dialogue. Checks on calls look for what is missing themselves.
    """
    if isinstance(check, EndState | Unchanged | SameEnd):
        part, calls = "changes", [*context.maybe_writing]
        writing = [step.tool for step in context.late if step.tool in calls]
        if isinstance(check, Unchanged) and not check.exempt and writing:
            why = f"{first_few(sorted(set(writing)))} was called when no reply was under way"
            return Finding(False, why, finding.wanted)
    else:
        part, calls = "result", _needed(check, finding, context)
    if not calls or (finding.passed is None and not finding.broken):
        return finding
    told = "report" if context.trajectory.calls_reported else "record"
    why = f"the {told} does not tell the {part} of {first_few(sorted({tool or 'any tool' for tool in calls}))}"
    return finding._replace(
        passed=None, why=why, broken=False, missed=(), compared=(), nothing_claimed=False, idle=False
    )


def _needed(check: Check, finding: Finding, context: Context) -> list[str]:
    """Return the tools of calls whose missing result could turn the finding."""
    untold = [step.tool for step in context.calls if {"arguments", "result"} & {*step.unknown}]
    if not untold:
        return []
    if isinstance(check, Number | ClockTime):
        # More results can only bear out more figures.
        return [] if finding.passed else _of(untold, (bound.tool for bound in check.bounds))
    if isinstance(check, Grounded | Located):
        return [] if finding.passed else untold
    if isinstance(check, Recommends) and (check.of_results or check.none_where):
        return [] if finding.passed and not check.none_where else _of(untold, [check.of_tool])
    return []


def _of(untold: list[str], tools: Iterable[str | None]) -> list[str]:
    wanted = set(tools)
    return [tool for tool in untold if None in wanted or not tool or tool in wanted]
