"""The checks on prose other than figures and claims: on proposals (``recommends``), statements, questions, ways of travelling, and places.

Words that are there and stand decide. That words are not there decides only where nothing else could say the same. What is not surely read decides nothing: where it
could turn the result, the finding is undecided and says which words are unclear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from pytest_mapsat.model import (
    Absent,
    Addressed,
    Asked,
    Json,
    Located,
    Match,
    Present,
    Quote,
    Recommends,
    Says,
    Step,
    Travels,
    WhichReply,
    all_true,
    any_true,
    distance_m,
    shown,
    values_at,
)
from pytest_mapsat.reading import Document, Mention, Span, fold_phrase, pack_of

from .context import JudgedDialogue
from .findings import (
    SHOWN_AT_MOST,
    Finding,
    absent,
    all_of,
    cite,
    cited,
    citing,
    clock_of,
    count_in_words,
    every,
    first_few,
    judges,
    one_of,
    quoted,
    unclear,
)
from .things import Entity, Named, Recommendation, key_of, word_at

#: Words of a language by what they do.
Groups = Mapping[str, frozenset[str]]
#: Ways of a building that end as streets do.
_INDOORS = ("坡道", "通道", "车道", "步道", "跑道", "过道")
_MEANT_OTHERWISE = "and it is unclear whether it is meant that way"
_WAYS = ("travel_time", "travel_distance")
_LISTED = 2


@judges(Says)
def says(check: Says, context: JudgedDialogue) -> Finding:
    """Judge whether the replies say some phrases and do not say others."""
    parts = [_said(check, context)] if check.any or check.all else []
    parts += [_not_said(check, context)] if check.none else []
    return every(parts) if len(parts) > 1 else parts[0]


def _said(check: Says, context: JudgedDialogue) -> Finding:
    """Judge whether the replies say a phrase of ``any`` and each phrase of ``all``, without a negation."""
    groups = ([check.any] if check.any else []) + [(phrase,) for phrase in check.all]
    wanted = f"a reply says {', and '.join(one_of(group) for group in groups)}"
    each = [context.phrased(group, check.turn) for group in groups]
    standing = [
        [named for named in mentions if _meant(*named) and _plainly(*named, "affirmed", context)] for mentions in each
    ]
    if all(standing):
        return citing(True, _places(mentions[0] for mentions in standing), "", wanted)
    missing = [(group, mentions) for group, mentions, there in zip(groups, each, standing, strict=True) if not there]
    why = "; ".join(f"no reply says {one_of(group)}" for group, _ in missing)
    denied = all(_meant(*named) is False for _, mentions in missing for named in mentions)
    plainly = [_plainly(*named, "denied", context) for _, mentions in missing for named in mentions]
    if (denied and all(plainly) and (context.silent(check.turn) if plainly else context.speechless(check.turn))) or (
        check.about and not any(has_any(document.text, check.about) for document in context.read(check.turn))
    ):
        return Finding(False, why, wanted, absent=True)
    doubtful = _places(named for _, mentions in missing for named in mentions)
    if doubtful:
        return unclear(doubtful, "but only under a negation" if denied else _MEANT_OTHERWISE, wanted)
    return unclear((), f"{why}, {_LEFT_OPEN}", wanted)


def _not_said(check: Says, context: JudgedDialogue) -> Finding:
    """Judge whether the replies say no phrase of ``none``, except under a negation or in a question.

    A fact is not kept for its words being absent: other words may say the same. It holds where they are denied, or nothing is said.
    """
    wanted = f"no reply says {one_of(check.none)}"
    phrased = context.phrased(check.none, check.turn)
    standing = [named for named in phrased if not _words_turned_down(*named)]
    sure = {
        named: (_surely(*named) and _plainly(*named, "affirmed", context)) or None
        for named in standing
        if _surely(*named) is not False
    }
    sure |= dict.fromkeys(
        named for named in phrased if named not in standing and not _plainly(*named, "denied", context)
    )
    for meant in (True, None):
        quotes = _places(named for named, meaning in sure.items() if meaning is meant)
        if quotes:
            return citing(False, quotes, "", wanted) if meant else unclear(quotes, _MEANT_OTHERWISE, wanted)
    if context.is_fact(check) and not phrased and not context.silent(check.turn):
        return unclear((), f"{wanted}, {_LEFT_OPEN}", wanted)
    return Finding(True, f"{wanted}, except under a negation", wanted)


@judges(Asked)
def asked(check: Asked, context: JudgedDialogue) -> Finding:
    """Judge whether the agent asked about the subject often enough and not too often."""
    either = [
        (document, question)
        for document in context.replies
        for question in document.questions
        if not check.about or has_any(document.words(question.span), check.about)
    ]
    questions = [(document, question.span) for document, question in either if not question.offer]
    subject = f" about {one_of(check.about)}" if check.about else ""
    most = check.at_most if check.at_most is not None else len(either)
    passed = check.at_least <= len(questions) <= most
    quotes = tuple(document.quote(span) for document, span in questions[:SHOWN_AT_MOST])
    # "Shall I pay it?" may count as a question.
    offers = [
        quote
        for document, each in either
        if each.offer and (quote := document.quote(each.span)).text.endswith(("?", "？"))
    ]
    if passed and len(questions) + len(offers) > most:
        return Finding(
            None, "it is unclear whether an offer counts as a question", f"at most {most} questions", tuple(offers)
        )
    wanted, why = (
        f"the agent asks {count} {'question' if count.endswith('one') else 'questions'}{subject}"
        for count in (
            count_in_words(check.at_least, check.at_most),
            {0: "no", 1: "one"}.get(len(questions), str(len(questions))),
        )
    )
    return Finding(passed, why, wanted, quotes)


@judges(Travels)
def travels(check: Travels, context: JudgedDialogue) -> Finding:
    """Judge whether the replies send the user only by the given ways of travelling."""
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
            return citing(passed, quotes, f"which is about going by {one_of(modes)}", wanted)
    groups = pack_of(context.language, context.vocabulary).groups
    asked_in = [turn.text for turn in context.trajectory.turns if turn.role == "user"]
    ways = [
        (document, mention, passed)
        for document in context.means_of(check.turn)
        for mention in document.mentions
        if mention.form == "full"
        and not _in_a_name(document, mention)
        and mention.keys[0] not in check.by
        and not (mention.keys[0] == "transit" and _owned(document, mention, groups))
        and not any(has_any(text, [document.words(mention.span)]) for text in asked_in)
        and (passed := _not_sent_by(document, mention, groups)) is not True
    ]
    for outcome, how in ((False, "tells"), (None, "may tell")):
        quotes = _places((document, mention) for document, mention, passed in ways if passed is outcome)
        if quotes:
            return citing(outcome, quotes, f"which the reply {how} the user to take", wanted)
    documents = context.read(check.turn)
    claimed = any(figure.role in _WAYS for document in documents for figure in document.quantities)
    why = f"no reply sends the user any other way than by {one_of(check.by)}"
    return Finding(True, why, wanted, nothing_claimed=not claimed)


def _in_a_name(document: Document, mention: Mention) -> bool:
    """Return whether a way of travelling is only part of a name: "Cooper's Walk"."""
    before = document.text[: mention.span.start].rsplit(None, 1)[-1:] if mention.span.start else []
    return document.text[mention.span.start].isupper() and bool(before) and before[0][:1].isupper()


def _owned(document: Document, mention: Mention, groups: Groups) -> bool:
    """Return whether the user already planned the way of travelling: "in time for your train"."""
    before = document.text[: mention.span.start].lower().rstrip(" ")
    return before.endswith(tuple(groups.get("owned", ())))


def _not_sent_by(document: Document, mention: Mention, groups: Groups) -> bool | None:
    """Return True if the reply does not send the user by a named way, False if it does, None if this is unclear."""
    open_ = mention.stance in ("affirmed", "described", "unclear")
    lead = fold_phrase(document.text[document.clauses[mention.clause].start : mention.span.start])
    if open_ and any(word in lead for word in groups.get("needless", ())):
        return None
    start = document.sentences[mention.sentence].start
    if mention.stance == "affirmed" and mention.why and mention.why in document.text[start : mention.span.start]:
        return False
    return None if open_ else True


def _words_turned_down(document: Document, mention: Mention) -> bool:
    """Return whether words are denied or rejected by other words around them."""
    return mention.stance in ("denied", "rejected") and mention.why not in document.words(mention.span)


def _meant(document: Document, mention: Mention) -> bool | None:
    """Return whether words are said and seriously meant.

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


