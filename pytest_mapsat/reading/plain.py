"""Whether words stand in a sentence that plainly affirms or denies them: one of few closed shapes, with no word near that could turn it.

Whatever else a language can do (irony, comparison, what was or will be, what is so elsewhere) has another shape, and leaves open what is meant.
"""

from __future__ import annotations

import re
from typing import Literal

from .document import is_han
from .pack import Cue
from .page import Clause, Scan
from .sides import Name

Plainly = Literal["", "affirmed", "denied"]
#: What a word does that denies; that turns even a statement ("if no tram runs"); that may turn what a sentence says.
_DENYING = ("not", "lack", "no")
_REVERSING = (*_DENYING, "than", "instead", "modal", "if")
_TURNING = (*_REVERSING, "reject", "although", "but", "too", "worse", "other", "alternative", "whereas", "unfit")
_MARKS = " \n\t\"'()[]{}|:,.;!~-—•·。；！…、✅✔✓☑👍🟢"
_WORD = re.compile(r"[a-z0-9'-]+|[\u3400-\u9fff]")
#: So many words or Chinese characters name what a statement is about.
_SUBJECT = 9
_BETWEEN = 3
#: So many Chinese characters may go on with what is affirmed by a verb: 有咖啡馆和卫生间.
_TAIL = 6
#: What a word does that makes a phrase a statement by itself: "no tram", "last train left", 闭馆, 两辆.
_STATING = ("not", "lack", "unfit", "past", "numeral", "tomorrow")


def plainly(scan: Scan, name: Name) -> Plainly:
    """Return whether a sentence plainly affirms words, plainly denies them, or does neither.

    Args:
        scan: the text.
        name: the words, where they stand.
    """
    sentence = scan.sentences[name.sentence]
    if (
        sentence.asks
        or sentence.marked
        or scan.text[name.hit.end : sentence.end].rstrip(" \"')）").endswith(("?", "？"))
    ):
        return ""
    place = scan.clause_at(name.hit.start)
    clause, last = scan.clauses[place], scan.clauses[scan.clause_at(max(name.hit.end - 1, name.hit.start))]
    shape = _Shape(scan, clause, last, name)
    if shape.states and not any(cue.has(*_REVERSING) for cue in shape.turning(clause.start, last.end)):
        return "" if shape.doubted(clause.start) else "affirmed"
    turning = shape.turning(sentence.start, sentence.end)
    if len(turning) > 1 or shape.doubted(sentence.start, sentence.end):
        return ""
    if not shape.answers(sentence.last) or not shape.alone():
        return ""
    if not turning:
        return "affirmed" if not shape.states and shape.affirms() else ""
    return "denied" if shape.denies(turning[0]) else ""


