"""Import of VitaBench: tasks of 1.0 (``data/vita/domains``), and users of 2.0, each with a sequence of tasks and the interactions before each.

A source is the repository, a folder of it, a file with a list of tasks, or one with a task a line.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_mapsat.formats import content_digest, limits, package_data, printable
from pytest_mapsat.model import (
    Case,
    Json,
    JsonObject,
    SuiteManifest,
    Tool,
    did_you_mean,
    digest,
)
from pytest_mapsat.ports import (
    Model,
    Record,
    files_of,
    imported_manifest,
    json_records,
    objects,
    packaged_tools,
    safe_name,
    validated,
    write_suite,
)
from pytest_mapsat.suite import ImportLog, ImportReport, new_folder, telling_words, write_cases

from . import ORDERS, RUBRIC
from .tasks import Id, OrdersReference, TaskPart, VitaEnvironment, VitaScenario, VitaTask, tables_of
from .world import TABLES, day_of, moment_of

_FORMATS = {"1.0": "vitabench", "2.0": "vitabench2"}
_DATA = package_data(__package__, "words.yaml")
Tables = Mapping[str, Sequence[JsonObject]]
_CHINESE = re.compile("[\u4e00-\u9fff]")


def _task_files(src: Path) -> list[Path]:
    """Return the files of tasks at a path, the published layout first. Raises SuiteError where there are none."""
    return files_of(
        src, *_DATA["files"], lacks="holds no tasks" if src.is_dir() else "is not there", hint=_DATA["hint"]
    )


def import_vitabench(src: Path, dest: Path) -> ImportReport:
    """Make a suite at ``dest`` of tasks of VitaBench 1.0.

    Args:
        src: the repository, ``data/vita/domains`` or a folder in it, ``tasks.json``, or a file with a task a line.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        The report: cases, tasks left out, and notes on odd ones: required orders that cannot be placed, orders at shops that the source labels distractors.

    Raises:
        SuiteError: when a file cannot be read, or no task comes over.
        UsageError: when ``dest`` cannot be used.
    """
    paths = _task_files(src)
    with new_folder(dest) as folder:
        building = Building(folder, "1.0")
        listed = (entry for path in paths for entry in building.read(path))
        tasks = (
            PlacedTask(place, task, tables)
            for place, data in listed
            if (task := building.parsed(VitaTask, data, place)) is not None
            and (tables := building.tables(task, place)) is not None
        )
        return building.finish(paths, tasks)


@dataclass(frozen=True)
class PlacedTask:
    """A task with its place in the source, the rows that it begins with, and further fields of its case."""

    place: str
    task: VitaTask
    tables: Tables
    case_id: str = ""
    group: JsonObject | None = None
    visible: JsonObject = field(default_factory=dict)
    context: JsonObject = field(default_factory=dict)
    truth: JsonObject = field(default_factory=dict)
    answers: Sequence[JsonObject] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


class Building:
    """Builds a suite from tasks, one at a time, and logs what it leaves out.

    Args:
        folder: where it is written.
        version: the version of VitaBench.
    """

    def __init__(self, folder: Path, version: str) -> None:
        self.folder = folder
        self.log = ImportLog()
        self._version = version
        self._ids: dict[str, str] = {}
        self._domains: set[str] = set()
        self._languages: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def read(self, path: Path) -> Iterator[Record]:
        """Yield the entries of a file; those that are not JSON are noted and left out."""
        # All files of the published layout have the same two names: the folder tells them apart.
        name = printable(f"{path.parent.name}/{path.name}" if path.name.startswith("tasks") else path.name)

        def torn(place: str, message: str) -> None:
            """Note an entry that cannot be read."""
            self.refuse(place, f"{message}; left out")

        return json_records(path, torn, "tasks", longest=limits.DIALOGUE_BYTES, name=name)

    def parsed(self, model: type[Model], data: Json, place: str) -> Model | None:
        """Return data validated as a model, or None after noting its problems."""
        parsed, problems = validated(model, data, place)
        if parsed is None:
            reasons = [f"{problem.message}{f' ({problem.hint})' if problem.hint else ''}" for problem in problems]
            self.refuse(place, f"{'; '.join(reasons[:3])}; the task is left out")
        return parsed

    def tables(self, task: VitaTask, place: str) -> Tables | None:
        """Return the tables that a task begins with, or None after noting why the task cannot become a case."""
        try:
            _, tables = task.domains, tables_of(task.environment)
        except ValueError as wrong:
            self.refuse(place, f"{' '.join(str(wrong).split())[:400]}; the task is left out")
            return None
        if not task.evaluation_criteria.rubrics and OrdersReference(task, tables).end is None:
            why = "no rubrics, and no orders that can be placed; the task is left out"
            self.refuse(place, f"there is nothing to judge by: {why}")
            return None
        return tables

    def refuse(self, place: str, message: str) -> None:
        """Note that a task is left out, and why."""
        self.log.note("unparsable", place, message, leaves="tasks")

    def finish(self, paths: Sequence[Path], tasks: Iterable[PlacedTask]) -> ImportReport:
        """Write cases, tools, tables and the manifest, and return the report of the import.

        Raises:
            SuiteError: no task comes over.
        """
        write_cases(self.folder / "cases.jsonl", self._cases(tasks))
        if not self._counts["cases"]:
            raise self.log.nothing(paths[0], "holds no task")
        (self.folder / "state").mkdir()
        for table in TABLES:
            (self.folder / "state" / f"{table}.jsonl").write_bytes(b"")
        tools = self._tools()
        write_suite(self.folder, self._manifest(paths), tools.values())
        name, cases = _FORMATS[self._version], self._counts["cases"]
        return self.log.report(self.folder, name, cases=cases, tools=len(tools), by_tool=Counter())

    def _tools(self) -> Mapping[str, Tool]:
        """Return the tools of the tasks' domains, sorted by name, without those that this version of VitaBench lacks."""
        parts = [packaged_tools(__package__, f"tools/{part}.yaml") for part in ("common", *sorted(self._domains))]
        tools = {name: tool for part in parts for name, tool in part.items()}
        absent = "get_user_historical_behaviors" if self._version == "2.0" else "taxi"
        return {name: tool for name, tool in sorted(tools.items()) if absent not in name}

    def _manifest(self, paths: Sequence[Path]) -> SuiteManifest:
        """Return the manifest of the suite, with the domains, languages and counts of its cases."""
        return imported_manifest(
            _FORMATS[self._version],
            digest([content_digest(path) for path in paths], 12),
            license="MIT" if self._version == "1.0" else None,
            language=self._languages.most_common(1)[0][0],
            domains={name: _DATA["domains"][name] for name in sorted(self._domains)},
            **_DATA["manifest"],
            sandbox={"worlds": [f"vita-{name}" for name in sorted(self._domains)]},
            description=(
                f"VitaBench {self._version} (meituan-longcat), imported: {self._counts['cases']} tasks; "
                f"in {self._counts['placed']} all required orders can be placed."
            ),
        )

    def _cases(self, tasks: Iterable[PlacedTask]) -> Iterator[Case]:
        """Yield the cases of tasks, and count them, their languages and their domains."""
        for placed in tasks:
            case = self._case(placed)
            if case is not None:
                self._counts["cases"] += 1
                self._languages[case.language] += 1
                self._domains.update(case.domains)
                yield case

    def _case(self, placed: PlacedTask) -> Case | None:
        """Return the case of a task, or None after noting why it cannot be one."""
        task = placed.task
        domains, language = task.domains, _language(task.instructions)
        case_id = self._unused(placed, language)
        if case_id is None:
            return None
        reference = OrdersReference(task, placed.tables)
        self._remark(f"{placed.place} ({case_id})", task, reference)
        uid, now = task.environment.user_id, f"{task.environment.time.replace(' ', 'T')}+08:00"
        data: JsonObject = {
            "id": case_id,
            "domains": list(domains),
            "language": language,
            "attributes": {"source": task.id, **_marks(reference), **placed.attributes},
            "group": placed.group,
            "visible": {
                "query": task.instructions,
                "context": {"now": now, "uid": uid, **placed.context},
                "messages": self._messages(task, placed.place),
                **placed.visible,
            },
            "world": {"rows": [{"table": name, "add": rows} for name, rows in placed.tables.items() if rows]},
            "truth": {
                "intent": task.instructions,
                "persona": json.dumps(task.user_scenario.user_profile, ensure_ascii=False),
                "requirements": [*_orders(reference, language), *_rubrics(task)],
                "user": {"answers": [*placed.answers, *_answers(task, language)]},
                "oracle": [
                    {"calls": reference.calls, "say": _DATA["undone" if reference.problem else "done"][language]}
                ],
                **placed.truth,
            },
        }
        case = self.log.case(data, placed.place)
        if case is None:
            self.log.leave("tasks")
        elif reference.end is not None:
            self._counts["placed"] += 1
        return case

    def _unused(self, placed: PlacedTask, language: str) -> str | None:
        """Return the id of a task's case, with its language where another language has it; None, after a note, where it is taken."""
        own = placed.case_id or placed.task.id
        case_id = own if self._ids.get(own, language) == language else f"{own}-{language}"
        if case_id in self._ids:
            self.refuse(placed.place, f"another task has the id {own}; the first one is kept")
            return None
        self._ids[case_id] = language
        return case_id

    def _remark(self, place: str, task: VitaTask, reference: OrdersReference) -> None:
        """Note what is odd about a task: its orders, domains, unknown fields, or a lack of rubrics."""
        if reference.problem:
            why = f"{reference.problem}; vita_orders does not apply"
            message = f"the required orders cannot be placed as they stand: {why}"
            self.log.note("unplaceable", place, message, leaves="lists of required orders")
        elif reference.end is None:
            self.log.note("no_orders", place, "the task requires no orders; vita_orders does not apply")
        for kind, message in reference.notes:
            self.log.note(kind, place, message)
        if odd := task.unknown_domains:
            taken = f"taken from what the environment sells: {', '.join(task.domains)}"
            self.log.note("domain", place, f"domain: found {'; '.join(odd)}; {taken}")
        for name in task.environment.unknown:
            hint = did_you_mean(name, VitaEnvironment.model_fields)
            message = f"environment: {printable(name)} is unknown and left out{f'; {hint}' if hint else ''}"
            self.log.note("environment", place, message, leaves="fields of environments")
        if not task.evaluation_criteria.rubrics:
            self.log.note("no_rubrics", place, "the task has no rubrics; vita_reward does not apply")

    def _messages(self, task: VitaTask, place: str) -> list[JsonObject]:
        """Return the earlier messages of user and agent; others are noted and left out."""
        roles = {"user": "user", "assistant": "agent"}
        given = [
            {"role": roles[str(message.get("role"))], "text": message["content"]}
            for message in task.message_history
            if message.get("role") in roles and isinstance(message.get("content"), str) and message["content"].strip()
        ]
        if left := len(task.message_history) - len(given):
            message = f"{left} earlier messages are no words of user or assistant"
            self.log.note("message_history", place, message, leaves="messages")
        return given


