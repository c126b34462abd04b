"""Recordings of the user's own tools, put into the suite: from a block of a test, or offered for calls that missed."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

from pytest_mapsat.agents import as_json
from pytest_mapsat.formats import Secrets, shown_path
from pytest_mapsat.llm import ModelError, Voice, prompt
from pytest_mapsat.model import (
    Case,
    Difference,
    Json,
    JsonObject,
    Provenance,
    Recording,
    RowChange,
    Run,
    Step,
    Tool,
    Trajectory,
    Usage,
    UsageError,
    canonical_json,
    digest,
    hint_at,
    total_usage,
)
from pytest_mapsat.printed import printed
from pytest_mapsat.reports import call_text, printable
from pytest_mapsat.sandbox import Answer, RecordedSandbox, Sandbox, Toolbox, recording_key
from pytest_mapsat.suite import (
    PlacedRecording,
    Suite,
    find_suite,
    is_bare,
    new_folder,
    open_suite,
    write_recordings,
    write_tool,
)

from .own_tools import NoAnswerError, OwnTools

#: Where they stand in the suite.
RECORDED = PurePosixPath("recordings", "recorded.jsonl")


@dataclass
class Keeping:
    """What became of the answers of own tools.

    Attributes:
        path: the file of recordings.
        added: how many are new.
        known: how many say what a recording of the suite says already.
        replaced: how many took the place of an older answer.
        problems: what was not kept, and why, each with its place.
    """

    path: Path
    added: int = 0
    known: int = 0
    replaced: int = 0
    problems: list[str] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        return vars(self) | {"path": shown_path(self.path)}


def keep_recordings(root: Path, recordings: Iterable[Recording], *, replace: bool = False) -> Keeping:
    """Add recordings to a suite's ``recordings/recorded.jsonl``: sorted, each request once, the file whole or not at all.

    A request that a recording of the case knows in another spelling is that request: it is kept once. Where two answers differ the older
    one stays, and among new ones that with the smallest digest, so that nothing depends on who came first.

    Args:
        root: the suite's folder.
        recordings: what own tools answered, without secrets.
        replace: put the new answer in the place of an older one of an own tool.

    Raises:
        SuiteError: the suite or its recordings cannot be read, or something in its folder leads out of it.
        OSError: the file cannot be written.
    """
    kept = Keeping(root / RECORDED)
    with _alone(root):
        suite = open_suite(root)
        suite.refuse_odd_files()
        placed = [
            kept_recording
            for case in sorted(suite.recording_spans())
            for kept_recording in suite.placed_recordings(case)
        ]
        whole = [kept_recording.recording for kept_recording in placed if kept_recording.path == kept.path]
        fresh = [recording for recording in sorted(recordings, key=_order) if recording.tool in suite.tools]
        for case, of_case in groupby(fresh, key=lambda recording: recording.case):
            _merge(suite, case, of_case, whole, kept, replace=replace)
        if kept.added or kept.replaced:
            # By request alone: several answers to one request stay in their order.
            write_recordings(kept.path, sorted(whole, key=lambda recording: _order(recording)[:3]))
    return kept


def recorded_copy(suite: Suite, dest: Path, run: Run) -> Keeping:
    """Make a copy of a suite in which what tables answered in a run is recorded: its tools compute nothing any more.

    Args:
        suite: the suite that was run.
        dest: the folder of the copy, which is not there yet.
        run: the run, with its dialogues.

    Raises:
        UsageError: ``dest`` is there, no tool of the suite computes its answers, or the run is of another suite.
        SuiteError: something in the suite's folder leads out of it.
    """
    suite.refuse_odd_files()
    computed = {name for name, tool in suite.tools.items() if tool.answer is not None}
    if not computed:
        raise UsageError(
            f"{shown_path(suite.root)}: no tool computes its answers from tables: there is nothing to record"
        )
    ids = {entry.id for entry in suite.readable()}
    cards = [card for card in run.cases if card.id in ids]
    if not cards:
        raise UsageError(f"the run has no case of {shown_path(suite.root)}: --suite names the suite that was run")
    files = suite.inventory
    with new_folder(dest) as folder:
        for path in (suite.root / "suite.yaml", *files.cases, *files.requirements, *files.state, *files.recordings):
            place = folder / path.relative_to(suite.root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        for name, tool in suite.tools.items():
            write_tool(folder / "tools" / f"{name}.yaml", tool.model_copy(update={"answer": None}))
        kept = keep_recordings(
            folder,
            (
                Recording(case=card.id, tool=step.tool, arguments=step.arguments, result=step.result)
                for card in cards
                for step in card.trajectory.calls
                if step.status == "ok" and step.tool in computed
            ),
        )
    kept.path = dest / RECORDED
    return kept


def _merge(
    suite: Suite, case: str, fresh: Iterable[Recording], whole: list[Recording], kept: Keeping, *, replace: bool
) -> None:
    """Add a case's recordings to ``whole``, the content of the file."""
    before: dict[str, list[PlacedRecording]] = {}
    for placed in suite.placed_recordings(case):
        with suppress(ValueError):  # a recording that cannot be read answers nothing; lint tells it
            if placed.recording.tool in suite.tools:
                key = recording_key(suite.tools[placed.recording.tool], placed.recording)
                before.setdefault(key, []).append(placed)
    now: dict[str, Recording] = {}
    for recording in fresh:
        key = recording_key(suite.tools[recording.tool], recording)
        call = f"case {case}: {recording.tool}({_shortened(recording.arguments, 120)})"
        if key in now:
            if now[key].result != recording.result:
                result = _shortened(now[key].result, 80)
                kept.problems.append(f"{call} gave two answers; {result} is kept")
            continue
        now[key] = recording
        earlier = before.get(key, [])
        older = earlier[0] if earlier else None
        if older is None:
            whole.append(recording)
            kept.added += 1
        elif any(placed.recording.result == recording.result for placed in earlier):
            kept.known += 1
        elif replace and older.recording.live and older.path == kept.path:
            whole[whole.index(older.recording)] = recording
            kept.replaced += 1
        else:
            place = f"{shown_path(older.path)}:{older.line}"
            way = "--replace takes the new one" if older.recording.live else "remove that line to keep the new one"
            kept.problems.append(f"{place}: {call} answers something else now ({way})")


