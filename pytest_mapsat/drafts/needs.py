"""What words have to do with fields of results: the data of ``needs.yaml``, names of fields split into words, phrases looked for in texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from pytest_mapsat.model import Json
from pytest_mapsat.reading import fold_phrase
from pytest_mapsat.recording import changes_something

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
