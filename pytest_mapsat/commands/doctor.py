"""``mapsat doctor AGENT``: checks the agent's connection in a few short episodes, before any benchmark is run or paid for."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Literal, NamedTuple

from pytest_mapsat.agents import Source, SourceElsewhere, resolve_source, scrubbed
from pytest_mapsat.episode import Limits, run_episode, shutdown
from pytest_mapsat.model import Case, Json, MapsatError, Tool, Trajectory, Turn, UsageError
from pytest_mapsat.reports import printable, wrap
from pytest_mapsat.sandbox import Sandbox, SandboxAnswer, make_sandbox
from pytest_mapsat.suite import CaseEntry, Suite, find_suite, open_suite
from pytest_mapsat.users import Hands, UserMove

from . import shared

#: Seconds that one episode may take unless the user says otherwise.
_TIMEOUT = 60.0
_AT_ONCE = 10
#: Characters of a reply that are shown.
_QUOTED = 60
#: What is said in one session, and asked for in the next.
_CODE = "K7QX-2291"
_CANARY, _ASKED_CANARY = f"My reference is {_CODE}, please keep it in mind.", "What is my reference?"
#: The second message of the dialogue that shows whether an agent remembers the first.
_AGAIN = {"en": "Please repeat your last answer.", "zh": "请把你刚才的回答重复一遍。"}

Outcome = Literal["ok", "warning", "failed", "skipped"]


class Diagnosis(NamedTuple):
    """The result of one check.

    Attributes:
        outcome: a warning is worth knowing and breaks nothing; skipped: the check could not tell.
        observed: what the agent did.
        advice: what to do about it; empty where there is nothing to do.
    """

    outcome: Outcome
    observed: str
    advice: str = ""


class Behaviour(NamedTuple):
    """The behaviour of an agent in one episode, in a comparable form.

    Attributes:
        replies: its texts.
        calls: tool and arguments of each call, as JSON.
        fault: why the episode broke off; empty where it ended in order.
    """

    replies: tuple[str, ...]
    calls: tuple[str, ...]
    fault: str = ""


def behaviour_of(trajectory: Trajectory) -> Behaviour:
    """Return the agent's behaviour in an episode: its replies, its calls and any fault."""
    replies = tuple(turn.text for turn in trajectory.turns if turn.role == "agent")
    calls = tuple(json.dumps([step.tool, step.arguments], sort_keys=True) for step in trajectory.calls)
    if (fault := trajectory.fault) is None:
        return Behaviour(replies, calls)
    not_its = "" if fault.blame == "agent" else f" (not the agent's fault: {fault.blame})"
    return Behaviour(replies, calls, fault.message + not_its)


@dataclass(frozen=True)
class _Speaker:
    """A user who sends a few more messages and then ends the dialogue."""

    messages: tuple[str, ...] = ()

    def reply(self, turns: Sequence[Turn], hands: Hands) -> UserMove:  # noqa: ARG002  # the protocol's argument
        """Return the next message, or the end of the dialogue after the last one."""
        spoken = sum(turn.role == "user" for turn in turns) - 1
        if spoken < len(self.messages):
            return UserMove(self.messages[spoken])
        return UserMove(None, "done")


@dataclass(frozen=True)
class _BrokenTools:
    """A sandbox in which every tool fails."""

    tools: Mapping[str, Tool]
    setup: tuple[()] = ()

    def call(self, name: str, arguments: Mapping[str, Json]) -> SandboxAnswer:  # noqa: ARG002  # the protocol's arguments
        """Return an error for any call."""
        return SandboxAnswer({"status": "error", "message": "the service is out of order"}, "error")


@dataclass
class Examination:
    """An agent under examination, with the cases for it and the way episodes run.

    Attributes:
        spec: the agent's spec.
        source: the agent.
        suite: where the cases are from.
        cases: one or two of them.
        timeout: what an episode may take, seconds.
        seconds: how long each reply took so far.
    """

    spec: str
    source: Source
    suite: Suite
    cases: tuple[Case, ...]
    timeout: float
    seconds: list[float] = field(default_factory=list)

    def play(
        self, case: Case | None = None, *, more: tuple[str, ...] = (), sandbox: Sandbox | None = None, trial: int = 1
    ) -> Trajectory:
        """Play one episode and return its trajectory.

        Args:
            case: the case; the first by default.
            more: what the user says after the agent's first reply.
            sandbox: what answers the tools; the case's own sandbox by default.
            trial: tells episodes of one case apart.
        """
        case = case or self.cases[0]
        began = perf_counter()
        sandbox, limits = sandbox or make_sandbox(case, self.suite), Limits(timeout=self.timeout)
        trajectory = run_episode(case, self.source, _Speaker(more), sandbox, limits, trial=trial)
        replies = sum(turn.role == "agent" for turn in trajectory.turns)
        self.seconds.append((perf_counter() - began) / max(replies, 1))
        return trajectory


