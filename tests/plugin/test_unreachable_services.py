"""An agent's own service that cannot be reached: the episode is lost to the infrastructure, never AR 0 and never green."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from saved_runs import saved

ASKING = {
    "httpx": "import httpx\n\ndef ask(url): return httpx.get(url, trust_env=False).raise_for_status().text",
    "requests": "import requests\n\ndef ask(url):\n    answer = requests.get(url, proxies={'http': ''})\n    answer.raise_for_status()\n    return answer.text",
    "urllib": "from urllib.request import ProxyHandler, build_opener\n\ndef ask(url): return build_opener(ProxyHandler({})).open(url).read().decode()",
    "openai": "import httpx, openai\n\ndef ask(url):\n    client = openai.OpenAI(api_key='k', base_url=url, max_retries=0, http_client=httpx.Client(trust_env=False))\n    return client.chat.completions.create(model='m', messages=[{'role': 'user', 'content': 'hi'}]).choices[0].message.content",
    "socket": "import socket\nfrom urllib.parse import urlsplit\n\ndef ask(url):\n    place = urlsplit(url)\n    return socket.create_connection((place.hostname, place.port)).recv(1).decode()",
}


@pytest.fixture(scope="module")
def server():
    """Answers with the status that the path names."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.send_response(int(self.path.split("/")[1]))
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()


def played(project: pytest.Pytester, code: str, *options: str) -> tuple[pytest.RunResult, dict]:
    project.makepyfile(calling=code)
    options = ("--mapsat-agent=calling:agent", "--mapsat-save=run.json", "-k", "nav-one", *options)
    # A process of its own: clients keep classes of modules that pytester has loaded anew.
    result = project.runpytest_subprocess(*options)
    return result, saved(project)["cases"][0]


def asking(client: str, url: str) -> str:
    pytest.importorskip(client)
    return f"{ASKING[client]}\n\ndef agent(message):\n    return ask({url!r})\n"


@pytest.mark.parametrize(
    ("client", "status"), [("httpx", 429), ("requests", 503), ("urllib", 500), ("openai", 401), ("openai", 429)]
)
def test_a_service_that_says_no_loses_the_episode(project, server, client, status):
    result, card = played(project, asking(client, f"{server}/{status}"))
    assert (card["outcome"], card["blame"], card["metrics"]["ar"]) == ("error", "infrastructure", None)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate*INVALID: 1 case lost (infrastructure 1: nav-one)"])


@pytest.mark.parametrize(
    ("client", "url"),
    [
        *[(client, "http://127.0.0.1:1") for client in ("httpx", "requests", "urllib", "openai", "socket")],
        ("urllib", "http://nowhere.invalid:80"),
        ("socket", "http://nowhere.invalid:80"),
    ],
)
def test_a_service_that_nobody_answers_at_loses_the_episode(project, client, url):
    _, card = played(project, asking(client, url))
    assert (card["outcome"], card["blame"]) == ("error", "infrastructure")


@pytest.mark.parametrize(("client", "status"), [("httpx", 404), ("urllib", 422), ("openai", 400)])
def test_a_request_that_is_wrong_is_the_agents_own(project, server, client, status):
    _, card = played(project, asking(client, f"{server}/{status}"))
    assert (card["blame"], card["metrics"]["ar"]) == ("agent", 0.0)


RAISED = {
    "unavailable": ("import pytest_mapsat\n\ndef agent(message): raise pytest_mapsat.Unavailable('search is down')", "infrastructure"),
    "wrapped": ("def agent(message):\n    try: raise ConnectionRefusedError(111, 'refused')\n    except OSError as error: raise RuntimeError('no model') from error", "infrastructure"),
    "handled": ("def agent(message):\n    try: raise ConnectionRefusedError(111, 'refused')\n    except OSError: raise RuntimeError('my own mistake') from None", "agent"),
    "other": ("def agent(message): raise BrokenPipeError('of a child')", "agent"),
    "no address": ("from urllib.request import urlopen\n\ndef agent(message): return urlopen('nothing://x').read()", "agent"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("how", "isolated"),
    [*[(how, ()) for how in RAISED], *[(how, ("--mapsat-isolate",)) for how in ("unavailable", "other")]],
)
def test_what_an_agent_raises_itself_is_told_apart(project, how, isolated):
    code, blame = RAISED[how]
    _, card = played(project, code, *isolated)
    assert card["blame"] == blame
    assert card["metrics"]["ar"] == (0.0 if blame == "agent" else None)


def test_a_lost_episode_is_played_again_when_the_run_is_resumed(project):
    code = "import pathlib\nimport pytest_mapsat\n\ndef agent(message, tools):\n    if not pathlib.Path('up').exists(): raise pytest_mapsat.Unavailable('down')\n    return 'Blue Bay'"
    played(project, code)
    (project.path / "up").touch()
    result = project.runpytest(
        "--mapsat-agent=calling:agent", "--mapsat-resume=run.json", "--mapsat-save=run.json", "-k", "nav-one"
    )
    card = saved(project)["cases"][0]
    assert card["outcome"] == "passed", result.stdout.str()
