"""The earlier run that a run is held against: read, refused where it cannot be compared, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_mapsat import __version__
from pytest_mapsat.formats import is_journal, read_run, save_run, shown_path
from pytest_mapsat.gate import Coverage, Side, compare, likeness, slim, without_turns
from pytest_mapsat.model import (
    Comparison,
    EpisodeTiming,
    JudgeInfo,
    Lost,
    Metric,
    RunManifest,
    RunRequest,
    RunTiming,
    Scorecard,
    SuiteInfo,
    UsageError,
)

from .models import prompts_of
from .request import drops_of

_OPTION = "--mapsat-compare"
_MOST_BASES = 2


def read_base(path: Path) -> Side:
    """Read a run to compare with.

    Raises:
        UsageError: there is no such file, or it is the journal of a run that did not end.
        SuiteError: it is no run file, or broken; with the line.
    """
    refuse_journal(path)
    return Side.of(read_run(path, keep=slim, dialogues=False))


def read_bases(paths: Sequence[Path]) -> tuple[Side, ...]:
    """Read the runs to compare with: the last green one, then an anchor.

    Raises:
        UsageError: there are more than two, one is given twice, or one cannot be used.
        SuiteError: one is no run file, or broken; with the line.
    """
    if len(paths) > _MOST_BASES:
        raise UsageError(f"{_OPTION}: found {len(paths)} runs, expected at most two: the last green run, and an anchor")
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError(f"{_OPTION}: {shown_path(paths[0])} is given twice")
    return tuple(map(read_base, paths))


def accept(new: Path, anchor: Path) -> None:
    """Make a run the anchor of later comparisons: written there without its dialogues and times, which nothing compared needs.

    Raises:
        UsageError: there is no such run, it did not end, or it is of a part of the suite.
        SuiteError: it is no run file, or broken.
    """
    refuse_journal(new)
    run = read_run(new, keep=without_turns, dialogues=False)
    options, lost = run.manifest.options, run.accounting.lost
    if partial := run.manifest.unfinished or (
        f"{len(lost)} episodes are lost"
        if lost
        else f"part of the suite ran ({', '.join(run.manifest.partial)})"
        if run.manifest.partial and not options.sample
        else ""
    ):
        raise UsageError(f"{shown_path(new)}: {partial}: only a whole run can be accepted")
    side = Side.of(run)
    cards = tuple(card.model_copy(update={"timing": EpisodeTiming()}) for card in side.cards)
    slim = {"cases": cards, "timing": RunTiming(), "comparison": None, "anchor": None}
    save_run(anchor, run.model_copy(update=slim))


def refuse_journal(path: Path) -> None:
    """Refuse the journal of a run that did not end.

    Raises:
        UsageError: it is one.
    """
    if is_journal(path):
        raise UsageError(
            f"{shown_path(path)}: this is the journal of a run that did not end: --mapsat-resume finishes it"
        )


def refuse_unlike(path: Path, base: Side, request: RunRequest, suites: Iterable[SuiteInfo] | None = None) -> None:
    """Check, before anything has run, that a run can be compared with an earlier one.

    Args:
        path: where the earlier run stands.
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
        raise UsageError("\n".join(f"{_OPTION}={shown_path(path)}: {line}" for line in refusal))


def too_few_trials(path: Path, base: Side, trials: int) -> str:
    """Say that one trial of each case is too few, where the agent of the earlier run varied or one run has several trials and may show that it does.

    Args:
        path: where the earlier run stands.
        base: the earlier run.
        trials: trials of each case in the new one.

    Returns:
        What to say before anything runs; empty where trials suffice, or nothing shows that they do not.
    """
    several = max(card.trial for card in base.cards)
    if several == 1 < trials:
        return (
            f"{shown_path(path)} has 1 trial of each case and this run {trials}: where the agent varies, 1 is too few; "
            f"run the base again with --mapsat-trials={trials}"
        )
    ends: dict[str, set[object]] = {}
    for card in base.cards if trials == 1 else ():
        ends.setdefault(card.id, set()).add((card.outcome, *card.metrics.values()))
    flaky = [case for case, several in ends.items() if len(several) > 1]
    if not flaky:
        return ""
    return (
        f"one trial of each case is too few: in the earlier run trials of {flaky[0]} end differently; "
        f"--mapsat-trials={several} runs as many as it did"
    )


def comparisons_with(
    bases: Sequence[Side],
    manifest: RunManifest,
    cards: Sequence[Scorecard],
    lost: Sequence[Lost],
    *,
    metrics: Sequence[Metric],
    coverage: Coverage,
) -> tuple[Comparison, ...]:
    """Return a run held against each of some earlier ones; nothing where only a shard ran."""
    if coverage.shard:
        return ()
    options = manifest.options
    new = Side(manifest, cards, lost, partial=bool(options.sample) or not coverage.complete)
    return tuple(
        compare(
            base,
            new,
            drops_of(options, metrics),
            common=options.compare_on == "common",
            inconclusive=options.inconclusive,
            covers=coverage.covers,
        )
        for base in bases
    )
