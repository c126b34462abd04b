"""What the source of a case in Python shows before it is played: its blocks, whether anything else in it can fail, and on which lines its keywords stand."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import findsource, unwrap
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pytest_mapsat.formats import Lines, shown_path
from pytest_mapsat.model import Problem, RequirementKind, shown
from pytest_mapsat.registry import always_holds, only_tells

KINDS = get_args(RequirementKind)
#: What an episode is asked: to ask is to assert nothing.
_ASKS = ("called", "agreed", "judged")
_LONGEST_SLUG = 60


class WrittenBlock(NamedTuple):
    """A block as the source has it. ``text``: None where it is no literal."""

    kind: RequirementKind
    text: str | None
    id: str
    weight: float | None
    line: int


@dataclass(frozen=True)
class BodySource:
    """What the source of a function shows.

    Attributes:
        path: its file, as messages name it.
        line: where the function begins.
        blocks: its blocks, in their order.
        rest: whether something outside of blocks can fail.
        keywords: the calls of ``@case`` and, under ``user``, of ``User``, by keyword: on which lines their values stand.
        digest: of the body, by which two runs know whether they were judged alike.
        problems: what is wrong with the blocks.
    """

    path: str
    line: int
    blocks: tuple[WrittenBlock, ...] = ()
    rest: bool = True
    keywords: Mapping[str, Lines] = field(default_factory=dict)
    digest: str = ""
    problems: tuple[Problem, ...] = ()


def read_body(function: Any) -> BodySource:
    """Return what the source of a decorated function shows; little where there is no source."""
    plain = unwrap(getattr(function, "__func__", function))
    path, line = shown_path(Path(plain.__code__.co_filename)), plain.__code__.co_firstlineno
    try:
        text = "".join(findsource(plain)[0])
        definition = _definitions(text)[line, plain.__name__]
    except (OSError, TypeError, SyntaxError, ValueError, LookupError):
        return BodySource(path, line)
    return _Reader(path, definition, text).read()


@lru_cache(maxsize=64)
def _definitions(text: str) -> dict[tuple[int, str], ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions of a module by the line of their first decorator, and name."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {(min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.name): node for node in functions}


def slug(text: str) -> str:
    """Return an id made of a text: its words in small letters; with a digest where that leaves out letters, or is long."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if len(name) <= _LONGEST_SLUG and name and text.isascii():
        return name
    return f"{name[:_LONGEST_SLUG]}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}".strip("-")


