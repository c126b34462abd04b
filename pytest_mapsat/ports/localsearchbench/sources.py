"""What a source of LocalSearchBench holds: tasks and merchants, out of JSON, JSON Lines and parquet, each with its place. It is read as untrusted input."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pytest_mapsat.formats import (
    json_elements,
    limits,
    parse_json,
    parse_json_line,
    printable,
    read_bytes,
    read_lines,
    read_text,
    shown_path,
)
from pytest_mapsat.model import Json, JsonObject, Problem, SuiteError, UsageError, did_you_mean, shown
from pytest_mapsat.sandbox import id_text

_ENDINGS = (".json", ".jsonl", ".jsonl.gz", ".parquet")
_HINT = "name a file, or a folder with *.json, *.jsonl or *.parquet"
#: What git keeps in the place of a large file, which the published repository holds.
_POINTER = b"version https://git-lfs"
#: What a task has under one of several names, as the table and the loader of the benchmark know them; how a key is compared.
NAMES = {
    "id": ("id", "task id", "qid"),
    "question": ("question", "query", "title"),
    "answer": ("answer", "reference answer"),
    "short": ("box", "ground truth", "final answer"),
    "city": ("city",),
    "hops": ("hop count", "hops"),
    "level": ("difficulty", "level"),
    "path": ("multi hop search path", "search path"),
    "queries": ("hop used queries",),
    "found": ("hop reference answers",),
}
_TEXTS = "name category subcategory description address city district business_area landmark business_hours price_range phone mobile email"
_FIGURES = "avg_price rating review_count latitude longitude delivery_range delivery_fee min_order_amount"
_LISTS, _PARTS, _FLAG = "tags facilities promotions", "products group_deals", "delivery_available"
#: The fields of a merchant, each with what reads it.
_KINDS = {name: kind for kind in (_TEXTS, _FIGURES, _LISTS, _PARTS, _FLAG) for name in kind.split()}
_OTHER_FIELDS = ("poi_id", "id", "specialties")
_SEPARATOR = re.compile(r"[,，、;；|]")
_TRUE, _FALSE = ("true", "yes", "1", "是"), ("false", "no", "0", "否", "")
_MOST_CHARACTERS = 100_000
#: A record with so many fields of a merchant is meant as one.
_ENOUGH = 2


class Record(NamedTuple):
    """One record of a source and its place, as ``tasks.jsonl:3``."""

    place: str
    data: Mapping[str, Any]


def source_files(src: Path) -> list[Path]:
    """Return the files of a source, sorted. Raises SuiteError where there is none."""
    if src.is_file():
        return [src]
    inside = src.resolve()
    files = sorted(path for path in (*src.glob("*"), *src.glob("data/*")) if path.name.endswith(_ENDINGS))
    # A link that leads out of the source is no part of it.
    files = [path for path in files if path.is_file() and path.resolve().is_relative_to(inside)]
    if not files:
        raise SuiteError(Problem(shown_path(src), 0, "holds no file" if src.is_dir() else "is not there", _HINT))
    return files


def read_records(path: Path, problems: list[Problem]) -> Iterator[Record]:
    """Yield the objects of a file; what is none on its line is added to the problems.

    Raises:
        SuiteError: the file cannot be read, goes beyond a limit, or is of no known form.
        UsageError: it is parquet, and the extra that reads it is not installed.
    """
    name, where = printable(path.name), shown_path(path)
    if not path.name.endswith(_ENDINGS):
        raise SuiteError(Problem(where, 0, f"ends in none of {', '.join(_ENDINGS)}", _HINT))
    if path.stat().st_size < limits.MIB and read_bytes(path, limits.MIB).startswith(_POINTER):
        raise SuiteError(Problem(where, 1, "is a pointer of Git LFS, not the file itself", "fetch it: git lfs pull"))
    numbered: Iterator[tuple[int, Json]]
    if path.name.endswith(".parquet"):
        numbered = _rows(path)
    elif path.name.endswith(".json"):
        numbered = json_elements(read_text(path, limits.CELL_BYTES, where), where, "tasks or merchants")
    else:
        numbered = _lines(path, name, problems)
    for number, data in numbered:
        if isinstance(data, dict):
            yield Record(f"{name}:{number}", data)
        else:
            problems.append(Problem(name, number, f"found {shown(data)}, expected a task or a merchant, an object"))


def _lines(path: Path, name: str, problems: list[Problem]) -> Iterator[tuple[int, Json]]:
    for line in read_lines(path, limits.ROW_BYTES):
        try:
            yield line.number, parse_json_line(line.data, name, line.number)
        except SuiteError as error:
            problems.extend(error.problems)


def _rows(path: Path) -> Iterator[tuple[int, Json]]:
    """Yield the rows of a parquet file, numbered from 1, a thousand in memory at a time."""
    try:
        import pyarrow as pa  # noqa: PLC0415  an extra
        from pyarrow import parquet  # noqa: PLC0415  likewise
    except ImportError:
        raise UsageError(f"{path.name} is parquet: pip install 'pytest-mapsat[parquet]' reads it") from None
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            groups = [file.metadata.row_group(at).total_byte_size for at in range(file.metadata.num_row_groups)]
            if sum(groups) > limits.FILE_BYTES or max(groups, default=0) > limits.GZIP_BYTES:
                raise SuiteError(Problem(shown_path(path), 0, f"unpacks to {sum(groups):,} bytes, which is too much"))
            for batch in file.iter_batches(batch_size=1000):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, ValueError) as error:
        message = f"cannot be read as parquet: {' '.join(str(error).split())[:200]}"
        raise SuiteError(Problem(shown_path(path), number, message)) from None


def is_merchant(data: Mapping[str, Any]) -> bool:
    """Return whether a record is a merchant, or meant as one; any other should be a task."""
    meant = "name" in data or "poi_id" in data or sum(key in _KINDS for key in data) >= _ENOUGH
    return meant and not any(_plain(key) in NAMES["question"] for key in data)


def task_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task with the names of ``NAMES``. Raises ValueError where it has no question or no answer."""
    given = {_plain(key): value for key, value in data.items()}
    task = {
        name: next((given[other] for other in others if given.get(other) not in (None, "")), None)
        for name, others in NAMES.items()
    }
    for name in ("question", "answer"):
        if task[name] is None and name == "answer" and task["short"] is not None:
            task["answer"] = task["short"]
        text = task[name]
        if not isinstance(text, str) or not text.strip():
            stray = [key for key in given if all(key not in others for others in NAMES.values())]
            hint = next((f" ({key}: {hint})" for key in stray if (hint := did_you_mean(key, NAMES[name]))), "")
            raise ValueError(f"{name}: found {shown(text)}, expected a text{hint}")
    if any(len(value) > _MOST_CHARACTERS for value in task.values() if isinstance(value, str)):
        raise ValueError(f"a text is longer than {_MOST_CHARACTERS:,} characters")
    return task


