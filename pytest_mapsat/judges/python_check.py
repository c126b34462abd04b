"""Checks in Python: functions of others, called with the episode and never trusted to answer well, or at all."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from threading import Event, Thread

from pytest_mapsat.interpreter import waiting
from pytest_mapsat.model import PythonCheck, shown
from pytest_mapsat.registry import AddedCheck, added_checks
from pytest_mapsat.secrets import known_secrets
from pytest_mapsat.user_code import StrangerError, Surroundings, call_stranger, plain, words_of

from .context import Context
from .finding import Finding

#: How long a check may take, seconds.
SECONDS = 10.0
_LONGEST = 1000

#: The functions that have not come back in their time. Each has a thread that computes on, and gets no second.
_stuck: set[Callable[..., object]] = set()


def python_check(check: PythonCheck, context: Context) -> Finding:
    """Return what the function of this name makes of the episode; it is undecided where the function breaks or does not return."""
    added = added_checks().get(check.name)
    if added is None:
        return Finding(None, f"no conftest or package adds a check {shown(check.name)}", broken=True)
    if added.function in _stuck:
        return Finding(
            None, f"the check {check.name} is not called again: it has not come back from another call", broken=True
        )
    results: list[object] = []
    raised: list[BaseException] = []
    done = Event()

    def call() -> None:
        try:
            results.append(call_stranger(added.function, context.episode, **check.arguments))
        except StrangerError as broken:
            raised.append(broken.error)
        finally:
            done.set()

    surroundings = Surroundings()
    with waiting():
        Thread(target=call, name=f"mapsat-check-{check.name}", daemon=True).start()
        in_time = done.wait(SECONDS)
    surroundings.restore()
    if not in_time:
        _stuck.add(added.function)
        return Finding(None, f"the check {check.name} did not return within {SECONDS:g} s", broken=True)
    if raised and isinstance(raised[0], AssertionError):
        return Finding(False, _reason(raised[0]))
    if raised:
        return Finding(
            None, f"the check {check.name} broke{_where(raised[0], added)}: {words_of(raised[0])}", broken=True
        )
    return _finding(check.name, results[0])


def _finding(name: str, result: object) -> Finding:
    if result is None or result is True:
        return Finding(True, f"the check {name} passes")
    if result is False:
        return Finding(False, f"the check {name} returned False")
    if type(result) is Finding:
        return result
    return Finding(None, f"the check {name} returned {shown(result)}, expected a bool, None or a Finding", broken=True)


def _reason(error: BaseException) -> str:
    """Return what an assertion says; one that says nothing is shown as it is written."""
    try:
        words = plain(known_secrets().hidden(call_stranger(str, error))).strip()
    except StrangerError:
        words = ""
    if not words:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        words = linecache.getline(frame.filename, frame.lineno or 0).strip() or "an assertion failed"
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."


def _where(error: BaseException, added: AddedCheck) -> str:
    """Return the last line of the check's own file that its error came by."""
    file, _, _ = added.place.rpartition(":")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" on line {lines[-1]}" if lines else ""
