"""Between an agent and the sandbox that answers it: the thread that it runs on, and the channel of its calls.

A worker is used for one episode after another; only one whose agent outlived its time is replaced. The waiting thread ends the episode.

On the channel calls and thoughts are recorded, counted and, when the reply is over, refused. The agent is handed a function that holds a number. The sandbox,
with its recordings, is found by that number in a table of this module, so that nothing that an agent holds leads to it.
"""

from __future__ import annotations

import concurrent.futures.thread
import itertools
import json
import os
import select
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from math import inf
from queue import SimpleQueue
from threading import TIMEOUT_MAX, Lock, Thread, current_thread, main_thread
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from pytest_mapsat import agents
from pytest_mapsat.agents import KeptAgent, as_json
from pytest_mapsat.formats import Unknown, data_of
from pytest_mapsat.guard import calling_agent, not_the_agents
from pytest_mapsat.interpreter import waiting
from pytest_mapsat.model import (
    CallPart,
    InfrastructureError,
    Json,
    JsonObject,
    Provenance,
    ReportedCall,
    Retrieval,
    RunOptions,
    Step,
    StepStatus,
    Tool,
    UsageError,
    json_size,
    same,
    shown,
    tool_name,
)
from pytest_mapsat.sandbox import Sandbox, SandboxAnswer, ToolsClosed, unknown_tool
from pytest_mapsat.user_code import Surroundings


class Overdue(Exception):  # noqa: N818  # says what happened; nothing is in error
    """The job exceeded its time limit; its thread is abandoned."""


#: What is to be called, with what, in which context, and who waits for what comes of it.
_Job = tuple[Future[Any], Context, Callable[[Any], Any], Any]


class Worker:
    """A thread that runs the calls of agents, one episode after another.

    Attributes:
        idle: false while a job runs, and for ever after one was overdue.
    """

    def __init__(self) -> None:
        self.idle = True
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="mapsat-agent", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        """Run queued jobs and pass their outcomes to the waiting threads, until the worker is dismissed."""
        while (job := self._jobs.get()) is not None:
            future, context, function, argument = job
            settle: Callable[[Any], None] = future.set_result
            try:
                outcome = context.run(function, argument)
            except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
                settle, outcome = future.set_exception, error
            with suppress(InvalidStateError):  # it was given up
                settle(outcome)
            # Kept until the next job comes, they would keep an agent and its exceptions alive.
            del job, future, context, function, argument, settle, outcome

    def run(self, function: Callable[[Any], Any], argument: Any, *, timeout: float) -> Any:
        """Call ``function(argument)`` on the thread; return its result or raise its exception.

        Raises:
            Overdue: it took longer than ``timeout`` seconds, or was left behind.
        """
        job: Future[Any] = Future()
        # With many episodes at once, only the main thread can know what the agent has changed.
        surroundings = Surroundings() if current_thread() is main_thread() else None
        self.idle = False
        _under_way.add(job)
        self._jobs.put((job, copy_context(), function, argument))
        try:
            with waiting():
                job.exception(max(timeout, 0))
            self.idle = True
        except (TimeoutError, CancelledError):
            raise Overdue from None
        finally:
            _under_way.discard(job)
            if surroundings is not None:
                surroundings.restore()
        return job.result()

    def dismiss(self) -> None:
        """Let the thread end after its current job, without waiting."""
        self._jobs.put(None)

    def stop(self) -> None:
        """Let the thread end, and wait for its end."""
        self.dismiss()
        self._thread.join(1)


_under_way: set[Future[Any]] = set()
_idle: list[Worker] = []
_left_behind: list[Worker] = []


def leave_behind() -> int:
    """End all episodes whose agents are replying, as if their time were over; return the number of episodes."""
    jobs = list(_under_way)
    for job in jobs:
        job.cancel()
    return len(jobs)


@contextmanager
def leased() -> Iterator[Worker]:
    """Yield a worker for one episode, and keep the worker for the next episode unless its job is overdue."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = Worker()
    try:
        yield worker
    finally:
        if worker.idle:
            _idle.append(worker)
        else:
            worker.dismiss()
            _left_behind.append(worker)


def shutdown() -> None:
    """Stop the idle threads and the agents' event loop."""
    while _idle:
        _idle.pop().stop()
    if "pytest_mapsat.agents.callables" in sys.modules:
        agents.shutdown()
    if _left_behind:
        _left_behind.clear()
        _forget_executors()


