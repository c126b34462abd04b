"""Conversations in the exports of other tools, as spans: runs and datasets of LangSmith, logs of Inspect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from pytest_mapsat.model import Json, JsonObject, Problem, SuiteError, did_you_mean, digest, shown

from .conventions import COST, RUN_KIND, TOKENS_IN, TOKENS_OUT, object_of, objects_of
from .messages import data_of

#: How a line of an export begins that is not all on one line.
_LINE = re.compile(r'^[\[{ \t]{0,9}"(?:run_type|dataset_id|eval_id)"\s*:', re.MULTILINE)
#: The metadata of a run that name its conversation; ``session_id`` of the run itself is that of its project.
_THREADS = ("session_id", "thread_id", "conversation_id")
_RUN_TYPES = ("tool", "chain", "llm", "retriever", "embedding", "prompt", "parser")
_VERSIONS = (1, 2)
_OPERATION, _INPUT, _OUTPUT, _SESSION = "gen_ai.operation.name", "input.value", "output.value", "session.id"
_ERROR: JsonObject = {"code": 2}


def looks_exported(head: str) -> bool:
    """Return whether the beginning of a file, over several lines, looks like an export of another tool."""
    return _LINE.search(head) is not None


def exported_spans(value: JsonObject, name: str, line: int) -> Iterator[JsonObject] | None:
    """Return the spans of an exported run, example or log, in the form of files of spans; None if the object is neither of these.

    Args:
        value: the object.
        name: the file in messages.
        line: where the object begins.

    Raises:
        SuiteError: while the spans are taken: the version or a part of the export is unknown.
    """
    if "run_type" in value:
        return _runs(value, name, line)
    if isinstance(value.get("inputs"), dict) and ("outputs" in value or "dataset_id" in value):
        return iter([_example(value)])
    return _samples(value, name, line) if "eval" in value and "status" in value else None


def _span(ids: Mapping[str, Json], about: JsonObject, attributes: JsonObject, *, failed: bool) -> JsonObject:
    """Return a span; attributes without a value are left out, and data are JSON text.

    Args:
        ids: ``traceId``, ``spanId`` and the like.
        about: what was exported, with its times.
        attributes: by name.
        failed: whether it ended with an error.
    """
    told = {
        key: json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
        for key, value in attributes.items()
        if value is not None
    }
    times = {key: _utc(about.get(key)) for key in ("start_time", "end_time")}
    return {**ids, **times, "name": about.get("name", ""), "attributes": told, "status": _ERROR if failed else {}}


def _utc(time: Json) -> Json:
    """Return a time with its zone, which is UTC where it has none."""
    return f"{time}+00:00" if isinstance(time, str) and re.fullmatch(r"[\d-]+T[\d:.]+", time) else time


# -- LangSmith


def _runs(root: JsonObject, name: str, line: int) -> Iterator[JsonObject]:
    """Yield the spans of a run and of the runs in it."""
    waiting = [{"trace_id": root.get("id"), **root}]
    while waiting:
        run = waiting.pop()
        if run.get("run_type") not in _RUN_TYPES:
            hint = did_you_mean(str(run.get("run_type")), _RUN_TYPES, "expected one of")
            found = f"the run {shown(run.get('id'))} has the run_type {shown(run.get('run_type'))}"
            raise SuiteError(Problem(name, line, found, hint))
        above = {"parent_run_id": run.get("id"), "trace_id": run["trace_id"]}
        told = (
            {key: part for key, part in child.items() if part is not None}
            for child in objects_of(run.get("child_runs"))
        )
        waiting += [above | child for child in told]
        yield _run(run)


def _run(run: JsonObject) -> JsonObject:
    """Return a run as a span: of a model, a tool, or, where nothing is around it, an agent."""
    kind, parent, extra = run["run_type"], run.get("parent_run_id"), object_of(run.get("extra"))
    metadata, outputs, inputs = object_of(extra.get("metadata")), run.get("outputs"), run.get("inputs")
    usage = object_of(metadata.get("usage_metadata"))
    if kind == "llm" and "generations" in object_of(outputs):
        outputs = object_of(outputs)["generations"]
        first = outputs[0][0] if isinstance(outputs, list) and objects_of(outputs[:1] and outputs[0]) else {}
        message = object_of(object_of(first).get("message"))
        usage = usage or object_of(object_of(message.get("kwargs", message)).get("usage_metadata"))
    if kind == "tool":
        inputs = data_of(object_of(inputs)["input"]) if object_of(inputs).keys() == {"input"} else inputs
        outputs = object_of(outputs)["output"] if object_of(outputs).keys() == {"output"} else outputs
    failed = bool(run.get("error"))
    attributes: JsonObject = {
        RUN_KIND: kind,
        _OPERATION: "invoke_agent" if kind == "chain" and not parent else None,
        _INPUT: inputs if isinstance(inputs, (dict, list, str)) else None,
        _OUTPUT: None if failed else outputs,
        _SESSION: next((str(metadata[key]) for key in _THREADS if metadata.get(key)), None),
        "tool.name": run.get("name") if kind == "tool" else None,
        "tool_call.id": extra.get("tool_call_id"),
        TOKENS_IN[0]: run.get("prompt_tokens") or usage.get("input_tokens"),
        TOKENS_OUT[0]: run.get("completion_tokens") or usage.get("output_tokens"),
        COST[0]: run.get("total_cost"),
        **{key: part for key, part in metadata.items() if key.startswith("mapsat.")},
    }
    return _span(
        {"traceId": run["trace_id"], "spanId": run.get("id"), "parentSpanId": parent}, run, attributes, failed=failed
    )


def _example(example: JsonObject) -> JsonObject:
    """Return an example of a dataset as the span of an agent; a single text in its inputs or outputs is what was said."""
    parts = [example["inputs"], example.get("outputs")]
    for number, part in enumerate(parts):
        if len(object_of(part)) == 1 and isinstance(text := next(iter(part.values())), str):
            parts[number] = text
    identity = str(example.get("id") or digest(example))
    metadata = {key: part for key, part in object_of(example.get("metadata")).items() if key.startswith("mapsat.")}
    attributes: JsonObject = {_OPERATION: "invoke_agent", _INPUT: parts[0], _OUTPUT: parts[1] or None, **metadata}
    return _span({"traceId": identity, "spanId": identity}, example, attributes, failed=False)


# -- Inspect


def _samples(log: JsonObject, name: str, line: int) -> Iterator[JsonObject]:
    """Yield a span for each sample of an eval log, of a model that was shown the messages before the last reply."""

    def broken(found: str, hint: str) -> SuiteError:
        """Return the error for an eval log."""
        return SuiteError(Problem(name, line, f"in an eval log of Inspect: {found}", hint))

    if log.get("version") not in _VERSIONS:
        raise broken(
            f"version: found {shown(log.get('version'))}, expected 1 or 2", "convert it with `inspect log convert`"
        )
    if not isinstance(log.get("samples"), list):
        raise broken(f"samples: found {shown(log.get('samples'))}, expected a list", "log the samples: --log-samples")
    for number, sample in enumerate(log["samples"]):
        messages = object_of(sample).get("messages")
        if not isinstance(messages, list):
            raise broken(f"samples[{number}].messages: found {shown(messages)}, expected a list", "run the eval again")
        yield _sample(sample, messages, str(object_of(log["eval"]).get("eval_id", "")))


def _sample(sample: JsonObject, messages: list[Json], eval_id: str) -> JsonObject:
    """Return a sample as a span: its reply is the completion, or the last message of the assistant."""
    epoch = sample.get("epoch", 1)
    session = f"{sample.get('id')}" if epoch == 1 else f"{sample.get('id')}-t{epoch}"
    completion = object_of(sample.get("output")).get("completion")
    listed = [_message(message, completion) for message in objects_of(messages)]
    last = max((at for at, message in enumerate(listed) if message.get("role") == "assistant"), default=-1)
    replied = last >= 0 and not listed[last]["tool_calls"]
    reply = (
        listed[last] | ({"content": completion} if completion and isinstance(completion, str) else {})
        if replied
        else {}
    )
    used = [object_of(part) for part in object_of(sample.get("model_usage")).values()]
    failed = bool(sample.get("error"))
    attributes: JsonObject = {
        _OPERATION: "chat",
        _SESSION: session,
        "gen_ai.input.messages": listed[:last] if replied else listed,
        "gen_ai.output.messages": [reply] if replied and not failed else None,
    }
    about = {"name": session, "start_time": sample.get("started_at")}
    if sum(message.get("role") == "user" for message in listed) == 1:  # what it took is that of one reply
        about["end_time"] = sample.get("completed_at")
        for names, key in ((TOKENS_IN, "input_tokens"), (TOKENS_OUT, "output_tokens")):
            attributes[names[0]] = sum(tokens for part in used if isinstance(tokens := part.get(key), int)) or None
    identity = f"{eval_id}/{session}"
    return _span({"traceId": identity, "spanId": identity}, about, attributes, failed=failed)


def _message(message: JsonObject, completion: Json) -> JsonObject:
    """Return a message with the names that others give its parts; a call that only submits the completion is left out."""
    calls = [{**call, "name": call.get("function")} for call in objects_of(message.get("tool_calls"))]
    calls = [
        call
        for call in calls
        if call["name"] != "submit" or object_of(call.get("arguments")).get("answer") != completion
    ]
    error = object_of(message.get("error"))
    told = {"status": "error", "content": error.get("message", "")} if error else {"status": "success"}
    return {**message, "name": message.get("function", ""), "tool_calls": calls, **told}
