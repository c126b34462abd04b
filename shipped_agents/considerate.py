"""A considerate agent: it listens, looks up what is known of the user, asks what it must, and checks before it recommends.

Rules only, no model. ``pytest --mapsat-agent=shipped_agents.considerate:agent`` runs the starter suite with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import cards, errands, journeys, outings, places
from .language import Request, pick, understand
from .needs import Needs, needs_of
from .town import Tools, Town, town_of


def agent(message: str, tools: Tools, context: Mapping[str, Any], session: Any) -> str:
    """Return the reply to the user's message.

    Args:
        message: what the user says.
        tools: the tools of the suite.
        context: now, location, city, history, uid, locale.
        session: the messages so far, and a state that lives as long as the dialogue.
    """
    said: list[str] = session.state.setdefault("said", [])
    said.append(message)
    town = town_of(tools, context)
    if "pending" in session.state:
        return errands.go_on(message, town, session.state)
    before: list[str] = [turn["content"] for turn in session.messages]
    schema = context.get("output_schema")
    if schema and "cancelled" not in schema["properties"]:
        question = cards.question(message) if len(said) == 1 else ""
        if question:
            town.ask("get_user_profile", uid=context["uid"])  # what stands there need not be asked
        return question or cards.answer(schema, before, town, context)
    if act := errands.act_of(said[0]):
        session.state["before"] = before[:-1]
        return errands.run(act, said[0], town, context, session.state)
    request = understand(said[0])
    needs = needs_of(request, said, context, town)
    asked = len(said) > 1
    question = "" if asked else _question(request, needs)
    return question or _answer(request, needs, town, context["uid"])


def _question(request: Request, needs: Needs) -> str:
    """Return what must be asked before anything can be looked up, or an empty string."""
    if request.task == "outing":
        return outings.question(request, needs)
    if request.task == "ride":
        return journeys.luggage_question(request, needs)
    return places.question(request, needs) if request.task == "place" else ""


def _answer(request: Request, needs: Needs, town: Town, uid: str) -> str:
    planners = {"outing": outings.plan, "errands": outings.plan_errands, "transit": journeys.by_transit}
    if request.task in planners:
        return planners[request.task](request, needs, town)
    if request.task == "usual":
        return places.the_usual(request, needs, town, uid)
    if request.task in ("journey", "ride"):
        return _towards(request, needs, town)
    if not request.subject:
        return pick(request.language, "What are you looking for?", "请问您想找什么？")
    return places.recommend(request, needs, town)


def _towards(request: Request, needs: Needs, town: Town) -> str:
    """Return the answer to those who want to get to a place with a name."""
    destination, question = journeys.which_one(request, needs, town)
    if destination is None:
        return question
    go = journeys.by_ride if request.task == "ride" else journeys.lead
    return go(request, needs, town, destination)
