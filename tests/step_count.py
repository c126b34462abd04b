"""How much work a call is, in steps of Python instead of seconds: the same on every machine, under any load."""

import sys
from collections.abc import Callable
from typing import Any


def steps_of(work: Callable[[], object]) -> int:
    """Return how many lines and calls of Python some work takes."""
    count = 0

    def counted(*_: Any) -> Callable[..., Any]:
        nonlocal count
        count += 1
        return counted

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
