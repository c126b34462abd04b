"""``mapsat init``: a suite, its sandbox, an agent and a workflow to begin with, out of the package itself."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from .shared import OK, write, write_json

MORE = "Files that are there are never overwritten."
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path(), help="where (default: here)")
    parser.add_argument("--json", action="store_true", help="print the files and the next commands as JSON")


def run(options: argparse.Namespace) -> int:
    """Write the files, tell them and what to do next."""
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
