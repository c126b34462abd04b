"""A suite on disk, opened: its manifest, tools and tables at once, its cases and recordings when they are asked for."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, islice
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from pydantic import ConfigDict

from pytest_mapsat.formats import (
    DocumentLines,
    LocatedDocument,
    PlacedNoun,
    content_digest,
    dotted,
    limits,
    parse_json_line,
    parse_yaml,
    raise_for_problems,
    read_bytes,
    read_calibration,
    read_lines,
    read_nouns,
    shown_path,
    validate,
)
from pytest_mapsat.model import (
    SUITE_SCHEMA,
    Calibration,
    Case,
    Context,
    Interaction,
    Json,
    Noun,
    PeopleLabels,
    Problem,
    Recording,
    SuiteError,
    SuiteManifest,
    Tool,
    did_you_mean,
    fits,
    shown,
    wording_digest,
)
from pytest_mapsat.reading import Vocabulary
from pytest_mapsat.sandbox import SandboxHook, Table
from pytest_mapsat.secrets import name_secrets

from .common import (
    CaseEntry,
    Common,
    case_of,
    documents_of_yaml,
    entry_of_yaml,
    header_differs,
    list_jsonl,
    not_a_case,
    read_common,
    read_manifest,
)
from .crosscheck import Remark, errors_of, is_before
from .tables import (
    LineSpan,
    PlacedRecording,
    SpanReader,
    answer_problems,
    index_recordings,
    ranked_tables,
    read_recordings,
    read_state,
    read_tools,
)
from .variants import Sweep

#: So many rows of a table that stays in its files show which columns there are.
_SHAPING = 5000


def find_suite(path: Path) -> Path | None:
    """Return the nearest folder, ``path`` or one above it, that holds a ``suite.yaml``; None if there is none."""
    start = Path(os.path.abspath(path))  # noqa: PTH100  resolve() would leave the place the user sees
    return next((folder for folder in (start, *start.parents) if (folder / MANIFEST).is_file()), None)


def open_suite(root: Path) -> Suite:
    """Open the suite in the folder ``root``: read and validate the manifest, the tools and the tables.

    Raises:
        SuiteError: with the problems of manifest, tools and tables.
    """
    folder = Path(os.path.abspath(root))  # noqa: PTH100  resolve() would leave the place the user sees
    manifest = folder / MANIFEST
    if not manifest.is_file():
        hint = "a suite is a folder with a manifest, suite.yaml: docs/reference/suites.md shows one"
        raise SuiteError(Problem(shown_path(folder), 0, f"is not a suite: it has no {MANIFEST}", hint))
    if (problem := refusal(folder, manifest)) is not None:
        raise SuiteError(problem)
    return Suite(folder)


def project_suite(root: Path) -> Suite:
    """Return a suite for the Python cases of a project without one: no tools, and always the same name, so that runs compare."""
    return Suite(root, SuiteManifest(name="python-cases", version="0", schema_version=SUITE_SCHEMA))


class Suite:
    """A folder of cases, tools, tables and recordings. Safe to be used from several threads.

    A case is what its files were when they were first listed: one that has changed since, or has gone, is an error of each
    case that needs it.

    Attributes:
        root: the folder, absolute.
        in_files: whether it stands in its folder; a project stands for a suite of cases in Python.
        manifest: what suite.yaml says.
        common: what its cases have in common.
        tools: the tools by name, sorted.
        tables: the rows that every case starts from, by table, sorted.
        vocabulary: the words of its domain, for the reading of replies.
        calibration: its own table of which failures that rest on reading stand; None where it has none.
        sweep: what makes variants of its cases; None: they have none. The opener sets it before it lists cases.
        sandboxes: what looks for sandboxes of its cases in Python; None: installed packages alone. The opener sets it, once it has loaded what is added in Python.
    """

    def __init__(self, root: Path, manifest: SuiteManifest | None = None) -> None:
        self.root = root
        self.in_files = manifest is None
        self.inventory = inventory = take_inventory(root) if manifest is None else Inventory((), (), (), ())
        tools = read_tools(inventory.tools)
        self.tables: Mapping[str, Table] = MappingProxyType({**read_state(inventory.state, ranked_tables(tools))})
        raise_for_problems([*answer_problems(tools, self.tables)])
        tables = [read_calibration(path) for path in inventory.calibration]
        self.calibration: Calibration | None = tables[0] if tables else None
        self._manifest_path = root / MANIFEST
        if manifest is None:
            written = read_manifest(self._manifest_path)
            self.common = read_common(root, self._manifest_path, *written, inventory.requirements)
        else:
            self.common = Common(manifest, root, {})
        self.manifest: SuiteManifest = self.common.manifest
        self.vocabulary = Vocabulary(self.manifest.vocabulary, self.manifest.currency)
        strict = {"strict": True} if self.manifest.arguments == "strict" else {}
        self.tools: Mapping[str, Tool] = MappingProxyType(
            {name: tool.model_copy(update=strict) if strict else tool for name, (tool, _, _) in tools.items()}
        )
        self.tool_places: Mapping[str, tuple[Path, int]] = MappingProxyType(
            {name: (path, line) for name, (_, path, line) in tools.items()}
        )
        self.sandboxes: Sequence[SandboxHook] | None = None
        self.sweep: Sweep | None = None
        self.reader = SpanReader()
        self._recording_reader = SpanReader()
        self._lock = threading.RLock()
        self._listed: dict[Path, tuple[CaseEntry, ...]] = {}
        self._by_id: dict[str, CaseEntry] = {}
        self._in_python: dict[str, tuple[CaseEntry, Case | None]] = {}
        #: The variants of a case, by its id.
        self._variants: dict[str, tuple[CaseEntry, ...]] = {}
        self._yaml: dict[Path, list[bytes]] = {}
        self._spans: dict[str, list[LineSpan]] | None = None
        self._fingerprint = ""
        #: The sequences that were checked and have no flaw.
        self._sound: set[str] = set()
        self._shared_paths = (self._manifest_path, *inventory.requirements)
        self._stamps = {path: _stamp(path) for path in (*self._shared_paths, *inventory.recordings)}
        name_secrets(self.manifest.redact)  # readers of a suite print and write what its tools and agents say

    def close(self) -> None:
        """Close the files kept open between cases; a later read opens them again."""
        self.reader.close()
        self._recording_reader.close()

    def manifest_place(self, key: str) -> tuple[Path, int]:
        """Return the manifest file and the line of a key, by reading the file again for an error message."""
        path = self._manifest_path
        return path, parse_yaml(read_bytes(path, limits.YAML_BYTES), shown_path(path))[0].lines.at([key])

    def files(self) -> tuple[Path, ...]:
        """Return the case files, sorted. The Python cases of the suite are not among them.

        Raises:
            SuiteError: when there is none, or when something in the folder must not be read.
        """
        self.refuse_odd_files()
        if not self.inventory.cases and not self._in_python:
            message = "the suite has no case files"
            raise SuiteError(Problem(shown_path(self.root), 0, message, "add a *.yaml or *.jsonl file with a case"))
        return self.inventory.cases

    def refuse_odd_files(self) -> None:
        """Raise SuiteError if the folder contains something that must not be read, such as a link out of the folder."""
        raise_for_problems(self.inventory.problems)

    def holds_cases(self, path: Path) -> bool:
        """Return whether a path is that of a case file of the suite, by its place and name."""
        return path.is_relative_to(self.root) and role_of(path.relative_to(self.root)) == "cases"

    def entries(self, path: Path) -> tuple[CaseEntry, ...]:
        """Return the cases of one file, in its order, each with its variants behind it.

        Cases in YAML are validated whole; canonical lines of JSONL are scanned only, and validated by ``load`` or where variants are made of them.

        Raises:
            SuiteError: with all problems of the file (up to a limit), among them ids that another case has.
        """
        path = Path(os.path.abspath(path))  # noqa: PTH100  resolve() would leave the place the user sees
        with self._lock:
            if path not in self._listed:
                if not self.holds_cases(path):
                    message = f"is not a case file of the suite {shown_path(self.root)}"
                    raise SuiteError(Problem(shown_path(path), 0, message))
                if (problem := refusal(self.root, path)) is not None:
                    raise SuiteError(problem)
                self._stamps[path] = _stamp(path)
                entries = self._list_yaml(path) if is_yaml(path) else list_jsonl(path, self.common)
                if not entries:
                    hint = "remove the file, or add a case: docs/reference/suites.md shows one"
                    raise SuiteError(Problem(shown_path(path), 0, "the file has no case", hint))
                self._register(entries)
                self._listed[path] = entries
            entries = self._listed[path]
            return entries if self.sweep is None else tuple(chain.from_iterable(map(self.with_variants, entries)))

    def with_variants(self, entry: CaseEntry) -> tuple[CaseEntry, ...]:
        """Return a case's entry, and those of its variants. A case that cannot be loaded has none: it says so itself. Raises SuiteError."""
        if self.sweep is None or entry.draft or entry.plain:
            return (entry,)
        if entry.id not in self._variants:
            variants: tuple[CaseEntry, ...] = ()
            with suppress(SuiteError):
                variants = tuple(variant.entry(entry) for variant in self.sweep(self.load(entry), self.tools))
            self._register(variants)
            self._variants[entry.id] = variants
        return entry, *self._variants[entry.id]

    def declare(self, document: LocatedDocument, path: Path) -> CaseEntry:
        """Add a case made by a Python function, given in the form of a YAML case, and return its entry.

        Raises:
            SuiteError: with all its problems, among them that another case has its id.
        """
        problems: list[Problem] = []
        read = self._checked(document, path, problems)
        if read is None or problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
        written, case = read
        entry = entry_of_yaml(case, path, written, 0)
        self.declare_listed(entry)
        self._in_python[entry.id] = entry, case
        return entry

    def declare_listed(self, entry: CaseEntry) -> None:
        """Add the entry of a Python case that another process holds. Raises SuiteError if another case has its id."""
        with self._lock:
            if self._in_python.get(entry.id, (None,))[0] != entry:
                self._register((entry,))
            self._in_python.setdefault(entry.id, (entry, None))
            self.__dict__.pop("sequences", None)

    @property
    def in_python(self) -> tuple[CaseEntry, ...]:
        """Return the entries of the Python cases added so far."""
        return tuple(entry for plain, _ in self._in_python.values() for entry in self.with_variants(plain))

    def withdraw(self, case_id: str) -> None:
        """Remove a Python case that its author has skipped."""
        self._in_python.pop(case_id, None)

    def listed(self, case_id: str) -> CaseEntry | None:
        """Return the entry with an id; None if there is none or its file has not been listed yet."""
        return self._by_id.get(case_id)

    @property
    def all_listed(self) -> bool:
        """Return whether the cases of all files have been listed; never true if a file cannot be read."""
        return len(self._listed) == len(self.inventory.cases)

    def readable(self) -> Iterator[CaseEntry]:
        """Yield the cases of all readable files, then the Python cases; collection reports the errors."""
        for path in self.inventory.cases:
            with suppress(SuiteError):
                yield from self.entries(path)
        yield from self.in_python

    def accepted(self) -> Iterator[CaseEntry]:
        """Yield all cases that count in runs: those that are not drafts."""
        return (entry for entry in self.readable() if not entry.draft)

    @property
    def size(self) -> int:
        """Return the number of cases that count in runs, without variants."""
        return sum(not entry.plain for entry in self.accepted())

    def miscounted(self) -> Problem | None:
        """Return the problem that the manifest states a wrong number of non-draft cases; None if the number is right."""
        number = self.size
        if self.manifest.cases in (None, number):
            return None
        path, line = self.manifest_place("cases")
        unread = [problem.path for problem in self.inventory.unread]
        hint = f"not read: {', '.join(unread[:3])}" if unread else "correct the number, or look for the file"
        return Problem(shown_path(path), line, f"cases: the manifest says {self.manifest.cases}, found {number}", hint)

    def unclustered(self) -> Problem | None:
        """Return the problem that no case has the manifest's attribute ``cluster``; None if a case has it, or none is named."""
        name, names = self.manifest.cluster, {name for entry in self.accepted() for name in entry.attributes}
        if name is None or name in names or not self.all_listed:
            return None
        path, line = self.manifest_place("cluster")
        hint = did_you_mean(name, names) or (f"there is {', '.join(sorted(names))}" if names else "cases have none")
        return Problem(shown_path(path), line, f"cluster: no case has the attribute {shown(name)}", hint)

    def earlier(self, case: Case) -> tuple[CaseEntry, ...]:
        """Return the tasks before a case in its sequence, in order; empty if the case is in no sequence."""
        sequence = () if case.group is None else self.sequences.get(case.group.name, ())
        return tuple(entry for entry in sequence if case.group is not None and _place(entry) < case.group.order)

    def histories_before(self, case: Case) -> tuple[History, ...]:
        """Return the interactions before each earlier task of the sequence (H_1, ...), and last those before the case itself.

        Raises:
            SuiteError: an earlier task cannot be read.
        """
        earlier = [self.dated(entry).visible.interactions for entry in self.earlier(case)]
        return (*earlier, case.visible.interactions)

    @cached_property
    def sequences(self) -> Mapping[str, tuple[CaseEntry, ...]]:
        """Return the cases of each sequence in order, by its name, from all readable files."""
        return MappingProxyType(sequences_of(self.readable()))

    def refuse_broken_sequences(self, entries: Iterable[CaseEntry] | None = None) -> None:
        """Check the sequences of some cases, or all sequences.

        Raises:
            SuiteError: a place is taken twice or missing, or dates go backwards.
        """
        names = self.sequences if entries is None else sequences_of(entries)
        unchecked = sorted(names.keys() - self._sound)
        problems = [
            placed(remark, entry.path, self.lines_of(entry))
            for name in unchecked
            for entry, remark in flaws_of(name, self.sequences[name], self)
        ]
        raise_for_problems(problems)
        self._sound.update(unchecked)

    def dated(self, entry: CaseEntry) -> Dated:
        """Return the dated parts of a case, without validating the rest. Raises SuiteError."""
        self._refuse_changed(entry.path)
        if (entry.plain or entry.id) in self._in_python:
            return Dated.model_validate(self.load(entry).model_dump(mode="json", by_alias=True))
        problems: list[Problem] = []
        document = self._document(entry, problems)
        dated = None if problems else validate(Dated, document, shown_path(entry.path), problems)
        if dated is None:
            raise SuiteError(*problems)
        return dated

    def load(self, entry: CaseEntry) -> Case:
        """Return the whole case, validated and checked against the manifest and the tools.

        Raises:
            SuiteError: with all problems of the case.
        """
        if entry.plain and self.sweep is not None:
            plain = self.load(self._by_id[entry.plain])
            return next(one.case(plain) for one in self.sweep(plain, self.tools) if one.id_of(plain.id) == entry.id)
        if (known := self._in_python.get(entry.id)) is not None and known[1] is not None:
            return known[1]
        self._refuse_changed(*self._shared_paths, entry.path)
        problems: list[Problem] = []
        document = self._document(entry, problems)
        case = None if problems else case_of(document, entry.path, problems)
        if case is None:
            raise SuiteError(*problems)
        if differs := header_differs(entry, case):  # another process listed it, of a file that has changed since
            found, listed = shown(getattr(case, differs)), shown(getattr(entry, differs))
            message = f"{differs}: found {found}, but the case was listed with {listed}"
            raise SuiteError(Problem(shown_path(entry.path), entry.line, message, "the file changed while it was used"))
        if entry.draft != bool(case.truth.proposals):
            message = f"it was listed as {'a draft' if entry.draft else 'no draft'}, and is another"
            raise SuiteError(Problem(shown_path(entry.path), entry.line, message, 'write the plain "draft": true'))
        if errors := list(self._errors_of(case)):
            lines = self.lines_of(entry)
            raise_for_problems([placed(remark, entry.path, lines) for remark in errors])
        return case

    def _errors_of(self, case: Case) -> Iterator[Remark]:
        """Yield the errors that prevent a case of this suite from loading."""
        added = self.sandboxes is not None
        return errors_of(case, self.manifest, self.tools, self.tables, all_checks_added=added)

    def recordings(self, case_id: str) -> tuple[Recording, ...]:
        """Return the case's recordings, in the order of files and lines.

        Raises:
            SuiteError: with the problems of these recordings.
        """
        return tuple([placed.recording for placed in self.placed_recordings(case_id)])

    def placed_recordings(self, case_id: str) -> tuple[PlacedRecording, ...]:
        """Return the recordings of a case, each with its file and line. Raises SuiteError."""
        entry = self._by_id.get(case_id)
        spans = self.recording_spans().get(case_id if entry is None else entry.plain or case_id, ())
        self._refuse_changed(*dict.fromkeys(span.path for span in spans))
        return tuple(read_recordings(spans, self._recording_reader))

    @cached_property
    def shapes(self) -> Mapping[str, Json]:
        """Return for each tool a made-up result with every field of its computed answers; None if it computes none.

        Every row is looked at for them, some thousands of a large table, so a lint of many cases makes them once.
        """
        from pytest_mapsat.sandbox import FileRows, shape_of  # noqa: PLC0415 (only where results are made up)

        rows = {
            name: [*islice(table.rows, _SHAPING if isinstance(table.rows, FileRows) else None)]
            for name, table in self.tables.items()
        }
        return {name: shape_of(tool, rows) for name, tool in self.tools.items()}

    def recording_spans(self) -> Mapping[str, list[LineSpan]]:
        """Return the places of each case's recordings, including cases that are not in the suite. Raises SuiteError."""
        with self._lock:
            if self._spans is None:
                self._refuse_changed(*self.inventory.recordings)
                self._spans = index_recordings(self.inventory.recordings)
            return self._spans

    def fingerprint(self) -> str:
        """Return a digest of the content of all files of the suite, 16 hex digits, independent of their place and order.

        It is computed once and kept, however the files change: a run asks for it when its cases are collected. A file that
        cannot be read counts as just that.
        """
        with self._lock:
            if not self._fingerprint:
                roles = ("requirements", "tools", "recordings", "state", "cases")
                files = {role: getattr(self.inventory, role) for role in roles}
                self._fingerprint = _joined({"manifest": (self._manifest_path,), **files})
            return self._fingerprint

    def digest_of(self, role: Literal["labels", "reviewed", "calibration"]) -> str:
        """Return a digest of files outside the fingerprint, by role: labels, reviewed labels or calibration; empty if there are none."""
        return _joined({role: getattr(self.inventory, role)})

    def lines_of(self, entry: CaseEntry) -> DocumentLines:
        """Return the lines of the parts of a case, by reading the file again for an error message."""
        if (entry.plain or entry.id) in self._in_python:
            return DocumentLines(entry.line)
        if not is_yaml(entry.path):
            return self._document(entry, []).lines
        documents = documents_of_yaml(entry.path)
        if entry.offset >= len(documents):
            return DocumentLines(entry.line)
        return self.common.spelt_out(documents[entry.offset], entry.path, []).lines

    def _refuse_changed(self, *paths: Path) -> None:
        """Raise SuiteError if a file has changed since it was listed."""
        for path in paths:
            before, now = self._stamps.get(path), _stamp(path)
            if before is not None and now != before:
                problem = Problem(shown_path(path), 0, "changed while the run used it", _change(before, now))
                raise SuiteError(problem)

    def _list_yaml(self, path: Path) -> tuple[CaseEntry, ...]:
        """Return the entries of the cases in a YAML file, all validated, and keep their data for ``load``. Raises SuiteError."""
        problems: list[Problem] = []
        entries: list[CaseEntry] = []
        kept: list[bytes] = []
        for index, written in enumerate(documents_of_yaml(path)):
            if (read := self._checked(written, path, problems)) is not None:
                document, case = read
                entries.append(entry_of_yaml(case, path, document, index))
                kept.append(json.dumps(document.data, ensure_ascii=False).encode())
        raise_for_problems(problems)
        # The text is parsed once; what is kept of it is small: JSON, from which load() makes the case.
        self._yaml[path] = kept
        return tuple(entries)

    def _checked(
        self, document: LocatedDocument, path: Path, problems: list[Problem]
    ) -> tuple[LocatedDocument, Case] | None:
        """Return a case as full data and as a Case; if it is invalid, add all problems to ``problems`` and return None."""
        written = self._spelt_out(document, path, problems)
        case = None if written is None else case_of(written, path, problems)
        if written is None or case is None:
            return None
        if not self.in_files:  # no manifest lists its domains
            known = {**dict.fromkeys(case.domains, ""), **self.manifest.domains}
            self.manifest = self.manifest.model_copy(update={"domains": known})
        problems += [placed(remark, path, written.lines) for remark in self._errors_of(case)]
        return written, case

    def _register(self, entries: tuple[CaseEntry, ...]) -> None:
        """Record the ids of some entries. Raises SuiteError, and records none, if an id is already taken."""
        mine: dict[str, CaseEntry] = {}
        problems = []
        for entry in entries:
            other = mine.get(entry.id) or self._by_id.get(entry.id)
            if other is not None:
                message = f"the id {shown(entry.id)} is taken: {shown_path(other.path)}:{other.line} has it"
                problems.append(Problem(shown_path(entry.path), entry.line, message, "ids are unique in a suite"))
            mine.setdefault(entry.id, entry)
        raise_for_problems(problems)
        self._by_id.update(mine)

    def _spelt_out(self, document: LocatedDocument, path: Path, problems: list[Problem]) -> LocatedDocument | None:
        """Return the data of a case with all defaults filled in; None after adding its problems."""
        if (problem := not_a_case(document, shown_path(path))) is not None:
            problems.append(problem)
            return None
        wrong = len(problems)
        document = self.common.spelt_out(document, path, problems)
        return document if len(problems) == wrong else None

    def _document(self, entry: CaseEntry, problems: list[Problem]) -> LocatedDocument:
        """Return the spelt-out data of a case; for a YAML case without the lines of its parts."""
        lines = DocumentLines(entry.line)
        offset, length = entry.offset, entry.length
        if not is_yaml(entry.path):
            raw = self.reader.read(entry.path, offset, length)
            written = LocatedDocument(parse_json_line(raw, shown_path(entry.path), entry.line), lines)
            return self._spelt_out(written, entry.path, problems) or written
        if entry.path not in self._yaml:
            self.entries(entry.path)
        return LocatedDocument(json.loads(self._yaml[entry.path][offset]), lines)


