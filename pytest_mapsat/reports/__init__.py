"""What people and programs read of a run: failures, the summary, dialogues, and the reports of ``--mapsat-report``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .changes import change_lines
    from .data import Report, properties
    from .dialogue import dialogue_data, dialogue_lines
    from .failure import again_command, failure_text
    from .html import opening
    from .live import Tally, UnderWay, live_line
    from .markdown import code
    from .memories import memory_lines, memory_rows
    from .targets import (
        REPORTS,
        ReportTarget,
        parse_reports,
        reports_of_packages,
        write_report_of_package,
        write_reports,
    )
    from .terminal import group_lines, summary_lines
    from .text import Line, call_text, cell_width, columns, cut, harmless, labelled, printable, wrap
    from .view import answered_by, call_notes, metric_title, shown_metrics
else:
    __getattr__ = fetched(
        __name__,
        {
            "changes": ("change_lines",),
            "memories": ("memory_lines", "memory_rows"),
            "data": ("Report", "properties"),
            "dialogue": ("dialogue_data", "dialogue_lines"),
            "failure": ("again_command", "failure_text"),
            "html": ("opening",),
            "live": ("Tally", "UnderWay", "live_line"),
            "markdown": ("code",),
            "targets": (
                "REPORTS",
                "ReportTarget",
                "parse_reports",
                "reports_of_packages",
                "write_report_of_package",
                "write_reports",
            ),
            "terminal": ("group_lines", "summary_lines"),
            "text": ("Line", "call_text", "cell_width", "columns", "cut", "harmless", "labelled", "printable", "wrap"),
            "view": ("answered_by", "call_notes", "metric_title", "shown_metrics"),
        },
    )

__all__ = [
    "REPORTS",
    "Line",
    "Report",
    "ReportTarget",
    "Tally",
    "UnderWay",
    "again_command",
    "answered_by",
    "call_notes",
    "call_text",
    "cell_width",
    "change_lines",
    "code",
    "columns",
    "cut",
    "dialogue_data",
    "dialogue_lines",
    "failure_text",
    "group_lines",
    "harmless",
    "labelled",
    "live_line",
    "memory_lines",
    "memory_rows",
    "metric_title",
    "opening",
    "parse_reports",
    "printable",
    "properties",
    "reports_of_packages",
    "shown_metrics",
    "summary_lines",
    "wrap",
    "write_report_of_package",
    "write_reports",
]
