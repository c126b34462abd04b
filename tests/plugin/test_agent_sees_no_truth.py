"""End to end: an agent that writes down all it is handed finds nothing of the truth, case id and requirements included."""

import asyncio
import json
import sys
from pathlib import Path

import phone
import pytest
import tiny_suite
from http_services import Service, answers, events

from pytest_mapsat.agents.source import FORM_NAMES

sys.path.append(str(Path(__file__).parents[1] / "agents"))
from mcp_clients import client_of

SECRET = "xylophone-{}-secret"

#: Writes the text of everything it is handed, and of what it can cause, into a file.
NOSY = """\
import json, os, traceback
def agent(message, tools, context, session):
    told = [message, repr(tools), dir(tools), tools.schemas(), dict(context), repr(context), vars(session), session.messages]
    told += [dict(os.environ)]
    for name, arguments in [("search_poi", {"query": "charger"}), ("search_poi", {"query": "zzz"}), ("search_poi", {}), ("nothing", {})]:
        told.append(tools.call(name, arguments))
    try:
        tools.search_poi("positional")
    except Exception:
        told.append(traceback.format_exc())
    with open("told.txt", "a") as file:
        file.write(json.dumps(told, default=repr))
    return "Blue Bay"
"""


def _secretive() -> dict[str, object]:
    case = tiny_suite.case("case-id-of-its-own")
    truth = case["truth"]
    truth["intent"] = SECRET.format("intent")
    truth["persona"] = SECRET.format("persona")
    for requirement in truth["requirements"]:
        requirement["text"] = SECRET.format(f"{requirement['kind']}-text")
    truth["requirements"][1]["evidence"] = [{"text": SECRET.format("evidence"), "relevance": "strong"}]
    truth["clarification"]["note"] = SECRET.format("clarification")
    truth["tools"][0]["prose"] = [["query", SECRET.format("prose")]]
    truth["user"] = {
        "answers": [{"asked": ["colour"], "say": SECRET.format("answer")}],
        "goodbye": SECRET.format("goodbye"),
    }
    case["visible"]["output_schema"] = {"type": "object", "properties": {"intent": {"type": "string"}}}
    truth["output"] = {"intent": SECRET.format("output")}
    truth["oracle"] = [{"say": SECRET.format("oracle")}]
    case["attributes"] = {"subtask": SECRET.format("attribute")}
    moments = ({"turn": 5}, {"tool": "search_poi", "call": 9})
    case["world"] = {"events": [{"after": moment, "say": SECRET.format("event")} for moment in moments]}
    case["world"]["faults"] = [{"tool": "search_poi", "call": 9, "error": "rate_limit"}]
    return case


def test_nothing_of_the_truth_is_in_anything_an_agent_is_handed(pytester: pytest.Pytester) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"a.yaml": [_secretive()]})
    pytester.makepyfile(nosy=NOSY)
    pytester.runpytest_subprocess("--mapsat-agent=nosy:agent").assert_outcomes(passed=1)
    told = (pytester.path / "told.txt").read_text()
    assert "Old Mill" in told, "the agent did write down what it was handed"
    assert "xylophone" not in told
    assert "rate_limit" not in told
    environment_free = json.dumps(
        [part for part in json.loads(told) if not (isinstance(part, dict) and "PATH" in part)]
    )
    assert "case-id-of-its-own" not in environment_free


def test_a_miss_says_nothing_of_other_recordings(pytester: pytest.Pytester) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(
        lost="def agent(message, tools):\n    print('GOT', tools.search_poi(query='zzz'))\n    return 'Blue Bay'\n"
    )
    result = pytester.runpytest("--mapsat-agent=lost:agent", "-s")
    line = next(line for line in result.stdout.lines if "GOT" in line)
    assert "no_recording" in line
    assert "charger" not in line


def test_nothing_of_the_truth_is_sent_to_a_service_in_any_form(pytester: pytest.Pytester) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"a.yaml": [_secretive()]})
    everything = {
        name: f"${name}" for name in ("message", "messages", "context", "session", "tools", "mcp_url", "mcp_token")
    }
    with Service().running() as service:
        url = service.at(lambda _: answers({"text": "Blue Bay"}))
        (pytester.path / "all.yaml").write_text(json.dumps({"url": url, "request": everything}))
        forms = [url, *(f"{form}:{url}" for form in FORM_NAMES)]
        for form in forms:
            pytester.runpytest(f"--mapsat-agent={form}")
        # In a process of its own: the server of tools is one for a process, and goes on importing on its thread.
        pytester.runpytest_subprocess("--mapsat-agent=http:all.yaml").assert_outcomes(passed=1)
        sent = [
            json.dumps([request.path, {**request.headers}, request.body], ensure_ascii=False)
            for request in service.heard
        ]
    assert len(sent) > len(forms)
    assert "mcp_token" in sent[-1]
    for text in sent:
        assert "Take me to a charger" in text
        assert "xylophone" not in text
        assert "case-id-of-its-own" not in text
        assert str(pytester.path) not in text


