"""The user's own tools: found behind a name or an object, described, and called."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import Parameter
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from pytest_mapsat.agents import EventLoop, describe, load
from pytest_mapsat.formats import is_obvious, limits
from pytest_mapsat.model import Entities, Json, JsonObject, MapsatError, Tool, UsageError, did_you_mean, shown
from pytest_mapsat.user_code import UserCodeError, call_user_code

#: A recording says more than its result: case, tool, arguments.
_MOST_BYTES = limits.RECORDING_BYTES // 2
#: A result stands three deep in a recording, and deeper in a run file, which allows for it.
_DEEPEST = limits.DEPTH - 4
_LONGEST_NUMBER = 10**limits.NUMBER_CHARS
#: Lists that hold each other many times over would never end.
_MOST_VALUES = 1_000_000

#: How the name of a tool that changes something often begins.
_WRITES = re.compile(
    r"(?:add|append|apply|book|buy|cancel|change|charge|close|commit|create|delete|edit|insert|mark|modify|move|order|pay|place|post|put|refund|register"
    r"|remove|rename|rent|reorder|reschedule|reserve|return|save|schedule|send|set|submit|transfer|update|write)(?:_|[A-Z]|$)"
)


def changes_something(name: str) -> bool:
    """Return whether the name of a tool says that it changes something: ``book_table``."""
    return _WRITES.match(name) is not None


class NotPlainError(ValueError):
    """A value that no recording can hold; the message says where and why."""


def plain(value: Any) -> Json:
    """Return a deep copy of a value as JSON data. Tuples become lists; dataclasses and pydantic models become objects.

    Raises:
        NotPlainError: a value in it is none of JSON's, or it is too large for a recording.
    """
    data = _Copy().of(value, "", 0)
    size = len(json.dumps(data, ensure_ascii=False).encode())
    if size > _MOST_BYTES:
        raise NotPlainError(f"a result of {size:,} bytes; a recording holds {_MOST_BYTES:,}")
    return data


class _Copy:
    """One copy under way, with what is left of its size."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def of(self, value: Any, place: str, depth: int) -> Json:
        self._left -= 1
        if self._left < 0:
            raise NotPlainError(f"more than {_MOST_VALUES:,} values")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _text(str.__str__(value), place)
        if isinstance(value, int) and abs(value) < _LONGEST_NUMBER:
            return int(value)
        if isinstance(value, float) and isfinite(value):
            return float(value)
        if depth >= _DEEPEST:
            raise NotPlainError(f"{_at(place)}lists and objects that stand more than {_DEEPEST} deep")
        if isinstance(value, (list, tuple)):
            return [self.of(member, f"{place}.{index}", depth + 1) for index, member in enumerate(value)]
        members = _members(value)
        if members is None:
            kind = f"the number {value}" if isinstance(value, float) else f"a {type(value).__name__}"
            raise NotPlainError(f"{_at(place)}{kind}, which JSON cannot hold: return text, numbers, lists and dicts")
        odd = next((key for key in members if not isinstance(key, str)), None)
        if odd is not None:
            raise NotPlainError(f"{_at(place)}a key of type {type(odd).__name__}; keys of JSON are text")
        return {_text(key, place): self.of(member, f"{place}.{key}", depth + 1) for key, member in members.items()}


def _members(value: Any) -> Mapping[Any, Any] | None:
    """Return the members of what JSON writes as an object, or None for anything else."""
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        dumped = dump(mode="json")
        return dumped if isinstance(dumped, Mapping) else None
    return None


def _text(value: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotPlainError(f"{_at(place)}text with half of a character, which no file can hold") from None
    return value


def _at(place: str) -> str:
    return f"at {place.lstrip('.')}: " if place else ""


_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?|Attributes):?$")
_ARGUMENT = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")
_SPHINX = re.compile(r"^:param(?:\s+[^:]+?)?\s+(\w+):\s*(.+)$")
#: Keys that hold the name of a thing, the likeliest first.
_NAMES = ("name", "title", "label")
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_ONLY)


