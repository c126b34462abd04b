"""How soon a sample of a large suite begins: from the start of pytest to the first word to the agent."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from . import inputs
from .paired import ENVIRONMENT, Command, pytest_command

_CASES = 100_000
_SAMPLE = 7_098
_SCENARIOS = 11
#: Cities, of which the first is by far the largest: the n-th has a share of 1/n.
_CITIES = 350
_RECORD = 10_000

_AGENT = """
import json, os, resource, time

def agent(message, tools):
    told = {"at": time.time(), "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    with open("began.json", "w") as file:
        json.dump(told, file)
    os._exit(0)
"""


class Began(NamedTuple):
    """When the first episode began: seconds after the start of the process, and its greatest memory until then, in megabytes."""

    seconds: float
    megabytes: float


def first_episode(folder: Path, *, quick: bool) -> Began:
    """Return the medians of several starts with a sample of 7,098 from 100,000 cases with 10 KB of records each."""
    cases, sample, rounds = (_CASES // 10, _SAMPLE // 10, 2) if quick else (_CASES, _SAMPLE, 5)
    project = suite(folder / "sampled", cases)
    options = ("--mapsat-agent=first_word:agent", f"--mapsat-sample={sample}", "--mapsat-sample-by=scenario,city")
    command = pytest_command(project, "benchmark_cases", *options, plugin=True)
    began = [_began(command) for _ in range(rounds + 1)][1:]
    return Began(statistics.median(one.seconds for one in began), statistics.median(one.megabytes for one in began))


def suite(folder: Path, count: int) -> Path:
    """Write a suite of cases in 11 scenarios and 350 cities, with 10 KB of records each, and an agent that ends the process."""
    weights = [1 / number for number in range(1, _CITIES + 1)]
    bounds = [sum(weights[: number + 1]) / sum(weights) for number in range(_CITIES)]

    def attributes(number: int) -> dict[str, str]:
        place = number * 0.6180339887498949 % 1  # spread evenly, without chance
        city = next(index for index, bound in enumerate(bounds) if place <= bound)
        return {"scenario": f"scenario {number * number % 101 % _SCENARIOS}", "city": f"city {city}"}

    project = inputs.suite(folder, count, record_padding=_RECORD, attributes=attributes)
    (project / "first_word.py").write_text(_AGENT)
    return project


def _began(command: Command) -> Began:
    file = command.cwd / "began.json"
    file.unlink(missing_ok=True)
    started = time.time()
    subprocess.run(
        command.argv, cwd=command.cwd, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    told = json.loads(file.read_text())
    return Began(told["at"] - started, told["megabytes"])
