"""The quality of a judge: its labels and scores compared with labels of people, and the certificate of its rates."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pytest_mapsat.formats import limits, parse_yaml, read_bytes, replacing, shown_path, validate
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
    SOFT_LEVELS,
    Case,
    JsonObject,
    JudgeCertificate,
    JudgedFailure,
    JudgeRate,
    Judging,
    Label,
    Mark,
    PeopleLabels,
    Problem,
    Requirement,
    Run,
    RunManifest,
    Scorecard,
    SuiteError,
    UsageError,
    Verdict,
    digest,
    mark_value,
)
from pytest_mapsat.reports import columns, cut, printable, wrap
from pytest_mapsat.suite import Suite

Rightness = Literal["right", "wrong"]
_RIGHTNESS: tuple[Rightness, ...] = ("right", "wrong")
UNDECIDED = "undecided"
#: What a judge says of an answer.
_ANSWER_WORDS = ("green", "red", UNDECIDED)
#: The metrics whose scores are compared, and how far two scores may lie apart (MapSatisfyBench, B.2).
SCORES = ("ecr", "iisr", "ar", "ifs")
TOLERANCES = (0.05, 0.02)
_DIGITS = 4
_ROUNDING = 1e-9
#: Requirements that are named with their open labels.
_MOST_REQUIREMENTS = 8


@dataclass(frozen=True)
class MeasuredDialogue:
    """A dialogue with a judge's labels and the true labels.

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
    def of(cls, answer: PeopleLabels, case: Case, card: Scorecard) -> MeasuredDialogue:
        """Return a labelled answer with its case and scorecard."""
        return cls(case, card, answer.labels, answer.id, answer.style or "none")

    @cached_property
    def labels(self) -> tuple[tuple[Requirement, Mark, Label], ...]:
        """The requirements with a known truth, each with its true mark and the judge's label."""
        given = {label.requirement: label for label in self.card.labels}
        every = self.case.truth.requirements
        known = (each for each in every if each.id in self.truth and each.id in given)
        return tuple((each, self.truth[each.id], given[each.id]) for each in known)

    @property
    def kept(self) -> bool | None:
        """Whether the answer meets every requirement of the case according to the true marks; None if this is unknown."""
        marks = [self.truth.get(requirement.id) for requirement in self.case.truth.required]
        if any(mark is not None and mark_value(mark) == 0 for mark in marks):
            return False
        return None if None in marks or not marks else True

    @property
    def colour(self) -> str:
        """The judge's verdict: green if every required label passes, red if one fails, otherwise undecided."""
        values = {label.requirement: label.value for label in self.card.labels}
        required = [values.get(requirement.id) for requirement in self.case.truth.required]
        return "red" if 0 in required else UNDECIDED if None in required else "green"

    def score_of(self, labels: Sequence[Label]) -> Mapping[str, float | None]:
        """Return the metric scores from some labels, counting only requirements with a known truth (and policies)."""
        truth = self.case.truth
        every = truth.requirements
        known = tuple(wanted for wanted in every if wanted.id in self.truth or wanted.kind == "policy")
        case = self.case.model_copy(update={"truth": truth.model_copy(update={"requirements": known})})
        verdict = Verdict(case=case.id, trial=self.card.trial, judge="", labels=tuple(labels))
        card = score(case, self.card.trajectory, verdict, asserted=frozenset())
        return {name: card.metrics.get(name) for name in SCORES}

    def true_labels(self) -> tuple[Label, ...]:
        """Return the judge's labels with values and outcomes set to the truth."""
        labels = []
        for _, mark, label in self.labels:
            outcome = "passed" if mark_value(mark) else "failed"
            labels.append(label.model_copy(update={"value": mark_value(mark), "outcome": outcome, "blame": None}))
        return tuple(labels)


