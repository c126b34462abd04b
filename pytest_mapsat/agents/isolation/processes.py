"""pytest's side of agents' processes: what makes them, and the talk with one."""

from __future__ import annotations

import codecs
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from threading import Lock
from time import perf_counter
from typing import Any, Literal

from pytest_mapsat.model import JsonObject

from .inside import remove
from .messages import KILL, MOST_BYTES, NONE, START, Ready, Sent, WireError, packed, unpacked

# -- the talk with one process --------------------------------------------------------------------------------------------

#: What is shown of what an agent prints in one episode, bytes of each stream.
MOST_PRINTED = 1_000_000
#: How long the word of a process's end may come after its line has closed, seconds.
_WORD_PATIENCE = 1.0
#: The keeper's last word of a process, bytes.
_WORD = 200
#: Reads of what is left in a pipe: more than it can hold.
_READS = 32


class LostError(Exception):
    """A process does not answer any more; the words follow "the agent's process"."""


class AgentProcess:
    """The talk with one process, on one thread; any other may ``kill`` it.

    Args:
        ends: of the line, its standard output and error, and its fate, which the keeper tells.
        keeper: who made it.
    """

    def __init__(self, ends: Sequence[Connection], keeper: object) -> None:
        self._line, out, err, self._fate = self._ends = tuple(ends)
        self._keeper = keeper
        self._printed = (_Printed(out, "stdout"), _Printed(err, "stderr"))
        #: What it said once its agent was imported.
        self.ready: Ready | None = None
        #: Whether the system did not give it.
        self.unmade = False
        self._lost = ""
        self._hung_up = False

    @property
    def lost_keeper(self) -> object:
        """The keeper where it was lost with this process, else nothing."""
        return self._keeper if self._lost == _ending(b"") else None

    def has_ended(self) -> bool:
        """Return whether it has ended, or the keeper with it."""
        if not self._lost and wait([self._fate], 0):
            self._hear_fate()
        return bool(self._lost)

    def send(self, message: JsonObject) -> None:
        """Send a message; a process that is gone is told by the next ``receive``."""
        with suppress(OSError):
            self._line.send_bytes(packed(message))

    def receive(self, patience: float | None = None) -> Sent:
        """Return what the process sends next. What the agent prints meanwhile is printed here.

        Args:
            patience: how long to wait, seconds; None: as long as it takes.

        Raises:
            LostError: it has ended, or was silent for too long.
            WireError: it sent what is no message.
        """
        until = None if patience is None else perf_counter() + patience
        while True:
            if self._hung_up and until is None:
                until = perf_counter() + _WORD_PATIENCE
            heard = self._heard(until)
            if self._line in heard and (raw := self._received()) is not None:
                self._read_printed()
                return unpacked(raw)
            if self._lost or self._fate in heard:
                self._hear_fate()
                raise LostError(self._lost)
            if not heard and until is not None and perf_counter() >= until:
                raise LostError("closed its line to pytest" if self._hung_up else f"was not ready after {patience:g} s")

    def _heard(self, until: float | None) -> list[object]:
        """Wait for a word; print what comes meanwhile."""
        sources: list[Any] = [self._fate, *(printed for printed in self._printed if printed.open)]
        if not self._hung_up:
            sources.append(self._line)
        heard: list[object] = list(wait(sources, None if until is None else max(until - perf_counter(), 0)))
        for printed in self._printed:
            if printed in heard:
                printed.read()
        return heard

    def _received(self) -> bytes | None:
        """Return the message that comes; None where the line is closed.

        Raises:
            WireError: it is too long.
        """
        try:
            return self._line.recv_bytes(MOST_BYTES)
        except EOFError:
            self._hung_up = True
        except OSError as error:
            if "bad message length" in str(error):
                raise WireError(f"sent too many bytes at once; at most {MOST_BYTES:,} are taken") from None
            self._hung_up = True
        return None

    def kill(self) -> None:
        """Kill it, with all that it started; printed text that was not read yet is not shown."""
        for printed in self._printed:
            printed.left = 0
        with suppress(OSError):
            os.write(self._fate.fileno(), KILL)

    def close(self) -> None:
        """Hang up: a process that waits for a message ends by itself, and is killed if it does not."""
        for end in self._ends:
            end.close()

    def _read_printed(self) -> None:
        for printed in self._printed:
            printed.read_all()

    def _hear_fate(self) -> None:
        """Take in what became of the process; what it printed before its end counts."""
        if self._lost:
            return
        raw = b""
        with suppress(OSError):
            raw = os.read(self._fate.fileno(), _WORD)
        self._read_printed()
        self._lost = _ending(raw)
        self.unmade = raw.startswith(NONE)


def _ending(raw: bytes) -> str:
    """Return what became of a process, by the keeper's last word of it; no word at all is the keeper's own end."""
    if not raw:
        return "was lost with its keeper"
    if raw.startswith(NONE):
        return f"could not be made: {raw.removeprefix(NONE).decode(errors='replace')}"
    status = int(raw)
    if status >= 0:
        return f"ended itself (exit status {status})"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


