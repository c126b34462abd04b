"""Python's collector of cycles while an agent is active: it rests while our modules are loaded and items are made, comes less often while they run, and is spared the end.

Episodes leave many small values behind and next to no cycles, so that the collector goes over all of them again and again to find nothing: a tenth
of the time of a trivial case, and half of that of collecting 100,000. From the end of the session on it is as it was.
"""

from __future__ import annotations

import atexit
import gc
import io
from collections.abc import Generator
from contextlib import suppress

import pytest

from pytest_mapsat.interpreter import resting

#: New objects after which the collector comes. Python's own 700 are those of one episode.
_OBJECTS = 20_000
_BUFFERED = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


class Collector:
    """A plugin of a session of ours."""

    def __init__(self) -> None:
        self._thresholds = gc.get_threshold()
        atexit.unregister(_leave)
        atexit.register(_leave)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Collect items without it: whatever is made now stays."""
        with resting():
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Let it come less often while items run."""
        often, *others = self._thresholds
        if often:  # nobody has turned it off
            gc.set_threshold(max(often, _OBJECTS), *others)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Restore it."""
        gc.set_threshold(*self._thresholds)


def _leave() -> None:
    """Leave the heap of a process that ends to the operating system, but for what waits to be written."""
    for one in gc.get_objects():
        if type(one) in _BUFFERED:
            with suppress(OSError, ValueError):  # broken, or closed
                one.flush()
    gc.freeze()
