"""A draft of a case out of a conversation: how it is made, how it is put into a suite (all of its files, or none), and how people review what it proposes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, StringConstraints, ValidationError

from pytest_mapsat.formats import (
    DocumentLines,
    LocatedDocument,
    Secrets,
    add_files,
    append_lines,
    limits,
    parse_yaml,
    printable,
    read_bytes,
    read_lines,
    read_nouns,
    shown_path,
    validate,
)
from pytest_mapsat.model import (
    CASE_ID_PATTERN,
    SUITE_SCHEMA,
    Case,
    Identifier,
    Json,
    JsonObject,
    Mark,
    Noun,
    PeopleLabels,
    Problem,
    Recording,
    Requirement,
    ScriptedAnswer,
    Step,
    SuiteError,
    SuiteManifest,
    Text,
    Tool,
    Trajectory,
    Turn,
    UsageError,
    UserScript,
    canonical_json,
    did_you_mean,
    digest,
    shown,
    tool_name,
)
from pytest_mapsat.sandbox import SandboxHook, argument_problems, recording_key
from pytest_mapsat.suite import (
    LABELS,
    PROPOSALS,
    CaseEntry,
    Suite,
    case_json,
    find_suite,
    new_folder,
    open_suite,
    telling_words,
    to_yaml,
    write_bytes,
    write_manifest,
)
from pytest_mapsat.users import ScriptedUser

from .conversations import LoggedConversation, LoggedMessage, questions_in
from .evidence import currency_of
from .proposals import Proposals, ProposingModel, proposals_by_model, proposals_of
from .tools import tool_for

#: Files of a suite that others write: no case is called so.
_TAKEN = frozenset({"reviewed", "recorded", "dialogues"})
#: Sentences that ask.
_QUESTIONS = re.compile(r"[^.!?。！？\n]*[?？][\"”』」）)*_ ]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 500
#: The most messages that a case may have before its query.
_MOST_MESSAGES = 1000


@dataclass(frozen=True)
class Draft:
    """A generated case from a log, not yet accepted by a person, with its tools, recordings and labelled answers.

    Attributes:
        case: the case.
        tools: those that the suite lacks, by name.
        recordings: what the tools gave in the log.
        answers: the replies of the log as labelled answers.
        notes: what a person should know, each with its place.
    """

    case: Case
    tools: Mapping[str, Tool]
    recordings: tuple[Recording, ...]
    answers: tuple[PeopleLabels, ...]
    notes: tuple[str, ...]


def draft_of(
    conversation: LoggedConversation, case_id: str, suite: Suite | None, model: ProposingModel | None = None
) -> Draft:
    """Return a draft case for a logged conversation.

    Args:
        conversation: what it is made of.
        case_id: the id of the case.
        suite: where it will stand; None for a suite of its own.
        model: what reads out of the user's words which fields decided; None: rules do.

    Raises:
        ModelError: there is no way to the model, or a ceiling is met.
        UsageError: no case can have this id, or the suite has one of it.
        SuiteError: no case can be made of the conversation.
    """
    _refuse_id(case_id, suite)
    notes = list(conversation.notes)
    tools = _tools_lacking(conversation, {} if suite is None else suite.tools, notes)
    known = {**({} if suite is None else suite.tools), **tools}
    proposals = proposals_of(conversation, known)
    if model is not None:
        proposals = proposals_by_model(conversation, known, proposals, model)
    case = _case(conversation, case_id, known, proposals, notes)
    if all(requirement.kind != "asked" for requirement in case.truth.requirements):
        missing = "no proposal says what the query asks for: write an asked requirement, or ECR is always 1"
        notes.append(f"{conversation.query.place}: {missing}")
    recordings = tuple(_recordings(conversation, case_id, known, notes))
    answers = tuple(_answers(conversation, case, known, proposals))
    return Draft(case, tools, recordings, answers, tuple(dict.fromkeys([*notes, *proposals.notes])))


def case_id_of(words: str) -> str:
    """Return a valid case id made from any text."""
    return re.sub(r"-t\d+$", "", _UNSAFE.sub("-", words).strip("-.")[:60].strip("-.")) or "case"


def _refuse_id(case_id: str, suite: Suite | None) -> None:
    """Raise UsageError if an id is malformed, reserved, or already used by a case of the suite."""
    if not re.fullmatch(CASE_ID_PATTERN, case_id) or case_id[0] in ".-" or re.search(r"-t\d+$", case_id):
        expected = "1 to 80 of A-Z a-z 0-9 _ . -, not . or - first, and no -t and digits at the end"
        raise UsageError(f"--id: found {shown(case_id)}, expected {expected}")
    if case_id.lower() in _TAKEN:
        raise UsageError(f"--id: {case_id!r} is what other files of a suite are called; choose another one")
    taken = () if suite is None else (entry for file in suite.files() for entry in suite.entries(file))
    if (entry := next((entry for entry in taken if entry.id == case_id), None)) is not None:
        place = f"{shown_path(entry.path)}:{entry.line}"
        raise UsageError(f"--id: the suite has a case {case_id!r} ({place}); nothing is overwritten: choose another id")


# -- the case


def _case(
    conversation: LoggedConversation, case_id: str, tools: Mapping[str, Tool], proposals: Proposals, notes: list[str]
) -> Case:
    """Return the draft case: visible messages, proposed requirements, scripted user and oracle. Raises SuiteError."""
    query = conversation.query
    best = conversation.accepted or conversation.trajectory
    # What the query asks for has no check: it would leave every reply open where a proposal decides.
    words = "满足用户所提的要求：" if conversation.language == "zh" else "Does what the user asks for: "
    asked = Requirement(id="e1", kind="asked", text=f"{words}{query.text[:_LONGEST]}", draft=True)
    requirements = proposals.requirements or (asked,)
    spoken = list(_scripted(conversation))
    script = UserScript.model_validate({"answers": [*spoken, *(answer.to_json() for answer in proposals.answers)]})
    say = "" if conversation.accepted is None else _closing(best.replies[-1].text, script, conversation)
    if conversation.accepted is not None and not say:
        notes.append(f"{conversation.query.place}: the accepted reply asks on: the case has no oracle dialogue")
    planned = list(_planned(best, tools))
    called = dict.fromkeys(str(call["tool"]) for call in planned)
    data: JsonObject = {
        "id": case_id,
        "language": conversation.language,
        "visible": {
            "messages": list(_messages(conversation, notes)),
            "query": query.text,
            "context": conversation.context.to_json(),
            "instructions": conversation.instructions,
        },
        "truth": {
            "requirements": [requirement.to_json() for requirement in requirements],
            "tools": [{"name": name, "required": list(tools[name].parameters.get("required", ()))} for name in called],
            "user": script.to_json(),
            "oracle": [{"calls": planned, "say": say}] if say else [],
            **({"clarification": {"max_turns": len(spoken)}} if spoken else {}),
        },
    }
    problems: list[Problem] = []
    case = validate(Case, LocatedDocument(data, DocumentLines(0)), query.place, problems)
    if case is None:
        raise SuiteError(*problems)
    return case


def _messages(conversation: LoggedConversation, notes: list[str]) -> Iterator[JsonObject]:
    """Yield the messages before the query, without system messages; the last ``_MOST_MESSAGES`` if there are more."""
    lines = [line for line in conversation.lines[: conversation.query_at] if line.role != "system" and line.text]
    if len(lines) > _MOST_MESSAGES:
        count = f"{len(lines)} messages come before the query"
        notes.append(f"{lines[0].place}: {count}: the last {_MOST_MESSAGES} are kept")
    return ({"role": line.role, "text": line.text} for line in lines[-_MOST_MESSAGES:])


def _scripted(conversation: LoggedConversation) -> Iterator[JsonObject]:
    """Yield scripted answers: the user's answers to the agent's questions before the judged reply."""
    before = conversation.lines[conversation.query_at : conversation.reply_at]
    lines = [line for line in before if line.role != "system"]
    for question, answer in pairwise(lines):
        if question.role == "agent" and question.text and answer.role == "user":
            asked = asked_for(question.text, conversation.language)
            if asked:
                yield {"asked": asked, "say": answer.text}


def asked_for(reply: str, language: str) -> list[str]:
    """Return words for the information that a reply asks of the user; empty if it asks nothing."""
    asked = questions_in(reply, language)
    if language == "zh":
        return [word for sentence in asked for word in re.findall(r"[\u4e00-\u9fff]{2,8}|[A-Za-z]{3,}", sentence)][:12]
    return telling_words(asked)[:12]


def _closing(text: str, script: UserScript, conversation: LoggedConversation) -> str:
    """Return the oracle's last words: the accepted reply, without questions that the scripted user would answer.

    Empty where the user goes on all the same.
    """
    query = Turn(role="user", text=conversation.query.text)
    for say in (text, _QUESTIONS.sub("", text).strip()):
        turns = (query, Turn(role="agent", text=say))
        if say and ScriptedUser(script, language=conversation.language).reply(turns).ending == "done":
            return say
    return ""


def _planned(best: Trajectory, tools: Mapping[str, Tool]) -> Iterator[JsonObject]:
    """Yield each distinct call of a dialogue whose arguments and result are known and accepted by its tool."""
    seen: list[JsonObject] = []
    for step in best.calls:
        tool = tools.get(tool_name(tools, step.tool))
        if tool is None or not tool.for_agent or not _is_told(step) or argument_problems(tool, step.arguments):
            continue
        call: JsonObject = {"tool": tool.name, "arguments": dict(step.arguments)}
        if call not in seen:
            seen.append(call)
            yield call


def _is_told(step: Step) -> bool:
    """Return whether the log contains both the arguments and the result of a call."""
    return not {"arguments", "result"} & {*step.unknown}


# -- tools, recordings, labelled answers


def _tools_lacking(
    conversation: LoggedConversation, suite_tools: Mapping[str, Tool], notes: list[str]
) -> dict[str, Tool]:
    """Describe the tools that occur in the log but not in the suite; add a note for each tool that cannot be described."""
    calls: dict[str, list[tuple[LoggedMessage, Step]]] = {name: [] for name in conversation.tools}
    for line, step in conversation.calls:
        calls.setdefault(step.tool, []).append((line, step))
    tools: dict[str, Tool] = {}
    replies = "\n".join(line.text for line in conversation.lines if line.role == "agent")
    for name, of_tool in calls.items():
        if tool_name(suite_tools, name) in suite_tools:
            continue
        place = of_tool[0][0].place if of_tool else conversation.lines[0].place
        try:
            schema, steps = conversation.tools.get(name), [step for _, step in of_tool]
            tools[name] = tool_for(name, schema, steps, place, replies)
        except SuiteError as error:
            notes.append(f"{error}; the tool and its calls are left out")
    return tools


def _recordings(
    conversation: LoggedConversation, case_id: str, tools: Mapping[str, Tool], notes: list[str]
) -> Iterator[Recording]:
    """Yield recordings of the log's calls without secrets; if a call has two results, the first is kept."""
    secrets = Secrets()
    kept: dict[tuple[str, str], Json] = {}
    for line, step in conversation.calls:
        name = tool_name(tools, step.tool)
        if not _is_told(step) or name not in tools or step.status in ("miss", "unknown", "over_limit"):
            continue
        recording = Recording(case=case_id, tool=name, arguments=step.arguments, result=step.result)
        recording = secrets.clean(recording, tools[name])
        if len(canonical_json(recording.to_json())) > limits.RECORDING_BYTES // 4:
            notes.append(f"{line.place}: the result of {name} is too large for a recording: left out")
            continue
        try:
            key = name, recording_key(tools[name], recording)
        except ValueError as error:
            refused = f"the tool {name} of the suite cannot take this call: {error}"
            notes.append(f"{line.place}: {refused}; no recording is made of it")
            continue
        if key not in kept:
            kept[key] = recording.result
            yield recording
        elif kept[key] != recording.result:
            notes.append(f"{line.place}: {name} gives another result for the same call: the first one is kept")


