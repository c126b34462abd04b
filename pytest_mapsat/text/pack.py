"""Language packs: words by what they do, read from data and compiled to one linear pass over a folded text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from .fold import fold_phrase

#: What a word does: group of the pack -> the value under which the word stands in it, True where the group is a plain list.
Tags = Mapping[str, Any]
#: Groups that say how names are shortened, and are looked up rather than looked for.
_OF_NAMES = frozenset(
    {"article", "definite", "indefinite", "street", "ordinary", "boundary", "house_number", "branch", "numbered_street"}
    | {"line_before", "line_after", "platform_before", "platform_after"}
)
#: Groups in which one word may have several values: "takes" is said of a way and of a table.
_SEVERAL = frozenset({"role", "role_ahead", "role_behind"})
_MOVING = frozenset({"choose", "toward", "from", "homeward"})
_HANDED_DOWN = ("mode", "time_role")
_LATIN = re.compile("[a-z0-9]")
_NOT_GOING_ON = "(?![a-z0-9])"
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SCALED = re.compile(r"(?P<unit>[a-z_:]+)\*(?P<scale>[0-9.]+)")


@dataclass(frozen=True, slots=True)
class Cue:
    """A word of a pack found in a folded text: where, and what it does."""

    start: int
    end: int
    tags: Tags

    def role(self, allowed: Collection[str], group: str = "role") -> str:
        """Return the role that the word gives to a figure that may only have some; nothing where it could be two of them.

        Args:
            allowed: the roles that the figure may have.
            group: ``role``, or ``role_ahead`` or ``role_behind`` for words that say it right beside a figure only.
        """
        roles = [role for role in self.tags.get(group, ()) if role in allowed]
        return roles[0] if len(roles) == 1 else ""

    def has(self, *groups: str) -> bool:
        """Return whether the word does one of these."""
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
        self.groups = {group: frozenset(held) for group, held in groups.items()}
        self.names = {group: self.groups.get(group, frozenset()) for group in _OF_NAMES}
        self.several = tuple(word for word, tags in words.items() if tags.get("numeral", 0) > 1) + tuple("23456789")
        self._regex = re.compile(
            _pattern({word: tags for word, tags in words.items() if not _OF_NAMES.issuperset(tags)})
        )

    def find(self, text: str) -> Iterator[Cue]:
        """Yield the words found in a folded text, the longest at each place, none overlapping another."""
        words = self.words
        for match in self._regex.finditer(text):
            yield Cue(match.start(), match.end(), words[match.group().replace("\n", " ")])

    def with_words(self, groups: Mapping[str, Sequence[str]]) -> Pack:
        """Return the pack with words of a domain; ``role.wait`` names the value ``wait`` in the group ``role``."""
        words = {word: dict(tags) for word, tags in self.words.items()}
        for name, listed in groups.items():
            group, _, value = name.partition(".")
            _add(words, group, value or True, listed)
        return Pack(self.language, words)


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that there are packs for."""
    return tuple(sorted(entry.name for entry in _room().iterdir() if entry.is_dir() and not entry.name.startswith("_")))


@cache
def load_pack(language: str) -> Pack:
    """Return a language's pack, with what all languages share."""
    words: dict[str, dict[str, Any]] = {}
    for folder in (_room(), _room() / language):
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".yaml"):
                _merge(words, yaml.load(entry.read_text("utf-8"), Loader=_loader()))  # noqa: S506  plain strings only
    return Pack(language, words)


def _room() -> Any:
    return files("pytest_mapsat").joinpath("languages")


def _loader() -> Any:
    return getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def _merge(words: dict[str, dict[str, Any]], data: Mapping[str, Any]) -> None:
    for group, held in data.items():
        for value, listed in held.items() if isinstance(held, dict) else ((True, held),):
            _add(words, group, value, listed)


def _add(words: dict[str, dict[str, Any]], group: str, value: object, listed: Iterable[object]) -> None:
    """Enter words under a group. ``take / takes`` is two words; the value ``min*60`` is the pair ("min", 60.0)."""
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
    """Return the words with what a phrase of movement has from its words: "walk to" is a way on foot, "arrive at" an arrival."""
    result: dict[str, Tags] = {}
    for word, tags in words.items():
        result[word] = tags
        if " " in word and _MOVING.intersection(tags):
            parts = [words[part] for part in word.split(" ") if part in words]
            result[word] = {group: part[group] for part in parts for group in _HANDED_DOWN if group in part} | dict(
                tags
            )
    return result


def _pattern(words: Mapping[str, Tags]) -> str:
    """Return a regular expression that matches the longest of the words, as whole words in scripts that write spaces."""
    latin: dict[str, Any] = {}
    other: dict[str, Any] = {}
    for word, tags in words.items():
        node = latin if _LATIN.match(word) and "glued" not in tags else other
        for char in word:
            node = node.setdefault(char, {})
        node[""] = bool(_LATIN.match(word[-1:]))
    parts = []
    if latin:
        parts.append(f"(?<![a-z0-9]){_branch(latin)}")
    if other:
        parts.append(_branch(other))
    return "|".join(parts) or "(?!)"


def _branch(node: Mapping[str, Any]) -> str:
    """Return the alternation of all words that go on from a node of the trie."""
    parts = [
        ("[ \\n]" if char == " " else re.escape(char)) + _branch(child) for char, child in sorted(node.items()) if char
    ]
    if "" in node:
        parts.append(_NOT_GOING_ON if node[""] else "")
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"
