"""What runs outside pytest's process: the keeper, and in each process that it forks one agent.

The keeper runs in an interpreter of its own. It loads what an agent's process needs and nothing of the agent, so that a fork costs milliseconds and
every process begins alike. It has one thread, which is what makes forks safe. (``multiprocessing`` forks, too, but takes a process for alive as long as
anything that it has started, and leaves out what was left to be done at the exit.)
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import json
import os
import resource
import selectors
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Literal, cast

from pytest_mapsat.agents.resolve import resolve_source
from pytest_mapsat.agents.returned import AgentFault, as_json, describe
from pytest_mapsat.agents.source import AgentContext, AgentSource, Conversation, KeptAgent, Session
from pytest_mapsat.interpreter import Reserve
from pytest_mapsat.model import Case, Json, JsonObject, MapsatError, Noun, Tool, Turn
from pytest_mapsat.sandbox import Toolbox, ToolsClosed
from pytest_mapsat.secrets import name_secrets
from pytest_mapsat.user_code import listening

from .messages import MOST_BYTES, NONE, Broken, Call, Ready, Said, Thought, Unusable, packed

# -- which processes may look into which, on Linux ------------------------------------------------------------------------

_LINUX = sys.platform.startswith("linux")
_GET_DUMPABLE, _SET_DUMPABLE = 3, 4
_SET_NO_NEW_PRIVS = 38
#: Landlock: its system calls, whose numbers are those of every machine; the right to move a file to another folder, which is given back for
#: every file, because some right has to be ruled; the kind of rule that is about what lies below a folder.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_REFER = 1 << 13
_PATH_BENEATH = 1
_ASK_VERSION = 1
#: The first version that knows the right to move files; one before it would take it from all processes.
_LEAST_VERSION = 2


def prctl(option: int, value: int) -> int:
    """Set or ask an option of this process that only Linux has; 0 elsewhere, -1 where the system refuses."""
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0)) if _LINUX else 0


@contextmanager
def unreadable() -> Iterator[None]:
    """Let no process of the same user read this one's environment, memory and descriptors meanwhile, unless it has root's right to."""
    before = prctl(_GET_DUMPABLE, 0)
    prctl(_SET_DUMPABLE, 0)
    try:
        yield
    finally:
        if before == 1:  # the only other value than 0 that can be set
            prctl(_SET_DUMPABLE, 1)


def see_no_others() -> None:
    """Keep this process, and all that it starts, from new rights (``sudo`` gives none), and where the kernel has Landlock from reading and tracing any other; it cannot be undone."""
    if not _LINUX:
        return
    prctl(_SET_NO_NEW_PRIVS, 1)
    libc = ctypes.CDLL(None)
    if libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION) < _LEAST_VERSION:
        return
    ruleset = libc.syscall(_CREATE_RULESET, struct.pack("Q", _REFER), 8, 0)
    if ruleset < 0:
        return
    everywhere = os.open("/", os.O_PATH)
    try:
        rule = struct.pack("=Qi", _REFER, everywhere)
        if libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0) == 0:
            libc.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(everywhere)
        os.close(ruleset)


# -- one agent ------------------------------------------------------------------------------------------------------------


def _send(line: Connection, message: Noun) -> None:
    """Send pytest a message.

    Raises:
        ValueError: it is more than pytest takes.
    """
    raw = packed(message)
    if len(raw) > MOST_BYTES:
        raise ValueError(f"{len(raw):,} bytes at once; at most {MOST_BYTES:,} are taken")
    line.send_bytes(raw)


def _next(line: Connection) -> JsonObject:
    """Return the next message of pytest. Raises EOFError when the episode is over."""
    told: JsonObject = json.loads(line.recv_bytes())
    return told


class _Episode:
    """One episode, or those of one user where dialogues are carried: what the agent is handed stays the same, the message and the context change. Its tools are closed while no reply is under way."""

    def __init__(self, line: Connection, source: AgentSource, opened: JsonObject) -> None:
        self._line = line
        self._source = source
        self._lock = Lock()
        self._reserve = Reserve()
        self._kept = KeptAgent() if opened["kept"] else None
        self._begin(opened)

    def hear(self, told: JsonObject) -> None:
        """Take in what pytest sends: the next task of the user, or a message that is to be answered."""
        if "session" in told:
            self._begin(told)
        else:
            self.answer(told)

    def _begin(self, opened: JsonObject) -> None:
        self._turn = 0
        self._open = False
        self._context: JsonObject = {}
        self._session = Session(opened["session"], self._think, kept=self._kept)
        toolbox = Toolbox(_tools(opened["tools"]), self._call)
        # An agent is not given the case, and there is none here.
        self._conversation: Conversation = self._source.open(
            cast("Case", None), toolbox, lambda: _context_of(self._context), self._session
        )

    def answer(self, asked: JsonObject) -> None:
        """Have the agent answer a message, and send what it says."""
        self._turn += 1
        try:
            self._answer(asked)
        except MemoryError:
            self._reserve.release()
            _send(self._line, Broken(turn=self._turn, message="MemoryError: none is left to send the agent's reply"))

    def _answer(self, asked: JsonObject) -> None:
        self._context = asked["context"]
        self._session.remember(Turn(role=role, text=text) for role, text in asked["said"])
        self._open = True
        message = self._reply(self._turn, asked["message"])
        with self._lock:  # a call that is under way is answered first
            self._open = False
        try:
            _send(self._line, message)
        except ValueError as error:
            _send(self._line, Broken(turn=self._turn, message=f"the agent's reply cannot be sent: {error}"))

    def _call(self, name: str, arguments: JsonObject) -> Json:
        """Have pytest make a call, and return its result."""
        return self._asked(Call(turn=self._turn, name=str(as_json(name)), arguments=as_json(arguments)))

    def _think(self, text: str) -> None:
        """Have pytest keep a thought."""
        self._asked(Thought(turn=self._turn, text=str(as_json(text))))

    def _asked(self, message: Call | Thought) -> Json:
        with self._lock:
            if not self._open:
                raise ToolsClosed
            _send(self._line, message)
            answer = _next(self._line)
        if answer["refused"]:
            raise ToolsClosed(answer["refused"])
        return answer["result"]

    def _reply(self, turn: int, message: str) -> Said | Broken:
        try:
            reply = self._conversation.reply(message)
        except AgentFault as error:
            fault = error.fault
        except BaseException as error:  # noqa: BLE001  # whatever is left of it, such as no memory for ours
            self._reserve.release()
            fault = describe(error, blame="agent")
        else:
            return Said(
                turn=turn, text=reply.text, thoughts=list(reply.thoughts), usage=reply.usage, output=reply.output
            )
        blame: Literal["agent", "infrastructure"] = "infrastructure" if fault.blame == "infrastructure" else "agent"
        return Broken(turn=turn, message=fault.message, detail=fault.detail, blame=blame)


def _tools(schemas: list[JsonObject]) -> Mapping[str, Tool]:
    """Return the tools as the agent sees them; nothing else of them is known here."""
    shown = [schema["function"] for schema in schemas]
    fields = ("name", "description", "parameters")
    return {tool["name"]: Tool.model_validate({field: tool[field] for field in fields}) for tool in shown}


def _context_of(data: JsonObject) -> AgentContext:
    """Return the context for an agent, new each time."""
    context = AgentContext(json.loads(json.dumps(data)))
    if context["location"] is not None:
        context["location"] = AgentContext(context["location"])
    return context


def serve(line: Connection) -> None:
    """Find the agent and take it through one episode; return when pytest closes the line.

    The module is imported on the main thread and the agent called on another one, as in pytest's process.
    """
    with suppress(EOFError, OSError):
        source = _found(line)
        if source is not None:
            thread = Thread(target=_converse, args=(line, source), name="mapsat-agent")
            thread.start()
            thread.join()


def _found(line: Connection) -> AgentSource | None:
    told = _next(line)
    name_secrets(told["redact"])
    try:
        with listening():
            source = resolve_source(told["spec"], root=Path(told["root"]))
    except MapsatError as error:
        _send(line, Unusable(message=str(error)))
        return None
    _send(line, Ready(waits=source.waits))
    return cast("AgentSource", source)  # pytest asks for agents only


def _converse(line: Connection, source: AgentSource) -> None:
    with suppress(EOFError, OSError):
        episode = _Episode(line, source, _next(line))
        while True:
            episode.hear(_next(line))


# -- the keeper -----------------------------------------------------------------------------------------------------------

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

    def run(self) -> Connection | None:
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

    def _asked(self) -> Connection | None:
        raw: bytes = b""
        descriptors: list[int] = []
        with suppress(OSError):
            raw, descriptors, _, _ = socket.recv_fds(self._control, 1, _DESCRIPTORS)
        if not raw:
            self._selector.unregister(self._control)
            self._orphaned = True
        return self._fork(*descriptors) if len(descriptors) == _DESCRIPTORS else None

    def _fork(self, line: int, out: int, err: int, fate: int) -> Connection | None:
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


def _move_in(line: int, out: int, err: int, folder: str, memory: int) -> Connection:
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
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    faulthandler.enable()
    return Connection(line)


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
    line = Keeper(control, told["folder"], told["memory"]).run()
    if line is None:
        remove(told["folder"])
        os._exit(0)
    sys.path[:] = told["path"]
    serve(line)
    _end()


def remove(folder: str) -> None:
    """Remove a folder, or the file that an agent has put in its place, as far as it can be: one that is deeper than Python can go stays."""
    with suppress(OSError, RecursionError):
        if (place := Path(folder)).is_file():
            place.unlink()
        else:
            shutil.rmtree(folder)
