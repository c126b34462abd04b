"""A folder of cases, tools and recordings: found, opened, checked, written."""

from __future__ import annotations

from .common import WrittenCase as WrittenCase
from .crosscheck import Remark as Remark
from .crosscheck import nouns_in as nouns_in
from .entries import CaseEntry as CaseEntry
from .inventory import CALIBRATION as CALIBRATION
from .inventory import LABELS as LABELS
from .inventory import PROPOSALS as PROPOSALS
from .inventory import REVIEWED as REVIEWED
from .inventory import role_of as role_of
from .lint import LintFinding as LintFinding
from .lint import Severity as Severity
from .lint import errors_of as errors_of
from .lint import lint as lint
from .opened import Suite as Suite
from .opened import find_suite as find_suite
from .opened import open_suite as open_suite
from .people_labels import is_labels as is_labels
from .people_labels import read_answers as read_answers
from .people_labels import read_label_file as read_label_file
from .recordings import PlacedRecording as PlacedRecording
from .sequences import History as History
from .writing import Importer as Importer
from .writing import ImportLog as ImportLog
from .writing import ImportReport as ImportReport
from .writing import Note as Note
from .writing import bare_tool as bare_tool
from .writing import case_json as case_json
from .writing import import_formats as import_formats
from .writing import importer_of as importer_of
from .writing import is_bare as is_bare
from .writing import new_folder as new_folder
from .writing import to_yaml as to_yaml
from .writing import tools_of as tools_of
from .writing import write_bytes as write_bytes
from .writing import write_cases as write_cases
from .writing import write_manifest as write_manifest
from .writing import write_recordings as write_recordings
from .writing import write_tool as write_tool
