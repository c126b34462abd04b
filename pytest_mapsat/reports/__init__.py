"""What people and programs read of a run: failures, the summary, dialogues, and the reports of ``--mapsat-report``."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .changes import change_lines as change_lines
    from .changes import memory_lines as memory_lines
    from .changes import memory_rows as memory_rows
    from .dialogue import again_command as again_command
    from .dialogue import dialogue_data as dialogue_data
    from .dialogue import dialogue_lines as dialogue_lines
    from .dialogue import failure_text as failure_text
    from .dialogue import lost_reason as lost_reason
    from .html import opening as opening
    from .markdown import code as code
    from .targets import REPORTS as REPORTS
    from .targets import ReportTarget as ReportTarget
    from .targets import parse_reports as parse_reports
    from .targets import reports_of_packages as reports_of_packages
    from .targets import write_report_of_package as write_report_of_package
    from .targets import write_reports as write_reports
    from .terminal import Tally as Tally
    from .terminal import UnderWay as UnderWay
    from .terminal import group_lines as group_lines
    from .terminal import live_line as live_line
    from .terminal import summary_lines as summary_lines
    from .text import call_text as call_text
    from .text import cell_width as cell_width
    from .text import columns as columns
    from .text import cut as cut
    from .text import labelled as labelled
    from .text import printable as printable
    from .text import wrap as wrap
    from .view import Report as Report
    from .view import answered_by as answered_by
    from .view import call_notes as call_notes
    from .view import metric_title as metric_title
    from .view import properties as properties
    from .view import shown_metrics as shown_metrics
else:
    __getattr__ = fetched(
        __name__,
        {
            "changes": ("change_lines", "memory_lines", "memory_rows"),
            "dialogue": ("again_command", "dialogue_data", "dialogue_lines", "failure_text", "lost_reason"),
            "html": ("opening",),
            "markdown": ("code",),
            "targets": (
                "REPORTS",
                "ReportTarget",
                "parse_reports",
                "reports_of_packages",
                "write_report_of_package",
                "write_reports",
            ),
            "terminal": ("Tally", "UnderWay", "group_lines", "live_line", "summary_lines"),
            "text": ("call_text", "cell_width", "columns", "cut", "labelled", "printable", "wrap"),
            "view": ("Report", "answered_by", "call_notes", "metric_title", "properties", "shown_metrics"),
        },
    )
