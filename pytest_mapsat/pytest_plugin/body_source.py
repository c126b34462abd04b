"""The source of a case in Python, read before it is played: its blocks, whether anything else in it can fail, and the lines of its keywords."""

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

from pytest_mapsat.formats import DocumentLines, shown_path
from pytest_mapsat.model import Problem, RequirementKind, shown
from pytest_mapsat.registry import always_holds, has_no_effect

KINDS = get_args(RequirementKind)
#: What an episode is asked: to ask is to assert nothing.
_ASKS = ("called", "agreed", "judged")
_LONGEST_SLUG = 60
#: What is no part of a body, but stands in it.
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class WrittenBlock(NamedTuple):
    """A ``with`` block in the source of a case. ``text`` is None if it is not a literal; ``unread``: the keywords whose values are not literals."""

    kind: str
    text: str | None
    id: str
    weight: object
    line: int
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class BodySource:
    """The parts of a decorated function that its source shows without running it.

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
    keywords: Mapping[str, DocumentLines] = field(default_factory=dict)
    digest: str = ""
    problems: tuple[Problem, ...] = ()


def read_body(function: Any) -> BodySource:
    """Return the parts that the source of a decorated function shows; few if there is no source."""
    plain = unwrap(getattr(function, "__func__", function))
    path, line = shown_path(Path(plain.__code__.co_filename)), plain.__code__.co_firstlineno
    try:
        text = "".join(findsource(plain)[0])
        definition = _definitions(text)[line, plain.__name__]
    except (OSError, TypeError, SyntaxError, ValueError, LookupError):
        return BodySource(path, line)
    return _BodyReader(path, definition, text).read()


@lru_cache(maxsize=64)
def _definitions(text: str) -> dict[tuple[int, str], ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions of a module by name and by the line of their first decorator."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {(min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.name): node for node in functions}


def slug(text: str) -> str:
    """Return an id made of a text: its words in lower case, with a digest if letters are omitted or the id is long."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if len(name) <= _LONGEST_SLUG and name and text.isascii():
        return name
    return f"{name[:_LONGEST_SLUG]}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}".strip("-")