def _forget_executors() -> None:
    """Make Python forget the executors of abandoned agents, whose threads it would otherwise await at exit.

    Those threads are daemons, like ours that started them, which Python's own table of executors does not ask.
    """
    threads = getattr(concurrent.futures.thread, "_threads_queues", {})
    for thread in [thread for thread in threads if thread.daemon]:
        del threads[thread]


@dataclass(frozen=True)
class Limits:
    """The limits of one episode.

    Attributes:
        max_turns: replies of the agent.
        timeout: wall time of the whole episode, seconds.
        max_calls: tool calls in one reply: an agent that makes more has run wild, and its episode ends.
        calls: tool calls in the whole episode, whatever becomes of them; further ones are answered with an error. None: as many as it likes.
        max_text: characters of one reply, and of the arguments of one call.

    Raises:
        UsageError: the time leaves no room for an episode.
    """

    max_turns: int = 10
    timeout: float = 300.0
    max_calls: int = 200
    max_text: int = 1_000_000
    calls: int | None = None

    @classmethod
    def of(cls, options: RunOptions) -> Limits:
        """Return the episode limits that a run's options set."""
        return cls(max_turns=options.max_turns, timeout=options.timeout_seconds)

    def __post_init__(self) -> None:
        if not 0 < self.timeout <= TIMEOUT_MAX:
            raise UsageError(f"the wall time of an episode is a number of seconds above 0, not {self.timeout}")


class Remembering(Protocol):
    """The memory that an agent has in one episode."""

    @property
    def own(self) -> bool:
        """Return whether the memory is the user's own code, and therefore part of the agent."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Return the memory's own tools by name; they are known only after the memory was asked."""

    def recall(self, query: str) -> Retrieval:
        """Return the memory's text for a task. Raises AgentFault, InfrastructureError."""

    def call(self, name: str, arguments: Mapping[str, Json]) -> SandboxAnswer:
        """Answer a call of one of the memory's tools."""

    def close(self) -> None:
        """Release the memory; called once the episode is over."""


