"""The commands that make suites and cases: ``init`` out of the package itself, ``import`` of the published files of another benchmark, ``build`` from a seed, ``draft`` and ``cases`` of logs."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from shlex import quote
from uuid import uuid4

from pytest_mapsat import making
from pytest_mapsat.agents.frameworks import ADAPTERS, adapter_named
from pytest_mapsat.formats import add_files, printable, shown_path
from pytest_mapsat.model import SUITE_SCHEMA, SuiteManifest, UsageError, hint_at
from pytest_mapsat.suite import import_formats, importer_of, new_folder, open_suite, write_manifest

from . import schemas, shared

NEXT = (
    ("pytest --mapsat-agent=my_agent:Agent", "two cases pass, one fails and says why: fix my_agent.py"),
    ("mapsat lint benchmark_cases", "what is wrong or missing in your cases; --mutants tries them"),
    ("pytest --mapsat-agent=my_agent:Agent --mapsat-judge=llm:MODEL", "once cases ask for prose: a model reads it"),
)
#: What comes next after ``--for``; see ``NEXT``.
_NEXT_FOR = (
    ("pytest", "one case passes, one fails: it cancels though the guest said no; conftest.py says where yours goes"),
    ("pytest --mapsat-trials=4", "each case four times: how often your own agent gets it right"),
)


#: What comes next after ``--assistant``.
_NEXT_ASSISTANT = (("mapsat lint benchmark_cases", "what is wrong or missing in the cases that your assistant writes"),)


#: What ``--for`` knows.
_STARTS = ("service", "function", "node", *ADAPTERS)


def _places(start: str | None) -> dict[str, Path]:
    """Return the template files of a start by target path; for None, the suite of a small shop."""
    home, alone = shared.starts(), start in (None, "service", "function", "assistant")
    folder = home / ((start or "shop") if alone else "framework")
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and "__pycache__" not in file.parts)
    places = {file.relative_to(folder).as_posix(): file for file in files}
    if not alone:
        places["hotel/test_bookings.py"] = home / "service" / "test_bookings.py"
        own = (home / "node").iterdir() if start == "node" else [home / "agents" / f"{start}.py"]
        places |= {file.name if start == "node" else "my_agent.py": file for file in own}
    return places


def _start(text: str) -> str:
    """Return the start that ``--for`` selects by its own name or by a Python package. Raises ArgumentTypeError."""
    name = text.lower().replace("_", "-")
    if name not in _STARTS:
        longer = [start for start in _STARTS if name in start]
        near = f" (did you mean {longer[0]!r}?)" if longer else hint_at(name, _STARTS)
        raise argparse.ArgumentTypeError(f"found {text!r}, expected {', '.join(_STARTS)}{near}")
    return name


def add_init_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat init``."""
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path(), help="where (default: here)")
    about = "the smallest start for what you have, in place of a whole suite: a service with a database, a function, an agent in JavaScript (AI SDK, Mastra), or an agent of a framework; one of: %(choices)s"
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--for", metavar="WHAT", dest="start", type=_start, choices=_STARTS, help=about)
    about = "write AGENTS.md alone: a page that teaches a coding assistant to write, run and fix cases"
    group.add_argument("--assistant", dest="start", action="store_const", const="assistant", help=about)
    parser.add_argument("--json", action="store_true", help="print the files and the next commands as JSON")


def run_init(options: argparse.Namespace) -> int:
    """Existing files are never overwritten. Without --for, the suite is a small shop: the case in total.yaml expects data (output), so an agent that replies only with text fails it."""
    folder: Path = options.folder
    places = _with_schemas(_places(options.start))
    way = "--assistant " if options.start == "assistant" else f"--for {options.start} " if options.start else ""
    _write(folder, places, f"mapsat init {way}benchmark")
    following = {None: NEXT, "assistant": _NEXT_ASSISTANT}.get(options.start, _NEXT_FOR)
    steps = [f"cd {quote(printable(str(folder)))}"] if folder != Path() else []
    steps += [command for command, _ in following]
    for note in _missing(options.start):
        shared.tell(note)
    width = max(len(command) for command, _ in following)
    lines = [f"wrote {printable(str(folder / place))}" for place in places]
    lines += ["", "next:", *(f"  {step}" for step in steps[: -len(following)])]
    lines += [f"  {command:{width}}  # {what}" for command, what in following]
    if not options.start:
        lines += ["", "or a smaller start, for what you have: mapsat init --for service|function|node|FRAMEWORK"]
    return shared.respond(options, {"folder": printable(str(folder)), "files": list(places), "next": steps}, lines)


