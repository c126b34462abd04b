"""Agents in processes of their own: a JSON object on each line, to a process and from it; its other output is printed here.

A command (``cmd:node agent.js``) is such an agent, with a process for each episode: we write ``message`` and ``result``; the agent writes ``call``, and at
the end ``reply`` or ``unavailable`` (docs/how-to/connect-an-agent.md).
"""

from __future__ import annotations

import atexit
import json
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias
from weakref import WeakSet

from pytest_mapsat.formats import limits, parse_json
from pytest_mapsat.guard import calling
from pytest_mapsat.model import JsonObject, UsageError, hint_at, shown
from pytest_mapsat.printed import printed
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import ToolsClosed

from .returned import AgentFault, checked, scrubbed
from .source import Conversation, SourceElsewhere, SourceSpec
from .tool_server import missing_extra, serve_tools

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Bytes of one line: a reply has at most 1,000,000 characters of text, of thoughts and of output, however they are escaped.
MOST_BYTES = 32_000_000
#: How many values may be in a line: each takes many times the room here that it has there.
_MOST_VALUES = 3_000_000
#: What is kept of each stream that a process prints on while a reply is under way, bytes: the end of it.
MOST_PRINTED = 1_000_000
_MCP_URL = b"MAPSAT_MCP_URL"
#: What is read at once, and shown of a line that is none, bytes.
_PIECE = 64_000
#: How often a silent process is looked after, and how long one that was killed may need to be gone, seconds.
_LOOK = 0.2
PATIENCE = 5.0
#: How long the word of a process's end may come after its output has closed, seconds.
_WORD_PATIENCE = 1.0


#: One end of a pipe.
Stream: TypeAlias = "IO[bytes] | Connection"


class LostError(Exception):
    """A process misbehaves or is gone; the message continues a sentence that begins with the process."""


class Running(Protocol):
    """A running process, forked by us or started by others."""

    def poll(self) -> int | str | None:
        """Return the exit status (negative: the signal) or a text that explains the loss; None while the process runs."""

    def end(self) -> None:
        """Kill the process with its group; do nothing if it has ended."""

    def leave(self) -> None:
        """Release the resources of the process; its streams are closed already."""


