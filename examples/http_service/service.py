"""An agent that is a service and speaks OpenAI's chat completions.

Start it with ``python examples/http_service/service.py``, and in another shell
``pytest benchmark_cases/realtime/next-bus.yaml -c examples/http_service/pytest.ini --rootdir=.``

It answers one kind of question, which bus leaves next. A model could stand where the rule stands: it calls a tool, reads the result, replies.
"""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_DESTINATION = re.compile(r"\bto ([A-Z]\w*(?: [A-Z]\w*)*)")


def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the next message of the assistant: a tool call, or the reply."""
    last = messages[-1]
    if last["role"] == "tool":
        leaving = [line for line in json.loads(last["content"]).get("lines", ()) if line["next"]]
        first = min(leaving, key=lambda line: line["next"][0], default=None)
        text = first and f"Take {first['line']} at {first['next'][0]} and get off at {first['alight']}."
        return {"role": "assistant", "content": text or "I found no bus."}
    situation = json.loads(messages[0]["content"].partition("as JSON:\n")[2])
    destination = _DESTINATION.search(last["content"])
    if destination is None:
        return {"role": "assistant", "content": "I only know about buses. Where do you want to go?"}
    asked = {"city": situation["city"], "origin": situation["location"]["name"], "destination": destination[1]}
    function = {"name": "get_transit_lines", "arguments": json.dumps(asked)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}


class Handler(BaseHTTPRequestHandler):
    """Answers ``POST /v1/chat/completions``."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together: sent apart, the second may wait 40 ms for the client

    def do_POST(self) -> None:
        """Answer one request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"choices": [{"message": answer(asked["messages"])}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8765), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)  # noqa: T201  # for the one who started it
        server.serve_forever()
