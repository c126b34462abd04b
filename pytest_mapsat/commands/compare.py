"""``mapsat compare`` and ``mapsat merge``: saved runs side by side, and the parts of one run put together."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_mapsat.formats import read_run
from pytest_mapsat.gate import Side, compare, false_alarms, likeness, parse_allowance, parse_drops
from pytest_mapsat.model import Run, UsageError
from pytest_mapsat.reports import change_lines, memory_lines, memory_rows
from pytest_mapsat.runs.saved import accept, check_save_path, read_baseline, read_baselines, read_saved, refuse_journal
from pytest_mapsat.store import Store, store_folder

from . import shared

if TYPE_CHECKING:
    from pytest_mapsat.llm import ModelClient
    from pytest_mapsat.pytest_plugin.regrading import Regrading
    from pytest_mapsat.runs.regrade import Batched, Changes
    from pytest_mapsat.suite import Suite

_PAIR = 2


def add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat compare``."""
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="the baseline, then the new run")
    shared.add_options(parser, "max-drop")
    parser.add_argument("--common", action="store_true", help="compare the cases that are the same in both runs")
    shared.add_options(parser, "inconclusive")
    about = "write the new run, without its dialogues, to this file as the baseline"
    parser.add_argument("--accept", action="store_true", help=about)
    about = "count false alarms between runs of one agent, or between halves of the trials of one run"
    parser.add_argument("--aa", action="store_true", help=about)
    about = "show runs that differ in agent and --mapsat-agent-memory as a table"
    parser.add_argument("--memories", action="store_true", help=about)
    parser.add_argument("-v", "--verbose", action="store_true", help="name every case, requirement and group")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def run_compare(options: argparse.Namespace) -> int:
    """Without --max-drop, the rules of the new run apply. Exit status 1 if a mean fell further than allowed, if a case passed before and now fails in every trial, or if a run lost cases."""
    if options.memories:
        return _memories(options)
    if options.accept and len(options.runs) == _PAIR and not options.runs[0].exists():
        return _accepted(options)  # the first anchor
    sides = [read_baseline(path) for path in options.runs]
    manifest, given = sides[-1].manifest, options.max_drop
    drops = parse_drops(manifest.options.max_drop if given is None else given, manifest.metrics)
    if options.aa:
        if not drops:
            raise UsageError("--aa checks runs by rules: give some with --max-drop, as --max-drop=ar:0.02")
        alarms = false_alarms(sides, drops)
        return shared.respond(options, alarms, _alarm_lines(alarms))
    if len(sides) != _PAIR:
        raise UsageError(f"compare: found {len(sides)} runs, expected the earlier one and the new one (or --aa)")
    inconclusive: Literal["pass", "fail"] = options.inconclusive or "pass"
    baseline, new = sides
    comparison = compare(baseline, new, drops, common=options.common, inconclusive=inconclusive)
    outcome = comparison.outcome
    missing = {unlike.what for unlike in comparison.unlike} <= {"lost cases", "cases", "cases in common"}
    if not (comparison.comparable or options.accept or missing):
        raise UsageError("\n".join(comparison.reasons).replace("mapsat compare --common", "--common"))
    if options.json:
        shared.write_json(comparison.model_dump(mode="json"))
    else:
        shared.write(line.text for line in change_lines(comparison, shared.width(), full=options.verbose))
        more = ": no case flipped; --max-drop says how far a mean may fall" if outcome == "passed" and not drops else ""
        if outcome == "invalid":
            more = f": {comparison.reasons[-1]}".replace("mapsat compare --common", "--common")
        shared.write([f"{'outcome':9}{outcome}{more}"])
    if options.accept:
        return _accepted(options)
    passed = outcome == "passed" or (outcome == "inconclusive" and inconclusive == "pass")
    return shared.OK if passed else shared.FINDINGS


