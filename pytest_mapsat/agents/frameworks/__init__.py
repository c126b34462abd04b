"""Agents that are built with a framework, each with an adapter in a file of its own: which there are, and which one an object is for.

What all adapters share: the loop of an episode, the answers of the sandbox, usage, questions to the user, structured output.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, version
from inspect import getattr_static, isawaitable, isclass, isroutine
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_mapsat.agents.returned import AgentFault, as_json
from pytest_mapsat.agents.source import AgentContext, Session, WantedContext, declared, fields_of, lacking_fields
from pytest_mapsat.guard import GuardedCall, calling, is_stand_in
from pytest_mapsat.model import Json, JsonObject, Usage, UsageError, canonical_json, total_usage
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, installed

from .watched import unwatch as unwatch
from .watched import watch as watch

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Lock

#: So many handoffs and runs of other agents in one reply have no end.
_MOST_RUNS = 100


class ToolAnswer(NamedTuple):
    """The sandbox's answer to a call.

    Attributes:
        value: the JSON result.
        text: the same as a model reads it: a string as it is, other data as JSON.
        failed: whether it is the error of a tool: no such tool, or arguments that it cannot take.
    """

    value: Json
    text: str
    failed: bool


class _EndlessError(BaseException):  # no framework may hand it to the model as the error of a tool
    """The agent handed over, or ran other agents, without end."""


class Spent:
    """The usage of the models for one reply, by call (``parts``). If one call does not report a figure, the sum of that figure is unknown."""

    def __init__(self) -> None:
        self.parts: list[Usage] = []

    def add(self, tokens_in: int | None, tokens_out: int | None, cost: float | None = None) -> None:
        """Count one or several calls of a model; if no call reports tokens, the number of tokens is unknown.

        Args:
            tokens_in: tokens that the model read; None if the framework does not report them.
            tokens_out: tokens that it wrote; None as above.
            cost: US dollars; None as above.
        """
        tokens = (tokens_in, tokens_out) if tokens_in or tokens_out else (None, None)
        self.parts.append(Usage(input_tokens=tokens[0], output_tokens=tokens[1], cost=cost))

    def usage(self) -> dict[str, float | None] | None:
        """Return the usage of the reply; None if nothing was counted."""
        return total_usage(self.parts).model_dump() if self.parts else None


@dataclass
class AdapterEpisode:
    """The data that an adapter receives for one episode.

    Attributes:
        tools: the tools of the case; ``call`` is how an adapter calls them.
        context: now, location, city and so on, as any agent may take it.
        session: id, messages so far, state, and ``think``.
        data: what a factory returned beside its agent, as a context of the user's own; None: nothing.
        run: names of the agent's tools whose own body runs, as each runs another agent.
        spent: what the models of the reply that is under way used.
        others_run: the handoffs and the runs of other agents in this reply: the tool, and how many calls of models came before it.
        moved: what an agent handed over with, by its name and the number of calls of models before it.
    """

    tools: Toolbox
    context: AgentContext
    session: Session
    data: Any = None
    run: Container[str] = ()
    spent: Spent = field(default_factory=Spent)
    others_run: set[tuple[str, int]] = field(default_factory=set)
    moved: dict[tuple[str, int], Any] = field(default_factory=dict)

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names of the case's tools."""
        return frozenset(schema["name"] for schema in declared(self.tools))

    @classmethod
    def of(cls, tools: Toolbox) -> AdapterEpisode:
        """Return an episode that has only tools, for framework tools that are built before the context exists."""
        return cls(tools, AgentContext(), Session("", lambda _: None))

    def runs(self, tool: str) -> bool:
        """Return whether the body of a tool runs: it is named as one that runs another agent, and the case has no such tool."""
        return tool in self.run and tool not in self.names

    def count_run(self, tool: str) -> None:
        """Count that a handoff or a tool that runs another agent runs. Raises _EndlessError if that has no end."""
        # Of one call there are several on the way to the body; without an end, models are called between two of them.
        self.others_run.add((tool, len(self.spent.parts)))
        if len(self.others_run) > _MOST_RUNS:
            raise _EndlessError(
                f"the agents handed over or ran each other more than {_MOST_RUNS} times in one reply, last by {tool}"
            )

    def data_for(self, kind: Any) -> Any:
        """Return the context for a run of the agent: an object of the user's class, filled from the case; see ``data_from``."""
        return data_from(self.context, kind, self.data)

    def call(self, name: str, arguments: Any, agent: str | None = "") -> ToolAnswer:
        """Return the sandbox's answer to a call; a call of an unknown tool is answered with an error, and is counted.

        Args:
            name: the tool, as the model called it.
            arguments: what the model gave: a dict, or the JSON text of one.
            agent: the name of the agent that calls; empty: unknown.
        """
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except ValueError:
                arguments = {"arguments": arguments}
        with calling(agent or ""):
            value = self.tools.call(name, {} if arguments is None else as_json(arguments, _plain))
        failed = isinstance(value, dict) and value.get("status") == "error"
        return ToolAnswer(value, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), failed)


