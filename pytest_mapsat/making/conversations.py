"""One conversation of an agent with a user, from any kind of record: the messages, the query, and the reply that a case judges."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter

from pytest_mapsat.agents import as_json
from pytest_mapsat.formats import (
    ChatMessage,
    PersonalData,
    RecordedDialogue,
    Unknown,
    data_of,
    json_elements,
    layout_of,
    limits,
    lines_of_list,
    package_data,
    parse_json_line,
    printable,
    read_bytes,
    read_lines,
    read_messages,
    read_spans,
    require_file,
)
from pytest_mapsat.model import (
    Context,
    Json,
    JsonObject,
    Location,
    Problem,
    Provenance,
    Step,
    SuiteError,
    Trajectory,
    Turn,
    digest,
    shown,
)
from pytest_mapsat.reading import agrees, asks_go_ahead, fold_phrase, lexicon_of, open_page, read_names
from pytest_mapsat.sandbox import point_of

from .evidence import language_of, takes, wording
from .tools import is_name


@dataclass(frozen=True)
class LoggedMessage:
    """One message of a conversation.

    Attributes:
        place: where it stands: ``chat.json:14``, ``chats.jsonl:2, message 3`` or ``span '5b8e' (line 2)``.
        role: who speaks.
        text: the words; empty where a message makes calls alone.
        calls: the calls on the way to a reply, with their results.
        output: the structured output of a reply; None where it has none.
    """

    place: str
    role: Literal["system", "user", "agent"]
    text: str
    calls: tuple[Step, ...] = ()
    output: JsonObject | None = None


@dataclass(frozen=True)
class Log:
    """A conversation read from a file, before its query and judged reply are chosen.

    Attributes:
        id: what the log calls it; empty where it has no name.
        place: where it begins.
        lines: all messages, first to last; neither two replies nor two messages of the user stand side by side.
        tools: by name, the schema of each tool that the log describes, as OpenAI's ``function`` objects: ``name``, ``description``, ``parameters``.
        around: what the log tells besides messages and tools: metadata, times, the user.
        notes: what is odd about it, each with its place.
        sources: what the lines were read from, each part with a place of its own: the file may tell more than lines have.
    """

    id: str
    place: str
    lines: tuple[LoggedMessage, ...]
    tools: Mapping[str, JsonObject] = field(default_factory=dict)
    around: JsonObject = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sources: tuple[tuple[str, Json], ...] = ()

    @property
    def begun(self) -> tuple[tuple[str, str], ...]:
        """Roles and texts without system messages, used to find a log that is only the beginning of another log."""
        return tuple((line.role, line.text) for line in self.lines if line.role != "system")


_LOG = TypeAdapter(Log)


@dataclass(frozen=True, kw_only=True)
class LoggedConversation(Log):
    """A logged conversation with the indices of its query, of the judged reply and of the accepted reply.

    Attributes:
        query_at: the index of the line with the query: the user's message that the reply answers, taken back to the first message of the same matter.
        reply_at: the index of the reply that the case judges: the last one before the user objected or went on; the last reply where the user
            said nothing more.
        context: time, place and user, as far as the log tells them.
        accepted_at: the index of the reply that the user accepted at last; None where the user accepted none.
    """

    query_at: int
    reply_at: int
    context: Context
    accepted_at: int | None = None

    @property
    def query(self) -> LoggedMessage:
        """The message that is the query."""
        return self.lines[self.query_at]

    @cached_property
    def trajectory(self) -> Trajectory:
        """The dialogue from the query to the judged reply."""
        return trajectory_of(self.lines[self.query_at : self.reply_at + 1])

    @cached_property
    def accepted(self) -> Trajectory | None:
        """The dialogue from the query to the reply that the user finally accepted; None if there is none."""
        return None if self.accepted_at is None else trajectory_of(self.lines[self.query_at : self.accepted_at + 1])

    @property
    def after(self) -> tuple[LoggedMessage, ...]:
        """The messages after the judged reply."""
        return self.lines[self.reply_at + 1 :]

    @property
    def calls(self) -> list[tuple[LoggedMessage, Step]]:
        """All tool calls, each with its message."""
        return [(line, step) for line in self.lines for step in line.calls if step.kind == "call"]

    @property
    def now_at(self) -> str:
        """The place of the message that states the case's time: a system message with a time, otherwise the query."""
        places = (line.place for line in self.lines if line.role == "system" and _SAID_NOW.search(line.text))
        return next(places, self.query.place)

    @property
    def instructions(self) -> str:
        """The texts of all system messages, joined."""
        return "\n\n".join(line.text for line in self.lines if line.role == "system" and line.text)

    @property
    def language(self) -> str:
        """``zh`` for a Chinese query, otherwise ``en``."""
        return language_of(self.query.text)


