"""A run as one HTML file: the view of it here, the page in ``templates/``."""

from __future__ import annotations

from .page import html_report

__all__ = ["html_report"]
