"""What an import did: what came over, what did not, and what is odd. Nothing is lost in silence."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field

from pytest_mapsat.model import JsonObject


@dataclass(frozen=True)
class Note:
    """One thing to know about an import.

    Attributes:
        kind: a short fixed word for the sort of thing.
        place: file and row or case in the source.
        message: what it is.
    """

    kind: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message} [{self.kind}]"


@dataclass(frozen=True)
class ImportReport:
    """The outcome of an import.

    Attributes:
        format: the source's format.
        cases: how many cases were written.
        tools: how many tools.
        recordings: how many recordings, orphans included.
        orphans: recordings of cases that the source does not have; kept, never served.
        recordings_by_tool: the same recordings by tool.
        not_carried: how many things of a sort stand in the source and not in the suite.
        notes: everything odd, in the order of the source.
    """

    format: str
    cases: int
    tools: int
    recordings: int
    orphans: int
    recordings_by_tool: dict[str, int]
    not_carried: dict[str, int]
    notes: tuple[Note, ...]

    def to_json(self) -> JsonObject:
        """Return the report as JSON data."""
        return asdict(self)


@dataclass
class Journal:
    """Collects notes and counts while an import runs."""

    notes: list[Note] = field(default_factory=list)
    not_carried: Counter[str] = field(default_factory=Counter)

    def note(self, kind: str, place: str, message: str) -> None:
        """Add a note."""
        self.notes.append(Note(kind, place, message))

    def leave(self, what: str, count: int = 1) -> None:
        """Count things that are not carried over."""
        if count:
            self.not_carried[what] += count
