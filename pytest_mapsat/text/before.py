"""What stands before a name and governs it: verbs, prepositions, labels, the place in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .behind import Tail
from .named import Name, Named
from .pack import Cue
from .scan import Clause

_LEAD = 12
_LABEL = 40
_FAR = 120
_OF_WAYS = frozenset({"travel_time", "travel_distance"})
#: What a rule finds: the sign, and the word that gave it.
Found = tuple[str, Cue | None]


class _Side(NamedTuple):
    """One name with what stands before it: its clause, the words that govern it, the one right before it, what is said behind it."""

    name: Name
    clause: Clause
    cues: list[Cue]
    near: Cue | None
    tail: Tail

    def has(self, *groups: str) -> bool:
        """Return whether a word that governs the name does one of these."""
        for cue in self.cues:  # noqa: SIM110  asked by rule after rule
            if cue.has(*groups):
                return True
        return False


class Before:
    """Reads what stands before names: the first rule that finds a sign decides.

    Args:
        named: the names of the reply in their places.
    """

    def __init__(self, named: Named) -> None:
        self.named = named
        self.scan = named.scan

    def sign_of(self, name: Name, tail: Tail) -> Found:
        """Return the sign that stands before a name, with the word that gave it."""
        clause = self.scan.clauses[name.clause]
        cues = self._governing(name, clause)
        name.leads = self._leads(name)
        side = _Side(name, clause, cues, self.named.adjacent(cues, name.hit.start), tail)
        for rule in self._RULES:
            found = rule(self, side)
            if found:
                return found
        return ("lead" if name.leads else "plan" if name.timed else "plain"), None

    def _marked(self, side: _Side) -> Found | None:
        """Read a tick or a cross before the name."""
        side.name.good = side.has("yes")
        cross = next((cue for cue in side.cues if cue.has("no")), None)
        return ("reject", cross) if cross else None

    def _beside(self, side: _Side) -> Found | None:
        """Read the word right before: "instead of X", "than X", "no X", "next to X"."""
        near = side.near
        if near is None:
            return None
        if near.has("instead"):
            return "reject", near
        for group, sign in (("than", "compare"), ("not", "deny"), ("near", "landmark")):
            if near.has(group):
                return sign, near
        return self._left(side, near)

    def _left(self, side: _Side, near: Cue) -> Found | None:
        """Read where a way comes from; "leave X until last" and 从X走 lead there."""
        last = self.scan.pack.words.get(self.scan.text[near.start : near.end].rpartition(" ")[2], {})
        if "from" not in last:
            return None
        if self._through(side.name):
            return "propose", near
        if near.has("choose") or self.named.behind_it(side.name, "order_after"):
            return None
        if "source" not in last:
            return "landmark", near
        return ("landmark", near) if self._measured(side, near) else ("plain", None)

    def _through(self, name: Name) -> bool:
        """Return whether a verb of going ends the clause right behind a name, so that the way leads through the thing: 从X走."""
        cue = self.named.behind_it(name, "through")
        return cue is not None and not self.scan.text[cue.end : cue.end + 1].isalnum()

    def _measured(self, side: _Side, near: Cue) -> bool:
        """Return whether a clause says how far it is from the thing, how one goes there, or begins with where one leaves."""
        begins = not any(map(str.isalnum, self.scan.text[side.clause.start : near.start]))
        return begins or any(
            cue.has("unit", "mode", "mode_before_figure", "toward", "near")
            for cue in (*side.cues, *self.scan.cues_between(side.name.hit.end, side.clause.end))
            if cue is not near
        )

    def _set_aside(self, side: _Side) -> Found | None:
        """Read a word that names an alternative: "As a fallback, X", "备选：X"."""
        verb = self._verb(side)
        if verb is None or verb.has("reject"):
            return None
        before = (*side.cues, *(cue for cue in side.clause.cues if cue.end <= side.name.hit.start))
        word = next((cue for cue in before if cue.has("alternative")), None)
        return ("reserve" if word.has("reserve") else "compare", verb) if word else None

    def _verb(self, side: _Side) -> Cue | None:
        return next((cue for cue in reversed(side.cues) if cue.has("reject", "choose", "chosen", "alternative")), None)

    def _governed(self, side: _Side) -> Found | None:
        """Read a verb that chooses or turns down."""
        verb = self._verb(side)
        if verb is None:
            return None
        against = next((cue for cue in side.cues if cue.has("than") and cue.end <= verb.start), None)
        if against is not None and verb.has("choose"):
            return "compare", against
        negated = self._negated(side.cues, verb)
        if verb.has("reject"):
            return ("propose" if negated else "reject"), verb
        return ("reject", verb) if negated else self._chosen(side, verb)

    def _chosen(self, side: _Side, verb: Cue) -> Found:
        """Weigh a verb of choice against what is said behind the name: "going to X would take too long" chooses nothing."""
        tail, end = side.tail, side.clause.end
        others = any(cue.has("chosen", "choose") for cue in side.cues if cue is not verb)
        weak = verb.has("weak_choose") and not verb.has("chosen") and not others
        modal = side.has("modal", "if")
        praised = verb.has("chosen", "best") and not verb.has("choose")
        if tail.reject and (weak or tail.reject.end <= end or (praised and tail.but)):
            return "reject", tail.reject
        if tail.bad and (modal or ((weak or tail.bad.end <= end) and verb.has("choose"))):
            return "bad", tail.bad
        hedged = modal or (weak and tail.but is not None) or self.named.conditional(side.name)
        return ("perhaps" if hedged else "propose"), verb

    def _unfit_for(self, side: _Side) -> Found | None:
        """Read that something will not do with the thing: "too tall for X", "won't fit into X"."""
        negation = False
        for cue in side.cues:
            if cue.has("unfit", "too") or (negation and cue.has("fit")):
                return "bad", cue
            negation = negation or cue.has("not")
        return None

    def _identified(self, side: _Side) -> Found | None:
        """Read what the name answers: "the quickest road is X"."""
        if side.near is None or not side.near.has("is") or side.has("not", "modal") or side.tail.but:
            return None
        best = next((cue for cue in side.cues if cue.has("best")), None)
        return ("propose" if best else "perhaps"), best or side.near

    def _led_to(self, side: _Side) -> Found | None:
        """Read a way that leads to the thing, or its place in an order: "walk on to X", "X first"."""
        toward = side.near is not None and side.near.has("toward")
        if toward and side.has("not", "lack", "needless"):
            return "plain", None
        placed = self.named.behind_it(side.name, "order_after")
        if placed and not side.tail.bad:
            side.name.timed = True
            return "plan", placed
        side.name.home = toward and side.near is not None and side.near.has("homeward")
        return ("plan", side.near) if toward else None

    def _in_sequence(self, side: _Side) -> Found | None:
        """Read an arrow that leads to the name or from it: "post → library"."""
        name, clause = side.name, side.clause
        following = self.scan.clauses[name.clause + 1] if name.clause + 1 < len(self.scan.clauses) else None
        leaves = following is not None and following.opens == "→" and following.sentence == name.sentence
        if clause.opens == "→" or leaves or "→" in self.scan.text[name.hit.end : clause.end]:
            name.timed = True
            return "plan", None
        return None

    def _governing(self, name: Name, clause: Clause) -> list[Cue]:
        """Return the words that govern a name; a label ("My pick:") governs what stands behind its colon."""
        earlier = self.named.neighbour(name, -1)
        start = earlier.hit.end if earlier else clause.start
        cues = [cue for cue in clause.cues if start <= cue.start and cue.end <= name.hit.start]
        place = name.clause
        while (
            not earlier
            and clause.opens in (":", "(", "—", "-", "|")
            and place > self.scan.sentences[name.sentence].first
        ):
            place -= 1
            before = self.scan.clauses[place]
            if place in self.named.by_clause or before.end - before.start > _LABEL or before.has("it", "person", "not"):
                break
            cues = before.cues + cues
            if before.opens != "|" or clause.opens != "|":
                break
            clause = before
        return cues

    def _negated(self, cues: Sequence[Cue], verb: Cue) -> bool:
        """Return whether a verb is denied by a word before it that no other verb takes."""
        for cue in reversed([cue for cue in cues if cue.end <= verb.start]):
            spared = cue.has("forward") and not verb.has("reject") and not self.scan.text[cue.end : verb.start].strip()
            if cue.has("not") or spared:
                return True
        return False

    def _leads(self, name: Name) -> bool:
        """Return whether a name stands at the head of an item, a row or a heading, marks and a label aside."""
        block = self.scan.blocks[name.block]
        begin = self.scan.bounds[name.block][0]
        if block.kind == "heading":
            return True
        if block.kind == "row":
            return self.named.first[name.block] is name
        if name.hit.start - begin > _FAR:
            return False
        lead = self.scan.text[begin : name.hit.start]
        words = sum(char.isalpha() for char in lead)
        label = block.kind == "item" and lead.rstrip().endswith((":", "-", "·", ")")) and words < 3 * _LEAD
        return (block.kind == "item" and (words < _LEAD // 2 or label)) and self.named.first[name.block] is name

    #: Of the class: held by each object, they would keep it, and the whole reading, until the collector of cycles comes.
    _RULES = (
        _marked, _beside, _set_aside, _governed, _unfit_for, _identified, _led_to, _in_sequence,
    )  # fmt: skip
