"""How good a judge is: its labels, and the scores that follow from them, held against labels that are known to be true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pytest_mapsat.metrics import (
    bootstrap_interval,
    clustered,
    cohen_kappa,
    kappa_interval,
    score,
    votes_agree,
    wilson_interval,
)
from pytest_mapsat.model import (
    Case,
    Factor,
    Json,
    JsonObject,
    Label,
    Mark,
    Scorecard,
    Truth,
    Verdict,
    mark_value,
)
from pytest_mapsat.reports import cut, printable
from pytest_mapsat.sandbox import satisfies

from .answers import check_kinds

#: The metrics whose scores are compared, and how far two scores may lie apart (MapSatisfyBench, B.2).
SCORES = ("ecr", "iisr", "ar", "ifs")
TOLERANCES = (0.05, 0.02)
UNDECIDED = "undecided"
_DIGITS = 4
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Held:
    """A dialogue as a judge labelled it, with what is true of it.

    Attributes:
        case: the case.
        card: the scorecard with the judge's labels.
        truth: what is true of factors, by id; those that are not known are not compared.
    """

    case: Case
    card: Scorecard
    truth: Mapping[str, Mark]

    @cached_property
    def labels(self) -> tuple[tuple[Factor, Mark, Label], ...]:
        """The factors that are known, with what is true and what the judge says."""
        said = {label.factor: label for label in self.card.labels}
        return tuple(
            (factor, self.truth[factor.id], said[factor.id])
            for factor in self.case.truth.factors
            if factor.id in self.truth and factor.id in said
        )

    @property
    def kept(self) -> bool | None:
        """Whether all that the case requires is kept; None where that is not known."""
        marks = [self.truth.get(factor.id) for factor in self.case.truth.required]
        if any(mark is not None and mark_value(mark) == 0 for mark in marks):
            return False
        return None if None in marks or not marks else True

    @property
    def colour(self) -> str:
        """What the labels of all that the case requires make of it: green, red or undecided."""
        values = {label.factor: label.value for label in self.card.labels}
        required = [values.get(factor.id) for factor in self.case.truth.required]
        return "red" if 0 in required else UNDECIDED if None in required else "green"

    def score_of(self, labels: Sequence[Label]) -> Mapping[str, float | None]:
        """Return the scores that some labels give, over the factors that are known alone."""
        truth = self.case.truth
        known: dict[str, object] = {
            name: tuple(factor for factor in getattr(truth, name) if factor.id in self.truth)
            for name in Truth.model_fields
            if name in ("explicit", "implicit", "facts")
        }
        case = self.case.model_copy(update={"truth": truth.model_copy(update=known)})
        verdict = Verdict(case=case.id, trial=self.card.trial, judge="", labels=tuple(labels))
        card = score(case, self.card.trajectory, verdict, asserted=frozenset(), satisfies=satisfies)
        return {name: card.metrics.get(name) for name in SCORES}

    def true_labels(self) -> tuple[Label, ...]:
        """Return the labels that are true."""
        return tuple(
            label.model_copy(
                update={"value": mark_value(mark), "outcome": "passed" if mark_value(mark) else "failed", "blame": None}
            )
            for _, mark, label in self.labels
        )


class _Known(NamedTuple):
    """A label by what it is grouped by."""

    factor: Factor
    label: Label
    language: str


@dataclass(frozen=True)
class Pair:
    """What is true of one label, and what the judge says of it: passed, failed, a level, or undecided."""

    dialogue: int
    truth: str
    said: str

    @classmethod
    def of(cls, dialogue: int, mark: Mark, label: Label) -> Pair:
        """Return the pair; of a factor that is marked passed or failed any level above 0 counts as passed."""
        if label.value is None:
            said = UNDECIDED
        elif isinstance(mark, str):
            said = "passed" if label.value > 0 else "failed"
        else:
            said = f"{label.value:g}"
        return cls(dialogue, mark if isinstance(mark, str) else f"{mark:g}", said)


@dataclass(frozen=True)
class Group:
    """How the labels of a group agree."""

    pairs: tuple[Pair, ...]

    @property
    def decided(self) -> tuple[Pair, ...]:
        """Those that the judge decided."""
        return tuple(pair for pair in self.pairs if pair.said != UNDECIDED)

    @property
    def agreed(self) -> int:
        """How many of them it decided as is true."""
        return sum(pair.truth == pair.said for pair in self.decided)

    @property
    def confusion(self) -> dict[str, Counter[str]]:
        """What was said, by what is true."""
        found: dict[str, Counter[str]] = {}
        for pair in self.pairs:
            found.setdefault(pair.truth, Counter())[pair.said] += 1
        return dict(sorted(found.items()))

    @cached_property
    def _tables(self) -> list[list[list[int]]]:
        """A table of counts for each dialogue with a decided label."""
        names = sorted({name for pair in self.decided for name in (pair.truth, pair.said)})
        place = {name: number for number, name in enumerate(names)}
        tables = {pair.dialogue: [[0] * len(names) for _ in names] for pair in self.decided}
        for pair in self.decided:
            tables[pair.dialogue][place[pair.truth]][place[pair.said]] += 1
        return [tables[dialogue] for dialogue in sorted(tables)]

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of the decided labels."""
        tables = self._tables
        if not tables:
            return None
        size = range(len(tables[0]))
        return cohen_kappa([[sum(table[row][column] for table in tables) for column in size] for row in size])

    def to_json(self) -> JsonObject:
        """Return the figures; intervals hold at 95 %, dialogues counting as the sample."""
        decided, dialogues = len(self.decided), len(self._tables)
        share = self.agreed / decided if decided else None
        return {
            "labels": len(self.pairs),
            "decided": decided,
            "agreed": self.agreed,
            "agreement": _figure(share, None if share is None else wilson_interval(share, dialogues)),
            "kappa": _figure(self.kappa, None if self.kappa is None else kappa_interval(self._tables)),
            "confusion": {truth: dict(sorted(counts.items())) for truth, counts in self.confusion.items()},
        }


