"""The stance of a reply to each thing it names: by the words around the name first, then by the reply as a whole.

Around a name two sides count: what governs it from before ("take X", "instead of X", "skip X"), and what is said of it
behind ("X is closed", "X is your best bet", "X我没选"). A sign of one side alone is enough; where signs contradict each
other or are missing, the whole reply decides, or nothing does.

Whether words are plainly affirmed or denied is read from one of few closed shapes of sentences, with no word near that could turn it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from .document import Stance, TextBlock, is_han
from .pack import Cue
from .page import Clause, Scan
from .sides import Before, Behind, Name, Named, Tail

#: Signs that decide by themselves.
_DECIDED: dict[str, Stance] = {
    "propose": "affirmed", "reject": "rejected", "compare": "compared", "landmark": "landmark", "ask": "asked", "deny": "denied",
}  # fmt: skip
_FEW = 4
#: Unknown letters of a clause that is still a short answer and no statement.
_TERSE = 8


class Whole:
    """Decides the stance of names from the reply as a whole."""

    def __init__(self, scan: Scan, names: list[Name]) -> None:
        self.scan = scan
        self.names = names
        self.proposed = {name.key for name in names if name.key and name.sign == "propose"}
        self.out = {name.key for name in names if name.sign == "reject" and name.key}
        self.aside = {name.key for name in names if name.sign in ("compare", "option") and name.key}
        self.candidates = {name.key for name in names if name.sign not in ("landmark", "ask")}
        self.plain = {name.key for name in names if name.sign == "plain" and name.key} - self.out - self.aside
        self.choices = {
            self._list_of(name)
            for name in names
            if name.leads
            and (name.sign in ("reject", "bad") or (name.picked and scan.blocks[name.block].kind == "row"))
        }
        self.heads: dict[tuple[str, int], set[str]] = {}
        for name in names:
            if name.leads and name.key and name.sign in ("lead", "offered"):
                self.heads.setdefault(self._list_of(name), set()).add(name.key)
        self.asks_which = not self.proposed and self._asks_which()
        self.leads = self._leading()
        if not self.proposed and not self.leads:
            self.proposed = {name.key for name in names if name.sign == "perhaps" and name.key} - self.out - self.aside
        if not self.out & self._opening():
            self.leads |= self._opening()
        self.firm = self.proposed | self.leads
        self.leads |= self._sections()

    def _asks_which(self) -> bool:
        """Return whether the reply asks which listed thing the user wants, so that the list recommends none."""
        asking = (sentence for sentence in self.scan.sentences if sentence.asks)
        return any(
            cue.has("which") for sentence in asking for cue in self.scan.cues_between(sentence.start, sentence.end)
        )

    def _opening(self) -> set[str]:
        """Return the thing that the reply's first clause names without objection; empty if there is none."""
        first = self.names[0] if self.names else None
        if (
            first is None
            or first.sign != "plain"
            or first.doubtful
            or first.conditional
            or first.sentence
            or not self._fragment(first)
        ):
            return set()
        return {first.key} if first.key and self._unknown(first) < _FEW else set()

    def _unknown(self, name: Name) -> int:
        """Return the weight of the letters in a name's clause outside the name and well-known words."""
        clause = self.scan.clauses[name.clause]
        rest = self.scan.text[clause.start : name.hit.start] + self.scan.text[name.hit.end : clause.end]
        understood = sum(
            sum(map(_weight, self.scan.text[cue.start : cue.end]))
            for cue in clause.cues
            if cue.has("unit", "mode", "numeral", "chosen", "choose", "then", "about", "so")
        )
        return sum(map(_weight, rest)) - understood

    def _sections(self) -> set[str]:
        """Return the things at the head of a section's first list item, if the section recommends nothing else."""
        seen: dict[int, Name] = {}
        for name in self.names:
            if self.scan.blocks[name.block].kind in ("item", "row") and self.scan.blocks[name.block].heading >= 0:
                seen.setdefault(self.scan.blocks[name.block].heading, name)
        taken = {self.scan.blocks[name.block].heading for name in self.names if name.key in self.proposed}
        taken |= {name.block for name in self.names if self.scan.blocks[name.block].kind == "heading"}
        return (
            {
                name.key
                for heading, name in seen.items()
                if name.sign == "lead" and name.key and not name.bad and heading not in taken and not self.asks_which
            }
            - self.out
            - self.aside
        )

    def _leading(self) -> set[str]:
        """Return the things at the head of a heading or a numbered, timed or ticked item or row, or in a timed plan."""
        keys = set()
        settled = {
            self.scan.blocks[name.block].heading
            for name in self.names
            if name.leads and name.key in self.proposed | self.out
        }
        unfit = {name.key for name in self.names if name.sign == "bad"}
        for name in self.names:
            kind = self.scan.blocks[name.block].kind
            heads = name.sign in ("lead", "offered") and (
                kind == "heading" or name.timed or name.good or (self._numbered(name) and not self.asks_which)
            )
            if self._options(name) or (kind == "row" and not name.timed and self.proposed):
                heads = False
            heads = heads or (
                name.sign == "offered" and kind == "item" and self.scan.blocks[name.block].heading not in settled
            )
            merely_timed = name.why is None and (name.doubtful or name.key in unfit)
            walked = name.sign == "plan" and name.timed and not name.home and not merely_timed
            if (heads or walked) and name.key and not (name.bad and not name.timed and kind != "heading"):
                keys.add(name.key)
        return keys - self.out

    def _options(self, name: Name) -> bool:
        """Return whether a name is in a table or list of options of which one is already rejected or chosen."""
        return self._list_of(name) in self.choices and self.scan.blocks[name.block].kind in ("row", "item")

    def _list_of(self, name: Name) -> tuple[str, int]:
        """Return a key for the list or table that contains a name."""
        block = self.scan.blocks[name.block]
        return (block.kind, name.block - block.level if block.kind == "row" else block.heading)

    def _listed(self, name: Name, *, others: bool) -> Stance:
        """Return the stance of a name at the head of a row or an item; ``others``: whether another thing is recommended."""
        row = self.scan.blocks[name.block].kind == "row" and not name.timed
        if not others:
            return "unclear" if row and self._one_of_several(name) else "affirmed"
        return "compared" if row or self._options(name) else "unclear"

    def _one_of_several(self, name: Name) -> bool:
        """Return whether several things head rows of the same table, so that the table may only compare them."""
        return len(self.heads.get(self._list_of(name), ())) > 1

    def _numbered(self, name: Name) -> bool:
        """Return whether a name is in a numbered list item."""
        block = self.scan.blocks[name.block]
        start = block.span.start
        lead = self.scan.folded.original[max(start - 5, 0) : start].rpartition("\n")[2]
        return block.kind == "item" and any(char.isdigit() or "①" <= char <= "⑳" for char in lead)

    def settle(self) -> None:
        """Set the stance of every name from its own sign, otherwise from the whole reply."""
        either = self._of_either()
        for name in self.names:
            name.stance = _DECIDED.get(name.sign) or self._weak(name)
            if name.sentence in either and name.sign not in ("propose", "deny", "ask"):
                name.stance = "unclear"

    def _of_either(self) -> set[int]:
        """Return the sentences with names to which "the former" or "the latter" refers, without resolving which."""
        headings = {
            self.scan.clauses[self.scan.clause_at(cue.start)].sentence for cue in self.scan.cues if cue.has("either")
        }
        sentences = {name.sentence for name in self.names}
        return headings | {sentence - 1 for sentence in headings - sentences}

    def _weak(self, name: Name) -> Stance:
        """Return the stance of a name whose own words leave it open, from its thing in the whole reply."""
        key = name.key
        if not key:  # several things have the name: what holds for whichever is meant
            return "rejected" if name.sign == "bad" else "unclear"
        others = bool(self.firm - {key})
        if name.sign == "perhaps":
            return "described" if others and key not in self.firm else "affirmed"
        rules: tuple[tuple[bool, Stance], ...] = (
            (key in self.proposed and key not in self.out, "affirmed"),
            (key in self.out and key not in self.firm, "rejected"),
            (name.sign == "bad", "affirmed" if key in self.firm else "rejected"),
            (key in self.leads, "affirmed"),
            (name.sign == "reserve", "unclear"),
            (name.sign == "option" or key in self.aside, "compared"),
            (name.bad and others, "rejected"),
            (name.conditional and others, "compared"),
            (name.doubtful and others, "compared"),
        )
        return next((stance for holds, stance in rules if holds), None) or self._plain(name, others=others)

    def _plain(self, name: Name, *, others: bool) -> Stance:
        """Return the stance of a name without objections: as part of a plan, of a list, or as the only candidate."""
        if name.sign == "plan":
            return "affirmed"
        if name.doubtful:
            return "unclear"
        if name.sign in ("lead", "offered"):
            return "asked" if self.asks_which else self._listed(name, others=others)
        terse = self._fragment(name) and self._unknown(name) < _TERSE
        terse = terse and not self.plain - {name.key}
        alone = terse or not self.candidates - {name.key}
        if alone and not others:
            return "affirmed"
        return "described" if self._is_subject(name) else "unclear"

    def _is_subject(self, name: Name) -> bool:
        """Return whether a clause starts with the name, so that its rest describes the thing."""
        clause = self.scan.clauses[name.clause]
        begin = clause.start
        for cue in clause.cues:
            if cue.start > name.hit.start or self.scan.text[begin : cue.start].strip(" \n\"'"):
                break
            if not cue.has("and", "whereas", "although", "but"):
                break
            begin = cue.end
        lead = self.scan.text[begin : name.hit.start].strip(" \n\"'*「《“")
        short = sum(map(_weight, lead)) <= 2 * _FEW and not self.scan.cues_between(begin, name.hit.start)
        return name.sign == "plain" and not name.conditional and (short or lead in self.scan.pack.names["article"])

    def _fragment(self, name: Name) -> bool:
        """Return whether a name's clause has no known verb: such a short answer recommends the named thing."""
        clause = self.scan.clauses[name.clause]
        return not clause.has(
            "person", "it", "not", "but", "because", "modal", "unfit", "too", "than", "worse", "if", "although"
        )


