"""What a judge is worth: its labels and scores held against labels of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

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
    JsonObject,
    JudgedFailure,
    Judging,
    Label,
    Mark,
    PeopleLabels,
    Requirement,
    Scorecard,
    Verdict,
    mark_value,
)
from pytest_mapsat.reports import cell_width, columns, cut, printable, wrap

Rightness = Literal["right", "wrong"]
#: Counts by group, by what is true, and by what the judge says.
Table = dict[str, Counter[tuple[Rightness, str]]]
_RIGHTNESS: tuple[Rightness, ...] = ("right", "wrong")
UNDECIDED = "undecided"
#: What a judge says: of a label in the first words, of an answer in the others.
_LABEL_WORDS = ("passed", "failed", UNDECIDED)
_ANSWER_WORDS = ("green", "red", UNDECIDED)
#: The metrics whose scores are compared, and how far two scores may lie apart (MapSatisfyBench, B.2).
SCORES = ("ecr", "iisr", "ar", "ifs")
TOLERANCES = (0.05, 0.02)
_DIGITS = 4
_ROUNDING = 1e-9
_NAME = 24
_CELL = 6
#: Requirements that are named with their open labels.
_MOST_REQUIREMENTS = 8


@dataclass(frozen=True)
class JudgedDialogue:
    """A dialogue as a judge labelled it, with what is true of it.

    Attributes:
        case: the case.
        card: the scorecard with the judge's labels.
        truth: what is true of requirements, by id; those that are not known are not compared.
        answer: the id of the labelled answer, if the dialogue is one.
        style: how that is written.
    """

    case: Case
    card: Scorecard
    truth: Mapping[str, Mark]
    answer: str = ""
    style: str = "none"

    @classmethod
    def of(cls, answer: PeopleLabels, case: Case, card: Scorecard) -> JudgedDialogue:
        """Return a labelled answer as it was judged."""
        return cls(case, card, answer.labels, answer.id, answer.style or "none")

    @cached_property
    def labels(self) -> tuple[tuple[Requirement, Mark, Label], ...]:
        """The requirements that are known, with what is true and what the judge says."""
        given = {label.requirement: label for label in self.card.labels}
        return tuple(
            (requirement, self.truth[requirement.id], given[requirement.id])
            for requirement in self.case.truth.requirements
            if requirement.id in self.truth and requirement.id in given
        )

    @property
    def kept(self) -> bool | None:
        """Whether all that the case requires is kept; None where that is not known."""
        marks = [self.truth.get(requirement.id) for requirement in self.case.truth.required]
        if any(mark is not None and mark_value(mark) == 0 for mark in marks):
            return False
        return None if None in marks or not marks else True

    @property
    def colour(self) -> str:
        """Green where every required label passes, red where one fails, else undecided."""
        values = {label.requirement: label.value for label in self.card.labels}
        required = [values.get(requirement.id) for requirement in self.case.truth.required]
        return "red" if 0 in required else UNDECIDED if None in required else "green"

    def score_of(self, labels: Sequence[Label]) -> Mapping[str, float | None]:
        """Return the scores that some labels give, over the requirements that are known alone."""
        truth = self.case.truth
        known = tuple(
            requirement
            for requirement in truth.requirements
            if requirement.id in self.truth or requirement.kind == "policy"
        )
        case = self.case.model_copy(update={"truth": truth.model_copy(update={"requirements": known})})
        verdict = Verdict(case=case.id, trial=self.card.trial, judge="", labels=tuple(labels))
        card = score(case, self.card.trajectory, verdict, asserted=frozenset())
        return {name: card.metrics.get(name) for name in SCORES}

    def true_labels(self) -> tuple[Label, ...]:
        """Return the labels that are true."""
        return tuple(
            label.model_copy(
                update={"value": mark_value(mark), "outcome": "passed" if mark_value(mark) else "failed", "blame": None}
            )
            for _, mark, label in self.labels
        )


def judging_of(dialogue: JudgedDialogue) -> Judging:
    """Return what the rules made of a labelled answer before any failure was called suspect, for the calibration.

    Args:
        dialogue: the answer; a required requirement without a label counts nowhere.
    """
    required = {requirement.id for requirement in dialogue.case.truth.required}
    labels = [(label, mark != "passed") for requirement, mark, label in dialogue.labels if requirement.id in required]
    undecided = [broken for label, broken in labels if label.value is None and not label.cell]
    return Judging(
        case=dialogue.case.id,
        answer=dialogue.answer,
        language=dialogue.case.language,
        right=not any(broken for _, broken in labels),
        failed=tuple(
            JudgedFailure(requirement=label.requirement, cell=label.cell, size=label.size, broken=broken)
            for label, broken in labels
            if label.cell and label.size
        ),
        sure=tuple(label.requirement for label, _ in labels if label.value == 0 and not label.cell),
        passed=sum(label.value == 1 and not broken for label, broken in labels),
        missed=tuple(label.requirement for label, broken in labels if label.value == 1 and broken),
        open=(undecided.count(False), undecided.count(True)),
    )


@dataclass(frozen=True)
class ListedLabel:
    """A label that the judge decided wrongly, or left undecided; ``exact``: by a check that reads no prose."""

    case: str
    answer: str
    requirement: str
    should: Mark
    said: str
    why: str
    exact: bool = False


@dataclass(frozen=True)
class AnswersProof:
    """All labelled answers of a suite, judged."""

    judged: tuple[JudgedDialogue, ...]

    @property
    def wrong(self) -> tuple[ListedLabel, ...]:
        """The labels that the judge decided wrongly, in the order of the answers and requirements."""
        return self._listed(_is_wrong)

    @property
    def undecided(self) -> tuple[ListedLabel, ...]:
        """The labels that the judge left undecided, in the same order."""
        return self._listed(lambda _, label: label.value is None)

    def _listed(self, wanted: Callable[[Mark, Label], bool]) -> tuple[ListedLabel, ...]:
        return tuple(
            ListedLabel(
                dialogue.case.id,
                dialogue.answer,
                requirement.id,
                mark,
                # Of a soft requirement in full: a level between.
                _outcome(label) if label.value in {None, 0.0, 1.0} else f"{label.value:g}",
                label.why,
                not label.reading,
            )
            for dialogue in self.judged
            for requirement, mark, label in dialogue.labels
            if wanted(mark, label)
        )

    def answers(self) -> dict[str, Table]:
        """Return how many answers, right and wrong ones, are green, red or undecided: all, by language, by style."""
        groups: dict[str, Callable[[JudgedDialogue], str]] = {
            "all": lambda _: "all",
            "language": lambda dialogue: dialogue.case.language,
            "style": lambda dialogue: dialogue.style,
        }
        return {
            name: _counted((group(dialogue), _rightness(dialogue.kept), dialogue.colour) for dialogue in self.judged)
            for name, group in groups.items()
        }

    def labels(self) -> dict[str, Table]:
        """Return how many labels, right (should pass) and wrong ones, passed, failed or are undecided: by kind of check, language, style.

        A check of several kinds counts for each of them.
        """
        groups: dict[str, Callable[[JudgedDialogue, Requirement], Iterable[str]]] = {
            "check": lambda _, requirement: check_kinds(requirement),
            "language": lambda dialogue, _: (dialogue.case.language,),
            "style": lambda dialogue, _: (dialogue.style,),
        }
        return {
            name: _counted(
                (member, _rightness(mark_value(mark) > 0), _outcome(label))
                for dialogue in self.judged
                for requirement, mark, label in dialogue.labels
                for member in group(dialogue, requirement)
            )
            for name, group in groups.items()
        }

    def to_json(self) -> JsonObject:
        """Return all counts, what each answer is and is taken for, and the labels that are wrong or undecided, as JSON data."""
        return {
            "answers": {name: _json(table, _ANSWER_WORDS) for name, table in self.answers().items()},
            "labels": {name: _json(table, _LABEL_WORDS) for name, table in self.labels().items()},
            "each": [
                {
                    "case": dialogue.case.id,
                    "answer": dialogue.answer,
                    "is": _rightness(dialogue.kept),
                    "judged": dialogue.colour,
                }
                for dialogue in self.judged
            ],
            "wrong": [asdict(label) for label in self.wrong],
            "undecided": [asdict(label) for label in self.undecided],
        }


def check_kinds(requirement: Requirement) -> tuple[str, ...]:
    """Return the kinds of checks that a requirement's check is made of, combinations apart; ``no check`` where it needs another judge."""
    if not requirement.leaves:
        return ("grounded",) if requirement.kind == "fact" else ("no check",)
    return tuple(sorted({leaf.kind for leaf in requirement.leaves}))


