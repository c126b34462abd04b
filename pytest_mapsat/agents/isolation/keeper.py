"""The keeper: forks a process for each agent that pytest asks for, and sees each of them to its end.

It runs in an interpreter of its own, and only there is this module imported. It loads what an agent's process needs, and nothing of the agent, so that a
fork costs milliseconds and every process begins alike. It has one thread, which is what makes forks safe.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import resource
import selectors
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from . import inside
from .locks import give_up_rights, prctl, see_no_others
from .processes import remove
from .wire import NONE

#: How long a process may take to end by itself once its episode is over, seconds: traces are sent, files closed.
GRACE = 2.0
_DESCRIPTORS = 4
#: Linux: a process gets a signal when the one that made it ends; a process is given those below it whose own parent has ended.
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class _Agent:
    """A process and what is to become of it."""

    pid: int
    fate: socket.socket
    folder: str
    deadline: float = inf

    def kill(self) -> None:
        """Kill it with all that it started and that did not leave its group."""
        self.deadline = inf
        for kill in (os.killpg, os.kill):  # the second for one that has not founded its group yet
            with suppress(OSError):
                kill(self.pid, signal.SIGKILL)

    def bury(self, status: int) -> None:
        """Say how it ended, end what it left, and remove its folder."""
        with suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(OSError):
            self.fate.sendall(str(status).encode())
        self.fate.close()
        remove(self.folder)


class Keeper:
    """Waits for what pytest asks and for processes that end.

    Args:
        control: where pytest asks.
        folder: where each process has its own folder.
        memory: what each process may use, MB; 0: any amount.
    """

    def __init__(self, control: socket.socket, folder: str, memory: int) -> None:
        self._control = control
        self._folder = folder
        self._memory = memory
        self._agents: dict[int, _Agent] = {}
        self._orphaned = False
        self._selector = selectors.DefaultSelector()
        self._woken, self._wakes = socket.socketpair()
        for end in (self._woken, self._wakes):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        self._selector.register(control, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def run(self) -> socket.socket | None:
        """Return the line to pytest in each process that is forked; None once pytest is gone and every process has ended."""
        while self._agents or not self._orphaned:
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj is self._control:
                    line = self._asked()
                    if line is not None:
                        return line
                elif key.fileobj is self._woken:
                    with suppress(OSError):
                        self._woken.recv(4096)
                else:
                    self._told(key.data)
            for agent in self._agents.values():
                if agent.deadline <= time.monotonic():
                    agent.kill()
            self._bury_ended()
        _end_strays()
        return None

    def _patience(self) -> float | None:
        first = min((agent.deadline for agent in self._agents.values()), default=inf)
        return None if first == inf else max(first - time.monotonic(), 0)

    def _asked(self) -> socket.socket | None:
        raw: bytes = b""
        descriptors: list[int] = []
        with suppress(OSError):
            raw, descriptors, _, _ = socket.recv_fds(self._control, 1, _DESCRIPTORS)
        if not raw:
            self._selector.unregister(self._control)
            self._orphaned = True
        return self._fork(*descriptors) if len(descriptors) == _DESCRIPTORS else None

    def _fork(self, line: int, out: int, err: int, fate: int) -> socket.socket | None:
        folder, pid, why = "", -1, ""
        try:
            Path(self._folder).mkdir(mode=0o700, parents=True, exist_ok=True)  # an agent may have removed it
            folder = tempfile.mkdtemp(dir=self._folder)
            pid = os.fork()
        except OSError as error:
            why = error.strerror or type(error).__name__
        if pid == 0:
            self._leave()
            os.close(fate)
            return _move_in(line, out, err, folder, self._memory)
        for descriptor in (line, out, err):
            os.close(descriptor)
        if pid < 0:
            with suppress(OSError):
                os.write(fate, NONE + why.encode())
            os.close(fate)
            remove(folder)
            return None
        agent = self._agents[pid] = _Agent(pid, socket.socket(fileno=fate), folder)
        self._selector.register(agent.fate, selectors.EVENT_READ, agent)
        return None

    def _told(self, agent: _Agent) -> None:
        """Kill a process at pytest's word; where pytest has closed its end, leave it a moment to end by itself."""
        if agent.fate.fileno() < 0:
            return
        raw = b""
        with suppress(OSError):
            raw = agent.fate.recv(1)
        if raw:
            agent.kill()
        else:
            self._selector.unregister(agent.fate)
            agent.deadline = min(agent.deadline, time.monotonic() + GRACE)

    def _bury_ended(self) -> None:
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                agent = self._agents.pop(pid, None)
                if agent is not None:
                    with suppress(KeyError):
                        self._selector.unregister(agent.fate)
                    agent.bury(os.waitstatus_to_exitcode(status))

    def _leave(self) -> None:
        """In a new process: let go of everything that is the keeper's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for end in (self._control, self._woken, self._wakes, *(agent.fate for agent in self._agents.values())):
            end.close()
        self._agents.clear()


def _end_strays() -> None:
    """End the processes that have left their agent's group; Linux has given them to the keeper when their parents ended."""
    ours = Path(f"/proc/self/task/{os.getpid()}/children")
    until = time.monotonic() + GRACE
    with suppress(OSError):
        while (pids := ours.read_text().split()) and time.monotonic() < until:
            for pid in pids:
                os.kill(int(pid), signal.SIGKILL)
            os.waitpid(-1, 0)


def _move_in(line: int, out: int, err: int, folder: str, memory: int) -> socket.socket:
    """Make a new process the agent's: its group, its output, its folder, its limits."""
    os.setsid()
    see_no_others()
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for descriptor, place in ((out, 1), (err, 2)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.set_inheritable(line, False)
    os.chdir(folder)
    os.environ.setdefault("HOME", folder)
    os.environ.setdefault("TMPDIR", folder)
    tempfile.tempdir = None  # the keeper has looked it up for itself
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        most = memory << 20
        resource.setrlimit(resource.RLIMIT_DATA, (most, most + inside.SPARE))
    faulthandler.enable()
    return socket.socket(fileno=line)


def _end() -> None:
    """End an agent's process as Python would, but for taking apart all that the keeper had loaded, which takes 0.1 s.

    As where ``multiprocessing`` forks: threads are waited for, what was left to be done at the exit is done, what was printed goes out.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(0)


def keep(told: dict[str, Any]) -> None:
    """Be the keeper, and in each process that it forks the agent's process.

    Args:
        told: ``path``: where modules are found; ``folder`` and ``memory`` as of a ``Keeper``.
    """
    control = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.argv = ["mapsat-agent"]
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    give_up_rights()
    line = Keeper(control, told["folder"], told["memory"]).run()
    if line is None:
        remove(told["folder"])
        os._exit(0)
    sys.path[:] = told["path"]
    inside.serve(line)
    _end()
