"""Live calls against a scripted server: what comes through, what breaks, what is kept, what it may cost."""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from scripted_models import KEY, Broken, ScriptedModels, problem, said

from pytest_mapsat.llm import (
    LiteLLMClient,
    ModelError,
    Patience,
    Request,
    SpendingLimits,
    ceilings_met,
    export_entries,
    import_entries,
    open_door,
)
from pytest_mapsat.model import Usage

#: Long enough for a machine under load; what has to wait in vain is given less.
QUICK = Patience(seconds=120, attempt=30, attempts=3, first_wait=0.01)
IMPATIENT = Patience(seconds=20, attempt=2, attempts=5, first_wait=0.01)
Opened = Callable[..., LiteLLMClient]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Open doors on one store, as the processes of a run do."""
    doors: list[LiteLLMClient] = []

    def door(mode: Any = "auto", limits: SpendingLimits | None = None, patience: Patience = QUICK) -> LiteLLMClient:
        doors.append(open_door(mode, limits, run="r", folder=tmp_path / "store", patience=patience))
        return doors[-1]

    yield door
    for one in doors:
        one.close()


def asked(text: str = "hi", **more: Any) -> Request:
    return Request(model="openai/gpt-4o-mini", messages=({"role": "user", "content": text},), **more)


def test_an_answer_is_asked_for_once(models: ScriptedModels, opened: Opened) -> None:
    models.answers(said("hello"))
    first = opened().ask(asked())
    again = opened().ask(asked())
    assert (first.text, first.finish) == ("hello", "stop")
    assert first.usage == Usage(input_tokens=100, output_tokens=10, cost=2.1e-05)
    assert again == first
    assert len(models.requests) == 1
    opened().ask(asked(vote=2))
    assert len(models.requests) == 2


def test_tools_schema_and_parameters_reach_the_model_and_its_calls_come_back(
    models: ScriptedModels, opened: Opened
) -> None:
    tools = ({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}},)
    models.answers(said(calls=[("f", {"a": "中"}), ("g", "{broken"), ("h", "[1]"), ("i", "")]), said('{"a": 1}'))
    answer = opened("off").ask(asked(tools=tools, parameters={"temperature": 0.5}, seed=7))
    assert [(call.name, call.arguments) for call in answer.tool_calls] == [
        ("f", {"a": "中"}),
        ("g", None),
        ("h", None),
        ("i", {}),
    ]
    sent = models.requests[0]
    assert (sent["model"], sent["temperature"], sent["seed"], sent["tools"]) == ("gpt-4o-mini", 0.5, 7, list(tools))
    assert opened("off").ask(asked(schema={"type": "object"})).data == {"a": 1}
    assert models.requests[1]["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize(
    "passing",
    [
        problem(429, "slow", Retry_After="0.05"),
        problem(500, "boom"),
        problem(503, "boom"),
        Broken(200, '{"id": 1', cut=True),
        Broken(200, "<html>a proxy</html>"),
        Broken(200, "{}"),
    ],
    ids=["429", "500", "503", "cut", "html", "no-choices"],
)
def test_what_may_pass_is_tried_again(models: ScriptedModels, opened: Opened, passing: Broken) -> None:
    models.answers(passing, said("hello"))
    assert opened().ask(asked()).text == "hello"
    assert len(models.requests) == 2


def test_a_service_that_hangs_is_left_behind_and_asked_again(models: ScriptedModels, opened: Opened) -> None:
    models.answers(Broken(hang=True), said("hello"))
    assert opened(patience=IMPATIENT).ask(asked()).text == "hello"
    assert len(models.requests) >= 2


@pytest.mark.parametrize(
    ("answer", "kind", "told", "attempts"),
    [
        (problem(429, "slow"), "rate_limited", "slow (3 attempts)", 3),
        (problem(500, "boom"), "unavailable", "boom (3 attempts)", 3),
        (
            problem(401, f"Incorrect API key provided: {KEY}"),
            "no_key",
            "[redacted OPENAI_API_KEY]; set the service's key",
            1,
        ),
        (problem(404, "no such model", "model_not_found"), "unknown_model", "name it as litellm does", 1),
        (problem(400, "maximum context length is 8", "context_length_exceeded"), "too_long", "context length", 1),
        (problem(400, "response_format is not known"), "rejected", "response_format is not known", 1),
        (problem(402, "no credit"), "rejected", "no credit", 1),
        (said(None), "empty", "gave an empty reply", 1),
        (said(" \n"), "empty", "gave an empty reply", 1),
        (said("half a", finish="length"), "cut", "was cut off after 6 characters", 1),
        (said(None, refusal="I will not"), "refused", "refused: 'I will not'", 1),
        (said("x", finish="content_filter"), "refused", "content_filter", 1),
        (said("no JSON"), "malformed", "was asked for a JSON object and gave 'no JSON'", 1),
        (said('{"a": NaN}'), "malformed", "was asked for a JSON object", 1),
        (said("[1]"), "malformed", "was asked for a JSON object", 1),
    ],
)
def test_a_fault_is_named_blamed_and_never_kept(  # noqa: PLR0917
    models: ScriptedModels, opened: Opened, answer: Any, kind: str, told: str, attempts: int
) -> None:
    models.answers(answer)
    request = asked(schema={"type": "object"}, purpose="judge")
    with pytest.raises(ModelError) as caught:
        opened().ask(request)
    assert (caught.value.kind, caught.value.blame) == (kind, "judge")
    assert told in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(models.requests) == attempts
    assert caught.value.usage.input_tokens == (100 if isinstance(answer, dict) else None)
    models.answers(said('{"a": 1}'))
    assert opened().ask(request).data == {"a": 1}


def test_a_model_that_no_service_has_and_a_missing_key_are_told(
    models: ScriptedModels, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match="name it as litellm does") as caught:
        opened().ask(Request(model="nonsense", messages=asked().messages))
    assert (caught.value.kind, caught.value.blame) == ("unknown_model", "infrastructure")
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelError, match="set the service's key") as caught:
        opened().ask(asked())
    assert caught.value.kind == "no_key"
    assert models.requests == []


def test_retry_after_is_waited_for_and_beyond_the_time_given_up(models: ScriptedModels, opened: Opened) -> None:
    models.answers(problem(429, "slow", Retry_After="0.4"), said("hello"))
    started = monotonic()
    opened().ask(asked())
    assert monotonic() - started >= 0.4
    models.answers(problem(429, "slow", Retry_After="60"))
    started = monotonic()
    with pytest.raises(ModelError, match="slow"):
        opened(patience=IMPATIENT).ask(asked("other"))
    assert monotonic() - started < 20
    assert len(models.requests) == 1


def test_a_call_ends_when_nobody_wants_it_any_more(models: ScriptedModels, opened: Opened) -> None:
    models.answers(Broken(hang=True))
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    with pytest.raises(ModelError) as caught:
        opened(patience=Patience()).ask(asked(), cancelled=cancelled)
    assert caught.value.kind == "cancelled"


def test_without_calls_a_miss_says_what_the_nearest_entry_has_instead(models: ScriptedModels, opened: Opened) -> None:
    models.answers(said("hello"))
    opened().ask(asked("Is the park near the river open?\nYes."))
    opened().ask(asked("Something else altogether"))
    with pytest.raises(ModelError) as caught:
        opened("only").ask(asked("Is the park near the lake open?\nYes.", parameters={"temperature": 0.0}, vote=2))
    assert caught.value.kind == "not_cached"
    told = str(caught.value)
    assert "parameters ({}, now {'temperature': 0.0}); vote (1, now 2); message 1 (user): " in told
    assert "river open" in told
    assert "lake open" in told
    assert "python -m pytest_mapsat cache import" in told
    with pytest.raises(ModelError, match="has none to anything like it"):
        opened("only").ask(asked("hi", purpose="judge"))
    assert opened("only").ask(asked("Something else altogether")).text
    assert len(models.requests) == 2


def test_refresh_asks_anew_once_and_off_keeps_nothing(models: ScriptedModels, opened: Opened) -> None:
    models.answers(said("old"), said("new"), said("newer"))
    opened().ask(asked())
    client = opened("refresh")
    assert [client.ask(asked()).text for _ in range(2)] == ["new", "new"]
    assert opened().ask(asked()).text == "new"
    assert opened("off").ask(asked()).text == "newer"
    assert opened().ask(asked()).text == "new"


def test_of_two_that_ask_at_once_the_first_answer_counts_for_both(models: ScriptedModels, opened: Opened) -> None:
    both = threading.Barrier(2)

    def script(_body: object, number: int) -> dict[str, Any]:
        return said(f"answer {number}")

    models.script = script
    doors, texts = [opened(), opened()], []

    def ask(client: LiteLLMClient) -> None:
        both.wait()
        texts.append(client.ask(asked()).text)

    threads = [threading.Thread(target=ask, args=(client,)) for client in doors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts)) == 1
    assert opened("only").ask(asked()).text == texts[0]


def test_a_ceiling_ends_the_asking_and_what_is_kept_still_answers(models: ScriptedModels, opened: Opened) -> None:
    models.answers(said("hello"))
    for limits, told in ((SpendingLimits(max_cost=3e-05), "max-cost=3e-05: the run has spent 0.0000 USD"),):
        first, second = opened(limits=limits), opened(limits=limits)
        first.ask(asked("1"))
        second.ask(asked("2"))
        with ceilings_met() as met, pytest.raises(ModelError, match=told) as caught:
            first.ask(asked("3"))
        assert (caught.value.kind, met) == ("ceiling", [str(caught.value)])
        assert first.ask(asked("1")).text


def test_a_ceiling_in_dollars_needs_a_price(models: ScriptedModels, opened: Opened) -> None:
    with pytest.raises(ModelError, match=r"price of openai/home-made is not known.*leave it out"):
        opened(limits=SpendingLimits(max_cost=1)).ask(Request(model="openai/home-made", messages=asked().messages))
    assert models.requests == []


def test_keys_are_struck_out_of_logs(models: ScriptedModels, opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    models.answers(problem(401, f"Incorrect API key provided: {KEY}"))
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError):
        opened().ask(asked())
    logging.getLogger("httpx").warning("sent with %s and ?key=AIzaSyA1234567890abcd", KEY)
    assert KEY not in caplog.text
    assert "AIzaSy" not in caplog.text


def test_the_environment_is_left_as_it_was(models: ScriptedModels, opened: Opened) -> None:
    before = dict(os.environ)
    models.answers(said("hello"))
    opened().ask(asked())
    assert dict(os.environ) == before


def test_answers_move_from_store_to_store_in_a_file(models: ScriptedModels, opened: Opened, tmp_path: Path) -> None:
    models.answers(said("hello"))
    client = opened()
    for number in range(3):
        client.ask(asked(f"question {number}"))
    file = tmp_path / "answers.jsonl"
    assert export_entries(client.cache, file) == 3
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], '{"request": {}}', "nonsense", *lines[1:], lines[2]]) + "\n")
    other = open_door("only", folder=tmp_path / "other")
    found = import_entries(other.cache, file)
    assert (found.taken, found.known) == (3, 1)
    assert [problem.line for problem in found.problems][-1] == 3
    assert {problem.line for problem in found.problems} == {2, 3}
    assert other.ask(asked("question 1")).text == "hello"
    second = tmp_path / "again.jsonl"
    export_entries(other.cache, second)
    assert second.read_text().splitlines() == lines
    other.close()
