"""Agents in processes of their own, which hold neither suite nor truth: a fresh process for each episode.

    pytest (isolated)  <-- lines of JSON: messages, calls, replies (process) -->  the agent's process (keeper)
      |        ^                                                                  ^
      |        +---- orders, its end ---->  its guard (keeper)  ---- forks -------+
      +---- orders ---->  keeper  ---- forks ----> guards

A guard ends its agent's process with all that it started, and removes its folder; when pytest is gone, however that went, so does each guard.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from pathlib import Path
from threading import Lock
from typing import IO, Any, cast
from weakref import WeakSet

from pytest_mapsat.model import Blame, Case, InfrastructureError, JsonObject, UsageError
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox, ToolsClosed
from pytest_mapsat.secrets import named_secrets
from pytest_mapsat.user_code import plain

from .keeper import remove
from .process import AgentProcess, LostError, ProcessConversation, message_of
from .resolve import search_first
from .returned import AgentFault, checked, scrubbed
from .source import AgentContext, AgentSource, Conversation, Session, WantedContext, kept_of, tools_to_run

# -- the processes --------------------------------------------------------------------------------------------------------

#: What the keeper's interpreter runs. Its arguments say nothing that an agent does not have. The interpreter's own
#: places come first: a module of the user's that is named like one of the standard library is the agent's to load, not ours.
BOOT = """\
import json, sys
told = json.loads(sys.argv[1])
sys.path += [place for place in told["path"] if place not in sys.path]
from pytest_mapsat.agents.keeper import keep
keep(told)
"""

#: What an agent's process has of the environment, where it is set, besides what is passed by name: where programs are, which language and zone hold,
#: which certificates are trusted, and how Python is to behave. HOME and TMPDIR are its own folder.
ENVIRONMENT = (
    *("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONNOUSERSITE", "PYTHONUTF8"),
)
#: How long the keeper may need to end, seconds; and where it does so by itself.
_END_PATIENCE, _AT_ONCE = 5.0, 0.5


@dataclass(frozen=True)
class Isolation:
    """The limits and environment that separate an agent's process from the rest.

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
        """Return the environment variables that an agent's process gets."""
        kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        return {"PYTHONUTF8": str(sys.flags.utf8_mode), **kept, **self.passed}


class _Guarded:
    """A process that a guard of the keeper has forked, and kills at our request."""

    def __init__(self, guard: socket.socket) -> None:
        self._guard = guard
        self._ended: int | str | None = None
        guard.setblocking(False)

    def poll(self) -> int | str | None:
        """Return the exit status (negative: the signal) or a text that explains the loss; None while the process runs."""
        if self._ended is None:
            try:
                word = self._guard.recv(200).decode(errors="replace")
            except BlockingIOError:
                return None
            except OSError:  # closed
                word = ""
            self._ended = int(word) if re.fullmatch(r"-?\d+", word) else word or "was lost with its keeper"
        return self._ended

    def end(self) -> None:
        """Have the guard kill the process, with everything that it started."""
        with suppress(OSError):
            self._guard.send(b"k")

    def leave(self) -> None:
        """Close the line to the guard, which gives the process a moment to exit."""
        self._guard.close()


