"""Agents that are services behind HTTP: each message is a POST, each reply is read in pieces, within what is left of the episode.

What breaks on the way is never the agent's failure: a connection, a status that is no success, an answer that cannot be read. What the
agent says of itself in the field that its form has for errors is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from http.client import IncompleteRead
from secrets import token_hex
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, Timeout, connection_from_url, exceptions

from pytest_mapsat.formats import is_obvious, limits, parse_json, redacted
from pytest_mapsat.model import MOST_BUILD, Json, JsonObject, ReportedCall, UsageError, did_you_mean, shown, values_at
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox, ToolsClosed

from .own_calls import ProxiedCalls, SpansOfReplies, Upstream, receiver_at
from .returned import AgentFault, checked, scrubbed
from .service_file import ServiceFile, filled, read_service_file, wants_tools
from .source import FORM_NAMES, Conversation, FormName, SourceElsewhere, SourceSpec, seconds_left
from .tool_server import serve_tools
from .wire_forms import FORMS, FormExchange, ServiceAnswer, ServiceFault, reported_error_fault

#: Bytes of one answer, unpacked: some times what a reply and its output may hold; and what is read of a refusal.
MOST_BYTES = 16 * limits.MIB
_REFUSAL_BYTES = 64 * 1024
_PIECE = 64 * 1024
_EXCERPT = 300
#: So many are noted: two are no known build.
_MOST_BUILDS = 10
#: Connections that are kept: as many as --mapsat-concurrency may say.
_MOST_AT_ONCE = 1_000
#: Seconds a connection may take, of those that are left, so that a dead address is told from a slow agent.
_CONNECT = 10.0
_SHARE = 0.8
_DAY = 86_400.0
#: Pauses before a request is sent again that did nothing, seconds.
_PAUSES = (0.2, 1.0)
#: Statuses that call an answer complete: OK, and those of services that made something or stand behind a proxy.
_SUCCESS = (200, 201, 203)
_REDIRECTS, _CLIENT_ERRORS = range(300, 400), range(400, 500)
_LATER = (429, 503)
_ADVICE = {
    202: "it has not answered yet: let it answer when it is done",
    204: "expected 200 with the whole answer",
    206: "this is a part of its answer: let it send the whole",
    401: 'give its key in a service file: headers: {Authorization: "Bearer ${MY_TOKEN}"}',
    403: "does its key allow this?",
    404: "is the path of the address right, and the form?",
    405: "it takes no POST there: is the path of the address right?",
    429: "run fewer episodes at once: --mapsat-concurrency=N",
}
_ADVICE_4XX = "does it want another form, or other fields? mapsat_http names the form or the service file"
_ADVICE_5XX = "its own log says more; run again what was lost with --mapsat-resume"
_TITLE = re.compile(r"<title[^>]*>([^<]{0,200})", re.IGNORECASE)


# -- what the user wrote -------------------------------------------------------------------------------------------------


def open_source(spec: SourceSpec) -> HttpSource:
    """Return the source for ``http://HOST/PATH``, ``FORM:http://HOST/PATH`` or ``http:FILE.yaml``.

    Raises:
        UsageError: the address or the form cannot be used, or a variable of the environment is missing.
        SuiteError: the service file is broken; its problems say where.
    """
    agent, url, form = f"agent {spec.text!r}", spec.text, spec.http
    names = re.findall(r"[?&]([^=&#]+)=", spec.text)
    secret = next((name for name in names if is_obvious(name) or name == "key"), "")
    if secret:
        raise UsageError(
            f"agent: an address with {secret}=... would appear in reports: take it as url: into a service file"
        )
    if spec.scheme in FORM_NAMES:
        url, form = spec.rest, spec.scheme
    elif not spec.rest.startswith("//"):
        url, form = "", spec.rest
    files: tuple[str, ...] = ()
    if form.endswith((".yaml", ".yml")):
        files, file = (str(spec.root / form),), read_service_file(spec, form)
    elif form and form not in FORM_NAMES:
        hint = f"did you mean 'http://{form.strip('/')}'?" if form.startswith("/") else did_you_mean(form, FORM_NAMES)
        expected = f"expected {', '.join(FORM_NAMES)} or the path of a service file that ends in .yaml"
        raise UsageError(f"{agent}: found the form {form!r}, {expected}" + (f" ({hint})" if hint else ""))
    else:
        file = ServiceFile.model_validate({"form": form or "json"})
    url = url or str(filled(file.url, {}))
    address = _address(url, agent, FORMS[file.form].path)
    upstream = None
    if file.mcp is not None:
        where, own = f"{agent}: mcp.upstream", str(filled(file.mcp.upstream, {}))
        headers = {key: str(filled(value, {})) for key, value in file.mcp.headers.items()}
        upstream = Upstream(_pool(own, where), _target(_address(own, where, "")), headers)
    return HttpSource(spec.text, address, _target(address), file, files, _pool(url, agent), upstream=upstream)


def _target(address: str) -> str:
    """Return path and query of an address."""
    return urlunsplit(("", "", *urlsplit(address)[2:]))


def _address(url: str, place: str, path: str) -> str:
    """Return the user's address with the path of the form appended. Raises UsageError for an invalid address."""
    example = "expected an address such as http://127.0.0.1:8000/chat"
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and url.isascii()
    except ValueError:
        sound = False
    if not sound or not url.isprintable() or " " in url:
        raise UsageError(f"{place}: found {shown(url)}, {example}")
    if "@" in parts.netloc:
        raise UsageError(f"{place}: an address with a password would appear in reports; {_ADVICE[401]}")
    whole = parts.path if parts.path.endswith(path) else parts.path.rstrip("/") + path
    return urlunsplit((parts.scheme, parts.netloc, whole or "/", parts.query, ""))


