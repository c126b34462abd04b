"""What stands before a name and governs it: verbs, prepositions, labels, the place in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .behind import Tail
from .fold import is_han
from .named import Name, Named
from .pack import Cue
from .scan import Clause

_LEAD = 12
_LABEL = 40
_FAR = 120
_OF_WAYS = frozenset({"travel_time", "travel_distance"})
#: What a rule finds: the sign, and the word that gave it.
Found = tuple[str, Cue | None]


def _aside(cue: Cue) -> Found:
    """Return what a word does that sets a name aside: one that is kept in reserve may be meant to be taken."""
    return ("reserve" if cue.has("reserve") else "compare"), cue


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
            side.name.bare = not side.has("reject")
            return ("reject" if side.name.bare or "not" not in near.tags else "propose"), near
        earlier = self._right_before(side, near)
        if earlier and near.has("toward", "near", "choose") and earlier.has("than", "instead"):
            return ("reject" if earlier.has("instead") else "compare"), earlier
        if near.has("and") and self.named.neighbour(side.name, -1) is None and is_han(self.scan.text[near.start]):
            return "compare", near
        for group, sign in (("than", "compare"), ("not", "deny"), ("near", "landmark")):
            if near.has(group):
                return sign, near
        return self._left(side, near)

    def _visited(self, side: _Side) -> Found | None:
        """Read how often one was at a thing, which proposes nothing: 去X九次."""
        following = self.scan.cues_between(side.name.hit.end, side.name.hit.end + _LEAD)
        often = next((cue for cue in following if cue.has("often")), None)
        if often is None or side.near is None or not side.near.has("choose"):
            return None
        words = self.scan.text[side.name.hit.end : often.start]
        known = self.scan.pack.words
        counted = [letter for letter in words if letter.isdigit() or "numeral" in known.get(letter, {})]
        told = bool(counted) and len(words.strip()) - len(counted) <= 1  # 去X九次, 去X了九次
        return ("compare", side.near) if told else None

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
        return self._got_from(side, near) or (("landmark", near) if self._measured(side, near) else ("plain", None))

    def _got_from(self, side: _Side, near: Cue) -> Found | None:
        """Read a place that one orders or gets something from: "get lunch from X", 从X点餐."""
        behind = self.named.behind_it(side.name, "orders")
        if behind:
            return self._weighed(side, behind)
        verb = next((cue for cue in reversed(side.cues) if cue.end <= near.start and cue.has("orders")), None)
        if verb is None:
            return None
        between = self.scan.cues_between(verb.end, near.start)
        moves = any(cue.has("unit", "mode", "toward", "it", "near") for cue in between)
        return None if moves else self._weighed(side, verb)

    def _weighed(self, side: _Side, verb: Cue) -> Found:
        return ("reject", verb) if self._negated(side.cues, verb) else self._chosen(side, verb)

    def _measured(self, side: _Side, near: Cue) -> bool:
        """Return whether a clause says how far it is from the thing, how one goes there, or begins with where one leaves."""
        begins = not any(map(str.isalnum, self.scan.text[side.clause.start : near.start]))
        return begins or any(
            cue.has("unit", "mode", "mode_before_figure", "toward", "near")
            or cue.tags.get("time_role") == "departure"
            or not _OF_WAYS.isdisjoint(cue.tags.get("role", ()))
            for cue in (*side.cues, *self.scan.cues_between(side.name.hit.end, side.clause.end))
            if cue is not near
        )

    def _through(self, name: Name) -> bool:
        """Return whether a verb of going ends the clause right behind a name, so that the way leads through the thing: 从X走."""
        cue = self.named.behind_it(name, "through")
        return cue is not None and not self.scan.text[cue.end : cue.end + 1].isalnum()

    def _right_before(self, side: _Side, near: Cue) -> Cue | None:
        """Return the word right before the one that governs a name: "unlike at X"."""
        earlier = [cue for cue in side.cues if cue.end <= near.start]
        return earlier[-1] if earlier and not self.scan.text[earlier[-1].end : near.start].strip() else None

    def _place(self, side: _Side) -> Found | None:
        """Read a word of place right behind, as Chinese has it: X旁边."""
        cue = side.clause.first("near_after", start=side.name.hit.end)
        gap = self.scan.text[side.name.hit.end : cue.start].strip() if cue else ""
        return ("landmark", cue) if cue and (not gap or gap in self.scan.pack.names["boundary"]) else None

    def _particle(self, side: _Side) -> Found | None:
        """Read a verb whose particle stands behind the name: "left X out"."""
        if side.near is None or not side.near.has("split_verb"):
            return None
        particle = self.named.behind_it(side.name, "split_particle")
        return ("reject", particle) if particle else None

    def _corrected(self, side: _Side) -> Found | None:
        """Read "not X but Y"."""
        place = self.named.place[id(side.name)]
        before = self.named.names[place - 1] if place else None
        if before is None or "but" not in side.clause.links or not all(cue.has("but") for cue in side.cues):
            return None
        turned_down = before.sentence == side.name.sentence and before.sign == "reject" and before.bare
        return ("propose", side.cues[0] if side.cues else None) if turned_down else None

    def _set_aside(self, side: _Side) -> Found | None:
        """Read a word that names an alternative: "As a fallback, X", "备选：X"."""
        opening = self._introduction(side.name)
        if opening:
            return _aside(opening)
        verb = self._verb(side)
        if verb is None or verb.has("reject"):
            return None
        before = (*side.cues, *(cue for cue in side.clause.cues if cue.end <= side.name.hit.start))
        word = next((cue for cue in before if cue.has("alternative")), None)
        return (_aside(word)[0], verb) if word else None

    def _verb(self, side: _Side) -> Cue | None:
        return next((cue for cue in reversed(side.cues) if cue.has("reject", "choose", "chosen", "alternative")), None)

    def _governed(self, side: _Side) -> Found | None:
        """Read a verb that chooses or turns down."""
        verb = self._verb(side)
        if verb is None:
            return None
        if side.has("needless") and verb.has("choose"):
            return "plain", None
        against = next((cue for cue in side.cues if cue.has("than") and cue.end <= verb.start), None)
        if against is not None and verb.has("choose"):
            return "compare", against
        if verb.has("reject"):
            return ("propose" if self._negated(side.cues, verb) else "reject"), verb
        return self._weighed(side, verb)

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
        if toward and (side.has("not", "lack", "needless") or self._supposed(side)):
            return "plain", None
        if self._aboard(side) and not side.tail.bad and self.named.behind_it(side.name, "toward"):
            return "plan", side.near
        placed = self.named.behind_it(side.name, "order_after")
        if placed and not side.tail.bad:
            side.name.timed = True
            return "plan", placed
        side.name.home = toward and side.near is not None and side.near.has("homeward")
        return ("plan", side.near) if toward else None

    def _aboard(self, side: _Side) -> bool:
        """Return whether a verb of riding stands right before the name, a line that begins with one included: 坐公交16路到Y."""
        if side.has("not", "modal", "if"):
            return False
        last = self.scan.text[side.name.hit.start - 1 : side.name.hit.start]
        before = side.near.tags if side.near is not None else self.scan.pack.words.get(last, {})
        return is_han(last or " ") and "weak_choose" in before

    def _supposed(self, side: _Side) -> bool:
        """Return whether a clause only says what a thing would bring: "paying 88 for X would win you two minutes"."""
        behind = self.scan.cues_between(side.name.hit.end, side.clause.end)
        return any(cue.has("modal") and not cue.has("plain_modal") for cue in (*side.cues, *behind))

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
            if any(self._points_back(cue) for cue in before.cues):
                break
            cues = before.cues + cues
            if before.opens != "|" or clause.opens != "|":
                break
            clause = before
        return cues

    def _points_back(self, cue: Cue) -> bool:
        """Return whether a word of choice takes up the thing before, and says nothing of what follows: 就它合适."""
        text = self.scan.text[cue.start : cue.end]
        return cue.has("chosen") and any(word in text for word in self.scan.pack.names["anaphor"])

    def _introduction(self, name: Name) -> Cue | None:
        """Return the word of an introducing clause that sets the name aside: "As a fallback, ..."."""
        first = self.scan.sentences[name.sentence].first
        if name.clause != first + 1 or first in self.named.by_clause:
            return None
        clause = self.scan.clauses[first]
        return clause.first("alternative") if clause.end - clause.start <= _LABEL else None

    def _negated(self, cues: Sequence[Cue], verb: Cue) -> bool:
        """Return whether a verb is denied by a word before it that no other verb takes."""
        for cue in reversed([cue for cue in cues if cue.end <= verb.start]):
            spared = cue.has("forward") and not verb.has("reject") and not self.scan.text[cue.end : verb.start].strip()
            whose = [other for other in cues if cue.end <= other.start and other.end <= verb.start]
            if cue.has("lack") and any(other.has("person") for other in whose):
                return False  # "without motorways you can take X"
            if cue.has("not") or spared:
                return True
            if cue.has("choose", "reject", "chosen") and not verb.has("reject") and not cue.has("choose"):
                return False
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
        _marked, _visited, _beside, _place, _particle, _corrected, _set_aside, _governed, _unfit_for, _identified, _led_to, _in_sequence,
    )  # fmt: skip
