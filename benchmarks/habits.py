"""How well habits are found: ``python -m benchmarks.habits FOLDER ...`` judges the cases of logs whose truth is known.

Each FOLDER holds a log and ``truth.json``: ``{"currency": "GBP", "users": {uid: {"habits": [{"kind", "field", "op", "value", "strength", "sort", "time"}]}}}``
with ``op`` one of is, is_not, has, has_not, at_most, at_least. A proposal is right where the user has such a habit that lasts to the end, of that kind of place
or of all (``*``): the same field, direction and value; of a bound the share of the catalogue that keeps it may differ by TOLERANCE.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_mapsat.making import build_from_logs

TOLERANCE = 0.15
_OPS = {"max": "at_most", "min": "at_least"}
Row = dict[str, Any]


def _rows(path: Path) -> list[Row]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _keeps(row: Row, field: str, op: str, value: Any) -> bool:
    """Return whether a place keeps a habit."""
    has = row.get(field)
    if op in ("has", "has_not"):
        return (value in (has or ())) == (op == "has")
    if op in ("is", "is_not"):
        return bool((has == value) == (op == "is"))
    if has is None or isinstance(has, str):
        return False
    return bool(has <= value if op == "at_most" else has >= value)


def proposed(case: Row) -> Iterator[tuple[str, str, str, Any]]:
    """Yield kind, field, op and value of each hidden requirement of a case that is not open to review."""
    for part in case["truth"]["requirements"]:
        if part["kind"] == "asked" or part.get("draft"):
            continue
        for key, ops in (("where", ("is", "has")), ("none_where", ("is_not", "has_not"))):
            for field, match in part["check"].get(key, {}).items():
                if not isinstance(match, dict) or match["op"] == "equal":
                    yield part["kind"], field, ops[0], match["value"] if isinstance(match, dict) else match
                elif match["op"] == "between":
                    bound = next(name for name in _OPS if match.get(name) is not None)
                    yield part["kind"], field, _OPS[bound], match[bound]
                elif match["op"] == "contains":
                    yield part["kind"], field, ops[1], match["text"]
                else:
                    yield part["kind"], field, match["op"], match.get("value", match.get("time"))


def _right(found: tuple[str, str, str, Any], habit: Row, places: list[Row]) -> bool:
    """Return whether a proposal is a habit."""
    _, field, op, value = found
    if field != habit["field"]:
        return False
    if isinstance(habit["value"], bool) and habit["op"] == "is_not":
        habit = habit | {"op": "is", "value": not habit["value"]}
    if op != habit["op"] or op not in _OPS.values():
        return bool(op == habit["op"] and value == habit["value"])
    shares = [sum(_keeps(row, field, op, bound) for row in places) / len(places) for bound in (value, habit["value"])]
    return abs(shares[0] - shares[1]) <= TOLERANCE


def judged(folder: Path) -> tuple[Counter[str], Counter[str], str]:
    """Return how many proposals and habits of a log are right and how many there are, by group, and its suite's currency."""
    with tempfile.TemporaryDirectory() as name:
        suite = Path(name, "suite")
        build_from_logs(folder, suite)
        cases = _rows(suite / "cases.jsonl")
        currency = yaml.safe_load((suite / "suite.yaml").read_text("utf-8")).get("currency", "CNY")
    places = _rows(folder / "places.jsonl")
    kind_of = {row["id"]: row["kind"] for row in places}
    visited: dict[str, dict[str, None]] = {}
    for event in _rows(folder / "events.jsonl"):
        if event["type"] in ("order", "navigate"):
            visited.setdefault(event["user"], {})[kind_of[event["place"]]] = None
    by_user = {(case["visible"]["context"]["uid"], case["attributes"]["kind"]): case for case in cases}
    truth: Mapping[str, Row] = json.loads((folder / "truth.json").read_text("utf-8"))
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for uid, kinds in visited.items():
        for kind in kinds:
            all_habits = [each for each in truth["users"][uid]["habits"] if each["kind"] in ("*", kind)]
            habits = [each for each in all_habits if each["time"] != "ended"]
            found = [*proposed(by_user[uid, kind])] if (uid, kind) in by_user else []
            of_kind = [row for row in places if row["kind"] == kind]
            for each in found:
                hit = any(_right(each, habit, of_kind) for habit in habits)
                ended = not hit and any(_right(each, habit, of_kind) for habit in all_habits)
                lack = each[3] is False or each[2].endswith("_not")
                sort = "bound" if each[2] in _OPS.values() else "lack" if lack else "presence"
                groups = ["proposed", f"proposed {each[0]}", f"proposed {sort}"]
                total.update(groups + ["wrong: ended"] * ended)
                right.update(groups if hit else ())
            for habit in habits:
                hit = any(_right(each, habit, of_kind) for each in found)
                names = [habit["sort"], habit["strength"], habit["time"]]
                names += [f"{habit['field']} bound"] if habit["sort"] == "bound" else []
                groups = ["habits", *(f"habits {name}" for name in names)]
                groups += ["habits of all kinds"] if habit["kind"] == "*" else []
                total.update(groups)
                right.update(groups if hit else ())
    total["currency"], right["currency"] = 1, int(currency == truth.get("currency"))
    return right, total, currency


def table(folders: Iterable[Path]) -> Iterator[str]:
    """Yield a line for each group of proposals and habits: right, of so many, and the share."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for folder in folders:
        counts = judged(folder)
        right += counts[0]
        total += counts[1]
    for name in sorted(total):
        yield f"{name:28} {right[name]:5} of {total[name]:5}  {right[name] / total[name]:.3f}"


if __name__ == "__main__":
    print("\n".join(table(map(Path, sys.argv[1:]))))
