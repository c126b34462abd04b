"""Import of MapSatisfyBench's published layout: ``inputs/*.xlsx`` and ``sandbox/mock_data/*.csv``.

What the layout means was found by looking at the published data; README.md here describes it.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pytest_mapsat.formats import check_columns, content_digest, limits, open_bytes, parse_json, printable, shown_path
from pytest_mapsat.model import (
    Case,
    Json,
    JsonObject,
    MapsatError,
    Recording,
    SuiteManifest,
    Tool,
    UsageError,
    did_you_mean,
    digest,
    shown,
)
from pytest_mapsat.ports import Record, imported_manifest, packaged_tools, source_error, table_records, write_suite
from pytest_mapsat.suite import (
    ImportLog,
    ImportReport,
    bare_tool,
    new_folder,
    to_yaml,
    write_bytes,
    write_cases,
    write_recordings,
)


def read_workbook(path: Path, columns: Sequence[str], log: ImportLog) -> Iterator[Record]:
    """Yield the rows of all sheets that have the columns; formulas are read as text. Raises SuiteError."""
    _check_archive(path)
    try:
        # Our own handle: openpyxl leaves its own open where it raises.
        with open_bytes(path) as file, closing(_opened(file)) as book:
            for index, sheet in enumerate(book.worksheets):
                yield from _sheet_rows(path, index, sheet, columns, log)
    except MapsatError:
        raise
    except Exception as error:  # openpyxl raises almost anything for a damaged file
        raise source_error(path, f"is not a readable workbook: {error}") from error


def _opened(file: IO[bytes]) -> Any:
    """Return the workbook opened by openpyxl. Raises UsageError if openpyxl is not installed."""
    try:
        import openpyxl  # noqa: PLC0415  an extra
    except ImportError:
        raise UsageError("the source is a workbook: pip install 'pytest-mapsat[workbook]' reads it") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles and extensions, which are not read
        return openpyxl.load_workbook(file, read_only=True, keep_links=False)


def _check_archive(path: Path) -> None:
    """Raise SuiteError if a workbook is not a zip archive, or unpacks to more than the limits."""
    try:
        with open_bytes(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (OSError, zipfile.BadZipFile) as error:
        raise source_error(path, f"is not a readable workbook: {error}") from error
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.WORKBOOK_BYTES or len(members) > limits.WORKBOOK_MEMBERS:
        raise source_error(path, f"unpacks to {unpacked} bytes in {len(members)} members, more than is read")


def _sheet_rows(path: Path, index: int, sheet: Any, columns: Sequence[str], log: ImportLog) -> Iterator[Record]:
    """Yield the non-empty rows of a sheet by column; note unused columns, and skip a later sheet without the columns."""
    sheet.reset_dimensions()  # the stored size of a sheet may lie
    rows = sheet.iter_rows(values_only=True)
    names = [_text(cell).strip() for cell in next(rows, ())]
    place = f"{printable(path.name)}[{sheet.title}]"
    if index and not set(columns) <= set(names):
        log.note("sheet", place, "is not read: it lacks the columns of a table of cases", leaves="sheets")
        return
    check_columns(shown_path(path), names, columns)
    for name in sorted(set(names) - set(columns) - {""}):
        log.note("column", place, f"the column {shown(name)} is not carried over", leaves=f"column {name}")
    for number, row in enumerate(rows, 2):
        cells = [_text(cell) for cell in row]
        if any(cells):
            yield Record(f"{place} row {number}", dict(zip(names, cells, strict=False)))
        if number > limits.SHEET_ROWS:
            raise source_error(path, f"has more than {limits.SHEET_ROWS} rows", line=number)


def _text(cell: Any) -> str:
    """Return the value of a cell as text; empty for an empty cell."""
    return "" if cell is None else str(cell)


# -- a row as a case

COLUMNS = ("task_id", "query", "context", "full_intent", "ground_truth")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)")
_CONTEXT = ("uid", "time", "user_current_loc", "user_loc_name", "city", "history")
_TRUTH = ("explicit_intent", "implicit_intent", "clarification_policy", "truth_trajectory")
_IMPLICIT = ("rubric_instruction", "constraint_type", "evidence_confidence", "evidence")
_CALLS = ("expected_tools", "parameter_rules", "factual_answer_rubric")


class _MalformedRowError(ValueError):
    """Raised when a part of a row is malformed, so that the row cannot become a case."""


def alias(uid: str) -> str:
    """Return a stable pseudonym for a user id, because the source uses the id of the case for the user."""
    return f"u-{digest(uid, 12)}"


def user_parameter(name: str, tool: Tool | None) -> str:
    """Return a parameter's name in the tool's spelling: ``uid`` for ``adiu`` if the tool has only ``uid``, otherwise unchanged."""
    parameters = tool.parameters.get("properties", {}) if tool else {}
    return "uid" if name == "adiu" and "adiu" not in parameters and "uid" in parameters else name


def convert_case(row: Record, tools: Mapping[str, Tool], log: ImportLog) -> Case | None:
    """Convert a row to a case; if this is impossible, note the reason and return None."""
    reader = _RowReader(row, tools, log)
    try:
        data = reader.case()
    except _MalformedRowError as error:
        log.note("unparsable", row.place, f"{error}; the case is left out")
        return None
    return log.case(data, row.place)


class _RowReader:
    """Converts one row to the data of a case; every unknown key is noted as omitted."""

    def __init__(self, row: Record, tools: Mapping[str, Tool], log: ImportLog) -> None:
        self.row = row
        self.tools = tools
        self.log = log

    def case(self) -> JsonObject:
        """Return the data of the case that the row describes. Raises _MalformedRowError if the row is malformed."""
        cells = self.row.data
        context, truth = self._json("context"), self._json("ground_truth")
        visible = {"query": cells["query"], "context": self._context(context)}
        truth = {"intent": cells["full_intent"], **self._truth(truth)}
        return {"id": cells["task_id"], "language": "zh", "visible": visible, "truth": truth}

    def _json(self, column: str) -> JsonObject:
        """Return the JSON object in a column. Raises _MalformedRowError if the column holds anything else."""
        try:
            value = parse_json(self.row.data[column])
        except ValueError as error:
            raise _MalformedRowError(f"{column} is not JSON: {error}") from error
        return _mapping(value, column)

    def _note(self, kind: str, message: str, *, leaves: str = "") -> None:
        """Add a note about this row to the import log."""
        self.log.note(kind, self.row.place, message, leaves=leaves)

    def _leave_unknown(self, data: JsonObject, keys: Sequence[str], where: str) -> None:
        """Note the keys of an object that are not imported, and the expected keys that are missing."""
        for key in sorted(data.keys() - set(keys)):
            self._note("not_carried", f"{where}.{key} has no place in a case", leaves=f"{where}.{key}")
        for key in sorted(set(keys) - data.keys()):
            self._note("missing", f"{where}.{key} is missing")

    def _context(self, data: JsonObject) -> JsonObject:
        """Return the visible context of the case: time, city, history, user pseudonym and location."""
        self._leave_unknown(data, _CONTEXT, "context")
        uid = str(data.get("uid") or "")
        context: JsonObject = {
            "now": self._time(data.get("time")),
            "city": str(data.get("city") or ""),
            "history": self._history(data.get("history")),
            "uid": alias(uid) if uid else "",
        }
        location = self._location(data)
        return context if location is None else {**context, "location": location}

    def _time(self, text: Json) -> str:
        """Return a time in ISO format with the offset of China. Raises _MalformedRowError if the text is not a time."""
        time = _TIME.fullmatch(str(text).strip())
        if time is None:
            raise _MalformedRowError(f"context.time: found {shown(text)}, expected YYYY-MM-DD HH:MM:SS")
        return f"{time[1]}T{time[2]}+08:00"

    def _location(self, data: JsonObject) -> JsonObject | None:
        """Return the user's location; if it is not given as ``lon,lat``, note this and return None."""
        text = data.get("user_current_loc")
        name = str(data.get("user_loc_name") or "")
        try:
            lon, lat = (float(part) for part in str(text).split(","))
        except ValueError:
            message = f"user_current_loc is {shown(text)}, not lon,lat; the case has no location"
            self._note("location", message, leaves="locations")
            return None
        return {"lon": lon, "lat": lat, "name": name}

    def _history(self, value: Json) -> list[str]:
        """Return the history as a list of sentences: empty if there is none, one sentence if it is not a JSON array."""
        if value is None or value == "":
            return []
        items, repaired = _sentences(value)
        if items is None:
            self._note("history", "the history is no JSON array; it is kept as one sentence")
            return [str(value)]
        if repaired:
            self._note("history", "the history is escaped twice; it was unescaped")
        return [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items]

    def _truth(self, data: JsonObject) -> JsonObject:
        """Return the requirements, expected tools and clarification limit of the case."""
        self._leave_unknown(data, _TRUTH, "ground_truth")
        trajectory = _mapping(data.get("truth_trajectory") or {}, "truth_trajectory")
        self._leave_unknown(trajectory, ("tool_calls",), "truth_trajectory")
        calls = _mapping(trajectory.get("tool_calls") or {}, "tool_calls")
        self._leave_unknown(calls, _CALLS, "tool_calls")
        truth: JsonObject = {
            "requirements": [
                *_requirements("e", "asked", data.get("explicit_intent"), "explicit_intent"),
                *self._implicit(_list(data.get("implicit_intent"), "implicit_intent")),
                *_requirements("f", "fact", calls.get("factual_answer_rubric"), "factual_answer_rubric"),
            ],
            "tools": self._tools(calls),
        }
        policy = data.get("clarification_policy")
        return truth if policy is None else {**truth, "clarification": self._clarification(policy)}

    def _implicit(self, items: Sequence[Json]) -> list[JsonObject]:
        """Return implicit intents as hard and soft requirements. Raises _MalformedRowError for any other constraint type."""
        requirements = []
        for number, item in enumerate(items, 1):
            data = _mapping(item, f"implicit_intent[{number - 1}]")
            self._leave_unknown(data, _IMPLICIT, "implicit_intent")
            evidence = str(data.get("evidence") or "")
            kind = data.get("constraint_type")
            if kind not in ("hard", "soft"):
                raise _MalformedRowError(f"constraint_type is {shown(kind)}, not hard or soft")
            terms = {"text": data.get("rubric_instruction"), "weight": data.get("evidence_confidence")}
            evidences = [{"text": evidence}] if evidence else []
            requirements.append({"id": f"z{number}", "kind": kind, **terms, "evidence": evidences})
        return requirements

    def _clarification(self, policy: Json) -> JsonObject:
        """Return the number of clarification turns that the policy allows, with its evidence as a note."""
        data = _mapping(policy, "clarification_policy")
        self._leave_unknown(data, ("max_allowed", "evidence"), "clarification_policy")
        return {"max_turns": data.get("max_allowed"), "note": str(data.get("evidence") or "")}

    def _tools(self, calls: JsonObject) -> list[JsonObject]:
        """Return the expected tools without duplicates; note duplicates, and rules for unexpected tools."""
        rules = _mapping(calls.get("parameter_rules") or {}, "parameter_rules")
        names = [str(name) for name in _list(calls.get("expected_tools"), "expected_tools")]
        unique = list(dict.fromkeys(names))
        if len(unique) < len(names):
            self._note("duplicate_tool", "expected_tools names a tool twice; it is expected once")
        for name in sorted(rules.keys() - set(unique)):
            message = f"parameter_rules has {name}, which is not expected; left out"
            self._note("rule_without_tool", message, leaves="parameter rules")
        return [self._tool(name, rules.get(name)) for name in unique]

    def _tool(self, name: str, rule: Json) -> JsonObject:
        """Return an expected tool with its required parameters and its rules in words."""
        if rule is None:
            self._note("missing", f"the expected tool {name} has no parameter_rules")
        data = _mapping(rule or {}, f"parameter_rules.{name}")
        spelled = "paramter" if "paramter" in data else "parameter"  # the source always misspells it
        self._leave_unknown(data, (spelled, "rules") if rule else (), "parameter_rules")
        tool = self.tools.get(name)
        required = [user_parameter(str(parameter), tool) for parameter in _list(data.get(spelled), f"{name}.{spelled}")]
        return {"name": name, "required": required, "prose": self._prose(data, name)}

    def _prose(self, data: JsonObject, name: str) -> list[list[str]]:
        """Return a tool's rules as pairs of a parameter and a description."""
        prose = []
        for item in _list(data.get("rules"), f"{name}.rules"):
            rule = _mapping(item, f"{name}.rules")
            self._leave_unknown(rule, ("param", "rule_description"), "rules")
            parameter = user_parameter(str(rule.get("param", "")), self.tools.get(name))
            prose.append([parameter, str(rule.get("rule_description", ""))])
        return prose


