"""A large suite of which a sample is run, and an agent that ends the process at the first word to it."""

from __future__ import annotations

from pathlib import Path

from . import inputs

_SCENARIOS = 11
#: Cities, of which the first is by far the largest: the n-th has a share of 1/n.
_CITIES = 350
_RECORDING = 10_000
#: The status that the process ends with.
ENDED = 17
_AGENT = f"""
import os

def agent(message, tools):
    os._exit({ENDED})
"""


def suite(folder: Path, count: int) -> Path:
    """Write a suite of cases in 11 scenarios and 350 cities, with 10 KB of recordings each."""
    weights = [1 / number for number in range(1, _CITIES + 1)]
    bounds = [sum(weights[: number + 1]) / sum(weights) for number in range(_CITIES)]

    def attributes(number: int) -> dict[str, str]:
        place = number * 0.6180339887498949 % 1  # spread evenly, without chance
        city = next(index for index, bound in enumerate(bounds) if place <= bound)
        return {"scenario": f"scenario {number * number % 101 % _SCENARIOS}", "city": f"city {city}"}

    project = inputs.suite(folder, count, recording_padding=_RECORDING, attributes=attributes)
    manifest = project / "benchmark_cases" / "suite.yaml"
    manifest.write_text(manifest.read_text() + "sample: {by: [scenario, city]}\n")
    (project / "first_word.py").write_text(_AGENT)
    return project
