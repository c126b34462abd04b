"""What ``--mapsat-fail-under`` and ``--mapsat-compare-fail`` say: ``ar=0.65``, ``navigation.ar=0.6@95``; ``ar:0.02``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.metrics import PASS_RATE
from pytest_mapsat.model import MSB_METRICS, Metric, UsageError, did_you_mean, shown

Origin = Literal["command line", "ini"]

_UNDER = "--mapsat-fail-under"
_DROPS = "--mapsat-compare-fail"
_OF_TRIALS = re.compile(r"pass[@^][1-9][0-9]{0,5}")
_LOWEST_LEVEL, _HIGHEST_LEVEL = 50, 100


def gated(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """Return what a threshold may stand on: the metrics that may be gated, and the pass rate."""
    return (*(metric.name for metric in metrics if metric.gated), PASS_RATE)


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least mean that the gate lets pass.

    Attributes:
        metric: a metric that may be gated, ``pass_rate``, or ``pass@K`` or ``pass^K`` of trials.
        minimum: the least mean, 0 to 1.
        domain: the domain whose cases count; empty for the whole suite.
        origin: where it was given, which decides what happens on part of the suite.
        level: how sure that must be, per cent; None: the mean itself counts.
    """

    metric: str
    minimum: float
    domain: str = ""
    origin: Origin = "command line"
    level: float | None = None

    @property
    def name(self) -> str:
        """The threshold's left side as it was written: ``navigation.ar``."""
        return f"{self.domain}.{self.metric}" if self.domain else self.metric

    def __str__(self) -> str:
        return f"{self.name}>={self.minimum:g}" + ("" if self.level is None else f"@{self.level:g}")


@dataclass(frozen=True, slots=True)
class Drop:
    """How much a mean may fall against an earlier run.

    Attributes:
        metric: a metric that may be gated, or ``pass_rate``.
        most: the drop that is still let pass, 0 to 1.
        domain: the domain whose cases count; empty for the whole suite.
        origin: where it was given, which decides what happens on part of the suite.
    """

    metric: str
    most: float
    domain: str = ""
    origin: Origin = "command line"

    @property
    def name(self) -> str:
        """The left side as it was written: ``navigation.ar``."""
        return f"{self.domain}.{self.metric}" if self.domain else self.metric

    def __str__(self) -> str:
        return f"{self.name}:{self.most:g}"


def parse_thresholds(
    texts: Iterable[str | tuple[str, str]], metrics: Sequence[Metric] = MSB_METRICS
) -> tuple[Threshold, ...]:
    """Return the thresholds of ``texts``, each as given to one ``--mapsat-fail-under``.

    Args:
        texts: lists like ``ar=0.65,navigation.ar=0.6@95``, each alone or with its origin (``command line`` or ``ini``).
        metrics: those that there are.

    Returns:
        The thresholds in the order given; one that is given twice with the same value stands once.

    Raises:
        UsageError: a text is not of that form, names no metric, or contradicts another.
    """
    found: dict[str, Threshold] = {}
    for piece, origin in _pieces(_UNDER, texts, "ar=0.65"):
        left, equals, right = (part.strip() for part in piece.partition("="))
        if not equals:
            raise UsageError(f"{_UNDER}: found {shown(piece)}, expected METRIC=NUMBER like ar=0.65")
        domain, metric = _named(_UNDER, left, metrics, of_trials=True)
        number, at, level = right.partition("@")
        threshold = Threshold(metric, _share(_UNDER, left, number), domain, origin, _level(left, level) if at else None)
        other = found.setdefault(threshold.name, threshold)
        if (other.minimum, other.level) != (threshold.minimum, threshold.level):
            both = " and ".join(str(one).partition(">=")[2] for one in (other, threshold))
            raise UsageError(f"{_UNDER}: {threshold.name} is given twice, as {both}")
    return tuple(found.values())


def parse_drops(texts: Iterable[str | tuple[str, str]], metrics: Sequence[Metric] = MSB_METRICS) -> tuple[Drop, ...]:
    """Return the drops of ``texts``, each as given to one ``--mapsat-compare-fail``.

    Args:
        texts: lists like ``ar:0.02,navigation.ar:0.05``, each alone or with its origin (``command line`` or ``ini``).
        metrics: those that there are.

    Returns:
        The drops in the order given; one that is given twice with the same value stands once.

    Raises:
        UsageError: a text is not of that form, names no metric, or contradicts another.
    """
    found: dict[str, Drop] = {}
    for piece, origin in _pieces(_DROPS, texts, "ar:0.02"):
        left, colon, right = (part.strip() for part in piece.partition(":"))
        if not colon:
            raise UsageError(f"{_DROPS}: found {shown(piece)}, expected METRIC:NUMBER like ar:0.02")
        domain, metric = _named(_DROPS, left, metrics)
        drop = Drop(metric, _share(_DROPS, left, right), domain, origin)
        other = found.setdefault(drop.name, drop)
        if other.most != drop.most:
            raise UsageError(f"{_DROPS}: {drop.name} is given twice, as {other.most:g} and {drop.most:g}")
    return tuple(found.values())


def _pieces(option: str, texts: Iterable[str | tuple[str, str]], expected: str) -> Iterator[tuple[str, Origin]]:
    for given in texts:
        text, origin = (given, "command line") if isinstance(given, str) else given
        for piece in text.split(","):
            if not piece.strip():
                raise UsageError(f"{option}: found nothing between the commas of {shown(text)}, expected {expected}")
            yield piece.strip(), "ini" if origin == "ini" else "command line"


def _named(option: str, left: str, metrics: Sequence[Metric], *, of_trials: bool = False) -> tuple[str, str]:
    """Return the domain and the metric of a left side like ``navigation.ar``."""
    domain, dot, metric = left.rpartition(".")
    if dot and not domain:
        raise UsageError(f"{option}: {shown(left)} names no domain before the dot")
    if metric not in gated(metrics) and not (of_trials and _OF_TRIALS.fullmatch(metric)):
        raise UsageError(f"{option}: {_no_metric(metric, metrics)}")
    return domain, metric


def _no_metric(metric: str, metrics: Sequence[Metric]) -> str:
    names = gated(metrics)
    if metric.lower() in {one.name for one in metrics}.difference(names):
        return f"{metric.lower()} is given for reference only and cannot be gated; {', '.join(names)} can"
    hint = did_you_mean(metric.lower(), names)
    return f"no metric {shown(metric)}; {hint + ' ' if hint else ''}known are {', '.join(names)}"


def _share(option: str, name: str, text: str) -> float:
    # Written so that "nan" is refused too.
    if (value := _number(text)) is None or not 0 <= value <= 1:
        raise UsageError(f"{option}: {name} is {shown(text)}, expected a number from 0 to 1")
    return value


def _level(name: str, text: str) -> float:
    value = _number(text.removesuffix("%"))
    if value is None or not _LOWEST_LEVEL <= value < _HIGHEST_LEVEL:
        raise UsageError(
            f"{_UNDER}: {name} is to hold at {shown(text)}, expected per cent from 50 to below 100, as in @95"
        )
    return value


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
