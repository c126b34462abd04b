"""What a reply takes back as a whole: "Do not do this: ...", "It is not true that ...", "Not ...", 不是……."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from .document import Document, Mention, Span
from .scan import Clause, Scan

_COLONS = (":", "：")
_NOT = ("not ", "不是")


def take_back(document: Document, cut: Scan) -> Document:
    """Return the reading with all that is taken back denied."""
    spans = [Span(*cut.folded.span(start, end)) for start, end in _taken_back(cut) if end > start]
    if not spans:
        return document
    return replace(
        document,
        mentions=tuple(_denied(one, inside=_inside(one.span, spans)) for one in document.mentions),
        quantities=tuple(
            replace(one, stance="denied") if _inside(one.span, spans) else one for one in document.quantities
        ),
        times=tuple(replace(one, stance="denied") if _inside(one.span, spans) else one for one in document.times),
    )


def _taken_back(cut: Scan) -> list[tuple[int, int]]:
    """Return the folded spans that are taken back, ascending, none overlapping another."""
    found: list[tuple[int, int]] = []
    if not any(cue.has("takes_back_rest", "takes_back_sentence", "not") for cue in cut.cues):
        return found
    for clause in cut.clauses:
        if found and clause.start < found[-1][1]:
            continue
        rest = clause.first("takes_back_rest")
        if rest and cut.text[rest.end : rest.end + 1] in _COLONS:
            found.append((rest.end, len(cut.text)))
            break
        sentence = cut.sentences[clause.sentence]
        told = clause.first("takes_back_sentence")
        if told:
            found.append((told.end, sentence.end))
        elif _begins_with_not(cut, clause):
            whole = cut.text.startswith(_NOT[1], _begin(cut, clause)) and clause.start == sentence.start
            found.append((clause.start, sentence.end if whole else _denied_to(cut, clause)))
    return found


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


def _inside(span: Span, spans: Sequence[Span]) -> bool:
    place = bisect_right(spans, (span.start, span.start)) - 1
    around = spans[max(place, 0) : place + 2]
    return any(one.start <= span.start < one.end for one in around)


def _denied(mention: Mention, *, inside: bool) -> Mention:
    return replace(mention, stance="denied", why="") if inside and mention.stance != "asked" else mention
