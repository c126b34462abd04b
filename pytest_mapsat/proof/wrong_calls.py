"""Wrong calls: one that an answer rests on was never made, or was not answered."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_mapsat.model import Step

from .play import Draft, Play


def dropped_call(play: Play) -> Iterator[Draft]:
    """A tool was never called."""
    for tool in dict.fromkeys(step.tool for step in play.trajectory.calls):
        turns = [
            turn.model_copy(update={"steps": tuple(step for step in turn.steps if not _calls(step, tool))})
            for turn in play.trajectory.turns
        ]
        yield Draft(f"{tool} was never called", play.with_turns(turns))


def other_argument(play: Play) -> Iterator[Draft]:
    """A tool was called for another way to travel."""
    for tool in dict.fromkeys(step.tool for step in play.trajectory.calls if "mode" in step.arguments):
        modes = {str(step.arguments.get("mode")) for step in play.trajectory.calls if step.tool == tool}
        new = next(mode for mode in ("transit", "walking", "driving") if mode not in modes)
        turns = [
            turn.model_copy(
                update={"steps": tuple(_with_mode(step, new) if _calls(step, tool) else step for step in turn.steps)}
            )
            for turn in play.trajectory.turns
        ]
        yield Draft(f"{tool} was called for the mode {new}", play.with_turns(turns))


def _calls(step: Step, tool: str) -> bool:
    return step.kind == "call" and step.tool == tool


def _with_mode(step: Step, mode: str) -> Step:
    return step.model_copy(update={"arguments": {**step.arguments, "mode": mode}})
