"""``mapsat import``: a suite from the published files of another benchmark."""

from __future__ import annotations

import argparse
from pathlib import Path

from .shared import OK, write, write_json

MORE = ""
#: Named here so that --help needs no import of theirs; a test holds the two together.
FORMATS = ("mapsatisfybench", "mobilitybench")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("format", metavar="FORMAT", choices=FORMATS, help=f"one of: {', '.join(FORMATS)}")
    parser.add_argument("src", metavar="SRC", type=Path, help="the folder with the published files, or the table")
    parser.add_argument("dest", metavar="DEST", type=Path, help="the suite's folder; must not exist, or be empty")
    parser.add_argument("--json", action="store_true", help="print the import report as JSON")


def run(options: argparse.Namespace) -> int:
    """Import, and tell what was carried over."""
    from pytest_mapsat.suite.importers import FORMATS as importers  # noqa: N811  a constant there, a table here

    report = importers[options.format](options.src, options.dest)
    if options.json:
        write_json(report.to_json())
        return OK
    records = f"{report.records} records ({report.orphans} of no case, kept aside)"
    write([f"{options.dest}: {report.cases} cases, {report.tools} tools, {records}"])
    write(f"not carried over: {count} {what}" for what, count in report.not_carried.items())
    write(report.notes)
    return OK
