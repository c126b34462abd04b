"""Numbers in digits and in words, and times of day as they are said: 18:30, half past six, ten to seven, 下午六点半."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .document import Approx
from .pack import Cue, Pack

_DIGITS = re.compile(r"(?<![0-9.])(?<![0-9],)[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])|[0-9]+(?:\.[0-9]+)?|[½¼¾]")
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75}
_MOST_DIGITS = 15
_MOST_WORDS = 12
_TEN = 10
_POINTS = ("点", "點")
#: The unit of 分, which counts minutes behind an hour: 二点五分.
_OF_TIMES = ("min", 1.0)


class ReadNumber(NamedTuple):
    """A number in a folded text.

    Attributes:
        value: its value, the lower one of "two or three".
        high: the upper one; else the value.
        decimals: how many decimals it is written with.
        spelled: whether it is written in words.
        article: whether it is only an article ("an hour").
        pointed: whether its decimals are words, too (二点五公里).
    """

    start: int
    end: int
    value: float
    high: float
    decimals: int = 0
    spelled: bool = False
    article: bool = False
    pointed: bool = False


def find_numbers(text: str, cues: Sequence[Cue]) -> list[ReadNumber]:
    """Return the numbers of a folded text, in digits or words, by position.

    Args:
        text: the folded text.
        cues: the words of the pack in it, ascending.
    """
    numbers = [number for match in _DIGITS.finditer(text) if (number := _in_digits(match))]
    place = 0
    while place < len(cues):
        if cues[place].has("numeral", "multiplier", "fraction", "one", "couple"):
            used, number = _in_words(text, cues, place)
            if number:
                numbers.append(number)
            place += max(used, 1)
        else:
            place += 1
    numbers.sort(key=lambda number: number.start)
    return _scaled(text, _pointed(text, numbers, {cue.start: cue for cue in cues}))


def _pointed(text: str, numbers: Sequence[ReadNumber], starts: Mapping[int, Cue]) -> list[ReadNumber]:
    """Join Chinese numerals with their spoken decimals (二点五公里) if the following unit excludes a time of day."""
    result: list[ReadNumber] = []
    for number in numbers:
        whole, unit = result[-1] if result else None, starts.get(number.end)
        if (
            whole
            and whole.spelled
            and number.spelled
            and whole.high == whole.value < _HOURS
            and 0 < number.value == number.high < _TEN
            and text[whole.end : number.start] in _POINTS
            and unit
            and unit.tags.get("unit", _OF_TIMES) != _OF_TIMES
        ):
            value = whole.value + number.value / _TEN
            result[-1] = ReadNumber(whole.start, number.end, value, value, 1, spelled=True, pointed=True)
        else:
            result.append(number)
    return result


def _in_digits(match: re.Match[str]) -> ReadNumber | None:
    """Return a number written in digits; None if it has too many digits."""
    written = match.group()
    if written in _FRACTIONS:
        return ReadNumber(match.start(), match.end(), _FRACTIONS[written], _FRACTIONS[written], 2)
    if len(written) > _MOST_DIGITS:
        return None
    value = float(written.replace(",", ""))
    return ReadNumber(match.start(), match.end(), value, value, len(written.partition(".")[2]))


def _scaled(text: str, numbers: list[ReadNumber]) -> list[ReadNumber]:
    """Join digits with a multiplier or fraction that directly follows ("3万", "1 ½")."""
    result: list[ReadNumber] = []
    for number in numbers:
        last = result[-1] if result else None
        near = last is not None and text[last.end : number.start] in ("", " ")
        if (
            last
            and near
            and not last.spelled
            and number.spelled
            and number.value >= _TEN
            and not text[number.start].isascii()
        ):
            result[-1] = ReadNumber(last.start, number.end, last.value * number.value, last.value * number.value, 0)
        elif last and near and not last.spelled and text[number.start] in _FRACTIONS and not last.decimals:
            result[-1] = ReadNumber(last.start, number.end, last.value + number.value, last.value + number.value, 2)
        else:
            result.append(number)
    return result


def _in_words(text: str, cues: Sequence[Cue], first: int) -> tuple[int, ReadNumber | None]:
    """Return the number of words in a spelled-out number, and the number itself."""
    cue = cues[first]
    if "fraction" in cue.tags or "couple" in cue.tags:
        value = float(cue.tags.get("fraction", cue.tags.get("couple")))
        return 1, ReadNumber(cue.start, cue.end, value, value, 2 if "fraction" in cue.tags else 0, spelled=True)
    words = _run(text, cues, first)
    if "one" in words[0].tags and len(words) > 1 and "multiplier" not in words[1].tags:
        words = words[:1]
    if all("one" in word.tags for word in words):
        return 1, ReadNumber(cue.start, cue.end, 1, 1, spelled=True, article=True)
    low, high = _value([word for word in words if "and" not in word.tags])
    return len(words), ReadNumber(cue.start, words[-1].end, low, high, spelled=True)


def _run(text: str, cues: Sequence[Cue], first: int) -> list[Cue]:
    """Return the consecutive words of one number, joined by a blank, a hyphen or "and"."""
    words = [cues[first]]
    for cue in cues[first + 1 : first + _MOST_WORDS]:
        gap = text[words[-1].end : cue.start]
        if gap not in ("", " ", "-") or (gap == "" and text[cue.start].isascii()):
            break
        both = cue.has("numeral", "multiplier")
        joins = "and" in cue.tags and "multiplier" in words[-1].tags and text[cue.start : cue.end] == "and"
        if not both and not joins:
            break
        last = words[-1].tags
        if (
            both
            and gap
            and "numeral" in cue.tags
            and "numeral" in last
            and not (last["numeral"] >= 2 * _TEN > _TEN > cue.tags["numeral"])
        ):
            break
        words.append(cue)
    while "and" in words[-1].tags and not words[-1].has("numeral", "multiplier"):
        words.pop()
    return words


def _value(words: Sequence[Cue]) -> tuple[float, float]:
    """Return the lowest and highest value of number words; neighbours such as 两三 form a range."""
    digits = [word.tags["numeral"] for word in words if "numeral" in word.tags and word.tags["numeral"] < _TEN]
    if len(digits) == len(words) and len(words) > 1:
        if len(words) == 2 and digits[1] == digits[0] + 1:  # noqa: PLR2004  two neighbours
            return digits[0], digits[1]
        value = float("".join(str(int(digit)) for digit in digits))
        return value, value
    total = section = 0.0
    pending: float | None = None
    spread = 0.0
    for word in words:
        if "multiplier" in word.tags:
            times = word.tags["multiplier"]
            if times >= 1000 * _TEN:
                total, section = (total + section + (pending or 0.0)) * times, 0.0
            else:
                section += (1.0 if pending is None else pending) * times
            spread *= times
            pending = None
        elif "numeral" in word.tags:
            worth = float(word.tags["numeral"])
            if pending is not None and worth == pending + 1 and worth < _TEN:
                spread = 1.0
            elif pending is not None:
                section += pending
                pending = worth
            else:
                pending = worth
        else:
            pending = 1.0
    low = total + section + (pending or 0.0)
    return low, low + spread


DAY = 24 * 60
_HALF_DAY = 12 * 60
_COLON = re.compile(r"(?<![0-9.])(?<![0-9]:)([0-2]?[0-9]):([0-5][0-9])(?::[0-5][0-9])?(?![0-9]|:[0-9])")
_DOTTED = re.compile(r"(?<![0-9:.])([01]?[0-9])\.([0-5][0-9])(?= ?[ap]\.?m)")
_GLUED = re.compile(r"[ap]\.?m(?![a-z])")
_DIGIT = re.compile("[0-9]")
_LETTER_H = re.compile(r"(?<![0-9:.])([01]?[0-9]|2[0-4])h([0-5][0-9])(?![0-9])")
#: What words do that make a time of day with the numbers around them.
_CLOCK_WORDS = frozenset({"clock_word", "clock_past", "clock_to", "clock_half", "half_past", "oclock", "hour_mark"})
#: What words do that go on with a sentence behind a time of day, and count nothing: "at six, then", "at six to X".
_GOES_ON = (
    "at", "and", "so", "but", "because", "then", "if", "although", "whereas", "toward", "from", "time_role", "it", "person", "clock_about", "range",
)  # fmt: skip
_HOURS = 24
_SIXTY = 60
_LONGEST_WORD = 16
RANGE_MARKS = frozenset({"-", "--", "~", "—", "——"})
_NOON = 12


class Spoken(NamedTuple):
    """A time of day in a folded text.

    Attributes:
        hour: as it is said.
        half: am, pm, or nothing where that is not said.
        sure: whether the hour is on the 24-hour clock.
        minutes: readings in minutes after midnight.
        other: the reading that is less likely, -1 for none.
        mate: index of the other end of a range, -1 for none.
        first: whether it is the first end of one.
    """

    start: int
    end: int
    hour: int
    minute: int
    half: str = ""
    sure: bool = False
    approx: Approx = "exact"
    minutes: tuple[int, ...] = ()
    other: int = -1
    mate: int = -1
    first: bool = False


class PackWords:
    """The pack's words in a text, indexed by the places where they begin and end."""

    def __init__(self, text: str, cues: Sequence[Cue]) -> None:
        self.text = text
        self.cues = cues
        self.ends = {cue.end: cue for cue in cues}
        self.starts = {cue.start: cue for cue in cues}

    def after(self, position: int) -> Cue | None:
        """Return the word that follows a place, optionally after one blank or hyphen; None if there is none."""
        return self.starts.get(position) or (
            self.starts.get(position + 1) if self.text[position : position + 1] in (" ", "-") else None
        )

    def before(self, position: int) -> Cue | None:
        """Return the word that ends at a place, or one blank before the place; None if there is none."""
        return self.ends.get(position) or (
            self.ends.get(position - 1) if self.text[position - 1 : position] == " " else None
        )