def judging_of(dialogue: MeasuredDialogue) -> Judging:
    """Return the checks' labels of a labelled answer, split by right and wrong, as input to the calibration.

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
    """A label that the judge got wrong or left undecided; ``exact``: whether its check reads no prose."""

    case: str
    answer: str
    requirement: str
    should: Mark
    said: str
    why: str
    exact: bool = False


def check_kinds(requirement: Requirement) -> tuple[str, ...]:
    """Return the kinds of checks in a requirement, without combinations; ``no check`` if there are none."""
    if not requirement.leaves:
        return ("grounded",) if requirement.kind == "fact" else ("no check",)
    return tuple(sorted({leaf.kind for leaf in requirement.leaves}))


def _rightness(kept: bool | None) -> Rightness:
    """Return "right" if an answer meets every requirement, otherwise "wrong"."""
    return "right" if kept else "wrong"


def _outcome(label: Label) -> str:
    """Return a label's outcome: passed, failed or undecided."""
    return UNDECIDED if label.value is None else "passed" if label.value > 0 else "failed"


@dataclass(frozen=True)
class LabelPair:
    """The true value of one label and the judge's value: passed, failed, a level, or undecided."""

    dialogue: int
    truth: str
    said: str

    @classmethod
    def of(cls, dialogue: int, mark: Mark, label: Label) -> LabelPair:
        """Return the pair for a label; if the truth is only passed or failed, any level above 0 counts as passed."""
        if isinstance(mark, str):
            return cls(dialogue, mark, _outcome(label))
        return cls(dialogue, f"{mark:g}", UNDECIDED if label.value is None else f"{label.value:g}")


