"""Requests in a text: an agent's for a go-ahead, and the user's answer; a search for figures and hours, and its exclusions.

The words are data in ``go_ahead.yaml`` and ``conditions.yaml``.

A request for a go-ahead has two halves: a form that wants an answer (a question, a request to reply, a condition that the user is to fulfil), and an act that
the agent has in mind, or nothing else that could be answered. A missing detail, a choice, an offer to look something up, a report and a policy have one half only.
Both languages are always looked for. All patterns meet folded text, and none looks further than the sentence that it is in.

Figures and times of day are read as in replies. Which way a figure is a bound is read from the words beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple, TypeVar

from .document import ClockTime, Document, Quantity, fold_phrase, is_han
from .names import lexicon_of
from .pack import Cue, Pack, Vocabulary, words_in
from .page import open_page
from .reader import read_names, read_page
from .wishes import Wish, hours_wished

_READ_CHARS = 20_000
_BRACKETS = str.maketrans(dict.fromkeys("【】「」『』《》", '"'))
_PART = re.compile("<([a-z_]+)>")


@cache
def _words() -> Mapping[str, str]:
    """Return the raw patterns of go_ahead.yaml by name, with unresolved references to parts."""
    data = words_in("go_ahead.yaml")
    return {name: "".join(text) for name, text in data["parts"].items()} | {
        name: text if isinstance(text, str) else "|".join(map("".join, text)) for name, text in data["patterns"].items()
    }


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return a named pattern, compiled on first use because most runs never need it."""
    text = _words()[name]
    while _PART.search(text):
        text = _PART.sub(lambda part: _words()[part[1]], text)
    return re.compile(text)


class GoAheadRequest(NamedTuple):
    """A request in an agent's message, with the surrounding sentences as written.

    Attributes:
        asking: the sentences that ask for a go-ahead; empty where none does.
        before: the sentences before the first of these; the whole message where there is none.
        after: the other sentences behind it.
        other: those that ask something else, or offer something.
    """

    asking: str
    before: str
    after: str
    other: str


@lru_cache(maxsize=256)
def read_request(message: str, language: str) -> GoAheadRequest:
    """Return the sentences in which an agent's message asks the user for something.

    Args:
        message: the agent's words; of a longer one only the last 20,000 characters are read.
        language: BCP 47 tag of the case; a message in another language is read in that.
    """
    document = read_names(open_page(message[-_READ_CHARS:], language=language), lexicon_of(()))
    asking = go_ahead_requests(document)
    if not asking:  # in Chinese the parts of one question have commas between them
        joined = message[-_READ_CHARS:].replace("，", "、")
        again = read_names(open_page(joined, language=language), lexicon_of(()))
        asking = go_ahead_requests(again) if again.sentences == document.sentences else asking
    first = min(asking, default=len(document.sentences))
    questions = {question.sentence for question in document.questions}
    parts: dict[str, list[str]] = {"asking": [], "before": [], "after": [], "other": []}
    for number, span in enumerate(document.sentences):
        words = document.words(span)
        parts["asking" if number in asking else "before" if number < first else "after"].append(words)
        if number not in asking and (number in questions or "?" in fold_phrase(words)):
            parts["other"].append(words)
    return GoAheadRequest(**{name: "\n".join(sentences) for name, sentences in parts.items()})


@lru_cache(maxsize=256)
def asks_go_ahead(message: str, language: str) -> bool:
    """Return whether an agent's message asks for approval of an action. Arguments as for ``read_request``."""
    page = open_page(message[-_READ_CHARS:], language=language)
    return bool(go_ahead_requests(read_names(page, lexicon_of(()))))


def exclusion_in(text: str, *, asks: bool) -> str:
    """Return the first word in a folded text that excludes a thing or adds a second action ("keep", "instead"); empty if there is none.

    Args:
        text: the text.
        asks: whether it is the question, in which a comparison ("the cheaper one") may mean another thing, too.
    """
    text = _pattern("whether_or_not").sub("", text)
    match = _pattern("excludes").search(text) or (asks and _pattern("compares").search(text))
    return match[0] if match else ""


