"""Installed frameworks are imported where an agent of them is played, and nowhere else."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("claude_agent_sdk", "crewai", "google.adk", "langchain_core", "langgraph", "pydantic_ai", "smolagents")
#: Run as a user would, in a process that then says which frameworks it has imported.
RUN = "import sys, pytest; code = pytest.main(sys.argv[1:]); print([n for n in {} if n in sys.modules]); sys.exit(code)"
RUNS = {
    "help": ["--help"],
    "no agent": ["--collect-only", "-q", "examples/test_own.py"],
    "a function": [
        "benchmark_cases/realtime/next-bus.yaml",
        "--mapsat-agent=examples.function_agent:agent",
    ],
}


INSTALLED = [name for name in FRAMEWORKS if "." not in name and find_spec(name)]


@pytest.mark.skipif(not INSTALLED, reason="no framework is installed; python tests/frameworks installs and tests them")
@pytest.mark.parametrize("arguments", RUNS.values(), ids=RUNS)
def test_a_run_without_an_agent_of_a_framework_imports_none(arguments):
    code = RUN.format([*FRAMEWORKS, "agents.run"])
    command = [sys.executable, "-c", code, "-p", "pytester", "-p", "pytest_mapsat.plugin", "-p", "no:cacheprovider"]
    # Plugins that frameworks bring import what they like; only ours is looked at.
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout[-2000:]
    assert done.returncode in (0, 5)
