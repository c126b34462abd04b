"""``mapsat report``: what people read of saved runs, without agent, model or suite."""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path

from .shared import OK, status_of, write

MORE = (
    "html (one file that works from disk), json, markdown, github (the summary of the step that is under way, and annotations on the output), or figures "
    "(the paper's figures 4, 5 and B.4 of one or several runs, each as CSV, Markdown and SVG). "
    "Exit status 1 when a case failed or the gate does not hold."
)
_FIGURES = "figures:"
#: What is a report to be written rather than a run to be read.
_TARGET = re.compile(r"[a-z]+:")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    about = "files that --mapsat-save wrote, or journals; several for figures alone, one a model"
    parser.add_argument("runs", metavar="RUN", nargs="+", help=about)
    about = "html:PATH, json:PATH, markdown:PATH, github: or github:PATH, figures:FOLDER"
    parser.add_argument("reports", metavar="TYPE:PATH", nargs="+", help=about)
    about = "with figures: the first run again, by an agent that is given the profile (B.4)"
    parser.add_argument("--profile", metavar="RUN", type=Path, help=about)


def run(options: argparse.Namespace) -> int:
    """Write the reports, and tell where they are."""
    from pytest_mapsat.model import UsageError

    given = [*options.runs, *options.reports]
    # A run stands first, whatever it is called.
    targets = [text for text in given[1:] if _TARGET.match(text) and not Path(text).exists()]
    runs = [Path(text) for text in given if text not in targets]
    figures = [Path(text.removeprefix(_FIGURES)) for text in targets if text.startswith(_FIGURES)]
    others = [text for text in targets if not text.startswith(_FIGURES)]
    if not targets:
        raise UsageError(f"found {given[-1]!r}, expected TYPE:PATH, as in html:report.html")
    if others and len(runs) > 1:
        raise UsageError(f"{others[0]}: found {len(runs)} runs, expected one (figures: takes several)")
    if options.profile is not None and not figures:
        raise UsageError("--profile goes with figures:FOLDER")
    status = _write_reports(runs[0], others) if others else OK
    for folder in figures:
        _write_figures(runs, options.profile, folder)
    return status


def _write_reports(path: Path, wanted: list[str]) -> int:
    from pytest_mapsat.formats import is_journal, read_cards
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.reports import opening, parse_reports, write_reports
    from pytest_mapsat.runs.saved import read_saved

    targets = parse_reports(wanted, Path.cwd())
    if any(target.path.exists() and path.exists() and target.path.samefile(path) for target in targets):
        raise UsageError(f"{path} is the run itself: give the report another place")
    whole = is_journal(path)
    saved = read_saved(path, keep=opening)
    write(write_reports(saved, targets, Path.cwd(), None if whole else partial(read_cards, path)))
    return status_of(saved)


def _write_figures(paths: list[Path], profile: Path | None, folder: Path) -> None:
    from pytest_mapsat.formats import read_run
    from pytest_mapsat.reports import figures, write_figures

    runs = [(path, read_run(path)) for path in paths]
    agents = [saved.manifest.agent for _, saved in runs]
    named = [
        (agent if agents.count(agent) == 1 else f"{agent} ({path.name})", saved)
        for (path, saved), agent in zip(runs, agents, strict=True)
    ]
    write(write_figures(figures(named, None if profile is None else read_run(profile)), folder))
