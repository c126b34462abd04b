"""Import of tau2-bench's published folders: a suite for each domain, with its world, its tasks as cases and the metrics of their reward."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pytest_mapsat.formats import (
    content_digest,
    json_elements,
    limits,
    located_json,
    package_data,
    parse_json,
    printable,
    read_bytes,
    read_text,
    shown_path,
)
from pytest_mapsat.model import (
    Case,
    Json,
    JsonObject,
    MapsatError,
    RowPatch,
    SuiteManifest,
    canonical_json,
    did_you_mean,
    digest,
    hint_at,
    same,
    shown,
)
from pytest_mapsat.ports import TRIAL, imported_manifest, source_error, validated, write_suite
from pytest_mapsat.sandbox import SandboxAnswer, State, end_state, make_sandbox, net_changes, tables_of
from pytest_mapsat.suite import ImportLog, ImportReport, Suite, new_folder, open_suite, write_cases, write_rows

from . import OPTION, PARTS, WORLDS, assertion_holds
from .world import ToolFacts, facts_of, overlaid, specs_of

Who = Literal["assistant", "user"]
Part = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]
#: The most characters that a published id has.
_ID = 2_000
#: The most actions, assertions or texts of a task: each action is held against each call.
_MOST = 200
_LARGEST = 128 * limits.MIB
_POLICIES = {"telecom": ("main_policy.md", "tech_support_manual.md")}


class _Published(BaseModel):
    """Base of the published parts of a task: types are strict, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Action(_Published):
    """A reference action, or a tool call in the messages that a task begins with."""

    action_id: str = ""
    id: str = ""
    requestor: Who = "assistant"
    name: str
    arguments: JsonObject
    info: Json = None
    compare_args: list[str] | None = None


class FunctionCall(_Published):
    """A call that sets up the world of a task."""

    env_type: Who
    func_name: str
    arguments: JsonObject


class Assertion(FunctionCall):
    """An assertion about a world that must be true, or false, at the end."""

    assert_value: bool = True
    message: str | None = None


class HistoryMessage(_Published, extra="ignore"):
    """A message before the dialogue."""

    role: Literal["user", "assistant", "tool", "system"]
    content: str | None = None
    tool_calls: list[Action] | None = None


class InitialData(_Published):
    """The changes to the databases of agent and user that a task begins with."""

    agent_data: JsonObject | None = None
    user_data: JsonObject | None = None


class InitialState(_Published):
    """The initial state of a task: changed databases, calls that set up its world, and earlier messages."""

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


class TauScenario(_Published):
    """Who the user is, and the user's instructions."""

    persona: str | None = None
    instructions: Instructions | str


class TauCriteria(_Published):
    """The criteria that a dialogue is judged by, and the parts that count for its reward."""

    actions: list[Action] | None = Field(default=None, max_length=_MOST)
    env_assertions: list[Assertion] | None = Field(default=None, max_length=_MOST)
    communicate_info: list[str] | None = Field(default=None, max_length=_MOST)
    nl_assertions: list[str] | None = Field(default=None, max_length=_MOST)
    reward_basis: list[Part] = ["DB", "COMMUNICATE"]


class TauTask(_Published):
    """A task as it is published."""

    id: str = Field(min_length=1, max_length=_ID)
    description: Json = None
    user_scenario: TauScenario
    ticket: str | None = None
    initial_state: InitialState | None = None
    evaluation_criteria: TauCriteria | None = None
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
    """Return the folders of domains by name: ``src`` itself, or those in it, or in ``data/tau2/domains`` of the repository.

    A domain beside them that is not imported is noted.

    Raises:
        SuiteError: there is none that has a world here.
    """
    if (src / "tasks.json").is_file():
        name = src.resolve().name
        if name not in WORLDS:
            hint = did_you_mean(name, WORLDS) or f"worlds are there for {', '.join(WORLDS)}"
            message = f"is no folder of a domain that has a world: {printable(name)}"
            raise source_error(src, message, hint)
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
    raise source_error(src, "holds no tasks.json of a domain", hint)


