"""Additions of installed packages, by entry point and name; and checks in Python, including those that ``@mapsat.check`` has added in this process.

A conftest with a check is imported by every run of pytest, so the heavy modules are imported when a case needs a check.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, getsource, unwrap
from textwrap import dedent
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    import ast

_F = TypeVar("_F", bound=Callable[..., object])
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,80}")
#: Built-in functions that only tell whether something holds.
_TELLING = frozenset({"all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"})
#: What a function of another kind is, which returns no answer when it is called, by the flag of its code.
_OTHER_KINDS = {
    CO_COROUTINE: "a coroutine function: write def, not async def",
    CO_ASYNC_GENERATOR: "an asynchronous generator function: write def, not async def, and no yield",
    CO_GENERATOR: "a generator function, whose body does not run: write assert or return in place of yield",
}
_OWN = f"{__package__}.ports."
#: The entry point group in which installed packages name their checks: each entry is a name and a function.
GROUP = "pytest_mapsat.checks"


class AddedCheck(NamedTuple):
    """A check in Python.

    Attributes:
        name: what cases call it.
        given: the function, or the entry point of one of ours, which is imported where a case needs it.
    """

    name: str
    given: Callable[..., object] | EntryPoint

    @property
    def function(self) -> Callable[..., Any]:
        """Return the function that judges an episode, ``function(episode, **arguments)``; an entry point is imported first."""
        return self.given if callable(self.given) else load_installed(self.given)

    @property
    def is_ours(self) -> bool:
        """Return whether the check belongs to a port of this package, and therefore returns findings."""
        return self.given.__module__.startswith(_OWN) if callable(self.given) else is_ours(self.given)

    @property
    def place(self) -> str:
        """Return the file and the first line of the function."""
        code = unwrap(self.function).__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def shape(self) -> Shape:
        """Return the possible results of the function, as far as its source shows them."""
        return _shape_of(unwrap(self.function))


class Shape(NamedTuple):
    """The possible results of a check, as far as its source shows them.

    Attributes:
        returns: whether it has a ``return VALUE``, so that None is no pass.
        forgets: why nothing in it can fail; empty where something can, or the source is not to be had.
    """

    returns: bool = False
    forgets: str = ""


@lru_cache(maxsize=1000)
def _shape_of(function: Any) -> Shape:
    """Return the shape of a function from its source; without usable source, only whether it is a lambda."""
    import ast  # noqa: PLC0415 (only where a check is looked at)

    definition: ast.stmt | None = None
    with suppress(OSError, SyntaxError, TypeError, ValueError):
        (definition,) = ast.parse(dedent(getsource(function))).body
    if not isinstance(definition, ast.FunctionDef):
        return Shape(returns=function.__name__ == "<lambda>")
    nodes = list(_own_nodes(definition.body))
    values = {ast.unparse(node.value) for node in nodes if isinstance(node, ast.Return) and node.value} - {"None"}
    dropped = [node for node in nodes if isinstance(node, ast.Expr) and has_no_effect(node.value)]
    may_fail = any(isinstance(node, ast.Raise | ast.Call) for node in nodes)
    may_fail |= any(isinstance(node, ast.Assert) and not always_holds(node.test) for node in nodes)
    forgets = ""
    if dropped:
        line = function.__code__.co_firstlineno + min(node.lineno for node in dropped) - 1
        forgets = f"line {line} compares, and what comes of it is lost: write assert"
    elif not may_fail and values <= {"True"}:
        forgets = "it neither asserts, raises nor calls anything, and returns nothing that could be False"
    return Shape(bool(values), forgets)


def _own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the syntax nodes of a function body, without those inside nested functions and classes."""
    import ast  # noqa: PLC0415

    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def always_holds(test: ast.expr) -> bool:
    """Return whether an assertion can never fail: a true constant or a non-empty tuple, as in ``assert (x, "why")``."""
    import ast  # noqa: PLC0415

    return (isinstance(test, ast.Constant) and bool(test.value)) or (isinstance(test, ast.Tuple) and bool(test.elts))


def has_no_effect(value: ast.expr) -> bool:
    """Return whether an expression only computes a truth value, and so has no effect as a statement."""
    import ast  # noqa: PLC0415

    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in _TELLING
    if isinstance(value, ast.BoolOp):
        return all(map(has_no_effect, value.values))
    return isinstance(value, ast.Compare) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))


_added: dict[str, AddedCheck] = {}


@overload
def check(function: _F, /) -> _F: ...
@overload
def check(*, name: str = "") -> Callable[[_F], _F]: ...
def check(function: Any = None, /, *, name: str = "") -> Any:
    """Register a function as a check for cases: ``check: NAME``, or ``{kind: NAME, argument: value}``.

    The function is called with the ``Episode`` and, as keyword arguments, what the case gives. An ``AssertionError`` and False fail, True
    passes, and so does None where the function has no ``return VALUE``; a ``Finding`` counts as it is.

    Args:
        function: the function; it is returned as it is.
        name: what cases call it; the function's own name where none is given.

    Raises:
        TypeError: it is no plain function.
        ValueError: the name cannot be used, or another function has it.
    """

    def add(function: Any) -> Any:
        """Register a function as a check and return it. Raises TypeError or ValueError."""
        new = _check_of(name or getattr(function, "__name__", ""), function)
        former = _added.get(new.name, new)
        if former.place != new.place:  # a file that is imported twice adds the same check again
            raise ValueError(f"two checks are named {new.name!r}: {former.place} and {new.place}; rename one of them")
        _added[new.name] = new
        return function

    return add if function is None else add(function)


