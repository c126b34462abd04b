"""Statements about rows: dates, times, codes, figures and texts in any notation that is read, and the rows that have each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import Json
from pytest_mapsat.reading import asks, fold_phrase, lexicon_of, read

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<m>jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|ober)?\b\.?"
_DAY = r"(?P<d>\d{1,2}(?!\d))(?:st|nd|rd|th)?"
_WEEKDAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
#: Notations of a date, the fullest first: year, month and day, or a day of the week.
_DATES = tuple(
    re.compile(rf"(?<![a-z\d.])(?:{pattern})", re.ASCII)
    for pattern in (
        r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2}(?!\d))(?:t(?=\d\d:))?",
        r"(?P<d>\d{1,2}(?!\d))[-/.](?P<m>\d{1,2})[-/.](?P<y>\d{4}(?!\d))",
        r"(?:(?P<y>\d{4})年)?(?P<m>\d{1,2})月(?P<d>\d{1,2}(?!\d))[日号]?",
        rf"{_DAY} ?(?:-|to|until|till|and) ?(?=\d{{1,2}}(?:st|nd|rd|th)? {_MONTH})",
        rf"{_DAY}(?: of)? {_MONTH}(?:,? (?P<y>\d{{4}}(?!\d)))?",
        rf"{_MONTH} (?:the )?{_DAY}(?:,? (?P<y>\d{{4}}(?!\d)))?",
        r"(?P<d>\d{1,2}(?!\d))(?:st|nd|rd|th)\b|(?P<only>\d{1,2})(?:日|(?<![路街道巷弄村]\d)(?<![路街道巷弄村]\d\d)号(?![楼院店线厅馆桌位口码房机]))",
        r"\b(?P<w>mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)(?P<zh>[一二三四五六日天])",
    )
)
_CODE = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w-])(?=[a-z_-]{0,12}\d|\d{1,12}[-_]?[a-z])[a-z0-9]+(?:[-_][a-z0-9]+)*(?![\w-])",
    re.ASCII,
)
#: A figure with its unit, and a place in a row, are no code.
_MEASURE = re.compile(r"\d+(?:[a-z]{1,2}|min|eur|usd|gbp|cny|rmb|-[a-z]+)|[\d-]+", re.ASCII)
_FIGURE = re.compile(
    r"(?<![\d.])(?<!\d[,:])(?:\d{1,3}(?:[,. ]\d{3})+(?!\d)(?:[.,]\d{1,2})?|\d{1,12}(?:[.,]\d{1,2})?)(?![\d:])", re.ASCII
)
#: A figure that goes on in words is not read.
_SCALED = re.compile(r" ?(?:[万亿千百]|k\b|thousand|million|hundred)")
#: Units in which a figure is read as another: 2 hours as 120 min.
_SCALED_UNITS = ("min", "m")
#: "One night", and not "the one" or "one of them".
_ONE_OF = re.compile(
    r"(?<!the )(?<!that )(?<!this )(?<!any )(?<!which )\bone(?= [a-z])"
    r"(?! (?:of|in|on|at|for|from|with|to|by|as|and|or|that|which|is|you|i|it|we)\b)"
)
_NOUN = re.compile(r" +([a-z]+)")
_WORD = re.compile(r"[a-z][a-z'-]*[a-z]")
#: Parts of names in a script without blanks are told by two characters.
_HAN_PAIR = re.compile(r"(?=([\u3400-\u9fff]{2}))")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]{2,}")
_NEAR = 1e-6
#: Whole figures below this tell no row from others: they count guests, nights and days.
_SMALL = 10
_LONGEST_VALUE, _LONGEST_NAME, _MOST_WORDS = 200, 40, 5
#: So many values of a row are read.
_MOST_VALUES = 200


class RowFact(NamedTuple):
    """A date, weekday, time, code or figure in folded words; date parts left open are 0, times are minutes."""

    start: int
    end: int
    kind: Literal["date", "weekday", "time", "code", "number"]
    value: tuple[float | str, ...]
    unit: str = ""

    def same(self, other: RowFact) -> bool:
        """Return whether two facts may be the same fact."""
        mine, theirs = self.value, other.value
        if {self.kind, other.kind} == {"date", "weekday"}:
            return _weekday(self) == _weekday(other)
        if self.kind != other.kind:
            return False
        if self.kind == "time":
            return not set(mine).isdisjoint(theirs)
        if self.kind == "number":
            return abs(float(mine[0]) - float(theirs[0])) <= _NEAR
        if self.kind == "date":
            return all(
                part == other_part or not (part and other_part) for part, other_part in zip(mine, theirs, strict=True)
            )
        return mine == theirs

    def rounds(self, other: RowFact) -> bool:
        """Return whether two figures differ by less than 1, so that one may be the other figure rounded: 318 of "318 euros 40"."""
        return self.kind == other.kind == "number" and abs(float(self.value[0]) - float(other.value[0])) < 1


def _weekday(fact: RowFact) -> float | str:
    """Return the weekday of a fact, 0 for Monday; -1 for a date that is incomplete or does not exist."""
    if fact.kind == "weekday":
        return fact.value[0]
    try:
        return date(*(int(part) for part in fact.value)).weekday()
    except ValueError:
        return -1


@lru_cache(maxsize=4096)
def facts_of(text: str, language: str) -> tuple[RowFact, ...]:
    """Return the dates, times, codes and figures of a folded text by position; ``language`` is a BCP 47 tag."""
    facts: list[RowFact] = []
    written = text
    rest = text = _ONE_OF.sub("1  ", text)
    for pattern in _DATES:
        facts += [fact for match in pattern.finditer(rest) if (fact := _date(match))]
        rest = hidden(rest, facts)
    document = read(rest, language=language, lexicon=lexicon_of(()))
    facts += [RowFact(*time.span, "time", tuple(time.readings)) for time in document.times]
    rest = hidden(rest, facts)
    facts += [RowFact(*m.span(), "code", (m[0],)) for m in _CODE.finditer(rest) if not _MEASURE.fullmatch(m[0])]
    rest = hidden(rest, facts)
    readings = [(each.span, each.value, "") for each in document.numbers]
    readings = [(each.span, each.value, each.unit) for each in document.quantities] + readings
    at = {place: each for each in reversed(readings) for place in range(*each[0])}
    for match in _FIGURE.finditer(rest):
        span, whole, unit = at.get(match.end() - 1, (None, 0.0, ""))
        noun = _NOUN.match(rest, match.end())
        if unit == "people" and span and span.end <= match.end() and noun:  # "for 2 nights", and not "for 2"
            unit = unit_of(noun[1])
        if _SCALED.match(rest, match.end()):
            whole, unit = float("nan"), "scaled"
        value = whole if unit in ("scaled", *_SCALED_UNITS) else _value(match[0])
        end = match.end() + 2 * (match[0] == "1" and _ONE_OF.match(written, match.start()) is not None)
        facts.append(RowFact(match.start(), end, "number", (value,), unit))
    rest = hidden(rest, facts)
    facts += [
        RowFact(*span, "number", (value,), unit)
        for span, value, unit in readings
        if (value > 1 or _ONE_OF.match(text, span.start))
        and rest[slice(*span)] == text[slice(*span)]
        and not any(map(str.isdigit, text[slice(*span)]))
    ]
    return tuple(sorted(facts))


@lru_cache(maxsize=1024)
def unit_of(noun: str) -> str:
    """Return the unit that a noun after a figure expresses, such as people for ``guests``; empty if it expresses none."""
    nouns = noun if noun.endswith("s") else f"{noun}s"
    quantities = read(f"2 {nouns}", language="en", lexicon=lexicon_of(())).quantities
    return next((figure.unit for figure in quantities if figure.unit != "count"), "")


def _date(match: re.Match[str]) -> RowFact | None:
    """Return the date or weekday of a match; None if month or day is out of range."""
    groups = match.groupdict()
    if weekday := groups.get("w"):
        return RowFact(*match.span(), "weekday", (_WEEKDAYS.index(weekday),))
    if weekday := groups.get("zh"):
        return RowFact(*match.span(), "weekday", ("一二三四五六日".index(weekday.replace("天", "日")),))
    month, day = groups.get("m") or "0", int(groups.get("d") or groups.get("only") or 0)
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
    fits = number <= len(_MONTHS) and 0 < day <= 31  # noqa: PLR2004  days of a month
    return RowFact(*match.span(), "date", (int(groups.get("y") or 0), number, day)) if fits else None


def _value(written: str) -> float:
    """Return the value of a figure in any notation: 9.50, 9,50, 1,250.00 or 1.250,00."""
    whole, mark, tail = re.fullmatch(r"(.*?)(?:([.,])(\d{1,2}))?", written).groups()  # type: ignore[union-attr]  # matches any text
    return float(re.sub(r"\D", "", whole) + (f".{tail}" if mark else ""))


@dataclass(frozen=True)
class StatedRow:
    """A row that a call may identify: its values by dotted field name, with the texts and facts in them."""

    values: tuple[tuple[str, Json], ...]
    language: str

    @classmethod
    def of(cls, value: Mapping[str, Json], language: str) -> StatedRow:
        """Return the row for an object, including nested values."""
        return cls(tuple(islice(leaves_of(value), _MOST_VALUES)), language)

    @cached
    def texts(self) -> frozenset[str]:
        """The values, folded."""
        return frozenset(
            fold_phrase(str(value))[:_LONGEST_VALUE]
            for _, value in self.values
            if value != "" and not isinstance(value, bool)
        )

    @cached
    def facts(self) -> tuple[RowFact, ...]:
        """The dates, times, codes and figures in the values; numbers also with the unit in the field name (``days``)."""
        words = {
            f"{value} {name.rpartition('.')[2].replace('_', ' ')}"
            for name, value in self.values
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        facts = [fact for text in sorted(self.texts) for fact in facts_of(text, self.language)]
        return (*facts, *(fact for text in sorted(words) for fact in facts_of(fold_phrase(text), "en")[:1]))

    @cached
    def words(self) -> frozenset[str]:
        """The Latin words in the short texts, in the singular."""
        return frozenset(singular(word) for text in self._names for word in _WORD.findall(text))

    @cached
    def han(self) -> str:
        """The runs of Chinese characters in the short texts, one per line."""
        return "\n".join(run for text in sorted(self._names) for run in _HAN_RUN.findall(text))

    @cached
    def _names(self) -> frozenset[str]:
        """The texts that are short enough to be names; longer descriptions share words with all other texts."""
        return frozenset(text for text in self.texts if len(text.split()) <= _MOST_WORDS and len(text) <= _LONGEST_NAME)

    def states(self, fact: RowFact) -> bool:
        """Return whether a value of the row equals a fact."""
        return any(fact.same(own) for own in self.facts)


def leaves_of(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Yield the scalars in a value, each with its dotted path."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from leaves_of(member, f"{path}.{name}" if path else str(name))
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from leaves_of(member, path)
    elif value is not None:
        yield path, value


def singular(word: str) -> str:
    """Return a word without the ending of a plural or a genitive."""
    word = word.removesuffix("'s")
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


class Item(NamedTuple):
    """A value in a text: its folded words, the rows that contain it, its kind, and whether only the call's arguments contain it."""

    start: int
    end: int
    words: str
    rows: frozenset[int]
    kind: Literal["date", "weekday", "time", "code", "number", "text", "part"]
    fact: RowFact | None = None
    argued: bool = False

    @property
    def tells(self) -> bool:
        """Whether the value can distinguish rows: a row contains it and it is not a small whole number."""
        value = self.fact.value[0] if self.fact and self.kind == "number" else _SMALL
        return bool(self.rows) and not (isinstance(value, (int, float)) and value < _SMALL and value == int(value))


