"""The examples of docs/how-to/simulate-the-user.md are what the user does."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from pytest_mapsat.commands.shared import load_added
from pytest_mapsat.model import Turn, UserScript
from pytest_mapsat.runs.regrade import open_suites
from pytest_mapsat.suite import lint
from pytest_mapsat.users import ScriptedUser, UserMove

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "simulate-the-user.md").read_text(encoding="utf-8")
SCRIPT = UserScript.model_validate(yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]))
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (goes on|done|stalled) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("message", "text", "then"), ROWS)
def test_the_example_holds(message, text, then):
    move = ScriptedUser(SCRIPT).reply([Turn(role="agent", text=message)])
    assert move == UserMove(text, None if then == "goes on" else then)


def test_the_suite_with_tools_of_the_user_passes_with_its_oracle_alone(pytester):
    example = Path(__file__).resolve().parents[2] / "examples" / "phone"
    shutil.copytree(example, pytester.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    [shown] = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "toggle" in block]
    case = yaml.safe_load((example / "phone" / "no-signal.yaml").read_text(encoding="utf-8"))
    assert yaml.safe_load(shown)["answers"] == case["truth"]["user"]["answers"]
    run = pytester.runpytest(
        "phone", "--mapsat-agent=baseline:oracle", "--mapsat-save=run.json", "-p", "no:cacheprovider"
    )
    run.assert_outcomes(passed=1)
    said = (pytester.path / "run.json").read_text(encoding="utf-8")
    assert "It says none. Airplane mode: true." in said
    assert "Done." in said
    pytester.runpytest("phone", "--mapsat-agent=baseline:silent", "-p", "no:cacheprovider").assert_outcomes(failed=1)
    findings = lint(open_suites([pytester.path / "phone"], load_added((), [pytester.path / "phone"]).sandboxes)[0])
    assert [str(finding.problem) for finding in findings if finding.severity != "note"] == []


def test_there_are_examples():
    assert len(ROWS) == 9
