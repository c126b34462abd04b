"""The user's own tools: called for real, and what they answer kept as records of a suite."""

from __future__ import annotations

from .derive import with_things
from .keep import RECORDED, Keeping, keep_records
from .offers import Offer, offers_of
from .own_tools import NoAnswerError, OwnTools
from .session import RecordingWarning, describe_tools, recording
from .simulated import SIMULATION_PROMPTS, SimulatingWorld, Simulator
from .world import Kept, RecordingWorld, recorded_steps, unanswered_steps

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
