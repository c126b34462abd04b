"""The ``mapsat`` command: suites in, checked, described. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_mapsat import __version__
from pytest_mapsat.commands import (
    add_agreement,
    add_answers,
    add_cache,
    add_compare,
    add_figures,
    add_merge,
    add_plugins,
    add_regrade,
    add_report,
    add_review,
    add_show,
    judged_answers,
    print_answers,
)
from pytest_mapsat.commands.making import add_init, add_misses, add_recording, offers, print_offers

if TYPE_CHECKING:
    from pytest_mapsat.proof import Proof
    from pytest_mapsat.sandbox import SandboxHook
    from pytest_mapsat.suite import ImportReport, LintFinding

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_ERROR = 2

SCHEMAS = ("case", "report", "requirements", "run", "tools")
_SEVERITIES = ("error", "warning", "note")
#: So many other places of a finding are named.
_PLACES = 3
#: What of a finding's message says where it is, and a call of an oracle with its arguments.
_WHERE = re.compile(r"^(?:case \S+: )?(?:\w[\w.-]*(?:\[\d+\][\w.-]*)+: )?")
_CALL = re.compile(r"(calls \w+)\(.*\), which")
#: Commands that are named in the design and do not exist yet.
LATER = ("build", "serve", "doctor")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command line without the program's name; that of the process by default.

    Returns:
        The exit status: 0 fine, 1 lint found errors, 2 the command could not do its work.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # cases and paths are in any script, whatever the locale
    if arguments and arguments[0] in LATER:
        return _fail(f"{arguments[0]}: not in this version yet")
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as done:  # argparse ends the process after --help and its own errors
        return done.code if isinstance(done.code, int) else EXIT_ERROR
    try:
        status = _run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (head, less): the rest of the output, and Python's own flush, go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    return status


def _run(options: argparse.Namespace) -> int:
    from pytest_mapsat.model import MapsatError  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.user_code import listening  # noqa: PLC0415

    command: Callable[[argparse.Namespace], int] = options.command
    try:
        with listening():
            return command(options)
    except MapsatError as error:
        return _fail(str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        return _fail(f"{error.filename or 'input or output'}: {error.strerror}")
    except KeyboardInterrupt:
        return _fail("interrupted")


def _fail(message: str) -> int:
    sys.stderr.write("".join(f"mapsat: {line}\n" for line in message.splitlines()))
    return EXIT_ERROR


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors look like all the others of this command."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_ERROR, f"{self.prog}: {message}\n{self.prog}: see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mapsat",
        description="Make, fill and check suites of benchmark cases, and look at what runs of them brought.",
        epilog="Begin with: mapsat init, then pytest --mapsat-agent=my_agent:Agent",
    )
    parser.add_argument("--version", action="version", version=f"mapsat {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="name")
    # As one comes to need them: a suite, what a run of it brought, who judges it, and what lies around.
    add_init(commands)
    _add_lint(commands)
    add_recording(commands)
    _add_import(commands)
    add_show(commands)
    _add_claims(commands)
    add_report(commands)
    add_figures(commands)
    add_compare(commands)
    add_merge(commands)
    add_regrade(commands)
    add_review(commands)
    add_agreement(commands)
    add_cache(commands)
    _add_schema(commands)
    return parser


def _add_claims(commands: Any) -> None:
    about = "list the claims of saved answers, with their evidence"
    parser = commands.add_parser("claims", help=about, description=f"{about[0].upper()}{about[1:]}.")
    parser.add_argument("run", metavar="RUN", type=Path, help="a file that --mapsat-save wrote, or recorded dialogues")
    parser.add_argument("case", metavar="CASE", nargs="?", help="the case (default: all of them)")
    _add_suite(parser)
    parser.add_argument("--json", action="store_true", help="print a list of claims as JSON")
    parser.set_defaults(command=_claims)


def _add_suite(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--suite",
        metavar="PATH",
        type=Path,
        action="append",
        help="the suite that was run, or a part of it; repeatable (default: benchmark_cases)",
    )


class _Formats:
    """The formats that can be imported; installed packages are looked through when a value or the help asks for them."""

    def __iter__(self) -> Iterator[str]:
        from pytest_mapsat.suite import import_formats  # noqa: PLC0415  --help needs no pydantic

        return import_formats()


def _add_import(commands: Any) -> None:
    about = "make a suite from the published files of another benchmark"
    parser = commands.add_parser("import", help=about, description=f"{about[0].upper()}{about[1:]}.")
    parser.add_argument("format", metavar="FORMAT", choices=_Formats(), help="one of: %(choices)s")
    parser.add_argument("src", metavar="SRC", type=Path, help="the folder with the published files, or the table")
    parser.add_argument("dest", metavar="DEST", type=Path, help="the suite's folder; must not exist, or be empty")
    parser.add_argument("--json", action="store_true", help="print the import report as JSON")
    parser.set_defaults(command=_import)


def _add_lint(commands: Any) -> None:
    about = "check a suite without an agent"
    parser = commands.add_parser(
        "lint",
        help=about,
        description=f"{about[0].upper()}{about[1:]}. Exit status 1 when something is found that would stop a run.",
    )
    parser.add_argument("suite", metavar="SUITE", type=Path, help="the suite's folder, or a file or folder in it")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--mutants",
        action="store_true",
        help="also make wrong and harmless answers from every oracle dialogue, and tell what the checks make of them",
    )
    add_answers(parser)
    add_misses(parser)
    add_plugins(parser)
    parser.set_defaults(command=_lint)


def _add_schema(commands: Any) -> None:
    about = "print the JSON Schema of a case, run, tools or others"
    parser = commands.add_parser("schema", help=about, description=f"{about[0].upper()}{about[1:]}.")
    parser.add_argument("noun", metavar="NOUN", choices=SCHEMAS, help=f"one of: {', '.join(SCHEMAS)}")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry: a schema is always JSON")
    parser.set_defaults(command=_schema)


def _claims(options: argparse.Namespace) -> int:
    from pytest_mapsat.runs.claims import claims_of_run  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.runs.regrade import open_suites  # noqa: PLC0415  likewise

    suites = open_suites(options.suite or [Path("benchmark_cases")])
    found = list(claims_of_run(options.run, suites, options.case))
    if options.json:
        _print_json([claim.to_json() for claim in found])
        return EXIT_OK
    for claim in found:
        _print(str(claim))
    verdicts = [claim.judged.verdict for claim in found]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    _print(f"{len(found)} claim{'' if len(found) == 1 else 's'}" + (f": {counts}" if counts else ""))
    return EXIT_OK


def _import(options: argparse.Namespace) -> int:
    from pytest_mapsat.suite import importer_of  # noqa: PLC0415  --help needs no pydantic

    report = importer_of(options.format)(options.src, options.dest)
    if options.json:
        _print_json(report.to_json())
    else:
        _print_report(report, options.dest)
    return EXIT_OK


def _print_report(report: ImportReport, dest: Path) -> None:
    recordings = f"{report.recordings} recordings ({report.orphans} of no case, kept aside)"
    _print(f"{dest}: {report.cases} cases, {report.tools} tools, {recordings}")
    for what, count in report.not_carried.items():
        _print(f"not carried over: {count} {what}")
    for note in report.notes:
        _print(str(note))


def _lint(options: argparse.Namespace) -> int:
    from pytest_mapsat.runs.added import load_added  # noqa: PLC0415  --help needs no pydantic

    options.sandboxes = load_added(options.plugins, [options.suite]).sandboxes
    findings = _findings(options.suite, options.sandboxes)
    sound = all(finding.severity != "error" for finding in findings)
    proof = _mutants(options.suite, findings, options.sandboxes) if options.mutants else None
    answers = judged_answers(options, sound=sound)
    missed = offers(options, sound=sound)
    if options.json:
        listed = [finding.to_json() for finding in findings]
        parts: dict[str, Any] = {"mutants": proof.to_json()} if proof else {}
        if options.misses is not None:
            parts["misses"] = None if missed is None else [offer.to_json() for offer in missed]
        if options.answers:
            parts["answers"] = answers and answers.to_json()
        _print_json({"findings": listed, **parts} if parts else listed)
    else:
        _print_lint(findings, proof)
        print_answers(options, answers)
        print_offers(options, missed)
    return EXIT_OK if sound and not (answers and answers.wrong) else EXIT_FINDINGS


def _print_lint(findings: Sequence[LintFinding], proof: Proof | None) -> None:
    for finding, others in _slips(findings):
        _print(str(finding))
        if others:
            more = f" and {len(others) - _PLACES} more" if len(others) > _PLACES else ""
            _print(f"    likewise {', '.join(others[:_PLACES])}{more}")
    _print(_lint_summary(findings))
    if proof is not None:
        from pytest_mapsat.proof import table  # noqa: PLC0415  lazy

        _print("")
        for line in table(proof):
            _print(line)


def _slips(findings: Sequence[LintFinding]) -> list[tuple[LintFinding, list[str]]]:
    """Return each finding once, and the other places where it is found: a slip in a tool shows in every case that calls it."""
    places: dict[tuple[str, ...], tuple[LintFinding, list[str]]] = {}
    for finding in findings:
        problem = finding.problem
        what = _CALL.sub(r"\1, which", _WHERE.sub("", problem.message))
        _, others = places.setdefault((finding.severity, finding.rule, what, problem.hint), (finding, []))
        others.append(f"{problem.path}:{problem.line}")
    return [(finding, list(dict.fromkeys(others))[1:]) for finding, others in places.values()]


def _mutants(path: Path, findings: Sequence[LintFinding], sandboxes: Sequence[SandboxHook] | None) -> Proof:
    """Return what the checks make of mutants of all cases that can be loaded; the others are among the findings."""
    from pytest_mapsat.model import SuiteError  # noqa: PLC0415  lazy
    from pytest_mapsat.proof import Proof, prove  # noqa: PLC0415  lazy
    from pytest_mapsat.suite import find_suite, open_suite, read_answers  # noqa: PLC0415  lazy

    if any(finding.severity == "error" and finding.rule != "case" for finding in findings):
        return Proof(())
    suite = open_suite(find_suite(path) or path)
    suite.sandboxes = sandboxes
    cases = []
    for file in suite.files():
        try:
            entries = suite.entries(file)
        except SuiteError:
            continue
        for entry in entries:
            with suppress(SuiteError):
                suite.recordings(entry.id)  # what cannot be read is among the findings
                cases.append(suite.load(entry))
    try:
        answers = [placed.noun for placed in read_answers(suite)]
    except SuiteError:
        answers = []  # what is wrong with them is among the findings
    return prove(cases, suite, answers)


def _findings(path: Path, sandboxes: Sequence[SandboxHook] | None) -> list[LintFinding]:
    from pytest_mapsat.model import SuiteError, UsageError  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.proof import lint_recordings  # noqa: PLC0415  likewise
    from pytest_mapsat.suite import errors_of, find_suite, lint, open_suite  # noqa: PLC0415  likewise

    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    try:
        suite = open_suite(find_suite(path) or path)
    except SuiteError as error:
        return errors_of(error, "suite")
    suite.sandboxes = sandboxes
    findings = [*lint(suite), *lint_recordings(suite)]
    played = {(one.problem.path, one.problem.line) for one in findings if one.rule == "oracle-miss"}
    told = [
        one for one in findings if one.rule != "unknown-parameter" or (one.problem.path, one.problem.line) not in played
    ]
    return sorted(told, key=lambda finding: finding.order)


def _lint_summary(findings: Sequence[LintFinding]) -> str:
    counts = [(severity, sum(finding.severity == severity for finding in findings)) for severity in _SEVERITIES]
    return ", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts)


def _schema(options: argparse.Namespace) -> int:
    from pydantic import TypeAdapter  # noqa: PLC0415  --help needs no pydantic

    from pytest_mapsat.model import CommonRequirement, Run, Tool  # noqa: PLC0415  likewise
    from pytest_mapsat.reports import Report  # noqa: PLC0415  likewise
    from pytest_mapsat.suite import WrittenCase  # noqa: PLC0415  likewise

    nouns: dict[str, Any] = {
        "case": WrittenCase,
        "report": Report,
        "requirements": dict[str, CommonRequirement],
        "run": Run,
        "tools": Tool | list[Tool],
    }
    _print_json(TypeAdapter(nouns[options.noun]).json_schema())
    return EXIT_OK


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _print_json(value: Any) -> None:
    _print(json.dumps(value, ensure_ascii=False, indent=2))
