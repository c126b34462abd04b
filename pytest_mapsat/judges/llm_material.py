"""The part of a dialogue that a model sees, the places of words that it quotes, and the comparison of figures that it cites with known values.

It is shown named parts in fences that cannot stand in them, within a stated size.
"""

from __future__ import annotations

import ast
import json
import operator
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import count
from typing import Literal

from pytest_mapsat.model import Case, ClockTime, Json, Number, Quote, Requirement, Step, Trajectory, digest
from pytest_mapsat.reading import ABOUT_SHARE, FOREIGN, MONEY, Folded, Quantity, fold_phrase, fold_text
from pytest_mapsat.reading import ClockTime as Clock

from .context import JudgedDialogue
from .evidence import UNITS
from .labels import Observed

#: The suite's sentence, the instructions and the policies are parts of the situation, each by a name of its own.
PartKind = Literal["situation", "user", "reply", "call", "thought", "thing"]

#: Characters that a request shows of the candidate's replies, of the user's words, and of all calls with their results.
REPLY_CHARACTERS = 16_000
USER_CHARACTERS = 6_000
CALL_CHARACTERS = 32_000
#: Of the instructions, and of the policies.
RULE_CHARACTERS = 8_000
#: Of all thoughts, and of all names of things, that are judged.
BESIDE_CHARACTERS = 16_000
#: What a result is cut to at first: elements of a list that nothing names, then the rest by size.
_FEW = 3
_LONG_RESULT = 6_000
_LONGEST_QUOTE = 300
_CUT = "[... {} characters are not shown ...]"

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
#: Selectors of variants; a row of them can carry an invisible text.
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
#: What a quote may leave out or add beside blanks and pictures: quotation marks, marks of tables, headings and emphasis, brackets and colons of data.
_LEFT_OUT = frozenset("|\"'「」『』《》#*_`{}[],:=、")
_ENDS = " \t\n.。!！?？;；,，"
_LEFT_BETWEEN = re.compile(r"\s*(?:\.{3,}|…+|\[\.\.\.\])\s*")
#: Pieces of a quote that leaves something out stand within so many characters; so many places are tried where it may begin.
_WIDEST = 2_000
_MOST_TRIED = 200


@cache
def _seen(char: str) -> str:
    """Return a character, or a zero-width space for an invisible character, so that positions stay the same."""
    hidden = unicodedata.category(char) in _HIDDEN and char not in "\n\t"
    return "\u200b" if hidden or _SELECTORS.match(char) else char


def visible(text: str) -> str:
    """Return a text without invisible characters, with carriage returns as line breaks."""
    return "".join(map(_seen, text.replace("\r\n", "\n").replace("\r", "\n"))).replace("\u200b", "")


@cache
def _is_left_out(char: str) -> bool:
    """Return whether a character is ignored when quotes are compared: blanks, marks and symbols."""
    return char.isspace() or char in _LEFT_OUT or unicodedata.category(char) == "So"


def _folded(text: str) -> Folded:
    """Return a text folded, with its invisible characters replaced."""
    return fold_text("".join(map(_seen, text)))


def compact(text: str) -> str:
    """Return a text in the form for comparing quotes: folded, without blanks, emphasis and hidden characters."""
    return "".join(char for char in _folded(text).text if not _is_left_out(char))


@lru_cache(maxsize=128)
def _compacted(text: str) -> tuple[Folded, str, list[int]]:
    """Return a text folded, its compact form, and the folded position of each compact character."""
    folded = _folded(text)
    kept = [place for place, char in enumerate(folded.text) if not _is_left_out(char)]
    return folded, "".join(folded.text[place] for place in kept), kept


