"""Layouts of files with recorded dialogues, judged by how the files begin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from pytest_mapsat.model import RUN_SCHEMA, Problem, SuiteError

from .exports import exported_spans, looks_exported
from .files import limits, read_lines
from .otlp import looks_like_spans
from .plain_data import decode, parse_json

Layout = Literal["run", "lines", "table", "spans"]
#: The first lines, and characters, that tell a layout.
_PEEKED, _HEAD = 40, 200


def layout_of(path: Path, name: str) -> Layout:
    """Return the layout of a recorded file (``run``, ``lines``, ``spans`` or ``table``), judged by its first lines.

    Args:
        path: the file.
        name: how messages name it.

    Raises:
        SuiteError: it cannot be read, or is empty.
    """
    begin = list(islice(read_lines(path, limits.RUN_BYTES, name), _PEEKED))
    if not begin:
        raise SuiteError(Problem(name, 0, "the file is empty", f"expected {layouts('JSON lines', ())}"))
    first = begin[0]
    text = decode(first.data, name, first.number)
    head = text
    if len(begin) > 1 and not first.data.rstrip().endswith(b"}"):
        head = b"".join(raw.data for raw in begin).decode(errors="replace")
    if text.lstrip()[:1] not in ("{", "["):
        return "table"
    if '"schema"' not in head[:_HEAD] and (looks_like_spans(head) or looks_exported(head)):
        return "spans"
    try:
        data = parse_json(text, depth=limits.RUN_DEPTH)
    except ValueError:  # a run goes over many lines; the reader of runs says what is wrong with anything else
        return "run" if text.lstrip().startswith("{") else "table"
    alone = data[0] if isinstance(data, list) and data else data
    if isinstance(alone, dict) and exported_spans(alone, name, first.number) is not None:
        return "spans"
    return "table" if isinstance(data, list) else "run" if "schema" in data else "lines"


def layouts(lines: str, columns: Sequence[str]) -> str:
    """Return a description of the supported layouts, for error messages; ``lines``: the content of a line; ``columns``: those of a table."""
    table = f"a CSV with the columns {', '.join(columns)}" if columns else "a CSV"
    return f'a saved run ("schema": "{RUN_SCHEMA}"), {lines}, OTLP JSON ("resourceSpans"), runs of LangSmith, a log of Inspect, or {table}'
