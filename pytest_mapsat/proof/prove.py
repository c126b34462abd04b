"""What a suite's checks are worth: how many wrong answers they kill, and how many good ones they accuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

from pytest_mapsat.judges import Judge, make_judge
from pytest_mapsat.model import (
    AnyOf,
    AtLeast,
    Case,
    Check,
    JsonObject,
    Label,
    Not,
    Requirement,
    Trajectory,
    trajectory_digest,
)
from pytest_mapsat.reports import cell_width, columns, cut, printable, wrap
from pytest_mapsat.suite import Suite

from .mutants import HARMLESS, WRONG, Mutant, OracleRun, write_changes
from .oracles import play_oracle

#: The most mutants of one kind that are made of one case: every kind gets a hearing, and a long answer stays quick.
MOST = 12


@dataclass(frozen=True)
class Trial:
    """One mutant, judged.

    Attributes:
        kind: the operator; ``oracle`` for the unchanged dialogue.
        case: the case's id.
        changed: what was changed, in words.
        violates: the requirements that the change makes false; empty for a harmless mutant.
        lowered: the requirements that got less than on the oracle.
        undecided: the requirements that the judge leaves open though it decided them on the oracle.
        why: what the judge says of the requirements that decide: those that should have been lowered and were not, or the reverse.
    """

    kind: str
    case: str
    changed: str
    violates: tuple[str, ...]
    lowered: tuple[str, ...]
    undecided: tuple[str, ...]
    why: Mapping[str, str]

    @property
    def missed(self) -> tuple[str, ...]:
        """The violated requirements that the judge calls as good as on the oracle."""
        return tuple(name for name in self.violates if name not in (*self.lowered, *self.undecided))

    @property
    def passed(self) -> bool:
        """Whether the judge was not wrong: no violated requirement is as good as before, or, of a harmless mutant, none lowered."""
        return not self.missed if self.violates else not self.lowered

    @property
    def open(self) -> bool:
        """Whether the judge was not wrong but left something open that would show what the mutant is."""
        return self.passed and bool(set(self.undecided) & set(self.violates) if self.violates else self.undecided)

    def to_json(self) -> JsonObject:
        """Return a survivor as JSON data."""
        named = {"kind": self.kind, "case": self.case, "requirements": list(self.missed)}
        return {**named, "changed": self.changed, "why": dict(self.why)}


@dataclass(frozen=True)
class Proof:
    """All mutants of a suite, judged.

    Attributes:
        trials: the mutants of the oracles, case by case, each case's oracle first.
        untried: the cases that could not be tried, with the reason.
        requirements: the requirements of each case that was tried.
        idle: changes that surely break no check, and so count for nothing: case, kind, what was changed.
    """

    trials: tuple[Trial, ...]
    untried: Mapping[str, str] = field(default_factory=dict)
    requirements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    idle: tuple[tuple[str, str, str], ...] = ()

    @property
    def wrong(self) -> tuple[Trial, ...]:
        """The trials of mutants that are wrong."""
        return tuple(trial for trial in self.trials if trial.violates)

    @property
    def harmless(self) -> tuple[Trial, ...]:
        """The trials of mutants that are right, the oracles among them."""
        return tuple(trial for trial in self.trials if not trial.violates)

    @property
    def killed(self) -> tuple[Trial, ...]:
        """The wrong mutants that the judge calls wrong in every violated requirement."""
        return tuple(trial for trial in self.wrong if trial.passed and not trial.open)

    @property
    def survived(self) -> tuple[Trial, ...]:
        """The wrong mutants that a violated requirement did not kill."""
        return tuple(trial for trial in self.wrong if not trial.passed)

    @property
    def false_alarms(self) -> tuple[Trial, ...]:
        """The harmless mutants of which a requirement was lowered."""
        return tuple(trial for trial in self.harmless if not trial.passed)

    def to_json(self) -> JsonObject:
        """Return the counts and the survivors as JSON data."""
        by_truth = {"wrong": self.wrong, "harmless": self.harmless}
        return {
            "wrong": len(self.wrong),
            "killed": len(self.killed),
            "harmless": len(self.harmless),
            "false_alarms": len(self.false_alarms),
            "undecided": {name: sum(trial.open for trial in trials) for name, trials in by_truth.items()},
            "survived": [trial.to_json() for trial in self.survived],
        }


def prove(cases: Iterable[Case], suite: Suite) -> Proof:
    """Judge mutants of the oracle dialogues of some cases.

    Args:
        cases: the cases.
        suite: their suite.

    Raises:
        SuiteError: a recording of a case cannot be read.
    """
    judge = make_judge(
        "checks", suite.tools, root=Path(), vocabulary=suite.vocabulary, suite=suite, calibration=suite.calibration
    )
    trials: list[Trial] = []
    untried: dict[str, str] = {}
    requirements: dict[str, tuple[str, ...]] = {}
    idle: list[tuple[str, str, str]] = []
    for case in cases:
        trajectory = play_oracle(case, suite)
        if reason := _unfit(case, trajectory):
            untried[case.id] = reason
            continue
        requirements[case.id] = tuple(requirement.id for requirement in case.truth.requirements)
        run = OracleRun(case, suite.tools, trajectory, judge.judge(case, trajectory), suite.vocabulary)
        trials += _changes_of_words(run, judge, idle)
        trials += _changes_of_writes(run, suite, judge)
    return Proof(tuple(trials), untried, requirements, tuple(idle))


def _unfit(case: Case, trajectory: Trajectory) -> str:
    if not case.truth.oracle:
        return "it has no oracle dialogue"
    if trajectory.fault is not None:
        return trajectory.fault.message
    return "" if any(turn.text.strip() for turn in trajectory.replies) else "its oracle says nothing"


def _changes_of_words(run: OracleRun, judge: Judge, idle: list[tuple[str, str, str]]) -> Iterator[Trial]:
    """Yield the oracle and its mutants, judged; those that surely break no check go to ``idle``."""
    open_ = tuple(label.requirement for label in run.verdict.labels if label.value is None)
    accused = tuple(label.requirement for label in run.verdict.labels if label.value == 0)
    yield Trial("oracle", run.case.id, "nothing", (), accused, open_, _why(run.labels, accused))
    seen = {trajectory_digest(run.trajectory)}
    for kind, operator in (WRONG | HARMLESS).items():
        for mutant in islice(operator(run), MOST):
            digest = trajectory_digest(mutant.trajectory)
            if digest in seen:
                continue
            seen.add(digest)
            broken = () if kind in HARMLESS else violated(run, mutant)
            if broken or kind in HARMLESS:
                yield _trial(run, judge, kind, mutant, broken)
            else:
                idle.append((run.case.id, kind, mutant.changed))


def violated(run: OracleRun, mutant: Mutant) -> tuple[str, ...]:
    """Return the requirements that surely get less than on the oracle, by the checks that a mutant breaks; one that it does not break holds as before."""

    def holds(check: Check) -> bool | None:
        parts = [holds(part) for part in check.parts]
        if isinstance(check, Not):
            return None if parts[0] is None else not parts[0]
        if parts:
            needed = check.n if isinstance(check, AtLeast) else 1 if isinstance(check, AnyOf) else len(parts)
            reached, reachable = parts.count(True) >= needed, len(parts) - parts.count(False) >= needed
            return True if reached else None if reachable else False
        finding = run.finding(check)
        return not mutant.breaks(check, finding) if finding.passed else None

    def level(requirement: Requirement) -> float | None:
        rules = [(1.0, requirement.check)] if requirement.check is not None else []
        rules += [(rule.level, rule.check) for rule in requirement.levels]
        for reached, check in rules:
            if (held := holds(check)) is not False:
                return reached if held else None
        return 0.0

    levels = {requirement.id: level(requirement) for requirement in run.case.truth.requirements}
    before = {name: label.value or 0 for name, label in run.labels.items()}
    return tuple(name for name, now in levels.items() if now is not None and now < before[name])


def _changes_of_writes(run: OracleRun, suite: Suite, judge: Judge) -> Iterator[Trial]:
    """Yield the mutants of what the oracle writes. Each ends otherwise than it, so that one of the case's requirements at least must break."""
    required = tuple(requirement.id for requirement in run.case.truth.required)
    changes = sorted(write_changes(run.case, suite, run.trajectory), key=itemgetter(0))
    for kind, mutants in groupby(changes, itemgetter(0)):
        for _, mutant in islice(mutants, MOST):
            trial = _trial(run, judge, kind, mutant, required)
            broken = tuple(name for name in required if name in (*trial.lowered, *trial.undecided))
            yield replace(trial, violates=broken or required)


