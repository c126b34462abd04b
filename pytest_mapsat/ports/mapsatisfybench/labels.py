"""The labels that a verdict in the published form of the reference evaluation gives.

Its ECR is a count, its IISR one degree per implicit factor, its IFS one row per fact requirement. Which tools it found
correct is not taken over: those verdicts were not made from the dialogues published beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_mapsat.formats import layout_of
from pytest_mapsat.judges import all_unevaluated, is_level, unevaluated
from pytest_mapsat.model import Case, Count, ExplicitFactor, FactRequirement, ImplicitFactor, Label, Verdict

from .align import Alignment, align
from .verdicts import Completion, Degree, FactCheck, Faithfulness, PublishedVerdict, Satisfaction, read_verdicts

BY = "recorded"
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A published verdict as the judge of recorded files takes it."""

    verdict: PublishedVerdict

    @property
    def trajectory(self) -> str:
        """The digest of the dialogue that was judged."""
        return self.verdict.trajectory

    def labelled(self, case: Case, base: Verdict) -> Verdict:
        """Return ``base`` with the labels of the case's factors."""
        return published_verdict(case, self.verdict, base)


def read_published(path: Path, name: str) -> Mapping[str, _Recorded]:
    """Return the verdicts of a file by case; messages give it ``name``.

    Raises:
        SuiteError: it is no such file.
    """
    found = read_verdicts(path, name, layout_of(path, name))
    return {case: _Recorded(verdict) for case, verdict in found.items()}


def published_verdict(case: Case, verdict: PublishedVerdict, base: Verdict) -> Verdict:
    """Return ``base`` with the labels that a published verdict gives the case's factors.

    Args:
        case: the case.
        verdict: what the file says of it.
        base: case, trial, judge, the digest and warnings to carry on.
    """
    if verdict.status != "success":
        why = f"the recorded evaluation ended with status {verdict.status!r}{': ' + verdict.error if verdict.error else ''}"
        return base.model_copy(update={"labels": all_unevaluated(case, why, "judge", BY)})
    warnings = list(base.warnings)
    count, labels = _explicit(case.truth.explicit, verdict.details.ECR, warnings)
    labels += _implicit(case.truth.implicit, verdict.details.IISR, warnings)
    labels += _facts(case.truth.facts, verdict.details.IFS, warnings)
    update = {"labels": tuple(labels), "explicit_count": count, "warnings": tuple(warnings)}
    return base.model_copy(update=update)


def _explicit(
    factors: Sequence[ExplicitFactor], found: Completion | None, warnings: list[str]
) -> tuple[Count | None, list[Label]]:
    """Return the count, and labels where it leaves no choice: none or all are met."""
    if found is None:
        return None, [unevaluated(factor, "explicit", "the recorded verdict has no ECR", by=BY) for factor in factors]
    met, total = found.numerator, found.denominator
    said = f"the recorded verdict counts {met} of {total} explicit factors, the case has {len(factors)}"
    if met > total or total > len(factors):
        warnings.append(f"{said}: not used")
        return None, [unevaluated(factor, "explicit", said, by=BY) for factor in factors]
    if total < len(factors):
        warnings.append(f"{said}: those it does not count are taken as not met")
    elif met in (0, total):
        return Count(met=met, total=total), [_binary(factor, bool(met), said) for factor in factors]
    why = f"{said}: it does not say which"
    return Count(met=met, total=len(factors)), [unevaluated(factor, "explicit", why, None, BY) for factor in factors]


def _binary(factor: ExplicitFactor, met: bool, why: str) -> Label:
    outcome = "passed" if met else "failed"
    return Label(factor=factor.id, kind="explicit", outcome=outcome, value=float(met), why=why, by=BY)


def _implicit(factors: Sequence[ImplicitFactor], found: Satisfaction | None, warnings: list[str]) -> list[Label]:
    details = found.rubrics_detail if found else ()
    joined = align([factor.text for factor in factors], [detail.rubric for detail in details])
    _tell(joined, "implicit factors", warnings)
    return [
        unevaluated(factor, "implicit", "the recorded verdict does not judge this factor", by=BY)
        if index is None
        else _degree(factor, details[index])
        for factor, index in zip(factors, joined.found, strict=True)
    ]


def _degree(factor: ImplicitFactor, detail: Degree) -> Label:
    """Return the label of one implicit factor; a degree between its levels is not rounded."""
    if detail.Ci is None or not is_level(factor, detail.Ci):
        levels = "0 or 1" if factor.severity == "hard" else "one of 0, 0.25, 0.5, 0.75 and 1"
        why = f"the recorded verdict gives {detail.Ci}, but a {factor.severity} factor has {levels}"
        return unevaluated(factor, "implicit", why, by=BY)
    outcome = "passed" if detail.Ci > 0 else "failed"
    why = _cut(detail.reasoning)
    return Label(
        factor=factor.id, kind="implicit", outcome=outcome, value=detail.Ci, why=why, wanted=factor.text, by=BY
    )


def _facts(factors: Sequence[FactRequirement], found: Faithfulness | None, warnings: list[str]) -> list[Label]:
    rows = found.rows_detail if found else ()
    joined = align([factor.text for factor in factors], [row.rubric_row for row in rows])
    _tell(joined, "fact requirements", warnings)
    return [
        unevaluated(factor, "fact", "the recorded verdict does not judge this requirement", by=BY)
        if index is None
        else _fact_label(factor, rows[index])
        for factor, index in zip(factors, joined.found, strict=True)
    ]


def _fact_label(factor: FactRequirement, row: FactCheck) -> Label:
    """Return the label of one fact requirement: a row that was skipped as a whole leaves numerator and denominator."""
    if row.skipped:
        why = "the recorded evaluation skipped this requirement"
        return Label(factor=factor.id, kind="fact", outcome="not_applicable", why=why, by=BY)
    if row.is_faithful is None:
        return unevaluated(factor, "fact", "the recorded verdict does not say whether this holds", by=BY)
    held = row.is_faithful
    return Label(
        factor=factor.id,
        kind="fact",
        outcome="passed" if held else "failed",
        value=float(held),
        why=_cut(row.reasoning),
        wanted=factor.text,
        vacuous=held and not row.elements_grounded and not row.elements_unfaithful,
        by=BY,
    )


def _tell(joined: Alignment, what: str, warnings: list[str]) -> None:
    if joined.by_place:
        warnings.append(
            f"{joined.by_place} {what} were joined with the recorded verdict by their place, not their text"
        )
    if joined.left:
        warnings.append(f"{joined.left} {what} of the recorded verdict are not in the case")


def _cut(text: str | None) -> str:
    words = text or ""
    return words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "..."
