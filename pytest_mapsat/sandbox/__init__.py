"""The sandbox of a case: canonical arguments, matching, and the tools that an agent is handed."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched
from pytest_mapsat.model import DAY_WORDS as DAY_WORDS
from pytest_mapsat.model import FoundValues as FoundValues
from pytest_mapsat.model import UnfitError as UnfitError
from pytest_mapsat.model import day_of as day_of
from pytest_mapsat.model import distance_m as distance_m
from pytest_mapsat.model import normalise as normalise
from pytest_mapsat.model import number as number
from pytest_mapsat.model import open_at as open_at
from pytest_mapsat.model import opening_hours as opening_hours
from pytest_mapsat.model import point_of as point_of
from pytest_mapsat.model import same_value as same_value
from pytest_mapsat.model import text_similarity as text_similarity
from pytest_mapsat.model import tokens as tokens

from .end import End as End
from .end import EndError as EndError
from .end import UnknownEndError as UnknownEndError
from .end import differences as differences
from .end import end_of as end_of
from .end import end_state as end_state
from .end import maybe_writing as maybe_writing
from .end import play_reference as play_reference
from .end import reference_digest as reference_digest
from .end import tables_of as tables_of
from .hops import ReturnedRow as ReturnedRow
from .hops import holds_evidence as holds_evidence
from .hops import hop_calls as hop_calls
from .hops import id_text as id_text
from .hops import named_items as named_items
from .hops import returned_rows as returned_rows
from .layers import RecordedSandbox as RecordedSandbox
from .layers import Refused as Refused
from .layers import Sandbox as Sandbox
from .layers import SandboxFactory as SandboxFactory
from .layers import SandboxHook as SandboxHook
from .layers import SandboxSuite as SandboxSuite
from .layers import Toolbox as Toolbox
from .layers import ToolsClosed as ToolsClosed
from .layers import in_time as in_time
from .layers import installed_sandboxes as installed_sandboxes
from .layers import make_sandbox as make_sandbox
from .layers import sandbox_hook as sandbox_hook
from .layers import unknown_tool as unknown_tool
from .resolver import SandboxAnswer as SandboxAnswer
from .resolver import recording_key as recording_key
from .spec import argument_problems as argument_problems
from .spec import canonical as canonical
from .spec import rule_of as rule_of
from .state import NoSuchRowError as NoSuchRowError
from .state import Row as Row
from .state import Rows as Rows
from .state import State as State
from .state import Table as Table
from .state import as_seen as as_seen
from .state import cell_of as cell_of
from .state import fresh as fresh
from .state import frozen as frozen
from .state import key_text as key_text
from .state import net_changes as net_changes
from .state import rows_meant as rows_meant
from .state import unknown_table as unknown_table
from .state import unmet as unmet

if TYPE_CHECKING:
    from .large import LARGE_BYTES as LARGE_BYTES
    from .large import FileRows as FileRows
    from .large import Keys as Keys
    from .large import Parts as Parts
    from .large import Spots as Spots
    from .ranked import Ranker as Ranker
    from .ranked import ranker_of as ranker_of
    from .rows import shape_of as shape_of
else:
    _NAMES = {
        "large": ("LARGE_BYTES", "FileRows", "Keys", "Parts", "Spots"),
        "ranked": ("Ranker", "ranker_of"),
        "rows": ("shape_of",),
    }
    __getattr__ = fetched(__name__, _NAMES)
