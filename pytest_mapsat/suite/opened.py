"""A suite on disk, opened: its manifest, tools and tables at once, its cases and recordings when they are asked for."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import islice
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter

from pytest_mapsat.formats import (
    Lines,
    Located,
    RawLine,
    content_digest,
    document_of,
    dotted,
    limits,
    parse_json_line,
    parse_yaml,
    read_bytes,
    read_calibration,
    read_lines,
    shown_path,
    validate,
)
from pytest_mapsat.model import (
    CASE_ID_PATTERN,
    Calibration,
    Case,
    Json,
    Membership,
    Noun,
    Overlay,
    Problem,
    Recording,
    SuiteError,
    SuiteManifest,
    Tool,
    shown,
    types_of,
)
from pytest_mapsat.reading import Vocabulary
from pytest_mapsat.sandbox import SandboxHook, Table
from pytest_mapsat.secrets import name_secrets

from .common import Common, WrittenCase, read_common, read_manifest
from .crosscheck import Remark, errors_of
from .inventory import MANIFEST, is_yaml, refusal, role_of, take_inventory
from .people_labels import Dated, History, earlier_in, flaws_of, sequences_of
from .tables import OVERLAYS, PlacedRecording, Span, SpanReader, index_recordings, read_recordings, read_state
from .tools import answer_problems, ranked_tables, read_tools

#: So many rows of a table that stays in its files show which columns there are.
_SHAPING = 5000


def find_suite(path: Path) -> Path | None:
    """Return the nearest folder at or above ``path`` that holds a ``suite.yaml``, or None."""
    start = Path(os.path.abspath(path))  # noqa: PTH100  resolve() would leave the place the user sees
    return next((folder for folder in (start, *start.parents) if (folder / MANIFEST).is_file()), None)


def open_suite(root: Path) -> Suite:
    """Open the suite in the folder ``root``: the manifest, the tools and the tables are read and validated.

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