class _Printed:
    """What an agent prints, on its way to where pytest's own process prints.

    Args:
        end: where it comes.
        name: ``stdout`` or ``stderr``.
    """

    def __init__(self, end: Connection, name: Literal["stdout", "stderr"]) -> None:
        self.fileno = end.fileno
        self._name = name
        #: Whether anything may come; and how much of it is shown, bytes.
        self.open = True
        self.left = MOST_PRINTED
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        os.set_blocking(end.fileno(), False)

    def read(self) -> bool:
        """Print what has come; return whether there was something."""
        try:
            raw = os.read(self.fileno(), 1 << 16)
        except BlockingIOError:
            return False
        except OSError:
            raw = b""
        self.open = bool(raw)
        if raw and self.left > 0:
            text = self._decoder.decode(raw[: self.left])
            self.left -= len(raw)
            with suppress(Exception):  # somebody has closed or replaced the stream
                end = "" if self.left > 0 else f"\n[{MOST_PRINTED:,} bytes are shown]\n"
                getattr(sys, self._name).write(text + end)
        return bool(raw)

    def read_all(self) -> None:
        """Print all that has come until now."""
        for _ in range(_READS):
            if not self.read():
                return


# -- the processes --------------------------------------------------------------------------------------------------------

#: What the keeper's interpreter runs. What it is told comes by its standard input, so that its arguments say nothing. The interpreter's own
#: places come first: a module of the user's that is named like one of the standard library is the agent's to load, not ours.
BOOT = """\
import json, os, sys
from multiprocessing.connection import Connection
with Connection(os.dup(0)) as line:
    told = json.loads(line.recv_bytes())
sys.path += [place for place in told["path"] if place not in sys.path]
from pytest_mapsat.agents.isolation.inside import keep
keep(told)
"""

#: What an agent's process has of the environment, where it is set, besides what is passed by name: where programs are, which language and zone hold,
#: which certificates are trusted, and how Python is to behave. HOME and TMPDIR are its own folder.
ENVIRONMENT = (
    *("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONNOUSERSITE", "PYTHONUTF8"),
)
#: What is read of a keeper's words, bytes.
_MOST_WRITTEN = 100_000
#: How long the keeper may need to end, seconds.
_END_PATIENCE = 5.0


@dataclass(frozen=True)
class Isolation:
    """How agents are kept apart.

    Attributes:
        passed: variables of the environment that are passed on.
        memory: what each process may use, MB; 0: any amount.
        path: where modules are found.
        patience: how long a process may take until its agent is imported, seconds.
    """

    path: tuple[str, ...]
    passed: Mapping[str, str]
    memory: int = 0
    patience: float = 300.0

    def environment(self) -> dict[str, str]:
        """Return what an agent's process has of the environment."""
        kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        return {"PYTHONUTF8": str(sys.flags.utf8_mode), **kept, **self.passed}


class _Keeper:
    """A keeper that has been started.

    Raises:
        OSError: the system gives no process, or no folder for one.
    """

    def __init__(self, isolation: Isolation) -> None:
        self._folder = tempfile.mkdtemp(prefix="mapsat-")
        self._written = tempfile.TemporaryFile()  # noqa: SIM115  # closed at the end
        self.control, its_end = socket.socketpair()
        try:
            with its_end:
                self._process = subprocess.Popen(  # noqa: S603  # our own text, in our own interpreter
                    [sys.executable, "-P", "-u", "-c", BOOT],
                    stdin=its_end.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=self._written,
                    env=isolation.environment(),
                    cwd=self._folder,
                    start_new_session=True,
                )
        except OSError:
            self._clear()
            raise
        self.pid = self._process.pid
        told = {"path": isolation.path, "folder": self._folder, "memory": isolation.memory}
        with suppress(OSError), Connection(os.dup(self.control.fileno())) as line:
            line.send_bytes(packed(told))  # one that has ended at once is noticed like any that was lost

    def end(self) -> str:
        """Let it end, and wait for it a little; return what it has written last."""
        self.control.close()
        try:
            self._process.wait(_END_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._written.seek(0)
        words = self._written.read(_MOST_WRITTEN).decode(errors="replace").strip().splitlines()
        self._clear()
        return words[-1] if words else ""

    def _clear(self) -> None:
        self.control.close()
        self._written.close()
        remove(self._folder)  # which a keeper that was killed has left


class Processes:
    """Makes processes for agents, by a keeper that is started when it is first needed, and again where it was lost.

    Args:
        isolation: how agents are kept apart.

    Attributes:
        last_words: what the last keeper that ended has written, such as why it could not begin; one line.
    """

    def __init__(self, isolation: Isolation) -> None:
        self.isolation = isolation
        self.last_words = ""
        self._lock = Lock()
        self._keeper: _Keeper | None = None

    def start(self) -> AgentProcess:
        """Return a new process; it may have been lost already.

        Raises:
            OSError: the system gives no more processes or descriptors.
        """
        pairs = (Pipe(), Pipe(duplex=False), Pipe(duplex=False), Pipe())
        sent = [theirs.fileno() for _, theirs in pairs]
        try:
            with self._lock:
                keeper = self._keeper = self._keeper or _Keeper(self.isolation)
                try:
                    socket.send_fds(keeper.control, [START], sent)
                except OSError:  # it was killed
                    self.last_words, self._keeper = keeper.end(), None
                    keeper = self._keeper = _Keeper(self.isolation)
                    socket.send_fds(keeper.control, [START], sent)
                return AgentProcess([ours for ours, _ in pairs], keeper)
        finally:
            for _, theirs in pairs:
                theirs.close()

    def close(self, keeper: object = None) -> None:
        """Let the keeper end, once every process has, unless it is another one than is named; the next process has a new one."""
        with self._lock:
            if self._keeper is not None and keeper in (None, self._keeper):
                self.last_words = self._keeper.end()
                self._keeper = None
