"""``mapsat review``: people label what a judge left open or got wrong; how good the judge of a run is, held against labels."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .shared import FINDINGS, OK, SUITE, Command, add_plugins, add_run, add_suite, load_added, tell, write, write_json

if TYPE_CHECKING:
    from pytest_mapsat.model import Mark, Requirement, Step
    from pytest_mapsat.runs.people_labels import Question, Review

#: The most characters of a reply, and of anything else, that are shown.
_REPLY = 20_000
_LONG = 2_000
_CALLS = 8
#: The most characters of a typed reason.
_WHY = 1_000
#: The most columns that a question fills.
_WIDTH = 100
_KEYS = "p passed, f failed, s skip, q quit (a reason may stand behind p or f)"
_MARKS: dict[str, Mark] = {"p": "passed", "f": "failed", "0.25": 0.25, "0.5": 0.5, "0.75": 0.75}


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    add_suite(parser)
    about = "where labels are kept (default: labels/reviewed.jsonl of the suite); with --agreement the known labels: a suite, a file of them, "
    about += "or verdicts (a run file, JSON lines, or a table)"
    parser.add_argument("--labels", metavar="PATH", type=Path, help=about)
    parser.add_argument("--by", metavar="NAME", default="person", help="who labels (default: person)")
    about = "take labels from JSON lines: case, trial, labels"
    parser.add_argument("--from", metavar="FILE", dest="given", type=Path, help=about)
    parser.add_argument("--list", action="store_true", help="only list what is open")
    about = "also keep fully labelled dialogues in labels/dialogues.jsonl"
    parser.add_argument("--with-dialogues", action="store_true", help=about)
    parser.add_argument("--agreement", action="store_true", help="measure the judge of the run against --labels")
    about = (
        "what the judge must reach, such as tpr=0.9,tnr=0.9@95: lower 95 %% bounds of the share of kept requirements that it passes, "
        "and of broken ones that it fails"
    )
    parser.add_argument("--require", metavar="RATES", type=_required, help=f"with --agreement: {about}")
    about = "where the judge's certificate goes (default: judge-certificate.json of the suite)"
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


def _run(options: argparse.Namespace) -> int:
    from pytest_mapsat.model import UsageError

    suites = options.suite or [SUITE]
    if options.agreement:
        if options.labels is None:
            raise UsageError("--agreement needs --labels PATH: what is known to be true")
        return _agreement(options, suites)
    for name in ("require", "save"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} goes with --agreement")
    load_added(options.plugins, suites)
    review = _opened(options, suites)
    if options.list:
        _list(review.open, as_json=options.json)
        return OK
    taken = _ask(review) if options.given is None else review.take_file(options.given)
    told = list(review.add_answers()) if options.with_dialogues else []
    left = len(review.open)
    if options.json:
        write_json({"labelled": taken, "open": left, "dialogues": told})
    else:
        write([*told, f"{taken} labels given, {left} open" + ("; mapsat regrade counts them" if taken else "")])
    return OK


def _opened(options: argparse.Namespace, paths: Sequence[Path]) -> Review:
    from pytest_mapsat.formats import read_run
    from pytest_mapsat.model import UsageError, shown
    from pytest_mapsat.runs.people_labels import Review
    from pytest_mapsat.runs.regrade import Changes, changed_suites, open_suites

    if not options.by.strip() or not options.by.isprintable():
        raise UsageError(f"--by: found {shown(options.by)}, expected a name")
    saved, suites = read_run(options.run), open_suites(paths)
    for warning in changed_suites(saved, suites, Changes(decisions=options.labels)):
        tell(f"warning: {warning}")
    return Review(saved, suites, options.labels, options.by)


def _list(questions: Sequence[Question], *, as_json: bool) -> None:
    from pytest_mapsat.reports import columns, printable, wrap
    from pytest_mapsat.runs.people_labels import dialogue_name

    if as_json:
        write_json([question.to_json() for question in questions])
        return
    for question in questions:
        named = f"{dialogue_name(question.card)}, {question.requirement.id}"
        text = f"{question.state}: {named}: {printable(_cut(question.label.why))}"
        write(wrap(text, columns(_WIDTH), hang=2))
    write([f"{len(questions)} labels open"])


# -- questions on the terminal -----------------------------------------------------------------


def _ask(review: Review) -> int:
    """Put the open questions one by one; each decision is kept at once. Return how many were taken."""
    asked, taken = review.open, 0
    for number, question in enumerate(asked, 1):
        write(_question_lines(question, number, len(asked)))
        key, why = _key(question.requirement)
        if key == "q":
            break
        if key != "s":
            review.decide(question, _MARKS[key], why)
            taken += 1
    return taken


def _question_lines(question: Question, number: int, total: int) -> Iterator[str]:
    """Yield a question as lines: what was asked, what is required, what was said, and the calls that matter."""
    from pytest_mapsat.runs.people_labels import dialogue_name

    card, label = question.card, question.label
    yield ""
    yield f"[{number}/{total}] {dialogue_name(card)}: {label.kind} {question.requirement.id} is {question.state}"
    for index, turn in enumerate(card.trajectory.turns):
        shown_text = turn.text[:_REPLY]
        yield from _part(turn.role, *(shown_text.splitlines() or [""]))
        if len(shown_text) < len(turn.text):
            yield f"           (and {len(turn.text) - len(shown_text)} more characters; mapsat reads all of them)"
        quotes = [quote.text for quote in label.quotes if quote.turn == index]
        yield from _part("quoted", _cut(" | ".join(quotes))) if quotes else ()
    yield from _part("evidence", *(_calls(question.calls) or ["no call was made"]))
    yield from _part("judge", _cut(label.why) or "gives no reason")
    yield from _part("required", question.requirement.text)


def _calls(calls: Sequence[Step]) -> list[str]:
    from pytest_mapsat.reports import call_text

    told = [
        f"{_cut(call_text(call.tool, call.arguments))} -> {_cut(json.dumps(call.result, ensure_ascii=False))}"
        for call in calls[:_CALLS]
    ]
    return told + ([f"and {len(calls) - _CALLS} more calls"] if len(calls) > _CALLS else [])


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]} (and {len(text) - _LONG} more characters)"


def _part(name: str, *paragraphs: str) -> Iterator[str]:
    """Yield paragraphs behind a name; nothing that a reply holds can steer the terminal."""
    from pytest_mapsat.reports import columns, labelled, printable

    for number, paragraph in enumerate(paragraphs):
        label = f"{'' if number else name:11}"
        yield from (line.text for line in labelled(label, printable(paragraph), columns(_WIDTH)))


def _key(requirement: Requirement) -> tuple[str, str]:
    """Return the key that was typed, and the reason behind it. The end of the input quits."""
    from pytest_mapsat.model import fits, shown

    while True:
        sys.stdout.write(f"{_KEYS} > ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            write([""])
            return "q", ""
        key, _, why = line.strip().partition(" ")
        key = key.lower()
        if key in {"s", "q"} or (key in _MARKS and fits(_MARKS[key], requirement)):
            return key, why.strip()[:_WHY]
        levels = " or a level (0.25, 0.5, 0.75)" if fits(0.5, requirement) else ""
        write([f"found {shown(line.strip())}, expected p, f, s, q{levels}"])


# -- how good the judge is ---------------------------------------------------------------------


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


COMMANDS = {
    "review": Command(
        (
            "Each label is kept at once; regrade applies it to a saved run. With --agreement: measure the judge of the run against known labels."
        ),
        _arguments,
        _run,
    )
}