def tool_of(name: str, function: Callable[..., Any]) -> Tool:
    """Return the spec of a function as a tool.

    Parameters have the JSON Schema of their type hints, as pydantic gives it, and the words of the docstring (Google's or Sphinx's style).
    A parameter whose name obviously stands for a secret is declared as one.
    """
    hints: dict[str, Any] = {}
    with suppress(UserCodeError):  # a hint names what cannot be found: then there are none
        hints = call_user_code(typing.get_type_hints, _routine(function), include_extras=True)
    about, words = _docstring(function)
    definitions: JsonObject = {}
    properties: JsonObject = {}
    required = []
    parameters = _parameters(function)
    for parameter in parameters:
        if parameter.kind not in _NAMED:
            continue
        schema = properties[parameter.name] = (
            _schema_of(hints[parameter.name], definitions) if parameter.name in hints else {}
        )
        if parameter.name in words:
            schema["description"] = words[parameter.name]
        if parameter.default is Parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None and _is_plain(parameter.default):
            schema["default"] = parameter.default
    return _tool(
        name,
        about,
        {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters),
            **({"$defs": definitions} if definitions else {}),
        },
    )


def tool_of_schema(schema: Mapping[str, Any]) -> Tool:
    """Return the spec of a tool from its schema in the form of OpenAI, Anthropic or MCP. Raises ValueError where it is none of these."""
    function = schema.get("function", schema)
    keys = ("parameters", "input_schema", "inputSchema")
    inputs: JsonObject = next((function[key] for key in keys if key in function), {})
    parameters = {"type": "object", "properties": {}, **inputs}
    return _tool(str(function.get("name", "")), str(function.get("description") or ""), parameters)


def _tool(name: str, about: str, parameters: JsonObject) -> Tool:
    return Tool(
        name=name,
        description=about or name.replace("_", " "),
        parameters=parameters,
        secrets=tuple(filter(is_obvious, map(str, parameters.get("properties", {})))),
    )


def with_things(tool: Tool, results: Iterable[Json]) -> Tool:
    """Return a tool that was just derived and says where in its ``results`` things with a name stand, as far as lists of objects with a name tell."""
    entities: dict[str, Entities] = {}
    waiting: list[tuple[str, Json]] = [("", result) for result in results]
    while waiting:
        path, value = waiting.pop(0)
        if isinstance(value, Mapping):
            waiting += [(f"{path}.{key}".lstrip("."), member) for key, member in value.items() if "." not in key]
        elif isinstance(value, list) and value and all(isinstance(member, Mapping) for member in value):
            name = next((key for key in _NAMES if all(_is_name(member.get(key)) for member in value)), None)
            if path and name is not None:
                identity = "id" if all("id" in member for member in value) else None
                entities.setdefault(path, Entities(items=path, name=name, id=identity))
    return tool.model_copy(update={"entities": tuple(entities[path] for path in sorted(entities))})


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _routine(function: Callable[..., Any]) -> Any:
    """Return what has the hints and the docstring of a callable object: its method."""
    return function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C without a signature
        return [Parameter("arguments", Parameter.VAR_KEYWORD)]


def _schema_of(hint: Any, definitions: JsonObject) -> JsonObject:
    try:
        schema: JsonObject = _untitled(call_user_code(lambda: TypeAdapter(hint).json_schema()))
    except UserCodeError:
        return {}  # a type that JSON has nothing for: anything may be given
    inner: JsonObject = schema.pop("$defs", {})
    if any(definitions.get(name, definition) != definition for name, definition in inner.items()):
        return {}
    definitions.update(inner)
    return _without_null(schema)


def _without_null(schema: JsonObject) -> JsonObject:
    """Return ``X | None`` as ``X``: a parameter that may be null may be left out."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1 or len(schema["anyOf"]) == 1:
        return schema
    return {**{key: value for key, value in schema.items() if key != "anyOf"}, **choices[0]}


def _untitled(schema: Any) -> Any:
    """Return a JSON Schema without the titles that pydantic makes of names."""
    if isinstance(schema, list):
        return [_untitled(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    made: JsonObject = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            made[key] = {name: _untitled(member) for name, member in value.items()}
        elif key in ("default", "enum", "const", "examples"):
            made[key] = value
        elif key != "title":
            made[key] = _untitled(value)
    return made


def _is_plain(value: Any) -> bool:
    try:
        return bool(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return False


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring, and what it says of each parameter."""
    text = (inspect.getdoc(_routine(function)) or "").strip()
    lines = [line.strip() for line in text.splitlines()]
    about = []
    for line in lines:
        if not line or _SECTION.match(line) or _SPHINX.match(line):
            break
        about.append(line)
    words: dict[str, str] = {}
    section = ""
    for line in lines:
        if match := _SECTION.match(line):
            section = match[1]
        elif (match := _SPHINX.match(line)) or (
            section in ("Args", "Arguments", "Parameters") and (match := _ARGUMENT.match(line))
        ):
            words[match[1]] = match[2]
    return " ".join(about), words


