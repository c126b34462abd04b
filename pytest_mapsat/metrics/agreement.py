"""How far judges agree: Cohen's kappa, beyond what chance alone would give (Cohen 1960, Educational and Psychological Measurement 20), and votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .statistics import LEVEL, Interval, draw

#: A table of counts: rows are what is true, columns what was said, both in the same order.
Table = Sequence[Sequence[int]]


def cohen_kappa(table: Table) -> float | None:
    """Return kappa of a table of counts: 1 for full agreement, 0 for that of chance; None where it is not defined, as with one category alone."""
    total = sum(map(sum, table))
    if not total:
        return None
    agreed = sum(row[place] for place, row in enumerate(table)) / total
    columns = [sum(row[place] for row in table) for place in range(len(table))]
    chance = sum(sum(row) * column for row, column in zip(table, columns, strict=True)) / total**2
    return None if chance >= 1 else (agreed - chance) / (1 - chance)


def kappa_interval(tables: Sequence[Table], *, level: float = LEVEL) -> Interval | None:
    """Return a bootstrap interval of kappa (percentile method): whole dialogues are drawn, as labels of one dialogue hang together.

    Args:
        tables: one table for each dialogue, all of the same categories.
        level: how probably the interval holds kappa.

    Returns:
        ``(low, high)``; None for fewer than two dialogues, or where kappa is not defined in most resamples.
    """
    if len(tables) < 2 or not tables[0]:  # noqa: PLR2004  one dialogue has no spread
        return None
    import numpy as np  # noqa: PLC0415  numpy costs more to import than most runs need

    size = len(tables[0])
    columns = [[float(table[row][column]) for table in tables] for row in range(size) for column in range(size)]
    sums, scales, _ = draw(columns)
    cells = (sums / np.array(scales)).reshape(-1, size, size)
    total = cells.sum(axis=(1, 2))
    total = np.where(total > 0, total, 1)
    agreed = np.trace(cells, axis1=1, axis2=2) / total
    chance = (cells.sum(axis=2) * cells.sum(axis=1)).sum(axis=1) / total**2
    defined = chance < 1 - 1e-12
    if defined.sum() * 2 < len(defined):
        return None
    kappas = (agreed[defined] - chance[defined]) / (1 - chance[defined])
    low, high = np.quantile(kappas, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def votes_agree(votes: Sequence[str]) -> float | None:
    """Return the share of pairs of votes that say the same; None for fewer than two votes."""
    counts = Counter(votes)
    pairs = len(votes) * (len(votes) - 1)
    return sum(count * (count - 1) for count in counts.values()) / pairs if pairs else None