def answer_table(proof: AnswersProof) -> Iterator[str]:
    """Yield the lines of the report: tables of 80 columns, and text as wide as the terminal."""
    if not proof.judged:
        yield "answers: the suite has none (docs/how-to/label-by-hand.md says how to write them)"
        return
    for name, table in proof.answers().items():
        if {*table} == {"none"}:  # no answer has that attribute
            continue
        yield from _rows(f"answers: {name}", table, _ANSWER_WORDS)
    for name, table in proof.labels().items():
        yield from _rows(f"labels: {name}", table, _LABEL_WORDS)
    open_by_requirement = Counter(label.requirement for label in proof.undecided)
    if open_by_requirement:
        shown = [f"{requirement} {count}" for requirement, count in open_by_requirement.most_common(_MOST_REQUIREMENTS)]
        more = len(open_by_requirement) - len(shown)
        yield from wrap(f"open: {', '.join(shown)}{f', and {more} more' if more > 0 else ''}", columns(), hang=2)
        yield ""
    for label in proof.wrong:
        should = f"{label.requirement}: {label.said}, should be {label.should}: {printable(label.why)}"
        yield from wrap(f"wrong: case {label.case}, answer {label.answer}, {should}", columns(), hang=2)
    total = sum(len(dialogue.labels) for dialogue in proof.judged)
    open_, wrong = len(proof.undecided), len(proof.wrong)
    named = f"; --json names the {open_} undecided" if open_ else ""
    yield f"{len(proof.judged)} answers; {total - open_} of {total} labels decided, {wrong} of them wrongly{named}"


