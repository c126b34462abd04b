"""What a service does with tools of its own, as far as it can be seen from outside: its spans, and what goes through a proxy before its MCP server.

One small server on the loopback interface does both, on threads of its own. Of spans those are kept that bear the trace of a request of
ours (each reply has a trace, which only the service learns); others are counted. A process that finds the port taken by another process of a run asks
that one. The proxy passes on what the service says to the MCP server that the service file names, and nothing to anywhere else, and keeps the calls and their results.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_hex
from threading import Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

from pytest_mapsat.formats import Span, SpanCall, calls_in_spans, limits, parse_json, spans_in
from pytest_mapsat.model import InfrastructureError, Json, JsonObject, ReportedCall, SuiteError
from pytest_mapsat.sandbox import Toolbox, ToolsClosed

from .wire_forms import ServiceFault, blocks_of

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, HTTPConnectionPool

#: Bytes of a message, unpacked; spans of a trace; traces that are remembered, ours and others'.
_MOST_BYTES, _MOST_SPANS, _MOST_TRACES = 16 * limits.MIB, 10_000, 1_000
#: Seconds between two looks at what has come, without a new span after which a trace whose outermost span has ended is taken for whole, and that a connection may be silent.
_GLANCE, _QUIET, _SILENT = 0.02, 0.1, 60.0
_PIECE = 64 * 1024
_TOO_LARGE = f"a message has more than {_MOST_BYTES:,} bytes"
_INSTALL = "pip install 'pytest-mapsat[spans]'"
_OURS = "/mapsat/traces/"
#: So many episodes of a proxy are heard, and headers that belong to one connection.
_MOST_EPISODES = 10_000
_OWN_HEADERS = frozenset(
    {
        "host",
        "connection",
        "keep-alive",
        "content-length",
        "content-encoding",
        "transfer-encoding",
        "accept-encoding",
        "date",
        "server",
        "traceparent",
    }
)
_REDIRECTS = range(300, 400)


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection: HTTP alone is known here."""

    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = _SILENT

    def do_POST(self) -> None:  # the name that http.server asks for
        self._answer(self.server.post)

    def do_GET(self) -> None:  # likewise
        self._answer(self.server.get)

    def do_DELETE(self) -> None:  # likewise
        self._answer(self.server.post)

    def _answer(self, by: Callable[[_Handler, bytes], None]) -> None:
        try:
            by(self, self._body())
        except ValueError as error:
            self.close_connection = True
            self.reply(400, {"error": str(error)})

    def _body(self) -> bytes:
        """Return the body, unpacked. Raises ValueError where it is too large, or none."""
        chunked = "chunked" in self.headers.get("Transfer-Encoding", "").lower()
        body = b"".join(self._chunks()) if chunked else self._read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding", "").lower() == "gzip":
            try:
                unpacking = zlib.decompressobj(wbits=31)
                body = unpacking.decompress(body, _MOST_BYTES)
            except zlib.error:
                raise ValueError("a message is not gzip, as it says") from None
            if not unpacking.eof:
                raise ValueError(_TOO_LARGE)
        return body

    def _chunks(self) -> Iterator[bytes]:
        size = left = _MOST_BYTES
        while size := int(self.rfile.readline(_PIECE).split(b";")[0], 16):
            left -= size
            yield self._read(size if left > 0 else -1)
            self.rfile.readline(_PIECE)
        while self.rfile.readline(_PIECE).strip():
            pass

    def _read(self, size: int) -> bytes:
        if not 0 <= size <= _MOST_BYTES:
            raise ValueError(_TOO_LARGE)
        return self.rfile.read(size)

    def reply(self, status: int, data: Json, headers: Mapping[str, str] | None = None) -> None:
        """Send a status and JSON."""
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            **(headers or {}),
            "Content-Length": str(len(body)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Say nothing of those who go away."""

    def __init__(
        self, port: int, post: Callable[[_Handler, bytes], None], get: Callable[[_Handler, bytes], None]
    ) -> None:
        self.post, self.get = post, get
        self.allow_reuse_address = port != 0
        super().__init__(("127.0.0.1", port), _Handler)
        Thread(target=self.serve_forever, name="mapsat-loopback", daemon=True).start()


# -- spans ---------------------------------------------------------------------------------------------------------------


class Receiver:
    """Receives the spans that services export to a port of the loopback interface (OTLP over HTTP).

    Attributes:
        foreign: the traces that are none of a reply's; the first thousand.
        refused: why spans could not be read; empty where all could.
    """

    def __init__(self, port: int) -> None:
        self.foreign: set[str] = set()
        self.refused = ""
        self._port = port
        self._lock = Lock()
        self._traces: dict[str, dict[str, Span]] = {}
        self._server: _Server | None = None

    def spans(self, trace: str) -> list[Span]:
        """Return what has come of a trace, and keep what comes from now on. Raises InfrastructureError where the port belongs to another program."""
        if self._server is None and (told := self._of_other(trace)) is not None:
            return told
        with self._lock:
            spans = list(self._traces.setdefault(trace, {}).values())
            if len(self._traces) > _MOST_TRACES:
                del self._traces[next(iter(self._traces))]
        return spans

    def _of_other(self, trace: str) -> list[Span] | None:
        """Return what the process has that holds the port; None where this one holds it now."""
        import urllib3  # noqa: PLC0415 (only where a service is asked)

        try:
            self._server = _Server(self._port, self._take, self._tell)
        except OSError as error:
            try:
                url = f"http://127.0.0.1:{self._port}{_OURS}{trace}"
                answer = urllib3.request("GET", url, retries=False, timeout=_SILENT).json()
                self.refused = answer["refused"]
                return [Span(**{**span, "events": tuple(map(tuple, span["events"]))}) for span in answer["spans"]]
            except (urllib3.exceptions.HTTPError, ValueError, KeyError, TypeError):
                why = f"port {self._port} of the loopback interface cannot be listened on ({error.strerror})"
                raise InfrastructureError(f"spans: {why}: name another one, as in spans: {{port: 4319}}") from None
        return None

    def _tell(self, handler: _Handler, _: bytes) -> None:
        """Answer another process of the run."""
        trace = handler.path.removeprefix(_OURS)
        if trace == handler.path:
            handler.reply(404, {"error": "spans are taken at /v1/traces, by POST"})
        else:
            handler.reply(200, {"refused": self.refused, "spans": [asdict(span) for span in self.spans(trace)]})

    def _take(self, handler: _Handler, body: bytes) -> None:
        """Take what is exported; metrics and logs are let go. Raises ValueError."""
        kind = handler.headers.get("Content-Type", "").partition(";")[0].strip()
        if handler.path == "/v1/traces":
            try:
                spans = _spans_of(body, protobuf=kind == "application/x-protobuf")
            except (ValueError, SuiteError) as error:
                self.refused = str(error)
                raise ValueError(self.refused) from None
            with self._lock:
                for span in spans:
                    kept = self._traces.get(span.trace.lower())
                    if kept is not None and len(kept) < _MOST_SPANS:
                        kept[span.id] = span
                    elif kept is None and len(self.foreign) < _MOST_TRACES:
                        self.foreign.add(span.trace)
        handler.reply(
            200, b"" if kind == "application/x-protobuf" else {}, {"Content-Type": kind or "application/json"}
        )


def _spans_of(body: bytes, *, protobuf: bool) -> list[Span]:
    """Return the spans of a request. Raises ValueError, SuiteError."""
    if not protobuf:
        return spans_in(parse_json(body.decode(), depth=limits.RUN_DEPTH))
    try:
        from google.protobuf.json_format import MessageToDict  # noqa: PLC0415 (of an extra)
        from google.protobuf.message import DecodeError  # noqa: PLC0415
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415
            ExportTraceServiceRequest,
        )
    except ImportError:
        raise ValueError(f"they come as protobuf, which is read with {_INSTALL}") from None
    try:
        document = MessageToDict(ExportTraceServiceRequest.FromString(body))
    except DecodeError as error:
        raise ValueError(f"they are no protobuf of OTLP: {error}") from None
    batches = document.get("resourceSpans", [])
    for span in (span for batch in batches for scope in batch.get("scopeSpans", ()) for span in scope.get("spans", ())):
        span |= {key: b64decode(span[key]).hex() for key in ("traceId", "spanId", "parentSpanId") if key in span}
    return spans_in({"resourceSpans": batches})


class SpansOfReplies:
    """The spans of the replies of one episode.

    Args:
        receiver: where they come in.
        wait: how long they may take once an answer has come, seconds.

    Attributes:
        notes: what is odd about them.
    """

    def __init__(self, receiver: Receiver, wait: float) -> None:
        self.notes: tuple[str, ...] = ()
        self._receiver = receiver
        self._wait = wait
        self._replies: list[tuple[str, str]] = []
        self._told: set[str] = set()
        self._waited = False

    def begin(self) -> str:
        """Return the header ``traceparent`` of the requests of a new reply. Raises InfrastructureError."""
        trace, span = token_hex(16), token_hex(8)
        self._receiver.spans(trace)
        self._replies.append((trace, span))
        self._waited = False
        return f"00-{trace}-{span}-01"

    def calls(self, is_over: Callable[[], bool]) -> list[ReportedCall]:
        """Return the calls that spans tell: those of the last reply, for which it waits; asked again, those of all replies that have come since.

        A trace that does not end is cut.

        Args:
            is_over: whether nobody waits for the reply any more.

        Raises:
            InfrastructureError: the port is taken from us.
        """
        made: dict[str, SpanCall] = {}
        for trace, parent in self._replies if self._waited else self._replies[-1:]:
            spans = self._receiver.spans(trace) if self._waited else self._come(trace, parent, is_over)
            made |= {trace + call.span: call for call in calls_in_spans(spans) if trace + call.span not in self._told}
        self._waited = True
        self._told |= made.keys()
        return [_reported(call, key) for key, call in made.items()]

    def _come(self, trace: str, parent: str, is_over: Callable[[], bool]) -> list[Span]:
        """Return the spans of a trace once its outermost one is there and nothing new comes, or the time is over."""
        spans: list[Span] = []
        until, quiet, ended = monotonic() + self._wait, 0.0, False
        while monotonic() < until and not is_over() and not (ended and monotonic() > quiet):
            come = self._receiver.spans(trace)
            if len(come) > len(spans):
                spans, quiet = come, monotonic() + _QUIET
                ended = any(span.parent.lower() == parent for span in spans)
            sleep(_GLANCE)
        if not spans and not is_over():
            why = self._receiver.refused and f"; spans came that could not be read: {self._receiver.refused}"
            self._note(
                f"of a reply no span came within {self._wait:g} s: does the service export them there, and take up the header traceparent?{why}"
            )
        elif not ended and not is_over():
            self._note(
                f"the spans of a reply were not complete within {self._wait:g} s; what came later counts as called after the reply"
            )
        return spans

    def _note(self, note: str) -> None:
        self.notes = tuple(dict.fromkeys((*self.notes, note)))


def _reported(call: SpanCall, key: str) -> ReportedCall:
    told: ReportedCall = {"tool": call.name, "id": key}
    if call.arguments is not None:
        told["arguments"] = call.arguments
    if call.answered:
        told["result"] = call.result
    if call.failed:
        told["status"] = "error"
    return told


_receivers: dict[int, Receiver] = {}


def receiver_at(port: int) -> Receiver:
    """Return the receiver of this process at a port: it listens from its first trace on, until the process ends."""
    return _receivers.setdefault(port, Receiver(port))


def foreign_traces() -> int:
    """Return how many traces came to this process that are none of a reply's."""
    return sum(len(receiver.foreign) for receiver in _receivers.values())


# -- a proxy -------------------------------------------------------------------------------------------------------------


class ProxiedCalls:
    """The calls of one episode that go through the proxy.

    Args:
        toolbox: the tools of the episode: it keeps a call that comes when no reply is under way.

    Attributes:
        under_way: whether a reply is.
        lost: why the server behind the proxy could not be asked; empty where it could.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self.under_way = False
        self.lost = ""
        self._toolbox = toolbox
        self._calls: list[ReportedCall] = []
        self._count = 0

    def taken(self) -> list[ReportedCall]:
        """Return the calls since this was last asked. Raises InfrastructureError where the server could not be asked."""
        if self.lost:
            raise InfrastructureError(self.lost)
        calls, self._calls = self._calls, []
        return [call.copy() for call in calls]

    def begun(self, message: JsonObject) -> ReportedCall:
        """Keep a call that is asked for. Raises ToolsClosed where no reply is under way."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        tool, arguments = str(params.get("name")), params.get("arguments", {})
        if not self.under_way:
            self._toolbox.call(tool, arguments)
            raise ToolsClosed
        self._count += 1
        call: ReportedCall = {"tool": tool, "arguments": arguments, "id": str(self._count)}
        self._calls.append(call)
        return call


class McpProxy:
    """Passes on what services say to an MCP server (streamable HTTP), each with the token of its episode.

    Args:
        pool: connections to the server.
        target: path and query of its address.
        headers: what the server is sent besides.
    """

    def __init__(self, pool: HTTPConnectionPool, target: str, headers: Mapping[str, str]) -> None:
        self._pool, self._target, self._headers = pool, target, headers
        self._episodes: dict[str, ProxiedCalls] = {}
        self._lock = Lock()
        self._server: _Server | None = None

    def lease(self, toolbox: Toolbox) -> tuple[ProxiedCalls, str, str]:
        """Return the calls of a new episode, and the address and the token for its service."""
        token, calls = token_hex(16), ProxiedCalls(toolbox)
        with self._lock:
            self._server = self._server or _Server(0, self._pass, self._pass)
            self._episodes[token] = calls
            if len(self._episodes) > _MOST_EPISODES:
                del self._episodes[next(iter(self._episodes))]
        return calls, f"http://127.0.0.1:{self._server.server_port}/mcp", token

    def _pass(self, handler: _Handler, body: bytes) -> None:
        """Pass a request on, and its answer back. Raises ValueError for what is no JSON."""
        *above, last = handler.path.partition("?")[0].strip("/").split("/")
        bearer = handler.headers.get("Authorization", "").partition(" ")[2].strip()
        episode = self._episodes.get("/".join(above) or bearer)
        if last != "mcp" or episode is None:
            _refuse(handler, 401, "unknown token: each episode has a token of its own")
            return
        if handler.command == "GET":
            _refuse(handler, 405, "there is no stream of events here but the answers to POST")
            return
        asked = parse_json(body.decode(), depth=limits.RUN_DEPTH) if body else []
        messages = [message for message in (asked if isinstance(asked, list) else [asked]) if isinstance(message, dict)]
        try:
            made = {str(each.get("id")): episode.begun(each) for each in messages if each.get("method") == "tools/call"}
        except ToolsClosed as closed:
            _refuse(handler, 200, str(closed), messages[0].get("id"))
            return
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in _OWN_HEADERS}
        if bearer in self._episodes:
            del headers["Authorization"]
        self._forward(handler, body, {**headers, **self._headers}, episode, made)

    def _forward(
        self,
        handler: _Handler,
        body: bytes,
        headers: Mapping[str, str],
        episode: ProxiedCalls,
        made: dict[str, ReportedCall],
    ) -> None:
        from urllib3 import Timeout, exceptions  # noqa: PLC0415 (only where a service is asked)

        try:
            response = self._pool.urlopen(
                handler.command,
                self._target,
                body,
                headers,
                retries=False,
                redirect=False,
                preload_content=False,
                timeout=Timeout(connect=10.0, read=None),
            )
            why = f"it redirects to {response.headers.get('Location')}" if response.status in _REDIRECTS else ""
        except (exceptions.HTTPError, ValueError) as error:
            why = str(error)
        if why:
            episode.lost = f"the MCP server at {self._pool.host}:{self._pool.port} cannot be asked: {why}"
            _refuse(handler, 502, episode.lost)
            return
        told = {name: value for name, value in response.headers.items() if name.lower() not in _OWN_HEADERS}
        with response:
            if "text/event-stream" not in told.get("Content-Type", ""):
                data = response.read(_MOST_BYTES)
                _note(made, data.decode("utf-8", "replace"))
                handler.reply(response.status, data, told)
                return
            handler.send_response(response.status)
            for name, value in {**told, "Transfer-Encoding": "chunked"}.items():
                handler.send_header(name, value)
            handler.end_headers()
            with suppress(ServiceFault, exceptions.HTTPError):
                for _, text in blocks_of(_relayed(response, handler)):
                    _note(made, text)
            handler.wfile.write(b"0\r\n\r\n")


