"""Evidence for a condition in the text before a reply: words and values that support it, each with its quote and its place."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter

from pytest_mapsat.formats import package_data
from pytest_mapsat.model import Evidence, Json, Match, Recommends, Requirement, Tool, any_true, open_at, same
from pytest_mapsat.reading import Denials, conditions_of, fold_phrase, fold_text, lexicon_of, read
from pytest_mapsat.recording import changes_something

if TYPE_CHECKING:
    from .conversations import LoggedConversation


#: A text with more characters is a description: it is compared with nothing.
_LONGEST_VALUE = 40
_PAIR = re.compile(r"[^\W\da-zA-Z的了我你他她它们这那哪个是不没有在就都也还要会能吗呢吧啊么什怎]{2}")
_HAN_DIGITS = {sign: str(number) for number, sign in enumerate("零一二三四五六七八九")} | {"两": "2"}
_SCALES = {"百": 100, "千": 1000, "万": 10_000}
#: What people leave out of figures: 2米6 is 2.6 m, 三百八 is 380, "six foot four" is 6 feet and 4 inches, "half seven" is half past seven.
_SHORT_METRES = re.compile(r"([一二两三四五六七八九\d])([米块])([零一二三四五六七八九\d]{1,2})(?!\d|[百十个])")
_SHORT_HUNDREDS = re.compile(r"([一二两三四五六七八九\d])([百千万])([一二三四五六七八九])(?![\d十百千万零点半])")
_SHORT_FEET = re.compile(r"\b(\w+)[ -](?:foot|feet|ft)[ -](\w+)(?: inch(?:es)?)?\b")
_SHORT_METRE = re.compile(r"\b(\w+)[ -]met(?:re|er)s?[ -](\w+(?:[ -]\w+)?)")
_SHORT_HALF = re.compile(r"\bhalf (\w+)\b(?! (?:hours?|minutes?|days?))")
_NOTES = {"tenner": "10 pounds", "fiver": "5 pounds"}
_FOOT, _INCH, _HOURS = 0.3048, 0.0254, 12
#: A figure in metres may stand for one in centimetres or in millimetres.
_UNITS = (1, 100, 1000)
_DAYS = {"mon": "一", "tue": "二", "wed": "三", "thu": "四", "fri": "五", "sat": "六", "sun": "[日天]"}
#: Of so many things with different texts none is needed for its text.
_SEVERAL = 3
#: A date or a time of day: it tells no thing from another.
_DATED = re.compile(r"[\d\s:/.+TZ-]+")

_MATCH: TypeAdapter[Match] = TypeAdapter(Match)

Sort = Literal["is", "has", "least", "most", "open_at", "open_then", "within_m", "shown"]
Values = Mapping[str, tuple[Json, ...]]


@dataclass(frozen=True)
class RecordThing:
    """A named thing in tool results, with the values of all its records by dotted path."""

    key: str
    name: str
    values: Values


@dataclass(frozen=True)
class FieldCondition:
    """A condition on one field.

    ``is``: the field has the value, or one of several; ``has``: the list has it as a member; ``least``, ``most``: the figure is at least, at most, the value; ``open_at``: the hours
    hold the time of day; ``open_then``: they hold the time of the choice; ``within_m``: the place lies as near to where the user is;
    ``shown``: it was among so many that the list showed first, which is never a wish and may explain one. ``forbids``: whether the field must not fit the rest.
    """

    field: str
    sort: Sort
    value: Json = None
    forbids: bool = False

    @cached_property
    def match(self) -> Match:
        """The match that a check uses for the condition, for sorts that do not depend on the time or place of a choice."""
        match: Json = list(self.value) if isinstance(self.value, tuple) else self.value
        if self.sort == "has":
            match = {"op": "contains", "text": str(self.value)}
        elif self.sort in ("least", "most"):
            match = {"op": "between", "min" if self.sort == "least" else "max": plain(self.value)}
        elif self.sort == "open_at":
            match = {"op": "open_at", "time": self.value}
        return _MATCH.validate_python(match)


def plain(value: Json) -> Json:
    """Return a float without a fractional part as an int; any other value unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Currency = Literal["CNY", "EUR", "USD", "GBP", "JPY"]
