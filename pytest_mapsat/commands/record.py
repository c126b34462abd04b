"""``mapsat record``: the user's own tools are called, and their answers become recordings of a suite. ``mapsat serve``: the tools of one case over MCP, for the user's own client."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import TextIO

from pytest_mapsat.agents import Source, resolve_source
from pytest_mapsat.agents.tool_server import ToolServer, serve_stdio
from pytest_mapsat.episode import run_episode, shutdown
from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import (
    Case,
    Json,
    JsonObject,
    MapsatError,
    Recording,
    Step,
    SuiteError,
    Tool,
    UsageError,
    hint_at,
    tool_name,
)
from pytest_mapsat.recording import (
    Keeping,
    OwnTools,
    RecordingSandbox,
    changes_something,
    describe_tools,
    keep_recordings,
    recorded_copy,
    with_things,
)
from pytest_mapsat.reports import answered_by, call_notes, call_text, cut, printable
from pytest_mapsat.runs.saved import read_saved
from pytest_mapsat.sandbox import RecordedSandbox, Sandbox, SandboxAnswer, Toolbox, make_sandbox, unknown_tool
from pytest_mapsat.suite import CaseEntry, Suite, find_suite, open_suite, write_tool
from pytest_mapsat.users import make_user

from . import shared

_ORACLE = "baseline:oracle"
_SANDBOX = "to check the state that an agent leaves, write a sandbox in Python (docs/how-to/build-a-sandbox.md)"


def add_record_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat record``."""
    about = "module:attr of a list or dict of functions, a module, an object with methods, or a toolbox; or the file of a saved run, with --to"
    parser.add_argument("tools", metavar="TOOLS", help=about)
    shared.add_suite(parser, "the suite", action="store")
    parser.add_argument("--case", metavar="ID", action="append", help="a case to play; repeatable (default: all)")
    shared.add_options(parser, "agent", agent=f"who makes the calls (default: {_ORACLE})")
    parser.set_defaults(agent=_ORACLE)
    about = "for a saved run: copy the suite, with the answers that tables gave in the run as recordings"
    parser.add_argument("--to", metavar="DEST", type=Path, help=about)
    about = "let new answers of your tools replace older ones"
    parser.add_argument("--replace", action="store_true", help=about)
    shared.add_plugins(parser)
    parser.add_argument("--json", action="store_true", help="print the kept answers as JSON")


def run_record(options: argparse.Namespace) -> int:
    """Signatures and docstrings describe new tools. Each case is played by its oracle dialogue or by an agent, and every call goes to your tools. Exit status 1 if an answer was not kept."""
    options.suite = shared.suites_of(options)[0]
    shared.load_added(options.plugins, [options.suite])
    root = find_suite(options.suite)
    if root is None:
        hint = "mapsat init writes one" if not options.suite.exists() else "expected a suite.yaml there or above"
        raise UsageError(f"{options.suite}: there is no suite ({hint})")
    if options.to is not None:
        return _of_run(options, root)
    if Path(options.tools).is_file():
        raise UsageError(f"{options.tools}: the calls of a saved run are kept in a copy of the suite: give --to DEST")
    source = resolve_source(options.agent, root=Path.cwd())
    if source.kind == "recorded":
        raise UsageError(f"--agent={options.agent}: a recorded dialogue makes no calls; give module:attr")
    own = OwnTools.load(options.tools, root=Path.cwd())
    try:
        suite, described = describe_tools(own, open_suite(root))
        if not options.json:
            shared.write(f"{shown_path(path)}: new, described from its signature; look it over" for path in described)
        entries, unread = _entries(suite, tuple(options.case or ()))
        recordings, problems, redacted = _played(own, suite, entries, source, by_oracle=options.agent == _ORACLE)
        problems = [*unread, *problems]
        for path in described:
            tool = suite.tools[path.stem]
            results = (recording.result for recording in recordings if recording.tool == tool.name)
            write_tool(path, with_things(tool, results))
        kept = keep_recordings(root, recordings, replace=options.replace)
    finally:
        own.close()
        shutdown()
    warnings = _of_writes(suite, recordings)
    if options.json:
        report = {
            "tools": [shown_path(path) for path in described],
            "recordings": kept.to_json(),
            "redacted": sorted(redacted),
            "problems": problems,
            "warnings": warnings,
        }
        shared.write_json(report)
    else:
        _tell(kept, redacted, problems)
        for warning in warnings:
            shared.tell(warning)
    return shared.FINDINGS if problems or kept.problems else shared.OK


