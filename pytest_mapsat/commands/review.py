"""``mapsat review``: people label what a judge left open or got wrong; how good the judge of a run is, held against labels."""

from __future__ import annotations

import argparse
from pathlib import Path

from .shared import FINDINGS, OK, SUITE, add_plugins, add_run, add_suite, load_added, tell, write, write_json

MORE = (
    "Each label is kept at once and counts from then on for this requirement's words, this reply and this evidence; regrade applies it to a saved run. "
    "With --agreement: hold the judge of the run against labels that are known, by agreement, Cohen's kappa, confusion, and how far scores lie apart."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_run(parser)
    add_suite(parser)
    about = "where labels are kept (default: labels/reviewed.jsonl of the suite); with --agreement what is known to be true: a suite with "
    about += "labels of people, a file of them, or verdicts: a run file, JSON lines, or a table"
    parser.add_argument("--labels", metavar="PATH", type=Path, help=about)
    parser.add_argument("--by", metavar="NAME", default="person", help="who labels (default: person)")
    about = "take labels from JSON lines: case, trial, labels"
    parser.add_argument("--from", metavar="FILE", dest="given", type=Path, help=about)
    parser.add_argument("--list", action="store_true", help="only list what is open")
    about = (
        "also keep dialogues that are labelled whole, in labels/dialogues.jsonl of the suite, to hold judges against"
    )
    parser.add_argument("--with-dialogues", action="store_true", help=about)
    parser.add_argument("--agreement", action="store_true", help="measure the judge of the run against --labels")
    about = (
        "what the judge must reach, by lower bounds, as tpr=0.9,tnr=0.9@95: the share of kept requirements that it passes, and of broken ones "
        "that it fails, at 95 %% (exit status 1 below)"
    )
    parser.add_argument("--require", metavar="RATES", type=_required, help=f"with --agreement: {about}")
    about = "where the judge's certificate goes (default, where --require holds: judge-certificate.json of the suite)"
    parser.add_argument("--save", metavar="FILE", type=Path, help=f"with --agreement: {about}")
    add_plugins(parser)
    about = "print the list, with --from the counts, with --agreement all figures, as JSON"
    parser.add_argument("--json", action="store_true", help=about)


def _required(text: str) -> tuple[dict[str, float], float]:
    from pytest_mapsat.proof import parse_required

    try:
        return parse_required(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    """Take labels, or measure the judge."""
    from pytest_mapsat.model import UsageError

    suites = options.suite or [SUITE]
    if options.agreement:
        if options.labels is None:
            raise UsageError("--agreement needs --labels PATH: what is known to be true")
        return _agreement(options, suites)
    for name in ("require", "save"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} goes with --agreement")
    from .reviewing import Review, conduct

    load_added(options.plugins, suites)
    opened = Review.of(options.run, suites, options.labels, options.by)
    conduct(
        opened,
        given=options.given,
        listed=options.list,
        as_json=options.json,
        with_dialogues=options.with_dialogues,
    )
    return OK


def _agreement(options: argparse.Namespace, paths: list[Path]) -> int:
    from pytest_mapsat import proof
    from pytest_mapsat.formats import shown_path
    from pytest_mapsat.runs.people_labels import agreement_of
    from pytest_mapsat.runs.regrade import open_suites
    from pytest_mapsat.runs.saved import read_saved

    suites = open_suites(paths)
    saved = read_saved(options.run)
    agreement = agreement_of(saved, suites, options.labels)
    required, level = options.require or ({}, proof.LEVEL)
    rates = proof.rates_of(agreement, level)
    if options.json:
        by_kind = {kind: {name: rate.model_dump() for name, rate in both.items()} for kind, both in rates.items()}
        write_json(agreement.to_json() | {"rates": by_kind})
    else:
        write([*proof.agreement_table(agreement), "", *proof.certificate_table(rates, level)])
    if short := [*proof.lacking(rates["all"], required, level)]:
        for line in short:
            tell(line)
        return FINDINGS
    if required or options.save is not None:
        certificate, suite = proof.certificate_of(saved, suites, agreement, level)
        path = options.save or suite.root / proof.CERTIFICATE
        proof.write_certificate(path, certificate)
        tell(f"wrote {shown_path(path)}")
    return OK
