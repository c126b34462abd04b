"""Earlier runs on the page: an episode before and now, the trend of each metric, and how each case ended in each run."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.metrics import case_rows
from pytest_mapsat.model import Aggregate, Bounds, Outcome, Run, Scorecard, Trajectory
from pytest_mapsat.reports import view
from pytest_mapsat.reports.changes import label_word
from pytest_mapsat.reports.text import cut

if TYPE_CHECKING:
    from . import Dialogues

#: Words and single characters of scripts without spaces, so that a difference is as small as it reads.
_WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff]+|\s+|.", re.DOTALL)
#: Texts with more words are compared line by line: the time grows with the square of their number.
_MOST_WORDS = 1_200
_REPLY, _CALLS, _CALL = 20_000, 100, 400
#: The drawing of a trend: its width and height, and the room at its edges.
TREND_WIDTH, TREND_HEIGHT, _EDGE = 160, 36, 4

#: A piece of a text, and what became of it: ``del``, ``ins``, or empty for what is the same in both.
ChangedPiece = tuple[str, str]


class EarlierRun(NamedTuple):
    """An earlier run: its name, the run itself, and the source of its scorecards with their dialogues (None: they are included)."""

    name: str
    run: Run
    dialogues: Dialogues | None = None


class Before(NamedTuple):
    """An episode beside the same episode of an earlier run.

    ``has_dialogue``: whether the earlier run kept its dialogue; without it there are no replies and calls. ``labels``: pairs of a requirement that is labelled differently, and how. ``replies``: each before and now, in pieces. ``calls``: pairs of a mark
    (``-``, ``+``, or empty for a call that is in both) and the call as text.
    """

    outcome: Outcome
    has_dialogue: bool
    labels: tuple[tuple[str, str], ...]
    replies: tuple[tuple[list[ChangedPiece], list[ChangedPiece]], ...]
    calls: tuple[tuple[str, str], ...]

    @property
    def same(self) -> bool:
        """Return whether all replies and calls are the same in both runs."""
        kinds = [kind for sides in self.replies for side in sides for kind, _ in side]
        return not any([*kinds, *(mark for mark, _ in self.calls)])


def before_of(earlier: Scorecard, card: Scorecard) -> Before:
    """Return an episode of an earlier run beside the current one, both with their dialogues."""
    known = {label.requirement: label for label in earlier.labels}
    labels = [
        (label.requirement, f"{label_word(was.outcome, was.value)} → {label_word(label.outcome, label.value)}")
        for label in card.labels
        if (was := known.get(label.requirement)) and (was.outcome, was.value) != (label.outcome, label.value)
    ]
    if not earlier.trajectory.turns:
        return Before(earlier.outcome, has_dialogue=False, labels=tuple(labels), replies=(), calls=())
    texts = [[turn.text[:_REPLY] for turn in each.trajectory.replies] for each in (earlier, card)]
    count = max(map(len, texts))
    padded = ([*side, *[""] * (count - len(side))] for side in texts)
    replies = tuple(word_changes(*pair) for pair in zip(*padded, strict=True))
    calls = tuple(call_changes(earlier.trajectory, card.trajectory))
    return Before(earlier.outcome, has_dialogue=True, labels=tuple(labels), replies=replies, calls=calls)


def word_changes(before: str, now: str) -> tuple[list[ChangedPiece], list[ChangedPiece]]:
    """Return two texts in pieces, with the words that occur in only one of them as separate pieces."""
    sides = [_WORD.findall(text) for text in (before, now)]
    if max(map(len, sides)) > _MOST_WORDS:
        sides = [text.splitlines(keepends=True) for text in (before, now)]
    old, new = sides
    pieces: tuple[list[ChangedPiece], list[ChangedPiece]] = ([], [])
    for tag, *places in SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes():
        texts = ("".join(old[places[0] : places[1]]), "".join(new[places[2] : places[3]]))
        for side, text, kind in zip(pieces, texts, ("del", "ins"), strict=True):
            side.extend([("" if tag == "equal" else kind, text)] if text else [])
    return pieces


def call_changes(before: Trajectory, now: Trajectory) -> Iterator[tuple[str, str]]:
    """Yield the calls of two dialogues as lines of a diff, each with its mark."""
    old, new = (
        [f"{cut(view.call_as_made(call), _CALL)} {view.call_mark(call)}" for call in each.calls[:_CALLS]]
        for each in (before, now)
    )
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield from (("" if tag == "equal" else "-", line) for line in old[a:b])
        yield from (("+", line) for line in new[c:d] if tag != "equal")


def cards_before(earlier: EarlierRun, cards: Iterable[Scorecard]) -> dict[tuple[str, int, str, int], Scorecard]:
    """Return the complete scorecards of an earlier run for the same episodes as some current scorecards, by key."""
    numbers = {card.key[:3]: number for number, card in enumerate(earlier.run.cases)}  # the last attempt counts
    wanted = {card.key: numbers[card.key[:3]] for card in cards if card.key[:3] in numbers}
    rising = sorted(set(wanted.values()))
    whole = [earlier.run.cases[number] for number in rising] if earlier.dialogues is None else earlier.dialogues(rising)
    by_number = dict(zip(rising, whole, strict=True))
    return {key: by_number[number] for key, number in wanted.items()}


# -- over several runs -------------------------------------------------------------------------


class Trend(NamedTuple):
    """A metric over several runs: its means, and their SVG points; ``band`` lies between their bounds."""

    metric: str
    means: tuple[Aggregate | None, ...]
    band: str
    line: str
    dots: tuple[tuple[float, float], ...]


def trend_of(metric: str, runs: Sequence[Run], *, share: bool) -> Trend:
    """Return the trend of a metric over runs, drawn from 0 to 1 for a share, otherwise to its largest value."""
    means = tuple(run.summary.get(metric) for run in runs)
    spans = [(place, span) for place, mean in enumerate(means) if mean is not None and (span := _span(mean))]
    most = 1.0 if share else max((span[1] for _, span in spans), default=0.0) or 1.0

    def at(place: int, value: float) -> tuple[float, float]:
        """Return the point of a value in the run at a place."""
        x = _EDGE + (TREND_WIDTH - 2 * _EDGE) * (place / max(len(runs) - 1, 1))
        return round(x, 1), round(_EDGE + (TREND_HEIGHT - 2 * _EDGE) * (1 - min(max(value / most, 0), 1)), 1)

    dots = tuple(at(place, (least + top) / 2) for place, (least, top) in spans)
    edge = [at(place, span[0]) for place, span in spans] + [at(place, span[1]) for place, span in reversed(spans)]
    return Trend(metric, means, _points(edge), _points(dots), dots)


def _span(mean: Aggregate) -> Bounds | None:
    """Return the bounds of a mean, or the mean twice; None if there is neither."""
    return mean.bounds or (None if mean.mean is None else (mean.mean, mean.mean))


def _points(points: Iterable[tuple[float, float]]) -> str:
    """Return points in SVG notation."""
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def differences(runs: Sequence[Run]) -> list[str]:
    """Return in words the settings that differ between runs, so that their means are not comparable."""
    kinds: dict[str, set[object]] = {
        "suite": {tuple((suite.name, suite.fingerprint) for suite in run.manifest.suites) for run in runs},
        "cases": {frozenset(card.id for card in run.cases) for run in runs},
        "simulated user": {run.manifest.user for run in runs},
        "judge": {run.manifest.judge.spec for run in runs},
    }
    return [name for name, values in kinds.items() if len(values) > 1]


class CaseHistory(NamedTuple):
    """The outcome of a case in each run, empty for runs without the case; ``anchor`` links to it in the current run, if present."""

    name: str
    anchor: str
    ended: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Return whether the outcome of the case differs between its runs."""
        return len({*self.ended} - {""}) > 1


