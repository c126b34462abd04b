"""Calls with wrong values of every kind: whatever an agent gives, the world answers, and its case is not lost."""

from collections.abc import Iterator
from typing import Any

WRONG = (
    None, True, 0, -1, 2**63, 10**300, 1e308, -1e308, 5e-324, "", " ", "2", "x" * 3000, "\x00", "é💥", "9999-12-31 23:59:59", "0000-00-00", "-" * 400 + "1",
    "9" * 400, [], [[]], [None], ["x"] * 40, {}, {"": None}, {"a": {"b": [1]}},
)  # fmt: skip
_USUAL = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def wrong_calls(tools: Any, usual: dict[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give calls of each tool in which one argument is wrong; the others are the usual ones of the tool, where it has some."""
    for name, tool in tools.items():
        properties = tool.parameters.get("properties", {})
        given = {key: _USUAL.get(schema.get("type"), "x") for key, schema in properties.items()} | usual.get(name, {})
        for key in properties:
            for value in WRONG:
                yield name, {**given, key: value}
                if isinstance(given[key], list) and given[key]:
                    yield name, {**given, key: [*given[key][:-1], value]}


def assert_all_are_answered(make: Any, usual: dict[str, dict[str, Any]]) -> None:
    """Play all of these calls of the tools of agents and users; ``make`` makes the sandbox."""
    sandbox = make()
    tools = {name: tool for name, tool in sandbox.tools.items() if tool.by != "world"}
    statuses = [sandbox.call(name, arguments).status for name, arguments in wrong_calls(tools, usual)]
    assert set(statuses) <= {"ok", "error", "refused"}
    assert len(statuses) > len(WRONG)
