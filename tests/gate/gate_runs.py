"""Runs made by hand, to be compared: cards, sides, and what a comparison needs."""

from typing import Any

from pytest_mapsat.gate import Side, compare, parse_drops
from pytest_mapsat.model import JudgeInfo, Label, Quote, RunManifest, Scorecard, SuiteInfo, Trajectory

SUITE = SuiteInfo(name="s", version="1", fingerprint="f")


def card(case: str, ar: float | tuple[float, float] | None = 1.0, *, trial: int = 1, **fields: Any) -> Scorecard:
    """Return a scorecard; a pair is the bounds of an AR that is not known."""
    bounds = {"ar": ar} if isinstance(ar, tuple) else {}
    value = None if isinstance(ar, tuple) else ar
    fields = {"outcome": "passed", "domains": ("navigation",), "stamp": "same", **fields}
    return Scorecard(
        id=case,
        trial=trial,
        metrics={"ar": value},
        classes={} if value is not None else {"ar": "unevaluated"},
        bounds=bounds,
        trajectory=Trajectory(case=case, trial=trial, turns=()),
        **fields,
    )


def label(requirement: str, outcome: str, text: str = "") -> Label:
    """Return a label with a quote."""
    quotes = (Quote(turn=1, start=0, end=len(text), text=text),) if text else ()
    return Label(requirement=requirement, kind="hard", outcome=outcome, why=f"it {outcome}", quotes=quotes)


def side(cards: list[Scorecard], partial: bool = False, lost: tuple[Any, ...] = (), **fields: Any) -> Side:
    """Return one of two runs; ``fields`` change its manifest."""
    manifest = {
        "versions": {"pytest-mapsat": "1"},
        "suites": (SUITE,),
        "agent": "a:b",
        "user": "scripted",
        "judge": JudgeInfo(spec="checks"),
        "options": {},
        **fields,
    }
    return Side(RunManifest.model_validate(manifest), cards, lost, partial)


def compared(baseline: list[Scorecard], new: list[Scorecard], *drops: str, **options: Any) -> Any:
    """Return the comparison of two runs of one kind."""
    return compare(side(baseline), side(new), parse_drops(drops), **options)
