"""An agent in a process of its own as a source like any other: a fresh process for each episode."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock
from typing import Any, Literal

from pytest_mapsat.agents.resolve import search_first
from pytest_mapsat.agents.returned import AgentFault, checked, scrubbed
from pytest_mapsat.agents.source import AgentContext, HandedConversation, Session, kept_of
from pytest_mapsat.model import Blame, Case, InfrastructureError, JsonObject, UsageError
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox, ToolsClosed
from pytest_mapsat.secrets import named_secrets
from pytest_mapsat.user_code import plain

from .messages import Broken, Call, Ready, Said, Thought, Unusable, WireError
from .processes import AgentProcess, Isolation, LostError, Processes

#: How long a reply that is given up may take to come back, seconds.
_CANCEL_PATIENCE = 1.0
#: How often a process that was lost before its episode is replaced: the one that takes its place may be lost with the same keeper.
_TRIES = 2
#: Characters of a fault that was described where it came up: its type, its words, which were cut there, and its place.
_DESCRIBED = 2_000
#: A name as those of variables are, that an agent has looked up in vain.
_MISSING = re.compile(r"KeyError: '([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'")
#: Characters and lines of a fault's detail.
_DETAIL, _DETAIL_LINES = 4_000, 6


class IsolatedSource:
    """An agent in a process of its own, made anew for each episode, so that nothing of one is left in the next; but where dialogues are carried, for each user.

    One process always waits with its agent imported, so that an episode need not.

    Args:
        spec: ``module:attr``.
        root: searched first for modules.
        processes: makes them.
    """

    kind: Literal["agent"] = "agent"
    name = "agent"
    shared = False

    def __init__(self, spec: str, root: Path, processes: Processes) -> None:
        self.spec = spec
        self.waits = False
        self._isolation = processes.isolation
        self._find = {"spec": spec, "root": str(root)}
        self._processes = processes
        self._lock = Lock()
        self._spare: deque[AgentProcess] = deque()

    @property
    def agent(self) -> None:
        """Nothing: the agent's object is in no process that has the source."""

    def check(self) -> None:
        """Make sure that the agent can be had; the process that found it waits for the first episode.

        Raises:
            UsageError: there is no such agent, or its process did not live to say so.
        """
        process, told = self._brought_up()
        if not isinstance(told, Ready):
            process.close()
            if isinstance(told, Unusable):
                raise UsageError(str(self.fault(plain(told.message))))
            why = f": {self._processes.last_words}" if process.lost_keeper and self._processes.last_words else ""
            raise UsageError(plain(f"agent {self.spec!r}: {told}{why}"))
        self.waits = told.waits
        with self._lock:
            self._spare.appendleft(process)

    def open(
        self,
        case: Case,  # noqa: ARG002  # an agent is not given the case
        toolbox: Toolbox,
        context: Callable[[], AgentContext],
        session: Session,
    ) -> IsolatedConversation:
        """Return the agent for one episode, in a process that is ready or kept from the task before, or the fault of one that is not."""
        kept = kept_of(session)
        if kept is not None and kept.process is not None and not kept.process.has_ended():
            process, kept.process = kept.process, None
            return IsolatedConversation(process, None, self, toolbox, context, session)
        process, told = self._brought_up()
        if isinstance(told, Unusable):
            told = self.fault(scrubbed(told.message, _DESCRIBED))
        fault = told if isinstance(told, AgentFault) else None
        return IsolatedConversation(process, fault, self, toolbox, context, session)

    def close(self) -> None:
        """End the process that waits, and no longer than a moment later all others."""
        self.dismiss()
        self._processes.close()

    def dismiss(self) -> None:
        """End the process that waits for the next episode."""
        with self._lock:
            while self._spare:
                process = self._spare.pop()
                process.kill()
                process.close()

    def fault(self, message: str, detail: str = "", blame: Blame = "agent") -> AgentFault:
        """Return a fault; that of an agent that found no memory says what it may have."""
        if self._isolation.memory and "MemoryError" in message:
            message += f"; its process may use {self._isolation.memory} MB (--mapsat-isolate=memory:MB)"
        missing = _MISSING.match(message)
        if missing and missing[1] in os.environ and missing[1] not in self._isolation.environment():
            message += f"; --mapsat-isolate=env:{missing[1]} passes the variable"
        return AgentFault(message, detail, blame)

    def _brought_up(self) -> tuple[AgentProcess, Ready | Unusable | AgentFault]:
        """Return a process that has imported the agent, or that says why it has not.

        One that was lost while it waited had nothing of this episode yet: another takes its place.

        Raises:
            InfrastructureError: the system gives no more processes, or no folder for one.
        """
        process = self._taken()
        try:
            told = self._word_of(process)
            for _ in range(_TRIES):
                if not process.has_ended():
                    break
                process.close()
                if process.lost_keeper is not None:
                    self._processes.close(process.lost_keeper)
                process = self._taken()
                told = self._word_of(process)
        except BaseException:  # the user interrupts
            process.close()
            raise
        return process, told

    def _taken(self) -> AgentProcess:
        """Return a process, and begin another one for the next episode."""
        with self._lock:
            process = self._spare.popleft() if self._spare else self._start()
            if not self._spare:
                self._spare.append(self._start())
        return process

    def _start(self) -> AgentProcess:
        process = self._processes.start()
        process.send({**self._find, "redact": named_secrets()})  # of what it is passed
        return process

    def _word_of(self, process: AgentProcess) -> Ready | Unusable | AgentFault:
        """Wait until the agent is imported, and return what the process says, or the fault of one that does not say it."""
        if process.ready is None:
            try:
                told = process.receive(self._isolation.patience)
            except (LostError, WireError) as error:
                if process.unmade:
                    raise InfrastructureError(f"the agent's process {error}") from None
                module = self.spec.partition(":")[0]
                return self.fault(f"the agent's process {error}, before its module {module!r} was imported")
            if isinstance(told, Unusable):
                return told
            if not isinstance(told, Ready):
                return self.fault("the agent's process spoke before it was asked")
            process.ready = told
        return process.ready


