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
    parser.add_argument(
        "--require",
        metavar="RATES",
        type=_required,
        help="what the judge must reach, by lower bounds, as tpr=0.9,tnr=0.9@95: the share of kept requirements that it passes, and of broken ones "
        "that it fails, at 95 %% (exit status 1 below)",
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        type=Path,
        help="where the judge's certificate goes (default, where --require holds: judge-certificate.json of the suite)",
    )
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.set_defaults(command=_agreement)


def _required(text: str) -> tuple[dict[str, float], float]:
    from pytest_mapsat.proof.agreement import parse_required  # noqa: PLC0415  --help needs no pydantic

    try:
        return parse_required(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _agreement(options: argparse.Namespace) -> int:
    from pytest_mapsat.formats import shown_path  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.proof import agreement as certificates  # noqa: PLC0415  likewise
    from pytest_mapsat.proof import agreement_table  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.labels import agreement_of  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.regrade import open_suites  # noqa: PLC0415  likewise
    from pytest_mapsat.runs.saved import read_saved  # noqa: PLC0415  likewise

    suites = open_suites(options.suite or [Path("benchmark_cases")])
    run = read_saved(options.run)
    agreement = agreement_of(run, suites, options.labels)
    required, level = options.require or ({}, certificates.LEVEL)
    rates = certificates.rates_of(agreement, level)
    if options.json:
        data = agreement.to_json() | {
            "rates": {kind: {name: rate.model_dump() for name, rate in both.items()} for kind, both in rates.items()}
        }
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")
    else:
        lines = [*agreement_table(agreement), "", *certificates.certificate_table(rates, level)]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    if short := [*certificates.lacking(rates["all"], required, level)]:
        sys.stderr.write("".join(f"mapsat: {line}\n" for line in short))
        return 1
    if required or options.save is not None:
        certificate, suite = certificates.certificate_of(run, suites, agreement, level)
        path = options.save or suite.root / certificates.CERTIFICATE
        certificates.write_certificate(path, certificate)
        sys.stderr.write(f"mapsat: wrote {shown_path(path)}\n")
    return 0