def _plain(key: object) -> str:
    return " ".join(re.split(r"[\s_-]+", str(key).strip().lower()))


def texts_of(value: Json) -> list[str]:
    """Return the texts of a list, of JSON in a text, or of the lines of a text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = parse_json(value)
    listed = value.splitlines() if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return [text.strip() for text in map(_as_text, listed) if text and text.strip()]


def _as_text(value: Json) -> str | None:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


def merchant_of(data: Mapping[str, Any]) -> JsonObject:
    """Return a merchant with its id and all fields, null where it lacks one. Raises ValueError that says what cannot be read."""
    poi_id = id_text(data.get("poi_id", data.get("id")))
    if poi_id is None:
        raise ValueError(f"poi_id: found {shown(data.get('poi_id', data.get('id')))}, expected an id")
    row: JsonObject = {"poi_id": poi_id}
    for name, kind in _KINDS.items():
        try:
            row[name] = _read(kind, data.get(name))
        except (ValueError, OverflowError) as wrong:
            raise ValueError(f"{name}: found {shown(data.get(name))}, expected {wrong}") from None
    for name in ("name", "city"):
        if not row[name]:
            hint = next((f" ({key}: {hint})" for key, hint in stray_fields(data) if name in hint), "")
            raise ValueError(f"{name}: found {shown(data.get(name))}, expected a text{hint}")
    if data.get("specialties") is not None:
        row["specialties"] = texts_of(data["specialties"])
    if len(json.dumps(row, ensure_ascii=False, allow_nan=False).encode()) > limits.ROW_BYTES:
        raise ValueError(f"it is longer than {limits.ROW_BYTES:,} bytes")
    return row


def stray_fields(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a merchant that are not known, each with what may be meant."""
    fields = (*_KINDS, *_OTHER_FIELDS)
    yield from ((str(key), did_you_mean(str(key), fields) or "") for key in data if key not in fields)


def _read(kind: str, value: Any) -> Json:
    """Return a value as its field has it. Raises ValueError that says what is expected."""
    if value is None:
        return [] if kind in (_LISTS, _PARTS) else None
    if kind == _TEXTS and isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value).strip()
    if kind == _FIGURES:
        return _figure(value)
    if kind == _FLAG and str(value).strip().lower() in (*_TRUE, *_FALSE):
        return str(value).strip().lower() in _TRUE
    if kind == _LISTS and isinstance(value, str | list):
        listed = _SEPARATOR.split(value) if isinstance(value, str) and not value.startswith("[") else value
        return texts_of(listed)
    if kind == _PARTS:
        parsed = parse_json(value) if isinstance(value, str) else value
        if isinstance(parsed, list):
            return json.loads(json.dumps(parsed, allow_nan=False, default=str))
    expected = {_TEXTS: "a text", _FLAG: "true or false", _LISTS: "a list of texts", _PARTS: "a list of objects"}
    raise ValueError(expected[kind])


def _figure(value: Any) -> int | float:
    try:
        number = float(value) if not isinstance(value, bool | list | dict) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("a number")
    return int(number) if number.is_integer() else number
