"""``mapsat report`` and ``mapsat show``: what people read of a saved run, without agent, model or suite."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_mapsat.model import Run, Scorecard

_NARROWEST = 40


def add_report(commands: Any) -> None:
    """Add the command ``mapsat report``."""
    about = "write reports of a saved run"
    parser = commands.add_parser(
        "report",
        help=about,
        description=f"{about[0].upper()}{about[1:]}: html (one file that works from disk), json, markdown, or github "
        "(the summary of the step that is under way, and annotations on the output). Exit status 1 when a case failed or the gate does not hold.",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a file that --mapsat-save wrote, or a journal")
    parser.add_argument(
        "reports", metavar="TYPE:PATH", nargs="+", help="html:PATH, json:PATH, markdown:PATH, github: or github:PATH"
    )
    parser.set_defaults(command=_report)


def add_show(commands: Any) -> None:
    """Add the command ``mapsat show``."""
    about = "show one dialogue of a saved run, with its labels"
    parser = commands.add_parser("show", help=about, description=f"{about[0].upper()}{about[1:]}.")
    parser.add_argument("run", metavar="RUN", type=Path, help="a file that --mapsat-save wrote, or a journal")
    parser.add_argument("case", metavar="CASE", help="the case, as CASE or CASE-t2 for its second trial")
    parser.add_argument("--trial", metavar="N", type=int, help="only this trial (default: all of them)")
    parser.add_argument("--full", action="store_true", help="thoughts and results whole, and reasons of what is met")
    parser.add_argument(
        "--json", action="store_true", help="print a list of episodes as JSON, as the run file has them"
    )
    parser.set_defaults(command=_show)


def add_figures(commands: Any) -> None:
    """Add the command ``mapsat figures``."""
    about = "write the paper's figures from saved runs"
    parser = commands.add_parser(
        "figures",
        help=about,
        description=f"{about[0].upper()}{about[1:]}: calls by tool (figure 4), metrics by domain and by source of the factors (figure 5), "
        "and what the profile is worth (B.4). Each as CSV, Markdown and SVG.",
    )
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="files that --mapsat-save wrote, one a model")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="the folder that the figures go to")
    parser.add_argument(
        "--profile", metavar="RUN", type=Path, help="the first run again, by an agent that is given the profile (B.4)"
    )
    parser.set_defaults(command=_figures)


def _figures(options: argparse.Namespace) -> int:
    from pytest_mapsat.formats import read_run  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.reports import figures, write_figures  # noqa: PLC0415  likewise

    runs = [(path, read_run(path)) for path in options.runs]
    profile = None if options.profile is None else read_run(options.profile)
    agents = [run.manifest.agent for _, run in runs]
    names = [
        agent if agents.count(agent) == 1 else f"{agent} ({path.name})"
        for (path, _), agent in zip(runs, agents, strict=True)
    ]
    for path in write_figures(figures([*zip(names, (run for _, run in runs), strict=True)], profile), options.out):
        sys.stdout.write(f"{path}\n")
    return 0


def _report(options: argparse.Namespace) -> int:
    from pytest_mapsat.formats import is_journal, read_cards  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.reports import opening, parse_reports, write_reports  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.saved import read_saved  # noqa: PLC0415  likewise

    from .compare import failed_items  # noqa: PLC0415  likewise

    targets = parse_reports(options.reports, Path.cwd())
    _refuse_reading_place(options.run, [target.path for target in targets])
    whole = is_journal(options.run)
    run = read_saved(options.run, keep=opening)
    dialogues = None if whole else partial(read_cards, options.run)
    for line in write_reports(run, targets, Path.cwd(), dialogues):
        sys.stdout.write(f"{line}\n")
    if failed := failed_items(run):
        sys.stderr.write(f"mapsat: {failed}\n")
    return 1 if failed or run.gate.outcome != "passed" else 0


def _refuse_reading_place(run: Path, paths: Sequence[Path]) -> None:
    from pytest_mapsat.model import UsageError  # noqa: PLC0415  --help needs no pydantic

    if any(path.exists() and run.exists() and path.samefile(run) for path in paths):
        raise UsageError(f"{run} is the run itself: give the report another place")


def _show(options: argparse.Namespace) -> int:
    from pytest_mapsat.reports import dialogue_data, dialogue_lines  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.runs.saved import read_saved  # noqa: PLC0415  likewise

    run = read_saved(options.run)
    cards = _cards(run, options.case, options.trial)
    if options.json:
        data = [dialogue_data(card) for card in cards]
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
        return 0
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    for number, card in enumerate(cards):
        for line in ("", *(line.text for line in dialogue_lines(run, card, width, full=options.full)))[not number :]:
            sys.stdout.write(f"{line}\n")
    return 0


def _cards(run: Run, case: str, trial: int | None) -> list[Scorecard]:
    """Return the episodes of a case that were asked for.

    Raises:
        UsageError: the run has none.
    """
    from pytest_mapsat.model import UsageError, did_you_mean, shown  # noqa: PLC0415  --help needs no pydantic

    found = [card for card in run.cases if case in (card.id, f"{card.id}-t{card.trial}")]
    if not found:
        hint = did_you_mean(case, dict.fromkeys(card.id for card in run.cases))
        raise UsageError(f"the run has no case {shown(case)}" + (f"; {hint}" if hint else ""))
    kept = [card for card in found if trial in (None, card.trial)]
    if not kept:
        trials = ", ".join(sorted({str(card.trial) for card in found}))
        raise UsageError(f"--trial: found {trial}, expected one of the case's trials: {trials}")
    return kept
