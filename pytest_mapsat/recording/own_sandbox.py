"""Sandboxes that ask the user's own tools, or a model, what they cannot answer themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock

from pytest_mapsat.formats import Secrets
from pytest_mapsat.llm import ModelClient, ModelError, Request, prompt
from pytest_mapsat.model import (
    Case,
    Json,
    JsonObject,
    Provenance,
    Recording,
    RowChange,
    Step,
    Tool,
    Trajectory,
    Usage,
    total_usage,
)
from pytest_mapsat.sandbox import Answer, Sandbox, recording_key

from .own_tools import NoAnswerError, OwnTools

#: What the provenance of an answer says on the day it is given: by the user's own tool, or by a model.
ASKED = "no recording answered; your own tool did, and the answer is kept"
SIMULATED = "no recording answered; a model did, and its answer is kept to be looked over"
#: What stands before the reason why these gave no answer either.
_NO_TOOL_ANSWER = "your own tool gave no answer: "
_NO_MODEL_ANSWER = "a model gave no answer: "
#: The prompts, for the manifest.
SIMULATION_PROMPTS = ("simulate",)
#: Recorded answers that a model is shown, and characters of all of them.
_MOST_RECORDINGS = 8
_MOST_TEXT = 24_000
_SCHEMA: JsonObject = {"type": "object", "properties": {"result": {}}, "required": ["result"]}


class _Behind:
    """Stands behind another sandbox, which answers first."""

    def __init__(self, before: Sandbox) -> None:
        self._before = before

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The suite's tools by name."""
        return self._before.tools

    @property
    def setup(self) -> tuple[RowChange, ...]:
        """The rows that were changed while the sandbox was made."""
        return self._before.setup


def _still_missing(answer: Answer, why: str) -> Answer:
    """Return the miss that another sandbox told, with the reason why there is no answer behind it either."""
    if answer.provenance is None:
        return answer
    note = f"{answer.provenance.note}; {why}"
    return replace(answer, provenance=answer.provenance.model_copy(update={"note": note}))


class Kept:
    """Answers of own tools by case and canonical call, so that a call is asked once. Safe to be used from several threads."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.answers: dict[tuple[str, str], Recording] = {}


class RecordingSandbox(_Behind):
    """Answers from another sandbox where that can; else asks the user's own tools.

    Args:
        before: the sandbox that answers first; one without recordings answers nothing, but refuses calls that no tool can take.
        own: the user's own tools.
        case: the id of the case.
        kept: answers that are given again without asking; None: each call is passed on. Such an answer has its secrets redacted, as
            it will stand in the run file; one that is passed on is the tool's own.
    """

    def __init__(self, before: Sandbox, own: OwnTools, case: str, kept: Kept | None = None) -> None:
        super().__init__(before)
        self._own = own
        self._case = case
        self._kept = kept
        self.secrets = Secrets()
        #: What was answered, as it was; and why something was not.
        self.recordings: list[Recording] = []
        self.problems: list[str] = []

    def call(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Answer a call."""
        answer = self._before.call(name, arguments)
        if answer.status != "miss":
            return answer
        key = recording_key(self.tools[name], self._recording(name, arguments, None))
        if self._kept is None:
            recording = self._asked(name, arguments)
            if recording is None:
                return Answer({"status": "error", "message": self.problems[-1]}, "error")
        else:
            with self._kept.lock:
                recording = self._kept.answers.get((self._case, key))
                if recording is None:
                    recording = self._asked(name, arguments)
                    if recording is None:
                        return _still_missing(answer, _NO_TOOL_ANSWER + self.problems[-1])
                    recording = self.secrets.clean(recording, self.tools[name])
                    self._kept.answers[self._case, key] = recording
        return Answer(recording.result, "ok", Provenance(kind="recorded", recording=key, note=ASKED))

    def _recording(self, name: str, arguments: Mapping[str, Json], result: Json) -> Recording:
        return Recording(case=self._case, tool=name, arguments=dict(arguments), result=result, live=True)

    def _asked(self, name: str, arguments: Mapping[str, Json]) -> Recording | None:
        """Ask the user's own tool; None where it gave no answer that can be kept, and the problems say why."""
        problem, result = "", None
        try:
            result = self._own.ask(name, dict(arguments))
        except NoAnswerError as error:
            problem = str(error)
        recording = self._recording(name, arguments, result)
        self.secrets.clean(recording, self.tools[name])  # learns what no words may show
        if problem:
            self.problems.append(self.secrets.text(problem))
            return None
        self.recordings.append(recording)
        return recording

    def cleaned(self) -> list[Recording]:
        """Return what was answered without secrets; those that a later call brought to light are out of the earlier ones too."""
        once = [self.secrets.clean(recording, self.tools[recording.tool]) for recording in self.recordings]
        return [self.secrets.clean(recording, self.tools[recording.tool]) for recording in once]


def recorded_steps(trajectory: Trajectory, tools: Mapping[str, Tool]) -> list[Recording]:
    """Return what the user's own tools, or a model in their place, answered in an episode, as recordings without secrets."""
    secrets = Secrets()
    return [
        secrets.clean(
            Recording(
                case=trajectory.case,
                tool=step.tool,
                arguments=step.arguments,
                result=step.result,
                live=_has(step, "recorded", ASKED),
                simulated=_has(step, "simulated", SIMULATED),
            ),
            tools[step.tool],
        )
        for step in trajectory.all_calls
        if step.tool in tools and (_has(step, "recorded", ASKED) or _has(step, "simulated", SIMULATED))
    ]


