"""What a connection of an MCP client costs, beside the same to a server that answers with fixed bytes: python -m benchmarks.connections [ROUNDS].

Processor time of client and server together, which other work on the machine does not add to.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from threading import Thread
from typing import Any

from .row import Row

_BRIDGE = [sys.executable, "-m", "pytest_mapsat", "serve", "--episode"]
_FIND = {
    "name": "find",
    "description": "Find places.",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
_ROUNDS = 25


def connecting(quick: bool) -> Row:
    """A connection of the SDK's client to our server, one list of the tools included."""
    figures = {name: statistics.median(samples) for name, samples in measured(5 if quick else _ROUNDS).items()}
    milli = figures["ours, shared client"]
    how = "; ".join(f"{name} {figure:.1f} ms" for name, figure in figures.items())
    return Row("a connection of an MCP client", f"{milli:.1f} ms", "30 ms", milli <= 30, f"median, in turn. {how}")


def measured(rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of connections by what was connected, in turn so that drift of the machine hits all alike."""
    from pytest_mapsat.agents.tool_server import serve_tools
    from pytest_mapsat.model import Tool
    from pytest_mapsat.sandbox import Toolbox

    tool = Tool(name=_FIND["name"], description=_FIND["description"], parameters=_FIND["inputSchema"])
    with serve_tools(Toolbox({"find": tool}, lambda _, arguments: arguments)) as endpoint:
        minimal = f"http://127.0.0.1:{_minimal_server()}/mcp"
        ways = {
            "ours, own client": (_connected, endpoint.url_with_token, True),
            "minimal, own client": (_connected, minimal, True),
            "ours, shared client": (_connected, endpoint.url_with_token, False),
            "minimal, shared client": (_connected, minimal, False),
        }
        samples: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(rounds + 2):
            for name, (connect, url, certificates) in ways.items():
                began = time.process_time()
                asyncio.run(connect(url, certificates=certificates))
                samples[name] += [1000 * (time.process_time() - began)] if number >= 2 else []  # the first two import
        variables = {**os.environ, "MAPSAT_MCP_URL": endpoint.url, "MAPSAT_MCP_TOKEN": endpoint.token}
        asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}) + "\n"
        for name, command in {
            "a Python that does nothing": [sys.executable, "-c", "pass"],
            "the bridge, one answer": _BRIDGE,
        }.items():
            samples[name] = []
            for _ in range(rounds):
                began = _of_children()
                subprocess.run(command, input=asked, env=variables, capture_output=True, text=True, check=True)
                samples[name].append(1000 * (_of_children() - began))
    return samples


def _of_children() -> float:
    """Return the processor time of the programs that have ended, seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def _connected(url: str, *, certificates: bool) -> None:
    """Connect with the client of the SDK, list the tools and close; with the certificates that its own HTTP client loads, or without."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    if certificates:
        async with Client(url) as client:
            await client.list_tools()
        return
    async with (
        httpx2.AsyncClient(verify=False) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        await client.list_tools()


def _minimal_server() -> int:
    """Start a server that answers each request of a client with fixed bytes, and return its port."""
    meta = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    results: dict[str, Any] = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": {"name": "minimal", "version": "1"}, **meta},
        "tools/list": {"tools": [_FIND], **meta},
    }  # fmt: skip

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readline() and await reader.readuntil(b"\r\n\r\n")):
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            asked = json.loads(await reader.readexactly(length))
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
            )

    ports: list[int] = []

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    while not ports:
        time.sleep(0.01)
    return ports[0]


if __name__ == "__main__":
    for name, samples in measured(int(sys.argv[1]) if len(sys.argv) > 1 else _ROUNDS).items():
        print(
            f"{name:28} median {statistics.median(samples):6.1f} ms   least {min(samples):6.1f}   most {max(samples):6.1f}"
        )
