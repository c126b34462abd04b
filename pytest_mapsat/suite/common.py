"""The common parts of a suite's cases, written once: defaults in the manifest, and requirements that cases take with ``use``.

A case is spelt out where it is read, so that everything behind sees it as if it had been written in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter

from pytest_mapsat.formats import (
    DocumentLines,
    LocatedDocument,
    PlacedNoun,
    RawLine,
    document_of,
    limits,
    parse_yaml,
    raise_for_problems,
    read_bytes,
    read_lines,
    shown_path,
    validate,
)
from pytest_mapsat.model import (
    CASE_ID_PATTERN,
    SCALARS,
    SUITE_SCHEMA,
    Case,
    CommonRequirement,
    Json,
    JsonObject,
    Membership,
    Noun,
    Problem,
    ScriptedAnswer,
    SuiteError,
    SuiteManifest,
    Truth,
    UserScript,
    did_you_mean,
    shown,
    types_of,
)
from pytest_mapsat.reading import vocabulary_problem

_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*")


class WrittenTruth(Truth):
    """The truth of a case in its written form.

    Attributes:
        use: ids of common requirements of the suite that the case adds to its own. Example: ``["asks-first"]``
    """

    use: tuple[str, ...] = ()
    user: UserScript | tuple[ScriptedAnswer, ...] = UserScript()  # type: ignore[assignment]


class WrittenCase(Case):
    """A case in its written form.

    Attributes:
        vars: values for ``{{name}}`` in the common requirements that the case uses. Example: ``{"dish": "noodle soup"}``
    """

    model_config = ConfigDict(title="Case")

    vars: JsonObject = Field(default_factory=dict)
    truth: WrittenTruth


def read_manifest(path: Path) -> tuple[SuiteManifest, LocatedDocument]:
    """Read ``suite.yaml`` and return the manifest, and its data with lines. Raises SuiteError."""
    name = shown_path(path)
    documents = parse_yaml(read_bytes(path, limits.YAML_BYTES), name)
    if len(documents) != 1 or not isinstance(documents[0].data, dict):
        message = "the manifest is one mapping of name, version, license, schema_version, coordinates, ..."
        raise SuiteError(Problem(name, 0, message))
    (document,) = documents
    version = document.data.get("schema_version")
    if isinstance(version, int) and version != SUITE_SCHEMA:  # validation says what is wrong with anything else
        message = f"schema_version: {version} is older than {SUITE_SCHEMA}, which this version reads"
        hint = "migrate the suite first: docs/reference/suites.md says how"
        if version > SUITE_SCHEMA:
            message = f"schema_version: {version} was made by a newer version; this one reads {SUITE_SCHEMA}"
            hint = "upgrade pytest-mapsat"
        raise SuiteError(Problem(name, document.lines.at(["schema_version"]), message, hint))
    problems: list[Problem] = []
    manifest = validate(SuiteManifest, document, name, problems)
    for group in manifest.vocabulary if manifest is not None else ():
        if (wrong := vocabulary_problem(group)) is not None:
            message, hint = wrong
            problems.append(document.lines.problem(name, ("vocabulary", group), f"vocabulary: {message}", hint))
    if manifest is None or problems:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return manifest, document


@dataclass(frozen=True)
class _Requirement(PlacedNoun[CommonRequirement]):
    """A common requirement, with its data as written."""

    data: JsonObject


@dataclass(frozen=True)
class Common:
    """The manifest of a suite, and its common requirements by id.

    Attributes:
        manifest: what suite.yaml says.
        root: the suite's folder.
        requirements: those of suite.yaml and of the files in ``requirements/``.
        taken: the ids of those that the cases read so far take.
    """

    manifest: SuiteManifest
    root: Path
    requirements: Mapping[str, _Requirement]
    taken: set[str] = field(default_factory=set)

    def domains(self, path: Path) -> tuple[str, ...]:
        """Return the domains for cases of a file that name none: the nearest folder named like a domain, otherwise the suite's only domain."""
        folders = reversed(path.relative_to(self.root).parts[:-1])
        only = tuple(self.manifest.domains) if len(self.manifest.domains) == 1 else ()
        return next(((folder,) for folder in folders if folder in self.manifest.domains), only)

    def unused(self) -> Iterator[Problem]:
        """Yield a problem for each common requirement that no case read so far uses."""
        for name, requirement in self.requirements.items():
            if name not in self.taken:
                yield requirement.problem([], f"no case uses the common requirement {name}")

    def header(self, document: LocatedDocument, path: Path) -> LocatedDocument:
        """Return a case's data with the suite's language and the folder's domain filled in where missing."""
        data: JsonObject = document.data
        missing: JsonObject = {} if "language" in data else {"language": self.manifest.language}
        if "domains" not in data:
            missing["domains"] = list(self.domains(path))
        return LocatedDocument(data | missing, document.lines) if missing else document

    def spelt_out(self, document: LocatedDocument, path: Path, problems: list[Problem]) -> LocatedDocument:
        """Return a case's data in full: with defaults and common requirements; lines point to the original files."""
        document = self.header(document, path)
        data = dict(document.data)
        visible, truth = data.get("visible"), data.get("truth")
        if self.manifest.instructions and isinstance(visible, dict) and "instructions" not in visible:
            data["visible"] = visible | {"instructions": self.manifest.instructions}
        terms, own = self.manifest.episode, data.get("episode", {})
        defaults = {"calls": terms.calls, "run": list(terms.run)}
        if isinstance(own, dict) and (unset := {k: v for k, v in defaults.items() if v not in (None, [])}):
            data["episode"] = unset | own
        if not isinstance(truth, dict) or ("vars" not in data and "use" not in truth):
            return LocatedDocument(data, document.lines)
        values, use = data.pop("vars", {}), truth.get("use", [])
        wrong: tuple[tuple[str, ...], str] | None = None
        if not isinstance(values, dict):
            wrong = ("vars",), f"found {shown(values)}, expected a mapping of names to values"
        elif not isinstance(use, list) or not all(isinstance(name, str) for name in use):
            wrong = ("truth", "use"), f"found {shown(use)}, expected a list of ids of common requirements"
        if wrong is not None:
            place, message = wrong
            problems.append(document.lines.problem(shown_path(path), place, f"{'.'.join(place)}: {message}"))
            return document
        lines = DocumentLines(document.lines.line, dict(document.lines.children))
        filling = _Filling(
            values, LocatedDocument(document.data, lines), shown_path(path), str(data["language"]), problems
        )
        data["truth"] = self._with_used(truth, filling)
        filling.tell_unused()
        return LocatedDocument(data, lines)

    def _with_used(self, truth: JsonObject, filling: _Filling) -> JsonObject:
        """Return the truth with its common requirements after its own; add their lines to those of the document."""
        lines = filling.document.lines
        result = {name: value for name, value in truth.items() if name != "use"}
        own = result.setdefault("requirements", [])
        if not isinstance(own, list):
            return result  # validation says so
        old = lines.children.get("truth", DocumentLines(lines.line))
        spots = old.children.get("requirements", DocumentLines(old.line))
        spots = DocumentLines(spots.line, dict(spots.children))
        lines.children["truth"] = DocumentLines(old.line, {**old.children, "requirements": spots})
        result["requirements"] = requirements = list(own)
        for name, line in self._used(truth.get("use", ()), filling):
            requirements.append(filling.filled(name, self.requirements[name], line))
            spots.children[len(requirements) - 1] = filling.lines
        return result

    def _used(self, names: Sequence[str], filling: _Filling) -> Iterator[tuple[str, int]]:
        """Yield the ids of a case's common requirements, with groups expanded, and the requesting line; report unknown ids."""
        seen: set[str] = set()
        for index, first in enumerate(names):
            line = filling.document.lines.at(("truth", "use", index))
            if first not in self.requirements:
                hint = did_you_mean(first, self.requirements) or _known(self.requirements)
                message = f"truth.use[{index}]: the suite has no common requirement {shown(first)}"
                filling.problems.append(Problem(filling.path, line, message, hint))
                continue
            members = self.requirements[first].noun.use or (first,)
            yield from ((name, line) for name in dict.fromkeys(members) if name not in seen)
            seen.update(members)
            self.taken.add(first)
        self.taken.update(seen)


