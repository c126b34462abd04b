"""``mapsat draft``: a case out of a conversation. ``mapsat cases``: a suite of the cases that logs of behaviour hold."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import shared


def _draft_arguments(parser: argparse.ArgumentParser) -> None:
    about = "the suite's folder: the draft is added to it, nothing is overwritten; where there is none it is made"
    parser.add_argument("suite", metavar="SUITE", type=Path, help=about)
    about = "chat messages (JSON, JSON lines), or spans (OTLP JSON)"
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


def _draft(options: argparse.Namespace) -> int:
    from pytest_mapsat.formats import shown_path
    from pytest_mapsat.making import (
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
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.suite import open_suite

    root, source = options.suite, options.source
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


def _cases_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("logs", metavar="LOGS", type=Path, help="a folder of logs")
    about = "the suite's folder: it must not exist, or be empty"
    parser.add_argument("dest", metavar="DEST", type=Path, help=about)
    about = "how many cases a user has for one kind of place (1)"
    parser.add_argument("--each", metavar="N", type=int, default=1, help=about)
    parser.add_argument("--cases", metavar="N", type=int, default=1000, help="how many cases are made, at most (1000)")
    about = "put an alias in the place of personal data, and round where users were to about 100 m"
    parser.add_argument("--redact", action="store_true", help=about)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def _cases(options: argparse.Namespace) -> int:
    from pytest_mapsat.making import build_from_logs, missing_files
    from pytest_mapsat.model import UsageError, hint_at

    if not options.logs.is_dir():
        parent = options.logs.parent
        folders = (
            sorted(str(path) for path in parent.iterdir() if path.is_dir() and not missing_files(path))
            if parent.is_dir()
            else []
        )
        here = ", ".join(folders) or "there is none here"
        raise UsageError(f"{options.logs} is no folder of logs ({here}){hint_at(str(options.logs), folders)}")
    for name in ("each", "cases"):
        if (value := getattr(options, name)) < 1:
            raise UsageError(f"--{name}: found {value}, expected at least 1")
    report = build_from_logs(options.logs, options.dest, redact=options.redact, each=options.each, cases=options.cases)
    return shared.respond(options, report.to_json(), [f"{options.dest}:", *report.lines()])


COMMANDS = {
    "draft": shared.Command(
        "What the user did next becomes proposals, which mapsat review shows.", _draft_arguments, _draft
    ),
    "cases": shared.Command("The same logs give the same bytes on every machine.", _cases_arguments, _cases),
}
