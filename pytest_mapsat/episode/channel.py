"""Between an agent's tools and the world that answers: calls are recorded, counted and, when the reply is over, refused.

The agent is handed a function that holds a number. The world, with its records, is found by that number in a table of this
module, so that nothing that an agent holds leads to it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from pytest_mapsat.agents import as_json
from pytest_mapsat.model import Json, JsonObject, Step
from pytest_mapsat.sandbox import Answer, World

from .limits import Limits


class ToolsClosed(RuntimeError):  # noqa: N818  # an agent reads this name
    """A tool was called when no reply is under way, or too often."""


class Channel:
    """The calls of one episode.

    Attributes:
        broken: the world's exception, once it raised one.
        overrun: whether a reply made more calls than it may.
    """

    def __init__(self, world: World, limits: Limits) -> None:
        self.broken: Exception | None = None
        self.overrun = False
        self._world = world
        self._limits = limits
        self._lock = Lock()
        self._open = False
        self._steps: list[Step] = []
        self._numbers = itertools.count(1)

    def open(self) -> None:
        """Let calls through, for one reply."""
        self._steps = []
        self._open = True

    def close(self) -> tuple[Step, ...]:
        """Refuse calls from now on, and return those of the reply. Never waits for a call that is still under way."""
        self._open = False
        return tuple(self._steps)

    def call(self, name: str, arguments: JsonObject) -> tuple[Json, str]:
        """Answer a call.

        Args:
            name: the tool.
            arguments: a copy of what the agent gave; kept.

        Returns:
            The result and an empty text, or nothing and why the call was refused.
        """
        with self._lock:
            if refusal := self._refusal():
                return None, refusal
            steps = self._steps
            step = self._answered(name, arguments)
            # The reply may have ended while the world was working; its steps are taken by then.
            if step is None or not self._open or steps is not self._steps:
                return None, "the world of tools broke" if step is None else _OVER
            steps.append(step)
            return as_json(step.result), ""

    def _refusal(self) -> str:
        if not self._open:
            return _OVER
        if len(self._steps) >= self._limits.max_calls:
            self.overrun = True
            return f"a reply may make at most {self._limits.max_calls} tool calls"
        return "the world of tools broke" if self.broken else ""

    def _answered(self, name: str, arguments: JsonObject) -> Step | None:
        try:
            answer = self._too_large(arguments) or self._world.call(name, arguments)
        except RecursionError:
            raise  # the agent has used up the stack: its own fault
        except Exception as error:  # noqa: BLE001  # a world that raises is nobody's fault but its own
            self.broken = error
            return None
        return Step(
            kind="call",
            id=f"c{next(self._numbers)}",
            tool=name,
            arguments=arguments if isinstance(arguments, dict) else {},
            result=answer.result,
            status=answer.status,
            provenance=answer.provenance,
        )

    def _too_large(self, arguments: Json) -> Answer | None:
        """Refuse arguments that are too large, and forget them: they would be kept in the trajectory."""
        if len(json.dumps(arguments, ensure_ascii=False)) <= self._limits.max_text:
            return None
        if isinstance(arguments, dict):
            arguments.clear()
        message = f"the arguments have more than {self._limits.max_text} characters"
        return Answer({"status": "error", "message": message}, "error")


_OVER = "no reply is under way: tools can be called only while the agent is asked"
_channels: dict[int, Channel] = {}
_numbers = itertools.count(1)


@contextmanager
def port(channel: Channel) -> Iterator[Callable[[str, JsonObject], Json]]:
    """Give the function that makes calls on the channel; afterwards it leads nowhere."""
    number = next(_numbers)
    _channels[number] = channel
    try:
        yield _caller(number)
    finally:
        channel.close()
        del _channels[number]


def _caller(number: int) -> Callable[[str, JsonObject], Json]:
    def call(name: str, arguments: JsonObject) -> Json:
        # Copied and raised here and not where the channel is known: the frames of a traceback show their variables.
        result, refusal = _pass_on(number, str(as_json(name)), as_json(arguments))
        if refusal:
            raise ToolsClosed(refusal)
        return result

    return call


def _pass_on(number: int, name: str, arguments: JsonObject) -> tuple[Json, str]:
    channel = _channels.get(number)
    return (None, _OVER) if channel is None else channel.call(name, arguments)