def read_common(
    root: Path, path: Path, manifest: SuiteManifest, document: LocatedDocument, files: Sequence[Path]
) -> Common:
    """Read and return the common requirements of a suite, from suite.yaml and ``requirements/``. Raises SuiteError."""
    requirements: dict[str, _Requirement] = {}
    problems: list[Problem] = []
    inline = LocatedDocument(document.data.get("common", {}), document.lines.children.get("common", document.lines))
    sources = [(shown_path(path), inline)]
    for file in files:
        try:
            documents = parse_yaml(read_bytes(file, limits.YAML_BYTES), shown_path(file))
            sources += [(shown_path(file), source) for source in documents if source.data is not None]
        except SuiteError as error:
            problems.extend(error.problems)
    for name, source in sources:
        if not isinstance(source.data, dict):
            message = "common requirements are a mapping: of the ids that cases use to requirements"
            problems.append(Problem(name, source.lines.line, message))
            continue
        for key, data in source.data.items():
            lines = source.lines.children[key]
            noun = validate(CommonRequirement, LocatedDocument(data, lines), name, problems)
            if (other := requirements.get(key)) is not None:
                message = f"the common requirement {shown(key)} occurs twice; first in {other.place}"
                problems.append(Problem(name, lines.line, message, "keep one of the two"))
            elif noun is not None:
                requirements[key] = _Requirement(noun, name, lines, data)
    problems = problems or _wrong_uses(requirements)
    raise_for_problems(problems)
    return Common(manifest, root, requirements)