def _missing(start: str | None) -> Iterator[str]:
    """Yield notes about missing packages that a start of ``--for`` needs."""
    if start == "service" and importlib.util.find_spec("sqlalchemy") is None:
        yield "SqlEnvironment needs SQLAlchemy; run: pip install 'pytest-mapsat[sql]'"
    if start == "claude-agent-sdk":
        yield "the SDK has no model for tests: the agent asks Claude, with ANTHROPIC_API_KEY or a login; which cases pass is up to the model"
    if start and (adapter := adapter_named(start)) is not None:
        try:
            adapter.check()
        except UsageError as error:
            yield str(error)


def _with_schemas(places: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the files of a start by target path, with JSON Schemas for editors beside the YAML files that refer to them."""
    files: dict[str, bytes] = {}
    for place, source in places.items():
        files[place] = source.read_bytes()
        folder, _, name = place.rpartition("/")
        stem, _, ending = name.rpartition(".")
        if ending == "yaml":
            noun = stem if stem in schemas.NOUNS else "case"
            schema = f".schemas/{noun}.json"
            files[place] = f"# yaml-language-server: $schema={schema}\n".encode() + files[place]
            files[f"{folder}/{schema}".lstrip("/")] = json.dumps(schemas.schema_of(noun)).encode() + b"\n"
    return dict(sorted(files.items()))


def _write(folder: Path, places: Mapping[str, bytes], elsewhere: str) -> None:
    """Write all files or none. Raises UsageError; ``elsewhere`` is the suggested command that writes them into a new folder."""
    taken = [place for place in places if os.path.lexists(folder / place)]
    if taken:
        there = f"{printable(str(folder / taken[0]))} already exists, and nothing is overwritten"
        raise UsageError(f"{there}; name a new folder, as in: {elsewhere}")
    try:
        add_files(folder, places)
    except OSError as error:
        raise UsageError(f"{printable(str(error.filename or folder))}: {error.strerror}") from None


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat import``."""
    parser.add_argument("format", metavar="FORMAT", choices=[*import_formats()], help="one of: %(choices)s")
    parser.add_argument("src", metavar="SRC", type=Path, help="the folder or the file to read")
    parser.add_argument("dest", metavar="DEST", type=Path, help="the suite's folder, which must be new or empty")
    parser.add_argument("--json", action="store_true", help="print the import report as JSON")


def run_import(options: argparse.Namespace) -> int:  # noqa: D103  the help of all commands says it
    report = importer_of(options.format)(options.src, options.dest)
    recordings = f"{report.recordings} recordings ({report.orphans} of no case, kept aside)"
    summary = f"{options.dest}: {report.cases} cases, {report.tools} tools, {recordings}"
    left = [f"not carried over: {count} {what}" for what, count in report.not_carried.items()]
    return shared.respond(options, report.to_json(), [summary, *left, *report.notes])


# -- a made-up world ---------------------------------------------------------------------------------------------------

LANGUAGES = ("en", "zh", "mixed")


def add_build_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat build``."""
    parser.add_argument("kind", metavar="KIND", help=f"a kind of world: {', '.join(making.builders())}")
    about = "the suite's folder: new, empty, or an existing suite, which gets the tables, and tools if it has none"
    parser.add_argument("dest", metavar="DEST", type=Path, help=about)
    about = "the same seed gives the same bytes (default: 0)"
    parser.add_argument("--seed", metavar="N", type=int, default=0, help=about)
    about = "how many towns (merchants: 9; city: 2, with --cases 4)"
    parser.add_argument("--cities", metavar="N", type=int, help=about)
    about = (
        "merchants: how many each town has (3000); city: how many people each has (10; with --cases one for each case)"
    )
    parser.add_argument("--each", metavar="N", type=int, help=about)
    parser.add_argument("--cases", metavar="N", type=int, help="how many cases are made, at most")
    parser.add_argument("--queries", metavar="FILE", type=Path, help="queries by case that replace the builder's own")
    about = "of the towns: %(choices)s, which alternates (default: mixed)"
    parser.add_argument("--language", choices=LANGUAGES, default="mixed", help=about)
    parser.add_argument("--json", action="store_true", help="print the numbers of rows as JSON")


def run_build(options: argparse.Namespace) -> int:
    """The same seed gives the same bytes on every machine."""
    dest: Path = options.dest
    if options.kind not in making.builders() and Path(options.kind).is_dir():
        raise UsageError(f"{options.kind} is a folder: mapsat cases {options.kind} {dest} makes a suite of its logs")
    builder = making.builder_of(options.kind)
    names = ("seed", "cities", "each", "language", "cases", "queries")
    request = making.BuildRequest(**{name: getattr(options, name) for name in names})
    own = (dest / "suite.yaml").is_file()
    if own:
        rows = builder(request, dest)
    else:
        with new_folder(dest) as folder:
            rows = builder(request, folder)
            manifest = SuiteManifest(
                name=options.kind,
                version=f"seed-{options.seed}",
                license="CC0-1.0",
                schema_version=SUITE_SCHEMA,
                description=f"A made-up world of {options.kind}, from the seed {options.seed}.",
            )
            if not (folder / "suite.yaml").exists():  # a builder that makes cases writes its own
                write_manifest(folder / "suite.yaml", manifest)
    lines = [f"{dest}:", *(f"{count:>8} rows of {table}" for table, count in rows.items())]
    steps = [f"next: mapsat lint {dest}"] if own or "cases" in rows else _next_steps(dest, options)
    return shared.respond(options, rows, [*lines, *steps])


def _next_steps(dest: Path, options: argparse.Namespace) -> list[str]:
    """Return lines on the next steps after creating a world without cases."""
    logs = dest / "data" / "logs"
    steps = ["no cases yet; --cases N makes some" if options.kind == "city" else "no cases yet: write some"]
    of_logs = f"next: mapsat cases {logs} CASES makes cases of its logs"
    return [*steps, of_logs if logs.is_dir() else f"next: mapsat draft {dest} --from FILE"]


# -- cases of logs -----------------------------------------------------------------------------------------------------


def add_draft_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat draft``."""
    about = "the suite's folder: the draft is added without overwriting anything, and a missing suite is created"
    parser.add_argument("suite", metavar="SUITE", type=Path, help=about)
    about = "chat messages (JSON, JSON lines), or spans (OTLP JSON)"
    parser.add_argument("--from", metavar="FILE", type=Path, required=True, dest="source", help=about)
    about = "the id of the new case (default: the conversation's id in the log, else the file's name)"
    parser.add_argument("--id", metavar="ID", default="", help=about)
    about = "the conversation to use from a file with several: its id, or its number from 1"
    parser.add_argument("--which", metavar="ID", default="", help=about)
    about = "replace each telephone number, e-mail address, number plate, card number and home position with an alias"
    parser.add_argument("--redact", action="store_true", help=about)
    about = "a model, as in openai/gpt-4o, that finds in the user's words the fields that decided, and the earlier evidence for them; it is asked three times"
    parser.add_argument("--propose", metavar="MODEL", help=about)
    shared.add_options(parser, "cache", "max-cost", max_cost="spending limit for the model of --propose, in US dollars")
    parser.add_argument("--json", action="store_true", help="print files, notes and personal data as JSON")


def run_draft(options: argparse.Namespace) -> int:
    """The user's next actions become proposals, which mapsat review shows."""
    if options.propose is None and (options.cache is not None or options.max_cost is not None):
        raise UsageError("--cache and --max-cost are for a model: give --propose MODEL, too")
    root, source = options.suite, options.source
    if root.exists() and not (root / "suite.yaml").is_file() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{root}: expected a suite (a folder with suite.yaml), an empty folder, or none yet")
    suite = open_suite(root) if (root / "suite.yaml").is_file() else None
    logs = making.read_logs(source)
    by_id = options.id if any(log.id == options.id for log in logs) else ""
    log = making.choose(logs, options.which or by_id, source)
    personal = making.personal_data_of(log)
    if kind := making.personal_data_in_name(source.name):
        raise UsageError(f"the name of the file is or has {kind}, and places in the log begin with it: rename the file")
    if personal.found and not options.redact:
        listed = list(dict.fromkeys(map(str, personal.found)))
        if options.json:
            shared.write_json({"case": None, "files": [], "personal": listed})
        nothing = f"nothing is written: the log has personal data in {shared.counted(len(listed), 'place')}"
        for line in [*(() if options.json else listed), f"{nothing}; --redact replaces each with an alias"]:
            shared.tell(line)
        return shared.FINDINGS
    conversation = making.conversation_of(making.without_personal(log, personal) if personal.found else log)
    name = options.id or making.case_id_of(conversation.id or source.name.partition(".")[0])
    with _model(options) as model:
        draft = making.draft_of(conversation, name, suite, model)
    files = [shown_path(path) for path in making.write_draft(root, draft, suite, conversation)]
    proposals, notes, redacted = len(draft.case.truth.proposals), list(draft.notes), len(personal.found)
    summary = f"case {name}: a draft with {shared.counted(proposals, 'proposal')}"
    data = {"case": name, "files": files, "proposals": proposals, "notes": notes, "redacted": redacted}
    lines = [*(f"{path}: new" for path in files), f"{summary}; look at it with: mapsat review {root}"]
    shared.respond(options, data, lines)
    if redacted and not options.json:
        shared.tell(f"{shared.counted(redacted, 'place')} with personal data: the values have aliases now")
    for note in () if options.json else notes:
        shared.tell(note)
    return shared.OK


@contextmanager
def _model(options: argparse.Namespace) -> Iterator[making.ProposingModel | None]:
    """Yield the model of ``--propose``, with ``--cache`` and ``--max-cost`` applied; None without the option."""
    if options.propose is None:
        yield None
        return
    from pytest_mapsat.llm import SpendingLimits, named_model, open_door

    name, parameters = named_model(options.propose, f"--propose={options.propose}")
    limits = SpendingLimits(max_cost=options.max_cost)
    with closing(open_door(options.cache or "auto", limits, run=uuid4().hex)) as client:
        yield making.ProposingModel(client, name, parameters)
        client.forget_run()


def add_cases_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat cases``."""
    parser.add_argument("logs", metavar="LOGS", type=Path, help="a folder of logs")
    about = "the suite's folder: it must not exist, or be empty"
    parser.add_argument("dest", metavar="DEST", type=Path, help=about)
    about = "how many cases a user has for one kind of place (1)"
    parser.add_argument("--each", metavar="N", type=int, default=1, help=about)
    parser.add_argument("--cases", metavar="N", type=int, default=1000, help="how many cases are made, at most (1000)")
    about = "replace personal data with aliases, and round positions of users to about 100 m"
    parser.add_argument("--redact", action="store_true", help=about)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run_cases(options: argparse.Namespace) -> int:
    """The same logs give the same bytes on every machine."""
    if not options.logs.is_dir():
        parent = options.logs.parent
        places = parent.iterdir() if parent.is_dir() else ()
        folders = sorted(str(path) for path in places if path.is_dir() and not making.missing_files(path))
        here = ", ".join(folders) or "there is none here"
        raise UsageError(f"{options.logs} is not a folder of logs ({here}){hint_at(str(options.logs), folders)}")
    for name in ("each", "cases"):
        if (value := getattr(options, name)) < 1:
            raise UsageError(f"--{name}: found {value}, expected at least 1")
    report = making.build_from_logs(
        options.logs,
        options.dest,
        redact=options.redact,
        each=options.each,
        cases=options.cases,
        progress=shared.tell,
    )
    return shared.respond(options, report.to_json(), [f"{options.dest}:", *report.lines()])