class Processes:
    """Creates processes for agents through a keeper, which starts on first use and restarts if it is lost.

    Args:
        isolation: how agents are kept apart.
    """

    _control: socket.socket
    _written: IO[bytes]

    def __init__(self, isolation: Isolation) -> None:
        self.isolation = isolation
        self._lock = Lock()
        self._keeper: subprocess.Popen[bytes] | None = None
        #: What a keeper that was killed leaves behind.
        self._left = ExitStack()

    def start(self) -> AgentProcess:
        """Have the keeper create a process and return it; the process may be lost already.

        Raises:
            OSError: the system gives no more processes or descriptors.
        """
        reads, to = Pipe(duplex=False)
        back, out, err = (Pipe(duplex=False) for _ in range(3))
        guard, its_end = socket.socketpair()
        sent = (its_end, reads, back[1], out[1], err[1])
        with self._lock:
            try:
                self._order([end.fileno() for end in sent])
            except OSError:  # the keeper was killed
                self._end()
                self._order([end.fileno() for end in sent])
        for end in sent:
            end.close()
        return AgentProcess(_Guarded(guard), to, back[0], {"stdout": out[0], "stderr": err[0]})

    def last_words(self) -> str:
        """Return the last line that a lost keeper wrote; empty if the keeper still runs."""
        with self._lock, suppress(subprocess.TimeoutExpired):
            if self._keeper is not None:
                self._keeper.wait(_AT_ONCE)
            return self._end()
        return ""

    def close(self) -> None:
        """End the keeper once all its processes have ended; the next process gets a new keeper."""
        with self._lock:
            self._end()

    def _order(self, descriptors: list[int]) -> None:
        """Order a process with these descriptors from the keeper, and start the keeper if needed. Raises OSError."""
        if self._keeper is None:
            self._begin()
        socket.send_fds(self._control, [b"+"], descriptors)

    def _begin(self) -> None:
        """Start a keeper. Raises OSError."""
        with ExitStack() as left:
            folder = tempfile.mkdtemp(prefix="mapsat-")
            left.callback(remove, folder)
            self._written = left.enter_context(tempfile.TemporaryFile())
            self._control, its_end = socket.socketpair()
            left.callback(self._control.close)
            settings = {"path": self.isolation.path, "folder": folder, "memory": self.isolation.memory}
            with its_end:
                self._keeper = subprocess.Popen(  # noqa: S603  # our own text, in our own interpreter
                    [sys.executable, "-P", "-u", "-c", BOOT, json.dumps(settings)],
                    stdin=its_end.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=self._written,
                    env=self.isolation.environment(),
                    cwd=folder,
                    start_new_session=True,
                )
            self._left = left.pop_all()

    def _end(self) -> str:
        """End the keeper, by force after a while, and return the last line that it wrote."""
        if self._keeper is None:
            return ""
        self._control.close()
        try:
            self._keeper.wait(_END_PATIENCE)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        self._keeper = None
        self._written.seek(0)
        words = self._written.read().decode(errors="replace").strip().splitlines()
        self._left.close()
        return words[-1] if words else ""


# -- the source -----------------------------------------------------------------------------------------------------------

#: Characters of a fault that was described where it came up: its type, its words, which were cut there, and its place.
_DESCRIBED = 2_000
#: A name as those of variables are, that an agent has looked up in vain.
_MISSING = re.compile(r"KeyError: '([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'")
#: Characters and lines of a fault's detail.
_DETAIL, _DETAIL_LINES = 4_000, 6


