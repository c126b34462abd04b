"""Import of evalsets of Google's Agent Development Kit (ADK): ``*.evalset.json`` and ``*.test.json``."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from pytest_mapsat.formats import content_digest, limits, located_json, printable, read_text, shown_path
from pytest_mapsat.model import Case, Json, JsonObject, Recording
from pytest_mapsat.ports import (
    SourcePart,
    files_of,
    imported_manifest,
    safe_name,
    source_error,
    unused_id,
    validated,
    write_suite,
)
from pytest_mapsat.suite import (
    ImportLog,
    ImportReport,
    bare_tool,
    new_folder,
    telling_words,
    to_yaml,
    write_bytes,
    write_cases,
    write_recordings,
)

_CAPITAL = re.compile("[A-Z]")


class _EvalsetPart(SourcePart):
    """Base class for models of evalsets; it accepts names in camelCase and in snake_case."""

    @model_validator(mode="before")
    @classmethod
    def _in_one_spelling(cls, data: Any) -> Any:
        """Return the data with camelCase names turned into snake_case; return anything but an object unchanged."""
        if not isinstance(data, Mapping):
            return data
        return {_CAPITAL.sub(lambda match: f"_{match[0].lower()}", str(name)): value for name, value in data.items()}


class ExpectedCall(_EvalsetPart):
    """A tool call that an evalset expects."""

    name: str
    args: JsonObject = Field(default_factory=dict)
    id: str = ""


class ToolResponse(_EvalsetPart):
    """The recorded response of a tool, with the id of the answered call."""

    name: str = ""
    response: Json = None
    id: str = ""


class ContentPart(_EvalsetPart):
    """A part of a message: a text, a tool call or a tool response."""

    text: str = ""
    function_call: ExpectedCall | None = None
    function_response: ToolResponse | None = None
    thought: bool = False


class Content(_EvalsetPart):
    """A message of the user or the model, as a list of parts."""

    parts: tuple[ContentPart, ...] = ()

    @property
    def text(self) -> str:
        """Return the texts of the message, joined by line breaks, without thoughts."""
        return "\n".join(part.text for part in self.parts if part.text and not part.thought).strip()


class _Event(_EvalsetPart):
    """An event between the user's message and the final response: one message."""

    content: Content = Content()


class _IntermediateData(_EvalsetPart):
    """The events between the user's message and the final response: tool calls, tool responses and others."""

    tool_uses: tuple[ExpectedCall, ...] = ()
    tool_responses: tuple[ToolResponse, ...] = ()
    invocation_events: tuple[_Event, ...] = ()


class _RubricContent(_EvalsetPart):
    """The text of a rubric."""

    text_property: str = ""


class Rubric(_EvalsetPart):
    """A property of the reply that a model judges."""

    rubric_content: _RubricContent = _RubricContent()


class Invocation(_EvalsetPart):
    """One turn: the user's message, the expected tool calls, and the reference reply."""

    user_content: Content
    final_response: Content = Content()
    intermediate_data: _IntermediateData = _IntermediateData()
    rubrics: tuple[Rubric, ...] = ()

    @property
    def calls(self) -> tuple[ExpectedCall, ...]:
        """Return the expected calls in order: the listed tool uses, then the calls found in events."""
        events = [part.function_call for part in self._parts() if part.function_call is not None]
        return (*self.intermediate_data.tool_uses, *events)

    @property
    def responses(self) -> tuple[ToolResponse, ...]:
        """Return the tool responses in order: listed responses, then responses in events."""
        events = [part.function_response for part in self._parts() if part.function_response is not None]
        return (*self.intermediate_data.tool_responses, *events)

    def _parts(self) -> Iterator[ContentPart]:
        """Yield the message parts of all events of the turn."""
        return (part for event in self.intermediate_data.invocation_events for part in event.content.parts)


class SessionInput(_EvalsetPart):
    """The initial user id and state of a session."""

    user_id: str = ""
    state: JsonObject = Field(default_factory=dict)


class AdkScenario(_EvalsetPart):
    """A conversation led by a simulated user: its first message and the plan that the user follows."""

    starting_prompt: str
    conversation_plan: str = ""


class EvalCase(_EvalsetPart):
    """One case of an evalset."""

    eval_id: str
    conversation: tuple[Invocation, ...] = ()
    conversation_scenario: AdkScenario | None = None
    session_input: SessionInput = SessionInput()
    final_session_state: JsonObject = Field(default_factory=dict)
    rubrics: tuple[Rubric, ...] = ()