#: What tells that a file has changed: its size, bytes; the time of its last change; its inode.
_Stamp = tuple[int, int, int]


def _stamp(path: Path) -> _Stamp | None:
    """Return size, time and inode of a file, which reveal changes; None if the file cannot be accessed."""
    try:
        status = os.stat(path)  # noqa: PTH116  a Path's own method would cost more than the call
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _change(before: _Stamp, now: _Stamp | None) -> str:
    """Return a text that describes the change of a file."""
    if now is None:
        return "it is gone"
    return f"from {before[0]} to {now[0]} bytes" if now[0] != before[0] else "it was written again"


def placed(remark: Remark, path: Path, lines: DocumentLines) -> Problem:
    """Return a remark as a problem with its file and line."""
    message = f"{dotted(remark.place)}: {remark.message}"
    return lines.problem(shown_path(path), remark.place, message, remark.hint)


def _joined(files: Mapping[str, Sequence[Path]]) -> str:
    """Return a digest of the content of files by role, 16 hex digits; empty if there are no files."""
    parts = []
    for role, paths in files.items():
        for path in paths:
            try:
                parts.append(f"{role} {content_digest(path)}")
            except SuiteError:
                parts.append(f"{role} cannot be read")
    parts.sort()
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16] if parts else ""


# -- a user's tasks in their order -------------------------------------------------------------------------------------

