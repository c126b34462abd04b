"""A draft of a case out of a conversation, and how it is put into a suite: all of its files, or none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pytest_mapsat.formats import Lines, Located, Secrets, add_files, limits, printable, shown_path, validate
from pytest_mapsat.model import (
    CASE_ID_PATTERN,
    SUITE_SCHEMA,
    Case,
    Json,
    JsonObject,
    Mark,
    PeopleLabels,
    Problem,
    Recording,
    Requirement,
    Step,
    SuiteError,
    SuiteManifest,
    Tool,
    Trajectory,
    Turn,
    UsageError,
    UserScript,
    canonical_json,
    shown,
    tool_name,
)
from pytest_mapsat.sandbox import argument_problems, recording_key
from pytest_mapsat.suite import (
    Suite,
    case_json,
    new_folder,
    open_suite,
    telling_words,
    to_yaml,
    write_bytes,
    write_manifest,
)
from pytest_mapsat.users import ScriptedUser

from .conversations import Conversation, Line, questions_in
from .differences import Proposals, proposals_by_model, proposals_of
from .proposed import ProposingModel
from .tools import tool_for

#: Files of a suite that others write: no case is called so.
_TAKEN = frozenset({"reviewed", "recorded", "dialogues"})
#: Sentences that ask.
_QUESTIONS = re.compile(r"[^.!?。！？\n]*[?？][\"”』」）)*_ ]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_CURRENCIES: tuple[tuple[Literal["EUR", "GBP", "USD", "CNY"], str], ...] = (
    ("EUR", r"€|(?<![a-z])eur(?:os?)?(?![a-z])"),
    ("GBP", r"£|(?<![a-z])gbp(?![a-z])"),
    ("USD", r"\$|(?<![a-z])(?:usd|dollars?)(?![a-z])"),
)
_LONGEST = 500
#: The most messages that a case may have before its query.
_MOST_MESSAGES = 1000


@dataclass(frozen=True)
class Draft:
    """A case that people have not accepted yet, with what it needs.

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
    conversation: Conversation, case_id: str, suite: Suite | None, model: ProposingModel | None = None
) -> Draft:
    """Return the draft of a case.

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
        place = conversation.query.place
        notes.append(
            f"{place}: no proposal says what the query asks for: write an asked requirement, or ECR is always 1"
        )
    recordings = tuple(_recordings(conversation, case_id, known, notes))
    answers = tuple(_answers(conversation, case, known, proposals))
    return Draft(case, tools, recordings, answers, tuple(dict.fromkeys([*notes, *proposals.notes])))


def case_id_of(words: str) -> str:
    """Return an id for a case out of any words."""
    return re.sub(r"-t\d+$", "", _UNSAFE.sub("-", words).strip("-.")[:60].strip("-.")) or "case"


def _refuse_id(case_id: str, suite: Suite | None) -> None:
    if not re.fullmatch(CASE_ID_PATTERN, case_id) or case_id[0] in ".-" or re.search(r"-t\d+$", case_id):
        raise UsageError(
            f"--id: found {shown(case_id)}, expected 1 to 80 of A-Z a-z 0-9 _ . -, not . or - first, and no -t and digits at the end"
        )
    if case_id.lower() in _TAKEN:
        raise UsageError(f"--id: {case_id!r} is what other files of a suite are called; choose another one")
    taken = () if suite is None else (entry for file in suite.files() for entry in suite.entries(file))
    if (entry := next((entry for entry in taken if entry.id == case_id), None)) is not None:
        raise UsageError(
            f"--id: the suite has a case {case_id!r} ({shown_path(entry.path)}:{entry.line}); nothing is overwritten: choose another id"
        )


# -- the case


def _case(
    conversation: Conversation, case_id: str, tools: Mapping[str, Tool], proposals: Proposals, notes: list[str]
) -> Case:
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
    case = validate(Case, Located(data, Lines(0)), query.place, problems)
    if case is None:
        raise SuiteError(*problems)
    return case


def _messages(conversation: Conversation, notes: list[str]) -> Iterator[JsonObject]:
    lines = [line for line in conversation.lines[: conversation.query_at] if line.role != "system" and line.text]
    if len(lines) > _MOST_MESSAGES:
        notes.append(
            f"{lines[0].place}: {len(lines)} messages stand before the query: the last {_MOST_MESSAGES} are kept"
        )
    return ({"role": line.role, "text": line.text} for line in lines[-_MOST_MESSAGES:])


def _scripted(conversation: Conversation) -> Iterator[JsonObject]:
    """Give what the user answered to questions before the reply that is judged, each with the words that ask for it."""
    lines = [
        line for line in conversation.lines[conversation.query_at : conversation.reply_at] if line.role != "system"
    ]
    for question, answer in pairwise(lines):
        if question.role == "agent" and question.text and answer.role == "user":
            asked = asked_for(question.text, conversation.language)
            if asked:
                yield {"asked": asked, "say": answer.text}


def asked_for(reply: str, language: str) -> list[str]:
    """Return the words that name what a reply asks the user for; none where it asks nothing."""
    asked = questions_in(reply, language)
    if language == "zh":
        return [word for sentence in asked for word in re.findall(r"[\u4e00-\u9fff]{2,8}|[A-Za-z]{3,}", sentence)][:12]
    return telling_words(asked)[:12]


def _closing(text: str, script: UserScript, conversation: Conversation) -> str:
    """Return the words with which an agent that knows everything ends the dialogue: the accepted ones, without questions where the user would answer them.

    Empty where the user goes on all the same.
    """
    query = Turn(role="user", text=conversation.query.text)
    for say in (text, _QUESTIONS.sub("", text).strip()):
        turns = (query, Turn(role="agent", text=say))
        if say and ScriptedUser(script, language=conversation.language).reply(turns).ending == "done":
            return say
    return ""


def _planned(best: Trajectory, tools: Mapping[str, Tool]) -> Iterator[JsonObject]:
    """Give the calls of a dialogue, each once: all that its tools can take and the log tells the result of."""
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
    """Return whether a log tells the arguments and the result of a call."""
    return not {"arguments", "result"} & {*step.unknown}


# -- tools, recordings, labelled answers


def _tools_lacking(conversation: Conversation, suite_tools: Mapping[str, Tool], notes: list[str]) -> dict[str, Tool]:
    """Return the tools of the log that the suite has not, described."""
    calls: dict[str, list[tuple[Line, Step]]] = {name: [] for name in conversation.tools}
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
    conversation: Conversation, case_id: str, tools: Mapping[str, Tool], notes: list[str]
) -> Iterator[Recording]:
    """Give the calls of the whole log with their results: of two results of one call the first."""
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
            notes.append(
                f"{line.place}: the tool {name} of the suite cannot take this call: {error}; no recording is made of it"
            )
            continue
        if key not in kept:
            kept[key] = recording.result
            yield recording
        elif kept[key] != recording.result:
            notes.append(f"{line.place}: {name} gives another result for the same call: the first one is kept")


def _answers(
    conversation: Conversation, case: Case, tools: Mapping[str, Tool], proposals: Proposals
) -> Iterator[PeopleLabels]:
    """Give the logged reply and the accepted one, each with the labels that follow from what the user did next."""
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


def _labels(case: Case, told: Mapping[str, Mark], asked: Mark, other: Mark) -> dict[str, Mark]:
    """Return a label for each requirement that needs one; ``asked``, ``other``: those that nothing tells."""
    required = {requirement.id: asked if requirement.kind == "asked" else other for requirement in case.truth.required}
    return {**required, **told}


def _answer(
    case: Case, name: str, trajectory: Trajectory, tools: Mapping[str, Tool], labels: Mapping[str, Mark]
) -> PeopleLabels:
    secrets = Secrets()
    turns = []
    for turn in trajectory.turns:
        steps = []
        for step in turn.steps:
            if step.kind != "call" or (tool := tools.get(tool_name(tools, step.tool))) is None:
                continue
            recording = Recording(case=case.id, tool=tool.name, arguments=step.arguments, result=step.result)
            told = secrets.clean(recording, tool)
            clean = {"tool": tool.name, "arguments": told.arguments, "result": told.result, "changed": (), "writes": ""}
            steps.append(step.model_copy(update=clean))
        turns.append(turn.model_copy(update={"steps": tuple(steps), "timing": None}))
    note = "the reply that the user accepted" if name == "accepted" else "the reply that was logged"
    return PeopleLabels(case=case.id, id=name, by="log", turns=tuple(turns), labels=dict(labels), note=note)


# -- to disk


def write_draft(root: Path, draft: Draft, suite: Suite | None, conversation: Conversation) -> list[Path]:
    """Put a draft into a suite, which is made where there is none; nothing is overwritten.

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
        raise UsageError(
            f"{shown_path(there)} is there, and nothing is overwritten; choose another --id, or rename the file"
        )
    add_files(root, files, lambda: _read_again(root, draft))
    return [root / name for name in files]


