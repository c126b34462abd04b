"""The user's own tools: called for real, and what they answer kept as recordings of a suite."""

from __future__ import annotations

from .keep import RECORDED, Keeping, Offer, RecordingWarning, describe_tools, keep_recordings, offers_of, recording
from .own_sandbox import (
    SIMULATION_PROMPTS,
    Kept,
    RecordingSandbox,
    SimulatingSandbox,
    Simulator,
    recorded_steps,
    unanswered_steps,
)
from .own_tools import NoAnswerError, OwnTools, changes_something, with_things

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
    "changes_something",
    "describe_tools",
    "keep_recordings",
    "offers_of",
    "recorded_steps",
    "recording",
    "unanswered_steps",
    "with_things",
]