def _wrong_uses(requirements: Mapping[str, _Requirement]) -> list[Problem]:
    """Return the problems in groups of common requirements: members that do not exist or are groups themselves."""
    single = {name: requirement for name, requirement in requirements.items() if not requirement.noun.use}
    return [
        group.problem(
            ["use", index],
            f"there is no common requirement {shown(name)}{' that is not a group' if name in requirements else ''}",
            did_you_mean(name, single) or _known(single),
        )
        for group in requirements.values()
        for index, name in enumerate(group.noun.use)
        if name not in single
    ]


def _known(requirements: Mapping[str, _Requirement]) -> str:
    """Return a hint that lists the common requirements, or says where to write the first one."""
    return (
        f"it has {', '.join(sorted(requirements))}"
        if requirements
        else "write it in requirements/NAME.yaml, or under common in suite.yaml"
    )


class _Filling:
    """Fills in the ``{{name}}`` placeholders of common requirements for one case.

    Attributes:
        document: the case as it is written.
        path: its file.
        problems: is added to.
        lines: those of the requirement that was filled last.
    """

    def __init__(
        self, values: JsonObject, document: LocatedDocument, path: str, language: str, problems: list[Problem]
    ) -> None:
        self.document = document
        self.path = path
        self.problems = problems
        self.lines = document.lines
        self._values = values
        self._language = language
        self._asked: set[str] = set()
        self._left = limits.CASE_BYTES
        self._requirement = ""

    def filled(self, name: str, requirement: _Requirement, line: int) -> JsonObject:
        """Return a common requirement as a requirement of the case, with its placeholders filled in; sets ``lines``."""
        self._requirement = f"the common requirement {name} ({requirement.place})"
        self._line = line
        data = {"id": name, **requirement.data}
        lines = requirement.lines
        if isinstance(text := data["text"], dict):
            data["text"] = self._in_language(text)
        result: JsonObject
        result, self.lines = self._fill(data, lines)
        self.lines.path, self.lines.used_at = requirement.path, line
        return result

    def tell_unused(self) -> None:
        """Add a problem for each value in ``vars`` that no requirement uses."""
        for name in self._values:
            if name not in self._asked:
                message = f"vars.{name}: no requirement that the case uses has {{{{{name}}}}}"
                hint = did_you_mean(name, self._asked - self._values.keys()) or "leave it out"
                self.problems.append(Problem(self.path, self.document.lines.at(["vars", name]), message, hint))

    def _in_language(self, texts: Mapping[str, str]) -> str:
        """Return the text in the language of the case; if there is none, add a problem and return the first text."""
        for language in (self._language, self._language.partition("-")[0]):
            if language in texts:
                return texts[language]
        self._report(
            f"{self._requirement} has no text in {self._language}, the language of the case",
            f"it has {', '.join(texts)}",
        )
        return next(iter(texts.values()), "")

    def _fill(self, value: Json, lines: DocumentLines) -> tuple[Json, DocumentLines]:
        """Return a part of a requirement with its placeholders filled in, and its lines."""
        if isinstance(value, str) and "{{" in value:
            return self._text(value, lines)
        if isinstance(value, dict):
            for key in value:
                if "{{" in key:
                    self._report(f"{self._requirement} has {shown(key)} as a key: only values are filled in")
            parts = {key: self._fill(part, lines.children.get(key, lines)) for key, part in value.items()}
            return {key: part for key, (part, _) in parts.items()}, DocumentLines(
                lines.line, {key: at for key, (_, at) in parts.items()}
            )
        if isinstance(value, list):
            items = [self._fill(item, lines.children.get(index, lines)) for index, item in enumerate(value)]
            return [item for item, _ in items], DocumentLines(lines.line, dict(enumerate(at for _, at in items)))
        return value, DocumentLines(lines.line)

    def _text(self, text: str, lines: DocumentLines) -> tuple[Json, DocumentLines]:
        """Return a text with its placeholders filled in, and its lines; a text of one placeholder becomes the value itself."""
        whole = _PLACEHOLDER.fullmatch(text)
        if whole is None or "{{" in whole[1]:
            return _PLACEHOLDER.sub(self._within, text), DocumentLines(lines.line)
        name = self._name(whole[1])
        if name is None:
            return text, DocumentLines(lines.line)
        spot = self.document.lines.children.get("vars", self.document.lines).children.get(name, self.document.lines)
        return self._values[name], DocumentLines(spot.line, spot.children, self.path)

    def _within(self, placeholder: re.Match[str]) -> str:
        """Return the text for a placeholder inside a longer text; the placeholder itself after adding a problem."""
        name = self._name(placeholder[1])
        value = None if name is None else self._values[name]
        if name is not None and type(value) not in SCALARS:
            message = f"vars.{name}: found {shown(value)}, expected text or a number: {self._requirement} has it inside a text"
            self._report(message)
            name = None
        if name is None:
            return placeholder[0]
        return value if isinstance(value, str) else json.dumps(value)

    def _name(self, text: str) -> str | None:
        """Return the name in a placeholder if the case has a value for it; None after adding a problem."""
        match = _NAME.fullmatch(text)
        if match is None:
            self._report(
                f"{self._requirement} has {shown('{{' + text + '}}')}, expected a name between the braces: nothing is computed"
            )
            return None
        name = match[1]
        self._asked.add(name)
        if name not in self._values:
            hint = did_you_mean(name, self._values) or f"add it to the case: vars: {{{name}: ...}}"
            self._report(f"vars: {shown(name)} is missing, which {self._requirement} asks for", hint)
            return None
        self._left -= len(json.dumps(self._values[name]))
        if self._left < 0:
            self._report(f"{self._requirement}: the values from the case have more than {limits.CASE_BYTES} bytes")
            return None
        return name

    def _report(self, message: str, hint: str = "") -> None:
        """Add a problem at the current place of the case, once and up to a limit."""
        problem = Problem(self.path, self._line, message, hint)
        if problem not in self.problems and len(self.problems) < limits.PROBLEMS:
            self.problems.append(problem)