@dataclass(frozen=True)
class Agreement:
    """A judge held against what is true.

    Attributes:
        held: the dialogues.
        left_out: dialogues of the run that nothing is known of.
    """

    held: tuple[Held, ...]
    left_out: int = 0

    def groups(self) -> dict[str, dict[str, Group]]:
        """Return the labels in groups: all, by kind, by kind of check, by language, and by who decided them."""
        return {
            "all": self._grouped(lambda _: ("all",)),
            "kind": self._grouped(lambda one: (one.label.kind,)),
            "check": self._grouped(lambda one: check_kinds(one.factor)),
            "language": self._grouped(lambda one: (one.language,)),
            "by": self._grouped(lambda one: (one.label.by,)),
        }

    def _grouped(self, names: Callable[[_Known], Iterable[str]]) -> dict[str, Group]:
        found: dict[str, list[Pair]] = {}
        for number, held in enumerate(self.held):
            for factor, mark, label in held.labels:
                for name in names(_Known(factor, label, held.case.language)):
                    found.setdefault(name, []).append(Pair.of(number, mark, label))
        return {name: Group(tuple(pairs)) for name, pairs in sorted(found.items())}

    def answers(self) -> dict[str, Counter[str]]:
        """Return what the judge makes of dialogues that keep all that is required (right), and of those that do not (wrong)."""
        found: dict[str, Counter[str]] = {"right": Counter(), "wrong": Counter()}
        for held in self.held:
            if held.kept is not None:
                found["right" if held.kept else "wrong"][held.colour] += 1
        return found

    def scores(self) -> dict[str, JsonObject]:
        """Return for each metric how far its score lies from the one that true labels give (MapSatisfyBench, B.2)."""
        pairs: dict[str, list[tuple[str, float, float]]] = {name: [] for name in SCORES}
        open_ = Counter[str]()
        for held in self.held:
            true, said = held.score_of(held.true_labels()), held.score_of(held.card.labels)
            for name in SCORES:
                one, other = true[name], said[name]
                if one is not None and other is not None:
                    pairs[name].append((held.case.id, one, other))
                elif one is not None:
                    open_[name] += 1
        return {name: _deviation(listed, open_[name]) for name, listed in pairs.items()}

    @property
    def votes(self) -> float | None:
        """How often two votes on one label say the same, on average; None where nobody voted twice."""
        shares = [
            share for held in self.held for label in held.card.labels if (share := votes_agree(label.votes)) is not None
        ]
        return sum(shares) / len(shares) if shares else None

    def to_json(self) -> JsonObject:
        """Return all figures as JSON data."""
        return {
            "dialogues": len(self.held),
            "left_out": self.left_out,
            "answers": {truth: _colours(counts) for truth, counts in self.answers().items()},
            "labels": {
                name: {group: found.to_json() for group, found in groups.items()}
                for name, groups in self.groups().items()
            },
            "scores": self.scores(),
            "votes": None if self.votes is None else round(self.votes, _DIGITS),
        }


