"""What crosses from a worker to the controller, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_mapsat.formats import Place
from pytest_mapsat.model import JsonObject, Scorecard
from pytest_mapsat.runs.episodes import Ended


@dataclass
class Collected:
    """What a process has collected.

    Attributes:
        items: node ids of all built-in items, in order.
        deselected: those that pytest was told of as deselected.
        selected: those that are left to run.
        any_deselected: whether any test at all was deselected.
        roots: the folders of the suites that they are from.
    """

    items: dict[str, None] = field(default_factory=dict)
    deselected: set[str] = field(default_factory=set)
    selected: list[str] = field(default_factory=list)
    any_deselected: bool = False
    roots: list[Path] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        """Return it as plain data, without the items that are left to run: the controller knows those."""
        selected = set(self.selected)
        left_out = [nodeid for nodeid in self.items if nodeid not in selected]
        return {
            "deselected": [nodeid for nodeid in left_out if nodeid in self.deselected],
            "removed": [nodeid for nodeid in left_out if nodeid not in self.deselected],
            "any_deselected": self.any_deselected,
            "roots": [str(root) for root in self.roots],
        }


def packed(ended: Ended) -> JsonObject:
    """Return an episode that has ended as plain data; its turns stay in the journal, or go with its line."""
    return {
        "card": without_turns(ended.card).model_dump_json(),
        "place": None if ended.place is None else list(ended.place),
        "line": None if ended.line is None else ended.line.decode(),
    }


def unpacked(data: Any) -> Ended:
    """Return the episode that ``packed`` gave."""
    return Ended(
        card=Scorecard.model_validate_json(data["card"]),
        place=None if data["place"] is None else Place(*data["place"]),
        line=None if data["line"] is None else data["line"].encode(),
    )


def without_turns(card: Scorecard) -> Scorecard:
    """Return a scorecard whose trajectory holds no turns: those of a whole run are too many to keep."""
    return card.model_copy(update={"trajectory": card.trajectory.model_copy(update={"turns": ()})})