@dataclass(frozen=True)
class LabelGroup:
    """A group of labels, and their agreement with the true labels."""

    pairs: tuple[LabelPair, ...]

    @property
    def decided(self) -> tuple[LabelPair, ...]:
        """The pairs that the judge decided."""
        return tuple(pair for pair in self.pairs if pair.said != UNDECIDED)

    @property
    def agreed(self) -> int:
        """The number of labels that the judge decided correctly."""
        return sum(pair.truth == pair.said for pair in self.decided)

    @property
    def confusion(self) -> dict[str, Counter[str]]:
        """For each true value, the frequency of each value from the judge."""
        truths = sorted({pair.truth for pair in self.pairs})
        return {truth: Counter(pair.said for pair in self.pairs if pair.truth == truth) for truth in truths}

    @cached_property
    def _tables(self) -> list[list[list[int]]]:
        """One confusion table for each dialogue with a decided label."""
        names = sorted({name for pair in self.decided for name in (pair.truth, pair.said)})
        counts = Counter(self.decided)
        dialogues = sorted({pair.dialogue for pair in self.decided})
        return [
            [[counts[LabelPair(dialogue, truth, name)] for name in names] for truth in names] for dialogue in dialogues
        ]

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of the decided labels; None if there are none."""
        tables = self._tables
        if not tables:
            return None
        size = range(len(tables[0]))
        return cohen_kappa([[sum(table[row][column] for table in tables) for column in size] for row in size])

    @property
    def quadratic_kappa(self) -> float | None:
        """Kappa with quadratic weights over the five levels of soft requirements; None if other labels are also decided."""
        levels = [f"{level:g}" for level in sorted(SOFT_LEVELS)]
        counts = Counter((pair.truth, pair.said) for pair in self.decided)
        if not {*chain.from_iterable(counts)} <= {*levels}:
            return None
        return cohen_kappa([[counts[truth, said] for said in levels] for truth in levels], quadratic=True)

    def to_json(self) -> JsonObject:
        """Return the figures as JSON data; the 95 % intervals treat dialogues as the sample."""
        return {
            "labels": len(self.pairs),
            "decided": len(self.decided),
            "agreed": self.agreed,
            "agreement": _share(self.agreed, len(self.decided), len(self._tables)),
            "kappa": _figure(self.kappa, None if self.kappa is None else kappa_interval(self._tables)),
            **({} if (weighted := self.quadratic_kappa) is None else {"quadratic_kappa": round(weighted, _DIGITS)}),
            "confusion": {truth: dict(sorted(counts.items())) for truth, counts in self.confusion.items()},
        }


@dataclass(frozen=True)
class Agreement:
    """A judge's labels compared with the true ones.

    Attributes:
        held: the dialogues.
        left_out: dialogues of the run that nothing is known of.
    """

    held: tuple[MeasuredDialogue, ...]
    left_out: int = 0

    @property
    def wrong(self) -> tuple[ListedLabel, ...]:
        """The labels that the judge got wrong, in the order of answers and requirements."""
        return self._listed(lambda pair: pair.said not in (UNDECIDED, pair.truth))

    @property
    def undecided(self) -> tuple[ListedLabel, ...]:
        """The labels that the judge left undecided, in the order of answers and requirements."""
        return self._listed(lambda pair: pair.said == UNDECIDED)

    def _listed(self, wanted: Callable[[LabelPair], bool]) -> tuple[ListedLabel, ...]:
        """Return the labels that pass a test, in the order of answers and requirements."""
        rows = []
        for number, dialogue in enumerate(self.held):
            for requirement, mark, label in dialogue.labels:
                if wanted(LabelPair.of(number, mark, label)):
                    # Of a soft requirement in full: a level between.
                    outcome = _outcome(label) if label.value in {None, 0.0, 1.0} else f"{label.value:g}"
                    place = dialogue.case.id, dialogue.answer, requirement.id
                    rows.append(ListedLabel(*place, mark, outcome, label.why, not label.reading))
        return tuple(rows)

    def groups(self) -> dict[str, dict[str, LabelGroup]]:
        """Return the labels in groups: all together, by kind, check, language, style, and by their source."""
        names_of = ("all", "kind", "check", "language", "style", "by")
        pairs: dict[str, dict[str, list[LabelPair]]] = {name: {} for name in names_of}
        for number, dialogue in enumerate(self.held):
            for requirement, mark, label in dialogue.labels:
                pair = LabelPair.of(number, mark, label)
                kinds = check_kinds(requirement)
                members = (("all",), (label.kind,), kinds, (dialogue.case.language,), (dialogue.style,), (label.by,))
                for groups, names in zip(pairs.values(), members, strict=True):
                    for name in names:
                        groups.setdefault(name, []).append(pair)
        return {
            grouping: {name: LabelGroup(tuple(listed)) for name, listed in sorted(groups.items())}
            for grouping, groups in pairs.items()
        }

    def answers(self) -> dict[str, Counter[str]]:
        """Return the judge's colours for right answers (all requirements met) and wrong answers."""
        known = [each for each in self.held if each.kept is not None]
        return {truth: Counter(each.colour for each in known if _rightness(each.kept) == truth) for truth in _RIGHTNESS}

    def scores(self) -> dict[str, JsonObject]:
        """Return for each metric the deviation of the judge's scores from the true scores (MapSatisfyBench, B.2)."""
        pairs: dict[str, list[tuple[str, float, float]]] = {name: [] for name in SCORES}
        open_ = Counter[str]()
        for dialogue in self.held:
            true, judged = dialogue.score_of(dialogue.true_labels()), dialogue.score_of(dialogue.card.labels)
            for name in SCORES:
                right, given = true[name], judged[name]
                if right is not None and given is not None:
                    pairs[name].append((dialogue.case.id, right, given))
                elif right is not None:
                    open_[name] += 1
        return {name: _deviation(listed, open_[name]) for name, listed in pairs.items()}

    @property
    def votes(self) -> float | None:
        """The average share of pairs of votes that agree on a label; None if there was only one vote."""
        labels = (label for each in self.held for label in each.card.labels)
        shares = [share for label in labels if (share := votes_agree(label.votes)) is not None]
        return sum(shares) / len(shares) if shares else None

    def to_json(self) -> JsonObject:
        """Return all figures as JSON data."""
        groups = self.groups().items()
        labels = {name: {member: listed.to_json() for member, listed in members.items()} for name, members in groups}
        return {
            "dialogues": len(self.held),
            "left_out": self.left_out,
            "answers": {truth: _colours(counts) for truth, counts in self.answers().items()},
            "labels": labels,
            "scores": self.scores(),
            "votes": None if self.votes is None else round(self.votes, _DIGITS),
        }

    def labels_to_json(self) -> JsonObject:
        """Return each answer's truth and verdict, and the wrong and undecided labels, as JSON data."""
        return {
            "each": [
                {"case": each.case.id, "answer": each.answer, "is": _rightness(each.kept), "judged": each.colour}
                for each in self.held
            ],
            "wrong": [asdict(label) for label in self.wrong],
            "undecided": [asdict(label) for label in self.undecided],
        }


