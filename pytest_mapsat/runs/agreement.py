"""A run's labels beside those that are known to be true: labelled answers, or verdicts of somebody else on the same dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_mapsat.formats import Placed, require_file, shown_path
from pytest_mapsat.judges import RecordedJudge
from pytest_mapsat.model import Case, LabelledAnswer, Mark, Run, Scorecard, UsageError
from pytest_mapsat.proof import Agreement, Held
from pytest_mapsat.suite import Suite, find_suite, is_answers, open_suite, read_answer_file, read_answers

from .answers import answer_named
from .regrade import places_of


def agreement_of(run: Run, suites: Sequence[Suite], labels: Path) -> Agreement:
    """Return how the labels of a run agree with those that are true.

    Args:
        run: a saved run, judged by anybody.
        suites: where its cases stand.
        labels: a suite, or its folder of answers, or one file of them; or verdicts on the same dialogues: a run file, JSON lines, or the published table.

    Raises:
        UsageError: there is nothing at the path, or nothing in it is about a dialogue of the run.
        SuiteError: a file or a case cannot be used.
    """
    places = places_of(run, suites)
    cases = {
        case: suite.load(entry) for case, (suite, entry) in places.items() if any(card.id == case for card in run.cases)
    }
    found = _by_answers(run, cases, _answers(labels)) if is_answers(labels) else _by_verdicts(run, cases, labels)
    held = tuple(Held(cases[card.id], card, truth) for card, truth in found if truth)
    if not held:
        raise UsageError(f"--labels {shown_path(labels)}: none of it is about a dialogue of the run")
    return Agreement(held, len(run.cases) - len(held))


def _answers(path: Path) -> Sequence[Placed[LabelledAnswer]]:
    if path.is_file():
        return read_answer_file(path)
    root = find_suite(path)
    if root is None:
        raise UsageError(f"--labels {shown_path(path)}: this folder is no suite and in none")
    return read_answers(open_suite(root))


def _by_answers(
    run: Run, cases: Mapping[str, Case], answers: Iterable[Placed[LabelledAnswer]]
) -> Iterable[tuple[Scorecard, Mapping[str, Mark]]]:
    """Yield each dialogue with the labels of the answer that it is: by the name that ``lint --answers --save`` gave it, and by its words."""
    by_name = {answer_named(placed.noun.case, placed.noun.id): placed.noun for placed in answers}
    for card in run.cases:
        answer = by_name.get(card.nodeid)
        same = answer is not None and card.id in cases and _says(card, answer)
        yield card, answer.labels if answer is not None and same else {}


def _says(card: Scorecard, answer: LabelledAnswer) -> bool:
    """Return whether a dialogue ends in the words of an answer."""
    given = (
        answer.text if answer.text is not None else _last(turn.text for turn in answer.turns if turn.role == "agent")
    )
    return given == _last(turn.text for turn in card.trajectory.replies)


def _last(texts: Iterable[str]) -> str | None:
    return next(reversed(list(texts)), None)


def _by_verdicts(run: Run, cases: Mapping[str, Case], path: Path) -> Iterable[tuple[Scorecard, Mapping[str, Mark]]]:
    """Yield each dialogue with what a file says of it."""
    require_file(path, shown_path(path))
    judge = RecordedJudge.open(path, f"recorded:{shown_path(path)}", shown_path(path))
    for card in run.cases:
        verdict = judge.judge(cases[card.id], card.trajectory)
        soft = {factor.id for factor in cases[card.id].truth.implicit if factor.severity == "soft"}
        yield (
            card,
            {
                label.factor: label.value if label.factor in soft else "passed" if label.value > 0 else "failed"
                for label in verdict.labels
                if label.value is not None
            },
        )
