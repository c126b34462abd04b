"""What people read of a run: why an item failed, the terminal summary."""

from __future__ import annotations

from .changes import Line, change_lines
from .failure import again_command, failure_text
from .terminal import summary_lines
from .text import call_text, cell_width, cut, printable, wrap

__all__ = [
    "Line",
    "again_command",
    "call_text",
    "cell_width",
    "change_lines",
    "cut",
    "failure_text",
    "printable",
    "summary_lines",
    "wrap",
]