def _shortened(data: Json, most: int) -> str:
    text = canonical_json(data)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _order(recording: Recording) -> tuple[str, str, str, str]:
    return recording.case, recording.tool, canonical_json(recording.arguments), digest(recording.result)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Let one process at a time change the suite's recordings, where the system can lock files."""
    try:
        import fcntl  # noqa: PLC0415  not on Windows
    except ImportError:
        yield
        return
    with (root / "suite.yaml").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


class RecordingWarning(UserWarning):
    """An answer of an own tool was not kept; the message says why."""


def describe_tools(own: OwnTools, suite: Suite) -> tuple[Suite, list[Path]]:
    """Write a spec for each own tool of which the suite has none, or one that an importer could tell only the name of.

    Returns:
        The suite with these tools, and the files that were written.

    Raises:
        UsageError: no spec can be made of a tool.
        SuiteError: something in the suite's folder leads out of it, or the suite cannot be opened with them.
    """
    suite.refuse_odd_files()
    hidden = next((name for name in own.names if name.startswith(".")), None)
    if hidden is not None:
        raise UsageError(f"tools {own.name!r}: the name {hidden!r} begins with a dot, as hidden files do")
    places = {name: suite.root / "tools" / f"{name}.yaml" for name in own.names}
    bare = {name for name, tool in suite.tools.items() if is_bare(tool) and name in places and places[name].exists()}
    tools = {place: own.tool(name) for name, place in places.items() if name in bare or name not in suite.tools}
    taken = next((path for path in tools if path.exists() and path.stem not in bare), None)
    if taken is not None:
        raise UsageError(f"{taken} is there and describes no tool {taken.stem!r}; rename the file")
    for path, tool in tools.items():
        write_tool(path, tool)
    return (open_suite(suite.root) if tools else suite), list(tools)