class AgentProcess:
    """The lines to and from a process. One thread talks; any thread may call ``kill``.

    All streams are served together: a process that writes while it should read blocks neither itself nor us.

    Args:
        process: the process.
        to: where lines go.
        back: where lines come from.
        prints: what it prints on besides, by the name of our own stream.
    """

    def __init__(self, process: Running, to: Stream, back: Stream, prints: Mapping[str, Stream]) -> None:
        self.poll, self.kill = process.poll, process.end
        self._process = process
        self._to, self._back = to, back
        self._streams = (to, back, *prints.values())
        self._unsent = bytearray()
        self._lines: deque[bytes] = deque()
        self._begun = bytearray()
        self._printed = {name: bytearray() for name in prints}
        self._selector = selectors.DefaultSelector()
        for stream in self._streams:
            os.set_blocking(stream.fileno(), False)
        self._selector.register(back, selectors.EVENT_READ)
        for name, stream in prints.items():
            self._selector.register(stream, selectors.EVENT_READ, self._printed[name])
        self._closed_output = inf

    def unread(self) -> list[bytes]:
        """Return and clear the unrequested lines; the last may be incomplete."""
        self._serve(0)
        lines = [line for line in (*self._lines, bytes(self._begun)) if line.strip()]
        self._lines.clear()
        self._begun.clear()
        return lines

    def send(self, message: JsonObject) -> None:
        """Queue a message as a line of JSON; it is written as fast as the process reads."""
        if not self._unsent:
            self._selector.register(self._to, selectors.EVENT_WRITE)
        self._unsent += json.dumps(message, ensure_ascii=False).encode() + b"\n"

    def line(self, awaited: str = "it replied", patience: float = inf) -> bytes:
        """Wait for the next line of the process and return it.

        Args:
            awaited: what the line is waited for, as a fault has it.
            patience: how long to wait, seconds.

        Raises:
            LostError: the process has ended, writes no end of a line, or was silent for too long.
        """
        until = perf_counter() + patience
        while not self._lines:
            if len(self._begun) > MOST_BYTES:
                size = f"{len(self._begun):,} bytes without the end of a line"
                raise LostError(f"wrote {size}; at most {MOST_BYTES:,} are taken: found {quoted(self._begun)}")
            if not self._serve(_LOOK):
                self._check_silent_process(awaited)
                if perf_counter() > until:
                    raise LostError(f"was silent for {patience:g} s before {awaited}")
        return self._lines.popleft()

    def print_all(self) -> str:
        """Print the new output of the process on our own streams, and return what it wrote to standard error."""
        self._serve(0)
        texts = {name: raw.decode(errors="replace") for name, raw in self._printed.items()}
        for name, text in texts.items():
            self._printed[name].clear()
            if text:
                with suppress(Exception):  # somebody has closed or replaced the stream
                    getattr(sys, name).write(printed(text))
        return texts["stderr"]

    def close(self) -> None:
        """Close all streams of the process and release it."""
        self._selector.close()
        for stream in self._streams:
            stream.close()
        self._process.leave()

    def _serve(self, patience: float) -> bool:
        """Write and read as far as the streams allow, waiting up to ``patience`` seconds; return whether any stream was ready."""
        ready = self._selector.select(patience)
        for key, events in ready:
            if events & selectors.EVENT_WRITE:
                self._write(key.fd)
                continue
            try:
                raw = os.read(key.fd, _PIECE)
            except OSError:
                raw = b""
            if not raw:
                self._selector.unregister(key.fileobj)
                if key.fileobj is self._back:
                    self._closed_output = perf_counter()
            elif key.fileobj is self._back:
                self._begun += raw
                if b"\n" in raw:
                    *lines, begun = bytes(self._begun).split(b"\n")
                    self._lines.extend(lines)
                    self._begun = bytearray(begun)
            else:
                key.data.extend(raw)
                del key.data[:-MOST_PRINTED]
        return bool(ready)

    def _write(self, number: int) -> None:
        """Write the next queued bytes, and stop watching the stream once the queue is empty."""
        try:
            del self._unsent[: os.write(number, self._unsent[:_PIECE])]
        except BlockingIOError:
            return
        except OSError:  # it reads no more: what it writes, or its end, tells why
            self._unsent.clear()
        if not self._unsent:
            self._selector.unregister(self._to)

    def _check_silent_process(self, awaited: str) -> None:
        """Accept a complete message without a line end from a silent process. Raises LostError if no more can come."""
        if self._begun and _is_whole(bytes(self._begun)):
            # Its author has forgotten to end the line.
            self._lines.append(bytes(self._begun))
            self._begun.clear()
            return
        status = self.poll()
        if isinstance(status, str):
            raise LostError(status)
        if status is not None:
            ending = _ending(status)
        elif perf_counter() > self._closed_output + _WORD_PATIENCE:
            ending = "closed its output"
        else:
            return
        half = f" in the middle of a line: found {quoted(self._begun)}" if self._begun.strip() else ""
        raise LostError(f"{ending}{half or f' before {awaited}'}")


def _ending(status: int) -> str:
    """Return how a process ended, in words: by its exit status or by a signal."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _is_whole(line: bytes) -> bool:
    """Return whether a line is a complete JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def quoted(line: bytes | bytearray) -> str:
    """Return an excerpt of a process's output, without secrets and paths, to show in a fault."""
    return shown(scrubbed(line[:_PIECE].decode(errors="replace").strip(), 200))


