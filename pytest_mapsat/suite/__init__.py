"""A folder of cases, tools and recordings: found, opened, checked, written.

A module is loaded when one of its names is first used: a run neither checks a suite as lint does, nor writes one.
"""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .common import *
    from .crosscheck import *
    from .linting import *
    from .opened import *
    from .tables import *
    from .variants import *
    from .writing import *
else:
    _NAMES = {
        "common": "CaseEntry WrittenCase",
        "crosscheck": "Remark Severity nouns_in",
        "linting": "LintFinding RULES added_rules asked_unchecked asking findings_of lint remark",
        "opened": "CALIBRATION History LABELS PROPOSALS REVIEWED Suite find_suite is_labels open_suite project_suite read_answers role_of",
        "tables": "PlacedRecording",
        "variants": "Sweep Variant parse_faults sweep_of",
        "writing": "ImportLog ImportReport bare_tool case_json import_formats importer_of is_bare new_folder telling_words to_yaml tools_of write_bytes write_cases write_manifest write_recordings write_rows write_tool",
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()})
