"""Labels from recorded verdicts: three formats, counts, alignment, links to the dialogue, and bad files."""

import csv
import json

import pytest
from judging import case_of, dialogue
from saved_runs import card, run_text

from pytest_mapsat.judges import RecordedJudge
from pytest_mapsat.model import Count, Fault, SuiteError, trajectory_digest

EXPLICIT = [{"id": "e1", "text": "by bus"}, {"id": "e2", "text": "today"}]
HARD = {"id": "z1", "text": "No stairs, please.", "kind": "hard", "weight": 1}
SOFT = {"id": "z2", "text": "Quiet.", "kind": "soft", "weight": 1}
FACTS = [{"id": "f1", "text": "If it names a price, it is right."}]
CASE = case_of(EXPLICIT, [HARD, SOFT], FACTS)
DIALOGUE = dialogue("Take the bus")


def published(case_id="c1", ecr=(1, 2), degrees=(1.0, 0.5), fact=None, **fields):
    rubrics = [
        {"rubric": requirement["text"], "Ci": degree} for requirement, degree in zip((HARD, SOFT), degrees, strict=True)
    ]
    row = {"rubric_row": FACTS[0]["text"], "is_faithful": True, "elements_grounded": [{}], **(fact or {})}
    details = {
        "ECR": {"numerator": ecr[0], "denominator": ecr[1]},
        "IISR": {"rubrics_detail": rubrics},
        "IFS": {"rows_detail": [row]},
    }
    return {"case_id": case_id, "status": "success", "details": details, **fields}


def opened(tmp_path, text):
    path = tmp_path / "verdicts"
    path.write_text(text, encoding="utf-8")
    return RecordedJudge.open(path, "recorded:verdicts", "verdicts")


def judged(tmp_path, *rows, case=CASE, trajectory=DIALOGUE):
    return opened(tmp_path, "\n".join(map(json.dumps, rows))).judge(case, trajectory)


def by_requirement(verdict):
    return {label.requirement: label for label in verdict.labels}


def test_degrees_and_faithful_rows_become_labels(tmp_path):
    labels = by_requirement(judged(tmp_path, published()))
    assert [(labels[name].outcome, labels[name].value) for name in ("z1", "z2", "f1")] == [
        ("passed", 1),
        ("passed", 0.5),
        ("passed", 1),
    ]


@pytest.mark.parametrize(
    ("ecr", "outcome", "value"), [((0, 2), "failed", 0), ((2, 2), "passed", 1), ((1, 2), "unevaluated", None)]
)
def test_a_count_gives_labels_only_where_it_is_none_or_all(tmp_path, ecr, outcome, value):
    verdict = judged(tmp_path, published(ecr=ecr))
    assert verdict.explicit_count == Count(met=ecr[0], total=2)
    assert {(by_requirement(verdict)[name].outcome, by_requirement(verdict)[name].value) for name in ("e1", "e2")} == {
        (outcome, value)
    }


def test_a_count_of_too_few_is_raised_to_the_case_aloud(tmp_path):
    verdict = judged(tmp_path, published(ecr=(1, 1)))
    assert verdict.explicit_count == Count(met=1, total=2)
    assert by_requirement(verdict)["e1"].outcome == "unevaluated"
    assert any("counts 1 of 1 explicit requirements, the case has 2" in warning for warning in verdict.warnings)


@pytest.mark.parametrize("ecr", [(3, 3), (5, 2)])
def test_a_count_of_too_many_is_not_used_and_said_so(tmp_path, ecr):
    verdict = judged(tmp_path, published(ecr=ecr))
    assert verdict.explicit_count is None
    assert by_requirement(verdict)["e1"].blame == "judge"
    assert any("not used" in warning for warning in verdict.warnings)


@pytest.mark.parametrize(("degrees", "requirement"), [((0.5, 1.0), "z1"), ((1.0, 0.6), "z2"), ((1.0, None), "z2")])
def test_a_degree_between_the_levels_is_never_rounded(tmp_path, degrees, requirement):
    label = by_requirement(judged(tmp_path, published(degrees=degrees)))[requirement]
    assert (label.outcome, label.value, label.blame) == ("unevaluated", None, "judge")
    assert "the recorded verdict gives" in label.why