def _language(text: str) -> str:
    # A translation may keep a Chinese name. One Chinese character says as much as five letters.
    """Return ``zh`` where more than a fifth of a text's characters are Chinese, else ``en``."""
    return "zh" if 5 * len(_CHINESE.findall(text)) > len(text) else "en"


def _marks(reference: OrdersReference) -> dict[str, str]:
    """Return attributes to select cases by: whether the reference is odd, and which of its parts are not compared."""
    kinds = {kind for kind, _ in reference.notes}
    odd = "unplaceable" if reference.problem else "distraction" if "distraction" in kinds else ""
    marks = {"orders": odd}
    if reference.end is not None:
        marks |= {"choices": "unlisted" if "choice" in kinds else "", "time": "open" if "time" in kinds else ""}
    return {name: value for name, value in marks.items() if value}


def _orders(reference: OrdersReference, language: str) -> list[JsonObject]:
    """Return a list with the requirement that compares the orders at the end; an empty one where the reference has no end."""
    if reference.end is None:
        return []
    check = {"kind": "python", "name": "vita_orders", "arguments": reference.end}
    return [{"id": ORDERS, "kind": "hard", "scope": "outcome", "text": _DATA["orders"][language], "check": check}]


def _rubrics(task: VitaTask) -> list[JsonObject]:
    """Return a requirement for each rubric of a task."""
    return [
        {"id": f"{RUBRIC}{number}", "kind": "asked", "scope": "trajectory", "text": rubric}
        for number, rubric in enumerate(task.evaluation_criteria.rubrics, 1)
    ]


