"""An agent whose own service cannot be reached neither passes nor fails: what its client raises is laid to the infrastructure."""

import asyncio
import json
import socket
import subprocess
import sys
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from threading import Thread

import pytest
from episodes import play

import pytest_mapsat as mapsat
from pytest_mapsat.llm.client import library

#: Clients leave sockets to the garbage collector where an exception holds what they read, and have warnings of their own.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("litellm")]


class Answering(BaseHTTPRequestHandler):
    """Answers with the status that the path begins with."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps({"error": {"message": "no", "type": "none"}}).encode()
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Proxy-Authenticate", "Basic")
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *args):
        """Print nothing."""


@pytest.fixture(scope="module")
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def nobody():
    """Give the address of a port at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, so that nobody else takes it; refuses, as it does not listen
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture(scope="module")
def silent():
    """Give the address of a service that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


def with_httpx(url):
    httpx = pytest.importorskip("httpx")
    return lambda: httpx.get(url, timeout=0.3, trust_env=False).raise_for_status()


def with_httpx_in_a_group(url):
    httpx = pytest.importorskip("httpx")

    async def ask():
        async with httpx.AsyncClient(timeout=0.3, trust_env=False) as client, asyncio.TaskGroup() as tasks:
            answers = [tasks.create_task(client.get(url)) for _ in range(2)]
        for answer in answers:
            answer.result().raise_for_status()

    return lambda: asyncio.run(ask())


def with_requests(url):
    requests = pytest.importorskip("requests")
    return lambda: requests.get(url, timeout=0.3).raise_for_status()


def with_requests_that_retries(url):
    requests = pytest.importorskip("requests")
    urllib3 = pytest.importorskip("urllib3")

    def ask():
        with requests.Session() as session:
            retries = urllib3.Retry(1, status_forcelist=[429, 503], backoff_factor=0)
            session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retries))
            session.get(url, timeout=0.3).raise_for_status()

    return ask


def with_urllib(url):
    return lambda: urllib.request.urlopen(url, timeout=5)


def with_aiohttp(url):
    aiohttp = pytest.importorskip("aiohttp")

    async def ask():
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(0.3)) as session, session.get(url) as answer:
            answer.raise_for_status()

    return lambda: asyncio.run(ask())


def with_openai(url):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=0.3)
    return lambda: client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])


def with_litellm(url):
    if find_spec("litellm") is None:
        pytest.skip("litellm is not installed")
    litellm = library()
    said = [{"role": "user", "content": "?"}]
    return lambda: litellm.completion("openai/m", said, api_base=url, api_key="none", max_retries=0, timeout=1)


CLIENTS = [
    with_httpx,
    with_httpx_in_a_group,
    with_requests,
    with_requests_that_retries,
    with_urllib,
    with_aiohttp,
    with_openai,
    with_litellm,
]


def outcome(ask):
    """Return how an episode ends with an agent that asks its own service."""

    def agent(message):
        ask()
        return "Blue Door"

    trajectory = play(agent)
    return trajectory.ending, trajectory.fault.blame, trajectory.fault.message


LOST = ("infrastructure_error", "infrastructure")
FAILED = ("agent_error", "agent")


@pytest.mark.parametrize("status", [401, 407, 429, 500, 503, 529])
@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_that_no_agent_can_help_is_laid_to_the_infrastructure(service, client, status):
    *told, message = outcome(client(f"{service}/{status}"))
    assert tuple(told) == LOST, message
    assert message.startswith("a service of the agent's own cannot be reached: ")
    assert "test_exceptions_of_clients.py:" in message


@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_to_what_the_agent_asked_wrongly_is_its_own_fault(service, client, status):
    *told, message = outcome(client(f"{service}/{status}"))
    assert tuple(told) == FAILED, message


@pytest.mark.parametrize("client", CLIENTS)
def test_a_connection_that_is_refused_is_laid_to_the_infrastructure(nobody, client):
    *told, message = outcome(client(nobody))
    assert tuple(told) == LOST, message


@pytest.mark.parametrize("client", [with_httpx, with_requests, with_openai])
def test_a_service_that_never_answers_is_laid_to_the_infrastructure(silent, client):
    *told, message = outcome(client(silent))
    assert tuple(told) == LOST, message


@pytest.mark.parametrize("client", [with_httpx, with_requests, with_urllib, with_openai])
def test_a_name_that_nobody_knows_is_laid_to_the_infrastructure(client, monkeypatch):
    def unknown(*args, **kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    *told, message = outcome(client("http://nobody.invalid"))
    assert tuple(told) == LOST, message


@pytest.mark.parametrize(("client", "told"), [(with_openai, LOST), (with_litellm, LOST), (with_httpx, FAILED)])
def test_what_a_key_may_not_do_is_told_from_what_an_agent_may_not_ask(service, client, told):
    assert outcome(client(f"{service}/403"))[:2] == told


def raising(error, cause=None, context=None):
    if context is not None:
        error.__context__ = context
    if cause is not None:
        error.__cause__ = cause

    def ask():
        raise error

    return ask


class SlyError(Exception):
    """Answers nobody who looks at it."""

    __slots__ = ()

    def __getattribute__(self, name):
        raise SystemExit(name)

    def __bool__(self):
        raise RuntimeError


def in_a_circle():
    first, second = ValueError("one"), ValueError("two")
    first.__context__, second.__context__ = second, first
    return first


NO_NET = OSError(101, "Network is unreachable")


@pytest.mark.parametrize(
    ("ask", "told", "words"),
    [
        (raising(mapsat.Unavailable("the index is being built")), LOST, "Unavailable: the index is being built"),
        (raising(ConnectionResetError("gone")), LOST, "ConnectionResetError: gone"),
        (raising(NO_NET), LOST, "Network is unreachable"),
        (raising(OSError(110, "Connection timed out")), LOST, "Connection timed out"),
        (
            raising(RuntimeError("gave up"), cause=NO_NET),
            LOST,
            ", because of OSError: [Errno 101] Network is unreachable",
        ),
        (raising(RuntimeError("gave up"), context=NO_NET), LOST, ", because of OSError: [Errno 101] "),
        (raising(SystemExit(1), context=NO_NET), LOST, "SystemExit: 1"),
        (raising(ExceptionGroup("both", [NO_NET, ConnectionRefusedError("no")])), LOST, "ExceptionGroup: both"),
        (raising(ExceptionGroup("one", [NO_NET, KeyError("x")])), FAILED, "ExceptionGroup: one"),
        (raising(RuntimeError("mine"), cause=KeyError("x"), context=NO_NET), FAILED, "RuntimeError: mine"),
        (raising(BrokenPipeError("my own program ended")), FAILED, "BrokenPipeError"),
        (raising(TimeoutError("thought too long")), FAILED, "TimeoutError"),
        (raising(FileNotFoundError(2, "no such file")), FAILED, "FileNotFoundError"),
        (raising(ValueError("connection refused, 503")), FAILED, "ValueError"),
        (raising(in_a_circle()), FAILED, "ValueError: one"),
        (raising(SlyError("x")), FAILED, "the agent raised an exception that cannot be printed"),
    ],
)
def test_only_what_says_so_is_laid_to_the_infrastructure(ask, told, words):
    *found, message = outcome(ask)
    assert tuple(found) == told, message
    assert words in message


def test_from_none_hides_what_came_before():
    def ask():
        try:
            raise NO_NET
        except OSError:
            raise RuntimeError("mine") from None

    assert outcome(ask)[:2] == FAILED


def test_a_404_after_a_429_is_the_agents(service):
    def ask():
        try:
            with_urllib(f"{service}/429")()
        except OSError:
            with_urllib(f"{service}/404")()

    assert outcome(ask)[:2] == FAILED


def test_only_what_leaves_the_agent_counts(nobody):
    def agent(message, tools):
        with suppress(OSError):
            with_urllib(nobody)()
        return f"{tools.find(query='cafe')['places'][0]}"

    assert play(agent).fault is None


def test_the_calls_before_it_are_kept():
    def agent(message, tools):
        tools.find(query="cafe")
        raise mapsat.Unavailable("the index is being built")

    trajectory = play(agent)
    assert (len(trajectory.calls), trajectory.ending) == (1, "infrastructure_error")


def test_a_factory_and_a_coroutine_that_cannot_connect_are_lost_too():
    def make():
        raise ConnectionRefusedError("no")

    async def agent(message):
        await asyncio.sleep(0)
        raise ConnectionRefusedError("no")

    assert [play(one).fault.blame for one in (make, agent)] == ["infrastructure"] * 2


def test_no_client_is_imported_to_know_its_exceptions():
    code = "import sys, pytest_mapsat.agents.returned; print(*sorted({'httpx', 'requests', 'openai', 'litellm'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""
