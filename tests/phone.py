"""A phone in the user's hand and a line at the support desk: a world whose tools belong to two."""

import json
from pathlib import Path
from typing import Any

from pytest_mapsat.sandbox import Refused
from pytest_mapsat.suite import open_suite

MANIFEST = """\
name: telecom
version: "1"
license: MIT
schema_version: 1
domains: {phones: phones that do not work}
sandbox: {world: phone}
"""
#: Tools by name: whose, and whether they write. The names of the user's begin like no word that an agent may hear.
TOOLS = {
    "get_line": ("agent", "read"),
    "reset_line": ("agent", "write"),
    "zebra_status": ("user", "read"),
    "zebra_airplane": ("user", "write"),
    "zebra_speed": ("user", "read"),
    "wait_a_bit": ("both", "write"),
    "break_line": ("world", "write"),
}
NOTHING = {"type": "object", "properties": {}}
CONFTEST = f"""\
import sys
sys.path.append({str(Path(__file__).parent)!r})
import phone

def pytest_mapsat_sandbox(config, case, suite):
    return phone.Phone if suite.manifest.name == "telecom" else None
"""
#: Talks the user through it; what it was shown of the tools goes to where it is asked for.
GOOD = """\
def agent(message, tools, session):
    turn = len([one for one in session.messages if one["role"] == "user"])
    if turn == 1:
        tools.get_line()
        tools.reset_line()
        return "What does the status bar show?"
    if turn == 2:
        return "Please turn airplane mode off."
    return "It works again."
"""


class Phone:
    """The world. What the user sees of the phone is a secret of the user's."""

    def __init__(self, state):
        self.phones, self.lines = state["phones"], state["lines"]

    def get_line(self):
        return self.lines["l1"]

    def reset_line(self):
        return self.lines.change("l1", resets=self.lines["l1"]["resets"] + 1)

    def break_line(self):
        return self.lines.change("l1", works=False)

    def zebra_status(self):
        phone = self.phones["p1"]
        return {"signal": "none" if phone["airplane"] else "good", "airplane": phone["airplane"], "seen": "xylophone"}

    def zebra_airplane(self):
        if self.phones["p1"].get("locked"):
            raise Refused("The switch does not move.")
        return self.phones.change("p1", airplane=not self.phones["p1"]["airplane"])["airplane"]

    def zebra_speed(self):
        while self.phones["p1"].get("stuck"):
            pass
        return {"broken": object()} if self.phones["p1"].get("odd") else {"mbit": [12.5, 3]}

    def wait_a_bit(self):
        return self.lines.change("l1", waits=self.lines["l1"].get("waits", 0) + 1)["waits"]


ANSWERS = [
    {
        "asked": ["status bar"],
        "calls": [{"tool": "zebra_status", "id": "bar"}],
        "say": "Signal: {bar.signal}. Airplane mode: {bar.airplane}.",
    },
    {"asked": ["turn airplane mode", "airplane mode off"], "calls": [{"tool": "zebra_airplane"}], "say": "Done."},
    {"asked": ["which model"], "say": "A {grey} one."},
]


def case(name: str = "no-signal", **parts: Any) -> dict[str, Any]:
    """Return the case of a phone in airplane mode; ``parts`` are further ones of its top, of ``visible`` and of ``truth``."""
    fixed = {"kind": "state", "table": "phones", "where": {"id": {"op": "equal", "value": "p1"}}, "has": {"airplane": {"op": "equal", "value": False}}}  # fmt: skip
    visible = {"query": "My phone has no signal.", **parts.pop("visible", {})}
    truth = {
        "requirements": [
            {"id": "e1", "kind": "asked", "text": "airplane mode is off", "check": fixed, "scope": "outcome"},
            {"id": "e2", "kind": "asked", "text": "nothing else", "check": {"kind": "same_end"}, "scope": "outcome"},
            {"id": "p1", "kind": "policy", "text": "the agent looks once", "check": {"kind": "calls", "tool": "get_line", "at_most": 1}},
        ],
        "end": [{"tool": "reset_line"}, {"tool": "zebra_airplane"}],
        "user": {"answers": ANSWERS},
        **parts.pop("truth", {}),
    }  # fmt: skip
    return {"id": name, "domains": ["phones"], "visible": visible, "truth": truth, **parts}


def write_phone(root: Path, *cases: dict[str, Any]) -> Path:
    """Write the suite into a folder, and return it."""
    tools = [
        {"name": name, "description": f"The tool {name}.", "by": by, "effect": effect, "parameters": NOTHING}
        for name, (by, effect) in TOOLS.items()
    ]
    files = {
        "suite.yaml": MANIFEST,
        "tools.yaml": json.dumps(tools),
        "state/phones.jsonl": json.dumps({"id": "p1", "airplane": True}),
        "state/lines.jsonl": json.dumps({"id": "l1", "works": True, "resets": 0}),
        "cases.jsonl": "\n".join(json.dumps(one) for one in cases or (case(),)),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n", encoding="utf-8")
    return root


def opened(root: Path, *cases: dict[str, Any]):
    """Return the first case of the suite written into a folder, and the suite."""
    suite = open_suite(write_phone(root, *cases))
    suite.sandboxes = (lambda case, suite: Phone,)
    return suite.load(suite.entries(root / "cases.jsonl")[0]), suite