def _of_run(options: argparse.Namespace, root: Path) -> int:
    """Copy the suite and add the answers that tables gave in a saved run as recordings; return the exit status."""
    kept = recorded_copy(open_suite(root), options.to, read_saved(Path(options.tools)))
    if options.json:
        shared.write_json({"recordings": kept.to_json(), "problems": []})
    else:
        _tell(kept, set(), [])
    return shared.FINDINGS if kept.problems else shared.OK


def _entries(suite: Suite, names: tuple[str, ...]) -> tuple[list[CaseEntry], list[str]]:
    """Return the cases to play in the suite's order, and the problems of unreadable files. Raises UsageError."""
    entries_by_id: dict[str, CaseEntry] = {}
    problems: list[str] = []
    for file in suite.inventory.cases:
        try:
            entries_by_id |= {entry.id: entry for entry in suite.entries(file)}
        except SuiteError as error:  # other files may be sound, and their faults are told, too
            problems.append(str(error))
    unknown = next((name for name in names if name not in entries_by_id), None)
    if unknown is not None and not problems:
        raise UsageError(f"--case: {suite.root.name} has no case {unknown!r}{hint_at(unknown, entries_by_id)}")
    return [entry for name, entry in entries_by_id.items() if not names or name in names], problems


def _played(
    own: OwnTools, suite: Suite, entries: list[CaseEntry], source: Source, *, by_oracle: bool
) -> tuple[list[Recording], list[str], set[str]]:
    """Play the cases with the user's tools; return the recordings, the problems, and the redacted fields."""
    recordings: list[Recording] = []
    problems: list[str] = []
    redacted: set[str] = set()
    for entry in entries:
        try:
            case = suite.load(entry)
        except SuiteError as error:
            problems.append(str(error))
            continue
        if by_oracle and not case.truth.oracle:
            problems.append(f"case {case.id} has no oracle dialogue (truth.oracle) to take calls from; give --agent")
            continue
        fresh = own.fresh()
        sandbox = RecordingSandbox(RecordedSandbox(suite.tools, ()), fresh, case.id)
        problems += _episode(case, source, sandbox)
        if fresh is not own:
            fresh.close()
        recordings += sandbox.cleaned()
        redacted |= sandbox.secrets.found
    return recordings, problems, redacted


def _episode(case: Case, source: Source, sandbox: RecordingSandbox) -> list[str]:
    """Play one case, and return the problems of its calls and any fault."""
    trajectory = run_episode(case, source, make_user("scripted", case), sandbox)
    broken = ((step.tool, step.result["message"]) for step in trajectory.calls if step.status == "error")
    errors = [f"case {case.id}: {tool}: {words}" for tool, words in broken if words not in sandbox.problems]
    problems = [f"case {case.id}: {problem}" for problem in sandbox.problems]
    fault = [f"case {case.id}: {trajectory.fault.message}"] if trajectory.fault else []
    return [*problems, *errors, *fault]


def _of_writes(suite: Suite, recordings: Iterable[Recording]) -> list[str]:
    """Return warnings about recorded tools that write or seem to write: a recording changes nothing."""
    called = {recording.tool for recording in recordings}
    writing = sorted(name for name in called if suite.tools[name].effect == "write")
    seeming = sorted(name for name in called - {*writing} if changes_something(name))
    warnings = [f"{', '.join(writing)}: a recording answers, and changes nothing: {_SANDBOX}"] if writing else []
    if seeming:
        hint = f"if so, declare effect: write, and note that a recording changes nothing: {_SANDBOX}"
        warnings.append(f"{', '.join(seeming)}: seems to write; {hint}")
    return warnings


def _tell(kept: Keeping, redacted: set[str], problems: list[str]) -> None:
    """Print the number of added recordings, the redacted fields, and the answers that were not kept."""
    counts = [f"{shared.counted(kept.added, 'recording')} added"]
    counts += [f"{kept.known} already there"] if kept.known else []
    counts += [f"{kept.replaced} replaced"] if kept.replaced else []
    shared.write([f"{shown_path(kept.path)}: {', '.join(counts)}"])
    if redacted:
        shared.write([f"redacted: {', '.join(sorted(redacted))}"])
    for problem in (*problems, *kept.problems):
        shared.tell(f"not kept: {problem}")


# -- mapsat serve ------------------------------------------------------------------------------------------------------

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: Characters of a call that are shown.
_SHOWN = 400


def add_serve_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat serve``."""
    parser.add_argument("suite", metavar="SUITE", type=Path, help="the suite's folder, or a file or folder in it")
    parser.add_argument("--case", metavar="ID", help="the case (default: the first)")
    about = "serve over streamable HTTP in place of standard input and output (default: a free port of this computer)"
    parser.add_argument("--http", metavar="HOST:PORT", nargs="?", const="127.0.0.1:0", type=_address, help=about)
    parser.add_argument("--save", metavar="PATH", type=Path, help="write each call as a line of JSON")
    shared.add_plugins(parser)


def _address(text: str) -> tuple[str, int]:
    """Return the host and the port in an argument HOST:PORT. Raises ArgumentTypeError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"found {text!r}, expected HOST:PORT, as in 127.0.0.1:8765")
    return host.strip("[]"), int(port)


