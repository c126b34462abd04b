"""Answers that are the rows of one part of a large table, those first that fulfil most of what a free text asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_mapsat.model import (
    Context,
    EqualTo,
    Json,
    JsonObject,
    ParameterMatch,
    RankedAnswer,
    SuiteManifest,
    UsageError,
    canonical_json,
    fold,
    hint_at,
    shown,
)
from pytest_mapsat.reading import Vocabulary

from .large import Arrays, FileRows, Keys, Parts, kept_arrays
from .ranked_index import PartIndex, build, units_of
from .ranked_query import Lexicon, Query, between, minute_of
from .rows import Ground, TableCall, canonical_values
from .search import split
from .spec import Call, Spec, UnanswerableError, spec_of
from .state import fresh

if TYPE_CHECKING:
    from .layers import SandboxSuite

#: Characters of a query; no sensible one is longer, and time grows with it.
_LONGEST = 1000
_LISTED = 12
#: Parts with so many rows together are held in memory; one that has more is held alone.
_HELD = 200_000
_AS_TEXT = ParameterMatch()


class RankedParts:
    """The parts of a table, each with its index, which is made or opened when it is first searched.

    Args:
        rows: the rows; those of a large table stay in their file, and so does the index.
        answer: what of them is searched.
        lexicon: the declared words.
        words: the rows of declared words.

    Attributes:
        places: part -> the places of its rows in the order of their ids.
    """

    def __init__(
        self, rows: Sequence[JsonObject], answer: RankedAnswer, lexicon: Lexicon, words: Sequence[JsonObject]
    ) -> None:
        self.rows = rows
        self.answer = answer
        self.lexicon = lexicon
        self._spelt = [row for row in words if "spelt" in row]
        self.places: Mapping[str, Sequence[int]]
        if isinstance(rows, FileRows):
            self.places = rows.parts
        else:
            parts = Parts(Keys(answer.id, answer.part))
            for at, row in enumerate(rows):
                parts.add(row, at, str)
            self.places = dict(parts.rows())
        self._lock = Lock()
        self._indexes: dict[str, PartIndex] = {}
        self._by_form: dict[str, dict[Any, list[str]]] = {}

    def index(self, part: str) -> PartIndex:
        """Return the index of a part."""
        with self._lock:
            index = self._indexes.pop(part, None)
            if index is None:
                rows = len(self.places[part])
                while self._indexes and rows + sum(held.count for held in self._indexes.values()) > _HELD:
                    del self._indexes[next(iter(self._indexes))]
                index = self._made(part)
            self._indexes[part] = index  # the part searched last stands last
            return index

    def _made(self, part: str) -> PartIndex:
        fields, book = self.answer.fields, self.lexicon.book

        def make() -> Arrays:
            places = np.array(self.places[part], np.int64)
            in_file = np.argsort(places)
            ordered = places[in_file].tolist()
            rows = self.rows.read(ordered) if isinstance(self.rows, FileRows) else (self.rows[at] for at in ordered)
            return build(rows, np.argsort(in_file), fields, book)

        if isinstance(self.rows, FileRows):
            holds = [[column, field.holds] for column, field in fields.items()]
            key = ["part", self.rows.digest, self.rows.keys, part, holds, self._spelt]
            return PartIndex(kept_arrays(key, make), fields)
        return PartIndex(make(), fields)

    def row(self, part: str, at: int) -> JsonObject:
        """Return a row of a part by its place in the order of ids."""
        return self.rows[int(self.places[part][at])]

    def with_form(self, match: ParameterMatch) -> Mapping[Any, list[str]]:
        """Return the parts by each form in which a parameter that names one is compared."""
        key = canonical_json(match.to_json())
        if key not in self._by_form:
            forms: dict[Any, list[str]] = {}
            for part in self.places:
                for form in canonical_values(part, match):
                    forms.setdefault(form, []).append(part)
            self._by_form[key] = forms
        return self._by_form[key]

    @cached_property
    def longest_name(self) -> int:
        """How many words the longest of ``names`` has."""
        return max(map(len, self.names), default=0)

    @cached_property
    def names(self) -> dict[tuple[str, ...], str]:
        """The words of the parts' names, and of declared words that mean the same -> the part."""
        keys = {units_of(part, self.lexicon.book): part for part in self.places}
        alike = {key: map(str.split, self.lexicon.groups.get(" ".join(key), ())) for key in keys}
        return {tuple(other): part for key, part in keys.items() for other in alike[key]} | keys


