"""The checks on words: ``says``, ``asked``, ``travels``; and on where something is: ``located``, ``addressed``.

Words that are there and stand decide. That words are not there decides only where nothing else could say the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from pytest_mapsat.model import Addressed, Asked, Located, Quote, Says, Travels
from pytest_mapsat.reading import Document, Mention, Span, fold_phrase, pack_of
from pytest_mapsat.sandbox import distance_m

from .context import Context
from .findings import SHOWN_AT_MOST, Finding, cited, count_in_words, every, judges, one_of, unclear
from .things import Named, Recommendation, word_at

#: Words of a language by what they do.
Groups = Mapping[str, frozenset[str]]
#: Ways of a building that end as streets do.
_INDOORS = ("坡道", "通道", "车道", "步道", "跑道", "过道")
_OPEN = "and it is unclear whether it is meant that way"
_LEFT_OPEN = "unless other words say it"
_WAYS = ("travel_time", "travel_distance")
_LISTED = 2


@judges(Says)
def says(check: Says, context: Context) -> Finding:
    """Words are said, and others are not."""
    parts = [_said(check, context)] if check.any or check.all else []
    parts += [_not_said(check, context)] if check.none else []
    return every(parts) if len(parts) > 1 else parts[0]


def _said(check: Says, context: Context) -> Finding:
    """One of ``any`` and each of ``all`` is said, not under a negation."""
    groups = ([check.any] if check.any else []) + [(phrase,) for phrase in check.all]
    wanted = f"a reply says {', and '.join(one_of(group) for group in groups)}"
    each = [context.phrased(group, check.turn) for group in groups]
    standing = [
        [named for named in mentions if _meant(*named) and _plainly(*named, "affirmed", context)] for mentions in each
    ]
    if all(standing):
        quotes = _quotes(mentions[0] for mentions in standing)
        return Finding(True, cited(quotes), wanted, quotes)
    missing = [(group, mentions) for group, mentions, there in zip(groups, each, standing, strict=True) if not there]
    why = "; ".join(f"no reply says {one_of(group)}" for group, _ in missing)
    denied = all(_meant(*named) is False for _, mentions in missing for named in mentions)
    plainly = [_plainly(*named, "denied", context) for _, mentions in missing for named in mentions]
    if (denied and all(plainly) and (context.silent(check.turn) if plainly else context.speechless(check.turn))) or (
        check.about and not any(has_any(document.text, check.about) for document in context.read(check.turn))
    ):
        return Finding(False, why, wanted, absent=True)
    doubtful = _quotes(named for _, mentions in missing for named in mentions)
    if doubtful:
        return unclear(doubtful, "but only under a negation" if denied else _OPEN, wanted)
    return unclear((), f"{why}, {_LEFT_OPEN}", wanted)


def _not_said(check: Says, context: Context) -> Finding:
    """None of ``phrases`` is said, unless under a negation or in a question; a comparison leaves it open.

    A fact is not kept for its words being absent: other words may say the same. It holds where they are denied, or nothing is said.
    """
    wanted = f"no reply says {one_of(check.none)}"
    phrased = context.phrased(check.none, check.turn)
    standing = [named for named in phrased if not _turned_down(*named)]
    sure = {
        named: (_surely(*named) and _plainly(*named, "affirmed", context)) or None
        for named in standing
        if _surely(*named) is not False
    }
    sure |= dict.fromkeys(
        named for named in phrased if named not in standing and not _plainly(*named, "denied", context)
    )
    for meant in (True, None):
        quotes = _quotes(named for named, meaning in sure.items() if meaning is meant)
        if quotes and meant:
            return Finding(False, cited(quotes), wanted, quotes)
        if quotes:
            return unclear(quotes, _OPEN, wanted)
    if context.is_fact(check) and not phrased and not context.silent(check.turn):
        return unclear((), f"{wanted}, {_LEFT_OPEN}", wanted)
    return Finding(True, f"{wanted}, except under a negation", wanted)


@judges(Asked)
def asked(check: Asked, context: Context) -> Finding:
    """The agent asked often enough, and not too often, about the subject."""
    questions = [
        (document, question.span)
        for document in context.replies
        for question in document.questions
        if not question.offer and (not check.about or has_any(document.words(question.span), check.about))
    ]
    subject = f" about {one_of(check.about)}" if check.about else ""
    passed = check.at_least <= len(questions) <= (check.at_most if check.at_most is not None else len(questions))
    quotes = tuple(document.quote(span) for document, span in questions[:SHOWN_AT_MOST])
    wanted, why = (
        f"the agent asks {count} {'question' if count.endswith('one') else 'questions'}{subject}"
        for count in (
            count_in_words(check.at_least, check.at_most),
            {0: "no", 1: "one"}.get(len(questions), str(len(questions))),
        )
    )
    return Finding(passed, why, wanted, quotes)


@judges(Travels)
def travels(check: Travels, context: Context) -> Finding:
    """No travel time or length of another way of travelling is affirmed."""
    wanted = f"only {one_of(check.by)} as the way of travelling"
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
            why = f"which tells of going by {one_of(modes)}"
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
                Finding(False, f"{cited(quotes)}, which the reply tells the user to take", wanted, quotes)
                if outcome is False
                else unclear(quotes, "which the reply may tell the user to take", wanted)
            )
    documents = context.read(check.turn)
    claimed = any(figure.role in _WAYS for document in documents for figure in document.quantities)
    pack = pack_of(context.language, context.vocabulary)
    words = [word for word, tags in pack.words.items() if {tags.get("mode"), tags.get("means")} & {*check.by}]
    if check.named and not any(has_any(document.text, words) for document in documents):
        return Finding(False, f"no reply names going by {one_of(check.by)}", wanted)
    why = f"no reply sends the user any other way than by {one_of(check.by)}"
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
    """Return whether the user is not sent by a way that is named, as by one that is turned down does; None where that is not sure."""
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


def _plainly(document: Document, mention: Mention, how: Literal["affirmed", "denied"], context: Context) -> bool:
    """Return whether words stand in a sentence that plainly affirms, or denies, them; those of names, addresses and numbers need none."""
    phrase, streets = mention.keys[0], pack_of(context.language, context.vocabulary).names["numbered_street"]
    words = phrase.split()
    street = phrase.endswith(tuple(streets)) and not phrase.endswith(_INDOORS)
    named = street or any(map(str.isdigit, phrase))
    named = named or (len(words) > 1 and all(word[0].isupper() for word in words))  # Gull Walk, and not Wi-Fi
    if named or mention.plainly == how:
        return True
    read = next(reply for reply in context.replies if reply.turn == document.turn)
    spans = [*(named.span for named in read.mentions), *(named.span for named in read.identifiers)]
    return any(span.start < mention.span.end and span.end > mention.span.start for span in spans)


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


def _quotes(mentions: Iterable[Named]) -> tuple[Quote, ...]:
    return tuple(document.quote(mention.span) for document, mention in mentions)[:SHOWN_AT_MOST]


#: Han characters that end a word before a name begins: verbs, prepositions, particles.
_BEFORE = "在于到从往离距是为的和与及或、了着过这那您你我们它其有位处经沿向约近达去来把将请可以也并"
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_SHORTEST = 2
_LONGEST = 8


@judges(Located)
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
        return unclear(_spans(wrong), "a second point, and it is unclear which place it belongs to", wanted)
    if fits:
        return Finding(True, cited(_spans(fits)), wanted, _spans(fits))
    told_words = [
        occurrence for document in context.read(check.turn) for occurrence in _occurrences(document, check.words)
    ]
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
    for point in context.evidence.points:
        for key in point.subject:
            where[key] = where.get(key, False) or _lies(check, (point.lon, point.lat))
    standing = [thing for key, thing in context.standings(check.turn).items() if key in where]
    right = [thing for thing in standing if where[thing.key] and thing.proposed is not False]
    if any(thing.proposed for thing in right) or (
        right and all(thing.described or thing.conditional for thing in right)
    ):
        quotes = _named(right)
        return Finding(True, cited(quotes), wanted, quotes)
    if right:
        return unclear(_named(right), "and it is unclear whether it is the place that is meant", wanted)
    others = [thing for thing in standing if thing.proposed]
    if others:
        quotes = _named(others)
        return Finding(False, f"{cited(quotes)}, which lies elsewhere", wanted, quotes)
    if context.silent(check.turn):
        return Finding(False, "no reply names a place", wanted, absent=True)
    return unclear((), f"no reply names the place or gives a point, {_LEFT_OPEN}", wanted)


@judges(Addressed)
def addressed(check: Addressed, context: Context) -> Finding:
    """A part of an address is the right one: one of ``names`` is told; another name with one of the endings is not it."""
    wanted = f"a reply says {one_of(check.names) if check.names else f'a name that ends with {one_of(check.endings)}'}"
    documents = context.read(check.turn)
    named = [occurrence for document in documents for occurrence in _occurrences(document, check.names)]
    there = [occurrence for occurrence in named if occurrence[2]]
    if there:
        quotes = _spans([(document, span) for document, span, _ in there])
        return Finding(True, cited(quotes), wanted, quotes)
    if named:
        return unclear(
            _spans([(d, s) for d, s, _ in named]), "and it is unclear whether it is the place that is meant", wanted
        )
    others = [(document, span) for document in documents for span in _other_names(document, check)]
    quotes = _spans(others)
    if others and not check.names:
        return Finding(True, cited(quotes), wanted, quotes)
    if others:
        return Finding(False, f"{cited(quotes)}, not {one_of(check.names)}", wanted, quotes)
    return Finding(False, f"no reply says {one_of(check.names) if check.names else 'such a name'}", wanted, absent=True)


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


def _same_clause(document: Document, span: Span, other: Span) -> bool:
    return any(
        clause.start <= span.start < clause.end and clause.start <= other.start < clause.end
        for clause in document.clauses
    )


def _other_names(document: Document, check: Addressed) -> Iterator[Span]:
    """Yield the names with one of the endings that are none of ``besides``, in sentences that neither ask nor deny."""
    asked = {question.sentence for question in document.questions}
    endings = sorted(check.endings, key=len, reverse=True)
    for number, sentence in enumerate(document.sentences):
        text = document.words(sentence)
        if number in asked or any(sentence.start <= denial.start < sentence.end for denial in document.negations):
            continue
        for beside in sorted(check.besides, key=len, reverse=True):
            text = text.replace(beside, "\0" * len(beside))
        for run in _HAN.finditer(text):
            yield from _names_in(run, sentence.start, endings)


def _names_in(run: re.Match[str], offset: int, endings: list[str]) -> Iterator[Span]:
    begins = 0
    words = run.group()
    for at in range(len(words)):
        ending = next((suffix for suffix in endings if words.startswith(suffix, at)), None)
        if ending is None:
            begins = at + 1 if words[at] in _BEFORE else begins
            continue
        if _SHORTEST <= at - begins + len(ending) <= _LONGEST + len(ending) and at > begins:
            yield Span(offset + run.start() + begins, offset + run.start() + at + len(ending))
        begins = at + len(ending)


def _points(document: Document) -> Iterator[tuple[Span, tuple[float, float]]]:
    """Yield the points that a reply gives, longitude first; where the first figure can only be a latitude they are turned."""
    for identifier in document.identifiers:
        if identifier.kind == "point":
            first, other = (float(part) for part in identifier.value.split(","))
            yield (
                identifier.span,
                (first, other) if abs(other) <= _POLE < abs(first) or abs(first) >= abs(other) else (other, first),
            )


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
        return "a reply names a place or gives a point"
    return f"a reply names or gives a place within {check.metres:g} m of {check.lon:g},{check.lat:g}"


def _spans(places: list[tuple[Document, Span]]) -> tuple[Quote, ...]:
    return tuple(document.quote(span) for document, span in places[:SHOWN_AT_MOST])


def _named(things: list[Recommendation]) -> tuple[Quote, ...]:
    mentions: list[tuple[Document, Mention]] = [thing.mentions[0] for thing in things if thing.mentions]
    return tuple(document.quote(mention.span) for document, mention in mentions[:SHOWN_AT_MOST])
