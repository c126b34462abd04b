"""A saved run judged by a model behind the door: called once, kept, and survived when it breaks."""

import json
from pathlib import Path

import pytest
from answer_suite import WRONG, answer, write_suite
from judging_model import reply
from scripted_models import ScriptedModels, problem, said

from pytest_mapsat.cli import main
from pytest_mapsat.formats import read_run


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite = write_suite(tmp_path / "suite", answer(), answer(id="w1", text="I suggest Old Mill.", labels=WRONG))
    assert main(["lint", "suite", "--answers", "--save", "answers.json"]) == 0
    return suite


def regrade(save, *more):
    judge = "--judge=llm:openai/gpt-4o-mini?temperature=0"
    return main(["regrade", "answers.json", "--suite", "suite", judge, "--judge-votes=2", "--save", save, *more])


def test_the_second_run_calls_nobody_and_writes_the_same_file(root, models: ScriptedModels, capsys):
    models.script = lambda body, _number: said(reply(body))
    assert regrade("one.json") == 1  # the wrong answer fails
    called = len(models.requests)
    assert called == 12  # two answers, three dimensions, two votes
    assert {body["temperature"] for body in models.requests} == {0}
    assert {body["response_format"]["type"] for body in models.requests} == {"json_schema"}
    run = read_run(Path("one.json"))
    assert {label.by for card in run.cases for label in card.labels} == {"model"}
    assert {card.outcome for card in run.cases} == {"passed", "failed"}
    assert {"en/judge", "zh/judge_again"} <= run.manifest.prompts.keys()
    assert "judge      8 labels by the model, 0 undecided; two votes agree in 100%" in capsys.readouterr().out
    assert run.cases[0].judge_spent.input_tokens == 600

    assert regrade("two.json") == 1
    assert regrade("three.json", "--cache=only") == 1
    assert len(models.requests) == called
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes() == Path("three.json").read_bytes()


def test_a_model_that_breaks_leaves_labels_open_and_is_asked_again_in_the_next_run(
    root, models: ScriptedModels, capsys
):
    models.script = lambda body, _number: (
        said(refusal="I will not judge this.")
        if "Old Mill" in json.dumps(body)
        else problem(401, "bad key sk-secret-0123456789abcdef")
    )
    assert regrade("broken.json") == 1
    labels = [label for card in read_run(Path("broken.json")).cases for label in card.labels]
    assert len(labels) == 8
    assert {(label.outcome, label.value, label.blame) for label in labels} == {("unevaluated", None, "judge")}
    text = Path("broken.json").read_text() + capsys.readouterr().out
    assert "refused" in text
    assert "sk-secret" not in text

    models.script = lambda body, _number: said(reply(body))
    assert regrade("mended.json") == 1
    assert all(label.value is not None for card in read_run(Path("mended.json")).cases for label in card.labels)
