"""A judge is held to what it must reach, writes a certificate, and gates a suite that asks for one only with it."""

import json
import math
import shutil
from contextlib import chdir
from pathlib import Path

import pytest
from answer_suite import WRONG, answer, write_suite
from batches import answered

from pytest_mapsat.cli import main
from pytest_mapsat.formats import read_run
from pytest_mapsat.metrics import wilson_interval

JUDGE = "llm:openai/m"
CERTIFICATE = Path("suite/judge-certificate.json")


def right_model(text, good):
    """What is true of the answers: the wrong ones break one requirement."""
    return "passed" if good or "open now" not in text else "failed"


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A suite with twelve right and twelve wrong answers, judged by the checks."""
    folder = tmp_path_factory.mktemp("labelled")
    right = [answer(id=f"r{number}", text=f"I suggest Blue Bay {'!' * number}") for number in range(12)]
    wrong = [answer(id=f"w{number}", text=f"I suggest Old Mill {'!' * number}", labels=WRONG) for number in range(12)]
    suite = write_suite(folder / "suite", *right, *wrong)
    (suite / "b.yaml").unlink()  # the case without answers
    with chdir(folder):
        assert main(["lint", "suite", "--answers", "--save", "answers.json"]) == 0
    return folder


@pytest.fixture(scope="module")
def held(labelled, tmp_path_factory):
    """The same, with the demand for a certificate, judged by a model that earns it."""
    folder = shutil.copytree(labelled, tmp_path_factory.mktemp("held") / "root")
    manifest = folder / "suite" / "suite.yaml"
    manifest.write_text(manifest.read_text() + "judge: {tpr: 0.8, tnr: 0.8, labels: 50}\n")
    with chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAPSAT_CACHE_DIR", str(folder / "store"))
        judged()
    return folder


def moved_into(source, folder, monkeypatch):
    shutil.copytree(source, folder, dirs_exist_ok=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(folder / "store"))
    return folder / "suite"


@pytest.fixture
def root(labelled, tmp_path, monkeypatch):
    return moved_into(labelled, tmp_path, monkeypatch)


@pytest.fixture
def uncertified(held, tmp_path, monkeypatch):
    return moved_into(held, tmp_path, monkeypatch)


@pytest.fixture
def certified(uncertified):
    assert require() == 0
    return uncertified


def judged(verdict=right_model, judge=JUDGE):
    command = ["regrade", "answers.json", "--suite", "suite", f"--judge={judge}", "--judge-votes=1", "--fail-on=none"]
    main([*command, "--batch-out", "out.jsonl"])
    answered("out.jsonl", "in.jsonl", verdict)
    main([*command, "--batch-in", "in.jsonl", "--save", "judged.json"])


def require(rates="tpr=0.8,tnr=0.8@95", *more):
    return main(
        ["review", "--agreement", "judged.json", "--suite", "suite", "--labels", "suite", "--require", rates, *more]
    )


def gate(*more, judge=JUDGE, votes=1, run="judged.json"):
    """The exit status and the gate's outcome and first reason, of a run with a threshold that holds."""
    command = ["regrade", run, "--suite", "suite", f"--judge={judge}", f"--judge-votes={votes}", "--cache=only"]
    main([*command, "--fail-under=ar=0.1", "--fail-on=none", "--save", "gated.json", *more])
    decided = read_run(Path("gated.json")).gate
    return decided.outcome, decided.reasons[0]


def test_a_judge_that_reaches_what_is_required_gets_a_certificate(uncertified, capsys):
    capsys.readouterr()
    assert require() == 0
    shown = capsys.readouterr()
    assert "wrote suite/judge-certificate.json" in shown.err
    assert max(map(len, shown.out.splitlines())) <= 80
    text = CERTIFICATE.read_text()
    found = json.loads(text)
    # Twelve answers keep three requirements, twelve keep two and break one; dialogues are the sample.
    low = [math.floor(1e4 * wilson_interval(1.0, dialogues, level=0.9)[0]) / 1e4 for dialogues in (24, 12)]
    assert found["tpr"] == {"labels": 60, "right": 60, "dialogues": 24, "value": 1.0, "low": low[0]}
    assert found["tnr"] == {"labels": 12, "right": 12, "dialogues": 12, "value": 1.0, "low": low[1]}
    assert (found["suite"], found["judge"], found["model"], found["votes"]) == ("tiny", "llm", "openai/m", 1)
    assert {"en/judge", "zh/judge_again"} <= found["prompts"].keys()
    assert "version" in found
    require()
    assert CERTIFICATE.read_text() == text
    assert require("tpr=0.8", "--save", "elsewhere.json") == 0
    assert Path("elsewhere.json").exists()


def test_a_judge_below_what_is_required_is_told_what_is_missing_and_gets_none(root, capsys):
    judged(lambda _text, _good: "passed")
    capsys.readouterr()
    assert require("tpr=0.99,tnr=0.8") == 1
    told = capsys.readouterr().err
    assert (
        "tpr 0.99 is not reached (kept requirements that it passes: 60 of 60 in 24 dialogues, at least 0.8986 at 95 %; 244 more dialogues"
        in told
    )
    assert (
        "tnr 0.8 is not reached (broken requirements that it fails: 0 of 12 in 12 dialogues, at least 0 at 95 %" in told
    )
    assert not CERTIFICATE.exists()


def test_too_few_labels_are_below(root, capsys):
    only = [json.dumps(answer(id="r0", text="I suggest Blue Bay "))]
    (root / "labels" / "a.jsonl").write_text("\n".join(only))
    main(["lint", "suite", "--answers", "--save", "answers.json"])
    judged()
    capsys.readouterr()
    assert require() == 1
    told = capsys.readouterr().err
    assert (
        "tpr 0.8 is not reached (kept requirements that it passes: 3 of 3 in 1 dialogues, at least 0.2698 at 95 %; 10 more dialogues"
        in told
    )
    assert "tnr 0.8 is not reached (broken requirements that it fails: 0 of 0 in 0 dialogues" in told


