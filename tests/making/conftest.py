"""The made-up worlds that the tests of this room share; none of them changes ``world``."""

import pickle
from collections.abc import Iterator

import pytest

from pytest_mapsat.making import city
from pytest_mapsat.making.city import suite
from pytest_mapsat.making.city.places import MadeUpWorld, world_of


@pytest.fixture(scope="package", autouse=True)
def _each_world_is_made_once() -> Iterator[None]:
    """Make the world of a seed once for all tests; a suite adds to its world, so each gets a copy."""
    worlds: dict[object, bytes] = {}

    def copy_of(seed: int, *, towns: int = 2, language: str = "mixed") -> MadeUpWorld:
        asked = (seed, towns, language)
        if asked not in worlds:
            worlds[asked] = pickle.dumps(world_of(seed, towns=towns, language=language))
        world: MadeUpWorld = pickle.loads(worlds[asked])
        return world

    with pytest.MonkeyPatch.context() as patch:
        for module in (city, suite):
            patch.setattr(module, "world_of", copy_of)
        yield


@pytest.fixture(scope="session")
def world() -> MadeUpWorld:
    """A world of two towns, one Chinese, one English."""
    return world_of(7)