class _BodyReader:
    """Reads the source of one function: its blocks, their problems, and whether code outside them can fail."""

    def __init__(self, path: str, definition: ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> None:
        self._path = path
        self._definition = definition
        self._text = text
        self._blocks: list[WrittenBlock] = []
        self._problems: list[Problem] = []

    def read(self) -> BodySource:
        """Return the parts of the body that the source shows."""
        body = self._definition.body
        self._look(self._definition, None)
        places: dict[str | None, int] = {}
        for block in self._blocks:
            first = places.setdefault(block.text, block.line)
            if block.text is not None and first != block.line:
                message = f"two blocks have the text {shown(block.text)}: the other stands on line {first}"
                self._wrong(block.line, message, "a block is one requirement")
        parts = tuple(self._blocks), can_fail(body, outside=True), self._keywords(), self._digest()
        return BodySource(self._path, self._definition.lineno, *parts, tuple(self._problems))

    def _wrong(self, line: int, message: str, hint: str) -> None:
        """Note a problem at a line."""
        self._problems.append(Problem(self._path, line, message, hint))

    def _look(self, node: ast.AST, inside: WrittenBlock | None) -> None:
        """Note the blocks below a syntax node, and their problems; ``inside``: the block around the node."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Expr) and (has_no_effect(child.value) or _asks(child.value)):
                message = "it tells whether something holds, and what comes of it is lost"
                self._wrong(child.lineno, message, "write assert")
            blocks = list(_blocks_of(child))
            for block in blocks:
                if inside is not None or len(blocks) > 1:
                    other = inside or next(each for each in blocks if each is not block)
                    message = f"this block stands in another one ({shown(other.text or '')})"
                    self._wrong(block.line, message, "end that block first")
                elif isinstance(child, ast.With) and not can_fail(child.body):
                    message = f"nothing in the block {shown(block.text or '')} can fail"
                    self._wrong(block.line, message, "write assert in it")
                for name in block.unread:
                    self._wrong(block.line, f"{name} of a block is no literal", "write its value")
            self._blocks += blocks
            self._look(child, blocks[0] if blocks else inside)

    def _keywords(self) -> dict[Any, DocumentLines]:
        """Return the line of each keyword of the decorator."""
        calls = (each for each in self._definition.decorator_list if isinstance(each, ast.Call))
        call = next((each for each in calls if ast.unparse(each.func).rpartition(".")[2] == "case"), None)
        if call is None:
            return {}
        lines = _lines_of_keywords(call)
        for keyword in call.keywords:
            if keyword.arg == "user" and isinstance(keyword.value, ast.Call):
                lines["user"].children |= _lines_of_keywords(keyword.value)
        if call.args:
            lines["query"] = DocumentLines(call.args[0].lineno)
        return lines

    def _digest(self) -> str:
        """Return a digest of the function's code without comments and blank lines."""
        first, last = self._definition.body[0].lineno, self._definition.end_lineno
        lines = (line.rstrip() for line in self._text.splitlines()[first - 1 : last])
        code = [line for line in lines if line and not line.lstrip().startswith("#")]
        return hashlib.sha256("\n".join(code).encode("utf-8", "replace")).hexdigest()[:16]


def _lines_of_keywords(call: ast.Call) -> dict[Any, DocumentLines]:
    """Return the line of each keyword argument of a call."""
    return {keyword.arg: DocumentLines(keyword.value.lineno) for keyword in call.keywords if keyword.arg}


def _blocks_of(node: ast.AST) -> Iterator[WrittenBlock]:
    """Yield the blocks that a ``with`` statement begins."""
    for item in node.items if isinstance(node, ast.With) else ():
        match item.context_expr:
            case ast.Call(ast.Attribute(ast.Name("episode"), kind), args, keywords) if kind in KINDS:
                text = _literal(args[0]) if args else None
                given = {keyword.arg: _literal(keyword.value) for keyword in keywords}
                unread = tuple(str(name) for name, value in given.items() if value is None)
                text = text if isinstance(text, str) else None
                name, weight = str(given.get("id") or ""), given.get("weight")
                yield WrittenBlock(kind, text, name, weight, item.context_expr.lineno, unread)


def _literal(value: ast.expr) -> object:
    """Return the value of a literal expression; None for any other expression."""
    return value.value if isinstance(value, ast.Constant) else None


def _asks(value: ast.expr) -> bool:
    """Return whether an expression only reads from the episode."""
    value = value.operand if isinstance(value, ast.UnaryOp) else value
    match value:
        case ast.Call(ast.Attribute(ast.Name("episode"), name)):
            return name in _ASKS
    return False


def can_fail(statements: Sequence[ast.stmt], *, outside: bool = False) -> bool:
    """Return whether one of the statements can fail a test; ``outside``: whether they are outside all blocks.

    That is an assertion that does not always hold, a raise, ``with pytest.raises``, and a call that stands for itself, such as that of a helper.
    """
    nodes: list[ast.AST] = [*statements]
    while nodes:
        node = nodes.pop()
        if isinstance(node, _INNER) or (outside and any(_blocks_of(node))):
            continue
        match node:
            case ast.Raise():
                return True
            case ast.Assert() if not always_holds(node.test):
                return True
            case ast.With() if any(ast.unparse(item.context_expr).startswith("pytest.") for item in node.items):
                return True
            case ast.Expr(ast.Call() | ast.Await(ast.Call())) if not _cannot_fail(node.value):
                return True
        nodes += ast.iter_child_nodes(node)
    return False


def _cannot_fail(value: ast.expr) -> bool:
    """Return whether a call that forms a whole statement cannot fail a test."""
    return _asks(value) or has_no_effect(value) or (isinstance(value, ast.Call) and ast.unparse(value.func) == "print")
