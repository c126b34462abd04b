"""The published figures come out of the published details, and those of the recorded dialogues out of the dialogues.

The verdicts were not made from the dialogues, so each tests its own half: the verdicts all formulas, the dialogues TS and Eff.
"""

import json

import pytest
from tests_data import data_dir

from pytest_mapsat.metrics import score, summarise
from pytest_mapsat.metrics.metric_set import tool_selection
from pytest_mapsat.model import (
    Case,
    Clarification,
    Context,
    Count,
    ExpectedTool,
    Label,
    Requirement,
    Step,
    Trajectory,
    Truth,
    Turn,
    Verdict,
    Visible,
)

CASES = ("44cc53", "601630", "715981", "f61d2f", "d3238e", "f5464f", "980f3e", "ed3470", "37f457", "63698b")

#: TS and Eff of the recorded dialogues: names and required parameters, no judge.
OF_DIALOGUES = {
    "44cc53": (0.0, 0.8333),
    "601630": (0.3333, 0.6667),
    "715981": (0.4, 0.5),
    "f61d2f": (0.3333, 0.8333),
    "d3238e": (0.75, 0.5),
    "f5464f": (1.0, 0.5),
    "980f3e": (0.0, 0.5),
    "ed3470": (0.0, 0.7143),
    "37f457": (0.5, 0.75),
    "63698b": (0.2, 0.7143),
}


def rows(name):
    text = (data_dir() / "mapsatisfybench" / name).read_text(encoding="utf-8")
    return {row["case_id"][:6]: row for row in map(json.loads, text.splitlines())}


def case_of(row):
    """The published row as a case, as far as the metrics read it."""
    truth = row["ground_truth"]
    planned = truth["truth_trajectory"]["tool_calls"]
    rules = planned["parameter_rules"]
    return Case(
        id=row["case_id"],
        visible=Visible(query="q", context=Context(now="2026-01-01T00:00:00")),
        truth=Truth(
            requirements=(
                *(Requirement(kind="asked", id=f"e{n}", text=text) for n, text in enumerate(truth["explicit_intent"])),
                *(
                    Requirement(
                        id=f"z{n}",
                        kind=one["constraint_type"],
                        text=one["rubric_instruction"],
                        weight=one["evidence_confidence"],
                    )
                    for n, one in enumerate(truth["implicit_intent"])
                ),
                *(
                    Requirement(kind="fact", id=f"f{n}", text=text)
                    for n, text in enumerate(planned["factual_answer_rubric"])
                ),
            ),
            tools=tuple(
                ExpectedTool(name=name, required=tuple(rules[name]["paramter"])) for name in planned["expected_tools"]
            ),
            clarification=Clarification(max_turns=truth["clarification_policy"]["max_allowed"]),
        ),
    )


def verdict_of(row):
    """The recorded details as a verdict: a count for E, a label per implicit requirement and per fact row."""
    details = row["details"]
    labels = [
        Label(requirement=f"z{n}", kind="hard", outcome="passed" if one["Ci"] == 1 else "failed", value=one["Ci"])
        for n, one in enumerate(details["IISR"]["rubrics_detail"])
    ]
    labels += [
        Label(requirement=f"f{n}", kind="fact", outcome="passed" if one["is_faithful"] else "failed")
        for n, one in enumerate(details["IFS"]["rows_detail"])
    ]
    return Verdict(
        case=row["case_id"],
        judge="recorded",
        labels=tuple(labels),
        explicit_count=Count(met=details["ECR"]["numerator"], total=details["ECR"]["denominator"]),
        approved_tools=tuple(details["TS"]["correct_tools"]),
    )