def _pool(url: str, place: str) -> HTTPConnectionPool:
    """Return a connection pool for an address. Raises UsageError for an invalid address."""
    try:
        return connection_from_url(url, maxsize=_MOST_AT_ONCE)
    except (exceptions.HTTPError, ValueError) as error:
        raise UsageError(f"{place}: found {shown(url)}: {error}") from None


# -- an episode ----------------------------------------------------------------------------------------------------------


class _WatchedToolbox:
    """A toolbox that notes whether a tool was called since the last message."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.used = False
        self._toolbox = toolbox
        self.schemas = toolbox.schemas

    def call(self, name: str, arguments: JsonObject | None = None) -> Json:
        """Call a tool, and note that one was called."""
        self.used = True
        return self._toolbox.call(name, arguments)


class HttpConversation(Conversation):
    """One episode with a service."""

    _source: HttpSource

    def __init__(self, source: HttpSource, toolbox: Toolbox, *handed: Any) -> None:
        super().__init__(source, toolbox, *handed)
        self._held = ExitStack()
        self._response: BaseHTTPResponse | None = None
        self._tools = _WatchedToolbox(toolbox)
        # A service may keep what it heard in an earlier run under the same id, so each episode has a new one.
        identity = f"{self._session.id}-{token_hex(4)}"
        values: dict[str, Json] = {"session": identity}
        file, watched = source.file, cast("Toolbox", self._tools)
        self._proxied = None if source.upstream is None else ProxiedCalls(source.upstream, watched)
        self._spans = None if file.spans is None else SpansOfReplies(receiver_at(file.spans.port), file.spans.wait)
        self.reports = bool(file.tells_calls)
        self.reports_all = file.response.calls.all if file.response.calls else ""
        #: How many lists of calls came with the reply that is under way: one list tells all of them, several may repeat some.
        self._lists = 0
        if wants_tools(file):
            forward = None if self._proxied is None else self._proxied.forward
            endpoint = self._held.enter_context(serve_tools(watched, forward=forward))
            values |= {"mcp_url": endpoint.url, "mcp_token": endpoint.token}
        self._headers = {
            "Accept": "application/json, text/plain;q=0.9, */*;q=0.1",
            "Content-Type": "application/json",
            "User-Agent": "pytest-mapsat",
            "X-Mapsat-Session": identity,
            **{name: str(filled(value, values)).strip() for name, value in file.headers.items()},
        }
        self._exchange = FormExchange(self._post, self._pause, watched, self._session, self._context, values, file)
        self._form = FORMS[file.form](self._exchange)

    def reply(self, message: str) -> Reply:
        """Send the message and return the answer; see ``Conversation.reply``."""
        self._tools.used, self._lists = False, 0
        if self._spans is not None:
            self._headers["traceparent"] = self._spans.begin()
        if self._proxied is not None:
            self._proxied.under_way = True
        try:
            return checked(self._form.reply(message))
        except ServiceFault as fault:
            place = urlsplit(self._source.url)
            address = f"{place.scheme}://{place.netloc}{place.path}"
            words = redacted(f"the service {address}: {fault.message}{self._advice(fault.speaks, address)}")
            raise AgentFault(scrubbed(words, 2 * _EXCERPT), blame=fault.blame) from None
        except ToolsClosed as error:
            raise AgentFault(f"the agent went on after its reply was over, or did too much in it: {error}") from None
        finally:
            self._drop()
            self.reports_all = self.reports_all if self._lists == 1 else ""
            if self._proxied is not None:
                self._proxied.under_way = False

    def reported(self) -> Sequence[Sequence[ReportedCall]]:
        """Return the reports of the service's own tool calls since the last request for them; see ``Conversation.reported``."""
        reports, self._exchange.own_calls = self._exchange.own_calls, []
        if self._proxied is not None:
            reports.append(self._proxied.taken())
        if self._spans is not None:
            reports.append(self._spans.calls(self._cancelled.is_set))
        return reports

    def _advice(self, speaks: FormName, address: str) -> str:
        """Return a hint to use another form if the answer seems to be in that form; empty if it does not."""
        protocol = _PROTOCOLS.get(speaks)
        if protocol is None:
            return ""
        behind = FORMS[speaks].path
        goes = "" if address.endswith(behind) else f", where requests go to {behind} behind that address"
        name = f"form: {speaks} in the service file" if self._source.files else f"--mapsat-agent={speaks}:{address}"
        return f"; this looks like {protocol}: {name}{goes}"

    def close(self) -> None:
        """Stop serving the tools of the episode to the service."""
        self._held.close()

    # -- one request -----------------------------------------------------------------------

    def _post(self, body: Json, headers: Mapping[str, str]) -> ServiceAnswer:
        """POST a JSON body and return the answer; retry if the connection failed or the service asks for a retry. Raises ServiceFault."""
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        self._drop()
        for pause in (*_PAUSES, None):
            response = self._sent(data, {**self._headers, **headers}, last=pause is None)
            if response is None:
                self._pause(pause or 0)
                continue
            self._response = response
            wait = None if pause is None else self._wait_asked(response)
            if wait is None:
                return self._read(response)
            self._drop()
            self._pause(wait)
        raise AssertionError("unreachable")

    def _sent(self, data: bytes, headers: Mapping[str, str], *, last: bool) -> BaseHTTPResponse | None:
        """Send one POST and return the response with its body unread; None if the connection failed, except on the last try."""
        left = min(max(seconds_left(self._session), 0), _DAY)
        time_out = Timeout(connect=max(min(_CONNECT, left * _SHARE), 0.01), read=left + 1)
        send = partial(self._source.pool.urlopen, "POST", self._source.target, data, headers)
        try:
            # No redirect: a message goes to the address that the user wrote. No proxy either, whatever the environment says.
            return send(retries=False, redirect=False, timeout=time_out, preload_content=False)
        except exceptions.NameResolutionError:
            raise ServiceFault("there is no host of this name: is the address right?") from None
        except exceptions.NewConnectionError as error:
            if last:
                why = str(error).rpartition("] ")[2]
                raise ServiceFault(f"no connection ({why}), after {len(_PAUSES) + 1} tries: is it running?") from None
            return None
        except exceptions.ConnectTimeoutError:
            raise ServiceFault(f"no connection within {time_out.connect_timeout:.1f} s: is it running?") from None
        except exceptions.SSLError as error:
            raise ServiceFault(f"its certificate is not accepted: {error}") from None
        except exceptions.ReadTimeoutError:
            raise ServiceFault("it did not answer before the time was over", "agent") from None
        except (exceptions.HTTPError, ValueError, OSError) as error:
            raise _broken(error, "before an answer came") from None

    def _wait_asked(self, response: BaseHTTPResponse) -> float | None:
        """Return the seconds that a busy service asks to wait before a retry; None if there must be no retry."""
        after = response.headers.get("Retry-After", "")
        asked = response.status in _LATER and re.fullmatch(r"[0-9]{1,5}", after)
        if not asked or self._tools.used or int(after) >= seconds_left(self._session):
            return None
        return float(after)

    def _pause(self, seconds: float) -> None:
        """Wait for some seconds. Raises ServiceFault if the episode is cancelled meanwhile."""
        if self._cancelled.wait(seconds):
            raise ServiceFault("it did not answer before the time was over", "agent")

    def _drop(self) -> None:
        """Close the last response; its connection is kept if it was read to its end."""
        response, self._response = self._response, None
        if response is not None:
            response.close()

    # -- one answer ------------------------------------------------------------------------

    def _read(self, response: BaseHTTPResponse) -> ServiceAnswer:
        """Return the content of a response: JSON, text or a stream of events. Raises ServiceFault if it cannot be used."""
        if response.status not in _SUCCESS:
            raise self._refusal(response)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        pieces = self._pieces(response, MOST_BYTES)
        if kind == "text/event-stream":
            self._lists += 2  # its events may repeat calls, and not all are read
            return ServiceAnswer(None, self._with_calls_and_builds_noted(response, _events(pieces)))
        text = _decoded(b"".join(pieces))
        if not text.strip():
            raise ServiceFault(f"it answered with nothing (status {response.status})")
        start = text.lstrip()[:9].lower()
        if start.startswith(("<!doctype", "<html")) or (kind == "text/html" and start.startswith("<")):
            raise ServiceFault(f"it answered with a page of HTML{_title(text)}: is the path of the address right?")
        # Some frameworks send a plain text as HTML, and some services JSON as a plain text.
        data: Json = text
        if not (kind.startswith("text/") and self._source.file.form == "json" and not start.startswith("{")):
            try:
                data = parse_json(text)
            except ValueError as error:
                raise ServiceFault(f"its answer is not JSON: {error}: {shown(text)}") from None
        (data,) = self._with_calls_and_builds_noted(response, [data])
        return ServiceAnswer(data)

    def _with_calls_and_builds_noted(self, response: BaseHTTPResponse, parts: Iterable[Any]) -> Iterator[Any]:
        """Yield the parts of an answer, and record the calls and the build at the places that the service file names."""
        place = self._source.file.build
        names = {response.headers[place.header]} if place.header in response.headers else set()
        paths = self._source.file.response.calls
        try:
            for part in parts:
                try:
                    if paths is not None:
                        self._exchange.own_calls.append(list(paths.calls_in(part)))
                        listed = values_at(part, paths.at) if paths.at else ()
                        self._lists += any(isinstance(each, list) for each in listed)
                except ValueError as error:
                    raise ServiceFault(str(error)) from None
                values = values_at(part, place.path)[:1] if place.path else []
                names |= {str(name) for name in values if isinstance(name, str | int | float)}
                yield part
        finally:
            if (place.header or place.path) and len(self.builds) < _MOST_BUILDS:
                self.builds |= {scrubbed(redacted(name.strip()), MOST_BUILD) for name in names or {""}}

    def _pieces(self, response: BaseHTTPResponse, most: int) -> Iterator[bytes]:
        """Yield the decompressed body as it arrives. Raises ServiceFault if it breaks off or exceeds ``most`` bytes."""
        size = 0
        while True:
            if self._cancelled.is_set():
                raise ServiceFault("its answer was not over before the time was", "agent")
            try:
                piece = response.read1(_PIECE)
            except exceptions.ReadTimeoutError:
                raise ServiceFault("its answer was not over before the time was", "agent") from None
            except exceptions.DecodeError:
                packed = response.headers.get("Content-Encoding", "")
                raise ServiceFault(f"its answer cannot be unpacked: it is not {shown(packed)}") from None
            except (exceptions.HTTPError, ValueError, OSError) as error:
                raise _broken(error, "within the answer") from None
            if not piece:
                return
            size += len(piece)
            if size > most:
                raise ServiceFault(f"its answer has more than {most:,} bytes, unpacked; the rest was not read")
            yield piece

    def _refusal(self, response: BaseHTTPResponse) -> ServiceFault:
        """Return the fault for an error status, with an excerpt of the body and advice; the agent is never to blame for it."""
        status = f"{response.status} {response.reason or ''}".strip()
        if response.status in _REDIRECTS:
            target = response.headers.get("Location", "")
            return ServiceFault(f"it redirects to {shown(target)} ({status}), which is not followed: use that address")
        body = b""
        try:
            for piece in self._pieces(response, _REFUSAL_BYTES):
                body += piece
        except ServiceFault:
            pass  # what has come so far tells enough
        client = response.status in _CLIENT_ERRORS
        advice = _ADVICE.get(response.status) or (_ADVICE_4XX if client else _ADVICE_5XX)
        path = urlsplit(self._source.url).path
        asked_in_json = client and self._source.file.form == "json"
        meant = (form for form in _PROTOCOLS if FORMS[form].path and path.endswith(FORMS[form].path))
        speaks: FormName = next(meant, "json") if asked_in_json else "json"
        return ServiceFault(f"it answered {status}{_excerpt(body)}; {advice}", speaks=speaks)


