"""Which function judges which kind of check. A new kind is one class in the model, one function, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pytest_mapsat.model import (
    Addressed,
    All,
    AnyOf,
    Asked,
    AtLeast,
    Calls,
    Check,
    ClockTime,
    EndState,
    Family,
    Grounded,
    Located,
    Matches,
    Not,
    Number,
    Output,
    PythonCheck,
    Recommends,
    SameEnd,
    Says,
    Travels,
    Unchanged,
)

from .calls import calls
from .choices import recommends
from .combine import at_least, every, negated, some
from .context import Context
from .figures import clock_time, number
from .finding import Finding
from .grounding import grounded
from .located import addressed, located
from .output import matches, output
from .python_check import python_check
from .state import same_end, state, unchanged
from .words import asked, says, travels

#: kind -> evaluator of the check from the context.
EVALUATORS: dict[type, Callable[[Any, Context], Finding]] = {
    Says: says,
    Number: number,
    ClockTime: clock_time,
    Travels: travels,
    Recommends: recommends,
    Located: located,
    Addressed: addressed,
    Calls: calls,
    EndState: state,
    Unchanged: unchanged,
    SameEnd: same_end,
    Output: output,
    Matches: matches,
    Asked: asked,
    Grounded: grounded,
    PythonCheck: python_check,
    All: lambda check, context: every(_parts(check.checks, context)),
    AnyOf: lambda check, context: some(_parts(check.checks, context)),
    AtLeast: lambda check, context: at_least(check.n, _parts(check.checks, context)),
    Not: lambda check, context: negated(_evaluate(check.check, context)),
}


#: kind of a check that reads prose -> the family of its readings. All other kinds are decided exactly.
FAMILIES: dict[type, Family] = {
    **dict.fromkeys((Recommends, Located, Addressed), "choice"),
    **dict.fromkeys((Number, ClockTime), "figure"),
    **dict.fromkeys((Says, Asked), "words"),
    Travels: "travels",
    Grounded: "claims",
}


def evaluate(check: Check, context: Context) -> Finding:
    """Judge one check.

    Args:
        check: what must hold.
        context: the trajectory and the tools of its suite.

    Returns:
        Passed, failed or undecided, with the reason and the words that decided it, or that are unclear.
    """
    return _evaluate(check, context.knowing([check]))


def _evaluate(check: Check, context: Context) -> Finding:
    finding = EVALUATORS[type(check)](check, context)
    family = FAMILIES.get(type(check), "")
    if not family or finding.reading:
        return finding
    # A reply that proposes and states nothing leaves nothing to misread.
    sure = finding.passed is False and context.silent(getattr(check, "turn", "any"))
    return finding if sure else replace(finding, reading=family)


def _parts(checks: Sequence[Check], context: Context) -> list[Finding]:
    return [_evaluate(check, context) for check in checks]
