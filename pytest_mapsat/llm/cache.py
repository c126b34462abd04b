"""The cache of models' answers: those to our own requests, with an export and import for batch services, and those to calls that agents make by themselves. Faults are not kept."""

from __future__ import annotations

import base64
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from hashlib import sha256
from importlib.util import find_spec
from itertools import chain, islice
from json import JSONDecodeError
from pathlib import Path
from socket import getaddrinfo
from threading import Lock, current_thread, main_thread
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from zlib import crc32

from pydantic import Field

from pytest_mapsat.formats import (
    document_of,
    limits,
    parse_json,
    parse_json_line,
    read_lines,
    replacing,
    require_file,
    shown_path,
    validate,
)
from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import (
    Json,
    JsonObject,
    MapsatError,
    Noun,
    Problem,
    SuiteError,
    UsageError,
    canonical_json,
    shown,
)
from pytest_mapsat.secrets import known_secrets
from pytest_mapsat.store import Shelf, Store, StoreEntry, StoreError

from .exchange import Answer, ModelCalls, ModelError, Request, answer_of, current_calls, forget_stray_calls

#: ``auto``: use what is there and fill it; ``only``: make no calls; ``refresh``: ask anew, and keep it; ``off``: keep nothing.
Mode = Literal["auto", "only", "refresh", "off"]

#: Entries that are looked at for the nearest one.
_MOST_COMPARED = 5_000
#: Characters shown around the first that differs.
_AROUND = 30
#: One entry in an exported file, or one result of a batch, bytes.
_LINE_BYTES = 16 * limits.MIB


class Answered(StoreEntry):
    """One answer with its request, as stored and as a line of an exported file."""

    request: Request
    answer: Answer

    def key(self) -> str:
        """Return the key of the answer in the store, which is the key of its request."""
        return self.request.key()


class Taken(NamedTuple):
    """The result of reading a file of answers: the new answers, requests that already had one, and problems of lines."""

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
        """Return the kept answer to a request; None if there is no such answer.

        Raises:
            StoreError: what is kept is damaged.
        """
        entry = self.entries.find(request.key())
        return None if entry is None else entry.answer

    def keep(self, request: Request, answer: Answer, *, again: bool = False) -> Answer:
        """Keep an answer, and return the valid answer: if two processes asked at once, the answer of the first.

        Args:
            request: what was asked.
            answer: what came back.
            again: whether it takes the place of one that is there.
        """
        kept = self.entries.keep(Answered(request=request, answer=answer), again=again)
        return answer if kept else self.find(request) or answer

    def nearest(self, request: Request) -> str:
        """Return the stored entry most similar to a request and the differences in words; empty if no entry is similar."""
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
    """Return checksums of the lines of a request's messages and of its other parts, used to find the most similar request."""
    parts = [f"{name} {canonical_json(part)}" for name, part in _parts(request).items()]
    messages = (canonical_json(message).replace("\\n", "\n").split("\n") for message in request.messages)
    return frozenset(crc32(line.encode("utf-8", "replace")) for line in chain(parts, *messages))


