"""A line of the table."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        what: what was measured.
        figure: how much it came to.
        budget: how much it may be; empty where it is only told.
        holds: whether it is within its budget.
        how: what stands behind the figure.
    """

    what: str
    figure: str
    budget: str
    holds: bool
    how: str
