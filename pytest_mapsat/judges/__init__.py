"""Who labels a trajectory: the machine checks of a case, or verdicts recorded in a file."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .blocks import Blocks as Blocks
from .blocks import Decided as Decided
from .calibration import calibrate as calibrate
from .calibration import colour as colour
from .claims import Judged as Judged
from .context import Context as Context
from .evidence import UNITS as UNITS
from .evidence import KnownFigure as KnownFigure
from .findings import Finding as Finding
from .judge import ChecksJudge as ChecksJudge
from .judge import DialogueKey as DialogueKey
from .judge import Judge as Judge
from .judge import LabelsOfPeople as LabelsOfPeople
from .judge import asks_model as asks_model
from .judge import default_votes as default_votes
from .judge import make_judge as make_judge
from .judge import people_first as people_first
from .labels import all_unevaluated as all_unevaluated
from .labels import evaluate as evaluate
from .labels import is_level as is_level
from .labels import unevaluated as unevaluated
from .labels import unjudgeable as unjudgeable
from .python_check import Call as Call
from .python_check import Episode as Episode

if TYPE_CHECKING:
    from .calls import matching as matching
    from .llm_request import BESIDE_PROMPTS as BESIDE_PROMPTS
    from .llm_request import PROMPTS as PROMPTS
    from .llm_request import speaks_to_a_model as speaks_to_a_model
    from .recorded import RecordedJudge as RecordedJudge
else:
    __getattr__ = fetched(
        __name__,
        {
            "calls": ("matching",),
            "llm_request": ("BESIDE_PROMPTS", "PROMPTS", "speaks_to_a_model"),
            "recorded": ("RecordedJudge",),
        },
    )
