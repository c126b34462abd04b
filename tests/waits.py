"""No test waits without an end, and interrupts reach the processes that tests start."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

#: Seconds after which a wait that is still going on is interrupted again, where somebody's code took the first failure for its own.
_AGAIN = 60


def heed_interrupts() -> None:
    """Undo what a shell does to a job in the background: it starts it with SIGINT ignored, and every process that the job starts ignores it, too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Fail whatever is done here and takes longer, be it a wait for a process, a thread or a socket. Elsewhere than on Windows."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    former = signal.signal(signal.SIGALRM, _fail)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def _fail(number: int, frame: FrameType | None) -> None:
    del number, frame
    pytest.fail("this test has waited longer than any test may")
