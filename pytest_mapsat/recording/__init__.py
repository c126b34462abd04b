"""The user's own tools: called for real, and what they answer kept as recordings of a suite."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

if TYPE_CHECKING:
    from .own_tools import *
else:
    _NAMES = (
        "Keeping KeptAnswers NoAnswerError OwnTools RecordingOffer RecordingSandbox RecordingWarning changes_something describe_tools "
        "keep_recordings offers_of recorded_copy recorded_steps recording unanswered_steps with_things"
    )
    __getattr__ = fetched(__name__, {"own_tools": _NAMES.split()})
