"""A run as spans: OTLP JSON, a trace for each episode, in the names of OpenTelemetry's GenAI conventions; to a file, or sent where the user says.

What no convention has a name for stands in ``mapsat.*``, so that the spans, read back, are the dialogue that they were written of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.parse import unquote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pytest_mapsat.formats import redacted, without_secrets
from pytest_mapsat.model import (
    Json,
    JsonObject,
    Label,
    MapsatError,
    Run,
    Scorecard,
    Step,
    Turn,
    canonical_json,
    digest,
)

from .text import cut, printable

if TYPE_CHECKING:
    from .html import Dialogues

#: So many scorecards are held with their dialogues at a time.
_BATCH = 200
_SECOND = 1_000_000_000
#: Seconds for one request.
_TIMEOUT = 30
_ANSWER = 300
_ERROR = {"code": 2}
#: The variable with the headers of requests, for every exporter of OpenTelemetry: ``name=value,name=value``.
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"


def otlp_lines(run: Run, dialogues: Dialogues | None = None) -> Iterator[str]:
    """Yield a run as OTLP JSON: for each episode a line with an export request of one trace.

    Args:
        run: the run.
        dialogues: gives scorecards with their dialogues, by their numbers; None: those of the run hold them.
    """
    for first in range(0, len(run.cases), _BATCH):
        numbers = range(first, min(first + _BATCH, len(run.cases)))
        for card in [run.cases[number] for number in numbers] if dialogues is None else dialogues(numbers):
            yield json.dumps(_request(run, without_secrets(card)), ensure_ascii=False, allow_nan=False) + "\n"


def send(run: Run, address: str, dialogues: Dialogues | None = None) -> None:
    """Send a run to a collector, one request for each episode.

    Args:
        run: the run.
        address: where the user said, ``http://HOST:4318/v1/traces``; redirects are not followed.
        dialogues: as for ``otlp_lines``.

    Raises:
        MapsatError: the collector cannot be reached, or does not take the spans.
    """
    headers = {"Content-Type": "application/json", **_headers_of(os.environ.get(_HEADERS, ""))}
    for number, line in enumerate(otlp_lines(run, dialogues)):
        request = Request(address, line.encode("utf-8", errors="replace"), headers)  # noqa: S310  http or https, as parsed
        try:
            with build_opener(_NoRedirect).open(request, timeout=_TIMEOUT) as response:
                answer = response.read(_ANSWER * 10)
        except HTTPError as error:
            words = cut(printable(redacted(error.read(_ANSWER).decode(errors="replace"))), _ANSWER)
            raise MapsatError(
                f"{address}: {number} episodes were sent, then the collector answered {error.code}: {words}"
            ) from None
        except ValueError:  # its words hold the header's value
            raise MapsatError(f"{address}: {_HEADERS} holds a header that cannot be sent") from None
        except (URLError, HTTPException, OSError) as error:
            why = redacted(str(getattr(error, "reason", None) or error))
            raise MapsatError(
                f"{address}: {number} episodes were sent, then the collector could not be reached: {why}"
            ) from None
        if rejected := _rejected(answer):
            raise MapsatError(f"{address}: the collector rejected spans of episode {number + 1}: {rejected}")


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects, so that spans go only to the user's address."""

    def redirect_request(self, *_: object) -> None:
        """Return None, so that no redirect is followed."""


def _headers_of(text: str) -> dict[str, str]:
    """Return the headers in a text like ``name=value,name=value``, with percent-encoding decoded."""
    pairs = [pair.partition("=") for pair in text.split(",") if "=" in pair]
    return {unquote(name.strip()): unquote(value.strip()) for name, _, value in pairs}


def _rejected(answer: bytes) -> str:
    """Return the number of spans that a collector rejected, and the reason; empty if it accepted all."""
    try:
        partial = json.loads(answer or b"{}").get("partialSuccess") or {}
        count = int(partial.get("rejectedSpans") or 0)
    except (ValueError, AttributeError, TypeError):
        return ""
    return f"{count}: {cut(printable(redacted(str(partial.get('errorMessage', '')))), _ANSWER)}" if count else ""


