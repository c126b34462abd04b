"""Figures that a model points at are compared by rules: what the reply says, what is known, and how the two must stand to each other."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.judges.context import Context
from pytest_mapsat.model import ClockTime, Number, Requirement
from pytest_mapsat.text import FOREIGN, MONEY, Quantity
from pytest_mapsat.text import ClockTime as Clock

from .material import Found, Material, compact

Outcome = Literal["fits", "misfit", "open"]
RELATIONS = ("equal", "at_most", "at_least")
UNITS = ("min", "h", "m", "km", "money", "clock", "count", "text")

#: unit of a figure -> unit of the reading, and how many of the latter it is.
_UNITS: dict[str, tuple[str, float]] = {
    "min": ("min", 1.0), "h": ("min", 60.0), "m": ("m", 1.0), "km": ("m", 1000.0), "money": (MONEY, 1.0), "count": ("", 1.0),
}  # fmt: skip
#: How far a figure may be off, relatively, where neither the requirement's check nor the words say it.
_TOLERANCE = {"min": 0.05, "m": 0.05}
_ABOUT = 0.12
_ABOUT_MINUTES = 6
_ROUNDING = 1e-6
_DAY, _HALF_DAY = 24 * 60, 12 * 60
_MORNING, _EVENING = 6 * 60, 18 * 60
#: Whole numbers up to this may stand in a calculation although the data do not have them: how many people, how many legs.
_SMALL = 12
_LONGEST, _FEWEST_DIGITS = 200, 5
_CLOCK = re.compile(r"(?<!\d)(\d{1,2})[:：](\d{2})(?!\d)")
_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
#: Units that may stand behind a number although only digits are asked for.
_UNIT_WORDS = re.compile(
    r"(?<=[\d\s])(?:min(?:ute)?s?|h(?:ours?)?|k?m|(?:kilo)?met(?:er|re)s?|yuan|rmb|cny|people|stars?)(?![a-z])|[¥￥元块米]|分钟|小时|公里|千米",
    re.IGNORECASE,
)
_OPERAND = re.compile(r"(\d{1,2}:\d{2})|(\d+(?:\.\d+)?)")
_FORMULA = re.compile(r"[\d\s:.+*/()-]+")
_SIGNS = str.maketrans("：×÷−", ":*/-")
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A figure of a reply, as a model reads it: the reply's words; their value, digits only; what it is held against, or a calculation, empty where the data have none."""

    words: str
    unit: str
    value: str
    relation: str
    known: str


class UncheckedError(Exception):
    """A figure cannot be compared: it is not read as the reply has it, or rests on what the data do not have."""


def compare(figure: Figure, place: Found, requirement: Requirement, material: Material, context: Context) -> Outcome:
    """Return whether a figure stands to what is known as it must; ``open`` where nothing is known.

    Args:
        figure: the figure.
        place: where its words stand.
        requirement: what is judged; its check may say how far a figure may be off.
        material: what the model was shown.
        context: the dialogue as the checks read it.

    Raises:
        UncheckedError: it cannot be compared; the message says why.
    """
    texts = (requirement.text, *(part.shown for part in material.parts if part.kind != "reply"))
    if figure.unit == "text":
        return _same_text(figure, place, texts)
    value = _value(figure)
    read = _read(figure, value, place, context)
    if not figure.known.strip():
        return "open"
    numbers = {float(number.replace(",", "")) for text in texts for number in _NUMBER.findall(_CLOCK.sub(" ", text))}
    numbers |= {end for one in context.evidence.figures for end in (one.value, one.high)}
    clocks = {_minutes(*clock) for text in texts for clock in _CLOCK.findall(text)}
    known = _calculated(figure, numbers, clocks)
    fits = _in_time if figure.unit == "clock" else _in_size
    return "fits" if fits(figure, value, known, read, requirement) else "misfit"


def _has(numbers: Collection[float], number: float) -> bool:
    """Return whether a number stands among those of the data, in its own unit or in one that is converted to it."""
    scaled = (number, number * 1000, number / 1000, number * 60, number / 60)
    return (number == int(number) and 0 < number <= _SMALL) or any(
        abs(one - other) <= _ROUNDING * max(1.0, abs(one)) for one in scaled for other in numbers
    )


def _same_text(figure: Figure, place: Found, texts: Sequence[str]) -> Outcome:
    """Compare what is no quantity, such as a telephone number: by its digits where it has enough of them, else by its letters."""
    value, known = _sign(figure.value), _sign(figure.known)
    if not value or value not in _sign(place.text):
        raise UncheckedError(f"the value {figure.value!r} does not stand in the words {figure.words!r}")
    if known and not any(known in _sign(text) for text in texts):
        raise UncheckedError(f"known {figure.known!r} stands nowhere in the data")
    return "open" if not known else "fits" if value == known else "misfit"


def _sign(text: str) -> str:
    digits = re.sub(r"\D", "", text)
    return digits if len(digits) >= _FEWEST_DIGITS else compact(text)


def _value(figure: Figure) -> float:
    text = _UNIT_WORDS.sub("", figure.value).strip()
    if figure.unit == "clock" and (clock := _CLOCK.fullmatch(text)):
        return _minutes(*clock.groups())
    if figure.unit != "clock" and _NUMBER.fullmatch(text):
        return float(text.replace(",", ""))
    wanted = 'a time such as "17:05"' if figure.unit == "clock" else "one number, digits only"
    raise UncheckedError(f"the value {figure.value[:40]!r} of {figure.words!r} is not {wanted}")


