"""Services that speak a protocol: OpenAI's chat and responses, AG-UI, Agent2Agent."""

import json
import random

import pytest
from http_services import Service, answers, case, events, play, said, source, texted

CALL = '{"query": "cafe"}'
RESULT = {"places": ["Blue Door"]}


@pytest.fixture(scope="module")
def service():
    with Service().running() as service:
        yield service


@pytest.fixture
def talk(service, tmp_path):
    """Play an episode with a service of a form; its answers come one after the other."""

    def talk(form, replies, file="", played=None, **limits):
        replies = iter(replies)
        url = service.at(lambda request: echoed(next(replies), request.body))
        (tmp_path / "service.yaml").write_text(f"form: {form}\n{file}")
        trajectory = play(source(url, tmp_path, http_form="service.yaml"), played=played, **limits)
        return trajectory, [request.body for request in service.asked(url)]

    return talk


def echoed(answer, asked):
    """Return an answer with the ids of the request in the places that stand for them."""
    status, headers, body = answer
    for name in ("threadId", "runId", "id"):
        body = body.replace(f'"<{name}>"'.encode(), json.dumps(asked.get(name)).encode())
    return status, headers, body


# -- OpenAI's chat completions


def chat(text=None, *calls, usage=None, **more):
    """Return an answer: a text, and calls as pairs of a name and arguments."""
    message = {"role": "assistant", "content": text, **more}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls)
        ]
    return answers({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


def chunks(*deltas, usage=None, finish="stop"):
    """Return an answer in pieces."""
    parts = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    last = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}, {"choices": [], "usage": usage}]
    return events(*parts, *(last if finish else ()), "[DONE]")


