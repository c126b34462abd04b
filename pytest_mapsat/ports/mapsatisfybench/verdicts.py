"""Verdicts in the layout in which MapSatisfyBench publishes them, and the labels that they give.

Its ECR is a count, its IISR one degree per implicit requirement, its IFS one row per fact requirement. Which tools it found
correct is not taken over: those verdicts were not made from the dialogues published beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from pytest_mapsat.formats import (
    layout_of,
    layouts,
    limits,
    located_json,
    parse_json_line,
    printable,
    read_csv,
    read_lines,
)
from pytest_mapsat.judges import all_unevaluated, is_level, unevaluated
from pytest_mapsat.metrics import by_key
from pytest_mapsat.model import Blame, Case, Count, Json, Label, Problem, Requirement, SuiteError, Verdict, shown
from pytest_mapsat.ports import SourcePart, validated
from pytest_mapsat.reading import fold_phrase

_BY = "recorded"
_SHOWN = 300
_COLUMNS = ("case_id", "results")
Whole = Annotated[int, Field(strict=True, ge=0)]
_AnyDetail = TypeVar("_AnyDetail", bound="_Detail")


class _VerdictPart(BaseModel):
    """Base class for models of published verdicts; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class _Completion(_VerdictPart):
    """ECR: how many explicit requirements are met."""

    numerator: Whole
    denominator: Whole


class _Detail(_VerdictPart):
    """The verdict on one requirement: its text and the judge's reasoning."""

    text: str
    reasoning: str | None = None


class _Degree(_Detail):
    """The degree to which an implicit requirement is satisfied."""

    text: str = Field(alias="rubric")
    Ci: Annotated[float, Field(strict=True)] | None = None


class _Satisfaction(_VerdictPart):
    """IISR: the degree of each implicit requirement."""

    rubrics_detail: tuple[_Degree, ...] = ()


class _FactCheck(_Detail):
    """The check of one fact requirement: whether the reply is faithful to the fact, and the checked elements."""

    text: str = Field(alias="rubric_row")
    is_faithful: Annotated[bool, Field(strict=True)] | None = None
    skipped: Annotated[bool, Field(strict=True)] = False
    elements_grounded: tuple[object, ...] = ()
    elements_unfaithful: tuple[object, ...] = ()


class _Faithfulness(_VerdictPart):
    """IFS: the check of each fact requirement."""

    rows_detail: tuple[_FactCheck, ...] = ()


class _Details(SourcePart):
    """The three parts of a verdict, ECR, IISR and IFS; a part that failed is null."""

    ECR: _Completion | None = None
    IISR: _Satisfaction = _Satisfaction()
    IFS: _Faithfulness = _Faithfulness()


class PublishedVerdict(_VerdictPart):
    """One published verdict. ``trajectory`` is the digest of the judged trajectory, if the file gives one."""

    case_id: Annotated[str, Field(min_length=1)]
    status: str = "success"
    error: str | None = None
    trajectory: str = ""
    details: _Details | None = None

    def labelled(self, case: Case, base: Verdict) -> Verdict:
        """Return ``base`` with labels for the case's requirements from this published verdict."""
        if self.status != "success":
            error = f": {self.error}" if self.error else ""
            why = f"the recorded evaluation ended with status {self.status!r}{error}"
            return base.model_copy(update={"labels": all_unevaluated(case, why, "judge", _BY)})
        warnings = list(base.warnings)
        details, truth = self.details or _Details(), case.truth
        count, labels = _explicit(truth.asked, details.ECR, warnings)
        degrees, checks = details.IISR.rubrics_detail, details.IFS.rows_detail
        labels += _judged(truth.implicit, degrees, "implicit requirements", _degree_label, warnings)
        labels += _judged(truth.facts, checks, "fact requirements", _fact_label, warnings)
        update = {"labels": tuple(labels), "explicit_count": count, "warnings": tuple(warnings)}
        return base.model_copy(update=update)


def read_verdicts(path: Path, name: str) -> Mapping[str, PublishedVerdict]:
    """Return the verdicts of a file in JSON lines, or of a table, by case.

    Args:
        path: the file.
        name: how messages name it.

    Raises:
        SuiteError: it is broken, holds no verdict, or two of one case; with the lines, up to a limit.
    """
    problems: list[Problem] = []
    verdicts: dict[str, PublishedVerdict] = {}
    lines: dict[str, int] = {}
    for line, data in _published(path, name):
        verdict, wrong = validated(PublishedVerdict, data, name, line)
        problems += wrong
        if verdict is not None and verdict.case_id in verdicts:
            message = f"a second verdict on case {printable(verdict.case_id)}: line {lines[verdict.case_id]} has one"
            problems.append(Problem(name, line, message, "keep one"))
        elif verdict is not None:
            verdicts[verdict.case_id], lines[verdict.case_id] = verdict, line
        if len(problems) >= limits.PROBLEMS:
            break
    if not verdicts and not problems:
        problems.append(Problem(name, 0, "the file holds no verdict"))
    if problems:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return verdicts