def _colours(counts: Counter[str]) -> JsonObject:
    """Return how many answers got each colour, with shares and intervals."""
    total = counts.total()
    shares = {colour: {"n": counts[colour], **_share(counts[colour], total, total)} for colour in _ANSWER_WORDS}
    return {"n": total, **shares}


def _deviation(pairs: Sequence[tuple[str, float, float]], undecided: int) -> JsonObject:
    """Return the shares of scores within each tolerance and the mean absolute error, with intervals."""
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
    """Return a share as a figure, with the Wilson interval for a sample of this size."""
    share = part / whole if whole else None
    return _figure(share, None if share is None else wilson_interval(share, sample))


def _figure(value: float | None, interval: tuple[float, float] | None) -> JsonObject:
    """Return a value with its interval as JSON data, rounded; None for a missing value."""
    ends = zip(("value", "low", "high"), (value, *(interval or (None, None))), strict=True)
    return {name: None if end is None else round(end, _DIGITS) for name, end in ends}


def agreement_table(agreement: Agreement) -> Iterator[str]:
    """Yield the lines of the report, at most 80 columns wide."""
    data = agreement.to_json()
    left_out = f"; {agreement.left_out} more of the run are not labelled" if agreement.left_out else ""
    yield f"{data['dialogues']} dialogues compared with their true labels{left_out}"
    yield ""
    yield f"{'answers':<24}{'n':>6}{'green':>16}{'red':>16}{'undecided':>16}"
    for truth, row in data["answers"].items():
        cells = "".join(f"{_count(row[colour], row['n']):>16}" for colour in _ANSWER_WORDS)
        yield f"  {truth:<22}{row['n']:>6}{cells}"
    for name, groups in data["labels"].items():
        if {*groups} == {"none"}:  # no dialogue has a style
            continue
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
        widths = {"within_0.05": 19, "within_0.02": 19, "mean_absolute_error": 20}
        cells = "".join(f"{_shown(row[figure]):>{width}}" for figure, width in widths.items())
        yield f"  {name:<8}{row['n']:>5}{row['undecided']:>6}{cells}"
    if data["votes"] is not None:
        yield ""
        yield f"two votes on one label say the same in {data['votes']:.1%} of all pairs"


def answer_table(agreement: Agreement) -> Iterator[str]:
    """Yield the report on labelled answers: the agreement, then the undecided and wrong labels."""
    if not agreement.held:
        yield "answers: the suite has none (docs/how-to/label-by-hand.md says how to write them)"
        return
    yield from (*agreement_table(agreement), "")
    open_by_requirement = Counter(label.requirement for label in agreement.undecided)
    if open_by_requirement:
        shown = [f"{requirement} {count}" for requirement, count in open_by_requirement.most_common(_MOST_REQUIREMENTS)]
        more = len(open_by_requirement) - len(shown)
        yield from wrap(f"open: {', '.join(shown)}{f', and {more} more' if more > 0 else ''}", columns(), hang=2)
        yield ""
    for label in agreement.wrong:
        should = f"{label.requirement}: {label.said}, should be {label.should}: {printable(label.why)}"
        yield from wrap(f"wrong: case {label.case}, answer {label.answer}, {should}", columns(), hang=2)
    total = sum(len(dialogue.labels) for dialogue in agreement.held)
    open_, wrong = len(agreement.undecided), len(agreement.wrong)
    hint = f"; --json names the {open_} undecided" if open_ else ""
    yield f"{len(agreement.held)} answers; {total - open_} of {total} labels decided, {wrong} of them wrongly{hint}"


