"""What happened in one episode: turns, their steps, where every tool answer came from, and what a reply hands over as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol, Required, TypedDict, get_args

from pydantic import Field, PrivateAttr

from .base import Json, JsonObject, Noun, digest, same, shown

ProvenanceKind = Literal["exact", "computed", "near", "composed", "recorded", "reported", "miss"]
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
    """One argument in which a recorded call differs from the one that was asked.

    ``score``: text similarity, 0 to 1; ``distance_m``: metres.
    """

    parameter: str
    asked: Json = None
    recorded: Json = None
    score: float | None = None
    distance_m: float | None = None
    note: str = ""


class Provenance(Noun):
    """Where the answer to one call came from.

    ``kind``: a recording (``exact``, ``near``, ``composed`` of several), the data of a sandbox (``computed``), a recorded
    dialogue, a tool of the agent's own, of which it was reported (``reported``), or nowhere (``miss``).
    ``recording``: key of the recording that answered; ``differences``: what a near or composed answer does not share with the call; for a
    miss: what keeps the nearest recording, ``recording``, from answering. ``candidates``: how many conflicting recordings stood behind the answer.
    """

    kind: ProvenanceKind
    recording: str = ""
    differences: tuple[Difference, ...] = ()
    candidates: int = 1
    note: str = ""


class RowChange(Noun):
    """A row of a sandbox's table that a call changed; null where it was not there before, or is not there any more. ``key``: the column that holds the id."""

    table: str
    id: str
    key: str = "id"
    before: JsonObject | None = None
    after: JsonObject | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns with different values, sorted; all columns of a row that is new or gone."""
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
    """What a speaker, or a judge spent: tokens, and money in US dollars. Null: not known."""

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0)


def total_usage(parts: Iterable[Usage]) -> Usage:
    """Return the sum of several usages; a figure that one of them lacks is unknown in the sum."""
    listed = list(parts)
    spent = {name: [getattr(usage, name) for usage in listed] for name in Usage.model_fields}
    return Usage(**{name: None if None in values else math.fsum(values) for name, values in spent.items()})


class Step(Noun):
    """One step inside a turn: a thought, or a call with its result; ``memory`` is a call of a tool of the agent's own memory, which changes nothing and counts nowhere.

    ``status``: see ``StepStatus``; the result of a refused call says why. ``changed``: the rows that it changed; ``writes``: then the digest of all
    writes of the episode so far, which a recording made after them bears.
    ``agent``: which agent of a team called, by its name; empty where that is not known.
    ``unknown``: what a record made elsewhere does not tell of the call: its field then holds nothing, and no check may take that for the truth.
    """

    kind: Literal["thought", "call", "memory"]
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


def status_of(result: Json) -> Literal["ok", "miss", "error"]:
    """Return the status that the result of a recorded call shows: ok, or a miss or an error of our own sandbox."""
    if result == MISS_RESULT:
        return "miss"
    if isinstance(result, dict) and result.keys() == {"status", "message"} and result["status"] == "error":
        return "error"
    return "ok"


class ReportedCall(TypedDict, total=False):
    """A call of a tool that no sandbox of ours answered, as something else reports it: the agent's service, its spans, a proxy, an environment.

    What is left out is unknown. ``arguments``: an object, or JSON text of one. ``status``: ``ok`` or ``error``. ``id``: the call's own, by which it is known if it is reported again.
    """

    tool: Required[str]
    arguments: JsonObject | str
    result: Json
    status: str
    id: str


class TurnTiming(Noun):
    """Wall time of a turn; never compared between runs."""

    seconds: float = 0


class Turn(Noun):
    """One message of the dialogue. The first is the user's query.

    ``output``: the structured output of the reply; null where the agent gave nothing.
    ``agreed``: of a user's turn: whether it agreed to the go-ahead that it was asked for, or declined; null: it was asked for none, or it is unknown.
    """

    role: Literal["user", "agent"]
    text: str
    agreed: bool | None = None
    steps: tuple[Step, ...] = ()
    output: JsonObject | None = None
    usage: Usage = Usage()
    timing: TurnTiming | None = None


class Fault(Noun):
    """What broke, and who is to blame. ``detail`` carries no address and no absolute path."""

    blame: Blame
    message: str
    detail: str = ""


class ReferenceEnd(Noun):
    """What the reference of a case changes in a fresh sandbox. ``calls``: the digest of its calls and of the world that the case begins with. ``problem``: why it could not be played to its end; empty where it was."""

    calls: str
    changes: tuple[RowChange, ...] = ()
    problem: str = ""


class StartRows(Protocol):
    """The rows that a table had when an episode began."""

    @property
    def rows(self) -> Sequence[JsonObject]:
        """Return the rows."""

    @property
    def packed(self) -> str:
        """Return the rows in the packed form of a run file; empty if they are too many for one."""


class WatchedTable(Noun):
    """What is known of a table of an environment.

    ``key``: the columns that tell its rows apart, with commas between. ``start``: the digest of its rows at the start, by which a run keeps them once;
    empty where they were not read. ``decimals``: columns of decimal numbers; ``hidden``: columns that no file has. ``rows``: those at the end that are kept where all are too many.
    ``unread``: why not all rows were read. ``unclear``: why not all changes are known; ``altered``: whether there surely are some that ``changes`` lacks.
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
    """What an episode left of the environment that it acted on.

    ``tables``: those that are watched; ``unwatched``: the others, as far as they are known. ``changes``: by table and id, from the start to the end.
    ``unknown``: why the end is not known; empty where it is.
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
        """Set the start rows, by digest, that ``starts`` returns."""
        self._starts = starts


class Retrieval(Noun):
    """What the memory of an agent gave it before the first turn.

    ``text``: what stood in ``context.memory``. ``usage``: what models spent for the update before this task and for the retrieval.
    """

    text: str = ""
    usage: Usage = Usage()


class Trajectory(Noun):
    """One episode as it happened.

    ``source``: what produced it (``agent``, ``recorded``, ``oracle``, ...); ``trial`` counts from 1. ``warnings``: what is odd about a
    recorded one. ``setup``: the rows that the sandbox changed while it was made, before the first call. ``reference``: what the case's reference
    changes. ``environment``: what it left of the environment that it acted on; null: it acted on the sandbox alone. ``memory``: null for an agent without one.
    ``builds``: the builds that answers of a service name, sorted; an empty text stands for an answer that names none.
    ``calls_untold``: a record made elsewhere tells of no call at all: what it calls, and changes, is unknown.
    ``calls_reported``: the agent has tools of its own, of whose calls those are known that were reported.
    ``after_end``: calls that came when no reply was under way, most often after the last one; they were refused, and what they would have changed is unknown.
    When they come depends on the clock, so that such an episode equals no other.
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
        """Return whether the agent may have made calls that the record does not have."""
        return self.calls_untold or self.calls_reported

    @property
    def why_lacking(self) -> str:
        """Return as text why the record may lack calls."""
        return (
            "the calls are reported, and may not be all"
            if self.calls_reported
            else "the record does not tell the calls of any tool"
        )

    @property
    def replies(self) -> tuple[Turn, ...]:
        """Return the agent's turns."""
        return tuple([turn for turn in self.turns if turn.role == "agent"])

    @property
    def calls(self) -> tuple[Step, ...]:
        """Return the agent's tool calls, in order, without those of the user."""
        return calls_in(self.turns, "agent")

    @property
    def user_calls(self) -> tuple[Step, ...]:
        """Return the tool calls that the user made, in order."""
        return calls_in(self.turns, "user")

    @property
    def all_calls(self) -> tuple[Step, ...]:
        """Return the tool calls of agent and user, in order, from which the end state follows."""
        return calls_in(self.turns, "agent", "user")


def calls_in(turns: Iterable[Turn], *roles: Literal["agent", "user"]) -> tuple[Step, ...]:
    """Return the tool calls in the turns of some roles, in order."""
    return tuple([step for turn in turns if turn.role in roles for step in turn.steps if step.kind == "call"])


def trajectory_digest(trajectory: Trajectory) -> str:
    """Return a digest of what was said and called, without times, usage, provenance and trial."""
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
