"""The pages of options and commands are made from their tables. ``MAPSAT_UPDATE_README=1`` writes what the tables say into them."""

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mapsat.cli import COMMANDS, RARE, command_parser
from pytest_mapsat.options import OPTIONS

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
GENERATED = re.compile(r"(?<=<!-- generated -->\n\n).*?(?=\n<!-- end of generated -->)", re.DOTALL)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def options() -> Iterator[str]:
    yield "| option | meaning | default | also said in |"
    yield "| --- | --- | --- | --- |"
    for option in OPTIONS.values():
        name = f"`--mapsat-{option.name}{' ' * bool(option.metavar)}{option.metavar}`" if option.typed else ""
        ini = [f"ini: `{option.dest}`"] * option.ini + [f"suite.yaml: `{option.suite}`"] * bool(option.suite)
        yield f"| {name or f'(`{option.name}`)'} | {_cell(option.help)} | {option.default or 'none'} | {', '.join(ini)} |"


def _help(action: argparse.Action) -> str:
    choices = ", ".join(action.choices) if action.choices else ""
    return (action.help or "") % {"default": action.default, "choices": choices}


def commands() -> Iterator[str]:
    yield "| command | what it does |"
    yield "| --- | --- |"
    for name, about in COMMANDS.items():
        yield f"| [`mapsat {name}`](#mapsat-{name}) | {_cell(about)} |"
    for name in (*COMMANDS, *RARE):
        parser = command_parser(name)
        yield f"\n## {parser.prog}\n"
        yield f"{_cell(parser.description or '')}\n"
        yield "| argument | meaning |"
        yield "| --- | --- |"
        for action in parser._actions:
            if not isinstance(action, argparse._HelpAction):
                names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
                value = (
                    f" {action.metavar or action.dest.upper()}" if action.option_strings and action.nargs != 0 else ""
                )
                yield f"| `{names}{value}` | {_cell(_help(action))} |"


@pytest.mark.parametrize(("page", "lines"), [("options.md", options), ("commands.md", commands)])
def test_the_page_says_what_the_table_says(page, lines):
    made, text = "\n".join(lines()) + "\n", (REFERENCE / page).read_text(encoding="utf-8")
    if os.environ.get("MAPSAT_UPDATE_README"):
        text = GENERATED.sub(lambda _: made, text)
        (REFERENCE / page).write_text(text, encoding="utf-8")
    again = "run MAPSAT_UPDATE_README=1 pytest tests/docs/test_reference_pages.py"
    assert GENERATED.search(text)[0] == made, again
