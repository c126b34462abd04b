"""Where the tasks of a source stand: the repository, a folder of it, a file with a list of tasks, or one with a task a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from pytest_mapsat.formats import json_elements, limits, parse_json_line, printable, read_lines, read_text, shown_path
from pytest_mapsat.model import Json, Problem, SuiteError

_PATTERNS = (
    "data/vita/domains/*/tasks*.json",
    "vita/domains/*/tasks*.json",
    "domains/*/tasks*.json",
    "*/tasks*.json",
    "tasks*.json",
    "*.jsonl",
    "*.jsonl.gz",
    "*.json",
)


def task_files(src: Path) -> list[Path]:
    """Return the files of a source that hold tasks, sorted. Raises SuiteError where there is none."""
    if src.is_file():
        return [src]
    inside = src.resolve()
    for patterns in (_PATTERNS[:3], _PATTERNS[3:5], _PATTERNS[5:]):
        matching = sorted(set(chain.from_iterable(src.glob(pattern) for pattern in patterns)))
        # A link that leads out of the source is no part of it.
        if files := [path for path in matching if path.is_file() and path.resolve().is_relative_to(inside)]:
            return files
    hint = "name the repository, data/vita/domains or a folder in it, tasks.json, tasks_en.json, or a file with a task a line"
    raise SuiteError(Problem(shown_path(src), 0, "holds no tasks" if src.is_dir() else "is not there", hint))


def read_tasks(path: Path, log_problem: list[Problem]) -> Iterator[tuple[str, Json]]:
    """Give the tasks of a file, each with its place; a line that is not JSON is added to the problems.

    Raises:
        SuiteError: the file cannot be read, or is no JSON.
    """
    # All files of the published layout have the same two names: the folder tells them apart.
    name = printable(f"{path.parent.name}/{path.name}" if path.name.startswith("tasks") else path.name)
    if ".jsonl" in path.name:
        for line in read_lines(path, limits.DIALOGUE_BYTES):
            try:
                yield f"{name}:{line.number}", parse_json_line(line.data, name, line.number)
            except SuiteError as error:
                log_problem.extend(error.problems)
        return
    text = read_text(path, limits.CELL_BYTES)
    yield from ((f"{name}:{line}", element) for line, element in json_elements(text, shown_path(path), "tasks"))
