"""Verdicts of a saved run: labels by factor id, tied to the dialogue that stands beside them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from pytest_mapsat.model import Case, Count, Factor, Label, LabelKind, Trajectory, Verdict

from .labels import is_level, kinds, unevaluated

BY = "recorded"


class SavedCase(BaseModel):
    """What is used of one case of a saved run."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    id: str = Field(min_length=1)
    trial: int = Field(default=1, ge=1)
    labels: tuple[Label, ...] = ()
    explicit_count: Count | None = None
    trajectory: Trajectory


def saved_verdict(case: Case, saved: SavedCase, base: Verdict) -> Verdict:
    """Return ``base`` with the labels that the run gives the case's factors."""
    found = {label.factor: label for label in saved.labels}
    labels = tuple(_label(factor, kind, found.pop(factor.id, None)) for factor, kind in kinds(case))
    left = (f"the saved run labels {', '.join(sorted(found))}, which the case does not have",) if found else ()
    warnings = (*base.warnings, *left)
    return base.model_copy(update={"labels": labels, "explicit_count": saved.explicit_count, "warnings": warnings})


def _label(factor: Factor, kind: LabelKind, label: Label | None) -> Label:
    if label is None:
        return unevaluated(factor, kind, "the saved run does not judge this factor", by=BY)
    if label.kind != kind:
        return unevaluated(factor, kind, f"the saved run judges it as {label.kind}, the case has it as {kind}", by=BY)
    if label.value is not None and not is_level(factor, label.value):
        return unevaluated(
            factor, kind, f"the saved run gives {label.value:g}, which is no level of this factor", by=BY
        )
    return label
