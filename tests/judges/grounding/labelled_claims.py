"""The hand-labelled claims, and what grounding says of the same dialogues."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests_data import data_dir

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.judges import JudgedDialogue
from pytest_mapsat.model import Case, Visible
from pytest_mapsat.ports import packaged_tools

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
            context = JudgedDialogue(
                source.trajectory(case, 1),
                packaged_tools("pytest_mapsat.ports.mapsatisfybench"),
                case.visible,
                language="zh",
            )
            found[short] = context.claims
    return found


def spans(short):
    """(turn, sort, start, end, verdict) of every claim found."""
    claims = [(one, one.verdict) for one in judged()[short]]
    return [(claim.document.turn, claim.sort, *claim.span, verdict) for claim, verdict in claims]


def meets(one, other):
    """Whether a claim that was found is a labelled one: the same words, and both or neither a name."""
    same = (one[1] == "name") == (other[1] == "name")
    return one[0] == other[0] and same and one[2] < other[3] and other[2] < one[3]


@dataclass(frozen=True)
class Figures:
    """What became of the labelled claims, and how many of those that were called wrong are."""

    found_wrong: int
    wrong: int
    called_right: int
    called: int
    supported_true: int
    true: int


def figures(cases):
    """Wrong is contradicted or unsupported; what is undecided, or not seen, is neither."""
    blamed, lost, borne, wrong, true = [], [], [], [], []
    for short in cases:
        found = spans(short)
        called = [one for one in found if one[4] in ("contradicted", "unsupported")]
        kept = [one for one in found if one[4] == "supported"]
        bad = [label for label in LABELS[short] if label[4] != "supported"]
        good = [label for label in LABELS[short] if label[4] == "supported"]
        # A claim that nobody labelled is not counted against anybody.
        blamed += [
            any(meets(one, label) for label in bad)
            for one in called
            if any(meets(one, label) for label in LABELS[short])
        ]
        lost += [any(meets(one, label) for one in called) for label in bad]
        borne += [any(meets(one, label) for one in kept) for label in good]
        wrong += bad
        true += good
    return Figures(sum(lost), len(wrong), sum(blamed), len(blamed), sum(borne), len(true))
