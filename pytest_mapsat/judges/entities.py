"""Things with a name: which ones the tools returned, and which of them a reply recommends.

An entity is recommended when the reply names it at least once without denying it, and nowhere rules it out. What is
named only as a landmark ("300 m from X", "X附近") is neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pytest_mapsat.model import Entities, Json, Step, Tool
from pytest_mapsat.sandbox import values_at

from .fold import fold_phrase
from .text import Mention, Reading, find_longest
from .turndown import turned_down

_LANDMARK_BEFORE = re.compile(
    r"(?:(?<![a-z])(?:from|near|near to|nearby|next to|opposite|behind|beside|close to)(?: the)? |距离|距|离|靠近|邻近|毗邻|紧邻|从)$"
)
_LANDMARK_AFTER = ("附近", "旁边", "旁", "对面", "周边", "出发")
_LOOK_BACK = 16
_BRACKETED = re.compile(r"\([^()]*\)")


@dataclass(frozen=True)
class Entity:
    """Something with a name that a tool returned.

    Attributes:
        name: its name as the tool wrote it.
        id: its id, empty where the tool declares none.
        tool: the tool that returned it.
        record: its part of the result.
    """

    name: str
    id: str
    tool: str
    record: Json


@dataclass(frozen=True)
class Recommended:
    """A name that a reply recommends, with all that the tools returned under it."""

    name: str
    entities: tuple[Entity, ...]
    reading: Reading
    mention: Mention


def find_entities(calls: Iterable[Step], tools: Mapping[str, Tool]) -> tuple[Entity, ...]:
    """Return the entities in the results of answered calls, in the order of the calls."""
    found: list[Entity] = []
    for step in calls:
        declared = tools[step.tool].entities if step.tool in tools else ()
        found += (entity for where in declared for entity in _in_result(step, where))
    return tuple(found)


def _in_result(step: Step, where: Entities) -> Iterator[Entity]:
    for item in _items(values_at(step.result, where.items), where.name):
        name = item[where.name]
        if isinstance(name, str) and fold_phrase(name):
            identity = item.get(where.id, "") if where.id else ""
            yield Entity(name, str(identity), step.tool, item)


def _items(values: Iterable[Json], name: str) -> Iterator[dict[str, Json]]:
    """Yield the objects that have a name, from a list, an object of them, or one by itself."""
    for value in values:
        inner = value if isinstance(value, list) else [value]
        if isinstance(value, dict) and name not in value:
            inner = list(value.values())
        yield from (item for item in inner if isinstance(item, dict) and name in item)


def recommended(readings: Sequence[Reading], entities: Sequence[Entity]) -> tuple[Recommended, ...]:
    """Return what the replies recommend, in the order of the mentions. A name that any of the replies rules out is out."""
    by_name: dict[str, list[Entity]] = {}
    for entity in entities:
        by_name.setdefault(fold_phrase(entity.name), []).append(entity)
    aliases = _aliases(by_name)
    standing: dict[str, tuple[Reading, Mention]] = {}
    out: set[str] = set()
    for reading in readings:
        mentions = find_longest(reading, aliases, plural=False)
        down = turned_down(reading, sorted({mention for listed in mentions.values() for mention in listed}))
        for name, mention in ((name, mention) for name, listed in mentions.items() for mention in listed):
            if mention in down:
                out.add(name)
            elif not reading.denied(mention) and not _landmark(reading, mention):
                standing.setdefault(name, (reading, mention))
    kept = sorted((place[0].turn, place[1], name) for name, place in standing.items() if name not in out)
    return tuple(Recommended(by_name[name][0].name, tuple(by_name[name]), *standing[name]) for _, _, name in kept)


def names_of(name: str) -> tuple[str, ...]:
    """Return the folded forms a name may be written in: in full, without the marks of its brackets, without what is in them."""
    full = fold_phrase(name)
    joined = fold_phrase(full.replace("(", " ").replace(")", " "))
    return tuple(dict.fromkeys((full, joined, short_name(name))))


@cache
def short_name(name: str) -> str:
    """Return the folded name without a branch or other addition in brackets; the full one where nothing else is left."""
    full = fold_phrase(name)
    return fold_phrase(_BRACKETED.sub(" ", full)) or full


def _aliases(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the forms to look for by name; a short form that several names share stands for none of them."""
    names = list(names)
    sharing: dict[str, int] = {}
    for name in names:
        sharing[short_name(name)] = sharing.get(short_name(name), 0) + 1
    known = set(names)
    return {
        name: tuple(
            form for form in names_of(name) if form == name or (form not in known and sharing.get(form, 1) == 1)
        )
        for name in names
    }


def _landmark(reading: Reading, mention: Mention) -> bool:
    before = reading.flat[max(mention.start - _LOOK_BACK, 0) : mention.start]
    return bool(_LANDMARK_BEFORE.search(before)) or reading.flat.startswith(_LANDMARK_AFTER, mention.end)
