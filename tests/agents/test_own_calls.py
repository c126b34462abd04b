"""Calls that a service makes with tools of its own: in its answers, in its spans, and through a proxy before its MCP server."""

import asyncio
import gzip
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from http_services import Service, answers, events, play, said, source
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from pytest_mapsat.agents.own_calls import Receiver, receiver_at, span_warnings
from pytest_mapsat.agents.tool_server import serve_tools
from pytest_mapsat.episode import calls_after_end
from pytest_mapsat.model import SuiteError, Tool
from pytest_mapsat.sandbox import Toolbox

CALLS = "{at: trace, tool: name, arguments: args, result: out, error: failed, id: key}"


@pytest.fixture(scope="module")
def service():
    with Service().running() as service:
        yield service


@pytest.fixture
def talk(service, tmp_path):
    """Play an episode with a service that answers each request with what a function makes of it."""

    def talk(file, behave, form="service.yaml", **limits):
        url = service.at(behave)
        (tmp_path / "service.yaml").write_text(file)
        return play(source(url, tmp_path, http_form=form), **limits)

    return talk


def made(trajectory):
    return [[(step.tool, step.arguments, step.result) for step in turn.steps] for turn in trajectory.replies]


def in_turn(*bodies):
    """Answer with one body after the other."""
    left = list(bodies)
    return lambda _: answers(left.pop(0))


