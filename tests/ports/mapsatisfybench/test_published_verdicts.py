"""The published verdicts, as labels: they give the published figures."""

import json

import pytest
from tests_data import data_dir

from pytest_mapsat.judges import RecordedJudge
from pytest_mapsat.metrics.metric_set import (
    explicit_completion,
    faithfulness,
    implicit_satisfaction,
    index_labels,
    read_labels,
)
from pytest_mapsat.model import Case, Trajectory, Turn

CASES = ("44cc53", "601630", "715981", "f61d2f", "d3238e", "f5464f", "980f3e", "ed3470", "37f457", "63698b")
FORMATS = ("verdicts_gpt53.jsonl", "upstream/data/outputs/evaluation_res/*.csv")


def published_rows(name):
    lines = (data_dir() / "mapsatisfybench" / name).read_text(encoding="utf-8").splitlines()
    return {row["case_id"][:6]: row for row in map(json.loads, lines)}


def published_case(row):
    """A published row as a case, as far as judging reads it."""
    truth = row["ground_truth"]
    rubric = truth["truth_trajectory"]["tool_calls"]["factual_answer_rubric"]
    implicit = [
        {
            "id": f"z{index}",
            "text": requirement["rubric_instruction"],
            "kind": requirement["constraint_type"],
            "weight": requirement["evidence_confidence"],
        }
        for index, requirement in enumerate(truth["implicit_intent"])
    ]
    truth = {
        "requirements": [
            *({"id": f"e{n}", "kind": "asked", "text": text} for n, text in enumerate(truth["explicit_intent"])),
            *implicit,
            *({"id": f"f{n}", "kind": "fact", "text": text} for n, text in enumerate(rubric)),
        ],
    }
    visible = {"query": row["query"], "context": {"now": "2026-03-01T10:00:00"}}
    return Case.model_validate({"id": row["case_id"], "visible": visible, "truth": truth})


def dialogue(case):
    turns = (Turn(role="user", text="Where shall I go?"), Turn(role="agent", text="x"))
    return Trajectory(case=case.id, turns=turns)


@pytest.mark.parametrize("pattern", FORMATS)
@pytest.mark.parametrize("case_id", CASES)
def test_the_labels_of_published_verdicts_give_the_published_figures(pattern, case_id):
    (path,) = (data_dir() / "mapsatisfybench").glob(pattern)
    case = published_case(published_rows("cases.jsonl")[case_id])
    verdict = RecordedJudge.open(path, "recorded:v", "v").judge(case, dialogue(case))
    readings = read_labels(case.truth.requirements, index_labels(verdict))
    found = {
        "ECR": explicit_completion(case, readings, verdict.explicit_count).value,
        "IISR": implicit_satisfaction(case, readings).value,
        "IFS": faithfulness(case, readings).measure.value,
    }
    expected = published_rows("verdicts_gpt53.jsonl")[case_id]["metrics"]
    assert found == {name: pytest.approx(expected[name], abs=1e-4) for name in found}
    assert len(verdict.labels) == len(case.truth.requirements)
    assert [warning for warning in verdict.warnings if "joined by case id" not in warning] == []


def test_four_of_the_published_passes_hold_only_because_nothing_is_claimed():
    path = data_dir() / "mapsatisfybench" / "verdicts_gpt53.jsonl"
    judge = RecordedJudge.open(path, "recorded:v", "v")
    cases = [published_case(row) for row in published_rows("cases.jsonl").values()]
    verdicts = [judge.judge(case, dialogue(case)) for case in cases]
    labels = [label for verdict in verdicts for label in verdict.labels if label.kind == "fact"]
    assert (len(labels), sum(label.value == 1 for label in labels), sum(label.nothing_claimed for label in labels)) == (
        35,
        19,
        4,
    )
