"""What the tests of the shipped suite share: the suite, and an episode of one case with an agent or with a dialogue by heart."""

from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.metrics import product
from pytest_mapsat.metrics.metric_set import explicit_completion, implicit_satisfaction, read_labels
from pytest_mapsat.model import RunRequest
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import open_suite
from shipped_agents.errands_sandbox import sandbox_of

ROOT = Path(__file__).resolve().parents[2]
SUITE = open_suite(ROOT / "benchmark_cases")
ENTRIES = {entry.id: entry for path in SUITE.files() for entry in SUITE.entries(path)}
SUITE.sandboxes = [lambda case, suite: sandbox_of(case)]
ALL = {name: SUITE.load(entry) for name, entry in sorted(ENTRIES.items())}
#: The errands change a sandbox and are judged by its end; all others look around on the map.
ERRANDS = {name: case for name, case in ALL.items() if "errands" in case.domains}
CASES = {name: case for name, case in ALL.items() if name not in ERRANDS}


class Seen(NamedTuple):
    """A call in the sandbox of a case, and what it brings."""

    tool: str
    arguments: dict
    result: object


@cache
def looked_around(name):
    """Return all that an agent can see that looks at everything with the case's tools: what the oracle asks, and each place that it finds from every side."""
    case = CASES[name]
    sandbox, context = make_sandbox(case, SUITE), case.visible.context
    found = []
    tools = {"search_poi", "search_nearby", "place_details", "get_route", "get_weather"}
    tools |= {tool.name for tool in case.truth.tools} | {call.tool for turn in case.truth.oracle for call in turn.calls}

    def ask(tool, **arguments):
        if tool not in tools:
            return
        answer = sandbox.call(tool, arguments)
        assert answer.status == "ok", (tool, arguments, answer)
        found.append(Seen(tool, arguments, answer.result))

    for turn in case.truth.oracle:
        for call in turn.calls:
            ask(call.tool, **call.arguments)
    ask("get_user_profile", uid=context.uid)
    ask("get_recent_activity", uid=context.uid)
    ask("get_weather", city=context.city, date=context.now[:10])
    here = f"{context.location.lon},{context.location.lat}"
    searches = [seen for seen in found if seen.tool in ("search_poi", "search_nearby")]
    for query in dict.fromkeys(seen.arguments["query"] for seen in searches):
        ask("search_poi", query=query, city=context.city)
        ask("search_nearby", query=query, lon=context.location.lon, lat=context.location.lat, radius_m=20_000)
    places = {place["id"]: place for seen in found if "places" in seen.result for place in seen.result["places"]}
    for place in places.values():
        there = f"{place['lon']},{place['lat']}"
        ask("place_details", place_id=place["id"])
        ask("search_deals", place_id=place["id"])
        ask("get_ride_estimate", origin=here, destination=there)
        for mode in ("walking", "cycling", "driving", "transit"):
            ask("get_route", origin=here, destination=there, mode=mode)
        ask("get_route", origin=here, destination=there, mode="driving", avoid_tolls=True)
    for pair in combinations(sorted(places), 2):
        ask("plan_visit_order", start=here, place_ids=list(pair))
    return tuple(found)


def run(source, case):
    """Return the scorecard of one episode."""
    runner = Runner(source, RunRequest(agent="test", user="scripted", judge="checks"), ROOT)
    return runner.run(SUITE, case)


@cache
def cards(spec):
    """Return the scorecards of all cases by id for an agent of the command line."""
    source = resolve_source(spec, root=ROOT)
    return {name: run(source, case) for name, case in CASES.items()}


def run_function(agent, case):
    """Return the scorecard of a Python function as agent."""
    return run(source_of(agent, "fixture"), case)


def retold(name, say):
    """Return the scorecard of the oracle's calls with other words in its last turn."""
    case = CASES[name]
    *before, last = case.truth.oracle
    truth = case.truth.model_copy(update={"oracle": (*before, last.model_copy(update={"say": say}))})
    return run(resolve_source("baseline:oracle", root=ROOT), case.model_copy(update={"truth": truth}))


def most_ar(card):
    """Return the AR of a scorecard with every undecided label passed: what its agent may have earned at most."""
    case = CASES[card.id]
    labels = {
        label.requirement: label
        if label.value is not None
        else label.model_copy(update={"outcome": "passed", "value": 1.0})
        for label in card.labels
    }
    readings = read_labels(case.truth.requirements, labels)
    return product(explicit_completion(case, readings), implicit_satisfaction(case, readings)).value


def mean_ar(of):
    """Return the mean AR of scorecards at its upper bound."""
    return sum(most_ar(card) for card in of.values()) / len(of)


def failed(card):
    """Return the ids of the requirements that are surely not held."""
    return {label.requirement for label in card.labels if label.outcome == "failed"}
