"""Agents that are programs: ``cmd:node agent.js``. A process for each episode, with a JSON object on each line of standard input and output.

We write ``message`` and ``result``; the agent writes ``call``, and at the end ``reply`` or ``unavailable`` (docs/how-to/connect-a-service.md).
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
from pathlib import Path
from threading import Event
from typing import Any
from weakref import WeakSet

from pytest_mapsat.formats import parse_json
from pytest_mapsat.model import Json, JsonObject, UsageError, hint_at, shown
from pytest_mapsat.printed import printed
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import ToolsClosed

from .returned import AgentFault, checked, scrubbed
from .source import HandedConversation, SourceElsewhere, Spec
from .tool_server import missing_extra, serve_tools

#: Bytes of one line: a reply has at most 1,000,000 characters of text, of thoughts and of output.
_MOST_BYTES = 16_000_000
#: Lines in one reply; an episode takes 200 calls.
_MOST_MESSAGES = 1_000
#: What is kept of standard error while a reply is under way, bytes, and shown of it in a fault, lines.
_KEPT = 64_000
_SHOWN_LINES = 10
#: How often a silent process is looked after, and how long one that was killed may need to be gone, seconds.
_LOOK = 0.2
_PATIENCE = 5.0
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
#: What the agent may write: the keys of each type of message.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "call": ("id", "name", "arguments"),
    "reply": ("text", "output", "usage", "thoughts"),
    "unavailable": ("reason",),
}


def open_source(spec: Spec) -> CommandSource:
    """Return the source that ``cmd:COMMAND`` names; the command is split as a shell would, and no shell is asked.

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
    found = shutil.which(str(spec.root / program) if os.sep in program else program)
    if found is None:
        where = "no such file can be executed" if os.sep in program else "it is not on PATH"
        raise UsageError(f"agent {spec.text!r}: there is no program {program!r}: {where}{_meant(spec, program)}")
    named = (spec.root / argument for argument in arguments if os.sep in argument or "." in argument)
    files = tuple(path for path in named if path.is_file())
    return CommandSource(spec.text, (found, *arguments[1:]), spec.root, files)


def _meant(spec: Spec, program: str) -> str:
    """Return how to start a file that was named as if it were a program; empty where there is no such file."""
    file = spec.root / program
    if not file.is_file():
        return ""
    if runtime := _RUNTIMES.get(file.suffix):
        return f" (did you mean 'cmd:{runtime} {spec.rest}'?)"
    command = spec.rest if os.sep in program else f"./{spec.rest}"
    if os.access(file, os.X_OK):
        return f" (did you mean 'cmd:{command}'?)"
    return f" (the file is there, but may not be executed: chmod +x {shlex.quote(program)}, and name it as 'cmd:{command}')"


