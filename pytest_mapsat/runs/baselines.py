"""The baselines of a suite, played and graded, by several processes where there are many cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.agents.baselines import BaselineSource
from pytest_mapsat.episode import run_episode
from pytest_mapsat.model import RunOptions, Scorecard
from pytest_mapsat.proof import BASELINES, dialogue_of
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import Suite
from pytest_mapsat.users import make_user

from .episodes import without_turns
from .runner import grade, judge_of

#: So many cases are worth a process, which takes a second or two to begin; and the most cases that it plays at once.
_EACH, _PART = 50, 10
Cards = dict[str, list[Scorecard]]


def play_baselines(suite: Suite, cases: Sequence[str], again: Callable[[], Suite]) -> Mapping[str, Sequence[Scorecard]]:
    """Return the scorecards of each baseline in some cases; several processes play them if there are many cases.

    Args:
        suite: the suite.
        cases: ids of its cases.
        again: opens the suite in another process; it is sent there.

    Raises:
        SuiteError: a case cannot be read.
    """
    processes = min(os.cpu_count() or 1, len(cases) // _EACH)
    if processes < 2:  # noqa: PLR2004
        return _played(cases, suite)
    parts = [cases[at : at + _PART] for at in range(0, len(cases), _PART)]
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin, (again,)) as pool:
        played = list(pool.map(_played, parts))
    return {name: [card for part in played for card in part[name]] for name in BASELINES}


#: The suite that this process plays.
_suites: list[Suite] = []


def _begin(again: Callable[[], Suite]) -> None:
    """Open the suite in a new process of the pool."""
    _suites[:] = [again()]


def _played(cases: Sequence[str], suite: Suite | None = None) -> Cards:
    """Return the scorecards of each baseline in some cases; ``suite`` is None in a process of the pool, which has opened its own."""
    suite = suite or _suites[0]
    entries = {entry.id: entry for entry in suite.accepted()}
    judge = judge_of(suite, "checks", root=Path())
    asserted = RunOptions().asserted_kinds
    cards: Cards = {name: [] for name in BASELINES}
    for entry in (entries[case] for case in cases):
        case = suite.load(entry)
        for name in BASELINES:
            source = resolve_source(f"baseline:{name}", root=Path())
            if isinstance(source, BaselineSource) and source.needs_dialogue:
                source = replace(source, dialogue=dialogue_of(case, suite, name))
            trajectory = run_episode(case, source, make_user("scripted", case), make_sandbox(case, suite))
            cluster = suite.manifest.cluster or ""
            card = grade(
                case, trajectory, judge, asserted=asserted, tools=suite.tools, line=entry.line, cluster=cluster
            )
            cards[name].append(without_turns(card))  # nothing here reads dialogues, and they cost most to send
    return cards
