"""Helpers that several commands share: their options, the loading of additions by others, and printing."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_mapsat.model import Run, UsageError, hint_at
from pytest_mapsat.options import OPTIONS, Option
from pytest_mapsat.printed import printed, printed_json
from pytest_mapsat.registry import added_checks, exchange
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, load_file

if TYPE_CHECKING:
    from pytest_mapsat.metrics import MetricSet
    from pytest_mapsat.sandbox import SandboxHook
    from pytest_mapsat.suite import CaseEntry

OK, FINDINGS = 0, 1
_HOOKS = ("pytest_mapsat_metrics", "pytest_mapsat_sandbox")
#: A folder with one of these is the root of a project, as pytest has it: in this order it looks there for its settings.
_ROOTS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_NARROWEST = 60
SUITE = Path("benchmark_cases")


def starts() -> Path:
    """Return the folder of the templates for ``mapsat init``, in a checkout or in an installed package."""
    package = Path(__file__).parents[1]
    return packed if (packed := package / "starts").is_dir() else package.parent / "examples" / "starts"


def add_options(parser: argparse.ArgumentParser, *names: str, **about: str) -> None:
    """Add run options to a command, without the prefix ``--mapsat-``; an option that is not given is None.

    Args:
        parser: the parser of a command.
        names: the options.
        about: help in place of the table's, by option.
    """
    for name in names:
        option = OPTIONS[name]
        parser.add_argument(
            f"--{name}",
            metavar=option.metavar,
            action="append" if option.repeatable else "store",
            type=_reader(option),
            help=about.get(name.replace("-", "_"), option.help).replace("%", "%%"),
        )


def _reader(option: Option) -> Callable[[str], Any]:
    """Return the function that parses the argument of an option."""

    def read(text: str) -> Any:
        """Return the value of an argument. Raises ArgumentTypeError."""
        try:
            return Path(text) if option.kind == "path" else option.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def add_run(parser: argparse.ArgumentParser, about: str = "a file that --mapsat-save wrote, or a journal") -> None:
    """Add the positional argument for a saved run; ``about`` is the help text."""
    parser.add_argument("run", metavar="RUN", type=Path, help=about)


def add_suite(
    parser: argparse.ArgumentParser,
    about: str = "the suite that was run, or a part of it; repeatable",
    *,
    action: Literal["append", "store"] = "append",
) -> None:
    """Add the option ``--suite``, for use with ``suites_of``."""
    about = f"{about} (default: mapsat_cases of the ini file, else {SUITE})"
    parser.add_argument("--suite", metavar="PATH", type=Path, action=action, help=about)


def suites_of(options: argparse.Namespace) -> list[Path]:
    """Return the suites of ``--suite``, else of ``mapsat_cases`` in pytest's ini file, else ``benchmark_cases``.

    Raises:
        UsageError: the ini file cannot be read.
    """
    from pytest_mapsat.pytest_plugin.private import ini_lines

    if options.suite is not None:
        return options.suite if isinstance(options.suite, list) else [options.suite]
    here = Path.cwd()
    files = (folder / name for folder in (here, *here.parents) for name in _ROOTS)
    settings = ((path.parent, lines) for path in files if (lines := ini_lines(path, OPTIONS["cases"].dest)) is not None)
    folder, lines = next(settings, (here, []))
    return [Path(os.path.relpath(folder / line)) for line in lines] or [SUITE]


def suite_paths(options: argparse.Namespace, nodeids: Iterable[str]) -> list[Path]:
    """Return the suites that options name; empty if all cases are in Python and ``--suite`` is not given."""
    in_python = {nodeid.partition("::")[0].endswith(".py") for nodeid in nodeids} == {True}
    return [] if in_python and options.suite is None else list(suites_of(options))


def named_case(entries: Iterable[CaseEntry], name: str | None, place: object) -> CaseEntry:
    """Return the entry of the case with this name; for None, the first entry.

    Raises:
        UsageError: there is none at the place.
    """
    by_id = {entry.id: entry for entry in entries}
    if not by_id or (name is not None and name not in by_id):
        raise UsageError(f"{place}: there is no case" + (f" {name!r}{hint_at(name, by_id)}" if name else ""))
    return next(iter(by_id.values())) if name is None else by_id[name]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def add_plugins(parser: argparse.ArgumentParser) -> None:
    """Add the option ``-p`` for modules with checks, metrics and sandboxes."""
    about = "a module or file that adds checks, metrics or sandboxes; repeatable (default: conftest.py of the project and the suite)"
    parser.add_argument("-p", dest="plugins", metavar="MODULE", action="append", default=[], help=about)


def write(lines: Iterable[object]) -> None:
    """Print lines to standard output."""
    sys.stdout.write("".join(f"{printed(line)}\n" for line in lines))
    sys.stdout.flush()


def write_json(value: Any, **options: Any) -> None:
    """Print a value as JSON to standard output."""
    sys.stdout.write(printed_json(json.dumps(value, ensure_ascii=False, indent=2, **options)) + "\n")
    sys.stdout.flush()


def respond(options: argparse.Namespace, data: Any, lines: Iterable[object]) -> int:
    """Print a result as JSON with ``--json``, otherwise as lines; return the exit status OK."""
    write_json(data) if options.json else write(lines)
    return OK


def tell(message: object) -> None:
    """Print a message to standard error, such as a warning, that is not part of the result."""
    sys.stderr.write(f"mapsat: {printed(message)}\n")


def width() -> int:
    """Return the width for tables: that of the terminal, and at least 60."""
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def deliver_run(run: Run, *, as_json: bool, saved: Path | None) -> int:
    """Save a run if requested, print its summary without episodes, and return the exit status.

    Args:
        run: the run.
        as_json: whether it is printed as JSON.
        saved: the file that it is written to; None: it is not saved.
    """
    from pytest_mapsat.formats import run_head, save_run
    from pytest_mapsat.reports import summary_lines

    if saved is not None:
        save_run(saved, run)
    if as_json:
        write_json({name: part for name, part in run_head(run).items() if name not in ("timing", "starts")})
    else:
        name = "" if saved is None else str(saved)
        write(line.text for line in summary_lines(run, width=width(), colour=False, full=True, saved=name))
    return status_of(run)


def status_of(run: Run) -> int:
    """Return the exit status for a run: OK if its gate passed, else FINDINGS."""
    return OK if run.gate.outcome == "passed" else FINDINGS


class Added(NamedTuple):
    """The additions of packages and modules: all metric sets by name, including the built-in ones, and the sandbox hooks."""

    metric_sets: Mapping[str, MetricSet]
    sandboxes: tuple[SandboxHook, ...]


def load_added(modules: Sequence[str], suites: Sequence[Path]) -> Added:
    """Return the metric sets and sandboxes of installed packages and of modules; hooks are called without a pytest config.

    Args:
        modules: files that end in ``.py``, or names, found from the current folder first; each has a hook of ours, or adds checks. None: the conftests
            that pytest would load, from the root of the project down to the suites.
        suites: the folders of suites, or paths in them.

    Raises:
        UsageError: a module that was named cannot be loaded or adds nothing, or hooks break.
        OptimisedError: there are checks, and Python leaves out their assertions.
    """
    from pytest_mapsat.metrics import gather_metric_sets
    from pytest_mapsat.sandbox import installed_sandboxes, sandbox_hook

    exchange({})
    loaded = []
    for name in modules:
        checks = len(added_checks())
        module = _module(name)
        if len(added_checks()) == checks and not any(hasattr(module, hook) for hook in _HOOKS):
            hooks = ", ".join(_HOOKS)
            raise UsageError(f"-p {name}: it adds no check with @mapsat.check, and has none of the hooks {hooks}")
        loaded.append(module)
    for path in () if modules else _conftests(suites):
        try:
            loaded.append(_module(str(path)))
        except UsageError as error:
            problem = str(error).removeprefix("-p ")
            tell(f"warning: {problem}; its checks, metrics and sandboxes are not known here")
    added_checks()  # what is wrong with them is told before any of them is asked
    sandboxes = [sandbox_hook(module) for module in loaded if hasattr(module, "pytest_mapsat_sandbox")]
    metrics = [
        _called(f"pytest_mapsat_metrics of {module.__name__}", module.pytest_mapsat_metrics, config=None)
        for module in loaded
        if hasattr(module, "pytest_mapsat_metrics")
    ]
    return Added(gather_metric_sets(metrics), (*installed_sandboxes(), *sandboxes))


def _conftests(suites: Sequence[Path]) -> list[Path]:
    """Return the existing conftests from the project's root down to the current folder and the suites, outer ones first."""
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if any((folder / name).is_file() for name in _ROOTS)), here)
    below = [path.resolve() for path in (here, *suites) if path.resolve().is_relative_to(root)]
    folders = {folder for path in below for folder in (path, *path.parents) if folder.is_relative_to(root)}
    conftests = (folder / "conftest.py" for folder in sorted(folders))
    return [path for path in conftests if path.is_file()]


def _module(name: str) -> Any:
    """Return the loaded module with a name, or in a ``.py`` file. Raises UsageError."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    load = load_file if name.endswith(".py") else importlib.import_module
    return _called(f"-p {name} cannot be loaded", load, name)


def _called(what: str, function: Callable[..., Any], *arguments: object, **options: object) -> Any:
    """Call a function of the user and return its result. Raises UsageError, beginning with ``what``, if the function raises."""
    try:
        return call_user_code(function, *arguments, **options)
    except UserCodeError as broken:
        raise UsageError(f"{what}: {describe_error(broken.error)}") from None
