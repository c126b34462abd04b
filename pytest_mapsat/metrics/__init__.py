"""From nouns to numbers: metric sets, that of MapSatisfyBench first, its weights, intervals, and means over cases.

Pure functions; nothing here knows what a place is, reads a file or asks a model.
"""

from __future__ import annotations

from .aggregate import RunUsage, cluster_of, group, span_of, summarise, usage
from .agreement import cohen_kappa, kappa_interval, votes_agree
from .gather import gather_metric_sets, metric_sets_named
from .labels import (
    Measure,
    Reading,
    between,
    index_labels,
    not_applicable,
    read_label,
    read_labels,
    read_named,
    weighted_share,
)
from .metric_set import Given, MetricInput, MetricSet
from .msb import MSB
from .outcome import ASSERTABLE, ItemOutcome, achieved, fault_of, item_outcome
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
from .scoring import PASS_RATE, SOURCE_ATTRIBUTE, score
from .statistics import LEVEL, bootstrap_interval, bootstrap_intervals, clustered, wilson_interval
from .tools import Satisfies, ToolSelection, tool_selection
from .trials import CaseRow, PassRule, case_rows, pass_all, pass_at, trial_outcome
from .weights import DEFAULT_WEIGHTS, WeightTable, weight_of

__all__ = [
    "ASSERTABLE",
    "DEFAULT_WEIGHTS",
    "LEVEL",
    "MSB",
    "PASS_RATE",
    "SOURCE_ATTRIBUTE",
    "CaseRow",
    "Faithfulness",
    "Given",
    "ItemOutcome",
    "Measure",
    "MetricInput",
    "MetricSet",
    "PassRule",
    "Reading",
    "RunUsage",
    "Satisfies",
    "ToolSelection",
    "WeightTable",
    "acceptance",
    "achieved",
    "between",
    "bootstrap_interval",
    "bootstrap_intervals",
    "case_rows",
    "cluster_of",
    "clustered",
    "cohen_kappa",
    "cost_efficiency",
    "explicit_completion",
    "faithfulness",
    "fault_of",
    "gather_metric_sets",
    "group",
    "implicit_satisfaction",
    "index_labels",
    "interaction_efficiency",
    "item_outcome",
    "kappa_interval",
    "metric_sets_named",
    "not_applicable",
    "pass_all",
    "pass_at",
    "read_label",
    "read_labels",
    "read_named",
    "satisfaction_efficiency",
    "score",
    "span_of",
    "summarise",
    "tool_selection",
    "trial_outcome",
    "usage",
    "votes_agree",
    "weight_of",
    "weighted_share",
    "wilson_interval",
]
