"""Habits: what a user's choices show beyond what was there to choose from, and beyond each other."""

import json
import random

import pytest
from behaviour_logs import found_and_wanted, made_logs

from pytest_mapsat.making import build_from_logs
from pytest_mapsat.making.habits import FALSE_DISCOVERIES, Catalogue, Choice, HabitFinder, PlaceCondition, tail
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


def test_fewer_than_twenty_choices_make_nothing_hard():
    places = cafes(*[QUIET] * 8, *[LOUD] * 12)
    kinds = [identified(places, [at % 8 for at in range(count)]).habits[0].kind for count in (19, 20)]
    assert kinds == ["soft", "hard"]


def test_the_bound_of_a_habit_that_is_kept_in_three_of_four_choices_is_found():
    places = cafes(*[{"price": price} for price in range(10, 50)])
    taken = [
        at
        for cheap, dear in zip(range(10), [15, 20, 25, 30, 35, 39, 18, 28, 33, 12], strict=True)
        for at in (cheap, dear, 9 - cheap, cheap)
    ]
    (habit,) = identified(places, taken).habits
    assert (habit.condition, habit.kind) == (PlaceCondition("price", "most", 19.0), "soft")


def test_a_bound_of_late_is_that_of_the_later_choices():
    places = cafes(*[{"price": price} for price in range(10, 50)])
    (habit,) = identified(places, list(range(0, 40, 2)) + list(range(10)) * 2).habits
    assert (habit.condition, habit.late_only) == (PlaceCondition("price", "most", 19.0), True)


def choices_it_takes(value):
    """Return how many choices show a habit of places where a flag has a value, which half of the places have."""
    places = cafes(*[{"chain": value}] * 20, *[{"chain": not value}] * 20)
    return next(count for count in range(20) if identified(places, list(range(count))).habits)


def test_a_lack_takes_more_proof_than_a_presence():
    # Four times as unlikely by chance: of what half the places have, two choices more.
    assert choices_it_takes(value=False) == choices_it_takes(value=True) + 2


def test_what_is_never_taken_is_a_lack():
    places = cafes(*[{"style": "modern"}] * 8, *[{"style": style} for style in ("old", "plain", "garden", "loft") * 3])
    (habit,) = identified(places, [8 + at % 12 for at in range(36)]).habits
    assert habit.condition == PlaceCondition("style", "is", "modern", forbids=True)
    assert habit.condition.words("en") == "no style “modern”"


def test_a_habit_that_ended_after_two_thirds_is_left_out():
    places = cafes(*[QUIET] * 8, *[LOUD] * 12)
    found = identified(places, [at % 8 for at in range(20)] + [8, 0, 9, 10, 1, 11, 12, 13, 14, 15])
    assert [(out.condition.field, out.why) for out in found.left_out] == [("quiet", "ended")]


def test_among_users_without_habits_no_more_than_the_stated_share_gets_one():
    rng, users, found = random.Random(20_261_128), 400, 0
    names = [f"flag{number}" for number in range(12)]
    rows = [
        {"price": rng.randint(10, 60), "rating": rng.randint(30, 50), **{name: rng.random() < 0.4 for name in names}}
        for _ in range(40)
    ]
    places = cafes(*rows)
    for _ in range(users):
        taken = [rng.randrange(40) for _ in range(30)]
        found += bool(identified(places, taken).habits)
    # Each habit of such a user is false: the rate is at most FALSE_DISCOVERIES of the users.
    assert found / users <= FALSE_DISCOVERIES


def test_no_more_than_the_stated_share_of_what_is_found_is_false():
    rng, right, found = random.Random(11_282_026), 0, 0
    names = [f"flag{number}" for number in range(12)]
    for _ in range(60):
        places = cafes(
            *[{"price": rng.randint(10, 60), **{name: rng.random() < 0.4 for name in names}} for _ in range(60)]
        )
        good = [at for at, place in enumerate(places) if place.row["flag0"]]
        taken = [rng.randrange(60) if rng.random() < 0.1 else rng.choice(good) for _ in range(30)]
        fields = [habit.condition.field for habit in identified(places, taken).habits]
        right, found = right + fields.count("flag0"), found + len(fields)
    assert right >= 55
    assert 1 - right / found <= FALSE_DISCOVERIES
