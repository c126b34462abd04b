"""Answers by id against agents that do nothing, say the same to everyone or paste what the tools returned, and against changed oracles."""

import json

import pytest
from suite_maker import make_suite, recording_line
from test_hops_lint import BOWL as OF_LINT
from test_hops_lint import CASE, MANIFEST, OTHERS, STAGE, TOOLS

from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.proof import prove
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import open_suite
from pytest_mapsat.users import make_user

BOWL = {**OF_LINT, "poi_id": "201"}
RIVAL = {**BOWL, "poi_id": "107", "name": "Golden Noodle House", "category": "steak house"}
SOUND = {**BOWL, "poi_id": "108", "name": "Blue Ladle"}
QUERY = "noodle bar near Rowan Square"


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    results = [("theatre", [STAGE]), (QUERY, [BOWL, SOUND, RIVAL, *OTHERS[:2]])]
    lines = [recording_line("a", "search", {"query": query}, {"shops": rows}) for query, rows in results]
    own = {"shops": [{"hop": "play", "poi_id": "P1"}, {"hop": "bite", "poi_id": "201"}]}
    case = {**CASE, "truth": {**CASE["truth"], "output": own}}
    files = {
        "a.jsonl": json.dumps(case) + "\n",
        "suite.yaml": MANIFEST,
        "tools.yaml": TOOLS,
        "recordings/a.jsonl": "".join(lines),
    }
    return open_suite(make_suite(tmp_path_factory.mktemp("town"), files))


def case_of(suite):
    (entry,) = suite.entries(suite.root / "a.jsonl")
    return suite.load(entry)


def outcome(suite, source):
    case = case_of(suite)
    trajectory = run_episode(case, source, make_user("scripted", case), make_sandbox(case, suite), Limits())
    (label,) = ChecksJudge(suite.tools, suite=suite).judge(case, trajectory).labels
    return label.outcome


def pasted(message, tools):
    return tools.search(query=QUERY)


def pasted_as_text(message, tools):
    return json.dumps(tools.search(query=QUERY))


def pasted_into_the_entry(message, tools):
    return {"shops": [{"hop": "bite", **shop} for shop in tools.search(query=QUERY)["shops"]]}


def pasted_as_one_entry(message, tools):
    shops = tools.search(query=QUERY)["shops"]
    return {"shops": [{"hop": "bite", "poi_id": [shop["poi_id"] for shop in shops]}]}


def by_heart_without_a_search(message):
    return {"shops": [{"hop": "bite", "poi_id": "201"}]}


def searched(message, tools):
    tools.search(query=QUERY)
    return {"text": "Golden Noodle House it is.", "shops": [{"hop": "bite", "poi_id": 108}]}


@pytest.mark.parametrize("spec", ["baseline:silent", "baseline:constant"])
def test_an_agent_that_does_nothing_is_never_correct(suite, tmp_path, spec):
    assert outcome(suite, resolve_source(spec, root=tmp_path)) == "failed"


@pytest.mark.parametrize(
    "agent", [pasted, pasted_as_text, pasted_into_the_entry, pasted_as_one_entry, by_heart_without_a_search]
)
def test_pasted_results_and_ids_that_were_never_returned_are_never_correct(suite, agent):
    assert outcome(suite, source_of(agent, "mymod:agent")) == "failed"


def test_the_oracle_and_an_agent_that_finds_another_fitting_row_are_correct(suite, tmp_path):
    assert outcome(suite, resolve_source("baseline:oracle", root=tmp_path)) == "passed"
    assert outcome(suite, source_of(searched, "mymod:agent")) == "passed"


def test_every_wrong_id_is_noticed_and_no_other_spelling_is_accused(suite):
    proof = prove([case_of(suite)], suite)
    kinds = {trial.kind: [other for other in proof.trials if other.kind == trial.kind] for trial in proof.trials}
    changed = [trial.changed for trial in kinds["other_id"]]
    assert {"201 became P1", "201 became 2019768", "201 was left out", "nothing was handed over"} <= set(changed)
    assert "108 was handed over beside 201" in changed
    assert ("a", "other_id", "201 became 108") in proof.idle  # another row that fits
    assert "search was never called" in [trial.changed for trial in kinds["dropped_call"]]
    assert proof.wrong
    assert proof.killed == proof.wrong
    spelt = [trial.changed for trial in kinds["other_spelling"]]
    assert spelt == ["'201' became 201", "the entries in another order"]
    assert proof.false_alarms == ()
