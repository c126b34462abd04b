"""The tools of episodes as one MCP server of this process: an agent's own MCP client sees their schemas and answers, and nothing else.

Each episode has a token. A call is answered by the episode of its token alone, and refused where there is none.
The server is stateless: no session outlives its request, so nothing but the token says whose call it is.
"""

from __future__ import annotations

import json
import secrets
import selectors
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from importlib import import_module, metadata
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_mapsat.formats import parse_json
from pytest_mapsat.model import Json, JsonObject, UsageError
from pytest_mapsat.sandbox import Toolbox, ToolsClosed

from .source import declared

if TYPE_CHECKING:
    from mcp.server import Server

_INSTALL = "pip install 'pytest-mapsat[mcp]'"
#: Bytes of one request. An episode takes arguments of 1,000,000 characters, which are up to 4 bytes each.
_MOST_BYTES = 4 * 1024 * 1024
#: So many episodes that are over are still heard.
_MOST_ENDED = 10_000
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_UNKNOWN_TOKEN = "unknown token: each episode has a token of its own, which ends with the episode"  # noqa: S105  # a message
#: What a result says of itself where a tool gave no answer.
_NO_ANSWER = ("error", "refused", "no_recording")


class ToolEndpoint(NamedTuple):
    """The address at which an MCP client reaches the tools of one episode.

    Attributes:
        url: of the streamable HTTP transport, ``http://127.0.0.1:PORT/mcp``.
        token: for the header ``Authorization: Bearer TOKEN``.
    """

    url: str
    token: str

    @property
    def url_with_token(self) -> str:
        """The address for clients that cannot send headers: ``http://127.0.0.1:PORT/TOKEN/mcp``."""
        return self.url.removesuffix("mcp") + f"{self.token}/mcp"


@cache
def missing_extra() -> str:
    """Return why tools cannot be served over MCP, and what to install; empty if they can be served."""
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        return f"tools over MCP need the package mcp: {_INSTALL}"
    if int(version.partition(".")[0]) >= 2:  # noqa: PLR2004
        return ""
    advice = "where another package needs the old one, in an environment of the agent's own"
    return f"tools over MCP need the package mcp from 2.0 on, and {version} is installed: {_INSTALL} ({advice})"


def import_sdk() -> None:
    """Import the parts of the SDK that server and client share: two threads that import them at once may each get an incomplete module.

    Raises:
        UsageError: the extra ``[mcp]`` is not installed.
    """
    if missing := missing_extra():
        raise UsageError(missing)
    for module in ("mcp", "mcp.client.streamable_http", "mcp.server.streamable_http_manager", "uvicorn"):
        import_module(module)


def serve_tools(
    toolbox: Toolbox, *, at_once: bool = True, forward: Forward | None = None
) -> AbstractContextManager[ToolEndpoint]:
    """Serve the tools of one episode over MCP on the loopback interface until the context exits, when the token expires.

    All episodes of a process share one server.

    Args:
        toolbox: the tools; may be called from several threads.
        at_once: whether the server is imported and started now; otherwise its first connection does it, and waits a second for it.
        forward: answers requests in the place of the toolbox, which then keeps only calls that come late.

    Raises:
        UsageError: the extra ``[mcp]`` is not installed, or no port can be had.
    """
    with _lock:
        server = _shared_server()
    return server.lease(toolbox, at_once=at_once, forward=forward)


