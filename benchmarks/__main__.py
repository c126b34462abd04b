"""Measure, print a table, and write it to its part of ``benchmarks/RESULTS.md``."""

from __future__ import annotations

import argparse
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from . import inputs, sampled, trust, worlds
from .paired import Pair, measure, pytest_command

RESULTS = Path(__file__).with_name("RESULTS.md")
#: Measured stage by stage on the same suite: what a trivial case costs besides the bare item.
WHERE_IT_GOES = (
    "besides the bare item, of which pytest itself costs ours as much: 35 % the episode (half of it the hand-over to the agent's "
    "thread, by which an agent that hangs can be left behind), 20 % the checks, 15 % reading case and records, 12 % the metrics"
)
AGENT = "--mapsat-agent=trivial_agent:agent"


class Row(NamedTuple):
    """One line of the table."""

    what: str
    figure: str
    budget: str
    holds: bool
    how: str


def main() -> None:
    """Run the measurements that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes, three rounds: does it run at all")
    parser.add_argument(
        "--trust", action="store_true", help="instead of costs: how far intervals and gate can be trusted"
    )
    options = parser.parse_args()
    if options.trust:
        rows = []
        for line in trust.lines(options.quick):
            print(line.what, line.figure, sep=": ", file=sys.stderr, flush=True)
            rows.append(line)
        text = _trust(rows)
    else:
        with tempfile.TemporaryDirectory() as name:
            text = _table([measurement(Path(name), options.quick) for measurement in MEASUREMENTS])
    print(text)
    if not options.quick:
        _write(text)


def _write(text: str) -> None:
    """Put a part of the results in the place of the one with the same heading."""
    known = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    parts = [part for part in re.split(r"(?m)^(?=# )", known) if part]
    heading = text.splitlines()[0]
    kept = [text if part.startswith(heading) else part for part in parts]
    kept += [] if text in kept else [text]
    RESULTS.write_text("\n".join(part.strip() + "\n" for part in kept), encoding="utf-8")


def _trust(rows: list[trust.Line]) -> str:
    lines = [
        "# How far it can be trusted",
        "",
        "Written by `python -m benchmarks --trust`: simulations with the code that ships. docs/statistics.md says what is simulated.",
        "",
        "| what | measured | budget | holds |",
        "| --- | --- | --- | --- |",
        *(f"| {row.what} | {row.figure} | {row.budget} | {'yes' if row.holds else 'NO'} |" for row in rows),
        "",
    ]
    return "\n".join(lines)


def unused(folder: Path, quick: bool) -> Row:
    """Start of an unrelated one-test run, with the plugin and without."""
    project = inputs.unrelated_test(folder / "unrelated")
    pair = measure(pytest_command(plugin=True), pytest_command(plugin=False), cwd=project, rounds=3 if quick else 15)
    return Row(
        "installed and unused: added to a run", f"{pair.added_ms:.1f} ms", "20 ms", pair.added_ms <= 20, _seconds(pair)
    )


def trivial(folder: Path, quick: bool) -> Row:
    """Ten thousand trivial cases, everything included, against bare parametrised items."""
    count = 1_000 if quick else 10_000
    bare = inputs.bare_tests(folder / "bare", count)
    ours = inputs.suite(folder / "suite", count)
    command = pytest_command("benchmark_cases", AGENT, plugin=True)
    pair = measure(
        ["sh", "-c", f"cd {ours} && exec {' '.join(command)}"],
        ["sh", "-c", f"cd {bare} && exec {' '.join(pytest_command(plugin=False))}"],
        cwd=folder,
        rounds=3 if quick else 5,
    )
    how = f"{_both(pair)}; {WHERE_IT_GOES}"
    return Row(f"a trivial case, {count:,} cases", f"{pair.ratio:.2f} x bare", "2.0 x", pair.ratio <= 2.0, how)


def collect(folder: Path, quick: bool) -> Row:
    """Collect 100,000 JSONL cases of 4 KB with their marks, against bare parametrised items with as many marks."""
    count = 10_000 if quick else 100_000
    bare = inputs.bare_tests(folder / "bare-marks", count, marks=True)
    ours = inputs.suite(folder / "large", count, padding=3_400)
    command = pytest_command("benchmark_cases", AGENT, "--collect-only", "-qq", plugin=True)
    pair = measure(
        ["sh", "-c", f"cd {ours} && exec {' '.join(command)}"],
        ["sh", "-c", f"cd {bare} && exec {' '.join(pytest_command('--collect-only', '-qq', plugin=False))}"],
        cwd=folder,
        rounds=3 if quick else 5,
    )
    holds = pair.ratio <= 1.6 and pair.megabytes[0] <= 400
    return Row(
        f"{count:,} JSONL cases of 4 KB collected", f"{pair.ratio:.2f} x bare", "1.6 x, 400 MB", holds, _both(pair)
    )


def sample(folder: Path, quick: bool) -> Row:
    """From the start of pytest to the first episode of a sample of 7,098 from 100,000 cases with 10 KB of records each."""
    began = sampled.first_episode(folder, quick=quick)
    holds = began.seconds <= 10 and began.megabytes <= 500
    return Row(
        "a sample of 7,098 from 100,000 cases: until its first episode",
        f"{began.seconds:.1f} s, {began.megabytes:.0f} MB",
        "10 s, 500 MB",
        holds,
        "by scenario and city, 10 KB of records each",
    )


def exact(folder: Path, quick: bool) -> Row:
    """An exact answer of the sandbox, canonicalisation included."""
    sandbox = _sandbox(1_000)
    micro = _median_us(
        lambda: sandbox.call("search_nearby", {"query": "charger 7", "lon": 1.0, "lat": 2.0, "radius": 500}), quick
    )
    return Row(
        "an exact sandbox answer",
        f"{micro:.0f} us",
        "60 us",
        micro <= 60,
        "median of single calls, 1,000 records of one tool",
    )


def near(folder: Path, quick: bool) -> Row:
    """A near answer among 1,000 records of one tool in one case."""
    sandbox = _sandbox(1_000)
    arguments = {"query": "charger 7", "lon": 1.0004, "lat": 2.0, "radius": 500}
    micro = _median_us(lambda: sandbox.call("search_nearby", arguments), quick)
    return Row(
        "a near sandbox answer",
        f"{micro / 1000:.2f} ms",
        "3 ms",
        micro <= 3_000,
        "median of single calls, 1,000 records of one tool",
    )


def searching(folder: Path, quick: bool) -> Row:
    """A search among 10,000 places, computed: sorts, qualifiers and names, in circles of 3 km."""
    micro = _median_of(worlds.world(), worlds.searches(), quick)
    return Row(
        "a computed search in 10,000 places",
        f"{micro / 1000:.2f} ms",
        "2 ms",
        micro <= 2_000,
        "median of single calls of five kinds, rows of the case laid over the table",
    )


def routing(folder: Path, quick: bool) -> Row:
    """Routes on a network of 2,000 ways in both directions, alternatives included."""
    micro = _median_of(worlds.world(), worlds.trips(), quick)
    return Row(
        "computed routes on 2,000 edges",
        f"{micro / 1000:.2f} ms",
        "5 ms",
        micro <= 5_000,
        "median of single calls between corners of a grid, up to three routes each",
    )


def judging(folder: Path, quick: bool) -> Row:
    """Every check of a case of the starter suite, and on top the grounding of every claim, on the oracle's dialogue."""
    judge, cases = _dialogues()
    samples: list[float] = []
    for _ in range(3 if quick else 25):
        for case, trajectory in cases:
            started = time.perf_counter()
            judge.judge(case, trajectory)
            samples.append(time.perf_counter() - started)
    milli = 1e3 * statistics.median(samples)
    return Row(
        "judging a case of normal size",
        f"{milli:.2f} ms",
        "5 ms",
        milli <= 5,
        f"median of single verdicts, checks and all claims, {len(cases)} oracle dialogues",
    )


