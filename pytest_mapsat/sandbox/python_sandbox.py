"""Sandboxes written in Python: an object whose methods are the tools, over a state that only tools write."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from pytest_mapsat.model import (
    Case,
    InfrastructureError,
    Json,
    JsonObject,
    MapsatError,
    Overlay,
    Provenance,
    RowChange,
    Tool,
    digest,
    shown,
    tool_name,
)
from pytest_mapsat.turns import waiting
from pytest_mapsat.user_code import StrangerError, call_stranger, installed, place_of, words_of

from .recorded_sandbox import Answer, RecordedSandbox, argument_problems
from .spec import spec_of, whole_schema_problems
from .state import NoSuchRowError, State, frozen, thawed
from .tables import Table

#: The entry point group in which installed packages name their functions of a case and its suite: they hold outside pytest too.
GROUP = "pytest_mapsat.sandboxes"
#: Makes the object whose methods are the tools, once for each episode.
SandboxFactory = Callable[[State], object]
#: From a case and its suite to what makes the case's sandbox; None for a case that it has no sandbox for.
SandboxHook = Callable[[Case, Any], SandboxFactory | None]

_MOST_CHARACTERS = 1_000_000
#: What the result of every refusal says.
_RESERVED = frozenset({"status", "message"})


class Refused(Exception):  # noqa: N818  # users raise it by this name
    """A tool will not do what it is asked, and nothing has changed.

    Args:
        reason: why, for the agent.
        details: further data of the result.

    Raises:
        TypeError: a detail has the name of what every refusal says: ``status`` or ``message``.
    """

    def __init__(self, reason: str, **details: Json) -> None:
        if taken := sorted(_RESERVED.intersection(details)):
            raise TypeError(f"Refused: {', '.join(taken)} of the result is set already; name the detail otherwise")
        super().__init__(reason)
        self.reason = reason
        self.details = details


class PythonSandbox:
    """The sandbox of one episode: methods of the user's object answer the tools of their names, the suite's recordings and tables all others.

    Args:
        make: makes the object.
        tables: the rows that the state starts from.
        data: makes what answers the tools that the object has no method for, from what is laid over the tables.

    Attributes:
        setup: the rows that making the object has changed.

    Raises:
        InfrastructureError: the object cannot be made, or has a method for no tool.
    """

    def __init__(
        self, make: SandboxFactory, tables: Mapping[str, Table], data: Callable[[tuple[Overlay, ...]], RecordedSandbox]
    ) -> None:
        self._data = data
        self._below = below = data(())
        self._writes = ""
        self._state = State(tables)
        self.setup: tuple[RowChange, ...] = ()
        try:
            with waiting():  # it may start a service
                made = call_stranger(make, self._state)
            methods = {name: call_stranger(getattr, made, name, None) for name in below.tools}
        except StrangerError as broken:
            raise _broke("the sandbox could not be made", broken) from None
        self._methods: dict[str, Callable[..., Json]] = {
            name: method for name, method in methods.items() if callable(method)
        }
        if not self._methods:
            raise InfrastructureError(f"the sandbox has a method for no tool of the suite ({', '.join(below.tools)})")
        self.setup = self._state.writing.done()
        if self.setup:
            self._below = data(self._state.overlays())
        self._state.writing.allowed = False

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The suite's tools by name."""
        return self._below.tools

    def call(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Answer a call; never raises for what an agent may do wrong.

        Raises:
            InfrastructureError: the sandbox broke, which is no agent's fault.
        """
        name = tool_name(self.tools, name) if isinstance(name, str) else name
        method = self._methods.get(name) if isinstance(name, str) else None
        if method is None or not isinstance(arguments, Mapping):
            return self._recorded(name, arguments)
        tool = self.tools[name]
        fitted: JsonObject = {}
        if not (problems := argument_problems(tool, arguments)):
            fitted = spec_of(tool).fitted(arguments)
            problems = tuple(whole_schema_problems(tool, fitted))
        if problems:
            return Answer({"status": "error", "message": f"{name}: {'; '.join(problems)}"}, "error")
        return self._answered(tool, method, fitted)

    def _recorded(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Return what the suite's data say: a recording made after the same writes, else one that bears none."""
        answer = self._below.call(name, arguments, writes=self._writes)
        return self._below.call(name, arguments) if self._writes and answer.status == "miss" else answer

    def _answered(self, tool: Tool, method: Callable[..., Json], arguments: JsonObject) -> Answer:
        writing = self._state.writing
        writing.allowed = tool.effect == "write"
        try:
            result = call_stranger(_plain_result, method, thawed(arguments))
        except StrangerError as broken:
            writing.undo()
            if isinstance(broken.error, Refused):
                return _refusal(tool, broken.error)
            if isinstance(broken.error, NoSuchRowError):
                return Answer({"status": "error", "message": f"{tool.name}: {broken.error.told}"}, "error")
            raise _broke(f"the sandbox broke in {tool.name}", broken) from None
        finally:
            writing.allowed = False
        changed = writing.done()
        if changed:
            self._writes = digest([self._writes, *(change.to_json() for change in changed)])
            self._below = self._data(self._state.overlays())
        return Answer(result, "ok", Provenance(kind="computed"), changed, self._writes if changed else "")


@cache
def installed_sandboxes() -> tuple[SandboxHook, ...]:
    """Return the functions of installed packages, in the order of their names.

    Raises:
        InfrastructureError: one cannot be loaded.
    """
    try:
        return tuple(call_stranger(point.load) for point in installed(GROUP))
    except StrangerError as broken:
        raise _broke(f"{GROUP}: a package cannot be loaded", broken) from None


def factory_of(case: Case, suite: object, hooks: Sequence[SandboxHook]) -> SandboxFactory | None:
    """Return what makes a case's sandbox: what the first of some hooks gives; None where none does.

    Raises:
        InfrastructureError: a hook raises, or gives what makes nothing.
    """
    for hook in hooks:
        try:
            made: object = call_stranger(hook, case, suite)
        except StrangerError as broken:
            raise _broke("the sandbox could not be looked up", broken) from None
        if made is None:
            continue
        if not callable(made):
            message = f"pytest_mapsat_sandbox returned {shown(made)}, expected what makes a sandbox: a class, or a function of the state"
            raise InfrastructureError(message)
        return made
    return None


def _plain_result(method: Callable[..., Any], arguments: JsonObject) -> Json:
    result = thawed(frozen(method(**arguments)))
    if (size := len(json.dumps(result, ensure_ascii=False, allow_nan=False))) > _MOST_CHARACTERS:
        raise ValueError(f"a result of {size:,} characters; at most {_MOST_CHARACTERS:,} are taken")
    return result


def _refusal(tool: Tool, refused: Refused) -> Answer:
    try:
        result = thawed(frozen({"status": "refused", "message": refused.reason, **refused.details}))
    except TypeError as error:
        raise InfrastructureError(f"the sandbox broke in {tool.name}: its refusal is no JSON: {error}") from None
    return Answer(result, "refused", Provenance(kind="computed"))


def _broke(what: str, broken: StrangerError) -> InfrastructureError:
    if isinstance(broken.error, MapsatError):
        return InfrastructureError(str(broken.error))
    return InfrastructureError(f"{what}: {words_of(broken.error)}{place_of(broken.error)}")
