"""What whole runs cost: processes in turn, ours beside bare pytest and beside what users would otherwise pick."""

from __future__ import annotations

import json
import math
import shutil
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from . import inputs, sampled
from .growth import Growth, grown
from .paired import Command, Timed, in_turn, pytest_command
from .peers import Peer
from .row import Row

AGENT = "--mapsat-agent=trivial_agent:agent"
WAITING = 0.2


class Bench(NamedTuple):
    """How it is measured.

    Attributes:
        folder: where inputs are written.
        quick: a tenth of the sizes, three rounds.
        peers: what is measured beside.
    """

    folder: Path
    quick: bool
    peers: Sequence[Peer] = ()

    @property
    def rounds(self) -> int:
        """How often each command runs."""
        return 3 if self.quick else 5

    def bare(self, count: int, *, marks: bool = False) -> Path:
        """Return a project of bare items."""
        folder = self.folder / f"bare-{count}-{marks}"
        return folder if folder.exists() else inputs.bare_tests(folder, count, marks=marks)

    def suite(self, count: int, *, padding: int = 0) -> Path:
        """Return a suite of trivial cases, with its agents."""
        folder = self.folder / f"suite-{count}-{padding}"
        return folder if folder.exists() else inputs.suite(folder, count, padding=padding)

    def ours(self, count: int, *arguments: str, agent: str = AGENT) -> Command:
        """Return a run of trivial cases."""
        return pytest_command(self.suite(count), "benchmark_cases", agent, *arguments, plugin=True)


def unused(bench: Bench) -> Row:
    """Start of an unrelated one-test run, with the plugin and with an empty one."""
    project = inputs.unrelated_test(bench.folder / "unrelated")
    # Any plugin that is named makes pytest look through all installed packages, as it does in every run of a user.
    empty = pytest_command(project, "-p", "empty_plugin", plugin=False)
    commands = [pytest_command(project, plugin=True), empty]
    ours, bare = in_turn(commands, rounds=5 if bench.quick else 15)
    added = 1000 * ours.above(bare)
    how = f"{ours.seconds:.3f} s with, {bare.seconds:.3f} s with an empty plugin"
    return Row("installed and unused: added to a run", f"{added:.1f} ms", "12 ms", added <= 12, how)


def trivial(bench: Bench) -> Row:
    """Trivial cases, everything included, against bare parametrised items."""
    count = 1_000 if bench.quick else 10_000
    ours, bare = in_turn([bench.ours(count), pytest_command(bench.bare(count), plugin=False)], rounds=bench.rounds)
    ratio = ours.to(bare)
    return Row(f"a trivial case, {count:,} cases", f"{ratio:.2f} x bare", "2.0 x", ratio <= 2.0, _both(ours, bare))


def memory(bench: Bench) -> Row:
    """Peak memory of such a run."""
    count = 1_000 if bench.quick else 10_000
    (ours,) = in_turn([bench.ours(count)], rounds=1, warm=False)
    return Row(
        f"memory of a run of {count:,} cases", f"{ours.megabytes:.0f} MB", "400 MB", ours.megabytes <= 400, "peak"
    )


def collect(bench: Bench) -> Row:
    """Collect JSONL cases of 4 KB with their marks, against bare parametrised items with as many marks."""
    count = 10_000 if bench.quick else 100_000
    only = ("--collect-only", "-qq")
    suite = bench.suite(count, padding=3_400)
    ours, bare = in_turn(
        [
            pytest_command(suite, "benchmark_cases", AGENT, *only, plugin=True),
            pytest_command(bench.bare(count, marks=True), *only, plugin=False),
        ],
        rounds=bench.rounds,
    )
    holds = ours.to(bare) <= 1.25 and ours.megabytes <= 350
    what = f"{count:,} JSONL cases of 4 KB collected"
    return Row(what, f"{ours.to(bare):.2f} x bare, {ours.megabytes:.0f} MB", "1.25 x, 350 MB", holds, _both(ours, bare))


def sample(bench: Bench) -> Row:
    """Begin with a sample of a large suite: from the start of pytest to the first word to the agent, which ends the process."""
    cases, size = (10_000, 709) if bench.quick else (100_000, 7_098)
    project = sampled.suite(bench.folder / "sampled", cases)
    options = ("--mapsat-agent=first_word:agent", f"--mapsat-sample={size}")
    command = replace(pytest_command(project, "benchmark_cases", *options, plugin=True), status=sampled.ENDED)
    (ours,) = in_turn([command], rounds=bench.rounds)
    holds = ours.seconds <= 10 and ours.megabytes <= 500
    what = f"first episode of a sample of {size:,} from {cases:,} cases"
    figure = f"{ours.seconds:.1f} s, {ours.megabytes:.0f} MB"
    return Row(what, figure, "10 s, 500 MB", holds, "by scenario and city; 10 KB of recordings a case")


