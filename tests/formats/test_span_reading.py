"""Conversations out of spans: what is read in each convention, and what is said of spans that tell less or nonsense."""

import gzip
import json
import time
import tracemalloc
from contextlib import nullcontext, suppress

import pytest
from spans_made import ANSWER, ARGUMENTS, CALL, CONVENTIONS, LAST, QUERY, REPLY, RESULT, genai, otlp, span, text, write

from pytest_mapsat.formats import DELEGATES, limits, read_spans
from pytest_mapsat.model import SuiteError


def only(path):
    (dialogue,) = read_spans(path)
    return dialogue


def said(dialogue):
    return [(turn.role, turn.text) for turn in dialogue.trajectory.turns]


def calls(dialogue):
    return [
        (call.tool, call.arguments, call.result, "result" not in call.unknown) for call in dialogue.trajectory.calls
    ]


WHOLE = [("user", QUERY), ("agent", REPLY), ("user", ANSWER), ("agent", LAST)]


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_each_convention_tells_the_same_conversation(convention, tmp_path) -> None:
    dialogue = only(write(tmp_path / "spans.json", *CONVENTIONS[convention]()))
    assert said(dialogue) == WHOLE
    assert calls(dialogue) == [("search_poi", ARGUMENTS, RESULT, True)]
    assert [len(turn.steps) for turn in dialogue.trajectory.turns] == [0, 1, 0, 0]
    assert dialogue.session == "talk"
    usages = [turn.usage for turn in dialogue.trajectory.turns]
    assert (usages[1].input_tokens, usages[1].output_tokens, usages[3].input_tokens) == (20, 4, 10)
    assert not dialogue.trajectory.warnings


@pytest.mark.parametrize("layout", ["lines", "pretty", "list", "gzip", "snake"])
def test_spans_in_any_order_and_layout_are_one_conversation(layout, tmp_path) -> None:
    spans = genai()[::-1]
    path = tmp_path / "spans.json"
    if layout == "lines":
        path.write_text("\n\n".join(json.dumps(otlp(one)) for one in spans), encoding="utf-8")
    elif layout == "gzip":
        path = tmp_path / "spans.json.gz"
        path.write_bytes(gzip.compress(json.dumps(otlp(*spans)).encode()))
    elif layout == "snake":
        whole = json.dumps(otlp(*spans)).replace("resourceSpans", "resource_spans").replace("scopeSpans", "scope_spans")
        path.write_text(
            whole.replace("traceId", "trace_id")
            .replace('"spanId', '"span_id')
            .replace("parentSpanId", "parent_span_id"),
            encoding="utf-8",
        )
    else:
        path.write_text(
            json.dumps(otlp(*spans) if layout == "pretty" else [otlp(one) for one in spans], indent=2), encoding="utf-8"
        )
    assert said(only(path)) == WHOLE


