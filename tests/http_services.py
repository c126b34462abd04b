"""One service on loopback that plays whatever a test wants of it, and a small case to play against it."""

import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.model import Case, Context, Recording, Requirement, ScriptedAnswer, Tool, Truth, UserScript, Visible
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.users import make_user

FIND = Tool(
    name="find",
    description="Find places.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
RECORDING = Recording(case="c", tool="find", arguments={"query": "cafe"}, result={"places": ["Blue Door"]})


def case(**visible):
    """Return a case whose user answers the question "What time?"."""
    context = Context(now="2026-05-01T09:00:00", city="Lindenau", uid="u1")
    return Case(
        id="c",
        visible=Visible(**{"query": "Find a cafe", "context": context, **visible}),
        truth=Truth(
            intent="a cafe",
            requirements=(Requirement(kind="asked", id="e1", text="a cafe is named"),),
            user=UserScript(answers=(ScriptedAnswer(asked=("what time",), say="At nine."),)),
        ),
    )


def play(source, *, played=None, **limits):
    """Run one episode with a source."""
    played = played or case()
    sandbox = RecordedSandbox({"find": FIND}, [RECORDING])
    return run_episode(played, source, make_user("scripted", played), sandbox, Limits(**{"timeout": 20, **limits}))


def said(trajectory):
    """Return what the agent said."""
    return [turn.text for turn in trajectory.turns if turn.role == "agent"]


class Service:
    """A server whose paths are made by tests.

    Attributes:
        url: of the server, without a path.
        heard: every request, in order: path, headers and body.
        connections: of clients, per address.
    """

    def __init__(self):
        service = self
        self.heard = []
        self.connections = Counter()
        self._paths = {}
        self._numbers = iter(range(1_000_000))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = self.path.partition("?")[0]
                request = SimpleNamespace(path=self.path, headers=dict(self.headers), body=json.loads(body), raw=self)
                service.heard.append(request)
                service.connections[self.client_address] += 1
                made = next((made for start, made in service._paths.items() if path.startswith(start)), None)
                answer = (404, {}, b"") if made is None else made(request)
                if answer is not None:
                    self.answer(*answer)

            def answer(self, status, headers, body):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self._headers_buffer.append(b"\r\n" + body)  # one segment
                self.flush_headers()

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # clients that go away are part of the tests

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def at(self, behave):
        """Return the address of a new path that behaves so; what is asked there is found in ``asked``."""
        path = f"/p{next(self._numbers)}/chat"
        self._paths[path] = behave
        return self.url + path

    def asked(self, url):
        """Return the requests to an address and the paths below it, in order."""
        return [request for request in self.heard if (self.url + request.path).startswith(url)]

    @contextmanager
    def running(self):
        """Serve until the context is left."""
        self._thread.start()
        yield self
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def answers(data, status=200, **headers):
    """Return an answer of JSON."""
    return status, {"Content-Type": "application/json", **headers}, json.dumps(data).encode()


def texted(text, kind="text/plain", status=200):
    """Return an answer of a kind of text."""
    return status, {"Content-Type": kind}, text if isinstance(text, bytes) else text.encode()


def events(*data, end="\n"):
    """Return an answer that is a stream of events."""
    lines = [f"data: {part if isinstance(part, str) else json.dumps(part)}{end}{end}" for part in data]
    return 200, {"Content-Type": "text/event-stream"}, "".join(lines).encode()


def source(spec, root, **options):
    """Return the source for a spec."""
    return resolve_source(spec, root=root, **options)
