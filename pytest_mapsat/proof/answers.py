"""What a judge makes of labelled answers: how often it is right, wrong, or leaves open what a person decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.model import (
    Case,
    Check,
    Factor,
    FactRequirement,
    ImplicitFactor,
    JsonObject,
    JudgedFailure,
    Judging,
    Label,
    LabelledAnswer,
    Mark,
    Scorecard,
    leaves,
)
from pytest_mapsat.reports import cell_width, columns, cut, printable, wrap

Truth = Literal["right", "wrong"]
_TRUTHS: tuple[Truth, ...] = ("right", "wrong")
#: What a judge says: of a label in the first words, of an answer in the others.
_LABEL_WORDS = ("passed", "failed", "undecided")
_ANSWER_WORDS = ("green", "red", "undecided")
_NAME = 24
_CELL = 6
#: Factors that are named with their open labels.
_MOST_FACTORS = 8


@dataclass(frozen=True)
class JudgedAnswer:
    """A labelled answer with the case and the scorecard that it got."""

    answer: LabelledAnswer
    case: Case
    card: Scorecard

    @property
    def truth(self) -> Truth:
        """Whether the answer keeps all that its case requires."""
        kept = all(self.answer.labels[factor.id] == "passed" for factor in self.case.truth.required)
        return "right" if kept else "wrong"

    @property
    def colour(self) -> str:
        """What the judge makes of the answer: green, red or undecided."""
        return {"passed": "green", "failed": "red"}.get(self.card.outcome, "undecided")

    @property
    def labels(self) -> Iterator[tuple[Factor, Mark, Label]]:
        """The labelled factors, each with what is true of it and what the judge says."""
        said = {label.factor: label for label in self.card.labels}
        for factor in self.case.truth.factors:
            if factor.id in self.answer.labels:
                yield factor, self.answer.labels[factor.id], said[factor.id]


def judging_of(answer: LabelledAnswer, case: Case, card: Scorecard) -> Judging:
    """Return what the rules made of an answer before any failure was called suspect, for the calibration.

    Args:
        answer: the answer; a required factor without a label counts nowhere.
        case: its case.
        card: what the checks made of it.
    """
    given = {label.factor: label for label in card.labels}
    required = [
        (given[factor.id], answer.labels[factor.id] != "passed")
        for factor in case.truth.required
        if factor.id in answer.labels
    ]
    undecided = [broken for label, broken in required if label.value is None and not label.cell]
    return Judging(
        case=case.id,
        answer=answer.id,
        language=case.language,
        right=not any(broken for _, broken in required),
        failed=tuple(
            JudgedFailure(factor=label.factor, cell=label.cell, size=label.size, broken=broken)
            for label, broken in required
            if label.cell and label.size
        ),
        sure=tuple(label.factor for label, _ in required if label.value == 0 and not label.cell),
        passed=sum(label.value == 1 and not broken for label, broken in required),
        missed=tuple(label.factor for label, broken in required if label.value == 1 and broken),
        open=(undecided.count(False), undecided.count(True)),
    )


@dataclass(frozen=True)
class ListedLabel:
    """A label that the judge decided wrongly, or left undecided; ``exact``: by a check that reads no prose."""

    case: str
    answer: str
    factor: str
    should: Mark
    said: str
    why: str
    exact: bool = False

    def to_json(self) -> JsonObject:
        """Return the label as JSON data."""
        return dict(vars(self))


@dataclass(frozen=True)
class AnswersProof:
    """All labelled answers of a suite, judged."""

    judged: tuple[JudgedAnswer, ...]

    @property
    def wrong(self) -> tuple[ListedLabel, ...]:
        """The labels that the judge decided wrongly, in the order of the answers and factors."""
        return self._listed(_is_wrong)

    @property
    def undecided(self) -> tuple[ListedLabel, ...]:
        """The labels that the judge left undecided, in the same order."""
        return self._listed(lambda _, label: label.value is None)

    def _listed(self, wanted: Callable[[Mark, Label], bool]) -> tuple[ListedLabel, ...]:
        return tuple(
            ListedLabel(one.case.id, one.answer.id, factor.id, mark, _said(label), label.why, not label.reading)
            for one in self.judged
            for factor, mark, label in one.labels
            if wanted(mark, label)
        )

    def answers(self, group: Callable[[JudgedAnswer], str]) -> dict[str, Counter[tuple[Truth, str]]]:
        """Return how many answers of each group, right and wrong ones, are green, red or undecided."""
        return _counted((group(one), one.truth, one.colour) for one in self.judged)

    def labels(self, groups: Callable[[JudgedAnswer, Factor], Iterable[str]]) -> dict[str, Counter[tuple[Truth, str]]]:
        """Return how many labels of each group, right (should pass) and wrong ones, passed, failed or are undecided."""
        return _counted(
            (name, "right" if _holds(mark) else "wrong", _outcome(label))
            for one in self.judged
            for factor, mark, label in one.labels
            for name in groups(one, factor)
        )

    def to_json(self) -> JsonObject:
        """Return all counts, what each answer is and is taken for, and the labels that are wrong or undecided, as JSON data."""
        return {
            "answers": {name: _json(table, _ANSWER_WORDS) for name, table in _answer_tables(self)},
            "labels": {name: _json(table, _LABEL_WORDS) for name, table in _label_tables(self)},
            "each": [
                {"case": one.case.id, "answer": one.answer.id, "is": one.truth, "judged": one.colour}
                for one in self.judged
            ],
            "wrong": [label.to_json() for label in self.wrong],
            "undecided": [label.to_json() for label in self.undecided],
        }


def check_kinds(factor: Factor) -> tuple[str, ...]:
    """Return the kinds of checks that a factor's check is made of, combinations apart; ``no check`` where it needs another judge."""
    checks: list[Check] = [factor.check] if factor.check is not None else []
    if isinstance(factor, ImplicitFactor):
        checks += [rule.check for rule in factor.levels]
    if not checks:
        return ("grounded",) if isinstance(factor, FactRequirement) else ("no check",)
    return tuple(sorted({leaf.kind for check in checks for leaf in leaves(check)}))