@dataclass(frozen=True, eq=False)
class HttpSource(SourceElsewhere):
    """A service, and the form of its requests and answers.

    Attributes:
        spec: as the user wrote it.
        url: where requests go.
        target: path and query of it.
        file: what the service file says; its defaults where there is none.
        files: the service file, where there is one.
        pool: connections that are kept open between requests.
        upstream: the MCP server with the service's own tools, where the file names one.
    """

    conversation = HttpConversation
    spec: str
    url: str
    target: str
    file: ServiceFile
    files: tuple[str, ...]
    pool: HTTPConnectionPool
    name: str = "agent"
    shared: bool = True
    upstream: Upstream | None = None


#: What users call the forms that an answer may show.
_PROTOCOLS: Mapping[FormName, str] = {
    "openai-chat": "the OpenAI chat protocol",
    "openai-responses": "the OpenAI responses protocol",
    "a2a": "the Agent2Agent protocol",
    "ag-ui": "the AG-UI protocol",
}


def _broken(error: Exception, when: str) -> ServiceFault:
    """Return the fault for a connection that was closed or broke, with the reason; ``when`` says at which point."""
    # urllib3 has the reason, an exception of http.client or of the system, as its last argument.
    reason = error.args[-1] if error.args and isinstance(error.args[-1], Exception) else error
    if isinstance(reason, ConnectionError | IncompleteRead):
        return ServiceFault(f"the connection was closed {when}; the service's log may say why")
    return ServiceFault(f"the connection broke {when}: {type(reason).__name__}: {reason}"[:_EXCERPT])