def condition_in(text: str) -> str:
    """Return the first word in a folded text that makes an action conditional ("if", "unless"); empty if there is none."""
    return found_in("conditional", _pattern("whether_or_not").sub("", text))


def found_in(name: str, text: str) -> str:
    """Return the first match of a pattern of ``go_ahead.yaml`` in a folded text; empty if there is none.

    Args:
        name: ``keeps`` (says that something stays as it is), ``informs`` (offers to look something up or to tell something), ``refers_back`` (leaves its act to
            the sentence before: "shall I do that?").
        text: the text.
    """
    match = _pattern(name).search(text)
    return match[0] if match else ""


def is_bound(before: str, behind: str) -> bool:
    """Return whether the folded words around a value make it a bound, a fee or a capacity: "until 10 Oct"."""
    return bool(_pattern("bound_before").search(before) or _pattern("bound_behind").search(behind))


@lru_cache(maxsize=4096)
def is_plain_word(word: str) -> bool:
    """Return whether a folded word is merely grammatical ("the", 可以) or names an action ("cancel"), so that it identifies nothing."""
    return not meaning_in(word, acts_in(word), shortest=1)


def meaning_in(text: str, acts: Iterable[str] = (), known: Collection[str] = (), *, shortest: int = 2) -> str:
    """Return the first word of a folded text that is not courtesy, grammar, an action or a known word; empty if there is none.

    Args:
        text: the text, without the values that are read in it.
        acts: acts whose words are understood.
        known: further words that are, without the ending of a plural.
        shortest: so many Chinese characters in a row say something; one alone is mostly a particle.
    """
    text = re.sub(r"\bper [a-z]+", "|", text)  # "9 EUR per month"
    text = without_acts(text, acts)
    for match in re.finditer(r"[a-z][a-z'-]*|[\u3400-\u9fff]+", text):
        word = match[0].strip("'-")
        if not word.isascii():
            left = re.search(f"[\u3400-\u9fff]{{{shortest},}}", _pattern("plain_han").sub("|", word))
            if left and not any(left[0] in phrase for phrase in known):
                return left[0]
        elif _forms(word).isdisjoint(known) and not all(
            any(map(_pattern("plain").fullmatch, _forms(part))) for part in re.split("['-]", word) if len(part) > 1
        ):
            return word
    return ""


def _forms(word: str) -> set[str]:
    """Return a word with and without an English plural or genitive ending."""
    return {word, word.removesuffix("'s"), word.removesuffix("s")}


def without_acts(text: str, acts: Iterable[str]) -> str:
    """Return a folded text with the words for some actions replaced by bars."""
    for act in sorted(acts):
        text = _pattern(f"act_{act}").sub("|", text)
    return text


def words_for(acts: Iterable[str], text: str) -> str:
    """Return the joined words in a folded text that name some actions; empty if there are none."""
    return "".join(match[0] for act in sorted(acts) for match in _pattern(f"act_{act}").finditer(text))


def acts_in(text: str, without: Iterable[str] = ()) -> frozenset[str]:
    """Return the actions that a folded text names, as English verbs; ``without``: actions to ignore."""
    text = without_acts(text, without)
    return frozenset(act for act in _acts() if _pattern(f"act_{act}").search(text))


def acts_of(name: str, description: str) -> frozenset[str]:
    """Return the actions of a tool as English verbs, from the start of its name or description; empty if unknown."""
    words = [word for word in fold_phrase(name).replace("-", "_").split("_") if not _pattern("light").fullmatch(word)]
    text = fold_phrase(description)
    if text[:1].isascii():
        beginnings = [text.split(maxsplit=1)[0].removesuffix("s")]
    else:
        beginnings = [text[:end] for end in range(1, len(text) + 1)]
    act_sets = [acts for part in (*words[:1], *beginnings) if (acts := acts_in(part))]
    return next(
        (acts for acts in act_sets if acts - {"apply"}), act_sets[0] if act_sets else frozenset()
    )  # 申请退货 asks for a return