def is_ours(function: Any) -> bool:
    """Return whether a function or object comes from one of our adapters, or replaces a tool that the sandbox answers."""
    return is_stand_in(function) or str(getattr(function, "__module__", "")).startswith(f"{__package__}.")


def must_answer(call: GuardedCall, name: str, body: Any, *things: Any, own: bool = False) -> bool:
    """Return whether the sandbox answers the calls of a tool; otherwise the tool itself runs.

    Args:
        call: the call.
        name: the tool's name.
        body: the function of the tool, or the tool; what is one of ours has the sandbox answer by itself.
        things: what may have been given to ``sandboxed`` in place of the tool.
        own: whether the framework marks the tool as one of its own (a handoff, an agent as a tool): it runs, unless the case has a tool of its name.

    Raises:
        RefusedTool: it is a real tool, and no sandbox answers it.
    """
    if is_ours(body):
        return False
    if (own and name not in call.names) or call.runs(name):
        if call.episode:
            call.episode.count_run(name)
        return False
    if not call.is_answered(*things):
        call.refuse(name)
    return True


#: Locks of the bodies that are called side by side, one for each event loop; None outside the loop of a reply.
_lane: ContextVar[dict[AbstractEventLoop, Lock] | None] = ContextVar("mapsat_lane", default=None)


def in_turn(call: GuardedCall, then: Callable[[GuardedCall, Any], Any] = lambda _, result: result) -> Any:
    """Run the body of a tool that hands over or runs another agent; bodies that are called at once run one after the other, so that calls keep their order.

    Args:
        call: the call.
        then: returns the result of the call, given that of the body.
    """
    result = call.real()
    return _in_turn(call, result, then) if isawaitable(result) else then(call, result)


async def _in_turn(call: GuardedCall, result: Awaitable[Any], then: Callable[[GuardedCall, Any], Any]) -> Any:
    """Await the result of a body once the bodies before it have ended; what is called inside has a lane of its own."""
    lane = _lane.get()
    if lane is None:
        return then(call, await result)
    from asyncio import Lock, get_running_loop

    async with lane.setdefault(get_running_loop(), Lock()):
        token = _lane.set({})
        try:
            return then(call, await result)
        finally:
            _lane.reset(token)


def as_agent(call: GuardedCall, name: str | None) -> Any:
    """Run a body that is an agent with the sandbox's answers, if it has them, and record the agent as the caller of its tools."""
    if not call.is_answered():
        return call.real()
    with calling(name or ""):
        result = call.inside()
    if hasattr(result, "with_pull_context_manager"):  # a stream of Agent Framework
        return result.with_pull_context_manager(partial(calling, name or ""))
    return _named(name or "", result) if isawaitable(result) and not hasattr(result, "__aiter__") else result


