"""Agents that are the user's own Python: functions, coroutines, objects, and factories that make one per episode."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, Literal

from pytest_mapsat.model import Case, UsageError
from pytest_mapsat.sandbox import Toolbox

from . import loop
from .context import AgentContext, Session
from .faults import AgentFault, describe
from .reply import Reply
from .reply_check import checked
from .signature import OFFERED, Wants, WrongSignature, parameters_of, takes_message, wants

_EXAMPLE = 'an agent is a callable, at the least: def agent(message, tools): return "text"'
_FOR_FACTORIES = OFFERED[1:]


@dataclass(frozen=True)
class CallableSource:
    """An agent that is called, or a factory that is asked for one in each episode."""

    spec: str
    agent: object
    function: Callable[..., Any]
    takes: Wants
    is_factory: bool
    kind: Literal["agent"] = "agent"
    name: str = "agent"

    @property
    def shared(self) -> bool:
        """Whether all episodes talk to the one object."""
        return not self.is_factory

    def open(
        self,
        case: Case,  # noqa: ARG002  # an agent is not given the case
        toolbox: Toolbox,
        context: Callable[[], AgentContext],
        session: Session,
    ) -> CallableConversation:
        """Return the agent for one episode; a factory is called with the first message."""
        return CallableConversation(self, toolbox, context, session)


class CallableConversation:
    """One episode with a callable."""

    def __init__(
        self, source: CallableSource, toolbox: Toolbox, context: Callable[[], AgentContext], session: Session
    ) -> None:
        self._source = source
        self._toolbox = toolbox
        self._context = context
        self._session = session
        self._agent: tuple[Callable[..., Any], Wants] | None = None
        self._waiting: Future[Any] | None = None

    def reply(self, message: str) -> Reply:
        """Call the agent; see ``Conversation.reply``."""
        try:
            return self._answer(message)
        except (KeyboardInterrupt, AgentFault):
            raise
        except BaseException as error:  # noqa: BLE001  # whatever an agent, or what it returned, raises is its own fault
            fault = describe(error, blame="agent")
        raise AgentFault(fault.message, fault.detail)

    def cancel(self) -> None:
        """Cancel the coroutine that is waited for, if there is one."""
        if self._waiting is not None:
            loop.cancel(self._waiting)

    def _answer(self, message: str) -> Reply:
        if self._agent is None:
            self._agent = self._make()
        function, takes = self._agent
        return checked(self._call(function, takes, self._offered() | {"message": message}))

    def _offered(self) -> dict[str, Any]:
        return {"tools": self._toolbox, "context": self._context(), "session": self._session}

    def _make(self) -> tuple[Callable[..., Any], Wants]:
        source = self._source
        if not source.is_factory:
            return source.function, source.takes
        made = self._call(source.function, source.takes, self._offered())
        return _product(made, source.spec)

    def _call(self, function: Callable[..., Any], takes: Wants, offered: Mapping[str, Any]) -> Any:
        result = takes.call(function, offered)
        return self._awaited(result) if inspect.isawaitable(result) else result

    def _awaited(self, result: Any) -> Any:
        self._waiting = loop.submit(result)
        try:
            value, error = self._waiting.result()
        except CancelledError:
            raise AgentFault("the agent's coroutine was cancelled") from None
        finally:
            self._waiting = None
        if error is not None:
            raise error
        return value


def callable_source(target: object, spec: str) -> CallableSource:
    """Return the source for an object that the user named.

    Raises:
        UsageError: it is neither an agent nor something that makes one.
    """
    function, is_factory = _entry(target), inspect.isclass(target)
    if function is None:
        raise UsageError(f"agent {spec!r} is {_what(target)}; {_EXAMPLE}")
    try:
        parameters = parameters_of(function)
        is_factory = is_factory or not takes_message(parameters)
        takes = wants(parameters, _FOR_FACTORIES if is_factory else OFFERED)
    except WrongSignature as error:
        raise UsageError(f"agent {spec!r} cannot be called: {error}; {_EXAMPLE}") from None
    return CallableSource(spec, target, function, takes, is_factory)


def _entry(target: object) -> Callable[..., Any] | None:
    """Return what is called: ``reply`` of an object that has one, else the object itself."""
    if not inspect.isroutine(target) and not inspect.isclass(target) and not inspect.ismodule(target):
        method: Callable[..., Any] | None = getattr(target, "reply", None)
        if callable(method):
            return method
    return target if callable(target) else None


def _product(made: object, spec: str) -> tuple[Callable[..., Any], Wants]:
    function = None if inspect.isclass(made) else _entry(made)
    if function is None:
        raise AgentFault(
            f"the factory {spec!r} returned {_what(made)}; expected a callable that takes message, or an object with reply()"
        )
    try:
        parameters = parameters_of(function)
        takes = wants(parameters)
    except WrongSignature as error:
        raise AgentFault(f"what the factory {spec!r} returned cannot be called: {error}") from None
    if not takes_message(parameters):
        raise AgentFault(f"what the factory {spec!r} returned takes no 'message'")
    return function, takes


def _what(target: object) -> str:
    if target is None:
        return "None"
    if inspect.ismodule(target):
        return f"the module {target.__name__}"
    return f"the class {target.__name__}" if inspect.isclass(target) else f"an object of type {type(target).__name__}"
