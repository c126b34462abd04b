"""``mapsat merge``: the parts of a run that several jobs ran, put together."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .shared import SUITE, add_suite, print_run

if TYPE_CHECKING:
    from pytest_mapsat.model import Run

MORE = (
    "An episode that is in two parts, or in none, is an error. The gate is decided on the whole. "
    "Exit status 1 when it does not hold, or a case failed."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="the run files of the parts")
    parser.add_argument("--out", metavar="PATH", type=Path, required=True, help="write the whole run there")
    add_suite(parser)
    about = "the earlier run to compare the whole with; twice: an anchor besides"
    parser.add_argument("--compare", metavar="BASELINE", type=Path, action="append", help=about)
    about = "with --compare: how much a mean may fall, as ar:0.02; repeatable"
    parser.add_argument("--fail", metavar="EXPR", action="append", help=about)
    parser.add_argument("--json", action="store_true", help="print manifest, summary, groups and gate as JSON")


def run(options: argparse.Namespace) -> int:
    """Merge the parts, and write the whole."""
    from pytest_mapsat.formats import read_run, save_run
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.runs.merge import merge
    from pytest_mapsat.runs.regrade import open_suites
    from pytest_mapsat.runs.saved import check_save_path, read_baselines, refuse_journal

    check_save_path(options.out, option="--out=")
    if options.out.resolve() in {path.resolve() for path in options.runs}:
        raise UsageError(f"--out={options.out}: this is one of the parts")
    parts: dict[str, Run] = {}
    for path in options.runs:
        if str(path) in parts:
            raise UsageError(f"{path} is given twice")
        refuse_journal(path)
        parts[str(path)] = read_run(path)
    baselines = read_baselines(options.compare or ())
    if options.fail and not baselines:
        raise UsageError("--fail without a run to compare with: name it with --compare=PATH")
    try:
        whole = merge(parts, open_suites(options.suite or [SUITE]), baselines, tuple(options.fail or ()))
    except UsageError as error:
        raise UsageError(str(error).replace("--mapsat-max-drop", "--fail")) from None
    save_run(options.out, whole)
    return print_run(whole, as_json=options.json)