async def _named(name: str, result: Awaitable[Any]) -> Any:
    """Await the result of a run, with the agent recorded as the caller."""
    with calling(name):
        return await result


_asking: ContextVar[bool] = ContextVar("mapsat_asking", default=False)


async def counted(call: GuardedCall, usage_of: Callable[[Any], tuple[int | None, int | None, float | None]]) -> Any:
    """Run a model call and count its usage, anywhere in the episode; a model that wraps another model counts once.

    Args:
        call: the call of the model's coroutine function.
        usage_of: returns tokens in, tokens out and cost of an answer, as ``Spent.add`` takes them.
    """
    if _asking.get():
        return await call.real()
    token = _asking.set(True)
    try:
        answer = await call.real()
    finally:
        _asking.reset(token)
    if call.episode:
        call.episode.spent.add(*usage_of(answer))
    return answer


def team_of(agent: Any, link: str) -> list[Any]:
    """Return an agent and all agents to which it can hand over, without duplicates; ``link``: the attribute that lists them."""
    team = [agent]
    for member in team:
        team += [other for other in getattr(member, link, ()) if not any(other is known for known in team)]
    return team


def refusal_of(kinds: Iterable[str]) -> str:
    """Return why an agent with these kinds of tools cannot be played; empty if no such tools exist."""
    names = ", ".join(sorted(kinds))
    return f"no sandbox can answer its {names}; give it functions in their place" if names else ""


def natively(make: Callable[[str, str, JsonObject, AdapterEpisode], Any]) -> Callable[[Toolbox], list[Any]]:
    """Return a function that converts a toolbox into a framework's tools; ``make`` converts one tool for an episode."""

    def native(tools: Toolbox) -> list[Any]:
        """Return the framework's tools for a toolbox."""
        episode = AdapterEpisode.of(tools)
        return [make(tool["name"], tool["description"], tool["parameters"], episode) for tool in declared(tools)]

    return native


@dataclass(frozen=True)
class Adapter:
    """How the agents of one framework are played.

    Attributes:
        name: the scheme in ``NAME:module:attr``; the name on PyPI.
        distribution: the package whose version counts, where it has another name.
        versions: the least version that works, and the first that does not: major and minor.
        classes: package and class of what is an agent; the classes below them are meant, too.
        start: takes an agent and an ``AdapterEpisode`` and returns what answers a message with a ``Reply``: a function or coroutine function of
            ``message``, or an object with such a ``reply`` and, where something has to be given back, ``close``. It keeps the state of the episode;
            nothing of it may stay in the agent.
        native: makes the framework's own tools from a ``Toolbox``, for a factory that takes ``tools``.
        refusal: says why an agent cannot be played, an empty text where it can.
        kind: returns the class of the context that an agent wants; None: it wants none of its own.
        waits: whether ``start`` returns a coroutine function.
    """

    name: str
    versions: tuple[tuple[int, int], tuple[int, int]]
    classes: frozenset[tuple[str, str]]
    start: Callable[[Any, AdapterEpisode], Any]
    native: Callable[[Toolbox], Sequence[Any]]
    refusal: Callable[[Any], str] = lambda agent: ""  # noqa: ARG005
    kind: Callable[[Any], Any] = lambda agent: None  # noqa: ARG005
    waits: bool = True
    distribution: str = ""

    def recognises(self, agent: object) -> bool:
        """Return whether an object is an agent of this framework, by the names of its classes."""
        return any(
            name == kind and comes_from(module, package)
            for module, name in kinds_of(agent)
            for package, kind in self.classes
        )

    def check(self) -> None:
        """Check that the framework is installed in a supported version, without importing it.

        Raises:
            UsageError: it is not installed, or of another version; says what to install.
        """
        package = self.distribution or self.name
        (*least,), (*end,) = self.versions
        wanted = f"{package}>={'.'.join(map(str, least))},<{'.'.join(map(str, end))}"
        try:
            there = version(package)
        except PackageNotFoundError:
            raise UsageError(f"{self.name} is not installed; run: pip install '{wanted}'") from None
        if not least <= list(map(int, re.findall(r"\d+", there)[:2])) < end:
            raise UsageError(f"{package} {there} is not supported; run: pip install '{wanted}'")