def _files(draft: Draft) -> dict[str, bytes]:
    """Return the files of a draft by their places in the suite, the case last."""
    name = draft.case.id
    files = {f"tools/{tool}.yaml": to_yaml(spec.to_json()) for tool, spec in draft.tools.items()}
    for folder, nouns in (("recordings", draft.recordings), ("labels", draft.answers)):
        if nouns:
            lines = (json.dumps(noun.to_json(), ensure_ascii=False) for noun in nouns)
            files[f"{folder}/{name}.jsonl"] = "".join(f"{line}\n" for line in lines).encode()
    return files | {f"cases/{name}.yaml": to_yaml(case_json(draft.case))}


def _manifest(root: Path, draft: Draft, conversation: Conversation) -> SuiteManifest:
    text = " ".join(line.text for line in conversation.lines) + canonical_json(
        [recording.result for recording in draft.recordings]
    )
    currency = next((code for code, signs in _CURRENCIES if re.search(signs, text, re.IGNORECASE)), "CNY")
    try:
        return SuiteManifest(
            name=case_id_of(root.resolve().name),
            version="1",
            schema_version=SUITE_SCHEMA,
            language=draft.case.language,
            coordinates="gcj02" if draft.case.language == "zh" else "wgs84",
            currency=currency,
            description="Cases made of conversations.",
        )
    except ValidationError as error:
        raise UsageError(f"{printable(root.name)}: {error.errors()[0]['msg']}") from None


def _read_again(root: Path, draft: Draft) -> None:
    """Read the suite with the draft in it. Raises SuiteError."""
    suite = open_suite(root)
    entry = next(entry for file in suite.files() for entry in suite.entries(file) if entry.id == draft.case.id)
    suite.load(entry)
    suite.recordings(draft.case.id)
