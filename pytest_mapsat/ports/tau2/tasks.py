"""The published files of a domain of tau2-bench, read within limits: tasks, splits, databases, policy."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pytest_mapsat.formats import (
    Lines,
    Located,
    limits,
    located_json,
    parse_json,
    parse_yaml,
    printable,
    read_bytes,
    read_text,
    shown_path,
    validate,
)
from pytest_mapsat.model import Json, JsonObject, Problem, SuiteError, did_you_mean, shown
from pytest_mapsat.suite import ImportLog

from .worlds import WORLDS

Who = Literal["assistant", "user"]
Part = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]
#: The most characters that a published id has.
_ID = 2_000
#: The most actions, assertions or texts of a task: each action is held against each call.
_MOST = 200
_LARGEST = 128 * limits.MIB
_POLICIES = {"telecom": ("main_policy.md", "tech_support_manual.md")}


class _Published(BaseModel):
    """Base of the parts of a task."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Action(_Published):
    """A reference action, or a call of the messages that a task begins with."""

    action_id: str = ""
    requestor: Who = "assistant"
    name: str
    arguments: JsonObject
    info: Json = None
    compare_args: list[str] | None = None


class FunctionCall(_Published):
    """A call that a task begins with."""

    env_type: Who
    func_name: str
    arguments: JsonObject


class Assertion(FunctionCall):
    """A statement on a world that must be true, or false, at the end."""

    assert_value: bool = True
    message: str | None = None


class MessageCall(_Published):
    """A tool call in a message."""

    id: str = ""
    name: str
    arguments: JsonObject
    requestor: Who = "assistant"


class HistoryMessage(_Published):
    """A message before the dialogue."""

    role: Literal["user", "assistant", "tool", "system"]
    content: str | None = None
    tool_calls: list[MessageCall] | None = None
    id: str | None = None
    requestor: Who | None = None
    error: bool | None = None
    turn_idx: int | None = None


class InitialData(_Published):
    """Changes to the databases."""

    agent_data: JsonObject | None = None
    user_data: JsonObject | None = None


class InitialState(_Published):
    """Where a task begins."""

    initialization_data: InitialData | None = None
    initialization_actions: list[FunctionCall] | None = None
    message_history: list[HistoryMessage] | None = None


class Instructions(_Published):
    """The user's instructions, in parts."""

    domain: str = ""
    reason_for_call: str
    known_info: str | None = None
    unknown_info: str | None = None
    task_instructions: str = ""


class Scenario(_Published):
    """Who the user is, and the user's instructions."""

    persona: str | None = None
    instructions: Instructions | str


class Criteria(_Published):
    """The criteria that the dialogue is measured by."""

    actions: list[Action] | None = Field(default=None, max_length=_MOST)
    env_assertions: list[Assertion] | None = Field(default=None, max_length=_MOST)
    communicate_info: list[str] | None = Field(default=None, max_length=_MOST)
    nl_assertions: list[str] | None = Field(default=None, max_length=_MOST)
    reward_basis: list[Part] = ["DB", "COMMUNICATE"]


class Task(_Published):
    """A task as it is published."""

    id: str = Field(min_length=1, max_length=_ID)
    description: Json = None
    user_scenario: Scenario
    ticket: str | None = None
    initial_state: InitialState | None = None
    evaluation_criteria: Criteria | None = None
    issues: Json = None
    annotations: Json = None
    required_documents: list[str] | None = None
    user_tools: list[str] | None = None


@dataclass(frozen=True)
class Domain:
    """The files of one domain.

    Attributes:
        name: of the domain.
        folder: where they are.
        database: the agent's.
        user_database: the user's; empty where none is published.
        policy: the words of the policy.
        splits: the ids of tasks by split.
    """

    name: str
    folder: Path
    database: JsonObject
    user_database: JsonObject
    policy: str
    splits: Mapping[str, frozenset[str]]


def folders_in(src: Path, log: ImportLog) -> dict[str, Path]:
    """Return the folders of domains by name: the folder itself, or those in it, or in ``data/tau2/domains`` of the repository.

    A domain beside them that is not imported is noted.

    Raises:
        SuiteError: there is none that has a world here.
    """
    if (src / "tasks.json").is_file():
        name = src.resolve().name
        if name not in WORLDS:
            hint = did_you_mean(name, WORLDS) or f"worlds are there for {', '.join(WORLDS)}"
            message = f"is no folder of a domain that has a world: {printable(name)}"
            raise SuiteError(Problem(shown_path(src), 0, message, hint))
        return {name: src}
    places = [src, src / "domains", src / "tau2" / "domains", src / "data" / "tau2" / "domains"]
    for place in places:
        if domains := {name: place / name for name in WORLDS if (place / name / "tasks.json").is_file()}:
            for other in sorted(path.name for path in place.iterdir() if path.is_dir() and path.name[0] not in "._"):
                if other not in domains:
                    lacks = "it has no tasks.json" if other in WORLDS else "it has no world here"
                    log.note("domain", printable(other), f"the domain is left out: {lacks}", leaves="domains")
            return domains
    hint = f"name the repository, or the folder of a domain: data/tau2/domains/{next(iter(WORLDS))}"
    raise SuiteError(Problem(shown_path(src), 0, "holds no tasks.json of a domain", hint))