def dialogue_behind(row, case):
    """A dialogue with the tools and turns that the details name, required parameters filled in."""
    required = {one.name: one.required for one in case.truth.tools}
    groups = row["details"]["TS"]
    called = (*groups["correct_tools"], *groups["incorrect_tools"], *groups["extra_tools"])
    steps = tuple(Step(kind="call", tool=name, arguments=dict.fromkeys(required.get(name, ()), "x")) for name in called)
    replies = [Turn(role="agent", text="reply")] * row["details"]["Eff"]["actual_turns"]
    replies[0] = Turn(role="agent", text="reply", steps=steps)
    return Trajectory(case=case.id, turns=(Turn(role="user", text="q"), *replies))


def card_of_verdict(short):
    case, row = case_of(rows("cases.jsonl")[short]), rows("verdicts_gpt53.jsonl")[short]
    return row, score(case, dialogue_behind(row, case), verdict_of(row), asserted=frozenset())


@pytest.mark.parametrize("short", CASES)
def test_all_seven_metrics_of_a_recorded_verdict_come_out_of_its_details(short):
    row, card = card_of_verdict(short)
    for name in ("ECR", "IISR", "AR", "TS", "IFS", "Eff", "SES"):
        assert card.metrics[name.lower()] == pytest.approx(row["metrics"][name], abs=1e-4), name


@pytest.mark.parametrize("short", CASES)
def test_the_tools_of_a_recorded_verdict_fall_into_the_same_groups(short):
    case, row = case_of(rows("cases.jsonl")[short]), rows("verdicts_gpt53.jsonl")[short]
    approved, groups = verdict_of(row).approved_tools, row["details"]["TS"]
    found = tool_selection(case, dialogue_behind(row, case), approved=approved)
    assert list(found.correct) == groups["correct_tools"]
    assert list(found.invalid) == groups["incorrect_tools"]
    assert list(found.extra) == groups["extra_tools"]
    assert list(found.missed) == groups["missed_tools"]


def test_the_means_of_the_recorded_verdicts_are_those_of_the_report():
    summary = summarise([card_of_verdict(short)[1] for short in CASES])
    published = {"ecr": 0.9667, "iisr": 0.6854, "ar": 0.6701, "ts": 0.4083, "ifs": 0.6, "eff": 0.6084, "ses": 0.3873}
    for name, mean in published.items():
        assert summary[name].mean == pytest.approx(mean, abs=1e-4), name
        assert summary[name].n == len(CASES)


def dialogue_of(row):
    """The recorded dialogue, as far as TS and Eff read it."""
    turns = [
        Turn(
            role="agent" if turn["role"] == "assistant" else "user",
            text=turn["content"],
            steps=tuple(
                Step(kind="call", tool=call["name"], arguments=call["arguments"]) for call in turn.get("tool_calls", ())
            ),
        )
        for turn in row["turns"]
    ]
    return Trajectory(case=row["case_id"], source="recorded", turns=tuple(turns))


@pytest.mark.parametrize("short", CASES)
def test_ts_and_eff_of_a_recorded_dialogue(short):
    case, trajectory = case_of(rows("cases.jsonl")[short]), dialogue_of(rows("trajectories_gpt53.jsonl")[short])
    silent_judge = Verdict(case=case.id, judge="nobody")
    card = score(case, trajectory, silent_judge, asserted=frozenset())
    assert (card.metrics["ts"], card.metrics["eff"]) == pytest.approx(OF_DIALOGUES[short], abs=5e-5)
    assert card.metrics["ar"] is None
    assert card.classes["ar"] == "unevaluated"


def test_the_means_of_the_recorded_dialogues():
    dialogues, cases = rows("trajectories_gpt53.jsonl"), rows("cases.jsonl")
    cards = [
        score(
            case_of(cases[short]),
            dialogue_of(dialogues[short]),
            Verdict(case=short, judge="nobody"),
            asserted=frozenset(),
        )
        for short in CASES
    ]
    summary = summarise(cards)
    assert (summary["ts"].mean, summary["eff"].mean) == pytest.approx((0.3517, 0.6512), abs=5e-5)
    assert summary["ar"].left_out == {"unevaluated": len(CASES)}