class Suite:
    """A folder of cases, tools, tables and recordings. Safe to be used from several threads.

    A case is what its files were when they were first listed: one that has changed since, or has gone, is an error of each
    case that needs it.

    Attributes:
        root: the folder, absolute.
        manifest: what suite.yaml says.
        common: what its cases have in common.
        tools: the tools by name, sorted.
        tables: the rows that every case starts from, by table, sorted.
        vocabulary: the words of its domain, for the reading of replies.
        calibration: its own table of which failures that rest on reading stand; None where it has none.
        sandboxes: what looks for sandboxes of its cases in Python; None: installed packages alone. The opener sets it, once it has loaded what is added in Python.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.inventory = inventory = take_inventory(root)
        tools = read_tools(inventory.tools)
        self.state = read_state(inventory.state, ranked_tables(tools))
        if problems := [*answer_problems(tools, self.state)]:
            raise SuiteError(*problems[: limits.PROBLEMS])
        tables = [read_calibration(path) for path in inventory.calibration]
        self.calibration: Calibration | None = tables[0] if tables else None
        self._manifest_path = root / MANIFEST
        self.common = read_common(
            root, self._manifest_path, *read_manifest(self._manifest_path), inventory.requirements
        )
        self.manifest: SuiteManifest = self.common.manifest
        self.vocabulary = Vocabulary(self.manifest.vocabulary, self.manifest.currency)
        strict = {"strict": True} if self.manifest.arguments == "strict" else {}
        self.tools: Mapping[str, Tool] = MappingProxyType(
            {name: tool.model_copy(update=strict) if strict else tool for name, (tool, _, _) in tools.items()}
        )
        self.tool_places: Mapping[str, tuple[Path, int]] = MappingProxyType(
            {name: (path, line) for name, (_, path, line) in tools.items()}
        )
        self.tables: Mapping[str, Table] = MappingProxyType(dict(self.state.tables))
        self.sandboxes: Sequence[SandboxHook] | None = None
        self.reader = SpanReader()
        self._recording_reader = SpanReader()
        self._lock = threading.RLock()
        self._listed: dict[Path, tuple[CaseEntry, ...]] = {}
        self._by_id: dict[str, CaseEntry] = {}
        self._yaml: dict[Path, list[bytes]] = {}
        self._spans: dict[str, list[Span]] | None = None
        self._fingerprint = ""
        #: The sequences that were checked and have no flaw.
        self._sound: set[str] = set()
        self._shared_paths = (self._manifest_path, *inventory.requirements)
        self._overlay_paths = tuple(path for path in inventory.state if path.name.partition(".")[0] == OVERLAYS)
        read_again = (*self._shared_paths, *inventory.recordings, *self._overlay_paths)
        self._stamps = {path: _stamp(path) for path in read_again}
        name_secrets(self.manifest.redact)  # readers of a suite print and write what its tools and agents say

    def manifest_place(self, key: str) -> tuple[Path, int]:
        """Return the manifest and the line that a key stands on. The file is read again: this is for error messages."""
        path = self._manifest_path
        return path, parse_yaml(read_bytes(path, limits.YAML_BYTES), shown_path(path))[0].lines.at([key])

    def files(self) -> tuple[Path, ...]:
        """Return the case files, sorted.

        Raises:
            SuiteError: when there is none, or when something in the folder must not be read.
        """
        self.refuse_odd_files()
        if not self.inventory.cases:
            message = "the suite has no case files"
            raise SuiteError(Problem(shown_path(self.root), 0, message, "add a *.yaml or *.jsonl file with a case"))
        return self.inventory.cases

    def refuse_odd_files(self) -> None:
        """Raise SuiteError where something in the folder must not be read, such as a link that leads out of it."""
        if self.inventory.problems:
            raise SuiteError(*self.inventory.problems[: limits.PROBLEMS])

    def holds_cases(self, path: Path) -> bool:
        """Say whether a file is one of the suite's case files, by its place and name."""
        return path.is_relative_to(self.root) and role_of(path.relative_to(self.root)) == "cases"

    def entries(self, path: Path) -> tuple[CaseEntry, ...]:
        """Return the cases of one file, in its order.

        Cases in YAML are validated whole; canonical lines of JSONL are scanned only, and validated by ``load``.

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
            return self._listed[path]

    def listed(self, case_id: str) -> CaseEntry | None:
        """Return the case of an id, where its file has been listed."""
        return self._by_id.get(case_id)

    @property
    def all_listed(self) -> bool:
        """Whether the cases of all files were listed: a file that cannot be read never is."""
        return len(self._listed) == len(self.inventory.cases)

    def readable(self) -> Iterator[CaseEntry]:
        """Yield the cases of all files; of one that cannot be read, which is told where it is collected, none."""
        for path in self.inventory.cases:
            with suppress(SuiteError):
                yield from self.entries(path)

    def accepted(self) -> Iterator[CaseEntry]:
        """Yield the cases of all files that runs count: those that are no drafts."""
        return (entry for entry in self.readable() if not entry.draft)

    def miscounted(self) -> Problem | None:
        """Return that the suite has another number of cases, drafts apart, than its manifest says; None where it has as many, or the manifest says none."""
        number = sum(1 for _ in self.accepted())
        if self.manifest.cases in (None, number):
            return None
        path, line = self.manifest_place("cases")
        unread = [problem.path for problem in self.inventory.unread]
        hint = f"not read: {', '.join(unread[:3])}" if unread else "mend the number, or look for the file"
        return Problem(shown_path(path), line, f"cases: the manifest says {self.manifest.cases}, found {number}", hint)

    def earlier(self, case: Case) -> tuple[CaseEntry, ...]:
        """Return the tasks that stand before a case in its sequence, in order; none for a case that stands alone."""
        return () if case.group is None else earlier_in(self.sequences, case.group.name, case.group.order)

    def histories_before(self, case: Case) -> tuple[History, ...]:
        """Return what passed before a case and before each earlier task of its sequence (H_1, ..., H_i), the case's own last.

        Raises:
            SuiteError: an earlier task cannot be read.
        """
        earlier = [self.dated(entry).visible.interactions for entry in self.earlier(case)]
        return (*earlier, case.visible.interactions)

    @cached_property
    def sequences(self) -> Mapping[str, tuple[CaseEntry, ...]]:
        """The sequences of all files that can be read: the cases of each in order, by its name."""
        return MappingProxyType(sequences_of(self.readable()))

    def refuse_broken_sequences(self, entries: Iterable[CaseEntry] | None = None) -> None:
        """Check the sequences that some cases stand in, or all.

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
        if problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
        self._sound.update(unchecked)

    def dated(self, entry: CaseEntry) -> Dated:
        """Return what of a case has a date, without validating the rest of it. Raises SuiteError."""
        self._refuse_changed(entry.path)
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
        self._refuse_changed(*self._shared_paths, entry.path)
        problems: list[Problem] = []
        document = self._document(entry, problems)
        case = None if problems else case_of(document, entry.path, problems)
        if case is None:
            raise SuiteError(*problems)
        if differs := header_differs(entry, case):
            found, listed = shown(getattr(case, differs)), shown(getattr(entry, differs))
            message = f"{differs}: found {found}, but the case was listed with {listed}"
            raise SuiteError(Problem(shown_path(entry.path), entry.line, message, "the file changed while it was used"))
        if entry.draft != bool(case.truth.proposals):
            message = f"it was listed as {'a draft' if entry.draft else 'no draft'}, and is another"
            raise SuiteError(Problem(shown_path(entry.path), entry.line, message, 'write the plain "draft": true'))
        if errors := list(self._errors_of(case)):
            lines = self.lines_of(entry)
            raise SuiteError(*(placed(remark, entry.path, lines) for remark in errors[: limits.PROBLEMS]))
        return case

    def _errors_of(self, case: Case) -> Iterator[Remark]:
        overlays = self.overlays(case.id) if case.world.rows else ()
        return errors_of(
            case,
            self.manifest,
            self.tools,
            self.tables,
            overlays=overlays,
            all_checks_added=self.sandboxes is not None,
        )

    def recordings(self, case_id: str) -> tuple[Recording, ...]:
        """Return the case's recordings, in the order of files and lines.

        Raises:
            SuiteError: with the problems of these recordings.
        """
        return tuple([placed.recording for placed in self.placed_recordings(case_id)])

    def placed_recordings(self, case_id: str) -> tuple[PlacedRecording, ...]:
        """Return the case's recordings with their places. Raises SuiteError."""
        spans = self.recording_spans().get(case_id, ())
        self._refuse_changed(*dict.fromkeys(span.path for span in spans))
        return tuple(read_recordings(spans, self._recording_reader))

    def overlays(self, name: str) -> tuple[Overlay, ...]:
        """Return the lines that are laid over the tables for a case, first to last; none for a case that has none. Raises SuiteError."""
        self._refuse_changed(*self._overlay_paths)
        return self.state.laid_on(name)

    def shape(self, tool: str) -> Json:
        """Return a made-up result with every field that a computed answer of the tool may have, None where it computes none."""
        return self._shapes[tool]

    @cached_property
    def _shapes(self) -> Mapping[str, Json]:
        """The made-up results by tool. Every row is looked at for them, some thousands of a large table, so a lint of many cases makes them once."""
        from pytest_mapsat.sandbox import FileRows, shape_of  # noqa: PLC0415 (only where results are made up)

        rows = {
            name: [
                row for row, _ in islice(self.state.rows(name), _SHAPING if isinstance(table.rows, FileRows) else None)
            ]
            for name, table in self.tables.items()
        }
        return {name: shape_of(tool, rows) for name, tool in self.tools.items()}

    def recording_spans(self) -> Mapping[str, list[Span]]:
        """Return where the recordings of each case stand, cases of which the suite has none included. Raises SuiteError."""
        with self._lock:
            if self._spans is None:
                self._refuse_changed(*self.inventory.recordings)
                self._spans = index_recordings(self.inventory.recordings)
            return self._spans

    def fingerprint(self) -> str:
        """Return a digest of the content of all files, 16 hex digits: wherever they lie, in whatever order.

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
        """Return a digest of files that are no part of the fingerprint, empty where there are none: labels of people, those that come before every judge, the suite's own calibration table."""
        return _joined({role: getattr(self.inventory, role)})

    def lines_of(self, entry: CaseEntry) -> Lines:
        """Return the lines of a case's parts. The file is read again: this is for error messages."""
        if not is_yaml(entry.path):
            return self._document(entry, []).lines
        documents = documents_of_yaml(entry.path)
        if entry.offset >= len(documents):
            return Lines(entry.line)
        return self.common.spelt_out(documents[entry.offset], entry.path, []).lines

    def _refuse_changed(self, *paths: Path) -> None:
        """Raise SuiteError where files are no longer what they were when they were listed."""
        for path in paths:
            before, now = self._stamps.get(path), _stamp(path)
            if before is not None and now != before:
                problem = Problem(shown_path(path), 0, "changed while the run used it", _change(before, now))
                raise SuiteError(problem)

    def _list_yaml(self, path: Path) -> tuple[CaseEntry, ...]:
        problems: list[Problem] = []
        entries: list[CaseEntry] = []
        kept: list[bytes] = []
        for index, written in enumerate(documents_of_yaml(path)):
            document = self._spelt_out(written, path, problems)
            case = None if document is None else case_of(document, path, problems)
            if document is None or case is None:
                continue
            errors = self._errors_of(case)
            problems.extend(placed(remark, path, document.lines) for remark in errors)
            entries.append(entry_of_yaml(case, path, document, index))
            kept.append(json.dumps(document.data, ensure_ascii=False).encode())
        if problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
        # The text is parsed once; what is kept of it is small: JSON, from which load() makes the case.
        self._yaml[path] = kept
        return tuple(entries)

    def _register(self, entries: tuple[CaseEntry, ...]) -> None:
        """Remember the ids, or refuse all entries when one of them is taken, with both places."""
        mine: dict[str, CaseEntry] = {}
        problems = []
        for entry in entries:
            other = mine.get(entry.id) or self._by_id.get(entry.id)
            if other is not None:
                message = f"the id {shown(entry.id)} is taken: {shown_path(other.path)}:{other.line} has it"
                problems.append(Problem(shown_path(entry.path), entry.line, message, "ids are unique in a suite"))
            mine.setdefault(entry.id, entry)
        if problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
        self._by_id.update(mine)

    def _spelt_out(self, document: Located, path: Path, problems: list[Problem]) -> Located | None:
        """Return a case's data as if it had been written in full, or None after adding its problems."""
        if (problem := not_a_case(document, shown_path(path))) is not None:
            problems.append(problem)
            return None
        wrong = len(problems)
        document = self.common.spelt_out(document, path, problems)
        return document if len(problems) == wrong else None

    def _document(self, entry: CaseEntry, problems: list[Problem]) -> Located:
        """Return a case's data, spelt out; of one in YAML without the lines of its parts."""
        lines = Lines(entry.line)
        offset, length = entry.offset, entry.length
        if not is_yaml(entry.path):
            raw = self.reader.read(entry.path, offset, length)
            written = Located(parse_json_line(raw, shown_path(entry.path), entry.line), lines)
            return self._spelt_out(written, entry.path, problems) or written
        if entry.path not in self._yaml:
            self.entries(entry.path)
        return Located(json.loads(self._yaml[entry.path][offset]), lines)