_EXPECTED = "expected functions: a list or dict of them, a module, an object with methods, or one with call and schemas"


class NoAnswerError(MapsatError):
    """A tool of the user's own gave no answer that can be kept; the message says why."""


class _OwnTool(NamedTuple):
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
        """Return the tools that ``module:attr`` names: a list or dict of functions, a module, an object, a class that is made without arguments, or a toolbox.

        The module is looked for in ``root`` first. Raises UsageError where there is nothing of the kind, or no tool in it.
        """
        return cls.of(load(spec, root=root, what="tools"), spec)

    @classmethod
    def of(cls, target: object, name: str = "tools") -> OwnTools:
        """Return the tools that an object holds. Raises UsageError where it holds none."""
        try:
            tools = call_user_code(lambda: dict(_tools_in(target)))
        except UserCodeError as broken:
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
        """Return the spec of a tool, derived from its signature, type hints and docstring, or from its schema. Raises UsageError where none can be made."""
        try:
            return self._tools[name].spec()
        except (ValidationError, ValueError, TypeError) as error:
            why = (
                "; ".join(str(problem["msg"]) for problem in error.errors())
                if isinstance(error, ValidationError)
                else error
            )
            raise UsageError(f"tools {self.name!r}: {name!r} cannot be described: {why}") from None

    def ask(self, name: str, arguments: JsonObject) -> Json:
        """Call a tool with a copy of some arguments, and return its answer as JSON data. Nothing but this ever calls out.

        Raises:
            NoAnswerError: there is no such tool, it raised, or returned what no recording can hold.
        """
        own = self._tools.get(name)
        if own is None:
            hint = did_you_mean(name, self._tools) or f"there are: {', '.join(self._tools)}"
            raise NoAnswerError(f"{self.name} has no tool {name!r} ({hint})")
        try:
            return call_user_code(self._answer, own.function, plain(arguments))
        except UserCodeError as broken:
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
        by_position = [
            parameter.name for parameter in _parameters(function) if parameter.kind is Parameter.POSITIONAL_ONLY
        ]
        placed = [arguments.pop(name) for name in by_position if name in arguments]
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
        toolbox: Any = target
        for schema in toolbox.schemas():
            name = str(schema.get("function", schema).get("name", ""))
            yield name, _OwnTool(partial(_called, toolbox, name), partial(tool_of_schema, schema))
        return
    named: Iterable[tuple[str, Any]] = ()
    if isinstance(target, Mapping):
        named = ((str(name), function) for name, function in target.items() if callable(function))
    elif isinstance(target, list | tuple | set | frozenset) and all(map(callable, target)):
        named = ((_name_of(function), function) for function in target)
    elif isinstance(target, ModuleType):
        own = ((name, member) for name, member in vars(target).items() if inspect.isfunction(member))
        home = target.__name__
        named = ((name, one) for name, one in own if not name.startswith("_") and one.__module__ == home)
    elif inspect.isroutine(target):
        named = [(_name_of(target), target)]
    elif type(target).__module__ != "builtins":
        methods = ((name, getattr(target, name)) for name in dir(target) if not name.startswith("_"))
        named = ((name, method) for name, method in methods if inspect.isroutine(method))
    yield from ((name, _OwnTool(function, partial(tool_of, name, function))) for name, function in named)


def _called(toolbox: Any, name: str, /, **arguments: Any) -> Any:
    return toolbox.call(name, arguments)


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", None) or getattr(function, "name", None) or type(function).__name__
    return str(name)
