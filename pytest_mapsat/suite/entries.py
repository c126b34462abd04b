"""What is known of a case before it is loaded: enough to collect, mark and select it.

A line of a JSONL file that begins with the case's header, in the order in which ``mapsat import`` writes it, is only
scanned: 100,000 cases are listed without parsing one. Every other line is parsed whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from pytest_mapsat.formats import (
    Lines,
    Located,
    RawLine,
    limits,
    parse_json,
    parse_json_line,
    parse_yaml,
    read_bytes,
    read_lines,
    shown_path,
    validate,
)
from pytest_mapsat.model import CASE_ID_PATTERN, Case, Membership, Noun, Problem, SuiteError, shown

from .common import Common, WrittenCase

_NO_ATTRIBUTES: Mapping[str, str] = {}  # shared by most entries, and never written to
_Identifier = Annotated[str, StringConstraints(pattern=CASE_ID_PATTERN)]
_TRIAL = re.compile(r"-t\d+$")
#: The fields that an entry holds, in the order of a canonical line.
HEADER = ("id", "domains", "difficulty", "language", "attributes", "group")
_header_of = attrgetter(*HEADER)
_CANONICAL = re.compile(
    rb'(?:\xef\xbb\xbf)?\{"id": ?"([A-Za-z0-9_.-]{1,80})"'
    rb'(?:, ?"domains": ?(\[[A-Za-z0-9_.", -]*\]))?'
    rb'(?:, ?"difficulty": ?("[^"\\\x00-\x1f]*"))?'
    rb'(?:, ?"language": ?("[A-Za-z0-9-]*"))?'
    rb'(?:, ?"attributes": ?(\{[^{}\\\x00-\x1f]*\}))?'
    rb'(?:, ?"group": ?(\{"name": ?"[A-Za-z0-9_.-]{1,80}", ?"order": ?[0-9]{1,9}\}|null))?'
    rb', ?"(?:visible|truth)": ?\{'
)
_NAMES = tuple(f'"{name}"'.encode() for name in HEADER)


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
    """

    id: str
    path: Path
    line: int
    domains: tuple[str, ...] = ()
    difficulty: str = ""
    language: str = "en"
    attributes: Mapping[str, str] = field(default_factory=lambda: _NO_ATTRIBUTES, hash=False)
    group: Membership | None = None
    _offset: int = field(default=0, repr=False, compare=False)
    _length: int = field(default=0, repr=False, compare=False)


class _Header(Noun):
    """The header fields of a case, read for themselves."""

    model_config = ConfigDict(extra="ignore")

    id: _Identifier
    domains: tuple[_Identifier, ...] = ()
    difficulty: str = ""
    language: str
    attributes: dict[str, str] = Field(default_factory=dict)
    group: Membership | None = None


def header_differs(entry: CaseEntry, case: Case) -> str:
    """Return the name of the first header field in which the case is not what its entry said, or an empty string."""
    if _header_of(entry) == _header_of(case):
        return ""
    return next(name for name in HEADER if getattr(entry, name) != getattr(case, name))


def list_jsonl(path: Path, common: Common) -> tuple[CaseEntry, ...]:
    """Return the entries of a JSONL file.

    Args:
        path: the file, compressed or not.
        common: what the cases of the suite have in common.

    Raises:
        SuiteError: with the problems of all lines, up to a limit.
    """
    name = shown_path(path)
    problems: list[Problem] = []
    entries: list[CaseEntry] = []
    for line in read_lines(path, limits.CASE_BYTES):
        entry = _scan(path, line, common) or _parse(path, line, common, problems)
        if entry is None:
            pass  # _parse said why
        elif (problem := id_problem(entry.id, name, line.number)) is not None:
            problems.append(problem)
        else:
            entries.append(entry)
        if len(problems) >= limits.PROBLEMS:
            break
    if problems:
        raise SuiteError(*problems)
    return tuple(entries)


def id_problem(case_id: str, path: str, line: int) -> Problem | None:
    """Return why a case cannot have this id although its characters are fine, or None."""
    if not _TRIAL.search(case_id):
        return None
    message = f"id: {shown(case_id)} ends like the mark of a trial, -t and digits"
    return Problem(path, line, message, "choose another end: the run appends -t1, -t2, ... to the id of each trial")


