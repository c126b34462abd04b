"""Runs with dialogues, made by hand, for the reports: one that broke, one that is open, one that passed; and the same held against an earlier run."""

import json
from collections.abc import Iterator
from typing import Any

from runs_made import card, run_of

from pytest_mapsat.model import (
    CallCounts,
    CardRequirement,
    Label,
    Quote,
    Run,
    Step,
    Trajectory,
    Turn,
)
from pytest_mapsat.model.run import (
    CaseChange,
    CaseSide,
    Change,
    ComparedRun,
    Comparison,
    RequirementChange,
    RuleResult,
    RunTiming,
)
from pytest_mapsat.model.trajectory import Difference, Provenance

QUERY = "Where can I charge my car now?"
REPLY = "Go to Old Mill, 2 Mill Lane. It is 400 m from you."
PLACES = {
    "places": [
        {"name": "Old Mill", "lon": 13.4, "lat": 52.5, "open": False},
        {"name": "Blue Bay", "location": "13.41,52.505", "open": True},
    ]
}
SEARCH = Step(
    kind="call",
    tool="search_nearby",
    arguments={"center": "13.402,52.501", "radius": 1500, "query": "charger"},
    result=PLACES,
    provenance=Provenance(
        kind="near", differences=(Difference(parameter="query", asked="charger", recorded="charging point", score=0.8),)
    ),
)
ROUTE = Step(
    kind="call",
    tool="get_route",
    arguments={"origin": "13.402,52.501", "destination": "13.4,52.5"},
    status="error",
    result="no such mode",
)
THOUGHT = Step(kind="thought", text="The first one will do.")


def quote(text: str, turn: int = 1) -> Quote:
    start = REPLY.index(text)
    return Quote(turn=turn, start=start, end=start + len(text), text=text)


OPEN_NOW = Label(
    requirement="open-now",
    kind="hard",
    outcome="failed",
    value=0,
    why="turn 1 says 'Old Mill', which is closed",
    wanted="a place that is open",
    quotes=(quote("Old Mill"),),
)
NEAR = Label(
    requirement="near", kind="hard", outcome="unevaluated", why="undecided: near what?", quotes=(quote("400 m"),)
)
NAMED = Label(requirement="named", kind="asked", outcome="passed", value=1, quotes=(quote("Old Mill"),))
WORDS = (
    CardRequirement(id="open-now", kind="hard", text="The place is open at 18:20", source="environment"),
    CardRequirement(id="near", kind="soft", text="It is near"),
    CardRequirement(id="named", kind="asked", text="A charger is named"),
)


def dialogue(case: str, *steps: Step) -> Trajectory:
    turns = (Turn(role="user", text=QUERY), Turn(role="agent", text=REPLY, steps=steps))
    return Trajectory(case=case, turns=(*turns, Turn(role="user", text="Thank you.")))


def told(case: str, *labels: Label, ar: float = 1.0, **fields: Any) -> Any:
    steps = fields.pop("steps", (THOUGHT, SEARCH, ROUTE))
    given = {
        "labels": labels,
        "requirements": WORDS,
        "trajectory": dialogue(case, *steps),
        "nodeid": f"cases/{case}.jsonl::case[{case}]",
        "line": 7,
        "attributes": {"difficulty": "L1", "requirement_source": "environment"},
    }
    calls = CallCounts(total=2, failed=1, by_tool={"get_route": 1, "search_nearby": 1})
    return card(case, ar, **(given | fields)).model_copy(update={"calls": calls})


BROKEN = told(
    "charge-now", OPEN_NOW, NEAR, NAMED, ar=0.0, outcome="failed", blame="agent", reason="hard open-now failed"
)
OPEN = told(
    "charge-later", NEAR, NAMED, ar=0.5, outcome="unevaluated", reason="soft near is undecided", unknown=("near",)
)
FINE = told("sleep", NAMED, domains=("search",))


