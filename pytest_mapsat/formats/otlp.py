"""Spans in files: OTLP JSON, as console exporters print them, or exports of other tools in their place; read value by value, sorted on disk, given by conversation.

Spans of one conversation may stand anywhere in a file, and a file may be larger than memory: what is read goes into a temporary database,
of which SQLite keeps in memory what fits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.model import Json, JsonObject, Problem, SuiteError, shown

from .conventions import OtlpSpan, kind_of
from .exports import exported_spans
from .files import RawLine, limits, read_lines
from .plain_data import decode, located_json, parse_json

if TYPE_CHECKING:
    from sqlite3 import Connection

#: What spans stand under in OTLP, by the names of its versions and of its two spellings.
_BATCHES = ("resourceSpans", "resource_spans", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
#: Where the SDKs put the ids of a span, and of the span around it.
_CONTEXTS, _PARENTS, _SPAN_IDS = ("context", "spanContext"), ("parent", "parentSpanContext"), ("spanId", "span_id")
_SPAN_ID = re.compile(r'"(?:span_?id|id)"\s*:\s*"(?:0x)?([^"]*)"', re.IGNORECASE)
#: By what the first characters of a file are known to hold spans.
_LOOKS_LIKE_SPANS = re.compile(r'"(?:resource_?spans|scope_?spans|batches|trace_?id)"\s*:', re.IGNORECASE)
_CUT_OFF = "the file may be cut off: export the spans again, or take the broken end away"
_EXPECTED = "expected OTLP JSON (resourceSpans, one document or JSON lines), spans as a console exporter prints them, runs or a dataset of LangSmith, or a log of Inspect"
#: Only attributes whose names begin so are kept.
_KEPT = (
    "gen_ai.", "llm.", "openinference.", "input.", "output.", "tool.", "tool_", "session.", "mapsat.", "traceloop.", "langfuse.", "langsmith.",
    "ai.", "gcp.vertex.agent.", "pydantic_ai.", "all_messages_events", "events", "final_result", "agent.", "logfire.span_type", "operation.cost", "user.id", "enduser.id",
)  # fmt: skip
#: How names begin of attributes that may stand in objects within each other.
_NESTED = ("llm", "openinference", "input", "output", "tool", "session", "gen_ai", "mapsat")
#: The attributes that name the conversation of a span, the first one that is there.
_SESSIONS = (
    "gen_ai.conversation.id", "session.id", "langfuse.session.id", "gcp.vertex.agent.session_id", "langsmith.trace.session_id", "ai.telemetry.metadata.sessionId",
    "traceloop.association.properties.session_id", "traceloop.association.properties.thread_id",
)  # fmt: skip
CASE, TRIAL = "mapsat.case", "mapsat.trial"
_LATEST = 2**62
_SECOND = 1_000_000_000
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class Gathered(NamedTuple):
    """The spans of one conversation by start time, with its case, trial and session if the spans have them."""

    case: str
    trial: int
    session: str
    spans: tuple[OtlpSpan, ...]


def looks_like_spans(text: str) -> bool:
    """Return whether the beginning of a file looks like spans."""
    return _LOOKS_LIKE_SPANS.search(text) is not None


def gather_spans(path: Path, name: str) -> Iterator[Gathered]:
    """Yield the spans of a file grouped by conversation, in the order in which the conversations first appear.

    A conversation is what has one case (``mapsat.case``, ``mapsat.trial``), else one session, else one trace. A span
    without its own stands in the conversation of the span around it, or in the only one of its trace.

    Raises:
        SuiteError: it is broken, holds no spans, or goes beyond a limit; with the line.
    """
    from sqlite3 import connect  # noqa: PLC0415  only where spans are read

    with closing(connect("", isolation_level=None)) as database:  # a file without a name, gone when it is closed
        database.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
            "CREATE TABLE span(seq INTEGER PRIMARY KEY, trace, id, parent, start, line, case_, session, tool, again DEFAULT 0, body, UNIQUE(trace, id));"
        )
        count = sum(_insert(database, span) for span in _spans(path, name))
        if not count:
            raise SuiteError(Problem(name, 0, "holds no spans", _EXPECTED))
        for (trace,) in database.execute("SELECT DISTINCT trace FROM span").fetchall():
            _inherit(database, trace)
        database.executescript(
            "CREATE TABLE only_case(session PRIMARY KEY, case_);"
            "INSERT INTO only_case SELECT session, min(case_) FROM span WHERE session <> '' AND case_ <> ''"
            " GROUP BY session HAVING count(DISTINCT case_) = 1;"
            "UPDATE span SET case_ = coalesce((SELECT o.case_ FROM only_case o WHERE o.session = span.session), '')"
            " WHERE case_ = '' AND session <> '';"
            "CREATE TABLE part AS SELECT seq, CASE WHEN case_ <> '' THEN 'c' || case_ WHEN session <> '' THEN 's' || session ELSE 't' || trace END key FROM span;"
            "CREATE INDEX by_key ON part(key);"
        )
        keys = database.execute("SELECT key FROM part GROUP BY key ORDER BY min(seq)")
        for (key,) in keys:
            yield _conversation(database, key, name)


def _conversation(database: Connection, key: str, name: str) -> Gathered:
    """Return the spans of one conversation from the database; ``key``: its case, session or trace with a prefix letter."""
    rows = database.execute(
        "SELECT case_, session, line, id, again, body FROM span WHERE seq IN (SELECT seq FROM part WHERE key = ?) ORDER BY start, seq",
        (key,),
    )
    spans: list[OtlpSpan] = []
    size, case, session = 0, "", ""
    for case_, session_, line, span_id, again, body in rows:
        size += len(body)
        if size > limits.DIALOGUE_BYTES:
            message = f"the conversation of span {shown(span_id)} holds more than {limits.DIALOGUE_BYTES} characters"
            raise SuiteError(Problem(name, line, message, "leave it out"))
        case, session = case or case_, session or session_
        fields = json.loads(body)
        events = tuple((event, attributes) for event, attributes in fields.pop("events"))
        spans.append(OtlpSpan(**fields, events=events, line=line, again=again))
    case, _, trial = case.partition("\n")
    return Gathered(case, int(trial or 1), session, tuple(spans))


def _insert(database: Connection, span: OtlpSpan) -> int:
    """Store a span in the database; if its id exists already, record the repetition. Returns 1."""
    body = {name: getattr(span, name) for name in OtlpSpan.__slots__ if name not in ("line", "again")}
    case, trial = span.attributes.get(CASE), span.attributes.get(TRIAL, 1)
    case = f"{case}\n{trial if str(trial).isdecimal() else 1}" if isinstance(case, str) and case else ""
    session = str(span.first(_SESSIONS) or "")
    tool = kind_of(span) == "tool"
    row = (span.trace, span.id, span.parent, span.start, span.line, case, session, tool, json.dumps(body))
    kept = database.execute(
        "INSERT OR IGNORE INTO span(trace, id, parent, start, line, case_, session, tool, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    if not kept.rowcount:
        database.execute("UPDATE span SET again = ? WHERE trace = ? AND id = ?", (span.line, span.trace, span.id))
    return 1


def _inherit(database: Connection, trace: str) -> None:
    """Give spans without a case or session the values of the nearest enclosing span, or the only values in the trace.

    An agent that a tool runs begins a session of its own in some frameworks; below a tool, a span has the values of the tool.
    """
    rows = database.execute("SELECT id, parent, case_, session, tool FROM span WHERE trace = ?", (trace,)).fetchall()
    parents: dict[str, str] = {row[0]: row[1] for row in rows}
    inside = _below({row[0] for row in rows if row[4]}, parents)
    for place, column in ((2, "case_"), (3, "session")):
        told: dict[str, str] = {row[0]: row[place] for row in rows}
        own = {span: "" if span in inside else value for span, value in told.items()}
        own = own if any(own.values()) else told
        values = {value for value in own.values() if value}
        if not values:
            continue
        alone = values.pop() if len(values) == 1 else ""
        inherited: dict[str, str] = {}  # each span is passed once, however deep the spans stand in each other
        for span in own:
            above, below = span, {}
            while above in own and not own[above] and above not in inherited and above not in below:
                below[above] = ""
                above = parents[above]
            value = own.get(above) or inherited.get(above) or alone
            inherited |= dict.fromkeys(below, value)
        changes = ((value, trace, span) for span, value in inherited.items() if value)
        database.executemany(f"UPDATE span SET {column} = ? WHERE trace = ? AND id = ?", changes)  # noqa: S608  a name of ours


def _below(tools: set[str], parents: Mapping[str, str]) -> set[str]:
    """Return the spans that have one of some spans around them; ``parents``: the parent of each span of a trace."""
    known: dict[str, bool] = {}
    for span in parents if tools else ():
        way: dict[str, None] = {}
        while span in parents and span not in known and span not in way:
            way[span] = None
            span = parents[span]  # noqa: PLW2901  one step up
        inside = known.get(span, False) or span in tools
        for passed in reversed(way):
            known[passed] = inside
            inside = inside or passed in tools
    return {span for span, inside in known.items() if inside}


# -- from text to spans -------------------------------------------------------------------------


def _spans(path: Path, name: str) -> Iterator[OtlpSpan]:
    """Yield the spans of a file, each with its line number."""
    for first, text, value in _values(path, name):
        lines: dict[str, int] = {}
        line = counted = 0
        for match in _SPAN_ID.finditer(text):
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            lines.setdefault(match[1], first + line)
        for data in _raw_spans(value, name, first):
            span = _span(data, name, first, lines)
            if span is not None:
                yield span


def _values(path: Path, name: str) -> Iterator[tuple[int, str, Json]]:
    """Yield the JSON values of a file, each after its first line number and its text (empty if the value fits on one line)."""
    begun: list[RawLine] = []
    size = 0

    def whole() -> tuple[int, str, Json]:
        """Return the value collected so far, after its first line number and text. Raises SuiteError."""
        text = decode(b"".join(raw.data for raw in begun), name, begun[0].number)
        return begun[0].number, text, located_json(text, name, begun[0].number, depth=limits.RUN_DEPTH, hint=_CUT_OFF)

    for raw in read_lines(path, limits.DIALOGUE_BYTES, name, blank=True):
        if not begun and raw.data.isspace():
            continue
        if begun and (raw.data[:1] in (b"{", b"[") or size + len(raw.data) > limits.DIALOGUE_BYTES):
            yield whole()  # it is broken, or too long: the parser says where
            begun, size = [], 0
        if not begun and raw.data.rstrip().endswith((b"}", b"]")):
            text = decode(raw.data, name, raw.number)
            with suppress(json.JSONDecodeError):
                yield raw.number, "", _parsed(text, name, raw.number)
                continue
        begun.append(raw)
        size += len(raw.data)
        if len(begun) > 1 and raw.data[:1] in (b"}", b"]"):
            yield whole()
            begun, size = [], 0
    if begun:
        yield whole()


def _parsed(text: str, name: str, line: int) -> Json:
    """Return the JSON data of one line of a file of spans.

    Raises:
        JSONDecodeError: the value may go on in the next line.
        SuiteError: the value goes beyond a limit.
    """
    try:
        return parse_json(text, depth=limits.RUN_DEPTH)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise SuiteError(Problem(name, line, str(error))) from error


def spans_in(value: Json) -> list[OtlpSpan]:
    """Return the spans in a received OTLP JSON document, except spans without ids.

    Raises:
        SuiteError: it holds no spans.
    """
    spans: list[OtlpSpan] = []
    for data in _raw_spans(value, "OTLP", 0):
        with suppress(SuiteError):
            spans += filter(None, [_span(data, "OTLP", 0, {})])
    return spans


def _raw_spans(value: Json, name: str, line: int) -> Iterator[JsonObject]:
    """Yield the span objects in a document, at any level of batches and scopes. Raises SuiteError if there are none."""
    if isinstance(value, list):
        for member in value:
            yield from _raw_spans(member, name, line)
        return
    if not isinstance(value, dict):
        raise SuiteError(Problem(name, line, f"found {shown(value)}, expected spans", _EXPECTED))
    batches = next((value[key] for key in _BATCHES if key in value), None)
    if batches is None and not any(key in value for key in _SCOPES):
        if (exported := exported_spans(value, name, line)) is not None:
            yield from exported
            return
        if value.keys().isdisjoint((*_CONTEXTS, *_SPAN_IDS)) and not {"id", "traceId"} <= value.keys():
            raise SuiteError(
                Problem(name, line, f"found an object with {', '.join(map(shown, list(value)[:5]))}", _EXPECTED)
            )
        yield value
        return
    for batch in [value] if batches is None else _objects(batches):
        for key in _SCOPES:
            for scope in _objects(batch.get(key)):
                yield from _objects(scope.get("spans"))


def _objects(value: Json) -> list[JsonObject]:
    """Return the members of a list that are objects; empty if the value is not a list."""
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def _span(data: JsonObject, name: str, line: int, lines: Mapping[str, int]) -> OtlpSpan | None:
    """Return a span from its JSON object; None if the span is still pending. Raises SuiteError if ids are missing."""
    context, around = (next((data[key] for key in keys if key in data), None) for keys in (_CONTEXTS, _PARENTS))
    own = {**data, **(context if isinstance(context, dict) else {})}
    span_id, trace = (_identity(own, names) for names in ((*_SPAN_IDS, "id"), ("traceId", "trace_id")))
    parent = _identity(own, ("parentSpanId", "parent_span_id", "parent_id", "parentId"))
    if isinstance(around, dict):
        parent = parent or _identity(around, _SPAN_IDS)
    # Microseconds, of a console exporter in JavaScript.
    if isinstance(own.get("timestamp"), int) and isinstance(own.get("duration"), (int, float)):
        own |= {"startTime": own["timestamp"] * 1000, "endTime": own["timestamp"] * 1000 + int(own["duration"] * 1000)}
    line = lines.get(span_id, line)
    if not span_id or not trace:
        what = "spanId" if not span_id else "traceId"
        raise SuiteError(Problem(name, line, f"the span {shown(data.get('name', ''))} has no {what}", _CUT_OFF))
    attributes = {key: value for key, value in _attributes(data.get("attributes")).items() if key.startswith(_KEPT)}
    if attributes.get("logfire.span_type") == "pending_span":
        return None  # the same span follows when it has ended
    events = tuple(
        (str(event.get("name", "")), _attributes(event.get("attributes"))) for event in _objects(data.get("events"))
    )
    return OtlpSpan(
        trace=trace,
        id=span_id,
        parent=parent,
        name=str(data.get("name", "")),
        start=_nanoseconds(own, ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")),
        end=_nanoseconds(own, ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")),
        failed=_is_error(data),
        attributes=attributes,
        events=events,
        line=line,
    )


def _identity(data: JsonObject, names: Iterable[str]) -> str:
    """Return the id under the first of some keys without ``0x``; empty if it is missing or all zeros."""
    value = next((data[name] for name in names if isinstance(data.get(name), str)), "")
    return value.removeprefix("0x").strip("0") and value.removeprefix("0x")


def _is_error(data: JsonObject) -> bool:
    """Return whether the status of a span is an error."""
    status = data.get("status")
    own = status if isinstance(status, dict) else {"code": data.get("status_code", status)}
    code = own.get("code", own.get("status_code"))
    return code == 2 or (isinstance(code, str) and code.upper().endswith("ERROR"))  # noqa: PLR2004  the number of OTLP


def _nanoseconds(data: JsonObject, names: Iterable[str]) -> int:
    """Return a time in any notation as nanoseconds since 1970; 0 if it is missing or invalid."""
    value = next((data[name] for name in names if data.get(name)), 0)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, int) for part in value):  # noqa: PLR2004  seconds, nanoseconds
        value = value[0] * _SECOND + value[1]
    if isinstance(value, str) and not value.isdecimal():
        try:
            value = (datetime.fromisoformat(value) - _EPOCH) // _MICROSECOND * 1000
        except (ValueError, OverflowError, TypeError):
            return 0
    value = int(value) if isinstance(value, (int, str)) and len(str(value)) < limits.NUMBER_CHARS else 0
    return value if 0 <= value < _LATEST else 0


def _attributes(value: Json) -> JsonObject:
    """Return attributes by dotted name, from OTLP's list of keys and values or from an object, flat or nested."""
    if isinstance(value, list):
        pairs = [(item.get("key"), _any_value(item.get("value"))) for item in _objects(value)]
        return {key: member for key, member in pairs if isinstance(key, str)}
    return dict(_dotted(value, "")) if isinstance(value, dict) else {}


def _any_value(value: Json) -> Json:
    """Return the value in OTLP's AnyValue; None if it is malformed."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((kind, content),) = value.items()
    members = _objects(content.get("values")) if isinstance(content, dict) else []
    match kind.replace("_", "").lower():
        case "intvalue":
            return int(content) if str(content).removeprefix("-").isdecimal() else None
        case "arrayvalue":
            return [_any_value(member) for member in members]
        case "kvlistvalue":
            return {str(pair.get("key")): _any_value(pair.get("value")) for pair in members}
        case _:
            return content


def _dotted(value: JsonObject, above: str) -> Iterator[tuple[str, Json]]:
    """Yield the attributes in an object under dotted names; ``above``: the prefix of the names."""
    for key, member in value.items():
        name = f"{above}{key}"
        if isinstance(member, dict) and member and name.partition(".")[0] in _NESTED:
            yield from _dotted(member, f"{name}.")
        else:
            yield name, member
