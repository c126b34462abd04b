"""Sources of trajectories, and the objects that an agent receives: made for it alone, from the visible half of the case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from hashlib import sha256
from math import inf
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

from pytest_mapsat.guard import now
from pytest_mapsat.model import Case, JsonObject, ReportedCall, Turn, Visible, hint_at
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox

if TYPE_CHECKING:
    from pytest_mapsat.llm import ModelClient

    from .recorded import RecordedSource

#: How a model is asked that is the agent.
ModelKind = Literal["react", "plan"]
MODEL_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)
#: How a service behind HTTP is spoken to.
FormName = Literal["json", "openai-chat", "openai-responses", "a2a", "ag-ui"]
FORM_NAMES: tuple[FormName, ...] = get_args(FormName)
#: Those in which an answer shows what a service called itself.
SHOWS_CALLS: tuple[FormName, ...] = ("openai-responses", "ag-ui")
#: How the spec of a service begins.
SERVICE_SCHEMES = ("http", "https", *FORM_NAMES)


_NO_ADDRESS = "context.mcp_url exists while an agent in Python replies, in a thread with its context"


class AgentContext(dict[str, Any]):
    """The context of a case as the agent sees it, including the location.

    A dict whose keys are attributes as well: ``context["now"]``, ``context.now``, ``context.location.lon``.
    """

    @property
    def mcp_url(self) -> str:
        """The address of the case's tools for the agent's MCP client (streamable HTTP; the token is part of the address).

        Raises:
            AttributeError: no episode of an agent in this process is running.
            UsageError: the extra ``[mcp]`` is not installed.
        """
        here = now()
        if here is None or here.scope is None or here.scope.mcp_url is None:
            raise AttributeError(_NO_ADDRESS)
        return here.scope.mcp_url()

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name == "mcp_url":
            raise AttributeError(_NO_ADDRESS)
        raise AttributeError(f"there is no {name!r} here, only {', '.join(self)}{hint_at(name, self)}")

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class KeptAgent:
    """The parts of an agent that outlive an episode, from one task of a user to the next, in a suite that carries dialogues.

    Attributes:
        session: the id of its sessions; empty before the first.
        state: the dict of its sessions.
        port: names the way from its tools to the sandbox of the episode that is under way; None before the first.
        made: what a factory has made; None: nothing yet.
        process: the process that it is in; None: none yet, or none of its own.
    """

    def __init__(self) -> None:
        self.session = ""
        self.state: dict[str, Any] = {}
        self.port: int | None = None
        self.made: Any = None
        self.process: Any = None

    def forget(self) -> None:
        """Drop the agent and close its process: the next task begins with a new one that shares nothing with it."""
        if self.process is not None:
            self.process.close()
        self.state, self.port, self.made, self.process = {}, None, None, None


class Session:
    """One episode as the agent knows it.

    Attributes:
        id: opaque, the same whenever the same case and trial is run; where dialogues are carried, the same over a user's tasks.
        state: a dict of the agent's own that lives as long as the episode; where dialogues are carried, as long as the user's tasks.
    """

    def __init__(
        self,
        identity: str,
        think: Callable[[str], object],
        trial: int = 1,
        kept: KeptAgent | None = None,
        run: Iterable[str] = (),
    ) -> None:
        self.id = identity
        self._trial = trial
        self._run = frozenset(run)
        self._kept = kept
        self._deadline = inf
        self._think = think
        self._thought = False
        self.state: dict[str, Any] = {} if kept is None else kept.state
        self._said: tuple[tuple[str, str], ...] = ()

    @property
    def messages(self) -> list[dict[str, str]]:
        """Return the dialogue so far, including the message to answer: ``{"role": "user" or "assistant", "content": ...}``."""
        return [{"role": role, "content": content} for role, content in self._said]

    @property
    def earlier(self) -> list[dict[str, str]]:
        """Return the dialogue before the current message."""
        return self.messages[:-1]

    def think(self, text: str) -> None:
        """Record a thought in the trajectory, after the calls made so far and before all later calls."""
        self._thought = True
        self._think(text)

    def remember(self, turns: Iterable[Turn], deadline: float = inf) -> None:
        """Set the dialogue so far, and the deadline of the episode on the clock of ``perf_counter``."""
        self._deadline, self._thought = deadline, False
        self._said = tuple(("user" if turn.role == "user" else "assistant", turn.text) for turn in turns)

    def __repr__(self) -> str:
        return f"Session(id={self.id!r}, messages={len(self._said)})"


def session_id(case: Case, trial: int) -> str:
    """Return the id of an episode for the agent; the same case and trial always have the same id.

    It goes over words of the truth, which no agent has: a list of case ids does not reveal which case this is.
    """
    words = (case.id, str(trial), case.truth.intent, *(requirement.text for requirement in case.truth.requirements))
    return sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def trial_of(session: Session) -> int:
    """Return the trial number of a session, from 1; built-in agents need it because a cache keeps trials apart."""
    return session._trial  # noqa: SLF001  # no name that an agent is offered


def has_thought(session: Session) -> bool:
    """Return whether the agent has recorded a thought in this reply."""
    return session._thought  # noqa: SLF001  # no part of what an agent sees


def kept_of(session: Session) -> KeptAgent | None:
    """Return the ``KeptAgent`` of a session, which outlives its episode; None where dialogues are not carried."""
    return session._kept  # noqa: SLF001  # likewise


def tools_to_run(session: Session) -> frozenset[str]:
    """Return the names of the agent's tools that the case runs because each of them runs another agent."""
    return session._run  # noqa: SLF001  # likewise


