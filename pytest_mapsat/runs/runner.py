"""One case from its entry in a suite to its scorecard: played, judged and scored."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock, RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_mapsat.agents import KeptAgent, Source
from pytest_mapsat.environments import Environments
from pytest_mapsat.episode import Limits, Reporter, run_episode, without_sandbox
from pytest_mapsat.formats import shown_path, without_secrets
from pytest_mapsat.judges import Decided, Judge, JudgedDialogue, LabelsOfPeople, make_judge, people_first
from pytest_mapsat.metrics import MetricSet, gather_metric_sets, score
from pytest_mapsat.model import (
    CardRequirement,
    Case,
    EpisodeTiming,
    InfrastructureError,
    Interaction,
    JsonObject,
    MapsatError,
    Recording,
    ReferenceEnd,
    RunRequest,
    Scorecard,
    Trajectory,
    UsageError,
    Utterance,
    canonical_json,
    noun_digest,
    trajectory_digest,
)
from pytest_mapsat.sandbox import Sandbox, make_sandbox, play_reference
from pytest_mapsat.suite import History, Suite
from pytest_mapsat.users import audit, make_user

from .episodes import Flights
from .request import labels_asked, metric_sets_of, within_ceilings

if TYPE_CHECKING:
    from pytest_mapsat.llm import LiteLLMClient
    from pytest_mapsat.recording import Keeping, KeptAnswers, OwnTools

    from .elsewhere import Elsewhere
    from .memories import Memories


@dataclass(frozen=True, slots=True)
class Played:
    """An episode that was played but not yet judged.

    Attributes:
        case: the case as it was played: in the profile setting, where that was asked for.
        trajectory: what happened.
        seconds: how long it took; None: an earlier run has played it.
    """

    case: Case
    trajectory: Trajectory
    seconds: float | None


# -- the tasks of a user where dialogues are carried ------------------------------------------------------------------

# In suites with ``carry: dialogues`` a user's tasks are played in order, and the agent keeps its state from one to the next. Before any task, the
# earlier ones that this process has not played are played; their episodes wait for their own items.

#: Users whose agents are kept at once: each may have a process of its own.
_MOST_USERS = 64


class UserTrial(NamedTuple):
    """Identifies one user's tasks in one trial, which run one after another."""

    suite: Path
    user: str
    trial: int

    @classmethod
    def of(cls, suite: Suite, case: Case, trial: int) -> UserTrial | None:
        """Return the user and trial of a case; None if its suite carries no dialogues or the case has no group."""
        if suite.manifest.carry is None or case.group is None:
            return None
        return cls(suite.root, case.group.name, trial)


@dataclass
class _Course:
    """The progress through one user's tasks, with the agent kept between the tasks.

    Attributes:
        lock: held while a task is played.
        kept: what the agent keeps from task to task.
        dialogues: the dialogue of each task that was played, by its case; None where nothing was said.
        waiting: the episodes that were played for a later task, until their own items ask for them.
    """

    lock: RLock = field(default_factory=RLock)
    kept: KeptAgent = field(default_factory=KeptAgent)
    dialogues: dict[str, Interaction | None] = field(default_factory=dict)
    waiting: dict[str, Played] = field(default_factory=dict)

    def begin_anew(self) -> None:
        """Forget the user's tasks and the kept agent, to start again with the first task."""
        self.kept.forget()
        self.dialogues, self.waiting = {}, {}


