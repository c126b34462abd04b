"""Which metric sets there are: ours, those of installed packages, those of a conftest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_mapsat.model import UsageError, did_you_mean, shown
from pytest_mapsat.user_code import StrangerError, call_stranger, installed, words_of

from .metric_set import MetricSet
from .msb import MSB

#: The entry point group in which installed packages name their metric sets: they hold outside pytest too.
GROUP = "pytest_mapsat.metrics"
#: The metric sets that come with this package; they get a scene itself, not a copy of it.

OURS = (MSB,)
#: Names that thresholds and summaries know already.
_TAKEN = {"pass_rate", "success"}


def gather_metric_sets(given: Iterable[object] = ()) -> dict[str, MetricSet]:
    """Return the metric sets by name: ours, those of installed packages, and those given.

    Args:
        given: sequences of metric sets, as hooks return them.

    Raises:
        UsageError: two metric sets or two metrics share a name, something is no metric set, or an installed one cannot be loaded.
    """
    found: dict[str, MetricSet] = {metric_set.name: metric_set for metric_set in OURS}
    owners = {metric.name: metric_set.name for metric_set in OURS for metric in metric_set.metrics}
    for metric_set in (*_installed(), *_flat(given)):
        if not isinstance(metric_set, MetricSet):
            raise UsageError(f"pytest_mapsat_metrics: found {shown(metric_set)}, expected a MetricSet")
        if found.get(metric_set.name) is metric_set:
            continue
        if metric_set.name in found:
            raise UsageError(f"pytest_mapsat_metrics: two packages add a metric set {shown(metric_set.name)}")
        found[metric_set.name] = metric_set
        for metric in metric_set.metrics:
            owner = owners.setdefault(metric.name, metric_set.name)
            if owner != metric_set.name or metric.name in _TAKEN:
                taken = f"is a metric of {owner} already" if owner != metric_set.name else "is not free"
                raise UsageError(f"pytest_mapsat_metrics: {metric_set.name}: the name {shown(metric.name)} {taken}")
        if len({metric.name for metric in metric_set.metrics}) < len(metric_set.metrics):
            raise UsageError(f"pytest_mapsat_metrics: {metric_set.name} gives one name to two metrics")
    return found


def _flat(given: Iterable[object]) -> Iterator[object]:
    for some in given:
        if some is None:
            continue
        if isinstance(some, MetricSet):
            yield some
            continue
        try:
            yield from call_stranger(_listed, some)
        except StrangerError as broken:
            raise UsageError(
                f"pytest_mapsat_metrics: found {shown(some)}, expected metric sets: {words_of(broken.error)}"
            ) from None


def _listed(some: Any) -> list[object]:
    return list(some)


def _installed() -> Iterator[object]:
    for point in installed(GROUP):
        try:
            yield call_stranger(point.load)
        except StrangerError as broken:
            raise UsageError(f"{GROUP}: {point.value} cannot be loaded: {words_of(broken.error)}") from broken.error


def metric_sets_named(names: Iterable[str], known: Mapping[str, MetricSet]) -> tuple[MetricSet, ...]:
    """Return the metric sets of these names, in their order.

    Raises:
        UsageError: nobody adds one of them.
    """
    found = []
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"no package or conftest adds the metric set {shown(name)}; "
                + (f"{hint}, " if hint else "")
                + f"known here: {', '.join(sorted(known))}"
            )
        found.append(known[name])
    return tuple(found)
