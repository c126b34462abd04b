"""What looks like an amount and is not read, or only in part: beside such an amount it is unknown what a text leaves unsaid.

An *amount* is a run of digits, numerals, signs and words of quantity with nothing but blanks and marks between them. It is read where its numbers
are written plainly and readings (figures, times of day, identifiers) account for all of it: of "1 h 20" one hour alone is read, and so it is not.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, dropwhile, pairwise, starmap
from operator import attrgetter
from typing import NamedTuple

from .clock import Number, Spoken
from .document import is_han
from .figures import ReadFigure
from .pack import Cue, Pack, languages, pack_of
from .page import Scan

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
    """An amount that is not read, or a number of which nothing tells what it counts; in folded characters.

    Attributes:
        units: the units that stand in it, ``clock`` for a time of day, ``times`` for what only multiplies; none where it could be any.
        bare: whether it is a plain number whose unit alone is missing.
    """

    start: int
    end: int
    units: frozenset[str]
    bare: bool = False


class _Part(NamedTuple):
    """A part of an amount; ``weak``: it is one only beside another; ``number``: it is a number that is written plainly."""

    start: int
    end: int
    weak: bool = False
    number: bool = False


class Reading(NamedTuple):
    """What is read of an amount: its place, and its unit; none for what is no amount at all, as a line or a house number."""

    start: int
    end: int
    unit: str = ""


class LeftUnread:
    """Finds the amounts of a text and holds them against what was read.

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
        numbers: Sequence[Number],
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
        read = [Reading(*self._whole(figure), figure.unit) for figure in figures[0] if self._tells(figure)]
        read += [Reading(figure.start, figure.end) for figure in figures[1] if self._tells(figure)]
        read += [Reading(time.start, time.end, CLOCK) for time in times]
        products = [
            Reading(match.start(2), match.end(3)) for match in _PRODUCT.finditer(scan.text) if _is_worked_out(match)
        ]
        self.read = sorted([*(reading for reading in read if not self._inside(reading, products)), *products])
        self.taken = sorted([*(Reading(start, end) for start, end in taken), *self._named()])
        self.numbers = numbers
        self.short = [number.start for number in numbers if self._is_short(number)]

    def _within_word(self, cue: Cue) -> bool:
        """Return whether a word of quantity is only a part of another word: 今晚, 差不多, "at night"."""
        place = bisect_right(self.scan.cue_starts, cue.start) - 1
        outer = self.scan.cues[place] if place >= 0 else cue
        return outer.end >= cue.end and outer.end - outer.start > cue.end - cue.start

    def _tells(self, figure: ReadFigure) -> bool:
        """Return whether it is known what a figure counts."""
        following = self.starts.get(figure.end)
        if figure.bare:
            return following is not None and following.has("classifier")
        return figure.end not in self.strange

    def _whole(self, figure: ReadFigure) -> tuple[int, int]:
        """Return the place of a figure with the unit before it."""
        start = figure.start
        cue = self.ends.get(start) or (self.ends.get(start - 1) if self.text[start - 1 : start] == " " else None)
        tags = cue.tags if cue else {}
        ours = figure.unit in (tags.get("unit_name"), *tags.get("unit", ())[:1]) or "percent_before" in tags
        return (cue.start if cue and ours else start), figure.end

    def _named(self) -> Iterator[Reading]:
        """Yield the numbers that count nothing: second, line B2."""
        for match in _ORDINAL.finditer(self.text):
            yield Reading(*match.span())
        original = self.scan.folded.original
        for match in _CODE.finditer(original):
            code = Reading(self.scan.folded.at(match.start()), self.scan.folded.at(match.end() - 1) + 1)
            following = self.starts.get(code.end) or self.starts.get(code.end + 1)
            measured = following is not None and "unit" in following.tags  # MAX50 yuan
            if not match[1] or not (measured or match[1] in _NO_CODES or match[1].lower() in self.scan.pack.words):
                yield code
        for cue in self.scan.cues:
            if cue.has("ordinal") and (number := _DIGITS.match(self.text, cue.end)):
                yield Reading(cue.start, number.end())

    def find(self) -> Iterator[Unread]:
        """Yield the amounts that are not read, ascending."""
        cluster: list[_Part] = []
        for part in chain(self._parts(), [_Part(len(self.text) + 2 * _LOOK, len(self.text) + 2 * _LOOK)]):
            if cluster and (part.start - cluster[-1].end > _LOOK or not self._joined(cluster[-1].end, part.start)):
                yield from self._weighed(cluster)
                cluster = []
            cluster.append(part)

    def _joined(self, end: int, start: int) -> bool:
        gap = self.text[end:start]
        if gap in _DIVIDING and (cell := self.scan.cell_at(start)) and gap.strip() in cell.header:
            return False  # "5 + 24 min" under "Wait + drive"
        if gap == " and " and self.text[end - 1].isdigit() and self.text[start].isdigit():
            return False  # "40 and 45 yuan"
        if gap in _POINTS and start > end:
            return self.text[end - 1].isdigit() and self.text[start].isdigit()
        return start <= end or _GAP.fullmatch(gap) is not None

    def _parts(self) -> list[_Part]:
        """Return all that may be a part of an amount, ascending, none overlapping another."""
        parts = [_Part(reading.start, reading.end) for reading in self.read]
        parts += [
            _Part(number.start, number.end, number=number.start not in self.short)
            for number in self.numbers
            if (number.spelled or self._decimal(number.start)) and not number.article and not self._is_pronoun(number)
        ]
        parts += [_Part(*match.span()) for match in _DIGITS.finditer(self.text) if self._decimal(match.start())]
        parts += [_Part(*match.span()) for match in _FRACTION.finditer(self.text)]
        parts += [
            _Part(place, place + 1, weak=True)
            for place, char in enumerate(self.text)
            if char in _SIGNS or (not char.isascii() and unicodedata.category(char) == "Sc") or char in "$£"
        ]
        parts += [
            _Part(cue.start, cue.start + len(self._words(cue).removesuffix("'s")), weak=self._is_weak(cue))
            for cue in chain(self.scan.cues, self.amounts)
            if not self.text[cue.start].isdigit() and (cue.has("amount", *_PARTS) or self._measures(cue))
        ]
        parts += [_Part(cue.start, cue.end) for cue in self._foreign()]
        parts += [_Part(place, place + 1) for place, char in enumerate(self.text) if self._is_strange(char)]
        places = (map(self.scan.folded.at, match.span()) for match in _ROMAN.finditer(self.scan.folded.original))
        parts += [_Part(start, end) for start, end in places]
        parts.sort(key=lambda part: (part.start, -part.end))
        kept: list[_Part] = []
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
                    kept[-1] = _Part(kept[-1].start, part.end, kept[-1].weak and part.weak)
        return kept

    def _decimal(self, start: int) -> bool:
        """Return whether a digit was written as one, and not as ② or ²."""
        return self.scan.folded.original[self.scan.folded.origin(start)].isdecimal()

    def _is_strange(self, char: str) -> bool:
        """Return whether a character is a numeral of a script, or of a way of writing, that is not read: 萬, 〨."""
        numeral = unicodedata.category(char) in ("Lo", "Nl") and unicodedata.numeric(char, None) is not None
        return numeral and char not in _NO_NUMERALS and char not in pack_of("zh").words

    def _is_short(self, number: Number) -> bool:
        """Return whether a Chinese number leaves out what its last figure counts (两百五, 三万五), or its first (百十)."""
        cues = self.scan.cues_between(number.start, number.end) if number.spelled else []
        if not cues or not is_han(self.text[number.start]):
            return False
        last = [cue.tags.get("multiplier", 0) for cue in cues[-2:-1]]
        return cues[0].tags.get("multiplier", 0) > _TEN or (cues[-1].has("numeral") and max(last, default=0) > _TEN)

    def _is_pronoun(self, number: Number) -> bool:
        """Return whether a numeral is a mere "one", or a multiplier that begins a word as in 百货."""
        words = self.text[number.start : number.end]
        if not number.spelled:
            return False
        ends = not self.text[number.end : number.end + 1].isalpha() and number.start in self.ends  # 两米一
        return (number.value == number.high == 1 and not ends) or (
            is_han(words[0]) and len(words) == 1 and number.value > _TEN
        )

    def _measures(self, cue: Cue) -> bool:
        """Return whether a word of a unit tells of an amount by itself."""
        if "unit" not in cue.tags or cue.end - cue.start < (2 if is_han(self.text[cue.start]) else 1):
            return False
        before = self.scan.cues_between(max(cue.start - _LOOK, 0), cue.start)
        rate = bool(before) and before[-1].has("per") and not self.text[before[-1].end : cue.start].strip()
        return not rate and not self.text[cue.start - 1 : cue.start].endswith("/")

    def _words(self, cue: Cue) -> str:
        return self.text[cue.start : cue.end]

    def _is_weak(self, cue: Cue) -> bool:
        """Return whether a word is a part of an amount only beside another one."""
        words = self._words(cue)
        if "amount" in cue.tags:
            return cue.tags["amount"] not in _WHOLE or (is_han(words[0]) and len(words) == 1)
        if "unit" in cue.tags and not cue.has(*_PARTS):
            return cue.tags["unit"][0] not in _MEASURED or words in _ALSO_OTHER
        return len(words) == 1 and is_han(words)

    def _foreign(self) -> Iterator[Cue]:
        """Yield the words of the other languages in the text."""
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
    def _inside(part: _Part | Reading, spans: Sequence[Reading]) -> bool:
        place = bisect_right(spans, (part.end,)) - 1
        return any(span.start <= part.start and part.end <= span.end for span in spans[max(place - 1, 0) : place + 1])

    def _weighed(self, cluster: Sequence[_Part]) -> Iterator[Unread]:
        """Yield an amount, unless it is read."""
        cluster = list(dropwhile(self._hangs, cluster))
        if all(part.weak for part in cluster) and len(cluster) < 3:  # noqa: PLR2004  壹佰贰拾元
            return
        start, end = cluster[0].start, cluster[-1].end
        held = self._held(start, end)
        covered = self._covered(cluster, held)
        plain = self._is_plain(start, end) and not any(self._in_zone(r) for r in held if r.unit == CLOCK)
        if covered and plain and not any(starmap(self._clings, pairwise(held))):
            return
        first, last = (bisect_left(self.amounts, place, key=attrgetter("start")) for place in (start, end))
        said = {cue.tags["amount"] for cue in self.amounts[first:last]}
        units = frozenset(reading.unit for reading in held if reading.unit and reading.unit != "count")
        units |= said - {"any", "after"}
        units |= {cue.tags["unit"][0] for cue in self.scan.cues_between(start, end) if "unit" in cue.tags}
        units = frozenset() if said == {"any"} and len(cluster) == 1 and not held else units - {"other"}
        if _HALF_HOUR.fullmatch(self.text, start, end):
            units |= {CLOCK}
        if _THOUSANDS.search(self.text, start, end) or any(self.text[part.start] in "$£€¥" for part in cluster):
            units = frozenset()  # 2.3k of anything
        if _HOURS.search(self.text, start, end) or (CLOCK in units and not plain):
            units |= {"min", CLOCK}  # 2h15
        if self.text[start] == "×" or self.text[end - 1] == "倍":
            units = frozenset({TIMES})
        bare = plain and not held and all(part.number for part in cluster) and all(map(self._listed, pairwise(cluster)))
        if bare and len(cluster) > 1 and all(self._is_digit(part) for part in cluster):
            return  # a telephone number in words
        yield Unread(start, end, units, bare)

    def _listed(self, parts: tuple[_Part, _Part]) -> bool:
        """Return whether a word, or a plus, joins two numbers: "6 and 8"."""
        gap = self.text[parts[0].end : parts[1].start]
        return any(map(str.isalpha, gap)) or gap.strip() == "+" or all(map(self._is_digit, parts))

    def _is_digit(self, part: _Part) -> bool:
        """Return whether a part is a figure from zero to nine in words."""
        cue = self.starts.get(part.start)
        return cue is not None and cue.end == part.end and cue.tags.get("numeral", _TEN) < _TEN

    def _held(self, start: int, end: int) -> list[Reading]:
        """Return the readings that touch a place."""
        first = bisect_left(self.read, (start,))
        if first and self.read[first - 1].end > start:
            first -= 1
        return self.read[first : bisect_left(self.read, (end,))]

    def _covered(self, cluster: Sequence[_Part], held: Sequence[Reading]) -> bool:
        """Return whether each part of an amount lies in a reading, and no number leaves out what it counts."""
        place = bisect_left(self.short, cluster[0].start)
        if place < len(self.short) and self.short[place] < cluster[-1].end:
            return False
        at = 0
        for part in cluster:
            while at < len(held) and held[at].end <= part.start:
                at += 1
            if at == len(held) or not held[at].start <= part.start < part.end <= held[at].end:
                return False
        return True

    def _hangs(self, part: _Part) -> bool:
        """Return whether a word belongs to an amount only behind it: 来 of 十来分钟."""
        cue = self.starts.get(part.start)
        unit = cue is not None and "unit" in cue.tags and "unit_name" not in cue.tags
        return part.weak and (unit or part.start in self.behind)

    def _clings(self, first: Reading, other: Reading) -> bool:
        """Return whether two readings that stand together may be one amount: 差五分七点, "1h 20m", "from 30 to 24 euros"."""
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
        """Return whether an amount is written so that it can only be read in one way, and nothing clings to it."""
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

    def _in_zone(self, time: Reading) -> bool:
        """Return whether a time of day is one of a zone that is named, or a part of a longer stamp."""
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
    """Return whether a product is what the number beside it says."""
    factor, product = match[2], match[4] or match[1] or ""
    return all(number.replace(".", "", 1).isdigit() for number in (factor, product)) and math.isclose(
        float(factor) * int(match[3]), float(product)
    )


def _is_latin(char: str) -> bool:
    return char.isascii() and char.isalpha()
