"""Sandboxes that ask the user's own tools, or a model, what they cannot answer themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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

#: What the provenance of such an answer says, on the day it is given.
SIMULATED = "no recording answered; a model did, and its answer is kept to be looked over"
#: What stands before the reason why a model gave no answer either.
NO_MODEL_ANSWER = "a model gave no answer: "
#: The prompts, for the manifest.
SIMULATION_PROMPTS = ("simulate",)
#: Recorded answers that a model is shown, and characters of all of them.
_MOST_RECORDINGS = 8
_MOST_TEXT = 24_000
_SCHEMA: JsonObject = {"type": "object", "properties": {"result": {}}, "required": ["result"]}


@dataclass(frozen=True)
class Simulator:
    """The model that answers.

    Attributes:
        client: the way to it.
        model: its name.
        parameters: sampling parameters.
    """

    client: ModelClient
    model: str
    parameters: JsonObject


class SimulatingSandbox:
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
        self._before = before
        self._simulator = simulator
        self._case = case
        self._recordings = recordings

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The suite's tools by name."""
        return self._before.tools

    @property
    def setup(self) -> tuple[RowChange, ...]:
        """The rows that were changed while the sandbox was made."""
        return self._before.setup

    def call(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Answer a call."""
        answer = self._before.call(name, arguments)
        if answer.status != "miss" or answer.provenance is None or self.tools[name].effect == "write":
            return answer
        known = self._known(name)
        spent: list[Usage] = []
        try:
            result = self._simulated(self.tools[name], dict(arguments), known, spent)
        except (ModelError, ValueError) as error:
            note = f"{answer.provenance.note}; {NO_MODEL_ANSWER}{error}"
            provenance = answer.provenance.model_copy(update={"note": note})
            return Answer(answer.result, answer.status, provenance, usage=total_usage(spent) if spent else None)
        recording = Recording(case=self._case.id, tool=name, arguments=dict(arguments), result=result, simulated=True)
        key = recording_key(self.tools[name], recording)
        provenance = Provenance(kind="simulated", recording=key, note=SIMULATED)
        return Answer(result, "ok", provenance, usage=total_usage(spent))

    def _known(self, name: str) -> list[Recording]:
        mine = (recording for recording in self._recordings() if recording.tool == name and not recording.simulated)
        return list(islice(mine, _MOST_RECORDINGS))

    def _simulated(self, tool: Tool, arguments: JsonObject, known: Sequence[Recording], spent: list[Usage]) -> Json:
        """Return a result of the form that the tool's recordings have; ``spent`` takes what each call spent.

        Raises:
            ModelError: the model gave no answer.
            ValueError: it has another form, twice, or there is no recording to learn the form from.
        """
        if not known:
            raise ValueError(f"{tool.name} has no recording to learn the form of its answers from")
        asked: JsonObject = {"role": "user", "content": self._text(tool, arguments, known)}
        wrong = ""
        for attempt in (1, 2):
            again = f"\n\n{wrong}" if wrong else ""
            request = Request(
                model=self._simulator.model,
                messages=({**asked, "content": f"{asked['content']}{again}"},),
                schema_=_SCHEMA,
                parameters=self._simulator.parameters,
                vote=attempt,
                purpose="sandbox",
            )
            data = self._asked(request, spent)
            wrong = unlike(data.get("result"), [recording.result for recording in known])
            if not wrong:
                return data["result"]
        raise ValueError(wrong)

    def _asked(self, request: Request, spent: list[Usage]) -> JsonObject:
        try:
            answer = self._simulator.client.ask(request)
        except ModelError as error:
            spent.append(error.usage)
            raise
        spent.append(answer.usage)
        return answer.data or {}

    def _text(self, tool: Tool, arguments: JsonObject, known: Sequence[Recording]) -> str:
        context = self._case.visible.context
        place = context.location
        where = {
            "now": context.now,
            "city": context.city,
            "lon": place.lon if place else None,
            "lat": place.lat if place else None,
        }
        told = [f"{_json(recording.arguments)} -> {_json(recording.result)}" for recording in known]
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
    if isinstance(value, Mapping):
        objects = [example for example in examples if isinstance(example, Mapping)]
        always = set.intersection(*(set(one) for one in objects))
        ever = set().union(*objects)
        if strange := sorted(set(value) - ever):
            return f"{place} has the key {strange[0]!r}, which no recorded answer has"
        if lacking := sorted(always - set(value)):
            return f"{place} lacks the key {lacking[0]!r}, which all recorded answers have"
        members = ((key, [one[key] for one in objects if key in one]) for key in value)
        return next(filter(None, (unlike(value[key], known, f"{place}.{key}") for key, known in members)), "")
    if isinstance(value, list):
        known = [member for example in examples if isinstance(example, list) for member in example]
        inside = (unlike(member, known, f"{place}[{at}]") for at, member in enumerate(value)) if known else ()
        return next(filter(None, inside), "")
    return ""


def _kind(value: Json) -> str:
    if isinstance(value, bool) or value is None:
        return "true or false" if value is not None else "null"
    if isinstance(value, int | float):
        return "a number"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


#: What the provenance of such an answer says.
ASKED = "no recording answered; your own tool did, and the answer is kept"


#: What stands before the reason why a tool of the user's own gave no answer either.
_NONE = "your own tool gave no answer: "


class Kept:
    """Answers of own tools by case and canonical call, so that a call is asked once. Safe to be used from several threads."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.answers: dict[tuple[str, str], Recording] = {}


class RecordingSandbox:
    """Answers from another sandbox where that can; else asks the user's own tools.

    Args:
        before: the sandbox that answers first; one without recordings answers nothing, but refuses calls that no tool can take.
        own: the user's own tools.
        case: the id of the case.
        kept: answers that are given again without asking; None: each call is passed on. Such an answer has its secrets redacted, as
            it will stand in the run file; one that is passed on is the tool's own.
    """

    def __init__(self, before: Sandbox, own: OwnTools, case: str, kept: Kept | None = None) -> None:
        self._before = before
        self._own = own
        self._case = case
        self._kept = kept
        self.secrets = Secrets()
        #: What was answered, as it was; and why something was not.
        self.recordings: list[Recording] = []
        self.problems: list[str] = []

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The suite's tools by name."""
        return self._before.tools

    @property
    def setup(self) -> tuple[RowChange, ...]:
        """The rows that were changed while the sandbox was made."""
        return self._before.setup

    def call(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Answer a call."""
        answer = self._before.call(name, arguments)
        if answer.status != "miss":
            return answer
        if self._kept is None:
            return self._asked(name, arguments) or self._refused(self.problems[-1])
        key = self._case, recording_key(self.tools[name], self._recording(name, arguments, None))
        with self._kept.lock:
            if key not in self._kept.answers:
                if self._asked(name, arguments) is None:
                    return _still_missing(answer, self.problems[-1])
                self._kept.answers[key] = self.secrets.clean(self.recordings[-1], self.tools[name])
            return _answer(self._kept.answers[key].result, key[1])

    def _recording(self, name: str, arguments: Mapping[str, Json], result: Json) -> Recording:
        return Recording(case=self._case, tool=name, arguments=dict(arguments), result=result, live=True)

    def _asked(self, name: str, arguments: Mapping[str, Json]) -> Answer | None:
        """Ask the user's own tool; None where it gave no answer that can be kept, and the problems say why."""
        try:
            recording = self._recording(name, arguments, self._own.ask(name, dict(arguments)))
        except NoAnswerError as error:
            recording = self._recording(name, arguments, None)
            self.secrets.clean(recording, self.tools[name])  # learns what no words may show
            self.problems.append(self.secrets.text(str(error)))
            return None
        self.secrets.clean(recording, self.tools[name])  # likewise
        self.recordings.append(recording)
        return _answer(recording.result, recording_key(self.tools[name], recording))

    def _refused(self, why: str) -> Answer:
        return Answer({"status": "error", "message": why}, "error")

    def cleaned(self) -> list[Recording]:
        """Return what was answered without secrets; those that a later call brought to light are out of the earlier ones too."""
        once = [self.secrets.clean(recording, self.tools[recording.tool]) for recording in self.recordings]
        return [self.secrets.clean(recording, self.tools[recording.tool]) for recording in once]


def _answer(result: Json, recording: str) -> Answer:
    return Answer(result, "ok", Provenance(kind="recorded", recording=recording, note=ASKED))


def _still_missing(answer: Answer, why: str) -> Answer:
    if answer.provenance is None:
        return answer
    note = f"{answer.provenance.note}; {_NONE}{why}"
    return Answer(answer.result, answer.status, answer.provenance.model_copy(update={"note": note}))


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
                live=_is_asked(step),
                simulated=_is_simulated(step),
            ),
            tools[step.tool],
        )
        for step in trajectory.calls
        if (_is_asked(step) or _is_simulated(step)) and step.tool in tools
    ]


def unanswered_steps(trajectory: Trajectory) -> list[str]:
    """Return why the user's own tools, or a model in their place, gave no answer in an episode, a sentence for each call."""
    notes = [step.provenance.note for step in trajectory.calls if step.provenance and step.provenance.kind == "miss"]
    marks = [(note, mark) for note in notes for mark in (_NONE, NO_MODEL_ANSWER) if mark in note]
    return [f"case {trajectory.case}: {note.rpartition(mark)[2]}" for note, mark in marks]


def _is_simulated(step: Step) -> bool:
    return step.provenance is not None and step.provenance.kind == "simulated" and step.provenance.note == SIMULATED


def _is_asked(step: Step) -> bool:
    return step.provenance is not None and step.provenance.kind == "recorded" and step.provenance.note == ASKED
