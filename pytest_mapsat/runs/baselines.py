"""The baselines of a suite, played and graded, by several processes where there are many cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.metrics import MSB
from pytest_mapsat.model import RunOptions, RunRequest, Scorecard
from pytest_mapsat.proof import BASELINES
from pytest_mapsat.suite import Suite

from .runner import Runner

#: So many cases are worth a process, which takes a second or two to begin; and the most cases that it plays at once.
_EACH, _PART = 50, 10
Cards = dict[str, list[Scorecard]]


def play_baselines(suite: Suite, cases: Sequence[str], again: Callable[[], Suite]) -> Mapping[str, Sequence[Scorecard]]:
    """Return the scorecards of each baseline in some cases, in their order.

    Args:
        suite: the suite.
        cases: ids of its cases.
        again: opens the suite in another process; it is sent there.

    Raises:
        SuiteError: a case cannot be read.
    """
    processes = min(os.cpu_count() or 1, len(cases) // _EACH)
    if processes < 2:  # noqa: PLR2004
        return _played(suite, cases)
    parts = [cases[at : at + _PART] for at in range(0, len(cases), _PART)]
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin, (again,)) as pool:
        played = list(pool.map(_play_part, parts))
    return {name: [card for part in played for card in part[name]] for name in BASELINES}


#: The suite that this process plays.
_suites: list[Suite] = []


def _begin(again: Callable[[], Suite]) -> None:
    _suites[:] = [again()]


def _play_part(cases: Sequence[str]) -> Cards:
    return _played(_suites[0], cases)


def _played(suite: Suite, cases: Sequence[str]) -> Cards:
    entries = {entry.id: entry for entry in suite.accepted()}
    cards: Cards = {}
    loaded = [(suite.load(entries[case]), entries[case].line) for case in cases]
    for name in BASELINES:
        spec = f"baseline:{name}"
        request = RunRequest(agent=spec, user="scripted", judge="checks", options=RunOptions(metrics=(MSB.name,)))
        runner = Runner(resolve_source(spec, root=Path()), request, Path())
        cards[name] = [_light(runner.run(suite, case, line=line)) for case, line in loaded]
    return cards


def _light(card: Scorecard) -> Scorecard:
    """Return a scorecard without its dialogue, which nothing here reads and which costs most to send."""
    return card.model_copy(update={"trajectory": card.trajectory.model_copy(update={"turns": ()})})
