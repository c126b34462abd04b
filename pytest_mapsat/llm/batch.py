"""Requests in the JSON Lines of the common batch interfaces, and their results into the cache: half the price, and any model by any means.

A request is ``{"custom_id", "method", "url", "body"}``, a result ``{"custom_id", "response": {"body": {"choices": [...], "usage"}}}``;
``custom_id`` is the key of the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_mapsat.formats import limits, parse_json_line, read_lines, replacing, require_file, shown_path
from pytest_mapsat.model import Json, JsonObject, Problem, SuiteError, canonical_json, shown

from .cache import Cache
from .errors import ModelError
from .reading import answer_of
from .request import Answer, Request

_METHOD, _URL = "POST", "/v1/chat/completions"
#: The prefix by which litellm knows the service whose interface this is; the service itself does not.
_OWN_PREFIX = "openai/"
#: One result, bytes.
_LINE_BYTES = 16 * limits.MIB
_OK = 200


class Written(NamedTuple):
    """Requests that were written, and those that the cache answers already."""

    requests: int
    cached: int


class Taken(NamedTuple):
    """What became of a file of results.

    Attributes:
        taken: answers that were kept.
        known: requests that the cache had an answer to.
        missing: keys of requests that still have none.
        problems: what is wrong with rows, each in its line.
    """

    taken: int
    known: int
    missing: tuple[str, ...]
    problems: tuple[Problem, ...]


def write_batch(path: Path, requests: Iterable[Request], cache: Cache) -> Written:
    """Write the requests that the cache has no answer to, each once, in their order. The file is put in place whole.

    Raises:
        OSError: it cannot be written.
        StoreError: the cache cannot be read.
    """
    seen: set[str] = set()
    cached = 0
    with replacing(path) as file:
        for request in requests:
            key = request.key()
            if key in seen:
                continue
            seen.add(key)
            if cache.find(request) is not None:
                cached += 1
                continue
            body = request.body() | {"model": request.model.removeprefix(_OWN_PREFIX)}
            row = {"custom_id": key, "method": _METHOD, "url": _URL, "body": body}
            file.write(canonical_json(row).encode("utf-8", "replace") + b"\n")
    return Written(len(seen) - cached, cached)


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
    rows = _Rows(asked, name)
    for line in read_lines(path, _LINE_BYTES):
        try:
            rows.take(parse_json_line(line.data, name, line.number), line.number)
        except SuiteError as error:
            rows.problems += error.problems
    taken = known = 0
    missing = []
    for key, request in asked.items():
        if cache.find(request) is not None:
            known += 1
        elif key in rows.answers:
            cache.keep(request, rows.answers[key])
            taken += 1
        else:
            missing.append(key)
    return Taken(taken, known, tuple(missing), tuple(rows.problems))


class _Rows:
    """The results of a file, as far as they have been read."""

    def __init__(self, asked: Mapping[str, Request], name: str) -> None:
        self._asked = asked
        self._name = name
        self._lines: dict[str, int] = {}
        self.answers: dict[str, Answer] = {}
        self.problems: list[Problem] = []

    def take(self, row: Json, line: int) -> None:
        key = row.get("custom_id") if isinstance(row, dict) else None
        if not isinstance(key, str):
            self._tell(line, f"found {shown(row)}, expected an object with custom_id and response")
            return
        request = self._asked.get(key)
        if request is None:
            self._tell(line, f"custom_id {shown(key)} is of no request of this run", "was another file meant?")
            return
        try:
            answer = answer_of(_body(row), request)
        except (ModelError, ValueError) as error:
            self._tell(line, f"custom_id {key}: {error}")
            return
        first = self._lines.setdefault(key, line)
        if first == line:
            self.answers[key] = answer
        elif self.answers.get(key) != answer:
            self.answers.pop(key, None)
            self._tell(line, f"custom_id {key} stands on line {first} too, with another answer; neither counts")

    def _tell(self, line: int, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self._name, line, message, hint))


def _body(row: JsonObject) -> Json:
    """Return the response of a row.

    Raises:
        ValueError: it has none.
    """
    if row.get("error"):
        raise ValueError(f"the service says: {shown(row['error'])}")
    response = row.get("response")
    if not isinstance(response, dict):
        raise ValueError(f"found response {shown(response)}, expected an object with body")  # noqa: TRY004  one error for all that is wrong with a row
    status = response.get("status_code", _OK)
    if status != _OK:
        raise ValueError(f"status {shown(status)}: {shown(response.get('body'))}")
    return response.get("body")