class IsolatedConversation(HandedConversation):
    """One episode with an agent in its process."""

    _source: IsolatedSource

    def __init__(self, process: AgentProcess, fault: AgentFault | None, *handed: Any) -> None:
        super().__init__(*handed)
        self._process = process
        self._fault = fault
        self._turn = 0
        self._killed = False
        self._came_back = Event()
        self._came_back.set()

    def reply(self, message: str) -> Reply:
        """Have the process answer; see ``Conversation.reply``."""
        if self._fault is not None:
            raise self._fault
        self._came_back.clear()
        try:
            return self._reply(message)
        except (LostError, WireError) as error:
            self._kill()
            raise self._source.fault(f"the agent's process {error}") from None
        finally:
            self._came_back.set()

    def cancel(self) -> None:
        """Kill the process; what it prints from now on belongs to no episode."""
        self._kill()
        self._came_back.wait(_CANCEL_PATIENCE)

    def close(self) -> None:
        """Let the process end, or wait for the user's next task. Where its reply has not come back, the thread that waits for it has its descriptors: they go with it."""
        kept = kept_of(self._session)
        if not self._came_back.is_set():
            self._kill()
        elif kept is None or self._killed or self._fault is not None:
            self._process.close()
        else:
            kept.process = self._process

    def _kill(self) -> None:
        self._killed = True
        self._process.kill()

    def _reply(self, message: str) -> Reply:
        if not self._turn:
            opened = {
                "session": self._session.id,
                "tools": self._toolbox.schemas(),
                "kept": bool(kept_of(self._session)),
            }
            self._process.send(opened)
        self._turn += 1
        messages = [(turn["role"].replace("assistant", "agent"), turn["content"]) for turn in self._session.messages]
        self._process.send({"message": message, "context": self._context(), "said": messages})
        while True:
            told = self._process.receive()
            if isinstance(told, Ready | Unusable) or told.turn != self._turn:
                raise WireError("answered what it was not asked")
            if isinstance(told, Said):
                return checked(_reply_of(told))
            if isinstance(told, Broken):
                raise self._source.fault(scrubbed(told.message, _DESCRIBED), _detail(told.detail), told.blame)
            self._process.send(self._served(told))

    def _served(self, asked: Call | Thought) -> JsonObject:
        """Make the call, or keep the thought, as if the agent itself had."""
        try:
            if isinstance(asked, Thought):
                self._session.think(asked.text)
                return {"result": None, "refused": ""}
            return {"result": self._toolbox.call(asked.name, asked.arguments), "refused": ""}
        except ToolsClosed as refusal:
            return {"result": None, "refused": str(refusal)}


def _reply_of(message: Said) -> object:
    """Return the reply as the agent might have returned it: nothing of it is known to be what it should."""
    return Reply(message.text, message.thoughts, message.usage, message.output)


def _detail(text: str) -> str:
    return "\n".join(scrubbed(line, _DESCRIBED) for line in text[:_DETAIL].splitlines()[:_DETAIL_LINES])


def isolated_source(spec: str, root: Path, isolation: Isolation) -> IsolatedSource:
    """Return the source that runs the agent of a spec in processes of their own.

    Args:
        spec: ``module:attr``.
        root: the directory pytest was started in; modules are looked for there first.
        isolation: how agents are kept apart.

    Raises:
        UsageError: the spec cannot be resolved in a fresh process.
    """
    search_first(root)  # as where the agent is imported here: what of the user's is found must not depend on it
    source = IsolatedSource(spec, root, Processes(isolation))
    try:
        source.check()
    except BaseException as error:
        source.close()
        if isinstance(error, OSError | InfrastructureError):
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"agent {spec!r}: no process can be started: {why}") from None
        raise
    return source
