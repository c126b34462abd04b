"""Runs made of runs: one judged and scored again without an agent, straight or through batch files; and the parts of one that several jobs ran, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any, Protocol

from pytest_mapsat.formats import content_digest, require_file, shown_path
from pytest_mapsat.gate import Side
from pytest_mapsat.judges import Decided, JudgedDialogue, default_votes
from pytest_mapsat.llm import Answer, Cache, ModelClient, ModelError, Request, read_batch, write_batch
from pytest_mapsat.metrics import MetricSet, gather_metric_sets
from pytest_mapsat.model import (
    Accounting,
    Asserted,
    Lost,
    Problem,
    Run,
    RunOptions,
    RunRequest,
    RunTiming,
    Scorecard,
    UsageError,
    hint_at,
    listed,
)
from pytest_mapsat.sandbox import SandboxHook
from pytest_mapsat.suite import CaseEntry, Suite, find_suite, open_suite, sweep_of

from .assemble import RunOutcome, assemble, suite_infos
from .request import entries_of, metrics_of, parse_shard, refuse_undeclared
from .runner import Grader, in_profile_setting

_SHOWN_AT_MOST = 5
#: What a scorecard says of its episode that no judge can change.
_KEPT = ("nodeid", "agent", "attempt", "timing")


class Bodies(Protocol):
    """Plays the functions of Python cases."""

    def play(self, card: Scorecard, context: JudgedDialogue) -> tuple[Decided | None, str]:
        """Play the function of an episode's case on its dialogue; return its decision, and a digest of case and function."""


@dataclass(frozen=True)
class Changes:
    """The settings that differ from the saved run; None leaves a setting unchanged.

    ``decisions``: a file of people's decisions; None: that of each suite, whatever it was.
    """

    judge: str | None = None
    asserted: tuple[Asserted, ...] | None = None
    fail_under: tuple[str, ...] | None = None
    allow_undecided: str | None = None
    decisions: Path | None = None
    judge_votes: int | None = None
    metrics: tuple[str, ...] | None = None

    def of(self, request: RunRequest) -> RunRequest:
        """Return the saved run's request with the changes applied.

        Raises:
            UsageError: the saved run's judge is a file, whose place a run file does not tell.
        """
        if self.judge is None and request.judge.startswith("recorded:"):
            raise UsageError(f"the run was judged by {request.judge}: give --judge=recorded:PATH, or --judge=checks")
        names = ("asserted", "fail_under", "allow_undecided", "metrics")
        changed: dict[str, object] = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.fail_under is not None:
            changed["fail_under_from"] = "command line"
        judge, decisions = self.judge or request.judge, decisions_digest(self.decisions)
        if self.judge_votes is not None or judge != request.judge:
            changed["judge_votes"] = self.judge_votes or default_votes(judge)
        options = request.options.model_copy(update=changed)
        return request.model_copy(update={"judge": judge, "decisions": decisions, "options": options})


def decisions_digest(path: Path | None) -> str:
    """Return the digest of a file of decisions for the manifest; empty for None.

    Raises:
        UsageError: there is no such file.
        SuiteError: it cannot be read.
    """
    if path is None:
        return ""
    require_file(path, shown_path(path))
    return content_digest(path)[:16]