def _answers(
    conversation: LoggedConversation, case: Case, tools: Mapping[str, Tool], proposals: Proposals
) -> Iterator[PeopleLabels]:
    """Yield the logged and the accepted reply as labelled answers; the labels follow from the user's next message."""
    accepted, logged = conversation.accepted, conversation.trajectory
    refused = accepted is None or accepted != logged
    objected = refused and any(line.role == "user" for line in conversation.after)
    shown = bool(proposals.requirements or proposals.answers)
    # To what the user objected is known only where something shows it: a complaint about length is none about what was asked for.
    if shown and refused and (objected or accepted is not None):
        answer = _answer(case, "logged", logged, tools, _labels(case, proposals.logged, "passed", "failed"))
        yield answer.model_copy(update={"why": dict(proposals.why)})
    # A reply that was only not refused, and that recommends nothing, tells nothing of what is proposed.
    if accepted is not None and {each.id for each in proposals.requirements} <= {*proposals.agreed}:
        yield _answer(case, "accepted", accepted, tools, _labels(case, proposals.agreed, "passed", "passed"))


def _labels(case: Case, known: Mapping[str, Mark], asked: Mark, other: Mark) -> dict[str, Mark]:
    """Return a label for each required requirement: the known label, otherwise ``asked`` or ``other`` depending on its kind."""
    required = {requirement.id: asked if requirement.kind == "asked" else other for requirement in case.truth.required}
    return {**required, **known}