class IsolatedSource(AgentSource):
    """An agent in its own process: a new process for each episode, or for each user if dialogues are carried.

    One process always waits with its agent imported, so that an episode need not.

    Args:
        spec: ``module:attr``.
        root: searched first for modules.
        processes: makes them.
    """

    name = "agent"
    agent = None  # the object is in no process that has the source

    def __init__(self, spec: str, root: Path, processes: Processes) -> None:
        self.spec = spec
        self._isolation = processes.isolation
        self._find = {"spec": spec, "root": str(root)}
        self._processes = processes
        self._lock = Lock()
        self._spare: list[AgentProcess] = []
        self._ready: WeakSet[AgentProcess] = WeakSet()

    def check(self) -> None:
        """Check that a process can import the agent, and keep that process for the first episode.

        Raises:
            UsageError: there is no such agent, or its process did not live to say so.
            InfrastructureError: there is no process for it.
        """
        process = self._take_spare_process()
        try:
            self._wait_for(process)
        except AgentFault as fault:
            raise UsageError(plain(f"agent {self.spec!r}: {fault}")) from None
        except UsageError as error:
            raise UsageError(str(self.fault(plain(str(error))))) from None
        else:
            with self._lock:
                self._spare.append(process)

    def open(self, case: Case, toolbox: Toolbox, context: Callable[[], AgentContext], session: Session) -> Conversation:  # noqa: ARG002
        """Return the agent for one episode, in a process that is ready or kept from the task before.

        Raises:
            AgentFault: its process did not live to import the agent, or cannot.
            InfrastructureError: there is no process for it.
        """
        kept = kept_of(session)
        if kept is not None and kept.process is not None and kept.process.poll() is None:
            process, kept.process = kept.process, None
        else:
            try:
                process = self._imported_process()
            except InfrastructureError:
                # An agent has killed the keeper, and this process had nothing of an episode yet.
                process = self._imported_process()
        return IsolatedConversation(process, self, toolbox, context, session)

    def close(self) -> None:
        """End the spare process at once, and all other processes soon after."""
        self.dismiss()
        self._processes.close()

    def dismiss(self) -> None:
        """Kill the process that waits for the next episode."""
        with self._lock:
            while self._spare:
                process = self._spare.pop()
                process.kill()
                process.close()

    def fault(self, message: str, detail: str = "", blame: Blame = "agent") -> AgentFault:
        """Return a fault; if memory or an environment variable was lacking, its message names the option that helps."""
        if self._isolation.memory and "MemoryError" in message:
            message += f"; its process may use {self._isolation.memory} MB (--mapsat-isolate=memory:MB)"
        missing = _MISSING.match(message)
        if missing and missing[1] in os.environ and missing[1] not in self._isolation.environment():
            message += f"; --mapsat-isolate=env:{missing[1]} passes the variable"
        return AgentFault(message, detail, blame)

    def _take_spare_process(self) -> AgentProcess:
        """Return the spare process or a new one, and start another as the spare for the next episode."""
        with self._lock:
            process = self._spare.pop() if self._spare else self._started()
            if process.poll() is not None:  # it was lost while it waited, and had nothing of an episode yet
                process.close()
                process = self._started()
            if not self._spare:
                self._spare.append(self._started())
        return process

    def _imported_process(self) -> AgentProcess:
        """Return a process that has imported its agent. Raises as ``open`` does."""
        process = self._take_spare_process()
        try:
            self._wait_for(process)
        except BaseException as error:
            process.close()
            if isinstance(error, UsageError):
                raise self.fault(scrubbed(str(error), _DESCRIBED)) from None
            raise
        return process

    def _started(self) -> AgentProcess:
        """Start a process, send it the spec of the agent to import, and return it."""
        process = self._processes.start()
        process.send({**self._find, "redact": named_secrets()})  # of what it is passed
        return process

    def _wait_for(self, process: AgentProcess) -> None:
        """Wait until a process reports that its agent is imported, and record whether the agent mostly waits.

        Raises:
            UsageError: there is no such agent.
            AgentFault: its process did not live to say so.
            InfrastructureError: there is no process for it.
        """
        if process in self._ready:
            return
        module = self.spec.partition(":")[0]
        try:
            line = process.line(f"its module {module!r} was imported", self._isolation.patience)
            message = message_of(line, {"ready": ("waits", "wants"), "unusable": ("message",)})
        except LostError as error:
            process.print_all()
            if isinstance(process.poll(), str):
                words = self._processes.last_words()
                raise InfrastructureError(f"the agent's process {error}{words and f': {words}'}") from None
            raise self.fault(f"the agent's process {error}") from None
        if message["type"] == "unusable":
            raise UsageError(str(message.get("message")))
        self.waits = bool(message.get("waits"))
        with suppress(TypeError, ValueError):  # a process may write anything
            name, needed, readable = cast("tuple[Any, ...]", message.get("wants"))
            self.wants_context = WantedContext(
                plain(str(name)), [plain(str(field)) for field in needed], bool(readable)
            )
        self._ready.add(process)


