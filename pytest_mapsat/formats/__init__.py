"""The files that others make and we read, and the files that we write: limits, text, tables, runs, spans."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .files import READ_ERRORS as READ_ERRORS
from .files import RawLine as RawLine
from .files import add_files as add_files
from .files import content_digest as content_digest
from .files import limits as limits
from .files import open_bytes as open_bytes
from .files import printable as printable
from .files import raise_for_problems as raise_for_problems
from .files import read_bytes as read_bytes
from .files import read_lines as read_lines
from .files import replacing as replacing
from .files import require_file as require_file
from .files import shown_path as shown_path
from .files import umask as umask
from .files import unreadable as unreadable
from .messages import ChatMessage as ChatMessage
from .messages import Unknown as Unknown
from .messages import data_of as data_of
from .messages import layout_of as layout_of
from .messages import layouts as layouts
from .messages import read_messages as read_messages
from .messages import result_of as result_of
from .otlp import OtlpSpan as OtlpSpan
from .otlp import spans_in as spans_in
from .plain_data import DataPath as DataPath
from .plain_data import DocumentLines as DocumentLines
from .plain_data import LocatedDocument as LocatedDocument
from .plain_data import PlacedNoun as PlacedNoun
from .plain_data import TableRow as TableRow
from .plain_data import append_lines as append_lines
from .plain_data import check_columns as check_columns
from .plain_data import document_of as document_of
from .plain_data import dotted as dotted
from .plain_data import json_elements as json_elements
from .plain_data import lines_of_list as lines_of_list
from .plain_data import located_json as located_json
from .plain_data import noun_of as noun_of
from .plain_data import object_in as object_in
from .plain_data import parse_json as parse_json
from .plain_data import parse_json_line as parse_json_line
from .plain_data import parse_literal as parse_literal
from .plain_data import parse_yaml as parse_yaml
from .plain_data import read_calibration as read_calibration
from .plain_data import read_csv as read_csv
from .plain_data import read_nouns as read_nouns
from .plain_data import read_text as read_text
from .plain_data import scalar as scalar
from .plain_data import signed as signed
from .plain_data import validate as validate
from .redaction import MARK as MARK
from .redaction import Secrets as Secrets
from .redaction import is_obvious as is_obvious
from .redaction import redacted as redacted
from .redaction import without_secrets as without_secrets
from .run_file import MOST_PACKED as MOST_PACKED
from .run_file import CardPlace as CardPlace
from .run_file import Journal as Journal
from .run_file import KeptRows as KeptRows
from .run_file import begin_with as begin_with
from .run_file import is_complete_run as is_complete_run
from .run_file import is_journal as is_journal
from .run_file import lock_file as lock_file
from .run_file import read_cards as read_cards
from .run_file import read_journal as read_journal
from .run_file import read_run as read_run
from .run_file import save_run as save_run
from .run_file import scorecard_line as scorecard_line
from .run_file import starts_of as starts_of
from .run_file import with_attempt as with_attempt
from .run_file import write_run as write_run

if TYPE_CHECKING:
    from .personal import PersonalData as PersonalData
    from .spans import SpanCall as SpanCall
    from .spans import SpanDialogue as SpanDialogue
    from .spans import SpanTurn as SpanTurn
    from .spans import calls_in_spans as calls_in_spans
    from .spans import read_spans as read_spans
else:
    __getattr__ = fetched(
        __name__,
        {
            "personal": ("PersonalData",),
            "spans": ("SpanCall", "SpanDialogue", "SpanTurn", "calls_in_spans", "read_spans"),
        },
    )
