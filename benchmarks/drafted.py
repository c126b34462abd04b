"""How many hidden needs drafts of conversations find: ``python -m benchmarks.drafted FOLDER`` judges conversations whose truth is known, without a model.

FOLDER holds conversations (``01.json`` ...) and ``truth.json``: by file ``{"field", "op", "value", "low", "high"}``, or a list of these that are equally right.
A conversation counts where the field is proposed, as a requirement or as an answer of the user, with a bound or time from ``low`` to ``high``, and with at most
one field that is wrong. Of an answer the bound is not judged: it stands in the user's own words.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from pytest_mapsat.cli import main

Row = dict[str, Any]


def _last(path: str) -> str:
    """Return the last key of a dotted path."""
    return path.removesuffix(".*").rsplit(".", 1)[-1]


def drafted(path: Path) -> tuple[list[tuple[str, Any]], list[str]]:
    """Return what a conversation's draft proposes: fields with their matches, and the phrases of answers."""
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stderr(io.StringIO()) as errors:
        root = Path(name, "suite")
        with contextlib.redirect_stdout(io.StringIO()):
            status = main(["draft", str(root), "--from", str(path), "--id", "draft", "--redact"])
        if status:
            print(f"{path.name}: {errors.getvalue().strip()[:200]}")
            return [], []
        case = yaml.safe_load(next((root / "cases").iterdir()).read_text("utf-8"))
    truth = case["truth"]
    checks = [part.get("check", {}) for part in truth.get("requirements", ())]
    fields = [item for check in checks for key in ("where", "none_where") for item in check.get(key, {}).items()]
    user = truth.get("user") or []
    answers = user if isinstance(user, list) else user.get("answers", [])
    return fields, [phrase for answer in answers if answer.get("draft") for phrase in answer["asked"]]


def _fits(match: Any, need: Row) -> bool:
    """Return whether a match has the value, or a bound or time within the limits, of a need."""
    value = match
    if isinstance(match, dict):
        ends = {"at_most": "max", "at_least": "min", "open_at": "time", "has": "text", "has_not": "text"}
        value = match.get(ends.get(need["op"], "value"))
    low, high = need.get("low", need["value"]), need.get("high", need["value"])
    try:
        return bool(low <= value <= high)
    except TypeError:
        return bool(value == need["value"])


def _keys(path: Path) -> set[str]:
    """Return the keys in the results of a conversation's tools."""
    return set(re.findall(r'"([^"\\]+)": ', path.read_text("utf-8").replace('\\"', '"')))


def judged(folder: Path) -> Iterator[tuple[str, bool, str]]:
    """Yield each conversation's file, whether its need is found, and what is proposed."""
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    for name, written in sorted(truth.items()):
        needs = written if isinstance(written, list) else [written]
        fields, phrases = drafted(folder / f"{name.removesuffix('.json')}.json")
        wanted = {_last(need["field"]) for need in needs}
        right = any(
            _last(path) == _last(need["field"]) and _fits(match, need) for path, match in fields for need in needs
        )
        answered = {_last(phrase) for phrase in phrases} & _keys(folder / f"{name.removesuffix('.json')}.json")
        right = right or bool(answered & wanted)
        named = {key for key in answered if not key.islower() or "_" in key}  # a plain word need not mean the field
        wrong = ({_last(path) for path, _ in fields} | named) - wanted
        yield name, right and len(wrong) <= 1, f"{fields} {phrases or ''}"


if __name__ == "__main__":
    rows = [row for argument in sys.argv[1:] for row in judged(Path(argument))]
    for name, right, proposals in rows:
        print(f"{'found ' if right else 'missed'} {name}: {proposals}")
    print(f"{sum(right for _, right, _ in rows)} of {len(rows)}")
