"""Fields in which a thing that was refused differs from one that was accepted, each as the condition that it would take to tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pytest_mapsat.model import Json, Match, Recommends, same
from pytest_mapsat.reading import Denials, conditions_of, fold_text, lexicon_of, read
from pytest_mapsat.sandbox import satisfies

from .needs import Need, any_spoken, flat, key_words, listed, needs_of, places_of, spoken, tells, words_of

#: A text with more characters is a description: it is compared with nothing.
_LONGEST_TEXT = 40
_METRES = 1000
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
    """

    path: str
    match: Json
    forbids: bool = False
    value: str = ""
    bound: Literal["", "min", "max"] = ""
    limits: tuple[float, float] = (0, 0)

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """The needs that it has to do with, by its name and its value."""
        return tuple({need.name: need for need in (*needs_of(self.path), *needs_of(self.value))}.values())

    @cached_property
    def own_needs(self) -> tuple[Need, ...]:
        """The needs that it is itself, and not only about: those of its value, or of its name where the value is yes, no or a figure."""
        return needs_of(self.value) if self.value else needs_of(self.path)

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
        if (tells(self.value.lower()) and spoken(text, self.value)) or (words and spoken(text, " ".join(last))):
            return 3
        if any_spoken(text, words) or any(any_spoken(text, need.names) for need in self.needs):
            return 2
        signs = any(any_spoken(text, need.signs) for need in self.needs)
        return int(signs or bool(any_spoken(text, descriptions.get(self.path.rsplit(".", 1)[-1], ()))))

    def with_figure(self, value: float) -> Field | None:
        """Return it bounded by a figure that somebody gave; None where the figure does not part the two things."""
        right, refused = self.limits
        for figure in (value, value * _METRES):
            if (right <= figure < refused) if self.bound == "max" else (refused < figure <= right):
                return Field(self.path, between(self.bound, figure), bound=self.bound, limits=self.limits)
        return None


def figures_in(text: str, bound: str, *, plain: bool = False) -> Iterator[float]:
    """Yield the figures that a text gives as bounds from above (``max``) or below (``min``); with ``plain`` also those that it only has."""
    for given in conditions_of(fold_text(text).text).bounds:
        figure = given.high if bound == "max" else given.low
        if figure is not None:
            yield figure
    if plain:
        document = read(
            text, language="zh" if any("\u3400" <= sign <= "\u9fff" for sign in text) else "en", lexicon=lexicon_of(())
        )
        yield from (quantity.value for quantity in document.quantities)
        yield from (number.value for number in document.numbers)


def fields_apart(refused: Sequence[Thing], accepted: Sequence[Thing], words: str, clock: str) -> list[Field]:
    """Return the conditions that every accepted thing keeps and some refused one breaks, in the order of its records.

    Args:
        refused: what was recommended and refused.
        accepted: what was taken in its place; empty where nothing is known to have been: then the fields of the refused things.
        words: what the user said to it.
        clock: the time that the case is about, ``HH:MM``; empty where there is none.
    """
    paths = dict.fromkeys(path for thing in (*accepted, *refused) for path in thing.values)
    fields: list[Field] = []
    for path in paths:
        if set(listed("identifies")) & set(key_words(path)):
            continue
        bad, good = _values(refused, path), _values(accepted, path)
        made = _against(path, bad, good, clock) if accepted else _alone(path, bad, words, clock)
        fields += (
            field
            for field in made
            if all(field.kept_by(thing) for thing in accepted)
            and any(field.kept_by(thing) is False for thing in refused)
        )
    return fields


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
        names = set(words_of(path))
        ways: list[Literal["min", "max"]] = ["max"] if names & set(listed("less")) else []
        ways = ways or (["min"] if names & set(listed("more")) else [])
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
    names = set(words_of(path))
    less, more = names & set(listed("less")), names & set(listed("more"))
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
