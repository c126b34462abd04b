"""The things that a case and its tools know by name, and which short forms in a reply really are names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from .document import Form, fold_phrase, is_han
from .pack import Cue, start_of, words_of_names
from .page import TextPage

_BRACKETED = re.compile(r"\(([^()]*)\)")
_LATIN = re.compile(r"[a-z0-9]+")
_NUMBER = re.compile(r"[0-9]+(?:号|-[0-9]+)?")
_MOST_WORDS = 8
_MOST_CHARS = 16
_SHORTEST_WORD = 3
#: How a line is called by its number alone, and by a code of letters and digits.
_NUMBERED = ("number", "no.", "no", "line", "route")
_CODE = re.compile(r"(?:[a-z]+[0-9]+|[0-9]+[a-z]+)[a-z0-9]*")
_CODE_IN = re.compile(r"(?<![a-z0-9])[a-z]+[0-9]+(?![a-z0-9])")
_MOST_SHARING = 6
#: Of so many names the forms are kept: those of a suite of a few towns.
_NAMES = 2048
_ENDINGS = ("'s", "es", "s", "'")

#: How sure a form is by itself. full: a name; words: several of its words; word: one that no language has; head: the sort of thing it is called by
#: ("the dockyard"); front, back: the first or last characters of a Chinese name.
Way = Literal["full", "words", "word", "number", "head", "front", "back"]


@dataclass(frozen=True, slots=True)
class Thing:
    """A named thing.

    Attributes:
        key: what tells it from all others.
        names: its names, in full first, then declared aliases.
        kind: words for the sort of thing ("pharmacy", "火锅店"), several separated by ``;``.
        marks: texts that tell it from its namesakes: its address, its branch.
    """

    key: str
    names: tuple[str, ...]
    kind: str = ""
    marks: tuple[str, ...] = ()


class NameHit(NamedTuple):
    """A form of a name in a folded text, and the things that it may mean."""

    start: int
    end: int
    keys: tuple[str, ...]
    form: Form
    way: Way


@dataclass(slots=True)
class _Form:
    """A form of one or more names: the keys of the things, its kind (full, short or kind), and how it was shortened."""

    keys: dict[str, None]
    form: Form
    way: Way


class Lexicon:
    """Things that a text may name, compiled once and used for all texts (see ``lexicon_of``).

    Args:
        things: what can be named.
        shortened: whether they may be named by short forms; words that are looked for as they are may not.
    """

    def __init__(self, things: Sequence[Thing] = (), *, shortened: bool = True) -> None:
        self.things = tuple(things)
        self.shortened = shortened
        self.marks = {thing.key: tuple(_marks(thing)) for thing in self.things}
        self._forms = self._all_forms()
        self._by_start: dict[str, list[str]] = {}
        for form in sorted(self._forms, key=lambda form: (-len(form), form)):
            self._by_start.setdefault(start_of(form), []).append(form)
        self._starts = _starts("".join(sorted(start for start in self._by_start if not _LATIN.match(start))))

    def find(self, text: str) -> Iterator[NameHit]:
        """Yield the names and short forms in a folded text, the longest at each place; short forms are not yet checked."""
        if not self._by_start:
            return
        end = 0
        for match in self._starts.finditer(text):
            start = match.start()
            if start < end:
                continue
            for form in self._beginning(match.group()):
                stop = _form_end(text, form, start)
                if stop is not None:
                    entry = self._forms[form]
                    yield NameHit(start, stop, tuple(entry.keys), entry.form, entry.way)
                    end = stop
                    break

    def _beginning(self, run: str) -> Sequence[str]:
        """Return the forms that begin with a run of letters and digits or its singular, or with another character."""
        names = self._by_start.get(run, ())
        if not run.endswith("s"):
            return names
        more = [*names, *self._by_start.get(run[:-1], ())]
        return [*more, *self._by_start.get(run[:-2], ())] if run.endswith("es") else more

    def _all_forms(self) -> dict[str, _Form]:
        """Return all full, short and kind forms of the things, by folded text."""
        forms: dict[str, _Form] = {}
        for thing in self.things:
            for name in thing.names:
                for form in _full_forms(name):
                    forms.setdefault(form, _Form({}, "full", "full")).keys[thing.key] = None
        short: dict[str, _Form] = {}
        for thing in self.things if self.shortened else ():
            for form, way in chain.from_iterable(map(_short_forms, thing.names)):
                entry = short.get(form)
                if form in forms or (entry and entry.way == "head" != way):
                    continue
                if entry is None or (way == "head" != entry.way):
                    entry = short[form] = _Form({}, "short", way)
                entry.keys[thing.key] = None
            for kind in thing.kind.split(";"):
                if (word := fold_phrase(kind)) and word not in forms:
                    short.setdefault(word, _Form({}, "kind", "back" if is_han(word[0]) else "head")).keys[thing.key] = (
                        None
                    )
        forms.update((form, entry) for form, entry in short.items() if len(entry.keys) <= _MOST_SHARING)
        return forms


@lru_cache(maxsize=32)
def lexicon_of(things: tuple[Thing, ...], *, shortened: bool = True) -> Lexicon:
    """Return the lexicon of some things; cached, because trials and cases share one."""
    return Lexicon(things, shortened=shortened)


@lru_cache(maxsize=256)
def _starts(chars: str) -> re.Pattern[str]:
    """Return a pattern that finds the places where a form may begin: runs of letters and digits, and these characters."""
    return re.compile(f"[a-z0-9]+|[{re.escape(chars)}]" if chars else "[a-z0-9]+")


def _form_end(text: str, form: str, start: int) -> int | None:
    """Return the end of a form that occurs at ``start`` as whole words, before a plural or genitive; otherwise None."""
    if not text.startswith(form, start) and (
        " " not in form or text[start : start + len(form)].replace("\n", " ") != form
    ):
        return None
    end = start + len(form)
    if not _LATIN.match(form[-1]) or not _LATIN.match(text, end):
        return end
    for ending in _ENDINGS:
        if text.startswith(ending, end) and not _LATIN.match(text, end + len(ending)):
            return end
    return None


@lru_cache(maxsize=_NAMES)
def _full_forms(name: str) -> tuple[str, ...]:
    """Return the ways to write a name in full: with or without brackets and article, with "and" or "&".

    Kept, as are the short ones: the lexicon of what the tools told of has mostly the names of the one that checks ask about.
    """
    full = fold_phrase(name)
    forms = {full, fold_phrase(full.replace("(", " ").replace(")", " ")), fold_phrase(_BRACKETED.sub(" ", full))}
    forms |= {form.removeprefix("the ") for form in forms}
    forms |= {form.replace(" & ", " and ") for form in forms} | {form.replace(" and ", " & ") for form in forms}
    forms |= {form.replace("'", "") for form in forms}
    forms |= {form.replace("·", "") for form in forms}
    forms |= {form[:-1] for form in forms if form.endswith("s") and " " in form and not form.endswith(("ss", "'s"))}
    return tuple(sorted(form for form in forms if form))


@lru_cache(maxsize=_NAMES)
def _short_forms(name: str) -> tuple[tuple[str, Way], ...]:
    """Return the short forms of a name, each with its kind of shortening."""
    streets = words_of_names("street")
    ordinary = words_of_names("street", "ordinary")
    full = fold_phrase(name)
    base = fold_phrase(_BRACKETED.sub(" ", full)) or full
    forms = list(_short_han(base) if any(map(is_han, base)) else _short_latin(base, ordinary, streets))
    branches = (branch for branch in _BRACKETED.findall(full) if len(branch) > 1 and branch not in ordinary)
    return (*forms, *((branch, "front" if is_han(branch[0]) else "words") for branch in branches))


def _short_latin(name: str, ordinary: frozenset[str], streets: frozenset[str]) -> Iterator[tuple[str, Way]]:
    """Yield the short forms of a name in Latin script, each with its kind of shortening."""
    words = name.split(" ")[:_MOST_WORDS]
    number = words[-1] if len(words) > 1 and words[-1].isdigit() else ""
    if number:
        yield from ((f"{word} {number}", "words") for word in _NUMBERED)
        yield f"the {number}", "number"
    for size in range(len(words) - 1, 0, -1):
        for first in range(len(words) - size + 1):
            part = words[first : first + size]
            form = " ".join(part)
            if (
                size > 1
                and part[0] not in ("and", "&", "of", "the", "at")
                and part[-1] not in ("and", "&", "of", "the", "at")
            ):
                if not all(word in ordinary for word in part):
                    yield form, "words"
                else:
                    yield form, "head"
            elif size == 1 and (form in streets or form == number):
                continue
            elif size == 1 and _CODE.fullmatch(form):
                yield form, "words"
            elif size == 1 and len(form) >= _SHORTEST_WORD and form not in ordinary:
                yield form, "word" if first < len(words) - 1 else "head"
            elif size == 1 and first == len(words) - 1 and len(form) >= _SHORTEST_WORD:
                yield form, "head"


def _short_han(name: str) -> Iterator[tuple[str, Way]]:
    """Yield the short forms of a Chinese name, each with its kind of shortening."""
    if len(name) > _MOST_CHARS:
        return
    yield from ((code, "words") for code in _CODE_IN.findall(name) if code != name)
    for size in range(len(name) - 1, 1, -1):
        if is_han(name[0]):
            yield name[:size], "front"
        if is_han(name[-size]) or (name[-size].isdigit() and is_han(name[-size - 1])):
            yield name[-size:], "back"


def _marks(thing: Thing) -> Iterator[str]:
    """Yield the folded texts that distinguish a thing from others with the same name: branches, then addresses and other marks."""
    branches = words_of_names("branch")
    for name in thing.names:
        for branch in _BRACKETED.findall(fold_phrase(name)):
            yield branch
            yield from (
                branch.removesuffix(word)
                for word in sorted(branches)
                if branch.endswith(word) and len(branch) > len(word) + 1
            )
    for mark in thing.marks:
        folded = fold_phrase(mark)
        if len(folded) > 1:
            yield folded
            bare = _NUMBER.sub("", folded).strip(" ,")
            if len(bare) > 1:
                yield bare


_WINDOW = 120
_LOOK_BACK = 40


def find_names(page: TextPage, lexicon: Lexicon) -> list[NameHit]:
    """Return the names in a reply by position, without overlaps."""
    hits = list(lexicon.find(page.folded.text))
    context = _Context(page, hits, lexicon)
    return [hit for hit in hits if not context.in_address(hit) and (hit.way == "full" or context.accepts(hit))]


class _Context:
    """Decides from the surrounding text whether short forms are really names."""

    def __init__(self, page: TextPage, hits: list[NameHit], lexicon: Lexicon) -> None:
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

    def in_address(self, hit: NameHit) -> bool:
        """Return whether a house number directly precedes a name, which is then the name of a street."""
        return (
            self.text[hit.start - 1 : hit.start] == " "
            and self._word_before(hit.start).isdigit()
            and not is_han(self.text[hit.start])
        )

    def accepts(self, hit: NameHit) -> bool:
        """Return whether a short form really is a name in this place."""
        if hit.way == "number":
            return self._numbered(hit)
        return self._han(hit) if hit.way in ("front", "back") else self._latin(hit)

    def _numbered(self, hit: NameHit) -> bool:
        """Return whether "the 7" is a line and not a count, judged by the word after it."""
        after = self._word_after(hit.end)
        return not after or (after in self.pack.words and not {"unit", "classifier"} & self.pack.words[after].keys())

    def _latin(self, hit: NameHit) -> bool:
        """Return whether a short form in Latin script is a name, judged by capitals and the surrounding words."""
        before, after = self._word_before(hit.start), self._word_after(hit.end)
        definite = before in self.pack.names["definite"]
        if after in self.pack.names["street"]:
            return False
        capital = self._capital(hit.start)
        if hit.way == "head" and self.text[hit.end : hit.end + 1].isalpha():
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

    def _listed(self, hit: NameHit) -> bool:
        """Return whether a form is next to an arrow or plus sign, as in "post → library"."""
        around = self.text[max(hit.start - 2, 0) : hit.start], self.text[hit.end : hit.end + 2]
        return around[0].strip()[-1:] in ("→", ">", "+") or around[1].strip()[:1] in ("→", ">", "+")

    def _mid_sentence(self, start: int) -> bool:
        """Return whether a place is inside a sentence, so that a capital letter there marks a name."""
        return self.text[start - 1 : start] == " " and (
            self.text[start - 2 : start - 1].isalnum() or self.text[start - 2 : start - 1] in ",;"
        )

    def _capital(self, start: int) -> bool:
        """Return whether the character was written as a capital letter."""
        return self.folded.original[self.folded.origin(start)].isupper()

    def _word_before(self, start: int) -> str:
        """Return the word before a place, without quotes and brackets; may be empty."""
        return (
            self.text[max(start - 24, 0) : start].rstrip(" \n\"'(").rpartition(" ")[2].rpartition("\n")[2].strip("(\"'")
        )

    def _word_after(self, end: int) -> str:
        """Return the word after a place; empty if no word follows a blank, hyphen or line break."""
        following = self.text[end : end + 24]
        if following.startswith("'s "):
            following = following[2:]
        return following.strip().partition(" ")[0].strip(".,:;!?)") if following[:1] in (" ", "-", "\n") else ""

    def _han(self, hit: NameHit) -> bool:
        """Return whether a Chinese short form is a name, judged by the surrounding characters and words."""
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


def tell_apart(hits: list[NameHit], lexicon: Lexicon, text: str, ends: list[int]) -> list[NameHit]:
    """Return the names with ambiguities resolved by an address or branch, in the sentence or in the whole reply.

    Args:
        hits: the names, from left to right.
        lexicon: the things of the case.
        text: the folded reply.
        ends: where its sentences end.
    """
    if all(len(hit.keys) == 1 for hit in hits):
        return hits
    seen: list[NameHit] = []
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
    """Return the only thing with a distinguishing mark in a text; empty if none or several have one."""
    hits = [
        key for key in keys if any(mark in text for mark in lexicon.marks[key] if _telling(mark, key, keys, lexicon))
    ]
    return tuple(hits) if len(hits) == 1 else ()


def _telling(mark: str, key: str, keys: tuple[str, ...], lexicon: Lexicon) -> bool:
    """Return whether a mark belongs to only one of the things."""
    return not any(mark in lexicon.marks[other] for other in keys if other != key)


def _recent(hit: NameHit, seen: list[NameHit]) -> tuple[str, ...]:
    """Return the thing to which a short form refers, if only one candidate was named before; otherwise empty."""
    if hit.form == "full":
        return ()
    earlier_keys = {
        earlier.keys
        for earlier in seen
        if len(earlier.keys) == 1 and earlier.keys[0] in hit.keys and earlier.form == "full"
    }
    if len(earlier_keys) == 1:
        return earlier_keys.pop()
    last = seen[-1] if seen else None
    near = last is not None and hit.start - last.end < _WINDOW and len(last.keys) == 1 and last.keys[0] in hit.keys
    return last.keys if last is not None and near and hit.way in ("head", "back") else ()