class TestChat:
    def test_two_turns_with_a_tool_call(self, talk):
        spent = {"prompt_tokens": 10, "completion_tokens": 2}
        trajectory, bodies = talk(
            "openai-chat",
            [
                chat("Let me look.", ("find", CALL), usage=spent),
                chat("What time?", usage=spent),
                chat("Here.", usage=spent),
            ],
        )
        assert said(trajectory) == ["What time?", "Here."]
        first, second = trajectory.replies
        assert [(step.kind, step.text or step.tool) for step in first.steps] == [
            ("thought", "Let me look."),
            ("call", "find"),
        ]
        assert trajectory.calls[0].result == RESULT
        assert (first.usage.input_tokens, first.usage.output_tokens, second.usage.input_tokens) == (20, 4, 10)
        assert [message["role"] for message in bodies[2]["messages"]] == [
            "system",
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
        ]
        assert bodies[1]["messages"][2]["tool_calls"][0]["function"] == {"name": "find", "arguments": CALL}
        assert json.loads(bodies[1]["messages"][3]["content"]) == RESULT
        assert bodies[0]["tools"][0]["function"]["name"] == "find"
        assert bodies[0]["model"] == "agent"
        assert '"city": "Lindenau"' in bodies[0]["messages"][0]["content"]

    def test_a_stream_is_put_together(self, talk):
        trajectory, bodies = talk(
            "openai-chat",
            [
                chunks(
                    {"role": "assistant", "content": None},
                    {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "find", "arguments": ""}}]},
                    {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "find", "arguments": "{}"}}]},
                    {"tool_calls": [{"index": 0, "function": {"arguments": '{"query": '}}]},
                    {"tool_calls": [{"index": 0, "function": {"arguments": '"cafe"}'}}]},
                    usage={"prompt_tokens": 5, "completion_tokens": 1},
                ),
                chunks({"content": "He"}, {"content": "re."}, usage={"prompt_tokens": 6, "completion_tokens": 1}),
            ],
            "request: {stream: true, model: mine}",
        )
        assert said(trajectory) == ["Here."]
        assert [(step.id, step.arguments) for step in trajectory.calls] == [("c1", {"query": "cafe"}), ("c2", {})]
        assert trajectory.replies[0].usage.input_tokens == 11
        assert (bodies[0]["stream"], bodies[0]["stream_options"], bodies[0]["model"]) == (
            True,
            {"include_usage": True},
            "mine",
        )

    @pytest.mark.parametrize("bad", ["{query: cafe}", "[1]", "", None, '"cafe"', '{"query": "a", "query": "b"}'])
    def test_bad_arguments_are_answered_with_an_error(self, talk, bad):
        trajectory, bodies = talk("openai-chat", [chat(None, ("find", bad)), chat("Here.")])
        assert said(trajectory) == ["Here."]
        assert json.loads(bodies[1]["messages"][-1]["content"])["status"] == "error"
        json.loads(bodies[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"])

    def test_an_unknown_tool_is_answered_with_an_error(self, talk):
        trajectory, bodies = talk("openai-chat", [chat(None, ("nope", "{}")), chat("Here.")])
        assert trajectory.calls[0].status == "error"
        assert "nope" in bodies[1]["messages"][-1]["content"]

    def test_calls_without_end_are_the_agents_fault(self, service, tmp_path):
        url = service.at(lambda _: chat(None, ("find", CALL)))
        trajectory = play(source(f"openai-chat:{url}", tmp_path), max_calls=5)
        assert (trajectory.ending, trajectory.fault.blame) == ("agent_error", "agent")
        assert "made more than 5 tool calls in one reply" in trajectory.fault.message
        assert len(trajectory.calls) == 5

    def test_bad_calls_without_end_are_the_agents_fault(self, service, tmp_path, monkeypatch):
        monkeypatch.setattr("pytest_mapsat.agents.wire_forms.MOST_ROUNDS", 4)
        url = service.at(lambda _: chat(None, ("find", "no JSON")))
        trajectory = play(source(f"openai-chat:{url}", tmp_path))
        assert (trajectory.ending, trajectory.fault.blame) == ("agent_error", "agent")
        assert "went on calling tools after 4 answers in one reply" in trajectory.fault.message

    @pytest.mark.parametrize(
        ("answer", "blame", "message"),
        [
            (answers({"error": {"message": "too long"}}), "agent", "the agent reports an error: too long"),
            (answers({"choices": []}), "infrastructure", "its first choice does not fit its form"),
            (answers({"text": "Here."}), "infrastructure", "expected a list under 'choices'"),
            (texted("Here."), "infrastructure", "its answer is not JSON"),
            (chunks({"content": "He"}, finish=None), "infrastructure", "its stream ended before the answer did"),
            (events("{"), "infrastructure", "an event of its stream is not JSON"),
            (events("[1]"), "infrastructure", "an event of its stream is not a JSON object"),
            (events({"choices": [{"delta": {"content": 7}}]}), "infrastructure", "a delta does not fit its form"),
            ((200, {"Content-Type": "text/event-stream"}, b"data: {}"), "infrastructure", "ended within an event"),
        ],
    )
    def test_a_wrong_answer_is_told(self, talk, answer, blame, message):
        fault = talk("openai-chat", [answer])[0].fault
        assert fault.blame == blame
        assert message in fault.message

    @pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
    def test_what_a_model_reasons_is_a_thought(self, talk, name):
        whole = talk("openai-chat", [chat("Here.", **{name: "hm"})])[0]
        streamed = talk("openai-chat", [chunks({name: "h"}, {name: "m"}, {"content": "Here."})])[0]
        for trajectory in (whole, streamed):
            assert [(step.kind, step.text) for step in trajectory.replies[0].steps] == [("thought", "hm")]

    def test_a_refusal_of_the_model_is_its_reply(self, talk):
        assert said(talk("openai-chat", [chat(None, refusal="I would rather not.")])[0]) == ["I would rather not."]

    def test_a_request_that_was_refused_after_a_call_is_not_sent_again(self, talk):
        busy = answers({}, 429, **{"Retry-After": "0"})
        trajectory, bodies = talk("openai-chat", [busy, chat(None, ("find", CALL)), busy, chat("Here.")])
        assert trajectory.fault.blame == "infrastructure"
        assert len(bodies) == 3

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_lines_of_a_stream_may_end_in_any_way(self, talk, end):
        status, headers, body = events(
            {"choices": [{"delta": {"content": "Hier, Törchen"}, "finish_reason": "stop"}]}, "[DONE]", end=end
        )
        noise = f": ping{end}event: x{end}id: 1{end}".encode()
        assert said(talk("openai-chat", [(status, headers, noise + body)])[0]) == ["Hier, Törchen"]


def _parts():
    """Return toolbox, context and session as an episode has them."""
    from http_services import FIND

    from pytest_mapsat.agents import Session, context_of
    from pytest_mapsat.sandbox import Toolbox

    return Toolbox({"find": FIND}, lambda *_: None), lambda: context_of(case().visible), Session("s", lambda _: None)


# -- OpenAI's responses


def response(*items, **more):
    return {"id": "resp_1", "status": "completed", "output": list(items), "error": None, **more}


def message(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def function(arguments=CALL, name="find"):
    return {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "arguments": arguments}


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}


class TestResponses:
    def test_all_items_are_sent_again(self, talk):
        trajectory, bodies = talk(
            "openai-responses",
            [
                answers(response(THOUGHT, function(), usage={"input_tokens": 5, "output_tokens": 1})),
                answers(response(message("What time?"), usage={"input_tokens": 6, "output_tokens": 2})),
                answers(response(message("Here."))),
            ],
        )
        assert said(trajectory) == ["What time?", "Here."]
        first, second = trajectory.replies
        assert [(step.kind, step.text or step.tool) for step in first.steps] == [("thought", "hm"), ("call", "find")]
        assert (first.usage.input_tokens, second.usage.input_tokens) == (11, None)
        assert [item.get("type", "user") for item in bodies[2]["input"]] == [
            "user",
            "reasoning",
            "function_call",
            "function_call_output",
            "message",
            "user",
        ]
        assert json.loads(bodies[1]["input"][-1]["output"]) == RESULT
        assert bodies[0]["tools"][0]["name"] == "find"
        assert '"city": "Lindenau"' in bodies[0]["instructions"]

    def test_a_service_that_stores_gets_the_new_items_only(self, talk):
        trajectory, bodies = talk(
            "openai-responses",
            [
                answers(response(function())),
                answers(response(message("What time?"))),
                answers(response(message("Here."))),
            ],
            "request: {store: true}",
        )
        assert said(trajectory) == ["What time?", "Here."]
        assert "previous_response_id" not in bodies[0]
        assert [(body["previous_response_id"], len(body["input"])) for body in bodies[1:]] == [("resp_1", 1)] * 2

    def test_the_last_event_of_a_stream_holds_it_all(self, talk):
        stream = events(
            {"type": "response.output_text.delta", "delta": "He"},
            {"type": "response.completed", "response": response(message("Here."))},
        )
        assert said(talk("openai-responses", [stream], "request: {stream: true}")[0]) == ["Here."]

    @pytest.mark.parametrize(
        ("answer", "blame", "message"),
        [
            (answers(response(status="failed", error={"message": "boom"})), "agent", "reports an error: boom"),
            (events({"type": "error", "message": "boom"}), "agent", "reports an error: boom"),
            (events({"type": "response.created"}), "infrastructure", "its stream ended before the answer did"),
            (answers({"output": "Here."}), "infrastructure", "expected a list under 'output'"),
            (answers({"output": ["Here."]}), "infrastructure", "expected objects under 'output'"),
            (
                answers(response({"type": "function_call", "name": "find"})),
                "infrastructure",
                "a tool call does not fit",
            ),
        ],
    )
    def test_a_wrong_answer_is_told(self, talk, answer, blame, message):
        fault = talk("openai-responses", [answer])[0].fault
        assert fault.blame == blame
        assert message in fault.message


# -- AG-UI


def run(*happened, **finished):
    """Return a run with events between its first and its last."""
    ids = {"threadId": "<threadId>", "runId": "<runId>"}
    return events({"type": "RUN_STARTED", **ids}, *happened, {"type": "RUN_FINISHED", **ids, **finished})


def speaks(text, key="m1"):
    parts = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": part} for part in text]
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": key, "role": "assistant"},
        *parts,
        {"type": "TEXT_MESSAGE_END", "messageId": key},
    ]


def calls(arguments=CALL, name="find", key="t1"):
    return [
        {"type": "TOOL_CALL_START", "toolCallId": key, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": arguments[:5]},
        {"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": arguments[5:]},
        {"type": "TOOL_CALL_END", "toolCallId": key},
    ]


class TestAgUi:
    def test_our_tools_are_those_of_the_frontend(self, talk):
        trajectory, bodies = talk(
            "ag-ui",
            [
                run(
                    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "x", "delta": "hm"},
                    *calls(),
                    {"type": "STATE_SNAPSHOT", "snapshot": {"seen": 1}},
                ),
                run(*speaks("What time?"), usage=[{"inputTokens": 3, "outputTokens": 1}]),
                run(
                    *speaks("Here."),
                    usage=[{"inputTokens": 3, "outputTokens": 1}, {"inputTokens": 4, "outputTokens": 1}],
                ),
            ],
        )
        assert said(trajectory) == ["What time?", "Here."]
        assert [(step.kind, step.text or step.tool) for step in trajectory.replies[0].steps] == [
            ("thought", "hm"),
            ("call", "find"),
        ]
        assert [turn.usage.input_tokens for turn in trajectory.replies] == [None, 7]
        first, second, third = bodies
        assert first["threadId"] == third["threadId"] != ""
        assert first["runId"] != second["runId"]
        assert first["tools"][0]["name"] == "find"
        assert {"description": "city", "value": "Lindenau"} in first["context"]
        assert (first["state"], second["state"]) == ({}, {"seen": 1})
        assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool"]
        assert second["messages"][1]["toolCalls"][0]["function"] == {"name": "find", "arguments": CALL}
        assert second["messages"][2]["toolCallId"] == "t1"
        assert json.loads(second["messages"][2]["content"]) == RESULT

    def test_tools_of_the_service_are_left_to_it(self, talk):
        trajectory, _ = talk(
            "ag-ui",
            [
                run(
                    *calls(name="theirs"),
                    {"type": "TOOL_CALL_RESULT", "toolCallId": "t1", "messageId": "m0", "content": "7"},
                    *speaks("Here."),
                )
            ],
        )
        assert (said(trajectory), trajectory.calls) == (["Here."], ())

    def test_chunks_stand_for_whole_messages_and_calls(self, talk):
        trajectory, _ = talk(
            "ag-ui",
            [
                run(
                    {"type": "TOOL_CALL_CHUNK", "toolCallId": "t1", "toolCallName": "find", "delta": '{"query"'},
                    {"type": "TOOL_CALL_CHUNK", "delta": ': "cafe"}'},
                ),
                run(
                    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": "He"},
                    {"type": "TEXT_MESSAGE_CHUNK", "delta": "re."},
                ),
            ],
        )
        assert (said(trajectory), trajectory.calls[0].arguments) == (["Here."], {"query": "cafe"})

    def test_a_snapshot_of_messages_takes_the_place_of_ours(self, talk):
        kept = [{"id": "1", "role": "user", "content": "a"}, {"id": "2", "role": "assistant", "content": "What time?"}]
        _, bodies = talk(
            "ag-ui",
            [run(*speaks("What time?"), {"type": "MESSAGES_SNAPSHOT", "messages": kept}), run(*speaks("Here."))],
        )
        assert bodies[1]["messages"][:2] == kept
        assert bodies[1]["messages"][2]["content"] == "At nine."

    def test_an_interrupt_is_a_question(self, talk):
        trajectory, _ = talk(
            "ag-ui",
            [
                run(outcome={"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", "message": "What time?"}]}),
                run(*speaks("Here.")),
            ],
        )
        assert said(trajectory) == ["What time?", "Here."]

    @pytest.mark.parametrize(
        ("answer", "blame", "message"),
        [
            (events({"type": "RUN_ERROR", "message": "boom"}), "agent", "the agent reports an error: boom"),
            (events(*speaks("Here.")), "infrastructure", "no RUN_FINISHED came"),
            (run({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}), "infrastructure", "not started"),
            (run({"type": "TOOL_CALL_ARGS", "toolCallId": "t", "delta": "x"}), "infrastructure", "not started"),
            (run({"kind": "x"}), "infrastructure", "expected a text under 'type'"),
            (
                run({"type": "TOOL_CALL_START", "toolCallId": "t"}),
                "infrastructure",
                "expected a text under 'toolCallName'",
            ),
            (answers({"text": "Here."}), "infrastructure", "expected a stream of events"),
        ],
    )
    def test_a_wrong_stream_is_told(self, talk, answer, blame, message):
        fault = talk("ag-ui", [answer])[0].fault
        assert fault.blame == blame
        assert message in fault.message


