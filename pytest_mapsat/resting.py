"""Python's collector of cycles, kept away where whatever is made stays: it would go over all of it again and again, and find nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resting() -> Iterator[None]:
    """Keep the collector from coming for a while: items, modules and scorecards of a large run are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
