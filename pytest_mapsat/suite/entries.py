"""What is known of a case before it is loaded: enough to collect, mark and select it.

A line of a JSONL file that begins with the case's header, in the order in which ``mapsat import`` writes it, is only
scanned: 100,000 cases are listed without parsing one. Every other line is parsed whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter

from pytest_mapsat.formats import (
    Located,
    RawLine,
    document_of,
    limits,
    parse_yaml,
    read_bytes,
    read_lines,
    shown_path,
    validate,
)
from pytest_mapsat.model import CASE_ID_PATTERN, Case, Membership, Noun, Problem, SuiteError, shown, types_of

from .common import Common, WrittenCase

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
