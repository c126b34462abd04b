"""Texts on their way to people: whatever files, services and agents wrote steers no terminal there, and is not a command of a CI service. Standard library only."""

from __future__ import annotations

import re

#: Control characters but tab and line feed, other ends of lines, marks that turn the direction of writing, and halves of characters.
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_COMMAND = re.compile(r"^(\s*)::")


class WorkflowCommand(str):
    """A line intended as a command for a CI service; its words are already escaped."""

    __slots__ = ()


def visible(text: str) -> str:
    """Return a text with escaped characters if they could control a terminal or mislead the reader; line ends stay."""
    return _STEERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def harmless(line: str) -> str:
    """Return a line changed so that GitHub does not read it as a command (``::name::`` at its start, ``##[name]`` anywhere)."""
    return _COMMAND.sub(r"\1\\::", line.replace("##[", "##\\["))


def printed(text: object) -> str:
    """Return a text with escaped control characters and CI commands, safe to print. A WorkflowCommand is unchanged."""
    return text if isinstance(text, WorkflowCommand) else "\n".join(map(harmless, visible(str(text)).split("\n")))


def printed_json(text: str) -> str:
    """Return JSON text that is safe to print, with the same values: unsafe characters as JSON escapes."""
    return visible(text).replace("##[", "\\u0023#[")


def on_one_line(text: str) -> str:
    r"""Return a text as one line: line ends become ``\n``, and control characters are escaped."""
    return visible(text).replace("\n", "\\n")