FORMAT = "adk"
_ENDINGS = ("*.evalset.json", "*.test.json")
#: What each case begins with, as good as anything to tell its line by.
_CASE_ID = re.compile(r'"(?:eval_id|evalId)"\s*:')
#: The criterion by which expected calls are compared, and how.
_TRAJECTORY = "tool_trajectory_avg_score"
_MATCHES = {"EXACT": "exact", "IN_ORDER": "in_order", "ANY_ORDER": "any_order"}


def import_adk(src: Path, dest: Path) -> ImportReport:
    """Import ADK evalsets as a suite at ``dest``.

    Args:
        src: an evalset, or a folder with ``*.evalset.json`` and ``*.test.json``; a ``test_config.json`` beside them says how calls are compared.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        What came over, what did not, and what is odd.

    Raises:
        SuiteError: when a file cannot be read, or no case comes over.
        UsageError: when ``dest`` cannot be used.
    """
    files = files_of(src, _ENDINGS, lacks=f"holds none of {', '.join(_ENDINGS)}", hint="name the evalset itself")
    log = ImportLog()
    reader = _Evalsets(log)
    for file in files:
        reader.take(file)
    if not reader.cases:
        raise log.nothing(files[0], "holds no case")
    manifest = imported_manifest(
        f"adk-{safe_name(files[0].name.partition('.')[0], 60) or 'evalset'}",
        content_digest(files[0])[:12],
        description=f"Evalsets of the Agent Development Kit, imported: {len(reader.cases)} cases.",
    )
    tools = [bare_tool(name, parameters) for name, parameters in sorted(reader.tools.items())]
    by_tool = Counter(recording.tool for recording in reader.recordings)
    with new_folder(dest) as folder:
        write_suite(folder, manifest, ())
        write_cases(folder / "cases.jsonl", reader.cases)
        if tools:  # an evalset does not describe the fields of results: all are ignored
            specs = [{**tool.to_json(), "fields": {"": "ignored"}} for tool in tools]
            write_bytes(folder / "tools.yaml", to_yaml(specs))
        if reader.recordings:
            write_recordings(folder / "recordings" / "responses.jsonl", reader.recordings)
        return log.report(folder, FORMAT, cases=len(reader.cases), tools=len(tools), by_tool=by_tool)


