"""What a JUnit file says of an episode: properties of its test case, which ``--junitxml`` writes."""

from __future__ import annotations

from sys import intern

from pytest_mapsat.model import Scorecard

from . import values
from .text import cut, printable

_TEXT = 2_000


def properties(card: Scorecard) -> list[tuple[str, object]]:
    """Return an episode as properties: each metric, or the bounds that it lies between, then what is missed and what is open."""
    told: list[tuple[str, object]] = [
        ("mapsat.case", printable(card.id)),
        ("mapsat.trial", card.trial),
        ("mapsat.outcome", card.outcome),
        ("mapsat.domains", printable(", ".join(card.domains))),
    ]
    for name in card.metrics:
        span = card.bounds_of(name)
        if span is not None and span[0] == span[1]:
            told.append((intern(f"mapsat.{name}"), span[0]))  # pytest keeps it for every item
        elif span is not None:
            told += [(f"mapsat.{name}.least", span[0]), (f"mapsat.{name}.most", span[1])]
    labels = [
        ("missed", [label.factor for label in values.missed(card)]),
        ("open", [label.factor for label in card.labels if label.outcome == "unevaluated"]),
    ]
    told += [(f"mapsat.{name}", printable(", ".join(factors))) for name, factors in labels if factors]
    if card.reason:
        told.append(("mapsat.reason", cut(printable(card.reason), _TEXT)))
    return told
