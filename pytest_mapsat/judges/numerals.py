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

#: "one" is left out: it is a pronoun more often than a count.
ENGLISH = {
    "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0, "eight": 8.0, "nine": 9.0, "ten": 10.0,
    "eleven": 11.0, "twelve": 12.0, "fifteen": 15.0, "twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0,
}  # fmt: skip

#: All characters that a Chinese numeral is made of.
CHINESE = "".join((*_DIGITS, *_SMALL, *_LARGE))


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
