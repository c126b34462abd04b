"""What people and programs read of a run: failures, the summary, dialogues, and the reports of ``--mapsat-report``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .changes import Line, change_lines
from .dialogue import dialogue_data, dialogue_lines
from .failure import again_command, failure_text
from .junit import properties
from .live import Tally, UnderWay, live_line
from .terminal import summary_lines
from .text import call_text, cell_width, columns, cut, harmless, printable, wrap

if TYPE_CHECKING:
    from .data import Report
    from .html import opening
    from .paper import figures, write_figures
    from .targets import REPORT_TYPES, ReportTarget, parse_reports, write_reports
else:
    __getattr__ = fetched(
        __name__,
        {
            "data": ("Report",),
            "html": ("opening",),
            "paper": ("figures", "write_figures"),
            "targets": ("REPORT_TYPES", "ReportTarget", "parse_reports", "write_reports"),
        },
    )

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
    "columns",
    "cut",
    "dialogue_data",
    "dialogue_lines",
    "failure_text",
    "figures",
    "harmless",
    "live_line",
    "opening",
    "parse_reports",
    "printable",
    "properties",
    "summary_lines",
    "wrap",
    "write_figures",
    "write_reports",
]
