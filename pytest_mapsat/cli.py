"""The ``mapsat`` command: one table of commands. Each has its options and its function in a module, which is loaded when it is used."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from pytest_mapsat import __version__
from pytest_mapsat.options import RENAMED
from pytest_mapsat.printed import printed

EXIT_OK = 0
EXIT_ERROR = 2
#: As pytest ends where it is used wrongly.
EXIT_USAGE = 4

#: What each command is about, as one comes to need them. In its module in ``commands/`` ``add_NAME_arguments`` and ``run_NAME`` have the rest, whose docstring ends its help.
COMMANDS = {
    "init": "write a suite, an agent and a CI workflow to begin with",
    "doctor": "check how an agent is connected, before a benchmark is run",
    "draft": "make a draft of a case out of a logged conversation",
    "cases": "make a suite of the cases that logs of behaviour hold",
    "lint": "check a suite without an agent",
    "record": "call your own tools and keep their answers as recordings",
    "serve": "serve the tools of a case over MCP, to try them by hand",
    "import": "make a suite from the files of another benchmark or tool",
    "build": "make up a world from a seed, and cases in it",
    "show": "show dialogues of a saved run with their verdicts",
    "compare": "compare two runs and check the allowed drops",
    "merge": "put the parts of a run together that several jobs ran",
    "regrade": "judge and score a saved run again, without an agent",
    "review": "label what a judge could not decide, or decide on proposals",
    "report": "write reports of a saved run",
}
#: Rarely used: ``python -m pytest_mapsat`` alone has them.
RARE = {
    "schema": "print the JSON Schema of a case, run, tools or others",
    "cache": "look at the kept answers of models, drop them, or move them",
}
#: The module of a command, where it is not called like it.
_MODULES = {
    name: module
    for module, names in {
        "start": ("init", "import", "build", "draft", "cases"),
        "record": ("serve",),
        "compare": ("merge", "regrade"),
        "show": ("report", "cache"),
        "schemas": ("schema",),
    }.items()
    for name in names
}


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors look like the other errors of the command."""

    def error(self, message: str) -> NoReturn:
        """Exit with a usage error."""
        self.exit(EXIT_ERROR, f"{self.prog}: {printed(message)}\n{self.prog}: see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None, *, rare: bool = False) -> int:
    """Run the ``mapsat`` command, and return its exit status.

    Args:
        arguments: the command line without the program's name; that of the process by default.
        rare: whether the rarely used commands are known, too.

    Returns:
        The exit status: 0 fine, 1 something was found or does not hold, 2 the command could not do its work, 4 Python leaves out what checks assert.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # cases and paths are in any script, whatever the locale
    name = arguments[0] if arguments else ""
    commands = COMMANDS | RARE if rare else COMMANDS
    if name in RARE and not rare:
        return _fail(f"{name}: this is: python -m pytest_mapsat {name}")
    if new := RENAMED.get(f"mapsat {name}"):
        return _fail(f"mapsat {name} is now {new}")
    if [*arguments] == ["serve", "--episode"]:  # without the imports of the others
        from pytest_mapsat.commands.bridge import bridge  # noqa: PLC0415

        return bridge()
    try:
        if name not in commands:
            _overview(commands).parse_args(arguments)
        parser = command_parser(name)
        options = parser.parse_args(arguments[1:])
    except SystemExit as done:  # argparse ends the process after --help and its own errors
        return done.code if isinstance(done.code, int) else EXIT_ERROR
    try:
        status = _run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (head, less): the rest of the output, and Python's own flush, go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    return status


def _overview(commands: Mapping[str, str]) -> argparse.ArgumentParser:
    """Return the parser that lists all commands and refuses unknown ones."""
    parser = _Parser(
        prog="mapsat",
        description="Make, fill and check suites of benchmark cases, and look at the results of their runs.",
        epilog="Begin with: mapsat init, then pytest --mapsat-agent=my_agent:Agent",
    )
    parser.add_argument("--version", action="version", version=f"mapsat {__version__}")
    listed = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, about in commands.items():
        listed.add_parser(name, help=about)
    return parser


def command_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    module = importlib.import_module(f"pytest_mapsat.commands.{_MODULES.get(name, name)}")
    run = getattr(module, f"run_{name}")
    program = "mapsat" if name in COMMANDS else "python -m pytest_mapsat"
    about = f"{(COMMANDS | RARE)[name]}. {run.__doc__ or ''}".strip()
    parser = _Parser(prog=f"{program} {name}", description=about[0].upper() + about[1:])
    getattr(module, f"add_{name}_arguments")(parser)
    parser.set_defaults(command=run)
    return parser


def _run(options: argparse.Namespace) -> int:
    """Run one command, and turn its errors into a message and an exit status."""
    from pytest_mapsat.model import MapsatError, OptimisedError  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.user_code import listening  # noqa: PLC0415

    try:
        with listening():
            return int(options.command(options))
    except OptimisedError as error:
        _fail(str(error))
        return EXIT_USAGE
    except MapsatError as error:
        return _fail(_without_prefix(str(error), options))
    except BrokenPipeError:
        raise
    except OSError as error:
        return _fail(f"{error.filename or 'input or output'}: {error.strerror}")
    except KeyboardInterrupt:
        return _fail("interrupted")


def _without_prefix(message: str, options: argparse.Namespace) -> str:
    """Return a message about run options with this command's option names, which have no prefix."""
    names = (name.replace("_", "-") for name in vars(options))
    return re.sub(rf"--mapsat-({'|'.join(names)})(?![\w-])", r"--\1", message)


def _fail(message: str) -> int:
    """Print an error and return the exit status of a usage error."""
    sys.stderr.write("".join(f"mapsat: {line}\n" for line in printed(message).splitlines()))
    return EXIT_ERROR
