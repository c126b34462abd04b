"""A toy sandbox with state: a shop whose orders can be found, cancelled and split; and agents that use it."""

import json
import re
from pathlib import Path
from typing import Any

MANIFEST = """\
name: shop
version: "1"
license: MIT
schema_version: 1
domains: {orders: looking after orders}
sandbox: {shop: north}
"""

TOOLS = """\
- name: find_order
  description: Look an order up.
  parameters: {type: object, properties: {number: {type: string}}, required: [number]}
  fields: {found: flag, id: id, status: ignored, items: ignored, total: price, why: ignored}
- name: cancel_order
  description: Cancel an order that has not left yet.
  effect: write
  parameters:
    type: object
    properties:
      number: {type: string}
      reason: {type: string, enum: [changed mind, too late]}
    required: [number, reason]
  match:
    reason: {type: enum, synonyms: {changed mind: [no longer wanted]}}
  fields: {id: id, status: ignored, items: ignored, total: price, why: ignored}
- name: opening_hours
  description: When the shop is open.
  parameters: {type: object, properties: {}}
  fields: {hours: hours}
"""

ORDERS = [
    {"id": "o1", "status": "open", "total": 20, "items": [{"sku": "cup", "count": 2}]},
    {"id": "o2", "status": "shipped", "total": 35, "items": []},
]

#: The sandbox, as the page on sandboxes shows it.
CONFTEST = re.findall(
    r"```python\n# conftest.py\n(.*?)```",
    (Path(__file__).resolve().parents[1] / "docs" / "how-to" / "build-a-sandbox.md").read_text(encoding="utf-8"),
    re.DOTALL,
)[0]

#: Cancels the order that can be cancelled; asks for the other one first, and is refused.
GOOD = """\
def agent(message, tools):
    refused = tools.cancel_order(number="o2", reason="too late")
    assert refused["status"] == "refused", refused
    assert tools.find_order(number="o1")["status"] == "open"
    tools.cancel_order(number="o1", reason="no longer wanted")
    assert tools.find_order(number="o1")["status"] == "cancelled"
    hours = tools.opening_hours()["hours"]
    return f"Order o1 is cancelled; you get 20 back. We are open {hours}."
"""


def case(name: str = "cancel") -> dict[str, Any]:
    """Return a case that asks for an order to be cancelled."""
    cancelled = {
        "kind": "calls",
        "tool": "cancel_order",
        "with": {"number": {"op": "equal", "value": "o1"}},
        "answered": True,
    }
    return {
        "id": name,
        "domains": ["orders"],
        "visible": {"query": "Please cancel my order o1."},
        "truth": {
            "requirements": [
                {"id": "e1", "kind": "asked", "text": "the order is cancelled", "check": cancelled},
                {
                    "id": "p1",
                    "kind": "policy",
                    "text": "it looks first",
                    "check": {"kind": "calls", "tool": "find_order"},
                },
            ],
            "tools": [
                {"name": "find_order", "required": ["number"]},
                {"name": "cancel_order", "after": ["find_order"]},
            ],
        },
    }


def write_shop(root: Path, *cases: dict[str, Any]) -> Path:
    """Write the shop's suite into a folder, and return it."""
    cases = cases or (case(),)
    files = {
        "suite.yaml": MANIFEST,
        "tools.yaml": TOOLS,
        "state/orders.jsonl": "".join(json.dumps(row) + "\n" for row in ORDERS),
        "cases.jsonl": "".join(json.dumps(one) + "\n" for one in cases),
        "recordings/hours.jsonl": "".join(
            json.dumps(
                {"case": one["id"], "tool": "opening_hours", "arguments": {}, "result": {"hours": "09:00-18:00"}}
            )
            + "\n"
            for one in cases
        ),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root