# -- Agent2Agent


def rpc(result=None, **error):
    return answers({"jsonrpc": "2.0", "id": "<id>", **({"error": error} if error else {"result": result})})


def task(state, *texts, artifacts=(), key="task-1"):
    status = {
        "state": state,
        "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text} for text in texts]},
    }
    made = [{"artifactId": "a", "parts": [part]} for part in artifacts]
    return {"id": key, "contextId": "ctx-1", "status": status, "artifacts": made}


class TestA2A:
    def test_messages_in_a_context(self, talk):
        def say(text):
            return rpc(
                {"message": {"messageId": "m", "contextId": "ctx-1", "role": "ROLE_AGENT", "parts": [{"text": text}]}}
            )

        trajectory, bodies = talk("a2a", [say("What time?"), say("Here.")])
        assert said(trajectory) == ["What time?", "Here."]
        first, second = (body["params"]["message"] for body in bodies)
        assert [body["method"] for body in bodies] == ["SendMessage"] * 2
        assert (first["role"], first["parts"]) == ("ROLE_USER", [{"text": "Find a cafe"}])
        assert ("contextId" in first, second["contextId"]) == (False, "ctx-1")
        assert "taskId" not in second
        assert first["metadata"]["context"]["city"] == "Lindenau"

    def test_a_question_goes_on_in_its_task(self, talk):
        trajectory, bodies = talk(
            "a2a",
            [
                rpc({"task": task("TASK_STATE_INPUT_REQUIRED", "What time?")}),
                rpc({"task": task("TASK_STATE_COMPLETED", artifacts=[{"text": "Here."}, {"data": {"a": 1}}])}),
            ],
        )
        assert said(trajectory) == ["What time?", "Here."]
        assert trajectory.replies[1].output == {"a": 1}
        assert bodies[1]["params"]["message"]["taskId"] == "task-1"

    def test_a_task_at_work_is_waited_for(self, talk, monkeypatch):
        monkeypatch.setattr("pytest_mapsat.agents.wire_forms.A2AForm._PAUSE", 0.01)
        trajectory, bodies = talk(
            "a2a",
            [
                rpc({"task": task("TASK_STATE_SUBMITTED")}),
                rpc(task("TASK_STATE_WORKING", "wait")),
                rpc(task("TASK_STATE_COMPLETED", "Here.")),
            ],
        )
        assert said(trajectory) == ["Here."]
        assert [(body["method"], body["params"].get("id")) for body in bodies[1:]] == [("GetTask", "task-1")] * 2

    def test_version_0_3_is_spoken_where_1_0_is_not_known(self, service, talk):
        done = {
            "kind": "task",
            "id": "task-1",
            "contextId": "ctx-1",
            "status": {"state": "input-required", "message": {"parts": [{"kind": "text", "text": "What time?"}]}},
        }
        final = {"kind": "message", "contextId": "ctx-1", "parts": [{"kind": "text", "text": "Here."}]}
        trajectory, bodies = talk("a2a", [rpc(code=-32601, message="Method not found"), rpc(done), rpc(final)])
        assert said(trajectory) == ["What time?", "Here."]
        assert [body["method"] for body in bodies] == ["SendMessage", "message/send", "message/send"]
        versions = [request.headers["A2A-Version"] for request in service.heard[-3:]]
        assert versions == ["1.0", "0.3", "0.3"]
        told = bodies[2]["params"]["message"]
        assert (told["kind"], told["role"], told["taskId"], told["contextId"]) == ("message", "user", "task-1", "ctx-1")

    @pytest.mark.parametrize(
        ("answer", "blame", "message"),
        [
            (rpc({"task": task("TASK_STATE_FAILED", "no idea")}), "agent", "is 'failed' (no idea)"),
            (rpc({"task": task("TASK_STATE_REJECTED")}), "agent", "the state of the task is 'rejected'"),
            (rpc(code=-32603, message="Internal error"), "agent", "the agent reports an error: Internal error"),
            (
                rpc(code=-32602, message="Invalid params"),
                "infrastructure",
                "refuses the request: 'Invalid params' (-32602)",
            ),
            (rpc({"status": "done"}), "infrastructure", "a task does not fit its form"),
            (rpc({}), "infrastructure", "expected a list under 'parts'"),
            (rpc("done"), "infrastructure", "expected an object under 'result'"),
            (events({"jsonrpc": "2.0"}), "infrastructure", "with a stream of events"),
        ],
    )
    def test_a_wrong_answer_is_told(self, talk, answer, blame, message):
        fault = talk("a2a", [answer])[0].fault
        assert fault.blame == blame
        assert message in fault.message