def read_domain(name: str, folder: Path) -> Domain:
    """Return the databases, the policy and the splits of a domain, without its tasks.

    Raises:
        SuiteError: one is missing or cannot be read, or there are no tasks.
    """
    if re.fullmatch(r"\s*\[\s*\]\s*", read_text(folder / "tasks.json", _LARGEST)):
        raise source_error(folder / "tasks.json", "holds no task", line=1)
    names = _POLICIES.get(name, ("policy.md",))
    policies = {file: read_bytes(folder / file, limits.YAML_BYTES).decode("utf-8", "replace") for file in names}
    policy = next(iter(policies.values()))
    if len(policies) > 1:
        policy = "\n".join(f"<{Path(file).stem}>\n{text}\n</{Path(file).stem}>" for file, text in policies.items())
    database = _database(folder, "db")
    if database is None:
        raise source_error(folder, "has neither db.json nor db.toml", "the database of the domain")
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
            raise source_error(path, f"is not valid TOML: {error}") from None
        except RecursionError:
            raise source_error(path, "is nested too deeply") from None
    else:
        data = located_json(text, shown_path(path), 1)
    if not isinstance(data, dict):
        raise source_error(path, f"found {shown(data)}, expected an object of tables", line=1)
    return data


def _moment(value: Any) -> str:
    """Return a date or time of a TOML file in ISO 8601. Raises TypeError for any other value."""
    if not hasattr(value, "isoformat"):
        raise TypeError(f"{shown(value)} is no JSON value")
    return str(value.isoformat())


def _splits(folder: Path) -> dict[str, frozenset[str]]:
    """Return the ids of tasks by split; empty where there is no ``split_tasks.json``. Raises SuiteError where it is malformed."""
    path = folder / "split_tasks.json"
    if not path.is_file():
        return {}
    data = located_json(read_text(path, _LARGEST), shown_path(path), 1)
    try:
        splits = TypeAdapter(dict[str, list[str]]).validate_python(data, strict=True)
    except ValidationError:
        raise source_error(path, f"found {shown(data)}, expected lists of ids by the name of a split", line=1) from None
    return {name: frozenset(ids) for name, ids in splits.items()}


def read_tasks(path: Path, log: ImportLog) -> Iterator[tuple[TauTask, str]]:
    """Yield the tasks of a file, each with its place; malformed ones are noted and left out.

    Raises:
        SuiteError: the file is no list of tasks.
    """
    name = printable(path.name)
    for line, data in json_elements(read_text(path, _LARGEST), shown_path(path), "tasks"):
        # A likely misspelling stays, and is refused.
        strange = data.keys() - TauTask.model_fields.keys() if isinstance(data, dict) else ()
        for field in strange:
            if not did_you_mean(field, TauTask.model_fields):
                del data[field]
                log.leave(f"tasks' {field}")
        task, problems = validated(TauTask, data, name, line)
        for problem in problems:
            hint = f" ({problem.hint})" if problem.hint else ""
            log.note("unparsable", f"{name}:{line}", f"{problem.message}; the task is left out{hint}")
        if task is None:
            log.leave("tasks")
        else:
            yield task, f"{name}:{line}"


_DATA = package_data(__package__, "words.yaml")
_LONGEST = 20_000


def first_person(text: str) -> str:
    """Return the user's instructions in the first person: "You want your money back." as "I want my money back."."""
    for pattern, spoken in _DATA["first_person"]:

        def as_said(match: re.Match[str], spoken: str = spoken) -> str:
            """Return the replacement of a matched phrase, capitalized where the phrase is."""
            words = match.expand(spoken)
            return words[0].upper() + words[1:] if match[0][0].isupper() else words

        text = re.sub(pattern, as_said, text, flags=re.IGNORECASE)
    return text


def opening(task: TauTask) -> str:
    """Return the user's first words: the reason for the call, or all instructions, in the first person."""
    scenario = task.user_scenario.instructions
    words = scenario if isinstance(scenario, str) else scenario.reason_for_call
    return first_person(words).strip()[:_LONGEST] or "Hello."


