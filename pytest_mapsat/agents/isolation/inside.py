"""What runs in an agent's process: it finds the agent, hands it the messages that pytest sends, and passes its calls on."""

from __future__ import annotations

import json
import os
import resource
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any, cast

from pytest_mapsat.agents.reply import Reply
from pytest_mapsat.agents.resolve import resolve_source
from pytest_mapsat.agents.returned import AgentFault, as_json, describe
from pytest_mapsat.agents.source import AgentContext, AgentSource, Conversation, Session
from pytest_mapsat.model import Case, Json, JsonObject, MapsatError, Noun, Tool, Turn
from pytest_mapsat.sandbox import Toolbox, ToolsClosed
from pytest_mapsat.secrets import name_secrets
from pytest_mapsat.user_code import listening

from .wire import MOST_BYTES, Broken, Call, Inbox, Ready, Said, Thought, Unusable, packed

#: A message of pytest's may have any length that fits before it.
_ANY_LENGTH = 1 << 32


#: Memory beyond the limit, bytes: to say that none is left takes some.
SPARE = 8 << 20


def make_room() -> None:
    """Let this process have what is kept to say that its memory is used up."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


class _Line:
    """The line to pytest."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._inbox = Inbox(_ANY_LENGTH)

    def send(self, message: Noun) -> None:
        """Send a message.

        Raises:
            ValueError: it is more than pytest takes.
        """
        raw = packed(message)
        if len(raw) > MOST_BYTES:
            raise ValueError(f"{len(raw):,} bytes at once; at most {MOST_BYTES:,} are taken")
        self._end.sendall(raw)

    def receive(self) -> JsonObject:
        """Return the next message of pytest.

        Raises:
            EOFError: the episode is over.
        """
        while (text := self._inbox.take()) is None:
            raw = self._end.recv(1 << 20)
            if not raw:
                raise EOFError
            self._inbox.add(raw)
        told: JsonObject = json.loads(text)
        return told


class _Port:
    """What the agent's tools and thoughts go through; closed while no reply is under way."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self._owner = os.getpid()
        self._lock = Lock()
        self._turn = 0
        self._open = False

    def open(self) -> int:
        """Let calls through for one reply, and return its number."""
        self._turn += 1
        self._open = True
        return self._turn

    def close(self) -> None:
        """Refuse calls from now on, once the one that is under way is answered."""
        with self._lock:
            self._open = False

    def call(self, name: str, arguments: JsonObject) -> Json:
        """Have pytest make a call, and return its result."""
        return self._asked(Call(turn=self._turn, name=str(as_json(name)), arguments=as_json(arguments)))

    def think(self, text: str) -> None:
        """Have pytest keep a thought."""
        self._asked(Thought(turn=self._turn, text=str(as_json(text))))

    def _asked(self, message: Call | Thought) -> Json:
        if os.getpid() != self._owner:
            raise ToolsClosed("this is a copy of the agent's process: tools are called from the process itself")
        with self._lock:
            if not self._open:
                raise ToolsClosed
            self._line.send(message)
            answer = self._line.receive()
        if answer["refused"]:
            raise ToolsClosed(answer["refused"])
        return answer["result"]


class _Episode:
    """One episode: what the agent is handed stays the same, the message and the context change."""

    def __init__(self, line: _Line, source: AgentSource, opened: JsonObject) -> None:
        self._line = line
        self._owner = os.getpid()
        self._port = _Port(line)
        self._context: JsonObject = {}
        self._session = Session(opened["session"], self._port.think)
        toolbox = Toolbox(_tools(opened["tools"]), self._port.call)
        # An agent is not given the case, and there is none here.
        self._conversation: Conversation = source.open(
            cast("Case", None), toolbox, lambda: _context_of(self._context), self._session
        )

    def answer(self, asked: JsonObject) -> None:
        """Have the agent answer a message, and send what it says."""
        self._context = asked["context"]
        self._session.remember(Turn(role=role, text=text) for role, text in asked["said"])
        turn = self._port.open()
        message = self._reply(turn, asked["message"], form=asked["form"])
        if os.getpid() != self._owner:
            os._exit(1)  # a copy that the agent has forked: the process itself answers
        self._port.close()
        try:
            self._line.send(message)
        except ValueError as error:
            self._line.send(Broken(turn=turn, message=f"the agent's reply cannot be sent: {error}"))
        except MemoryError:
            make_room()
            self._line.send(Broken(turn=turn, message="MemoryError: none is left to send the agent's reply"))

    def _reply(self, turn: int, message: str, *, form: bool) -> Said | Broken:
        try:
            reply = (self._conversation.fill if form else self._conversation.reply)(message) or Reply("")
        except AgentFault as error:
            told = error.fault
            unreachable = told.blame == "infrastructure"
            return Broken(
                turn=turn, message=told.message, detail=told.detail, blame="infrastructure" if unreachable else "agent"
            )
        except BaseException as error:  # noqa: BLE001  # whatever is left of it, such as no memory for ours
            make_room()
            fault = describe(error, blame="agent")
            return Broken(turn=turn, message=fault.message, detail=fault.detail)
        return Said(turn=turn, text=reply.text, thoughts=list(reply.thoughts), usage=reply.usage, output=reply.output)


def _tools(schemas: list[JsonObject]) -> Mapping[str, Tool]:
    """Return the tools as the agent sees them; nothing else of them is known here."""
    shown: list[dict[str, Any]] = [schema["function"] for schema in schemas]
    return {
        tool["name"]: Tool(name=tool["name"], description=tool["description"], parameters=tool["parameters"])
        for tool in shown
    }


def _context_of(data: JsonObject) -> AgentContext:
    """Return the context for an agent, new each time."""
    context = AgentContext(json.loads(json.dumps(data)))
    if context["location"] is not None:
        context["location"] = AgentContext(context["location"])
    return context


def serve(end: socket.socket) -> None:
    """Find the agent and take it through one episode; return when pytest closes the line.

    The module is imported on the main thread and the agent called on another one, as in pytest's process.
    """
    line = _Line(end)
    with suppress(EOFError, OSError):
        source = _found(line)
        if source is not None:
            thread = Thread(target=_converse, args=(line, source), name="mapsat-agent")
            thread.start()
            thread.join()


def _found(line: _Line) -> AgentSource | None:
    told, owner = line.receive(), os.getpid()
    name_secrets(told["redact"])
    try:
        with listening():
            source = resolve_source(told["spec"], root=Path(told["root"]))
            if os.getpid() != owner:
                os._exit(1)  # a copy that the module has forked
    except MapsatError as error:
        line.send(Unusable(message=str(error)))
        return None
    line.send(Ready(waits=source.waits))
    return cast("AgentSource", source)  # pytest asks for agents only


def _converse(line: _Line, source: AgentSource) -> None:
    with suppress(EOFError, OSError):
        episode = _Episode(line, source, line.receive())
        while True:
            episode.answer(line.receive())
