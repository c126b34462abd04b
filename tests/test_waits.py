import signal
import subprocess
import sys
import threading
import time

import pytest
from waits import heed_interrupts, limited

SHOWS = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not handed on there")
def test_processes_of_a_test_run_in_the_background_can_be_interrupted() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ignored = subprocess.run([sys.executable, "-ISc", SHOWS], capture_output=True, text=True, check=True)
        heed_interrupts()
        heeded = subprocess.run([sys.executable, "-ISc", SHOWS], capture_output=True, text=True, check=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ignored.stdout, heeded.stdout) == ("False\n", "True\n")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer of this kind")
def test_no_wait_is_without_an_end() -> None:
    for wait in (
        lambda: subprocess.run([sys.executable, "-ISc", "import time; time.sleep(60)"], check=True),
        threading.Event().wait,
        lambda: time.sleep(60),
    ):
        began = time.monotonic()
        with limited(0.2), pytest.raises(pytest.fail.Exception, match="longer than any test may"):
            wait()
        assert time.monotonic() - began < 30
