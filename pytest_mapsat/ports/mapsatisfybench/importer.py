"""Import of MapSatisfyBench's published layout: ``inputs/*.xlsx`` and ``sandbox/mock_data/*.csv``.

What the layout means was found by looking at the published data; README.md here describes it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from pytest_mapsat.formats import content_digest, printable, read_csv, shown_path
from pytest_mapsat.model import (
    SUITE_SCHEMA,
    Case,
    Problem,
    Recording,
    SuiteError,
    SuiteManifest,
    Tool,
    did_you_mean,
)
from pytest_mapsat.suite import (
    ImportLog,
    ImportReport,
    bare_tool,
    new_folder,
    to_yaml,
    tools_of,
    write_bytes,
    write_cases,
    write_manifest,
    write_recordings,
    write_tool,
)

from .rows import COLUMNS, RECORDING_COLUMNS, SourceRow, convert_case, convert_recording, read_workbook

FORMAT = "mapsatisfybench"
_DESCRIPTION = (
    "MapSatisfyBench (repository wanzw404/MapSatisfyBench, MIT), imported from its published layout; "
    "snapshot {snapshot}: {cases} cases, {recordings} recordings. Times are China's, +08:00. The source gives no domains."
)


@cache
def published_tools() -> Mapping[str, Tool]:
    """Return the benchmark's tools by name."""
    return tools_of((resources.files(__package__) / "tools.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class _Source:
    workbooks: tuple[Path, ...]
    mocks: tuple[Path, ...]
    outputs: tuple[Path, ...]

    def snapshot(self) -> str:
        """Return a digest of what is imported."""
        digests = sorted(content_digest(path) for path in (*self.workbooks, *self.mocks))
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:12]


def import_mapsatisfybench(src: Path, dest: Path) -> ImportReport:
    """Make a suite at ``dest`` from the published files at ``src``.

    Args:
        src: the published ``data`` folder, or the folder above it.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        What came over, what did not, and what is odd.

    Raises:
        SuiteError: when the source cannot be read.
        UsageError: when ``dest`` cannot be used.
    """
    source = _find(src)
    with new_folder(dest) as folder:
        return _build(source, folder)


def _build(source: _Source, folder: Path) -> ImportReport:
    """Write the suite. What is odd between its cases, tools and recordings is told by lint."""
    log = ImportLog()
    described = published_tools()
    cases = _cases(source, described, log)
    recordings = _recordings(source, described, log)
    derived = list(_derive_tools(described, cases.values(), recordings, log))
    files: dict[str, list[Recording]] = {}
    for recording in recordings:
        # Only names that we know become file names.
        name = recording.tool if recording.tool in described else "derived-tools"
        if recording.case not in cases:
            name = "orphans"
            message = f"a recording of the case {recording.case}, which the source does not have; kept, never served"
            log.note("orphan", recording.tool, message)
        files.setdefault(name, []).append(recording)
    if source.outputs:
        message = f"{len(source.outputs)} files of recorded dialogues and verdicts; give them to recorded:PATH"
        log.note("outputs", "outputs", message, leaves="output files", count=len(source.outputs))
    write_manifest(folder / "suite.yaml", _manifest(source.snapshot(), len(cases), len(recordings)))
    write_cases(folder / "cases.jsonl", cases.values())
    for name, tool in described.items():
        write_tool(folder / "tools" / f"{name}.yaml", tool)
    if derived:
        write_bytes(folder / "tools" / "derived-tools.yaml", to_yaml([tool.to_json() for tool in derived]))
    for name, of_file in sorted(files.items()):
        write_recordings(folder / "recordings" / f"{name}.jsonl", of_file)
    return log.report(
        folder,
        FORMAT,
        cases=len(cases),
        tools=len(described) + len(derived),
        by_tool=Counter(recording.tool for recording in recordings),
        orphans=len(files.get("orphans", ())),
    )


def _find(src: Path) -> _Source:
    data = next((folder for folder in (src, src / "data") if (folder / "inputs").is_dir()), None)
    if data is None:
        hint = "give the folder that holds inputs/ and sandbox/, or the one above it"
        raise SuiteError(Problem(shown_path(src), 0, "is not the published layout: there is no folder inputs", hint))
    workbooks = sorted(path for path in (data / "inputs").glob("*.xlsx") if not path.name.startswith(("~", ".")))
    mocks = sorted((data / "sandbox" / "mock_data").glob("*.csv"))
    if not workbooks:
        raise SuiteError(Problem(shown_path(data / "inputs"), 0, "holds no workbook (*.xlsx) of cases"))
    if not mocks:
        raise SuiteError(Problem(shown_path(data / "sandbox" / "mock_data"), 0, "holds no recordings (*.csv)"))
    outputs = sorted(path for path in (data / "outputs").rglob("*") if path.is_file())
    return _Source(tuple(workbooks), tuple(mocks), tuple(outputs))


def _cases(source: _Source, tools: Mapping[str, Tool], log: ImportLog) -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for path in source.workbooks:
        for row in read_workbook(path, COLUMNS, log):
            case = convert_case(row, tools, log)
            if case is None:
                log.leave("cases")
            elif case.id in cases:
                log.note(
                    "duplicate_case", row.place, f"the id {case.id} stands twice; the first row is kept", leaves="cases"
                )
            else:
                cases[case.id] = case
    if not cases:
        problems = [Problem(note.place, 0, note.message) for note in log.notes]
        raise SuiteError(*problems or [Problem(shown_path(source.workbooks[0]), 0, "holds no case")])
    log.note("assumption", "time", "times stand without an offset in the source; +08:00 is added, China's one zone")
    log.note("assumption", "domains", "the source names no domain of a case; the cases have none")
    return dict(sorted(cases.items()))


def _derive_tools(
    described: Mapping[str, Tool], cases: Iterable[Case], recordings: Sequence[Recording], log: ImportLog
) -> Iterator[Tool]:
    """Give a bare spec for every tool that a recording or a case names and that is not known: its parameters are those seen."""
    seen: dict[str, set[str]] = {}
    for recording in recordings:
        seen.setdefault(recording.tool, set()).update(recording.arguments)
    for expected in (tool for case in cases for tool in case.truth.tools):
        seen.setdefault(expected.name, set()).update(expected.required)
    for name in sorted(seen.keys() - described.keys()):
        near = did_you_mean(name, described) or "its spec has the parameters seen, and no description"
        log.note("unknown_tool", name, f"the benchmark has no such tool; {near}")
        yield bare_tool(name, seen[name])


def _recordings(source: _Source, tools: Mapping[str, Tool], log: ImportLog) -> list[Recording]:
    recordings: list[Recording] = []
    for path in source.mocks:
        vectors = 0
        for row in _rows(path, log):
            vectors += row.cells.get("feature", "").strip() not in {"", "{}"}
            recording = convert_recording(row, path, tools, log)
            if recording is None:
                log.leave("recordings")
            else:
                recordings.append(recording)
        if vectors:
            message = f"{vectors} rows with vectors in the column feature; not carried over"
            log.note("vectors", printable(path.name), message, leaves="vectors", count=vectors)
    # Sorting is stable: otherwise the source's order.
    return sorted(recordings, key=lambda recording: (recording.tool, recording.case))


def _rows(path: Path, log: ImportLog) -> Iterator[SourceRow]:
    """Give the rows of a table of recordings; a torn one is noted and left out."""

    def torn(problem: Problem) -> None:
        log.note("row", f"{printable(path.name)}:{problem.line}", f"{problem.message} and is left out", leaves="rows")

    for row in read_csv(path, RECORDING_COLUMNS, torn=torn):
        yield SourceRow(f"{printable(path.name)}:{row.line}", row.cells)


def _manifest(snapshot: str, cases: int, recordings: int) -> SuiteManifest:
    return SuiteManifest(
        name=FORMAT,
        version=f"snapshot-{snapshot}",
        license="MIT",
        schema_version=SUITE_SCHEMA,
        coordinates="gcj02",
        language="zh",
        description=_DESCRIPTION.format(snapshot=snapshot, cases=cases, recordings=recordings),
    )
