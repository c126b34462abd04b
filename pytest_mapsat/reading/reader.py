"""Reads a reply: the one place where the steps follow one another."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from typing import cast

from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import FigureRole, TimeRole

from .clock import Number, Spoken, find_numbers, find_times, resolve
from .document import (
    Amount,
    BareNumber,
    ClockTime,
    Document,
    Identifier,
    Mention,
    Offer,
    Quantity,
    Question,
    Span,
)
from .figures import FoundIdentifier, ReadFigure, find_figures
from .names import Hit, Lexicon, find_names, tell_apart
from .pack import MONEY, Vocabulary
from .page import KEPT, Clause, Page, Scan, Sentence, inside, open_page, outside, scan
from .plain import plainly
from .roles import ROLES_OF_UNIT, Roles, Subjects, TimeRoles, Told
from .sides import Name
from .stance import read_stances, reasons
from .unread import CLOCK, LeftUnread, Unread

_COLONS = (":", "：")
_NOT = ("not ", "不是")


def take_back(document: Document, cut: Scan) -> Document:
    """Return the reading with all that is taken back denied."""
    spans = [Span(*cut.folded.span(start, end)) for start, end in _taken_back(cut) if end > start]
    if not spans:
        return document
    return replace(
        document,
        mentions=tuple(_denied(reading, inside=inside(reading.span.start, spans)) for reading in document.mentions),
        quantities=tuple(
            reading._replace(stance="denied") if inside(reading.span.start, spans) else reading
            for reading in document.quantities
        ),
        times=tuple(
            reading._replace(stance="denied") if inside(reading.span.start, spans) else reading
            for reading in document.times
        ),
    )


def _taken_back(cut: Scan) -> list[tuple[int, int]]:
    """Return the folded spans that are taken back, ascending, none overlapping another."""
    spans: list[tuple[int, int]] = []
    if not any(cue.has("takes_back_rest", "takes_back_sentence", "not") for cue in cut.cues):
        return spans
    for clause in cut.clauses:
        if spans and clause.start < spans[-1][1]:
            continue
        rest = clause.first("takes_back_rest")
        if rest and cut.text[rest.end : rest.end + 1] in _COLONS:
            spans.append((rest.end, len(cut.text)))
            break
        sentence = cut.sentences[clause.sentence]
        told = clause.first("takes_back_sentence")
        if told:
            spans.append((told.end, sentence.end))
        elif _begins_with_not(cut, clause):
            whole = cut.text.startswith(_NOT[1], _begin(cut, clause)) and clause.start == sentence.start
            spans.append((clause.start, sentence.end if whole else _denied_to(cut, clause)))
    return spans


def _denied_to(cut: Scan, clause: Clause) -> int:
    """Return where a denial ends that a clause begins with: "Not then a walk to X" is cut before "then"."""
    following = cut.clause_at(clause.end)
    alone = cut.text[clause.start : clause.end].strip() in {word.strip() for word in _NOT}
    return cut.clauses[following].end if alone and cut.clauses[following].sentence == clause.sentence else clause.end


def _begin(cut: Scan, clause: Clause) -> int:
    """Return where the words of a clause begin."""
    words = cut.text[clause.start : clause.end]
    return clause.start + len(words) - len(words.lstrip())


def _states(cut: Scan, clause: Clause) -> bool:
    """Return whether a clause begins with a bare "is", as Chinese says what is meant instead: 不是甲，是乙."""
    return bool(clause.cues) and clause.cues[0].has("is") and clause.cues[0].start == _begin(cut, clause)


def _begins_with_not(cut: Scan, clause: Clause) -> bool:
    """Return whether a clause begins with a bare denial; one that goes on with "but" or 而是 says only what is meant instead."""
    begin = _begin(cut, clause)
    if not cut.text.startswith(_NOT, begin) or not clause.cues or clause.cues[0].start != begin:
        return False
    sentence = cut.sentences[clause.sentence]
    clauses = cut.clauses[sentence.first : sentence.last]
    contrast = any(other.has("but") or "but" in other.links or _states(cut, other) for other in clauses)
    return clause.cues[0].has("not") and not contrast and "而是" not in cut.text[clause.start : sentence.end]


def _denied(mention: Mention, *, inside: bool) -> Mention:
    return mention._replace(stance="denied", why="") if inside and mention.stance != "asked" else mention


_ISO_TIME = re.compile(r"[T ]([0-2][0-9]):([0-5][0-9])")
_CLOCK = re.compile(r"([0-2]?[0-9]):([0-5][0-9])")
#: What a word that denies that there is something says with the next one: "no toll", "no queue".
_DENIED = ("fee", "wait")
#: 不收费的路 tells one road from others and says nothing of those named before.
_OF_WHAT_FOLLOWS = "的"


def read(
    text: str,
    *,
    language: str,
    lexicon: Lexicon,
    vocabulary: Vocabulary | None = None,
    now: str = "",
    turn: int = 0,
) -> Document:
    """Return the reading of one reply. Linear in its length; no text makes it raise.

    Args:
        text: the reply as it was written.
        language: BCP 47 tag of the case; a reply in another script is read with the pack of that script.
        lexicon: the things of the case.
        vocabulary: domain words of the suite.
        now: the case's time, ISO 8601 or HH:MM; resolves the 12-hour clock.
        turn: index of the reply in ``Trajectory.turns``, for quotes.
    """
    return read_page(open_page(text, language=language, vocabulary=vocabulary), lexicon, now=now, turn=turn)


def read_page(page: Page, lexicon: Lexicon, *, now: str = "", turn: int = 0) -> Document:
    """Return the reading of a page: see ``read``."""
    return _read(page, lexicon, turn, now)


def read_names(page: Page, lexicon: Lexicon, *, turn: int = 0) -> Document:
    """Return the reading of a page for names alone: no figures, times and identifiers, of which other words are looked for."""
    return _read(page, lexicon, turn, None)


def _read(page: Page, lexicon: Lexicon, turn: int, now: str | None) -> Document:
    """Return the reading of a page, for names alone where no ``now`` is given."""
    return (_kept if len(page.text) <= KEPT else _kept.__wrapped__)(page, lexicon, turn, now)


@lru_cache(maxsize=128)
def _kept(page: Page, lexicon: Lexicon, turn: int, now: str | None) -> Document:
    """Read a page. Kept: trials have the same query and texts of tools, and often the same replies, and cases the same words to look for."""
    names = find_names(page, lexicon)
    sentences = scan(page, _places(names, page.links)).sentences
    hits = tell_apart(names, lexicon, page.folded.text, [sentence.end for sentence in sentences])
    return (_of_names if len(page.text) <= KEPT else _of_names.__wrapped__)(page, tuple(hits), turn, now)


@lru_cache(maxsize=128)
def _of_names(page: Page, hits: tuple[Hit, ...], turn: int, now: str | None) -> Document:
    """Read a page whose names are known. Kept: what the checks ask about and what the tools told of are mostly the same things."""
    return _cut(page, hits, figures=now is not None).document(turn, now)


def _cut(page: Page, hits: Sequence[Hit], *, figures: bool) -> _Cut:
    """Find what a page does with its names, and the figures in between, which stances depend on."""
    cut = scan(page, _places(hits, page.links))
    if not hits and not figures:
        return _Cut(cut, [], (), ())
    numbers = _inside_blocks(cut, find_numbers(page.folded.text, cut.cues))
    numbers = list(outside(numbers, _places(hits, page.identifiers)))
    times = find_times(page.folded.text, cut.cues, numbers, page.pack)
    names = [_name(cut, hit) for hit in hits]
    read_stances(cut, names, [time.start for time in times])
    return _Cut(cut, names, numbers, times)


def _places(hits: Sequence[Hit], identifiers: Sequence[FoundIdentifier]) -> tuple[tuple[int, int], ...]:
    """Return the places in which no figure is looked for: names and identifiers."""
    spans = [(hit.start, hit.end) for hit in hits]
    return tuple(sorted(spans + [(identifier.start, identifier.end) for identifier in identifiers]))


def _inside_blocks(cut: Scan, numbers: Sequence[Number]) -> list[Number]:
    """Leave out the numbers of list items."""
    kept = []
    place = 0
    for number in numbers:
        while place < len(cut.bounds) and cut.bounds[place][1] <= number.start:
            place += 1
        if place < len(cut.bounds) and cut.bounds[place][0] <= number.start:
            kept.append(number)
    return kept


def _name(cut: Scan, hit: Hit) -> Name:
    place = cut.clause_at(hit.start)
    sentence = cut.clauses[place].sentence
    return Name(hit, place, sentence, cut.sentences[sentence].block)


@dataclass
class _Cut:
    """A page whose names are known: writes down what was read, in characters of the original."""

    cut: Scan
    names: list[Name]
    numbers: Sequence[Number]
    times: Sequence[Spoken]

    def document(self, turn: int, now: str | None = None) -> Document:
        """Return what was read; without figures, times and identifiers where no ``now`` is given."""
        cut, page = self.cut, self.cut.page
        quantities = () if now is None else tuple(self._quantities())
        times = () if now is None else tuple(self._times(now))
        document = Document(
            text=page.text,
            language=page.language,
            turn=turn,
            blocks=cut.blocks,
            sentences=tuple(self.span(sentence.start, sentence.end) for sentence in cut.sentences),
            clauses=tuple(self.span(clause.start, clause.end) for clause in cut.clauses),
            mentions=tuple(
                self._mention(name, reason, phrases=now is None)
                for name, reason in zip(self.names, reasons(self.names), strict=True)
            ),
            quantities=quantities,
            times=times,
            identifiers=() if now is None else tuple(self._identifiers()),
            questions=tuple(self._questions()),
            negations=tuple(self._negations(inside=now is None)),
            numbers=()
            if now is None
            else tuple(self._bare([figure.span for figures in (quantities, times) for figure in figures])),
            unread=() if now is None else tuple(map(self._amount, self.unread)),
        )
        return take_back(document, cut)

    def _negations(self, *, inside: bool) -> Iterator[Span]:
        """Yield the words that deny; ``inside``: those within phrases, too, as in "at no cost"."""
        places = [(cue.start, cue.end) for cue in self.cut.cues if cue.has("not", "lack")]
        for name in self.names if inside else ():
            words = self.cut.text[name.hit.start : name.hit.end]
            places += [
                (name.hit.start + cue.start, name.hit.start + cue.end)
                for cue in self.cut.pack.find(words)
                if cue.has("not", "lack")
            ]
        yield from (self.span(start, end) for start, end in sorted(places))

    @cached
    def figures(self) -> tuple[list[ReadFigure], list[ReadFigure]]:
        """The figures, and those that are of no use to checks."""
        return find_figures(self.cut.text, self.cut.pack, self.cut.cues, self.numbers, self.times)

    @cached
    def unread(self) -> list[Unread]:
        """The amounts that are not read."""
        taken = _places([name.hit for name in self.names], self.cut.page.identifiers)
        return [*LeftUnread(self.cut, self.numbers, self.figures, self.times, taken).find()]

    def _amount(self, unread: Unread) -> Amount:
        open_ = unread.bare or unread.units == {CLOCK}  # 评分五点八八 is no time of day
        said = self.roles.said_of(unread.start, unread.end) if open_ else frozenset()
        return Amount(
            self.span(unread.start, unread.end), unread.units, self._place(unread.start)[1], unread.bare, said
        )

    def _is_unread(self, start: int, end: int) -> bool:
        """Return whether a figure or a time is only a part of an amount that is not read."""
        place = bisect_right(self.unread, (end,)) - 1
        return any(
            amount.start < end and amount.end > start and not amount.bare
            for amount in self.unread[max(place - 1, 0) : place + 1]
        )

    @cached
    def subjects(self) -> Subjects:
        """The things that figures may be said of."""
        return Subjects(self.cut, self.names)

    @cached
    def roles(self) -> Roles:
        """What figures are."""
        return Roles(self.cut, self.subjects)

    def span(self, start: int, end: int) -> Span:
        """Return the original span of a folded one, blanks at its ends aside."""
        text = self.cut.text
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        return Span(*self.cut.folded.span(start, end))

    def _mention(self, name: Name, reason: tuple[int, int] | None, *, phrases: bool) -> Mention:
        words = self.cut.folded.original[slice(*self.cut.folded.span(*reason))] if reason else ""
        span = self.span(name.hit.start, name.hit.end)
        return Mention(
            name.hit.keys,
            span,
            name.hit.form,
            name.stance,
            words,
            name.sentence,
            name.clause,
            self.cut.cell_at(name.hit.start),
            plainly(self.cut, name) if phrases else "",
        )

    def _place(self, start: int) -> tuple[int, int]:
        clause = self.cut.clause_at(start)
        return clause, self.cut.clauses[clause].sentence

    def _quantities(self) -> list[Quantity]:
        quantities = [self._quantity(figure, self.roles.of_figure(figure)) for figure in self.figures[0]]
        nothing = list(self._nothing())
        return sorted([*quantities, *nothing], key=lambda quantity: quantity.span) if nothing else quantities

    def _nothing(self) -> Iterator[Quantity]:
        """Yield the figures that words say which deny that there is any: a price of 0, a wait of 0. They are never surely read."""
        for cue, following in zip_longest(self.cut.cues, self.cut.cues[1:]):
            role: FigureRole | None = cue.tags.get("none_of")
            end = cue.end
            if role is None and cue.has("lack") and following and not self.cut.text[cue.end : following.start].strip():
                role, end = cast("FigureRole | None", following.role(_DENIED) or None), following.end
            if role is not None and not self.cut.text.startswith(_OF_WHAT_FOLLOWS, end):
                yield self._zero(role, cue.start, end)

    def _zero(self, role: FigureRole, start: int, end: int) -> Quantity:
        unit = "min" if role == "wait" else MONEY
        zero = self._quantity(ReadFigure(start, end, 0, 0, 0, "exact", unit, 1), Told(unit, role))
        return zero._replace(stance="asked" if zero.stance == "asked" else "unclear")

    def _quantity(self, figure: ReadFigure, told: Told) -> Quantity:
        clause, sentence = self._place(figure.start)
        travel = told.role in ("travel_time", "travel_distance")
        subject = self.subjects.subject(figure.start, figure.end, clause, travel=travel)
        return Quantity(
            span=self.span(figure.start, figure.end),
            value=figure.value,
            low=figure.low,
            high=figure.high,
            approx=figure.approx,
            unit=told.unit,
            role=told.role,
            subject=() if told.role in ("budget", "total") else subject,
            mode=told.mode,
            stance=self.subjects.stance(figure.start, clause),
            sentence=sentence,
            clause=clause,
            step=figure.step,
            cell=self.cut.cell_at(figure.start),
            cued=told.cued,
            unread=self._is_unread(figure.start, figure.end),
            said=frozenset()
            if told.unit in ROLES_OF_UNIT or told.role
            else self.roles.said_of(figure.start, figure.end),
        )

    def _times(self, now: str) -> list[ClockTime]:
        finder = TimeRoles(self.cut, self.subjects, self.times)
        roles = [finder.of(spoken) for spoken in self.times]
        tomorrow = any("tomorrow" in cue.tags for cue in self.cut.cues)
        morning = any("am" in cue.tags for cue in self.cut.cues)
        resolved = resolve(self.times, _minutes(now), tomorrow=tomorrow, morning=morning, roles=roles)
        return self._once([self._time(spoken, role) for spoken, role in zip(resolved, roles, strict=True)])

    def _once(self, times: Sequence[ClockTime]) -> list[ClockTime]:
        """Take the thing from a time that seems to be a further arrival at it, where its own clause does not name it: one arrives once."""
        first: dict[tuple[str, ...], ClockTime] = {}
        named = {(name.clause, name.hit.keys) for name in self.names}
        kept = []
        for time in times:
            told = first.setdefault(time.subject, time) if time.role == "arrival" and len(time.subject) == 1 else time
            stays = told.minutes == time.minutes or (time.clause, time.subject) in named
            kept.append(time if stays else time._replace(subject=()))
        return kept

    def _time(self, spoken: Spoken, role: TimeRole | None) -> ClockTime:
        clause, sentence = self._place(spoken.start)
        span = self.span(spoken.start, spoken.end)
        subject = self.subjects.subject(spoken.start, spoken.end, clause, travel=role in ("arrival", None))
        return ClockTime(
            span=span,
            minutes=spoken.minutes,
            other=spoken.other,
            approx=spoken.approx,
            role=role,
            subject=() if role in ("now", "deadline") else subject,
            sentence=sentence,
            clause=clause,
            stance=self.subjects.stance(spoken.start, clause),
            cell=self.cut.cell_at(spoken.start),
            unread=self._is_unread(spoken.start, spoken.end),
        )

    def _bare(self, taken: Sequence[Span]) -> Iterator[BareNumber]:
        """Yield the numbers outside figures and times."""
        spans = sorted(taken)
        for number in self.numbers:
            span = self.span(number.start, number.end)
            if not number.article and not inside(span.start, spans):
                yield BareNumber(span, number.value)

    def _identifiers(self) -> list[Identifier]:
        identifiers = []
        for identifier in self.cut.page.identifiers:
            place = self.cut.clause_at(identifier.start)
            subject = self.subjects.subject(identifier.start, identifier.end, place, travel=False)
            identifiers.append(
                Identifier(
                    self.span(identifier.start, identifier.end),
                    identifier.kind,
                    identifier.value,
                    subject,
                    self.cut.clauses[place].sentence,
                )
            )
        return identifiers

    def _questions(self) -> list[Question]:
        questions = []
        for number, sentence in enumerate(self.cut.sentences):
            if sentence.asks:
                offer = self._offers(sentence)
                questions.append(Question(self.span(sentence.start, sentence.end), number, offer))
        return questions

    def _offers(self, sentence: Sentence) -> Offer:
        """Return what a sentence only offers: by its words, or since it asks under a condition and has no question mark."""
        cues = self.cut.cues_between(sentence.start, sentence.end)
        offers = {cue.tags["offer"] for cue in cues if cue.has("offer") and not (sentence.marked and cue.has("if"))}
        if offers:
            return "help" if "help" in offers else "act"
        asks = next((cue for cue in cues if cue.has("ask")), None)
        under = asks is not None and any(cue.has("if") and cue.end <= asks.start for cue in cues)
        return "help" if under and not sentence.marked else ""


def _minutes(now: str) -> int | None:
    """Return a point in time as minutes after midnight, None where it holds none."""
    match = _ISO_TIME.search(now) or _CLOCK.fullmatch(now.strip())
    return int(match[1]) * 60 + int(match[2]) if match else None
