"""The sandbox of a case: canonical arguments, matching, and the tools that an agent is handed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .canonical import (
    DAY_WORDS,
    UnfitError,
    canonical,
    day_of,
    distance_m,
    normalise,
    number,
    open_at,
    opening_hours,
    text_similarity,
    tokens,
)
from .canonical import point as point_of
from .end import (
    End,
    EndError,
    differences,
    end_state,
    maybe_writing,
    play_reference,
    reference_digest,
    tables_of,
)
from .hops import ReturnedRow, holds_evidence, hop_calls, id_text, named_items, returned_rows
from .layers import (
    RecordedSandbox,
    Refused,
    Sandbox,
    SandboxFactory,
    SandboxHook,
    SandboxSuite,
    in_time,
    installed_sandboxes,
    make_sandbox,
    unknown_tool,
)
from .resolver import MISS_RESULT, Answer, recording_key
from .satisfy import FoundValues, fits, same_value, satisfies
from .spec import argument_problems, rule_of
from .state import Row, Rows, State, Table, View, as_seen, frozen, net_changes, rows_meant, unknown_table, unmet
from .toolbox import Toolbox, ToolsClosed

if TYPE_CHECKING:
    from .large import LARGE_BYTES, FileRows, Keys, Parts, Spots
    from .ranked import Ranker, ranker_of
    from .rows import shape_of
else:
    _NAMES = {
        "large": ("LARGE_BYTES", "FileRows", "Keys", "Parts", "Spots"),
        "ranked": ("Ranker", "ranker_of"),
        "rows": ("shape_of",),
    }
    __getattr__ = fetched(__name__, _NAMES)

__all__ = [
    "DAY_WORDS",
    "LARGE_BYTES",
    "MISS_RESULT",
    "Answer",
    "End",
    "EndError",
    "FileRows",
    "FoundValues",
    "Keys",
    "Parts",
    "Ranker",
    "RecordedSandbox",
    "Refused",
    "ReturnedRow",
    "Row",
    "Rows",
    "Sandbox",
    "SandboxFactory",
    "SandboxHook",
    "SandboxSuite",
    "Spots",
    "State",
    "Table",
    "Toolbox",
    "ToolsClosed",
    "UnfitError",
    "View",
    "argument_problems",
    "as_seen",
    "canonical",
    "day_of",
    "differences",
    "distance_m",
    "end_state",
    "fits",
    "frozen",
    "holds_evidence",
    "hop_calls",
    "id_text",
    "in_time",
    "installed_sandboxes",
    "make_sandbox",
    "maybe_writing",
    "named_items",
    "net_changes",
    "normalise",
    "number",
    "open_at",
    "opening_hours",
    "play_reference",
    "point_of",
    "ranker_of",
    "recording_key",
    "reference_digest",
    "returned_rows",
    "rows_meant",
    "rule_of",
    "same_value",
    "satisfies",
    "shape_of",
    "tables_of",
    "text_similarity",
    "tokens",
    "unknown_table",
    "unknown_tool",
    "unmet",
]
