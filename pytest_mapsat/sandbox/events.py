"""The events of a case: changes and words that come during an episode, in a sandbox around the one that answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_mapsat.model import After, Event, Json, Step, tool_name

from .state import net_changes

if TYPE_CHECKING:
    from .layers import PythonSandbox
    from .resolver import SandboxAnswer


class EventSandbox:
    """A sandbox in which the events of a case happen. A call is answered first, then come the events after it.

    Other sandboxes around it hand it on as their attribute ``events``.

    Attributes:
        tools: the suite's tools by name.
        setup: the changes made to rows while the sandbox was made.
    """

    def __init__(self, sandbox: PythonSandbox, events: Sequence[Event]) -> None:
        self.tools, self.setup = sandbox.tools, sandbox.setup
        self._sandbox = sandbox
        self._waiting = dict(enumerate(events, 1))
        self._answered: Counter[str] = Counter()
        self._steps: list[Step] = []
        self._unsaid: list[Event] = []

    @property
    def events(self) -> EventSandbox:
        """Return the sandbox itself."""
        return self

    def call(self, name: str, arguments: Mapping[str, Json]) -> SandboxAnswer:
        """Answer a call of agent or user; then let the events after it happen."""
        answer = self._sandbox.call(name, arguments)
        if answer.status == "ok":
            self.answered(name)
        return answer

    def answered(self, name: str) -> None:
        """Let the events after one more answered call of a tool happen. Raises InfrastructureError."""
        name = tool_name(self.tools, name)
        self._answered[name] += 1
        moment = After(tool=name, call=self._answered[name])
        self.happen(lambda after: after == moment)

    def replied(self, number: int) -> None:
        """Let the events after the agent's reply of this number happen. Raises InfrastructureError."""
        self.happen(lambda after: after.turn == number)

    def happen(self, come: Callable[[After], bool]) -> None:
        """Let the events happen, in their order, that have not happened and whose moment has come. Raises InfrastructureError."""
        for number in [number for number, event in self._waiting.items() if come(event.after)]:
            event = self._waiting.pop(number)
            changes, notes = [*self._sandbox.lay(event.rows)], [str(event.after)]
            for call in event.calls:
                answer = self._sandbox.call(call.tool, call.arguments)
                changes += answer.changed
                if answer.status != "ok":
                    why = answer.result.get("message", "") if isinstance(answer.result, dict) else ""
                    notes.append(f"{call.tool} ends as {answer.status}: {why}"[:500])
            changed = net_changes(changes)
            if event.rows and not changed:
                notes.append("no row changed")
            self._steps.append(Step(kind="event", id=str(number), text="; ".join(notes), changed=changed))
            self._unsaid += [event] if event.say else []

    def taken(self) -> tuple[Step, ...]:
        """Return the events that happened since this was last asked, as steps."""
        steps, self._steps = tuple(self._steps), []
        return steps

    def unsaid(self) -> tuple[Event, ...]:
        """Return the events whose words the user has to say, since this was last asked."""
        events, self._unsaid = tuple(self._unsaid), []
        return events
