"""``python -m pytest_mapsat schema``: the JSON Schemas of files."""

from __future__ import annotations

import argparse
from typing import Any

from .shared import OK, write_json

MORE = ""
NOUNS = ("case", "report", "requirements", "run", "tools")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("noun", metavar="NOUN", choices=NOUNS, help=f"one of: {', '.join(NOUNS)}")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry: a schema is always JSON")


def run(options: argparse.Namespace) -> int:
    """Print a schema."""
    from pydantic import TypeAdapter

    from pytest_mapsat.model import CommonRequirement, Run, Tool
    from pytest_mapsat.reports import Report
    from pytest_mapsat.suite import WrittenCase

    nouns: dict[str, Any] = {
        "case": WrittenCase,
        "report": Report,
        "requirements": dict[str, CommonRequirement],
        "run": Run,
        "tools": Tool | list[Tool],
    }
    write_json(TypeAdapter(nouns[options.noun]).json_schema())
    return OK
