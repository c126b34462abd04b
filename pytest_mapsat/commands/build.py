"""``mapsat build``: a made-up world from a seed, as the tools and tables of a suite; or a suite of the cases that logs of behaviour hold."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from . import shared

LANGUAGES = ("en", "zh", "mixed")
#: Options that say something of logs only.
_OF_LOGS = ("redact", "propose", "cache", "max_cost")
#: Options that say something of a made-up world only.
_OF_WORLDS = ("seed", "cities", "language", "queries")


class _Sources:
    """What can be built from, as the help tells it: installed packages are looked through when it is asked for."""

    def __str__(self) -> str:
        from pytest_mapsat.building import builders

        return f"a kind of world ({', '.join(builders())}), or a folder of logs"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="KIND|LOGS", default=_Sources(), help="%(default)s")
    about = "the suite's folder: it must not exist, or be empty; for a world one with a suite.yaml gets the tables, and tools if it has none"
    parser.add_argument("dest", metavar="DEST", type=Path, help=about)
    parser.add_argument("--seed", metavar="N", type=int, help="the same seed gives the same bytes (default: 0)")
    parser.add_argument(
        "--cities", metavar="N", type=int, help="how many towns (merchants: 9; city: 2, with --cases 4)"
    )
    about = "merchants: how many each town has (3000); city: how many people each has (10; with --cases one for each case); logs: how many cases a user has for one kind of place (1)"
    parser.add_argument("--each", metavar="N", type=int, help=about)
    parser.add_argument("--cases", metavar="N", type=int, help="how many cases are made, at most (logs: 1000)")
    parser.add_argument("--queries", metavar="FILE", type=Path, help="queries in place of the builder's own, by case")
    parser.add_argument(
        "--language", choices=LANGUAGES, help="of the towns: %(choices)s, which alternates (default: mixed)"
    )
    about = "logs: put an alias in the place of personal data, and round where users were to about 100 m"
    parser.add_argument("--redact", action="store_true", default=None, help=about)
    about = "logs: a model, as in openai/gpt-4o, that proposes needs beside what the log shows; it is asked three times at a query"
    parser.add_argument("--propose", metavar="MODEL", help=about)
    shared.add_options(parser, "cache", "max-cost", max_cost="logs: US dollars that the model may cost")
    parser.add_argument("--json", action="store_true", help="print the numbers of rows, or the report, as JSON")


def _build(options: argparse.Namespace) -> int:
    from pytest_mapsat.building import builders

    # A kind goes before a folder of that name, which ./NAME means.
    if options.source in builders():
        return _build_world(options)
    folder = Path(options.source)
    if not folder.is_dir():
        raise _neither(options.source)
    return _build_logs(options, folder)


def _neither(source: str) -> Exception:
    from pytest_mapsat.building import builders
    from pytest_mapsat.drafts import missing_files
    from pytest_mapsat.model import UsageError, hint_at

    kinds = list(builders())
    parent = Path(source).parent
    folders = []
    if parent.is_dir():
        folders = sorted(str(path) for path in parent.iterdir() if path.is_dir() and not missing_files(path))
    return UsageError(
        f"{source} is neither a kind of world ({', '.join(kinds)}) nor a folder of logs ({', '.join(folders) or 'there is none here'})"
        f"{hint_at(source, [*kinds, *folders])}"
    )


def _build_logs(options: argparse.Namespace, folder: Path) -> int:
    from pytest_mapsat.drafts import build_from_logs
    from pytest_mapsat.model import UsageError

    if given := [f"--{name}" for name in _OF_WORLDS if getattr(options, name) is not None]:
        raise UsageError(f"{', '.join(given)}: only for a made-up world, and {options.source} is a folder of logs")
    for name in ("each", "cases"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise UsageError(f"--{name}: found {value}, expected at least 1")
    build = partial(build_from_logs, folder, options.dest, redact=bool(options.redact))
    build = partial(build, each=options.each or 1, cases=options.cases or 1000)
    report = shared.with_model(options, lambda model: build(model=model))
    return shared.respond(options, report.to_json(), [f"{options.dest}:", *report.lines()])


def _build_world(options: argparse.Namespace) -> int:
    from pytest_mapsat.building import BuildRequest, builder_of
    from pytest_mapsat.model import SUITE_SCHEMA, SuiteManifest, UsageError
    from pytest_mapsat.suite import new_folder, write_manifest

    if given := [f"--{name.replace('_', '-')}" for name in _OF_LOGS if getattr(options, name) is not None]:
        raise UsageError(f"{', '.join(given)}: only for a folder of logs, and {options.source} is a made-up world")
    dest: Path = options.dest
    builder = builder_of(options.source)
    seed = options.seed or 0
    request = BuildRequest(
        seed, options.cities, options.each, options.language or "mixed", options.cases, options.queries
    )
    own = (dest / "suite.yaml").is_file()
    if own:
        rows = builder(request, dest)
    else:
        with new_folder(dest) as folder:
            rows = builder(request, folder)
            about = f"A made-up world of {options.source}, from the seed {seed}."
            manifest = SuiteManifest(
                name=options.source,
                version=f"seed-{seed}",
                license="CC0-1.0",
                schema_version=SUITE_SCHEMA,
                description=about,
            )
            if not (folder / "suite.yaml").exists():  # a builder that makes cases writes its own
                write_manifest(folder / "suite.yaml", manifest)
    lines = [f"{dest}:", *(f"{count:>8} rows of {table}" for table, count in rows.items())]
    steps = [f"next: mapsat lint {dest}"] if own or "cases" in rows else _next_steps(dest, options)
    return shared.respond(options, rows, [*lines, *steps])


def _next_steps(dest: Path, options: argparse.Namespace) -> list[str]:
    """Return what can be done now with a new world that has no cases."""
    logs = dest / "data" / "logs"
    steps = ["no cases yet; --cases N makes some" if options.source == "city" else "no cases yet: write some"]
    return steps + (
        [f"next: mapsat build {logs} CASES makes cases of its logs"]
        if logs.is_dir()
        else [f"next: mapsat new {dest} --from FILE"]
    )


COMMANDS = {
    "build": shared.Command(
        "KIND makes up a world from a seed; LOGS, a folder of behaviour logs, becomes a suite of the cases that it holds. The same seed, and the same logs, give the same bytes on every machine.",
        _arguments,
        _build,
    )
}


# -- mapsat new --------------------------------------------------------------------------------------------------------


def _new_arguments(parser: argparse.ArgumentParser) -> None:
    about = "the suite's folder: the draft is added to it, nothing is overwritten; where there is none it is made"
    parser.add_argument("suite", metavar="SUITE", type=Path, help=about)
    about = "chat messages (JSON, JSON lines), a saved run, recorded dialogues, or spans (OTLP JSON)"
    parser.add_argument("--from", metavar="FILE", type=Path, required=True, dest="source", help=about)
    about = "the id of the new case (default: what the log calls the conversation, else the file's name)"
    parser.add_argument("--id", metavar="ID", default="", help=about)
    about = "of a file with several conversations the one that is meant: its id, or its number from 1"
    parser.add_argument("--which", metavar="ID", default="", help=about)
    about = "put an alias in the place of each telephone number, e-mail address, number plate, card number and home position"
    parser.add_argument("--redact", action="store_true", help=about)
    about = "a model, as in openai/gpt-4o, that reads out of the user's words which fields decided, and what told it before; it is asked three times"
    parser.add_argument("--propose", metavar="MODEL", help=about)
    shared.add_options(parser, "cache", "max-cost", max_cost="US dollars that the model of --propose may cost")
    parser.add_argument("--json", action="store_true", help="print files, notes and personal data as JSON")


def _run(options: argparse.Namespace) -> int:
    from pytest_mapsat.drafts import (
        case_id_of,
        choose,
        conversation_of,
        draft_of,
        personal_data_in_name,
        personal_data_of,
        read_logs,
        without_personal,
        write_draft,
    )
    from pytest_mapsat.formats import shown_path
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.suite import open_suite

    root, source = options.suite, options.source
    if options.propose is None and (options.cache is not None or options.max_cost is not None):
        raise UsageError("--cache and --max-cost are for a model: give --propose MODEL, too")
    if root.exists() and not (root / "suite.yaml").is_file() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{root}: expected a suite (a folder with suite.yaml), an empty folder, or none yet")
    suite = open_suite(root) if (root / "suite.yaml").is_file() else None
    logs = read_logs(source)
    log = choose(logs, options.which or (options.id if any(log.id == options.id for log in logs) else ""), source)
    personal = personal_data_of(log)
    if named := personal_data_in_name(source.name):
        raise UsageError(
            f"the name of the file is or has {named}, and places in the log begin with it: rename the file"
        )
    if personal.found and not options.redact:
        listed = list(dict.fromkeys(map(str, personal.found)))
        if options.json:
            shared.write_json({"case": None, "files": [], "personal": listed})
        nothing = f"nothing is written: the log has personal data in {shared.counted(len(listed), 'place')}"
        for line in [*(() if options.json else listed), f"{nothing}; --redact puts an alias in the place of each"]:
            shared.tell(line)
        return shared.FINDINGS
    conversation = conversation_of(without_personal(log, personal) if personal.found else log)
    name = options.id or case_id_of(conversation.id or source.name.partition(".")[0])
    draft = shared.with_model(options, lambda model: draft_of(conversation, name, suite, model))
    files = [shown_path(path) for path in write_draft(root, draft, suite, conversation)]
    proposals, notes, redacted = len(draft.case.truth.proposals), list(draft.notes), len(personal.found)
    lines = [
        f"case {name}: a draft with {shared.counted(proposals, 'proposal')}; look at it with: mapsat review {root}"
    ]
    data = {"case": name, "files": files, "proposals": proposals, "notes": notes, "redacted": redacted}
    shared.respond(options, data, [*(f"{path}: new" for path in files), *lines])
    if redacted and not options.json:
        shared.tell(f"{shared.counted(redacted, 'place')} with personal data: the values have aliases now")
    for note in () if options.json else notes:
        shared.tell(note)
    return shared.OK


COMMANDS |= {
    "new": shared.Command("What the user did next becomes proposals, which mapsat review shows.", _new_arguments, _run)
}
