"""What people and programs read of a run: failures, the summary, dialogues, and the reports of ``--mapsat-report``."""

from __future__ import annotations

from .changes import Line, change_lines
from .data import Report
from .dialogue import dialogue_data, dialogue_lines
from .failure import again_command, failure_text
from .figures import figures, write_figures
from .junit import properties
from .live import Tally, UnderWay, live_line
from .targets import REPORT_TYPES, ReportTarget, parse_reports, write_reports
from .terminal import summary_lines
from .text import call_text, cell_width, cut, printable, wrap

__all__ = [
    "REPORT_TYPES",
    "Line",
    "Report",
    "ReportTarget",
    "Tally",
    "UnderWay",
    "again_command",
    "call_text",
    "cell_width",
    "change_lines",
    "cut",
    "dialogue_data",
    "dialogue_lines",
    "failure_text",
    "figures",
    "live_line",
    "parse_reports",
    "printable",
    "properties",
    "summary_lines",
    "wrap",
    "write_figures",
    "write_reports",
]
