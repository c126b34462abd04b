"""The episodes of one process: which are under way, each run once for each time an item asks, every item accounted for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_mapsat.formats import CardPlace, Journal, scorecard_line, shown_path
from pytest_mapsat.model import (
    Accounting,
    Json,
    JsonObject,
    Lost,
    RunOptions,
    RunRequest,
    Scorecard,
    SuiteInfo,
    UsageError,
    share_field_sets,
)
from pytest_mapsat.options import fields_that_change

from .request import prompts_of
from .saved import attempts_of, read_saved

if TYPE_CHECKING:
    from pytest_mapsat.reports import Tally


class Flight(NamedTuple):
    """A running episode: its case, its trial from 1, and its start by ``time.perf_counter``, in seconds."""

    case: str
    trial: int
    since: float


class Flights:
    """Tracks the running episodes of this process; thread-safe."""

    def __init__(self) -> None:
        # Each operation on it is one of Python's own, which no thread interrupts.
        self._under_way: dict[object, Flight] = {}

    def under_way(self) -> tuple[Flight, ...]:
        """Return the running episodes, oldest first."""
        return tuple(self._under_way.copy().values())

    @contextmanager
    def counted(self, case: str, trial: int) -> Iterator[None]:
        """Count an episode as running while the block runs."""
        flight = object()
        self._under_way[flight] = Flight(case, trial, perf_counter())
        try:
            yield
        finally:
            del self._under_way[flight]


#: What tells an episode from those of other suites, cases, trials and agents.
Key = tuple[Path, str, int, str]


class Wanted(NamedTuple):
    """An episode that an item requests.

    Attributes:
        suite: the suite's folder.
        case: the case's id.
        trial: from 1.
        agent: the parameter of a parametrised ``mapsat_agent``, or empty.
        source: the agent itself where a fixture made it; two episodes are one only with the same agent.
    """

    suite: Path
    case: str
    trial: int
    agent: str = ""
    source: object = None

    @property
    def key(self) -> Key:
        """The key that distinguishes the episode from all others."""
        return self.suite, self.case, self.trial, self.agent


class Ended(NamedTuple):
    """A finished episode: its scorecard, and the place of the scorecard's line.

    Attributes:
        card: its scorecard.
        place: where its line stands in the journal; None where there is no journal.
        line: the line itself, kept where the journal could not take it.
    """

    card: Scorecard
    place: CardPlace | None = None
    line: bytes | None = None


class Episodes:
    """Runs episodes, remembers them and writes them to the journal.

    An item that asks again, as a rerun does, gets a further attempt; another test that asks for the same case, trial and agent gets
    the episode that is there.

    Args:
        worker: the name of this process among several, or empty.
    """

    def __init__(self, worker: str = "") -> None:
        self._worker = worker
        #: Which are under way now.
        self.flights = Flights()
        #: Set at the start of the session, where there are such.
        self.journal: Journal | None = None
        self.finished: Finished | None = None
        #: Whether episodes are kept for other tests that may ask for them.
        self.shared = False
        #: Whether a line is kept with its scorecard where no journal takes it.
        self.keeps_lines = False
        #: Why the journal could not be written, once it could not.
        self.fault = ""
        self._asked: Counter[tuple[str, Key]] = Counter()
        self._attempts: Counter[Key] = Counter()
        self._kept: dict[Key, list[tuple[object, Ended]]] = {}

    def before(self, wanted: Wanted) -> Scorecard | None:
        """Return the scorecard of the next attempt at an episode from an earlier run; None if there is none."""
        attempt = self._attempts[wanted.key] + 1
        return self.finished.card(wanted.case, wanted.trial, wanted.agent, attempt) if self.finished else None

    def ended(
        self, asker: str, wanted: Wanted, nodeid: str, run: Callable[[], Scorecard], *, again: bool = False
    ) -> Ended:
        """Return the episode that an item requests: a shared one, one from an earlier run, or a new one.

        Args:
            asker: the item's own node id.
            wanted: which episode.
            nodeid: the node id of the case's built-in item, which the scorecard bears.
            run: runs it anew.
            again: whether it is run although an earlier run has it: a body in Python is played over the dialogue that this has.
        """
        key = wanted.key
        if self.shared:
            self._asked[asker, key] += 1
            turn = self._asked[asker, key]
            kept = [kept_card for source, kept_card in self._kept.get(key, ()) if source is wanted.source]
            if turn <= len(kept):
                return kept[turn - 1]
        before = self.before(wanted)
        self._attempts[key] += 1
        attempt = self._attempts[key]
        card = run() if before is None or again else before
        if (card.agent, card.attempt, card.nodeid) != (wanted.agent, attempt, nodeid):
            card = card.model_copy(update={"agent": wanted.agent, "attempt": attempt, "nodeid": nodeid})
        kept_card = self._journalled(card, again=before is not None)
        if self.shared:
            self._kept.setdefault(key, []).append((wanted.source, kept_card))
        return kept_card

    def has(self, wanted: Wanted) -> bool:
        """Return whether this run or an earlier one already has the episode, so that it need not run."""
        if any(source is wanted.source for source, _ in self._kept.get(wanted.key, ())):
            return True
        finished = self.finished
        return finished is not None and finished.card(wanted.case, wanted.trial, wanted.agent, 1) is not None

    def note(self, entry: JsonObject) -> None:
        """Write an entry other than an episode into the journal, if there is one."""
        if self.journal is not None:
            try:
                self.journal.note(entry)
            except OSError as error:
                self.fault = self.fault or f"{self.journal.path}: {error.strerror or error}"

    def _journalled(self, card: Scorecard, *, again: bool) -> Ended:
        """Return a finished episode after writing it to the journal; with its line if there is no journal or writing fails."""
        if self.journal is None:
            return Ended(card, line=scorecard_line(card) if self.keeps_lines else None)
        line, environment = scorecard_line(card), card.trajectory.environment
        try:
            if environment is not None:
                self.journal.keep(environment.starts)
            return Ended(card, self.journal.add(line, self._worker, again=again))
        except OSError as error:
            self.fault = self.fault or f"{self.journal.path}: {error.strerror or error}"
            return Ended(card, line=line)


#: From a node id to its case and trial.
CaseOf = Callable[[str], tuple[str, int]]


@dataclass(slots=True)
class _Item:
    """The state of one built-in item.

    Attributes:
        copies: how often it is to run: once, or once for each worker where every worker runs all items.
        deselected: whether pytest was told that it is not to run.
        begun: whether it has begun.
        carded: how many scorecards it has brought.
        reason: why it has brought none; the first reason holds.
    """

    copies: int = 0
    deselected: bool = False
    begun: bool = False
    carded: int = 0
    reason: str = ""


#: Why an item that was collected is lost, where a plugin took it out of the list.
_REMOVED = "removed from the collection without being deselected"


class Ledger:
    """Accounts for all built-in items by node id, and collects the episodes of all processes.

    A scorecard settles an item whatever happened before: a rerun may bring what the first attempt did not.

    Attributes:
        any_deselected: whether any test at all was deselected.
        drafts: the folders of suites, by the ids of the drafts that were left out of what was collected from them.
        tally: what the episodes come to so far, where somebody tells it while the run goes.
    """

    def __init__(self) -> None:
        self.any_deselected = False
        self.drafts: dict[str, str] = {}
        self.tally: Tally | None = None
        self._items: dict[str, _Item] = defaultdict(_Item)
        self._ended: dict[tuple[str, int, str, int, int], Ended] = {}

    @property
    def collected(self) -> int:
        """The number of episodes of all items, including deselected ones."""
        return sum(item.copies for item in self._items.values())

    @property
    def deselected(self) -> int:
        """The number of deselected episodes."""
        return sum(item.copies for item in self._items.values() if item.deselected)

    @property
    def has_episodes(self) -> bool:
        """Whether any episode has ended."""
        return bool(self._ended)

    # -- items -----------------------------------------------------------------------------

    def expect(self, nodeids: Iterable[str], copies: int = 1) -> None:
        """Record collected items that will run ``copies`` times each."""
        for nodeid in nodeids:
            item = self._items[nodeid]
            item.copies = max(copies, item.copies)

    def deselect(self, nodeids: Iterable[str]) -> None:
        """Record that items were deselected."""
        for nodeid in nodeids:
            self._items[nodeid].deselected = True

    def select(self, nodeids: Iterable[str]) -> None:
        """Record the items left to run; a collected item that is neither left nor deselected counts as lost."""
        left = set(nodeids)
        for nodeid, item in self._items.items():
            if nodeid in left:
                item.deselected = False
            elif item.copies and not item.deselected:
                self.lose(nodeid, _REMOVED)

    def left_out(self) -> dict[str, Json]:
        """Return the items and drafts that this worker does not run, for ``leave_out`` in the controller."""
        return {
            "any_deselected": self.any_deselected,
            "drafts": {**self.drafts},
            "deselected": [nodeid for nodeid, item in self._items.items() if item.copies and item.deselected],
            "removed": [nodeid for nodeid, item in self._items.items() if item.reason == _REMOVED],
        }

    def leave_out(self, left_out: Mapping[str, Any]) -> None:
        """Add the data that a worker returned from ``left_out``."""
        self.any_deselected = self.any_deselected or left_out["any_deselected"]
        self.drafts |= left_out["drafts"]
        self.expect([*left_out["deselected"], *left_out["removed"]])
        self.deselect(left_out["deselected"])
        for nodeid in left_out["removed"]:
            self.lose(nodeid, _REMOVED)

    def begin(self, nodeid: str) -> None:
        """Record that an item has started."""
        self._items[nodeid].begun = True

    def card(self, nodeid: str) -> None:
        """Record that an item has produced a scorecard."""
        self._items[nodeid].carded += 1

    def lose(self, nodeid: str, reason: str) -> None:
        """Record why an item has produced no scorecard; the first reason is kept."""
        item = self._items[nodeid]
        item.reason = item.reason or reason

    def close(self, case_of: CaseOf, why: str = "") -> Accounting:
        """Return the accounting of all items: collected, deselected, and lost with the reason.

        Args:
            case_of: tells the case and trial of a node id.
            why: why the run ended before its last item, where it did.
        """
        lost = []
        for nodeid, item in self._items.items():
            missing = 0 if item.deselected else item.copies - item.carded
            if missing > 0:
                case, trial = case_of(nodeid)
                state = "interrupted" if item.begun else "not started"
                unheard = f"{state}: {why}" if why and why != state else state
                lost += [Lost(id=case, trial=trial, reason=item.reason or unheard)] * missing
        lost.sort(key=lambda loss: (loss.id, loss.trial, loss.reason))
        return Accounting(
            collected=self.collected, deselected=self.deselected, lost=tuple(lost), drafts=tuple(sorted(self.drafts))
        )

    # -- episodes --------------------------------------------------------------------------

    def add(self, ended: Iterable[Ended], worker: str) -> None:
        """Add a worker's episodes without their turns, which are in the journal."""
        # gw10 stands behind gw9.
        number = int("".join(filter(str.isdigit, worker)) or 0)
        for episode in ended:
            card = episode.card
            if self.tally is not None:
                self.tally.add(card)
            key = (card.id, card.trial, card.agent, number, card.attempt)
            kept = without_turns(card)
            share_field_sets(kept)
            self._ended[key] = Ended(kept, episode.place, episode.line)

    def in_order(self) -> list[Ended]:
        """Return the episodes sorted by key, with attempts numbered across all workers."""
        ordered: list[Ended] = []
        last: tuple[object, ...] = ()
        attempt = 0
        for key in sorted(self._ended):
            episode = self._ended[key]
            attempt = attempt + 1 if key[:3] == last else 1
            last = key[:3]
            if episode.card.attempt != attempt:
                episode = Ended(episode.card.model_copy(update={"attempt": attempt}), episode.place, episode.line)
            ordered.append(episode)
        return ordered