# -- where the case stands: the query, the reply that is judged, and what the user did next


_NAME_KEYS = ("shop", "station", "hotel", "restaurant")
#: A choice of one of several things is short.
_SHORT = 60


def conversation_of(log: Log) -> LoggedConversation:
    """Return a log with the query, the judged reply and the accepted reply of its case chosen.

    The matter of the query ends where the user turns to something else. Of a matter with an objection the reply before the first one is judged,
    and the last reply that the user accepted, or said nothing more to, is the accepted one. Of a conversation without an objection the last
    matter counts.

    Raises:
        SuiteError: it has no message of the user, or no reply to one.
    """
    log = _normalised(log)
    lines = log.lines
    first = next((number for number, line in enumerate(lines) if line.role == "user"), None)
    replies = [number for number, line in enumerate(lines) if line.role == "agent" and line.text]
    replies = [number for number in replies if first is not None and number > first]
    if first is None or not replies:
        lacking = f"the conversation has no {'message of' if first is None else 'reply to'} the user"
        raise SuiteError(Problem(log.place, 0, lacking, "a case needs a query, and a reply that is judged"))
    query = start = first
    refused: int | None = None
    accepted: int | None = None
    last = replies[0]
    notes: list[str] = []
    names_at = [frozenset(fold_phrase(name) for step in line.calls for name in _names(step.result)) for line in lines]
    for number, reply in enumerate(replies):
        user = next((place for place in range(reply + 1, len(lines)) if lines[place].role == "user"), None)
        following = replies[number + 1] if number + 1 < len(replies) else None
        listed = frozenset[str]().union(*names_at[start : reply + 1])
        step = None if user is None else _next_step(lines, start, reply, user, following, names=listed)
        if step is None:
            if refused is not None and accepted is None and reply > refused:
                accepted = reply
                notes.append(f"{lines[reply].place}: the user says nothing more after it: it counts as accepted")
            last = reply if accepted is None else last
            break
        last = reply
        if step == "objects":
            query, refused, accepted = (start, reply, None) if refused is None else (query, refused, None)
        elif step == "accepts" and accepted is None:
            accepted = reply
        elif step == "other" and refused is not None:
            accepted = reply if accepted is None else accepted
            break
        elif step == "other" and following is not None and user is not None:
            start, query, accepted = user, user, None
        if step == "accepts" and refused is None and (following is None or not lines[following].calls):
            break
    judged = last if refused is None else refused
    return _with_indices(log, query, judged, accepted, notes)


def _normalised(log: Log) -> Log:
    """Return a log without a repeated last reply, and with an ASCII alias for each tool name that a suite does not allow."""
    lines = log.lines
    spoken = [line for line in lines if line.role == "agent"]
    if len(spoken) > 1 and spoken[-1] is lines[-1] and not lines[-1].calls and spoken[-1].text == spoken[-2].text:
        lines = lines[:-1]  # a trace gives as its output the last reply, though the user spoke after it
    tools, notes = dict(log.tools), list(log.notes)
    called = (step.tool for line in lines for step in line.calls if step.kind == "call")
    for name in dict.fromkeys((*log.tools, *called)):
        if re.fullmatch(r"[A-Za-z0-9_.-]{1,80}", name):
            continue
        plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:60] or "tool"
        alias, schema = f"{plain}-{digest(name, 6)}", tools.pop(name, {})
        tools[alias] = {**schema, "description": f"{name}: {schema.get('description') or ''}".rstrip(": ")}
        notes.append(f"{log.place}: the tool {shown(name)} is called {alias}: names of tools are ASCII")
        lines = tuple(_renamed(line, name, alias) for line in lines)
    return replace(log, lines=lines, tools=tools, notes=tuple(notes))


