"""mapsat lint SUITE --answers: what the judge makes of labelled answers, for people, machines and other commands."""

import json
from pathlib import Path

import pytest
from answer_suite import LABELS, WRONG, answer, write_answers, write_suite

from pytest_mapsat.cli import main

CHARGER = {"kind": "call", "tool": "search_poi", "arguments": {"query": "charger"}}


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_suite(tmp_path / "suite", answer(), answer(id="w1", text="I suggest Old Mill.", labels=WRONG))


def colours(found: dict) -> dict[str, list[str]]:
    """Return what right and wrong answers are judged to be."""
    return {
        truth: [colour for colour in ("green", "red", "undecided") for _ in range(row[colour]["n"])]
        for truth, row in found["answers"].items()
    }


def judged(capsys) -> tuple[int, dict]:
    status = main(["lint", "suite", "--answers", "--json"])
    return status, json.loads(capsys.readouterr().out)["answers"]


def test_a_judge_that_is_right_about_all_answers_ends_with_0(root, capsys):
    status, found = judged(capsys)
    assert (status, found["wrong"]) == (0, [])
    assert colours(found) == {"right": ["green"], "wrong": ["red"]}
    assert found["labels"]["check"]["says"]["confusion"] == {"failed": {"failed": 1}, "passed": {"passed": 5}}


def test_a_label_that_is_decided_wrongly_is_listed_and_ends_with_1(root, capsys):
    write_answers(root, answer(), answer(id="r2", text="Take the other one.", style="prose"))
    status, found = judged(capsys)
    assert status == 1
    assert [(label["answer"], label["requirement"], label["should"], label["said"]) for label in found["wrong"]] == [
        ("r2", "e1", "passed", "failed"),
        ("r2", "z1", "passed", "failed"),
        ("r2", "f1", "passed", "failed"),
    ]
    assert colours(found) == {"right": ["green", "red"], "wrong": []}
    assert found["labels"]["style"]["prose"]["confusion"] == {"passed": {"failed": 3}}
    assert main(["lint", "suite", "--answers"]) == 1
    out = capsys.readouterr().out
    assert "wrong: case nav-one, answer r2, z1: failed, should be passed: no reply says" in out
    assert out.endswith("2 answers; 6 of 6 labels decided, 3 of them wrongly\n")


def test_a_table_of_styles_is_left_out_where_no_answer_has_one(root, capsys):
    write_answers(root, answer())
    main(["lint", "suite", "--answers"])
    out = capsys.readouterr().out
    assert "labels: style" not in out
    assert "labels: language" in out


def test_the_table_fits_80_columns(root, capsys):
    write_answers(root, answer(style="x" * 70), answer(id="r2", text="No."))
    main(["lint", "suite", "--answers"])
    table = capsys.readouterr().out.split("\n\n", 1)[1]
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize(("mark", "wrong"), [("failed", 0), (0, 0), ("passed", 1), (1, 1), (0.5, 1)])
def test_a_soft_requirement_may_be_labelled_with_its_level(root, capsys, mark, wrong):
    write_answers(root, answer(labels=LABELS | {"z2": mark}))
    assert len(judged(capsys)[1]["wrong"]) == wrong


def test_a_label_without_a_machine_check_is_undecided_and_never_wrong(root, capsys):
    case = json.loads((root / "a.yaml").read_text())
    del case[0]["truth"]["requirements"][1]["check"]
    (root / "a.yaml").write_text(json.dumps(case))
    status, found = judged(capsys)
    assert (status, found["wrong"]) == (0, [])
    assert colours(found)["wrong"] == ["undecided"]
    assert found["labels"]["check"]["no check"]["confusion"]["failed"] == {"undecided": 1}
    assert [(label["answer"], label["requirement"], label["said"]) for label in found["undecided"]] == [
        ("r1", "z1", "undecided"),
        ("w1", "z1", "undecided"),
    ]
    assert found["each"][1] == {"case": "nav-one", "answer": "w1", "is": "wrong", "judged": "undecided"}
    main(["lint", "suite", "--answers"])
    assert capsys.readouterr().out.endswith("0 of them wrongly; --json names the 2 undecided\n")


