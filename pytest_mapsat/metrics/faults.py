"""Who broke an episode, so that nobody's fault reads as another's."""

from __future__ import annotations

from pytest_mapsat.model import Blame, Ending, Fault, Outcome, Trajectory

_BLAME_BY_ENDING: dict[Ending, Blame] = {
    "agent_error": "agent",
    "timeout": "agent",
    "user_error": "user",
    "infrastructure_error": "infrastructure",
}


def fault_of(trajectory: Trajectory) -> Fault | None:
    """Return what broke the episode, or None where the agent had its say.

    An agent that gives only blank replies, or none, has broken it itself.
    """
    if trajectory.fault is not None:
        return trajectory.fault
    if trajectory.ending in _BLAME_BY_ENDING:
        return Fault(blame=_BLAME_BY_ENDING[trajectory.ending], message=trajectory.ending.replace("_", " "))
    replies = trajectory.replies
    if any(_visible(turn.text) for turn in replies):
        return None
    found = f"{len(replies)} blank replies" if replies else "no reply"
    return Fault(blame="agent", message=f"the agent gave no answer ({found})")


def class_of(fault: Fault) -> Outcome:
    """Return the outcome class of an item that ``fault`` broke: the agent's own fault is its failure."""
    if fault.blame == "agent":
        return "failed"
    return "unevaluated" if fault.blame == "judge" else "error"


def _visible(text: str) -> bool:
    return any(not char.isspace() and char.isprintable() for char in text)