def _renamed(line: LoggedMessage, name: str, alias: str) -> LoggedMessage:
    """Return a message with one tool renamed in its calls."""
    steps = (step.model_copy(update={"tool": alias}) if step.tool == name else step for step in line.calls)
    return replace(line, calls=tuple(steps))


def _next_step(
    lines: Sequence[LoggedMessage], start: int, reply: int, user: int, following: int | None, *, names: frozenset[str]
) -> Literal["answers", "objects", "accepts", "other"]:
    """Return the role of a user's message after a reply; ``following``: index of the next reply or None; ``names``: listed things.

    It answers a question, objects (or tells a wish that was missed), accepts, or is another matter.
    """
    asked, text = lines[reply].text, lines[user].text
    folded = fold_phrase(text)
    offers = {name for name in names if name in fold_phrase(asked)}
    asks = bool(questions_in(asked[-20_000:], language_of(asked)))
    objects = wording("objects").search(wording("accepts").sub(" ", folded)) is not None
    accepts = wording("accepts").search(folded) is not None or agrees(text) is True
    if wording("turns").search(folded) and (accepts or not any(name in folded for name in offers)):
        return "other"
    if asks_go_ahead(asked, language_of(asked)) and (agrees(text) is not None or objects):
        return "accepts" if agrees(text) else "objects"
    if asks and not offers:
        return "answers"
    tools = {step.tool for line in lines[start : reply + 1] for step in line.calls}
    calls = () if following is None else lines[following].calls
    later = [step for line in lines[reply + 1 :] for step in line.calls if step.tool not in tools]
    turned = bool(tools and calls) and tools.isdisjoint(step.tool for step in calls)
    if not offers and (accepts or turned) and any(list(_names(step.result)) for step in later):
        return "other"  # what told of no thing is neither refused nor taken where things come up only later
    answer = "" if following is None else fold_phrase(lines[following].text)
    others = any(name in answer for name in names - offers)
    moved = others and bool(offers) and not any(name in answer for name in offers)
    # What is ordered or navigated to at once was taken, whatever the user says of it.
    taken = offers and not others and any(takes(step.tool) for step in calls)
    if taken or (accepts and not objects and not moved and "?" not in folded):
        return "accepts"
    picks = len(text) <= _SHORT and (any(name in folded for name in offers) or wording("ordinal").search(folded))
    answers = asks and bool(picks) and not objects and not moved
    # The agent tries again: it calls the same tools, or turns to another thing that it knew of.
    again = others or any(step.tool in tools for step in calls)
    return "answers" if answers else "objects" if objects or again else "other"


def questions_in(reply: str, language: str) -> list[str]:
    """Return the questions of a reply, without closing ones such as "Anything else?"."""
    document = read_names(open_page(reply, language=language), lexicon_of(()))
    asked = [document.words(question.span) for question in document.questions]
    return [question for question in asked if not wording("closes").search(question)]


def _names(result: Json, depth: int = 0) -> Iterable[str]:
    """Yield the names of things in a tool's result, at any depth."""
    if isinstance(result, Mapping) and depth < limits.DEPTH:
        for key, member in result.items():
            if (str(key).lower() in _NAME_KEYS or is_name(str(key))) and isinstance(member, str) and len(member) > 1:
                yield member
            yield from _names(member, depth + 1)
    elif isinstance(result, (list, tuple)) and depth < limits.DEPTH:
        for member in result:
            yield from _names(member, depth + 1)


def _with_indices(log: Log, query: int, judged: int, accepted: int | None, notes: Iterable[str]) -> LoggedConversation:
    """Return a log as a conversation with these indices, its context and notes. Raises SuiteError if texts are too long."""
    lines = log.lines
    first = next(line for line in lines if line.role != "system")
    odd = [*log.notes, *notes]
    if first.role == "agent":
        begins = "the conversation begins with the agent: its words are among the earlier messages"
        odd.append(f"{first.place}: {begins}")
    empty = [line.place for line in lines if line.role == "agent" and not line.text]
    odd += [f"{place}: the agent makes calls and says nothing: the log may be cut off there" for place in empty]
    instructions = "\n\n".join(line.text for line in lines if line.role == "system")
    asked = lines[query]
    for what, place, text in (("query", asked.place, asked.text), ("system message", log.place, instructions)):
        if len(text) > limits.TEXT_CHARS:
            message = f"the {what} has {len(text)} characters, more than the {limits.TEXT_CHARS} of a case"
            raise SuiteError(Problem(place, 0, message, "shorten it in the log"))
    context = context_of(log.around, instructions, log.place, odd)
    whole = vars(log) | {"notes": tuple(odd)}
    return LoggedConversation(**whole, query_at=query, reply_at=judged, context=context, accepted_at=accepted)