class Channel:
    """The channel between an agent and the sandbox: the calls of one episode.

    Attributes:
        broken: the sandbox's exception, once it raised one.
        overrun: what a reply did more of than it may; empty where it kept to its limits.
        events: the events of the case; None: it has none.
        tools: the tools that the agent may call, by name.
        user_tools: those that the user may call.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits, memory: Remembering | None = None) -> None:
        self.broken: Exception | None = None
        self.overrun = ""
        self._late: list[Step] = []
        self._told = 0
        self._sandbox = sandbox
        self.events = getattr(sandbox, "events", None)
        self._memory = memory
        self.tools = {name: tool for name, tool in sandbox.tools.items() if tool.for_agent}
        self.tools |= {} if memory is None else memory.tools
        self.user_tools = {name: tool for name, tool in sandbox.tools.items() if tool.for_user}
        self._under_way: tuple[str, float] | None = None
        self._limits = limits
        self._lock = Lock()
        self._open = False
        self._steps: list[Step] = []
        self._thought_size = self._thought_count = 0
        self._numbers = itertools.count(1)
        self._made = 0  # calls of the agent

    def open(self) -> None:
        """Accept calls, for one reply."""
        self._steps = []
        self._thought_size = self._thought_count = 0
        self._open = True

    def close(self) -> tuple[Step, ...]:
        """Refuse calls from now on, and return the calls of the reply. Never waits for a running call."""
        self._open = False
        return tuple(self._steps)

    def retire(self) -> None:
        """Refuse calls from now on, and release the sandbox and the memory."""
        self._open = False
        del self._sandbox
        self.events, self._memory, self._steps = None, None, []

    def late(self) -> tuple[Step, ...]:
        """Return the calls made outside a reply or in a forked copy of this process, without repetitions."""
        _hear_forks()
        steps = tuple(self._late[self._told :])
        self._told += len(steps)
        return steps

    def call(self, name: str, arguments: JsonObject) -> tuple[Json, str]:
        """Answer a call.

        Args:
            name: the tool.
            arguments: a copy of what the agent gave; kept.

        Returns:
            The result and an empty text, or nothing and why the call was refused.
        """
        with self._lock:
            if refusal := self._refusal():
                if not self._open:
                    self.keep_late(name, arguments)
                return None, refusal
            steps = self._steps
            name = name[:_LONGEST_NAME]
            step = self._remembered(name, arguments) or self._answered(name, arguments, self.tools)
            # The reply may have ended while the sandbox was working; its steps are taken by then.
            if step is None or not self._open or steps is not self._steps:
                if step is not None:
                    self._late.append(step)
                return None, "the sandbox of tools broke" if step is None else _OVER
            steps += [step, *(self.events.taken() if self.events is not None else ())]
            return as_json(step.result), ""

    def keep_late(self, name: str, arguments: JsonObject) -> None:
        """Record a call that was refused between replies as a late call; at most 100 are kept."""
        if len(self._late) < _MOST_LATE:
            fits = isinstance(arguments, dict) and json_size(arguments) <= self._limits.max_text
            tool = tool_name(self.tools, name[:_LONGEST_NAME])
            untold: tuple[CallPart, ...] = ("result", "changed") if fits else ("arguments", "result", "changed")
            step = Step(kind="call", tool=tool, arguments=arguments if fits else {}, status="unknown", unknown=untold)
            self._late.append(step)

    def act(self, call: tuple[str, JsonObject]) -> Step | None:
        """Answer a user's call with one of the user's tools, and return the step; None if the sandbox broke."""
        name, arguments = call
        with self._lock:
            return self._answered(name, arguments, self.user_tools)

    def events_after(self, reply: int) -> list[Step]:
        """Let the events after a reply of the agent happen; return all events that have no place yet, after calls of the user, too."""
        with self._lock:
            try:
                if self.events is not None:
                    self.events.replied(reply)
                    return [*self.events.taken()]
            except Exception as error:  # noqa: BLE001  # a sandbox that raises is to blame itself
                self.broken = error
            return []

    def slow_tool(self) -> str:
        """Return the tool whose answer in the sandbox takes too long; empty if there is no such tool."""
        name, began = self._under_way or ("", inf)
        if getattr(self._sandbox, "pausing", False):
            return ""  # the case says so
        return name if perf_counter() - began > min(_SLOW, self._limits.timeout / 2) else ""

    def think(self, text: str) -> tuple[None, str]:
        """Record a thought; return None and an empty text, or None and the reason for a refusal."""
        with self._lock:
            if not self._open:
                return None, _OVER
            self._thought_size += len(text)
            self._thought_count += 1
            if self._thought_size > self._limits.max_text or self._thought_count > _MOST_THOUGHTS:
                self.overrun = f"thought more than {self._limits.max_text:,} characters or {_MOST_THOUGHTS:,} times"
                return None, f"a reply may not hold thoughts of more than {self._limits.max_text:,} characters"
            self._steps.append(Step(kind="thought", text=text))
            return None, ""

    def _refusal(self) -> str:
        """Return why a call is refused: between replies, too many calls, or a broken sandbox; empty if the call is allowed."""
        if not self._open:
            return _OVER
        if sum(step.kind in ("call", "memory") for step in self._steps) >= self._limits.max_calls:
            self.overrun = f"made more than {self._limits.max_calls} tool calls"
            return f"a reply may make at most {self._limits.max_calls} tool calls"
        return "the sandbox of tools broke" if self.broken else ""

    def _remembered(self, name: str, arguments: JsonObject) -> Step | None:
        """Answer a call of a tool of the agent's memory, and return the step; None if the memory has no such tool."""
        name = tool_name(self.tools, name)
        if self._memory is None or name not in self._memory.tools:
            return None
        answer = self._too_large(arguments) or self._memory.call(name, arguments)
        given = arguments if isinstance(arguments, dict) else {}
        return answer.step(name, given, f"c{next(self._numbers)}", calling_agent()).model_copy(
            update={"kind": "memory"}
        )

    def _answered(self, name: str, arguments: JsonObject, tools: Mapping[str, Tool]) -> Step | None:
        """Answer a call with one of the caller's tools, or with an error for other tools; return the step, or None if the sandbox broke."""
        name = tool_name(tools, name)
        self._made += tools is self.tools
        self._under_way = name, perf_counter()
        try:
            answer = self._too_large(arguments) or (self._over_call_limit() if tools is self.tools else None)
            if answer is None:
                answer = self._sandbox.call(name, arguments) if name in tools else unknown_tool(name, tools)
        except RecursionError:
            raise  # the agent has used up the stack: its own fault
        except Exception as error:  # noqa: BLE001  # a sandbox that raises is to blame itself
            self.broken = error
            return None
        finally:
            self._under_way = None
        given = arguments if isinstance(arguments, dict) else {}
        agent = calling_agent() if tools is self.tools else ""
        return answer.step(name, given, f"c{next(self._numbers)}", agent)

    def _over_call_limit(self) -> SandboxAnswer | None:
        """Return an error for a call beyond the episode's limit; None if the call is within it."""
        most = self._limits.calls
        if most is None or self._made <= most:
            return None
        used_up = f"this episode allows {most} tool call{'' if most == 1 else 's'}, and none is left"
        return SandboxAnswer(
            {"status": "error", "message": f"{used_up}: answer the user now, with what you have"}, "over_limit"
        )

    def _too_large(self, arguments: Json) -> SandboxAnswer | None:
        """Return an error for arguments that are too large, and empty them; None if they fit."""
        if json_size(arguments) <= self._limits.max_text:
            return None
        if isinstance(arguments, dict):
            arguments.clear()
        message = f"the arguments have more than {self._limits.max_text} characters"
        return SandboxAnswer({"status": "error", "message": message}, "error")