def kinds_of(agent: object) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of an object's class and of each base class."""
    for ancestor in type(agent).__mro__:
        yield str(ancestor.__module__), ancestor.__name__


def comes_from(module: str, package: str) -> bool:
    """Return whether a module is a given package or lies in it."""
    return module == package or module.startswith(f"{package}.")


def reply_of(output: Any, spent: Spent, *, text: str = "", thoughts: Sequence[str] = ()) -> Reply:
    """Return a Reply built from a framework's output, usage and thoughts.

    Args:
        output: what the framework calls the output: text, structured data, or None.
        spent: what the models used.
        text: what the user reads, where the output does not say it.
        thoughts: what the agent thought on the way.
    """
    if output is None or isinstance(output, str):
        return Reply(output or text, thoughts, spent.usage())
    has_fields = isinstance(output, dict) or dataclasses.is_dataclass(output) or hasattr(output, "model_dump")
    data = output if has_fields else {"response": output}
    plain = as_json(data, _plain)
    shown = plain.get("text") if isinstance(plain, dict) else None
    return Reply(text or (shown if isinstance(shown, str) else canonical_json(plain)), thoughts, spent.usage(), data)


class FrameworkConversation:
    """One episode with an agent of a framework, and the loop that all frameworks share: each reply is a run of the agent.

    A framework has a class below it that says how a run goes (``run``). Where a run can stop for a go-ahead, the user is asked (``call_at``), and the next
    message decides how it goes on (``resumed_input``).

    Attributes:
        agent: the agent, or a copy of it.
        episode: its tools, context and session.
        stops: where the run has stopped for a go-ahead, as the framework has it.
        thoughts: what the agent thought in this reply.
        text: what the user reads of this reply, where the output does not say it.
    """

    def __init__(self, agent: Any, episode: AdapterEpisode) -> None:
        self.agent = agent
        self.episode = episode
        self.stops: Sequence[Any] = ()
        self.begin()

    async def reply(self, message: str) -> Reply:
        """Return the agent's answer or question; if its run has stopped for approval, the message approves or declines."""
        self.begin()
        _lane.set({})
        stops, self.stops = self.stops, []
        try:
            output = await self.run(self.resumed_input(stops, message) if stops else self.run_input(message))
        except _EndlessError as error:
            raise AgentFault(str(error)) from None
        if self.stops:
            return Reply(self.question(), self.thoughts, self.spent.usage())
        return self.ended(output)

    def begin(self) -> None:
        """Reset the usage, the thoughts and the text for a new reply."""
        self.episode.spent, self.thoughts, self.text = Spent(), list[str](), ""
        self.episode.others_run = set()

    @property
    def spent(self) -> Spent:
        """The usage of the models for this reply."""
        return self.episode.spent

    def ended(self, output: Any) -> Reply:
        """Return the reply of a run that has ended."""
        return reply_of(output, self.spent, text=self.text, thoughts=self.thoughts)

    def question(self) -> str:
        """Return the question for the user if a run has stopped for approval."""
        return question(list(map(self.call_at, self.stops)), self.episode)

    # -- what a framework has of its own

    def run_input(self, message: str) -> Any:
        """Return the input of a new run: by default the message itself."""
        return message

    def resumed_input(self, stops: Sequence[Any], message: str) -> Any:
        """Return the input that resumes a stopped run; it contains the user's decision."""
        raise NotImplementedError

    def call_at(self, stop: Any) -> tuple[str, Any]:
        """Return the name and arguments of the call before which a run stopped."""
        raise NotImplementedError

    async def run(self, given: Any) -> Any:
        """Run the agent until it has answered or stops; count usage and thoughts, set ``stops``, and return the output."""
        raise NotImplementedError


