"""The processes outside of pytest's own: the keeper, a guard for each agent, and the agent itself.

The keeper runs in an interpreter of its own. It loads what an agent's process needs and nothing of the agent, so that a fork costs milliseconds and
every process begins alike. For each agent it forks a guard, which forks the agent's process, ends it at pytest's word or a moment after pytest has hung
up, with all that it started, and says how it ended. Each has one thread, which is what makes forks safe.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import json
import os
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from math import inf
from pathlib import Path
from threading import Lock, Thread
from typing import IO, Any, cast

from pytest_mapsat.guard import calling_agent
from pytest_mapsat.interpreter import reserve
from pytest_mapsat.model import Case, Json, JsonObject, MapsatError, Tool, Turn
from pytest_mapsat.sandbox import Toolbox, ToolsClosed
from pytest_mapsat.secrets import name_secrets
from pytest_mapsat.user_code import listening

from .process import MOST_BYTES
from .resolve import resolve_source
from .returned import AgentFault, as_json, describe
from .source import AgentContext, AgentSource, Conversation, KeptAgent, Session

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
    """Call Linux's ``prctl`` and return its result: -1 where the system refuses; 0 on other systems."""
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0)) if _LINUX else 0


@contextmanager
def unreadable() -> Iterator[None]:
    """Within the context, hide this process's environment, memory and descriptors from other processes of the user (not of root)."""
    before = prctl(_GET_DUMPABLE, 0)
    prctl(_SET_DUMPABLE, 0)
    try:
        yield
    finally:
        if before == 1:  # the only other value than 0 that can be set
            prctl(_SET_DUMPABLE, 1)


def restrict_process() -> None:
    """Permanently deny this process and its children new privileges and, with Landlock, access to other processes."""
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


