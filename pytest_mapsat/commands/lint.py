"""``mapsat lint``: a suite checked without an agent: its files, what its checks are worth, its labelled answers, the misses of a run."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import unified_diff
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pytest_mapsat import proof
from pytest_mapsat.formats import replacing, save_run, shown_path, signed
from pytest_mapsat.model import SuiteError, UsageError
from pytest_mapsat.recording import RecordingOffer, offers_of
from pytest_mapsat.runs.saved import read_saved
from pytest_mapsat.sandbox import SandboxHook
from pytest_mapsat.suite import (
    CALIBRATION,
    RULES,
    LintFinding,
    Severity,
    Suite,
    added_rules,
    find_suite,
    findings_of,
    lint,
    open_suite,
    read_answers,
)

from . import shared

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
#: So many other places of a finding are named.
_PLACES = 3
#: So many changed lines of a card are told.
_SHOWN_CHANGES = 10
#: What of a finding's message says where it is, and a call of an oracle with its arguments.
_WHERE = re.compile(r"^(?:case \S+: )?(?:\w[\w.-]*(?:\[\d+\][\w.-]*)+: )?")
_CALL = re.compile(r"(calls \w+)\(.*\), which")


def add_lint_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat lint``."""
    about = "the suite's folder, or a file or folder in it"
    parser.add_argument("suite", metavar="SUITE", nargs="?", type=Path, help=about)
    about = "print the rules with their severity and scope, without checking a suite"
    parser.add_argument("--list", action="store_true", help=about)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    about = "also make wrong and harmless answers from oracle dialogues, and count what the checks notice"
    parser.add_argument("--mutants", action="store_true", help=about)
    about = "also judge the suite's labelled answers; exit status 1 when a label is decided wrongly"
    parser.add_argument("--answers", action="store_true", help=about)
    about = "with --answers: write them as a run file, each a trial of its case"
    parser.add_argument("--save", metavar="RUN", type=Path, help=about)
    about = "with --answers: write the suite's calibration.json"
    parser.add_argument("--calibrate", action="store_true", help=about)
    about = "also play the baselines and report on the quality of the suite; this never changes the exit status"
    parser.add_argument("--baselines", action="store_true", help=about)
    about = "with --baselines: write the suite's data card, in Markdown"
    parser.add_argument("--card", metavar="FILE", type=Path, help=about)
    about = "with --card: write nothing; exit status 1 if the existing file is out of date"
    parser.add_argument("--check", action="store_true", help=about)
    about = "also measure how well the suite's ranked search finds what the hops of oracles need (NDCG and MRR at 10 and 20)"
    parser.add_argument("--retrieval", action="store_true", help=about)
    about = "also print synonyms and recordings, ready to paste, for the misses of a saved run"
    parser.add_argument("--misses", metavar="RUN", type=Path, help=about)
    shared.add_plugins(parser)


class _LintPart(NamedTuple):
    """An optional part of lint's output: its JSON data, its lines, and whether it makes the exit status 1."""

    name: str
    data: Any
    lines: Iterable[str]
    wrong: bool = False


def run_lint(options: argparse.Namespace) -> int:
    """Exit status 1 if lint finds an error that would stop a run."""
    owners = {"save": "answers", "calibrate": "answers", "card": "baselines", "check": "card"}
    for name, other in owners.items():
        if getattr(options, name) and not getattr(options, other):
            raise UsageError(f"--{name} goes with --{other}")
    if options.list:
        return _list(options)
    if options.suite is None:
        raise UsageError("name a suite, or give --list; see mapsat lint --help")
    sandboxes = shared.load_added(options.plugins, [options.suite]).sandboxes
    findings = _findings(options.suite, sandboxes)
    sound = all(finding.severity != "error" for finding in findings)
    parts = [*_parts(options, findings, sandboxes, sound=sound)]
    listed = [finding.to_json() for finding in findings]
    data = {"findings": listed, **{part.name: part.data for part in parts}} if parts else listed
    lines = (line for part in parts for line in ("", *part.lines))
    shared.respond(options, data, chain(_finding_lines(findings), lines))
    return shared.OK if sound and not any(part.wrong for part in parts) else shared.FINDINGS