class TestInAnswers:
    def test_calls_are_read_where_the_file_says(self, talk):
        look = {"name": "look", "args": {"day": "Monday"}, "out": {"free": 2}}
        book = {"name": "book", "args": '{"seats": 2}', "out": '{"id": "B1"}', "failed": False}
        trajectory = talk(
            f"response: {{calls: {CALLS}}}",
            in_turn({"text": "What time?", "trace": [look]}, {"text": "Done.", "trace": [look, book]}),
        )
        assert made(trajectory) == [
            [("look", {"day": "Monday"}, {"free": 2})],
            [("book", {"seats": 2}, {"id": "B1"})],
        ]
        assert [step.status for step in trajectory.calls] == ["ok", "ok"]
        assert {step.provenance.note for step in trajectory.calls} == {"reported by the service"}
        assert trajectory.calls_reported

    def test_a_service_that_lists_all_calls_of_a_reply_made_no_others(self, talk):
        file = f"response: {{calls: {CALLS[:-1]}, all: reply}}}}"
        look = {"name": "look", "args": {}, "out": 1}
        both = [{"text": "What time?", "trace": [look]}, {"text": "Done.", "trace": [look, look]}]
        trajectory = talk(file, in_turn(*both))
        assert [step.tool for step in trajectory.calls] == ["look"] * 3
        assert not trajectory.lacks_calls
        assert not talk(file, in_turn({"text": "Done.", "trace": []})).lacks_calls
        for answer in ({"text": "Done."}, {"text": "Done.", "trace": None}, {"text": "Done.", "trace": [look] * 2_001}):
            assert talk(file, in_turn(answer)).lacks_calls
        assert talk(file, in_turn(both[0], {"error": "full"})).lacks_calls
        parts = [{"delta": "Do", "trace": [look]}, {"delta": "ne.", "trace": [look]}]
        assert talk(file, lambda _: events(*parts)).lacks_calls

    def test_a_service_that_lists_all_calls_of_the_dialogue_repeats_the_earlier_ones(self, talk):
        look, book = ({"name": name, "args": {}, "out": 1} for name in ("look", "book"))
        both = [{"text": "What time?", "trace": [look]}, {"text": "Done.", "trace": [look, look, book]}]
        trajectory = talk(f"response: {{calls: {CALLS[:-1]}, all: dialogue}}}}", in_turn(*both))
        assert made(trajectory) == [[("look", {}, 1)], [("look", {}, 1), ("book", {}, 1)]]
        assert not trajectory.lacks_calls

    def test_a_call_that_failed_and_parts_that_are_missing_are_told_apart(self, talk):
        trace = [{"name": "book", "args": {}, "failed": "full"}, {"name": "look"}, {"name": "pay", "args": "{"}]
        trajectory = talk(f"response: {{calls: {CALLS}}}", in_turn({"text": "Done.", "trace": trace}))
        assert [(step.status, step.unknown) for step in trajectory.calls] == [
            ("error", ("changed", "result")),
            ("unknown", ("changed", "arguments", "result")),
            ("unknown", ("changed", "arguments", "result")),
        ]

    @pytest.mark.parametrize(
        "answer", [{"text": "Done."}, {"text": "Done.", "trace": []}, {"text": "x", "trace": None}]
    )
    def test_an_answer_without_calls_tells_of_none(self, talk, answer):
        trajectory = talk(f"response: {{calls: {CALLS}}}", in_turn(answer))
        assert (trajectory.calls, trajectory.ending, trajectory.calls_reported) == ((), "done", True)

    @pytest.mark.parametrize("trace", ["none", 3, [{"tool": "look"}], ["look"], [{"name": 3}], [{"name": ""}]])
    def test_something_else_at_the_place_of_the_calls_loses_the_episode(self, talk, trace):
        trajectory = talk(f"response: {{calls: {CALLS}}}", in_turn({"text": "Done.", "trace": trace}))
        assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
        assert "each with its tool at 'name' (response.calls), found" in trajectory.fault.message

    def test_a_stream_may_tell_them_in_its_events(self, talk):
        def behave(request):
            ids = {"threadId": request.body["threadId"], "runId": request.body["runId"]}
            return events(
                {"type": "STATE_SNAPSHOT", "snapshot": {"trace": [{"name": "look"}]}},
                {"type": "STATE_SNAPSHOT", "snapshot": {"trace": [{"name": "look"}, {"name": "book"}]}},
                {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Done."},
                {"type": "RUN_FINISHED", **ids},
            )

        file = "form: ag-ui\nresponse: {calls: {at: snapshot.trace, tool: name}}"
        assert [step.tool for step in talk(file, behave).calls] == ["look", "book"]

    def test_what_a_protocol_shows_of_the_services_own_calls_is_taken_where_it_is_asked_for(self, talk):
        def run(request):
            ids = {"threadId": request.body["threadId"], "runId": request.body["runId"]}
            return events(
                {"type": "TOOL_CALL_START", "toolCallId": "1", "toolCallName": "look"},
                {"type": "TOOL_CALL_ARGS", "toolCallId": "1", "delta": '{"day": "Monday"}'},
                {"type": "TOOL_CALL_RESULT", "toolCallId": "1", "messageId": "r", "content": '{"free": 2}'},
                {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Done."},
                {"type": "RUN_FINISHED", **ids},
            )

        trajectory = talk("form: ag-ui\nresponse: {calls: {}}", run)
        assert made(trajectory) == [[("look", {"day": "Monday"}, {"free": 2})]]
        assert not talk("form: ag-ui", run).calls_reported

        def respond(request):
            given = [item for item in request.body["input"] if item.get("type") == "function_call_output"]
            call = {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"day": "Monday"}'}
            result = {"type": "function_call_output", "call_id": "1", "output": '{"free": 2}'}
            mcp = {"type": "mcp_call", "id": "m", "name": "book", "arguments": '{"seats": 2}', "output": "B1"}
            ours = {"type": "function_call", "call_id": "2", "name": "find", "arguments": '{"query": "cafe"}'}
            message = {"type": "message", "content": [{"type": "output_text", "text": "Done."}]}
            return answers({"output": [message] if len(given) > 1 else [call, result, mcp, ours]})

        trajectory = talk("form: openai-responses\nresponse: {calls: {}}", respond)
        assert made(trajectory) == [
            [
                ("find", {"query": "cafe"}, {"places": ["Blue Door"]}),
                ("look", {"day": "Monday"}, {"free": 2}),
                ("book", {"seats": 2}, "B1"),
            ]
        ]
        assert said(trajectory) == ["Done."]

    @pytest.mark.parametrize(
        ("file", "line", "message"),
        [
            ("\nresponse: {calls: {at: trace}}", 2, "response.calls: expected at and tool"),
            ("response: {calls: {}}", 1, "response.calls: expected at and tool"),
            ("form: a2a\nresponse:\n  calls: {}", 3, "response.calls: expected at and tool"),
            ("response: {calls: {at: trace, tools: name}}", 1, "tools"),
            ("form: a2a\nresponse: {text: a, calls: {at: t, tool: n}}", 2, "the form a2a defines itself"),
            ("spans: {ports: 3}", 1, "ports"),
            ("spans: {wait: 0}", 1, "wait"),
            ("spans: {port: 70000}", 1, "port"),
            ("spans: yes please", 1, "spans"),
            (
                "spans: true\nmcp: {upstream: 'http://h/mcp'}\nrequest: {u: $mcp_url}",
                0,
                "found spans and mcp, expected one",
            ),
            ("mcp: {upstream: 'http://h/mcp'}", 1, "the service does not know the proxy: put $mcp_url"),
            ("mcp: {}", 1, "upstream"),
            ("mcp: {upstream: 'http://$session/mcp'}\nrequest: {u: $mcp_url}", 1, "found $session in mcp"),
        ],
    )
    def test_a_wrong_service_file_is_refused_with_its_line(self, tmp_path, file, line, message):
        (tmp_path / "service.yaml").write_text(file)
        with pytest.raises(SuiteError) as raised:
            source("http://127.0.0.1:1/chat", tmp_path, http_form="service.yaml")
        problem = raised.value.problems[0]
        assert message in str(problem)
        assert not line or problem.line == line


# -- spans ---------------------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def port():
    return free_port()


def attribute(key, value):
    return {"key": key, "value": {"stringValue": value}}


def tool_span(trace, number, name="book", parent="", start=1, **attributes):
    listed = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **attributes}
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "parentSpanId": parent or f"{99:016x}",
        "name": f"execute_tool {name}",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1),
        "attributes": [attribute(key, value) for key, value in listed.items()],
    }


