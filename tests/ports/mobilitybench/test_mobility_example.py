"""The example suite for route planners: it is whole, its checks are sound, and its README tells what its agents earn."""

import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from pytest_mapsat.agents import Reply, resolve_source, source_of
from pytest_mapsat.cli import main
from pytest_mapsat.metrics import summarise
from pytest_mapsat.model import RunRequest
from pytest_mapsat.ports.mobilitybench import MOBILITY
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.suite import lint, open_suite

ROOT = Path(__file__).resolve().parents[3]
SUITE = open_suite(ROOT / "examples" / "mobility")
CASES = [SUITE.load(entry) for path in SUITE.files() for entry in SUITE.entries(path)]
GATED = [metric.name for metric in MOBILITY.metrics if metric.gated]

#: All that any answer could be taken for, by an agent that never looks anything up.
SENTENCE = (
    "Take route 0 by Bay Motorway, then Bus 7, 3.9 km, 14 minutes, you arrive at 09:24. The Blue Heron Cafe and the Harbour Post Office at "
    "14 Quay Street, Harbour District, light rain, 17 °C, traffic is slow. 请走柳荫街，13分钟，湖东加油站，中雨24度，拥堵，最晚18:14出发。"
)


def run(source, every=1):
    """Return the scorecards of the cases."""
    runner = Runner(source, RunRequest(agent="test", user="silent", judge="checks"), ROOT)
    return [runner.run(SUITE, case) for case in CASES[::every]]


@cache
def summary(spec):
    return summarise(run(resolve_source(spec, root=ROOT)))


def test_three_cases_of_each_scenario_in_two_languages_have_nothing_to_lint():
    assert lint(SUITE) == []
    scenarios = CASES[0].visible.output_schema["properties"]["intent"]["enum"]
    assert Counter(case.attributes["scenario"] for case in CASES) == dict.fromkeys(scenarios, 3)
    assert min(Counter(case.language for case in CASES).values()) >= 15
    assert all(case.truth.output["intent"] == case.attributes["scenario"] for case in CASES)


def test_no_case_gives_its_constraints_away_by_what_it_asks_for():
    assert all(case.visible.output_schema == CASES[0].visible.output_schema for case in CASES)
    assert {name for case in CASES for name in case.truth.output["constraints"]} == set(
        CASES[0].visible.output_schema["properties"]["constraints"]["properties"]
    )


@pytest.mark.long_proof
def test_the_page_tells_what_each_agent_earns():
    page = (ROOT / "examples" / "mobility" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w:]+)` \| ([-0-9. |]+) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for agent, cells in rows:
        spec = agent if ":" in agent else f"examples.mobility.{agent}:agent"
        found = [summary(spec)[name].bounds for name in GATED]
        shown = ["-" if one is None else "-".join(dict.fromkeys(f"{end:.2f}" for end in one)) for one in found]
        assert cells.split(" | ") == shown, agent


@pytest.mark.long_proof
def test_the_command_of_the_page_gates_saves_and_grades_again(tmp_path, capsys):
    saved, again = tmp_path / "run.json", tmp_path / "again.json"
    thresholds = "--mapsat-fail-under=mobility_fpr=0.9,basic_route_planning.mobility_sc=0.9,pipa_a=0.9"
    agent = "--mapsat-agent=examples.mobility.planner:agent"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "examples/mobility",
        agent,
        f"--mapsat-save={saved}",
        thresholds,
    ]
    # Plugins of this environment have no part in it.
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-p", "no:hypothesispytest"], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode()
    assert main(["regrade", str(saved), "--suite", str(SUITE.root), "--save", str(again)]) == 0
    capsys.readouterr()
    one, two = (json.loads(path.read_text(encoding="utf-8")) for path in (saved, again))
    assert [card["metrics"] for card in one["cases"]] == [card["metrics"] for card in two["cases"]]
    assert {metric["metric_set"] for metric in one["manifest"]["metrics"]} == {"mobility", "pipa"}


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long_proof)])
@pytest.mark.parametrize("output", [None, {"route_index": 0}, CASES[0].truth.output])
def test_no_constant_answer_passes_any_case(output, every):
    text = SENTENCE if output is None else '{"route_index": "0"}'
    cards = run(source_of(lambda message: Reply(text, output=output), "fixture"), every)
    assert summarise(cards)["mobility_fpr"].bounds == (0, 0)


def test_labelled_answers_are_judged_right_and_few_stay_open(capsys):
    count = len((SUITE.root / "labels" / "answers.jsonl").read_text(encoding="utf-8").splitlines())
    assert f"{count} labelled answers" in (SUITE.root / "README.md").read_text(encoding="utf-8")
    assert main(["lint", str(SUITE.root), "--answers", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]["answers"]
    right, wrong = answers["right"], answers["wrong"]
    assert (right["red"]["n"], wrong["green"]["n"]) == (0, 0)
    assert right["green"]["n"] >= 0.75 * right["n"] > 60
    assert wrong["red"]["n"] >= 0.7 * wrong["n"] > 60


@pytest.mark.long_proof
def test_changed_answers_are_caught_without_a_false_alarm(capsys):
    main(["lint", str(SUITE.root), "--mutants"])
    told = capsys.readouterr().out
    assert re.findall(r"^(\d+) false alarms", told, re.MULTILINE) == ["0"]
    (killed,) = re.findall(r"killed \(([\d.]+) %\)", told)
    assert float(killed) >= 40