class UserHands:
    """The tools that the user may call in one turn (``tools``), and the calls made so far (``steps``).

    Args:
        channel: answers the calls.
        run: calls a function of one argument within the episode's time.
    """

    def __init__(self, channel: Channel, run: Callable[[Callable[[Any], Any], Any], Any]) -> None:
        self.tools: Mapping[str, Tool] = channel.user_tools
        self.steps: list[Step] = []
        self._channel = channel
        self._run = run

    def call(self, name: str, arguments: JsonObject) -> Step:
        """Call a tool, and return the call with its result.

        Raises:
            InfrastructureError: the sandbox broke, or was not done in time; the episode is over.
        """
        step: Step | None = self._done(self._channel.act, (str(name), as_json(arguments)), f"the user's call of {name}")
        if step is None:
            raise InfrastructureError("the sandbox of tools broke")
        self.steps.append(step)
        return step

    def wait_for_events(self, reply: int) -> None:
        """Add the events after a reply of the agent to the steps; the sandbox counts as broken if they are not over in time."""
        self.steps += self._done(self._channel.events_after, reply, f"the events after reply {reply}") or ()

    def _done(self, function: Callable[[Any], Any], argument: Any, doing: str) -> Any:
        """Return the result of a function of the sandbox; None if it takes longer than the episode."""
        try:
            return self._run(function, argument)
        except Overdue:
            why = f"the sandbox was not done with {doing} when the time of the episode was over"
            self._channel.broken = InfrastructureError(why)


_OVER = str(ToolsClosed())
_FORKED = "tools are called, and thoughts kept, in the process that the agent is asked in, and not in a copy of it"
#: More than a pipe holds.
_PIPE_BYTES = 1 << 20
#: A sandbox that needs longer for a call is to blame for an episode that is not over in time, seconds.
_SLOW = 1.0
#: As many as a reply may return.
_MOST_THOUGHTS = 10_000
#: No tool has a longer name: what is longer is cut, and unknown.
_LONGEST_NAME = 200
#: So many late calls of an episode are kept, and so many episodes that are over are heard.
_MOST_LATE, _MOST_HEARD = 100, 10_000
_channels: dict[int, Channel] = {}
_numbers = itertools.count(1)
#: The last episodes that are over, each with its case, trial and number: their late calls are still heard.
_over: deque[tuple[str, int, int, Channel]] = deque()


class _Line(NamedTuple):
    """The pipe on which forked copies of this process, created by an agent, report to it."""

    process: int
    reading: int
    writing: int


_line: _Line | None = None


