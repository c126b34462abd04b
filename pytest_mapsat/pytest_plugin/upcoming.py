"""pytest's side of episodes that run ahead: which items will ask for them, and what they print until their item has come."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from pytest_mapsat.interpreter import computing
from pytest_mapsat.judges import asks_model
from pytest_mapsat.model import Case, MapsatError, Run, Scorecard
from pytest_mapsat.runs.ahead import HELD, Ahead
from pytest_mapsat.runs.episodes import Key, Wanted
from pytest_mapsat.runs.runner import Played
from pytest_mapsat.user_code import Surroundings

from .items import OWN_FIXTURES, PYTHON_CASE, CaseParam, is_built_in, param_of, wanted_of
from .private import definitions, queue_of_worker

if TYPE_CHECKING:
    from .session import MapsatSession

#: Characters of one episode that are kept of each stream, and records of its log.
_MOST_PRINTED = 1_000_000
_MOST_LOGGED = 10_000
_STREAMS = ("stdout", "stderr")

_printing: ContextVar[Printed | None] = ContextVar("mapsat_printed", default=None)


class Printed:
    """The output and the log records of the agent in one episode."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []
        self._left = dict.fromkeys(_STREAMS, _MOST_PRINTED)
        self.records: list[logging.LogRecord] = []

    def context(self) -> Context:
        """Return a context in which this object collects prints and log records."""
        context = copy_context()
        context.run(_printing.set, self)
        return context

    def add(self, stream: str, text: str) -> None:
        """Store a text printed on a stream, cut if it is too long."""
        left = self._left[stream]
        if left > 0:
            self._left[stream] = left - len(text)
            cut = f"{text[:left]}\n[cut: an agent printed more than {_MOST_PRINTED:,} characters]\n"
            self._texts.append((stream, text if len(text) <= left else cut))

    def print(self) -> None:
        """Print the stored texts on the process's streams."""
        for stream, text in self._texts:
            getattr(sys, stream).write(text)


class Keeper(logging.Handler):
    """Keeps the output of episodes that run ahead until their items run."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self._config = config
        self._captures = config.getoption("capture", "fd") != "no"
        self._routed: dict[int, TextIO] = {}
        #: Those of pytest that gather the log of one item; a record goes to them when its item has come.
        self._of_items: list[logging.Handler] = []

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Redirect the output of episodes until the block ends."""
        plugin = self._config.pluginmanager.get_plugin("logging-plugin")  # made after our own
        handlers = (getattr(plugin, name, None) for name in ("caplog_handler", "report_handler"))
        self._of_items = [handler for handler in handlers if isinstance(handler, logging.Handler)]
        least: int | None = getattr(plugin, "log_level", None)
        root = logging.getLogger()
        level = root.level
        with ExitStack() as ended:
            ended.callback(self._unroute)
            self._route_all()
            if self._captures:
                root.addHandler(self)
                ended.callback(root.removeHandler, self)
                if least is not None:
                    root.setLevel(min(level, least))  # pytest has it so while an item runs, and not between
                    ended.callback(root.setLevel, level)
                for handler in self._of_items:
                    handler.addFilter(_is_of_item)
                    ended.callback(handler.removeFilter, _is_of_item)
            yield

    def route(self) -> None:
        """Patch the current streams to keep the output of an episode; a fixture may have replaced the earlier streams."""
        for name in _STREAMS:
            stream: TextIO | None = getattr(sys, name)
            attributes: dict[str, Any] | None = getattr(stream, "__dict__", None)
            if stream is None or attributes is None or id(stream) in self._routed:
                continue
            self._routed[id(stream)] = stream
            attributes.setdefault("close", stream.flush)  # an agent may not close what all print on
            if self._captures:
                attributes["write"] = _redirecting(name, stream.write)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a log record of an episode."""
        printed = _printing.get()
        if printed is not None and len(printed.records) < _MOST_LOGGED:
            record.msg, record.args = record.getMessage(), None
            printed.records.append(record)

    def print(self, printed: Printed) -> None:
        """Print and log an episode's output because its item runs now."""
        printed.print()
        now = logging.getLogger().handlers
        for record in printed.records:
            for handler in self._of_items:
                if handler in now and record.levelno >= handler.level:
                    handler.handle(record)

    def _route_all(self) -> None:
        """Patch the streams for items and the streams between items."""
        self.route()
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        if capture is not None and self._captures:
            capture.resume_global_capture()
            self.route()
            capture.suspend_global_capture()

    def _unroute(self) -> None:
        """Undo the patching of streams."""
        while self._routed:
            attributes = vars(self._routed.popitem()[1])
            attributes.pop("write", None)
            attributes.pop("close", None)


