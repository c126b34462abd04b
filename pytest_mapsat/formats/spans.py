"""Conversations in spans: the users' words, the agent's calls with their results, and its replies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_mapsat.model import (
    Json,
    JsonObject,
    Provenance,
    ReportedCall,
    Step,
    Trajectory,
    Turn,
    TurnTiming,
    Usage,
    shown,
    status_of,
)

from . import conventions
from .conventions import OtlpSpan, kind_of, messages_in, messages_out, object_of, tells, tools_in
from .files import limits
from .messages import UNKNOWN, ChatMessage, ResultPart, Unknown, arguments_of, read_messages, reported_call, result_of
from .otlp import Gathered, gather_spans
from .plain_data import is_deeper, noun_from, parse_json

#: What our own spans tell besides: JSON objects of the fields of a step, a turn and a trajectory that no convention has a name for.
OWN_CALL, OWN_TURN, OWN_EPISODE = "mapsat.call", "mapsat.turn", "mapsat.episode"
#: The note of a call whose tool runs another agent, the calls of which count instead where the case has no such tool.
DELEGATES = "runs another agent"
#: The tools by which frameworks take an agent's last words: not the agent's own, where what they were given is the reply.
_FINAL, _FINAL_TOOLS = "final_result", ("final_result", "final_answer")
#: A call by which one agent hands the user over to another: its name, and what it gives.
_HANDOFF = re.compile(r"(?:transfer|hand_?off|delegate)(?:_back)?[_ ]to[_ ](.+)")
_HANDED_OVER = re.compile(r"(?:successfully )?(?:transferr|hand|delegat)ed (?:back |over |off )*to\b", re.IGNORECASE)
_CAPTURE = "let the instrumentation record contents on spans (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY, or true), and export again"
_NOTES = 20
_NANO = 1_000_000_000
#: Tokens and costs beyond it are nonsense.
_MOST_TOLD = 2**53


@dataclass(frozen=True, slots=True)
class RecordedDialogue:
    """A dialogue read from spans, as turns and steps, with the other data that the spans contain.

    Attributes:
        trajectory: the dialogue; its case is ``-`` where no span names one (``mapsat.case``), its warnings are what is odd about the spans.
        line: where the first span stands in the file, from 1.
        place: that span, as messages name it.
        places: the span of each turn, likewise; empty where none tells the turn.
        untold: the numbers of the turns, from 0, whose words no span tells.
        sources: the arguments, results and texts as they came, each with its place.
        session: the id of the session or conversation; empty where no span tells.
        instructions: the system message that a model or an agent was given; empty where no span tells one.
        tools: the schemas of the tools that it was given, in the forms of their vendors.
        user: the id of the user; empty where no span tells.
        begun: nanoseconds since 1970 at which the first span begins; 0 where it is not told.
    """

    trajectory: Trajectory
    line: int
    place: str
    places: tuple[str, ...]
    untold: frozenset[int]
    sources: tuple[tuple[str, Json], ...]
    session: str
    instructions: str
    tools: tuple[JsonObject, ...]
    user: str
    begun: int

    @property
    def query(self) -> str:
        """The user's first message; empty if it is in no span."""
        return next((turn.text for turn in self.trajectory.turns if turn.role == "user"), "")


def read_spans(path: Path, name: str = "") -> Iterator[RecordedDialogue]:
    """Yield the conversations in a file of spans, in the order in which they begin.

    Args:
        path: OTLP JSON, one document or JSON lines, or what a console exporter prints; ``.gz`` is unpacked.
        name: how messages name it; its own where none is given.

    Raises:
        SuiteError: it cannot be read as spans, goes beyond a limit, or a field of ours holds what no dialogue can hold; with the line.
    """
    for gathered in gather_spans(path, name or path.name):
        reader = _SpanReader(gathered)
        if reader.turns:
            yield reader.dialogue(name or path.name)


def calls_in_spans(spans: Iterable[OtlpSpan]) -> dict[str, ReportedCall]:
    """Return the executed tool calls in the spans of one trace, by span id in order of time."""
    listed = tuple(sorted(spans, key=lambda span: span.start))
    turns = _SpanReader(Gathered("", 1, "", listed)).turns if listed else ()
    reported: dict[str, ReportedCall] = {}
    executed = [call for turn in turns for call in turn.calls if call.executed]
    for call in sorted(executed, key=lambda call: call.span.start):
        reported[call.span.id] = reported_call(call.name, call.arguments, call.result)
        if call.failed:
            reported[call.span.id]["status"] = "error"
    return reported