def _check_of(name: str, function: Any) -> AddedCheck:
    """Return a function as a check with a name. Raises TypeError if it is not a plain function, ValueError for a bad name."""
    plain = unwrap(function) if callable(function) else function
    if not isinstance(plain, FunctionType):
        raise TypeError(
            f"a check is a function: found {function!r:.80}; write @mapsat.check, or @mapsat.check(name='...')"
        )
    flags = plain.__code__.co_flags | getattr(getattr(function, "__code__", None), "co_flags", 0)
    for flag, words in _OTHER_KINDS.items():
        if flags & flag:
            raise TypeError(f"the check {plain.__name__} is {words}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"found the name {name!r:.80} of a check, expected 1 to 80 of A-Z a-z 0-9 . _ -: @mapsat.check(name='...')"
        )
    return AddedCheck(name, function)


def added_checks() -> Mapping[str, AddedCheck]:
    """Return all Python checks by name: those added in this process and those of installed packages.

    Raises:
        UsageError: one has the name of a built-in kind, two share a name, or one of an installed package cannot be loaded.
        OptimisedError: there are some, and Python leaves out their assertions.
    """
    from .model import KINDS, OptimisedError, UsageError  # noqa: PLC0415 (pydantic)
    from .user_code import installed  # noqa: PLC0415

    checks = {**_of_packages(tuple(installed(GROUP))), **_added}
    if without_assertions() and not all(added.is_ours for added in checks.values()):
        raise OptimisedError
    for name in checks.keys() & KINDS:
        raise UsageError(f"{checks[name].place}: {name!r} is a built-in kind of check; give this one another name")
    return checks


def without_assertions() -> bool:
    """Return whether Python removes ``assert`` statements, as with ``-O`` and PYTHONOPTIMIZE."""
    return bool(sys.flags.optimize)


@lru_cache(maxsize=1)
def _of_packages(points: tuple[EntryPoint, ...]) -> Mapping[str, AddedCheck]:
    """Return the checks of entry points by name; external ones are loaded. Raises UsageError."""
    from .model import UsageError  # noqa: PLC0415

    checks: dict[str, AddedCheck] = {}
    for point in points:
        if point.name in checks:
            raise UsageError(f"{GROUP}: two packages add a check {point.name!r}")
        try:
            ours = AddedCheck(point.name, point) if is_ours(point) else None
            checks[point.name] = ours or _check_of(point.name, load_installed(point))
        except (TypeError, ValueError) as error:
            raise UsageError(f"{GROUP}: {point.name} = {point.value}: {error}") from error
    return checks


def exchange(checks: dict[str, AddedCheck]) -> dict[str, AddedCheck]:
    """Replace the checks added in this process and return the previous checks, for a nested run."""
    global _added  # one registry in a process
    _added, former = checks, _added
    _of_packages.cache_clear()  # others may be installed for that run
    return former


# -- what installed packages add --------------------------------------------------------------------------


def is_ours(point: EntryPoint) -> bool:
    """Return whether an entry point belongs to a port of this package, which is imported only if a suite names it."""
    return point.value.startswith(_OWN)


def load_installed(point: EntryPoint) -> Any:
    """Load and return the object of an entry point. Raises UsageError if it cannot be loaded."""
    from .model import UsageError  # noqa: PLC0415
    from .user_code import UserCodeError, call_user_code, describe_error  # noqa: PLC0415

    try:
        return call_user_code(point.load)
    except UserCodeError as broken:
        raise UsageError(
            f"{point.group}: {point.value} cannot be loaded: {describe_error(broken.error)}"
        ) from broken.error


def installed_function(group: str, name: str, what: str) -> Callable[..., Any]:
    """Return the function of an installed package; its errors become UsageError unless they are MapsatErrors.

    Args:
        group: the group of entry points.
        name: its name there.
        what: what such a function is, for messages: ``importer of the format``.

    Raises:
        UsageError: no package adds it, two packages do, or it cannot be loaded.
    """
    from .model import MapsatError, UsageError, did_you_mean, shown  # noqa: PLC0415
    from .user_code import UserCodeError, call_user_code, describe_error, installed  # noqa: PLC0415

    points = [point for point in installed(group) if point.name == name]
    if not points:
        names = list(dict.fromkeys(point.name for point in installed(group)))
        listed = ", ".join(filter(None, (did_you_mean(name, names), f"known here: {', '.join(names)}")))
        raise UsageError(f"no package adds an {what} {shown(name)}; {listed}")
    if len(points) > 1:
        raise UsageError(f"{group}: two packages add an {what} {shown(name)}: {', '.join(p.value for p in points)}")
    function = load_installed(points[0])

    def call(*args: Any) -> Any:
        """Call the function and return its result. Raises MapsatError or UsageError if the function raises."""
        try:
            return call_user_code(function, *args)
        except UserCodeError as broken:
            if isinstance(broken.error, MapsatError):
                raise broken.error from None
            raise UsageError(f"{group}: {points[0].value} broke: {describe_error(broken.error)}") from broken.error

    return call
