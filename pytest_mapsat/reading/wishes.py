"""The wishes of a search besides figures: times at which places open and shut, a comparison with another place, the most or the least of something, traits in other words.

The words are data in ``wishes.yaml``; English and Chinese are always both looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from .document import ClockTime
from .pack import Cue, Pack, words_in

_COMPARING = ("grade", "best", "too", "role", "than", "with", "same", "no", "than_less", "more", "plain")
#: How many characters beside a time say what it is a time of.
_NEAR = 48
_PART = re.compile("<([a-z_]+)>")
#: What ends a clause.
_CLAUSE = re.compile(r"[,，.。;；!！?？\n]")
_GRADE = re.compile(r"([a-z_]*)([<>+-]?=?)")
#: Which way a better figure of a role is; of all others more is better.
_LESS_IS_BETTER = ("price", "per_head", "fee", "wait")
#: What may stand between "than" and a name.
_FILL = re.compile(
    r"\b(?:the|a|at|in|of|for|what|that|those|one|ones|you|i|we|pay|get|does|has|prices?|ratings?|scores?)\b|[\s\"'“”《》「」【】的于那这家]"
)
_DENIED = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_TURNED = {"<": ">", ">": "<", "<=": ">", ">=": "<"}
_DAY, _SMALL_HOURS = 24 * 60, 5 * 60


class Wish(NamedTuple):
    """A desired figure in a search, either on one side of a value or extreme, with its place in the text.

    ``role``: as of ``AskedBound``, or ``opens``, ``closes`` (minutes after midnight; past midnight above 1440), ``shut``. ``way``: ``<``, ``<=``, ``>=``, ``>``; empty for ``shut``.
    ``minute``: the time that hours are compared with.
    """

    start: int
    end: int
    role: str
    way: str
    minute: int = 0


@cache
def _hour_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of times with the surrounding words, each with its role and way."""
    words = words_in("wishes.yaml")
    filled = ((meant, _PART.sub(lambda part: words["parts"][part[1]], text)) for meant, text in words["hours"])
    return tuple((meant, re.compile(text)) for meant, text in filled)


@cache
def _pack(*groups: str) -> Pack:
    """Return groups of words as a language pack; ``price<`` in ``grade`` is the value of the words listed there."""
    keyed = [(name, words_in("wishes.yaml")[name]) for name in groups]
    words = {name: listed for name, listed in keyed if isinstance(listed, list)}
    for name, by_value in keyed:
        words |= {f"{name}.{value}": listed for value, listed in by_value.items()} if name not in words else {}
    return Pack("", {}).with_words(words)


def hours_wished(text: str, times: Sequence[ClockTime]) -> Iterator[Wish]:
    """Yield the times at which places should open, close or be shut.

    Args:
        text: the search, folded.
        times: the times of day in it.
    """
    text, end = text.replace("@", " ").replace("-", " "), 0
    for time, limit in zip(times, [*(time.span.start for time in times[1:]), len(text)], strict=False):
        first, around = max(end, time.span.start - _NEAR), text[time.span.end : min(limit, time.span.end + _NEAR)]
        left, end = text[first : time.span.start], time.span.end
        for meant, pattern in _hour_patterns():
            if (match := pattern.search(f"{left}@{around}")) is not None:
                role, way = _graded(meant)
                minute = max(time.minutes) if role == "closes" else min(time.minutes)
                minute += _DAY if role == "closes" and minute < _SMALL_HOURS else 0
                yield Wish(first + match.start(), max(end + match.end() - len(left) - 1, end), role, way, minute)
                break