#: What tells that a file has changed: its size, bytes; the time of its last change; its inode.
_Stamp = tuple[int, int, int]


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116  a Path's own method would cost more than the call
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _change(before: _Stamp, now: _Stamp | None) -> str:
    if now is None:
        return "it is gone"
    return f"from {before[0]} to {now[0]} bytes" if now[0] != before[0] else "it was written again"


def placed(remark: Remark, path: Path, lines: Lines) -> Problem:
    """Return a remark as a problem in its file."""
    message = f"{dotted(remark.place)}: {remark.message}"
    return lines.problem(shown_path(path), remark.place, message, remark.hint)


def _joined(files: Mapping[str, Sequence[Path]]) -> str:
    """Return a digest of the content of some files by role, 16 hex digits; empty where there are none."""
    parts = []
    for role, paths in files.items():
        for path in paths:
            try:
                parts.append(f"{role} {content_digest(path)}")
            except SuiteError:
                parts.append(f"{role} cannot be read")
    parts.sort()
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16] if parts else ""


# -- the cases of a file, before they are read in full -----------------------------------------------------------------

_NO_ATTRIBUTES: Mapping[str, str] = {}  # shared by most entries, and never written to
_Identifier = Annotated[str, StringConstraints(pattern=CASE_ID_PATTERN)]
_TRIAL = re.compile(r"-t\d+$")
#: The fields that an entry holds, in the order in which they are written.
HEADER = ("id", "domains", "difficulty", "language", "attributes", "group")
_header_of = attrgetter(*HEADER)
_QUOTED = tuple(f'"{name}"'.encode() for name in HEADER)
_CANONICAL = re.compile(
    rb'(?:\xef\xbb\xbf)?\{"id": ?"(?P<id>[A-Za-z0-9_.-]{1,80})"'
    rb'(?:, ?"domains": ?(?P<domains>\[[A-Za-z0-9_.", -]*\]))?'
    rb'(?:, ?"difficulty": ?(?P<difficulty>"[^"\\\x00-\x1f]*"))?'
    rb'(?:, ?"language": ?(?P<language>"[A-Za-z0-9-]*"))?'
    rb'(?:, ?"attributes": ?(?P<attributes>\{[^{}\\\x00-\x1f]*\}))?'
    rb'(?:, ?"group": ?(?P<group>\{"name": ?"[A-Za-z0-9_.-]{1,80}", ?"order": ?[0-9]{1,9}\}|null))?'
    rb', ?"(?:visible|truth)": ?\{'
)