def without_turns(card: Scorecard) -> Scorecard:
    """Return a scorecard without the turns of its trajectory, to save memory."""
    return card.model_copy(update={"trajectory": card.trajectory.model_copy(update={"turns": ()})})


#: Options that may differ: they say how much is run or what is made of it, not what happens in an episode.
_FREE = fields_that_change("run") - {"shard"}  # what one part has finished is none of another


_EpisodeKey = tuple[str, int, str]


@dataclass
class Finished:
    """The finished episodes of an earlier run, except episodes stopped by the infrastructure.

    Attributes:
        path: the file they were read from.
        request: what that run was asked for.
        suites: the suites that it was of.
        prompts: the marks of the prompts that its models were asked with.
        episodes: the attempts of each.
    """

    path: Path
    request: RunRequest
    suites: Sequence[SuiteInfo]
    prompts: Mapping[str, str]
    episodes: Mapping[_EpisodeKey, Sequence[Scorecard]]

    def card(self, case: str, trial: int, agent: str, attempt: int) -> Scorecard | None:
        """Return the scorecard of an attempt at an episode; None if the attempt has not finished."""
        attempts = self.episodes.get((case, trial, agent), ())
        return attempts[attempt - 1] if attempt <= len(attempts) else None

    def cards(self) -> Iterator[Scorecard]:
        """Yield the scorecards of all attempts."""
        for attempts in self.episodes.values():
            yield from attempts

    def refuse_other_request(self, request: RunRequest) -> None:
        """Check that a new run has the same request as the earlier run.

        Raises:
            UsageError: it does not; with everything that differs.
        """
        before, now = _facts(self.request), _facts(request)
        differs = [
            f"{name}: it had {before[name]!r}, now {now[name]!r}" for name in before if before[name] != now[name]
        ]
        if self.request.options.trials > request.options.trials:
            differs.append(f"trials: it had {self.request.options.trials}, now only {request.options.trials}")
        if not _within(self.request.options, request.options):
            differs.append(f"sample: it had {_sample(self.request.options)}, now {_sample(request.options)}")
        prompts = prompts_of(request)
        differs += [
            f"the prompt {name}: it had {mark}, now {prompts[name]}"
            for name, mark in self.prompts.items()
            if prompts.get(name, mark) != mark
        ]
        self._refuse(differs)

    def refuse_other_suites(self, suites: Iterable[SuiteInfo]) -> None:
        """Check that suites are the same as in the earlier run.

        Raises:
            UsageError: one has changed since, or was no part of it.
        """
        if not self.suites:
            return  # it ended before it had collected any case
        before: dict[str, list[str]] = {}
        for info in self.suites:
            before.setdefault(info.name, []).append(_of_suite(info))
        self._refuse(
            f"the suite {info.name}: it had {' and '.join(before.get(info.name, ['no such suite']))}, now {_of_suite(info)}"
            for info in suites
            if _of_suite(info) not in before.get(info.name, [])
        )

    def _refuse(self, differs: Iterable[str]) -> None:
        """Raise UsageError with the differences from the earlier run, if there are any."""
        if difference_lines := "\n".join(f"  {difference}" for difference in differs):
            raise UsageError(f"--mapsat-resume={shown_path(self.path)}: that run was another one\n{difference_lines}")


