"""``mapsat compare``: saved runs side by side."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .shared import FINDINGS, OK, width, write, write_json

if TYPE_CHECKING:
    from pytest_mapsat.gate import Drop, Side

MORE = "Exit status 1 when a mean fell by more than it may, or a case passed and fails in every trial now."
_PAIR = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="the earlier run, then the new one")
    parser.add_argument(
        "--fail",
        metavar="EXPR",
        action="append",
        help="how much a mean may fall, as ar:0.02 or navigation.ar:0.05, or how many cases may flip, as flips:1; repeatable (default: what the "
        "new run was asked for)",
    )
    parser.add_argument("--common", action="store_true", help="compare the cases that are alike where the runs are not")
    parser.add_argument("--inconclusive", choices=("pass", "fail"), default="pass", help="what it means not to know")
    parser.add_argument(
        "--accept",
        action="store_true",
        help="make the new run the earlier one, whatever differs: write it there, without its dialogues, to be committed as the anchor of later comparisons",
    )
    parser.add_argument(
        "--aa",
        action="store_true",
        help="the runs are of one agent, or trials of one run: tell how often the gate would give a false alarm",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name every case, requirement and group")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def run(options: argparse.Namespace) -> int:
    """Compare, and tell what changed."""
    from pytest_mapsat.gate import compare
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.runs.saved import accept, read_baseline

    if options.accept and len(options.runs) == _PAIR and not options.runs[0].exists():
        accept(options.runs[1], options.runs[0])  # the first anchor
        return _accepted(options)
    sides = [read_baseline(path) for path in options.runs]
    drops = _drops(options.fail, sides[-1])
    if options.aa:
        return _false_alarms(sides, drops, as_json=options.json)
    if len(sides) != _PAIR:
        raise UsageError(f"compare: found {len(sides)} runs, expected the earlier one and the new one (or --aa)")
    baseline, new = sides
    found = compare(baseline, new, drops, common=options.common, inconclusive=options.inconclusive)
    if not (found.comparable or options.accept):
        raise UsageError("\n".join(found.reasons).replace("mapsat compare --common", "--common"))
    if options.json:
        write_json(found.model_dump(mode="json"))
    else:
        from pytest_mapsat.reports import change_lines

        write(line.text for line in change_lines(found, width(), full=options.verbose))
        more = ": no case flipped; --fail says how much a mean may fall"
        outcome = found.outcome if found.comparable else "not compared"
        write([f"{'outcome':9}{outcome}{'' if drops or outcome != 'passed' else more}"])
    if options.accept:
        accept(options.runs[1], options.runs[0])
        return _accepted(options)
    held = found.outcome == "passed" or (found.outcome == "inconclusive" and options.inconclusive == "pass")
    return OK if held else FINDINGS


def _accepted(options: argparse.Namespace) -> int:
    if not options.json:
        write([f"accepted {options.runs[1]} is written to {options.runs[0]}: commit it"])
    return OK


def _drops(given: Sequence[str] | None, new: Side) -> tuple[Drop, ...]:
    from pytest_mapsat.gate import parse_drops
    from pytest_mapsat.model import UsageError

    manifest = new.manifest
    if given is None:
        return parse_drops(manifest.options.max_drop, manifest.metrics)
    try:
        return parse_drops(given, manifest.metrics)
    except UsageError as error:
        raise UsageError(str(error).replace("--mapsat-max-drop", "--fail")) from None


def _false_alarms(sides: Sequence[Side], drops: Sequence[Drop], *, as_json: bool) -> int:
    from pytest_mapsat.gate import false_alarms
    from pytest_mapsat.model import UsageError

    if not drops:
        raise UsageError("--aa holds runs against rules: give some with --fail, as --fail=ar:0.02")
    alarms = false_alarms(sides, drops)
    if as_json:
        write_json(alarms.to_json())
    else:
        write(alarms.lines())
    return OK
