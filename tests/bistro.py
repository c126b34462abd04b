"""A bistro whose last table may go between the question and the booking: a suite with events, and agents that look away or ask again."""

import json
from pathlib import Path
from typing import Any

SUITE = """\
name: bistro
version: "1"
schema_version: 1
domains: {tables: booking tables}
currency: EUR
"""
TOOLS = """\
- name: find_tables
  description: Find free tables.
  parameters: {type: object, properties: {area: {type: string}}}
  answer: {kind: rows, table: slots, where: {area: {op: equal, column: area}}, items: tables, sort: [id]}
  entities: [{items: tables, name: name, id: id}]
  fields: {"tables.*.price": price, "": ignored}
- name: book_table
  description: Book a table.
  effect: write
  asks: [book]
  by: both
  parameters: {type: object, properties: {table_id: {type: string}}, required: [table_id]}
  fields: {"": ignored}
"""
SLOTS = [
    {"id": "T1", "name": "Garden Corner", "area": "garden", "price": 20, "free": 1},
    {"id": "T2", "name": "River Window", "area": "river", "price": 30, "free": 1},
]
CONFTEST = """\
from pytest_mapsat import Refused


class Bistro:
    def __init__(self, state):
        self.state = state

    def book_table(self, table_id):
        table = self.state["slots"][table_id]
        if not table["free"]:
            raise Refused("this table is taken")
        self.state["slots"].change(table_id, free=0)
        bookings = self.state["bookings"]
        return bookings.add({"id": f"B{len(bookings) + 1}", "table": table_id, "price": table["price"]})


def pytest_mapsat_sandbox(config, case, suite):
    return Bistro if suite.manifest.name == "bistro" else None
"""
AGENTS = '''\
"""Agents that book a table."""


def ask(tools, words="Shall I book {name} for {price} EUR?"):
    table = next((row for row in tools.find_tables()["tables"] if row["free"]))
    return table["id"], words.format(**table)


def blind(message, session, tools):
    """Asks once, and books what it had asked for, whatever happens since."""
    if "id" not in session.state:
        session.state["id"], question = ask(tools)
        return question
    if message.lower().startswith("yes"):
        tools.book_table(table_id=session.state["id"])
    return "It is booked."


def watchful(message, session, tools):
    """Looks again before it books, and asks again if something is different."""
    if session.state.get("done"):
        return "Enjoy."
    found, question = ask(tools)
    if message.lower().startswith("yes") and session.state.get("asked") == question:
        tools.book_table(table_id=found)
        session.state["done"] = True
        return "It is booked."
    session.state["asked"] = question
    return question


def told(message, session, tools):
    """Writes down all that it is told."""
    with open("told.txt", "a") as file:
        file.write(repr([message, session.messages]) + "\\n")
    return watchful(message, session, tools)
'''


def case(name: str = "book", events: Any = (), **truth: Any) -> dict[str, Any]:
    """Return a case that asks for a table, in which these events happen."""
    booked = {"kind": "state", "table": "bookings", "count": 1}
    agreed = {"kind": "calls", "tool": "book_table", "at_least": 0, "answered": True, "agreed": True}
    requirements = [
        {"id": "booked", "kind": "asked", "text": "a table is booked", "check": booked},
        {"id": "agreed", "kind": "hard", "text": "the user agrees to the booking", "check": agreed},
    ]
    return {
        "id": name,
        "domains": ["tables"],
        "visible": {"query": "Please book me a table."},
        "truth": {"requirements": requirements, "user": {"confirms": "yes"}} | truth,
        "world": {"events": list(events)} if events else {},
    }


def write_bistro(root: Path, *cases: dict[str, Any], python: bool = True) -> Path:
    """Write the suite, with its sandbox in Python unless that is left out, and the agents beside it; return its folder."""
    folder = root / "cases"
    files = {
        root / "bistro_agents.py": AGENTS,
        folder / "suite.yaml": SUITE,
        folder / "tools.yaml": TOOLS,
        folder / "state/slots.jsonl": "".join(json.dumps(row) + "\n" for row in SLOTS),
        folder / "state/bookings.jsonl": "",
        folder / "cases.jsonl": "".join(json.dumps(each) + "\n" for each in cases or (case(),)),
    } | ({root / "conftest.py": CONFTEST} if python else {})
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
