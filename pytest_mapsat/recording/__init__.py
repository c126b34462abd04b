"""The user's own tools: called for real, and what they answer kept as records of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.on_demand import fetched

if TYPE_CHECKING:
    from .derive import with_things
    from .keep import RECORDED, Keeping, keep_records
    from .offers import Offer, offers_of
    from .own_tools import NoAnswerError, OwnTools
    from .session import RecordingWarning, describe_tools, recording
    from .simulated import SIMULATION_PROMPTS, SimulatingWorld, Simulator
    from .world import Kept, RecordingWorld, recorded_steps, unanswered_steps
else:
    __getattr__ = fetched(
        __name__,
        {
            "derive": ("with_things",),
            "keep": ("RECORDED", "Keeping", "keep_records"),
            "offers": ("Offer", "offers_of"),
            "own_tools": ("NoAnswerError", "OwnTools"),
            "session": ("RecordingWarning", "describe_tools", "recording"),
            "simulated": ("SIMULATION_PROMPTS", "SimulatingWorld", "Simulator"),
            "world": ("Kept", "RecordingWorld", "recorded_steps", "unanswered_steps"),
        },
    )

__all__ = [
    "RECORDED",
    "SIMULATION_PROMPTS",
    "Keeping",
    "Kept",
    "NoAnswerError",
    "Offer",
    "OwnTools",
    "RecordingWarning",
    "RecordingWorld",
    "SimulatingWorld",
    "Simulator",
    "describe_tools",
    "keep_records",
    "offers_of",
    "recorded_steps",
    "recording",
    "unanswered_steps",
    "with_things",
]