def _parts(request: Request) -> dict[str, Json]:
    """Return all parts of a request except its messages, under the names that users know."""
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
    """Return in words the differences between two requests: all parts, and the first differing message."""
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
    """Return the place where two messages first differ, with the surrounding words of both."""
    before, now = (_words(message) for message in (old, new))
    length = min(len(before), len(now))
    place = next((at for at in range(length) if before[at] != now[at]), length)
    start = max(place - _AROUND // 2, 0)
    return f"{shown(before[start : place + _AROUND])}, now {shown(now[start : place + _AROUND])} at character {place}"


def _words(message: JsonObject) -> str:
    """Return the content of a message that consists of a role and a text; any other message as JSON text."""
    content = message.get("content")
    return content if isinstance(content, str) and len(message) == 2 else canonical_json(message)  # noqa: PLR2004  role, content


def export_entries(cache: Cache, path: Path) -> int:
    """Write all answers, then the model calls of agents, to one JSON Lines file; return the number of entries.

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
    """Add the entries of an exported file to the store; existing entries stay, and bad lines become problems.

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
    """Write the requests without a cached answer to one file, without duplicates; return the number of requests.

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
    """Store the answers to some requests from a file of batch results; unusable rows become problems.

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
            twice = f"custom_id {key} is on line {first}, too, with another answer; neither counts"
            problems.append(Problem(name, line.number, twice))
    answered = {key for key in asked if cache.find(asked[key]) is not None}
    taken = [key for key in answers if key not in answered]
    for key in taken:
        cache.keep(asked[key], answers[key])
    return Taken(len(taken), len(answered), tuple(problems))


def _result(row: Json, asked: Mapping[str, Request]) -> tuple[str, Answer]:
    """Return the request key and the answer in a row of batch results.

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
    """Return the response body in a row of batch results. Raises ValueError if it has no successful response."""
    if row.get("error"):
        raise ValueError(f"the service says: {shown(row['error'])}")
    response = row.get("response")
    if not isinstance(response, dict):
        raise ValueError(f"found response {shown(response)}, expected an object with body")  # noqa: TRY004  one error for all that is wrong with a row
    if (status := response.get("status_code", _OK)) != _OK:
        raise ValueError(f"status {shown(status)}: {shown(response.get('body'))}")
    return response.get("body")


# -- the model calls that an agent makes by itself, kept and replayed --

# The libraries of openai, anthropic, litellm and most frameworks send their requests with httpx (or its successor httpx2). While a ``Replay`` is
# installed, a request to a model is looked up in the store by its content before it is sent, and its answer is kept.

#: The libraries whose clients are listened to.
_LIBRARIES = ("httpx", "httpx2")
#: What a request to a model has, by any vendor's interface.
_CONTENT = ("messages", "input", "inputs", "prompt", "contents")
_MODEL_PATH = re.compile(
    r"/(?:chat/completions|completions|responses|messages|embeddings|converse|invoke)\b|:\w*[gG]enerateContent|:rawPredict"
)
#: Parameters of an address that hold keys, as Gemini's ``key``.
_KEY_PARAMETER = re.compile(r"key|token|secret|signature|credential", re.IGNORECASE)
#: Fields of a body in which proxies of models take keys.
_KEY_FIELDS = ("api_key", "apiKey", "api-key", "authorization")
_ALLOW = "is nothing that can be kept, and was refused; --mapsat-allow-hosts lets a host be asked"
_LEAST_ERROR = 400
_REFUSED = 424


class AskedOfModel(Noun):
    """One request to a model, without headers and keys.

    Attributes:
        url: its address.
        body: what was asked, JSON.
        case: the id of the case whose episode asked; empty where that is not known.
        trial: which of several episodes of its case asked.
        occurrence: how many times this episode had asked the same, this time included.
    """

    url: str
    body: Json
    case: str = ""
    trial: int = Field(default=1, ge=1)
    occurrence: int = Field(default=1, ge=1)

    def key(self) -> str:
        """Return the key of the request in the store: a digest of all its fields."""
        return sha256(canonical_json(self.model_dump(mode="json")).encode("utf-8", "surrogatepass")).hexdigest()

    def at_first(self) -> AskedOfModel:
        """Return the request as the first of its kind in an episode, with the occurrence 1."""
        return self.model_copy(update={"occurrence": 1})

    def model(self) -> str:
        """Return the name of the model, or the path of the address if the body has no name."""
        model = self.body.get("model") if isinstance(self.body, dict) else None
        return model if isinstance(model, str) else urlsplit(self.url).path


class ModelExchange(StoreEntry):
    """A request and its answer, as stored and as a line of an exported file.

    Attributes:
        asked: the request.
        status: the HTTP status of the answer, below 400.
        kind: its content type.
        text: its body; base64 where it is no UTF-8.
        binary: whether the body is in base64.
    """

    asked: AskedOfModel
    status: int = Field(ge=100, lt=_LEAST_ERROR)
    kind: str = ""
    text: str = ""
    binary: bool = False

    def key(self) -> str:
        """Return the key of the answer in the store, which is the key of its request."""
        return self.asked.key()

    def content(self) -> bytes:
        """Return the body of the answer as bytes."""
        return base64.b64decode(self.text) if self.binary else self.text.encode()


class Replay:
    """Answers requests to models from a store, and stores the answers of services.

    Args:
        mode: ``auto``: use what is kept, and keep what is new; ``only``: send nothing; ``refresh``: send, and keep the new answer.
        store: where answers are kept.
        allowed: hosts, as ``HOST`` or ``HOST:PORT``, that are asked in the mode ``only``, too.

    Attributes:
        strays: how many calls were made of which the episode is not known.
    """

    def __init__(self, mode: Mode, store: Store, allowed: frozenset[str] = frozenset()) -> None:
        self.strays = 0
        self._mode = mode
        self._exchanges = exchanges(store)
        self._allowed = allowed
        self._renewed: set[str] = set()
        self._is_installed = False
        self._lock = Lock()

    def install(self) -> Callable[[], None]:
        """Patch the clients of httpx to answer model calls from the store; return the function that removes the patch.

        Raises:
            UsageError: no such library is installed, so there is nothing to listen to.
        """
        modules = [importlib.import_module(name) for name in _LIBRARIES if find_spec(name)]
        if not modules:
            raise UsageError(
                "--mapsat-model-cache keeps calls that are made with httpx, as openai, anthropic and litellm do; it is not installed"
            )
        originals = [(module, module.Client.send, module.AsyncClient.send) for module in modules]
        for module, send, send_async in originals:
            module.Client.send = self._listening(module, send)
            module.AsyncClient.send = self._listening_async(module, send_async)
        self._is_installed = True
        if self._mode == "only":
            sys.addaudithook(self._refuse_connection)  # which Python never takes away again

        def end() -> None:
            """Restore the clients of httpx, and allow all connections again."""
            forget_stray_calls()
            self._is_installed = False
            for module, send, send_async in originals:
                module.Client.send, module.AsyncClient.send = send, send_async

        return end

    def _listening(self, module: Any, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a ``send`` for the client that answers model calls from the store, or stores the service's answer."""

        def send(client: Any, request: Any, **options: Any) -> Any:
            """Return the stored answer to a model call, or send the call and store the answer; send any other request normally."""
            if _goes_to_model(request) and isinstance(request.stream, module.SyncByteStream):
                request.read()  # a body sent piece by piece is looked up like any other
            call = self._call(request)
            if call is None:
                return original(client, request, **options)
            if (kept := self._kept(module, request, call)) is not None:
                return kept
            with _uncount_on_error(call):
                response = original(client, request, **options)
                response.read()
            return self._keep(module, request, call, response)

        return send

    def _listening_async(self, module: Any, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return an asynchronous ``send`` with the behaviour of ``_listening``."""

        async def send(client: Any, request: Any, **options: Any) -> Any:
            """Return the stored answer to a model call, or send the call and store the answer; send any other request normally."""
            if _goes_to_model(request) and isinstance(request.stream, module.AsyncByteStream):
                await request.aread()
            call = self._call(request)
            if call is None:
                return await original(client, request, **options)
            if (kept := self._kept(module, request, call)) is not None:
                return kept
            with _uncount_on_error(call):
                response = await original(client, request, **options)
                await response.aread()
            return self._keep(module, request, call, response)

        return send

    def _call(self, request: Any) -> tuple[ModelCalls, AskedOfModel] | None:
        """Return the calls of the agent's episode and the model request in it; None for a request to send unchanged."""
        calls, asked = current_calls(), asked_by(request)
        if calls is None:
            return None
        if asked is None:
            # What asks on the main thread without an episode is a fixture or a plugin: agents run on threads of their own.
            if self._mode != "only" or (not calls.is_known and current_thread() is main_thread()):
                return None
            asked = AskedOfModel(
                url=f"{request.url.scheme}://{request.url.netloc.decode()}{request.url.path}", body=None
            )
        asked = asked.model_copy(update={"case": calls.case, "trial": calls.trial})
        with self._lock:
            self.strays += not calls.is_known
        return calls, asked.model_copy(update={"occurrence": calls.count(asked.key())})

    def _allows(self, host: str, port: int | None) -> bool:
        """Return whether a host is allowed by its name, by name and port, or by its address."""
        return not self._allowed.isdisjoint((host, f"{host}:{port}")) or host in self._allowed_addresses

    @cached
    def _allowed_addresses(self) -> frozenset[str]:
        """Return the addresses of the hosts whose names are allowed."""
        addresses: set[str] = set()
        for name in self._allowed:
            with suppress(OSError):
                addresses.update(str(info[4][0]) for info in getaddrinfo(name.partition(":")[0], None))
        return frozenset(addresses)

    def _refuse_connection(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse an agent's connection to a disallowed host through another library. Raises PermissionError."""
        if event != "socket.connect" or not self._is_installed:
            return
        calls, address = current_calls(), arguments[1]
        if calls is None or not calls.is_known or not isinstance(address, tuple):
            return
        if not self._allows(str(address[0]), address[1]):
            calls.missed = calls.missed or f"--mapsat-cache=only: a connection to {address[0]}:{address[1]} {_ALLOW}"
            raise PermissionError(calls.missed)

    def _kept(self, module: Any, request: Any, call: tuple[ModelCalls, AskedOfModel]) -> Any:
        """Return the stored answer, or an error response if services must not be asked; None if the service must be asked."""
        calls, asked = call
        key, url = asked.key(), urlsplit(asked.url)
        try:
            if (self._mode != "refresh" or key in self._renewed) and (kept := self._exchanges.find(key)) is not None:
                return _response(module, request, kept)
        except StoreError as error:
            why = str(error)
        else:
            if self._mode != "only" or self._allows(url.hostname or "", url.port):
                return None
            why = f"--mapsat-cache=only: a request to {asked.url} {_ALLOW}"
            if asked.body is not None:
                why = (
                    f"--mapsat-cache=only: no answer to a call of {asked.model()} is kept ({key[:12]}, {url.netloc}); "
                    "fill the cache with --mapsat-cache=auto, or with: python -m pytest_mapsat cache import FILE"
                )
        calls.missed = calls.missed or why
        return _response(module, request, why)

    def _keep(self, module: Any, request: Any, call: tuple[ModelCalls, AskedOfModel], response: Any) -> Any:
        """Store a service's answer and return the valid response: the first, if equal requests were sent at once.

        An error of the service may be over at the next call: it is not kept.
        """
        calls, asked = call
        if response.status_code >= _LEAST_ERROR or asked.body is None:
            calls.count(asked.at_first().key(), -1)
            return response
        key = asked.key()
        # A secret stands in text among other bytes, too, and base64 would only dress it up.
        text, binary = known_secrets().hidden(response.content.decode("utf-8", "surrogateescape")), False
        try:
            text.encode()
        except UnicodeEncodeError:
            text, binary = base64.b64encode(text.encode("utf-8", "surrogateescape")).decode(), True
        kind = response.headers.get("content-type", "")
        exchange = ModelExchange(asked=asked, status=response.status_code, kind=kind, text=text, binary=binary)
        with self._lock:
            again = self._mode == "refresh" and key not in self._renewed
            self._renewed.add(key)
            try:
                if not self._exchanges.keep(exchange, again=again):
                    exchange = self._exchanges.find(key) or exchange
            except MapsatError as error:
                calls.missed = calls.missed or str(error)
        return _response(module, request, exchange)


@contextmanager
def _uncount_on_error(call: tuple[ModelCalls, AskedOfModel]) -> Iterator[None]:
    """Undo the count of a request if sending raises an error, so that the next try counts as the same request."""
    calls, asked = call
    try:
        yield
    except BaseException:
        calls.count(asked.at_first().key(), -1)
        raise


def _may_ask(request: Any) -> bool:
    """Return whether the headers of a request allow it to be an agent's model call: it is not our own, and posts JSON."""
    return (
        request.method == "POST" and "json" in request.headers.get("content-type", "") and current_calls() is not None
    )


def _goes_to_model(request: Any) -> bool:
    """Return whether the address of a possible model request belongs to a model's interface."""
    return _may_ask(request) and _MODEL_PATH.search(request.url.path) is not None


def asked_by(request: Any) -> AskedOfModel | None:
    """Return the model request in an httpx request, without keys; None if it is not a model request.

    Args:
        request: ``httpx.Request``; one whose body was not read is none.
    """
    if not _may_ask(request):
        return None
    try:
        body = parse_json(known_secrets().hidden(request.content.decode()))
    except (JSONDecodeError, ValueError, RuntimeError):  # RuntimeError: httpx has not read it
        return None
    if not isinstance(body, dict) or not any(name in body for name in _CONTENT):
        return None
    url = urlsplit(str(request.url))
    if "model" not in body and not _MODEL_PATH.search(url.path):
        return None
    query = [
        (name, value) for name, value in parse_qsl(url.query, keep_blank_values=True) if not _KEY_PARAMETER.search(name)
    ]
    address = urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path, urlencode(query), ""))
    kept = {name: value for name, value in body.items() if name not in _KEY_FIELDS}
    return AskedOfModel(url=known_secrets().hidden(address), body=kept)


def _response(module: Any, request: Any, kept: ModelExchange | str) -> Any:
    """Return the httpx response for a stored answer, or for an error that the agent's library does not retry."""
    if isinstance(kept, ModelExchange):
        response = module.Response(
            kept.status, headers={"content-type": kept.kind}, content=kept.content(), request=request
        )
    else:
        headers = {"x-should-retry": "false"}  # of the libraries of openai and anthropic
        refusal: JsonObject = {"error": {"type": "not_in_the_cache", "message": kept}}
        response = module.Response(_REFUSED, headers=headers, json=refusal, request=request)
    response.elapsed = timedelta(0)
    return response


def exchanges(store: Store) -> Shelf[ModelExchange]:
    """Return the part of a store that holds the model calls of agents."""
    return Shelf(store, "exchange/", ModelExchange)