def _answer(
    case: Case, name: str, trajectory: Trajectory, tools: Mapping[str, Tool], labels: Mapping[str, Mark]
) -> PeopleLabels:
    """Return a dialogue as a labelled answer, without secrets and calls of unknown tools."""
    secrets = Secrets()
    turns = []
    for turn in trajectory.turns:
        steps = []
        for step in turn.steps:
            if step.kind != "call" or (tool := tools.get(tool_name(tools, step.tool))) is None:
                continue
            recording = Recording(case=case.id, tool=tool.name, arguments=step.arguments, result=step.result)
            safe = secrets.clean(recording, tool)
            clean = {"tool": tool.name, "arguments": safe.arguments, "result": safe.result, "changed": (), "writes": ""}
            steps.append(step.model_copy(update=clean))
        turns.append(turn.model_copy(update={"steps": tuple(steps), "timing": None}))
    note = "the reply that the user accepted" if name == "accepted" else "the reply that was logged"
    return PeopleLabels(case=case.id, id=name, by="log", turns=tuple(turns), labels=dict(labels), note=note)


# -- to disk


def write_draft(root: Path, draft: Draft, suite: Suite | None, conversation: LoggedConversation) -> list[Path]:
    """Write a draft into a suite, which is created if missing; no existing file is overwritten.

    Args:
        root: the suite's folder.
        draft: the draft.
        suite: what stands there; None: nothing.
        conversation: what the draft was made of; it tells the language and the currency of a new suite.

    Returns:
        The files that were written.

    Raises:
        UsageError: a file of one of these names is there.
        SuiteError: the suite would not be readable with them; then it is as it was before.
    """
    files = _files(draft)
    if suite is None:
        with new_folder(root) as folder:
            write_manifest(folder / "suite.yaml", _manifest(root, draft, conversation))
            for name, data in files.items():
                (folder / name).parent.mkdir(exist_ok=True)
                write_bytes(folder / name, data)
            _read_again(folder, draft)
        return [root / "suite.yaml", *(root / name for name in files)]
    suite.refuse_odd_files()
    if (there := next((root / name for name in files if (root / name).exists()), None)) is not None:
        hint = "nothing is overwritten; choose another --id, or rename the file"
        raise UsageError(f"{shown_path(there)} is there, and {hint}")
    add_files(root, files, lambda: _read_again(root, draft))
    return [root / name for name in files]