def _sentences(value: Json) -> tuple[list[Json] | None, bool]:
    """Return the JSON array in the history, or None if there is none, and whether it was escaped twice."""
    if isinstance(value, list):
        return value, False
    for text, repaired in ((str(value), False), (f'"{value}"', True)):
        try:
            items = parse_json(text)
            items = parse_json(items) if isinstance(items, str) else items
        except ValueError:
            continue
        if isinstance(items, list):
            return items, repaired
    return None, False


def _requirements(letter: str, kind: str, value: Json, name: str) -> list[JsonObject]:
    """Return a list of texts as requirements of one kind; ``letter`` and a number make their ids."""
    numbered = enumerate(_list(value, name), 1)
    return [{"id": f"{letter}{number}", "kind": kind, "text": text} for number, text in numbered]


def _list(value: Json, name: str) -> list[Json]:
    """Return the value if it is a list; empty for null. Raises _MalformedRowError for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise _MalformedRowError(f"{name} is {shown(value)}, not a list")
    return value


def _mapping(value: Json, name: str) -> JsonObject:
    """Return the value if it is an object. Raises _MalformedRowError for anything else."""
    if not isinstance(value, dict):
        raise _MalformedRowError(f"{name} is {shown(value)}, not an object")
    return value


# -- a row as a recording

RECORDING_COLUMNS = ("trace_id", "tool_name", "arguments", "result")
_KNOWN = {*RECORDING_COLUMNS, "feature"}


def convert_recording(row: Record, path: Path, tools: Mapping[str, Tool], log: ImportLog) -> Recording | None:
    """Return the recording of a row; if there is none, note the reason and return None.

    The user's id is given its alias; the original stays as a synonym, so that a recorded call of it still finds the recording.
    """
    cells = row.data
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
    # In the source a user's id is the case's: an agent could still see it.
    for where, text in (("result", cells["result"]), ("arguments", str(data["arguments"]))):
        if (case := cells["trace_id"]) and case in text:
            log.note("case_id_visible", row.place, f"the {where} of the recording contain the case's id")
    for column in sorted(cells.keys() - _KNOWN):
        log.leave(f"column {column}")
    return log.recording(data, row.place)


def _arguments(text: str, row: Record, log: ImportLog) -> JsonObject | None:
    """Return the arguments in a cell; if they are not a JSON object, note this and return None."""
    try:
        value = parse_json(text)
        why = "" if isinstance(value, dict) else f"arguments are {shown(value)}, no object"
    except ValueError as error:
        value, why = None, f"arguments are not JSON ({error})"
    if why:
        log.note("unparsable", row.place, f"{why}; the recording is left out")
    return value if isinstance(value, dict) else None


def _renamed(arguments: JsonObject, tool: Tool | None, row: Record, log: ImportLog) -> JsonObject:
    """Return the arguments with ``adiu`` in the tool's spelling; if both names are used, note this and change nothing."""
    names = {name: user_parameter(name, tool) for name in arguments}
    if len(set(names.values())) < len(names):
        log.note("user_parameter", row.place, "the arguments have both adiu and uid; they are kept as they are")
        return arguments
    return {names[name]: value for name, value in arguments.items()}


