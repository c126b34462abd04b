"""--mapsat-model-cache: what an agent asks of models by itself is kept, and replayed without a key or a connection."""

import importlib
import json
import sqlite3
import sys

import pytest
from saved_runs import saved_timeless
from scripted_models import KEY, Broken, ScriptedModels, problem, said, scripted_models

from pytest_mapsat import store
from pytest_mapsat.cli import main

AGENTS = """
import asyncio, json, os
from concurrent.futures import ThreadPoolExecutor

import httpx


def text_of(message, tools):
    pois = tools.search_poi(query="charger")["pois"]
    return f"{message} {json.dumps(pois)} {os.environ['OPENAI_API_KEY']}"


def plain(message, tools):
    from openai import OpenAI

    with OpenAI(api_key=os.environ["OPENAI_API_KEY"], max_retries=2) as client:
        asked = [{"role": "user", "content": text_of(message, tools)}]
        return client.chat.completions.create(model="gpt-4o-mini", messages=asked).choices[0].message.content


async def streamed(message, tools):
    from openai import AsyncOpenAI

    async with AsyncOpenAI() as client:
        asked = [{"role": "user", "content": text_of(message, tools)}]
        parts = await client.chat.completions.create(model="gpt-4o-mini", messages=asked, stream=True)
        return "".join([part.choices[0].delta.content or "" async for part in parts])


def post(message):
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions?api_key=abc"
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": message}]}
    answer = httpx.post(url, json=body, verify=False)
    return answer.json()["choices"][0]["message"]["content"] if answer.is_success else "I suggest Blue Bay."


def bare(message, tools):
    tools.search_poi(query="charger")
    return post(message)


def threaded(message, tools):
    tools.search_poi(query="charger")
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(post, message).result()


async def equal(message, tools):
    tools.search_poi(query="charger")
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Which one?"}]}
    async with httpx.AsyncClient() as client:
        first, second = [(await client.post(url, json=body)).json() for _ in range(2)]
    return " ".join(answer["choices"][0]["message"]["content"] for answer in (first, second))


def crowd(message, tools):
    tools.search_poi(query="charger")
    with ThreadPoolExecutor(4) as pool:
        return " ".join(pool.map(post, ["Which one?"] * 4))


def patient(message, tools):
    tools.search_poi(query="charger")
    return next(text for text in (post("Which one?") for _ in range(3)) if "Bay" in text and "," in text)


def asks_all(message, tools):
    tools.search_poi(query="charger")
    base = os.environ["OPENAI_BASE_URL"]
    with httpx.Client() as client:
        client.post(base + "/generate", json={"inputs": "Which one?"})
        client.post(base + "/rerank", json={"model": "m", "query": "charger", "documents": ["a"]})
        client.post(base + "/audio/transcriptions", files={"file": b"RIFF"}, data={"model": "whisper-1"})
        client.post(base + "/audio/speech", json={"model": "tts-1", "input": "Here."})
        client.post(base + "/images/edits", files={"image": b"PNG"})
        client.get(base + "/models")
    return "I suggest Blue Bay."


def by_urllib(message, tools):
    from urllib.request import Request, urlopen

    tools.search_poi(query="charger")
    asked = Request(os.environ["OPENAI_BASE_URL"] + "/generate", data=b'{"inputs": "x"}')
    try:
        urlopen(asked, timeout=5).read()
    except OSError:
        pass
    return "I suggest Blue Bay."


def other(message, tools):
    tools.search_poi(query="charger")
    httpx.post(os.environ["OPENAI_BASE_URL"] + "/orders", json={"order": 1}, verify=False)
    return "I suggest Blue Bay."
"""
SUGGESTED = said("I suggest Blue Bay.")


@pytest.fixture(scope="module")
def service():
    """Return a server of models; the library that agents ask it with is imported once for all runs."""
    importlib.import_module("openai")
    with scripted_models() as running:
        yield running


@pytest.fixture
def models(service: ScriptedModels, project: pytest.Pytester, monkeypatch) -> ScriptedModels:
    for name, value in service.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(project.path / "store"))
    project.makepyfile(model_asking=AGENTS)
    service.answers(SUGGESTED)
    return service


def run(project, agent, *options):
    return project.runpytest(f"--mapsat-agent=model_asking:{agent}", "--mapsat-model-cache", *options)


def words_of(result):
    """Return what a run printed, without its line breaks."""
    return " ".join(result.stdout.str().split())


