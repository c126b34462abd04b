"""``mapsat show`` and ``mapsat report``: what people read of saved runs: dialogues with their labels, claims with their evidence, reports."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import shared

if TYPE_CHECKING:
    from pytest_mapsat.judges import Judged
    from pytest_mapsat.model import Run, Scorecard, Trajectory
    from pytest_mapsat.suite import Suite

#: What is a report to be written rather than a run to be read.
_TARGET = re.compile(r"[a-z][a-z0-9_-]*:")


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_run(parser)
    parser.add_argument("case", metavar="CASE", nargs="?", help="the case, as CASE or CASE-t2 for its second trial")
    parser.add_argument("--full", action="store_true", help="whole thoughts and results, and reasons of what is met")
    about = "list claims with verdict and evidence; RUN may be recorded dialogues"
    parser.add_argument("--claims", action="store_true", help=about)
    about = "the means by groups of cases: domain, group (the user), place (in the user's tasks), tool, or an attribute"
    parser.add_argument("--by", metavar="GROUPS", help=about)
    shared.add_suite(parser)
    shared.add_plugins(parser)
    parser.add_argument(
        "--json", action="store_true", help="print a list of episodes, or of claims, as JSON; with --by the means"
    )


def _show(options: argparse.Namespace) -> int:
    if options.claims:
        return _show_claims(options)
    from pytest_mapsat.runs.saved import read_saved

    saved = read_saved(options.run)
    if options.by is not None:
        from pytest_mapsat.reports import group_lines

        lines = group_lines(saved, options.by, width=shared.width())
        groups = saved.groups[options.by].items()
        means = {name: {metric: mean.to_json() for metric, mean in means.items()} for name, means in groups}
        return shared.respond(options, means, (line.text for line in lines))
    cards = _cards(saved, options.case)
    if options.json:
        from pytest_mapsat.reports import dialogue_data

        shared.write_json([dialogue_data(card) for card in cards], sort_keys=True)
    elif options.case is None:
        shared.write(map(_line, cards))
    else:
        from pytest_mapsat.reports import dialogue_lines

        for number, card in enumerate(cards):
            shared.write([""] if number else [])
            shared.write(line.text for line in dialogue_lines(saved, card, shared.width(), full=options.full))
    return shared.OK


def _line(card: Scorecard) -> str:
    from pytest_mapsat.reports import printable

    agent = f" ({card.agent})" if card.agent else ""
    trial = f"-t{card.trial}" if card.trial > 1 else ""
    return printable(f"{card.outcome:<12}{card.id}{trial}{agent}" + (f": {card.reason}" if card.reason else ""))


def _cards(saved: Run, case: str | None) -> list[Scorecard]:
    """Return the episodes that were asked for. Raises UsageError where the run has none."""
    from pytest_mapsat.model import UsageError, did_you_mean, shown

    cards = [card for card in saved.cases if case in (None, card.id, f"{card.id}-t{card.trial}")]
    if not cards and case is not None:
        hint = did_you_mean(case, dict.fromkeys(card.id for card in saved.cases))
        raise UsageError(f"the run has no case {shown(case)}" + (f"; {hint}" if hint else ""))
    return cards


def _show_claims(options: argparse.Namespace) -> int:
    from pytest_mapsat.runs.regrade import open_suites

    paths = options.suites(options)
    suites = open_suites(paths, shared.load_added(options.plugins, paths).sandboxes)
    claims = list(_claims(options.run, suites, options.case))
    verdicts = Counter(judged.verdict for _, judged in claims)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    total = f"{shared.counted(len(claims), 'claim')}" + (f": {counts}" if counts else "")
    lines = [*(_claim_line(*claim) for claim in claims), total]
    return shared.respond(options, [_claim_data(*claim) for claim in claims], lines)


def _claims(path: Path, suites: Sequence[Suite], case: str | None) -> Iterator[tuple[Trajectory, Judged]]:
    """Yield the claims of a file of dialogues, in its order. Raises UsageError, SuiteError."""
    from pytest_mapsat.agents import open_recorded
    from pytest_mapsat.judges import Context
    from pytest_mapsat.model import UsageError, hint_at
    from pytest_mapsat.runs.regrade import places_in

    source = open_recorded(str(path), root=Path.cwd())
    places = places_in(suites)
    wanted = [key for key in source.trajectories if case in (None, key[0], f"{key[0]}-t{key[1]}")]
    if not wanted:
        names = sorted({name for name, _ in source.trajectories})
        raise UsageError(f"{path} has no dialogue of the case {case!r}" + hint_at(case or "", names))
    for name, number in wanted:
        if name not in places:
            raise UsageError(f"the suite has no case {name!r}, which {path} has" + hint_at(name, places))
        suite, entry = places[name]
        noun = suite.load(entry)
        trajectory = source.trajectory(noun, number)
        for judged in Context.of(noun, trajectory, suite.tools, vocabulary=suite.vocabulary).claims:
            yield trajectory, judged


def _claim_data(trajectory: Trajectory, claim: Judged) -> dict[str, Any]:
    """Return a claim as JSON data: turn and span index ``Trajectory.turns`` and their text."""
    return {
        "case": trajectory.case,
        "trial": trajectory.trial,
        "turn": claim.document.turn,
        "start": claim.span.start,
        "end": claim.span.end,
        "text": claim.text,
        "type": claim.type,
        "subject": list(claim.subject),
        "verdict": claim.verdict,
        "evidence": list(claim.evidence),
    }


def _claim_line(trajectory: Trajectory, claim: Judged) -> str:
    name = trajectory.case + (f", trial {trajectory.trial}" if trajectory.trial > 1 else "")
    of = f" of {' or '.join(claim.subject)}" if claim.subject and claim.type != "name" else ""
    against = f": {', '.join(claim.evidence)}" if claim.evidence else ""
    place = f"{name}, turn {claim.document.turn}, chars {claim.span.start}-{claim.span.end}"
    return f"{claim.verdict:<12} {place}: {claim.text!r} ({claim.sort}{of}): {claim.why}{against}"


# -- reports -----------------------------------------------------------------------------------


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_mapsat.reports import REPORTS, reports_of_packages

    about = "files that --mapsat-save wrote, or journals; several for the reports of packages alone"
    parser.add_argument("runs", metavar="RUN", nargs="+", help=about)
    types = "; ".join(f"{name}:PATH, {report.about}" for name, report in REPORTS.items())
    about = f"{types}; of packages, which write files into a folder: {', '.join(reports_of_packages())}"
    parser.add_argument("reports", metavar="TYPE:PATH", nargs="+", help=about)


def _report(options: argparse.Namespace) -> int:
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.reports import reports_of_packages, write_report_of_package

    given = [*options.runs, *options.reports]
    # A run stands first, whatever it is called.
    targets = [text for text in given[1:] if _TARGET.match(text) and not Path(text).exists()]
    runs = [Path(text) for text in given if text not in targets]
    of_packages = [text for text in targets if text.partition(":")[0] in reports_of_packages()]
    others = [text for text in targets if text not in of_packages]
    if not targets:
        raise UsageError(f"found {given[-1]!r}, expected TYPE:PATH, as in html:report.html")
    if others and len(runs) > 1:
        raise UsageError(f"{others[0]}: found {len(runs)} runs, expected one")
    status = _write_reports(runs[0], others) if others else shared.OK
    for text in of_packages:
        name, _, folder = text.partition(":")
        shared.write(map(str, write_report_of_package(name, _named_runs(runs), Path(folder))))
    return status


def _write_reports(path: Path, wanted: list[str]) -> int:
    from pytest_mapsat.formats import is_journal, read_cards
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.reports import opening, parse_reports, write_reports
    from pytest_mapsat.runs.saved import read_saved

    targets = parse_reports(wanted, Path.cwd())
    files = [target.path for target in targets if target.path is not None]
    if any(file.exists() and path.exists() and file.samefile(path) for file in files):
        raise UsageError(f"{path} is the run itself: give the report another place")
    whole = is_journal(path)
    saved = read_saved(path, keep=opening)
    shared.write(write_reports(saved, targets, Path.cwd(), None if whole else partial(read_cards, path)))
    return shared.status_of(saved)


def _named_runs(paths: list[Path]) -> list[tuple[str, Run]]:
    """Return runs with their names: each its agent's, with the file where two runs are by one agent."""
    from pytest_mapsat.formats import read_run

    runs = [(path, read_run(path)) for path in paths]
    agents = [saved.manifest.agent for _, saved in runs]
    return [
        (agent if agents.count(agent) == 1 else f"{agent} ({path.name})", saved)
        for (path, saved), agent in zip(runs, agents, strict=True)
    ]


COMMANDS = {
    "show": shared.Command(
        "Without CASE: one line an episode, or with --claims the claims of all.", _show_arguments, _show
    ),
    "report": shared.Command("Exit status 1 when a case failed or the gate does not hold.", _report_arguments, _report),
}