def briefing(task: TauTask) -> str:
    """Return the whole prompt for a model that plays the user: the task's instructions, in parts with headings."""
    scenario = task.user_scenario.instructions
    if isinstance(scenario, str):
        return scenario
    parts = {
        "Why you call": scenario.reason_for_call,
        "What you know": scenario.known_info,
        "What you do not know": scenario.unknown_info,
        "How you behave": scenario.task_instructions,
    }
    return "\n\n".join(f"{title}:\n{text.strip()}" for title, text in parts.items() if text and text.strip())


def answers(task: TauTask, facts: Mapping[str, ToolFacts], calls: Sequence[Action]) -> Iterator[JsonObject]:
    """Yield the answers and the calls of the scripted user, each with the phrases that ask for it.

    Args:
        task: the task.
        facts: the facts of the domain's tools.
        calls: the user's calls of the reference.
    """
    # Equal calls once: the words that ask for them are the same.
    with_arguments = [call for call in {request(call): call for call in calls}.values() if call.arguments]
    for call in with_arguments:
        alone = sum(other.name == call.name for other in with_arguments) == 1
        asked = [request(call), *(facts[call.name].asked if alone else _distinctive(call))]
        yield {"asked": asked, "calls": [{"tool": call.name, "arguments": call.arguments}], "say": f"{{{call.name}}}"}
    for name, fact in facts.items():
        if fact.by == "user" and not fact.needs:
            yield {"asked": [_spoken(name), *fact.asked], "calls": [{"tool": name}], "say": f"{{{name}}}"}
    scenario = task.user_scenario.instructions
    if isinstance(scenario, Instructions):
        for words in (scenario.known_info, scenario.unknown_info):
            if words and words.strip():
                yield {"asked": list(_DATA["identity"]), "say": first_person(words).strip()[:_LONGEST]}


def _distinctive(call: Action) -> list[str]:
    """Return phrases that distinguish a call from others of its tool, by its last argument, as in "storage permission"."""
    name, value = list(call.arguments.items())[-1]
    words = str(value).replace("_", " "), name.replace("_", " ")
    return [f"{words[0]} {words[1]}", f"{words[1]} for {words[0]}"]


def request(call: Action) -> str:
    """Return the words that ask a user for a call: its name, the values of its arguments, and "now"."""
    return _spoken(call.name, *call.arguments.values())


def _spoken(name: str, *values: Json) -> str:
    """Return the words that ask for a call; they end with "now", so that they do not begin the words for another call."""
    return " ".join([*(str(part).replace("_", " ") for part in (name, *values)), "now"])


def oracle(actions: Sequence[Action], must_say: Sequence[str]) -> list[JsonObject]:
    """Return the turns of an agent that knows the reference: it makes its own calls, and asks the user for the user's.

    Args:
        actions: the reference: both sides' calls, in order.
        must_say: the texts that a reply must have.
    """
    turns: list[JsonObject] = []
    calls: list[dict[str, Any]] = []
    for action in actions:
        if action.requestor == "user":
            turns.append({"calls": calls, "say": f"Please {request(action)}."})
            calls = []
        else:
            calls.append({"tool": action.name, "arguments": action.arguments})
    sentences = ["Everything is done.", *(f"{words}." for words in must_say)]
    turns.append({"calls": calls, "say": " ".join(sentences)})
    return turns


_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_UNSAFE_NAME = re.compile(r"\W+")
_LONGEST_ID, _LONGEST_TEXT = 60, 2_000
_SIDES = {"assistant": "agent", "user": "user"}
_PART_OF = {prefix: part for part, prefix in PARTS.items()}
#: Attributes that the ids of telecom's tasks hold.
_IN_ID = {"issue": re.compile(r"^\[(\w+)\]"), "persona": re.compile(r"\[PERSONA:(\w+)\]$")}


class _Played(NamedTuple):
    """The outcome of actions: those taken, those refused, the assertions broken before and after, and whether anything changed."""

    taken: list[Action]
    refused: list[tuple[Action, SandboxAnswer]]
    broken_before: list[Assertion]
    broken: list[Assertion]
    changes: bool