@dataclass(frozen=True, slots=True)
class CaseEntry:
    """A case of a suite, not loaded yet.

    Attributes:
        id: the case's id.
        path: its file.
        line: 1-based, where it begins.
        domains: its domains.
        difficulty: its difficulty, as the suite words it.
        language: BCP 47.
        attributes: further grouping.
        group: the sequence of cases that it stands in; None where it stands alone.
        draft: whether any of it is a proposal that no person has accepted yet: no run counts it.
        offset: its first byte in a JSONL file; of a case in YAML, how many stand before it.
        length: its bytes in a JSONL file.
    """

    id: str
    path: Path
    line: int
    domains: tuple[str, ...] = ()
    difficulty: str = ""
    language: str = "en"
    attributes: Mapping[str, str] = field(default_factory=lambda: _NO_ATTRIBUTES, hash=False)
    group: Membership | None = None
    draft: bool = False
    offset: int = field(default=0, repr=False, compare=False)
    length: int = field(default=0, repr=False, compare=False)


class _Header(Noun):
    """The header fields of a case, read for themselves."""

    model_config = ConfigDict(extra="ignore")

    id: _Identifier
    domains: tuple[_Identifier, ...] = ()
    difficulty: str = ""
    language: str = ""
    attributes: dict[str, str] = Field(default_factory=dict)
    group: Membership | None = None


