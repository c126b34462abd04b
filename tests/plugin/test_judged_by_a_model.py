"""Runs whose judge is a model, against a scripted server: what it decides counts, is kept, and is told."""

import json

import pytest
from judging_model import LINE
from saved_runs import saved_text
from scripted_models import problem, said


@pytest.fixture
def models(asked_models):
    return asked_models


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
    result = project.runpytest("-v", "--mapsat-agent=good:agent", *options, "--mapsat-save=one.json")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["judge      12 labels by the model, 0 undecided; two votes agree in 100%"])
    called = len(models.requests)
    assert 6 <= called <= 18  # three cases, three dimensions, two votes; equal dialogues share an answer
    result = project.runpytest("--mapsat-agent=good:agent", *options, "--mapsat-save=two.json")
    result.assert_outcomes(passed=3)
    assert len(models.requests) == called

    assert saved_text(project, "one.json") == saved_text(project, "two.json")

    result = project.runpytest("--mapsat-agent=bad:agent", *options)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*said    turn 1*I suggest*"])


def test_a_model_that_cannot_be_asked_turns_nothing_and_makes_the_gate_invalid(
    project: pytest.Pytester, models
) -> None:
    models.script = lambda body, _number: problem(401, "bad key")
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-judge=llm:openai/gpt-4o-mini")
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(["gate       INVALID: 3 cases lost (judge 3: *)"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(("options", "words"), [(["--mapsat-judge-votes=2"], "asks no model"), (["--mapsat-judge=llm:m", "--mapsat-judge-votes=100"], "from 1 to 99")])  # fmt: skip
def test_votes_that_nobody_can_give_are_a_usage_error(project: pytest.Pytester, options, words) -> None:
    result = project.runpytest("--mapsat-agent=good:agent", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{words}*"])


def test_lean_asks_for_facts_and_for_dimensions_that_the_checks_do_not_pass(project: pytest.Pytester, models) -> None:
    """Three cases with three dimensions: explicit requirements pass by the checks, a soft one is open, facts are always asked."""
    models.script = judging
    counts = {}
    for judge in ("llm-lean", "llm"):
        models.requests.clear()
        judged = (f"--mapsat-judge={judge}:openai/gpt-4o-mini", "--mapsat-judge-votes=1", "--mapsat-cache=off")
        project.runpytest("--mapsat-agent=good:agent", *judged).assert_outcomes(passed=3)
        counts[judge] = len(models.requests)
    assert counts == {"llm-lean": 6, "llm": 9}


def test_the_judge_of_the_old_name_is_refused_with_the_new_one_on_the_command_line_and_in_the_ini(
    project: pytest.Pytester,
) -> None:
    told = "*--mapsat-judge=llm-all:openai/m: this judge is called llm now; use --mapsat-judge=llm:openai/m*"
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-judge=llm-all:openai/m")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])
    project.makeini("[pytest]\nmapsat_judge = llm-all:openai/m\nmapsat_agent = good:agent")
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])


def test_a_gate_by_a_judge_without_the_certificate_that_the_suite_asks_for_is_invalid(project: pytest.Pytester) -> None:
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(manifest.read_text() + "judge: {tpr: 0.9, tnr: 0.9}\n")
    result = project.runpytest("-v", "--mapsat-agent=good:agent", "--mapsat-fail-under=ar=0.1")
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["gate       INVALID: the judge checks may not gate tiny: there is no*"])
    assert "mapsat review --agreement judged.json" in " ".join(result.stdout.str().split())
    result = project.runpytest("--mapsat-agent=good:agent")
    assert result.ret == pytest.ExitCode.OK