def _files(draft: Draft) -> dict[str, bytes]:
    """Return the contents of a draft's files by path in the suite, the case last."""
    name = draft.case.id
    files = {f"tools/{tool}.yaml": to_yaml(spec.to_json()) for tool, spec in draft.tools.items()}
    for folder, nouns in (("recordings", draft.recordings), ("labels", draft.answers)):
        if nouns:
            lines = (json.dumps(noun.to_json(), ensure_ascii=False) for noun in nouns)
            files[f"{folder}/{name}.jsonl"] = "".join(f"{line}\n" for line in lines).encode()
    return files | {f"cases/{name}.yaml": to_yaml(case_json(draft.case))}


def _manifest(root: Path, draft: Draft, conversation: LoggedConversation) -> SuiteManifest:
    """Return a manifest for a new suite, with language and currency guessed from the conversation. Raises UsageError."""
    results = canonical_json([recording.result for recording in draft.recordings])
    text = " ".join([*(line.text for line in conversation.lines), results])
    try:
        return SuiteManifest(
            name=case_id_of(root.resolve().name),
            version="1",
            schema_version=SUITE_SCHEMA,
            language=draft.case.language,
            coordinates="gcj02" if draft.case.language == "zh" else "wgs84",
            currency=currency_of(text),
            description="Cases made of conversations.",
        )
    except ValidationError as error:
        raise UsageError(f"{printable(root.name)}: {error.errors()[0]['msg']}") from None