def answer_table(proof: AnswersProof) -> Iterator[str]:
    """Yield the lines of the report: tables of 80 columns, and text as wide as the terminal."""
    if not proof.judged:
        yield "answers: the suite has none (docs/answers.md says how to write them)"
        return
    for number, (name, table) in enumerate(_answer_tables(proof)):
        yield from _rows(f"answers: {name}", table, _ANSWER_WORDS, blank=bool(number))
    for name, table in _label_tables(proof):
        yield from _rows(f"labels: {name}", table, _LABEL_WORDS, blank=True)
    open_by_factor = Counter(label.factor for label in proof.undecided)
    if open_by_factor:
        shown = [f"{factor} {count}" for factor, count in open_by_factor.most_common(_MOST_FACTORS)]
        more = len(open_by_factor) - len(shown)
        yield ""
        yield from wrap(f"open: {', '.join(shown)}{f', and {more} more' if more > 0 else ''}", columns(), hang=2)
    yield ""
    for label in proof.wrong:
        said = f"{label.factor}: {label.said}, should be {label.should}: {printable(label.why)}"
        yield from wrap(f"wrong: case {label.case}, answer {label.answer}, {said}", columns(), hang=2)
    total = sum(1 for one in proof.judged for _ in one.labels)
    open_ = len(proof.undecided)
    named = f"; --json names the {open_} undecided" if open_ else ""
    wrong = len(proof.wrong)
    yield f"{len(proof.judged)} answers; {total - open_} of {total} labels decided, {wrong} of them wrongly{named}"


def _answer_tables(proof: AnswersProof) -> Iterator[tuple[str, Mapping[str, Counter[tuple[Truth, str]]]]]:
    yield "all", proof.answers(lambda _: "all")
    yield "language", proof.answers(lambda one: one.case.language)
    yield "style", proof.answers(_style)


def _label_tables(proof: AnswersProof) -> Iterator[tuple[str, Mapping[str, Counter[tuple[Truth, str]]]]]:
    # A check of several kinds counts for each of them.
    yield "check", proof.labels(lambda _, factor: check_kinds(factor))
    yield "language", proof.labels(lambda one, _: (one.case.language,))
    yield "style", proof.labels(lambda one, _: (_style(one),))


def _style(one: JudgedAnswer) -> str:
    return one.answer.style or "none"


def _counted(found: Iterable[tuple[str, Truth, str]]) -> dict[str, Counter[tuple[Truth, str]]]:
    table: dict[str, Counter[tuple[Truth, str]]] = {}
    for name, truth, said in found:
        table.setdefault(name, Counter())[truth, said] += 1
    return dict(sorted(table.items()))


def _holds(mark: Mark) -> bool:
    return mark == "passed" or (not isinstance(mark, str) and mark > 0)


def _is_wrong(mark: Mark, label: Label) -> bool:
    if label.value is None:
        return False
    return (label.value > 0) != _holds(mark) if isinstance(mark, str) else label.value != mark


def _outcome(label: Label) -> str:
    return "undecided" if label.value is None else "passed" if label.value > 0 else "failed"


def _said(label: Label) -> str:
    """Return what the judge says of a soft factor in full: a level between."""
    return _outcome(label) if label.value in {None, 0.0, 1.0} else f"{label.value:g}"


def _json(table: Mapping[str, Counter[tuple[Truth, str]]], words: Iterable[str]) -> JsonObject:
    return {
        name: {truth: {word: counts[truth, word] for word in words} for truth in _TRUTHS}
        for name, counts in table.items()
    }


def _rows(
    title: str, table: Mapping[str, Counter[tuple[Truth, str]]], words: tuple[str, ...], *, blank: bool
) -> Iterator[str]:
    if blank:
        yield ""
    heads = ["open" if word == "undecided" else word for word in words]  # it is too long for its column
    yield _row(title, [head for truth in _TRUTHS for head in (truth, *heads)])
    for name, counts in table.items():
        cells: list[str] = []
        for truth in _TRUTHS:
            numbers = [counts[truth, word] for word in words]
            cells += [str(sum(numbers) or "-"), *(str(number or "-") for number in numbers)]
        yield _row(f"  {name}", cells)


def _row(name: str, cells: Iterable[str]) -> str:
    name = name[: len(name) - len(name.lstrip())] + printable(name)
    name = cut(name, _NAME - 1)
    return name + " " * (_NAME - cell_width(name)) + "".join(f" {cell:>{_CELL}}" for cell in cells)
