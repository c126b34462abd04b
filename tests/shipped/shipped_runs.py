"""What the tests of the shipped suite share: the suite, and an episode of one case with an agent or with a dialogue by heart."""

from functools import cache
from pathlib import Path

from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.metrics.satisfaction import acceptance, explicit_completion, implicit_satisfaction
from pytest_mapsat.model import RunRequest
from pytest_mapsat.runs.case import Runner
from pytest_mapsat.suite import open_suite

ROOT = Path(__file__).resolve().parents[2]
SUITE = open_suite(ROOT / "benchmark_cases")
ENTRIES = {entry.id: entry for path in SUITE.files() for entry in SUITE.entries(path)}
CASES = {name: SUITE.load(entry) for name, entry in sorted(ENTRIES.items())}


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
        label.factor: label if label.value is not None else label.model_copy(update={"outcome": "passed", "value": 1.0})
        for label in card.labels
    }
    return acceptance(explicit_completion(case, labels), implicit_satisfaction(case, labels)).value


def mean_ar(of):
    """Return the mean AR of scorecards at its upper bound."""
    return sum(most_ar(card) for card in of.values()) / len(of)


def failed(card):
    """Return the ids of the factors that are surely not held."""
    return {label.factor for label in card.labels if label.outcome == "failed"}
