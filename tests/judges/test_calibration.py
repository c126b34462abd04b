"""Which failures that rest on reading stand: the table of measured precision, ours and a suite's own."""

import json
from pathlib import Path

import numpy as np
import pytest
from answer_suite import LABELS, WRONG, answer, write_answers, write_suite
from judging import SEARCH, case_of, dialogue, found_places

from pytest_mapsat.cli import main
from pytest_mapsat.formats import read_calibration, signed
from pytest_mapsat.judges import calibrate, colour, make_judge
from pytest_mapsat.judges.findings import calibration_of, cell_of, shipped, suspicion
from pytest_mapsat.metrics import summarise, within_scale
from pytest_mapsat.model import Calibration, Judging, Label, Misread, Scorecard, SuiteError, Trajectory

STORED = Path(__file__).parents[1] / "natural" / "judgings"
GOOD = {"rating": {"op": "between", "min": 4.5}}
ONLY_GOOD = {
    "id": "z1",
    "text": "only good places",
    "kind": "hard",
    "check": {"kind": "recommends", "where": GOOD, "only": True},
}
SHORT = "I recommend Old Mill."
#: The same, in a reply with more than 18 clauses.
LONG = SHORT + " It is a quiet place, and people like it." * 12


def stored() -> dict[str, list[Judging]]:
    return {
        path.stem: [Judging.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]
        for path in sorted(STORED.glob("*.jsonl"))
    }


def label_of(reply: str, table: Calibration | None = None) -> Label:
    case = case_of(implicit=[ONLY_GOOD])
    judge = make_judge("checks", {SEARCH.name: SEARCH}, root=Path(), calibration=table)
    return judge.judge(case, dialogue(reply, steps=[found_places()])).labels[0]


def table_with(cell: str, true: int, false: int) -> Calibration:
    return signed(Calibration(cells={cell: (true, false)}))


def test_the_shipped_table_is_what_the_stored_first_judgings_give():
    assert calibrate(stored()) == shipped()


def test_a_failure_in_a_short_reply_stands_and_says_what_kind_it_is():
    label = label_of(SHORT)
    assert (label.outcome, label.reading, label.cell) == ("failed", "choice", "choice, said, small")
    assert label.size is not None
    assert label.size[1] == 1  # one thing is named


def test_a_failure_in_a_long_reply_is_suspect_with_quote_reason_and_rate():
    label = label_of(LONG)
    true, false = shipped().cells["choice, said, large"]
    assert label.suspect
    assert (label.outcome, label.value, label.blame) == ("unevaluated", None, None)
    assert label.why.startswith("undecided: turn 1 says 'Old Mill'")
    assert label.why.endswith(f"it looks failed, but {false} of {true + false} failures of this kind were wrong")
    assert label.quotes[0].text == "Old Mill"


def test_a_pass_is_never_suspect_but_says_that_it_was_read():
    label = label_of("I recommend Cafe Luna (Riverside).")
    assert (label.outcome, label.reading, label.cell, label.suspect) == ("passed", "choice", "", False)


def test_a_reply_that_says_nothing_fails_for_sure_whatever_the_table():
    label = label_of("Let me know if you need anything else.", table_with("choice, absent, small", 0, 100))
    assert (label.outcome, label.reading, label.cell) == ("failed", "", "")


def test_a_check_that_reads_no_prose_fails_for_sure_beside_one_that_does():
    both = {"kind": "all", "checks": [ONLY_GOOD["check"], {"kind": "calls", "tool": "route"}]}
    case = case_of(implicit=[ONLY_GOOD | {"check": both}])
    judge = make_judge("checks", {SEARCH.name: SEARCH}, root=Path())
    label = judge.judge(case, dialogue(LONG, steps=[found_places()])).labels[0]
    assert (label.outcome, label.reading, label.cell) == ("failed", "", "")


def test_a_suite_s_own_cell_counts_from_20_failures_on():
    few, enough = (table_with("choice, said, small", 0, number) for number in (19, 20))
    assert label_of(SHORT, few).outcome == "failed"
    assert label_of(SHORT, enough).suspect
    assert label_of(LONG, table_with("choice, said, large", 40, 0)).outcome == "failed"


