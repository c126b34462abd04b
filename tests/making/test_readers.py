"""Files that conversations stand in: what is kept of a broken one, what is told with its place, and what is refused."""

from __future__ import annotations

import json
import re

import pytest
from chats import ACCEPTED, PLACES, QUERY, REFUSED, agent, harbour, harbour_spans, otlp, result, user, write
from step_count import steps_of

from pytest_mapsat.making import choose, conversation_of, draft_of, personal_data_of, read_logs, without_personal
from pytest_mapsat.model import SuiteError

SEARCH_CALL = ("a", "find", {"q": "tea"})


def read(path, which=""):
    return conversation_of(choose(read_logs(path), which, path))


def notes_of(tmp_path, chat):
    return read(write(tmp_path / "chat.json", chat)).notes


def test_lines_of_a_chat_say_where_they_stand_and_what_the_user_did_next(tmp_path):
    path = write(tmp_path / "chat.json", harbour())
    conversation = read(path)
    text = path.read_text(encoding="utf-8").splitlines()
    places = {line.role: line.place for line in conversation.lines[:3]}
    assert all(place.startswith("chat.json:") for place in places.values())
    at = int(places["user"].partition(":")[2]) - 1
    assert (text[at].strip(), QUERY in text[at + 2]) == ("{", True)
    assert conversation.lines[conversation.query_at].text == QUERY
    assert conversation.trajectory.replies[-1].text == REFUSED
    assert conversation.accepted is not None
    assert conversation.accepted.replies[-1].text == ACCEPTED
    assert conversation.trajectory.calls[0].result == PLACES


@pytest.mark.parametrize(
    ("later", "query", "judged", "accepted"),
    [
        ([user("Perfect, thanks!"), agent("You are welcome.")], "A café?", "The Anchor.", "The Anchor."),
        ([user("No, that's all, thanks."), agent("Bye!")], "A café?", "The Anchor.", "The Anchor."),
        ([user("没有了，谢谢。")], "A café?", "The Anchor.", "The Anchor."),
        ([user("And how is the weather?"), agent("Sunny.")], "And how is the weather?", "Sunny.", None),
        ([user("Something quieter, please"), agent("The Mole."), user("ok")], "A café?", "The Anchor.", "The Mole."),
        ([user("No, not that one"), agent("The Mole."), user("Also too loud"), agent("The Pier.")], "A café?", "The Anchor.", "The Pier."),
        ([], "A café?", "The Anchor.", None),
    ],
)  # fmt: skip
def test_the_next_step_of_the_user_says_which_reply_is_judged(tmp_path, later, query, judged, accepted):
    conversation = read(write(tmp_path / "chat.json", [user("A café?"), agent("The Anchor."), *later]))
    assert conversation.lines[conversation.query_at].text == query
    assert conversation.trajectory.replies[-1].text == judged
    assert (conversation.accepted and conversation.accepted.replies[-1].text) == accepted


@pytest.mark.parametrize(
    ("chat", "told"),
    [
        ([agent("Hello!"), user("Tea?"), agent("Here.")], "begins with the agent"),
        ([user("Tea?"), agent(None, SEARCH_CALL), agent("Here.")], "has no result of find"),
        ([user("Tea?"), agent(None, SEARCH_CALL), result("a", "no such shop"), agent("Here.")], "find is no JSON: it is kept as text"),
        ([user("Tea?"), agent(None, SEARCH_CALL), result("a", '{"x": [1, 2'), agent("Here.")], "missing or was cut off"),
        ([user("Tea?"), agent(None, ("a", "find", '{"q": 1')), agent("Here.")], "the arguments of find are no JSON object"),
        ([user("Tea?"), result("z", {}), agent("Here.")], "a result 'z' without its call"),
        ([user("Tea?", timestamp="2026-05-09T15:40:00+02:00"), agent("Here.", timestamp="2026-05-09T13:30:00Z")], "the clock goes back"),
        ([user("Tea?"), 5, agent("Here.")], "found 5, expected a message"),
    ],
)  # fmt: skip
def test_what_is_odd_is_told_with_its_line_and_the_rest_is_kept(tmp_path, chat, told):
    path = write(tmp_path / "chat.json", chat)
    conversation = read(path)
    assert any(note.startswith("chat.json:") and told in note for note in conversation.notes)
    assert draft_of(conversation, "tea", None).case.visible.query == "Tea?"


def test_a_trace_without_its_root_and_with_a_result_cut_off_keeps_its_calls(tmp_path):
    spans = [span for span in harbour_spans() if span["spanId"] != f"{1:016x}"]
    conversation = read(write(tmp_path / "spans.json", otlp(spans)))
    assert [call.arguments for call in conversation.trajectory.calls] == [{"query": "harbour"}]
    assert any("the span around it, '0000000000000001', is not among" in note for note in conversation.notes)
    for attribute in spans[0]["attributes"]:
        if attribute["key"] == "gen_ai.tool.call.result":
            attribute["value"]["stringValue"] = attribute["value"]["stringValue"][:40]
    cut = read(write(tmp_path / "spans.json", otlp(spans)))
    assert any("cut off" in note and "span '0000000000000002'" in note for note in cut.notes)
    assert draft_of(cut, "harbour", None).recordings == ()


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "the file is empty.*expected chat messages"),
        (b"Hello, how are you?\nFine.\n", "found 'Hello, how are you.*expected chat messages"),
        (b"{}", "found an empty object"),
        (b"\0", "NUL"),
        (json.dumps(harbour(), indent=1).encode()[:900], "is not valid JSON"),
        (b'{"a": 1}', "expected chat messages"),
        (b"[" * 100_000, "deep"),
        (b"[]", "holds no conversation"),
        (b'[{"role": "user", "content": "Tea?"}]', "no reply to the user"),
        (b'[{"role": "assistant", "content": "Hello"}]', "no message of the user"),
        (b'[{"role": "user", "content": "\\ud800"}]', "half of a character"),
    ],
)
def test_what_holds_no_conversation_is_refused_with_its_place(tmp_path, raw, told):
    path = tmp_path / "chat.json"
    path.write_bytes(raw)
    with pytest.raises(SuiteError, match=told):
        read(path)


