"""The processes that agents run in, as pytest asks for them: what they have, and the keeper that makes them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO

from .talk import AgentProcess
from .wire import START, packed

#: What the keeper's interpreter runs. What it is told comes by its standard input, so that its arguments say nothing. The interpreter's own
#: places come first: a module of the user's that is named like one of the standard library is the agent's to load, not ours.
BOOT = """\
import json, os, sys
def read(size):
    raw = b""
    while len(raw) < size:
        raw += os.read(0, size - len(raw)) or sys.exit(1)
    return raw
told = json.loads(read(int.from_bytes(read(4), "big")))
sys.path += [place for place in told["path"] if place not in sys.path]
from pytest_mapsat.agents.isolation.keeper import keep
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
_PATIENCE = 5.0


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
        self._keeper: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._folder = ""
        self._written: IO[bytes] | None = None

    def start(self) -> AgentProcess:
        """Return a new process; it may have been lost already.

        Raises:
            OSError: the system gives no more processes or descriptors.
        """
        with ExitStack() as theirs, ExitStack() as ours:
            (line, its_line), (fate, its_fate) = socket.socketpair(), socket.socketpair()
            (out, its_out), (err, its_err) = os.pipe(), os.pipe()
            for end in (its_line, its_fate):
                theirs.enter_context(end)
            for end in (line, fate):
                ours.enter_context(end)
            for descriptor in (its_out, its_err):
                theirs.callback(os.close, descriptor)
            for descriptor in (out, err):
                ours.callback(os.close, descriptor)
            sent = [its_line.fileno(), its_out, its_err, its_fate.fileno()]
            with self._lock:
                try:
                    socket.send_fds(self._controlled(), [START], sent)
                except OSError:  # the keeper was killed
                    self._let_go()
                    socket.send_fds(self._controlled(), [START], sent)
                process = AgentProcess(line, out, err, fate, self._keeper)
            ours.pop_all()
            return process

    def replace(self, keeper: object) -> None:
        """Have the next process made by another keeper, if it would be by this one, which was lost."""
        with self._lock:
            if keeper is not None and keeper is self._keeper:
                self._let_go()

    def close(self) -> None:
        """Let the keeper end, once every process has; wait for it a little."""
        with self._lock:
            self._let_go()

    def _controlled(self) -> socket.socket:
        return self._control or self._start_keeper()

    def _start_keeper(self) -> socket.socket:
        with ExitStack() as ours:
            self._folder = tempfile.mkdtemp(prefix="mapsat-")
            ours.callback(remove, self._folder)
            self._written = ours.enter_context(tempfile.TemporaryFile())
            control, its_end = socket.socketpair()
            ours.enter_context(control)
            with its_end:
                self._keeper = subprocess.Popen(  # noqa: S603  # our own text, in our own interpreter
                    [sys.executable, "-P", "-u", "-c", BOOT],
                    stdin=its_end.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=self._written,
                    env=self.isolation.environment(),
                    cwd=self._folder,
                    start_new_session=True,
                )
            ours.pop_all()
        told = {"path": self.isolation.path, "folder": self._folder, "memory": self.isolation.memory}
        with suppress(OSError):  # one that has ended at once is noticed like any that was lost
            control.sendall(packed(told))
        self._control = control
        return control

    def _let_go(self) -> None:
        control, keeper, written = self._control, self._keeper, self._written
        self._control = self._keeper = self._written = None
        if control is None or keeper is None or written is None:
            return
        control.close()
        try:
            keeper.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()
        remove(self._folder)  # which a keeper that was killed has left
        with written:
            written.seek(0)
            self.last_words = (written.read(_MOST_WRITTEN).decode(errors="replace").strip().splitlines() or [""])[-1]


def remove(folder: str) -> None:
    """Remove a folder, or the file that an agent has put in its place, as far as it can be: one that is deeper than Python can go stays."""
    with suppress(OSError, RecursionError):
        if (place := Path(folder)).is_file():
            place.unlink()
        else:
            shutil.rmtree(folder)