def _memories(options: argparse.Namespace) -> int:
    """Print a table of runs that differ only in agent and memory. Raises UsageError if they differ in anything else."""
    for path in options.runs:
        refuse_journal(path)
    runs = [read_run(path, dialogues=False) for path in options.runs]
    paths: dict[tuple[str, str], Path] = {}
    for path, run in zip(options.runs, runs, strict=True):
        both = run.manifest.agent, run.manifest.options.agent_memory
        if both in paths:
            alike = f"both of {both[0]} with the memory {both[1]}"
            raise UsageError(f"{paths[both]} and {path} are {alike}: name one of them")
        paths[both] = path
    first, *others = map(Side.of, runs)
    for path, other in zip(options.runs[1:], others, strict=True):
        if unlike := likeness(first, other).besides_memory:
            differences = "; ".join(f"{each.what}: {each.baseline}, {each.new}" for each in unlike)
            raise UsageError(f"{options.runs[0]} and {path} differ in more than agent and memory: {differences}")
    rows = memory_rows(runs)
    return shared.respond(options, [row.model_dump(mode="json") for row in rows], memory_lines(rows, shared.width()))


def _accepted(options: argparse.Namespace) -> int:
    """Write the new run as the baseline and return the exit status."""
    accept(options.runs[1], options.runs[0])
    if not options.json:
        shared.write([f"accepted {options.runs[1]} is written to {options.runs[0]}: commit it"])
    return shared.OK


def _alarm_lines(alarms: dict[str, Any]) -> Iterator[str]:
    """Yield the result of ``--aa`` as lines: the false alarms in all, then by rule."""
    comparisons, ended = alarms["comparisons"], alarms["outcomes"]
    yield (
        f"one agent compared with itself, {comparisons} comparisons: {ended['failed']} failed "
        f"({ended['failed'] / comparisons:.1%}), {ended['inconclusive']} inconclusive, {ended['passed']} passed"
    )
    for rule in alarms["rules"]:
        smallest = rule["smallest"]
        seen = "" if smallest is None else f"; sees a drop of {smallest:.3f} four times in five"
        yield f"  {rule['rule']}: {rule['failed']} failed, {rule['inconclusive']} inconclusive{seen}"


def add_merge_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat merge``."""
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="the run files of the parts")
    parser.add_argument("--out", metavar="PATH", type=Path, required=True, help="write the whole run to this file")
    shared.add_suite(parser)
    shared.add_options(parser, "compare", "max-drop")
    parser.add_argument("--json", action="store_true", help="print manifest, summary, groups and gate as JSON")


def run_merge(options: argparse.Namespace) -> int:
    """An episode that is in two parts, or in no part, is an error. The gate judges the whole run. Exit status 1 if the gate does not pass or a case failed."""
    from pytest_mapsat.pytest_plugin.regrading import with_bodies
    from pytest_mapsat.runs.regrade import merge, open_suites

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
    if options.max_drop and not baselines:
        raise UsageError("--max-drop without a run to compare with: name it with --compare=PATH")
    nodeids = [card.nodeid for part in parts.values() for card in part.cases]
    drops = tuple(options.max_drop or ())
    asked = next(iter(parts.values())).manifest.options
    opened = open_suites(shared.suite_paths(options, nodeids), options=asked)
    whole: Run = with_bodies(nodeids, opened, lambda _, suites: merge(parts, suites, baselines, drops), options=asked)
    return shared.deliver_run(whole, as_json=options.json, saved=options.out)


# -- mapsat regrade ----------------------------------------------------------------------------------------------------


def add_regrade_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat regrade``."""
    shared.add_run(parser)
    shared.add_suite(parser)
    shared.add_options(parser, "judge", "judge-votes", "cache")
    about = "make no calls; write uncached requests as JSON lines for a batch service"
    parser.add_argument("--batch-out", metavar="FILE", type=Path, help=about)
    about = "read the results of a batch into the cache first"
    parser.add_argument("--batch-in", metavar="FILE", type=Path, help=about)
    about = "human labels, which override the judge (default: labels/reviewed.jsonl of the suite)"
    parser.add_argument("--labels", metavar="PATH", type=Path, help=about)
    shared.add_options(parser, "fail-under", "fail-on", "metrics", "compare", "allow-undecided")
    shared.add_plugins(parser)
    shared.add_options(parser, "save", save="write the regraded run file")
    about = "also play cases in Python that request fixtures; without this option their labels are kept"
    parser.add_argument("--with-fixtures", action="store_true", help=about)
    parser.add_argument("--json", action="store_true", help="print manifest, summary, groups and gate as JSON")


