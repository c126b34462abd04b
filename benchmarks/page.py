"""The page that measurements are written on."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from .growth import Growth
from .paired import Timed
from .row import Row

_BESIDE = """## Beside what you would otherwise use

The same trivial agent in each. Ours reads and validates a case with its recordings, answers a tool call, plays the user, reads the reply for
three checks, scores eight metrics and accounts for every item; the others run the agent and one metric of a line, deepeval the metric alone.
"""

_GROWTH = """## How cost grows

k of the best t = a + b n^k; a is what a run costs before its first case. Of an answer no more than 100,000 characters are read, and k is of those below.

| what | from | to | k |
| --- | --- | --- | --- |"""

_STACKS = """Where the time of a trivial case goes, stacks of 10,000 cases: [before](plots/trivial-cases-before.svg) and [after](plots/trivial-cases-after.svg)
reading, scoring and summaries became faster. To draw your own: `py-spy record -f raw -o stacks.txt -- python -m pytest --mapsat-agent=my_agent:agent`, then
`python -m benchmarks --flames stacks.txt flames.svg`.
"""


class Measured(NamedTuple):
    """All that was measured.

    Attributes:
        rows: what has a budget.
        beside: runs of ours and of the peers, by how long each case waits, seconds.
        grew: how cost grows: with cases, with width, with the length of answers.
        missing: why a peer could not be run, by its name.
        quick: whether sizes were small.
        load: of the machine, before and after.
    """

    rows: Sequence[Row]
    beside: Mapping[float, Mapping[str, Timed]]
    grew: Sequence[Sequence[Growth]]
    missing: Mapping[str, str]
    quick: bool
    load: tuple[float, float]


def written(measured: Measured) -> str:
    """Return the page, Markdown."""
    absent = [f"{name} could not be run: `{why}`\n" for name, why in measured.missing.items()]
    pictures = (f"![{name}](plots/{name}.svg)" for name in ("cases", "width", "answers"))
    parts = [*_head(measured), *_budgets(measured.rows), _BESIDE]
    for seconds, timed in measured.beside.items():
        parts += [*_table(seconds, timed), ""]
    parts += [*absent, _GROWTH, *_growths(measured.grew), "", *pictures, "", _STACKS]
    return "\n".join(parts)


def _head(measured: Measured) -> Iterator[str]:
    before, after = measured.load
    missed = [f"{row.what} ({row.figure}, budget {row.budget})" for row in measured.rows if not row.holds]
    told = f" Missed: {'; '.join(missed)}." if missed else ""
    yield "# Benchmarks\n"
    yield (
        f"Written by `python -m benchmarks{' --quick' * measured.quick}` on {datetime.now(UTC):%Y-%m-%d}: CPython {platform.python_version()}, "
        f"{platform.machine()}, {os.cpu_count()} processors, load {before:.1f} before and {after:.1f} after (our own counts in). Commands run in"
    )
    yield "turn (A, B, A, B, ...), after a round that does not count; quoted are medians, of ratios pair by pair. Proportions, not promises.\n"
    if measured.quick:
        yield "**Small sizes, few rounds: this shows that it runs, and not much more.**\n"
    yield f"**{len(measured.rows) - len(missed)} of {len(measured.rows)} budgets hold.**{told}\n"


def _budgets(rows: Sequence[Row]) -> Iterator[str]:
    yield "## Against the budgets\n"
    yield "| what | measured | budget | holds | how |"
    yield "| --- | --- | --- | --- | --- |"
    for row in rows:
        yield f"| {row.what} | {row.figure} | {row.budget} | {'yes' if row.holds else '**no**'} | {row.how} |"
    yield ""


def _table(seconds: float, timed: Mapping[str, Timed]) -> Iterator[str]:
    """Yield the table of runs beside each other, in which each case waits for some seconds."""
    waiting = f"cases that wait {seconds:g} s for their agent, at one width"
    first = next(iter(timed.values()))
    yield f"| {waiting if seconds else 'trivial cases, start included'} | s | s of the processor | MB | times the first |"
    yield "| --- | --- | --- | --- | --- |"
    for name, one in timed.items():
        yield f"| {name} | {one.seconds:.2f} | {one.processor:.2f} | {one.megabytes:.0f} | {one.to(first):.2f} |"


def _growths(grew: Sequence[Sequence[Growth]]) -> Iterator[str]:
    for one in (growth for growths in grew for growth in growths):
        (low, fast), (high, slow) = one.points[0], one.points[-1]
        told = "too few points" if one.exponent is None else f"{one.exponent:.2f}"
        yield f"| {one.name}, {one.unit} | {low:,.0f}: {_time(fast)} | {high:,.0f}: {_time(slow)} | {told} |"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.1f} ms"