def _weight(char: str) -> int:
    """Return a character's weight as a letter: 2 for Chinese (half a word), 1 for other letters, else 0."""
    return 2 if is_han(char) else int(char.isalpha())


def reasons(names: Sequence[Name]) -> list[tuple[int, int] | None]:
    """Return for each name the place of the words that decided its stance, at this or another mention; otherwise None."""
    first: dict[tuple[str, str], tuple[int, int]] = {}
    for name in names:
        if name.why and name.sign in ("propose", "reject"):
            first.setdefault((name.key, _DECIDED[name.sign]), name.why)
    return [name.why or first.get((name.key, name.stance)) for name in names]


_LIST_LINKS = frozenset({"", ",", "、", "/", "&", "+"})
_OF_PLANS = frozenset({"arrival", "departure", "stop"})
_OF_HOURS = frozenset({"opening", "closing", "deadline", "last_service", "event"})
_OF_OTHERS = ("other", "better", "worse")
_LABEL = 40
_BRACKETED = re.compile(r"\([^()]*\)")
#: "柳巷12号的": an address before the name of what stands there.
_ADDRESSED = re.compile(r"(?:[0-9]{1,4}号)?(?:的|那家|那座|那边的)")
_FOLLOWING = 2


class _Signs:
    """Sets the sign of every name in a reply from the words around it."""

    def __init__(self, named: Named) -> None:
        self.named = named
        self.scan = named.scan
        self.before = Before(named)
        self.behind = Behind(named)

    def read(self) -> None:
        """Set the sign of every name from the words around it."""
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
            name.timed = row or (name.clause in timed and self._moves(name))
        for group in self._groups():
            self._set_sign(group)

    def _moves(self, name: Name) -> bool:
        """Return whether a name's clause states a time of arrival or departure, and not only opening times."""
        clause = self.scan.clauses[name.clause]
        return self._fragment(clause) or any(cue.tags.get("time_role") in _OF_PLANS for cue in clause.cues)

    def _fragment(self, clause: Clause) -> bool:
        """Return whether a clause consists of names, times and figures only."""
        words = sum(cue.end - cue.start for cue in clause.cues)
        count = sum(
            name.hit.end - name.hit.start for name in self.named.by_clause.get(self.scan.clause_at(clause.start), ())
        )
        letters = sum(map(str.isalpha, self.scan.text[clause.start : clause.end]))
        return letters - words - count < _FEW

    def _row_timed(self, name: Name, timed: set[int]) -> bool:
        """Return whether a time of day in the same row, or in a clause nearby, belongs to a name."""
        sentence = self.scan.sentences[name.sentence]
        block = self.scan.blocks[name.block]
        if block.kind != "row":
            near = range(max(sentence.first, name.clause - 2), min(sentence.last, name.clause + 2))
            return any(clause in timed for clause in near)
        return block.level > 0 and any(
            clause in timed and not self._of_hours(block, clause) for clause in range(sentence.first, sentence.last)
        )

    def _of_hours(self, block: TextBlock, place: int) -> bool:
        """Return whether the column of a clause is about opening, closing or last-service times."""
        start, end = self.scan.folded.span(self.scan.clauses[place].start, self.scan.clauses[place].end)
        cell = next((cell for cell in block.cells if cell.span.start < end and start < cell.span.end), None)
        header = cell.header if cell else ""
        return any(cue.tags.get("time_role") in _OF_HOURS for cue in self.scan.pack.find(header))

    def _groups(self) -> list[list[Name]]:
        """Return the names grouped by common lists ("A, B and C"); a comma alone does not join names."""
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
        """Return how two names are joined: "and", "comma", or empty for not at all."""
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
        """Set the sign of a group of names from the words before and after it, its headings and its list."""
        first, last = group[0], group[-1]
        tail = Tail() if "if" in self.scan.clauses[last.clause].links else self.behind.tail_of(last)
        sign, cue = self.before.sign_of(first, tail)
        if sign not in ("propose", "reject", "compare", "reserve", "landmark", "deny"):
            sign, cue = tail.sign(sign) or (sign, cue)
        if self.scan.sentences[first.sentence].asks and sign != "reject":
            sign = "perhaps" if self._suggests(group) else "ask"
        under = self._under(first, leads=sign == "lead")
        if under and (sign in ("plain", "lead", "bad", "plan", "perhaps") or (sign, under) == ("propose", "reject")):
            sign, cue = under, None
        if sign in ("plain", "lead", "plan"):
            led, other = self._led_in(first), self._among_others(first)
            sign, cue = ("bad", led) if led else ("compare", other) if other else (sign, cue)
        firm = ("reject", "compare", "reserve", "landmark", "deny", "bad")
        if self.scan.blocks[first.block].kind == "quote" and sign not in firm:
            sign = "compare"
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

    def _suggests(self, group: Sequence[Name]) -> bool:
        """Return whether a question suggests the only thing it names: "How about X?"."""
        whole = self.scan.sentences[group[0].sentence]
        keys = {name.key for place in range(whole.first, whole.last) for name in self.named.by_clause.get(place, ())}
        return len(keys) == 1 and any(cue.has("suggest") for cue in self.scan.cues_between(whole.start, whole.end))

    def _spread(self, first: Name, tail: Tail) -> None:
        """Apply a verdict on "both" or "neither" also to the preceding names: "X is A and Y is B, so neither will do"."""
        cue = tail.reject or tail.bad
        if not cue or not tail.both:
            return
        place = self.named.place[id(first)]
        for name in self.named.names[max(place - _FOLLOWING, 0) : place]:
            if name.sentence == first.sentence and name.sign in ("plain", "lead"):
                name.sign, name.why = "bad", (cue.start, cue.end)

    def _led_in(self, name: Name) -> Cue | None:
        """Return the word before a colon that rejects everything after it ("the others won't do: A ..."); otherwise None."""
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
        """Return the word before a colon that sets aside everything after it ("the others open later: A 07:30"); otherwise None."""
        whole = self.scan.sentences[name.sentence]
        label = self.scan.clauses[whole.first]
        opened = (place for place in range(whole.first + 1, whole.last) if self.scan.clauses[place].opens == ":")
        if next(opened, whole.last) > name.clause or label.end - label.start > _LABEL or label.has("choose", "chosen"):
            return None
        return None if whole.first in self.named.by_clause else label.first("other")

    def _under(self, name: Name, *, leads: bool) -> str:
        """Return the sign from the headings above a name: reject, option or offered; empty if there is none."""
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
    """Set the sign and stance of every name in a reply.

    Args:
        scan: the reply.
        names: the names in it, ascending.
        clocks: where the times of day stand.
    """
    _Signs(Named(scan, names, clocks)).read()
    Whole(scan, names).settle()


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
    """Return whether a sentence clearly affirms or denies words; empty if neither.

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
    """The shape of the clause around some words.

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
        """Return the words between two places, outside names, that may reverse the statement."""
        around = self.scan.cues_between(start, end)
        return [
            cue
            for cue in around
            if cue.has(*_TURNING) and (cue.end <= self.name.hit.start or cue.start >= self.name.hit.end)
        ]

    def alone(self) -> bool:
        """Return whether nothing else retracts the clause: neither its sentence nor a short sentence after it."""
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
        """Return whether a clause has another topic: it is empty, or has a figure, an affirming verb or a way to go."""
        words = self.scan.text[clause.start : clause.end]
        plain = self.words.get("plain_yes", frozenset()) | self.words.get("plain_tail", frozenset())
        informs = clause.has("unit", "numeral", "mode", "choose", "toward", "clock_word", "fit", "and")
        return (
            informs
            or words.strip(_MARKS) in {"", *plain}
            or any(map(str.isdigit, words))
            or self.scan.pack.pattern("affirms").search(words) is not None
        )

    def doubted(self, start: int, end: int = 0) -> bool:
        """Return whether words before the statement, or after it up to ``end``, leave its truth open."""
        around = self.scan.text[start : self.name.hit.start], self.scan.text[self.name.hit.end : end]
        return any(self.scan.pack.pattern("doubt").search(words) for words in around)

    def _ends(self, most: int) -> bool:
        """Return whether at most a harmless rest follows the words in their clause."""
        rest = self.tail.strip(_MARKS)
        goes_on = rest[:1] in self.words.get("plain_joint", ()) and len(rest) <= most
        return not rest or rest in self.words.get("plain_tail", ()) or goes_on

    def answers(self, stop: int) -> bool:
        """Return whether the words are either no label, or a label with a plain yes as its value: "Lift: yes"."""
        if not self.scan.text[: self.last.end].rstrip().endswith(":"):
            return True
        following = self.scan.clause_at(self.last.end)
        value = (
            self.scan.text[self.last.end : self.scan.clauses[following].end].strip(_MARKS) if following < stop else "?"
        )
        return value in self.words.get("plain_yes", ())

    def affirms(self) -> bool:
        """Return whether only a short subject and an affirming verb, or nothing significant, precede the words."""
        if self._fills(self.lead, 0):
            return self._ends(0)
        verbs = list(self.scan.pack.pattern("affirms").finditer(self.lead))
        if len(verbs) != 1 or not self._ends(_TAIL):
            return False
        subject = self.lead[: verbs[0].start()]
        return self._fills(self.lead[verbs[0].end() :], 1) and len(_WORD.findall(subject)) <= _SUBJECT

    def denies(self, turning: Cue) -> bool:
        """Return whether the only reversing word of the sentence directly precedes and negates the words."""
        between = self.scan.text[turning.end : self.name.hit.start]
        return (
            turning.has(*_DENYING)
            and self.clause.start <= turning.start < self.name.hit.start
            and self._fills(between, 0)
            and self._ends(0)
            and len(_WORD.findall(self.scan.text[self.clause.start : turning.start])) <= _SUBJECT
        )

    def _fills(self, between: str, strange: int) -> bool:
        """Return whether words are mere fillers ("a", "any", 什么), apart from at most ``strange`` other words."""
        rest = between.strip(_MARKS)
        fillers = self.words.get("plain_filler", frozenset())
        if rest in fillers or not rest:
            return True
        words = rest.split(" ")
        return not is_han(rest[0]) and len(words) <= _BETWEEN and sum(word not in fillers for word in words) <= strange
