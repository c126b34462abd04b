"""What a JUnit file says of an episode: properties of its test case, which ``--junitxml`` writes."""

from __future__ import annotations

from functools import lru_cache

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
            told.append(_of_metric(name, span[0]))
        elif span is not None:
            told += [(f"mapsat.{name}.least", span[0]), (f"mapsat.{name}.most", span[1])]
    labels = [
        ("missed", [label.requirement for label in values.missed(card)]),
        ("open", [label.requirement for label in card.labels if label.outcome == "unevaluated"]),
    ]
    told += [(f"mapsat.{name}", printable(", ".join(requirements))) for name, requirements in labels if requirements]
    if card.reason:
        told.append(("mapsat.reason", cut(printable(card.reason), _TEXT)))
    return told


@lru_cache(maxsize=4096)
def _of_metric(name: str, value: float) -> tuple[str, object]:
    """Return the property of a metric. pytest keeps all of them to the end of a run, and most are one of few values."""
    return f"mapsat.{name}", value
