"""The commands of docs/internals/stability.md that hold tables against recordings of them, and what they tell."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml  # noqa: F401  its C part cannot be loaded twice, and pytester makes the process forget what a run has imported

from pytest_mapsat.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "internals" / "stability.md").read_text(encoding="utf-8")
(SHOWN,) = re.findall(r"<!-- commands: stability -->\n```\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.syspath_prepend(str(ROOT))
    shutil.copytree(ROOT / "benchmark_cases", pytester.path / "benchmark_cases")
    shutil.rmtree(
        pytester.path / "benchmark_cases" / "errands"
    )  # their sandbox is made by the conftest of this project
    pytester.makepyfile(mymod="from shipped_agents.considerate import agent")
    return pytester


def test_the_same_agent_earns_the_same_on_tables_and_on_their_recordings(project, capsys):
    for line in SHOWN.splitlines():
        command, *arguments = shlex.split(
            line.replace("--mapsat-sample=100", "--mapsat-sample=4").replace("benchmark_500", "benchmark_cases")
        )
        if command == "pytest":
            project.runpytest(*arguments, "-p", "no:cacheprovider").assert_outcomes(passed=4)
        else:
            capsys.readouterr()
            assert main(arguments) == 0
    told = capsys.readouterr().out
    for metric in ("satisfied", "requests", "unspoken", "facts", "tools", "efficiency"):
        assert re.search(rf"^\S*\s+{metric} .* 0\.000: same$", told, re.MULTILINE)
    recorded = (project.path / "recorded.json").read_text()
    assert '"kind":"computed"' not in recorded.replace(" ", "")


def test_a_saved_run_is_not_recorded_into_the_suite_that_it_is_of(project, capsys):
    (project.path / "run.json").write_text("{}")
    assert main(["record", "run.json"]) == 2
    assert "give --to DEST" in capsys.readouterr().err
