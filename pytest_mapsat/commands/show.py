"""``mapsat show`` and ``mapsat report``: what people read of saved runs: dialogues with their labels, reports; and the rarely used ``python -m pytest_mapsat cache``: the kept answers of models."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

from pytest_mapsat import reports
from pytest_mapsat.formats import is_journal, read_cards, read_run
from pytest_mapsat.gate import compare, parse_drops
from pytest_mapsat.model import Run, Scorecard, UsageError, did_you_mean, shown
from pytest_mapsat.runs.saved import read_baseline, read_saved, refuse_journal

from . import shared

_PAIR = 2
#: What is a report to be written rather than a run to be read.
_TARGET = re.compile(r"[a-z][a-z0-9_-]*:")


def add_show_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat show``."""
    shared.add_run(parser)
    parser.add_argument("case", metavar="CASE", nargs="?", help="the case, as CASE or CASE-t2 for its second trial")
    parser.add_argument(
        "--full", action="store_true", help="show complete thoughts and results, and the reasons for met requirements"
    )
    about = "the means by groups of cases: domain, group (the user), place (in the user's tasks), tool, or an attribute"
    parser.add_argument("--by", metavar="GROUPS", help=about)
    parser.add_argument("--json", action="store_true", help="print a list of episodes as JSON; with --by the means")


def run_show(options: argparse.Namespace) -> int:
    """Without CASE, each episode is one line."""
    saved = read_saved(options.run)
    if options.by is not None:
        lines = reports.group_lines(saved, options.by, width=shared.width())
        groups = saved.groups[options.by].items()
        means = {name: {metric: mean.to_json() for metric, mean in means.items()} for name, means in groups}
        return shared.respond(options, means, (line.text for line in lines))
    cards = _cards(saved, options.case)
    if options.json:
        shared.write_json([reports.dialogue_data(card) for card in cards], sort_keys=True)
    elif options.case is None:
        shared.write(map(_line, cards))
    else:
        for number, card in enumerate(cards):
            shared.write([""] if number else [])
            shared.write(line.text for line in reports.dialogue_lines(saved, card, shared.width(), full=options.full))
    return shared.OK


def _line(card: Scorecard) -> str:
    """Return an episode in one line: outcome, case, trial, agent and reason."""
    agent = f" ({card.agent})" if card.agent else ""
    trial = f"-t{card.trial}" if card.trial > 1 else ""
    return reports.printable(f"{card.outcome:<12}{card.id}{trial}{agent}" + (f": {card.reason}" if card.reason else ""))


def _cards(saved: Run, case: str | None) -> list[Scorecard]:
    """Return a run's scorecards of a case (all for None). Raises UsageError if the run has no such case."""
    cards = [card for card in saved.cases if case in (None, card.id, f"{card.id}-t{card.trial}")]
    if not cards and case is not None:
        hint = did_you_mean(case, dict.fromkeys(card.id for card in saved.cases))
        raise UsageError(f"the run has no case {shown(case)}" + (f"; {hint}" if hint else ""))
    return cards