@pytest.mark.parametrize(("name", "plain"), [("../../evil", "evil"), ("药店查询", "tool")])
def test_a_tool_that_no_file_could_be_called_after_has_an_alias(tmp_path, name, plain):
    chat = [user("Tea?"), agent(None, ("a", name, {"q": 1})), result("a", {"x": 1}), agent("Here.")]
    draft = draft_of(read(write(tmp_path / "chat.json", chat)), "tea", None)
    (alias,) = draft.tools
    assert re.fullmatch(plain + "-[0-9a-f]{6}", alias)
    assert [recording.tool for recording in draft.recordings] == [alias]
    assert any(f"the tool {name!r} is called {alias}" in note for note in draft.notes)


def test_nothing_personal_is_left_in_any_part_of_a_draft(tmp_path):
    call = ("c2", "book-01705551234", {"mobile": "+49 170 5551234", "note": "plate M-AB 1234"})
    chat = harbour(host={"name": "Anna", "tel": "040/5550123", "home": {"lon": 9.99371, "lat": 53.54612}})
    chat["messages"] += [
        user("Book it for 0170 5551234, anna@example.org"),
        agent(None, call),
        result("c2", "ok 01705551234"),
        agent("Booked."),
    ]
    chat["metadata"] = {"callback": "unused", "location": {"name": "home", "lon": 9.99371, "lat": 53.54612}}
    path = write(tmp_path / "chat.json", chat)
    log = choose(read_logs(path), "", path)
    personal = personal_data_of(log)
    assert {datum.kind for datum in personal.found} == {
        "telephone number",
        "number plate",
        "e-mail address",
        "home position",
    }
    assert all(datum.place.startswith("chat.json:") for datum in personal.found)
    draft = draft_of(conversation_of(without_personal(log, personal)), "harbour", None)
    nouns = [draft.case, *draft.recordings, *draft.answers, *draft.tools.values()]
    text = "\n".join(json.dumps(noun.to_json(), ensure_ascii=False) for noun in nouns) + str(draft.notes)
    assert not any(value in text for value in ("5551234", "5550123", "AB 1234", "anna@", "9.9937", "53.546"))
    assert text.count("phone-2") >= 2


def gemini(role, **part):
    return {"role": role, "parts": [part]}


@pytest.mark.parametrize(
    "called",
    [
        [
            gemini("model", functionCall={"name": "find", "args": {"q": "tea"}}),
            gemini("user", functionResponse={"name": "find", "response": {"x": [1]}}),
        ],
        [
            {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": '{"q": "tea"}'}},
            {"role": "function", "name": "find", "content": '{"x": [1]}'},
        ],
        [
            {"role": "assistant", "toolCalls": [{"toolCallId": "a", "toolName": "find", "args": {"q": "tea"}}]},
            {
                "role": "tool",
                "content": [{"type": "toolResult", "toolCallId": "a", "toolName": "find", "output": {"x": [1]}}],
            },
        ],
    ],
    ids=["gemini", "openai-first-form", "camel-case"],
)
def test_calls_are_read_in_every_spelling(tmp_path, called):
    conversation = read(write(tmp_path / "chat.json", [user("Tea?"), *called, agent("Here.")]))
    (call,) = conversation.trajectory.calls
    assert (call.tool, call.arguments, call.result, call.status) == ("find", {"q": "tea"}, {"x": [1]}, "ok")


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": {"q": 5}},
        {"properties": {"q": {"type": 5}}, "required": [{}]},
        {"properties": {"q": {"type": "string"}}, "required": "q"},
        {"properties": {"q": {"type": "string"}}, "required": 5},
        {"properties": 5},
    ],
)
def test_a_tool_s_schema_that_is_none_is_loosened(tmp_path, parameters):
    chat = {
        "tools": [{"name": "find", "parameters": parameters}],
        "messages": [
            user("Tea?"),
            agent(None, ("a", "find", {"q": "x"})),
            {"role": "assistant", "tool_calls": 5},
            agent("Here."),
        ],
    }
    draft = draft_of(read(write(tmp_path / "chat.json", chat)), "tea", None)
    assert list(draft.tools["find"].parameters["properties"]) == ["q"]


def test_a_query_that_no_case_can_hold_is_refused_with_its_line(tmp_path):
    with pytest.raises(SuiteError, match=r"chat.json:2: the query has 100001 characters"):
        read(write(tmp_path / "chat.json", [user("a" * 100_001), agent("Here.")]))


def test_the_work_for_personal_data_grows_with_their_number_alone(tmp_path):
    def steps(count):
        chat = [user(" ".join(f"1380013{number:04}" for number in range(count))), agent("Here.")]
        return steps_of(lambda: personal_data_of(read_logs(write(tmp_path / "chat.json", chat))[0]))

    assert steps(800) < 6 * steps(200)
