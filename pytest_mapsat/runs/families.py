"""Which metrics a run has: those of the families that its suites declare, and of those that were asked for besides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_mapsat.formats import shown_path
from pytest_mapsat.gate import EACH_CASE, Ceiling, Drop, Threshold
from pytest_mapsat.metrics import MSB, Family, families_named
from pytest_mapsat.model import Metric, Problem, RunOptions, SuiteError, UsageError, did_you_mean, shown
from pytest_mapsat.suite import Suite

from .request import drops_of, thresholds_of

_HINT = (
    "install the package that adds it, or add it with the hook pytest_mapsat_metrics; mapsat regrade takes -p MODULE"
)


def families_of(suite: Suite, known: Mapping[str, Family], besides: Sequence[str] = ()) -> tuple[Family, ...]:
    """Return the families of metrics that a suite is measured by: those that it declares, then the others that were asked for.

    Args:
        suite: the suite.
        known: all families, by name.
        besides: names of families that were asked for besides the suite's own.

    Raises:
        SuiteError: nobody adds one that it declares, or the metric of success is of none of them; with the manifest's line.
        UsageError: nobody adds one that was asked for besides.
    """
    try:
        own = families_named(suite.manifest.metrics, known)
    except UsageError as error:
        raise _at(suite, "metrics", str(error), _HINT) from None
    names = [metric.name for family in own for metric in family.metrics if metric.gated]
    if suite.manifest.success is not None and suite.manifest.success not in names:
        hint = did_you_mean(suite.manifest.success, names) or f"it has {', '.join(names)}"
        raise _at(suite, "success", f"no family of the suite has the metric {suite.manifest.success!r}", hint)
    others = [name for name in besides if name not in suite.manifest.metrics]
    return (*own, *asked_for(others, known))


def asked_for(names: Sequence[str], known: Mapping[str, Family]) -> tuple[Family, ...]:
    """Return the families that ``--mapsat-metrics`` names.

    Raises:
        UsageError: nobody adds one of them.
    """
    try:
        return families_named(names, known)
    except UsageError as error:
        raise UsageError(f"--mapsat-metrics: {error}") from None


def labels_asked(families: Iterable[Family]) -> frozenset[str]:
    """Return the kinds of labels that some families read besides those of factors."""
    return frozenset().union(*(family.labels for family in families))


def _at(suite: Suite, key: str, message: str, hint: str) -> SuiteError:
    path, line = suite.manifest_place(key)
    return SuiteError(Problem(shown_path(path), line, f"{key}: {message}", hint))


def metrics_of(suites: Iterable[Suite], known: Mapping[str, Family], besides: Sequence[str] = ()) -> tuple[Metric, ...]:
    """Return the metrics of a run of some suites, in the order of their families; a run of no suite has those of MapSatisfyBench.

    Raises:
        SuiteError: a suite declares a family that nobody adds.
        UsageError: nobody adds one that was asked for besides.
    """
    families = {family.name: family for suite in suites for family in families_of(suite, known, besides)}
    return _metrics((families or {MSB.name: MSB}).values())


def all_metrics(known: Mapping[str, Family]) -> tuple[Metric, ...]:
    """Return the metrics of all families."""
    return _metrics(known.values())


def _metrics(families: Iterable[Family]) -> tuple[Metric, ...]:
    return tuple(metric for family in families for metric in family.metrics)


def refuse_undeclared(options: RunOptions, suites: Sequence[Suite], known: Mapping[str, Family]) -> None:
    """Check that a run has each metric and each domain that a threshold or a drop stands on, and a success that is asserted.

    Raises:
        UsageError: none of its suites does, or there is no such metric, family or domain.
    """
    if "success" in options.asserted and not any(suite.manifest.success for suite in suites):
        raise UsageError(
            "--mapsat-assert: no suite of this run says what counts as done: name success: METRIC in suite.yaml"
        )
    everything = all_metrics(known)
    measured = {metric.name for metric in metrics_of(suites, known, options.metrics)}
    families = {metric.name: metric.family for metric in everything}
    named: list[tuple[str, Threshold | Ceiling | Drop]] = [
        ("fail-under", one) for one in thresholds_of(options, everything)
    ]
    named += [("compare-fail", one) for one in drops_of(options, everything)]
    for option, rule in named:
        if rule.domain and not (isinstance(rule, Ceiling) and rule.domain == EACH_CASE):
            _refuse_unknown(option, rule, suites)
        family = families.get(rule.metric)
        if family is not None and rule.metric not in measured:
            raise UsageError(
                f"--mapsat-{option}: no suite of this run declares the metric {rule.metric}: name its family {family!r} "
                f"under metrics: in suite.yaml, or ask for it with --mapsat-metrics={family}"
            )


def _refuse_unknown(option: str, rule: Threshold | Ceiling | Drop, suites: Sequence[Suite]) -> None:
    """Refuse the domain of a rule that no case of the suites has; one of the ini file, which may be of another suite of the project, if it looks like a slip."""
    declared = {
        domain for suite in suites for domain in suite.manifest.domains
    }  # also those of a file that cannot be read
    domains = sorted(declared.union(*(entry.domains for suite in suites for entry in suite.readable())))
    hint = did_you_mean(rule.domain, domains)
    if rule.domain not in domains and (hint or rule.origin == "command line"):
        expected = f"expected one of {', '.join(domains)}" if domains else "its cases have none"
        raise UsageError(
            f"--mapsat-{option}: no case of this run's suites is of the domain {shown(rule.domain)}, {expected}"
            + (f", {hint}" if hint else "")
        )
