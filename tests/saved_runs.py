"""Saved runs, made by hand: as small as a run file can be."""

import json
from typing import Any

import pytest

from pytest_mapsat.model import Trajectory

MANIFEST = {
    "versions": {},
    "suites": [],
    "agent": "good:agent",
    "user": "scripted",
    "judge": {"spec": "checks"},
    "options": {},
}


def card(trajectory: Trajectory, **fields: Any) -> dict[str, Any]:
    """Return the scorecard of a trajectory as a run file has it."""
    head = {"id": trajectory.case, "trial": trajectory.trial, "outcome": "passed", "metrics": {}}
    return {**head, "trajectory": trajectory.to_json(), **fields}


def run_data(*cards: Any, **fields: Any) -> dict[str, Any]:
    """Return a run with these scorecards."""
    head = {"schema": "mapsat-run/1", "manifest": MANIFEST, "cases": list(cards)}
    return {**head, "summary": {}, "groups": {}, "gate": {"outcome": "passed"}, **fields}


def run_text(*cards: Any, indent: int | None = None, **fields: Any) -> str:
    """Return the text of a run file with these scorecards."""
    return json.dumps(run_data(*cards, **fields), indent=indent)


def saved(project: pytest.Pytester, name: str = "run.json") -> Any:
    """Return a run file of a project as data."""
    return json.loads((project.path / name).read_text(encoding="utf-8"))


def timeless(value: Any) -> Any:
    """Return data without what stands under keys named timing: all that may differ between two equal runs."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key != "timing"}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def saved_timeless(project: pytest.Pytester, name: str = "run.json") -> Any:
    """Return what a run file of a project shares with that of an equal run."""
    return timeless(saved(project, name))


def saved_text(project: pytest.Pytester, name: str = "run.json") -> str:
    """Return the same as text: the order of keys counts, too."""
    return json.dumps(saved_timeless(project, name))