def trajectory_of(lines: Iterable[LoggedMessage]) -> Trajectory:
    """Return logged messages as a trajectory, without system messages."""
    turns = [
        Turn(role=line.role, text=line.text, steps=line.calls, output=line.output)
        for line in lines
        if line.role != "system"
    ]
    return Trajectory(case="-", source="recorded", turns=tuple(turns))


def choose(logs: Sequence[Log], which: str, path: Path) -> Log:
    """Return the conversation that ``which`` selects from a file.

    One that begins with all of another one, message by message, stands for both: where every call of a model is logged with all that came before it.

    Args:
        logs: the conversations of the file, in their order.
        which: the id of the one that is meant, or its number from 1; empty: the only one.
        path: the file.

    Raises:
        SuiteError: there is none, or it is not clear which one is meant.
    """
    whole = [
        log
        for number, log in enumerate(logs)
        if not any(
            log.begun == other.begun[: len(log.begun)] and (len(log.begun) < len(other.begun) or number > place)
            for place, other in enumerate(logs)
            if place != number
        )
    ]
    matches = [log for log in logs if which and log.id == which]
    if not matches and which.isdecimal() and 1 <= int(which[:9]) <= len(whole):
        matches = [whole[int(which) - 1]]
    if len(matches) == 1 or (len(whole) == 1 and not which):
        return (matches or whole)[0]
    if not whole:
        raise SuiteError(Problem(path.name, 0, "holds no conversation"))
    listed = "; ".join(f"{number} ({shown(log.id)}, {log.place})" for number, log in enumerate(whole[:10], 1))
    more = f"; and {len(whole) - 10} more" if len(whole) > 10 else ""  # noqa: PLR2004  so many are listed
    problem = f"no conversation is {shown(which)}" if which and not matches else f"holds {len(whole)} conversations"
    raise SuiteError(Problem(path.name, 0, f"{problem}: {listed}{more}", "name one with --which: its id or its number"))


# -- the context, as far as a log tells it

_NOW = ("now", "current_time", "time", "timestamp", "created_at", "created", "started_at", "date")
_UID = ("uid", "user_id", "userId", "user")
_PLACE = ("location", "user_location", "position", "current_location", "coordinates")
_LON, _LAT = ("lon", "lng", "longitude"), ("lat", "latitude")
#: Numbers above it are milliseconds; and the first second that is taken for a time: 2001.
_MILLISECONDS, _YEAR = 100_000_000_000, 978_307_200
_SAID_NOW = re.compile(
    r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?[T ,，]*(\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d+)?)?\s?(Z|[+-]\d\d:?\d\d)?"
)
#: The zone behind a time: a name such as Europe/Berlin, or what stands in brackets.
_SAID_ZONE = re.compile(
    r"\A[\s,，]*[(（]?\s*([A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_+-]+)+|UTC|GMT)\b|\A\s*[(（]([^)）\n]{1,40})[)）]"
)
_SAID_CITY = re.compile(r"(?:\bcity|城市)\s*(?:is|[:：=为是])\s*([^\s,.;，。；\n]{2,40})", re.IGNORECASE)


