"""Play what the users of a run said to the team of a framework, with tools of its own and its instrumentation: ``python alone.py RUN MODULE KIND OUT``.

The spans are OTLP JSON, as an exporter sends it.
"""

import json
import sys
from base64 import b64decode
from importlib import import_module
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

_IDS = ("traceId", "spanId", "parentSpanId")


def otlp(spans):
    """Return spans as OTLP JSON, which has ids in hexadecimal digits."""
    request = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    for batch in request["resourceSpans"]:
        for span in (span for scope in batch["scopeSpans"] for span in scope["spans"]):
            span |= {name: b64decode(span[name]).hex() for name in _IDS if name in span}
    return request


def main(run, name, kind, out):
    module, exporter, provider = import_module(name), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    module.instrument(kind, provider)
    tracer = provider.get_tracer("service")
    for card in json.loads(Path(run).read_text(encoding="utf-8"))["cases"]:
        talk = module.Talk()
        with tracer.start_as_current_span("conversation", attributes={"session.id": card["id"]}):
            for turn in card["trajectory"]["turns"]:
                if turn["role"] == "user":
                    talk.ask(turn["text"])
    Path(out).write_text(json.dumps(otlp(exporter.get_finished_spans())), encoding="utf-8")


main(*sys.argv[1:])
