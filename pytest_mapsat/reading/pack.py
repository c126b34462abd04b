"""Language packs: words by their function, read from data and compiled to one linear pass over a folded text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import chain, groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Any, get_args

import yaml

from pytest_mapsat.model import FigureRole, TimeRole, did_you_mean, shown

from .document import fold_phrase

#: What a word does: group of the pack -> the value under which the word stands in it, True where the group is a plain list.
Tags = Mapping[str, Any]
#: Groups in which one word may have several values: "takes" is said of a way and of a table.
_SEVERAL = frozenset({"role", "role_ahead", "role_behind"})
_MOVING = frozenset({"choose", "toward", "from", "homeward"})
_HANDED_DOWN = ("mode", "time_role")
_LATIN = re.compile("[a-z0-9]")
_RUN = re.compile("[a-z0-9]+")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
#: So many values are named where one is not known.
_SHOWN_VALUES = 20
_SCALED = re.compile(r"(?P<unit>[a-z_:]+)\*(?P<scale>[0-9.]+)")
#: The file of a language that says how simulated users speak: nothing is read by it.
_OF_USERS = "manners.yaml"
#: The currency whose words are those of money in the files of the languages.
YUAN = "CNY"
#: The unit of sums in the suite's own currency, whatever it is, and of those in any other.
MONEY, FOREIGN = "yuan", "foreign"
_CURRENCIES = ("currency", "currency_name", "own_currency")
_NOTHING: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@dataclass(frozen=True)
class Vocabulary:
    """The words of a domain, merged over the language pack as group -> words; and the currency of its amounts."""

    groups: Mapping[str, Sequence[str]] = field(default_factory=lambda: _NOTHING)
    currency: str = YUAN

    def __hash__(self) -> int:
        """Return a hash of the words, which identifies cached packs and readings."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """The hash of words and currency, computed once."""
        return hash((self.words, self.currency))

    @cached_property
    def words(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The groups in a fixed order."""
        return tuple((name, tuple(listed)) for name, listed in sorted(self.groups.items()))


@dataclass(slots=True, eq=False)
class Cue:
    """A pack word in a folded text with its tags. Mutable only for speed; never modified."""

    start: int
    end: int
    tags: Tags

    def role(self, allowed: Collection[str], group: str = "role") -> str:
        """Return the only allowed role that the word gives a figure; empty if it gives none or several.

        Args:
            allowed: the roles that the figure may have.
            group: ``role``, or ``role_ahead`` or ``role_behind`` for words that say it right beside a figure only.
        """
        roles = [role for role in self.tags.get(group, ()) if role in allowed]
        return roles[0] if len(roles) == 1 else ""

    def has(self, *groups: str) -> bool:
        """Return whether the word belongs to one of these groups."""
        tags = self.tags
        for group in groups:  # noqa: SIM110  called thousands of times for a reply
            if group in tags:
                return True
        return False


