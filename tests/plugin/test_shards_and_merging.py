"""Parts of a run in several jobs, and the whole that mapsat merge makes of them."""

import json

import pytest
from saved_runs import saved, saved_timeless

from pytest_mapsat.cli import main
from pytest_mapsat.runs.request import cases_of_shard

GOOD = "--mapsat-agent=good:agent"


def part(project: pytest.Pytester, name: str, *options: str) -> pytest.RunResult:
    return project.runpytest(GOOD, f"--mapsat-save={name}", "-p", "no:cacheprovider", *options)


def test_shards_merge_into_the_run_that_one_job_would_have_made(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = ("--mapsat-fail-under=ar=0.4", "--mapsat-trials=2", "--mapsat-max-drop=ar:0.02")
    assert part(project, "whole.json", "--mapsat-trials=2").ret == 0
    for number in (1, 2):
        workers = ("-n", "2") if number == 2 else ()
        result = part(
            project, f"{number}.json", f"--mapsat-shard={number}/2", "--mapsat-compare=whole.json", *rules, *workers
        )
        assert result.ret == 0
        result.stdout.fnmatch_lines(
            ["*ar is left to mapsat merge: this is shard*", "*ar is left to mapsat merge: this is shard*"]
        )
    assert main(["merge", "2.json", "1.json", "--out=all.json", "--compare=whole.json"]) == 0
    out = capsys.readouterr().out
    assert "ar 0.5000 >= 0.4 (3 of 3 cases" in out
    assert "ar 0.500 -> 0.500: no difference in 3 cases" in out
    part(project, "again.json", "--mapsat-compare=whole.json", *rules)
    assert saved_timeless(project, "all.json") == saved_timeless(project, "again.json")


def test_what_is_not_the_parts_of_one_run_is_refused(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2, 3):
        part(project, f"{number}.json", f"--mapsat-shard={number}/3")
    part(project, "nav.json", "-m", "navigation")
    part(project, "nav-too.json", "-m", "navigation")
    part(project, "search.json", "-m", "search")
    part(project, "trials.json", "--mapsat-shard=3/3", "--mapsat-trials=2")
    capsys.readouterr()

    def told(*names: str) -> str:
        status = main(["merge", *names, "--out=all.json"])
        assert status == 2
        assert not (project.path / "all.json").exists()
        return capsys.readouterr().err

    assert "shards are missing: 2/3" in told("1.json", "3.json")
    (project.path / "copy.json").write_text((project.path / "2.json").read_text())
    assert "shard 2/3 occurs twice: 2.json and copy.json" in told("1.json", "2.json", "3.json", "copy.json")
    assert "trials.json: trials is 2, 1.json has 1" in told("1.json", "2.json", "trials.json")
    assert "is given twice" in told("1.json", "1.json")
    assert "is in two parts: nav.json and nav-too.json" in told("nav.json", "nav-too.json")
    assert "sharded is True, nav.json has False" in told("nav.json", "1.json")
    assert "this is the journal of a run that did not end" in told("1.json", "2.json.journal")
    assert "no such file" in told("1.json", "none.json")
    assert main(["merge", "nav.json", "search.json", "--out=search.json"]) == 2
    assert "--out=search.json: this is one of the parts" in capsys.readouterr().err
    # Parts that other options cut are a whole too, where nothing is missing.
    assert main(["merge", "nav.json", "search.json", "--out=all.json", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["accounting"] == {"collected": 3, "deselected": 0, "lost": [], "drafts": [], "excused": []}
    (project.path / "all.json").unlink()
    data = saved(project, "nav.json")
    data["cases"] = data["cases"][:1]
    (project.path / "nav.json").write_text(json.dumps(data))
    assert "1 episodes are in no part: nav-two" in told("nav.json", "search.json")


def test_every_case_is_in_exactly_one_part_whatever_the_order() -> None:
    cases = [f"case-{number}" for number in range(50)]
    parts = [cases_of_shard(cases, f"{number}/8") for number in range(1, 9)]
    assert sorted(case for part in parts for case in part) == sorted(cases)
    assert parts[2] == cases_of_shard(reversed(cases), "3/8")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--mapsat-shard=3/2",), "--mapsat-shard: found '3/2', expected I/N"),
        (("--mapsat-shard=0/2",), "expected I/N"),
    ],
)
def test_a_shard_that_cannot_be_is_a_usage_error(project: pytest.Pytester, options: tuple[str, ...], told: str) -> None:
    result = project.runpytest(GOOD, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{told}*"])


def test_a_part_without_a_case_is_no_failure_and_merges(project: pytest.Pytester) -> None:
    for number in range(1, 6):
        assert part(project, f"{number}.json", f"--mapsat-shard={number}/5").ret == 0
    assert main(["merge", *(f"{number}.json" for number in range(1, 6)), "--out=all.json"]) == 0
