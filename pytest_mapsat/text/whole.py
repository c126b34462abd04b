"""What a reply as a whole does with each thing: where the words around its names do not decide, all of them together may."""

from __future__ import annotations

from collections.abc import Sequence

from .document import Stance
from .fold import is_han
from .named import Name
from .scan import Scan

#: Signs that decide by themselves.
_DECIDED: dict[str, Stance] = {
    "propose": "affirmed", "reject": "rejected", "compare": "compared", "landmark": "landmark", "ask": "asked", "deny": "denied",
}  # fmt: skip
_FEW = 4
#: Unknown letters of a clause that is still a short answer and no statement.
_TERSE = 8


class Whole:
    """What the reply as a whole does with each thing."""

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
        """Return whether the reply asks which of the things it lists is wanted: then the list proposes none."""
        asking = (sentence for sentence in self.scan.sentences if sentence.asks)
        return any(cue.has("which") for one in asking for cue in self.scan.cues_between(one.start, one.end))

    def _opening(self) -> set[str]:
        """Return the thing that a reply begins with, where its first clause names it and says nothing against it."""
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
        """Return how many letters of the clause of a name are neither its own nor those of words that say how and how far."""
        clause = self.scan.clauses[name.clause]
        rest = self.scan.text[clause.start : name.hit.start] + self.scan.text[name.hit.end : clause.end]
        known = sum(
            sum(map(_weight, self.scan.text[cue.start : cue.end]))
            for cue in clause.cues
            if cue.has("unit", "mode", "numeral", "chosen", "choose", "then", "about", "so")
        )
        return sum(map(_weight, rest)) - known

    def _sections(self) -> set[str]:
        """Return the things that head the first item of a list whose section proposes nothing else."""
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
        """Return the things that head a heading, a numbered or timed item or row, or that are ticked."""
        found = set()
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
                found.add(name.key)
        return found - self.out

    def _options(self, name: Name) -> bool:
        """Return whether a name stands in a table or list of options, of which another one is turned down or picked."""
        return self._list_of(name) in self.choices and self.scan.blocks[name.block].kind in ("row", "item")

    def _list_of(self, name: Name) -> tuple[str, int]:
        block = self.scan.blocks[name.block]
        return (block.kind, name.block - block.level if block.kind == "row" else block.heading)

    def _listed(self, name: Name, *, others: bool) -> Stance:
        """Return the stance of a name at the head of a row or an item; ``others``: whether another thing is proposed."""
        row = self.scan.blocks[name.block].kind == "row" and not name.timed
        if not others:
            return "unclear" if row and self._one_of_several(name) else "affirmed"
        return "compared" if row or self._options(name) else "unclear"

    def _one_of_several(self, name: Name) -> bool:
        """Return whether a table has other things at the heads of its rows that nothing is said against: then it may compare them."""
        return len(self.heads.get(self._list_of(name), ())) > 1

    def _numbered(self, name: Name) -> bool:
        block = self.scan.blocks[name.block]
        start = block.span.start
        lead = self.scan.folded.original[max(start - 5, 0) : start].rpartition("\n")[2]
        return block.kind == "item" and any(char.isdigit() or "①" <= char <= "⑳" for char in lead)

    def settle(self) -> None:
        """Set the stance of every name."""
        either = self._of_either()
        for name in self.names:
            name.stance = _DECIDED.get(name.sign) or self._weak(name)
            if name.sentence in either and name.sign not in ("propose", "deny", "ask"):
                name.stance = "unclear"

    def _of_either(self) -> set[int]:
        """Return the sentences of whose names "the former" or "the latter" is said: which is which is not read."""
        told = {
            self.scan.clauses[self.scan.clause_at(cue.start)].sentence for cue in self.scan.cues if cue.has("either")
        }
        named = {name.sentence for name in self.names}
        return told | {sentence - 1 for sentence in told - named}

    def _weak(self, name: Name) -> Stance:
        """Return the stance of a name whose own words do not decide: that of its thing in the whole reply."""
        key = name.key
        if not key:
            return self._ambiguous(name)
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
        """Return the stance of a name that nothing is said against: that of a plan, of a list, of the only candidate."""
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
        """Return whether a clause begins with the name, so that what follows says what the thing is like."""
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

    def _ambiguous(self, name: Name) -> Stance:
        """Return the stance of a name that several things have: what holds for whichever is meant."""
        return "rejected" if name.sign == "bad" else "unclear"

    def _fragment(self, name: Name) -> bool:
        """Return whether the clause of a name has no verb that the pack knows: a short answer names what it proposes."""
        clause = self.scan.clauses[name.clause]
        return not clause.has(
            "person", "it", "not", "but", "because", "modal", "unfit", "too", "than", "worse", "if", "although"
        )


def _weight(char: str) -> int:
    """Return what a character counts among the letters of a clause: a Chinese one is half a word."""
    return 2 if is_han(char) else int(char.isalpha())


def reasons(names: Sequence[Name]) -> list[tuple[int, int] | None]:
    """Return for each name the place of the words that decided its stance; those of another mention where the reply as a whole did."""
    first: dict[tuple[str, str], tuple[int, int]] = {}
    for name in names:
        if name.why and name.sign in ("propose", "reject"):
            first.setdefault((name.key, _DECIDED[name.sign]), name.why)
    return [name.why or first.get((name.key, name.stance)) for name in names]
