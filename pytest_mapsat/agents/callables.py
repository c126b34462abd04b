"""Agents that are the user's own Python: functions, coroutines, objects, agents of a framework, and factories that make one per episode.

How a callable wants its arguments is read once from its signature; a call then costs a dict.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from inspect import Parameter, iscoroutinefunction
from threading import Event, Lock, Thread, current_thread, local, main_thread
from typing import TYPE_CHECKING, Any

from pytest_mapsat.guard import RefusedTool, Scope
from pytest_mapsat.interpreter import reserve
from pytest_mapsat.llm import HeardModels
from pytest_mapsat.model import UsageError, hint_at
from pytest_mapsat.reply import Reply
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error

from .frameworks import Adapter, AdapterEpisode, adapter_for, unwatch, wanted_by, watch
from .returned import AgentFault, checked, described
from .source import (
    AgentContext,
    AgentSource,
    Conversation,
    WantedContext,
    has_thought,
    kept_of,
    tools_to_run,
    with_earlier,
)

if TYPE_CHECKING:
    from .tool_server import ToolEndpoint

_EXAMPLE = 'an agent is a callable, at the least: def agent(message, tools): return "text"'
#: What an agent may take, by name.
OFFERED = ("message", "tools", "context", "session")
_FOR_FACTORIES = OFFERED[1:]


class CallableConversation(Conversation):
    """One episode with an agent that is a Python callable."""

    _source: CallableSource

    def __init__(self, *handed: Any) -> None:
        super().__init__(*handed)
        self._agent: tuple[Callable[..., Any], tuple[str, ...]] | None = None
        self._adapted = False
        self._waiting: Future[Any] | None = None
        self._close: Callable[[], Any] | None = None
        run = self._source.run | tools_to_run(self._session)
        self._scope = Scope(AdapterEpisode(self._toolbox, AgentContext(), self._session, run=run))
        self._scope.mcp_url = self._serve
        self._heard = self._scope.heard = HeardModels()
        self._lease = ExitStack()
        self._endpoint: ToolEndpoint | None = None
        watch()

    @property
    def refused(self) -> str:
        """The reason why a real tool of the agent was not run; empty if no tool was refused."""
        return self._scope.refused

    def reply(self, message: str) -> Reply:
        """Call the agent; see ``Conversation.reply``."""
        self._heard.answers = []
        with self._scope.replying():
            try:
                reply, error = call_user_code(self._answer, message), None
            except (UserCodeError, MemoryError) as broken:
                error = broken.error if isinstance(broken, UserCodeError) else broken
                if issubclass(type(error), MemoryError):  # an exception of others may say anything of its class
                    reserve.release()  # without this memory Python may crash on the way out of the context
        if not self._adapted and self._heard.answers:
            names = self._scope.episode.names
            self.heard_calls += tuple(call for call in self._heard.new_calls() if call["tool"] in names)
        if refused := self.refused or (str(error) if type(error) is RefusedTool else ""):
            raise AgentFault(refused, blame="infrastructure")
        if error is None:
            return self._with_heard(reply) if self._heard.answers else reply
        if type(error) is not AgentFault:
            fault = described(error)
            error = AgentFault(fault.message, fault.detail, fault.blame)
        error.usage = error.usage or self._scope.episode.spent.usage() or self._heard.usage()
        raise error from None

    def _with_heard(self, reply: Reply) -> Reply:
        """Return a reply with the usage and the thoughts of the models that the agent asked by itself, unless the agent reports its own."""
        usage = self._heard.usage() if reply.usage is None else reply.usage
        silent = not (reply.thoughts or self._adapted or has_thought(self._session))
        return replace(reply, usage=usage, thoughts=self._heard.thoughts() if silent else reply.thoughts)

    def cancel(self) -> None:
        """Cancel the coroutine that is running, if any; the agent is not kept for another task."""
        if self._waiting is not None:
            _cancel(self._waiting)
        if (kept := kept_of(self._session)) is not None:
            kept.forget()  # it is still in its reply

    def _serve(self) -> str:
        """Serve the tools over MCP until the episode is over, and return their address."""
        from .tool_server import import_sdk, serve_tools  # noqa: PLC0415 (for agents that ask for it only)

        if self._endpoint is None:
            import_sdk()
            self._endpoint = self._lease.enter_context(serve_tools(self._toolbox))
        return self._endpoint.url_with_token

    def close(self) -> None:
        """Release the resources of an agent of a framework, such as connections and processes."""
        self._lease.close()
        self._scope.mcp_url = None  # what refers to itself stays until Python's collector comes by
        self._scope.end()
        if self._close is None:
            return
        with suppress(UserCodeError):
            result = call_user_code(self._close)
            if inspect.isawaitable(result):
                wait([_submit(result)], timeout=_CLOSING)

    def _answer(self, message: str) -> Reply:
        """Return the agent's reply to a message; create the agent first if the episode has none yet."""
        if self._agent is None:
            self._agent = self._make()
            if self._adapted:
                message = with_earlier(message, self._session)
        function, takes = self._agent
        return checked(self._call(function, self._arguments(takes, message)))

    def _arguments(self, takes: tuple[str, ...], message: str = "") -> dict[str, Any]:
        """Return the keyword arguments that a callable accepts, chosen by parameter name."""
        makers: dict[str, Callable[[], Any]] = {
            "message": lambda: message,
            "tools": lambda: self._toolbox,
            "context": self._context,
            "session": lambda: self._session,
        }
        return {name: makers[name]() for name in takes}

    def _make(self) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Return the callable that is the agent in this episode, built by the factory if there is one, and its parameters."""
        source = self._source
        if not source.is_factory:
            return source.function, source.takes
        arguments = self._arguments(source.takes)
        if source.gives_native and source.adapter is not None and "tools" in arguments:
            arguments["tools"] = source.adapter.native(self._toolbox)
        kept = kept_of(self._session)
        agent = None if kept is None else kept.made
        if agent is None:
            agent = self._call(source.function, arguments)
        if kept is not None:
            kept.made = agent
        if isinstance(agent, tuple) and len(agent) == 2 and (source.adapter or adapter_for(agent[0])):  # noqa: PLR2004  # an agent and its context
            agent, self._scope.episode.data = agent
        adapter = _adapter_of(agent, source)
        if adapter is not None:
            self._adapted = self._scope.answers = True
            self._scope.episode.context = self._context()
            agent = adapter.start(agent, self._scope.episode)
            self._close = getattr(agent, "close", None)
        return _product(agent, source.spec)

    def _call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call a function and return its result; run an awaitable on the shared event loop until it is done."""
        if not iscoroutinefunction(function):
            _give_loop()
        result = function(**arguments)
        if not inspect.isawaitable(result):
            return result
        self._waiting = _submit(result)
        try:
            value, error = self._waiting.result()
        except CancelledError:
            raise AgentFault("the agent's coroutine was cancelled") from None
        finally:
            self._waiting = None
        if error is not None:
            raise error
        return value


