"""The checks on words: ``says``, ``asked``, ``travels``.

Words that are there and stand decide. That words are not there decides only where nothing else could say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_mapsat.model import Asked, Quote, Says, Travels
from pytest_mapsat.text import Document, Mention, fold_phrase, pack_of

from .combine import every
from .context import Context
from .describe import one_of, times_in_words
from .finding import SHOWN_AT_MOST, Finding, cited, unclear
from .things import word_at

Found = tuple[Document, Mention]
#: Words of a language by what they do.
Groups = Mapping[str, frozenset[str]]
_OPEN = "unclear whether it is meant that way"
_WAYS = ("travel_time", "travel_distance")
_LISTED = 2


def says(check: Says, context: Context) -> Finding:
    """Words are said, and others are not."""
    parts = [_said(check, context)] if check.any or check.all else []
    parts += [_not_said(check, context)] if check.none else []
    return every(parts) if len(parts) > 1 else parts[0]


def _said(check: Says, context: Context) -> Finding:
    """One of ``any`` and each of ``all`` is said, not under a negation."""
    groups = ([check.any] if check.any else []) + [(phrase,) for phrase in check.all]
    wanted = " and ".join(one_of(group) for group in groups) + " said"
    each = [context.phrased(group, check.turn) for group in groups]
    standing = [[one for one in found if _meant(*one)] for found in each]
    if all(standing):
        quotes = _quotes(found[0] for found in standing)
        return Finding(True, cited(quotes), wanted, quotes)
    missing = [(group, found) for group, found, there in zip(groups, each, standing, strict=True) if not there]
    why = "; ".join(f"no reply says {one_of(group)}" for group, _ in missing)
    denied = all(_meant(*one) is False for _, found in missing for one in found)
    if (denied and context.silent(check.turn)) or (
        check.about and not any(has_any(document.text, check.about) for document in context.read(check.turn))
    ):
        return Finding(False, why, wanted, absent=True)
    doubtful = _quotes(one for _, found in missing for one in found)
    if doubtful:
        return unclear(doubtful, "under a negation only" if denied else _OPEN, wanted)
    return unclear((), f"{why} in words that are understood", wanted)


def _not_said(check: Says, context: Context) -> Finding:
    """None of ``phrases`` is said, unless under a negation or in a question; a comparison leaves it open.

    A fact is not kept for its words being absent: other words may say the same. It holds where they are denied, or nothing is said.
    """
    wanted = f"nothing said of {one_of(check.none)}"
    phrased = context.phrased(check.none, check.turn)
    found = [one for one in phrased if not _turned_down(*one)]
    for meant in (True, None):
        quotes = _quotes(one for one in found if _surely(*one) is meant)
        if quotes and meant:
            return Finding(False, cited(quotes), wanted, quotes)
        if quotes:
            return unclear(quotes, _OPEN, wanted)
    if context.is_fact(check) and not phrased and not context.silent(check.turn):
        return unclear((), f"no reply says {one_of(check.none)}, and other words may say the same", wanted)
    return Finding(True, f"no reply says {one_of(check.none)}, save under a negation", wanted)


def asked(check: Asked, context: Context) -> Finding:
    """The agent asked often enough, and not too often, about the subject."""
    found = [
        (document, question.span)
        for document in context.replies
        for question in document.questions
        if not question.offer and (not check.about or has_any(document.words(question.span), check.about))
    ]
    subject = f" about {one_of(check.about)}" if check.about else ""
    passed = check.at_least <= len(found) <= (check.at_most if check.at_most is not None else len(found))
    quotes = tuple(document.quote(span) for document, span in found[:SHOWN_AT_MOST])
    wanted = f"questions{subject}, {times_in_words(check.at_least, check.at_most)}"
    return Finding(passed, f"the agent asks {len(found)} questions{subject}", wanted, quotes)


def travels(check: Travels, context: Context) -> Finding:
    """No travel time or length of another way of travelling is affirmed."""
    wanted = f"no other way of travelling than {one_of(check.by)}"
    other = [
        (document, figure)
        for document in context.read(check.turn)
        for figure in document.quantities
        if figure.mode and figure.mode not in check.by and figure.role in _WAYS
    ]
    for passed, stance in ((False, "affirmed"), (None, "unclear")):
        quotes = tuple(document.quote(figure.span) for document, figure in other if figure.stance == stance)
        if quotes:
            modes = sorted({figure.mode for _, figure in other if figure.stance == stance})
            why = f"which is a way of {one_of(modes)}"
            return (
                unclear(quotes, why, wanted)
                if passed is None
                else Finding(False, f"{cited(quotes)}, {why}", wanted, quotes[:SHOWN_AT_MOST])
            )
    groups = pack_of(context.language, context.vocabulary).groups
    asked_in = [turn.text for turn in context.trajectory.turns if turn.role == "user"]
    told = [
        (document, mention, passed)
        for document in context.means_of(check.turn)
        for mention in document.mentions
        if mention.form == "full"
        and not _in_a_name(document, mention)
        and mention.keys[0] not in check.by
        and not (mention.keys[0] == "transit" and _owned(document, mention, groups))
        and not any(has_any(text, [document.words(mention.span)]) for text in asked_in)
        and (passed := _sent(document, mention, groups)) is not True
    ]
    for outcome in (False, None):
        quotes = _quotes((document, mention) for document, mention, passed in told if passed is outcome)
        if quotes:
            return (
                Finding(False, f"{cited(quotes)}, which the user is told to take", wanted, quotes)
                if outcome is False
                else unclear(quotes, "which the user may be told to take", wanted)
            )
    claimed = any(figure.role in _WAYS for document in context.read(check.turn) for figure in document.quantities)
    why = f"no reply sends the user on another way than {one_of(check.by)}"
    return Finding(True, why, wanted, nothing_claimed=not claimed)


def _in_a_name(document: Document, mention: Mention) -> bool:
    """Return whether a way is part of a name: "Cooper's Walk"."""
    before = document.text[: mention.span.start].rsplit(None, 1)[-1:] if mention.span.start else []
    return document.text[mention.span.start].isupper() and bool(before) and before[0][:1].isupper()


def _owned(document: Document, mention: Mention, groups: Groups) -> bool:
    """Return whether a way is one that the user has planned already: "in time for your train"."""
    before = document.text[: mention.span.start].lower().rstrip(" ")
    return before.endswith(tuple(groups.get("owned", ())))


def _sent(document: Document, mention: Mention, groups: Groups) -> bool | None:
    """Return whether a way that is named sends nobody, as one that is turned down does; None where that is not sure."""
    open_ = mention.stance in ("affirmed", "described", "unclear")
    lead = fold_phrase(document.text[document.clauses[mention.clause].start : mention.span.start])
    if open_ and any(word in lead for word in groups.get("needless", ())):
        return None
    start = document.sentences[mention.sentence].start
    if mention.stance == "affirmed" and mention.why and mention.why in document.text[start : mention.span.start]:
        return False
    return None if open_ else True


def _turned_down(document: Document, mention: Mention) -> bool:
    """Return whether words are turned down by what is said around them."""
    return mention.stance in ("denied", "rejected") and mention.why not in document.words(mention.span)


def _meant(document: Document, mention: Mention) -> bool | None:
    """Return whether words are said and meant.

    False where they are denied or asked, None where they are compared, or a denial stands earlier in the clause.
    """
    own = mention.span
    sentence = document.sentences[mention.sentence]
    clause = document.clauses[mention.clause]
    if not clause.start <= own.start < clause.end:
        clause = sentence
    by_itself = bool(mention.why) and mention.why in document.words(own)
    by_itself = by_itself or any(own.start <= span.start and span.end <= own.end for span in document.negations)
    # What a later clause says takes nothing back: "the last train has gone, so skip the station".
    later = bool(mention.why) and mention.why not in document.text[sentence.start : clause.end]
    if mention.stance == "asked" or (mention.stance in ("denied", "rejected") and not by_itself and not later):
        return False
    if mention.stance == "compared":
        return None
    # A denial goes on in a list: "no bus, metro or tram".
    lead = document.text[clause.start : own.start]
    listed = lead.isascii() and own.start > 0 and len(lead.split()) <= _LISTED and document.text[own.start].isascii()
    return None if _denied_before(document, mention, sentence.start if listed else clause.start) else True


def _surely(document: Document, mention: Mention) -> bool | None:
    """Return whether words are meant; None also where they only locate something, or a denial stands in the sentence."""
    meant = _meant(document, mention)
    located = mention.stance == "landmark"
    open_ = located or _denied_before(document, mention, document.sentences[mention.sentence].start)
    return None if meant and open_ else meant


def _denied_before(document: Document, mention: Mention, start: int) -> bool:
    """Return whether a denial stands between a place and words; "No, it has gone" is an answer."""
    denials = [span for span in document.negations if start <= span.start and span.end <= mention.span.start]
    return any(document.text[span.end : span.end + 1] not in (",", "，") for span in denials)


def has_any(text: str, phrases: Iterable[str]) -> bool:
    """Return whether a text has one of the phrases, as whole words where it is Latin (a plain plural counts)."""
    return place_of(text, phrases) is not None


def place_of(text: str, phrases: Iterable[str]) -> tuple[int, int] | None:
    """Return where the first of the phrases begins and ends in a text, as whole words where it is Latin; None where none is there."""
    text = fold_phrase(text)
    for phrase in map(fold_phrase, phrases):
        at = word_at(text, phrase)
        if at is not None:
            return at, at + len(phrase)
    return None


def _quotes(found: Iterable[Found]) -> tuple[Quote, ...]:
    return tuple(document.quote(mention.span) for document, mention in found)[:SHOWN_AT_MOST]