class ToolServer:
    """An MCP server on a daemon thread with its own event loop.

    Args:
        host: the interface to listen on.
        port: 0 for one of the system's choice.

    Raises:
        UsageError: the extra ``[mcp]`` is not installed, or the address cannot be had.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        if missing := missing_extra():
            raise UsageError(missing)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=512)
        except OSError as error:
            raise UsageError(f"tools over MCP: {host}:{port} cannot be listened on: {error.strerror}") from None
        # Inherited by each connection: an answer is not held back until the client has acknowledged what came before it.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = f"[{host}]" if ":" in host else host
        self._port: int = self._socket.getsockname()[1]
        self._toolboxes: dict[str, tuple[Toolbox, Forward | None]] = {}
        self._ended: OrderedDict[str, Toolbox] = OrderedDict()
        self._woken = False
        Thread(target=self._run, name="mapsat-mcp", daemon=True).start()

    @contextmanager
    def lease(
        self, toolbox: Toolbox, *, at_once: bool = True, forward: Forward | None = None
    ) -> Iterator[ToolEndpoint]:
        """Yield an endpoint with a new token that serves the toolbox until the context exits; see ``serve_tools``."""
        token = secrets.token_urlsafe(24)
        self._toolboxes[token] = toolbox, forward
        if at_once and not self._woken:
            self._woken = True
            socket.create_connection((self._host.strip("[]"), self._port)).close()
        try:
            yield ToolEndpoint(f"http://{self._host}:{self._port}/mcp", token)
        finally:
            self._ended[token], _ = self._toolboxes.pop(token)
            if len(self._ended) > _MOST_ENDED:
                self._ended.popitem(last=False)

    def _run(self) -> None:
        """Wait for the first connection, then serve MCP on the socket."""
        import asyncio  # noqa: PLC0415 (with the server)

        with self._socket:
            # The first connection waits in the system's queue; until then nothing is imported.
            with selectors.DefaultSelector() as waiting:  # select() knows no descriptor above 1,023
                waiting.register(self._socket, selectors.EVENT_READ)
                waiting.select()
            asyncio.run(self._serve())

    async def _serve(self) -> None:
        """Serve MCP over HTTP: route each request by its token to its toolbox, and refuse those without a valid token."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 (heavy)
        from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

        hosts = {*_LOOPBACK, self._host}
        # Behind the address of all interfaces a client may use any of their names.
        every = self._host in ("0.0.0.0", "[::]")  # noqa: S104  # the user wrote it
        manager = StreamableHTTPSessionManager(
            mcp_server(lambda context: context.request.scope[_TOOLBOX]),
            json_response=True,
            stateless=True,
            security_settings=TransportSecuritySettings(
                enable_dns_rebinding_protection=not every,
                allowed_hosts=[*hosts, *(f"{host}:{self._port}" for host in hosts)],
                allowed_origins=[f"http://{host}:{self._port}" for host in hosts],
            ),
            max_request_body_size=_MOST_BYTES,
        )

        async def app(scope: Scope, receive: Any, send: Any) -> None:
            """Refuse a request, forward it, or let the SDK answer it with the toolbox of its token."""
            token, refusal = self._token_of(scope)
            toolbox, forward = self._toolboxes.get(token, (None, None))
            if refusal is None and toolbox is None:
                refusal = (401, _UNKNOWN_TOKEN)
                if token in self._ended:
                    await _call_late(self._ended[token], receive)
            if refusal is not None:
                await refuse(send, *refusal)
            elif forward is not None:
                await forward(scope, receive, send)
            else:
                await manager.handle_request({**scope, _TOOLBOX: toolbox}, receive, send)

        async with manager.run():
            await serve_app(app, self._socket)

    @staticmethod
    def _token_of(scope: Scope) -> tuple[str, tuple[int, str] | None]:
        """Return the token of a request and None; for an invalid request an empty token, and the status and message of the refusal."""
        match scope["path"].split("/"):
            case ["", "mcp"]:
                in_path = ""
            case ["", in_path, "mcp"]:
                pass
            case _:
                return "", (404, "the tools are at /mcp")
        if scope["method"] != "POST":
            return "", (405, "this server answers POST only: it has no streams and no sessions")
        headers = [value for name, value in scope["headers"] if name == b"authorization"]
        kind, _, in_header = (headers[0] if headers else b"").decode("latin-1").partition(" ")
        tokens = {in_path, in_header.strip() if kind.lower() == "bearer" else ""} - {""}
        if not tokens:
            return "", (401, "no token: send the header Authorization: Bearer TOKEN")
        if len(tokens) > 1:
            return "", (401, "two tokens: that of the address is another than that of the header")
        return tokens.pop(), None


_lock = Lock()
#: Returns the one tool server of this process, started on first use.
_shared_server = cache(ToolServer)

Scope = MutableMapping[str, Any]
#: An application of ASGI.
Forward = Callable[[Scope, Any, Any], Awaitable[None]]
#: Under this key the request holds the toolbox of its token.
_TOOLBOX = "pytest_mapsat.toolbox"


async def _call_late(toolbox: Toolbox, receive: Callable[[], Awaitable[JsonObject]]) -> None:
    """Pass a tool call that comes after its episode to the closed toolbox, which records and refuses it."""
    body = await body_of(receive, _MOST_BYTES)
    with suppress(ValueError, TypeError, KeyError, AttributeError, ToolsClosed):  # anything may stand there
        asked = parse_json(body.decode())
        if asked["method"] == "tools/call":
            toolbox.call(asked["params"]["name"], asked["params"].get("arguments"))