#: What passed before a task since the one before it, by date.
History: TypeAlias = tuple[Interaction, ...]


class _Visible(Noun):
    model_config = ConfigDict(extra="ignore")

    context: Context = Context()
    interactions: History = ()


class Dated(Noun):
    """The dated parts of a case, read separately because each task of a long sequence is read for its dates many times."""

    model_config = ConfigDict(extra="ignore")

    visible: _Visible = _Visible()

    @property
    def now(self) -> str:
        """Return the time of the task; empty if the case has none."""
        return self.visible.context.now or ""


def sequences_of(entries: Iterable[CaseEntry]) -> dict[str, tuple[CaseEntry, ...]]:
    """Return the cases that belong to sequences, by the name of the sequence and in its order."""
    sequences: dict[str, list[CaseEntry]] = {}
    for entry in entries:
        if entry.group is not None:
            sequences.setdefault(entry.group.name, []).append(entry)
    return {name: tuple(sorted(cases, key=_place)) for name, cases in sequences.items()}


def _place(entry: CaseEntry) -> int:
    """Return the place of a case in its sequence; 0 if there is no sequence."""
    return 0 if entry.group is None else entry.group.order


def flaws_of(name: str, sequence: Iterable[CaseEntry], suite: Suite) -> Iterator[tuple[CaseEntry, Remark]]:
    """Yield the problems in the order and the dates of a sequence's tasks, each with its case.

    Args:
        name: the sequence.
        sequence: its cases in order.
        suite: theirs.

    Raises:
        SuiteError: a case cannot be read.
    """
    gap = "places count from 1 without a gap" + ("" if suite.all_listed else "; a file of the suite cannot be read")
    expected, before, last = 1, None, ""
    for entry in sequence:
        dated, place = suite.dated(entry), _place(entry)
        former = f"{before[0].id} ({shown_path(before[0].path)}:{before[0].line})" if before else ""
        if before and place == _place(before[0]):
            message = f"place {place} of the sequence {shown(name)} is taken: {former} has it"
            yield entry, Remark("error", "sequence", ("group", "order"), message, "each task has a place of its own")
        elif place != expected:
            message = f"found place {place} of the sequence {shown(name)}, expected {expected}: " + (
                f"the task before is {former}" if before else "it is the first"
            )
            yield entry, Remark("error", "sequence", ("group", "order"), message, gap)
        if before and before[1] and dated.now and is_before(dated.now, before[1]):
            message = f"found {dated.now}, before {before[1]} of {former}: that is the task before it"
            yield entry, Remark("error", "sequence", ("visible", "context", "now"), message)
        if last and dated.visible.interactions and is_before(first := dated.visible.interactions[0].date, last):
            message = f"found {first}, and a task before it has an interaction of {last}: later tasks go on from there"
            yield entry, Remark("error", "sequence", ("visible", "interactions", 0, "date"), message)
        expected, before = place + 1, (entry, dated.now)
        last = dated.visible.interactions[-1].date if dated.visible.interactions else last