def waiting(bench: Bench) -> list[Row]:
    """200 agents that wait 0.2 s, 50 at once, above what the same run without waits takes."""
    count, width = (40, 20) if bench.quick else (200, 50)
    ideal = math.ceil(count / width) * WAITING
    wide = f"--mapsat-concurrency={width}"
    rows = []
    for name, agent in (("coroutines", "waits"), ("blocking agents", "blocks")):
        suite = bench.suite(count)
        inputs.waiting_agents(suite, WAITING)
        spec = f"--mapsat-agent=waiting_agents:{agent}"
        commands = [bench.ours(count, wide, agent=spec), bench.ours(count, wide)]
        ours, without = in_turn(commands, rounds=bench.rounds)
        ratio = ours.above(without) / ideal
        how = f"{ours.seconds:.2f} s, of which {without.seconds:.2f} s are those of a run without waits; ideal {ideal:.1f} s"
        rows.append(
            Row(
                f"{count} waits of {WAITING} s, width {width}, {name}",
                f"{ratio:.2f} x ideal",
                "1.5 x",
                ratio <= 1.5,
                how,
            )
        )
    return rows


def again(bench: Bench) -> Row:
    """A run whose episodes are all there, gone on from, against the run itself."""
    count = 100 if bench.quick else 500
    saved = bench.folder / "saved.json"
    in_turn([bench.ours(count, f"--mapsat-save={saved}")], rounds=1, warm=False)
    commands = [bench.ours(count, f"--mapsat-resume={saved}"), bench.ours(count)]
    resumed, first = in_turn(commands, rounds=bench.rounds)
    ratio = resumed.to(first)
    what = f"a run of {count} episodes that are all there (--mapsat-resume)"
    return Row(
        what, f"{ratio:.2f} x the run", "2.0 x", ratio <= 2.0, f"{resumed.seconds:.2f} s, the run {first.seconds:.2f} s"
    )


def swept(bench: Bench) -> Row:
    """A sweep of faults over 50 cases with three tools each, 200 items, against a run of the 50."""
    folder = inputs.suite(bench.folder / "sweep", 50)
    tools, cases = folder / "benchmark_cases" / "tools", folder / "benchmark_cases" / "cases.jsonl"
    names = [f"search_poi_{number}" for number in (2, 3)]
    for name in names:
        (tools / f"{name}.yaml").write_text((tools / "search_poi.yaml").read_text().replace("search_poi", name))
    read = [json.loads(line) for line in cases.read_text().splitlines()]
    for case in read:
        case["truth"]["tools"] += [{"name": name} for name in names]
    cases.write_text("".join(json.dumps(case) + "\n" for case in read))
    # The trivial agent breaks where its tool fails.
    failing = replace(pytest_command(folder, AGENT, "--mapsat-faults=timeout", plugin=True), status=1)
    commands = [failing, pytest_command(folder, AGENT, plugin=True)]
    sweep, plain = in_turn(commands, rounds=bench.rounds)
    ratio = sweep.processor / plain.processor
    how = f"{sweep.processor:.2f} s of the processor, the run {plain.processor:.2f} s; 4 times the items"
    return Row("a sweep of 50 cases with 3 tools (--mapsat-faults)", f"{ratio:.2f} x the run", "4.0 x", ratio <= 4, how)


def large(bench: Bench) -> list[Row]:
    """Two saved runs of 20,000 cases compared, and the page of one, each case with words of its own."""
    count = 2_000 if bench.quick else 20_000
    saved = bench.folder / "small.json"
    in_turn([bench.ours(100, f"--mapsat-save={saved}")], rounds=1, warm=False)
    baseline, new = (inputs.larger_run(saved, bench.folder / name, count) for name in ("baseline.json", "new.json"))
    mapsat = (sys.executable, "-m", "pytest_mapsat")
    commands = {
        "mapsat compare": Command((*mapsat, "compare", str(baseline), str(new), "--max-drop=ar:0.02"), bench.folder),
        "mapsat report html": Command(
            (*mapsat, "report", str(new), f"html:{bench.folder / 'page.html'}"), bench.folder
        ),
    }
    return [
        Row(
            f"{name} of {count:,} cases",
            f"{timed.seconds:.1f} s, {timed.megabytes:.0f} MB",
            "15 s, 400 MB",
            timed.seconds <= 15 and timed.megabytes <= 400,
            f"run files of {baseline.stat().st_size / 1e6:.0f} MB",
        )
        for name, command in commands.items()
        for timed in in_turn([command], rounds=1, warm=False)
    ]


