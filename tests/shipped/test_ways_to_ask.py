"""Sensible calls by people who saw neither tables nor code are answered, and with nothing outside of what they asked."""

import json
from pathlib import Path

import pytest
from shipped_runs import CASES, SUITE

from pytest_mapsat.model import distance_m
from pytest_mapsat.sandbox import make_sandbox

#: For each case calls in words, languages, forms and places of their own; ``fruitful``: what the oracle asks likewise brings something.
CALLS = json.loads((Path(__file__).parent / "ways_to_ask.json").read_text("utf-8"))
every_case = pytest.mark.parametrize("name", CALLS)


def answers(name):
    sandbox = make_sandbox(CASES[name], SUITE)
    return [(call, sandbox.call(call["tool"], call["arguments"])) for call in CALLS[name]]


def empty(result):
    lists = [value for value in result.values() if isinstance(value, list)]
    return bool(lists) and not any(lists)


def test_at_most_three_in_a_hundred_go_unanswered():
    missed = [
        (name, call)
        for name in CALLS
        for call, answer in answers(name)
        if answer.status != "ok" or (call.get("fruitful") and empty(answer.result))
    ]
    assert all(len(calls) >= 10 for calls in CALLS.values())
    assert len(missed) <= 0.03 * sum(map(len, CALLS.values())), missed


@every_case
def test_nothing_lies_outside_the_circle_or_the_town(name):
    for call, answer in answers(name):
        arguments = call["arguments"]
        for place in answer.result.get("places", ()) if call["tool"] == "search_nearby" else ():
            apart = distance_m(float(arguments["lon"]), float(arguments["lat"]), place["lon"], place["lat"])
            assert apart <= float(arguments.get("radius_m", 3000))
            assert place["distance_m"] == round(apart)
        if call["tool"] == "search_poi":
            east = CASES[name].visible.context.city == "青砚市"
            assert all((place["lon"] > 150.4) == east for place in answer.result["places"])


@every_case
def test_walking_is_never_quicker_than_driving_and_no_way_shorter_than_the_crow_flies(name):
    sandbox, here = make_sandbox(CASES[name], SUITE), CASES[name].visible.context.location
    for row in SUITE.tables["places"].rows:
        if abs(row["lon"] - here.lon) < 0.3:
            ends = {"origin": f"{here.lon},{here.lat}", "destination": f"{row['lon']},{row['lat']}"}
            found = {
                mode: sandbox.call("get_route", {**ends, "mode": mode}).result["routes"][0]
                for mode in ("walking", "cycling", "driving")
            }
            straight = distance_m(here.lon, here.lat, row["lon"], row["lat"])
            assert all(route["distance_m"] >= straight - 1 for route in found.values())
            assert found["walking"]["duration_min"] >= found["driving"]["duration_min"] - 2
