"""The checks on where something is: ``located`` for points and places with one, ``addressed`` for the parts of an address."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_mapsat.model import Addressed, Located, Quote
from pytest_mapsat.sandbox import distance_m
from pytest_mapsat.text import Document, Mention, Span

from .context import Context
from .describe import one_of
from .finding import SHOWN_AT_MOST, Finding, cited, unclear
from .things import Recommendation, word_at

#: Han characters that end a word before a name begins: verbs, prepositions, particles.
_BEFORE = "在于到从往离距是为的和与及或、了着过这那您你我们它其有位处经沿向约近达去来把将请可以也并"
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_SHORTEST = 2
_LONGEST = 8


def located(check: Located, context: Context) -> Finding:
    """What the reply proposes, or the point that it gives, lies where it must."""
    wanted = _place_wanted(check)
    points = [(document, span, point) for document in context.read(check.turn) for span, point in _points(document)]
    own = [(document, span) for document, span, point in points if check.lon is not None and _is_users(point, context)]
    told = [(document, span, point) for document, span, point in points if (document, span) not in own]
    fits = [(document, span) for document, span, point in told if _lies(check, point)]
    wrong = [(document, span) for document, span, point in told if not _lies(check, point)]
    if wrong and not fits:
        quotes = _spans(wrong)
        return Finding(False, f"{cited(quotes)}, which lies elsewhere", wanted, quotes)
    if wrong:
        return unclear(_spans(wrong), "a second point, unclear which place it belongs to", wanted)
    if fits:
        return Finding(True, cited(_spans(fits)), wanted, _spans(fits))
    told_words = [one for document in context.read(check.turn) for one in _occurrences(document, check.words)]
    plainly = _spans([(document, span) for document, span, plain in told_words if plain])
    if plainly:
        return Finding(True, cited(plainly), wanted, plainly)
    if not check.by_name:
        return Finding(
            False, "no reply gives a point" + (f" or {one_of(check.words)}" if check.words else ""), wanted, absent=True
        )
    return _by_name(check, context, wanted)


def _by_name(check: Located, context: Context, wanted: str) -> Finding:
    """Judge by the places that are named: those that a tool put there, or elsewhere."""
    where: dict[str, bool] = {}
    for known in context.evidence.points:
        for key in known.subject:
            where[key] = where.get(key, False) or _lies(check, (known.lon, known.lat))
    standing = [one for key, one in context.standings(check.turn).items() if key in where]
    right = [one for one in standing if where[one.key] and one.proposed is not False]
    if any(one.proposed for one in right) or (right and all(one.described or one.conditional for one in right)):
        quotes = _named(right)
        return Finding(True, cited(quotes), wanted, quotes)
    if right:
        return unclear(_named(right), "unclear whether it is the place that is meant", wanted)
    others = [one for one in standing if one.proposed]
    if others:
        quotes = _named(others)
        return Finding(False, f"{cited(quotes)}, which lies elsewhere", wanted, quotes)
    if context.silent(check.turn):
        return Finding(False, "no reply tells a place", wanted, absent=True)
    return unclear((), "no reply names the place or gives a point in words that are understood", wanted)


def addressed(check: Addressed, context: Context) -> Finding:
    """A part of an address is the right one: one of ``names`` is told; another name with one of the endings is not it."""
    wanted = f"{one_of(check.names)} told" if check.names else f"a name that ends with {one_of(check.endings)} told"
    documents = context.read(check.turn)
    named = [one for document in documents for one in _occurrences(document, check.names)]
    there = [one for one in named if one[2]]
    if there:
        quotes = _spans([(document, span) for document, span, _ in there])
        return Finding(True, cited(quotes), wanted, quotes)
    if named:
        return unclear(_spans([(d, s) for d, s, _ in named]), "unclear whether it is the place that is meant", wanted)
    others = [(document, span) for document in documents for span in _other_names(document, check)]
    quotes = _spans(others)
    if others and not check.names:
        return Finding(True, cited(quotes), wanted, quotes)
    if others:
        return Finding(False, f"{cited(quotes)}, and not {one_of(check.names)}", wanted, quotes)
    return Finding(
        False, f"no reply tells {one_of(check.names) if check.names else 'such a name'}", wanted, absent=True
    )


def _occurrences(document: Document, names: tuple[str, ...]) -> Iterator[tuple[Document, Span, bool]]:
    """Yield where the first of the names stands in each sentence, and whether it is plainly told: not denied, not in a question."""
    asked = {question.sentence for question in document.questions}
    for number, sentence in enumerate(document.sentences):
        text = document.words(sentence).lower()
        for name in names:
            at = word_at(text, name.lower())
            if at is not None:
                span = Span(sentence.start + at, min(sentence.start + at + len(name), sentence.end))
                denied = any(
                    sentence.start <= denial.start < span.start and _same_clause(document, denial, span)
                    for denial in document.negations
                )
                yield document, span, number not in asked and not denied
                break


def _same_clause(document: Document, one: Span, other: Span) -> bool:
    return any(
        clause.start <= one.start < clause.end and clause.start <= other.start < clause.end
        for clause in document.clauses
    )


def _other_names(document: Document, check: Addressed) -> Iterator[Span]:
    """Yield the names with one of the endings that are none of ``besides``, in sentences that neither ask nor deny."""
    asked = {question.sentence for question in document.questions}
    endings = sorted(check.endings, key=len, reverse=True)
    for number, sentence in enumerate(document.sentences):
        text = document.words(sentence)
        if number in asked or any(sentence.start <= one.start < sentence.end for one in document.negations):
            continue
        for beside in sorted(check.besides, key=len, reverse=True):
            text = text.replace(beside, "\0" * len(beside))
        for run in _HAN.finditer(text):
            yield from _names_in(run, sentence.start, endings)


def _names_in(run: re.Match[str], offset: int, endings: list[str]) -> Iterator[Span]:
    begins = 0
    words = run.group()
    for at in range(len(words)):
        ending = next((one for one in endings if words.startswith(one, at)), None)
        if ending is None:
            begins = at + 1 if words[at] in _BEFORE else begins
            continue
        if _SHORTEST <= at - begins + len(ending) <= _LONGEST + len(ending) and at > begins:
            yield Span(offset + run.start() + begins, offset + run.start() + at + len(ending))
        begins = at + len(ending)


def _points(document: Document) -> Iterator[tuple[Span, tuple[float, float]]]:
    """Yield the points that a reply gives, longitude first; where the first figure can only be a latitude they are turned."""
    for found in document.identifiers:
        if found.kind == "point":
            one, other = (float(part) for part in found.value.split(","))
            yield found.span, (one, other) if abs(other) <= _POLE < abs(one) or abs(one) >= abs(other) else (other, one)


_POLE = 90.0
_SAME_M = 30.0


def _is_users(point: tuple[float, float], context: Context) -> bool:
    own = context.visible.context.location if context.visible else None
    return own is not None and distance_m(*point, own.lon, own.lat) <= _SAME_M


def _lies(check: Located, point: tuple[float, float]) -> bool:
    if check.lon is None or check.lat is None:
        return True
    return distance_m(*point, check.lon, check.lat) <= check.metres


def _place_wanted(check: Located) -> str:
    if check.lon is None:
        return "a place or a point told"
    return f"a place within {check.metres:g} m of {check.lon:g},{check.lat:g}"


def _spans(found: list[tuple[Document, Span]]) -> tuple[Quote, ...]:
    return tuple(document.quote(span) for document, span in found[:SHOWN_AT_MOST])


def _named(found: list[Recommendation]) -> tuple[Quote, ...]:
    mentions: list[tuple[Document, Mention]] = [one.mentions[0] for one in found if one.mentions]
    return tuple(document.quote(mention.span) for document, mention in mentions[:SHOWN_AT_MOST])