# -- what an answer is that does not call itself complete


def ended(finish, text="Here.", **more):
    """Return an answer of OpenAI's chat completions that ended for a reason."""
    return answers({"choices": [{"message": {"content": text, **more}, "finish_reason": finish}]})


def named(name, data):
    """Return an answer that is a stream with one named event."""
    return 200, {"Content-Type": "text/event-stream"}, f"event: {name}\ndata: {data}\n\n".encode()


def whole(status, **more):
    return answers(response(message("Here."), status=status, **more))


def last_event(state, status=None):
    told = response(message("Here."), status=status)
    return events({"type": "response.created", "response": told}, {"type": f"response.{state}", "response": told})


BAD, UNKNOWN, OTHER = "gave no whole answer: ", "does not call its answer complete: ", "it answers for another "
FUNCTION = {"name": "find", "arguments": CALL}


@pytest.mark.parametrize(
    ("form", "answer", "blame", "told"),
    [
        ("openai-chat", ended("length"), "agent", f"{BAD}finish_reason is 'length'"),
        ("openai-chat", ended("content_filter"), "agent", f"{BAD}finish_reason is 'content_filter'"),
        ("openai-chat", ended("error"), "agent", f"{BAD}finish_reason is 'error'"),
        ("openai-chat", ended("tool_calls"), "infrastructure", f"{UNKNOWN}finish_reason is 'tool_calls'"),
        ("openai-chat", ended(None), "infrastructure", f"{UNKNOWN}finish_reason is None"),
        ("openai-chat", ended("eos"), "infrastructure", f"{UNKNOWN}finish_reason is 'eos', expected 'stop'"),
        (
            "openai-chat",
            chat("He", ("find", CALL), function_call=FUNCTION),
            "infrastructure",
            "'find' by function_call",
        ),
        ("openai-chat", ended("function_call", function_call=FUNCTION), "infrastructure", "'find' by function_call"),
        ("openai-chat", chunks({"function_call": FUNCTION}), "infrastructure", "'find' by function_call"),
        ("openai-chat", chunks({"content": "Here."}, finish="length"), "agent", f"{BAD}finish_reason is 'length'"),
        ("openai-chat", chunks({"content": "Here."}, finish="tool_calls"), "infrastructure", f"{UNKNOWN}finish_reason"),
        ("openai-chat", named("error", '{"message": "boom"}'), "agent", "the agent reports an error: boom"),
        ("openai-chat", named("error", '{"error": {"message": "boom"}}'), "agent", "reports an error: boom"),
        ("openai-chat", named("error", "boom"), "agent", "the agent reports an error: boom"),
        ("json", named("error", "boom"), "agent", "the agent reports an error: boom"),
        ("json", answers({"text": "Here.", "errors": [{"message": "boom"}]}), "agent", "reports an error: [{"),
        ("json", answers({"text": "Here."}, 202), "infrastructure", "answered 202 Accepted: "),
        ("json", answers({"text": "Here."}, 206), "infrastructure", "answered 206 Partial Content: "),
        ("json", answers({"text": "Here."}, 226), "infrastructure", "answered 226 IM Used: "),
        ("openai-chat", (*chat("Here.")[:2], b""), "infrastructure", "it answered with nothing"),
        *[
            ("openai-responses", answer(status), blame, f"{kind}its status is '{status}'")
            for answer in (whole, lambda status: last_event("completed", status))
            for status, blame, kind in [
                ("failed", "agent", BAD),
                ("incomplete", "agent", BAD),
                ("cancelled", "agent", BAD),
                ("in_progress", "infrastructure", UNKNOWN),
                ("queued", "infrastructure", UNKNOWN),
                ("requires_action", "infrastructure", UNKNOWN),
            ]
        ],
        ("openai-responses", last_event("incomplete"), "agent", f"{BAD}its status is 'incomplete'"),
        ("openai-responses", last_event("failed", "completed"), "agent", f"{BAD}its status is 'failed'"),
        ("openai-responses", last_event("in_progress"), "infrastructure", "its stream ended before the answer did"),
        (
            "openai-responses",
            whole(None, incomplete_details={"reason": "max_output_tokens"}),
            "agent",
            """'incomplete' ({"reason": "max_output_tokens"})""",
        ),
        ("ag-ui", run(*speaks("Here."), outcome={"type": "cancelled"}), "agent", f"{BAD}the outcome of the run is"),
        ("ag-ui", run(*speaks("Here."), outcome={"type": "error"}), "agent", f"{BAD}the outcome of the run is 'error'"),
        ("ag-ui", run(*speaks("Here."), outcome={"type": "odd"}), "infrastructure", f"{UNKNOWN}the outcome of the run"),
        ("ag-ui", run(*speaks("Here."), threadId="other"), "infrastructure", f"{OTHER}thread"),
        ("ag-ui", run(*speaks("Here."), runId="other"), "infrastructure", f"{OTHER}run"),
        ("ag-ui", run(*speaks("Here."), {"type": "RUN_ERROR", "message": "boom"}), "agent", "reports an error: boom"),
        *[
            ("a2a", rpc({"task": task(state, "Here.")}), blame, f"{kind}the state of the task is")
            for state, blame, kind in [
                ("TASK_STATE_CANCELED", "agent", BAD),
                ("TASK_STATE_CANCELLED", "agent", BAD),
                ("rejected", "agent", BAD),
                ("TASK_STATE_AUTH_REQUIRED", "infrastructure", UNKNOWN),
                ("unknown", "infrastructure", UNKNOWN),
                ("TASK_STATE_UNSPECIFIED", "infrastructure", UNKNOWN),
                ("paused", "infrastructure", UNKNOWN),
            ]
        ],
        ("a2a", answers({"jsonrpc": "2.0", "id": "7", "result": {}}), "infrastructure", f"{OTHER}request"),
    ],
)
def test_only_a_state_that_is_documented_as_complete_makes_a_reply(talk, form, answer, blame, told):
    trajectory, _ = talk(form, [answer])
    assert (said(trajectory), trajectory.fault.blame) == ([], blame)
    assert told in trajectory.fault.message


