"""The memories of a run in one process: one for each user and trial, updated to each task as it is played."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from pytest_mapsat.agents import AgentFault
from pytest_mapsat.agents.memory import MEMORY_METHODS, Memory, MemorySource, memory_fault, recollection, spent_on
from pytest_mapsat.llm import ModelError
from pytest_mapsat.model import (
    Case,
    InfrastructureError,
    Interaction,
    Json,
    Retrieval,
    Tool,
    Usage,
    digest,
    total_usage,
)
from pytest_mapsat.recording import NoAnswerError, OwnTools
from pytest_mapsat.sandbox import SandboxAnswer, argument_problems
from pytest_mapsat.user_code import UserCodeError, call_user_code

#: Memories that wait for the next task of their user.
_MOST_WAITING = 256


@dataclass
class _Held:
    """A memory with the digests of the histories in it, and the usage of its last update."""

    memory: Memory
    built: tuple[str, ...] = ()
    spent: Usage = field(default_factory=Usage)


class Memories:
    """Lends each episode its user's memory: the memory of an earlier task if it can be updated, otherwise a new one.

    While its episode lasts no other has it, so that its tools answer as of this task.

    Args:
        source: makes them.
    """

    def __init__(self, source: MemorySource) -> None:
        self.source = source
        self._lock = Lock()
        self._waiting: OrderedDict[Hashable, _Held] = OrderedDict()

    def of(self, suite: Hashable, case: Case, histories: Sequence[Sequence[Interaction]], trial: int) -> EpisodeMemory:
        """Return the memory for one episode, created and updated on first use."""
        owner = (suite, case.group.name if case.group else f"case {case.id}", trial)
        return EpisodeMemory(self, owner, case, histories, trial)

    def take(self, owner: Hashable, wanted: Sequence[str]) -> _Held | None:
        """Remove and return an owner's stored memory; None if there is none or it contains other or later tasks."""
        with self._lock:
            kept = self._waiting.pop(owner, None)
        return kept if kept is not None and kept.built == tuple(wanted[: len(kept.built)]) else None

    def give_back(self, owner: Hashable, kept: _Held) -> None:
        """Store a memory for the owner's next task, unless a memory of more tasks is stored."""
        with self._lock:
            other = self._waiting.get(owner)
            if other is None or len(other.built) <= len(kept.built):
                self._waiting[owner] = kept
                self._waiting.move_to_end(owner)
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)


@dataclass
class EpisodeMemory:
    """A user's memory during one episode."""

    _memories: Memories
    _owner: Hashable
    _case: Case
    _histories: Sequence[Sequence[Interaction]]
    _trial: int
    _held: _Held | None = None
    _own_tools: OwnTools | None = None
    tools: Mapping[str, Tool] = field(default_factory=dict)

    @property
    def own(self) -> bool:
        """Whether the memory is the user's own code and not built in."""
        return self._memories.source.own

    def recall(self, query: str) -> Retrieval:
        """Update the memory with the tasks so far and return the retrieved text; runs on the agent's thread.

        Raises:
            AgentFault: the user's own memory raised, or returned no text.
            InfrastructureError: a memory of ours failed.
        """
        if self._memories.source.make is None:
            return Retrieval(text="\n".join(self._case.truth.preferences))
        try:
            return call_user_code(self._recalled, query)
        except UserCodeError as broken:
            error = broken.error
        if isinstance(error, AgentFault | InfrastructureError):
            raise error
        if not self.own:
            reason = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
            raise InfrastructureError(f"the memory {self._memories.source.spec}: {reason}")
        raise memory_fault(error)

    def call(self, name: str, arguments: Mapping[str, Json]) -> SandboxAnswer:
        """Answer a call of one of the memory's tools; errors become error results for the agent.

        What a tool changes lasts to the end of the episode. The next task gets a memory built anew from what passed before it, in whatever order tasks run.
        """
        self._held = None
        problems = argument_problems(self.tools[name], arguments)
        result: Json = None
        try:
            if not problems and self._own_tools is not None:
                result = self._own_tools.ask(name, dict(arguments))
        except NoAnswerError as error:
            problems = (str(error),)
        if problems:
            return SandboxAnswer({"status": "error", "message": f"{name}: {'; '.join(problems)}"}, "error")
        return SandboxAnswer(result, "ok")

    def close(self) -> None:
        """Return the memory for the user's next task, unless one of its tools was called."""
        if self._held is not None:
            self._memories.give_back(self._owner, self._held)
            self._held = None

    def _recalled(self, query: str) -> Retrieval:
        """Update the memory and return the retrieved text; exceptions of the user's code pass through."""
        marks = [digest([interaction.to_json() for interaction in history]) for history in self._histories]
        kept = self._memories.take(self._owner, marks) or self._new_memory()
        for history, mark in list(zip(self._histories, marks, strict=True))[len(kept.built) :]:
            plain = [interaction.model_dump(mode="json") for interaction in history]
            kept.spent = spent_on(kept.memory.update(plain)) if plain else Usage()
            kept.built = (*kept.built, mark)
        answer = recollection(kept.memory.retrieve(query))
        tools: Any = getattr(kept.memory, "tools", None)
        if tools:
            own = OwnTools.of(tools, "of the memory")
            self.tools = {name: own.tool(name) for name in own.names}
            self._own_tools = own
        self._held = kept
        parts = [usage for usage in (kept.spent, spent_on(answer)) if usage != Usage()]
        return Retrieval(text=answer.text, usage=total_usage(parts) if parts else Usage())

    def _new_memory(self) -> _Held:
        """Return a new, reset memory. Raises AgentFault if a required method is missing."""
        make = self._memories.source.make
        memory: Any = None if make is None else make(self._trial)
        if lacking := [name for name in MEMORY_METHODS if not callable(getattr(memory, name, None))]:
            raise AgentFault(
                f"the memory {self._memories.source.spec} has no {lacking[0]}(); expected {', '.join(MEMORY_METHODS)}"
            )
        memory.reset()
        return _Held(memory)