@dataclass(frozen=True)
class CallableSource(AgentSource):
    """An agent that is a callable, or a factory that builds an agent for each episode.

    Attributes:
        takes: the names of the arguments that it takes.
        adapter: of the framework that the agent is built with, where that is known before an episode.
        gives_native: whether the factory is given the tools as the framework's own objects.
        run: names of the agent's tools whose own body runs, besides those that the case names.
    """

    conversation = CallableConversation
    spec: str
    agent: object
    function: Callable[..., Any]
    takes: tuple[str, ...]
    is_factory: bool
    adapter: Adapter | None = None
    gives_native: bool = False
    run: frozenset[str] = frozenset()
    name: str = "agent"

    @property
    def shared(self) -> bool:  # type: ignore[override]
        """Whether all episodes talk to the same object."""
        return not self.is_factory

    @property
    def wants_context(self) -> WantedContext | None:  # type: ignore[override]
        """The context class of the user's own that an agent of a framework takes; None if it takes none or the class is still unknown."""
        if self.adapter is None or not self.adapter.recognises(self.agent):
            return None
        return wanted_by(self.adapter.kind(self.agent))

    @property
    def waits(self) -> bool:  # type: ignore[override]
        """Return whether the agent is a coroutine, as far as is known before it is called."""
        if self.adapter is not None:
            return self.adapter.waits
        replies = [getattr(self.function, name, None) for name in ("reply", "__call__")]
        return any(map(iscoroutinefunction, (self.function, *replies)))


def callable_source(target: object, spec: str) -> CallableSource:
    """Return the source for an object that the user named.

    Raises:
        UsageError: it is neither an agent nor something that makes one.
    """
    adapter = adapter_for(target)
    if adapter is not None:
        return framework_source(target, spec, adapter)
    try:
        function = call_user_code(_entry, target)
    except UserCodeError as broken:
        raise UsageError(f"agent {spec!r} cannot be looked at: {describe_error(broken.error)}; {_EXAMPLE}") from None
    if function is None:
        raise UsageError(f"agent {spec!r} is {_what(target)}; {_EXAMPLE}")
    is_class = inspect.isclass(target)
    try:
        parameters = parameters_of(function)
        is_factory = is_class or not takes_message(parameters)
        takes = arguments_taken(parameters, _FOR_FACTORIES if is_factory else OFFERED, renaming=not is_class)
    except WrongSignature as error:
        raise UsageError(f"agent {spec!r} cannot be called: {error}; {_EXAMPLE}") from None
    return CallableSource(spec, target, function, takes, is_factory)