def _published(path: Path, name: str) -> Iterator[tuple[int, Json]]:
    """Yield each verdict with its line, from JSON lines or from a table with JSON in its column ``results``."""
    if layout_of(path, name) != "table":
        for line in read_lines(path, limits.DIALOGUE_BYTES, name):
            yield line.number, parse_json_line(line.data, name, line.number)
        return
    hint = f"expected {layouts('JSON lines with case_id and details', _COLUMNS)}"
    for row in read_csv(path, _COLUMNS, name, hint=hint):
        text = row.cells["results"]
        results = located_json(text, name, row.line) if text.strip() else {}
        if not isinstance(results, dict):
            raise SuiteError(Problem(name, row.line, f"results is {shown(results)}, expected an object"))
        given = {key: row.cells[key] for key in ("case_id", "status", "error") if key in row.cells}
        yield row.line, {**given, **results}


# -- labels


def _explicit(
    requirements: Sequence[Requirement], completion: _Completion | None, warnings: list[str]
) -> tuple[Count | None, list[Label]]:
    """Return the count of explicit requirements met, and their labels, which are decided only if all or none are met."""

    def unknown(why: str, blame: Blame | None = "judge") -> list[Label]:
        """Return an unevaluated label for each explicit requirement."""
        return [unevaluated(requirement, why, blame, _BY) for requirement in requirements]

    if completion is None:
        return None, unknown("the recorded verdict has no ECR")
    met, total = completion.numerator, completion.denominator
    why = f"the recorded verdict counts {met} of {total} explicit requirements, the case has {len(requirements)}"
    if met > total or total > len(requirements):
        warnings.append(f"{why}: not used")
        return None, unknown(why)
    if total < len(requirements):
        warnings.append(f"{why}: those it does not count are taken as not met")
    elif met in (0, total):
        labels = [_label(requirement, float(bool(met)), why) for requirement in requirements]
        return Count(met=met, total=total), labels
    return Count(met=met, total=len(requirements)), unknown(f"{why}: it does not say which", None)


def _judged(
    requirements: Sequence[Requirement],
    details: Sequence[_AnyDetail],
    noun: str,
    label_of: Callable[[Requirement, _AnyDetail], Label],
    warnings: list[str],
) -> list[Label]:
    """Return a label for each requirement from the detail with the same text; unevaluated if there is no such detail."""
    places = _aligned(requirements, [detail.text for detail in details], noun, warnings)
    return [
        unevaluated(requirement, "the recorded verdict does not judge this requirement", by=_BY)
        if place is None
        else label_of(requirement, details[place])
        for requirement, place in zip(requirements, places, strict=True)
    ]


def _degree_label(requirement: Requirement, detail: _Degree) -> Label:
    """Return the label of an implicit requirement; unevaluated if its degree is missing or invalid."""
    if detail.Ci is None or not is_level(requirement, detail.Ci):
        levels = "0 or 1" if requirement.kind == "hard" else "one of 0, 0.25, 0.5, 0.75 and 1"
        why = f"the recorded verdict gives {detail.Ci}, but a {requirement.kind} requirement has {levels}"
        return unevaluated(requirement, why, by=_BY)
    return _label(requirement, detail.Ci, _cut(detail.reasoning), wanted=requirement.text)


def _fact_label(requirement: Requirement, row: _FactCheck) -> Label:
    """Return the label of a fact requirement; not applicable if the check was skipped, unevaluated if it has no result."""
    if row.skipped:
        return _label(requirement, None, "the recorded evaluation skipped this requirement")
    if row.is_faithful is None:
        return unevaluated(requirement, "the recorded verdict does not say whether this holds", by=_BY)
    nothing = row.is_faithful and not row.elements_grounded and not row.elements_unfaithful
    why = _cut(row.reasoning)
    return _label(requirement, float(row.is_faithful), why, wanted=requirement.text, nothing_claimed=nothing)


def _label(requirement: Requirement, value: float | None, why: str, **fields: Any) -> Label:
    """Return a passed or failed label by value; without a value, a label that is not applicable."""
    outcome = "not_applicable" if value is None else "passed" if value > 0 else "failed"
    terms: dict[str, Any] = {"requirement": requirement.id, "kind": requirement.kind, "outcome": outcome}
    return Label(**terms, value=value, why=why, by=_BY, **fields)


def _aligned(
    requirements: Sequence[Requirement], texts: Sequence[str], what: str, warnings: list[str]
) -> list[int | None]:
    """Return the index of each requirement's text, matched exactly, otherwise by letters or by position; None if unmatched."""
    places: list[int | None] = [None] * len(requirements)
    free = dict(enumerate(texts))
    forms: tuple[Callable[[str], str], ...] = (str, _letters)
    for form in forms:
        waiting = by_key((form(text), place) for place, text in reversed(free.items()))
        for number, requirement in enumerate(requirements):
            if places[number] is None and (same := waiting.get(form(requirement.text))):
                places[number] = place = same.pop()
                del free[place]
    left = [number for number, place in enumerate(places) if place is None and number in free]
    by_place = left if len(requirements) == len(texts) else []
    for number in by_place:
        places[number] = number
        del free[number]
    if by_place:
        warnings.append(f"{len(by_place)} {what} were joined with the recorded verdict by their place, not their text")
    if free:
        warnings.append(f"{len(free)} {what} of the recorded verdict are not in the case")
    return places


def _letters(text: str) -> str:
    """Return the letters and digits of a text in folded form, without spaces and punctuation."""
    return "".join(char for char in fold_phrase(text) if char.isalnum())


def _cut(text: str | None) -> str:
    """Return a text cut to 300 characters; empty for None."""
    words = text or ""
    return words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "..."
