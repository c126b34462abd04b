"""``mapsat show``: the dialogues of a saved run with their labels, or the claims in them with their evidence."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .shared import OK, SUITE, add_plugins, add_run, add_suite, load_added, width, write, write_json

if TYPE_CHECKING:
    from pytest_mapsat.judges import Judged
    from pytest_mapsat.model import Run, Scorecard, Trajectory
    from pytest_mapsat.suite import Suite

MORE = "Without CASE: one line an episode, or with --claims the claims of all."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_run(parser)
    parser.add_argument("case", metavar="CASE", nargs="?", help="the case, as CASE or CASE-t2 for its second trial")
    parser.add_argument("--trial", metavar="N", type=int, help="only this trial (default: all of them)")
    parser.add_argument("--full", action="store_true", help="thoughts and results whole, and reasons of what is met")
    about = "the claims of the replies, each with its verdict and evidence; RUN may be recorded dialogues"
    parser.add_argument("--claims", action="store_true", help=about)
    add_suite(parser)
    add_plugins(parser)
    parser.add_argument("--json", action="store_true", help="print a list of episodes, or of claims, as JSON")


def run(options: argparse.Namespace) -> int:
    """Show episodes or claims."""
    if options.claims:
        return _show_claims(options)
    from pytest_mapsat.runs.saved import read_saved

    saved = read_saved(options.run)
    cards = _cards(saved, options.case, options.trial)
    if options.json:
        from pytest_mapsat.reports import dialogue_data

        write_json([dialogue_data(card) for card in cards], sort_keys=True)
    elif options.case is None:
        write(map(_line, cards))
    else:
        from pytest_mapsat.reports import dialogue_lines

        for number, card in enumerate(cards):
            write([""] if number else [])
            write(line.text for line in dialogue_lines(saved, card, width(), full=options.full))
    return OK


def _line(card: Scorecard) -> str:
    from pytest_mapsat.reports import printable

    agent = f" ({card.agent})" if card.agent else ""
    trial = f"-t{card.trial}" if card.trial > 1 else ""
    return printable(f"{card.outcome:<12}{card.id}{trial}{agent}" + (f": {card.reason}" if card.reason else ""))


def _cards(saved: Run, case: str | None, trial: int | None) -> list[Scorecard]:
    """Return the episodes that were asked for. Raises UsageError where the run has none."""
    from pytest_mapsat.model import UsageError, did_you_mean, shown

    cards = [card for card in saved.cases if case in (None, card.id, f"{card.id}-t{card.trial}")]
    if not cards and case is not None:
        hint = did_you_mean(case, dict.fromkeys(card.id for card in saved.cases))
        raise UsageError(f"the run has no case {shown(case)}" + (f"; {hint}" if hint else ""))
    kept = [card for card in cards if trial in (None, card.trial)]
    if cards and not kept:
        trials = ", ".join(sorted({str(card.trial) for card in cards}))
        raise UsageError(f"--trial: found {trial}, expected one of the case's trials: {trials}")
    return kept


def _show_claims(options: argparse.Namespace) -> int:
    from pytest_mapsat.runs.regrade import open_suites

    paths = options.suite or [SUITE]
    suites = open_suites(paths, load_added(options.plugins, paths).sandboxes)
    claims = list(_claims(options.run, suites, options.case, options.trial))
    if options.json:
        write_json([_claim_data(*claim) for claim in claims])
        return OK
    write(_claim_line(*claim) for claim in claims)
    verdicts = [judged.verdict for _, judged in claims]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    write([f"{len(claims)} claim{'' if len(claims) == 1 else 's'}" + (f": {counts}" if counts else "")])
    return OK


def _claims(
    path: Path, suites: Sequence[Suite], case: str | None, trial: int | None
) -> Iterator[tuple[Trajectory, Judged]]:
    """Yield the claims of a file of dialogues, in its order. Raises UsageError, SuiteError."""
    from pytest_mapsat.agents import open_recorded
    from pytest_mapsat.judges import Context
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.runs.regrade import places_in

    source = open_recorded(str(path), root=Path.cwd())
    places = places_in(suites)
    wanted = [key for key in source.recordings if case in (None, key[0]) and trial in (None, key[1])]
    if not wanted:
        names = sorted({name for name, _ in source.recordings})
        raise UsageError(f"{path} has no dialogue of the case {case!r}" + _hint(case or "", names))
    for name, number in wanted:
        if name not in places:
            raise UsageError(f"the suite has no case {name!r}, which {path} has" + _hint(name, places))
        suite, entry = places[name]
        noun = suite.load(entry)
        trajectory = source.trajectory(noun, number)
        for judged in Context.of(noun, trajectory, suite.tools, vocabulary=suite.vocabulary).claims:
            yield trajectory, judged


def _hint(name: str, names: Iterable[str]) -> str:
    from pytest_mapsat.model import did_you_mean

    hint = did_you_mean(name, names)
    return f" ({hint})" if hint else ""


def _claim_data(trajectory: Trajectory, judged: Judged) -> dict[str, Any]:
    """Return a claim as JSON data: turn and span index ``Trajectory.turns`` and their text."""
    claim = judged.claim
    return {
        "case": trajectory.case,
        "trial": trajectory.trial,
        "turn": claim.document.turn,
        "start": claim.span.start,
        "end": claim.span.end,
        "text": claim.text,
        "type": claim.type,
        "subject": list(claim.subject),
        "verdict": judged.verdict,
        "evidence": list(judged.evidence),
    }


def _claim_line(trajectory: Trajectory, judged: Judged) -> str:
    claim = judged.claim
    name = trajectory.case + (f", trial {trajectory.trial}" if trajectory.trial > 1 else "")
    of = f" of {' or '.join(claim.subject)}" if claim.subject and claim.type != "name" else ""
    against = f": {', '.join(judged.evidence)}" if judged.evidence else ""
    place = f"{name}, turn {claim.document.turn}, chars {claim.span.start}-{claim.span.end}"
    return f"{judged.verdict:<12} {place}: {claim.text!r} ({claim.sort}{of}): {judged.why}{against}"
