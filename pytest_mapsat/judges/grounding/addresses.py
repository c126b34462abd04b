"""Claims that are addresses: what follows a label, or a street with a number."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .claims import Claim
from .forms import squeeze
from .page import Page
from .vocabulary import cut

_LABEL = ("地址", "位置", "address", "location")
_STREET = re.compile(
    r"[\u4e00-\u9fff]{2,12}(?:路|街|大道|巷|弄|里|胡同|道)(?:[东西南北中]段)?[0-9]{1,5}(?:-[0-9]{1,4})?(?:号|弄)(?:[0-9a-z\u4e00-\u9fff-]{0,24})"
    r"|[\u4e00-\u9fff]{2,14}(?:路|街|大道|道|线)(?:与[\u4e00-\u9fff]{2,14})?(?:交叉口|路口)?[东西南北]{1,2}约?[0-9]{1,4}米"
    r"|(?<![0-9a-z:.])[0-9]{1,5}[a-z]? (?:[a-z'’.-]{1,20} ){1,4}(?:street|st|road|rd|avenue|ave|lane|square|drive|boulevard|way|quay|walk|row|place)(?![a-z])"
)
_LONGEST = 120
_END = re.compile(r"[。;!\n|→]| - |\. |, (?=[0-9.]+ ?(?:m|km|min)(?![a-z]))")
#: What ends a province, city, district or town in front of an address.
_DISTRICT = re.compile(r"(?<=[\u4e00-\u9fff]{2})(?:省|市|区|县|镇|乡|街道)(?=[\u4e00-\u9fff])(?!场|域|间)")
_PARTS = re.compile(r"[()\[\],、]")


def addresses(page: Page) -> Iterator[Claim]:
    """Yield addresses; ``parts`` are the pieces between brackets and blanks."""
    text = page.reading.flat
    end = -1
    labelled = {row.value: row.end for row in page.rows if row.label.endswith(_LABEL)}
    found = [(value, _until(text, value, stop)) for value, stop in labelled.items()]
    found += [(cut(text, m.start(), m.end()), m.end()) for m in _STREET.finditer(text) if _is_written_as_name(page, m)]
    for start, limit in sorted(found, key=lambda span: (span[0], -span[1])):
        stop = start + len(text[start:limit].rstrip(" "))
        if start >= end and stop > start and any(char.isalnum() for char in text[start:stop]):
            end = stop
            pieces = [
                piece for piece in map(_local, _PARTS.split(text[start:stop])) if any(char.isalnum() for char in piece)
            ]
            yield Claim(start, stop, "address", text=squeeze(text[start:stop]), parts=tuple(pieces))


def _local(piece: str) -> str:
    """Return a piece without the province, city and district in front of a street."""
    begin = 0
    for match in _DISTRICT.finditer(piece):
        begin = match.end() if match.end() < len(piece) else begin
    return piece[begin:].strip(" ")


def _until(text: str, start: int, stop: int) -> int:
    match = _END.search(text, start, stop)
    return min(match.start() if match else stop, start + _LONGEST)


def _is_written_as_name(page: Page, match: re.Match[str]) -> bool:
    """Return whether a street is Chinese or written with a capital ("9 Mill Walk", not "a 9 min walk")."""
    if not page.reading.flat[match.end() - 1].isascii() or not match.group()[-1].isalpha():
        return True
    first, last = match.group().find(" ") + 1, match.group().rfind(" ") + 1
    places = (page.reading.folded.span(match.start() + word, match.start() + word + 1)[0] for word in (first, last))
    return all(page.reading.folded.original[place].isupper() for place in places)
