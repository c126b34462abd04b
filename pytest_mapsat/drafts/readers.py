"""The files that conversations stand in: chat messages of models, spans, saved runs and recorded dialogues."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Literal

from pytest_mapsat.agents import as_json, recorded_dialogues, span_trajectory
from pytest_mapsat.formats import (
    Message,
    PersonalData,
    SpanDialogue,
    Unknown,
    data_of,
    json_elements,
    layout_of,
    limits,
    parse_json_line,
    printable,
    read_lines,
    read_messages,
    read_spans,
    require_file,
)
from pytest_mapsat.model import Json, JsonObject, Problem, Provenance, Step, SuiteError, Trajectory, shown

from .conversations import Line, Log, moment_of

#: What a chat stands under, and what a request and its response are called in logs.
_MESSAGES = ("messages", "conversation", "input", "contents", "history")
_REQUESTS, _RESPONSES = ("request", "body", "prompt", "kwargs"), ("response", "output", "completion", "choices")
_TOOLS = ("tools", "functions")
#: What a log may tell besides: names of metadata, and of the time of a message.
_AROUND = (
    "metadata", "context", "session", "user", "user_id", "uid", "created", "created_at", "timestamp", "time", "now", "date", "location", "user_location", "city",
    "lon", "lng", "lat", "longitude", "latitude", "locale",
)  # fmt: skip
_IDS = ("id", "conversation_id", "session_id", "thread_id", "chat_id", "case_id")
_TIMES = ("timestamp", "created_at", "created", "time", "date")
_EXPECTED = "expected chat messages (a list, or an object with messages), JSON lines of these, a saved run, recorded dialogues, or OTLP JSON (resourceSpans)"
#: What the first line of a table of dialogues has, and no prose.
_COLUMNS = ("conversation_id", "turn_index")
_RUN = re.compile(r'\s*\{\s*"schema"\s*:')
_RECORDED = Provenance(kind="recorded")


def read_logs(path: Path) -> list[Log]:
    """Return the conversations of a file, in their order; how it is laid out is told from its content.

    Raises:
        UsageError: there is no such file.
        SuiteError: it cannot be read, holds something else, or goes beyond a limit; with the line.
    """
    name = printable(path.name)
    require_file(path, str(path))
    if next(read_lines(path, limits.RUN_BYTES, name), None) is None:
        raise SuiteError(Problem(name, 0, "the file is empty", _EXPECTED))
    layout = layout_of(path, name)
    if layout == "spans":
        return [_of_spans(dialogue, name) for dialogue in read_spans(path, name)]
    first = next(read_lines(path, limits.RUN_BYTES, name)).data.decode(errors="replace").lstrip("\ufeff \t")
    if layout == "table" and first[:1] != "[" and not any(column in first for column in _COLUMNS):
        raise SuiteError(Problem(name, 1, f"found {shown(first.strip())}", _EXPECTED))
    if layout == "lines" and not _is_dialogue(first):
        return list(_of_lines(path, name))
    if first[:1] in ("[", "{") and layout != "lines" and not _RUN.match(_head(path, name)):
        return list(_of_document(path, name))
    return [
        _of_trajectory(dialogue, line, name)
        for line, dialogue in recorded_dialogues(path, name)
        if isinstance(dialogue, Trajectory)
    ]


def _head(path: Path, name: str) -> str:
    return "".join(raw.data.decode(errors="replace") for raw in islice(read_lines(path, limits.RUN_BYTES, name), 3))


def _is_dialogue(line: str) -> bool:
    data = json.loads(line)
    return isinstance(data, dict) and "turns" in data and "case_id" in data


def personal_data_of(log: Log) -> PersonalData:
    """Return what is personal in a conversation, each with the most telling of its places."""
    personal = PersonalData()
    around = [(f"{log.place}, tools", dict(log.tools)), (log.place, log.around), (f"{log.place}, id", log.id)]
    for place, value in (*log.sources, *around):
        personal.look(value, place)
    for place, value in log.parts():
        personal.look(value, place, again=not log.sources)
    return personal


def personal_data_in_name(name: str) -> str:
    """Return the kind of personal data that the name of a file has; empty for none."""
    personal = PersonalData()
    personal.look(name.partition(".")[0], "")
    return personal.found[0].kind if personal.found else ""


def without_personal(log: Log, personal: PersonalData) -> Log:
    """Return a conversation with an alias in the place of each value that is personal."""
    lines = tuple(
        Line(
            line.place,
            line.role,
            str(personal.clean(line.text)),
            tuple(
                step.model_copy(
                    update={part: personal.clean(getattr(step, part)) for part in ("arguments", "result", "text", "id")}
                )
                for step in line.calls
            ),
            _object(personal.clean(line.output)) or None,
        )
        for line in log.lines
    )
    tools = _object(personal.clean(dict(log.tools)))
    notes = tuple(str(personal.clean(note)) for note in log.notes)
    around = _object(personal.clean(log.around))
    return replace(log, id=str(personal.clean(log.id)), lines=lines, tools=tools, around=around, notes=notes)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


# -- spans, runs and recorded dialogues


def _of_spans(dialogue: SpanDialogue, name: str) -> Log:
    trajectory = span_trajectory(dialogue, name)
    place = f"{name}: span {shown(dialogue.span)} (line {dialogue.line})"
    talk = _Talk(name)
    if dialogue.instructions:
        talk.add("system", dialogue.instructions, place)
    for spans, turn in zip(dialogue.turns, trajectory.turns, strict=True):
        where = f"{name}: span {shown(spans.span)} (line {spans.line})" if spans.span else place
        talk.add(turn.role, turn.text, where, turn.steps, turn.output)
        if spans.text is None:
            talk.notes.append(
                f"{where}: its words are not told: the instrumentation does not record contents, or they were cut off"
            )
    talk.notes += trajectory.warnings
    around: JsonObject = {"uid": dialogue.user} if dialogue.user else {}
    if dialogue.begun:
        around["now"] = dialogue.begun // 1_000_000
    sources = [
        (f"{name}: span {shown(call.span)} (line {call.line}): {part} of {call.name}", value)
        for turn in dialogue.turns
        for call in turn.calls
        for part, value in (("arguments", call.arguments), ("result", call.result))
    ]
    sources += [(f"{name}: span {shown(turn.span)} (line {turn.line}): text", turn.text) for turn in dialogue.turns]
    log = talk.log(dialogue.session or dialogue.case, place, _tools(list(dialogue.tools)), around)
    return replace(log, sources=tuple(sources))


def _of_trajectory(trajectory: Trajectory, line: int, name: str) -> Log:
    case = trajectory.case if trajectory.trial == 1 else f"{trajectory.case}-t{trajectory.trial}"
    place = f"{name}:{line}" if line else f"{name}: case {case}"
    talk = _Talk(name)
    for number, turn in enumerate(trajectory.turns):
        steps = turn.steps if turn.role == "agent" else ()
        if turn.role == "user" and turn.steps:
            talk.notes.append(f"{place}, turn {number}: calls of the user are left out")
        talk.add(turn.role, turn.text, f"{place}, turn {number}", steps, turn.output)
    talk.notes += [f"{place}: {warning}" for warning in trajectory.warnings]
    return talk.log(case, place, {}, {})


# -- chat messages


def _of_document(path: Path, name: str) -> Iterator[Log]:
    """Give the conversations in one JSON document: a list of messages, an object with one, or a list of either."""
    parts: list[str] = []
    line = size = 0
    for raw in read_lines(path, limits.DIALOGUE_BYTES, name, blank=True):
        size += len(raw.data)
        if size > limits.DIALOGUE_BYTES:
            raise SuiteError(Problem(name, raw.number, f"the document holds more than {limits.DIALOGUE_BYTES} bytes"))
        parts.append(raw.data.decode(errors="replace"))
    text = "".join(parts).removeprefix("\ufeff")
    elements = list(json_elements(text, name, "messages"))
    if any(_is_message(element) for _, element in elements) and text.lstrip()[:1] == "[":
        yield _chat([(f"{name}:{line}", element) for line, element in elements], {}, f"{name}:1", name)
        return
    alone = len(elements) == 1
    for line, element in elements:
        yield _of_value(element, line, name, text if alone else "")


def _of_lines(path: Path, name: str) -> Iterator[Log]:
    """Give the conversations in JSON lines: one a line, or a message a line."""
    messages: dict[str, list[tuple[str, Json]]] = defaultdict(list)
    for raw in read_lines(path, limits.DIALOGUE_BYTES, name):
        data = parse_json_line(raw.data, name, raw.number)
        if _is_message(data):
            of = next((str(data[key]) for key in _IDS[1:] if data.get(key)), "")
            messages[of].append((f"{name}:{raw.number}", data))
        else:
            yield _of_value(data, raw.number, name)
    for of, listed in messages.items():
        yield _chat(listed, {"id": of}, listed[0][0], name)


def _is_message(data: Json) -> bool:
    return isinstance(data, dict) and not any(isinstance(data.get(key), list) for key in ("messages", "conversation", "turns")) and (
        "role" in data or data.get("type") in ("message", "function_call", "function_call_output", "human", "ai")
    )  # fmt: skip


def _of_value(data: Json, line: int, name: str, text: str = "") -> Log:
    """Return the conversation in a value; ``text``: the whole document where the value is all of it."""
    place = f"{name}:{line}"
    if isinstance(data, list) and all(map(_is_message, data)):
        data = {"messages": data}
    request: JsonObject = next((data[key] for key in _REQUESTS if isinstance(data.get(key), dict)), {}) if isinstance(data, dict) else {}  # fmt: skip
    whole = {**request, **data} if isinstance(data, dict) else {}
    key = next((key for key in _MESSAGES if isinstance(whole.get(key), list)), None)
    if key is None:
        raise SuiteError(Problem(name, line, f"found {_kind(data)}", _EXPECTED))
    lines = _message_lines(text, key, whole[key])
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
    return _chat(messages, whole, place, name)


def _kind(data: Json) -> str:
    if not isinstance(data, dict):
        return shown(data)
    return f"an object with {', '.join(map(shown, list(data)[:5]))}" if data else "an empty object"


def _response(data: Json) -> list[Json]:
    """Return the messages of a model's response: the first choice, an output list, or the message itself."""
    if isinstance(data, dict) and isinstance(data.get("choices"), list):
        return [choice.get("message", choice) for choice in data["choices"][:1] if isinstance(choice, dict)]
    if isinstance(data, dict) and isinstance(data.get("output"), list):
        return list(data["output"])
    return list(data) if isinstance(data, list) else [data if isinstance(data, dict) else {"role": "assistant", "content": data}]  # fmt: skip


