"""Numbers written as words: Chinese numerals and the small English ones."""

from __future__ import annotations

_DIGITS = {
    char: value
    for value, chars in enumerate(("零〇", "一", "二两", "三", "四", "五", "六", "七", "八", "九"))
    for char in chars
}
_SMALL = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10_000, "亿": 100_000_000}
_LONGEST = 20

_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: float(value) for value, word in enumerate((*_ONES, *_TEENS), 1)}
_VALUES |= {word: 10.0 * value for value, word in enumerate(_TENS, 2)}
_BELOW_100 = rf"(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES)})(?![a-z]))?|{'|'.join((*_TEENS, *_ONES[1:]))}"
#: English numerals up to 999. "one" alone is left out: it is a pronoun more often than a count.
ENGLISH = rf"(?:an?|{'|'.join(_ONES)}) hundred(?:(?: and)? (?:{_BELOW_100})(?![a-z]))?|{_BELOW_100}"

#: All characters that a Chinese numeral is made of.
CHINESE = "".join((*_DIGITS, *_SMALL, *_LARGE))


def english_number(text: str) -> float:
    """Return the value of a numeral that ``ENGLISH`` matched, such as ``twenty-five`` or ``a hundred and ten``; 1 for ``one`` and ``an``."""
    before, hundred, rest = text.partition("hundred")
    if hundred:
        return 100 * english_number(before.strip()) + (english_number(rest.removeprefix(" and").strip()) if rest else 0)
    return sum(_VALUES.get(word, 0) for word in text.replace("-", " ").split()) or 1.0


def chinese_number(text: str) -> float | None:
    """Return the value of a Chinese numeral such as ``二十三``, ``一千二百``, ``二零二六`` or ``三点五``; None where it is none."""
    whole, point, fraction = text.partition("点")
    if len(text) > _LONGEST or not whole:
        return None
    value = _whole(whole)
    if value is None or not point:
        return None if value is None else float(value)
    digits = [_DIGITS.get(char) for char in fraction]
    if not digits or None in digits:
        return None
    return float(f"{value}.{''.join(map(str, digits))}")


def _whole(text: str) -> int | None:
    """Return a whole number: either digit by digit, or with tens, hundreds, thousands and ten thousands."""
    if all(char in _DIGITS for char in text):
        return int("".join(str(_DIGITS[char]) for char in text))
    total = section = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _SMALL:
            section += (digit or 1) * _SMALL[char]
            digit = 0
        elif char in _LARGE:
            total = (total + section + digit) * _LARGE[char]
            section = digit = 0
        else:
            return None
    return total + section + digit