def _within(before: RunOptions, now: RunOptions) -> bool:
    """Return whether a new run includes all cases of an earlier run, whose sample is the same or smaller."""
    alike = (before.sample_by, before.sample_seed) == (now.sample_by, now.sample_seed)
    return not now.sample or (alike and 0 < before.sample <= now.sample)


def _sample(options: RunOptions) -> str:
    """Return a description of the sample that options request."""
    return f"{options.sample} cases {options.drawn}" if options.sample else "all cases"


def _of_suite(info: SuiteInfo) -> str:
    """Return a description of a suite's parts that must be equal: version, fingerprint and decisions."""
    decisions = f", decisions {info.decisions}" if info.decisions else ""
    return f"version {info.version}, fingerprint {info.fingerprint}{decisions}"


def _facts(request: RunRequest) -> dict[str, object]:
    """Return the parts of a request that must be equal, under the names that users know."""
    options = request.options.model_dump(mode="json", by_alias=True)
    return {
        "agent": request.agent,
        "the source of the agent, its helpers and conftests": request.agent_source,
        "the build of the agent": "" if request.agent_build == request.agent_source else request.agent_build,
        "user": request.user,
        "judge": request.judge,
        "decisions": request.decisions,
        **{name.replace("_", "-"): value for name, value in options.items() if name not in _FREE},
    }


def read_finished(path: Path) -> Finished:
    """Return the finished episodes of an earlier run, from its journal or its run file.

    Raises:
        UsageError: there is no such file.
        SuiteError: it is neither, or broken; with the line.
    """
    run = read_saved(path, begun=True)
    episodes = {}
    for key, attempts in attempts_of(("", card) for card in run.cases).items():
        sound = [number for number, card in enumerate(attempts, 1) if card.trajectory.ending != "infrastructure_error"]
        if sound:  # what the infrastructure stopped before another attempt is one of its attempts
            episodes[key] = attempts[: sound[-1]]
    return Finished(path, run.manifest.request, run.manifest.suites, run.manifest.prompts, episodes)
