"""The user's own tools: called for real, and what they answer kept as recordings of a suite."""

from .keep import SIMULATION_PROMPTS as SIMULATION_PROMPTS
from .keep import Keeping as Keeping
from .keep import Kept as Kept
from .keep import Offer as Offer
from .keep import RecordingSandbox as RecordingSandbox
from .keep import RecordingWarning as RecordingWarning
from .keep import SimulatingSandbox as SimulatingSandbox
from .keep import describe_tools as describe_tools
from .keep import keep_recordings as keep_recordings
from .keep import offers_of as offers_of
from .keep import recorded_copy as recorded_copy
from .keep import recorded_steps as recorded_steps
from .keep import recording as recording
from .keep import unanswered_steps as unanswered_steps
from .own_tools import NoAnswerError as NoAnswerError
from .own_tools import OwnTools as OwnTools
from .own_tools import changes_something as changes_something
from .own_tools import with_things as with_things
