"""Import of LocalSearchBench: tasks as cases, merchants as the table of a ranked search.

A source holds them as JSON, JSON Lines or parquet; it is read as untrusted input.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from pytest_mapsat.formats import content_digest, limits, package_data, parse_json, printable, read_bytes, shown_path
from pytest_mapsat.model import (
    Case,
    Json,
    JsonObject,
    Problem,
    SuiteError,
    SuiteManifest,
    UsageError,
    did_you_mean,
    digest,
    shown,
)
from pytest_mapsat.ports import (
    TRIAL,
    Record,
    Torn,
    files_of,
    imported_manifest,
    json_records,
    source_error,
    validated,
    write_suite,
)
from pytest_mapsat.suite import ImportLog, ImportReport, new_folder, write_bytes, write_cases, write_rows

_ENDINGS = (".json", ".jsonl", ".jsonl.gz", ".parquet")
_HINT = "name a file, or a folder with *.json, *.jsonl or *.parquet"
#: What git keeps in the place of a large file, which the published repository holds.
_POINTER = b"version https://git-lfs"
_DATA = package_data(__package__, "words.yaml")
#: What a task has under one of several names, as the table and the loader of the benchmark know them; how a key is compared.
NAMES: Mapping[str, Sequence[str]] = _DATA["names"]
_STRINGS = "category subcategory description address district business_area landmark business_hours price_range phone mobile email"
_FIGURES = "avg_price rating review_count latitude longitude delivery_range delivery_fee min_order_amount"
_OPTIONAL: dict[str, Any] = {
    **dict.fromkeys(_STRINGS.split(), (str | None, None)),
    **dict.fromkeys(_FIGURES.split(), (Annotated[int, Field(ge=-(2**53), le=2**53)] | float | None, None)),
    **dict.fromkeys(("tags", "facilities", "promotions", "specialties"), (list[str], [])),
    **dict.fromkeys(("products", "group_deals"), (list[JsonObject], [])),
    "delivery_available": (bool | None, None),
}


class _Identified(BaseModel):
    """The fields that every merchant has."""

    model_config = ConfigDict(coerce_numbers_to_str=True, allow_inf_nan=False, str_strip_whitespace=True)

    poi_id: Annotated[str, Field(min_length=1, max_length=200)]
    name: Annotated[str, Field(min_length=1)]
    city: Annotated[str, Field(min_length=1)]


#: A merchant: the 28 fields of the paper, null where it lacks one.
Merchant = create_model("Merchant", __base__=_Identified, **_OPTIONAL)
_MOST_CHARACTERS = 100_000


def read_records(path: Path, torn: Torn) -> Iterator[Record]:
    """Yield the objects of a file; records that are not objects go to ``torn``.

    Raises:
        SuiteError: the file cannot be read, goes beyond a limit, or is of no known form.
        UsageError: it is parquet, and the extra that reads it is not installed.
    """
    if not path.name.endswith(_ENDINGS):
        raise source_error(path, f"ends in none of {', '.join(_ENDINGS)}", _HINT)
    if path.stat().st_size < limits.MIB and read_bytes(path, limits.MIB).startswith(_POINTER):
        raise source_error(path, "is a pointer of Git LFS, not the file itself", "fetch it: git lfs pull", line=1)
    if path.name.endswith(".parquet"):
        records = _rows(path)
    else:
        records = json_records(path, torn, "tasks or merchants", longest=limits.ROW_BYTES)
    for record in records:
        if isinstance(record.data, dict):
            yield record
        else:
            torn(record.place, f"found {shown(record.data)}, expected a task or a merchant, an object")


def _rows(path: Path) -> Iterator[Record]:
    """Yield the rows of a parquet file, numbered from 1; at most a thousand are in memory at a time."""
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
                raise source_error(path, f"unpacks to {sum(groups):,} bytes, which is too much")
            for batch in file.iter_batches(batch_size=1000):
                for row in batch.to_pylist():
                    number += 1
                    yield Record(f"{printable(path.name)}:{number}", row)
    except (pa.ArrowException, OSError, ValueError) as error:
        message = f"cannot be read as parquet: {' '.join(str(error).split())[:200]}"
        raise source_error(path, message, line=number) from None


def is_merchant(data: Mapping[str, Any]) -> bool:
    """Return whether a record looks like a merchant: it has a name or an id, and no question."""
    meant = "name" in data or "poi_id" in data
    return meant and not any(_plain(key) in NAMES["question"] for key in data)


def task_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task with the keys of ``NAMES``. Raises ValueError if it has no question or no answer, or a text is too long."""
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
    """Return a key in lower case with single spaces in place of spaces, underscores and hyphens."""
    return " ".join(re.split(r"[\s_-]+", str(key).strip().lower()))