def _read(figure: Figure, value: float, place: Found, context: Context) -> Quantity | Clock | None:
    """Return the figure of the reply that the rules read in these words; None where they read none there.

    Raises:
        UncheckedError: they read figures there, and none of this value.
    """
    listed: list[Quantity | Clock] = []
    for document in context.replies:
        listed += (*document.times, *document.quantities) if document.turn == place.part.turn else ()
    there = [one for one in listed if one.span.start < place.end and one.span.end > place.start]
    unit, scale = _UNITS.get(figure.unit, ("", 1.0))
    quantities = [one for one in there if isinstance(one, Quantity)]
    if unit == MONEY and any(one.unit == FOREIGN for one in quantities):
        raise UncheckedError(f"the words {figure.words!r} are of another currency, which is not converted")
    alike: Sequence[Quantity | Clock] = [one for one in quantities if unit in ("", one.unit)]
    if figure.unit == "clock":
        alike = [one for one in there if isinstance(one, Clock)]
    same = [one for one in alike if _says(one, value * scale)]
    if alike and not same:
        raise UncheckedError(f"the words {figure.words!r} do not say {figure.value} {figure.unit}")
    return same[0] if same else None


def _says(read: Quantity | Clock, value: float) -> bool:
    if isinstance(read, Clock):
        return any((at - int(value)) % _HALF_DAY == 0 for at in read.minutes)
    give = _ROUNDING * max(1.0, abs(value))
    return read.low - give <= value <= read.high + give


def _calculated(figure: Figure, known: Collection[float], clocks: Collection[int]) -> float:
    """Return what a figure is held against: a number of the data, or a calculation of such numbers, worked out step by step and never executed.

    Raises:
        UncheckedError: it is none, or rests on a number that the data do not have.
    """
    text = _UNIT_WORDS.sub("", figure.known).strip().rstrip(".")
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.translate(_SIGNS))
    shown = figure.known[:60]
    if not _FORMULA.fullmatch(text) or len(text) > _LONGEST:
        raise UncheckedError(f"known {shown!r} is no number and no calculation: write digits and + - * / only")
    if figure.unit == "clock" and len(_CLOCK.findall(text)) != 1:
        raise UncheckedError(f"known {shown!r} is not one time of day, with minutes added or taken away")
    numbers: list[float] = []
    for clock, number in _OPERAND.findall(text):
        numbers.append(float(_minutes(*clock.split(":")) if clock else number))
        if not (numbers[-1] in clocks if clock else _has(known, numbers[-1])):
            raise UncheckedError(f"known {figure.known!r}: {clock or number} stands nowhere in the data")
    places = iter(range(len(numbers)))
    try:
        # Operands become names, so that what is parsed has nothing in it but names, signs and brackets.
        return _worked_out(ast.parse(_OPERAND.sub(lambda _: f"n{next(places)}", text), mode="eval").body, numbers)
    except (SyntaxError, ArithmeticError, RecursionError, MemoryError, ValueError):
        raise UncheckedError(f"known {shown!r} cannot be worked out") from None


def _worked_out(node: ast.expr, numbers: Sequence[float]) -> float:
    """Return the value of a formula in which ``n0``, ``n1`` stand for numbers. Raises ValueError for what is no formula."""
    if isinstance(node, ast.Name):
        return numbers[int(node.id[1:])]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_worked_out(node.left, numbers), _worked_out(node.right, numbers))
    raise ValueError("this is no formula")


def _in_time(
    figure: Figure, value: float, known: float, read: Quantity | Clock | None, requirement: Requirement
) -> bool:
    own = max((check.tolerance_min for check in requirement.leaves if isinstance(check, ClockTime)), default=1)
    slack = max(own, _ABOUT_MINUTES if read is not None and read.approx != "exact" else 1)
    if figure.relation == "equal":
        apart = (value - known) % _DAY
        return min(apart, _DAY - apart) <= slack
    value, known = value % _DAY, known % _DAY
    if max(value, known) >= _EVENING and min(value, known) < _MORNING:  # the night between two days
        value, known = (one + _DAY if one < _MORNING else one for one in (value, known))
    return value <= known if figure.relation == "at_most" else value >= known


def _in_size(
    figure: Figure, value: float, known: float, read: Quantity | Clock | None, requirement: Requirement
) -> bool:
    unit, scale = _UNITS[figure.unit]
    low, high = (read.low, read.high) if isinstance(read, Quantity) else (value * scale, value * scale)
    if figure.relation == "at_most":
        return low <= known * scale * (1 + _ROUNDING)
    if figure.relation == "at_least":
        return high >= known * scale * (1 - _ROUNDING)
    own = [check.allowed for check in requirement.leaves if isinstance(check, Number) and check.equals]
    give = max(own, default=_TOLERANCE.get(unit, 0.0))
    step = read.step / 2 if isinstance(read, Quantity) else 0.0
    if read is not None and read.approx != "exact":
        give = max(give, _ABOUT)
    # A length may be known in another unit than the one that the model names.
    held = {known * scale, known, known * 1000} if unit == "m" else {known * scale, known}
    slack = {one: step + give * abs(one) + _ROUNDING for one in held}
    return any(low - slack[one] <= one <= high + slack[one] for one in held)


def _minutes(hours: str, minutes: str) -> int:
    return int(hours) * 60 + int(minutes)
