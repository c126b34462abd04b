"""What Windows lacks is not needed: the README's main command runs without it, and what does need it says so."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: What every interpreter of these tests runs first.
LACKING = """
import os, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "resource", "pwd", "grp", "termios"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def no_proc(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and arguments[0].startswith("/proc/"):
        raise FileNotFoundError(2, "No such file or directory", arguments[0])

sys.meta_path.insert(0, Missing())
sys.addaudithook(no_proc)
for name in ("fork", "forkpty", "killpg", "getpgid", "setsid", "setpgid"):
    delattr(os, name)
"""


def run_without_unix(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in the repository's root, by an interpreter without what Windows lacks."""
    (folder / "sitecustomize.py").write_text(LACKING)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.cold
def test_the_main_command_of_the_readme_runs_and_passes(tmp_path: Path) -> None:
    [command] = re.findall(
        r"^\.venv/bin/pytest (benchmark_cases .+)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    result = run_without_unix(tmp_path, *shlex.split(command))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "120 passed" in result.stdout


@pytest.mark.cold
@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--mapsat-isolate", "--mapsat-isolate needs a system that can fork, such as Linux or macOS"),
        ("--mapsat-agent=cmd:python agent.py", "commands run on Linux and macOS only"),
    ],
)
def test_what_needs_more_is_a_usage_error(option: str, reason: str, tmp_path: Path) -> None:
    result = run_without_unix(tmp_path, "benchmark_cases", "--mapsat-agent=shipped_agents.considerate:agent", option)
    assert result.returncode == 4
    assert reason in result.stderr