class _Reader:
    def __init__(self, path: str, definition: ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> None:
        self._path = path
        self._definition = definition
        self._text = text
        self._blocks: list[WrittenBlock] = []
        self._problems: list[Problem] = []

    def read(self) -> BodySource:
        body = self._definition.body
        self._look(body, None)
        places: dict[str | None, int] = {}
        for block in self._blocks:
            first = places.setdefault(block.text, block.line)
            if block.text is not None and first != block.line:
                message = f"two blocks have the text {shown(block.text)}: the other stands on line {first}"
                self._wrong(block.line, message, "a block is one requirement")
        found = tuple(self._blocks), can_fail(body, outside=True), self._keywords(), self._digest()
        return BodySource(self._path, self._definition.lineno, *found, tuple(self._problems))

    def _wrong(self, line: int, message: str, hint: str) -> None:
        self._problems.append(Problem(self._path, line, message, hint))

    def _look(self, statements: Sequence[ast.stmt], inside: WrittenBlock | None) -> None:
        """Note the blocks among statements and all that stands in them; ``inside``: the block that they stand in."""
        for statement in statements:
            if isinstance(statement, ast.Expr) and (only_tells(statement.value) or _asks(statement.value)):
                message = "it tells whether something holds, and what comes of it is lost"
                self._wrong(statement.lineno, message, "write assert")
            blocks = list(_blocks_of(statement))
            for item in statement.items if blocks else ():  # type: ignore[attr-defined]  # a with statement
                for keyword in getattr(item.context_expr, "keywords", ()):
                    if _literal(keyword.value) is None:
                        self._wrong(keyword.value.lineno, f"{keyword.arg} of a block is no literal", "write its value")
            for block in blocks:
                if inside is not None or len(blocks) > 1:
                    other = inside or next(each for each in blocks if each is not block)
                    message = f"this block stands in another one ({shown(other.text or '')})"
                    self._wrong(block.line, message, "end that block first")
                elif not can_fail(statement.body):  # type: ignore[attr-defined]  # a with statement
                    message = f"nothing in the block {shown(block.text or '')} can fail"
                    self._wrong(block.line, message, "write assert in it")
            self._blocks += blocks
            for below in _bodies(statement):
                self._look(below, blocks[0] if blocks else inside)

    def _keywords(self) -> dict[Any, Lines]:
        calls = (each for each in self._definition.decorator_list if isinstance(each, ast.Call))
        call = next((each for each in calls if ast.unparse(each.func).rpartition(".")[2] == "case"), None)
        if call is None:
            return {}
        lines = _lines_of_keywords(call)
        for keyword in call.keywords:
            if keyword.arg == "user" and isinstance(keyword.value, ast.Call):
                lines["user"].children |= _lines_of_keywords(keyword.value)
        if call.args:
            lines["query"] = Lines(call.args[0].lineno)
        return lines

    def _digest(self) -> str:
        first, last = self._definition.body[0].lineno, self._definition.end_lineno
        lines = (line.rstrip() for line in self._text.splitlines()[first - 1 : last])
        told = [line for line in lines if line and not line.lstrip().startswith("#")]
        return hashlib.sha256("\n".join(told).encode("utf-8", "replace")).hexdigest()[:16]


def _lines_of_keywords(call: ast.Call) -> dict[Any, Lines]:
    return {keyword.arg: Lines(keyword.value.lineno) for keyword in call.keywords if keyword.arg}


def _blocks_of(statement: ast.stmt) -> Iterator[WrittenBlock]:
    """Yield the blocks that a ``with`` statement begins."""
    for item in statement.items if isinstance(statement, ast.With) else ():
        call = item.context_expr
        if not isinstance(call, ast.Call) or not _of_episode(call, KINDS):
            continue
        given = {keyword.arg: _literal(keyword.value) for keyword in call.keywords}
        text, weight = _literal(call.args[0]) if call.args else None, given.get("weight")
        yield WrittenBlock(
            call.func.attr,  # type: ignore[attr-defined]  # as _of_episode says
            text if isinstance(text, str) else None,
            str(given.get("id") or ""),
            weight if isinstance(weight, int | float) else None,
            call.lineno,
        )


def _literal(value: ast.expr) -> object:
    return value.value if isinstance(value, ast.Constant) else None


def _of_episode(value: ast.AST, names: Sequence[str]) -> bool:
    """Return whether an expression is a call of one of these methods of ``episode``."""
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(function, ast.Attribute) and ast.unparse(function.value) == "episode" and function.attr in names


def _asks(value: ast.expr) -> bool:
    value = value.operand if isinstance(value, ast.UnaryOp) else value
    return _of_episode(value, _ASKS)


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements that stand in a statement."""
    for name in ("body", "orelse", "finalbody"):
        if isinstance(below := getattr(statement, name, None), list):
            yield below
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def can_fail(statements: Sequence[ast.stmt], *, outside: bool = False) -> bool:
    """Return whether something in statements can fail a test, ``outside``: in no block.

    That is an assertion that does not always hold, a raise, ``with pytest.raises``, and a call that stands for itself, such as that of a helper.
    """
    for statement in statements:
        if outside and any(_blocks_of(statement)):
            continue
        match statement:
            case ast.Assert() if not always_holds(statement.test):
                return True
            case ast.Raise():
                return True
            case ast.With() if any(ast.unparse(item.context_expr).startswith("pytest.") for item in statement.items):
                return True
            case ast.Expr(ast.Call() | ast.Await(ast.Call())) if not _only_asks(statement.value):
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
        if any(can_fail(below, outside=outside) for below in _bodies(statement)):
            return True
    return False


def _only_asks(value: ast.expr) -> bool:
    """Return whether a call that stands for itself fails nothing."""
    return _asks(value) or only_tells(value) or (isinstance(value, ast.Call) and ast.unparse(value.func) == "print")