def request_span(trace, parent):
    """The span of the service's own for a request: it ends last."""
    return {
        "traceId": trace,
        "spanId": f"{99:016x}",
        "parentSpanId": parent,
        "name": "POST /chat",
        "startTimeUnixNano": "0",
    }


def document(*spans):
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def export(port, *spans, kind="json", packed=False, path="/v1/traces", chunked=False):
    """Send spans as an exporter does, and return the status."""
    body = json.dumps(document(*spans)).encode()
    if kind == "protobuf":
        body = protobuf(*spans)
    headers = {"Content-Type": f"application/{'x-protobuf' if kind == 'protobuf' else kind}"}
    if packed:
        body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
    data = iter([body[:20], body[20:]]) if chunked else body
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def protobuf(*spans):
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    for data in spans:
        span = scope.spans.add(name=data["name"], start_time_unix_nano=int(data["startTimeUnixNano"]))
        span.trace_id, span.span_id = bytes.fromhex(data["traceId"]), bytes.fromhex(data["spanId"])
        span.parent_span_id = bytes.fromhex(data["parentSpanId"])
        for each in data.get("attributes", ()):
            span.attributes.add(key=each["key"]).value.string_value = each["value"]["stringValue"]
        if data.get("failed"):
            span.status.code = Status.STATUS_CODE_ERROR
    return message.SerializeToString()


def ids_of(request):
    _, trace, parent, _ = request.headers["traceparent"].split("-")
    return trace, parent


BOOKED = {"gen_ai.tool.call.arguments": '{"seats": 2}', "gen_ai.tool.call.result": '{"id": "B1"}'}


