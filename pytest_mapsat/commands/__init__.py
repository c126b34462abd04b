"""Commands of ``mapsat``: labelled answers and people's decisions here, reports beside. Nothing heavy is imported before one runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .agreeing import add_agreement
from .cache import add_cache
from .compare import add_compare, add_merge
from .regrading import add_plugins, add_regrade
from .reports import add_figures, add_report, add_show

if TYPE_CHECKING:
    from pytest_mapsat.proof import AnswersProof

__all__ = [
    "add_agreement",
    "add_answers",
    "add_cache",
    "add_compare",
    "add_figures",
    "add_merge",
    "add_plugins",
    "add_regrade",
    "add_report",
    "add_review",
    "add_show",
    "judged_answers",
    "print_answers",
]


def add_answers(parser: argparse.ArgumentParser) -> None:
    """Add to ``mapsat lint`` what it may do with labelled answers."""
    parser.add_argument(
        "--answers",
        action="store_true",
        help="also judge the suite's labelled answers; exit status 1 when the judge decides a label wrongly",
    )
    parser.add_argument(
        "--save", metavar="RUN", type=Path, help="with --answers: write them as a run file, each a trial of its case"
    )
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="with --answers: write the suite's calibration.json, which says which failures of its checks stand",
    )


def judged_answers(options: argparse.Namespace, *, sound: bool) -> AnswersProof | None:
    """Return the suite's labelled answers, judged; None where nobody asks, or where the suite has errors.

    Raises:
        MapsatError: an option cannot be used, or a file.
    """
    from pytest_mapsat.model import UsageError  # noqa: PLC0415  --help needs no pydantic

    if options.save is not None and not options.answers:
        raise UsageError("--save goes with --answers")
    if options.calibrate and not options.answers:
        raise UsageError("--calibrate goes with --answers")
    if not options.answers or not sound:
        return None
    from .answers import judge_answers  # noqa: PLC0415  lazy

    return judge_answers(options.suite, options.save, options.sandboxes, calibrate=options.calibrate)


def print_answers(options: argparse.Namespace, answers: AnswersProof | None) -> None:
    """Print what became of the labelled answers, where somebody asks."""
    if not options.answers:
        return
    from pytest_mapsat.proof import answer_table  # noqa: PLC0415  lazy

    lines = ["answers: not judged, as the suite has errors"] if answers is None else answer_table(answers)
    sys.stdout.write("".join(f"{line}\n" for line in ("", *lines)))


def add_review(commands: Any) -> None:
    """Add the command ``mapsat review``."""
    about = "decide what a judge left open or got wrong"
    parser = commands.add_parser(
        "review",
        help=about,
        description=f"{about[0].upper()}{about[1:]}. Each decision is kept at once and counts from then on for this factor's words, "
        "this reply and this evidence; regrade applies it to a saved run.",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a file that --mapsat-save wrote")
    parser.add_argument(
        "--suite", metavar="PATH", type=Path, action="append", help="as for regrade (default: benchmark_cases)"
    )
    parser.add_argument(
        "--decisions",
        metavar="PATH",
        type=Path,
        help="where decisions are kept (default: decisions.jsonl of the suite)",
    )
    parser.add_argument("--by", metavar="NAME", default="person", help="who decides (default: person)")
    parser.add_argument(
        "--from",
        metavar="FILE",
        dest="rulings",
        type=Path,
        help="take decisions from JSON lines: case, trial, factor, outcome",
    )
    parser.add_argument("--list", action="store_true", help="only list what is open")
    parser.add_argument(
        "--add-to-answers", action="store_true", help="add replies that are decided to the suite's answers/"
    )
    add_plugins(parser)
    parser.add_argument("--json", action="store_true", help="print the list, or with --from the counts, as JSON")
    parser.set_defaults(command=_review)


def _review(options: argparse.Namespace) -> int:
    from pytest_mapsat.runs.added import load_added  # noqa: PLC0415  lazy

    from .review import Review, conduct  # noqa: PLC0415  lazy

    suites = options.suite or [Path("benchmark_cases")]
    load_added(options.plugins, suites)
    opened = Review.of(options.run, suites, options.decisions, options.by)
    conduct(
        opened,
        rulings=options.rulings,
        listed=options.list,
        as_json=options.json,
        add_to_answers=options.add_to_answers,
    )
    return 0
