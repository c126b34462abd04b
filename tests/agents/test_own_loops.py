"""Agents that run the loop of model and tools themselves, over the client of a vendor."""

from types import SimpleNamespace

import pytest
import tiny_suite

import pytest_mapsat
from pytest_mapsat.model import UsageError

CHAT = {"id": "c1", "type": "function", "function": {"name": "search_poi", "arguments": '{"query": "charger"}'}}
RESPONSES = {"type": "function_call", "call_id": "c1", "name": "search_poi", "arguments": '{"query": "charger"}'}
ANTHROPIC = {"type": "tool_use", "id": "c1", "name": "search_poi", "input": {"query": "charger"}}
AGENT = """
import json

import pytest_mapsat as mapsat

CALL = {call!r}


def agent(message, tools):
    assert mapsat.tools_of(tools, {form!r})[0] == {schema!r}, mapsat.tools_of(tools, {form!r})
    answer = mapsat.answer(CALL)
    pois = json.loads(answer[{key!r}])["pois"]
    return f"I suggest {{next(poi for poi in pois if poi['open'])['name']}}."
"""
PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "what to look for"}},
    "required": ["query"],
}
FUNCTION = {"name": "search_poi", "description": "Find places by a keyword.", "parameters": PARAMETERS}


@pytest.mark.parametrize(
    ("form", "call", "key", "schema"),
    [
        ("openai", CHAT, "content", {"type": "function", "function": FUNCTION}),
        ("openai-responses", RESPONSES, "output", {"type": "function", **FUNCTION}),
        (
            "anthropic",
            ANTHROPIC,
            "content",
            {
                "name": "search_poi",
                "description": "Find places by a keyword.",
                "input_schema": PARAMETERS,
            },
        ),
    ],
)
def test_a_loop_of_ones_own_gets_schemas_and_answers_in_the_form_of_its_client(pytester, form, call, key, schema):
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(mymod=AGENT.format(form=form, call=call, key=key, schema=schema))
    pytester.runpytest("--mapsat-agent=mymod:agent").assert_outcomes(passed=3)


def test_the_calls_of_a_client_may_be_its_objects(pytester):
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    agent = AGENT.format(form="anthropic", call=None, key="content", schema=None)
    agent = agent.replace("CALL = None", f"from types import SimpleNamespace\nCALL = SimpleNamespace(**{ANTHROPIC!r})")
    pytester.makepyfile(mymod="\n".join(line for line in agent.splitlines() if "assert" not in line))
    pytester.runpytest("--mapsat-agent=mymod:agent").assert_outcomes(passed=3)


def test_an_answer_outside_of_an_episode_is_refused():
    with pytest.raises(UsageError, match="while its reply is under way"):
        pytest_mapsat.answer(SimpleNamespace(**ANTHROPIC))


def test_a_call_that_is_none_is_named(pytester):
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(mymod="import pytest_mapsat\n\n\ndef agent(message):\n    return pytest_mapsat.answer(3)\n")
    result = pytester.runpytest("--mapsat-agent=mymod:agent")
    result.stdout.fnmatch_lines(["*UsageError: answer() takes a call of a tool from*"])


def test_an_unknown_form_is_named():
    with pytest.raises(UsageError, match="found the form 'gemini', expected openai, openai-responses or anthropic"):
        pytest_mapsat.tools_of(SimpleNamespace(schemas=list), "gemini")


def test_a_function_that_is_not_a_coroutine_may_use_an_event_loop(pytester):
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(
        mymod="""
        import asyncio


        async def look(tools):
            await asyncio.sleep(0)
            return tools.search_poi(query="charger")["pois"]


        def agent(message, tools):
            pois = asyncio.get_event_loop().run_until_complete(look(tools))
            return f"I suggest {next(poi for poi in pois if poi['open'])['name']}."
        """
    )
    pytester.runpytest("--mapsat-agent=mymod:agent").assert_outcomes(passed=3)