# -- one episode ----------------------------------------------------------------------------------


def _times(start: int, end: int) -> JsonObject:
    """Return the start and end of a span in nanoseconds since 1970; empty if the run has no times."""
    return {"startTimeUnixNano": str(start), "endTimeUnixNano": str(end)} if start else {}


class _Trace:
    """The spans of one episode; their ids derive from the case, the agent, the trial, the attempt and the run's start."""

    def __init__(self, run: Run, card: Scorecard) -> None:
        self.id = digest([card.id, card.trial, card.agent, card.attempt, run.timing.started], 32)
        self.agent = run.manifest.agent
        self.spans: list[JsonObject] = []

    def add(self, name: str, times: JsonObject, attributes: JsonObject, **more: Json) -> JsonObject:
        """Add a span and return it; all spans after the first are children of the first."""
        number = len(self.spans)
        span = {"traceId": self.id, "spanId": digest([self.id, number]), "name": name, "kind": 1, **times}
        if number:
            span["parentSpanId"] = self.spans[0]["spanId"]
        self.spans.append({**span, "attributes": _key_values(attributes), **more})
        return self.spans[-1]


def _request(run: Run, card: Scorecard) -> JsonObject:
    """Return an episode as an export request with one trace."""
    trace = _Trace(run, card)
    began = _nanoseconds(run.timing.started)
    _root(trace, run, card, began)
    users: list[Turn] = []
    now = began
    for turn in card.trajectory.turns:
        if turn.role == "user":
            users.append(turn)
            continue
        lasts = round(turn.timing.seconds * _SECOND) if turn.timing is not None and began else 0
        for step in turn.steps:
            if step.kind == "call":
                _call(trace, step, _times(now, now))
        _reply(trace, turn, users, _times(now, now + lasts))
        users, now = [], now + lasts
    resource: JsonObject = {
        "service.name": run.manifest.agent or "agent",
        "mapsat.version": run.manifest.versions.get("pytest-mapsat"),
    }
    scope = {"scope": {"name": "pytest_mapsat"}, "spans": trace.spans}
    return {"resourceSpans": [{"resource": {"attributes": _key_values(resource)}, "scopeSpans": [scope]}]}


def _root(trace: _Trace, run: Run, card: Scorecard, began: int) -> None:
    """Add the root span of an episode, with its messages, its evaluations and all data outside other spans."""
    trajectory = card.trajectory
    end = began + round(card.timing.seconds * _SECOND)
    data = trajectory.to_json()
    replies = [number for number, turn in enumerate(trajectory.turns) if turn.role == "agent"]
    after = trajectory.turns[replies[-1] + 1 if replies else 0 :]
    kept, lacking = ("ending", "fault", "warnings", "setup", "reference", "memory"), ("calls_untold", "calls_reported")
    episode: JsonObject = {name: data[name] for name in (*kept, *lacking, "after_end") if name in data}
    episode["after"] = [turn.to_json() for turn in after]
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": run.manifest.agent,
        "gen_ai.conversation.id": card.id if card.trial == 1 else f"{card.id}-t{card.trial}",
        "gen_ai.input.messages": _messages(trajectory.turns[:1]),
        "gen_ai.output.messages": _messages(trajectory.replies[-1:]),
        "mapsat.case": card.id,
        "mapsat.trial": card.trial,
        "mapsat.outcome": card.outcome,
        "mapsat.episode": canonical_json(episode),
    }
    events = [{**({"timeUnixNano": str(end)} if began else {}), **event} for event in _evaluations(card)]
    status = {"status": _ERROR} if trajectory.fault is not None else {}
    trace.add(f"invoke_agent {run.manifest.agent}", _times(began, end), attributes, events=events, **status)


