"""Scorecards become a run: manifest, accounting, summary, groups, gate. The way of a pytest session and of ``mapsat regrade`` alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_mapsat import __version__
from pytest_mapsat.formats import shown_path, starts_of
from pytest_mapsat.gate import Coverage, Side, builds_named, compare, decide, gated, likeness, recoveries
from pytest_mapsat.metrics import group, summarise, within_scale
from pytest_mapsat.model import (
    MSB_METRICS,
    VARIANT_OF,
    Accounting,
    JudgeInfo,
    Metric,
    Run,
    RunManifest,
    RunRequest,
    RunTiming,
    Scorecard,
    SuiteError,
    SuiteInfo,
    UsageError,
    listed,
)
from pytest_mapsat.suite import Suite

from .request import drops_of, entries_of, prompts_of, thresholds_of


@dataclass(frozen=True)
class RunOutcome:
    """Accounting of a run's episodes, and why it may be partial, broken or unfinished.

    Attributes:
        accounting: where every collected item went.
        partial: why not all of the suite ran.
        broken: what could not be collected.
        unfinished: why this is no whole run; empty for one that came to its end.
    """

    accounting: Accounting = field(default_factory=Accounting)
    partial: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    unfinished: str = ""


def assemble(
    cards: Sequence[Scorecard],
    suites: Sequence[Suite],
    request: RunRequest,
    outcome: RunOutcome,
    timing: RunTiming,
    *,
    metrics: Sequence[Metric] = MSB_METRICS,
    baselines: Sequence[Side] = (),
) -> Run:
    """Return a run assembled from scorecards, sorted by case id, trial, agent and attempt, with summary, comparison and gate.

    Args:
        cards: the scorecards; their trajectories are not read.
        suites: the suites that cases were run from.
        request: what the run was asked for.
        outcome: what became of what was there to run.
        timing: when, and how long.
        metrics: those that the suites declare.
        baselines: earlier runs to compare with: the last green one, then an anchor.
    """
    cards = sorted(cards, key=lambda card: card.key)
    options = request.options
    linked = bool(cards) and all(card.linked for card in cards) if request.judge.startswith("recorded:") else None
    asked = portable(request)
    manifest = RunManifest.of(
        asked,
        versions={"pytest-mapsat": __version__},
        suites=suite_infos(suites),
        judge=JudgeInfo(spec=asked.judge, linked=linked),
        metrics=tuple(metrics),
        prompts=prompts_of(asked, {label.kind for card in cards for label in card.labels if label.votes}),
        partial=outcome.partial,
        broken=tuple(sorted(set(outcome.broken))),
        unfinished=outcome.unfinished,
        warnings=(*_builds_warning(asked, cards), *_warnings(cards)),
    )
    coverage = _coverage(cards, suites, request, outcome)
    drops = drops_of(options, metrics)
    new = Side(manifest, cards, outcome.accounting.lost, partial=bool(options.sample) or not coverage.complete)
    comparisons = [
        compare(baseline, new, drops, inconclusive=options.inconclusive, covers=coverage.covers)
        for baseline in (() if coverage.shard else baselines)
    ]
    shares = {metric.name for metric in metrics if metric.gated}
    # Variants are compared by the first metric that can have a threshold, headlines before others; else by the pass rate.
    by_rank = sorted(metrics, key=lambda metric: not metric.headline)
    groups = {
        dimension: {name: within_scale(summary, shares) for name, summary in summaries.items()}
        for dimension, summaries in group(cards).items()
    }
    return Run(
        manifest=manifest,
        accounting=outcome.accounting,
        cases=tuple(cards),
        summary=within_scale(summarise(cards, users=True), shares),
        groups=groups,
        variants=recoveries(cards, gated(by_rank)[0]) if any(VARIANT_OF in card.attributes for card in cards) else {},
        comparison=comparisons[0] if comparisons else None,
        anchor=comparisons[1] if len(comparisons) > 1 else None,
        gate=decide(
            cards,
            thresholds_of(options, metrics),
            coverage=coverage,
            allowed_undecided=options.allow_undecided,
            drops=drops,
            comparisons=comparisons,
            baseline=baselines[0] if baselines else None,
            agent=manifest.agent,
            uncertified=_uncertified(suites, manifest),
            pass_rule=options.pass_rule,
            excused=outcome.accounting.excused,
        ),
        timing=timing,
        starts=starts_of(cards),
    )


def _uncertified(suites: Sequence[Suite], manifest: RunManifest) -> tuple[str, ...]:
    """Return the reasons why a run's judge may not gate suites that require a certificate; empty if it may."""
    asking = [suite for suite in suites if suite.manifest.judge.certified]
    if not asking:
        return ()
    from pytest_mapsat.proof import uncertified  # noqa: PLC0415 (few suites ask for a certificate)

    return tuple(uncertified(asking, manifest))


def suite_infos(suites: Sequence[Suite]) -> tuple[SuiteInfo, ...]:
    """Return the manifest's entry for each suite, sorted by name."""
    infos = (
        SuiteInfo(
            name=suite.manifest.name,
            version=suite.manifest.version,
            fingerprint=suite.fingerprint(),
            cases=suite.size,
            labels=suite.digest_of("labels"),
            decisions=suite.digest_of("reviewed"),
            calibration=suite.digest_of("calibration"),
        )
        for suite in suites
    )
    return tuple(sorted(infos, key=lambda info: (info.name, info.fingerprint)))


