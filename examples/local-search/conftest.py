"""The towns of this suite are too large to be kept here: the first run makes them up, which takes 2 seconds, and later ones find them."""

from pathlib import Path

from pytest_mapsat.making import BuildRequest, builder_of

HERE = Path(__file__).parent

if not (HERE / "state" / "merchants.jsonl").exists():
    builder_of("merchants")(BuildRequest(seed=30, cities=3, each=3000), HERE)
