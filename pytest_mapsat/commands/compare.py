"""``mapsat compare`` and ``mapsat merge``: saved runs side by side, and the parts of one put together."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_mapsat.gate import Drop, Side
    from pytest_mapsat.model import Run

_OK, _FINDINGS = 0, 1
_NARROWEST = 60
_PAIR = 2
_NAMED = 5


def add_compare(commands: Any) -> None:
    """Add ``mapsat compare``."""
    about = "tell what changed between two runs, and whether it may"
    parser = commands.add_parser(
        "compare",
        help=about,
        description=f"{about[0].upper()}{about[1:]}. Exit status 1 when a mean fell by more than it may, or a case passed and fails in every trial now.",
    )
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
    parser.add_argument("-v", "--verbose", action="store_true", help="name every case, factor and group")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.set_defaults(command=_compare)


def add_merge(commands: Any) -> None:
    """Add ``mapsat merge``."""
    about = "put the parts of a run together that several jobs ran"
    parser = commands.add_parser(
        "merge",
        help=about,
        description=f"{about[0].upper()}{about[1:]}. An episode that is in two parts, or in none, is an error. The gate is decided on the whole. "
        "Exit status 1 when it does not hold, or a case failed.",
    )
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="the run files of the parts")
    parser.add_argument("--out", metavar="PATH", type=Path, required=True, help="write the whole run there")
    parser.add_argument(
        "--suite",
        metavar="PATH",
        type=Path,
        action="append",
        help="the suite that was run; repeatable (default: benchmark_cases)",
    )
    parser.add_argument(
        "--compare",
        metavar="BASE",
        type=Path,
        action="append",
        help="the earlier run to compare the whole with; twice: an anchor besides",
    )
    parser.add_argument(
        "--fail",
        metavar="EXPR",
        action="append",
        help="with --compare: how much a mean may fall, as ar:0.02; repeatable",
    )
    parser.add_argument("--json", action="store_true", help="print manifest, summary, groups and gate as JSON")
    parser.set_defaults(command=_merge)


def _compare(options: argparse.Namespace) -> int:
    from pytest_mapsat.gate import compare  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.model import UsageError  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.saved import accept, read_base  # noqa: PLC0415  likewise

    if options.accept and len(options.runs) == _PAIR and not options.runs[0].exists():
        accept(options.runs[1], options.runs[0])  # the first anchor
        return _accepted(options)
    sides = [read_base(path) for path in options.runs]
    drops = _drops(options.fail, sides[-1])
    if options.aa:
        return _false_alarms(sides, drops, as_json=options.json)
    if len(sides) != _PAIR:
        raise UsageError(f"compare: found {len(sides)} runs, expected the earlier one and the new one (or --aa)")
    base, new = sides
    found = compare(base, new, drops, common=options.common, inconclusive=options.inconclusive)
    if not (found.comparable or options.accept):
        raise UsageError("\n".join(found.reasons).replace("mapsat compare --common", "--common"))
    if options.json:
        _print(json.dumps(found.model_dump(mode="json"), ensure_ascii=False, indent=2))
    else:
        from pytest_mapsat.reports import change_lines  # noqa: PLC0415  lazy

        for line in change_lines(found, _width(), full=options.verbose):
            _print(line.text)
        more = ": no case flipped; --fail says how much a mean may fall"
        outcome = found.outcome if found.comparable else "not compared"
        _print(f"{'outcome':9}{outcome}{'' if drops or outcome != 'passed' else more}")
    if options.accept:
        accept(options.runs[1], options.runs[0])
        return _accepted(options)
    held = found.outcome == "passed" or (found.outcome == "inconclusive" and options.inconclusive == "pass")
    return _OK if held else _FINDINGS


def _accepted(options: argparse.Namespace) -> int:
    if not options.json:
        _print(f"accepted {options.runs[1]} is written to {options.runs[0]}: commit it")
    return _OK


def _drops(given: Sequence[str] | None, new: Side) -> tuple[Drop, ...]:
    from pytest_mapsat.gate import parse_drops  # noqa: PLC0415  lazy
    from pytest_mapsat.model import UsageError  # noqa: PLC0415  likewise

    manifest = new.manifest
    if given is None:
        return parse_drops(manifest.options.max_drop, manifest.metrics)
    try:
        return parse_drops(given, manifest.metrics)
    except UsageError as error:
        raise UsageError(str(error).replace("--mapsat-max-drop", "--fail")) from None


def _false_alarms(sides: Sequence[Side], drops: Sequence[Drop], *, as_json: bool) -> int:
    from pytest_mapsat.gate import false_alarms  # noqa: PLC0415  lazy
    from pytest_mapsat.model import UsageError  # noqa: PLC0415  likewise

    if not drops:
        raise UsageError("--aa holds runs against rules: give some with --fail, as --fail=ar:0.02")
    alarms = false_alarms(sides, drops)
    if as_json:
        _print(json.dumps(alarms.to_json(), ensure_ascii=False, indent=2))
    else:
        for line in alarms.lines():
            _print(line)
    return _OK


def _merge(options: argparse.Namespace) -> int:
    from pytest_mapsat.formats import read_run, save_run  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.model import UsageError  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.merge import merge  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.regrade import open_suites  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.saved import (  # noqa: PLC0415  likewise
        check_save_path,
        read_bases,
        refuse_journal,
    )

    try:
        check_save_path(options.out)
    except UsageError as error:
        raise UsageError(str(error).replace("--mapsat-save", "--out")) from None
    if options.out.resolve() in {path.resolve() for path in options.runs}:
        raise UsageError(f"--out={options.out}: this is one of the parts")
    parts: dict[str, Run] = {}
    for path in options.runs:
        if str(path) in parts:
            raise UsageError(f"{path} is given twice")
        refuse_journal(path)
        parts[str(path)] = read_run(path)
    bases = read_bases(options.compare or ())
    if options.fail and not bases:
        raise UsageError("--fail without a run to compare with: name it with --compare=PATH")
    try:
        run = merge(parts, open_suites(options.suite or [Path("benchmark_cases")]), bases, tuple(options.fail or ()))
    except UsageError as error:
        raise UsageError(str(error).replace("--mapsat-max-drop", "--fail")) from None
    save_run(options.out, run)
    if options.json:
        _print(
            json.dumps(
                run.model_dump(mode="json", exclude={"cases", "timing"}, by_alias=True), ensure_ascii=False, indent=2
            )
        )
    else:
        from pytest_mapsat.reports import summary_lines  # noqa: PLC0415  lazy

        for line in summary_lines(run, width=_width(), colour=False):
            _print(line.text)
    failed = failed_items(run)
    if failed:
        sys.stderr.write(f"mapsat: {failed}\n")
    return _OK if run.gate.outcome == "passed" and not failed else _FINDINGS


def failed_items(run: Run) -> str:
    """Say which cases of a run failed, as pytest would have; empty where none did."""
    from pytest_mapsat.metrics.trials import case_rows  # noqa: PLC0415  lazy

    failed = [row.id for row in case_rows(run.cases, run.manifest.options.pass_rule) if row.outcome == "failed"]
    more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
    return f"{len(failed)} case{'s' * (len(failed) != 1)} failed: {', '.join(failed[:_NAMED])}{more}" if failed else ""


def _width() -> int:
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
