"""Claims that are clock times: opening hours, departures, arrivals. A time that the agent proposes is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .claims import Claim
from .page import Page

_PLAN = re.compile(
    r"(?<![a-z])(?:leave|set off|head out|set out|get going|aim for|plan for|be there|meet|start at|start out)(?![a-z])|出发|动身|集合|建议.{0,6}(?:去|到|来)"
)
_SERVICE = re.compile(r"train|bus|flight|ferry|tram|metro|line|列车|班车|高铁|地铁|航班|末班|首班|公交")
_OPENING = re.compile(r"(?<![a-z])(?:open|opens|opening|close|closes|closing|closed|until|till|hours)(?![a-z])|营业|开放|开门|关门|打烊|闭馆|开馆")
_ALL_DAY = re.compile(r"全天(?:营业|开放)|(?<![a-z])(?:round the clock|24/7)(?![a-z])")
_ABOUT = re.compile(r"(?:about|around|roughly|大约|大概|约)[ *]{0,2}$")
_LOOK_BACK = 12


def hours(page: Page) -> Iterator[Claim]:
    """Yield the clock times of a reply; ``parts`` tells those that are said of opening."""
    reading = page.reading
    for time in reading.times:
        row = page.rows[page.row_at(time.start)]
        clause, end = reading.denials.clause(time.start)
        start, end = max(clause, row.start), min(end, row.end)
        opening = bool(_OPENING.search(reading.flat, row.start, row.end))
        if not opening and _PLAN.search(reading.flat, start, end) and not _SERVICE.search(reading.flat, start, end):
            continue
        about = bool(_ABOUT.search(reading.flat[max(time.start - _LOOK_BACK, 0) : time.start])) or reading.flat.startswith("左右", time.end)
        yield Claim(
            time.start, time.end, "time", float(time.minutes), float(time.minutes), about=about, parts=("open",) if opening else ()
        )
    for match in _ALL_DAY.finditer(reading.flat):
        yield Claim(match.start(), match.end(), "time", -1.0, -1.0, parts=("open",))
