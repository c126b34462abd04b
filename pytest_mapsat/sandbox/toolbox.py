"""What an agent is handed: the tools it may call, and nothing else of the case."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pytest_mapsat.model import Json, JsonObject, Tool, canonical_json


class ToolsClosed(RuntimeError):  # noqa: N818  # an agent reads this name
    """A tool was called, or a thought kept, when no reply is under way, or too often."""

    def __init__(
        self, why: str = "no reply is under way: tools can be called, and thoughts kept, only while the agent is asked"
    ) -> None:
        super().__init__(why)


class Toolbox:
    """Tools that are called by name: ``tools.search_poi(query="...")`` or ``tools.call("search_poi", {"query": "..."})``.

    It holds the public schemas of the agent's own tools, as text, and ``call``, the function that makes the calls. Any public name can be called: a tool
    that does not exist answers with an error, as a real server would.
    """

    __slots__ = ("_call", "_public", "_schemas")

    def __init__(self, tools: Mapping[str, Tool], call: Callable[[str, JsonObject], Json]) -> None:
        self._call = call
        self._schemas, public = _shown(tools)
        self._public = dict(public)

    def call(self, name: str, arguments: JsonObject | None = None) -> Json:
        """Call a tool with arguments by name, and return its JSON result."""
        return self._call(name, {} if arguments is None else arguments)

    def schemas(self) -> list[JsonObject]:
        """Return the tools in the form of OpenAI function calling, a fresh copy each time."""
        schemas: list[JsonObject] = json.loads(self._schemas)
        return schemas

    def __getattr__(self, name: str) -> Callable[..., Json]:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        description, parameters = self._public.get(name, ("", ()))
        return _function(name, self._call, description, parameters)

    def __dir__(self) -> list[str]:
        return sorted({"call", "schemas", *self._public})

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self._public)})"


_Public = Mapping[str, tuple[str, tuple[str, ...]]]
#: What is shown of a suite's tools, made once for all episodes; the tools stand beside it so that their ids stay theirs.
_made: dict[tuple[int, ...], tuple[tuple[Tool, ...], str, _Public]] = {}
_MADE_AT_MOST = 64


def _shown(tools: Mapping[str, Tool]) -> tuple[str, _Public]:
    """Return the tools' schemas as JSON text, and their descriptions and parameters by name."""
    key = tuple(map(id, tools.values()))
    if key not in _made:
        own = {name: tool for name, tool in tools.items() if tool.for_agent}
        if len(_made) >= _MADE_AT_MOST:
            _made.clear()
        schemas = canonical_json(
            [
                {
                    "type": "function",
                    "function": {"name": name, "description": tool.description, "parameters": tool.parameters},
                }
                for name, tool in own.items()
            ]
        )
        public = {name: (tool.description, tuple(tool.parameters.get("properties", {}))) for name, tool in own.items()}
        _made[key] = (tuple(tools.values()), schemas, public)
    _, schemas, shown = _made[key]
    return schemas, shown


def _function(
    name: str, call: Callable[[str, JsonObject], Json], description: str, parameters: tuple[str, ...]
) -> Callable[..., Json]:
    def tool(*positional: Any, **arguments: Json) -> Json:
        if positional:
            names = ", ".join(f"{parameter}=..." for parameter in parameters)
            raise TypeError(f'call {name} by names: tools.{name}({names}), or tools.call("{name}", {{...}})')
        return call(name, arguments)

    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = description
    return tool