def test_a_whole_dialogue_is_judged_with_its_calls_made_in_the_sandbox(root, capsys):
    case = json.loads((root / "b.yaml").read_text())
    case[0]["truth"]["requirements"][3]["check"] = {"kind": "calls", "tool": "search_poi", "answered": True}
    (root / "b.yaml").write_text(json.dumps(case))
    query = {"role": "user", "text": "Take me to a charger."}
    dialogue = [query, {"role": "agent", "text": "Blue Bay.", "steps": [CHARGER]}]
    silent = [query, {"role": "agent", "text": "Blue Bay."}]
    write_answers(
        root,
        answer(case="nav-two", text=None, turns=dialogue),
        answer(case="nav-two", id="w1", text=None, turns=silent, labels=LABELS | {"f1": "failed"}),
    )
    assert judged(capsys)[0] == 0
    main(["lint", "suite", "--answers", "--save", "answers.json"])
    step = json.loads(Path("answers.json").read_text())["cases"][0]["trajectory"]["turns"][1]["steps"][0]
    assert (step["provenance"]["kind"], step["result"]["pois"][1]["name"]) == ("exact", "Blue Bay")


def test_a_result_that_a_dialogue_gives_itself_is_kept(root, capsys):
    steps = [CHARGER | {"result": {"pois": [{"name": "Moon Base"}]}}]
    turns = [{"role": "user", "text": "?"}, {"role": "agent", "text": "Blue Bay.", "steps": steps}]
    write_answers(root, answer(text=None, turns=turns))
    main(["lint", "suite", "--answers", "--save", "answers.json"])
    assert "Moon Base" in Path("answers.json").read_text()


def test_saved_answers_are_trials_of_their_case_that_regrade_reads(root, capsys):
    assert main(["lint", "suite", "--answers", "--save", "answers.json"]) == 0
    assert main(["regrade", "answers.json", "--suite", "suite", "--save", "again.json"]) in {0, 1}
    first, second = (json.loads(Path(name).read_text()) for name in ("answers.json", "again.json"))
    assert first == second
    assert [(card["trial"], card["nodeid"], card["outcome"]) for card in first["cases"]] == [
        (1, "answers::nav-one[r1]", "passed"),
        (2, "answers::nav-one[w1]", "failed"),
    ]
    assert first["manifest"]["options"]["trials"] == 2


def test_the_same_answers_give_the_same_bytes(root):
    for name in ("one.json", "two.json"):
        main(["lint", "suite", "--answers", "--save", name])
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()


def test_nothing_is_judged_where_an_oracle_cannot_be_played(root, capsys):
    case = json.loads((root / "a.yaml").read_text())
    case[0]["truth"]["user"] = {"answers": [{"asked": ["Blue"], "say": "Which?"}]}
    case[0]["truth"]["oracle"][0]["say"] = "Is it the Blue one?"
    (root / "a.yaml").write_text(json.dumps(case))
    assert main(["lint", "suite", "--answers"]) == 1
    out = capsys.readouterr().out
    assert "case nav-one: the oracle cannot be played" in out
    assert "answers: not judged, as the suite has errors" in out


def test_a_broken_answer_is_an_error_of_lint_and_nothing_is_judged(root, capsys):
    write_answers(root, answer(case="nav-oen"))
    assert main(["lint", "suite", "--answers"]) == 1
    out = capsys.readouterr().out
    assert "a.jsonl:1: case: the suite has no case 'nav-oen' (did you mean 'nav-one'?) [error: label]" in out
    assert "answers: not judged, as the suite has errors" in out


def test_a_suite_without_answers_says_so_and_has_none_to_save(root, capsys):
    (root / "labels" / "a.jsonl").unlink()
    assert main(["lint", "suite", "--answers"]) == 0
    assert "answers: the suite has none" in capsys.readouterr().out
    assert main(["lint", "suite", "--answers", "--save", "x.json"]) == 2
    assert "suite has no labelled answers" in capsys.readouterr().err


def test_save_needs_answers(root, capsys):
    assert main(["lint", "suite", "--save", "x.json"]) == 2
    assert capsys.readouterr().err == "mapsat: --save goes with --answers\n"


def test_decisions_of_people_do_not_hide_what_the_checks_make_of_an_answer(root, capsys):
    main(["lint", "suite", "--answers", "--save", "run.json"])
    Path("more.jsonl").write_text(json.dumps({"case": "nav-one", "trial": 2, "labels": {"z1": "passed"}}))
    assert main(["review", "run.json", "--suite", "suite", "--from", "more.jsonl"]) == 0
    capsys.readouterr()
    assert judged(capsys)[0] == 0