def test_what_a_console_exporter_prints_is_read(tmp_path) -> None:
    printed = [
        {
            "name": one["name"],
            "context": {"trace_id": f"0x{one['traceId']}", "span_id": f"0x{one['spanId']}", "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL",
            "parent_id": f"0x{one['parentSpanId']}" if one["parentSpanId"] else None,
            "start_time": f"2026-05-07T12:00:{int(one['spanId'], 16):02d}.000000Z",
            "end_time": f"2026-05-07T12:00:{int(one['spanId'], 16):02d}.250000Z",
            "status": {"status_code": "UNSET"},
            "attributes": {pair["key"]: next(iter(pair["value"].values())) for pair in one["attributes"]},
            "events": [],
            "links": [],
        }
        for one in genai()[:4]
    ]
    path = tmp_path / "console.json"
    path.write_text("\n".join(json.dumps(one, indent=4) for one in printed), encoding="utf-8")
    dialogue = only(path)
    assert said(dialogue) == WHOLE[:2]
    assert calls(dialogue) == [("search_poi", ARGUMENTS, RESULT, True)]
    assert dialogue.trajectory.turns[1].timing.seconds == 0.25


def test_the_case_and_trial_stand_on_any_span_of_a_conversation(tmp_path) -> None:
    spans = genai(first={"gen_ai.conversation.id": "talk", "mapsat.case": "nav-one", "mapsat.trial": 2})
    dialogue = only(write(tmp_path / "spans.json", *spans))
    assert (dialogue.trajectory.case, dialogue.trajectory.trial, dialogue.session) == ("nav-one", 2, "talk")
    assert said(dialogue) == WHOLE


def test_two_conversations_of_one_trace_are_kept_apart(tmp_path) -> None:
    root = span(9, "test", {}, trace=1)
    one, other = genai()[:4], genai()[:4]
    for number, batch in enumerate((one, other)):
        for at, member in enumerate(batch):
            member["spanId"] = f"{16 * number + at + 20:016x}"
            member["parentSpanId"] = root["spanId"] if at == 0 else batch[0]["spanId"]
            member["attributes"] = [pair for pair in member["attributes"] if pair["key"] != "gen_ai.conversation.id"]
        batch[0]["attributes"].append({"key": "session.id", "value": {"stringValue": f"talk-{number}"}})
    mixed = [member for pair in zip(one, other, strict=True) for member in pair]
    dialogues = list(read_spans(write(tmp_path / "spans.json", *mixed, root)))
    assert [(dialogue.session, said(dialogue), len(calls(dialogue))) for dialogue in dialogues] == [
        ("talk-0", WHOLE[:2], 1),
        ("talk-1", WHOLE[:2], 1),
    ]


def test_odd_spans_are_named_with_their_id_and_line(tmp_path) -> None:
    spans = genai()[:4]
    spans[2] |= {"endTimeUnixNano": "1"}
    lines = [*spans[1:], spans[3]]  # no root, and the last one twice
    path = tmp_path / "spans.json"
    path.write_text("\n".join(json.dumps(otlp(one)) for one in lines), encoding="utf-8")
    dialogue = only(path)
    assert said(dialogue) == WHOLE[:2]
    assert len(calls(dialogue)) == 1
    assert dialogue.trajectory.warnings == (
        "span '0000000000000002' (line 1): the span around it, '0000000000000001', is not among those of its conversation",
        "span '0000000000000003' (line 2): the span around it, '0000000000000001', is not among those of its conversation",
        "span '0000000000000003' (line 2): ends before it begins",
        "span '0000000000000004' (line 3): occurs again on line 4; the first one counts",
        "span '0000000000000004' (line 3): the span around it, '0000000000000001', is not among those of its conversation",
    )


def test_spans_around_each_other_end(tmp_path) -> None:
    spans = genai()[:4]
    spans[0]["parentSpanId"] = spans[1]["spanId"]
    assert said(only(write(tmp_path / "spans.json", *spans))) == WHOLE[:2]


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ({}, (ARGUMENTS, RESULT, True)),  # both stand in the messages
        ({"gen_ai.tool.call.result": '{"pois": [{"na'}, (ARGUMENTS, RESULT, True)),
        ({"gen_ai.tool.call.arguments": "__REDACTED__"}, (ARGUMENTS, RESULT, True)),
    ],
)
def test_messages_tell_what_the_span_of_a_tool_does_not(tool, told, tmp_path) -> None:
    dialogue = only(write(tmp_path / "spans.json", *genai(tool=tool)[:4]))
    assert calls(dialogue) == [("search_poi", *told)]


def test_a_call_without_arguments_or_result_is_told_as_such(tmp_path) -> None:
    tool = {"gen_ai.tool.call.arguments": '{"query": "char', "gen_ai.tool.call.result": '{"pois": [{"na'}
    agent, _, execute, _, *_ = genai(tool=tool)
    dialogue = only(write(tmp_path / "spans.json", agent, execute))
    assert calls(dialogue) == [("search_poi", {}, None, False)]
    assert dialogue.trajectory.calls[0].unknown == ("arguments", "result", "changed")
    assert [note.partition(": ")[2] for note in dialogue.trajectory.warnings] == [
        "the arguments of search_poi are cut off, hidden or no object",
        "the result of search_poi is cut off or hidden",
    ]


def test_a_call_that_only_a_model_tells_of_is_a_call(tmp_path) -> None:
    agent, chat, _, last, *_ = genai()
    dialogue = only(write(tmp_path / "spans.json", agent, chat, last))
    assert calls(dialogue) == [("search_poi", ARGUMENTS, RESULT, True)]


