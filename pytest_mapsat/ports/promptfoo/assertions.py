"""Assertions of promptfoo as checks, where one asks the same; all others are refused with the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pytest_mapsat.model import Check, Json, JsonObject, Matches, schema_problem

_NOT = "not-"
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_MARKS = re.compile(r"[!-/:-@\[-^`{-~]")
_CHECK: TypeAdapter[Any] = TypeAdapter(Check)
#: Types that a model decides in promptfoo; here a requirement in words, without a check, which a judge with a model reads.
_IN_WORDS = ("llm-rubric", "g-eval", "model-graded-closedqa", "trajectory:goal-success")
_CODE = "runs code of the configuration: write it as a check in Python (@mapsat.check)"
_LIKENESS = "measures likeness: name the words that must be there, or let a model read the reply (llm-rubric)"
_FIGURE = "is a ceiling of a run here: --mapsat-fail-under='cost<=0.5' or 'seconds<=30'"
_WHY = {
    **dict.fromkeys(("python", "ruby", "webhook"), _CODE),
    **dict.fromkeys(
        ("similar", "levenshtein", "rouge-n", "bleu", "gleu", "meteor", "f-score", "perplexity", "perplexity-score"),
        _LIKENESS,
    ),
    **dict.fromkeys(("cost", "latency"), _FIGURE),
    **dict.fromkeys(("select-best", "max-score"), "compares providers: use mapsat compare"),
    "human": "is decided by people: use mapsat review",
}


class RefusedError(Exception):
    """An assertion has no counterpart; says why."""


def requirement_of(kind: str, value: Json, threshold: Json) -> tuple[str, JsonObject | None]:
    """Return an assertion as the words of a requirement and its check; None for the check where a model reads the words.

    Args:
        kind: the type, as ``not-contains``.
        value: its value, variables filled in.
        threshold: its threshold, None where it has none.

    Raises:
        RefusedError: no check asks the same.
    """
    plain = kind.removeprefix(_NOT)
    if plain in _IN_WORDS:
        if kind != plain or not isinstance(value, str) or not value.strip():
            raise RefusedError("asks a model for the opposite of its words" if kind != plain else "has no words")
        return value, None
    if plain not in _CHECKS:
        raise RefusedError(_WHY.get(plain, "has no counterpart"))
    if threshold is not None:
        raise RefusedError("has a threshold: a check holds or not")
    check = _CHECKS[plain](value)
    check = check if kind == plain else {"kind": "not", "check": check}
    try:
        _CHECK.validate_python(check)
    except ValidationError as error:
        raise RefusedError(f"makes no check: {error.errors()[0]['msg']}") from None
    words = "" if value is None else f" {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
    return f"the output: {kind}{words}"[:2000], check


def _text(value: Json) -> str:
    """Return a value as the text that is looked for."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value == "":
        raise RefusedError("has no text to look for")
    return str(value)


def _texts(value: Json) -> list[str]:
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise RefusedError("has no list of texts")
    return [_text(part) for part in parts]


def _matches(pattern: str) -> JsonObject:
    try:
        Matches(kind="matches", pattern=pattern).compiled  # noqa: B018  it raises for what RE2 does not read
    except ValidationError:
        raise RefusedError("is longer than a pattern may be") from None
    except ValueError as error:
        raise RefusedError(f"has a pattern that RE2 does not read: {error}") from None
    return {"kind": "matches", "pattern": pattern}


def _literal(text: str) -> str:
    """Return a pattern for a text as it is."""
    return _MARKS.sub(r"\\\g<0>", text)


def _contains(text: str, *, any_case: bool = False) -> JsonObject:
    return _matches(("(?i)" if any_case else "") + _literal(text))


def _equals(value: Json) -> JsonObject:
    if isinstance(value, (dict, list)):
        raise RefusedError("compares with data: ask for a structured output and check its fields (output)")
    return _matches(rf"\A{_literal(_text(value))}\z")


def _regex(value: Json) -> JsonObject:
    pattern = _text(value)
    written = re.fullmatch(r"/(.*)/([a-z]*)", pattern, re.DOTALL)
    if written is None:
        return _matches(pattern)
    flags = "".join(flag for flag in written[2] if flag in "ims")
    return _matches(f"(?{flags}){written[1]}" if flags else written[1])