class Carried:
    """Plays the tasks of suites that carry dialogues in order, and keeps each user's agent between tasks; thread-safe.

    Attributes:
        unasked: how many episodes were played only because a later task was asked for.
    """

    def __init__(self) -> None:
        self.unasked = 0
        self._lock = Lock()
        self._courses: OrderedDict[UserTrial, _Course] = OrderedDict()

    def play(self, key: UserTrial, suite: Suite, case: Case, play: Callable[[Case, KeptAgent], Played]) -> Played:
        """Return the episode of a case, played now after the earlier tasks, or already played for a later task.

        Where a case is asked for again, as in a rerun, its user begins anew with the first task and a new agent.

        Args:
            key: its user and trial.
            suite: the suite.
            case: the case.
            play: plays a case with the agent that was kept.

        Raises:
            SuiteError: a task before it cannot be read.
        """
        with self._course(key) as course:
            if (played := course.waiting.pop(case.id, None)) is None:
                if case.id in course.dialogues:
                    course.begin_anew()
                for entry in suite.earlier(case):
                    if entry.id not in course.dialogues:
                        course.waiting[entry.id] = earlier = play(suite.load(entry), course.kept)
                        course.dialogues[entry.id] = _dialogue_of(earlier)
                        self._count(1)
                played = play(case, course.kept)
                course.dialogues[case.id] = _dialogue_of(played)
            else:
                self._count(-1)
            if suite.sequences[key.user][-1].id == case.id:
                course.kept.forget()
            return played

    def histories(self, key: UserTrial, suite: Suite, case: Case) -> tuple[History, ...]:
        """Return the histories before a case, with the dialogue of each earlier task added to its history."""
        with self._course(key) as course:
            dialogues = [course.dialogues.get(entry.id) for entry in suite.earlier(case)]
        histories = suite.histories_before(case)
        carried = [
            history if dialogue is None else (*history, dialogue)
            for history, dialogue in zip(histories, dialogues, strict=False)
        ]
        return (*carried, histories[-1])

    def _count(self, more: int) -> None:
        """Add to the number of episodes played only for a later task."""
        with self._lock:
            self.unasked += more

    @contextmanager
    def _course(self, key: UserTrial) -> Iterator[_Course]:
        """Yield a user's course, locked for this thread; with too many users, the least recently used courses are reset."""
        with self._lock:
            course = self._courses.setdefault(key, _Course())
            self._courses.move_to_end(key)
            others = list(self._courses.items())[:-_MOST_USERS]
        for other, idle in others:
            if idle.lock.acquire(blocking=False):
                idle.begin_anew()
                with self._lock:
                    self._courses.pop(other, None)
                idle.lock.release()
        with course.lock:
            yield course


def _dialogue_of(played: Played) -> Interaction | None:
    """Return an episode's dialogue, dated by its case; None if it has no words or the case has no time."""
    now = played.case.visible.context.now
    utterances = tuple(
        Utterance(role="user" if turn.role == "user" else "assistant", content=turn.text)
        for turn in played.trajectory.turns
        if re.search(r"\w", turn.text)
    )
    return Interaction(date=now, dialogue=utterances) if now is not None and utterances else None


# -- a case ----------------------------------------------------------------------------------------------------------


