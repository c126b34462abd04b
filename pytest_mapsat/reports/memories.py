"""Runs of several memories side by side, as in the first table of VitaBench 2.0: a row for each agent, three figures for each memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_mapsat.model import Aggregate, Noun, Run

from .text import cell_width, cut, printable
from .view import PASS_RATE, short_mean_text

#: The memories of the paper in its order, then its ceiling, then no memory; others stand before these two.
_ORDER = ("full", "agentic", "rag", "", "truth", "none")


class MemoryRow(Noun):
    """The results of an agent with a memory. ``figures``: ``avg@K``, ``pass@K`` and ``pass^K``; only the first for runs with one trial."""

    agent: str
    memory: str
    figures: dict[str, Aggregate | None]


def memory_rows(runs: Sequence[Run]) -> list[MemoryRow]:
    """Return the results of each run by memory, the best agent of a memory first; K is the greatest number of trials that all runs have."""
    trials = [{int(name[5:]) for name in run.summary if name.startswith("pass^")} for run in runs]
    k = max(set.intersection(*trials), default=1)
    names = {f"avg@{k}": PASS_RATE} | ({f"pass@{k}": f"pass@{k}", f"pass^{k}": f"pass^{k}"} if k > 1 else {})
    rows = [
        MemoryRow(
            agent=run.manifest.agent,
            memory=run.manifest.options.agent_memory,
            figures={title: run.summary.get(name) for title, name in names.items()},
        )
        for run in runs
    ]

    def place(row: MemoryRow) -> tuple[int, str, float, str]:
        kind, average = row.memory.partition(":")[0], row.figures[f"avg@{k}"]
        least = average.bounds[0] if average is not None and average.bounds is not None else 0.0
        return _ORDER.index(kind if kind in _ORDER else ""), row.memory, -least, row.agent

    return sorted(rows, key=place)


def memory_lines(rows: Sequence[MemoryRow], width: int) -> Iterator[str]:
    """Yield the rows of ``memory_rows`` as a table: as many memories beside each other as fit into the width of the terminal."""
    titles = list(rows[0].figures)
    agents = list(dict.fromkeys(row.agent for row in rows))
    lead = max(cell_width(printable(text)) for text in ("agent", *agents))
    memories = list(dict.fromkeys(row.memory for row in rows))
    texts_by_key = {
        (row.agent, row.memory): [short_mean_text(figure) or "-" for figure in row.figures.values()] for row in rows
    }
    cell = max(len(text) for texts in (titles, *texts_by_key.values()) for text in texts)
    heads, figures = _joined(titles, cell), {key: _joined(texts, cell) for key, texts in texts_by_key.items()}
    size = len(heads)
    across = min(max((width - lead) // (size + 3), 1), len(memories))
    # Names take the room that the figures leave.
    longest = max(cell_width(printable(memory)) for memory in memories)
    size = max(size, min(longest, (width - lead) // across - 3))
    for start in range(0, len(memories), across):
        block = memories[start : start + across]
        if start:
            yield ""
        yield _line("", [cut(printable(memory), size) for memory in block], lead, size)
        yield _line("agent", [heads] * len(block), lead, size)
        for agent in agents:
            cells = [figures.get((agent, memory), "") for memory in block]
            if any(cells):
                yield _line(printable(agent), cells, lead, size)


def _joined(texts: Sequence[str], cell: int) -> str:
    return "  ".join(text.rjust(cell) for text in texts)


def _line(first: str, cells: Sequence[str], lead: int, size: int) -> str:
    parts = [first + " " * (lead - cell_width(first)), *(cell + " " * (size - cell_width(cell)) for cell in cells)]
    return "   ".join(parts).rstrip()
