"""Checks and cases in Python: the episode as they read it, and their findings.

The body of a case in Python is called by pytest, once, with an ``Episode`` that has blocks; each block comes to a finding. Functions of others are called with the
episode and never trusted to answer well, or at all.
"""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from pytest_mapsat.interpreter import cached, on_thread, waiting
from pytest_mapsat.model import (
    Calls,
    Context,
    Ending,
    Json,
    JsonObject,
    MapsatError,
    NotRecordedError,
    PythonCheck,
    Requirement,
    RequirementKind,
    RowChange,
    Step,
    StepStatus,
    Trajectory,
    Usage,
    UsageError,
    Visible,
    hint_at,
    shown,
)
from pytest_mapsat.registry import AddedCheck, added_checks
from pytest_mapsat.sandbox import End, NoSuchRowError, Row, State, fresh, frozen
from pytest_mapsat.secrets import known_secrets
from pytest_mapsat.user_code import Surroundings, UserCodeError, call_user_code, describe_error, place_of, plain

from .findings import FUNCTION_OF, Finding, every, judges, left_open

if TYPE_CHECKING:
    from .context import JudgedDialogue


_LONGEST = 1000
#: How pytest shows an answer of an episode that failed.
_ASKED = re.compile(r"assert (?:not )?<(.+?)>(?:\n|$)")
#: A set, and the address of an object.
_UNSTEADY = re.compile(r"\{(?!\})(?:(?!: )[^{}])*\}| at 0x[0-9a-fA-F]+")


class Holds(int):
    """The truth value of a question about an episode; in a failed assertion, its repr explains why it is false."""

    why: str

    def __new__(cls, finding: Finding) -> Self:
        """Create the truth value from a decided finding."""
        verdict = super().__new__(cls, bool(finding.passed))
        verdict.why = finding.why
        return verdict

    def __repr__(self) -> str:
        return "True" if self else f"<{self.why or 'it does not hold'}>"


class Decided(NamedTuple):
    """The findings of a Python body.

    Attributes:
        findings: of each requirement that it decides, by id.
        usage: what models spent that it asked.
    """

    findings: Mapping[str, Finding]
    usage: Sequence[Usage] = ()


