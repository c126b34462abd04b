"""A plain answer about things that tools returned: it proposes them and tells, sentence by sentence, what their records say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pytest_mapsat.judges import Context, KnownFigure
from pytest_mapsat.model import Case, Json, Requirement, Says
from pytest_mapsat.reading import MONEY, Vocabulary, fold_phrase

from .mutants import MONEY_WORDS

#: Sentences of figures, in English and in Chinese, by role.
_FIGURES = {
    "wait": ("The wait is {} min.", "要等{}分钟。"), "price": ("The price is {} {money}.", "价格{}{money}。"), "fee": ("The fee is {} {money}.", "收费{}{money}。"),
    "per_head": ("A meal per head is {} {money}.", "人均{}{money}。"), "total": ("The total is {} {money}.", "合计{}{money}。"), "rating": ("The rating is {} stars.", "评分{}分。"),
    "capacity": ("It takes {} people.", "可坐{}人。"), "headroom": ("The headroom is {} m.", "限高{}米。"), "frequency": ("It runs every {} min.", "每{}分钟一班。"),
    "temperature": ("It is {} °C.", "气温{}度。"),
}  # fmt: skip
#: How long a way is and how long it takes, by the way of travelling.
_TIMES = {
    "driving": ("It is a {} min drive.", "开车{}分钟。"), "walking": ("It is a {} min walk.", "步行{}分钟。"),
    "cycling": ("It is {} min by bike.", "骑车{}分钟。"), "transit": ("It is {} min by public transport.", "坐公交{}分钟。"),
}  # fmt: skip
_TIME, _LENGTH = ("The way takes {} min.", "路上要{}分钟。"), ("The way is {} m long.", "路程{}米。")
_STRAIGHT = ("It is {} m away as the crow flies.", "直线距离{}米。")
_CLOCKS = {
    "opening": ("It opens at {}.", "{}开门。"), "closing": ("It is open until {}.", "营业到{}。"), "departure": ("It leaves at {}.", "{}出发。"),
    "arrival": ("It arrives at {}.", "{}到达。"), "last_service": ("The last one leaves at {}.", "末班车{}。"),
}  # fmt: skip
_YOUR_ARRIVAL = ("You arrive at {}.", "{}到。")
_PHONE = ("The telephone number is {}.", "电话{}。")
_DAY, _MOST_CLAUSES = 24 * 60, 24


class Told(NamedTuple):
    """A thing that an answer proposes: its name, and what all results say of it."""

    name: str
    record: dict[str, Json]


def sentences_about(
    context: Context, things: Sequence[Told], wanted: Sequence[Requirement], vocabulary: Vocabulary
) -> list[str]:
    """Return the sentences of a plain answer: each thing is proposed, and behind it stands what the results say of it; last come words that requirements ask for.

    Args:
        context: the dialogue up to the reply, with the evidence of its calls.
        things: what is proposed, in its order.
        wanted: the requirements that the answer is to meet.
        vocabulary: the words of the suite, and its currency.
    """
    zh = context.language.startswith("zh")
    keys = [fold_phrase(thing.name) for thing in things]
    figures = list(_closest(context, frozenset(keys)))
    sentences: list[str] = []
    for thing, key in zip(things, keys, strict=True):
        sentences += _proposal(thing, zh=zh)
        own = [
            figure
            for about, figure in figures
            if next((other for other in reversed(keys) if other in about), "") == key
        ]
        sentences += _figures(context, own, vocabulary, zh)
        sentences += (*_times(context, key, zh), *_identities(context, key, zh))
    if not things:
        sentences += _figures(context, [figure for _, figure in figures], vocabulary, zh)
        sentences += _times(context, "", zh)
    sentences += [f"{phrase}{'。' if zh else '.'}" for phrase in _phrases(wanted)]
    return list(dict.fromkeys(sentences))[:_MOST_CLAUSES]


def joined(sentences: Sequence[str], case: Case) -> str:
    """Return sentences as one reply in the language of the case."""
    return ("" if case.language.startswith("zh") else " ").join(sentences)


def _proposal(thing: Told, *, zh: bool) -> Iterator[str]:
    yield f"推荐{thing.name}。" if zh else f"I recommend {thing.name}."
    address = thing.record.get("address")
    if isinstance(address, str) and address:
        yield f"在{address}。" if zh else f"It is at {address}."


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}".rstrip("0")


def _figures(context: Context, figures: Sequence[KnownFigure], vocabulary: Vocabulary, zh: bool) -> Iterator[str]:
    money = MONEY_WORDS[vocabulary.currency][zh]
    for figure in figures:
        if figure.role == "travel_time":
            yield _TIMES.get(figure.mode, _TIME)[zh].format(_number(figure.value))
            yield from _arrival(context, figure.value, zh)
        elif figure.role == "travel_distance":
            yield (_STRAIGHT if figure.mode == "straight" else _LENGTH)[zh].format(_number(figure.value))
        elif figure.role in _FIGURES:
            yield _FIGURES[figure.role][zh].format(_number(figure.value), money=money)
        elif figure.unit == MONEY:
            yield _FIGURES["price"][zh].format(_number(figure.value), money=money)


def _closest(context: Context, keys: frozenset[str]) -> Iterator[tuple[frozenset[str], KnownFigure]]:
    """Yield one figure of each role for each of the things, with those it is about; one of several of them, as of a road to a place, goes before one of a single one."""
    told: dict[tuple[str | None, str], dict[frozenset[str], KnownFigure]] = {}
    for figure in context.evidence.figures:
        about = keys & frozenset(figure.subject)
        if figure.source.origin == "tool" and (about or not keys):
            told.setdefault((figure.role, figure.mode), {}).setdefault(about, figure)
    for by_subject in told.values():
        most = max(map(len, by_subject))
        yield from ((about, figure) for about, figure in by_subject.items() if len(about) == most)


def _arrival(context: Context, minutes: float, zh: bool) -> Iterator[str]:
    now = context.visible.context.now if context.visible else None
    if now and len(now) > 15 and now[13] == ":":  # noqa: PLR2004  2026-03-01T18:22
        clock = (int(now[11:13]) * 60 + int(now[14:16]) + round(minutes)) % _DAY
        yield _YOUR_ARRIVAL[zh].format(f"{clock // 60:02d}:{clock % 60:02d}")


def _times(context: Context, key: str, zh: bool) -> Iterator[str]:
    for moment in context.evidence.times:
        if moment.source.origin == "tool" and moment.role in _CLOCKS and (not key or key in moment.subject):
            clock = moment.minutes % _DAY
            yield _CLOCKS[moment.role][zh].format(f"{clock // 60:02d}:{clock % 60:02d}")


def _identities(context: Context, key: str, zh: bool) -> Iterator[str]:
    for identity in context.evidence.identities:
        if identity.kind == "phone" and identity.source.origin == "tool" and key in identity.subject:
            yield _PHONE[zh].format(identity.text)


def _phrases(wanted: Sequence[Requirement]) -> Iterator[str]:
    """Yield the words that checks of requirements look for: the first of several that would do, and each of those that all must be there."""
    for requirement in wanted:
        for check in requirement.leaves:
            if isinstance(check, Says):
                yield from (*check.any[:1], *check.all)