def _answers(task: VitaTask, language: str) -> list[JsonObject]:
    """Return what the scripted user of every task answers: the user id, and the addresses where there are any."""
    words = {"en": ("My user id is {}.", "Here: {}."), "zh": ("我的用户id是{}。", "地址是：{}。")}[language]
    answers = [{"asked": list(_DATA["asked_id"]), "say": words[0].format(task.environment.user_id)}]
    if task.environment.location:
        places = "; ".join(place.address for place in task.environment.location[:10])
        answers.append({"asked": list(_DATA["asked_address"]), "say": words[1].format(places)})
    return answers


# -- version 2.0: users, each with a sequence of tasks and the interactions before each task

_ROLES = {"user": "user", "assistant": "assistant", "agent": "assistant"}
_CHINESE_RUN = re.compile("[\u4e00-\u9fff]+")
#: Characters that do not tell one question from another.
_EMPTY_SIGNS = frozenset("的了是我你他她们在和有就都也很要会能这那个一不吃想吧吗呢请把给到去来用户")


class Subtask(TaskPart):
    """One task of a user of VitaBench 2.0, as it is published."""

    subtask_id: Id
    domain: str
    instruction: Annotated[str, Field(min_length=1)]
    environment: JsonObject
    user_scenario: VitaScenario = VitaScenario()
    evaluation_criteria: JsonObject = Field(default_factory=dict)
    message_history: tuple[JsonObject, ...] = ()
    interactions: tuple[JsonObject, ...] = ()
    skill_tested: tuple[str, ...] = ()
    user_intention: str = ""


