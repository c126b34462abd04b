"""Import of VitaBench: tasks of 1.0 (``data/vita/domains``), and users with their sequences of tasks of 2.0."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO

from pytest_mapsat.formats import Lines, Located, content_digest, limits, replacing, shown_path, validate
from pytest_mapsat.model import (
    SUITE_SCHEMA,
    Case,
    Json,
    JsonObject,
    Problem,
    SuiteError,
    SuiteManifest,
    Tool,
    did_you_mean,
    digest,
)
from pytest_mapsat.suite import ImportLog, ImportReport, new_folder, tools_of, write_cases, write_manifest, write_tool

from .metrics import ORDERS
from .reference import Reference, reference_of
from .sources import read_tasks, task_files
from .tasks import Task, tables_of
from .world import TABLES

FORMAT = "vitabench"
_WORLD_OF = {domain: f"vita-{domain}" for domain in ("delivery", "instore", "ota")}
_DOMAINS = {
    "delivery": "orders that stores deliver",
    "instore": "vouchers, tables and reservations of shops",
    "ota": "hotels, attractions, flights, trains",
}
_CHINESE = re.compile("[\u4e00-\u9fff]")
_CONFIRM = {"en": "Here is what you need", "zh": "信息如下"}
_DONE = {"en": "It is done as you asked.", "zh": "都按您的要求办好了。"}
_ASKED_ID = ("user id", "user ID", "userid", "account", "用户id", "用户ID", "用户编号", "账号")
_ASKED_ADDRESS = ("address", "deliver to", "location", "where are you", "where should", "地址", "送到哪", "位置", "在哪")


def import_vitabench(src: Path, dest: Path) -> ImportReport:
    """Make a suite at ``dest`` of tasks of VitaBench 1.0.

    Args:
        src: the repository, ``data/vita/domains`` or a folder in it, ``tasks.json``, or a file with a task a line.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        What came over, what did not, and what is odd: required orders that cannot be placed, orders at shops that the source labels distractors.

    Raises:
        SuiteError: when a file cannot be read, or no task comes over.
        UsageError: when ``dest`` cannot be used.
    """
    paths = task_files(src)
    with new_folder(dest) as folder:
        building = _Building(folder, ImportLog(), "1.0")
        building.write(paths, (task for path in paths for task in building.tasks(path)))
        return building.report


@dataclass
class TaskCase:
    """A task on its way to a case: where it stands in the source, and what of a case it has beyond its own."""

    place: str
    task: Task
    case_id: str = ""
    group: JsonObject | None = None
    visible: JsonObject = field(default_factory=dict)
    context: JsonObject = field(default_factory=dict)
    truth: JsonObject = field(default_factory=dict)
    answers: Sequence[JsonObject] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


class _Building:
    """Writes a suite task by task, so that one task at a time is held."""

    def __init__(self, folder: Path, log: ImportLog, version: str) -> None:
        self.folder = folder
        self.log = log
        self.version = version
        self._ids: dict[str, str] = {}
        self._domains: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._languages: Counter[str] = Counter()
        self.report: ImportReport

    def tasks(self, path: Path) -> Iterator[TaskCase]:
        """Give the tasks of a file that can be read; others are noted and left out."""
        problems: list[Problem] = []
        for place, data in read_tasks(path, problems):
            task = self.parsed(Task, data, place)
            if task is not None:
                yield TaskCase(place, task)
        for problem in problems:
            self.refuse(f"{problem.path}:{problem.line}", problem.message)

    def parsed(self, model: type[_Model], data: Json, place: str) -> _Model | None:
        """Return part of a source, or None after noting what is wrong with it."""
        problems: list[Problem] = []
        parsed = validate(model, Located(data, Lines(0)), place, problems)
        for problem in problems[: limits.PROBLEMS]:
            self.log.note("unparsable", place, f"{problem.message}{f' ({problem.hint})' if problem.hint else ''}")
        if problems:
            self.log.leave("tasks")
        return parsed
