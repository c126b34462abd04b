"""Which short forms in a reply really are names, and which of several namesakes is meant."""

from __future__ import annotations

from bisect import bisect_right

from .fold import is_han
from .lexicon import Hit, Lexicon
from .pack import Cue
from .page import Page

_WINDOW = 120
_LOOK_BACK = 40


def find_names(page: Page, lexicon: Lexicon) -> list[Hit]:
    """Return the names in a reply, from left to right, none overlapping another."""
    hits = list(lexicon.find(page.folded.text))
    context = _Context(page, hits, lexicon)
    return [hit for hit in hits if not context.in_address(hit) and (hit.way == "full" or context.accepts(hit))]


class _Context:
    """What stands around short forms."""

    def __init__(self, page: Page, hits: list[Hit], lexicon: Lexicon) -> None:
        self.folded = page.folded
        self.text = page.folded.text
        self.pack = page.pack
        self.marks = lexicon.marks
        self.ends = {hit.end for hit in hits}
        self.starts = {hit.start for hit in hits}
        self.cues: dict[int, Cue] = {}
        self.cue_starts: set[int] = set()
        if any(hit.way in ("front", "back") for hit in hits):
            for cue in page.cues:
                self.cues[cue.end] = cue
                self.cue_starts.add(cue.start)
        self.full = {key for hit in hits if hit.way == "full" for key in hit.keys}
        self.careless = not any(map(str.isupper, page.folded.original))

    def in_address(self, hit: Hit) -> bool:
        """Return whether a house number stands right before: then the name is that of a street."""
        return (
            self.text[hit.start - 1 : hit.start] == " "
            and self._word_before(hit.start).isdigit()
            and not is_han(self.text[hit.start])
        )

    def accepts(self, hit: Hit) -> bool:
        """Return whether a short form stands for a name where it stands."""
        if hit.way == "number":
            return self._numbered(hit)
        return self._han(hit) if hit.way in ("front", "back") else self._latin(hit)

    def _numbered(self, hit: Hit) -> bool:
        """Return whether "the 7" is a line, and counts nothing: a known word stands behind it that is no unit, or none."""
        after = self._word_after(hit.end)
        return not after or (after in self.pack.words and not {"unit", "classifier"} & self.pack.words[after].keys())

    def _latin(self, hit: Hit) -> bool:
        before, after = self._word_before(hit.start), self._word_after(hit.end)
        definite = before in self.pack.names["definite"]
        if after in self.pack.names["street"]:
            return False
        capital = self._capital(hit.start)
        if hit.way == "head" and self.text[hit.end : hit.end + 1].isalpha():
            return False
        if capital and (self._capital_word_after(hit.end) or self._foreign_before(hit.start, before)):
            return False
        if hit.form == "kind" or (hit.way == "head" and not capital):
            return (
                definite
                or after in self.pack.groups.get("order_after", ())
                or (
                    self.careless
                    and hit.form != "kind"
                    and before not in self.pack.names["indefinite"]
                    and len(hit.keys) == 1
                    and self._listed(hit)
                )
            )
        if hit.way == "head" and capital:
            return (
                definite
                or self._listed(hit)
                or (self._mid_sentence(hit.start) and before not in self.pack.names["indefinite"])
            )
        return capital or (self.careless and before not in self.pack.names["indefinite"]) or hit.way == "words"

    def _listed(self, hit: Hit) -> bool:
        """Return whether the form stands alone between marks, as in "post → library"."""
        around = self.text[max(hit.start - 2, 0) : hit.start], self.text[hit.end : hit.end + 2]
        return around[0].strip()[-1:] in ("→", ">", "+") or around[1].strip()[:1] in ("→", ">", "+")

    def _mid_sentence(self, start: int) -> bool:
        """Return whether the words before go on in the same sentence, so that a capital letter is that of a name."""
        return self.text[start - 1 : start] == " " and (
            self.text[start - 2 : start - 1].isalnum() or self.text[start - 2 : start - 1] in ",;"
        )

    def _capital(self, start: int) -> bool:
        return self.folded.original[self.folded.origin(start)].isupper()

    def _capital_word_after(self, end: int) -> bool:
        if self.text[end : end + 1] not in (" ", "-") or not self.text[end + 1 : end + 2].isalpha():
            return False
        return self._capital(end + 1) and self._word_after(end) not in self.pack.words and end + 1 not in self.starts

    def _foreign_before(self, start: int, before: str) -> bool:
        """Return whether a capitalised word that is no word of the language stands before: then it is another name."""
        if not before or not before[0].isalpha() or self.text[start - 1 : start] != " ":
            return False
        place = start - 1 - len(before)
        begins = place <= 0 or self.text[place - 1] != " " or self.text[place - 2 : place - 1] in ".!?:-"
        return self._capital(place) and not begins and before not in self.pack.words and start - 1 not in self.ends

    def _word_before(self, start: int) -> str:
        return (
            self.text[max(start - 24, 0) : start].rstrip(" \n\"'(").rpartition(" ")[2].rpartition("\n")[2].strip("(\"'")
        )

    def _word_after(self, end: int) -> str:
        following = self.text[end : end + 24]
        if following.startswith("'s "):
            following = following[2:]
        return following.strip().partition(" ")[0].strip(".,:;!?)") if following[:1] in (" ", "-", "\n") else ""

    def _han(self, hit: Hit) -> bool:
        form = self.text[hit.start : hit.end]
        before = self.text[hit.start - 1 : hit.start]
        after = self.text[hit.end : hit.end + 3]
        names = self.pack.names
        if any(after.startswith(street) for street in names["street"]) or (
            hit.way == "front"
            and after[:1].isdigit()
            and any(word in self.text[hit.end : hit.end + 6] for word in names["house_number"])
        ):
            return False
        cue = self.cues.get(hit.start)
        if hit.way == "back" and before.isdigit():
            return False
        bounded = (
            not before or not is_han(before) or cue is not None or hit.start in self.ends or before in names["boundary"]
        )
        marked = hit.form != "kind" and any(
            self.text.endswith(mark, 0, hit.start) for key in hit.keys for mark in self.marks[key]
        )
        if not bounded and not marked:
            return False
        definite = any(self.text.endswith(word, 0, hit.start) for word in names["definite"])
        if hit.form == "kind":
            return definite
        ordinary = form in names["ordinary"]
        if hit.way == "back":
            indefinite = any(self.text.endswith(word, 0, hit.start) for word in names["indefinite"])
            moved = not before or not is_han(before) or (cue is not None and cue.has("toward", "from", "near"))
            return definite or (not indefinite and (not ordinary or (moved and len(hit.keys) == 1)))
        following = after[:1]
        ends = not following or not is_han(following) or hit.end in self.cue_starts or hit.end in self.starts
        return definite or (
            not ordinary and (ends or following in names["boundary"] or self.full.intersection(hit.keys) != set())
        )