def _is_of_item(record: logging.LogRecord) -> bool:
    """Return whether a log record belongs to the item itself, and not to an episode that runs ahead."""
    del record
    return _printing.get() is None


def _redirecting(name: str, write: Callable[[str], int]) -> Callable[[str], int]:
    """Return a ``write`` for a stream that keeps an episode's text, and prints any other text."""

    def look(text: str) -> int:
        printed = _printing.get()
        if printed is None or not isinstance(text, str):
            return write(text)
        printed.add(name, text)
        return len(text)

    return look


#: Packages whose fixtures of every item are about their own tests: that of pytest-asyncio sets the loop that its tests run in, and agents have another.
_ASIDE = frozenset({"pytest_asyncio"})
#: How many episodes are under way at once, unless somebody says otherwise, where agents can be waited for side by side.
AT_ONCE = 16
#: That is worth a word from so many seconds of waiting on, and with so many cases.
_LONG, _FEW = 20.0, 4


def concurrency_hint(run: Run) -> Iterator[tuple[str, str]]:
    """Yield a label and a text that more concurrency would have saved time, if the run waited long enough for the agent.

    Args:
        run: its episodes were played one after another, as no more were asked for.
    """
    seconds, elapsed = sum(card.timing.agent for card in run.cases), run.timing.seconds
    # More than has passed is that of episodes which were there already.
    if len(run.cases) >= _FEW and max(_LONG, elapsed / 2) < seconds <= elapsed:
        hint = f"--mapsat-concurrency={AT_ONCE} plays them side by side, where it may run in several threads"
        yield "at once", f"the agent took {seconds:.0f} s, one episode after another: {hint}"