class CommandConversation(HandedConversation):
    """One episode with a command; its process starts with the first message."""

    _source: CommandSource

    def __init__(self, *handed: Any) -> None:
        super().__init__(*handed)
        self._process: _Process | None = None
        self._lease = ExitStack()
        self._cancelled = False
        self._came_back = Event()
        self._came_back.set()

    def reply(self, message: str) -> Reply:
        """Have the command answer; see ``Conversation.reply``."""
        self._came_back.clear()
        try:
            process = self._process = self._process or self._started()
            if self._cancelled:
                process.kill()
            process.begin()
            return self._reply(process, message)
        except _LostError as lost:
            process.kill()
            words = [line for line in process.print_errors().splitlines() if line.strip()]
            # A runtime may write more below the error: Node its version, Python what pydantic says of each field.
            last = next((line for line in reversed(words) if _ERROR.match(line)), words[-1] if words else "")
            told = f"; its last words: {scrubbed(last.strip())}" if last else ""
            raise AgentFault(f"the command {lost}{told}", "\n".join(map(scrubbed, words[-_SHOWN_LINES:]))) from None
        finally:
            if self._process is not None:
                self._process.print_errors()
            self._came_back.set()

    def cancel(self) -> None:
        """Kill the process, with all that it started."""
        self._cancelled = True
        if self._process is not None:
            self._process.kill()
        self._came_back.wait(_PATIENCE)

    def close(self) -> None:
        """Kill the process, with all that it started. A thread that still waits for it has its descriptors: they go with it."""
        self._lease.close()
        if self._process is not None:
            self._process.kill()
            if self._came_back.is_set():
                self._process.close()

    def _started(self) -> _Process:
        # The name of the test is that of the case.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_CURRENT_")}
        if not missing_extra():
            # Most commands have no use for it.
            endpoint = self._lease.enter_context(serve_tools(self._toolbox, at_once=False))
            environment |= {"MAPSAT_MCP_URL": endpoint.url, "MAPSAT_MCP_TOKEN": endpoint.token}
        try:
            return _Process(self._source.arguments, self._source.folder, environment)
        except OSError as error:
            raise AgentFault(f"the command cannot be started: {error.strerror}", blame="infrastructure") from None

    def _reply(self, process: _Process, message: str) -> Reply:
        process.send(
            {
                "type": "message",
                "message": message,
                "messages": self._session.messages,
                "context": self._context(),
                "session": self._session.id,
                "tools": self._toolbox.schemas(),
            }
        )
        for _ in range(_MOST_MESSAGES):
            line = process.line()
            if not line.strip():
                continue
            match _message_of(line):
                case {"type": "call"} as call:
                    process.send({"type": "result", "id": call.get("id"), "result": self._result(call)})
                case {"type": "reply"} as reply:
                    return _replied(reply)
                case unavailable:
                    reason = scrubbed(str(unavailable.get("reason", "it gives no reason")))
                    fault = f"a service of the agent's own cannot be reached: {reason}"
                    raise AgentFault(fault, blame="infrastructure")
        raise _LostError(f"wrote more than {_MOST_MESSAGES:,} lines in one reply")

    def _result(self, call: JsonObject) -> Json:
        try:
            return self._toolbox.call(call["name"], call.get("arguments") or {})
        except ToolsClosed as closed:
            return {"status": "error", "message": str(closed)}


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


class _LostError(Exception):
    """A process does not do what it should, or is gone; the words follow "the command"."""


def _message_of(line: bytes) -> JsonObject:
    """Return the message on a line. Raises _LostError where it is none."""
    expected = "expected one JSON object on each line of standard output (logs belong on standard error)"
    try:
        message = parse_json(line.decode())
    except ValueError as error:  # UnicodeDecodeError is one
        raise _LostError(f"wrote what is no JSON ({scrubbed(str(error))}): found {_quoted(line)}; {expected}") from None
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(kind, str) or kind not in _KEYS:
        hint = hint_at(kind, _KEYS) if isinstance(kind, str) else ""
        types = " or ".join(f'"{name}"' for name in _KEYS)
        raise _LostError(f"wrote {_quoted(line)}; expected an object with the type {types}{hint}")
    for key in message:
        if key not in ("type", *_KEYS[kind]):
            there = ", ".join(_KEYS[kind]) + hint_at(key, _KEYS[kind])
            raise _LostError(f"wrote a {kind} with the key {shown(scrubbed(key))}; expected {there}")
    if kind == "call":
        name, arguments = message.get("name"), message.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            raise _LostError(f"wrote {_quoted(line)}; a call has a name, a string, and arguments, an object")
    return message


def _replied(message: JsonObject) -> Reply:
    """Return the reply in a message. Raises _LostError where there is none, AgentFault where a part of it is not what it should be."""
    text, output = message.get("text"), message.get("output")
    if text is None and output is None:
        raise _LostError("wrote a reply with neither text nor output")
    if text is None:
        text = checked(output).text
    return checked(Reply(text, message.get("thoughts") or (), message.get("usage"), output))


def _quoted(line: bytes | bytearray) -> str:
    return shown(scrubbed(line.decode(errors="replace").strip(), 200))


