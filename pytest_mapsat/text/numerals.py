"""Numbers in digits and in words: one grammar of digits, tens and multipliers serves languages that build them alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .pack import Cue

_DIGITS = re.compile(r"(?<![0-9.])(?<![0-9],)[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])|[0-9]+(?:\.[0-9]+)?|[½¼¾]")
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75}
_MOST_DIGITS = 15
_MOST_WORDS = 12
_TEN = 10


class Number(NamedTuple):
    """A number in a folded text.

    Attributes:
        value: its value, the lower one of "two or three".
        high: the upper one; else the value.
        decimals: how many decimals it is written with.
        spelled: whether it is written in words.
        article: whether it is only an article ("an hour").
    """

    start: int
    end: int
    value: float
    high: float
    decimals: int = 0
    spelled: bool = False
    article: bool = False


def find_numbers(text: str, cues: Sequence[Cue]) -> list[Number]:
    """Return the numbers of a folded text, ascending.

    Args:
        text: the folded text.
        cues: the words of the pack in it, ascending.
    """
    found = [number for match in _DIGITS.finditer(text) if (number := _in_digits(match))]
    place = 0
    while place < len(cues):
        if cues[place].has("numeral", "multiplier", "fraction", "one", "couple"):
            used, number = _in_words(text, cues, place)
            if number:
                found.append(number)
            place += max(used, 1)
        else:
            place += 1
    found.sort(key=lambda number: number.start)
    return _scaled(text, found)


def _in_digits(match: re.Match[str]) -> Number | None:
    written = match.group()
    if written in _FRACTIONS:
        return Number(match.start(), match.end(), _FRACTIONS[written], _FRACTIONS[written], 2)
    if len(written) > _MOST_DIGITS:
        return None
    value = float(written.replace(",", ""))
    return Number(match.start(), match.end(), value, value, len(written.partition(".")[2]))


def _scaled(text: str, found: list[Number]) -> list[Number]:
    """Join digits with the multiplier or fraction right behind them ("3万", "1 ½")."""
    result: list[Number] = []
    for number in found:
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
            result[-1] = Number(last.start, number.end, last.value * number.value, last.value * number.value, 0)
        elif last and near and not last.spelled and text[number.start] in _FRACTIONS and not last.decimals:
            result[-1] = Number(last.start, number.end, last.value + number.value, last.value + number.value, 2)
        else:
            result.append(number)
    return result


def _in_words(text: str, cues: Sequence[Cue], first: int) -> tuple[int, Number | None]:
    """Return how many words a spelled number takes, and the number."""
    cue = cues[first]
    if "fraction" in cue.tags or "couple" in cue.tags:
        value = float(cue.tags.get("fraction", cue.tags.get("couple")))
        return 1, Number(cue.start, cue.end, value, value, 2 if "fraction" in cue.tags else 0, spelled=True)
    words = _run(text, cues, first)
    if "one" in words[0].tags and len(words) > 1 and "multiplier" not in words[1].tags:
        words = words[:1]
    if all("one" in word.tags for word in words):
        return 1, Number(cue.start, cue.end, 1, 1, spelled=True, article=True)
    low, high = _value([word for word in words if "and" not in word.tags])
    return len(words), Number(cue.start, words[-1].end, low, high, spelled=True)


def _run(text: str, cues: Sequence[Cue], first: int) -> list[Cue]:
    """Return the words of one number: next to each other, with a blank, a hyphen or "and" between."""
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
    """Return the value of numerals and multipliers; two neighbours like 两三 are a range."""
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
