"""Figures with their units and with how exactly they are said; telephone numbers, points, links, lines and platforms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from .clock import RANGE_MARKS, PackWords, ReadNumber, Spoken, is_glued
from .document import Approx, Folded, is_han
from .pack import Cue, Pack

_GLUED_UNIT = re.compile(r"[ -]?([a-z°%⭐★$€£'\"]{1,4})(?![a-z0-9])")
_WORD = re.compile(r"[ -]([a-z][a-z'-]{2,20})")
_ABOUT_SHARE = 0.15
_LEAST_SHARE = 0.67
_MOST_SHARE = 1.5
_NEXT: dict[str, str] = {"min": "min", "m": "m"}
_SIXTY = 60
#: Chinese units behind which a bare figure counts tenths.
_WITH_TENTHS = ("块", "米", "公里")
_LONGEST_SIGN = 9
_TEN = 10
#: Roles of a sum of money that a number without a unit may have.
_OF_MONEY = frozenset({"price", "total", "per_head", "fee"})
#: What makes a temperature one below zero.
_SIGN = re.compile(r"(?:(?<![0-9a-z%℃°度.~+-])(?<![0-9],)-|零下|负|\b(?:minus|negative) )$")
#: What rounding to halves and quarters may hide, as a share of the unit.
_FRACTION = 1 / 6
#: Groups of the pack whose words may be what is counted.
_OF_NOUNS = frozenset({"ordinary", "street", "role", "mode"})


class ReadFigure(NamedTuple):
    """A figure in a folded text, in the canonical unit."""

    start: int
    end: int
    value: float
    low: float
    high: float
    approx: Approx
    unit: str
    step: float
    scale: float = 1.0
    bare: bool = False


class _FigureReader(PackWords):
    """Reads figures from numbers and the surrounding words."""

    def __init__(
        self, text: str, pack: Pack, cues: Sequence[Cue], numbers: Sequence[ReadNumber], times: Sequence[Spoken]
    ) -> None:
        super().__init__(text, cues)
        self.pack = pack
        self.by_start = {number.start: number for number in numbers}
        self.numbers = numbers
        self.times = times

    def read(self) -> tuple[list[ReadFigure], list[ReadFigure]]:
        """Return the usable figures and the unusable ones (rates, unknown units), both by position."""
        figures: list[ReadFigure] = []
        taken = iter(self.times)
        time = next(taken, None)
        for number in self.numbers:
            while time and time.end <= number.start:
                time = next(taken, None)
            if (
                (time and time.start < number.end)
                or (figures and number.start < figures[-1].end)
                or is_glued(self.text, number)
                or self._ordinal(number)
            ):
                continue
            figure = self._figure(number)
            if figure and not (figure.bare and number.spelled and number.value == 1):
                figures.append(figure)
        figures += self._quarters(figures)
        figures.sort(key=lambda figure: figure.start)
        joined = self._joined(figures)
        rates = {place for place in range(len(joined)) if self._is_rate(joined, place)}
        kept = {place for place, figure in enumerate(joined) if place not in rates and self._kept(figure)}
        figures = [self._signed(self._hedged(figure)) for place, figure in enumerate(joined) if place in kept]
        return figures, [figure for place, figure in enumerate(joined) if place not in kept and not figure.bare]

    def _is_rate(self, figures: Sequence[ReadFigure], place: int) -> bool:
        """Return whether a duration is the unit of a price: "5 yuan an hour", 一小时6块."""
        figure = figures[place]
        if figure.unit != "min" or figure.value != figure.scale or not self.text[figure.start].isalpha():
            return False
        before, after = figures[place - 1] if place else None, figures[place + 1] if place + 1 < len(figures) else None
        if self.text[figure.start].isascii():
            return before is not None and before.unit == "yuan" and not self.text[before.end : figure.start].strip()
        return after is not None and after.unit == "yuan" and not self.text[figure.end : after.start].strip()

    def _ordinal(self, number: ReadNumber) -> bool:
        """Return whether a number is an ordinal (第三), follows an inexact word, or belongs to a clock phrase."""
        before, after = self.ends.get(number.start), self.after(number.end)
        vague = before is not None and before.has("ordinal", "over_after") and not self.text[before.start].isascii()
        return vague or (after is not None and "clock_past" in after.tags and number.spelled)

    def _figure(self, number: ReadNumber) -> ReadFigure | None:
        """Return the figure that starts with a number; None for an article without a suitable unit."""
        amount, more = self._amount(number)
        unit = self._unit(amount.end) or self._unit_before(number.start)
        if number.article and not (unit and unit[0][0] in ("min", "m", "people") and unit[1] > amount.end):
            return None
        if unit is None:
            return amount._replace(value=amount.low)
        (name, scale), stop = unit
        low, high, step = amount.low, amount.high, amount.step
        tail = self.after(stop)
        more_than_one = scale > 1 or (tail is not None and self.text[tail.start].isascii())
        if tail and "and_fraction" in tail.tags and name in ("min", "m", "yuan") and more_than_one:
            extra = tail.tags["and_fraction"]
            low, high, stop, step = low + extra, high + extra, tail.end, _FRACTION
        if step == 1 and scale > _SIXTY - 1:
            step = 0.5
        tenths = self.by_start.get(stop)
        if tenths and self._are_tenths(self.text[amount.end : stop], tenths):
            extra = tenths.value / _TEN
            low, high, stop, step = low + extra, high + extra, tenths.end, 1 / _TEN
        name = "star" if name == "min" and self._rates(number, stop) else name
        middle = (low + high) / 2 * scale
        figure = ReadFigure(
            number.start, stop, middle, low * scale, high * scale, amount.approx, name, step * scale, scale
        )
        return self._loosened(figure, more) if more else figure

    def _amount(self, number: ReadNumber) -> tuple[ReadFigure, Cue | None]:
        """Return a number with halves, without its unit, and the inexact word inside it (九十多分钟) or None."""
        value, high, end = number.value, number.high, number.end
        step = _FRACTION if number.spelled and number.decimals and not number.pointed else 10.0**-number.decimals
        more = self.starts.get(end)
        loose = more is not None and more.has("over_after", "about_after") and not self.text[more.start].isascii()
        if loose and more and self._unit(more.end):
            end = more.end
        half = self.after(end)
        if half and "and_fraction" in half.tags and (self._unit(half.end) or self.text[half.start].isascii()):
            extra = half.tags["and_fraction"]
            value, high, end, step = value + extra, high + extra, half.end, _FRACTION
        approx: Approx = "range" if high > value else "exact"
        amount = ReadFigure(number.start, end, (value + high) / 2, value, high, approx, "count", step, bare=True)
        return amount, more if loose else None

    def _are_tenths(self, unit: str, number: ReadNumber) -> bool:
        """Return whether a single final digit counts tenths of the preceding unit: 三块五, 两公里二."""
        following = self.text[number.end : number.end + 1]
        ends = (not following.isalnum() or following == "的") and number.end - number.start == 1
        return unit in _WITH_TENTHS and ends and not number.article

    def _rates(self, number: ReadNumber, stop: int) -> bool:
        """Return whether an ambiguous unit (minutes or points) belongs to a rating."""
        before = self.before(number.start)
        rated = before is not None and before.tags.get("unit_name") == "star"
        return "rating_unit" in self.pack.words.get(self.text[stop - 1], {}) and (number.decimals > 0 or rated)

    def _loosened(self, figure: ReadFigure, more: Cue) -> ReadFigure:
        """Return the figure as "about" or "at least", according to its inexact word."""
        return _about(figure) if "about_after" in more.tags and "over_after" not in more.tags else _at_least(figure)

    def _unit(self, end: int) -> tuple[tuple[str, float], int] | None:
        """Return the unit at a place with its scale and end; None if there is none."""
        glued = _GLUED_UNIT.match(self.text, end)
        if glued:
            tags = self.pack.words.get(glued[1], {})
            if "unit" in tags:
                return tags["unit"], glued.end()
        cue = self.after(end)
        if cue and "unit" in cue.tags:
            return cue.tags["unit"], cue.end
        return None

    def _unit_before(self, start: int) -> tuple[tuple[str, float], int] | None:
        """Return the unit before a number with its scale, and the end of the figure; None if there is no unit."""
        cue = self.before(start)
        end = self.by_start[start].end
        if cue and "unit_name" in cue.tags:
            return (cue.tags["unit_name"], 1.0), end
        if cue and "percent_before" in cue.tags:
            return ("percent", 1.0), end
        return None

    def _quarters(self, figures: Sequence[ReadFigure]) -> list[ReadFigure]:
        """Return quarters of an hour written as one word, outside times of day."""
        taken = {position for time in self.times for position in range(time.start, time.end)}
        taken |= {figure.start for figure in figures}
        extra = []
        for cue in self.cues:
            minutes = cue.tags.get("hour_quarter")
            if minutes and cue.start not in taken:
                end = cue.end
                more = self.starts.get(end)
                over = more is not None and "over_after" in more.tags
                if more and over:
                    end = more.end
                figure = ReadFigure(cue.start, end, minutes, minutes, minutes, "exact", "min", 1.0)
                extra.append(_at_least(figure) if over else figure)
        return extra

    def _joined(self, figures: list[ReadFigure]) -> list[ReadFigure]:
        """Join figures in two units (1 h 20 min, 1小时20分) and the ends of ranges (12-18 min)."""
        result: list[ReadFigure] = []
        for figure in figures:
            whole = self._together(result[-1], figure) if result else None
            if whole is None:
                result.append(figure)
            else:
                result[-1] = whole
        return result

    def _together(self, last: ReadFigure, figure: ReadFigure) -> ReadFigure | None:
        """Return two consecutive figures as one, either as a sum or as a range; None if they are separate."""
        gap = self.text[last.end : figure.start]
        total = last.value + figure.value
        if (
            not last.bare
            and last.unit == figure.unit
            and last.scale > figure.scale
            and figure.unit in _NEXT
            and (not gap.strip() or self.pack.words.get(gap.strip(), {}).keys() & {"and", "joint"})
        ):
            return last._replace(
                end=figure.end, value=total, low=total, high=total, step=figure.step, scale=figure.scale
            )
        if self._is_range(last, figure, gap):
            low = last.low * (figure.scale if last.bare else 1.0)
            return figure._replace(start=last.start, value=(low + figure.high) / 2, low=low, approx="range")
        return None

    def _is_range(self, last: ReadFigure, figure: ReadFigure, gap: str) -> bool:
        """Return whether two consecutive figures are the ends of a range."""
        mark = gap.strip()
        rated = self.before(last.start) if last.bare else None
        same = (last.bare and not (rated and rated.role(("rating",)))) or last.unit == figure.unit
        if not same or figure.low <= last.low * (figure.scale if last.bare else 1.0):
            return False
        words = self.pack.words.get(mark, {})
        before = self.before(last.start)
        between = "and" in words and before is not None and "between" in before.tags
        either = "either_or" in words and last.bare and not figure.bare
        plain = (mark in RANGE_MARKS or "range" in words) and not (last.bare and figure.bare)
        return between or either or plain

    def _hedged(self, figure: ReadFigure) -> ReadFigure:
        """Return the figure with "about", "at most" or "at least", depending on the surrounding words."""
        if figure.approx == "range" and figure.high > figure.low:
            return figure
        before = self.before(figure.start)
        if before and "one" in before.tags:
            before = self.before(before.start)
        after = self.after(figure.end)
        if figure.approx in ("about", "at_least"):
            return figure
        for cue, suffix in ((before, ""), (after, "_after")):
            for group, hedge in _HEDGES:
                if cue and group + suffix in cue.tags:
                    return hedge(figure._replace(end=max(figure.end, cue.end)) if suffix else figure)
        return figure

    def _signed(self, figure: ReadFigure) -> ReadFigure:
        """Return an exact temperature with its preceding minus sign or word applied; other figures unchanged."""
        sign = _SIGN.search(self.text, max(figure.start - _LONGEST_SIGN, 0), figure.start)
        if sign is None or figure.unit != "celsius" or figure.approx != "exact":
            return figure
        below = figure._replace(start=sign.start(), value=-figure.value, low=-figure.high, high=-figure.low)
        return below if self._hedged(below).approx == "exact" else figure

    def _kept(self, figure: ReadFigure) -> bool:
        """Return whether a figure is usable: its unit is known, or it is a bare number that may be a count."""
        if not figure.bare:
            return figure.unit != "other"
        start = self.text[figure.start : figure.start + 1]
        following = self.starts.get(figure.end)
        if not start.isascii() and not start.isdigit():
            before = self.ends.get(figure.start)
            priced = before is not None and not _OF_MONEY.isdisjoint(before.tags.get("role", ()))
            return (following is not None and "classifier" in following.tags) or (priced and figure.value >= _TEN)
        glued = self.text[figure.end : figure.end + 1]
        return (
            not (glued.isascii() and glued.isalpha())
            and glued != "/"
            and not (following is not None and "unit" in following.tags)
            and self.text[figure.start - 1 : figure.start] not in ("/", ".", "×", "*")
        )


def _about(figure: ReadFigure) -> ReadFigure:
    """Return the figure as "about", with a margin on both sides."""
    return figure._replace(
        approx="about", low=figure.value * (1 - _ABOUT_SHARE), high=figure.value * (1 + _ABOUT_SHARE)
    )


def _at_most(figure: ReadFigure) -> ReadFigure:
    """Return the figure as "at most", with a margin below it."""
    return figure._replace(approx="at_most", low=figure.value * _LEAST_SHARE, high=figure.value)


def _at_least(figure: ReadFigure) -> ReadFigure:
    """Return the figure as "at least", with a margin above it."""
    return figure._replace(approx="at_least", low=figure.value, high=figure.value * _MOST_SHARE)


#: What words before a figure do to it, those that bound it first.
_HEDGES = (("under", _at_most), ("over", _at_least), ("about", _about))


def find_figures(
    text: str, pack: Pack, cues: Sequence[Cue], numbers: Sequence[ReadNumber], times: Sequence[Spoken]
) -> tuple[list[ReadFigure], list[ReadFigure]]:
    """Return the figures of a folded text outside times of day, and the figures that checks cannot use ("an hour" of a rate, 3楼)."""
    reader = _FigureReader(text, pack, cues, numbers, times)
    figures, aside = reader.read()
    figures = [_people(figure, reader.before(figure.start)) if figure.bare else figure for figure in figures]
    return [_counted(text, pack, figure) if figure.bare else figure for figure in figures], aside


def _people(figure: ReadFigure, before: Cue | None) -> ReadFigure:
    """Return a bare number as people if a preceding word indicates this: "for six"."""
    return (
        figure._replace(unit="people", bare=False)
        if before and "for_people" in before.tags and figure.value == int(figure.value)
        else figure
    )


def _counted(text: str, pack: Pack, figure: ReadFigure) -> ReadFigure:
    """Return a bare number with the noun after it as its unit: "three rooms"."""
    word = _WORD.match(text, figure.end)
    if word is None or not text[figure.start].isascii() or not _OF_NOUNS.issuperset(pack.words.get(word[1], ())):
        return figure
    noun = word[1].removesuffix("'s")
    noun = noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
    return figure._replace(unit=f"count:{noun}")


Kind = Literal["phone", "line", "address", "point", "platform", "link"]
_PHONE = re.compile(
    r"(?<![0-9./-])(?<![0-9][,:])(?:\+[0-9]{1,3}[ -]?)?(?:\([0-9]{2,5}\)[ -]?)?[0-9]{3,12}(?:[ -][0-9]{3,8}){0,4}(?![0-9]|[-.:/][0-9]|,[0-9]{3}(?![0-9]))"
)
_POINT = re.compile(r"(?<![0-9.])(-?[0-9]{1,3}\.[0-9]{3,16})[ ,]{1,3}(-?[0-9]{1,3}\.[0-9]{3,16})(?![0-9])")
_LON = r"(?:东经|西经|经度|longitude|lon|lng)[^0-9a-z\u4e00-\u9fff]{0,4}[为是约]?[^0-9a-z\u4e00-\u9fff]{0,2}(-?[0-9]{1,3}\.[0-9]{2,15})"
_LAT = r"(?:北纬|南纬|纬度|latitude|lat)[^0-9a-z\u4e00-\u9fff]{0,4}[为是约]?[^0-9a-z\u4e00-\u9fff]{0,2}(-?[0-9]{1,2}\.[0-9]{2,15})"
_LINK = re.compile(r"(?:https?://|www\.)[^\s()<>\[\]\"'。、]{3,500}")
_LATIN_ADDRESS = re.compile(r"(?<![0-9a-z.:-])[0-9]{1,4}[a-z]?(?= [a-z])((?: [a-z][a-z']{1,20}){1,4})")
_FEWEST, _MOST = 7, 15
_SAMPLE = 2000


class FoundIdentifier(NamedTuple):
    """An identifier in a folded text, with its normal form."""

    start: int
    end: int
    kind: Kind
    value: str


def find_identifiers(folded: Folded, pack: Pack) -> list[FoundIdentifier]:
    """Return the identifiers of a folded text by position, without overlaps."""
    text = folded.text
    identifiers = sorted(
        (*_simple(text, pack), *_phones(text), *_addresses(folded, pack)),
        key=lambda identifier: (identifier.start, -identifier.end),
    )
    kept: list[FoundIdentifier] = []
    for identifier in identifiers:
        if not kept or identifier.start >= kept[-1].end:
            kept.append(identifier)
    return kept


@dataclass(frozen=True, slots=True)
class _Patterns:
    """A language's patterns for lines and platforms with a number, and for streets with a house number."""

    numbered: tuple[tuple[Kind, re.Pattern[str]], ...]
    address: re.Pattern[str] | None


