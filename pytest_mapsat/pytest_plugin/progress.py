"""The progress of a run: a line below pytest's own on the terminal of a person who looks at it, and a line a minute in a log of CI.

The former is written to the terminal itself, past pytest's capturing, a few times a second by a thread of its own, and wiped before pytest writes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, RLock, Thread
from time import perf_counter
from typing import Any

import pytest

from pytest_mapsat.printed import printed
from pytest_mapsat.reports import Tally, UnderWay, live_line
from pytest_mapsat.runs.episodes import Flights, Ledger

#: Seconds before the line is first shown, and between two of its states.
_FIRST, _EVERY = 0.5, 0.2
#: The cursor stays where it is: make room for a line below, remember the place, write there, go back.
_BELOW = "\x1bD\x1b[A\x1b7\x1b[B\r\x1b[2K"
_BACK = "\x1b8"
_NARROWEST = 30
#: Seconds between two lines of a log, and the columns of one.
_MINUTE, _LOG_WIDTH = 60.0, 100
_OF_CI = ("CI", "BUILD_NUMBER")


def is_wanted(config: pytest.Config, environment: Mapping[str, str]) -> bool:
    """Return whether a person watches a terminal that can display a progress line.

    Not so with ``-q``, in a pipe, a log of CI, or a terminal that knows no cursor; with another reporter than pytest's; and where what tests
    print goes to the terminal as well (``-s``, live logs, a debugger).
    """
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    option = config.option
    if type(terminal) is not pytest.TerminalReporter or not terminal.isatty or config.get_verbosity() < 0:
        return False
    if any(map(environment.get, _OF_CI)) or environment.get("TERM", "") in ("", "dumb"):
        return False
    if option.capture in ("no", "tee-sys") or option.usepdb or option.trace:
        return False
    return not (config.getini("log_cli") or option.log_cli_level)


def is_log(config: pytest.Config, environment: Mapping[str, str]) -> bool:
    """Return whether pytest writes a log of CI, without ``-q``."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    is_plain = type(terminal) is pytest.TerminalReporter and not terminal.isatty
    return is_plain and config.get_verbosity() >= 0 and any(map(environment.get, _OF_CI))


