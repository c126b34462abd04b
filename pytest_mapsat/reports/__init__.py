"""What people read of a run: why an item failed, the terminal summary, the run file."""

from __future__ import annotations

from .failure import failure_text
from .run_file import Spool, scorecard_json, write_run
from .terminal import Line, summary_lines

__all__ = ["Line", "Spool", "failure_text", "scorecard_json", "summary_lines", "write_run"]
