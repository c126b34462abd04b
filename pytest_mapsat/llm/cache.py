"""Answers of models, kept by what they depend on. No fault is ever kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal, NamedTuple
from zlib import crc32

from pydantic import ValidationError

from pytest_mapsat.formats import Lines, Located, limits, parse_json_line, read_lines, replacing, shown_path, validate
from pytest_mapsat.model import Json, JsonObject, Noun, Problem, SuiteError, canonical_json, digest, shown
from pytest_mapsat.store import Store, StoreError

from .request import Answer, Request

#: ``auto``: use what is there and fill it; ``only``: make no calls; ``refresh``: ask anew, and keep it; ``off``: keep nothing.
Mode = Literal["auto", "only", "refresh", "off"]
MODES: tuple[Mode, ...] = ("auto", "only", "refresh", "off")

_PREFIX = "answer/"
#: Entries that are looked at for the nearest one.
_MOST_COMPARED = 5_000
#: Characters shown around the first that differs.
_AROUND = 30
#: One entry in an exported file, bytes.
_LINE_BYTES = 16 * limits.MIB


class Entry(Noun):
    """One answer with what was asked, as it is kept and as a line of an exported file."""

    request: Request
    answer: Answer


class Imported(NamedTuple):
    """What became of an imported file: entries that are new, that were there, and what was wrong with others."""

    added: int
    known: int
    problems: tuple[Problem, ...]


class Cache:
    """The answers in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._sketches: dict[str, _Sketch] | None = None

    def find(self, request: Request) -> Answer | None:
        """Return the kept answer, marked as cached; None where there is none.

        Raises:
            StoreError: what is kept is damaged.
        """
        entry = self._entry(request.key())
        return None if entry is None else entry.answer.model_copy(update={"cached": True})

    def keep(self, request: Request, answer: Answer, *, again: bool = False) -> Answer:
        """Keep an answer, and return the one that counts: of two processes that asked at once, that of the first.

        Args:
            request: what was asked.
            answer: what came back.
            again: whether it takes the place of one that is there.
        """
        key = request.key()
        value = _plain(Entry(request=request, answer=answer))
        if again:
            self.store.put(_PREFIX + key, value)
            return answer
        if self.store.add(_PREFIX + key, value):
            return answer
        return self.find(request) or answer

    def entries(self) -> Iterator[Entry]:
        """Yield all entries, in the order of their keys."""
        for name in self.store.names():
            if name.startswith(_PREFIX) and (entry := self._entry(name.removeprefix(_PREFIX))) is not None:
                yield entry

    def _entry(self, key: str) -> Entry | None:
        value = self.store.get(_PREFIX + key)
        if value is None:
            return None
        try:
            entry = Entry.model_validate(value)
        except ValidationError:
            entry = None
        if entry is None or entry.request.key() != key:
            raise StoreError(
                f"{shown_path(self.store.folder)}: the entry {key} is damaged; run: python -m pytest_mapsat cache clear"
            )
        return entry

    def nearest(self, request: Request) -> str:
        """Return which kept entry comes nearest to a request that has none, and in what it differs; empty where nothing is kept."""
        if self._sketches is None:
            entries = (entry.request for _, entry in zip(range(_MOST_COMPARED), self.entries(), strict=False))
            self._sketches = {one.key(): _Sketch.of(one) for one in entries}
        asked = _Sketch.of(request)
        near = [
            (asked.likeness(sketch), key) for key, sketch in self._sketches.items() if sketch.purpose == asked.purpose
        ]
        if not near:
            return ""
        _, key = min(near, key=lambda found: (-found[0], found[1]))
        entry = self._entry(key)
        return "" if entry is None else f"{key[:12]} differs in {'; '.join(_differences(entry.request, request))}"


class _Sketch(NamedTuple):
    """As much of a request as is needed to find the one most like it."""

    purpose: str
    parts: tuple[str, ...]
    lines: frozenset[int]

    @staticmethod
    def of(request: Request) -> _Sketch:
        parts = tuple(digest(part) for part in _parts(request).values())
        text = "\n".join(canonical_json(message).replace("\\n", "\n") for message in request.messages)
        return _Sketch(
            request.purpose, parts, frozenset(crc32(line.encode("utf-8", "replace")) for line in text.split("\n"))
        )

    def likeness(self, other: _Sketch) -> float:
        """Return a number that is greater the more two requests share; their words count most."""
        lines = len(self.lines & other.lines) / (len(self.lines | other.lines) or 1)
        return 10 * lines + sum(one == two for one, two in zip(self.parts, other.parts, strict=True))


def _parts(request: Request) -> dict[str, Json]:
    """Return what a request has besides its messages, by the name a user knows it by."""
    return {
        "model": request.model,
        "parameters": request.parameters,
        "seed": request.seed,
        "schema": request.schema_,
        "tools": list(request.tools),
        "trial": request.trial,
        "vote": request.vote,
    }


def _differences(kept: Request, asked: Request) -> list[str]:
    before, now = _parts(kept), _parts(asked)
    named = [
        f"the {name}" if name in ("schema", "tools") else f"{name} ({shown(before[name])}, now {shown(now[name])})"
        for name in before
        if before[name] != now[name]
    ]
    for number, (old, new) in enumerate(zip(kept.messages, asked.messages, strict=False), start=1):
        if old != new:
            return [*named, f"message {number} ({new.get('role', '')}): {_first_difference(old, new)}"]
    if len(kept.messages) != len(asked.messages):
        named.append(f"the number of messages ({len(kept.messages)}, now {len(asked.messages)})")
    return named


def _first_difference(old: JsonObject, new: JsonObject) -> str:
    before, now = (_words(message) for message in (old, new))
    length = min(len(before), len(now))
    place = next((at for at in range(length) if before[at] != now[at]), length)
    start = max(place - _AROUND // 2, 0)
    return f"{shown(before[start : place + _AROUND])}, now {shown(now[start : place + _AROUND])} at character {place}"


def _words(message: JsonObject) -> str:
    content = message.get("content")
    return content if isinstance(content, str) and len(message) == 2 else canonical_json(message)  # noqa: PLR2004  role, content


def _plain(entry: Entry) -> JsonObject:
    return {
        "request": entry.request.model_dump(mode="json", exclude_defaults=True),
        "answer": entry.answer.model_dump(mode="json", exclude_defaults=True, exclude={"cached"}),
    }


def export_entries(cache: Cache, path: Path) -> int:
    """Write all entries as JSON Lines, in the order of their keys; return how many. The file is put in place whole.

    Raises:
        OSError: it cannot be written.
        StoreError: an entry is damaged.
    """
    with replacing(path) as file:
        return _write(cache, file)


def _write(cache: Cache, file: IO[bytes]) -> int:
    count = 0
    for entry in cache.entries():
        file.write(canonical_json(_plain(entry)).encode() + b"\n")
        count += 1
    return count


def import_entries(cache: Cache, path: Path) -> Imported:
    """Take over the entries of an exported file. What is kept already stays; a line that is wrong is named, the others count.

    Raises:
        SuiteError: the file cannot be read at all.
    """
    name = shown_path(path)
    added = known = 0
    problems: list[Problem] = []
    for line in read_lines(path, _LINE_BYTES):
        try:
            data = parse_json_line(line.data, name, line.number)
        except SuiteError as error:
            problems += error.problems
            continue
        entry = validate(Entry, Located(data, Lines(line.number)), name, problems)
        if entry is None:
            continue
        if cache.store.add(_PREFIX + entry.request.key(), _plain(entry)):
            added += 1
        else:
            known += 1
    return Imported(added, known, tuple(problems[: limits.PROBLEMS]))
