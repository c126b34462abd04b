"""A saved run is read in one place, for whoever asks, and refused there when it contradicts itself."""

import json

import pytest
from generated import generated
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from saved_runs import card, run_text

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.cli import main
from pytest_mapsat.formats import read_run, save_run
from pytest_mapsat.judges import make_judge
from pytest_mapsat.model import SuiteError, Trajectory, Turn, UsageError

ONE = Trajectory(case="c1", trial=1, turns=(Turn(role="user", text="q"), Turn(role="agent", text="a")))
TWO = ONE.model_copy(update={"case": "c2"})


def refusal(folder, text):
    (folder / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        read_run(folder / "run.json", "run.json")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (run_text(), "run.json:1: cases: found an empty list, expected the scorecard of at least one case"),
        (
            run_text(card(ONE), card(TWO), card(ONE), indent=1),
            "cases[2]: a second scorecard of case c1, trial 1; cases[0] is one already",
        ),
        (
            run_text(card(ONE, id="c9")),
            "cases[0].trajectory: found the dialogue of case c1, trial 1, expected that of case c9, trial 1",
        ),
        (
            run_text(card(ONE, trial=2)),
            "cases[0].trajectory: found the dialogue of case c1, trial 1, expected that of case c1, trial 2",
        ),
        (run_text(card(ONE, trial=0)), "cases[0].trial: found 0: input should be greater than or equal to 1"),
        (run_text(card(ONE)).replace('"cases"', '"gate": {}, "cases"'), "the key 'gate' occurs twice in one object"),
        (run_text(card(ONE, metrics={"ar": "much"})), "cases[0].metrics.ar: found 'much', expected a number"),
        (run_text(card(ONE, metrics={"ar": 7.0})), "cases[0].metrics.ar: found 7, expected 0 to 1"),
        (run_text(card(ONE, reson="")), "cases[0].reson: is not a known field (did you mean 'reason'?)"),
        (run_text(card(ONE)).replace('"q"', '"\\ud800"'), "holds half of a character"),
    ],
)
def test_a_run_that_contradicts_itself_is_refused(tmp_path, text, said):
    assert said in refusal(tmp_path, text)


def test_labels_of_kinds_that_had_other_names_are_refused_with_the_kinds_of_today(tmp_path):
    told = refusal(tmp_path, run_text(card(ONE, labels=[{"factor": "e1", "kind": "explicit", "outcome": "passed"}])))
    assert "cases[0].labels[0].factor: is not a known field" in told
    assert "cases[0].labels[0].kind: found 'explicit', expected one of asked, hard, soft, fact, policy" in told


@pytest.mark.parametrize(
    ("options", "accounting", "said"),
    [
        ({"trials": "2"}, {}, "manifest.options.trials: found '2', expected a whole number"),
        ({"trials": True}, {}, "manifest.options.trials: found True, expected a whole number"),
        ({"timeout_seconds": "9"}, {}, "manifest.options.timeout_seconds: found '9', expected a number"),
        ({"assert": ["hard", "none"]}, {}, "manifest.options.assert: found 'none' among others, expected it alone"),
        (
            {},
            {"collected": 1, "deselected": 2},
            "accounting: found 2 episodes deselected or lost, expected at most the 1",
        ),
    ],
)
def test_options_and_an_accounting_that_no_run_has_are_refused(tmp_path, options, accounting, said):
    run = json.loads(run_text(card(ONE)))
    run["manifest"]["options"].update(options)
    run["accounting"] = accounting
    assert said in refusal(tmp_path, json.dumps(run))


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_the_line_of_the_case_at_fault_is_told(tmp_path, indent):
    cards = [json.dumps(card(ONE), indent=indent), json.dumps(card(TWO, trial="x"), indent=indent)]
    text = run_text().replace('"cases": []', '"cases": [\n' + ",\n".join(cards) + "\n]")
    line = 1 + text[: text.index('{"id": "c2"' if indent is None else '"id": "c2"')].count("\n") - (indent is not None)
    assert f"run.json:{line}: cases[1].trial: found 'x', expected a whole number" in refusal(tmp_path, text)


def test_regrade_agent_and_judge_refuse_it_in_the_same_words(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = refusal(tmp_path, run_text(card(ONE), card(ONE)))
    with pytest.raises(SuiteError) as of_agent:
        resolve_source("recorded:run.json", root=tmp_path)
    with pytest.raises(SuiteError) as of_judge:
        make_judge("recorded:run.json", {}, root=tmp_path)
    assert main(["regrade", "run.json"]) == 2
    assert str(of_agent.value) == str(of_judge.value) == text
    assert text in capsys.readouterr().err


def test_what_is_written_is_read_as_the_same_run(tmp_path):
    deep: object = "x"
    for _ in range(60):
        deep = [deep]
    call = {"kind": "call", "id": "1", "tool": "find", "result": deep}
    trajectory = ONE.model_copy(
        update={"turns": (Turn.model_validate({"role": "agent", "text": "a", "steps": [call]}),)}
    )
    (tmp_path / "run.json").write_text(run_text(card(trajectory)), encoding="utf-8")
    run = read_run(tmp_path / "run.json")
    save_run(tmp_path / "again.json", run)
    assert read_run(tmp_path / "again.json") == run


def test_the_name_of_a_file_that_is_not_utf_8_can_be_saved_and_read(tmp_path):
    (tmp_path / "run.json").write_text(run_text(card(ONE)), encoding="utf-8")
    run = read_run(tmp_path / "run.json")
    odd = run.cases[0].model_copy(update={"nodeid": "caf\udce9.yaml::c1"})
    save_run(tmp_path / "odd.json", run.model_copy(update={"cases": (odd,)}))
    assert read_run(tmp_path / "odd.json").cases[0].nodeid == "caf\ufffd.yaml::c1"


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)


@generated(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_run_with_anything_in_it_is_read_or_refused_with_its_place(tmp_path, data):
    run = json.loads(run_text(card(ONE), card(TWO)))  # a copy: what stands in it is changed
    place = run
    while True:
        key = data.draw(st.sampled_from(sorted(place)) if isinstance(place, dict) else st.integers(0, len(place) - 1))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(VALUES)
    (tmp_path / "run.json").write_text(json.dumps(run, indent=data.draw(st.none() | st.just(1))), encoding="utf-8")
    problems = []
    try:
        read_run(tmp_path / "run.json", "run.json")
    except SuiteError as error:
        problems.extend(error.problems)
    assert all(problem.path == "run.json" and problem.line for problem in problems)


@generated(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=80))
def test_any_bytes_are_refused(tmp_path, raw):
    (tmp_path / "run.json").write_bytes(raw)
    with pytest.raises(SuiteError, match=r"run\.json(:\d+)?: "):
        read_run(tmp_path / "run.json", "run.json")


def test_a_file_that_is_not_there_is_told_with_a_guess(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(UsageError, match=r"runn\.json: there is no such file \(did you mean 'run\.json'\?\)"):
        read_run(tmp_path / "runn.json", "runn.json")
