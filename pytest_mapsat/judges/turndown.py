"""Which of the names in a reply are turned down: by words before them, behind them, or for a whole list of them.

Fixed words only, in English and Chinese; ``docs/judging.md`` tells what this understands. Every pattern is an alternation
of fixed words, searched between two names: nothing to backtrack into, linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from .text import Mention, Reading

#: In a clause, before a name: the name is turned down, not merely unmentioned.
_BEFORE = re.compile(
    r"(?<![a-z])(?:skip|skipping|skipped|avoid|avoiding|instead of|rather than|not recommend|not suggest|not choose|not go to|not bother with"
    r"|ruled out|rule out|rejected|dropped|stay away from|steer clear of|compared to|compared with|versus|vs[.]?|unlike|than)(?![a-z])"
    r"|n't (?:recommend|suggest|choose|pick|go to|take|use|try|book|bother with)(?![a-z])"
    r"|不推荐|不建议|不选|没选|不去|不要去|别去|排除|放弃|而不是|而非|避开|相比|相较|比(?![较如例赛萨])"
)

_IS = "(?:is|are|was|were|be|being|currently|permanently|temporarily|already|now|still|both|all)"
_NOT = "(?:not|n't|cannot|never|no longer)"
_GOOD = (
    "fit|work|do|suit|meet|match|help|serve|accept|suitable|right|open|available|safe|an option|accessible|possible|recommended|advisable"
    "|worth|good|enough|big enough|allowed|what you|for you|step-free|in service|running"
)
_TOO = "far|expensive|dear|pricey|low|small|tall|high|narrow|busy|crowded|full|loud|noisy|steep|wet|early|late|long|slow|few|little|weak|risky"
#: Behind a name: why it will not do.
_BEHIND = re.compile(
    rf"(?<!not )(?<!n't )(?<!never )(?<![a-z])(?:{_IS} (?:closed|shut|full(?! of)|unsuitable|unavailable|inaccessible|unsafe|no good|no use|useless)"
    r"|closed (?:now|today|at that|by then|until)|closes (?:before|too|earlier)|has (?:already )?(?:closed|shut)"
    rf"|(?:fully|already) booked|booked (?:out|up)|sold out|too (?:{_TOO})|ruled out|to be avoided|out of (?:the question|business|order|service|budget|reach)"
    r"|(?:over|above|beyond|exceeds|outside) (?:your |the )?(?:budget|limit)|no good)(?![a-z])"
    rf"|(?<![a-z])(?:is|are|was|were|does|do|did|will|would|can|could|wo|ca)? ?{_NOT} (?:really |quite |currently |be )?(?:{_GOOD})(?![a-z])"
    r"|(?<!不)(?:没开|不开门|未开门|没营业|未营业|不营业|打烊|关门|关闭|关了|歇业|停业|停运|封闭|不开放|闭馆|休馆|坏了|故障|检修中|维修中"
    r"|不推荐|不建议|不考虑|不要去|不用去|不必去|别去|去不了|去不成|不行|不能去|不能用|不能停|进不去|上不去|停不了|停不下|插不上|用不了|坐不下|放不下|装不下"
    r"|过不去|来不及|赶不上|排不上|不匹配|不兼容|不满足|不符|不合适|不适合|不适用|没有空位|没空位|无空位|没有位置|没位置|没有座位|被排除|已排除"
    r"|超出(?:了)?(?:您的)?(?:预算|上限)|超过(?:了)?(?:您的)?(?:预算|上限)|已满|满了|客满|满员|订满|约满"
    r"|太(?:远|贵|小|矮|低|高|挤|吵|晚|早|慢|窄|陡|久))(?!前)"
)
#: Behind a name: the words are about something else from here on.
_ELSEWHERE = re.compile(
    r"(?<![a-z])(?:others?|elsewhere|the rest|(?:since|because|as) (?!it |they |that ))|其他|其它|其余|别的|另外|因为(?!它|他|那)"
)
#: What stands between two names of one list; a comma alone makes none.
_LINK = re.compile(r" ?(?:,|、|/|&|(?:, )?(?:and|or|nor|both)(?: the)?|和|与|及|以及|或|或者|跟) ?(?:the )?")
_COMMA_ONLY = re.compile(r" ?, ?(?:the )?")
_LOOK_BACK = 64


def turned_down(reading: Reading, mentions: Sequence[Mention]) -> frozenset[Mention]:
    """Return which mentions of names are turned down.

    Args:
        reading: the reply.
        mentions: all names in it, ascending.
    """
    out: set[Mention] = set()
    for names in _lists(reading, mentions):
        following = names[-1][1]
        if _before(reading, names[0][0]) or _behind(reading, names[-1][0], following):
            out.update(mention for mention, _ in names)
    return frozenset(out)


def _lists(reading: Reading, mentions: Sequence[Mention]) -> list[list[tuple[Mention, int]]]:
    """Return the names that are said in one breath ("A, B and C"), each with where the next name begins."""
    groups: list[list[tuple[Mention, int]]] = []
    for index, mention in enumerate(mentions):
        following = mentions[index + 1].start if index + 1 < len(mentions) else len(reading.flat)
        entry = (mention, following)
        linked = bool(groups) and _LINK.fullmatch(reading.flat, groups[-1][-1][0].end, mention.start)
        if linked:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return [part for group in groups for part in _split(reading, group)]


def _split(reading: Reading, group: list[tuple[Mention, int]]) -> list[list[tuple[Mention, int]]]:
    """Return the group as a list, or as single names where only commas join it ("Skip A, B is better")."""
    gaps = [(one[0].end, other[0].start) for one, other in pairwise(group)]
    if gaps and all(_COMMA_ONLY.fullmatch(reading.flat, *gap) for gap in gaps):
        return [[entry] for entry in group]
    return [group]


def _before(reading: Reading, mention: Mention) -> bool:
    begin, _ = reading.denials.clause(mention.start)
    return _BEFORE.search(reading.flat, max(begin, mention.start - _LOOK_BACK), mention.start) is not None


def _behind(reading: Reading, mention: Mention, following: int) -> bool:
    ends = reading.sentence_ends
    end = min(ends[min(reading.sentence_of(mention.start), len(ends) - 1)], following)
    other = _ELSEWHERE.search(reading.flat, mention.end, end)
    return _BEHIND.search(reading.flat, mention.end, other.start() if other else end) is not None
