"""Small pieces of text for the terminal: cutting, wrapping and widths that count Chinese characters as two."""

from __future__ import annotations

import json
import unicodedata
from typing import Any


def cell_width(text: str) -> int:
    """Return how many columns the text takes in a terminal."""
    return sum(_char_width(char) for char in text)


def printable(text: str) -> str:
    """Return the text on one line, with control characters shown as escapes, so that no reply can steer a terminal."""
    folded = " ".join(text.split())
    return "".join(char if _is_plain(char) else f"\\u{ord(char):04x}" for char in folded)


def cut(text: str, width: int) -> str:
    """Return the text cut to ``width`` columns, with an ellipsis where something was cut."""
    if cell_width(text) <= width:
        return text
    taken, used = [], 0
    for char in text:
        used += _char_width(char)
        if used > width - 1:
            break
        taken.append(char)
    return "".join(taken) + "…"


def wrap(text: str, width: int, *, indent: str = "") -> list[str]:
    """Return the text in lines of at most ``width`` columns, broken at spaces or between Chinese characters."""
    lines: list[str] = []
    line = ""
    for piece in _pieces(text):
        if line and cell_width(indent + line + piece.rstrip()) > width:
            lines.append(indent + line.rstrip())
            line = piece.lstrip()
        else:
            line += piece
        while cell_width(indent + line.rstrip()) > width:
            # One piece is wider than the line: a long id or address. Break it where it must.
            head = _head(line, width - cell_width(indent))
            lines.append(indent + head)
            line = line[len(head) :]
    if line.strip():
        lines.append(indent + line.rstrip())
    return lines or [indent.rstrip()]


def _head(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _char_width(char)
        if used > width:
            return text[: max(index, 1)]
    return text


def call_text(tool: str, arguments: dict[str, Any]) -> str:
    """Return a call as one would type it."""
    inside = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return printable(f"{tool}({inside})")


def _pieces(text: str) -> list[str]:
    """Split into pieces that may stand on lines of their own: words with their space, or single wide characters."""
    pieces: list[str] = []
    word = ""
    for char in text:
        if _char_width(char) == 2:  # noqa: PLR2004 (a wide character)
            if word:
                pieces.append(word)
            pieces.append(char)
            word = ""
        elif char == " ":
            pieces.append(word + char)
            word = ""
        else:
            word += char
    if word:
        pieces.append(word)
    return pieces


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _is_plain(char: str) -> bool:
    return char == " " or unicodedata.category(char)[0] not in "CZ"