@dataclass(slots=True)
class _Call:
    """A tool call that is being assembled from spans and messages.

    ``span``: the one that tells it; ``failed``: whether that ended as an error; ``executed``: whether it is of the tool, and not a message's alone.
    ``told``: whether its message tells whether it failed. ``delegates``: whether an agent runs inside the tool.
    ``own``: what our own spans tell besides, as the fields of a step.
    """

    name: str
    id: str
    span: OtlpSpan
    arguments: JsonObject | Unknown = UNKNOWN
    result: Json | Unknown = UNKNOWN
    failed: bool = False
    executed: bool = False
    told: bool = False
    delegates: bool = False
    own: JsonObject = field(default_factory=dict)


@dataclass(slots=True)
class _Turn:
    """A turn that is being assembled; ``text`` is None if no span contains it; ``own``: further fields of a turn from our own spans."""

    role: Literal["user", "agent"]
    span: OtlpSpan | None = None
    text: str | None = None
    calls: list[_Call] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None
    output: JsonObject | None = None
    own: JsonObject = field(default_factory=dict)


class _SpanReader:
    """Builds the turns of one conversation from its spans, in order of time."""

    def __init__(self, gathered: Gathered) -> None:
        self.turns: list[_Turn] = []
        self._gathered = gathered
        self._spans = {(span.trace, span.id): span for span in gathered.spans}
        self._kinds = {key: kind_of(span) for key, span in self._spans.items()}
        self._notes: list[str] = []
        self._tools: list[JsonObject] = []
        self._instructions = ""
        self._own: JsonObject = {}
        self._users: list[str] = []
        self._top = ("", "")
        #: Whether the last output was a reply, and the first span after one that lacks the messages to the model, and so what the user may have said.
        self._replied = False
        self._unheard: OtlpSpan | None = None
        self._executed: dict[tuple[str, str], _Call] = {}
        #: The outermost agents that have a span of a model with its output.
        self._speaking: set[tuple[str, str]] = set()
        self._read()

    def _read(self) -> None:
        """Read all spans: turns, calls, tools, instructions and notes about irregularities."""
        spans = self._gathered.spans
        chats = [span for span in spans if self._kinds[span.trace, span.id] == "chat"]
        self._speaking = {self._top_of(span) for span in chats if messages_out(span) is not None}
        for span in spans:
            self._note_oddities(span)
            self._tools += [tool for tool in tools_in(span) if tool not in self._tools]
            if not self._instructions and (value := span.first(conventions.INSTRUCTIONS)) is not None:
                self._instructions = "\n".join(message.text or "" for message in read_messages(value, "system") or ())
            kind = self._kinds[span.trace, span.id]
            if kind == "tool":
                self._execute(span)
            elif OWN_TURN in span.attributes:
                self._own_turn(span)
            elif kind == "chat" or (
                kind == "agent" and self._top_of(span) == (span.trace, span.id) not in self._speaking
            ):
                self._chat(span)
            self._own = self._own or object_of(span.attributes.get(OWN_EPISODE))
        if not self._own:
            self._leave_out_handoffs()
        for place in {above for key, kind in self._kinds.items() if kind == "agent" for above in self._upwards(*key)}:
            if place in self._executed:
                self._executed[place].delegates = True
        for turn in self._own.pop("after", ()):
            self.turns.append(_Turn("user", text=str(turn.get("text", "")), own=object_of(turn)))
        self._finish()

    def dialogue(self, name: str) -> RecordedDialogue:
        """Return the conversation; ``name``: the file in messages. Raises SuiteError if a field written by us is invalid."""
        gathered, spans = self._gathered, self._gathered.spans
        place = _place(spans[0])
        fields = {**self._own, "case": gathered.case or "-", "trial": gathered.trial, "source": "recorded", "turns": ()}
        tells_calls = self._speaking or self._executed or self._own
        fields["calls_untold"] = not tells_calls or fields.get("calls_untold", False)
        fields["warnings"] = [*fields.get("warnings", ()), *self._notes[:_NOTES]]
        if not self._own and (fault := self._why_unjudgeable(place)):
            fields |= {"ending": "infrastructure_error", "fault": {"blame": "infrastructure", "message": fault}}
        turns = tuple(_turn_of(turn, name) for turn in self.turns)
        calls = [call for turn in self.turns for call in turn.calls]
        sources = [
            (f"{name}: {_place(call.span)}: {part} of {call.name}", None if isinstance(value, Unknown) else value)
            for call in calls
            for part, value in (("arguments", call.arguments), ("result", call.result))
        ]
        sources += [(f"{name}: {_place(turn.span)}: text", turn.text) for turn in self.turns]
        return RecordedDialogue(
            trajectory=noun_from(Trajectory, fields, name, spans[0].line).model_copy(update={"turns": turns}),
            line=spans[0].line,
            place=place,
            places=tuple(_place(turn.span) for turn in self.turns),
            untold=frozenset(number for number, turn in enumerate(self.turns) if turn.text is None),
            sources=tuple(sources),
            session=gathered.session,
            instructions=self._instructions,
            tools=tuple(self._tools),
            user=next((str(user) for span in spans if (user := span.first(conventions.USER))), ""),
            begun=min((span.start for span in spans if span.start), default=0),
        )

    def _why_unjudgeable(self, place: str) -> str:
        """Return why the conversation cannot be judged (a reply, or what it answers, is missing); empty if it can."""
        replies = [turn for turn in self.turns if turn.role == "agent"]
        if untold := next((turn for turn in replies if turn.text is None), None):
            failed = untold.span is not None and untold.span.failed
            return f"the reply of {_place(untold.span)} is missing: {'it ended with an error' if failed else _CAPTURE}"
        if self._unheard:
            return f"the user's message before the reply of {_place(self._unheard)} is missing: {_CAPTURE}"
        return "" if replies else f"no span of the conversation of {place} has a reply"

    def _leave_out_handoffs(self) -> None:
        """Remove calls by which one agent hands over to another agent: they do not call a tool of the user's."""
        agents = {
            _folded(str(name))
            for span in self._gathered.spans
            if self._kinds[span.trace, span.id] == "agent"
            for name in (span.first(conventions.AGENT), span.name.removeprefix("invoke_agent "))
            if name
        }
        for turn in self.turns:
            turn.calls = [call for call in turn.calls if not _is_handoff(call, agents)]

    def _note(self, span: OtlpSpan, message: str) -> None:
        """Add a note about a span."""
        self._notes.append(f"{_place(span)}: {message}")

    def _note_oddities(self, span: OtlpSpan) -> None:
        """Note a span that is repeated, lacks its parent, or ends before it begins."""
        if span.again:
            self._note(span, f"occurs again on line {span.again}; the first one counts")
        if span.parent and (span.trace, span.parent) not in self._spans and self._kinds[span.trace, span.id] != "other":
            self._note(span, f"the span around it, {shown(span.parent)}, is not among those of its conversation")
        if 0 < span.end < span.start:
            self._note(span, "ends before it begins")

    def _top_of(self, span: OtlpSpan) -> tuple[str, str]:
        """Return the key of the span that answers the user: the outermost enclosing agent, or the root span, even if it is missing."""
        way = self._upwards(span.trace, span.id)
        agents = [place for place in way if self._kinds[place] == "agent"]
        above = (span.trace, self._spans[way[-1]].parent)
        return agents[-1] if agents else above if above[1] and above not in way else way[-1]

    def _upwards(self, trace: str, span: str) -> list[tuple[str, str]]:
        """Return the keys of a span and of its existing enclosing spans, from the inside out."""
        way: dict[tuple[str, str], None] = {}
        here = (trace, span)
        while here in self._spans and here not in way:
            way[here] = None
            here = (trace, self._spans[here].parent)
        return [*way]

    # -- turns

    def _reply(self, span: OtlpSpan) -> _Turn:
        """Return the agent's turn for a span; begin a new turn after a user's turn."""
        if not self.turns or self.turns[-1].role == "user" or self.turns[-1].own:
            self.turns.append(_Turn("agent", span))
        return self.turns[-1]

    def _add_user(self, text: str, span: OtlpSpan) -> None:
        """Add a user's turn, before an agent's turn of the same answer that has calls but no text yet."""
        self._users.append(text)
        last = self.turns[-1] if self.turns else None
        # Calls of the same answer may have been made before a model tells what the user said.
        early = (
            last is not None and last.role == "agent" and last.text is None and self._belongs(last, self._top_of(span))
        )
        self.turns.insert(len(self.turns) - early, _Turn("user", span, text))

    def _chat(self, span: OtlpSpan) -> None:
        """Read a model's span: new user messages, results of earlier calls, and the reply with its calls."""
        # Inside a tool's span an agent answers another agent.
        inner = any(self._kinds[place] == "tool" for place in self._upwards(span.trace, span.parent))
        heard = messages_in(span) or []
        system = "\n".join(message.text for message in heard if message.role == "system" and message.text)
        self._instructions = self._instructions or system
        if not inner:
            if self._replied and not any(map(tells, heard)):
                self._unheard = self._unheard or span
            self._read_user_messages(heard, span)
        for message in heard:
            for result in message.results:
                self._answer(result)
        if self.turns or not inner:
            self._read_output(span, inner=inner)

    def _read_user_messages(self, heard: Sequence[ChatMessage], span: OtlpSpan) -> None:
        """Add the user messages that are new in a model's input, and the replies between them."""
        texts = [message.text for message in heard if message.role == "user" and message.text]
        top, before = self._top_of(span), self._top
        self._top = top
        sizes = range(min(len(texts), len(self._users)), -1, -1)
        common = next(size for size in sizes if self._users[len(self._users) - size :] == texts[:size])
        new = len(texts) - common
        goes_on = top[0] == before[0] or not heard or heard[-1].role != "user"
        if not texts or (not new and goes_on) or (not common and self._users and top == before):
            return  # nothing new, or another prompt within the same answer
        if not new or (not common and self._users):
            new = 1
        old = len(texts) - new
        for message in heard:
            if message.role == "user" and message.text:
                old -= 1
                if old < 0:
                    self._add_user(message.text, span)
            elif old < 0:
                self._read_history(message, span)

    def _read_history(self, message: ChatMessage, span: OtlpSpan) -> None:
        """Add an earlier reply from the history in a model's input."""
        if message.role != "assistant" or not self._users:
            return
        turn = self._reply(span)
        turn.text = message.text or turn.text
        turn.calls += [_Call(call.name, call.id, span, call.arguments) for call in message.calls]
        turn.thoughts += message.thoughts

    def _read_output(self, span: OtlpSpan, *, inner: bool) -> None:
        """Read the output of a model or agent; with ``inner`` it answers another agent, so its text is not a reply."""
        turn = self._reply(span)
        messages = messages_out(span)
        for message in messages or ():
            turn.calls += [_Call(call.name, call.id, span, call.arguments) for call in message.calls]
            turn.thoughts += [] if inner else message.thoughts
        texts = [message.text for message in messages or () if message.role == "assistant" and message.text]
        if not inner and messages is not None:
            blank = "" if not messages or any(message.text == "" for message in messages) else None
            reply = texts[-1] if texts else turn.text if any(message.calls for message in messages) else blank
            turn.text, turn.span, self._replied = reply, span, not any(message.calls for message in messages)
        elif not inner and self._top_of(span) in self._speaking:
            turn.text = None  # a later reply, whose words are missing
        turn.span = turn.span or span
        if self._kinds[span.trace, span.id] == "chat":
            self._spend(turn, span)
        self._take_time(turn, span)

    def _spend(self, turn: _Turn, span: OtlpSpan) -> None:
        """Add a span's tokens and cost to those of a turn."""
        turn.usage = Usage(
            input_tokens=_sum(turn.usage.input_tokens, span.first(conventions.TOKENS_IN), whole=True),
            output_tokens=_sum(turn.usage.output_tokens, span.first(conventions.TOKENS_OUT), whole=True),
            cost=_sum(turn.usage.cost, span.first(conventions.COST)),
        )

    def _take_time(self, turn: _Turn, span: OtlpSpan) -> None:
        """Set the duration of a turn from the agent's span, or add the duration of a model's span."""
        top = self._spans.get(self._top_of(span), span)
        agent = self._kinds[top.trace, top.id] == "agent"
        whole = top if agent else span
        if whole.end > whole.start > 0:
            seconds = (whole.end - whole.start) / _NANO
            turn.seconds = seconds if agent else (turn.seconds or 0) + seconds

    def _finish(self) -> None:
        """Complete the turns from the spans of agents if the spans of models lack a reply, usage or structured output."""
        for span in self._gathered.spans:
            if self._kinds[span.trace, span.id] != "agent" or OWN_EPISODE in span.attributes:
                continue
            own = [turn for turn in self.turns if turn.role == "agent" and self._belongs(turn, (span.trace, span.id))]
            if not own:
                continue
            turn = own[-1]
            messages = messages_out(span) if turn.text is None else ()
            turn.text = next(
                (message.text for message in reversed(messages or ()) if message.role == "assistant"), turn.text
            )
            if turn.usage.input_tokens is None and turn.usage.output_tokens is None:
                self._spend(turn, span)
            if data := object_of(span.attributes.get(_FINAL)):
                turn.output, words = data, data.get("text")
                turn.text = words if isinstance(words, str) else turn.text or json.dumps(data, ensure_ascii=False)
            turn.calls = [call for call in turn.calls if not _is_reply(call, turn)]

    def _belongs(self, turn: _Turn, top: tuple[str, str]) -> bool:
        """Return whether a turn's span has ``top`` as its outermost agent or root."""
        return turn.span is not None and self._top_of(turn.span) == top

    def _own_turn(self, span: OtlpSpan) -> None:
        """Add a turn from one of our own spans: the user's messages, then the reply with the calls since the last turn."""
        own = object_of(span.attributes[OWN_TURN])
        before = self._reply(span)
        self.turns.pop()
        for message, fields in zip(messages_in(span) or (), own.pop("users", ()), strict=False):
            self.turns.append(_Turn("user", span, message.text or "", own=object_of(fields)))
        messages = messages_out(span) or ()
        before.text = "".join(message.text or "" for message in messages)
        before.span, before.own = span, {"role": "agent", **own}
        before.thoughts = [thought for message in messages for thought in message.thoughts]
        self.turns.append(before)
        self._spend(before, span)
        before.seconds = (span.end - span.start) / _NANO if span.end > span.start > 0 else None

    # -- calls

    def _execute(self, span: OtlpSpan) -> None:
        """Read a tool's span: complete the open call from a model's message, or add another call."""
        in_name = span.name.removeprefix("execute_tool ").removeprefix("running tool: ")
        name = str(span.first(conventions.TOOL) or in_name)
        call_id, arguments = str(span.first(conventions.CALL_ID) or ""), span.first(conventions.ARGUMENTS)
        # Where a span of a tool has an event for each, the first one is what the tool was given.
        event_values = {(event, key): value for event, body in span.events for key, value in body.items()}
        if ("gen_ai.choice", "message") in event_values:
            arguments = event_values.pop(("gen_ai.tool.message", "content"), None) if arguments is None else arguments
        open_calls = [call for call in self._calls() if not call.executed]
        call = self._told_before(span, call_id, name) or _first_of(open_calls, call_id, name)
        if call is None:
            call = _Call(name, call_id, span)
            self._reply(span).calls.append(call)
        self._executed[span.trace, span.id] = call
        call.executed, call.failed, call.span = True, span.failed, span
        call.own = object_of(span.attributes.get(OWN_CALL))
        if arguments is not None:
            values = arguments_of(arguments)
            if isinstance(values, Unknown) and isinstance(call.arguments, Unknown):
                self._note(span, f"the arguments of {name:.200} are cut off, hidden or no object")
            elif not isinstance(values, Unknown):
                call.arguments = values
        results = [span.attributes[name] for name in conventions.RESULT if name in span.attributes]
        in_events = map(event_values.get, (("gen_ai.choice", "message"), ("gen_ai.tool.message", "content")))
        results += [part for part in in_events if part is not None]
        value, failed = result_of(results[0]) if results else (UNKNOWN, False)
        call.failed |= failed
        if call.own and results:
            value = _exact(results[0])
        if not isinstance(value, Unknown):
            call.result = value
        elif results:
            self._note(span, f"the result of {name:.200} is cut off or hidden")

    def _told_before(self, span: OtlpSpan, call_id: str, name: str) -> _Call | None:
        """Return the call that a tool's span repeats, because the span is inside it or has its id; None if there is none."""
        for place in self._upwards(span.trace, span.parent):
            around = self._executed.get(place)
            if around is not None and around.name == name and (call_id == around.id or not (call_id and around.id)):
                return around
        return next(
            (call for call in self._executed.values() if call_id and (call.id, call.name) == (call_id, name)), None
        )

    def _calls(self) -> Iterator[_Call]:
        """Return an iterator over all calls so far."""
        return (call for turn in self.turns for call in turn.calls)

    def _answer(self, result: ResultPart) -> None:
        """Set the result of a call from a message to the model, if the call has none yet."""
        unanswered = [call for call in self._calls() if isinstance(call.result, Unknown)]
        if (call := _first_of(unanswered, result.id, result.name)) is not None:
            call.result, call.failed = result.value, call.failed or bool(result.failed)
            call.told |= result.failed is not None


