"""Exports of other tools, written by the newest releases of these, each read as the conversations in it; and what is said of broken ones."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.formats import layout_of, read_spans
from pytest_mapsat.making import read_logs
from pytest_mapsat.model import SuiteError

EXPORTS = Path(__file__).parent / "exports"
FOUND = {"places": [{"name": "Blue Door"}]}
MANY = {"places": [{"name": "Blue Door", "minutes": 4}]}
ROOMS = "You have the Garden Room and the Harbour Room."
CAFE = [("user", "Find me a cafe."), ("agent", "The Blue Door.")]
CALLS = [("find_place", {"query": "cafe"}, "ok", FOUND), ("find_place", {"query": "x"}, "error", None)]
#: By file: what each conversation says, the calls of the first, and its session.
TOLD = {
    "otel_js_console.json": ([CAFE], CALLS, "cafe-1"),
    "otel_js_span_context.jsonl": ([CAFE], CALLS, "cafe-1"),
    "langsmith_runs.jsonl": (
        [[("user", "Which rooms do I have?"), ("agent", ROOMS), ("user", "That is all."), ("agent", "Goodbye.")]],
        [("list_bookings", {}, "error", ...), ("list_bookings", {"guest": "ida"}, "ok", ...)],
        "rooms",
    ),
    "langsmith_dataset.jsonl": (
        [
            CAFE,
            [
                ("user", "Find me a cafe."),
                ("agent", "Inside or outside?"),
                ("user", "Outside."),
                ("agent", "The Blue Door."),
            ],
            [("user", "And a bar?"), ("agent", "")],
        ],
        [],
        "",
    ),
    "inspect.json": (
        [
            [
                ("user", "Find me a cafe."),
                ("agent", "The Blue Door is 4 minutes away."),
                ("user", "And is it open?"),
                ("agent", "Yes, until six."),
            ]
        ],
        [
            ("find_place", {"query": "nothing"}, "error", "nothing is called so"),
            ("find_place", {"query": "cafe"}, "ok", MANY),
        ],
        "cafe-1",
    ),
}


def said(dialogue):
    return [(turn.role, turn.text) for turn in dialogue.trajectory.turns]


def read(path, *documents, name="t.json"):
    (path / name).write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    return list(read_spans(path / name))


def lines(name):
    return [json.loads(line) for line in (EXPORTS / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", TOLD)
def test_each_export_tells_its_conversations(name):
    dialogues = list(read_spans(EXPORTS / name))
    conversations, calls, session = TOLD[name]
    assert layout_of(EXPORTS / name, name) == "spans"
    assert [said(dialogue) for dialogue in dialogues] == conversations
    first = dialogues[0]
    for call, (tool, arguments, status, result) in zip(first.trajectory.calls, calls, strict=True):
        assert (call.tool, call.arguments, call.status) == (tool, arguments, status)
        assert result in (..., call.result)
    assert first.session == session
    assert not first.trajectory.warnings
    assert bool(first.begun) is bool(session)


@pytest.mark.parametrize("name", TOLD)
def test_each_export_is_a_source_and_material_for_drafts(name):
    source = resolve_source(f"recorded:{name}", root=EXPORTS)
    assert len(source.trajectories) + len(source.unplaced) == len(TOLD[name][0])
    assert len(read_logs(EXPORTS / name)) == len(TOLD[name][0])


def test_a_case_in_the_metadata_of_an_example_or_a_run_is_its_case(tmp_path):
    assert next(read_spans(EXPORTS / "langsmith_dataset.jsonl")).trajectory.case == "cafe-1"
    runs = lines("langsmith_runs.jsonl")
    runs[0]["extra"]["metadata"]["mapsat.case"] = "rooms-1"
    assert read(tmp_path, *runs)[0].trajectory.case == "rooms-1"


def test_a_dataset_does_not_tell_calls_and_an_example_without_outputs_lacks_its_reply():
    first, _, last = read_spans(EXPORTS / "langsmith_dataset.jsonl")
    assert first.trajectory.calls_untold
    assert last.trajectory.ending == "infrastructure_error"


def test_runs_in_runs_in_any_order_and_twice_are_one_conversation(tmp_path):
    runs = lines("langsmith_runs.jsonl")
    by_id = {run["id"]: {**run, "child_runs": []} for run in runs}
    for run in runs:
        if run.get("parent_run_id"):
            child = {key: part for key, part in by_id[run["id"]].items() if key not in ("parent_run_id", "trace_id")}
            by_id[run["id"]] = child
            by_id[run["parent_run_id"]]["child_runs"].append(child)
    trees = [run for run in by_id.values() if not run.get("parent_run_id") and "trace_id" in run]
    (whole,) = read_spans(EXPORTS / "langsmith_runs.jsonl")
    assert [said(one) for one in read(tmp_path, *trees)] == [said(whole)]
    (again,) = read(tmp_path, *runs[::-1], runs[0])
    assert said(again) == said(whole)
    assert ["occurs again" in warning for warning in again.trajectory.warnings] == [True]


def test_a_circle_of_runs_and_missing_parents_are_read_with_a_warning(tmp_path):
    runs = lines("langsmith_runs.jsonl")
    runs[0]["parent_run_id"] = runs[1]["id"]
    runs[2]["parent_run_id"] = "gone"
    (dialogue,) = read(tmp_path, *runs)
    assert ("agent", ROOMS) in said(dialogue)


def test_forms_may_be_mixed_in_one_file(tmp_path):
    spans = lines("otel_js_span_context.jsonl")
    dialogues = read(tmp_path, *spans, *lines("langsmith_dataset.jsonl")[:1])
    assert [said(dialogue) for dialogue in dialogues] == [CAFE, CAFE]


def test_epochs_of_a_sample_are_trials_and_a_sample_with_an_error_has_no_reply(tmp_path):
    log = json.loads((EXPORTS / "inspect.json").read_text(encoding="utf-8"))
    (sample,) = log["samples"]
    log["samples"] = [sample, {**sample, "epoch": 2}, {**sample, "epoch": 3, "error": {"message": "out of memory"}}]
    first, second, third = read(tmp_path, log)
    assert [first.session, second.session, third.session] == ["cafe-1", "cafe-1-t2", "cafe-1-t3"]
    assert said(second) == said(first)
    assert "is missing: it ended with an error" in third.trajectory.fault.message


def test_an_answer_that_is_submitted_is_the_reply_and_no_call(tmp_path):
    log = json.loads((EXPORTS / "inspect.json").read_text(encoding="utf-8"))
    (sample,) = log["samples"]
    call = {"id": "s1", "function": "submit", "arguments": {"answer": "The Blue Door."}, "type": "function"}
    sample["messages"][-1] = {"role": "assistant", "content": "", "tool_calls": [call]}
    sample["messages"].append({"role": "tool", "tool_call_id": "s1", "function": "submit", "content": "The Blue Door."})
    sample["output"] = {"completion": "The Blue Door."}
    (dialogue,) = read(tmp_path, log)
    assert said(dialogue)[-1] == ("agent", "The Blue Door.")
    assert [call.tool for call in dialogue.trajectory.calls] == ["find_place", "find_place"]


LAST = {"spanId": "1", "traceId": "2"}
LOG = {"version": 2, "status": "success", "eval": {"eval_id": "e1"}}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (LOG | {"version": 3, "samples": []}, "version: found 3, expected 1 or 2 (convert it"),
        (LOG, "samples: found None, expected a list (log the samples"),
        (LOG | {"samples": [{"messages": "x"}]}, "samples[0].messages: found 'x', expected a list"),
        (LOG | {"samples": [3]}, "samples[0].messages: found None"),
        ({"run_type": "lm", "id": "a"}, "the run 'a' has the run_type 'lm' (did you mean 'llm'?)"),
        ({"run_type": "llm", "inputs": {}}, "has no spanId"),
        ({"run_type": "llm", "id": 7, "trace_id": []}, "has no spanId"),
        ({"spanContext": {"traceId": "a"}}, "has no spanId"),
        ({"spanContext": "x", "name": "chat"}, "the span 'chat' has no spanId"),
        ({"inputs": []}, "found an object with 'inputs' (expected OTLP JSON"),
        ([[[[{"outputs": {}}]]]], "found an object with 'outputs'"),
    ],
)
def test_what_is_broken_is_named_with_its_line(tmp_path, document, words):
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, LAST, document)
    assert str(caught.value).startswith("t.json:2: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [None, 7, "x", [[{}]], {"a": []}])
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("otel_js_span_context.jsonl", 0),
        ("langsmith_dataset.jsonl", 0),
        ("langsmith_runs.jsonl", 4),
        ("langsmith_runs.jsonl", 8),
    ],
)
def test_any_part_may_be_of_another_type(tmp_path, name, number, value):
    document = lines(name)[number]
    for key in document:
        with suppress(SuiteError):  # anything else is a fault of ours
            read(tmp_path, document | {key: value}, LAST)