@dataclass
class Runner:
    """Plays, judges and scores cases with one source of trajectories, one kind of user and one judge.

    Attributes:
        source: where trajectories come from.
        request: what the run was asked for: user, judge, limits, what is asserted.
        root: the directory that relative paths in specs start from.
        metric_sets: the metric sets, by name; ours and those of installed packages where none are given.
        client: the way to models, where somebody needs one.
        own_tools: the user's own tools, asked for what the sandbox of a case cannot answer; None: there are none.
        elsewhere: has episodes played by other processes; None: they are played here.
        memories: give agents what their memory has for a task; None: they have none.
        carried: the tasks that were played in suites that carry dialogues.
        environments: what episodes act on in place of a sandbox, one at a time on each.
        environment_of: gives that of a case; None: it has none.
        flights: the episodes that are being played or judged.
    """

    source: Source
    request: RunRequest
    root: Path
    metric_sets: Mapping[str, MetricSet] = field(default_factory=gather_metric_sets)
    client: LiteLLMClient | None = None
    own_tools: OwnTools | None = None
    elsewhere: Elsewhere | None = None
    memories: Memories | None = None
    carried: Carried = field(default_factory=Carried)
    environments: Environments = field(default_factory=Environments)
    environment_of: Callable[[Suite, Case], object | None] = field(default=lambda _suite, _case: None)
    flights: Flights = field(default_factory=Flights)
    _making: Lock = field(default_factory=Lock)
    _graders: dict[Path, Grader] = field(default_factory=dict)
    _kept: dict[Path, KeptAnswers] = field(default_factory=dict)
    _references: dict[tuple[Path, str], ReferenceEnd | None] = field(default_factory=dict)

    def _answering(self, suite: Suite, case: Case) -> Sandbox:
        """Return the sandbox that answers an agent's calls, supplemented by the user's own tools if there are any."""
        sandbox = make_sandbox(case, suite, misses=self.request.options.on_miss != "strict")
        if self.own_tools is None:
            return sandbox
        from pytest_mapsat.recording import KeptAnswers, RecordingSandbox  # noqa: PLC0415 (only where it is asked for)

        return RecordingSandbox(sandbox, self.own_tools, case.id, self._kept.setdefault(suite.root, KeptAnswers()))

    def _reference(self, suite: Suite, case: Case) -> ReferenceEnd | None:
        """Return the end state of a case's reference, cached; None if it cannot be played."""
        place = suite.root, case.id
        if place not in self._references:
            try:
                self._references[place] = play_reference(case, suite)
            except MapsatError:
                self._references[place] = None  # the judge meets the same, and says so
        return self._references[place]

    def _grader(self, suite: Suite) -> Grader:
        """Return the cached grader of a suite."""
        with self._making:
            if suite.root not in self._graders:
                grader = Grader.of(suite, self.request, self.metric_sets, root=self.root, client=self.client)
                self._graders[suite.root] = grader
            return self._graders[suite.root]

    def run(
        self, suite: Suite, case: Case, *, trial: int = 1, environment: object | None = None, **known: Any
    ) -> Scorecard:
        """Play, judge and score one episode of a case; arguments as for ``play`` and ``grade``.

        Returns:
            The scorecard, trajectory included.

        Raises:
            CeilingReachedError: it would have cost more than the run may spend.
        """
        return self.grade(suite, self.play(suite, case, trial=trial, environment=environment), **known)

    def play(
        self, suite: Suite, case: Case, *, trial: int = 1, environment: object | None = None, identity: str = ""
    ) -> Played:
        """Play one episode of a case, up to its trajectory.

        Args:
            suite: the suite.
            case: one of its cases.
            trial: counts the episodes of the case from 1.
            environment: what it acts on, where a fixture gives that; None: what ``environment_of`` gives.
            identity: the session's id, where the case has come without its truth; else it is told from the case.

        Raises:
            CeilingReachedError: it would have cost more than the run may spend.
            UsageError: the case is a draft.
        """
        if case.truth.proposals:
            raise UsageError(f"the case {case.id} is a draft: mapsat review {shown_path(suite.root)}")
        key = UserTrial.of(suite, case, trial)
        play = partial(self._play, suite, trial=trial, environment=environment, identity=identity)
        with self.flights.counted(case.id, trial):
            if key is None or self.source.kind != "agent":
                return play(case, None)
            return self.carried.play(key, suite, case, play)

    def _play(self, suite: Suite, case: Case, kept: KeptAgent | None, *, trial: int, **about: Any) -> Played:
        """Play one episode with the agent kept from the previous task, or None; ``about``: as for ``play``."""
        started = perf_counter()
        case = in_profile_setting(case, suite) if self.request.options.profile else case
        try:
            trajectory = self._dialogue(suite, case, kept, trial=trial, **about)
        except InfrastructureError as error:
            trajectory = without_sandbox(case, self.source, str(error), trial=trial)
        seconds = perf_counter() - started
        trajectory = without_secrets(trajectory)  # here, before it is judged, kept or shown
        reference = self._reference(suite, case) if case.truth.end is not None else None
        if reference is not None:
            trajectory = trajectory.model_copy(update={"reference": reference})
        return Played(case, trajectory, seconds)

    def _dialogue(
        self, suite: Suite, case: Case, kept: KeptAgent | None, *, trial: int, environment: object | None, identity: str
    ) -> Trajectory:
        """Return the trajectory of one episode. Raises InfrastructureError if its sandbox or environment cannot be created."""
        options, is_played = self.request.options, self.source.kind == "agent"
        if is_played and environment is None:
            environment = self.environment_of(suite, case)
        if environment is not None and any(event.rows or event.calls for event in case.world.events):
            why = "rows and calls of events change a sandbox, and it acts on an environment, where only say works"
            raise InfrastructureError(f"case {case.id}: world.events: {why}")

        def acting(play: Callable[[Reporter | None], Trajectory]) -> Trajectory:
            """Play the episode on its environment, with the environment's reported calls; directly if there is no environment."""
            if environment is None or not is_played:
                return play(None)
            if case.world.faults:
                raise InfrastructureError(f"case {case.id}: its agent acts on an environment, which no fault reaches")
            # Of a world that does not tell calls, none is known: what is not seen may have been called.
            tell = self.environments.play
            return tell(environment, case, trial, lambda world: play(getattr(world, "calls", tuple)))

        histories = () if options.agent_memory == "none" else self._before(suite, case, trial)
        source = self._source_in(suite, case)
        if self.elsewhere is not None and is_played and source is self.source:
            away = self.elsewhere.play
            return acting(lambda _: away(case, suite, self.source, histories, trial=trial))
        user = make_user(self.request.user, case, client=self.client, trial=trial)
        with within_ceilings():
            sandbox = self._answering(suite, case)
            memory = None if self.memories is None else self.memories.of(suite.root, case, histories, trial)
            limits = Limits.of(options)
            about: dict[str, Any] = {"trial": trial, "identity": identity, "memory": memory, "kept": kept}
            return acting(lambda reported: run_episode(case, source, user, sandbox, limits, reported=reported, **about))

    def _source_in(self, suite: Suite, case: Case) -> Source:
        """Return the source of trajectories; for a baseline that needs part of the truth, include its dialogue in this case."""
        source = self.source
        if source.name not in ("surface", "profile"):
            return source
        from pytest_mapsat.agents.baselines import BaselineSource  # noqa: PLC0415 (only for these)
        from pytest_mapsat.proof import dialogue_of  # noqa: PLC0415 (likewise)

        if not isinstance(source, BaselineSource) or not source.needs_dialogue:
            return source

        with suppress(InfrastructureError):  # a sandbox that cannot be made is told of where the episode is played
            return replace(source, dialogue=dialogue_of(case, suite, source.name))
        return source

    def _before(self, suite: Suite, case: Case, trial: int) -> tuple[History, ...]:
        """Return the histories before a case: its suite's interactions and, if carried, the agent's own earlier dialogues."""
        key = UserTrial.of(suite, case, trial)
        if key is None or self.source.kind != "agent":
            return suite.histories_before(case)
        return self.carried.histories(key, suite, case)

    def context(self, suite: Suite, played: Played) -> JudgedDialogue:
        """Return a played episode in the form that checks and Python bodies read."""
        return self._grader(suite).judge.context(played.case, played.trajectory)

    def grade(self, suite: Suite, played: Played, *, decided: Decided | None = None, **known: Any) -> Scorecard:
        """Return the scorecard of a played episode; ``decided``: its Python body's decision; ``known``: as for ``grade``."""
        with within_ceilings(), self.flights.counted(played.case.id, played.trajectory.trial):
            graded = self._grader(suite).grade
            return graded(played.case, played.trajectory, seconds=played.seconds, decided=decided, **known)


