"""``mapsat serve --episode``: MCP clients that start their server by a command reach the tools of the episode."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mapsat.agents.tool_server import serve_tools
from pytest_mapsat.cli import main
from pytest_mapsat.model import Tool
from pytest_mapsat.sandbox import Toolbox

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

FIND = Tool(
    name="find",
    description="Find places.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
BRIDGE = [sys.executable, "-m", "pytest_mapsat", "serve", "--episode"]


@pytest.fixture
def endpoint():
    with serve_tools(Toolbox({"find": FIND}, lambda name, arguments: {"query": arguments.get("query")})) as endpoint:
        yield endpoint


def environment(endpoint):
    return {**os.environ, "MAPSAT_MCP_URL": endpoint.url, "MAPSAT_MCP_TOKEN": endpoint.token}


def bridged(endpoint, *messages):
    """Return the answers to some messages, by their ids."""
    text = "".join(message if isinstance(message, str) else json.dumps(message) + "\n" for message in messages)
    done = subprocess.run(
        BRIDGE, input=text, env=environment(endpoint), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}


def call(number, query):
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": "find", "arguments": {"query": query}},
    }


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_the_sdk_sees_and_calls_the_tools_of_the_episode(endpoint, mode):
    async def talk():
        server = StdioServerParameters(command=BRIDGE[0], args=BRIDGE[1:], env=environment(endpoint))
        async with Client(stdio_client(server), mode=mode) as client:
            (tool,) = (await client.list_tools()).tools
            return tool.name, [
                await client.call_tool("find", {"query": query}) for query in ("café 北京", "x" * 1_000_000)
            ]

    name, results = asyncio.run(talk())
    queries = [json.loads(result.content[0].text)["query"] for result in results]
    assert (name, queries) == ("find", ["café 北京", "x" * 1_000_000])


@pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="this system does not show the environment of a process"
)
def test_a_client_that_keeps_its_environment_to_itself_needs_no_setting(endpoint):
    program = f"import subprocess; subprocess.run({BRIDGE!r}, env={{}}, check=True)"
    given = {"input": json.dumps(call(1, "cafe")), "env": environment(endpoint), "timeout": 60}
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, **given)
    assert json.loads(json.loads(done.stdout)["result"]["content"][0]["text"]) == {"query": "cafe"}


def test_each_request_gets_one_line_and_a_notification_none(endpoint):
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    answers = bridged(
        endpoint,
        {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": start},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        call(1, "x"),
        "no JSON\n",
        call(2, "x" * 4 * 1024 * 1024),
        {"jsonrpc": "2.0", "id": 3, "method": "nothing/like/it"},
    )
    assert answers.keys() == {"a", 1, None, 2, 3}
    assert answers["a"]["result"]["serverInfo"]["name"] == "mapsat"
    assert json.loads(answers[1]["result"]["content"][0]["text"]) == {"query": "x"}
    assert answers[2]["error"]["message"].startswith("found a message of 4,19")
    assert {"error"} <= answers[3].keys() & answers[None].keys()


def test_when_the_episode_or_its_server_is_over_each_call_gets_an_error(endpoint):
    strange = endpoint._replace(token="other")
    assert "unknown token" in bridged(strange, call(1, "x"))[1]["error"]["message"]
    with socket.create_server(("127.0.0.1", 0)) as gone:
        place = f"127.0.0.1:{gone.getsockname()[1]}"
    answer = bridged(endpoint._replace(url=f"http://{place}/mcp"), call(1, "x"))[1]
    assert answer["error"]["message"].startswith(f"the tools of the episode cannot be asked at {place}: ")


def test_without_an_episode_it_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.delenv("MAPSAT_MCP_URL", raising=False)
    assert main(["serve", "--episode"]) == 2
    assert "MAPSAT_MCP_URL is not set. The agent has it, and MAPSAT_MCP_TOKEN, where" in capsys.readouterr().err
    assert main(["serve", "--help"]) == 0
    assert "mapsat serve --episode, without a suite, passes messages on" in " ".join(capsys.readouterr().out.split())


def test_it_imports_neither_pydantic_nor_the_sdk():
    heavy = "import sys, pytest_mapsat.commands.bridge; print({'pydantic', 'mcp', 'pytest', 'http.client'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True).stdout == "set()\n"
