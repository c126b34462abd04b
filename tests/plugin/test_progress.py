"""The line that tells how a run goes: on the terminal of a person, and nowhere else.

Agents wait for a file, which a test writes once it has seen what it waits for: no assertion counts seconds.
"""

import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import tiny_suite

from pytest_mapsat.pytest_plugin import progress
from pytest_mapsat.pytest_plugin.progress import is_wanted

pytestmark = pytest.mark.usefixtures("warm")

#: Room is made below, the line is wiped, written, and the cursor goes back.
LINE = re.compile(rb"\x1bD\x1b\[A\x1b7\x1b\[B\r\x1b\[2K([^\x1b]*)\x1b8")
#: Each of its episodes ends once there is a file for it.
AGENT = """\
import os, time
from pathlib import Path

HERE = Path(__file__).parent

def wait_for(name):
    (HERE / f"{name}.begun").touch()
    while not (HERE / name).exists():
        time.sleep(0.02)

def agent(message, tools):
    print("thinking")
    number = sum(path.name.startswith("go") for path in HERE.glob("*.begun"))
    wait_for(f"go{number}")
    tools.search_poi(query="charger")
    return "I suggest Old Mill."

def dies(message, tools):
    if not (HERE / "go.begun").exists():
        wait_for("go")
        os._exit(1)
    wait_for("go1")
    return "I suggest Old Mill."

def debugs(message, tools):
    wait_for("go")
    breakpoint()
    wait_for("go1")
    return "I suggest Blue Bay."
"""


class Person:
    """Somebody who looks at the terminal of a run in a folder."""

    def __init__(
        self, folder: Path, *arguments: str, columns: int = 60, file: str = "a.yaml", **environment: str
    ) -> None:
        self.folder = folder
        self.written = b""
        nav = tiny_suite.write_suite(folder / "benchmark_cases") / "nav"
        (nav / "a.yaml").rename(nav / file)
        (folder / "slow.py").write_text(AGENT)
        self.process, self._terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            known = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
            command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--mapsat-agent=slow:agent"]
            os.execve(sys.executable, [*command, *arguments], {**known, "TERM": "xterm", **environment})
        self.resize(columns)

    @property
    def lines(self) -> list[str]:
        """What stood in the line, one after the other; empty where it was wiped."""
        return [found.decode() for found in LINE.findall(self.written)]

    @property
    def rest(self) -> str:
        """What else was written."""
        return LINE.sub(b"", self.written).decode()

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def look_until(self, seen: Callable[[], object]) -> None:
        """Read until something is seen; a run that never shows it is ended, so that no test hangs."""
        until = time.monotonic() + 120
        while not seen():
            if not self._read() or time.monotonic() > until:
                os.kill(self.process, signal.SIGKILL)
                pytest.fail(f"it was not seen: {self.written.decode()}")

    def sees(self, text: str) -> None:
        """Read until a line has a text."""
        self.look_until(lambda: any(text in line for line in self.lines))

    def types(self, text: bytes) -> None:
        os.write(self._terminal, text)

    def allows(self, *names: str) -> None:
        for name in names:
            (self.folder / name).touch()

    def looks_to_the_end(self) -> int:
        """Read all that is written, and return the exit status."""
        while self._read():
            pass
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def _read(self) -> bytes:
        part = b""
        with suppress(OSError):  # the other side has gone
            part = os.read(self._terminal, 65_536)
        self.written += part
        return part


def nothing_of_it_is_left(person: Person) -> bool:
    """Whether the line was wiped before pytest went on, and no half of it was written."""
    return person.lines[-1] == "" and "under way" not in person.rest and not set("\x1b") & set(uncoloured(person.rest))


def uncoloured(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)


def test_a_person_sees_how_the_run_goes_and_nothing_of_it_stays(tmp_path: Path) -> None:
    person = Person(tmp_path, "--junitxml=out.xml", "-o", "junit_logging=all", NO_COLOR="1")
    person.sees("mapsat 0/3, 1 under way")
    person.allows("go0", "go1")
    person.sees("mapsat 2/3, 1 under way, 2 failed, satisfied 0.000")
    person.allows("go2")
    assert person.looks_to_the_end() == pytest.ExitCode.TESTS_FAILED
    assert max(map(len, person.lines)) < 60
    assert nothing_of_it_is_left(person)
    assert person.rest.count("thinking") == 3  # captured whole, and shown with the failures
    assert b"\x1b[3" not in person.written, "NO_COLOR: a line without any, and nothing else either"
    report = (tmp_path / "out.xml").read_text()
    assert "thinking" in report
    assert "under way" not in report