def _trial(run: OracleRun, judge: Judge, kind: str, mutant: Mutant, broken: tuple[str, ...]) -> Trial:
    labels = {label.requirement: label for label in judge.judge(run.case, mutant.trajectory).labels}
    before = {name: label.value for name, label in run.labels.items() if label.value is not None}
    undecided = tuple(name for name in before if labels[name].value is None)
    lowered = tuple(name for name, value in before.items() if (now := labels[name].value) is not None and now < value)
    deciding = [name for name in broken if name not in lowered] if broken else lowered
    return Trial(kind, run.case.id, mutant.changed, broken, lowered, undecided, _why(labels, deciding))


def _why(labels: Mapping[str, Label], names: Iterable[str]) -> dict[str, str]:
    return {name: labels[name].why for name in names}


#: The columns of the four numbers, with the space before them.
_NUMBERS = 37
_SHOWN = 60


def table(proof: Proof) -> Iterator[str]:
    """Yield the lines of the report, as wide as the terminal where no word is longer."""
    title = "mutants by case and requirement (killed: wrong; alarms: harmless; undec.: left open)"
    head = f"{'':{columns() - _NUMBERS}} {'wrong':>7} {'killed':>7} {'alarms':>7} {'undec.':>6}"
    yield from wrap(title, columns(), hang=2)
    yield head
    for case, requirements in proof.requirements.items():
        trials = [trial for trial in proof.trials if trial.case == case]
        yield _row(case, *_counts(trials))
        for requirement in requirements:
            yield _row(f"  {requirement}", *_counts_of(requirement, trials))
    yield from ("", "mutants by kind", head)
    for kind in dict.fromkeys(trial.kind for trial in proof.trials):
        yield _row(kind, *_counts([trial for trial in proof.trials if trial.kind == kind]))
    yield from _idle(proof)
    yield from _listed("survived", proof.survived)
    yield from _listed("false alarm", proof.false_alarms)
    for case, why in proof.untried.items():
        yield from wrap(f"not tried: case {case}: {printable(why)}", columns(), hang=2)
    yield ""
    yield from _summary(proof)


