"""What a made-up city takes from the starter suite: its tools and its words, which have their home there; a wheel has them as data of this package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from pytest_mapsat.model import JsonObject

from .sorts import document

_CHECKOUT = Path(__file__).parents[3] / "benchmark_cases"


def _home(folder: str) -> Traversable:
    packed = files(__package__) / "starter" / folder
    return packed if packed.is_dir() else _CHECKOUT / folder


def tool_files() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the twelve tools that read, by name: those of errands change things, and a city has none."""
    folder = _home("tools")
    for name in sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml")):
        if name != "errands.yaml":
            yield name, (folder / name).read_bytes()


def word_rows() -> dict[str, list[JsonObject]]:
    """Return the tables of words by which the tools read search texts."""
    tables = {
        name: [json.loads(line) for line in (_home("state") / f"{name}.jsonl").read_bytes().splitlines()]
        for name in ("words", "road_words")
    }
    tables["words"] += document()["words"]
    return tables
