"""The invented sandbox agrees with itself, exists nowhere, and tells an agent nothing of the truth."""

import json
import re
from collections import defaultdict
from functools import cache

import pytest
from shipped_runs import CASES, SUITE, looked_around

from pytest_mapsat.model import distance_m

#: By mode: metres a minute on a slow and on a fast way, and minutes of waiting, parking or unlocking.
SPEEDS = {"walking": (60, 80, 1), "cycling": (150, 300, 2), "driving": (200, 900, 3), "transit": (200, 500, 8)}


def point(text):
    lon, lat = text.split(",")
    return float(lon), float(lat)


@cache
def recordings():
    """Return what is seen in all cases: listed when the first test asks, not when the file is collected."""
    return [recording for name in CASES for recording in looked_around(name)]


def routes():
    for recording in recordings():
        if recording.tool == "get_route":
            for route in recording.result["routes"]:
                yield recording, route


def places():
    for recording in recordings():
        if recording.tool == "place_details":
            yield recording.result
        elif recording.tool.startswith("search_") and recording.tool != "search_deals":
            yield from recording.result["places"]


def test_no_recording_is_left():
    assert SUITE.recording_spans() == {}


def test_a_place_is_the_same_wherever_it_is_listed():
    known = defaultdict(set)
    for place in places():
        for field in ("name", "kind", "address", "lon", "lat", "hours", "rating", "price_yuan", "phone"):
            if field in place:
                known[place["id"], field].add(place[field])
    assert {key: values for key, values in known.items() if len(values) > 1} == {}


def test_listed_distances_are_as_the_crow_flies_and_sorted():
    found = [recording for recording in recordings() if recording.tool == "search_nearby"]
    assert found
    for recording in found:
        listed = [place["distance_m"] for place in recording.result["places"]]
        assert listed == sorted(listed)
        for place in recording.result["places"]:
            there = distance_m(recording.arguments["lon"], recording.arguments["lat"], place["lon"], place["lat"])
            assert place["distance_m"] == pytest.approx(there, abs=3)


def test_no_route_is_shorter_than_the_crow_flies_nor_absurdly_long():
    for recording, route in routes():
        straight = distance_m(*point(recording.arguments["origin"]), *point(recording.arguments["destination"]))
        assert straight - 20 <= route["distance_m"] <= 3 * straight + 200


def test_every_route_takes_as_long_as_its_mode_needs():
    for recording, route in routes():
        slow, fast, wait = SPEEDS[recording.arguments["mode"]]
        assert route["distance_m"] / fast - 1 <= route["duration_min"] <= route["distance_m"] / slow + wait


def test_only_drivers_meet_tolls_and_those_who_avoid_them_pay_none():
    for recording, route in routes():
        assert ("toll_yuan" in route) == (recording.arguments["mode"] == "driving")
        if recording.arguments.get("avoid_tolls"):
            assert route["toll_yuan"] == 0


def test_rounds_add_up():
    for recording in recordings():
        if recording.tool == "plan_visit_order":
            *walks, whole = recording.result["walks"]
            assert len(walks) == len(recording.result["order"]) + 1
            assert (whole["m"], whole["min"]) == (sum(w["m"] for w in walks), sum(w["min"] for w in walks))


def test_telephone_numbers_are_from_ranges_kept_for_fiction():
    numbers = [place["phone"] for place in places() if "phone" in place]
    assert numbers
    assert all(re.fullmatch(r"555-01\d\d|0999-555-01\d\d", number) for number in numbers)


def test_both_towns_lie_in_the_open_sea():
    points = [(place["lon"], place["lat"]) for place in places()]
    assert all(149.9 < lon < 150.7 and 30.0 < lat < 30.6 for lon, lat in points)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_nothing_that_an_agent_gets_holds_the_truth(case):
    seen = [case.visible.model_dump_json(), *(tool.model_dump_json() for tool in SUITE.tools.values())]
    seen += [json.dumps(recording.result, ensure_ascii=False) for recording in looked_around(case.id)]
    shown = "\n".join(seen)
    hidden = [
        case.id,
        case.truth.intent,
        case.truth.persona,
        *(requirement.text for requirement in case.truth.requirements),
    ]
    hidden += [one.text for requirement in case.truth.implicit for one in requirement.evidence]
    assert [text for text in hidden if text and text in shown] == []


def test_the_user_id_is_never_the_case_id():
    assert all(case.visible.context.uid.startswith("guest-") for case in CASES.values())
