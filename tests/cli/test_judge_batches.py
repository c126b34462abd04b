"""mapsat regrade --judge=llm:MODEL through batch files, and mapsat review --agreement on what comes of it."""

import json
from pathlib import Path

import pytest
from answer_suite import LABELS, WRONG, answer, write_suite
from batches import answered, rows
from judging_model import reply

from pytest_mapsat.cli import main
from pytest_mapsat.formats import read_run


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(tmp_path / "store"))
    suite = write_suite(tmp_path / "suite", answer(), answer(id="w1", text="I suggest Old Mill.", labels=WRONG))
    assert main(["lint", "suite", "--answers", "--save", "answers.json"]) == 0
    return suite


def regrade(*more, judge="llm:openai/m", votes=1):
    return main(["regrade", "answers.json", "--suite", "suite", f"--judge={judge}", f"--judge-votes={votes}", *more])


def test_requests_go_out_results_come_in_and_the_run_is_judged(root, capsys):
    assert regrade("--batch-out", "out.jsonl", votes=2) == 0
    sent = rows("out.jsonl")
    assert len(sent) == 12  # two answers, three dimensions, two votes
    assert len({row["custom_id"] for row in sent}) == 12
    assert sent[0]["body"]["response_format"]["json_schema"]["strict"]
    assert "12 requests written to out.jsonl" in capsys.readouterr().out

    answered("out.jsonl", "in.jsonl")
    assert regrade("--batch-in", "in.jsonl", "--save", "judged.json", votes=2) == 1  # the wrong answer fails
    captured = capsys.readouterr()
    assert "12 answers read, 0 requests without an answer" in captured.err
    run = read_run(Path("judged.json"))
    said = {
        card.nodeid: {label.requirement: (label.outcome, label.by, label.votes) for label in card.labels}
        for card in run.cases
    }
    assert set(said["answers::nav-one[r1]"].values()) == {("passed", "model", ("passed", "passed"))}
    assert set(said["answers::nav-one[w1]"].values()) == {("failed", "model", ("failed", "failed"))}
    assert run.manifest.options.judge_votes == 2
    assert run.cases[0].judge_spent.input_tokens == 600

    # The cache answers from now on: nothing is left to ask, and the file is the same.
    assert regrade("--batch-out", "none.jsonl", "--save", "again.json", votes=2) == 1
    assert not Path("none.jsonl").exists()
    assert Path("judged.json").read_bytes() == Path("again.json").read_bytes()


def test_lean_asks_less_than_whole_and_both_read_what_comes_back(root, capsys):
    """What is asked passes by the checks; of what is not one is open; facts are always asked."""
    sent = {}
    for judge in ("llm-lean:openai/m", "llm:openai/m"):
        assert regrade("--batch-out", "out.jsonl", judge=judge) == 0
        sent[judge] = {row["custom_id"] for row in rows("out.jsonl")}
    assert (len(sent["llm-lean:openai/m"]), len(sent["llm:openai/m"])) == (4, 6)  # of two answers with three dimensions
    assert sent["llm-lean:openai/m"] < sent["llm:openai/m"]  # what lean has asked, whole finds answered

    assert regrade("--batch-out", "lean.jsonl", judge="llm-lean:openai/m") == 0
    answered("lean.jsonl", "lean-in.jsonl")
    capsys.readouterr()
    regrade("--batch-in", "lean-in.jsonl", "--save", "lean.json", judge="llm-lean:openai/m")
    assert "4 answers read, 0 requests without an answer" in capsys.readouterr().err
    by = {label.kind: label.by for card in read_run(Path("lean.json")).cases for label in card.labels}
    assert by == {"asked": "checks", "hard": "model", "soft": "model", "fact": "model"}
    assert regrade("--batch-out", "rest.jsonl", judge="llm:openai/m") == 0
    assert len(rows("rest.jsonl")) == 2


def test_what_does_not_check_comes_up_in_a_second_round(root, capsys):
    assert regrade("--batch-out", "one.jsonl") == 0
    answered(
        "one.jsonl", "one-in.jsonl", words=lambda body, verdict: reply(body, verdict).replace("I suggest", "I propose")
    )
    assert regrade("--batch-in", "one-in.jsonl", "--batch-out", "two.jsonl") == 0
    second = rows("two.jsonl")
    assert len(second) == 6
    assert all("'I propose' occurs in no part" in row["body"]["messages"][-1]["content"] for row in second)
    answered("two.jsonl", "two-in.jsonl")
    capsys.readouterr()
    assert regrade("--batch-in", "two-in.jsonl", "--json") == 1
    assert json.loads(capsys.readouterr().out)["summary"]["ar"]["bounds"] == [0.5, 0.5]


def test_bad_rows_are_named_the_rest_counts_and_nothing_missing_turns_green(root, capsys):
    assert regrade("--batch-out", "out.jsonl") == 0
    answered("out.jsonl", "in.jsonl")
    lines = Path("in.jsonl").read_text().splitlines()
    refused = lines[1].replace('"message": {', '"message": {"refusal": "no", ')
    Path("in.jsonl").write_text("\n".join([lines[0], refused, '{"custom_id": "f00"}', "no json", *lines[3:]]) + "\n")
    capsys.readouterr()
    assert regrade("--batch-in", "in.jsonl", "--save", "judged.json") == 1
    told = capsys.readouterr().err
    assert "4 answers read, 2 requests without an answer" in told
    assert "in.jsonl:2" in told
    assert "in.jsonl:3" in told
    assert "in.jsonl:4" in told
    labels = [label for card in read_run(Path("judged.json")).cases for label in card.labels]
    open_ = [label for label in labels if label.value is None]
    assert open_
    assert {label.blame for label in open_} == {"judge"}
    assert {label.votes for label in open_} == {("no_vote",)}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judge=checks", "--batch-out=x.jsonl"], "go with --judge=llm:MODEL"),
        (["--judge=llm:", "--batch-out=x.jsonl"], "--judge=llm: names no model"),
        (["--judge=llm:m", "--batch-in=absent.jsonl"], "absent.jsonl: there is no such file"),
        (["--judge=llm:m", "--judge-votes=0"], "expected a whole number from 1 to 99"),
        (["--judge=llm-all:m"], "--judge=llm-all:m: this judge is called llm now; use --judge=llm:m"),
        (["--judge=llm-learn:m"], "did you mean 'llm-lean'?"),
    ],
)
def test_what_cannot_be_asked_for_is_told(root, capsys, arguments, words):
    assert main(["regrade", "answers.json", "--suite", "suite", *arguments]) == 2
    assert words in capsys.readouterr().err


def agreement(capsys, *arguments):
    capsys.readouterr()
    assert main(["review", "--agreement", "judged.json", "--suite", "suite", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_judge_is_held_against_labelled_answers_and_against_verdicts(root, capsys):
    """The model is right about the first answer, and red on all of the second, of which one label only is to fail."""
    regrade("--batch-out", "out.jsonl", votes=2)
    answered("out.jsonl", "in.jsonl")
    regrade("--batch-in", "in.jsonl", "--save", "judged.json", votes=2)
    for labels in ("suite", "suite/labels/a.jsonl"):
        found = agreement(capsys, "--labels", labels)
        assert found["answers"]["right"]["green"] == {"n": 1, "value": 1.0, "low": 0.2065, "high": 1.0}
        assert found["answers"]["wrong"]["red"]["n"] == 1
        everything = found["labels"]["all"]["all"]
        assert (everything["labels"], everything["decided"], everything["agreed"]) == (6, 6, 4)
        assert everything["confusion"] == {"failed": {"failed": 1}, "passed": {"failed": 2, "passed": 3}}
        # po = 4/6, pe = (1 * 3 + 5 * 3) / 36
        assert everything["kappa"]["value"] == pytest.approx((4 / 6 - 0.5) / 0.5, abs=1e-4)
        assert {kind: group["labels"] for kind, group in found["labels"]["kind"].items()} == {
            "asked": 2,
            "fact": 2,
            "hard": 2,
        }
        assert list(found["labels"]["by"]) == ["model"]
        assert found["labels"]["language"]["en"]["agreed"] == 4
        # The wrong answer earns ECR 1 and IISR 0 by its true labels, and 0 and 0 by the model's.
        assert found["scores"]["ecr"]["mean_absolute_error"]["value"] == 0.5
        assert found["scores"]["iisr"]["within_0.02"]["value"] == 1.0
        assert found["votes"] == 1.0

    found = agreement(capsys, "--labels", "judged.json")
    assert found["labels"]["all"]["all"]["kappa"]["value"] == 1.0
    assert main(["review", "--agreement", "judged.json", "--suite", "suite", "--labels", "suite"]) == 0
    table = capsys.readouterr().out
    assert "2 dialogues compared with their true labels" in table
    assert max(map(len, table.splitlines())) <= 80


def test_labels_of_other_words_are_not_taken(root, capsys):
    main(["regrade", "answers.json", "--suite", "suite", "--save", "judged.json"])
    other = answer(text="Another reply."), answer(id="w1", text="I suggest Old Mill.", labels=LABELS)
    (root / "labels" / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in other))
    found = agreement(capsys, "--labels", "suite")
    assert (found["dialogues"], found["left_out"]) == (1, 1)
    (root / "labels" / "a.jsonl").write_text(json.dumps(other[0]) + "\n")
    assert main(["review", "--agreement", "judged.json", "--suite", "suite", "--labels", "suite"]) == 2
    assert "no label is about a dialogue of the run" in capsys.readouterr().err


def test_a_saved_run_of_the_judge_of_the_old_name_is_refused_with_the_new_one(root, capsys):
    run = json.loads(Path("answers.json").read_text())
    run["manifest"]["judge"]["spec"] = "llm-all:m"
    Path("answers.json").write_text(json.dumps(run))
    assert main(["regrade", "answers.json", "--suite", "suite"]) == 2
    assert "this judge is called llm now; use --judge=llm:m" in capsys.readouterr().err
