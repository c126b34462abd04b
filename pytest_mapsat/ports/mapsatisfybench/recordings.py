"""One row of MapSatisfyBench's mock data becomes a recording."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_mapsat.formats import parse_json
from pytest_mapsat.model import Json, JsonObject, Recording, Tool, shown
from pytest_mapsat.suite import ImportLog

from .cases import alias, user_parameter
from .workbook import SourceRow

RECORDING_COLUMNS = ("trace_id", "tool_name", "arguments", "result")
_KNOWN = {*RECORDING_COLUMNS, "feature"}


def convert_recording(row: SourceRow, path: Path, tools: Mapping[str, Tool], log: ImportLog) -> Recording | None:
    """Return the recording of a row, or None after noting why it cannot be one.

    The user's id is given its alias; the original stays as a synonym, so that a recorded call of it still finds the recording.
    """
    cells = row.cells
    name = cells["tool_name"]
    if name != path.stem:
        log.note("tool_name", row.place, f"the row names the tool {shown(name)} in the file of {path.stem}")
    arguments = _arguments(cells["arguments"], row, log)
    if arguments is None:
        return None
    arguments = _renamed(arguments, tools.get(name), row, log)
    data: JsonObject = {"case": cells["trace_id"], "tool": name, "arguments": arguments}
    data["result"] = _result(cells["result"], row, log)
    uid = arguments.get("uid")
    if isinstance(uid, str) and uid:
        data["arguments"] = {**arguments, "uid": alias(uid)}
        data["synonyms"] = {"uid": [uid]}
    _note_user_id(cells, data, row, log)
    for column in sorted(cells.keys() - _KNOWN):
        log.leave(f"column {column}")
    return log.recording(data, row.place)


def _arguments(text: str, row: SourceRow, log: ImportLog) -> JsonObject | None:
    try:
        value = parse_json(text)
    except ValueError as error:
        log.note("unparsable", row.place, f"arguments are not JSON ({error}); the recording is left out")
        return None
    if not isinstance(value, dict):
        log.note("unparsable", row.place, f"arguments are {shown(value)}, no object; the recording is left out")
        return None
    return value


def _renamed(arguments: JsonObject, tool: Tool | None, row: SourceRow, log: ImportLog) -> JsonObject:
    names = {name: user_parameter(name, tool) for name in arguments}
    if len(set(names.values())) < len(names):
        log.note("user_parameter", row.place, "the arguments have both adiu and uid; they are kept as they are")
        return arguments
    return {names[name]: value for name, value in arguments.items()}


def _result(text: str, row: SourceRow, log: ImportLog) -> Json:
    """Return the parsed result where the text is JSON, else the text: the user tools answer in prose."""
    try:
        return parse_json(text)
    except ValueError as error:
        if text.lstrip()[:1] in {"{", "["}:
            log.note("result_text", row.place, f"the result looks like JSON and is not ({error}); kept as text")
        return text


def _note_user_id(cells: Mapping[str, str], data: JsonObject, row: SourceRow, log: ImportLog) -> None:
    """Note a case id that an agent could still see: in the source a user's id is the case's."""
    case = cells["trace_id"]
    visible = {"result": cells["result"], "arguments": str(data["arguments"])}
    for where, text in visible.items():
        if case and case in text:
            log.note("case_id_visible", row.place, f"the {where} of the recording contain the case's id")
