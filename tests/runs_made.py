"""Runs made by hand, for what people read of them."""

from pytest_mapsat.gate import Coverage, decide, parse_thresholds
from pytest_mapsat.metrics import group, summarise
from pytest_mapsat.model import (
    MSB_METRICS,
    Accounting,
    CallCounts,
    EpisodeTiming,
    JudgeInfo,
    Label,
    Lost,
    Run,
    RunManifest,
    RunOptions,
    Scorecard,
    SuiteInfo,
    Trajectory,
)

UNDECIDED = Label(
    requirement="z1", kind="hard", outcome="unevaluated", why="undecided: 'the mill' may be Old Mill or New Mill"
)


def card(case, ar=1.0, *, most=None, outcome="passed", domains=("navigation",), missed=0, calls=4, **fields):
    """A card all of whose metrics are ``ar``, or lie between it and ``most``."""
    names = [metric.name for metric in MSB_METRICS if metric.gated]
    values = dict.fromkeys(names, ar if most is None else None)
    unknown = {} if most is None else {"bounds": dict.fromkeys(names, (ar, most)), "labels": (UNDECIDED,)}
    return Scorecard(
        **{
            "id": case,
            "outcome": outcome,
            "domains": domains,
            "metrics": values,
            "classes": {} if most is None else dict.fromkeys(names, "unevaluated"),
            "calls": CallCounts(total=calls),
            "sandbox": {"exact": calls - missed, "miss": missed},
            "turns": 1,
            "trajectory": Trajectory(case=case, turns=()),
            "timing": EpisodeTiming(seconds=0.5),
            **unknown,
            **fields,
        }
    )


def run_of(*cards, thresholds=(), lost=(), allowed=0):
    """The run of some cards, decided as any run is."""
    lost = tuple(Lost(id=case, trial=trial, reason=reason) for case, trial, reason in lost)
    coverage = Coverage(selected=len({one.id for one in cards}), lost=lost)
    gate = decide(cards, parse_thresholds(thresholds), allowed_undecided=str(allowed), coverage=coverage)
    manifest = RunManifest(
        versions={},
        suites=(SuiteInfo(name="town", version="1", fingerprint="0"),),
        agent="my:agent",
        user="scripted",
        judge=JudgeInfo(spec="checks"),
        options=RunOptions(),
    )
    return Run(
        manifest=manifest,
        accounting=Accounting(collected=len(cards) + len(lost), lost=lost),
        cases=tuple(sorted(cards, key=lambda one: one.key)),
        summary=summarise(cards),
        groups=group(cards),
        gate=gate,
    )
