"""The dialogue itself: the agent replies, the user moves, until one of them, or a limit, ends it."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pytest_mapsat.agents import (
    AgentFault,
    AgentSource,
    Conversation,
    KeptAgent,
    Reply,
    Session,
    Source,
    context_of,
    describe,
    session_id,
    with_data,
)
from pytest_mapsat.llm import ModelCalls, calls_of, why_lost
from pytest_mapsat.model import (
    Blame,
    Case,
    Ending,
    Fault,
    InfrastructureError,
    MapsatError,
    Retrieval,
    Step,
    Trajectory,
    Turn,
    TurnTiming,
    Usage,
    digest,
    json_size,
)
from pytest_mapsat.sandbox import Sandbox, Toolbox
from pytest_mapsat.users import ScriptedUser, User

from .channel import (
    Channel,
    Limits,
    Overdue,
    Remembering,
    ReportedCalls,
    Reporter,
    UserHands,
    Worker,
    leased,
    port,
)

if TYPE_CHECKING:
    from pytest_mapsat.agents.recorded import RecordedSource

_UNKNOWN = Usage()
#: Seconds that whoever reports calls has for them, after a reply.
_REPORTING = 60.0


@dataclass(frozen=True)
class _End:
    """The reason why a dialogue ends."""

    ending: Ending
    fault: Fault | None = None


def run_episode(
    case: Case,
    source: Source,
    user: User,
    sandbox: Sandbox,
    limits: Limits | None = None,
    *,
    trial: int = 1,
    identity: str = "",
    memory: Remembering | None = None,
    kept: KeptAgent | None = None,
    reported: Reporter | None = None,
) -> Trajectory:
    """Run one dialogue of a case, or load its recorded dialogue.

    Whatever breaks is told in the trajectory's ending and fault; nothing is raised but KeyboardInterrupt.

    Args:
        case: the case; the agent sees its visible half only.
        source: the agent, or the file with its dialogues.
        user: who speaks for the user, fresh for this episode.
        sandbox: the sandbox that answers tool calls.
        limits: what the episode may use; how many calls, the case says.
        trial: counts the episodes of one case from 1.
        identity: the session's id, where the case has come without its truth; else it is told from the case.
        memory: the agent's memory, asked before the first turn and in a time of its own, as long as that of the episode; None: it has none.
        kept: what the agent has kept from the user's task before, and keeps for the next; None: an agent begins and ends with its episode.
        reported: of an agent that acts on an environment of its own: returns the calls since it was last asked, or all of the episode so far; asked after each reply
            and at the end. One that knows of no calls is ``tuple``. None: the agent has no tools but those of the sandbox, or tells of them itself.
    """
    if source.kind == "recorded":
        return _recorded(case, source, trial, sandbox.tools)
    identity = identity or (kept and kept.session) or session_id(case, trial)
    if kept is not None:
        kept.session = identity
    limits = replace(limits or Limits(), calls=case.episode.calls)
    return _EpisodeDialogue(case, source, user, sandbox, limits, trial, identity, memory, kept, reported).run()


def without_sandbox(case: Case, source: Source, why: str, *, trial: int = 1) -> Trajectory:
    """Return the episode of a case without a usable sandbox: it ends before the agent is asked, and the agent is not to blame."""
    return Trajectory(
        case=case.id,
        trial=trial,
        source=source.name,
        turns=(Turn(role="user", text=case.visible.query),),
        ending="infrastructure_error",
        fault=Fault(blame="infrastructure", message=why),
    )


def _recorded(case: Case, source: RecordedSource, trial: int, tools: Container[str]) -> Trajectory:
    """Return the recorded dialogue of a case, with data read from the replies, up to the point where the case's user would end it."""
    try:
        trajectory = source.trajectory(case, trial, tools)
    except MapsatError as error:
        return without_sandbox(case, source, str(error), trial=trial)
    if source.had_real_user(case, trial):
        trajectory = _until_satisfied(case, trajectory)
    turns: list[Turn] = []
    for turn in trajectory.turns:
        try:
            data = with_data(Reply(turn.text, output=turn.output), case.visible.output_schema)
        except AgentFault as error:
            return trajectory.model_copy(update={"ending": "agent_error", "fault": error.fault})
        reads = turn.role == "agent" and data.output is not turn.output
        turns.append(turn.model_copy(update={"text": data.text, "output": data.output}) if reads else turn)
    return trajectory.model_copy(update={"turns": tuple(turns)})