def test_the_calls_of_an_agent_behind_a_tool_count_and_its_words_do_not(tmp_path) -> None:
    spans = genai()[:4]
    inner = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([text("user", "Be quick: a charger!")]),
    }
    inner["gen_ai.output.messages"] = json.dumps(
        [{"role": "assistant", "parts": [{**CALL, "id": "c9", "name": "look_up"}]}]
    )
    deep = span(30, "chat inner", inner, parent=3)
    deep["startTimeUnixNano"] = "1700000003100000000"
    dialogue = only(write(tmp_path / "spans.json", *spans, deep))
    assert said(dialogue) == WHOLE[:2]
    assert [call.tool for call in dialogue.trajectory.turns[1].steps] == ["search_poi", "look_up"]


def test_replies_of_which_no_content_was_recorded_are_not_told(tmp_path) -> None:
    spans = [span(1, "invoke_agent a", {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "nav-one"})]
    spans.append(span(2, "chat m", {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 3}, parent=1))
    dialogue = only(write(tmp_path / "spans.json", *spans))
    assert said(dialogue) == [("agent", "")]
    assert dialogue.untold == {0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "spans.json: holds no spans"),
        ('{"resourceSpans": []}', "spans.json: holds no spans"),
        ('{"answer": 42}', "spans.json:1: found an object with 'answer'"),
        ('[1, {"a": 2}]', "spans.json:1: found 1, expected spans"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "chat"', "spans.json:1: is not valid JSON"),
        (
            '{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "chat", "traceId": "1"}]}]}]}',
            "spans.json:1: the span 'chat' has no spanId",
        ),
        (
            json.dumps(otlp(*genai())) + '\n{"resourceSpans": [{"sco\n' + json.dumps(otlp(*genai())),
            "spans.json:2: is not valid JSON",
        ),
        (json.dumps(otlp(*genai()), indent=1)[:-40], "is not valid JSON"),
        ("[" * 10_000 + "]" * 10_000, "deep"),
    ],
)
def test_what_is_no_spans_is_refused_with_its_line(content, message, tmp_path) -> None:
    path = tmp_path / "spans.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SuiteError) as refused:
        list(read_spans(path))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "hostile", [None, 7, "x", [], [3], {"a": {"b": []}}, {"role": 3}, [{"parts": [3, None, {"type": 7}]}], "{" * 50]
)
def test_nonsense_in_attributes_breaks_nothing(hostile, tmp_path) -> None:
    names = (
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "llm.input_messages",
        "mapsat.turn",
    )
    for number, name in enumerate(names):
        odd = [
            span(at, "x", {"gen_ai.operation.name": kind, name: "y"})
            for at, kind in enumerate(("chat", "execute_tool", "invoke_agent"), 1)
        ]
        for one in odd:
            one["attributes"][1]["value"] = {"stringValue": hostile}
        with suppress(SuiteError) if name == "mapsat.turn" else nullcontext():  # what we wrote ourselves is refused
            for dialogue in read_spans(write(tmp_path / f"spans{number}.json", *odd)):
                assert len(dialogue.trajectory.turns) <= len(odd)  # nonsense makes no turns of its own


def test_a_large_file_is_read_in_little_memory(tmp_path) -> None:
    path = tmp_path / "spans.json"
    filler = "x" * 20_000
    with path.open("w", encoding="utf-8") as file:
        for trace in range(1, 401):
            heard, reply = json.dumps([text("user", f"{trace} {filler}")]), json.dumps([text("assistant", "Yes.")])
            chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": heard, "gen_ai.output.messages": reply}
            file.write(json.dumps(otlp(span(trace, "chat", chat, trace=trace))) + "\n")
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    try:
        assert sum(len(dialogue.trajectory.turns) for dialogue in read_spans(path)) == 800
        assert tracemalloc.get_traced_memory()[1] < 2_500_000
    finally:
        tracemalloc.stop()


def test_a_value_beyond_the_limit_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(limits, "DIALOGUE_BYTES", 3000)
    path = tmp_path / "spans.json"
    path.write_text("\n".join(json.dumps(otlp(one)) for one in genai()), encoding="utf-8")
    with pytest.raises(SuiteError, match=r"the conversation of span '[0-9a-f]+' holds more than 3000 characters"):
        list(read_spans(path))