def _result(text: str, row: Record, log: ImportLog) -> Json:
    """Return the result parsed as JSON; otherwise return the text, and note a text that resembles JSON."""
    try:
        return parse_json(text)
    except ValueError as error:
        if text.lstrip()[:1] in {"{", "["}:
            log.note("result_text", row.place, f"the result looks like JSON and is not ({error}); kept as text")
        return text


FORMAT = "mapsatisfybench"
_DESCRIPTION = (
    "MapSatisfyBench (repository wanzw404/MapSatisfyBench, MIT), imported from its published layout; "
    "snapshot {snapshot}: {cases} cases, {recordings} recordings. Times are China's, +08:00. The source gives no domains."
)


@dataclass(frozen=True)
class _Source:
    """The published files: workbooks of cases, tables of recordings, and outputs."""

    workbooks: tuple[Path, ...]
    mocks: tuple[Path, ...]
    outputs: tuple[Path, ...]

    def snapshot(self) -> str:
        """Return a digest of the workbooks and the tables of recordings."""
        digests = sorted(content_digest(path) for path in (*self.workbooks, *self.mocks))
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:12]


def import_mapsatisfybench(src: Path, dest: Path) -> ImportReport:
    """Create a suite at ``dest`` from the published files at ``src``.

    Args:
        src: the published ``data`` folder, or the folder above it.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        What came over, what did not, and what is odd.

    Raises:
        SuiteError: when the source cannot be read.
        UsageError: when ``dest`` cannot be used.
    """
    source = _find(src)
    with new_folder(dest) as folder:
        return _build(source, folder)


