"""The calls of a service's own tools, as far as they can be seen from outside: its spans, and the traffic through a proxy before its MCP server.

Spans come in on a port of the loopback interface (OTLP over HTTP). Those are kept that bear the trace of a request of ours: each reply has a trace,
which only the service learns. A process that does not get the port asks the one that has it, where this is another one of the run.
The proxy is an endpoint of our MCP server (``tool_server.py``), a token for each episode; it passes on what the service says to the server that
the service file names, and nothing to anywhere else, and keeps the calls with their results.
"""

from __future__ import annotations

import json
import socket
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from secrets import token_hex
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any, NamedTuple

from urllib3 import HTTPConnectionPool, Timeout, exceptions, request

from pytest_mapsat.formats import OtlpSpan, Unknown, calls_in_spans, limits, parse_json, result_of, spans_in
from pytest_mapsat.model import InfrastructureError, JsonObject, ReportedCall, SuiteError
from pytest_mapsat.sandbox import Toolbox, ToolsClosed

from .tool_server import Scope, body_of, refuse, respond, serve_app

#: Bytes of a message, unpacked; spans of a trace; traces that are kept, and others that are counted.
_MOST_BYTES, _MOST_SPANS, _MOST_TRACES = 16 * limits.MIB, 10_000, 1_000
#: Seconds: between two looks at what has come; without a new span after which a trace whose outermost span has ended is taken for whole; for a connection, and for an answer of a tool.
_GLANCE, _QUIET, _ANSWER, _LONGEST = 0.02, 0.1, 10.0, 600.0
_PIECE = 64 * 1024
_OURS = "/mapsat/traces/"

# -- spans ---------------------------------------------------------------------------------------------------------------


def missing_extra() -> str:
    """Return the extra to install before spans can be received; empty if it is installed."""
    needed = ("uvicorn", "opentelemetry.proto")
    with suppress(ModuleNotFoundError):  # of the package around the second one
        if all(map(find_spec, needed)):
            return ""
    return "spans: they are received with pip install 'pytest-mapsat[spans]'"


class Receiver:
    """Receives the spans that services export to a port.

    Attributes:
        port: on the loopback interface.
        foreign: the traces that are none of a reply's; the first thousand.
        silent: how many replies there were of which no span came in time.
        cut: how many whose spans were not complete in time.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.foreign: set[str] = set()
        self.silent = self.cut = 0
        self._lock = Lock()
        self._traces: dict[str, dict[str, OtlpSpan]] = {}
        self._listens = False

    def spans(self, trace: str) -> list[OtlpSpan]:
        """Return the spans received for a trace, and keep later spans. Raises InfrastructureError if another program uses the port."""
        if not self._listens and (received := self._listen_or_fetch(trace)) is not None:
            return received
        with self._lock:
            spans = list(self._traces.setdefault(trace, {}).values())
            if len(self._traces) > _MOST_TRACES:
                del self._traces[next(iter(self._traces))]
        return spans

    def _listen_or_fetch(self, trace: str) -> list[OtlpSpan] | None:
        """Start to listen and return None; if another process of the run uses the port, return that process's spans."""
        try:
            listening = socket.create_server(("127.0.0.1", self.port), backlog=512)
        except OSError as error:
            try:
                url = f"http://127.0.0.1:{self.port}{_OURS}{trace}"
                answer = request("GET", url, retries=False, timeout=_ANSWER).json()
                return [OtlpSpan(**{**span, "events": tuple(map(tuple, span["events"]))}) for span in answer["spans"]]
            except (exceptions.HTTPError, ValueError, KeyError, TypeError):
                why = f"port {self.port} of the loopback interface cannot be listened on ({error.strerror})"
                raise InfrastructureError(f"spans: {why}: name another one, as in spans: {{port: 4319}}") from None
        import asyncio  # noqa: PLC0415 (with the server)

        self._listens = True
        Thread(target=lambda: asyncio.run(serve_app(self._app, listening)), name="mapsat-spans", daemon=True).start()
        return None

    async def _app(self, scope: Scope, receive: Any, send: Any) -> None:
        """Serve HTTP: keep exported spans, ignore metrics and logs, and send other processes of the run the spans of a trace."""
        headers = {name: value.decode("latin-1").partition(";")[0].lower() for name, value in scope["headers"]}
        protobuf = headers.get(b"content-type") == "application/x-protobuf"
        trace, status, answer = scope["path"].removeprefix(_OURS), 200, b"" if protobuf else b"{}"
        body = await body_of(receive, _MOST_BYTES)
        try:
            if trace != scope["path"]:
                answer = json.dumps({"spans": [asdict(span) for span in self.spans(trace)]}).encode()
            elif scope["method"] != "POST":
                status = 405
            elif scope["path"] not in ("/v1/metrics", "/v1/logs"):
                self._keep(_spans_of(_unpacked(body, headers.get(b"content-encoding", "")), protobuf=protobuf))
        except (ValueError, SuiteError) as error:
            status, answer = 400, str(error).encode()
        await respond(send, status, answer, headers.get(b"content-type", "application/json"))

    def _keep(self, spans: list[OtlpSpan]) -> None:
        """Keep the spans of requested traces, and record the ids of all other traces as foreign."""
        with self._lock:
            for span in spans:
                kept = self._traces.get(span.trace.lower())
                if kept is not None and len(kept) < _MOST_SPANS:
                    kept[span.id] = span
                elif kept is None and len(self.foreign) < _MOST_TRACES:
                    self.foreign.add(span.trace)


