"""A saved run, judged and scored again: other checks, other thresholds or other verdicts, and no agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_mapsat.judges import Judge, make_judge
from pytest_mapsat.model import Asserted, Run, RunRequest, Scorecard, UsageError, did_you_mean
from pytest_mapsat.suite import CaseEntry, Suite, find_suite, open_suite

from .assemble import Collected, assemble, suite_infos
from .case import grade
from .request import thresholds_of

_SHOWN_AT_MOST = 5


@dataclass(frozen=True)
class Changes:
    """What is graded otherwise than in the saved run; None: as it was."""

    judge: str | None = None
    asserted: tuple[Asserted, ...] | None = None
    fail_under: tuple[str, ...] | None = None
    allow_unevaluated: int | None = None

    def of(self, request: RunRequest) -> RunRequest:
        """Return the request with the changes.

        Raises:
            UsageError: the saved run's judge is a file, whose place a run file does not tell.
        """
        if self.judge is None and request.judge.startswith("recorded:"):
            raise UsageError(f"the run was judged by {request.judge}: give --judge=recorded:PATH, or --judge=checks")
        changed: dict[str, object] = {}
        if self.asserted is not None:
            changed["asserted"] = self.asserted
        if self.fail_under is not None:
            changed |= {"fail_under": self.fail_under, "fail_under_from": "command line"}
        if self.allow_unevaluated is not None:
            changed["allow_unevaluated"] = self.allow_unevaluated
        options = request.options.model_copy(update=changed)
        return request.model_copy(update={"judge": self.judge or request.judge, "options": options})


def open_suites(paths: Sequence[Path]) -> tuple[Suite, ...]:
    """Open the suites at or above some paths, each once.

    Raises:
        UsageError: there is nothing at a path.
        SuiteError: a suite cannot be used.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"--suite: there is nothing at {path}")
    return tuple(open_suite(root) for root in dict.fromkeys(find_suite(path) or path for path in paths))


def changed_suites(run: Run, suites: Sequence[Suite]) -> tuple[str, ...]:
    """Return in words how the suites differ from those that were run; empty where they do not."""
    now = {info.name: info for info in suite_infos(suites)}
    said = []
    for before in run.manifest.suites:
        after = now.get(before.name)
        if after is None:
            said.append(f"the run is of the suite {before.name!r}, which is not among those given")
        elif after.fingerprint != before.fingerprint:
            said.append(
                f"the suite {before.name!r} has changed since the run was saved: labels may differ for that alone"
            )
    return tuple(said)


def regrade(run: Run, suites: Sequence[Suite], changes: Changes, *, root: Path) -> Run:
    """Return the run judged and scored again, with the suites' cases as they are now.

    Args:
        run: a saved run.
        suites: where its cases stand.
        changes: what is graded otherwise.
        root: the folder that a judge's relative path starts from.

    Raises:
        UsageError: a case of the run is in none of the suites, or the judge or a threshold cannot be used.
        SuiteError: a case cannot be loaded.
    """
    request = changes.of(run.manifest.request)
    _ = thresholds_of(request.options)  # a bad threshold is told before anything is judged
    places = places_of(suites)
    _refuse_unknown(run, places)
    judges = {suite.root: make_judge(request.judge, suite.tools, root=root) for suite in suites}
    used = [suite for suite in suites if any(places[card.id][0] is suite for card in run.cases)] or list(suites)
    asserted = request.options.asserted_kinds
    cards = [_regraded(card, *places[card.id], judges[places[card.id][0].root], asserted) for card in run.cases]
    collected = Collected(run.accounting, run.manifest.partial, run.manifest.broken)
    return assemble(cards, used, request, collected, run.timing)


def places_of(suites: Sequence[Suite]) -> dict[str, tuple[Suite, CaseEntry]]:
    """Return the suite and the entry of each case, by its id.

    Raises:
        UsageError: two of the suites have a case of one id.
    """
    places: dict[str, tuple[Suite, CaseEntry]] = {}
    for suite in suites:
        for path in suite.files():
            for entry in suite.entries(path):
                if entry.id in places:
                    raise UsageError(f"--suite: two of the suites have a case {entry.id!r}")
                places[entry.id] = (suite, entry)
    return places


def _refuse_unknown(run: Run, places: dict[str, tuple[Suite, CaseEntry]]) -> None:
    unknown = list(dict.fromkeys(card.id for card in run.cases if card.id not in places))
    if unknown:
        more = f" and {len(unknown) - _SHOWN_AT_MOST} more" if len(unknown) > _SHOWN_AT_MOST else ""
        hint = did_you_mean(unknown[0], places)
        raise UsageError(
            f"the suite has no case {', '.join(map(repr, unknown[:_SHOWN_AT_MOST]))}{more}, which the run has"
            + (f" ({hint})" if hint else "")
        )


def _regraded(card: Scorecard, suite: Suite, entry: CaseEntry, judge: Judge, asserted: frozenset[str]) -> Scorecard:
    graded = grade(suite.load(entry), card.trajectory, judge, asserted=asserted, nodeid=card.nodeid)
    return graded.model_copy(update={"agent": card.agent, "attempt": card.attempt, "timing": card.timing})
