"""The user's own tools: called for real, and what they answer kept as recordings of a suite."""

from .own_tools import Keeping as Keeping
from .own_tools import KeptAnswers as KeptAnswers
from .own_tools import NoAnswerError as NoAnswerError
from .own_tools import OwnTools as OwnTools
from .own_tools import RecordingOffer as RecordingOffer
from .own_tools import RecordingSandbox as RecordingSandbox
from .own_tools import RecordingWarning as RecordingWarning
from .own_tools import changes_something as changes_something
from .own_tools import describe_tools as describe_tools
from .own_tools import keep_recordings as keep_recordings
from .own_tools import offers_of as offers_of
from .own_tools import recorded_copy as recorded_copy
from .own_tools import recorded_steps as recorded_steps
from .own_tools import recording as recording
from .own_tools import unanswered_steps as unanswered_steps
from .own_tools import with_things as with_things