# -- what belongs to the user ---------------------------------------------------------------------------------------------

ASKS = "What does the status bar show?"
#: Tells all that it is handed, and asks the user to act; then it has only what the user said.
TELLS = """\
import json
def agent(message, tools, context, session):
    told = [message, dir(tools), tools.schemas(), dict(context), session.messages]
    told += [tools.call(name, {}) for name in ("zebra", "zebr_airplane", "get_lines", "break_lin")]
    return json.dumps(told, default=repr).replace("?", " ") + "\\n\\nWhat does the status bar show?"
"""
PROGRAM = """\
import json, sys
for line in sys.stdin:
    text = line.replace("?", " ") + "\\n\\nWhat does the status bar show?"
    print(json.dumps({"type": "reply", "text": text}), flush=True)
"""
#: One answer that every form of a service but that of a stream can be read as.
ANYWHERE = {
    "text": ASKS,
    "choices": [{"message": {"role": "assistant", "content": ASKS}}],
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ASKS}]}],
    "jsonrpc": "2.0",
    "id": "1",
    "result": {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": ASKS}]}},
}
STREAM = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ASKS},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "RUN_FINISHED"},
]
OPENING = [{"role": "user", "text": "Hello there."}, {"role": "agent", "text": "Hello, what is it?"}]


@pytest.fixture
def desk(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with the phone whose user acts when it is asked for the status bar, in a case that messages open."""
    phone.write_phone(pytester.path / "benchmark_cases", phone.case(visible={"messages": OPENING}))
    pytester.makeconftest(phone.CONFTEST)
    return pytester


def _runs(desk: pytest.Pytester, *options: str) -> str:
    """Play the case in a run; return the agent's words once the user's own call is seen to be in it."""
    # In a process of its own where MCP is served: its server is one for a process, and goes on importing on its thread.
    run = desk.runpytest_subprocess if "all.yaml" in options[0] or "cmd:" in options[0] else desk.runpytest
    run(*options, "--mapsat-fail-on=none", "--mapsat-save=run.json", "--mapsat-max-turns=2")
    (card,) = json.loads((desk.path / "run.json").read_text())["cases"]
    turns = card["trajectory"]["turns"]
    assert card["trajectory"].get("fault") is None, card["trajectory"]["fault"]
    user = [turn for turn in turns if turn["role"] == "user" and turn.get("steps")]
    assert [step["tool"] for turn in user for step in turn["steps"]][:1] == ["zebra_status"]
    assert "xylophone" in json.dumps(user)
    return json.dumps([turn["text"] for turn in turns if turn["role"] == "agent"])


def _is_without_the_users_own(told: str) -> None:
    assert "get_line" in told
    assert "Hello, what is it" in told
    assert "Signal: none." in told
    for hidden in ("zebra_", "break_line", "xylophone"):
        assert hidden not in told


@pytest.mark.parametrize(
    "options", [("--mapsat-agent=tells:agent",), ("--mapsat-agent=tells:agent", "--mapsat-isolate")]
)
def test_nothing_of_a_users_tools_and_calls_is_handed_to_python(desk: pytest.Pytester, options) -> None:
    desk.makepyfile(tells=TELLS)
    _is_without_the_users_own(_runs(desk, *options))


def test_nothing_of_a_users_tools_and_calls_is_sent_to_a_program(desk: pytest.Pytester) -> None:
    (desk.path / "program.py").write_text(PROGRAM)
    _is_without_the_users_own(_runs(desk, f"--mapsat-agent=cmd:{sys.executable} program.py"))


def test_nothing_of_a_users_tools_and_calls_is_sent_to_a_service_in_any_form(desk: pytest.Pytester) -> None:
    listed = []

    def answer(request):
        if "mcp_url" in request.body:
            listed.append(asyncio.run(_tools_of(request.body["mcp_url"], request.body["mcp_token"])))
        streams = request.headers.get("Accept") == "text/event-stream"
        return events(*STREAM) if streams else answers({**ANYWHERE, "id": request.body.get("id", "1")})

    everything = {name: f"${name}" for name in ("message", "messages", "context", "tools", "mcp_url", "mcp_token")}
    with Service().running() as service:
        (desk.path / "all.yaml").write_text(json.dumps({"url": service.at(answer), "request": everything}))
        for form in ("http:all.yaml", *(f"{form}:{{}}" for form in FORM_NAMES)):
            url = service.at(answer)
            _runs(desk, f"--mapsat-agent={form.format(url)}")
            asked = service.asked(url) or [request for request in service.heard if "mcp_url" in request.body]
            sent = json.dumps([request.body for request in asked], ensure_ascii=False)
            _is_without_the_users_own(sent if "get_line" in sent else f"{sent} get_line")
    assert sorted(listed[0]) == ["get_line", "reset_line", "wait_a_bit"]


async def _tools_of(url: str, token: str) -> list[str]:
    async with client_of(url, token) as client:
        return [tool.name for tool in (await client.list_tools()).tools]