def _build(source: _Source, folder: Path) -> ImportReport:
    """Write the suite's cases, tools and recordings to a folder and return the import report."""
    log = ImportLog()
    described = packaged_tools(__package__)
    cases = _cases(source, described, log)
    recordings = _recordings(source, described, log)
    derived = list(_derive_tools(described, cases.values(), recordings, log))
    files: dict[str, list[Recording]] = {}
    for recording in recordings:
        # Only names that we know become file names.
        name = recording.tool if recording.tool in described else "derived-tools"
        if recording.case not in cases:
            name = "orphans"
            message = f"a recording of the case {recording.case}, which the source does not have; kept, never served"
            log.note("orphan", recording.tool, message)
        files.setdefault(name, []).append(recording)
    if source.outputs:
        message = f"{len(source.outputs)} files of recorded dialogues and verdicts; give them to recorded:PATH"
        log.note("outputs", "outputs", message, leaves="output files", count=len(source.outputs))
    write_suite(folder, _manifest(source.snapshot(), len(cases), len(recordings)), described.values())
    write_cases(folder / "cases.jsonl", cases.values())
    if derived:
        write_bytes(folder / "tools" / "derived-tools.yaml", to_yaml([tool.to_json() for tool in derived]))
    for name, of_file in sorted(files.items()):
        write_recordings(folder / "recordings" / f"{name}.jsonl", of_file)
    by_tool = Counter(recording.tool for recording in recordings)
    tools, orphans = len(described) + len(derived), len(files.get("orphans", ()))
    return log.report(folder, FORMAT, cases=len(cases), tools=tools, by_tool=by_tool, orphans=orphans)