def _timing(trajectory: Trajectory, played: float, judged: float) -> EpisodeTiming:
    """Return the duration of an episode, in total and for the agent, the user and the judge."""
    seconds = {"seconds": played + judged, "agent": 0.0, "user": 0.0, "judge": judged}
    for turn in trajectory.turns:
        if turn.timing is not None:
            seconds[turn.role] += turn.timing.seconds
    return EpisodeTiming(**{name: round(value, 6) for name, value in seconds.items()})


def judge_of(suite: Suite, spec: str, *, decisions: Iterable[Path] | None = None, **known: Any) -> Judge:
    """Return the judge of a suite; a human decision on a label overrides the judge.

    Args:
        suite: the suite.
        spec: the judge, as the user named it.
        decisions: the files of people's decisions; None: the suite's own.
        known: ``root``, ``client``, ``votes`` and ``besides``, as of ``make_judge``.

    Raises:
        UsageError: no judge is named so, or there is no such file.
        SuiteError: a file cannot be used.
    """
    about: dict[str, Any] = {"vocabulary": suite.vocabulary, "suite": suite, "calibration": suite.calibration}
    judge = make_judge(spec, suite.tools, **about, **known)
    return people_first(judge, LabelsOfPeople.read(suite.inventory.reviewed if decisions is None else decisions))


