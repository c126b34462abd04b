"""The pages of options and commands are made from their tables. ``MAPSAT_UPDATE_README=1`` writes what the tables say into them."""

import argparse
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mapsat.cli import COMMANDS, RARE, command_parser
from pytest_mapsat.options import OPTIONS
from pytest_mapsat.suite import RULES

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
GENERATED = re.compile(r"(?<=<!-- generated -->\n\n).*?(?=\n<!-- end of generated -->)", re.DOTALL)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def options() -> Iterator[str]:
    yield "| option | meaning | default | also in |"
    yield "| --- | --- | --- | --- |"
    for option in OPTIONS.values():
        name = f"`--mapsat-{option.name}{' ' * bool(option.metavar)}{option.metavar}`" if option.typed else ""
        ini = [f"ini: `{option.dest}`"] * option.ini + [f"suite.yaml: `{option.suite}`"] * bool(option.suite)
        yield f"| {name or f'(`{option.name}`)'} | {_cell(option.help)} | {option.default} | {', '.join(ini)} |"


def _help(action: argparse.Action) -> str:
    choices = ", ".join(action.choices) if action.choices else ""
    return (action.help or "") % {"default": action.default, "choices": choices}


def _row(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    value = f" {action.metavar or action.dest.upper()}" if action.option_strings and action.nargs != 0 else ""
    return f"| `{names}{value}` | {_cell(_help(action))} |"


def _as_in_a_run(action: argparse.Action) -> bool:
    option = OPTIONS.get(action.option_strings[-1].lstrip("-")) if action.option_strings else None
    return option is not None and _help(action) == option.help


def commands() -> Iterator[str]:
    """Yield a table of commands, what several of them take, and for each what it alone takes."""
    parsers = {name: command_parser(name) for name in (*COMMANDS, *RARE)}
    actions = {
        name: [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
        for name, parser in parsers.items()
    }
    often = Counter(_row(action) for own in actions.values() for action in own)
    shared = [row for row, times in often.items() if times > 2 and "`--json`" not in row]
    yield "| command | what it does |"
    yield "| --- | --- |"
    for name, about in COMMANDS.items():
        yield f"| [`mapsat {name}`](#mapsat-{name}) | {_cell(about)} |"
    yield "\n| argument of several commands | meaning |"
    yield "| --- | --- |"
    yield from [*shared, "| `--json` | print the result as JSON |"]
    for name, parser in parsers.items():
        yield f"\n## {parser.prog}\n"
        about = _cell(parser.description or "")
        yield f"{about.partition('. ')[2] if name in COMMANDS else about}\n"
        others = {action: _row(action) for action in actions[name] if "--json" not in action.option_strings}
        own = [row for action, row in others.items() if row not in shared and not _as_in_a_run(action)]
        if own:
            yield from ["| argument | meaning |", "| --- | --- |", *own]
        also = [re.findall("`(.+?)`", row)[0] for row in others.values() if row in shared]
        of_runs = [action.option_strings[-1] for action, row in others.items() if _as_in_a_run(action)]
        further = [", ".join(f"`{name}`" for name in also)] * bool(also)
        further += [f"as in [a run](options.md): {', '.join(f'`{name}`' for name in of_runs)}"] * bool(of_runs)
        if further:
            yield from [""] * bool(own)
            yield f"Also {'; '.join(further)}."
        if name == "lint":
            yield from ["\n| rule | severity | looks at | finding |", "| --- | --- | --- | --- |"]
            yield from (
                f"| `{rule}` | {found.severity} | {found.looks_at} | {_cell(found.about)} |"
                for rule, found in RULES.items()
            )


@pytest.mark.parametrize(("page", "lines"), [("options.md", options), ("commands.md", commands)])
def test_the_page_says_what_the_table_says(page, lines):
    made, text = "\n".join(lines()) + "\n", (REFERENCE / page).read_text(encoding="utf-8")
    if os.environ.get("MAPSAT_UPDATE_README"):
        text = GENERATED.sub(lambda _: made, text)
        (REFERENCE / page).write_text(text, encoding="utf-8")
    again = "run MAPSAT_UPDATE_README=1 pytest tests/docs/test_reference_pages.py"
    assert GENERATED.search(text)[0] == made, again