def comparison() -> Comparison:
    before = OPEN_NOW.model_copy(update={"outcome": "passed", "value": 1.0})
    requirement = RequirementChange(
        requirement="open-now",
        kind="hard",
        direction="worse",
        baseline="passed",
        new="failed",
        baseline_value=1,
        new_value=0,
        baseline_quotes=(Quote(turn=1, start=0, end=8, text="Blue Bay"),),
        new_quotes=before.quotes,
        new_why=OPEN_NOW.why,
    )
    flipped = CaseChange(
        id="charge-now",
        domains=("navigation",),
        direction="worse",
        flipped=True,
        baseline=CaseSide(outcome="passed", passed=1, trials=1),
        new=CaseSide(outcome="failed", passed=0, trials=1),
        requirements=(requirement,),
    )
    changes = (
        Change(
            metric="ar",
            baseline=(0.9, 0.9),
            new=(0.5, 0.6),
            difference=(-0.4, -0.3),
            p=0.012,
            direction="worse",
            n=3,
        ),
        Change(
            metric="ts",
            baseline=(0.9, 0.9),
            new=(0.9, 0.9),
            difference=(0, 0),
            p=0.8,
            direction="unclear",
            n=3,
        ),
        Change(
            metric="ar",
            dimension="domain",
            group="navigation",
            baseline=(1, 1),
            new=(0.25, 0.25),
            difference=(-0.75, -0.75),
            p=0.0004,
            direction="worse",
            n=2,
        ),
    )
    rule = RuleResult(
        rule="ar:0.02", metric="ar", drop=0.02, outcome="failed", reason="AR is down by 0.30 to 0.40, more than 0.02"
    )
    return Comparison(
        baseline=ComparedRun(agent="old:agent", suites=("town 1 abc",)),
        new=ComparedRun(agent="my:agent"),
        pairs=3,
        changes=changes,
        rules=(rule,),
        cases=(flipped,),
        outcome="failed",
        reasons=("ar:0.02 failed",),
    )


RUN = run_of(BROKEN, OPEN, FINE, thresholds=["ar=0.9"], lost=[("gone", 1, "lost with its worker")])
COMPARED = RUN.model_copy(update={"comparison": comparison()})


def _before(reply: str, *steps: Step) -> Any:
    """BROKEN as it was in an earlier run, with another reply and other calls."""
    turns = (Turn(role="user", text=QUERY), Turn(role="agent", text=reply, steps=steps))
    labels = (OPEN_NOW.model_copy(update={"outcome": "passed", "value": 1.0, "quotes": ()}), NEAR, NAMED)
    return told("charge-now", *labels, trajectory=Trajectory(case="charge-now", turns=turns))


WAS_FINE = _before("Go to Blue Bay, 2 Mill Lane. It is 400 m from you.", SEARCH)
#: Runs before COMPARED, the oldest first: the case that is broken now passed, and ``old`` was a case once.
BEFORE = tuple(
    run_of(*cards).model_copy(update={"timing": RunTiming(started=f"2026-05-0{day}T08:30:00+00:00")})
    for day, cards in ((1, (BROKEN, told("old", NAMED), FINE)), (2, (WAS_FINE, OPEN, FINE)))
)

HOSTILE = (
    "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'><svg onload=window.hacked=1>"
    "</noscript><b id=loose>{{ 7*7 }} `tick` ```fence``` [link](javascript:hacked) @everyone #1 | cell | <!-- \x1b[2J\u202e\n::error::hacked\n# hacked\n"
)


def hostile(run: Run) -> Run:
    """Return the run with hostile text in every field and key that takes it."""
    data = run.model_dump(mode="json", by_alias=True)
    for place in list(_texts(data, ())):
        parent = data
        for key in place[:-1]:
            parent = parent[key]
        kept = parent[place[-1]]
        parent[place[-1]] = HOSTILE + kept
        if not _valid(data):
            parent[place[-1]] = kept
    for one in data["cases"]:
        one["attributes"][HOSTILE] = HOSTILE
        one["calls"]["by_tool"][HOSTILE] = 1
    data["summary"][HOSTILE] = data["summary"]["ar"]
    data["groups"]["domain"][HOSTILE] = data["groups"]["domain"]["navigation"]
    data["groups"][HOSTILE] = data["groups"]["domain"]
    data["manifest"]["versions"][HOSTILE] = HOSTILE
    return Run.model_validate_json(json.dumps(data))


def _valid(data: dict[str, Any]) -> bool:
    try:
        Run.model_validate_json(json.dumps(data))
    except ValueError:
        return False
    return True


def _texts(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from [(*place, key)] if isinstance(part, str) else _texts(part, (*place, key))
