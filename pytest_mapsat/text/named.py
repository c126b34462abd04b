"""Names in their places: what stands beside them, in their clause and block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .document import Stance
from .lexicon import Hit
from .pack import Cue
from .scan import Scan

_LEAD = 12


@dataclass(slots=True)
class Name:
    """A name in a folded reply with its place and its stance.

    Attributes:
        sign: what the words around it say: propose, reject, compare, landmark, ask, deny; or weaker: perhaps (a proposal under a
            condition), reserve (a second choice), lead (it heads an item, row or heading), plan (a way leads there, or a time is given), bad (it will not do), plain.
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
    doubtful: bool = False
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
class Named:
    """The names of a reply, ascending, and where they stand.

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
        """Return the name before or behind in the same clause."""
        place = self.place[id(name)] + step
        other = self.names[place] if 0 <= place < len(self.names) else None
        return other if other and other.clause == name.clause else None

    def adjacent(self, cues: Sequence[Cue], end: int) -> Cue | None:
        """Return the word right before a name, an article or a quotation mark aside."""
        articles = self.scan.pack.names["article"]
        for cue in reversed(cues):
            gap = self.scan.text[cue.end : end].strip(" \"'(「《“")
            if gap and gap not in articles:
                return None
            if self.scan.text[cue.start : cue.end] not in articles:
                return cue
        return None

    def behind_it(self, name: Name, group: str) -> Cue | None:
        """Return the word right behind a name, if it is of a group."""
        cue = next(iter(self.scan.cues_between(name.hit.end, name.hit.end + 2 * _LEAD)), None)
        return cue if cue and cue.has(group) and not self.scan.text[name.hit.end : cue.start].strip() else None

    def conditional(self, name: Name) -> bool:
        """Return whether the sentence puts a condition before the clause of a name."""
        whole = self.scan.sentences[name.sentence]
        return any("if" in clause.links for clause in self.scan.clauses[whole.first : name.clause + 1])

    def index(self) -> None:
        """Note where each name stands."""
        for place, name in enumerate(self.names):
            self.by_clause.setdefault(name.clause, []).append(name)
            self.place[id(name)] = place
            self.first.setdefault(name.block, name)