def test_a_row_with_nothing_left_in_it_claims_nothing(tmp_path):
    assert by_requirement(judged(tmp_path, published(fact={"elements_grounded": []})))["f1"].nothing_claimed
    assert not by_requirement(judged(tmp_path, published()))["f1"].nothing_claimed


def test_a_row_that_was_skipped_does_not_apply(tmp_path):
    label = by_requirement(judged(tmp_path, published(fact={"skipped": True})))["f1"]
    assert (label.outcome, label.value) == ("not_applicable", None)


def test_requirements_are_joined_by_text_then_by_letters_then_by_place(tmp_path):
    row = published(degrees=(0.0, 1.0))
    details = row["details"]["IISR"]["rubrics_detail"]
    details[0]["rubric"] = "NO  STAIRS please"
    details.reverse()
    assert by_requirement(judged(tmp_path, row))["z1"].value == 0
    details[1]["rubric"] = "something else"
    details.reverse()
    verdict = judged(tmp_path, row)
    assert by_requirement(verdict)["z1"].value == 0
    assert any("by their place" in warning for warning in verdict.warnings)
    details.append({"rubric": "one more", "Ci": 1.0})
    assert by_requirement(judged(tmp_path, row))["z1"].outcome == "unevaluated"


def test_missing_parts_leave_their_requirements_unevaluated(tmp_path):
    verdict = judged(tmp_path, {"case_id": "c1", "details": {"ECR": None}})
    assert {label.outcome for label in verdict.labels} == {"unevaluated"}
    assert verdict.explicit_count is None


@pytest.mark.parametrize("row", [published(status="error", error="timed out"), published(case_id="c2")])
def test_without_a_verdict_on_the_case_all_is_unevaluated(tmp_path, row):
    verdict = judged(tmp_path, row)
    assert {(label.outcome, label.blame) for label in verdict.labels} == {("unevaluated", "judge")}
    assert len(verdict.labels) == 5
    assert verdict.labels[0].why


def test_a_verdict_without_a_digest_joins_by_case_id_with_a_warning(tmp_path):
    judge = opened(tmp_path, json.dumps(published()))
    verdict = judge.judge(CASE, DIALOGUE)
    assert judge.linked is False
    assert verdict.trajectory == ""
    assert sum("joined by case id" in warning for warning in verdict.warnings) == 1


def test_a_verdict_with_the_digest_is_linked_to_its_dialogue_only(tmp_path):
    judge = opened(tmp_path, json.dumps(published(trajectory=trajectory_digest(DIALOGUE))))
    verdict = judge.judge(CASE, DIALOGUE)
    assert (judge.linked, verdict.trajectory, verdict.warnings) == (True, trajectory_digest(DIALOGUE), ())
    other = judge.judge(CASE, dialogue("Take the metro"))
    assert {(label.outcome, label.blame) for label in other.labels} == {("unevaluated", "judge")}
    assert "digests differ" in other.labels[0].why


def test_an_episode_that_somebody_else_broke_keeps_its_blame(tmp_path):
    broken = dialogue("x", fault=Fault(blame="user", message="gone"))
    assert {label.blame for label in judged(tmp_path, published(), trajectory=broken).labels} == {"user"}


def run_file(*cases):
    return run_text(*cases, indent=1)


def saved(trajectory=DIALOGUE, trial=1, value=1.0, **fields):
    labels = [
        {"requirement": "e1", "kind": "asked", "outcome": "passed", "value": 1},
        {"requirement": "z1", "kind": "hard", "outcome": "passed", "value": value},
        {"requirement": "z2", "kind": "soft", "outcome": "passed", "value": 0.75, "why": "calm"},
    ]
    return card(trajectory.model_copy(update={"trial": trial}), labels=labels, **fields)


def test_a_saved_run_is_linked_to_the_dialogues_it_holds(tmp_path):
    judge = opened(tmp_path, run_file(saved()))
    verdict = judge.judge(CASE, DIALOGUE)
    assert (judge.linked, verdict.trajectory) == (True, trajectory_digest(DIALOGUE))
    assert (by_requirement(verdict)["z2"].value, by_requirement(verdict)["z2"].why) == (0.75, "calm")
    assert by_requirement(verdict)["f1"].outcome == "unevaluated"
    assert judge.judge(CASE, dialogue("other")).labels[0].outcome == "unevaluated"


