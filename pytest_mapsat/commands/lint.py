"""``mapsat lint``: a suite checked without an agent: its files, what its checks are worth, its labelled answers, the misses of a run."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .shared import FINDINGS, OK, Command, add_plugins, load_added, tell, write, write_json

if TYPE_CHECKING:
    from pytest_mapsat.proof import AnswersProof, Proof
    from pytest_mapsat.recording import Offer
    from pytest_mapsat.sandbox import SandboxHook
    from pytest_mapsat.suite import LintFinding, Suite

_SEVERITIES = ("error", "warning", "note")
#: So many other places of a finding are named.
_PLACES = 3
#: What of a finding's message says where it is, and a call of an oracle with its arguments.
_WHERE = re.compile(r"^(?:case \S+: )?(?:\w[\w.-]*(?:\[\d+\][\w.-]*)+: )?")
_CALL = re.compile(r"(calls \w+)\(.*\), which")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", metavar="SUITE", type=Path, help="the suite's folder, or a file or folder in it")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    about = "also make wrong and harmless answers from oracle dialogues, and count what the checks notice"
    parser.add_argument("--mutants", action="store_true", help=about)
    about = "also judge the suite's labelled answers; exit status 1 when a label is decided wrongly"
    parser.add_argument("--answers", action="store_true", help=about)
    about = "with --answers: write them as a run file, each a trial of its case"
    parser.add_argument("--save", metavar="RUN", type=Path, help=about)
    about = "with --answers: write the suite's calibration.json"
    parser.add_argument("--calibrate", action="store_true", help=about)
    about = "also print synonyms and recordings, ready to paste, for the misses of a saved run"
    parser.add_argument("--misses", metavar="RUN", type=Path, help=about)
    add_plugins(parser)


def _run(options: argparse.Namespace) -> int:
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.proof import answer_table, table
    from pytest_mapsat.recording import offers_of
    from pytest_mapsat.runs.regrade import open_suites
    from pytest_mapsat.runs.saved import read_saved

    for name in ("save", "calibrate"):
        if getattr(options, name) and not options.answers:
            raise UsageError(f"--{name} goes with --answers")
    sandboxes = load_added(options.plugins, [options.suite]).sandboxes
    findings = _findings(options.suite, sandboxes)
    sound = all(finding.severity != "error" for finding in findings)
    parts: list[tuple[str, Any, Iterable[str]]] = []  # what is told besides, as JSON and as lines
    wrong = False
    if options.mutants:
        proof = _mutants(options.suite, findings, sandboxes)
        parts.append(("mutants", proof.to_json(), table(proof)))
    if options.answers:
        answers = _judged_answers(options, sandboxes) if sound else None
        wrong = bool(answers and answers.wrong)
        told = ["answers: not judged, as the suite has errors"] if answers is None else answer_table(answers)
        parts.append(("answers", answers and answers.to_json(), told))
    if options.misses is not None:
        offers = offers_of(read_saved(options.misses), open_suites([options.suite])) if sound else None
        parts.append(
            ("misses", None if offers is None else [offer.to_json() for offer in offers], _offer_lines(offers))
        )
    if options.json:
        listed = [finding.to_json() for finding in findings]
        write_json({"findings": listed, **{name: data for name, data, _ in parts}} if parts else listed)
    else:
        _write_findings(findings)
        for _, _, lines in parts:
            write(["", *lines])
    return OK if sound and not wrong else FINDINGS


# -- findings ----------------------------------------------------------------------------------------------------------


def _opened(path: Path, sandboxes: Sequence[SandboxHook]) -> Suite:
    from pytest_mapsat.suite import find_suite, open_suite

    suite = open_suite(find_suite(path) or path)
    suite.sandboxes = sandboxes
    return suite


def _findings(path: Path, sandboxes: Sequence[SandboxHook]) -> list[LintFinding]:
    from pytest_mapsat.model import SuiteError, UsageError
    from pytest_mapsat.proof import lint_recordings
    from pytest_mapsat.suite import errors_of, lint

    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    try:
        suite = _opened(path, sandboxes)
    except SuiteError as error:
        return errors_of(error, "suite")
    findings = [*lint(suite), *lint_recordings(suite)]
    missed = {(finding.problem.path, finding.problem.line) for finding in findings if finding.rule == "oracle-miss"}
    # What an oracle's miss tells already.
    kept = [
        finding
        for finding in findings
        if finding.rule != "unknown-parameter" or (finding.problem.path, finding.problem.line) not in missed
    ]
    return sorted(kept, key=lambda finding: finding.order)


def _write_findings(findings: Sequence[LintFinding]) -> None:
    """Tell each finding once, with the other places where it is found: a slip in a tool shows in every case that calls it."""
    places: dict[tuple[str, ...], tuple[LintFinding, dict[str, None]]] = {}
    for finding in findings:
        problem = finding.problem
        what = _CALL.sub(r"\1, which", _WHERE.sub("", problem.message))
        _, where = places.setdefault((finding.severity, finding.rule, what, problem.hint), (finding, {}))
        where[f"{problem.path}:{problem.line}"] = None
    for finding, where in places.values():
        write([finding])
        if others := list(where)[1:]:
            more = f" and {len(others) - _PLACES} more" if len(others) > _PLACES else ""
            write([f"    likewise {', '.join(others[:_PLACES])}{more}"])
    counts = [(severity, sum(finding.severity == severity for finding in findings)) for severity in _SEVERITIES]
    write([", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts)])


# -- mutants, answers, misses ------------------------------------------------------------------------------------------


def _mutants(path: Path, findings: Sequence[LintFinding], sandboxes: Sequence[SandboxHook]) -> Proof:
    """Return what the checks make of mutants of all cases that can be loaded; the others are among the findings."""
    from pytest_mapsat.model import SuiteError
    from pytest_mapsat.proof import Proof, prove

    if any(finding.severity == "error" and finding.rule != "case" for finding in findings):
        return Proof(())
    suite = _opened(path, sandboxes)
    cases = []
    for entry in suite.readable():
        with suppress(SuiteError):
            suite.recordings(entry.id)  # what cannot be read is among the findings
            cases.append(suite.load(entry))
    return prove(cases, suite)


def _judged_answers(options: argparse.Namespace, sandboxes: Sequence[SandboxHook]) -> AnswersProof:
    """Judge the labelled answers of a sound suite; write them as a run, and the calibration, where that is asked for. Raises UsageError, SuiteError."""
    from pytest_mapsat.formats import save_run, shown_path
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.proof import AnswersProof
    from pytest_mapsat.runs.people_labels import judge_answers
    from pytest_mapsat.suite import read_answers

    suite = _opened(options.suite, sandboxes)
    answers = read_answers(suite)
    if options.calibrate or options.save is not None:  # what is kept rests on accepted cases alone
        drafts = {entry.id for entry in suite.readable() if entry.draft}
        answers = tuple(answer for answer in answers if answer.noun.case not in drafts)
    judged, dialogues = judge_answers(suite, answers)
    if not answers and (options.calibrate or options.save is not None):
        option = "--save" if options.save is not None else "--calibrate"
        raise UsageError(
            f"{option}: {shown_path(suite.root)} has no labelled answers; docs/how-to/label-by-hand.md shows some"
        )
    if options.save is not None:
        save_run(options.save, judged)
    proof = AnswersProof(dialogues)
    if options.calibrate:
        _calibrate(suite, proof)
    return proof


def _calibrate(suite: Suite, proof: AnswersProof) -> None:
    """Write the table of the suite's own failures by cell."""
    from pytest_mapsat.formats import replacing, shown_path, signed
    from pytest_mapsat.judges import calibrate
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.proof import judging_of
    from pytest_mapsat.suite import CALIBRATION

    against = [label for label in proof.wrong if label.exact]
    if against:
        first = against[0]
        more = f", and {len(against) - 1} more" if len(against) > 1 else ""
        raise UsageError(
            f"--calibrate: answer {first.answer} to {first.case} labels {first.requirement} {first.should}, and its check, which reads no prose, says {first.said} "
            f"({first.why}){more}: mend the label or the check first"
        )
    judgings = [judging_of(dialogue) for dialogue in proof.judged]
    counted = calibrate({suite.manifest.name: judgings})
    own = signed(counted.model_copy(update={"red_of_right": None, "green_of_wrong": None}))
    path = suite.root / CALIBRATION
    with replacing(path) as file:
        file.write(json.dumps({"schema": own.schema_} | own.to_json(), indent=1, ensure_ascii=False).encode() + b"\n")
    enough = sum(sum(counts) >= own.least for counts in own.cells.values())
    tell(
        f"{shown_path(path)}: {len(own.cells)} kinds of failures from {len(judgings)} answers; {enough} of them have the {own.least} failures that make them "
        "count. Answers that the checks were mended on flatter: calibrate on fresh ones."
    )


def _offer_lines(offers: Sequence[Offer] | None) -> Iterator[str]:
    if offers is None:
        yield "misses: not looked at, as the suite has errors"
        return
    for offer in offers:
        yield from (*offer.lines(), "")
    times = sum(offer.times for offer in offers)
    yield f"{times} call{'' if times == 1 else 's'} missed, {len(offers)} different"


COMMANDS = {"lint": Command("Exit status 1 when something is found that would stop a run.", _arguments, _run)}
