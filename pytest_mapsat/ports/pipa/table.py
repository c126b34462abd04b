"""PIPA's table 2 of saved runs: the five metrics of each run, and the plain mean of these five means."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from pytest_mapsat.model import Bounds, Run, UsageError

from .metrics import PIPA_METRICS

_PARTS = tuple(metric.name for metric in PIPA_METRICS[:5])


def table(runs: Sequence[tuple[str, Run]]) -> dict[str, str]:
    """Return table 2 of the paper as ``table_2.csv``, a row a run, with two decimals.

    ``average`` is the mean of the means of the run, as the paper has it; ``pipa_avg`` is the mean over its dialogues, each with a mean of its own. A metric
    that applies to no case is left out of both; what is undecided makes a range.

    Raises:
        UsageError: a run was not measured by the metric set ``pipa``.
    """
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(("run", *_PARTS, "average", "pipa_avg"))
    for name, run in runs:
        if "pipa_avg" not in run.summary:
            raise UsageError(f"{name}: the run has no metrics of pipa; regrade it with --mapsat-metrics=pipa")
        spans = [run.summary[part].bounds if part in run.summary else None for part in _PARTS]
        known = [span for span in spans if span is not None]
        least, most = (sum(span[end] for span in known) / max(1, len(known)) for end in (0, 1))
        average = (least, most) if known else None
        rows.writerow((name, *map(_text, (*spans, average, run.summary["pipa_avg"].bounds))))
    return {"table_2.csv": file.getvalue()}


def _text(span: Bounds | None) -> str:
    return "" if span is None else " to ".join(dict.fromkeys(f"{end:.2f}" for end in span))