def message_of(line: bytes, kinds: Mapping[str, tuple[str, ...]]) -> JsonObject:
    """Parse a line, check its type and keys, and return the message.

    Args:
        line: what a process has written.
        kinds: the keys of each type of message that it may write.

    Raises:
        LostError: it is none.
    """
    expected = "expected one JSON object on each line of standard output (logs belong on standard error)"
    # What stands in texts counts too: a reply may have a million characters of text, of thoughts and of output.
    if (values := sum(map(line.count, (b",", b"[", b"{")))) > _MOST_VALUES:
        raise LostError(f"wrote about {values:,} values at once; at most {_MOST_VALUES:,} are taken")
    try:
        message = parse_json(line.decode(), depth=limits.RUN_DEPTH)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is one of the first
        raise LostError(f"wrote no valid JSON ({scrubbed(str(error))}): found {quoted(line)}; {expected}") from None
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(kind, str) or kind not in kinds:
        hint = hint_at(kind, kinds) if isinstance(kind, str) else ""
        types = " or ".join(f'"{name}"' for name in kinds)
        raise LostError(f"wrote {quoted(line)}; expected an object with the type {types}{hint}")
    for key in message:
        if key not in ("type", *kinds[kind]):
            there = ", ".join(kinds[kind]) + hint_at(key, kinds[kind])
            raise LostError(f"wrote a {kind} with the key {shown(scrubbed(key))}; expected {there}")
    return message


class ProcessConversation(Conversation):
    """One episode with an agent in a process.

    Attributes:
        kinds: the keys of each type of message that the agent may write; ``call`` and ``reply`` are among them.
        arguments: what the arguments of a call may be.
        most_lines: lines in one reply; an episode takes 200 calls.
    """

    kinds: ClassVar[Mapping[str, tuple[str, ...]]]
    arguments: ClassVar[Any] = dict | None
    most_lines: ClassVar[int] = 1_000

    def __init__(self, *handed: Any) -> None:
        super().__init__(*handed)
        self._process: AgentProcess | None = None
        self._came_back = Event()
        self._came_back.set()

    def reply(self, message: str) -> Reply:
        """Return the reply of the process; see ``Conversation.reply``."""
        self._came_back.clear()
        try:
            process = self._process = self._process or self._started()
            if self._cancelled.is_set():
                process.kill()
            for line in process.unread():
                self._unasked(line)
            process.send(self._message(message))
            return self._reply(process)
        except LostError as lost:
            self._cancelled.set()
            process.kill()
            raise self._fault(lost, process.print_all()) from None
        finally:
            if self._process is not None:
                self._process.print_all()
            self._came_back.set()

    def cancel(self) -> None:
        """Kill the process, with everything that it started."""
        super().cancel()
        if self._process is not None:
            self._process.kill()
        self._came_back.wait(PATIENCE)

    def close(self) -> None:
        """Kill the process and everything that it started, and close its streams unless a thread still uses them."""
        if self._process is not None:
            self._process.kill()
            if self._came_back.is_set():
                self._process.close()

    def _started(self) -> AgentProcess:
        """Return the agent's process. Raises AgentFault if it did not start."""
        raise NotImplementedError

    def _fault(self, lost: LostError, errors: str) -> AgentFault:
        """Return the fault of a process that was lost; ``errors``: its standard error."""
        raise NotImplementedError

    def _heard(self, process: AgentProcess, message: JsonObject) -> None:
        """Handle a message that is neither a call nor a reply. Raises AgentFault if it reports a fault."""
        raise NotImplementedError

    def _unasked(self, line: bytes) -> None:
        """Handle a line that comes between replies. Raises LostError."""
        raise LostError(f"wrote {quoted(line)} before it was asked")

    def _message(self, text: str) -> JsonObject:
        """Return the message for the process: the user's text, the dialogue, context, session id and tools."""
        return {
            "type": "message",
            "message": text,
            "messages": self._session.messages,
            "context": self._context(),
            "session": self._session.id,
            "tools": self._toolbox.schemas(),
        }

    def _reply(self, process: AgentProcess) -> Reply:
        """Answer the tool calls of the process until it replies; return the reply. Raises LostError, AgentFault."""
        for _ in range(self.most_lines):
            line = process.line()
            if not line.strip():
                continue
            message = message_of(line, self.kinds)
            if message["type"] == "reply":
                return _replied(message)
            if message["type"] == "call":
                name, arguments = message.get("name"), message.get("arguments")
                if not isinstance(name, str) or not isinstance(arguments, self.arguments):
                    raise LostError(f"wrote {quoted(line)}; a call has a name, a string, and arguments, an object")
                agent = message.get("agent")
                try:
                    with calling(agent if isinstance(agent, str) else ""):
                        answer = {"result": self._toolbox.call(name, arguments)}
                except ToolsClosed as closed:
                    answer = self._refused(closed)
                process.send({"type": "result", "id": message.get("id"), **answer})
            else:
                self._heard(process, message)
        raise LostError(f"wrote more than {self.most_lines:,} lines in one reply")

    def _refused(self, closed: ToolsClosed) -> JsonObject:
        """Return the answer to a call that comes while the tools are closed: an error result."""
        return {"result": {"status": "error", "message": str(closed)}}


