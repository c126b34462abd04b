"""Texts on their way to people: whatever files, services and agents wrote steers no terminal there, and is no command of a CI service. Standard library only."""

from __future__ import annotations

import re

#: Control characters but tab and line feed, other ends of lines, marks that turn the direction of writing, and halves of characters.
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_COMMAND = re.compile(r"^(\s*)::")


class WorkflowCommand(str):
    """A line that a CI service shall take for a command; the words in it are escaped."""

    __slots__ = ()


def visible(text: str) -> str:
    """Return a text with what would steer a terminal or its reader's eye shown as escapes; its lines stay lines."""
    return _STEERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def harmless(line: str) -> str:
    """Return a line that no CI service takes for a command: GitHub reads ``::name::`` where a line begins, and ``##[name]`` anywhere."""
    return _COMMAND.sub(r"\1\\::", line.replace("##[", "##\\["))


def printed(text: object) -> str:
    """Return a text as it is printed: each line visible and harmless. All that this package prints comes through here, or through ``printed_json``."""
    return text if isinstance(text, WorkflowCommand) else "\n".join(map(harmless, visible(str(text)).split("\n")))


def printed_json(text: str) -> str:
    """Return JSON as it is printed: the same values, with such characters as the escapes that JSON has for them."""
    return visible(text).replace("##[", "\\u0023#[")


def on_one_line(text: str) -> str:
    r"""Return a text with ``\n`` for each end of a line: what stands behind it in a message is no line of its own."""
    return visible(text).replace("\n", "\\n")