def _dialogues():
    """The starter suite's oracle dialogues, each with its case and one more requirement: that all claims are grounded."""
    from pytest_mapsat.agents import resolve_source
    from pytest_mapsat.episode import Limits, run_episode
    from pytest_mapsat.judges import make_judge
    from pytest_mapsat.model import FactRequirement
    from pytest_mapsat.sandbox import make_world
    from pytest_mapsat.suite import open_suite
    from pytest_mapsat.users import make_user

    root = Path(__file__).parents[1]
    suite = open_suite(root / "benchmark_cases")
    source = resolve_source("baseline:oracle", root=root)
    every = FactRequirement(id="every-claim", text="Everything that is stated agrees with what the tools said")
    cases = []
    for entry in (entry for path in suite.files() for entry in suite.entries(path)):
        case = suite.load(entry)
        world = make_world(case, suite)
        trajectory = run_episode(case, source, make_user("scripted", case), world, Limits(), trial=1)
        truth = case.truth.model_copy(update={"facts": (*case.truth.facts, every)})
        cases.append((case.model_copy(update={"truth": truth}), trajectory))
    return make_judge("checks", suite.tools, root=root, vocabulary=suite.vocabulary), cases


def _sandbox(count: int):
    from pytest_mapsat.model import ParameterMatch, Record, Tool
    from pytest_mapsat.sandbox import Sandbox

    names = ("query", "lon", "lat", "radius")
    tool = Tool(
        name="search_nearby",
        description="Find places in a circle.",
        parameters={"type": "object", "properties": {name: {} for name in names}},
        match={
            "query": ParameterMatch(type="text", near=0.5),
            "lon": ParameterMatch(type="lon", pair="lat", within_m=200),
            "lat": ParameterMatch(type="lat"),
            "radius": ParameterMatch(type="number", default=1000),
        },
    )
    records = [
        Record(
            case="c",
            tool="search_nearby",
            arguments={"query": f"charger {number}", "lon": 1.0, "lat": 2.0, "radius": "500"},
            result={"pois": [{"name": f"place {number}", "lon": 1.0, "lat": 2.0}]},
        )
        for number in range(count)
    ]
    return Sandbox({"search_nearby": tool}, records)


