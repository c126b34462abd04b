"""Claims that are clock times: opening hours, departures, arrivals. A time that the agent proposes for a visit is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .claims import Claim
from .page import Page
from .text import Reading

#: Said of the place itself, of a service that runs by a timetable, or as a forecast of an arrival.
_OPENING = re.compile(
    r"(?<![a-z])(?:open|opens|opening|close|closes|closing|closed|serves|serving|hours|last (?:entry|orders|admission))(?![a-z])|营业|开放|开门|关门|打烊|闭馆|开馆|停止入场"
)
_SERVICE = re.compile(
    r"(?<![a-z])(?:trains?|bus(?:es)?|flights?|ferry|tram|departs?|departure|departures|timetable|arrives?|arrival|eta|estimated)(?![a-z])"
    r"|列车|班车|高铁|航班|末班|首班|发车|车次|到达时间|预计到达|抵达时间|预计抵达|到站"
)
_DASH = re.compile(r" ?[-~] ?$")
_ALL_DAY = re.compile(r"全天(?:营业|开放)|(?<![a-z])(?:round the clock|24/7)(?![a-z])")
_ABOUT = re.compile(r"(?:about|around|roughly|大约|大概|约)[ *]{0,2}$")
_LOOK_BACK = 12
_GAP = 3
#: How far around a time, in characters, the word is sought that says what it is the time of.
_REACH = 120


def hours(page: Page) -> Iterator[Claim]:
    """Yield the clock times that state a fact; ``parts`` tells those that are said of opening."""
    reading = page.reading
    for index, time in enumerate(reading.times):
        row = page.rows[page.row_at(time.start)]
        sentence = reading.sentence_of(time.start)
        start = max(reading.sentence_start(sentence), row.start, time.start - _REACH)
        end = min(reading.sentence_ends[sentence], row.end, time.end + _REACH)
        opening = bool(_OPENING.search(reading.flat, start, end)) or _is_span(reading, index, row.body)
        if not opening and not _SERVICE.search(reading.flat, start, end):
            continue
        about = bool(
            _ABOUT.search(reading.flat[max(time.start - _LOOK_BACK, 0) : time.start])
        ) or reading.flat.startswith("左右", time.end)
        minutes = float(time.minutes)
        yield Claim(time.start, time.end, "time", minutes, minutes, about=about, parts=("open",) if opening else ())
    for match in _ALL_DAY.finditer(reading.flat):
        yield Claim(match.start(), match.end(), "time", -1.0, -1.0, parts=("open",))


def _is_span(reading: Reading, index: int, body: int) -> bool:
    """Return whether a time is one end of "09:00-22:00" that does not begin its line, as a line of a schedule does."""
    times = reading.times
    for low, high in ((index - 1, index), (index, index + 1)):
        if low >= 0 and high < len(times) and times[low].start > body:
            gap = reading.flat[times[low].end : times[high].start]
            if len(gap) <= _GAP and _DASH.search(gap):
                return True
    return False
