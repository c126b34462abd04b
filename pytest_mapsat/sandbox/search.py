"""Which rows of a table a search text means: those it names, else those of the sort it asks for.

A text is met in this order, and the first that has any row answers: a row's whole name; a name inside the text; the sorts that it
names, with the qualifiers that some row has; words that a row has; a name spelt a little differently. Qualifiers that no row has are left out:
a search service that knows no "quiet" lists restaurants all the same. Sorts are words that a suite gives as data, in any language: English words
lose their plural, Chinese has no spaces, so declared words are found inside a run.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

from pytest_mapsat.model import Json, JsonObject, Point, Searched, distance_m, normalise, number, tokens

#: The longest declared phrase, in words; longer ones are never found.
_MOST_WORDS = 6
#: So much of a Chinese run must stand in a row's texts, in pieces of two characters and more.
_COVERED = 0.7
#: Words of at most so many letters have no plural to lose.
_SHORT = 3


#: How alike an unknown word and a known one must be to be the same word ("harbor"), 0 to 100, and how long.
SAME_WORD, LEAST_LETTERS = 83, 5


Meant = TypeVar("Meant")


class Phrase(NamedTuple):
    """A declared phrase: the sort that it denotes (None: words that may be absent), and whether it means "close to"."""

    sort: str | None
    near: bool = False


@dataclass(frozen=True)
class Wording:
    """A text split by the declared words.

    Attributes:
        sorts: the sorts of things that it names, in their order, each once.
        rest: the words that no declared phrase holds, in their order: stems, or runs of Chinese.
        words: all its words but those that may be absent; the sorts as they stand there.
        near: whether it says that something is close to something.
    """

    sorts: tuple[str, ...]
    rest: tuple[str, ...]
    words: tuple[str, ...]
    near: bool

    @property
    def joined(self) -> str:
        """Return the text without spaces and optional words, the form for comparing whole names."""
        return "".join(self.words)


class Wordbook:
    """The declared words of a suite, which are used to split texts.

    Args:
        rows: of a table of words. ``sort`` with ``words``: what a sort of things is called, in all languages; ``absent``: words that
            may be absent; ``near``: words that say "close to"; ``word`` with ``spelt``: other spellings of one word ("rd").
    """

    def __init__(self, rows: Iterable[JsonObject]) -> None:
        rows = tuple(rows)
        self._spelt = {_stem(other): _stem(row["word"]) for row in rows for other in row.get("spelt", ())}
        self._phrases: dict[tuple[str, ...], Phrase] = {}
        self._runs: dict[str, Phrase] = {}
        for row in rows:
            for words, phrase in _declared(row):
                self._declare(words, phrase)
        self._single = [phrase[0] for phrase in self._phrases if len(phrase) == 1 and len(phrase[0]) >= LEAST_LETTERS]
        self._longest = max(map(len, self._runs), default=0)
        self.read = lru_cache(maxsize=4096)(self._read)

    def stems(self, text: str) -> Iterator[str]:
        """Yield the words of a text in compared form: folded, without plural and genitive, in one spelling."""
        for word in tokens(text):
            if word != "s":  # what an apostrophe cuts off
                stem = word if is_run(word) else _stem(word)
                yield self._spelt.get(stem, stem)

    def _declare(self, text: str, phrase: Phrase) -> None:
        """Add a phrase, by its stems or as a Chinese run; the first of several equal phrases counts."""
        words = tuple(self.stems(text))
        if len(words) == 1 and is_run(words[0]):
            self._runs.setdefault(words[0], phrase)
        elif words and not is_run(words[0]):
            self._phrases.setdefault(words, phrase)

    def respelt(self, text: str) -> str:
        """Return a text with unknown words replaced by the nearest declared ones ("restaraunt"); empty if nothing changes."""
        words = list(self.stems(text))
        respelt = [word if (word,) in self._phrases else nearest(word, self._single) for word in words]
        return " ".join(respelt) if respelt != words else ""

    def _read(self, text: str) -> Wording:
        """Return a text split into phrases, longer phrases first."""
        sorts: dict[str, None] = {}
        rest: list[str] = []
        words: list[str] = []
        near = False
        for piece, phrase in self._pieces(tuple(self.stems(text))):
            if phrase is None:
                rest.append(piece)
                words.append(piece)
            elif phrase.sort:
                sorts[phrase.sort] = None
                words.append(piece)
            near = near or (phrase is not None and phrase.near)
        return Wording(tuple(sorts), tuple(rest), tuple(words), near)

    def _pieces(self, words: tuple[str, ...]) -> Iterator[tuple[str, Phrase | None]]:
        """Yield the declared phrases in a sequence of words, and the intermediate words with None."""
        for several, phrase in split(words, self._phrases, _MOST_WORDS):
            if phrase is not None:
                yield "".join(several), phrase
                continue
            for word in several:
                if is_run(word):
                    yield from split(word, self._runs, self._longest)
                else:
                    yield word, None


def nearest(word: str, known: Sequence[str]) -> str:
    """Return the known word that a word most likely misspells; the word itself if it is short, Chinese or unlike all known words."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - heavy; only loaded where words are unknown

    if is_run(word) or len(word) < LEAST_LETTERS:
        return word
    match = process.extractOne(word, known, scorer=fuzz.ratio, score_cutoff=SAME_WORD)
    return str(match[0]) if match else word