def _unpacked(body: bytes, packing: str) -> bytes:
    """Return a request body, decompressed if it is gzip. Raises ValueError if it is too large, cut off or invalid gzip."""
    unpacking = zlib.decompressobj(wbits=31)
    try:
        plain = unpacking.decompress(body, _MOST_BYTES) if packing == "gzip" else body
    except zlib.error:
        raise ValueError("the body is not gzip") from None
    if len(body) > _MOST_BYTES or (packing == "gzip" and not unpacking.eof):
        raise ValueError(f"the body has more than {_MOST_BYTES:,} bytes, or is cut off")
    return plain


def _spans_of(body: bytes, *, protobuf: bool) -> list[OtlpSpan]:
    """Return the spans in an OTLP request body, JSON or protobuf. Raises ValueError or SuiteError if it cannot be read."""
    if not protobuf:
        return spans_in(parse_json(body.decode(), depth=limits.RUN_DEPTH))
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415 (of an extra)
    from google.protobuf.message import DecodeError  # noqa: PLC0415 (likewise)
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData  # noqa: PLC0415 (likewise; as the request on the wire)

    try:
        batches = MessageToDict(TracesData.FromString(body)).get("resourceSpans", [])
    except DecodeError as error:
        raise ValueError(f"the body is not an OTLP protobuf: {error}") from None
    for span in (span for batch in batches for scope in batch.get("scopeSpans", ()) for span in scope.get("spans", ())):
        span |= {key: b64decode(span[key]).hex() for key in ("traceId", "spanId", "parentSpanId") if key in span}
    return spans_in({"resourceSpans": batches})


class SpansOfReplies:
    """The spans of the replies of one episode.

    Args:
        receiver: where they come in.
        wait: how long they may take once an answer has come, seconds.
    """

    def __init__(self, receiver: Receiver, wait: float) -> None:
        self._receiver = receiver
        self._wait = wait
        self._replies: list[tuple[str, str]] = []
        self._told: set[str] = set()
        self._waited = False

    def begin(self) -> str:
        """Begin a reply and return the header ``traceparent`` for its requests. Raises InfrastructureError."""
        trace, span = token_hex(16), token_hex(8)
        self._receiver.spans(trace)
        self._replies.append((trace, span))
        self._waited = False
        return f"00-{trace}-{span}-01"

    def calls(self, is_over: Callable[[], bool]) -> list[ReportedCall]:
        """Wait for the spans of the last reply and return its calls; a second request returns late calls of any reply.

        Args:
            is_over: whether the reply is waited for no more.

        Raises:
            InfrastructureError: the port is taken from us.
        """
        fresh: dict[str, ReportedCall] = {}
        for trace, parent in self._replies if self._waited else self._replies[-1:]:
            spans = self._receiver.spans(trace) if self._waited else self._arrived(trace, parent, is_over)
            calls_of_trace = {trace + span: call for span, call in calls_in_spans(spans).items()}
            fresh |= {key: {**call, "id": key} for key, call in calls_of_trace.items() if key not in self._told}
        self._waited = True
        self._told |= fresh.keys()
        return [*fresh.values()]

    def _arrived(self, trace: str, parent: str, is_over: Callable[[], bool]) -> list[OtlpSpan]:
        """Return the spans of a trace once it is complete or the wait is over; count incomplete and empty traces."""
        spans: list[OtlpSpan] = []
        until, quiet, ended, over = monotonic() + self._wait, 0.0, False, False
        while not over:
            come = self._receiver.spans(trace)
            if len(come) > len(spans):
                spans, quiet = come, monotonic() + _QUIET
                ended = any(span.parent.lower() == parent for span in spans)
            over = is_over() or monotonic() > until or (ended and monotonic() > quiet)
            sleep(0 if over else _GLANCE)
        if not ended and not is_over():
            self._receiver.cut += bool(spans)
            self._receiver.silent += not spans
        return spans


_receivers: dict[int, Receiver] = {}


def receiver_at(port: int) -> Receiver:
    """Return this process's receiver for a port; it listens from the first trace until the process ends."""
    return _receivers.setdefault(port, Receiver(port))


def span_warnings() -> Iterator[tuple[str, str, int]]:
    """Yield a subject, a message and a count for each problem with received spans: foreign, missing, incomplete."""
    for receiver in _receivers.values():
        asked = f"does the service export them to http://127.0.0.1:{receiver.port}, and take up the header traceparent?"
        yield "spans", "traces belong to no reply, and are left out", len(receiver.foreign)
        yield "spans", f"replies without spans: {asked}", receiver.silent
        yield "spans", "replies whose spans were not complete in time", receiver.cut


# -- a proxy -------------------------------------------------------------------------------------------------------------

