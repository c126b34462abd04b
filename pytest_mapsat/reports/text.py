"""Small pieces of text for the terminal: cutting, wrapping and widths that count Chinese characters as two."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from rich.cells import cell_len, chop_cells

from pytest_mapsat.printed import harmless
from pytest_mapsat.user_code import plain

_OPENING = frozenset("'\"“‘([{（「《")
#: What stands between two columns.
_BETWEEN = " | "
_CLOSING = frozenset("'\"”’)]},.;:!?、，。；：！？）」》")


def columns(most: int = 80) -> int:
    """Return the width of the terminal, at least 60 and at most ``most``; ``most`` if there is no terminal."""
    return min(max(shutil.get_terminal_size((most, 24)).columns, 60), most)


#: Returns how many columns a text takes in a terminal.
cell_width = cell_len


def printable(text: str) -> str:
    """Return the text on one line with control characters as escapes, so that no reply can manipulate a terminal."""
    return plain(" ".join(text.split()))


def cut(text: str, width: int) -> str:
    """Return the text cut to ``width`` columns, with an ellipsis at the cut."""
    if cell_width(text) <= width:
        return text
    return chop_cells(text, width - 1)[0] + "…" if width > 1 else "…"


def wrap(text: str, width: int, *, indent: str = "", hang: int = 0) -> list[str]:
    """Return the text in lines of at most ``width`` columns, broken at spaces or between Chinese characters.

    Args:
        text: one paragraph.
        width: columns.
        indent: stands before every line.
        hang: further spaces before every line but the first.
    """
    # What keeps a line from being a command takes a column.
    room = width - cell_width(indent) - hang - any(mark in text for mark in ("::", "##["))
    rows = [harmless(row) for row in _rows(text, room, first=room + hang)]
    return [indent + (" " * hang if number else "") + row for number, row in enumerate(rows)] or [indent.rstrip()]


class Line(NamedTuple):
    """A line of the terminal; ``style`` is one of pytest's markup words, or empty."""

    text: str
    style: str = ""


def labelled(label: str, text: str, width: int, style: str = "", *, lead: str = "") -> Iterator[Line]:
    """Yield the lines of a label and a wrapped text; later lines are indented to line up with the text.

    Args:
        label: with the blanks behind it.
        text: one paragraph.
        width: columns of the terminal.
        style: of all lines.
        lead: stands before the text, and rows after the first behind it.
    """
    for number, row in enumerate(wrap(lead + text, width - cell_width(label), hang=len(lead))):
        yield Line(f"{' ' * cell_width(label) if number else label}{row}", style)


def side_by_side(pairs: Sequence[tuple[str, str]], width: int, *, indent: str = "") -> Iterator[str]:
    """Yield the lines of pairs of texts in two columns, each text wrapped; the first pair holds the titles.

    Args:
        pairs: left and right.
        width: columns of both together.
        indent: stands before every line.
    """
    room = (width - cell_width(indent) - len(_BETWEEN)) // 2
    most = max((cell_width(printable(left)) for left, _ in pairs), default=0)
    left_room = min(most, room)
    for left, right in pairs:
        columns = (
            wrap(printable(left), left_room),
            wrap(printable(right), width - cell_width(indent) - len(_BETWEEN) - left_room),
        )
        for cell, other in zip_longest(*columns, fillvalue=""):
            yield f"{indent}{cell}{' ' * (left_room - cell_width(cell))}{_BETWEEN}{other}".rstrip()


def _rows(text: str, room: int, *, first: int) -> list[str]:
    """Return a text broken into rows of at most ``room`` columns, and of ``first`` columns for the first row."""
    rows: list[str] = []
    row = ""
    for piece in _pieces(text):
        if row and cell_width(row + piece.rstrip()) > (room if rows else first):
            rows.append(row.rstrip())
            row = piece.lstrip()
        else:
            row += piece
        while cell_width(row.rstrip()) > (space := room if rows else first):
            # One piece is wider than the line: a long id or address. Break it where it must.
            head = chop_cells(row, max(space, 1))[0] or row[0]
            rows.append(head)
            row = row[len(head) :]
    return [*rows, row.rstrip()] if row.strip() else rows


def call_text(tool: str, arguments: dict[str, Any]) -> str:
    """Return a tool call as code on one line, as ``tool(name=value)``."""
    inside = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return printable(f"{tool}({inside})")


def _pieces(text: str) -> list[str]:
    """Split a text at possible line breaks: into words with their space, and single wide characters.

    An opening quotation mark stays with what follows it, a closing one with what stands before.
    """
    pieces: list[str] = []
    word = ""
    for char in text:
        if cell_width(char) == 2 and char not in _CLOSING:  # noqa: PLR2004 (a wide character)
            opening = word if word and all(char_of_word in _OPENING for char_of_word in word) else ""
            pieces += [
                char_of_word for char_of_word in (word[: len(word) - len(opening)], opening + char) if char_of_word
            ]
            word = ""
        elif char in _CLOSING and not word and pieces and not pieces[-1].endswith(" "):
            pieces[-1] += char
        elif char == " ":
            pieces.append(word + char)
            word = ""
        else:
            word += char
    return [*pieces, word] if word else pieces