def _place_of(quote: str, text: str) -> tuple[int, int] | None:
    """Return the place of a quote in a text, with ``...`` as a gap; None if it does not occur or is a single character."""
    pieces = [piece for part in _LEFT_BETWEEN.split(quote.strip(_ENDS)) if (piece := compact(part))]
    letters = "".join(pieces)
    if len(letters) < 2 or not any(map(str.isalnum, letters)):  # noqa: PLR2004  a pair
        return None
    folded, bare, places = _compacted(text)
    start = -1
    for _ in range(_MOST_TRIED):
        start = end = bare.find(pieces[0], start + 1)
        if start < 0:
            break
        for number, piece in enumerate(pieces):
            place = bare.find(piece, end, end + _WIDEST if number else None)
            if place < 0:
                break
            end = place + len(piece)
        else:
            return folded.span(places[start], places[end - 1] + 1)
    return None


@dataclass(frozen=True)
class DialoguePart:
    """One named part of the dialogue in the data for a model, such as ``reply-1`` or ``call-3``.

    ``turn`` is the index of the turn in ``Trajectory.turns`` whose text it is, as it was ``written``; -1 for what is no turn's text.
    """

    name: str
    kind: PartKind
    shown: str
    turn: int = -1
    written: str = ""

    @property
    def text(self) -> str:
        """The text that is searched for quotes: the original of a turn, otherwise the displayed text."""
        return self.written if self.turn >= 0 else self.shown

    def find(self, quote: str) -> FoundWords | None:
        """Return the place of a quote in the displayed words; None if it does not occur."""
        span = _place_of(quote, self.text)
        return None if span is None or _place_of(quote, self.shown) is None else FoundWords(self, *span)


@dataclass(frozen=True)
class FoundWords:
    """Words of a part: ``start`` and ``end`` count characters of its text."""

    part: DialoguePart
    start: int
    end: int

    @property
    def text(self) -> str:
        """The words as written, cut if they are very long."""
        return self.part.text[self.start : min(self.end, self.start + _LONGEST_QUOTE)]

    @property
    def quote(self) -> Quote | None:
        """The words as a quote of a turn; None if the part is not a turn."""
        if self.part.turn < 0:
            return None
        return Quote(turn=self.part.turn, start=self.start, end=self.start + len(self.text), text=self.text)


@dataclass(frozen=True)
class Material:
    """All parts of a dialogue in the data for a model, in order, and the number of omitted calls."""

    parts: tuple[DialoguePart, ...]
    left_out: int = 0

    @cached_property
    def fence(self) -> str:
        """A mark that occurs in no part; the same parts always have the same mark."""
        texts = [part.shown for part in self.parts]
        marks = (f"DATA-{digest([number, texts], 12)}" for number in count())
        return next(mark for mark in marks if mark.casefold() not in "\n".join(texts).casefold())

    def find(self, words: str, name: str = "", kind: PartKind | None = None) -> FoundWords | None:
        """Return the place of words, searching the named part first, then other parts of the kind; None if they do not occur."""
        listed = [part for part in self.parts if kind in (None, part.kind)]
        ordered = sorted(listed, key=lambda part: part.name != name)
        return next((match for part in ordered if (match := part.find(words)) is not None), None)

    def fenced(self, kinds: Collection[PartKind]) -> str:
        """Return the parts of some kinds as text, each between an opening and a closing line."""
        return "\n".join(
            f"<<<{self.fence} {part.name}\n{part.shown}\n{self.fence}>>>" for part in self.parts if part.kind in kinds
        )


