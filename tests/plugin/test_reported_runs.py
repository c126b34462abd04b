"""Runs against a service with tools of its own: what is kept, judged and shown of the calls that it reports."""

import json
import socket
import urllib.request
from collections.abc import Iterator

import pytest
import tiny_suite
from http_services import Service, answers

from pytest_mapsat.cli import main


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service().running() as service:
        yield service


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def span(trace: str, number: int, parent: str, **attributes: str):
    listed = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()]
    ids = {"traceId": trace, "spanId": f"{number:016x}", "parentSpanId": parent}
    return {**ids, "name": "s", "startTimeUnixNano": str(number), "attributes": listed}


def test_workers_share_a_port_for_spans_and_judge_them_as_one_process_does(
    pytester: pytest.Pytester, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    call = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": "search_poi",
        "gen_ai__tool__call__arguments": '{"query": "charger"}',
        "gen_ai__tool__call__result": json.dumps(tiny_suite.recording("x")["result"]),
    }

    def behave(request):
        _, trace, parent, _ = request.headers["traceparent"].split("-")
        spans = [span(trace, 1, f"{9:016x}", **call), span(trace, 9, parent), span("ab" * 16, 1, "")]
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
        url = f"http://127.0.0.1:{port}/v1/traces"
        urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"}), timeout=20)
        return answers({"text": "I suggest Blue Bay."})

    checks = {
        "called": {"kind": "calls", "tool": "search_poi", "with": {"query": "charger"}},
        "once": {"kind": "calls", "tool": "search_poi", "at_most": 1},
        "never": {"kind": "calls", "tool": "search_poi", "at_most": 0},
        "named": {"kind": "says", "any": ["Blue Bay"]},
    }
    requirements = [{"id": name, "kind": "asked", "text": name, "check": check} for name, check in checks.items()]
    cases = [
        tiny_suite.case(f"c-{number}", truth={"intent": "x", "requirements": requirements}) for number in (1, 2, 3)
    ]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"nav/a.yaml": cases})
    (pytester.path / "service.yaml").write_text(f"url: {service.at(behave)}\nspans: {{port: {port}}}\n")
    result = pytester.runpytest("-v", "--mapsat-agent=http:service.yaml", "--mapsat-save=run.json", "-n", "2")
    result.stdout.fnmatch_lines(["sandbox    3 calls: 3 reported*", "spans * 1 traces belong to no reply*"])
    for card in json.loads((pytester.path / "run.json").read_text())["cases"]:
        outcomes = {label["requirement"]: label["outcome"] for label in card["labels"]}
        assert outcomes == {"called": "passed", "once": "unevaluated", "never": "failed", "named": "passed"}
        assert card["trajectory"]["calls_reported"] is True
    assert main(["show", str(pytester.path / "run.json"), "c-1"]) == 0
    shown = capsys.readouterr().out
    assert 'search_poi(query="charger") [reported]' in shown
    assert "undecided once (asked): once" in shown
    assert "may not be all" in " ".join(shown.split())
