"""A saved run, judged and scored again: other checks, other thresholds or other verdicts, and no agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_mapsat.assembly import Terms, assemble, source_of_run, suite_infos, terms_of_run
from pytest_mapsat.judges import Judge, make_judge
from pytest_mapsat.model import Run, Scorecard, UsageError, did_you_mean
from pytest_mapsat.runner import grade
from pytest_mapsat.suite import CaseEntry, Suite, find_suite, open_suite

_SHOWN_AT_MOST = 5


@dataclass(frozen=True)
class Changes:
    """What is graded otherwise than in the saved run; None: as it was."""

    judge: str | None = None
    asserted: frozenset[str] | None = None
    fail_under: tuple[str, ...] | None = None
    allow_unevaluated: int | None = None

    def of(self, terms: Terms) -> Terms:
        """Return the terms with the changes.

        Raises:
            UsageError: the saved run's judge is a file, whose place a run file does not tell.
        """
        if self.judge is None and terms.judge.startswith("recorded:"):
            raise UsageError(f"the run was judged by {terms.judge}: give --judge=recorded:PATH, or --judge=checks")
        fail_under = self.fail_under
        return replace(
            terms,
            judge=terms.judge if self.judge is None else self.judge,
            asserted=terms.asserted if self.asserted is None else self.asserted,
            fail_under=terms.fail_under if fail_under is None else tuple((one, "command line") for one in fail_under),
            allow_unevaluated=terms.allow_unevaluated if self.allow_unevaluated is None else self.allow_unevaluated,
        )


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
    terms = changes.of(terms_of_run(run.manifest))
    _ = terms.thresholds  # a bad threshold is told before anything is judged
    places = _places(suites)
    _refuse_unknown(run, places)
    judges = {suite.root: make_judge(terms.judge, suite.tools, root=root) for suite in suites}
    used = [suite for suite in suites if any(places[card.id][0] is suite for card in run.cases)] or list(suites)
    cards = [_regraded(card, *places[card.id], judges[places[card.id][0].root], terms) for card in run.cases]
    return assemble(cards, used, source_of_run(run.manifest), terms, run.timing)


def _places(suites: Sequence[Suite]) -> dict[str, tuple[Suite, CaseEntry]]:
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


def _regraded(card: Scorecard, suite: Suite, entry: CaseEntry, judge: Judge, terms: Terms) -> Scorecard:
    graded = grade(suite.load(entry), card.trajectory, judge, asserted=terms.asserted, nodeid=card.nodeid)
    return graded.model_copy(update={"timing": card.timing})
