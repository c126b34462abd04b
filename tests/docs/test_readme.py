"""The README shows what people will see. ``MAPSAT_UPDATE_README=1`` writes what they see now into it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- output: (?P<agent>\S+) -->\n```text\n)(?P<text>.*?)(```)", re.DOTALL)
#: Of many failures, the README keeps this one, and the summary.
KEPT = "case[search-pharmacy-late]"


def _output(agent: str) -> str:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTEST_ADDOPTS": "-p no:randomly"}
    for name in ("CI", "BUILD_NUMBER", "FORCE_COLOR"):  # with these, pytest does not cut its lines, or colours them
        environment.pop(name, None)
    command = [sys.executable, "-m", "pytest", "benchmark_cases", f"--mapsat-agent={agent}", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    return _shown(done.stdout)


def _shown(text: str) -> str:
    """Return the output without what differs from machine to machine, and with one failure of many."""
    text = re.sub(r"=+ test session starts =+\n.*?\ncollected", "collected", text, flags=re.DOTALL)
    text = re.sub(r" in \d+\.\d\ds", " in …s", text)
    text = re.sub(r"(?ms)^slowest .*?(?=^(?:warning|gate) )", "slowest  …\n", text)
    return _one_failure(text)


def _one_failure(text: str) -> str:
    """Return the output with one failure of many, and how many were left out."""
    head, *failures = re.split(r"(?m)^(?=_{3,} .* _{3,}$)", text)
    if not failures:
        return text
    last, summary = re.split(r"(?m)^(?==+ mapsat =+$)", failures.pop(), maxsplit=1)
    failures.append(last)
    kept = next(failure for failure in failures if KEPT in failure)
    return f"{head}{kept}[... and {len(failures) - 1} more failures ...]\n\n{summary}"


def _blocks() -> list[tuple[str, str]]:
    return [(block["agent"], block["text"]) for block in BLOCK.finditer(README.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("agent", ["shipped_agents.considerate:agent", "shipped_agents.naive:agent"])
def test_the_readme_shows_the_output_as_it_is(agent: str) -> None:
    seen = _output(agent)
    if os.environ.get("MAPSAT_UPDATE_README"):
        text = README.read_text(encoding="utf-8")
        README.write_text(
            BLOCK.sub(lambda b: b[1] + (seen if b["agent"] == agent else b["text"]) + b[4], text), encoding="utf-8"
        )
    assert dict(_blocks())[agent] == seen


def test_the_output_fits_in_80_columns() -> None:
    lines = [line for _, text in _blocks() for line in text.splitlines()]
    long = [line for line in lines if len(line) > 80]
    # A command is copied, not read; and pytest itself does not cut node ids.
    assert [line for line in long if not line.startswith(("run it again: ", "FAILED ", "SKIPPED "))] == []


def test_every_document_that_is_linked_exists() -> None:
    for page in [README, *sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*/README.md"))]:
        links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
        missing = [link for link in links if not (page.parent / link).exists()]
        assert missing == [], page.name