def _list(options: argparse.Namespace) -> int:
    """Print the table of lint rules, then the rule functions of installed packages; return the exit status."""
    names = ("severity", "looks_at", "about")
    data = [{"id": id_} | {name: getattr(rule, name) for name in names} for id_, rule in RULES.items()]
    lines = [f"{row['id']:20} {row['severity']:8} {row['looks_at']:12} {row['about']}" for row in data]
    lines += [f"{name:20} {'any':8} {'package':12} rules of an installed package" for name in added_rules()]
    return shared.respond(options, data, lines)


def _parts(
    options: argparse.Namespace, findings: Sequence[LintFinding], sandboxes: Sequence[SandboxHook], *, sound: bool
) -> Iterator[_LintPart]:
    """Yield the parts that options request; ``sound``: whether the suite has no errors, without which most parts are omitted."""
    from pytest_mapsat.runs.regrade import open_suites

    if options.mutants:
        mutants = _mutants(options.suite, findings, sandboxes)
        yield _LintPart("mutants", mutants.to_json(), proof.table(mutants))
    if not sound:
        left_out = (("answers", "judged"), ("baselines", "played"), ("retrieval", "measured"), ("misses", "looked at"))
        for name, done in left_out:
            if getattr(options, name):
                yield _LintPart(name, None, [f"{name}: not {done}, as the suite has errors"])
        return
    if options.answers:
        answers = _judged_answers(options, sandboxes)
        data = answers.to_json() | answers.labels_to_json()
        yield _LintPart("answers", data, proof.answer_table(answers), bool(answers.wrong))
    if options.baselines:
        worth = _worth(options, sandboxes)
        wrong = options.card is not None and not _card(options, worth)
        yield _LintPart("baselines", worth.to_json(), proof.worth_table(worth), wrong)
    if options.retrieval:
        suite = _opened(options.suite, sandboxes)
        measured = proof.measure_retrieval(suite, [suite.load(entry) for entry in suite.accepted()])
        yield _LintPart("retrieval", measured.to_json(), measured.lines())
    if options.misses is not None:
        offers = offers_of(read_saved(options.misses), open_suites([options.suite]))
        yield _LintPart("misses", [offer.to_json() for offer in offers], _offer_lines(offers))


# -- findings ----------------------------------------------------------------------------------------------------------


def _opened(path: Path, sandboxes: Sequence[SandboxHook]) -> Suite:
    """Return the suite at or above a path, with the sandboxes set."""
    suite = open_suite(find_suite(path) or path)
    suite.sandboxes = sandboxes
    return suite


def _findings(path: Path, sandboxes: Sequence[SandboxHook]) -> list[LintFinding]:
    """Return the lint findings for the suite at a path. Raises UsageError if the path does not exist."""
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    try:
        suite = _opened(path, sandboxes)
    except SuiteError as error:
        return findings_of(error, "suite")
    return lint(suite, dialogues=True)


def _finding_lines(findings: Sequence[LintFinding]) -> Iterator[object]:
    """Yield each distinct finding once, followed by its other places; then the counts by severity."""
    places: dict[tuple[str, ...], tuple[LintFinding, dict[str, None]]] = {}
    for finding in findings:
        problem = finding.problem
        what = _CALL.sub(r"\1, which", _WHERE.sub("", problem.message))
        _, where = places.setdefault((finding.severity, finding.rule, what, problem.hint), (finding, {}))
        where[f"{problem.path}:{problem.line}"] = None
    for finding, where in places.values():
        yield finding
        if others := list(where)[1:]:
            more = f" and {len(others) - _PLACES} more" if len(others) > _PLACES else ""
            yield f"    also {', '.join(others[:_PLACES])}{more}"
    counts = Counter(finding.severity for finding in findings)
    yield ", ".join(shared.counted(counts[severity], severity) for severity in _SEVERITIES)


# -- mutants, answers, misses ------------------------------------------------------------------------------------------


def _mutants(path: Path, findings: Sequence[LintFinding], sandboxes: Sequence[SandboxHook]) -> proof.Proof:
    """Return how the checks judge mutants of all loadable cases; empty if the suite has errors outside its cases."""
    if any(finding.severity == "error" and finding.rule != "case" for finding in findings):
        return proof.Proof(())
    suite = _opened(path, sandboxes)
    cases = []
    for entry in suite.accepted():
        with suppress(SuiteError):
            suite.recordings(entry.id)  # what cannot be read is among the findings
            cases.append(suite.load(entry))
    return proof.prove(cases, suite)


