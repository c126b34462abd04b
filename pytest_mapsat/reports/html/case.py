"""One episode as it is shown: the dialogue, the calls, the labels, what it cost."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

from pytest_mapsat.metrics import CaseRow, case_rows
from pytest_mapsat.model import BESIDES, Bounds, CardRequirement, Difference, Label, Run, Scorecard, Step, Turn, lighten
from pytest_mapsat.reports import values
from pytest_mapsat.reports.text import call_text, cut, printable

from .drawing import Drawing, drawing_of
from .marked import Piece, pieces

#: Characters of one reply or thought, of one argument in words, and of all results of an episode: the file stays small whatever tools return.
_REPLY, _THOUGHT, _VALUE, _WHY = 20_000, 4_000, 120, 4_000
_RESULTS_OF_RUN, _RESULTS_LEAST, _RESULTS_MOST = 3_000_000, 600, 24_000
_RESULT_LEAST = 200
_QUERY = 140
#: Episodes of which the page has dialogue, labels and drawing; of a larger run it lists the others.
TOLD = 1_000
_CALLS = 100
_CHANGES = 50
_CHANGE = 1000
_ANCHOR = re.compile(r"[A-Za-z0-9_.-]{1,120}", re.ASCII)
#: How a label ended, without what is said of it.
_ENDED = ("requirement", "kind", "outcome", "value", "nothing_claimed", "blame", "by", "idle")
#: Labels in the order in which they are read: what is wrong, what is open, what is right.
_READ = {"failed": 0, "error": 0, "unevaluated": 1, "not_applicable": 3, "passed": 2}

#: Gives scorecards of a run with their dialogues, by their numbers in it, which rise.
Dialogues = Callable[[Sequence[int]], Iterable[Scorecard]]


@dataclass(frozen=True)
class CallView:
    """A call of a tool; ``kind`` is where the answer came from, or ``error``."""

    text: str
    kind: str
    notes: tuple[str, ...]
    arguments: str
    result: str
    left_out: int


@dataclass(frozen=True)
class TurnView:
    """One message: what was said in pieces, and the thoughts and calls before it."""

    number: int
    role: str
    said: tuple[Piece, ...]
    left_out: int
    steps: tuple[CallView | str, ...]
    spent: str

    @property
    def counted(self) -> str:
        """How many steps there are, and where the answers came from."""
        kinds = Counter(step.kind for step in self.steps if isinstance(step, CallView))
        thoughts = len(self.steps) - kinds.total()
        parts = [_count(thoughts, "thought", "thoughts")] if thoughts else []
        told = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        return "; ".join([*parts, f"{_count(kinds.total(), 'call', 'calls')}: {told}"] if kinds else parts)


@dataclass(frozen=True)
class RequirementView:
    """A requirement with its label.

    Attributes:
        id: the requirement's id.
        kind: what kind of requirement, in words.
        text: the requirement.
        source: where the user's wish could have been learnt.
        label: what the judge said; None where nobody judged it.
        decidable: whether a person may decide it.
        soft: whether it has levels.
    """

    id: str
    kind: str
    text: str
    source: str
    label: Label | None
    decidable: bool
    soft: bool

    @property
    def state(self) -> str:
        """The label's outcome; ``partial`` for a level between."""
        if self.label is None:
            return "none"
        part = self.label.value is not None and 0 < self.label.value < 1
        return "partial" if part else self.label.outcome

    @property
    def title(self) -> str:
        """What is said of it."""
        if self.label is None:
            return "not judged"
        if self.state == "partial":
            return f"met in part ({self.label.value:g})"
        met = "nothing claimed" if self.label.nothing_claimed else "nothing had to change" if self.label.idle else "met"
        words = {"failed": "broken", "passed": met}
        return words.get(self.label.outcome) or values.outcome_title(self.label.outcome)

    @property
    def open(self) -> bool:
        """Whether the judge has left it open."""
        return self.label is not None and self.label.outcome == "unevaluated"

    @property
    def folded(self) -> bool:
        """Whether it is shown in short: nothing is wrong with it."""
        return self.state in ("passed", "not_applicable", "none")

    @property
    def why(self) -> str:
        """The judge's reason."""
        return "" if self.label is None else cut(printable(self.label.why), _WHY)


