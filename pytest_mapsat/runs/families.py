"""Which metrics a run has: those of the families that its suites declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_mapsat.formats import shown_path
from pytest_mapsat.metrics import Family, families_named
from pytest_mapsat.model import Metric, Problem, RunOptions, SuiteError, UsageError
from pytest_mapsat.suite import Suite

from .request import drops_of, thresholds_of

_HINT = "install the package that adds it, or add it with the hook pytest_mapsat_metrics; mapsat regrade takes -p conftest.py"


def families_of(suite: Suite, known: Mapping[str, Family]) -> tuple[Family, ...]:
    """Return the families of metrics that a suite declares.

    Args:
        suite: the suite.
        known: all families, by name.

    Raises:
        SuiteError: nobody adds one of them; with the manifest's line.
    """
    try:
        return families_named(suite.manifest.metrics, known)
    except UsageError as error:
        place = suite.manifest_place("metrics")
        raise SuiteError(Problem(shown_path(place[0]), place[1], f"metrics: {error}", _HINT)) from None


def metrics_of(suites: Iterable[Suite], known: Mapping[str, Family]) -> tuple[Metric, ...]:
    """Return the metrics of a run of some suites, in the order of their families; of no suite, all that are known.

    Raises:
        SuiteError: a suite declares a family that nobody adds.
    """
    families = {family.name: family for suite in suites for family in families_of(suite, known)} or known
    return tuple(metric for family in families.values() for metric in family.metrics)


def refuse_undeclared(options: RunOptions, suites: Iterable[Suite], known: Mapping[str, Family]) -> None:
    """Check that some suite of a run declares each metric that a threshold or a drop stands on.

    Raises:
        UsageError: none does, or there is no such metric.
    """
    everything = metrics_of((), known)
    declared = {metric.name for metric in metrics_of(suites, known)}
    families = {metric.name: metric.family for metric in everything}
    named = [("fail-under", one.metric) for one in thresholds_of(options, everything)]
    named += [("compare-fail", one.metric) for one in drops_of(options, everything)]
    for option, metric in named:
        family = families.get(metric)
        if family is not None and metric not in declared:
            raise UsageError(
                f"--mapsat-{option}: no suite of this run declares the metric {metric}: name its family {family!r} "
                "under metrics: in suite.yaml"
            )
