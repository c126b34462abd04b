"""The files that others make and we read, and the files that we write: limits, text, tables, runs, spans.

A module is loaded when one of its names is first used: most runs read neither spans nor messages of others.
"""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .conventions import *
    from .files import *
    from .layout import *
    from .messages import *
    from .otlp import *
    from .personal import *
    from .plain_data import *
    from .redaction import *
    from .run_file import *
    from .spans import *
else:
    _NAMES = {
        "files": (
            "READ_ERRORS RawLine add_files content_digest limits open_bytes printable raise_for_problems read_bytes read_lines replacing "
            "require_file shown_path umask unreadable"
        ),
        "conventions": "OtlpSpan",
        "layout": "layout_of layouts",
        "messages": "ChatMessage Unknown data_of read_messages reported_call result_of",
        "otlp": "spans_in",
        "personal": "PersonalData",
        "plain_data": (
            "DataPath DocumentLines LocatedDocument PlacedNoun TableRow append_lines check_columns document_of dotted json_elements "
            "lines_of_list located_json noun_from noun_of object_in package_data parse_json parse_json_line parse_literal parse_yaml read_calibration "
            "read_csv read_nouns read_text scalar signed validate"
        ),
        "redaction": "MARK Secrets is_obvious redacted without_secrets",
        "run_file": (
            "CardPlace Journal KeptRows begin_with is_complete_run is_journal lock_file read_cards read_journal read_run save_run "
            "run_head scorecard_line starts_of with_attempt write_run"
        ),
        "spans": "DELEGATES RecordedDialogue calls_in_spans read_spans",
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()})
