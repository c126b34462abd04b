"""The checks on words: ``said``, ``not_said``, ``covers``, ``order``, ``chooses``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from pytest_mapsat.model import Chooses, Covers, NotSaid, Order, Said, shown

from .context import Context
from .describe import one_of
from .finding import Finding
from .text import Mention, Reading, find_longest

Found = tuple[Reading, Mention]

#: In a clause before a phrase: it is named to be compared with what is chosen.
_COMPARED = re.compile(
    r"(?<![a-z])(?:than|compared to|compared with|versus|vs[.]?|unlike|instead of|rather than)(?![a-z])|相比|相较|而不是|而非|比(?![较如例赛萨])"
)


def said(check: Said, context: Context) -> Finding:
    """One of ``any`` and each of ``all`` is said, not under a negation."""
    readings = context.read(check.turn)
    groups = ([check.any] if check.any else []) + [(phrase,) for phrase in check.all]
    found = [first_standing(readings, group) for group in groups]
    missing = [group for group, place in zip(groups, found, strict=True) if place is None]
    wanted = " and ".join(one_of(group) for group in groups) + " said"
    quotes = tuple(place[0].quote(place[1]) for place in found if place)
    if not missing:
        return Finding(True, "; ".join(place[0].cite(place[1]) for place in found if place), wanted, quotes)
    return Finding(False, "; ".join(_unsaid(readings, group) for group in missing), wanted, quotes)


def not_said(check: NotSaid, context: Context) -> Finding:
    """None of ``phrases`` is said, unless under a negation."""
    place = first_standing(context.read(check.turn), check.phrases)
    wanted = f"nothing said of {one_of(check.phrases)}"
    if place is None:
        return Finding(True, f"no reply says {one_of(check.phrases)}, save under a negation", wanted)
    return Finding(False, place[0].cite(place[1]), wanted, (place[0].quote(place[1]),))


def covers(check: Covers, context: Context) -> Finding:
    """At least ``at_least`` of the things are said."""
    first = _first_mentions(context.read(check.turn), check.names)
    needed = min(check.at_least or len(check.names), len(check.names))
    found = [place for place in first if place is not None]
    missing = [names[0] for names, place in zip(check.names, first, strict=True) if place is None]
    why = f"{len(found)} of {len(check.names)} are said" + (f"; not said: {one_of(missing)}" if missing else "")
    wanted = f"{'all' if needed == len(check.names) else f'at least {needed}'} of {one_of(n[0] for n in check.names)}"
    return Finding(len(found) >= needed, why, wanted, tuple(reading.quote(mention) for reading, mention in found))


def order(check: Order, context: Context) -> Finding:
    """All things are said, first mentions in the given order."""
    first = _first_mentions(context.read(check.turn), check.names)
    wanted = " before ".join(shown(names[0]) for names in check.names)
    missing = [names[0] for names, place in zip(check.names, first, strict=True) if place is None]
    places = [place for place in first if place is not None]
    quotes = tuple(reading.quote(mention) for reading, mention in places)
    if missing:
        return Finding(False, f"no reply says {one_of(missing)}", wanted, quotes)
    for before, after in pairwise(places):
        if (before[0].turn, before[1].start) >= (after[0].turn, after[1].start):
            return Finding(False, f"{after[0].cite(after[1])} before {before[0].cite(before[1])}", wanted, quotes)
    return Finding(True, "the first mentions stand in this order", wanted, quotes)


def chooses(check: Chooses, context: Context) -> Finding:
    """One of ``option`` is proposed and none of ``over``, save under a negation or as a comparison."""
    readings = context.read(check.turn)
    chosen = rejected = None
    for reading in readings:
        mentions = find_longest(reading, {"option": check.option, "over": check.over})
        chosen = chosen or _proposed(reading, mentions["option"])
        rejected = rejected or _proposed(reading, mentions["over"])
    wanted = one_of(check.option) + (f", and not {one_of(check.over)}" if check.over else "")
    if rejected is not None:
        return Finding(False, rejected[0].cite(rejected[1]), wanted, (rejected[0].quote(rejected[1]),))
    if chosen is None:
        return Finding(False, f"no reply proposes {one_of(check.option)}", wanted)
    return Finding(True, chosen[0].cite(chosen[1]), wanted, (chosen[0].quote(chosen[1]),))


def first_standing(readings: Sequence[Reading], phrases: Sequence[str]) -> Found | None:
    """Return the first mention of one of ``phrases``, in the order of the replies, that is not denied."""
    for reading in readings:
        mention = reading.standing(phrases)
        if mention is not None:
            return reading, mention
    return None


def _first_mentions(readings: Sequence[Reading], names: Sequence[Sequence[str]]) -> list[Found | None]:
    """Return the first mention of each thing that is not denied; a name inside a longer one is not a mention of it."""
    first: list[Found | None] = [None] * len(names)
    for reading in readings:
        for index, mentions in find_longest(reading, dict(enumerate(names))).items():
            if first[index] is None:
                first[index] = next(((reading, m) for m in mentions if not reading.denied(m)), None)
    return first


def _proposed(reading: Reading, mentions: Sequence[Mention]) -> Found | None:
    for mention in mentions:
        begin, _ = reading.denials.clause(mention.start)
        if not reading.denied(mention) and not _COMPARED.search(
            reading.flat, max(begin, mention.start - 80), mention.start
        ):
            return reading, mention
    return None


def _unsaid(readings: Sequence[Reading], phrases: Sequence[str]) -> str:
    """Return why phrases do not count as said: not there at all, or there under a negation."""
    for reading in readings:
        denied = min((m for phrase in phrases if (m := next(reading.find(phrase), None)) is not None), default=None)
        if denied is not None:
            return f"{reading.cite(denied)} under a negation only"
    return f"no reply says {one_of(phrases)}" if readings else "the agent says nothing"