def _first_of(calls: Iterable[_Call], call_id: str, name: str) -> _Call | None:
    """Return the first call with this id, or without an id the first call with this name; None if there is none."""
    return next((call for call in calls if (call.id == call_id if call_id else call.name == name)), None)


def _place(span: OtlpSpan | None) -> str:
    """Return the name of a span in messages; empty for None."""
    return "" if span is None else f"span {shown(span.id)} (line {span.line})"


def _turn_of(turn: _Turn, name: str) -> Turn:
    """Return a turn read from spans as a ``Turn``. Raises SuiteError if a field of ours is invalid."""
    own = dict(turn.own)
    places, events = own.pop("thoughts", ()), own.pop("events", ())
    steps, line = [_step(call, name) for call in turn.calls], turn.span.line if turn.span else 0
    besides: list[tuple[int, Step]] = []
    for number, thought in enumerate(turn.thoughts):
        at = places[number] if number < len(places) and isinstance(places[number], int) else number
        besides.append((at, Step(kind="thought", text=thought)))
    for event in events if isinstance(events, list) else ():
        match event:
            case [int(at), dict(data)]:
                besides.append((at, noun_from(Step, {**data, "kind": "event"}, name, line)))
    for at, step in sorted(besides, key=lambda placed: placed[0]):
        steps.insert(at, step)
    fields = {**own, "role": turn.role, "text": turn.text or ""}
    if turn.output is not None and not is_deeper(turn.output, limits.DEPTH):
        fields["output"] = turn.output
    noun = noun_from(Turn, fields, name, line)
    if turn.role == "user":
        return noun
    timing = None if turn.seconds is None else TurnTiming(seconds=turn.seconds)
    return noun.model_copy(update={"steps": tuple(steps), "usage": turn.usage, "timing": timing})


