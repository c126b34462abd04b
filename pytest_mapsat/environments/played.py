"""Episodes in environments: one at a time on each, from the reset to what is left of it; and what came too late to be counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from time import monotonic, sleep
from typing import Any, NamedTuple, cast

from pytest_mapsat.agents import session_id
from pytest_mapsat.formats import without_secrets
from pytest_mapsat.interpreter import waiting
from pytest_mapsat.model import Case, EnvironmentEnd, InfrastructureError, MapsatError, Trajectory, listed, shown
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, place_of

from .world import Environment, EpisodeSession, EpisodeWorld, Starts, Tables, alone, differing, end_between, seen

#: How long tables may go on changing after the last reply, seconds.
_LONGEST = 10.0
#: How often a reset is tried that leaves other rows than before.
_RESETS = 4
_SETTLE = 0.1


class Late(NamedTuple):
    """An episode whose end turned out not to be known once it had been judged, and why."""

    case: str
    trial: int
    why: str


class _Last(NamedTuple):
    """The last episode on a place: its world, and the tables as it left them; None where that is not known."""

    case: str
    trial: int
    world: EpisodeWorld
    end: Tables | None


@dataclass
class _Place:
    """What no two episodes act on at once."""

    lock: Lock = field(default_factory=Lock)
    held: ExitStack = field(default_factory=ExitStack)
    begun: bool = False
    last: _Last | None = None
    #: The rows that every reset leads to, by the names of the tables.
    resets: dict[tuple[str, ...], Tables] = field(default_factory=dict)


class Environments:
    """The environments of one process.

    Args:
        tell: is told once what is acted on, before it is.

    Attributes:
        late: episodes whose ends turned out not to be known.
        acted: how many episodes have acted on each.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        self.late: list[Late] = []
        self.acted: Counter[str] = Counter()
        self._told_by = tell
        self._named: set[str] = set()
        self._places: dict[str, _Place] = {}
        self._objects: list[object] = []
        self._starts = Starts()
        self._lock = Lock()

    def play(
        self, environment: object, case: Case, trial: int, play: Callable[[EpisodeWorld], Trajectory]
    ) -> Trajectory:
        """Return the trajectory of an episode, with what it left of its environment.

        Args:
            environment: what it acts on.
            case: its case.
            trial: counts the episodes of the case from 1.
            play: plays it in its world.

        Raises:
            InfrastructureError: it cannot be started.
        """
        if not callable(getattr(environment, "start", None)):
            raise InfrastructureError(
                f"an environment is an object with start(case, session), found {shown(environment)}"
            )
        acted_on = cast("Environment", environment)
        self.tell(acted_on)
        self.acted[_shown(acted_on)] += 1
        session = EpisodeSession(session_id(case, trial), trial)
        if not place_name(environment):
            world, start = _started(acted_on, case, session)
            try:
                return self._played(acted_on, case, world, play, start)[0]
            finally:
                _close(world)
        with self._lock:
            self._objects.append(environment)  # as long as it is kept, no other object has its id
            place = self._places.setdefault(place_name(environment), _Place())
        with waiting():
            place.lock.acquire()
        try:
            self._hold(place, acted_on)
            world, start = self._begun(place, acted_on, case, session)
            place.last = _Last(case.id, trial, world, None)
            trajectory, end = self._played(acted_on, case, world, play, start)
            place.last = _Last(case.id, trial, world, end)
        finally:
            place.lock.release()
        return trajectory

    def tell(self, environment: object) -> None:
        """Say what is acted on, before anything is asked of it for the first time."""
        name = _shown(environment)
        if name not in self._named:
            self._named.add(name)
            self._told_by(name)

    def close(self) -> None:
        """Look whether the last episodes wrote once more, and give everything back."""
        for place in self._places.values():
            self._look_back(place)
            place.held.close()
        self._places.clear()
        self._objects.clear()

    # -- inside ----------------------------------------------------------------------------

    def _hold(self, place: _Place, environment: Environment) -> None:
        """Hold a place for this process as long as it is open. Raises InfrastructureError where another one acts on it."""
        own = partial(alone, place_name(environment)) if hasattr(environment, "name") else nullcontext
        hold = getattr(environment, "hold", own)
        if not place.begun and _asked("hold", lambda: place.held.enter_context(hold())) is False:
            place.held.close()
            why = "give each worker one of its own (worker_id), or wait for the other run"
            raise InfrastructureError(f"another run, or worker of this one, acts on {_shown(environment)}: {why}")
        place.begun = True

    def _look_back(self, place: _Place) -> tuple[str, int] | None:
        """Note where the last episode wrote once its end had been read, and give its world back; return its case and trial."""
        last, place.last = place.last, None
        if last is None:
            return None
        if last.end is not None:
            try:
                rows = differing(last.end, _tables(last.world))
                why = f"{listed(rows, 5)} changed after the end had been read" if rows else ""
            except MapsatError as error:
                why = f"it is not known whether it wrote once more: {error}"
            if why:
                self.late.append(Late(last.case, last.trial, why))
        _close(last.world)
        return last.case, last.trial

    def _begun(
        self, place: _Place, environment: Environment, case: Case, session: EpisodeSession
    ) -> tuple[EpisodeWorld, Tables]:
        """Return the world of an episode and its tables. Where a reset leads to other rows than before, the episode before has written in between."""
        before = self._look_back(place)
        rows: list[str] = []
        last: Tables | None = None
        for _ in range(_RESETS):
            world, start = _started(environment, case, session)
            known = place.resets.get(tuple(start))
            if not getattr(environment, "same_start", False):
                return world, start
            # What two resets lead to one after the other is no write of somebody else.
            if last is not None and not differing(last, start):
                place.resets[tuple(start)] = start
                return world, start
            rows = differing(last or {}, start) if known is None else differing(known, start)
            if known is not None and not rows:
                if last is not None and before is not None:
                    why = f"{listed(differing(start, last), 5)} changed after the next episode had begun"
                    self.late.append(Late(*before, why))
                return world, start
            last = start
            _close(world)
        raise InfrastructureError(
            f"each reset leaves other rows, such as {listed(rows)}: something else writes, or these columns belong under ignore"
        )

    def _played(
        self,
        environment: Environment,
        case: Case,
        world: EpisodeWorld,
        play: Callable[[EpisodeWorld], Trajectory],
        start: Tables,
    ) -> tuple[Trajectory, Tables | None]:
        trajectory = play(world)
        unwatched = tuple(sorted(getattr(world, "unwatched", ())))
        try:
            end, why = _settled(world, float(getattr(environment, "settle", _SETTLE)))
            if not why:
                starts = {name: self._starts.of(name, table, without_secrets) for name, table in start.items()}
                ended = end_between(start, end, starts, _named(case, trajectory))
                ended = ended.model_copy(update={"unwatched": unwatched})
                return trajectory.model_copy(update={"environment": ended}), end
        except MapsatError as error:
            why = f"the end could not be read: {error}"
        return trajectory.model_copy(update={"environment": EnvironmentEnd(unknown=why, unwatched=unwatched)}), None


