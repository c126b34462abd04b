"""Things with a name: which ones the tools returned, and which of them a reply recommends.

An entity is recommended when the reply names it at least once without denying it, and nowhere rules it out. What is
named only as a landmark ("300 m from X", "X附近") is neither.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pytest_mapsat.model import Entities, Json, Step, Tool
from pytest_mapsat.sandbox import values_at

from .fold import fold_phrase
from .text import Mention, Reading, find_longest

#: In a clause, before a name: the name is turned down, not merely unmentioned.
_TURNS_DOWN = re.compile(
    r"(?<![a-z])(?:skip|skipping|avoid|avoiding|instead of|rather than|not recommend|not suggest|not choose|not go to|ruled out|rule out"
    r"|stay away from|steer clear of|compared to|compared with|versus|vs[.]?|unlike|than)(?![a-z])"
    r"|n't (?:recommend|suggest|choose|pick|go to)(?![a-z])"
    r"|不推荐|不建议|不选|不去|不要去|别去|排除|而不是|而非|避开|相比|相较|比(?![较如例赛萨])"
)
#: In the rest of the sentence behind a name: why it will not do.
_WILL_NOT_DO = re.compile(
    r"(?<!not )(?<!n't )(?<![a-z])(?:(?:is|are|was|currently|permanently|temporarily|already|be) closed|closed (?:now|today|at that|by then|until)"
    r"|fully booked|sold out|not recommended|too far|too expensive|out of budget|over budget|ruled out|not an option|not open|not suitable"
    r"|no longer open|out of business|isn't open|isn't suitable)(?![a-z])"
    r"|(?<!不)(?:没开门|不开门|未营业|不营业|已打烊|打烊了|已关门|关门了|已关闭|歇业|停业|不推荐|不建议|不考虑|太远|太贵|被排除|已排除"
    r"|不符合|不合适|不适合|超出预算|已满|客满|订满|约满)"
)
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
        starts = sorted(mention.start for listed in mentions.values() for mention in listed)
        for name, mention in ((name, mention) for name, listed in mentions.items() for mention in listed):
            if _ruled_out(reading, mention, starts):
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


def _ruled_out(reading: Reading, mention: Mention, starts: Sequence[int]) -> bool:
    """Return whether the words around a mention turn the thing down: in its clause before, or behind it up to the next name."""
    begin, _ = reading.denials.clause(mention.start)
    begin = max(begin, mention.start - 4 * _LOOK_BACK)
    if _TURNS_DOWN.search(reading.flat, begin, mention.start):
        return True
    end = reading.sentence_ends[min(reading.sentence_of(mention.start), len(reading.sentence_ends) - 1)]
    return _WILL_NOT_DO.search(reading.flat, mention.end, min(end, _next_start(starts, mention))) is not None


def _next_start(starts: Sequence[int], mention: Mention) -> int:
    index = bisect_left(starts, mention.end)
    return starts[index] if index < len(starts) else 1 << 62


def _landmark(reading: Reading, mention: Mention) -> bool:
    before = reading.flat[max(mention.start - _LOOK_BACK, 0) : mention.start]
    return bool(_LANDMARK_BEFORE.search(before)) or reading.flat.startswith(_LANDMARK_AFTER, mention.end)