def context_of(around: JsonObject, instructions: str, place: str, notes: list[str]) -> Context:
    """Return the context (time, place, user) from metadata, otherwise from the system message; add irregularities to ``notes``."""
    sources = [around, *(part for part in around.values() if isinstance(part, dict))]
    now = next((moment for source in sources for key in _NOW if (moment := moment_of(source.get(key)))), None)
    clock = _SAID_NOW.search(instructions)
    if clock is not None:
        year, month, day, hour, minute, second, zone = clock.groups()
        written = f"{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{minute}:{second or '00'}{zone or ''}"
        now = _in_zone(moment_of(written), instructions[clock.end() :], place, notes) or now
    point = next((pair for source in sources if (pair := _point_in(source)) is not None), None)
    city = next((source[key] for source in sources for key in ("city", "城市") if isinstance(source.get(key), str)), "")
    said_city = _SAID_CITY.search(instructions)
    name = next((str(source[key]["name"]) for source in sources for key in _PLACE if isinstance(source.get(key), dict) and source[key].get("name")), "")  # fmt: skip
    uid = next((source[key] for source in sources for key in _UID if isinstance(source.get(key), (str, int))), "")
    locale = next((source["locale"] for source in sources if isinstance(source.get("locale"), str)), "")
    return Context(
        now=now,
        location=None if point is None else Location(lon=point[0], lat=point[1], name=name),
        city=city or ("" if said_city is None else said_city[1]),
        uid=str(uid),
        locale=locale,
    )


def _in_zone(moment: str | None, behind: str, place: str, notes: list[str]) -> str | None:
    """Return a time with the offset of the zone that follows it in a text; unchanged if it has an offset or no known zone follows."""
    zone = _SAID_ZONE.search(behind)
    if moment is None or zone is None or (local := datetime.fromisoformat(moment)).tzinfo is not None:
        return moment
    name = zone[1] or zone[2]
    try:
        return local.replace(tzinfo=ZoneInfo(name)).isoformat(timespec="seconds")
    except (KeyError, ValueError, OSError):
        notes.append(f"{place}: the time zone {shown(name)} is not known: the time of the case has none")
        return moment


def moment_of(value: Json) -> str | None:
    """Return a time (seconds, milliseconds or ISO text) as ISO 8601; None for other values and times before 2001."""
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            seconds = value / 1000 if value > _MILLISECONDS else value
            return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds > _YEAR else None
        if isinstance(value, str) and ":" in value:
            return datetime.fromisoformat(value.strip()).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _point_in(source: Mapping[str, Json]) -> tuple[float, float] | None:
    """Return the longitude and latitude in metadata, at the top level or under a key such as ``location``; None if there are none."""
    parts = [source, *(source[key] for key in _PLACE if source.get(key))]
    for part in parts:
        if isinstance(part, Mapping):
            lon, lat = (next((part[key] for key in keys if key in part), None) for keys in (_LON, _LAT))
            point = point_of({"lon": lon, "lat": lat}) if lon is not None and lat is not None else None
        else:
            point = point_of(part)
        if point is not None:
            return point
    return None


# -- the files that conversations stand in: chat messages of models, and spans

#: What a chat stands under, and what a request and its response are called in logs.
_MESSAGES = ("messages", "conversation", "input", "contents", "history")
_REQUESTS, _RESPONSES = ("request", "body", "prompt", "kwargs"), ("response", "output", "completion", "choices")
_TOOLS = ("tools", "functions")
#: What a log may tell besides: names of metadata, and of the time of a message.
_AROUND: Sequence[str] = package_data(__package__, "keys.yaml")["around"]
_IDS = ("id", "conversation_id", "session_id", "thread_id", "chat_id", "case_id")
_TIMES = ("timestamp", "created_at", "created", "time", "date")
_EXPECTED = "expected chat messages (a list, or an object with messages), JSON lines of these, OTLP JSON (resourceSpans), or an export of LangSmith or Inspect"
_RECORDED = Provenance(kind="recorded")


def read_logs(path: Path) -> list[Log]:
    """Return the conversations of a file in order; all supported layouts are recognised.

    Raises:
        UsageError: there is no such file.
        SuiteError: it cannot be read, holds something else, or goes beyond a limit; with the line.
    """
    name = printable(path.name)
    require_file(path, str(path))
    head = next(read_lines(path, limits.RUN_BYTES, name), None)
    if head is None:
        raise SuiteError(Problem(name, 0, "the file is empty", _EXPECTED))
    layout = layout_of(path, name)
    if layout == "spans":
        return [_of_spans(dialogue, name) for dialogue in read_spans(path, name)]
    first = head.data.decode(errors="replace").strip("\ufeff \t\r\n")
    if first[:1] not in ("[", "{"):
        raise SuiteError(Problem(name, 1, f"found {shown(first)}", _EXPECTED))
    return list(_of_lines(path, name) if layout == "lines" else _of_document(path, name))