@contextmanager
def recording(tools: Any, suite: str | Path, case: str, *, replace: bool = False) -> Iterator[Toolbox]:
    """Give own tools as an agent holds them; what they answer inside the block is kept when it ends, also when it ends with an exception.

    Args:
        tools: a list or dict of functions, a module, an object with methods, or a toolbox with ``call`` and ``schemas``.
        suite: the suite's folder, or a place in it.
        case: the id of the case that the recordings are of.
        replace: put a new answer in the place of an older one.

    Raises:
        UsageError: there is no such suite or case, or no tool in ``tools``.
        SuiteError: the suite cannot be read.
        OSError: its recordings cannot be written.

    Warns:
        RecordingWarning: for each answer that is not kept.
    """
    root = find_suite(Path(suite))
    if root is None:
        raise UsageError(f"{suite}: no suite here: expected a suite.yaml in this folder or one above")
    own = OwnTools.of(tools)
    opened, _ = describe_tools(own, open_suite(root))
    cases = [entry.id for file in opened.files() for entry in opened.entries(file)]
    if case not in cases:
        raise UsageError(f"{suite}: the suite has no case {case!r}{hint_at(case, cases)}")
    sandbox = RecordingSandbox(RecordedSandbox(opened.tools, ()), own, case)

    def call(name: str, arguments: JsonObject) -> Json:
        return as_json(sandbox.call(str(name), as_json(arguments)).result)

    try:
        yield Toolbox(sandbox.tools, call)
    finally:
        own.close()
        kept = keep_recordings(root, sandbox.cleaned(), replace=replace)
        for problem in (*sandbox.problems, *kept.problems):
            warnings.warn(printed(problem), RecordingWarning, stacklevel=1)


#: What a recording says in place of a missing answer: no JSON, so that no suite is read with it.
FILL_IN = "<the answer of your service>"
_BY_WORDS = ("text", "place", "enum", "set")


@dataclass
class Offer:
    """A call that missed, and what would answer it.

    Attributes:
        case: the case.
        tool: the tool.
        arguments: what was asked.
        note: why no recording answered.
        differences: what keeps the nearest recording from answering.
        times: how often it missed.
        synonym: parameter, the recorded words, the words asked for: declared as synonyms they make the recording answer.
        at: where the tool is described.
    """

    case: str
    tool: str
    arguments: JsonObject
    note: str = ""
    differences: tuple[Difference, ...] = ()
    times: int = 0
    synonym: tuple[str, str, str] | None = None
    at: str = ""

    def lines(self) -> Iterator[str]:
        """Yield what a person reads, the lines to paste included."""
        again = f", {self.times} times" if self.times > 1 else ""
        yield f"case {self.case}: {printable(call_text(self.tool, self.arguments))}{again}"
        for difference in self.differences:
            apart = f", {difference.distance_m:g} m apart" if difference.distance_m is not None else ""
            alike = f", {difference.score:.0%} alike" if difference.score is not None else ""
            yield f"  {difference.parameter}: asked {_shown(difference.asked)}, the nearest recording has {_shown(difference.recorded)}{apart}{alike}"
        if not self.differences and self.note:
            yield f"  {printable(self.note)}"
        if self.synonym is not None:
            parameter, recorded, asked = self.synonym
            yield f"  if they mean the same, in {self.at} below match.{parameter}.synonyms:"
            yield f"    {_shown(recorded)}: [{_shown(asked)}]"
        yield "  else, in recordings/*.jsonl, with the answer filled in:"
        head = _shown({"case": self.case, "tool": self.tool, "arguments": self.arguments})
        yield f'    {head[:-1]}, "result": {FILL_IN}}}'

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        data = {name: getattr(self, name) for name in ("case", "tool", "arguments", "times", "note")}
        synonym: JsonObject | None = None
        if self.synonym is not None:
            parameter, recorded, asked = self.synonym
            synonym = {"parameter": parameter, "synonyms": {recorded: [asked]}, "file": self.at}
        return {**data, "differences": [difference.to_json() for difference in self.differences], "synonym": synonym}


