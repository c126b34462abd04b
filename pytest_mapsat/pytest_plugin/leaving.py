"""Ends of the process that nobody would take for one: ``os._exit(0)`` in an agent's code, and pytest's status is that of a green run.

So may be what the agent leaves behind for the time after the run: a function that is called when Python ends, a thread that outlives it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import product
from typing import Any, NoReturn

import pytest

from pytest_mapsat.runs.episodes import Flights

_SHOWN_AT_MOST = 3
#: Functions that put another program in the place of this process; all others of ``os`` end in one of them.
_REPLACING = ("execv", "execve")


class HeldStatus:
    """The exit status of a run, held against whatever comes after it and would end pytest as a green one.

    Args:
        config: pytest's; when it is done, its session has the status again, for whoever asks it while Python ends.

    Attributes:
        session: the session, once it has begun.
        status: the run's own, once it has come to its end.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.session: pytest.Session | None = None
        self.status: int | None = None
        config.add_cleanup(self._restore)

    def held(self, status: int | pytest.ExitCode | None) -> int | pytest.ExitCode | None:
        """Return the status with which pytest may end: another one where this would be green and the run is not."""
        if status != pytest.ExitCode.OK or self.session is None:
            return status
        return pytest.ExitCode.INTERNAL_ERROR if self.status is None else self.status

    @property
    def is_green_so_far(self) -> bool:
        """Whether the session has begun, nothing is against it, and it has come to no end."""
        return self.session is not None and self.status is None and self.session.exitstatus == pytest.ExitCode.OK

    def _restore(self) -> None:
        if self.session is not None and self.status is not None:
            self.session.exitstatus = self.held(self.session.exitstatus) or pytest.ExitCode.OK


@contextmanager
def no_green_exit(config: pytest.Config) -> Iterator[list[Flights]]:
    """Let no code of others end this process as a green one that is none, or put another program in its place.

    While it is open, ``os._exit(0)`` ends the process as the internal error that it is, with a word about it, and ``os.execv`` is refused.
    Afterwards ``os._exit(0)`` ends it with the run's own status. Copies of the process, and processes of its own that an agent starts,
    end as they like.

    Args:
        config: pytest's.

    Yields:
        A list for what tells which episodes are under way, once somebody knows.
    """
    guard = _Guard(config)
    ours: dict[str, Callable[..., NoReturn]] = {"_exit": guard}
    ours |= {name: partial(guard.replace, getattr(os, name)) for name in _REPLACING}
    homes = (os, sys.modules[os.name])  # that of ``os``, and where it has them from
    before = {name: getattr(os, name) for name in _REPLACING} | {"_exit": guard.leave}
    for home, name in product(homes, ours):
        setattr(home, name, ours[name])
    try:
        yield guard.flights
    finally:
        guard.end()
        # Python ends later than a run: one that was not green stays guarded, unless it is a run within another.
        stays = guard.status != 0 and not isinstance(guard.leave, _Guard)
        for home, name in product(homes, ours):
            if getattr(home, name) is ours[name] and not (stays and name == "_exit"):
                setattr(home, name, before[name])


class _Guard:
    """What stands in the place of ``os._exit``.

    Attributes:
        leave: what stood there, guards of runs that are over aside.
        flights: tell which episodes are under way.
        status: the run's own, once it is over.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config: pytest.Config | None = config
        self._process = os.getpid()
        self.flights: list[Flights] = []
        self.status: int | None = None
        self.leave: Callable[[int], NoReturn] = os._exit
        while isinstance(self.leave, _Guard) and self.leave.status is not None:
            self.leave = self.leave.leave

    def __call__(self, status: int) -> NoReturn:
        """End the process, as ``os._exit`` does."""
        if status == 0 and os.getpid() == self._process:
            status = pytest.ExitCode.INTERNAL_ERROR if self.status is None else self.status
            with suppress(Exception):  # whatever is broken, the process ends
                if self._config is not None:
                    _tell(self._config, [flight.case for flights in self.flights for flight in flights.under_way()])
        self.leave(status)

    def end(self) -> None:
        """Note how the run has ended, and hold nothing else of it."""
        session = self._config and self._config.pluginmanager.get_plugin("session")
        self.status = int(getattr(session, "exitstatus", 0))
        self._config = None
        self.flights = []

    def replace(self, replace: Callable[..., NoReturn], *given: Any) -> NoReturn:
        """Put another program in the place of the process, if it is a copy, or the run is over.

        Raises:
            PermissionError: it is the run's own.
        """
        if self.status is None and os.getpid() == self._process:
            raise PermissionError(
                f"os.{replace.__name__} would end pytest: start a process for it, or use --mapsat-isolate"
            )
        replace(*given)


def _tell(config: pytest.Config, cases: list[str]) -> None:
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.suspend(in_=True)
    more = f" and {len(cases) - _SHOWN_AT_MOST} more" if len(cases) > _SHOWN_AT_MOST else ""
    during = f" during {', '.join(cases[:_SHOWN_AT_MOST])}{more}" if cases else ""
    words = f"\nmapsat: os._exit(0) ended pytest{during}, before the run had come to a result; --mapsat-isolate keeps an agent that does it apart\n"
    os.write(2, words.encode(errors="replace"))
