"""Fields in which a thing that was refused differs from one that was accepted, each as the condition that it would take to tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from pytest_mapsat.model import Json, Match, Recommends, same
from pytest_mapsat.reading import Denials, conditions_of, fold_phrase, fold_text, lexicon_of, read
from pytest_mapsat.recording import changes_something
from pytest_mapsat.sandbox import satisfies

#: A text with more characters is a description: it is compared with nothing.
_LONGEST_TEXT = 40
_METRES = 1000
_PAIR = re.compile(r"[^\W\da-zA-Z的了我你他她它们这那哪个是不没有在就都也还要会能吗呢吧啊么什怎]{2}")
#: "Two metres four" is 2.4.
_AND_TENTHS = re.compile(r"([一二两三四五六七八九\d])[米块]([一二三四五六七八九\d])(?!\d|[百十个])")
_DIGITS = {sign: str(number) for number, sign in enumerate("零一二三四五六七八九")} | {"两": "2"}
_DAYS = {"mon": "一", "tue": "二", "wed": "三", "thu": "四", "fri": "五", "sat": "六", "sun": "[日天]"}
#: Of so many things with different texts none is needed for its text.
_SEVERAL = 3
#: A date or a time of day: it tells no thing from another.
_DATED = re.compile(r"[\d\s:/.+TZ-]+")

Values = Mapping[str, tuple[Json, ...]]


@dataclass(frozen=True)
class Thing:
    """A thing with a name that tools returned: its values by dotted path, those of all its records."""

    key: str
    name: str
    values: Values


@dataclass(frozen=True)
class Field:
    """A condition on one field that the refused thing breaks.

    Attributes:
        path: the field, a dotted path in the record.
        match: what its value must fit, as a check writes it.
        forbids: whether nothing that is recommended may fit it, in place of all.
        value: the text of the value that tells the things apart; empty where it is no text.
        bound: for a figure, which way it is bounded.
        limits: for a figure, the greatest or least value that is known to be right, and the refused one.
        worded: whether the user's words give the figure.
        likely: how likely it is to be a need where no words name it: 3 for yes or no and for lists, 2 for a figure with a better end, 1 for others,
            0 for what is no need by itself: where a thing stands, how many are left, the lack of something good.
    """

    path: str
    match: Json
    forbids: bool = False
    value: str = ""
    bound: Literal["", "min", "max"] = ""
    limits: tuple[float, float] = (0, 0)
    worded: bool = False
    likely: int = 3

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """The needs that it has to do with, by its name and its value."""
        own = needs_of(" ".join(key_words(self.path))) or needs_of(self.path)
        return tuple({need.name: need for need in (*own, *needs_of(self.value))}.values())

    @cached_property
    def own_needs(self) -> tuple[Need, ...]:
        """The needs that it is itself, and not only about: those of its value, or of its name where the value is yes, no or a figure."""
        return needs_of(self.value) if self.value else self.needs

    @cached_property
    def where(self) -> dict[str, Match]:
        """Its condition as a check reads it."""
        check = Recommends.model_validate({"kind": "recommends", "where": {self.path: self.match}})
        return dict(check.where)

    def kept_by(self, thing: Thing) -> bool | None:
        """Return whether a thing may be recommended by it; None where the records do not tell."""
        held = [satisfies(self.where[self.path], value) for value in thing.values.get(self.path, (None,))]
        fits = True if True in held else None if None in held else False
        return fits if fits is None or not self.forbids else not fits

    def stated_in(self, text: str) -> bool:
        """Return whether a text states it: by its value, its whole name, or words that state its need."""
        last = key_words(self.path)
        phrases = [phrase for need in self.own_needs for phrase in need.words]
        phrases += [self.value] if tells(self.value.lower()) else []
        # Of a value among several, words for the field do not say which one is needed.
        phrases += [" ".join(last)] if not self.value and any(map(tells, last)) else []
        return bool(any_spoken(text, phrases))

    def named_in(self, text: str, descriptions: Mapping[str, Sequence[str]]) -> int:
        """Return how plainly a user's words name the field: 3 by its value or its whole name, 2 by a word for it, 1 by a sign or a description, 0 not at all."""
        last = key_words(self.path)
        words = [word for word in last if tells(word)]
        if (
            self.worded
            or (tells(self.value.lower()) and spoken(text, self.value))
            or (words and spoken(text, " ".join(last)))
        ):
            return 3
        if any_spoken(text, words) or any(any_spoken(text, need.names) for need in self.needs):
            return 2
        timely = any(need.name == "hours" for need in self.needs) and conditions_of(fold_text(text).text).openings
        if timely or _pairs(text) & _pairs(f"{last} {self.value}"):
            return 2
        signs = any(any_spoken(text, need.signs) for need in self.needs)
        return int(signs or bool(any_spoken(text, descriptions.get(self.path.rsplit(".", 1)[-1], ()))))

    def with_figure(self, value: float) -> Field | None:
        """Return it bounded by a figure that somebody gave; None where the figure does not part the two things."""
        right, refused = self.limits
        for figure in (value, value * _METRES):
            if (right <= figure < refused) if self.bound == "max" else (refused < figure <= right):
                return replace(self, match=between(self.bound, figure))
        return None