# -- the files of a suite ----------------------------------------------------------------------------------------------

Role = Literal["manifest", "requirements", "tools", "recordings", "state", "cases", "labels", "calibration"]
MANIFEST = "suite.yaml"
LABELS = "labels"
#: Where a review keeps labels, in their folder: the first source of every judge. A run reads no other file of labels.
REVIEWED = "reviewed.jsonl"
#: Where a review keeps what people decided on proposals, in the same folder: it holds no labels.
PROPOSALS = "proposals.jsonl"
CALIBRATION = "calibration.json"
_HALVES = re.compile("[\ud800-\udfff]")  # how Python writes the bytes of a name that is not UTF-8
YAML_ENDINGS = (".yaml", ".yml")
JSONL_ENDINGS = (".jsonl", ".jsonl.gz")
#: What files of a name, in the suite's folder itself, and files of an ending, in one of these folders, are. All others are cases.
_FILES: dict[str, Role] = {
    "tools.yaml": "tools",
    "tools.yml": "tools",
    CALIBRATION: "calibration",
}
_FOLDERS: dict[str, tuple[Role, tuple[str, ...]]] = {
    "requirements": ("requirements", YAML_ENDINGS),
    "tools": ("tools", YAML_ENDINGS),
    "recordings": ("recordings", JSONL_ENDINGS),
    "state": ("state", JSONL_ENDINGS),
    LABELS: ("labels", JSONL_ENDINGS),
}
#: A folder that is kept for what authors of a suite need beside it: no file in it is part of the suite.
DATA = "data"
#: The folder in it with logs of what users did, as `mapsat build` writes and reads them ; they look like no cases.
_LOGS = "logs"
#: Readings for defects, which the data card shows.
_READINGS = "readings.yaml"
_ELSEWHERE: tuple[Role, tuple[str, ...]] = ("cases", YAML_ENDINGS + JSONL_ENDINGS)