def words_of(act: str) -> list[str]:
    """Return the simplest words for an action: the English verb, and a Chinese verb if available."""
    return [act.replace("_", " "), *re.findall(r"[\u3400-\u9fff]{2,}", _words()[f"act_{act}"])[:1]]


@cache
def _acts() -> tuple[str, ...]:
    """Return the names of all actions with patterns in go_ahead.yaml."""
    return tuple(name.removeprefix("act_") for name in _words() if name.startswith("act_"))


def go_ahead_requests(document: Document) -> frozenset[int]:
    """Return the indexes of the sentences in an agent's message that ask for approval."""
    sentences = [_plain(document.words(span)) for span in document.sentences]
    whole = "\n".join(sentences)

    def has(*names: str) -> bool:
        """Return whether one of these patterns occurs in the message."""
        return any(_pattern(name).search(whole) for name in names)

    # The forms of one sentence first: few messages have any, and each pattern that is not needed need not be compiled.
    return frozenset(
        number
        for number, (sentence, following) in enumerate(zip(sentences, [*sentences[1:], ""], strict=True))
        if not _pattern("answered").match(following)
        and (
            _asks(sentence)
            or (_accepts(sentence) and (has("pending", "zh_pending") or not has("reported", "zh_reported")))
            or (
                (_pattern("verified").search(sentence) or _pattern("zh_verified").search(sentence))
                and has("pending", "zh_pending")
            )
        )
    )


def _accepts(sentence: str) -> bool:
    """Return whether a plain yes or no can answer a sentence."""
    if _pattern("choice").search(sentence) or _pattern("zh_choice").search(sentence):
        return False
    bare = any(_pattern("approving").search(match[0]) for match in _pattern("bare").finditer(sentence))
    return bare or bool(_pattern("accepted").search(sentence) or _pattern("zh_accepted").search(sentence))


def _asks(sentence: str) -> bool:
    """Return whether a sentence itself asks for approval, and not for a detail or a choice."""
    if _pattern("general").search(sentence) and not sentence.endswith(("?", "吗")):
        return False
    if _pattern("may_ask").search(sentence) and any(
        _is_request(sentence, match.start(), match.end()) for match in _pattern("asks").finditer(sentence)
    ):
        return True
    return not sentence.isascii() and any(
        not _pattern("detail").search(match[0])
        and not _pattern("zh_told").search(sentence, 0, match.start() + (match[0][0] in ",。;:!"))
        for match in _pattern("zh_asks").finditer(sentence)
    )


def _is_request(sentence: str, start: int, end: int) -> bool:
    """Return whether an asking phrase in its context asks for no detail, choice or open answer."""
    before = _pattern("resets").split(sentence[:start])[-1]
    after = re.split(r"[,;?!]", sentence[end:])[0]
    around = f"{before}{sentence[start:end]}{after}"
    return not (
        _pattern("which").search(before)
        or _pattern("choice").search(sentence, start)
        or _pattern("anything").search(around)
    )


def _plain(sentence: str) -> str:
    """Return a sentence folded, without trailing emoji, quoted words and mentions of earlier agreements."""
    apart = _pattern("set_apart").sub(lambda match: f'{match[1]}{match[2]} "{match[3] or match[4]}"', sentence)
    folded = _pattern("single").sub(r'"\1"', fold_phrase(apart).translate(_BRACKETS))
    folded = _pattern("before").sub("", _pattern("quoted").sub('""', folded)).replace("请问", "")
    return re.sub(r"[\s~\u2600-\u27bf\U0001f300-\U0001faff]+$", "", folded) or folded


def agrees(message: str) -> bool | None:
    """Return whether a user's words clearly agree (True) or clearly decline (False); None if neither."""
    answer = fold_phrase(message[:_READ_CHARS]).strip(" \"'.!")
    if _pattern("declines").match(answer):
        return False if "go ahead" not in answer and "?" not in answer else None
    return True if _pattern("agrees").match(answer) and not _pattern("hedged").search(answer) else None


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


class AskedBound(NamedTuple):
    """A bound that a query sets for a figure, with its place in the text.

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
    """A query's condition on opening times: open at all or any of ``minutes`` after midnight; no minutes mean now."""

    start: int
    end: int
    minutes: tuple[int, ...]
    every: bool = True


