"""The course of one episode: turns, their steps, the source of every tool answer, and the data that a reply hands over."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, Required, TypedDict, get_args

from pydantic import Field, PrivateAttr

from .base import Json, JsonObject, Noun, digest, same, shown

if TYPE_CHECKING:
    from .case import Event

ProvenanceKind = Literal["exact", "computed", "near", "composed", "recorded", "reported", "miss", "fault"]
PROVENANCE_KINDS: tuple[ProvenanceKind, ...] = get_args(ProvenanceKind)
#: ``ok`` answered; ``miss`` nothing answers; ``refused`` the sandbox will not do it; ``error`` the arguments do not fit, or there is no such tool or row;
#: ``over_limit`` the calls of the episode are used up; ``unknown`` a record made elsewhere does not tell.
StepStatus = Literal["ok", "miss", "refused", "error", "over_limit", "unknown"]
#: What a record made elsewhere may not tell of a call.
CallPart = Literal["arguments", "result", "changed"]

#: What an agent gets when no recording answers; it says nothing of other recordings.
MISS_RESULT: JsonObject = {
    "status": "no_recording",
    "message": "No answer is recorded for this call, so none can be given. It is not a statement about the world.",
}

#: Characters of what names a build.
MOST_BUILD = 200
#: Who a fault is laid to.
Blame = Literal["agent", "user", "judge", "sandbox", "infrastructure"]

#: Why an episode ended. ``done``: the user had nothing more to say; ``stalled``: the user gave up on an agent that brings nothing new.
Ending = Literal["done", "stalled", "max_turns", "timeout", "agent_error", "user_error", "infrastructure_error"]


class Difference(Noun):
    """One argument in which a recorded call differs from the actual call.

    Attributes:
        parameter: name of the parameter. Example: ``query``
        asked: value in the call. Example: ``noodle soup``
        recorded: value in the recording. Example: ``noodles``
        score: similarity of the two texts, 0 to 1; null if they are no texts. Example: ``0.8``
        distance_m: distance of the two points in metres; null if they are no points. Example: ``120``
        note: remark in words. Example: ``a generic word is missing``
    """

    parameter: str
    asked: Json = None
    recorded: Json = None
    score: float | None = None
    distance_m: float | None = None
    note: str = ""


class Provenance(Noun):
    """The source of the answer to one call.

    Attributes:
        kind: exact, near: a recording. composed: several recordings. computed: data of the sandbox. recorded: a recorded dialogue. reported: a tool of the agent's own. miss: nowhere. fault: a fault of the case's world; the note names it.
        recording: key of the recording that answered, or of the nearest one for a miss; empty if there is none. Example: ``list_orders/5b8e0c2d``
        differences: arguments in which the recording differs from the call. Example: ``[{"parameter": "query"}]``
        candidates: number of conflicting recordings that could have answered. Example: ``1``
        note: remark in words. Example: ``cut to 500 m``
    """

    kind: ProvenanceKind
    recording: str = ""
    differences: tuple[Difference, ...] = ()
    candidates: int = 1
    note: str = ""


class RowChange(Noun):
    """A row of a table that a call changed.

    Attributes:
        table: name of the table. Example: ``orders``
        id: id of the row. Example: ``A1``
        key: column with the id. Example: ``id``
        before: the row before the change; null for a new row. Example: ``{"id": "A1", "status": "open"}``
        after: the row after the change; null for a removed row. Example: ``{"id": "A1", "status": "cancelled"}``
    """

    table: str
    id: str
    key: str = "id"
    before: JsonObject | None = None
    after: JsonObject | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns with different values, sorted; for a new or deleted row, all columns."""
        before, after = self.before or {}, self.after or {}
        return tuple(
            name
            for name in sorted({*before, *after})
            if name not in before or name not in after or not same(before[name], after[name])
        )


def change_lines(change: RowChange) -> list[tuple[str, str]]:
    """Return pairs of texts for a change, before and after: one for each column that differs, or one for the whole row."""
    place = f"{change.table} {change.id}"
    sides = change.before, change.after
    if None in sides:
        before, after = ("no such row" if side is None else shown(side) for side in sides)
        return [(f"{place}: {before}", f"{place}: {after}")]
    return [
        (f"{place} {name}: {_cell(change.before, name)}", f"{place} {name}: {_cell(change.after, name)}")
        for name in change.columns
    ]