def offers_of(run: Run, suites: Sequence[Suite]) -> list[Offer]:
    """Return an offer for each call that missed in a run, by case, tool and arguments.

    A synonym is offered only where it was tried: with it, the suite's recordings answer the call.

    Args:
        run: a run with its trajectories.
        suites: the suites that its cases stand in; misses of other cases are left out.
    """
    homes = {entry.id: suite for suite in suites for file in suite.files() for entry in suite.entries(file)}
    offers: dict[tuple[str, str, str], Offer] = {}
    for card in run.cases:
        suite = homes.get(card.id)
        for step in card.trajectory.all_calls if suite is not None else ():
            if suite is None or step.status != "miss" or step.tool not in suite.tools:
                continue
            key = card.id, step.tool, _key(suite.tools[step.tool], card.id, step)
            if key not in offers:
                told = step.provenance or Provenance(kind="miss")
                offers[key] = Offer(card.id, step.tool, step.arguments, told.note, told.differences)
            offers[key].times += 1
    listed = sorted(offers.values(), key=lambda one: (one.case, one.tool, canonical_json(one.arguments)))
    for offer in listed:
        suite = homes[offer.case]
        path, line = suite.tool_places[offer.tool]
        offer.at = f"{shown_path(path)}:{line}"
        offer.synonym = _synonym(offer, suite)
    return listed


def _key(tool: Tool, case: str, step: Step) -> str:
    try:
        return recording_key(tool, Recording(case=case, tool=tool.name, arguments=step.arguments, result=None))
    except ValueError:  # the tool has changed since
        return canonical_json(step.arguments)


def _synonym(offer: Offer, suite: Suite) -> tuple[str, str, str] | None:
    """Return the synonym that makes a recording of the case answer, if one does."""
    tool = suite.tools[offer.tool]
    for difference in offer.differences:
        rule, asked, recorded = tool.match.get(difference.parameter), difference.asked, difference.recorded
        if rule is None or rule.type not in _BY_WORDS or not (isinstance(asked, str) and isinstance(recorded, str)):
            continue
        if not asked or not recorded or (rule.type == "text" and rule.near is None):
            continue  # only near text knows synonyms
        head = next((head for head, words in rule.synonyms.items() if recorded in (head, *words)), recorded)
        synonyms = {**rule.synonyms, head: (*rule.synonyms.get(head, ()), asked)}
        match = {**tool.match, difference.parameter: rule.model_copy(update={"synonyms": synonyms})}
        tried = RecordedSandbox({tool.name: tool.model_copy(update={"match": match})}, suite.recordings(offer.case))
        if tried.call(tool.name, offer.arguments).status == "ok":
            return difference.parameter, head, asked
    return None


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# -- a sandbox whose answers the user's own tools give -----------------------------------------------------------------

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


class SimulatingSandbox(_Behind):
    """Answers from another sandbox where that can; else has a model answer. Calls that change the state are never made up.

    Args:
        before: the sandbox that answers first.
        model: answers.
        case: the case, of which a model is told time and place only.
        recordings: gives recorded answers to learn the form from, those of the case first.
    """

    def __init__(
        self, before: Sandbox, model: Voice, case: Case, recordings: Callable[[], Iterable[Recording]]
    ) -> None:
        super().__init__(before)
        self._model = model
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
            try:
                answer = self._model.ask([{"role": "user", "content": content}], _SCHEMA, vote=attempt)
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