def seconds_left(session: Session) -> float:
    """Return the remaining seconds of an episode; negative once its time is over."""
    return session._deadline - perf_counter()  # noqa: SLF001  # likewise


def context_of(visible: Visible, memory: str = "") -> AgentContext:
    """Return a new context for an agent from the visible part of a case and a memory's text; changes to the context do not affect the case."""
    context = visible.context
    place = context.location
    return AgentContext(
        now=context.now,
        location=AgentContext(lon=place.lon, lat=place.lat, name=place.name) if place else None,
        city=context.city,
        history=list(context.history),
        uid=context.uid,
        locale=context.locale,
        details=deepcopy(context.details),
        profile=deepcopy(context.profile),
        memory=memory,
        instructions=visible.instructions,
        output_schema=deepcopy(visible.output_schema),
    )


def declared(tools: Toolbox) -> list[dict[str, Any]]:
    """Return the name, description and parameters (JSON Schema) of each tool."""
    return [schema["function"] for schema in tools.schemas()]


def filled_fields(context: AgentContext) -> dict[str, Any]:
    """Return the fields of a context that are not empty."""
    return {name: value for name, value in context.items() if value not in (None, [], {}, "")}


class WantedContext(NamedTuple):
    """The context that an agent of a framework wants: the name of its class, the fields without a default, and whether its fields can be read at all."""

    name: str
    needed: list[str]
    readable: bool


def fields_of(context: AgentContext) -> JsonObject:
    """Return the values for the fields of an agent's own context, by name: the fields of the case's context and its details."""
    known = {name: value for name, value in context.items() if value is not None}
    return {**context, **(context.get("details") or {}), **known}


def lacking_fields(context: AgentContext, wanted: WantedContext | None) -> str:
    """Return why the context that an agent wants cannot be filled from a case, and what to write; empty if it can be filled."""
    if wanted is None:
        return ""
    where = "let make() return (agent, context) with a context of your own, or write a function that runs `pytest_mapsat.sandboxed(agent)`"
    if not wanted.readable:
        return f"the agent wants {wanted.name} for its context, whose fields cannot be read; {where}"
    values = fields_of(context)
    if missing := [name for name in wanted.needed if name not in values]:
        return (
            f"the agent wants {wanted.name} for its context, with {', '.join(missing)}; the case has {', '.join(values) or 'nothing'}. "
            f"Put {missing[0]!r} into visible.context.details of the case, or {where}"
        )
    return ""


def with_earlier(message: str, session: Session) -> str:
    """Return a message preceded by the earlier dialogue as one text, for agents that take a single message."""
    lines = [f"{earlier['role']}: {earlier['content']}" for earlier in session.earlier]
    return "\n\n".join([*lines, f"user: {message}"]) if lines else message


