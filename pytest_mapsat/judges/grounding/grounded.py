"""The check ``grounded``, and the verdict on a factual requirement that has no check of its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pytest_mapsat.judges.context import Context
from pytest_mapsat.judges.finding import SHOWN_AT_MOST, Finding, cite, unclear
from pytest_mapsat.model import Grounded, Quote
from pytest_mapsat.text import ClockTime, Quantity, fold_phrase

from .weigh import Judged

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


def requirement(text: str, context: Context) -> Finding:
    """Return the verdict on a factual requirement without a check: are the claims it speaks of grounded?

    Args:
        text: the requirement.
        context: the dialogue.
    """
    return _judged(sorts_spoken_of(text), (), context)


def sorts_spoken_of(text: str) -> tuple[str, ...]:
    """Return the sorts of claims that a requirement names; none where it speaks of all."""
    folded = fold_phrase(text)
    return tuple(kind for kind, words in _SUBJECTS if words.search(folded))


def _judged(sorts: Collection[str], about: Sequence[str], context: Context) -> Finding:
    """Fail on a claim that is wrong, leave open what is undecided, and pass where all that matters is supported."""
    asked_for = [one for one in context.claims if _asked_for(one, sorts) and _concerns(one, about)]
    claims = [one for one in asked_for if one.matters]
    named = " or ".join(sorts) if sorts else "any kind"
    wanted = f"claims ({named}) borne out by tool results, the context or the user's words"
    wrong = [one for one in claims if one.verdict in ("contradicted", "unsupported")]
    if wrong:
        shown = "; ".join(f"{cite(_quote(one))}: {one.verdict}, {reason(one)}" for one in wrong[:SHOWN_AT_MOST])
        more = f"; and {len(wrong) - SHOWN_AT_MOST} more" if len(wrong) > SHOWN_AT_MOST else ""
        return Finding(False, f"{shown}{more}", wanted, _quotes(wrong))
    if not claims:
        rivals = [one for one in asked_for if _has_rival(one, context)]
        if rivals:
            return unclear(_quotes(rivals), "which may be a plan, and is not what a tool returned of the kind", wanted)
        return Finding(True, f"no reply makes a claim ({named}), so nothing is claimed", wanted, vacuous=True)
    undecided = [one for one in claims if one.verdict == "undecided"]
    unknown = context.unknown("any") if not about and (not sorts or "name" in sorts) else ()
    if unknown and not undecided:
        return unclear(unknown, "which looks like a name that no evidence has", wanted)
    if undecided:
        return unclear(_quotes(undecided), f"which no evidence surely bears out: {reason(undecided[0])}", wanted)
    return Finding(True, f"{len(claims)} claims ({named}) are supported by the evidence", wanted, _quotes(claims))


def reason(one: Judged) -> str:
    """Return why a claim has its verdict, with the evidence that was held against it."""
    return f"{one.why}: {', '.join(one.evidence)}" if one.evidence else one.why


def _asked_for(one: Judged, sorts: Collection[str]) -> bool:
    return not sorts or one.claim.sort in sorts or one.claim.type in sorts


def _has_rival(one: Judged, context: Context) -> bool:
    """Return whether a tool returned a time or a figure of the role of one that the agent may have planned: then it may be said wrongly."""
    said = one.claim.said
    if not isinstance(said, ClockTime | Quantity) or said.role is None:
        return False
    known = context.evidence.times if isinstance(said, ClockTime) else context.evidence.figures
    return any(other.role == said.role and other.source.origin == "tool" for other in known)


def _concerns(one: Judged, about: Sequence[str]) -> bool:
    """Return whether a claim is about one of the phrases: its sentence says it."""
    document = one.claim.document
    sentence = fold_phrase(document.words(document.sentences[document.sentence_at(one.claim.span.start)]))
    return not about or any(fold_phrase(phrase) in sentence for phrase in about)


def _quote(one: Judged) -> Quote:
    return one.claim.document.quote(one.claim.span)


def _quotes(claims: Sequence[Judged]) -> tuple[Quote, ...]:
    return tuple(_quote(one) for one in claims[:SHOWN_AT_MOST])