def test_time_grows_with_the_number_of_spans_in_chains_and_in_sessions(tmp_path) -> None:
    told = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([text("user", QUERY)])}
    told |= {"gen_ai.output.messages": json.dumps([text("assistant", REPLY)])}
    chain = [span(number, "agent", {}, parent=number - 1) for number in range(2, 2000)]
    session = {"gen_ai.conversation.id": "long"}
    flat = [span(number, "step", session, trace=number) for number in range(5000, 11_000)]
    spans = write(
        tmp_path / "spans.json",
        span(1, "agent", {"mapsat.case": "first"}),
        *chain,
        span(2000, "chat", told, parent=1999),
        span(3000, "agent", {"mapsat.case": "second"}),
        *flat,
        span(12_000, "chat", {**told, **session, "mapsat.case": "third"}, trace=12_000),
    )
    begun = time.process_time()
    assert [dialogue.trajectory.case for dialogue in read_spans(spans)] == ["first", "third"]
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("figure", [1e308, 10.5, -1, 2**62])
def test_figures_that_no_count_of_tokens_can_be_tell_nothing(figure, tmp_path) -> None:
    told = {"gen_ai.input.messages": json.dumps([text("user", QUERY)]), "gen_ai.usage.input_tokens": figure}
    told |= {"gen_ai.output.messages": json.dumps([text("assistant", REPLY)]), "gen_ai.usage.output_tokens": 7.0}
    told["gen_ai.operation.name"] = "chat"
    turn = only(write(tmp_path / "spans.json", span(1, "chat", told))).trajectory.turns[-1]
    assert (turn.text, turn.usage.input_tokens, turn.usage.output_tokens) == (REPLY, None, 7)


def tool_span(number, name, result, *, parent=1, call_id=""):
    made = {"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": json.dumps(result)}
    made |= {"gen_ai.tool.call.id": call_id} if call_id else {}
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **made}
    return span(number, f"execute_tool {name}", told, parent=parent)


def agent_span(number, name, reply="", parent=0):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "session.id": "talk"}
    told |= {"input.value": QUERY, "output.value": reply} if reply else {}
    return span(number, f"invoke_agent {name}", told, parent=parent)


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("transfer_to_refunds_agent", {"assistant": "Refunds agent"}),
        ("transfer_to_refunds", "Successfully transferred to refunds"),
        ("transfer_back_to_supervisor", "Transferring back"),
        ("transfer_to_agent", None),
    ],
)
def test_a_handoff_is_no_call_of_a_tool(tmp_path, name, result):
    spans = [
        agent_span(1, "supervisor", LAST),
        tool_span(2, name, result),
        agent_span(3, "refunds", parent=1),
        tool_span(4, "find_order", RESULT, parent=3),
    ]
    assert calls(only(write(tmp_path / "spans.json", *spans))) == [("find_order", {}, RESULT, True)]


def test_a_transfer_of_money_is_a_call(tmp_path):
    spans = [agent_span(1, "bank", LAST), tool_span(2, "transfer_to_account", {"ok": True})]
    assert [name for name, *_ in calls(only(write(tmp_path / "spans.json", *spans)))] == ["transfer_to_account"]


def test_a_call_that_two_instrumentations_tell_is_one(tmp_path):
    nested = [
        agent_span(1, "maps", LAST),
        tool_span(2, "find_order", RESULT),
        tool_span(3, "find_order", RESULT, parent=2),
        tool_span(4, "find_order", RESULT),
    ]
    assert len(calls(only(write(tmp_path / "spans.json", *nested)))) == 2
    by_id = [agent_span(1, "maps", LAST), *(tool_span(at, "find_order", RESULT, call_id="c1") for at in (2, 3))]
    assert len(calls(only(write(tmp_path / "spans.json", *by_id)))) == 1


COMMAND = {"graph": "__parent__", "update": {"messages": []}, "resume": None, "goto": "billing"}