def texts_of(value: Json) -> list[str]:
    """Return the texts in a list, in a JSON list given as text, or in the lines of a text; empty for any other value."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = parse_json(value)
    listed = value.splitlines() if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return [text.strip() for text in map(_as_text, listed) if text and text.strip()]


def _as_text(value: Json) -> str | None:
    """Return a text or number as text, other values as JSON; None for null."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


FORMAT = "localsearchbench"
_TOOL, _CALLS = "search_merchants", 5  # the most rounds of the paper
#: The least similarity of a call's words to those of the plan (trajectory accuracy of the published code).
_NEAR = 0.72
_MOST_TASKS, _MOST_NOTES, _MOST_NAMES, _MOST_HOPS = 100_000, 200, 20, 20
_CHINESE = re.compile("[\u4e00-\u9fff]")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_LEVEL = re.compile(r"L[1-5]", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{([^{}]{1,1000})\}")
#: Names are looked for in reference answers from so many characters on, by whether they are Chinese.
_SHORTEST = {True: 2, False: 4}


def import_localsearchbench(src: Path, dest: Path) -> ImportReport:
    """Import tasks and merchants of LocalSearchBench as a suite at ``dest``.

    Args:
        src: a file with tasks, or a folder (or its ``data/``) with files of tasks and merchants: JSON, JSON Lines, parquet.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        What came over, what did not, and what is odd.

    Raises:
        SuiteError: a file cannot be read, or no task comes over.
        UsageError: ``dest`` cannot be used, or a file is parquet and the extra is not installed.
    """
    patterns = [f"{folder}*{ending}" for folder in ("", "data/") for ending in _ENDINGS]
    paths = files_of(src, patterns, lacks="holds no file" if src.is_dir() else "is not there", hint=_HINT)
    with new_folder(dest) as folder:
        return _SourceImport(folder, paths).run()


class _SourceImport:
    """Imports one source as a suite.

    Args:
        folder: where the suite is written.
        paths: the files of the source.
    """

    def __init__(self, folder: Path, paths: Sequence[Path]) -> None:
        self._folder, self._paths = folder, paths
        self._log, self._noted = ImportLog(), Counter[str]()
        self._tasks: list[Record] = []
        self._merchants: set[str] = set()
        self._names: dict[str, set[str]] = {}

    def run(self) -> ImportReport:
        """Write the suite and return the import report. Raises SuiteError, UsageError."""
        write_rows(self._folder / "state" / "merchants.jsonl", self._rows())
        if self._merchants:
            write_bytes(self._folder / "tools.yaml", (files(__package__) / "tools.yaml").read_bytes())
            write_bytes(self._folder / "state" / "merchant_words.jsonl", b"")
        else:
            (self._folder / "state" / "merchants.jsonl").unlink()
            (self._folder / "state").rmdir()
            message = "the source has no merchants: the suite has no search"
            self._note("no_merchants", shown_path(self._paths[0]), message)
        cases = list(self._cases())
        if not cases:
            raise self._log.nothing(self._paths[0], "holds no task")
        write_cases(self._folder / "cases.jsonl", cases)
        write_suite(self._folder, self._manifest(cases), ())
        for kind, count in self._noted.items():
            if count > _MOST_NOTES:
                self._log.note(kind, shown_path(self._paths[0]), f"and {count - _MOST_NOTES:,} more of this kind")
        tools = 2 * bool(self._merchants)
        return self._log.report(self._folder, FORMAT, cases=len(cases), tools=tools, by_tool=Counter())

    def _note(self, kind: str, place: str, message: str, leaves: str = "") -> None:
        """Add a note, unless there are already too many of its kind, and count the omission."""
        self._noted[kind] += 1
        if self._noted[kind] <= _MOST_NOTES:
            self._log.note(kind, place, message)
        if leaves:
            self._log.leave(leaves)

    def _rows(self) -> Iterator[JsonObject]:
        """Yield the merchants of all files, and keep the tasks for later."""

        def torn(place: str, message: str) -> None:
            """Note that an unreadable record is omitted."""
            self._note("unparsable", place, f"{message}; left out", "records")

        for path in self._paths:
            for record in read_records(path, torn):
                if not is_merchant(record.data):
                    self._tasks.append(record)
                    if len(self._tasks) > _MOST_TASKS:
                        raise SuiteError(Problem(record.place, 0, f"there are more than {_MOST_TASKS:,} tasks"))
                elif (row := self._merchant(record)) is not None:
                    yield row

    def _merchant(self, record: Record) -> JsonObject | None:
        """Return a merchant as a row; note it and return None if it is invalid, too long or a duplicate."""
        given = {"poi_id": record.data.get("id"), **record.data}
        data = {str(name): value for name, value in given.items() if value is not None}
        merchant, problems = validated(Merchant, data, record.place)
        for problem in problems:
            self._note("unparsable", record.place, f"{problem.message}; the merchant is left out")
        if merchant is None:
            self._log.leave("merchants")
            return None
        row: JsonObject = merchant.model_dump()
        try:
            too_long = len(json.dumps(row, ensure_ascii=False, allow_nan=False).encode()) > limits.ROW_BYTES
        except ValueError as error:  # a table of parquet may hold what JSON does not
            self._note("unparsable", record.place, f"{error}; the merchant is left out", "merchants")
            return None
        if too_long:
            self._note("unparsable", record.place, f"it is longer than {limits.ROW_BYTES:,} bytes", "merchants")
            return None
        if row["poi_id"] in self._merchants:
            message = f"the poi_id {shown(row['poi_id'])} stands here twice; the first one is kept"
            self._note("duplicate_merchant", record.place, message, "merchants")
            return None
        for name in data.keys() - Merchant.model_fields.keys() - {"id"}:
            self._log.leave(f"field {printable(name)[:80]}")
        self._merchants.add(row["poi_id"])
        self._names.setdefault(row["city"], set()).add(row["name"])
        return row

    def _cases(self) -> Iterator[Case]:
        """Yield a case for each task; note and skip malformed tasks and tasks with a used id."""
        seen: set[str] = set()
        for record in self._tasks:
            try:
                task = task_of(record.data)
            except ValueError as wrong:
                self._note("unparsable", record.place, f"{wrong}; the task is left out", "tasks")
                continue
            data = self._case(task, record.place)
            if data["id"] in seen:
                message = f"another task has the id {shown(data['id'])}; the first one is kept"
                self._note("duplicate_case", record.place, message, "tasks")
                continue
            seen.add(data["id"])
            if (case := self._log.case(data, record.place)) is not None:
                yield case

    def _case(self, task: Mapping[str, Any], place: str) -> JsonObject:
        """Return a task as the data of a case, with its hops, requirements and reference calls."""
        question, city = task["question"].strip(), self._city(task["city"], place)
        given = str(task["id"] if task["id"] is not None else "")
        usable = _ID.fullmatch(given) and not TRIAL.search(given)
        case_id = given if usable else f"local-{digest([question, city], 12)}"
        path = task["path"]
        queries = texts_of(task["queries"]) or (texts_of(path) if isinstance(path, list | tuple) else [])
        answers = texts_of(task["found"])
        if len(queries) > _MOST_HOPS or (queries and answers and len(queries) != len(answers)):
            given_hops = f"{len(queries)} queries and {len(answers)} answers of hops"
            self._note("uneven_hops", place, f"found {given_hops}, expected as many, at most {_MOST_HOPS}")
        queries = queries[:_MOST_HOPS]
        if path and not queries:
            self._log.leave("search paths in words")
        matched = _LEVEL.search(str(task["level"] or ""))
        hops = str(task["hops"] or len(queries) or "")
        attributes = {"level": matched[0].upper() if matched else "", "city": city, "hops": hops, "source": given}
        truth: JsonObject = {
            "requirements": list(_requirements(task, queries, answers)),
            "clarification": {"max_turns": 0, "reference_turns": 1},
        }
        if queries and self._merchants:
            truth["tools"] = [self._hop(at, query, answers, city) for at, query in enumerate(queries)]
            arguments = {"city": city} if city in self._names else {}
            calls = [{"tool": _TOOL, "arguments": {"query": query[:1000], **arguments}} for query in queries]
            truth["oracle"] = [{"calls": calls, "say": task["answer"]}]
        return {
            "id": case_id,
            "language": _language(question),
            "difficulty": attributes["level"],
            "attributes": {name: value[:200] for name, value in attributes.items() if value},
            "visible": {"query": question, "context": {"city": city} if city else {}},
            "truth": truth,
        }

    def _city(self, city: Any, place: str) -> str:
        """Return a task's city in the merchants' spelling; if the city has no merchant, note this and return the given spelling."""
        wanted = str(city or "").strip()
        other = next((name for name in self._names if name.removesuffix("市") == wanted.removesuffix("市")), None)
        if wanted and self._names and other is None:
            self._note("unknown_city", place, f"no merchant is in {shown(wanted)}")
        return other or wanted

    def _hop(self, at: int, query: str, answers: Sequence[str], city: str) -> JsonObject:
        """Return the expected call of a hop, with the merchants in its reference answer as evidence."""
        names = self._named(answers[at], city) if at < len(answers) else []
        evidence: list[Any] = [f"hop-{at + 1}"] if at < len(answers) else []
        rows = [{"where": {"name": {"op": "one_of", "values": names}}}] if names else []
        match = {"query": {"op": "similar", "text": query, "at_least": _NEAR}}
        rules = {"required": ["query"], "match": match, "evidence": evidence + rows}
        return {"name": _TOOL, "id": f"hop-{at + 1}", **rules}

    def _named(self, text: str, city: str) -> list[str]:
        """Return the names of a city's merchants in a text, except names that are part of longer names."""
        known = self._names.get(city, ())
        names = [name for name in known if len(name) >= _SHORTEST[bool(_CHINESE.search(name))] and name in text]
        longest = [name for name in names if not any(name != other and name in other for other in names)]
        return sorted(longest, key=lambda name: (text.index(name), name))[:_MOST_NAMES]

    def _manifest(self, cases: Sequence[Case]) -> SuiteManifest:
        """Return the manifest of the imported suite."""
        languages = Counter(case.language for case in cases)
        return imported_manifest(
            FORMAT,
            digest([content_digest(path) for path in self._paths], 12),
            language=languages.most_common(1)[0][0],
            **_DATA["manifest"],
            episode={"calls": max(_CALLS, *(len(case.truth.tools) for case in cases)), "user": "silent"},
            description=f"LocalSearchBench, imported: {len(cases)} tasks, {len(self._merchants):,} merchants.",
        )


def _requirements(task: Mapping[str, Any], queries: Sequence[str], answers: Sequence[str]) -> Iterator[JsonObject]:
    """Yield the requirements that a judge decides: one for each hop, one for the whole answer, and the veto of the paper."""
    texts = _DATA["texts"][_language(task["question"])]
    for at, (query, answer) in enumerate(zip(queries, answers, strict=False), 1):
        yield {"id": f"hop-{at}", "kind": "asked", "text": texts["hop"].format(query=query, answer=answer)}
    short = task["short"] or next(iter(_BOXED.findall(task["answer"])), "")
    more = texts["short"].format(short=short) if isinstance(short, str) and short not in ("", task["answer"]) else ""
    yield {"id": "answer", "kind": "asked", "text": texts["answer"].format(answer=task["answer"]) + more}
    yield {"id": "veto", "kind": "hard", "text": texts["veto"], "scope": "trajectory"}


def _language(text: str) -> str:
    """Return ``zh`` for a text with Chinese characters, else ``en``."""
    return "zh" if _CHINESE.search(text) else "en"