def _cell(row: JsonObject | None, name: str) -> str:
    """Return the value of a column as text; "nothing" if the row lacks it."""
    return shown(row[name]) if row is not None and name in row else "nothing"


class Usage(Noun):
    """Tokens and money that a speaker or a judge spent.

    Attributes:
        input_tokens: number of input tokens; null if unknown. Example: ``1200``
        output_tokens: number of output tokens; null if unknown. Example: ``300``
        cost: cost in US dollars; null if unknown. Example: ``0.01``
    """

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0)


def total_usage(parts: Iterable[Usage]) -> Usage:
    """Return the sum of several usages; a figure missing from one of them is unknown in the sum."""
    listed = list(parts)
    spent = {name: [getattr(usage, name) for usage in listed] for name in Usage.model_fields}
    return Usage(**{name: None if None in values else math.fsum(values) for name, values in spent.items()})


class Step(Noun):
    """One step within a turn: a thought, a call with its result, or an event of the case.

    Attributes:
        kind: thought, call, memory: a call of the agent's own memory, which changes nothing and counts nowhere; or event: what the case lets happen, which is no call.
        text: words of a thought, or the moment of an event. Example: ``I need the list of orders first.``
        id: id of the call, if it has one; the number of an event, counted from 1. Example: ``call_1``
        tool: name of the tool. Example: ``list_orders``
        arguments: arguments of the call. Example: ``{"user": "u-1"}``
        result: result of the call, any JSON value. Example: ``{"orders": []}``
        status: ok: answered. miss: nothing answers it. refused: the sandbox refuses it. error: wrong arguments, no such tool or row. over_limit: too many calls. unknown: the record does not say.
        provenance: where the answer came from; null if it is not recorded.
        changed: rows that the call or the event changed. Example: ``[{"table": "orders", "id": "A1"}]``
        writes: digest of all writes of the episode so far; empty if there are none. Example: ``5b8e0c2d9f1a4763``
        agent: name of the agent of a team that called; empty if that is not known. Example: ``orders``
        unknown: parts of the call that a record made elsewhere does not have; no check relies on them. Example: ``["result"]``
    """

    kind: Literal["thought", "call", "memory", "event"]
    text: str = ""
    id: str = ""
    tool: str = ""
    arguments: JsonObject = Field(default_factory=dict)
    result: Json = None
    status: StepStatus = "ok"
    provenance: Provenance | None = None
    changed: tuple[RowChange, ...] = ()
    writes: str = ""
    agent: str = ""
    unknown: tuple[CallPart, ...] = ()

    @property
    def fault(self) -> str:
        """Return the error of the fault that hit the call; empty if none did."""
        return self.provenance.note.partition(",")[0] if self.provenance and self.provenance.kind == "fault" else ""

    @property
    def unheard(self) -> bool:
        """Return whether a fault kept the tool's own answer from the caller."""
        return self.fault != "" and (self.status != "ok" or self.fault == "lost_reply")


#: How an error of ours names a fault.
_FAILED = ("timeout", "server_error", "rate_limit")


def status_of(result: Json) -> Literal["ok", "miss", "error"]:
    """Return the status shown by the result of a recorded call: ok, or a miss or an error of our own sandbox."""
    if result == MISS_RESULT:
        return "miss"
    if isinstance(result, dict) and result.get("status") == "error" and result.get("error", "timeout") in _FAILED:
        return "error" if result.keys() - {"error", "retry_after"} == {"status", "message"} else "ok"
    return "ok"


class ReportedCall(TypedDict, total=False):
    """A tool call outside our sandbox, reported by another source: the agent's service, its spans, a proxy, an environment.

    What is left out is unknown. ``arguments``: an object, or JSON text of one. ``status``: ``ok`` or ``error``. ``id``: the call's own, by which it is known if it is reported again.
    """

    tool: Required[str]
    arguments: JsonObject | str
    result: Json
    status: str
    id: str


class TurnTiming(Noun):
    """Wall time of a turn; never compared between runs.

    Attributes:
        seconds: wall time in seconds. Example: ``0.4``
    """

    seconds: float = 0


