"""What agents print and log in episodes that run ahead of their items: kept for each, and printed again when its item has come.

The streams of this process stay what they are; only their ``write`` looks first whether an episode is printing. It is told by the context,
which threads and tasks of an event loop have of their own.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, TextIO

import pytest

#: Characters of one episode that are kept of each stream, and records of its log.
_MOST_PRINTED = 1_000_000
_MOST_LOGGED = 10_000
_STREAMS = ("stdout", "stderr")

_printing: ContextVar[Printed | None] = ContextVar("mapsat_printed", default=None)


class Printed:
    """What the agent of one episode printed and logged."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {name: [] for name in _STREAMS}
        self._left = dict.fromkeys(_STREAMS, _MOST_PRINTED)
        self.records: list[logging.LogRecord] = []

    def context(self) -> Context:
        """Return a context in which what is printed comes here."""
        context = copy_context()
        context.run(_printing.set, self)
        return context

    def add(self, stream: str, text: str) -> None:
        """Keep what was printed on a stream, or say that it was too much."""
        left = self._left[stream]
        if left > 0:
            self._left[stream] = left - len(text)
            cut = f"{text[:left]}\n[cut: an agent printed more than {_MOST_PRINTED:,} characters]\n"
            self._texts[stream].append(text if len(text) <= left else cut)

    def print(self) -> None:
        """Print all of it where this process prints now."""
        for name, texts in self._texts.items():
            if texts:
                getattr(sys, name).write("".join(texts))


class Keeper(logging.Handler):
    """Keeps apart what episodes print and log, for as long as a session runs its items."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self._config = config
        self._captures = config.getoption("capture", "fd") != "no"
        self._routed: dict[int, TextIO] = {}
        #: Those of pytest that gather the log of one item; a record goes to them when its item has come.
        self._of_items: list[logging.Handler] = []

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Keep what episodes print apart until the block ends."""
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
        """Make the streams of now look who prints; a fixture may have put others in their place."""
        for name in _STREAMS:
            stream: TextIO | None = getattr(sys, name)
            attributes: dict[str, Any] | None = getattr(stream, "__dict__", None)
            if stream is None or attributes is None or id(stream) in self._routed:
                continue
            self._routed[id(stream)] = stream
            attributes.setdefault("close", stream.flush)  # an agent may not close what all print on
            if self._captures:
                attributes["write"] = _looking(name, stream.write)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record that an episode logged."""
        printed = _printing.get()
        if printed is not None and len(printed.records) < _MOST_LOGGED:
            record.msg, record.args = record.getMessage(), None
            printed.records.append(record)

    def print(self, printed: Printed) -> None:
        """Print and log again what an episode did: its item is running now."""
        printed.print()
        now = logging.getLogger().handlers
        for record in printed.records:
            for handler in self._of_items:
                if handler in now and record.levelno >= handler.level:
                    handler.handle(record)

    def _route_all(self) -> None:
        """Route the streams of items as well as those of the time between them."""
        self.route()
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        if capture is not None and self._captures:
            capture.resume_global_capture()
            self.route()
            capture.suspend_global_capture()

    def _unroute(self) -> None:
        while self._routed:
            attributes = vars(self._routed.popitem()[1])
            attributes.pop("write", None)
            attributes.pop("close", None)


def _is_of_item(record: logging.LogRecord) -> bool:
    del record
    return _printing.get() is None


def _looking(name: str, write: Callable[[str], int]) -> Callable[[str], int]:
    def look(text: str) -> int:
        printed = _printing.get()
        if printed is None or not isinstance(text, str):
            return write(text)
        printed.add(name, text)
        return len(text)

    return look