def _count(cell: JsonObject, total: int) -> str:
    """Return a count with its share in words; a dash if the total is 0."""
    return "-" if not total else f"{cell['n']} ({cell['value']:.1%})"


def _shown(figure: JsonObject) -> str:
    """Return a figure with its interval as text; a dash if it has no value."""
    if figure["value"] is None:
        return "-"
    if figure["low"] is None:
        return f"{figure['value']:.3f}"
    return f"{figure['value']:.3f} [{figure['low']:.2f},{figure['high']:.2f}]"


# -- the certificate of a judge, which it must have before it may gate a suite

#: Where a suite keeps it.
CERTIFICATE = "judge-certificate.json"
SCHEMA = "mapsat-judge-certificate/1"
#: Per cent: the default level of a bound, and that which a suite's manifest means.
LEVEL = 95.0
LEAST_LEVEL = 50.0
RATES = ("tpr", "tnr")
_NOUNS = {"tpr": "kept requirements that it passes", "tnr": "broken requirements that it fails"}
_REQUIRED = re.compile(r"(tpr|tnr)=(0?\.[0-9]{1,6})(?:@([0-9]{1,2}(?:\.[0-9]{1,3})?))?")
_MOST_MORE = 10_000


def parse_required(text: str) -> tuple[dict[str, float], float]:
    """Return the required rates and the level of their bounds in per cent from a text like ``tpr=0.9,tnr=0.9@95``.

    Raises:
        ValueError: it is none; the message says what was expected.
    """
    required: dict[str, float] = {}
    levels: set[float] = set()
    for part in text.split(","):
        match = _REQUIRED.fullmatch(part.strip())
        if match is None or match[1] in required or (match[3] and float(match[3]) < LEAST_LEVEL):
            expected = "expected tpr=0.9, tnr=0.9 or both, at a level as in tpr=0.9,tnr=0.9@95"
            raise ValueError(f"found {part.strip()!r}, {expected}")
        required[match[1]] = float(match[2])
        levels |= {float(match[3])} if match[3] else set()
    if len(levels) > 1:
        raise ValueError(f"found two levels in {text!r}, expected one for all, as in tpr=0.9,tnr=0.9@95")
    return required, levels.pop() if levels else LEVEL


def rates_of(agreement: Agreement, level: float) -> dict[str, dict[str, JudgeRate]]:
    """Return a judge's rates over all labels and by kind: ``{"all": {"tpr": …, "tnr": …}, "asked": …}``.

    What a machine decides without reading, and what people decided, says nothing of the judge and is not counted. What it left open is counted as wrong.

    Args:
        agreement: the judge held against what is true.
        level: per cent, at which the lower bounds hold.
    """
    counted: dict[tuple[str, str], list[tuple[int, bool]]] = {}
    for number, dialogue in enumerate(agreement.held):
        for requirement, mark, label in dialogue.labels:
            if requirement.machine_sure or label.by == "decision":
                continue
            kept = mark_value(mark) > 0
            right = label.value is not None and (label.value > 0) == kept
            for kind in ("all", label.kind):
                counted.setdefault((kind, "tpr" if kept else "tnr"), []).append((number, right))
    kinds = ["all", *sorted({kind for kind, _ in counted} - {"all"})]
    return {kind: {rate: _rate(counted.get((kind, rate), ()), level) for rate in RATES} for kind in kinds}


def _rate(labels: Sequence[tuple[int, bool]], level: float) -> JudgeRate:
    """Return the rate of right labels, with its lower bound; each label comes with its dialogue's number."""
    right, dialogues = sum(right for _, right in labels), len({dialogue for dialogue, _ in labels})
    value, low = _figures(len(labels), right, dialogues, level)
    return JudgeRate(labels=len(labels), right=right, dialogues=dialogues, value=value, low=low)


def _figures(labels: int, right: int, dialogues: int, level: float) -> tuple[float | None, float | None]:
    """Return a share and its one-sided Wilson lower bound with dialogues as the sample; None if there are none."""
    if not labels or not dialogues:
        return None, None
    interval = wilson_interval(right / labels, dialogues, level=2 * level / 100 - 1)
    # Never above what was measured.
    low = None if interval is None else math.floor(interval[0] * 10**_DIGITS) / 10**_DIGITS
    return round(right / labels, _DIGITS), low


