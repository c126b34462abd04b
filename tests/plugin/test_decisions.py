"""People's decisions: they come before the judge for the very reply and evidence they were taken on, and are named where they no longer count."""

import json
import shutil
from pathlib import Path

import pytest

from pytest_mapsat.cli import main

GIVEN = {"case": "nav-one", "trial": 1, "labels": {"z1": "passed"}, "why": {"z1": "it opens at six"}, "by": "ann"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The place of what ``decided`` makes once."""
    return tmp_path_factory.mktemp("decided") / "project"


@pytest.fixture
def decided(project: pytest.Pytester, kept: Path) -> pytest.Pytester:
    """A project where somebody has decided that the bad agent's reply to nav-one keeps z1."""
    if kept.exists():
        shutil.copytree(kept, project.path, dirs_exist_ok=True)
    else:
        project.runpytest("--mapsat-agent=bad:agent", "--mapsat-save=run.json")
        decide(GIVEN)
        shutil.copytree(project.path, kept)
    return project


def decide(*lines: dict[str, object], into: str = "benchmark_cases/labels/reviewed.jsonl") -> None:
    Path("lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["review", "run.json", "--from", "lines.jsonl", "--labels", into]) == 0


def saved(name: str = "new.json") -> dict[str, object]:
    return json.loads(Path(name).read_text(encoding="utf-8"))


def label(run: dict[str, object], requirement: str = "z1") -> dict[str, object]:
    card = next(card for card in run["cases"] if card["id"] == "nav-one")
    return next(label for label in card["labels"] if label["requirement"] == requirement)


def test_a_decision_on_this_reply_comes_before_the_judge(decided: pytest.Pytester) -> None:
    result = decided.runpytest("--mapsat-agent=bad:agent", "--mapsat-save=new.json", "-k", "nav-one")
    result.assert_outcomes(passed=1, deselected=2)
    found = label(saved())
    assert (found["outcome"], found["by"], found["why"]) == (
        "passed",
        "decision",
        "labelled by ann: it opens at six",
    )
    assert label(saved(), "e1")["by"] == "checks"
    assert saved()["manifest"]["warnings"] == []


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_decision_on_another_reply_does_not_count_and_is_named(decided: pytest.Pytester, workers) -> None:
    decided.makepyfile(bad="def agent(message, tools):\n    return 'I suggest Old Mill, if you like.'\n")
    arguments = ("--mapsat-agent=bad:agent", "--mapsat-save=new.json", *workers)
    result = decided.runpytest_subprocess(*arguments)
    assert label(saved())["by"] == "checks"
    warning = "labels of people that do not count, as the reply is another: z1 (reviewed.jsonl:1) (nav-one)"
    assert saved()["manifest"]["warnings"] == [warning]
    assert "warning    labels of people that do not count" in result.stdout.str()


def test_a_decision_on_other_evidence_does_not_count_and_is_named(decided: pytest.Pytester) -> None:
    recordings = decided.path / "benchmark_cases" / "recordings" / "all.jsonl"
    recordings.write_text(recordings.read_text().replace("Blue Bay", "Blue Boy"))
    decided.runpytest("--mapsat-agent=bad:agent", "--mapsat-save=new.json")
    assert "as the calls or their results are others: z1" in saved()["manifest"]["warnings"][0]


def test_a_decision_on_other_words_of_the_requirement_does_not_count_and_is_named(
    decided: pytest.Pytester, capsys
) -> None:
    cases = decided.path / "benchmark_cases" / "nav" / "a.yaml"
    cases.write_text(cases.read_text().replace("it is open now", "it is open all night"))
    decided.runpytest("--mapsat-agent=bad:agent", "--mapsat-save=new.json")
    assert label(saved())["outcome"] == "failed"
    assert "as the requirement's words have changed: z1" in saved()["manifest"]["warnings"][0]
    main(["lint", "benchmark_cases"])
    assert (
        "reviewed.jsonl:1: wording.z1: the words of the requirement z1 of the case nav-one have changed"
        in capsys.readouterr().out
    )


def test_a_decision_on_a_requirement_that_is_gone_is_named(decided: pytest.Pytester) -> None:
    cases = decided.path / "benchmark_cases" / "nav" / "a.yaml"
    cases.write_text(cases.read_text().replace('"z1"', '"z3"'))
    decided.runpytest("--mapsat-agent=bad:agent", "--mapsat-save=new.json")
    assert "as the case has no such requirement: z1" in saved()["manifest"]["warnings"][0]


def test_of_two_decisions_that_fit_the_later_counts(decided: pytest.Pytester) -> None:
    decide(GIVEN | {"labels": {"z1": "failed"}, "why": {"z1": "it does not"}})
    decided.runpytest("--mapsat-agent=bad:agent", "--mapsat-save=new.json")
    assert label(saved())["why"] == "labelled by ann: it does not"


def test_a_soft_requirement_may_be_decided_with_a_level(decided: pytest.Pytester) -> None:
    decide(GIVEN | {"labels": {"z2": 0.5}, "why": {}})
    decided.runpytest("--mapsat-agent=bad:agent", "--mapsat-save=new.json")
    assert (label(saved(), "z2")["value"], label(saved(), "z2")["outcome"]) == (0.5, "passed")


def test_regrade_counts_decisions_too(decided: pytest.Pytester) -> None:
    main(["regrade", "run.json", "--save", "new.json"])
    assert label(saved())["by"] == "decision"


def test_regrade_takes_a_file_of_decisions_in_the_place_of_the_suites_own(decided: pytest.Pytester) -> None:
    Path("none.jsonl").write_text("")
    main(["regrade", "run.json", "--labels", "none.jsonl", "--save", "new.json"])
    assert label(saved())["by"] == "checks"


def test_the_manifest_tells_which_decisions_counted(decided: pytest.Pytester, capsys) -> None:
    Path("other.jsonl").write_text("\n")
    decided.runpytest("--mapsat-agent=bad:agent", "--mapsat-save=new.json")
    own, before = saved()["manifest"], saved("run.json")["manifest"]
    assert len(own["suites"][0]["decisions"]) == 16
    assert own["suites"][0]["fingerprint"] == before["suites"][0]["fingerprint"]
    assert (before["suites"][0]["decisions"], own["decisions"]) == ("", "")
    main(["regrade", "new.json", "--labels", "other.jsonl", "--save", "new.json"])
    assert len(saved()["manifest"]["decisions"]) == 16
    capsys.readouterr()
    main(["regrade", "new.json"])
    assert "judged with a file of labels that is not given now" in capsys.readouterr().err


def test_an_episode_that_somebody_else_broke_is_not_decided_by_anybody(decided: pytest.Pytester) -> None:
    run = saved("run.json")
    card = next(card for card in run["cases"] if card["id"] == "nav-one")
    card["trajectory"] |= {"ending": "user_error", "fault": {"blame": "user", "message": "gone"}}
    Path("broken.json").write_text(json.dumps(run))
    main(["regrade", "broken.json", "--save", "new.json"])
    assert label(saved())["outcome"] == "unevaluated"


def test_a_count_of_explicit_requirements_gives_way_once_each_is_decided(decided: pytest.Pytester) -> None:
    verdict = {"case_id": "nav-one", "details": {"ECR": {"numerator": 0, "denominator": 1}}}
    Path("verdicts.jsonl").write_text(json.dumps(verdict) + "\n")
    decide(GIVEN | {"labels": {"e1": "passed"}, "why": {}})
    main(["regrade", "run.json", "--judge", "recorded:verdicts.jsonl", "--save", "new.json"])
    card = next(card for card in saved()["cases"] if card["id"] == "nav-one")
    assert (card["explicit_count"], card["metrics"]["ecr"]) == (None, 1.0)


def test_a_run_that_goes_on_after_other_decisions_is_another_run_but_answers_are_nothing_to_it(
    project: pytest.Pytester,
) -> None:
    project.runpytest("--mapsat-agent=bad:agent", "--mapsat-save=run.json")
    (project.path / "benchmark_cases" / "labels").mkdir()
    (project.path / "benchmark_cases" / "labels" / "a.jsonl").write_text("")
    again = ("--mapsat-agent=bad:agent", "--mapsat-resume=run.json")
    project.runpytest(*again).assert_outcomes(failed=3)
    decide(GIVEN)
    result = project.runpytest(*again)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert ", decisions " in result.stderr.str() + result.stdout.str()