_CURRENCIES: Mapping[Currency, str] = package_data(__package__, "keys.yaml")["currencies"]


def currency_of(text: str) -> Currency:
    """Return the first currency whose sign or name occurs in a text; otherwise the yuan."""
    return next((code for code, signs in _CURRENCIES.items() if re.search(signs, text, re.IGNORECASE)), "CNY")


def is_figure(value: Json) -> bool:
    """Return whether a value is a number and not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_open_at = lru_cache(maxsize=100_000)(open_at)


def opens(value: Json, clock: str) -> bool | None:
    """Return whether opening hours include a time of day; None if the value is not opening hours or the time is empty."""
    return _open_at(value, clock) if isinstance(value, str) and clock else None


@dataclass(frozen=True)
class FieldDifference(FieldCondition):
    """A condition on one field (a dotted path) that a refused thing breaks.

    Attributes:
        day: for hours, the day of the week that was asked about and that the field is called after.
        limits: for a figure, the greatest or least value that is known to be right, and the refused one.
        worded: whether the user's words give the figure.
        likely: how likely it is to be a need where no words name it: 3 for yes or no and for lists, 2 for a figure with a better end, 1 for others,
            0 for what is no need by itself: where a thing stands, how many are left, the lack of something good.
        asked: whether the query states it.
        source: where its first evidence stands.
        evidence: what supports it before the reply; empty where nothing does.
        kind: hard or soft, where a model says so; empty: the user's words say it.
    """

    day: str = ""
    limits: tuple[float, float] = (0, 0)
    worded: bool = False
    likely: int = 3
    asked: bool = False
    source: Source | Literal["unstated"] = "unstated"
    evidence: tuple[Evidence, ...] = ()
    kind: Literal["", "hard", "soft"] = ""

    @property
    def text(self) -> str:
        """The text in the condition, otherwise ``day``; may be empty."""
        value = self.value[0] if isinstance(self.value, tuple) else self.value
        return value if isinstance(value, str) and self.sort in ("is", "has") else self.day

    @property
    def bound(self) -> bool:
        """Whether the condition is an upper or lower bound on a figure."""
        return self.sort in ("least", "most")

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """The known needs to which the field's name or value relates."""
        own = needs_of(" ".join(key_words(self.field))) or needs_of(self.field)
        return tuple({need.name: need for need in (*own, *needs_of(self.text))}.values())

    @cached_property
    def own_needs(self) -> tuple[Need, ...]:
        """The needs that the condition itself expresses: from its text, or from the field's name if there is no text."""
        return needs_of(self.text) if self.text else self.needs

    def kept_by(self, thing: RecordThing) -> bool | None:
        """Return whether a thing satisfies the condition; None if its records leave this open."""
        fits = any_true(map(self.match.fits, thing.values.get(self.field, (None,))))
        return fits if fits is None or not self.forbids else not fits

    def stated_in(self, text: str) -> bool:
        """Return whether a text states the condition: the value, the field's full name, or words for the need."""
        last = key_words(self.field)
        phrases = [phrase for need in self.own_needs for phrase in need.words]
        phrases += [self.text] if tells(self.text.lower()) else []
        # Of a value among several, words for the field do not say which one is needed.
        phrases += [" ".join(last)] if not self.text and any(map(tells, last)) else []
        return bool(any_spoken(text, phrases))

    def named_in(self, text: str, descriptions: Mapping[str, Sequence[str]]) -> int:
        """Return how clearly a user names the field: 3 by value or full name, 2 by a word for the field, 1 by a hint, 0 not at all."""
        last = key_words(self.field)
        words = [word for word in last if tells(word)]
        by_value = tells(self.text.lower()) and spoken(text, self.text)
        if self.worded or by_value or (words and spoken(text, " ".join(last))):
            return 3
        if any_spoken(text, words) or any(any_spoken(text, need.names) for need in self.needs):
            return 2
        timely = (
            any(need.name == "hours" for need in self.needs) and conditions_of(fold_text(in_full(text)).text).openings
        )
        if timely or _pairs(text) & _pairs(f"{last} {self.text}"):
            return 2
        signs = any(any_spoken(text, need.signs) for need in self.needs)
        return int(signs or bool(any_spoken(text, descriptions.get(self.field.rsplit(".", 1)[-1], ()))))

    def with_figure(self, value: float) -> FieldDifference | None:
        """Return a copy with a given figure as the bound; None if the bound does not separate the right from the refused value."""
        right, refused = self.limits
        for figure in (round(value * unit, 6) for unit in _UNITS):
            if (right <= figure < refused) if self.sort == "most" else (refused < figure <= right):
                return replace(self, value=figure)
        return None


