"""Which thing a figure or a time of day belongs to: by the place in clause, sentence, list, table and under headings."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from .document import Cell, Stance
from .named import Name
from .pack import Cue
from .scan import Clause, Scan

_FAR = 40
_LABEL = 60
_BACK = 600
#: What leaves open whether a thing is proposed.
_OPEN = ("described", "unclear")


class Subjects:
    """The things of one reply and what stands around its figures.

    Args:
        scan: the reply.
        names: the names in it with their stances, ascending.
    """

    def __init__(self, scan: Scan, names: Sequence[Name]) -> None:
        self.scan = scan
        self.names = names
        self.starts = [name.hit.start for name in names]
        self.by_block: dict[int, list[Name]] = {}
        for name in names:
            self.by_block.setdefault(name.block, []).append(name)
        firm = {name.key for name in names if name.stance == "affirmed" and name.key}
        self.only = (firm.pop(),) if len(firm) == 1 else ()
        self._headers: dict[str, list[Cue]] = {}

    def subject(self, start: int, end: int, place: int, *, travel: bool) -> tuple[str, ...]:
        """Return the things that a figure may be said of: one where it is sure, none where nothing is named."""
        clause = self.scan.clauses[place]
        named = self.names_between(self.scan.sentences[clause.sentence].start, start)
        if named and clause.has("respectively"):
            return tuple(dict.fromkeys(key for name in named for key in name.hit.keys))
        return self._nearest(start, end, place, travel=travel)

    def _nearest(self, start: int, end: int, place: int, *, travel: bool) -> tuple[str, ...]:
        """Return the things by what stands nearest: in the row, the clause, the sentence, before, or over it."""
        clause = self.scan.clauses[place]
        sentence = self.scan.sentences[clause.sentence]
        if self.scan.blocks[sentence.block].kind == "row":
            return self._of_row(sentence.block, start)
        before = self.names_between(clause.start, start)
        after = self.names_between(end, clause.end)
        if after and self._leads_to(end, after[0], travel=travel):
            return after[0].hit.keys
        alone = not before and not after
        ahead = (alone and (self._headed(place, start, end) or (travel and self._ahead(place)))) or ()
        if ahead or (travel and self._homeward(clause, before[-1].hit.end if before else clause.start, end)):
            return ahead
        spoken_of = [name for name in before if name.sign != "landmark" and not self._than(name)]
        if spoken_of:
            return spoken_of[-1].hit.keys
        later = [name for name in after if name.sign != "landmark"] if not before else []
        beside = bool(later) and not any(map(str.isalnum, self.scan.text[end : later[0].hit.start]))
        if beside or (later and not self.names_between(sentence.start, clause.start)):
            return later[0].hit.keys
        return self._earlier(clause, sentence.block, sentence.start) if not before or travel else ()

    def _headed(self, place: int, start: int, end: int) -> tuple[str, ...]:
        """Return the thing that a figure stands before like a label: "14:40 - X, 2 Tide Street"."""
        clause, stop = self.scan.clauses[place], self.scan.sentences[self.scan.clauses[place].sentence].last
        if place + 1 >= stop or any(
            map(str.isalnum, self.scan.text[clause.start : start] + self.scan.text[end : clause.end])
        ):
            return ()
        following = self.scan.clauses[place + 1]
        named = self.names_between(following.start, following.end) if following.opens in ("-", ":") else []
        leads = bool(named) and not any(map(str.isalnum, self.scan.text[following.start : named[0].hit.start]))
        return named[0].hit.keys if leads else ()

    def _ahead(self, place: int) -> tuple[str, ...]:
        """Return where a way leads that is only named behind brackets: "a 12 minute walk (830 m) to X"."""
        last = self.scan.sentences[self.scan.clauses[place].sentence].last
        for clause in self.scan.clauses[place + 1 : min(place + 4, last)]:
            named = self.names_between(clause.start, clause.end)
            if not named:
                continue
            words = self.scan.text[clause.start : named[0].hit.start]
            cues = self.scan.cues_between(clause.start, named[0].hit.start)
            led = (
                bool(cues)
                and cues[-1].has("toward")
                and (len(cues) == 1 or cues[0].has("then"))
                and not self.scan.text[cues[-1].end : named[0].hit.start].strip(" the")
            )
            return named[0].hit.keys if led and len(words) <= _FAR // 2 and not any(map(str.isdigit, words)) else ()
        return ()

    def _homeward(self, clause: Clause, start: int, end: int) -> bool:
        """Return whether the way is one back, to no thing with a name."""
        if any("homeward" in cue.tags for cue in clause.cues if cue.start >= start or cue.start >= end):
            return True
        place = self.scan.clause_at(clause.start)
        bracketed = clause.opens == "(" and place > self.scan.sentences[clause.sentence].first
        return bracketed and self.scan.clauses[place - 1].has("homeward")

    def _than(self, name: Name) -> bool:
        return name.why is not None and any("than" in cue.tags for cue in self.scan.cues_between(*name.why))

    def _leads_to(self, end: int, name: Name, *, travel: bool) -> bool:
        """Return whether a figure is that of the name behind it: "12 min to X", "40 yuan for X"."""
        gap = self.scan.text[end : name.hit.start]
        if len(gap) > _FAR or any(char.isdigit() for char in gap):
            return False
        cues = self.scan.cues_between(end, name.hit.start)
        if name.sign == "landmark" or any(cue.has("and", "from", "than") for cue in cues):
            return False
        return any(
            cue.has("toward") or (travel and (cue.has("choose") or cue.tags.get("time_role") == "arrival"))
            for cue in cues
        )

    def names_between(self, start: int, end: int) -> list[Name]:
        """Return the names that begin between two places."""
        return list(self.names[bisect_left(self.starts, start) : bisect_left(self.starts, end)])

    def _of_row(self, block: int, start: int) -> tuple[str, ...]:
        row = self.scan.blocks[block]
        named = self.by_block.get(block, [])
        origin = self.scan.folded.origin(start)
        for cell in row.cells[:_FAR]:
            if cell.span.start <= origin < cell.span.end:
                low, high = self.scan.folded.at(cell.span.start), self.scan.folded.at(cell.span.end)
                own = [name for name in named if low <= name.hit.start < high]
                if own:
                    return own[-1].hit.keys if own[-1].hit.start < start else own[0].hit.keys
        usable = [name for name in named if name.sign != "landmark"]
        if usable:
            return usable[0].hit.keys
        return self._of_column(block, origin) or (() if self._table_names(block) else self.over(block))

    def _of_column(self, block: int, origin: int) -> tuple[str, ...]:
        """Return the thing that the head of a table cell's column names."""
        column = next(
            (cell.column for cell in self.scan.blocks[block].cells if cell.span.start <= origin < cell.span.end), 0
        )
        head = block - self.scan.blocks[block].level
        for cell in self.scan.blocks[head].cells if head in self.by_block and column else ():
            if cell.column == column:
                low, high = self.scan.folded.at(cell.span.start), self.scan.folded.at(cell.span.end)
                named = [name.hit.keys for name in self.by_block[head] if low <= name.hit.start < high]
                return named[0] if len(set(named)) == 1 else ()
        return ()

    def _table_names(self, block: int) -> bool:
        """Return whether another row of the same table names a thing, so that one that does not is about none."""
        first = block - self.scan.blocks[block].level
        rows = range(first, min(block + _FAR, len(self.scan.blocks)))
        return any(row in self.by_block for row in rows if self.scan.blocks[row].kind == "row")

    def _earlier(self, clause: Clause, block: int, start: int) -> tuple[str, ...]:
        """Return the thing that the sentence, the item, the text before or the heading speaks of."""
        if self._own_topic(start, clause.start):
            return ()
        low = max(self.scan.bounds[block][0], start - _BACK)
        for first, last in ((start, clause.start), (low, start)):
            named = [
                name for name in self.names_between(first, last) if name.sign != "landmark" and not self._than(name)
            ]
            if named and first == start:
                return () if self._another(named[-1].hit.end, clause) else named[-1].hit.keys
            if named:
                goes_on = clause.cues and clause.cues[0].has("it") and named[-1].sentence == clause.sentence - 1
                return (
                    named[-1].hit.keys
                    if goes_on and self._one([name for name in named if name.sentence == named[-1].sentence])
                    else self._last_sentence(named)
                )
        return self.over(block)

    def _another(self, start: int, clause: Clause) -> bool:
        """Return whether a thing that no name is known of has come up since: "the noon wash is over, but there's another one from six, 32 yuan"."""
        return any(cue.has("introduces") for cue in self.scan.cues_between(start, clause.end))

    def _own_topic(self, start: int, end: int) -> bool:
        """Return whether a sentence begins with a thing of its own that no name is known of: "The viewpoint ..."."""
        words = self.scan.text[start : max(end, start + _LABEL)].lstrip(" -").split(" ", 2)
        if len(words) < 2 or words[0] not in self.scan.pack.names["definite"] or self.names_between(start, end):  # noqa: PLR2004  article and noun
            return False
        noun = words[1].strip(".,:;!?")
        return noun.isalpha() and not (set(self.scan.pack.words.get(noun, ())) - {"ordinary", "street"})

    def _one(self, named: Iterable[Name]) -> bool:
        return len({name.hit.keys for name in named}) == 1

    def _last_sentence(self, named: Sequence[Name]) -> tuple[str, ...]:
        """Return what the last sentence with names speaks of; all of them where it names several."""
        last = [name for name in named if name.sentence == named[-1].sentence]
        keys = dict.fromkeys(key for name in last if name.stance == "affirmed" for key in name.hit.keys)
        open_ = dict.fromkeys(key for name in last if name.stance in _OPEN for key in name.hit.keys)
        return tuple(keys) or self.only or tuple(open_)

    def over(self, block: int) -> tuple[str, ...]:
        """Return the thing of the item that a nested one belongs to, or of the heading; or the only one that is proposed."""
        level = self.scan.blocks[block].level
        place = block - 1
        if self.scan.blocks[block].kind == "item":
            while place > self.scan.blocks[block].heading and self.scan.blocks[place].kind == "item":
                if self.scan.blocks[place].level < level and place in self.by_block:
                    return self.by_block[place][0].hit.keys
                place -= 1
                if block - place > _FAR:
                    break
            if place >= 0 and self.scan.blocks[place].kind == "paragraph" and place in self.by_block:
                return self._last_sentence(self.by_block[place])
        heading = self.scan.blocks[block].heading
        while heading >= 0:
            named = [name for name in self.by_block.get(heading, ()) if name.sign != "landmark"]
            if named:
                return named[-1].hit.keys if self._one(named) else ()
            heading = self.scan.blocks[heading].heading
        return self.only

    def around(self, place: int, start: int) -> list[Cue]:
        """Return the words that may say what a figure is: of its clause, of the label before it, of the head of its column and row."""
        clause = self.scan.clauses[place]
        cues = list(clause.cues)
        sentence = self.scan.sentences[clause.sentence]
        block = self.scan.blocks[sentence.block]
        if block.kind == "row":
            named = self.by_block.get(sentence.block)
            return cues if named else self.scan.cues_between(sentence.start, sentence.end)
        before = place
        while (
            before > sentence.first
            and self.scan.clauses[before].opens in (":", "(", "-")
            and clause.start - self.scan.clauses[before - 1].start < _LABEL
        ):
            before -= 1
            cues = [*self.scan.clauses[before].cues, *cues]
        return [cue for cue in cues if not cue.start <= start < cue.end]

    def header(self, position: int) -> str:
        """Return the text over the column of a table cell, folded; nothing outside tables."""
        cell = self._cell_at(position)
        return cell.header if cell else ""

    def _block_at(self, position: int) -> int:
        return self.scan.sentences[self.scan.clauses[self.scan.clause_at(position)].sentence].block

    def _cell_at(self, position: int) -> Cell | None:
        origin = self.scan.folded.origin(position)
        cells = self.scan.blocks[self._block_at(position)].cells[:_FAR]
        return next((cell for cell in cells if cell.span.start <= origin < cell.span.end), None)

    def head_cues(self, position: int) -> list[Cue]:
        """Return the words over the column and at the head of the row of a table cell."""
        number = self._block_at(position)
        block = self.scan.blocks[number]
        cell = self._cell_at(position)
        if cell is None:
            return []
        if cell.header not in self._headers:
            self._headers[cell.header] = list(self.scan.pack.find(cell.header))
        first = block.cells[0].span
        low, high = self.scan.folded.at(first.start), self.scan.folded.at(first.end)
        named = any(low <= name.hit.start < high for name in self.by_block.get(number, ()))
        label = [] if named or cell.column == 0 else self.scan.cues_between(low, high)
        return [*self._headers[cell.header], *label]

    def stance(self, start: int, place: int) -> Stance:
        """Return the stance of the statement that a figure stands in: asked, denied, or unclear under a condition or in a question that suggests."""
        clause = self.scan.clauses[place]
        sentence = self.scan.sentences[clause.sentence]
        if sentence.asks:
            cues = self.scan.cues_between(sentence.start, sentence.end)
            # The mark at the end may ask its last clause only: "20 yuan at least, would you like something else?"
            leads = "," in self.scan.text[start : sentence.end]
            return "unclear" if leads or any(cue.has("suggest") for cue in cues) else "asked"
        for cue in reversed([cue for cue in clause.cues if cue.end <= start]):
            if self.scan.text[cue.end : start].strip():
                break
            if cue.has("not", "instead"):
                return "denied"
            if not cue.has("about", "under", "over"):
                break
            start = cue.start
        return "unclear" if "if" in clause.links else "affirmed"
