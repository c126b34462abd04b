"""A suite of cafes whose cases ask for one thing and hide others, for tests of the baselines that know a part of the truth."""

import json
from pathlib import Path
from typing import Any

MANIFEST = """\
name: cafes
version: "2"
license: MIT
schema_version: 1
coordinates: wgs84
language: en
description: Cafes of one street, and how to get there.
domains: {search: Find a place., navigation: Get there.}
"""

TOOLS = """\
- name: find
  description: Find places of a sort.
  parameters:
    type: object
    required: [kind]
    properties: {kind: {type: string}, quiet: {type: boolean}}
  match: {kind: {type: text}, quiet: {type: boolean, role: preference}}
  entities: [{items: places, name: name, id: id, fields: {kind: kind, address: address, price_yuan: price}}]
  answer: {kind: rows, table: places, where: {kind: {op: equal, column: kind}, quiet: {op: equal, column: quiet}}, items: places, show: [id, name, kind, address, price_yuan]}
- name: details
  description: All that is known of a place.
  parameters: {type: object, required: [place_id], properties: {place_id: {type: string}}}
  match: {place_id: {type: id}}
  entities: [{items: places, name: name, id: id, fields: {kind: kind, phone: phone, quiet: flag, vegan: flag, price_yuan: price}}]
  answer: {kind: rows, table: places, where: {place_id: {op: equal, column: id}}, items: places, show: [id, name, kind, phone, quiet, vegan, price_yuan]}
- name: way
  description: The way to a place.
  parameters:
    type: object
    required: [place_id, mode]
    properties: {place_id: {type: string}, mode: {type: string, enum: [driving, walking]}}
  match: {place_id: {type: id}, mode: {type: enum, synonyms: {walking: [walk, on foot]}}}
  entities: [{items: ways, name: road, sort: road, fields: {minutes: duration}}]
  about: [place_id]
  mode: mode
  answer: {kind: rows, table: ways, where: {place_id: {op: equal, column: place}, mode: {op: equal, column: mode}}, items: ways, show: [road, minutes]}
- name: habits
  description: What the user likes.
  profile: true
  parameters: {type: object, required: [uid], properties: {uid: {type: string}}}
  match: {uid: {type: id}}
  fields: {"": text}
  answer: {kind: rows, table: users, where: {uid: {op: equal, column: uid}}, items: users, show: [likes]}
"""

#: By id: name, address, quiet, vegan, price. Plum is what the query asks for; Reed is what the profile says as well, and Lark alone is right.
PLACES = [
    ("c1", "Amber Hall", "1 Mill Lane", False, True, 80),
    ("c2", "Plum House", "2 Mill Lane", False, False, 30),
    ("c3", "Reed Garden", "3 Mill Lane", True, False, 35),
    ("c4", "Lark Corner", "4 Mill Lane", True, True, 38),
]
CHEAP = {
    "id": "cheap", "kind": "asked", "text": "It costs 40 yuan at most",
    "check": {"kind": "recommends", "only": True, "tool": "find", "where": {"price_yuan": {"op": "between", "max": 40}}},
}  # fmt: skip
QUIET = {
    "id": "quiet", "kind": "hard", "text": "It is quiet", "source": "profile", "check": {"kind": "recommends", "any_of": ["Reed Garden", "Lark Corner"], "only": True},
    "evidence": [{"text": "Chose quiet places 9 times of 10", "count": 9, "total": 10, "recency": "habit", "need": "direct"}],
}  # fmt: skip
VEGAN = {
    "id": "vegan", "kind": "hard", "text": "It has vegan food", "source": "context", "check": {"kind": "recommends", "any_of": ["Amber Hall", "Lark Corner"], "only": True},
    "evidence": [{"text": "Eats vegan today", "relevance": "strong", "recency": "recent", "need": "direct"}],
}  # fmt: skip
CALLS = [
    {"tool": "habits", "arguments": {"uid": "u-1"}},
    {"tool": "find", "arguments": {"kind": "cafe", "quiet": True}},
    {"tool": "details", "arguments": {"place_id": "c3"}},
    {"tool": "details", "arguments": {"place_id": "c4"}},
    {"tool": "way", "arguments": {"place_id": "c4", "mode": "walking"}},
]
SAY = "I recommend Lark Corner at 4 Mill Lane, which is quiet and has vegan food. It is a 14 min walk by Low Road."


def case(name: str, *, query: str = "A cafe for 40 yuan at most, please.", **changes: Any) -> dict[str, Any]:
    """Return a case; ``changes`` replace parts of its truth."""
    truth = {
        "requirements": [CHEAP, QUIET, VEGAN],
        "tools": [{"name": "find"}, {"name": "details"}],
        "clarification": {"max_turns": 1},
        "oracle": [{"calls": CALLS, "say": SAY}],
    }
    return {
        "id": name,
        "domains": ["search"],
        "difficulty": "L1",
        "attributes": {"query": "own"},
        "visible": {"query": query, "context": {"now": "2026-05-07T18:20:00+08:00", "city": "Lindenau", "uid": "u-1"}},
        "truth": truth | changes,
    }


def write_suite(folder: Path, cases: list[dict[str, Any]]) -> Path:
    """Write the suite with some cases, and return its folder."""
    (folder / "state").mkdir(parents=True)
    (folder / "suite.yaml").write_text(MANIFEST)
    (folder / "tools.yaml").write_text(TOOLS)
    rows = [
        {"id": id_, "name": name, "kind": "cafe", "address": address, "quiet": quiet, "vegan": vegan, "price_yuan": price, "phone": f"555-010{id_[1]}"}
        for id_, name, address, quiet, vegan, price in PLACES
    ]  # fmt: skip
    ways = [
        {"place": row["id"], "mode": mode, "road": road, "minutes": minutes + int(row["id"][1])}
        for row in rows
        for mode, road, minutes in (("driving", "High Road", 1), ("walking", "Low Road", 10))
    ]
    for table, data in (("places", rows), ("ways", ways), ("users", [{"uid": "u-1", "likes": "quiet places"}])):
        (folder / "state" / f"{table}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
    (folder / "cases.jsonl").write_text("".join(json.dumps(data) + "\n" for data in cases))
    return folder
