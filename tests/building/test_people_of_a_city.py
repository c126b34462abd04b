"""What people do in a made-up city follows their habits, and the rows about them say what they did."""

from datetime import datetime

import pytest

from pytest_mapsat.building import Draws
from pytest_mapsat.building.city import Habit, activity_row, chain_of, meets

UNTIL = datetime.fromisoformat("2026-06-01T18:00:00+08:00")


@pytest.fixture(scope="module")
def home(world):
    return world.towns[1].centres[2]


def habits_of(world, home):
    traits = world.group(home, "restaurant").traits
    vegan, step_free = traits["vegan"], traits["step_free"]
    usual = world.group(home, "barber").ids[0]
    return [
        Habit("restaurants", vegan.label, 9, 12, early=3, late=6, sort="restaurant", where=vegan.where),
        Habit("restaurants", step_free.label, 8, 12, sort="restaurant", where=step_free.where),
        Habit("restaurants", "asks when the kitchen closes", 7, 12, sort="restaurant"),
        Habit("mode", "walking", 7, 12, sort="restaurant", mode="walking"),
        Habit("barbers", "the usual one", 9, 10, early=8, sort="barber", where={"id": usual}),
        Habit("rides", "asks for the wait", 5, 8),
    ]


def test_a_chain_follows_each_habit_as_often_as_it_says_early_and_late(world, home):
    habits = habits_of(world, home)
    for number in range(5):
        events = chain_of(Draws("chain", number), "u-1", habits, world, UNTIL, home=home)
        row = activity_row("u-1", events, habits, world, UNTIL)
        for habit, counted in zip(habits, row["habits"], strict=True):
            assert (counted["times"], counted["of"]) == (habit.times, habit.of)
            assert counted["early"] + counted["late"] == habit.times
            if habit.halves:
                assert (counted["early"], counted["late"]) == habit.halves
        usual = row["visits"][0]
        assert usual["name"] == world.place(world.group(home, "barber").ids[0])["name"]
        assert (usual["times"], usual["early"], usual["late"]) == (9, 8, 1)


def test_the_events_are_those_of_a_log_and_lie_in_the_ninety_days_before(world, home):
    events = chain_of(Draws("chain", 1), "u-1", habits_of(world, home), world, UNTIL, home=home)
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
    habit = Habit("cafes", trait.label, 400, 400, sort="cafe", where=trait.where)
    events = chain_of(Draws("chain"), "u-1", [habit], world, UNTIL, home=home, chance=10)
    taken = [event for event in events if event["type"] in ("navigate", "order")]
    cafes = [row for row in (world.place(event["place"]) for event in taken) if row["kind"] == "cafe"]
    followed = sum(meets(row, trait.where) for row in cafes)
    assert len(cafes) == 400
    assert 360 <= followed < 400


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ([(9, 8)], "found 9 times of 8"),
        ([(5, 8), (5, 9)], "`of` differs"),
        ([(5, 8), (4, 8)], "4 times of 3 cannot be"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts, told, world, home):
    with pytest.raises(ValueError, match=told):
        chain_of(
            Draws("chain"),
            "u-1",
            [
                Habit("cafes", mode, times, of, sort="cafe", mode=mode)
                for mode, (times, of) in zip(("walking", "cycling"), counts, strict=False)
            ],
            world,
            UNTIL,
            home=home,
        )
