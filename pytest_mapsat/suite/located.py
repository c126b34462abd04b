"""Plain data that remembers on which line of its file each part stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_mapsat.model import Json

#: Keys and indices from the top of a document to one of its parts.
DataPath = Sequence[str | int]


@dataclass(slots=True)
class Lines:
    """The line of one part, and those of its children. Data of one line (JSONL) has no children."""

    line: int
    children: dict[str | int, Lines] = field(default_factory=dict)

    def at(self, path: DataPath) -> int:
        """Return the line of the part at ``path``, or of the nearest part above it that is known."""
        here = self
        for key in path:
            below = here.children.get(key)
            if below is None:
                break
            here = below
        return here.line


@dataclass(frozen=True, slots=True)
class Located:
    """A document, or one element of one."""

    data: Json
    lines: Lines
