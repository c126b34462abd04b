"""Sequences: the tasks of one user in order, and what passed between them (VitaBench 2.0, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from pydantic import ConfigDict

from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import Context, Interaction, Noun, shown

from .crosscheck import Remark, is_before
from .entries import CaseEntry

if TYPE_CHECKING:
    from .opened import Suite

#: What passed before a task since the one before it, by date.
History: TypeAlias = tuple[Interaction, ...]


class _Visible(Noun):
    model_config = ConfigDict(extra="ignore")

    context: Context = Context()
    interactions: History = ()


class Dated(Noun):
    """The dated parts of a case, read without the rest: each task of a long sequence is read for its dates many times."""

    model_config = ConfigDict(extra="ignore")

    visible: _Visible = _Visible()

    @property
    def now(self) -> str:
        """The moment of the task; empty where the case has none."""
        return self.visible.context.now or ""


def sequences_of(entries: Iterable[CaseEntry]) -> dict[str, tuple[CaseEntry, ...]]:
    """Return the cases that stand in a sequence, by its name and in its order."""
    sequences: dict[str, list[CaseEntry]] = {}
    for entry in entries:
        if entry.group is not None:
            sequences.setdefault(entry.group.name, []).append(entry)
    return {name: tuple(sorted(cases, key=_place)) for name, cases in sequences.items()}


def _place(entry: CaseEntry) -> int:
    return 0 if entry.group is None else entry.group.order


def flaws_of(name: str, sequence: Iterable[CaseEntry], suite: Suite) -> Iterator[tuple[CaseEntry, Remark]]:
    """Yield the problems between the tasks of a sequence, each with the case that has it.

    Args:
        name: the sequence.
        sequence: its cases in order.
        suite: theirs.

    Raises:
        SuiteError: a case cannot be read.
    """
    gap = "places count from 1 without a gap" + ("" if suite.all_listed else "; a file of the suite cannot be read")
    expected, before, last = 1, None, ""
    for entry in sequence:
        dated, place = suite.dated(entry), _place(entry)
        former = f"{before[0].id} ({shown_path(before[0].path)}:{before[0].line})" if before else ""
        if before and place == _place(before[0]):
            message = f"place {place} of the sequence {shown(name)} is taken: {former} has it"
            yield entry, Remark("error", "sequence", ("group", "order"), message, "each task has a place of its own")
        elif place != expected:
            message = f"found place {place} of the sequence {shown(name)}, expected {expected}: " + (
                f"the task before is {former}" if before else "it is the first"
            )
            yield entry, Remark("error", "sequence", ("group", "order"), message, gap)
        if before and before[1] and dated.now and is_before(dated.now, before[1]):
            message = f"found {dated.now}, before {before[1]} of {former}: that is the task before it"
            yield entry, Remark("error", "sequence", ("visible", "context", "now"), message)
        if last and dated.visible.interactions and is_before(first := dated.visible.interactions[0].date, last):
            message = f"found {first}, and a task before it has an interaction of {last}: later tasks go on from there"
            yield entry, Remark("error", "sequence", ("visible", "interactions", 0, "date"), message)
        expected, before = place + 1, (entry, dated.now)
        last = dated.visible.interactions[-1].date if dated.visible.interactions else last


def earlier_in(sequences: Mapping[str, tuple[CaseEntry, ...]], group: str, order: int) -> tuple[CaseEntry, ...]:
    """Return the cases that stand before a place of a sequence, in order."""
    return tuple(entry for entry in sequences.get(group, ()) if _place(entry) < order)
