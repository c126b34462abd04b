"""A document that tells somebody what to type, done as it says.

A code block whose first line is a comment with a file name is that file, or its end (``# conftest.py, at the end``). A ``diff`` block below such
a line changes the file. A ``console`` block holds commands behind ``$`` and, below each, what it prints, shortened as in ``shown_output``.
Commands run one after another in one folder; ``$?`` is the status of the one before.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from shown_output import differs, settled

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.\w+)(, at the end)?\n")


def steps(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a page says, in its order: ``file``, ``end`` or ``diff``, name, content; or ``command``, what is typed, what is shown."""
    for kind, text in _BLOCK.findall(page):
        named = _FILE.match(text)
        if kind == "console":
            for part in re.split(r"(?m)^\$ ", text)[1:]:
                command, _, shown = part.partition("\n")
                yield "command", command, shown
        elif named is not None:
            yield "diff" if kind == "diff" else "end" if named[2] else "file", named[1], text


def walk(page: str, folder: Path, path: str) -> list[str]:
    """Do what a page says in a folder, and return what was not as it is shown.

    Args:
        page: the text of the document.
        folder: where; empty.
        path: the folders that commands are looked for in, before all others.
    """
    wrong: list[str] = []
    status = 0
    for kind, name, text in steps(page):
        if kind == "file":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
            continue
        if kind in ("end", "diff"):
            before = (folder / name).read_text(encoding="utf-8")
            (folder / name).write_text(_changed(before, text) if kind == "diff" else before + text, encoding="utf-8")
            continue
        done = run(name, folder, path, status)
        status = done.returncode
        if why := differs(text, settled(f"{done.stdout}{done.stderr}")):
            wrong.append(f"$ {name}\n{why}")
    return wrong


def _changed(before: str, diff: str) -> str:
    lines = diff.splitlines(keepends=True)[1:]
    old, new = ("".join(line[1:] for line in lines if line[0] != left_out) for left_out in "+-")
    assert before.count(old) == 1, f"the page changes lines that are not there once:\n{old}"
    return before.replace(old, new)


def run(command: str, folder: Path, path: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command line as somebody would type it, in a terminal of 80 columns."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    for name in ("CI", "BUILD_NUMBER", "FORCE_COLOR", "PYTHONPATH"):
        environment.pop(name, None)
    environment |= {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80", "NO_COLOR": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # files change within a second here
    script = f"(exit {status})\n{command}"
    return subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