_Condition = TypeVar("_Condition", AskedBound, Opening, Wish)


class Conditions(NamedTuple):
    """The conditions that a query sets: bounds of figures and opening times.

    ``asking``: where its words only ask ("find me a"), start and end. ``hours``: when it wishes places to open, close or be shut; ``openings`` has these times, too.
    """

    bounds: tuple[AskedBound, ...]
    openings: tuple[Opening, ...]
    asking: tuple[tuple[int, int], ...]
    hours: tuple[Wish, ...] = ()


@cache
def _pack() -> Pack:
    """Return the words of conditions.yaml as a language pack."""
    data = words_in("conditions.yaml")
    roles = {f"role.{role}": words for role, words in data["role"].items()}
    return Pack("", {}).with_words({group: words for group, words in data.items() if group not in _NO_WORDS} | roles)


@cache
def _spellings() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the patterns of unusual spellings, each with the form that replaces it."""
    return tuple((re.compile(pattern), form) for pattern, form in words_in("conditions.yaml")["respelt"])


class _Respelt:
    """A query rewritten in spellings that the reply reader knows, with a map back to the original.

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
        """Return start and end in the original query of a span of the rewritten text."""
        return (self._spans[start][0], self._spans[end - 1][1]) if start < end else (0, 0)

    def placed(self, condition: _Condition) -> _Condition:
        """Return a condition with its place in the original query."""
        start, end = self.original(condition.start, condition.end)
        return condition._replace(start=start, end=end)