def _plainly(document: Document, mention: Mention, how: Literal["affirmed", "denied"], context: JudgedDialogue) -> bool:
    """Return whether a simple sentence affirms or denies words; always True for names, addresses and numbers."""
    phrase, streets = mention.keys[0], pack_of(context.language, context.vocabulary).names["numbered_street"]
    words = phrase.split()
    street = phrase.endswith(tuple(streets)) and not phrase.endswith(_INDOORS)
    is_name = street or any(map(str.isdigit, phrase))
    is_name = is_name or (len(words) > 1 and all(word[0].isupper() for word in words))  # Gull Walk, and not Wi-Fi
    if is_name or mention.plainly == how:
        return True
    read = next(reply for reply in context.replies if reply.turn == document.turn)
    spans = [*(is_name.span for is_name in read.mentions), *(is_name.span for is_name in read.identifiers)]
    return any(span.start < mention.span.end and span.end > mention.span.start for span in spans)


def _surely(document: Document, mention: Mention) -> bool | None:
    """Return whether words are surely meant; None if they only describe a location or follow a negation."""
    meant = _meant(document, mention)
    located = mention.stance == "landmark"
    open_ = located or _denied_before(document, mention, document.sentences[mention.sentence].start)
    return None if meant and open_ else meant


def _denied_before(document: Document, mention: Mention, start: int) -> bool:
    """Return whether a negation lies between a position and the words; a negation before a comma is an answer ("No, it has gone")."""
    denials = [span for span in document.negations if start <= span.start and span.end <= mention.span.start]
    return any(document.text[span.end : span.end + 1] not in (",", "，") for span in denials)