def place_name(environment: object) -> str:
    """Return what names the place that no two episodes act on at once; empty where they may."""
    if getattr(environment, "parallel", False):
        return ""
    return str(getattr(environment, "name", "") or f"{type(environment).__name__} {id(environment)}")


def _shown(environment: object) -> str:
    return str(getattr(environment, "shown", "") or getattr(environment, "name", "") or type(environment).__name__)


def _asked(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of an environment returns. Raises InfrastructureError where it raises."""
    try:
        with waiting():
            return call_user_code(function, *arguments)
    except UserCodeError as broken:
        if isinstance(broken.error, MapsatError):
            raise InfrastructureError(f"the environment: {broken.error}") from None
        words = describe_error(broken.error).partition("\n")[0]  # what a database says behind it may hold a row
        raise InfrastructureError(f"the environment: {what} failed: {words}{place_of(broken.error)}") from None


def _started(environment: Environment, case: Case, session: EpisodeSession) -> tuple[EpisodeWorld, Tables]:
    world: EpisodeWorld = _asked("start", environment.start, case, session)
    try:
        return world, _tables(world)
    except MapsatError:
        _close(world)
        raise


def _tables(world: EpisodeWorld) -> Tables:
    given = _asked("tables", world.tables)
    if not isinstance(given, Mapping):
        raise InfrastructureError(f"the environment: tables() returned {type(given).__name__}, expected tables by name")
    return {str(name): seen(str(name), table) for name, table in sorted(given.items())}


def _close(world: EpisodeWorld) -> None:
    with suppress(MapsatError):  # what it cannot put back, the next start tells
        _asked("close", world.close)


def _settled(world: EpisodeWorld, seconds: float) -> tuple[Tables, str]:
    """Return the tables once two readings are equal, or why they are not."""
    before, until = _tables(world), monotonic() + _LONGEST
    while True:
        with waiting():
            sleep(seconds)
        now = _tables(world)
        if not (rows := differing(before, now)):
            return now, ""
        if monotonic() > until:
            return (
                now,
                f"{listed(rows, 5)} still changed {_LONGEST:g} s after the last reply: what changes by itself belongs under ignore",
            )
        before = now


def _named(case: Case, trajectory: Trajectory) -> frozenset[str]:
    """Return the texts and numbers that a case and its dialogue name."""
    names: set[str] = set()
    left: list[Any] = [case.truth.to_json(), [turn.to_json() for turn in trajectory.turns]]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, str | int) and not isinstance(value, bool):
            names.add(str(value))
    return frozenset(names)