def grade(
    case: Case,
    trajectory: Trajectory,
    judge: Judge,
    *,
    seconds: float | None = None,
    decided: Decided | None = None,
    **known: Any,
) -> Scorecard:
    """Return the scorecard of an episode, judged and scored.

    Args:
        case: the case.
        trajectory: what happened.
        judge: who labels it.
        seconds: how long it took to play; None: it was not timed.
        decided: what the body of a case in Python came to; None: the case has none.
        known: what ``score`` takes: ``asserted``, and where they are others than usual ``tools``, ``metric_sets`` and ``success``; and fields of the
            scorecard that nothing is computed for, such as ``nodeid`` and ``line``.
    """
    started = perf_counter()
    known = {"stamp": noun_digest(case), **known}
    if case.world.faults:
        from pytest_mapsat.judges.faults import with_fault_policies  # noqa: PLC0415 (few cases have faults)

        case, decided = with_fault_policies(case, trajectory, decided)
    verdict = judge.judge(case, trajectory) if decided is None else judge.judge(case, trajectory, decided)
    if seconds is not None:
        known["timing"] = _timing(trajectory, seconds, perf_counter() - started)
    recorded = judge.spec.startswith("recorded:")
    # A judge that has read the trajectory itself has made its digest already.
    dialogue = (not recorded and verdict.trajectory) or trajectory_digest(trajectory)
    if slips := audit(case, trajectory):
        verdict = verdict.model_copy(update={"labels": (*verdict.labels, *slips)})
    return score(
        case,
        trajectory,
        verdict,
        # Whether a recorded verdict is known to be about this trajectory.
        linked=verdict.trajectory == trajectory_digest(trajectory) if recorded else None,
        requirements=tuple(
            CardRequirement(
                id=requirement.id,
                kind=requirement.kind,
                text=requirement.text,
                source="" if requirement.source == "unstated" else requirement.source,
            )
            for requirement in case.truth.by_kind
        ),
        dialogue=dialogue,
        **known,
    )


class Grader(NamedTuple):
    """The judge of a suite, and a ``grade`` function that needs only a case and a trajectory."""

    judge: Judge
    grade: Callable[..., Scorecard]

    @classmethod
    def of(cls, suite: Suite, request: RunRequest, available: Mapping[str, MetricSet], **known: Any) -> Grader:
        """Return a suite's grader in a run; ``known``, errors: as for ``judge_of`` and ``metric_sets_of``."""
        options = request.options
        sets = metric_sets_of(suite, available, options.metrics)
        judge = judge_of(suite, request.judge, votes=options.judge_votes, besides=labels_asked(sets), **known)
        asserted, success = options.asserted_kinds, suite.manifest.success
        scored: dict[str, Any] = {"cluster": suite.manifest.cluster or ""}
        scored |= {"asserted": asserted, "tools": suite.tools, "metric_sets": sets, "success": success}
        return cls(judge, partial(grade, judge=judge, **scored))


