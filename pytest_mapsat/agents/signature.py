"""How a callable wants its arguments. A signature is read once; a call then costs a dict."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from pytest_mapsat.model import did_you_mean

#: What an agent may take, in the order in which it takes them by position.
OFFERED = ("message", "tools", "context", "session")


class WrongSignature(Exception):  # noqa: N818  # becomes a UsageError or a fault, as the case may be
    """The callable wants what nobody can give it."""


@dataclass(frozen=True)
class Wants:
    """Which of the offered arguments a callable takes.

    Attributes:
        by_position: those that can only be given by position, in their order.
        by_name: the others.
    """

    by_position: tuple[str, ...]
    by_name: tuple[str, ...]

    def call(self, function: Callable[..., Any], offered: Mapping[str, Any]) -> Any:
        """Call the function with those of the offered arguments that it takes."""
        named = {name: offered[name] for name in self.by_name}
        return function(*(offered[name] for name in self.by_position), **named)


def parameters_of(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters.

    Raises:
        WrongSignature: the callable does not tell them (some built-in functions).
    """
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        raise WrongSignature("its signature cannot be read; wrap it in a function") from None


def takes_message(parameters: tuple[Parameter, ...]) -> bool:
    """Tell whether a callable with these parameters is an agent, and not something that makes one."""
    return any(
        parameter.name == "message"
        or parameter.kind is Parameter.VAR_KEYWORD
        or parameter.kind is Parameter.VAR_POSITIONAL
        for parameter in parameters
    )


def wants(parameters: tuple[Parameter, ...], offered: tuple[str, ...] = OFFERED) -> Wants:
    """Return which of the offered arguments a callable with these parameters takes.

    Raises:
        WrongSignature: it insists on another one.
    """
    kinds = {parameter.kind for parameter in parameters}
    by_position = [p for p in parameters if p.kind is Parameter.POSITIONAL_ONLY]
    named = [p for p in parameters if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    for parameter in (*by_position, *named):
        if parameter.name not in offered and parameter.default is Parameter.empty:
            raise WrongSignature(_insists(parameter, offered))
    positions = _positions(by_position, offered)
    if Parameter.VAR_KEYWORD in kinds:
        return Wants(positions, tuple(name for name in offered if name not in positions))
    taken = tuple(p.name for p in named if p.name in offered)
    if Parameter.VAR_POSITIONAL in kinds and not positions and not taken:
        return Wants(tuple(name for name in ("message", "tools") if name in offered), ())
    return Wants(positions, taken)


def _positions(by_position: list[Parameter], offered: tuple[str, ...]) -> tuple[str, ...]:
    """Return the positional ones up to the first that is not ours: behind it nothing can be given by position."""
    names = [parameter.name for parameter in by_position]
    ours = [name in offered for name in names]
    end = ours.index(False) if False in ours else len(names)
    return tuple(names[:end])


def _insists(parameter: Parameter, offered: tuple[str, ...]) -> str:
    hint = did_you_mean(parameter.name, offered)
    given = ", ".join(offered)
    return f"it insists on {parameter.name!r}, and what is given, by name, is {given}" + (f" ({hint})" if hint else "")
