"""``mapsat compare``: saved runs side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .shared import FINDINGS, OK, width, write, write_json

if TYPE_CHECKING:
    from pytest_mapsat.gate import Drop, Side

MORE = "Exit status 1 when a mean fell by more than it may, or a case passed and fails in every trial now."
_PAIR = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="the baseline, then the new run")
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
        help="make the new run the baseline, whatever differs: write it there, without its dialogues, to be committed as the anchor of later comparisons",
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
    from pytest_mapsat.gate import compare, false_alarms
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.reports import change_lines
    from pytest_mapsat.runs.saved import read_baseline

    if options.accept and len(options.runs) == _PAIR and not options.runs[0].exists():
        return _accepted(options)  # the first anchor
    sides = [read_baseline(path) for path in options.runs]
    drops = _drops(options.fail, sides[-1])
    if options.aa:
        if not drops:
            raise UsageError("--aa holds runs against rules: give some with --fail, as --fail=ar:0.02")
        alarms = false_alarms(sides, drops)
        write_json(alarms) if options.json else write(_alarm_lines(alarms))
        return OK
    if len(sides) != _PAIR:
        raise UsageError(f"compare: found {len(sides)} runs, expected the earlier one and the new one (or --aa)")
    baseline, new = sides
    comparison = compare(baseline, new, drops, common=options.common, inconclusive=options.inconclusive)
    outcome = comparison.outcome if comparison.comparable else "not compared"
    if not (comparison.comparable or options.accept):
        raise UsageError("\n".join(comparison.reasons).replace("mapsat compare --common", "--common"))
    if options.json:
        write_json(comparison.model_dump(mode="json"))
    else:
        write(line.text for line in change_lines(comparison, width(), full=options.verbose))
        more = ": no case flipped; --fail says how much a mean may fall"
        write([f"{'outcome':9}{outcome}{'' if drops or outcome != 'passed' else more}"])
    if options.accept:
        return _accepted(options)
    return OK if outcome == "passed" or (outcome == "inconclusive" and options.inconclusive == "pass") else FINDINGS


def _accepted(options: argparse.Namespace) -> int:
    from pytest_mapsat.runs.saved import accept

    accept(options.runs[1], options.runs[0])
    if not options.json:
        write([f"accepted {options.runs[1]} is written to {options.runs[0]}: commit it"])
    return OK


def _drops(given: Sequence[str] | None, new: Side) -> tuple[Drop, ...]:
    from pytest_mapsat.gate import parse_drops
    from pytest_mapsat.model import UsageError

    manifest = new.manifest
    try:
        return parse_drops(manifest.options.max_drop if given is None else given, manifest.metrics)
    except UsageError as error:
        raise UsageError(str(error).replace("--mapsat-max-drop", "--fail")) from None


def _alarm_lines(alarms: dict[str, Any]) -> Iterator[str]:
    comparisons, ended = alarms["comparisons"], alarms["outcomes"]
    yield (
        f"one agent held against itself, {comparisons} comparisons: {ended['failed']} failed "
        f"({ended['failed'] / comparisons:.1%}), {ended['inconclusive']} inconclusive, {ended['passed']} passed"
    )
    for rule in alarms["rules"]:
        smallest = rule["smallest"]
        seen = "" if smallest is None else f"; sees a drop of {smallest:.3f} four times in five"
        yield f"  {rule['rule']}: {rule['failed']} failed, {rule['inconclusive']} inconclusive{seen}"