def _rightness(kept: bool | None) -> Rightness:
    return "right" if kept else "wrong"


def _counted(counted: Iterable[tuple[str, Rightness, str]]) -> Table:
    table: Table = {}
    for name, truth, outcome in counted:
        table.setdefault(name, Counter())[truth, outcome] += 1
    return dict(sorted(table.items()))


def _is_wrong(mark: Mark, label: Label) -> bool:
    if label.value is None:
        return False
    return (label.value > 0) != (mark_value(mark) > 0) if isinstance(mark, str) else label.value != mark


def _outcome(label: Label) -> str:
    return UNDECIDED if label.value is None else "passed" if label.value > 0 else "failed"


def _json(table: Table, words: Iterable[str]) -> JsonObject:
    return {
        name: {truth: {word: counts[truth, word] for word in words} for truth in _RIGHTNESS}
        for name, counts in table.items()
    }


def _rows(title: str, table: Table, words: tuple[str, ...]) -> Iterator[str]:
    heads = ["open" if word == UNDECIDED else word for word in words]  # it is too long for its column
    yield _row(title, [head for truth in _RIGHTNESS for head in (truth, *heads)])
    for name, counts in table.items():
        numbers = [[counts[truth, word] for word in words] for truth in _RIGHTNESS]
        yield _row(f"  {name}", [str(number or "-") for row in numbers for number in (sum(row), *row)])
    yield ""


def _row(name: str, cells: Iterable[str]) -> str:
    name = name[: len(name) - len(name.lstrip())] + printable(name)
    name = cut(name, _NAME - 1)
    return name + " " * (_NAME - cell_width(name)) + "".join(f" {cell:>{_CELL}}" for cell in cells)


