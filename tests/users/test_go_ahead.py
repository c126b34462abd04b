"""Requests for a go-ahead: how often the rules tell one, on messages written blind; tests/natural/README.md has the figures of the first judging."""

import json
from pathlib import Path

import pytest

from pytest_mapsat.reading import asks_go_ahead

HERE = Path(__file__).parent


@pytest.mark.parametrize(("name", "found", "mistaken"), [("goahead_1", 100, 1), ("goahead_2", 97, 1)])
def test_the_figures_are_those_of_the_document(name: str, found: int, mistaken: int) -> None:
    rows = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    read = [(row["asks"], asks_go_ahead(row["text"], row["language"])) for row in rows]
    assert (len(rows), sum(asks for asks, _ in read)) == (200, 100)
    assert read.count((True, True)) == found
    assert read.count((False, True)) == mistaken