def _has(step: Step, kind: str, note: str) -> bool:
    return step.provenance is not None and (step.provenance.kind, step.provenance.note) == (kind, note)


def unanswered_steps(trajectory: Trajectory) -> list[str]:
    """Return why the user's own tools, or a model in their place, gave no answer in an episode, a sentence for each call."""
    notes = [
        step.provenance.note for step in trajectory.all_calls if step.provenance and step.provenance.kind == "miss"
    ]
    marks = [(note, mark) for note in notes for mark in (_NO_TOOL_ANSWER, _NO_MODEL_ANSWER) if mark in note]
    return [f"case {trajectory.case}: {note.rpartition(mark)[2]}" for note, mark in marks]


@dataclass(frozen=True)
class Simulator:
    """The model that answers: the way to it, its name, its sampling parameters."""

    client: ModelClient
    model: str
    parameters: JsonObject


class SimulatingSandbox(_Behind):
    """Answers from another sandbox where that can; else has a model answer. Calls that change the state are never made up.

    Args:
        before: the sandbox that answers first.
        simulator: the model.
        case: the case, of which a model is told time and place only.
        recordings: gives recorded answers to learn the form from, those of the case first.
    """

    def __init__(
        self, before: Sandbox, simulator: Simulator, case: Case, recordings: Callable[[], Iterable[Recording]]
    ) -> None:
        super().__init__(before)
        self._simulator = simulator
        self._case = case
        self._recordings = recordings

    def call(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Answer a call."""
        answer = self._before.call(name, arguments)
        if answer.status != "miss" or answer.provenance is None or self.tools[name].effect == "write":
            return answer
        tool, spent = self.tools[name], list[Usage]()
        mine = (recorded for recorded in self._recordings() if recorded.tool == name and not recorded.simulated)
        try:
            result = self._simulated(tool, dict(arguments), list(islice(mine, _MOST_RECORDINGS)), spent)
        except (ModelError, ValueError) as error:
            missing = _still_missing(answer, f"{_NO_MODEL_ANSWER}{error}")
            return replace(missing, usage=total_usage(spent) if spent else None)
        recording = Recording(case=self._case.id, tool=name, arguments=dict(arguments), result=result, simulated=True)
        provenance = Provenance(kind="simulated", recording=recording_key(tool, recording), note=SIMULATED)
        return Answer(result, "ok", provenance, usage=total_usage(spent))

    def _simulated(self, tool: Tool, arguments: JsonObject, examples: Sequence[Recording], spent: list[Usage]) -> Json:
        """Return a result of the form that the tool's recordings have; ``spent`` takes what each call spent.

        Raises:
            ModelError: the model gave no answer.
            ValueError: it has another form, twice, or there is no recording to learn the form from.
        """
        if not examples:
            raise ValueError(f"{tool.name} has no recording to learn the form of its answers from")
        text, wrong = self._text(tool, arguments, examples), ""
        for attempt in (1, 2):
            content = f"{text}\n\n{wrong}" if wrong else text
            request = Request(
                model=self._simulator.model,
                messages=({"role": "user", "content": content},),
                schema_=_SCHEMA,
                parameters=self._simulator.parameters,
                vote=attempt,
                purpose="sandbox",
            )
            try:
                answer = self._simulator.client.ask(request)
            except ModelError as error:
                spent.append(error.usage)
                raise
            spent.append(answer.usage)
            data = answer.data or {}
            wrong = unlike(data.get("result"), [recording.result for recording in examples])
            if not wrong:
                return data["result"]
        raise ValueError(wrong)

    def _text(self, tool: Tool, arguments: JsonObject, examples: Sequence[Recording]) -> str:
        context = self._case.visible.context
        place = context.location
        where: JsonObject = {"now": context.now, "city": context.city}
        where |= {"lon": place.lon, "lat": place.lat} if place else {}
        told = [f"{_json(recording.arguments)} -> {_json(recording.result)}" for recording in examples]
        return prompt("simulate", self._case.language).fill(
            tool=_json({"name": tool.name, "description": tool.description, "parameters": tool.parameters}),
            recordings="\n".join(told)[:_MOST_TEXT],
            context=_json({name: value for name, value in where.items() if value}),
            call=_json(arguments),
        )


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def unlike(value: Json, examples: Sequence[Json], place: str = "result") -> str:
    """Return in what a value has another form than all examples; empty where it has theirs.

    An object has no key that no example has, and each that all of them have; a list has members like theirs; any other value is of a type that one of them has.
    """
    kinds = {_kind(example) for example in examples}
    if _kind(value) not in kinds:
        return f"{place} is {_kind(value)}, and recorded answers have {' or '.join(sorted(kinds))}"
    inside: Iterable[str] = ()
    if isinstance(value, Mapping):
        objects = [example for example in examples if isinstance(example, Mapping)]
        if strange := sorted(set(value) - set().union(*objects)):
            return f"{place} has the key {strange[0]!r}, which no recorded answer has"
        if lacking := sorted(set.intersection(*map(set, objects)) - set(value)):
            return f"{place} lacks the key {lacking[0]!r}, which all recorded answers have"
        inside = (unlike(value[key], [item[key] for item in objects if key in item], f"{place}.{key}") for key in value)
    elif isinstance(value, list):
        members = [member for example in examples if isinstance(example, list) for member in example]
        inside = (unlike(member, members, f"{place}[{at}]") for at, member in enumerate(value) if members)
    return next(filter(None, inside), "")


def _kind(value: Json) -> str:
    if isinstance(value, bool) or value is None:
        return "true or false" if value is not None else "null"
    if isinstance(value, int | float):
        return "a number"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"
