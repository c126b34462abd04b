"""From nouns to numbers: metric sets, that of MapSatisfyBench first, its weights, intervals, and means over cases.

Pure functions; nothing here knows what a place is, reads a file or asks a model.
"""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .aggregate import *
    from .metric_set import *
    from .scoring import *
    from .statistics import *
else:
    _NAMES = {
        "aggregate": "CaseRow PassRule case_rows cluster_of group memberships span_of summarise trial_outcome within_scale",
        "metric_set": "MSB Given LabelReading Measure MetricInput MetricSet between gather_metric_sets mean_of metric_sets_named not_applicable product read_label share_of weight_of weighted_share",
        "scoring": "PASS_RATE SOURCE_ATTRIBUTE achieved item_outcome score",
        "statistics": "LEVEL bootstrap_interval bootstrap_intervals clustered cohen_kappa by_key kappa_interval mean_span votes_agree wilson_interval",
    }
    __getattr__ = fetched(__name__, {module: names.split() for module, names in _NAMES.items()})