@lru_cache(maxsize=16)
def _patterns(pack: Pack) -> _Patterns:
    """Return the patterns for a language pack."""

    def words(group: str) -> str:
        """Return the words of a group as alternatives of a pattern, longest first."""
        return "|".join(map(re.escape, sorted(pack.groups.get(group, ()), key=lambda word: (-len(word), word))))

    numerals = "".join(
        word
        for group in ("numeral", "multiplier")
        for word in sorted(pack.groups.get(group, ()))
        if len(word) == 1 and is_han(word)
    )
    numbered: list[tuple[Kind, re.Pattern[str]]] = []
    for kind in ("line", "platform"):
        if before := words(f"{kind}_before"):
            pattern = rf"(?<![a-z0-9])(?:{before}) ?([0-9]{{1,4}}[a-z]?|[a-z][0-9]{{1,3}})(?![0-9a-z:])"
            numbered.append((kind, re.compile(pattern)))
        if after := words(f"{kind}_after"):
            spelled = "|".join(word for word in after.split("|") if len(word) > 1)
            in_words = rf"|([{numerals}]{{1,3}})(?:{spelled})" if numerals and spelled else ""
            numbered.append((kind, re.compile(rf"([0-9]{{1,4}})(?:{after}){in_words}")))
    street, house = words("numbered_street"), words("house_number")
    address = rf"[\u4e00-\u9fff]{{1,12}}?(?:{street})[0-9]{{1,5}}(?:{house})" if street and house else ""
    return _Patterns(tuple(numbered), re.compile(address) if address else None)


