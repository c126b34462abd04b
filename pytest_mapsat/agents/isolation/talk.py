"""The talk of pytest with one agent's process, what the agent prints on the way included."""

from __future__ import annotations

import codecs
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from threading import Lock
from time import perf_counter
from typing import Literal, Self

from pytest_mapsat.model import JsonObject

from .wire import KILL, MOST_BYTES, NONE, Inbox, Ready, Sent, WireError, packed, unpacked

#: What is shown of what an agent prints in one episode, bytes of each stream.
MOST_PRINTED = 1_000_000
#: How long the word of a process's end may come after its line has closed, seconds.
_PATIENCE = 1.0
#: The keeper's last word of a process, bytes.
_WORD = 200
#: Reads of what is left in a pipe: more than it can hold.
_READS = 32


class LostError(Exception):
    """A process does not answer any more; the words follow "the agent's process"."""


class AgentProcess:
    """The talk with one process. One thread talks; any other may ``kill`` or ``close``."""

    def __init__(self, line: socket.socket, out: int, err: int, fate: socket.socket, keeper: object) -> None:
        self._keeper = keeper
        self._line = line
        self._fate = fate
        self._printed = (_Printed(out, "stdout"), _Printed(err, "stderr"))
        self._inbox = Inbox(MOST_BYTES)
        #: What it said once its agent was imported.
        self.ready: Ready | None = None
        #: Whether the system did not give it.
        self.unmade = False
        self._lost = ""
        self._lock = Lock()
        self._talking = False
        self._closed = False
        self._poll = select.poll()
        self._heard = {
            line.fileno(): self._hear_line,
            fate.fileno(): self._hear_fate,
            out: self._printed[0].read,
            err: self._printed[1].read,
        }
        for descriptor in self._heard:
            self._poll.register(descriptor, select.POLLIN)

    @property
    def lost_keeper(self) -> object:
        """The keeper where it was lost with this process, else nothing."""
        return self._keeper if self._lost == _ending(b"") else None

    def has_ended(self) -> bool:
        """Return whether it has ended, or the keeper with it."""
        fate = self._fate.fileno()
        if fate in self._heard:
            look = select.poll()
            look.register(fate, select.POLLIN)
            if look.poll(0) and not self._hear_fate():
                self._ignore(fate)
        return bool(self._lost)

    def __enter__(self) -> Self:
        """Begin to talk."""
        with self._lock:
            if self._closed:
                raise LostError("has been ended")
            self._talking = True
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop talking."""
        with self._lock:
            self._talking = False
            if self._closed:
                self._let_go()

    def send(self, message: JsonObject) -> None:
        """Send a message; a process that is gone is told by the next ``receive``."""
        with suppress(OSError):
            self._line.sendall(packed(message))

    def check_silent(self) -> None:
        """Make sure that nothing was sent since the last reply.

        Raises:
            WireError: something was.
        """
        self._read_line()
        if self._inbox:
            raise WireError("sent something when nobody asked it")

    def receive(self, patience: float | None = None) -> Sent:
        """Return what the process sends next. What the agent prints meanwhile is printed here.

        Args:
            patience: how long to wait, seconds; None: as long as it takes.

        Raises:
            LostError: it has ended, or was silent for too long.
            WireError: it sent what is no message.
        """
        until = None if patience is None else perf_counter() + patience
        while True:
            text = self._inbox.take()
            if text is not None:
                self._read_printed()
                return unpacked(text)
            if self._lost:
                raise LostError(self._lost)
            if self._line.fileno() not in self._heard and until is None:
                until = perf_counter() + _PATIENCE
            events = self._poll.poll(None if until is None else max(until - perf_counter(), 0) * 1000)
            for descriptor, _ in events:
                if not self._heard[descriptor]():
                    self._ignore(descriptor)
            if not events and until is not None and perf_counter() >= until:
                closed = self._line.fileno() not in self._heard
                raise LostError("closed its line to pytest" if closed else f"was not ready after {patience:g} s")

    def kill(self) -> None:
        """Kill it, with all that it started."""
        for printed in self._printed:
            printed.mute()
        with suppress(OSError):
            self._fate.send(KILL)
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up: a process that waits for a message ends by itself, and is killed if it does not; one that does not wait is killed now."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._talking:
                self.kill()
            else:
                self._let_go()

    def _let_go(self) -> None:
        self._line.close()
        self._fate.close()
        for printed in self._printed:
            printed.close()

    def _ignore(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        del self._heard[descriptor]

    def _hear_line(self) -> bool:
        """Read what has come; return whether more may come."""
        raw = self._received()
        self._inbox.add(raw or b"")
        return raw != b""

    def _read_line(self) -> None:
        """Read all that has come until now."""
        for _ in range(_READS):
            raw = self._received()
            if not raw:
                return
            self._inbox.add(raw)

    def _received(self) -> bytes | None:
        """Return what has come; None for nothing yet, and nothing at all for the end."""
        try:
            return self._line.recv(1 << 20, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _read_printed(self) -> None:
        for printed in self._printed:
            printed.read_all()

    def _hear_fate(self) -> bool:
        raw = b""
        with suppress(OSError):
            raw = self._fate.recv(_WORD)
        # What it said and printed before its end counts.
        self._read_line()
        self._read_printed()
        self._lost = _ending(raw)
        self.unmade = raw.startswith(NONE)
        return False


def _ending(raw: bytes) -> str:
    """Return what became of a process, by the keeper's last word of it; no word at all is the keeper's own end."""
    if not raw:
        return "was lost with its keeper"
    if raw.startswith(NONE):
        return f"could not be made: {raw.removeprefix(NONE).decode(errors='replace')}"
    status = int(raw)
    if status >= 0:
        return f"ended itself (exit status {status})"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


class _Printed:
    """What an agent prints, on its way to where pytest's own process prints.

    Args:
        descriptor: where it comes.
        name: ``stdout`` or ``stderr``.
    """

    def __init__(self, descriptor: int, name: Literal["stdout", "stderr"]) -> None:
        self._descriptor = descriptor
        self._name = name
        self._left = MOST_PRINTED
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        os.set_blocking(descriptor, False)

    def read(self) -> bool:
        """Print what has come; return whether there was something."""
        try:
            raw = os.read(self._descriptor, 1 << 16)
        except OSError:
            return False
        if raw and self._left > 0:
            text = self._decoder.decode(raw[: self._left])
            self._left -= len(raw)
            self._print(text if self._left > 0 else f"{text}\n[{MOST_PRINTED:,} bytes are shown]\n")
        return bool(raw)

    def read_all(self) -> None:
        """Print all that has come until now."""
        for _ in range(_READS):
            if not self.read():
                return

    def mute(self) -> None:
        """Print nothing from now on."""
        self._left = 0

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)

    def _print(self, text: str) -> None:
        with suppress(Exception):  # somebody has closed or replaced the stream
            getattr(sys, self._name).write(text)
