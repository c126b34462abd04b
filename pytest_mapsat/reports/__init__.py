"""What people read of a run: why an item failed, the terminal summary."""

from __future__ import annotations

from .failure import again_command, failure_text
from .terminal import Line, summary_lines
from .text import call_text, cell_width, cut, printable, wrap

__all__ = [
    "Line",
    "again_command",
    "call_text",
    "cell_width",
    "cut",
    "failure_text",
    "printable",
    "summary_lines",
    "wrap",
]
