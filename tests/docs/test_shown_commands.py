"""Every command and every option that a page shows can be given."""

import re
import shlex
from pathlib import Path

import pytest

from pytest_mapsat.cli import command_parser
from pytest_mapsat.options import OPTIONS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def shown(page: Path, command: str) -> list[str]:
    """Return the lines of a page that show a command, in fences or indented."""
    return re.findall(rf"^(?: {{4}})?{command} ([a-z].+)$", page.read_text(encoding="utf-8"), re.MULTILINE)


PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "internals" not in page.parts]


@pytest.mark.parametrize("page", [page for page in PAGES if shown(page, "mapsat")], ids=lambda page: page.stem)
def test_every_command_that_is_shown_can_be_given(page):
    for line in shown(page, "mapsat"):
        name, *arguments = shlex.split(line.partition(" && ")[0], comments=True)
        assert command_parser(name).parse_args(arguments).command


def test_every_option_that_is_shown_is_one():
    text = "".join(page.read_text(encoding="utf-8") for page in [DOCS.parent / "README.md", *PAGES])
    used = set(re.findall(r"--mapsat-([a-z-]+[a-z])", text))
    assert len(used) > 25
    assert used <= {option.name for option in OPTIONS.values() if option.typed}