def _pairs(text: str) -> set[str]:
    """Return the pairs of adjacent Chinese characters in a text, except those with function words."""
    pairs = (text[at : at + 2] for at in range(len(text) - 1))
    return {pair for pair in pairs if _PAIR.fullmatch(pair)}


def names_in(text: str) -> set[str]:
    """Return possible names in a text: lower-cased words capitalised inside a sentence, and pairs of Chinese characters."""
    return {word.lower() for word in re.findall(r"(?<=[a-z,;] )[A-Z][a-z]{2,}", text)} | _pairs(text)


def in_full(text: str) -> str:
    """Return a text in lower case with abbreviated figures and times written out: 2米6, 三百八, "six foot four", "half seven"."""

    def han(match: re.Match[str]) -> str:
        """Return the full figure for digits with a unit or a scale between them."""
        before, unit, after = match[1], match[2], "".join(_HAN_DIGITS.get(sign, sign) for sign in match[3])
        whole = _HAN_DIGITS.get(before, before)
        return f"{whole}.{after}{unit}" if unit not in _SCALES else str(int(f"{whole}{after}") * _SCALES[unit] // 10)

    def number(words: str) -> float:
        """Return the value of a number in digits or words."""
        return sum(each.value for each in read(words, language="en", lexicon=lexicon_of(())).quantities)

    def feet(match: re.Match[str]) -> str:
        """Return feet and inches in metres."""
        return (
            f"{number(match[1]) * _FOOT + inches * _INCH:.2f} m"
            if 0 < (inches := number(match[2])) < _HOURS
            else match[0]
        )

    def metres(match: re.Match[str]) -> str:
        """Return metres and centimetres in metres."""
        return f"{number(match[1]) + rest / 100:.2f} m" if 1 < (rest := number(match[2])) < 100 else match[0]  # noqa: PLR2004

    def half(match: re.Match[str]) -> str:
        """Return a half hour with the word past."""
        return f"half past {match[1]}" if 0 < number(match[1]) <= _HOURS else match[0]

    text = _SHORT_HUNDREDS.sub(han, _SHORT_METRES.sub(han, text.lower()))
    for pattern, full in ((_SHORT_HALF, half), (_SHORT_FEET, feet), (_SHORT_METRE, metres)):
        text = pattern.sub(full, text)
    return re.sub(rf"\ba ({'|'.join(_NOTES)})\b", lambda note: _NOTES[note[1]], text)


def figures_in(text: str, condition: FieldDifference, *, plain: bool = False) -> Iterator[float]:
    """Yield a text's bounds in the direction of a condition and, with ``plain``, all other figures; money, lengths and times are kept apart."""
    text = in_full(text)
    names = {need.name for need in condition.needs}
    apart = ("m", "min") if "price" in names else ("min", "yuan", "foreign") if names & {"height", "size"} else ()
    for given in conditions_of(fold_text(text).text).bounds:
        figure = given.high if condition.sort == "most" else given.low
        if figure is not None and given.unit not in apart:
            yield figure
    if plain:
        document = read(text, language=language_of(text), lexicon=lexicon_of(()))
        yield from (quantity.value for quantity in document.quantities if quantity.unit not in apart)
        yield from (number.value for number in document.numbers)


def fields_apart(
    refused: Sequence[RecordThing],
    accepted: Sequence[RecordThing],
    words: str,
    clock: str,
    *,
    asked: str,
    things: Sequence[RecordThing],
) -> list[FieldDifference]:
    """Return the conditions that all accepted things satisfy and at least one refused thing breaks, in the order of the records.

    Args:
        refused: what was recommended and refused.
        accepted: what was taken in its place; empty where nothing is known to have been: then the fields of the refused things.
        words: what the user said to it.
        clock: the time that the case is about, ``HH:MM``; empty where there is none.
        asked: what the user asked for; a day of the week in it is held against the hours of this day.
        things: all that tools returned: a text that is different for each of them is no need.
    """
    paths = dict.fromkeys(path for thing in (*accepted, *refused) for path in thing.values)
    fields: list[FieldDifference] = []
    for path in paths:
        if _path_has_word_of(path, "identifies"):
            continue
        bad, good = _values(refused, path), _values(accepted, path)
        candidates = [*(_against(path, bad, good, clock) if accepted else _alone(path, bad, words, clock))]
        candidates = candidates or [*_on_day(path, good, asked)]
        kept = (field for field in candidates if all(field.kept_by(thing) for thing in accepted))
        broken = (field for field in kept if any(field.kept_by(thing) is False for thing in refused))
        fields += (replace(field, likely=_likely(field, things)) for field in broken)
    return fields


def _on_day(path: str, good: Sequence[Json], asked: str) -> Iterator[FieldDifference]:
    """Yield an opening-hours condition for a field named after a day of the week, if the user asked for that day."""
    key = path.rsplit(".", 1)[-1].lower()
    day = next((day for day, sign in _DAYS.items() if re.fullmatch(rf"{day}\w*|\w*[周期]{sign}", key)), "")
    spoken_day = re.search(rf"\b{day}\w*|(?:周|星期|礼拜){_DAYS[day]}", asked, re.IGNORECASE) if day else None
    for clock in ("12:00", "10:00", "15:00", "20:00") if spoken_day else ():
        if any(opens(value, clock) for value in good):
            yield FieldDifference(path, "open_at", clock, day=str(spoken_day and spoken_day[0]))
            return


def _path_has_word_of(path: str, words: str) -> bool:
    """Return whether a path contains one of the words in the list ``words`` of ``needs.yaml``."""
    key = key_words(path) if words in ("identifies", "places") else words_of(path)
    return any(word in key or (not word.isascii() and word in "".join(key)) for word in listed(words))


def _likely(field: FieldDifference, things: Sequence[RecordThing]) -> int:
    """Return the likelihood that a condition is a need although no words name it, from 0 to 3."""
    values = [str(value) for thing in things for value in thing.values.get(field.field, ())]
    unique = len(values) >= _SEVERAL and len(set(values)) == len(values)
    burden = _path_has_word_of(field.field, "burdens") or _path_has_word_of(field.field, "less")
    if isinstance(field.value, bool):
        return 3 if field.value is not burden else 0
    if _path_has_word_of(field.field, "places") or (field.bound and _path_has_word_of(field.field, "left")):
        return 0
    if field.bound:
        return 2 if _path_has_word_of(field.field, "less") or _path_has_word_of(field.field, "more") else 1
    if field.sort != "is":
        return 3
    return 0 if unique else 1


def _values(things: Iterable[RecordThing], path: str) -> list[Json]:
    """Return all values that things have under a path."""
    return [value for thing in things for value in thing.values.get(path, ())]


def _against(path: str, bad: Sequence[Json], good: Sequence[Json], clock: str) -> Iterator[FieldDifference]:
    """Yield conditions on one field that may separate good values from bad ones."""
    listed_in = any(isinstance(value, list) for value in (*bad, *good))
    if listed_in or ("*" in path.split(".") and _texts(good)):
        had, wanted = _members(bad), _members(good)
        sort: Sort = "has" if listed_in else "is"
        yield from (FieldDifference(path, sort, member) for member in wanted if member not in had)
        yield from (FieldDifference(path, sort, member, forbids=True) for member in had if member not in wanted)
    elif good and all(isinstance(value, bool) for value in good):
        yield FieldDifference(path, "is", good[0])
    elif (right := _figures(good)) and (wrong := _figures(bad)):
        yield from _bounded(path, right, wrong)
    elif any(opens(value, "12:00") is not None for value in good):
        if any(opens(value, clock) for value in good):
            yield FieldDifference(path, "open_at", clock)
    elif texts := _texts(good):
        yield FieldDifference(path, "is", texts[0] if len(texts) == 1 else tuple(texts))


def _alone(path: str, bad: Sequence[Json], words: str, clock: str) -> Iterator[FieldDifference]:
    """Yield conditions on a field of a refused thing to which the user's words may refer, if no thing was accepted."""
    denials = Denials(flat(words))
    if bad and all(isinstance(value, bool) for value in bad):
        field = FieldDifference(path, "is", not bad[0])
        phrases = [phrase for need in field.needs for phrase in (*need.words, *need.fields)]
        own = [word for word in key_words(path) if tells(word)]
        # "No wifi there", of what has some by its record, asks for no place without it.
        if not (bad[0] and any(denials.denies(*place) for place in places_of(words, (*own, *phrases)))):
            yield field
    elif figures := _figures(bad):
        less = _path_has_word_of(path, "less")
        if less or _path_has_word_of(path, "more"):
            value = max(figures) if less else min(figures)
            step = 1 if float(value).is_integer() else 0.1
            near = round(value - step if less else value + step, 6)
            open_end = float("-inf") if less else float("inf")
            yield FieldDifference(path, "most" if less else "least", near, limits=(open_end, value))
    elif any(opens(value, clock) is False for value in bad):
        yield FieldDifference(path, "open_at", clock)
    else:
        for text in _members(bad):
            if any(denials.denies(*place) for place in places_of(words, [text])):
                listed_in = any(isinstance(value, list) for value in bad)
                yield FieldDifference(path, "has" if listed_in else "is", text, forbids=True)


def _bounded(path: str, right: Sequence[float], wrong: Sequence[float]) -> Iterator[FieldDifference]:
    """Yield upper or lower bounds that separate right from wrong figures, in the plausible direction for the field."""
    less, more = _path_has_word_of(path, "less"), _path_has_word_of(path, "more")
    if max(right) < max(wrong) and (less or not more):
        yield FieldDifference(path, "most", max(right), limits=(max(right), max(wrong)))
    if min(right) > min(wrong) and (more or not less):
        yield FieldDifference(path, "least", min(right), limits=(min(right), min(wrong)))


def _figures(values: Iterable[Json]) -> list[float]:
    """Return the values that are figures."""
    return [value for value in values if is_figure(value)]


def _texts(values: Iterable[Json]) -> list[str]:
    """Return the distinct short texts among values, without dates and times."""
    texts = (value.strip() for value in values if isinstance(value, str))
    return list(dict.fromkeys(text for text in texts if 0 < len(text) <= _LONGEST_VALUE and not _DATED.fullmatch(text)))


def _members(values: Iterable[Json]) -> list[str]:
    """Return the distinct short texts among values, including members of lists."""
    members: list[str] = []
    for value in values:
        members += _texts(value if isinstance(value, list) else [value])
    return [member for index, member in enumerate(members) if not any(same(member, other) for other in members[:index])]


# -- the words that link needs to fields -------------------------------------------------------------------------------

_HAN = re.compile(r"[\u3400-\u9fff]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPLIT = re.compile(r"[^a-z0-9\u3400-\u9fff]+")
#: A Latin word of fewer letters names nothing by itself.
_LEAST_LATIN = 3
#: A longer word that ends in y also stands for the one without it.
_LEAST_STEM = 6
_SENTENCE = re.compile(r"[^.!?。！？;；\n]+(?:\.\d+[^.!?。！？;；\n]*)*[.!?。！？;；]*")


@dataclass(frozen=True)
class Need:
    """A kind of need: words in the names of related fields, words that state the need, and hints that a user has it."""

    name: str
    fields: tuple[str, ...]
    words: tuple[str, ...]
    signs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Words for the need: words that state it, otherwise words in its field names."""
        return self.words or self.fields


@cache
def all_needs() -> tuple[Need, ...]:
    """Return the needs in ``needs.yaml``, in order."""
    parts = ("fields", "words", "signs")
    needs = package_data(__package__, "needs.yaml")["needs"].items()
    return tuple(Need(name, *(tuple(need[part]) for part in parts)) for name, need in needs)


@cache
def listed(name: str) -> tuple[str, ...]:
    """Return the word list under a name in ``needs.yaml``."""
    return tuple(package_data(__package__, "needs.yaml")[name])


@cache
def wording(name: str) -> re.Pattern[str]:
    """Return a regular expression that matches any of the patterns under a name in ``needs.yaml``."""
    return re.compile("|".join(package_data(__package__, "needs.yaml")[name]), re.IGNORECASE)


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the lower-case words of a field name or path: both ``stepFree`` and ``step_free`` give step and free."""
    return tuple(word for word in _SPLIT.split(_CAMEL.sub(" ", name).lower()) if word)


def key_words(path: str) -> tuple[str, ...]:
    """Return the lower-case words of the last key of a dotted path, ignoring a final ``*``."""
    return words_of(path.removesuffix(".*").rsplit(".", 1)[-1])


@lru_cache(maxsize=4096)
def needs_of(name: str) -> tuple[Need, ...]:
    """Return the needs to which a field name or a text value relates."""
    words, text = set(words_of(name)), fold_phrase(name)
    singular = words | {word.removesuffix("s") for word in words}
    return tuple(
        need
        for need in all_needs()
        if any(entry in text if _HAN.search(entry) else singular.issuperset(entry.split()) for entry in need.fields)
    )


def spoken(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase: Latin phrases as whole words (plurals count), Chinese phrases anywhere."""
    return _pattern(phrase).search(flat(text)) is not None


def places_of(text: str, phrases: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each occurrence of the phrases in ``flat(text)``."""
    yield from (match.span() for phrase in phrases for match in _pattern(phrase).finditer(flat(text)))


def any_spoken(text: str, phrases: Iterable[str]) -> str:
    """Return the first of the phrases that a text contains; empty if it contains none."""
    return next((phrase for phrase in phrases if spoken(text, phrase)), "")


@lru_cache(maxsize=512)
def flat(text: str) -> str:
    """Return a text folded, with hyphens and underscores replaced by spaces."""
    return fold_phrase(text).replace("-", " ").replace("_", " ")


@lru_cache(maxsize=4096)
def _pattern(phrase: str) -> re.Pattern[str]:
    """Return a regular expression that finds a phrase in a flat text; Latin phrases as whole words, also in the plural."""
    folded, ending = flat(phrase), "(?:s|es)?"
    if len(folded) > _LEAST_STEM and folded.endswith("y"):
        folded, ending = folded[:-1], "(?:y|ies)?"  # difficulty: difficult
    folded = re.escape(folded)
    return re.compile(folded if _HAN.search(phrase) else rf"(?<![a-z0-9]){folded}{ending}(?![a-z0-9])")


def takes(tool: str) -> bool:
    """Return whether a tool's name indicates that it books or orders something, such as ``book_table``."""
    return changes_something(tool) or not set(words_of(tool)).isdisjoint(listed("takes"))


def tells_of_user(tool: str) -> bool:
    """Return whether a tool's name indicates that it returns data on the user, such as ``get_user_profile``."""
    return not set(words_of(tool)).isdisjoint(listed("profiles"))


def tells(word: str) -> bool:
    """Return whether a word is significant by itself: long enough, and not too common."""
    return (len(word) >= _LEAST_LATIN or bool(_HAN.search(word))) and word not in listed("weak")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, stripped."""
    yield from (match[0].strip() for match in _SENTENCE.finditer(text) if match[0].strip())


def language_of(text: str) -> str:
    """Return ``zh`` for a text with Chinese characters, else ``en``."""
    return "zh" if _HAN.search(text) else "en"


def leaves_of(data: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Json]]:
    """Yield the plain values of JSON data with their dotted paths; objects in a list share the key ``*``."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from leaves_of(value, (*path, key))
    elif isinstance(data, list | tuple) and any(isinstance(part, Mapping | list) for part in data):
        for part in data:
            yield from leaves_of(part, (*path, "*"))
    else:
        yield ".".join(path), data


# -- fields in which a thing that was refused differs from one that was accepted, each as the condition that it would take to tell them apart

Source = Literal["context", "profile", "environment"]
_LONGEST_QUOTE = 200
#: So many places of evidence are kept for one condition.
_MOST = 5
#: Sentences of a system message that say what the agent is or does, and nothing of the user.
_INSTRUCTS = re.compile(
    r"You are (?!.*\b(?:user|customer|who)\b)|(?:Always|Never|Keep|Answer|Offer|Use|Ask|Reply)\b|你是[^，,：:]*$"
    r"|(?!.*(?:user|customer|用户|客户)).*(?:\b[Aa]ssistant\b|助手|客服|顾问|管家)"
)
_Relevance = Literal["strong", "weak"]


@dataclass(frozen=True)
class EarlierText:
    """A text, or a value in data with its path, from before the judged reply; ``asked``: whether it is in the query."""

    place: str
    source: Source
    text: str
    path: str = ""
    value: Json = None
    asked: bool = False

    @property
    def quote(self) -> str:
        """The text, or path and value, cut to a quotable length."""
        text = f"{self.path}: {json.dumps(self.value, ensure_ascii=False)}" if self.path else self.text
        return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."

    def evidence(self, relevance: _Relevance) -> Evidence:
        """Return the text or value as evidence: ``strong`` states a need directly, ``weak`` only hints at it."""
        need: Literal["direct", "related"] = "direct" if relevance == "strong" else "related"
        return Evidence(text=self.quote, at=(self.place,), relevance=relevance, need=need)


def known_before_reply(
    conversation: LoggedConversation, tools: Mapping[str, Tool], listing: Collection[str]
) -> Iterator[EarlierText]:
    """Yield the texts and values that an agent could know before the judged reply.

    Args:
        conversation: the conversation.
        tools: the tools by name.
        listing: the names of the tools that returned the things themselves: what these are like tells nothing of the need.
    """
    context, at_query = conversation.context, conversation.query.place
    for text in context.history:
        yield from (EarlierText(at_query, "context", sentence) for sentence in sentences(text))
    for index, line in enumerate(conversation.lines[: conversation.reply_at + 1]):
        if line.role == "system" or (line.role == "user" and index <= conversation.query_at):
            asked = index == conversation.query_at
            yield from (EarlierText(line.place, "context", sentence, asked=asked) for sentence in sentences(line.text))
        for step in line.calls:
            profile = (step.tool in tools and tools[step.tool].profile) or tells_of_user(step.tool)
            if step.kind == "call" and step.status == "ok" and (profile or step.tool not in listing):
                source: Source = "profile" if profile else "environment"
                yield from (EarlierText(line.place, source, "", path, value) for path, value in leaves_of(step.result))


def support_for(field: FieldDifference, earlier: tuple[EarlierText, ...], known_at: str) -> FieldDifference:
    """Return a condition with its evidence from before the reply, and with the bound in the evidence, if any.

    Args:
        field: the condition.
        earlier: what stood before the reply.
        known_at: the place that told the time that opening hours are held against; empty where none did.
    """
    bounded, kept, asked = field, [], False
    for part in earlier:
        relevance, figure = _relevance(field, part)
        if relevance is None:
            continue
        if figure is not None and bounded is field:
            bounded = field.with_figure(figure) or field
        if part.asked and (figure is not None or field.stated_in(part.text)):
            asked = True
        kept.append((part.source, part.evidence(relevance)))
    if not kept and field.sort == "open_at" and known_at:
        moment = Evidence(text=f"It is {field.value}", at=(known_at,), relevance="strong", need="direct")
        kept.append(("environment", moment))
    # What states the need comes before what is only a sign of it.
    kept.sort(key=lambda pair: pair[1].relevance != "strong")
    source: Source | Literal["unstated"] = kept[0][0] if kept else "unstated"
    evidence = tuple(evidence for _, evidence in kept[:_MOST])
    return replace(bounded, asked=asked, source=source, evidence=evidence)


def linked_to(support: FieldDifference, words: str, earlier: tuple[EarlierText, ...], returned: str) -> FieldDifference:
    """Return a condition; if it had no evidence, earlier texts about the objection's subject are added as weak evidence.

    They share a name, or a pair of Chinese signs, that stands in no call and no result.
    """
    shared = {name for name in names_in(words) if name not in returned}
    texts = [part for part in earlier if part.text and names_in(part.text) & shared]
    if support.evidence or not texts:
        return support
    return replace(support, source=texts[0].source, evidence=tuple(part.evidence("weak") for part in texts[:_MOST]))


def _relevance(field: FieldDifference, earlier: EarlierText) -> tuple[_Relevance | None, float | None]:
    """Return how strongly an earlier text or value supports a condition (None: not at all), and its figure for a bound or None."""
    if earlier.path:
        return _of_value(field, earlier)
    text = earlier.text
    if _INSTRUCTS.match(text) and not earlier.asked:
        return None, None
    related = bool(any_spoken(text, [phrase for need in field.needs for phrase in (*need.names, *need.signs)]))
    for figure in figures_in(text, field, plain=related) if field.bound else ():
        if field.with_figure(figure):
            return "strong", figure
    stated = field.stated_in(text) or any(any_spoken(text, need.names) for need in field.own_needs)
    return ("strong" if stated else "weak" if related else None), None


def _of_value(field: FieldDifference, earlier: EarlierText) -> tuple[_Relevance | None, float | None]:
    """Return the relevance, as ``_relevance`` does, of a value in data: by its key and value, or by words in its texts."""
    key = earlier.path.removesuffix(".*").rsplit(".", 1)[-1]
    own = set(key_words(field.field))
    shares = bool({need.name for need in needs_of(key)} & {need.name for need in field.needs})
    shares = shares or bool(own & {word for word in words_of(key) if tells(word)})
    value = earlier.value
    if is_figure(value) and field.bound:
        return ("strong", value) if shares and field.with_figure(value) else (None, None)
    texts = [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str)]
    phrases = [phrase for need in field.own_needs for phrase in (*need.words, *need.signs, *need.fields)]
    phrases += [field.text] if tells(field.text.lower()) else []
    if value and not shares and not field.text:  # what a person has by its name: daughter: 2
        texts.append(" ".join(words_of(earlier.path)))
    holds = any(text.strip() and (same(text, field.text) or any_spoken(text, phrases)) for text in texts)
    for figure in (figure for text in texts if field.bound for figure in figures_in(text, field, plain=shares)):
        if field.with_figure(figure):
            return "strong", figure
    if isinstance(value, bool) and isinstance(field.value, bool) and shares:
        # A need by another name (wheelchair: true) asks for the field; the field's own name must have its value.
        holds = value == field.value or (value and own.isdisjoint(words_of(key)))
    return ("strong" if holds else None), None


# -- requirements that conditions become --------------------------------------------------------------------------------


def requirement_of(
    name: str,
    kind: Literal["asked", "hard", "soft"],
    text: str,
    where: Mapping[str, Match | Json],
    support: Mapping[str, Any] = MappingProxyType({}),
    *,
    forbids: bool = False,
    draft: bool = False,
) -> Requirement:
    """Return the requirement that everything an answer recommends fulfils the matches or, with ``forbids``, that nothing does.

    Args:
        name: its id in the case.
        kind: ``asked`` where the query states it, ``hard`` where the user never did without it, else ``soft``.
        text: it in words, in the language of the case.
        where: by field of the thing that is proposed (a dotted path), the value or the match that it must have.
        support: ``source`` and ``evidence`` of what is not asked.
        forbids: whether nothing that is recommended may have them.
        draft: whether people have to decide on it.
    """
    parts = {"none_where": where} if forbids else {"only": True, "where": where}
    check = Recommends.model_validate({"kind": "recommends", **parts})
    return Requirement(id=name, kind=kind, text=text, check=check, draft=draft, **({} if kind == "asked" else support))
