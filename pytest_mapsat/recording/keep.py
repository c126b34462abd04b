"""Recordings of the user's own tools, put into the suite: from a block of a test, or offered for calls that missed."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_mapsat.agents import as_json
from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import (
    Difference,
    Json,
    JsonObject,
    Provenance,
    Recording,
    Run,
    Step,
    Tool,
    UsageError,
    canonical_json,
    digest,
    hint_at,
)
from pytest_mapsat.printed import printed
from pytest_mapsat.reports import call_text, printable
from pytest_mapsat.sandbox import RecordedSandbox, Toolbox, recording_key
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

from .own_sandbox import RecordingSandbox
from .own_tools import OwnTools

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
