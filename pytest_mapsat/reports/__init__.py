"""The views of a run for people and programs: failures, the summary, dialogues, and the reports of ``--mapsat-report``."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .changes import *
    from .dialogue import *
    from .failures import *
    from .html import *
    from .markdown import *
    from .targets import *
    from .terminal import *
    from .text import *
    from .view import *
else:
    _NAMES = {
        "changes": "change_lines memory_lines memory_rows",
        "dialogue": "again_command dialogue_data dialogue_lines failure_text lost_reason",
        "failures": "Failure FailureGroup failure_groups",
        "html": "EarlierRun opening templates_of",
        "markdown": "code",
        "targets": "OF_SEVERAL REPORTS ReportTarget parse_reports reports_of_packages write_report_of_package write_reports",
        "terminal": "LABEL Tally UnderWay group_lines live_line summary_lines",
        "text": "Line call_text cell_width columns cut labelled printable wrap",
        "view": "Report answered_by call_notes headline metric_title properties range_text shown_metrics",
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()})