def _scan(path: Path, line: RawLine, common: Common) -> CaseEntry | None:
    """Return the entry of a canonical line, or None for any other."""
    found = _CANONICAL.match(line.data)
    if found is None:
        return None
    groups = found.groups()
    if None in groups and _names_later(line.data, found.end(), groups):
        return None
    try:
        domains, difficulty, own_language, attributes = map(_value, groups[1:-1])
        group = _group(groups[-1])
    except ValueError:
        return None
    return CaseEntry(
        found[1].decode(),
        path,
        line.number,
        common.domains(path) if domains is None else domains,
        difficulty or "",
        common.manifest.language if own_language is None else own_language,
        attributes or _NO_ATTRIBUTES,
        group,
        line.offset,
        len(line.data),
    )


def _names_later(raw: bytes, start: int, groups: tuple[Any, ...]) -> bool:
    """Say whether a field that the header leaves out may still stand further on in the line."""
    return any(group is None and raw.find(name, start) >= 0 for name, group in zip(_NAMES, groups, strict=True))


@lru_cache(maxsize=4096)
def _value(raw: bytes | None) -> Any:
    """Return one header value; many cases share one. Raises ValueError for what only a full parse can explain."""
    if raw is None:
        return None
    value = parse_json(raw.decode())
    if isinstance(value, dict):
        _demand(isinstance(text, str) for text in value.values())
        return value
    if isinstance(value, list):
        _demand(isinstance(name, str) and re.fullmatch(CASE_ID_PATTERN, name) for name in value)
        return tuple(value)
    return value


@lru_cache(maxsize=4096)
def _group(raw: bytes | None) -> Membership | None:
    """Return the group of a header. Raises ValueError for what only a full parse can explain."""
    data = None if raw is None else parse_json(raw.decode())
    return None if data is None else Membership.model_validate(data)


def _demand(conditions: Iterable[object]) -> None:
    if not all(conditions):
        raise ValueError("not a header value")


def _parse(path: Path, line: RawLine, common: Common, problems: list[Problem]) -> CaseEntry | None:
    """Return the entry of any line, or None after adding its problems."""
    name = shown_path(path)
    try:
        document = Located(parse_json_line(line.data, name, line.number), Lines(line.number))
    except SuiteError as error:
        problems.extend(error.problems)
        return None
    if (problem := not_a_case(document, name)) is not None:
        problems.append(problem)
        return None
    header = validate(_Header, common.header(document, path), name, problems)
    return None if header is None else _entry_of(header, path, line.number, line.offset, len(line.data))


def _entry_of(header: _Header | Case, path: Path, line: int, offset: int = 0, length: int = 0) -> CaseEntry:
    attributes = header.attributes or _NO_ATTRIBUTES
    return CaseEntry(
        id=header.id,
        path=path,
        line=line,
        domains=header.domains,
        difficulty=header.difficulty,
        language=header.language,
        attributes=attributes,
        group=header.group,
        _offset=offset,
        _length=length,
    )


def not_a_case(document: Located, path: str) -> Problem | None:
    """Return the problem of a document that does not even look like a case, with where it may belong."""
    data, line = document.data, document.lines.line
    if isinstance(data, dict) and ({"visible", "truth"} & data.keys() or not data.keys() - set(Case.model_fields)):
        return None
    found = (
        f"a mapping with {', '.join(map(str, list(data)[:5])) or 'nothing'}" if isinstance(data, dict) else shown(data)
    )
    message = f"this is not a case: it has neither 'visible' nor 'truth', but is {found}"
    return Problem(path, line, message, _where_it_belongs(data))


def _where_it_belongs(data: Any) -> str:
    keys = set(data) if isinstance(data, dict) else set()
    if "parameters" in keys:
        return "a tool belongs in tools/ or tools.yaml"
    if {"tool", "result"} <= keys:
        return "recordings belong in recordings/*.jsonl"
    if {"case", "labels"} <= keys:
        return "labels of people belong in labels/*.jsonl"
    if "schema_version" in keys:
        return "the manifest is the file suite.yaml in the suite's folder"
    return "every YAML and JSONL file below a suite's folder holds cases, outside tools/, recordings/ and labels/"


def documents_of_yaml(path: Path) -> tuple[Located, ...]:
    """Return the elements of a YAML file: of its documents, or of the lists which they are. Raises SuiteError."""
    documents = parse_yaml(read_bytes(path, limits.YAML_BYTES), shown_path(path))
    return tuple(element for document in documents for element in _elements(document))


def _elements(document: Located) -> Iterator[Located]:
    if isinstance(document.data, list):
        yield from (Located(item, document.lines.children[index]) for index, item in enumerate(document.data))
    elif document.data is not None:
        yield document


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
    return _entry_of(case, path, document.lines.line, offset=index)