def is_yaml(path: PurePath) -> bool:
    """Return whether a file name is that of a YAML file."""
    return path.name.endswith(YAML_ENDINGS)


def role_of(relative: PurePath) -> Role | None:
    """Return the role of a file at a path below the suite's folder; None if it is not part of the suite."""
    if any(part.startswith(".") for part in relative.parts):
        return None
    if len(relative.parts) > 1 and relative.parts[0] == DATA:
        return None
    if relative.name == MANIFEST:
        return "manifest" if len(relative.parts) == 1 else None
    if len(relative.parts) == 1 and relative.name in _FILES:
        return _FILES[relative.name]
    role, endings = _FOLDERS.get(relative.parts[0], _ELSEWHERE)
    if relative.parts == (LABELS, PROPOSALS):
        return None
    return role if relative.name.endswith(endings) else None


@dataclass(frozen=True)
class Inventory:
    """The files of a suite by role, each role sorted by path, and the problems of files that are not read.

    ``labels`` and ``calibration`` (none or one) say what a judge should make of answers: they are no part of what a run does.
    ``unread`` are files that look like cases but for their ending, each with what to do, and those in ``requirements/``, ``tools/``, ``recordings/``, ``state/`` or
    ``labels/`` that are nothing of the kind.
    """

    cases: tuple[Path, ...]
    tools: tuple[Path, ...]
    recordings: tuple[Path, ...]
    problems: tuple[Problem, ...]
    requirements: tuple[Path, ...] = ()
    state: tuple[Path, ...] = ()
    labels: tuple[Path, ...] = ()
    calibration: tuple[Path, ...] = ()
    unread: tuple[Problem, ...] = ()

    @property
    def reviewed(self) -> tuple[Path, ...]:
        """Return the file of labels from reviews, as a tuple of one; empty if there is none."""
        return tuple(path for path in self.labels if (path.parent.name, path.name) == (LABELS, REVIEWED))


