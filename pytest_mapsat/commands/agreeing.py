"""``mapsat judge-agreement``: how good the judge of a run is, held against labels that are known."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def add_agreement(commands: Any) -> None:
    """Add the command ``mapsat judge-agreement``."""
    about = "hold the judge of a saved run against labels that are known"
    parser = commands.add_parser(
        "judge-agreement",
        help=about,
        description=f"{about[0].upper()}{about[1:]}: agreement, Cohen's kappa, confusion, and how far the scores lie apart.",
    )
    parser.add_argument(
        "run", metavar="RUN", type=Path, help="a run file, as of lint --answers --save or of regrade --save"
    )
    parser.add_argument(
        "--labels",
        metavar="PATH",
        type=Path,
        required=True,
        help="a suite with labelled answers, a file of them, or verdicts: a run file, JSON lines, or a table",
    )
    parser.add_argument(
        "--suite", metavar="PATH", type=Path, action="append", help="as for regrade (default: benchmark_cases)"
    )
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.set_defaults(command=_agreement)


def _agreement(options: argparse.Namespace) -> int:
    from pytest_mapsat.proof import agreement_table  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.runs.agreement import agreement_of  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.regrade import open_suites  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.resume import read_saved  # noqa: PLC0415  likewise

    suites = open_suites(options.suite or [Path("benchmark_cases")])
    agreement = agreement_of(read_saved(options.run), suites, options.labels)
    if options.json:
        sys.stdout.write(json.dumps(agreement.to_json(), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in agreement_table(agreement)))
    return 0