def test_what_a_judge_leaves_open_is_not_right(root, capsys):
    judged(lambda text, good: "cannot_say" if good else right_model(text, good))
    capsys.readouterr()
    assert require("tpr=0.8") == 1
    assert "24 of 60 in 24 dialogues" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ("tpr=2", "found 'tpr=2', expected tpr=0.9"),
        ("fpr=0.1", "found 'fpr=0.1'"),
        ("tpr=0.9,tpr=0.8", "found 'tpr=0.8'"),
        ("tpr=0.9@95,tnr=0.9@99", "two levels"),
        ("tpr=0.9@20", "found 'tpr=0.9@20'"),
    ],
)
def test_what_cannot_be_required_is_told(rates, words, capsys):
    assert require(rates) == 2
    assert words in capsys.readouterr().err


def test_a_gate_without_the_certificate_that_the_suite_asks_for_is_invalid_and_says_what_to_run(uncertified):
    outcome, reason = gate()
    assert outcome == "invalid"
    assert reason == (
        "the judge llm:openai/m may not gate tiny: there is no suite/judge-certificate.json; run: mapsat lint suite --answers --save answers.json; "
        "mapsat regrade answers.json --suite suite --judge=llm:openai/m --judge-votes=1 --save judged.json; "
        "mapsat review --agreement judged.json --suite suite --labels suite --require tpr=0.8,tnr=0.8@95"
    )
    for line in reason.partition("run: ")[2].split("; ")[2:]:
        assert main(line.split()[1:]) == 0
    assert gate()[0] == "passed"


def test_without_a_threshold_there_is_no_gate_and_the_missing_certificate_is_only_told(uncertified):
    decided = read_run(Path("judged.json")).gate
    assert decided.outcome == "passed"
    assert "there is no suite/judge-certificate.json" in decided.reasons[0]


def test_a_certificate_of_another_judge_model_vote_prompt_version_or_suite_does_not_hold(certified):
    assert "judge 'llm', and this is 'checks'" in gate(judge="checks", run="answers.json")[1]
    assert "judge 'llm', and this is 'llm-lean'" in gate(judge="llm-lean:openai/m")[1]
    assert "model 'openai/m', and this is 'openai/other'" in gate(judge="llm:openai/other")[1]
    assert "votes 1, and this is 3" in gate(votes=3)[1]
    written = json.loads(CERTIFICATE.read_text())
    for changed, words in (
        ({"version": "0.0.1"}, "version '0.0.1', and this is"),
        ({"suite": "other"}, "suite 'other', and this is 'tiny'"),
        ({"prompts": written["prompts"] | {"en/judge": "1 abc"}}, "is of other prompts"),
    ):
        CERTIFICATE.write_text(json.dumps(written | changed))
        outcome, reason = gate()
        assert outcome == "invalid"
        assert f"suite/judge-certificate.json is of {words}".replace("is of is of", "is of") in reason
        assert "run: mapsat lint suite --answers" in reason


def test_the_suites_sentence_to_judges_is_part_of_what_is_certified(certified):
    assert gate()[0] == "passed"
    manifest = certified / "suite.yaml"
    manifest.write_text(manifest.read_text().replace("judge: {", "judge: {about: A guide to chargers., "))
    assert "is of other prompts" in gate()[1]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text[: len(text) // 2], "suite/judge-certificate.json:"),
        (lambda text: text.replace('"right": 12', '"right": 11'), "it was changed by hand"),
        (lambda text: text.replace('"value": 1.0', '"value": 0.99', 1), "it was changed by hand"),
        (lambda text: text.replace('"right": 60', '"right": 600'), "it was changed by hand"),
        (lambda text: text.replace('"votes": 1', '"votes": "1"'), "suite/judge-certificate.json:6"),
        (lambda _: "[]", "suite/judge-certificate.json"),
        (lambda _: "", "suite/judge-certificate.json"),
    ],
)
def test_a_certificate_that_is_cut_or_changed_by_hand_is_told_with_its_file(certified, spoil, words):
    CERTIFICATE.write_text(spoil(CERTIFICATE.read_text()))
    outcome, reason = gate()
    assert outcome == "invalid"
    assert words in reason
    assert "write it again with mapsat review --agreement" in reason


def test_fewer_labels_or_a_lower_bound_than_the_manifest_asks_for_do_not_hold(certified):
    assert require("tpr=0.5,tnr=0.5@80") == 0
    manifest = certified / "suite.yaml"
    given = manifest.read_text()
    manifest.write_text(given.replace("labels: 50", "labels: 500"))
    assert "rests on 72 labels, and 500 are asked for" in gate()[1]
    manifest.write_text(given.replace("tnr: 0.8", "tnr: 0.95"))
    assert "tnr 0.95 is not reached" in gate()[1]


def test_the_manifest_refuses_what_no_judge_can_reach_and_a_sentence_that_is_too_long(root, capsys):
    manifest = root / "suite.yaml"
    given = manifest.read_text()
    for terms, words in (
        ("tpr: 1", "less than 1"),
        (f"about: {'a' * 500}", "at most 400"),
        ("tpf: 0.9", "did you mean 'tpr'"),
    ):
        manifest.write_text(f"{given}judge: {{{terms}}}\n")
        capsys.readouterr()
        assert main(["lint", "suite"]) == 1
        shown = capsys.readouterr()
        assert words in shown.out + shown.err
