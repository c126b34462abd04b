"""--mapsat-save: the run file, its schema, and that two equal runs write the same bytes."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from saved_runs import saved, timeless

from pytest_mapsat.model import Run

AGENT = "--mapsat-agent=good:agent"


def save(project: pytest.Pytester, name: str, *options: str) -> dict[str, Any]:
    """Run, save, and return the run file's content."""
    project.runpytest(AGENT, f"--mapsat-save={name}", *options)
    return saved(project, name)


def test_it_has_what_the_interface_says(project: pytest.Pytester) -> None:
    run = save(project, "run.json")
    assert run["schema"] == "mapsat-run/1"
    assert [case["id"] for case in run["cases"]] == ["find-one", "nav-one", "nav-two"]
    case = run["cases"][1]
    assert case["nodeid"] == "benchmark_cases/nav/a.yaml::case[nav-one]"
    assert case["outcome"] == "passed"
    assert case["metrics"]["ar"] == 0.5
    kinds = ("exact", "computed", "near", "composed", "recorded", "reported", "miss")
    assert case["sandbox"] == {**dict.fromkeys(kinds, 0), "exact": 1}
    assert run["summary"]["ar"]["n"] == 3
    assert set(run["groups"]["domain"]) == {"navigation", "search"}
    assert run["gate"]["outcome"] == "passed"
    assert run["manifest"]["judge"] == {"spec": "checks", "linked": None}


def test_it_validates_against_the_published_schema(project: pytest.Pytester) -> None:
    save(project, "run.json")
    run = Run.model_validate_json((project.path / "run.json").read_text(encoding="utf-8"))
    assert [len(card.trajectory.turns) for card in run.cases] == [3, 3, 3]


def test_a_metric_that_does_not_apply_is_null_with_its_class(project: pytest.Pytester) -> None:
    import tiny_suite

    odd = tiny_suite.case("odd")
    odd["truth"]["clarification"] = {"max_turns": 0}
    (project.path / "benchmark_cases" / "nav" / "odd.yaml").write_text(json.dumps([odd]))
    (project.path / "benchmark_cases" / "recordings" / "odd.jsonl").write_text(json.dumps(tiny_suite.recording("odd")))
    case = next(case for case in save(project, "run.json")["cases"] if case["id"] == "odd")
    assert case["metrics"]["eff"] is None
    assert (case["classes"]["eff"], case["classes"]["ses"]) == ("not_applicable", "not_applicable")


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (("-n", "4", "--dist=worksteal"), {}),
        (("-p", "no:randomly"), {"PYTHONHASHSEED": "12345", "TZ": "Asia/Shanghai", "LC_ALL": "C"}),
        (("-n", "1"), {"PYTHONHASHSEED": "1", "TZ": "America/New_York", "LC_ALL": "C.UTF-8"}),
    ],
)
def test_two_equal_runs_are_equal_but_for_timing(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], environment: dict[str, str]
) -> None:
    first = save(project, "first.json")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    second = save(project, "second.json", *options)
    assert json.dumps(timeless(first)) == json.dumps(timeless(second))


def test_the_order_of_files_on_disk_does_not_matter(project: pytest.Pytester) -> None:
    first = save(project, "first.json")
    suite = project.path / "benchmark_cases"
    copy = project.path / "copy"
    copy.mkdir()
    for path in sorted(suite.rglob("*"), reverse=True):
        if path.is_file():
            (copy / path.relative_to(suite)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy / path.relative_to(suite))
    shutil.rmtree(suite)
    copy.rename(suite)
    assert timeless(save(project, "second.json")) == timeless(first)


def test_no_machine_path_and_no_address_stands_in_it(project: pytest.Pytester) -> None:
    project.makepyfile(crash="def agent(message, tools):\n    raise ValueError(object())\n")
    project.runpytest("--mapsat-agent=crash:agent", "--mapsat-save=run.json")
    text = (project.path / "run.json").read_text()
    assert str(project.path) not in text
    assert re.search("0x[0-9a-f]{6}", text) is None
    assert "ValueError" in text


def test_a_folder_that_is_not_there_is_made(project: pytest.Pytester) -> None:
    save(project, "deep/er/run.json")
    assert (project.path / "deep" / "er" / "run.json").is_file()


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_reply_with_a_lone_surrogate_breaks_nothing(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    project.makepyfile(odd="def agent(message, tools):\n    return 'Blue Bay \\ud800'\n")
    options = ("--mapsat-agent=odd:agent", "--mapsat-save=run.json", *workers)
    project.runpytest(*options).assert_outcomes(passed=3)
    run = json.loads(Path(project.path / "run.json").read_text(encoding="utf-8"))
    assert run["cases"][0]["trajectory"]["turns"][1]["text"] == "Blue Bay \ufffd"


def test_nothing_is_called_saved_where_there_was_nothing_to_save(project: pytest.Pytester) -> None:
    project.makeconftest("def pytest_collection(): raise KeyboardInterrupt\n")
    result = project.runpytest_subprocess("--mapsat-agent=good:agent", "--mapsat-save=run.json")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.no_fnmatch_line("saved *")
    assert not (project.path / "run.json").exists()
