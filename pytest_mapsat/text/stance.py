"""What a reply does with each thing it names: by the words around the name first, then by the reply as a whole.

Around a name two sides count: what governs it from before ("take X", "instead of X", "skip X"), and what is said of it
behind ("X is closed", "X is your best bet", "X我没选"). A sign of one side alone is enough; where signs contradict each
other or are missing, the whole reply decides, or nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .before import Before
from .behind import Behind, Tail
from .document import Block
from .named import Name, Named
from .pack import Cue
from .scan import Clause, Scan
from .whole import Whole

_LIST_LINKS = frozenset({"", ",", "、", "/", "&", "+"})
_OF_PLANS = frozenset({"arrival", "departure", "stop"})
_OF_HOURS = frozenset({"opening", "closing", "deadline", "last_service", "event"})
_OF_OTHERS = ("other", "better", "worse")
_LABEL = 40
_BRACKETED = re.compile(r"\([^()]*\)")
#: "柳巷12号的": an address before the name of what stands there.
_ADDRESSED = re.compile(r"(?:[0-9]{1,4}号)?(?:的|那家|那座|那边的)")
_FOLLOWING = 2
_MOST_CELLS = 40
_FEW = 4


class _Signs:
    """Reads the signs around all names of a reply."""

    def __init__(self, named: Named) -> None:
        self.named = named
        self.scan = named.scan
        self.before = Before(named)
        self.behind = Behind(named)
        self._said_over: dict[str, str] = {}

    def read(self) -> None:
        """Set the sign of every name."""
        self.named.index()
        self.named.told_when = {
            self.scan.clauses[self.scan.clause_at(position)].start for position in self.named.clocks
        }
        places = {self.scan.clause_at(position) for position in self.named.clocks}
        timed = {
            place
            for place in places
            if not any(cue.tags.get("time_role") in _OF_HOURS for cue in self.scan.clauses[place].cues)
        }
        for name in self.named.names:
            row = self.scan.blocks[name.block].kind != "paragraph" and self._row_timed(name, timed)
            name.timed = row or (name.clause in timed and self._moves(name)) or self._arrives(name, timed)
        for group in self._groups():
            self._set_sign(group)

    def _moves(self, name: Name) -> bool:
        """Return whether the clause of a name says when one comes or goes, and not only when something is so."""
        clause = self.scan.clauses[name.clause]
        return self._fragment(clause) or any(cue.tags.get("time_role") in _OF_PLANS for cue in clause.cues)

    def _fragment(self, clause: Clause) -> bool:
        """Return whether a clause is names, times and figures only."""
        words = sum(cue.end - cue.start for cue in clause.cues)
        named = sum(
            name.hit.end - name.hit.start for name in self.named.by_clause.get(self.scan.clause_at(clause.start), ())
        )
        letters = sum(map(str.isalpha, self.scan.text[clause.start : clause.end]))
        return letters - words - named < _FEW

    def _arrives(self, name: Name, timed: set[int]) -> bool:
        """Return whether what is said of a name goes on with when the user is there."""
        sentence = self.scan.sentences[name.sentence]
        for place in range(name.clause + 1, sentence.last):
            if place in self.named.by_clause:
                return False
            clause = self.scan.clauses[place]
            if place in timed and any(cue.tags.get("time_role") in _OF_PLANS for cue in clause.cues):
                return "if" not in clause.links and not clause.has("modal")
        return False

    def _row_timed(self, name: Name, timed: set[int]) -> bool:
        sentence = self.scan.sentences[name.sentence]
        block = self.scan.blocks[name.block]
        if block.kind != "row":
            near = range(max(sentence.first, name.clause - 2), min(sentence.last, name.clause + 2))
            return any(clause in timed for clause in near)
        return block.level > 0 and any(
            clause in timed and not self._of_hours(block, clause) for clause in range(sentence.first, sentence.last)
        )

    def _of_hours(self, block: Block, place: int) -> bool:
        """Return whether the column of a clause says when things open, close or run at last."""
        start, end = self.scan.folded.span(self.scan.clauses[place].start, self.scan.clauses[place].end)
        cell = next((cell for cell in block.cells if cell.span.start < end and start < cell.span.end), None)
        header = cell.header if cell else ""
        return any(cue.tags.get("time_role") in _OF_HOURS for cue in self.scan.pack.find(header))

    def _groups(self) -> list[list[Name]]:
        """Return the names that are said in one breath ("A, B and C"). A comma alone makes no list: "Take A, B is shut"."""
        groups: list[list[Name]] = []
        pending: list[Name] = []
        for name in self.named.names:
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
        if _ADDRESSED.fullmatch(gap):
            return "and"
        if len(gap) > 24 or "|" in gap or "\n" in gap:  # noqa: PLR2004  "and then the" and marks
            return ""
        for cue in self.scan.cues_between(start, end):
            if (
                cue.has("and", "article", "then")
                or self.scan.text[cue.start : cue.end] in self.scan.pack.names["article"]
            ):
                gap = gap.replace(self.scan.text[cue.start : cue.end], " ", 1)
        for word in gap.replace(",", " ").split():
            if (
                word not in _LIST_LINKS
                and word not in self.scan.pack.names["article"]
                and word not in ("both", "either", "neither")
            ):
                return ""
        joined = any(cue.has("and", "then") for cue in self.scan.cues_between(start, end)) or any(
            mark in gap for mark in "、/&+"
        )
        return "and" if joined else "comma" if "," in gap else ""

    def _set_sign(self, group: list[Name]) -> None:
        first, last = group[0], group[-1]
        tail = Tail() if "if" in self.scan.clauses[last.clause].links else self.behind.tail_of(last)
        sign, cue = self.before.sign_of(first, tail)
        if sign not in ("propose", "reject", "compare", "reserve", "landmark", "deny"):
            sign, cue = tail.sign(sign) or (sign, cue)
        if self.scan.sentences[first.sentence].asks and sign != "reject":
            sign = "ask"
        under = self._under(first, leads=sign == "lead")
        if under and (sign in ("plain", "lead", "bad", "plan", "perhaps") or (sign, under) == ("propose", "reject")):
            sign, cue = under, None
        if sign in ("plain", "lead", "plan"):
            led, other = self._led_in(first), self._among_others(first)
            sign, cue = ("bad", led) if led else ("compare", other) if other else (sign, cue)
        self._spread(first, tail)
        for name in group:
            name.sign = sign if sign != "landmark" or name is first else self.before.sign_of(name, Tail())[0]
            name.why = (cue.start, cue.end) if cue else None
            name.good = name.good or tail.good
            name.picked = sign == "propose" and cue is not None and cue.has("chosen")
            name.conditional = self.named.conditional(name)
            name.bad = tail.bad is not None or (
                tail.but is not None and (tail.no is not None or tail.worse is not None)
            )
            name.doubtful = name.bad or tail.but is not None or tail.no is not None

    def _spread(self, first: Name, tail: Tail) -> None:
        """Give what is said of both to the one before too: "X is A and Y is B, so neither will do"."""
        said = tail.reject or tail.bad
        if not said or not tail.both:
            return
        place = self.named.place[id(first)]
        for name in self.named.names[max(place - _FOLLOWING, 0) : place]:
            if name.sentence == first.sentence and name.sign in ("plain", "lead"):
                name.sign, name.why = "bad", (said.start, said.end)

    def _led_in(self, name: Name) -> Cue | None:
        """Return the word that turns down all that a sentence lists behind its colon: "the others won't do: A shuts at six; B ..."."""
        first = self.scan.sentences[name.sentence].first
        lead: list[Cue] = []
        for place in range(first, name.clause):
            lead += self.scan.clauses[place].cues
            if place in self.named.by_clause:
                return None
            if self.scan.clauses[place + 1].opens == ":":
                break
        else:
            return None
        negation = None
        if not any(cue.has("both", "reject_heading", *_OF_OTHERS) for cue in lead):
            return None
        for cue in lead:
            if cue.has("unfit", "reject", "too", "reject_heading") or (negation and cue.has("fit", "choose", "chosen")):
                return cue
            negation = negation or (cue if cue.has("not") and not cue.has("lack") else None)
        return None

    def _among_others(self, name: Name) -> Cue | None:
        """Return the word that sets aside all that a sentence lists behind its colon: "the others open later: A 07:30, B 08:00"."""
        whole = self.scan.sentences[name.sentence]
        label = self.scan.clauses[whole.first]
        opened = (place for place in range(whole.first + 1, whole.last) if self.scan.clauses[place].opens == ":")
        if next(opened, whole.last) > name.clause or label.end - label.start > _LABEL or label.has("choose", "chosen"):
            return None
        return None if whole.first in self.named.by_clause else label.first("other")

    def _under(self, name: Name, *, leads: bool) -> str:
        """Return what the head of its column, or the headings over a name, say of all that stands under them."""
        place = self.scan.blocks[name.block].heading
        goes_on = self.scan.blocks[name.block].kind != "paragraph" or not any(
            block.kind in ("item", "row") for block in self.scan.blocks[place + 1 : name.block]
        )
        while place >= 0 and goes_on:
            low, high = self.scan.bounds[place]
            cues = self.scan.cues_between(low, high)
            others = any(cue.has(*_OF_OTHERS) for cue in cues)
            unfit = any(cue.has("reject_heading") or (others and cue.has("unfit")) for cue in cues)
            if unfit and place not in self.named.first:
                return "reject"
            if any(cue.has("compare_heading") for cue in cues):
                return "option"
            if (
                leads
                and place not in self.named.first
                and any(cue.has("choose", "chosen") for cue in cues)
                and not any(cue.has("not", "from") for cue in cues)
            ):
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
    _Signs(Named(scan, names, clocks)).read()
    Whole(scan, names).settle()
