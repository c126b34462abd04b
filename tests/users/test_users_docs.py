"""The examples of docs/how-to/simulate-the-user.md are what the user does."""

import re
from pathlib import Path

import pytest
import yaml

from pytest_mapsat.model import Turn, UserScript
from pytest_mapsat.users import ScriptedUser, UserMove

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "simulate-the-user.md").read_text(encoding="utf-8")
SCRIPT = UserScript.model_validate(yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]))
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (goes on|done|stalled) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("message", "text", "then"), ROWS)
def test_the_example_holds(message, text, then):
    move = ScriptedUser(SCRIPT).reply([Turn(role="agent", text=message)])
    assert move == UserMove(text, None if then == "goes on" else then)


def test_there_are_examples():
    assert len(ROWS) == 11