def _counts(trials: Sequence[Trial]) -> tuple[int, int, int, int]:
    """Return how many trials are wrong, killed, false alarms and undecided."""
    proof = Proof(tuple(trials))
    return len(proof.wrong), len(proof.killed), len(proof.false_alarms), sum(trial.open for trial in trials)


def _counts_of(requirement: str, trials: Sequence[Trial]) -> tuple[int, int, int, int]:
    """Return the same of one requirement."""
    wrong = [trial for trial in trials if requirement in trial.violates]
    harmless = [trial for trial in trials if not trial.violates]
    killed = sum(requirement not in (*trial.missed, *trial.undecided) for trial in wrong)
    alarms = sum(requirement in trial.lowered for trial in harmless)
    return len(wrong), killed, alarms, sum(requirement in trial.undecided for trial in (*wrong, *harmless))


def _row(name: str, wrong: int, killed: int, alarms: int, undecided: int) -> str:
    width = columns() - _NUMBERS
    lead = name[: len(name) - len(name.lstrip())]
    name = cut(printable(name.strip()), width - 2)
    pad = " " * (width - len(lead) - cell_width(name))
    numbers = [f"{wrong or '-':>7}", f"{killed if wrong else '-':>7}", f"{alarms or '-':>7}", f"{undecided or '-':>6}"]
    return f"{lead}{name}{pad} {' '.join(numbers)}"


def _idle(proof: Proof) -> Iterator[str]:
    """Yield what no check of a case speaks of, so that its author can see it."""
    for case in dict.fromkeys(case for case, _, _ in proof.idle):
        yield ""
        yield from wrap(f"not counted: in case {case} no check is surely broken by", columns(), hang=2)
        kinds: dict[str, list[str]] = {}
        for _, kind, changed in (change for change in proof.idle if change[0] == case):
            kinds.setdefault(kind, []).append(cut(printable(changed), _SHOWN))
        for kind, changes in kinds.items():
            yield from wrap(f"{kind}: {'; '.join(changes)}", columns(), indent="  ", hang=2)


def _listed(what: str, trials: Iterable[Trial]) -> Iterator[str]:
    for trial in trials:
        yield ""
        requirements = ", ".join(trial.missed or trial.lowered)
        yield from wrap(f"{what}: {trial.kind}: case {trial.case}: {requirements}", columns(), hang=2)
        yield from wrap(f"changed: {printable(trial.changed)}", columns(), indent="  ", hang=2)
        for requirement, why in trial.why.items():
            yield from wrap(f"{requirement}: {printable(why)}", columns(), indent="  ", hang=2)


def _summary(proof: Proof) -> Iterator[str]:
    wrong, harmless = len(proof.wrong), len(proof.harmless)
    killed, alarms = len(proof.killed), len(proof.false_alarms)
    unsure, open_ = (sum(trial.open for trial in trials) for trials in (proof.wrong, proof.harmless))
    for line in (
        f"{killed} of {wrong} wrong mutants killed{_share(killed, wrong)}",
        f"{alarms} false alarms on {harmless} harmless ones{_share(alarms, harmless)}",
        f"undecided: {unsure} wrong{_share(unsure, wrong)}, {open_} harmless{_share(open_, harmless)}",
    ):
        yield from wrap(line, columns(), hang=2)


def _share(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.1f} %)" if whole else ""