def _message_lines(text: str, key: str, messages: list[Json]) -> list[int]:
    """Return the lines on which the messages of a document begin; none where they cannot be told."""
    if text.count("\n") < 2:  # noqa: PLR2004  everything stands on one line
        return []
    for begin in re.finditer(rf'"{key}"\s*:\s*(?=\[)', text):
        decoder, at = json.JSONDecoder(), begin.end()
        try:
            listed, end = decoder.raw_decode(text, at)
        except ValueError:
            continue
        if listed == messages:
            before = text.count("\n", 0, at)
            return [before + line for line, _ in json_elements(text[at:end], "")]
    return []


def _chat(messages: Sequence[tuple[str, Json]], around: JsonObject, place: str, name: str) -> Log:
    talk = _Talk(name)
    for where, data in messages:
        if not isinstance(data, (dict, str)):
            talk.notes.append(f"{where}: found {shown(data)}, expected a message: left out")
            continue
        time = next((data[key] for key in _TIMES if data.get(key)), None) if isinstance(data, dict) else None
        for message in read_messages([data], "user") or ():
            talk.hear(message, where, moment_of(time))
    listed: list[Json] = next((around[key] for key in _TOOLS if isinstance(around.get(key), list)), [])
    of = next((str(around[key]) for key in _IDS if isinstance(around.get(key), (str, int)) and around[key]), "")
    log = talk.log(of, place, _tools(listed), {key: around[key] for key in _AROUND if key in around})
    return replace(log, sources=tuple(messages))