def test_slow_cases_are_named_while_they_run_and_a_window_may_change_its_size(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from pytest_mapsat.reports import terminal\nterminal._SLOW = 0.0\n")
    person = Person(tmp_path, "--mapsat-concurrency=2", "-x")
    person.sees("mapsat 0/3, 2 under way, slow: nav-")  # which of the two began first is up to their threads
    person.resize(35)
    person.look_until(lambda: 0 < len(person.lines[-1]) < 35)
    person.allows("go0", "go1", "go2")
    assert person.looks_to_the_end() == pytest.ExitCode.TESTS_FAILED
    assert nothing_of_it_is_left(person)
    assert "stopping after 1 failures" in person.rest


def test_the_line_is_wiped_where_somebody_interrupts_the_run(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.sees("mapsat 0/3, 1 under way")
    person.types(b"\x03")
    assert person.looks_to_the_end() == pytest.ExitCode.INTERRUPTED
    assert nothing_of_it_is_left(person)
    assert "KeyboardInterrupt" in person.rest


def test_only_the_process_that_has_the_terminal_writes_the_line_and_a_dead_worker_is_told_of_in_its_place(
    tmp_path: Path,
) -> None:
    person = Person(tmp_path, "-n1", "--mapsat-agent=slow:dies", columns=90)
    person.sees("mapsat 0/3, 1 under way")
    person.allows("go")
    person.sees("mapsat 1/3, 1 under way")
    person.allows("go1")
    person.looks_to_the_end()
    assert nothing_of_it_is_left(person)
    told = person.written.index(b"replacing crashed worker")
    before = [found.group(1) for found in LINE.finditer(person.written) if found.start() < told]
    assert before[-1] == b"", "the line is away while xdist tells of its workers"


def test_it_keeps_away_while_somebody_debugs(tmp_path: Path) -> None:
    person = Person(tmp_path, "--mapsat-agent=slow:debugs", "-k", "nav-one", columns=90)
    person.sees("mapsat 0/1, 1 under way")
    person.allows("go")
    person.look_until(lambda: b"(Pdb)" in person.written)
    prompt = person.written.index(b"(Pdb)")
    person.types(b"p 6 * 7\n")
    person.look_until(lambda: b"42\r\n" in person.written[prompt:])
    assert not LINE.search(person.written[prompt:])
    person.types(b"c\n")
    person.look_until(lambda: LINE.search(person.written[prompt:]))
    person.allows("go1")
    assert person.looks_to_the_end() == pytest.ExitCode.OK
    assert nothing_of_it_is_left(person)


def test_it_keeps_away_while_pytest_has_filled_its_line_to_the_last_column(tmp_path: Path) -> None:
    file = "stations_near_the_mall.yaml"
    columns = len(f"benchmark_cases/nav/{file} F")
    style = ("-o", "console_output_style=classic")
    person = Person(tmp_path, "-k", "nav-one or nav-two", *style, file=file, columns=columns, NO_COLOR="1")
    person.sees("mapsat 0/2")
    person.allows("go0", "go1")
    assert person.looks_to_the_end() == pytest.ExitCode.TESTS_FAILED
    before = [
        uncoloured(LINE.sub(b"", person.written[: line.start()]).decode()) for line in LINE.finditer(person.written)
    ]
    filled = [len(text.rpartition("\n")[2]) for text in before]
    assert columns not in filled, "the cursor would come back onto the last mark"
    assert f"{file} F" in person.rest


@pytest.mark.parametrize("arguments", [("-q",), ("-p", "no:terminal")])
def test_it_is_not_shown_where_another_or_nobody_reports(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    person = Person(tmp_path, "--mapsat-save=run.json", "-k", "nav-one", *arguments)
    while not (tmp_path / "go0.begun").exists():
        assert os.waitpid(person.process, os.WNOHANG) == (0, 0)
    person.allows("go0")
    assert person.looks_to_the_end() == pytest.ExitCode.TESTS_FAILED
    assert (tmp_path / "run.json").exists()
    assert b"\x1b7" not in person.written
    assert b"under way" not in person.written


def wants(pytester: pytest.Pytester, *arguments: str, tty: bool = True, **environment: str) -> bool:
    # That plugin collects all cycles of this process at the end of each configuration.
    config = pytester.parseconfigure("-p", "no:unraisableexception", *arguments)
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.isatty = tty
    return is_wanted(config, {"TERM": "xterm", **environment})


REPLACED = """
import pytest

class Own(pytest.TerminalReporter):
    pass

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(Own(config), "terminalreporter")
"""


def test_a_terminal_that_somebody_looks_at_is_told_from_all_others(pytester: pytest.Pytester) -> None:
    assert wants(pytester)
    assert wants(pytester, "-v", NO_COLOR="1")
    assert not wants(pytester, tty=False)
    for arguments in (
        ["-q"],
        ["-s"],
        ["--capture=tee-sys"],
        ["--pdb"],
        ["--trace"],
        ["--log-cli-level=info"],
        ["-p", "no:terminal"],
    ):
        assert not wants(pytester, *arguments), arguments
    for environment in ({"CI": "true"}, {"BUILD_NUMBER": "7"}, {"TERM": "dumb"}, {"TERM": ""}):
        assert not wants(pytester, **environment), environment
    pytester.makeini("[pytest]\nlog_cli = true\n")
    assert not wants(pytester)


def test_it_leaves_the_terminal_to_a_reporter_that_takes_the_place_of_pytests(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(REPLACED)
    assert not wants(pytester)


class Clock:
    """A clock that goes only when an agent lets it."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.mark.parametrize(
    ("arguments", "environment", "wanted"),
    [
        ((), {"CI": "true"}, ["mapsat 2/3, 2 failed, satisfied 0.000, last failed: nav-two"]),
        (("-q",), {"CI": "true"}, []),
        ((), {}, []),
    ],
)
def test_a_log_of_ci_has_a_line_a_minute(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    wanted: list[str],
) -> None:
    """Each case takes 40 seconds: the minute is over as the second one ends, and not again as the last one does."""
    clock = Clock()
    monkeypatch.setattr(progress, "perf_counter", clock)
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    project.makepyfile(
        slow="""
        from pytest_mapsat.pytest_plugin import progress

        def agent(message, tools):
            progress.perf_counter.seconds += 40
            return "I suggest Old Mill."
        """
    )
    result = project.runpytest("--mapsat-agent=slow:agent", "--mapsat-concurrency=1", *arguments)
    assert [line for line in result.stdout.lines if line.startswith("mapsat ") and "/" in line] == wanted
