"""mapsat regrade: a saved run is judged again without an agent, and the same grader writes the same file."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny_suite

from pytest_mapsat.cli import main
from pytest_mapsat.formats import limits, read_run
from pytest_mapsat.model import Run, SuiteError

RUNS: dict[tuple[str, ...], bytes] = {}


def saved(project: pytest.Pytester, *options: str, agent: str = "good") -> bytes:
    """Save the run of an agent, which is made once for all tests, as run.json, and return its bytes."""
    run = project.path / "run.json"
    if (agent, *options) not in RUNS:
        project.runpytest(f"--mapsat-agent={agent}:agent", "--mapsat-save=run.json", *options)
        RUNS[agent, *options] = run.read_bytes()
    run.write_bytes(RUNS[agent, *options])
    return RUNS[agent, *options]


def again(*options: str) -> tuple[int, Any]:
    """Regrade run.json to again.json; return the exit status and the new run."""
    status = main(["regrade", "run.json", "--save", "again.json", *options])
    return status, json.loads(Path("again.json").read_text(encoding="utf-8")) if status < 2 else None


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--mapsat-fail-under=ar=0.9",),
        ("--mapsat-fail-on=all", "--mapsat-trials=2"),
        ("-k", "nav-one", "--mapsat-fail-under=ar=0.1"),
        ("-o", "mapsat_fail_under=ar=0.1", "-m", "search"),
        ("--maxfail=1",),
    ],
)
@pytest.mark.parametrize("agent", ["good", "bad"])
def test_the_same_grader_writes_the_same_bytes(project: pytest.Pytester, agent: str, options: tuple[str, ...]) -> None:
    before = saved(project, *options, agent=agent)
    again()
    assert Path("again.json").read_bytes() == before


def test_a_file_that_could_not_be_collected_still_makes_the_gate_invalid(project: pytest.Pytester) -> None:
    broken = project.path / "benchmark_cases" / "nav" / "broken.yaml"
    broken.write_text("id: [")
    saved(project, "--continue-on-collection-errors")
    broken.unlink()
    status, run = again()
    assert (status, run["gate"]["outcome"]) == (1, "invalid")


def test_other_thresholds_decide_otherwise(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    saved(project)
    assert again("--fail-under", "ar=0.9")[0] == 1
    assert "gate       FAILED: ar 0.5000 < 0.9" in capsys.readouterr().out
    status, run = again("--fail-under", "ar=0.4", "--fail-under", "ecr=1")
    assert (status, run["manifest"]["options"]["fail_under"]) == (0, ["ar=0.4", "ecr=1"])


def test_other_assertions_fail_other_items(project: pytest.Pytester) -> None:
    saved(project)
    _, run = again("--fail-on", "soft")
    assert {case["outcome"] for case in run["cases"]} == {"failed"}
    assert run["cases"][0]["reason"].startswith("soft z2 failed")


def test_changed_checks_judge_anew_and_the_change_is_told(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(project)
    case = tiny_suite.case("nav-one")
    case["truth"]["requirements"][1]["check"] = {"kind": "says", "none": ["Blue Bay"]}
    others = [tiny_suite.case("nav-two", difficulty="L2")]
    (project.path / "benchmark_cases" / "nav" / "a.yaml").write_text(json.dumps([case, *others]))
    _, run = again()
    assert {card["id"]: card["outcome"] for card in run["cases"]} == {
        "find-one": "passed",
        "nav-one": "failed",
        "nav-two": "passed",
    }
    assert "warning: the suite 'tiny' has changed since the run was saved" in capsys.readouterr().err


def test_recorded_verdicts_judge_a_run(project: pytest.Pytester) -> None:
    saved(project)
    status, run = again("--judge", "recorded:run.json")
    assert status == 0
    assert run["manifest"]["judge"] == {"spec": "recorded:run.json", "linked": True}
    assert {case["outcome"] for case in run["cases"]} == {"passed"}


def test_verdicts_on_other_dialogues_judge_nothing(project: pytest.Pytester) -> None:
    saved(project, agent="bad")
    shutil.copy("run.json", "other.json")
    saved(project)
    status, run = again("--judge", "recorded:other.json")
    assert (status, run["gate"]["outcome"]) == (1, "invalid")
    assert {case["outcome"] for case in run["cases"]} == {"unevaluated"}


def test_a_run_judged_by_a_file_asks_for_the_file(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    saved(project)
    shutil.copy("run.json", "verdicts.json")
    saved(project, "--mapsat-judge=recorded:verdicts.json")
    assert again()[0] == 2
    assert "give --judge=recorded:PATH, or --judge=checks" in capsys.readouterr().err
    assert again("--judge", "checks")[0] == 0


def test_the_suite_may_stand_elsewhere(project: pytest.Pytester) -> None:
    before = saved(project)
    shutil.move("benchmark_cases", "moved")
    assert again()[0] == 2
    assert again("--suite", "moved/nav/a.yaml")[0] == 0
    assert Path("again.json").read_bytes() == before


def test_a_case_that_is_gone_is_an_error(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    saved(project)
    (project.path / "benchmark_cases" / "search" / "b.jsonl").unlink()
    assert again()[0] == 2
    assert "the suite has no case 'find-one', which the run has" in capsys.readouterr().err


def test_json_holds_the_run_but_for_its_cases(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    before = json.loads(saved(project))
    capsys.readouterr()
    assert again("--json")[0] == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {name: before[name] for name in before if name not in ("cases", "timing")}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "run.json:1: is not valid JSON"),
        ("{", "run.json:1: is not valid JSON"),
        ("[]", "run.json:1: schema: found [], expected 'mapsat-run/1'"),
        ('{"schema": "mapsat-run/9"}', "schema: found 'mapsat-run/9', expected 'mapsat-run/1'"),
        ('{"schema": "mapsat-run/1"}', "manifest: is missing"),
        ('{"schema": NaN}', "NaN is not a JSON value"),
        ("[" * 100_000, "lists and objects are nested more than 128 deep"),
    ],
)
def test_what_is_no_run_file_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.json").write_text(text)
    assert main(["regrade", "run.json"]) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.out == ""


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RUN_BYTES", 10)
    path = tmp_path / "run.json"
    path.write_text(" " * 100)
    with pytest.raises(SuiteError, match="is larger than 10 bytes"):
        read_run(path)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--fail-on", "hrad"), "--fail-on: found 'hrad', expected hard"),
        (("--fail-under", "arr=1"), "--fail-under: no metric 'arr'"),
        (("--judge", "chekcs"), "--judge=chekcs is not a judge"),
        (("--suite", "nowhere"), "--suite: there is nothing at nowhere"),
        (("--allow-undecided", "x"), "expected a number of cases as 3, or a share of them as 20%"),
    ],
)
def test_an_option_that_cannot_be_used_is_explained(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], told: str
) -> None:
    saved(project)
    assert again(*options)[0] == 2
    assert told in capsys.readouterr().err


def test_no_run_file_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["regrade", "nowhere.json"]) == 2
    assert capsys.readouterr().err == "mapsat: nowhere.json: there is no such file\n"


def test_the_agent_is_not_asked_again(project: pytest.Pytester) -> None:
    saved(project)
    (project.path / "good.py").unlink()
    assert again()[0] == 0
    assert Run.model_validate_json(Path("again.json").read_bytes()).manifest.agent == "good:agent"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nmapsat_cases =\n    elsewhere/mine\n"),
        ("tox.ini", "[pytest]\nmapsat_cases = elsewhere/mine\n"),
        ("setup.cfg", "[tool:pytest]\nmapsat_cases = elsewhere/mine\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\nmapsat_cases = ["elsewhere/mine"]\n'),
    ],
)
def test_commands_take_the_suite_of_the_ini_file(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
) -> None:
    saved(project)
    (project.path / "elsewhere").mkdir()
    (project.path / "benchmark_cases").rename(project.path / "elsewhere" / "mine")
    (project.path / name).write_text(text)
    assert again()[0] == 0
    assert main(["review", "run.json", "--list"]) == 0
    monkeypatch.chdir(project.mkdir("below"))
    assert main(["review", "../run.json", "--list"]) == 0
    assert main(["review", "../run.json", "--list", "--suite=nowhere"]) == 2
    (project.path / name).write_text("[pytest")
    assert main(["review", "../run.json", "--list"]) == 2
    assert f"{name}: pytest's settings cannot be read" in capsys.readouterr().err
