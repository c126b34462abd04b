"""docs/llms.txt: the pages of the site with a sentence each, for language models. It is generated from the navigation of mkdocs.yml."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = DOCS / "llms.txt"


def site() -> dict[str, Any]:
    """Return the name, the description and the navigation of the site."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    # The rest may have tags of mkdocs, which plain YAML does not know.
    parts = {
        key: re.search(rf"^{key}:.*\n(?:[ -].*\n?)*", text, re.MULTILINE)
        for key in ("site_name", "site_description", "nav")
    }
    return {key: yaml.safe_load(part[0])[key] for key, part in parts.items() if part}


def first_sentence(page: str) -> str:
    """Return the first sentence of a page that is no heading, table, list, picture or code, without Markdown."""
    blocks = re.sub(r"^(```|~~~).*?^\1", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    without = re.sub(r"^(#|\||!|<|- |\d+\. | {4}).*$", "", blocks, flags=re.MULTILINE)
    prose = next((" ".join(block.split()) for block in without.split("\n\n") if block.strip()), heading(page))
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose).replace("**", "")
    return re.split(r"(?<=[.!?:]) ", plain)[0].rstrip(":")


def heading(page: str) -> str:
    """Return the first heading of a page, which is its title where the navigation gives none."""
    found = re.search(r"^# (.+)$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else page


def entries(nav: list[Any]) -> Iterator[str]:
    """Yield the lines of a part of the navigation: a heading for a section, a link for a page."""
    items = [next(iter(item.items())) if isinstance(item, dict) else (heading(item), item) for item in nav]
    for title, page in items:
        if isinstance(page, str):
            place = page.removesuffix(".md").removesuffix("index").rstrip("/")
            yield f"- [{title}]({place or '.'}/): {first_sentence(page)}"
    for title, below in items:
        if not isinstance(below, str):
            yield f"\n## {title}\n"
            yield from entries(below)


def generated() -> str:
    about = site()
    lines = [f"# {about['site_name']}\n", f"> {about['site_description']}\n", *entries(about["nav"])]
    return "\n".join(lines) + "\n"


def test_it_is_what_the_navigation_gives():
    text = generated()
    if os.environ.get("MAPSAT_UPDATE_README"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, f"run MAPSAT_UPDATE_README=1 pytest {Path(__file__).name}"


def test_it_has_each_page_of_the_navigation_once_with_a_sentence():
    pages = re.findall(r"[\w/-]+\.md", str(site()["nav"]))
    links = re.findall(r"^- \[.+\]\((.+)\): \S.{10,}$", generated(), re.MULTILINE)
    assert len(links) == len(set(links)) == len(pages)
    files = [DOCS / ("index.md" if link == "./" else f"{link.rstrip('/')}.md") for link in links]
    assert all(path.is_file() or (path.with_suffix("") / "index.md").is_file() for path in files)