class _Shape:
    """The clause that words stand in.

    Args:
        scan: the text.
        clause: the clause that they begin in.
        last: the one that they end in.
        name: the words.
    """

    def __init__(self, scan: Scan, clause: Clause, last: Clause, name: Name) -> None:
        self.scan, self.clause, self.last, self.name = scan, clause, last, name
        self.words = scan.pack.groups
        self.lead, self.tail = scan.text[clause.start : name.hit.start], scan.text[name.hit.end : last.end]
        own = scan.text[name.hit.start : name.hit.end]
        inside = list(scan.pack.find(own))
        stating = any(cue.has(*_STATING) or cue.tags.get("time_role") in ("closing", "last_service") for cue in inside)
        self.states = stating or (scan.pack.pattern("affirms").match(own) is not None and self._ends(_TAIL))

    def turning(self, start: int, end: int) -> list[Cue]:
        """Return the words around that may turn what is said."""
        around = self.scan.cues_between(start, end)
        return [
            cue
            for cue in around
            if cue.has(*_TURNING) and (cue.end <= self.name.hit.start or cue.start >= self.name.hit.end)
        ]

    def alone(self) -> bool:
        """Return whether nothing beside the clause could take it back: other clauses of the sentence tell of something else, and no short sentence follows that turns it."""
        own = self.scan.sentences[self.clause.sentence]
        others = [
            clause
            for clause in self.scan.clauses[own.first : own.last]
            if clause.end <= self.clause.start or clause.start >= self.last.end
        ]
        if not all(self._tells(clause) for clause in others):
            return False
        following = self.scan.sentences[self.clause.sentence + 1 : self.clause.sentence + 2]
        return not any(
            sentence.block == own.block
            and len(_WORD.findall(self.scan.text[sentence.start : sentence.end])) <= _SUBJECT
            and (self.turning(sentence.start, sentence.end) or self.doubted(self.name.hit.start, sentence.end))
            for sentence in following
        )

    def _tells(self, clause: Clause) -> bool:
        """Return whether a clause is empty, or has a figure, a verb that affirms, or a word for how one gets about."""
        words = self.scan.text[clause.start : clause.end]
        plain = self.words.get("plain_yes", frozenset()) | self.words.get("plain_tail", frozenset())
        told = clause.has("unit", "numeral", "mode", "choose", "toward", "clock_word", "fit", "and")
        return (
            told
            or words.strip(_MARKS) in {"", *plain}
            or any(map(str.isdigit, words))
            or self.scan.pack.pattern("affirms").search(words) is not None
        )

    def doubted(self, start: int, end: int = 0) -> bool:
        """Return whether words before these, and up to ``end`` behind them, leave open whether they hold here and now."""
        around = self.scan.text[start : self.name.hit.start], self.scan.text[self.name.hit.end : end]
        return any(self.scan.pack.pattern("doubt").search(words) for words in around)

    def _ends(self, most: int) -> bool:
        """Return whether little follows the words in their clause, or what takes nothing back."""
        rest = self.tail.strip(_MARKS)
        goes_on = rest[:1] in self.words.get("plain_joint", ()) and len(rest) <= most
        return not rest or rest in self.words.get("plain_tail", ()) or goes_on

    def answers(self, stop: int) -> bool:
        """Return whether the words are no label, or one whose value is a mere yes: "Lift: yes"."""
        if not self.scan.text[: self.last.end].rstrip().endswith(":"):
            return True
        following = self.scan.clause_at(self.last.end)
        value = (
            self.scan.text[self.last.end : self.scan.clauses[following].end].strip(_MARKS) if following < stop else "?"
        )
        return value in self.words.get("plain_yes", ())

    def affirms(self) -> bool:
        """Return whether what stands before the words only names what they are said of, and says that it has them or is so."""
        if self._fills(self.lead, 0):
            return self._ends(0)
        verbs = list(self.scan.pack.pattern("affirms").finditer(self.lead))
        if len(verbs) != 1 or not self._ends(_TAIL):
            return False
        subject = self.lead[: verbs[0].start()]
        return self._fills(self.lead[verbs[0].end() :], 1) and len(_WORD.findall(subject)) <= _SUBJECT

    def denies(self, turning: Cue) -> bool:
        """Return whether the only word that turns the sentence denies these words, and stands right before them."""
        between = self.scan.text[turning.end : self.name.hit.start]
        return (
            turning.has(*_DENYING)
            and self.clause.start <= turning.start < self.name.hit.start
            and self._fills(between, 0)
            and self._ends(0)
            and len(_WORD.findall(self.scan.text[self.clause.start : turning.start])) <= _SUBJECT
        )

    def _fills(self, between: str, strange: int) -> bool:
        """Return whether some words say nothing themselves ("a", "any", 什么), but for so many strange ones."""
        rest = between.strip(_MARKS)
        fillers = self.words.get("plain_filler", frozenset())
        if rest in fillers or not rest:
            return True
        words = rest.split(" ")
        return not is_han(rest[0]) and len(words) <= _BETWEEN and sum(word not in fillers for word in words) <= strange