def examine(examination: Examination, plugins: Sequence[str] = ()) -> Iterator[tuple[str, Diagnosis]]:
    """Yield the title and result of each check; only the first check if the agent gives no reply.

    Args:
        examination: the agent and its cases.
        plugins: modules that a fresh process loads, too.
    """
    fresh, finding = _in_fresh_process(examination, plugins)
    yield "works in a fresh process", finding
    first = examination.play()
    reference = behaviour_of(first)
    yield "takes a message and tools, and replies", _replies(first, examination)
    if reference.fault or not any(reference.replies):
        return
    again = behaviour_of(examination.play())
    steady = reference == again
    # Two fresh processes and the first episode of this one agree, and the second does not: what it kept makes the difference.
    keeps = not steady and fresh == reference == _in_fresh_process(examination, plugins)[0]
    yield "gives the same answer twice", _same_answer(reference, again, keeps=keeps)
    separate = _separate_cases(examination, reference, steady=steady, keeps=keeps)
    yield "keeps nothing from one case to the next", separate
    yield "remembers the turn before", _remembers(examination, reference)
    yield "tells the user when tools fail", _tool_error(examination, reference)
    yield f"serves {_AT_ONCE} episodes at once", _at_once(examination, reference, steady=steady)
    yield "answers in time", Diagnosis("ok", f"{median(examination.seconds):.2f} s a reply at the median")


def _replies(trajectory: Trajectory, examination: Examination) -> Diagnosis:
    """Check that the agent replies, and calls only tools that the suite has."""
    behaviour = behaviour_of(trajectory)
    if behaviour.fault:
        return Diagnosis("failed", behaviour.fault, trajectory.fault.detail if trajectory.fault else "")
    if not any(reply.strip() for reply in behaviour.replies):
        return Diagnosis("failed", "the reply is empty", "return a text, a dict with text, or a Reply")
    observed = f"{_quoted(behaviour.replies[0])} after {shared.counted(len(behaviour.calls), 'call')}"
    missing = [step.tool for step in trajectory.calls if step.tool not in examination.suite.tools]
    if missing:
        advice = f"it calls {missing[0]}, which the suite does not have: describe the tool in the suite, or rename it in the agent"
        return Diagnosis("warning", observed, advice)
    if not behaviour.calls:
        advice = "no tool was called: if it should have been, hand `tools` on to your model, or see docs/how-to/connect-an-agent.md"
        return Diagnosis("warning", observed, advice)
    return Diagnosis("ok", observed)


def _same_answer(reference: Behaviour, again: Behaviour, *, keeps: bool) -> Diagnosis:
    """Check that two episodes of one case are equal; ``keeps``: whether the agent is known to keep state, which makes them differ."""
    if reference == again:
        return Diagnosis("ok", "the same calls and words")
    if keeps:
        return Diagnosis("skipped", "the next line says why it does not")
    part = "other words" if reference.calls == again.calls else "other calls"
    advice = "use --mapsat-trials for a rate, or temperature 0 and a seed for a run that repeats"
    return Diagnosis("warning", part, advice)


def _separate_cases(examination: Examination, reference: Behaviour, *, steady: bool, keeps: bool) -> Diagnosis:
    """Check that the agent carries nothing from one case to the next; skipped if its answers vary anyway."""
    if kept := _kept(examination, reference, steady=steady, keeps=keeps):
        advice = "keep state in `session.state`, or make the agent a class or factory: it is created for each case"
        return Diagnosis("failed", kept, advice)
    if not steady:
        return Diagnosis("skipped", "not known: the answers vary anyway")
    if examination.source.shared or isinstance(examination.source, SourceElsewhere):
        return Diagnosis("skipped", "not known: no answer shows another case, and what else it keeps is not seen")
    return Diagnosis("ok", "created for each case, and the same answers after another case")


def _kept(examination: Examination, reference: Behaviour, *, steady: bool, keeps: bool) -> str:
    """Return a description of state that leaks from one session into another; empty if no leak was found."""
    case, other = [*examination.cases, _asking(examination.cases[0], _ASKED_CANARY)][:2]
    repeat = _AGAIN["zh" if case.language.startswith("zh") else "en"]

    def after(*cases: Case) -> Behaviour:
        """Return a new session's answer to a request to repeat, after these cases were played."""
        for played in cases:
            examination.play(played)
        return behaviour_of(examination.play(_asking(case, repeat)))

    if keeps:
        return "fresh processes repeat the first answer, this one does not"
    examination.play(more=(_CANARY,))
    if any(_CODE in reply for reply in behaviour_of(examination.play(_asking(case, _ASKED_CANARY))).replies):
        return "a session knows what was said in the one before"
    if not steady:
        return ""
    examination.play(other)
    if behaviour_of(examination.play()) != reference:
        return "after another case, the first one is answered in another way"
    if (first := after(case)) == after(other, case) and first != after(case, other):
        return f"to {repeat!r}, a session answers by the case before it"
    return ""


