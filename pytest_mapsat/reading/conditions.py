"""What a search text asks of figures and hours, and what it does not want. The words are data in ``conditions.yaml``.

Figures and times of day are read as in replies. Which way a figure is a bound is read from the words beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

import yaml

from .document import ClockTime, Document, Quantity, is_han
from .names import lexicon_of
from .pack import Cue, Pack, Vocabulary
from .page import open_page
from .reader import read_page

#: Roles that a query gives a figure; what a reply says of one ("saving", "budget") is none of a row's.
_OWN_ROLES = frozenset({"rating", "per_head", "price", "fee", "count", "wait", "age", "travel_distance"})
#: How far a figure may lie from one that a text says it is about, as a share of that.
ABOUT_SHARE = 0.12
_HAN_DIGITS = str.maketrans("零〇一二两三四五六七八九", "001223456789")
#: What may lie between a figure and a word that counts, beside the words of the packs.
_BETWEEN = " :：=-"
#: Which way a figure is a bound by how it was read.
_READ = {"at_least": "least", "at_most": "most"}
#: A clock in figures: 8:00, 8点.
_WRITTEN = re.compile(r"([0-2]?[0-9])(?::[0-5][0-9]|[点點时時])(?! ?[ap])")
#: What ends a clause; the end of a text does, too.
_STOPS = frozenset({"", ",", "，", "。", ".", ";", "；", "、", "!", "！"})
#: Which way a figure is a bound, and the way that it is one where a denial stands before ("does not cost more than 70").
_DENIED = {"least": "below", "above": "most", "most": "above", "below": "least"}
#: What the data hold beside groups of words.
_NO_WORDS = ("role", "respelt")
_DAY = 24 * 60
#: The highest rating: a smaller number that nothing says more of is none of money.
_STARS = 5


class Bound(NamedTuple):
    """What a query asks of a figure, and where it stands, in characters of the text.

    ``low``, ``high``: the least and the greatest value, None for none; ``strict``: whether neither is itself enough. ``unit``: as in ``Quantity``, ``count`` for a bare
    number; ``role``: what it is a figure of, empty where the text does not say.
    """

    start: int
    end: int
    low: float | None
    high: float | None
    strict: bool
    unit: str
    role: str


class Opening(NamedTuple):
    """When a query wants a thing to be open, and where it says so: at all ``minutes`` after midnight, or at any of them; at no minute given: now."""

    start: int
    end: int
    minutes: tuple[int, ...]
    every: bool = True


_Condition = TypeVar("_Condition", Bound, Opening)


class Conditions(NamedTuple):
    """What a query asks beside its words.

    ``asking``: where its words only ask ("find me a"), start and end.
    """

    bounds: tuple[Bound, ...]
    openings: tuple[Opening, ...]
    asking: tuple[tuple[int, int], ...]


@cache
def _pack() -> Pack:
    data = _data()
    roles = {f"role.{role}": words for role, words in data["role"].items()}
    return Pack("", {}).with_words({group: words for group, words in data.items() if group not in _NO_WORDS} | roles)


@cache
def _data() -> dict[str, Any]:
    text = (files(__package__) / "conditions.yaml").read_text("utf-8")
    data: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506  plain strings only
    return data


@cache
def _spellings() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), form) for pattern, form in _data()["respelt"])


class _Respelt:
    """A query as it is read: with what is spelt in a way that the reading of replies does not know spelt in one that it does.

    Attributes:
        text: the query, respelt.
    """

    def __init__(self, text: str) -> None:
        spans = [(at, at + 1) for at in range(len(text))]
        for pattern, form in _spellings():
            pieces: list[str] = []
            places: list[tuple[int, int]] = []
            at = 0
            for match in pattern.finditer(text):
                start, end = match.span()
                piece = match.expand(form).translate(_HAN_DIGITS)
                pieces += text[at:start], piece
                places += spans[at:start] + [(spans[start][0], spans[end - 1][1])] * len(piece)
                at = end
            text, spans = "".join((*pieces, text[at:])), places + spans[at:]
        self.text = text
        self._spans = spans

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the query words of the respelt text stand."""
        return (self._spans[start][0], self._spans[end - 1][1]) if start < end else (0, 0)

    def placed(self, condition: _Condition) -> _Condition:
        """Return a condition of the respelt text with its place in the query."""
        start, end = self.original(condition.start, condition.end)
        return condition._replace(start=start, end=end)


