"""A run as one HTML file: the view of it here, the page in ``templates/``."""

from __future__ import annotations

from .case import Dialogues, opening
from .page import html_report

__all__ = ["Dialogues", "html_report", "opening"]
