"""The earlier run that a run is held against: read, refused where it cannot be compared, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_mapsat import __version__
from pytest_mapsat.formats import is_journal, read_run, shown_path
from pytest_mapsat.gate import Coverage, Side, compare, likeness
from pytest_mapsat.model import (
    Comparison,
    JudgeInfo,
    Lost,
    Metric,
    RunManifest,
    RunRequest,
    Scorecard,
    SuiteInfo,
    UsageError,
)

from .models import prompts_of
from .request import drops_of

_OPTION = "--mapsat-compare"


def read_base(path: Path) -> Side:
    """Read a run to compare with.

    Raises:
        UsageError: there is no such file, or it is the journal of a run that did not end.
        SuiteError: it is no run file, or broken; with the line.
    """
    refuse_journal(path)
    return Side.of(read_run(path))


def refuse_journal(path: Path) -> None:
    """Refuse the journal of a run that did not end.

    Raises:
        UsageError: it is one.
    """
    if is_journal(path):
        raise UsageError(
            f"{shown_path(path)}: this is the journal of a run that did not end: --mapsat-resume finishes it"
        )


def refuse_unlike(base: Side, request: RunRequest, suites: Iterable[SuiteInfo] | None = None) -> None:
    """Check, before anything has run, that a run can be compared with an earlier one.

    Args:
        base: the earlier run.
        request: what the new one is asked for.
        suites: the suites it is of; None while they are not known.

    Raises:
        UsageError: it cannot; with everything that differs.
    """
    manifest = RunManifest(
        versions={"pytest-mapsat": __version__},
        suites=base.manifest.suites if suites is None else tuple(suites),
        agent=request.agent,
        user=request.user,
        judge=JudgeInfo(spec=request.judge),
        decisions=request.decisions,
        options=request.options,
        prompts=prompts_of(request),
    )
    # The cases of the new run are not known yet: they are taken to be those of the base.
    like = likeness(base, replace(base, manifest=manifest, lost=()))
    if refusal := like.refusal(common=request.options.compare_on == "common"):
        raise UsageError("\n".join(f"{_OPTION}: {line}" for line in refusal))


def comparison_with(
    base: Side | None,
    manifest: RunManifest,
    cards: Sequence[Scorecard],
    lost: Sequence[Lost],
    *,
    metrics: Sequence[Metric],
    coverage: Coverage,
) -> Comparison | None:
    """Return a run held against an earlier one; None where there is none, or where only a shard ran."""
    if base is None or coverage.shard:
        return None
    options = manifest.options
    return compare(
        base,
        Side(manifest, cards, lost, partial=bool(options.sample) or not coverage.complete),
        drops_of(options, metrics),
        common=options.compare_on == "common",
        inconclusive=options.inconclusive,
        covers=coverage.covers,
    )