@pytest.mark.parametrize(("true", "false", "stands"), [(19, 0, False), (20, 0, True), (40, 9, False), (93, 14, True)])
def test_a_failure_stands_from_20_of_its_kind_and_a_lower_bound_of_80_percent_on(true, false, stands):
    assert (suspicion("words, said, small", table_with("words, said, small", true, false)) == "") is stands


def test_cells_grow_with_what_a_reply_says():
    sizes = [(3, 1, 0, 0), (12, 1, 0, 0), (3, 4, 0, 0), (18, 1, 0, 0), (12, 5, 0, 0)]
    assert [cell_of("choice", absent=False, size=size).split(", ")[2] for size in sizes] == [
        "small",
        "medium",
        "medium",
        "large",
        "large",
    ]
    figures = [(30, 9, 4, 0), (1, 1, 4, 1), (1, 1, 4, 3), (1, 1, 10, 0)]
    assert [cell_of("figure", absent=True, size=size) for size in figures] == [
        "figure, absent, small",
        "figure, absent, medium",
        "figure, absent, large",
        "figure, absent, medium",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"schema": "mapsat-calibration/0"}', "found schema 'mapsat-calibration/0', expected mapsat-calibration/1"),
        ('{"schema": "mapsat-calib', "is not a calibration table"),
        ("[]", "is not a calibration table: expected a JSON object"),
        ('{"schema": "mapsat-calibration/1", "cells": {"choice": [1, 2]}}', "is not a calibration table"),
        ('{"schema": "mapsat-calibration/1", "cells": {"words, said, small": [99, 0]}}', "was changed by hand"),
        (" " * 2_000_000, "calibration.json"),
    ],
)
def test_a_table_that_cannot_be_used_is_told_with_its_place_and_what_to_do(tmp_path, text, told):
    path = tmp_path / "calibration.json"
    path.write_text(text)
    with pytest.raises(SuiteError, match=r"calibration\.json") as raised:
        read_calibration(path)
    assert told in str(raised.value)


# -- a suite calibrates its own checks -----------------------------------------------------------------------------------


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = write_suite(tmp_path / "suite", answer())
    (root / "calibration.json").unlink()
    return root


def test_lint_calibrates_a_suite_on_its_own_labelled_answers(suite, capsys):
    wrong = [
        answer(id=f"w{number}", text=f"I suggest Old Mill, number {number}.", labels=WRONG) for number in range(30)
    ]
    write_answers(suite, answer(), *wrong)
    assert main(["lint", "suite", "--answers"]) == 0
    capsys.readouterr()
    assert main(["lint", "suite", "--answers", "--calibrate"]) == 0
    assert "1 kinds of failures from 31 answers; 1 of them" in capsys.readouterr().err
    table = read_calibration(suite / "calibration.json")
    assert table.cells == {"words, absent, small": (30, 0)}
    assert table.red_of_right is None
    assert calibration_of(table).red_of_right == shipped().red_of_right
    main(["lint", "suite", "--answers", "--json"])
    wrong = json.loads(capsys.readouterr().out)["answers"]["answers"]["wrong"]
    assert (wrong["n"], wrong["red"]["n"]) == (30, 30)


def test_labels_that_contradict_an_exact_check_are_told_and_nothing_is_written(suite, capsys):
    case = json.loads((suite / "a.yaml").read_text())
    case[0]["truth"]["requirements"][0]["check"] = {"kind": "matches", "pattern": "Blue Bay"}
    (suite / "a.yaml").write_text(json.dumps(case))
    write_answers(suite, answer(labels=LABELS | {"e1": "failed"}))
    assert main(["lint", "suite", "--answers", "--calibrate"]) == 2
    error = capsys.readouterr().err
    assert "answer r1 to nav-one labels e1 failed, and its check, which reads no prose, says passed" in error
    assert not (suite / "calibration.json").exists()


# -- means are as wide as the judge's errors make them -------------------------------------------------------------------


