"""The scripted user of a task, and the dialogue of its oracle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_mapsat.model import Json, JsonObject

from .tasks import Action, Instructions, Task
from .world import ToolFacts

#: "You" and its forms, with what the user says instead; longer phrases are tried first.
_FIRST_PERSON = (
    (r"\byou are\b", "I am"),
    (r"\byou're\b", "I'm"),
    (r"\byou were\b", "I was"),
    (
        r"\b(to|for|with|from|about|of|let|give|gives|gave|tell|tells|told|send|sends|sent|help|helps|show|shows|offer|offers|charge|charged) you\b",
        r"\1 me",
    ),
    (r"\byourself\b", "myself"),
    (r"\byours\b", "mine"),
    (r"\byour\b", "my"),
    (r"\byou\b", "I"),
)
_IDENTITY = ("name", "zip", "user id", "email", "e-mail", "phone number", "who you are", "identity", "verify", "identify", "confirmation number", "reservation", "order", "date of birth")  # fmt: skip
_LONGEST = 20_000


def first_person(text: str) -> str:
    """Return the user's instructions in the first person: "You want your money back." as "I want my money back."."""
    for pattern, spoken in _FIRST_PERSON:

        def as_said(match: re.Match[str], spoken: str = spoken) -> str:
            words = match.expand(spoken)
            return words[0].upper() + words[1:] if match[0][0].isupper() else words

        text = re.sub(pattern, as_said, text, flags=re.IGNORECASE)
    return text


def opening(task: Task) -> str:
    """Return the first words of the user."""
    scenario = task.user_scenario.instructions
    words = scenario if isinstance(scenario, str) else scenario.reason_for_call
    return first_person(words).strip()[:_LONGEST] or "Hello."


def briefing(task: Task) -> str:
    """Return the whole prompt of a user that is a model."""
    scenario = task.user_scenario.instructions
    if isinstance(scenario, str):
        return scenario
    parts = {
        "Why you call": scenario.reason_for_call,
        "What you know": scenario.known_info,
        "What you do not know": scenario.unknown_info,
        "How you behave": scenario.task_instructions,
    }
    return "\n\n".join(f"{title}:\n{text.strip()}" for title, text in parts.items() if text and text.strip())


def answers(task: Task, facts: Mapping[str, ToolFacts], calls: Sequence[Action]) -> Iterator[JsonObject]:
    """Give the answers and the calls of the scripted user.

    Args:
        task: the task.
        facts: the facts of the domain's tools.
        calls: the user's calls of the reference.
    """
    # Equal calls once: the words that ask for them are the same.
    with_arguments = [call for call in {request(call): call for call in calls}.values() if call.arguments]
    for call in with_arguments:
        alone = sum(other.name == call.name for other in with_arguments) == 1
        asked = [request(call), *(facts[call.name].asked if alone else _distinctive(call))]
        yield {"asked": asked, "calls": [{"tool": call.name, "arguments": call.arguments}], "say": f"{{{call.name}}}"}
    for name, fact in facts.items():
        if fact.by == "user" and not fact.needs:
            yield {"asked": [_said(name), *fact.asked], "calls": [{"tool": name}], "say": f"{{{name}}}"}
    scenario = task.user_scenario.instructions
    if isinstance(scenario, Instructions):
        for words in (scenario.known_info, scenario.unknown_info):
            if words and words.strip():
                yield {"asked": list(_IDENTITY), "say": first_person(words).strip()[:_LONGEST]}


def _distinctive(call: Action) -> list[str]:
    """Return words that tell a call from others of its tool: its last argument, as in "storage permission"."""
    name, value = list(call.arguments.items())[-1]
    words = str(value).replace("_", " "), name.replace("_", " ")
    return [f"{words[0]} {words[1]}", f"{words[1]} for {words[0]}"]


def request(call: Action) -> str:
    """Return the words by which a user is asked for a call: its name and the values of its arguments."""
    return _said(call.name, *call.arguments.values())


def _said(name: str, *values: Json) -> str:
    """Return words for a call. Their last one ends them, as the words of another call may begin alike."""
    return " ".join([*(str(part).replace("_", " ") for part in (name, *values)), "now"])


def oracle(actions: Sequence[Action], must_say: Sequence[str]) -> list[JsonObject]:
    """Return the dialogue of an agent that knows the reference: it makes its own calls, and asks the user for the user's.

    Args:
        actions: the reference: both sides' calls, in order.
        must_say: the texts that a reply must have.
    """
    turns: list[JsonObject] = []
    calls: list[dict[str, Any]] = []
    for action in actions:
        if action.requestor == "user":
            turns.append({"calls": calls, "say": f"Please {request(action)}."})
            calls = []
        else:
            calls.append({"tool": action.name, "arguments": action.arguments})
    sentences = ["Everything is done.", *(f"{words}." for words in must_say)]
    turns.append({"calls": calls, "say": " ".join(sentences)})
    return turns
