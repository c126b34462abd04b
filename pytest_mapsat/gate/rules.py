"""The rules of ``--mapsat-fail-under`` and ``--mapsat-max-drop``: ``ar=0.65@95``, ``cost<=0.50``; ``ar:0.02``, ``flips:0``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from pytest_mapsat.metrics import PASS_RATE
from pytest_mapsat.model import MSB_METRICS, PASSED, GateOutcome, Metric, UsageError, did_you_mean, listed, shown

Origin = Literal["command line", "ini"]

#: Rules of a comparison that stand on no metric: cases that passed and fail, and the share of undecided cases.
FLIPS, UNDECIDED_SHARE = "flips", "undecided"

#: What a ceiling may stand on, with the unit in which it is told.
SPENDING = {"cost": "USD", "tokens": "tokens", "calls": "calls", "turns": "turns", "seconds": "s"}
#: In the place of a domain: every case for itself.
EACH_CASE = "case"

#: From the mildest to the gravest.
SEVERITY: tuple[GateOutcome, ...] = ("passed", "inconclusive", "failed", "invalid")

#: A mean this little below what it must reach reaches it: limits are written in decimals, means are sums of floats.
TOLERANCE = 1e-9

_UNDER = "--mapsat-fail-under"
_DROPS = "--mapsat-max-drop"
_OF_TRIALS = re.compile(r"user_pass_rate|(?:user_)?pass[@^][1-9][0-9]{0,5}")
_LOWEST_LEVEL, _HIGHEST_LEVEL = 50, 100


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: ``1 case``, ``2 cases``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def gated(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """Return the names of the metrics that can have thresholds, and the pass rate."""
    return (*(metric.name for metric in metrics if metric.gated), PASS_RATE)


@dataclass(frozen=True, slots=True)
class Rule:
    """The base of all rules: a metric, a domain, and where the rule was given.

    Attributes:
        metric: what the rule is about.
        domain: the domain whose cases count; empty for the whole suite.
        origin: where it was given, which decides what happens on part of the suite.
        written: the left side as it was written: ``navigation.satisfied``; empty where it was not written.
    """

    metric: str
    domain: str = ""
    origin: Origin = "command line"
    written: str = field(default="", compare=False, kw_only=True)

    @property
    def title(self) -> str:
        """Return the left side of a rule for messages: as written, otherwise with the metric's own name."""
        return self.written or self.name

    @property
    def name(self) -> str:
        """Return the left side of a rule with the metric's own name: ``navigation.ar``."""
        return f"{self.domain}.{self.metric}" if self.domain else self.metric


@dataclass(frozen=True, slots=True)
class Threshold(Rule):
    """The lowest mean of a metric that the gate accepts.

    ``metric``: one that may be gated, ``pass_rate``, or ``pass@K`` or ``pass^K`` of trials; with ``user_`` in front over users.

    Attributes:
        minimum: the least mean, more than 0 and at most 1.
        level: how sure that must be, per cent; None: the mean itself counts.
    """

    minimum: float = 1.0
    level: float | None = None

    def __str__(self) -> str:
        return f"{self.name}>={self.minimum:g}" + ("" if self.level is None else f"@{self.level:g}")


@dataclass(frozen=True, slots=True)
class Ceiling(Rule):
    """The highest spending that the gate accepts: the mean over cases or, with ``case`` as the domain, that of every single case.

    ``metric``: ``cost``, ``tokens``, ``calls``, ``turns`` or ``seconds``.

    Attributes:
        most: the ceiling, in the unit of the metric, or as a multiple of what the earlier run spent.
        relative: whether it is such a multiple.
    """

    most: float = 0.0
    relative: bool = False

    def __str__(self) -> str:
        return f"{self.name}<={self.most:g}{'x' if self.relative else ''}"


@dataclass(frozen=True, slots=True)
class Drop(Rule):
    """The largest accepted fall of a mean since an earlier run.

    ``metric``: one that may be gated, ``pass_rate``, ``flips`` or ``undecided``.

    Attributes:
        most: the drop that is still let pass, 0 to below 1; of ``flips`` the number of cases, of ``undecided`` the share that may come on top.
        sampled: whether the rule is about other cases like these, in place of these cases.
    """

    most: float = 0.0
    sampled: bool = False

    def __str__(self) -> str:
        return f"{self.name}:{self.most:g}{'@sampled' if self.sampled else ''}"


