"""Suites with ``carry: dialogues``: a user's tasks are played in order, and the agent keeps its state from one to the next.

Before any task, the earlier ones that this process has not played are played; their episodes wait for their own items.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, NamedTuple

from pytest_mapsat.agents import KeptAgent
from pytest_mapsat.model import Case, Interaction, Utterance
from pytest_mapsat.suite import History, Suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .runner import Played

#: Users whose agents are kept at once: each may have a process of its own.
_MOST_USERS = 64


class UserTrial(NamedTuple):
    """One user's tasks in one trial. They run one at a time."""

    suite: Path
    user: str
    trial: int

    @classmethod
    def of(cls, suite: Suite, case: Case, trial: int) -> UserTrial | None:
        """Return the user and trial of a case; None where nothing is carried to it or from it."""
        if suite.manifest.carry is None or case.group is None:
            return None
        return cls(suite.root, case.group.name, trial)


@dataclass
class _Course:
    """How far the tasks of one user were played.

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
        """Forget all tasks, and the agent with them."""
        self.kept.forget()
        self.dialogues, self.waiting = {}, {}


class Carried:
    """The tasks that one process has played in suites that carry dialogues. Safe to be used from several threads.

    Attributes:
        unasked: how many episodes were played only because a later task was asked for.
    """

    def __init__(self) -> None:
        self.unasked = 0
        self._lock = Lock()
        self._courses: OrderedDict[UserTrial, _Course] = OrderedDict()

    def play(self, key: UserTrial, suite: Suite, case: Case, play: Callable[[Case, KeptAgent], Played]) -> Played:
        """Return the episode of a case: played now, after those before it, or earlier, for a later task.

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
                        task = suite.load(entry)
                        course.waiting[entry.id] = earlier = play(task, course.kept)
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
        """Return the histories before a case that is being played, the dialogue of each earlier task behind its own."""
        with self._course(key) as course:
            dialogues = [course.dialogues.get(entry.id) for entry in suite.earlier(case)]
        histories = suite.histories_before(case)
        carried = [
            history if dialogue is None else (*history, dialogue)
            for history, dialogue in zip(histories, dialogues, strict=False)
        ]
        return (*carried, histories[-1])

    def _count(self, more: int) -> None:
        with self._lock:
            self.unasked += more

    @contextmanager
    def _course(self, key: UserTrial) -> Iterator[_Course]:
        """Give a user's course to this thread alone; with too many users, the least recently played begin anew."""
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
    """Return the dialogue of an episode, dated by its case; None where nothing was said or the case has no moment."""
    now = played.case.visible.context.now
    utterances = tuple(
        Utterance(role="user" if turn.role == "user" else "assistant", content=turn.text)
        for turn in played.trajectory.turns
        if re.search(r"\w", turn.text)
    )
    return Interaction(date=now, dialogue=utterances) if now is not None and utterances else None
