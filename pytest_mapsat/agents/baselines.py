"""Agents that need no intelligence: what any real agent must do better than, and the oracle, which knows everything.

``first`` takes the first thing that the first search finds; ``surface`` and ``profile`` know the checks of a part of the truth. What the three say is found by playing and judging (``proof/baselines.py``), so a run hands it to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal, NamedTuple, cast, get_args

from pytest_mapsat.model import Case, InfrastructureError, JsonObject, OracleTurn, UsageError, hint_at
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox

from .source import AgentContext, AgentSource, Conversation, Session, SourceSpec

_Name = Literal["silent", "constant", "first", "surface", "profile", "oracle"]
_SAME_FOR_ALL = "Thank you for your question. I hope that you have a pleasant trip."


class Dialogue(NamedTuple):
    """The calls and words of a baseline in one case, and the structured output of its last reply."""

    turns: tuple[OracleTurn, ...]
    output: JsonObject


@dataclass(frozen=True)
class BaselineSource(AgentSource):
    """One of the built-in baselines; ``dialogue`` holds the words that it plays in an open case (the oracle's come from the case)."""

    name: _Name
    dialogue: Dialogue | None = None

    @property
    def spec(self) -> str:  # type: ignore[override]
        """Return the spec of the baseline, such as ``baseline:silent``."""
        return f"baseline:{self.name}"

    @property
    def needs_dialogue(self) -> bool:
        """Return whether the run must supply the dialogue that this baseline plays."""
        return self.name in ("first", "surface", "profile")

    @property
    def agent(self) -> object:  # type: ignore[override]
        """Return the source itself: a baseline has no separate agent object."""
        return self

    def open(self, case: Case, toolbox: Toolbox, context: Callable[[], AgentContext], session: Session) -> Conversation:
        """Return the baseline for one episode."""
        if self.name in ("silent", "constant"):
            replies: Iterator[Reply] = repeat(Reply(_SAME_FOR_ALL if self.name == "constant" else ""))
        else:
            oracle = self.name == "oracle"
            dialogue = Dialogue(case.truth.oracle, case.truth.output) if oracle else self.dialogue
            replies = _play_dialogue(case, self.name, dialogue, toolbox)
        return _Prepared(replies, self, toolbox, context, session)


NAMES = ", ".join(f"baseline:{name}" for name in get_args(_Name))


def open_source(spec: SourceSpec) -> BaselineSource:
    """Return the source that ``baseline:NAME`` names.

    Raises:
        UsageError: there is no baseline of this name.
    """
    if spec.rest in get_args(_Name):
        return BaselineSource(cast("_Name", spec.rest))
    raise UsageError(f"unknown baseline {spec.rest!r}; there are {NAMES}{hint_at(spec.rest, get_args(_Name))}")


class _Prepared(Conversation):
    """An episode whose replies are known before the messages."""

    def __init__(self, replies: Iterator[Reply], *handed: Any) -> None:
        super().__init__(*handed)
        self._replies = replies

    def reply(self, message: str) -> Reply:  # noqa: ARG002  # the protocol's argument
        """Return the next reply."""
        return next(self._replies)


def _passes_by(case: Case, tool: str, number: int) -> bool:
    """Return whether a call fails that succeeds if it is made again; one is not made again whose reply alone is lost or late."""
    failing = [fault for fault in case.world.faults if fault.tool == tool and fault.error not in ("slow", "lost_reply")]
    return any(fault.call != "every" and fault.hits(number) for fault in failing)


def _play_dialogue(case: Case, name: str, dialogue: Dialogue | None, toolbox: Toolbox) -> Iterator[Reply]:
    """Make the tool calls of a fixed dialogue and yield its replies; the last reply carries the output.

    The oracle asks a user again that does not answer at once, and holds to its last reply while a user with a manner goes on.
    """
    if dialogue is None:
        raise InfrastructureError(f"baseline:{name} plays in runs and in mapsat lint --baselines only")
    turns, output = dialogue
    user = case.truth.user
    asks_twice = name == "oracle" and not user.manners.isdisjoint(("changes_mind", "other_first"))
    if not turns:
        raise InfrastructureError(f"case {case.id} has no oracle dialogue (truth.oracle)")
    made: Counter[str] = Counter()
    for number, turn in enumerate(turns, start=1):
        for call in turn.calls:
            made[call.tool] += 1
            while name == "oracle" and _passes_by(case, call.tool, made[call.tool]):
                toolbox.call(call.tool, dict(call.arguments))
                made[call.tool] += 1
            toolbox.call(call.tool, dict(call.arguments))
        yield Reply(turn.say, output=dict(output) if output and number == len(turns) else None)
        if asks_twice and number < len(turns):
            yield Reply(turn.say)
    while name != "oracle" or user.manner or user.attempts:
        yield Reply(turns[-1].say, output=dict(output) if output and name == "oracle" else None)
    raise InfrastructureError(
        f"case {case.id}: the user goes on after all {len(turns)} replies of the oracle dialogue (truth.oracle)"
    )