def _remembers(examination: Examination, reference: Behaviour) -> Diagnosis:
    """Check that a second message gets a different reply within a dialogue than alone: the agent remembers its earlier turn."""
    case = examination.cases[0]
    message = _AGAIN["zh" if case.language.startswith("zh") else "en"]
    dialogue = behaviour_of(examination.play(more=(message,)))
    if dialogue.fault:
        return Diagnosis("failed", f"second message: {dialogue.fault}", "an agent is asked as often as users go on")
    alone = behaviour_of(examination.play(_asking(case, message)))
    second = dialogue.replies[-1]
    if (second,) == alone.replies:
        if second == reference.replies[0]:
            return Diagnosis("skipped", "the same reply with and without a turn before")
        advice = "`session.messages` has the dialogue so far; hand it on to your model"
        return Diagnosis("warning", f"{_quoted(second)}, as without a turn before", advice)
    return Diagnosis("ok", f"to {message!r}: {_quoted(second)}")


def _asking(case: Case, message: str) -> Case:
    """Return a copy of a case with another query."""
    return case.model_copy(update={"visible": case.visible.model_copy(update={"query": message})})


def _tool_error(examination: Examination, reference: Behaviour) -> Diagnosis:
    """Check that the agent replies differently when all tools fail; skipped if the agent called no tool."""
    if not reference.calls:
        return Diagnosis("skipped", "it called no tool")
    broken = behaviour_of(examination.play(sandbox=_BrokenTools(examination.suite.tools)))
    if broken.fault:
        advice = 'a tool that fails returns {"status": "error", "message": ...}: read it before you use the result'
        return Diagnosis("failed", broken.fault, advice)
    if broken.replies == reference.replies:
        advice = "read the status of a result: an answer that does not depend on results is made up"
        return Diagnosis("warning", "the same answer as with working tools", f"if it should differ, {advice}")
    return Diagnosis("ok", _quoted(broken.replies[-1]))


def _at_once(examination: Examination, reference: Behaviour, *, steady: bool) -> Diagnosis:
    """Check that simultaneous episodes end in order and, with ``steady``, behave as they do alone."""
    cases = examination.cases
    if steady:
        expected = [reference, *(behaviour_of(examination.play(case)) for case in cases[1:])]
    began = perf_counter()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        played = pool.map(lambda n: examination.play(cases[n % len(cases)], trial=n + 1), range(_AT_ONCE))
        episodes = list(map(behaviour_of, played))
    seconds = perf_counter() - began
    broken = [episode.fault for episode in episodes if episode.fault]
    advice = "run it with --mapsat-concurrency=1, or keep what belongs to an episode in `session.state`"
    if broken:
        return Diagnosis("failed", f"{len(broken)} of {_AT_ONCE} broke: {broken[0]}", advice)
    mixed = sum(steady and episode != expected[n % len(cases)] for n, episode in enumerate(episodes))
    if mixed:
        return Diagnosis("failed", f"{mixed} of {_AT_ONCE} differ from the same case alone", advice)
    return Diagnosis("ok", f"{seconds:.2f} s for all")


# -- in a fresh process ------------------------------------------------------------------------------------------------