class IsolatedConversation(ProcessConversation):
    """One episode with an agent in its process."""

    _source: IsolatedSource
    _process: AgentProcess
    kinds = {  # noqa: RUF012  # fixed
        "call": ("name", "arguments", "agent"),
        "reply": ("text", "output", "usage", "thoughts"),
        "thought": ("text",),
        "heard": ("calls",),
        "late": ("name", "arguments", "agent"),
        "broken": ("message", "detail", "blame", "usage"),
    }
    arguments = object
    most_lines = 20_000  # a reply may hold 10,000 thoughts

    def __init__(self, process: AgentProcess, *handed: Any) -> None:
        super().__init__(*handed)
        self._process = process
        self._first = True
        self._late: list[JsonObject] = []

    def close(self) -> None:
        """Record late calls, then end the process or keep it for the user's next task; kill it if it is still replying."""
        if not self._came_back.is_set():
            self._process.kill()
            return
        kept = kept_of(self._session)
        try:
            for line in self._process.unread():
                self._unasked(line)
        except LostError:
            kept = None
        for call in self._late:
            with suppress(ToolsClosed):  # which keeps it as a call after the end
                self._toolbox.call(str(call.get("name")), call.get("arguments"))
        if kept is None or self._cancelled.is_set():
            self._process.close()
        else:
            kept.process = self._process

    def _message(self, text: str) -> JsonObject:
        """Return the message for the process; it says whether it is the first, whether the agent is kept, and which tools run."""
        first, self._first = self._first, False
        kept, run = kept_of(self._session) is not None, sorted(tools_to_run(self._session))
        return {**super()._message(text), "first": first, "kept": kept, "run": run}

    def _heard(self, process: AgentProcess, message: JsonObject) -> None:
        """Record a late call, a thought or own calls that the process sends. Raises AgentFault if the process reports a fault."""
        if message["type"] == "late":
            self._late.append(message)
        elif message["type"] == "heard":
            calls = message.get("calls")
            self.heard_calls = tuple(calls) if isinstance(calls, list) else ()
        elif message["type"] == "thought":
            try:
                self._session.think(str(message.get("text")))
                process.send({"result": None})
            except ToolsClosed as closed:
                process.send(self._refused(closed))
        else:
            words, detail = scrubbed(str(message.get("message")), _DESCRIBED), str(message.get("detail", ""))[:_DETAIL]
            lines = "\n".join(scrubbed(line, _DESCRIBED) for line in detail.splitlines()[:_DETAIL_LINES])
            blame: Blame = "infrastructure" if message.get("blame") == "infrastructure" else "agent"
            fault = self._source.fault(words, lines, blame)
            fault.usage = checked(Reply("", usage=message.get("usage"))).usage
            raise fault

    def _unasked(self, line: bytes) -> None:
        """Record a late call that comes between replies. Raises LostError for any other line."""
        try:
            self._late.append(message_of(line, {"late": self.kinds["late"]}))
        except LostError:
            super()._unasked(line)

    def _refused(self, closed: ToolsClosed) -> JsonObject:
        """Return the answer to a call or thought that comes while the tools are closed."""
        return {"refused": str(closed)}

    def _fault(self, lost: LostError, errors: str) -> AgentFault:
        """Return the fault of a process that was lost."""
        del errors
        return self._source.fault(f"the agent's process {lost}")


def isolated_source(spec: str, root: Path, isolation: Isolation) -> IsolatedSource:
    """Return the source that runs the agent of a spec in processes of their own.

    Args:
        spec: ``module:attr``.
        root: the directory pytest was started in; modules are looked for there first.
        isolation: how agents are kept apart.

    Raises:
        UsageError: the spec cannot be resolved in a fresh process.
    """
    search_first(root)  # as where the agent is imported here: what of the user's is found must not depend on it
    source = IsolatedSource(spec, root, Processes(isolation))
    try:
        source.check()
    except BaseException as error:
        source.close()
        if isinstance(error, OSError | InfrastructureError):
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"agent {spec!r}: no process can be started: {why}") from None
        raise
    return source