def _listen_to_forks() -> None:
    """Open the pipe on which forked copies of this process report calls."""
    global _line  # noqa: PLW0603  # one for a process
    if hasattr(os, "fork") and (_line is None or _line.process != os.getpid()):
        _line = _Line(os.getpid(), *os.pipe())
        os.set_blocking(_line.reading, False)
        os.set_blocking(_line.writing, False)


def _tell_of_call(line: _Line, number: int, name: str, arguments: Json) -> None:
    """Report a call that this forked copy refused to the original process, without long arguments."""
    whole, short = (json.dumps([number, name, given]).encode() + b"\n" for given in (arguments, None))
    with suppress(OSError):
        os.write(line.writing, whole if len(whole) <= select.PIPE_BUF else short)


def _hear_forks() -> None:
    """Record the calls that forked copies of this process refused as late calls of their episodes."""
    with suppress(BlockingIOError):
        lines = b"" if _line is None else os.read(_line.reading, _PIPE_BYTES)
        for number, name, arguments in map(json.loads, lines.splitlines()):
            if number in _channels:
                _channels[number].keep_late(name, arguments)


def calls_after_end() -> list[tuple[str, int, tuple[Step, ...]]]:
    """Return the late calls of finished episodes with case and trial, without repetitions."""
    late = [(case, trial, channel.late()) for case, trial, _, channel in _over]
    return [(case, trial, steps) for case, trial, steps in late if steps]


@contextmanager
def port(
    channel: Channel, case: str, trial: int, kept: KeptAgent | None = None
) -> Iterator[tuple[Callable[[str, JsonObject], Json], Callable[[str], None]]]:
    """Yield functions that make calls and record thoughts on a channel; they are refused after the context exits."""
    number = next(_numbers) if kept is None or kept.port is None else kept.port
    if kept is not None:
        kept.port = number
    _channels[number] = channel
    _listen_to_forks()

    # What the agent gives is copied, and a refusal raised, here and not where the channel is known: the frames of a traceback show their variables.
    def call(name: str, arguments: JsonObject) -> Json:
        """Make a tool call and return its result. Raises ToolsClosed if the call is refused."""
        with not_the_agents():  # a sandbox may call the user's own tools
            result, refusal = _pass_on(number, Channel.call, str(as_json(name)), as_json(arguments))
        if refusal:
            raise ToolsClosed(refusal)
        return result

    def think(text: str) -> None:
        """Record a thought. Raises ToolsClosed if the thought is refused."""
        _, refusal = _pass_on(number, Channel.think, str(as_json(text)))
        if refusal:
            raise ToolsClosed(refusal)

    try:
        yield call, think
    finally:
        channel.retire()
        _over.append((case, trial, number, channel))
        if len(_over) > _MOST_HEARD:
            _, _, first, gone = _over.popleft()
            if _channels.get(first) is gone:
                del _channels[first]


def _pass_on(number: int, method: Callable[..., tuple[Json, str]], *given: Any) -> tuple[Json, str]:
    """Pass a call or a thought to the channel with a number; return its result and the reason for a refusal (empty if accepted)."""
    if _line is not None and _line.process != os.getpid():
        if method is Channel.call:
            _tell_of_call(_line, number, given[0][:_LONGEST_NAME], given[1])
        return None, _FORKED
    channel = _channels.get(number)
    return (None, _OVER) if channel is None else method(channel, *given)


#: Asked after each reply: the calls since it was last asked, or all of the dialogue so far.
Reporter = Callable[[], Sequence[ReportedCall]]

#: So many calls are looked at in one report and taken of one reply; so many characters of a name, of arguments and of a result.
_MOST_TOLD, _MOST_CALLS, _LONGEST_NAME, _MOST_TEXT = 2_000, 1_000, 200, 1_000_000
#: What tools and services put into a result in place of an answer.
_ERROR_KEYS, _ERROR_STATES = ("error", "errors", "isError", "is_error"), ("error", "failed", "failure")