def personal_data_of(log: Log) -> PersonalData:
    """Return the personal data found in a conversation, each value with the most precise place known."""
    personal = PersonalData()
    around = [(f"{log.place}, tools", dict(log.tools)), (log.place, log.around), (f"{log.place}, id", log.id)]
    for place, value in (*log.sources, *around):
        personal.look(value, place)
    personal.look(_LOG.dump_python(log, mode="json"), log.place, again=False)  # as it is understood
    return personal


def personal_data_in_name(name: str) -> str:
    """Return the kind of personal data in a file's name; empty if there is none."""
    personal = PersonalData()
    personal.look(name.partition(".")[0], "")
    return personal.found[0].kind if personal.found else ""


def without_personal(log: Log, personal: PersonalData) -> Log:
    """Return a conversation with each personal value replaced by an alias."""
    return _LOG.validate_python(personal.clean(_LOG.dump_python(log, mode="json")))


def _object(value: Json) -> JsonObject:
    """Return a value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


# -- spans


def _of_spans(dialogue: RecordedDialogue, name: str) -> Log:
    """Return a dialogue that was read from spans as a log."""
    place = f"{name}: {dialogue.place}"
    talk = _ChatReader()
    if dialogue.instructions:
        talk.add("system", dialogue.instructions, place)
    for number, turn in enumerate(dialogue.trajectory.turns):
        where = f"{name}: {dialogue.places[number] or dialogue.place}"
        talk.add(turn.role, turn.text, where, turn.steps, turn.output)
        if number in dialogue.untold:
            talk.note(
                where, "its words are missing: the instrumentation does not record contents, or they were cut off"
            )
    talk.notes += dialogue.trajectory.warnings
    around: JsonObject = {"uid": dialogue.user} if dialogue.user else {}
    if dialogue.begun:
        around["now"] = dialogue.begun // 1_000_000
    case = dialogue.trajectory.case.removeprefix("-")
    log = talk.log(dialogue.session or case, place, _tools(list(dialogue.tools)), around)
    return replace(log, sources=dialogue.sources)


# -- chat messages


def _of_document(path: Path, name: str) -> Iterator[Log]:
    """Yield the conversations in one JSON document: a list of messages, an object with such a list, or a list of either."""
    text = read_bytes(path, limits.DIALOGUE_BYTES, name).decode(errors="replace").removeprefix("\ufeff")
    elements = list(json_elements(text, name, "messages"))
    if any(_is_message(element) for _, element in elements) and text.lstrip()[:1] == "[":
        yield _chat([(f"{name}:{line}", element) for line, element in elements], {}, f"{name}:1")
        return
    alone = len(elements) == 1
    for line, element in elements:
        yield _of_value(element, line, name, text if alone else "")


def _of_lines(path: Path, name: str) -> Iterator[Log]:
    """Yield the conversations in JSON lines: one conversation per line, or one message per line grouped by its id."""
    messages: dict[str, list[tuple[str, Json]]] = defaultdict(list)
    for raw in read_lines(path, limits.DIALOGUE_BYTES, name):
        data = parse_json_line(raw.data, name, raw.number)
        if _is_message(data):
            of = next((str(data[key]) for key in _IDS[1:] if data.get(key)), "")
            messages[of].append((f"{name}:{raw.number}", data))
        else:
            yield _of_value(data, raw.number, name)
    for of, listed in messages.items():
        yield _chat(listed, {"id": of}, listed[0][0])


def _is_message(data: Json) -> bool:
    """Return whether data is a single chat message and not a conversation."""
    return isinstance(data, dict) and not any(isinstance(data.get(key), list) for key in ("messages", "conversation", "turns")) and (
        "role" in data or data.get("type") in ("message", "function_call", "function_call_output", "human", "ai")
    )  # fmt: skip


def _of_value(data: Json, line: int, name: str, text: str = "") -> Log:
    """Return the conversation in a JSON value; ``text``: the document if the value is the whole document, otherwise empty."""
    place = f"{name}:{line}"
    if isinstance(data, list) and all(map(_is_message, data)):
        data = {"messages": data}
    request: JsonObject = next((data[key] for key in _REQUESTS if isinstance(data.get(key), dict)), {}) if isinstance(data, dict) else {}  # fmt: skip
    whole = {**request, **data} if isinstance(data, dict) else {}
    key = next((key for key in _MESSAGES if isinstance(whole.get(key), list)), None)
    if key is None:
        keys = f"an object with {', '.join(map(shown, list(data)[:5]))}" if whole else "an empty object"
        raise SuiteError(Problem(name, line, f"found {keys if isinstance(data, dict) else shown(data)}", _EXPECTED))
    lines = lines_of_list(text, key, whole[key]) if text.count("\n") > 1 else []
    messages = [
        (f"{name}:{lines[number]}" if lines else f"{place}, message {number}", message)
        for number, message in enumerate(whole[key])
    ]
    response = next((whole[key] for key in _RESPONSES if whole.get(key)), None)
    if response is not None:
        spoken = {"choices": response} if isinstance(response, list) and "choices" in whole else response
        messages += [(f"{place}, response", message) for message in _response(spoken)]
    if isinstance(whole.get("system"), (str, list)):
        messages.insert(0, (f"{place}, system", {"role": "system", "content": whole["system"]}))
    return _chat(messages, whole, place)


def _response(data: Json) -> list[Json]:
    """Return the messages of a model's response: the first choice, an output list, or the message itself."""
    if isinstance(data, dict) and isinstance(data.get("choices"), list):
        return [choice.get("message", choice) for choice in data["choices"][:1] if isinstance(choice, dict)]
    if isinstance(data, dict) and isinstance(data.get("output"), list):
        return list(data["output"])
    return list(data) if isinstance(data, list) else [data if isinstance(data, dict) else {"role": "assistant", "content": data}]  # fmt: skip