class _Beside:
    """The cue words of a query, indexed by the places where they begin and end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cues = tuple(_pack().find(text))
        self._starts = {cue.start: cue for cue in self.cues}
        self._ends = {cue.end: cue for cue in self.cues}

    def before(self, at: int) -> Cue | None:
        """Return the cue word that ends before a place, skipping blanks; None if there is none."""
        while at > 0 and self.text[at - 1] in _BETWEEN and at not in self._ends:
            at -= 1
        return self._ends.get(at)

    def after(self, at: int, limit: int | None = None) -> Cue | None:
        """Return the cue word that begins after a place and before a limit, skipping blanks; None if there is none."""
        limit = len(self.text) if limit is None else limit
        while at < limit and self.text[at] in _BETWEEN and at not in self._starts:
            at += 1
        return self._starts.get(at) if at < limit else None


@lru_cache(maxsize=256)
def conditions_of(text: str, vocabulary: Vocabulary | None = None) -> Conditions:
    """Return the bounds and opening times in a search text. Linear in its length; no text raises an exception.

    Args:
        text: the query, folded (NFKC, case).
        vocabulary: the domain words and the currency of the suite.
    """
    language = "zh" if any(map(is_han, text)) else "en"
    respelt = _Respelt(text)
    text = respelt.text
    document = read_page(open_page(text, language=language, vocabulary=vocabulary), lexicon_of(()))
    around = _Beside(text)
    openings = tuple(_openings(document, around))
    taken = [(opening.start, opening.end) for opening in openings]
    bounds = tuple(_bounds(document.quantities, around, taken))
    asking = tuple(respelt.original(cue.start, cue.end) for cue in around.cues if cue.has("asking"))
    hours = tuple(map(respelt.placed, hours_wished(text, document.times)))
    return Conditions(tuple(map(respelt.placed, bounds)), tuple(map(respelt.placed, openings)), asking, hours)


def _openings(document: Document, around: _Beside) -> Iterable[Opening]:
    """Yield the opening times that a query requires: now, always, or at a time of day."""
    for cue in around.cues:
        if cue.has("now"):
            yield Opening(cue.start, cue.end, ())
        elif cue.has("always"):
            yield Opening(cue.start, cue.end, tuple(range(0, _DAY, 60)))
    for time in document.times:
        before = around.before(time.span.start)
        if before is not None and "rating" in before.tags.get("role", ()):
            continue  # 评分四点五 is no time of day
        yield Opening(time.span.start, time.span.end, _minutes(time, document.words(time.span)), every=False)


def _minutes(time: ClockTime, words: str) -> tuple[int, ...]:
    """Return the minutes after midnight that a time may mean; for a closing time, the minute before it."""
    early = 1 if time.role in ("closing", "last_service") else 0
    written = _WRITTEN.match(words)
    hours = {int(written[1]) % 24} if written else set()
    meant = [minute for minute in time.minutes if minute // 60 in hours] or time.minutes
    return tuple(sorted({(minute - early) % _DAY for minute in meant}))


def _bounds(quantities: Sequence[Quantity], around: _Beside, taken: Sequence[tuple[int, int]]) -> Iterable[AskedBound]:
    """Yield the bounds on figures in a query, except figures inside opening times."""
    figures = [figure for figure in quantities if not any(start <= figure.span.start < end for start, end in taken)]
    skip = -1
    for at, figure in enumerate(figures):
        if at == skip:
            continue
        following = figures[at + 1] if at + 1 < len(figures) else None
        if following is not None and _is_range(figure, following, around.text):
            skip = at + 1
            whole = following._replace(
                span=figure.span._replace(end=following.span.end), low=figure.value, high=following.value
            )
            bound = _bound(whole._replace(approx="range"), around, _limit(figures, at + 2, around))
        else:
            bound = _bound(figure, around, _limit(figures, at + 1, around))
        if bound is not None:
            yield bound


def _limit(figures: Sequence[Quantity], at: int, around: _Beside) -> int:
    """Return the position where the words of a figure begin; the end of the text if there is no such figure."""
    return _walk(figures[at], figures[at].span.start, around.before, "").at if at < len(figures) else len(around.text)


def _is_range(first: Quantity, second: Quantity, text: str) -> bool:
    """Return whether two figures are the two ends of one range: "50-80"."""
    gap = text[first.span.end : second.span.start].strip()
    mark = _pack().words.get(gap, {})
    return first.approx == second.approx == "exact" and "range" in mark and second.value > first.value


class _Said(NamedTuple):
    """The meaning of the words on one side of a figure: their extent, the direction of the bound, and the role."""

    at: int
    way: str = ""
    role: str = ""


def _walk(figure: Quantity, start: int, step: Callable[[int], Cue | None], suffix: str, role: str = "") -> _Said:
    """Return the meaning of the words on one side of a figure. ``role``: the figure's role, if already known."""
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
    """Return whether a figure in a unit may have a role; a bare number may have any role."""
    if role == "wait":
        return unit in ("min", "count")
    return (unit not in ("star", "yuan", "foreign")) or (unit == "star") == (role == "rating")


def _bound(figure: Quantity, around: _Beside, limit: int) -> AskedBound | None:
    """Return the bound that a figure sets, or None; words from ``limit`` on belong to the next figure."""
    unit = figure.unit.partition(":")[0]
    bare = unit == "yuan" and not any(cue.has("unit") for cue in _pack().find(around.text[slice(*figure.span)]))
    figure = figure._replace(unit="count") if bare else figure  # a sum of money only by what stands around it
    before = _walk(figure, figure.span.start, around.before, "")
    after = _walk(figure, figure.span.end, lambda at: around.after(at, limit), "_after", before.role)
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
    return AskedBound(before.at, max(after.at, figure.span.end), low, high, way in ("above", "below"), unit, role)


class Denials:
    """Finds the words of a query that describe unwanted things.

    Args:
        text: the query, folded.
    """

    def __init__(self, text: str) -> None:
        self._beside = _Beside(text)

    def denies(self, start: int, end: int) -> bool:
        """Return whether the query rejects the words between two places."""
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
        """Return whether a denial that ends at one place continues at the next: "not spicy or loud"."""
        cues = [cue for cue in self._beside.cues if end <= cue.start and cue.end <= start]
        between = "".join(self._beside.text[end:start].split())
        covered = sum(len("".join(self._beside.text[cue.start : cue.end].split())) for cue in cues)
        return (
            covered == len(between)
            and any(cue.has("deny_on") for cue in cues)
            and all(cue.has("deny_on", "deny_filler") for cue in cues)
        )
