"""Writes suites to disk: the same value gives the same bytes, and a file is complete or missing; and importers, which make suites of other benchmarks' files.

An importer is a function of a source and of a folder that is not there yet; a package adds one by an entry point.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_mapsat.formats import DocumentLines, LocatedDocument, limits, replacing, scalar, shown_path, umask, validate
from pytest_mapsat.model import (
    Case,
    JsonObject,
    Problem,
    Recording,
    SuiteError,
    SuiteManifest,
    Tool,
    UsageError,
    shown,
)
from pytest_mapsat.registry import installed_function
from pytest_mapsat.user_code import installed

from .common import HEADER, id_problem

if TYPE_CHECKING:
    import yaml


def write_cases(path: Path, cases: Iterable[Case]) -> None:
    """Write cases as JSONL, in the order given; each line begins with the header fields that listing scans."""
    write_rows(path, map(case_json, cases))


def write_recordings(path: Path, recordings: Iterable[Recording]) -> None:
    """Write recordings as JSONL, in the order given."""
    write_rows(path, (recording.to_json() for recording in recordings))


def write_tool(path: Path, tool: Tool) -> None:
    """Write one tool as YAML."""
    write_bytes(path, to_yaml(tool.to_json()))


def write_manifest(path: Path, manifest: SuiteManifest) -> None:
    """Write a suite's manifest as YAML."""
    write_bytes(path, to_yaml(manifest.to_json()))


def case_json(case: Case) -> JsonObject:
    """Return a case as JSON data that begins with all header fields, including those at their defaults."""
    data = case.to_json()
    own = {"domains": list(case.domains), "group": data.get("group")}
    header = {name: own[name] if name in own else getattr(case, name) for name in HEADER}
    return {name: header[name] for name in HEADER} | {name: data[name] for name in data if name not in HEADER}


