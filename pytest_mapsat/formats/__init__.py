"""The files that others make and we read, and the files that we write: limits, text, tables, runs, the published layout."""

from __future__ import annotations

from . import limits
from .files import (
    READ_ERRORS,
    RawLine,
    content_digest,
    open_bytes,
    read_lines,
    read_small,
    shown_path,
    unreadable,
)
from .jsontext import parse_json, parse_json_line
from .located import DataPath, Lines, Located, dotted, validate
from .replacing import replacing, umask
from .run_file import Spool, read_run, save_run, scorecard_json, write_run
from .yamltext import parse_yaml, scalar

__all__ = [
    "READ_ERRORS",
    "DataPath",
    "Lines",
    "Located",
    "RawLine",
    "Spool",
    "content_digest",
    "dotted",
    "limits",
    "open_bytes",
    "parse_json",
    "parse_json_line",
    "parse_yaml",
    "read_lines",
    "read_run",
    "read_small",
    "replacing",
    "save_run",
    "scalar",
    "scorecard_json",
    "shown_path",
    "umask",
    "unreadable",
    "validate",
    "write_run",
]