def has_any(text: str, phrases: Iterable[str]) -> bool:
    """Return whether a text contains one of the phrases; in Latin script only as whole words (a regular plural counts)."""
    return place_of(text, phrases) is not None


def place_of(text: str, phrases: Iterable[str]) -> tuple[int, int] | None:
    """Return start and end, in the folded text, of the first listed phrase that occurs; None if none occurs."""
    text = fold_phrase(text)
    for phrase in map(fold_phrase, phrases):
        at = word_at(text, phrase)
        if at is not None:
            return at, at + len(phrase)
    return None


def _places(mentions: Iterable[Named]) -> tuple[Quote, ...]:
    """Return the quotes of the first mentions, as many as a finding shows."""
    return tuple(document.quote(mention.span) for document, mention in mentions)[:SHOWN_AT_MOST]


#: Han characters that end a word before a name begins: verbs, prepositions, particles.
_BEFORE = "在于到从往离距是为的和与及或、了着过这那您你我们它其有位处经沿向约近达去来把将请可以也并"
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_SHORTEST = 2
_LONGEST = 8


@judges(Located)
def located(check: Located, context: JudgedDialogue) -> Finding:
    """Judge whether a reply's recommendation, or the point it gives, lies in the required place."""
    wanted = _place_wanted(check)
    fits: list[tuple[Document, Span]] = []
    wrong: list[tuple[Document, Span]] = []
    for document in context.read(check.turn):
        for span, points in _points(document):
            if check.lon is None or not any(_is_users(point, context) for point in points):
                (fits if any(_lies(check, point) for point in points) else wrong).append((document, span))
    if wrong and not fits:
        return citing(False, _spans(wrong), "which lies elsewhere", wanted)
    if wrong:
        return unclear(_spans(wrong), "a second point, and it is unclear which place it belongs to", wanted)
    if fits:
        return citing(True, _spans(fits), "", wanted)
    told_words = [
        occurrence for document in context.read(check.turn) for occurrence in _occurrences(document, check.words)
    ]
    plainly = _spans([(document, span) for document, span, plain in told_words if plain])
    if plainly:
        return citing(True, plainly, "", wanted)
    if not check.by_name:
        return Finding(
            False, "no reply gives a point" + (f" or {one_of(check.words)}" if check.words else ""), wanted, absent=True
        )
    return _by_name(check, context, wanted)


def _by_name(check: Located, context: JudgedDialogue, wanted: str) -> Finding:
    """Judge by the known locations of the places that the replies name."""
    where: dict[str, bool] = {}
    for point in context.evidence.points:
        for key in point.subject:
            where[key] = where.get(key, False) or _lies(check, (point.lon, point.lat))
    standing = [thing for key, thing in context.standings(check.turn).items() if key in where]
    right = [thing for thing in standing if where[thing.key] and thing.proposed is not False]
    if any(thing.proposed for thing in right) or (
        right and all(thing.described or thing.conditional for thing in right)
    ):
        return citing(True, _quotes(right), "", wanted)
    if right:
        return unclear(_quotes(right), "and it is unclear whether it is the place that is meant", wanted)
    others = [thing for thing in standing if thing.proposed]
    if others:
        return citing(False, _quotes(others), "which lies elsewhere", wanted)
    if context.silent(check.turn):
        return Finding(False, "no reply names a place", wanted, absent=True)
    return unclear((), f"no reply names the place or gives a point, {_LEFT_OPEN}", wanted)


@judges(Addressed)
def addressed(check: Addressed, context: JudgedDialogue) -> Finding:
    """Judge whether a reply gives the right part of an address: one of ``names``, and no other name with one of the endings."""
    wanted = f"a reply says {one_of(check.names) if check.names else f'a name that ends with {one_of(check.endings)}'}"
    documents = context.read(check.turn)
    occurrences = [occurrence for document in documents for occurrence in _occurrences(document, check.names)]
    there = [occurrence for occurrence in occurrences if occurrence[2]]
    if there:
        return citing(True, _spans([(document, span) for document, span, _ in there]), "", wanted)
    if occurrences:
        return unclear(
            _spans([(d, s) for d, s, _ in occurrences]),
            "and it is unclear whether it is the place that is meant",
            wanted,
        )
    others = [(document, span) for document in documents for span in _other_names(document, check)]
    quotes = _spans(others)
    if others:
        return citing(not check.names, quotes, f"not {one_of(check.names)}" if check.names else "", wanted)
    return Finding(False, f"no reply says {one_of(check.names) if check.names else 'such a name'}", wanted, absent=True)


def _occurrences(document: Document, names: tuple[str, ...]) -> Iterator[tuple[Document, Span, bool]]:
    """Yield the first matching name in each sentence, and whether it is outside questions and negations."""
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
    """Return whether two spans start in the same clause."""
    return any(
        clause.start <= span.start < clause.end and clause.start <= other.start < clause.end
        for clause in document.clauses
    )


