"""Figures that a model points at are compared by rules: what the reply says, what is known, and how the two must stand to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.judges.context import Context
from pytest_mapsat.model import Check, ClockTime, Factor, Number, leaves
from pytest_mapsat.text import FOREIGN, MONEY, Quantity
from pytest_mapsat.text import ClockTime as Clock

from .material import Found, Material
from .words import compact

Outcome = Literal["fits", "misfit", "open"]

#: unit of a figure -> unit of the reading, and how many of the latter it is.
_UNITS: dict[str, tuple[str, float]] = {
    "min": ("min", 1.0), "h": ("min", 60.0), "m": ("m", 1.0), "km": ("m", 1000.0), "money": (MONEY, 1.0), "count": ("", 1.0),
}  # fmt: skip
#: How far a figure may be off, relatively, where neither the factor's check nor the words say it.
_TOLERANCE = {"min": 0.05, "m": 0.05}
_ABOUT = 0.12
_ROUNDING = 1e-6
_ABOUT_MINUTES = 6
_DAY = 24 * 60
_HALF_DAY = 12 * 60
_MORNING, _EVENING = 6 * 60, 18 * 60
#: Whole numbers up to this may stand in a calculation although the data do not have them: how many people, how many legs.
_SMALL = 12
_LONGEST = 200
_FEWEST_DIGITS = 5
_CLOCK = re.compile(r"(?<!\d)(\d{1,2})[:：](\d{2})(?!\d)")
_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
#: Units that may stand behind a number although only digits are asked for.
_UNIT_WORDS = re.compile(
    r"(?<=[\d\s])(?:min(?:ute)?s?|h(?:ours?)?|k?m|(?:kilo)?met(?:er|re)s?|yuan|rmb|cny|people|stars?)(?![a-z])|[¥￥元块米]|分钟|小时|公里|千米",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\s*(?:(\d{1,2}:\d{2})|(\d+(?:\.\d+)?)|([-+*/()]))")


@dataclass(frozen=True)
class Figure:
    """A figure of a reply, as a model reads it.

    Attributes:
        words: as the reply has it.
        unit: min, h, m, km, money, clock, count or text.
        value: the reply's figure, digits only.
        relation: equal, at_most or at_least.
        known: what it is held against, or a calculation; empty where the data have none.
    """

    words: str
    unit: str
    value: str
    relation: str
    known: str


class UncheckedError(Exception):
    """A figure cannot be compared: it is not read as the reply has it, or rests on what the data do not have."""


def compare(figure: Figure, said: Found, factor: Factor, material: Material, context: Context) -> Outcome:
    """Return whether a figure stands to what is known as it must; ``open`` where nothing is known.

    Args:
        figure: the figure.
        said: where its words stand.
        factor: what is judged; its check may say how far a figure may be off.
        material: what the model was shown.
        context: the dialogue as the checks read it.

    Raises:
        UncheckedError: it cannot be compared; the message says why.
    """
    evidence = _Evidence.of(factor, material, context)
    if figure.unit == "text":
        return _same_text(figure, said, evidence)
    value = _value(figure)
    read = _read(figure, value, said, context)
    if not figure.known.strip():
        return "open"
    known = _calculated(figure, evidence)
    if figure.unit == "clock":
        return "fits" if _in_time(figure, value, known, read, factor) else "misfit"
    return "fits" if _in_size(figure, value, known, read, factor) else "misfit"


@dataclass(frozen=True)
class _Evidence:
    """The texts that something known may stand in, and the numbers in them."""

    texts: tuple[str, ...]
    numbers: frozenset[float]

    @classmethod
    def of(cls, factor: Factor, material: Material, context: Context) -> _Evidence:
        texts = (factor.text, *(part.shown for part in material.parts if part.kind != "reply"))
        numbers = {float(found.replace(",", "")) for text in texts for found in _NUMBER.findall(_CLOCK.sub(" ", text))}
        numbers |= {end for one in context.evidence.figures for end in (one.value, one.high)}
        return cls(texts, frozenset(numbers))

    def has(self, number: float) -> bool:
        """Return whether a number stands in the data, in its own unit or in one that is converted to it."""
        whole = number == int(number) and 0 < number <= _SMALL
        scaled = (number, number * 1000, number / 1000, number * 60, number / 60)
        return whole or any(
            abs(one - other) <= _ROUNDING * max(1.0, abs(one)) for one in scaled for other in self.numbers
        )

    def has_clock(self, minutes: int) -> bool:
        return any(minutes == _minutes(*found) for text in self.texts for found in _CLOCK.findall(text))


def _same_text(figure: Figure, said: Found, evidence: _Evidence) -> Outcome:
    """Compare what is no quantity, such as a telephone number: by its digits where it has enough of them, else by its letters."""
    value, known = _sign(figure.value), _sign(figure.known)
    if not value or value not in _sign(said.text):
        raise UncheckedError(f"the value {figure.value!r} does not stand in the words {figure.words!r}")
    if not known:
        return "open"
    if not any(known in _sign(text) for text in evidence.texts):
        raise UncheckedError(f"known {figure.known!r} stands nowhere in the data")
    return "fits" if value == known else "misfit"


def _sign(text: str) -> str:
    digits = re.sub(r"\D", "", text)
    return digits if len(digits) >= _FEWEST_DIGITS else compact(text)


def _value(figure: Figure) -> float:
    text = _UNIT_WORDS.sub("", figure.value).strip()
    clock = _CLOCK.fullmatch(text)
    if figure.unit == "clock" and clock:
        return _minutes(*clock.groups())
    if figure.unit != "clock" and _NUMBER.fullmatch(text):
        return float(text.replace(",", ""))
    wanted = 'a time such as "17:05"' if figure.unit == "clock" else "one number, digits only"
    raise UncheckedError(f"the value {figure.value[:40]!r} of {figure.words!r} is not {wanted}")


def _read(figure: Figure, value: float, said: Found, context: Context) -> Quantity | Clock | None:
    """Return the figure of the reply that the rules read in these words; None where they read none there.

    Raises:
        UncheckedError: they read figures there, and none of this value.
    """
    if figure.unit == "clock":
        times = [one for one in _overlapping(said, context, clock=True) if isinstance(one, Clock)]
        found = next((one for one in times if any((at - int(value)) % _HALF_DAY == 0 for at in one.minutes)), None)
        if times and found is None:
            raise UncheckedError(f"the words {figure.words!r} do not say {figure.value}")
        return found
    unit, scale = _UNITS[figure.unit]
    read = [one for one in _overlapping(said, context, clock=False) if isinstance(one, Quantity)]
    if unit == MONEY and any(one.unit == FOREIGN for one in read):
        raise UncheckedError(f"the words {figure.words!r} are of another currency, which is not converted")
    alike = [one for one in read if unit in ("", one.unit)]
    same = [one for one in alike if _meets(value * scale, one.low, one.high)]
    if alike and not same:
        raise UncheckedError(f"the words {figure.words!r} do not say {figure.value} {figure.unit}")
    return same[0] if same else None


def _overlapping(said: Found, context: Context, *, clock: bool) -> Iterator[Quantity | Clock]:
    for document in context.replies:
        if document.turn == said.part.turn:
            figures: Iterable[Quantity | Clock] = document.times if clock else document.quantities
            yield from (one for one in figures if one.span.start < said.end and one.span.end > said.start)


def _meets(value: float, low: float, high: float) -> bool:
    give = _ROUNDING * max(1.0, abs(value))
    return low - give <= value <= high + give


def _calculated(figure: Figure, evidence: _Evidence) -> float:
    """Return what a figure is held against: a number of the data, or a calculation of such numbers.

    Raises:
        UncheckedError: it is none, or rests on a number that the data do not have.
    """
    tokens = list(_tokens(figure))
    if figure.unit == "clock" and sum(isinstance(token, int) for token in tokens) != 1:
        raise UncheckedError(f"known {figure.known[:60]!r} is not one time of day, with minutes added or taken away")
    for token in tokens:
        if isinstance(token, int):
            if not evidence.has_clock(token):
                raise UncheckedError(
                    f"known {figure.known!r}: {token // 60:02d}:{token % 60:02d} stands nowhere in the data"
                )
        elif isinstance(token, float) and not evidence.has(token):
            raise UncheckedError(f"known {figure.known!r}: {token:g} stands nowhere in the data")
    return _Calculation(tokens, figure.known).result()


def _tokens(figure: Figure) -> Iterator[int | float | str]:
    """Yield the parts of a calculation: a time of day as whole minutes, a number as a float, a sign as it is."""
    text = (
        _UNIT_WORDS.sub("", figure.known)
        .strip()
        .replace("：", ":")
        .replace("×", "*")
        .replace("÷", "/")
        .replace("−", "-")
        .rstrip(".")
    )
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or len(text) > _LONGEST:
            raise UncheckedError(
                f"known {figure.known[:60]!r} is no number and no calculation: write digits and + - * / only"
            )
        clock, number, sign = match.groups()
        yield _minutes(*clock.split(":")) if clock else float(number) if number else sign
        place = match.end()


class _Calculation:
    """A calculation with + - * / and brackets, worked out step by step; nothing in it is executed."""

    def __init__(self, tokens: list[int | float | str], text: str) -> None:
        self._tokens = tokens
        self._text = text
        self._place = 0

    def result(self) -> float:
        try:
            value = self._sum()
        except (ZeroDivisionError, OverflowError, RecursionError):
            raise self._wrong() from None
        if self._place < len(self._tokens):
            raise self._wrong()
        return value

    def _sum(self) -> float:
        value = self._product()
        while (sign := self._sign("+", "-")) is not None:
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> float:
        value = self._one()
        while (sign := self._sign("*", "/")) is not None:
            other = self._one()
            value = value * other if sign == "*" else value / other
        return value

    def _one(self) -> float:
        if self._sign("(") is not None:
            value = self._sum()
            if self._sign(")") is None:
                raise self._wrong()
            return value
        if self._place < len(self._tokens) and not isinstance(token := self._tokens[self._place], str):
            self._place += 1
            return float(token)
        raise self._wrong()

    def _sign(self, *signs: str) -> str | None:
        token = self._tokens[self._place] if self._place < len(self._tokens) else None
        if isinstance(token, str) and token in signs:
            self._place += 1
            return token
        return None

    def _wrong(self) -> UncheckedError:
        return UncheckedError(f"known {self._text[:60]!r} cannot be worked out")


def _in_time(figure: Figure, value: float, known: float, read: Quantity | Clock | None, factor: Factor) -> bool:
    about = read is not None and read.approx != "exact"
    own = max((check.tolerance_min for check in _checks(factor) if isinstance(check, ClockTime)), default=1)
    slack = max(own, _ABOUT_MINUTES if about else 1)
    if figure.relation == "equal":
        apart = (value - known) % _DAY
        return min(apart, _DAY - apart) <= slack
    value, known = value % _DAY, known % _DAY
    if max(value, known) >= _EVENING and min(value, known) < _MORNING:  # the night between two days
        value, known = (one + _DAY if one < _MORNING else one for one in (value, known))
    return value <= known if figure.relation == "at_most" else value >= known


def _in_size(figure: Figure, value: float, known: float, read: Quantity | Clock | None, factor: Factor) -> bool:
    unit, scale = _UNITS[figure.unit]
    low, high = (read.low, read.high) if isinstance(read, Quantity) else (value * scale, value * scale)
    if figure.relation == "at_most":
        return low <= known * scale * (1 + _ROUNDING)
    if figure.relation == "at_least":
        return high >= known * scale * (1 - _ROUNDING)
    own = [check.allowed for check in _checks(factor) if isinstance(check, Number) and check.equals]
    give = max(own, default=_TOLERANCE.get(unit, 0.0))
    step = read.step / 2 if isinstance(read, Quantity) else 0.0
    if read is not None and read.approx != "exact":
        give = max(give, _ABOUT)
    # A length may be known in another unit than the one that the model names.
    for held in {known * scale, known, known * 1000} if unit == "m" else {known * scale, known}:
        if low - step - give * abs(held) - _ROUNDING <= held <= high + step + give * abs(held) + _ROUNDING:
            return True
    return False


def _checks(factor: Factor) -> Iterator[Check]:
    return leaves(factor.check) if factor.check is not None else iter(())


def _minutes(hours: str, minutes: str) -> int:
    return int(hours) * 60 + int(minutes)
