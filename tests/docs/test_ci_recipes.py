"""The recipes of docs/how-to/gate-in-ci.md and examples/ci, run step by step in a shell; the services' own parts are played by stand-ins."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import tiny_suite
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "gate-in-ci.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
RECIPES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "examples" / "ci").iterdir()}
#: What stands in for gh and curl: the baseline of the main branch is handed out, comments are kept.
GH = """\
case "$1 $2" in
  "run list") echo 7 ;;
  "run download") mkdir -p "$7" && cp ../baseline.json "$7/run.json" ;;
  "pr comment") test "$4" = --body-file && cp "$5" ../comment-of-$3.md ;;
esac
"""
CURL = """\
for word; do last=$word; done
case "$last" in
  *"/jobs/artifacts/main/raw/run.json?job=gate") cp ../baseline.json baseline.json ;;
  *"/merge_requests/12/notes") cp comment.md ../comment-of-12.md ;;
  *) exit 22 ;;
esac
"""


@pytest.fixture
def project(tmp_path, monkeypatch, warm):
    """A project with a suite and a bad agent, whose main branch had a good one, and the commands that its CI has."""
    for name in ("GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    tiny_suite.write_suite(root / "benchmark_cases")
    (root / "pytest.ini").write_text(FILES["pytest.ini"].replace("0.65", "0.4"))  # what the good agent reaches
    commands = tmp_path / "bin"
    commands.mkdir()
    pieces = {
        "gh": GH,
        "curl": CURL,
        "pip": "",
        "git": "",
        "pytest": f'exec {warm} -m pytest "$@"',
        "mapsat": f'exec {warm} -m pytest_mapsat "$@"',
    }
    for name, script in pieces.items():
        (commands / name).write_text(f"#!/bin/sh\n{script}\n")
        (commands / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    (root / "mymod.py").write_text(tiny_suite.GOOD)
    done = step(root, "pytest -q --mapsat-save=../baseline.json")
    assert done.returncode == 0, done.stdout
    (root / "mymod.py").write_text(tiny_suite.BAD)
    return root


def step(root: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as the services do: in bash, which stops at the first command that fails."""
    given = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(
        ["bash", "-e", "-c", script], cwd=root, env=given, capture_output=True, text=True, check=False
    )


def scripts(job: dict[str, Any]) -> list[str]:
    return [one["run"] for one in job["steps"] if "run" in one]


def test_github_runs_parts_merges_compares_and_comments(project):
    jobs = yaml.safe_load(RECIPES["github.yml"])["jobs"]
    shutil.copy(project.parent / "baseline.json", project / "anchor.json")
    for shard in jobs["cases"]["strategy"]["matrix"]["shard"]:
        install, part = scripts(jobs["cases"])
        assert step(project, install).returncode == 0
        assert step(project, part, SHARD=str(shard)).returncode in (0, 1, 5)
    environment = {
        "PULL_REQUEST": "12",
        "GITHUB_STEP_SUMMARY": str(project / "step.md"),
        "GITHUB_WORKSPACE": str(project.parent),
    }
    done = [step(project, one, **environment) for one in scripts(jobs["gate"])]
    assert [one.returncode for one in done] == [0, 0, 1, 1, 0], [one.stderr for one in done]
    assert "ar:0.02" in done[2].stdout
    assert "against the anchor" in done[2].stdout
    assert "flipped  find-one  passed → failed" in done[2].stdout
    assert "::error file=project/benchmark_cases/nav/a.yaml,line=" in done[3].stdout
    told = (project.parent / "comment-of-12.md").read_text(encoding="utf-8")
    assert told == (project / "step.md").read_text(encoding="utf-8")
    assert "before `“Blue Bay”`, now `no reply says" in told
    assert "<!doctype html>" in (project / "report.html").read_text(encoding="utf-8")


def test_gitlab_runs_parts_merges_compares_and_comments(project):
    jobs = yaml.safe_load(RECIPES["gitlab.yml"])
    environment = {
        "CI_NODE_TOTAL": "2",
        "CI_API_V4_URL": "https://x",
        "CI_PROJECT_ID": "1",
        "CI_DEFAULT_BRANCH": "main",
    }
    shutil.copy(project.parent / "baseline.json", project / "anchor.json")
    environment |= {"CI_MERGE_REQUEST_IID": "12", "CI_JOB_TOKEN": "t", "COMMENT_TOKEN": "t"}
    for part in range(1, jobs["cases"]["parallel"] + 1):
        done = step(project, "\n".join(jobs["cases"]["script"]), CI_NODE_INDEX=str(part), **environment)
        assert done.returncode in (0, 1, 5), done.stderr
    gate = step(project, "\n".join(jobs["gate"]["script"]), **environment)
    assert gate.returncode == 1, gate.stderr
    assert "against the anchor" in gate.stdout
    after = step(project, "\n".join(jobs["gate"]["after_script"]), **environment)
    assert after.returncode == 0, after.stderr
    assert "before `“Blue Bay”`, now `no reply says" in (project.parent / "comment-of-12.md").read_text(
        encoding="utf-8"
    )
    for kept in jobs["gate"]["artifacts"]["paths"]:
        assert (project / kept).exists()


def test_a_shell_keeps_a_green_run_as_the_next_baseline(project):
    (project / "ci.sh").write_text(RECIPES["ci.sh"])
    shutil.copy(project.parent / "baseline.json", project / "baseline.json")
    before = (project / "baseline.json").read_bytes()
    assert step(project, "BASELINE=baseline.json sh ci.sh").returncode == 1
    assert (project / "baseline.json").read_bytes() == before
    assert "passed → failed" in (project / "report.md").read_text(encoding="utf-8")
    (project / "mymod.py").write_text(tiny_suite.GOOD)
    assert step(project, "sh ci.sh").returncode == 0
    assert (project / "baseline.json").read_bytes() != before


def test_an_anchor_moves_by_a_commit_of_its_own_and_holds_from_then_on(project):
    (project / "ci.sh").write_text(RECIPES["ci.sh"])
    shutil.copy(project.parent / "baseline.json", project / "anchor.json")
    red = step(project, "sh ci.sh")
    assert red.returncode == 1
    assert "3 cases passed before and fail now (allowed: 0)" in (project / "report.md").read_text(encoding="utf-8")
    assert step(project, FILES["move-anchor.sh"]).returncode == 0
    step(project, "sh ci.sh")
    assert "ar 0.000 -> 0.000: no difference" in (project / "report.md").read_text(encoding="utf-8")