def _other_names(document: Document, check: Addressed) -> Iterator[Span]:
    """Yield names with one of the endings, except names in ``besides``, from sentences that neither ask nor deny."""
    asked = {question.sentence for question in document.questions}
    endings = sorted(check.endings, key=len, reverse=True)
    for number, sentence in enumerate(document.sentences):
        text = document.words(sentence)
        if number in asked or any(sentence.start <= denial.start < sentence.end for denial in document.negations):
            continue
        for name in sorted(check.besides, key=len, reverse=True):
            text = text.replace(name, "\0" * len(name))
        for run in _HAN.finditer(text):
            yield from _names_in(run, sentence.start, endings)


def _names_in(run: re.Match[str], offset: int, endings: list[str]) -> Iterator[Span]:
    """Yield the spans in a run of Chinese characters that end in one of the endings and have the length of a name."""
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


def _points(document: Document) -> Iterator[tuple[Span, tuple[tuple[float, float], ...]]]:
    """Yield the coordinates in a reply, each in the possible orders of longitude and latitude."""
    for identifier in document.identifiers:
        if identifier.kind == "point":
            first, other = (float(part) for part in identifier.value.split(","))
            orders = ((first, other), (other, first))
            yield identifier.span, tuple(point for point in orders if abs(point[1]) <= _POLE)


_POLE = 90.0
_SAME_M = 30.0


def _is_users(point: tuple[float, float], context: JudgedDialogue) -> bool:
    """Return whether a point is the location of the user."""
    own = context.visible.context.location if context.visible else None
    return own is not None and distance_m(*point, own.lon, own.lat) <= _SAME_M


def _lies(check: Located, point: tuple[float, float]) -> bool:
    """Return whether a point lies within the check's distance; True if the check gives no point."""
    if check.lon is None or check.lat is None:
        return True
    return distance_m(*point, check.lon, check.lat) <= check.metres


def _place_wanted(check: Located) -> str:
    """Return the required location in words."""
    if check.lon is None:
        return "a reply names a place or gives a point"
    return f"a reply names or gives a place within {check.metres:g} m of {check.lon:g},{check.lat:g}"


def _spans(places: list[tuple[Document, Span]]) -> tuple[Quote, ...]:
    """Return the quotes of the first spans, as many as a finding shows."""
    return tuple(document.quote(span) for document, span in places[:SHOWN_AT_MOST])


_OPEN = "and it is unclear whether the reply recommends it"
_UNKNOWN = "which looks like a name that no tool returned"
_LEFT_OPEN = "unless other words say it"
_BY_OTHER_WORDS = "which other words of the reply may recommend"


@judges(Recommends)
def recommends(check: Recommends, context: JudgedDialogue) -> Finding:
    """Judge the recommendations of the replies; each part of the check is judged separately."""
    parts: list[Finding] = []
    if check.of_results:
        parts.append(_of_results(check, context))
    elif check.any_of:
        parts.append(_any_of(check, context))
    if check.forbids:
        parts.append(_none_of(check, context))
    if check.all_of:
        parts.append(_all_of(check, context))
    if check.in_order:
        parts.append(_in_order(check, context))
    if check.turned_down:
        parts.append(_ruled_out(check, context))
    return every(parts) if len(parts) > 1 else parts[0]


def _of_results(check: Recommends, context: JudgedDialogue) -> Finding:
    """Judge whether one (or every) recommendation is among ``any_of`` and has the attributes of ``where``.

    What the user names may be where the way leads, and no recommendation: where it alone fails the check, the check is undecided.
    """
    if not context.names_things(check.of_tool):
        return _undeclared(check.of_tool)
    wanted = f"{'everything' if check.only else 'something'} recommended {_holds(check.any_of, check.where)}"
    entities = _entities(check.any_of, check.where, check.of_tool, context)
    things = [standing for key, standing in context.standings(check.turn).items() if key in entities]
    finding = _recommended(check, things, entities, context, wanted)
    others = [thing for thing in things if thing.key not in context.named_by_user]
    if finding.passed is False and others and len(others) < len(things):
        without = _recommended(check, others, entities, context, wanted)
        if without.passed is not False:
            return unclear(finding.quotes, "which the user named, and which may be no recommendation", wanted)
    return finding


def _recommended(
    check: Recommends,
    things: Sequence[Recommendation],
    entities: Mapping[str, Sequence[Entity]],
    context: JudgedDialogue,
    wanted: str,
) -> Finding:
    """Return the finding of a ``recommends`` check from the things that the replies name."""
    things = _settled(things)
    proposed = [thing for thing in things if thing.proposed]
    maybe = [thing for thing in things if thing.proposed is None]
    fits = {thing.key: _fits(check, thing.key, entities[thing.key], context.calls) for thing in (*proposed, *maybe)}
    good = [thing for thing in proposed if fits[thing.key] is True]
    wrong = [thing for thing in proposed if fits[thing.key] is False]
    unsure = [thing for thing in proposed if fits[thing.key] is None]
    deciding = good if not check.only else wrong
    if deciding is wrong and _doubtful(wrong, good):
        return unclear(_quotes(wrong), _OPEN, wanted)
    if deciding:
        return _described(check, deciding, entities, context, wanted, fit=deciding is good)
    if unsure:
        return unclear(_quotes(unsure), f"and it is unclear whether it {_holds(check.any_of, check.where)}", wanted)
    harmless = check.only
    turning = [thing for thing in maybe if not proposed or fits[thing.key] is not harmless]
    unknown = context.unknown(check.turn) if good and not turning else ()
    if turning or unknown:
        return unclear(unknown or _quotes(turning), _UNKNOWN if unknown else _OPEN, wanted)
    if proposed:
        return _described(check, proposed, entities, context, wanted, fit=bool(good))
    return _none_proposed(check, things, context, wanted)._replace(missed=context.only_missed(check.of_tool))