def _find(src: Path) -> _Source:
    """Find the source's files in a folder or its ``data`` folder. Raises SuiteError if workbooks or recordings are missing."""
    data = next((folder for folder in (src, src / "data") if (folder / "inputs").is_dir()), None)
    if data is None:
        hint = "give the folder that holds inputs/ and sandbox/, or the one above it"
        raise source_error(src, "is not the published layout: there is no folder inputs", hint)
    workbooks = sorted(path for path in (data / "inputs").glob("*.xlsx") if not path.name.startswith(("~", ".")))
    mocks = sorted((data / "sandbox" / "mock_data").glob("*.csv"))
    if not workbooks:
        raise source_error(data / "inputs", "holds no workbook (*.xlsx) of cases")
    if not mocks:
        raise source_error(data / "sandbox" / "mock_data", "holds no recordings (*.csv)")
    outputs = sorted(path for path in (data / "outputs").rglob("*") if path.is_file())
    return _Source(tuple(workbooks), tuple(mocks), tuple(outputs))


def _cases(source: _Source, tools: Mapping[str, Tool], log: ImportLog) -> dict[str, Case]:
    """Return the cases of all workbooks by id, sorted; note duplicates. Raises SuiteError if there is no case."""
    cases: dict[str, Case] = {}
    for path in source.workbooks:
        for row in read_workbook(path, COLUMNS, log):
            case = convert_case(row, tools, log)
            if case is None:
                log.leave("cases")
            elif case.id in cases:
                message = f"the id {case.id} stands twice; the first row is kept"
                log.note("duplicate_case", row.place, message, leaves="cases")
            else:
                cases[case.id] = case
    if not cases:
        raise log.nothing(source.workbooks[0], "holds no case")
    log.note("assumption", "time", "times stand without an offset in the source; +08:00 is added, China's one zone")
    log.note("assumption", "domains", "the source names no domain of a case; the cases have none")
    return dict(sorted(cases.items()))


