"""Python literals of strangers, as ``repr`` writes them: tokens are looked at first, and nothing is ever evaluated."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from pytest_mapsat.formats import limits
from pytest_mapsat.model import Json, shown

_TOKENS = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    |(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<word>True|False|None)(?!\w)
    |(?P<enum><[A-Za-z_][\w.]{0,200}\.(?P<member>[A-Za-z_]\w{0,200}):\s(?:-?\d{1,20}|'[^'\\\n]{0,200}'|"[^"\\\n]{0,200}")>)
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<mark>[,:])""",
    re.VERBOSE | re.DOTALL,
)
_VALUES = ("string", "number", "word", "enum")
_SHOWN_CHARS = 30


def parse_literal(text: str) -> Json:
    """Return the data of a Python literal; a member of an enum (``<Status.DONE: 1>``) is its name, a tuple a list.

    Args:
        text: the literal, of at most ``limits.LITERAL_CHARS`` characters.

    Raises:
        ValueError: the text is no literal, or a refused one: too long, too deep, a key that is no text or stands twice. The message says what was found where.
    """
    if len(text) > limits.LITERAL_CHARS:
        raise ValueError(f"has {len(text)} characters, more than the {limits.LITERAL_CHARS} that are read")
    source = "".join(_checked(text))
    try:
        return _plain(ast.parse(source.strip(), mode="eval").body)
    except (SyntaxError, MemoryError, RecursionError) as error:
        place = getattr(error, "offset", None)
        raise ValueError(f"is not a Python literal{f', character {place}' if place else ''}") from None


def _checked(text: str) -> Iterator[str]:
    """Yield the tokens of a literal, enum members as text; refuse all that no literal has."""
    at = depth = 0
    before = ""
    while at < len(text):
        token = _TOKENS.match(text, at)
        kind = token.lastgroup if token else None
        kind = "enum" if kind == "member" else kind
        if token is None or (kind in _VALUES and before in _VALUES):
            raise ValueError(
                f"is not a Python literal: found {shown(text[at : at + _SHOWN_CHARS])} at character {at + 1}"
            )
        depth += {"open": 1, "close": -1}.get(kind or "", 0)
        if depth > limits.DEPTH:
            raise ValueError(f"lists and objects stand more than {limits.DEPTH} deep")
        if kind == "number" and len(token[0]) > limits.NUMBER_CHARS:
            raise ValueError(f"holds a number of {len(token[0])} characters")
        yield repr(token["member"]) if kind == "enum" else " " if kind == "space" else token[0]
        before = before if kind == "space" else kind or ""
        at = token.end()


def _plain(node: ast.expr) -> Json:
    """Return the value of a node that stands for plain data."""
    if isinstance(node, ast.List | ast.Tuple):
        return [_plain(element) for element in node.elts]
    if isinstance(node, ast.Dict):
        return _object(node)
    value: Any = node.value if isinstance(node, ast.Constant) else ast.literal_eval(node)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("holds half a character") from None
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < float("inf"):
        return value
    raise ValueError(f"holds {shown(value)}, expected plain data")


def _object(node: ast.Dict) -> Json:
    members: dict[str, Json] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = None if key is None else _plain(key)
        if not isinstance(name, str):
            raise ValueError(f"the key {shown(name)} is no text")  # noqa: TRY004  a fault of the text, not of the caller
        if name in members:
            raise ValueError(f"the key {shown(name)} stands twice")
        members[name] = _plain(value)
    return members