def _settled(things: Sequence[Recommendation]) -> list[Recommendation]:
    """Return the things with ``proposed`` decided for things that are only described or recommended under a condition.

    The only one is proposed. Beside a chosen one, one that is described is not, and one under a condition stays open.
    """
    chosen = [thing for thing in things if thing.firmly]
    perhaps = [thing for thing in things if thing.conditional]
    if len(perhaps) == 1 and not any(thing.proposed for thing in things):
        return [replace(thing, proposed=True) if thing in perhaps else thing for thing in things]
    if len(things) == 1 and things[0].described:
        return [replace(things[0], proposed=True)]
    if len(chosen) == 1:
        return [replace(thing, proposed=False) if thing.described else thing for thing in things]
    return list(things)


def _doubtful(wrong: Sequence[Recommendation], good: Sequence[Recommendation]) -> bool:
    """Return whether words recommend a matching thing but only the reply's layout recommends a wrong thing, which may be a misreading."""
    return any(thing.firmly for thing in good) and bool(wrong) and not any(thing.firmly for thing in wrong)


def _proposes(context: JudgedDialogue, turn: WhichReply) -> bool:
    """Return whether the replies recommend any thing at all."""
    return any(standing.proposed for standing in context.standings(turn).values())


def _none_proposed(
    check: Recommends, things: Sequence[Recommendation], context: JudgedDialogue, wanted: str
) -> Finding:
    """Return the finding if no candidate is recommended: a failure unless other words may recommend a candidate."""
    stances = frozenset().union(*(thing.stances for thing in things))
    # After "You mean X?" a reply that says more may go on about it.
    doubtful = stances == {"asked"} or "rejected" in stances or _proposes(context, check.turn)
    if things and doubtful and not context.silent(check.turn):
        return unclear(_quotes(things), _BY_OTHER_WORDS, wanted)
    if things:
        why = f"{cited(_quotes(things))}, but no reply recommends {'it' if len(things) == 1 else 'them'}"
        return absent(check.if_absent, why, wanted)._replace(quotes=_quotes(things))
    entities = _entities(check.any_of, check.where, check.of_tool, context)
    matches = [] if entities else _named(check.any_of, context, check.turn)
    nothing = not (entities or matches or (context.entities and _proposes(context, check.turn)))
    if nothing or context.silent(check.turn):
        return absent(check.if_absent, "no reply recommends anything that a tool returned", wanted)
    if not context.named.isdisjoint(thing.key for thing in matches):
        return unclear(_quotes(matches), f"and no result says whether it {_holds(check.any_of, check.where)}", wanted)
    if matches:
        why = f"{cited(_quotes(matches))}, which no tool returned"
        return absent(check.if_absent, why, wanted)._replace(quotes=_quotes(matches))
    return unclear((), f"no reply recommends what is asked for, {_LEFT_OPEN}", wanted)


def _none_of(check: Recommends, context: JudgedDialogue) -> Finding:
    """Judge whether no recommended thing is in ``none_of`` or has all attributes of ``none_where``."""
    if not context.names_things(check.of_tool):
        return _undeclared(check.of_tool)
    wanted = f"nothing recommended {_holds(check.none_of, check.none_where, 'or')}"
    entities = _entities(check.none_of, check.none_where, check.of_tool, context)
    standing_pairs: list[tuple[Recommendation, bool | None]] = []
    for key, standing in context.standings(check.turn).items():
        if standing.proposed is False:
            continue
        named = any(key_of(name, (key,)) for name in check.none_of)
        if named and (key in entities or not check.none_where):
            standing_pairs.append((standing, True))
        elif key in entities and check.none_where:
            standing_pairs.append((standing, _has_all(entities[key], check.none_where, context.calls)))
    standings = context.standings(check.turn)
    firmly = any(thing.firmly for thing in standings.values())
    if any(thing.firmly for key, thing in standings.items() if key in entities):
        standing_pairs = [(standing, is_it) for standing, is_it in standing_pairs if not standing.described]
    for standing, is_it in standing_pairs:
        if standing.proposed and is_it and (standing.firmly or not firmly):
            named = any(key_of(name, (standing.key,)) for name in check.none_of)
            why = "" if named else f": it {_holds((), check.none_where)}"
            return citing(False, _quotes([standing]), f"which should not be recommended{why}", wanted)
    open_ = [standing for standing, is_it in standing_pairs if is_it is not False]
    unknown = () if open_ else context.unknown(check.turn)
    if open_ or unknown:
        what = _UNKNOWN if unknown else f"unclear whether {wanted.replace('nothing', 'something', 1)}"
        return unclear(unknown or _quotes(open_), what, wanted)
    return Finding(True, wanted, wanted, nothing_claimed=not _proposes(context, check.turn))


