"""The pages of options and commands are made from their tables. ``MAPSAT_UPDATE_README=1`` writes what the tables say into them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mapsat.cli import COMMANDS, RARE, command_parser
from pytest_mapsat.options import OPTIONS

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
GENERATED = re.compile(r"(?<=<!-- generated -->\n\n).*?(?=\n<!-- end of generated -->)", re.DOTALL)


def options() -> Iterator[str]:
    """Yield a line for each option of a run: its name, where else it may be written, what it means, its default."""
    for option in OPTIONS.values():
        name = f"--mapsat-{option.name}{' ' * bool(option.metavar)}{option.metavar}" if option.typed else option.name
        also = ["ini"] * option.ini + [f"suite.yaml: `{option.suite}`"] * bool(option.suite)
        places = f" ({', '.join(also)})" * bool(also)
        default = f". Default: {option.default}" * bool(option.default)
        yield f"- `{name}`{places}: {' '.join(option.help.split())}{default}"


def commands() -> Iterator[str]:
    """Yield a line for each command: how it is called at the least, and what it does."""
    for name in (*COMMANDS, *RARE):
        parser = command_parser(name)
        places = [action for action in parser._actions if not action.option_strings]
        needed = [
            f"{action.option_strings[0]} {action.metavar}"
            for action in parser._actions
            if action not in places and action.required
        ]
        forms = {"?": "[{}]", "+": "{} ..."}
        words = [
            *needed,
            *(forms.get(str(action.nargs), "{}").format(action.metavar or action.dest) for action in places),
        ]
        about = " ".join((parser.description or "").split()).partition(". ")[0].rstrip(".")
        yield f"- `{' '.join([parser.prog, *words])}`: {about}."


@pytest.mark.parametrize(("page", "lines"), [("options.md", options), ("commands.md", commands)])
def test_the_page_says_what_the_table_says(page, lines):
    made, text = "\n".join(lines()) + "\n", (REFERENCE / page).read_text(encoding="utf-8")
    if os.environ.get("MAPSAT_UPDATE_README"):
        text = GENERATED.sub(lambda _: made, text)
        (REFERENCE / page).write_text(text, encoding="utf-8")
    again = "run MAPSAT_UPDATE_README=1 pytest tests/docs/test_reference_pages.py"
    assert GENERATED.search(text)[0] == made, again