def _judged_answers(options: argparse.Namespace, sandboxes: Sequence[SandboxHook]) -> proof.Agreement:
    """Return how checks agree with labelled answers; write the run and the calibration if requested. Raises UsageError, SuiteError."""
    from pytest_mapsat.runs.people_labels import judge_answers

    suite = _opened(options.suite, sandboxes)
    answers = read_answers(suite)
    if options.calibrate or options.save is not None:  # what is kept rests on accepted cases alone
        drafts = {entry.id for entry in suite.readable() if entry.draft}
        answers = tuple(answer for answer in answers if answer.noun.case not in drafts)
    judged, dialogues = judge_answers(suite, answers)
    if not answers and (options.calibrate or options.save is not None):
        option = "--save" if options.save is not None else "--calibrate"
        hint = "docs/how-to/label-by-hand.md shows some"
        raise UsageError(f"{option}: {shown_path(suite.root)} has no labelled answers; {hint}")
    if options.save is not None:
        save_run(options.save, judged)
    agreement = proof.Agreement(dialogues)
    if options.calibrate:
        _calibrate(suite, agreement)
    return agreement


def _reopened(path: Path, plugins: Sequence[str]) -> Suite:
    """Return the suite at a path with the sandboxes of plugins, for a process of the pool."""
    return _opened(path, shared.load_added(plugins, [path]).sandboxes)


def _worth(options: argparse.Namespace, sandboxes: Sequence[SandboxHook]) -> proof.SuiteWorth:
    """Return the baselines' results on a sound suite. Raises SuiteError."""
    from pytest_mapsat.runs.baselines import play_baselines

    suite = _opened(options.suite, sandboxes)
    entries = sorted(suite.accepted(), key=lambda entry: entry.id)
    again = partial(_reopened, options.suite, options.plugins)
    cards = play_baselines(suite, [entry.id for entry in entries], again)
    drafts = sum(entry.draft for entry in suite.readable())
    cases, readings = [suite.load(entry) for entry in entries], proof.read_case_readings(suite)
    return proof.SuiteWorth(suite.manifest, cases, cards, drafts, readings)


def _card(options: argparse.Namespace, worth: proof.SuiteWorth) -> bool:
    """Write a suite's data card and return True; with ``--check`` only return whether the file is up to date. Raises UsageError."""
    path, text = options.card, proof.card_text(worth)
    try:
        if not options.check:
            with replacing(path) as file:
                file.write(text.encode())
            return True
        there = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{shown_path(path)}: {error}") from None
    if there == text:
        return True
    old, new = there.splitlines(), text.splitlines()
    compared = unified_diff(old, new, "there", "now", n=0, lineterm="")
    changed = [line for line in compared if line[:2] not in ("--", "++")]
    shared.tell(f"{shown_path(path)} is not the card of the suite as it is: leave out --check to write it again")
    for line in changed[:_SHOWN_CHANGES]:
        shared.tell(line)
    return False


def _calibrate(suite: Suite, agreement: proof.Agreement) -> None:
    """Write the calibration table from the suite's labelled answers. Raises UsageError if an exact check contradicts a label."""
    from pytest_mapsat.judges import calibrate

    against = [label for label in agreement.wrong if label.exact]
    if against:
        first = against[0]
        more = f", and {len(against) - 1} more" if len(against) > 1 else ""
        raise UsageError(
            f"--calibrate: answer {first.answer} to {first.case} labels {first.requirement} {first.should}, and its check, which reads no prose, says {first.said} "
            f"({first.why}){more}: correct the label or the check first"
        )
    judgings = [proof.judging_of(dialogue) for dialogue in agreement.held]
    counted = calibrate({suite.manifest.name: judgings})
    own = signed(counted.model_copy(update={"red_of_right": None, "green_of_wrong": None}))
    path = suite.root / CALIBRATION
    with replacing(path) as file:
        file.write(json.dumps({"schema": own.schema_} | own.to_json(), indent=1, ensure_ascii=False).encode() + b"\n")
    enough = sum(sum(counts) >= own.least for counts in own.cells.values())
    shared.tell(
        f"{shown_path(path)}: {len(own.cells)} kinds of failures from {len(judgings)} answers; {enough} of them have the {own.least} failures that make them "
        "count. Answers that the checks were corrected with flatter: calibrate on fresh ones."
    )


def _offer_lines(offers: Sequence[RecordingOffer]) -> Iterator[str]:
    """Yield the recordings and synonyms offered for missed calls as lines, then their number."""
    for offer in offers:
        yield from (*offer.lines(), "")
    yield f"{shared.counted(sum(offer.times for offer in offers), 'call')} missed, {len(offers)} different"