def _title(text: str) -> str:
    """Return the title of an HTML page in parentheses; empty if it has none."""
    title = _TITLE.search(text)
    return f" ({shown(title[1].strip())})" if title else ""


def _excerpt(body: bytes) -> str:
    """Return a short excerpt of an error response, preferably its error message; empty if the body is empty."""
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<"):
        return f" with a page of HTML{_title(text)}"
    try:
        data = parse_json(text)
    except ValueError:
        data = text
    places = ("error", "detail", "message")
    while isinstance(data, Mapping) and (key := next((place for place in places if place in data), "")):
        data = data[key]
    words = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f": {redacted(words)[:_EXCERPT]}" if words else ""


def _decoded(raw: bytes) -> str:
    """Return bytes as UTF-8 text. Raises ServiceFault at a byte that is invalid."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ServiceFault(f"its answer is not UTF-8: byte {raw[error.start]:#04x} at {error.start:,}") from None


def _events(pieces: Iterator[bytes]) -> Iterator[JsonObject]:
    """Yield the JSON events of a stream up to ``[DONE]``. Raises ServiceFault for invalid JSON or an event named ``error``."""
    for name, text in _blocks(pieces):
        if text == "[DONE]":
            return
        try:
            data = parse_json(text)
        except ValueError as error:
            if name == "error":
                raise reported_error_fault(text) from None
            raise ServiceFault(f"an event of its stream is not JSON: {error}: {shown(text)}") from None
        if name == "error":
            raise reported_error_fault((data.get("error") if isinstance(data, Mapping) else None) or data)
        if not isinstance(data, dict):
            raise ServiceFault(f"an event of its stream is not a JSON object: {shown(text)}")
        yield data


def _blocks(pieces: Iterator[bytes]) -> Iterator[tuple[str, str]]:
    """Yield the name (may be empty) and the data of each server-sent event. Raises ServiceFault if the last is cut off."""
    name, lines = "", []
    for line in _lines(pieces):
        field, _, value = line.partition(":")
        if field == "data":
            lines.append(value.removeprefix(" "))
        elif field == "event":
            name = value.strip()
        elif not line:
            if lines or name == "error":
                yield name, "\n".join(lines)
            name, lines = "", []
    if lines:
        raise ServiceFault("its stream ended within an event")


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    """Yield the lines of a byte stream as text, without their ends (CR, LF or CRLF)."""
    rest = bytearray()
    for piece in pieces:
        rest += piece
        if b"\n" in piece or b"\r" in piece:
            # The end of a line may be cut in two: "\r" at the very end waits for what comes.
            whole, last = rest[:-1] if rest.endswith(b"\r") else rest, rest.endswith(b"\r")
            *lines, tail = re.split(rb"\r\n|\n|\r", bytes(whole))
            yield from map(_decoded, lines)
            rest = bytearray(tail + (b"\r" if last else b""))
    yield from map(_decoded, re.split(rb"\r\n|\n|\r", bytes(rest)) if rest else ())