def test_a_second_run_calls_no_model_and_is_the_same_run(project, models):
    first = run(project, "plain", "--mapsat-save=one.json")
    first.assert_outcomes(passed=3)
    asked = len(models.requests)
    assert asked
    models.answers(problem(500, "this server is not to be asked"))
    run(project, "plain", "--mapsat-save=two.json", "--mapsat-cache=only").assert_outcomes(passed=3)
    assert models.requests == []
    assert saved_timeless(project, "one.json")["cases"] == saved_timeless(project, "two.json")["cases"]


def test_a_stream_is_replayed_as_a_stream(project, models):
    parts = ["I suggest ", "Blue Bay."]
    lines = [
        {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": {"content": part}}]}
        for part in parts
    ]  # fmt: skip
    body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
    models.answers(Broken(200, body, {"Content-Type": "text/event-stream"}))
    run(project, "streamed").assert_outcomes(passed=3)
    models.answers(problem(500, "this server is not to be asked"))
    run(project, "streamed", "--mapsat-cache=only").assert_outcomes(passed=3)
    assert models.requests == []


def test_an_answer_that_is_not_kept_makes_the_gate_invalid_whatever_the_agent_replies(project, models):
    result = run(project, "bare", "--mapsat-cache=only")
    assert result.ret == 1
    assert models.requests == []
    out = words_of(result)
    assert "--mapsat-cache=only: no answer to a call of gpt-4o-mini is kept" in out
    assert "gate INVALID" in out


def test_a_library_that_asks_again_by_itself_is_told_not_to(project, models):
    result = run(project, "plain", "--mapsat-cache=only", "-k", "find-one")
    assert "no answer to a call of gpt-4o-mini is kept" in words_of(result)
    assert models.requests == []


def test_calls_of_threads_without_the_context_of_an_episode_are_replayed_and_missed_too(project, models):
    result = run(project, "threaded", "--mapsat-cache=only")
    assert "gate INVALID" in words_of(result)
    run(project, "threaded").assert_outcomes(passed=3)
    models.answers(problem(500, "this server is not to be asked"))
    run(project, "threaded", "--mapsat-cache=only").assert_outcomes(passed=3)


def turns_of(project, name):
    return [card["trajectory"]["turns"][1] for card in saved_timeless(project, name)["cases"]]


@pytest.mark.parametrize("agent", ["equal", "crowd"])
def test_equal_prompts_of_several_cases_are_replayed_as_they_were_answered(project, models, agent):
    models.together = True
    models.script = lambda _body, number: said(f"I suggest Blue Bay, {number}.")
    width = "--mapsat-concurrency=3"
    first = run(project, agent, width, "--mapsat-trials=2", "--mapsat-save=one.json")
    shares = "cache 24 calls of models in threads without the agent's context" in words_of(first)
    assert shares == (agent == "crowd")
    asked = len(models.requests)
    models.answers(problem(500, "this server is not to be asked"))
    run(project, agent, width, "--mapsat-trials=2", "--mapsat-save=two.json", "--mapsat-cache=only")
    assert (models.requests, turns_of(project, "two.json")) == ([], turns_of(project, "one.json"))
    assert asked == 12 or agent == "crowd"
    assert len({turn["text"] for turn in turns_of(project, "one.json")}) == (6 if agent == "equal" else 1)


def test_a_try_that_brought_no_answer_takes_no_place(project, models):
    models.answers(problem(503, "later"), said("I suggest Blue Bay, 1."))
    run(project, "patient", "-k", "find-one").assert_outcomes(passed=1)
    models.answers(problem(500, "this server is not to be asked"))
    run(project, "patient", "-k", "find-one", "--mapsat-cache=only").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("agent", "first"), [("asks_all", "a request to http://127.0.0.1:"), ("by_urllib", "a connection to 127.0.0.1:")]
)
def test_what_is_not_replayed_is_refused_unless_its_host_is_allowed(project, models, agent, first):
    out = words_of(run(project, agent, "-k", "find-one", "--mapsat-cache=only"))
    assert models.requests == []
    assert f"--mapsat-cache=only: {first}" in out
    assert "gate INVALID" in out
    if agent == "by_urllib":
        host = models.url.split("/")[2]
        run(project, agent, "-k", "find-one", "--mapsat-cache=only", f"--mapsat-allow-hosts=a.example, {host}")
        assert models.requests == [{"inputs": "x"}]


