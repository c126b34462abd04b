"""The documentation stays short: 20,000 words on the site and in the README, code included, and pictures of 400 KB."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs"
PAGES = [page for page in sorted(SITE.rglob("*.md")) if "internals" not in page.relative_to(SITE).parts]
MOST_WORDS = 20_000
MOST_BYTES = 400_000


def words(text: str) -> int:
    """Return how many words a text has, those of code too; bars and dashes that stand alone, as in tables, are none."""
    return sum(any(character.isalnum() for character in word) for word in text.split())


def test_bars_of_tables_are_no_words() -> None:
    assert words("| `a b` | c |\n| --- | --- |\n- d, 5 %") == 5


def test_the_documentation_is_short() -> None:
    sizes = {page.name: words(page.read_text(encoding="utf-8")) for page in [ROOT / "README.md", *PAGES]}
    assert sum(sizes.values()) <= MOST_WORDS, sizes


def test_the_pictures_are_small() -> None:
    pictures = list((SITE / "pictures").iterdir())
    assert pictures
    assert sum(picture.stat().st_size for picture in pictures) <= MOST_BYTES


def test_the_menu_has_seven_doors_and_every_page() -> None:
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert len(menu) == 7
    assert sorted(re.findall(r"[\w/-]+\.md", str(menu))) == [page.relative_to(SITE).as_posix() for page in PAGES]


def test_the_glossary_has_fifteen_words() -> None:
    assert len(re.findall(r"^- \*\*", (SITE / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)) == 15