def _pairs(text: str) -> set[str]:
    """Return the pairs of Chinese signs that stand side by side in a text, those of little words apart."""
    pairs = (text[at : at + 2] for at in range(len(text) - 1))
    return {pair for pair in pairs if _PAIR.fullmatch(pair)}


def names_in(text: str) -> set[str]:
    """Return what may name something in a text, folded: words with a capital inside a sentence, and pairs of Chinese signs."""
    return {word.lower() for word in re.findall(r"(?<=[a-z,;] )[A-Z][a-z]{2,}", text)} | _pairs(text)


def figures_in(text: str, bound: str, *, plain: bool = False) -> Iterator[float]:
    """Yield the figures that a text gives as bounds from above (``max``) or below (``min``); with ``plain`` also those that it only has."""
    for given in conditions_of(fold_text(text).text).bounds:
        figure = given.high if bound == "max" else given.low
        if figure is not None:
            yield figure
    if plain:
        for whole, tenths in _AND_TENTHS.findall(text):
            yield float(f"{_DIGITS.get(whole, whole)}.{_DIGITS.get(tenths, tenths)}")
        document = read(
            text, language="zh" if any("\u3400" <= sign <= "\u9fff" for sign in text) else "en", lexicon=lexicon_of(())
        )
        yield from (quantity.value for quantity in document.quantities)
        yield from (number.value for number in document.numbers)


def fields_apart(
    refused: Sequence[Thing], accepted: Sequence[Thing], words: str, clock: str, *, asked: str, things: Sequence[Thing]
) -> list[Field]:
    """Return the conditions that every accepted thing keeps and some refused one breaks, in the order of its records.

    Args:
        refused: what was recommended and refused.
        accepted: what was taken in its place; empty where nothing is known to have been: then the fields of the refused things.
        words: what the user said to it.
        clock: the time that the case is about, ``HH:MM``; empty where there is none.
        asked: what the user asked for; a day of the week in it is held against the hours of this day.
        things: all that tools returned: a text that is different for each of them is no need.
    """
    paths = dict.fromkeys(path for thing in (*accepted, *refused) for path in thing.values)
    fields: list[Field] = []
    for path in paths:
        if _has(path, "identifies"):
            continue
        bad, good = _values(refused, path), _values(accepted, path)
        made = [*(_against(path, bad, good, clock) if accepted else _alone(path, bad, words, clock))]
        made = made or [*_on_day(path, good, asked)]
        fields += (
            replace(field, likely=_likely(field, things))
            for field in made
            if all(field.kept_by(thing) for thing in accepted)
            and any(field.kept_by(thing) is False for thing in refused)
        )
    return fields


def _on_day(path: str, good: Sequence[Json], asked: str) -> Iterator[Field]:
    """Yield the condition that a thing is open on the day of the week that its field is called after, where the user asked for this day."""
    key = path.rsplit(".", 1)[-1].lower()
    day = next((day for day, sign in _DAYS.items() if re.fullmatch(rf"{day}\w*|\w*[周期]{sign}", key)), "")
    spoken_day = re.search(rf"\b{day}\w*|(?:周|星期|礼拜){_DAYS[day]}", asked, re.IGNORECASE) if day else None
    for clock in ("12:00", "10:00", "15:00", "20:00") if spoken_day else ():
        if any(isinstance(value, str) and satisfies(open_at(clock), value) for value in good):
            yield Field(path, {"op": "open_at", "time": clock}, value=str(spoken_day and spoken_day[0]))
            return


def _has(path: str, words: WordList) -> bool:
    """Return whether a path has one of some words, a Chinese one anywhere in it; for what only tells which or where, its last key."""
    key = key_words(path) if words in ("identifies", "places") else words_of(path)
    return any(word in key or (not word.isascii() and word in "".join(key)) for word in listed(words))