class VitaUser(TaskPart):
    """A user of VitaBench 2.0 with a sequence of tasks, as it is published."""

    id: Id
    user_id: str = ""
    user_profile: JsonObject = Field(default_factory=dict)
    subtasks: Annotated[tuple[JsonObject, ...], Field(min_length=1)]

    @property
    def group(self) -> str:
        """Return the name of the group that the user's tasks form."""
        return safe_name(self.user_id or self.id, 60) or "user"


def import_vitabench2(src: Path, dest: Path) -> ImportReport:
    """Make a suite at ``dest`` of users of VitaBench 2.0: the tasks of each are a group, in order.

    Args:
        src: a file with a list of users, or with a user a line; or a folder of such files.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        The report: cases, tasks and interactions left out, and notes on odd ones.

    Raises:
        SuiteError: when a file cannot be read, or no task comes over.
        UsageError: when ``dest`` cannot be used.
    """
    paths = _task_files(src)
    with new_folder(dest) as folder:
        building = Building(folder, "2.0")
        groups: set[str] = set()
        users = (
            (place, user)
            for path in paths
            for place, data in building.read(path)
            if (user := building.parsed(VitaUser, data, place)) is not None
        )
        return building.finish(paths, (task for place, user in users for task in _tasks(building, place, user, groups)))


def _tasks(building: Building, place: str, user: VitaUser, groups: set[str]) -> Iterator[PlacedTask]:
    """Yield the readable tasks of a user, numbered from 1; interactions before an unreadable task move to the next task."""
    if user.group in groups:
        building.refuse(place, f"another user is called {printable(user.group)}; the first one is kept")
        return
    groups.add(user.group)
    waiting: list[JsonObject] = []
    earlier_changes: set[str] = set()
    order, last = 0, ""
    for number, data in enumerate(user.subtasks, 1):
        at = f"{place} (subtask {number})"
        subtask = building.parsed(Subtask, data, at)
        task = None if subtask is None else building.parsed(VitaTask, _as_task(subtask, user), at)
        if subtask is not None:
            waiting += _interactions(building, subtask, at)
        tables = None if task is None else building.tables(task, at)
        if subtask is None or task is None or tables is None:
            continue
        kept = []
        for interaction in sorted(waiting, key=lambda entry: str(entry["date"])):
            date = interaction["date"]
            if not _is_before(date, last) and not _is_before(task.environment.time, date):
                kept.append(interaction)
                last = date
            else:
                message = f"an interaction of {date} is not between {last or 'the first'} and the task; left out"
                building.log.note("sequence", at, message, leaves="interactions")
        waiting = []
        order += 1
        kind = "proactive" if "proactive" in subtask.skill_tested else "personalized"
        yield PlacedTask(
            place=at,
            task=task,
            tables=tables,
            case_id=f"{user.group}-{order:02}",
            group={"name": user.group, "order": order},
            visible={"interactions": kept},
            context={"profile": user.user_profile},
            truth={"preferences": _preferences(task)},
            answers=list(_intention_answer(subtask)),
            attributes={"task": kind, "preference": _drift(task, earlier_changes)},
        )