class Turn(Noun):
    """One message of the dialogue. The first is the user's query.

    Attributes:
        role: who wrote it: user or agent.
        text: words of the message. Example: ``The noodle soup is cancelled.``
        agreed: of a user's turn: whether it agreed to a request for a go-ahead; null if there was none, or it is unknown.
        steps: thoughts and calls before the message. Example: ``[{"kind": "call", "tool": "list_orders"}]``
        output: structured output of the reply; null if it has none. Example: ``{"total": 15.5}``
        usage: tokens and money that the speaker spent.
        timing: wall time of the turn; null if unknown.
    """

    role: Literal["user", "agent"]
    text: str
    agreed: bool | None = None
    steps: tuple[Step, ...] = ()
    output: JsonObject | None = None
    usage: Usage = Usage()
    timing: TurnTiming | None = None


class Fault(Noun):
    """A fault, and the party to blame for it.

    Attributes:
        blame: party that is to blame.
        message: what broke. Example: ``the agent raised KeyError: 'places'``
        detail: further lines, without addresses and absolute paths. Example: ``my_agent.py:12``
    """

    blame: Blame
    message: str
    detail: str = ""


class ReferenceEnd(Noun):
    """The changes by the reference of a case (``truth.end``) in a fresh sandbox.

    Attributes:
        calls: digest of the reference's calls and of the case's starting state. Example: ``5b8e0c2d9f1a4763``
        changes: rows that the reference changes. Example: ``[{"table": "orders", "id": "A1"}]``
        problem: why the reference could not be played; empty if it was. Example: ``cancel_order: there is no order A1``
    """

    calls: str
    changes: tuple[RowChange, ...] = ()
    problem: str = ""


class StartRows(Protocol):
    """The rows of a table at the beginning of an episode."""

    @property
    def rows(self) -> Sequence[JsonObject]:
        """Return the rows."""

    @property
    def packed(self) -> str:
        """Return the rows in the packed form of a run file; empty if there are too many rows."""


class WatchedTable(Noun):
    """A watched table of an environment.

    Attributes:
        key: columns that identify a row, with commas between. Example: ``id``
        start: digest of the rows at the start; empty if they were not read. Example: ``5b8e0c2d9f1a4763``
        decimals: columns of decimal numbers. Example: ``["price"]``
        hidden: columns that are written to no file. Example: ``["password"]``
        rows: rows at the end that are kept if all are too many. Example: ``[{"id": "A1", "status": "open"}]``
        unread: why not all rows were read; empty if they were. Example: ``more than 100,000 rows``
        unclear: why not all changes are known; empty if they are. Example: ``the table has no key``
        altered: true if there surely are changes that ``changes`` lacks.
    """

    key: str = "id"
    start: str = ""
    decimals: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    rows: tuple[JsonObject, ...] = ()
    unread: str = ""
    unclear: str = ""
    altered: bool = False


class EnvironmentEnd(Noun):
    """The state in which an episode left its environment.

    Attributes:
        tables: watched tables, by name. Example: ``{"orders": {"key": "id"}}``
        unwatched: names of the other tables, as far as they are known. Example: ``["sessions"]``
        changes: changed rows, by table and id, from the start to the end. Example: ``[{"table": "orders", "id": "A1"}]``
        unknown: why the end is unknown; empty if it is known. Example: ``the service did not answer``
    """

    tables: dict[str, WatchedTable] = Field(default_factory=dict)
    unwatched: tuple[str, ...] = ()
    changes: tuple[RowChange, ...] = ()
    unknown: str = ""
    #: The rows of the start by digest, as far as they are at hand: files have them once for all episodes.
    _starts: Mapping[str, StartRows] = PrivateAttr(default_factory=dict)

    @property
    def starts(self) -> dict[str, StartRows]:
        """Return the start rows that are available in memory, by digest."""
        return {table.start: self._starts[table.start] for table in self.tables.values() if table.start in self._starts}

    def begin_with(self, starts: Mapping[str, StartRows]) -> None:
        """Set the start rows, by digest, for ``starts`` to return."""
        self._starts = starts


class Retrieval(Noun):
    """The answer of the agent's memory before the first turn.

    Attributes:
        text: text of ``context.memory``. Example: ``Anna eats no peanuts.``
        usage: tokens and money that models spent to update the memory and to read it.
    """

    text: str = ""
    usage: Usage = Usage()


