"""What is made of the claims of replies: the check ``grounded``, fact requirements without a check, and facts that a reply's own data contradict."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pytest_mapsat.model import (
    Check,
    ClockTime,
    Grounded,
    Number,
    Quote,
    Recommends,
    Requirement,
    leaves,
)
from pytest_mapsat.text import ClockTime as Clock
from pytest_mapsat.text import Quantity, fold_phrase

from .claims import Judged, sort_of
from .context import Context
from .figures import is_unit, unit_of
from .finding import SHOWN_AT_MOST, Finding, cite, unclear
from .handed_over import Contradiction
from .things import key_of, names_in

#: What stands in many results: that the evidence has it says little.
_COMMON = ("line", "platform", "price")
#: The words by which a requirement says which claims it is about.
_SUBJECTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("distance", re.compile(r"距离|路程|里程|多远|公里|distance|length|how far")),
    ("duration", re.compile(r"耗时|时长|用时|所需时间|行程时间|车程|分钟|duration|travel time|how long|minutes")),
    ("price", re.compile(r"费用|价格|票价|人均|消费|花费|价|price|cost|fare|fee|toll")),
    ("address", re.compile(r"地址|address")),
    (
        "time",
        re.compile(r"营业|开放|时间段|时刻|首班|末班|到达时间|出发时间|opening|hours|timetable|arrival|departure"),
    ),
    ("rating", re.compile(r"评分|评级|rating|score")),
    ("phone", re.compile(r"电话|联系方式|phone|telephone")),
    ("coordinate", re.compile(r"坐标|经纬度|coordinate|longitude")),
    ("line", re.compile(r"线路|公交|地铁|换乘|乘车|line|bus|metro")),
    ("name", re.compile(r"名称|名字|地点|站点|站名|店铺|门店|poi|存在|真实|name|place|station|stop")),
    ("count", re.compile(r"数量|几站|站数|红绿灯|个数|number of|count")),
)


def grounded(check: Grounded, context: Context) -> Finding:
    """Every claim of the check's types is supported by results, context or the user's words."""
    return _judged(check.claims, check.about, context)


def stated_claims(text: str, context: Context) -> Finding:
    """Return the verdict on a factual requirement without a check: are the claims it speaks of grounded?

    Args:
        text: the requirement.
        context: the dialogue.
    """
    return _judged(_sorts_spoken_of(text), (), context)


def _sorts_spoken_of(text: str) -> tuple[str, ...]:
    """Return the sorts of claims that a requirement names; none where it speaks of all."""
    folded = fold_phrase(text)
    return tuple(kind for kind, words in _SUBJECTS if words.search(folded))


def _judged(sorts: Collection[str], about: Sequence[str], context: Context) -> Finding:  # noqa: PLR0911  the cases, one after the other
    """Fail on a claim that is wrong, leave open what is not supported, and pass where all that matters is, and not by common figures alone."""
    asked_for = [one for one in context.claims if _asked_for(one, sorts) and _concerns(one, about)]
    claims = [one for one in asked_for if one.matters]
    named = " or ".join(sorts) if sorts else "any kind"
    wanted = f"claims ({named}) borne out by tool results, the context or the user's words"
    wrong = [one for one in claims if one.wrong]
    if wrong:
        shown = "; ".join(f"{cite(_quote(one))}: {one.verdict}, {one.reason}" for one in wrong[:SHOWN_AT_MOST])
        return Finding(False, shown, wanted, _quotes(wrong))
    open_ = [one for one in claims if one.verdict != "supported"]
    if open_:
        return unclear(map(_quote, open_), f"which no evidence surely bears out: {open_[0].reason}", wanted)
    unknown = context.unknown("any") if not about and (not sorts or "name" in sorts) else ()
    if unknown and claims:
        return unclear(unknown, "which looks like a name that no evidence has", wanted)
    rivals = [one for one in asked_for if _has_rival(one, context)]
    if rivals and not claims:
        return unclear(map(_quote, rivals), "which may be a plan, and is not what a tool returned of the kind", wanted)
    if not claims:
        return Finding(True, f"no reply makes a claim ({named}), so nothing is claimed", wanted, nothing_claimed=True)
    if all(one.claim.sort in _COMMON for one in claims):
        return unclear(map(_quote, claims), "which the evidence has, perhaps of something else", wanted)
    return Finding(True, f"{len(claims)} claims ({named}) are supported by the evidence", wanted, _quotes(claims))


def _asked_for(one: Judged, sorts: Collection[str]) -> bool:
    return not sorts or one.claim.sort in sorts or one.claim.type in sorts


def _has_rival(one: Judged, context: Context) -> bool:
    """Return whether a tool returned a time or a figure of the role of one that the agent may have planned: then it may be said wrongly."""
    said = one.claim.said
    if not isinstance(said, Clock | Quantity) or said.role is None:
        return False
    known = context.evidence.times if isinstance(said, Clock) else context.evidence.figures
    return any(other.role == said.role and other.source.origin == "tool" for other in known)


def _concerns(one: Judged, about: Sequence[str]) -> bool:
    """Return whether a claim is about one of the phrases: its sentence says it."""
    document = one.claim.document
    sentence = fold_phrase(document.words(document.sentences[document.sentence_at(one.claim.span.start)]))
    return not about or any(fold_phrase(phrase) in sentence for phrase in about)


def _quote(one: Judged) -> Quote:
    return one.claim.document.quote(one.claim.span)


def _quotes(claims: Sequence[Judged]) -> tuple[Quote, ...]:
    return tuple(map(_quote, claims[:SHOWN_AT_MOST]))


# -- text against data -------------------------------------------------------------------------------------------------


def contradicted(facts: Sequence[Requirement], context: Context) -> dict[str, Finding]:
    """Return the findings on the facts that fail because a reply says one thing in words and another one as data, by id.

    A contradiction fails the facts that speak of its thing and figure; where none does, the first fact of the case, since one of
    the two that are said is wrong.
    """
    failed: dict[str, list[Contradiction]] = {}
    for found in context.contradictions:
        for fact in [one for one in facts if _speaks_of(one, found, context)] or facts[:1]:
            failed.setdefault(fact.id, []).append(found)
    wanted = "a reply that does not contradict its structured output"
    return {
        fact: Finding(
            False,
            "; ".join(f"{cite(one.quote)}, {one.why}" for one in listed[:SHOWN_AT_MOST]),
            wanted,
            tuple(one.quote for one in listed[:SHOWN_AT_MOST]),
        )
        for fact, listed in failed.items()
    }


def _speaks_of(fact: Requirement, found: Contradiction, context: Context) -> bool:
    """Return whether a fact speaks of what is contradicted: by its check, or by the claims that its text names."""
    if fact.check is None:
        return _names_sort(_sorts_spoken_of(fact.text), found)
    return any(_looks_at(check, found, context) for check in leaves(fact.check))


def _looks_at(check: Check, found: Contradiction, context: Context) -> bool:
    named = {key for group in names_in(check) for name in group if (key := key_of(name, context.keys))}
    if named and found.key not in named:
        return False
    match check:
        case Number():
            return is_unit(found.unit, unit_of(check)) and (not check.role or found.role in check.role)
        case ClockTime():
            return found.unit == "clock" and (not check.role or found.role in check.role)
        case Grounded():
            return _names_sort(check.claims, found)
    return isinstance(check, Recommends) and not found.unit


def _names_sort(sorts: Sequence[str], found: Contradiction) -> bool:
    """Return whether claims of some sorts (of all, where none is named) are of the sort that is contradicted."""
    own = {"name"} if not found.unit else {"time"} if found.unit == "clock" else {"quantity", sort_of(found.unit)}
    return not sorts or not own.isdisjoint(sorts)