def _reaches(low: float | None, least: float) -> bool:
    """Return whether a lower bound is known and at least as high as required."""
    return low is not None and low >= least - _ROUNDING


def lacking(rates: Mapping[str, JudgeRate], required: Mapping[str, float], level: float) -> Iterator[str]:
    """Yield a message for each rate whose lower bound is too low, with the number of additional dialogues needed."""
    for name, least in required.items():
        rate = rates[name]
        if _reaches(rate.low, least):
            continue
        each = max(1, round(rate.labels / rate.dialogues)) if rate.dialogues else 1
        grown = ((n, rate.labels + each * n, rate.right + each * n) for n in range(1, _MOST_MORE))
        lows = ((n, _figures(labels, right, rate.dialogues + n, level)[1]) for n, labels, right in grown)
        more = next((n for n, low in lows if _reaches(low, least)), None)
        counted = f"{rate.right} of {rate.labels} in {rate.dialogues} dialogues"
        measured = f"{counted}, at least {rate.low or 0:g} at {level:g} %"
        way = "" if more is None else f"; {more} more dialogues that it labels right would suffice"
        yield f"{name} {least:g} is not reached ({_NOUNS[name]}: {measured}{way})"


def certificate_of(
    run: Run, suites: Sequence[Suite], agreement: Agreement, level: float
) -> tuple[JudgeCertificate, Suite]:
    """Return the certificate of a run's judge, and the suite that it is for.

    Raises:
        UsageError: the dialogues are of several suites.
    """
    used = [suite for suite in suites if any(suite.manifest.name == info.name for info in run.manifest.suites)]
    if len(used) != 1:
        way = "judge the answers of one suite at a time"
        raise UsageError(f"a certificate is for one suite, and the run is of several: {way}")
    terms: dict[str, Any] = _judged_by(run.manifest, used[0]) | rates_of(agreement, level)["all"]
    return JudgeCertificate(schema_=SCHEMA, level=level, **terms), used[0]


def _judged_by(manifest: RunManifest, suite: Suite) -> dict[str, Any]:
    """Return the identity of a run's judge for a certificate: suite, judge, model, votes, version and prompts."""
    from pytest_mapsat.judges import PROMPTS  # noqa: PLC0415  a run loads the judge that asks a model only where it is asked for

    judge, _, model = manifest.judge.spec.partition(":")
    prompts = {name: mark for name, mark in manifest.prompts.items() if name.rpartition("/")[2] in PROMPTS}
    if prompts and suite.manifest.judge.about:
        prompts["suite/about"] = digest(suite.manifest.judge.about)
    return {
        "suite": suite.manifest.name,
        "judge": judge,
        "model": model,
        "votes": manifest.options.judge_votes,
        "version": manifest.versions["pytest-mapsat"],
        "prompts": prompts,
    }


def write_certificate(path: Path, certificate: JudgeCertificate) -> None:
    """Write a certificate to a file in a canonical form. Raises UsageError if writing fails."""
    text = json.dumps(certificate.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=2)
    try:
        with replacing(path) as file:
            file.write(f"{text}\n".encode())
    except OSError as error:
        raise UsageError(f"{shown_path(path)}: {error.strerror}") from None