def split(text: Any, phrases: Mapping[Any, Meant], most: int) -> Iterator[tuple[Any, Meant | None]]:
    """Yield the declared phrases in a sequence of words or a run, with their meaning, and the intermediate pieces with None."""
    at = start = 0
    while at < len(text):
        for length in range(min(most, len(text) - at), 0, -1):
            phrase = phrases.get(text[at : at + length])
            if phrase is not None:
                if start < at:
                    yield text[start:at], None
                yield text[at : at + length], phrase
                at = start = at + length
                break
        else:
            at += 1
    if start < len(text):
        yield text[start:], None


def _declared(row: JsonObject) -> Iterator[tuple[str, Phrase]]:
    """Yield the phrases that a row of words declares, each with its meaning."""
    sort = row.get("sort")
    if isinstance(sort, str):
        yield sort, Phrase(sort)
        yield from ((word, Phrase(sort)) for word in row.get("words", ()))
    yield from ((word, Phrase(None)) for word in row.get("absent", ()))
    yield from ((word, Phrase(None, near=True)) for word in row.get("near", ()))


def is_run(word: str) -> bool:
    """Return whether a word is in a script without spaces between words, such as Chinese."""
    return word[0] >= "\u2e80"


def _stem(word: str) -> str:
    """Return an English word without its plural ending."""
    if len(word) <= _SHORT or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("shes", "ches", "xes", "sses")) else word[:-1]


def covered(run: str, text: str) -> bool:
    """Return whether most of a Chinese run occurs in a text, in pieces of at least two characters."""
    if run in text:
        return True
    standing = at = 0
    while at < len(run) - 1:
        end = at + 2
        if run[at:end] not in text:
            at += 1
            continue
        while end < len(run) and run[at : end + 1] in text:
            end += 1
        standing += end - at
        at = end
    return standing >= _COVERED * len(run)


#: How alike a whole name and a text must be to be the same name; 0 to 100.
_SAME_NAME = 78
#: How far "near" reaches, metres.
_NEAR_M = 3000.0
#: A Chinese name is looked up by as many characters.
_HEAD = 2
#: So many neighbouring words are tried as one name.
_MOST_JOINED = 4


#: Whether the rest of a call leaves a row.
Scope = Callable[[int], bool]


class RowHit(NamedTuple):
    """A row that matches a text. Lower steps and ranks match better; only the lowest step answers. ``lacking``: words missing in the row."""

    step: int
    rank: float
    row: int
    lacking: tuple[str, ...] = ()


class _SearchedText(NamedTuple):
    """The searchable form of a text: normalised text, words, sorts, and whether it is a proper name rather than just a sort."""

    form: str
    words: frozenset[str]
    sorts: frozenset[str]
    proper: bool