# -- the cases of a file, before they are read in full -----------------------------------------------------------------

_NO_ATTRIBUTES: Mapping[str, str] = {}  # shared by most entries, and never written to
_Identifier = Annotated[str, StringConstraints(pattern=CASE_ID_PATTERN)]
_TRIAL = re.compile(r"-t\d+$")
#: The fields that an entry holds, in the order in which they are written.
HEADER = ("id", "domains", "difficulty", "language", "attributes", "group")
_QUOTED = {name: f'"{name}"'.encode() for name in HEADER}
_CANONICAL = re.compile(
    rb'(?:\xef\xbb\xbf)?\{"id": ?(?P<id>"[A-Za-z0-9_.-]{1,80}")'
    rb'(?:, ?"domains": ?(?P<domains>\[[A-Za-z0-9_.", -]*\]))?'
    rb'(?:, ?"difficulty": ?(?P<difficulty>"[^"\\\x00-\x1f]*"))?'
    rb'(?:, ?"language": ?(?P<language>"[A-Za-z0-9-]*"))?'
    rb'(?:, ?"attributes": ?(?P<attributes>\{[^{}\\\x00-\x1f]*\}))?'
    rb'(?:, ?"group": ?(?P<group>\{"name": ?"[A-Za-z0-9_.-]{1,80}", ?"order": ?[0-9]{1,9}\}|null))?'
    rb', ?"(?:visible|truth)": ?\{'
)


