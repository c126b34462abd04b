"""The files that others make and we read, and the files that we write: limits, text, tables, runs, the published layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from . import limits
from .calibration import read_calibration, signed
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
from .journal import Journal, JournalContent, JournalEpisode, Place, is_journal, read_journal
from .jsontext import located_json, parse_json, parse_json_line
from .located import DataPath, Lines, Located, dotted, validate
from .nounlines import Placed, append_lines, read_nouns
from .replacing import replacing, umask
from .run_file import is_complete_run, read_cards, read_run, save_run, scorecard_line, with_attempt, write_run
from .secrets import MARK, Secrets, is_obvious, redacted, without_secrets
from .yamltext import parse_yaml, scalar

if TYPE_CHECKING:
    from .csvtext import TableRow, check_columns, read_csv
    from .dialogues import (
        Layout,
        PublishedCall,
        PublishedDialogue,
        PublishedMessage,
        layout_of,
        layouts,
        read_dialogues,
    )
else:
    _DIALOGUES = (
        "Layout",
        "PublishedCall",
        "PublishedDialogue",
        "PublishedMessage",
        "layout_of",
        "layouts",
        "read_dialogues",
    )
    __getattr__ = fetched(
        __name__,
        {
            "csvtext": ("TableRow", "check_columns", "read_csv"),
            "dialogues": _DIALOGUES,
        },
    )

__all__ = [
    "MARK",
    "READ_ERRORS",
    "DataPath",
    "Journal",
    "JournalContent",
    "JournalEpisode",
    "Layout",
    "Lines",
    "Located",
    "Place",
    "Placed",
    "PublishedCall",
    "PublishedDialogue",
    "PublishedMessage",
    "RawLine",
    "Secrets",
    "TableRow",
    "append_lines",
    "check_columns",
    "content_digest",
    "dotted",
    "is_complete_run",
    "is_journal",
    "is_obvious",
    "layout_of",
    "layouts",
    "limits",
    "located_json",
    "open_bytes",
    "parse_json",
    "parse_json_line",
    "parse_yaml",
    "printable",
    "read_bytes",
    "read_calibration",
    "read_cards",
    "read_csv",
    "read_dialogues",
    "read_journal",
    "read_lines",
    "read_nouns",
    "read_run",
    "redacted",
    "replacing",
    "require_file",
    "save_run",
    "scalar",
    "scorecard_line",
    "shown_path",
    "signed",
    "umask",
    "unreadable",
    "validate",
    "with_attempt",
    "without_secrets",
    "write_run",
]
