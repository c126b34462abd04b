"""What ``--mapsat-fail-under`` says: ``ar=0.65,ses=0.28`` for the suite, ``navigation.ar=0.6`` for a domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.metrics import PASS_RATE
from pytest_mapsat.model import MSB_METRICS, Metric, UsageError, did_you_mean, shown

Origin = Literal["command line", "ini"]


def gated(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """Return what a threshold may stand on: the metrics that may be gated, and the pass rate."""
    return (*(metric.name for metric in metrics if metric.gated), PASS_RATE)


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least mean that the gate lets pass.

    Attributes:
        metric: a metric that may be gated, or ``pass_rate``.
        minimum: the least mean, 0 to 1.
        domain: the domain whose cases count; empty for the whole suite.
        origin: where it was given, which decides what happens on part of the suite.
    """

    metric: str
    minimum: float
    domain: str = ""
    origin: Origin = "command line"

    @property
    def name(self) -> str:
        """The threshold's left side as it was written: ``navigation.ar``."""
        return f"{self.domain}.{self.metric}" if self.domain else self.metric


def parse_thresholds(
    texts: Iterable[str | tuple[str, str]], metrics: Sequence[Metric] = MSB_METRICS
) -> tuple[Threshold, ...]:
    """Return the thresholds of ``texts``, each as given to one ``--mapsat-fail-under``.

    Args:
        texts: lists like ``ar=0.65,navigation.ar=0.6``, each alone or with its origin (``command line`` or ``ini``).
        metrics: those that there are.

    Returns:
        The thresholds in the order given; one that is given twice with the same value stands once.

    Raises:
        UsageError: a text is not of that form, names no metric, or contradicts another.
    """
    found: dict[str, Threshold] = {}
    for given in texts:
        text, origin = (given, "command line") if isinstance(given, str) else given
        for piece in _pieces(text):
            threshold = _parse(piece, "ini" if origin == "ini" else "command line", metrics)
            other = found.setdefault(threshold.name, threshold)
            if other.minimum != threshold.minimum:
                both = f"{other.minimum:g} and {threshold.minimum:g}"
                raise UsageError(f"--mapsat-fail-under: {threshold.name} is given twice, as {both}")
    return tuple(found.values())


def _pieces(text: str) -> Iterator[str]:
    for piece in text.split(","):
        if not piece.strip():
            raise UsageError(
                f"--mapsat-fail-under: found nothing between the commas of {shown(text)}, expected ar=0.65"
            )
        yield piece.strip()


def _parse(piece: str, origin: Origin, metrics: Sequence[Metric]) -> Threshold:
    left, equals, right = (part.strip() for part in piece.partition("="))
    if not equals:
        raise UsageError(f"--mapsat-fail-under: found {shown(piece)}, expected METRIC=NUMBER like ar=0.65")
    domain, dot, metric = left.rpartition(".")
    if dot and not domain:
        raise UsageError(f"--mapsat-fail-under: {shown(left)} names no domain before the dot")
    if metric not in gated(metrics):
        raise UsageError(_no_metric(metric, metrics))
    return Threshold(metric, _minimum(left, right), domain, origin)


def _no_metric(metric: str, metrics: Sequence[Metric]) -> str:
    names = gated(metrics)
    if metric.lower() in {one.name for one in metrics}.difference(names):
        return f"--mapsat-fail-under: {metric.lower()} is given for reference only and cannot be gated; {', '.join(names)} can"
    known = f"known are {', '.join(names)}"
    hint = did_you_mean(metric.lower(), names)
    return f"--mapsat-fail-under: no metric {shown(metric)}; {hint + ' ' if hint else ''}{known}"


def _minimum(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"--mapsat-fail-under: {name} is {shown(text)}, expected a number from 0 to 1") from None
    # Written so that "nan" is refused too.
    if not 0 <= value <= 1:
        raise UsageError(f"--mapsat-fail-under: {name} is {shown(text)}, expected a number from 0 to 1")
    return value
