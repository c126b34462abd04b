"""A service as the agent, in the form of its own fields: the default, and what a service file says."""

import json
import re
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from http_services import Service, answers, case, events, play, said, source, texted

from pytest_mapsat.agents.tool_server import missing_extra
from pytest_mapsat.model import SuiteError, UsageError


@pytest.fixture(scope="module")
def service():
    with Service().running() as service:
        yield service


@pytest.fixture
def talk(service, tmp_path):
    """Play an episode with a service that answers each request with what a function makes of it."""

    def talk(behave, file="", played=None, **limits):
        url = service.at(behave)
        (tmp_path / "service.yaml").write_text(file)
        agent = source(url, tmp_path, http_form="service.yaml" if file else "")
        return play(agent, played=played, **limits), [request.body for request in service.asked(url)]

    return talk


class TestWithoutASetting:
    def test_the_service_gets_the_message_the_dialogue_the_session_and_the_context(self, talk):
        trajectory, (first, second) = talk(
            lambda request: answers({"text": "Here." if "nine" in request.body["message"] else "What time?"})
        )
        assert said(trajectory) == ["What time?", "Here."]
        assert (trajectory.ending, trajectory.fault) == ("done", None)
        assert first["message"] == "Find a cafe"
        assert first["messages"] == [{"role": "user", "content": "Find a cafe"}]
        assert (first["context"]["city"], first["context"]["uid"]) == ("Lindenau", "u1")
        assert second["messages"][1:] == [
            {"role": "assistant", "content": "What time?"},
            {"role": "user", "content": "At nine."},
        ]
        assert first["session"] == second["session"]

    @pytest.mark.parametrize("name", ["text", "reply", "message", "content"])
    def test_the_text_stands_under_a_usual_name(self, talk, name):
        assert said(talk(lambda _: answers({name: "Here.", "more": 1}))[0]) == ["Here."]

    def test_a_plain_text_is_the_reply(self, talk):
        assert said(talk(lambda _: texted("Hier, im Blauen Törchen."))[0]) == ["Hier, im Blauen Törchen."]

    def test_a_plain_text_may_be_called_html_and_json_a_plain_text(self, talk):
        assert said(talk(lambda _: texted("Here.", "text/html"))[0]) == ["Here."]
        assert said(talk(lambda _: texted('{"text": "Here."}'))[0]) == ["Here."]

    def test_a_json_text_is_the_reply(self, talk):
        assert said(talk(lambda _: answers("Here."))[0]) == ["Here."]

    def test_an_empty_text_is_a_reply_that_says_nothing(self, talk):
        assert said(talk(lambda _: answers({"text": ""}))[0]) == [""]

    def test_output_and_usage_are_kept(self, talk):
        data = {"text": "Here.", "output": {"place": "Blue Door"}, "usage": {"prompt_tokens": 7, "cost": 0.5, "x": "y"}}
        turn = talk(lambda _: answers(data))[0].replies[0]
        assert turn.output == {"place": "Blue Door"}
        assert (turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cost) == (7, None, 0.5)

    def test_an_error_that_the_agent_tells_is_its_own(self, talk):
        trajectory, _ = talk(lambda _: answers({"error": {"message": "no idea"}}))
        assert (trajectory.ending, trajectory.fault.blame) == ("agent_error", "agent")
        assert trajectory.fault.message.endswith("the agent reports an error: no idea")

    def test_json_in_a_text_is_data_where_the_case_asks_for_data(self, talk):
        schema = {"type": "object", "properties": {"total": {"type": "number"}}}
        reply = '{"text": "It is 4.", "total": 4}'
        turn = talk(lambda _: answers({"text": reply}), played=case(output_schema=schema))[0].replies[0]
        assert (turn.text, turn.output["total"]) == ("It is 4.", 4)
        assert talk(lambda _: answers({"text": reply}))[0].replies[0].output is None

    def test_a_dialogue_uses_one_connection(self, service, tmp_path):
        url = service.at(
            lambda request: answers({"text": "Here." if "nine" in request.body["message"] else "What time?"})
        )
        before = len(service.connections)
        play(source(url, tmp_path))
        assert len(service.connections) == before + 1


