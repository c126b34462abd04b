"""From nouns to numbers: metric sets, that of MapSatisfyBench first, its weights, intervals, and means over cases.

Pure functions; nothing here knows what a place is, reads a file or asks a model.
"""

from .aggregate import CaseRow as CaseRow
from .aggregate import PassRule as PassRule
from .aggregate import case_rows as case_rows
from .aggregate import cluster_of as cluster_of
from .aggregate import group as group
from .aggregate import memberships as memberships
from .aggregate import span_of as span_of
from .aggregate import summarise as summarise
from .aggregate import trial_outcome as trial_outcome
from .aggregate import within_scale as within_scale
from .metric_set import MSB as MSB
from .metric_set import Given as Given
from .metric_set import LabelReading as LabelReading
from .metric_set import Measure as Measure
from .metric_set import MetricInput as MetricInput
from .metric_set import MetricSet as MetricSet
from .metric_set import between as between
from .metric_set import gather_metric_sets as gather_metric_sets
from .metric_set import metric_sets_named as metric_sets_named
from .metric_set import not_applicable as not_applicable
from .metric_set import product as product
from .metric_set import read_label as read_label
from .metric_set import read_labels as read_labels
from .metric_set import share_of as share_of
from .metric_set import weight_of as weight_of
from .metric_set import weighted_share as weighted_share
from .scoring import PASS_RATE as PASS_RATE
from .scoring import SOURCE_ATTRIBUTE as SOURCE_ATTRIBUTE
from .scoring import achieved as achieved
from .scoring import item_outcome as item_outcome
from .scoring import score as score
from .statistics import LEVEL as LEVEL
from .statistics import bootstrap_interval as bootstrap_interval
from .statistics import bootstrap_intervals as bootstrap_intervals
from .statistics import clustered as clustered
from .statistics import cohen_kappa as cohen_kappa
from .statistics import kappa_interval as kappa_interval
from .statistics import votes_agree as votes_agree
from .statistics import wilson_interval as wilson_interval
