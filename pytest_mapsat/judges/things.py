"""Things with a name: which ones the tools returned, which the checks speak of, and what the replies do with them.

A thing is proposed where a reply surely affirms it and nowhere turns it down. Being compared, asked about, or a landmark
proposes nothing. What is not surely read leaves open whether the thing is proposed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import (
    Check,
    ClockTime,
    Entities,
    Json,
    Number,
    Recommends,
    Says,
    Step,
    Tool,
    leaves,
    values_at,
)
from pytest_mapsat.reading import Document, Mention, Span, Thing, fold_phrase
from pytest_mapsat.sandbox import named_items

#: What looks like a name: words with capitals, or Chinese characters up to a sign or a particle.
_NAME = r"(?P<name>[A-Z][\w'’-]+(?: (?:of |the |& )?[A-Z][\w'’-]+)*|[\u4e00-\u9fff]{2,10}?(?=[^\w]|$|[和与都也吧]))"
_AND = r"[*_\s]*(?:和|与|以及|、|\band\b|\bor\b|&)\s*(?:the )?[*_]*"
_BEHIND = re.compile(_AND + _NAME)
_BEFORE = re.compile(rf"(?<!\w){_NAME}{_AND}$")
#: The head of an item or a row, and what ends it.
_HEAD = re.compile(rf"(?:[\W_]|\d{{1,2}}[.、)）])*{_NAME}[*_\s]*(?P<end>[(（:：,，—–|-]|$)")
#: The head of an item: a name, up to the end of the line or a bracket.
_TITLE = re.compile(
    r"\s*(?:[-*+•·]\s+|\d{1,2}\s*[.、)）]\s*)?[*_]{0,3}([^\W\d_][^\n:：,，、。;；!！?？(（|*_]{1,23}?)[*_]{0,3}\s*(?=$|[\n(（])"
)
#: A list is one of places where it names so many known ones.
_LEAST_KNOWN = 2
#: Chinese characters that stand in sentences sooner than in names.
_PARTICLES = frozenset("的了着过在于到从往离是有和与及或也都就这那它他她您你我们请可以要去来把被让很不没更最再还个")
#: So many characters are looked at for a name.
_LONGEST_NAME = 40
#: What a mention may be without proposing its thing.
_BESIDE = ("compared", "landmark", "asked")
_AGAINST = ("rejected", "denied")
_OPEN = ("described", "unclear")
#: The letters of a little word, such as "the" or "and"; a Chinese character counts twice.
_LITTLE = 3


@dataclass(frozen=True)
class Entity:
    """A named thing that a tool returned.

    Attributes:
        name: its name as the tool wrote it.
        id: its id, empty where the tool declares none.
        tool: the tool that returned it.
        sort: what the tool lists there.
        record: its part of the result.
    """

    name: str
    id: str
    tool: str
    sort: str
    record: Json

    @cached
    def key(self) -> str:
        """The folded name, which identifies all things of this name."""
        return fold_phrase(self.name)


def find_entities(calls: Iterable[Step], tools: Mapping[str, Tool]) -> tuple[Entity, ...]:
    """Return the entities in the results of answered calls, in the order of the calls."""
    entities: list[Entity] = []
    for step in calls:
        declared = tools[step.tool].entities if step.tool in tools else ()
        entities += (entity for where in declared for entity in _in_result(step, where))
    return tuple(entities)


def named_in_fields(calls: Iterable[Step], tools: Mapping[str, Tool]) -> frozenset[str]:
    """Return the keys of names in result fields that tools declare to be names, outside of entity lists."""
    fields = (
        (step.result, path, meaning)
        for step in calls
        if step.tool in tools
        for path, meaning in tools[step.tool].fields.items()
    )
    names = (name for result, path, meaning in fields if meaning.kind == "name" for name in values_at(result, path))
    return frozenset(fold_phrase(name) for name in names if isinstance(name, str) and fold_phrase(name))


def _in_result(step: Step, where: Entities) -> Iterator[Entity]:
    """Yield the entities with a name in one declared place of a result."""
    for item in named_items(values_at(step.result, where.items), where.name):
        name = item[where.name]
        if isinstance(name, str) and fold_phrase(name):
            identity = item.get(where.id, "") if where.id else ""
            yield Entity(name, str(identity), step.tool, where.sort, item)


def things_of(entities: Iterable[Entity], names: Iterable[Sequence[str]]) -> tuple[Thing, ...]:
    """Return the things that a reply may name: the entities that tools returned, then names from checks.

    Args:
        entities: what the tools returned.
        names: the names of the checks; those of one element mean the same.
    """
    kinds: dict[str, dict[str, None]] = {}
    marks: dict[str, dict[str, None]] = {}
    full: dict[str, dict[str, None]] = {}
    for entity in entities:
        if entity.sort == "leg":
            continue
        record = entity.record if isinstance(entity.record, dict) else {}
        full.setdefault(entity.key, {})[entity.name] = None
        for table, field in ((kinds, "kind"), (marks, "address")):
            value = record.get(field)
            if isinstance(value, str) and value and value != entity.name:
                table.setdefault(entity.key, {})[value] = None
    for group in names:
        group_key = next((key for name in group if (key := key_of(name, full))), None) or fold_phrase(group[0])
        full.setdefault(group_key, {}).update(dict.fromkeys(group))
    return tuple(
        Thing(key, tuple(listed), ";".join(kinds.get(key, ())), tuple(marks.get(key, ())))
        for key, listed in full.items()
        if key
    )


def key_of(name: str, keys: Iterable[str]) -> str:
    """Return the known key for a name, ignoring a part in brackets if needed; empty if none or several match."""
    wanted = fold_phrase(name)
    listed = tuple(keys)
    if wanted in listed:
        return wanted
    short = [key for key in listed if _bare(key) == wanted]
    return short[0] if len(short) == 1 else ""


def _bare(key: str) -> str:
    """Return a folded name without its part in brackets."""
    head, _, rest = key.partition("(")
    return fold_phrase(head + rest.partition(")")[2]) if rest else key


#: kind -> the names of things in a check, those that mean the same together. By type: each check of each dialogue is looked up here.
_NAMES: dict[type, Callable[[Any], Iterable[tuple[str, ...]]]] = {
    Recommends: lambda check: (
        *check.all_of,
        *check.in_order,
        *((name,) for name in (*check.any_of, *check.none_of, *check.turned_down)),
    ),
    **dict.fromkeys((Number, ClockTime), lambda check: ((name,) for name in check.things)),
}


def names_in(check: Check) -> Iterator[tuple[str, ...]]:
    """Yield the names of things in a check, grouped by thing."""
    for leaf in leaves(check):
        if type(leaf) in _NAMES:
            yield from _NAMES[type(leaf)](leaf)


def phrases_in(check: Check) -> Iterator[str]:
    """Yield the phrases that a check searches for literally."""
    for leaf in leaves(check):
        if isinstance(leaf, Says):
            yield from (*leaf.any, *leaf.all, *leaf.none)


#: A mention with its reply.
Named = tuple[Document, Mention]


@dataclass(frozen=True)
class Recommendation:
    """Whether and how the replies recommend one thing.

    Attributes:
        key: the thing.
        proposed: True or False where that is sure; None where it is open.
        mentions: what decides, or what leaves it open, each with its reply.
        described: it is open, and the replies say only what the thing is like: a proposal where it is the only candidate, and none
            beside one that is proposed in words.
        conditional: it is open, and words propose it, but under a condition only: "if it's full, go to X".
    """

    key: str
    proposed: bool | None
    mentions: tuple[Named, ...] = ()
    described: bool = False
    conditional: bool = False

    @property
    def stances(self) -> frozenset[str]:
        """The stances of all mentions."""
        return frozenset(mention.stance for _, mention in self.mentions)

    @property
    def firmly(self) -> bool:
        """Whether words recommend the thing, and not only the layout of the reply."""
        return bool(self.proposed) and any(mention.why for _, mention in self.mentions)

    @property
    def plainly(self) -> bool:
        """Whether words recommend the thing, or it starts a clause or fills a table cell, so that no unread words before it can change the meaning."""
        return self.firmly or any(
            mention.cell is not None or _begins(document, mention) for document, mention in self.mentions
        )


def standings(documents: Sequence[Document]) -> dict[str, Recommendation]:
    """Return whether and how the replies recommend each thing that they name, by key, in text order."""
    sure, open_ = _sorted(documents)
    proposed = {key for key, places in sure.items() if _decided(places) is True}
    result: dict[str, Recommendation] = {}
    for key in dict.fromkeys((*sure, *open_)):
        places = sure.get(key, [])
        decided = _decided(places)
        may = [place for place in open_.get(key, ()) if not _meant_elsewhere(place[1], key, proposed)]
        if decided is not None and (not may or key in proposed or any(name.stance in _AGAINST for _, name in places)):
            wanted = ("affirmed",) if decided else (*_AGAINST, *_BESIDE)
            result[key] = Recommendation(key, decided, tuple(place for place in places if place[1].stance in wanted))
        elif may or (places and decided is None):
            open_mentions = (*(places if decided is None else ()), *may)
            described = all(name.stance == "described" for _, name in open_mentions)
            worded = any(name.why for _, name in open_mentions)
            result[key] = Recommendation(
                key, None, open_mentions, described=described and not worded, conditional=described and worded
            )
    return result if proposed else {key: _maybe_meant(standing) for key, standing in result.items()}


def _begins(document: Document, mention: Mention) -> bool:
    """Return whether a name starts its clause, after at most other names and a short word."""
    start, end = document.clauses[mention.clause].start, mention.span.start
    covered = {
        at for other in document.mentions for at in range(max(other.span.start, start), min(other.span.end, end))
    }
    letters = (document.text[at] for at in range(start, end) if at not in covered)
    return sum(1 if letter.isascii() else 2 for letter in letters if letter.isalpha()) <= _LITTLE


def _sorted(documents: Sequence[Document]) -> tuple[dict[str, list[Named]], dict[str, list[Named]]]:
    """Return the certain mentions and the mentions with an unclear stance or thing, both by key."""
    sure: dict[str, list[Named]] = {}
    open_: dict[str, list[Named]] = {}
    for document in documents:
        for mention in document.mentions:
            several = len(mention.keys) > 1
            if several and mention.stance not in ("affirmed", *_OPEN):
                continue  # said of one or all of them, it proposes none
            into = open_ if several or mention.stance in _OPEN else sure
            for key in mention.keys:
                into.setdefault(key, []).append((document, mention))
    return sure, open_


def _maybe_meant(standing: Recommendation) -> Recommendation:
    """Return a thing used as a reference in comparisons as possibly recommended, if replies recommend nothing else."""
    compared = standing.proposed is False and "compared" in standing.stances
    return replace(standing, proposed=None) if compared and standing.stances.isdisjoint(_AGAINST) else standing


def _decided(mentions: Sequence[Named]) -> bool | None:
    """Return whether certain mentions recommend a thing; None if there are none or they contradict each other."""
    stances = [mention.stance for _, mention in mentions]
    if "affirmed" not in stances:
        return False if stances else None
    return None if any(stance in _AGAINST for stance in stances) else True


def _meant_elsewhere(mention: Mention, key: str, proposed: set[str]) -> bool:
    """Return whether an ambiguous mention more likely refers to another thing that is certainly recommended."""
    return key not in proposed and any(other in proposed for other in mention.keys if other != key)


def word_at(text: str, phrase: str) -> int | None:
    """Return the first position of a phrase in a folded text, in Latin script only as whole words (a plural counts); otherwise None."""
    start = text.find(phrase) if phrase else -1
    while start >= 0:
        rest = text[start + len(phrase) :]
        if not _glued(text[max(start - 1, 0) : start], phrase[0]) and not all(
            _glued(phrase[-1], rest.removeprefix(ending)[:1]) for ending in ("", "s", "es")
        ):
            return start
        start = text.find(phrase, start + 1)
    return None


def _glued(char: str, other: str) -> bool:
    """Return whether two characters are both ASCII letters or digits, and so belong to one word."""
    return char.isascii() and other.isascii() and char.isalnum() and other.isalnum()


def unknown_names(document: Document, proposed: AbstractSet[str], knows: Callable[[str], bool]) -> Iterator[Span]:
    """Yield the span of each unknown name next to a recommended thing.

    It is joined to the thing by a word, or heads an item or a row of a list in which as many are headed by proposed things.

    Args:
        document: the reply.
        proposed: the keys of what it proposes, or may.
        knows: tells whether something that was known has a name.
    """
    text, spans = document.text, [mention.span for mention in document.mentions]
    may = ("affirmed", *_OPEN)
    firm = [
        mention.span for mention in document.mentions if mention.stance in may and not proposed.isdisjoint(mention.keys)
    ]
    companions = []
    for span in firm:
        companions.append(_BEHIND.match(text, span.end))
        companions.append(_BEFORE.search(text, max(span.start - _LONGEST_NAME, 0), span.start))
    for (kind, _, _), blocks in groupby(
        document.blocks, lambda block: (block.kind, block.heading, block.kind == "item" and block.level)
    ):
        items = [item.span for item in blocks if kind == "item" or (kind == "row" and item.cells and item.cells[0].row)]
        heads = [head for span in items if (head := _HEAD.match(text, span.start, span.end))]
        known_heads = [head for head in heads if any(_meets(Span(*head.span("name")), span) for span in firm)]
        ends = {head["end"] for head in known_heads}
        companions += [head for head in heads if head["end"] in ends and 2 * len(known_heads) >= len(items)]
    for match in companions:
        if match is None or _PARTICLES & set(match["name"]):
            continue
        span = Span(*match.span("name"))
        if not any(_meets(span, name) for name in spans) and not knows(match["name"]):
            yield span


def unknown_heads(document: Document) -> Iterator[Span]:
    """Yield the heads of list items that name no known thing, in lists where most heads name a known thing."""
    items = [block.span for block in document.blocks if block.kind == "item"]
    matches = [_TITLE.match(document.text, item.start, item.end) for item in items]
    heads = [Span(*head.span(1)) for head in matches if head]
    names = {at for mention in document.mentions if mention.form != "kind" for at in range(*mention.span)}
    unknown = [head for head in heads if names.isdisjoint(range(*head))]
    if len(heads) == len(items) and len(heads) - len(unknown) >= max(_LEAST_KNOWN, len(unknown)):
        yield from unknown


def _meets(span: Span, other: Span) -> bool:
    """Return whether two spans overlap."""
    return span.start < other.end and other.start < span.end