def histories(runs: Sequence[Run], anchors: Mapping[tuple[str, str], str]) -> list[CaseHistory]:
    """Return the history of each case of any run.

    Args:
        runs: in their order.
        anchors: of the cases that have one, by case and agent, in the order in which they are shown.
    """
    rows = [{(row.id, row.agent): row for row in case_rows(run.cases, run.manifest.options.pass_rule)} for run in runs]
    names = {key: view.row_name(row) for by_key in rows for key, row in by_key.items()}
    ended = {key: tuple(by_key[key].outcome if key in by_key else "" for by_key in rows) for key in names}
    order = dict.fromkeys([*anchors, *sorted(names)])
    return [CaseHistory(names[key], anchors.get(key, ""), ended[key]) for key in order]


class OverRuns(NamedTuple):
    """Runs over time: their names, differences, numbers of failed cases, trends of metrics, and outcomes of cases."""

    runs: Sequence[tuple[str, Run]]
    differing: list[str]
    failed: list[int]
    trends: list[Trend]
    cases: list[CaseHistory]


def over_runs(
    runs: Sequence[tuple[str, Run]],
    metrics: Sequence[str],
    shares: Container[str],
    anchors: Mapping[tuple[str, str], str],
) -> OverRuns:
    """Return the display data of several runs.

    Args:
        runs: each with its name, the oldest first.
        metrics: those that have a trend.
        shares: those of them that lie between 0 and 1.
        anchors: of cases, by case and agent, in the order in which they are shown.
    """
    each = [run for _, run in runs]
    cases = histories(each, anchors)
    failed = [sum(case.ended[place] == "failed" for case in cases) for place in range(len(each))]
    trends = [trend_of(name, each, share=name in shares) for name in metrics]
    return OverRuns(runs, differences(each), failed, trends, cases)
