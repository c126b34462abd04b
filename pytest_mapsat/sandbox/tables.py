"""The rows that a world starts from, table by table, as a suite's ``state/`` holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_mapsat.model import JsonObject


@dataclass(frozen=True, eq=False)
class Table:
    """One table of a suite. Its rows are shared by all cases: nobody changes them.

    Attributes:
        name: the table; ``state/NAME.jsonl`` holds it.
        rows: JSON objects, in the order of the file.
    """

    name: str
    rows: Sequence[JsonObject]