def _read_again(root: Path, draft: Draft) -> None:
    """Check that the suite is still readable with the draft. Raises SuiteError."""
    suite = open_suite(root)
    entry = next(entry for file in suite.files() for entry in suite.entries(file) if entry.id == draft.case.id)
    suite.load(entry)
    suite.recordings(draft.case.id)


# -- the review: people accept, change or drop each proposal, the case's file follows, and what they decided is kept --

#: Where a match keeps the value that it compares with, by its operation.
_VALUES = {"equal": "value", "one_of": "values", "contains": "text", "open_at": "time"}


class ProposalDecision(Noun):
    """A person's decision on one proposal: a line of ``labels/proposals.jsonl``, or of a file of decisions.

    ``proposal``: the id of the requirement, or ``answer-`` and a digest of what the user says. ``kind``, ``text`` and ``value``, of a changed one: another kind of
    requirement, other words, and another value of the field that its check is about. ``was``: what had been proposed.
    """

    case: Identifier
    proposal: Text
    outcome: Literal["accepted", "changed", "dropped"]
    by: Annotated[str, StringConstraints(max_length=200)] = ""
    why: str = Field(default="", max_length=1000)
    kind: Literal["asked", "hard", "soft"] | None = None
    text: Text | None = None
    value: Json = None
    was: JsonObject = Field(default_factory=dict)


@dataclass(frozen=True)
class Proposal:
    """A proposal of a draft: a requirement, or an answer of the user.

    Attributes:
        case: the draft.
        entry: where it stands.
        name: what decisions call it.
        part: what is proposed.
        place: where in the case it stands, as it is written: keys, and the index in a list.
        line: its line in the file, from 1.
    """

    case: Case
    entry: CaseEntry
    name: str
    part: Requirement | ScriptedAnswer
    place: tuple[str | int, ...]
    line: int

    def to_json(self) -> JsonObject:
        """Return the proposal as JSON data, with its case, file and line."""
        at = {"case": self.case.id, "proposal": self.name, "path": shown_path(self.entry.path), "line": self.line}
        kind = "requirement" if isinstance(self.part, Requirement) else "answer"
        return {**at, "is": kind, "proposed": self.part.to_json()}

    def problem(self, message: str) -> UsageError:
        """Return a UsageError that begins with the proposal's file, line and name."""
        return UsageError(f"{shown_path(self.entry.path)}:{self.line}: {self.case.id}, {self.name}: {message}")


