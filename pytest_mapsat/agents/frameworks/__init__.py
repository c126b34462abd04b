"""Agents that are built with a framework, each an adapter in a file of its own: which there are, and which one an object is for."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint
from inspect import getattr_static, isclass, isroutine
from types import CodeType

from pytest_mapsat.model import UsageError
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, installed

from .adapter import Adapter as Adapter
from .adapter import AdapterEpisode as AdapterEpisode
from .adapter import Spent as Spent
from .adapter import ToolAnswer as ToolAnswer
from .adapter import comes_from, kinds_of
from .adapter import data_from as data_from
from .adapter import declared as declared
from .adapter import go_ahead as go_ahead
from .adapter import question as question
from .adapter import reply_of as reply_of
from .watched import unwatch as unwatch
from .watched import watch as watch

#: The package that the agents of a framework come from, by the name of the adapter, which is the framework's name on PyPI.
#: Its module is that name with underscores. A new framework is a module and a line here.
ADAPTERS = {
    "claude-agent-sdk": "claude_agent_sdk",
    "crewai": "crewai",
    "google-adk": "google.adk",
    "langgraph": "langgraph",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
    "smolagents": "smolagents",
}
#: Packages of others add theirs under this group of entry points: ``name = "package.module:ADAPTER"``.
GROUP = "pytest_mapsat.adapters"


def adapter_named(name: str) -> Adapter | None:
    """Return the adapter of a name, ours or one of an installed package; None: there is none.

    Raises:
        UsageError: that of an installed package cannot be had.
    """
    if name in ADAPTERS:
        return _ours(name)
    return next((_of_others(point) for point in installed(GROUP) if point.name == name), None)


def adapter_for(agent: object) -> Adapter | None:
    """Return the adapter whose framework an object is an agent of; nothing of the framework is imported for it.

    Raises:
        UsageError: an adapter of an installed package cannot be had.
    """
    # What can be called as an agent, or as what makes one, stays that.
    if isroutine(agent) or isclass(agent) or _takes_message(type(agent)):
        return None
    modules = {module for module, _ in kinds_of(agent)}
    adapters = [_ours(name) for name, package in ADAPTERS.items() if any(comes_from(m, package) for m in modules)]
    adapters += map(_of_others, installed(GROUP))
    return next((adapter for adapter in adapters if adapter.recognises(agent)), None)


def _takes_message(kind: type) -> bool:
    """Return whether the objects of a class are called with a message."""
    code: CodeType | None = getattr(getattr_static(kind, "__call__", None), "__code__", None)
    takes = () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return callable(getattr(kind, "reply", None)) or "message" in takes


def _ours(name: str) -> Adapter:
    adapter: Adapter = import_module(f".{name.replace('-', '_')}", __name__).ADAPTER
    return adapter


def _of_others(point: EntryPoint) -> Adapter:
    name = point.name
    try:
        adapter = call_user_code(point.load)
    except UserCodeError as broken:
        raise UsageError(
            f"the adapter {name!r} ({point.value}) cannot be loaded: {describe_error(broken.error)}"
        ) from None
    if not isinstance(adapter, Adapter):
        kind = type(adapter).__name__
        raise UsageError(
            f"the adapter {name!r} ({point.value}) is an object of type {kind}; expected a {Adapter.__module__}.Adapter"
        )
    return adapter