def _step(call: _Call, name: str) -> Step:
    """Return a call read from spans as a ``Step``; arguments or a result nested too deeply become unknown."""
    parts = {
        part: value
        for part, value in (("arguments", call.arguments), ("result", call.result))
        if not isinstance(value, Unknown) and not is_deeper(value, limits.DEPTH)
    }
    own = {part: value for part, value in call.own.items() if part in ("status", "changed", "writes", "unknown")}
    # Words in a message to the model may be those of an error: only a span of the tool, the message or data tell.
    tells_status = call.executed or call.told or isinstance(parts.get("result"), (dict, list))
    status = "error" if call.failed else status_of(parts["result"]) if "result" in parts and tells_status else "unknown"
    unknown = [part for part in ("arguments", "result") if part not in parts] + ([] if own else ["changed"])
    fields = {"kind": "call", "id": call.id, "tool": call.name, "status": status, "unknown": unknown, **parts, **own}
    provenance = Provenance(kind="recorded", note=DELEGATES if call.delegates else "")
    return noun_from(Step, fields, name, call.span.line).model_copy(update={"provenance": provenance})


def _is_reply(call: _Call, turn: _Turn) -> bool:
    """Return whether a call only delivers the agent's reply to its framework, such as ``final_result``."""
    if not call.name.startswith(_FINAL_TOOLS) or isinstance(call.arguments, Unknown):
        return False
    return call.arguments == turn.output or (
        len(call.arguments) == 1 and str(next(iter(call.arguments.values()))) == turn.text
    )