@pytest.mark.parametrize(
    ("answer", "blame", "told"),
    [
        ({"state": "done"}, "", ""),
        ({"state": "ok"}, "", ""),
        ({"state": "done", "error": False, "errors": []}, "", ""),
        ({"state": "failed"}, "agent", f"{BAD}'state' (response.complete) is 'failed'"),
        (
            {"state": "running"},
            "infrastructure",
            f"{UNKNOWN}'state' (response.complete) is 'running', expected 'done' or",
        ),
        ({"state": True}, "infrastructure", "is True"),
        ({}, "infrastructure", "is None"),
    ],
)
def test_a_service_of_its_own_form_says_how_it_calls_an_answer_complete(talk, answer, blame, told):
    file = "response: {complete: {path: state, equals: [done, ok]}}"
    trajectory, _ = talk("json", [answers({"text": "Here.", **answer})], file)
    assert said(trajectory) == ([] if blame else ["Here."])
    assert told in (trajectory.fault.message if trajectory.fault else "")
    assert (trajectory.fault.blame if trajectory.fault else "") == blame


def test_answers_of_other_tasks_contexts_responses_and_runs_are_no_replies(talk, monkeypatch):
    monkeypatch.setattr("pytest_mapsat.agents.wire_forms.A2AForm._PAUSE", 0.01)
    asks = rpc({"task": task("TASK_STATE_INPUT_REQUIRED", "What time?")})
    done = task("TASK_STATE_COMPLETED", "Here.")
    for second, other in [({**done, "id": "task-2"}, "task"), ({**done, "contextId": "ctx-2"}, "context")]:
        trajectory, _ = talk("a2a", [asks, rpc({"task": second})])
        assert f"{OTHER}{other}: expected" in trajectory.fault.message
    trajectory, _ = talk("a2a", [rpc({"task": task("TASK_STATE_WORKING")}), rpc({**done, "id": "task-2"})])
    assert f"{OTHER}task: expected 'task-1', found 'task-2'" in trajectory.fault.message
    strangers = response(message("Here."), previous_response_id="resp_0")
    stored = [answers(response(message("What time?"))), answers(strangers)]
    trajectory, _ = talk("openai-responses", stored, "request: {store: true}")
    assert f"{OTHER}response" in trajectory.fault.message


