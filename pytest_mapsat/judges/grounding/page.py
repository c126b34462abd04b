"""A reply laid out: its lines with their labels and headings, and the stretches in which nothing is claimed."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from .forms import Mode, modes_in
from .questions import questions
from .text import Reading

_BULLET = re.compile(r"[ #>|]{0,6}(?:[-•·+–—✅☑]|[0-9]{1,2}[.)、](?![0-9])|[0-9]⃣)?[ |]{0,4}")
_NUMBER = re.compile(r"[0-9]{1,2}")
_LABEL = re.compile(
    r"(?:(?:stated |the )?(?:address|location|distance|time|duration|rating|price|cost|phone|tel|telephone|hours|opening hours|open|route|mode|note|tip|why"
    r"|features?|parking|fare|stops?|from|to|walk|walking|drive|driving|by car|by bike|transit|metro|bus|cycling)"
    r"|.{0,4}(?:地址|位置|距离|时间|耗时|用时|时长|评分|价格|费用|人均|消费|电话|营业|营业时间|特点|优点|缺点|路线|方式|红绿灯|类型|提示|说明|起点|终点|途经点"
    r"|开车|驾车|公交|地铁|步行|骑行|打车|走路|票价|门票|停车|坐标|主要走|单间|一房一厅|公寓)[^:]{0,8}) ?: ?"
)
_OFFER = re.compile(
    r"(?<![a-z])(?:i (?:can|could|will be able to) (?:also |then |just )?(?:help|give|find|plan|check|book|look|show|suggest|recommend|compare|search|make|work|narrow|pull)"
    r"|would you like|do you want|shall i|should i|let me know|want me to|happy to|if you(?:'d| would)? (?:like|want|need|wish|prefer|tell))(?![a-z])"
    r"|我(?:还|也|还也)?(?:可以|能)(?!看出|确认|告知)|(?:可以|能)帮你|要不要|需要我|需要的话|如果你?(?:愿意|需要|想要|有需要|不确定)|告诉我|或(?:者)?再帮你|或者直接给你"
)
_HEADING_LONGEST = 60
_LONGEST_LIST = 40


@dataclass(frozen=True)
class Row:
    """One line: where it begins behind its bullet, where its value begins behind a label, where it ends."""

    start: int
    body: int
    value: int
    end: int
    bullet: bool
    label: str


@dataclass(frozen=True, eq=False)
class Page:
    """A reading with its lines."""

    reading: Reading

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The lines that are not blank."""
        rows: list[Row] = []
        text, start = self.reading.folded.text, 0
        while start < len(text):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            if not text[start:end].isspace() and end > start:
                rows.append(_row(self.reading, start, end))
            start = end + 1
        return tuple(rows)

    @cached_property
    def headings(self) -> list[Row | None]:
        """For each item of a list the line above the list; None for a line that is no item."""
        found: list[Row | None] = []
        heading: Row | None = None
        for row in self.rows:
            found.append(heading if row.bullet else None)
            heading = heading if row.bullet else row
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return [row.start for row in self.rows]

    def row_at(self, position: int) -> int:
        """Return the number of the line that holds ``position``; -1 before the first."""
        return bisect_right(self._starts, position) - 1

    @cached_property
    def modes(self) -> list[tuple[int, Mode]]:
        """Where a way of travelling is named."""
        return modes_in(self.reading.flat)

    @cached_property
    def _mode_starts(self) -> list[int]:
        return [start for start, _ in self.modes]

    def mode_before(self, start: int, end: int) -> Mode | None:
        """Return the last way of travelling named from ``start`` to ``end``."""
        index = bisect_right(self._mode_starts, end - 1) - 1
        return self.modes[index][1] if index >= 0 and self.modes[index][0] >= start else None

    def claims_nothing(self, position: int) -> bool:
        """Return whether ``position`` lies in a question, an offer, or the list that belongs to one."""
        index = bisect_right(self._mask_starts, position) - 1
        return index >= 0 and position < self.masked[index][1]

    @cached_property
    def _mask_starts(self) -> list[int]:
        return [start for start, _ in self.masked]

    @cached_property
    def masked(self) -> list[tuple[int, int]]:
        """The stretches that claim nothing, joined and ascending."""
        reading = self.reading
        spans = [(found.start, found.end) for found in questions(reading)]
        start = 0
        for end in reading.sentence_ends:
            if _OFFER.search(reading.flat, start, end):
                spans.append((start, end))
            start = end
        return _joined(sorted(self._with_list(*span) for span in spans))

    def _with_list(self, start: int, end: int) -> tuple[int, int]:
        """Stretch an offer that ends in a colon over the list below it."""
        if not self.reading.flat[start:end].rstrip(" \n").endswith(":"):
            return start, end
        index = self.row_at(max(end - 1, 0)) + 1
        for row in self.rows[index : index + _LONGEST_LIST]:
            if not row.bullet:
                break
            end = row.end
        return start, end


def _row(reading: Reading, start: int, end: int) -> Row:
    flat = reading.flat
    bullet = _BULLET.match(flat, start, end)
    body = _behind_number(reading, bullet.end() if bullet else start, end)
    label = _LABEL.match(flat, body, min(end, body + _HEADING_LONGEST))
    marked = bool(flat[start:body].strip(" |"))
    return Row(
        start, body, label.end() if label else body, end, marked, flat[body : label.end()].rstrip(": ") if label else ""
    )


def _behind_number(reading: Reading, body: int, end: int) -> int:
    """Return where a line begins behind a number that a blank follows; folding drops the blank before a Chinese character."""
    number = _NUMBER.match(reading.flat, body, end)
    if number is None or number.end() >= end:
        return body
    behind = reading.folded.span(number.start(), number.end())[1]
    return (
        number.end()
        if reading.folded.original[behind : behind + 1].isspace() and not reading.flat[number.end()].isascii()
        else body
    )


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
