"""The tiny suite with one case that has an oracle, and labelled answers to it."""

import json
from pathlib import Path
from typing import Any

import tiny_suite

LABELS = {"e1": "passed", "z1": "passed", "f1": "passed"}
WRONG = LABELS | {"z1": "failed"}


def answer(**changes: Any) -> dict[str, Any]:
    """Return a right answer to the case nav-one."""
    return {"case": "nav-one", "id": "r1", "by": "person", "text": "I suggest Blue Bay.", "labels": LABELS} | changes


def lines(*values: Any) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def write_suite(root: Path, *answers: dict[str, Any]) -> Path:
    """Write the suite: nav-one with an oracle, nav-two without, and the answers."""
    oracle = [{"calls": [{"tool": "search_poi", "arguments": {"query": "charger"}}], "say": "Blue Bay."}]
    case = tiny_suite.case("nav-one")
    case["truth"]["oracle"] = oracle
    folder = tiny_suite.write_suite(root, {"a.yaml": [case], "b.yaml": [tiny_suite.case("nav-two")]})
    (folder / "labels").mkdir()
    if answers:
        write_answers(folder, *answers)
    return folder


def write_answers(folder: Path, *answers: dict[str, Any]) -> None:
    (folder / "labels" / "a.jsonl").write_text(lines(*answers), encoding="utf-8")
