"""A tool's spec from a Python function: its signature, its type hints, its docstring."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from typing import Any

from pydantic import TypeAdapter

from pytest_mapsat.formats import is_obvious
from pytest_mapsat.model import Entities, Json, JsonObject, Tool
from pytest_mapsat.user_code import StrangerError, call_stranger

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

    Args:
        name: the tool's name.
        function: what is called.
    """
    parameters = _parameters(function)
    hints = _hints(function)
    about, words = _docstring(function)
    definitions: JsonObject = {}
    properties = {
        one.name: _property(one, hints.get(one.name, Parameter.empty), words.get(one.name, ""), definitions)
        for one in parameters
        if one.kind in _NAMED
    }
    schema: JsonObject = {"type": "object", "properties": properties}
    required = [one.name for one in parameters if one.kind in _NAMED and one.default is Parameter.empty]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = any(one.kind is Parameter.VAR_KEYWORD for one in parameters)
    if definitions:
        schema["$defs"] = definitions
    return Tool(
        name=name,
        description=about or name.replace("_", " "),
        parameters=schema,
        secrets=tuple(filter(is_obvious, properties)),
    )


def tool_of_schema(schema: Mapping[str, Any]) -> Tool:
    """Return the spec of a tool from its schema in the form of OpenAI, Anthropic or MCP.

    Raises:
        ValueError: it is none of these.
    """
    function = schema.get("function", schema)
    keys = ("parameters", "input_schema", "inputSchema")
    inputs: JsonObject = next((function[key] for key in keys if key in function), {})
    parameters = {"type": "object", "properties": {}, **inputs}
    name = str(function.get("name", ""))
    return Tool(
        name=name,
        description=str(function.get("description") or name.replace("_", " ")),
        parameters=parameters,
        secrets=tuple(filter(is_obvious, map(str, parameters.get("properties", {})))),
    )


def with_things(tool: Tool, results: Iterable[Json]) -> Tool:
    """Return a tool that says where in its results things with a name stand, as far as lists of objects with a name tell.

    Args:
        tool: a tool that was just derived.
        results: what it answered.
    """
    found: dict[str, Entities] = {}
    waiting: list[tuple[str, Json]] = [("", result) for result in results]
    while waiting:
        path, value = waiting.pop(0)
        if isinstance(value, Mapping):
            waiting += [(f"{path}.{key}".lstrip("."), member) for key, member in value.items() if "." not in key]
        elif isinstance(value, list) and value and all(isinstance(member, Mapping) for member in value):
            name = next((key for key in _NAMES if all(_is_name(member.get(key)) for member in value)), None)
            if path and name is not None:
                identity = "id" if all("id" in member for member in value) else None
                found.setdefault(path, Entities(items=path, name=name, id=identity))
    return tool.model_copy(update={"entities": tuple(found[path] for path in sorted(found))})


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def by_position(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters that a function takes by their position only."""
    return tuple(one.name for one in _parameters(function) if one.kind is Parameter.POSITIONAL_ONLY)


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C without a signature
        return [Parameter("arguments", Parameter.VAR_KEYWORD)]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the type hints; none where one names what cannot be found."""
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return call_stranger(typing.get_type_hints, target, include_extras=True)
    except StrangerError:
        return {}


def _property(parameter: Parameter, hint: Any, words: str, definitions: JsonObject) -> JsonObject:
    schema = {} if hint is Parameter.empty else _schema_of(hint, definitions)
    if words:
        schema["description"] = words
    if parameter.default is not Parameter.empty and _is_plain(parameter.default):
        schema["default"] = parameter.default
    return schema


def _schema_of(hint: Any, definitions: JsonObject) -> JsonObject:
    try:
        schema: JsonObject = _untitled(call_stranger(lambda: TypeAdapter(hint).json_schema()))
    except StrangerError:
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
        return value is not None and bool(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return False


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring, and what it says of each parameter."""
    target = function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__
    text = (inspect.getdoc(target) or "").strip()
    lines = [line.strip() for line in text.splitlines()]
    about = []
    for line in lines:
        if not line or _SECTION.match(line) or _SPHINX.match(line):
            break
        about.append(line)
    words: dict[str, str] = {}
    section = ""
    for line in lines:
        if found := _SECTION.match(line):
            section = found[1]
        elif (found := _SPHINX.match(line)) or (
            section in ("Args", "Arguments", "Parameters") and (found := _ARGUMENT.match(line))
        ):
            words[found[1]] = found[2]
    return " ".join(about), words
