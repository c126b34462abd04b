"""MCP clients of the official SDK, for tests."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def client_of(url, token=""):
    """Give a connected client."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def call(client, name, **arguments):
    """Call a tool, and return its JSON result and whether it is an error."""
    result = await client.call_tool(name, arguments)
    return json.loads(result.content[0].text), result.is_error


def call_once(url, token, name, **arguments):
    """Connect, call one tool, and return its result; a refusal is returned as its words."""

    async def connect():
        async with client_of(url, token) as client:
            return await call(client, name, **arguments)

    try:
        return asyncio.run(connect())
    except BaseExceptionGroup as group:
        while isinstance(group, BaseExceptionGroup):
            group = group.exceptions[0]
        return str(group)