def read_domain(name: str, folder: Path) -> Domain:
    """Return the files of a domain but its tasks.

    Raises:
        SuiteError: one is missing or cannot be read, or there are no tasks.
    """
    if re.fullmatch(r"\s*\[\s*\]\s*", read_text(folder / "tasks.json", _LARGEST)):
        raise SuiteError(Problem(shown_path(folder / "tasks.json"), 1, "holds no task"))
    names = _POLICIES.get(name, ("policy.md",))
    policies = {file: read_bytes(folder / file, limits.YAML_BYTES).decode("utf-8", "replace") for file in names}
    policy = next(iter(policies.values()))
    if len(policies) > 1:
        policy = "\n".join(f"<{Path(file).stem}>\n{text}\n</{Path(file).stem}>" for file, text in policies.items())
    database = _database(folder, "db")
    if database is None:
        message = "has neither db.json nor db.toml"
        raise SuiteError(Problem(shown_path(folder), 0, message, "the database of the domain"))
    return Domain(name, folder, database, _database(folder, "user_db") or {}, policy, _splits(folder))


def _database(folder: Path, stem: str) -> JsonObject | None:
    """Return a database, published as JSON or TOML; None where there is no such file."""
    path = next((path for ending in ("json", "toml") if (path := folder / f"{stem}.{ending}").is_file()), None)
    if path is None:
        return None
    text = read_text(path, _LARGEST)
    if path.suffix == ".toml":
        try:
            data = parse_json(json.dumps(tomllib.loads(text), default=_moment))
        except (ValueError, TypeError) as error:
            raise SuiteError(Problem(shown_path(path), 0, f"is not valid TOML: {error}")) from None
        except RecursionError:
            raise SuiteError(Problem(shown_path(path), 0, "is nested too deeply")) from None
    else:
        data = located_json(text, shown_path(path), 1)
    if not isinstance(data, dict):
        raise SuiteError(Problem(shown_path(path), 1, f"found {shown(data)}, expected an object of tables"))
    return data


def _moment(value: Any) -> str:
    if not hasattr(value, "isoformat"):
        raise TypeError(f"{shown(value)} is no JSON value")
    return str(value.isoformat())


def _splits(folder: Path) -> dict[str, frozenset[str]]:
    path = folder / "split_tasks.json"
    if not path.is_file():
        return {}
    data = located_json(read_text(path, _LARGEST), shown_path(path), 1)
    try:
        splits = TypeAdapter(dict[str, list[str]]).validate_python(data, strict=True)
    except ValidationError:
        message = f"found {shown(data)}, expected lists of ids by the name of a split"
        raise SuiteError(Problem(shown_path(path), 1, message)) from None
    return {name: frozenset(ids) for name, ids in splits.items()}


def read_tasks(path: Path, log: ImportLog) -> Iterator[tuple[Task, str]]:
    """Give the tasks of a file, each with its place; one that is malformed is noted and left out.

    Raises:
        SuiteError: the file is no list of tasks.
    """
    text, name = read_text(path, _LARGEST), shown_path(path)
    for source, line in _elements(text, name):
        place, problems = f"{printable(path.name)}:{line}", list[Problem]()
        try:
            data = parse_json(source)
        except ValueError as error:
            raise SuiteError(Problem(name, line, str(error))) from None
        left_out = _unknown(Task, data)
        for field in left_out:
            log.leave(f"tasks' {field}")
        task = validate(Task, Located(data, Lines(line)), name, problems)
        if task is None:
            # Only now, as lines within a task cost a slow reader.
            problems = _with_lines(source, line, name) or problems
            for problem in problems:
                hint = f" ({problem.hint})" if problem.hint else ""
                message = f"{problem.message}; the task is left out{hint}"
                log.note("unparsable", f"{printable(path.name)}:{problem.line}", message)
            log.leave("tasks")
            continue
        yield task, place


def _elements(text: str, name: str) -> Iterator[tuple[str, int]]:
    """Give the texts of the elements of a list in JSON, each with its line. Raises SuiteError where there is no list."""
    located_json(text, name, 1)
    start = text.find("[")
    before = text[:start].strip()
    if start < 0 or (before and not before.replace(" ", "").endswith('"tasks":')):
        raise SuiteError(Problem(name, 1, "holds no list of tasks"))
    decoder, at, line, counted = json.JSONDecoder(), start + 1, 1, 0
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "]":
            return
        _, end = decoder.raw_decode(text, at)
        line += text.count("\n", counted, at)
        counted = at
        yield text[at:end], line
        at = end


def _with_lines(source: str, line: int, name: str) -> list[Problem]:
    """Return what is wrong with a task, with the line of each part; nothing where the parts cannot be placed."""
    problems: list[Problem] = []
    try:
        (document,) = parse_yaml(source.replace("\t", " ").encode(), name)
    except (SuiteError, ValueError):
        return []
    _unknown(Task, document.data)
    validate(Task, document, name, problems)
    return [Problem(name, line + problem.line - 1, problem.message, problem.hint) for problem in problems]


_PARTS: dict[str, type[BaseModel]] = {
    "user_scenario": Scenario,
    "instructions": Instructions,
    "evaluation_criteria": Criteria,
    "initial_state": InitialState,
    "actions": Action,
    "env_assertions": Assertion,
    "initialization_actions": FunctionCall,
    "message_history": HistoryMessage,
    "tool_calls": MessageCall,
}


def _unknown(model: type[BaseModel], data: Json) -> list[str]:
    """Remove unknown fields from a task and return their names; a likely misspelling stays, and is refused later."""
    if not isinstance(data, dict):
        return []
    strange = [name for name in data if name not in model.model_fields and not did_you_mean(name, model.model_fields)]
    for name in strange:
        del data[name]
    for name, part in _PARTS.items():
        inner = data.get(name) if name in model.model_fields else None
        for item in inner if isinstance(inner, list) else [inner]:
            strange += [f"{name}.{field}" for field in _unknown(part, item)]
    return strange
