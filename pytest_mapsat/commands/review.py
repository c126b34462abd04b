"""``mapsat review``: people label what a judge left open or got wrong, and decide on proposals; how good the judge of a run is, compared with labels."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mapsat import making, proof
from pytest_mapsat.formats import read_run, shown_path
from pytest_mapsat.model import MapsatError, Mark, Requirement, Step, UsageError, fits, hint_at, shown
from pytest_mapsat.reports import call_text, columns, labelled, printable, wrap
from pytest_mapsat.runs.saved import read_saved
from pytest_mapsat.suite import find_suite, read_answers

from . import shared

if TYPE_CHECKING:
    from pytest_mapsat.runs.people_labels import Review, ReviewQuestion

#: The most characters of a reply, and of anything else, that are shown.
_REPLY = 20_000
_LONG = 2_000
_CALLS = 8
#: The most characters of a typed reason.
_WHY = 1_000
#: The most columns that a question fills.
_WIDTH = 100
#: Endings of files of cases that no run has.
_OF_CASES = (".yaml", ".yml", ".jsonl", ".gz")
_CHANGES = re.compile(r"(?:^|\s)(kind|text|value)=")
#: What a proposed requirement may become.
_KINDS = ("asked", "hard", "soft")
_KEYS = "p passed, f failed, s skip, q quit (a reason may follow p or f)"
_MARKS: dict[str, Mark] = {"p": "passed", "f": "failed", "0.25": 0.25, "0.5": 0.5, "0.75": 0.75}


def add_review_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat review``."""
    about = "a file that --mapsat-save wrote, or a journal; or a suite, or a file or folder in it, whose proposals are reviewed"
    shared.add_run(parser, about)
    shared.add_suite(parser)
    about = "where labels are kept (default: labels/reviewed.jsonl of the suite); with --agreement the known labels: a suite, a file of them, "
    about += "or verdicts (a run file, JSON lines, or a table)"
    parser.add_argument("--labels", metavar="PATH", type=Path, help=about)
    parser.add_argument("--by", metavar="NAME", default="person", help="who labels or decides (default: person)")
    about = "read labels from JSON lines (case, trial, labels), or for a suite decisions (case, proposal, outcome)"
    parser.add_argument("--from", metavar="FILE", dest="given", type=Path, help=about)
    parser.add_argument("--list", action="store_true", help="only list the open questions")
    about = "also keep fully labelled dialogues in labels/dialogues.jsonl"
    parser.add_argument("--with-dialogues", action="store_true", help=about)
    parser.add_argument("--agreement", action="store_true", help="measure the judge of the run against --labels")
    about = (
        "minimum rates that the judge must reach, such as tpr=0.9,tnr=0.9@95: lower 95 %% bounds of the share of kept requirements that it passes, "
        "and of broken ones that it fails"
    )
    parser.add_argument("--require", metavar="RATES", type=_required, help=f"with --agreement: {about}")
    about = "the file for the judge's certificate (default: judge-certificate.json of the suite)"
    parser.add_argument("--save", metavar="FILE", type=Path, help=f"with --agreement: {about}")
    shared.add_plugins(parser)
    about = "print the list, with --from the counts, with --agreement all figures, as JSON"
    parser.add_argument("--json", action="store_true", help=about)


