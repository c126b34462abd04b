"""Faults of tools: around the sandbox of a case, and only where the case has some.

What fails is decided by the number of the call alone, so that it is the same in every process.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import sleep
from typing import TYPE_CHECKING, Any

from pytest_mapsat.interpreter import waiting
from pytest_mapsat.model import Case, Json, JsonObject, Provenance, StepStatus, ToolFault, tool_name

from .resolver import SandboxAnswer

if TYPE_CHECKING:
    from .layers import Sandbox

#: What a caller reads where a call fails, behind the name of the tool.
_MESSAGES: Mapping[str, str] = {
    "timeout": "the service did not answer in time",
    "server_error": "the service failed (internal server error)",
    "rate_limit": "too many requests; try again later",
    "refused": "the service refused this request",
}
#: Seconds where a fault names none.
_RETRY_AFTER, _PAUSE = 1.0, 0.1


class FaultySandbox:
    """Answers calls from another sandbox, except those that a fault of the case's world hits.

    A fault that changes an answer (slow, empty, cut, stale, lost_reply) leaves one alone that is no success: it is the agent's mistake, or a miss.

    Args:
        case: the case, with its faults.
        inner: answers the calls.
        at_start: makes a sandbox in the state of the case's start, for stale answers.

    Attributes:
        tools: the tools by name.
        setup: the changes made to rows while the other sandbox was made.
        events: the events of the other sandbox, which come after its calls; None if it has none.
        pausing: whether a late answer is being waited for, as the case has it.
    """

    def __init__(self, case: Case, inner: Sandbox, at_start: Callable[[], Sandbox]) -> None:
        self.tools, self.setup = inner.tools, inner.setup
        self.events: Any = getattr(inner, "events", None)
        self._faults = case.world.faults
        self._inner = inner
        self._at_start = at_start
        self._calls: Counter[str] = Counter()
        self.pausing = False

    def call(self, name: str, arguments: Mapping[str, Json]) -> SandboxAnswer:
        """Answer a call; an agent's mistake gives an error answer, never an exception."""
        own = tool_name(self.tools, name) if isinstance(name, str) else ""
        self._calls[own] += 1
        fault = next((each for each in self._faults if each.tool == own and each.hits(self._calls[own])), None)
        if fault is None:
            return self._inner.call(name, arguments)
        if fault.error in _MESSAGES:
            return _failed(fault, fault.error)
        before = self._at_start() if fault.error == "stale" else self._inner
        answer = before.call(name, arguments)
        if answer.status != "ok":
            return answer
        if fault.error == "lost_reply":  # it counts as answered: it is carried out
            return replace(_failed(fault, "timeout", "ok"), changed=answer.changed, writes=answer.writes)
        note: str = fault.error
        if fault.error == "slow":
            pause = _PAUSE if fault.seconds is None else fault.seconds
            note = f"slow, {pause:g} s"
            self.pausing = True
            with waiting():
                sleep(pause)
            self.pausing = False
        provenance = (answer.provenance or Provenance(kind="fault")).model_copy(update={"kind": "fault", "note": note})
        change = {"empty": _emptied, "cut": _cut}.get(fault.error)
        return replace(answer, result=change(answer.result) if change else answer.result, provenance=provenance)


def _failed(fault: ToolFault, error: str, status: StepStatus = "error") -> SandboxAnswer:
    """Return the answer to a call that fails: its status, the error, a message, and when to try again."""
    word: StepStatus = "refused" if error == "refused" else "error"
    result: JsonObject = {"status": word, "error": error, "message": f"{fault.tool}: {_MESSAGES[error]}"}
    if error == "rate_limit":
        result["retry_after"] = _RETRY_AFTER if fault.seconds is None else fault.seconds
    return SandboxAnswer(result, word if status == "error" else status, Provenance(kind="fault", note=fault.error))


def _emptied(result: Json) -> Json:
    """Return a result with its lists empty."""
    if isinstance(result, dict):
        return {name: _emptied(value) for name, value in result.items()}
    return [] if isinstance(result, list) else result


def _cut(result: Json) -> str:
    """Return the first half of a result as JSON text; that of an object or a list, so that it is never valid JSON."""
    text = json.dumps(result if isinstance(result, (dict, list)) else {"result": result}, ensure_ascii=False)
    return text[: max(1, len(text) // 2)]