def test_a_host_that_is_none_is_a_usage_error(project, models):
    result = run(project, "plain", "--mapsat-allow-hosts=http://a.example/v1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "expected hosts with commas between" in result.stderr.str()


def test_the_tokens_of_bodies_count_in_the_recorded_run_and_in_the_replayed_one(project, models):
    for name, mode in [("one.json", "auto"), ("two.json", "only")]:
        run(project, "equal", f"--mapsat-save={name}", f"--mapsat-cache={mode}")
        spent = [(turn["usage"]["input_tokens"], turn["usage"]["output_tokens"]) for turn in turns_of(project, name)]
        assert spent == [(200, 20)] * 3


def test_diskcache_is_needed_and_litellm_is_not(project, models, monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    run(project, "bare", "-k", "find-one").assert_outcomes(passed=1)
    monkeypatch.setitem(sys.modules, "diskcache", None)
    store._library.cache_clear()
    result = run(project, "bare", "-k", "find-one")
    assert "needs diskcache, which is not installed; pip install diskcache" in result.stderr.str()


def test_each_trial_asks_for_itself(project, models):
    models.script = lambda _body, number: said(f"I suggest Blue Bay, {number}.")
    run(project, "bare", "--mapsat-trials=2", "-k", "find-one", "--mapsat-save=one.json")
    texts = [card["trajectory"]["turns"][1]["text"] for card in saved_timeless(project, "one.json")["cases"]]
    assert texts == ["I suggest Blue Bay, 0.", "I suggest Blue Bay, 1."]


def test_a_fault_of_the_service_is_not_kept_and_other_requests_are_none_of_ours(project, models):
    models.answers(problem(500, "later"), SUGGESTED)
    run(project, "bare", "-k", "find-one")
    run(project, "bare", "-k", "find-one").assert_outcomes(passed=1)
    assert len(models.requests) == 2
    models.answers(SUGGESTED)
    run(project, "other", "-k", "find-one")
    run(project, "other", "-k", "find-one")
    assert [body for body in models.requests if "order" in body] == [{"order": 1}] * 2


def test_refresh_asks_anew_and_keeps_the_new_answer(project, models):
    run(project, "bare", "-k", "find-one")
    models.answers(said("I suggest Blue Bay again."))
    run(project, "bare", "-k", "find-one", "--mapsat-cache=refresh")
    assert len(models.requests) == 1
    run(project, "bare", "-k", "find-one", "--mapsat-cache=only", "--mapsat-save=two.json")
    assert (
        saved_timeless(project, "two.json")["cases"][0]["trajectory"]["turns"][1]["text"] == "I suggest Blue Bay again."
    )


def test_answers_travel_in_a_file_that_holds_no_key(project, models, monkeypatch, capsys):
    run(project, "plain").assert_outcomes(passed=3)
    assert main(["cache", "export", "answers.jsonl"], rare=True) == 0
    text = (project.path / "answers.jsonl").read_text()
    assert "gpt-4o-mini" in text
    assert KEY not in text
    assert "api_key" not in text
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(project.path / "elsewhere"))
    assert main(["cache", "import", "answers.jsonl"], rare=True) == 0
    assert main(["cache", "info", "--json"], rare=True) == 0
    told = capsys.readouterr().out
    assert '"purpose": "agent, its own calls"' in told
    models.answers(problem(500, "this server is not to be asked"))
    run(project, "plain", "--mapsat-cache=only").assert_outcomes(passed=3)
    assert main(["cache", "import", "answers.jsonl"], rare=True) == 0
    assert "0 answers added" in capsys.readouterr().out


def test_a_damaged_entry_is_told_and_nothing_is_green(project, models):
    run(project, "bare", "-k", "find-one").assert_outcomes(passed=1)
    with sqlite3.connect(project.path / "store" / "cache.db") as database:
        database.execute("UPDATE Cache SET value = ? WHERE key LIKE 'exchange/%'", (b"damaged",))
    result = run(project, "bare", "-k", "find-one")
    assert "python -m pytest_mapsat cache clear" in words_of(result)
    assert result.ret == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--mapsat-agent=model_asking:bare", "--mapsat-cache=off"], "--mapsat-cache=off keeps nothing"),
        (["--mapsat-agent=model_asking:bare", "--mapsat-isolate"], "processes of their own"),
        (["--mapsat-agent=baseline:silent"], "baseline:silent is no agent in this process"),
    ],
)
def test_what_cannot_be_replayed_is_refused_before_anything_runs(project, options, reason):
    project.makepyfile(model_asking="def bare(message):\n    return 'x'\n")
    result = project.runpytest("--mapsat-model-cache", *options)
    assert result.ret == 4
    assert reason in result.stderr.str()
