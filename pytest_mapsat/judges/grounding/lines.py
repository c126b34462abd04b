"""Lines of public transport that a text names: 3号线, 1,2号线, APM线, 27路, Line 4, bus 42, G102次."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(
    r"(?P<metro>(?<![0-9.])[0-9]{1,2}(?:[,、/和][0-9]{1,2}){0,5})号线"
    r"|(?P<letters>(?<![a-z0-9])[a-z]{2,4})线"
    r"|(?<![0-9a-z路街道号.])(?P<bus>[a-z]?[0-9]{1,4})路(?![0-9]|口|以|交|与|段)"
    r"|(?<![a-z])(?:metro |subway |tram )?line (?P<line>[0-9]{1,2}|[a-z])(?![a-z0-9])"
    r"|(?<![a-z])(?:bus|tram|route)(?: line| route| no\.?| number)? (?P<number>[a-z]?[0-9]{1,4}[a-z]?)(?![a-z0-9:]|\.[0-9]| ?(?:m|min|km|h|hour|yuan)(?![a-z]))"
    r"|(?<![a-z0-9])(?P<train>[gdcktz][0-9]{1,4})次"
)
_LISTED = re.compile(r"[0-9]{1,2}")


@dataclass(frozen=True)
class Line:
    """A line: where it stands, and its name in one form for both languages."""

    start: int
    end: int
    text: str


def lines_in(text: str) -> Iterator[Line]:
    """Yield the lines that a folded text names; "1,2号线" names two."""
    for match in _LINE.finditer(text):
        if match["metro"]:
            for number in _LISTED.finditer(match["metro"]):
                yield Line(match.start() + number.start(), match.end(), f"line{int(number.group())}")
        elif match["line"]:
            name = match["line"]
            yield Line(match.start(), match.end(), f"line{int(name)}" if name.isdigit() else f"line{name}")
        elif match["letters"]:
            yield Line(match.start(), match.end(), f"line{match['letters']}")
        else:
            yield Line(match.start(), match.end(), f"route{match['bus'] or match['number'] or match['train']}")
