"""Runs whose judge is a model, against a scripted server: what it decides counts, is kept, and is told."""

from __future__ import annotations

import json

import pytest
from judging_model import LINE
from scripted_models import problem, said, scripted_models

from pytest_mapsat.llm.call import library


@pytest.fixture(scope="module")
def server():
    library()  # once for all runs of this process
    with scripted_models() as running:
        yield running


@pytest.fixture
def models(server, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(project.path / "store"))
    server.requests.clear()
    return server


def judging(body, _number):
    """Pass what the reply of a good agent says, and fail it otherwise."""
    shown = body["messages"][1]["content"]
    good = "I suggest Blue Bay" in shown
    labels = [
        {
            "requirement": int(number),
            "reason": "so",
            "quotes": [{"part": "reply-1", "words": "I suggest"}],
            "figures": [],
            "verdict": "passed" if good else "failed",
        }
        for number, _ in LINE.findall(shown)
    ]
    return said(json.dumps({"labels": labels}))


def test_a_model_judges_a_run_and_the_next_run_asks_nobody(project: pytest.Pytester, models) -> None:
    models.script = judging
    options = ("--mapsat-judge=llm:openai/gpt-4o-mini", "--mapsat-judge-votes=2")
    result = project.runpytest("--mapsat-agent=good:agent", *options, "--mapsat-save=one.json")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["judge    12 labels by the model, 0 left open; two votes agree in 100%"])
    called = len(models.requests)
    assert 6 <= called <= 18  # three cases, three dimensions, two votes; equal dialogues share an answer
    result = project.runpytest("--mapsat-agent=good:agent", *options, "--mapsat-save=two.json")
    result.assert_outcomes(passed=3)
    assert len(models.requests) == called

    def untimed(name):
        return json.dumps(_without_timing(json.loads((project.path / name).read_text())))

    assert untimed("one.json") == untimed("two.json")

    result = project.runpytest("--mapsat-agent=bad:agent", *options)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*said    turn 1*I suggest*"])


def test_a_model_that_cannot_be_asked_turns_nothing_and_makes_the_gate_invalid(
    project: pytest.Pytester, models
) -> None:
    models.script = lambda body, _number: problem(401, "bad key")
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-judge=llm:openai/gpt-4o-mini")
    result.assert_outcomes(skipped=3)
    result.stdout.fnmatch_lines(["gate     INVALID: 3 cases lost (judge 3: *), 0 allowed"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(("options", "words"), [(["--mapsat-judge-votes=2"], "asks no model"), (["--mapsat-judge=llm:m", "--mapsat-judge-votes=100"], "at most 99")])  # fmt: skip
def test_votes_that_nobody_can_give_are_a_usage_error(project: pytest.Pytester, options, words) -> None:
    result = project.runpytest("--mapsat-agent=good:agent", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{words}*"])


def _without_timing(value):
    if isinstance(value, dict):
        return {key: _without_timing(part) for key, part in value.items() if key != "timing"}
    return [_without_timing(part) for part in value] if isinstance(value, list) else value