def test_trials_of_a_saved_run_are_kept_apart(tmp_path):
    second = DIALOGUE.model_copy(update={"trial": 2})
    judge = opened(tmp_path, run_file(saved(), saved(trial=2, value=0)))
    assert by_requirement(judge.judge(CASE, second))["z1"].value == 0
    third = judge.judge(CASE, DIALOGUE.model_copy(update={"trial": 3}))
    assert "trial 3" in third.labels[0].why


def test_a_level_that_a_hard_requirement_cannot_have_is_refused_in_a_saved_run(tmp_path):
    assert (
        by_requirement(opened(tmp_path, run_file(saved(value=0.5))).judge(CASE, DIALOGUE))["z1"].outcome
        == "unevaluated"
    )


def table(*rows):
    from io import StringIO

    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(["case_id", "status", "error", "parse_errors", "results", "reason"])
    writer.writerows(rows)
    return out.getvalue()


def test_the_published_table_is_read_with_long_fields_and_the_limit_of_csv_is_put_back(tmp_path):
    limit = csv.field_size_limit()
    row = published()
    results = json.dumps({"metrics": {}, "details": row["details"], "padding": "x" * 200_000})
    verdict = opened(tmp_path, "\ufeff" + table(["c1", "success", "", "[]", results, "two\nlines"])).judge(
        CASE, DIALOGUE
    )
    assert by_requirement(verdict)["z2"].value == 0.5
    assert csv.field_size_limit() == limit


GOOD = json.dumps(published())
BAD_FILES = [
    ("", "verdicts: the file is empty"),
    ("hello\n", "verdicts:1: has no column 'case_id'; found 'hello'"),
    ("[1, 2]", "verdicts:1: has no column"),
    (f"{GOOD}\n{{", "verdicts:2: is not valid JSON"),
    (f"{GOOD}\n[]", "verdicts:2: found a list, expected a mapping of case_id"),
    (f"{GOOD}\n\n{GOOD}", "verdicts:3: a second verdict on case c1: line 1 has one"),
    (GOOD.replace("0.5", "NaN"), "verdicts:1: NaN is not a JSON value"),
    (GOOD.replace("0.5", "Infinity"), "verdicts:1: Infinity is not a JSON value"),
    (GOOD.replace("0.5", "1e999"), "verdicts:1: the number '1e999' is too large"),
    (GOOD.replace("0.5", '"half"'), "verdicts:1: details.IISR.rubrics_detail[1].Ci: found 'half', expected a number"),
    (GOOD.replace('"numerator": 1', '"numerator": true'), "verdicts:1: details.ECR.numerator: "),
    (GOOD.replace('"numerator": 1', '"numerator": -1'), "verdicts:1: details.ECR.numerator: "),
    ('{"details": {}}', "verdicts:1: case_id: is missing"),
    ("{" + '"a":[' * 100_000, "verdicts:1: "),
    ('{"schema": "mapsat-run/2", "cases": []}', "verdicts:1: schema: found 'mapsat-run/2', expected 'mapsat-run/1'"),
    ('{"schema": "mapsat-run/1"}', "verdicts:1: cases: is missing"),
    (table(), "verdicts: the file holds no verdict"),
    (run_file({"id": "c1"}), "cases[0].trajectory: is missing"),
    (table(["c1", "success", "", "[]", "{", ""]), "verdicts:2: is not valid JSON"),
    (table(["c1", "success", "", "[]", '{"details": 3}', ""]), "verdicts:2: details: "),
    (table(["c1", "success"]), "verdicts:2: the row has 2 cells under 6 columns"),
    (
        table(*[["c1", "success", "a\nb", "[]", "{}", ""]] * 2),
        "verdicts:4: a second verdict on case c1: line 2 has one",
    ),
    (table(["c1", "success", "", "[]", "{}", ""]) + '"open', "is not valid CSV"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES)
def test_a_bad_file_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(SuiteError) as raised:
        opened(tmp_path, text)
    assert message in str(raised.value)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "v").write_bytes(b"\xff{")
    with pytest.raises(SuiteError, match="not UTF-8"):
        RecordedJudge.open(tmp_path / "v", "recorded:v", "v")


def test_many_problems_are_told_up_to_a_limit(tmp_path):
    with pytest.raises(SuiteError) as raised:
        opened(tmp_path, "\n".join(["{}"] * 50))
    assert len(raised.value.problems) == 20
