"""Python's collector of cycles while an agent is active: it comes less often, goes over less, and is spared what ends with the process.

Episodes leave many small values behind and next to no cycles, so that the collector goes over all of them again and again to find nothing: a fifth
of the time of a trivial case. What tests have left is still collected once at the end, where pytest tells of exceptions that come of it; and a
process that lives on after ``pytest.main`` finds the collector as it was.
"""

from __future__ import annotations

import atexit
import gc
import io
from collections.abc import Generator
from contextlib import suppress

import pytest

#: New objects after which the collector comes. Python's own 700 are those of one episode.
_OBJECTS = 20_000
_BUFFERED = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


class Collector:
    """A plugin of a session of ours.

    Args:
        config: pytest's; the collector is as it was when it is done with.
    """

    def __init__(self, config: pytest.Config) -> None:
        config.add_cleanup(self._restore)
        self._thresholds = gc.get_threshold()
        atexit.unregister(_leave)
        atexit.register(_leave)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Collect items without it: whatever is made now stays."""
        enabled = gc.isenabled()
        gc.disable()
        try:
            return (yield)
        finally:
            if enabled:
                gc.enable()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Take modules and items out of what is gone over: they stay to the end."""
        often, *others = self._thresholds
        if often:  # nobody has turned it off
            gc.set_threshold(max(often, _OBJECTS), *others)
        gc.freeze()

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Collect once what tests have left; of what is there now no plugin's unconfigure needs to go over anything again."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    def _restore(self) -> None:
        gc.unfreeze()
        gc.set_threshold(*self._thresholds)


def _leave() -> None:
    """Leave the heap of a process that ends to the operating system, but for what waits to be written."""
    for one in gc.get_objects():
        if type(one) in _BUFFERED:
            with suppress(OSError, ValueError):  # broken, or closed
                one.flush()
    gc.freeze()
