"""What a reply does with each thing it names: by the words around the name first, then by the reply as a whole.

Around a name two sides count: what governs it from before ("take X", "instead of X", "skip X"), and what is said of it
behind ("X is closed", "X is your best bet", "X我没选"). A sign of one side alone is enough; where signs contradict each
other or are missing, the whole reply decides, or nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .document import Stance
from .lexicon import Hit
from .pack import Cue
from .scan import Clause, Scan

#: Signs that decide by themselves.
_DECIDED: dict[str, Stance] = {
    "propose": "affirmed", "reject": "rejected", "compare": "compared", "landmark": "landmark", "ask": "asked", "deny": "denied",
}  # fmt: skip
_LIST_LINKS = frozenset({"", ",", "、", "/", "&", "+", "→", ">"})
_ADJACENT = frozenset({"", " ", '"', "'", "《", "「", "("})
_OF_HOURS = frozenset({"opening", "closing", "deadline", "last_service", "event"})
_LEAD = 12
_LABEL = 40
_BRACKETED = re.compile(r"\([^()]*\)")
_FOLLOWING = 2
_FEW = 4
_FAR = 120


@dataclass(slots=True)
class Name:
    """A name in a folded reply with its place and its stance.

    Attributes:
        sign: what the words around it say: propose, reject, compare, landmark, ask, deny; or weaker: perhaps (a proposal under a
            condition), lead (it heads an item, row or heading), plan (a way leads there, or a time is given), bad (it will not do), plain.
        good: whether it carries a tick.
        why: the place of the words that decided.
    """

    hit: Hit
    clause: int
    sentence: int
    block: int
    sign: str = "plain"
    why: tuple[int, int] | None = None
    stance: Stance = "unclear"
    good: bool = False
    timed: bool = False
    bad: bool = False
    conditional: bool = False
    home: bool = False
    leads: bool = False
    bare: bool = False
    picked: bool = False

    @property
    def key(self) -> str:
        """The thing, or nothing where it is not sure which one."""
        return self.hit.keys[0] if len(self.hit.keys) == 1 else ""


@dataclass(slots=True)
class _Tail:
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


@dataclass(slots=True)
class _Reader:
    scan: Scan
    names: list[Name]
    clocks: Sequence[int]
    by_clause: dict[int, list[Name]] = field(default_factory=dict)
    place: dict[int, int] = field(default_factory=dict)
    first: dict[int, Name] = field(default_factory=dict)
    told_when: set[int] = field(default_factory=set)

    def read(self) -> None:
        """Set the sign of every name."""
        for place, name in enumerate(self.names):
            self.by_clause.setdefault(name.clause, []).append(name)
            self.place[id(name)] = place
            self.first.setdefault(name.block, name)
        self.told_when = {self.scan.clauses[self.scan.clause_at(position)].start for position in self.clocks}
        places = {self.scan.clause_at(position) for position in self.clocks}
        timed = {place for place in places if not any(cue.tags.get("time_role") in _OF_HOURS for cue in self.scan.clauses[place].cues)}
        for name in self.names:
            row = self.scan.blocks[name.block].kind != "paragraph" and self._row_timed(name, timed)
            name.timed = name.clause in timed or row or self._arrives(name, timed)
        for group in self._groups():
            self._set_sign(group)

    def _arrives(self, name: Name, timed: set[int]) -> bool:
        """Return whether what is said of a name goes on with when the user is there."""
        sentence = self.scan.sentences[name.sentence]
        for place in range(name.clause + 1, sentence.last):
            if place in self.by_clause:
                return False
            clause = self.scan.clauses[place]
            if place in timed and any(cue.tags.get("time_role") in ("arrival", "departure", "stop") for cue in clause.cues):
                return "if" not in clause.links and not clause.has("modal")
        return False

    def _row_timed(self, name: Name, timed: set[int]) -> bool:
        sentence = self.scan.sentences[name.sentence]
        near = range(sentence.first, sentence.last) if self.scan.blocks[name.block].kind == "row" else range(max(sentence.first, name.clause - 2), min(sentence.last, name.clause + 2))
        return any(clause in timed for clause in near)

    def _groups(self) -> list[list[Name]]:
        """Return the names that are said in one breath ("A, B and C"). A comma alone makes no list: "Take A, B is shut"."""
        groups: list[list[Name]] = []
        pending: list[Name] = []
        for name in self.names:
            last = (pending or (groups[-1] if groups else []))[-1:]
            link = self._linked(last[0].hit.end, name.hit.start) if last and last[0].sentence == name.sentence else ""
            if link == "and":
                groups[-1] += [*pending, name]
                pending = []
            elif link == "comma":
                pending.append(name)
            else:
                groups += [[other] for other in pending]
                groups.append([name])
                pending = []
        return groups + [[other] for other in pending]

    def _linked(self, start: int, end: int) -> str:
        """Return how two names are joined: by "and" or a list comma, by a comma alone, or not at all."""
        gap = self.scan.text[start:end]
        gap = _BRACKETED.sub("", gap) if len(gap) <= 2 * _LABEL else gap
        if len(gap) > 24 or "|" in gap or "\n" in gap:  # noqa: PLR2004  "and then the" and marks
            return ""
        for cue in self.scan.cues_between(start, end):
            if cue.has("and", "article", "then") or self.scan.text[cue.start : cue.end] in self.scan.pack.names["article"]:
                gap = gap.replace(self.scan.text[cue.start : cue.end], " ", 1)
        for word in gap.replace(",", " ").split():
            if word not in _LIST_LINKS and word not in self.scan.pack.names["article"] and word not in ("both", "either", "neither"):
                return ""
        joined = any(cue.has("and", "then") for cue in self.scan.cues_between(start, end)) or any(mark in gap for mark in "、/&+→>")
        return "and" if joined else "comma" if "," in gap else ""

    def _set_sign(self, group: list[Name]) -> None:
        first, last = group[0], group[-1]
        sentence = self.scan.sentences[first.sentence]
        block = self.scan.blocks[first.block]
        tail = _Tail() if "if" in self.scan.clauses[last.clause].links else self._tail(last)
        sign, cue = self._before(first, tail)
        if sign not in ("propose", "reject", "compare", "landmark", "deny"):
            behind = self._behind(tail, sign)
            sign, cue = behind or (sign, cue)
        if sentence.asks and sign != "reject":
            sign, cue = "ask", cue
        under = self._under(first, leads=sign == "lead")
        if under and sign in ("plain", "lead", "bad", "plan", "perhaps"):
            sign, cue = under, None
        if block.kind == "quote":
            sign = "plain"
        if tail.bad and tail.both:
            for name in self.names[max(self.place[id(first)] - _FOLLOWING, 0) : self.place[id(first)]]:
                if name.sentence == first.sentence and name.sign in ("plain", "lead"):
                    name.sign, name.why = "bad", (tail.bad.start, tail.bad.end)
        for name in group:
            name.sign, name.why = sign, (cue.start, cue.end) if cue else None
            name.good = tail.good
            name.picked = sign == "propose" and cue is not None and cue.has("chosen")
            name.conditional = self._conditional(name)
            name.bad = tail.bad is not None or tail.but is not None or tail.no is not None
        if sign == "landmark" and len(group) > 1:
            for name in group[1:]:
                name.sign = self._alone(name)

    def _alone(self, name: Name) -> str:
        return self._before(name, _Tail())[0]

    # What stands before the name

    def _before(self, name: Name, tail: _Tail) -> tuple[str, Cue | None]:
        clause = self.scan.clauses[name.clause]
        cues = self._governing(name, clause)
        name.leads = self._leads(name)
        near = self._adjacent(cues, name.hit.start)
        sign = self._adjacent_sign(near, cues, clause)
        if sign:
            name.bare = sign == "reject"
            return sign, near
        after = self._adjacent_after(name)
        if after:
            return "landmark", after
        if near and near.has("split_verb") and (particle := self._next(name, "split_particle")):
            return "reject", particle
        if "but" in clause.links and self._not_before(name, cues):
            return "propose", cues[0] if cues else None
        governed = self._governed(name, cues, clause, tail) or self._unfit_for(cues)
        if governed:
            return governed
        best = next((cue for cue in cues if cue.has("best")), None)
        if near and near.has("is") and not any(cue.has("not", "modal") for cue in cues):
            return ("propose" if best and not tail.but else "perhaps"), best or near
        if near and near.has("toward") and any(cue.has("not", "lack") for cue in cues):
            return "plain", None
        if self._next(name, "order_after") and not tail.bad:
            name.timed = True
            return "plan", None
        if near and near.has("toward"):
            name.home = near.has("homeward")
            return "plan", near
        if self._in_sequence(name, clause):
            name.timed = True
            return "plan", None
        if name.leads:
            return "lead", None
        return ("plan" if name.timed else "plain"), None

    def _governing(self, name: Name, clause: Clause) -> list[Cue]:
        """Return the words that govern a name; a label ("My pick:") governs what stands behind its colon."""
        earlier = self._neighbour(name, -1)
        start = earlier.hit.end if earlier else clause.start
        cues = [cue for cue in clause.cues if start <= cue.start and cue.end <= name.hit.start]
        place = name.clause
        while not earlier and clause.opens in (":", "(", "—", "-", "|") and place > self.scan.sentences[name.sentence].first:
            place -= 1
            before = self.scan.clauses[place]
            if place in self.by_clause or before.end - before.start > _LABEL or before.has("it", "person", "not"):
                break
            cues = before.cues + cues
            if before.opens != "|" or clause.opens != "|":
                break
            clause = before
        return cues

    def _neighbour(self, name: Name, step: int) -> Name | None:
        """Return the name before or behind in the same clause."""
        place = self.place[id(name)] + step
        other = self.names[place] if 0 <= place < len(self.names) else None
        return other if other and other.clause == name.clause else None

    def _adjacent(self, cues: Sequence[Cue], end: int) -> Cue | None:
        """Return the word right before a name, an article or a quotation mark aside."""
        articles = self.scan.pack.names["article"]
        for cue in reversed(cues):
            gap = self.scan.text[cue.end : end].strip(" \"'(「《“")
            if gap and gap not in articles:
                return None
            if self.scan.text[cue.start : cue.end] not in articles:
                return cue
        return None

    def _adjacent_sign(self, near: Cue | None, cues: Sequence[Cue], clause: Clause) -> str:
        if near is None:
            return ""
        last = self.scan.pack.words.get(self.scan.text[near.start : near.end].rpartition(" ")[2], {})
        if near.has("instead"):
            denied = "not" in near.tags and any(cue.has("reject") for cue in cues)
            return "propose" if denied else "reject"
        if near.has("than"):
            return "compare"
        if near.has("not"):
            return "deny"
        if near.has("near") or ("from" in last and not near.has("choose")):
            return "landmark"
        return ""

    def _in_sequence(self, name: Name, clause: Clause) -> bool:
        """Return whether an arrow leads to the name or from it: "post → library"."""
        following = self.scan.clauses[name.clause + 1] if name.clause + 1 < len(self.scan.clauses) else None
        return clause.opens == "→" or (following is not None and following.opens == "→" and following.sentence == name.sentence) or (
            "→" in self.scan.text[name.hit.end : clause.end]
        )

    def _next(self, name: Name, group: str) -> Cue | None:
        """Return the word right behind a name, if it is of a group."""
        cue = next(iter(self.scan.cues_between(name.hit.end, name.hit.end + _LEAD)), None)
        return cue if cue and cue.has(group) and not self.scan.text[name.hit.end : cue.start].strip() else None

    def _not_before(self, name: Name, cues: Sequence[Cue]) -> bool:
        """Return whether the name before was turned down by a bare "not": "not X but Y"."""
        place = self.place[id(name)]
        before = self.names[place - 1] if place else None
        return before is not None and before.sentence == name.sentence and before.sign == "reject" and before.bare and all(cue.has("but") for cue in cues)

    def _adjacent_after(self, name: Name) -> Cue | None:
        clause = self.scan.clauses[name.clause]
        cue = clause.first("near_after", start=name.hit.end)
        return cue if cue and self.scan.text[name.hit.end : cue.start].strip(" 的") == "" else None

    def _governed(self, name: Name, cues: Sequence[Cue], clause: Clause, tail: _Tail) -> tuple[str, Cue | None] | None:
        """Return what a verb before the name does with it."""
        opening = self._introduction(name)
        if opening:
            return "compare", opening
        verb = next((cue for cue in reversed(cues) if cue.has("reject", "choose", "chosen", "alternative", "instead")), None)
        if verb is None:
            return None
        negated = self._negated(cues, verb)
        if verb.has("reject"):
            return ("propose" if negated else "reject"), verb
        if any(cue.has("alternative") for cue in (*cues, *clause.cues) if cue.end <= name.hit.start):
            return "compare", verb
        if not verb.has("choose", "chosen"):
            return None
        if negated:
            return "reject", verb
        weak = verb.has("weak_choose") and not verb.has("chosen") and not any(cue.has("chosen", "choose") for cue in cues if cue is not verb)
        if tail.reject and (weak or tail.reject.end <= clause.end):
            return "reject", tail.reject
        if tail.bad and (weak or tail.bad.end <= clause.end) and verb.has("choose"):
            return "bad", tail.bad
        modal = any(cue.has("modal", "if") for cue in cues)
        if modal and tail.bad:
            return "bad", tail.bad
        if modal or (weak and tail.but) or self._conditional(name):
            return "perhaps", verb
        return "propose", verb

    def _introduction(self, name: Name) -> Cue | None:
        """Return the word of an introducing clause that sets the name aside: "As a fallback, ..."."""
        first = self.scan.sentences[name.sentence].first
        if name.clause != first + 1 or first in self.by_clause:
            return None
        clause = self.scan.clauses[first]
        return clause.first("alternative") if clause.end - clause.start <= _LABEL else None

    def _unfit_for(self, cues: Sequence[Cue]) -> tuple[str, Cue | None] | None:
        """Return "bad" where the words before say that something will not do with the thing: "too tall for X", "won't fit into X"."""
        negation = None
        for cue in cues:
            if cue.has("unfit", "too") or (negation and cue.has("fit")):
                return "bad", cue
            negation = cue if cue.has("not") else negation
        return None

    def _negated(self, cues: Sequence[Cue], verb: Cue) -> bool:
        """Return whether a verb is denied by a word before it that no other verb takes."""
        for cue in reversed([cue for cue in cues if cue.end <= verb.start]):
            if cue.has("not"):
                return True
            if cue.has("choose", "reject", "chosen") and not verb.has("reject") and not cue.has("choose"):
                return False
        return False

    def _conditional(self, name: Name) -> bool:
        """Return whether the sentence puts a condition before the clause of a name."""
        whole = self.scan.sentences[name.sentence]
        return any("if" in clause.links for clause in self.scan.clauses[whole.first : name.clause + 1])

    def _leads(self, name: Name) -> bool:
        """Return whether a name stands at the head of an item, a row or a heading, marks and a label aside."""
        block = self.scan.blocks[name.block]
        begin = self.scan.bounds[name.block][0]
        if block.kind == "heading":
            return True
        if block.kind == "row":
            return self._first_in_block(name)
        if name.hit.start - begin > _FAR:
            return False
        lead = self.scan.text[begin : name.hit.start]
        words = sum(char.isalpha() for char in lead)
        label = block.kind == "item" and lead.rstrip().endswith((":", "-", "·", ")")) and words < 3 * _LEAD
        return (block.kind == "item" and (words < _LEAD // 2 or label)) and self._first_in_block(name)

    def _first_in_block(self, name: Name) -> bool:
        return self.first[name.block] is name

    # What is said behind the name

    def _tail(self, name: Name) -> _Tail:
        """Gather what is said of a name behind it, up to the next name."""
        tail = _Tail()
        for clause, cues in self._said_of(name):
            told_when = clause.start in self.told_when
            hypothetical = False
            negation: Cue | None = None
            if "but" in clause.links and clause.start > name.hit.end:
                tail.but = tail.but or clause.first("but")
            if "if" in clause.links and clause.start > name.hit.end:
                tail.conditional = True
                continue
            for cue in cues:
                hypothetical = hypothetical or cue.has("modal")
                if cue.has("other"):
                    break
                self._note(tail, cue, negation, hypothetical=hypothetical, hours=told_when)
                if cue.has("not"):
                    negation = cue
                elif cue.has("choose", "fit", "unfit", "chosen", "reject"):
                    negation = None
        return tail

    def _note(self, tail: _Tail, cue: Cue, negation: Cue | None, *, hypothetical: bool, hours: bool) -> None:
        if cue.has("no"):
            tail.reject = tail.reject or cue
        if cue.has("yes"):
            tail.good = True
        if cue.has("reject") and not negation and (not cue.has("forward") or self._ends(cue)):
            tail.reject = tail.reject or cue
        if cue.has("alternative"):
            tail.compare = tail.compare or cue
        elif hypothetical and cue.has("chosen", "fit") and not negation:
            tail.perhaps = tail.perhaps or cue
        elif cue.has("chosen"):
            if negation:
                tail.reject = tail.reject or negation
            else:
                tail.chosen = tail.chosen or cue
        elif cue.has("choose") and negation:
            tail.reject = tail.reject or negation
        closes = hours and cue.tags.get("time_role") == "closing"
        if (cue.has("unfit", "unsure") and not negation and not closes) or (cue.has("fit") and negation and not cue.has("unfit")):
            tail.bad = tail.bad or cue
        if cue.has("too") and self._goes_on(cue):
            tail.bad = tail.bad or cue
        if cue.has("not") and not cue.has("lack"):
            tail.no = tail.no or cue
        tail.both = tail.both or cue.has("both")
        if cue.has("worse"):
            tail.worse = tail.worse or cue

    def _ends(self, cue: Cue) -> bool:
        """Return whether a verb that takes an object has none but a pronoun: "so skip it", "避开为好"."""
        following = self.scan.text[cue.end : cue.end + 12].lstrip(" ")
        if not following or not following[0].isalnum():
            return True
        pronoun = next((other for other in self.scan.cues_between(cue.end, cue.end + 8) if other.start - cue.end <= 1), None)
        return pronoun is not None and pronoun.has("it", "chosen", "article")

    def _goes_on(self, cue: Cue) -> bool:
        """Return whether "too" stands before an adjective and not at the end."""
        following = self.scan.text[cue.end : cue.end + 2]
        return following[:1] not in ("", ",", ".", ";", "!", ")", "\n") and following.strip()[:1] not in (",", ".", "")

    def _said_of(self, name: Name) -> Iterator[tuple[Clause, list[Cue]]]:
        """Yield the clauses that go on about a name, each with its words, up to where another thing is named."""
        clause = self.scan.clauses[name.clause]
        later = self._neighbour(name, 1)
        if later and self._only_passed(later) and not self._neighbour(later, 1):
            yield clause, [cue for cue in clause.cues if name.hit.end <= cue.start < later.hit.start or cue.start >= later.hit.end]
        else:
            stop = later.hit.start if later else clause.end
            yield clause, [cue for cue in clause.cues if name.hit.end <= cue.start < stop]
            if later:
                return
        sentence = self.scan.sentences[name.sentence]
        for place in range(name.clause + 1, sentence.last):
            following = self.scan.clauses[place]
            named = self.by_clause.get(place, ())
            if named and "if" in following.links:
                continue
            if any(not self._only_passed(other) for other in named):
                return
            yield following, [cue for cue in following.cues if not named or cue.start >= named[-1].hit.end]
        for number in range(name.sentence + 1, min(name.sentence + _FOLLOWING, len(self.scan.sentences))):
            then = self.scan.sentences[number]
            clauses = self.scan.clauses[then.first : then.last]
            taken = any(place in self.by_clause for place in range(then.first, then.last))
            if then.block != name.block or taken or then.asks or not any(cue.has("it") for cue in clauses[0].cues[:3]):
                return
            for other in clauses:
                yield other, other.cues

    def _only_passed(self, name: Name) -> bool:
        """Return whether a name is only where a way leads to or comes from, so that the clause is still about the name before."""
        clause = self.scan.clauses[name.clause]
        near = self._adjacent([cue for cue in clause.cues if cue.end <= name.hit.start], name.hit.start)
        return near is not None and near.has("toward", "from", "near", "than") and not near.has("advise") and not clause.has("reject", "chosen")

    def _behind(self, tail: _Tail, sign: str) -> tuple[str, Cue | None] | None:
        """Return what is said behind a name, the surest first."""
        if tail.reject:
            return "reject", tail.reject
        if tail.compare:
            return "compare", tail.compare
        if tail.chosen and not tail.bad:
            return ("perhaps" if tail.conditional else "propose"), tail.chosen
        if tail.bad:
            return "bad", tail.bad
        if tail.perhaps and sign in ("plain", "lead"):
            return "perhaps", tail.perhaps
        return None

    def _under(self, name: Name, *, leads: bool) -> str:
        """Return what the headings over a name say of all that stands under them."""
        place = self.scan.blocks[name.block].heading
        while place >= 0:
            low, high = self.scan.bounds[place]
            cues = self.scan.cues_between(low, high)
            if any(cue.has("reject_heading") for cue in cues) and place not in self.first:
                return "reject"
            if any(cue.has("compare_heading") for cue in cues):
                return "option"
            if any(cue.has("reason") for cue in cues):
                return "plain"
            if leads and place not in self.first and any(cue.has("choose", "chosen") for cue in cues) and not any(cue.has("not", "from") for cue in cues):
                return "offered"
            place = self.scan.blocks[place].heading
        return ""


def read_stances(scan: Scan, names: list[Name], clocks: Sequence[int]) -> None:
    """Set sign and stance of every name.

    Args:
        scan: the reply.
        names: the names in it, ascending.
        clocks: where the times of day stand.
    """
    _Reader(scan, names, clocks).read()
    _Whole(scan, names).settle()


class _Whole:
    """What the reply as a whole does with each thing."""

    def __init__(self, scan: Scan, names: list[Name]) -> None:
        self.scan = scan
        self.names = names
        self.proposed = {name.key for name in names if name.sign == "propose" and name.key}
        self.out = {name.key for name in names if name.sign == "reject" and name.key}
        self.aside = {name.key for name in names if name.sign in ("compare", "option") and name.key}
        self.candidates = {name.key for name in names if name.sign not in ("landmark", "ask")}
        self.choices = {self._list_of(name) for name in names if name.leads and (name.sign in ("reject", "bad") or (name.picked and scan.blocks[name.block].kind == "row"))}
        self.leads = self._leading()
        if not self.proposed and not self.leads:
            self.proposed = {name.key for name in names if name.sign == "perhaps" and name.key} - self.out - self.aside
        if not self.out & self._opening():
            self.leads |= self._opening()
        self.firm = self.proposed | self.leads
        self.leads |= self._sections()

    def _opening(self) -> set[str]:
        """Return the thing that a reply begins with, where its first clause names it and says nothing against it."""
        first = self.names[0] if self.names else None
        if first is None or first.sign != "plain" or first.bad or first.conditional or first.sentence or not self._fragment(first):
            return set()
        clause = self.scan.clauses[first.clause]
        rest = list(self.scan.text[clause.start : first.hit.start] + self.scan.text[first.hit.end : clause.end])
        known = sum(cue.end - cue.start for cue in clause.cues if cue.has("unit", "mode", "numeral", "chosen", "choose", "then", "about"))
        return {first.key} if first.key and sum(map(str.isalpha, rest)) - known < _FEW else set()

    def _sections(self) -> set[str]:
        """Return the things that head the first item of a list whose section proposes nothing else."""
        seen: dict[int, Name] = {}
        for name in self.names:
            if self.scan.blocks[name.block].kind in ("item", "row") and self.scan.blocks[name.block].heading >= 0:
                seen.setdefault(self.scan.blocks[name.block].heading, name)
        taken = {self.scan.blocks[name.block].heading for name in self.names if name.key in self.proposed}
        taken |= {name.block for name in self.names if self.scan.blocks[name.block].kind == "heading"}
        return {name.key for heading, name in seen.items() if name.sign == "lead" and name.key and not name.bad and heading not in taken} - self.out - self.aside

    def _leading(self) -> set[str]:
        """Return the things that head a heading, a numbered or timed item or row, or that are ticked."""
        found = set()
        settled = {self.scan.blocks[name.block].heading for name in self.names if name.leads and name.key in self.proposed | self.out}
        for name in self.names:
            kind = self.scan.blocks[name.block].kind
            heads = name.sign in ("lead", "offered") and (kind == "heading" or name.timed or name.good or self._numbered(name))
            if self._options(name) or (kind == "row" and not name.timed and self.proposed):
                heads = False
            heads = heads or (name.sign == "offered" and kind == "item" and self.scan.blocks[name.block].heading not in settled)
            walked = name.sign == "plan" and name.timed and not name.home
            if (heads or walked) and name.key and not (name.bad and not name.timed and kind != "heading"):
                found.add(name.key)
        return found - self.out

    def _options(self, name: Name) -> bool:
        """Return whether a name stands in a table or list of options, of which another one is turned down or picked."""
        return self._list_of(name) in self.choices and self.scan.blocks[name.block].kind in ("row", "item")

    def _list_of(self, name: Name) -> tuple[str, int]:
        block = self.scan.blocks[name.block]
        return (block.kind, name.block - block.level if block.kind == "row" else block.heading)

    def _numbered(self, name: Name) -> bool:
        block = self.scan.blocks[name.block]
        start = block.span.start
        lead = self.scan.folded.original[max(start - 5, 0) : start].rpartition("\n")[2]
        return block.kind == "item" and any(char.isdigit() or "①" <= char <= "⑳" for char in lead)

    def settle(self) -> None:
        """Set the stance of every name."""
        for name in self.names:
            name.stance = _DECIDED.get(name.sign) or self._weak(name)

    def _weak(self, name: Name) -> Stance:
        key = name.key
        if not key:
            return self._ambiguous(name)
        others = bool(self.firm - {key})
        if name.sign == "perhaps":
            return "compared" if others and key not in self.firm else "affirmed"
        if key in self.proposed and key not in self.out:
            return "affirmed"
        if key in self.out and key not in self.firm:
            return "rejected"
        if name.sign == "bad":
            return "affirmed" if key in self.firm else "rejected"
        if name.sign == "option":
            return "affirmed" if key in self.leads else "compared"
        if key in self.leads:
            return "affirmed"
        if key in self.aside:
            return "compared"
        return self._plain(name, others=others)

    def _plain(self, name: Name, *, others: bool) -> Stance:
        """Return the stance of a name that nothing decides: that of a plan, of the only candidate, of one set aside by a "but"."""
        if name.bad and others:
            return "rejected"
        if name.conditional and others:
            return "compared"
        if name.sign == "plan":
            return "affirmed"
        if name.sign in ("lead", "offered") and not name.bad:
            row = self.scan.blocks[name.block].kind == "row" and not name.timed
            return "affirmed" if not others else "compared" if row or self._options(name) else "unclear"
        if not others and not name.bad:
            return "affirmed" if not self.candidates - {name.key} or self._fragment(name) else "unclear"
        return "unclear"

    def _ambiguous(self, name: Name) -> Stance:
        """Return the stance of a name that several things have: what holds for whichever is meant."""
        if name.sign in ("plan", "lead") and not self.firm:
            return "affirmed"
        return "rejected" if name.sign == "bad" and set(name.hit.keys) <= self.out else "unclear"

    def _fragment(self, name: Name) -> bool:
        """Return whether the clause of a name has no verb that the pack knows: a short answer names what it proposes."""
        clause = self.scan.clauses[name.clause]
        return not clause.has("person", "it", "not", "but", "because", "modal", "unfit", "too", "than", "worse", "if", "although")


def reasons(names: Sequence[Name]) -> list[tuple[int, int] | None]:
    """Return for each name the place of the words that decided its stance; those of another mention where the reply as a whole did."""
    first: dict[tuple[str, str], tuple[int, int]] = {}
    for name in names:
        if name.why and name.sign in ("propose", "reject"):
            first.setdefault((name.key, _DECIDED[name.sign]), name.why)
    return [name.why or first.get((name.key, name.stance)) for name in names]
