"""Answers of models, kept by what they depend on, and their ways in and out: an export of ours, and the JSON Lines of batch services. No fault is ever kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

from pytest_mapsat.formats import (
    document_of,
    limits,
    parse_json_line,
    read_lines,
    replacing,
    require_file,
    shown_path,
    validate,
)
from pytest_mapsat.model import Json, JsonObject, Problem, SuiteError, canonical_json, shown
from pytest_mapsat.store import Shelf, Store, StoreEntry

from .call import answer_of
from .exchange import Answer, ModelError, Request
from .replay import ModelExchange, exchanges

#: ``auto``: use what is there and fill it; ``only``: make no calls; ``refresh``: ask anew, and keep it; ``off``: keep nothing.
Mode = Literal["auto", "only", "refresh", "off"]

#: Entries that are looked at for the nearest one.
_MOST_COMPARED = 5_000
#: Characters shown around the first that differs.
_AROUND = 30
#: One entry in an exported file, or one result of a batch, bytes.
_LINE_BYTES = 16 * limits.MIB


class Answered(StoreEntry):
    """One answer with what was asked, as it is kept and as a line of an exported file."""

    request: Request
    answer: Answer

    def key(self) -> str:
        """Return the name of the answer in the store."""
        return self.request.key()


class Taken(NamedTuple):
    """What became of a file of answers: those that were taken, requests that had one already, and what is wrong with lines."""

    taken: int
    known: int
    problems: tuple[Problem, ...]


class Cache:
    """The answers in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.entries = Shelf(store, "answer/", Answered)
        self._lines: dict[str, tuple[str, frozenset[int]]] | None = None

    def find(self, request: Request) -> Answer | None:
        """Return the kept answer, marked as cached; None where there is none.

        Raises:
            StoreError: what is kept is damaged.
        """
        entry = self.entries.find(request.key())
        return None if entry is None else entry.answer.model_copy(update={"cached": True})

    def keep(self, request: Request, answer: Answer, *, again: bool = False) -> Answer:
        """Keep an answer, and return the one that counts: of two processes that asked at once, that of the first.

        Args:
            request: what was asked.
            answer: what came back.
            again: whether it takes the place of one that is there.
        """
        kept = self.entries.keep(Answered(request=request, answer=answer), again=again)
        return answer if kept else self.find(request) or answer

    def nearest(self, request: Request) -> str:
        """Return which kept entry comes nearest to a request that has none, and in what it differs; empty where nothing is kept."""
        if self._lines is None:
            kept = (entry.request for entry in islice(self.entries, _MOST_COMPARED))
            self._lines = {request.key(): (request.purpose, _lines(request)) for request in kept}
        asked = _lines(request)
        likeness = {
            key: len(asked & lines) / len(asked | lines)
            for key, (purpose, lines) in self._lines.items()
            if purpose == request.purpose
        }
        if not likeness:
            return ""
        key = min(likeness, key=lambda key: (-likeness[key], key))
        entry = self.entries.find(key)
        return "" if entry is None else f"{key[:12]} differs in {'; '.join(_differences(entry.request, request))}"


def _lines(request: Request) -> frozenset[int]:
    """Return the lines of a request's messages and its other parts, each by a number: enough to find the one most like it."""
    parts = [f"{name} {canonical_json(part)}" for name, part in _parts(request).items()]
    messages = (canonical_json(message).replace("\\n", "\n").split("\n") for message in request.messages)
    return frozenset(crc32(line.encode("utf-8", "replace")) for line in chain(parts, *messages))


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
    entries = [
        f"the {name}" if name in ("schema", "tools") else f"{name} ({shown(before[name])}, now {shown(now[name])})"
        for name in before
        if before[name] != now[name]
    ]
    for number, (old, new) in enumerate(zip(kept.messages, asked.messages, strict=False), start=1):
        if old != new:
            return [*entries, f"message {number} ({new.get('role', '')}): {_first_difference(old, new)}"]
    if len(kept.messages) != len(asked.messages):
        entries.append(f"the number of messages ({len(kept.messages)}, now {len(asked.messages)})")
    return entries


