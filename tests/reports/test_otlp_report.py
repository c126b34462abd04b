"""A run as spans: what each episode's trace tells, and what becomes of it at a collector."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from report_runs import BROKEN, OPEN, QUERY, REPLY, run_of

from pytest_mapsat.model import MapsatError, UsageError
from pytest_mapsat.reports import parse_reports, write_reports
from pytest_mapsat.reports.otlp import otlp_lines


def traces(run):
    return [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"] for line in otlp_lines(run)]


def attributes(span):
    return {pair["key"]: next(iter(pair["value"].values())) for pair in span["attributes"]}


def test_an_episode_is_a_trace_of_its_agent_its_calls_and_its_replies() -> None:
    (spans,) = traces(run_of(BROKEN))
    assert [span["name"].split()[0] for span in spans] == ["invoke_agent", "execute_tool", "execute_tool", "chat"]
    root, search, route, chat = spans
    assert {span["traceId"] for span in spans} == {root["traceId"]}
    assert all(span["parentSpanId"] == root["spanId"] for span in spans[1:])
    assert (len(root["traceId"]), len(root["spanId"])) == (32, 16)
    assert attributes(root)["mapsat.case"] == attributes(root)["gen_ai.conversation.id"] == BROKEN.id
    assert json.loads(attributes(chat)["gen_ai.input.messages"])[0]["parts"] == [{"type": "text", "content": QUERY}]
    assert json.loads(attributes(chat)["gen_ai.output.messages"])[0]["parts"][-1] == {"type": "text", "content": REPLY}
    assert attributes(search)["gen_ai.tool.name"] == "search_nearby"
    assert json.loads(attributes(search)["gen_ai.tool.call.arguments"])["query"] == "charger"
    assert (search.get("status"), route["status"]) == (None, {"code": 2})


def test_metrics_and_labels_are_evaluation_results() -> None:
    (spans,) = traces(run_of(BROKEN))
    events = [attributes(event) for event in spans[0]["events"]]
    assert {event["name"] for event in spans[0]["events"]} == {"gen_ai.evaluation.result"}
    told = {event["gen_ai.evaluation.name"]: event for event in events}
    assert told.keys() == {*BROKEN.metrics, *(label.requirement for label in BROKEN.labels)}
    for label in BROKEN.labels:
        assert told[label.requirement].get("gen_ai.evaluation.score.value") == label.value
        assert told[label.requirement].get("gen_ai.evaluation.explanation", "") == label.why
    for name, value in BROKEN.metrics.items():
        assert told[name].get("gen_ai.evaluation.score.value") == value


def test_ids_and_times_follow_from_the_run_alone() -> None:
    run = run_of(BROKEN, OPEN)
    assert list(otlp_lines(run)) == list(otlp_lines(run))
    ids = [span["spanId"] for spans in traces(run) for span in spans]
    assert len({*ids}) == len(ids)
    timed = run.model_copy(update={"timing": run.timing.model_copy(update={"started": "2026-05-07T12:00:00+00:00"})})
    assert traces(timed)[0][0]["startTimeUnixNano"] == "1778155200000000000"
    untimed = run.model_copy(update={"timing": run.timing.model_copy(update={"started": ""})})
    assert not any("startTimeUnixNano" in span for spans in traces(untimed) for span in spans)
    assert traces(timed)[0][0]["traceId"] != traces(untimed)[0][0]["traceId"]  # another run


class Collector(BaseHTTPRequestHandler):
    """Takes spans, and answers what its path says."""

    taken: list[tuple[str, dict, dict]]

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.taken.append((self.path, dict(self.headers), body))
        status, answer = {
            "/broken": (500, b"no disk"),
            "/partial": (200, b'{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}}'),
            "/moved": (307, b""),
            "/html": (200, b"<html>"),
        }.get(self.path, (200, b"{}"))
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def collector() -> Iterator[tuple[str, list]]:
    handler = type("Handler", (Collector,), {"taken": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler.taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(run, address, tmp_path):
    return list(write_reports(run, parse_reports([f"otlp:{address}"], tmp_path), tmp_path))


def test_spans_are_sent_where_the_user_says_and_nowhere_else(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc, x-team=maps")
    run = run_of(BROKEN, OPEN)
    with collector() as (address, taken):
        assert send(run, address, tmp_path) == []
        assert [path for path, _, _ in taken] == ["/v1/traces", "/v1/traces"]
        assert [body for _, _, body in taken] == [json.loads(line) for line in otlp_lines(run)]
        headers = {name.lower(): value for name, value in taken[0][1].items()}
        assert (headers["authorization"], headers["x-team"], headers["content-type"]) == (
            "Bearer abc",
            "maps",
            "application/json",
        )
        assert send(run, f"{address}/html", tmp_path) == []
        for path, message in (
            ("broken", "answered 500: no disk"),
            ("partial", "rejected spans of episode 1: 2: too old"),
            ("moved", "answered 307"),
        ):
            with pytest.raises(MapsatError, match=message):
                send(run, f"{address}/{path}", tmp_path)
        assert not any(path == "/elsewhere" for path, _, _ in taken)
    with pytest.raises(MapsatError, match="0 episodes were sent, then the collector could not be reached"):
        send(run, address, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("otlp:", "names no file"),
        ("otlp:http://", "expected the address of a collector"),
        ("otlp:http://[::1", "expected the address of a collector"),
        ("otlp:https://me:secret@host/v1/traces", "leave the password out"),
    ],
)
def test_what_is_no_address_is_refused(text, message, tmp_path) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        parse_reports([text], tmp_path)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("value", ["Bearer%20abc%0Anext", "Bearer%20abc%E2%82%AC"], ids=["line end", "not latin-1"])
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(value, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization={value}")
    with (
        collector() as (address, taken),
        pytest.raises(MapsatError, match="OTEL_EXPORTER_OTLP_HEADERS holds a header that cannot be sent") as error,
    ):
        send(run_of(BROKEN), address, tmp_path)
    assert "abc" not in str(error.value)
    assert not taken