def _colours(counts: Counter[str]) -> JsonObject:
    total = sum(counts.values())
    shares = {
        colour: {
            "n": counts[colour],
            **_figure(
                counts[colour] / total if total else None,
                wilson_interval(counts[colour] / total, total) if total else None,
            ),
        }
        for colour in ("green", "red", UNDECIDED)
    }
    return {"n": total, **shares}


def _deviation(pairs: Sequence[tuple[str, float, float]], undecided: int) -> JsonObject:
    """Return the shares of scores within the tolerances and the mean absolute error, with intervals."""
    errors = [abs(one - other) for _, one, other in pairs]
    found: JsonObject = {"n": len(pairs), "undecided": undecided}
    for tolerance in TOLERANCES:
        share = sum(error <= tolerance + _ROUNDING for error in errors) / len(errors) if errors else None
        found[f"within_{tolerance:g}"] = _figure(share, None if share is None else wilson_interval(share, len(errors)))
    mean = sum(errors) / len(errors) if errors else None
    # Several answers to one case are alike.
    drawn = clustered(errors, [case for case, _, _ in pairs]) if errors else []
    found["mean_absolute_error"] = _figure(mean, bootstrap_interval(drawn) if len(drawn) > 1 else None)
    return found


def _figure(value: float | None, interval: tuple[float, float] | None) -> JsonObject:
    low, high = interval or (None, None)
    return {"value": _rounded(value), "low": _rounded(low), "high": _rounded(high)}


def _rounded(value: float | None) -> Json:
    return None if value is None else round(value, _DIGITS)


def agreement_table(agreement: Agreement) -> Iterator[str]:
    """Yield the lines of the report, at most 80 columns wide."""
    data = agreement.to_json()
    yield f"{data['dialogues']} dialogues held against what is true of them" + (
        f"; {agreement.left_out} more of the run are not labelled" if agreement.left_out else ""
    )
    yield ""
    yield f"{'answers':<24}{'n':>6}{'green':>16}{'red':>16}{'undecided':>16}"
    for truth, row in data["answers"].items():
        cells = "".join(f"{_count(row[colour], row['n']):>16}" for colour in ("green", "red", UNDECIDED))
        yield f"  {truth:<22}{row['n']:>6}{cells}"
    for name, groups in data["labels"].items():
        yield ""
        yield f"{'labels: ' + name:<20}{'n':>6}{'decided':>9}{'wrong':>6}{'agreement':>19}{'kappa':>19}"
        for group, row in groups.items():
            wrong = row["decided"] - row["agreed"]
            shown = f"{_shown(row['agreement']):>19}{_shown(row['kappa']):>19}"
            yield f"  {cut(printable(group), 17):<18}{row['labels']:>6}{row['decided']:>9}{wrong:>6}{shown}"
    yield ""
    yield f"{'confusion':<24}{'said':>6}"
    for truth, counts in data["labels"]["all"].get("all", {"confusion": {}})["confusion"].items():
        yield f"  {truth:<22}" + ", ".join(f"{said} {count}" for said, count in counts.items())
    yield ""
    yield f"{'scores':<10}{'n':>5}{'open':>6}{'within 0.05':>19}{'within 0.02':>19}{'mean abs. error':>20}"
    for name, row in data["scores"].items():
        cells = (
            f"{_shown(row['within_0.05']):>19}{_shown(row['within_0.02']):>19}{_shown(row['mean_absolute_error']):>20}"
        )
        yield f"  {name:<8}{row['n']:>5}{row['undecided']:>6}{cells}"
    if data["votes"] is not None:
        yield ""
        yield f"two votes on one label say the same in {data['votes']:.1%} of all pairs"


def _count(cell: JsonObject, total: int) -> str:
    return "-" if not total else f"{cell['n']} ({cell['value']:.1%})"


def _shown(figure: JsonObject) -> str:
    if figure["value"] is None:
        return "-"
    if figure["low"] is None:
        return f"{figure['value']:.3f}"
    return f"{figure['value']:.3f} [{figure['low']:.2f},{figure['high']:.2f}]"
