"""Where nothing meets all needs: agents that say so and offer what gives up one of them, and agents that do not."""

from types import SimpleNamespace

import pytest
from judging import call

from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.metrics import score
from pytest_mapsat.model import Case, Tool, Trajectory, Turn

ROOMS = {
    "rooms": [
        {"id": "r1", "name": "Birch House", "stairs": "no", "price": 80},
        {"id": "r2", "name": "Cedar Lodge", "stairs": "yes", "price": 40},
        {"id": "r3", "name": "Maple Court", "stairs": "yes", "price": 95},
    ]
}
FIND = {
    "name": "find_rooms",
    "description": "Find rooms.",
    "parameters": {"type": "object"},
    "entities": [{"items": "rooms", "name": "name", "id": "id", "fields": {"stairs": "text", "price": "price"}}],
}
BOOK = {"name": "book_room", "description": "Book a room.", "effect": "write", "parameters": {"type": "object"}}
TOOLS = {each["name"]: Tool.model_validate(each) for each in (FIND, BOOK)}
WHERE = {
    "step-free": {"stairs": "no"},
    "cheap": {"price": {"op": "between", "max": 50}},
}
SAYS = {"step-free": ["has stairs"], "cheap": ["above your budget"]}
ABOUT = {"step-free": ["stairs", "steps", "step-free"], "cheap": ["price", "costs", "budget", "expensive"]}
SCHEMA = {"type": "object", "properties": {"offers": {"type": "array"}, "given_up": {"type": "array"}}}


def judged(*turns, output=None, none=None, by_id=False):
    """The labels of the two needs after the user's and the agent's turns, and the card."""
    ids = {"kind": "output", "path": "offers", "id": "id", "tool": "find_rooms"}
    kind = ids if by_id else {"kind": "recommends", "only": True}
    needs = [
        {"id": name, "kind": "hard", "text": name, "check": {**kind, "where": where}} for name, where in WHERE.items()
    ]
    visible = {"query": "A room for tonight, please.", "output_schema": SCHEMA if by_id else {}}
    none = {
        "relax": ["step-free", "cheap"],
        **({"output": "given_up"} if by_id else {"says": SAYS, "about": ABOUT}),
        **(none or {}),
    }
    truth = {"requirements": needs, "none": none, "user": {"confirms": "yes"}}
    case = Case.model_validate({"id": "c", "visible": visible, "truth": truth})
    spoken = [Turn(role="user", text=visible["query"])]
    for text, *calls in turns:
        steps = [call("find_rooms", ROOMS), *calls] if len(spoken) == 1 else calls
        role = "agent" if spoken[-1].role == "user" else "user"
        spoken.append(Turn(role=role, text=text, steps=tuple(steps) if role == "agent" else ()))
    spoken[-1] = spoken[-1].model_copy(update={"output": output})
    trajectory = Trajectory(case="c", turns=tuple(spoken))
    verdict = ChecksJudge(TOOLS, suite=SimpleNamespace(tables={}, manifest=SimpleNamespace(misses="sandbox"))).judge(
        case, trajectory
    )
    card = score(case, trajectory, verdict, asserted=frozenset({"hard"}), tools=TOOLS)
    return {label.requirement: label for label in verdict.labels}, card


def outcomes(*turns, **fields):
    labels, _ = judged(*turns, **fields)
    return tuple(labels[name].outcome for name in WHERE)


BOOKED = call("book_room", {"ok": True}, room="r2")
GOOD = ("I recommend Cedar Lodge: it costs 40 a night, but it has stairs.",)
AGENTS = {
    "tells": (GOOD,),
    "books after a yes": (
        (
            "Nothing fits. I recommend Cedar Lodge: it costs 40 a night, but it has stairs. Shall I book Cedar Lodge, room r2?",
        ),
        ("Yes, please.",),
        ("I have booked Cedar Lodge.", BOOKED),
    ),
    "says nothing of it": (("I recommend Cedar Lodge.",),),
    "breaks both": (("I recommend Maple Court. It has stairs and is above your budget.",),),
    "books without a yes": ((GOOD[0], BOOKED),),
    "gives up": (("I am sorry, there is no such room.",),),
    "always says the same": (("Thank you for your question. I hope that you have a pleasant trip.",),),
}


@pytest.mark.parametrize(
    ("agent", "needs"),
    [
        ("tells", ("passed", "passed")),
        ("books after a yes", ("passed", "passed")),
        ("says nothing of it", ("unevaluated", "passed")),  # it looks failed, by a reading of prose
        ("breaks both", ("failed", "failed")),
        ("books without a yes", ("failed", "passed")),
        ("gives up", ("failed", "failed")),
        ("always says the same", ("failed", "failed")),
    ],
)
def test_agents_stand_in_the_order_of_what_they_tell(agent, needs):
    labels, card = judged(*AGENTS[agent])
    assert tuple(labels[name].outcome for name in WHERE) == needs, labels
    assert card.outcome == min(needs, key=("failed", "unevaluated", "passed").index)
    assert labels["step-free"].suspect == (agent == "says nothing of it")


@pytest.mark.parametrize(
    ("offers", "given_up", "needs"),
    [
        (["r2"], ["step-free"], ("passed", "passed")),
        (["r1"], ["cheap"], ("passed", "passed")),
        (["r1", "r2"], ["cheap", "step-free"], ("passed", "passed")),  # a choice, each giving up one
        (["r2"], ["Step-Free"], ("passed", "passed")),
        (["r2"], [], ("failed", "passed")),  # without a word
        (["r2"], ["cheap"], ("failed", "passed")),  # the wrong one
        (["r2"], ["cheap", "step-free"], ("failed", "passed")),  # more than there is to give up
        (["r2"], ["quiet"], ("failed", "passed")),
        (["r3"], ["cheap", "step-free"], ("failed", "failed")),  # both at once
        (["r2", "r3"], ["step-free"], ("failed", "failed")),
        ([], ["cheap"], ("failed", "failed")),  # nothing is offered
    ],
)
def test_structured_output_decides_exactly_which_need_is_given_up(offers, given_up, needs):
    output = {"offers": [{"id": each} for each in offers], "given_up": given_up}
    assert outcomes(("Here you are.",), output=output, by_id=True) == needs
    assert outcomes(("Here you are.",), by_id=True) == ("failed", "failed")


def test_each_of_several_offers_in_prose_is_judged_alone_and_a_wrong_word_decides_nothing():
    both = "1. Birch House, which is above your budget.\n2. Cedar Lodge, which has stairs."
    assert "failed" not in outcomes((f"Nothing fits. I recommend:\n{both}",))
    assert outcomes((f"I recommend:\n{both}\n3. Maple Court, which has stairs.",)) != ("passed", "passed")
    hedging = "I recommend Cedar Lodge. It has stairs, and it is above your budget."
    assert outcomes((hedging,)) == ("unevaluated", "passed")
    assert outcomes(("I recommend Cedar Lodge.",), none={"says": {}, "about": {}}) == ("unevaluated", "passed")
    assert outcomes((GOOD[0], BOOKED), none={"agreed": []}) == ("passed", "passed")
