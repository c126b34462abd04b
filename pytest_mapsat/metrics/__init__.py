"""From nouns to numbers: families of metrics, that of MapSatisfyBench first, its weights, intervals, and means over cases.

Pure functions; nothing here knows what a place is, reads a file or asks a model.
"""

from __future__ import annotations

from .aggregate import PASS_RATE, RunUsage, group, summarise, usage
from .family import Family, Scene
from .gather import families_named, gather_families
from .labels import Measure, index_labels
from .msb import MSB
from .outcome import ASSERTABLE, ItemOutcome, fault_of, item_outcome
from .satisfaction import (
    Faithfulness,
    acceptance,
    cost_efficiency,
    explicit_completion,
    faithfulness,
    implicit_satisfaction,
    interaction_efficiency,
    satisfaction_efficiency,
)
from .scoring import SOURCE_ATTRIBUTE, score
from .statistics import bootstrap_interval, bootstrap_intervals, clustered, wilson_interval
from .tools import Satisfies, ToolSelection, tool_selection
from .weights import DEFAULT_WEIGHTS, WeightTable, weight_of

__all__ = [
    "ASSERTABLE",
    "DEFAULT_WEIGHTS",
    "MSB",
    "PASS_RATE",
    "SOURCE_ATTRIBUTE",
    "Faithfulness",
    "Family",
    "ItemOutcome",
    "Measure",
    "RunUsage",
    "Satisfies",
    "Scene",
    "ToolSelection",
    "WeightTable",
    "acceptance",
    "bootstrap_interval",
    "bootstrap_intervals",
    "clustered",
    "cost_efficiency",
    "explicit_completion",
    "faithfulness",
    "families_named",
    "fault_of",
    "gather_families",
    "group",
    "implicit_satisfaction",
    "index_labels",
    "interaction_efficiency",
    "item_outcome",
    "satisfaction_efficiency",
    "score",
    "summarise",
    "tool_selection",
    "usage",
    "weight_of",
    "wilson_interval",
]
