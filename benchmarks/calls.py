"""What single calls cost, measured in this process: time of its thread on the processor, which other work on the machine does not add to."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

from . import connections, sandboxes, trust
from .growth import Growth, grown
from .row import Row


def exact(quick: bool) -> Row:
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
        "median of single calls, 1,000 recordings of one tool",
    )


def near(quick: bool) -> Row:
    """A near answer among 1,000 recordings of one tool in one case."""
    sandbox = _sandbox(1_000)
    arguments = {"query": "charger 7", "lon": 1.0004, "lat": 2.0, "radius": 500}
    micro = _median_us(lambda: sandbox.call("search_nearby", arguments), quick)
    return Row(
        "a near sandbox answer",
        f"{micro / 1000:.2f} ms",
        "3 ms",
        micro <= 3_000,
        "median of single calls, 1,000 recordings of one tool",
    )


def searching(quick: bool) -> Row:
    """A search among 10,000 places, computed: sorts, qualifiers and names, in circles of 3 km."""
    micro = _median_of(sandboxes.sandbox(), sandboxes.searches(), quick)
    return Row(
        "a computed search in 10,000 places",
        f"{micro / 1000:.2f} ms",
        "2 ms",
        micro <= 2_000,
        "median of single calls of five kinds, rows of the case laid over the table",
    )


def routing(quick: bool) -> Row:
    """Routes on a network of 2,000 ways in both directions, alternatives included."""
    micro = _median_of(sandboxes.sandbox(), sandboxes.trips(), quick)
    return Row(
        "computed routes on 2,000 edges",
        f"{micro / 1000:.2f} ms",
        "5 ms",
        micro <= 5_000,
        "median of single calls between corners of a grid, up to three routes each",
    )


def writing(quick: bool) -> Row:
    """A call that changes a row of a world as large as the shop of tau2-bench."""
    from pytest_mapsat.sandbox import make_sandbox

    with tempfile.TemporaryDirectory() as name:
        sandbox = make_sandbox(*sandboxes.open_shop(sandboxes.write_shop(Path(name) / "shop")))
    reasons = ("late", "mistake")
    calls = (
        ("cancel_order", {"number": f"o{number % 1_000}", "reason": reasons[number // 1_000 % 2]}) for number in count()
    )
    micro = _median_of(sandbox, calls, quick)
    return Row(
        "a write in a world of 1.3 MB",
        f"{micro / 1000:.2f} ms",
        "0.2 ms",
        micro <= 200,
        "median of single calls, each changes an order of 1 KB; with the change that is kept",
    )


def loading(quick: bool) -> Row:
    """That world, read from its files until its first episode may begin."""
    from pytest_mapsat.sandbox import make_sandbox

    with tempfile.TemporaryDirectory() as name:
        root = sandboxes.write_shop(Path(name) / "shop")
        samples = []
        for _ in range(3 if quick else 9):
            started = time.process_time()
            make_sandbox(*sandboxes.open_shop(root))
            samples.append(time.process_time() - started)
    seconds = statistics.median(samples)
    return Row(
        "loading a world of 1.3 MB",
        f"{seconds:.3f} s",
        "0.1 s",
        seconds <= 0.1,
        "median; its suite opened, 1,550 rows read and checked, a sandbox made",
    )


def judging(quick: bool) -> Row:
    """Every check of a case of the starter suite, and on top the grounding of every claim, on the oracle's dialogue."""
    judge, cases = _dialogues()
    samples: list[float] = []
    for _ in range(3 if quick else 25):
        for case, trajectory in cases:
            started = time.thread_time()
            judge.judge(case, trajectory)
            samples.append(time.thread_time() - started)
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
    from pytest_mapsat.model import Requirement
    from pytest_mapsat.sandbox import make_sandbox
    from pytest_mapsat.suite import open_suite
    from pytest_mapsat.users import make_user

    root = Path(__file__).parents[1]
    suite = open_suite(root / "benchmark_cases")
    source = resolve_source("baseline:oracle", root=root)
    every = Requirement(kind="fact", id="every-claim", text="Everything that is stated agrees with what the tools said")
    cases = []
    for entry in (entry for path in suite.files() for entry in suite.entries(path)):
        case = suite.load(entry)
        sandbox = make_sandbox(case, suite)
        trajectory = run_episode(case, source, make_user("scripted", case), sandbox, Limits(), trial=1)
        truth = case.truth.model_copy(update={"facts": (*case.truth.facts, every)})
        cases.append((case.model_copy(update={"truth": truth}), trajectory))
    return make_judge("checks", suite.tools, root=root, vocabulary=suite.vocabulary), cases


