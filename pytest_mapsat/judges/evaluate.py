"""Which function judges which kind of check. A new kind is one class in the model, one function, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_mapsat.model import (
    All,
    AnyOf,
    Asked,
    AtLeast,
    Avoids,
    Called,
    Check,
    Chooses,
    ClockTime,
    Covers,
    Custom,
    Grounded,
    Not,
    NotCalled,
    NotSaid,
    Number,
    Order,
    Recommends,
    Said,
)

from .calls import called, not_called
from .combine import at_least, every, negated, some
from .context import Context
from .custom import custom
from .finding import Finding
from .grounding.grounded import grounded
from .phrases import chooses, covers, not_said, order, said
from .places import avoids, recommends
from .quantities import clock_time, number
from .questions import asked

#: kind -> evaluator of the check from the context.
EVALUATORS: dict[type, Callable[[Any, Context], Finding]] = {
    Said: said,
    NotSaid: not_said,
    Covers: covers,
    Order: order,
    Chooses: chooses,
    Number: number,
    ClockTime: clock_time,
    Recommends: recommends,
    Avoids: avoids,
    Called: called,
    NotCalled: not_called,
    Asked: asked,
    Grounded: grounded,
    Custom: custom,
    All: lambda check, context: every(_parts(check.checks, context)),
    AnyOf: lambda check, context: some(_parts(check.checks, context)),
    AtLeast: lambda check, context: at_least(check.n, _parts(check.checks, context)),
    Not: lambda check, context: negated(evaluate(check.check, context)),
}


def evaluate(check: Check, context: Context) -> Finding:
    """Judge one check.

    Args:
        check: what must hold.
        context: the trajectory and the tools of its suite.

    Returns:
        Passed, failed or not known, with the reason and the words that decided it.
    """
    return EVALUATORS[type(check)](check, context)


def _parts(checks: Sequence[Check], context: Context) -> list[Finding]:
    return [evaluate(check, context) for check in checks]
