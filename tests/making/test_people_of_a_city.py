"""What people do in a made-up city follows their habits, and the rows about them say what they did."""

from datetime import datetime

import pytest

from pytest_mapsat.making import Draws
from pytest_mapsat.making.city import PlannedHabit, activity_row, chain_of
from pytest_mapsat.making.city.places import meets

UNTIL = datetime.fromisoformat("2026-06-01T18:00:00+08:00")


@pytest.fixture(scope="module")
def home(world):
    return world.towns[1].centres[2]


def habits_of(world, home):
    traits = world.group(home, "restaurant").traits
    vegan, step_free = traits["vegan"], traits["step_free"]
    dogs = world.group(home, "cafe").traits["dogs"]
    return [
        PlannedHabit("restaurants", vegan.label, "restaurant", vegan.where, 12, 3, 6),
        PlannedHabit("restaurants", step_free.label, "restaurant", step_free.where, 12, 4, 4),
        PlannedHabit("cafes", dogs.label, "cafe", dogs.where, 10, 5, 0),
    ]


def test_a_chain_follows_each_habit_at_least_as_often_as_it_says_early_and_late(world, home):
    habits = habits_of(world, home)
    for number in range(5):
        events = chain_of(Draws("chain", number), "u-1", habits, world, UNTIL, home=home, chance=0)
        row = activity_row("u-1", events, habits, world, UNTIL)
        for habit, counted in zip(habits, row["habits"], strict=True):
            assert counted["of"] == habit.of
            assert counted["early"] >= habit.early
            assert counted["late"] >= habit.late
            assert counted["early"] + counted["late"] == counted["times"]


def test_the_events_are_those_of_a_log_and_lie_in_the_ninety_days_before(world, home):
    events = chain_of(Draws("chain", 1), "u-1", habits_of(world, home), world, UNTIL, home=home, chance=0)
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    for event in events:
        assert 1 <= (UNTIL.date() - datetime.fromisoformat(event["at"]).date()).days <= 90
        assert event["user"] == "u-1"
        told = {"search": "query", "filter": "where", "say": "text"}.get(event["type"], "place")
        assert event[told]
    searches = [event for event in events if event["type"] == "search" and "shown" in event]
    taken = {event["session"]: event["place"] for event in events if event["type"] in ("navigate", "order")}
    assert len(searches) == len(taken)
    for event in searches:
        assert taken[event["session"]] in event["shown"], "what is taken was on offer"


def test_by_chance_a_tenth_of_the_choices_follow_nothing(world, home):
    trait = world.group(home, "cafe").traits["dogs"]
    habit = PlannedHabit("cafes", trait.label, "cafe", trait.where, 400, 200, 200)
    events = chain_of(Draws("chain"), "u-1", [habit], world, UNTIL, home=home, chance=10)
    taken = [event for event in events if event["type"] in ("navigate", "order")]
    cafes = [row for row in (world.place(event["place"]) for event in taken) if row["kind"] == "cafe"]
    followed = sum(meets(row, trait.where) for row in cafes)
    assert len(cafes) == 400
    assert 360 <= followed < 400
