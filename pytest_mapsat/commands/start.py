"""``mapsat init`` and ``mapsat import``: a suite to begin with, out of the package itself or from the published files of another benchmark."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from .shared import OK, Command, write, write_json

#: Where each file goes, and what it is in ``starter/``.
FILES = {
    **{
        f"benchmark_cases/{name}": f"benchmark_cases/{name}"
        for name in (
            "suite.yaml",
            "tools.yaml",
            "state/orders.jsonl",
            "cancel-noodles.yaml",
            "total.yaml",
            "too-late.yaml",
        )
    },
    "conftest.py": "conftest.py",
    "my_agent.py": "my_agent.py",
    ".github/workflows/benchmark.yml": "workflow.yml",
}
NEXT = (
    ("pytest --mapsat-agent=my_agent:Agent", "two cases pass, one fails and says why: mend my_agent.py"),
    ("mapsat lint benchmark_cases", "what is wrong or missing in your cases; --mutants tries them"),
    ("pytest --mapsat-agent=my_agent:Agent --mapsat-judge=llm:MODEL", "once cases ask for prose: a model reads it"),
)


def _init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path(), help="where (default: here)")
    parser.add_argument("--json", action="store_true", help="print the files and the next commands as JSON")


def _init(options: argparse.Namespace) -> int:
    from pytest_mapsat.formats import printable

    folder: Path = options.folder
    _write(folder)
    steps = [*([f"cd {printable(str(folder))}"] if folder != Path() else []), *(command for command, _ in NEXT)]
    if options.json:
        write_json({"folder": printable(str(folder)), "files": list(FILES), "next": steps})
        return OK
    width = max(len(command) for command, _ in NEXT)
    write(f"wrote {printable(str(folder / place))}" for place in FILES)
    write(["", "next:", *(f"  {step}" for step in steps[: -len(NEXT)])])
    write(f"  {command:{width}}  # {what}" for command, what in NEXT)
    return OK


def _write(folder: Path) -> None:
    """Write all files, or none: what was written is taken away again where one fails."""
    from pytest_mapsat.formats import printable
    from pytest_mapsat.model import UsageError

    taken = [place for place in FILES if os.path.lexists(folder / place)]
    if taken:
        raise UsageError(
            f"{printable(str(folder / taken[0]))} is there already, and nothing is overwritten; name a new folder, as in: mapsat init benchmark"
        )
    starter = files("pytest_mapsat") / "starter"
    written: list[Path] = []
    try:
        for place, source in FILES.items():
            path = folder / place
            written += [parent for parent in reversed(path.parents) if not parent.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                written.append(path)
                file.write((starter / source).read_bytes())
    except OSError as error:
        for path in reversed(written):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise UsageError(f"{printable(str(error.filename or folder))}: {error.strerror}") from None


class _Formats:
    """The formats that can be imported; installed packages are looked through when a value or the help asks for them."""

    def __iter__(self) -> Iterator[str]:
        from pytest_mapsat.suite import import_formats

        return import_formats()


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", metavar="FORMAT", choices=_Formats(), help="one of: %(choices)s")
    parser.add_argument("src", metavar="SRC", type=Path, help="the folder or the file to read")
    parser.add_argument("dest", metavar="DEST", type=Path, help="the suite's folder; must not exist, or be empty")
    parser.add_argument("--json", action="store_true", help="print the import report as JSON")


def _import(options: argparse.Namespace) -> int:
    from pytest_mapsat.suite import importer_of

    report = importer_of(options.format)(options.src, options.dest)
    if options.json:
        write_json(report.to_json())
        return OK
    recordings = f"{report.recordings} recordings ({report.orphans} of no case, kept aside)"
    write([f"{options.dest}: {report.cases} cases, {report.tools} tools, {recordings}"])
    write(f"not carried over: {count} {what}" for what, count in report.not_carried.items())
    write(report.notes)
    return OK


COMMANDS = {
    "init": Command(
        "Files that are there are never overwritten. The case of total.yaml wants data (output): an agent that replies with text alone is red there.",
        _init_arguments,
        _init,
    ),
    "import": Command("", _import_arguments, _import),
}
