"""The baselines ``surface`` and ``profile``: the first thing that does what is asked, or that and what the profile says."""

from pathlib import Path

import asked_suite
import pytest

from pytest_mapsat.making import build_from_logs
from pytest_mapsat.proof import dialogue_of
from pytest_mapsat.suite import open_suite

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def starter():
    suite = open_suite(ROOT / "benchmark_cases")
    entries = {entry.id: entry for entry in suite.readable()}

    def play(case, kind):
        return dialogue_of(suite.load(entries[case]), suite, kind).turns[0]

    return play


@pytest.fixture
def played(tmp_path):
    def play(kind, **changes):
        suite = open_suite(asked_suite.write_suite(tmp_path / "suite", [asked_suite.case("one", **changes)]))
        return dialogue_of(suite.load(next(suite.readable())), suite, kind)

    return play


def calls(dialogue):
    return [(call.tool, call.arguments) for call in dialogue.turns[0].calls]


def test_first_makes_one_search_and_proposes_the_first_thing_in_it_whatever_is_asked(played):
    dialogue = played("first")
    assert calls(dialogue) == [("find", {"kind": "cafe"})]
    assert dialogue.turns[0].say.startswith("I recommend ")
    assert "Plum House" not in dialogue.turns[0].say


def test_surface_proposes_the_first_thing_that_does_what_is_asked_and_says_no_more(played):
    dialogue = played("surface")
    assert dialogue.turns[0].say == "I recommend Plum House."


def test_surface_reads_no_profile_and_asks_for_nothing_that_the_query_does_not_say(played):
    made = calls(played("surface"))
    assert made == [
        ("find", {"kind": "cafe"}),
        ("details", {"place_id": "c2"}),
        ("way", {"place_id": "c2", "mode": "driving"}),
    ]


def test_profile_reads_the_profile_and_proposes_the_first_thing_that_does_that_too(played):
    dialogue = played("profile")
    assert "Reed Garden" in dialogue.turns[0].say
    assert ("habits", {"uid": "u-1"}) in calls(dialogue)
    assert ("details", {"place_id": "c3"}) in calls(dialogue)


def test_a_way_of_travelling_that_the_query_names_is_looked_up(played):
    made = calls(played("surface", query="A cafe for 40 yuan at most that I can walk to, please."))
    assert made[-1] == ("way", {"place_id": "c2", "mode": "walking"})


def test_figures_that_are_asked_for_are_those_of_the_thing_that_is_proposed(played):
    minutes = {
        "kind": "number",
        "unit": "min",
        "role": "travel_time",
        "equals": {"op": "bound", "tool": "way", "path": "ways.*.minutes"},
    }
    asked = {"id": "time", "kind": "asked", "text": "The time is told", "check": minutes}
    dialogue = played("surface", requirements=[asked_suite.CHEAP, asked])
    assert dialogue.turns[0].say == "I recommend Plum House. It is a 3 min drive."


def test_structured_output_is_that_of_the_thing_that_is_proposed(played):
    dialogue = played("surface", output={"place": {"id": "c4", "name": "Lark Corner", "price_yuan": 38}, "note": "ok"})
    assert dialogue.output == {"place": {"id": "c2", "name": "Plum House", "price_yuan": 30}, "note": "ok"}


def test_where_no_check_tells_what_is_asked_it_says_the_query_back(played):
    unchecked = {"id": "cheap", "kind": "asked", "text": "It is cheap"}
    dialogue = played("surface", requirements=[unchecked, asked_suite.VEGAN])
    assert dialogue.turns[0].say == "A cafe for 40 yuan at most, please."
    assert not dialogue.turns[0].calls


def test_several_things_are_proposed_where_the_oracle_proposes_several(played):
    two = {"kind": "recommends", "all_of": [[name] for _, name, *_ in asked_suite.PLACES], "at_least": 2}
    asked = {"id": "two", "kind": "asked", "text": "Two cafes", "check": two}
    say = "I recommend Reed Garden. I also recommend Lark Corner."
    oracle = [{"calls": asked_suite.CALLS[1:4], "say": say}]
    said = played("surface", requirements=[asked], oracle=oracle).turns[0].say
    assert said == "I recommend Amber Hall. I recommend Plum House."


@pytest.mark.parametrize(
    ("case", "surface", "profile"),
    [
        ("search-work-cafe", "竹影咖啡", "竹影咖啡"),
        ("search-charger-connector", "柳巷充电点", "石桥快充站"),  # the plug stands in the profile
        ("local-hotpot-seafood", "渔湾火锅", "牛九火锅"),  # and so does the allergy
        ("ride-per-head", "双座小车", "双座小车"),  # no thing of a list of places
        ("nav-no-stairs-walk", "Signal Stair", "Signal Stair"),  # nor is a way
    ],
)
def test_in_the_starter_suite_each_falls_for_what_it_does_not_know(starter, case, surface, profile):
    assert surface in starter(case, "surface").say
    assert profile in starter(case, "profile").say


def test_a_search_around_a_first_thing_is_made_around_it(starter):
    calls = starter("nav-low-bridge", "surface").calls
    around = next(call.arguments for call in calls if call.tool == "search_nearby")
    assert (around["lon"], around["lat"]) == (150.05473, 30.23778)


@pytest.mark.parametrize("kind", ["surface", "profile"])
def test_a_thing_that_no_search_returned_is_not_looked_up_by_its_id(played, kind):
    oracle = [{"calls": asked_suite.CALLS[3:], "say": asked_suite.SAY}]
    dialogue = played(kind, oracle=oracle)
    assert not calls(dialogue)
    assert dialogue.turns[0].say == "A cafe for 40 yuan at most, please."


def test_in_a_suite_made_of_logs_surface_searches_before_it_looks_at_the_details(tmp_path):
    build_from_logs(ROOT / "examples" / "logs", tmp_path / "suite")
    suite = open_suite(tmp_path / "suite")
    made = {kind: dialogue_of(suite.load(next(suite.readable())), suite, kind) for kind in ("surface", "profile")}
    # Both kinds of calls follow: the activities have the id of what the oracle takes, too.
    assert [tool for tool, _ in calls(made["surface"])] == ["search_places", "place_details"]
    assert [tool for tool, _ in calls(made["profile"])][:2] == ["get_recent_activity", "get_user_profile"]
    assert calls(made["surface"])[1][1] == {"place_id": "c1"}
    assert made["surface"].turns[0].say == "I recommend Copper Kettle."


def test_a_thing_that_may_do_what_is_asked_is_named_where_none_surely_does(played):
    unsure = {
        "id": "calm",
        "kind": "asked",
        "text": "It is calm",
        "check": {"kind": "recommends", "where": {"calm": True}},
    }
    dialogue = played("surface", requirements=[unsure])
    assert dialogue.turns[0].say.startswith("I recommend Amber Hall.")
