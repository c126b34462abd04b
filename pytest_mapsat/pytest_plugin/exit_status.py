"""The exit status of a run with an agent: decided here, once, and kept whatever ends pytest afterwards."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

import pytest

_SHOWN_AT_MOST = 3
_leave = os._exit
#: ``os``, and the module that it has its functions from.
_HOMES = (os, sys.modules[os.name])


class ExitStatus:
    """The exit status of one run, on the controller.

    From the start on, ``os._exit(0)`` in this process ends it as an internal error. After the end of a red run it ends with the run's status:
    Python ends later than pytest. Copies of the process end as they like.

    Args:
        config: pytest's.

    Attributes:
        under_way: returns the cases whose episodes are under way.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.under_way: Callable[[], Sequence[str]] = tuple
        self._config: pytest.Config | None = config
        self._process = os.getpid()
        self._session: pytest.Session | None = None
        #: The run's own, once it is decided.
        self._status: int | None = None
        config.add_cleanup(self._end)
        _guarding[:] = [run for run in _guarding if run._config is not None]  # noqa: SLF001 (our own)
        _guarding.append(self)
        for home in _HOMES:
            home._exit = _guarded_exit  # type: ignore[attr-defined]  # noqa: SLF001 (a public name, in spite of its form)

    def begin(self, session: pytest.Session) -> None:
        """Note the session of a run that comes to a result: without one it cannot end green."""
        self._session = session

    def decide(self, *, ours: bool, red: bool, ignored: bool = False, may_be_empty: bool = False) -> None:
        """Decide the status; a graver one of pytest's own stays.

        Args:
            ours: any of it was ours to run: else others may change the status as they like.
            red: something of ours is against the run.
            ignored: an agent was named, and nothing has run with it.
            may_be_empty: a run without tests is green.
        """
        session = self._session
        if session is None:
            return
        if may_be_empty and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK
        is_green = session.exitstatus == pytest.ExitCode.OK
        is_empty = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if (is_green and (red or ignored)) or (is_empty and ignored):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._status = session.exitstatus if ours else pytest.ExitCode.OK

    @property
    def is_open(self) -> bool:
        """Whether the session has begun, is green so far, and was not decided."""
        return self._session is not None and self._status is None and self._session.exitstatus == pytest.ExitCode.OK

    def kept(self, status: int | pytest.ExitCode | None) -> int | pytest.ExitCode | None:
        """Return the status that pytest ends with: the run's own, or an internal error, where this would be green and the run is not."""
        if status != pytest.ExitCode.OK or self._session is None:
            return status
        return pytest.ExitCode.INTERNAL_ERROR if self._status is None else self._status

    def _end(self) -> None:
        """Let ``os._exit`` be as it was. A red run keeps it to itself, unless it is a run within another."""
        if self._session is not None:
            self._status = int(self.kept(self._session.exitstatus) or 0)
        self._config = None
        self.under_way = tuple
        if not self._status or len(_guarding) > 1:
            _guarding.remove(self)
        if not _guarding:
            for home in _HOMES:
                home._exit = _leave  # type: ignore[attr-defined]  # noqa: SLF001 (likewise)

    def of_sudden_end(self) -> int:
        """Return the status of a process that somebody's ``os._exit(0)`` ends now, and say so where the run is not over."""
        if os.getpid() != self._process:
            return 0
        if self._config is None:
            return self._status or 0
        with suppress(Exception):  # whatever is broken, the process ends
            _tell(self._config, self.under_way())
        return pytest.ExitCode.INTERNAL_ERROR


#: The runs of this process that are under way, the innermost last; else the last one, where it was red.
_guarding: list[ExitStatus] = []


def _guarded_exit(status: int) -> NoReturn:
    """End the process, as ``os._exit`` does, but not as a green run that is none."""
    _leave(_guarding[-1].of_sudden_end() if status == 0 and _guarding else status)


def _tell(config: pytest.Config, cases: Sequence[str]) -> None:
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.suspend(in_=True)
    more = f" and {len(cases) - _SHOWN_AT_MOST} more" if len(cases) > _SHOWN_AT_MOST else ""
    during = f" during {', '.join(cases[:_SHOWN_AT_MOST])}{more}" if cases else ""
    words = f"\nmapsat: os._exit(0) ended pytest{during}, before the run had come to a result; --mapsat-isolate keeps an agent that does it apart\n"
    os.write(2, words.encode(errors="replace"))
