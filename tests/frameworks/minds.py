"""One mind for the fake models of all frameworks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Step:
    """What the mind has the model do: call tools, say something (as data where an output type is wanted), think before it, or break."""

    say: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    data: dict[str, Any] | None = None
    thought: str = ""


@dataclass
class Seen:
    """What the model is shown: who said what, in order, and which tools it may call."""

    messages: list[tuple[str, str]] = field(default_factory=list)

    def said(self, role: str) -> list[str]:
        return [text for speaker, text in self.messages if speaker == role]


def mind(seen: Seen, *, structured: bool = False) -> Step:
    """Decide by the dialogue alone, so that one model may serve many episodes at once."""
    first, *more = seen.said("user")
    results = seen.said("tool")
    if first == "Crash":
        raise RuntimeError("the model's own words")
    if first == "Plan a trip" and not more:
        return Step("What time do you leave?")
    if not results:
        tool, _, what = first.partition(" ")
        places = ["" if what == "nothing" else what.removeprefix("a ")]
        if tool in ("Both", "Each"):
            places.append("secret")
        tool = "ask_finder" if tool == "Each" else "find" if tool in ("Plan", "Break", "Both") else tool.lower()
        return Step(calls=[(tool, {"query": place}) for place in places], thought="I look it up.")
    if first.startswith("Break"):
        raise RuntimeError("the model broke after the call")
    words = " | ".join([*seen.said("user"), *results])
    return Step(words, data={"place": results[-1], "stars": 4} if structured else None)
