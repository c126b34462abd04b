"""The replayed sandbox of one case: tools that answer from recordings, or say that they cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol

from pytest_mapsat.model import (
    Json,
    JsonObject,
    Provenance,
    Recording,
    RowChange,
    Step,
    StepStatus,
    Tool,
    Usage,
    did_you_mean,
    shown,
    tool_name,
)

from .compare import Entry
from .resolver import Resolver
from .spec import BadArgumentsError, Call, UnanswerableError, spec_of

if TYPE_CHECKING:
    from .computing import Computed


@dataclass(frozen=True)
class Answer:
    """What a call brought.

    Attributes:
        result: JSON data of the caller's own: changing it changes nothing else.
        status: ``ok`` answered; ``miss`` nothing answers; ``refused`` the sandbox will not do it; ``error`` no such tool, or arguments that it
            cannot take.
        provenance: where the result came from; none for an error, which no recording was asked about.
        changed: the rows that the call changed.
        writes: digest of all writes of the episode so far; empty where this call wrote nothing.
        usage: what a model spent that was asked for the result; None where none was.
    """

    result: Json
    status: StepStatus
    provenance: Provenance | None = None
    changed: tuple[RowChange, ...] = ()
    writes: str = ""
    usage: Usage | None = None

    def step(self, tool: str, arguments: JsonObject, name: str = "") -> Step:
        """Return the step of the call that brought this answer; ``name``: the id of the call."""
        return Step(
            kind="call",
            id=name,
            tool=tool,
            arguments=arguments,
            result=self.result,
            status=self.status,
            provenance=self.provenance,
            changed=self.changed,
            writes=self.writes,
            usage=self.usage,
        )


class Sandbox(Protocol):
    """What answers the tool calls of one episode."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        ...

    @property
    def setup(self) -> tuple[RowChange, ...]:
        """The rows that were changed while the sandbox was made."""
        ...

    def call(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Answer a call; never raises for what an agent may do wrong."""
        ...


class RecordedSandbox:
    """The tools of a suite over the recordings of one case.

    It keeps no state between calls: the same call always has the same answer, whatever was called before.

    Args:
        tools: the suite's tools by name.
        recordings: the recordings of the case; their order does not matter.
        computed: what answers where no recording is of the very call, and the tool says how; None: nothing.
    """

    #: Nothing is changed while it is made.
    setup: tuple[RowChange, ...] = ()

    def __init__(
        self, tools: Mapping[str, Tool], recordings: Sequence[Recording], computed: Computed | None = None
    ) -> None:
        # A suite's tools are shown to all its cases; those of anybody else are copied, as they may change.
        self._tools = tools if isinstance(tools, MappingProxyType) else MappingProxyType(dict(tools))
        self._computed = computed
        self._recordings: dict[str, list[Recording]] = {}
        for recording in recordings:
            self._recordings.setdefault(recording.tool, []).append(recording)
        self._resolvers: dict[str, Resolver] = {}

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The suite's tools by name."""
        return self._tools

    def call(self, name: str, arguments: Json, *, writes: str = "") -> Answer:
        """Answer a call; never raises for what an agent may do wrong.

        Args:
            name: the tool.
            arguments: its arguments; a wrong shape is answered with an error.
            writes: digest of the writes made before; empty in a sandbox that is only read.
        """
        resolver = self._resolver(name) if isinstance(name, str) else None
        if resolver is None:
            return _error(f"there is no tool {shown(name)}", did_you_mean(name, sorted(self._tools)))
        if not isinstance(arguments, Mapping):
            return _error(f"{name}: arguments are an object of names and values, not {type(arguments).__name__}")
        try:
            call = resolver.spec.read(arguments)
        except BadArgumentsError as bad:
            return _error(f"{name}: {'; '.join(bad.problems)}")
        if self._computed is not None and resolver.spec.tool.answer is not None:
            return self._compute(self._computed, resolver, call, writes)
        resolution = resolver.resolve(call, writes)
        if resolution.provenance.kind != "exact" and (broken := tuple(resolver.spec.limits_broken(arguments))):
            return _error(f"{name}: {'; '.join(broken)}")
        status: Literal["ok", "miss"] = "miss" if resolution.provenance.kind == "miss" else "ok"
        return Answer(resolution.result, status, resolution.provenance)

    def _compute(self, computed: Computed, resolver: Resolver, call: Call, writes: str) -> Answer:
        """Return the recording of the very call, else what the tables say, else a near recording."""
        recorded = resolver.exactly(call, writes)
        if recorded is not None:
            return Answer(recorded.result, "ok", recorded.provenance)
        if broken := tuple(resolver.spec.limits_broken(call.arguments)):
            return _error(f"{resolver.spec.tool.name}: {'; '.join(broken)}")
        try:
            result, note = computed.result(resolver.spec, call)
            return Answer(result, "ok", Provenance(kind="computed", note=note))
        except UnanswerableError as why:
            near = resolver.resolve(call, writes)
            if near.provenance.kind != "miss":
                return Answer(near.result, "ok", near.provenance)
            return _error(f"{resolver.spec.tool.name}: {why}")

    def _resolver(self, name: str) -> Resolver | None:
        name = tool_name(self._tools, name)
        found = self._resolvers.get(name)
        if found is None and name in self._tools:
            found = self._resolvers[name] = Resolver(self._tools[name], self._recordings.get(name, ()))
        return found


def argument_problems(tool: Tool, arguments: Mapping[str, Json], *, complete: bool = True) -> tuple[str, ...]:
    """Return why a tool cannot take these arguments, one sentence each; empty where it can.

    Args:
        tool: the tool.
        arguments: the arguments of a call or a recording.
        complete: whether required parameters must be there; a recorded call may lack them.
    """
    spec = spec_of(tool)
    try:
        spec.read(arguments, complete=complete)
    except BadArgumentsError as bad:
        return bad.problems
    return tuple(spec.limits_broken(arguments)) if complete else ()


def recording_key(tool: Tool, recording: Recording) -> str:
    """Return a short digest of a recording's call in its canonical form: two recordings of one request have the same.

    Raises:
        ValueError: its arguments cannot be read; with what is wrong with them.
    """
    return Entry(recording, spec_of(tool).read(recording.arguments, complete=False)).key


def _error(message: str, hint: str = "") -> Answer:
    result: JsonObject = {"status": "error", "message": f"{message} ({hint})" if hint else message}
    return Answer(result, "error")