def _likely(field: Field, things: Sequence[Thing]) -> int:
    """Return how likely a condition is to be a need where no words name it, 0 to 3."""
    values = [str(value) for thing in things for value in thing.values.get(field.path, ())]
    unique = len(values) >= _SEVERAL and len(set(values)) == len(values)
    burden = _has(field.path, "burdens") or _has(field.path, "less")
    if isinstance(field.match, bool):
        return 3 if field.match is not burden else 0
    if _has(field.path, "places") or (field.bound and _has(field.path, "left")):
        return 0
    if isinstance(field.match, dict) and not field.bound:
        return 3
    if field.bound:
        return 2 if _has(field.path, "less") or _has(field.path, "more") else 1
    return 0 if unique else 1


def _values(things: Iterable[Thing], path: str) -> list[Json]:
    return [value for thing in things for value in thing.values.get(path, ())]


def _against(path: str, bad: Sequence[Json], good: Sequence[Json], clock: str) -> Iterator[Field]:
    """Yield the conditions of one field that may tell what is good from what is bad."""
    listed_in = any(isinstance(value, list) for value in (*bad, *good))
    if listed_in or ("*" in path.split(".") and _texts(good)):
        had, wanted = _members(bad), _members(good)
        match = contains if listed_in else str
        yield from (Field(path, match(member), value=member) for member in wanted if member not in had)
        yield from (Field(path, match(member), forbids=True, value=member) for member in had if member not in wanted)
    elif good and all(isinstance(value, bool) for value in good):
        yield Field(path, good[0])
    elif (right := _figures(good)) and (wrong := _figures(bad)):
        yield from _bounded(path, right, wrong)
    elif hours := [
        value for value in good if isinstance(value, str) and satisfies(open_at("12:00"), value) is not None
    ]:
        if clock and any(satisfies(open_at(clock), value) for value in hours):
            yield Field(path, {"op": "open_at", "time": clock})
    elif texts := _texts(good):
        yield Field(path, texts[0] if len(texts) == 1 else list(texts), value=texts[0])


def _alone(path: str, bad: Sequence[Json], words: str, clock: str) -> Iterator[Field]:
    """Yield the conditions of one field of a refused thing that the user's words may mean, where nothing was accepted."""
    denials = Denials(flat(words))
    if bad and all(isinstance(value, bool) for value in bad):
        field = Field(path, not bad[0])
        phrases = [phrase for need in field.needs for phrase in (*need.words, *need.fields)]
        own = [word for word in key_words(path) if tells(word)]
        # "No wifi there", of what has some by its record, asks for no place without it.
        if not (bad[0] and any(denials.denies(*place) for place in places_of(words, (*own, *phrases)))):
            yield field
    elif figures := _figures(bad):
        ways: list[Literal["min", "max"]] = ["max"] if _has(path, "less") else ["min"] if _has(path, "more") else []
        for way in ways:
            value = min(figures) if way == "min" else max(figures)
            step = 1 if float(value).is_integer() else 0.1
            near = round(value + step if way == "min" else value - step, 6)
            open_end = float("inf") if way == "min" else float("-inf")
            yield Field(path, between(way, near), bound=way, limits=(open_end, value))
    elif clock and any(isinstance(value, str) and satisfies(open_at(clock), value) is False for value in bad):
        yield Field(path, {"op": "open_at", "time": clock})
    else:
        for text in _members(bad):
            if any(denials.denies(*place) for place in places_of(words, [text])):
                match = contains(text) if any(isinstance(value, list) for value in bad) else text
                yield Field(path, match, forbids=True, value=text)


def _bounded(path: str, right: Sequence[float], wrong: Sequence[float]) -> Iterator[Field]:
    """Yield the bound that parts figures, in the direction that the field or, where that says nothing, the difference supports."""
    less, more = _has(path, "less"), _has(path, "more")
    if max(right) < max(wrong) and (less or not more):
        yield Field(path, between("max", max(right)), bound="max", limits=(max(right), max(wrong)))
    if min(right) > min(wrong) and (more or not less):
        yield Field(path, between("min", min(right)), bound="min", limits=(min(right), min(wrong)))


def between(way: str, figure: float) -> Json:
    """Return the match of a bound: ``min`` or ``max``."""
    return {"op": "between", way: int(figure) if float(figure).is_integer() else figure}


def contains(member: str) -> Json:
    """Return the match of a list with a member."""
    return {"op": "contains", "text": member}


def open_at(clock: str) -> Match:
    """Return the match of opening hours that hold a time of day."""
    check = Recommends.model_validate({"kind": "recommends", "where": {"hours": {"op": "open_at", "time": clock}}})
    return check.where["hours"]


