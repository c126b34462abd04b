"""``mapsat regrade``: a saved run judged and scored again, by a model too, straight or through batch files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .shared import (
    OK,
    Command,
    add_options,
    add_plugins,
    add_run,
    add_suite,
    load_added,
    print_run,
    suite_paths,
    tell,
    write,
    write_json,
)

if TYPE_CHECKING:
    from pytest_mapsat.llm import ModelClient
    from pytest_mapsat.model import Run
    from pytest_mapsat.pytest_plugin.regrading import Regrading
    from pytest_mapsat.runs.regrade import Batched, Changes
    from pytest_mapsat.suite import Suite


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    add_suite(parser)
    add_options(parser, "judge", "judge-votes", "cache")
    about = "make no calls; write uncached requests as JSON lines for a batch service"
    parser.add_argument("--batch-out", metavar="FILE", type=Path, help=about)
    about = "read the results of a batch into the cache first"
    parser.add_argument("--batch-in", metavar="FILE", type=Path, help=about)
    about = "labels of people, which come before the judge (default: labels/reviewed.jsonl of the suite)"
    parser.add_argument("--labels", metavar="PATH", type=Path, help=about)
    add_options(parser, "fail-under", "assert", "metrics", "compare", "allow-undecided")
    add_plugins(parser)
    add_options(parser, "save", save="write the regraded run file")
    about = "play cases in Python that ask for fixtures, too; without it their labels are kept"
    parser.add_argument("--with-fixtures", action="store_true", help=about)
    parser.add_argument("--json", action="store_true", help="print manifest, summary, groups and gate as JSON")


def _run(options: argparse.Namespace) -> int:
    from pytest_mapsat.judges import asks_model
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.pytest_plugin.regrading import with_bodies
    from pytest_mapsat.runs.regrade import changed_suites, open_suites, regrade
    from pytest_mapsat.runs.request import door_for
    from pytest_mapsat.runs.saved import read_baselines, read_saved

    changes = _changes(options)
    saved = read_saved(options.run)
    asks = asks_model(changes.judge or saved.manifest.judge.spec)
    by_batch = options.batch_in is not None or options.batch_out is not None
    if by_batch and not asks:
        raise UsageError("--batch-in and --batch-out go with --judge=llm:MODEL or llm-lean:MODEL")
    nodeids = [card.nodeid for card in saved.cases]
    paths = suite_paths(options, nodeids)
    added = load_added(options.plugins, paths or [Path.cwd()])
    opened = open_suites(paths, added.sandboxes)
    baselines = read_baselines(options.compare or ())

    def work(bodies: Regrading[Run | Batched] | None, suites: Sequence[Suite]) -> Run | Batched:
        for suite in suites:
            suite.sandboxes = added.sandboxes
        for warning in changed_suites(saved, suites, changes):
            tell(f"warning: {warning}")

        def regraded(client: ModelClient | None) -> Run:
            sets, root = added.metric_sets, Path.cwd()
            return regrade(
                saved, suites, changes, root=root, metric_sets=sets, baselines=baselines, client=client, bodies=bodies
            )

        if by_batch:
            return _batched(regraded, options)
        if not asks:
            return regraded(None)
        with closing(door_for(options.cache or "auto")) as client:
            return regraded(client)

    return _told(with_bodies(nodeids, opened, work, fixtures=options.with_fixtures), options)


def _told(result: Run | Batched, options: argparse.Namespace) -> int:
    """Save and print what came of it; return the exit status."""
    from pytest_mapsat.formats import save_run
    from pytest_mapsat.model import Run

    if not isinstance(result, Run):
        if options.batch_out is not None and result.open:
            return _told_what_to_ask(result, options)
        result = result.run
    if options.save is not None:
        save_run(options.save, result)
    return print_run(result, as_json=options.json, saved=options.save)


def _changes(options: argparse.Namespace) -> Changes:
    from pytest_mapsat.gate import parse_allowance
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.runs.regrade import Changes
    from pytest_mapsat.runs.request import parse_asserted, parse_metric_sets

    def read(name: str, parse: Callable[[str], Any]) -> Any:
        text = getattr(options, name.replace("-", "_"))
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            raise UsageError(f"--{name}: {error}") from None

    read("allow-undecided", parse_allowance)
    return Changes(
        judge=options.judge,
        asserted=read("assert", parse_asserted),
        fail_under=None if options.fail_under is None else tuple(options.fail_under),
        allow_undecided=options.allow_undecided,
        decisions=options.labels,
        judge_votes=options.judge_votes,
        metrics=read("metrics", parse_metric_sets),
    )


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


COMMANDS = {
    "regrade": Command(
        "What is not given stays as it was in the run. Exit status 1 when the gate does not hold, or a case failed.",
        _arguments,
        _run,
    )
}
