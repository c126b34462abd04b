"""Small dialogues to judge."""

from pydantic import TypeAdapter

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.model import Case, Check, Step, Tool, Trajectory, Turn

SEARCH = Tool.model_validate(
    {
        "name": "search_poi",
        "description": "Finds places.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}, "x": {}, "y": {}}},
        "entities": [{"items": "pois", "name": "name", "id": "poiid"}],
    }
)
ROUTE = Tool.model_validate(
    {"name": "route", "description": "Finds a route.", "parameters": {"type": "object", "properties": {"to": {}}}}
)
TOOLS = {"search_poi": SEARCH, "route": ROUTE}

PLACES = {
    "pois": [
        {"name": "Cafe Luna (Riverside)", "poiid": "1", "rating": "4.7", "hours": "09:00-22:00", "x": 1.0, "y": 2.0},
        {"name": "Old Mill", "poiid": "2", "rating": "3.9", "hours": "09:00-17:00"},
        {"name": "Old Mill Garden", "poiid": "3", "rating": "4.8", "hours": ""},
        {"name": "青石茶馆(东门店)", "poiid": "4", "rating": "4.6", "hours": "10:00-23:00"},
    ]
}

_CHECK = TypeAdapter(Check)


def check_of(kind, **fields):
    return _CHECK.validate_python({"kind": kind, **fields})


def call(tool="search_poi", result=None, status="ok", **arguments):
    return Step(kind="call", tool=tool, arguments=arguments, result=result, status=status)


def found_places(query="cafe"):
    return call(result=PLACES, query=query)


def dialogue(*replies, steps=(), **fields):
    """A trajectory of a query and the agent's replies; the steps belong to the first reply."""
    turns = [Turn(role="user", text="Where shall I go?")]
    for index, reply in enumerate(replies):
        turns += [Turn(role="user", text="And then?")] * (index > 0)
        turns.append(Turn(role="agent", text=reply, steps=tuple(steps) if index == 0 else ()))
    return Trajectory(case="c1", turns=tuple(turns), **fields)


def judge_reply(reply, kind, *, steps=(), tools=TOOLS, **fields):
    """The finding of one check on a dialogue of one reply."""
    return evaluate(check_of(kind, **fields), JudgedDialogue(dialogue(reply, steps=steps), tools))


def judge_dialogue(trajectory, kind, **fields):
    return evaluate(check_of(kind, **fields), JudgedDialogue(trajectory, TOOLS))


def case_of(explicit=(), implicit=(), facts=(), policies=(), case_id="c1"):
    truth = {
        "requirements": [
            *({"kind": "asked", **one} for one in explicit),
            *implicit,
            *({"kind": "fact", **one} for one in facts),
            *({"kind": "policy", **one} for one in policies),
        ]
    }
    visible = {"query": "Where shall I go?", "context": {"now": "2026-03-01T10:00:00"}}
    return Case.model_validate({"id": case_id, "visible": visible, "truth": truth})
