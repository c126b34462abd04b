"""Import of tau2-bench's published folders: a suite for each domain, with its world, its tasks as cases and the metrics of their reward."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_mapsat.formats import content_digest, limits, printable, replacing, shown_path
from pytest_mapsat.model import (
    SUITE_SCHEMA,
    Case,
    EpisodeDefaults,
    JsonObject,
    MapsatError,
    Problem,
    SuiteError,
    SuiteManifest,
    shown,
)
from pytest_mapsat.suite import (
    ImportLog,
    ImportReport,
    Suite,
    new_folder,
    open_suite,
    write_cases,
    write_manifest,
    write_tool,
)

from .conversion import Conversion
from .tasks import Domain, folders_in, read_domain, read_tasks
from .world import specs_of
from .worlds import OPTION, WORLDS

FORMAT = "tau2"
_DESCRIPTION = (
    "The domain {name} of tau2-bench (repository sierra-research/tau2-bench, MIT), imported from its published files: {cases} tasks. "
    "The world is pytest-mapsat's own."
)


def import_tau2(src: Path, dest: Path) -> ImportReport:
    """Make suites of the published domains of tau2-bench that have a world here: mock, retail, airline, telecom.

    Args:
        src: the repository, or the folder of one domain (``data/tau2/domains/retail``).
        dest: a folder that does not exist yet, or is empty. It becomes the suite of the domain; of several, each has a folder in it.

    Returns:
        The report: cases, tasks and tables left out, and notes on odd ones.

    Raises:
        SuiteError: when a file is missing or cannot be read, or a domain has no task that becomes a case.
        UsageError: when ``dest`` cannot be used.
    """
    log, counts = ImportLog(), Counter[str]()
    domains = [read_domain(name, folder) for name, folder in folders_in(src, log).items()]
    with new_folder(dest) as folder:
        for domain in domains:
            counts += _Import(domain, folder if len(domains) == 1 else folder / domain.name, log).run()
        return log.report(folder, FORMAT, cases=counts["cases"], tools=counts["tools"], by_tool=Counter())


@dataclass(frozen=True)
class _Import:
    """The import of one domain."""

    domain: Domain
    folder: Path
    log: ImportLog

    def run(self) -> Counter[str]:
        """Write the suite, and return how many cases and tools it has."""
        world, name = WORLDS[self.domain.name], self.domain.name
        try:
            tables = world.tables(self.domain.database, self.domain.user_database)
        except ValueError as error:
            raise SuiteError(Problem(shown_path(self.domain.folder), 0, f"the database {error}")) from None
        for table, rows in tables.items():
            with replacing(self.folder / "state" / f"{table}.jsonl") as file:
                file.writelines(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
        for table in sorted(self.domain.database.keys() - world.keys.keys()):
            self.log.leave(f"table {printable(table)} of {name}")
        specs = specs_of(world)
        for tool in specs.values():
            write_tool(self.folder / "tools" / f"{tool.name}.yaml", tool)
        write_manifest(self.folder / "suite.yaml", self._manifest(()))
        suite = open_suite(self.folder)
        suite.sandboxes = [lambda case, suite: world]  # noqa: ARG005  the hook's arguments
        cases = list(self._cases(suite, tables))
        if not cases:
            problems = [Problem(note.place, 0, note.message) for note in self.log.notes if note.kind == "unparsable"]
            raise SuiteError(
                *problems[: limits.PROBLEMS] or [Problem(shown_path(self.domain.folder), 0, "holds no task")]
            )
        write_cases(self.folder / "cases.jsonl", cases)
        write_manifest(self.folder / "suite.yaml", self._manifest(cases))
        silent = sum(case.attributes["silent"] == "passes" for case in cases)
        if silent:
            self.log.note(
                "silent",
                name,
                f"an agent that does nothing passes {silent} of {len(cases)} tasks: they have silent: passes",
            )
        return Counter(cases=len(cases), tools=len(specs))

    def _manifest(self, cases: Sequence[Case]) -> SuiteManifest:
        name = self.domain.name
        domains = {
            name: "tasks in which something has to be done",
            f"{name}_silent": "tasks that an agent passes that does nothing",
        }
        used = {domain for case in cases for domain in case.domains} or set(domains)
        snapshot = content_digest(self.domain.folder / "tasks.json")[:12]
        return SuiteManifest.model_validate(
            {
                "name": f"{FORMAT}-{name}",
                "version": f"snapshot-{snapshot}",
                "license": "MIT",
                "schema_version": SUITE_SCHEMA,
                "currency": "USD",
                "arguments": "strict",
                "domains": {domain: words for domain, words in domains.items() if domain in used},
                "instructions": self.domain.policy,
                "metrics": ("tau",),
                "success": "tau_reward",
                "assert": ("success",),
                "episode": EpisodeDefaults(max_turns=100),
                "sandbox": {OPTION: name},
                "description": _DESCRIPTION.format(name=name, cases=len(cases)),
            }
        )

    def _cases(self, suite: Suite, tables: Mapping[str, Sequence[JsonObject]]) -> Iterator[Case]:
        seen: set[str] = set()
        for task, place in read_tasks(self.domain.folder / "tasks.json", self.log):
            if task.id in seen:
                self.log.note(
                    "duplicate_case",
                    place,
                    f"the task {shown(task.id)} stands here twice; the first one is kept",
                    leaves="tasks",
                )
                continue
            seen.add(task.id)
            try:
                case = Conversion(task, place, self.domain, suite, tables, self.log).case()
            except (MapsatError, ValueError) as error:
                self.log.note("unparsable", place, f"{error}; the task is left out", leaves="tasks")
                continue
            if case is not None:
                yield case