def _in_fresh_process(examination: Examination, plugins: Sequence[str]) -> tuple[Behaviour | None, Diagnosis]:
    """Run the first case in a new interpreter that shares no state with this process; return the behaviour and the result."""
    request = {
        "spec": examination.spec,
        "suite": str(examination.suite.root),
        "case": examination.cases[0].id,
        "timeout": examination.timeout,
        "plugins": list(plugins),
    }
    began = perf_counter()
    program = "from pytest_mapsat.commands.doctor import answer_once; answer_once()"
    try:
        process = subprocess.run(  # noqa: S603  # this interpreter and a program of ours
            [sys.executable, "-c", program],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=examination.timeout + _TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, Diagnosis("failed", "it took too long", "import nothing that waits; raise --timeout")
    seconds = perf_counter() - began
    last = process.stdout.rpartition("\n")[2]
    if process.returncode or not last.startswith("{"):
        words = scrubbed((process.stderr.strip() or process.stdout.strip() or "no word").splitlines()[-1])
        status = f"exit status {process.returncode}: {words}"
        return None, Diagnosis("failed", status, "start python there, and import the module by hand")
    given = json.loads(last)
    behaviour = Behaviour(tuple(given["replies"]), tuple(given["calls"]), given["fault"])
    if behaviour.fault:
        return behaviour, Diagnosis("failed", behaviour.fault)
    return behaviour, Diagnosis("ok", f"{seconds:.1f} s with a first reply")


def answer_once() -> None:
    """Play one case given as JSON on standard input, and print the behaviour; ``_in_fresh_process`` starts this."""
    request = json.loads(sys.stdin.read())
    try:
        suite = open_suite(Path(request["suite"]))
        suite.sandboxes = shared.load_added(request["plugins"], [suite.root]).sandboxes
        source = resolve_source(request["spec"], root=Path.cwd())
        case = suite.load(shared.named_case(_entries(suite), request["case"], suite.root))
        behaviour = behaviour_of(Examination(request["spec"], source, suite, (case,), float(request["timeout"])).play())
    except MapsatError as error:
        sys.exit(str(error))
    finally:
        shutdown()
    sys.stdout.write("\n" + json.dumps(behaviour._asdict()))
    sys.stdout.flush()


# -- the command -------------------------------------------------------------------------------------------------------


def add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat doctor``."""
    parser.add_argument("agent", metavar="AGENT", help="what you give to --mapsat-agent, such as mymod:agent")
    about = "the suite whose first cases are used (default: the suite of mapsat init)"
    shared.add_suite(parser, about, action="store")
    parser.add_argument("--case", metavar="ID", help="the case to ask first (default: the suite's first)")
    about = f"seconds that one episode may take (default: {_TIMEOUT:g})"
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=_TIMEOUT, help=about)
    shared.add_plugins(parser)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run_doctor(options: argparse.Namespace) -> int:
    """It plays about 20 short episodes with your agent, offline except for the agent's own requests. Exit status 1 if a check failed."""
    suite, plugins = _suite(options)
    suite.sandboxes = shared.load_added(plugins, [suite.root]).sandboxes
    cases = _cases(suite, options.case)
    source = resolve_source(options.agent, root=Path.cwd())
    if source.kind == "recorded":
        raise UsageError(f"{options.agent}: a file of dialogues cannot be asked; give an agent, such as mymod:agent")
    examination = Examination(options.agent, source, suite, cases, options.timeout)
    if not options.json:
        lifetime = "one object for all cases" if source.shared else "created for each case"
        asked = " and ".join(case.id for case in cases)
        shared.write([f"{options.agent}: {lifetime}; asked about {asked}", ""])
    findings = []
    outcomes = Counter[Outcome]()
    try:
        for check, finding in examine(examination, plugins):
            findings.append({"check": check, **finding._asdict()})
            outcomes[finding.outcome] += 1
            if not options.json:
                shared.write(_lines(check, finding))
    finally:
        shutdown()
    failed, warnings = outcomes["failed"], outcomes["warning"]
    data = {"agent": options.agent, "findings": findings, "failed": failed}
    shared.respond(options, data, ["", f"{failed} failed, {shared.counted(warnings, 'warning')}"])
    return shared.FINDINGS if failed else shared.OK


def _suite(options: argparse.Namespace) -> tuple[Suite, list[str]]:
    """Return the suite to use (named, the project's, or packaged), and the modules to load with it."""
    root = find_suite(shared.suites_of(options)[0])
    if root is not None:
        return open_suite(root), options.plugins
    if options.suite is not None:
        raise UsageError(f"{options.suite}: there is no suite; expected a suite.yaml there or above")
    shared.tell(f"no {shared.SUITE} here: the cases are those of `mapsat init`; --suite names others")
    shop = shared.starts() / "shop"
    return open_suite(shop / shared.SUITE), [*options.plugins, str(shop / "conftest.py")]


def _entries(suite: Suite) -> list[CaseEntry]:
    """Return the entries of all cases in a suite."""
    return [entry for file in suite.inventory.cases for entry in suite.entries(file)]


def _cases(suite: Suite, name: str | None) -> tuple[Case, ...]:
    """Return the case to ask about first, then a case with another query if the suite has one."""
    entries = _entries(suite)
    first = suite.load(shared.named_case(entries, name, suite.root))
    others = (case for case in map(suite.load, entries) if case.visible.query != first.visible.query)
    return first, *islice(others, 1)


def _lines(check: str, finding: Diagnosis) -> Iterator[str]:
    """Yield a result as wrapped lines, with its advice if any."""
    yield from wrap(f"{finding.outcome:8} {printable(f'{check}: {finding.observed}')}", shared.width(), hang=9)
    if finding.advice:
        yield from wrap(f"-> {printable(finding.advice)}", shared.width(), indent=" " * 9, hang=3)


def _quoted(text: str) -> str:
    """Return a text on one line in quotes, cut if it is long."""
    words = " ".join(text.split())
    return f'"{words[:_QUOTED]}..."' if len(words) > _QUOTED else f'"{words}"'
