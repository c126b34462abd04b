"""Reads a reply: the one place where the steps follow one another; and what looks like an amount and is not read, or only in part.

Beside such an amount it is unknown what a text leaves unsaid.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, dropwhile, pairwise, starmap, zip_longest
from operator import attrgetter
from typing import NamedTuple, cast

from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import FigureRole, TimeRole

from .clock import ReadNumber, Spoken, find_numbers, find_times, resolve
from .document import (
    BareNumber,
    ClockTime,
    Document,
    Identifier,
    Mention,
    Offer,
    Quantity,
    Question,
    Span,
    UnreadAmount,
    is_han,
)
from .figures import FoundIdentifier, ReadFigure, find_figures
from .names import Lexicon, NameHit, find_names, tell_apart
from .pack import MONEY, Cue, Pack, Vocabulary, languages, pack_of
from .page import KEPT, Clause, Scan, Sentence, TextPage, inside, open_page, outside, scan
from .roles import ROLES_OF_UNIT, FigureRoleKnown, Roles, Subjects, TimeRoles
from .sides import Name
from .stance import plainly, read_stances, reasons

#: The pseudo-unit of times of day.
CLOCK = "clock"
#: That of what multiplies something else: 两倍, × 2.
TIMES = "times"
#: Signs of amounts, currencies aside.
_SIGNS = frozenset("%‰°℃℉½¼¾×÷±^′″")
_DIGITS = re.compile(r"[0-9]+")
#: What divides a table cell as its header is divided.
_DIVIDING = (" + ", " / ")
#: What may stand between two parts of one amount.
_GAP = re.compile(r"(?: ?[-/+×x*@⁄] ?| |点| of | by | to |[ -](?:and|&)(?:[ -]an?)?[ -])?")
#: What is read in two ways: three digits behind a full stop (thousandths in one country, thousands in the next), 0715, 0:45, 5k, 1h20, 2.30 hours,
#: degrees of no scale.
_TWO_WAYS = re.compile(
    r"(?<![0-9.,:])(?:[1-9][0-9]{0,2}\.[0-9]{3}|0[0-9]+|0:[0-5][0-9])(?![0-9]|[.,:][0-9])|[0-9](?:k(?![a-z0-9])|h[0-9])"
    r"|[.,](?!25|50|75)[0-5][0-9] ?(?:h(?:ours?|rs?)?\b|个?小时)|(?:°|\bdegrees?\b)(?! ?[cf])"
)
#: A share that is taken off in one way of speaking, and is what is left in another: 30%的折扣, 打折80%.
_SHARE_OF = re.compile("折[^%]{0,6}[0-9]+ ?%|% ?的?折")
#: Shares in words; twenty, thirty and forty in one character.
_FRACTION = re.compile(
    r"[廿卅卌]|\b(?:an?|one|two|three) (?:third|half|fifth|sixth|eighth|ninth|tenth)s?\b(?! (?:floor|time|day|street|stop|place|party))"
)
_HALF_HOUR = re.compile(r"half (?:[1-9]|1[0-2]|[a-z]+)")
#: Chinese characters that make a number a vague one: 十来, 十几, 百余.
_VAGUE = frozenset("来几")
#: Numerals of old that are words today: 什么, 参观.
_NO_NUMERALS = frozenset("什参參")
_ROMAN = re.compile(r"\b[IVXLC]{2,}\b")
_HOURS = re.compile(r"[0-9] ?h ?[0-9]")
_THOUSANDS = re.compile(r"[0-9]k")
_ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th)\b")
#: A letter or two and a number, or a few letters and a short one: a line, an exit, a plug.
_CODE = re.compile(r"(?<![0-9A-Za-z])(?:[A-Z]{1,2}[0-9]+|([A-Z]{3,4})[0-9]{1,2})(?![0-9A-Za-z]|[.,][0-9])")
#: A product that is worked out, behind a sign of equality or before a bracket: 58 yuan × 2 = 116 yuan, 57元（19元×3）.
_PRODUCT = re.compile(
    r"(?:(?<![0-9.,])([0-9.]+) ?[^0-9()=]{0,6}\()?(?<![0-9.])(?<![0-9],)([0-9.]+) ?[^0-9 ()×*=+/-]{0,6} ?[×*] ?([0-9]{1,3})(?![0-9.,])"
    r"(?: ?= ?[^0-9 ]?([0-9.]+))?"
)
#: What tells behind or before a time of day that it is one of another zone.
_ZONE_BEHIND = re.compile(
    r" ?[(（]?(?:(?!AM\b|PM\b)[A-Z]{2,5}\b|Z\b|\+[0-9]|(?:(?:[A-Z][A-Za-z.]*|local|your|their|my|our) ){1,3}[Tt]ime\b|(?<=[(（])[\u4e00-\u9fff]{2,4}时间)"
)
_ZONE_BEFORE = re.compile(
    r"(?:\b[A-Z][A-Za-z]+ [Tt]ime[,:]? (?:is )?|\b[A-Z]{3,5}[:,]? ?|[+T]|([\u4e00-\u9fff]{2})时间[为是]?[:：]?)$"
)
#: Words of units that mean something else, too.
_ALSO_OTHER = frozenset(
    {"second", "seconds", "foot", "feet", "yard", "yards", "mile", "k", "m", "h", "s", "in.", "degree", "day", "days"}
    | {"hour", "hours", "minute", "min", "week", "weeks", "天", "工作日", "分", "度", "米"}
)
_OFFSET = re.compile(r"\b(?:utc|gmt)\b|[+][01][0-9]:?[0-9]{2}|(?<=:[0-9]{2}:[0-9]{2})-[01][0-9]:[0-9]{2}")
_NOT_ZONES = frozenset({"ETA", "ETD"})
_NO_CODES = _NOT_ZONES | {"UTC", "GMT", "MAX", "MIN"}
#: Sorts of words that are an amount by themselves: "half a dozen", "a fiver".
_WHOLE = ("any", "yuan")
#: What makes an amount of the word beside it, or a part of one.
_PARTS = ("fraction", "couple", "hour_quarter")
#: Units whose words tell of an amount even without a number: "a matter of minutes".
_MEASURED = frozenset({"min", "percent", "celsius"})
_KEYCAP = "\u20e3"
_LOOK = 24
_TEN = 10


class Unread(NamedTuple):
    """An amount that was not understood, or a number without a known unit, in folded positions.

    Attributes:
        units: the units that stand in it, ``clock`` for a time of day, ``times`` for what only multiplies; none where it could be any.
        bare: whether it is a plain number whose unit alone is missing.
    """

    start: int
    end: int
    units: frozenset[str]
    bare: bool = False


class _AmountPart(NamedTuple):
    """A possible part of an amount; ``weak``: only next to another part; ``number``: a plainly written number."""

    start: int
    end: int
    weak: bool = False
    number: bool = False


class AmountReading(NamedTuple):
    """The place and unit of a parsed amount; no unit for a number that is not an amount, such as a house number."""

    start: int
    end: int
    unit: str = ""


class LeftUnread:
    """Finds the unparsed amounts of a text, by comparing all amounts with the readings.

    Args:
        scan: the text.
        numbers: the numbers in it.
        figures: the figures that were made of them, and those that are of no use to checks.
        times: its times of day.
        taken: names and identifiers: what stands in them is no amount.
    """

    def __init__(
        self,
        scan: Scan,
        numbers: Sequence[ReadNumber],
        figures: tuple[Sequence[ReadFigure], Sequence[ReadFigure]],
        times: Sequence[Spoken],
        taken: Iterable[tuple[int, int]],
    ) -> None:
        self.scan, self.text = scan, scan.text
        self.ends = {cue.end: cue for cue in scan.cues}
        self.starts = {cue.start: cue for cue in scan.cues}
        words = (
            (match, scan.pack.words[match.group()]["amount"])
            for match in scan.pack.pattern("amount").finditer(scan.text)
        )
        amounts = [Cue(match.start(), match.end(), {"amount": sort}) for match, sort in words]
        self.amounts = [cue for cue in amounts if not self._within_word(cue)]
        self.strange = {cue.end for cue in self.amounts}
        self.behind = {cue.start for cue in self.amounts if cue.tags["amount"] not in _WHOLE}
        read = [AmountReading(*self._whole(figure), figure.unit) for figure in figures[0] if self._tells(figure)]
        read += [AmountReading(figure.start, figure.end) for figure in figures[1] if self._tells(figure)]
        read += [AmountReading(time.start, time.end, CLOCK) for time in times]
        products = [
            AmountReading(match.start(2), match.end(3))
            for match in _PRODUCT.finditer(scan.text)
            if _is_worked_out(match)
        ]
        self.read = sorted([*(reading for reading in read if not self._inside(reading, products)), *products])
        self.taken = sorted([*(AmountReading(start, end) for start, end in taken), *self._named()])
        self.numbers = numbers
        self.short = [number.start for number in numbers if self._is_short(number)]

    def _within_word(self, cue: Cue) -> bool:
        """Return whether a word of quantity is only part of another word: 今晚, 差不多, "at night"."""
        place = bisect_right(self.scan.cue_starts, cue.start) - 1
        outer = self.scan.cues[place] if place >= 0 else cue
        return outer.end >= cue.end and outer.end - outer.start > cue.end - cue.start

    def _tells(self, figure: ReadFigure) -> bool:
        """Return whether the unit or object of a figure is known."""
        following = self.starts.get(figure.end)
        if figure.bare:
            return following is not None and following.has("classifier")
        return figure.end not in self.strange

    def _whole(self, figure: ReadFigure) -> tuple[int, int]:
        """Return start and end of a figure, including a unit before it."""
        start = figure.start
        cue = self.ends.get(start) or (self.ends.get(start - 1) if self.text[start - 1 : start] == " " else None)
        tags = cue.tags if cue else {}
        ours = figure.unit in (tags.get("unit_name"), *tags.get("unit", ())[:1]) or "percent_before" in tags
        return (cue.start if cue and ours else start), figure.end

    def _named(self) -> Iterator[AmountReading]:
        """Yield the numbers that are not amounts: ordinals and codes such as B2."""
        for match in _ORDINAL.finditer(self.text):
            yield AmountReading(*match.span())
        original = self.scan.folded.original
        for match in _CODE.finditer(original):
            code = AmountReading(self.scan.folded.at(match.start()), self.scan.folded.at(match.end() - 1) + 1)
            following = self.starts.get(code.end) or self.starts.get(code.end + 1)
            measured = following is not None and "unit" in following.tags  # MAX50 yuan
            if not match[1] or not (measured or match[1] in _NO_CODES or match[1].lower() in self.scan.pack.words):
                yield code
        for cue in self.scan.cues:
            if cue.has("ordinal") and (number := _DIGITS.match(self.text, cue.end)):
                yield AmountReading(cue.start, number.end())

    def find(self) -> Iterator[Unread]:
        """Yield the unparsed amounts by position."""
        cluster: list[_AmountPart] = []
        for part in chain(self._parts(), [_AmountPart(len(self.text) + 2 * _LOOK, len(self.text) + 2 * _LOOK)]):
            if cluster and (part.start - cluster[-1].end > _LOOK or not self._joined(cluster[-1].end, part.start)):
                yield from self._weighed(cluster)
                cluster = []
            cluster.append(part)

    def _joined(self, end: int, start: int) -> bool:
        """Return whether the text between two parts joins them to one amount."""
        gap = self.text[end:start]
        if gap in _DIVIDING and (cell := self.scan.cell_at(start)) and gap.strip() in cell.header:
            return False  # "5 + 24 min" under "Wait + drive"
        if gap == " and " and self.text[end - 1].isdigit() and self.text[start].isdigit():
            return False  # "40 and 45 yuan"
        if gap in _POINTS and start > end:
            return self.text[end - 1].isdigit() and self.text[start].isdigit()
        return start <= end or _GAP.fullmatch(gap) is not None

    def _parts(self) -> list[_AmountPart]:
        """Return all possible parts of amounts by position, without overlaps."""
        parts = [_AmountPart(reading.start, reading.end) for reading in self.read]
        parts += [
            _AmountPart(number.start, number.end, number=number.start not in self.short)
            for number in self.numbers
            if (number.spelled or self._decimal(number.start)) and not number.article and not self._is_pronoun(number)
        ]
        parts += [_AmountPart(*match.span()) for match in _DIGITS.finditer(self.text) if self._decimal(match.start())]
        parts += [_AmountPart(*match.span()) for match in _FRACTION.finditer(self.text)]
        parts += [
            _AmountPart(place, place + 1, weak=True)
            for place, char in enumerate(self.text)
            if char in _SIGNS or (not char.isascii() and unicodedata.category(char) == "Sc") or char in "$£"
        ]
        parts += [
            _AmountPart(cue.start, cue.start + len(self._words(cue).removesuffix("'s")), weak=self._is_weak(cue))
            for cue in chain(self.scan.cues, self.amounts)
            if not self.text[cue.start].isdigit() and (cue.has("amount", *_PARTS) or self._measures(cue))
        ]
        parts += [_AmountPart(cue.start, cue.end) for cue in self._foreign()]
        parts += [_AmountPart(place, place + 1) for place, char in enumerate(self.text) if self._is_strange(char)]
        places = (map(self.scan.folded.at, match.span()) for match in _ROMAN.finditer(self.scan.folded.original))
        parts += [_AmountPart(start, end) for start, end in places]
        parts.sort(key=lambda part: (part.start, -part.end))
        kept: list[_AmountPart] = []
        bounds = iter(self.scan.bounds)
        low, high = next(bounds, (0, 0))
        for part in parts:
            while part.start >= high and (following := next(bounds, None)):
                low, high = following
            lead = self.text[max(part.start - 3, 0) : part.start].rstrip(" *")
            listed = not low <= part.start < high or self.text.startswith(_KEYCAP, part.end)
            listed = listed or (lead.endswith("|") and self.text.startswith(". ", part.end))
            if not listed and not self._inside(part, self.taken):
                if not kept or part.start >= kept[-1].end:
                    kept.append(part)
                elif part.end > kept[-1].end:
                    kept[-1] = _AmountPart(kept[-1].start, part.end, kept[-1].weak and part.weak)
        return kept

    def _decimal(self, start: int) -> bool:
        """Return whether a digit was written as a plain decimal digit, unlike ② or ²."""
        return self.scan.folded.original[self.scan.folded.origin(start)].isdecimal()

    def _is_strange(self, char: str) -> bool:
        """Return whether a character is a numeral that the reader does not know: 萬, 〨."""
        numeral = unicodedata.category(char) in ("Lo", "Nl") and unicodedata.numeric(char, None) is not None
        return numeral and char not in _NO_NUMERALS and char not in pack_of("zh").words

    def _is_short(self, number: ReadNumber) -> bool:
        """Return whether a Chinese number omits the unit of its last digit (两百五, 三万五) or its first digit (百十)."""
        cues = self.scan.cues_between(number.start, number.end) if number.spelled else []
        if not cues or not is_han(self.text[number.start]):
            return False
        last = [cue.tags.get("multiplier", 0) for cue in cues[-2:-1]]
        return cues[0].tags.get("multiplier", 0) > _TEN or (cues[-1].has("numeral") and max(last, default=0) > _TEN)

    def _is_pronoun(self, number: ReadNumber) -> bool:
        """Return whether a numeral is only the pronoun "one", or a multiplier at the start of a word, as in 百货."""
        words = self.text[number.start : number.end]
        if not number.spelled:
            return False
        ends = not self.text[number.end : number.end + 1].isalpha() and number.start in self.ends  # 两米一
        return (number.value == number.high == 1 and not ends) or (
            is_han(words[0]) and len(words) == 1 and number.value > _TEN
        )

    def _measures(self, cue: Cue) -> bool:
        """Return whether a unit word alone implies an amount: it is long enough and not a rate ("per hour")."""
        if "unit" not in cue.tags or cue.end - cue.start < (2 if is_han(self.text[cue.start]) else 1):
            return False
        before = self.scan.cues_between(max(cue.start - _LOOK, 0), cue.start)
        rate = bool(before) and before[-1].has("per") and not self.text[before[-1].end : cue.start].strip()
        return not rate and not self.text[cue.start - 1 : cue.start].endswith("/")

    def _words(self, cue: Cue) -> str:
        """Return the text of a matched word."""
        return self.text[cue.start : cue.end]

    def _is_weak(self, cue: Cue) -> bool:
        """Return whether a word is part of an amount only next to another part."""
        words = self._words(cue)
        if "amount" in cue.tags:
            return cue.tags["amount"] not in _WHOLE or (is_han(words[0]) and len(words) == 1)
        if "unit" in cue.tags and not cue.has(*_PARTS):
            return cue.tags["unit"][0] not in _MEASURED or words in _ALSO_OTHER
        return len(words) == 1 and is_han(words)

    def _foreign(self) -> Iterator[Cue]:
        """Yield the number and unit words of other languages in the text."""
        own = self.scan.pack.language
        for language in languages():
            han = language == "zh"
            if language != own and any(is_han(char) if han else "a" <= char <= "z" for char in self.text):
                pack: Pack = pack_of(language)
                yield from (
                    cue
                    for cue in pack.find(self.text)
                    if is_han(self.text[cue.start]) == han
                    and cue.has("numeral", "multiplier", "unit")
                    and not cue.has("one")
                    and self.text[cue.start : cue.end] not in ("one", "一")
                )

    @staticmethod
    def _inside(part: _AmountPart | AmountReading, spans: Sequence[AmountReading]) -> bool:
        """Return whether a part lies entirely within one of the spans, which are sorted."""
        place = bisect_right(spans, (part.end,)) - 1
        return any(span.start <= part.start and part.end <= span.end for span in spans[max(place - 1, 0) : place + 1])

    def _weighed(self, cluster: Sequence[_AmountPart]) -> Iterator[Unread]:
        """Yield a cluster of parts as an unparsed amount, unless it was parsed completely."""
        cluster = list(dropwhile(self._hangs, cluster))
        if all(part.weak for part in cluster) and len(cluster) < 3:  # noqa: PLR2004  壹佰贰拾元
            return
        start, end = cluster[0].start, cluster[-1].end
        readings = self._held(start, end)
        covered = self._covered(cluster, readings)
        plain = self._is_plain(start, end) and not any(self._in_zone(r) for r in readings if r.unit == CLOCK)
        if covered and plain and not any(starmap(self._clings, pairwise(readings))):
            return
        first, last = (bisect_left(self.amounts, place, key=attrgetter("start")) for place in (start, end))
        sorts = {cue.tags["amount"] for cue in self.amounts[first:last]}
        units = frozenset(reading.unit for reading in readings if reading.unit and reading.unit != "count")
        units |= sorts - {"any", "after"}
        units |= {cue.tags["unit"][0] for cue in self.scan.cues_between(start, end) if "unit" in cue.tags}
        units = frozenset() if sorts == {"any"} and len(cluster) == 1 and not readings else units - {"other"}
        if _HALF_HOUR.fullmatch(self.text, start, end):
            units |= {CLOCK}
        if _THOUSANDS.search(self.text, start, end) or any(self.text[part.start] in "$£€¥" for part in cluster):
            units = frozenset()  # 2.3k of anything
        if _HOURS.search(self.text, start, end) or (CLOCK in units and not plain):
            units |= {"min", CLOCK}  # 2h15
        if self.text[start] == "×" or self.text[end - 1] == "倍":
            units = frozenset({TIMES})
        bare = (
            plain
            and not readings
            and all(part.number for part in cluster)
            and all(map(self._listed, pairwise(cluster)))
        )
        if bare and len(cluster) > 1 and all(self._is_digit(part) for part in cluster):
            return  # a telephone number in words
        yield Unread(start, end, units, bare)

    def _listed(self, parts: tuple[_AmountPart, _AmountPart]) -> bool:
        """Return whether a word or a plus sign separates two numbers ("6 and 8"), or both are digits in words."""
        gap = self.text[parts[0].end : parts[1].start]
        return any(map(str.isalpha, gap)) or gap.strip() == "+" or all(map(self._is_digit, parts))

    def _is_digit(self, part: _AmountPart) -> bool:
        """Return whether a part is a single digit written as a word."""
        cue = self.starts.get(part.start)
        return cue is not None and cue.end == part.end and cue.tags.get("numeral", _TEN) < _TEN

    def _held(self, start: int, end: int) -> list[AmountReading]:
        """Return the readings that overlap a span."""
        first = bisect_left(self.read, (start,))
        if first and self.read[first - 1].end > start:
            first -= 1
        return self.read[first : bisect_left(self.read, (end,))]

    def _covered(self, cluster: Sequence[_AmountPart], readings: Sequence[AmountReading]) -> bool:
        """Return whether readings cover every part of an amount, and no number in it is shortened."""
        place = bisect_left(self.short, cluster[0].start)
        if place < len(self.short) and self.short[place] < cluster[-1].end:
            return False
        at = 0
        for part in cluster:
            while at < len(readings) and readings[at].end <= part.start:
                at += 1
            if at == len(readings) or not readings[at].start <= part.start < part.end <= readings[at].end:
                return False
        return True

    def _hangs(self, part: _AmountPart) -> bool:
        """Return whether a word can only continue an amount, never begin one: 来 of 十来分钟."""
        cue = self.starts.get(part.start)
        unit = cue is not None and "unit" in cue.tags and "unit_name" not in cue.tags
        return part.weak and (unit or part.start in self.behind)

    def _clings(self, first: AmountReading, other: AmountReading) -> bool:
        """Return whether two neighbouring readings may be one amount: 差五分七点, "1h 20m", "from 30 to 24 euros"."""
        gap = self.text[first.end : other.start]
        if first.unit == other.unit == CLOCK:
            return gap.startswith("-") and any(map(str.isalpha, gap))
        if CLOCK in (first.unit, other.unit):
            places = (self.scan.folded.span(reading.start, reading.end) for reading in (first, other))
            return first.unit != other.unit and len({place for span in places for place in span}) < 4  # noqa: PLR2004  they touch
        if any(char.isalpha() for char in gap):
            return first.unit == other.unit and "and" not in gap
        return gap == " " and first.unit != other.unit and "" not in (first.unit, other.unit)

    def _is_plain(self, start: int, end: int) -> bool:
        """Return whether an amount can be read in only one way, without attached signs or letters."""
        before, after = self.text[max(start - 2, 0) : start], self.text[end : end + 2]
        first, last = self.text[start], self.text[end - 1]
        apart = not before[:-1].isdigit() and not _is_latin(before[:-1])
        clinging = before[-1:] in _BEFORE or (before[-1:] in ("-", ".") and apart and not first.isalpha())
        glued = _is_latin(before[-1:]) and (not is_han(first)) and first != "~"
        glued = glued or (not is_han(last) and _is_latin(after[:1]))
        behind = (after[:1] in _BEHIND and last.isdigit()) or (after[:1] in (".", ",") and after[1:] == "-")
        return (
            not (clinging or glued or behind)
            and _TWO_WAYS.search(self.text, start, end + 1) is None
            and _SHARE_OF.search(self.text, max(start - _LOOK, 0), end + 2) is None
            and not _VAGUE.intersection(self.text[start:end])
        )

    def _in_zone(self, time: AmountReading) -> bool:
        """Return whether a time of day has a time zone, or is part of a longer time stamp."""
        first, last = self.scan.folded.span(time.start, time.end)
        original = self.scan.folded.original
        place = self.scan.clauses[self.scan.clause_at(time.start)].sentence
        sentence = self.scan.sentences[place]
        if _ZONE_BEHIND.match(original, last) or _OFFSET.search(self.text, sentence.start, sentence.end):
            return True
        before = _ZONE_BEFORE.search(original, max(first - _LOOK, 0), first)
        if before is None:
            return False
        words = self.scan.cues_between(max(time.start - _LOOK, 0), time.start)
        return before.group().strip(" :,") not in _NOT_ZONES and not (
            before[1] and any(cue.has("time_role") for cue in words)
        )


#: What stands right before or behind an amount and makes it another one.
_BEFORE, _BEHIND, _POINTS = frozenset("+±×^#_\\"), frozenset("+'\"^′″"), frozenset(".,:'’·\"")


def _is_worked_out(match: re.Match[str]) -> bool:
    """Return whether a product in the text equals the result given next to it."""
    factor, product = match[2], match[4] or match[1] or ""
    return all(number.replace(".", "", 1).isdigit() for number in (factor, product)) and math.isclose(
        float(factor) * int(match[3]), float(product)
    )


def _is_latin(char: str) -> bool:
    """Return whether a character is an ASCII letter."""
    return char.isascii() and char.isalpha()


_COLONS = (":", "：")
_NOT = ("not ", "不是")


def take_back(document: Document, cut: Scan) -> Document:
    """Return the document with everything that the reply retracts marked as denied."""
    spans = [Span(*cut.folded.span(start, end)) for start, end in _taken_back(cut) if end > start]
    if not spans:
        return document
    return replace(
        document,
        mentions=tuple(_denied(reading, inside=inside(reading.span.start, spans)) for reading in document.mentions),
        quantities=tuple(
            reading._replace(stance="denied") if inside(reading.span.start, spans) else reading
            for reading in document.quantities
        ),
        times=tuple(
            reading._replace(stance="denied") if inside(reading.span.start, spans) else reading
            for reading in document.times
        ),
    )


def _taken_back(cut: Scan) -> list[tuple[int, int]]:
    """Return the folded spans that the reply retracts, by position, without overlaps."""
    spans: list[tuple[int, int]] = []
    if not any(cue.has("takes_back_rest", "takes_back_sentence", "not") for cue in cut.cues):
        return spans
    for clause in cut.clauses:
        if spans and clause.start < spans[-1][1]:
            continue
        rest = clause.first("takes_back_rest")
        if rest and cut.text[rest.end : rest.end + 1] in _COLONS:
            spans.append((rest.end, len(cut.text)))
            break
        sentence = cut.sentences[clause.sentence]
        denial = clause.first("takes_back_sentence")
        if denial:
            spans.append((denial.end, sentence.end))
        elif _begins_with_not(cut, clause):
            whole = cut.text.startswith(_NOT[1], _begin(cut, clause)) and clause.start == sentence.start
            spans.append((clause.start, sentence.end if whole else _denied_to(cut, clause)))
    return spans


def _denied_to(cut: Scan, clause: Clause) -> int:
    """Return the end of a denial at the start of a clause; a bare "not" extends to the next clause."""
    following = cut.clause_at(clause.end)
    alone = cut.text[clause.start : clause.end].strip() in {word.strip() for word in _NOT}
    return cut.clauses[following].end if alone and cut.clauses[following].sentence == clause.sentence else clause.end


def _begin(cut: Scan, clause: Clause) -> int:
    """Return where the text of a clause begins, after blanks."""
    words = cut.text[clause.start : clause.end]
    return clause.start + len(words) - len(words.lstrip())


def _states(cut: Scan, clause: Clause) -> bool:
    """Return whether a clause starts with a bare "is", which in Chinese gives the alternative: 不是甲，是乙."""
    return bool(clause.cues) and clause.cues[0].has("is") and clause.cues[0].start == _begin(cut, clause)


def _begins_with_not(cut: Scan, clause: Clause) -> bool:
    """Return whether a clause starts with a bare negation without a following contrast ("but", 而是)."""
    begin = _begin(cut, clause)
    if not cut.text.startswith(_NOT, begin) or not clause.cues or clause.cues[0].start != begin:
        return False
    sentence = cut.sentences[clause.sentence]
    clauses = cut.clauses[sentence.first : sentence.last]
    contrast = any(other.has("but") or "but" in other.links or _states(cut, other) for other in clauses)
    return clause.cues[0].has("not") and not contrast and "而是" not in cut.text[clause.start : sentence.end]


def _denied(mention: Mention, *, inside: bool) -> Mention:
    """Return the mention as denied if it is inside a retracted span, unless it is in a question."""
    return mention._replace(stance="denied", why="") if inside and mention.stance != "asked" else mention


_ISO_TIME = re.compile(r"[T ]([0-2][0-9]):([0-5][0-9])")
_CLOCK = re.compile(r"([0-2]?[0-9]):([0-5][0-9])")
#: What a word that denies that there is something says with the next one: "no toll", "no queue".
_DENIED = ("fee", "wait")
#: 不收费的路 tells one road from others and says nothing of those named before.
_OF_WHAT_FOLLOWS = "的"


def read(
    text: str,
    *,
    language: str,
    lexicon: Lexicon,
    vocabulary: Vocabulary | None = None,
    now: str = "",
    turn: int = 0,
) -> Document:
    """Return the reading of one reply as a document. Linear in its length; no text raises an exception.

    Args:
        text: the reply as it was written.
        language: BCP 47 tag of the case; a reply in another script is read with the pack of that script.
        lexicon: the things of the case.
        vocabulary: domain words of the suite.
        now: the case's time, ISO 8601 or HH:MM; resolves the 12-hour clock.
        turn: index of the reply in ``Trajectory.turns``, for quotes.
    """
    return read_page(open_page(text, language=language, vocabulary=vocabulary), lexicon, now=now, turn=turn)


def read_page(page: TextPage, lexicon: Lexicon, *, now: str = "", turn: int = 0) -> Document:
    """Return the reading of a prepared page; see ``read``."""
    return _read(page, lexicon, turn, now)


def read_names(page: TextPage, lexicon: Lexicon, *, turn: int = 0) -> Document:
    """Return the reading of a page for names only, without figures, times and identifiers."""
    return _read(page, lexicon, turn, None)


def _read(page: TextPage, lexicon: Lexicon, turn: int, now: str | None) -> Document:
    """Return the reading of a page, for names only if ``now`` is None; short pages are cached."""
    return (_kept if len(page.text) <= KEPT else _kept.__wrapped__)(page, lexicon, turn, now)


@lru_cache(maxsize=128)
def _kept(page: TextPage, lexicon: Lexicon, turn: int, now: str | None) -> Document:
    """Return the reading of a page; cached, because trials and cases read the same texts."""
    names = find_names(page, lexicon)
    sentences = scan(page, _places(names, page.links)).sentences
    hits = tell_apart(names, lexicon, page.folded.text, [sentence.end for sentence in sentences])
    return (_of_names if len(page.text) <= KEPT else _of_names.__wrapped__)(page, tuple(hits), turn, now)


@lru_cache(maxsize=128)
def _of_names(page: TextPage, hits: tuple[NameHit, ...], turn: int, now: str | None) -> Document:
    """Return the reading of a page with known names; cached, because different lexicons often find the same names."""
    return _cut(page, hits, figures=now is not None).document(turn, now)


def _cut(page: TextPage, hits: Sequence[NameHit], *, figures: bool) -> _Cut:
    """Return the page with its names and their stances, its numbers and its times."""
    cut = scan(page, _places(hits, page.links))
    if not hits and not figures:
        return _Cut(cut, [], (), ())
    numbers = _inside_blocks(cut, find_numbers(page.folded.text, cut.cues))
    numbers = list(outside(numbers, _places(hits, page.identifiers)))
    times = find_times(page.folded.text, cut.cues, numbers, page.pack)
    names = [_name(cut, hit) for hit in hits]
    read_stances(cut, names, [time.start for time in times])
    return _Cut(cut, names, numbers, times)


def _places(hits: Sequence[NameHit], identifiers: Sequence[FoundIdentifier]) -> tuple[tuple[int, int], ...]:
    """Return the sorted spans of names and identifiers, which are not searched for figures."""
    spans = [(hit.start, hit.end) for hit in hits]
    return tuple(sorted(spans + [(identifier.start, identifier.end) for identifier in identifiers]))


def _inside_blocks(cut: Scan, numbers: Sequence[ReadNumber]) -> list[ReadNumber]:
    """Return the numbers, except those that merely number list items."""
    kept = []
    place = 0
    for number in numbers:
        while place < len(cut.bounds) and cut.bounds[place][1] <= number.start:
            place += 1
        if place < len(cut.bounds) and cut.bounds[place][0] <= number.start:
            kept.append(number)
    return kept


def _name(cut: Scan, hit: NameHit) -> Name:
    """Return a name with its clause, sentence and block."""
    place = cut.clause_at(hit.start)
    sentence = cut.clauses[place].sentence
    return Name(hit, place, sentence, cut.sentences[sentence].block)


@dataclass
class _Cut:
    """A page with known names, from which the document is built with original positions."""

    cut: Scan
    names: list[Name]
    numbers: Sequence[ReadNumber]
    times: Sequence[Spoken]

    def document(self, turn: int, now: str | None = None) -> Document:
        """Return the document; without figures, times and identifiers if ``now`` is None."""
        cut, page = self.cut, self.cut.page
        quantities = () if now is None else tuple(self._quantities())
        times = () if now is None else tuple(self._times(now))
        document = Document(
            text=page.text,
            language=page.language,
            turn=turn,
            blocks=cut.blocks,
            sentences=tuple(self.span(sentence.start, sentence.end) for sentence in cut.sentences),
            clauses=tuple(self.span(clause.start, clause.end) for clause in cut.clauses),
            mentions=tuple(
                self._mention(name, reason, phrases=now is None)
                for name, reason in zip(self.names, reasons(self.names), strict=True)
            ),
            quantities=quantities,
            times=times,
            identifiers=() if now is None else tuple(self._identifiers()),
            questions=tuple(self._questions()),
            negations=tuple(self._negations(inside=now is None)),
            numbers=()
            if now is None
            else tuple(self._bare([figure.span for figures in (quantities, times) for figure in figures])),
            unread=() if now is None else tuple(map(self._amount, self.unread)),
        )
        return take_back(document, cut)

    def _negations(self, *, inside: bool) -> Iterator[Span]:
        """Yield the spans of negating words; ``inside``: also negations within phrases, as in "at no cost"."""
        places = [(cue.start, cue.end) for cue in self.cut.cues if cue.has("not", "lack")]
        for name in self.names if inside else ():
            words = self.cut.text[name.hit.start : name.hit.end]
            places += [
                (name.hit.start + cue.start, name.hit.start + cue.end)
                for cue in self.cut.pack.find(words)
                if cue.has("not", "lack")
            ]
        yield from (self.span(start, end) for start, end in sorted(places))

    @cached
    def figures(self) -> tuple[list[ReadFigure], list[ReadFigure]]:
        """The figures, and the figures that checks cannot use."""
        return find_figures(self.cut.text, self.cut.pack, self.cut.cues, self.numbers, self.times)

    @cached
    def unread(self) -> list[Unread]:
        """The amounts that could not be parsed."""
        taken = _places([name.hit for name in self.names], self.cut.page.identifiers)
        return [*LeftUnread(self.cut, self.numbers, self.figures, self.times, taken).find()]

    def _amount(self, unread: Unread) -> UnreadAmount:
        """Return an unparsed amount with its original span, sentence and possible roles."""
        open_ = unread.bare or unread.units == {CLOCK}  # 评分五点八八 is no time of day
        roles = self.roles.said_of(unread.start, unread.end) if open_ else frozenset()
        return UnreadAmount(
            self.span(unread.start, unread.end), unread.units, self._place(unread.start)[1], unread.bare, roles
        )

    def _is_unread(self, start: int, end: int) -> bool:
        """Return whether a figure or time is only part of an unparsed amount."""
        place = bisect_right(self.unread, (end,)) - 1
        return any(
            amount.start < end and amount.end > start and not amount.bare
            for amount in self.unread[max(place - 1, 0) : place + 1]
        )

    @cached
    def subjects(self) -> Subjects:
        """The object that finds the things to which figures belong."""
        return Subjects(self.cut, self.names)

    @cached
    def roles(self) -> Roles:
        """The object that finds the roles of figures."""
        return Roles(self.cut, self.subjects)

    def span(self, start: int, end: int) -> Span:
        """Return the original span of a folded span, without surrounding blanks."""
        text = self.cut.text
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        return Span(*self.cut.folded.span(start, end))

    def _mention(self, name: Name, reason: tuple[int, int] | None, *, phrases: bool) -> Mention:
        """Return a name as a mention, with the words that decided its stance."""
        words = self.cut.folded.original[slice(*self.cut.folded.span(*reason))] if reason else ""
        span = self.span(name.hit.start, name.hit.end)
        return Mention(
            name.hit.keys,
            span,
            name.hit.form,
            name.stance,
            words,
            name.sentence,
            name.clause,
            self.cut.cell_at(name.hit.start),
            plainly(self.cut, name) if phrases else "",
        )

    def _place(self, start: int) -> tuple[int, int]:
        """Return the indexes of the clause and the sentence at a folded position."""
        clause = self.cut.clause_at(start)
        return clause, self.cut.clauses[clause].sentence

    def _quantities(self) -> list[Quantity]:
        """Return all figures of the reply as quantities, including zeros stated in words, by position."""
        quantities = [self._quantity(figure, self.roles.of_figure(figure)) for figure in self.figures[0]]
        nothing = list(self._stated_zeros())
        return sorted([*quantities, *nothing], key=lambda quantity: quantity.span) if nothing else quantities

    def _stated_zeros(self) -> Iterator[Quantity]:
        """Yield a figure of 0 for words that deny any cost or wait; its stance is unclear, or asked in a question."""
        for cue, following in zip_longest(self.cut.cues, self.cut.cues[1:]):
            role: FigureRole | None = cue.tags.get("none_of")
            end = cue.end
            if role is None and cue.has("lack") and following and not self.cut.text[cue.end : following.start].strip():
                role, end = cast("FigureRole | None", following.role(_DENIED) or None), following.end
            if role is not None and not self.cut.text.startswith(_OF_WHAT_FOLLOWS, end):
                yield self._zero(role, cue.start, end)

    def _zero(self, role: FigureRole, start: int, end: int) -> Quantity:
        """Return the unclear figure of 0 for a role."""
        unit = "min" if role == "wait" else MONEY
        zero = self._quantity(ReadFigure(start, end, 0, 0, 0, "exact", unit, 1), FigureRoleKnown(unit, role))
        return zero._replace(stance="asked" if zero.stance == "asked" else "unclear")

    def _quantity(self, figure: ReadFigure, known: FigureRoleKnown) -> Quantity:
        """Return a figure as a quantity, with its role, subject and stance."""
        clause, sentence = self._place(figure.start)
        travel = known.role in ("travel_time", "travel_distance")
        subject = self.subjects.subject(figure.start, figure.end, clause, travel=travel)
        return Quantity(
            span=self.span(figure.start, figure.end),
            value=figure.value,
            low=figure.low,
            high=figure.high,
            approx=figure.approx,
            unit=known.unit,
            role=known.role,
            subject=() if known.role in ("budget", "total") else subject,
            mode=known.mode,
            stance=self.subjects.stance(figure.start, clause),
            sentence=sentence,
            clause=clause,
            step=figure.step,
            cell=self.cut.cell_at(figure.start),
            cued=known.cued,
            unread=self._is_unread(figure.start, figure.end),
            said=frozenset()
            if known.unit in ROLES_OF_UNIT or known.role
            else self.roles.said_of(figure.start, figure.end),
        )

    def _times(self, now: str) -> list[ClockTime]:
        """Return the times of day with roles, subjects and readings; ``now``: the case's time."""
        finder = TimeRoles(self.cut, self.subjects, self.times)
        roles = [finder.of(spoken) for spoken in self.times]
        tomorrow = any("tomorrow" in cue.tags for cue in self.cut.cues)
        morning = any("am" in cue.tags for cue in self.cut.cues)
        resolved = resolve(self.times, _minutes(now), tomorrow=tomorrow, morning=morning, roles=roles)
        return self._without_repeated_arrivals(
            [self._time(spoken, role) for spoken, role in zip(resolved, roles, strict=True)]
        )

    def _without_repeated_arrivals(self, times: Sequence[ClockTime]) -> list[ClockTime]:
        """Return the times, without a subject for a second arrival at a thing that its clause does not name."""
        first: dict[tuple[str, ...], ClockTime] = {}
        places = {(name.clause, name.hit.keys) for name in self.names}
        kept = []
        for time in times:
            arrival = (
                first.setdefault(time.subject, time) if time.role == "arrival" and len(time.subject) == 1 else time
            )
            stays = arrival.minutes == time.minutes or (time.clause, time.subject) in places
            kept.append(time if stays else time._replace(subject=()))
        return kept

    def _time(self, spoken: Spoken, role: TimeRole | None) -> ClockTime:
        """Return a time of day with its subject and stance."""
        clause, sentence = self._place(spoken.start)
        span = self.span(spoken.start, spoken.end)
        subject = self.subjects.subject(spoken.start, spoken.end, clause, travel=role in ("arrival", None))
        return ClockTime(
            span=span,
            minutes=spoken.minutes,
            other=spoken.other,
            approx=spoken.approx,
            role=role,
            subject=() if role in ("now", "deadline") else subject,
            sentence=sentence,
            clause=clause,
            stance=self.subjects.stance(spoken.start, clause),
            cell=self.cut.cell_at(spoken.start),
            unread=self._is_unread(spoken.start, spoken.end),
        )

    def _bare(self, taken: Sequence[Span]) -> Iterator[BareNumber]:
        """Yield the numbers that belong to no figure or time."""
        spans = sorted(taken)
        for number in self.numbers:
            span = self.span(number.start, number.end)
            if not number.article and not inside(span.start, spans):
                yield BareNumber(span, number.value)

    def _identifiers(self) -> list[Identifier]:
        """Return the identifiers of the page with the things to which they belong."""
        identifiers = []
        for identifier in self.cut.page.identifiers:
            place = self.cut.clause_at(identifier.start)
            subject = self.subjects.subject(identifier.start, identifier.end, place, travel=False)
            identifiers.append(
                Identifier(
                    self.span(identifier.start, identifier.end),
                    identifier.kind,
                    identifier.value,
                    subject,
                    self.cut.clauses[place].sentence,
                )
            )
        return identifiers

    def _questions(self) -> list[Question]:
        """Return the questions of the reply, each with its offers."""
        questions = []
        for number, sentence in enumerate(self.cut.sentences):
            if sentence.asks:
                offer = self._offers(sentence)
                questions.append(Question(self.span(sentence.start, sentence.end), number, offer))
        return questions

    def _offers(self, sentence: Sentence) -> Offer:
        """Return "help" or "act" for a question that only offers it; empty for a real question."""
        cues = self.cut.cues_between(sentence.start, sentence.end)
        offers = {cue.tags["offer"] for cue in cues if cue.has("offer") and not (sentence.marked and cue.has("if"))}
        if offers:
            return "help" if "help" in offers else "act"
        asks = next((cue for cue in cues if cue.has("ask")), None)
        under = asks is not None and any(cue.has("if") and cue.end <= asks.start for cue in cues)
        return "help" if under and not sentence.marked else ""


def _minutes(now: str) -> int | None:
    """Return a point in time as minutes after midnight; None if it has no time of day."""
    match = _ISO_TIME.search(now) or _CLOCK.fullmatch(now.strip())
    return int(match[1]) * 60 + int(match[2]) if match else None