def framework_source(target: object, spec: str, adapter: Adapter) -> CallableSource:
    """Return the source for an agent of a framework, or for a factory that takes the framework's tools and returns an agent.

    Args:
        target: the agent or the factory.
        spec: what the user named it by.
        adapter: that of the framework.

    Raises:
        UsageError: it is neither, or the agent cannot be played.
    """
    adapter.check()
    if adapter.recognises(target):
        if refusal := adapter.refusal(target):
            raise UsageError(f"agent {spec!r}: {refusal}")
        return CallableSource(spec, target, lambda: target, (), is_factory=True, adapter=adapter)
    if not callable(target):
        names = " or ".join(sorted(name for _, name in adapter.classes))
        raise UsageError(
            f"agent {spec!r} is {_what(target)}; expected a {names}, or a function of `tools` that returns one"
        )
    try:
        takes = arguments_taken(parameters_of(target), _FOR_FACTORIES)
    except WrongSignature as error:
        raise UsageError(f"agent {spec!r} cannot be called to make an agent of {adapter.name}: {error}") from None
    return CallableSource(spec, target, target, takes, is_factory=True, adapter=adapter, gives_native=True)


def _adapter_of(product: object, source: CallableSource) -> Adapter | None:
    """Return the adapter for an object that a factory built; None if the object is called directly.

    Raises:
        AgentFault: it is not what the spec says, or cannot be played.
    """
    adapter = source.adapter or adapter_for(product)
    if adapter is None:
        return None
    if not adapter.recognises(product):
        message = f"the factory {source.spec!r} returned {_what(product)}; expected an agent of {adapter.name}"
        raise AgentFault(message, blame="infrastructure")
    if source.adapter is None or source.gives_native:
        try:
            adapter.check()
        except UsageError as error:
            raise AgentFault(str(error), blame="infrastructure") from None
        if refusal := adapter.refusal(product):
            raise AgentFault(
                f"the agent that the factory {source.spec!r} made cannot be played: {refusal}", blame="infrastructure"
            )
    return adapter


def _entry(target: object) -> Callable[..., Any] | None:
    """Return the function to call: the method ``reply`` if the object has one, else the object itself."""
    if not inspect.isroutine(target) and not inspect.isclass(target) and not inspect.ismodule(target):
        method: Callable[..., Any] | None = getattr(target, "reply", None)
        if callable(method):
            return method
    return target if callable(target) else None


def _product(product: object, spec: str) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """Return the callable of an object that a factory has made, and its arguments. Raises AgentFault, which blames the set-up, if it is not an agent."""
    function = None if inspect.isclass(product) else _entry(product)
    if function is None:
        raise AgentFault(
            f"the factory {spec!r} returned {_what(product)}; expected a callable that takes message, or an object with reply()",
            blame="infrastructure",
        )
    try:
        parameters = parameters_of(function)
        takes = arguments_taken(parameters)
    except WrongSignature as error:
        message = f"the object of the factory {spec!r} cannot be called: {error}"
        raise AgentFault(message, blame="infrastructure") from None
    if not takes_message(parameters):
        raise AgentFault(f"the object of the factory {spec!r} takes no 'message'", blame="infrastructure")
    return function, takes


def _what(target: object) -> str:
    """Return a description of an object for messages: None, its module, its class or its type."""
    if target is None:
        return "None"
    if inspect.ismodule(target):
        return f"the module {target.__name__}"
    return f"the class {target.__name__}" if inspect.isclass(target) else f"an object of type {type(target).__name__}"


class WrongSignature(Exception):  # noqa: N818  # becomes a UsageError or a fault, as the case may be
    """The callable wants an argument that does not exist."""


