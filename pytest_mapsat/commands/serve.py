"""``mapsat serve``: the tools of one case over MCP, to be tried by hand with the user's own client."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, TextIO

from . import shared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_mapsat.model import Case, Json, JsonObject, Step, Tool
    from pytest_mapsat.sandbox import Sandbox
    from pytest_mapsat.suite import Suite

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: Characters of a call that are shown.
_SHOWN = 400


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", metavar="SUITE", type=Path, help="the suite's folder, or a file or folder in it")
    parser.add_argument("--case", metavar="ID", help="the case (default: the first)")
    about = "serve over streamable HTTP in place of standard input and output (default: a free port of this computer)"
    parser.add_argument("--http", metavar="HOST:PORT", nargs="?", const="127.0.0.1:0", type=_address, help=about)
    parser.add_argument("--save", metavar="PATH", type=Path, help="write the calls, a line of JSON for each")
    shared.add_plugins(parser)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"found {text!r}, expected HOST:PORT, as in 127.0.0.1:8765")
    return host.strip("[]"), int(port)


def _run(options: argparse.Namespace) -> int:
    from pytest_mapsat.agents import ToolServer, serve_stdio
    from pytest_mapsat.reports import printable
    from pytest_mapsat.sandbox import Toolbox, make_sandbox

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
    """Return the case that was asked for, and its suite."""
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.suite import find_suite, open_suite

    root = find_suite(options.suite)
    if root is None:
        raise UsageError(f"{options.suite}: there is no suite; expected a suite.yaml there or above")
    suite = open_suite(root)
    suite.sandboxes = list(shared.load_added(options.plugins, [options.suite]).sandboxes)
    path = options.suite.resolve()
    entries = [entry for file in suite.files() if file.is_relative_to(path) for entry in suite.entries(file)]
    return suite, suite.load(shared.named_case(entries, options.case, options.suite))


def _tell_command(options: argparse.Namespace, case: Case) -> None:
    """Tell how a client is configured that starts this command itself."""
    arguments = ["serve", str(options.suite.resolve()), "--case", case.id]
    arguments += [argument for plugin in options.plugins for argument in ("-p", plugin)]
    server = {"command": sys.argv[0], "args": arguments, "cwd": str(Path.cwd())}
    shared.tell(f"for the settings of a client: {json.dumps({'mcpServers': {'mapsat': server}}, ensure_ascii=False)}")
    if sys.stdin.isatty():
        shared.tell(
            "a client starts this command itself and talks with it; to have a server to connect to, give --http"
        )


def _tell_address(host: str, url: str, token: str, url_with_token: str) -> None:
    if host not in _LOOPBACK:
        shared.tell(f"warning: anyone who reaches {host} and has the token can call the tools; there is no encryption")
    server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    shared.write(
        [
            f"for the settings of a client: {json.dumps({'mcpServers': {'mapsat': server}})}",
            f"for a client that sends no headers: {url_with_token}",
            "Ctrl-C ends it.",
        ]
    )


@dataclass
class _Calls:
    """The calls of a client, which is in the place of an agent: each is printed on standard error with what answered it."""

    sandbox: Sandbox
    file: TextIO | None
    made: int = 0
    _lock: Lock = field(default_factory=Lock)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that an agent may call: those of the user and of the world are for no client."""
        return {name: tool for name, tool in self.sandbox.tools.items() if tool.for_agent}

    def answer(self, name: str, arguments: JsonObject) -> Json:
        """Answer a call; what breaks the sandbox is an error of the call, and the server goes on."""
        from pytest_mapsat.model import MapsatError, tool_name
        from pytest_mapsat.sandbox import Answer, unknown_tool

        name = tool_name(self.tools, name)
        with self._lock:
            try:
                answer = self.sandbox.call(name, arguments) if name in self.tools else unknown_tool(name, self.tools)
            except MapsatError as error:
                shared.tell(error)
                answer = Answer({"status": "error", "message": "the sandbox of tools broke"}, "error")
            self.made += 1
            self._tell(answer.step(name, arguments, f"c{self.made}"))
            return answer.result

    def _tell(self, step: Step) -> None:
        from pytest_mapsat.reports import answered_by, call_notes, call_text, cut

        shared.tell(f"{cut(call_text(step.tool, step.arguments), _SHOWN)}  [{answered_by(step)}]")
        for note in call_notes(step):
            shared.tell(f"  {note}")
        if self.file is not None:
            self.file.write(json.dumps(step.to_json(), ensure_ascii=False) + "\n")
            self.file.flush()


COMMANDS = {
    "serve": shared.Command(
        "A client lists and calls them, and sees nothing else of the case. Each call is told on standard error with what answered it. Needs the extra mcp.",
        _arguments,
        _run,
    )
}