class _Clock(PackWords):
    """Finds times of day from numbers and the surrounding words."""

    def __init__(
        self, text: str, cues: Sequence[Cue], numbers: Sequence[ReadNumber], *, day24: bool, at_words: frozenset[str]
    ) -> None:
        super().__init__(text, cues)
        self.at_words = at_words
        self.numbers = {number.start: number for number in numbers}
        self.number_ends = {number.end: number for number in numbers}
        self.listed = numbers
        self.day24 = day24

    def after(self, position: int) -> Cue | None:
        """Return the word that follows, optionally after one blank or hyphen, or an am or pm attached to the number; otherwise None."""
        following = self.text[position : position + 1]
        if following in ("a", "p") and (glued := _GLUED.match(self.text, position)):
            return Cue(glued.start(), glued.end(), {"am" if following == "a" else "pm": True})
        return super().after(position)

    def number_before(self, position: int) -> ReadNumber | None:
        """Return the number that ends at a place, or one blank before the place; None if there is none."""
        return self.number_ends.get(position) or (
            self.number_ends.get(position - 1) if self.text[position - 1 : position] == " " else None
        )

    def number_after(self, position: int) -> ReadNumber | None:
        """Return the number that begins at a place, or one blank after the place; None if there is none."""
        return self.numbers.get(position) or (
            self.numbers.get(position + 1) if self.text[position : position + 1] == " " else None
        )

    def hour_after(self, position: int) -> ReadNumber | None:
        """Return the hour that follows a place, with noon and midnight as 12; None if there is none."""
        word = self.starts.get(position + 1)
        if word is not None and "clock_word" in word.tags:
            return ReadNumber(word.start, word.end, _NOON, _NOON, spelled=True)
        return self.number_after(position)

    def find(self) -> list[Spoken]:
        """Return all times of day by position, without overlaps."""
        times = [
            self._written(match, exact=pattern is _LETTER_H)
            for pattern in (_COLON, _DOTTED, _LETTER_H)
            for match in pattern.finditer(self.text)
            if int(match[1]) <= _HOURS
        ]
        clocks = (cue for cue in self.cues if not _CLOCK_WORDS.isdisjoint(cue.tags))
        times += [spoken for cue in clocks if (spoken := self._from_cue(cue))]
        taken = {position for spoken in times for position in range(spoken.start, spoken.end)}
        times += [spoken for number in self.listed if number.start not in taken and (spoken := self._bare(number))]
        times.sort(key=lambda spoken: (spoken.start, -spoken.end))
        kept: list[Spoken] = []
        for spoken in times:
            if not kept or spoken.start >= kept[-1].end:
                kept.append(spoken)
        return kept

    def _written(self, match: re.Match[str], *, exact: bool) -> Spoken:
        """Return the time of a match such as 18:30; ``exact``: whether it is surely on the 24-hour clock."""
        hour, minute = int(match[1]), int(match[2])
        sure = exact or hour >= _NOON or match[1].startswith("0") or self.day24
        return self._with_half(match.start(), match.end(), hour, minute, sure=sure)

    def _with_half(self, start: int, end: int, hour: int, minute: int, *, sure: bool = False) -> Spoken:
        """Return a time, extended by adjacent words for the half of the day."""
        half = ""
        following = self.after(end)
        if following and following.has("am", "pm") and self.text[following.start].isascii():
            half, end = ("am" if "am" in following.tags else "pm"), following.end
        leading = self.before(start)
        if not half and leading and leading.has("am", "pm", "noonish") and not self.text[leading.start].isascii():
            half = "am" if "am" in leading.tags else "noon" if "noonish" in leading.tags else "pm"
            start = leading.start
        return Spoken(start, end, hour % _HOURS, minute, half, sure=sure and not half, approx=self._approx(start, end))

    def _approx(self, start: int, end: int) -> Approx:
        """Return the precision of a time, judged by the adjacent words."""
        before, after = self.before(start), self.after(end)
        if after and after.has("clock_about") and not self.text[after.start].isascii():
            return "about"
        if before and before.has("clock_under"):
            return "at_most"
        if after and after.has("clock_under") and not self.text[after.start].isascii():
            return "at_most"
        return "about" if before and before.has("clock_about") else "exact"

    def _from_cue(self, cue: Cue) -> Spoken | None:
        """Return the time that a clock word forms with adjacent numbers; None if it forms none."""
        if "clock_word" in cue.tags:
            return self._word(cue)
        if cue.has("clock_past", "clock_to"):
            return self._past_or_to(cue)
        hour = self.hour_after(cue.end) if "half_past" in cue.tags else self.number_before(cue.start)
        if hour is None:
            return None
        if cue.has("half_past", "oclock"):
            past = "half_past" in cue.tags
            return self._spoken(
                cue.start if past else hour.start, hour, 30 if past else 0, end=None if past else cue.end
            )
        return self._han(hour, cue) if "hour_mark" in cue.tags and hour.end == cue.start else None

    def _word(self, cue: Cue) -> Spoken | None:
        """Return noon or midnight; None if the word describes a noun, as in "the midday break"."""
        following = self.text[cue.end : cue.end + 2]
        if following[:1] == " " and following[1:2].isalpha() and not self.after(cue.end):
            return None
        hour = int(cue.tags["clock_word"]) // _SIXTY
        return Spoken(cue.start, cue.end, hour, 0, sure=True, approx=self._approx(cue.start, cue.end))

    def _past_or_to(self, cue: Cue) -> Spoken | None:
        """Return the time of "ten to seven" or "quarter past six"; None if the adjacent words form no time."""
        hour = self.hour_after(cue.end)
        if hour is None or not _is_hour(hour):
            return None
        past = "clock_past" in cue.tags
        amount = self.before(cue.start)
        if (
            amount
            and amount.has("clock_quarter")
            and (not past or self.text[amount.start :].startswith(("quarter", "a quarter")))
        ):
            return self._spoken(amount.start, hour, 15 if past else -15)
        number = self.number_before(cue.start)
        if amount and "unit" in amount.tags and amount.tags["unit"] == ("min", 1.0):
            number = self.number_before(amount.start)
        minutes = number is not None and 0 < number.value < 31 and not number.article  # noqa: PLR2004  to or past
        whole = minutes and number is not None and number.value == int(number.value)
        spelled = (
            number is not None and (number.spelled or (amount is not None and "unit" in amount.tags)) and hour.spelled
        )
        if number is None or not whole or not spelled:
            return None
        return self._spoken(number.start, hour, int(number.value) if past else -int(number.value))

    def _spoken(self, start: int, hour: ReadNumber, minute: int, *, end: int | None = None) -> Spoken | None:
        """Return the time of an hour and minutes, which may be negative; None if the number is not an hour."""
        if not _is_hour(hour):
            return None
        word = self.starts.get(hour.start)
        of_day = int(word.tags["clock_word"]) if word is not None and "clock_word" in word.tags else -1
        total = (of_day + minute) % DAY if of_day >= 0 else int(hour.value) * _SIXTY + minute
        total += _HALF_DAY if of_day < 0 and total < _SIXTY else 0  # before one o'clock it is past twelve
        stop = end if end is not None else hour.end
        oclock = self.after(stop)
        if oclock and "oclock" in oclock.tags:
            stop = oclock.end
        return self._with_half(start, stop, total // _SIXTY, total % _SIXTY, sure=of_day >= 0)

    def _han(self, hour: ReadNumber, mark: Cue) -> Spoken | None:
        """Return a time with 点 (三点, 三点半, 三点一刻, 三点四十分, 三点过五分); None for other uses, as in 三点五公里."""
        if hour.value > _HOURS or hour.value != int(hour.value) or hour.high != hour.value:
            return None
        end, minute = mark.end, 0
        tail = self.starts.get(end)
        if tail and tail.has("clock_over") and self.numbers.get(tail.end):
            end = tail.end
            tail = self.starts.get(end)
        number = self.numbers.get(end)
        if tail and tail.has("hour_half", "hour_full"):
            end, minute = tail.end, 30 if "hour_half" in tail.tags else 0
        elif tail and "hour_quarter" in tail.tags:
            end, minute = tail.end, int(tail.tags["hour_quarter"])
        elif number and self._measured(number):
            return None  # the point of a decimal: 三点五公里
        elif (
            number
            and number.value < _SIXTY
            and number.value == int(number.value)
            and self._minutes_said(number, over=end != mark.end)
        ):
            following = self.starts.get(number.end)
            marked = following is not None and "minute_mark" in following.tags
            end, minute = (following.end if following and marked else number.end), int(number.value)
        start = hour.start
        bare = hour.spelled and not minute and end == mark.end and hour.value == 1
        if bare:
            return None
        total = (int(hour.value) * _SIXTY + minute) % DAY
        return self._with_half(
            start,
            end,
            total // _SIXTY,
            total % _SIXTY,
            sure=hour.value > _NOON,
        )

    def _measured(self, number: ReadNumber) -> bool:
        """Return whether a unit other than minutes of the hour follows a number."""
        following = self.starts.get(number.end)
        return following is not None and "unit" in following.tags and "minute_mark" not in following.tags

    def _minutes_said(self, number: ReadNumber, *, over: bool) -> bool:
        """Return whether a number after the hour states minutes, unlike the 一 of 九点一开门."""
        following = self.starts.get(number.end)
        marked = following is not None and "minute_mark" in following.tags
        return number.value >= 10 or over or marked or number.end - number.start > 1 or not number.spelled  # noqa: PLR2004  two figures

    def _bare(self, number: ReadNumber) -> Spoken | None:
        """Return the time of a number without a clock word: before am or pm, or after "at" if it counts nothing; otherwise None."""
        if not _is_hour(number) or is_glued(self.text, number):
            return None
        after = self.after(number.end)
        if after and after.has("am", "pm") and self.text[after.start].isascii():
            return self._with_half(number.start, number.end, int(number.value), 0)
        before = self.before(number.start)
        word = self.text[before.start : before.end].rpartition(" ")[2] if before else ""
        if word not in self.at_words:
            return None
        minutes = self.number_after(number.end)
        if number.spelled and minutes and self._are_minutes(minutes):
            return self._with_half(number.start, minutes.end, int(number.value), int(minutes.value))
        if self._counts(number, after):
            return None
        return self._with_half(number.start, number.end, int(number.value), 0)

    def _are_minutes(self, number: ReadNumber) -> bool:
        """Return whether a spelled-out number after an hour states minutes and not a count: "eleven fifty"."""
        return (
            number.spelled
            and _TEN <= number.value == number.high < _SIXTY
            and not self._counts(number, self.after(number.end))
        )

    def _counts(self, number: ReadNumber, after: Cue | None) -> bool:
        """Return whether a number counts or measures something, judged by the word after it."""
        second = self.number_after(after.end) if after and after.has("and", "range") else None
        unit = self.after(second.end) if second else after
        if unit and unit.has("unit"):
            return True
        if after:
            return not after.has(*_GOES_ON)
        following = self.text[number.end : number.end + 2]
        return following[:1] not in ("", ".", ",", ";", ":", "!", "?", ")", "\n", "|") and not (
            following[:1] == " " and not following[1:2].isalpha()
        )


def _is_hour(number: ReadNumber) -> bool:
    """Return whether a number is a whole hour from 1 to 12, and not an article."""
    return (
        number.value == int(number.value) == number.high
        and 1 <= number.value <= _NOON
        and not number.article
        and not number.decimals
    )


def is_glued(text: str, number: ReadNumber) -> bool:
    """Return whether a letter or sign directly before a number in digits makes it part of a word."""
    before = text[number.start - 1 : number.start] if number.start else ""
    return bool(before) and not number.spelled and ((before.isascii() and before.isalpha()) or before in "_#")


def _joined(text: str, spoken: Spoken, other: Spoken, pack: Pack) -> bool:
    """Return whether two times are the ends of a range."""
    gap = text[spoken.end : other.start].strip(" *")
    tags = pack.words.get(gap, {})
    before = text[max(spoken.start - _LONGEST_WORD, 0) : spoken.start].rstrip().rpartition(" ")[2]
    return gap in RANGE_MARKS or "range" in tags or ("and" in tags and "between" in pack.words.get(before, {}))


def find_times(text: str, cues: Sequence[Cue], numbers: Sequence[ReadNumber], pack: Pack) -> list[Spoken]:
    """Return the times of day in a folded text by position."""
    if not numbers and not _DIGIT.search(text) and not any("clock_word" in cue.tags for cue in cues):
        return []
    day24 = "day24" in pack.groups
    day24 = day24 or any(int(match[1]) > 12 for match in _COLON.finditer(text))  # noqa: PLR2004  the 12-hour clock
    times = _Clock(text, cues, numbers, day24=day24, at_words=pack.groups.get("at", frozenset())).find()
    for place in range(len(times) - 1):
        spoken, other = times[place], times[place + 1]
        if spoken.mate < 0 and _joined(text, spoken, other, pack):
            times[place] = spoken._replace(mate=place + 1, first=True)
            times[place + 1] = other._replace(mate=place, half=other.half)
    return times


_SOON = 600
_MORNING = 7 * 60
_LATER_TODAY = 6 * 60


def resolve(
    times: Sequence[Spoken], now: int | None, *, tomorrow: bool, morning: bool, roles: Sequence[str | None]
) -> list[Spoken]:
    """Return the times with their possible readings in minutes after midnight.

    Args:
        times: the times of one reply, ascending.
        now: the case's time in minutes after midnight, None where it is not known.
        tomorrow: whether the reply is about another day, so that ``now`` tells nothing.
        morning: whether it speaks of the morning of that day.
        roles: of each time; when something opens may lie in the past, and who has closed may have done so in the evening.
    """
    opening = [role == "opening" for role in roles]
    resolved: list[Spoken] = []
    last: int | None = None
    sure = False
    for place, spoken in enumerate(times):
        readings = _readings(spoken)
        if len(readings) > 1 and spoken.mate == place + 1 and times[spoken.mate].half and not opening[place]:
            end = _readings(times[spoken.mate])[0]
            readings = [reading for reading in readings if 0 < end - reading <= _LATER_TODAY] or readings
        if len(readings) > 1 and not opening[place]:
            nearest = _by_neighbours(readings, last, None if tomorrow else now, sure=sure)
            readings = readings if roles[place] == "closing" and nearest[0] < _HALF_DAY else nearest
        elif len(readings) > 1 and spoken.mate >= 0 and not spoken.first and len(resolved[-1].minutes) == 1:
            readings = [reading for reading in readings if reading > resolved[-1].minutes[0]][:1] or readings
        if (
            len(readings) > 1
            and tomorrow
            and morning
            and roles[place] != "closing"
            and _MORNING <= readings[0] < _HALF_DAY
        ):
            readings = readings[:1]
        left = [] if len(readings) > 1 else [reading for reading in _readings(spoken) if reading not in readings]
        resolved.append(spoken._replace(minutes=tuple(readings), other=left[0] if left else -1))
        if len(readings) == 1 and not opening[place]:
            last, sure = readings[0], (sure or len(_readings(spoken)) == 1) and roles[place] != "closing"
    return resolved


def _readings(spoken: Spoken) -> list[int]:
    """Return the minutes after midnight that a time may mean: one value, or two if its half of the day is open."""
    minutes = spoken.hour * _SIXTY + spoken.minute
    if spoken.sure:
        return [minutes % DAY]
    if spoken.half == "am":
        return [minutes % _HALF_DAY if spoken.hour == 12 else minutes % DAY]  # noqa: PLR2004  midnight
    if spoken.half == "pm":
        return [minutes % DAY if spoken.hour >= 12 else minutes + _HALF_DAY]  # noqa: PLR2004  the 12-hour clock
    if spoken.half == "noon":
        return [minutes + _HALF_DAY if spoken.hour <= 3 else minutes]  # noqa: PLR2004  中午一点
    if spoken.hour > 12 or spoken.hour == 0:  # noqa: PLR2004
        return [minutes % DAY]
    return [minutes % _HALF_DAY, minutes % _HALF_DAY + _HALF_DAY]


def _by_neighbours(readings: list[int], last: int | None, now: int | None, *, sure: bool) -> list[int]:
    """Return the reading soonest after the previous time or the case's time; all readings if neither is close."""
    after = _next(readings, last, _LATER_TODAY)
    soon = _next(readings, now, _SOON)
    if sure and after is not None and last is not None and after < last and soon is not None:
        return [soon]
    first, second = (after, soon) if sure else (soon, after)
    best = second if first is None else first
    return readings if best is None else [best]


def _next(readings: list[int], start: int | None, within: int) -> int | None:
    """Return the first reading after a time, if it is within a number of minutes; otherwise None."""
    if start is None:
        return None
    gap, best = min(((reading - start) % DAY, reading) for reading in readings)
    return best if gap <= within else None
