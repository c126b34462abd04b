"""What is said of a name behind it: in its clause, in the clauses that go on about it, in the sentence that takes it up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .named import Name, Named
from .pack import Cue
from .scan import Clause

_FOLLOWING = 2
_LEAD = 12


@dataclass(slots=True)
class Tail:
    """What is said of a name behind it."""

    reject: Cue | None = None
    chosen: Cue | None = None
    compare: Cue | None = None
    bad: Cue | None = None
    but: Cue | None = None
    no: Cue | None = None
    good: bool = False
    worse: Cue | None = None
    conditional: bool = False
    both: bool = False
    perhaps: Cue | None = None

    def sign(self, before: str) -> tuple[str, Cue] | None:
        """Return what is said behind the name, the surest first; ``before``: the sign that stands before it."""
        picked = "perhaps" if self.conditional else "propose"
        signs = (
            ("reject", self.reject),
            ("reserve" if self.compare and self.compare.has("reserve") else "compare", self.compare),
            (picked, self.chosen if not self.bad else None),
            ("bad", self.bad),
            ("perhaps", self.perhaps if before in ("plain", "lead") else None),
        )
        return next(((sign, cue) for sign, cue in signs if cue), None)


class Behind:
    """Reads what is said behind names.

    Args:
        named: the names of the reply in their places.
    """

    def __init__(self, named: Named) -> None:
        self.named = named
        self.scan = named.scan

    def tail_of(self, name: Name) -> Tail:
        """Gather what is said of a name behind it, up to the next name."""
        tail = Tail()
        for clause, cues in self._said_of(name):
            if "but" in clause.links and clause.start > name.hit.end:
                tail.but = tail.but or clause.first("but")
            if "if" in clause.links and clause.start > name.hit.end:
                tail.conditional = True
            else:
                self._gather(tail, name, clause, cues)
        return tail

    def _gather(self, tail: Tail, name: Name, clause: Clause, cues: Sequence[Cue]) -> None:
        """Note what one clause says of a name."""
        own = clause is self.scan.clauses[name.clause]
        told_when = clause.start in self.named.told_when
        hypothetical = False
        negation: Cue | None = None
        if not own:
            self._note_pronoun(tail, cues)
        for cue in cues:
            hypothetical = hypothetical or cue.has("modal")
            if cue.has("other"):
                break
            self._note(tail, cue, negation, hypothetical=hypothetical, hours=told_when)
            if own and cue.has("urging") and not negation:
                tail.chosen = tail.chosen or cue
            if cue.has("not"):
                negation = cue
            elif cue.has("choose", "fit", "unfit", "chosen", "reject"):
                negation = None

    def _note_pronoun(self, tail: Tail, cues: Sequence[Cue]) -> None:
        """Note a verb of choice that has the thing as its object: "so choose that one", 去那儿."""
        for cue, following in pairwise(cues):
            if cue.has("not", "modal", "if"):
                return
            if cue.has("choose") and following.has("it") and not self.scan.text[cue.end : following.start].strip():
                tail.chosen = tail.chosen or cue

    def _note(self, tail: Tail, cue: Cue, negation: Cue | None, *, hypothetical: bool, hours: bool) -> None:
        """Note what one word says of the thing."""
        self._note_choice(tail, cue, negation, hypothetical=hypothetical)
        closes = hours and cue.tags.get("time_role") == "closing"
        wrong = cue.has("unfit", "unsure") and not negation and not closes
        lacking = cue.has("fit") and negation is not None and not cue.has("unfit")
        gone = hours and cue.has("past")
        if wrong or lacking or gone or (cue.has("too") and self._goes_on(cue)):
            tail.bad = tail.bad or cue
        if cue.has("not") and not cue.has("lack"):
            tail.no = tail.no or cue
        if cue.has("worse"):
            tail.worse = tail.worse or cue
        tail.good = tail.good or cue.has("yes")
        tail.both = tail.both or cue.has("both")

    def _note_choice(self, tail: Tail, cue: Cue, negation: Cue | None, *, hypothetical: bool) -> None:
        """Note a word that picks the thing, turns it down, or sets it aside."""
        if cue.has("no") or (cue.has("reject") and not negation and (not cue.has("forward") or self._ends(cue))):
            tail.reject = tail.reject or cue
        if cue.has("alternative") and not negation:
            tail.compare = tail.compare or cue
        elif hypothetical and cue.has("chosen", "fit") and not negation:
            tail.perhaps = tail.perhaps or cue
        elif cue.has("chosen", "choose") and negation:
            tail.reject = tail.reject or (None if cue.has("enough") else negation)
        elif cue.has("chosen"):
            tail.chosen = tail.chosen or cue

    def _ends(self, cue: Cue) -> bool:
        """Return whether a verb that takes an object has none but a pronoun: "so skip it", "避开为好"."""
        following = self.scan.text[cue.end : cue.end + 12].lstrip(" ")
        if not following or not following[0].isalnum():
            return True
        pronoun = next(
            (other for other in self.scan.cues_between(cue.end, cue.end + _LEAD) if other.start - cue.end <= 1), None
        )
        return pronoun is not None and pronoun.has("it", "chosen", "article")

    def _goes_on(self, cue: Cue) -> bool:
        """Return whether "too" stands before an adjective, and not at the end."""
        following = self.scan.text[cue.end : cue.end + 2].strip()[:1]
        return following not in ("", ",", ".", ";", "!", ")")

    def _said_of(self, name: Name) -> Iterator[tuple[Clause, list[Cue]]]:
        """Yield the clauses that go on about a name, each with its words, up to where another thing is named."""
        clause = self.scan.clauses[name.clause]
        later = self.named.neighbour(name, 1)
        stop = later.hit.start if later else clause.end
        yield clause, [cue for cue in clause.cues if name.hit.end <= cue.start < stop]
        if later:
            return
        sentence = self.scan.sentences[name.sentence]
        for place in range(name.clause + 1, sentence.last):
            following = self.scan.clauses[place]
            named = self.named.by_clause.get(place, ())
            if named and (following.has("instead") or any(not self._only_passed(other) for other in named)):
                return
            yield following, [cue for cue in following.cues if not named or cue.start >= named[-1].hit.end]
        for number in range(name.sentence + 1, min(name.sentence + _FOLLOWING, len(self.scan.sentences))):
            then = self.scan.sentences[number]
            clauses = self.scan.clauses[then.first : then.last]
            taken = any(place in self.named.by_clause for place in range(then.first, then.last))
            if then.block != name.block or taken or then.asks or not any(cue.has("it") for cue in clauses[0].cues[:3]):
                return
            for other in clauses:
                yield other, other.cues

    def _only_passed(self, name: Name) -> bool:
        """Return whether a name is only where a way leads to or comes from, so that the clause is still about the name before."""
        clause = self.scan.clauses[name.clause]
        near = self.named.adjacent([cue for cue in clause.cues if cue.end <= name.hit.start], name.hit.start)
        return near is not None and near.has("toward", "from", "near", "than") and not clause.has("reject", "chosen")
