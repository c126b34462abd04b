"""Tools of episodes over MCP: real clients on the loopback interface."""

import asyncio
import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import pytest
import tiny_suite

from pytest_mapsat.agents.source import AgentContext
from pytest_mapsat.agents.tool_server import ToolServer, missing_extra, serve_tools
from pytest_mapsat.model import Tool, UsageError
from pytest_mapsat.sandbox import Toolbox, ToolsClosed

pytest.importorskip("mcp", reason="the extra mcp is not installed")

# Here, before any thread is there: two threads that import it at once leave each other half of it.
from mcp import MCPError

sys.path.insert(0, str(Path(__file__).parents[1] / "episode"))
from episodes import play
from mcp_clients import call, call_once, client_of

QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
FIND = Tool(name="find", description="Find places.", parameters=QUERY)


def toolbox(*names, answers=None):
    """Return a toolbox that answers with the name of its owner, and the calls that it got."""
    calls = []

    def answer(name, arguments):
        calls.append((name, arguments))
        if answers is not None:
            return answers(name, arguments)
        if name != "find":
            return {"status": "error", "message": f"there is no tool {name!r}"}
        return {"owner": list(names), **arguments}

    return Toolbox({"find": FIND}, answer), calls


@pytest.fixture(scope="module")
def endpoint():
    tools, _ = toolbox("shared")
    with serve_tools(tools) as endpoint:
        yield endpoint


