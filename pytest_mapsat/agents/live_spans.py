"""Spans of an instrumented agent in this process, read as they end: its usage, and calls of its own tools.

No package of OpenTelemetry is imported: a processor is an object with the methods that its SDK calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from pytest_mapsat.formats import Span, conversation_of
from pytest_mapsat.model import Step
from pytest_mapsat.reply import Reply

from .returned import as_json
from .span_dialogues import step_of

_heard: ContextVar[list[Any] | None] = ContextVar("mapsat_spans", default=None)
#: The most spans of one reply that are kept.
_MOST = 10_000


class EpisodeSpans:
    """A span processor that hands the spans of an agent's reply to its episode.

    ``trace.get_tracer_provider().add_span_processor(EpisodeSpans())`` in a conftest is all that is needed. A span belongs to the reply
    during which it began: by the context in which it was started, else by the span around it. All others are left alone.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], list[Any]] = {}

    def on_start(self, span: Any, parent_context: object = None) -> None:  # noqa: ARG002  the SDK's signature
        """Note which reply a span belongs to."""
        heard = _heard.get()
        if heard is None and span.parent is not None:
            heard = self._open.get((span.parent.trace_id, span.parent.span_id))
        if heard is not None and len(heard) < _MOST:
            self._open[_key(span)] = heard

    def on_end(self, span: Any) -> None:
        """Hand over a span that has ended."""
        heard = self._open.pop(_key(span), None)
        if heard is not None:
            heard.append(span)

    def _on_ending(self, span: Any) -> None:
        """Do nothing: newer SDKs say that a span is about to end."""

    def shutdown(self) -> None:
        """Forget spans that have not ended."""
        self._open.clear()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002  likewise
        """Return that nothing waits: spans are handed over as they end."""
        return True


def _key(span: Any) -> tuple[int, int]:
    context = span.get_span_context()
    return context.trace_id, context.span_id


@contextmanager
def spans_heard() -> Iterator[list[Any]]:
    """Give a list that collects the ended spans that begin in the block, in this thread or in threads and tasks with its context."""
    heard: list[Any] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


def told_by_spans(
    heard: Sequence[Any], reply: Reply | None, steps: tuple[Step, ...]
) -> tuple[Reply | None, tuple[Step, ...]]:
    """Return a reply and its steps, completed from its spans: usage where the reply has none, and the calls that the sandbox did not see, after those that it did.

    Args:
        heard: the spans of the reply, as the SDK has them.
        reply: what the agent returned; None where it returned nothing.
        steps: what the sandbox saw.
    """
    if not heard:
        return reply, steps
    turns = [turn for turn in conversation_of(map(_span, heard)).turns if turn.role == "agent"]
    if reply is not None and reply.usage is None:
        spent = {
            name: sum(figures)
            for name in ("input_tokens", "output_tokens", "cost")
            if (figures := [value for turn in turns if (value := getattr(turn, name)) is not None])
        }
        reply = replace(reply, usage=spent) if spent else reply
    seen = Counter(step.tool for step in steps if step.kind == "call")
    for call in (call for turn in turns for call in turn.calls if call.executed):
        if seen[call.name]:
            seen[call.name] -= 1  # the span of a call that the sandbox answered
        else:
            steps = (*steps, step_of(call, "spans"))
    return reply, steps


def _span(span: Any) -> Span:
    trace, own = _key(span)
    attributes, events = (as_json(dict(span.attributes or {})), span.events or ())
    return Span(
        trace=f"{trace:032x}",
        id=f"{own:016x}",
        parent="" if span.parent is None else f"{span.parent.span_id:016x}",
        name=str(span.name),
        start=span.start_time or 0,
        end=span.end_time or 0,
        failed=getattr(getattr(span.status, "status_code", None), "name", "") == "ERROR",
        attributes=attributes,
        events=tuple((str(event.name), as_json(dict(event.attributes or {}))) for event in events),
        line=0,
    )