def material_of(
    case: Case, trajectory: Trajectory, requirements: Sequence[Requirement], context: JudgedDialogue, *, about: str = ""
) -> Material:
    """Return the material of a dialogue that a model needs to judge some requirements.

    Calls of the tools that the requirements' checks name come first, then those whose results hold things that the replies or the requirements name, then the
    others, later calls first; they are shown in the order in which they were made.

    Args:
        case: the case.
        trajectory: the dialogue.
        requirements: what is judged.
        context: the dialogue as the checks read it.
        about: what the suite says of itself to judges.
    """
    calls = list(enumerate(trajectory.calls, 1))
    chosen = _Choice(trajectory, requirements, context)
    shown: dict[int, str] = {}
    room = CALL_CHARACTERS
    for number, step in sorted(calls, key=lambda call: (chosen.rank(call[1]), -call[0])):
        text = _call(step, chosen, min(room, _LONG_RESULT if len(calls) > 1 else room))
        if len(text) <= room:
            shown[number] = text
            room -= len(text)
    parts = [DialoguePart(f"call-{number}", "call", shown[number]) for number in sorted(shown)]
    observed = [requirement for requirement in requirements if isinstance(requirement, Observed) and requirement.shown]
    for each in observed:
        kind: PartKind = "thing" if each.part.startswith("thing") else "thought"
        parts.append(DialoguePart(each.part, kind, visible(_cut(each.shown, BESIDE_CHARACTERS // len(observed)))))
    turns = _turns(trajectory)
    return Material((*_situation(case, requirements, about, trajectory), *turns, *parts), len(calls) - len(shown))


def _situation(
    case: Case, requirements: Sequence[Requirement], about: str, trajectory: Trajectory
) -> Iterator[DialoguePart]:
    """Yield the background parts: context, the suite's own words, instructions, policies, earlier messages and memory."""
    context = case.visible.context
    place = context.location
    lines = {
        "now": context.now,
        "city": context.city,
        "place": "" if place is None else f"{place.name} ({place.lon}, {place.lat})".strip(),
    }
    facts = [*(f"{name}: {value}" for name, value in lines.items() if value)]
    facts += [f"history: {line}" for line in context.history]
    facts += [f"calls: {trajectory.why_lacking}"] if trajectory.lacks_calls else []
    before = "\n".join(f"{message.role}: {message.text}" for message in case.visible.messages)
    asked = any(requirement.kind == "policy" for requirement in requirements)  # then they are the requirements
    policies = "" if asked else "\n".join(policy.text for policy in case.truth.policies)
    yield DialoguePart("situation", "situation", visible("\n".join(facts)))
    rules = (("suite", about), ("instructions", case.visible.instructions), ("policies", policies))
    memory = "" if trajectory.memory is None else trajectory.memory.text
    for name, text in (*rules, ("before", before), ("memory", memory)):
        if text.strip():
            yield DialoguePart(name, "situation", _cut(visible(text), RULE_CHARACTERS))


def _turns(trajectory: Trajectory) -> list[DialoguePart]:
    """Return a part for each turn; if space is short, later turns are kept and earlier turns cut."""
    room: dict[PartKind, int] = {"user": USER_CHARACTERS, "reply": REPLY_CHARACTERS}
    left = {kind: sum((turn.role == "user") == (kind == "user") for turn in trajectory.turns) for kind in room}
    parts: list[DialoguePart] = []
    # The last words count most: they are the last to be cut.
    for index, turn in reversed(list(enumerate(trajectory.turns))):
        kind: PartKind = "user" if turn.role == "user" else "reply"
        shown = _cut(visible(turn.text), room[kind])
        parts.append(DialoguePart(f"{kind}-{left[kind]}", kind, shown, index, turn.text))
        room[kind] = max(room[kind] - len(shown), 0)
        left[kind] -= 1
    return parts[::-1]


def _cut(text: str, room: int) -> str:
    """Return a text cut in the middle to a number of characters, plus a note of the number of omitted characters."""
    if len(text) <= room:
        return text
    half = room // 2
    return "\n".join((text[:half], _CUT.format(len(text) - 2 * half), text[len(text) - half :]))


class _Choice:
    """Selects the calls that matter for some requirements, by the tools and things mentioned there and in the dialogue."""

    def __init__(self, trajectory: Trajectory, requirements: Sequence[Requirement], context: JudgedDialogue) -> None:
        texts = [*(turn.text for turn in trajectory.turns), *(requirement.text for requirement in requirements)]
        mentioned = "\n".join(map(fold_phrase, texts))
        names = {fold_phrase(name) for entity in context.entities for name in (entity.name, entity.id)}
        self.names = [name for name in names if name and name in mentioned]
        self.tools = {
            *_tools_named([requirement.model_dump(mode="json", by_alias=True) for requirement in requirements])
        }

    def names_one(self, value: Json) -> bool:
        """Return whether a value contains the name or id of a mentioned entity."""
        text = fold_phrase(_json(value))
        return any(name in text for name in self.names)

    def rank(self, step: Step) -> int:
        """Return a call's rank, from 0 for the most important: 2, minus 1 for a mentioned tool and 1 for a mentioned thing."""
        return 2 - (step.tool in self.tools) - self.names_one(step.result)


def _tools_named(value: object) -> Iterator[str]:
    """Yield the tool names in a check, or in data that contains checks."""
    if isinstance(value, Mapping):
        if isinstance(value.get("tool"), str):
            yield value["tool"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _tools_named(part)


def _call(step: Step, chosen: _Choice, room: int) -> str:
    """Return a call with its result as text, cut to about a number of characters."""
    head = f"{step.tool}({_json(dict(sorted(step.arguments.items())))})"  # as an answer from the cache has them
    head = f"{step.tool}(arguments not recorded)" if "arguments" in step.unknown else head
    if "result" in step.unknown:
        return visible(f"{_cut(head, _LONG_RESULT)}\n-> result not recorded")
    if step.status == "miss":
        return visible(f"{head}\n-> no record")
    result = _json(step.result)
    if len(result) > room:
        result = _json(_thinned(step.result, chosen))
    result = _cut(result, max(room - len(head), _LONG_RESULT // 4))
    return visible(f"{_cut(head, _LONG_RESULT)}\n-> {step.status}\n{result}")


def _thinned(value: Json, chosen: _Choice) -> Json:
    """Return a result with its long lists reduced to elements that name mentioned things, or to the first few."""
    if isinstance(value, dict):
        return {key: _thinned(part, chosen) for key, part in value.items()}
    if not isinstance(value, list) or len(value) <= _FEW:
        return value
    parts = [part for part in value if chosen.names_one(part)] or value[:_FEW]
    gone = len(value) - len(parts)
    kept = [_thinned(part, chosen) for part in parts]
    return [*kept, f"[... {gone} more are not shown ...]"] if gone else kept


def _json(value: Json) -> str:
    """Return a value as JSON text, with other types written as strings."""
    return json.dumps(value, ensure_ascii=False, default=str)


Outcome = Literal["fits", "misfit", "open"]
RELATIONS = ("equal", "at_most", "at_least")
UNITS_OF_CLAIMS = ("min", "h", "m", "km", "money", "clock", "count", "text")

#: How far a figure may be off, relatively, where neither the requirement's check nor the words say it.
_TOLERANCE = {"min": 0.05, "m": 0.05}
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
class ClaimedFigure:
    """A figure of a reply as a model reports it: words, unit, value in digits, relation, and the known value or formula."""

    words: str
    unit: str
    value: str
    relation: str
    known: str


class UncheckedError(Exception):
    """A figure cannot be compared: the model misread it, or used numbers that the data do not contain."""


def compare(
    figure: ClaimedFigure, place: FoundWords, requirement: Requirement, material: Material, context: JudgedDialogue
) -> Outcome:
    """Return whether a figure has its stated relation to the known values; ``open`` if there are none.

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
    numbers |= {end for piece in context.evidence.figures for end in (piece.value, piece.high)}
    clocks = {_minutes(*clock) for text in texts for clock in _CLOCK.findall(text)}
    expected = _calculated(figure, numbers, clocks)
    fits = _in_time if figure.unit == "clock" else _in_size
    return "fits" if fits(figure, value, expected, read, requirement) else "misfit"


def _has(numbers: Collection[float], number: float) -> bool:
    """Return whether a number occurs in the data, in its own or a converted unit; small whole numbers always count as present."""
    scaled = (number, number * 1000, number / 1000, number * 60, number / 60)
    return (number == int(number) and 0 < number <= _SMALL) or any(
        abs(amount - other) <= _ROUNDING * max(1.0, abs(amount)) for amount in scaled for other in numbers
    )


def _same_text(figure: ClaimedFigure, place: FoundWords, texts: Sequence[str]) -> Outcome:
    """Compare a text such as a phone number with the known text: by digits if there are enough, otherwise by letters."""
    value, expected = _comparable_form(figure.value), _comparable_form(figure.known)
    if not value or value not in _comparable_form(place.text):
        raise UncheckedError(f"the value {figure.value!r} does not occur in the words {figure.words!r}")
    if expected and not any(expected in _comparable_form(text) for text in texts):
        raise UncheckedError(f"known {figure.known!r} occurs nowhere in the data")
    return "open" if not expected else "fits" if value == expected else "misfit"


def _comparable_form(text: str) -> str:
    """Return the digits of a text if it has enough of them, else its compact form."""
    digits = re.sub(r"\D", "", text)
    return digits if len(digits) >= _FEWEST_DIGITS else compact(text)


def _value(figure: ClaimedFigure) -> float:
    """Return a figure's value as a number, or as minutes for a clock time. Raises UncheckedError for any other value."""
    text = _UNIT_WORDS.sub("", figure.value).strip()
    if figure.unit == "clock" and (clock := _CLOCK.fullmatch(text)):
        return _minutes(*clock.groups())
    if figure.unit != "clock" and _NUMBER.fullmatch(text):
        return float(text.replace(",", ""))
    wanted = 'a time such as "17:05"' if figure.unit == "clock" else "one number, digits only"
    raise UncheckedError(f"the value {figure.value[:40]!r} of {figure.words!r} is not {wanted}")


def _read(figure: ClaimedFigure, value: float, place: FoundWords, context: JudgedDialogue) -> Quantity | Clock | None:
    """Return the figure that the built-in reader finds in these words; None if it finds none.

    Raises:
        UncheckedError: they read figures there, and none of this value.
    """
    listed: list[Quantity | Clock] = []
    for document in context.replies:
        listed += (*document.times, *document.quantities) if document.turn == place.part.turn else ()
    there = [reading for reading in listed if reading.span.start < place.end and reading.span.end > place.start]
    unit, scale = _canonical(figure)
    quantities = [reading for reading in there if isinstance(reading, Quantity)]
    if unit == MONEY and any(reading.unit == FOREIGN for reading in quantities):
        raise UncheckedError(f"the words {figure.words!r} are of another currency, which is not converted")
    alike: Sequence[Quantity | Clock] = [reading for reading in quantities if unit in ("", reading.unit)]
    if figure.unit == "clock":
        alike = [reading for reading in there if isinstance(reading, Clock)]
    same = [reading for reading in alike if _says(reading, value * scale)]
    if alike and not same:
        raise UncheckedError(f"the words {figure.words!r} do not say {figure.value} {figure.unit}")
    return same[0] if same else None


def _canonical(figure: ClaimedFigure) -> tuple[str, float]:
    """Return the reader's unit for a figure (empty for any unit), and the factor for the conversion."""
    return ("", 1.0) if figure.unit in ("count", "clock", "text") else UNITS[figure.unit]


def _says(read: Quantity | Clock, value: float) -> bool:
    """Return whether a parsed figure or time includes a value."""
    if isinstance(read, Clock):
        return any((at - int(value)) % _HALF_DAY == 0 for at in read.minutes)
    give = _ROUNDING * max(1.0, abs(value))
    return read.low - give <= value <= read.high + give


def _calculated(figure: ClaimedFigure, data: Collection[float], clocks: Collection[int]) -> float:
    """Return the known value: a number in the data, or the result of a formula of such numbers, which is parsed but never executed.

    Raises:
        UncheckedError: it is none, or rests on a number that the data do not have.
    """
    text = _UNIT_WORDS.sub("", figure.known).strip().rstrip(".")
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.translate(_SIGNS))
    shown = figure.known[:60]
    if not _FORMULA.fullmatch(text) or len(text) > _LONGEST:
        raise UncheckedError(f"known {shown!r} is neither a number nor a calculation: write digits and + - * / only")
    if figure.unit == "clock" and len(_CLOCK.findall(text)) != 1:
        raise UncheckedError(f"known {shown!r} is not one time of day, with minutes added or taken away")
    numbers: list[float] = []
    for clock, number in _OPERAND.findall(text):
        numbers.append(float(_minutes(*clock.split(":")) if clock else number))
        if not (numbers[-1] in clocks if clock else _has(data, numbers[-1])):
            raise UncheckedError(f"known {figure.known!r}: {clock or number} occurs nowhere in the data")
    places = iter(range(len(numbers)))
    try:
        # Operands become names, so that what is parsed has nothing in it but names, signs and brackets.
        return _worked_out(ast.parse(_OPERAND.sub(lambda _: f"n{next(places)}", text), mode="eval").body, numbers)
    except (SyntaxError, ArithmeticError, RecursionError, MemoryError, ValueError):
        raise UncheckedError(f"known {shown!r} cannot be worked out") from None


def _worked_out(node: ast.expr, numbers: Sequence[float]) -> float:
    """Return the value of a parsed formula with the variables ``n0``, ``n1`` for its numbers. Raises ValueError for anything else."""
    if isinstance(node, ast.Name):
        return numbers[int(node.id[1:])]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_worked_out(node.left, numbers), _worked_out(node.right, numbers))
    raise ValueError("this is not a formula")


def _in_time(
    figure: ClaimedFigure, value: float, expected: float, read: Quantity | Clock | None, requirement: Requirement
) -> bool:
    """Return whether a time has its stated relation to the expected time, within the tolerance."""
    own = max((check.tolerance_min for check in requirement.leaves if isinstance(check, ClockTime)), default=1)
    slack = max(own, _ABOUT_MINUTES if read is not None and read.approx != "exact" else 1)
    if figure.relation == "equal":
        apart = (value - expected) % _DAY
        return min(apart, _DAY - apart) <= slack
    value, expected = value % _DAY, expected % _DAY
    if max(value, expected) >= _EVENING and min(value, expected) < _MORNING:  # the night between two days
        value, expected = (minutes + _DAY if minutes < _MORNING else minutes for minutes in (value, expected))
    return value <= expected if figure.relation == "at_most" else value >= expected


def _in_size(
    figure: ClaimedFigure, value: float, expected: float, read: Quantity | Clock | None, requirement: Requirement
) -> bool:
    """Return whether a figure has its stated relation to the expected figure, allowing for units, rounding and tolerance."""
    unit, scale = _canonical(figure)
    low, high = (read.low, read.high) if isinstance(read, Quantity) else (value * scale, value * scale)
    if figure.relation == "at_most":
        return low <= expected * scale * (1 + _ROUNDING)
    if figure.relation == "at_least":
        return high >= expected * scale * (1 - _ROUNDING)
    own = [check.allowed for check in requirement.leaves if isinstance(check, Number) and check.equals]
    give = max(own, default=_TOLERANCE.get(unit, 0.0))
    step = read.step / 2 if isinstance(read, Quantity) else 0.0
    if read is not None and read.approx != "exact":
        give = max(give, ABOUT_SHARE)
    # A length may be known in another unit than the one that the model names.
    fitting = {expected * scale, expected, expected * 1000} if unit == "m" else {expected * scale, expected}
    slack = {size: step + give * abs(size) + _ROUNDING for size in fitting}
    return any(low - slack[size] <= size <= high + slack[size] for size in fitting)


def _minutes(hours: str, minutes: str) -> int:
    """Return hours and minutes as minutes after midnight."""
    return int(hours) * 60 + int(minutes)
