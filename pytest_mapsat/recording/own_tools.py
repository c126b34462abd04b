"""The user's own tools: found behind a name or an object, described, and called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from pytest_mapsat.agents import EventLoop, describe, load
from pytest_mapsat.model import Json, JsonObject, MapsatError, Tool, UsageError, did_you_mean, shown
from pytest_mapsat.user_code import StrangerError, call_stranger

from .derive import by_position, tool_of, tool_of_schema
from .plain import NotPlainError, plain

_EXPECTED = "expected functions: a list or dict of them, a module, an object with methods, or one with call and schemas"


class NoAnswerError(MapsatError):
    """A tool of the user's own gave no answer that can be kept; the message says why."""


@dataclass(frozen=True)
class _OwnTool:
    """One tool: what is called with its arguments by name, and what tells its spec."""

    function: Callable[..., Any]
    spec: Callable[[], Tool]


class OwnTools:
    """The tools of the user's own, by name.

    Attributes:
        name: how messages name them.
    """

    def __init__(self, tools: Mapping[str, _OwnTool], name: str, target: object = None) -> None:
        self.name = name
        self._target = target
        self._tools = dict(sorted(tools.items()))
        self._loop: EventLoop | None = None

    @classmethod
    def load(cls, spec: str, *, root: Path) -> OwnTools:
        """Return the tools that ``module:attr`` names.

        Args:
            spec: names a list or dict of functions, a module, an object, a class that is made without arguments, or a toolbox.
            root: the folder that modules are looked for in first.

        Raises:
            UsageError: there is nothing of the kind, or no tool in it.
        """
        return cls.of(load(spec, root=root, what="tools"), spec)

    @classmethod
    def of(cls, target: object, name: str = "tools") -> OwnTools:
        """Return the tools that an object holds.

        Raises:
            UsageError: it holds none.
        """
        try:
            tools = call_stranger(lambda: dict(_tools_in(target)))
        except StrangerError as broken:
            why = describe(broken.error, blame="infrastructure").message
            raise UsageError(f"tools {name!r}: they cannot be read: {why}") from None
        if not tools:
            raise UsageError(f"tools {name!r}: found {shown(target)}, which holds no tool; {_EXPECTED}")
        return cls(tools, name, target)

    def fresh(self) -> OwnTools:
        """Return the tools as they are before any call where they come from a class, which is made anew; else these, with what calls have left behind."""
        return OwnTools.of(self._target, self.name) if inspect.isclass(self._target) else self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, sorted."""
        return tuple(self._tools)

    def tool(self, name: str) -> Tool:
        """Return the spec of a tool, derived from its signature, type hints and docstring, or from its schema.

        Raises:
            UsageError: no spec can be made of it.
        """
        try:
            return self._tools[name].spec()
        except (ValidationError, ValueError, TypeError) as error:
            why = "; ".join(str(one["msg"]) for one in error.errors()) if isinstance(error, ValidationError) else error
            raise UsageError(f"tools {self.name!r}: {name!r} cannot be described: {why}") from None

    def ask(self, name: str, arguments: JsonObject) -> Json:
        """Call a tool, and return its answer as JSON data. Nothing but this ever calls out.

        Args:
            name: the tool.
            arguments: its arguments by name; the tool gets a copy.

        Raises:
            NoAnswerError: there is no such tool, it raised, or returned what no recording can hold.
        """
        own = self._tools.get(name)
        if own is None:
            hint = did_you_mean(name, self._tools) or f"there are: {', '.join(self._tools)}"
            raise NoAnswerError(f"{self.name} has no tool {name!r} ({hint})")
        try:
            return call_stranger(self._answer, own.function, plain(arguments))
        except StrangerError as broken:
            error = broken.error
        if isinstance(error, NotPlainError):
            raise NoAnswerError(f"{name} returned {error}")
        raise NoAnswerError(f"{name} raised {describe(error, blame='infrastructure').message}")

    def close(self) -> None:
        """Stop the event loop of tools that are coroutines, if one was needed."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def _answer(self, function: Callable[..., Any], arguments: JsonObject) -> Json:
        placed = [arguments.pop(name) for name in by_position(function) if name in arguments]
        result = function(*placed, **arguments)
        return plain(self._awaited(result) if inspect.isawaitable(result) else result)

    def _awaited(self, result: Any) -> Any:
        # A loop of their own: the agent that waits for this answer may be a coroutine on the other one.
        if self._loop is None:
            self._loop = EventLoop()
        try:
            value, error = self._loop.submit(result).result()
        except CancelledError:
            raise RuntimeError("the tool's coroutine was cancelled") from None
        if error is not None:
            raise error
        return value


def _tools_in(target: object) -> Iterator[tuple[str, _OwnTool]]:
    """Yield the tools that an object holds, by name."""
    if inspect.isclass(target):
        target = target()
    if callable(getattr(target, "call", None)) and callable(getattr(target, "schemas", None)):
        yield from _of_toolbox(target)
    elif isinstance(target, Mapping):
        yield from ((str(name), _own(str(name), function)) for name, function in target.items() if callable(function))
    elif isinstance(target, list | tuple | set | frozenset) and all(map(callable, target)):
        yield from ((_name_of(function), _own(_name_of(function), function)) for function in target)
    elif isinstance(target, ModuleType):
        own = ((name, member) for name, member in vars(target).items() if inspect.isfunction(member))
        yield from (
            (name, _own(name, member))
            for name, member in own
            if not name.startswith("_") and member.__module__ == target.__name__
        )
    elif inspect.isroutine(target):
        yield _name_of(target), _own(_name_of(target), target)
    elif type(target).__module__ != "builtins":
        methods = ((name, getattr(target, name)) for name in dir(target) if not name.startswith("_"))
        yield from ((name, _own(name, method)) for name, method in methods if inspect.isroutine(method))


def _own(name: str, function: Callable[..., Any]) -> _OwnTool:
    return _OwnTool(function, partial(tool_of, name, function))


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", None) or getattr(function, "name", None) or type(function).__name__
    return str(name)


def _of_toolbox(toolbox: Any) -> Iterator[tuple[str, _OwnTool]]:
    for schema in toolbox.schemas():
        name = str(schema.get("function", schema).get("name", ""))
        yield name, _OwnTool(_caller(toolbox, name), partial(tool_of_schema, schema))


def _caller(toolbox: Any, name: str) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        return toolbox.call(name, arguments)

    return call