class ReportedCalls:
    """The calls of an episode that one source has reported.

    Args:
        ask: returns its reports since it was last asked, in their order.
        source: who that is, as notes of calls say it: ``reported by the service``.
        tools: those of the case, by name; calls of others are taken as well.
        anew: whether no report has the calls of an earlier one.

    Attributes:
        cut: whether there were more calls than are taken.
    """

    def __init__(
        self, ask: Callable[[], Iterable[object]], source: str, tools: Mapping[str, Tool], *, anew: bool = False
    ) -> None:
        self._ask = ask
        self._provenance = Provenance(kind="reported", note=source)
        self._tools = tools
        self._anew = anew
        self.cut = False
        self._before: list[tuple[str, Step]] = []

    def new(self, known: Sequence[Step]) -> list[Step]:
        """Return the calls that were not reported before.

        Args:
            known: the calls of this reply that are known already. Each may be reported once more, as may each call of an earlier report.

        Raises:
            InfrastructureError: what is reported is no list of calls.
        """
        new: list[Step] = []
        left = [("", step) for step in known if step.kind == "call"]
        for report in self._ask():
            if not isinstance(report, Sequence) or isinstance(report, (str, bytes)):
                raise InfrastructureError(f"expected a list of reported calls, found {shown(as_json(report))}")
            before = [] if self._anew else [*self._before]
            for call in map(self._step, report[:_MOST_TOLD]):
                told_before, known_already = _taken(call, before), _taken(call, left)
                self._before += [] if told_before else [call]
                new += [] if told_before or known_already else [call[1]]
            self.cut |= len(report) > _MOST_TOLD or len(new) > _MOST_CALLS
        return new[:_MOST_CALLS]

    def _step(self, call: object) -> tuple[str, Step]:
        """Return the id of a reported call, and the call as a step. Raises InfrastructureError if the report names no tool."""
        tool = call.get("tool") if isinstance(call, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(tool, str) or not tool.strip():
            raise InfrastructureError(
                f"expected a reported call with the name of its tool, found {shown(as_json(call))}"
            )
        unknown: list[CallPart] = ["changed"]
        arguments, result = (_value(call.get(part)) if part in call else _UNKNOWN for part in ("arguments", "result"))
        if not isinstance(arguments, dict):
            arguments = {}
            unknown.append("arguments")
        if isinstance(result, Unknown):
            result = None
            unknown.append("result")
        step = Step(
            kind="call",
            tool=tool_name(self._tools, str(as_json(tool))[:_LONGEST_NAME]),
            arguments=arguments,
            result=result,
            status=_status(call.get("status"), result, tells_result="result" not in unknown),
            provenance=self._provenance,
            unknown=tuple(unknown),
        )
        call_id = call.get("id")
        return (str(call_id) if isinstance(call_id, (str, int)) else ""), step


_UNKNOWN = Unknown()


class _NoJsonError(Exception):
    """A value that cannot be written as JSON."""


def _no_json(_: object) -> Json:
    """Raise _NoJsonError."""
    raise _NoJsonError


def _value(value: object) -> Json | Unknown:
    """Return a copy of a reported value, with JSON text parsed; Unknown if the value is cut off, hidden, too large or no JSON."""
    try:
        data = data_of(as_json(value, _no_json)) if value is not None else None
    except _NoJsonError:
        return _UNKNOWN
    return _UNKNOWN if isinstance(data, Unknown) or json_size(data) > _MOST_TEXT else data


def _status(status: object, result: Json, *, tells_result: bool) -> StepStatus:
    """Return the status that a call reports, or that its result shows; unknown if the result may be an error."""
    if status in ("ok", "error"):
        return "ok" if status == "ok" else "error"
    says_error = isinstance(result, dict) and (
        any(map(result.get, _ERROR_KEYS)) or str(result.get("status")).lower() in _ERROR_STATES
    )
    return "unknown" if status is not None or says_error or not tells_result else "ok"


def _taken(call: tuple[str, Step], others: list[tuple[str, Step]]) -> bool:
    """Return whether any of some calls may be the same call as this one, and remove the first match."""
    twin = next((other for other in others if _may_be_one(other, call)), None)
    if twin is not None:
        others.remove(twin)
    return twin is not None


def _may_be_one(one: tuple[str, Step], other: tuple[str, Step]) -> bool:
    """Return whether two reports may describe the same call: no field differs, and neither do the ids."""
    (its_id, here), (other_id, there) = one, other
    if here.tool != there.tool or (its_id and other_id and its_id != other_id):
        return False
    parts: tuple[CallPart, ...] = ("arguments", "result")
    return all(
        part in (*here.unknown, *there.unknown) or same(getattr(here, part), getattr(there, part)) for part in parts
    )
