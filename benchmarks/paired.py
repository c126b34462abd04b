"""Commands in turn, A B C A B C ..., so that drift of the machine hits all alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: With no plugins but those that a command names, and with modules compiled once, as they are for users.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


@dataclass(frozen=True)
class Command:
    """A command, the folder that it runs in, and the status that it ends with."""

    argv: tuple[str, ...]
    cwd: Path
    status: int = 0


@dataclass(frozen=True)
class Sample:
    """One finished process: wall time and processor time in seconds, peak memory in megabytes."""

    seconds: float
    processor: float
    megabytes: float


@dataclass(frozen=True)
class Timed:
    """The samples of one command."""

    samples: tuple[Sample, ...]

    @property
    def seconds(self) -> float:
        """Median wall time."""
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def processor(self) -> float:
        """Median processor time, of the process and those that it waited for."""
        return statistics.median(sample.processor for sample in self.samples)

    @property
    def megabytes(self) -> float:
        """Median peak memory."""
        return statistics.median(sample.megabytes for sample in self.samples)

    def to(self, other: Timed) -> float:
        """Return the median of the ratios of wall time to another command, pair by pair."""
        pairs = zip(self.samples, other.samples, strict=True)
        return statistics.median(mine.seconds / its.seconds for mine, its in pairs)

    def above(self, other: Timed) -> float:
        """Return the median of the differences of wall time to another command, pair by pair, seconds."""
        pairs = zip(self.samples, other.samples, strict=True)
        return statistics.median(mine.seconds - its.seconds for mine, its in pairs)


def in_turn(commands: Sequence[Command], *, rounds: int, warm: bool = True) -> list[Timed]:
    """Run commands in turn, ``rounds`` times, after an uncounted round where ``warm``."""
    samples: list[list[Sample]] = [[] for _ in commands]
    for number in range(-warm, rounds):
        for command, kept in zip(commands, samples, strict=True):
            sample = _run(command)
            if number >= 0:
                kept.append(sample)
    return [Timed(tuple(kept)) for kept in samples]


def pytest_command(cwd: Path, *arguments: str, plugin: bool) -> Command:
    """Return a pytest command with our plugin or without, and with no other plugin of this environment."""
    ours = ["-p", "mapsat"] if plugin else []
    return Command((sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ours, *arguments), cwd)


def _run(command: Command) -> Sample:
    started = time.perf_counter()
    with subprocess.Popen(
        command.argv, cwd=command.cwd, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != command.status:
        raise RuntimeError(f"exit {process.returncode}: {' '.join(command.argv)}")
    return Sample(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
