"""Import of VitaBench 2.0: users, each with a sequence of tasks and the interactions before each task."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_mapsat.formats import printable
from pytest_mapsat.model import Json, JsonObject
from pytest_mapsat.suite import ImportReport, new_folder

from .importer import Building, Placed
from .sources import task_files
from .tasks import Id, Part, Scenario, Task
from .world import day_of, moment_of

_ROLES = {"user": "user", "assistant": "assistant", "agent": "assistant"}
_CHINESE = re.compile("[\u4e00-\u9fff]+")
_WORD = re.compile(r"[a-z]{4,}")
#: Words and characters that do not tell one question from another.
_EMPTY = frozenset(
    [
        "about",
        "also",
        "around",
        "because",
        "been",
        "before",
        "could",
        "from",
        "have",
        "into",
        "just",
        "like",
        "more",
        "much",
        "only",
        "other",
        "please",
        "really",
        "should",
        "some",
        "than",
        "that",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "today",
        "want",
        "were",
        "what",
        "when",
        "where",
        "which",
        "will",
        "with",
        "would",
        "your",
        "user",
    ]
)
_EMPTY_SIGNS = frozenset("的了是我你他她们在和有就都也很要会能这那个一不吃想吧吗呢请把给到去来用户")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class Subtask(Part):
    """One task of a user."""

    subtask_id: Id
    domain: str
    instruction: Annotated[str, Field(min_length=1)]
    environment: JsonObject
    user_scenario: Scenario = Scenario()
    evaluation_criteria: JsonObject = Field(default_factory=dict)
    message_history: tuple[JsonObject, ...] = ()
    interactions: tuple[JsonObject, ...] = ()
    skill_tested: tuple[str, ...] = ()
    user_intention: str = ""


class User(Part):
    """A user with a sequence of tasks."""

    id: Id
    user_id: str = ""
    user_profile: JsonObject = Field(default_factory=dict)
    subtasks: Annotated[tuple[JsonObject, ...], Field(min_length=1)]

    @property
    def group(self) -> str:
        """The name of the group of the user's tasks."""
        return _UNSAFE.sub("-", self.user_id or self.id).strip("-.")[:60] or "user"


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
    paths = task_files(src)
    with new_folder(dest) as folder:
        building = Building(folder, "2.0")
        groups: set[str] = set()
        users = (
            (place, user)
            for path in paths
            for place, data in building.read(path)
            if (user := building.parsed(User, data, place)) is not None
        )
        return building.finish(paths, (task for place, user in users for task in _tasks(building, place, user, groups)))


def _tasks(building: Building, place: str, user: User, groups: set[str]) -> Iterator[Placed]:
    """Give the readable tasks of a user, counted from 1; the interactions before an unreadable one go to the next."""
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
        task = None if subtask is None else building.parsed(Task, _as_task(subtask, user), at)
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
        yield Placed(
            place=at,
            task=task,
            tables=tables,
            case_id=f"{user.group}-{order:02}",
            group={"name": user.group, "order": order},
            visible={"interactions": kept},
            context={"profile": user.user_profile},
            truth={"preferences": _preferences(task)},
            answers=list(_hidden(subtask)),
            attributes={
                "task": "proactive" if "proactive" in subtask.skill_tested else "personalized",
                "preference": _drift(task, earlier_changes),
            },
        )


def _as_task(subtask: Subtask, user: User) -> JsonObject:
    scenario = subtask.user_scenario
    return {
        "id": subtask.subtask_id,
        "domain": subtask.domain,
        "instructions": subtask.instruction,
        "environment": subtask.environment,
        "evaluation_criteria": subtask.evaluation_criteria,
        "message_history": subtask.message_history,
        "user_scenario": {
            "user_profile": scenario.user_profile or user.user_profile,
            "personalized_preference_memory": scenario.personalized_preference_memory,
        },
    }


