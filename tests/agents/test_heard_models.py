"""Agents that ask models by themselves: what the models tell on the wire counts, without glue."""

import gzip
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from scripted_models import Broken, said, scripted_models

from pytest_mapsat import Reply
from pytest_mapsat.llm import HeardAnswer

sys.path.insert(0, str(Path(__file__).parents[1] / "episode"))
from episodes import play

MESSAGES = [{"role": "user", "content": "Find a cafe"}]
SSE = {"Content-Type": "text/event-stream"}
THINKING = {"type": "thinking", "thinking": "Close by.", "signature": "s"}
ANTHROPIC = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [THINKING, {"type": "text", "text": "Blue Door"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 100, "output_tokens": 10},
}
RESPONSES = {
    "id": "r1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "gpt-5",
    "output": [
        {"id": "rs1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Close by."}]},
        {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Blue Door", "annotations": []}],
        },
    ],
    "parallel_tool_calls": False,
    "tool_choice": "auto",
    "tools": [],
    "usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
}


def sse(*events):
    """Return the body of a stream, with names where an event has a type."""
    named = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n" for event in events
    ]
    return Broken(200, "".join(named) + ("" if "type" in events[0] else "data: [DONE]\n\n"), SSE)


def chunk(delta, **more):
    choices = [{"index": 0, "delta": delta}] if delta is not None else []
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


def thoughtful():
    answer = said("Blue Door")
    answer["choices"][0]["message"]["reasoning_content"] = "Close by."
    return answer