class Pack:
    """The words of one language.

    Args:
        language: its primary tag.
        words: folded word -> what it does.
    """

    def __init__(self, language: str, words: Mapping[str, Tags]) -> None:
        self.language = language
        self.words = words = _inherited(words)
        groups: dict[str, set[str]] = {}
        for word, tags in words.items():
            for group in tags:
                groups.setdefault(group, set()).add(word)
        self.groups = {group: frozenset(phrases) for group, phrases in groups.items()}
        self.names = {group: self.groups.get(group, frozenset()) for group in _OF_NAMES}
        self.several = tuple(word for word, tags in words.items() if tags.get("numeral", 0) > 1) + tuple("23456789")

    @cached_property
    def _cues(self) -> Mapping[str, Tags]:
        """The words to search for in texts, except words that only serve the reading of names."""
        return {word: tags for word, tags in self.words.items() if not _OF_NAMES.issuperset(tags)}

    @cached_property
    def _lengths(self) -> Mapping[str, Sequence[int]]:
        """The lengths of the words by their beginning, longest first."""
        lengths: dict[str, set[int]] = {}
        for word in self._cues:
            lengths.setdefault(start_of(word), set()).add(len(word))
        return {start: sorted(sizes, reverse=True) for start, sizes in lengths.items()}

    @cached_property
    def _glued(self) -> Mapping[str, Sequence[str]]:
        """The words that may begin inside a run of letters ("n't"), by their first letters, longest first."""
        glued = [word for word, tags in self._cues.items() if "glued" in tags and _LATIN.match(word)]
        glued.sort(key=lambda word: (-len(start_of(word)), -len(word), word))
        return {start: tuple(words) for start, words in groupby(glued, start_of)}

    @cached_property
    def _starts(self) -> re.Pattern[str]:
        """A pattern for places where words may begin: runs of letters and digits, and other initial characters."""
        chars = "".join(re.escape(start) for start in self._lengths if not _LATIN.match(start))
        return re.compile(f"[a-z0-9]+|[{chars}]" if chars else "[a-z0-9]+")

    def find(self, text: str) -> Iterator[Cue]:
        """Yield the words in a folded text, the longest at each place, without overlaps."""
        text = text.replace("\n", " ")
        cues, lengths, glued = self._cues, self._lengths, tuple(self._glued)
        end = 0
        for match in self._starts.finditer(text):
            start = match.start()
            if start < end:
                continue
            run = match.group()
            for length in lengths.get(run, ()):
                word = text[start : start + length]
                if word in cues and (word == run or not _goes_on(text, word, start)):
                    end = start + len(word)
                    yield Cue(start, end, cues[word])
                    break
            else:
                if run.endswith(glued) and (cue := self._inside(text, run, start)):
                    end = cue.end
                    yield cue

    def _inside(self, text: str, run: str, start: int) -> Cue | None:
        """Return the word that begins inside a run of letters and digits; None if there is none."""
        for part, words in self._glued.items():
            if run.endswith(part) and run != part:
                place = start + len(run) - len(part)
                for word in words:
                    if text.startswith(word, place) and not _goes_on(text, word, place):
                        return Cue(place, place + len(word), self._cues[word])
        return None

    def pattern(self, group: str) -> re.Pattern[str]:
        """Return a pattern for the words of a group."""
        return _pattern(self.groups.get(group, frozenset()))

    def with_words(self, groups: Mapping[str, Sequence[str]]) -> Pack:
        """Return the pack extended by words of a domain; ``role.wait`` means the value ``wait`` in the group ``role``."""
        words = {word: dict(tags) for word, tags in self.words.items()}
        for name, listed in groups.items():
            group, _, value = name.partition(".")
            _add(words, group, value or True, listed)
        return Pack(self.language, words)


