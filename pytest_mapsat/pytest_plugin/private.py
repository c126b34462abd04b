"""The only place that looks at the internals of pytest and pytest-xdist. Where they move them, a run is slower or larger, and as good."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mapsat.model import UsageError

if TYPE_CHECKING:
    from pytest_mapsat.suite import Suite


def definitions(item: pytest.Item, fixture: str) -> Sequence[Any]:
    """Return the definitions of a fixture that an item may use; empty if they are unknown.

    The public ways to a fixture set it up. Whether there is more than one, or whose it is, they do not say.
    """
    info = getattr(item, "_fixtureinfo", None)
    return () if info is None else info.name2fixturedefs.get(fixture, ())


def is_overridden(node: pytest.Collector, fixture: str) -> bool:
    """Return whether a conftest, plugin or class overrides one of our fixtures for a file's items; True if this is unknown."""
    try:
        return len(node.session._fixturemanager.getfixturedefs(fixture, node) or ()) > 1  # noqa: SLF001
    except (AttributeError, TypeError):
        return True


def item_again(item: pytest.Function, ending: str) -> pytest.Function:
    """Return an item that runs the test of another one, with the same parameters, under another name."""
    callspec = replace(item.callspec, _idlist=[*item.callspec._idlist, ending])  # noqa: SLF001
    again: pytest.Function = type(item).from_parent(
        item.parent,
        name=f"{item.originalname}[{callspec.id}]",
        callspec=callspec,
        callobj=item.obj,
        fixtureinfo=item._fixtureinfo,  # noqa: SLF001
        originalname=item.originalname,
    )
    return again


#: What an item makes when somebody asks for it.
_ON_DEMAND = ("extra_keyword_matches", "user_properties", "_report_sections")


class LeanItem(pytest.Function):
    """A test function without the rarely read attributes that pytest keeps for every item."""

    @cached_property
    def extra_keyword_matches(self) -> set[str]:  # type: ignore[override]
        """Additional names for ``-k``."""
        return set()

    @cached_property
    def user_properties(self) -> list[tuple[str, object]]:  # type: ignore[override]
        """Additional properties of the item in reports."""
        return []

    @cached_property
    def _report_sections(self) -> list[tuple[str, str, str]]:  # type: ignore[override]
        """Captured output of the item."""
        return []


class LeanModule(pytest.Module):
    """A module that creates its items lean: 100,000 of them take a fifth less memory than pytest's usual items."""

    item_class: type[LeanItem]

    def _genfunctions(self, name: str, funcobj: object) -> Iterator[pytest.Function]:
        """Yield the items of a function, each made lean at once."""
        for item in super()._genfunctions(name, funcobj):
            item.__class__ = self.item_class
            _slim(item)
            yield item


def _slim(item: Any) -> None:
    """Delete attributes that an item recreates when it runs, and share equal values among all items of a file."""
    with suppress(AttributeError):
        for name in _ON_DEMAND:
            delattr(item, name)
        callspec = item.callspec
        if item.own_markers == callspec.marks:
            item.own_markers = callspec.marks
        object.__setattr__(callspec, "_arg2scope", _shared_scopes(tuple(callspec._arg2scope.items())))  # noqa: SLF001
        object.__setattr__(callspec, "_idlist", tuple(callspec._idlist))  # noqa: SLF001
        if item._request:  # noqa: SLF001
            item._request = item.funcargs = None  # noqa: SLF001 (as pytest leaves an item that has been run)


@lru_cache(maxsize=64)
def _shared_scopes(scopes: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Return equal scopes as one object."""
    return dict(scopes)


def ini_lines(path: Path, name: str) -> list[str] | None:
    """Return the lines of a setting in a pytest ini file; None if there is no such file or pytest section.

    Raises:
        UsageError: it cannot be read.
    """
    from _pytest.config.findpaths import load_config_dict_from_file  # noqa: PLC0415  for commands alone

    try:
        settings = load_config_dict_from_file(path) if path.is_file() else None
    except (pytest.UsageError, OSError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: pytest's settings cannot be read: {error}") from None
    if settings is None:
        return None
    value: Any = settings.get(name, "")
    value = getattr(value, "value", value)  # pytest 9 keeps with a value where it stands
    return [line for line in (value.splitlines() if isinstance(value, str) else map(str, value)) if line.strip()]


def user_scheduling(
    config: pytest.Config, log: Any, named: Callable[[str], tuple[str, int]], suites: Sequence[Suite]
) -> Any:
    """Return a scheduler for pytest-xdist that sends all tasks of one user and trial to the same worker.

    Args:
        config: that of the controller.
        log: where it logs.
        named: tells case and trial of a node id.
        suites: those that carry dialogues.
    """
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415  only where there are workers

    class UserScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
        def _split_scope(self, nodeid: str) -> str:
            case, trial = named(nodeid)
            entries = [suite.listed(case) for suite in suites]
            users = [entry.group.name for entry in entries if entry is not None and entry.group is not None]
            return f"{users[0]}-t{trial}" if users else nodeid

    return UserScheduling(config, log)


def keeping_scheduling(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler like ``--dist worksteal`` that never takes an item from a worker, because its episode may be running."""
    from xdist.scheduler import WorkStealingScheduling  # noqa: PLC0415  only where there are workers

    class KeepingScheduling(WorkStealingScheduling):  # type: ignore[misc]  # it has no types
        def check_schedule(self) -> None:
            # A worker runs its last item once it has another one, or knows that none comes.
            idle = [node for node, places in self.node2pending.items() if len(places) <= 1 and not node.shutting_down]
            for place, node in enumerate(idle):
                self._send_tests(node, -(-len(self.pending) // (len(idle) - place)))
                if len(self.node2pending[node]) <= 1:
                    node.shutdown()

    return KeepingScheduling(config, log)


def queue_of_worker(config: pytest.Config) -> Any:
    """Return the queue of item indexes of a pytest-xdist worker; None in any other process.

    No hook tells a worker what is to come. Without its queue, only the next item is known.
    """
    if not hasattr(config, "workerinput"):
        return None
    queues = (getattr(plugin, "torun", None) for plugin in config.pluginmanager.get_plugins())
    return next((queue for queue in queues if hasattr(queue, "lock")), _NoQueue())


class _NoQueue:
    def lock(self) -> Any:
        return nullcontext(())