def stated(text: str, rows: Sequence[StatedRow], generic: Collection[str]) -> list[Item]:
    """Return the values of rows that a folded text states, by position: full values first, then facts, then parts of names.

    Args:
        text: the text.
        rows: the candidates.
        generic: words that name no row: those of the tool.
    """
    language = rows[0].language if rows else "en"
    items: list[Item] = []
    phrases = {
        phrase
        for row in rows
        for phrase in row.texts
        if not phrase.isdigit() and (phrase.count(".") > 1 or not asks.is_plain_word(phrase)) and phrase not in generic
    }
    for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)):
        for match in re.finditer(_bounded(phrase), text) if phrase in text else ():
            if not any(item.start < match.end() and match.start() < item.end for item in items):
                having = frozenset(
                    number
                    for number, row in enumerate(rows)
                    if any(re.search(_bounded(phrase), own) for own in row.texts)
                )
                items.append(Item(*match.span(), phrase, having, "text"))
    rest = hidden(text, items)
    for fact in facts_of(rest, language):
        having = frozenset(number for number, row in enumerate(rows) if row.states(fact))
        items.append(Item(fact.start, fact.end, text[fact.start : fact.end], having, fact.kind, fact))
    rest = hidden(rest, items)
    for match in _WORD.finditer(rest):
        word = singular(match[0])
        having = frozenset(number for number, row in enumerate(rows) if word in row.words)
        if having and not asks.is_plain_word(word) and word not in generic:
            items.append(Item(*match.span(), word, having, "part"))
    for match in _HAN_PAIR.finditer(rest):
        pair = match[1]
        having = frozenset(number for number, row in enumerate(rows) if pair in row.han)
        if having and not asks.is_plain_word(pair) and not any(pair in word for word in generic):
            items.append(Item(match.start(), match.start() + 2, pair, having, "part"))
    return sorted(items)


def hidden(text: str, items: Sequence[Item | RowFact]) -> str:
    """Return a text with each item replaced by bars of the same length."""
    for item in items:
        text = f"{text[: item.start]}{'|' * (item.end - item.start)}{text[item.end :]}"
    return text


def _bounded(phrase: str) -> str:
    """Return a pattern that finds a phrase only if it is not part of a longer word or figure."""
    start = r"(?<![a-z0-9])" if phrase[:1].isascii() else ""
    start = r"(?<!\d)" if phrase[:1].isdigit() else start
    end = r"(?![a-z0-9])" if phrase[-1:].isascii() else ""
    return f"{start}{re.escape(phrase)}{end}"