def _plain(value: Any) -> Any:
    """Return a value as JSON data; a value that pydantic cannot write becomes its type name in angle brackets."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=lambda other: f"<{type(other).__name__}>")


# -- a person in the loop: where an agent waits for a decision, the user is asked, and what the user says decides --------------------

_ASKS = {"zh": "我可以执行 {calls} 吗？", "en": "May I go ahead with {calls}?"}


def question(calls: Sequence[tuple[str, Any]], episode: AdapterEpisode) -> str:
    """Return a question that asks, in the language of the case, whether the agent may make some calls.

    Args:
        calls: name and arguments of each.
        episode: the episode.
    """
    language = str(episode.context.get("locale") or "en").partition("-")[0]
    shown = ", ".join(f"{name}({_shown(arguments)})" for name, arguments in calls)
    return _ASKS.get(language, _ASKS["en"]).format(calls=shown)


def _shown(arguments: Any) -> str:
    """Return the arguments of a call as text for a question to the user."""
    if isinstance(arguments, str):
        return arguments
    return ", ".join(f"{name}={json.dumps(as_json(value), ensure_ascii=False)}" for name, value in arguments.items())


def go_ahead(message: str) -> bool:
    """Return whether the user's words clearly approve."""
    from pytest_mapsat.reading import agrees

    return agrees(message) is True


# -- what a framework calls dependencies, context or state -------------------------------------------------------------------------


def data_from(context: AgentContext, kind: Any, own: Any = None) -> Any:
    """Return the case's data as an object of a framework's context class.

    A field takes the value of its name in the context (``uid``, ``city``, ...), else in the context's ``details``, else its own or its default.

    Args:
        context: the context of the case.
        kind: a dataclass, pydantic model or TypedDict, whose fields are filled; anything else is given the context itself.
        own: data that a factory returned beside its agent; None: it returned none.

    Raises:
        AgentFault: the case lacks a field that has no default, or gives a value that the kind refuses. The set-up of the run is at fault.
    """
    if own is None and not is_data_kind(kind):
        return context
    values = fields_of(context)
    _, names = _fields(type(own) if own is not None else kind)
    try:
        if own is not None:
            return _updated(own, {name: values[name] for name in names or () if name in values})
        if lacking := lacking_fields(context, wanted_by(kind)):
            raise AgentFault(lacking, blame="infrastructure")
        return kind(**{name: values[name] for name in names or () if name in values})
    except (TypeError, ValueError) as error:
        shown = getattr(kind, "__name__", type(own).__name__)
        raise AgentFault(
            f"the agent's context {shown} cannot be filled from the case: {describe_error(error)}",
            blame="infrastructure",
        ) from None


def is_data_kind(kind: Any) -> bool:
    """Return whether a context class is the user's own, so that an object of it must be filled."""
    return isinstance(kind, type) and kind is not type(None) and kind not in AgentContext.__mro__


def wanted_by(kind: Any) -> WantedContext | None:
    """Return what a context class of the user's own needs; None if the class is not one."""
    if not is_data_kind(kind):
        return None
    needed, names = _fields(kind)
    return WantedContext(kind.__name__, sorted(needed), names is not None)


def _updated(own: Any, values: JsonObject) -> Any:
    """Return a copy of a data object with new values for some fields; an object without fields is returned unchanged."""
    if dataclasses.is_dataclass(own) and not isinstance(own, type):
        return dataclasses.replace(own, **values)
    if hasattr(type(own), "model_fields"):
        return type(own).model_validate({**dict(own), **values})
    return own | values if isinstance(own, dict) else own