def parameters_of(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a callable.

    Raises:
        WrongSignature: the callable does not tell them (some built-in functions).
    """
    try:
        return tuple(call_user_code(inspect.signature, function).parameters.values())
    except UserCodeError:
        raise WrongSignature("its signature cannot be read; wrap it in a function") from None


def takes_message(parameters: tuple[Parameter, ...]) -> bool:
    """Return whether a callable with these parameters is an agent rather than a factory."""
    return any(parameter.name == "message" or parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)


def arguments_taken(
    parameters: tuple[Parameter, ...], offered: tuple[str, ...] = OFFERED, *, renaming: bool = True
) -> tuple[str, ...]:
    """Return the names of the offered arguments that a callable with these parameters accepts.

    Args:
        parameters: what it takes.
        offered: what there is.
        renaming: whether one that is not offered may be the message by another name.

    Raises:
        WrongSignature: it requires another argument, or an argument without a name.
    """
    single = [p for p in parameters if p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)]
    required = [p for p in single if p.default is Parameter.empty]
    unknown = [p.name for p in required if p.name not in OFFERED]
    if renaming and len(unknown) == 1 and not takes_message(parameters):
        raise WrongSignature(f"it requires {unknown[0]!r}: rename `{unknown[0]}` to `message`")
    for parameter in required:
        if parameter.name not in offered:
            given = ", ".join(offered) + hint_at(parameter.name, offered)
            raise WrongSignature(f"it requires {parameter.name!r}, but the arguments, given by name, are {given}")
        if parameter.kind is Parameter.POSITIONAL_ONLY:
            raise WrongSignature(f"it takes {parameter.name!r} by its place alone, and arguments are given by name")
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        return offered
    return tuple(p.name for p in single if p.kind is not Parameter.POSITIONAL_ONLY and p.name in offered)


# -- one event loop, for every agent that is a coroutine -----------------------------------------------------------------
# On a thread of its own: a test of the user's may be running in a loop already, and no async plugin is needed.


class _ThreadLoop:
    """The event loop that ``asyncio.get_event_loop()`` returns on one of our threads, as on a main thread; closed with the thread."""

    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415 (it is imported)

        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

    def __del__(self) -> None:
        if not self._loop.is_running():
            self._loop.close()


_of_this_thread = local()


def _give_loop() -> None:
    """Give this thread an event loop, unless it is the main thread, has a loop already, or asyncio is not imported yet."""
    if "asyncio" in sys.modules and current_thread() is not main_thread() and not hasattr(_of_this_thread, "loop"):
        _of_this_thread.loop = _ThreadLoop()


class EventLoop:
    """An event loop that runs on a daemon thread until it is stopped."""

    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415 (for coroutines only)

        self._asyncio = asyncio
        self._loop = asyncio.new_event_loop()
        self._ended = False
        reserve.keep()
        self._thread = Thread(target=self._run, name="mapsat-loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Run the loop until it ends; restart it after each exception that escapes from it."""
        while not self._ended and not self._loop.is_closed():
            # A SystemExit in a task or a callback comes out here; who waits for the task hears of it there.
            with suppress(BaseException):
                self._loop.run_forever()
        self._loop.close()

    def submit(self, awaitable: Awaitable[Any]) -> Future[tuple[Any, BaseException | None]]:
        """Start an awaitable on the loop, and return a future with its result or exception."""
        return self._asyncio.run_coroutine_threadsafe(self._outcome(awaitable), self._loop)

    def answers(self) -> bool:
        """Return whether the loop runs a callback within half a second."""
        turned = Event()
        self._loop.call_soon_threadsafe(turned.set)
        return turned.wait(_PATIENCE)

    def dismiss(self) -> None:
        """Cancel the tasks of the loop and end it, without waiting for the end."""
        self._asyncio.run_coroutine_threadsafe(self._end(), self._loop)

    def stop(self) -> None:
        """End the loop, and wait for it a little; a blocked one is left behind on its daemon thread."""
        self.dismiss()
        self._thread.join(2 * _PATIENCE)

    async def _end(self) -> None:
        """Cancel all tasks and stop the loop; leave it running if a task does not end in time."""
        tasks = self._asyncio.all_tasks() - {self._asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks and (await self._asyncio.wait(tasks, timeout=_PATIENCE))[1]:
            return  # to destroy a coroutine that will not end is to run it: it is left behind with its daemon thread
        await self._loop.shutdown_asyncgens()
        self._ended = True
        self._loop.stop()

    async def _outcome(self, awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
        """Return the awaited value and None, or None and the exception: a SystemExit raised in a task would stop the loop."""
        try:
            return await awaitable, None
        except self._asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            if isinstance(error, MemoryError):
                reserve.release()  # without this memory the loop cannot wake the thread that waits
            return None, error


#: How long a loop may need to answer after a coroutine was cancelled, seconds, before it counts as blocked.
_PATIENCE = 0.5
#: How long an agent of a framework may take to close its connections, seconds.
_CLOSING = 10
_lock = Lock()
_running: EventLoop | None = None


def _submit(awaitable: Awaitable[Any]) -> Future[tuple[Any, BaseException | None]]:
    """Start an awaitable on the shared loop, which is started when it is first needed."""
    global _running  # noqa: PLW0603  # one loop for the process
    with _lock:
        if _running is None:
            _running = EventLoop()
        return _running.submit(awaitable)


def _cancel(future: Future[Any]) -> None:
    """Cancel a submitted future; if a coroutine blocks the loop, give the loop up for a new one."""
    global _running  # noqa: PLW0603  # likewise
    future.cancel()
    loop = _running
    if loop is not None and not loop.answers():
        with _lock:
            if _running is loop:
                _running = None
                loop.dismiss()


def shutdown() -> None:
    """Stop the shared loop, if there is one, and undo the patches of the frameworks."""
    global _running  # likewise
    unwatch()
    with _lock:
        loop, _running = _running, None
    if loop is not None:
        loop.stop()