_Headers = list[tuple[bytes, bytes]]
_Send = Callable[[JsonObject], object]
#: Headers that belong to one connection.
_OWN_HEADERS = frozenset(
    (b"host", b"connection", b"content-length", b"content-encoding", b"transfer-encoding", b"accept-encoding", b"authorization", b"date", b"server")
)  # fmt: skip


class Upstream(NamedTuple):
    """The MCP server (streamable HTTP) with a service's own tools.

    Attributes:
        pool: connections to it.
        target: path and query of its address.
        headers: what it is sent besides.
    """

    pool: HTTPConnectionPool
    target: str
    headers: Mapping[str, str]


class ProxiedCalls:
    """The calls of one episode that go through the proxy.

    Args:
        upstream: where they go.
        toolbox: the tools of the episode: it keeps a call that comes when no reply is under way.

    Attributes:
        under_way: whether a reply is.
    """

    def __init__(self, upstream: Upstream, toolbox: Toolbox) -> None:
        self.under_way = False
        self._upstream = upstream
        self._toolbox = toolbox
        self._lost = ""
        self._calls: list[ReportedCall] = []
        self._count = 0

    def taken(self) -> list[ReportedCall]:
        """Return and clear the recorded calls. Raises InfrastructureError if the server was unreachable."""
        if self._lost:
            raise InfrastructureError(self._lost)
        calls, self._calls = self._calls, []
        return [call.copy() for call in calls]

    async def forward(self, scope: Scope, receive: Any, send: Any) -> None:
        """Forward an MCP request to the upstream server, stream its answer back and record its tool calls."""
        from anyio import from_thread, to_thread  # noqa: PLC0415 (with the SDK)

        body, calls = await body_of(receive, _MOST_BYTES), dict[str, ReportedCall]()
        try:
            asked = parse_json(body.decode(), depth=limits.RUN_DEPTH)
            for message in asked if isinstance(asked, list) else [asked]:
                if isinstance(message, dict) and message.get("method") == "tools/call":
                    calls[str(message.get("id"))] = self._record_call(message)
        except (ValueError, ToolsClosed) as refusal:
            await refuse(send, 400, str(refusal))
            return
        await to_thread.run_sync(self._exchange, scope["headers"], body, calls, partial(from_thread.run, send))

    def _record_call(self, message: JsonObject) -> ReportedCall:
        """Record a requested tool call and return the record. Raises ToolsClosed when no reply is under way."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        name, arguments = str(params.get("name")), params.get("arguments", {})
        if not self.under_way:
            self._toolbox.call(name, arguments)
        self._count += 1
        call: ReportedCall = {"tool": name, "arguments": arguments, "id": str(self._count)}
        self._calls.append(call)
        return call

    def _exchange(self, asked: _Headers, body: bytes, calls: dict[str, ReportedCall], send: _Send) -> None:
        """Send a request upstream and stream the answer back; if the server is unreachable, answer 502 and keep the reason."""
        pool, target, own = self._upstream
        headers = {name.decode(): value.decode("latin-1") for name, value in asked if name not in _OWN_HEADERS}
        options: Any = {"retries": False, "redirect": False, "preload_content": False}
        time_out = Timeout(_ANSWER, _LONGEST)
        try:
            response, lost = pool.urlopen("POST", target, body, {**headers, **own}, timeout=time_out, **options), ""
            if 300 <= response.status < 400:  # noqa: PLR2004
                lost = f"it redirects to {response.headers.get('Location')}: use that address"
        except exceptions.HTTPError as error:
            lost = str(error)
        if lost:
            self._lost = f"the MCP server at {pool.host}:{pool.port} cannot be asked: {lost}"
            send({"type": "http.response.start", "status": 502, "headers": []})
            send({"type": "http.response.body"})
            return
        headers_back = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers.items()]
        passed, text = [pair for pair in headers_back if pair[0] not in _OWN_HEADERS], b""
        send({"type": "http.response.start", "status": response.status, "headers": passed})
        with suppress(exceptions.HTTPError):
            while piece := response.read1(_PIECE):
                text = text + piece if len(text) < _MOST_BYTES else text
                send({"type": "http.response.body", "body": piece, "more_body": True})
        streamed = "event-stream" in response.headers.get("Content-Type", "")
        _note(calls, text.decode("utf-8", "replace"), streamed=streamed)
        send({"type": "http.response.body"})


def _note(calls: Mapping[str, ReportedCall], text: str, *, streamed: bool) -> None:
    """Add the results in an MCP answer (one message, a list or an event stream) to the recorded calls."""
    lines = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
    for message_text in lines if streamed else [text]:
        with suppress(ValueError):
            data = parse_json(message_text, depth=limits.RUN_DEPTH)
            for message in data if isinstance(data, list) else [data]:
                call = calls.get(str(message.get("id"))) if isinstance(message, dict) else None
                result = message.get("error", message.get("result")) if call is not None else None
                if call is not None and isinstance(result, dict):
                    content = result.get("structuredContent")
                    given = result_of(result.get("content", result))[0] if content is None else content
                    call |= {} if isinstance(given, Unknown) else {"result": given}
                    call |= {"status": "error"} if "error" in message or result.get("isError") else {}
