"""The metric set of PIPA: where on its way an agent fails (Kim et al. 2025, arXiv 2505.01592, sections 3.1.1 to 3.1.6)."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from pytest_mapsat.metrics import (
    Given,
    Measure,
    MetricInput,
    MetricSet,
    achieved,
    mean_of,
    mean_span,
    not_applicable,
    read_label,
    weighted_share,
)
from pytest_mapsat.model import OBSERVATION, STATE, Run, UsageError, reply_of, step_name
from pytest_mapsat.ports import csv_text, packaged_metrics
from pytest_mapsat.reports import range_text

PIPA_METRICS = packaged_metrics(__package__)
#: What became of a call that failed. A miss is a gap in what was recorded, and no failure of the agent's.
_FAILED = ("error", "refused")


def state_consistency(metric_input: MetricInput) -> Measure:
    """Return the share of steps, thoughts and calls, that agree with the dialogue so far (equation 1)."""
    names = [
        step_name(number, place)
        for number, reply in enumerate(metric_input.trajectory.replies, 1)
        for place, _ in enumerate(reply.steps, 1)
    ]
    readings = [read_label(name, metric_input.labels.get(name)) for name in names]
    return weighted_share([(1.0, reading) for reading in readings], "no reply has a step")


def tool_efficiency(total: int, failed: int) -> Measure:
    """Return (C_T - C_F) / (C_T + C_F) of all calls and those that failed (equation 2)."""
    if not total:
        return not_applicable("no call was made")
    return Measure((total - failed) / (total + failed))


def observation_alignment(metric_input: MetricInput) -> Measure:
    """Return the share of named things that a reply describes correctly, as a mean over the replies that name any (equation 3)."""
    observations = [(name, label) for name, label in metric_input.labels.items() if label.kind == OBSERVATION]
    sizes = Counter(reply_of(name) for name, _ in observations)
    weighted = [(1 / sizes[reply_of(name)], read_label(name, label)) for name, label in observations]
    return weighted_share(weighted, "no reply names a thing that a tool returned")


def policy_alignment(metric_input: MetricInput) -> Measure:
    """Return the share of the case's policies that were kept over the whole dialogue (equation 4)."""
    readings = [metric_input.readings[policy.id] for policy in metric_input.case.truth.policies]
    return weighted_share([(1.0, reading) for reading in readings], "the case has no policy")


def task_completion(metric_input: MetricInput) -> Measure:
    """Return whether the suite's success metric is reached (3.1.5); not applicable if the suite names no such metric."""
    if metric_input.success is None:
        return not_applicable("the suite does not say what counts as done (success: METRIC)")
    return achieved(metric_input.success)


def _measure(metric_input: MetricInput) -> Mapping[str, Given]:
    """Return the PIPA metrics of an episode; only its counts of replies and steps if it ended with a fault."""
    replies, calls = metric_input.trajectory.replies, metric_input.calls
    patterns = {
        "pipa_turns": float(len(replies)),
        "pipa_steps": sum(len(reply.steps) for reply in replies) / len(replies) if replies else 0.0,
    }
    if metric_input.fault is not None:
        return patterns
    measures = {
        "pipa_s": state_consistency(metric_input),
        "pipa_a": tool_efficiency(len(calls), sum(call.status in _FAILED for call in calls)),
        "pipa_o": observation_alignment(metric_input),
        "pipa_p": policy_alignment(metric_input),
        "pipa_r": task_completion(metric_input),
    }
    parts = [part for name, part in measures.items() if name != "pipa_p" or metric_input.case.truth.policies]
    return {**measures, "pipa_avg": mean_of(parts), **patterns}  # Table 2


#: Those that rest on which calls were made.
_OF_CALLS = ("pipa_s", "pipa_a", "pipa_o", "pipa_avg", "pipa_steps")
#: S, A, O, P, R, their mean, and how many replies and steps it took.
PIPA = MetricSet("pipa", PIPA_METRICS, _measure, frozenset({STATE, OBSERVATION}), _OF_CALLS)


# -- table 2 of the paper

_PARTS = tuple(metric.name for metric in PIPA_METRICS[:5])
_COUNTS = ("pipa_turns", "pipa_steps")


def table(runs: Sequence[tuple[str, Run]]) -> dict[str, str]:
    """Return tables 2 and 3 of the paper as ``table_2.csv`` and ``table_3.csv``, one row per run, with two decimals.

    ``average`` is the mean of the means of the run, as the paper has it; ``pipa_avg`` is the mean over its dialogues, each with a mean of its own. A metric
    that applies to no case is left out of both; what is undecided makes a range.

    Raises:
        UsageError: a run was not measured by the metric set ``pipa``.
    """
    rows = []
    for name, run in runs:
        if "pipa_avg" not in run.summary:
            raise UsageError(f"{name}: the run has no metrics of pipa; regrade it with --mapsat-metrics=pipa")
        spans = [run.summary[part].bounds if part in run.summary else None for part in _PARTS]
        known = [span for span in spans if span is not None]
        average = mean_span(known) if known else None
        trials = sorted({card.trial for card in run.cases})
        means = [[_spread(_values(run, part, trial))[0] for trial in trials] for part in _PARTS]
        spread = [_spread(of_trials)[1] for of_trials in means]
        rows.append((name, *map(range_text, (*spans, average, run.summary["pipa_avg"].bounds)), *spread))
    spreads = [(name, [_spread(_values(run, metric)) for metric in _COUNTS]) for name, run in runs]
    counted = [(name, *chain.from_iterable(spread)) for name, spread in spreads]
    columns = ("run", *_PARTS, "average", "pipa_avg", *(f"{part}_sd" for part in _PARTS))
    return {
        "table_2.csv": csv_text(columns, rows),
        "table_3.csv": csv_text(("run", *(f"{metric}{end}" for metric in _COUNTS for end in ("", "_sd"))), counted),
    }


def _values(run: Run, metric: str, trial: int | None = None) -> list[float | None]:
    """Return the values of an applicable metric, over all dialogues or one trial; None if one is undecided."""
    cards = [card for card in run.cases if trial in (None, card.trial) and metric in card.metrics]
    return [card.metrics[metric] for card in cards if card.classes.get(metric) != "not_applicable"]


def _spread(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return the mean of values and their sample standard deviation; None if a value is unknown or there are too few values."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None, None
    return statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None