def _is_before(first: str, second: str) -> bool:
    """Return whether a day or moment is before another; a day and a moment on it are at the same time."""
    length = min(len(first), len(second), len("2026-05-02T10:00"))
    return first[:length].replace(" ", "T") < second[:length].replace(" ", "T")


def _interactions(building: Building, subtask: Subtask, at: str) -> Iterator[JsonObject]:
    """Give the interactions before a task, in either form of the source; one without a date or words is noted and left out."""
    for number, raw in enumerate(subtask.interactions, 1):
        date = _date(raw.get("date", raw.get("timestamp")))
        content = raw.get("content")
        if content is not None and str(raw.get("type")) == "conversation" and isinstance(content, list):
            behavior, dialogue = [], _dialogue(content)
        elif content is not None:
            behavior, dialogue = [{"type": str(raw.get("type", "")), "content": _text(content)}], []
        else:
            behavior = [
                {"type": str(entry.get("behavior_type", "")), "content": _text(entry.get("content"))}
                for entry in _objects(raw.get("behavior"))
            ]
            dialogue = _dialogue(raw.get("dialogue"))
        behavior = [entry for entry in behavior if entry["content"].strip()]
        if not date or not (behavior or dialogue):
            message = f"interaction {number} has no {'words' if date else 'date'}; left out"
            building.log.note("interaction", at, message, leaves="interactions")
            continue
        yield {"date": date, "behavior": behavior, "dialogue": dialogue}


def _objects(value: Json) -> list[JsonObject]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _dialogue(value: Json) -> list[JsonObject]:
    lines = ((str(entry.get("role")).lower(), _text(entry.get("content"))) for entry in _objects(value))
    return [{"role": _ROLES[role], "content": text} for role, text in lines if role in _ROLES and text.strip()]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _date(value: Json) -> str:
    """Return a date as a case has it, a moment with China's offset; empty for anything else."""
    text = value if isinstance(value, str) else ""
    try:
        return f"{moment_of(text.replace('T', ' ')).replace(' ', 'T')}+08:00"
    except ValueError:
        try:
            return day_of(text)
        except ValueError:
            return ""


def _preferences(task: Task) -> list[str]:
    """Return the user's preferences at a task: the tags of each category."""
    current = task.user_scenario.personalized_preference_memory.get("current")
    return [
        f"{category}: {_text(tag)}"
        for category, tags in (current.items() if isinstance(current, dict) else ())
        for tag in (tags if isinstance(tags, list) else [tags])
        if _text(tag).strip()
    ]


def _drift(task: Task, earlier_changes: set[str]) -> str:
    """Return ``dropped``, ``changed`` or ``new``, the first that holds for a preference since the task before; else ``kept``."""
    history = _objects(task.user_scenario.personalized_preference_memory.get("preference_tag_change_history"))
    types = set()
    for change in history:
        mark = json.dumps(change, sort_keys=True, ensure_ascii=False)
        if mark not in earlier_changes:
            types.add(str(change.get("type")).lower())
        earlier_changes.add(mark)
    return next(
        (word for name, word in (("delete", "dropped"), ("update", "changed"), ("add", "new")) if name in types), "kept"
    )


def _hidden(subtask: Subtask) -> Iterator[JsonObject]:
    """Give what the user tells only when asked: a question is recognised by its words, without those of the request."""
    words = subtask.user_intention.strip()
    if words:
        asked = [word for word in _telling(words) if word not in subtask.instruction.lower()]
        yield {"asked": asked[:100] or [words[:80]], "say": words}


def _telling(text: str) -> Sequence[str]:
    """Return the words of a text that tell its subject; of Chinese text pairs of characters."""
    pairs = [
        run[at : at + 2]
        for run in _CHINESE.findall(text)
        for at in range(len(run) - 1)
        if not _EMPTY_SIGNS.intersection(run[at : at + 2])
    ]
    return list(dict.fromkeys([*(word for word in _WORD.findall(text.lower()) if word not in _EMPTY), *pairs]))