def _evaluations(card: Scorecard) -> Iterator[JsonObject]:
    """Yield an event for each metric and each label, with name, value, label and reason."""
    for name, value in card.metrics.items():
        bounds = card.bounds.get(name)
        why = f"between {bounds[0]:g} and {bounds[1]:g}" if value is None and bounds is not None else ""
        yield _evaluation(name, value, "" if value is not None else card.classes.get(name, "unevaluated"), why)
    for label in card.labels:
        yield _evaluation(label.requirement, label.value, _outcome(label), label.why)


def _outcome(label: Label) -> str:
    """Return the outcome of a label; ``undecided`` if it is unevaluated and no side is to blame."""
    return "undecided" if label.outcome == "unevaluated" and label.blame is None else label.outcome


def _evaluation(name: str, value: float | None, label: str, why: str) -> JsonObject:
    """Return an evaluation event with a name, a value, a label and a reason."""
    attributes: JsonObject = {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.value": None if value is None else float(value),
        "gen_ai.evaluation.score.label": label,
        "gen_ai.evaluation.explanation": why,
    }
    return {"name": "gen_ai.evaluation.result", "attributes": _key_values(attributes)}


def _call(trace: _Trace, step: Step, times: JsonObject) -> None:
    """Add the span of a tool call."""
    data = step.to_json()
    own = {name: data[name] for name in ("changed", "writes", "unknown", "usage") if name in data}
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": step.tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": step.id,
        "gen_ai.tool.call.arguments": None if "arguments" in step.unknown else canonical_json(step.arguments),
        "gen_ai.tool.call.result": None if "result" in step.unknown else canonical_json(step.result),
        "mapsat.call": canonical_json({"status": step.status, **own}),
    }
    failed = {"status": _ERROR} if step.status not in ("ok", "unknown") else {}
    trace.add(f"execute_tool {step.tool}", times, attributes, **failed)


def _reply(trace: _Trace, turn: Turn, users: Sequence[Turn], times: JsonObject) -> None:
    """Add the span of an agent's reply, with the user's messages before it."""
    data = turn.to_json()
    own: JsonObject = {name: data[name] for name in ("agreed", "output") if name in data}
    steps = [step for step in turn.steps if step.kind != "memory"]  # of which there is no span
    own["thoughts"] = [number for number, step in enumerate(steps) if step.kind == "thought"]
    if events := [[number, step.to_json()] for number, step in enumerate(steps) if step.kind == "event"]:
        own["events"] = events
    own["users"] = [
        {name: value for name, value in user.to_json().items() if name not in ("text", "timing")} for user in users
    ]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.agent.name": trace.agent,
        "gen_ai.input.messages": _messages(users),
        "gen_ai.output.messages": _messages([turn]),
        "gen_ai.output.type": "json" if turn.output is not None else "text",
        "gen_ai.usage.input_tokens": turn.usage.input_tokens,
        "gen_ai.usage.output_tokens": turn.usage.output_tokens,
        "gen_ai.usage.cost": turn.usage.cost,
        "mapsat.turn": canonical_json(own),
    }
    trace.add(f"chat {trace.agent}", times, attributes)


def _messages(turns: Iterable[Turn]) -> str:
    """Return turns as JSON text in the conventions' message format, with thoughts before the words."""
    messages = []
    for turn in turns:
        thoughts = [{"type": "reasoning", "content": step.text} for step in turn.steps if step.kind == "thought"]
        role = "user" if turn.role == "user" else "assistant"
        end = {} if role == "user" else {"finish_reason": "stop"}
        messages.append({"role": role, "parts": [*thoughts, {"type": "text", "content": turn.text}], **end})
    return canonical_json(messages)


def _key_values(attributes: JsonObject) -> list[JsonObject]:
    """Return attributes as OTLP key-value pairs, omitting None and empty texts."""
    return [{"key": key, "value": _any_value(value)} for key, value in attributes.items() if value not in (None, "")]


def _any_value(value: Json) -> JsonObject:
    """Return a value in OTLP's typed form."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def _nanoseconds(moment: str) -> int:
    """Return an ISO time in nanoseconds since 1970; 0 if the text is not a time."""
    try:
        return round(datetime.fromisoformat(moment).timestamp() * _SECOND)
    except ValueError:
        return 0
