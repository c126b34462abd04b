"""An agent in a process of its own as a source like any other: the processes, the talk with one, and a fresh one for each episode."""

from __future__ import annotations

import codecs
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from threading import Event, Lock
from time import perf_counter
from typing import IO, Any, Literal

from pytest_mapsat.agents.resolve import search_first
from pytest_mapsat.agents.returned import AgentFault, checked, scrubbed
from pytest_mapsat.agents.source import AgentContext, Conversation, Session
from pytest_mapsat.model import Blame, Case, InfrastructureError, JsonObject, UsageError
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox, ToolsClosed
from pytest_mapsat.secrets import named_secrets
from pytest_mapsat.user_code import plain

from .inside import remove
from .messages import (
    KILL,
    MOST_BYTES,
    NONE,
    START,
    Broken,
    Call,
    Ready,
    Said,
    Sent,
    Thought,
    Unusable,
    WireError,
    packed,
    unpacked,
)

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

    def check_silent(self) -> None:
        """Make sure that nothing was sent since the last reply.

        Raises:
            WireError: something was.
        """
        with suppress(OSError):
            if not self._hung_up and self._line.poll() and self._received() is not None:
                raise WireError("sent something when nobody asked it")

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
        """Kill it, with all that it started; what it has printed and nobody has read is not shown."""
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
        pairs = (Pipe(), Pipe(duplex=False), Pipe(duplex=False), Pipe())
        sent = [theirs.fileno() for _, theirs in pairs]
        try:
            with self._lock:
                try:
                    socket.send_fds(self._controlled(), [START], sent)
                except OSError:  # the keeper was killed
                    self._let_go()
                    socket.send_fds(self._controlled(), [START], sent)
                return AgentProcess([ours for ours, _ in pairs], self._keeper)
        finally:
            for _, theirs in pairs:
                theirs.close()

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
        with suppress(OSError), Connection(os.dup(control.fileno())) as line:
            line.send_bytes(packed(told))  # one that has ended at once is noticed like any that was lost
        self._control = control
        return control

    def _let_go(self) -> None:
        control, keeper, written = self._control, self._keeper, self._written
        self._control = self._keeper = self._written = None
        if control is None or keeper is None or written is None:
            return
        control.close()
        try:
            keeper.wait(_END_PATIENCE)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()
        remove(self._folder)  # which a keeper that was killed has left
        with written:
            written.seek(0)
            self.last_words = (written.read(_MOST_WRITTEN).decode(errors="replace").strip().splitlines() or [""])[-1]


# -- the source -----------------------------------------------------------------------------------------------------------

#: How long a reply that is given up may take to come back, seconds.
_CANCEL_PATIENCE = 1.0
#: How often a process that was lost before its episode is replaced: the one that takes its place may be lost with the same keeper.
_TRIES = 2
#: Characters of a fault that was described where it came up: its type, its words, which were cut there, and its place.
_DESCRIBED = 2_000
#: A name as those of variables are, that an agent has looked up in vain.
_MISSING = re.compile(r"KeyError: '([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'")
#: Characters and lines of a fault's detail.
_DETAIL, _DETAIL_LINES = 4_000, 6


class IsolatedSource:
    """An agent in a process of its own, made anew for each episode, so that nothing of one is left in the next.

    One process always waits with its agent imported, so that an episode need not.

    Args:
        spec: ``module:attr``.
        root: searched first for modules.
        processes: makes them.
    """

    kind: Literal["agent"] = "agent"
    name = "agent"
    shared = False

    def __init__(self, spec: str, root: Path, processes: Processes) -> None:
        self.spec = spec
        self.waits = False
        self._isolation = processes.isolation
        self._find = {"spec": spec, "root": str(root)}
        self._processes = processes
        self._lock = Lock()
        self._spare: deque[AgentProcess] = deque()

    @property
    def agent(self) -> None:
        """Nothing: the agent's object is in no process that has the source."""

    def check(self) -> None:
        """Make sure that the agent can be had; the process that found it waits for the first episode.

        Raises:
            UsageError: there is no such agent, or its process did not live to say so.
        """
        process, told = self._brought_up()
        if not isinstance(told, Ready):
            process.close()
            if isinstance(told, Unusable):
                raise UsageError(str(self.fault(plain(told.message))))
            why = f": {self._processes.last_words}" if process.lost_keeper and self._processes.last_words else ""
            raise UsageError(plain(f"agent {self.spec!r}: {told}{why}"))
        self.waits = told.waits
        with self._lock:
            self._spare.appendleft(process)

    def open(
        self,
        case: Case,  # noqa: ARG002  # an agent is not given the case
        toolbox: Toolbox,
        context: Callable[[], AgentContext],
        session: Session,
    ) -> IsolatedConversation:
        """Return the agent for one episode, in a process that is ready, or the fault of one that is not."""
        process, told = self._brought_up()
        if isinstance(told, Unusable):
            told = self.fault(scrubbed(told.message, _DESCRIBED))
        fault = told if isinstance(told, AgentFault) else None
        return IsolatedConversation(self, process, fault, toolbox, context, session)

    def close(self) -> None:
        """End the process that waits, and no longer than a moment later all others."""
        self.dismiss()
        self._processes.close()

    def dismiss(self) -> None:
        """End the process that waits for the next episode."""
        with self._lock:
            while self._spare:
                process = self._spare.pop()
                process.kill()
                process.close()

    def fault(self, message: str, detail: str = "", blame: Blame = "agent") -> AgentFault:
        """Return a fault; that of an agent that found no memory says what it may have."""
        if self._isolation.memory and "MemoryError" in message:
            message += f"; its process may use {self._isolation.memory} MB (--mapsat-isolate=memory:MB)"
        missing = _MISSING.match(message)
        if missing and missing[1] in os.environ and missing[1] not in self._isolation.environment():
            message += f"; --mapsat-isolate=env:{missing[1]} passes the variable"
        return AgentFault(message, detail, blame)

    def _brought_up(self) -> tuple[AgentProcess, Ready | Unusable | AgentFault]:
        """Return a process that has imported the agent, or that says why it has not.

        One that was lost while it waited had nothing of this episode yet: another takes its place.

        Raises:
            InfrastructureError: the system gives no more processes, or no folder for one.
        """
        process = self._taken()
        try:
            told = self._word_of(process)
            for _ in range(_TRIES):
                if not process.has_ended():
                    break
                process.close()
                self._processes.replace(process.lost_keeper)
                process = self._taken()
                told = self._word_of(process)
        except BaseException:  # the user interrupts
            process.close()
            raise
        return process, told

    def _taken(self) -> AgentProcess:
        """Return a process, and begin another one for the next episode."""
        with self._lock:
            process = self._spare.popleft() if self._spare else self._start()
            if not self._spare:
                self._spare.append(self._start())
        return process

    def _start(self) -> AgentProcess:
        process = self._processes.start()
        process.send({**self._find, "redact": named_secrets()})  # of what it is passed
        return process

    def _word_of(self, process: AgentProcess) -> Ready | Unusable | AgentFault:
        """Wait until the agent is imported, and return what the process says, or the fault of one that does not say it."""
        if process.ready is None:
            try:
                told = process.receive(self._isolation.patience)
            except (LostError, WireError) as error:
                if process.unmade:
                    raise InfrastructureError(f"the agent's process {error}") from None
                module = self.spec.partition(":")[0]
                return self.fault(f"the agent's process {error}, before its module {module!r} was imported")
            if isinstance(told, Unusable):
                return told
            if not isinstance(told, Ready):
                return self.fault("the agent's process spoke before it was asked")
            process.ready = told
        return process.ready


