"""From nouns to numbers: metric sets, that of MapSatisfyBench first, its weights, intervals, and means over cases.

Pure functions; nothing here knows what a place is, reads a file or asks a model.
"""

from __future__ import annotations

from .aggregate import (
    CaseRow,
    PassRule,
    case_rows,
    cluster_of,
    group,
    pass_all,
    pass_at,
    span_of,
    summarise,
    trial_outcome,
)
from .measures import (
    Measure,
    Reading,
    between,
    index_labels,
    not_applicable,
    product,
    read_label,
    read_labels,
    weighted_share,
)
from .metric_set import MSB, Given, MetricInput, MetricSet, gather_metric_sets, metric_sets_named
from .satisfaction import (
    DEFAULT_WEIGHTS,
    WeightTable,
    cost_efficiency,
    explicit_completion,
    faithfulness,
    implicit_satisfaction,
    interaction_efficiency,
    tool_selection,
    weight_of,
)
from .scoring import PASS_RATE, SOURCE_ATTRIBUTE, achieved, item_outcome, score
from .statistics import (
    LEVEL,
    bootstrap_interval,
    bootstrap_intervals,
    clustered,
    cohen_kappa,
    kappa_interval,
    votes_agree,
    wilson_interval,
)

__all__ = [
    "DEFAULT_WEIGHTS",
    "LEVEL",
    "MSB",
    "PASS_RATE",
    "SOURCE_ATTRIBUTE",
    "CaseRow",
    "Given",
    "Measure",
    "MetricInput",
    "MetricSet",
    "PassRule",
    "Reading",
    "WeightTable",
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
    "product",
    "read_label",
    "read_labels",
    "score",
    "span_of",
    "summarise",
    "tool_selection",
    "trial_outcome",
    "votes_agree",
    "weight_of",
    "weighted_share",
    "wilson_interval",
]