@dataclass
class Conversion:
    """Converts one task into a case.

    Attributes:
        task: the task.
        place: its file and line, for notes.
        files: the files of its domain.
        suite: the suite that gets the case, with tools and tables.
        tables: the rows of the tables.
        log: gets the notes.
    """

    task: TauTask
    place: str
    files: Domain
    suite: Suite
    tables: Mapping[str, Sequence[JsonObject]]
    log: ImportLog

    @property
    def domain(self) -> str:
        """Return the name of the task's domain."""
        return self.files.name

    @cached_property
    def facts(self) -> Mapping[str, ToolFacts]:
        """Return the facts of the tools of the domain's world, by name."""
        return facts_of(WORLDS[self.domain])

    @cached_property
    def criteria(self) -> TauCriteria:
        """Return the criteria of the task; without any, criteria that ask for nothing."""
        return self.task.evaluation_criteria or TauCriteria(reward_basis=[])

    @cached_property
    def start(self) -> InitialState:
        """Return the initial state of the task; an empty one where the task has none."""
        return self.task.initial_state or InitialState()

    def case(self) -> Case | None:
        """Return the case, or None after noting why it cannot be one."""
        data = self._case_without_requirements()
        start = self.log.case(data, self.place)
        if start is None:
            return None
        self._check_assertions()
        played = self._reference(start)
        reference = played.taken
        carried = self._rewarded_requirements()
        spoken = list(self.criteria.communicate_info or []) if "COMMUNICATE" in self.criteria.reward_basis else []
        user_calls = [action for action in reference if action.requestor == "user"]
        acts = any(fact.by == "user" for fact in self.facts.values())
        data["truth"] |= {
            "requirements": carried,
            "end": _planned(reference),
            "oracle": oracle(reference, spoken),
            "user": {
                "answers": list(answers(self.task, self.facts, user_calls)),
                "confirms": "yes",
                "may": ["volunteer", "go_on", *(["act"] if acts else [])],
                "prompt": briefing(self.task),
            },
        }
        data["attributes"] = self._attributes(played, carried)
        data["domains"] = [f"{self.domain}_silent" if data["attributes"]["silent"] == "passes" else self.domain]
        return self.log.case(data, self.place)

    def _note(self, kind: str, message: str) -> None:
        """Note something odd about the task."""
        self.log.note(kind, f"{self.place} ({self.domain} {shown(self.task.id)})", message)

    def _case_without_requirements(self) -> JsonObject:
        """Return the data of the case without its requirements, its scripted user and its oracle."""
        plain = _UNSAFE.sub("_", self.task.id).strip("_")
        case_id = f"{self.domain}-{plain}"
        if plain != self.task.id or len(case_id) > _LONGEST_ID or TRIAL.search(case_id):
            case_id = f"{case_id[:_LONGEST_ID]}-{digest(self.task.id, size=8)}"
        messages, calls, query = self._history()
        now = WORLDS[self.domain].now
        return {
            "id": case_id,
            "visible": {"messages": messages, "query": query or opening(self.task), "context": {"now": now}},
            "truth": {"persona": self.task.user_scenario.persona or "", "intent": opening(self.task)},
            "world": {"rows": self._rows(), "calls": [*self._first_calls(), *calls]},
        }

    # -- where the task begins

    def _rows(self) -> list[JsonObject]:
        """Return the row patches that turn the domain's databases into those of the task; an empty list without changes."""
        data = self.start.initialization_data
        if data is None:
            return []
        world, domain = WORLDS[self.domain], self.files
        agent, user = (
            overlaid(domain.database, data.agent_data or {}),
            overlaid(domain.user_database, data.user_data or {}),
        )
        patches: list[RowPatch] = []
        keys = {**world.keys, **world.user_keys}
        for table, rows in world.tables(agent, user).items():
            key = keys[table]
            former, new = ({row[key]: row for row in side} for side in (self.tables[table], rows))
            if gone := sorted(former.keys() - new.keys()):
                patches.append(RowPatch(table=table, where={key: gone}, hide=True))
            for row_id in sorted(new.keys() & former.keys()):
                before = former[row_id]
                if changed := {name: value for name, value in new[row_id].items() if not same(value, before.get(name))}:
                    patches.append(RowPatch(table=table, where={key: row_id}, set=changed))
            if added := tuple(row for row_id, row in new.items() if row_id not in former):
                patches.append(RowPatch(table=table, add=added))
        return [patch.to_json() for patch in patches]

    def _first_calls(self) -> list[JsonObject]:
        """Return the calls that set up the task's world. Raises ValueError where the world has no such function."""
        actions = self.start.initialization_actions or []
        for action in actions:
            self._check_function(action.func_name)
        return [{"tool": action.func_name, "arguments": action.arguments} for action in actions]

    def _history(self) -> tuple[list[JsonObject], list[JsonObject], str]:
        """Return the earlier messages, the writing calls in them, and, cut off from them, a last message of the user (else empty)."""
        history = self.start.message_history or []
        roles = {"user": "user", "assistant": "agent"}
        messages = [
            {"role": roles[message.role], "text": message.content}
            for message in history
            if message.role in roles and message.content and message.content.strip()
        ]
        calls = [
            {"tool": call.name, "arguments": call.arguments}
            for message in history
            for call in message.tool_calls or []
            if call.name in self.facts and self.facts[call.name].writes
        ]
        last = messages.pop()["text"] if messages and messages[-1]["role"] == "user" else ""
        return messages, calls, str(last)

    # -- what is asked of it

    def _check_function(self, name: str) -> None:
        """Raise ValueError where the world has no such function."""
        if name not in self.facts:
            hint = hint_at(name, self.facts)
            raise ValueError(f"the world of {self.domain} has no function {shown(name)}{hint}")

    def _check_assertions(self) -> None:
        """Raise ValueError where the world has no such assertion."""
        names = [name for name in dir(WORLDS[self.domain]) if name.startswith("assert_")]
        for assertion in self.criteria.env_assertions or ():
            if assertion.func_name not in names:
                hint = did_you_mean(assertion.func_name, names) or f"it has: {', '.join(names) or 'none'}"
                raise ValueError(f"the world of {self.domain} has no assertion {shown(assertion.func_name)} ({hint})")

    def _possible(self) -> list[Action]:
        """Return the actions that their side has a tool for, and note the others. Raises ValueError for an unknown tool."""
        possible = []
        for action in self.criteria.actions or ():
            self._check_function(action.name)
            if self.facts[action.name].by == _SIDES[action.requestor]:
                possible.append(action)
            else:
                message = f"{action.name} is no tool of the {action.requestor}; the reference goes on without it"
                self._note("side", message)
        return possible

    def _play(self, start: Case, actions: Sequence[Action]) -> _Played:
        """Carry out actions from the start of the task, and return their outcome."""
        sandbox = make_sandbox(start, self.suite)
        answers = [(action, sandbox.call(action.name, action.arguments)) for action in actions]
        steps = [answer.step(action.name, action.arguments) for action, answer in answers]
        tables = tables_of(start, self.suite)
        before, after = (end_state(tables, sandbox.setup, played) for played in ((), steps))
        changes = net_changes(change for step in steps for change in step.changed)
        refused = [(action, answer) for action, answer in answers if answer.status != "ok"]
        taken = [action for action, answer in answers if answer.status == "ok"]
        return _Played(taken, refused, self._broken(before), self._broken(after), bool(changes))

    def _broken(self, state: State) -> list[Assertion]:
        """Return the assertions that do not have the wanted truth value in a state."""

        def held(assertion: Assertion) -> bool | None:
            """Return whether an assertion is true in the state; None where that cannot be decided."""
            return assertion_holds(state, self.domain, assertion.func_name, assertion.arguments)[0]

        asserted = self.criteria.env_assertions or ()
        return [assertion for assertion in asserted if held(assertion) is not assertion.assert_value]

    def _reference(self, start: Case) -> _Played:
        """Carry out the reference, note refused actions, add calls that broken assertions need, and return the outcome."""
        played = self._play(start, self._possible())
        for action, answer in played.refused:
            why = answer.result.get("message", "") if isinstance(answer.result, dict) else ""
            sort = "writes" if self.facts[action.name].writes else "reads"
            message = f"{action.action_id} {action.name} is refused: {why}; the reference goes on without it"
            self._note(f"refused_{sort}", message.strip())
        for assertion in played.broken:
            for call in self._completing_calls(assertion):
                mended = self._play(start, [*played.taken, call])
                if assertion not in mended.broken:
                    added = f"{call.name} {call.arguments} is added to the reference"
                    self._note("completed", f"{added}: {assertion.func_name} breaks without it")
                    played = mended
                    break
        return played

    def _completing_calls(self, assertion: Assertion) -> Iterator[Action]:
        """Yield the writing calls of an assertion's side that can be made with the assertion's own arguments."""
        arguments = assertion.arguments
        for name, fact in self.facts.items():
            values = {need: arguments.get(need, arguments.get(f"expected_{need}")) for need in fact.needs}
            if fact.writes and fact.by == _SIDES[assertion.env_type] and values and None not in values.values():
                yield Action(name=name, arguments=values, requestor=assertion.env_type)

    def _requirements(self) -> Iterator[JsonObject]:
        """Yield the requirements of all parts of the reward, first that the dialogue ends by a stop."""
        criteria = self.criteria
        ends = f"The dialogue of the task {self.task.id} ends with a stop of the user or the agent"
        yield _requirement("ends", ends[:_LONGEST_TEXT], "tau_ends")
        if criteria.actions is not None or criteria.env_assertions is not None:
            ended = _requirement("db", "The databases end as after the reference actions")
            yield {**ended, "scope": "outcome", "check": {"kind": "same_end"}}
        for number, assertion in enumerate(criteria.env_assertions or (), 1):
            text = f"At the end {assertion.func_name} {canonical_json(assertion.arguments)} is {assertion.assert_value}"
            terms = {"function": assertion.func_name, "arguments": assertion.arguments, "value": assertion.assert_value}
            yield {**_requirement(f"env-{number}", text, "tau_holds", domain=self.domain, **terms), "scope": "outcome"}
        if criteria.actions:
            sides = [{"by": _SIDES[action.requestor], "compare": action.compare_args} for action in criteria.actions]
            wanted = [{**call, **side} for call, side in zip(_planned(criteria.actions), sides, strict=True)]
            text = f"Each of these is called: {', '.join(action.name for action in criteria.actions)}"
            yield {**_requirement("action", text[:_LONGEST_TEXT], "tau_calls", actions=wanted), "scope": "trajectory"}
        for number, words in enumerate(criteria.communicate_info or (), 1):
            yield _requirement(f"communicate-{number}", f"A reply says: {words}", "tau_says", text=words)
        for number, words in enumerate(criteria.nl_assertions or (), 1):
            yield {**_requirement(f"nl-{number}", words), "scope": "trajectory"}

    def _rewarded_requirements(self) -> list[JsonObject]:
        """Return the requirements of the parts that count for the reward; the others are left out."""
        carried = []
        for requirement in self._requirements():
            part = _PART_OF.get(str(requirement["id"]).partition("-")[0])
            if part is None or part in self.criteria.reward_basis:
                carried.append(requirement)
            elif part not in ("DB", "ACTION"):  # these two come from the reference actions
                self.log.leave(f"{part} outside of reward_basis")
        return carried

    def _attributes(self, played: _Played, carried: Sequence[JsonObject]) -> dict[str, str]:
        """Return the case's attributes: splits, marks in its id, whether it needs a judge, and whether doing nothing passes it."""
        parts = {str(requirement["id"]).partition("-")[0] for requirement in carried}
        asked = parts & {"communicate", "action", "nl"}
        silent = not asked and not ("db" in parts and played.changes) and not ("env" in parts and played.broken_before)
        splits = {_UNSAFE_NAME.sub("_", name): "yes" for name, ids in self.files.splits.items() if self.task.id in ids}
        sorts = {name: match[1] for name, pattern in _IN_ID.items() if (match := pattern.search(self.task.id))}
        marks = {"judged": "yes" if "nl" in parts else "no", "silent": "passes" if silent else "fails"}
        return {**splits, **sorts, **marks}


