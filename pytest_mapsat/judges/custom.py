"""Checks that another package or a conftest adds: looked up by name, never trusted to answer well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pytest_mapsat.model import PythonCheck, UsageError, did_you_mean, shown
from pytest_mapsat.strangers import StrangerError, call_stranger, installed, words_of

from .context import Context
from .finding import Finding

CheckFunction = Callable[[PythonCheck, Context], Finding]

#: The entry point group in which installed packages name their checks: they hold outside pytest too.
GROUP = "pytest_mapsat.checks"


def custom(check: PythonCheck, context: Context) -> Finding:
    """What the function of this name says; not known where there is none, or where it breaks."""
    function = context.custom.get(check.name)
    if function is None:
        hint = did_you_mean(check.name, sorted(context.custom))
        known = f"known here: {', '.join(sorted(context.custom)) or 'none'}"
        return Finding(None, f"no package or conftest adds a check {shown(check.name)}; {hint or known}", broken=True)
    try:
        finding: object = call_stranger(function, check, context)
    except StrangerError as broken:
        return Finding(None, f"the check {check.name} broke: {words_of(broken.error)}", broken=True)
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
        try:
            named = call_stranger(dict, table or {})
        except StrangerError as broken:
            raise UsageError(f"pytest_mapsat_check: a table cannot be read: {words_of(broken.error)}") from None
        for name, function in named.items():
            if name in found and found[name] is not function:
                raise UsageError(f"pytest_mapsat_check: two packages add a check {shown(name)}")
            if not callable(function):
                raise UsageError(f"pytest_mapsat_check: {shown(name)} is {shown(function)}, expected a function")
            found[name] = function
    return found


def _installed() -> dict[str, CheckFunction]:
    found: dict[str, CheckFunction] = {}
    for point in installed(GROUP):
        if point.name in found:
            raise UsageError(f"{GROUP}: two packages add a check {shown(point.name)}")
        try:
            found[point.name] = call_stranger(point.load)
        except StrangerError as broken:
            raise UsageError(f"{GROUP}: {point.value} cannot be loaded: {words_of(broken.error)}") from broken.error
    return found