def _sandbox(count: int):
    from pytest_mapsat.model import ParameterMatch, Recording, Tool
    from pytest_mapsat.sandbox import RecordedSandbox

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
    recordings = [
        Recording(
            case="c",
            tool="search_nearby",
            arguments={"query": f"charger {number}", "lon": 1.0, "lat": 2.0, "radius": "500"},
            result={"pois": [{"name": f"place {number}", "lon": 1.0, "lat": 2.0}]},
        )
        for number in range(count)
    ]
    return RecordedSandbox({"search_nearby": tool}, recordings)


def _median_of(sandbox, calls, quick: bool) -> float:
    def call() -> None:
        name, arguments = next(calls)
        answer = sandbox.call(name, arguments)
        assert answer.status == "ok", answer

    return _median_us(call, quick)


def _median_us(call: Callable[[], object], quick: bool) -> float:
    call()
    samples = []
    for _ in range(200 if quick else 2_000):
        started = time.thread_time()
        call()
        samples.append(time.thread_time() - started)
    return 1e6 * statistics.median(samples)


def bootstrap(quick: bool) -> Row:
    """Intervals of a run's means."""
    line = trust.speed()
    return Row(line.what, line.figure, line.budget, line.holds, "median of seven")


def of_answers(quick: bool) -> Growth:
    """Judging of answers of 1 kB to 1 MB."""
    judge, cases = _dialogues()
    case, trajectory = max(cases, key=lambda pair: len(pair[1].replies[-1].text))
    place = max(number for number, turn in enumerate(trajectory.turns) if turn.role == "agent")
    text = trajectory.turns[place].text + "\n"
    points = []
    for size in (1_000, 3_000, 10_000, 30_000) if quick else (1_000, 3_000, 10_000, 30_000, 90_000, 1_000_000):
        long = (text * (size // len(text) + 1))[: size - 2]
        samples = []
        for sample in range(4):
            turns = list(trajectory.turns)
            turns[place] = turns[place].model_copy(update={"text": f"{long}{sample}"})  # none has been read before
            dialogue = trajectory.model_copy(update={"turns": tuple(turns)})
            started = time.thread_time()
            judge.judge(case, dialogue)
            samples.append(time.thread_time() - started)
        points.append((size, statistics.median(samples[1:])))
    # More than 100,000 characters of a dialogue are not read.
    return grown("answers", "characters", points)._replace(
        exponent=grown("", "", [point for point in points if point[0] < 100_000]).exponent
    )


def over_http(quick: bool) -> Row:
    """An episode of two requests with a service of another process, above the same rule called as a function, in turn: processor time of this process, threads included."""
    from examples.http_service import service
    from pytest_mapsat.agents import resolve_source, source_of

    def function(message, tools, context):
        system = {"role": "system", "content": f"as JSON:\n{json.dumps(context)}"}
        call = service.answer([system, {"role": "user", "content": message}])["tool_calls"][0]["function"]
        result = tools.call(call["name"], json.loads(call["arguments"]))
        return service.answer([{"role": "tool", "content": json.dumps(result)}])["content"]

    command = [sys.executable, str(Path(service.__file__)), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL) as running:
        address = running.stdout.readline().strip()
        sources = [resolve_source(f"openai-chat:{address}", root=Path()), source_of(function, "the same rule")]
        samples = [_played(sources) for _ in range(50 if quick else 500)][5:]
        running.terminate()
    milli = 1e3 * statistics.median(far - near for far, near in samples)
    return Row(
        "an episode over HTTP, two requests: added",
        f"{milli:.2f} ms",
        "3 ms",
        milli <= 3,
        f"of the processor, {1e3 * statistics.median(near for _, near in samples):.2f} ms as a function; what the service itself takes is the agent's own time",
    )


def _played(sources) -> list[float]:
    """Play the case of the service with each source; return the seconds of the processor that each took."""
    from pytest_mapsat.episode import Limits, run_episode
    from pytest_mapsat.sandbox import make_sandbox
    from pytest_mapsat.users import make_user

    suite, case = _bus()
    seconds = []
    for source in sources:
        sandbox, user = make_sandbox(case, suite), make_user("silent", case)
        started = time.process_time()
        trajectory = run_episode(case, source, user, sandbox, Limits(), trial=1)
        seconds.append(time.process_time() - started)
        assert trajectory.calls[0].status == "ok", trajectory
        assert trajectory.replies[0].text.startswith("Take "), trajectory
    return seconds


@cache
def _bus():
    """The suite, and the case that the example of a service answers."""
    from pytest_mapsat.suite import open_suite

    suite = open_suite(Path(__file__).parents[1] / "benchmark_cases")
    entries = (entry for path in suite.files() for entry in suite.entries(path))
    return suite, suite.load(next(entry for entry in entries if entry.id == "realtime-next-bus"))


CALLS = (exact, near, searching, routing, writing, loading, judging, over_http, bootstrap, connections.connecting)