def _requirement(name: str, text: str, check: str = "", /, **arguments: Json) -> JsonObject:
    """Return an explicit requirement, with a Python check where one is named."""
    checked = {"check": {"kind": "python", "name": check, "arguments": arguments}} if check else {}
    return {"id": name, "kind": "asked", "text": text, **checked}


def _planned(actions: Sequence[Action]) -> list[JsonObject]:
    """Return actions as calls of a tool with arguments."""
    return [{"tool": action.name, "arguments": action.arguments} for action in actions]


FORMAT = "tau2"


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
            counts += _write_domain(domain, folder if len(domains) == 1 else folder / domain.name, log)
        return log.report(folder, FORMAT, cases=counts["cases"], tools=counts["tools"], by_tool=Counter())


def _write_domain(domain: Domain, folder: Path, log: ImportLog) -> Counter[str]:
    """Write the suite of a domain, and return how many cases and tools it has."""
    world, name = WORLDS[domain.name], domain.name
    try:
        tables = world.tables(domain.database, domain.user_database)
    except ValueError as error:
        raise source_error(domain.folder, f"the database {error}") from None
    for table, rows in tables.items():
        write_rows(folder / "state" / f"{table}.jsonl", rows)
    for table in sorted(domain.database.keys() - world.keys.keys()):
        log.leave(f"table {printable(table)} of {name}")
    specs = specs_of(world)
    write_suite(folder, _manifest(domain, ()), specs.values())
    suite = open_suite(folder)
    suite.sandboxes = [lambda case, suite: world]  # noqa: ARG005  the hook's arguments
    cases = list(_cases(domain, suite, tables, log))
    if not cases:
        raise log.nothing(domain.folder, "holds no task")
    write_cases(folder / "cases.jsonl", cases)
    write_suite(folder, _manifest(domain, cases), ())
    silent = sum(case.attributes["silent"] == "passes" for case in cases)
    if silent:
        message = f"an agent that does nothing passes {silent} of {len(cases)} tasks: they have silent: passes"
        log.note("silent", name, message)
    return Counter(cases=len(cases), tools=len(specs))


