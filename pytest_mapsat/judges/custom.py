"""Checks that another package or a conftest adds: looked up by name, never trusted to answer well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points

from pytest_mapsat.model import Custom, UsageError, did_you_mean, shown

from .context import Context
from .finding import Finding

CheckFunction = Callable[[Custom, Context], Finding]

#: The entry point group in which installed packages name their checks: they hold outside pytest too.
GROUP = "pytest_mapsat.checks"


def custom(check: Custom, context: Context) -> Finding:
    """What the function of this name says; not known where there is none, or where it breaks."""
    function = context.custom.get(check.name)
    if function is None:
        hint = did_you_mean(check.name, sorted(context.custom))
        known = f"known here: {', '.join(sorted(context.custom)) or 'none'}"
        return Finding(None, f"no package or conftest adds a check {shown(check.name)}; {hint or known}", broken=True)
    try:
        finding = function(check, context)
    except Exception as error:  # noqa: BLE001  whatever the code of others raises
        return Finding(None, f"the check {check.name} broke: {type(error).__name__}: {error}", broken=True)
    if not isinstance(finding, Finding):
        return Finding(None, f"the check {check.name} returned {shown(finding)}, not a Finding", broken=True)
    return finding


def gather_checks(given: Iterable[Mapping[str, CheckFunction] | None] = ()) -> dict[str, CheckFunction]:
    """Return the checks by name: those of installed packages, and those given.

    Args:
        given: tables of name and function, as hooks return them.

    Raises:
        UsageError: two of them share a name, a table is none, or an installed one cannot be loaded.
    """
    found: dict[str, CheckFunction] = {}
    for table in (_installed(), *given):
        if table is not None and not isinstance(table, Mapping):
            raise UsageError(f"pytest_mapsat_check: found {shown(table)}, expected a mapping of names and functions")
        for name, function in (table or {}).items():
            if name in found and found[name] is not function:
                raise UsageError(f"pytest_mapsat_check: two packages add a check {shown(name)}")
            if not callable(function):
                raise UsageError(f"pytest_mapsat_check: {shown(name)} is {shown(function)}, expected a function")
            found[name] = function
    return found


def _installed() -> dict[str, CheckFunction]:
    found: dict[str, CheckFunction] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        if point.name in found:
            raise UsageError(f"{GROUP}: two packages add a check {shown(point.name)}")
        try:
            found[point.name] = point.load()
        except Exception as error:  # importing the code of others may raise anything
            raise UsageError(f"{GROUP}: {point.value} cannot be loaded: {type(error).__name__}: {error}") from error
    return found
