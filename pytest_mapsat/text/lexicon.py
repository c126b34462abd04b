"""The things that a case and its tools know by name, compiled so that one pass over a text finds them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

_NOTHING: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Thing:
    """Something with a name.

    Attributes:
        key: what tells it from all others.
        names: its names, in full first, then declared aliases.
        kind: words for the sort of thing ("pharmacy", "火锅店"), several separated by ``;``.
        marks: texts that tell it from its namesakes: its address, its branch.
    """

    key: str
    names: tuple[str, ...]
    kind: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words of a domain, merged over the language pack: group of the pack -> words."""

    groups: Mapping[str, Sequence[str]] = field(default_factory=lambda: _NOTHING)


class Lexicon:
    """Things and domain words, compiled once for a case and used for all replies.

    Args:
        things: what can be named.
        vocabulary: domain words of the suite.
    """

    def __init__(self, things: Sequence[Thing] = (), vocabulary: Vocabulary | None = None) -> None:
        self.things = tuple(things)
        self.vocabulary = vocabulary or Vocabulary()