_Rule = TypeVar("_Rule", bound=Rule)


def parse_thresholds(
    texts: Iterable[str | tuple[str, str]], metrics: Sequence[Metric] = MSB_METRICS
) -> tuple[Threshold | Ceiling, ...]:
    """Return thresholds and ceilings from lists like ``ar=0.65,navigation.ar=0.6@95,cost<=0.5``, each list with or without an origin.

    Raises:
        UsageError: a text is not of that form, names no metric, contradicts another, or can never fail.
    """
    return _each_once(
        _UNDER,
        (
            _ceiling(piece, origin) if "<=" in piece else _threshold(piece, origin, metrics)
            for piece, origin in _pieces(_UNDER, texts, "ar=0.65 or cost<=0.50")
        ),
    )


def _each_once(option: str, rules: Iterable[_Rule]) -> tuple[_Rule, ...]:
    """Return rules in the given order without repetitions. Raises UsageError if a rule has two values."""
    by_name: dict[str, _Rule] = {}
    for rule in rules:
        other = by_name.setdefault(rule.name, rule)
        if str(other) != str(rule):
            both = " and ".join(re.split("[=:]", str(given), maxsplit=1)[1] for given in (other, rule))
            raise UsageError(f"{option}: {rule.name} is given twice, as {both}")
    return tuple(by_name.values())


def _threshold(piece: str, origin: Origin, metrics: Sequence[Metric]) -> Threshold:
    """Return the threshold of a text like ``ar=0.65@95``. Raises UsageError."""
    left, equals, right = (part.strip() for part in piece.partition("="))
    if not equals:
        raise UsageError(f"{_UNDER}: found {shown(piece)}, expected METRIC=NUMBER like ar=0.65, or cost<=0.50")
    if (spent := left.rpartition(".")[2]) in SPENDING:
        raise UsageError(f"{_UNDER}: {spent} has a ceiling, not a floor: {left}<=NUMBER")
    domain, metric = _named(_UNDER, left, metrics, of_trials=True)
    number, at, level = right.partition("@")
    minimum = _share(_UNDER, left, number)
    if minimum <= TOLERANCE:
        raise UsageError(f"{_UNDER}: {left} is {shown(number)}: a floor of 0 always holds, expected more than 0")
    return Threshold(metric, domain, origin, minimum, _level(left, level) if at else None, written=left)


def _ceiling(piece: str, origin: Origin) -> Ceiling:
    """Return the ceiling of a text like ``cost<=0.50``. Raises UsageError."""
    left, _, right = (part.strip() for part in piece.partition("<="))
    domain, dot, metric = left.rpartition(".")
    if dot and not domain:
        raise UsageError(f"{_UNDER}: {shown(left)} names no domain before the dot")
    if metric not in SPENDING:
        hint = did_you_mean(metric.lower(), SPENDING)
        metrics = ", ".join(SPENDING)
        raise UsageError(
            f"{_UNDER}: no ceiling can be set for {shown(metric)}; {hint + ' ' if hint else ''}known are {metrics}"
        )
    relative = right.endswith(("x", "X"))
    value = _number(right[:-1] if relative else right)
    if value is None or not math.isfinite(value) or value < 0 or (relative and value == 0):
        raise UsageError(f"{_UNDER}: {left} is {shown(right)}, expected a number like 0.5, or a multiple like 1.5x")
    if relative and domain == EACH_CASE:
        raise UsageError(f"{_UNDER}: {left}<={right}: a multiple is of means; give it for the suite or a domain")
    return Ceiling(metric, domain, origin, value, relative)


def parse_drops(texts: Iterable[str | tuple[str, str]], metrics: Sequence[Metric] = MSB_METRICS) -> tuple[Drop, ...]:
    """Return drops from lists like ``ar:0.02,navigation.ar:0.05@sampled,flips:1``, each list with or without an origin.

    Raises:
        UsageError: a text is not of that form, names no metric, contradicts another, or can never fail.
    """
    return _each_once(_DROPS, (_drop(*piece, metrics) for piece in _pieces(_DROPS, texts, "ar:0.02")))


