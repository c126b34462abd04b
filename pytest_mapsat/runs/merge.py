"""The parts of a run that several jobs ran, put together: nothing twice, nothing missing, and the gate decided on all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_mapsat.gate import Side
from pytest_mapsat.model import Accounting, Lost, Run, RunOptions, RunTiming, Scorecard, UsageError
from pytest_mapsat.suite import Suite

from .assemble import Outcome, assemble
from .regrade import places_in
from .samples import entries_of, parse_shard

_NAMED = 5
_SHARD = "shard "


def merge(
    parts: Mapping[str, Run], suites: Sequence[Suite], baselines: Sequence[Side] = (), drops: Sequence[str] = ()
) -> Run:
    """Return the run that some parts of it make.

    Args:
        parts: the parts, each by the name that messages call it by.
        suites: the suites that they are of, to tell that no case is missing.
        baselines: earlier runs to compare with: the last green one, then an anchor.
        drops: how much means may fall against it, as ``ar:0.02``; parts hold no rule, as none of them has anything to compare with.

    Raises:
        UsageError: they are not parts of one run, one did not end, an episode is in two of them, or one is missing.
        SuiteError: a suite cannot be read.
    """
    _refuse_unfinished(parts)
    _refuse_other(parts)
    _refuse_missing_shards(parts)
    cards = _cards(parts)
    lost = _lost(parts)
    partial = _partial(parts)
    first = next(iter(parts.values())).manifest
    rules = {"max_drop": tuple(drops), "max_drop_from": "command line"} if drops else {}
    changed = {"shard": "", **rules}
    request = first.request.model_copy(update={"options": first.options.model_copy(update=changed)})
    if not partial:
        _refuse_holes(cards, lost, suites, request.options)
    broken = sorted({place for run in parts.values() for place in run.manifest.broken})
    episodes = {(card.id, card.trial, card.agent) for card in cards}
    accounting = Accounting(collected=len(episodes) + len(lost), lost=tuple(lost))
    outcome = Outcome(accounting, partial, tuple(broken))
    return assemble(
        cards,
        suites,
        request,
        outcome,
        _timing([run.timing for run in parts.values()]),
        metrics=first.metrics,
        baselines=baselines,
    )


def _refuse_unfinished(parts: Mapping[str, Run]) -> None:
    for name, run in parts.items():
        if run.manifest.unfinished:
            raise UsageError(f"{name}: {run.manifest.unfinished}")


def _refuse_other(parts: Mapping[str, Run]) -> None:
    """Refuse parts that were asked for something else, or are of other suites. Raises UsageError."""
    (first, one), *others = parts.items()
    expected = _facts(one)
    differs = [
        f"{name}: {key} is {facts[key]}, {first} has {expected[key]}"
        for name, run in others
        for facts in [_facts(run)]
        for key in expected
        if facts[key] != expected[key]
    ]
    if differs:
        raise UsageError("these are not parts of one run\n" + "\n".join(f"  {one}" for one in differs[:_NAMED]))


def _facts(run: Run) -> dict[str, Any]:
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
    """Refuse shards that are not exactly those of one split. Raises UsageError."""
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
            raise UsageError(f"shard {number}/{count} is there twice: {' and '.join(same)}")
    if missing := [f"{number}/{count}" for number in range(1, count + 1) if number not in names]:
        raise UsageError(f"shards are missing: {_some(missing)}")


def _cards(parts: Mapping[str, Run]) -> list[Scorecard]:
    """Return all scorecards; an episode that two parts have is an error. Raises UsageError."""
    owners: dict[tuple[str, int, str, int], str] = {}
    cards = []
    for name, run in parts.items():
        for card in run.cases:
            if (other := owners.setdefault(card.key, name)) != name:
                raise UsageError(f"case {card.id}, trial {card.trial} is in two parts: {other} and {name}")
            cards.append(card)
    return cards


def _lost(parts: Mapping[str, Run]) -> list[Lost]:
    lost = [one for run in parts.values() for one in run.accounting.lost]
    return sorted(lost, key=lambda one: (one.id, one.trial, one.reason))


def _partial(parts: Mapping[str, Run]) -> tuple[str, ...]:
    """Return why the whole is only part of the suite: what all parts leave out, other than for being shards."""
    reasons = [tuple(one for one in run.manifest.partial if not one.startswith(_SHARD)) for run in parts.values()]
    return reasons[0] if all(one == reasons[0] for one in reasons) else ()


def _refuse_holes(
    cards: Iterable[Scorecard], lost: Iterable[Lost], suites: Sequence[Suite], options: RunOptions
) -> None:
    """Refuse a whole from which an episode of the suites is missing. Raises UsageError."""
    there = {(card.id, card.trial) for card in cards} | {(one.id, one.trial) for one in lost}
    places_in(suites)  # refuses suites that cannot be told apart
    cases = [entry.id for suite in suites for entry in entries_of(suite, options)]
    missing = list(_missing(cases, there, options.trials))
    if missing:
        raise UsageError(f"{len(missing)} episodes are in no part: {_some(missing)}")


def _missing(cases: Iterable[str], there: set[tuple[str, int]], trials: int) -> Iterator[str]:
    for case in cases:
        for trial in range(1, trials + 1):
            if (case, trial) not in there:
                yield case if trials == 1 else f"{case} trial {trial}"


def _timing(parts: Sequence[RunTiming]) -> RunTiming:
    """Return the timing of parts that ran side by side."""

    def common(value: Callable[[RunTiming], str]) -> str:
        return ", ".join(dict.fromkeys(value(part) for part in parts if value(part)))

    return RunTiming(
        started=min((part.started for part in parts if part.started), default=""),
        seconds=max((part.seconds for part in parts), default=0),
        workers=sum(part.workers for part in parts),
        python=common(lambda part: part.python),
        pytest=common(lambda part: part.pytest),
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