# -- whatever comes


VALUES = (None, True, 0, -1.5, "", "x", [], [None], [[]], {}, {"text": "x"}, [{"a": 1}], 10**30)
WHOLE = {
    "json": answers({"text": "Here.", "output": {"a": 1}, "usage": {"cost": 1}, "error": None}),
    "openai-chat": chat("Here.", ("find", CALL), usage={"prompt_tokens": 1}),
    "openai-responses": answers(response(THOUGHT, function(), message("Here."))),
    "a2a": rpc({"task": task("TASK_STATE_INPUT_REQUIRED", "Here.", artifacts=[{"text": "Here."}, {"data": {"a": 1}}])}),
}
STREAMS = {
    "openai-chat": chunks({"content": "He", "tool_calls": [{"index": 0, "id": "a", "function": {"name": "find"}}]}),
    "openai-responses": events({"type": "response.completed", "response": response(function(), message("Here."))}),
    "ag-ui": run(*speaks("Here."), *calls(), {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1"}]}, usage=[{}]),
}


def spoilt(data, chance):
    """Return data with one value in it replaced or left out."""
    places = []

    def walk(value):
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(data)
    if places:
        where, key = chance.choice(places)
        if isinstance(where, dict) and chance.random() < 0.3:
            del where[key]
        else:
            where[key] = chance.choice(VALUES)
    return data


@pytest.mark.parametrize(
    ("form", "streamed"), [*((form, False) for form in WHOLE), *((form, True) for form in STREAMS)]
)
def test_a_spoilt_answer_ends_as_a_reply_or_as_a_fault_in_our_words(service, tmp_path, monkeypatch, form, streamed):
    monkeypatch.setattr("pytest_mapsat.agents.wire_forms.MOST_ROUNDS", 2)
    monkeypatch.setattr("pytest_mapsat.agents.wire_forms.A2AForm._PAUSE", 0.0)
    chance = random.Random(form)
    body = (STREAMS if streamed else WHOLE)[form][2]

    def behave(request):
        return echoed(spoilt_answer(), request.body)

    def spoilt_answer():
        if not streamed:
            return answers(spoilt(json.loads(body), chance))
        parts = [line.removeprefix("data: ") for line in body.decode().split("\n\n") if line]
        spoilt_part = chance.randrange(len(parts))
        data = [json.loads(part) if part != "[DONE]" else part for part in parts]
        data[spoilt_part] = spoilt(data[spoilt_part], chance)
        return events(*data)

    agent = source(service.at(behave), tmp_path, http_form=form)
    for _ in range(60):
        trajectory = play(agent, max_turns=1, timeout=5)
        fault = trajectory.fault
        assert fault is None or fault.message.startswith(("the service http://", "the agent "))
        assert trajectory.ending in ("done", "max_turns", "stalled", "agent_error", "infrastructure_error")