def _coverage(
    cards: Sequence[Scorecard], suites: Sequence[Suite], request: RunRequest, outcome: RunOutcome
) -> Coverage:
    """Return the part of the suites that ran, with the errors in unreadable files."""
    domains: dict[str, tuple[str, ...]] = {}
    unread: list[str] = []
    for suite in suites:
        domains |= {entry.id: entry.domains for entry in entries_of(suite, request.options)}
        unread += _unread(suite)
    lost = outcome.accounting.lost
    met = {card.id for card in cards} | {loss.id for loss in lost}
    left = {domain for case, names in domains.items() if case not in met for domain in names}
    whole = {domain for names in domains.values() for domain in names} - left
    return Coverage(
        selected=len(met),
        total=len(domains),
        partial=outcome.partial if met < set(domains) else (),
        errors=tuple(sorted({*outcome.broken, *unread})),
        whole_domains=frozenset(whole),
        lost=lost,
        unfinished=outcome.unfinished,
        shard=request.options.shard,
    )


def _unread(suite: Suite) -> Iterator[str]:
    """Yield the paths of a suite's unreadable files, and any wrong count of cases."""
    yield from (problem.path for problem in suite.inventory.problems)
    for path in suite.inventory.cases:
        try:
            suite.entries(path)
        except SuiteError as error:
            yield from (problem.path for problem in error.problems)
    if (miscounted := suite.miscounted()) is not None:
        yield f"{miscounted.path}: {miscounted.message} ({miscounted.hint})"


def _builds_warning(request: RunRequest, cards: Sequence[Scorecard]) -> Iterator[str]:
    """Yield a warning if the agent reported several builds of itself."""
    builds = builds_named(request, cards)
    if len(builds) > 1:
        names = listed(build or "none" for build in builds)
        yield f"the agent named several builds in this run ({names}), so that its build is not known"


def portable(request: RunRequest) -> RunRequest:
    """Return a request with paths reduced to file names, so that equal runs in other folders stay equal."""
    return request.model_copy(update={"agent": _portable(request.agent), "judge": _portable(request.judge)})


def _warnings(cards: Sequence[Scorecard]) -> tuple[str, ...]:
    """Return the warnings of scorecards, sorted and without repetition, each with its cases."""
    cases: dict[str, list[str]] = {}
    for card in cards:
        for warning in dict.fromkeys(card.warnings):
            cases.setdefault(warning, []).append(card.id)
    return tuple(f"{warning} ({listed(dict.fromkeys(cases[warning]))})" for warning in sorted(cases))


def _portable(spec: str) -> str:
    """Return a ``recorded:`` spec with its path reduced to the file name; any other spec unchanged."""
    kind, colon, rest = spec.partition(":")
    return f"{kind}:{Path(rest).name}" if kind == "recorded" and colon else spec


def refuse_unlike(path: Path, baseline: Side, request: RunRequest, suites: Iterable[SuiteInfo] | None = None) -> None:
    """Check, before the run starts, that a new run can be compared with an earlier run.

    Args:
        path: where the earlier run stands.
        baseline: the earlier run.
        request: what the new one is asked for.
        suites: the suites it is of; None while they are not known.

    Raises:
        UsageError: it cannot; with everything that differs.
    """
    known = baseline.manifest.suites if suites is None else tuple(suites)
    versions, prompts = {"pytest-mapsat": __version__}, prompts_of(request)
    manifest = RunManifest.of(request, versions=versions, suites=known, prompts=prompts)
    # The cases of the new run are not known yet: they are taken to be those of the baseline.
    cards = [card for card in baseline.cards if card.id not in baseline.lost_cases]
    like = likeness(baseline, replace(baseline, manifest=manifest, cards=cards, lost=(), partial=True))
    if refusal := like.refusal(common=False):
        raise UsageError("\n".join(f"--mapsat-compare={shown_path(path)}: {line}" for line in refusal))


def too_few_trials(path: Path, baseline: Side, trials: int) -> str:
    """Return a hint that one trial per case is too few: only the new run has several, or the earlier run's trials vary.

    Args:
        path: where the earlier run stands.
        baseline: the earlier run.
        trials: trials of each case in the new one.

    Returns:
        What to say before anything runs; empty where trials suffice, or nothing shows that they do not.
    """
    several = max(card.trial for card in baseline.cards)
    if several == 1 < trials:
        return (
            f"{shown_path(path)} has 1 trial of each case and this run {trials}: where the agent varies, 1 is too few; "
            f"run the baseline again with --mapsat-trials={trials}"
        )
    ends: dict[str, set[object]] = {}
    for card in baseline.cards if trials == 1 else ():
        ends.setdefault(card.id, set()).add((card.outcome, *card.metrics.values()))
    flaky = [case for case, several in ends.items() if len(several) > 1]
    if not flaky:
        return ""
    return (
        f"one trial of each case is too few: in the earlier run trials of {flaky[0]} end differently; "
        f"--mapsat-trials={several} runs as many as it did"
    )