class RankedCall(TableCall[RankedAnswer]):
    """One call of a tool that answers with the rows that fit a text best.

    Args:
        parts: the parts of the table as the case sees it.
        vocabulary: the domain words and the currency of the suite.
        part: the part that is searched; empty: as the call, its text or the case says.
    """

    def __init__(
        self,
        ground: Ground,
        answer: RankedAnswer,
        spec: Spec,
        call: Call,
        parts: RankedParts,
        *,
        vocabulary: Vocabulary,
        part: str = "",
    ) -> None:
        super().__init__(ground, answer, spec, call)
        self._parts = parts
        self._vocabulary = vocabulary
        self._part = part

    def result(self) -> Json:
        """Return the result. Raises UnanswerableError."""
        part, order = self.order()
        rows = [self._parts.row(part, at) for at in self._page(order)]
        return self._result(
            [{name: fresh(row[name]) for name in self._answer.show or row if name in row} for row in rows]
        )

    def ids(self, most: int) -> tuple[str, ...]:
        """Return the ids of the rows that fit best, the best first. Raises UnanswerableError."""
        part, order = self.order(most)
        return tuple(str(self._parts.row(part, at)[self._answer.id]).strip() for at in order)

    def order(self, most: int | None = None) -> tuple[str, list[int]]:
        """Return the part that is searched, and its rows in their order, as far as the page that the call wants reaches."""
        name = self._answer.text
        text = str(self._given(name) or "")
        if not text.strip():
            raise UnanswerableError(f"{name} is {shown(text)}, expected what is looked for")
        if len(text) > _LONGEST:
            raise UnanswerableError(f"a {name} of {len(text)} characters is too long; at most {_LONGEST} are read")
        page, limit = self._answer.page, self._answer.limit
        if most is None:
            most = min(self._whole(page.size, limit), limit) * self._whole(page.number, 1)
        part, skip = self._searched(text)
        index = self._parts.index(part)
        return part, self._query(text, part, skip).ordered(self._kept(index), min(most, index.count))

    def _searched(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        """Return the part that the call searches, and where its text names it. Raises UnanswerableError."""
        column, city = self._answer.part, self._ground.context.city
        fixed = self._part or self._by_parameter()
        part = fixed or next(iter(self._parts_named(city)), "")
        named = self._named(text)
        if part and named:  # a city in a longer name ("Port Elm Street") is none that is named
            longer = [(phrase.start, phrase.end) for phrase in self._query(text, part).phrases]
            named = {
                (start, end): name
                for (start, end), name in named.items()
                if name == part
                or not any(first <= start and end <= last and last - first > end - start for first, last in longer)
            }
        listed = sorted({*named.values(), *([fixed] if fixed else [])})
        if len(listed) > 1:
            raise UnanswerableError(f"one {column} at a time is searched, and the call names {' and '.join(listed)}")
        if not (part := listed[0] if listed else part):
            raise UnanswerableError(f"no {column} is named; {self._served()}")
        return part, list(named)

    def _query(self, text: str, part: str, skip: Sequence[tuple[int, int]] = ()) -> Query:
        index, minute = self._parts.index(part), self._ground.minute
        return Query(text, index, self._parts.lexicon, vocabulary=self._vocabulary, minute=minute, skip=skip)

    def _parts_named(self, given: Json) -> list[str]:
        """Return the parts that a value names, in any spelling, or by a declared word."""
        match = self._match()
        forms = self._parts.with_form(match)
        parts = sorted({part for form in canonical_values(given, match) for part in forms.get(form, ())})
        if not parts and isinstance(given, str):
            part = self._parts.names.get(units_of(given, self._parts.lexicon.book))
            parts = [part] if part else []
        return parts

    def _parameter(self) -> str:
        """Return the parameter that names the part, empty where the tool has none."""
        name = self._answer.part
        return name if name in self._spec.tool.parameters.get("properties", {}) else ""

    def _match(self) -> ParameterMatch:
        return self._spec.rule(self._parameter()) if self._parameter() else _AS_TEXT

    def _by_parameter(self) -> str:
        """Return the part that the call's parameter names, empty where it gives none. Raises UnanswerableError for one that there is not."""
        name = self._parameter()
        given = self._given(name) if name else None
        parts = [] if given is None else self._parts_named(given)
        if given is None or len(parts) == 1:
            return parts[0] if parts else ""
        if parts:
            raise UnanswerableError(
                f"one {self._answer.part} at a time is searched, and {name} names {' and '.join(parts)}"
            )
        hint = hint_at(given, self._parts.places)
        raise UnanswerableError(f"{name} is {shown(given)}, which is not served; {self._served()}{hint}")

    def _served(self) -> str:
        places = self._parts.places
        more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
        return f"there is {', '.join(islice(places, _LISTED)) or 'none'}{more}"

    def _named(self, text: str) -> dict[tuple[int, int], str]:
        """Return where a text names a part, and which; the longest name at each place."""
        units = self._parts.lexicon.units(fold(text))
        words = tuple(unit for unit, _, _ in units)
        named: dict[tuple[int, int], str] = {}
        at = 0
        for several, part in split(words, self._parts.names, self._parts.longest_name):
            if part is not None:
                named[units[at][1], units[at + len(several) - 1][2]] = part
            at += len(several)
        return named

    def _kept(self, index: PartIndex) -> np.ndarray | None:
        """Return the rows that the call's filters leave; None for all."""
        mask: np.ndarray | None = None
        for name, rule, given in self._filters():
            left = self._left(index, name, rule, given)
            mask = left if mask is None else mask & left
        return mask

    def _left(self, index: PartIndex, name: str, rule: Any, given: Json) -> np.ndarray:
        if isinstance(rule, EqualTo):
            match = self._spec.rule(name)
            held = {at: canonical_values(value, match) for at, value in index.values(rule.column).items()}
            wanted = self._wanted(match, given, (form for forms in held.values() for form in forms))
            return index.with_values(at for at, forms in held.items() if forms & wanted)
        if rule.op == "open_at":
            return index.open_at(rule.column, minute_of(self._clock(name, given)))
        bound = self._figure(name, given)
        return between(index.figure(rule.column), *((bound, None) if rule.op == "least" else (None, bound)))


class Ranker:
    """The order in which a ranked tool of a suite gives its rows, without a case: for those who measure it, or put another in its place.

    Args:
        suite: the suite.
        tool: the name of the tool.

    Attributes:
        answer: how the tool ranks.
        parts: the parts of its table.

    Raises:
        UsageError: the suite has no such tool, or it does not rank.
    """

    def __init__(self, suite: SandboxSuite, tool: str) -> None:
        answer = suite.tools[tool].answer if tool in suite.tools else None
        if not isinstance(answer, RankedAnswer):
            ranked = [name for name, other in suite.tools.items() if isinstance(other.answer, RankedAnswer)]
            raise UsageError(f"{shown(tool)} is no tool that ranks; there is {', '.join(ranked) or 'none'}")
        self.answer, self._spec = answer, spec_of(suite.tools[tool])
        self._tables = suite.tables
        self._ground = Ground(suite.tables, (), Context())
        self._parts = ranked_parts(self._ground, answer)
        self._vocabulary = vocabulary_of(suite.manifest)
        self.parts: tuple[str, ...] = tuple(self._parts.places)

    def rank(
        self, text: str, part: str = "", *, limit: int = 20, filters: Mapping[str, Json] | None = None
    ) -> tuple[str, ...]:
        """Return the ids of the rows that fit a text best, the best first.

        Args:
            text: the free text.
            part: the part that is searched; empty: the one that the text names.
            limit: the most ids.
            filters: further arguments of the tool, by parameter.

        Raises:
            ValueError: the tool would refuse the call; the message says why.
        """
        call = self._spec.read({**(filters or {}), self.answer.text: text})
        if part and part not in self._parts.places:
            raise UnanswerableError(f"there is no {self.answer.part} {shown(part)}; there is {', '.join(self.parts)}")
        return self._call(self._ground, call, part).ids(limit)

    def part_of(self, arguments: Mapping[str, Json], context: Context) -> str:
        """Return the part that a call searches.

        Args:
            arguments: of the call.
            context: of the case, whose city counts where the call names none.

        Raises:
            ValueError: the tool would refuse the call; the message says why.
        """
        ranked = self._call(Ground(self._tables, (), context), self._spec.read(dict(arguments)))
        return ranked.order(1)[0]

    def rows(self, part: str) -> Iterator[JsonObject]:
        """Yield the rows of a part, in the order of their ids; one at a time, however many there are."""
        return (self._parts.row(part, at) for at in range(len(self._parts.places[part])))

    def _call(self, ground: Ground, call: Call, part: str = "") -> RankedCall:
        return RankedCall(ground, self.answer, self._spec, call, self._parts, vocabulary=self._vocabulary, part=part)


def ranker_of(suite: SandboxSuite, tool: str) -> Ranker:
    """Return the order in which a ranked tool of a suite gives its rows: see ``Ranker``."""
    return Ranker(suite, tool)


def vocabulary_of(manifest: SuiteManifest) -> Vocabulary:
    """Return the domain words and the currency of a suite."""
    return Vocabulary(manifest.vocabulary, manifest.currency)


def ranked_parts(ground: Ground, answer: RankedAnswer) -> RankedParts:
    """Return the parts of a ranked table as a case sees it; what all cases share is made once."""
    words = ground.view(answer.words).parts[0].table.rows if answer.words else ()

    def make(rows: Sequence[JsonObject]) -> RankedParts:
        return RankedParts(rows, answer, Lexicon(answer, ground.wordbook(answer.words), words), words)

    base, *own = ground.view(answer.table).parts
    if own or base.gone:
        return make(tuple(ground.view(answer.table).rows()))
    return base.table.index(("ranked", canonical_json(answer.to_json())), make)
