"""The shipped considerate agent as a program: by JSON lines, or, with the argument ``mcp``, with tools that come over MCP alone."""

import json
import os
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path.cwd()))
from shipped_agents.considerate import agent


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class ByLines:
    """Tools on standard output and input."""

    def call(self, name, arguments):
        say({"type": "call", "name": name, "arguments": arguments})
        return json.loads(sys.stdin.readline())["result"]


class OverMcp:
    """Tools of an MCP server, asked by the requests that a client of the SDK sends, too: it takes a second to import."""

    def __init__(self, url, token):
        self._url = url
        self._token = token

    def call(self, name, arguments):
        result = self._ask("tools/call", {"name": name, "arguments": arguments})
        return json.loads(result["content"][0]["text"])

    def names(self):
        return [tool["name"] for tool in self._ask("tools/list", {})["tools"]]

    def _ask(self, method, params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }
        request = urllib.request.Request(self._url, body, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())["result"]


if __name__ == "__main__":
    over_mcp = sys.argv[1:] == ["mcp"]
    tools = OverMcp(os.environ["MAPSAT_MCP_URL"], os.environ["MAPSAT_MCP_TOKEN"]) if over_mcp else ByLines()
    session = SimpleNamespace(state={})
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(tools, OverMcp):
            assert tools.names() == [tool["function"]["name"] for tool in asked["tools"]]
        session.messages = asked["messages"]
        text = agent(asked["message"], tools, asked["context"], session)
        say({"type": "reply", "text": text})