class Trajectory(Noun):
    """The record of one episode.

    Attributes:
        case: id of the case. Example: ``cancel-noodles``
        trial: number of the trial, from 1. Example: ``1``
        source: where the episode came from: agent, recorded, oracle and others. Example: ``agent``
        turns: messages, the user's query first. Example: ``[{"role": "user", "text": "Please cancel my noodle soup."}]``
        ending: why it ended. done: the user had nothing more to say. stalled: the user gave up.
        fault: what broke; null if nothing did.
        warnings: remarks on a recorded episode. Example: ``["a call has no result"]``
        setup: rows that the sandbox changed before the first call. Example: ``[{"table": "orders", "id": "A1"}]``
        reference: what the case's reference changes; null if it has none.
        environment: state of the environment at the end; null if the episode used a sandbox only.
        memory: what the agent's memory returned; null for an agent without one.
        builds: builds that the service's answers name, sorted; an empty text is an answer without one. Example: ``["1.4.2"]``
        after_end: calls that came when no reply was under way; they were refused, and the episode is undecided. Example: ``[{"kind": "call", "tool": "cancel_order"}]``
        calls_untold: true if the record has no calls at all, so that calls and changes are unknown.
        calls_reported: true if the agent has tools of its own, and only reported calls are known.
    """

    case: str
    trial: int = 1
    source: str = "agent"
    turns: tuple[Turn, ...]
    ending: Ending = "done"
    fault: Fault | None = None
    warnings: tuple[str, ...] = ()
    setup: tuple[RowChange, ...] = ()
    reference: ReferenceEnd | None = None
    environment: EnvironmentEnd | None = None
    memory: Retrieval | None = None
    builds: tuple[str, ...] = ()
    after_end: tuple[Step, ...] = ()
    calls_untold: bool = False
    calls_reported: bool = False

    @property
    def lacks_calls(self) -> bool:
        """Return whether the agent may have made calls that are not in the record."""
        return self.calls_untold or self.calls_reported

    @property
    def why_lacking(self) -> str:
        """Return as text why the record may lack calls."""
        return (
            "the calls are reported, and may not be all"
            if self.calls_reported
            else "the record has no calls of any tool"
        )

    @property
    def replies(self) -> tuple[Turn, ...]:
        """Return the agent's turns."""
        return tuple([turn for turn in self.turns if turn.role == "agent"])

    @property
    def calls(self) -> tuple[Step, ...]:
        """Return the agent's tool calls in order, without the user's calls."""
        return calls_in(self.turns, "agent")

    @property
    def user_calls(self) -> tuple[Step, ...]:
        """Return the tool calls that the user made, in order."""
        return calls_in(self.turns, "user")

    @property
    def all_calls(self) -> tuple[Step, ...]:
        """Return the tool calls of agent and user in order."""
        return calls_in(self.turns, "agent", "user")

    @property
    def events(self) -> tuple[Step, ...]:
        """Return the events of the case that came, in order."""
        return tuple([step for step in self.acts if step.kind == "event"])

    def lacking(self, events: Sequence[Event]) -> Iterator[tuple[int, str]]:
        """Yield the events of the case that never came, or whose words the user never said: the number from 1, and that in words."""
        came = {step.id: at for at, turn in enumerate(self.turns) for step in turn.steps if step.kind == "event"}
        for number, event in enumerate(events, 1):
            at = came.get(str(number))
            if at is None:
                yield number, f"event {number} never came: it comes {event.after}"
            elif event.say and not any(turn.role == "user" and event.say in turn.text for turn in self.turns[at:]):
                yield number, f"event {number} came, and the user never said {shown(event.say)}"

    @property
    def acts(self) -> tuple[Step, ...]:
        """Return the tool calls of agent and user and the events in order; the end state follows from them."""
        return tuple([step for turn in self.turns for step in turn.steps if step.kind in ("call", "event")])


def calls_in(turns: Iterable[Turn], *roles: Literal["agent", "user"]) -> tuple[Step, ...]:
    """Return the tool calls in the turns of some roles, in order."""
    return tuple([step for turn in turns if turn.role in roles for step in turn.steps if step.kind == "call"])


def trajectory_digest(trajectory: Trajectory) -> str:
    """Return a digest of the messages and calls, without times, usage, provenance and trial."""
    turns = [
        {
            "role": turn.role,
            "text": turn.text,
            **({} if turn.output is None else {"output": turn.output}),
            "calls": [
                {"tool": step.tool, "arguments": step.arguments, "result": step.result}
                for step in turn.steps
                if step.kind == "call"
            ],
        }
        for turn in trajectory.turns
    ]
    return digest({"case": trajectory.case, "turns": turns})