class Upcoming:
    """Starts the episodes of the next items, and returns them when the items run.

    Args:
        session: makes plans and loads cases.
        width: how many episodes may be under way.
    """

    def __init__(self, session: MapsatSession, width: int) -> None:
        self._session = session
        self._config = session.config
        self._width = width
        # Graded on their threads too, where the judge waits for a model.
        grades = asks_model(session.settings.request.judge)
        self._ahead = Ahead(width, grades=grades, give_up=session.give_up)
        self._keeper = Keeper(self._config)
        self._offers: dict[Key, tuple[Case, Printed]] = {}
        self._looked_at: set[str] = set()
        self._items: Sequence[pytest.Item] = ()
        self._queue: Any = None
        self._place = 0
        self._now: tuple[pytest.Item, ...] = ()
        self._asked = False
        self._as_it_was = Surroundings()
        #: How many items run in their own turn only, by the fixture that wants it so.
        self._in_turn: Counter[str] = Counter()
        #: How many agents were left behind in their replies when the run ended.
        self._left_behind = 0

    # -- hooks -----------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Keep the output of episodes separate; at the end of the loop, stop everything that still runs."""
        if self._config.pluginmanager.has_plugin("dsession"):
            return (yield)  # the items run on workers
        self._items = session.items
        self._queue = queue_of_worker(self._config)
        self._as_it_was = Surroundings()
        with self._keeper.keeping():
            try:
                return (yield)
            finally:
                self._left_behind = self._ahead.close()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Start the episodes of the next items; drop the episode of an item that did not request it."""
        self._now = (item,) if nextitem is None else (item, nextitem)
        self._asked = False
        self._offer()
        try:
            return (yield)
        finally:
            if is_built_in(item):
                self._forget(wanted_of(item).key)
            if not self._asked:
                self._as_it_was = Surroundings()

    def _routed(self) -> Generator[None, object, object]:
        """Patch the streams again before a phase of an item."""
        self._keeper.route()
        return (yield)

    # pytest makes the streams of capsys anew for each phase, and a fixture may put others in their place.
    pytest_runtest_call = pytest.hookimpl(wrapper=True, trylast=True)(_routed)
    pytest_runtest_teardown = pytest.hookimpl(wrapper=True, trylast=True)(_routed)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self) -> Generator[None, object, object]:
        """Patch the streams that a fixture such as ``capsys`` has replaced."""
        try:
            return (yield)
        finally:
            self._keeper.route()

    # -- what the session asks -------------------------------------------------------------

    def case(self, param: CaseParam) -> Case | None:
        """Return the case of an item whose episode has been started."""
        case, _ = self._offers.get((param.suite.root, param.id, param.trial, ""), (None, None))
        return case

    def ask(self, wanted: Wanted) -> Scorecard | Played | None:
        """Wait for an item's episode and return it, graded unless the case is in Python; None if the item must play it itself."""
        if wanted.source is not None or not self._ahead.knows(wanted.key):
            return None
        self._asked = True
        _, printed = self._offers[wanted.key]
        try:
            return self._ahead.ask(wanted.key, self._offer)
        finally:
            # No other code has run since: what has changed for the whole process is the doing of agents.
            self._as_it_was.restore()
            self._forget(wanted.key)
            self._keeper.print(printed)

    def in_turn(self) -> AbstractContextManager[None]:
        """Return a context that counts an episode played by its own item among the running episodes."""
        return self._ahead.elsewhere()

    def notes(self) -> list[tuple[str, int]]:
        """Return sentences for the summary, with the number of items or agents in each."""
        notes = [
            (f"in its own turn: the fixture {name!r} may be meant for it", count)
            for name, count in self._in_turn.items()
        ]
        if self._left_behind:
            notes.append(("left behind in a reply when the run ended", self._left_behind))
        return notes

    # -- inside ----------------------------------------------------------------------------

    def _offer(self) -> None:
        """Start episodes of the next items while capacity remains."""
        room = min(self._ahead.room, self._width)  # more would keep those waiting that can begin
        if room <= 0:
            return
        for item in self._upcoming():
            if item.nodeid not in self._looked_at:
                self._looked_at.add(item.nodeid)
                with computing():  # between two of them, those that were offered begin
                    room -= self._offered(item)
                if room <= 0:
                    return

    def _offered(self, item: pytest.Item) -> bool:
        """Start the episode of one item; return whether this succeeded."""
        if not is_built_in(item) or _may_not_run(item):
            return False
        own = OWN_FIXTURES | (item.callspec.params.keys() if PYTHON_CASE in item.stash else frozenset())  # type: ignore[attr-defined]
        foreign = [name for name in getattr(item, "fixturenames", ()) if name not in own and not _is_aside(item, name)]
        if foreign:
            if foreign != ["mapsat_environment"]:  # one database is one episode at a time
                self._in_turn[foreign[0]] += 1
            return False
        key, printed = wanted_of(item).key, Printed()
        try:
            case = self._session.load(param_of(item))
        except MapsatError:
            return False  # told when the item loads it
        planned = None if self._ahead.knows(key) else self._session.planned(item, case, printed)
        if planned is None:
            return False
        self._offers[key] = case, printed
        self._ahead.offer(planned)
        return True

    def _forget(self, key: Key) -> None:
        """Delete an episode and its output."""
        self._ahead.drop(key)
        self._offers.pop(key, None)

    def _upcoming(self) -> Sequence[pytest.Item]:
        """Return the next known items, starting with the running item."""
        if self._queue is not None:
            with self._queue.lock() as waiting:
                places = [place for place in waiting if isinstance(place, int)]
            return [*self._now, *(self._items[place] for place in places)]
        if self._place >= len(self._items) or self._items[self._place] is not self._now[0]:
            self._place = self._items.index(self._now[0]) if self._now[0] in self._items else len(self._items)
        return self._items[self._place : self._place + HELD * self._width]


def _is_aside(item: pytest.Item, name: str) -> bool:
    """Return whether a fixture serves only its own plugin's tests, so that episodes need not wait for the fixture."""
    made_by = definitions(item, name)  # where this is unknown, the item runs in its own turn
    return bool(made_by) and all(definition.func.__module__.partition(".")[0] in _ASIDE for definition in made_by)


def _may_not_run(item: pytest.Item) -> bool:
    """Return whether a mark may skip an item."""
    if any(True for name in ("skip", "skipif") for _ in item.iter_markers(name)):
        return True
    return any(not mark.kwargs.get("run", True) for mark in item.iter_markers("xfail"))