def _figures(values: Iterable[Json]) -> list[float]:
    return [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def _texts(values: Iterable[Json]) -> list[str]:
    texts = (value.strip() for value in values if isinstance(value, str))
    return list(dict.fromkeys(text for text in texts if 0 < len(text) <= _LONGEST_TEXT and not _DATED.fullmatch(text)))


def _members(values: Iterable[Json]) -> list[str]:
    """Return the texts in lists, each once."""
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

WordList = Literal[
    "less",
    "more",
    "identifies",
    "weak",
    "prefers",
    "refuses",
    "manner",
    "profiles",
    "takes",
    "places",
    "left",
    "burdens",
]


@dataclass(frozen=True)
class Need:
    """Something that people need: the names that fields of it have, words that state it, and signs of who has it."""

    name: str
    fields: tuple[str, ...]
    words: tuple[str, ...]
    signs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Words that speak of it: those that state it, else those of its fields."""
        return self.words or self.fields


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((files(__package__) / "needs.yaml").read_text("utf-8"))
    return data


@cache
def all_needs() -> tuple[Need, ...]:
    """Return the needs of the data, in their order."""
    return tuple(
        Need(name, *(tuple(parts[part]) for part in ("fields", "words", "signs")))
        for name, parts in _data()["needs"].items()
    )


@cache
def listed(name: WordList) -> tuple[str, ...]:
    """Return one of the plain lists of words of the data."""
    return tuple(_data()[name])


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a field's name or path, folded: those of ``stepFree`` and ``step_free`` are step and free."""
    return tuple(word for word in _SPLIT.split(_CAMEL.sub(" ", name).lower()) if word)


def key_words(path: str) -> tuple[str, ...]:
    """Return the words of the last key of a dotted path, ``*`` apart."""
    return words_of(path.removesuffix(".*").rsplit(".", 1)[-1])


@lru_cache(maxsize=4096)
def needs_of(name: str) -> tuple[Need, ...]:
    """Return the needs that a field's name, or the text of a value, has to do with."""
    words, text = set(words_of(name)), fold_phrase(name)
    singular = words | {word.removesuffix("s") for word in words}
    return tuple(
        need
        for need in all_needs()
        if any(entry in text if _HAN.search(entry) else singular.issuperset(entry.split()) for entry in need.fields)
    )


def spoken(text: str, phrase: str) -> bool:
    """Return whether a text has a phrase: as whole words where it is Latin (a plain plural counts), anywhere where it is Chinese."""
    return _pattern(phrase).search(flat(text)) is not None


def places_of(text: str, phrases: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield where phrases stand in a text as ``flat`` gives it, start and end."""
    yield from (match.span() for phrase in phrases for match in _pattern(phrase).finditer(flat(text)))


def any_spoken(text: str, phrases: Iterable[str]) -> str:
    """Return the first of some phrases that a text has; nothing where it has none."""
    return next((phrase for phrase in phrases if spoken(text, phrase)), "")


@lru_cache(maxsize=512)
def flat(text: str) -> str:
    """Return a text folded, with blanks in the place of hyphens."""
    return fold_phrase(text).replace("-", " ").replace("_", " ")


@lru_cache(maxsize=4096)
def _pattern(phrase: str) -> re.Pattern[str]:
    folded, ending = flat(phrase), "(?:s|es)?"
    if len(folded) > _LEAST_STEM and folded.endswith("y"):
        folded, ending = folded[:-1], "(?:y|ies)?"  # difficulty: difficult
    folded = re.escape(folded)
    return re.compile(folded if _HAN.search(phrase) else rf"(?<![a-z0-9]){folded}{ending}(?![a-z0-9])")


def takes(tool: str) -> bool:
    """Return whether the name of a tool says that it takes a thing: ``book_table``."""
    return changes_something(tool) or not set(words_of(tool)).isdisjoint(listed("takes"))


def tells(word: str) -> bool:
    """Return whether a word says something by itself: it is long enough, and none of those that stand in any text."""
    return (len(word) >= _LEAST_LATIN or bool(_HAN.search(word))) and word not in listed("weak")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, blanks around them cut off."""
    yield from (match[0].strip() for match in _SENTENCE.finditer(text) if match[0].strip())


def leaves_of(data: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Json]]:
    """Yield the plain values of JSON data, each with its dotted path; a list of plain values is one, members of others share the path ``*``."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from leaves_of(value, (*path, key))
    elif (
        isinstance(data, Sequence)
        and not isinstance(data, str)
        and any(isinstance(part, Mapping | list) for part in data)
    ):
        for part in data:
            yield from leaves_of(part, (*path, "*"))
    else:
        yield ".".join(path), data