def _any_of(check: Recommends, context: JudgedDialogue) -> Finding:  # noqa: PLR0911  the cases, one after the other
    """Judge whether a thing of ``any_of`` and no thing of ``none_of`` is recommended.

    An option that seems to be turned down is no failure by itself: words that are not understood may propose it.
    """
    wanted = f"a reply recommends {one_of(check.any_of)}" + (
        f", and not {one_of(check.none_of)}" if check.none_of else ""
    )
    options, over = _named(check.any_of, context, check.turn), _named(check.none_of, context, check.turn)
    over = [thing for thing in over if thing.key not in {option.key for option in options}]
    wrong = [thing for thing in over if thing.proposed]
    chosen = [thing for thing in options if thing.proposed]
    if _doubtful(wrong, chosen) or (wrong and not any(thing.plainly for thing in wrong)):
        return unclear(_quotes(wrong), _OPEN, wanted)
    if wrong:
        return citing(False, _quotes(wrong), "which should not be recommended", wanted)
    firmly = any(thing.firmly for thing in chosen)
    open_ = [thing for thing in over if thing.proposed is None and not (thing.described and firmly)]
    if chosen and not open_:
        return citing(True, _quotes(chosen), "", wanted)
    open_ += [] if chosen else [thing for thing in options if thing.proposed is None]
    if open_:
        return unclear(_quotes(open_), _OPEN, wanted)
    why = f"no reply recommends {one_of(check.any_of)}"
    if options and context.silent(check.turn):
        return citing(False, _quotes(options), f"and {why}", wanted)._replace(absent=True)
    if options:
        return unclear(_quotes(options), _BY_OTHER_WORDS, wanted)
    return _unsaid(check.turn, why, wanted, context)


def _turned_down(thing: Recommendation) -> bool:
    """Return whether the replies reject a thing, or deny it with words about it."""
    return any(
        mention.stance == "rejected" or (mention.stance == "denied" and mention.why) for _, mention in thing.mentions
    )


def _ruled_out(check: Recommends, context: JudgedDialogue) -> Finding:
    """Judge whether a thing of ``turned_down`` is rejected and none is recommended."""
    wanted = f"a reply turns down {one_of(check.turned_down)}"
    things = _named(check.turned_down, context, check.turn)
    proposed = [thing for thing in things if thing.proposed]
    if any(thing.plainly for thing in proposed):
        return citing(False, _quotes(proposed), "and recommends it", wanted)
    if proposed:
        return unclear(_quotes(proposed), _OPEN, wanted)
    against = [thing for thing in things if _turned_down(thing)]
    if any(thing.proposed is False for thing in against):
        return citing(True, _quotes(against), "", wanted)
    if things:
        return unclear(_quotes(things), "and it is unclear whether the reply turns it down", wanted)
    why = f"no reply speaks of {one_of(check.turned_down)}"
    if context.refuses(check.turn):
        return unclear((), f"{why}, unless it is what one of them refuses", wanted)
    return _unsaid(check.turn, why, wanted, context)


def _all_of(check: Recommends, context: JudgedDialogue) -> Finding:
    """Judge whether at least ``at_least`` and at most ``at_most`` of the things are recommended.

    Too few are a failure only where none is proposed: beside some that are, words that are not understood may propose the others.
    """
    least = min(check.at_least or len(check.all_of), len(check.all_of))
    most = len(check.all_of) if check.at_most is None else check.at_most
    count = "all" if least == len(check.all_of) else count_in_words(least, most if most < len(check.all_of) else None)
    wanted = f"a reply recommends {count} of {all_of(names[0] for names in check.all_of)}"
    each = [_named(names, context, check.turn) for names in check.all_of]
    there = [chosen[0] for things in each if (chosen := [thing for thing in things if thing.proposed])]
    missing, open_ = _not_proposed(check.all_of, each)
    unnamed = sum(not things for things in each)
    why = f"the reply recommends {len(there) or 'none'} of {len(check.all_of)}"
    why += f"; missing: {all_of(missing)}" if missing else ""
    # What is only set beside the others, or located, may be offered all the same: "for more power there's X".
    others = [
        things
        for things in each
        if things and all(thing.proposed is False and thing.stances <= {"compared", "landmark"} for thing in things)
    ]
    none = len(open_) + unnamed + len(others) < least or (not open_ and context.silent(check.turn))
    if len(there) > most or (not there and none and not _proposes(context, check.turn)):
        return Finding(False, why, wanted, _quotes(there), absent=len(there) <= most)
    if len(there) >= least and len(there) + len(open_) <= most:
        return Finding(True, why, wanted, _quotes(there))
    return unclear(_quotes(open_), _OPEN if open_ else f"{why}, {_LEFT_OPEN}", wanted)


