"""The judge that asks a model: what it is shown, what is asked, what of its reply holds, and what a majority of votes says."""

from .asking import BESIDE_PROMPTS, PROMPTS
from .judge import ModelJudge

__all__ = ["BESIDE_PROMPTS", "PROMPTS", "ModelJudge"]
