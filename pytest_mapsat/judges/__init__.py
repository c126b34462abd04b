"""Who labels a trajectory: the machine checks of a case, or verdicts recorded in a file."""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .claims import JudgedClaim as JudgedClaim
from .context import JudgedDialogue as JudgedDialogue
from .evidence import UNITS as UNITS
from .evidence import KnownFigure as KnownFigure
from .exact import matching as matching
from .findings import Finding as Finding
from .findings import calibrate as calibrate
from .findings import cite as cite
from .findings import colour as colour
from .judge import ChecksJudge as ChecksJudge
from .judge import DialogueKey as DialogueKey
from .judge import Judge as Judge
from .judge import LabelsOfPeople as LabelsOfPeople
from .judge import RecordedJudge as RecordedJudge
from .judge import asks_model as asks_model
from .judge import default_votes as default_votes
from .judge import make_judge as make_judge
from .judge import people_first as people_first
from .labels import Observed as Observed
from .labels import all_unevaluated as all_unevaluated
from .labels import evaluate as evaluate
from .labels import is_level as is_level
from .labels import unevaluated as unevaluated
from .labels import unjudgeable as unjudgeable
from .prose import breaks as breaks
from .python_check import Blocks as Blocks
from .python_check import Call as Call
from .python_check import Decided as Decided
from .python_check import Episode as Episode
from .things import Recommendation as Recommendation
from .things import find_entities as find_entities
from .things import standings as standings

if TYPE_CHECKING:
    from .llm_judge import BESIDE_PROMPTS as BESIDE_PROMPTS
    from .llm_judge import PROMPTS as PROMPTS
    from .llm_judge import speaks_to_a_model as speaks_to_a_model
else:
    __getattr__ = fetched(__name__, {"llm_judge": ("BESIDE_PROMPTS", "PROMPTS", "speaks_to_a_model")})