class _Beside:
    """The words of a query that count, by where they begin and end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cues = tuple(_pack().find(text))
        self._starts = {cue.start: cue for cue in self.cues}
        self._ends = {cue.end: cue for cue in self.cues}

    def before(self, at: int) -> Cue | None:
        """Return the word that ends before a place, blanks between them aside."""
        while at > 0 and self.text[at - 1] in _BETWEEN and at not in self._ends:
            at -= 1
        return self._ends.get(at)

    def after(self, at: int, limit: int | None = None) -> Cue | None:
        """Return the word that begins behind a place and before a limit, blanks between them aside."""
        limit = len(self.text) if limit is None else limit
        while at < limit and self.text[at] in _BETWEEN and at not in self._starts:
            at += 1
        return self._starts.get(at) if at < limit else None


@lru_cache(maxsize=256)
def conditions_of(text: str, vocabulary: Vocabulary | None = None) -> Conditions:
    """Return what a search text asks of figures and hours. Linear in its length; no text makes it raise.

    Args:
        text: the query, folded (NFKC, case).
        vocabulary: the domain words and the currency of the suite.
    """
    language = "zh" if any(map(is_han, text)) else "en"
    respelt = _Respelt(text)
    text = respelt.text
    document = read_page(open_page(text, language=language, vocabulary=vocabulary), lexicon_of(()))
    beside = _Beside(text)
    openings = tuple(_openings(document, beside))
    taken = [(opening.start, opening.end) for opening in openings]
    bounds = tuple(_bounds(document.quantities, beside, taken))
    asking = tuple(respelt.original(cue.start, cue.end) for cue in beside.cues if cue.has("asking"))
    return Conditions(tuple(map(respelt.placed, bounds)), tuple(map(respelt.placed, openings)), asking)


def _openings(document: Document, beside: _Beside) -> Iterable[Opening]:
    for cue in beside.cues:
        if cue.has("now"):
            yield Opening(cue.start, cue.end, ())
        elif cue.has("always"):
            yield Opening(cue.start, cue.end, tuple(range(0, _DAY, 60)))
    for time in document.times:
        before = beside.before(time.span.start)
        if before is not None and "rating" in before.tags.get("role", ()):
            continue  # 评分四点五 is no time of day
        yield Opening(time.span.start, time.span.end, _minutes(time, document.words(time.span)), every=False)


def _minutes(time: ClockTime, words: str) -> tuple[int, ...]:
    """Return the minutes that a time may mean; a place that is open until eleven is open a minute before. A clock that is written out means its own hour."""
    early = 1 if time.role in ("closing", "last_service") else 0
    written = _WRITTEN.match(words)
    hours = {int(written[1]) % 24} if written else set()
    meant = [minute for minute in time.minutes if minute // 60 in hours] or time.minutes
    return tuple(sorted({(minute - early) % _DAY for minute in meant}))


def _bounds(quantities: Sequence[Quantity], beside: _Beside, taken: Sequence[tuple[int, int]]) -> Iterable[Bound]:
    figures = [figure for figure in quantities if not any(start <= figure.span.start < end for start, end in taken)]
    skip = -1
    for at, figure in enumerate(figures):
        if at == skip:
            continue
        following = figures[at + 1] if at + 1 < len(figures) else None
        if following is not None and _is_range(figure, following, beside.text):
            skip = at + 1
            whole = following._replace(
                span=figure.span._replace(end=following.span.end), low=figure.value, high=following.value
            )
            bound = _bound(whole._replace(approx="range"), beside, _limit(figures, at + 2, beside))
        else:
            bound = _bound(figure, beside, _limit(figures, at + 1, beside))
        if bound is not None:
            yield bound


def _limit(figures: Sequence[Quantity], at: int, beside: _Beside) -> int:
    """Return where the words begin that have to do with a figure, the end of the text where there is no such figure."""
    return _walk(figures[at], figures[at].span.start, beside.before, "").at if at < len(figures) else len(beside.text)


def _is_range(first: Quantity, second: Quantity, text: str) -> bool:
    """Return whether two figures are the ends of one range: "50-80"."""
    gap = text[first.span.end : second.span.start].strip()
    mark = _pack().words.get(gap, {})
    return first.approx == second.approx == "exact" and "range" in mark and second.value > first.value


class _Said(NamedTuple):
    """What the words on one side of a figure say: how far they reach, which way it is a bound, and what it is a figure of."""

    at: int
    way: str = ""
    role: str = ""


def _walk(figure: Quantity, start: int, step: Callable[[int], Cue | None], suffix: str, role: str = "") -> _Said:
    """Return what the words beside a figure say, as far as they have to do with it. ``role``: what it is a figure of, where that is known."""
    at = reach = start
    way, begun = "", role
    while (cue := step(at)) is not None:
        ways = [name for name in _DENIED if cue.has(name + suffix)]
        roles = [name for name in sorted(cue.tags.get("role", ())) if _fits(name, figure.unit)]
        if cue.has("deny") and way and not suffix:
            way = _DENIED[way]
        elif ways and not way:
            way = ways[0]
        elif roles and not begun and not role:
            role = roles[0]
        elif not cue.has("filler", "unit") and not (roles and role in roles):
            break
        at = cue.end if suffix else cue.start
        reach = reach if cue.has("filler") and not ways and not roles else at
    return _Said(reach, way, "" if role == begun else role)


def _fits(role: str, unit: str) -> bool:
    """Return whether a figure in a unit may be one of a role; a bare number may be of any."""
    if role == "wait":
        return unit in ("min", "count")
    return (unit not in ("star", "yuan", "foreign")) or (unit == "star") == (role == "rating")


def _bound(figure: Quantity, beside: _Beside, limit: int) -> Bound | None:
    """Return the bound that a figure is, None where it is none; words at and behind ``limit`` have to do with another."""
    unit = figure.unit.partition(":")[0]
    bare = unit == "yuan" and not any(cue.has("unit") for cue in _pack().find(beside.text[slice(*figure.span)]))
    figure = figure._replace(unit="count") if bare else figure  # a sum of money only by what stands around it
    before = _walk(figure, figure.span.start, beside.before, "")
    after = _walk(figure, figure.span.end, lambda at: beside.after(at, limit), "_after", before.role)
    way = after.way or before.way or _READ.get(figure.approx, "")
    role = before.role or after.role or (figure.role if figure.role in _OWN_ROLES and figure.cued else "") or ""
    if role == "other":
        return None
    unit = (
        "count" if unit == "people" and (figure.approx == "range" or way in ("most", "below")) else unit
    )  # "for 80 or below"
    unit = "count" if bare and (role == "rating" or (not role and figure.value <= _STARS)) else unit
    low: float | None = figure.value
    high: float | None = figure.value
    if figure.approx == "about":
        low, high, way = figure.value * (1 - ABOUT_SHARE), figure.value * (1 + ABOUT_SHARE), "range"
    elif figure.approx == "range":
        low, high, way = figure.low, figure.high, "range"
    elif way in ("least", "above"):
        high = None
    elif way in ("most", "below"):
        low = None
    elif unit in ("yuan", "foreign") or role in ("per_head", "price", "fee", "wait", "travel_distance"):
        low = None  # a sum that is named is what may be spent
    elif unit == "star" or (role in ("rating", "count", "capacity") and (before.role or after.role)):
        high = None
    else:
        return None
    return Bound(before.at, max(after.at, figure.span.end), low, high, way in ("above", "below"), unit, role)


class Denials:
    """The words of a query that turn something down.

    Args:
        text: the query, folded.
    """

    def __init__(self, text: str) -> None:
        self._beside = _Beside(text)

    def denies(self, start: int, end: int) -> bool:
        """Return whether the words from one place to another are what the query does not want."""
        at = start
        while (cue := self._beside.before(at)) is not None:
            if cue.has("no_denial"):
                return False
            if cue.has("deny"):
                return True
            if not cue.has("deny_filler"):
                break
            at = cue.start
        after = self._beside.after(end)
        rest = "" if after is None else self._beside.text[after.end :].strip()[:1]
        return after is not None and (after.has("deny_behind") or (after.has("deny_after") and rest in _STOPS))

    def goes_on(self, end: int, start: int) -> bool:
        """Return whether what is turned down up to one place goes on at the next: "not spicy or loud"."""
        gap = self._beside.text[end:start].strip()
        return bool(gap) and "deny_on" in _pack().words.get(gap, {})