CHUNKS = sse(
    chunk({"reasoning_content": "Close "}),
    chunk({"reasoning_content": "by."}),
    chunk({"content": "Blue Door"}),
    chunk(None, usage={"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}),
)
BLOCKS = sse(
    {
        "type": "message_start",
        "message": {**ANTHROPIC, "content": [], "usage": {"input_tokens": 100, "output_tokens": 1}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {**THINKING, "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Close "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "by."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Blue Door"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 10}},
    {"type": "message_stop"},
)


@pytest.fixture(scope="module")
def service():
    with scripted_models() as running:
        yield running


@pytest.fixture
def models(service):
    service.answers(said("Blue Door"))
    return service


def client_of(kind, models, **options):
    if "Anthropic" in kind:
        library = pytest.importorskip("anthropic")
        return getattr(library, kind)(api_key="k", base_url=models.url.removesuffix("/v1"), **options)
    return getattr(pytest.importorskip("openai"), kind)(api_key="k", base_url=models.url, **options)


def chat(models):
    def agent(message):
        with client_of("OpenAI", models) as client:
            return client.chat.completions.create(model="m", messages=MESSAGES).choices[0].message.content

    return agent


def chat_stream(models):
    async def agent(message):
        async with client_of("AsyncOpenAI", models) as client:
            parts = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            return "".join([part.choices[0].delta.content or "" async for part in parts if part.choices])

    return agent


def responses(models):
    async def agent(message):
        async with client_of("AsyncOpenAI", models) as client:
            return (await client.responses.create(model="m", input="Find a cafe")).output_text

    return agent


def anthropic(models):
    pytest.importorskip("anthropic")

    async def agent(message):
        async with client_of("AsyncAnthropic", models) as client:
            answer = await client.messages.create(model="m", max_tokens=9, messages=MESSAGES)
            return answer.content[-1].text

    return agent


def anthropic_stream(models):
    pytest.importorskip("anthropic")

    def agent(message):
        client = client_of("Anthropic", models)
        with client, client.messages.stream(model="m", max_tokens=9, messages=MESSAGES) as stream:
            return stream.get_final_text()

    return agent


def post(models, path="/chat/completions"):
    return httpx.post(models.url + path, json={"model": "m", "messages": MESSAGES})


def plain(models):
    return lambda message: post(models).json()["choices"][0]["message"]["content"]


def lines(models):
    def agent(message):
        with httpx.stream("POST", models.url + "/messages", json={"model": "m", "messages": MESSAGES}) as answer:
            events = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: {")]
        return "".join(event.get("delta", {}).get("text", "") for event in events)

    return agent


def usage(trajectory, turn=1):
    used = trajectory.turns[turn].usage
    return used.input_tokens, used.output_tokens


def thoughts(trajectory):
    return [step.text for turn in trajectory.turns for step in turn.steps if step.kind == "thought"]


@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (chat, thoughtful()),
        (chat_stream, CHUNKS),
        (responses, RESPONSES),
        (anthropic, ANTHROPIC),
        (anthropic_stream, BLOCKS),
        (plain, thoughtful()),
        (lines, BLOCKS),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["", "gzip"])
def test_tokens_and_thoughts_are_those_that_the_service_tells(models, make, answer, packed):
    if packed:
        answer = Broken(200, json.dumps(answer), {}) if isinstance(answer, dict) else answer
        headers = {**answer.headers, "Content-Encoding": "gzip"}
        answer = Broken(200, gzip.compress(answer.body.encode()), headers)
    models.answers(answer)
    played = play(make(models), max_turns=1)
    assert (played.fault, played.turns[1].text) == (None, "Blue Door")
    assert (usage(played), thoughts(played)) == ((100, 10), ["Close by."])


def test_all_answers_of_a_reply_count_and_each_reply_by_itself(models):
    def agent(message):
        post(models)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(post, models).result()
        return "What time?"

    played = play(agent, max_turns=2)
    assert [usage(played, turn) for turn in (1, 3)] == [(200, 20), (200, 20)]


def test_what_the_agent_tells_by_itself_stands(models):
    def agent(message, session):
        session.think("Mine.")
        post(models)
        return Reply("Blue Door", usage={"input_tokens": 1, "output_tokens": 2})

    models.answers(thoughtful())
    played = play(agent, max_turns=1)
    assert (usage(played), thoughts(played)) == ((1, 2), ["Mine."])


@pytest.mark.parametrize(
    "answer",
    [
        said("Blue Door", usage=None),
        Broken(200, b"x" * (HeardAnswer.MOST_BYTES + 1), {}),
        Broken(
            200,
            gzip.compress(json.dumps(said("x" * (HeardAnswer.MOST_BYTES + 1))).encode()),
            {"Content-Encoding": "gzip"},
        ),
        Broken(200, "no JSON", {}),
    ],
    ids=["silent", "large", "packed", "no JSON"],
)
def test_where_one_answer_tells_nothing_the_usage_is_unknown(models, answer):
    models.answers(said("Blue Door"), answer)
    assert usage(play(lambda message: f"{post(models)} {post(models)}", max_turns=1)) == (None, None)


def test_the_usage_of_a_stream_that_is_left_in_the_middle_is_unknown(models):
    def agent(message):
        with httpx.stream("POST", models.url + "/messages", json={"model": "m", "messages": MESSAGES}) as answer:
            return next(answer.iter_lines())

    models.answers(sse(json.loads(BLOCKS.body.splitlines()[1].removeprefix("data: "))))
    played = play(agent, max_turns=1)
    assert (played.turns[1].text, usage(played)) == ("event: message_start", (None, None))


def test_each_part_of_a_stream_passes_as_it_comes():
    parts, sent = [f"{block}\n\n".encode() for block in CHUNKS.body.split("\n\n")], []

    class Stream(httpx.SyncByteStream):
        def __iter__(self):
            for part in parts:
                sent.append(part)
                yield part

    def agent(message):
        service = httpx.MockTransport(lambda _: httpx.Response(200, headers=SSE, stream=Stream()))
        body = {"model": "m", "messages": MESSAGES}
        with (
            httpx.Client(transport=service) as client,
            client.stream("POST", "http://m.invalid/v1/responses", json=body) as answer,
        ):
            received = answer.iter_bytes()
            assert (next(received), len(sent)) == (parts[0], 1)
            assert [*received] == parts[1:]
        return "Blue Door"

    played = play(agent, max_turns=1)
    assert (played.fault, usage(played)) == (None, (100, 10))


def test_a_request_that_the_service_refuses_costs_nothing(models):
    models.answers(Broken(503, "{}", {}), said("Blue Door"))

    def agent(message):
        with client_of("OpenAI", models, max_retries=1) as client:
            return client.chat.completions.create(model="m", messages=MESSAGES).choices[0].message.content

    assert usage(play(agent, max_turns=1)) == (100, 10)
    assert len(models.requests) == 2


def test_a_crash_keeps_what_was_spent_before_it(models):
    def agent(message):
        post(models)
        raise ValueError("later")

    played = play(agent)
    assert (played.ending, usage(played)) == ("agent_error", (100, 10))


def test_episodes_at_once_do_not_mix(models):
    met = threading.Barrier(2, timeout=30)
    models.together = True
    models.script = lambda body, number: said(body["model"], usage=(len(body["model"]), 1))

    def agent(name):
        def agent(message):
            for _ in range(3):
                met.wait()
                httpx.post(models.url + "/chat/completions", json={"model": name, "messages": MESSAGES})
            return "Blue Door"

        return agent

    with ThreadPoolExecutor(2) as pool:
        played = pool.map(lambda name: play(agent(name), max_turns=1), ["a", "bcd"])
    models.together = False
    assert [*map(usage, played)] == [(3, 3), (9, 3)]


def test_a_thread_without_its_context_makes_the_usage_unknown(models):
    def agent(message):
        post(models)
        thread = threading.Thread(target=post, args=[models])
        thread.start()
        thread.join()
        return "Blue Door"

    assert usage(play(agent, max_turns=1)) == (None, None)


def test_a_client_that_hands_on_to_another_counts_once_and_other_requests_do_not(models):
    class Outer(httpx.AsyncClient):
        async def send(self, request, **options):
            async with httpx.AsyncClient() as inner:
                return await inner.send(request, **options)

    async def agent(message):
        async with Outer() as client:
            await client.post(models.url + "/orders", json={"order": 1})
            await client.get(models.url)
            await client.post(models.url + "/chat/completions", json={"model": "m", "messages": MESSAGES})
        return "Blue Door"

    assert usage(play(agent, max_turns=1)) == (100, 10)


@pytest.mark.parametrize(
    ("path", "kind", "text", "spent"),
    [
        ("chat/completions", "", {"usage": {"prompt_tokens": 5, "completion_tokens": 2}}, (5, 2)),
        ("messages", "", {"usage": {"input_tokens": 5, "output_tokens": 2}}, (5, 2)),
        ("m:generateContent", "", {"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}}, (5, 2)),
        ("embeddings", "", {"usage": {"prompt_tokens": 5, "total_tokens": 5}}, (5, 0)),
        ("chat/completions", "", {"usage": {"prompt_tokens": "5"}}, (None, None)),
        ("chat/completions", "", "no JSON", (None, None)),
        (
            "chat/completions",
            "",
            '{"usage": {"prompt_tokens": -5, "completion_tokens": 2, "cost": 1e999}}',
            (None, None),
        ),
        (
            "messages",
            "text/event-stream; charset=utf-8",
            'data: {"message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}\n\ndata: {"usage": {"output_tokens": 2}}\n',
            (5, 2),
        ),
        (
            "responses",
            "text/event-stream",
            'data: {"response": {"usage": {"input_tokens": 5, "output_tokens": 2}}}',
            (5, 2),
        ),
    ],
)
def test_an_answer_tells_what_it_cost(path, kind, text, spent):
    body = text if isinstance(text, str) else json.dumps(text)
    heard = HeardAnswer(f"http://models.invalid/v1/{path}", {})
    heard.kind, heard.content, heard.is_whole = kind, body.encode(), True
    assert (heard.usage.get("input_tokens"), heard.usage.get("output_tokens"), heard.usage.get("cost")) == (
        *spent,
        None,
    )


OPENAI, MESSAGES_URL = "https://api.openai.com/v1/chat/completions", "https://api.anthropic.com/v1/messages"


@pytest.mark.parametrize(
    ("url", "answer", "usage", "cost"),
    [
        (OPENAI, {"model": "gpt-4o-mini"}, {"prompt_tokens": 1000, "completion_tokens": 100}, 1000 * 15e-8 + 100 * 6e-7),
        (
            OPENAI,
            {"model": "gpt-4o-mini", "service_tier": "default"},
            {"prompt_tokens": 1000, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 400, "audio_tokens": 0}},
            600 * 15e-8 + 400 * 7.5e-8,
        ),
        (
            MESSAGES_URL,
            {"model": "claude-sonnet-4-5"},
            {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 1000,
             "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 0}, "service_tier": "standard"},
            10 * 3e-6 + 15e-6 + 100 * 3e-7 + 1000 * 375e-8,
        ),
        (MESSAGES_URL, {"model": "claude-sonnet-4-5"}, {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": None}, 10 * 3e-6 + 15e-6),
        (OPENAI, {"model": "gpt-4o-mini", "service_tier": "priority"}, {"prompt_tokens": 9, "completion_tokens": 1}, None),
        (OPENAI, {"model": "claude-sonnet-4-5"}, {"prompt_tokens": 9, "completion_tokens": 1}, None),
        (OPENAI, {"model": "gpt-4o-mini"}, {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"audio_tokens": 3}}, None),
        (MESSAGES_URL, {"model": "claude-sonnet-4-5"}, {"input_tokens": 9, "output_tokens": 1, "server_tool_use": {"web_search_requests": 1}}, None),
        ("https://api.openai.com/v1/responses", {"model": "gpt-4o", "output": [{"type": "web_search_call"}]}, {"input_tokens": 9, "output_tokens": 1}, None),
        ("http://127.0.0.1/v1/chat/completions", {"model": "gpt-4o-mini"}, {"prompt_tokens": 9, "completion_tokens": 1}, None),
        ("http://127.0.0.1/v1/chat/completions", {"model": "x"}, {"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.25}, 0.25),
        ("http://127.0.0.1/v1/chat/completions", {"model": "x"}, {"prompt_tokens": 0, "completion_tokens": 0}, None),
    ],
)  # fmt: skip
def test_the_cost_is_the_services_or_by_the_list_where_each_part_has_a_price(url, answer, usage, cost):
    heard = HeardAnswer(url, {})
    heard.content, heard.is_whole = json.dumps({**answer, "usage": usage}).encode(), True
    assert heard.usage.get("cost") == (cost and pytest.approx(cost))


@pytest.mark.parametrize("few_shot", [False, True])
def test_calls_that_the_agent_answers_by_itself_are_heard_with_their_results(models, few_shot):
    models.answers(said(calls=[("find", {"query": "cafe"}), ("log", {})]), said("Blue Door"))
    example = [
        {
            "role": "assistant",
            "tool_calls": [{"id": "e1", "type": "function", "function": {"name": "find", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "e1", "content": "[]"},
    ]

    def agent(message):
        messages = [*(example if few_shot else []), *MESSAGES]
        with client_of("OpenAI", models) as client:
            first = client.chat.completions.create(model="m", messages=messages).choices[0].message
            results = [
                {"role": "tool", "tool_call_id": call.id, "content": '{"places": ["Own"]}'} for call in first.tool_calls
            ]
            messages += [first.model_dump(exclude_none=True), *results]
            return client.chat.completions.create(model="m", messages=messages).choices[0].message.content

    played = play(agent, max_turns=1)
    (call,) = played.calls
    assert (call.tool, call.arguments, call.result) == ("find", {"query": "cafe"}, {"places": ["Own"]})
    assert (call.provenance.kind, played.calls_reported) == ("reported", True)


def test_calls_that_the_sandbox_answers_are_known_once(models):
    models.answers(said(calls=[("find", {"query": "cafe"})]), said("Blue Door"))

    def agent(message, tools):
        first = post(models).json()["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": "call_0", "content": json.dumps(tools.find(query="cafe"))}
        httpx.post(models.url + "/chat/completions", json={"model": "m", "messages": [*MESSAGES, first, result]})
        return "Blue Door"

    played = play(agent, max_turns=1)
    assert [(call.tool, call.provenance.kind) for call in played.calls] == [("find", "exact")]
    assert not played.calls_reported


def test_calls_of_other_forms_are_heard_too(models):
    spoken = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "find", "arguments": '{"query": "cafe"}'}
    models.answers({**RESPONSES, "output": [spoken]}, RESPONSES)

    def agent(message):
        for given in ("Find a cafe", [{"type": "function_call_output", "call_id": "c1", "output": "Own"}]):
            httpx.post(models.url + "/responses", json={"model": "m", "input": given})
        return "Blue Door"

    assert [(call.arguments, call.result) for call in play(agent, max_turns=1).calls] == [({"query": "cafe"}, "Own")]
    block = {"type": "tool_use", "id": "t1", "name": "find", "input": {"query": "cafe"}}
    models.answers({**ANTHROPIC, "content": [block]}, ANTHROPIC)

    async def asynchronous(message):
        async with httpx.AsyncClient() as client:
            result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "Own"}]}
            more = [{"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]
            for given in (MESSAGES, MESSAGES + more):
                await client.post(models.url + "/messages", json={"model": "m", "messages": given})
        return "Blue Door"

    played = play(asynchronous, max_turns=1)
    assert [(call.arguments, call.result) for call in played.calls] == [({"query": "cafe"}, "Own")]


def test_thoughts_beyond_measure_are_cut_and_no_fault_of_the_agent(models):
    answer = said("Blue Door")
    answer["choices"][0]["message"]["reasoning"] = "x" * 1_200_000
    models.answers(answer)
    played = play(plain(models), max_turns=1)
    assert [len(thought) for thought in thoughts(played)[:1]] == [200_000]
    assert (thoughts(played)[1], played.fault) == ("[1,000,000 characters left out]", None)
