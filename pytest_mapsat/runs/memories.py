"""The memories of a run in one process: one for each user and trial, brought up to each task as it is played."""

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
    """A memory, the digests of the histories it was built from, and what the last of its updates cost."""

    memory: Memory
    built: tuple[str, ...] = ()
    spent: Usage = field(default_factory=Usage)


class Memories:
    """Gives each episode the memory of its user: the one kept from an earlier task where it can be brought up to this one, else a new one.

    While its episode lasts no other has it, so that its tools answer as of this task.

    Args:
        source: makes them.
    """

    def __init__(self, source: MemorySource) -> None:
        self.source = source
        self._lock = Lock()
        self._waiting: OrderedDict[Hashable, _Held] = OrderedDict()

    def of(self, suite: Hashable, case: Case, histories: Sequence[Sequence[Interaction]], trial: int) -> EpisodeMemory:
        """Return the memory for one episode; it is made and updated when it is first asked."""
        owner = (suite, case.group.name if case.group else f"case {case.id}", trial)
        return EpisodeMemory(self, owner, case, histories, trial)

    def take(self, owner: Hashable, wanted: Sequence[str]) -> _Held | None:
        """Return the kept memory of an owner, if no later task has changed it; one that is ahead is dropped."""
        with self._lock:
            kept = self._waiting.pop(owner, None)
        return kept if kept is not None and kept.built == tuple(wanted[: len(kept.built)]) else None

    def give_back(self, owner: Hashable, kept: _Held) -> None:
        """Keep a memory for the next task; of two, the one built from more tasks."""
        with self._lock:
            other = self._waiting.get(owner)
            if other is None or len(other.built) <= len(kept.built):
                self._waiting[owner] = kept
                self._waiting.move_to_end(owner)
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)


@dataclass
class EpisodeMemory:
    """The memory of one user in one episode."""

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
        """Whether it is the user's own code."""
        return self._memories.source.own

    def recall(self, query: str) -> Retrieval:
        """Bring the memory up to the task and return what it has for it; on the thread of the agent.

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
        """Answer a call of one of its tools; an error of the memory becomes an error result that the agent reads.

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
        """Let the next task of the user have the memory, unless one of its tools was called."""
        if self._held is not None:
            self._memories.give_back(self._owner, self._held)
            self._held = None

    def _recalled(self, query: str) -> Retrieval:
        """Bring the memory up to the task and return what it has for it; what the user's code raises comes through."""
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
        """Return a new memory of the user's class. Raises AgentFault where it is none."""
        make = self._memories.source.make
        memory: Any = None if make is None else make(self._trial)
        if lacking := [name for name in MEMORY_METHODS if not callable(getattr(memory, name, None))]:
            raise AgentFault(
                f"the memory {self._memories.source.spec} has no {lacking[0]}(); expected {', '.join(MEMORY_METHODS)}"
            )
        memory.reset()
        return _Held(memory)
