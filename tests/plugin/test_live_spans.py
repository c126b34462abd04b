"""Spans of an agent in this process are read as they end: each reply has its own."""

import pytest
from saved_runs import saved

#: As much of an OpenTelemetry SDK as a processor sees.
TRACING = """
import itertools
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace as Data

numbers = itertools.count(1)
current = ContextVar("current", default=None)
processors = []

@contextmanager
def span(name, **attributes):
    parent = current.get()
    context = Data(trace_id=parent.context.trace_id if parent else next(numbers), span_id=next(numbers))
    made = Data(name=name, context=context, get_span_context=lambda: context, parent=parent and parent.context, events=(), status=Data(status_code=Data(name="UNSET")),
                attributes={key.replace("__", "."): value for key, value in attributes.items()}, start_time=next(numbers), end_time=None)
    for processor in processors:
        processor.on_start(made, parent_context=None)
    token = current.set(made)
    try:
        yield made
    finally:
        current.reset(token)
        made.end_time = next(numbers)
        for processor in processors:
            processor._on_ending(made)
            processor.on_end(made)
"""
AGENT = """
import asyncio
import json
from threading import Thread
import tracing

async def agent(message, tools, session):
    number = int(session.id[:4], 16)
    with tracing.span("invoke_agent", gen_ai__operation__name="invoke_agent"):
        await asyncio.sleep(0.02)
        with tracing.span("chat", gen_ai__operation__name="chat", gen_ai__usage__input_tokens=number, gen_ai__usage__output_tokens=1):
            await asyncio.sleep(0.02)
        pois = tools.search_poi(query="charger")["pois"]
        for name, result in (("search_poi", pois), ("own_map", {"n": number})):
            with tracing.span(name, gen_ai__operation__name="execute_tool", gen_ai__tool__name=name, gen_ai__tool__call__arguments="{}", gen_ai__tool__call__result=json.dumps(result)):
                await asyncio.sleep(0.01)
    return f"I suggest {next(poi['name'] for poi in pois if poi['open'])}. {number}"

def threaded(message, tools, session):
    number = int(session.id[:4], 16)
    with tracing.span("invoke_agent", gen_ai__operation__name="invoke_agent") as outer:
        def work():
            tracing.current.set(outer)
            with tracing.span("chat", gen_ai__operation__name="chat", gen_ai__usage__input_tokens=number, gen_ai__usage__output_tokens=1):
                pass
        thread = Thread(target=work)
        thread.start()
        thread.join()
    return f"I suggest Blue Bay. {number}"

def frugal(message, tools):
    from pytest_mapsat import Reply
    with tracing.span("chat", gen_ai__operation__name="chat", gen_ai__usage__input_tokens=5, gen_ai__usage__output_tokens=1):
        pass
    return Reply("I suggest Blue Bay. 9", usage={"input_tokens": 9})
"""
CONFTEST = """
import tracing
from pytest_mapsat.agents import EpisodeSpans
tracing.processors.append(EpisodeSpans())
with tracing.span("before any episode", gen_ai__operation__name="chat", gen_ai__usage__input_tokens=1_000_000):
    pass
"""


@pytest.mark.parametrize("agent", ["agent", "threaded", "frugal"])
def test_each_reply_has_what_its_own_spans_tell(project: pytest.Pytester, agent) -> None:
    project.makepyfile(tracing=TRACING, traced=AGENT, conftest=CONFTEST)
    result = project.runpytest_subprocess(
        f"--mapsat-agent=traced:{agent}", "--mapsat-concurrency=3", "--mapsat-save=run.json", "-p", "no:cacheprovider"
    )
    result.assert_outcomes(passed=3)
    cards = saved(project)["cases"]
    for card in cards:
        turn = card["trajectory"]["turns"][1]
        assert card["spent"]["input_tokens"] == int(turn["text"].split()[-1])
        if agent == "agent":
            calls = [(step["tool"], step["provenance"]["kind"]) for step in turn["steps"]]
            assert calls == [("search_poi", "exact"), ("own_map", "recorded")]
            assert turn["steps"][1]["result"] == {"n": card["spent"]["input_tokens"]}