def _fields(kind: type) -> tuple[set[str], list[str] | None]:
    """Return the required fields and all fields of a data class; None for all fields if they cannot be read."""
    if dataclasses.is_dataclass(kind):
        members = dataclasses.fields(kind)
        none = dataclasses.MISSING
        needed = {m.name for m in members if m.init and m.default is none and m.default_factory is none}
        return needed, [m.name for m in members if m.init]
    models: JsonObject | None = getattr(kind, "model_fields", None)
    if isinstance(models, dict):
        return {name for name, member in models.items() if member.is_required()}, list(models)
    required = getattr(kind, "__required_keys__", None)
    return (set(), None) if required is None else (set(required), list(kind.__annotations__))


def kind_in(*annotated: Any) -> Any:
    """Return the first context class of the user's own among annotations such as ``Agent[Mine]``; None if there is none."""
    for thing in annotated:
        hints = getattr(thing, "__annotations__", {}) if isroutine(thing) else {}
        for alias in (thing, *getattr(type(thing), "__orig_bases__", ()), *hints.values()):
            for kind in getattr(alias, "__args__", ()):
                if is_data_kind(kind) and not comes_from(kind.__module__, "agents") and _fields(kind)[1] is not None:
                    return kind
    return None


# -- which adapters there are, and which one an object is for ---------------------------------------------------------------------

#: The package that the agents of a framework come from, by the name of the adapter, which is the framework's name on PyPI.
#: Its module is that name with underscores. A new framework is a module and a line here.
ADAPTERS = {
    "agent-framework": "agent_framework",
    "claude-agent-sdk": "claude_agent_sdk",
    "crewai": "crewai",
    "google-adk": "google.adk",
    "langgraph": "langgraph",
    "llama-index": "llama_index",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
    "smolagents": "smolagents",
}
#: Packages of others add theirs under this group of entry points: ``name = "package.module:ADAPTER"``.
GROUP = "pytest_mapsat.adapters"


def adapter_named(name: str) -> Adapter | None:
    """Return the adapter with a name, built in or from an installed package; None if there is no such adapter.

    Raises:
        UsageError: that of an installed package cannot be had.
    """
    if name in ADAPTERS:
        return _ours(name)
    return next((_of_others(point) for point in installed(GROUP) if point.name == name), None)


def adapter_for(agent: object) -> Adapter | None:
    """Return the adapter for an object by its framework; None if the object is not an agent of a known framework.

    Raises:
        UsageError: an adapter of an installed package cannot be had.
    """
    # What can be called as an agent, or as what makes one, stays that.
    if isroutine(agent) or isclass(agent) or _takes_message(type(agent)):
        return None
    modules = {module for module, _ in kinds_of(agent)}
    adapters = [_ours(name) for name, package in ADAPTERS.items() if any(comes_from(m, package) for m in modules)]
    adapters += map(_of_others, installed(GROUP))
    return next((adapter for adapter in adapters if adapter.recognises(agent)), None)


def _takes_message(kind: type) -> bool:
    """Return whether the instances of a class are called with a message."""
    code: CodeType | None = getattr(getattr_static(kind, "__call__", None), "__code__", None)
    takes = () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return callable(getattr(kind, "reply", None)) or "message" in takes


def _ours(name: str) -> Adapter:
    """Import and return a built-in adapter by its name."""
    adapter: Adapter = import_module(f".{name.replace('-', '_')}", __name__).ADAPTER
    return adapter


def _of_others(point: EntryPoint) -> Adapter:
    """Load and return an adapter from an entry point. Raises UsageError if loading fails or the object is not an Adapter."""
    name = point.name
    try:
        adapter = call_user_code(point.load)
    except UserCodeError as broken:
        raise UsageError(
            f"the adapter {name!r} ({point.value}) cannot be loaded: {describe_error(broken.error)}"
        ) from None
    if not isinstance(adapter, Adapter):
        kind = type(adapter).__name__
        raise UsageError(
            f"the adapter {name!r} ({point.value}) is an object of type {kind}; expected a {Adapter.__module__}.Adapter"
        )
    return adapter