def _drop(piece: str, origin: Origin, metrics: Sequence[Metric]) -> Drop:
    """Return the drop of a text like ``ar:0.02``. Raises UsageError."""
    left, colon, right = (part.strip() for part in piece.partition(":"))
    if not colon:
        raise UsageError(f"{_DROPS}: found {shown(piece)}, expected METRIC:NUMBER like ar:0.02")
    number, at, word = (part.strip() for part in right.partition("@"))
    domain, metric = _named(_DROPS, left, metrics, further=(FLIPS, UNDECIDED_SHARE))
    counts = metric in (FLIPS, UNDECIDED_SHARE)
    if at and (word != "sampled" or counts):
        expected = f"{left}:{number}{'' if counts else '@sampled'}"
        raise UsageError(f"{_DROPS}: {left} is {shown(right)}, expected {expected}")
    if metric == FLIPS:
        if not re.fullmatch(r"[0-9]{1,6}", number):
            raise UsageError(f"{_DROPS}: {left} is {shown(number)}, expected a number of cases, 0 or more")
        return Drop(metric, domain, origin, int(number))
    most = _share(_DROPS, left, number)
    if most == 1:
        raise UsageError(f"{_DROPS}: {left} is {shown(number)}: nothing falls by more than 1, expected less")
    return Drop(metric, domain, origin, most, bool(at), written=left)


def _pieces(option: str, texts: Iterable[str | tuple[str, str]], expected: str) -> Iterator[tuple[str, Origin]]:
    """Yield each rule in comma-separated lists, with its origin. Raises UsageError for an empty rule."""
    for given in texts:
        text, origin = (given, "command line") if isinstance(given, str) else given
        for piece in text.split(","):
            if not piece.strip():
                raise UsageError(f"{option}: found nothing between the commas of {shown(text)}, expected {expected}")
            yield piece.strip(), "ini" if origin == "ini" else "command line"


def _named(
    option: str, left: str, metrics: Sequence[Metric], *, of_trials: bool = False, further: Sequence[str] = ()
) -> tuple[str, str]:
    """Return the domain and the metric of a left side like ``navigation.ar``. Raises UsageError."""
    domain, dot, metric = left.rpartition(".")
    if dot and not domain:
        raise UsageError(f"{option}: {shown(left)} names no domain before the dot")
    # A metric of others may be called as one of ours is in plain words.
    if metric not in {declared.name for declared in metrics}:
        metric = {declared.plain: declared.name for declared in reversed((*metrics, PASSED))}.get(metric, metric)
    if metric not in (*gated(metrics), *further) and not (of_trials and _OF_TRIALS.fullmatch(metric)):
        raise UsageError(f"{option}: {_no_metric(metric, metrics, further)}")
    return domain, metric


def _no_metric(metric: str, metrics: Sequence[Metric], further: Sequence[str]) -> str:
    """Return why a metric cannot have a rule, with a similar metric's name."""
    names = (*gated(metrics), *further)
    if metric.lower() in {declared.name for declared in metrics}.difference(names):
        return f"{metric.lower()} is given for reference only and cannot be gated; {', '.join(names)} can"
    first = sorted((*metrics, PASSED), key=lambda declared: not declared.headline)
    plain = [declared.plain for declared in first if declared.plain and declared.gated]
    hint = did_you_mean(metric.lower(), [*names, *plain])
    return f"no metric {shown(metric)}; {hint or f'known are {listed(plain or names, 5)}'}"


def _share(option: str, name: str, text: str) -> float:
    # Written so that "nan" is refused too.
    """Return a number from 0 to 1. Raises UsageError for anything else."""
    if (value := _number(text)) is None or not 0 <= value <= 1:
        raise UsageError(f"{option}: {name} is {shown(text)}, expected a number from 0 to 1")
    return value


def _level(name: str, text: str) -> float:
    """Return the confidence level of a threshold, in per cent. Raises UsageError."""
    value = _number(text.removesuffix("%"))
    if value is None or not _LOWEST_LEVEL <= value < _HIGHEST_LEVEL:
        raise UsageError(
            f"{_UNDER}: {name} is to hold at {shown(text)}, expected per cent from 50 to below 100, as in @95"
        )
    return value


def _number(text: str) -> float | None:
    """Return a text as a number; None if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return None