def opened(bench: Bench) -> list[Row]:
    """The page of the shipped suite of 500 cases, opened in Chromium: until all is loaded and painted."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        return []
    suite = "benchmark_cases" if bench.quick else "benchmark_500"
    page = bench.folder / "opened.html"
    agent = "--mapsat-agent=shipped_agents.considerate:agent"
    command = pytest_command(Path(__file__).parents[1], suite, agent, f"--mapsat-report=html:{page}", plugin=True)
    in_turn([replace(command, status=0 if bench.quick else 1)], rounds=1, warm=False)
    seconds = statistics.median(_opening_times(page, bench.rounds))
    what = f"the page of {50 if bench.quick else 500} cases opened in Chromium"
    how = f"{suite}, considerate agent; a file of {page.stat().st_size / 1e6:.1f} MB"
    return [Row(what, f"{seconds:.2f} s", "1.0 s", seconds <= 1.0, how)]


def _opening_times(page: Path, rounds: int) -> list[float]:
    """Return how many seconds a page takes from navigation to the first frame after it has loaded, each time anew."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    painted = (
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))"
    )
    times = []
    try:
        for _ in range(rounds):
            driver.get("about:blank")
            driver.get(page.as_uri())
            times.append(driver.execute_async_script(painted) / 1000)
    finally:
        driver.quit()
    return times


def beside(bench: Bench, *, seconds: float) -> dict[str, Timed]:
    """Return runs of ours, of bare pytest, and of each peer, in turn.

    Args:
        bench: how it is measured.
        seconds: how long each case waits for its agent: 0, or so long that all but width is lost in it.
    """
    count, width = (
        (40, 20) if seconds and bench.quick else (200, 50) if seconds else (100 if bench.quick else 1_000, 50)
    )
    peers = [peer for peer in bench.peers if peer.waits or not seconds]
    wide = f"--mapsat-concurrency={width}"
    if seconds:
        inputs.waiting_agents(bench.suite(count), seconds)
        names = ["pytest-mapsat, coroutines", "pytest-mapsat, blocking"]
        specs = (f"--mapsat-agent=waiting_agents:{agent}" for agent in ("waits", "blocks"))
        commands = [bench.ours(count, wide, agent=spec) for spec in specs]
    else:
        names = ["pytest-mapsat", "bare pytest"]
        commands = [bench.ours(count), pytest_command(bench.bare(count), plugin=False)]
    commands += [peer.command(bench.folder, count, seconds, width) for peer in peers]
    timed = in_turn(commands, rounds=bench.rounds)
    return dict(zip([*names, *(f"{peer.package} {peer.version()}" for peer in peers)], timed, strict=True))


def of_cases(bench: Bench) -> list[Growth]:
    """Runs of 10 to 100,000 trivial cases, ours and bare."""
    sizes = (10, 30, 100, 300, 1_000) if bench.quick else (10, 100, 1_000, 10_000, 100_000)
    points: list[list[tuple[float, float]]] = [[], []]
    for count in sizes:
        commands = [bench.ours(count), pytest_command(bench.bare(count), plugin=False)]
        timed = in_turn(commands, rounds=1 if count > 1_000 else 3, warm=count <= 1_000)
        for kept, one in zip(points, timed, strict=True):
            kept.append((count, one.seconds))
    return [grown(name, "cases", kept) for name, kept in zip(("pytest-mapsat", "bare pytest"), points, strict=True)]


def of_width(bench: Bench) -> list[Growth]:
    """Waiting agents, 1 to 64 at once."""
    widths = (1, 2, 4, 8) if bench.quick else (1, 2, 4, 8, 16, 32, 64)
    suite = bench.suite(64)
    inputs.waiting_agents(suite, WAITING)
    grew = []
    for name, agent in (("coroutines", "waits"), ("blocking agents", "blocks")):
        points = []
        for width in widths:
            command = bench.ours(64, f"--mapsat-concurrency={width}", agent=f"--mapsat-agent=waiting_agents:{agent}")
            (timed,) = in_turn([command], rounds=1 if bench.quick else 3, warm=False)
            points.append((width, timed.seconds))
        grew.append(grown(name, "at once", points))
    return grew


def _both(ours: Timed, bare: Timed) -> str:
    processor = f"{ours.processor / bare.processor:.2f} x in processor time"
    return f"{ours.seconds:.2f} s and {ours.megabytes:.0f} MB; bare {bare.seconds:.2f} s and {bare.megabytes:.0f} MB; {processor}"


RUNS = (unused, trivial, memory, collect, sample, waiting, again, swept, large, opened)