def _chat(messages: Sequence[tuple[str, Json]], around: JsonObject, place: str) -> Log:
    """Return chat messages with their places as a log; ``around``: the enclosing object, with tools and metadata."""
    talk = _ChatReader()
    for where, data in messages:
        if not isinstance(data, (dict, str)):
            talk.note(where, f"found {shown(data)}, expected a message: left out")
            continue
        time = next((data[key] for key in _TIMES if data.get(key)), None) if isinstance(data, dict) else None
        for message in read_messages([data], "user") or ():
            talk.hear(message, where, moment_of(time))
    listed: list[Json] = next((around[key] for key in _TOOLS if isinstance(around.get(key), list)), [])
    of = next((str(around[key]) for key in _IDS if isinstance(around.get(key), (str, int)) and around[key]), "")
    log = talk.log(of, place, _tools(listed), {key: around[key] for key in _AROUND if key in around})
    return replace(log, sources=tuple(messages))


def _tools(listed: list[Json]) -> dict[str, JsonObject]:
    """Return the tool schemas of a log by name, as OpenAI's ``function`` objects; the first schema of a name counts."""
    tools: dict[str, JsonObject] = {}
    for member in listed:
        tool = member.get("function", member) if isinstance(member, dict) else None
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            continue
        keys = ("parameters", "input_schema", "inputSchema")
        parameters = next((data for key in keys if isinstance(data := data_of(tool.get(key)), dict)), {})
        described = {"name": tool["name"], "description": str(tool.get("description") or "")}
        tools.setdefault(tool["name"], {**described, "parameters": parameters})
    return tools


