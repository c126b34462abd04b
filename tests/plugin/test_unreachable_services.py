"""An agent's own service that cannot be reached: the episode is lost to the infrastructure, never AR 0 and never green."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest
import tiny_suite
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


SAYING_NO = [("httpx", 429), ("requests", 503), ("urllib", 500), ("openai", 401), ("openai", 429)]
ANSWERED_BY_NOBODY = [
    *[(client, "http://127.0.0.1:1") for client in ("httpx", "requests", "urllib", "openai", "socket")],
    ("urllib", "http://nowhere.invalid:80"),
    ("socket", "http://nowhere.invalid:80"),
]
WRONG = [("httpx", 404), ("urllib", 422), ("openai", 400)]
RAISED = {
    "unavailable": ("import pytest_mapsat\n\ndef agent(message): raise pytest_mapsat.Unavailable('search is down')", "infrastructure"),
    "wrapped": ("def agent(message):\n    try: raise ConnectionRefusedError(111, 'refused')\n    except OSError as error: raise RuntimeError('no model') from error", "infrastructure"),
    "handled": ("def agent(message):\n    try: raise ConnectionRefusedError(111, 'refused')\n    except OSError: raise RuntimeError('my own mistake') from None", "agent"),
    "other": ("def agent(message): raise BrokenPipeError('of a child')", "agent"),
    "no address": ("from urllib.request import urlopen\n\ndef agent(message): return urlopen('nothing://x').read()", "agent"),
}  # fmt: skip
ISOLATED = ("unavailable", "other")
#: Does what the module does that the message names.
AGENT = "from importlib import import_module\n\ndef agent(message): return import_module(message).agent(message)\n"


def episodes_of(folder, python, modules, *options):
    """Play a case by each module, all in one run; return its result, and the scorecards by the names of the modules.

    A process of its own: clients keep classes of modules that pytester has loaded anew.
    """
    cases = [tiny_suite.case(name) for name in modules]
    for case, (name, code) in zip(cases, modules.items(), strict=True):
        case["visible"]["query"] = name
        (folder / f"{name}.py").write_text(code)
    tiny_suite.write_suite(folder / "benchmark_cases", {"nav/a.jsonl": cases})
    (folder / "calling.py").write_text(AGENT)
    command = [python, "-m", "pytest", "--mapsat-agent=calling:agent", "--mapsat-save=run.json", *options]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    run_file = json.loads((folder / "run.json").read_text("utf-8"))
    return result, {card["id"]: card for card in run_file["cases"]}


def module_of(client, place):
    """Return the name of the module that asks there."""
    return f"asks-{client}-{place}".translate(str.maketrans(":/.", "---"))


@pytest.fixture(scope="module")
def cards(tmp_path_factory, warm, server):
    """What becomes of an episode by each client at each service, and by each agent that raises something itself."""
    modules = {f"raises-{how.replace(' ', '-')}": code for how, (code, _) in RAISED.items()}
    for client, place in [*SAYING_NO, *ANSWERED_BY_NOBODY, *WRONG]:
        if find_spec(client):
            url = place if isinstance(place, str) else f"{server}/{place}"
            modules[module_of(client, place)] = f"{ASKING[client]}\n\ndef agent(message):\n    return ask({url!r})\n"
    result, cards = episodes_of(tmp_path_factory.mktemp("here"), warm, modules, "--mapsat-concurrency=8")
    assert result.returncode == 1, result.stdout + result.stderr
    return cards


@pytest.fixture(scope="module")
def isolated_cards(tmp_path_factory, warm):
    """What becomes of an episode by some agents that raise something in a process of their own."""
    modules = {f"raises-{how}": RAISED[how][0] for how in ISOLATED}
    return episodes_of(tmp_path_factory.mktemp("isolated"), warm, modules, "--mapsat-isolate")[1]


def card_of(cards, client, place):
    """Return the scorecard of the episode in which the client asks there."""
    if not find_spec(client):
        pytest.skip(f"{client} is not installed")
    return cards[module_of(client, place)]


@pytest.mark.parametrize(("client", "status"), SAYING_NO)
def test_a_service_that_says_no_loses_the_episode(cards, client, status):
    card = card_of(cards, client, status)
    assert (card["outcome"], card["blame"], card["metrics"]["ar"]) == ("error", "infrastructure", None)


@pytest.mark.parametrize(("client", "url"), ANSWERED_BY_NOBODY)
def test_a_service_that_nobody_answers_at_loses_the_episode(cards, client, url):
    card = card_of(cards, client, url)
    assert (card["outcome"], card["blame"]) == ("error", "infrastructure")


@pytest.mark.parametrize(("client", "status"), WRONG)
def test_a_request_that_is_wrong_is_the_agents_own(cards, client, status):
    card = card_of(cards, client, status)
    assert (card["blame"], card["metrics"]["ar"]) == ("agent", 0.0)


@pytest.mark.parametrize(
    ("how", "kind"), [*[(how, "cards") for how in RAISED], *[(how, "isolated_cards") for how in ISOLATED]]
)
def test_what_an_agent_raises_itself_is_told_apart(request, how, kind):
    card = request.getfixturevalue(kind)[f"raises-{how.replace(' ', '-')}"]
    blame = RAISED[how][1]
    assert card["blame"] == blame
    assert card["metrics"]["ar"] == (0.0 if blame == "agent" else None)


def test_a_lost_episode_turns_the_run_red_and_is_played_again_when_the_run_is_resumed(project):
    code = "import pathlib\nimport pytest_mapsat\n\ndef agent(message, tools):\n    if not pathlib.Path('up').exists(): raise pytest_mapsat.Unavailable('down')\n    return 'Blue Bay'"
    project.makepyfile(calling=code)
    options = ("--mapsat-agent=calling:agent", "--mapsat-save=run.json", "-k", "nav-one")
    result = project.runpytest(*options)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate*INVALID: 1 case lost (infrastructure 1: nav-one)"])
    (project.path / "up").touch()
    result = project.runpytest(*options, "--mapsat-resume=run.json")
    card = saved(project)["cases"][0]
    assert card["outcome"] == "passed", result.stdout.str()