def _derive_tools(
    described: Mapping[str, Tool], cases: Iterable[Case], recordings: Sequence[Recording], log: ImportLog
) -> Iterator[Tool]:
    """Yield a minimal spec, with the observed parameters, for each used tool that ``described`` lacks."""
    seen: dict[str, set[str]] = {}
    for recording in recordings:
        seen.setdefault(recording.tool, set()).update(recording.arguments)
    for expected in (tool for case in cases for tool in case.truth.tools):
        seen.setdefault(expected.name, set()).update(expected.required)
    for name in sorted(seen.keys() - described.keys()):
        near = did_you_mean(name, described) or "its spec has the parameters seen, and no description"
        log.note("unknown_tool", name, f"the benchmark has no such tool; {near}")
        yield bare_tool(name, seen[name])


def _recordings(source: _Source, tools: Mapping[str, Tool], log: ImportLog) -> list[Recording]:
    """Return the recordings of all tables, sorted by tool and case; note omitted rows and vectors."""
    recordings: list[Recording] = []

    def torn(place: str, message: str) -> None:
        """Note that a broken row is omitted."""
        log.note("row", place, f"{message} and is left out", leaves="rows")

    for path in source.mocks:
        vectors = 0
        for row in table_records(path, torn, RECORDING_COLUMNS):
            vectors += row.data.get("feature", "").strip() not in {"", "{}"}
            recording = convert_recording(row, path, tools, log)
            if recording is None:
                log.leave("recordings")
            else:
                recordings.append(recording)
        if vectors:
            message = f"{vectors} rows with vectors in the column feature; not carried over"
            log.note("vectors", printable(path.name), message, leaves="vectors", count=vectors)
    # Sorting is stable: otherwise the source's order.
    return sorted(recordings, key=lambda recording: (recording.tool, recording.case))


def _manifest(snapshot: str, cases: int, recordings: int) -> SuiteManifest:
    """Return the manifest of the imported suite."""
    return imported_manifest(
        FORMAT,
        snapshot,
        license="MIT",
        coordinates="gcj02",
        language="zh",
        description=_DESCRIPTION.format(snapshot=snapshot, cases=cases, recordings=recordings),
    )