class TestServiceFile:
    def test_maps_a_request_and_a_response(self, talk, monkeypatch):
        monkeypatch.setenv("MY_REGION", "north")
        file = """
            request:
              input: {text: "$message", region: "${MY_REGION}", price: "$$5"}
              all: ["$messages", "$tools"]
              line: "$session says: $message"
            response:
              text: reply.parts.0.text
              output: reply.data
              usage: {input_tokens: cost.in, output_tokens: cost.out}
        """
        data = {"reply": {"parts": [{"text": "Here."}], "data": {"a": 1}}, "cost": {"in": 3, "out": 4}}
        trajectory, (body,) = talk(lambda _: answers(data), file)
        turn = trajectory.replies[0]
        assert (turn.text, turn.output, turn.usage.input_tokens, turn.usage.output_tokens) == ("Here.", {"a": 1}, 3, 4)
        assert body["input"] == {"text": "Find a cafe", "region": "north", "price": "$5"}
        assert body["all"][0] == [{"role": "user", "content": "Find a cafe"}]
        assert body["all"][1][0]["function"]["name"] == "find"
        assert re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]{8} says: Find a cafe", body["line"])

    def test_a_request_may_take_fields_of_the_context(self, talk):
        file = """
            request:
              user: $context.uid
              lat: $context.location.lat
              seat: $context.details.seats.1
              spare: $context.details.none
              line: "$context.uid in $context.city. Says: $message.Then"
        """
        context = {"uid": "u1", "city": "Lindenau", "location": {"lon": 1, "lat": 2}, "details": {"seats": [4, 5]}}
        _, (body,) = talk(lambda _: answers({"text": "x"}), file, case(context=context))
        assert body == {
            "user": "u1",
            "lat": 2,
            "seat": 5,
            "spare": None,
            "line": "u1 in Lindenau. Says: Find a cafe.Then",
        }

    def test_what_stands_in_a_message_is_no_placeholder(self, talk):
        _, (body,) = talk(
            lambda _: answers({"text": "x"}), 'request: {m: "> $message"}', case(query="pay $session ${HOME}")
        )
        assert body == {"m": "> pay $session ${HOME}"}

    def test_headers_come_from_the_environment(self, service, tmp_path, monkeypatch):
        monkeypatch.setenv("MY_PASS", "pass-1234567")
        url = service.at(lambda _: answers({"text": "Here."}))
        (tmp_path / "s.yaml").write_text(
            f'url: {url}\nheaders: {{Authorization: "Bearer ${{MY_PASS}}", X-Id: $session}}'
        )
        play(source("http:s.yaml", tmp_path))
        (request,) = service.asked(url)
        assert request.headers["Authorization"] == "Bearer pass-1234567"
        assert request.headers["X-Id"] == request.headers["X-Mapsat-Session"] == request.body["session"]

    def test_a_service_may_name_the_session_itself(self, talk):
        file = 'request: {id: "$session", say: "$message"}\nresponse: {text: a, session: conversation.id}'
        _, bodies = talk(lambda _: answers({"a": "What time?", "conversation": {"id": "s-7"}}), file, max_turns=2)
        assert [body["id"] for body in bodies] == [None, "s-7"]

    def test_a_path_that_leads_nowhere_is_told_with_what_there_is(self, talk):
        fault = talk(lambda _: answers({"answer": {"text": "Here."}}), "response: {text: anser.text}")[0].fault
        assert fault.blame == "infrastructure"
        assert "expected a text at 'anser.text' (response.text), found an object with 'answer'" in fault.message
        assert "did you mean 'answer'?" in fault.message

    def test_an_answer_without_a_usual_name_says_what_to_write(self, talk):
        fault = talk(lambda _: answers({"answer": "Here."}))[0].fault
        assert "found an object with 'answer' (say where with response: {text: PATH})" in fault.message

    @pytest.mark.parametrize(
        ("answer", "form"),
        [
            (answers({"id": "c1", "choices": [{"message": {"content": "Here."}}]}), "openai-chat"),
            (answers({"id": "r1", "object": "response", "output": []}), "openai-responses"),
            (answers({"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "bad request"}}), "a2a"),
            (events({"type": "RUN_STARTED", "threadId": "t"}), "ag-ui"),
            (events({"object": "chat.completion.chunk", "choices": []}), "openai-chat"),
            (events({"type": "response.created"}), "openai-responses"),
        ],
    )
    def test_an_answer_in_another_form_says_how_to_name_it(self, service, tmp_path, answer, form):
        url = service.at(lambda _: answer)
        trajectory = play(source(url, tmp_path))
        assert trajectory.fault.blame == "infrastructure"
        assert re.search(
            rf"this looks like the [\w -]+ protocol: --mapsat-agent={form}:{url}", trajectory.fault.message
        )
        assert "response: {text" not in trajectory.fault.message

    def test_an_answer_in_another_form_says_what_to_write_into_the_service_file(self, talk):
        fault = talk(lambda _: answers({"choices": []}), "request: {m: $message}")[0].fault
        assert "this looks like the OpenAI chat protocol: form: openai-chat in the service file" in fault.message

    def test_a_refusal_at_the_address_of_a_protocol_says_how_to_name_it(self, service, tmp_path):
        url = service.at(lambda _: answers({"error": {"message": "model is missing"}}, 400)) + "/chat/completions"
        fault = play(source(url, tmp_path)).fault
        assert "it answered 400 Bad Request: model is missing" in fault.message
        assert fault.message.endswith(f"this looks like the OpenAI chat protocol: --mapsat-agent=openai-chat:{url}")

    def test_a_stream_of_another_kind_is_told(self, talk):
        fault = talk(lambda _: events({"delta": "He"}))[0].fault
        assert fault.message.endswith("it answers with a stream of events; the form json reads one JSON answer")

    def test_the_files_of_the_page_are_read(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MY_TOKEN", "my-token-1234")
        monkeypatch.setenv("TOOLS_KEY", "tools-key-1234")
        page = (Path(__file__).parents[2] / "docs" / "how-to" / "connect-an-agent.md").read_text(encoding="utf-8")
        section = page.partition("### A service file")[2].partition("### The forms")[0]
        files = re.findall(r"^```yaml\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
        for file in files:
            (tmp_path / "s.yaml").write_text(file)
            source("http://127.0.0.1:1/x", tmp_path, http_form="s.yaml")
        assert len(files) == 4

    def test_a_secret_of_the_address_may_come_from_the_environment(self, service, tmp_path, monkeypatch):
        monkeypatch.setenv("MY_KEY", "key-1234567")
        url = service.at(lambda _: answers({"text": "Here."}))
        (tmp_path / "s.yaml").write_text(f"url: {url}?key=${{MY_KEY}}")
        assert said(play(source("http:s.yaml", tmp_path))) == ["Here."]
        assert service.heard[-1].path.endswith("?key=key-1234567")

    @pytest.mark.parametrize(
        ("file", "message"),
        [
            ("request: {m: $mesage}", "s.yaml:1: found $mesage in request, expected $message,"),
            ("request:\n  m: $mesage", "did you mean 'message'?"),
            (
                "request:\n  m: $context.uuid",
                "s.yaml:2: found $context.uuid in request, but $context has only now, location, city,",
            ),
            ("request: {m: $context.uuid}", "did you mean 'uid'?"),
            (
                "request: {m: $context.location.lot}",
                "$context.location has only lon, lat, name (did you mean 'lon'?)",
            ),
            ("request: {m: $context.uid.x}", "found $context.uid.x in request, but $context.uid has no fields"),
            (
                "request:\n  m: 'x ${context.uid}'",
                "s.yaml:2: found ${context.uid} in request, expected the name of a variable in the braces; $$ is a dollar",
            ),
            (
                "request: {m: '${context.uid}'}",
                "(did you mean '$context.uid'?)",
            ),
            ("headers: {A: $context.uid}", "found $context.uid in headers, expected $session,"),
            ("headers: {A: '${NOT_SET_ANYWHERE}'}", "s.yaml:1: the environment has no variable NOT_SET_ANYWHERE"),
            ("headers: {A: $message}", "found $message in headers, expected $session,"),
            ("headers: {'A B': x}", "'A B' is not an HTTP header"),
            ('headers: {A: "x\\r\\nB: y"}', "'A' is not an HTTP header, or its value is invalid"),
            ("respnse: {text: a}", "did you mean 'response'?"),
            ("form: openai-chta", "openai-chat"),
            ("form: a2a\nresponse: {text: a}", "s.yaml:2: the form a2a defines itself where a reply is"),
            ("- a", "expected a mapping"),
            ("a: 1\n---\nb: 2", "found 2 documents, expected one mapping"),
            ("", "expected"),
            ("response: {text: b}", "has no url: add one"),
        ],
    )
    def test_a_bad_file_is_told_by_line(self, tmp_path, file, message):
        (tmp_path / "s.yaml").write_text(file)
        with pytest.raises(SuiteError) as caught:
            source("http:s.yaml", tmp_path)
        assert message in str(caught.value)

    def test_tools_over_mcp_need_the_extra(self, tmp_path, monkeypatch):
        monkeypatch.setattr("pytest_mapsat.agents.tool_server.missing_extra", lambda: "pip install it")
        (tmp_path / "s.yaml").write_text("url: http://127.0.0.1:1/x\nheaders: {A: $mcp_url}")
        with pytest.raises(SuiteError, match=r"s.yaml:1: \$mcp_url and \$mcp_token: pip install it"):
            source("http:s.yaml", tmp_path)

    def test_a_missing_file_is_told(self, tmp_path):
        (tmp_path / "service.yaml").write_text("")
        with pytest.raises(UsageError, match=r"servce.yaml: there is no such file \(did you mean 'service.yaml'\?\)"):
            source("http:servce.yaml", tmp_path)


class TestAddress:
    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("http://", "expected an address such as http://127.0.0.1:8000/chat"),
            ("http://127.0.0.1:99999/x", "expected an address"),
            ("http://[::1/x", "expected an address"),
            ("http://[x]/x?key=1", "an address with key=... would appear in reports"),
            ("http://127.0.0.1:8000/a b", "expected an address"),
            ("a2a:ftp://x/y", "expected an address"),
            ("openai-chat:127.0.0.1", "expected an address"),
            ("http://me:secret@127.0.0.1/x", "an address with a password would appear in reports"),
            (
                "http://127.0.0.1/x?v=1&api_key=sk-1",
                "an address with api_key=... would appear in reports: take it as url: into a service file",
            ),
            ("http:nothing", "found the form 'nothing', expected json, openai-chat"),
            ("http:/localhost/x", "did you mean 'http://localhost/x'?"),
            ("http:openai-chta", "did you mean 'openai-chat'?"),
        ],
    )
    def test_a_bad_one_is_a_usage_error(self, tmp_path, spec, message):
        with pytest.raises(UsageError) as caught:
            source(spec, tmp_path)
        assert message in str(caught.value)

    def test_an_unknown_form_of_the_ini_file_is_told(self, tmp_path):
        with pytest.raises(UsageError, match=r"found the form 'agui'.*did you mean 'ag-ui'\?"):
            source("http://127.0.0.1:1/x", tmp_path, http_form="agui")

    @pytest.mark.parametrize(
        ("spec", "url"),
        [
            ("openai-chat:http://h/v1", "http://h/v1/chat/completions"),
            ("openai-chat:http://h/v1/", "http://h/v1/chat/completions"),
            ("openai-chat:https://h/v1/chat/completions", "https://h/v1/chat/completions"),
            ("openai-responses:http://h:1/v1?v=2", "http://h:1/v1/responses?v=2"),
            ("a2a:http://h", "http://h/"),
        ],
    )
    def test_a_form_adds_its_path(self, tmp_path, spec, url):
        assert source(spec, tmp_path).url == url


class TestManyAtOnce:
    def test_sixteen_episodes_each_keep_their_own_state(self, service, tmp_path):
        state, together, lock = {}, [0, 0], threading.Lock()

        def behave(request):
            with lock:
                together[0] += 1
                together[1] = max(together)
                memory = state.setdefault(request.body["session"], [])
                memory.append(request.body["message"])
            time.sleep(0.05)
            with lock:
                together[0] -= 1
            return answers({"text": "What time?" if len(memory) == 1 else f"Heard {len(memory)}: {memory[0]}."})

        agent = source(service.at(behave), tmp_path)
        assert agent.waits
        cases = [case(query=f"Find cafe {number}") for number in range(32)]
        with ThreadPoolExecutor(16) as pool:
            trajectories = list(pool.map(lambda played: play(agent, played=played), cases))
        assert [said(one)[1] for one in trajectories] == [f"Heard 2: Find cafe {number}." for number in range(32)]
        assert len(state) == 32
        assert together[1] > 8

    @pytest.mark.skipif(bool(missing_extra()), reason=missing_extra() or "the extra mcp is installed")
    def test_sixteen_services_with_tools_over_mcp_call_those_of_their_own_episode(self, service, tmp_path):
        together = threading.Barrier(16, timeout=20)

        def behave(request):
            together.wait()
            params = {"name": "find", "arguments": {"query": request.body["message"]}}
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
            headers = {
                "Authorization": f"Bearer {request.headers['X-Mapsat-MCP-Token']}",
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2025-11-25",
            }
            called = urllib.request.Request(request.headers["X-Mapsat-MCP-Url"], body, headers)
            with urllib.request.urlopen(called, timeout=20) as answer:
                return answers({"text": json.loads(answer.read())["result"]["content"][0]["text"]})

        (tmp_path / "s.yaml").write_text(
            f"url: {service.at(behave)}\nheaders: {{X-Mapsat-MCP-Url: $mcp_url, X-Mapsat-MCP-Token: $mcp_token}}"
        )
        agent = source("http:s.yaml", tmp_path)
        cases = [case(query=f"cafe {number}") for number in range(16)]
        with ThreadPoolExecutor(16) as pool:
            trajectories = list(pool.map(lambda played: play(agent, played=played), cases))
        arguments = [[step.arguments for step in trajectory.calls] for trajectory in trajectories]
        assert arguments == [[{"query": f"cafe {number}"}] for number in range(16)]

    def test_the_same_case_played_again_is_a_new_session(self, service, tmp_path):
        url = service.at(lambda _: answers({"text": "Here."}))
        agent = source(url, tmp_path)
        play(agent)
        play(agent)
        first, second = (request.body["session"] for request in service.asked(url))
        assert first != second
