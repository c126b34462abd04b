"""The cases that are not as they were: how they end now, and which requirements changed, with what was said before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_mapsat.metrics import PASS_RATE, case_rows
from pytest_mapsat.metrics.statistics import mean
from pytest_mapsat.model import (
    BESIDES,
    Bounds,
    CaseChange,
    CaseSide,
    Direction,
    Label,
    Outcome,
    RequirementChange,
    Scorecard,
)

from .finding import TOLERANCE
from .likeness import labels_of
from .pairs import Pair

_ORDER: tuple[Direction, ...] = ("worse", "unclear", "better", "same")
_RANK: dict[Outcome, int] = {"passed": 2, "unevaluated": 1, "error": 1, "not_applicable": 1, "failed": 0}
#: Where a label that is not known stands, when one is looked for that shows a change.
_MIDDLE = 0.5


def changed_cases(
    pairs: Iterable[Pair], metrics: Sequence[str], *, baseline_rule: str, new_rule: str
) -> tuple[CaseChange, ...]:
    """Return the cases that changed: those that fail now first, then the others that got worse, most first.

    Args:
        pairs: the cases that both runs have.
        metrics: what counts as a change, the first most.
        baseline_rule: the pass rule of the earlier run.
        new_rule: that of the new one.
    """
    found = [change for pair in pairs if (change := _change(pair, metrics, baseline_rule, new_rule)) is not None]
    first = metrics[0] if metrics else PASS_RATE
    found.sort(key=lambda one: (_ORDER.index(one.direction), not one.flipped, _fall(one, first), one.id))
    return tuple(found)


def _fall(change: CaseChange, metric: str) -> float:
    before, after = (side.metrics.get(metric, (0.0, 0.0)) for side in (change.baseline, change.new))
    return after[1] - before[1]


def _change(pair: Pair, metrics: Sequence[str], baseline_rule: str, new_rule: str) -> CaseChange | None:
    if [_ended(card) for card in pair.baseline] == [_ended(card) for card in pair.new]:
        return None
    differences = {name: found for name in (*metrics, PASS_RATE) if (found := pair.difference(name)) is not None}
    baseline, new = _side(pair, baseline_rule, metrics, new=False), _side(pair, new_rule, metrics, new=True)
    requirements = _requirements(pair)
    if baseline.outcome == new.outcome and not requirements and not any(map(_differs, differences.values())):
        return None
    return CaseChange(
        id=pair.id,
        nodeid=pair.new[0].nodeid,
        domains=pair.domains,
        direction=_direction(baseline.outcome, new.outcome, list(differences.values())),
        flipped={baseline.outcome, new.outcome} == {"passed", "failed"},
        baseline=baseline,
        new=new,
        requirements=requirements,
    )


def _ended(card: Scorecard) -> tuple[object, ...]:
    return card.outcome, card.metrics, card.bounds, card.labels


def _differs(difference: Bounds) -> bool:
    return difference[0] < -TOLERANCE or difference[1] > TOLERANCE


def _direction(baseline: Outcome, new: Outcome, differences: Sequence[Bounds]) -> Direction:
    """Return where a case went: by how it ends, else by the first number that surely moved."""
    if {baseline, new} == {"passed", "failed"}:
        return "worse" if new == "failed" else "better"
    for least, most in differences:
        if most < -TOLERANCE:
            return "worse"
        if least > TOLERANCE:
            return "better"
    return "unclear" if any(map(_differs, differences)) else "same"


def _side(pair: Pair, rule: str, metrics: Sequence[str], *, new: bool) -> CaseSide:
    rows = case_rows(pair.new if new else pair.baseline, rule)
    worst = min(rows, key=lambda row: _RANK[row.outcome])
    means = {name: pair.mean(name, new=new) for name in (*metrics, PASS_RATE)}
    return CaseSide(
        outcome=worst.outcome,
        reason="" if worst.outcome == "passed" else worst.told.reason,
        passed=sum(row.passed for row in rows),
        trials=sum(row.trials for row in rows),
        metrics={name: mean for name, mean in means.items() if mean is not None},
    )


def _requirements(pair: Pair) -> tuple[RequirementChange, ...]:
    """Return the requirements whose labels are others than before, those that got worse first."""
    before, after = _labels(pair.baseline), _labels(pair.new)
    changes = [
        change
        for requirement in dict.fromkeys((*before, *after))
        if (change := _requirement(before.get(requirement, []), after.get(requirement, []))) is not None
    ]
    return tuple(sorted(changes, key=lambda change: _ORDER.index(change.direction)))


def _labels(cards: Iterable[Scorecard]) -> dict[str, list[Label]]:
    """Return the labels of each requirement over trials."""
    found: dict[str, list[Label]] = {}
    for card in cards:
        for label in labels_of(card):
            if label.kind not in BESIDES:  # steps of two dialogues are not the same
                found.setdefault(label.requirement, []).append(label)
    return found


def _requirement(before: Sequence[Label], after: Sequence[Label]) -> RequirementChange | None:
    """Return how one requirement changed over all trials, told of the first labels that show it; None where it did not."""
    if not before or not after:
        return None  # the episode broke in one of the runs, which the case says
    (least, most), (least_now, most_now) = _bounds(before), _bounds(after)
    if (least, most) == (least_now, most_now):
        return None
    direction: Direction = "worse" if most_now < least else "better" if least_now > most else "unclear"
    baseline, new = _telling(before, after)
    return RequirementChange(
        requirement=new.requirement,
        kind=new.kind,
        direction=direction,
        baseline=baseline.outcome,
        new=new.outcome,
        baseline_value=baseline.value,
        new_value=new.value,
        baseline_why=baseline.why,
        new_why=new.why,
        wanted=new.wanted or baseline.wanted,
        baseline_quotes=baseline.quotes,
        new_quotes=new.quotes,
        baseline_trials=(sum(_met(label) for label in before), len(before)),
        new_trials=(sum(_met(label) for label in after), len(after)),
    )


def _telling(before: Sequence[Label], after: Sequence[Label]) -> tuple[Label, Label]:
    """Return a label of each side that differ as their trials do: the best and the worst, or the other way round."""
    fallen = sum(_bounds(before)) >= sum(_bounds(after))
    best, worst = (max, min) if fallen else (min, max)
    return best(before, key=_level), worst(after, key=_level)


def _met(label: Label) -> bool:
    return label.outcome == "passed" and label.value in (None, 1.0)


def _bounds(labels: Sequence[Label]) -> Bounds:
    """Return the least and the most that a requirement's mean level can be: a label that is not known may be anything."""
    least = [0.0 if level is None else level for level in map(_known, labels)]
    most = [1.0 if level is None else level for level in map(_known, labels)]
    return mean(least), mean(most)


def _known(label: Label) -> float | None:
    if label.value is not None:
        return label.value
    return {"passed": 1.0, "failed": 0.0}.get(label.outcome)


def _level(label: Label) -> float:
    level = _known(label)
    return _MIDDLE if level is None else level