class _Evalsets:
    """Reads evalset files and collects their cases, recordings and tools.

    Attributes:
        cases: those that came over.
        recordings: what tools answered in them.
        tools: the tools that they name, with the parameters seen.
    """

    def __init__(self, log: ImportLog) -> None:
        self.cases: list[Case] = []
        self.recordings: list[Recording] = []
        self.tools: dict[str, set[str]] = {}
        self._log = log
        self._names: dict[str, int] = {}
        self._match: str | None = None

    def take(self, file: Path) -> None:
        """Read one evalset file and add its cases. Raises SuiteError if the file is not an evalset."""
        text = read_text(file, limits.YAML_BYTES)
        data = located_json(text, shown_path(file), 1)
        listed = data.get("eval_cases", data.get("evalCases")) if isinstance(data, dict) else None
        if not isinstance(listed, list):
            migration = "AgentEvaluator.migrate_eval_data_to_new_schema makes them of lists of queries"
            raise source_error(file, "is no evalset", f"expected eval_cases; {migration}", line=1)
        self._match = self._match_of(file.parent / "test_config.json")
        raw = [case for case in listed if isinstance(case, dict)]
        lines = [text.count("\n", 0, mark.start()) + 1 for mark in _CASE_ID.finditer(text)]
        for number, case in enumerate(raw):
            place = f"{printable(file.name)}:{lines[number] if len(lines) == len(raw) else 1}"
            parsed, problems = validated(EvalCase, case, place)
            for problem in problems:
                self._refuse("cases", place, problem.message)
            if parsed is not None:
                self._case(parsed, place)

    def _match_of(self, config: Path) -> str | None:
        """Return how a test config compares expected calls, ``exact`` by default; None if the config does not compare calls."""
        if not config.is_file():
            return _MATCHES["EXACT"]
        data = located_json(read_text(config, limits.YAML_BYTES), shown_path(config), 1)
        criteria = data.get("criteria") if isinstance(data, dict) else None
        if not isinstance(criteria, dict):
            return _MATCHES["EXACT"]
        for other in sorted(criteria.keys() - {_TRAJECTORY}):
            message = f"{printable(str(other))}: references and rubrics are requirements in words, which a model reads"
            self._log.note("criterion", config.name, message, leaves="criteria")
        criterion = criteria.get(_TRAJECTORY)
        given = criterion if isinstance(criterion, dict) else {}
        kind = given.get("match_type", given.get("matchType", "EXACT"))
        return None if criterion is None else _MATCHES.get(str(kind), "exact")

    def _case(self, case: EvalCase, place: str) -> None:
        """Convert one evalset case to cases, and note parts that cannot be converted."""
        if case.final_session_state:
            self._refuse("final session states", place, "the state that the session ends in has no place in a case")
        if case.conversation_scenario is not None and not case.conversation:
            self._scenario(case, case.conversation_scenario, place)
            return
        parts = list(_conversations(case.conversation))
        for number in range(len(parts)):
            self._part(case, parts, number, place)
        if not parts:
            self._refuse("cases", place, "the case has no conversation")
        elif len(parts) > 1:
            why = "the user goes on with something that no reply asked for; what was said before is history"
            self._log.note("split", place, f"{len(parts)} cases: {why}")

    def _scenario(self, case: EvalCase, scenario: AdkScenario, place: str) -> None:
        """Add a scenario as a case with its rubrics as requirements; refuse it if it has no rubrics."""
        if requirements := _rubrics(case.rubrics):
            truth = {"intent": scenario.conversation_plan, "requirements": requirements}
            self._add(case, {"query": scenario.starting_prompt}, truth, place)
        else:
            self._refuse("cases", place, "a scenario without rubrics expects nothing")

    def _part(self, case: EvalCase, parts: Sequence[Sequence[Invocation]], number: int, place: str) -> None:
        """Add a case for one part of a conversation; earlier parts become its history."""
        turns, before = parts[number], chain.from_iterable(parts[:number])
        group = {"name": _safe(case.eval_id), "order": number + 1} if len(parts) > 1 else None
        calls = [call for turn in turns for call in turn.calls]
        requirements = [] if self._match is None else [_calls_requirement(calls, self._match)]
        reference = turns[-1].final_response.text
        if reference:
            text = f"The last reply says the same as: {reference}"
            requirements.append({"id": "reference", "kind": "soft", "text": text[:5000]})
        requirements += _rubrics((*case.rubrics, *(rubric for turn in turns for rubric in turn.rubrics)))
        called = [[{"tool": call.name, "arguments": call.args} for call in turn.calls] for turn in turns]
        replies = [turn.final_response.text for turn in turns]
        oracle = [{"calls": calls_of_turn, "say": words} for calls_of_turn, words in zip(called, replies, strict=True)]
        # Each later message of the user, with the keywords of the reply that asks for it.
        answers = [{"asked": _asked_for(turn), "say": then.user_content.text} for turn, then in pairwise(turns)]
        truth: JsonObject = {
            "requirements": requirements,
            "tools": list(_expected(calls)),
            "user": {"answers": answers, "leaves": True},
            "oracle": oracle if all(replies) else [],
            "clarification": {"max_turns": len(turns) - 1},
        }
        spoken = ((f"user: {turn.user_content.text}", f"assistant: {turn.final_response.text}") for turn in before)
        visible = {"query": turns[0].user_content.text, "context": {"history": [*chain.from_iterable(spoken)]}}
        added = self._add(case, visible, truth, place, group)
        if added is not None:
            self._record(added, turns, place)

    def _add(
        self, case: EvalCase, visible: JsonObject, truth: JsonObject, place: str, group: JsonObject | None = None
    ) -> Case | None:
        """Build a case, keep it with the tools that it uses, and return it; None if the data is not a valid case."""
        context = {**visible.get("context", {}), "uid": case.session_input.user_id, "details": case.session_input.state}
        name = unused_id(_safe(case.eval_id.rpartition("/")[2]), self._names)
        visible = {**visible, "context": context}
        added = self._log.case({"id": name, "group": group, "visible": visible, "truth": truth}, place)
        if added is None:
            self._log.leave("cases")
            return None
        self.cases.append(added)
        for tool in (call for turn in added.truth.oracle for call in turn.calls):
            self.tools.setdefault(tool.tool, set()).update(tool.arguments)
        for expected in added.truth.tools:
            self.tools.setdefault(expected.name, set()).update(expected.match)
        return added

    def _record(self, case: Case, turns: Sequence[Invocation], place: str) -> None:
        """Keep tool responses as recordings, each matched to a call by id, otherwise to the next call of its tool."""
        seen: dict[tuple[str, str], Json] = {}
        for turn in turns:
            waiting = list(turn.responses)
            for call in turn.calls:
                by_id = (response for response in waiting if call.id and response.id == call.id)
                by_name = (other for other in waiting if other.name == call.name and not (other.id and call.id))
                answer = next(chain(by_id, by_name), None)
                if answer is None:
                    message = f"the file does not tell what {call.name} answers: record it"
                    self._log.note("unanswered", place, message, leaves="answers of tools")
                    continue
                waiting.remove(answer)
                key = (call.name, json.dumps(call.args, sort_keys=True))
                data = {"case": case.id, "tool": call.name, "arguments": call.args, "result": answer.response}
                recording = None if key in seen else self._log.recording(data, place)
                if recording is not None:
                    seen[key] = answer.response
                    self.recordings.append(recording)
                elif key in seen and seen[key] != answer.response:
                    message = f"{call.name} answers the same call in two ways; the first is kept"
                    self._refuse("answers of tools", place, message)

    def _refuse(self, what: str, place: str, message: str) -> None:
        """Note an omission and its reason, and count it under ``what``."""
        self._log.note("refused", place, f"{message}; left out", leaves=what)


