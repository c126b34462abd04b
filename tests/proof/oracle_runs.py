"""Small oracle dialogues to make mutants of."""

from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.model import Case, Step, Tool, Trajectory, Turn
from pytest_mapsat.proof.mutants import OracleRun

_PLAIN = {"type": "object", "properties": {"query": {}, "to": {}, "mode": {}}}
TOOLS = {
    "search_poi": Tool(
        name="search_poi",
        description="Finds places.",
        parameters=_PLAIN,
        entities=[{"items": "pois", "name": "name", "id": "poiid"}],
    ),
    "route": Tool(name="route", description="Finds a route.", parameters=_PLAIN),
}

CAFES = {
    "pois": [
        {"name": "Cafe Luna", "poiid": "1", "rating": 4.7, "hours": "09:00-22:00", "address": "5 Mill Lane", "phone": "555-0101"},
        {"name": "Old Mill", "poiid": "2", "rating": 3.9, "hours": "12:00-17:00", "address": "9 Quay Road", "phone": "555-0102"},
        {"name": "Red Door", "poiid": "3", "rating": 3.1, "hours": "08:00-20:00", "address": "2 Hill Street", "phone": "555-0103"},
    ]
}  # fmt: skip
WAY = {"minutes": 10, "metres": 1500, "leaves": ["10:30"]}
ENGLISH = (
    "Go to Cafe Luna at 5 Mill Lane. It is a 10 min walk, 1.5 km, and you get there by 10:30. It has a quiet room."
)
CHINESE = "推荐Cafe Luna，步行10分钟，1.5公里，10:30前能到。店里有安静的包间。"


def requirement(check, name="z", **fields):
    return {"id": name, "text": name, "kind": "hard", "weight": 1, "check": check, **fields}


def oracle_run(*implicit, say=ENGLISH, facts=(), explicit=()):
    """The oracle run of a case with these requirements, in which the oracle found three cafes and a way, and says ``say``."""
    truth = {
        "requirements": [
            *({"kind": "asked", **one} for one in explicit),
            *implicit,
            *({"kind": "fact", **one} for one in facts),
        ]
    }
    visible = {"query": "Where shall I go?", "context": {"now": "2026-03-01T10:00:00"}}
    case = Case.model_validate({"id": "c1", "visible": visible, "truth": truth})
    steps = (
        Step(kind="call", tool="search_poi", arguments={"query": "cafe"}, result=CAFES),
        Step(kind="call", tool="route", arguments={"to": "cafe", "mode": "walking"}, result=WAY),
    )
    turns = (Turn(role="user", text="Where shall I go?"), Turn(role="agent", text=say, steps=steps))
    trajectory = Trajectory(case="c1", turns=turns)
    return OracleRun(case, TOOLS, trajectory, ChecksJudge(TOOLS).judge(case, trajectory))


def says(mutants):
    """The last replies of mutants."""
    return [mutant.trajectory.turns[-1].text for mutant in mutants]