def _replied(message: JsonObject) -> Reply:
    """Return the reply in a message. Raises LostError if the message is empty, AgentFault if a part of it is invalid."""
    text, output = message.get("text"), message.get("output")
    if text is None and output is None:
        raise LostError("wrote a reply with neither text nor output")
    if text is None:
        text = checked(output).text
    return checked(Reply(text, message.get("thoughts") or (), message.get("usage"), output))


# -- commands -------------------------------------------------------------------------------------------------------------

#: What is shown of standard error in a fault, lines.
_SHOWN_LINES = 10
#: The line of an error as Python, Node and others write it: "NameError: x", "Error [ERR_NOT_FOUND]: y".
_ERROR = re.compile(r"(?:Uncaught )?[\w.]{0,200}(?:Error|Exception)(?: \[\w+\])?(?::|$)")
#: What starts a file that is no program itself, by the end of its name.
_RUNTIMES = {
    ".py": "python",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".sh": "sh",
    ".rb": "ruby",
    ".jar": "java -jar",
}


def open_source(spec: SourceSpec) -> CommandSource:
    """Return the source that ``cmd:COMMAND`` names; the command is split as in a shell, but no shell runs.

    Raises:
        UsageError: the command cannot be split, or there is no such program.
    """
    try:
        arguments = tuple(shlex.split(spec.rest))
    except ValueError as error:
        raise UsageError(f"agent {spec.text!r}: the command cannot be split: {error}") from None
    if not hasattr(os, "killpg"):
        raise UsageError(f"agent {spec.text!r}: commands run on Linux and macOS only")
    if not arguments:
        raise UsageError(f"agent {spec.text!r}: there is no command; expected one as in cmd:node agent.js")
    program = arguments[0]
    # A path is meant from where pytest was started, a name is looked for on PATH.
    executable = shutil.which(str(spec.root / program) if os.sep in program else program)
    if executable is None:
        where = "no such file can be executed" if os.sep in program else "it is not on PATH"
        raise UsageError(f"agent {spec.text!r}: there is no program {program!r}: {where}{_meant(spec, program)}")
    paths = (spec.root / argument for argument in arguments if os.sep in argument or "." in argument)
    files = tuple(path for path in paths if path.is_file())
    return CommandSource(spec.text, (executable, *arguments[1:]), spec.root, files)


def _meant(spec: SourceSpec, program: str) -> str:
    """Return how to start a script that was named as if it were a program; empty if there is no such file."""
    file = spec.root / program
    if not file.is_file():
        return ""
    if runtime := _RUNTIMES.get(file.suffix):
        return f" (did you mean 'cmd:{runtime} {spec.rest}'?)"
    command = spec.rest if os.sep in program else f"./{spec.rest}"
    if os.access(file, os.X_OK):
        return f" (did you mean 'cmd:{command}'?)"
    return f" (the file is not executable: chmod +x {shlex.quote(program)}, and name it as 'cmd:{command}')"


