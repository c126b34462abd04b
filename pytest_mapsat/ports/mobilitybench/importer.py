"""Import of MobilityBench's published table of episodes (CSV, 33 columns of text and Python literals).

What the columns mean was found by looking at the published rows; docs/importing.md describes it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import IO

from pytest_mapsat.formats import content_digest, limits, printable, read_csv, replacing, shown_path
from pytest_mapsat.model import SUITE_SCHEMA, Case, EpisodeDefaults, Problem, Recording, SuiteError, SuiteManifest
from pytest_mapsat.suite import ImportLog, ImportReport, new_folder, write_cases, write_manifest, write_tool

from .calls import recordings_of
from .cases import convert_case
from .rows import COLUMNS, OddRowError, Row, mobility_tools, read_row

FORMAT = "mobilitybench"
_DESCRIPTION = (
    "MobilityBench (repository AMAP-ML/MobilityBench, no licence stated), imported from its published table; "
    "snapshot {snapshot}: {cases} cases, {recordings} recordings. Nobody may ask the user back."
)
_DOMAINS = {
    "basic_information_retrieval": "places, where the user is, what is nearby, weather, traffic",
    "route_dependent_information_retrieval": "what only a route tells: its length, when to leave",
    "basic_route_planning": "from here to there, by way of other places",
    "preference_constrained_route_planning": "routes under the user's wishes: no highways, not this line",
}
#: Ways that no tool of the benchmark plans, with their verbs: a station is none.
_OTHER_MEANS = (
    "坐高铁",
    "乘高铁",
    "乘坐高铁",
    "坐动车",
    "坐火车",
    "乘火车",
    "乘坐火车",
    "坐飞机",
    "乘飞机",
    "坐大巴",
    "坐客车",
)
_PLACES = ("data/datasets", "datasets", "data", "")


def import_mobilitybench(src: Path, dest: Path) -> ImportReport:
    """Make a suite at ``dest`` from the published table at ``src``.

    Args:
        src: the CSV file, or the folder (the repository's) that holds it.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        What came over, what did not, and what is odd.

    Raises:
        SuiteError: when the table cannot be read, lacks a column, or has no row that becomes a case.
        UsageError: when ``dest`` cannot be used.
    """
    table = _find(src)
    with new_folder(dest) as folder:
        return _build(table, folder)


def _find(src: Path) -> Path:
    if src.is_file():
        return src
    tables = next((found for place in _PLACES if (found := sorted((src / place).glob("*.csv")))), [])
    if len(tables) != 1:
        hint = "give the published table itself, such as data/datasets/sample_10.csv"
        listed = f"holds {len(tables)} tables (*.csv)" if tables else "holds no table (*.csv)"
        raise SuiteError(Problem(shown_path(src), 0, listed, hint))
    return tables[0]


def _build(table: Path, folder: Path) -> ImportReport:
    """Write the suite row by row, so that one row at a time is held."""
    log = ImportLog()
    kept: set[str] = set()
    by_tool: Counter[str] = Counter()
    with replacing(folder / "recordings" / "recorded.jsonl") as recordings:
        write_cases(folder / "cases.jsonl", _cases(table, kept, log, _keeper(recordings, by_tool)))
    if not kept:
        problems = [Problem(note.place, 0, note.message) for note in log.notes if note.kind == "unparsable"]
        raise SuiteError(*problems[: limits.PROBLEMS] or [Problem(shown_path(table), 0, "holds no row")])
    log.note("assumption", "time", "times stand without an offset in the source; +08:00 is added, China's one zone")
    for name, tool in mobility_tools().items():
        write_tool(folder / "tools" / f"{name}.yaml", tool)
    write_manifest(folder / "suite.yaml", _manifest(content_digest(table)[:12], len(kept), by_tool.total()))
    return log.report(folder, FORMAT, cases=len(kept), tools=len(mobility_tools()), by_tool=by_tool)


def _rows(table: Path, log: ImportLog) -> Iterator[tuple[int, Row]]:
    """Give the rows that can be read, each with its number in the table; others are noted and left out."""
    numbers = count(1)

    def left_out(place: str, why: str) -> None:
        log.note("unparsable", place, f"{why}; the row is left out")
        log.leave("rows")

    def torn(problem: Problem) -> None:
        next(numbers)
        left_out(f"{printable(table.name)}:{problem.line}", problem.message)

    hint = "the published table has the columns query, context, task_scenario, tool_list, ..."
    for source in read_csv(table, COLUMNS, hint=hint, torn=torn):
        number = next(numbers)
        place = f"{printable(table.name)}:{source.line}"
        for name in sorted(source.cells.keys() - set(COLUMNS) - {""}) if number == 1 else ():
            log.note("column", place, f"the column {printable(name)} is not carried over")
            log.leave(f"column {name}")
        try:
            yield number, read_row(source, place, mobility_tools(), log)
        except OddRowError as error:
            left_out(place, str(error))


def _keeper(file: IO[bytes], by_tool: Counter[str]) -> Callable[[Recording], None]:
    """Return what writes a recording and counts it."""

    def keep(recording: Recording) -> None:
        by_tool[recording.tool] += 1
        file.write(json.dumps(recording.to_json(), ensure_ascii=False, allow_nan=False).encode() + b"\n")

    return keep


def _cases(table: Path, kept: set[str], log: ImportLog, keep: Callable[[Recording], None]) -> Iterator[Case]:
    """Give the cases, note their ids, and hand on their recordings."""
    for number, row in _rows(table, log):
        if row.id in kept:
            log.note("duplicate_case", row.place, f"the same row as that of {row.id}; the first one is kept")
            log.leave("rows")
            continue
        case = convert_case(row, number, mobility_tools(), log)
        if case is None:
            log.leave("rows")
            continue
        kept.add(case.id)
        _remark(row, log)
        for recording in recordings_of(row):
            keep(recording)
        yield case


def _remark(row: Row, log: ImportLog) -> None:
    """Note the expected calls that nothing will answer."""
    place = f"{row.place} ({row.id})"
    for call in row.calls:
        if call.cut:
            message = (
                f"the result of {call.tool} is cut at {len(call.cut)} characters; it is kept, marked, and never served"
            )
            log.note("cut", place, message)
        elif call.result is None:
            message = f"no column has what {call.tool} returned; the expected call will miss"
            log.note("no_recording", place, message)


def _manifest(snapshot: str, cases: int, recordings: int) -> SuiteManifest:
    return SuiteManifest(
        name=FORMAT,
        version=f"snapshot-{snapshot}",
        license="unknown",
        schema_version=SUITE_SCHEMA,
        coordinates="gcj02",
        language="zh",
        domains=_DOMAINS,
        metrics=("mobility",),
        success="mobility_fpr",
        asserted=("explicit", "facts", "hard", "policies"),
        episode=EpisodeDefaults(user="silent"),
        vocabulary={"means.transit": _OTHER_MEANS},
        description=_DESCRIPTION.format(snapshot=snapshot, cases=cases, recordings=recordings),
    )