def _not_proposed(
    groups: Sequence[Sequence[str]], each: Sequence[Sequence[Recommendation]]
) -> tuple[list[str], list[Recommendation]]:
    """Return the first names of the groups without a recommendation, and the things in them that may be recommended."""
    lacking = [
        (names[0], things)
        for names, things in zip(groups, each, strict=True)
        if not any(thing.proposed for thing in things)
    ]
    return [name for name, _ in lacking], [thing for _, things in lacking for thing in things if thing.proposed is None]


def _in_order(check: Recommends, context: JudgedDialogue) -> Finding:
    """Judge whether all things are recommended in the given order, by their arrival times or by the text."""
    wanted = f"a reply recommends {' before '.join(shown(names[0]) for names in check.in_order)}"
    each = [_named(names, context, check.turn) for names in check.in_order]
    missing, _ = _not_proposed(check.in_order, each)
    if missing:
        open_ = [thing for things in each for thing in things if thing.proposed is None]
        why = f"no reply recommends {one_of(missing)}"
        return unclear(_quotes(open_), _OPEN, wanted) if open_ else _unsaid(check.turn, why, wanted, context)
    ranks = [_rank([thing for thing in things if thing.proposed]) for things in each]
    quotes = tuple(document.quote(first.span) for document, first, _ in ranks)
    times = [_arrival(things, context, check.turn) for things in each]
    if None not in times:
        for index, (before, after) in enumerate(pairwise(time for time in times if time is not None)):
            if before >= after:
                why = (
                    f"{cite(quotes[index])} for {clock_of(before)}, but {cite(quotes[index + 1])} for {clock_of(after)}"
                )
                return Finding(False, why, wanted, quotes)
        return Finding(True, "their times are in this order", wanted, quotes)
    if all((a[0].turn, a[1].span) < (b[0].turn, b[1].span) for a, b in pairwise(ranks)):
        return Finding(True, "the reply first names them in this order", wanted, quotes)
    for index, (rank, later) in enumerate(pairwise(ranks)):
        if _listed(rank) and _listed(later) and later[2].span < rank[1].span and later[0] is rank[0]:
            return Finding(False, f"{cite(quotes[index + 1])} before {quoted(quotes[index])}", wanted, quotes)
    return unclear(quotes, "and their order is unclear", wanted)


def _rank(things: Sequence[Recommendation]) -> tuple[Document, Mention, Mention]:
    """Return the reply of the first mention, and the first and last mention, of the recommended thing."""
    mentions = [pair for thing in things for pair in thing.mentions]
    (document, first), (_, last) = mentions[0], mentions[-1]
    return document, first, last


def _listed(rank: tuple[Document, Mention, Mention]) -> bool:
    """Return whether a thing is first recommended in a list item or a table row."""
    document, first, _ = rank
    return any(
        block.kind in ("item", "row") and block.span.start <= first.span.start < block.span.end
        for block in document.blocks
    )


def _arrival(things: Sequence[Recommendation], context: JudgedDialogue, turn: WhichReply) -> int | None:
    """Return the arrival time at a thing in minutes; None if the replies give none or several."""
    keys = {thing.key for thing in things}
    times = {
        time.minutes
        for document in context.read(turn)
        for time in document.times
        if time.role == "arrival" and len(time.subject) == 1 and time.subject[0] in keys
    }
    return next(iter(times))[0] if len(times) == 1 and all(len(minutes) == 1 for minutes in times) else None


def _entities(
    names: Sequence[str], where: Mapping[str, Match], tool: str | None, context: JudgedDialogue
) -> dict[str, list[Entity]]:
    """Return the entities that can be recommended, by key: those of the check's tool, or places from any tool."""
    by_key: dict[str, list[Entity]] = {}
    for entity in context.entities:
        if entity.tool == tool or (tool is None and entity.sort == "place"):
            by_key.setdefault(entity.key, []).append(entity)
    if not where:
        by_key = {key: [] for name in names if (key := key_of(name, context.named))} | by_key
    return by_key


def _fits(check: Recommends, key: str, entities: Sequence[Entity], calls: Sequence[Step]) -> bool | None:
    """Return whether a thing has the name and attributes that the check requires; None if unclear."""
    if check.any_of and not any(key_of(name, (key,)) for name in check.any_of):
        return False
    return not check.where or _has_all(entities, check.where, calls)


def breaks(check: Recommends, key: str, context: JudgedDialogue) -> bool | None:
    """Return whether a recommendation of one thing breaks a check; None if this is unclear.

    A check that is about other things is not broken, nor is one that asks for any fitting thing by a further one that does not.
    """
    calls = context.calls
    parts: list[bool | None] = []
    if check.only:
        entities = _entities(check.any_of, check.where, check.of_tool, context).get(key)
        fits = entities is None or _fits(check, key, entities, calls)
        parts.append(None if fits is None else not fits)
    if check.forbids:
        entities = _entities(check.none_of, check.none_where, check.of_tool, context).get(key)
        if entities is not None:
            named = any(key_of(name, (key,)) for name in check.none_of)
            parts.append(named or (bool(check.none_where) and _has_all(entities, check.none_where, calls)))
    return any_true(parts)


