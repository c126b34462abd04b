"""Synthetic inputs: bare parametrised tests, and suites of trivial cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

_MANIFEST = """name: synthetic
version: "1"
license: MIT
schema_version: 1
coordinates: wgs84
domains: {navigation: routes, search: places}
"""

_TOOL = """name: search_poi
description: Find places by a keyword.
parameters:
  type: object
  properties: {query: {type: string, description: what to look for}}
  required: [query]
match:
  query: {type: text}
entities:
  - {items: pois, name: name}
"""

_AGENT = """
def agent(message, tools):
    found = tools.search_poi(query="charger")
    return f"I suggest {found['pois'][0]['name']}."
"""

_WAITING = """
import asyncio
import time

async def waits(message, tools):
    await asyncio.sleep({seconds})
    return f"I suggest {{tools.search_poi(query='charger')['pois'][0]['name']}}."

def blocks(message, tools):
    time.sleep({seconds})
    return f"I suggest {{tools.search_poi(query='charger')['pois'][0]['name']}}."
"""


def waiting_agents(folder: Path, seconds: float) -> None:
    """Write agents that wait before they answer into the folder of a suite."""
    (folder / "waiting_agents.py").write_text(_WAITING.format(seconds=seconds))


def bare_tests(folder: Path, count: int, *, marks: bool = False) -> Path:
    """Write a test module with one function parametrised ``count`` times."""
    folder.mkdir(parents=True)
    mark = ", marks=[pytest.mark.navigation, pytest.mark.search]" if marks else ""
    (folder / "test_bare.py").write_text(
        "import pytest\n"
        f"@pytest.mark.parametrize('value', [pytest.param(n, id=f'case-{{n:06}}'{mark}) for n in range({count})])\n"
        "def test_case(value):\n    assert value >= 0\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    navigation: n\n    search: s\n")
    return folder


def unrelated_test(folder: Path) -> Path:
    """Write a project with one trivial test, and a plugin that does nothing."""
    folder.mkdir(parents=True)
    (folder / "test_one.py").write_text("def test_one():\n    assert True is not False\n")
    (folder / "empty_plugin.py").write_text("")
    return folder


def suite(
    folder: Path,
    count: int,
    *,
    padding: int = 0,
    recording_padding: int = 0,
    attributes: Callable[[int], dict[str, str]] | None = None,
) -> Path:
    """Write a suite of ``count`` trivial cases in one JSONL file, and an agent that passes them all.

    Each case has one requirement of each kind with a check, one expected tool and one recording; ``padding`` and ``recording_padding`` add characters to case and recording,
    ``attributes`` gives the attributes of a case by its number.
    """
    cases = folder / "benchmark_cases"
    (cases / "tools").mkdir(parents=True)
    (cases / "recordings").mkdir()
    (cases / "suite.yaml").write_text(_MANIFEST)
    (cases / "tools" / "search_poi.yaml").write_text(_TOOL)
    (folder / "trivial_agent.py").write_text(_AGENT)
    (folder / "pytest.ini").write_text("[pytest]\n")
    with (cases / "cases.jsonl").open("w") as file, (cases / "recordings" / "recordings.jsonl").open("w") as recordings:
        for number in range(count):
            name = f"case-{number:06}"
            own = {} if attributes is None else attributes(number)
            file.write(json.dumps(_case(name, padding, own), ensure_ascii=False, separators=(",", ":")) + "\n")
            recordings.write(json.dumps(_recording(name, recording_padding), separators=(",", ":")) + "\n")
    return folder


def larger_run(saved: Path, target: Path, count: int) -> Path:
    """Write a run of many cases out of a small one: each card anew, with another id wherever the id stands in it."""
    head, rest = saved.read_text(encoding="utf-8").split('"cases": [\n')
    cards, tail = rest.split("\n],\n")
    listed = [(json.loads(card)["id"], card) for card in cards.split(",\n")]
    grown = (
        card.replace(f'"{case}"', f'"c{number:06}"').replace(case, f"c{number:06}")
        for number in range(count)
        for case, card in (listed[number % len(listed)],)
    )
    target.write_text(f'{head}"cases": [\n{("," + chr(10)).join(grown)}\n],\n{tail}', encoding="utf-8")
    return target


def _case(name: str, padding: int, attributes: dict[str, str]) -> dict[str, object]:
    said = {"kind": "says", "any": ["Blue Bay"]}
    return {
        "id": name,
        "domains": ["navigation", "search"],
        "difficulty": "L1",
        "language": "en",
        **({"attributes": attributes} if attributes else {}),
        "visible": {
            "query": "Take me to a charger." + "x" * padding,
            "context": {"now": "2026-05-07T18:20:00+08:00", "city": "Town"},
        },
        "truth": {
            "intent": "a charger",
            "requirements": [
                {"id": "e1", "kind": "asked", "text": "a charger is named", "check": said},
                {"id": "z1", "text": "it is Blue Bay", "kind": "hard", "weight": 1.0, "check": said},
                {"id": "f1", "kind": "fact", "text": "the name is a found one", "check": said},
            ],
            "clarification": {"max_turns": 1},
            "tools": [{"name": "search_poi", "required": ["query"]}],
        },
    }


def _recording(name: str, padding: int) -> dict[str, object]:
    pois = [{"name": "Blue Bay", "lon": 1.0, "lat": 2.0}]
    result = {"pois": pois, **({"about": "x" * padding} if padding else {})}
    return {"case": name, "tool": "search_poi", "arguments": {"query": "charger"}, "result": result}