class ProposalReview:
    """Lists the open proposals of the drafts at a path, and applies people's decisions on them.

    Args:
        path: a suite's folder, or a file or folder in it.
        by: who decides.
        sandboxes: what looks for sandboxes in Python.

    Raises:
        UsageError: there is no suite.
        SuiteError: it cannot be read.
    """

    def __init__(self, path: Path, by: str, sandboxes: Iterable[SandboxHook] = ()) -> None:
        root = find_suite(path)
        if root is None:
            raise UsageError(f"{path}: there is no suite; expected a suite.yaml there or above")
        self._path, self._by, self._sandboxes, self._root = Path(path).absolute(), by, tuple(sandboxes), root
        self.suite = self._opened()

    def _opened(self) -> Suite:
        """Return the suite, newly opened, with the sandboxes set."""
        suite = open_suite(self._root)
        suite.sandboxes = self._sandboxes
        return suite

    @property
    def open(self) -> list[Proposal]:
        """The undecided proposals, by file and line. Raises SuiteError."""
        files = (file for file in self.suite.files() if file == self._path or self._path in file.parents)
        entries = (entry for file in files for entry in self.suite.entries(file) if entry.draft)
        return [proposal for entry in entries for proposal in self._of(entry)]

    def _of(self, entry: CaseEntry) -> Iterator[Proposal]:
        """Yield the open proposals of a draft: requirements, then answers of the user."""
        case, lines = self.suite.load(entry), self.suite.lines_of(entry)
        user = _written_at(entry)["truth"].get("user")
        answers = ("truth", "user") if isinstance(user, list) else ("truth", "user", "answers")
        parts: list[tuple[str, Requirement | ScriptedAnswer, tuple[str | int, ...]]] = [
            (part.id, part, ("truth", "requirements", index)) for index, part in enumerate(case.truth.requirements)
        ]
        spoken = enumerate(case.truth.user.answers)
        parts += [(f"answer-{digest(part.say, 6)}", part, (*answers, index)) for index, part in spoken]
        for name, part, place in parts:
            if part.draft:
                yield Proposal(case, entry, name, part, place, lines.at(place))

    def decide(self, proposal: Proposal, decision: ProposalDecision) -> None:
        """Apply a decision to the case's file, then append it to ``labels/proposals.jsonl``.

        Raises:
            UsageError: the decision does not fit the proposal, or the file cannot be edited without losing what people wrote.
            SuiteError: the suite could not be read any more; then it is as it was.
        """
        data = _written_at(proposal.entry)
        *way, index = proposal.place
        parts: Any = data
        for key in way:
            parts = parts[key]
        decided = _decided(parts[index], decision, proposal)
        if decided is None and isinstance(proposal.part, Requirement) and len(proposal.case.truth.requirements) == 1:
            raise proposal.problem("it is the last requirement of the case: change it, or remove the case")
        parts[int(index) : int(index) + 1] = [] if decided is None else [decided]
        files = {proposal.entry.path: _file_with(proposal, data)}
        if decided is None and isinstance(proposal.part, Requirement):
            files |= self._without_label(proposal)
        before = {path: path.read_bytes() for path in files}
        try:
            for path, content in files.items():
                write_bytes(path, content)
            self.suite = self._opened()
            entries = self.suite.entries(proposal.entry.path)
            self.suite.load(next(entry for entry in entries if entry.id == proposal.case.id))
            kept = decision.model_copy(update={"by": decision.by or self._by, "was": proposal.part.to_json()})
            append_lines(self._root / LABELS / PROPOSALS, [kept.to_json()])
        except BaseException:
            for path, content in before.items():
                write_bytes(path, content)
            self.suite = self._opened()
            raise

    def _without_label(self, proposal: Proposal) -> dict[Path, bytes]:
        """Return the changed label files by path, without the labels of a dropped requirement."""
        files: dict[Path, bytes] = {}
        for path in self.suite.inventory.labels:
            lines = [line.data for line in read_lines(path, limits.DIALOGUE_BYTES)]
            kept = list(lines)
            for number, line in enumerate(lines):
                data = json.loads(line)
                if data.get("case") == proposal.case.id and proposal.name in data.get("labels", ()):
                    for name in ("labels", "why", "wording"):
                        data.get(name, {}).pop(proposal.name, None)
                    kept[number] = json.dumps(data, ensure_ascii=False).encode() if data["labels"] else b""
            if kept != lines:
                files[path] = b"".join(line.rstrip(b"\n") + b"\n" for line in kept if line)
                _refuse_compressed(path)
        return files

    def take_file(self, path: Path) -> int:
        """Apply all decisions in a JSON lines file and return their number; apply none if any decision names no open proposal.

        Raises:
            UsageError: there is no such file, or a decision does not fit its proposal; those before it are kept.
            SuiteError: with the problems of all lines.
        """
        decisions = read_nouns(path, ProposalDecision)
        names = [(proposal.case.id, proposal.name) for proposal in self.open]
        problems: list[Problem] = []
        first: dict[tuple[str, str], str] = {}
        for placed in decisions:
            key = placed.noun.case, placed.noun.proposal
            earlier = first.setdefault(key, placed.place)
            if key not in names:
                hint = did_you_mean(key[1], [name for case, name in names if case == key[0]])
                problems.append(placed.problem(["proposal"], f"{key[0]} has no open proposal {shown(key[1])}", hint))
            elif earlier != placed.place:
                problems.append(placed.problem(["proposal"], f"is decided twice: {earlier} does it too", "keep one"))
        if problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
        for placed in decisions:
            key = placed.noun.case, placed.noun.proposal
            self.decide(next(each for each in self.open if (each.case.id, each.name) == key), placed.noun)
        return len(decisions)