class Blocks:
    """Collects the findings of a Python body while it runs.

    Args:
        requirements: those that the body decides, by kind and text.
        rest: the id of the one for what stands outside of blocks; empty where nothing does that could fail.
        fails: tells whether what a body raises fails a requirement.
        skips: tells whether it ends the body and decides nothing.
        stops: whether a failure of this kind of requirement ends the body, as in a debugger.
        ever_there: tells whether a row was in a table when the episode began: that it is gone is the agent's doing.

    Attributes:
        failures: what was raised by blocks that failed, and by the rest, with the kind of the requirement.
        usage: what models spent that it asked.
    """

    def __init__(
        self,
        requirements: Sequence[Requirement],
        rest: str,
        *,
        fails: Callable[[BaseException], bool] = lambda error: isinstance(error, AssertionError),
        skips: Callable[[BaseException], bool] = lambda _: False,
        stops: Callable[[RequirementKind], bool] = lambda _: False,
        ever_there: Callable[[str, object], bool] = lambda *_: False,
    ) -> None:
        self.failures: list[tuple[RequirementKind, BaseException]] = []
        self.usage: list[Usage] = []
        self._requirements = {requirement.id: requirement for requirement in requirements}
        self.rest = rest
        self._fails = fails
        self._skips = skips
        self._stops = stops
        self._ever_there = ever_there
        self._found: dict[str, list[Finding]] = {}
        self._notes: dict[str, str] = {}
        #: What a block has raised and let pass on.
        self._noted: BaseException | None = None
        #: The id of the block that is under way, else of the rest.
        self.now = rest

    def block(self, kind: RequirementKind, text: str, name: str) -> RequirementBlock:
        """Return the block of a requirement.

        Raises:
            UsageError: the case has no such requirement.
        """
        for requirement in self._requirements.values():
            matches = requirement.id == name if name else requirement.text == text
            if matches and requirement.kind == kind and requirement.id != self.rest:
                return RequirementBlock(self, requirement)
        texts = [requirement.text for requirement in self._requirements.values() if requirement.kind == kind]
        raise UsageError(
            f"the case has no {kind} requirement {name or text!r}{hint_at(text, texts)}: where the text is not a literal in the function's own source, "
            "@case names it in requirements="
        )

    def note(self, why: str) -> None:
        """Record that the requested answer cannot be known, so that the current block is undecided."""
        self._notes.setdefault(self.now, why)

    def ended(self, requirement: Requirement, error: BaseException | None) -> bool:
        """Record the finding of a finished block, and return whether the function continues."""
        finding = self._finding(requirement.id, error)
        self._found.setdefault(requirement.id, []).append(finding or self._broken(error))
        goes_on = finding is not None
        if finding is not None and finding.passed is False and error is not None:
            self.failures.append((requirement.kind, error))
            goes_on = not self._stops(requirement.kind)
        self._noted = self._noted if goes_on else error
        return goes_on

    def finish(self, error: BaseException | None) -> BaseException | None:
        """Record the function's end, leave unreached blocks undecided, and return an error that is the test's own."""
        finding = self._finding(self.rest, error)
        own = finding is None or (finding.passed is False and not self.rest and error is not self._noted)
        if self.rest and (error is None or error is not self._noted):
            self.ended(self._requirements[self.rest], error)
        why = "the function did not come to this block"
        broken = error is not None and not self._skips(error) and (finding is None or finding.broken or own)
        if error is not None:
            how = "broke" if broken else "ended"
            why = f"not reached: the function {how} before it, {describe_error(error).partition(chr(10))[0]}"
        for name in self._requirements:
            self._found.setdefault(name, [Finding(None, why, broken=broken)])
        return error if own else None

    @property
    def noted(self) -> str:
        """The first reason for an answer that cannot be known; empty if there is none."""
        return next(iter(self._notes.values()), "")

    @property
    def decided(self) -> Decided:
        """The finding of each requirement; a block entered several times must hold each time."""
        by_name = {
            name: every(findings) if len(findings) > 1 else findings[0] for name, findings in self._found.items()
        }
        return Decided(by_name, tuple(self.usage))

    def _broken(self, error: BaseException | None) -> Finding:
        """Return the undecided finding of a function that ended early or raised an error."""
        if error is None or self._skips(error):
            return Finding(None, f"the function ended: {'' if error is None else describe_error(error)}")
        return Finding(None, f"the function broke{place_of(error)}: {describe_error(error)}", broken=True)

    def _finding(self, name: str, error: BaseException | None) -> Finding | None:
        """Return the finding of a block from the error that ended it, if any; None if the function itself is at fault."""
        decided: Finding | None = None
        if error is None:
            decided = Finding(True, "its assertions hold")
        elif self._fails(error):
            decided = Finding(False, reason_of(error))
        elif isinstance(error, MapsatError):
            decided = Finding(None, str(error), broken=not isinstance(error, NotRecordedError))
        elif isinstance(error, NoSuchRowError) and self._ever_there(error.table, error.row_id):
            decided = Finding(False, f"{error} at the end")
        return Finding(None, self._notes[name]) if decided is not None and name in self._notes else decided


class RequirementBlock:
    """The context manager of one requirement in a Python case: the assertions inside decide it."""

    def __init__(self, blocks: Blocks, requirement: Requirement) -> None:
        self._blocks = blocks
        self._requirement = requirement

    def __enter__(self) -> None:
        if self._blocks.now != self._blocks.rest:
            raise UsageError(f"the block {self._requirement.text!r} begins in another one: end that first")
        self._blocks.now = self._requirement.id

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        self._blocks.now = self._blocks.rest
        return self._blocks.ended(self._requirement, error)


