"""``mapsat new SUITE --from FILE``: the draft of a case out of one conversation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .shared import FINDINGS, OK, Command, add_options, tell, with_model, write, write_json

if TYPE_CHECKING:
    from pytest_mapsat.drafts import Draft


def _arguments(parser: argparse.ArgumentParser) -> None:
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
    add_options(parser, "cache", "max-cost", max_cost="US dollars that the model of --propose may cost")
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
        return _refuse(personal, as_json=options.json)
    conversation = conversation_of(without_personal(log, personal) if personal.found else log)
    name = options.id or case_id_of(conversation.id or source.name.partition(".")[0])
    draft = with_model(options, lambda model: draft_of(conversation, name, suite, model))
    files = [shown_path(path) for path in write_draft(root, draft, suite, conversation)]
    _tell(draft, root, files, len(personal.found), as_json=options.json)
    return OK


def _tell(draft: Draft, root: Path, files: list[str], redacted: int, *, as_json: bool) -> None:
    """Print what was made; ``redacted``: in how many places there were personal data."""
    name, proposals, notes = draft.case.id, len(draft.case.truth.proposals), list(draft.notes)
    if as_json:
        write_json({"case": name, "files": files, "proposals": proposals, "notes": notes, "redacted": redacted})
        return
    write(f"{path}: new" for path in files)
    count = f"{proposals} proposal{'s' * (proposals != 1)}"
    write([f"case {name}: a draft with {count}; look at it with: mapsat review {root}"])
    if redacted:
        tell(f"{_places(redacted)} with personal data: the values have aliases now")
    for note in notes:
        tell(note)


def _refuse(personal: object, *, as_json: bool) -> int:
    """Tell the personal data, each with its place, and that nothing was written."""
    listed = list(dict.fromkeys(str(datum) for datum in getattr(personal, "found", ())))
    if as_json:
        write_json({"case": None, "files": [], "personal": listed})
    else:
        for line in listed:
            tell(line)
    tell(
        f"nothing is written: the log has personal data in {_places(len(listed))}; --redact puts an alias in the place of each"
    )
    return FINDINGS


def _places(count: int) -> str:
    return f"{count} place{'s' * (count != 1)}"


COMMANDS = {"new": Command("What the user did next becomes proposals, which mapsat review shows.", _arguments, _run)}
