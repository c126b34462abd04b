"""An agent as a coroutine: the loop in which a model calls tools until it has an answer.

``_decide`` stands where you await your model. Here it is a rule that knows one kind of question, the nearest place that is
open, so that the example runs without a key.

``pytest benchmark_cases/search/pharmacy-late.yaml --mapsat-agent=examples.async_agent:agent``
"""

from __future__ import annotations

from typing import Any

_MOST_CALLS = 8


async def agent(message: str, tools: Any, context: Any) -> str:
    """Return the reply to the user's message."""
    results: list[dict[str, Any]] = []
    for _ in range(_MOST_CALLS):
        step = await _decide(message, context, tools.schemas(), results)
        if "say" in step:
            return str(step["say"])
        results.append(tools.call(step["tool"], step["arguments"]))
    return "I could not find out."


async def _decide(
    message: str, context: Any, schemas: list[dict[str, Any]], results: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the next step: a tool with its arguments, or what to say.

    Args:
        message: what the user says.
        context: where and when the user is.
        schemas: the tools in OpenAI's form; hand them to your model.
        results: what the calls so far have returned.
    """
    known = {schema["function"]["name"] for schema in schemas}
    if "pharmacy" not in message or context.location is None or not {"search_nearby", "get_route"} <= known:
        return {"say": "I only know about pharmacies close by."}
    here = context.location
    if not results:
        return {"tool": "search_nearby", "arguments": {"query": "pharmacy", "lon": here.lon, "lat": here.lat}}
    time = context.now[11:16]
    nearest = next((place for place in results[0].get("places", ()) if _is_open(place["hours"], time)), None)
    if nearest is None:
        return {"say": "No pharmacy close by is open now."}
    if len(results) == 1:
        points = {"origin": f"{here.lon},{here.lat}", "destination": f"{nearest['lon']},{nearest['lat']}"}
        return {"tool": "get_route", "arguments": {**points, "mode": "walking"}}
    way = results[1]["routes"][0]
    return {"say": f"Go to {nearest['name']}, {nearest['address']}. It is a {way['duration_min']} min walk."}


def _is_open(hours: str, time: str) -> bool:
    """Return whether hours like ``09:00-23:00`` or ``24h`` contain a time; the text of two clock times compares as they do."""
    opens, _, closes = hours.partition("-")
    return hours == "24h" or opens <= time < closes