@cache
def _worded_points() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for coordinates with words, longitude first and latitude first; compiled on first use."""
    return re.compile(rf"{_LON}[^0-9]{{1,6}}?{_LAT}"), re.compile(rf"{_LAT}[^0-9]{{1,6}}?{_LON}")


def may_link(text: str) -> bool:
    """Return whether a folded text may contain a link, as a quick test before searching for one."""
    return "://" in text or "www." in text


def _simple(text: str, pack: Pack) -> Iterator[FoundIdentifier]:
    """Yield the links, points, lines and platforms in a folded text."""
    for match in _LINK.finditer(text) if may_link(text) else ():
        value = match.group().rstrip(".,;:!?")
        yield FoundIdentifier(match.start(), match.start() + len(value), "link", value)
    for match in _POINT.finditer(text):
        yield FoundIdentifier(match.start(), match.end(), "point", f"{match[1]},{match[2]}")
    if "lat" in text or "纬" in text:
        apart, turned = _worded_points()
        for match in apart.finditer(text):
            yield FoundIdentifier(match.start(), match.end(), "point", f"{match[1]},{match[2]}")
        for match in turned.finditer(text):
            yield FoundIdentifier(match.start(), match.end(), "point", f"{match[2]},{match[1]}")
    for kind, pattern in _patterns(pack).numbered:
        for match in pattern.finditer(text):
            yield FoundIdentifier(match.start(), match.end(), kind, next(filter(None, match.groups())))


def _phones(text: str) -> Iterator[FoundIdentifier]:
    """Yield the telephone numbers in a folded text."""
    for match in _PHONE.finditer(text):
        digits = "".join(char for char in match.group() if char.isdigit())
        if _FEWEST <= len(digits) <= _MOST:
            yield FoundIdentifier(match.start(), match.end(), "phone", digits)


def _addresses(folded: Folded, pack: Pack) -> Iterator[FoundIdentifier]:
    """Yield the Chinese and Latin street addresses with house numbers in a text."""
    text = folded.text
    pattern = _patterns(pack).address
    for match in pattern.finditer(text) if pattern else ():
        start = match.start() + max(_after_words(match.group(), pack), 0)
        yield FoundIdentifier(start, match.end(), "address", text[start : match.end()])
    capitals = any(char.isupper() for char in folded.original[:_SAMPLE])
    for match in _LATIN_ADDRESS.finditer(text):
        words = match[1].split()
        last = max((place for place, word in enumerate(words) if word in pack.names["street"]), default=0)
        measured = any("unit" in pack.words.get(word, ()) for word in words[:last])  # "18 minutes from Fennel Court"
        if last and not measured:
            name = " ".join(words[: last + 1])
            start = match.start()
            end = text.index(name, match.start(1)) + len(name)
            if capitals and not folded.original[folded.origin(end - len(words[last]))].isupper():
                continue
            yield FoundIdentifier(start, end, "address", text[start:end])


def _after_words(address: str, pack: Pack) -> int:
    """Return the start of the street name in an address, after ordinary words; 0 if it begins at once."""
    number = next(place for place, char in enumerate(address) if char.isdigit())
    street = address[:number]
    cut = max((place + 1 for place, char in enumerate(street) if char in pack.names["boundary"]), default=0)
    for cue in pack.find(street):
        if cue.end < number - 1 and cue.has("choose", "toward", "person", "chosen", "from", "role", "if"):
            cut = max(cut, cue.end)
    return cut if cut < number - 1 else 0