def _tools(listed: list[Json]) -> dict[str, JsonObject]:
    """Return the tools of a log by name, each as OpenAI's ``function`` object; the first of a name counts."""
    tools: dict[str, JsonObject] = {}
    for member in listed:
        tool = member.get("function", member) if isinstance(member, dict) else None
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            continue
        keys = ("parameters", "input_schema", "inputSchema")
        parameters = next((data for key in keys if isinstance(data := data_of(tool.get(key)), dict)), {})
        tools.setdefault(
            tool["name"],
            {"name": tool["name"], "description": str(tool.get("description") or ""), "parameters": parameters},
        )
    return tools


class _Talk:
    """A conversation as it is read, message by message.

    Attributes:
        notes: what is odd, each with its place.
    """

    def __init__(self, name: str) -> None:
        self.notes: list[str] = []
        self._name = name
        self._lines: list[Line] = []
        self._time: str | None = None
        self._times: list[str | None] = []

    def add(
        self,
        role: Literal["system", "user", "agent"],
        text: str,
        place: str,
        calls: Iterable[Step] = (),
        output: JsonObject | None = None,
    ) -> None:
        """Add words and calls: to the last line where the same speaker goes on."""
        steps = tuple(step for step in calls if step.kind != "memory")
        last = self._lines[-1] if self._lines else None
        if last is None or last.role != role:
            self._lines.append(Line(place, role, text, steps, output))
            self._times.append(self._time)
            return
        if role == "agent" and last.text and last.calls and steps:  # words on the way to further calls
            steps = (Step(kind="thought", text=last.text), *steps)
            last = Line(last.place, role, "", last.calls)
        elif role == "agent" and last.text and last.calls and text:
            last = Line(last.place, role, "", (Step(kind="thought", text=last.text), *last.calls))
        words = "\n".join(filter(None, (last.text, text)))
        self._lines[-1] = Line(
            place if text and not last.text else last.place, role, words, (*last.calls, *steps), output or last.output
        )

    def hear(self, message: Message, place: str, time: str | None) -> None:
        """Add a message of a chat; its results go to the calls that they are of."""
        if time is not None:
            if self._time is not None and _utc(time) < _utc(self._time):
                self.notes.append(
                    f"{place}: the clock goes back, from {self._time} to {time}; the order of the file counts"
                )
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
            self.notes.append(f"{place}: a message of the {message.role} without words: left out")

    def _answer(self, of: str, name: str, value: Json | Unknown, place: str) -> None:
        """Give a result to its call: by id, else the first open one by name, else the first open one."""
        open_calls = [
            (number, index, step)
            for number, line in enumerate(self._lines)
            for index, step in enumerate(line.calls)
            if step.kind == "call" and "result" in step.unknown
        ]
        by_id = [place for place in open_calls if of and place[2].id == of]
        by_name = [place for place in open_calls if not of and name in ("", place[2].tool)]
        target = next(iter(by_id or by_name), None)
        if target is None:
            self.notes.append(f"{place}: a result {shown(of or name)} without its call: left out")
            return
        number, index, step = target
        line = self._lines[number]
        if isinstance(value, Unknown):
            self.notes.append(
                f"{place}: the result of {step.tool} is missing or was cut off: no recording is made of it"
            )
            return
        if isinstance(value, str):
            self.notes.append(f"{place}: the result of {step.tool} is no JSON: it is kept as text")
        unknown = tuple(part for part in step.unknown if part != "result")
        answered = step.model_copy(update={"result": as_json(value), "status": "ok", "unknown": unknown})
        calls = (*line.calls[:index], answered, *line.calls[index + 1 :])
        self._lines[number] = Line(line.place, line.role, line.text, calls, line.output)

    def log(self, of: str, place: str, tools: Mapping[str, JsonObject], around: JsonObject) -> Log:
        """Return the conversation. ``of``: its id."""
        for line in self._lines:
            for step in line.calls:
                if step.kind == "call" and "result" in step.unknown:
                    self.notes.append(
                        f"{line.place}: the log tells no result of {step.tool}: no recording is made of it"
                    )
        time = next(
            (time for line, time in zip(self._lines, self._times, strict=True) if time and line.role == "user"), None
        )
        data = {**around, **({"now": time} if time and "now" not in around else {})}
        return Log(
            of[: limits.NUMBER_CHARS],
            place,
            tuple(self._lines),
            tools,
            _object(as_json(data)),
            tuple(dict.fromkeys(self.notes)),
        )


def _call(of: str, name: str, arguments: JsonObject | Unknown, place: str, notes: list[str]) -> Step:
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
    moment = datetime.fromisoformat(time)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