class LogProgress:
    """A plugin of the controller: a line a minute in a log, as soon as a case ends, since pytest captures what is written before."""

    def __init__(self, config: pytest.Config, ledger: Ledger, case_of: Callable[[str], str]) -> None:
        self._terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._ledger, self._case_of = ledger, case_of
        self._tally = ledger.tally = Tally()
        self._done = 0
        self._since = self._told = perf_counter()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Count the case, and write the line where a minute has passed since the last one."""
        self._done += bool(self._case_of(nodeid))
        now, of = perf_counter(), self._ledger.collected - self._ledger.deselected
        if now - self._told >= _MINUTE:
            self._told, seconds = now, now - self._since
            line = live_line(self._tally, done=self._done, of=of, under_way=(), seconds=seconds, width=_LOG_WIDTH)
            self._terminal.write_line(printed(line))


class Progress:
    """A plugin of the controller: one line with the number of finished cases, and the running cases of this process."""

    def __init__(self, config: pytest.Config, ledger: Ledger, flights: Flights, case_of: Callable[[str], str]) -> None:
        self._terminal = os.dup(sys.stdout.fileno())  # past pytest's capturing
        self._writer = config.get_terminal_writer()
        self._ledger = ledger
        self._tally = ledger.tally = Tally()
        self._flights = flights
        #: Tells the case of a node id; empty for a test that is none.
        self._case_of = case_of
        self._lock = RLock()
        self._over = Event()
        #: The line that stands there, empty where none does.
        self._shown = ""
        #: Whether items run: before that, and where one has died, xdist tells of its workers in place.
        self._running = False
        self._begun: dict[str, float] = {}
        self._done = 0
        self._of = 0
        self._since = perf_counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Show the line while items run."""
        self._since = perf_counter()
        Thread(target=self._work, name="mapsat-progress", daemon=True).start()
        try:
            return (yield)
        finally:
            self._over.set()
            with self._lock:
                self._wipe()

    def pytest_unconfigure(self) -> None:
        """Remove the line and stop its thread."""
        with self._lock:
            self._over.set()
            if self._terminal >= 0:
                os.close(self._terminal)
                self._terminal = -1

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> Generator[None, object, object]:
        """Note that an item has begun."""
        with self._room():
            self._running = True
            if self._case_of(nodeid):
                self._begun[nodeid] = perf_counter()
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Remove the line while pytest writes; end an item whose worker died."""
        with self._room():
            if report.when not in ("setup", "call", "teardown"):  # xdist's, for such an item
                self._end(report.nodeid)
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> Generator[None, object, object]:
        """Note that an item is over."""
        with self._room():
            self._end(nodeid)
            return (yield)

    def _keep_away(self) -> None:
        """Remove the line and hide it until it is allowed again."""
        with self._lock:
            self._running = False
            self._wipe()

    # Until an item begins, for xdist tells of a worker that died, and of the one that takes its place; and while somebody debugs,
    # as with a breakpoint() in the agent.
    pytest_testnodedown = pytest_enter_pdb = pytest.hookimpl(tryfirst=True, optionalhook=True)(_keep_away)

    def pytest_leave_pdb(self) -> None:
        """Show the line again after the debugger."""
        self._running = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self) -> None:
        """Remove the line for good."""
        self._over.set()
        with self._lock:
            self._wipe()

    def _end(self, nodeid: str) -> None:
        """Note that an item has ended."""
        if self._begun.pop(nodeid, None) is not None:
            self._done += 1

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Remove the line while pytest writes in the block."""
        with self._lock:
            line = self._shown
            self._wipe()
            yield
            if line:
                self._show(line)

    def _work(self) -> None:
        """Redraw the line a few times a second until stopped; runs on its own thread."""
        pause = _FIRST
        while not self._over.wait(pause):
            pause = _EVERY
            with self._lock:
                if not self._over.is_set():
                    self._show(self._line() if self._running else "")

    def _width(self) -> int:
        """Return the columns of the terminal; 0 if unknown."""
        try:
            return os.get_terminal_size(self._terminal).columns
        except OSError:
            return 0

    def _line(self) -> str:
        """Return the current line; empty if the terminal is too narrow."""
        width, seconds = self._width(), perf_counter() - self._since
        self._of = self._of or self._ledger.collected - self._ledger.deselected
        if width < _NARROWEST:
            return ""
        shown = self._under_way()
        return live_line(self._tally, done=self._done, of=self._of, under_way=shown, seconds=seconds, width=width)

    def _show(self, line: str) -> None:
        """Draw the line over the previous one."""
        if line and not self._is_at_the_edge():
            self._shown = line
            self._write(f"{_BELOW}{line}{_BACK}")

    def _is_at_the_edge(self) -> bool:
        """Return whether pytest has just filled its line, so that any movement would put the cursor back on the last character."""
        filled, width = self._writer.width_of_current_line, self._width()
        return filled > 0 and width > 0 and filled % width == 0

    def _wipe(self) -> None:
        """Erase the line from the terminal."""
        if self._shown:
            self._write(f"{_BELOW}{_BACK}")
            self._shown = ""

    def _write(self, text: str) -> None:
        """Write to the terminal and flush it."""
        with suppress(OSError):  # a terminal that has gone is no error
            os.write(self._terminal, text.encode("utf-8", "replace"))

    def _under_way(self) -> list[UnderWay]:
        """Return the running episodes, oldest first; with workers, return the items that the workers have started."""
        now = perf_counter()
        flights = self._flights.under_way()
        if flights:
            return [
                UnderWay(f"{flight.case}{f' trial {flight.trial}' * (flight.trial > 1)}", now - flight.since)
                for flight in flights
            ]
        return [UnderWay(self._case_of(nodeid), now - since) for nodeid, since in self._begun.items()]
