"""Whether a tool of a framework may run: in a test run no tool of an agent does, the sandbox answers it or the call is refused.

Standard library only: production code that calls ``sandboxed`` imports this module and nothing else of ours.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple, NoReturn, TypeVar
from weakref import WeakSet, WeakValueDictionary

_T = TypeVar("_T")
#: The packages whose objects ``sandboxed`` takes.
_PACKAGES = (
    "agent_framework",
    "agents",
    "crewai",
    "google.adk",
    "langchain_core",
    "langgraph",
    "llama_index",
    "mcp",
    "pydantic_ai",
    "smolagents",
)
_WRITE = (
    "write `agent = pytest_mapsat.sandboxed(agent)` around what is run in the end (with_config() and clone() make another), "
    "or the same around its tools, and the sandbox answers"
)
_START = "start it with contextvars.copy_context().run, or use asyncio.to_thread or a ThreadPoolExecutor"
#: Threads of ours have names that begin so. What runs on one without an episode is a judge, a user or a check, and no agent.
_OURS = "mapsat-"


class RefusedTool(BaseException):  # no framework may hand it to the model as the error of a tool
    """A call of a real tool by the agent was refused."""


class Scope:
    """One episode, from the point of view of the guarded tools.

    Attributes:
        episode: ``call`` has the sandbox answer, given the name of a tool and its arguments; ``names`` are those of the case's tools, and ``runs`` tells whether a tool's own body runs.
        answers: whether the sandbox answers every tool of a framework, as where one of our adapters plays the agent.
        mcp_url: returns the address of the case's tools over MCP; served from the first time that it is asked for.
        refused: why the first call was refused that would have been a real one; empty where none was.
        heard: what is heard of the models that the agent asks by itself.
    """

    heard: Any = None

    def __init__(self, episode: Any) -> None:
        self.episode = episode
        self.answers = False
        self.mcp_url: Callable[[], str] | None = None
        self.refused = ""
        _under_way.append(self)

    @contextmanager
    def replying(self) -> Iterator[None]:
        """Mark calls in this context as the agent's, until its reply ends or ``end`` is called."""
        _under_way.append(self)
        try:
            with _entered(_Here(self, answers=False)):
                yield
        finally:
            _under_way.remove(self)

    def end(self) -> None:
        """End the episode; threads left behind by the agent remain refused."""
        if self in _under_way:
            _under_way.remove(self)
        _left.update(thread for thread in threading.enumerate() if not _is_ours(thread))


class _Here(NamedTuple):
    """The episode of a context; ``scope`` is None if an episode is running but unknown."""

    scope: Scope | None
    answers: bool


_here: ContextVar[_Here | None] = ContextVar("mapsat_here", default=None)
_LOST = _Here(None, answers=False)
#: What the agent did not call, such as the sandbox's own functions.
_OUTSIDE = _Here(None, answers=True)
_under_way: list[Scope] = []
_left: WeakSet[threading.Thread] = WeakSet()
_sandboxed: WeakValueDictionary[int, Any] = WeakValueDictionary()


_calling: ContextVar[str] = ContextVar("mapsat_calling", default="")


@contextmanager
def calling(agent: str) -> Iterator[None]:
    """Attribute the calls of a block to a named agent of a team; an empty name means that the agent is unknown."""
    before = _calling.get()
    _calling.set(agent or before)
    try:
        yield
    finally:
        _calling.set(before)


def calling_agent() -> str:
    """Return the name of the calling agent; empty if it is unknown or there is only one agent."""
    return _calling.get()


def not_the_agents() -> Any:
    """Return a context in which tools run for real, because the agent does not call them."""
    return _entered(_OUTSIDE)


@contextmanager
def _entered(here: _Here | None) -> Iterator[None]:
    """Set the episode of this context inside a block."""
    before = _here.get()
    _here.set(here)
    try:
        yield
    finally:
        _here.set(before)  # a generator may end in another context, where a token would be refused


def handed_on(function: Callable[..., _T]) -> Callable[..., _T]:
    """Return a function whose calls belong to this context's episode, even if another thread runs it."""
    here = _here.get()

    def run(*given: Any, **options: Any) -> _T:
        with _entered(here):
            return function(*given, **options)

    return run


def _is_ours(thread: threading.Thread) -> bool:
    """Return whether a thread belongs to this program."""
    return thread is threading.main_thread() or thread.name.startswith(_OURS)


def now() -> _Here | None:
    """Return the episode whose agent is calling; None outside an agent's calls, where tools run as usual."""
    here = _here.get()
    if here is not None:
        return None if here is _OUTSIDE else here
    thread = threading.current_thread()
    return _LOST if not _is_ours(thread) and (_under_way or thread in _left) else None