def _has_all(entities: Sequence[Entity], where: Mapping[str, Match], calls: Sequence[Step]) -> bool | None:
    """Return whether the things with one name have every attribute; None if they differ or this is unclear.

    Records of one id are about one thing: an attribute that one of them lacks is looked for in the others.
    """
    by_id: dict[str, list[Json]] = {}
    for entity in entities:
        by_id.setdefault(entity.id, []).append(entity.record)
    alone = by_id.pop("", [])
    each_fits = [_has([record], where, calls) for record in alone]
    fits = {any_true(each_fits)} if alone else set()
    fits |= {_has(records, where, calls) for records in by_id.values()}
    return fits.pop() if len(fits) == 1 else None


def _has(records: Sequence[Json], where: Mapping[str, Match], calls: Sequence[Step]) -> bool | None:
    """Return whether a thing has every attribute in a single record; None if this is unclear."""
    each_fits: list[bool | None] = []
    for path, match in where.items():
        pairs = [(value, record) for record in records for value in values_at(record, path)]
        fits = (
            match.fits(value, arguments=record if isinstance(record, dict) else None, results=calls)
            for value, record in pairs or [(None, records[0])]
        )
        each_fits.append(any_true(fits))
    return all_true(each_fits)


def _named(names: Iterable[str], context: JudgedDialogue, turn: WhichReply) -> list[Recommendation]:
    """Return how the replies recommend the things with these names, without duplicates and unmentioned things."""
    standings = context.standings(turn)
    keys = dict.fromkeys(key_of(name, context.keys) for name in names)
    return [standings[key] for key in keys if key in standings]


def _unsaid(turn: WhichReply, why: str, wanted: str, context: JudgedDialogue) -> Finding:
    """Return the finding for a missing recommendation: a failure if the replies say nothing, otherwise unclear."""
    if context.silent(turn):
        return Finding(False, why, wanted)
    return unclear((), f"{why}, {_LEFT_OPEN}", wanted)


def _holds(names: Sequence[str], where: Mapping[str, Match], joint: str = "and") -> str:
    """Return the required names and attributes as a predicate: ``is 'Old Mill' and has rating at least 4.5``."""
    parts = [f"is {one_of(names)}"] if names else []
    parts += [f"has {_attributes(where)}"] if where else []
    return f" {joint} ".join(parts) or "comes from a tool"


def _described(
    check: Recommends,
    deciding: Sequence[Recommendation],
    entities: Mapping[str, Sequence[Entity]],
    context: JudgedDialogue,
    wanted: str,
    *,
    fit: bool,
) -> Finding:
    """Return the finding that things match the check or not, with the values of a single thing that does not match."""
    key = deciding[0].key
    if fit or len(deciding) > 1:
        which = "which" if len(deciding) == 1 else "each of which" if fit else "none of which"
        what = f"{which} {_holds(check.any_of, check.where)}"
    elif check.any_of and not any(key_of(name, (key,)) for name in check.any_of):
        what = f"which is not {one_of(check.any_of)}"
    else:
        lacking = _lacking([entity.record for entity in entities[key]], check.where, context.calls)
        what = f"which does not have {_attributes(check.where)}{lacking}"
    return citing(fit, _quotes(deciding), what, wanted)


def _attributes(where: Mapping[str, Match]) -> str:
    """Return attributes in words, to follow "has": ``rating at least 4.5 and a value for phone``."""
    given = {Present: "a value for", Absent: "no value for"}
    return " and ".join(
        f"{given[type(match)]} {name}" if type(match) in given else f"{name} {match.words()}"
        for name, match in where.items()
    )


def _lacking(records: Sequence[Json], where: Mapping[str, Match], calls: Sequence[Step]) -> str:
    """Return in words a thing's actual values for the required attributes: ``: its hours are '09:00-18:00'``; may be empty."""
    quotes = []
    for path, match in where.items():
        if records and _has(records, {path: match}, calls) is False:
            values = dict.fromkeys(shown(value) for record in records for value in values_at(record, path))
            plural = path.endswith("s") and not path.endswith(("ss", "us", "is"))
            quotes.append(f"its {path} {'are' if plural else 'is'} {first_few(list(values), ' or ') or 'not given'}")
    return f": {' and '.join(quotes)}" if quotes else ""


def _quotes(things: Iterable[Recommendation]) -> tuple[Quote, ...]:
    """Return the first quote that names each thing, as many as a finding shows."""
    return tuple(thing.mentions[0][0].quote(thing.mentions[0][1].span) for thing in things if thing.mentions)[
        :SHOWN_AT_MOST
    ]


def _undeclared(tool: str | None) -> Finding:
    """Return an error finding if tools do not declare the named things in their results."""
    who = f"the tool {tool} does not declare" if tool else "no tool of the suite declares"
    return Finding(None, f"{who} where its results name things (entities)", broken=True)
