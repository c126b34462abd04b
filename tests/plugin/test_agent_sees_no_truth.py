"""End to end: an agent that writes down all it is handed finds nothing of the truth, case id and requirements included."""

import json

import pytest
import tiny_suite
from http_services import Service, answers

from pytest_mapsat.agents.source import FORM_NAMES

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
    return case


def test_nothing_of_the_truth_is_in_anything_an_agent_is_handed(pytester: pytest.Pytester) -> None:
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"a.yaml": [_secretive()]})
    pytester.makepyfile(nosy=NOSY)
    pytester.runpytest_subprocess("--mapsat-agent=nosy:agent").assert_outcomes(passed=1)
    told = (pytester.path / "told.txt").read_text()
    assert "Old Mill" in told, "the agent did write down what it was handed"
    assert "xylophone" not in told
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
