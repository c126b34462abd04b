"""What an agent returned, checked: the harness never fails on it, the agent does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from pytest_mapsat.formats import Lines, Located, validate
from pytest_mapsat.model import RESERVED, JsonObject, Problem, Structured, did_you_mean
from pytest_mapsat.user_code import StrangerError, call_stranger, words_of

from .faults import AgentFault
from .jsondata import as_json, text
from .reply import Reply

_EXPECTED = 'expected a string, a dict, a dataclass, a pydantic model or a Reply, as in: return "text"'
_USAGE = ("input_tokens", "output_tokens", "cost")
#: More tokens, or dollars, than anybody will ever use in one reply.
_MOST = 10**15
#: The most thoughts in one reply; they are kept in the run file.
_MANY = 10_000


def checked(value: object, *, form: bool = False) -> Reply:
    """Return what the agent returned as a Reply of plain data.

    Data (a dict, a dataclass, a pydantic model) are the output, and what they have under ``text`` is the text; without it, their JSON is.

    Args:
        value: what it returned.
        form: whether it was asked for a form: no key of its output is reserved.

    Raises:
        AgentFault: it is none of what an agent may return, or a part of it is not what it should be.
    """
    if isinstance(value, str):
        return Reply(text(value))
    if _is_data(value):
        output = _output(value, form=form)
        written = output.get("text")
        return Reply(written if isinstance(written, str) else json.dumps(output, ensure_ascii=False), output=output)
    if not isinstance(value, Reply):
        raise AgentFault(f"the agent returned {_named(value)}; {_EXPECTED}")
    if not isinstance(value.text, str):
        raise AgentFault(f"the agent returned a Reply whose text is {_named(value.text)}; expected a string")
    return Reply(
        text(value.text),
        _thoughts(value.thoughts),
        _usage(value.usage),
        None if value.output is None else _output(value.output, form=form),
    )


def _named(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    article = "an" if name[:1].lower() in "aeiou" else "a"
    hint = " (a generator: return the text as a whole)" if "generator" in name else ""
    return f"{article} {name}{hint}"


def _thoughts(thoughts: object) -> tuple[str, ...]:
    if isinstance(thoughts, str):
        return (text(thoughts),)
    if not isinstance(thoughts, Sequence) or isinstance(thoughts, bytes):
        raise AgentFault(
            f"the agent returned a Reply whose thoughts are {_named(thoughts)}; expected a list of strings"
        )
    if not all(isinstance(thought, str) for thought in thoughts) or len(thoughts) > _MANY:
        raise AgentFault(f"the agent returned a Reply whose thoughts are not up to {_MANY} strings")
    return tuple(text(thought) for thought in thoughts)


def _usage(usage: object) -> dict[str, Any] | None:
    if usage is None:
        return None
    if not isinstance(usage, Mapping):
        raise AgentFault(
            f"the agent returned a Reply whose usage is {_named(usage)}; expected a dict of {', '.join(_USAGE)}"
        )
    given = [_amount(name, amount) for name, amount in usage.items()]
    return {name: amount for name, amount in given if amount is not None}


def _jsonable(value: Any) -> Any:
    """Return a date, a decimal, an enum, a model and the like as JSON data."""
    try:
        return call_stranger(to_jsonable_python, value)
    except StrangerError as broken:
        raise AgentFault(f"the agent returned data with {_named(value)} in it: {words_of(broken.error)}") from None


def _is_data(value: object) -> bool:
    model = callable(getattr(type(value), "model_dump", None))
    return isinstance(value, Mapping) or model or (is_dataclass(value) and not isinstance(value, type | Reply))


def _output(output: object, *, form: bool) -> JsonObject:
    if not _is_data(output):
        raise AgentFault(f"the agent returned a Reply whose output is {_named(output)}; expected a dict")
    plain = output if isinstance(output, Mapping) else _jsonable(output)
    if not isinstance(plain, Mapping):
        raise AgentFault(f"the agent returned {_named(output)} that is {_named(plain)} in JSON; expected an object")
    data: JsonObject = as_json(plain, _jsonable)
    if form:
        return data
    problems: list[Problem] = []
    reserved = {name: data[name] for name in RESERVED if name in data}
    validate(Structured, Located(reserved, Lines(0)), "output", problems)
    if problems:
        raise AgentFault(f"the agent returned bad {problems[0]}")
    return data


def _amount(name: object, amount: object) -> tuple[str, int | float | None]:
    """Return the name and the number as plain ones."""
    name = text(name) if isinstance(name, str) else as_json(name)
    if not isinstance(name, str) or name not in _USAGE:
        hint = did_you_mean(name, _USAGE)
        raise AgentFault(f"usage has {name!r}; expected {', '.join(_USAGE)}" + (f" ({hint})" if hint else ""))
    if amount is None:
        return name, None
    number = as_json(amount)
    whole = name != "cost"
    good = isinstance(number, int) if whole else isinstance(number, int | float)
    if isinstance(number, bool) or not good or not 0 <= number <= _MOST:
        raise AgentFault(f"usage gives {name} {number!r}; expected a {'whole ' if whole else ''}number, at least 0")
    return name, number
