"""The README shows what people will see, shortened. ``MAPSAT_UPDATE_README=1`` writes what they see now into it."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from shown_output import differs, refreshed, settled

from pytest_mapsat.suite import open_suite

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- output: (?P<agent>\S+) -->\n```text\n)(?P<text>.*?)(```)", re.DOTALL)
SMALLEST = re.compile(
    r"```python\n(?P<code>def agent.*?)```.*?<!-- command: smallest -->\n```bash\npytest (?P<command>.*?)\n```",
    re.DOTALL,
)


def _pytest(python: str, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTEST_ADDOPTS": "-p no:randomly"}
    for name in ("CI", "BUILD_NUMBER", "FORCE_COLOR"):  # with these, pytest does not cut its lines, or colours them
        environment.pop(name, None)
    command = [python, "-m", "pytest", *arguments, "-p", "no:cacheprovider"]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


def _output(python: str, agent: str) -> str:
    """Return what the mapsat summary and what stands above it say; that of a run without failures begins with the summary."""
    text = settled(_pytest(python, "benchmark_cases", f"--mapsat-agent={agent}").stdout)
    return text if " FAILURES " in text else text[text.index("mapsat     PASSED") :]


def _blocks() -> dict[str, str]:
    return {block["agent"]: block["text"] for block in BLOCK.finditer(README.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("agent", ["shipped_agents.considerate:agent", "shipped_agents.naive:agent"])
def test_the_readme_shows_the_output_as_it_is(warm: str, agent: str) -> None:
    seen = _output(warm, agent)
    if os.environ.get("MAPSAT_UPDATE_README"):
        text = README.read_text(encoding="utf-8")
        README.write_text(
            BLOCK.sub(lambda b: b[1] + (refreshed(b["text"], seen) if b["agent"] == agent else b["text"]) + b[4], text),
            encoding="utf-8",
        )
    assert differs(_blocks()[agent], seen) == ""


def test_the_smallest_agent_passes_its_case_by_the_command_that_stands_there(tmp_path: Path, warm: str) -> None:
    found = SMALLEST.search(README.read_text(encoding="utf-8"))
    assert found is not None
    (tmp_path / "mymod.py").write_text(found["code"], encoding="utf-8")
    place, agent = found["command"].split()
    done = _pytest(warm, str(ROOT / place), agent, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert " 1 passed" in done.stdout
    assert not re.search(r"\d miss\b", done.stdout)


def test_the_case_that_stands_there_can_be_loaded(tmp_path: Path) -> None:
    found = re.search(r"```yaml\n(id: .*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    tool = {"name": "cancel_order", "description": "Cancels.", "parameters": {"type": "object", "properties": {}}}
    (tmp_path / "suite.yaml").write_text(
        "{name: shop, version: '1', license: MIT, schema_version: 1}", encoding="utf-8"
    )
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "shop.yaml").write_text(json.dumps([tool]), encoding="utf-8")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "orders.jsonl").write_text('{"id": "A1", "status": "open"}\n', encoding="utf-8")
    (tmp_path / "case.yaml").write_text(found[1], encoding="utf-8")
    suite = open_suite(tmp_path)
    (case,) = [suite.load(entry) for path in suite.files() for entry in suite.entries(path)]
    assert [requirement.id for requirement in case.truth.requirements] == ["cancelled", "only-A1", "agreed"]


def test_the_output_fits_in_80_columns() -> None:
    lines = [line for text in _blocks().values() for line in text.splitlines()]
    long = [line for line in lines if len(line) > 80]
    # A command is copied, not read.
    assert [line for line in long if not line.startswith("run it again: ")] == []


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 100


def test_every_document_that_is_linked_exists() -> None:
    for page in [README, *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*/README.md"))]:
        links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
        missing = [link for link in links if not (page.parent / link).exists()]
        assert missing == [], page.name


def test_every_page_that_the_changelog_or_the_package_names_exists() -> None:
    files = [ROOT / "CHANGELOG.md", *sorted((ROOT / "pytest_mapsat").rglob("*.py"))]
    named = {page for file in files for page in re.findall(r"docs/[a-z/-]+\.md", file.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert [page for page in sorted(named) if not (ROOT / page).exists()] == []


def test_every_file_that_a_page_links_in_the_repository_exists() -> None:
    links = re.compile(r"https://github\.com/pytest-mapsat/pytest-mapsat/(?:blob|tree)/main/([^)\s#]+)")
    files = {name for page in (ROOT / "docs").rglob("*.md") for name in links.findall(page.read_text(encoding="utf-8"))}
    assert len(files) > 5
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []
