"""mapsat review RUN: people decide what the judge left open or got wrong, in the terminal or from a file."""

import io
import json
from pathlib import Path

import pytest
import tiny_suite
from answer_suite import LABELS, answer, lines, write_suite

from pytest_mapsat.cli import main
from pytest_mapsat.suite import open_suite, read_answers

SUITE = ("--suite", "suite")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of three answers: a right one, a wrong one, and one that hides an escape code in its text."""
    monkeypatch.chdir(tmp_path)
    root = write_suite(
        tmp_path / "suite",
        answer(),
        answer(id="w1", text="I suggest Old Mill."),
        answer(id="w2", text="Take the \x1b[2Jblue one.\nIt is open."),
    )
    case = json.loads((root / "a.yaml").read_text())
    del case[0]["truth"]["requirements"][3]["check"]
    case[0]["truth"]["requirements"][0].pop("check")
    (root / "a.yaml").write_text(json.dumps(case))
    main(["lint", "suite", "--answers", "--save", "run.json"])
    saved = json.loads(Path("run.json").read_text())
    for card in saved["cases"]:
        card["trajectory"]["source"] = "agent"  # as if an agent had said it
    Path("run.json").write_text(json.dumps(saved))
    (root / "labels" / "a.jsonl").unlink()
    return root


def listed(capsys) -> list[tuple[int, str, str]]:
    capsys.readouterr()
    assert main(["review", "run.json", *SUITE, "--list", "--json"]) == 0
    return [(one["trial"], one["requirement"], one["state"]) for one in json.loads(capsys.readouterr().out)]


def decisions(root) -> list[tuple[str, object, str]]:
    text = (root / "labels" / "reviewed.jsonl").read_text(encoding="utf-8")
    found = []
    for line in map(json.loads, text.splitlines()):
        (labelled,) = line["labels"].items()
        found.append((*labelled, line.get("why", {}).get(labelled[0], "")))
    return found


def typed(monkeypatch, text: str, *options: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return main(["review", "run.json", *SUITE, *options])


def given(*given_labels: dict[str, object], options: tuple[str, ...] = ()) -> int:
    Path("given.jsonl").write_text(lines(*given_labels), encoding="utf-8")
    return main(["review", "run.json", *SUITE, "--from", "given.jsonl", *options])


def labelled(requirement: str, outcome: object = "passed", trial: int = 3, **more: object) -> dict[str, object]:
    why = {"why": {requirement: more.pop("why")}} if "why" in more else {}
    return {"case": "nav-one", "trial": trial, "labels": {requirement: outcome}, **why, **more}


def test_what_is_undecided_is_asked_before_what_failed(run, capsys):
    assert listed(capsys) == [
        (1, "e1", "undecided"),
        (2, "e1", "undecided"),
        (3, "e1", "undecided"),
        (1, "z2", "failed"),
        (2, "z1", "failed"),
        (2, "z2", "failed"),
        (3, "z1", "failed"),
        (3, "z2", "failed"),
    ]


def test_a_key_decides_at_once_and_a_reason_may_stand_behind_it(run, capsys, monkeypatch):
    assert typed(monkeypatch, "p\nf  no name given\ns\n0.5\nq\n") == 0
    assert decisions(run) == [("e1", "passed", ""), ("e1", "failed", "no name given"), ("z2", 0.5, "")]
    assert capsys.readouterr().out.endswith("3 labels given, 5 open; mapsat regrade counts them\n")
    assert (3, "e1", "undecided") in listed(capsys)


def test_the_end_of_the_input_quits_and_what_was_decided_stays(run, capsys, monkeypatch):
    assert typed(monkeypatch, "p\n") == 0
    assert len(decisions(run)) == 1


def test_a_wrong_key_is_explained_and_asked_again(run, capsys, monkeypatch):
    typed(monkeypatch, "x\n0.5\np\nq\n")
    out = capsys.readouterr().out
    assert "found 'x', expected p, f, s, q\n" in out
    assert "found '0.5', expected p, f, s, q\n" in out
    assert decisions(run) == [("e1", "passed", "")]


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_question_fits_the_terminal_up_to_a_hundred_columns(run, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    typed(monkeypatch, "s\n" * 9)
    widest = max(len(line) for line in capsys.readouterr().out.splitlines() if not line.startswith("p passed"))
    assert columns - 15 <= widest <= columns if columns < 100 else 85 <= widest <= 100


def test_the_question_shows_what_was_asked_said_called_and_required(run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    typed(monkeypatch, "q\n")
    out = capsys.readouterr().out
    assert "[1/8] case nav-one, trial 1: asked e1 is undecided" in out
    assert "user       Take me to a charger." in out
    assert "agent      I suggest Blue Bay." in out
    assert 'evidence   search_poi(query="charger") -> {"pois": [{"name": "Old Mill", "open": false}' in out
    assert "required   a charger is named" in out


def test_nothing_that_a_reply_holds_can_steer_the_terminal(run, capsys, monkeypatch):
    typed(monkeypatch, "s\n" * 9)
    main(["review", "run.json", *SUITE, "--list"])
    out = capsys.readouterr().out
    assert "Take the \\u001b[2Jblue one." in out
    assert "\x1b" not in out


def test_decisions_from_a_file_are_kept_and_count_for_regrade(run, capsys):
    assert given(labelled("z1", why="shown on the map"), labelled("e1"), options=("--json",)) == 0
    assert json.loads(capsys.readouterr().out) == {"labelled": 2, "open": 6, "dialogues": []}
    main(["regrade", "run.json", *SUITE, "--save", "new.json"])
    card = json.loads(Path("new.json").read_text())["cases"][2]
    assert [(label["requirement"], label["outcome"], label["by"]) for label in card["labels"]] == [
        ("e1", "passed", "decision"),
        ("z1", "passed", "decision"),
        ("z2", "failed", "checks"),
        ("f1", "passed", "checks"),
    ]


def test_the_same_decisions_given_again_add_nothing(run, capsys):
    for _ in range(2):
        given(labelled("z1"))
    assert len(decisions(run)) == 1


def test_a_label_that_the_judge_passed_may_be_overruled(run, capsys):
    assert given(labelled("z1", "failed", trial=1)) == 0
    main(["regrade", "run.json", *SUITE, "--save", "new.json"])
    assert json.loads(Path("new.json").read_text())["cases"][0]["outcome"] == "failed"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (labelled("z1") | {"case": "nav-oen"}, "case: the run has no case 'nav-oen' (did you mean 'nav-one'?)"),
        (labelled("z1", trial=9), "trial: the run has no trial 9 of the case nav-one"),
        (labelled("zz1"), "labels.zz1: the case nav-one has no requirement 'zz1' (did you mean 'z1'?)"),
        (labelled("z1", 0.5), "labels.z1: found 0.5, expected passed or failed (only a soft requirement has levels)"),
        (labelled("z1", "maybe"), "labels.z1: found 'maybe', expected passed, failed, or a soft requirement's level"),
        (labelled("z1", trail=3), "trail: is not a known field (did you mean 'trial'?)"),
        (labelled("e1"), "labels.e1: is labelled twice: given.jsonl:1 does it too"),
    ],
)
def test_a_file_with_a_wrong_line_is_refused_whole(run, capsys, wrong, said):
    assert given(labelled("e1"), wrong) == 2
    assert f"mapsat: given.jsonl:2: {said}" in capsys.readouterr().err
    assert not (run / "labels" / "reviewed.jsonl").exists()


def test_a_reply_whose_required_labels_are_all_decided_becomes_a_labelled_answer(run, capsys):
    assert given(labelled("e1"), labelled("z1"), labelled("e1", trial=2), options=("--with-dialogues",)) == 0
    out = capsys.readouterr().out
    assert "case nav-one, trial 3: added to suite/labels/dialogues.jsonl (not reviewed, the judge's own: f1)" in out
    added = {one.noun.turns[1].text: one.noun for one in read_answers(open_suite(run))}
    assert added["Take the \x1b[2Jblue one.\nIt is open."].labels == LABELS
    assert added["I suggest Old Mill."].labels == LABELS | {"z1": "failed"}
    assert main(["lint", "suite", "--answers", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["answers"]
    assert [label["requirement"] for label in found["wrong"]] == ["z1"], "what was corrected is now a test of the judge"


def test_a_reply_with_an_open_label_is_not_added_and_the_label_named(run, capsys):
    given(labelled("z1"), options=("--with-dialogues",))
    assert "case nav-one, trial 3: not kept with its dialogue: e1 still open" in capsys.readouterr().out
    assert not (run / "labels" / "dialogues.jsonl").exists()


def test_a_dialogue_without_its_query_is_added_with_the_cases(run, capsys):
    saved = json.loads(Path("run.json").read_text())
    del saved["cases"][2]["trajectory"]["turns"][0]
    Path("run.json").write_text(json.dumps(saved))
    assert given(labelled("e1"), labelled("z1"), options=("--with-dialogues",)) == 0
    (added,) = read_answers(open_suite(run))
    assert [turn.role for turn in added.noun.turns][:2] == ["user", "agent"]


def test_episodes_of_one_trial_are_told_apart_by_their_attempt(run, capsys):
    saved = json.loads(Path("run.json").read_text())
    saved["cases"][2] |= {"trial": 2, "attempt": 2}
    saved["cases"][2]["trajectory"]["trial"] = 2
    Path("run.json").write_text(json.dumps(saved))
    assert given(labelled("z1", trial=2, attempt=3)) == 2
    assert "the run has no trial 2, attempt 3 of the case nav-one" in capsys.readouterr().err
    assert given(labelled("z1", trial=2, attempt=2), options=("--json",)) == 0
    main(["regrade", "run.json", *SUITE, "--save", "new.json"])
    cards = json.loads(Path("new.json").read_text())["cases"]
    assert [card["labels"][1]["by"] for card in cards] == ["checks", "checks", "decision"]


def test_an_answer_is_added_once(run, capsys):
    for _ in range(2):
        given(labelled("e1"), labelled("z1"), options=("--with-dialogues",))
    assert len((run / "labels" / "dialogues.jsonl").read_text().splitlines()) == 1


def test_decisions_may_be_kept_elsewhere(run, capsys):
    assert given(labelled("z1"), options=("--labels", "mine/d.jsonl", "--by", "ann")) == 0
    assert json.loads(Path("mine/d.jsonl").read_text())["by"] == "ann"
    assert not (run / "labels" / "reviewed.jsonl").exists()


def test_a_file_whose_last_line_was_left_open_is_added_to_line_by_line(run, capsys):
    given(labelled("z1"))
    path = run / "labels" / "reviewed.jsonl"
    path.write_text(path.read_text().rstrip("\n"))
    given(labelled("e1"))
    assert [requirement for requirement, _, _ in decisions(run)] == ["z1", "e1"]


def test_trials_that_are_equal_ask_once(run, capsys):
    saved = json.loads(Path("run.json").read_text())
    again = json.loads(json.dumps(saved["cases"][1]))
    again["trial"] = again["trajectory"]["trial"] = 4
    saved["cases"].append(again)
    Path("run.json").write_text(json.dumps(saved))
    assert all(trial != 4 for trial, _, _ in listed(capsys))


def test_an_episode_without_a_reply_asks_nothing_and_cannot_be_decided(run, capsys):
    saved = json.loads(Path("run.json").read_text())
    saved["cases"][2]["trajectory"]["turns"][1]["text"] = " "
    Path("run.json").write_text(json.dumps(saved))
    assert all(trial != 3 for trial, _, _ in listed(capsys))
    assert given(labelled("z1")) == 2
    assert "trial 3 of the case nav-one has no reply to judge" in capsys.readouterr().err


def test_a_run_of_another_suite_is_refused(run, capsys, tmp_path):
    tiny_suite.write_suite(tmp_path / "other", {"a.yaml": [tiny_suite.case("nav-won")]})
    assert main(["review", "run.json", "--suite", "other", "--list"]) == 2
    assert "the suite has no case 'nav-one', which the run has (did you mean 'nav-won'?)" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", " ", "a\x1bb"])
def test_a_name_that_cannot_be_read_is_refused(run, capsys, name):
    assert main(["review", "run.json", *SUITE, "--by", name]) == 2
    assert "--by: found" in capsys.readouterr().err