def _as_task(subtask: Subtask, user: VitaUser) -> JsonObject:
    """Return a subtask in the form of a task of 1.0; a subtask without a profile gets the user's profile."""
    scenario = subtask.user_scenario
    given = subtask.model_dump(include={"domain", "environment", "evaluation_criteria", "message_history"})
    profile = {"user_profile": scenario.user_profile or user.user_profile}
    names = {"id": subtask.subtask_id, "instructions": subtask.instruction}
    return {**given, **names, "user_scenario": {**scenario.model_dump(), **profile}}


def _is_before(first: str, second: str) -> bool:
    """Return whether a day or moment is earlier than another, to the minute; a day equals every moment on it."""
    length = min(len(first), len(second), len("2026-05-02T10:00"))
    return first[:length].replace(" ", "T") < second[:length].replace(" ", "T")


def _interactions(building: Building, subtask: Subtask, at: str) -> Iterator[JsonObject]:
    """Yield the interactions before a task, in either published form; note and omit interactions without date or words."""
    for number, raw in enumerate(subtask.interactions, 1):
        date = _date(raw.get("date", raw.get("timestamp")))
        content = raw.get("content")
        if content is not None and str(raw.get("type")) == "conversation" and isinstance(content, list):
            behavior, dialogue = [], _dialogue(content)
        elif content is not None:
            behavior, dialogue = [{"type": str(raw.get("type", "")), "content": _text(content)}], []
        else:
            entries = objects(raw.get("behavior"))
            behavior = [{"type": str(e.get("behavior_type", "")), "content": _text(e.get("content"))} for e in entries]
            dialogue = _dialogue(raw.get("dialogue"))
        behavior = [entry for entry in behavior if entry["content"].strip()]
        if not date or not (behavior or dialogue):
            message = f"interaction {number} has no {'words' if date else 'date'}; left out"
            building.log.note("interaction", at, message, leaves="interactions")
            continue
        yield {"date": date, "behavior": behavior, "dialogue": dialogue}


def _dialogue(value: Json) -> list[JsonObject]:
    """Return the role and content of each line of a dialogue that has words and a known role."""
    lines = ((str(entry.get("role")).lower(), _text(entry.get("content"))) for entry in objects(value))
    return [{"role": _ROLES[role], "content": text} for role, text in lines if role in _ROLES and text.strip()]


def _text(value: Json) -> str:
    """Return a text unchanged, None as an empty text, and any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _date(value: Json) -> str:
    """Return a day as ``YYYY-MM-DD``, or a moment with China's offset; empty for any other value."""
    text = value if isinstance(value, str) else ""
    try:
        return f"{moment_of(text.replace('T', ' ')).replace(' ', 'T')}+08:00"
    except ValueError:
        try:
            return day_of(text)
        except ValueError:
            return ""


def _preferences(task: VitaTask) -> list[str]:
    """Return the user's current preferences, each as ``category: tag``."""
    current = task.user_scenario.personalized_preference_memory.get("current")
    return [
        f"{category}: {_text(tag)}"
        for category, tags in (current.items() if isinstance(current, dict) else ())
        for tag in (tags if isinstance(tags, list) else [tags])
        if _text(tag).strip()
    ]


def _drift(task: VitaTask, earlier_changes: set[str]) -> str:
    """Return the first change of a preference since the last task: ``dropped``, ``changed`` or ``new``; otherwise ``kept``."""
    history = objects(task.user_scenario.personalized_preference_memory.get("preference_tag_change_history"))
    types = set()
    for change in history:
        mark = json.dumps(change, sort_keys=True, ensure_ascii=False)
        if mark not in earlier_changes:
            types.add(str(change.get("type")).lower())
        earlier_changes.add(mark)
    words = {"delete": "dropped", "update": "changed", "add": "new"}
    return next((word for name, word in words.items() if name in types), "kept")


def _intention_answer(subtask: Subtask) -> Iterator[JsonObject]:
    """Yield the user's intention as an answer to questions with words of it; nothing if the source gives no intention."""
    words = subtask.user_intention.strip()
    if words:
        asked = [word for word in _telling(words) if word not in subtask.instruction.lower()]
        yield {"asked": asked[:100] or [words[:80]], "say": words}


def _telling(text: str) -> Sequence[str]:
    """Return the significant words of a text without repetitions; for Chinese text, the pairs of neighbouring characters."""
    pairs = ("".join(pair) for run in _CHINESE_RUN.findall(text) for pair in pairwise(run))
    pairs = (pair for pair in pairs if not _EMPTY_SIGNS.intersection(pair))
    return list(dict.fromkeys([*filter(str.isascii, telling_words([text.lower()])), *pairs]))
