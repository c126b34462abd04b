"""Each example does what its own first lines say, by the command that stands there."""

import ast
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "__init__.py")
#: What runs the examples that are no Python.
PROGRAMS = {"command_agent.mjs": "node", "command_agent.go": "go"}


def _command(example: Path) -> list[str]:
    if example.name in PROGRAMS:
        [command] = re.findall(r"^// pytest (.+)$", example.read_text(encoding="utf-8"), re.MULTILINE)
    else:
        about = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or ""
        [command] = re.findall(r"``pytest (.+?)``", about)
    return shlex.split(command)


def _pytest(python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [python, "-m", "pytest", *arguments, "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.mark.parametrize(
    "example", [*EXAMPLES, *(ROOT / "examples" / name for name in PROGRAMS)], ids=lambda path: path.name
)
def test_the_command_of_an_example_passes(example: Path, warm: str) -> None:
    program = PROGRAMS.get(example.name)
    if program and not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    done = _pytest(warm, "-v", *_command(example))
    assert done.returncode == 0, done.stdout
    assert re.search(r"sandbox +[1-9]\d* calls?", done.stdout), "the agent has used the tools"
    assert not re.search(r"\d miss\b", done.stdout)


def test_the_service_passes_with_its_ini_file(warm: str) -> None:
    folder = ROOT / "examples" / "http_service"
    with subprocess.Popen(
        [sys.executable, str(folder / "service.py"), "0"], stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        address = service.stdout.readline().strip()
        about = ast.get_docstring(ast.parse((folder / "service.py").read_text(encoding="utf-8"))) or ""
        [command] = re.findall(r"``pytest (.+?)``", about)
        done = _pytest(warm, "-v", *shlex.split(command), f"--mapsat-agent={address}")
        service.terminate()
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    assert re.search(r"sandbox +1 call", done.stdout)


def test_the_tests_of_one_s_own_fail_for_an_agent_that_asks_in_vain(tmp_path: Path, warm: str) -> None:
    (tmp_path / "asking.py").write_text("def agent(message):\n    return 'Why do you want to know?'\n")
    done = _pytest(
        warm,
        "examples/test_own.py",
        f"--rootdir={ROOT}",
        "--mapsat-cases=benchmark_cases/realtime/next-bus.yaml",
        "--mapsat-agent=asking:agent",
        "-o",
        f"pythonpath={tmp_path}",
    )
    assert "FAILED examples/test_own.py::test_it_asks_only_where" in done.stdout, done.stdout


def test_the_page_names_every_example() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| \[`(\w+\.\w+)`\]", page, re.MULTILINE)
    assert sorted(named) == sorted([*PROGRAMS, *(path.name for path in EXAMPLES)])