def run_serve(options: argparse.Namespace) -> int:
    """A client can list and call the tools, and sees nothing else of the case. Each call is printed on standard error with the source of its answer. Needs the extra mcp.

    mapsat serve --episode, without a suite, passes messages on between standard input and output and the episode that the calling program (cmd:) plays.
    """
    suite, case = _case(options)
    with ExitStack() as stack:
        file = None if options.save is None else stack.enter_context(options.save.open("w", encoding="utf-8"))
        calls = _Calls(make_sandbox(case, suite), file)
        toolbox = Toolbox(calls.tools, calls.answer)
        shared.tell(f"case {case.id}: {len(calls.tools)} tools. Its user says: {printable(case.visible.query)}")
        stack.enter_context(suppress(KeyboardInterrupt))
        if options.http is None:
            _tell_command(options, case)
            serve_stdio(toolbox)
        else:
            host, port = options.http
            endpoint = stack.enter_context(ToolServer(host, port).lease(toolbox))
            _tell_address(host, endpoint.url, endpoint.token, endpoint.url_with_token)
            Event().wait()
    shared.tell(f"{calls.made} calls")
    return shared.OK


def _case(options: argparse.Namespace) -> tuple[Suite, Case]:
    """Return the suite and the case that options name. Raises UsageError."""
    root = find_suite(options.suite)
    if root is None:
        raise UsageError(f"{options.suite}: there is no suite; expected a suite.yaml there or above")
    suite = open_suite(root)
    suite.sandboxes = list(shared.load_added(options.plugins, [options.suite]).sandboxes)
    path = options.suite.resolve()
    entries = [entry for file in suite.files() if file.is_relative_to(path) for entry in suite.entries(file)]
    return suite, suite.load(shared.named_case(entries, options.case, options.suite))


def _tell_command(options: argparse.Namespace, case: Case) -> None:
    """Print the settings for an MCP client that starts this command itself."""
    arguments = ["serve", str(options.suite.resolve()), "--case", case.id]
    arguments += [argument for plugin in options.plugins for argument in ("-p", plugin)]
    server = {"command": sys.argv[0], "args": arguments, "cwd": str(Path.cwd())}
    shared.tell(f"for the settings of a client: {json.dumps({'mcpServers': {'mapsat': server}}, ensure_ascii=False)}")
    if sys.stdin.isatty():
        hint = "to have a server to connect to, give --http"
        shared.tell(f"a client starts this command itself and talks with it; {hint}")


def _tell_address(host: str, url: str, token: str, url_with_token: str) -> None:
    """Print the settings for an MCP client that connects over HTTP; warn if the host is not this computer."""
    if host not in _LOOPBACK:
        shared.tell(f"warning: anyone who reaches {host} and has the token can call the tools; there is no encryption")
    server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    settings = f"for the settings of a client: {json.dumps({'mcpServers': {'mapsat': server}})}"
    shared.write([settings, f"for a client that sends no headers: {url_with_token}", "Ctrl-C ends it."])


@dataclass
class _Calls:
    """Answers the calls of an MCP client from a sandbox, and prints each on standard error with the source of its answer."""

    sandbox: Sandbox
    file: TextIO | None
    made: int = 0
    _lock: Lock = field(default_factory=Lock)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that an agent may call, without the tools of the user and the world."""
        return {name: tool for name, tool in self.sandbox.tools.items() if tool.for_agent}

    def answer(self, name: str, arguments: JsonObject) -> Json:
        """Return the result of a call; a broken sandbox gives an error result, and the server continues."""
        name = tool_name(self.tools, name)
        with self._lock:
            try:
                answer = self.sandbox.call(name, arguments) if name in self.tools else unknown_tool(name, self.tools)
            except MapsatError as error:
                shared.tell(error)
                answer = SandboxAnswer({"status": "error", "message": "the sandbox of tools broke"}, "error")
            self.made += 1
            self._tell(answer.step(name, arguments, f"c{self.made}"))
            return answer.result

    def _tell(self, step: Step) -> None:
        """Print a call with the source of its answer, and append it to the output file if there is one."""
        shared.tell(f"{cut(call_text(step.tool, step.arguments), _SHOWN)}  [{answered_by(step)}]")
        for note in call_notes(step):
            shared.tell(f"  {note}")
        if self.file is not None:
            self.file.write(json.dumps(step.to_json(), ensure_ascii=False) + "\n")
            self.file.flush()
