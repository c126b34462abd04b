"""Which metrics a run has: those of the families that its suites declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_mapsat.formats import shown_path
from pytest_mapsat.metrics import Family, families_named
from pytest_mapsat.model import Metric, Problem, RunOptions, SuiteError, UsageError, did_you_mean
from pytest_mapsat.suite import Suite

from .request import drops_of, thresholds_of

_HINT = "install the package that adds it, or add it with the hook pytest_mapsat_metrics; mapsat regrade takes -p conftest.py"


def families_of(suite: Suite, known: Mapping[str, Family]) -> tuple[Family, ...]:
    """Return the families of metrics that a suite declares.

    Args:
        suite: the suite.
        known: all families, by name.

    Raises:
        SuiteError: nobody adds one of them, or the metric of success is of none; with the manifest's line.
    """
    try:
        families = families_named(suite.manifest.metrics, known)
    except UsageError as error:
        raise _at(suite, "metrics", str(error), _HINT) from None
    names = [metric.name for family in families for metric in family.metrics if metric.gated]
    if suite.manifest.success is not None and suite.manifest.success not in names:
        hint = did_you_mean(suite.manifest.success, names) or f"it has {', '.join(names)}"
        raise _at(suite, "success", f"no family of the suite has the metric {suite.manifest.success!r}", hint)
    return families


def _at(suite: Suite, key: str, message: str, hint: str) -> SuiteError:
    path, line = suite.manifest_place(key)
    return SuiteError(Problem(shown_path(path), line, f"{key}: {message}", hint))


def metrics_of(suites: Iterable[Suite], known: Mapping[str, Family]) -> tuple[Metric, ...]:
    """Return the metrics of a run of some suites, in the order of their families; of no suite, all that are known.

    Raises:
        SuiteError: a suite declares a family that nobody adds.
    """
    families = {family.name: family for suite in suites for family in families_of(suite, known)} or known
    return tuple(metric for family in families.values() for metric in family.metrics)


def refuse_undeclared(options: RunOptions, suites: Sequence[Suite], known: Mapping[str, Family]) -> None:
    """Check that some suite of a run declares each metric that a threshold or a drop stands on, and a success that is asserted.

    Raises:
        UsageError: none does, or there is no such metric.
    """
    if "success" in options.asserted and not any(suite.manifest.success for suite in suites):
        raise UsageError(
            "--mapsat-assert: no suite of this run says what counts as done: name success: METRIC in suite.yaml"
        )
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
