"""The shipped considerate agent as a service: in JSON of its own with tools over MCP, and as the model behind OpenAI's chat completions."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

from considerate_program import OverMcp

from shipped_agents.considerate import agent


class Needs(Exception):  # noqa: N818  # no error: the model wants to call
    """A call whose result is not known yet."""


class Known:
    """Tools whose results stand in the messages, in order; the first call behind them is raised."""

    def __init__(self, results):
        self._results = iter(results)

    def call(self, name, arguments):
        for result in self._results:
            return result
        raise Needs(name, dict(arguments))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self._chat(asked) if self.path.endswith("/chat/completions") else self._own(asked)
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _own(self, asked):
        state = self.server.states.setdefault(asked["session"], {})
        tools = OverMcp(self.headers["X-Mapsat-MCP-Url"], self.headers["X-Mapsat-MCP-Token"])
        return {
            "text": agent(
                asked["message"], tools, asked["context"], SimpleNamespace(state=state, messages=asked["messages"])
            )
        }

    def _chat(self, asked):
        """Play the dialogue from its beginning, as a model that keeps nothing reads it, up to the first call without a result."""
        system, *messages = asked["messages"]
        context = {"history": [], "location": None, **json.loads(system["content"].partition("as JSON:\n")[2])}
        tools = Known(json.loads(message["content"]) for message in messages if message["role"] == "tool")
        session = SimpleNamespace(state={}, messages=[])
        try:
            for message in messages:
                session.messages += [message] if message["role"] in ("user", "assistant") and message["content"] else []
                if message["role"] == "user":
                    text = agent(message["content"], tools, context, session)
        except Needs as wanted:
            name, arguments = wanted.args
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"id": f"call_{len(messages)}", "type": "function", "function": function}
            return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
        return {"choices": [{"message": {"role": "assistant", "content": text}}]}

    def log_message(self, *_):
        pass


@contextmanager
def running():
    """Give the address of the service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.states = True, {}
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
