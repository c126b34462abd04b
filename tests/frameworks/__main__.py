"""Install frameworks, each group in a venv of its own, and run their tests: ``python tests/frameworks [GROUP...]``; without a name all groups."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Group of dependencies in pyproject.toml, and the test files that it is for.
GROUPS = {
    "frameworks": ("langgraph", "openai_agents", "pydantic_ai", "recorded_and_live"),
    "more-frameworks": ("agent_framework", "llama_index"),
    "google-adk": ("google_adk",),
    "smolagents": ("smolagents",),
    "claude-agent-sdk": ("claude_agent_sdk",),
    "crewai": ("crewai",),
}


def main(names):
    """Run the tests of some groups; return how many failed."""
    if unknown := set(names) - set(GROUPS):
        sys.exit(f"no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    failed = []
    for name in names or GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            python = installed(name, Path(folder))
            print(f"== {name}: installed in {time.monotonic() - began:.0f} s", flush=True)
            files = [f"tests/frameworks/test_{part}.py" for part in (*GROUPS[name], "starts", "nothing_imported")]
            # What a framework warns of, or deprecates, is its own.
            command = [
                python,
                "-m",
                "pytest",
                "-q",
                "-n",
                "2",
                "--dist",
                "loadfile",
                "-W",
                "ignore",
                "-p",
                "no:cacheprovider",
                *files,
            ]
            tested = subprocess.run(
                command, cwd=ROOT, env=os.environ | {"OPENAI_AGENTS_DISABLE_TRACING": "1"}, check=False
            )
            if tested.returncode:
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return len(failed)


def installed(name, folder):
    """Make a venv in the folder with the group of the name and this project in it, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder / "tool"], check=True)
    tool = folder / "tool" / "bin" / "python"
    # uv installs in seconds what takes pip a minute.
    subprocess.run([tool, "-m", "pip", "install", "-q", "uv"], check=True)
    uv = [tool, "-m", "uv"]
    python = folder / "venv" / "bin" / "python"
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, folder / "venv"], check=True)
    groups = ["--group", f"pyproject.toml:{name}", "--group", "pyproject.toml:framework-tests"]
    subprocess.run([*uv, "pip", "install", "-q", "--python", python, "-e", ".", *groups], cwd=ROOT, check=True)
    return python


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
