"""``mapsat import``: a suite from the published files of another benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from .shared import OK, write, write_json

MORE = ""


class _Formats:
    """The formats that can be imported; installed packages are looked through when a value or the help asks for them."""

    def __iter__(self) -> Iterator[str]:
        from pytest_mapsat.suite import import_formats

        return import_formats()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("format", metavar="FORMAT", choices=_Formats(), help="one of: %(choices)s")
    parser.add_argument("src", metavar="SRC", type=Path, help="the folder with the published files, or the table")
    parser.add_argument("dest", metavar="DEST", type=Path, help="the suite's folder; must not exist, or be empty")
    parser.add_argument("--json", action="store_true", help="print the import report as JSON")


def run(options: argparse.Namespace) -> int:
    """Import, and tell what was carried over."""
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