class TestInSpans:
    @pytest.mark.parametrize(
        "how", [{}, {"kind": "protobuf"}, {"packed": True}, {"kind": "protobuf", "packed": True}, {"chunked": True}]
    )
    def test_spans_of_a_request_are_the_calls_of_its_reply(self, talk, port, how):
        replies = iter(["What time?", "Done."])

        def behave(request):
            trace, parent = ids_of(request)
            text = next(replies)
            spans = (
                [tool_span(trace, 2, start=20, **BOOKED), tool_span(trace, 1, "look", start=10)]
                if text == "Done."
                else []
            )
            assert export(port, *spans, request_span(trace, parent), **how) == 200
            return answers({"text": text})

        began = time.monotonic()
        trajectory = talk(f"spans: {{port: {port}}}", behave)
        assert made(trajectory) == [[], [("look", {}, None), ("book", {"seats": 2}, {"id": "B1"})]]
        assert [step.unknown for step in trajectory.calls] == [("changed", "arguments", "result"), ("changed",)]
        assert time.monotonic() - began < 3

    def test_each_of_many_episodes_at_once_gets_its_own(self, talk, port, service, tmp_path):
        def behave(request):
            trace, parent = ids_of(request)
            time.sleep(0.01)
            export(port, tool_span(trace, 1, f"book_{trace}"), kind="protobuf")
            threading.Timer(0.05, export, (port, request_span(trace, parent))).start()
            return answers({"text": f"Done {trace}."})

        url = service.at(behave)
        (tmp_path / "service.yaml").write_text(f"spans: {{port: {port}}}")
        agent = source(url, tmp_path, http_form="service.yaml")
        with ThreadPoolExecutor(8) as pool:
            trajectories = list(pool.map(lambda _: play(agent), range(16)))
        for trajectory in trajectories:
            (text,), (call,) = said(trajectory), trajectory.calls
            assert text == f"Done {call.tool.removeprefix('book_')}."

    def test_foreign_spans_are_counted_and_what_is_no_call_is_left_out(self, talk, port):
        before = len(receiver_at(port).foreign)

        def behave(request):
            trace, parent = ids_of(request)
            asked = {
                "gen_ai.operation.name": "chat",
                "gen_ai.output.messages": json.dumps(
                    [{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "pay", "arguments": {}}]}]
                ),
            }
            chat = {**tool_span(trace, 1), "name": "chat", "attributes": [attribute(*each) for each in asked.items()]}
            export(port, tool_span("f" * 32, 1), tool_span("f" * 32, 2), tool_span("e" * 32, 1), {"name": "no ids"})
            export(port, chat, tool_span(trace, 2, "look"), request_span(trace, parent))
            export(port, tool_span(trace, 2, "look"))  # sent again
            return answers({"text": "Done."})

        trajectory = talk(f"spans: {{port: {port}}}", behave)
        assert [step.tool for step in trajectory.calls] == ["look"]
        assert len(receiver_at(port).foreign) - before == 2
        assert ("spans", "traces belong to no reply, and are left out", before + 2) in span_warnings()

    def test_a_call_that_two_instrumentations_tell_is_one_call(self, talk, port):
        def behave(request):
            trace, parent = ids_of(request)
            http = {**request_span(trace, f"{1:016x}"), "spanId": f"{7:016x}"}
            outer = tool_span(trace, 1)
            inner = tool_span(trace, 2, parent=f"{7:016x}", start=2, **{"gen_ai.tool.call.id": "c1"}, **BOOKED)
            export(port, outer, http, inner, request_span(trace, parent))
            return answers({"text": "Done."})

        assert made(talk(f"spans: {{port: {port}}}", behave)) == [[("book", {"seats": 2}, {"id": "B1"})]]

    def test_a_trace_that_does_not_end_is_cut_and_what_comes_later_counts_as_called_late(self, talk, port):
        replies, first = iter(["What time?", "Done."]), []

        def behave(request):
            trace, _ = ids_of(request)
            text = next(replies)
            export(port, tool_span(trace, 1, "look"))
            if text == "Done.":
                export(port, tool_span(first[0], 5, "pay"))
            first.append(trace)
            return answers({"text": text})

        trajectory = talk(f"spans: {{port: {port}, wait: 0.3}}", behave)
        assert [[step.tool for step in turn.steps] for turn in trajectory.replies] == [["look"], ["look"]]
        assert [step.tool for step in trajectory.after_end] == ["pay"]
        assert receiver_at(port).cut == 2

    def test_a_service_that_exports_nothing_here_is_told_of(self, talk, port):
        trajectory = talk(f"spans: {{port: {port}, wait: 0.1}}", in_turn({"text": "Done."}))
        assert (trajectory.calls, trajectory.calls_reported, trajectory.ending) == ((), True, "done")
        asked = f"does the service export them to http://127.0.0.1:{port}, and take up the header traceparent?"
        assert ("spans", f"replies without spans: {asked}", 1) in span_warnings()

    def test_a_trace_of_very_many_spans_is_cut(self, talk, port):
        def behave(request):
            trace, parent = ids_of(request)
            export(
                port, *[tool_span(trace, number, "look") for number in range(100, 2000)], request_span(trace, parent)
            )
            return answers({"text": "Done."})

        assert len(talk(f"spans: {{port: {port}}}", behave).calls) == 1000

    @pytest.mark.parametrize(
        ("body", "headers"),
        [
            (b"{", {"Content-Type": "application/json"}),
            (b'{"resourceSpans": [{"scopeSpans"', {"Content-Type": "application/json"}),
            (b"[" * 100_000, {"Content-Type": "application/json"}),
            (b"\xff\xff\xff", {"Content-Type": "application/x-protobuf"}),
            (b"\xff\xff\xff", {"Content-Type": "application/json"}),
            (b"not gzip", {"Content-Type": "application/json", "Content-Encoding": "gzip"}),
            (gzip.compress(b" " * (17 << 20), 1), {"Content-Type": "application/json", "Content-Encoding": "gzip"}),
            (b" " * (17 << 20), {"Content-Type": "application/json"}),
            (b"", {"Content-Length": "-1"}),
            (b"", {"Content-Length": "x"}),
            (b"zz\r\n", {"Transfer-Encoding": "chunked"}),
        ],
    )
    def test_what_is_no_export_of_spans_is_refused(self, port, body, headers):
        receiver_at(port).spans("a" * 32)
        head = {"Host": "h", "Content-Length": str(len(body)), **headers}
        if "Transfer-Encoding" in headers:
            del head["Content-Length"]
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            with suppress(ConnectionError):
                connection.sendall(f"POST /v1/traces HTTP/1.1\r\n{lines}\r\n".encode() + body)
            assert connection.recv(100).startswith(b"HTTP/1.1 400")

    def test_metrics_and_logs_are_let_go(self, port):
        receiver_at(port).spans("a" * 32)
        assert export(port, path="/v1/metrics") == 200

    def test_processes_of_a_run_share_the_port(self):
        port, trace = free_port(), "a1" * 16
        holder, other = Receiver(port), Receiver(port)
        assert (holder.spans("b" * 32), other.spans(trace)) == ([], [])
        span = {**tool_span(trace, 1, **BOOKED), "events": [{"name": "e", "attributes": [attribute("k", "v")]}]}
        assert export(port, span) == 200
        (there,), (here,) = other.spans(trace), holder.spans(trace)
        assert there == here
        assert here.events == (("e", {"k": "v"}),)

    def test_a_port_of_another_program_loses_the_episode(self, talk, service):
        taken = int(service.url.rpartition(":")[2])
        trajectory = talk(f"spans: {{port: {taken}}}", in_turn({"text": "Done."}))
        assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
        assert f"port {taken} of the loopback interface cannot be listened on" in trajectory.fault.message
        assert "name another one" in trajectory.fault.message


