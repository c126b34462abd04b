"""The exit status of a run with an agent: decided here, once, and kept whatever ends pytest afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

import pytest

_SHOWN_AT_MOST = 3
_leave = os._exit


class ExitStatus:
    """The exit status of one run, on the controller.

    While the run goes, ``os._exit(0)`` in this process ends it as an internal error; after a red run it ends with the run's status, as Python ends
    later than pytest. Copies of the process end as they like.

    Attributes:
        under_way: returns the cases whose episodes are under way.
    """

    def __init__(self, config: pytest.Config) -> None:
        global _latest  # noqa: PLW0603 (a process has one end)
        self.under_way: Callable[[], Sequence[str]] = tuple
        self._config: pytest.Config | None = config
        self._process = os.getpid()
        self._session: pytest.Session | None = None
        #: The run's own, once it is decided.
        self._status: int | None = None
        #: The run that this one is a part of.
        self._around = _latest if _latest is not None and not _latest.is_over else None
        _latest = self
        os._exit = _guarded_exit
        config.add_cleanup(self._end)

    def begin(self, session: pytest.Session) -> None:
        """Remember the session of a run with a decision: from now on a sudden end is not green."""
        self._session = session

    def decide(
        self, *, ours: bool, red: bool, ignored: bool = False, only_drafts: bool = False, may_be_empty: bool = False
    ) -> None:
        """Decide the exit status; a more serious status from pytest is kept.

        Args:
            ours: any of it was ours to run: else others may change the status as they like.
            red: something of ours is against the run.
            ignored: an agent was named, and nothing has run with it.
            only_drafts: there were cases, and all of them are drafts: a usage error.
            may_be_empty: a run without tests is green.
        """
        session = self._session
        if session is None:
            return
        if may_be_empty and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK
        is_green = session.exitstatus == pytest.ExitCode.OK
        is_empty = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if only_drafts and (is_green or is_empty):
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif (is_green and (red or ignored)) or (is_empty and ignored):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._status = session.exitstatus if ours else pytest.ExitCode.OK

    @property
    def is_over(self) -> bool:
        """Whether pytest has ended its run."""
        return self._config is None

    @property
    def is_open(self) -> bool:
        """Whether the session has begun, is green so far, and was not decided."""
        return self._session is not None and self._status is None and self._session.exitstatus == pytest.ExitCode.OK

    def kept(self, status: int | pytest.ExitCode | None) -> int | pytest.ExitCode | None:
        """Return the exit status: the status of the run, or an internal error if pytest would be green and the run is not."""
        if status != pytest.ExitCode.OK or self._session is None:
            return status
        return pytest.ExitCode.INTERNAL_ERROR if self._status is None else self._status

    def _end(self) -> None:
        """Keep the exit status, now that pytest has ended the run."""
        global _latest  # noqa: PLW0603 (as above)
        if self._session is not None:
            self._status = int(self.kept(self._session.exitstatus) or 0)
        self._config = None
        self.under_way = tuple
        _latest = self._around or self

    def status_of_sudden_exit(self) -> int:
        """Return the exit status for an ``os._exit(0)`` in other code, and print a note if the run is not over."""
        if os.getpid() != self._process:
            return 0
        if self._config is None:
            return self._status or 0
        with suppress(Exception):  # whatever is broken, the process ends
            self._tell(self._config)
        return pytest.ExitCode.INTERNAL_ERROR

    def _tell(self, config: pytest.Config) -> None:
        """Say on the terminal that the run ended without a decision."""
        capture = config.pluginmanager.get_plugin("capturemanager")
        if capture is not None:
            capture.suspend(in_=True)
        cases = self.under_way()
        more = f" and {len(cases) - _SHOWN_AT_MOST} more" if len(cases) > _SHOWN_AT_MOST else ""
        during = f" during {', '.join(cases[:_SHOWN_AT_MOST])}{more}" if cases else ""
        words = f"\nmapsat: os._exit(0) ended pytest{during}, before the run had come to a result; --mapsat-isolate keeps an agent that does it apart\n"
        os.write(2, words.encode(errors="replace"))


#: The run that is under way, the innermost of several; else the last one.
_latest: ExitStatus | None = None


def _guarded_exit(status: int) -> NoReturn:
    """End the process like ``os._exit``; a run that is not green does not end with a green exit status."""
    _leave(status if status or _latest is None else _latest.status_of_sudden_exit())
