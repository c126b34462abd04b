"""Agents that are programs: ``cmd:node agent.js``. A process for each episode, with a JSON object on each line of standard input and output.

We write ``message`` and ``result``; the agent writes ``call``, and at the end ``reply`` or ``unavailable`` (docs/how-to/connect-a-service.md).
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

from pytest_mapsat.model import JsonObject, UsageError

from .process import PATIENCE, AgentProcess, LostError, ProcessConversation
from .returned import AgentFault, scrubbed
from .source import SourceElsewhere, SourceSpec
from .tool_server import missing_extra, serve_tools

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


def _meant(spec: SourceSpec, program: str) -> str:
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
        """Kill the process, and let go of the tools."""
        self._lease.close()
        super().close()

    def _started(self) -> AgentProcess:
        # The name of the test is that of the case.
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
        words = [line for line in errors.splitlines() if line.strip()]
        # A runtime may write more below the error: Node its version, Python what pydantic says of each field.
        last = next((line for line in reversed(words) if _ERROR.match(line)), words[-1] if words else "")
        told = f"; its last words: {scrubbed(last.strip())}" if last else ""
        return AgentFault(f"the command {lost}{told}", "\n".join(map(scrubbed, words[-_SHOWN_LINES:])))

    def _heard(self, process: AgentProcess, message: JsonObject) -> None:
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


class _Program(subprocess.Popen[bytes]):
    """A program in a group of its own, which does not outlive us.

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
        """Return its exit status; what it started ends with it."""
        running, status = self.returncode is None, super().poll()
        if running and status is not None:
            self._kill_group()
        return status

    def end(self) -> None:
        """Kill it, with all that it started in its group. One that has ended keeps its number until it is asked for its status."""
        if self.returncode is None:
            self._kill_group()

    def leave(self) -> None:
        """Wait until it is gone."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(PATIENCE)

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


#: Programs that may still run: none outlives this process.
_running: WeakSet[_Program] = WeakSet()


@atexit.register
def _end_all() -> None:
    for program in list(_running):
        program.end()