class IsolatedConversation(Conversation):
    """One episode with an agent in its process."""

    def __init__(  # noqa: PLR0917  # one caller
        self,
        source: IsolatedSource,
        process: AgentProcess,
        fault: AgentFault | None,
        toolbox: Toolbox,
        context: Callable[[], AgentContext],
        session: Session,
    ) -> None:
        self._source = source
        self._process = process
        self._fault = fault
        self._toolbox = toolbox
        self._context = context
        self._session = session
        self._turn = 0
        self._came_back = Event()
        self._came_back.set()

    def reply(self, message: str) -> Reply:
        """Have the process answer; see ``Conversation.reply``."""
        return self._told(message, form=False)

    def fill(self, message: str) -> Reply:
        """Have the process answer; see ``Conversation.fill``."""
        return self._told(message, form=True)

    def _told(self, message: str, *, form: bool) -> Reply:
        if self._fault is not None:
            raise self._fault
        self._came_back.clear()
        try:
            return self._reply(message, form=form)
        except (LostError, WireError) as error:
            self._process.kill()
            raise self._source.fault(f"the agent's process {error}") from None
        finally:
            self._came_back.set()

    def cancel(self) -> None:
        """Kill the process; what it prints from now on belongs to nobody."""
        self._process.kill()
        self._came_back.wait(_CANCEL_PATIENCE)

    def close(self) -> None:
        """Let the process end. Where its reply has not come back, the thread that waits for it has its descriptors: they go with it."""
        if self._came_back.is_set():
            self._process.close()
        else:
            self._process.kill()

    def _reply(self, message: str, *, form: bool) -> Reply:
        self._process.check_silent()
        if not self._turn:
            self._process.send({"session": self._session.id, "tools": self._toolbox.schemas()})
        self._turn += 1
        said = [("user" if one["role"] == "user" else "agent", one["content"]) for one in self._session.messages]
        self._process.send({"message": message, "form": form, "context": self._context(), "said": said})
        while True:
            told = self._process.receive()
            if isinstance(told, Ready | Unusable) or told.turn != self._turn:
                raise WireError("answered what it was not asked")
            if isinstance(told, Said):
                return checked(_reply_of(told), form=form)
            if isinstance(told, Broken):
                raise self._source.fault(scrubbed(told.message, _DESCRIBED), _detail(told.detail), told.blame)
            self._process.send(self._served(told))

    def _served(self, asked: Call | Thought) -> JsonObject:
        """Make the call, or keep the thought, as if the agent itself had."""
        try:
            if isinstance(asked, Thought):
                self._session.think(asked.text)
                return {"result": None, "refused": ""}
            return {"result": self._toolbox.call(asked.name, asked.arguments), "refused": ""}
        except ToolsClosed as refusal:
            return {"result": None, "refused": str(refusal)}


def _reply_of(said: Said) -> object:
    """Return the reply as the agent might have returned it: nothing of it is known to be what it should."""
    return Reply(said.text, said.thoughts, said.usage, said.output)


def _detail(text: str) -> str:
    return "\n".join(scrubbed(line, _DESCRIBED) for line in text[:_DETAIL].splitlines()[:_DETAIL_LINES])


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