# -- a proxy -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def upstream():
    """An MCP server of a team's own."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed")

    def answer(name, arguments):
        if name == "fail":
            return {"status": "error", "message": "no seats"}
        return {"booked": arguments, "by": name}

    tools = {
        name: Tool(name=name, description=name, parameters={"type": "object", "properties": {}})
        for name in ("book", "fail")
    }
    with serve_tools(Toolbox(tools, answer)) as endpoint:
        yield endpoint


REQUEST = "request: {message: $message, mcp_url: $mcp_url, mcp_token: $mcp_token}"


def proxying(endpoint):
    return f"mcp: {{upstream: '{endpoint.url}', headers: {{Authorization: 'Bearer {endpoint.token}'}}}}\n{REQUEST}"


def post(url, token, *messages, **headers):
    """Send messages of MCP, and return the status and the answer."""
    body = json.dumps(messages[0] if len(messages) == 1 else messages).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def tools_call(number, name, **arguments):
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class TestThroughAProxy:
    def test_a_client_lists_and_calls_the_tools_of_the_server_behind_it(self, talk, upstream):
        from mcp_clients import call, client_of

        async def ask(url, token):
            async with client_of(url, token) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                return names, await call(client, "book", seats=2), await call(client, "fail")

        seen = []

        def behave(request):
            seen.append(asyncio.run(ask(request.body["mcp_url"], request.body["mcp_token"])))
            return answers({"text": "Done."})

        trajectory = talk(proxying(upstream), behave)
        assert seen == [
            (
                ["book", "fail"],
                ({"booked": {"seats": 2}, "by": "book"}, False),
                ({"status": "error", "message": "no seats"}, True),
            )
        ]
        assert made(trajectory) == [
            [
                ("book", {"seats": 2}, {"booked": {"seats": 2}, "by": "book"}),
                ("fail", {}, {"status": "error", "message": "no seats"}),
            ]
        ]
        assert [step.status for step in trajectory.calls] == ["ok", "error"]
        assert trajectory.calls_reported

    def test_each_of_many_episodes_at_once_keeps_its_own_calls(self, service, upstream, tmp_path):
        def behave(request):
            url, token = request.body["mcp_url"], request.body["mcp_token"]
            path = url.replace("/mcp", f"/{token}/mcp")
            for number in range(3):
                assert post(path, "", tools_call(number, "book", token=token, at=number))[0] == 200
            return answers({"text": token})

        url = service.at(behave)
        (tmp_path / "service.yaml").write_text(proxying(upstream))
        agent = source(url, tmp_path, http_form="service.yaml")
        with ThreadPoolExecutor(8) as pool:
            trajectories = list(pool.map(lambda _: play(agent), range(16)))
        for trajectory in trajectories:
            (token,) = said(trajectory)
            assert [step.arguments for step in trajectory.calls] == [
                {"token": token, "at": number} for number in range(3)
            ]
        assert len({said(trajectory)[0] for trajectory in trajectories}) == 16

    def test_the_same_call_in_two_replies_is_two_calls(self, talk, upstream):
        replies = iter(["What time?", "Done."])

        def behave(request):
            post(request.body["mcp_url"], request.body["mcp_token"], tools_call(1, "book"))
            return answers({"text": next(replies)})

        assert [len(calls) for calls in made(talk(proxying(upstream), behave))] == [1, 1]

    def test_a_call_after_the_end_is_refused_and_kept_as_late(self, talk, upstream):
        heard = []

        def behave(request):
            heard.append((request.body["mcp_url"], request.body["mcp_token"]))
            return answers({"text": "Done."})

        assert talk(proxying(upstream), behave).after_end == ()
        assert post(*heard[0], tools_call(7, "book", seats=2))[0] == 401
        ((kept,),) = [steps for played, _, steps in calls_after_end() if played == "c"]
        assert (kept.tool, kept.arguments, kept.status) == ("book", {"seats": 2}, "unknown")

    def test_a_stream_of_events_is_passed_on_as_it_comes(self, talk, service):
        result = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": '{"id": "B1"}'}]}}
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
        other = {"jsonrpc": "2.0", "id": 2, "result": {"structuredContent": {"free": 2}, "content": []}}
        upstream = service.at(lambda request: events(progress, other, result))
        passed = []

        def behave(request):
            asked = [tools_call(1, "book"), tools_call(2, "look")]
            passed.append(post(request.body["mcp_url"], request.body["mcp_token"], *asked, **{"Mcp-Session-Id": "s"}))
            return answers({"text": "Done."})

        trajectory = talk(f"mcp: {{upstream: '{upstream}'}}\n{REQUEST}", behave)
        assert passed == [(200, events(progress, other, result)[2].decode())]
        assert made(trajectory) == [[("book", {}, {"id": "B1"}), ("look", {}, {"free": 2})]]
        (heard,) = service.asked(upstream)
        heard = {name.lower(): value for name, value in heard.headers.items()}
        assert heard["mcp-session-id"] == "s"
        assert "authorization" not in heard

    @pytest.mark.parametrize("gone", ["nothing there", "a redirect"])
    def test_a_server_that_cannot_be_asked_loses_the_episode(self, talk, service, gone):
        redirect = service.at(lambda _: (307, {"Location": "http://elsewhere/mcp"}, b""))
        upstream = redirect if gone == "a redirect" else f"http://127.0.0.1:{free_port()}/mcp"

        def behave(request):
            assert post(request.body["mcp_url"], request.body["mcp_token"], tools_call(1, "book"))[0] == 502
            return answers({"text": "I could not book."})

        trajectory = talk(f"mcp: {{upstream: '{upstream}'}}\n{REQUEST}", behave)
        assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
        assert "the MCP server at 127.0.0.1:" in trajectory.fault.message

    def test_what_has_no_token_or_is_no_message_is_refused(self, talk, upstream):
        seen = []

        def behave(request):
            url, token = request.body["mcp_url"], request.body["mcp_token"]
            seen.append(post(url, "", tools_call(1, "book"))[0])
            seen.append(post(url, "wrong", tools_call(1, "book"))[0])
            seen.append(post(url.replace("/mcp", "/other"), token, tools_call(1, "book"))[0])
            with suppress(urllib.error.HTTPError):
                urllib.request.urlopen(urllib.request.Request(url, b"{", {"Authorization": f"Bearer {token}"}))
            with pytest.raises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(urllib.request.Request(url, None, {"Authorization": f"Bearer {token}"}))
            seen.append(raised.value.code)
            return answers({"text": "Done."})

        trajectory = talk(proxying(upstream), behave)
        assert seen == [401, 401, 404, 405]
        assert trajectory.calls == ()