@lru_cache(maxsize=64)
def _pattern(words: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of some words, in Latin script only as whole words."""
    longest = sorted(words or ("\0",), key=lambda word: (-len(word), word))
    han = [re.escape(word) for word in longest if not word.isascii()]
    latin = "|".join(re.escape(word) for word in longest if word.isascii())
    return re.compile("|".join([*han, *([rf"(?<![a-z0-9])(?:{latin})(?![a-z0-9])"] if latin else [])]))


def start_of(word: str) -> str:
    """Return the key for looking up a word: its leading letters and digits, or its first character."""
    run = _RUN.match(word)
    return run.group() if run else word[0]


def _goes_on(text: str, word: str, start: int) -> bool:
    """Return whether a longer Latin word continues after this word in the text."""
    return _LATIN.match(text, start + len(word)) is not None and _LATIN.match(word[-1]) is not None


@cache
def languages() -> tuple[str, ...]:
    """Return the languages with a language pack."""
    return tuple(sorted(entry.name for entry in _room().iterdir() if entry.is_dir() and not entry.name.startswith("_")))


@lru_cache(maxsize=64)
def pack_of(language: str, vocabulary: Vocabulary | None = None) -> Pack:
    """Return the pack for a BCP 47 tag with the words of a domain; English if the language has no pack."""
    primary = language.lower().replace("_", "-").partition("-")[0]
    words, currency = (vocabulary.words, vocabulary.currency) if vocabulary else ((), YUAN)
    return load_pack(primary if primary in languages() else "en", words, currency)


@lru_cache(maxsize=16)
def load_pack(language: str, groups: tuple[tuple[str, tuple[str, ...]], ...] = (), currency: str = YUAN) -> Pack:
    """Return a language's pack, extended by domain words and set up for a currency."""
    if groups:
        return load_pack(language, (), currency).with_words(dict(groups))
    words: dict[str, dict[str, Any]] = {}
    for data in _files(language):
        _merge(words, {group: phrases for group, phrases in data.items() if group not in _CURRENCIES})
    for data in _files(language):
        _merge_money(words, data, currency)
    return Pack(language, words)


def _merge_money(words: dict[str, dict[str, Any]], data: Mapping[str, Any], currency: str) -> None:
    """Add the words for currencies: the suite's own as money, all others as foreign."""
    if currency != YUAN and _CURRENCIES[0] in data:
        for tags in words.values():
            if "unit" in tags and tags["unit"][0] == MONEY:
                tags["unit"] = (FOREIGN, tags["unit"][1])
            if tags.get("unit_name") == MONEY:
                tags["unit_name"] = FOREIGN
    for group, target in zip(_CURRENCIES, ("unit", "unit_name", "unit"), strict=True):
        words_by_group: Mapping[str, Sequence[str]] = data.get(group, _NOTHING)
        # The own currency comes last, so that it has the words that several share.
        for value in sorted(words_by_group, key=lambda value: value.partition("*")[0] == currency):
            code, star, scale = value.partition("*")
            if code == currency:
                _add(words, target, f"{MONEY}{star}{scale}", words_by_group[value])
            elif group != _CURRENCIES[2]:
                shared = [word for word in words_by_group[value] if not _is_money(words, word, target)]
                _add(words, target, f"{FOREIGN}{star}{scale}", shared)


def _is_money(words: Mapping[str, Mapping[str, Any]], word: str, group: str) -> bool:
    """Return whether a word already means the suite's own currency."""
    form = words.get(fold_phrase(word), {}).get(group)
    return form == MONEY or (isinstance(form, tuple) and form[0] == MONEY)


@cache
def _files(language: str) -> tuple[Mapping[str, Any], ...]:
    """Return the content of the files for all languages, then of the language's own files."""
    entries = [
        entry for folder in (_room(), _room() / language) for entry in sorted(folder.iterdir(), key=attrgetter("name"))
    ]
    return tuple(_content(entry) for entry in entries if entry.name.endswith(".yaml") and entry.name != _OF_USERS)


@cache
def _content(entry: Any) -> Mapping[str, Any]:
    """Return the content of a YAML file, with all values as strings."""
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    content: Mapping[str, Any] = yaml.load(entry.read_text("utf-8"), Loader=loader)  # noqa: S506  plain strings only
    return content


def words_in(name: str) -> Mapping[str, Any]:
    """Return the content of a YAML file beside this module, with all values as strings."""
    entry: Any = files(__package__) / name
    return _content(entry)


#: Groups that are looked up rather than looked for.
_OF_NAMES = frozenset(words_in("roles.yaml")["of_names"])


@cache
def words_of_names(*groups: str) -> frozenset[str]:
    """Return the words of some groups of ``names.yaml``, of all languages together, folded."""
    files_of_names = [_content(_room() / language / "names.yaml") for language in languages()]
    listed = chain.from_iterable(words.get(group, ()) for words in files_of_names for group in groups)
    return frozenset(fold_phrase(word) for entry in listed for word in entry.split(" / "))


def vocabulary_problem(name: str) -> tuple[str, str] | None:
    """Return the problem with the name of a group of domain words, and a hint; None if the name is valid.

    Args:
        name: a group, or group and value joined by a full stop: ``reject``, ``role.wait``, ``unit.min*60``.
    """
    group, _, value = name.partition(".")
    groups = _values()
    if group not in groups:
        return f"the language packs have no group {shown(group)}", did_you_mean(group, groups)
    if bool(value) != bool(groups[group]):
        example = f"{group}.{min(groups[group])}" if groups[group] else group
        return f"the group {shown(group)} {'takes no value' if value else 'needs a value'}", f"write {example}"
    return None if not value or _fits(value, groups[group]) else _no_value(group, value, groups[group])


def _fits(value: str, values: Collection[str]) -> bool:
    """Return whether a value is known, is a known unit on another scale, or is a number like all known values."""
    scaled = _SCALED.fullmatch(value)
    units = {choice.partition("*")[0] for choice in values}
    number = _NUMBER.fullmatch(value) is not None and all(map(_NUMBER.fullmatch, values))
    return (
        value in values
        or number
        or (scaled is not None and scaled["unit"] in units and _NUMBER.fullmatch(scaled["scale"]) is not None)
    )


def _no_value(group: str, value: str, values: Collection[str]) -> tuple[str, str]:
    """Return the message and hint for an unknown value of a group."""
    listed = ", ".join(sorted(values)[:_SHOWN_VALUES])
    return f"the group {shown(group)} has no value {shown(value)}", did_you_mean(value, values) or f"it has: {listed}"


@cache
def _values() -> Mapping[str, frozenset[str]]:
    """Return the groups of all packs with their known values; empty for groups without values."""
    by_group: dict[str, set[str]] = {"role": set(get_args(FigureRole)), "time_role": set(get_args(TimeRole))}
    for language in languages():
        for data in _files(language):
            for group, phrases in data.items():
                if group not in _CURRENCIES:
                    by_group.setdefault(group, set()).update(phrases if isinstance(phrases, dict) else ())
    return {group: frozenset(values) for group, values in sorted(by_group.items())}


def _room() -> Any:
    """Return the folder of the language packs."""
    return files("pytest_mapsat").joinpath("languages")


def _merge(words: dict[str, dict[str, Any]], data: Mapping[str, Any]) -> None:
    """Add the words of a YAML file to the words by group and value."""
    for group, phrases in data.items():
        for value, listed in phrases.items() if isinstance(phrases, dict) else ((True, phrases),):
            _add(words, group, value, listed)


def _add(words: dict[str, dict[str, Any]], group: str, value: object, listed: Iterable[object]) -> None:
    """Add words to a group. ``take / takes`` is two words; the value ``min*60`` is the pair ("min", 60.0)."""
    worth: object = value
    if isinstance(value, str):
        scaled = _SCALED.fullmatch(value)
        if group == "unit":
            worth = (scaled["unit"], float(scaled["scale"])) if scaled else (value, 1.0)
        elif _NUMBER.fullmatch(value):
            worth = float(value)
    for entry in listed:
        for word in str(entry).split(" / "):
            tags = words.setdefault(fold_phrase(word), {})
            tags[group] = (
                tags[group] | {worth}
                if group in _SEVERAL and group in tags
                else {worth}
                if group in _SEVERAL
                else worth
            )


def _inherited(words: Mapping[str, Tags]) -> Mapping[str, Tags]:
    """Return the words with tags that a phrase of movement inherits from its parts: "walk to" is on foot."""
    result: dict[str, Tags] = {}
    for word, tags in words.items():
        result[word] = tags
        if " " in word and _MOVING.intersection(tags):
            parts = [words[part] for part in word.split(" ") if part in words]
            result[word] = {group: part[group] for part in parts for group in _HANDED_DOWN if group in part} | dict(
                tags
            )
    return result