_OF_NO_ROLE = (
    "is not read: tools are *.yaml or *.yml, recordings and tables *.jsonl or *.jsonl.gz, answers any of these"
)
#: Endings by which people and editors put a file aside.
_PUT_ASIDE = (".bak", ".orig", ".old", ".disabled", ".off", "~")


def take_inventory(root: Path) -> Inventory:
    """Return all files below ``root`` by role, sorted, with the problems of files that must not be read."""
    problems: list[Problem] = []
    by_role: dict[Role, list[Path]] = {role: [] for role in get_args(Role)}
    unread: list[Problem] = []
    aside: list[Path] = []
    for path in sorted(_below(root, problems), key=lambda path: path.relative_to(root).parts):
        relative = path.relative_to(root)
        role = role_of(relative)
        if relative.parts == (LABELS, PROPOSALS):
            continue
        if role is None:
            if relative.parts[0] == DATA:
                aside.append(path)
            elif relative.parts[0] in _FOLDERS and not path.name.startswith("."):
                unread.append(Problem(shown_path(path), 0, _OF_NO_ROLE))
            elif _looks_like_cases(path):
                message = f"looks like cases but is not read: expected the ending {', '.join(YAML_ENDINGS)}"
                unread.append(Problem(shown_path(path), 0, f"{message}, {' or '.join(JSONL_ENDINGS)}", "rename it"))
            continue
        problem = refusal(root, path)
        if problem is None:
            by_role[role].append(path)
        else:
            problems.append(problem)
    if count := sum(
        _looks_like_cases(path) for path in aside if path.relative_to(root).parts[1] not in (_LOGS, _READINGS)
    ):
        message = f"holds {count} files in YAML or JSONL, which are not read: the folder is kept for data"
        unread.append(Problem(shown_path(root / DATA), 0, message, "cases are in any other folder"))
    files = {role: tuple(paths) for role, paths in by_role.items() if role != "manifest"}
    return Inventory(problems=tuple(problems), unread=tuple(unread), **files)