def reason_of(error: BaseException) -> str:
    """Return an assertion's message without parts that vary between processes; without a message, its source line."""
    try:
        words = plain(known_secrets().hidden(call_user_code(str, error))).strip()
    except UserCodeError:
        words = ""
    if (asked := _ASKED.match(words)) is not None:
        return asked[1]  # an answer of ours says why
    message, shows, below = f"\n{words}\n".partition("\nassert ")
    first = below.partition("\n")[0]  # what pytest shows below it is as long as its options say
    if (shows and _UNSTEADY.search(first)) or not words:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        first = linecache.getline(frame.filename, frame.lineno or 0).strip() or "an assertion failed"
    elif shows:
        first = f"assert {first}"
    words = "\n".join(filter(None, (message.strip(), first if shows or not words else "")))
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the agent made.

    Attributes:
        tool: the name of the tool.
        arguments: what the agent gave, before defaults.
        result: what the tool returned; of a call that was refused, why.
        status: ``ok``, ``miss``, ``refused`` or ``error``; ``unknown`` where a record made elsewhere does not tell.
        changed: the rows that it changed.
        turn: in which of the agent's replies it was made, counted from 1.
    """

    tool: str
    arguments: JsonObject
    result: Json
    status: StepStatus
    changed: tuple[RowChange, ...]
    turn: int

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.tool}({given})" + ("" if self.status == "ok" else f" -> {self.status}")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _PartlyTold(Call):
    """A call with an incomplete record; reading a missing part raises NotRecordedError."""

    untold: frozenset[str] = frozenset()

    def __getattribute__(self, name: str) -> Any:
        if name in _PARTS and name in object.__getattribute__(self, "untold"):
            tool = object.__getattribute__(self, "tool")
            raise NotRecordedError(f"the record does not have the {name} of a call of {tool}")
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"{self.tool}(...) -> {self.status}"


class KnownCalls(Sequence[Call]):
    """The known calls of an agent that may have made other calls. Questions that depend on all calls raise NotRecordedError.

    ``any(call.tool == "book" for call in episode.calls)`` is true where such a call is known. Where none is, the loop comes to the end of what is known and raises.
    """

    def __init__(self, known: tuple[Call, ...], why: str) -> None:
        self.known = known
        self._why = why

    def __iter__(self) -> Iterator[Call]:
        yield from self.known
        raise NotRecordedError(self._why)

    def __bool__(self) -> bool:
        return bool(self.known) or next(iter(self), None) is not None

    def __len__(self) -> int:
        raise NotRecordedError(self._why)

    def __getitem__(self, place: object) -> NoReturn:
        raise NotRecordedError(self._why)

    def __eq__(self, other: object) -> bool:
        raise NotRecordedError(self._why)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self.known))}, and perhaps others]"


class StructuredOutput(Row):
    """The structured output of a reply as an immutable dict; a missing key fails the check."""

    def __missing__(self, name: object) -> NoReturn:
        raise AssertionError(
            f"the structured output has no {name!r}; it has {', '.join(self)}"
            if self
            else "no reply has a structured output"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Episode:
    """One dialogue of a case, with its calls and the resulting state. Its lists and dicts cannot be modified."""

    _trajectory: Trajectory
    _visible: Visible | None
    _end: Callable[[], End]
    _maybe_writing: tuple[str, ...] = ()
    _context: JudgedDialogue | None = None
    _blocks: Blocks | None = None

    def __repr__(self) -> str:
        return f"<Episode of {self._trajectory.case}>"

    @cached
    def query(self) -> str:
        """The user's first message."""
        return self._visible.query if self._visible else self._trajectory.turns[0].text

    @cached
    def context(self) -> Context:
        """The agent's context: ``now``, ``location``, ``city``, ``history``, ``uid``, ``locale``, ``details``, ``profile``."""
        shown = self._visible.context if self._visible else Context()
        return shown.model_copy(update={"details": frozen(shown.details), "profile": frozen(shown.profile)})

    @cached
    def replies(self) -> tuple[str, ...]:
        """The texts of the agent's replies."""
        return tuple(turn.text for turn in self._trajectory.replies)

    @cached
    def calls(self) -> Sequence[Call]:
        """The agent's calls in order: a tuple, or ``KnownCalls`` if the agent may have made other calls."""
        calls = tuple(
            self._call(step, number)
            for number, turn in enumerate(self._trajectory.replies, 1)
            for step in turn.steps
            if step.kind == "call"
        )
        return KnownCalls(calls, self._trajectory.why_lacking) if self._trajectory.lacks_calls else calls

    @cached
    def events(self) -> tuple[Call, ...]:
        """The events of the case that came, in order: the rows that each one ``changed``, and the ``turn`` of the reply in or after which it came."""
        return self._outside("event")

    @cached
    def user_calls(self) -> tuple[Call, ...]:
        """The user's own calls in order; ``turn`` is the number of the preceding reply, 0 before the first."""
        return self._outside("call")

    def _outside(self, kind: str) -> tuple[Call, ...]:
        """Return the steps of a kind that are not the agent's, each as a call in or after a reply."""
        calls: list[Call] = []
        replies = 0
        for turn in self._trajectory.turns:
            replies += turn.role == "agent"
            own = [step for step in turn.steps if step.kind == kind and (turn.role == "user" or kind == "event")]
            calls += [self._call(step, replies) for step in own]
        return tuple(calls)

    def _call(self, step: Step, number: int) -> Call:
        """Return a step as a call that cannot be changed; parts missing from its record raise when read."""
        parts = step.tool, frozen(step.arguments), frozen(step.result), step.status, _frozen_rows(step.changed), number
        untold = {*step.unknown} - (set() if step.tool in self._maybe_writing else {"changed"})
        return _PartlyTold(*parts, frozenset(untold)) if untold else Call(*parts)

    @cached
    def output(self) -> StructuredOutput:
        """The structured output of the last reply that has one; empty if there is none."""
        given = [turn.output for turn in self._trajectory.replies if turn.output is not None]
        return StructuredOutput(frozen(given[-1])) if given else StructuredOutput()

    @cached
    def state(self) -> State:
        """The tables at the end: ``state["orders"]["A1"]["total"]``; for another id column ``state.table("orders", key="number")``.

        Raises:
            MapsatError: it cannot be told.
        """
        return self._ended().state

    @cached
    def changes(self) -> tuple[RowChange, ...]:
        """The rows that differ between start and end, each a ``RowChange`` (table, id, before, after).

        Raises:
            MapsatError: it cannot be told.
        """
        end = self._ended()
        for why in end.unclear.values():
            raise NotRecordedError(why)
        return tuple(
            change.model_copy(
                update={"before": end.read(change.table, change.before), "after": end.read(change.table, change.after)}
            )
            for change in end.changes
        )

    @cached
    def changed_rows(self) -> frozenset[tuple[str, Json]]:
        """The table and the id of each row in ``changes``.

        Raises:
            MapsatError: it cannot be told.
        """
        sides = ((change, change.after or change.before or {}) for change in self.changes)
        return frozenset((change.table, row.get(change.key, change.id)) for change, row in sides)

    @cached
    def ending(self) -> Ending:
        """The reason why the episode ended: ``done``, ``stalled``, ``max_turns``, ``timeout``, ``agent_error``, ``user_error`` or ``infrastructure_error``."""
        return self._trajectory.ending

    # -- what checks know ----------------------------------------------------------------------

    def called(self, tool: str, /, **arguments: object) -> Holds:
        """Return whether the agent called a tool with these arguments; other arguments may have any value.

        Raises:
            NotRecordedError: it cannot be known; the block is undecided, whatever becomes of this error.
            UsageError: there is no such tool, or no such parameter.
        """
        return self._calls(tool, arguments, agreed=False)

    def agreed(self, tool: str, /, **arguments: object) -> Holds:
        """Return whether the agent called a tool with these arguments, and the user had agreed to each such call; raises as ``called``."""
        return self._calls(tool, arguments, agreed=True)

    def judged(self, text: str, /) -> Holds:
        """Return whether a judging model finds that a sentence is true of the agent's replies; raises NotRecordedError as ``called``."""
        return self._known(self._asked(text))

    def _calls(self, tool: str, arguments: dict[str, object], *, agreed: bool) -> Holds:
        """Return whether a tool was called with these arguments and, if ``agreed``, with the user's agreement."""
        if self._context is None:
            raise self._unknown("calls are not judged here")
        tools, called = self._context.tools, {step.tool for step in self._context.calls}
        if tool not in {*tools, *called}:
            if tools:
                raise UsageError(f"there is no tool {shown(tool)}{hint_at(tool, tools)}")
            reported = any(step.provenance and step.provenance.kind == "reported" for step in self._trajectory.calls)
            if self._trajectory.lacks_calls or not reported:  # a service may say that it reports all of them
                raise self._unknown(
                    f"the tools of this agent are not known, so {shown(tool)} may have been called unseen"
                )
        parameters: Any = tools[tool].parameters.get("properties") if tool in tools else None
        for name in arguments:
            if parameters and name not in parameters:
                raise UsageError(f"{tool} has no parameter {shown(name)}{hint_at(name, parameters)}")
        wanted = {name: {"op": "equal", "value": _as_json(value)} for name, value in arguments.items()}
        check = Calls.model_validate({"kind": "calls", "tool": tool, "with": wanted, "agreed": agreed})
        finding = left_open(check, FUNCTION_OF[Calls](check, self._context), self._context)
        if finding.passed is None and agreed:  # a model decides what the question and the rows leave open
            finding = self._asked(f"The user agreed to {_in_words(tool, arguments)} before it ({finding.why})", finding)
        return self._known(finding)

    def _asked(self, text: str, finding: Finding | None = None) -> Finding:
        """Return the judging model's finding on a sentence; without such a model, the finding so far or an undecided one."""
        ask = None if self._context is None else self._context.ask
        if ask is None:
            return finding or Finding(None, f"{shown(text)} needs --mapsat-judge=llm:MODEL")
        return ask(text, self._blocks)

    def _known(self, finding: Finding) -> Holds:
        """Return a decided finding as a truth value. Raises NotRecordedError if it is undecided."""
        if finding.passed is None:
            raise self._unknown(finding.why)
        return Holds(finding)

    def _ended(self) -> End:
        """Return the state at the end. If the state is unknown, raises NotRecordedError and records the reason."""
        try:
            return self._end()
        except NotRecordedError as error:
            raise self._unknown(str(error)) from None

    def _unknown(self, why: str) -> NotRecordedError:
        """Return the error for a fact that cannot be known, and record it in the current block."""
        if self._blocks is not None:
            self._blocks.note(why)
        return NotRecordedError(why)

    # -- blocks of a case in Python --------------------------------------------------------------

    def asked(self, text: str, /, *, id: str = "") -> RequirementBlock:  # noqa: A002 (as in YAML)
        """Begin a block of a case in Python: a requirement that the query states. ``id``: its id; derived from the text if empty."""
        return self._block("asked", text, id)

    def hard(self, text: str, /, *, id: str = "", weight: float | None = None) -> RequirementBlock:  # noqa: A002
        """Begin a block: an unstated requirement that must hold."""
        return self._block("hard", text, id, weight)

    def soft(self, text: str, /, *, id: str = "", weight: float | None = None) -> RequirementBlock:  # noqa: A002
        """Begin a block: an unstated requirement that should hold."""
        return self._block("soft", text, id, weight)

    def fact(self, text: str, /, *, id: str = "") -> RequirementBlock:  # noqa: A002
        """Begin a block: a fact that must be true if the agent states it."""
        return self._block("fact", text, id)

    def policy(self, text: str, /, *, id: str = "") -> RequirementBlock:  # noqa: A002
        """Begin a block: a rule for the agent's conduct."""
        return self._block("policy", text, id)

    def _block(self, kind: RequirementKind, text: str, name: str, weight: float | None = None) -> RequirementBlock:
        """Return the block of a requirement. Raises UsageError outside a case in Python."""
        del weight  # read from the source
        if self._blocks is None:
            raise UsageError(f"episode.{kind}({text!r}): blocks belong to the function of a case in Python: @case(...)")
        return self._blocks.block(kind, text, name)


