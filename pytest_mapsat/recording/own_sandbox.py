"""A sandbox that asks the user's own tools what it cannot answer itself."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from pytest_mapsat.formats import Secrets
from pytest_mapsat.model import Json, Provenance, Recording, RowChange, Step, Tool, Trajectory
from pytest_mapsat.sandbox import Answer, Sandbox, recording_key

from .own_tools import NoAnswerError, OwnTools
from .simulated import NO_MODEL_ANSWER, SIMULATED

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
