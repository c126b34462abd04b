"""Which fact requirements fail because a reply says one thing in words and another one as data."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mapsat.model import (
    Avoids,
    Check,
    Chooses,
    ClockTime,
    Covers,
    FactRequirement,
    Grounded,
    Number,
    Order,
    Recommends,
    RulesOut,
    leaves,
)

from .context import Context
from .figures import is_unit, unit_of
from .finding import SHOWN_AT_MOST, Finding, cite
from .grounding.claims import sort_of
from .grounding.grounded import sorts_spoken_of
from .handed_over import Contradiction
from .things import key_of, names_in

_CHOICES = (Recommends, Avoids, Chooses, Covers, Order, RulesOut)


def contradicted(facts: Sequence[FactRequirement], context: Context) -> dict[str, Finding]:
    """Return the findings on the facts that contradictions fail, by id.

    A contradiction fails the facts that speak of its thing and figure; where none does, the first fact of the case, since one of
    the two that are said is wrong.
    """
    failed: dict[str, list[Contradiction]] = {}
    for found in context.contradictions:
        concerned = [fact for fact in facts if _concerns(fact, found, context)]
        for fact in concerned or facts[:1]:
            failed.setdefault(fact.id, []).append(found)
    return {fact: _finding(listed) for fact, listed in failed.items()}


def _finding(listed: Sequence[Contradiction]) -> Finding:
    shown = listed[:SHOWN_AT_MOST]
    why = "; ".join(f"{cite(found.quote)}, {found.why}" for found in shown)
    wanted = "a reply that does not contradict its structured output"
    return Finding(False, why, wanted, tuple(found.quote for found in shown))


def _concerns(fact: FactRequirement, found: Contradiction, context: Context) -> bool:
    """Return whether a fact speaks of what is contradicted: by its check, or by the claims that its text names."""
    if fact.check is None:
        return _asks_for(sorts_spoken_of(fact.text), found)
    return any(_speaks_of(check, found, context) for check in leaves(fact.check))


def _speaks_of(check: Check, found: Contradiction, context: Context) -> bool:
    named = {key for group in names_in(check) for name in group if (key := key_of(name, context.keys))}
    if named and found.key not in named:
        return False
    match check:
        case Number():
            return is_unit(found.unit, unit_of(check)) and (not check.role or found.role in check.role)
        case ClockTime():
            return found.unit == "clock" and (not check.role or found.role in check.role)
        case Grounded():
            return _asks_for(check.claims, found)
    return isinstance(check, _CHOICES) and not found.unit


def _asks_for(sorts: Sequence[str], found: Contradiction) -> bool:
    """Return whether claims of some sorts (of all, where none is named) are of the sort that is contradicted."""
    kind, sort = ("time", "time") if found.unit == "clock" else ("quantity", sort_of(found.unit))
    return not sorts or ("name" if not found.unit else sort) in sorts or (bool(found.unit) and kind in sorts)
