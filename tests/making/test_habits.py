"""Habits: what a user's choices show beyond what was there to choose from, and beyond each other."""

import json
import random

import pytest
from behaviour_logs import found_and_wanted, made_logs

from pytest_mapsat.making import build_from_logs
from pytest_mapsat.making.habits import Catalogue, Choice, HabitFinder, PlaceCondition, tail
from pytest_mapsat.making.logs import LogPlace


def measured(folder, seeds, **terms):
    """Return precision and recall of the hidden requirements that are built of made-up logs."""
    right = found = wanted = 0
    for seed in seeds:
        made = made_logs(folder / f"logs-{seed}", seed, **terms)
        build_from_logs(made.folder, folder / f"suite-{seed}")
        lines = (folder / f"suite-{seed}" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        counts = found_and_wanted(made, [json.loads(line) for line in lines])
        right, found, wanted = (a + b for a, b in zip((right, found, wanted), counts, strict=True))
    return right / found, right / wanted


def test_known_habits_are_found_and_little_else(tmp_path):
    precision, recall = measured(tmp_path, (1, 2))
    assert precision >= 0.9
    assert recall >= 0.9


@pytest.mark.long_proof
def test_attributes_that_go_together_do_not_pass_for_habits(tmp_path):
    precision, recall = measured(tmp_path, range(1, 6), related=True)
    assert precision >= 0.9
    assert recall >= 0.75


@pytest.mark.parametrize("share", [0.1, 0.4, 0.75])
@pytest.mark.parametrize("total", [1, 9, 30, 120])
def test_the_tail_is_that_of_the_binomial_distribution(share, total):
    from scipy.stats import binom

    for hits in (0, 1, total // 2, total):
        assert tail([share] * total, hits) == pytest.approx(binom.sf(hits - 1, total, share), rel=1e-9)


def test_the_tail_of_unequal_shares_counts_every_way():
    assert tail([0.5, 0.2], 1) == pytest.approx(1 - 0.5 * 0.8)
    assert tail([0.5, 0.2, 1.0], 3) == pytest.approx(0.1)


def choices_of(taken, places, stated=()):
    """Return choices among all places, one a day, by a user who states some conditions each time."""
    return [
        Choice(
            places[at],
            tuple(places),
            ("cafe", "Lindenau"),
            float(day),
            f"2026-03-{day + 1:02}T15:00:00",
            f"events.jsonl:{day}",
            stated=stated,
        )
        for day, at in enumerate(taken)
    ]


def cafes(*rows):
    return [
        LogPlace(f"c{at}", f"Cafe {at}", "cafe", "Lindenau", None, {"id": f"c{at}", "kind": "cafe", **row})
        for at, row in enumerate(rows)
    ]


def identified(places, taken):
    return HabitFinder(Catalogue(places)).identify(choices_of(taken, places), "cafe")


QUIET, LOUD = {"quiet": True}, {"quiet": False}


def test_what_most_places_have_is_no_habit():
    found = identified(cafes(*[QUIET] * 9, LOUD), [0, 1, 2, 3, 4, 5, 6, 7, 8] * 2)
    assert not found.habits


def test_one_place_that_is_taken_again_and_again_is_no_habit():
    found = identified(cafes(QUIET, QUIET, *[LOUD] * 8), [0] * 20)
    assert not found.habits


def test_a_habit_that_ended_is_left_out_and_told():
    places = cafes(*[QUIET] * 4, *[LOUD] * 6)
    found = identified(places, [0, 1, 2, 3] * 5 + [4, 5, 6, 7, 8, 9, 4])
    assert not found.habits
    assert [(out.condition, out.why) for out in found.left_out] == [(PlaceCondition("quiet", "is", True), "ended")]


def test_a_habit_of_late_counts_as_recent():
    places = cafes(*[QUIET] * 4, *[LOUD] * 8)
    (habit,) = identified(places, [4, 5, 0, 6, 7, 8, 1, 9, 10, 11, 4, 5] + [0, 1, 2, 3] * 3).habits
    assert habit.late_only
    assert habit.windows == (2, 12)


def test_of_two_attributes_that_go_together_the_one_stays_that_holds_beside_the_other():
    both, wifi = {"quiet": True, "wifi": True}, {"quiet": False, "wifi": True}
    places = cafes(*[both] * 5, *[wifi] * 5, *[{"quiet": False, "wifi": False}] * 10)
    found = identified(places, [0, 1, 2, 3, 4] * 5)
    assert [habit.condition.field for habit in found.habits] == ["quiet"]
    (out,) = found.left_out
    assert (out.condition.field, out.why, out.other.field, len(out.shared)) == ("wifi", "explained", "quiet", 25)


def test_two_attributes_that_explain_each_other_are_both_left_out():
    places = cafes(*[{"quiet": True, "wifi": True}] * 5, *[{"quiet": False, "wifi": False}] * 10)
    found = identified(places, [0, 1, 2, 3, 4] * 5)
    assert not found.habits
    assert {(out.condition.field, out.why) for out in found.left_out} == {
        ("quiet", "each explains the other"),
        ("wifi", "each explains the other"),
    }


WIFI = PlaceCondition("wifi", "is", True)
BOTH, NEITHER = {"quiet": True, "wifi": True}, {"quiet": False, "wifi": False}


def test_what_a_query_asks_explains_what_goes_with_it():
    places = cafes(*[BOTH] * 8, {"quiet": False, "wifi": True}, *[NEITHER] * 11)
    identifier = HabitFinder(Catalogue(places))
    choices = choices_of([0, 1, 2, 3, 4, 5, 6, 7] * 3, places)
    (out,) = identifier.identify(choices, "cafe", [WIFI]).left_out
    assert (out.condition.field, out.why, out.other) == ("quiet", "explained", WIFI)


def test_what_was_asked_for_at_each_choice_explains_what_goes_with_it():
    places = cafes(*[BOTH] * 8, {"quiet": False, "wifi": True}, *[NEITHER] * 11)
    choices = choices_of([0, 1, 2, 3, 4, 5, 6, 7] * 3, places, (WIFI,))
    habits = HabitFinder(Catalogue(places)).identify(choices, "cafe").habits
    assert [habit.condition for habit in habits] == [WIFI]


def test_two_habits_that_took_turns_explain_a_third_attribute_together():
    garden, lift = {"garden": True, "lift": False}, {"garden": False, "lift": True}
    rows = [{**row, "cheap": cheap} for row in (garden, lift) for cheap in (True, True, True, False)]
    places = cafes(*rows, *[{"garden": False, "lift": False, "cheap": False}] * 16)
    found = identified(places, [0, 1, 2, 3] * 2 + [4, 5, 6, 7] * 4)
    assert "cheap" not in [habit.condition.field for habit in found.habits]


def taken_of_lists(seed, key, take):
    """Return the habits of a user who takes 20 places, each from a list of ten that is sorted by a figure, or in any order where there is no key."""
    rng = random.Random(seed)
    rows = [{"price": rng.randint(10, 60), "quiet": rng.random() < 0.4, "wifi": rng.random() < 0.5} for _ in range(40)]
    places, choices = cafes(*rows), []
    for day in range(20):
        listed = rng.sample(places, 10)
        listed = sorted(listed, key=lambda place: place.row[key]) if key else listed
        moment = f"2026-03-{day + 1:02}T15:00:00"
        choices.append(Choice(take(rng, listed), tuple(listed), None, float(day), moment, f"events.jsonl:{day}"))
    found = HabitFinder(Catalogue(places)).identify(choices, "cafe")
    return {habit.condition.field for habit in found.habits}


def near_the_top(rng, listed):
    return listed[min(9, int(rng.expovariate(1 / 1.5)))]


def test_who_takes_what_a_sorted_list_shows_first_shows_no_wish_for_its_key():
    assert sum("price" in taken_of_lists(seed, "price", near_the_top) for seed in range(20)) <= 2


def test_a_wish_beside_the_order_of_a_list_is_still_a_habit():
    def quiet_ones(rng, listed):
        return near_the_top(rng, ([place for place in listed if place.row["quiet"]] * 10)[:10] or listed)

    def cheap_ones(rng, listed):
        return rng.choice([place for place in listed if place.row["price"] < 25] or listed)

    assert sum("quiet" in taken_of_lists(seed, "price", quiet_ones) for seed in range(10)) >= 9
    assert sum("price" in taken_of_lists(seed, "", cheap_ones) for seed in range(10)) >= 9
