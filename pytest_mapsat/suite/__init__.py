"""A folder of cases, tools and recordings: found, opened, checked, written."""

from __future__ import annotations

from .common import WrittenCase
from .crosscheck import Remark, nouns_in
from .entries import CaseEntry
from .inventory import CALIBRATION, LABELS, REVIEWED, role_of
from .lint import LintFinding, Severity, errors_of, lint
from .opened import Suite, find_suite, open_suite
from .people_labels import is_labels, read_answers, read_label_file
from .recordings import PlacedRecording
from .sequences import History
from .writing import (
    Importer,
    ImportLog,
    ImportReport,
    Note,
    bare_tool,
    case_json,
    import_formats,
    importer_of,
    is_bare,
    new_folder,
    to_yaml,
    tools_of,
    write_bytes,
    write_case,
    write_cases,
    write_manifest,
    write_recordings,
    write_tool,
)

__all__ = [
    "CALIBRATION",
    "LABELS",
    "REVIEWED",
    "CaseEntry",
    "History",
    "ImportLog",
    "ImportReport",
    "Importer",
    "LintFinding",
    "Note",
    "PlacedRecording",
    "Remark",
    "Severity",
    "Suite",
    "WrittenCase",
    "bare_tool",
    "case_json",
    "errors_of",
    "find_suite",
    "import_formats",
    "importer_of",
    "is_bare",
    "is_labels",
    "lint",
    "new_folder",
    "nouns_in",
    "open_suite",
    "read_answers",
    "read_label_file",
    "role_of",
    "to_yaml",
    "tools_of",
    "write_bytes",
    "write_case",
    "write_cases",
    "write_manifest",
    "write_recordings",
    "write_tool",
]