class _Process:
    """A process in a group of its own, and the lines that go to it and come from it. One thread talks; any other may ``kill``.

    All three streams are served together: a process that writes while it should read blocks neither itself nor us.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603  # the user's own command, without a shell
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            bufsize=0,
            start_new_session=True,
        )
        _running.add(self)
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._in, self._out, self._err = self._streams = [stream for stream in streams if stream is not None]
        self._unsent = b""
        self._lines: deque[bytes] = deque()
        self._begun = bytearray()
        self._errors = b""
        self._selector = selectors.DefaultSelector()
        for stream in self._streams:
            os.set_blocking(stream.fileno(), False)
        self._selector.register(self._out, selectors.EVENT_READ)
        self._selector.register(self._err, selectors.EVENT_READ)
        self._closed_output = False

    def begin(self) -> None:
        """Make sure that nothing was written since the last reply. Raises _LostError where something was."""
        self._serve(0)
        early = b"\n".join((*self._lines, self._begun)).strip()
        if early:
            raise _LostError(f"wrote {_quoted(early)} before it was asked")
        self._lines.clear()

    def send(self, message: JsonObject) -> None:
        """Have a message written, as fast as the process reads."""
        if not self._unsent:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        self._unsent += json.dumps(message, ensure_ascii=False).encode() + b"\n"

    def line(self) -> bytes:
        """Return the next line.

        Raises:
            _LostError: the process has ended, or writes no end of a line.
        """
        while not self._lines:
            if len(self._begun) > _MOST_BYTES:
                size = f"{len(self._begun):,} bytes without the end of a line"
                raise _LostError(
                    f"wrote {size}; at most {_MOST_BYTES:,} are taken: found {_quoted(self._begun[:_KEPT])}"
                )
            if not self._serve(_LOOK):
                self._look()
        return self._lines.popleft()

    def print_errors(self) -> str:
        """Print what has come on standard error, and return the end of it."""
        self._serve(0)
        text = self._errors.decode(errors="replace")
        self._errors = b""
        if text:
            with suppress(Exception):  # somebody has closed or replaced the stream
                sys.stderr.write(printed(text))
        return text

    def kill(self) -> None:
        """Kill it, with all that it started in its group. One that has ended keeps its number until it is asked for its status."""
        if self._process.returncode is None:
            self._kill_group()

    def close(self) -> None:
        """Wait until it is gone, and give its descriptors back."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        self._selector.close()
        for stream in self._streams:
            stream.close()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _serve(self, patience: float) -> bool:
        """Write and read what can be; return whether anything was."""
        ready = self._selector.select(patience)
        for key, events in ready:
            if events & selectors.EVENT_WRITE:
                self._write(key.fd)
                continue
            raw = os.read(key.fd, _KEPT)
            if not raw:
                self._selector.unregister(key.fileobj)
                self._closed_output |= key.fileobj is self._out
            elif key.fileobj is self._out:
                self._begun += raw
                if b"\n" in raw:
                    *lines, begun = bytes(self._begun).split(b"\n")
                    self._lines.extend(lines)
                    self._begun = bytearray(begun)
            else:
                self._errors = (self._errors + raw)[-_KEPT:]
        return bool(ready)

    def _write(self, number: int) -> None:
        try:
            self._unsent = self._unsent[os.write(number, self._unsent[:_KEPT]) :]
        except BlockingIOError:
            return
        except OSError:  # it reads no more: what it writes, or its end, tells why
            self._unsent = b""
        if not self._unsent:
            self._selector.unregister(self._in)

    def _look(self) -> None:
        """Look after a process that is silent. Raises _LostError where nothing more can come."""
        if self._begun and _is_whole(bytes(self._begun)):
            # Its author has forgotten to end the line.
            self._lines.append(bytes(self._begun))
            self._begun.clear()
            return
        status = self._process.poll()
        if status is not None:
            self._kill_group()
            ending = f"ended with exit status {status}" if status >= 0 else f"was ended by {_signal_name(-status)}"
        elif self._closed_output:
            ending = "closed its standard output"
        else:
            return
        half = f" in the middle of a line: found {_quoted(self._begun[:_KEPT])}" if self._begun.strip() else ""
        raise _LostError(f"{ending}{half or ' before it replied'}")


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


#: Processes that may still run: none outlives this one.
_running: WeakSet[_Process] = WeakSet()


@atexit.register
def _end_all() -> None:
    for process in list(_running):
        process.kill()