def read_certificate(path: Path) -> JudgeCertificate:
    """Return the certificate in a file.

    Raises:
        SuiteError: it cannot be read, is cut short, or its figures are not those that its counts give.
    """
    name = shown_path(path)
    hint = "write it again with mapsat review --agreement"
    problems: list[Problem] = []
    certificate = None
    try:
        documents = parse_yaml(read_bytes(path, limits.ROW_BYTES), name)
        certificate = validate(JudgeCertificate, documents[0], name, problems) if len(documents) == 1 else None
    except SuiteError as error:
        problems = list(error.problems)
    if certificate is None:
        first = problems[0] if problems else Problem(name, 0, "is not a certificate of a judge")
        raise SuiteError(Problem(first.path, first.line, first.message, hint))
    for rate in RATES:
        given: JudgeRate = getattr(certificate, rate)
        possible = max(given.right, given.dialogues) <= given.labels
        figures = _figures(given.labels, given.right, given.dialogues, certificate.level) if possible else (None, None)
        if not possible or figures != (given.value, given.low):
            message = (
                f"{rate} is {given.value} and at least {given.low}, but {given.right} of {given.labels} labels in {given.dialogues} "
                f"dialogues give {figures[0]} and {figures[1]}: it was changed by hand"
            )
            raise SuiteError(Problem(name, documents[0].lines.at([rate]), message, hint))
    return certificate


def uncertified(suites: Iterable[Suite], manifest: RunManifest) -> Iterator[str]:
    """Yield a message for each suite whose required certificate the run's judge lacks, with the commands to create it."""
    for suite in suites:
        terms = suite.manifest.judge
        if not terms.certified:
            continue
        required = {rate: least for rate in RATES if (least := getattr(terms, rate)) is not None}
        wanted = ",".join(f"{rate}={least:g}" for rate, least in required.items()) or "tpr=0.5"
        place, spec = shown_path(suite.root), manifest.judge.spec
        ways = (
            f"mapsat lint {place} --answers --save answers.json",
            f"mapsat regrade answers.json --suite {place} --judge={spec} --judge-votes={manifest.options.judge_votes} --save judged.json",
            f"mapsat review --agreement judged.json --suite {place} --labels {place} --require {wanted}@{LEVEL:g}",
        )
        if why := _refusal(suite, manifest, required):
            yield f"the judge {spec} may not gate {suite.manifest.name}: {why}; run: {'; '.join(ways)}"


def _refusal(suite: Suite, manifest: RunManifest, required: Mapping[str, float]) -> str:
    """Return why a suite's certificate does not cover the judge of a run; empty if it does."""
    path = suite.root / CERTIFICATE
    if not path.exists():
        return f"there is no {shown_path(path)}"
    try:
        certificate = read_certificate(path)
    except SuiteError as error:
        return str(error.problems[0])
    for name, now in _judged_by(manifest, suite).items():
        if (then := getattr(certificate, name)) != now:
            words = "other prompts" if name == "prompts" else f"{name} {then!r}, and this is {now!r}"
            return f"{shown_path(path)} is of {words}"
    rates = {rate: _at_standard_level(getattr(certificate, rate)) for rate in RATES}
    if short := [*lacking(rates, required, LEVEL)]:
        return f"{shown_path(path)}: {short[0]}"
    labels, least = certificate.tpr.labels + certificate.tnr.labels, suite.manifest.judge.labels
    return f"{shown_path(path)} rests on {labels} labels, and {least} are asked for" if labels < least else ""


def _at_standard_level(rate: JudgeRate) -> JudgeRate:
    """Return a rate with its lower bound recalculated at the standard level."""
    return rate.model_copy(update={"low": _figures(rate.labels, rate.right, rate.dialogues, LEVEL)[1]})


def certificate_table(rates: Mapping[str, Mapping[str, JudgeRate]], level: float) -> Iterator[str]:
    """Yield the report on rates: for each kind of label, the met requirements that passed and the broken ones that failed."""
    yield f"{'requirements that are read':<28}{'kept':>6}{'passed':>8}{'tpr':>7}{'broken':>8}{'failed':>8}{'tnr':>7}"
    for kind, both in rates.items():
        cells = "".join(
            f"{rate.labels:>{width}}{rate.right:>8}{'-' if rate.value is None else f'{rate.value:.3f}':>7}"
            for rate, width in zip(both.values(), (6, 8), strict=True)
        )
        yield f"  {kind:<26}{cells}"
    lows = ", ".join(f"{name} {rate.low if rate.low is not None else '-'}" for name, rate in rates["all"].items())
    yield f"at least, at {level:g} % (Wilson, one-sided, by dialogue): {lows}"