def _relayed(response: BaseHTTPResponse, handler: _Handler) -> Iterator[bytes]:
    """Yield the pieces of a stream, each once it has been passed on."""
    while piece := response.read1(_PIECE):
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        yield piece


def _note(made: Mapping[str, ReportedCall], text: str) -> None:
    """Keep the results of calls that a message, or a list of them, brings."""
    with suppress(ValueError):
        data = parse_json(text, depth=limits.RUN_DEPTH)
        for message in data if isinstance(data, list) else [data]:
            call = made.get(str(message.get("id"))) if isinstance(message, dict) else None
            if call is not None and ("result" in message or "error" in message):
                result = message.get("result", message.get("error"))
                failed = "error" in message or (isinstance(result, dict) and result.get("isError") is True)
                call["result"] = _content(result)
                if failed:
                    call["status"] = "error"


def _content(result: Json) -> Json:
    """Return what a tool gave, out of a result of MCP: its data, else its text, else all of it."""
    if not isinstance(result, dict):
        return result
    if result.get("structuredContent") is not None:
        return result["structuredContent"]
    content = result.get("content")
    only = content[0] if isinstance(content, list) and len(content) == 1 else None
    return (
        only["text"]
        if isinstance(only, dict) and isinstance(only.get("text"), str)
        else content
        if content is not None
        else result
    )


def _refuse(handler: _Handler, status: int, why: str, message: Json = None) -> None:
    """Answer with an error that MCP clients show."""
    handler.reply(
        status, {"jsonrpc": "2.0", "id": message, "error": {"code": -32600, "message": why}}, {"Allow": "POST"}
    )
