"""Riddles stay out of what people read: the pages, and the texts and docstrings of the package."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Each was a real sentence once that readers had to read twice.
RIDDLES = (
    "nobody",
    "whoever",
    "of which it is open",
    "it is open what",
    "what it is said of",
    "for want of",
    "stands in nothing",
    "that there are no more",
    "refuses what is none",
    "for what is none",
    "told wrongly",
    "cry wolf",
    "try it on",
    "what of it counts",
    "in the hands of",
    "may say otherwise",
    "tells it of",
    "is told of it",
)


def riddles(text: str) -> list[str]:
    plain = " ".join(text.lower().split())
    return [phrase for phrase in RIDDLES if phrase in plain]


def texts() -> Iterator[tuple[str, str]]:
    """Yield a place and what stands there: each page, and each string of the package."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        yield page.name, page.read_text(encoding="utf-8")
    for module in sorted((ROOT / "pytest_mapsat").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{module.relative_to(ROOT)}:{node.lineno}", node.value


def test_a_riddle_is_found_across_lines():
    assert riddles("A figure of which it\n    is open") == ["of which it is open"]


def test_no_page_and_no_text_of_the_package_has_a_riddle():
    assert {place: told for place, text in texts() if (told := riddles(text))} == {}