def _looks_like_cases(path: Path) -> bool:
    """Return whether a file name resembles that of a case file, including a suffix such as ".bak"."""
    name = path.name.lower().removesuffix(".gz")
    name = next((name.removesuffix(ending) for ending in _PUT_ASIDE if name.endswith(ending)), name)
    return name.endswith((*YAML_ENDINGS, ".jsonl")) and not name.startswith(".")


def _below(root: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield the files below a folder, except those of nested suites; folders that cannot be listed are added to ``problems``."""

    def unreadable(error: OSError) -> None:
        """Add a problem for a folder that cannot be listed."""
        problems.append(Problem(shown_path(Path(error.filename)), 0, f"cannot list the folder: {error.strerror}"))

    for folder, names, files in os.walk(root, onerror=unreadable):
        here = Path(folder)
        names[:] = sorted(name for name in names if _is_entered(here / name, problems))
        yield from (here / name for name in files)


def _is_entered(folder: Path, problems: list[Problem]) -> bool:
    """Return whether a folder is searched for files; a symbolic link is added to ``problems`` and not entered."""
    if folder.name.startswith(".") or folder.name == "__pycache__":
        return False
    if folder.is_symlink():
        message = "this folder is a symbolic link, which a suite does not follow"
        problems.append(Problem(shown_path(folder), 0, message, "copy the folder into the suite"))
        return False
    return not (folder / MANIFEST).exists()  # a suite in a suite stands for itself


def refusal(root: Path, path: Path) -> Problem | None:
    """Return the problem why a file must not be read as part of the suite at ``root``; None if it may be read."""
    if _HALVES.search(str(path.relative_to(root))):  # its node id could not be sent to a worker
        return Problem(shown_path(path), 0, "has a name that is not UTF-8", "rename it")
    # Not resolve(), which raises RuntimeError at a loop of links.
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        message = "this leads out of the suite's folder"
        return Problem(shown_path(path), 0, message, "copy the file into the suite: links out of it are not followed")
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Problem(shown_path(path), 0, f"cannot be read: {error.strerror}")
    return None if stat.S_ISREG(mode) else Problem(shown_path(path), 0, "is not a regular file")


# -- labels of people ----------------------------------------------------------------------------------------------------


def read_answers(suite: Suite) -> tuple[PlacedNoun[PeopleLabels], ...]:
    """Return the human labels that contain the dialogue itself, in the order of files and lines.

    Raises:
        SuiteError: with the problems of all files, up to a limit: what is no labelled answer, and what does not fit its case.
    """
    problems: list[Problem] = []
    answers: list[PlacedNoun[PeopleLabels]] = []
    for path in suite.inventory.labels:
        in_file: tuple[PlacedNoun[PeopleLabels], ...] = ()
        try:
            in_file = read_nouns(path, PeopleLabels)
        except SuiteError as error:
            problems += error.problems
        for placed in in_file:
            if placed.noun.trial is not None:
                message = "a trial is of a run, and a suite has none"
                problems.append(placed.problem(["trial"], message, "mapsat review RUN --from takes such lines"))
            elif placed.noun.holds_dialogue:
                answers.append(placed)
    entries, load = _entries(suite) if answers else {}, cache(suite.load)
    first: dict[tuple[str, str], str] = {}
    for placed in answers:
        answer = placed.noun
        problems += _misfits(placed, entries, load)
        earlier = first.setdefault((answer.case, answer.id), placed.place)
        if earlier != placed.place:
            message = f"a second answer {shown(answer.id)} to the case {answer.case}: {earlier} has one"
            problems.append(placed.problem(["id"], message, "ids are unique among the answers to a case"))
    raise_for_problems(problems)
    return tuple(answers)


def is_labels(path: Path) -> bool:
    """Return whether a path holds human labels: a folder, or a JSONL file with labels in its first line."""
    if path.is_dir():
        return True
    try:
        first = next(read_lines(path, limits.DIALOGUE_BYTES), None)
        data = None if first is None else parse_json_line(first.data, "", first.number)
    except SuiteError:
        return False
    return isinstance(data, dict) and isinstance(data.get("labels"), dict)


def stale_labels(suite: Suite) -> Iterator[Problem]:
    """Yield the problems of reviewed labels that can no longer apply to any agent's reply. Raises SuiteError."""
    entries, load = _entries(suite) if suite.inventory.reviewed else {}, cache(suite.load)
    for path in suite.inventory.reviewed:
        for placed in read_nouns(path, PeopleLabels):
            if placed.noun.reply is not None:
                yield from _misfits(placed, entries, load)


def _entries(suite: Suite) -> dict[str, CaseEntry]:
    """Return the entries of all cases of a suite by id. Raises SuiteError."""
    return {entry.id: entry for path in suite.files() for entry in suite.entries(path)}


def _misfits(
    placed: PlacedNoun[PeopleLabels], entries: Mapping[str, CaseEntry], load: Callable[[CaseEntry], Case]
) -> Iterator[Problem]:
    """Yield the problems of labels that do not fit their case. Raises SuiteError if the case cannot be loaded."""
    labels = placed.noun
    if labels.case not in entries:
        if labels.case.rpartition("--")[0] in entries:
            return  # of a variant, which is there in a sweep alone
        message = f"the suite has no case {shown(labels.case)}"
        yield placed.problem(["case"], message, did_you_mean(labels.case, entries))
        return
    case = load(entries[labels.case])
    requirements = {requirement.id: requirement for requirement in case.truth.requirements}
    for name, mark in labels.labels.items():
        requirement = requirements.get(name)
        if requirement is None:
            message = f"the case {case.id} has no requirement {shown(name)}"
            yield placed.problem(["labels", name], message, did_you_mean(name, requirements))
        elif not fits(mark, requirement):
            message = f"found {mark:g}, expected passed or failed"
            yield placed.problem(["labels", name], message, "only a soft requirement has levels")
        elif not labels.holds_dialogue and labels.wording.get(name, "") not in ("", wording_digest(requirement)):
            message = (
                f"the words of the requirement {name} of the case {case.id} have changed: its label no longer counts"
            )
            yield placed.problem(["wording", name], message, "review the answer again, and remove this line")
    missing = [requirement.id for requirement in case.truth.required if requirement.id not in labels.labels]
    if missing and labels.holds_dialogue:
        message = f"there is no word on {', '.join(missing)}, which the case {case.id} has"
        hint = "give each requirement of kind asked, hard or fact passed or failed"
        yield placed.problem(["labels"], message, hint)
    if labels.text is not None and not case.truth.oracle:
        message = f"the case {case.id} has no oracle dialogue whose last reply this could be"
        yield placed.problem(["text"], message, "give turns, the whole dialogue")
