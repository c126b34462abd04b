"""``mapsat init`` and ``mapsat import``: a suite to begin with, out of the package itself or from the published files of another benchmark."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from shlex import quote

from . import shared

NEXT = (
    ("pytest --mapsat-agent=my_agent:Agent", "two cases pass, one fails and says why: mend my_agent.py"),
    ("mapsat lint benchmark_cases", "what is wrong or missing in your cases; --mutants tries them"),
    ("pytest --mapsat-agent=my_agent:Agent --mapsat-judge=llm:MODEL", "once cases ask for prose: a model reads it"),
)
#: What comes next after ``--for``; see ``NEXT``.
_NEXT_FOR = (
    ("pytest", "one case passes, one fails: it cancels though the guest said no; conftest.py says where yours goes"),
    ("pytest --mapsat-trials=4", "each case four times: how often your own agent gets it right"),
)


def _starts() -> list[str]:
    """Return what ``--for`` knows."""
    from pytest_mapsat.agents.frameworks import ADAPTERS

    return ["service", "function", *ADAPTERS]


def _places(start: str | None) -> dict[str, Path]:
    """Return the files of a start by where each goes; None: the suite of a small shop."""
    home, alone = shared.starts(), start in (None, "service", "function")
    folder = home / ((start or "shop") if alone else "framework")
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and "__pycache__" not in file.parts)
    places = {file.relative_to(folder).as_posix(): file for file in files}
    cases = home / "service" / "test_bookings.py"
    return (
        places if alone else {**places, "hotel/test_bookings.py": cases, "my_agent.py": home / "agents" / f"{start}.py"}
    )


def _start(text: str) -> str:
    """Read what ``--for`` is given; names of Python packages are taken, too."""
    from pytest_mapsat.model import hint_at

    name, starts = text.lower().replace("_", "-"), _starts()
    if name not in starts:
        longer = [start for start in starts if name in start]
        near = f" (did you mean {longer[0]!r}?)" if longer else hint_at(name, starts)
        raise argparse.ArgumentTypeError(f"found {text!r}, expected {', '.join(starts)}{near}")
    return name


def _init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path(), help="where (default: here)")
    about = "the smallest start for what you have, in place of a whole suite: a service with a database, a function, or an agent of a framework; one of: %(choices)s"
    parser.add_argument("--for", metavar="WHAT", dest="start", type=_start, choices=_Choices(_starts), help=about)
    parser.add_argument("--json", action="store_true", help="print the files and the next commands as JSON")


def _init(options: argparse.Namespace) -> int:
    from pytest_mapsat.formats import printable

    folder: Path = options.folder
    places = _places(options.start)
    _write(folder, places, f"mapsat init {f'--for {options.start} ' if options.start else ''}benchmark")
    following = _NEXT_FOR if options.start else NEXT
    steps = [f"cd {quote(printable(str(folder)))}"] if folder != Path() else []
    steps += [command for command, _ in following]
    for note in _missing(options.start):
        shared.tell(note)
    width = max(len(command) for command, _ in following)
    lines = [f"wrote {printable(str(folder / place))}" for place in places]
    lines += ["", "next:", *(f"  {step}" for step in steps[: -len(following)])]
    lines += [f"  {command:{width}}  # {what}" for command, what in following]
    if not options.start:
        lines += ["", "or a smaller start, for what you have: mapsat init --for service|function|FRAMEWORK"]
    return shared.respond(options, {"folder": printable(str(folder)), "files": list(places), "next": steps}, lines)


def _missing(start: str | None) -> Iterator[str]:
    """Yield what a start of ``--for`` needs besides, and is not there."""
    from importlib.util import find_spec

    from pytest_mapsat.agents.frameworks import adapter_named
    from pytest_mapsat.model import UsageError

    if start == "service" and find_spec("sqlalchemy") is None:
        yield "SqlEnvironment needs SQLAlchemy; run: pip install 'pytest-mapsat[sql]'"
    if start == "claude-agent-sdk":
        yield "the SDK has no model for tests: the agent asks Claude, with ANTHROPIC_API_KEY or a login; which cases pass is up to the model"
    if start and (adapter := adapter_named(start)) is not None:
        try:
            adapter.check()
        except UsageError as error:
            yield str(error)


def _write(folder: Path, places: Mapping[str, Path], elsewhere: str) -> None:
    """Write all files, or none: what was written is taken away again where one fails. ``elsewhere``: a command that writes them into a new folder."""
    from pytest_mapsat.formats import add_files, printable
    from pytest_mapsat.model import UsageError

    taken = [place for place in places if os.path.lexists(folder / place)]
    if taken:
        raise UsageError(
            f"{printable(str(folder / taken[0]))} is there already, and nothing is overwritten; name a new folder, as in: {elsewhere}"
        )
    try:
        add_files(folder, {place: source.read_bytes() for place, source in places.items()})
    except OSError as error:
        raise UsageError(f"{printable(str(error.filename or folder))}: {error.strerror}") from None


class _Choices:
    """The values of an argument, which are looked up when a value or the help asks for them."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())


def _formats() -> Iterable[str]:
    from pytest_mapsat.suite import import_formats

    return import_formats()


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", metavar="FORMAT", choices=_Choices(_formats), help="one of: %(choices)s")
    parser.add_argument("src", metavar="SRC", type=Path, help="the folder or the file to read")
    parser.add_argument("dest", metavar="DEST", type=Path, help="the suite's folder; must not exist, or be empty")
    parser.add_argument("--json", action="store_true", help="print the import report as JSON")


def _import(options: argparse.Namespace) -> int:
    from pytest_mapsat.suite import importer_of

    report = importer_of(options.format)(options.src, options.dest)
    recordings = f"{report.recordings} recordings ({report.orphans} of no case, kept aside)"
    summary = f"{options.dest}: {report.cases} cases, {report.tools} tools, {recordings}"
    left = [f"not carried over: {count} {what}" for what, count in report.not_carried.items()]
    return shared.respond(options, report.to_json(), [summary, *left, *report.notes])


COMMANDS = {
    "init": shared.Command(
        "Files that are there are never overwritten. Without --for it is a small shop: the case of total.yaml wants data (output): an agent that replies with text alone is red there.",
        _init_arguments,
        _init,
    ),
    "import": shared.Command("", _import_arguments, _import),
}