@pytest.mark.parametrize(
    "made",
    [
        span(
            40, "handoff to billing", {"openinference.span.kind": "TOOL", "tool.name": "handoff to billing"}, parent=1
        ),
        tool_span(40, "to_the_office", COMMAND),
    ],
    ids=["a span of its own", "a command"],
)
def test_a_handover_is_no_call_however_it_is_written(made, tmp_path) -> None:
    billing = span(41, "invoke_agent billing", {"gen_ai.operation.name": "invoke_agent"}, parent=1)
    dialogue = only(write(tmp_path / "spans.json", *genai(), made, billing))
    assert [call.tool for call in dialogue.trajectory.calls] == ["search_poi"]


@pytest.mark.parametrize("wrapper", ["data", "kwargs"])
def test_a_result_that_says_that_the_tool_failed_is_an_error(wrapper, tmp_path) -> None:
    message = {"type": "tool", wrapper: {"content": "no such place", "tool_call_id": "c9", "status": "error"}}
    dialogue = only(write(tmp_path / "spans.json", *genai(), tool_span(40, "search_poi", message)))
    last = dialogue.trajectory.calls[-1]
    assert (last.status, last.result) == ("error", "no such place")


def test_the_calls_of_an_agent_below_a_tool_are_of_its_conversation_whatever_that_agent_calls_it(tmp_path) -> None:
    ask = tool_span(40, "ask_billing", "Paid.")
    own = {"gen_ai.conversation.id": "another"}
    inner = span(41, "invoke_agent billing", {"gen_ai.operation.name": "invoke_agent", **own}, parent=40)
    dialogue = only(write(tmp_path / "spans.json", *genai(), ask, inner, tool_span(42, "list_bills", [], parent=41)))
    assert [call.tool for call in dialogue.trajectory.calls] == ["search_poi", "ask_billing", "list_bills"]
    assert [call.provenance.note for call in dialogue.trajectory.calls] == ["", DELEGATES, ""]


def test_a_hidden_reply_is_missing_and_an_empty_one_is_blank(tmp_path) -> None:
    def ending(said):
        told = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([text("user", QUERY)])}
        chat = span(1, "chat m", {**told, "gen_ai.output.messages": json.dumps([said])})
        return only(write(tmp_path / "spans.json", chat)).trajectory.ending

    assert ending(text("assistant", "__REDACTED__")) == "infrastructure_error"
    assert ending({"role": "assistant", "content": ""}) == "done"


def test_a_reply_to_words_that_are_hidden_is_not_taken_for_the_one_before(tmp_path) -> None:
    said = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([text("assistant", REPLY)])}
    chats = [span(number, "chat m", said) for number in (1, 2)]
    fault = only(write(tmp_path / "spans.json", *chats)).trajectory.fault
    assert f"the user's message before the reply of span '{2:016x}' (line 1) is missing" in fault.message


def test_data_that_a_tool_for_the_last_words_gives_are_the_reply(tmp_path) -> None:
    call = {"type": "tool_call", "id": "f1", "name": "final_result", "arguments": {"total": 200}}
    told = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([text("user", QUERY)])}
    spans = [
        span(1, "invoke_agent a", {"gen_ai.operation.name": "invoke_agent", "final_result": '{"total": 200}'}),
        span(
            2,
            "chat m",
            {**told, "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [call]}])},
            parent=1,
        ),
    ]
    (_, reply) = only(write(tmp_path / "spans.json", *spans)).trajectory.turns
    assert (reply.text, reply.output, reply.steps) == ('{"total": 200}', {"total": 200}, ())


@pytest.mark.parametrize(
    ("more", "result", "status"),
    [
        ({}, "An error occurred: no such place", "unknown"),
        ({}, '{"pois": []}', "ok"),
        ({"status": "success"}, "Sunny", "ok"),
        ({"is_error": True}, "Sunny", "error"),
    ],
)
def test_whether_a_tool_failed_is_unknown_where_only_words_to_a_model_tell_its_result(
    more, result, status, tmp_path
) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "find", "arguments": {}}
    answer = {"role": "tool", "tool_call_id": "c1", "content": result, **more}
    heard = [text("user", QUERY), {"role": "assistant", "parts": [call]}, answer]
    told = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(heard)}
    chat = span(1, "chat m", {**told, "gen_ai.output.messages": json.dumps([text("assistant", REPLY)])})
    (step,) = only(write(tmp_path / "spans.json", chat)).trajectory.calls
    assert step.status == status