def _as_json(value: object) -> Json:
    """Return an argument as a JSON value; other values, such as dates, become text."""
    try:
        return fresh(frozen(value))
    except (TypeError, ValueError):
        return str(value)


def _in_words(tool: str, arguments: dict[str, object]) -> str:
    """Return a call with its arguments as text."""
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def _frozen_rows(changes: tuple[RowChange, ...]) -> tuple[RowChange, ...]:
    """Return changes with rows that cannot be modified."""
    return tuple(
        change.model_copy(update={"before": frozen(change.before), "after": frozen(change.after)}) for change in changes
    )


_PARTS = ("arguments", "result", "changed")
#: How long a check may take, seconds.
SECONDS = 10.0

#: The functions that have not come back in their time. Each has a thread that computes on, and gets no second.
_stuck: set[Callable[..., object]] = set()


@judges(PythonCheck)
def python_check(check: PythonCheck, context: JudgedDialogue) -> Finding:
    """Judge the episode with the function of this name; undecided if the function raises an error or exceeds its time."""
    added = added_checks().get(check.name)
    if added is None:
        return Finding(None, f"no conftest or package adds a check {shown(check.name)}", broken=True)
    if added.function in _stuck:
        return Finding(
            None, f"the check {check.name} is not called again: it has not come back from another call", broken=True
        )
    blocks = Blocks((), "")
    episode = replace(context.episode, _blocks=blocks)
    surroundings = Surroundings()
    call = partial(call_user_code, added.function, episode, **check.arguments)
    outcome = on_thread(call, f"mapsat-check-{check.name}")
    with waiting():
        wait([outcome], timeout=SECONDS)
    surroundings.restore()
    if not outcome.done():
        _stuck.add(added.function)
        return Finding(None, f"the check {check.name} did not return within {SECONDS:g} s", broken=True)
    if blocks.noted:
        return Finding(None, blocks.noted)
    try:
        return _finding(added, outcome.result())
    except UserCodeError as broken:
        return _raised(check.name, broken.error, added)


