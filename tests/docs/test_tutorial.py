"""docs/tutorial.md, done as it says: every file is written, every command is run, what it prints is what is shown."""

import sys
from pathlib import Path

import pytest
from walkthrough import steps, walk

pytestmark = pytest.mark.long_proof(in_turn=True)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")


def test_whoever_does_what_the_tutorial_says_sees_what_it_shows(tmp_path):
    assert "\n\n".join(walk(PAGE, tmp_path, str(Path(sys.executable).parent))) == ""


def test_the_tutorial_goes_from_nothing_to_a_gate():
    commands = [name for kind, name, _ in steps(PAGE) if kind == "command"]
    for word in ("mapsat lint", "--mutants", "pytest --mapsat-agent"):
        assert any(word in command for command in commands), word