def _required(text: str) -> tuple[dict[str, float], float]:
    """Return the required rates and the confidence level in an argument. Raises ArgumentTypeError."""
    try:
        return proof.parse_required(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run_review(options: argparse.Namespace) -> int:
    """Each label is kept at once; regrade applies the labels to a saved run. For a suite: accept, change or drop the proposals of its drafts. With --agreement: compare the judge of the run with known labels."""
    if not options.by.strip() or not options.by.isprintable():
        raise UsageError(f"--by: found {shown(options.by)}, expected a name")
    if options.run.is_dir() or (options.run.suffix in _OF_CASES and options.run.is_file() and find_suite(options.run)):
        return _review_proposals(options)
    suites = shared.suites_of(options)
    if options.agreement:
        if options.labels is None:
            raise UsageError("--agreement needs --labels PATH: the labels that are known to be true")
        return _agreement(options, suites)
    for name in ("require", "save"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} goes with --agreement")
    shared.load_added(options.plugins, suites)
    review = _opened(options, suites)
    if options.list:
        return shared.respond(options, [question.to_json() for question in review.open], _listed(review.open))
    taken = _ask(review) if options.given is None else review.take_file(options.given)
    dialogues = list(review.add_answers()) if options.with_dialogues else []
    left = len(review.open)
    summary = f"{shared.counted(taken, 'label')} given, {left} open" + ("; mapsat regrade counts them" if taken else "")
    return shared.respond(options, {"labelled": taken, "open": left, "dialogues": dialogues}, [*dialogues, summary])


def _opened(options: argparse.Namespace, paths: Sequence[Path]) -> Review:
    """Return the review of a saved run, after warnings about changed suites."""
    from pytest_mapsat.runs.people_labels import Review
    from pytest_mapsat.runs.regrade import Changes, changed_suites, open_suites

    saved = read_run(options.run)
    suites = open_suites(paths, options=saved.manifest.options)
    for warning in changed_suites(saved, suites, Changes(decisions=options.labels)):
        shared.tell(f"warning: {warning}")
    return Review(saved, suites, options.labels, options.by)


def _listed(questions: Sequence[ReviewQuestion]) -> Iterator[str]:
    """Yield each open question as wrapped lines, then their number."""
    from pytest_mapsat.runs.people_labels import dialogue_name

    for question in questions:
        place = f"{dialogue_name(question.card)}, {question.requirement.id}"
        text = f"{question.state}: {place}: {printable(_cut(question.label.why))}"
        yield from wrap(text, columns(_WIDTH), hang=2)
    yield f"{shared.counted(len(questions), 'label')} open"


# -- questions on the terminal -----------------------------------------------------------------


def _ask(review: Review) -> int:
    """Ask the open questions one by one, keep each decision at once, and return the number of decisions."""
    asked, taken = review.open, 0
    for number, question in enumerate(asked, 1):
        shared.write(_question_lines(question, number, len(asked)))
        key, why = _key(question.requirement)
        if key == "q":
            break
        if key != "s":
            review.decide(question, _MARKS[key], why)
            taken += 1
    return taken


def _question_lines(question: ReviewQuestion, number: int, total: int) -> Iterator[str]:
    """Yield a question as lines: the dialogue, the calls that matter, the judge's reason and the requirement."""
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
    """Return the first calls with their results as lines, and the number of further calls."""
    lines = [
        f"{_cut(call_text(call.tool, call.arguments))} -> {_cut(json.dumps(call.result, ensure_ascii=False))}"
        for call in calls[:_CALLS]
    ]
    return lines + ([f"and {len(calls) - _CALLS} more calls"] if len(calls) > _CALLS else [])


def _cut(text: str) -> str:
    """Return a text cut to the displayed length, with the number of omitted characters."""
    return text if len(text) <= _LONG else f"{text[:_LONG]} (and {len(text) - _LONG} more characters)"


def _part(name: str, *paragraphs: str) -> Iterator[str]:
    """Yield paragraphs as lines after a label, without control characters that could manipulate the terminal."""
    for number, paragraph in enumerate(paragraphs):
        label = f"{'' if number else name:11}"
        yield from (line.text for line in labelled(label, printable(paragraph), columns(_WIDTH)))


def _typed(prompt: str) -> str:
    """Print a prompt and return the typed line; empty at the end of the input. Ends the line if no terminal echoes the input."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line or not sys.stdin.isatty():
        shared.write([""])
    return line


def _key(requirement: Requirement) -> tuple[str, str]:
    """Return the typed key and the reason after it; ask again if the key is invalid. Returns ``q`` at the end of the input."""
    while True:
        line = _typed(f"{_KEYS} > ")
        if not line:
            return "q", ""
        key, _, why = line.strip().partition(" ")
        key = key.lower()
        if key in {"s", "q"} or (key in _MARKS and fits(_MARKS[key], requirement)):
            return key, why.strip()[:_WHY]
        levels = " or a level (0.25, 0.5, 0.75)" if fits(0.5, requirement) else ""
        shared.write([f"found {shown(line.strip())}, expected p, f, s, q{levels}"])


# -- proposals of drafts ----------------------------------------------------------------------


def _review_proposals(options: argparse.Namespace) -> int:
    """List the proposals of a suite's drafts, or ask for decisions on them; return the exit status."""
    of_runs = ("suite", "labels", "with_dialogues", "agreement", "require", "save")
    if given := [name for name in of_runs if getattr(options, name)]:
        raise UsageError(f"--{given[0].replace('_', '-')} goes with a run, and {options.run} is of a suite")
    review = making.ProposalReview(options.run, options.by, shared.load_added(options.plugins, [options.run]).sandboxes)
    if options.list:
        proposals = review.open
        if options.json:
            shared.write_json([proposal.to_json() | {"log": [*_logged(review, proposal)]} for proposal in proposals])
            return shared.OK
        shared.write(f"{proposal.name} of {proposal.case.id}: {_proposed(proposal)}" for proposal in proposals)
        shared.write([f"{shared.counted(len(proposals), 'proposal')} open"])
        return shared.OK
    taken = _decide(review) if options.given is None else review.take_file(options.given)
    left = len(review.open)
    summary = f"{shared.counted(taken, 'proposal')} decided, {left} open"
    return shared.respond(options, {"decided": taken, "open": left}, [summary])


def _proposed(proposal: making.Proposal) -> str:
    """Return a proposal in one line: the requirement, or the words of the user."""
    part = proposal.part
    words = f"{part.kind}: {part.text}" if isinstance(part, Requirement) else f"the user says: {part.say}"
    return printable(_cut(words))


def _logged(review: making.ProposalReview, proposal: making.Proposal) -> Iterator[dict[str, str]]:
    """Yield each labelled reply to a proposal's case, with the user's next words and the outcome of the proposal's check."""
    from pytest_mapsat.runs.people_labels import judge_answers

    answers = [placed for placed in read_answers(review.suite) if placed.noun.case == proposal.case.id]
    run, _ = judge_answers(review.suite, answers)
    replies = {answer.noun.id: [turn.text for turn in answer.noun.turns] for answer in answers}
    for answer, card in zip(answers, run.cases, strict=True):
        last = card.trajectory.turns[-1].text
        # Another answer goes on where this one ends: with what the user said to it.
        following = (texts[texts.index(last) + 1 :] for texts in replies.values() if last in texts)
        label = next((label for label in card.labels if label.requirement == proposal.name), None)
        yield {
            "answer": answer.noun.id,
            "reply": last,
            "next": next((texts[0] for texts in following if texts), ""),
            "outcome": label.outcome if label else "",
            "why": label.why if label else "",
            "log": answer.noun.why.get(proposal.name, ""),
        }


def _decide(review: making.ProposalReview) -> int:
    """Ask about the proposals one by one, keep each decision at once, and return the number of decisions."""
    asked, taken = review.open, 0
    for number, earlier in enumerate(asked, 1):
        proposal = next(each for each in review.open if (each.case.id, each.name) == (earlier.case.id, earlier.name))
        shared.write(_proposal_lines(review, proposal, number, len(asked)))
        while True:
            outcome, given = _choice()
            if outcome in ("s", "q"):
                break
            try:
                data = {"case": proposal.case.id, "proposal": proposal.name, "outcome": outcome, **given}
                review.decide(proposal, making.ProposalDecision.model_validate(data))
            except (MapsatError, ValueError) as error:
                shared.write([str(error)])
                continue
            taken += 1
            break
        if outcome == "q":
            break
    return taken


def _choice() -> tuple[str, dict[str, object]]:
    """Return the typed outcome (or ``s``, ``q``) and its details; ask again if they are invalid. Returns ``q`` at the end of the input."""
    outcomes = {"a": "accepted", "c": "changed", "d": "dropped"}
    while True:
        line = _typed("a accept, c change (kind= text= value=), d drop, s skip, q quit > ")
        key, _, rest = line.strip().partition(" ")
        if not line or key in ("s", "q"):
            return (key or "q"), {}
        given: dict[str, object] = {"why": rest.strip()[:_WHY]} if rest.strip() and key != "c" else {}
        if key == "c":
            parts = _CHANGES.split(rest)[1:]
            given = {name: value.strip() for name, value in zip(parts[::2], parts[1::2], strict=True)}
            with suppress(KeyError, ValueError):  # what is no JSON is a text
                given["value"] = json.loads(str(given["value"]))
        kind = given.get("kind", _KINDS[0])
        if key in outcomes and kind not in _KINDS:
            shared.write([f"kind: found {shown(kind)}, expected asked, hard or soft{hint_at(kind, _KINDS)}"])
            continue
        if key in outcomes and (given or key != "c"):
            return outcomes[key], given
        shared.write([f"found {shown(line.strip())}, expected a, c with kind=, text= or value=, d, s, q"])


def _proposal_lines(review: making.ProposalReview, proposal: making.Proposal, number: int, total: int) -> Iterator[str]:
    """Yield a proposal as lines: query, logged replies and reactions, evidence with places, check, and the proposal."""
    part = proposal.part
    yield ""
    yield f"[{number}/{total}] case {proposal.case.id}: {proposal.name} is proposed ({shown_path(proposal.entry.path)}:{proposal.line})"
    yield from _part("query", _cut(proposal.case.visible.query))
    for entry in _logged(review, proposal):
        yield from _part(entry["answer"], _cut(entry["reply"]))
        yield from _part("the user", _cut(entry["next"])) if entry["next"] else ()
        yield from _part("the log", _cut(entry["log"])) if entry["log"] else ()
        yield from _part("the check", f"{entry['outcome']}: {_cut(entry['why'])}") if entry["outcome"] else ()
    if isinstance(part, Requirement):
        for evidence in part.evidence:
            yield from _part("evidence", f"{', '.join(evidence.at)}: {_cut(evidence.text)}")
        check = None if part.check is None else part.check.to_json()
        yield from _part("check", _cut(json.dumps(check, ensure_ascii=False)))
    else:
        yield from _part("asked for", ", ".join(part.asked))
    yield from _part("proposed", _proposed(proposal))


# -- how good the judge is ---------------------------------------------------------------------


def _agreement(options: argparse.Namespace, paths: list[Path]) -> int:
    """Compare the judge of a run with known labels, write a certificate if requested, and return the exit status."""
    from pytest_mapsat.runs.people_labels import agreement_of
    from pytest_mapsat.runs.regrade import open_suites

    saved = read_saved(options.run)
    suites = open_suites(paths, options=saved.manifest.options)
    agreement = agreement_of(saved, suites, options.labels)
    required, level = options.require or ({}, proof.LEVEL)
    rates = proof.rates_of(agreement, level)
    by_kind = {kind: {name: rate.model_dump() for name, rate in both.items()} for kind, both in rates.items()}
    tables = [*proof.agreement_table(agreement), "", *proof.certificate_table(rates, level)]
    shared.respond(options, agreement.to_json() | {"rates": by_kind}, tables)
    if short := [*proof.lacking(rates["all"], required, level)]:
        for line in short:
            shared.tell(line)
        return shared.FINDINGS
    if required or options.save is not None:
        certificate, suite = proof.certificate_of(saved, suites, agreement, level)
        path = options.save or suite.root / proof.CERTIFICATE
        proof.write_certificate(path, certificate)
        shared.tell(f"wrote {shown_path(path)}")
    return shared.OK
