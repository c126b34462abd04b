"""``mapsat record TOOLS``: the user's own tools are called, and their answers become recordings of a suite."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_mapsat.agents import Source, resolve_source
from pytest_mapsat.episode import run_episode, shutdown
from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import Case, Recording, SuiteError, UsageError, did_you_mean
from pytest_mapsat.recording import Keeping, OwnTools, RecordingSandbox, describe_tools, keep_recordings, with_things
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.suite import CaseEntry, Suite, find_suite, open_suite, write_tool
from pytest_mapsat.users import make_user

_ORACLE = "baseline:oracle"
_SANDBOX = "to check the state that an agent leaves, write a sandbox in Python (docs/sandboxes.md)"
#: How the name of a tool that changes something often begins.
_WRITES = re.compile(
    r"(?:add|append|apply|book|buy|cancel|change|charge|close|commit|create|delete|edit|insert|mark|modify|move|order|pay|place|post|put|refund|register"
    r"|remove|rename|rent|reorder|reschedule|reserve|return|save|schedule|send|set|submit|transfer|update|write)(?:_|[A-Z]|$)"
)


@dataclass(frozen=True)
class Wanted:
    """What was asked for, as in the options of the command."""

    tools: str
    suite: Path
    cases: tuple[str, ...]
    agent: str
    replace: bool = False


def conduct(wanted: Wanted, *, as_json: bool) -> int:
    """Record, tell what was kept, and return the exit status.

    Raises:
        MapsatError: the tools, the suite, the agent or a case cannot be used.
        OSError: the suite cannot be written.
    """
    root = find_suite(wanted.suite)
    if root is None:
        hint = "mapsat init writes one" if not wanted.suite.exists() else "expected a suite.yaml there or above"
        raise UsageError(f"{wanted.suite}: there is no suite ({hint})")
    source = resolve_source(wanted.agent, root=Path.cwd())
    if source.kind == "recorded":
        raise UsageError(f"--agent={wanted.agent}: a recorded dialogue makes no calls; give module:attr")
    own = OwnTools.load(wanted.tools, root=Path.cwd())
    try:
        suite, described = describe_tools(own, open_suite(root))
        if not as_json:
            _say(f"{shown_path(path)}: new, described from its signature; look it over" for path in described)
        entries, unread = _entries(suite, wanted.cases)
        recordings, problems, redacted = _played(own, suite, entries, source, wanted)
        problems = [*unread, *problems]
        for path in described:
            tool = suite.tools[path.stem]
            write_tool(
                path, with_things(tool, [recording.result for recording in recordings if recording.tool == tool.name])
            )
        kept = keep_recordings(root, recordings, replace=wanted.replace)
    finally:
        own.close()
        shutdown()
    warnings = _of_writes(suite, recordings)
    if as_json:
        report = {
            "tools": [shown_path(path) for path in described],
            "recordings": kept.to_json(),
            "redacted": sorted(redacted),
            "problems": problems,
            "warnings": warnings,
        }
        sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    else:
        _tell(kept, redacted, problems)
        for warning in warnings:
            sys.stderr.write(f"mapsat: {warning}\n")
    return 1 if problems or kept.problems else 0


def _entries(suite: Suite, names: tuple[str, ...]) -> tuple[list[CaseEntry], list[str]]:
    """Return the cases to play, in the suite's order, none where the suite has none yet; and what is wrong with files that cannot be read."""
    known: dict[str, CaseEntry] = {}
    problems: list[str] = []
    for file in suite.inventory.cases:
        try:
            known |= {entry.id: entry for entry in suite.entries(file)}
        except SuiteError as error:  # other files may be sound, and their faults are told, too
            problems.append(str(error))
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None and not problems:
        hint = did_you_mean(unknown, known)
        raise UsageError(f"--case: {suite.root.name} has no case {unknown!r}" + (f" ({hint})" if hint else ""))
    return [entry for name, entry in known.items() if not names or name in names], problems


def _played(
    own: OwnTools, suite: Suite, entries: list[CaseEntry], source: Source, wanted: Wanted
) -> tuple[list[Recording], list[str], set[str]]:
    """Play the cases with the tools; return the answers, what went wrong, and what was redacted."""
    recordings: list[Recording] = []
    problems: list[str] = []
    redacted: set[str] = set()
    for entry in entries:
        try:
            case = suite.load(entry)
        except SuiteError as error:
            problems.append(str(error))
            continue
        if wanted.agent == _ORACLE and not case.truth.oracle:
            problems.append(f"case {case.id} has no oracle dialogue (truth.oracle) to take calls from; give --agent")
            continue
        fresh = own.fresh()
        sandbox = RecordingSandbox(RecordedSandbox(suite.tools, ()), fresh, case.id)
        problems += _episode(case, source, sandbox)
        if fresh is not own:
            fresh.close()
        recordings += sandbox.cleaned()
        redacted |= sandbox.secrets.found
    return recordings, problems, redacted


def _episode(case: Case, source: Source, sandbox: RecordingSandbox) -> list[str]:
    """Play one case, and return what kept a call from being answered, or the episode from its end."""
    trajectory = run_episode(case, source, make_user("scripted", case), sandbox)
    errors = [
        f"case {case.id}: {step.tool}: {step.result['message']}"
        for step in trajectory.calls
        if step.status == "error" and step.result["message"] not in sandbox.problems
    ]
    problems = [f"case {case.id}: {problem}" for problem in sandbox.problems]
    fault = [f"case {case.id}: {trajectory.fault.message}"] if trajectory.fault else []
    return [*problems, *errors, *fault]


def _of_writes(suite: Suite, recordings: Iterable[Recording]) -> list[str]:
    """Return what a recording cannot do for the tools that write, or seem to."""
    called = {recording.tool for recording in recordings}
    writing = sorted(name for name in called if suite.tools[name].effect == "write")
    seeming = sorted(name for name in called - {*writing} if _WRITES.match(name))
    told = [f"{', '.join(writing)}: a recording answers, and changes nothing: {_SANDBOX}"] if writing else []
    if seeming:
        told.append(
            f"{', '.join(seeming)}: seems to write; if so, declare effect: write, and note that a recording changes nothing: {_SANDBOX}"
        )
    return told


def _tell(kept: Keeping, redacted: set[str], problems: list[str]) -> None:
    counts = [f"{kept.added} recording{'' if kept.added == 1 else 's'} added"]
    counts += [f"{kept.known} already there"] if kept.known else []
    counts += [f"{kept.replaced} replaced"] if kept.replaced else []
    _say([f"{shown_path(kept.path)}: {', '.join(counts)}"])
    if redacted:
        _say([f"redacted: {', '.join(sorted(redacted))}"])
    for problem in (*problems, *kept.problems):
        sys.stderr.write(f"mapsat: not kept: {problem}\n")


def _say(lines: Iterable[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