def _first_difference(old: JsonObject, new: JsonObject) -> str:
    before, now = (_words(message) for message in (old, new))
    length = min(len(before), len(now))
    place = next((at for at in range(length) if before[at] != now[at]), length)
    start = max(place - _AROUND // 2, 0)
    return f"{shown(before[start : place + _AROUND])}, now {shown(now[start : place + _AROUND])} at character {place}"


def _words(message: JsonObject) -> str:
    content = message.get("content")
    return content if isinstance(content, str) and len(message) == 2 else canonical_json(message)  # noqa: PLR2004  role, content


def export_entries(cache: Cache, path: Path) -> int:
    """Write all entries as JSON Lines, in the order of their keys, then the model calls of agents; return how many. The file is put in place whole.

    Raises:
        OSError: it cannot be written.
        StoreError: an entry is damaged.
    """
    count = 0
    with replacing(path) as file:
        for entry in chain(cache.entries, exchanges(cache.store)):
            file.write(canonical_json(entry.to_json()).encode() + b"\n")
            count += 1
    return count


def import_entries(cache: Cache, path: Path) -> Taken:
    """Take over the entries of an exported file. What is kept already stays; a line that is wrong is named, the others count.

    Raises:
        SuiteError: the file cannot be read at all.
    """
    taken = known = 0
    problems: list[Problem] = []
    name = shown_path(path)
    for line in read_lines(path, _LINE_BYTES):
        located = document_of(line.data, name, line.number, problems)
        added: bool | None = None
        if located is None:
            continue
        if isinstance(located.data, dict) and "asked" in located.data:
            if (exchange := validate(ModelExchange, located, name, problems)) is not None:
                added = exchanges(cache.store).keep(exchange)
        elif (entry := validate(Answered, located, name, problems)) is not None:
            added = cache.entries.keep(entry)
        taken += added is True
        known += added is False
    return Taken(taken, known, tuple(problems[: limits.PROBLEMS]))


# -- batches: half the price, and any model by any means ------------------------------------------------------------------
# A request is {"custom_id", "method", "url", "body"}, a result {"custom_id", "response": {"body": {"choices": [...], "usage"}}}; custom_id is the
# key of the request.

_METHOD, _URL = "POST", "/v1/chat/completions"
#: The prefix by which litellm knows the service whose interface this is; the service itself does not.
_OWN_PREFIX = "openai/"
_OK = 200


def write_batch(path: Path, requests: Iterable[Request], cache: Cache) -> int:
    """Write the requests that the cache has no answer to, each once, in their order; return how many. The file is put in place whole.

    Raises:
        OSError: it cannot be written.
        StoreError: the cache cannot be read.
    """
    asked = {request.key(): request for request in requests}
    lacking = {key: request for key, request in asked.items() if cache.find(request) is None}
    with replacing(path) as file:
        for key, request in lacking.items():
            body = request.body() | {"model": request.model.removeprefix(_OWN_PREFIX)}
            row = {"custom_id": key, "method": _METHOD, "url": _URL, "body": body}
            file.write(canonical_json(row).encode("utf-8", "replace") + b"\n")
    return len(lacking)


def read_batch(path: Path, requests: Iterable[Request], cache: Cache) -> Taken:
    """Keep the answers that a file of results has for some requests. Rows that are no use are named, the rest counts.

    Args:
        path: the results, JSON Lines.
        requests: what was asked, as ``write_batch`` was given it.
        cache: where the answers are kept; one that is kept already stays.

    Raises:
        UsageError: there is no such file.
        SuiteError: it cannot be read at all.
        StoreError: the cache cannot be written.
    """
    name = shown_path(path)
    require_file(path, name)
    asked = {request.key(): request for request in requests}
    lines: dict[str, int] = {}
    answers: dict[str, Answer] = {}
    problems: list[Problem] = []
    for line in read_lines(path, _LINE_BYTES):
        try:
            key, answer = _result(parse_json_line(line.data, name, line.number), asked)
        except SuiteError as error:
            problems += error.problems
            continue
        except ValueError as error:
            problems.append(Problem(name, line.number, str(error)))
            continue
        first = lines.setdefault(key, line.number)
        if first == line.number:
            answers[key] = answer
        elif answers.get(key) != answer:
            answers.pop(key, None)
            twice = f"custom_id {key} stands on line {first} too, with another answer; neither counts"
            problems.append(Problem(name, line.number, twice))
    answered = {key for key in asked if cache.find(asked[key]) is not None}
    taken = [key for key in answers if key not in answered]
    for key in taken:
        cache.keep(asked[key], answers[key])
    return Taken(len(taken), len(answered), tuple(problems))


def _result(row: Json, asked: Mapping[str, Request]) -> tuple[str, Answer]:
    """Return the key and the answer of a row.

    Raises:
        ValueError: it has none of use.
    """
    key = row.get("custom_id") if isinstance(row, dict) else None
    if not isinstance(key, str):
        raise ValueError(f"found {shown(row)}, expected an object with custom_id and response")  # noqa: TRY004  one error for all that is wrong with a row
    if key not in asked:
        raise ValueError(f"custom_id {shown(key)} is of no request of this run (was another file meant?)")
    try:
        return key, answer_of(_body(row), asked[key])
    except (ModelError, ValueError) as error:
        raise ValueError(f"custom_id {key}: {error}") from None


def _body(row: JsonObject) -> Json:
    """Return the response of a row. Raises ValueError where it has none."""
    if row.get("error"):
        raise ValueError(f"the service says: {shown(row['error'])}")
    response = row.get("response")
    if not isinstance(response, dict):
        raise ValueError(f"found response {shown(response)}, expected an object with body")  # noqa: TRY004  one error for all that is wrong with a row
    if (status := response.get("status_code", _OK)) != _OK:
        raise ValueError(f"status {shown(status)}: {shown(response.get('body'))}")
    return response.get("body")