def _median_of(world, calls, quick: bool) -> float:
    def call() -> None:
        name, arguments = next(calls)
        answer = world.call(name, arguments)
        assert answer.status == "ok", answer

    return _median_us(call, quick)


def _median_us(call: Callable[[], object], quick: bool) -> float:
    call()
    samples = []
    for _ in range(200 if quick else 2_000):
        started = time.perf_counter()
        call()
        samples.append(time.perf_counter() - started)
    return 1e6 * statistics.median(samples)


def _seconds(pair: Pair) -> str:
    ours, other = pair.seconds
    return f"{ours:.3f} s with, {other:.3f} s without"


def _both(pair: Pair) -> str:
    seconds, megabytes = pair.seconds, pair.megabytes
    return f"{seconds[0]:.2f} s and {megabytes[0]:.0f} MB; bare {seconds[1]:.2f} s and {megabytes[1]:.0f} MB"


def _table(rows: list[Row]) -> str:
    lines = [
        "# What it costs",
        "",
        "Written by `python -m benchmarks`: medians of runs in turn (ours, bare, ours, bare, ...), one uncounted round first.",
        f"CPython {platform.python_version()}, {platform.machine()}. Proportions, not promises.",
        "",
        "| what | measured | budget | holds | how |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {row.what} | {row.figure} | {row.budget} | {'yes' if row.holds else 'NO'} | {row.how} |" for row in rows),
        "",
    ]
    return "\n".join(lines)


MEASUREMENTS = (unused, trivial, collect, sample, exact, near, searching, routing, judging)

if __name__ == "__main__":
    sys.exit(main())