def open_suites(
    paths: Sequence[Path], sandboxes: Sequence[SandboxHook] | None = None, options: RunOptions | None = None
) -> tuple[Suite, ...]:
    """Return the suites at or above some paths, opened once each.

    Args:
        paths: what the user named.
        sandboxes: what looks for sandboxes in Python; None: installed packages alone.
        options: those of the run whose cases are looked for, which may ask for variants; None: there is none.

    Raises:
        UsageError: there is nothing at a path.
        SuiteError: a suite cannot be used.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"--suite: there is nothing at {path}")
    suites = tuple(open_suite(root) for root in dict.fromkeys(find_suite(path) or path for path in paths))
    for suite in suites:
        suite.sandboxes, suite.sweep = sandboxes, sweep_of(options)
    return suites


def changed_suites(run: Run, suites: Sequence[Suite], changes: Changes) -> tuple[str, ...]:
    """Return warnings about suites and decisions that differ from those of the run; empty if there are none."""
    now = {info.name: info for info in suite_infos(suites)}
    warnings = []
    for before in run.manifest.suites:
        after = now.get(before.name)
        if after is None:
            warnings.append(f"the run is of the suite {before.name!r}, which is not among those given")
        elif after.fingerprint != before.fingerprint:
            warnings.append(
                f"the suite {before.name!r} has changed since the run was saved: labels may differ for that alone"
            )
    if run.manifest.decisions and changes.decisions is None:
        warnings.append("the run was judged with a file of labels that is not given now: --labels names it")
    return tuple(warnings)


def regrade(
    run: Run,
    suites: Sequence[Suite],
    changes: Changes,
    *,
    root: Path,
    metric_sets: Mapping[str, MetricSet] | None = None,
    baselines: Sequence[Side] = (),
    client: ModelClient | None = None,
    bodies: Bodies | None = None,
) -> Run:
    """Return the run judged and scored again with the suites' current cases.

    Args:
        run: a saved run.
        suites: where its cases stand.
        changes: what is graded otherwise.
        root: the folder that a judge's relative path starts from.
        metric_sets: the metric sets, by name; None: ours and those of installed packages.
        baselines: earlier runs to compare with: the last green one, then an anchor.
        client: the way to models, for a judge that asks one.
        bodies: play the functions of its cases in Python; None: it has none.

    Raises:
        UsageError: a case of the run is in none of the suites, or the judge or a threshold cannot be used.
        SuiteError: a case cannot be loaded.
    """
    request = changes.of(run.manifest.request)
    available = gather_metric_sets() if metric_sets is None else metric_sets
    places = places_of(run, suites)
    used = [suite for suite in suites if any(places[card.id][0] is suite for card in run.cases)] or list(suites)
    refuse_undeclared(request.options, used, available)  # a bad threshold is told before anything is judged
    metrics = metrics_of(used, available, request.options.metrics)

    known = {"root": root, "client": client, "decisions": changes.decisions and [changes.decisions]}
    graders = {suite.root: Grader.of(suite, request, available, **known) for suite in suites}

    def regraded(card: Scorecard) -> Scorecard:
        """Return a scorecard judged and scored again by the current case."""
        suite, entry = places[card.id]
        case = in_profile_setting(suite.load(entry), suite) if request.options.profile else suite.load(entry)
        grader, known = graders[suite.root], {name: getattr(card, name) for name in _KEPT}
        if bodies is not None and entry in suite.in_python:
            known["decided"], known["stamp"] = bodies.play(card, grader.judge.context(case, card.trajectory))
        return grader.grade(case, card.trajectory, line=entry.line, **known)

    cards = list(map(regraded, run.cases))
    unfinished = run.manifest.unfinished or _missing(run)
    outcome = RunOutcome(run.accounting, run.manifest.partial, run.manifest.broken, unfinished)
    return assemble(cards, used, request, outcome, run.timing, metrics=metrics, baselines=baselines)


def _missing(run: Run) -> str:
    """Return a message with the number of accounted episodes missing from the run file; empty if none is missing."""
    accounting = run.accounting
    expected = accounting.collected - accounting.deselected - len(accounting.lost)
    run_keys = len({card.key[:3] for card in run.cases})
    return f"the file holds {run_keys} of the {expected} episodes that it accounts for" if run_keys < expected else ""


def places_of(run: Run, suites: Sequence[Suite]) -> dict[str, tuple[Suite, CaseEntry]]:
    """Return the suite and the entry of each case by id, for suites that have all of a run's cases.

    Raises:
        UsageError: a case of the run is in none of the suites, or two of them have it, or it is a draft.
        SuiteError: a suite cannot be read.
    """
    places = places_in(suites)
    if unknown := list(dict.fromkeys(card.id for card in run.cases if card.id not in places)):
        hint = hint_at(unknown[0], places)
        raise UsageError(f"the suite has no case {listed(map(repr, unknown), _SHOWN_AT_MOST)}, which the run has{hint}")
    if drafts := [card.id for card in run.cases if places[card.id][1].draft]:
        suite, _ = places[drafts[0]]
        raise UsageError(f"the case {drafts[0]!r} of the run is a draft now: mapsat review {shown_path(suite.root)}")
    return places


def places_in(suites: Sequence[Suite]) -> dict[str, tuple[Suite, CaseEntry]]:
    """Return the suite and the entry of each case in some suites, by id.

    Raises:
        UsageError: two of the suites have a case of one id.
    """
    places: dict[str, tuple[Suite, CaseEntry]] = {}
    for suite in suites:
        listed = (entry for path in suite.files() for entry in suite.entries(path))
        for entry in (*listed, *suite.in_python):
            if entry.id in places:
                raise UsageError(f"--suite: two of the suites have a case {entry.id!r}")
            places[entry.id] = (suite, entry)
    return places


@dataclass
class CacheOnlyClient:
    """A model client that answers only from the cache, and collects the requests that it receives.

    Attributes:
        cache: the kept answers.
        asked: every request by its key.
        lacking: those that the cache has no answer to.
    """

    cache: Cache
    asked: dict[str, Request] = field(default_factory=dict)
    lacking: dict[str, Request] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def ask(self, request: Request, *, timeout: float | None = None, cancelled: Event | None = None) -> Answer:  # noqa: ARG002
        """Return the cached answer. Raises ModelError if there is none."""
        key, answer = request.key(), self.cache.find(request)
        with self._lock:
            self.asked[key] = request
            if answer is None:
                self.lacking[key] = request
        if answer is None:
            raise ModelError("not_cached", f"no answer of {request.model} to this has been read yet", purpose="judge")
        return answer


@dataclass(frozen=True)
class Batched:
    """The outcome of regrading through batch files.

    Attributes:
        run: the run, judged with all answers that there are.
        taken: answers that were read and kept.
        open: requests that still have no answer, those among them that ask again.
        written: requests that were written for the next round.
        problems: what is wrong with rows of the file that was read.
    """

    run: Run
    taken: int
    open: int
    written: int
    problems: tuple[Problem, ...]


def regrade_in_batches(
    regraded: Callable[[ModelClient], Run], cache: Cache, *, read: Path | None = None, write: Path | None = None
) -> Batched:
    """Return a run judged with the cache and a file of results, and write the unanswered requests.

    What of a reply does not check is asked again once: such requests come up when the first replies have been read, and are
    written for a second round.

    Args:
        regraded: judges the run by a door.
        cache: where answers are kept.
        read: results, JSON Lines.
        write: where requests go; nothing is written where none is left.

    Raises:
        UsageError: there is no such file.
        SuiteError: it cannot be read.
        StoreError: the cache cannot be used.
    """
    taken = 0
    problems: tuple[Problem, ...] = ()
    while True:
        client = CacheOnlyClient(cache)
        run = regraded(client)
        if read is None:
            break
        # The file may answer what is asked again, too.
        result = read_batch(read, _in_order(client.asked), cache)
        problems = result.problems
        taken += result.taken
        if not result.taken:
            break
    written = 0
    if write is not None and client.lacking:
        written = write_batch(write, _in_order(client.lacking), cache)
    return Batched(run, taken, len(client.lacking), written, problems)


def _in_order(requests: dict[str, Request]) -> list[Request]:
    """Return requests sorted by key, so that their order does not depend on threads."""
    return [requests[key] for key in sorted(requests)]


_NAMED = 5
_SHARD = "shard "


def merge(
    parts: Mapping[str, Run], suites: Sequence[Suite], baselines: Sequence[Side] = (), drops: Sequence[str] = ()
) -> Run:
    """Return the whole run made of several parts.

    Args:
        parts: the parts, each by the name that messages call it by.
        suites: the suites that they are of, to tell that no case is missing.
        baselines: earlier runs to compare with: the last green one, then an anchor.
        drops: how much means may fall against it, as ``ar:0.02``; parts hold no rule, as none of them has anything to compare with.

    Raises:
        UsageError: they are not parts of one run, one did not end, an episode is in two of them, or one is missing.
        SuiteError: a suite cannot be read.
    """
    for name, run in parts.items():
        if run.manifest.unfinished:
            raise UsageError(f"{name}: {run.manifest.unfinished}")
    _refuse_other(parts)
    _refuse_missing_shards(parts)
    owners: dict[tuple[str, int, str, int], str] = {}
    for name, card in ((name, card) for name, run in parts.items() for card in run.cases):
        if (other := owners.setdefault(card.key, name)) != name:
            raise UsageError(f"case {card.id}, trial {card.trial} is in two parts: {other} and {name}")
    cards = [card for run in parts.values() for card in run.cases]
    lost = [loss for run in parts.values() for loss in run.accounting.lost]
    lost.sort(key=lambda loss: (loss.id, loss.trial, loss.reason))
    # Why the whole is only part of the suite: what all parts leave out, other than for being shards.
    reasons = {tuple(why for why in run.manifest.partial if not why.startswith(_SHARD)) for run in parts.values()}
    partial = reasons.pop() if len(reasons) == 1 else ()
    first = next(iter(parts.values())).manifest
    rules = {"max_drop": tuple(drops), "max_drop_from": "command line"} if drops else {}
    changed = {"shard": "", **rules}
    request = first.request.model_copy(update={"options": first.options.model_copy(update=changed)})
    if not partial:
        _refuse_holes(cards, lost, suites, request.options)
    broken = sorted({place for run in parts.values() for place in run.manifest.broken})
    episodes = {(card.id, card.trial, card.agent) for card in cards}
    drafts = sorted({draft for run in parts.values() for draft in run.accounting.drafts})
    excused = sorted({case for run in parts.values() for case in run.accounting.excused})
    accounting = Accounting(
        collected=len(episodes) + len(lost), lost=tuple(lost), drafts=tuple(drafts), excused=tuple(excused)
    )
    outcome = RunOutcome(accounting, partial, tuple(broken))
    return assemble(
        cards,
        suites,
        request,
        outcome,
        _timing([run.timing for run in parts.values()]),
        metrics=first.metrics,
        baselines=baselines,
    )


def _refuse_other(parts: Mapping[str, Run]) -> None:
    """Raise UsageError if the parts had different requests, versions, suites or metrics."""
    (first, item), *others = parts.items()
    expected = _facts_of(item)
    differs = [
        f"{name}: {key} is {facts[key]}, {first} has {expected[key]}"
        for name, run in others
        for facts in [_facts_of(run)]
        for key in expected
        if facts[key] != expected[key]
    ]
    if differs:
        raise UsageError("these are not parts of one run\n" + "\n".join(f"  {item}" for item in differs[:_NAMED]))


def _facts_of(run: Run) -> dict[str, Any]:
    """Return the facts of a part that must be equal in all parts."""
    manifest = run.manifest
    request = manifest.request.model_dump(mode="json", by_alias=True)
    options = {name: value for name, value in request.pop("options").items() if name != "shard"}
    return {
        **request,
        **options,
        "versions": manifest.versions,
        "suites": [info.model_dump(mode="json") for info in manifest.suites],
        "metrics": [metric.name for metric in manifest.metrics],
        "sharded": bool(run.manifest.options.shard),
    }


def _refuse_missing_shards(parts: Mapping[str, Run]) -> None:
    """Raise UsageError unless the shards among the parts form exactly one complete split."""
    names: dict[int, list[str]] = {}
    counts = set()
    for name, run in parts.items():
        if run.manifest.options.shard:
            number, count = parse_shard(run.manifest.options.shard)
            names.setdefault(number, []).append(name)
            counts.add(count)
    if not names:
        return
    if len(counts) > 1:
        raise UsageError(f"these are not parts of one run: shards of {' and of '.join(map(str, sorted(counts)))}")
    (count,) = counts
    for number, same in sorted(names.items()):
        if len(same) > 1:
            raise UsageError(f"shard {number}/{count} occurs twice: {' and '.join(same)}")
    if missing := [f"{number}/{count}" for number in range(1, count + 1) if number not in names]:
        raise UsageError(f"shards are missing: {listed(missing, _NAMED)}")


def _refuse_holes(
    cards: Iterable[Scorecard], lost: Iterable[Lost], suites: Sequence[Suite], options: RunOptions
) -> None:
    """Raise UsageError if an episode of the suites is in no part."""
    there = {(card.id, card.trial) for card in cards} | {(loss.id, loss.trial) for loss in lost}
    places_in(suites)  # refuses suites that cannot be told apart
    cases = [entry.id for suite in suites for entry in entries_of(suite, options)]
    trials = range(1, options.trials + 1)
    missing = [
        case if options.trials == 1 else f"{case} trial {trial}"
        for case in cases
        for trial in trials
        if (case, trial) not in there
    ]
    if missing:
        raise UsageError(f"{len(missing)} episodes are in no part: {listed(missing, _NAMED)}")


def _timing(parts: Sequence[RunTiming]) -> RunTiming:
    """Return the timing of a run from that of its parts, which ran in parallel."""

    def common(value: Callable[[RunTiming], str]) -> str:
        """Return the distinct values that the parts have, joined by commas."""
        return ", ".join(dict.fromkeys(value(part) for part in parts if value(part)))

    return RunTiming(
        started=min((part.started for part in parts if part.started), default=""),
        seconds=max((part.seconds for part in parts), default=0),
        workers=sum(part.workers for part in parts),
        python=common(lambda part: part.python),
        pytest=common(lambda part: part.pytest),
    )