def _raised(name: str, error: BaseException, added: AddedCheck) -> Finding:
    """Return the finding for an exception of a check: failed, undecided or broken."""
    if isinstance(error, AssertionError):
        return Finding(False, reason_of(error))
    if isinstance(error, NotRecordedError):
        return Finding(None, str(error))
    return Finding(None, f"the check {name} broke{_where(error, added)}: {describe_error(error)}", broken=True)


def _finding(added: AddedCheck, result: object) -> Finding:
    """Return the finding for a check's return value; anything but a bool, Finding or expected None is broken."""
    name, kind = added.name, type(result)
    if isinstance(result, bool):
        return Finding(result, f"the check {name} {'passes' if result else 'returned False'}")
    if type(result) is Finding and (result.passed is None or isinstance(result.passed, bool)):
        return result
    if result is None and not added.shape.returns:
        if added.shape.forgets:
            return Finding(None, f"the check {name} decides nothing: {added.shape.forgets}", broken=True)
        return Finding(True, f"the check {name} passes")
    kind_name = "None" if result is None else f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    kind_name = f"a Finding with {type(result.passed).__name__} in passed" if type(result) is Finding else kind_name
    why = f"the check {name} returned {kind_name}, expected True, False or a Finding: write assert, or return bool(...)"
    return Finding(None, why, broken=True)


def _where(error: BaseException, added: AddedCheck) -> str:
    """Return in words the line of the check's own file where an error occurred; empty if there is none."""
    file, _, _ = added.place.rpartition(":")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" on line {lines[-1]}" if lines else ""
