"""An office with tools of its own, and a suite about it, for tests of recording."""

import json
from pathlib import Path
from typing import Any

from calibrated import trust

TOOLS = '''\
"""Tools that count how often they are called."""
from pathlib import Path

CALLS = Path(__file__).with_name("calls.txt")
ROOMS = [{"id": "r1", "name": "Birch", "seats": 4}, {"id": "r2", "name": "Cedar", "seats": 8}]


def find_rooms(start: str, minutes: int = 60, token: str = ""):
    """List the rooms that are free.

    Args:
        start: when it begins
    """
    with CALLS.open("a") as file:
        file.write(f"find_rooms {start} {minutes}\\n")
    return {"rooms": ROOMS, "session": {"auth_token": "top-secret-value"}, "note": "signed top-secret-value"}


async def book_room(room_id: str):
    """Book a room."""
    if room_id == "r9":
        raise LookupError("no room r9 for key top-secret-value")
    return {"status": "booked", "room_id": room_id}


def odd(what: str):
    """Return what no recording can hold."""
    return {"set": {1}, "big": "x" * 5_000_000, "nan": float("nan")}[what] if what != "deep" else _deep()


def _deep():
    value = []
    for _ in range(100):
        value = [value]
    return value


tools = [find_rooms, book_room, odd]
'''
MANIFEST = """\
name: office
version: "1"
license: MIT
schema_version: 1
domains: {booking: rooms}
"""
AGENT = """\
def agent(message, tools):
    rooms = tools.find_rooms(start="14:00", token="tok-of-the-agent").get("rooms")
    if not rooms:
        return "I found no room."
    tools.book_room(room_id=rooms[-1]["id"])
    return f"I have booked {rooms[-1]['name']} for 14:00."
"""


def case(name: str = "review") -> dict[str, Any]:
    """Return a case that is passed by booking Cedar."""
    return {
        "id": name,
        "domains": ["booking"],
        "visible": {"query": "Book a room.", "context": {"now": "2026-05-07T09:00:00+02:00"}},
        "truth": {
            "requirements": [
                {
                    "id": "cedar",
                    "kind": "asked",
                    "text": "Cedar is booked",
                    "check": {"kind": "says", "any": ["Cedar"], "about": ["Cedar"]},
                },
                {
                    "id": "z1",
                    "text": "Cedar it is",
                    "kind": "hard",
                    "weight": 1.0,
                    "check": {"kind": "says", "any": ["Cedar"], "about": ["Cedar"]},
                },
            ],
            "oracle": [
                {
                    "calls": [
                        {"tool": "find_rooms", "arguments": {"start": "14:00", "token": "tok-of-the-oracle"}},
                        {"tool": "book_room", "arguments": {"room_id": "r2"}},
                    ],
                    "say": "I have booked Cedar.",
                }
            ],
        },
    }


def write_office(folder: Path, *names: str, oracle: bool = True) -> Path:
    """Write the tools, an agent and a suite of cases without recordings or described tools; return the suite."""
    (folder / "office.py").write_text(TOOLS)
    (folder / "bot.py").write_text(AGENT)
    suite = folder / "benchmark_cases"
    suite.mkdir()
    (suite / "suite.yaml").write_text(MANIFEST)
    for name in names or ("review",):
        data = case(name)
        if not oracle:
            data["truth"].pop("oracle")
        (suite / f"{name}.yaml").write_text(json.dumps(data))
    trust(suite)
    return suite


def recordings(suite: Path) -> list[dict[str, object]]:
    """Return the recordings that were kept."""
    return [json.loads(line) for line in (suite / "recordings" / "recorded.jsonl").read_text().splitlines()]
