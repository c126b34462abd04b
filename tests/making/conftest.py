"""The made-up world that the tests of this room share; none of them changes it."""

import pytest

from pytest_mapsat.making.city.places import world_of


@pytest.fixture(scope="session")
def world():
    """A world of two towns, one Chinese, one English."""
    return world_of(7)