def run_regrade(options: argparse.Namespace) -> int:
    """Options that are not given keep their values from the run. Exit status 1 if the gate does not pass or a case failed."""
    from pytest_mapsat.judges import asks_model
    from pytest_mapsat.llm import open_door
    from pytest_mapsat.pytest_plugin.regrading import with_bodies
    from pytest_mapsat.runs.regrade import changed_suites, open_suites, regrade

    changes = _changes(options)
    saved = read_saved(options.run)
    asks = asks_model(changes.judge or saved.manifest.judge.spec)
    by_batch = options.batch_in is not None or options.batch_out is not None
    if by_batch and not asks:
        raise UsageError("--batch-in and --batch-out go with --judge=llm:MODEL or llm-lean:MODEL")
    nodeids = [card.nodeid for card in saved.cases]
    paths = shared.suite_paths(options, nodeids)
    added = shared.load_added(options.plugins, paths or [Path.cwd()])
    opened = open_suites(paths, added.sandboxes, saved.manifest.options)
    baselines = read_baselines(options.compare or ())

    def work(bodies: Regrading[Run | Batched] | None, suites: Sequence[Suite]) -> Run | Batched:
        """Judge the saved run again with the opened suites, through batch files if requested."""
        for suite in suites:
            suite.sandboxes = added.sandboxes
        for warning in changed_suites(saved, suites, changes):
            shared.tell(f"warning: {warning}")

        def regraded(client: ModelClient | None) -> Run:
            """Return the run judged again, with a client if its judges ask models."""
            sets, root = added.metric_sets, Path.cwd()
            return regrade(
                saved, suites, changes, root=root, metric_sets=sets, baselines=baselines, client=client, bodies=bodies
            )

        if by_batch:
            return _batched(regraded, options)
        if not asks:
            return regraded(None)
        with closing(open_door(options.cache or "auto")) as client:
            return regraded(client)

    result = with_bodies(nodeids, opened, work, options=saved.manifest.options, fixtures=options.with_fixtures)
    if not isinstance(result, Run):
        if options.batch_out is not None and result.open:
            # As long as something is to be asked, there is nothing to sum up.
            summary = f"{result.written} requests written to {options.batch_out}; --batch-in reads what comes back"
            return shared.respond(options, {"requests": result.written, "read": result.taken}, [summary])
        result = result.run
    return shared.deliver_run(result, as_json=options.json, saved=options.save)


def _changes(options: argparse.Namespace) -> Changes:
    """Return the changes to grading that the options request. Raises UsageError."""
    from pytest_mapsat.runs.regrade import Changes
    from pytest_mapsat.runs.request import parse_asserted, parse_metric_sets

    def read(name: str, parse: Callable[[str], Any]) -> Any:
        """Return the parsed value of an option; None if it was not given. Raises UsageError."""
        text = getattr(options, name.replace("-", "_"))
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            raise UsageError(f"--{name}: {error}") from None

    read("allow-undecided", parse_allowance)
    return Changes(
        judge=options.judge,
        asserted=read("fail-on", parse_asserted),
        fail_under=None if options.fail_under is None else tuple(options.fail_under),
        allow_undecided=options.allow_undecided,
        decisions=options.labels,
        judge_votes=options.judge_votes,
        metrics=read("metrics", parse_metric_sets),
    )


def _batched(regraded: Callable[[ModelClient], Run], options: argparse.Namespace) -> Batched:
    """Return the run judged with the cache and the batch files, after printing problems with rows."""
    from pytest_mapsat.llm import Cache
    from pytest_mapsat.runs.regrade import regrade_in_batches

    with closing(Store(store_folder())) as store:
        batched = regrade_in_batches(regraded, Cache(store), read=options.batch_in, write=options.batch_out)
    for problem in batched.problems:
        shared.tell(str(problem))
    if options.batch_in is not None:
        shared.tell(f"{batched.taken} answers read, {batched.open} requests without an answer")
    return batched
