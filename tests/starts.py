"""What ``mapsat init --for`` writes, and what pytest says of it."""

import os
import subprocess
from pathlib import Path

from pytest_mapsat.cli import main

FAULT = "AssertionError: assert not frozenset({('bookings', 'BK-1')})"


def written(folder: Path, start: str) -> dict[str, str]:
    """Write a start into a folder; return its files by their names, without the schemas for editors."""
    assert main(["init", "--for", start, str(folder)]) == 0
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.parent.name != ".schemas")
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def lines_of(files: dict[str, str]) -> int:
    return sum(len(text.splitlines()) for text in files.values())


def played(python: str, folder: Path, *arguments: str) -> str:
    """Run pytest in a folder, where a case is red, and return what it prints."""
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-W", "ignore", *arguments]
    environment = {**os.environ, "COLUMNS": "120", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout
