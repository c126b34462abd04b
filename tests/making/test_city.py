"""A made-up city: the tables that the tools of the starter suite answer from."""

import itertools
from collections import Counter

from pytest_mapsat.making.city.places import metres_between


def test_about_every_centre_stand_sixteen_places_of_every_sort_within_two_kilometres(world):
    assert [town.language for town in world.towns] == ["zh", "en"]
    for town in world.towns:
        assert len(town.sorts) == 32
        for centre in town.centres:
            for sort in town.sorts:
                rows = [world.place(place) for place in world.group(centre, sort).ids]
                assert len(rows) == 16
                assert max(metres_between((centre.lon, centre.lat), (row["lon"], row["lat"])) for row in rows) < 2000


def test_of_any_three_traits_of_a_group_every_combination_is_that_of_two_places(world):
    for group in list(world.groups.values())[::7]:
        rows = [world.place(place) for place in group.ids]
        has = {name: [trait.holds(row) for row in rows] for name, trait in group.traits.items()}
        for three in itertools.combinations(has.values(), 3):
            assert sorted(Counter(zip(*three, strict=True)).values()) == [2] * 8


def test_no_two_places_of_a_town_share_a_name_a_spot_or_a_number(world):
    for town in world.towns:
        rows = [row for row in world.tables["places"] if row["city"] == town.name]
        for columns in (("id",), ("name",), ("lon", "lat"), ("phone",)):
            assert len({tuple(row[column] for column in columns) for row in rows}) == len(rows)
        assert all(160 <= row["lon"] <= 165 and 31 <= row["lat"] <= 32 for row in rows), "the open sea"