# -- reports -----------------------------------------------------------------------------------


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat report``."""
    about = "files written by --mapsat-save, or a journal; html and the reports of packages accept several, the new run last"
    parser.add_argument("runs", metavar="RUN", nargs="+", help=about)
    types = "; ".join(f"{name}:PATH, {report.about}" for name, report in reports.REPORTS.items())
    about = f"{types}; of packages, which write files into a folder: {', '.join(reports.reports_of_packages())}"
    parser.add_argument("reports", metavar="TYPE:PATH", nargs="+", help=about)


def run_report(options: argparse.Namespace) -> int:
    """Exit status 1 if a case failed or the gate did not pass."""
    given = [*options.runs, *options.reports]
    # A run stands first, whatever it is called.
    targets = [text for text in given[1:] if _TARGET.match(text) and not Path(text).exists()]
    runs = [Path(text) for text in given if text not in targets]
    of_packages = [text for text in targets if text.partition(":")[0] in reports.reports_of_packages()]
    others = [text for text in targets if text not in of_packages]
    if not targets:
        raise UsageError(f"found {given[-1]!r}, expected TYPE:PATH, as in html:report.html")
    single = [text for text in others if text.partition(":")[0] != reports.OF_SEVERAL]
    if single and len(runs) > 1:
        raise UsageError(f"{single[0]}: found {len(runs)} runs, expected one")
    status = _write_reports(runs, others) if others else shared.OK
    for text in of_packages:
        name, _, folder = text.partition(":")
        shared.write(map(str, reports.write_report_of_package(name, _named_runs(runs), Path(folder))))
    return status


def _write_reports(paths: list[Path], wanted: list[str]) -> int:
    """Write reports of the last run, compared with the others, and return the exit status. Raises UsageError if a report would overwrite a run."""
    targets = reports.parse_reports(wanted, Path.cwd())
    files = [target.path for target in targets if target.path is not None and target.path.exists()]
    for path in paths:
        if any(path.exists() and file.samefile(path) for file in files):
            raise UsageError(f"{path} is the run itself: give the report another place")
    *earlier, (path, saved) = _by_date(paths)
    if earlier:
        baseline, new = (read_baseline(each) for each in (earlier[-1][0], path))
        drops = parse_drops(saved.manifest.options.max_drop, saved.manifest.metrics)
        saved = saved.model_copy(update={"comparison": compare(baseline, new, drops, common=True)})
    beside = [reports.EarlierRun(each.stem, run, partial(read_cards, each)) for each, run in earlier]
    whole = None if is_journal(path) else partial(read_cards, path)
    shared.write(reports.write_reports(saved, targets, Path.cwd(), whole, beside))
    return shared.status_of(saved)


def _by_date(paths: list[Path]) -> list[tuple[Path, Run]]:
    """Return runs with their paths: two runs in the given order, baseline first; more than two by start time, if known for all.

    Raises:
        UsageError: one is given twice, or one of several is a journal.
    """
    places = [path.resolve() for path in paths]
    if twice := [path for path, place in zip(paths, places, strict=True) if places.count(place) > 1]:
        raise UsageError(f"{twice[0]} is given twice")
    for path in paths if len(paths) > 1 else ():
        refuse_journal(path)
    runs = [(path, read_saved(path, keep=reports.opening)) for path in paths]
    dated = len(runs) > _PAIR and all(run.timing.started for _, run in runs)
    return sorted(runs, key=lambda pair: pair[1].timing.started) if dated else runs


def _named_runs(paths: list[Path]) -> list[tuple[str, Run]]:
    """Return runs with names: the agent's name, plus the file's name if several runs have the same agent."""
    runs = [(path, read_run(path)) for path in paths]
    agents = [saved.manifest.agent for _, saved in runs]
    return [
        (agent if agents.count(agent) == 1 else f"{agent} ({path.name})", saved)
        for (path, saved), agent in zip(runs, agents, strict=True)
    ]


# -- rarely used -------------------------------------------------------------------------------------------------------

_ABOUT = {
    "info": "show the place, the number and the models of the kept answers",
    "clear": "delete all kept answers",
    "export": "write all kept answers to a file (JSON Lines) that a team can keep with its code",
    "import": "import the answers from such a file; existing answers stay",
}


def add_cache_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat cache``."""
    about = "info, clear, export FILE or import FILE"
    steps = parser.add_subparsers(metavar="STEP", required=True, dest="step", help=about)
    for name, about in _ABOUT.items():
        step = steps.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        if name in ("export", "import"):
            step.add_argument("file", metavar="FILE", type=Path)
        step.add_argument("--json", action="store_true", help="print the result as JSON")


def run_cache(options: argparse.Namespace) -> int:
    """The answers are in the user's cache folder, or in the folder MAPSAT_CACHE_DIR."""
    from pytest_mapsat.llm import Cache, exchanges, export_entries, import_entries
    from pytest_mapsat.store import ARRAYS, Store, clear_store, indexes_in, store_folder

    folder = store_folder()
    if options.step == "clear":
        clear_store(folder)
        return shared.respond(options, {"folder": str(folder)}, [f"{folder}: empty now"])
    count, size = indexes_in(folder)
    indexes = f"{folder / ARRAYS}: {count} indexes of large tables, {size / 1e6:.1f} MB"
    try:
        store = Store(folder)
    except UsageError as error:  # the extra is not installed; what it keeps cannot be read
        if options.step != "info":
            raise
        return shared.respond(options, {"folder": str(folder), "indexes": count, "index_bytes": size}, [indexes, error])
    with closing(store):
        cache = Cache(store)
        if options.step == "export":
            exported = export_entries(cache, options.file)
            return shared.respond(options, {"answers": exported}, [f"{options.file}: {exported} answers"])
        if options.step == "import":
            imported = import_entries(cache, options.file)
            for problem in imported.problems:
                shared.tell(problem)
            summary = f"{folder}: {imported.taken} answers added, {imported.known} already known, {len(imported.problems)} unusable lines"
            data = {"added": imported.taken, "known": imported.known, "problems": list(map(str, imported.problems))}
            return shared.respond(options, data, [summary]) or int(bool(imported.problems))
        models = Counter[tuple[str, str]]((entry.request.model, entry.request.purpose) for entry in cache.entries)
        models.update((exchange.asked.model(), "agent, its own calls") for exchange in exchanges(store))
        counts = sorted(models.items())
        data = {
            "folder": str(folder),
            "bytes": store.size(),
            "indexes": count,
            "index_bytes": size,
            "answers": models.total(),
            "models": [{"model": model, "purpose": purpose, "answers": n} for (model, purpose), n in counts],
        }
        lines = [f"{folder}: {models.total()} answers, {store.size() / 1e6:.1f} MB"]
        lines += [f"  {model}, {purpose}: {count}" for (model, purpose), count in counts]
        return shared.respond(options, data, [*lines, indexes])
