"""The judge that asks a model: what it is shown, what is asked, what of its reply holds, and what a majority of votes says."""

from __future__ import annotations

from .judge import BESIDE_PROMPTS, PROMPTS, ClosedDoor, ModelJudge

__all__ = ["BESIDE_PROMPTS", "PROMPTS", "ClosedDoor", "ModelJudge"]