def _folded(name: str) -> str:
    """Return the letters and digits of a name in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _is_handoff(call: _Call, agents: set[str]) -> bool:
    """Return whether a call hands over to another agent, judged by its name and by an agent named in its arguments or result."""
    if isinstance(call.result, dict) and call.result.keys() >= {"graph", "update", "resume", "goto"}:
        return bool(call.result["goto"])  # LangGraph's Command
    handoff = _HANDOFF.fullmatch(call.name)
    if handoff is None:
        return False
    gave = call.result if isinstance(call.result, str) else ""
    other = isinstance(call.result, dict) and call.result.keys() == {"assistant"}
    return handoff[1] == "agent" or _folded(handoff[1]) in agents or other or _HANDED_OVER.match(gave) is not None


def _exact(value: Json) -> Json | Unknown:
    """Return the data in JSON text written by this program; UNKNOWN if it cannot be read."""
    try:
        return parse_json(value, depth=limits.RUN_DEPTH) if isinstance(value, str) else UNKNOWN
    except ValueError:
        return UNKNOWN


def _sum(so_far: float | None, more: Json, *, whole: bool = False) -> Any:
    """Return a sum increased by a figure; unchanged if the figure is missing or implausible. ``whole``: accept only whole numbers."""
    if not isinstance(more, (int, float)) or isinstance(more, bool) or not 0 <= more < _MOST_TOLD:
        return so_far
    if whole and more != int(more):
        return so_far
    return (so_far or 0) + (int(more) if whole else more)
