"""Who labels a trajectory: the machine checks of a case, or verdicts recorded in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .calibration import calibrate, colour
from .claims import Judged
from .context import Context
from .evidence import KnownFigure
from .findings import Finding, match_in_words
from .judge import (
    ChecksJudge,
    DialogueKey,
    Judge,
    LabelsOfPeople,
    PeopleFirst,
    asks_model,
    default_votes,
    make_judge,
    people_first,
)
from .labels import all_unevaluated, evaluate, is_level, unevaluated, unjudgeable
from .python_check import Call, Episode

if TYPE_CHECKING:
    from .llm_judge import ModelJudge
    from .llm_request import BESIDE_PROMPTS, PROMPTS
    from .recorded import RecordedJudge
else:
    __getattr__ = fetched(
        __name__,
        {
            "llm_judge": ("ModelJudge",),
            "llm_request": ("BESIDE_PROMPTS", "PROMPTS"),
            "recorded": ("RecordedJudge",),
        },
    )

__all__ = [
    "BESIDE_PROMPTS",
    "PROMPTS",
    "Call",
    "ChecksJudge",
    "Context",
    "DialogueKey",
    "Episode",
    "Finding",
    "Judge",
    "Judged",
    "KnownFigure",
    "LabelsOfPeople",
    "ModelJudge",
    "PeopleFirst",
    "RecordedJudge",
    "all_unevaluated",
    "asks_model",
    "calibrate",
    "colour",
    "default_votes",
    "evaluate",
    "is_level",
    "make_judge",
    "match_in_words",
    "people_first",
    "unevaluated",
    "unjudgeable",
]
