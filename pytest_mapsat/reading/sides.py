"""Names in their places, and the words before and behind each: verbs, prepositions, labels, statements about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from .document import Stance
from .names import NameHit
from .pack import Cue
from .page import Clause, Scan

_LEAD = 12


@dataclass(slots=True)
class Name:
    """A name in a folded reply with its place, its sign and its stance.

    Attributes:
        sign: what the words around it say: propose, reject, compare, landmark, ask, deny; or weaker: perhaps (a proposal under a
            condition), reserve (a second choice), lead (it heads an item, row or heading), plan (a way leads there, or a time is given), bad (it will not do), plain.
        good: whether it carries a tick.
        why: the place of the words that decided.
    """

    hit: NameHit
    clause: int
    sentence: int
    block: int
    sign: str = "plain"
    why: tuple[int, int] | None = None
    stance: Stance = "unclear"
    good: bool = False
    timed: bool = False
    bad: bool = False
    doubtful: bool = False
    conditional: bool = False
    home: bool = False
    leads: bool = False
    picked: bool = False

    @property
    def key(self) -> str:
        """The key of the thing; empty if the name is ambiguous."""
        return self.hit.keys[0] if len(self.hit.keys) == 1 else ""


@dataclass(slots=True)
class Named:
    """The names of a reply, indexed by their positions.

    Attributes:
        scan: the reply.
        names: the names in it.
        clocks: where the times of day stand.
        by_clause: the names of each clause.
        place: index of each name, by identity.
        first: the first name of each block.
        told_when: where the clauses begin that hold a time of day.
    """

    scan: Scan
    names: list[Name]
    clocks: Sequence[int]
    by_clause: dict[int, list[Name]] = field(default_factory=dict)
    place: dict[int, int] = field(default_factory=dict)
    first: dict[int, Name] = field(default_factory=dict)
    told_when: set[int] = field(default_factory=set)

    def neighbour(self, name: Name, step: int) -> Name | None:
        """Return the name ``step`` places further in the same clause; None if there is none."""
        place = self.place[id(name)] + step
        other = self.names[place] if 0 <= place < len(self.names) else None
        return other if other and other.clause == name.clause else None

    def adjacent(self, cues: Sequence[Cue], end: int) -> Cue | None:
        """Return the word directly before a name, skipping articles and quotation marks; None if there is none."""
        articles = self.scan.pack.names["article"]
        for cue in reversed(cues):
            gap = self.scan.text[cue.end : end].strip(" \"'(「《“")
            if gap and gap not in articles:
                return None
            if self.scan.text[cue.start : cue.end] not in articles:
                return cue
        return None

    def behind_it(self, name: Name, group: str) -> Cue | None:
        """Return the word directly after a name, if it belongs to a group; otherwise None."""
        cue = next(iter(self.scan.cues_between(name.hit.end, name.hit.end + 2 * _LEAD)), None)
        return cue if cue and cue.has(group) and not self.scan.text[name.hit.end : cue.start].strip() else None

    def conditional(self, name: Name) -> bool:
        """Return whether a condition ("if") precedes a name in its sentence or opens its clause."""
        whole = self.scan.sentences[name.sentence]
        return any("if" in clause.links for clause in self.scan.clauses[whole.first : name.clause + 1])

    def index(self) -> None:
        """Index the names by clause, identity and block."""
        for place, name in enumerate(self.names):
            self.by_clause.setdefault(name.clause, []).append(name)
            self.place[id(name)] = place
            self.first.setdefault(name.block, name)


_LABEL = 40
_FAR = 120
#: What a rule finds: the sign, and the word that gave it.
Sign = tuple[str, Cue | None]


class _NameSide(NamedTuple):
    """A name with the words that govern it from the left, the word directly before it, and the words after it."""

    name: Name
    clause: Clause
    cues: list[Cue]
    near: Cue | None
    tail: Tail

    def has(self, *groups: str) -> bool:
        """Return whether a governing word belongs to one of these groups."""
        for cue in self.cues:  # noqa: SIM110  asked by rule after rule
            if cue.has(*groups):
                return True
        return False


class Before:
    """Reads the words before names; the first rule that finds a sign decides.

    Args:
        named: the names of the reply in their places.
    """

    def __init__(self, named: Named) -> None:
        self.named = named
        self.scan = named.scan

    def sign_of(self, name: Name, tail: Tail) -> Sign:
        """Return the sign that the preceding words give a name, with the responsible word or None."""
        clause = self.scan.clauses[name.clause]
        cues = self._governing(name, clause)
        name.leads = self._leads(name)
        side = _NameSide(name, clause, cues, self.named.adjacent(cues, name.hit.start), tail)
        for rule in self._RULES:
            sign = rule(self, side)
            if sign:
                return sign
        return ("lead" if name.leads else "plan" if name.timed else "plain"), None

    def _marked(self, side: _NameSide) -> Sign | None:
        """Return a rejection for a cross before the name, otherwise None; record a tick on the name."""
        side.name.good = side.has("yes")
        cross = next((cue for cue in side.cues if cue.has("no")), None)
        return ("reject", cross) if cross else None

    def _beside(self, side: _NameSide) -> Sign | None:
        """Return the sign from the word right before a name ("instead of X", "than X", "no X", "next to X"); otherwise None."""
        near = side.near
        if near is None:
            return None
        if near.has("instead"):
            return "reject", near
        for group, sign in (("than", "compare"), ("not", "deny"), ("near", "landmark")):
            if near.has(group):
                return sign, near
        return self._left(side, near)

    def _left(self, side: _NameSide, near: Cue) -> Sign | None:
        """Return the sign of a name after "from": landmark, plain, or a recommendation if the way leads through it (从X走); otherwise None."""
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

    def _got_from(self, side: _NameSide, near: Cue) -> Sign | None:
        """Return the sign of a place from which something is ordered or fetched ("get lunch from X", 从X点餐); otherwise None."""
        behind = self.named.behind_it(side.name, "orders")
        if behind:
            return self._chosen(side, behind)
        verb = next((cue for cue in reversed(side.cues) if cue.end <= near.start and cue.has("orders")), None)
        if verb is None:
            return None
        between = self.scan.cues_between(verb.end, near.start)
        moves = any(cue.has("unit", "mode", "toward", "it", "near") for cue in between)
        if moves:
            return None
        return ("reject", verb) if self._negated(side.cues, verb) else self._chosen(side, verb)

    def _measured(self, side: _NameSide, near: Cue) -> bool:
        """Return whether a clause starts at the thing, or gives a distance or a way from the thing."""
        begins = not any(map(str.isalnum, self.scan.text[side.clause.start : near.start]))
        return begins or any(
            cue.has("unit", "mode", "mode_before_figure", "toward", "near")
            for cue in (*side.cues, *self.scan.cues_between(side.name.hit.end, side.clause.end))
            if cue is not near
        )

    def _place(self, side: _NameSide) -> Sign | None:
        """Return a landmark for a word of place right after the name, as in Chinese X旁边; otherwise None."""
        cue = side.clause.first("near_after", start=side.name.hit.end)
        gap = self.scan.text[side.name.hit.end : cue.start].strip() if cue else ""
        return ("landmark", cue) if cue and (not gap or gap in self.scan.pack.names["boundary"]) else None

    def _through(self, name: Name) -> bool:
        """Return whether a verb of going ends the clause right after a name, so that the way leads through it: 从X走."""
        cue = self.named.behind_it(name, "through")
        return cue is not None and not self.scan.text[cue.end : cue.end + 1].isalnum()

    def _set_aside(self, side: _NameSide) -> Sign | None:
        """Return the sign for a word of alternatives ("As a fallback, X", "备选：X"); None if there is none."""
        verb = self._verb(side)
        if verb is None or verb.has("reject"):
            return None
        before = (*side.cues, *(cue for cue in side.clause.cues if cue.end <= side.name.hit.start))
        word = next((cue for cue in before if cue.has("alternative")), None)
        return ("reserve" if word.has("reserve") else "compare", verb) if word else None

    def _verb(self, side: _NameSide) -> Cue | None:
        """Return the last governing word that chooses, rejects or names an alternative; None if there is none."""
        return next((cue for cue in reversed(side.cues) if cue.has("reject", "choose", "chosen", "alternative")), None)

    def _governed(self, side: _NameSide) -> Sign | None:
        """Return the sign from a verb before the name that chooses or rejects; None if there is none."""
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

    def _chosen(self, side: _NameSide, verb: Cue) -> Sign:
        """Return the sign of a verb of choice, corrected by the words after the name: "going to X would take too long"."""
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

    def _unfit_for(self, side: _NameSide) -> Sign | None:
        """Return "bad" if words state that something does not fit the thing ("too tall for X", "won't fit into X"); otherwise None."""
        negation = False
        for cue in side.cues:
            if cue.has("unfit", "too") or (negation and cue.has("fit")):
                return "bad", cue
            negation = negation or cue.has("not")
        return None

    def _identified(self, side: _NameSide) -> Sign | None:
        """Return a recommendation for a name that answers a description ("the quickest road is X"); otherwise None."""
        if side.near is None or not side.near.has("is") or side.has("not", "modal") or side.tail.but:
            return None
        best = next((cue for cue in side.cues if cue.has("best")), None)
        return ("propose" if best else "perhaps"), best or side.near

    def _led_to(self, side: _NameSide) -> Sign | None:
        """Return the sign for a way that leads to the thing, or for its place in an order ("walk on to X", "X first"); otherwise None."""
        toward = side.near is not None and side.near.has("toward")
        if toward and side.has("not", "lack", "needless"):
            return "plain", None
        placed = self.named.behind_it(side.name, "order_after")
        if placed and not side.tail.bad:
            side.name.timed = True
            return "plan", placed
        side.name.home = toward and side.near is not None and side.near.has("homeward")
        return ("plan", side.near) if toward else None

    def _in_sequence(self, side: _NameSide) -> Sign | None:
        """Return a plan for an arrow before or after the name ("post → library"); otherwise None."""
        name, clause = side.name, side.clause
        following = self.scan.clauses[name.clause + 1] if name.clause + 1 < len(self.scan.clauses) else None
        leaves = following is not None and following.opens == "→" and following.sentence == name.sentence
        if clause.opens == "→" or leaves or "→" in self.scan.text[name.hit.end : clause.end]:
            name.timed = True
            return "plan", None
        return None

    def _governing(self, name: Name, clause: Clause) -> list[Cue]:
        """Return the words that govern a name, including those in a label before a colon ("My pick:")."""
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
        """Return whether a negation precedes a verb."""
        for cue in reversed([cue for cue in cues if cue.end <= verb.start]):
            spared = cue.has("forward") and not verb.has("reject") and not self.scan.text[cue.end : verb.start].strip()
            if cue.has("not") or spared:
                return True
        return False

    def _leads(self, name: Name) -> bool:
        """Return whether a name heads an item, a row or a heading, apart from marks and a label."""
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
        _marked, _beside, _place, _set_aside, _governed, _unfit_for, _identified, _led_to, _in_sequence,
    )  # fmt: skip


_FOLLOWING = 2


@dataclass(slots=True)
class Tail:
    """The words of the reply about a name, after the name."""

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
        """Return the most certain sign after the name with its word, None if there is none; ``before``: the preceding sign."""
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
    """Reads the words after names.

    Args:
        named: the names of the reply in their places.
    """

    def __init__(self, named: Named) -> None:
        self.named = named
        self.scan = named.scan

    def tail_of(self, name: Name) -> Tail:
        """Return the reply's words about a name between it and the next name."""
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
        """Add one clause's statements about a name to the tail."""
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
        """Record a verb of choice with a pronoun as its object: "so choose that one", 去那儿."""
        for cue, following in pairwise(cues):
            if cue.has("not", "modal", "if"):
                return
            if cue.has("choose") and following.has("it") and not self.scan.text[cue.end : following.start].strip():
                tail.chosen = tail.chosen or cue

    def _note(self, tail: Tail, cue: Cue, negation: Cue | None, *, hypothetical: bool, hours: bool) -> None:
        """Record one word's statement about the thing."""
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
        """Record a word that chooses the thing, rejects it, or makes it an alternative."""
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
        """Return whether a verb has no object, or only a pronoun: "so skip it", "避开为好"."""
        following = self.scan.text[cue.end : cue.end + 12].lstrip(" ")
        if not following or not following[0].isalnum():
            return True
        pronoun = next(
            (other for other in self.scan.cues_between(cue.end, cue.end + _LEAD) if other.start - cue.end <= 1), None
        )
        return pronoun is not None and pronoun.has("it", "chosen", "article")

    def _goes_on(self, cue: Cue) -> bool:
        """Return whether a word follows "too", so that it means excess ("too far") and not "also"."""
        following = self.scan.text[cue.end : cue.end + 2].strip()[:1]
        return following not in ("", ",", ".", ";", "!", ")")

    def _said_of(self, name: Name) -> Iterator[tuple[Clause, list[Cue]]]:
        """Yield the clauses that continue about a name, each with its words, until another thing is named."""
        clause = self.scan.clauses[name.clause]
        later = self.named.neighbour(name, 1)
        stop = later.hit.start if later else clause.end
        yield clause, [cue for cue in clause.cues if name.hit.end <= cue.start < stop]
        if later:
            return
        sentence = self.scan.sentences[name.sentence]
        for place in range(name.clause + 1, sentence.last):
            following = self.scan.clauses[place]
            names = self.named.by_clause.get(place, ())
            if names:
                return
            yield following, following.cues
        for number in range(name.sentence + 1, min(name.sentence + _FOLLOWING, len(self.scan.sentences))):
            then = self.scan.sentences[number]
            clauses = self.scan.clauses[then.first : then.last]
            taken = any(place in self.named.by_clause for place in range(then.first, then.last))
            if then.block != name.block or taken or then.asks or not any(cue.has("it") for cue in clauses[0].cues[:3]):
                return
            for other in clauses:
                yield other, other.cues
