"""A made-up city: the tables that the tools of the starter suite answer from."""

import pytest

from pytest_mapsat.building.city import metres_between, world_of


@pytest.fixture(scope="module")
def world():
    """A world of two towns, one Chinese, one English."""
    return world_of(7)


def test_about_every_centre_stand_eight_places_of_every_sort_within_two_kilometres(world):
    assert [town.language for town in world.towns] == ["zh", "en"]
    for town in world.towns:
        assert len(town.sorts) == 32
        for centre in town.centres:
            for sort in town.sorts:
                rows = [world.place(place) for place in world.group(centre, sort).ids]
                assert len(rows) >= 8
                assert max(metres_between((centre.lon, centre.lat), (row["lon"], row["lat"])) for row in rows) < 2000


def test_of_a_group_one_place_has_all_traits_and_for_each_another_lacks_it_alone(world):
    for group in world.groups.values():
        assert all(trait.holds(world.place(group.right)) for trait in group.traits.values())
        assert group.lacks.keys() == group.traits.keys()
        for lacking, places in group.lacks.items():
            for place in places:
                row = world.place(place)
                assert [name for name, trait in group.traits.items() if not trait.holds(row)] == [lacking]


def test_no_two_places_of_a_town_share_a_name_a_spot_or_a_number(world):
    for town in world.towns:
        rows = [row for row in world.tables["places"] if row["city"] == town.name]
        for columns in (("id",), ("name",), ("lon", "lat"), ("phone",)):
            assert len({tuple(row[column] for column in columns) for row in rows}) == len(rows)
        assert all(160 <= row["lon"] <= 165 and 31 <= row["lat"] <= 32 for row in rows), "the open sea"
