"""The oracle, the shipped agents and the agents that know nothing score what a suite worth having gives them."""

import json
from functools import cache

import pytest
from shipped_runs import CASES, ROOT, cards, failed, looked_around, mean_ar, run, run_function

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.model import Clarification

ORACLE = "baseline:oracle"
CONSIDERATE = "shipped_agents.considerate:agent"
NAIVE = "shipped_agents.naive:agent"

every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_the_oracle_scores_everything_and_misses_nothing(name):
    card = cards(ORACLE)[name]
    assert card.outcome == "passed", failed(card)
    assert failed(card) == set()
    assert (card.ar, card.metric("ifs"), card.metric("ts"), card.sandbox["miss"]) == (1, 1, 1, 0)


@every_case
def test_the_oracle_asks_where_the_policy_has_a_question(name):
    card = cards(ORACLE)[name]
    policy = CASES[name].truth.clarification or Clarification()
    assert (card.clarifications > 0) == (policy.max_turns > 0)
    assert card.trajectory.ending == "done"


@every_case
def test_the_considerate_agent_keeps_every_hard_constraint_and_fact(name):
    card = cards(CONSIDERATE)[name]
    assert card.outcome == "passed", card.reason
    assert (card.metric("ecr"), card.metric("ifs"), card.sandbox["miss"], card.calls.failed) == (1, 1, 0, 0)
    assert failed(card) <= {requirement.id for requirement in CASES[name].truth.soft}


def test_the_considerate_agent_leaves_preferences_to_win():
    assert 0.8 < mean_ar(cards(CONSIDERATE)) < 0.975  # undecided labels count as passed here
    assert sum(card.metrics["iisr"] != 1 for card in cards(CONSIDERATE).values()) >= len(CASES) / 2


def test_the_naive_agent_passes_the_plain_cases_and_fails_most_others():
    outcomes = {name: card.outcome for name, card in cards(NAIVE).items()}
    plain = {name for name, case in CASES.items() if case.attributes["trap"] == "plain"}
    assert {name for name, outcome in outcomes.items() if outcome == "passed"} == plain
    assert len(plain) >= 2
    assert mean_ar(cards(NAIVE)) < 0.4  # at most: suspects count as passed


@pytest.mark.parametrize(
    ("name", "requirement"),
    [
        ("nav-museum-by-car", "drives"),
        ("search-pharmacy-late", "open-now"),
        ("search-pharmacy-late", "distance"),
        ("ride-per-head", "whole-price"),
        ("realtime-last-metro", "no-metro"),
        ("local-car-wash-moved", "right-shop"),
    ],
    ids=[
        "a bus for a driver",
        "a closed shop",
        "a made-up distance",
        "a price a head",
        "a train out of reach",
        "an old habit",
    ],
)
def test_the_naive_agent_shows_each_kind_of_failure(name, requirement):
    assert requirement in failed(cards(NAIVE)[name])


def test_no_failure_of_the_naive_agent_is_the_sandbox_s():
    assert all(card.sandbox["miss"] == 0 for card in cards(NAIVE).values())
    assert {card.blame for card in cards(NAIVE).values() if card.outcome == "failed"} == {"agent"}


def test_silence_scores_nothing():
    assert mean_ar(cards("baseline:silent")) == 0
    assert {card.outcome for card in cards("baseline:silent").values()} == {"failed"}


def test_one_polite_sentence_scores_next_to_nothing():
    assert mean_ar(cards("baseline:constant")) <= 0.05


@every_case
def test_politeness_in_the_case_s_own_words_scores_next_to_nothing(name):
    """An agent that repeats the question and the history has been given no credit for words that it was handed."""
    case = CASES[name]
    echo = " ".join([case.visible.query, *case.visible.context.history])
    card = run_function(lambda message: echo, case)
    assert card.outcome != "passed"
    assert (card.bounds_of("ar") or (0, 0))[0] <= 0.15


@every_case
def test_pasting_every_result_fails(name):
    card = _paste(name)
    assert card.outcome == "failed"
    assert card.ar <= 0.4


def test_pasting_every_result_stays_low_on_the_whole():
    assert mean_ar({name: _paste(name) for name in CASES}) < 0.1


@cache
def _paste(name):
    calls = looked_around(name)

    def agent(message, tools):
        return "\n".join(json.dumps(tools.call(r.tool, r.arguments), ensure_ascii=False) for r in calls)

    return run_function(agent, CASES[name])


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("search-pharmacy-late", "I need a chemist close by, how many minutes is it?"),
        ("search-charger-connector", "最近的充电桩在哪儿？"),
        ("search-twin-tearooms", "Please show me the way to the Copper Kettle, I have to be there at four."),
        ("nav-van-headroom", "We want to go to the Tidewater Museum. Where should we park?"),
        ("itinerary-grandma-wheelchair", "带奶奶出去玩一下午，给我排个行程吧。"),
        ("realtime-last-train", "When does the next train to Saltmere leave?"),
        ("ride-child-seat", "想叫车带女儿到青砚儿童医院，叫哪种好？"),
        ("local-dinner-allergy", "Where could we have dinner near here this evening?"),
        ("local-usual-barber", "今天还能去老地方理发吗，有便宜点的价格没有？"),
        ("search-all-closed", "这会儿哪家药店还营业？"),
        ("search-work-cafe", "我想在附近喝咖啡，坐到晚上八点。"),
        ("local-ebike-repair", "Do you know a bike repair place close by that does it today?"),
        ("nav-low-bridge", "Show me the fastest way to Fernhill Nursery."),
        ("nav-toll-or-late", "最晚18:40要到，去青砚机场怎么走？"),
        ("itinerary-errands-order", "Please sort my errands: Crumb Bakery, Harbour Post and Seagrass Library."),
        ("realtime-last-metro", "我要去南坪站，还有地铁吗？"),
        ("ride-per-head", "三个人叫车去青砚火车站，哪种便宜？"),
        ("ride-wheelchair", "I need a ride to Harbour Clinic."),
    ],
)
def test_the_considerate_agent_understands_other_words(name, query):
    case = CASES[name]
    visible = case.visible.model_copy(update={"query": query})
    card = run(resolve_source(CONSIDERATE, root=ROOT), case.model_copy(update={"visible": visible}))
    assert card.outcome == "passed", card.reason
    assert card.sandbox["miss"] == 0
