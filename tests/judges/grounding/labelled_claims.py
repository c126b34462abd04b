"""The hand-labelled claims, and what grounding says of the same dialogues."""

import json
from functools import cache
from pathlib import Path

from tests_data import data_dir

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.judges import Context
from pytest_mapsat.model import Case, Visible

#: Split by case so that wrong claims are about as many on either side; only errors in DEVELOPED were looked at.
DEVELOPED = ("37f457", "601630", "715981", "ed3470", "f5464f")
HELD_OUT = ("44cc53", "63698b", "980f3e", "d3238e", "f61d2f")
LABELS = json.loads(Path(__file__).with_name("labels.json").read_text(encoding="utf-8"))


def _visible(row):
    context = row["context"]
    lon, lat = map(float, context["user_current_loc"].split(","))
    return Visible.model_validate(
        {
            "query": row["query"],
            "context": {
                "now": context["time"],
                "location": {"lon": lon, "lat": lat, "name": context["user_loc_name"]},
                "city": context["city"],
                "history": context["history"],
            },
        }
    )


@cache
def judged():
    """All claims found in the published dialogues, by short case id."""
    folder = data_dir() / "mapsatisfybench"
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    source = resolve_source(f"recorded:{folder / 'trajectories_gpt53.jsonl'}", root=folder)
    found = {}
    for row in rows:
        short = row["case_id"][:6]
        if short in LABELS:
            case = Case.model_validate(
                {"id": row["case_id"], "visible": _visible(row), "truth": {"intent": "as asked"}}
            )
            found[short] = Context(source.trajectory(case, 1), {}, case.visible).claims
    return found


def spans(short):
    """(turn, type, start, end, decision) of every claim found, in characters of the original."""
    return [
        (q.turn, one.claim.type, q.start, q.end, one.decision)
        for one in judged()[short]
        for q in (one.reading.quote(one.mention),)
    ]


def meets(one, other):
    return one[0] == other[0] and one[1] == other[1] and one[2] < other[3] and other[2] < one[3]


def wrong(claims):
    return [one for one in claims if one[4] != "supported"]


def scores(cases):
    """Precision and recall of the claims that are contradicted or unsupported."""
    pairs = [(wrong(spans(short)), wrong(LABELS[short])) for short in cases]
    said = [any(meets(one, label) for label in labels) for found, labels in pairs for one in found]
    missed = [any(meets(one, label) for one in found) for found, labels in pairs for label in labels]
    return sum(said) / len(said), sum(missed) / len(missed), len(said), len(missed)


def errors(cases):
    """What is judged otherwise than labelled: (case, "false alarm" or "missed", claim)."""
    for short in cases:
        found, labels = wrong(spans(short)), wrong(LABELS[short])
        yield from ((short, "false alarm", one) for one in found if not any(meets(one, label) for label in labels))
        yield from ((short, "missed", label) for label in labels if not any(meets(one, label) for one in found))