def header_differs(entry: CaseEntry, case: Case) -> str:
    """Return the name of the first header field in which the case is not what its entry said, or an empty string."""
    if _header_of(entry) == _header_of(case):
        return ""
    return next(name for name in HEADER if getattr(entry, name) != getattr(case, name))


def list_jsonl(path: Path, common: Common) -> tuple[CaseEntry, ...]:
    """Return the entries of a JSONL file. Raises SuiteError."""
    name = shown_path(path)
    problems: list[Problem] = []
    entries: list[CaseEntry] = []
    for line in read_lines(path, limits.CASE_BYTES):
        header = _scanned(line.data) or _parsed(line, name, problems)
        if header is not None:
            case_id, domains, difficulty, language, attributes, group = header
            if (problem := id_problem(case_id, name, line.number)) is not None:
                problems.append(problem)
            entry = CaseEntry(
                case_id,
                path,
                line.number,
                common.domains(path) if domains is None else domains,
                difficulty or "",
                common.manifest.language if language is None else language,
                attributes or _NO_ATTRIBUTES,
                group,
                _holds_proposals(line.data),
                line.offset,
                len(line.data),
            )
            entries.append(entry)
        if len(problems) >= limits.PROBLEMS:
            break
    if problems:
        raise SuiteError(*problems)
    return tuple(entries)


def _holds_proposals(raw: bytes) -> bool:
    """Return whether a line of JSONL that is a case has a proposal in its truth. Only a line with the word is parsed."""
    if b'"draft"' not in raw:
        return False
    try:
        truth = json.loads(raw)["truth"]
        user = truth.get("user", {})
        parts = [*truth.get("requirements", ()), *(user if isinstance(user, list) else user.get("answers", ()))]
        return any(part.get("draft") is True for part in parts)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False  # loading tells what is wrong