class Comparisons:
    """The comparisons and superlatives of a search.

    Args:
        text: the search, folded.
        things: where it names things that it may compare with, start and end, in order.
    """

    def __init__(self, text: str, things: Sequence[tuple[int, int]]) -> None:
        for start, end in things:
            text = f"{text[:start]}{'@' * (end - start)}{text[end:]}"
        self._text = text.replace("-", " ")
        self._things = things
        self._cues = tuple(_pack(*_COMPARING).find(self._text))
        marks = [match.span() for match in _CLAUSE.finditer(self._text)]
        marks += [(cue.start, cue.end) for cue in self._cues if cue.has("more")]
        breaks = sorted([(0, 0), *marks, (len(text), len(text))])
        self._clauses = [(first, last) for (_, first), (last, _) in pairwise(breaks)]

    def _within(self, first: int, last: int) -> list[Cue]:
        """Return the cues between two places."""
        return [cue for cue in self._cues if first <= cue.start and cue.end <= last]

    def compared(self) -> Iterator[tuple[Wish, int]]:
        """Yield the figures that should differ from those of a thing, with the thing's index.

        Clauses behind it may mean it, too: "cheaper than X but better rated".
        """
        number, before_it = None, list[Wish]()
        for first, last in self._clauses:
            things = [at for at, (start, end) in enumerate(self._things) if first <= start and end <= last]
            cues = self._within(first, last)
            if not things and not any(map(str.isdigit, self._text[first:last])):
                role, way = _meant(cues, "")
                wishes = [Wish(cues[0].start, cues[-1].end, role, way)] if role and way else []
                before_it += wishes if number is None else []
                yield from ((wish, number) for wish in wishes) if number is not None else ()
            places = [(first, first), *(self._things[at] for at in things), (last, last)]
            for at, (_, before), (start, end), (limit, _) in zip(things, places, places[1:], places[2:], strict=False):
                left, right = self._within(before, start), self._within(end, limit)
                number, role, way = at, *self._beside(left, right, start)
                if role and way:
                    spans = [(start, end), *((cue.start, cue.end) for cue in (*left, *right))]
                    yield Wish(min(spans)[0], max(spans)[1], role, way), at
                    yield from ((wish, at) for wish in before_it)  # "cheaper and better rated than X"
                    before_it = []

    def _beside(self, left: Sequence[Cue], right: Sequence[Cue], start: int) -> tuple[str, str]:
        """Return the role and the way of a comparison from the cues around the thing; empty texts if they state none."""
        head = next((cue for cue in reversed(left) if not cue.has("role")), None)
        if right and right[0].has("too"):  # "X is too expensive"
            return _graded(right[0].tags["too"])
        if head is None or _FILL.sub("", self._text[head.end : start]) or (head.has("with") and not right):
            return "", ""
        role, way = _meant([*reversed(left), *right], "rating")
        if head.has("than_less"):
            way = _TURNED.get(way, "")
        elif head.has("with") and right[0].has("same"):
            way = f"{way[:1]}="
        elif not head.has("grade") and any(cue.has("no") and cue.end == head.start for cue in left):
            way = _DENIED.get(way, "")
        return role, way

    def best(self) -> Iterator[Wish]:
        """Yield the figures that should be as large or as small as possible."""
        for first, last in self._clauses:
            cues = self._within(first, last)
            for at, cue in enumerate(cues):
                role, way = _graded(cue.tags.get("best", ""))
                role = role or _role([*cues[at:], *reversed(cues[:at])]) or ("rating" if way == "+" else "")
                if way and role:
                    yield Wish(cue.start, cue.end, role, _plain_way(role, way))


def _meant(cues: Sequence[Cue], usual: str) -> tuple[str, str]:
    """Return the role and the way of a comparison from its cues, nearest first; ``usual``: the role of plain "better"."""
    graded = [(*_graded(cue.tags["grade"]), cue) for cue in cues if cue.has("grade")]
    if not graded:
        return "", ""
    role, way, cue = next((grade for grade in graded if grade[0]), graded[0])
    role = role or _role(cues) or (usual if way in "+-" else "")
    way = _plain_way(role, way)
    return role, _DENIED[way] if any(other.has("no") and -1 <= cue.start - other.end <= 1 for other in cues) else way


def _graded(meant: object) -> tuple[str, str]:
    """Return the role and the way of a value such as ``price<``; empty texts if there are none."""
    match = _GRADE.match(str(meant))
    return (match[1], match[2]) if match else ("", "")


def _plain_way(role: str, way: str) -> str:
    """Return the way in which a figure of a role is better (``+``) or worse (``-``); return any other way unchanged."""
    return way if way not in ("+", "-") else "<" if (way == "+") == (role in _LESS_IS_BETTER) else ">"


def _role(cues: Iterable[Cue]) -> str:
    """Return the first role that cues give a figure; empty if there is none."""
    return next((min(roles) for cue in cues if (roles := cue.tags.get("role"))), "")


def traits_in(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield the traits in a folded text: start, end, trait, and whether the words state that it is lacking."""
    for cue in _pack("trait", "lacks").find(text.replace("-", " ").replace("_", " ")):
        yield cue.start, cue.end, str(cue.tags.get("trait") or cue.tags["lacks"]), "trait" not in cue.tags
