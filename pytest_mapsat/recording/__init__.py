"""The user's own tools: called for real, and what they answer kept as recordings of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.on_demand import fetched

if TYPE_CHECKING:
    from .derive import with_things
    from .keep import RECORDED, Keeping, keep_recordings
    from .offers import Offer, offers_of
    from .own_sandbox import Kept, RecordingSandbox, recorded_steps, unanswered_steps
    from .own_tools import NoAnswerError, OwnTools
    from .session import RecordingWarning, describe_tools, recording
    from .simulated import SIMULATION_PROMPTS, SimulatingSandbox, Simulator
else:
    __getattr__ = fetched(
        __name__,
        {
            "derive": ("with_things",),
            "keep": ("RECORDED", "Keeping", "keep_recordings"),
            "offers": ("Offer", "offers_of"),
            "own_tools": ("NoAnswerError", "OwnTools"),
            "session": ("RecordingWarning", "describe_tools", "recording"),
            "simulated": ("SIMULATION_PROMPTS", "SimulatingSandbox", "Simulator"),
            "own_sandbox": ("Kept", "RecordingSandbox", "recorded_steps", "unanswered_steps"),
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
    "RecordingSandbox",
    "RecordingWarning",
    "SimulatingSandbox",
    "Simulator",
    "describe_tools",
    "keep_recordings",
    "offers_of",
    "recorded_steps",
    "recording",
    "unanswered_steps",
    "with_things",
]