class GuardedCall(NamedTuple):
    """An agent's call of a tool, which may run the tool's real body.

    Attributes:
        framework: its name.
        thing: the object that is called: a tool, a set of tools, an agent, what runs agents.
        name: the attribute that is called.
        body: its value.
        given: the arguments by position.
        options: the arguments by name.
        here: the episode.
    """

    framework: str
    thing: Any
    name: str
    body: Callable[..., Any]
    given: tuple[Any, ...]
    options: dict[str, Any]
    here: _Here

    @property
    def episode(self) -> Any:
        """The episode whose sandbox answers; valid only if ``is_answered``."""
        return self.here.scope and self.here.scope.episode

    @property
    def scopes(self) -> list[Scope]:
        """The episode of the call; all running episodes if it is unknown."""
        return [self.here.scope] if self.here.scope else [*_under_way]

    @property
    def names(self) -> Container[str]:
        """The names of the case's tools; empty if the episode is unknown."""
        return self.episode.names if self.episode else ()

    def runs(self, tool: str) -> bool:
        """Return whether the body of a tool runs, as the user named it as one that runs another agent."""
        return self.episode is not None and self.episode.runs(tool)

    def is_answered(self, *things: Any) -> bool:
        """Return whether the sandbox answers: the agent or one of these objects was passed to ``sandboxed``, or an adapter plays the agent."""
        scope = self.here.scope
        return scope is not None and (
            self.here.answers or scope.answers or any(map(is_sandboxed, (self.thing, *things)))
        )

    def real(self) -> Any:
        """Run the real body, which either belongs to no tool or is answered by the sandbox itself."""
        return self.body(*self.given, **self.options)

    def _answering(self) -> _Here:
        """Return the episode, with all tools answered by the sandbox."""
        return self.here if self.here is _LOST else self.here._replace(answers=True)

    def started(self) -> Any:
        """Run a body that starts an agent in its own tasks; the sandbox answers all tools of that agent."""
        with _entered(self._answering()):
            return self.real()

    def inside(self) -> Any:
        """Run a body that is itself an agent; the sandbox answers all its tools."""
        here, result = self._answering(), self.started()
        is_stream = inspect.isgenerator(result) or hasattr(result, "__aiter__")
        if inspect.isawaitable(result) and not is_stream:
            return _awaited(here, result)
        if is_stream or hasattr(result, "__aenter__"):
            _here.set(here)  # it runs piece by piece in this context, where the sandbox answers from now on
        return result

    def arguments(self, names: Iterable[str] = ()) -> dict[str, Any]:
        """Return the arguments by name, from the body's signature or from the given names; arguments added by frameworks are omitted."""
        bound = inspect.signature(self.body).bind(*self.given, **self.options)
        arguments = dict(bound.arguments)
        for name, parameter in bound.signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                arguments |= arguments.pop(name, {})
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                arguments |= zip(names, arguments.pop(name, ()), strict=False)
        return {name: value for name, value in arguments.items() if not _is_of_a_framework(value)}

    def refuse(self, tool: str, remedy: str = "") -> NoReturn:
        """Refuse a call that would run a real tool; the set-up of the run is to blame, not the agent.

        Args:
            tool: its name.
            remedy: what to do where ``sandboxed`` cannot help.

        Raises:
            RefusedTool: always.
        """
        what, advice = "would have run for real, and was kept from it", _WRITE
        if self.here.scope is None:
            what, advice = "was called on a thread without its context, where the sandbox cannot answer", _START
        message = f"the agent's tool {tool!r} ({self.framework}) {what}: {remedy or advice}"
        for scope in self.scopes:
            scope.refused = scope.refused or message
        raise RefusedTool(message)


async def _awaited(here: _Here, result: Awaitable[Any]) -> Any:
    """Await a result in the context of an episode."""
    with _entered(here):
        return await result


def guarded(framework: str, thing: Any, name: str, body: Any, meet: Callable[[GuardedCall], Any]) -> Any:
    """Return a replacement for a tool's body: inside an episode, ``meet`` decides what a call does."""

    def called(*given: Any, **options: Any) -> Any:
        here = now()
        if here is None:
            return body(*given, **options)
        return meet(GuardedCall(framework, thing, name, body, given, options, here))

    if not inspect.iscoroutinefunction(body):
        return wraps(body)(called)

    @wraps(body)
    async def awaited(*given: Any, **options: Any) -> Any:
        result = called(*given, **options)
        return await result if inspect.isawaitable(result) else result

    return awaited


def is_stand_in(function: Any) -> bool:
    """Return whether a function was created by ``sandboxed``."""
    return getattr(function, "mapsat_answers", False) is True


def is_sandboxed(thing: Any) -> bool:
    """Return whether an object was passed to ``sandboxed``."""
    return _sandboxed.get(id(thing)) is thing


def sandboxed(tools: _T) -> _T:
    """Let the sandbox answer these tools inside episodes; elsewhere the tools run as usual.

    Args:
        tools: an agent or a graph of a framework, whose tools are meant, and those of the agents that it runs; a tool, a set of tools, a
            session with an MCP server; a plain function; a list, tuple or dict of these.

    Returns:
        The same kind of thing, with the same names and schemas: an object of a framework itself, a function in place of a function.

    Raises:
        TypeError: it is none of these.
    """
    answered: Any = tools
    if isinstance(answered, list | tuple):
        answered = type(answered)(map(sandboxed, answered))
    elif isinstance(answered, dict):
        answered = {name: sandboxed(tool) for name, tool in answered.items()}
    elif inspect.isroutine(answered):
        answered = _stand_in(answered)
    elif type(answered).__name__ == "_TaskFunction":  # of LangGraph: the function in it would run for real
        raise TypeError("sandboxed() takes the function of a task, not the task: write @task above @sandboxed")
    elif _is_of_a_framework(answered):
        _sandboxed[id(answered)] = answered
    else:
        raise TypeError(
            f"sandboxed() takes an agent, tools or a function, not an object of type {type(answered).__name__}"
        )
    result: _T = answered
    return result


def _stand_in(function: Any) -> Any:
    """Return a replacement for a function; the sandbox answers its calls inside episodes."""

    def meet(call: GuardedCall) -> Any:
        return call.episode.call(call.name, call.arguments()).value if call.episode else call.refuse(call.name)

    stand_in = function if is_stand_in(function) else guarded("Python", function, function.__name__, function, meet)
    vars(stand_in)["mapsat_answers"] = True
    return stand_in


def _is_of_a_framework(thing: Any) -> bool:
    """Return whether an object belongs to a framework that has an adapter."""
    modules = [f"{kind.__module__}." for kind in type(thing).__mro__]
    return any(module.startswith(f"{package}.") for module in modules for package in _PACKAGES)
