"""``mapsat regrade``: a saved run judged and scored again, by a model too, straight or through batch files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .shared import OK, SUITE, add_plugins, add_run, add_suite, load_added, print_run, tell, write, write_json

if TYPE_CHECKING:
    from pytest_mapsat.llm import ModelClient
    from pytest_mapsat.model import Run
    from pytest_mapsat.runs.regrade import Batched, Changes

MORE = "What is not given stays as it was in the run. Exit status 1 when the gate does not hold, or a case failed."
_DIGITS = 9
_MOST_VOTES = 99
_CACHE_MODES = ("auto", "only", "refresh", "off")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_run(parser)
    add_suite(parser)
    parser.add_argument("--judge", metavar="SPEC", help="checks, recorded:PATH, llm:MODEL or llm-lean:MODEL")
    parser.add_argument(
        "--judge-votes", metavar="N", type=_votes, help="evaluations of one dialogue by a model (default 3)"
    )
    parser.add_argument(
        "--cache",
        metavar="MODE",
        choices=_CACHE_MODES,
        default="auto",
        help=f"answers of models that are kept: {', '.join(_CACHE_MODES)}",
    )
    parser.add_argument(
        "--batch-out",
        metavar="FILE",
        type=Path,
        help="make no calls; write uncached requests as JSON lines for a batch service",
    )
    parser.add_argument(
        "--batch-in", metavar="FILE", type=Path, help="read the results of a batch into the cache first"
    )
    parser.add_argument(
        "--labels",
        metavar="PATH",
        type=Path,
        help="labels of people, which come before the judge (default: labels/reviewed.jsonl of the suite)",
    )
    parser.add_argument("--fail-under", metavar="EXPR", action="append", help="thresholds, as in ar=0.65; repeatable")
    parser.add_argument(
        "--assert", metavar="LIST", dest="asserted", help="hard, facts, policies, asked, soft, success, all, or none"
    )
    parser.add_argument("--metrics", metavar="LIST", help="metric sets besides the suite's own, as in pipa")
    parser.add_argument(
        "--compare",
        metavar="BASELINE",
        type=Path,
        action="append",
        help="the earlier run that the saved one is to be compared with; twice: an anchor besides",
    )
    parser.add_argument(
        "--allow-undecided", metavar="N", type=_allowance, help="cases that may stay undecided, as 3 or 20%%"
    )
    add_plugins(parser)
    parser.add_argument("--save", metavar="PATH", type=Path, help="write the regraded run file")
    parser.add_argument("--json", action="store_true", help="print manifest, summary, groups and gate as JSON")


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 0")
    return int(text)


def _allowance(text: str) -> str:
    from pytest_mapsat.gate import parse_allowance

    try:
        parse_allowance(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text.strip()


def _votes(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:_DIGITS]) <= _MOST_VOTES:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 1 to {_MOST_VOTES}")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Regrade, and tell what came of it."""
    from pytest_mapsat.formats import save_run
    from pytest_mapsat.judges import asks_model
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.runs.regrade import changed_suites, open_suites, regrade
    from pytest_mapsat.runs.saved import read_baselines, read_saved

    changes = _changes(options)
    saved = read_saved(options.run)
    asks = asks_model(changes.judge or saved.manifest.judge.spec)
    by_batch = options.batch_in is not None or options.batch_out is not None
    if by_batch and not asks:
        raise UsageError("--batch-in and --batch-out go with --judge=llm:MODEL or llm-lean:MODEL")
    paths = options.suite or [SUITE]
    added = load_added(options.plugins, paths)
    suites = open_suites(paths, added.sandboxes)
    for warning in changed_suites(saved, suites, changes):
        tell(f"warning: {warning}")
    try:
        baselines = read_baselines(options.compare or ())

        def regraded(client: ModelClient | None) -> Run:
            metric_sets = added.metric_sets
            return regrade(
                saved, suites, changes, root=Path.cwd(), metric_sets=metric_sets, baselines=baselines, client=client
            )

        if not asks:
            result = regraded(None)
        elif by_batch:
            batched = _batched(regraded, options)
            if options.batch_out is not None and batched.open:
                return _told_what_to_ask(batched, options)
            result = batched.run
        else:
            result = _asked(regraded, options.cache)
    except UsageError as error:
        raise UsageError(str(error).replace("--mapsat-", "--")) from None  # the options of this command have no prefix
    if options.save is not None:
        save_run(options.save, result)
    return print_run(result, as_json=options.json)


def _changes(options: argparse.Namespace) -> Changes:
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.runs.regrade import Changes
    from pytest_mapsat.runs.request import parse_asserted, parse_metric_sets

    try:
        asserted = None if options.asserted is None else parse_asserted(options.asserted)
    except ValueError as error:
        raise UsageError(f"--assert: {error}") from None
    try:
        metrics = None if options.metrics is None else parse_metric_sets(options.metrics)
    except ValueError as error:
        raise UsageError(f"--metrics: {error}") from None
    return Changes(
        judge=options.judge,
        asserted=asserted,
        fail_under=None if options.fail_under is None else tuple(options.fail_under),
        allow_undecided=options.allow_undecided,
        decisions=options.labels,
        judge_votes=options.judge_votes,
        metrics=metrics,
    )


def _asked(regraded: Callable[[ModelClient], Run], mode: Any) -> Run:
    """Return the run judged through the door."""
    from pytest_mapsat.runs.request import door_for

    client = door_for(mode)
    try:
        return regraded(client)
    finally:
        client.close()


def _batched(regraded: Callable[[ModelClient], Run], options: argparse.Namespace) -> Batched:
    """Return the run judged with what the cache and a batch hold; what is wrong with rows is told."""
    from pytest_mapsat.llm import Cache
    from pytest_mapsat.runs.regrade import regrade_in_batches
    from pytest_mapsat.store import Store, store_folder

    store = Store(store_folder())
    try:
        batched = regrade_in_batches(regraded, Cache(store), read=options.batch_in, write=options.batch_out)
    finally:
        store.close()
    for problem in batched.problems:
        tell(str(problem))
    if options.batch_in is not None:
        tell(f"{batched.taken} answers read, {batched.open} requests without an answer")
    return batched


def _told_what_to_ask(batched: Batched, options: argparse.Namespace) -> int:
    """Say what was written: as long as something is to be asked, there is nothing to sum up."""
    if options.json:
        write_json({"requests": batched.written, "read": batched.taken})
    else:
        write([f"{batched.written} requests written to {options.batch_out}; --batch-in reads what comes back"])
    return OK
