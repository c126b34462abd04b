"""How often failures that rest on reading prose are wrong, measured on labelled answers: which of them stand, and how far means may be off.

A failure belongs to a *cell*: the family of its check, whether it rests on words that are said or on words that are absent, and the size of the reply. It
stands where the measured precision of its cell is surely high enough; else it is undecided, and called suspect. Passes cannot be told apart so, and stand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pytest_mapsat.formats import read_calibration, signed
from pytest_mapsat.metrics import wilson_interval
from pytest_mapsat.model import Calibration, ErrorRate, Judging, Misread, ReplySize

#: The level of an interval whose lower end nine of ten true shares lie above.
_LEVEL = 0.8
#: How much a rate of errors differs between sets of answers: so many standard deviations above the mean hold 19 of 20.
_Z95 = 1.6448536269514722

_SIZES = ("small", "medium", "large")
#: From how many clauses, or things named, a reply that proposes something is medium, and large.
_CLAUSES, _THINGS = (12, 18), (4, 5)
#: From how many figures without a role a reply is medium, and large; and from how many figures in all it is large.
_UNREAD, _FIGURES = (1, 3), 10


def cell_of(family: str, *, absent: bool, size: ReplySize) -> str:
    """Return the cell of a failure: ``choice, said, large``.

    Args:
        family: the family of what was read.
        absent: whether it failed because something is not said.
        size: how much the reply says.
    """
    clauses, things, figures, unread = size
    if family == "choice":
        step = sum(clauses >= many or things >= named for many, named in zip(_CLAUSES, _THINGS, strict=True))
    elif family == "figure":
        step = (unread >= _UNREAD[0]) + (unread >= _UNREAD[1] or figures >= _FIGURES)
    else:
        step = 2 * (clauses >= _CLAUSES[1])
    return f"{family}, {'absent' if absent else 'said'}, {_SIZES[step]}"


def suspicion(cell: str, calibration: Calibration) -> str:
    """Return why a failure of a cell does not stand, in words; empty where it does."""
    true, false = calibration.cells.get(cell, (0, 0))
    seen = true + false
    if seen < calibration.least:
        return f"it looks failed, but only {seen} failures of this kind have been checked, and {calibration.least} are needed"
    interval = wilson_interval(true / seen, seen, level=_LEVEL) if seen else None
    if interval is None or interval[0] < calibration.bound:
        return f"it looks failed, but {false} of {seen} failures of this kind were wrong"
    return ""


def calibrate(sets: Mapping[str, Iterable[Judging]]) -> Calibration:
    """Return the table that stored judgings give.

    The error rates of whole answers are measured with the set that they are of left out of the table.

    Args:
        sets: the first judgings of each set of answers, by the name of the set. Later judgings of the same answers would flatter.
    """
    judgings = {name: tuple(some) for name, some in sorted(sets.items())}
    counts = {name: _cells(some) for name, some in judgings.items()}
    table = signed(Calibration(sets=tuple(judgings), cells=_total(counts.values())))
    red: list[tuple[int, int]] = []
    green: list[tuple[int, int]] = []
    for name, some in judgings.items():
        others = Calibration(cells=_total(cells for other, cells in counts.items() if other != name))
        colours = [(judging.right, colour(judging, others)) for judging in some]
        right = [verdict for is_right, verdict in colours if is_right]
        wrong = [verdict for is_right, verdict in colours if not is_right]
        red.append((right.count("red"), len(right)))
        green.append((wrong.count("green"), len(wrong)))
    return signed(table.model_copy(update={"red_of_right": _rate(red), "green_of_wrong": _rate(green)}))


def colour(judging: Judging, calibration: Calibration) -> Literal["green", "red", "open"]:
    """Return what becomes of an answer whose failures stand only where the table lets them."""
    standing = [failure for failure in judging.failed if not suspicion(failure.cell, calibration)]
    if standing or judging.sure:
        return "red"
    return "open" if judging.failed or any(judging.open) else "green"


def _cells(judgings: Iterable[Judging]) -> Counter[tuple[str, bool]]:
    return Counter((failure.cell, failure.broken) for judging in judgings for failure in judging.failed)


def _total(counts: Iterable[Counter[tuple[str, bool]]]) -> dict[str, tuple[int, int]]:
    total = sum(counts, Counter())
    return {cell: (total[cell, True], total[cell, False]) for cell in sorted({cell for cell, _ in total})}


def _rate(sets: Iterable[tuple[int, int]]) -> ErrorRate:
    """Return the errors of all sets together, and the rate that all but one in twenty keep below: sets differ by more than chance."""
    listed = [(errors, answers) for errors, answers in sets if answers]
    errors, answers = (sum(column) for column in zip(*listed, strict=True)) if listed else (0, 0)
    shares = [errors / answers for errors, answers in listed]
    centre = sum(shares) / len(shares) if shares else 1.0
    spread = math.sqrt(sum((share - centre) ** 2 for share in shares) / (len(shares) - 1)) if len(shares) > 1 else 1.0
    return ErrorRate(errors=errors, answers=answers, upper=min(1.0, centre + _Z95 * spread))


def misread_by(calibration: Calibration) -> Misread | None:
    """Return how often whole answers are taken for what they are not, for the bounds of means; None where it was not measured."""
    red, green = calibration.red_of_right, calibration.green_of_wrong
    return Misread(red_of_right=red.upper, green_of_wrong=green.upper) if red and green else None


@cache
def shipped() -> Calibration:
    """Return our own table, computed from answers written blind to the shipped suite."""
    return read_calibration(Path(__file__).with_name("calibration.json"))


def calibration_of(own: Calibration | None) -> Calibration:
    """Return the table for a suite: the cells of its own table, where they hold enough failures, and ours.

    Args:
        own: the suite's own table; None where it has none.
    """
    ours = shipped()
    if own is None:
        return ours
    enough = {cell: counts for cell, counts in own.cells.items() if sum(counts) >= own.least}
    return signed(ours.model_copy(update={"sets": (*ours.sets, *own.sets), "cells": ours.cells | enough}))