def write_rows(path: Path, values: Iterable[JsonObject]) -> None:
    """Write JSON data as JSONL, in the order given."""
    with replacing(path) as file:
        for value in values:
            file.write(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n")


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, which appears only when complete; on failure the old content stays."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def new_folder(dest: Path) -> Iterator[Path]:
    """Yield a temporary folder next to ``dest`` that is renamed to ``dest`` on success and removed on failure.

    Raises:
        UsageError: when ``dest`` exists and is not an empty folder, or cannot be made.
    """
    if dest.is_symlink() or (dest.exists() and (not dest.is_dir() or any(dest.iterdir()))):
        raise UsageError(f"{dest} exists and is not an empty folder; name one that does not exist yet")
    parent = Path(os.path.abspath(dest)).parent  # noqa: PTH100  resolve() would follow links that the user did not name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        built = Path(tempfile.mkdtemp(prefix=f".{dest.name}.", dir=parent))
    except OSError as error:
        raise UsageError(f"cannot write to {parent}: {error.strerror}") from error
    try:
        yield built
        built.chmod(0o777 & ~umask())
        try:
            if dest.exists():
                dest.rmdir()
            built.replace(dest)
        except OSError as error:
            raise UsageError(f"cannot write to {dest}: {error.strerror}") from error
    except BaseException:
        shutil.rmtree(built, ignore_errors=True)
        raise


def to_yaml(value: JsonObject | list[JsonObject]) -> bytes:
    """Return a value as YAML that this package reads back as the same value."""
    import yaml  # noqa: PLC0415  heavy

    class Dumper(yaml.SafeDumper):
        """A YAML dumper that quotes ambiguous texts, and writes no aliases."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  the base class's signature
            """Return True: no aliases are written."""
            return True

    Dumper.add_representer(str, _represent_text)
    text: str = yaml.dump(value, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=120)
    return text.encode("utf-8")


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Return a text as a YAML node, in quotes if YAML would otherwise not read it as text."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if _reads_as_itself(text) else '"')


def _reads_as_itself(text: str) -> bool:
    """Return whether YAML reads an unquoted text as a text."""
    try:
        return isinstance(scalar(text), str)
    except ValueError:
        return False


# -- what an importer needs

_Noun = TypeVar("_Noun", Case, Recording)
#: The entry point group in which installed packages name their importers: each entry is a format and a function.
GROUP = "pytest_mapsat.importers"
_WORD = re.compile(r"[^\W\d_]{3,}")
#: Words of questions that ask for nothing of their own.
_EMPTY = frozenset({
    "about", "and", "any", "are", "but", "can", "could", "did", "does", "for", "from", "has", "have", "how", "its", "know", "like", "may", "need", "not",
    "our", "please", "provide", "shall", "should", "tell", "that", "the", "there", "this", "want", "was", "what", "when", "where", "which", "who", "why",
    "will", "with", "would", "you", "your",
})  # fmt: skip


@dataclass(frozen=True)
class Note:
    """A note for the user about an import.

    Attributes:
        kind: a short fixed word for the sort of thing.
        place: file and row or case in the source.
        message: what it is.
    """

    kind: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message} [{self.kind}]"


@dataclass(frozen=True)
class ImportReport:
    """The outcome of an import.

    Attributes:
        format: the source's format.
        cases: how many cases were written.
        tools: how many tools.
        recordings: how many recordings, orphans included.
        orphans: recordings of cases that the source does not have; kept, never served.
        recordings_by_tool: the same recordings by tool.
        not_carried: how many things of a sort stand in the source and not in the suite.
        notes: everything odd, in the order of the source.
    """

    format: str
    cases: int
    tools: int
    recordings: int
    orphans: int
    recordings_by_tool: dict[str, int]
    not_carried: dict[str, int]
    notes: tuple[Note, ...]

    def to_json(self) -> JsonObject:
        """Return the report as JSON data."""
        return asdict(self)


@dataclass
class ImportLog:
    """Collects notes and counts while an import runs."""

    notes: list[Note] = field(default_factory=list)
    not_carried: Counter[str] = field(default_factory=Counter)

    def note(self, kind: str, place: str, message: str, *, leaves: str = "", count: int = 1) -> None:
        """Add a note; ``leaves`` names omitted things of the source, and ``count`` is their number."""
        self.notes.append(Note(kind, place, message))
        if leaves:
            self.leave(leaves, count)

    def leave(self, what: str, count: int = 1) -> None:
        """Count things of the source that are omitted."""
        self.not_carried[what] += count

    def case(self, data: JsonObject, place: str) -> Case | None:
        """Return a case from data; if the data are invalid, note the reason and return None."""
        return self._valid(Case, data, place, "case")

    def recording(self, data: JsonObject, place: str) -> Recording | None:
        """Return a recording from data; if the data are invalid, note the reason and return None."""
        return self._valid(Recording, data, place, "recording")

    def _valid(self, kind: type[_Noun], data: JsonObject, place: str, word: str) -> _Noun | None:
        """Return data as a noun of a type; if the data are invalid, note the reason and return None."""
        problems: list[Problem] = []
        noun = validate(kind, LocatedDocument(data, DocumentLines(0)), place, problems)
        if isinstance(noun, Case) and (problem := id_problem(noun.id, place, 0)) is not None:
            problems.append(problem)
        for problem in problems:
            self.note("unparsable", place, f"{problem.message}; the {word} is left out")
        return None if problems else noun

    def nothing(self, source: Path, message: str) -> SuiteError:
        """Return the error of an import without cases: the reasons for omissions, otherwise the message."""
        left_out = [note for note in self.notes if note.kind in ("unparsable", "refused")][: limits.PROBLEMS]
        problems = [Problem(note.place, 0, note.message) for note in left_out]
        return SuiteError(*problems or [Problem(shown_path(source), 0, message)])

    def report(
        self, folder: Path, format_name: str, *, cases: int, tools: int, by_tool: Counter[str], orphans: int = 0
    ) -> ImportReport:
        """Write the report of the import into the suite's folder as ``import.json`` and return it."""
        report = ImportReport(
            format=format_name,
            cases=cases,
            tools=tools,
            recordings=by_tool.total(),
            orphans=orphans,
            recordings_by_tool=dict(sorted(by_tool.items())),
            not_carried=dict(sorted(self.not_carried.items())),
            notes=tuple(self.notes),
        )
        write_bytes(folder / "import.json", json.dumps(report.to_json(), ensure_ascii=False, indent=2).encode() + b"\n")
        return report


Importer = Callable[[Path, Path], ImportReport]


def import_formats() -> Iterator[str]:
    """Yield the formats that ``mapsat import`` can read, sorted, without repetitions."""
    yield from dict.fromkeys(point.name for point in installed(GROUP))


def importer_of(name: str) -> Importer:
    """Return the importer of a format, wrapped in a check that it returns an ImportReport.

    Raises:
        UsageError: no package adds it, two packages do, or it cannot be loaded.
    """
    importer = installed_function(GROUP, name, "importer of the format")

    def run(src: Path, dest: Path) -> ImportReport:
        """Run the importer and return its report. Raises UsageError if it returns anything else."""
        report = importer(src, dest)
        if not isinstance(report, ImportReport):
            raise UsageError(f"{GROUP}: {name} returned {shown(report)}, expected an ImportReport")
        return report

    return run


def bare_tool(name: str, parameters: Iterable[str]) -> Tool:
    """Return a minimal tool, with only a name and the parameters used in calls.

    Raises:
        ValueError: no tool can be called so.
    """
    properties: dict[str, JsonObject] = {parameter: {} for parameter in sorted(set(parameters))}
    description = f"{name} {_UNDESCRIBED}"
    return Tool(name=name, description=description, parameters={"type": "object", "properties": properties})


_UNDESCRIBED = "(the source does not describe this tool)"


def is_bare(tool: Tool) -> bool:
    """Return whether a tool still has its description from ``bare_tool``."""
    return tool.description.endswith(_UNDESCRIBED)


def tools_of(text: str) -> dict[str, Tool]:
    """Return the tools in YAML text of an importer's own package, by name, sorted; YAML anchors are allowed."""
    import yaml  # noqa: PLC0415  heavy

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tools = [Tool.model_validate(data) for data in yaml.load(text, Loader=loader)]  # noqa: S506  a safe loader, in C
    return {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}


def telling_words(sentences: Iterable[str]) -> list[str]:
    """Return the distinct words in questions that identify the requested information for the scripted user."""
    words = (word for sentence in sentences for word in _WORD.findall(sentence) if word.lower() not in _EMPTY)
    return list(dict.fromkeys(words))
