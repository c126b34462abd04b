"""Two commands in turn, A B A B ..., so that drift of the machine hits both alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """One finished process: wall time in seconds, peak memory in megabytes."""

    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Pair:
    """The samples of two commands that ran in turn."""

    ours: tuple[Sample, ...]
    other: tuple[Sample, ...]

    @property
    def ratio(self) -> float:
        """Median of the pairwise ratios of wall time, ours to other."""
        return statistics.median(a.seconds / b.seconds for a, b in zip(self.ours, self.other, strict=True))

    @property
    def added_ms(self) -> float:
        """Median of the pairwise differences of wall time, milliseconds."""
        return 1000 * statistics.median(a.seconds - b.seconds for a, b in zip(self.ours, self.other, strict=True))

    @property
    def seconds(self) -> tuple[float, float]:
        """Median wall times, ours and other."""
        return (
            statistics.median(sample.seconds for sample in self.ours),
            statistics.median(sample.seconds for sample in self.other),
        )

    @property
    def megabytes(self) -> tuple[float, float]:
        """Median peak memory, ours and other."""
        return (
            statistics.median(sample.megabytes for sample in self.ours),
            statistics.median(sample.megabytes for sample in self.other),
        )


def measure(ours: list[str], other: list[str], *, cwd: Path, rounds: int) -> Pair:
    """Run both commands ``rounds`` times in turn, after one uncounted round."""
    samples: list[tuple[Sample, Sample]] = []
    for number in range(rounds + 1):
        pair = (_run(ours, cwd), _run(other, cwd))
        if number:
            samples.append(pair)
    return Pair(tuple(a for a, _ in samples), tuple(b for _, b in samples))


def pytest_command(*arguments: str, plugin: bool) -> list[str]:
    """Return a pytest command line with our plugin or without, and with no other plugin of this environment."""
    ours = ["-p", "mapsat"] if plugin else []
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ours, *arguments]


def _run(command: list[str], cwd: Path) -> Sample:
    started = time.perf_counter()
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"exit {process.returncode}: {' '.join(command)}")
    return Sample(seconds, usage.ru_maxrss / 1024)