def _decided(written: JsonObject, decision: ProposalDecision, proposal: Proposal) -> JsonObject | None:
    """Return a proposal's data with a decision applied; None if the proposal is dropped. Raises UsageError if the decision does not fit."""
    changes = decision.model_fields_set & {"kind", "text", "value"}
    if bool(changes) != (decision.outcome == "changed"):
        raise proposal.problem(f"found {decision.outcome}, expected changed with kind, text or value, or none of these")
    if decision.outcome == "dropped":
        return None
    part: JsonObject = {name: value for name, value in deepcopy(written).items() if name != "draft"}
    is_answer = isinstance(proposal.part, ScriptedAnswer)
    if is_answer and changes - {"text"}:
        raise proposal.problem("an answer of the user has a text, and no kind or value")
    if decision.text is not None:
        part["say" if is_answer else "text"] = decision.text
    if decision.kind is not None:
        part["kind"] = decision.kind
        for name in ("source", "evidence", "weight", "levels") if decision.kind == "asked" else ():
            part.pop(name, None)
    if "value" in changes:
        check: Any = part.get("check")
        wheres = [check.get(name) for name in ("where", "none_where")] if isinstance(check, dict) else []
        fields = [(where, path) for where in wheres if where for path in where]
        if len(fields) != 1:
            raise proposal.problem("its check is not about one field: change it by hand")
        where, path = fields[0]
        where[path] = _valued(where[path], decision.value)
    return part


def _valued(match: Json, value: Json) -> Json:
    """Return a match with another value to compare; a value that is a complete match replaces the match."""
    if isinstance(match, dict) and not isinstance(value, dict):
        bound = "max" if match.get("max") is not None else "min"
        name = bound if match.get("op") == "between" else _VALUES.get(str(match.get("op")), "")
        return {**match, name: value} if name else value
    return value


# -- files of cases


def _cases_of(raw: bytes, path: Path) -> list[JsonObject]:
    """Return the cases of a YAML file as written, without the common requirements. Raises SuiteError."""
    documents = (document.data for document in parse_yaml(raw, shown_path(path)))
    listed = (data if isinstance(data, list) else [data] for data in documents)
    return [case for cases in listed for case in cases if case is not None]


def _written_at(entry: CaseEntry) -> JsonObject:
    """Return a case as written in its YAML or JSONL file."""
    if not entry.length:
        return _cases_of(read_bytes(entry.path, limits.YAML_BYTES), entry.path)[entry.offset]
    line = next(line.data for line in read_lines(entry.path, limits.CASE_BYTES) if line.number == entry.line)
    data: JsonObject = json.loads(line)
    return data


def _refuse_compressed(path: Path) -> None:
    """Raise UsageError for a gzip file, which cannot be edited in place."""
    if path.suffix == ".gz":
        raise UsageError(f"{shown_path(path)}: a compressed file is not edited: unpack it first")


def _file_with(proposal: Proposal, data: JsonObject) -> bytes:
    """Return the bytes of a case's file with only the case replaced. Raises UsageError if that fails."""
    entry = proposal.entry
    _refuse_compressed(entry.path)
    raw = entry.path.read_bytes()
    if entry.length:
        line = json.dumps(data, ensure_ascii=False).encode()
        end = entry.offset + len(raw[entry.offset : entry.offset + entry.length].rstrip(b"\r\n"))
        return raw[: entry.offset] + line + raw[end:]
    text = raw.decode("utf-8-sig")
    node = list(_nodes(text))[entry.offset]
    start = node.start_mark.index
    inside = (token for token in yaml.scan(text) if start <= token.start_mark.index < token.end_mark.index)
    tokens = [token for token in inside if token.end_mark.index <= node.end_mark.index]
    end = start + len(text[start : tokens[-1].end_mark.index].rstrip())
    for before, after in pairwise(tokens):
        if "#" in text[before.end_mark.index : after.start_mark.index]:
            comment = f"the case has a comment by hand (line {before.end_mark.line + 1}), which would be lost"
            raise proposal.problem(f"{comment}: edit the case by hand, or move the comment out of it")
    block = json.dumps(data, ensure_ascii=False)
    if not node.flow_style:  # inside brackets a block would be no YAML; JSON is
        block = to_yaml(data).decode().rstrip("\n").replace("\n", "\n" + " " * node.start_mark.column)
    new = (text[:start] + block + text[end:]).encode()
    cases = _cases_of(raw, entry.path)
    cases[entry.offset] = data
    try:
        kept = _cases_of(new, entry.path) == cases
    except SuiteError:
        kept = False
    if not kept:
        raise proposal.problem("the case cannot be written again without changing others in its file: edit it by hand")
    return new


def _nodes(text: str) -> Iterator[Any]:
    """Yield the YAML node of each case in a text: documents, or the elements of documents that are lists."""
    for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
        if isinstance(node, yaml.SequenceNode):
            yield from node.value
        elif node is not None and node.tag != "tag:yaml.org,2002:null":
            yield node