def id_problem(case_id: str, path: str, line: int) -> Problem | None:
    """Return why a case cannot have this id although its characters are fine, or None."""
    if not _TRIAL.search(case_id):
        return None
    message = f"id: {shown(case_id)} ends like the mark of a trial, -t and digits"
    return Problem(path, line, message, "choose another end: the run appends -t1, -t2, ... to the id of each trial")


def _scanned(raw: bytes) -> tuple[Any, ...] | None:
    """Return the header fields of a canonical line, None for those left out; None for any other line, and for what only a full parse can explain."""
    match = _CANONICAL.match(raw)
    if match is None:
        return None
    case_id, domains, difficulty, language, attributes, group = groups = match.groups()
    if None in groups and any(
        # It may still stand further on in the line.
        value is None and raw.find(name, match.end()) >= 0
        for name, value in zip(_QUOTED, groups, strict=True)
    ):
        return None
    try:
        return (
            case_id.decode(),
            _value("domains", domains),
            _value("difficulty", difficulty),
            _value("language", language),
            _value("attributes", attributes),
            _value("group", group),
        )
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _value(name: str, raw: bytes | None) -> Any:
    """Return the value of a header field; many cases share one. Raises ValueError."""
    return None if raw is None else _reader(name)(raw)


@cache
def _reader(name: str) -> Callable[[bytes], Any]:
    return TypeAdapter(types_of(_Header)[name]).validate_json


def _parsed(line: RawLine, path: str, problems: list[Problem]) -> tuple[Any, ...] | None:
    """Return the header fields of any line, None for those left out; None after adding its problems."""
    document = document_of(line.data, path, line.number, problems)
    if document is None:
        return None
    if (problem := not_a_case(document, path)) is not None:
        problems.append(problem)
        return None
    header = validate(_Header, document, path, problems)
    if header is None:
        return None
    return tuple(getattr(header, name) if name in header.model_fields_set else None for name in HEADER)


def not_a_case(document: Located, path: str) -> Problem | None:
    """Return the problem of a document that does not even look like a case, with where it may belong."""
    data, line = document.data, document.lines.line
    if isinstance(data, dict) and ({"visible", "truth"} & data.keys() or not data.keys() - set(Case.model_fields)):
        return None
    keys = set(data) if isinstance(data, dict) else set()
    what = f"a mapping with {', '.join(map(str, [*data][:5])) or 'nothing'}" if isinstance(data, dict) else shown(data)
    message = f"this is not a case: it has neither 'visible' nor 'truth', but is {what}"
    hint = next((hint for some, hint in _BELONG if some <= keys), _ELSEWHERE)
    return Problem(path, line, message, hint)


#: Keys that tell what else a document is -> where it belongs.
_BELONG = (
    ({"parameters"}, "a tool belongs in tools/ or tools.yaml"),
    ({"tool", "result"}, "recordings belong in recordings/*.jsonl"),
    ({"case", "labels"}, "labels of people belong in labels/*.jsonl"),
    ({"schema_version"}, "the manifest is the file suite.yaml in the suite's folder"),
)
_ELSEWHERE = "every YAML and JSONL file below a suite's folder holds cases, outside tools/, recordings/ and labels/"


def documents_of_yaml(path: Path) -> tuple[Located, ...]:
    """Return the elements of a YAML file: of its documents, or of the lists which they are. Raises SuiteError."""
    elements: list[Located] = []
    for document in parse_yaml(read_bytes(path, limits.YAML_BYTES), shown_path(path)):
        if isinstance(document.data, list):
            elements += map(Located, document.data, document.lines.children.values())
        elif document.data is not None:
            elements.append(document)
    return tuple(elements)


def case_of(document: Located, path: Path, problems: list[Problem]) -> Case | None:
    """Return the case that a document, spelt out, is, or None after adding its problems."""
    name = shown_path(path)
    case = validate(Case, document, name, problems, written=WrittenCase)
    if case is not None and (problem := id_problem(case.id, name, document.lines.at(["id"]))) is not None:
        problems.append(problem)
        return None
    return case


def entry_of_yaml(case: Case, path: Path, document: Located, index: int) -> CaseEntry:
    """Return the entry of a case from a YAML file; ``index`` counts the cases of the file."""
    header = {name: getattr(case, name) for name in HEADER}
    draft = bool(case.truth.proposals)
    return CaseEntry(path=path, line=document.lines.line, draft=draft, offset=index, **header)
