"""The published snapshot, end to end: import it, take its dialogues and verdicts as they are, and get its figures."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from saved_runs import saved
from tests_data import data_dir

from pytest_mapsat.ports.mapsatisfybench import import_mapsatisfybench

Run = Callable[[str], dict[str, Any]]
#: TS and Eff of the recorded dialogues, by the first six characters of the case id.
DIALOGUES = {
    "44cc53": (0.0000, 0.8333),
    "601630": (0.3333, 0.6667),
    "715981": (0.4000, 0.5000),
    "f61d2f": (0.3333, 0.8333),
    "d3238e": (0.7500, 0.5000),
    "f5464f": (1.0000, 0.5000),
    "980f3e": (0.0000, 0.5000),
    "ed3470": (0.0000, 0.7143),
    "37f457": (0.5000, 0.7500),
    "63698b": (0.2000, 0.7143),
}


def _sources(kind: str) -> tuple[Path, Path]:
    data = data_dir() / "mapsatisfybench"
    if kind == "jsonl":
        return data / "trajectories_gpt53.jsonl", data / "verdicts_gpt53.jsonl"
    outputs = data / "upstream" / "data" / "outputs"
    return next(outputs.glob("simulator_res/*.csv")), next(outputs.glob("evaluation_res/*.csv"))


@pytest.fixture
def run_of(pytester: pytest.Pytester, kept: Path) -> Run:
    """Put the run of a kind of sources into the folder of the test, made once, and return it."""

    def run(kind: str) -> dict[str, Any]:
        if not (kept / kind).exists():
            dialogues, verdicts = _sources(kind)
            import_mapsatisfybench(data_dir() / "mapsatisfybench" / "upstream" / "data", pytester.path / "published")
            agent, judge = f"--mapsat-agent=recorded:{dialogues}", f"--mapsat-judge=recorded:{verdicts}"
            result = pytester.runpytest("published", agent, judge, "--mapsat-save=run.json")
            result.assert_outcomes(passed=3, failed=7)
            shutil.copytree(pytester.path, kept / kind)
        shutil.copytree(kept / kind, pytester.path, dirs_exist_ok=True)
        return saved(pytester)

    return run


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_every_case_has_the_published_figures(run_of: Run, kind: str) -> None:
    run = run_of(kind)
    path = data_dir() / "mapsatisfybench" / "verdicts_gpt53.jsonl"
    verdicts = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    published = {one["case_id"]: one["metrics"] for one in verdicts}
    assert len(run["cases"]) == len(published) == 10
    for case in run["cases"]:
        theirs = published[case["id"]]
        for name in ("ECR", "IISR", "AR", "IFS"):
            assert case["metrics"][name.lower()] == pytest.approx(theirs[name], abs=1e-4), (case["id"][:6], name)
        ts, eff = DIALOGUES[case["id"][:6]]
        assert case["metrics"]["ts"] == pytest.approx(ts, abs=1e-4)
        assert case["metrics"]["eff"] == pytest.approx(eff, abs=1e-4)


def test_the_run_says_that_its_verdicts_are_not_linked_to_its_dialogues(run_of: Run) -> None:
    run = run_of("jsonl")
    assert run["manifest"]["judge"]["linked"] is False
    assert any("joined by case id" in warning for warning in run["manifest"]["warnings"])


def test_every_tool_result_of_a_recorded_dialogue_has_provenance_recorded(run_of: Run) -> None:
    run = run_of("csv")
    assert sum(case["sandbox"]["recorded"] for case in run["cases"]) == 45
    assert sum(sum(case["sandbox"].values()) for case in run["cases"]) == 45


def test_a_saved_run_can_be_replayed_and_judged_by_its_own_labels(pytester: pytest.Pytester, run_of: Run) -> None:
    first = run_of("jsonl")
    result = pytester.runpytest(
        "published", "--mapsat-agent=recorded:run.json", "--mapsat-judge=recorded:run.json", "--mapsat-save=again.json"
    )
    result.assert_outcomes(passed=3, failed=7)
    second = saved(pytester, "again.json")
    assert [case["metrics"] for case in second["cases"]] == [case["metrics"] for case in first["cases"]]
    assert second["manifest"]["judge"]["linked"] is True


def test_a_run_of_another_schema_version_is_refused(pytester: pytest.Pytester, run_of: Run) -> None:
    run_of("jsonl")
    path = pytester.path / "run.json"
    path.write_text(path.read_text(encoding="utf-8").replace("mapsat-run/1", "mapsat-run/2"), encoding="utf-8")
    result = pytester.runpytest("published", "--mapsat-agent=recorded:run.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*mapsat-run/2*mapsat-run/1*"])
