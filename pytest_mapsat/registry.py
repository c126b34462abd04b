"""What installed packages add, by entry point and name; and checks in Python, those that ``@mapsat.check`` has added in this process among them.

A conftest with a check is imported by every run of pytest, so the heavy modules are imported when a case needs a check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint
from inspect import CO_COROUTINE, unwrap
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, overload

_F = TypeVar("_F", bound=Callable[..., object])
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,80}")
#: The entry point group in which installed packages name their checks: each entry is a name and a function.
GROUP = "pytest_mapsat.checks"


class AddedCheck(NamedTuple):
    """A check in Python.

    Attributes:
        name: what cases call it.
        function: judges an episode: ``function(episode, **arguments)``.
    """

    name: str
    function: Callable[..., object]

    @property
    def place(self) -> str:
        """The file and the line that the function begins on."""
        code = unwrap(self.function).__code__
        return f"{code.co_filename}:{code.co_firstlineno}"


_added: dict[str, AddedCheck] = {}


@overload
def check(function: _F, /) -> _F: ...
@overload
def check(*, name: str = "") -> Callable[[_F], _F]: ...
def check(function: Any = None, /, *, name: str = "") -> Any:
    """Add a function as a check that cases name: ``check: NAME``, or ``{kind: NAME, argument: value}``.

    The function is called with the ``Episode`` and, as keyword arguments, what the case gives. An ``AssertionError`` and False fail, None and
    True pass, a ``Finding`` counts as it is.

    Args:
        function: the function; it is returned as it is.
        name: what cases call it; the function's own name where none is given.

    Raises:
        TypeError: it is no plain function.
        ValueError: the name cannot be used, or another function has it.
    """

    def add(function: Any) -> Any:
        new = _check_of(name or getattr(function, "__name__", ""), function)
        former = _added.get(new.name, new)
        if former.place != new.place:  # a file that is imported twice adds the same check again
            raise ValueError(f"two checks are named {new.name!r}: {former.place} and {new.place}; rename one of them")
        _added[new.name] = new
        return function

    return add if function is None else add(function)


def _check_of(name: str, function: Any) -> AddedCheck:
    """Return a check of this name. Raises TypeError, ValueError."""
    plain = unwrap(function) if callable(function) else function
    if not isinstance(plain, FunctionType):
        raise TypeError(
            f"a check is a function: found {function!r:.80}; write @mapsat.check, or @mapsat.check(name='...')"
        )
    if plain.__code__.co_flags & CO_COROUTINE:
        raise TypeError(f"the check {plain.__name__} is a coroutine function: write def, not async def")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"found the name {name!r:.80} of a check, expected 1 to 80 of A-Z a-z 0-9 . _ -: @mapsat.check(name='...')"
        )
    return AddedCheck(name, function)


def added_checks() -> Mapping[str, AddedCheck]:
    """Return the checks in Python by name.

    Raises:
        UsageError: one has the name of a built-in kind, two share a name, or one of an installed package cannot be loaded.
    """
    from .model import KINDS, UsageError  # noqa: PLC0415 (pydantic)
    from .user_code import installed  # noqa: PLC0415

    checks = {**_of_packages(tuple(installed(GROUP))), **_added}
    for name in checks.keys() & KINDS:
        raise UsageError(f"{checks[name].place}: {name!r} is a built-in kind of check; give this one another name")
    return checks


@lru_cache(maxsize=1)
def _of_packages(points: tuple[EntryPoint, ...]) -> Mapping[str, AddedCheck]:
    from .model import UsageError  # noqa: PLC0415

    checks: dict[str, AddedCheck] = {}
    for point in points:
        if point.name in checks:
            raise UsageError(f"{GROUP}: two packages add a check {point.name!r}")
        try:
            checks[point.name] = _check_of(point.name, load_installed(point))
        except (TypeError, ValueError) as error:
            raise UsageError(f"{GROUP}: {point.name} = {point.value}: {error}") from error
    return checks


def exchange(checks: dict[str, AddedCheck]) -> dict[str, AddedCheck]:
    """Let other checks take the place of those that have been added, and return these: a run within a run has its own."""
    global _added  # one registry in a process
    _added, former = checks, _added
    _of_packages.cache_clear()  # others may be installed for that run
    return former


# -- what installed packages add --------------------------------------------------------------------------


def load_installed(point: EntryPoint) -> Any:
    """Return what an entry point of an installed package names. Raises UsageError where it cannot be loaded."""
    from .model import UsageError  # noqa: PLC0415
    from .user_code import StrangerError, call_stranger, words_of  # noqa: PLC0415

    try:
        return call_stranger(point.load)
    except StrangerError as broken:
        raise UsageError(f"{point.group}: {point.value} cannot be loaded: {words_of(broken.error)}") from broken.error


def installed_function(group: str, name: str, what: str) -> Callable[..., Any]:
    """Return the function that an installed package adds; what it raises that is no ``MapsatError`` becomes a ``UsageError``.

    Args:
        group: the group of entry points.
        name: its name there.
        what: what such a function is, for messages: ``importer of the format``.

    Raises:
        UsageError: no package adds it, two packages do, or it cannot be loaded.
    """
    from .model import MapsatError, UsageError, did_you_mean, shown  # noqa: PLC0415
    from .user_code import StrangerError, call_stranger, installed, words_of  # noqa: PLC0415

    points = [point for point in installed(group) if point.name == name]
    if not points:
        names = list(dict.fromkeys(point.name for point in installed(group)))
        listed = ", ".join(filter(None, (did_you_mean(name, names), f"known here: {', '.join(names)}")))
        raise UsageError(f"no package adds an {what} {shown(name)}; {listed}")
    if len(points) > 1:
        raise UsageError(f"{group}: two packages add an {what} {shown(name)}: {', '.join(p.value for p in points)}")
    function = load_installed(points[0])

    def call(*args: Any) -> Any:
        try:
            return call_stranger(function, *args)
        except StrangerError as broken:
            if isinstance(broken.error, MapsatError):
                raise broken.error from None
            raise UsageError(f"{group}: {points[0].value} broke: {words_of(broken.error)}") from broken.error

    return call