class CommandConversation(ProcessConversation):
    """One episode with a command; its process starts with the first message."""

    _source: CommandSource
    kinds = {  # noqa: RUF012  # fixed
        "call": ("id", "name", "arguments"),
        "reply": ("text", "output", "usage", "thoughts"),
        "unavailable": ("reason",),
    }

    def __init__(self, *handed: Any) -> None:
        super().__init__(*handed)
        self._lease = ExitStack()

    def close(self) -> None:
        """Stop serving the tools and kill the process."""
        self._lease.close()
        super().close()

    def _started(self) -> AgentProcess:
        # The name of the test is that of the case.
        """Start the command, and serve its tools over MCP if possible. Raises AgentFault if the start fails."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_CURRENT_")}
        if not missing_extra():
            # Most commands have no use for it.
            endpoint = self._lease.enter_context(serve_tools(self._toolbox, at_once=False))
            environment |= {"MAPSAT_MCP_URL": endpoint.url, "MAPSAT_MCP_TOKEN": endpoint.token}
        try:
            program = _Program(self._source.arguments, self._source.folder, environment)
        except OSError as error:
            raise AgentFault(f"the command cannot be started: {error.strerror}", blame="infrastructure") from None
        return AgentProcess(program, program.stdin, program.stdout, {"stderr": program.stderr})

    def _fault(self, lost: LostError, errors: str) -> AgentFault:
        """Return the fault of a lost command, with its last error and the end of its standard error."""
        words = [line for line in errors.splitlines() if line.strip()]
        # A runtime may write more below the error: Node its version, Python what pydantic says of each field.
        last = next((line for line in reversed(words) if _ERROR.match(line)), words[-1] if words else "")
        last_words = f"; its last words: {scrubbed(last.strip())}" if last else ""
        return AgentFault(f"the command {lost}{last_words}", "\n".join(map(scrubbed, words[-_SHOWN_LINES:])))

    def _heard(self, process: AgentProcess, message: JsonObject) -> None:
        """Raise an AgentFault for ``unavailable``: a service of the agent's own cannot be reached."""
        del process
        reason = scrubbed(str(message.get("reason", "it gives no reason")))
        raise AgentFault(f"a service of the agent's own cannot be reached: {reason}", blame="infrastructure")


@dataclass(frozen=True)
class CommandSource(SourceElsewhere):
    """A command that is started once for each episode.

    Attributes:
        arguments: the program and its arguments.
        folder: where it is started.
        files: those that the command names: what is known of the agent's own code.
    """

    conversation = CommandConversation
    spec: str
    arguments: tuple[str, ...]
    folder: Path
    files: tuple[Path, ...] = ()
    name: str = "agent"

    @property
    def lacks(self) -> str:
        """Why MAPSAT_MCP_URL is not set though the command or one of its files names it; empty where it is, or none does."""
        missing = missing_extra()
        if not missing or not any(_MCP_URL in text for text in (os.fsencode(self.spec), *map(_head, self.files))):
            return ""
        return f"MAPSAT_MCP_URL is not set, and the command names it: {missing}"


def _head(path: Path) -> bytes:
    """Return the first bytes of a file; none where it cannot be read."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(limits.MIB)
    return b""


class _Program(subprocess.Popen[bytes]):
    """A program in its own process group, which ends together with this process.

    Raises:
        OSError: it cannot be started.
    """

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def __init__(self, arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        super().__init__(arguments, 0, None, pipe, pipe, pipe, cwd=folder, env=environment, start_new_session=True)
        _running.add(self)

    def poll(self) -> int | None:
        """Return the exit status, or None while the program runs; once it has ended, kill the rest of its process group."""
        running, status = self.returncode is None, super().poll()
        if running and status is not None:
            self._kill_group()
        return status

    def end(self) -> None:
        """Kill the program and its process group, unless its exit status has been read."""
        if self.returncode is None:
            self._kill_group()

    def leave(self) -> None:
        """Wait up to five seconds for the program to end."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(PATIENCE)

    def _kill_group(self) -> None:
        """Kill the process group of the program; do nothing if the group is gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


#: Programs that may still run: none outlives this process.
_running: WeakSet[_Program] = WeakSet()


@atexit.register
def _end_all() -> None:
    """Kill all programs that still run when this process exits."""
    for program in list(_running):
        program.end()
