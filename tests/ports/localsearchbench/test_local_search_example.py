"""The example of search in several steps: its oracle is right, what never searches is never right, and its agents stand in the order that its README tells."""

import json
import re
import shlex
import shutil
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from pytest_mapsat.agents import Reply, resolve_source, source_of
from pytest_mapsat.cli import main
from pytest_mapsat.metrics import summarise
from pytest_mapsat.model import RunRequest
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.suite import open_suite

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "local-search"
PAGE = (EXAMPLE / "README.md").read_text(encoding="utf-8")
#: The columns of the table of the page.
METRICS = ("local_correct", "ar", "local_complete", "local_evidence", "local_causal")
LOCAL = tuple(
    f"local_{name}" for name in ("correct", "complete", "faithful", "relevant", "evidence", "causal", "efficient")
)
AGENTS = ("searchers:one_search", "searchers:plan_first", "searchers:hop_by_hop")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the suite, with the towns that the command of its README builds."""
    copy = tmp_path_factory.mktemp("example") / "local-search"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("state", "__pycache__"))
    [command] = re.findall(r"^ +mapsat (build .+)$", PAGE, re.MULTILINE)
    assert main([str(copy) if word == "examples/local-search" else word for word in shlex.split(command)]) == 0
    return copy


@pytest.fixture(scope="module")
def suite(folder):
    return open_suite(folder)


@pytest.fixture(scope="module")
def cases(suite):
    return [suite.load(entry) for path in suite.files() for entry in suite.entries(path)]


@pytest.fixture(scope="module")
def play(folder, suite, cases):
    """Return a function that plays all cases with an agent, by its spec or itself, and returns the metrics by name."""

    def run(source, every=1):
        runner = Runner(source, RunRequest(agent="test", user="silent", judge="checks"), folder)
        return summarise([runner.run(suite, case) for case in cases[::every]])

    named = cache(lambda spec, every: run(resolve_source(spec, root=folder), every))
    return lambda agent, every=1: (
        named(agent, every) if isinstance(agent, str) else run(source_of(agent, "fixture"), every)
    )


def test_the_forty_tasks_are_of_four_levels_two_languages_and_three_towns(cases):
    assert Counter(case.language for case in cases) == {"en": 20, "zh": 20}
    assert Counter(case.difficulty for case in cases) == {"L1": 6, "L2": 6, "L3": 16, "L4": 12}
    assert len({case.visible.context.city for case in cases}) == 3
    assert len({case.visible.query for case in cases}) == 40
    assert {len(case.truth.tools) for case in cases} == {1, 3, 4, 5}


def test_lint_has_nothing_to_say(folder, capsys):
    assert main(["lint", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 errors, 0 warnings, 0 notes"


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.long_proof)])
def test_the_oracle_is_right_in_everything(play, every):
    assert [play("baseline:oracle", every)[name].mean for name in ("pass_rate", "ar", "ecr", "iisr", "ifs", "ts")] == [
        1
    ] * 6


@pytest.mark.long_proof
def test_the_oracle_has_1_in_every_rule_metric_of_the_paper_and_its_words_wait_for_a_model(play):
    metrics = play("baseline:oracle")
    assert {name: metrics[name].mean for name in LOCAL if name != "local_faithful"} == dict.fromkeys(
        (name for name in LOCAL if name != "local_faithful"), 1
    )
    assert metrics["local_faithful"].bounds[1] == 1  # claims that no rule reads leave it open
    assert [metrics[name].bounds for name in ("local_fluent", "local_safe")] == [(0, 1)] * 2


@pytest.mark.long_proof
def test_the_page_tells_what_each_agent_earns(play):
    rows = re.findall(r"^\| `([\w:]+)` \| (\d[^a-z]+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 6
    for agent, cells in rows:
        metrics = [play(agent)[name] for name in METRICS]
        assert cells.split(" | ") == [f"{each.mean:.2f} [{each.low:.2f}, {each.high:.2f}]" for each in metrics], agent


@pytest.mark.long_proof
@pytest.mark.parametrize("metric", ["local_correct", "ar", "local_complete", "pass_rate"])
def test_the_agents_stand_in_order_with_their_intervals_apart(play, metric):
    for worse, better in pairwise(play(agent)[metric] for agent in AGENTS):
        assert worse.high < better.low


def test_details_of_a_merchant_are_all_its_fields_in_its_own_town(folder, suite, cases):
    told = []

    def agent(message, tools):
        row = tools.call("search_merchants", {"query": message})["merchants"][0]
        told.append(tools.call("merchant_details", {"poi_id": row["poi_id"]})["merchants"])
        told.append(tools.call("merchant_details", {"poi_id": row["poi_id"], "city": "苇若陵市"})["merchants"])

    english = next(case for case in cases if case.language == "en")
    Runner(source_of(agent, "fixture"), RunRequest(agent="test", user="silent", judge="checks"), folder).run(
        suite, english
    )
    [[row], elsewhere] = told
    assert len(row) == 29
    assert row["products"][0]["price"] > 0
    assert elsewhere == []


def _pasted(tools, context):
    """Return all that a search by the question finds, as if it were an answer."""
    return tools.call("search_merchants", {"query": context.city, "limit": 20})


def _everything_for_every_hop(message, tools, context):
    rows = tools.call("search_merchants", {"query": message, "limit": 20})["merchants"]
    hops = context.output_schema["properties"]["merchants"]["items"]["properties"]["hop"]["enum"]
    return Reply("?", output={"merchants": [{"hop": hop, "poi_id": row["poi_id"]} for hop in hops for row in rows]})


def _never_searched(right):
    """Return an agent that knows the answers of all cases by heart, and gives them without a search."""

    def agent(message):
        return Reply("These.", output=right[message])

    return agent


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.long_proof)])
def test_pasted_results_are_never_right(play, every):
    agents = [
        lambda message, tools, context: json.dumps(_pasted(tools, context), ensure_ascii=False),
        lambda message, tools, context: Reply("Here.", output=_pasted(tools, context)),
        _everything_for_every_hop,
    ]
    for metrics in [play(agent, every) for agent in agents]:
        assert metrics["ar"].bounds == metrics["local_correct"].bounds == (0, 0)


def test_an_id_that_no_search_returned_is_never_right(play, cases):
    right = {case.visible.query: case.truth.output for case in cases}
    metrics = play(_never_searched(right))
    assert metrics["ar"].bounds == metrics["local_correct"].bounds == (0, 0)


@pytest.mark.parametrize("agent", ["baseline:silent", "baseline:constant"])
def test_silence_and_one_sentence_for_all_are_never_correct(play, agent):
    assert play(agent)["local_correct"].bounds == (0, 0)
