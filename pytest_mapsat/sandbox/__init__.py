"""The sandbox of a case: canonical arguments, matching, and the tools that an agent is handed. A module is loaded when one of its names is first used."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched
from pytest_mapsat.model import DAY_WORDS as DAY_WORDS
from pytest_mapsat.model import UnfitError as UnfitError
from pytest_mapsat.model import day_of as day_of
from pytest_mapsat.model import distance_m as distance_m
from pytest_mapsat.model import normalise as normalise
from pytest_mapsat.model import open_at as open_at
from pytest_mapsat.model import opening_hours as opening_hours
from pytest_mapsat.model import point_of as point_of
from pytest_mapsat.model import tokens as tokens

if TYPE_CHECKING:
    from .end import *
    from .events import *
    from .hops import *
    from .large import *
    from .layers import *
    from .ranked import *
    from .resolver import *
    from .rows import *
    from .spec import *
    from .state import *
else:
    _NAMES = {
        "end": "End EndError UnknownEndError differences end_of end_state maybe_writing own_changes play_reference reference_digest tables_of",
        "events": "EventSandbox",
        "hops": "ReturnedRow holds_evidence hop_calls id_text named_items returned_rows",
        "large": "FileRows Keys LARGE_BYTES Parts Spots",
        "layers": (
            "RecordedSandbox Refused Sandbox SandboxFactory SandboxHook SandboxSuite Toolbox ToolsClosed in_time installed_sandboxes "
            "make_sandbox sandbox_hook unknown_tool"
        ),
        "ranked": "Ranker",
        "resolver": "MISS_RESULT SandboxAnswer recording_key",
        "rows": "shape_of",
        "spec": "argument_problems canonical rule_of",
        "state": "NoSuchRowError Row Rows State Table cell_of fresh frozen key_text net_changes unknown_table unmet with_overlays",
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()})