def tell_apart(hits: list[Hit], lexicon: Lexicon, text: str, ends: list[int]) -> list[Hit]:
    """Return the names with namesakes resolved by their address or branch: in the sentence, or else in the whole reply.

    Args:
        hits: the names, from left to right.
        lexicon: the things of the case.
        text: the folded reply.
        ends: where its sentences end.
    """
    if all(len(hit.keys) == 1 for hit in hits):
        return hits
    seen: list[Hit] = []
    whole: dict[tuple[str, ...], tuple[str, ...]] = {}
    for hit in hits:
        resolved = hit
        if len(hit.keys) > 1:
            place = bisect_right(ends, hit.start)
            first = ends[place - 1] if place else 0
            last = ends[min(place, len(ends) - 1)] if ends else len(text)
            near = text[max(first, hit.start - _WINDOW) : min(last, hit.end + _WINDOW)]
            if hit.keys not in whole:
                whole[hit.keys] = _marked(hit.keys, lexicon, text)
            keys = _marked(hit.keys, lexicon, near) or _recent(hit, seen[-_LOOK_BACK:]) or whole[hit.keys]
            resolved = hit._replace(keys=keys or hit.keys)
        seen.append(resolved)
    return seen


def _marked(keys: tuple[str, ...], lexicon: Lexicon, text: str) -> tuple[str, ...]:
    """Return the one thing of several whose marks stand in a text; nothing where it is none or not one."""
    told = [
        key for key in keys if any(mark in text for mark in lexicon.marks[key] if _telling(mark, key, keys, lexicon))
    ]
    return tuple(told) if len(told) == 1 else ()


def _telling(mark: str, key: str, keys: tuple[str, ...], lexicon: Lexicon) -> bool:
    return not any(mark in lexicon.marks[other] for other in keys if other != key)


def _recent(hit: Hit, seen: list[Hit]) -> tuple[str, ...]:
    """Return the thing that a shortened or general form takes up, where just one of the possible ones has been named before."""
    if hit.form == "full":
        return ()
    named = {
        earlier.keys
        for earlier in seen
        if len(earlier.keys) == 1 and earlier.keys[0] in hit.keys and earlier.form == "full"
    }
    if len(named) == 1:
        return named.pop()
    last = seen[-1] if seen else None
    near = last is not None and hit.start - last.end < _WINDOW and len(last.keys) == 1 and last.keys[0] in hit.keys
    return last.keys if last is not None and near and hit.way in ("head", "back") else ()