class PytestLine:
    """The agent's message channel to pytest, shared by all its threads.

    Args:
        reads: where messages of pytest come.
        writes: where those to pytest go.

    Attributes:
        open: whether a reply is under way: only then are tools called, and thoughts kept.
    """

    def __init__(self, reads: IO[bytes], writes: IO[bytes]) -> None:
        self.open = False
        self._reads = reads
        self._writes = writes
        self._lock = Lock()

    def next(self) -> JsonObject:
        """Return the next message of pytest. Raises EOFError when the episode is over."""
        if not (raw := self._reads.readline()):
            raise EOFError
        message: JsonObject = json.loads(raw)
        return message

    def send(self, kind: str, **fields: Any) -> None:
        """Send pytest a message.

        Raises:
            ValueError: it is more than pytest takes.
        """
        raw = json.dumps({"type": kind, **fields}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        if len(raw) > MOST_BYTES:
            raise ValueError(f"{len(raw):,} bytes at once; at most {MOST_BYTES:,} are taken")
        self._writes.write(raw)
        self._writes.flush()

    def close(self) -> None:
        """Refuse further calls until the next reply; wait for the call that is running."""
        with self._lock:
            self.open = False

    def call(self, name: str, arguments: JsonObject) -> Json:
        """Have pytest make a tool call, and return its result. Raises ToolsClosed."""
        return self._asked("call", name=str(as_json(name)), arguments=as_json(arguments), agent=calling_agent())

    def think(self, text: str) -> None:
        """Have pytest record a thought in the trajectory. Raises ToolsClosed."""
        self._asked("thought", text=str(as_json(text)))

    def _asked(self, kind: str, **fields: Any) -> Json:
        """Send pytest a request and return the result. Raises ToolsClosed between replies or if pytest refuses."""
        with self._lock:
            if not self.open:
                if kind == "call":
                    with suppress(OSError):  # pytest has hung up
                        self.send("late", **fields)
                raise ToolsClosed
            self.send(kind, **fields)
            answer = self.next()
        if "refused" in answer:
            raise ToolsClosed(answer["refused"])
        return answer["result"]


def serve(line: PytestLine) -> None:
    """Load the agent and run one episode with it; return when pytest closes the line.

    The module is imported on the main thread and the agent called on another one, as in pytest's process.
    """
    with suppress(EOFError, OSError):
        wanted = line.next()
        name_secrets(wanted["redact"])
        try:
            with listening():
                # Pytest asks for agents only.
                source = cast("AgentSource", resolve_source(wanted["spec"], root=Path(wanted["root"])))
        except MapsatError as error:
            line.send("unusable", message=str(error))
            return
        line.send("ready", waits=source.waits, wants=source.wants_context)
        thread = Thread(target=_converse, args=(line, source), name="mapsat-agent")
        thread.start()
        thread.join()


def _converse(line: PytestLine, source: AgentSource) -> None:
    """Let the agent answer pytest's messages until the line closes: for one episode, or for all tasks of a user if dialogues are carried."""
    kept = KeptAgent()
    with suppress(EOFError, OSError):
        while True:
            asked = line.next()
            reserve.keep()
            if asked["first"]:
                context: JsonObject = {}
                kept_agent = kept if asked["kept"] else None
                session = Session(asked["session"], line.think, kept=kept_agent, run=asked["run"])
                toolbox = Toolbox(_tools(asked["tools"]), line.call)
                # An agent is not given the case, and there is none here.
                conversation = source.open(cast("Case", None), toolbox, partial(_context_of, context), session)
            context.update(asked["context"])
            session.remember(
                Turn(role="user" if earlier["role"] == "user" else "agent", text=earlier["content"])
                for earlier in asked["messages"]
            )
            _answer(line, conversation, asked["message"])


def _answer(line: PytestLine, conversation: Conversation, message: str) -> None:
    """Let the agent answer a message, and send its reply or fault to pytest."""
    line.open = True
    try:
        try:
            message_back: JsonObject = {"kind": "reply", **vars(conversation.reply(message))}
        except AgentFault as error:
            message_back = {"kind": "broken", **vars(error.fault), "usage": error.usage}
        except BaseException as error:  # noqa: BLE001  # whatever is left of it, such as no memory for ours
            reserve.release()
            message_back = {"kind": "broken", **vars(describe(error, blame="agent"))}
        finally:
            line.close()
        if conversation.heard_calls:
            line.send("heard", calls=conversation.heard_calls)
        line.send(**message_back)
    except MemoryError:
        reserve.release()
        line.send("broken", message="MemoryError: too little is left to send the agent's reply")
    except ValueError as error:
        line.send("broken", message=f"the agent's reply cannot be sent: {error}")


def _tools(schemas: list[JsonObject]) -> Mapping[str, Tool]:
    """Return ``Tool`` objects by name, made from the schemas that pytest sent."""
    shown = [schema["function"] for schema in schemas]
    fields = ("name", "description", "parameters")
    return {tool["name"]: Tool.model_validate({field: tool[field] for field in fields}) for tool in shown}


def _context_of(data: JsonObject) -> AgentContext:
    """Return a new agent context with a copy of the data."""
    context = AgentContext(json.loads(json.dumps(data)))
    if context["location"] is not None:
        context["location"] = AgentContext(context["location"])
    return context


# -- the keeper and the guards --------------------------------------------------------------------------------------------

#: How long a process may take to end by itself once its episode is over, seconds: traces are sent, files closed.
GRACE = 2.0
#: What comes with the order of a process: the guard's line to pytest, and four pipes of the agent.
_DESCRIPTORS = 5
#: Linux: a process gets a signal when the one that made it ends; a process is given those below it whose own parent has ended.
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def keep(settings: JsonObject) -> None:
    """Run the keeper: for each process that pytest orders, fork a guard that forks the agent's process. Never returns.

    Args:
        settings: ``path``: where modules are found; ``folder``: where each agent has its own; ``memory``: what each may use, MB; 0: any amount.
    """
    control = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.argv = ["mapsat-agent"]
    reserve.keep()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # guards tell pytest themselves how it went
    while (order := _ordered(control)) is not None:
        if len(order) == _DESCRIPTORS and _fork(order[0]) == 0:
            control.close()
            line = _fork_agent_under_guard(order, settings)
            sys.path[:] = settings["path"]
            serve(line)
            _end()
        for descriptor in order:
            os.close(descriptor)
    with suppress(ChildProcessError):
        os.wait()  # until every guard has ended
    remove(settings["folder"])
    os._exit(0)


def _ordered(control: socket.socket) -> list[int] | None:
    """Wait until pytest orders a process, and return the descriptors sent with the order; None once pytest is gone."""
    with suppress(OSError):
        raw, descriptors, _, _ = socket.recv_fds(control, 1, _DESCRIPTORS)
        return descriptors if raw else None
    return None


def _fork(fate: int) -> int:
    """Fork and return the child's pid, 0 in the child; if that fails, write pytest the reason and return -1."""
    try:
        return os.fork()
    except OSError as error:
        os.write(fate, f"could not be made: {error.strerror}".encode())
        return -1


def _fork_agent_under_guard(order: Sequence[int], settings: JsonObject) -> PytestLine:
    """Fork the agent's process and return its line to pytest there; the parent becomes its guard and never returns.

    Args:
        order: where pytest orders the process's end and hears how it ended; where the agent hears pytest, and where it speaks to it; its standard output
            and error.
        settings: as of ``keep``.
    """
    fate, reads, writes, out, err = order
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        Path(settings["folder"]).mkdir(mode=0o700, parents=True, exist_ok=True)  # an agent may have removed it
        folder = tempfile.mkdtemp(dir=settings["folder"])
        pid = os.fork()
    except OSError as error:
        os.write(fate, f"could not be made: {error.strerror}".encode())
        os._exit(1)
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (fate, woken, wakes):
            os.close(descriptor)
        _set_up_agent_process(out, err, folder, settings["memory"])
        return PytestLine(os.fdopen(reads, "rb"), os.fdopen(writes, "wb"))
    for descriptor in (reads, writes, out, err):
        os.close(descriptor)
    status = _watched(pid, fate, woken)
    _end_strays()
    with suppress(OSError):
        os.write(fate, str(os.waitstatus_to_exitcode(status)).encode())
    remove(folder)
    os._exit(0)


def _watched(pid: int, fate: int, woken: int) -> int:
    """Wait for a process to end and return its status; kill it at pytest's request, or a while after pytest hangs up."""
    deadline, listened = inf, [woken, fate]
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        left = deadline - time.monotonic()
        if ended or left <= 0:
            deadline = inf
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        if ended:
            return status
        if left <= 0:  # it may not have founded its group yet
            os.kill(pid, signal.SIGKILL)
        for ready in select.select(listened, [], [], None if deadline == inf else left)[0]:
            word = b""
            with suppress(OSError):
                word = os.read(ready, 100)
            if ready == fate:
                deadline = time.monotonic() + (0 if word else GRACE)
                if not word:
                    listened.remove(fate)


def _end_strays() -> None:
    """Kill the agent's processes that have left its process group; Linux has made them children of the guard."""
    ours = Path(f"/proc/self/task/{os.getpid()}/children")
    until = time.monotonic() + GRACE
    with suppress(OSError):
        while (pids := ours.read_text().split()) and time.monotonic() < until:
            for pid in pids:
                os.kill(int(pid), signal.SIGKILL)
            os.waitpid(-1, 0)


def _set_up_agent_process(out: int, err: int, folder: str, memory: int) -> None:
    """Set up a new process for the agent: session, restrictions, output, working folder and memory limit."""
    os.setsid()
    restrict_process()
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for descriptor, place in ((out, 1), (err, 2)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.setdefault("HOME", folder)
    os.environ.setdefault("TMPDIR", folder)
    tempfile.tempdir = None  # the keeper has looked it up for itself
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        most = memory << 20
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    faulthandler.enable()


def _end() -> None:
    """Exit an agent's process as Python would, but skip the teardown of modules loaded by the keeper, which takes 0.1 s.

    As where ``multiprocessing`` forks: threads are waited for, what was left to be done at the exit is done, what was printed goes out.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(0)


def remove(folder: str) -> None:
    """Delete a folder or a file, and ignore errors: a tree that is nested too deeply for Python stays."""
    with suppress(OSError, RecursionError):
        if (place := Path(folder)).is_file():
            place.unlink()
        else:
            shutil.rmtree(folder)
