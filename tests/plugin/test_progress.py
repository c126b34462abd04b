"""The line that tells how a run goes: on the terminal of a person, and nowhere else."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import pytest
import tiny_suite

#: Room is made below, the line is wiped, written, and the cursor goes back.
LINE = re.compile(rb"\x1bD\x1b\[A\x1b7\x1b\[B\r\x1b\[2K([^\x1b]*)\x1b8")
AGENT = """\
import time

def agent(message, tools):
    print("thinking")
    time.sleep(0.5)
    tools.search_poi(query="charger")
    return "I suggest Old Mill."
"""


def seen_by_a_person(folder: Path, *arguments: str, columns: int = 60, **environment: str) -> bytes:
    """Return all that a run writes to a terminal of so many columns."""
    tiny_suite.write_suite(folder / "benchmark_cases")
    (folder / "slow.py").write_text(AGENT)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        known = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--mapsat-agent=slow:agent", *arguments]
        os.execve(sys.executable, command, {**known, "TERM": "xterm", **environment})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    written = b""
    while True:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # the other side has gone
            break
        if not part:
            break
        written += part
    os.waitpid(process, 0)
    os.close(terminal)
    return written


def test_a_person_sees_how_the_run_goes_and_nothing_of_it_stays(tmp_path: Path) -> None:
    written = seen_by_a_person(tmp_path, "--junitxml=out.xml", "-o", "junit_logging=all")
    lines = [found.decode() for found in LINE.findall(written)]
    assert any(line.startswith("mapsat 0/3, 1 under way") for line in lines)
    assert any(line.startswith("mapsat 2/3, 1 under way, 2 failed, AR 0.000") for line in lines)
    assert max(map(len, lines)) < 60
    assert lines[-1] == ""  # wiped before pytest goes on
    rest = LINE.sub(b"", written).decode()
    assert "under way" not in rest
    assert rest.count("thinking") == 3  # captured whole, and shown with the failures
    report = (tmp_path / "out.xml").read_text()
    assert "thinking" in report
    assert "under way" not in report


@pytest.mark.parametrize(("arguments", "environment"), [(["-q"], {}), (["-s"], {}), ([], {"CI": "1"})])
def test_it_is_not_shown_where_nobody_looks_or_something_else_is_written(
    tmp_path: Path, arguments: list[str], environment: dict[str, str]
) -> None:
    written = seen_by_a_person(tmp_path, *arguments, **environment)
    assert b"mapsat" in written
    assert b"\x1b7" not in written
    assert b"under way" not in written