class _Entry(NamedTuple):
    """The searchable form of a row."""

    names: tuple[str, ...]
    proper: tuple[bool, ...]
    name_words: tuple[frozenset[str], ...]
    sorts: frozenset[str]
    all_sorts: frozenset[str]
    words: frozenset[str]
    text: str
    point: Point | None


class SearchIndex:
    """An index of the searched columns of some rows."""

    def __init__(self, rows: Sequence[JsonObject], columns: Searched, book: Wordbook) -> None:
        self._book = book
        self._sorted = bool(columns.sort)
        read = cache(self._text)
        self.entries = tuple(self._entry(row, columns, read) for row in rows)
        self._by_name: dict[str, list[int]] = {}
        self._by_sort: dict[str, list[int]] = {}
        self._by_word: dict[str, list[int]] = {}
        self._by_head: dict[str, list[tuple[str, int]]] = {}
        self._by_rarest: dict[str, list[tuple[frozenset[str], str, int]]] = {}
        for at, entry in enumerate(self.entries):
            for name, proper in dict(zip(entry.names, entry.proper, strict=True)).items():
                self._by_name.setdefault(name, []).append(at)
                if proper and name and is_run(name[0]):
                    self._by_head.setdefault(name[:_HEAD], []).append((name, at))
            for keys, index in ((entry.all_sorts, self._by_sort), (entry.words, self._by_word)):
                for key in sorted(keys):
                    index.setdefault(key, []).append(at)
        for at, entry in enumerate(self.entries):
            for name, own, proper in zip(entry.names, entry.name_words, entry.proper, strict=True):
                if own and proper:
                    rarest = min(own, key=lambda word: (len(self._by_word[word]), word))
                    self._by_rarest.setdefault(rarest, []).append((own, name, at))

    def _entry(self, row: JsonObject, columns: Searched, read: Callable[[str], _SearchedText]) -> _Entry:
        """Return the searchable form of a row."""

        def of(names: Iterable[str]) -> list[_SearchedText]:
            """Return the texts in some columns of the row, in their searchable form."""
            return [read(text) for column in names for text in texts(row.get(column))]

        def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
            """Return the union of some sets."""
            return frozenset[str]().union(*sets)

        names, kinds = of(columns.name), of(columns.sort)
        every = (*names, *kinds, *of(columns.also))
        all_sorts = union(text.sorts for text in every)
        lon, lat = (number(row.get(column)) if column else None for column in (columns.lon, columns.lat))
        return _Entry(
            tuple(text.form for text in names),
            tuple(text.proper for text in names),
            tuple(text.words for text in names),
            union(text.sorts for text in kinds) if columns.sort else all_sorts,
            all_sorts,
            union(text.words for text in every),
            "|".join(text.form for text in every),
            None if lon is None or lat is None else (lon, lat),
        )

    def _text(self, text: str) -> _SearchedText:
        """Return the searchable form of a text."""
        asked = self._book.read(text)
        words = frozenset(self._book.stems(text))
        return _SearchedText(normalise(text), words, frozenset(asked.sorts), self._is_proper(text, asked))

    def _is_proper(self, text: str, read: Wording) -> bool:
        """Return whether a text is more than the name of a sort: a proper name, unlike "puppet theatre"."""
        return bool(read.rest) or "".join(self._book.stems(text)) != read.joined

    @cached_property
    def _known(self) -> tuple[str, ...]:
        """Return the longer words of the rows, used to correct unknown words, without Chinese runs."""
        return tuple(word for word in self._by_word if len(word) >= LEAST_LETTERS and not is_run(word))

    def find(self, text: str, gone: Container[int], scope: Scope) -> list[RowHit]:
        """Return the rows that a text describes; empty if there are none.

        Args:
            text: what was asked.
            gone: the rows that the case does not have.
            scope: whether the rest of the call leaves a row. A name is looked for beyond it too, so that what it names elsewhere is not answered by
                something else here, unless the name says no more than a sort ("puppet theatre").
        """
        asked = self._book.read(text)
        exact = [hit for hit in self._exact(text) if hit.row not in gone]
        mentioned = {} if exact else self._mentioned(text, gone)
        hits = _within(exact, scope) if exact else self._named_or_near(asked, mentioned, scope) if mentioned else []
        if hits or ((exact or mentioned) and self._is_proper(text, asked)):
            return hits
        if self._sorted and asked.sorts:
            return self._of_sort(asked, scope)
        having = self._with_words(asked, scope)
        if not having and asked.sorts:
            having = self._of_sort(asked, scope)
        return having or _within(self._spelt_alike(text), scope)

    def _exact(self, text: str) -> list[RowHit]:
        """Return hits for the rows with exactly this name, then for those with all its words in a name; empty if there are none."""
        whole = normalise(text)
        bare = normalise(text.strip()[4:]) if text.strip().lower().startswith("the ") else whole
        rows = self._by_name.get(whole) or self._by_name.get(bare)
        if not rows:
            return []
        words = frozenset(self._book.stems(text))
        longer = [at for at in self._rows_with(words) if any(words <= own for own in self.entries[at].name_words)]
        return [RowHit(0, 0 if at in rows else 1, at) for at in dict.fromkeys((*rows, *longer))]

    def _rows_with(self, words: Iterable[str]) -> Iterable[int]:
        """Return the rows that contain all of some words; empty if no words are given."""
        lists = sorted((self._by_word.get(word, []) for word in words), key=len)
        if not lists:
            return ()
        return set(lists[0]).intersection(*lists[1:]) if len(lists) > 1 else lists[0]

    def _mentioned(self, text: str, gone: Container[int]) -> dict[int, str]:
        """Return the rows whose full name occurs in a text, and the name; names inside longer names are omitted."""
        words, whole = frozenset(self._book.stems(text)), normalise(text)
        named_rows: dict[int, str] = {}
        for own, name, at in (named for word in words for named in self._by_rarest.get(word, ())):
            if own <= words:
                named_rows[at] = max(named_rows.get(at, ""), name, key=len)
        for name, at in self._joined(text):
            named_rows[at] = max(named_rows.get(at, ""), name, key=len)
        for start in range(len(whole) - 1):
            for name, at in self._by_head.get(whole[start : start + _HEAD], ()):
                if whole.startswith(name, start):
                    named_rows[at] = max(named_rows.get(at, ""), name, key=len)
        named_rows = {at: name for at, name in named_rows.items() if at not in gone}
        names = set(named_rows.values())
        inner = {name for name in names if any(name != other and name in other for other in names)}
        return {at: name for at, name in named_rows.items() if name not in inner}

    def _joined(self, text: str) -> Iterator[tuple[str, int]]:
        """Yield the names that neighbouring words of a text form when joined ("harbourfront"), each with its row."""
        words = tokens(text)
        for start in range(len(words)):
            for end in range(start + 1, min(start + _MOST_JOINED, len(words)) + 1):
                name = "".join(words[start:end])
                for at in self._by_name.get(name, ()):
                    if self.entries[at].proper[self.entries[at].names.index(name)]:
                        yield name, at

    def _named_or_near(self, asked: Wording, mentioned: dict[int, str], scope: Scope) -> list[RowHit]:
        """Return hits for the named rows; if the text also requests another sort, for rows of that sort near them."""
        others = set(asked.sorts).difference(*(self.entries[at].all_sorts for at in mentioned))
        if others and self._sorted:
            wanted = [at for at, entry in enumerate(self.entries) if others <= entry.all_sorts and others & entry.sorts]
            near = [RowHit(1, self._metres(at, mentioned), at) for at in wanted]
            near = [hit for hit in near if hit.rank <= _NEAR_M]
            if near or asked.near:
                return _within(near, scope)
            if wanted:
                return _within([RowHit(1, 0, at) for at in wanted], scope)
        name_words = frozenset(word for name in mentioned.values() for word in self._book.stems(name))
        return self._qualified(
            [RowHit(1, 0, at) for at in mentioned], [w for w in asked.rest if w not in name_words], scope
        )

    def _metres(self, row: int, others: Iterable[int]) -> float:
        """Return the distance of a row to the nearest of other rows in metres; infinite if a point is missing."""
        here = self.entries[row].point
        points = [self.entries[at].point for at in others]
        return min(
            (distance_m(*here, *there) for there in points if here is not None and there is not None),
            default=float("inf"),
        )

    def _of_sort(self, asked: Wording, scope: Scope) -> list[RowHit]:
        """Return hits for the rows of all requested sorts; if there are none, for rows of the last sort, which the others qualify."""
        wanted = set(asked.sorts)
        rows = [at for at in self._by_sort.get(asked.sorts[-1], ()) if scope(at)]
        whole = [at for at in rows if wanted <= self.entries[at].sorts]
        partly = [at for at in rows if wanted <= self.entries[at].all_sorts and wanted & self.entries[at].sorts]
        last = [at for at in rows if asked.sorts[-1] in self.entries[at].sorts]
        return self._qualified([RowHit(3, 0, at) for at in whole or partly or last], asked.rest, scope)

    def _qualified(self, hits: list[RowHit], rest: Sequence[str], scope: Scope) -> list[RowHit]:
        """Return the hits with all qualifiers; if there are none, all hits, ranked by the number of missing qualifiers."""
        hits = _within(hits, scope)
        wanted = [self._respelt(word) for word in rest]
        if not wanted or not hits:
            return hits
        lacking = {hit: tuple(word for word in wanted if not self._has(hit.row, word)) for hit in hits}
        if () in lacking.values():
            return [hit for hit in hits if not lacking[hit]]
        return [RowHit(hit.step + 1, len(lacking[hit]), hit.row, lacking[hit]) for hit in hits]

    def _with_words(self, asked: Wording, scope: Scope) -> list[RowHit]:
        """Return hits for the rows with all words of a text; preferably only those with all words in the name."""
        wanted = [self._respelt(word) for word in asked.rest]
        if not wanted:
            return []
        plain = [word for word in wanted if not is_run(word)]
        rows = self._rows_with(plain) if plain else range(len(self.entries))
        having = [at for at in sorted(rows) if all(self._has(at, word) for word in wanted)]
        in_name = [at for at in having if self._in_name(at, wanted)]
        return _within([RowHit(5, 0, at) for at in in_name or having], scope)

    def _has(self, row: int, word: str) -> bool:
        """Return whether a row has a word in its searched texts; for a Chinese run, whether most of it occurs there."""
        entry = self.entries[row]
        return covered(word, entry.text) if is_run(word) else word in entry.words

    def _in_name(self, row: int, words: Sequence[str]) -> bool:
        """Return whether the names of a row have all of some words."""
        names, own = "|".join(self.entries[row].names), frozenset().union(*self.entries[row].name_words)
        return all(covered(word, names) if is_run(word) else word in own for word in words)

    def _respelt(self, word: str) -> str:
        """Return a word in the spelling of the rows if it looks like a misspelling of one of their words."""
        return word if word in self._by_word else nearest(word, self._known)

    def _spelt_alike(self, text: str) -> list[RowHit]:
        """Return hits for the rows with the name most similar to a text; empty if no name is similar enough."""
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - as above

        names = list(self._by_name)
        alike = process.extract(normalise(text), names, scorer=fuzz.ratio, score_cutoff=_SAME_NAME, limit=5)
        best = max((score for _, score, _ in alike), default=0)
        return [RowHit(6, 0, at) for name, score, _ in alike if score == best for at in self._by_name[name]]


def _within(hits: list[RowHit], scope: Scope) -> list[RowHit]:
    """Return the hits that the rest of the call allows."""
    return [hit for hit in hits if scope(hit.row)]


def texts(value: Json) -> Iterator[str]:
    """Yield the texts of a value: itself, or those in a list; nothing for other values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        yield from (member for member in value if isinstance(member, str))