def _manifest(domain: Domain, cases: Sequence[Case]) -> SuiteManifest:
    """Return the manifest of a domain's suite; it lists the domains that the cases use."""
    name = domain.name
    domains = {
        name: "tasks in which something has to be done",
        f"{name}_silent": "tasks that an agent passes that does nothing",
    }
    used = {key for case in cases for key in case.domains} or set(domains)
    return imported_manifest(
        f"{FORMAT}-{name}",
        content_digest(domain.folder / "tasks.json")[:12],
        **_DATA["manifest"],
        domains={key: words for key, words in domains.items() if key in used},
        instructions=domain.policy,
        sandbox={OPTION: name},
        description=_DATA["description"].format(name=name, cases=len(cases)),
    )


def _cases(domain: Domain, suite: Suite, tables: Mapping[str, Sequence[JsonObject]], log: ImportLog) -> Iterator[Case]:
    """Yield the cases of a domain's tasks; repeated and unusable tasks are noted and left out."""
    seen: set[str] = set()
    for task, place in read_tasks(domain.folder / "tasks.json", log):
        if task.id in seen:
            message = f"the task {shown(task.id)} stands here twice; the first one is kept"
            log.note("duplicate_case", place, message, leaves="tasks")
            continue
        seen.add(task.id)
        try:
            case = Conversion(task, place, domain, suite, tables, log).case()
        except (MapsatError, ValueError) as error:
            log.note("unparsable", place, f"{error}; the task is left out", leaves="tasks")
            continue
        if case is not None:
            yield case
