"""A proof as lines for the terminal: counts by case and factor, then by kind, then what survived and what was wrongly accused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_mapsat.reports import cell_width, cut, printable, wrap

from .prove import Proof, Trial

_WIDTH = 80
_NAME = 50
_SHOWN = 60
_HEAD = f"{'':{_NAME}} {'wrong':>7} {'caught':>7} {'alarms':>7}"


def table(proof: Proof) -> Iterator[str]:
    """Yield the lines of the report, at most 80 columns wide where no word is longer."""
    yield "mutants by case and factor (caught: wrong ones; alarms: harmless ones)"
    yield _HEAD
    for case, factors in proof.factors.items():
        yield from _case(case, factors, [trial for trial in proof.trials if trial.case == case])
    yield ""
    yield "mutants by kind"
    yield _HEAD
    for kind in dict.fromkeys(trial.kind for trial in proof.trials):
        trials = [trial for trial in proof.trials if trial.kind == kind]
        yield _row(kind, *_counts(trials))
    yield from _idle(proof)
    yield from _listed("survived", proof.survivors)
    yield from _listed("false alarm", proof.false_alarms)
    for case, why in proof.untried.items():
        yield from wrap(f"not tried: case {case}: {printable(why)}", _WIDTH, hang=2)
    yield ""
    yield from _summary(proof)


def _case(case: str, factors: Sequence[str], trials: Sequence[Trial]) -> Iterator[str]:
    wrong = Counter(factor for trial in trials for factor in trial.violates)
    missed = Counter(factor for trial in trials for factor in trial.missed)
    alarms = Counter(factor for trial in trials if not trial.violates for factor in trial.lowered)
    yield _row(case, *_counts(trials))
    for factor in factors:
        yield _row(factor, wrong[factor], wrong[factor] - missed[factor], alarms[factor], indented=True)


def _counts(trials: Sequence[Trial]) -> tuple[int, int, int]:
    wrong = [trial for trial in trials if trial.violates]
    caught = sum(trial.passed for trial in wrong)
    return len(wrong), caught, sum(not trial.passed for trial in trials) - (len(wrong) - caught)


def _row(name: str, wrong: int, caught: int, alarms: int, *, indented: bool = False) -> str:
    name = cut(printable(name.strip()), _NAME - 2)
    lead = "  " if indented else ""
    pad = " " * (_NAME - len(lead) - cell_width(name))
    numbers = [f"{wrong or '-':>7}", f"{caught if wrong else '-':>7}", f"{alarms or '-':>7}"]
    return f"{lead}{name}{pad} {' '.join(numbers)}"


def _idle(proof: Proof) -> Iterator[str]:
    """Yield what no check of a case speaks of, so that its author can see it."""
    for case in dict.fromkeys(case for case, _, _ in proof.idle):
        yield ""
        yield from wrap(f"not counted: in case {case} no check is surely broken by", _WIDTH, hang=2)
        kinds: dict[str, list[str]] = {}
        for _, kind, changed in (one for one in proof.idle if one[0] == case):
            kinds.setdefault(kind, []).append(changed)
        for kind, changes in kinds.items():
            text = f"{kind}: {'; '.join(cut(printable(change), _SHOWN) for change in changes)}"
            yield from wrap(text, _WIDTH, indent="  ", hang=2)


def _listed(what: str, trials: Iterable[Trial]) -> Iterator[str]:
    for trial in trials:
        yield ""
        factors = ", ".join(trial.missed or trial.lowered)
        yield from wrap(f"{what}: {trial.kind}: case {trial.case}: {factors}", _WIDTH, hang=2)
        yield from wrap(f"changed: {printable(trial.changed)}", _WIDTH, indent="  ", hang=2)
        for factor, why in trial.why.items():
            yield from wrap(f"{factor}: {printable(why)}", _WIDTH, indent="  ", hang=2)


def _summary(proof: Proof) -> Iterator[str]:
    wrong, harmless = len(proof.wrong), len(proof.harmless)
    caught = wrong - len(proof.survivors)
    alarms = len(proof.false_alarms)
    yield f"{caught} of {wrong} wrong mutants caught{_share(caught, wrong)}"
    yield f"{alarms} false alarms on {harmless} harmless mutants{_share(alarms, harmless)}"


def _share(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.1f} %)" if whole else ""