class _ChatReader:
    """Collects the messages of a conversation one by one, and turns them into a ``Log``.

    Attributes:
        notes: what is odd, each with its place.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._lines: list[LoggedMessage] = []
        self._time: str | None = None
        self._times: list[str | None] = []

    def note(self, place: str, words: str) -> None:
        """Add a note about an irregularity at a place."""
        self.notes.append(f"{place}: {words}")

    def add(
        self,
        role: Literal["system", "user", "agent"],
        text: str,
        place: str,
        calls: Iterable[Step] = (),
        output: JsonObject | None = None,
    ) -> None:
        """Add text and calls as a new line, or to the last line if its speaker is the same."""
        steps = tuple(step for step in calls if step.kind != "memory")
        last = self._lines[-1] if self._lines else None
        if last is None or last.role != role:
            self._lines.append(LoggedMessage(place, role, text, steps, output))
            self._times.append(self._time)
            return
        if role == "agent" and last.text and last.calls and steps:  # words on the way to further calls
            steps = (Step(kind="thought", text=last.text), *steps)
            last = LoggedMessage(last.place, role, "", last.calls)
        elif role == "agent" and last.text and last.calls and text:
            last = LoggedMessage(last.place, role, "", (Step(kind="thought", text=last.text), *last.calls))
        words = "\n".join(filter(None, (last.text, text)))
        where = place if text and not last.text else last.place
        self._lines[-1] = LoggedMessage(where, role, words, (*last.calls, *steps), output or last.output)

    def hear(self, message: ChatMessage, place: str, time: str | None) -> None:
        """Add a chat message, and attach its tool results to the matching calls."""
        if time is not None:
            if self._time is not None and _utc(time) < _utc(self._time):
                self.note(place, f"the clock goes back, from {self._time} to {time}; the order of the file counts")
            self._time = time
        for result in message.results:
            self._answer(result.id, result.name, result.value, place)
        text = (message.text or "").strip()
        if message.role == "tool":
            return
        if message.role == "assistant":
            steps = [_call(call.id, call.name, call.arguments, place, self.notes) for call in message.calls]
            thoughts = [Step(kind="thought", text=thought) for thought in message.thoughts]
            if text or steps:
                self.add("agent", text, place, (*thoughts, *steps))
        elif text:
            self.add("system" if message.role == "system" else "user", text, place)
        elif not message.results:
            self.note(place, f"a message of the {message.role} without words: left out")

    def _answer(self, of: str, name: str, value: Json | Unknown, place: str) -> None:
        """Attach a result to its call: by id, otherwise to the first open call of the tool ``name``, or of any tool if the name is empty."""
        meant = (
            (number, index, step)
            for number, line in enumerate(self._lines)
            for index, step in enumerate(line.calls)
            if step.kind == "call" and "result" in step.unknown and (step.id == of if of else name in ("", step.tool))
        )
        number, index, step = next(meant, (-1, -1, None))
        if step is None:
            self.note(place, f"a result {shown(of or name)} without its call: left out")
            return
        if isinstance(value, Unknown):
            self.note(place, f"the result of {step.tool} is missing or was cut off: no recording is made of it")
            return
        if isinstance(value, str):
            self.note(place, f"the result of {step.tool} is no JSON: it is kept as text")
        unknown = tuple(part for part in step.unknown if part != "result")
        answered = step.model_copy(update={"result": as_json(value), "status": "ok", "unknown": unknown})
        line = self._lines[number]
        calls = (*line.calls[:index], answered, *line.calls[index + 1 :])
        self._lines[number] = replace(line, calls=calls)

    def log(self, of: str, place: str, tools: Mapping[str, JsonObject], around: JsonObject) -> Log:
        """Return all messages added so far as a log with the id ``of``."""
        for line in self._lines:
            for step in line.calls:
                if step.kind == "call" and "result" in step.unknown:
                    self.note(line.place, f"the log has no result of {step.tool}: no recording is made of it")
        times = (time for line, time in zip(self._lines, self._times, strict=True) if time and line.role == "user")
        time = next(times, None)
        data = _object(as_json({**around, **({"now": time} if time and "now" not in around else {})}))
        notes = tuple(dict.fromkeys(self.notes))
        return Log(of[: limits.NUMBER_CHARS], place, tuple(self._lines), tools, data, notes)


def _call(of: str, name: str, arguments: JsonObject | Unknown, place: str, notes: list[str]) -> Step:
    """Return a logged tool call as a step without a result; add a note if the arguments are not a JSON object."""
    untold = isinstance(arguments, Unknown)
    if untold:
        notes.append(f"{place}: the arguments of {name or 'a call'} are no JSON object: no recording is made of it")
    return Step(
        kind="call",
        id=of,
        tool=name,
        arguments={} if isinstance(arguments, Unknown) else _object(as_json(arguments)),
        status="unknown",
        provenance=_RECORDED,
        unknown=("arguments", "result") if untold else ("result",),
    )


def _utc(time: str) -> datetime:
    """Return an ISO 8601 time as a datetime, in UTC if it has no offset."""
    moment = datetime.fromisoformat(time)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