@dataclass(frozen=True, slots=True)
class CaseEntry:
    """A case of a suite that is not loaded yet.

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
        plain: of a variant, the id of the case that it is a variant of; empty for any other.
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
    plain: str = ""
    offset: int = field(default=0, repr=False, compare=False)
    length: int = field(default=0, repr=False, compare=False)


class _Header(Noun):
    """The header fields of a case, read separately."""

    model_config = ConfigDict(extra="ignore")

    id: _Identifier
    domains: tuple[_Identifier, ...] = ()
    difficulty: str = ""
    language: str = ""
    attributes: dict[str, str] = Field(default_factory=dict)
    group: Membership | None = None


def header_differs(entry: CaseEntry, case: Case) -> str:
    """Return the name of the first header field in which a case differs from its entry; empty if there is none."""
    return next((name for name in HEADER if getattr(entry, name) != getattr(case, name)), "")


def list_jsonl(path: Path, common: Common) -> tuple[CaseEntry, ...]:
    """Return the entries of the cases in a JSONL file, without loading the cases. Raises SuiteError."""
    name = shown_path(path)
    problems: list[Problem] = []
    entries: list[CaseEntry] = []
    for line in read_lines(path, limits.CASE_BYTES):
        header = _scanned(line.data) or _parsed(line, name, problems)
        if header is not None:
            if (problem := id_problem(header["id"], name, line.number)) is not None:
                problems.append(problem)
            header.setdefault("domains", common.domains(path))
            header.setdefault("language", common.manifest.language)
            entry = CaseEntry(
                path=path,
                line=line.number,
                draft=_holds_proposals(line.data),
                offset=line.offset,
                length=len(line.data),
                **header,
            )
            entries.append(entry)
        if len(problems) >= limits.PROBLEMS:
            break
    raise_for_problems(problems)
    return tuple(entries)


def _holds_proposals(raw: bytes) -> bool:
    """Return whether a JSONL line is a case with a proposal in its truth; only lines with the word "draft" are parsed."""
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
    """Return the problem of an id that ends like a trial mark (-t1); None if the id is fine."""
    if not _TRIAL.search(case_id):
        return None
    message = f"id: {shown(case_id)} ends like the mark of a trial, -t and digits"
    return Problem(path, line, message, "choose another end: the run appends -t1, -t2, ... to the id of each trial")


def _scanned(raw: bytes) -> dict[str, Any] | None:
    """Return the header fields of a line in canonical form; None for any other line, which needs a full parse."""
    match = _CANONICAL.match(raw)
    if match is None:
        return None
    fields = match.groupdict()
    if any(value is None and raw.find(_QUOTED[name], match.end()) >= 0 for name, value in fields.items()):
        return None  # it stands further on in the line
    try:
        return {name: _value(name, value) for name, value in fields.items() if value is not None}
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _value(name: str, raw: bytes) -> Any:
    """Return the value of a header field; cached, as many cases share values. Raises ValueError."""
    return _reader(name)(raw)


@cache
def _reader(name: str) -> Callable[[bytes], Any]:
    """Return the function that validates a header field from JSON."""
    return TypeAdapter(types_of(_Header)[name]).validate_json


def _parsed(line: RawLine, path: str, problems: list[Problem]) -> dict[str, Any] | None:
    """Return the header fields of a line, fully parsed; None after adding its problems."""
    document = document_of(line.data, path, line.number, problems)
    if document is None:
        return None
    if (problem := not_a_case(document, path)) is not None:
        problems.append(problem)
        return None
    header = validate(_Header, document, path, problems)
    return None if header is None else {name: getattr(header, name) for name in header.model_fields_set}


def not_a_case(document: LocatedDocument, path: str) -> Problem | None:
    """Return the problem of a document that does not look like a case, with a hint on its proper place; None if it does."""
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


def documents_of_yaml(path: Path) -> tuple[LocatedDocument, ...]:
    """Return the elements of a YAML file: its documents, or the members of documents that are lists. Raises SuiteError."""
    elements: list[LocatedDocument] = []
    for document in parse_yaml(read_bytes(path, limits.YAML_BYTES), shown_path(path)):
        if isinstance(document.data, list):
            elements += map(LocatedDocument, document.data, document.lines.children.values())
        elif document.data is not None:
            elements.append(document)
    return tuple(elements)


def case_of(document: LocatedDocument, path: Path, problems: list[Problem]) -> Case | None:
    """Return the case in a spelt-out document; None after adding its problems."""
    name = shown_path(path)
    case = validate(Case, document, name, problems, written=WrittenCase)
    if case is not None and (problem := id_problem(case.id, name, document.lines.at(["id"]))) is not None:
        problems.append(problem)
        return None
    return case


def entry_of_yaml(case: Case, path: Path, document: LocatedDocument, index: int) -> CaseEntry:
    """Return the entry of a case from a YAML file; ``index`` is the number of cases before it in the file."""
    header = {name: getattr(case, name) for name in HEADER}
    draft = bool(case.truth.proposals)
    return CaseEntry(path=path, line=document.lines.line, draft=draft, offset=index, **header)
