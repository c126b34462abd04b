"""The least that is an agent: a function. It answers one kind of question, which bus leaves next, by a rule and one tool.

``pytest benchmark_cases/realtime/next-bus.yaml --mapsat-agent=examples.function_agent:agent``
"""

from __future__ import annotations

import re
from typing import Any

_DESTINATION = re.compile(r"\bto ([A-Z]\w*(?: [A-Z]\w*)*)")


def agent(message: str, tools: Any, context: Any) -> str:
    """Return the reply to the user's message.

    Args:
        message: what the user says.
        tools: the tools of the suite, called by name.
        context: where and when the user is; leave it out of the signature if you have no use for it.
    """
    destination = _DESTINATION.search(message)
    if destination is None or context.location is None:
        return "I only know about buses. Where do you want to go?"
    found = tools.get_transit_lines(city=context.city, origin=context.location.name, destination=destination[1])
    leaving = [line for line in found.get("lines", ()) if line["next"]]  # an answer may be an error without lines
    if not leaving:
        return f"I found no bus to {destination[1]}."
    first = min(leaving, key=lambda line: line["next"][0])
    return (
        f"Take {first['line']} at {first['next'][0]} and get off at {first['alight']}. "
        f"The ride takes {first['ride_min']} min and costs {first['fare_yuan']} yuan."
    )