def post(url, body, **headers):
    """Return the status and the body of an answer to raw bytes."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


class TestClient:
    def test_lists_the_tools_as_they_are_and_calls_them(self, endpoint):
        async def talk():
            async with client_of(endpoint.url, endpoint.token) as client:
                listed = (await client.list_tools()).tools
                return listed, await call(client, "find", query="café 北京")

        listed, answer = asyncio.run(talk())
        assert [(tool.name, tool.description, tool.input_schema) for tool in listed] == [
            ("find", "Find places.", QUERY)
        ]
        assert answer == ({"owner": ["shared"], "query": "café 北京"}, False)

    def test_may_have_the_token_in_its_address(self, endpoint):
        assert call_once(endpoint.url_with_token, "", "find", query="a")[0]["query"] == "a"

    def test_gets_the_error_of_an_unknown_tool_as_one(self, endpoint):
        result = call_once(endpoint.url, endpoint.token, "serach", query="a")
        assert result == ({"status": "error", "message": "there is no tool 'serach'"}, True)

    def test_gets_an_error_when_no_reply_is_under_way(self):
        def closed(name, arguments):
            raise ToolsClosed

        tools, _ = toolbox(answers=closed)
        with serve_tools(tools) as endpoint:
            result, is_error = call_once(endpoint.url, endpoint.token, "find", query="a")
        assert is_error
        assert result["message"].startswith("no reply is under way")

    def test_gets_values_that_are_no_objects_as_json(self):
        tools, _ = toolbox(answers=lambda name, arguments: ["é", 1, None])
        with serve_tools(tools) as endpoint:
            assert call_once(endpoint.url, endpoint.token, "find", query="a") == (["é", 1, None], False)


NODE = Path(__file__).with_name("node_client")


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
@pytest.mark.skipif(not (NODE / "node_modules").exists(), reason=f"npm install --prefix {NODE.name} was not run")
class TestNodeClient:
    def asks(self, url, token, name):
        command = ["node", NODE / "client.mjs", url, token, name, '{"query": "caf\u00e9"}']
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        return json.loads(done.stdout)

    def test_lists_and_calls(self, endpoint):
        told = self.asks(endpoint.url, endpoint.token, "find")
        assert told["tools"] == ["find"]
        assert json.loads(told["answer"]["content"][0]["text"]) == {"owner": ["shared"], "query": "café"}

    def test_is_told_of_an_unknown_tool_and_of_an_unknown_token(self, endpoint):
        assert self.asks(endpoint.url, endpoint.token, "serach")["answer"]["isError"]
        assert "unknown token" in self.asks(endpoint.url, "foreign", "find")["error"]


class TestToken:
    def test_of_an_ended_episode_is_refused_and_reaches_no_tool(self):
        tools, calls = toolbox("ended")
        with serve_tools(tools) as endpoint:
            pass
        assert call_once(endpoint.url, endpoint.token, "find", query="a").startswith("unknown token")
        assert calls == []

    @pytest.mark.parametrize("token", ["made-up", "x" * 10_000])
    def test_that_is_unknown_is_refused(self, endpoint, token):
        assert call_once(endpoint.url, token, "find", query="a").startswith("unknown token")

    def test_is_needed(self, endpoint):
        assert call_once(endpoint.url, "", "find", query="a") == "no token: send the header Authorization: Bearer TOKEN"

    def test_in_the_address_must_be_that_of_the_header(self, endpoint):
        other, calls = toolbox("other")
        with serve_tools(other) as foreign:
            answer = call_once(foreign.url_with_token, endpoint.token, "find", query="a")
        assert answer.startswith("two tokens")
        assert calls == []

    def test_of_another_process_is_refused(self, endpoint):
        server = ToolServer()
        tools, _ = toolbox("elsewhere")
        with server.lease(tools) as elsewhere:
            assert call_once(endpoint.url, elsewhere.token, "find", query="a").startswith("unknown token")

    def test_ends_while_a_client_is_connected_whose_call_is_refused_and_heard_by_its_own_episode(self):
        def answers(name, arguments):
            if arguments["query"] == "after":
                raise ToolsClosed
            return {}

        tools, calls = toolbox(answers=answers)

        async def talk():
            with serve_tools(tools) as endpoint:
                lease = client_of(endpoint.url, endpoint.token)
                client = await lease.__aenter__()
                await call(client, "find", query="during")
            with pytest.raises(MCPError, match="unknown token"):
                await call(client, "find", query="after")
            await lease.__aexit__(None, None, None)

        asyncio.run(talk())
        assert calls == [("find", {"query": "during"}), ("find", {"query": "after"})]

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b"\xff", b'{"method": "tools/call"}', b'{"method": 3}'])
    def test_of_an_ended_episode_is_refused_whatever_else_is_sent(self, body):
        tools, calls = toolbox("ended")
        with serve_tools(tools) as endpoint:
            pass
        request = urllib.request.Request(
            endpoint.url, data=body, headers={"Authorization": f"Bearer {endpoint.token}"}, method="POST"
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10)
        assert (refused.value.code, calls) == (401, [])


def test_sixteen_episodes_at_once_keep_the_calls_of_their_own_agents():
    async def talk(number, endpoint):
        async with client_of(endpoint.url, endpoint.token) as client:
            asked = [call(client, "find", query=f"{number}-{turn}") for turn in range(5)]
            return await asyncio.gather(call(client, "find", query="cafe"), *asked)

    def episode(number):
        def agent(message, tools):
            with serve_tools(tools) as endpoint:
                (result, _), *others = asyncio.run(talk(number, endpoint))
            assert all(is_error for _, is_error in others)
            return result["places"][0]

        return play(agent)

    with ThreadPoolExecutor(16) as pool:
        played = list(pool.map(episode, range(16)))
    for number, trajectory in enumerate(played):
        assert trajectory.replies[0].text == "Blue Door"
        queries = {step.arguments["query"] for step in trajectory.calls}
        assert queries == {"cafe", *(f"{number}-{turn}" for turn in range(5))}


class TestRawRequest:
    def headers(self, endpoint):
        return {"Authorization": f"Bearer {endpoint.token}"}

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example:80"])
    def test_for_another_host_is_refused(self, endpoint, host):
        assert post(endpoint.url, b"{}", **self.headers(endpoint), Host=host)[0] == 421

    def test_of_another_origin_is_refused(self, endpoint):
        assert post(endpoint.url, b"{}", **self.headers(endpoint), Origin="http://evil.example")[0] == 403

    def test_that_is_too_large_is_refused(self, endpoint):
        said = {"Content-Length": "5000000"}
        assert post(endpoint.url, b"{", **self.headers(endpoint), **said)[0] == 413

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"jsonrpc": "2.0"}', b"[" * 100_000])
    def test_that_is_no_message_is_refused(self, endpoint, body):
        status, text = post(endpoint.url, body, **self.headers(endpoint))
        assert status == 400
        assert "Traceback" not in text

    @pytest.mark.parametrize("path", ["/", "/sse", "/mcp/", "/a/b/mcp"])
    def test_to_another_path_is_told_the_right_one(self, endpoint, path):
        status, text = post(endpoint.url.removesuffix("/mcp") + path, b"{}", **self.headers(endpoint))
        assert (status, json.loads(text)["error"]["message"]) == (404, "the tools are at /mcp")

    def test_for_a_stream_is_refused(self, endpoint):
        assert post(endpoint.url, None, **self.headers(endpoint))[0] == 405


@pytest.mark.parametrize("version", ["", "1.27.0"])
def test_without_the_extra_or_with_an_old_one_a_message_says_what_to_install(version, monkeypatch):
    def version_of(name):
        if not version:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", version_of)
    missing_extra.cache_clear()
    with pytest.raises(UsageError, match=rf"{version or 'need'}.*pip install 'pytest-mapsat\[mcp\]'"):
        ToolServer()
    missing_extra.cache_clear()


def test_a_port_that_is_taken_is_named(endpoint):
    port = int(endpoint.url.rpartition(":")[2].removesuffix("/mcp"))
    with pytest.raises(UsageError, match=f"127.0.0.1:{port} cannot be listened on"):
        ToolServer(port=port)


def test_an_agent_in_python_gets_the_address_of_the_tools_for_its_own_client(pytester):
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(
        mymod="""
        import json
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client


        async def agent(message, context):
            async with Client(streamable_http_client(context.mcp_url)) as client:
                found = await client.call_tool("search_poi", {"query": "charger"})
            pois = json.loads(found.content[0].text)["pois"]
            return f"I suggest {next(poi for poi in pois if poi['open'])['name']}."
        """
    )
    result = pytester.runpytest("--mapsat-agent=mymod:agent", "-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["sandbox *3 calls*"])


def test_outside_of_an_episode_a_context_has_no_address():
    with pytest.raises(AttributeError, match="while an agent in Python replies"):
        _ = AgentContext().mcp_url