class Conversation:
    """An agent in one episode, with the arguments of ``AgentSource.open``. Most conversations have nothing to release in ``close``.

    Attributes:
        builds: what its answers so far name as its build; an empty text stands for an answer that names none.
        reports: whether it has tools of its own, of whose calls ``reported`` tells.
        heard_calls: the calls so far that the agent's models asked for, and the agent answered: by itself, unless the sandbox knows them.
        reports_all: whether ``reported`` tells of all of them, and has so far: those of a ``reply`` at a time, or each time those of the whole ``dialogue``.
    """

    builds: frozenset[str] = frozenset()
    reports: bool = False
    heard_calls: tuple[ReportedCall, ...] = ()
    reports_all: Literal["", "reply", "dialogue"] = ""

    def __init__(self, source: Any, toolbox: Toolbox, context: Callable[[], AgentContext], session: Session) -> None:
        self._source = source
        self._toolbox = toolbox
        self._context = context
        self._session = session
        self._cancelled = Event()

    @property
    def refused(self) -> str:
        """Return why a real tool of the agent was not run, without any fault of the agent; empty if no tool was refused."""
        return ""

    def reply(self, message: str) -> Reply:
        """Return the agent's answer to the user's message.

        Args:
            message: what the user says.

        Raises:
            AgentFault: the agent raised, or returned something that is no reply.
            InfrastructureError: the case does not let this source play it.
        """
        raise NotImplementedError

    def reported(self) -> Sequence[Sequence[ReportedCall]]:
        """Return the agent's own tool calls since the last request, a list for each report; reports may repeat earlier calls.

        Raises:
            InfrastructureError: what would tell of them is broken.
        """
        return ()

    def cancel(self) -> None:
        """Stop waiting for a reply in another thread; called when the time is over.

        Best effort: where the event is next looked at, in a pause or between two pieces of an answer.
        """
        self._cancelled.set()

    def close(self) -> None:
        """Release the resources of the agent; called once its episode is over."""


class AgentSource:
    """An agent with which episodes can be played.

    Attributes:
        kind: always ``agent``.
        name: what stands in ``Trajectory.source``: ``agent``, or the name of a baseline.
        spec: the text it was resolved from.
        agent: the object itself.
        shared: whether all episodes talk to the one object.
        waits: whether its replies mostly wait, for a model or in an event loop, so that many episodes may be under way unless the user says otherwise.
        wants_context: the context of its own kind that it wants, so that ``unplayable`` has to be asked for each case; None: it wants none.
        conversation: makes the agent of one episode.
    """

    kind: Literal["agent"] = "agent"
    name: str
    spec: str
    agent: object
    shared: bool = False
    waits: bool = False
    wants_context: WantedContext | None = None
    conversation: ClassVar[type[Conversation]]

    def open(self, case: Case, toolbox: Toolbox, context: Callable[[], AgentContext], session: Session) -> Conversation:  # noqa: ARG002
        """Return the agent for one episode.

        Args:
            case: for the sources that play a case by heart; an agent never gets it.
            toolbox: the tools to hand on.
            context: makes the context, anew for each turn.
            session: the session to hand on.
        """
        return self.conversation(self, toolbox, context, session)

    def unplayable(self, context: AgentContext) -> str:
        """Return why the agent cannot be played with the context of a case; empty if it can be played or that is still unknown."""
        return lacking_fields(context, self.wants_context)


class SourceElsewhere(AgentSource):
    """A source whose agent runs outside of this process: a service, a program, a model."""

    waits = True

    @property
    def agent(self) -> object:  # type: ignore[override]
        """Return the source itself: the agent is not an object of this process."""
        return self


Source: TypeAlias = "AgentSource | RecordedSource"


class SourceSpec(NamedTuple):
    """The text that names a source, split at its scheme for the module that handles the scheme.

    Attributes:
        text: as the user wrote it, ``SCHEME:REST``.
        scheme: before the colon.
        rest: behind it.
        root: the directory pytest was started in.
        client: the way to models; None: models are not asked here.
        http: how a service is spoken to: a form, or the path of a service file below the root; empty: as usual.
    """

    text: str
    scheme: str
    rest: str
    root: Path
    client: ModelClient | None = None
    http: str = ""


def memory_asks_model(spec: str) -> bool:
    """Return whether the memory with this spec asks a model."""
    kind, _, model = spec.partition(":")
    return kind in ("agentic", "rag") and bool(model)
