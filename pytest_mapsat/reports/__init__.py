"""What people read of a run: why an item failed, the terminal summary, the run file."""

from __future__ import annotations

from .failure import again_command, failure_text
from .run_file import Spool, scorecard_json, write_run
from .terminal import Line, summary_lines
from .text import cell_width, cut, printable, wrap

__all__ = [
    "Line",
    "Spool",
    "again_command",
    "cell_width",
    "cut",
    "failure_text",
    "printable",
    "scorecard_json",
    "summary_lines",
    "wrap",
    "write_run",
]