def card_of(number: int, outcome: str, rates: Misread) -> Scorecard:
    value = {"passed": 1.0, "failed": 0.0}.get(outcome)
    unknown = ("f",) if value is None else ()
    label = Label(
        requirement="f", kind="fact", outcome="passed" if value else "failed" if value == 0 else "unevaluated"
    )
    if value is None:
        label = label.model_copy(update={"why": "undecided"})
    return Scorecard(
        id=f"c{number}",
        outcome=outcome,
        metrics={"ar": value},
        bounds={} if value is not None else {"ar": (0.0, 1.0)},
        classes={} if value is not None else {"ar": "unevaluated"},
        unknown=unknown,
        labels=(label,),
        misread=rates.model_copy(update={"bounds": {"ar": (0.0, 1.0), "pass_rate": (0.0, 1.0)}}),
        trajectory=Trajectory(case=f"c{number}", turns=()),
    )


@pytest.mark.long_proof
def test_the_widened_bounds_hold_the_truth_in_19_of_20_mixtures_of_right_and_wrong_answers():
    random = np.random.default_rng(7)
    sets = stored()
    held = {"ar": 0, "pass_rate": 0}
    plain = tried = 0
    for name in sets:  # each set judged by a table that has not seen it
        table = calibrate({other: some for other, some in sets.items() if other != name})
        rates = Misread(red_of_right=table.red_of_right.upper, green_of_wrong=table.green_of_wrong.upper)
        ends = {True: [], False: []}
        for judging in sets[name]:
            ends[judging.right].append({"green": "passed", "red": "failed"}.get(colour(judging, table), "unevaluated"))
        for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98):
            for _ in range(3):
                right = random.random(100) < share
                outcomes = [random.choice(ends[bool(one)]) for one in right]
                summary = summarise([card_of(number, str(outcome), rates) for number, outcome in enumerate(outcomes)])
                tried += 1
                for metric in held:
                    low, high = summary[metric].bounds
                    held[metric] += low - 1e-9 <= right.mean() <= high + 1e-9
                plain += outcomes.count("passed") / 100 <= right.mean() <= 1 - outcomes.count("failed") / 100
    assert min(held.values()) / tried >= 0.95
    assert min(held.values()) > plain  # it is the widening that does it


def test_what_is_shown_of_a_share_ends_at_0_and_1_however_far_errors_widen_it():
    rates = Misread(red_of_right=0.03, green_of_wrong=0.3)
    outcomes = ["failed", "failed", "failed", "passed"]
    made = summarise([card_of(number, outcome, rates) for number, outcome in enumerate(outcomes)])["ar"]
    assert made.low < 0
    shown = within_scale({"ar": made, "cost": made}, {"ar"})
    assert (shown["ar"].low, shown["ar"].high) == (0, min(1, made.high))
    assert shown["ar"].bounds[0] == max(0, made.bounds[0])
    assert shown["cost"] == made


def test_where_all_pass_nothing_is_widened_and_what_read_no_prose_counts_as_sure():
    rates = Misread(red_of_right=0.03, green_of_wrong=0.08)
    assert summarise([card_of(number, "passed", rates) for number in range(20)])["ar"].mean == 1
    sure = [card_of(number, "failed", rates).model_copy(update={"misread": None}) for number in range(20)]
    assert summarise(sure)["ar"].bounds == (0, 0)


def test_one_failure_among_many_passes_may_be_the_judge_s():
    rates = Misread(red_of_right=0.03, green_of_wrong=0.08)
    cards = [card_of(number, "passed" if number else "failed", rates) for number in range(40)]
    aggregate = summarise(cards)["pass_rate"]
    assert aggregate.mean == 39 / 40
    assert aggregate.bounds == pytest.approx((39 / 40 - 0.08 / 0.92 / 40, 1.0))


def test_a_check_of_two_readings_is_of_the_kind_of_the_graver_one():

    both = {"kind": "all", "checks": [{"kind": "says", "none": ["Old Mill"]}, ONLY_GOOD["check"]]}
    case = case_of(implicit=[ONLY_GOOD | {"check": both}])
    judge = make_judge("checks", {SEARCH.name: SEARCH}, root=Path())
    assert judge.judge(case, dialogue(SHORT, steps=[found_places()])).labels[0].reading == "choice"
