"""Measure the ranked search on towns and queries that others wrote: ``python -m benchmarks.towns FOLDER``.

Each folder in FOLDER is a town: ``merchants.jsonl`` in the form of ``mapsat build merchants``, ``merchant_words.jsonl`` (declared synonyms), ``flags.json`` (further
columns of truth values with the phrase that the suite declares for each), and ``queries.jsonl``, a line ``{"query", "wording", "truth"}`` each. The truth is a set of
conditions on columns, so that the right merchants are computed and not chosen by hand. ``--truth`` prints how many each query has, and asks no search.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import statistics
import tempfile
from pathlib import Path

DAY = 24 * 60
SPAN = re.compile(r"(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)")
#: Conditions of one value, and conditions that take the value of a named merchant: "above_of".
PLAIN = {
    "is": lambda has, want: has == want,
    "not": lambda has, want: has != want,
    "in": lambda has, want: has in want,
    "has": lambda has, want: want in has,
    "lacks": lambda has, want: want not in has,
    "at_least": lambda has, want: has is not None and has >= want,
    "at_most": lambda has, want: has is not None and has <= want,
    "above": lambda has, want: has is not None and has > want,
    "below": lambda has, want: has is not None and has < want,
}


def minutes(clock):
    """Return minutes after midnight; the hours before 05:00 belong to the night before."""
    hour, minute = map(int, clock.split(":"))
    return hour * 60 + minute + (DAY if hour < 5 else 0)


def spans(hours):
    """Return when a merchant opens and closes on each kind of day; a closing past midnight is above 1440."""
    found = [tuple(map(int, match)) for match in SPAN.findall(hours)]
    pairs = [(60 * a + b, 60 * c + d) for a, b, c, d in found]
    return [(start, end if end > start else end + DAY) for start, end in pairs]


def hours_hold(hours, way, clock):
    """Return whether a condition on opening hours holds on every kind of day."""
    wanted, days = minutes(clock), spans(hours)
    inside = [start <= at < end for start, end in days for at in (wanted % DAY,)]
    late = [start <= wanted % DAY + DAY < end for start, end in days]
    is_open = [a or b for a, b in zip(inside, late, strict=True)]
    whole = [end - start >= DAY for start, end in days]
    return {
        "open_at": lambda: all(is_open),
        "not_open_at": lambda: not any(is_open),
        "closes_before": lambda: not any(whole) and all(end < wanted for _, end in days),
        "closes_by": lambda: not any(whole) and all(end <= wanted for _, end in days),
        "closes_after": lambda: all(day or end > wanted for (_, end), day in zip(days, whole, strict=True)),
        "opens_before": lambda: all(start < wanted for start, _ in days),
        "opens_by": lambda: all(start <= wanted for start, _ in days),
        "opens_after": lambda: all(start > wanted for start, _ in days),
    }[way]()


def holds(row, condition, rows):
    """Return whether a merchant fulfils one condition."""
    rest = dict(condition)
    column = rest.pop("column")
    ((way, want),) = rest.items()
    if column == "business_hours":
        if way == "always":
            return all(end - start >= DAY for start, end in spans(row[column])) is want
        return hours_hold(row[column], way, want)
    if way.endswith("_of"):
        named = [other for other in rows if other["name"] == want]
        if len(named) != 1:
            raise SystemExit(f"{len(named)} merchants are called {want!r}, expected one")
        if row is named[0]:
            return False
        way, want = way.removesuffix("_of"), named[0][column]
    return PLAIN[way](row.get(column), want)


def relevant(rows, truth):
    """Return the ids of the right merchants: those that fulfil all conditions, and of these the best where the truth says so, with ties."""
    fitting = [row for row in rows if all(holds(row, condition, rows) for condition in truth["all"])]
    best = truth.get("best")
    if best and fitting:

        def height(row):
            value = row[best["column"]]
            if best["column"] == "business_hours":
                days = spans(value)
                value = min(start for start, _ in days) if best["way"] == "least" else max(end for _, end in days)
            return value if best["way"] == "most" else -value

        heights = sorted((height(row) for row in fitting), reverse=True)
        worst = heights[min(best.get("top", 1), len(heights)) - 1]
        fitting = [row for row in fitting if height(row) >= worst]
    return {row["poi_id"] for row in fitting}


def lines(path):
    """Return the JSON lines of a file; none where there is no file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()] if path.exists() else []


def ndcg(ids, right, at=10):
    """Return NDCG@10 of an order, with binary relevance."""
    gain = sum(1 / math.log2(place + 2) for place, id_ in enumerate(ids[:at]) if id_ in right)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(at, len(right))))


def ranker_of(town, folder):
    """Return the search of ``mapsat build merchants`` over a town, with its further flags as columns of words."""
    import yaml

    from pytest_mapsat.ports import localsearchbench
    from pytest_mapsat.sandbox import Ranker
    from pytest_mapsat.suite import open_suite

    tools = yaml.safe_load((Path(localsearchbench.__file__).parent / "tools.yaml").read_text("utf-8"))
    flags = json.loads((town / "flags.json").read_text("utf-8")) if (town / "flags.json").exists() else {}
    for column, phrases in flags.items():
        tools[0]["answer"]["fields"][column] = {"holds": "word", "says": dict.fromkeys(phrases, True)}
    (folder / "state").mkdir(parents=True)
    (folder / "suite.yaml").write_text("name: s\nversion: '1'\nschema_version: 1\n")
    (folder / "tools.yaml").write_text(yaml.safe_dump(tools, allow_unicode=True))
    for name in ("merchants", "merchant_words"):
        (folder / "state" / f"{name}.jsonl").touch()
        if (town / f"{name}.jsonl").exists():
            shutil.copy(town / f"{name}.jsonl", folder / "state" / f"{name}.jsonl")
    return Ranker(open_suite(folder), "search_merchants")


def main():
    """Measure, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--truth", action="store_true")
    parser.add_argument("--below", type=float, default=0.0, help="list the queries below this NDCG@10")
    options = parser.parse_args()
    gains: dict[str, list[float]] = {}
    towns = sorted(path.parent for path in options.folder.rglob("queries.jsonl"))
    for town in towns:
        rows = lines(town / "merchants.jsonl")
        with tempfile.TemporaryDirectory() as name:
            ranker = None if options.truth else ranker_of(town, Path(name) / "suite")
            for number, query in enumerate(lines(town / "queries.jsonl"), 1):
                right = relevant(rows, query["truth"])
                if options.truth:
                    print(f"{town.name} {number:2} {query['wording']:12} {len(right):3} right  {query['query']}")
                if ranker is None or not right:
                    continue
                gain = ndcg(ranker.rank(query["query"], rows[0]["city"]), right)
                for key in ("all", town.name, query["wording"]):
                    gains.setdefault(key, []).append(gain)
                if gain < options.below:
                    print(
                        f"{town.name} {number:2} {query['wording']:12} {gain:.3f} of {len(right):2}  {query['query']}"
                    )
    for key, values in gains.items():
        print(f"{key:14} NDCG@10 {statistics.mean(values):.3f} of {len(values)}")


if __name__ == "__main__":
    main()