async def serve_app(app: Forward, listening: socket.socket) -> None:
    """Serve an ASGI app on a listening socket, forever."""
    import uvicorn  # noqa: PLC0415 (heavy, and of an extra)

    config = uvicorn.Config(
        app, log_config=None, log_level="error", access_log=False, lifespan="off", ws="none", interface="asgi3"
    )
    await uvicorn.Server(config).serve(sockets=[listening])


async def body_of(receive: Callable[[], Awaitable[JsonObject]], most: int) -> bytes:
    """Read and return the body of a request; stop reading once it has more than ``most`` bytes."""
    body, more = b"", True
    while more and len(body) <= most:
        part = await receive()
        body, more = body + part.get("body", b""), part.get("more_body", False)
    return body


async def respond(
    send: Callable[[JsonObject], Awaitable[None]], status: int, body: bytes, kind: str = "application/json"
) -> None:
    """Send an HTTP response with a status, a body and its content type."""
    headers = [
        (b"content-type", kind.encode("latin-1")),
        (b"allow", b"POST"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Callable[[JsonObject], Awaitable[None]], status: int, why: str) -> None:
    """Send an HTTP error status with a JSON-RPC error that MCP clients display."""
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": why}}
    await respond(send, status, json.dumps(error).encode())


# -- the protocol: the same for HTTP and for stdio -----------------------------------------------------------------------


def serve_stdio(toolbox: Toolbox) -> None:
    """Serve tools over standard input and output until the input ends.

    Args:
        toolbox: the tools; may be called from several threads.

    Raises:
        UsageError: the extra ``[mcp]`` is not installed.
    """
    if missing := missing_extra():
        raise UsageError(missing)
    import anyio  # noqa: PLC0415 (with the SDK)
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 (heavy, and of an extra)

    async def serve() -> None:
        """Run an MCP server on standard input and output until the input ends."""
        server = mcp_server(lambda _: toolbox)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    # A thread of the SDK's reads the input, and a blocked read cannot be cancelled: as a daemon it does not keep an interrupted process alive.
    done: Future[None] = Future()

    def run() -> None:
        """Run the server and pass its result or its exception to the waiting thread."""
        try:
            done.set_result(anyio.run(serve))
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            done.set_exception(error)

    Thread(target=run, name="mapsat-mcp", daemon=True).start()
    done.result()


def mcp_server(toolbox_of: Callable[[Any], Toolbox]) -> Server:
    """Return an MCP server of the SDK that lists and calls the tools of a toolbox.

    Args:
        toolbox_of: from the SDK's context of a request to the toolbox that answers it.
    """
    from anyio import to_thread  # noqa: PLC0415 (with the SDK)
    from mcp import types  # noqa: PLC0415
    from mcp.server import Server  # noqa: PLC0415

    async def list_tools(context: Any, _: object) -> types.ListToolsResult:
        """Return the tools of the request's toolbox as MCP tools."""
        tools = [
            types.Tool(name=tool["name"], description=tool["description"], input_schema=tool["parameters"])
            for tool in declared(toolbox_of(context))
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        # A call may take its time, and others go on meanwhile.
        """Call a tool in a worker thread and return its result as JSON text."""
        result, is_error = await to_thread.run_sync(_called, toolbox_of(context), params.name, params.arguments)
        text = result if _breaks_off(result) else json.dumps(result, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    return Server("mapsat", version=metadata.version("pytest-mapsat"), on_list_tools=list_tools, on_call_tool=call_tool)


def _breaks_off(result: Json) -> bool:
    """Return whether a result is text that begins as JSON and breaks off, which a client reads as it is."""
    if not isinstance(result, str) or result[:1] not in ("{", "["):
        return False
    try:
        json.loads(result)
    except ValueError:
        return True
    return False


def _called(toolbox: Toolbox, name: str, arguments: JsonObject | None) -> tuple[Json, bool]:
    """Return the answer of a tool, and whether the answer is an error."""
    try:
        result = toolbox.call(name, arguments)
    except ToolsClosed as closed:
        return {"status": "error", "message": str(closed)}, True
    return result, isinstance(result, dict) and result.get("status") in _NO_ANSWER
