"""A tiny suite for tests of the plugin: three cases in two domains, one tool, and agents that pass or fail them."""

import json
from pathlib import Path
from typing import Any

from calibrated import trust

MANIFEST = """\
name: tiny
version: "1"
license: MIT
schema_version: 1
coordinates: wgs84
domains:
  navigation: routes
  search: finding places
"""

TOOL = """\
name: search_poi
description: Find places by a keyword.
parameters:
  type: object
  properties:
    query: {type: string, description: what to look for}
  required: [query]
match:
  query: {type: text}
entities:
  - {items: pois, name: name, fields: {open: ignored}}
"""

#: Passes every case: looks up, names the open charger.
GOOD = """\
def agent(message, tools):
    pois = tools.search_poi(query="charger")["pois"]
    place = next(poi for poi in pois if poi["open"])
    return f"I suggest {place['name']}."
"""

#: Fails the hard requirement of every case: names the closed charger.
BAD = """\
def agent(message, tools):
    pois = tools.search_poi(query="charger")["pois"]
    return f"I suggest {pois[0]['name']}."
"""


def case(name: str, domain: str = "navigation", **changes: Any) -> dict[str, Any]:
    """Return a case: one explicit requirement, one hard and one soft implicit one, one fact, one expected tool."""
    data: dict[str, Any] = {
        "id": name,
        "domains": [domain],
        "difficulty": "L1",
        "language": "en",
        "visible": {
            "query": "Take me to a charger.",
            "context": {"now": "2026-05-07T18:20:00+08:00", "city": "Lindenau", "uid": "u-1"},
        },
        "truth": {
            "intent": "an open charger, near a cafe",
            "requirements": [
                {"id": "e1", "kind": "asked", "text": "a charger is named", "check": _names("Blue Bay", "Old Mill")},
                {"id": "z1", "text": "it is open now", "kind": "hard", "weight": 1.0, "check": _names("Blue Bay")},
                {
                    "id": "z2",
                    "text": "a cafe is near",
                    "kind": "soft",
                    "weight": 1.0,
                    "check": {"kind": "says", "any": ["cafe"], "about": ["cafe"]},
                },
                {"id": "f1", "kind": "fact", "text": "the place was found", "check": _names("Blue Bay", "Old Mill")},
            ],
            "clarification": {"max_turns": 1},
            "tools": [{"name": "search_poi", "required": ["query"]}],
        },
    }
    data.update(changes)
    return data


def recording(name: str) -> dict[str, Any]:
    """Return the recording that answers the agents' call."""
    pois = [{"name": "Old Mill", "open": False}, {"name": "Blue Bay", "open": True}]
    return {"case": name, "tool": "search_poi", "arguments": {"query": "charger"}, "result": {"pois": pois}}


def write_suite(folder: Path, cases: dict[str, list[dict[str, Any]]] | None = None) -> Path:
    """Write the suite below ``folder`` and return it.

    Args:
        folder: becomes the suite.
        cases: file name -> cases; by default two navigation cases in YAML and a search case in JSONL.
    """
    files = _default() if cases is None else cases
    (folder / "tools").mkdir(parents=True)
    (folder / "recordings").mkdir()
    (folder / "suite.yaml").write_text(MANIFEST)
    (folder / "tools" / "search_poi.yaml").write_text(TOOL)
    lines = [json.dumps(recording(one["id"])) + "\n" for many in files.values() for one in many]
    (folder / "recordings" / "all.jsonl").write_text("".join(lines))
    for name, many in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(one) + "\n" for one in many))
        else:
            path.write_text(json.dumps(many, indent=1))  # JSON is YAML
    trust(folder)
    return folder


def _default() -> dict[str, list[dict[str, Any]]]:
    return {
        "nav/a.yaml": [case("nav-one"), case("nav-two", difficulty="L2")],
        "search/b.jsonl": [case("find-one", "search")],
    }


def _names(*names: str) -> dict[str, Any]:
    return {"kind": "says", "any": list(names), "about": list(names)}
