"""The user's own tools: found wherever they are kept, described from what Python knows of them, and asked."""

import enum
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Literal

import pytest

from pytest_mapsat.model import UsageError
from pytest_mapsat.recording import NoAnswerError, OwnTools
from pytest_mapsat.sandbox import Toolbox


class Size(enum.Enum):
    small = "s"
    large = "l"


@dataclass
class Place:
    name: str
    lon: float


def find(
    query: str, near: Place | None = None, size: Size = Size.small, by: Literal["foot", "car"] = "foot", api_key=""
):
    """Find a place
    by its name.

    Args:
        query: what to look for
        size (Size): how big

    Returns:
        places
    """
    return {"places": [Place(query, 1.5)], "by": (by,)}


def bare(x, *, y: "NoSuchName" = 3):  # noqa: F821
    return [x, y]


class Client:
    def __init__(self):
        self._key = "k"

    def ping(self):
        return "pong"

    def _hidden(self):
        return None


def module_of() -> ModuleType:
    module = ModuleType("m")
    exec("from json import loads\ndef ping(): return 'pong'\ndef _private(): return 1", module.__dict__)
    return module


def toolbox() -> SimpleNamespace:
    schema = {
        "type": "function",
        "function": {"name": "ping", "description": "Ping.", "parameters": {"type": "object"}},
    }
    return SimpleNamespace(schemas=lambda: [schema], call=lambda name, arguments: "pong")


@pytest.mark.parametrize(
    "target",
    [[Client().ping], {"ping": lambda: "pong"}, Client, Client(), module_of(), toolbox(), Client().ping],
    ids=["list", "dict", "class", "object", "module", "toolbox", "function"],
)
def test_tools_are_found_in_whatever_holds_them(target):
    tools = OwnTools.of(target)
    assert tools.names == ("ping",)
    assert tools.ask("ping", {}) == "pong"
    assert tools.tool("ping").name == "ping"


@pytest.mark.parametrize("target", [[], {}, 3, "text", [1], ModuleType("empty")], ids=repr)
def test_what_holds_no_tool_is_a_usage_error_that_says_what_may(target):
    with pytest.raises(UsageError, match="tools 'tools': "):
        OwnTools.of(target)


def test_a_tool_is_described_by_its_signature_type_hints_and_docstring():
    tool = OwnTools.of([find]).tool("find")
    assert tool.description == "Find a place by its name."
    assert tool.parameters["required"] == ["query"]
    assert tool.parameters["additionalProperties"] is False
    properties = tool.parameters["properties"]
    assert properties["query"] == {"type": "string", "description": "what to look for"}
    assert properties["by"] == {"type": "string", "enum": ["foot", "car"], "default": "foot"}
    assert properties["size"] == {"type": "string", "enum": ["s", "l"], "description": "how big"}
    assert properties["near"] == {"$ref": "#/$defs/Place"}
    assert set(tool.parameters["$defs"]["Place"]["properties"]) == {"name", "lon"}
    assert tool.secrets == ("api_key",)


def test_a_function_that_says_nothing_of_itself_is_described_all_the_same():
    tool = OwnTools.of([bare]).tool("bare")
    assert tool.description == "bare"
    assert tool.parameters["properties"] == {"x": {}, "y": {"default": 3}}


def test_dataclasses_and_tuples_are_answered_as_json():
    assert OwnTools.of([find]).ask("find", {"query": "a"}) == {"places": [{"name": "a", "lon": 1.5}], "by": ["foot"]}


def test_parameters_that_are_taken_by_position_only_are_given_so():
    def near(x, y=2, /, *, z=3):
        return [x, y, z]

    tools = OwnTools.of([near])
    assert tools.tool("near").parameters["required"] == ["x"]
    assert tools.ask("near", {"z": 5, "y": 4, "x": 1}) == [1, 4, 5]


def test_a_coroutine_is_awaited_also_where_a_loop_is_running():
    import asyncio

    async def slow(n: int):
        await asyncio.sleep(0)
        return n + 1

    tools = OwnTools.of([slow])

    async def inside():
        return tools.ask("slow", {"n": 1})

    assert asyncio.run(inside()) == 2
    tools.close()


def lost():
    raise OSError("no network")


def deep():
    value: list = []
    for _ in range(100):
        value = [value]
    return value


def doubled():
    value: list = []
    for _ in range(50):
        value = [value, value]
    return value


class Hostile:
    def __getattr__(self, name):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lost, "lost raised OSError: no network"),
        (deep, "nested more than 60 deep"),
        (doubled, "a result of more than 40,000 bytes"),
        (Hostile, "tool raised RuntimeError: no"),
        (lambda: {"a": [1, {2}]}, "a set, which JSON cannot hold"),
        (lambda: float("inf"), "Out of range float values are not JSON compliant"),
        (lambda: {(1, 2): 2}, "a value that no recording can hold: keys must be str"),
        (lambda: "\ud800", "half of a character"),
        (lambda: "x" * 50_000, "a result of more than .* bytes, the most that a recording holds"),
    ],
)
def test_what_no_recording_can_hold_is_told(function, message, monkeypatch):
    monkeypatch.setattr("pytest_mapsat.recording.own_tools._MOST_BYTES", 40_000)  # millions of parts take seconds
    with pytest.raises(NoAnswerError, match=message):
        OwnTools.of({"lost" if function is lost else "tool": function}).ask("lost" if function is lost else "tool", {})


def test_an_unknown_tool_is_told_with_a_guess():
    with pytest.raises(NoAnswerError, match=r"tools has no tool 'fnd' \(did you mean 'find'\?\)"):
        OwnTools.of([find]).ask("fnd", {})


def test_our_own_toolbox_can_be_wrapped_again():
    tool = OwnTools.of([find]).tool("find")
    again = OwnTools.of(Toolbox({"find": tool}, lambda name, arguments: [name, arguments]))
    assert again.ask("find", {"query": "a"}) == ["find", {"query": "a"}]
    assert again.tool("find").parameters == tool.parameters