@dataclass(frozen=True)
class Pair:
    """What is true of one label, and what the judge says of it: passed, failed, a level, or undecided."""

    dialogue: int
    truth: str
    said: str

    @classmethod
    def of(cls, dialogue: int, mark: Mark, label: Label) -> Pair:
        """Return the pair; of a requirement that is marked passed or failed any level above 0 counts as passed."""
        if isinstance(mark, str):
            return cls(dialogue, mark, _outcome(label))
        return cls(dialogue, f"{mark:g}", UNDECIDED if label.value is None else f"{label.value:g}")


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
        truths = sorted({pair.truth for pair in self.pairs})
        return {truth: Counter(pair.said for pair in self.pairs if pair.truth == truth) for truth in truths}

    @cached_property
    def _tables(self) -> list[list[list[int]]]:
        """A table of counts for each dialogue with a decided label."""
        names = sorted({name for pair in self.decided for name in (pair.truth, pair.said)})
        counts = Counter(self.decided)
        dialogues = sorted({pair.dialogue for pair in self.decided})
        return [[[counts[Pair(dialogue, truth, said)] for said in names] for truth in names] for dialogue in dialogues]

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
        return {
            "labels": len(self.pairs),
            "decided": len(self.decided),
            "agreed": self.agreed,
            "agreement": _share(self.agreed, len(self.decided), len(self._tables)),
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

    held: tuple[JudgedDialogue, ...]
    left_out: int = 0

    def groups(self) -> dict[str, dict[str, Group]]:
        """Return the labels in groups: all, by kind, by kind of check, by language, and by who decided them."""
        pairs: dict[str, dict[str, list[Pair]]] = {name: {} for name in ("all", "kind", "check", "language", "by")}
        for number, dialogue in enumerate(self.held):
            for requirement, mark, label in dialogue.labels:
                pair = Pair.of(number, mark, label)
                kinds = check_kinds(requirement)
                members = (("all",), (label.kind,), kinds, (dialogue.case.language,), (label.by,))
                for groups, names in zip(pairs.values(), members, strict=True):
                    for name in names:
                        groups.setdefault(name, []).append(pair)
        return {
            grouping: {name: Group(tuple(listed)) for name, listed in sorted(groups.items())}
            for grouping, groups in pairs.items()
        }

    def answers(self) -> dict[str, Counter[str]]:
        """Return what the judge makes of dialogues that keep all that is required (right), and of those that do not (wrong)."""
        known = [held for held in self.held if held.kept is not None]
        return {truth: Counter(held.colour for held in known if _rightness(held.kept) == truth) for truth in _RIGHTNESS}

    def scores(self) -> dict[str, JsonObject]:
        """Return for each metric how far its score lies from the one that true labels give (MapSatisfyBench, B.2)."""
        pairs: dict[str, list[tuple[str, float, float]]] = {name: [] for name in SCORES}
        open_ = Counter[str]()
        for held in self.held:
            true, judged = held.score_of(held.true_labels()), held.score_of(held.card.labels)
            for name in SCORES:
                right, given = true[name], judged[name]
                if right is not None and given is not None:
                    pairs[name].append((held.case.id, right, given))
                elif right is not None:
                    open_[name] += 1
        return {name: _deviation(listed, open_[name]) for name, listed in pairs.items()}

    @property
    def votes(self) -> float | None:
        """How often two votes on one label say the same, on average; None where there was one vote."""
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
                name: {group: listed.to_json() for group, listed in groups.items()}
                for name, groups in self.groups().items()
            },
            "scores": self.scores(),
            "votes": None if self.votes is None else round(self.votes, _DIGITS),
        }


def _colours(counts: Counter[str]) -> JsonObject:
    total = counts.total()
    shares = {colour: {"n": counts[colour], **_share(counts[colour], total, total)} for colour in _ANSWER_WORDS}
    return {"n": total, **shares}


def _deviation(pairs: Sequence[tuple[str, float, float]], undecided: int) -> JsonObject:
    """Return the shares of scores within the tolerances and the mean absolute error, with intervals."""
    errors = [abs(true - judged) for _, true, judged in pairs]
    deviation: JsonObject = {"n": len(pairs), "undecided": undecided}
    for tolerance in TOLERANCES:
        within = sum(error <= tolerance + _ROUNDING for error in errors)
        deviation[f"within_{tolerance:g}"] = _share(within, len(errors), len(errors))
    mean = sum(errors) / len(errors) if errors else None
    # Several answers to one case are alike.
    drawn = clustered(errors, [case for case, _, _ in pairs]) if errors else []
    deviation["mean_absolute_error"] = _figure(mean, bootstrap_interval(drawn) if len(drawn) > 1 else None)
    return deviation


def _share(part: int, whole: int, sample: int) -> JsonObject:
    """Return the figure of a share, with the interval that a sample of so many gives it."""
    share = part / whole if whole else None
    return _figure(share, None if share is None else wilson_interval(share, sample))


def _figure(value: float | None, interval: tuple[float, float] | None) -> JsonObject:
    ends = zip(("value", "low", "high"), (value, *(interval or (None, None))), strict=True)
    return {name: None if end is None else round(end, _DIGITS) for name, end in ends}


def agreement_table(agreement: Agreement) -> Iterator[str]:
    """Yield the lines of the report, at most 80 columns wide."""
    data = agreement.to_json()
    yield f"{data['dialogues']} dialogues held against what is true of them" + (
        f"; {agreement.left_out} more of the run are not labelled" if agreement.left_out else ""
    )
    yield ""
    yield f"{'answers':<24}{'n':>6}{'green':>16}{'red':>16}{'undecided':>16}"
    for truth, row in data["answers"].items():
        cells = "".join(f"{_count(row[colour], row['n']):>16}" for colour in _ANSWER_WORDS)
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
        yield f"  {truth:<22}" + ", ".join(f"{outcome} {count}" for outcome, count in counts.items())
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
