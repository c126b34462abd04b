"""The example of users who come back: it is whole, what its README tells is so, and the page that walks through it does what it says."""

import json
import re
import shlex
import shutil
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml
from saved_runs import timeless
from walkthrough import run as run_command
from walkthrough import walk

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.agents.memory import FullMemory, MemorySource, open_memory
from pytest_mapsat.commands.shared import load_added
from pytest_mapsat.metrics import summarise
from pytest_mapsat.model import RunOptions, RunRequest
from pytest_mapsat.runs.memories import Memories
from pytest_mapsat.runs.regrade import open_suites
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.suite import lint

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "errands"
[SUITE] = open_suites([EXAMPLE / "suite"], load_added((), [EXAMPLE / "suite"]).sandboxes)
CASES = [SUITE.load(entry) for path in SUITE.files() for entry in SUITE.entries(path)]
PAGE = (ROOT / "docs" / "how-to" / "remember-users.md").read_text(encoding="utf-8")
AGENT = "examples.errands.agents:{}"


class OneTaskBehind(FullMemory):
    """A memory that has not yet taken in what passed last."""

    def __init__(self):
        super().__init__()
        self._late = []

    def update(self, interactions):
        super().update(self._late)
        self._late = interactions


def run(agent, memory):
    """Return the scorecards of all cases by id."""
    source = memory if isinstance(memory, MemorySource) else open_memory(memory, root=ROOT)
    spec = "none" if source is None else source.spec
    request = RunRequest(agent=agent, user="scripted", judge="checks", options=RunOptions(agent_memory=spec))
    memories = None if source is None else Memories(source)
    runner = Runner(resolve_source(AGENT.format(agent), root=ROOT), request, ROOT, memories=memories)
    return {case.id: runner.run(SUITE, case) for case in CASES}


@cache
def cards(agent, memory):
    return run(agent, memory)


def rate(agent, memory):
    return summarise(list(cards(agent, memory).values()))["pass_rate"]


def test_four_users_have_ten_tasks_each_half_of_them_chinese_and_eight_proactive():
    assert lint(SUITE) == []
    assert Counter((case.group.name, case.language) for case in CASES) == {
        ("mia", "en"): 10, ("tom", "en"): 10, ("lin", "zh"): 10, ("zhou", "zh"): 10,
    }  # fmt: skip
    assert Counter(case.attributes["task"] for case in CASES) == {"personal": 32, "proactive": 8}
    changes = Counter(case.attributes["preference"] for case in CASES)
    assert min(changes[name] for name in ("new", "changed", "dropped", "kept")) >= 4
    assert all(requirement.machine_sure for case in CASES for requirement in case.truth.requirements)


def test_no_query_tells_what_the_user_likes():
    options = {name for row in SUITE.tables["offers"].rows for names in row["options"].values() for name in names}
    assert not [case.id for case in CASES if any(name in case.visible.query.lower() for name in options)]


def test_the_agent_that_remembers_is_above_the_other_with_intervals_apart():
    remembering, forgetful = rate("remembering", "full"), rate("forgetful", "none")
    assert remembering.mean == 1.0
    assert forgetful.high < remembering.low


def test_the_page_tells_what_each_agent_earns_with_each_memory():
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `?(\w+)`? \| ([\d.]+) \| ([\d.]+) to ([\d.]+) \|$", page, re.MULTILINE)
    assert len(rows) == 5
    for agent, memory, *told in rows:
        aggregate = rate(agent, "none" if memory == "any" else memory)
        assert told == [f"{value:.2f}" for value in (aggregate.mean, aggregate.low, aggregate.high)], (agent, memory)


def test_after_a_change_the_old_preference_fails():
    behind = run("remembering", MemorySource("test:behind", lambda _: OneTaskBehind(), own=True))
    turned = [case.id for case in CASES if case.attributes["preference"] in ("changed", "dropped")]
    assert {name: behind[name].outcome for name in turned} == dict.fromkeys(turned, "failed")
    kept = [case.id for case in CASES if case.attributes["preference"] == "none"]
    assert {behind[name].outcome for name in kept} == {"passed"}


def test_a_proactive_task_fails_for_an_agent_that_does_not_ask():
    asked = {case.id for case in CASES if case.attributes["task"] == "proactive"}
    assert {cards("forgetful", "none")[name].outcome for name in asked} == {"failed"}
    remembering = cards("remembering", "full")
    assert {name for name, card in remembering.items() if card.clarifications} == asked


@pytest.mark.long_proof(in_turn=True)
def test_who_does_what_the_page_says_sees_what_it_shows(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    assert "\n\n".join(walk(PAGE, tmp_path, str(Path(sys.executable).parent))) == ""


def test_the_page_shows_a_task_as_it_is():
    [shown] = yaml.safe_load(re.search(r"```yaml\n(.+?)```", PAGE, re.DOTALL)[1])
    [case] = [case for case in CASES if case.id == shown["id"]]
    interactions = [interaction.to_json() for interaction in case.visible.interactions]
    assert [{**told, "date": str(told["date"])} for told in shown["visible"]["interactions"]] == interactions
    assert shown["visible"]["query"] == case.visible.query
    assert set(shown["truth"]["preferences"]) <= set(case.truth.preferences)


def saved(path):
    return {card["id"]: timeless(card) for card in json.loads(path.read_text())["cases"]}


@pytest.mark.long_proof
def test_each_task_has_the_same_scorecard_however_it_is_run(tmp_path, warm):
    suite = "examples/errands/suite"
    agent = [f"--mapsat-agent={AGENT.format('remembering')}", "--mapsat-agent-memory=rag"]

    def typed(name, *options):
        path = tmp_path / f"{name}.json"
        command = [warm, "-m", "pytest", "-q", *options, *agent, f"--mapsat-save={path}", "-p", "no:cacheprovider"]
        run_command(shlex.join(command), ROOT, str(Path(sys.executable).parent))
        return saved(path)

    whole = typed("whole", suite)
    assert len(whole) == 40
    names = sorted(whole, key=lambda name: (hash_of(name), name))
    shuffled = [f"{suite}/cases/{name.partition('-')[0]}.yaml::case[{name}]" for name in names]
    assert typed("shuffled", *shuffled) == whole
    for dist in ("load", "loadfile"):  # the others are tried in tests/plugin/test_carried_dialogues.py
        assert typed(dist, suite, "-n", "3", "--dist", dist) == whole, dist
    assert typed("isolated", suite, "--mapsat-isolate=on") == whole
    assert typed("at-once", suite, "--mapsat-concurrency=8") == whole
    for name in whole:
        assert typed("alone", suite, "-k", name) == {name: whole[name]}


def hash_of(name):
    return sum(ord(char) * 31**place for place, char in enumerate(name)) % 97