@dataclass(frozen=True)
class CaseView:
    """An episode of the run; ``number`` is its place in it."""

    card: Scorecard
    anchor: str
    results_most: int = field(repr=False)
    number: int = 0

    @property
    def name(self) -> str:
        """How it is called."""
        return values.card_name(self.card)

    @property
    def query(self) -> str:
        """What the user asked."""
        turns = self.card.trajectory.turns
        return cut(printable(turns[0].text), _QUERY) if turns and turns[0].role == "user" else ""

    @property
    def missed(self) -> str:
        """The requirements that are not met, then those that are open."""
        names = [requirement.id for requirement in self.requirements if requirement.state in ("failed", "partial")]
        names += [f"{requirement.id}?" for requirement in self.requirements if requirement.open]
        return ", ".join(names)

    @cached_property
    def requirements(self) -> tuple[RequirementView, ...]:
        """All requirements, those that need a look first."""
        labels = {label.requirement: label for label in self.card.labels}
        found = [self._requirement(one, labels.get(one.id)) for one in values.requirements(self.card).values()]
        return tuple(sorted(found, key=lambda one: 2.5 if one.label is None else _READ[one.label.outcome]))

    def _requirement(self, one: CardRequirement, label: Label | None) -> RequirementView:
        kind = values.KIND_TITLES.get(one.kind, one.kind)
        decidable = label is not None and label.outcome in ("unevaluated", "failed") and self._has_reply
        return RequirementView(one.id, kind, one.text, one.source, label, decidable, one.kind == "soft")

    @property
    def _has_reply(self) -> bool:
        fault = self.card.trajectory.fault
        said = any(turn.text.strip() for turn in self.card.trajectory.replies)
        return said and (fault is None or fault.blame == "agent")

    @cached_property
    def turns(self) -> tuple[TurnView, ...]:
        """The dialogue."""
        calls = len(self.card.trajectory.calls)
        most = max(_RESULT_LEAST, self.results_most // max(calls, 1))
        labels = self.card.labels
        return tuple(self._turn(number, turn, labels, most) for number, turn in enumerate(self.card.trajectory.turns))

    def _turn(self, number: int, turn: Turn, labels: tuple[Label, ...], most: int) -> TurnView:
        return TurnView(
            number=number,
            role=turn.role,
            said=tuple(pieces(turn.text, number, labels, most=_REPLY)),
            left_out=max(0, len(turn.text) - _REPLY),
            steps=tuple(_step(step, most) for step in turn.steps[:_CALLS]),
            spent=_spent(turn),
        )

    @cached_property
    def drawing(self) -> Drawing | None:
        """The places of its calls."""
        return drawing_of(self.card.trajectory)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What else is known of it, by name."""
        card = self.card
        path, line = values.case_place(card)
        spent = card.spent
        rows = [
            ("domains", ", ".join(card.domains)),
            *((values.dimension_title(name), value) for name, value in sorted(card.attributes.items())),
            ("case file", f"{path}:{line}" if path and card.line else path),
            ("dialogue", f"{_count(card.turns, 'reply', 'replies')}, {_count(card.calls.total, 'call', 'calls')}"),
            ("ended", "" if card.trajectory.ending == "done" else card.trajectory.ending.replace("_", " ")),
            ("time", values.seconds_text(card.timing.seconds) if card.timing.seconds else ""),
            ("tokens", _tokens(spent.input_tokens, spent.output_tokens)),
            ("cost", "" if spent.cost is None else f"${spent.cost:.4f}"),
        ]
        return [(name, value) for name, value in rows if value]


@dataclass(frozen=True)
class RowView:
    """A case of the run with all its episodes.

    Attributes:
        row: the case.
        views: its episodes.
        told: the one of them that tells most.
    """

    row: CaseRow
    views: tuple[CaseView, ...]
    told: CaseView

    @property
    def name(self) -> str:
        """How the case is called; of a single episode, how that is."""
        if len(self.views) == 1:
            return self.told.name
        return printable(f"{self.row.id} [{self.row.agent}]" if self.row.agent else self.row.id)

    @property
    def outcome(self) -> str:
        """How the case ends, under the pass rule where it has several trials."""
        return self.told.card.outcome if len(self.views) == 1 else self.row.outcome

    @property
    def counted(self) -> str:
        """How many of several trials passed."""
        if len(self.views) == 1:
            return ""
        reruns = f", {_count(self.row.reruns, 'rerun', 'reruns')}" if self.row.reruns else ""
        return f"{self.row.passed} of {self.row.trials}{reruns}{', flaky' if self.row.flaky else ''}"

    @property
    def open(self) -> bool:
        """Whether a label of it is open."""
        return any(requirement.open for view in self.views for requirement in view.requirements)

    def span(self, metric: str) -> Bounds | None:
        """Return the least and the most that a metric comes to over its episodes; None where nothing is known of it."""
        spans = [span for view in self.views if (span := view.card.bounds_of(metric)) is not None]
        if not spans:
            return None
        return math.fsum(low for low, _ in spans) / len(spans), math.fsum(high for _, high in spans) / len(spans)


def opening(card: Scorecard) -> Scorecard:
    """Return of a scorecard what lists show of it: what the user asked, and the words of requirements that are not met."""
    turns = [
        turn.model_copy(update={"text": turn.text[: 10 * _QUERY], "steps": ()}) for turn in card.trajectory.turns[:1]
    ]
    met = {one.requirement for one in card.labels if one.value == 1 and one.kind not in BESIDES}
    kept = card.model_copy(
        update={
            "trajectory": card.trajectory.model_copy(update={"turns": tuple(turns)}),
            "labels": tuple(
                [
                    _silent(*[getattr(one, name) for name in _ENDED]) if one.requirement in met else one
                    for one in card.labels
                ]
            ),
            "requirements": tuple([_untold(one.id, one.kind) if one.id in met else one for one in card.requirements]),
            "misread": None,  # the means stand in the run's summary
        }
    )
    lighten(kept)
    return kept


@lru_cache(maxsize=10_000)
def _silent(*ended: Any) -> Label:
    """Return a label without words, which many scorecards share."""
    return Label(**dict(zip(_ENDED, ended, strict=True)))


@lru_cache(maxsize=10_000)
def _untold(name: str, kind: str) -> CardRequirement:
    return CardRequirement(id=name, kind=kind, text="")


def told_views(rows: Sequence[RowView], dialogues: Dialogues | None) -> dict[int, tuple[CaseView, ...]]:
    """Return the episodes that the page tells whole, by the place of their case: those first that need a look.

    Args:
        rows: the cases as they are shown.
        dialogues: gives scorecards whole, by their numbers in the run; None: they are.
    """
    counts = [*accumulate(len(row.views) for row in rows)]
    told = {place: row.views for place, row in enumerate(rows) if counts[place] - len(row.views) < TOLD}
    if dialogues is None:
        return told
    numbers = sorted(view.number for views in told.values() for view in views)
    whole = dict(zip(numbers, dialogues(numbers), strict=True))
    return {place: tuple(replace(view, card=whole[view.number]) for view in views) for place, views in told.items()}


def row_views(run: Run) -> list[RowView]:
    """Return the run's cases as they are shown, those that need a look first."""
    most = min(max(_RESULTS_OF_RUN // min(max(len(run.cases), 1), TOLD), _RESULTS_LEAST), _RESULTS_MOST)
    leading = next(iter(values.gated_metrics(run)), "")
    taken: set[str] = set()
    views: dict[tuple[str, int, str, int], CaseView] = {}
    for number, card in enumerate(run.cases, 1):
        name = "-".join([card.id, *([f"t{card.trial}"] if card.trial > 1 else [])])
        plain = _ANCHOR.fullmatch(name) and card.attempt == 1 and not card.agent and name not in taken
        taken.add(name)
        views[card.key] = CaseView(card, f"case-{name}" if plain else f"case.{number}", most, number - 1)
    rows = [
        RowView(row, tuple(views[card.key] for card in row.cards), views[row.told.key])
        for row in case_rows(run.cases, run.manifest.options.pass_rule)
    ]
    return sorted(rows, key=lambda row: _need(row, leading))


def _need(row: RowView, leading: str) -> tuple[Any, ...]:
    """Return how much a case needs a look: failed ones first, the worst of them at the head."""
    span = row.span(leading)
    return _READ[row.outcome], 1.0 if span is None else span[0], row.told.card.key


def _step(step: Step, most: int) -> CallView | str:
    if step.kind == "thought":
        return step.text[:_THOUGHT]
    result = _pretty(step.result)
    return CallView(
        text=call_text(step.tool, step.arguments),
        kind=values.answered_by(step),
        notes=tuple(_notes(step)),
        arguments=_pretty(step.arguments)[:most],
        result=result[:most],
        left_out=max(0, len(result) - most),
    )


def _notes(step: Step) -> Iterator[str]:
    yield from (cut(printable(values.changed_row(change)), _CHANGE) for change in step.changed[:_CHANGES])
    if len(step.changed) > _CHANGES:
        yield f"{len(step.changed) - _CHANGES} more changed rows"
    if step.provenance is None:
        return
    if step.provenance.note:
        yield printable(step.provenance.note)
    yield from map(_difference, step.provenance.differences)
    if step.provenance.candidates > 1:
        yield f"{step.provenance.candidates} conflicting recordings"


def _difference(one: Difference) -> str:
    distance = "" if one.distance_m is None else f", {one.distance_m:.0f} m apart"
    score = "" if one.score is None else f", similarity {one.score:.2f}"
    asked, recorded = (cut(printable(_flat(value)), _VALUE) for value in (one.asked, one.recorded))
    note = f" ({printable(one.note)})" if one.note else ""
    return f"{one.parameter}: asked {asked}, recorded {recorded}{distance}{score}{note}"


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _flat(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _spent(turn: Turn) -> str:
    usage = turn.usage
    parts = [_tokens(usage.input_tokens, usage.output_tokens)]
    parts += [f"${usage.cost:.4f}"] if usage.cost is not None else []
    parts += [values.seconds_text(turn.timing.seconds)] if turn.timing is not None and turn.role == "agent" else []
    return " · ".join(filter(None, parts))


def _tokens(given: int | None, returned: int | None) -> str:
    parts = [f"{given:,} in"] if given is not None else []
    parts += [f"{returned:,} out"] if returned is not None else []
    return " / ".join(parts) + (" tokens" if parts else "")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
