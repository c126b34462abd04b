"""An end of the process that nobody would take for one: ``os._exit(0)`` in an agent's code, and pytest's status is that of a green run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import pytest

from pytest_mapsat.runs.flights import Flights

_SHOWN_AT_MOST = 3


@contextmanager
def no_green_exit(config: pytest.Config) -> Iterator[list[Flights]]:
    """While it is open, let ``os._exit(0)`` end this process as the internal error that it is, with a word about it.

    Copies of the process, and processes of its own that an agent starts, end as they like.

    Args:
        config: pytest's.

    Yields:
        A list for what tells which episodes are under way, once somebody knows.
    """
    process, leave, over = os.getpid(), os._exit, False
    known: list[Flights] = []

    def noticed(status: int) -> NoReturn:
        if status == 0 and os.getpid() == process and not over:
            status = pytest.ExitCode.INTERNAL_ERROR
            with suppress(Exception):  # whatever is broken, the process ends
                _tell(config, [flight.case for flights in known for flight in flights.under_way()])
        leave(status)

    os._exit = noticed
    try:
        yield known
    finally:
        over = True  # for who has taken it by its name
        if os._exit is noticed:
            os._exit = leave


def _tell(config: pytest.Config, cases: list[str]) -> None:
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.suspend(in_=True)
    more = f" and {len(cases) - _SHOWN_AT_MOST} more" if len(cases) > _SHOWN_AT_MOST else ""
    during = f" during {', '.join(cases[:_SHOWN_AT_MOST])}{more}" if cases else ""
    words = f"\nmapsat: os._exit(0) ended pytest{during}, before the run had come to a result; --mapsat-isolate keeps an agent that does it apart\n"
    os.write(2, words.encode(errors="replace"))