def _until_satisfied(case: Case, trajectory: Trajectory) -> Trajectory:
    """Return a dialogue with a real user, cut after the reply at which the case's user would have ended it.

    A user who was not content told what the agent should have known, or asked for: a reply that comes after that is none that an agent gives to the case.
    """
    user = ScriptedUser(case.truth.user, language=case.language)
    turns = trajectory.turns
    for number, turn in enumerate(turns[:-1], 1):
        if turn.role != "agent" or user.reply(turns[:number]).ending != "done":
            continue
        left = sum(later.role == "agent" for later in turns[number:])
        if not left:
            break
        replies = "reply" if left == 1 else "replies"
        why = f"the user of the case ends the dialogue where the recorded user went on: {left} later {replies} left out"
        return trajectory.model_copy(update={"turns": turns[:number], "warnings": (*trajectory.warnings, why)})
    return trajectory


@dataclass
class _EpisodeDialogue:
    """A running episode."""

    _case: Case
    _source: AgentSource
    _user: User
    _sandbox: Sandbox
    _limits: Limits
    _trial: int
    _identity: str
    _memory: Remembering | None = None
    _kept: KeptAgent | None = None
    _reported: Reporter | None = None
    _retrieved: Retrieval | None = None
    _deadline: float = 0.0
    _conversation: Conversation | None = None

    def __post_init__(self) -> None:
        self._channel = Channel(self._sandbox, self._limits)
        self._model_calls = ModelCalls(self._trial, digest(self._case.id))
        self._opening = [Turn(role=message.role, text=message.text) for message in self._case.visible.messages]
        self._turns = [Turn(role="user", text=self._case.visible.query)]
        self._reports: list[ReportedCalls] = []
        self._late: tuple[Step, ...] = ()

    def run(self) -> Trajectory:
        """Play the episode and return its trajectory; an exception becomes its ending and fault."""
        try:
            end = self._talk()
        except AgentFault as error:
            end = _End("agent_error" if error.fault.blame == "agent" else "infrastructure_error", error.fault)
        except Exception as error:  # noqa: BLE001  # neither agent nor user nor sandbox: what is left is ours
            # Where the sandbox broke, this is what the source made of it.
            end = self._broken() or _End("infrastructure_error", _fault_of(error, "infrastructure"))
        return Trajectory(
            case=self._case.id,
            trial=self._trial,
            source=self._source.name,
            turns=tuple(self._turns),
            ending=end.ending,
            fault=end.fault,
            setup=self._sandbox.setup,
            memory=self._retrieved,
            builds=tuple(sorted(self._conversation.builds)) if self._conversation else (),
            after_end=(*self._channel.late(), *self._late),
            calls_reported=(bool(self._reports) or self._reported is not None) and not self._knows_all_calls(),
        )

    def _recall(self, memory: Remembering) -> _End | None:
        """Ask the memory and add its tools to the channel; return the end of the dialogue if the memory fails."""
        blame: Blame = "agent" if memory.own else "infrastructure"
        try:
            with leased() as worker, calls_of(self._model_calls):
                retrieved: Retrieval = worker.run(memory.recall, self._case.visible.query, timeout=self._limits.timeout)
        except Overdue:
            message = f"the agent's memory gave no answer in {self._limits.timeout:g} s"
            return _End("timeout" if memory.own else "infrastructure_error", Fault(blame=blame, message=message))
        if twice := sorted(memory.tools.keys() & self._sandbox.tools.keys()):
            why = f"the memory has a tool {twice[0]!r}, and so has the suite: give it another name"
            return _End("agent_error", Fault(blame=blame, message=why))
        if len(retrieved.text) > self._limits.max_text:
            size = f"{len(retrieved.text):,} characters for one task; at most {self._limits.max_text:,} are taken"
            return _End("agent_error", Fault(blame=blame, message=f"the agent's memory gave {size}"))
        self._channel = Channel(self._sandbox, self._limits, memory)
        self._retrieved = retrieved
        return None

    def _talk(self) -> _End:
        """Ask the memory if there is one, play the dialogue, and return how the dialogue ends."""
        if self._memory is None:
            return self._played()
        with closing(self._memory):
            return self._recall(self._memory) or self._played()

    def _played(self) -> _End:
        """Open the agent, play the dialogue, and return how it ends."""
        with port(self._channel, self._case.id, self._trial, self._kept) as (call, think):
            toolbox = Toolbox(self._channel.tools, call)
            remembered = "" if self._retrieved is None else self._retrieved.text
            context = partial(context_of, self._case.visible, remembered)
            session = Session(self._identity, think, self._trial, self._kept, self._case.episode.run)
            with calls_of(self._model_calls):
                conversation = self._conversation = self._source.open(self._case, toolbox, context, session)
            # An agent that has to be brought up first takes none of the episode's time for it.
            self._deadline = perf_counter() + self._limits.timeout
            with closing(conversation), leased() as worker:
                tools = self._sandbox.tools
                if (ask := self._reported) is not None:
                    self._reports.append(ReportedCalls(lambda: [ask()], "reported by the environment", tools))
                if conversation.reports or self._reported is not None:
                    anew = conversation.reports_all == "reply"
                    self._reports.append(
                        ReportedCalls(conversation.reported, "reported by the service", tools, anew=anew)
                    )
                end: _End | None = self._dialogue(conversation, worker, session)
                self._late, end = self._collect_reports((), end)
                return end or _End("done")

    def _dialogue(self, conversation: Conversation, worker: Worker, session: Session) -> _End:
        """Alternate turns until a speaker or the turn limit ends the dialogue."""
        for _ in range(self._limits.max_turns):
            session.remember((*self._opening, *self._turns), self._deadline)
            end = self._agent_turn(conversation, worker) or self._user_turn(worker)
            if end is not None:
                return end
        return _End("max_turns")

    def _agent_turn(self, conversation: Conversation, worker: Worker) -> _End | None:
        """Ask for a reply and add its turn; return the resulting end, or None if the dialogue continues."""
        began = perf_counter()
        self._channel.open()
        reply, end = self._reply(conversation, worker)
        steps, seconds = self._channel.close(), perf_counter() - began
        called = any(step.kind == "call" for turn in self._turns for step in turn.steps) or any(
            step.kind == "call" for step in steps
        )
        if conversation.heard_calls and not self._reports and not called:
            heard = ReportedCalls(
                lambda: [conversation.heard_calls], "heard from the agent's model", self._sandbox.tools
            )
            self._reports.append(heard)
        reported, end = self._collect_reports(steps, end)
        steps = (*steps, *reported)
        # What was waited for here is no time of the agent's.
        self._deadline += perf_counter() - began - seconds
        end = self._broken() or end
        if end is None or steps or reply is not None:
            self._turns.append(_turn(reply or Reply(""), steps, seconds))
        return end

    def _knows_all_calls(self) -> bool:
        """Return whether the agent reports all its calls, and no report was cut."""
        told_all = self._conversation and self._conversation.reports_all
        return bool(told_all) and not any(reports.cut for reports in self._reports)

    def _collect_reports(self, steps: tuple[Step, ...], end: _End | None) -> tuple[tuple[Step, ...], _End | None]:
        """Return the newly reported calls besides some steps, and the end: the given end, or an end because the reports failed."""
        reported: tuple[Step, ...] = ()
        try:
            for reports in self._reports if end is None or end.ending != "infrastructure_error" else ():
                with leased() as worker:
                    reported += tuple(worker.run(reports.new, (*steps, *reported), timeout=_REPORTING))
        except Exception as error:  # noqa: BLE001  # an environment is code of the user's
            slow = f"the source of the agent's calls did not answer within {_REPORTING:g} s"
            lost = InfrastructureError(slow) if isinstance(error, Overdue) else error
            if end is None or end.fault is None:
                end = _End("infrastructure_error", _fault_of(lost, "infrastructure"))
        return reported, end

    def _reply(self, conversation: Conversation, worker: Worker) -> tuple[Reply | None, _End | None]:
        """Return the agent's reply and None; after a late or faulty reply, the end of the dialogue, with a reply that holds only the usage, or None."""
        try:
            with calls_of(self._model_calls):
                reply: Reply = worker.run(
                    conversation.reply, self._turns[-1].text, timeout=self._deadline - perf_counter()
                )
            reply = with_data(reply, self._case.visible.output_schema)
            self._check_size(reply)
        except Overdue:
            return None, self._overdue(conversation)
        except AgentFault as error:
            end = _End("agent_error" if error.fault.blame == "agent" else "infrastructure_error", error.fault)
            return Reply("", usage=error.usage) if error.usage else None, end
        return reply, None

    def _broken(self) -> _End | None:
        """Return the end for a broken sandbox, too many calls or a lost model answer; None if there was no such problem."""
        if self._channel.broken is not None:
            ours = isinstance(self._channel.broken, InfrastructureError)
            return _End(
                "infrastructure_error", _fault_of(self._channel.broken, "infrastructure" if ours else "sandbox")
            )
        if self._channel.overrun:
            return _End("agent_error", Fault(blame="agent", message=f"the agent {self._channel.overrun} in one reply"))
        if lost := why_lost(self._model_calls):
            return _End("infrastructure_error", Fault(blame="infrastructure", message=lost))
        return None

    def _overdue(self, conversation: Conversation) -> _End:
        """Return the end of an episode that is out of time: the party that was active at that moment is to blame."""
        # Closed first, so that nothing the agent does while it is being cancelled counts.
        self._channel.close()
        slow = self._channel.slow_tool()
        conversation.cancel()
        if conversation.refused:
            return _End("infrastructure_error", Fault(blame="infrastructure", message=conversation.refused))
        if slow:
            message = (
                f"the sandbox was not done with {slow} when the {self._limits.timeout:g} s of the episode were over"
            )
            return _End("infrastructure_error", Fault(blame="infrastructure", message=message))
        message = f"the episode was not over after {self._limits.timeout:g} s; the agent was still in its reply"
        return _End("timeout", Fault(blame="agent", message=message))

    def _check_size(self, reply: Reply) -> None:
        """Raise AgentFault for a reply that is too long."""
        if not reply.thoughts and reply.output is None and len(reply.text) <= self._limits.max_text:
            return
        output = 0 if reply.output is None else json_size(reply.output)
        sizes = {"a text": len(reply.text), "thoughts": sum(map(len, reply.thoughts)), "output": output}
        for what, size in sizes.items():
            if size > self._limits.max_text:
                raise AgentFault(
                    f"the agent returned {what} of {size:,} characters; at most {self._limits.max_text:,} are taken"
                )

    def _user_turn(self, worker: Worker) -> _End | None:
        """Let the user take a turn; return the resulting end, or None if the dialogue continues."""
        started = perf_counter()

        def within_the_time(function: Callable[[Any], Any], argument: Any) -> Any:
            """Call a function on the worker within the remaining time and return its result. Raises Overdue."""
            return worker.run(function, argument, timeout=self._deadline - perf_counter())

        hands = UserHands(self._channel, within_the_time)
        events, replies = self._channel.events, sum(turn.role == "agent" for turn in self._turns)
        if events is not None:
            hands.wait_for_events(replies)
            if broken := self._broken():
                return broken
        try:
            move = self._user.reply(tuple(self._turns), hands)
        except Exception as error:  # noqa: BLE001  # whatever a user's code raises
            return self._broken() or _End("user_error", _fault_of(error, "user"))
        if events is not None:
            hands.wait_for_events(replies)  # those after its own calls
            if move.text is not None and (unsaid := events.unsaid()):
                move = move.after_events(unsaid, self._case.language)
        if broken := self._broken():
            return broken
        if move.text is not None or hands.steps:
            timing = None if move.usage is None else TurnTiming(seconds=round(perf_counter() - started, 6))
            notes = [Step(kind="thought", text=note) for note in move.notes]
            self._turns.append(
                Turn(
                    role="user",
                    text=move.text or "",
                    agreed=move.agreed,
                    reveals=move.reveals,
                    steps=(*notes, *hands.steps),
                    usage=move.usage or _UNKNOWN,
                    timing=timing,
                )
            )
        if move.ending is not None or move.text is None:
            return _End(move.ending or "done")
        return None


def _turn(reply: Reply, steps: tuple[Step, ...], seconds: float) -> Turn:
    """Return the agent's turn for a reply and the calls before it."""
    # When those of the reply were thought is unknown; those of the session stand where they came.
    thoughts = [Step(kind="thought", text=thought) for thought in reply.thoughts]
    return Turn(
        role="agent",
        text=reply.text,
        steps=(*thoughts, *steps),
        output=None if reply.output is None else dict(reply.output),
        usage=Usage.model_validate(reply.usage) if reply.usage else _UNKNOWN,
        timing=TurnTiming(seconds=round(seconds, 6)),
    )


def _fault_of(error: Exception, blame: Blame) -> Fault:
    """Return the fault for an exception; our own errors keep their message, all others are described."""
    if isinstance(error, MapsatError):
        return Fault(blame=blame, message=str(error))
    return describe(error, blame=blame)
