"""Where a clause begins, and what in it is denied: in English and in Chinese, by fixed words and never by parsing.

What this understands and what it does not is told in ``docs/judging.md``. Every pattern is an alternation of
fixed words: there is nothing to backtrack into, so a scan is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

_WORD = "[a-z-]{1,20}(?: [a-z-]{1,20})?"
#: Behind a comma: the rest of a list that ends in "or" ("no bus, metro or tram"), unless it begins as a sentence or an order.
_LIST = (
    r" (?!(?:take|use|go|ride|walk|drive|cycle|choose|pick|try|head|get|visit|it|there|you|we|i|so|just|please|either|but|the) )"
    rf"{_WORD}(?:, {_WORD}){{0,3}},? (?:or|nor) "
)
#: A clause ends here. Marks inside numbers and times do not count; "、" and a bare "and" go on with the list.
_BREAK = re.compile(
    rf"(?<![0-9]),(?!{_LIST})|,(?![0-9]|{_LIST})|(?<![0-9]):|:(?![0-9])|[()|\n。!?;…—→]|(?<![0-9]) - | - (?![0-9])|\. |\.\n"
    r"| (?:but|however|so|then|because|since|while|whereas|although|though|as the) "
    r"| and (?=(?:then|i|you|take|use|go|ride|walk|drive|choose|pick|try|head|get|visit) )"
    r"|但|不过|而是|所以|因此|因为|然后|接着|改走|改乘|改坐|改为|而(?=[走坐乘选去])"
)

_NO_DENIAL = "only|just|merely|simply|far|least|bad|to mention|miss|forget|hesitate|later than|earlier than|more than|less than|longer than|fewer than"

#: Words that deny what follows them in their clause, each with the uses in which it does not.
_BEFORE = re.compile(
    r"(?<![a-z0-9])(?:"
    r"no(?![.'])(?! (?:problem|doubt|matter|wonder|later than|earlier than|more than|less than|longer than|fewer than|[0-9]))"
    rf"|(?:not|cannot|never)(?! (?:{_NO_DENIAL}))"
    r"|none|without|avoid|avoids|avoiding|avoided|skip|skips|skipping|exclude|excludes|excluding|except|neither|nor|unlike"
    r"|instead of|rather than|free of|steer clear of|stay away from"
    r")(?![a-z0-9])"
    rf"|n't(?! (?:{_NO_DENIAL}))(?![a-z0-9])"
    r"|(?<!差)不(?![仅但过错远到超少同只光妨久断论管大贵一])|没(?![问关错想事])"
    r"|(?<![特分区类级性个辨识告差])别(?![墅名的人处样错忘])|无(?![论锡数线障疑印敌人])|未(?![来央名])"
    r"|避开|避免|避让|绕开|勿|禁止|拒绝|排除|跳过"
)

#: What may stand between two denials that cancel out ("do not need to avoid", "无需避开").
_BETWEEN = frozenset(
    {"", "to", "need to", "have to", "want to", "要", "需要", "用", "必", "能", "会", "是", "有", "得", "须", "需"}
)

#: Words that deny what stands shortly before them in their clause.
_AFTER = re.compile(
    r"-free(?![a-z])|(?<![a-z0-9])(?:not needed|not required|not recommended|not necessary|not an option|not available|not allowed|not used"
    r"|not advisable|unavailable|to be avoided|(?:is|are|be) avoided|ruled out|(?:isn't|aren't) (?:needed|required|recommended|an option|available))(?![a-z])"
    r"|不推荐|不建议|不走|不用|不需要|不可用|不考虑|不可行|不予考虑|没有必要"
)
#: Words that take back all that follows them: they point at it ("this", "the following", 以下) and end in a colon.
_DISOWNS = re.compile(
    r"(?<![a-z0-9])(?:(?:do not|don't|never) (?:do|follow|believe|trust|use) (?:this|that|these|the following|any of this|what follows)"
    r"|(?:this|that|the following|what follows|all of this) is (?:all )?(?:not (?:true|so|right|correct|the case|what to do)|false|untrue|wrong|incorrect)"
    r"|it is (?:not (?:true|so|correct|the case)|untrue|false)(?: that)?|none of (?:this|the following) is (?:true|correct|right)) ?:"
    r"|(?:不要|别|请勿|切勿|并不是|不是|并非)(?:照|按)?(?:这样|这么|以下|下面)(?:做|去|走|办|说的)?:"
    r"|(?:以下|下面|下述)(?:内容|说法|信息|建议|安排)?(?:都|全|全部)?(?:不对|不是真的|不是这样|是错的|错误|不正确|不成立|是假的|不属实):"
)
_NOWHERE = 1 << 62
#: How many folded characters may lie between a phrase and a denial behind it.
_REACH = 20


@dataclass(frozen=True)
class Denials:
    """The clauses of a folded text and the denials in them, all in folded characters and ascending.

    Attributes:
        breaks: where a clause ends.
        starts: where a word begins that denies what follows it.
        after: where a word begins that denies what precedes it.
        disowned: from where on all that is said is taken back ("Do not do this: ...").
    """

    breaks: tuple[int, ...]
    starts: tuple[int, ...]
    after: tuple[int, ...]
    disowned: int = _NOWHERE

    def clause(self, position: int) -> tuple[int, int]:
        """Return begin and end of the clause that ``position`` stands in; the end may lie past the text."""
        index = bisect_right(self.breaks, position)
        begin = self.breaks[index - 1] if index else 0
        return begin, self.breaks[index] if index < len(self.breaks) else begin + _NOWHERE

    def deny(self, start: int, end: int) -> bool:
        """Return whether what stands from ``start`` to ``end`` is denied."""
        if start >= self.disowned:
            return True
        begin, stop = self.clause(start)
        before = bisect_left(self.starts, start)
        if before and self.starts[before - 1] >= begin:
            return True
        behind = bisect_left(self.after, end)
        stop = max(stop, self.clause(end)[1]) if end > stop else stop
        return behind < len(self.after) and self.after[behind] < min(stop, end + _REACH)


def find_denials(text: str) -> Denials:
    """Return the clauses and denials of a folded text."""
    breaks = tuple(match.end() for match in _BREAK.finditer(text))
    after = tuple(match.start() for match in _AFTER.finditer(text))
    disowning = _DISOWNS.search(text)
    return Denials(breaks, _effective(text), after, disowning.end() if disowning else _NOWHERE)


def _effective(text: str) -> tuple[int, ...]:
    """Return where denials begin that are not cancelled by another one right before them."""
    starts: list[int] = []
    open_end = -1
    for match in _BEFORE.finditer(text):
        gap = match.start() - open_end
        if (
            open_end >= 0
            and gap <= max(map(len, _BETWEEN)) + 2
            and text[open_end : match.start()].strip(" ") in _BETWEEN
        ):
            starts.pop()
            open_end = -1
        else:
            starts.append(match.start())
            open_end = match.end()
    return tuple(starts)
