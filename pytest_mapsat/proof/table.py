"""A proof as lines for the terminal: counts by case and factor, then by kind, then what survived and what was wrongly accused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_mapsat.reports import cell_width, columns, cut, printable, wrap

from .prove import Proof, Trial, Trials

#: The columns of the four numbers, with the space before them.
_NUMBERS = 37
_SHOWN = 60


def table(proof: Proof) -> Iterator[str]:
    """Yield the lines of the report, as wide as the terminal where no word is longer."""
    title = "mutants by case and factor (caught: wrong; alarms: harmless; undec.: left open)"
    yield from wrap(title, columns(), hang=2)
    yield _head()
    for case, factors in proof.factors.items():
        yield from _case(case, factors, [trial for trial in proof.trials if trial.case == case])
    yield ""
    yield from _by_kind("mutants by kind", proof)
    if proof.crossed.trials:
        yield ""
        yield from _by_kind("mutants made of labelled answers, by kind", proof.crossed)
    yield from _idle(proof)
    for trials in (proof, proof.crossed):
        yield from _listed("survived", trials.survivors)
        yield from _listed("false alarm", trials.false_alarms)
    for case, why in proof.untried.items():
        yield from wrap(f"not tried: case {case}: {printable(why)}", columns(), hang=2)
    yield ""
    yield from _summary(proof)


def _by_kind(title: str, trials: Trials) -> Iterator[str]:
    yield title
    yield _head()
    for kind in dict.fromkeys(trial.kind for trial in trials.trials):
        yield _row(kind, *_counts([trial for trial in trials.trials if trial.kind == kind]))


def _case(case: str, factors: Sequence[str], trials: Sequence[Trial]) -> Iterator[str]:
    wrong = Counter(factor for trial in trials for factor in trial.violates)
    missed = Counter(factor for trial in trials for factor in trial.missed)
    alarms = Counter(factor for trial in trials if not trial.violates for factor in trial.lowered)
    unsure = Counter(factor for trial in trials for factor in trial.violates if factor in trial.undecided)
    open_ = Counter(factor for trial in trials if not trial.violates for factor in trial.undecided)
    yield _row(case, *_counts(trials))
    for factor in factors:
        caught = wrong[factor] - missed[factor] - unsure[factor]
        yield _row(factor, wrong[factor], caught, alarms[factor], unsure[factor] + open_[factor], indented=True)


def _counts(trials: Sequence[Trial]) -> tuple[int, int, int, int]:
    wrong = [trial for trial in trials if trial.violates]
    caught = sum(trial.passed and not trial.open for trial in wrong)
    alarms = sum(not trial.passed for trial in trials if not trial.violates)
    return len(wrong), caught, alarms, sum(trial.open for trial in trials)


def _head() -> str:
    return f"{'':{columns() - _NUMBERS}} {'wrong':>7} {'caught':>7} {'alarms':>7} {'undec.':>6}"


def _row(name: str, wrong: int, caught: int, alarms: int, undecided: int, *, indented: bool = False) -> str:
    width = columns() - _NUMBERS
    name = cut(printable(name.strip()), width - 2)
    lead = "  " if indented else ""
    pad = " " * (width - len(lead) - cell_width(name))
    numbers = [f"{wrong or '-':>7}", f"{caught if wrong else '-':>7}", f"{alarms or '-':>7}", f"{undecided or '-':>6}"]
    return f"{lead}{name}{pad} {' '.join(numbers)}"


def _idle(proof: Proof) -> Iterator[str]:
    """Yield what no check of a case speaks of, so that its author can see it."""
    for case in dict.fromkeys(case for case, _, _ in proof.idle):
        yield ""
        yield from wrap(f"not counted: in case {case} no check is surely broken by", columns(), hang=2)
        kinds: dict[str, list[str]] = {}
        for _, kind, changed in (one for one in proof.idle if one[0] == case):
            kinds.setdefault(kind, []).append(changed)
        for kind, changes in kinds.items():
            text = f"{kind}: {'; '.join(cut(printable(change), _SHOWN) for change in changes)}"
            yield from wrap(text, columns(), indent="  ", hang=2)


def _listed(what: str, trials: Iterable[Trial]) -> Iterator[str]:
    for trial in trials:
        yield ""
        factors = ", ".join(trial.missed or trial.lowered)
        yield from wrap(f"{what}: {trial.kind}: case {trial.case}: {factors}", columns(), hang=2)
        yield from wrap(f"changed: {printable(trial.changed)}", columns(), indent="  ", hang=2)
        for factor, why in trial.why.items():
            yield from wrap(f"{factor}: {printable(why)}", columns(), indent="  ", hang=2)


def _summary(proof: Proof) -> Iterator[str]:
    yield from _totals(proof, "")
    if proof.crossed.trials:
        yield from _totals(proof.crossed, " made of labelled answers")


def _totals(trials: Trials, made: str) -> Iterator[str]:
    wrong, harmless = len(trials.wrong), len(trials.harmless)
    caught, alarms = len(trials.caught), len(trials.false_alarms)
    unsure, open_ = (sum(trial.open for trial in listed) for listed in (trials.wrong, trials.harmless))
    for said in (
        f"{caught} of {wrong} wrong mutants{made} caught{_share(caught, wrong)}",
        f"{alarms} false alarms on {harmless} harmless ones{_share(alarms, harmless)}",
        f"undecided: {unsure} wrong{_share(unsure, wrong)}, {open_} harmless{_share(open_, harmless)}",
    ):
        yield from wrap(said, columns(), hang=2)


def _share(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.1f} %)" if whole else ""
