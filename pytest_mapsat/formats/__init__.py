"""The files that others make and we read, and the files that we write: limits, text, tables, runs, the published layout."""

from __future__ import annotations

from . import limits
from .csvtext import TableRow, check_columns, read_csv
from .files import (
    READ_ERRORS,
    RawLine,
    content_digest,
    open_bytes,
    printable,
    read_bytes,
    read_lines,
    require_file,
    shown_path,
    unreadable,
)
from .jsontext import parse_json, parse_json_line
from .located import DataPath, Lines, Located, dotted, validate
from .published import (
    Completion,
    Degree,
    FactCheck,
    Faithfulness,
    Layout,
    PublishedCall,
    PublishedDialogue,
    PublishedMessage,
    PublishedVerdict,
    Satisfaction,
    layout_of,
    read_dialogues,
    read_verdicts,
)
from .replacing import replacing, umask
from .run_file import Spool, read_run, save_run, scorecard_json, write_run
from .yamltext import parse_yaml, scalar

__all__ = [
    "READ_ERRORS",
    "Completion",
    "DataPath",
    "Degree",
    "FactCheck",
    "Faithfulness",
    "Layout",
    "Lines",
    "Located",
    "PublishedCall",
    "PublishedDialogue",
    "PublishedMessage",
    "PublishedVerdict",
    "RawLine",
    "Satisfaction",
    "Spool",
    "TableRow",
    "check_columns",
    "content_digest",
    "dotted",
    "layout_of",
    "limits",
    "open_bytes",
    "parse_json",
    "parse_json_line",
    "parse_yaml",
    "printable",
    "read_bytes",
    "read_csv",
    "read_dialogues",
    "read_lines",
    "read_run",
    "read_verdicts",
    "replacing",
    "require_file",
    "save_run",
    "scalar",
    "scorecard_json",
    "shown_path",
    "umask",
    "unreadable",
    "validate",
    "write_run",
]
