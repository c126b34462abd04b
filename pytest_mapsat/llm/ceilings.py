"""What a run has met of its ceilings: asked of every episode, also where nobody is a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ceilings: ContextVar[list[str] | None] = ContextVar("mapsat_ceilings", default=None)


@contextmanager
def ceilings_met() -> Iterator[list[str]]:
    """Give a list that fills with the ceilings, in words, that refuse a call meanwhile: one made in this context, or in a copy of it."""
    met: list[str] = []
    token = _ceilings.set(met)
    try:
        yield met
    finally:
        _ceilings.reset(token)


def note_ceiling(words: str) -> None:
    """Tell who listens in this context that a ceiling refuses a call."""
    if (met := _ceilings.get()) is not None:
        met.append(words)