#: Lines of JavaScript that ask what a check asks, too. Nothing is run: any other code is refused.
_CALLED = re.compile(
    r"""(?:return\s+)?output(?P<lower>\.toLowerCase\(\))?\.(?P<call>includes|startsWith|endsWith)\((?P<quote>['"])(?P<text>[^'"\\]+)(?P=quote)\);?"""
)
_FIELD = re.compile(
    r"""(?:return\s+)?JSON\.parse\(output\)\.(?P<path>\w+(?:\.\w+)*)\s*===?\s*(?P<value>'[^'\\]*'|"[^"\\]*"|true|false|-?\d{1,30}(?:\.\d{1,30})?);?"""
)
_CALLS = {"includes": "icontains", "startsWith": "starts-with", "endsWith": "ends-with"}


def _javascript(value: Json) -> JsonObject:
    code = value.strip() if isinstance(value, str) else ""
    if (field := _FIELD.fullmatch(code)) is not None:
        wanted = json.loads(json.dumps(field["value"][1:-1]) if field["value"][0] in "'\"" else field["value"])
        return {"kind": "output", "path": field["path"], "equals": {"op": "equal", "value": wanted}}
    if (called := _CALLED.fullmatch(code)) is not None and not (called["lower"] and called["call"] != "includes"):
        kind = "contains" if called["call"] == "includes" and not called["lower"] else _CALLS[called["call"]]
        return _CHECKS[kind](called["text"])
    raise RefusedError(_CODE)


def _is_json(value: Json) -> JsonObject:
    if value is None:
        return {"kind": "output", "equals": {"op": "present"}}
    if not isinstance(value, dict) or value.get("type") != "object":
        raise RefusedError("has a schema of no object: structured output is one")
    if (problem := schema_problem(value)) is not None:
        raise RefusedError(f"has a schema that is not read whole: {'.'.join(map(str, problem[0]))}: {problem[1]}")
    return {"kind": "output"}


def _tool(name: Json) -> str:
    if not isinstance(name, str) or not _TOOL.fullmatch(name):
        raise RefusedError("names no tool, or a pattern of names")
    return name


def _tool_used(value: Json) -> JsonObject:
    if isinstance(value, list):
        return {"kind": "all", "checks": [_tool_used(member) for member in value]}
    if isinstance(value, str):
        return {"kind": "calls", "tool": _tool(value)}
    if not isinstance(value, Mapping):
        raise RefusedError("names no tool, or a pattern of names")
    counts = {"at_least": value.get("min", 1), "at_most": value.get("max")}
    return {
        "kind": "calls",
        "tool": _tool(value.get("name")),
        **{name: count for name, count in counts.items() if count is not None},
    }


def _tool_arguments(value: Json) -> JsonObject:
    arguments = value.get("args", value.get("arguments")) if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(arguments, dict):
        raise RefusedError("names no tool with arguments")
    if value.get("mode", "partial") != "partial":
        raise RefusedError("asks that there are no other arguments (mode: exact)")
    return {
        "kind": "calls",
        "tool": _tool(value.get("name")),
        "with": {name: {"op": "equal", "value": wanted} for name, wanted in arguments.items()},
    }


def _tool_sequence(value: Json) -> JsonObject:
    steps = value.get("steps") if isinstance(value, Mapping) else value
    mode = value.get("mode", "in_order") if isinstance(value, Mapping) else "in_order"
    if not isinstance(steps, list) or not all(map(_tool, steps)) or mode not in ("in_order", "exact"):
        raise RefusedError("is no list of tools, in order or exactly")
    return {"kind": "calls", "steps": steps, "match": mode}


def _several(combination: str, *, any_case: bool) -> Callable[[Json], JsonObject]:
    return lambda value: {"kind": combination, "checks": [_contains(text, any_case=any_case) for text in _texts(value)]}


_CHECKS: Mapping[str, Callable[[Json], JsonObject]] = {
    "equals": _equals,
    "contains": lambda value: _contains(_text(value)),
    "icontains": lambda value: _contains(_text(value), any_case=True),
    "contains-all": _several("all", any_case=False),
    "icontains-all": _several("all", any_case=True),
    "contains-any": _several("any", any_case=False),
    "icontains-any": _several("any", any_case=True),
    "starts-with": lambda value: _matches(rf"\A{_literal(_text(value))}"),
    "ends-with": lambda value: _matches(rf"{_literal(_text(value))}\z"),
    "regex": _regex,
    "is-json": _is_json,
    "javascript": _javascript,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-args-match": _tool_arguments,
    "trajectory:tool-sequence": _tool_sequence,
}