def _safe(words: str) -> str:
    """Return the last 60 characters of a text as a valid case name; ``case`` if no character is allowed."""
    return safe_name(words)[-60:].strip("-.") or "case"


def _conversations(turns: Sequence[Invocation]) -> Iterator[list[Invocation]]:
    """Yield the turns in groups; a new group starts when the previous reply asked the user for nothing."""
    part: list[Invocation] = []
    for turn in turns:
        if not turn.user_content.text:
            continue
        if part and not _asked_for(part[-1]):
            yield part
            part = []
        part.append(turn)
    if part:
        yield part


def _asked_for(turn: Invocation) -> list[str]:
    """Return the keywords of a reply's questions and requests; without a reply, use the search arguments of its calls."""
    words = turn.final_response.text or " ".join(str(value) for call in turn.calls for value in call.args.values())
    sentences = re.split(r"(?<=[.!?？。！])\s*", words)
    return telling_words(sentence for sentence in sentences if re.search(r"[?？]|\b[Pp]lease\b", sentence))


def _calls_requirement(calls: Sequence[ExpectedCall], match: str) -> JsonObject:
    """Return the requirement that the agent makes the expected calls, compared according to ``match``."""
    names = ", ".join(f"{call.name}({json.dumps(call.args, ensure_ascii=False)})" for call in calls) or "no tool"
    order = {"exact": "exactly, in this order", "in_order": "in this order", "any_order": "in any order"}[match]
    steps = [{"tool": call.name, "with": _equal(call.args)} for call in calls]
    return {
        "id": "calls",
        "kind": "asked",
        "text": f"Calls {order}: {names}"[:5000],
        "scope": "trajectory",
        "check": {"kind": "calls", "steps": steps, "match": match if steps else "exact"},
    }


def _equal(arguments: Mapping[str, Json]) -> JsonObject:
    """Return a rule for each argument that it equals the given value."""
    return {name: {"op": "equal", "value": value} for name, value in arguments.items()}


def _expected(calls: Sequence[ExpectedCall]) -> Iterator[JsonObject]:
    """Yield each expected tool once, with the arguments of its first call."""
    for name in dict.fromkeys(call.name for call in calls):
        args: Mapping[str, Json] = next(call.args for call in calls if call.name == name)
        given = {key: value for key, value in args.items() if value not in (None, "", [], {})}
        yield {"name": name, "required": sorted(given), "match": _equal(args)}


def _rubrics(rubrics: Sequence[Rubric]) -> list[JsonObject]:
    """Return the distinct texts of rubrics as soft requirements, numbered from 1."""
    texts = [rubric.rubric_content.text_property for rubric in rubrics if rubric.rubric_content.text_property.strip()]
    numbered = enumerate(dict.fromkeys(texts), 1)
    return [{"id": f"rubric-{number}", "kind": "soft", "text": text[:5000]} for number, text in numbered]