def in_profile_setting(case: Case, suite: Suite) -> Case:
    """Return the case in the profile setting, with the user's profile in the context (MapSatisfyBench, B.4).

    ``context.profile`` holds, by tool, a list of ``arguments`` and ``result`` of each call that the case's recordings, its oracle dialogue and the user's id know of;
    calls that the sandbox does not answer are left out. The tools leave the expected ones, and with them what was to come after them.

    Raises:
        SuiteError: the case's recordings cannot be read.
    """
    profiles = {name for name, tool in suite.tools.items() if tool.profile}
    if not profiles:
        return case
    sandbox = make_sandbox(case.without("faults", "events"), suite)
    results: dict[str, dict[str, JsonObject]] = {}
    for name, arguments in _profile_calls(case, suite, profiles):
        answer = sandbox.call(name, arguments)
        if answer.status == "ok":
            kept = results.setdefault(name, {})
            kept.setdefault(canonical_json(answer.result), {"arguments": arguments, "result": answer.result})
    profile = {name: list(results[name].values()) for name in sorted(results)}
    gone = {expected.key for expected in case.truth.tools if expected.name in profiles}
    left = tuple(
        expected.model_copy(update={"after": tuple(tool_id for tool_id in expected.after if tool_id not in gone)})
        for expected in case.truth.tools
        if expected.name not in profiles
    )
    context = case.visible.context.model_copy(update={"profile": {**case.visible.context.profile, **profile}})
    return case.model_copy(
        update={
            "visible": case.visible.model_copy(update={"context": context}),
            "truth": case.truth.model_copy(update={"tools": left}),
        }
    )


def _profile_calls(case: Case, suite: Suite, profiles: set[str]) -> Iterator[tuple[str, JsonObject]]:
    """Yield calls of profile tools that may have an answer, in a fixed order: recorded calls, the oracle's calls, then by user id."""
    recorded = [
        (recording.tool, dict(recording.arguments))
        for recording in suite.recordings(case.id)
        if recording.tool in profiles
    ]
    yield from sorted(recorded, key=canonical_json)
    for turn in case.truth.oracle:
        yield from ((call.tool, dict(call.arguments)) for call in turn.calls if call.tool in profiles)
    for name in sorted(profiles):
        required = suite.tools[name].parameters.get("required", [])
        if case.visible.context.uid and len(required) == 1:
            yield name, {required[0]: case.visible.context.uid}


#: So many reasons are told of why a tool gave no answer.
_REASONS_TOLD = 5


def keep_answers(lines: Iterable[bytes], suites: Mapping[str, Suite]) -> tuple[list[Keeping], list[str]]:
    """Add the answers of the user's own tools to the suites' recordings, after the run.

    Args:
        lines: the scorecards as ``scorecard_line`` gives them, of episodes with calls that no recording answered.
        suites: the suite of each case.

    Returns:
        What was kept, a suite each, and why some calls have no answer.

    Raises:
        SuiteError: a suite or its recordings cannot be read.
        OSError: recordings cannot be written.
    """
    from pytest_mapsat.recording import keep_recordings, recorded_steps, unanswered_steps  # noqa: PLC0415 (only where asked for)

    by_suite: dict[Path, list[Recording]] = {}
    unanswered: list[str] = []
    for line in lines:
        trajectory = Scorecard.model_validate_json(line).trajectory
        suite = suites.get(trajectory.case)
        if suite is not None:
            by_suite.setdefault(suite.root, []).extend(recorded_steps(trajectory, suite.tools))
            unanswered += unanswered_steps(trajectory)
    kept = [keep_recordings(root, recordings) for root, recordings in sorted(by_suite.items())]
    return kept, list(dict.fromkeys(unanswered))


def kept_lines(kept: Sequence[Keeping], unanswered: Sequence[str]) -> list[str]:
    """Return lines that report the recorded answers of the user's own tools, and the calls without an answer."""
    lines = []
    for kept_answers in kept:
        present = f", {kept_answers.known} already there" if kept_answers.known else ""
        answers = "answer" if kept_answers.added == 1 else "answers"
        lines.append(f"{kept_answers.added} {answers} of your own tools added to {kept_answers.path.name}{present}")
        lines += [f"not kept: {problem}" for problem in kept_answers.problems]
    more = len(unanswered) - _REASONS_TOLD
    lines += [f"no answer: {reason}" for reason in unanswered[:_REASONS_TOLD]]
    return [*lines, *([f"and {more} more without an answer"] if more > 0 else [])]
